"""Parameters of a metric: annotated fields of its class, and checks derived from the annotations.

Those of type ``Annotated[type, check]`` use a function ``check(name, value)``, which may raise.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np

from wefe._checks import (
    check_bool,
    check_choice,
    check_number,
    check_positive_int,
    check_random_state,
    found,
)

#: A whole number of at least 1.
Count: TypeAlias = Annotated[int, check_positive_int]
#: The seed or source of what is random; None for fresh entropy.
RandomState: TypeAlias = Annotated[
    int | np.random.Generator | None, lambda _, value: check_random_state(value)
]


def _check_type(kind: type, name: str, value: Any) -> Any:
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    raise TypeError(f"{name} must be of type {kind.__name__}; got {found(value)}.")


def _check_literal(choices: tuple[Any, ...], name: str, value: Any) -> Any:
    if isinstance(choices[0], str):
        return check_choice(name, value, choices)
    if np.isscalar(value) and value in choices and not isinstance(value, bool):
        return value
    raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}; got {value!r}.")


def _check_of(hint: Any) -> Callable[[str, Any], Any]:
    if get_origin(hint) is Literal:
        return functools.partial(_check_literal, get_args(hint))
    if hint in (int, str):
        return functools.partial(_check_type, hint)
    if hint is bool:
        return check_bool
    if hint is float:
        return check_number
    own = filter(callable, getattr(hint, "__metadata__", ()))
    return next(own, lambda _, value: value)


def hints_of(metric: Any) -> dict[str, Any]:
    """Return the parameters of a metric, its own first, with their annotations."""
    return _hints_of(metric)


@functools.cache
def _hints_of(metric: Any) -> dict[str, Any]:
    own_first = [name for kind in metric.__mro__ for name in vars(kind).get("__annotations__", ())]
    names = sorted((each.name for each in dataclasses.fields(metric)), key=own_first.index)
    hints = get_type_hints(metric, include_extras=True) if names else {}
    return {name: hints[name] for name in names}


def plain_hints_of(metric: Any) -> dict[str, Any]:
    """Return the parameters of a metric with their types, without the checks."""
    hints = get_type_hints(metric) if hints_of(metric) else {}
    return {name: hints[name] for name in hints_of(metric)}


@functools.cache
def _checks_of(metric: Any) -> dict[str, Callable[[str, Any], Any]]:
    return {name: _check_of(hint) for name, hint in hints_of(metric).items()}


def check_parameters(metric: Any) -> None:
    own, kind = vars(metric), metric.__class__
    for name, check in _checks_of(kind).items():
        own[name] = check(name, getattr(metric, name))
