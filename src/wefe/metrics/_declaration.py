"""What metrics declare and return: parameters, with checks from their annotations, and scales."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
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
from wefe.results import Measurement as Measurement

# Parameters of type ``Annotated[type, check]`` use ``check(name, value)``, which may raise.

#: A whole number of at least 1.
Count: TypeAlias = Annotated[int, check_positive_int]
#: The seed or source of what is random; None for fresh entropy.
RandomState: TypeAlias = Annotated[int | np.random.Generator | None, check_random_state]


def _check_type(kind: type, name: str, value: Any) -> Any:
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    raise TypeError(f"{name} must be of type {kind.__name__}; got {found(value)}.")


@functools.cache
def _check_of(hint: Any) -> Callable[[str, Any], Any]:
    if get_origin(hint) is Literal:
        return functools.partial(check_choice, choices=get_args(hint))
    if hint in (int, str):
        return functools.partial(_check_type, hint)
    if hint is bool:
        return check_bool
    if hint is float:
        return check_number
    own = filter(callable, getattr(hint, "__metadata__", ()))
    return next(own, lambda _, value: value)


def hints_of(metric: Any, plain: bool = False) -> dict[str, Any]:
    """Return parameters, the metric's own first, with types and, unless `plain`, checks."""
    return _hints_of(metric, plain)


@functools.cache
def _hints_of(metric: Any, plain: bool) -> dict[str, Any]:
    own_first = [name for kind in metric.__mro__ for name in vars(kind).get("__annotations__", ())]
    names = sorted((each.name for each in dataclasses.fields(metric)), key=own_first.index)
    hints = get_type_hints(metric, include_extras=not plain) if names else {}
    return {name: hints[name] for name in names}


def check_parameters(metric: Any) -> None:
    for name, hint in hints_of(metric.__class__).items():
        vars(metric)[name] = _check_of(hint)(name, getattr(metric, name))


@dataclass(frozen=True)
class Scale:
    """How to read the scores of a metric.

    Attributes
    ----------
    label : str
        Short name of the score, used as a column heading.
    value_range : (float, float)
        Smallest and largest possible score; infinite where there is no bound.
    no_bias_value : float
        The score that means that no bias was measured.

    Examples
    --------
    >>> from wefe.metrics import MAC
    >>> MAC().scale()
    Scale(label='MAC', value_range=(0.0, 2.0), no_bias_value=1.0)
    """

    label: str
    value_range: tuple[float, float]
    no_bias_value: float

    @property
    def is_one_sided(self) -> bool:
        """Whether `no_bias_value` is an end of the range, so all bias lies on one side of it."""
        return self.no_bias_value in self.value_range

    def bias(self, scores: Any) -> Any:
        """Distance of scores from `no_bias_value`: smaller means less bias measured.

        Parameters
        ----------
        scores : float, ndarray, Series or DataFrame
            Scores on this scale.

        Returns
        -------
        float, or as `scores`
            ``abs(scores - no_bias_value)``, the order of the WEFE paper (section 3.1); NaN for NaN.
        """
        return abs(scores - self.no_bias_value)
