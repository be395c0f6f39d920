"""Check that every public name has a complete docstring; CI runs it.

::

    python scripts/check_docstrings.py            # all
    python scripts/check_docstrings.py wefe.audit # one room

Names are those of the API reference (`docs/_ext/public_names.py`). Complete means: a summary; every
parameter with its type and a description; what is returned; the errors that it raises itself; and
for everything but methods an example, which runs as a doctest. What numpydoc can tell is left to
numpydoc. Whether the words are true is left to readers.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs/_ext"))

from public_names import members_of, public_objects

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
    if not (inspect.isclass(thing) or callable(thing) or isinstance(thing, property)):
        return
    wanted = dict(WANTED)
    of_class = inspect.isclass(thing)
    if of_class and (dataclasses.is_dataclass(thing) or issubclass(thing, Exception | dict)):
        del wanted["PR01"]
        yield from _fields_without_text(thing)
    for code, message in validate(get_doc_object(thing))["errors"]:
        if code in wanted:
            yield f"{code} {message}"
    documented = get_doc_object(thing)
    if (
        not is_member
        and not documented["Examples"]
        and not (of_class and issubclass(thing, Exception))
    ):
        yield "an example is wanted"
    if not of_class and not documented["Raises"] and _raises(thing):
        yield "it raises errors, and has no section Raises"


def _fields_without_text(cls: type) -> Iterator[str]:
    if dataclasses.is_dataclass(cls):
        documented = get_doc_object(cls)
        named = {
            name.strip().lstrip("*")
            for section in ("Parameters", "Attributes")
            for parameter in documented[section]
            for name in parameter.name.split(",")
        }
        missing = {field.name for field in dataclasses.fields(cls) if field.name[0] != "_"} - named
        if missing:
            yield f"fields {sorted(missing)} are not described"


def _raises(thing: Any) -> bool:
    """Whether an error is raised in the function itself, or a check is called there."""
    function = inspect.unwrap(getattr(thing, "fget", thing))
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):
        return False
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


def main() -> int:
    """Print what is missing, a line each; the exit code is 1 if anything is."""
    wanted_rooms = sys.argv[1:]
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
            for problem in problems_of(written, is_member):
                n_problems += 1
                print(f"{full_name}: {problem}")
    print(f"{n_names} public names, {n_problems} problems")
    return 1 if n_problems else 0


if __name__ == "__main__":
    sys.exit(main())
