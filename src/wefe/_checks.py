"""What wefe tells people: errors of user input, progress, and the log."""

from __future__ import annotations

import logging
import math
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")

#: The logger of all modules, so that a filter of it sees every message.
logger = logging.getLogger("wefe")


def found(value: object) -> str:
    """Describe a value for an error message: its type and, when short, the value itself."""
    text = " ".join(repr(value).split())
    if len(text) > 60:
        text = text[:57] + "..."
    return f"{type(value).__name__} {text}"


def listed(names: Iterable[str], most: int = 5) -> str:
    """Format names as a list in words.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a, b and c', 'a, b and 1 more')
    """
    shown = list(names)
    if len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most} more"]
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def nearest(value: object, choices: Collection[str]) -> str:
    """Return ' Did you mean ...?' for the nearest choice, or '' if none is near."""
    import difflib  # only for errors

    near = difflib.get_close_matches(str(value), map(str, choices), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def plain_name(name: str) -> str:
    """Return a name without case and punctuation."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def check_choice(name: str, value: Any, choices: Collection[Any]) -> Any:
    """Return `value` if it is one of `choices`."""
    alike = isinstance(value, tuple(map(type, choices))) and not isinstance(value, bool)
    if alike and value in choices:
        return value
    allowed = ", ".join(map(repr, choices))
    raise ValueError(
        f"{name} must be one of {allowed}; got {found(value)}.{nearest(value, choices)}"
    )


def check_known(what: str, keys: Iterable[object], allowed: Collection[str]) -> None:
    """Raise an error for the first key that is not allowed."""
    for key in keys:
        if key not in allowed:
            options = ", ".join(map(repr, allowed))
            raise ValueError(
                f"{what}: unknown option {key!r}; the options are {options}.{nearest(key, allowed)}"
            )


def check_bool(name: str, value: object) -> bool:
    """Return a flag as bool; reject numbers, strings and None."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise TypeError(f"{name} must be True or False; got {found(value)}.")


def check_given(check: Callable[[str, Any], object], **values: object) -> None:
    """Check the values that are not None."""
    for name, value in values.items():
        if value is not None:
            check(name, value)


def check_positive_int(name: str, value: object, at_least: int = 1) -> int:
    """Return an integer of at least 1, or of `at_least`; reject floats and bools."""
    if _is_whole(value) and int(value) >= at_least:
        return int(value)
    raise _refusal(name, value, f"an integer of at least {at_least}", _is_whole(value))


def _refusal(name: str, value: object, wanted: str, is_right_type: bool) -> Exception:
    kind = ValueError if is_right_type else TypeError
    return kind(f"{name} must be {wanted}; got {found(value)}.")


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_real(value: object) -> TypeGuard[float]:
    return _is_whole(value) or isinstance(value, float | np.floating)


def check_number(name: str, value: object, at_least: float = -math.inf) -> float:
    """Return a finite number as float; reject strings and bools."""
    with suppress(OverflowError):  # an integer too large for a float
        if _is_real(value) and math.isfinite(value) and value >= at_least:
            return float(value)
    bound = "" if math.isinf(at_least) else f" of at least {at_least:g}"
    raise _refusal(name, value, f"a finite number{bound}", _is_real(value))


def check_array(name: str, values: object, shape: str) -> npt.NDArray[np.float64]:
    """Return finite numbers as float64.

    `shape` is written as in the docstrings, for example '(dim,) or (n_words, dim)'. Only the number
    of axes is checked, and that no axis is empty.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iuf":
            raise TypeError
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        wanted = f"an array of real numbers of shape {shape}"
        raise TypeError(f"{name} must be {wanted}; got {found(values)}.") from None
    numbers_of_axes = {len(re.findall(r"\w+", each)) for each in shape.split(" or ")}
    if 0 in array.shape or array.ndim not in numbers_of_axes:
        raise ValueError(
            f"{name} must have shape {shape}, with at least one number; got {array.shape}."
        )
    bad = ~np.isfinite(array)
    if bad.any():
        raise ValueError(f"{name}: row {np.argwhere(bad)[0, 0]} holds NaN or infinity.")
    return array


def check_random_state(name: str, value: object) -> int | np.random.Generator | None:
    """Return a seed, a generator or None."""
    if value is None or isinstance(value, np.random.Generator):
        return value
    if _is_whole(value) and 0 <= value < 2**32:
        return int(value)
    wanted = "an integer from 0 to 2**32 - 1, a numpy.random.Generator or None"
    raise _refusal(name, value, wanted, _is_whole(value))


def as_seed(random_state: object) -> int:
    """Return an integer seed for a random state; None draws a new one."""
    checked = check_random_state("random_state", random_state)
    if isinstance(checked, int):
        return checked
    return int(np.random.default_rng(checked).integers(2**32))


def check_share(name: str, value: object) -> float:
    """Return a number between 0 and 1 as float."""
    if _is_real(value) and 0 <= value <= 1:
        return float(value)
    raise _refusal(name, value, "a number between 0 and 1", _is_real(value))


def check_between(name: str, value: object, example: float) -> float:
    """Return a number between 0 and 1, both excluded."""
    if _is_real(value) and 0 < value < 1:
        return float(value)
    raise _refusal(name, value, f"between 0 and 1, such as {example}", _is_real(value))


def check_up_to(name: str, value: object, most: int, why: str) -> int:
    """Return an integer from 0 to `most`."""
    if _is_whole(value) and 0 <= value <= most:
        return int(value)
    raise ValueError(f"{name} must be an integer from 0 to {most}, {why}; got {found(value)}.")


def check_sequence(name: str, value: object) -> Sequence[Any]:
    """Return a list, tuple, array or pandas column; reject sets (unordered) and strings."""
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        return value  # type: ignore[return-value]
    module = type(value).__module__.partition(".")[0]
    if module == "pandas" and getattr(value, "ndim", 0) == 1:
        return list(value)  # type: ignore[call-overload,no-any-return]
    hint = " Put it in a list: [...]." * (isinstance(value, str) or module == "wefe")
    raise TypeError(f"{name} must be a list (or tuple, or array); got {found(value)}.{hint}")


def check_word_set(name: str, words: object) -> tuple[str, ...]:
    """Return one or more words as a tuple of str."""
    sequence = check_sequence(name, words)
    if len(sequence) == 0:
        raise ValueError(f"{name} is empty; a word set needs at least one word.")
    for position, word in enumerate(sequence):
        if not isinstance(word, str):
            raise TypeError(f"{name}: element {position} must be a string; got {found(word)}.")
    return tuple(map(str, sequence))


def check_word_sets(name: str, sets: object) -> tuple[tuple[str, ...], ...]:
    """Return a sequence of word sets as tuples."""
    given = enumerate(check_sequence(name, sets))
    return tuple(check_word_set(f"{name}[{i}]", words) for i, words in given)


def check_text(name: str, value: object) -> str:
    """Return a string that is not empty."""
    if isinstance(value, str) and value:
        return value
    raise TypeError(f"{name} must be a text; got {found(value)}.")


def check_n_jobs(n_jobs: object) -> int | None:
    """Return a number of workers as in joblib: positive, negative or None, but not 0."""
    if n_jobs is None or (_is_whole(n_jobs) and n_jobs != 0):
        return n_jobs
    wanted = "a number of workers, -1 for one per core, or None"
    raise _refusal("n_jobs", n_jobs, wanted, _is_whole(n_jobs))


def import_library(name: str, extra: str, label: str) -> Any:
    """Import an optional library; the error names the extra that installs it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f'{label} needs the library {name}; install it: pip install "wefe[{extra}]"'
        ) from error


