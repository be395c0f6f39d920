"""What all tables of a study file have in common: strict types, and messages about mistakes."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

import pydantic
from pydantic import AfterValidator, ConfigDict, model_validator

from wefe._checks import nearest
from wefe._visible import HIDDEN

#: The way to a value: keys, and positions in lists from 0.
Location: TypeAlias = tuple[str | int, ...]
#: What is wrong there.
Problem: TypeAlias = tuple[Location, str]

# The names of types in TOML.
_KINDS = {
    "string_type": "must be a text in quotes",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list in brackets, [...]",
    "dict_type": "must be a table: keys with values",
    "model_type": "must be a table: keys with values",
    "model_attributes_type": "must be a table: keys with values",
}
# Tables that may occur several times.
_SEVERAL = (
    "models",
    "queries",
    "query",
    "metrics",
    "mitigations",
    "silhouettes",
    "external",
    "retrieval",
)


class PlacedError(ValueError):
    """Several problems, each with its place in the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(_line(*problem) for problem in self.problems))


def refuse(problems: Iterable[Problem]) -> None:
    found = list(problems)
    if found:
        raise PlacedError(found)


class Part(pydantic.BaseModel):
    """A table of a study file: immutable, with strict types and no unknown keys."""

    # Strict, so that mistakes raise an error.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True
    )
    #: What its keys belong to, if that is not plain from where it stands.
    called: ClassVar[str] = ""

    @model_validator(mode="wrap")
    @classmethod
    def _in_words_of_the_file(cls, data: Any, check: Callable[[Any], Any]) -> Any:
        try:
            return check(data)
        except pydantic.ValidationError as error:
            raise PlacedError(_problems(error, data, cls)) from None


def problems_of(error: pydantic.ValidationError) -> list[Problem]:
    (found,) = error.errors()
    raised: PlacedError = found["ctx"]["error"]
    return raised.problems


def check_params(
    params: Mapping[str, Any], hints: Mapping[str, Any], what: str
) -> Iterator[Problem]:
    """Find parameters that are unknown or have the wrong type."""
    fields: dict[str, Any] = {name: (hint, None) for name, hint in hints.items()}
    kind = pydantic.create_model("Params", __base__=Part, **fields)
    kind.called = what
    try:
        kind(**params)
    except pydantic.ValidationError as error:
        for where, text in problems_of(error):
            yield ("params", *where), text


def _problems(error: pydantic.ValidationError, data: Any, table: type[Part]) -> Iterator[Problem]:
    texts: dict[Location, list[str]] = {}
    for each in error.errors(include_url=False):
        where = tuple(_keys(each, data))
        raised = each.get("ctx", {}).get("error")
        if isinstance(raised, PlacedError):
            yield from (((*where, *below), text) for below, text in raised.problems)
        else:
            texts.setdefault(where, []).append(_text(dict(each), where, table))
    for where, options in texts.items():
        # A union type yields several errors.
        (_, got, value), *_ = parts = [text.partition("; got") for text in dict.fromkeys(options)]
        yield where, " or ".join(text for text, *_ in parts) + got + value


def _keys(error: Any, data: Any) -> Iterator[str | int]:
    """Yield the keys that lead to a problem, without the type names that pydantic adds."""
    path = error["loc"]
    for position, part in enumerate(path, start=1):
        is_missing = error["type"] == "missing" and position == len(path)
        if is_missing or _below(data, part) is not None:
            yield part
            data = _below(data, part)


def _below(data: Any, key: str | int) -> Any:
    """Return an item of a table or a list; None if it does not exist."""
    if isinstance(data, Mapping):
        return data.get(key)
    return data[key] if isinstance(data, list) and isinstance(key, int) else None


def _text(error: Mapping[str, Any], where: Location, table: type[Part]) -> str:
    kind, value, limits = error["type"], error.get("input"), error.get("ctx", {})
    name = str(where[-1]) if where else ""
    if kind == "missing":
        return f"missing. {table.model_fields[name].description or 'It is needed'}"
    if kind == "extra_forbidden":
        keys = table.model_fields
        to = f" to {table.called}" if table.called else ""
        return f"unknown{to}.{nearest(name, keys)} Allowed: {', '.join(keys)}"
    if kind == "list_type" and name in _SEVERAL and isinstance(value, dict):
        return f"can occur several times, so write double brackets: [[{name}]]"
    if kind.startswith("model_") and isinstance(value, list):
        return "can occur only once, so write single brackets"
    if "error" in limits:
        return str(limits["error"])
    said = error["msg"].partition(" after validation")[0]
    text = _KINDS.get(kind) or re.sub(r"^\w+ should ", "must ", said)
    if kind == "float_type" and isinstance(value, dict):
        return f"{text}. A name with dots needs quotes"
    hint = nearest(value, re.findall(r"'([^']*)'", text)) if kind == "literal_error" else ""
    return f"{text}; got {shown(value)}{'.' if hint else ''}{hint}"


