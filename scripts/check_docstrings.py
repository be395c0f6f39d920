"""Check that every public name has a complete docstring; CI runs it.

::

    python scripts/check_docstrings.py            # all
    python scripts/check_docstrings.py wefe.audit # one room

Names are those of the API reference (`docs/_ext/public_names.py`). Complete means: a summary; every
parameter with its type and a description; what is returned, in the summary ("Return ...") if there
are no parameters; the errors that it raises itself, by their names, except TypeError and ValueError
for wrong arguments, which the API reference explains once; and for everything but methods an
example with ``>>>``, which runs as a doctest. What is raised when an object is made stands in the
docstring of its class. Data need a comment that begins with ``#:``. What numpydoc can tell is left
to numpydoc. Whether the words are true is left to readers.

The exit code is 1 if anything is missing, and 2 if there was nothing to be looked at.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import sklearn.exceptions
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate
from sphinx.pycode import ModuleAnalyzer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs/_ext"))

from public_names import members_of, public_objects, rooms

from wefe.metrics import BaseMetric

# https://numpydoc.readthedocs.io/en/latest/validation.html has the list.
WANTED = {
    "GL06": "unknown section",
    "GL07": "order of sections",
    "GL08": "docstring",
    "SS01": "summary",
    "PR01": "parameters",
    "PR02": "parameters",
    "PR03": "order of parameters",
    "PR04": "type of a parameter",
    "PR07": "description of a parameter",
    "PR10": "space before the colon",
    "RT01": "what is returned",
    "RT03": "description of what is returned",
    "YD01": "what is yielded",
}


def problems_of(thing: Any, is_member: bool = False) -> Iterator[str]:
    """Say what the docstring of one name lacks."""
    if isinstance(thing, cached_property):
        thing = property(thing.func)
    if not (inspect.isclass(thing) or callable(thing) or isinstance(thing, property)):
        return
    if is_member and not thing.__doc__ and inspect.getdoc(thing):
        return  # it has the docstring of the method that it overrides
    try:
        documented = get_doc_object(thing)
        errors = validate(documented)["errors"]
    except Exception as error:  # whatever a parser of free text may do
        yield f"the docstring cannot be read: {error}".splitlines()[0]
        return
    wanted = dict(WANTED)
    of_class = inspect.isclass(thing)
    if is_member and not documented["Parameters"] and documented["Summary"][0].startswith("Return"):
        del wanted["RT01"]
    if of_class and (dataclasses.is_dataclass(thing) or issubclass(thing, Exception | dict)):
        del wanted["PR01"]
        if issubclass(thing, BaseMetric):
            del wanted["PR03"]  # all are keywords, and a class may document its own ones first
        yield from _fields_without_text(thing)
    for code, message in errors:
        if code in wanted:
            yield f"{code} {message}"
    if not is_member and not (of_class and issubclass(thing, Exception)):
        if not documented["Examples"]:
            yield "an example is wanted"
        elif not any(line.lstrip().startswith(">>>") for line in documented["Examples"]):
            yield "the section Examples has no code (>>>)"
    yield from _errors_without_text(thing, documented["Raises"])


def _fields_without_text(cls: type) -> Iterator[str]:
    if dataclasses.is_dataclass(cls):
        # What a class inherits is said where it comes from.
        named = {
            name.strip().lstrip("*")
            for each in cls.__mro__[:-1]
            for section in ("Parameters", "Attributes")
            for parameter in get_doc_object(each)[section]
            for name in parameter.name.split(",")
        }
        missing = {field.name for field in dataclasses.fields(cls) if field.name[0] != "_"} - named
        if missing:
            yield f"fields {sorted(missing)} are not described"


def _errors_without_text(thing: Any, section: list[Any]) -> Iterator[str]:
    named = {
        name.strip(" `~").rpartition(".")[2]
        for entry in section
        for name in re.split(r",|\bor\b", entry.type or entry.name)
    }
    everywhere = {**vars(builtins), **vars(sklearn.exceptions)}
    known = {name: error for name, error in everywhere.items() if _is_error(error)}
    known |= {error.__name__: error for _, error in public_objects() if _is_error(error)}
    raised: set[type] = set()
    for function in _functions_of(thing):
        known |= {name: error for name, error in function.__globals__.items() if _is_error(error)}
        raised |= {known[name] for name in _raised(function) if name in known}
    unnamed = [
        error.__name__
        for error in raised - {TypeError, ValueError}
        # An error may be named by what it is a kind of, but for Exception.
        if not named & {base.__name__ for base in (error, *error.__mro__[:-3])}
    ]
    if unnamed:
        yield f"it raises {', '.join(sorted(unnamed))}, which Raises does not name"
    if named - set(known):
        yield f"Raises names {', '.join(sorted(named - set(known)))}, which is no error"


def _is_error(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, BaseException)


def _functions_of(thing: Any) -> Iterator[Any]:
    """Give the functions that run: that of a property, those that make an object of a class."""
    if inspect.isclass(thing):
        written = [getattr(thing, name, None) for name in ("__new__", "__init__", "__post_init__")]
    else:
        written = [getattr(thing, "fget", thing)]
    for function in map(inspect.unwrap, filter(None, written)):
        function = getattr(function, "__func__", function)
        if inspect.isfunction(function):
            yield function


def _raised(function: Any) -> set[str]:
    """Name the errors that are raised in the function itself."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):  # written by dataclasses
        return set()
    return {
        _name(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
    } - {"AssertionError"}  # which says that a line is never reached


def _name(node: ast.expr | None) -> str:
    return getattr(node, "id", "") or getattr(node, "attr", "")


def problems_of_data(name: str) -> Iterator[str]:
    """Say whether data, by their full name, have no comment in the file that they are from."""
    room, _, short = name.rpartition(".")
    files = [module for module in list(sys.modules) if f"{module}.".startswith(f"{room}.")]
    if not any(("", short) in ModuleAnalyzer.for_module(file).find_attr_docs() for file in files):
        yield "data need a comment that begins with #:"


def main() -> int:
    """Print what is missing, a line each."""
    wanted_rooms = sys.argv[1:]
    if unknown := sorted(set(wanted_rooms) - set(rooms())):
        print(f"{', '.join(unknown)}: no room of the package", file=sys.stderr)
        return 2
    n_names = n_problems = 0
    for name, thing in public_objects():
        if wanted_rooms and name.rpartition(".")[0] not in wanted_rooms:
            continue
        all_of_it = [(name, thing, False)]
        if inspect.isclass(thing):
            all_of_it += [
                (f"{name}.{member}", written, True) for member, written in members_of(thing)
            ]
        for full_name, written, is_member in all_of_it:
            n_names += 1
            is_data = not (inspect.isclass(written) or callable(written) or is_member)
            found = problems_of_data(full_name) if is_data else problems_of(written, is_member)
            for problem in found:
                n_problems += 1
                print(f"{full_name}: {problem}")
    print(f"{n_names} public names, {n_problems} problems")
    if not n_names:
        return 2
    return 1 if n_problems else 0


if __name__ == "__main__":
    sys.exit(main())
