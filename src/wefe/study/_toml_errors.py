"""What is wrong in a study file, in the words of that file: its tables, keys and values."""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import pydantic

from wefe._checks import nearest

#: The way to a value: keys, and positions in lists from 0.
Location: TypeAlias = tuple[str | int, ...]

_KINDS = {
    "string_type": "a text in quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list in brackets, [...]",
    "dict_type": "a table: keys with values",
    "model_type": "a table: keys with values",
    "finite_number": "a number that is neither nan nor inf",
}


class PlacedError(ValueError):
    """Several things that are wrong, each with its place.

    Validators raise it to point at keys below or beside the one that they are for.

    Parameters
    ----------
    problems : sequence of (location, str)
        Where, relative to what is validated, and what is wrong.

    Examples
    --------
    >>> print(PlacedError([(("label",), "two metrics are called 'WEAT'")]))
    key 'label': two metrics are called 'WEAT'
    """

    def __init__(self, problems: Sequence[tuple[Location, str]]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(_line(where, text) for where, text in self.problems))


def problems_text(
    error: pydantic.ValidationError,
    data: Mapping[str, Any],
    model: type[pydantic.BaseModel],
    file: str,
) -> str:
    """Return one line per problem, as the writer of the file would say it.

    Parameters
    ----------
    error : pydantic.ValidationError
        What the validation found.
    data : mapping
        What was validated.
    model : class
        What it was validated as.
    file : str
        What to call the file.
    """
    found: list[tuple[Location, str]] = []
    for each in error.errors(include_url=False):
        # A name that is wrong is a place of its own to pydantic.
        where = tuple(part for part in each["loc"] if part != "[key]")
        raised = each.get("ctx", {}).get("error")
        if isinstance(raised, PlacedError):
            found += [((*where, *below), text) for below, text in raised.problems]
        else:
            found.append((where, _text(dict(each), where, model)))
    lines = (_line(where, text, data) for where, text in found)
    return "\n".join(f"{file}: {line}" for line in dict.fromkeys(lines))


def check_params(
    params: Mapping[str, Any],
    functions: Sequence[Callable[..., Any]],
    more: Mapping[str, Any],
    without: Collection[str],
    what: str,
) -> None:
    """Refuse parameters that no function takes, and values of another kind than it takes.

    Parameters
    ----------
    params : mapping
        As the file has them.
    functions : sequence of callable
        They have the parameters, with type hints.
    more : mapping from str to type hint
        Further parameters.
    without : collection of str
        Parameters that no file can set.
    what : str
        What takes the parameters.

    Raises
    ------
    PlacedError
        One for each parameter, located at ('params', name).
    """
    hints: dict[str, Any] = {}
    for function in functions:
        known = _type_hints(function)
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                hints.setdefault(name, known.get(name, Any))
    hints = {name: hint for name, hint in {**hints, **more}.items() if name not in without}
    problems: list[tuple[Location, str]] = []
    for name, value in params.items():
        if name not in hints:
            problems.append((("params", name), unknown_key(name, hints, what)))
        elif not _fits(value, hints[name]):
            text = f"must be {_wanted(hints[name])}; got {shown(value)}"
            problems.append((("params", name), text))
    if problems:
        raise PlacedError(problems)


def unknown_key(key: str, allowed: Collection[str], what: str = "") -> str:
    """Return that a key is unknown, with the nearest one and all that are allowed."""
    of = f" to {what}" if what else ""
    listed = f"Allowed: {', '.join(allowed)}" if allowed else "It has none"
    return f"unknown{of}.{nearest(key, allowed)} {listed}"