def shown(value: object) -> str:
    """Return a value as written in the file, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def lines_of(problems: Iterable[Problem], data: Any, file: str) -> str:
    """Return one line per problem, in the terms of the study file."""
    lines = (f"{file}: {_line(where, text, data)}" for where, text in problems)
    return "\n".join(dict.fromkeys(lines))


def _line(where: Location, text: str, data: Any = None) -> str:
    """Return a problem with its place: '[[models]] number 2, key 'source': ...'."""
    places, path = [], []
    keys: list[str] = []
    for part in where:
        data = _below(data, part)
        if isinstance(part, str):
            path.append(part)
            keys.append(part)
            # Keys written as a separate table.
            if len(path) == 1 and isinstance(data, dict):
                places.append(f"[{part}]")
                keys = []
        elif isinstance(data, dict) and keys:
            places.append(f"[[{'.'.join(path)}]] number {part + 1}")
            keys = []
        else:
            place = f"key {'.'.join(keys)!r}, " if keys else ""
            places.append(f"{place}element {part + 1}")
            keys = []
    if keys:
        places.append(f"key {'.'.join(keys)!r}")
    return f"{', '.join(places)}: {text}" if places else text


def plain_problems(data: Any, where: Location = ()) -> Iterator[Problem]:
    """Find values without JSON form: dates, NaN, and integers too long to convert quickly."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from plain_problems(value, (*where, key))
    elif isinstance(data, list):
        for position, value in enumerate(data):
            yield from plain_problems(value, (*where, position))
    elif isinstance(data, int) and not -(2**63) <= data < 2**63:
        yield where, "whole numbers have at most 64 bits"
    elif not (isinstance(data, str | int | None) or _is_finite(data)):
        yield where, f"must be a text, a finite number, true or false; got {shown(data)}"


def _is_finite(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


# Names


def check_title(name: str) -> str:
    """Return a name, or raise an error if it contains non-printable characters."""
    bad = HIDDEN.search(name)
    if bad is not None:
        raise ValueError(f"must not hold the control character {bad.group()!a}; got {name!a}")
    return name


#: A text that tables, plots and terminals show.
Name: TypeAlias = Annotated[str, AfterValidator(check_title)]


def plain_name(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def no_such(name: str, known: Collection[str], what: str) -> str:
    """Return a message that a name is unknown, with the nearest name and all names."""
    return f"{name!r} is {what}.{nearest(name, known)} Known: {', '.join(map(repr, known))}"


def check_name(name: str, known: Collection[str], what: str) -> None:
    if name not in known:
        raise ValueError(no_such(name, known, what))


def unknown(
    where: Location, names: Iterable[str], known: Collection[str], what: str
) -> Iterator[Problem]:
    for position, name in enumerate(names):
        if name not in known:
            yield (*where, position), no_such(name, known, what)


def repeated(names: Sequence[object]) -> Iterator[tuple[int, int]]:
    """Yield the positions of repeated names, with their first positions."""
    for position, name in enumerate(names):
        first = names.index(name)
        if first < position:
            yield position, first


def check_once(names: list[str]) -> list[str]:
    refuse(((at,), f"{names[at]!r} occurs twice; remove one") for at, _ in repeated(names))
    return names


# Files


def beside(text: str, base: str | os.PathLike[str]) -> str:
    """Return the absolute path of a file named in a study file; '~' is the home folder."""
    return os.path.normpath(Path(base, os.path.expanduser(text)).absolute())


def existing_file(text: str, base: str | os.PathLike[str], names: Sequence[str] = ()) -> str:
    """Return the absolute path of an existing file; the error suggests the nearest name."""
    path = Path(beside(text, base))
    if path.is_file():
        return str(path)
    is_folder = path.parent.is_dir()
    others = (
        sorted(entry for entry in path.parent.iterdir() if entry.is_file()) if is_folder else ()
    )
    # Names in the form of the file: relative to the folder that it names.
    written = [str(Path(text).with_name(other.name)) for other in others]
    known = f" Known by name: {', '.join(map(repr, names))}." if names else ""
    raise FileNotFoundError(f"there is no file {path}.{nearest(text, [*names, *written])}{known}")


@contextmanager
def blaming(table: str, label: str | None, key: str, position: int | None = None) -> Iterator[None]:
    """Add the key of the study file to errors that occur after validation."""
    place = f"[{table}]" if label is None else f"[[{table}]] of {label!r}"
    place += f", key {key!r}" + ("" if position is None else f", element {position + 1}")
    try:
        yield
    except (OSError, ValueError, TypeError, ImportError) as error:
        raise again(error, f"{place}: {error}") from error


def again(error: Exception, text: str) -> Exception:
    """Return an error of the same type with another message."""
    kinds = (FileNotFoundError, ConnectionError, OSError, ImportError, TypeError, ValueError)
    return next(kind for kind in kinds if isinstance(error, kind))(text)
