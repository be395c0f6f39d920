"""Every check of user input and its wording: what was wanted, what was found, what to do."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt


def found(value: object) -> str:
    """Describe a value for an error message: its type and, when short, the value itself."""
    text = " ".join(repr(value).split())
    if len(text) > 60:
        text = text[:57] + "..."
    return f"{type(value).__name__} {text}"


def nearest(value: object, choices: Collection[str]) -> str:
    """Return ' Did you mean ...?', or nothing if no choice is near."""
    import difflib  # only for errors

    near = difflib.get_close_matches(str(value), list(choices), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    """Return `value` if it is one of `choices`; the error names them and the nearest one."""
    if isinstance(value, str) and value in choices:
        return value
    allowed = ", ".join(repr(choice) for choice in choices)
    raise ValueError(
        f"{name} must be one of {allowed}; got {found(value)}.{nearest(value, choices)}"
    )


def check_known(what: str, keys: Iterable[object], allowed: Collection[str]) -> None:
    """Refuse keys outside `allowed`, naming the nearest allowed one."""
    for key in keys:
        if key in allowed:
            continue
        options = ", ".join(repr(option) for option in allowed)
        raise ValueError(
            f"{what}: unknown option {key!r}; the options are {options}.{nearest(key, allowed)}"
        )


def check_bool(name: str, value: object) -> bool:
    """Return `value` as a bool; numbers and strings are refused."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise TypeError(f"{name} must be True or False; got {found(value)}.")


def check_positive_int(name: str, value: object) -> int:
    """Return `value` as an int of at least 1."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if whole and int(value) >= 1:  # type: ignore[call-overload]
        return int(value)  # type: ignore[call-overload,no-any-return]
    kind = ValueError if whole else TypeError
    raise kind(f"{name} must be an integer of at least 1; got {found(value)}.")


def check_number(name: str, value: object, at_least: float = -math.inf) -> float:
    """Return `value` as a finite float; strings and booleans are refused."""
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    number = math.nan
    if real:
        with suppress(OverflowError):  # integers have no bound
            number = float(value)  # type: ignore[arg-type]
    if math.isfinite(number) and number >= at_least:
        return number
    bound = "" if math.isinf(at_least) else f" of at least {at_least:g}"
    kind = ValueError if real else TypeError
    raise kind(f"{name} must be a finite number{bound}; got {found(value)}.")


def check_array(
    name: str, values: object, shape: str = "", *, missing: bool = False, whole: bool = False
) -> npt.NDArray[Any]:
    """Return real numbers as a float64 array, or integers as an int64 array.

    `shape` has a name for each axis, as in "(n_words,) or (n_words, n_groups)", none of which may
    be empty; without it any shape will do. If numbers may be `missing`, NaN stands for them.
    """
    kind = ("integers" if whole else "real numbers") + (f" of shape {shape}" if shape else "")
    try:
        array = np.asarray(values)
        if array.dtype.kind not in ("iu" if whole else "iuf"):
            raise TypeError
        array = array.astype(np.int64 if whole else np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be an array of {kind}; got {found(values)}.") from None
    if shape and (0 in array.shape or array.ndim not in _numbers_of_axes(shape)):
        raise ValueError(
            f"{name} must have shape {shape}, with at least one number; got {array.shape}."
        )
    if not np.isfinite(array).all() and (not missing or np.isinf(array).any()):
        row = int(np.argwhere(~np.isfinite(np.atleast_1d(array)))[0, 0])
        raise ValueError(f"{name}: row {row} holds {'' if missing else 'NaN or '}infinity.")
    return array


@functools.cache
def _numbers_of_axes(shape: str) -> set[int]:
    return {len(re.findall(r"\w+", each)) for each in shape.split(" or ")}


def check_random_state(value: object) -> int | np.random.Generator | None:
    """Return a seed, a generator, or None for fresh entropy."""
    if value is None or isinstance(value, np.random.Generator):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        if 0 <= int(value) < 2**32:
            return int(value)
        raise ValueError(
            f"random_state must be from 0 to 2**32 - 1; got {value!r}. Use for example 42."
        )
    raise TypeError(
        f"random_state must be an integer, a numpy.random.Generator or None; got {found(value)}. "
        "Use for example 42."
    )


def as_seed(random_state: object) -> int:
    """Return a seed: the one that was given, or one that the generator, or fresh entropy, draws."""
    checked = check_random_state(random_state)
    if isinstance(checked, np.random.Generator):
        return int(checked.integers(2**32))
    if checked is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return checked


def check_share(name: str, value: object) -> float:
    """Return `value` as a float in [0, 1]; the integers 0 and 1 are fine."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        share = float(value)
        if math.isfinite(share) and 0.0 <= share <= 1.0:
            return share
        raise ValueError(f"{name} is a share between 0 and 1; got {value!r}.")
    raise TypeError(f"{name} must be a number between 0 and 1; got {found(value)}.")


def check_strategy(value: object) -> str:
    """Return the look-up strategy: 'first' or 'all'."""
    return check_choice("strategy", value, ("first", "all"))


def check_sequence(name: str, value: object) -> Sequence[Any]:
    """Return `value` if it is a list, tuple or array: something with an order and no keys.

    A pandas Series or Index becomes a list; its labels do not count.
    """
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        return value  # type: ignore[return-value]
    from_pandas = type(value).__module__.partition(".")[0] == "pandas"
    if from_pandas and getattr(value, "ndim", 0) == 1:
        return list(value)  # type: ignore[call-overload,no-any-return]
    hint = f" Put it in a list: [{value!r}]." if isinstance(value, str) else ""
    if type(value).__module__.startswith("wefe."):
        hint = f" Put it in a list: {name}=[...]."
    raise TypeError(f"{name} must be a list (or tuple, or array); got {found(value)}.{hint}")


def check_word_set(name: str, words: object) -> tuple[str, ...]:
    """Return one word set as a tuple of strings; the error says which element is wrong."""
    sequence = check_sequence(name, words)
    if len(sequence) == 0:
        raise ValueError(f"{name} is empty; a word set needs at least one word.")
    for position, word in enumerate(sequence):
        if not isinstance(word, str):
            raise TypeError(f"{name}: element {position} must be a string; got {found(word)}.")
    return tuple(str(word) for word in sequence)