def shown(value: object) -> str:
    """Return a value as the file has it, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def hint_of_toml(error: ValueError) -> str:
    """Return what to do about a file that is no TOML, if that is known.

    Examples
    --------
    >>> hint_of_toml(ValueError("Cannot declare ('metrics',) twice (at line 9, column 9)"))
    ' There may be several, so write double brackets each time: [[metrics]]'
    """
    twice = re.search(r"\((?P<names>'[^()]*)\)", str(error))
    names = re.findall(r"'([^']*)'", twice["names"]) if twice else []
    if ".".join(names) not in _SEVERAL:
        return ""
    return f" There may be several, so write double brackets each time: [[{'.'.join(names)}]]"


# What is written in double brackets.
_SEVERAL = (
    *("models", "queries", "queries.query", "metrics", "mitigations", "silhouettes"),
    "external",
)


def _text(error: Mapping[str, Any], where: Location, model: type[pydantic.BaseModel]) -> str:
    kind, value, limits = error["type"], error.get("input"), error.get("ctx", {})
    if kind == "missing":
        return f"missing. {_field(model, where).description or 'It is needed'}".rstrip(".")
    if kind == "extra_forbidden":
        return unknown_key(str(where[-1]), _fields(_model_at(model, where[:-1])))
    if kind == "literal_error":
        choices = typing.get_args(_literal(_field(model, where).annotation))
        listed = ", ".join(map(repr, choices))
        hint = nearest(value, choices) if isinstance(value, str) else ""
        return f"must be one of {listed}; got {shown(value)}.{hint}".rstrip(".")
    name = ".".join(str(part) for part in where if isinstance(part, str))
    if kind == "list_type" and isinstance(value, dict) and name in _SEVERAL:
        return f"there may be several, so write double brackets: [[{name}]]"
    if kind == "model_type" and isinstance(value, list):
        return f"there is only one, so write single brackets: [{where[-1]}]"
    if kind == "float_type" and isinstance(value, dict) and value:
        return f"must be a number. A name with dots needs quotes: {_dotted(where[-1], value)}"
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}; got {shown(value)}"
    if kind == "too_short":
        return f"must hold {limits['min_length']} or more; got {limits['actual_length']}"
    if kind == "string_too_short":
        return "must not be empty"
    bounds = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most")}
    bounds |= {"greater_than": ("gt", "above"), "less_than": ("lt", "below")}
    if kind in bounds:
        key, word = bounds[kind]
        return f"must be {word} {limits[key]:g}; got {shown(value)}"
    return str(limits.get("error") or error["msg"]).rstrip(".")


def _dotted(key: str | int, table: Mapping[str, Any]) -> str:
    """Return the name that was taken for tables in tables, in quotes."""
    names, value = [str(key)], table
    while isinstance(value, dict) and value:
        name, value = next(iter(value.items()))
        names.append(name)
    return json.dumps(".".join(names), ensure_ascii=False)


def _line(where: Location, text: str, data: Any = None) -> str:
    """Return a problem with its place: '[[models]] number 2, key 'source': ...'."""
    places, keys = [], []
    path: list[str] = []
    for part in where:
        data = _below(data, part)
        if isinstance(part, str):
            path.append(part)
            keys.append(part)
            # What is written as a table of its own.
            if len(path) == 1 and isinstance(data, dict):
                places.append(f"[{'.'.join(path)}]")
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


def _below(data: Any, part: str | int) -> Any:
    if isinstance(data, dict):
        return data.get(part)
    if isinstance(data, list) and isinstance(part, int) and part < len(data):
        return data[part]
    return None


def _model_at(model: type[pydantic.BaseModel], where: Location) -> type[pydantic.BaseModel] | None:
    """Return the class of the table at a place; None inside of free tables."""
    at: type[pydantic.BaseModel] | None = model
    for part in where:
        if isinstance(part, str) and at is not None:
            field = at.model_fields.get(part)
            at = None if field is None else _model_in(field.annotation)
    return at


def _model_in(hint: Any) -> type[pydantic.BaseModel] | None:
    if isinstance(hint, type) and issubclass(hint, pydantic.BaseModel):
        return hint
    return next(filter(None, map(_model_in, typing.get_args(hint))), None)


def _fields(model: type[pydantic.BaseModel] | None) -> list[str]:
    return [] if model is None else list(model.model_fields)


def _field(model: type[pydantic.BaseModel], where: Location) -> Any:
    keys = [part for part in where if isinstance(part, str)]
    table = _model_at(model, tuple(keys[:-1]))
    assert table is not None
    return table.model_fields[keys[-1]]


def _literal(hint: Any) -> Any:
    if typing.get_origin(hint) is typing.Literal:
        return hint
    return next(filter(None, map(_literal, typing.get_args(hint))), None)


def _type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function.__init__ if inspect.isclass(function) else function)
    except NameError:  # imported for type checkers only: then values are not checked here
        return {}


def _options(hint: Any) -> tuple[Any, ...]:
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if is_union else (hint,)


_PLAIN: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "a text in quotes"),
}


def _fits(value: object, hint: Any) -> bool:
    for option in _options(hint):
        origin = typing.get_origin(option) or option
        if option is Any:
            return True
        if origin is typing.Literal:
            if any(value == choice and type(value) is type(choice) for choice in option.__args__):
                return True
        elif option in _PLAIN:
            # true is a number in Python only.
            if isinstance(value, _PLAIN[option][0]) and (option is bool) == isinstance(value, bool):
                return True
        elif (
            inspect.isclass(origin) and isinstance(value, dict | list) and isinstance(value, origin)
        ):
            return True
    return False


def _wanted(hint: Any) -> str:
    said = []
    for option in _options(hint):
        origin = typing.get_origin(option) or option
        if origin is typing.Literal:
            said += [shown(choice) for choice in option.__args__]
        elif option in _PLAIN:
            said.append(_PLAIN[option][1])
        elif inspect.isclass(origin) and issubclass(dict, origin):
            said.append(_KINDS["dict_type"])
        elif inspect.isclass(origin) and issubclass(list, origin):
            said.append(_KINDS["list_type"])
    return " or ".join(said)
