"""What all tables of a study file have in common: strict types, and messages about mistakes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import pydantic
from pydantic import AfterValidator, ConfigDict, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from wefe._checks import nearest
from wefe._visible import HIDDEN

#: The way to a value: keys, and positions in lists from 0.
Location: TypeAlias = tuple[str | int, ...]
#: What is wrong there.
Problem: TypeAlias = tuple[Location, str]


def refuse(problems: Iterable[Problem]) -> None:
    """Raise all problems as one error, to which pydantic adds the place of the table."""
    details = [
        InitErrorDetails(type=PydanticCustomError("study", "{t}", {"t": text}), loc=where, input="")
        for where, text in problems
    ]
    if details:
        raise pydantic.ValidationError.from_exception_data("study", details)


class Part(pydantic.BaseModel):
    """A table of a study file: immutable, with strict types and no unknown keys."""

    # Strict, so that mistakes raise an error.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True
    )

    @model_validator(mode="wrap")
    @classmethod
    def _in_words_of_the_file(cls, data: Any, check: Callable[[Any], Any]) -> Any:
        try:
            return check(data)
        except pydantic.ValidationError as error:
            errors = error.errors(include_url=False)
            refuse((_where(each, data), _text(each, cls)) for each in errors)


def check_params(params: Mapping[str, Any], hints: Mapping[str, Any], others: set[str]) -> None:
    """Raise an error for parameters that are unknown, one of `others`, or have the wrong type."""
    fields: Any = {name: (hint, None) for name, hint in hints.items() if name not in others}
    own = pydantic.create_model("Params", __base__=Part, **fields)
    method = pydantic.create_model("Method", __base__=Part, params=(own, ...))
    method.model_validate({"params": params})


def _where(error: Any, data: Any) -> Location:
    """Return the way to a problem, without the names of types that pydantic adds."""
    if error["type"] in ("missing", "study"):
        return tuple(error["loc"])
    where = []
    for part in error["loc"]:
        with suppress(LookupError, TypeError):
            data = data[part]
            where.append(part)
    return tuple(where)


def _text(error: Any, table: type[Part]) -> str:
    kind, value, text = error["type"], error["input"], error["msg"]
    if kind in ("missing", "study", "value_error"):
        return str(text.removeprefix("Value error, ").replace("Field required", "missing"))
    if kind == "extra_forbidden":
        keys = table.model_fields
        return f"unknown.{nearest(error['loc'][-1], keys)} Allowed: {', '.join(keys)}"
    text = re.sub(r"^\w+ should ", "must ", text)
    if kind == "list_type" and isinstance(value, dict):
        return f"{text}; tables that can occur several times have double brackets: [[...]]"
    return f"{text}; got {shown(value)}."


def shown(value: object) -> str:
    """Return a value as written in the file, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def lines_of(error: pydantic.ValidationError) -> list[str]:
    """Return one line per problem: "key 'models', number 2, key 'source': ..."."""
    lines = []
    for each in error.errors():
        parts = [f"number {p + 1}" if isinstance(p, int) else f"key {p!r}" for p in each["loc"]]
        lines.append(": ".join(filter(None, [", ".join(parts), each["msg"]])))
    return lines


# Names


def check_title(name: str) -> str:
    """Return a name, or raise an error if it contains non-printable characters."""
    bad = HIDDEN.search(name)
    if bad is not None:
        raise ValueError(f"must not hold the control character {bad.group()!a}; got {name!a}")
    return name


#: A text that tables, plots and terminals show.
Name: TypeAlias = Annotated[str, AfterValidator(check_title)]


def no_such(name: str, known: Collection[str], what: str) -> str:
    """Return a message that a name is unknown, with the nearest name and all names."""
    return f"{name!r} is {what}.{nearest(name, known)} Known: {', '.join(map(repr, known))}"


def repeated(names: Sequence[object]) -> list[int]:
    """Return the positions of repeated names."""
    return [position for position, name in enumerate(names) if name in names[:position]]


def check_once(names: list[str]) -> list[str]:
    refuse(((at,), f"{names[at]!r} occurs twice; remove one") for at in repeated(names))
    return names


# Files


def beside(text: str, base: str | os.PathLike[str]) -> str:
    """Return the absolute path of a file named in a study file; '~' is the home folder."""
    return os.path.normpath(Path(base, os.path.expanduser(text)).absolute())


def name_or_file(text: str, base: str | os.PathLike[str], names: Sequence[str] = ()) -> str:
    """Return one of some names as it is, or the absolute path of an existing file."""
    if text in names:
        return text
    path = Path(beside(text, base))
    if path.is_file():
        return str(path)
    known = f" Known by name: {', '.join(map(repr, names))}." if names else ""
    raise FileNotFoundError(f"there is no file {path}.{nearest(text, names)}{known}")


def source_file(path: str) -> Path | None:
    """Return an existing file or folder, or the archive whose member is named; None otherwise."""
    place = Path(path)
    found = (parent for parent in (place, *place.parents) if parent.is_file())
    return place if place.is_dir() else next(found, None)


@contextmanager
def blaming(table: str, label: str | None, key: str) -> Iterator[None]:
    """Add the key of the study file to errors that occur after validation."""
    place = f"[{table}]" if label is None else f"[[{table}]] of {label!r}"
    try:
        yield
    except (OSError, ValueError, TypeError, ImportError) as error:
        # Subclasses may need other arguments.
        kinds = (FileNotFoundError, ConnectionError, OSError, ImportError, TypeError, ValueError)
        kind = next(kind for kind in kinds if isinstance(error, kind))
        raise kind(f"{place}, key {key!r}: {error}") from error