@contextmanager
def noted(notes: list[str], *, quiet: bool = True) -> Iterator[None]:
    """Collect the warnings of this thread in `notes`, each once; log them too unless `quiet`."""
    here = threading.get_ident()

    def passes(record: logging.LogRecord) -> bool:
        if record.levelno > logging.WARNING or record.thread != here:
            return True
        is_new = record.getMessage() not in notes
        if is_new and record.levelno == logging.WARNING:
            notes.append(record.getMessage())
        return is_new and not quiet

    logger.addFilter(passes)
    try:
        yield
    finally:
        logger.removeFilter(passes)


def progress_bar(total: int | None, what: str, unit: str, show: bool = True) -> Any:
    """Return a tqdm bar for standard error that appears after two seconds.

    If standard error is not a terminal, a line is written every 30 s. The unit 'B' means bytes.
    """
    from tqdm import tqdm  # quicker to start without it

    shape: dict[str, Any] = {"leave": False, "unit_scale": unit == "B"}
    if not sys.stderr.isatty():
        done = "{desc}: {n:,}" if total is None else "{desc}: {n:,} of {total:,}"
        shape = {"mininterval": 30, "miniters": 1, "bar_format": f"{done} ({unit})\n"}
    return tqdm(total=total, desc=what, unit=unit, delay=2, disable=not show, **shape)
