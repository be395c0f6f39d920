"""Every check of user input and its wording: what was wanted, what was found, what to do."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeGuard

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
    if _is_whole(value) and int(value) >= 1:
        return int(value)
    kind = ValueError if _is_whole(value) else TypeError
    raise kind(f"{name} must be an integer of at least 1; got {found(value)}.")


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_real(value: object) -> TypeGuard[float]:
    return _is_whole(value) or isinstance(value, float | np.floating)


def check_number(name: str, value: object, at_least: float = -math.inf) -> float:
    """Return `value` as a finite float; strings and booleans are refused."""
    with suppress(OverflowError):  # integers have no bound
        if _is_real(value) and math.isfinite(value) and value >= at_least:
            return float(value)
    bound = "" if math.isinf(at_least) else f" of at least {at_least:g}"
    kind = ValueError if _is_real(value) else TypeError
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
    if not _is_whole(value):
        raise TypeError(
            "random_state must be an integer, a numpy.random.Generator or None; "
            f"got {found(value)}. Use for example 42."
        )
    if not 0 <= value < 2**32:
        raise ValueError(
            f"random_state must be from 0 to 2**32 - 1; got {value!r}. Use for example 42."
        )
    return int(value)


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
    if not _is_real(value):
        raise TypeError(f"{name} must be a number between 0 and 1; got {found(value)}.")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is a share between 0 and 1; got {value!r}.")
    return float(value)


def check_between(name: str, value: object, example: float) -> float:
    """Return `value` as a float above 0 and below 1."""
    share = check_share(name, value)
    if share in (0, 1):
        raise ValueError(f"{name} must be between 0 and 1, such as {example}; got {value!r}.")
    return share


def check_up_to(name: str, value: object, most: int, why: str) -> int:
    """Return `value` as an int from 0 to `most`; the error says why there are no more."""
    if _is_whole(value) and 0 <= value <= most:
        return int(value)
    raise ValueError(f"{name} must be an integer from 0 to {most}, {why}; got {found(value)}.")


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


def check_text(name: str, value: object) -> str:
    """Return `value` if it is a text, and not an empty one."""
    if isinstance(value, str) and value:
        return value
    raise TypeError(f"{name} must be a text; got {found(value)}.")


def check_n_jobs(n_jobs: object) -> int | None:
    """Return the number of workers, as joblib counts them."""
    if n_jobs is None or (_is_whole(n_jobs) and n_jobs != 0):
        return n_jobs
    raise (ValueError if _is_whole(n_jobs) else TypeError)(
        f"n_jobs must be a number of workers, -1 for one per core, or None; got {found(n_jobs)}."
    )
