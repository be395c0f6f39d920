"""Convert many decimal numbers from text and back at once.

Three multiplications add up the eight digits in a 64-bit integer ("SIMD within a register"). The
result is exact: float64 rounds an integer below 2**53, divided once by a power of ten up to 10**22,
correctly (Clinger 1990). Numpy parses all other numbers, such as those with exponents.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from wefe.models._types import FloatArray

_U64 = np.uint64
# Stands before the text, as eight digits are loaded from their end backwards.
PAD = b"\n" * 16
# What numbers are made of; anything else (letters of nan and inf, too) is left to the caller.
_OF_NUMBERS = b"0123456789.+-eE \n"

_POINT, _MINUS, _SPACE, _NEWLINE = 46, 45, 32, 10
# Integers of so many digits are exact in float64.
_MAX_DIGITS = 15
# The last k bytes of a (little-endian) load of eight.
_LAST = np.array([0] + [((1 << (8 * k)) - 1) << (64 - 8 * k) for k in range(1, 9)], dtype=np.uint64)
_TENS = 10.0 ** np.arange(_MAX_DIGITS + 1)

# glibc hands freed memory back at once, and asking for it again costs more than the arithmetic;
# freeing one large block teaches it to keep what this module uses and frees all the time.
_KEEP_BYTES = 24 << 20


def keep_freed_memory() -> None:
    """Let the C library keep freed memory; call once before much parsing."""
    np.empty(_KEEP_BYTES, dtype=np.uint8)


def parse_numbers(rows: list[bytes], dim: int) -> npt.NDArray[np.float32] | None:
    """Parse lines of `dim` times a space and a number; None if a line is anything else."""
    parsed = parse_rows(b"".join([PAD, *rows]), len(rows), dim)
    if parsed is None:
        return None
    vectors, regular = parsed
    # As many numbers as expected, but with exponents or many digits.
    others = np.flatnonzero(~regular).tolist()
    text = b"".join([rows[row] for row in others])
    if text.translate(None, _OF_NUMBERS):
        return None
    try:
        values = np.array(text.split(), dtype=np.float64).reshape(len(others), dim)
    except ValueError:
        return None
    with np.errstate(over="ignore"):
        vectors[others] = values
    return vectors


def parse_rows(text: bytes, n_rows: int, dim: int) -> tuple[npt.NDArray[np.float32], Any] | None:
    """Parse plain decimals after `PAD`; tell which lines have only such. None if blanks differ."""
    raw = np.frombuffer(text, dtype=np.uint8)
    blanks: Any = np.flatnonzero(raw[len(PAD) :] <= _SPACE)
    blanks += len(PAD)
    if len(blanks) != n_rows * (dim + 1):
        return None
    blanks = blanks.reshape(n_rows, dim + 1)
    if (raw[blanks[:, :-1]] != _SPACE).any() or (raw[blanks[:, -1]] != _NEWLINE).any():
        return None
    starts, ends = blanks[:, :-1] + 1, blanks[:, 1:]
    points: Any = np.flatnonzero(raw == _POINT)
    regular = np.ones(n_rows, dtype=bool)
    vectors = np.empty((n_rows, dim), dtype=np.float32)
    if len(points) != n_rows * dim:
        # Rows with as many points as numbers.
        row = np.searchsorted(ends[:, -1], points)
        regular = np.bincount(row, minlength=n_rows) == dim
        points, starts, ends = points[regular[row]], starts[regular], ends[regular]
    if len(points):
        values, plain = _decimals(raw, starts, points.reshape(-1, dim), ends)
        vectors[regular] = values
        regular[regular] = plain
    return vectors, regular


def _decimals(raw: npt.NDArray[np.uint8], starts: Any, points: Any, ends: Any) -> tuple[Any, Any]:
    """Return rows of numbers, and which rows are only digits with a point between."""
    n_fraction = ends - points
    n_fraction -= 1
    n_whole = points - starts
    negative = raw[starts] == _MINUS
    n_whole -= negative
    wrong = (n_fraction < 0) | (n_whole < 1) | (n_whole > 8)
    wrong |= n_whole + n_fraction > _MAX_DIGITS
    if wrong.any():
        # Nothing is read from these, but what is loaded for them must exist.
        n_fraction[wrong], n_whole[wrong] = 0, 1
        points[wrong] = starts[wrong]
    value, no_digits = _last_digits(raw, ends, np.minimum(n_fraction, 8))
    wrong |= no_digits
    if n_fraction.max() > 8:
        more, no_digits = _last_digits(raw, ends - 8, np.maximum(n_fraction - 8, 0))
        more *= 1e8
        value += more
        wrong |= no_digits
    scale = _TENS.take(n_fraction)
    whole, no_digits = _last_digits(raw, points, n_whole)
    wrong |= no_digits
    value += whole * scale
    value /= scale
    np.negative(value, out=value, where=negative)
    return value, ~wrong.any(axis=1)


def _last_digits(raw: npt.NDArray[np.uint8], ends: Any, n_digits: Any) -> tuple[Any, Any]:
    """Return the integers of the last `n_digits` (at most 8) before each end, and which are bad."""
    # Every eight bytes of the text as one integer, at every offset: a view, no copy.
    eights = np.ndarray((len(raw) - 7,), dtype="<u8", buffer=raw.data, strides=(1,))
    x = eights[ends - 8]
    mask = _LAST.take(n_digits)
    x &= mask
    mask &= _U64(0x3030303030303030)
    x ^= mask
    # What was a digit is now 0 to 9: nothing in the upper half, nor once 6 is added.
    wrong = x + _U64(0x0606060606060606)
    wrong |= x
    wrong &= _U64(0xF0F0F0F0F0F0F0F0)
    x *= _U64(2561)
    x >>= _U64(8)
    x &= _U64(0x00FF00FF00FF00FF)
    x *= _U64(6553601)
    x >>= _U64(16)
    x &= _U64(0x0000FFFF0000FFFF)
    x *= _U64(42949672960001)
    x >>= _U64(32)
    return x.astype(np.float64), wrong != 0


# Numbers that are turned into text at once: they fit into the cache.
_AT_ONCE = 1 << 15
# Between these, numbers have no exponent, neither in JSON nor in numpy's text.
_LEAST, _LIMIT = np.float32(1e-4), np.float32(1e6)


def text_lines(words: list[str], vectors: FloatArray) -> Iterator[bytes]:
    """Yield a line for each word, with the fewest digits that restore its numbers."""
    from pydantic_core import to_json  # slow to import

    vectors = vectors.astype(np.promote_types(vectors.dtype, np.float32), copy=False)
    step = max(1, _AT_ONCE // vectors.shape[1])
    for start in range(0, len(words), step):
        chunk = vectors[start : start + step]
        rows = to_json(_shortest(chunk).tolist())[2:-2].replace(b",", b" ").split(b"] [")
        size = np.abs(chunk)
        odd = (size != 0) & ((size <= _LEAST) | (size >= _LIMIT))
        for row in np.flatnonzero(odd.any(axis=1)):
            numbers = rows[row].split(b" ")
            for place in np.flatnonzero(odd[row]):
                numbers[place] = str(chunk[row, place]).encode()
            rows[row] = b" ".join(numbers)
        for word, text in zip(words[start : start + step], rows, strict=True):
            yield b"%b %b\n" % (word.encode(), text)


def _shortest(vectors: FloatArray) -> FloatArray:
    """Return numbers in float64 whose fewest digits are those of the float32 numbers."""
    if vectors.dtype != np.float32:
        return vectors
    exact = vectors.astype(np.float64)
    # What is smaller or larger is written in another way.
    size = np.abs(exact).clip(_LEAST, _LIMIT / 2)
    # Nine significant digits tell a float32 from all others, of which 12 at most are decimals. The
    # product of 24 bits and 10**12 (28 bits and a power of two) is exact in float64.
    n_decimals = 8 - np.floor(np.log10(size)).astype(np.intp)
    shortest = exact.copy()
    for fewer in range(4):
        scale = _TENS.take(n_decimals - fewer)
        rounded = np.rint(exact * scale) / scale
        # Of six digits or less, those that are left over are zeros.
        np.copyto(shortest, rounded, where=rounded.astype(np.float32) == vectors)
    return shortest
