"""Convert many decimal numbers from text and back at once.

Three multiplications add up the eight digits in a 64-bit integer ("SIMD within a register"). The
result is exact: float64 rounds an integer below 2**53, divided once by a power of ten up to 10**22,
correctly (Clinger 1990). Numpy parses all other numbers, such as those with exponents.
"""

from __future__ import annotations

import functools
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


# Numbers that are turned into text at once: their digits fit into the cache.
_AT_ONCE = 1 << 15
# From 0.0001 up to 10, 13 digits with fixed point hold any float32: 9 significant ones tell it from
# all others, and it starts at the fourth decimal or before. In float64 everything is exact there:
# 24 bits times 10**12 (28 bits and a power of two). Python writes smaller ones with an exponent.
_DECIMALS = 12
_POWERS = 10.0 ** np.arange(_DECIMALS + 1)
_LEAST = np.nextafter(np.float32(1e-4), np.float32(1))
_LIMIT = np.float32(10)
# A separator, the sign, a digit, the point and the decimals.
_CELL_BYTES = 16


def text_lines(words: list[str], vectors: FloatArray) -> Iterator[bytes]:
    single = vectors.dtype.itemsize <= 4
    step = max(1, _AT_ONCE // vectors.shape[1])
    for start in range(0, len(words), step):
        chunk = vectors[start : start + step]
        if single:
            rows = _float32_rows(chunk.astype(np.float32, copy=False))
        else:
            rows = _any_rows(chunk.astype(np.float64, copy=False))
        begin = words[start : start + step]
        yield b"".join(
            [b"%b %b\n" % (word.encode(), row) for word, row in zip(begin, rows, strict=True)]
        )


def _any_rows(vectors: FloatArray) -> list[bytes]:
    """Return the numbers of each row as text: slow, and correct for any float."""
    return [b" ".join(row) for row in vectors.astype(np.bytes_).tolist()]


def _float32_rows(vectors: npt.NDArray[np.float32]) -> list[bytes]:
    """Do `_any_rows` ten times faster, in cells of 16 bytes whose unused decimals are NUL."""
    positive = np.abs(vectors)
    special = (positive >= _LIMIT) | ((positive < _LEAST) & (positive != 0))
    any_special = bool(special.any())
    if any_special:
        positive[special] = 0
    exact = positive.astype(np.float64)
    # With so many decimals a number has nine significant digits.
    n_decimals = np.full(vectors.shape, _DECIMALS, dtype=np.int8)
    for power in (1e-3, 1e-2, 1e-1, 1):
        n_decimals -= positive >= np.float32(power)
    # The number times 10**12 as an integer, rounded to 9, 8, 7 and 6 digits; the fewest that give
    # it back are kept. Of six digits or less, those that are left over are zeros.
    shortest = _rounded(exact, n_decimals)
    for fewer in (1, 2, 3):
        rounded = _rounded(exact, n_decimals - fewer)
        same = (rounded / 10.0**_DECIMALS).astype(np.float32) == positive
        np.copyto(shortest, rounded, where=same)
    digits = shortest.astype(np.int64)
    high = digits // 10**8
    low = (digits - high * 10**8).astype(np.int32)
    high = high.astype(np.int32)
    whole = high // 10**4
    first = high - whole * 10**4
    second = low // 10**4
    third = low - second * 10**4
    starts, first_decimals, decimals = _cell_parts()
    end_here = third == 0
    cells = np.empty((*vectors.shape, 4), dtype=np.uint32)
    cells[..., 0] = starts.take(whole + 10 * np.signbit(vectors))
    cells[..., 3] = decimals.take(third + 10**4)
    cells[..., 2] = decimals.take(second + 10**4 * end_here)
    end_here &= second == 0
    cells[..., 1] = first_decimals.take(first + 10**4 * end_here)
    letters = cells.view(np.uint8)
    if any_special:
        texts = vectors[special].astype(np.bytes_)
        # Before numpy 2.3 large numbers have no exponent.
        if np.char.str_len(texts).max() >= _CELL_BYTES:
            return _any_rows(vectors)
        by_letter = texts.astype(f"S{_CELL_BYTES - 1}").view(np.uint8)
        letters.reshape(*vectors.shape, _CELL_BYTES)[special, 1:] = by_letter.reshape(
            -1, _CELL_BYTES - 1
        )
    letters[:, 0, 0] = ord("\n")
    return letters.tobytes().translate(None, b"\0").split(b"\n")[1:]


def _rounded(exact: npt.NDArray[np.float64], n_decimals: npt.NDArray[np.int8]) -> Any:
    rounded = np.rint(exact * _POWERS.take(n_decimals))
    rounded *= _POWERS.take(_DECIMALS - n_decimals)
    return rounded


@functools.cache
def _cell_parts() -> tuple[Any, Any, Any]:
    """Return the four bytes of each part of a cell, as one integer each.

    Parts: separator, sign, digit and point (ten entries without sign, ten with), the first four
    decimals (10,000 complete, 10,000 without trailing zeros), and the other decimals.
    """
    starts = np.zeros((20, 4), dtype=np.uint8)
    starts[:, 0], starts[10:, 1], starts[:, 3] = ord(" "), ord("-"), ord(".")
    starts[:, 2] = ord("0") + np.arange(20) % 10
    numbers = np.arange(10**4)
    full = np.stack([ord("0") + numbers // 10**place % 10 for place in (3, 2, 1, 0)], axis=1)
    full = full.astype(np.uint8)
    ended = full.copy()
    for place in range(4):
        ended[numbers % 10 ** (4 - place) == 0, place] = 0
    first_ended = ended.copy()
    first_ended[0, 0] = ord("0")
    return tuple(  # type: ignore[return-value]
        np.ascontiguousarray(part).view(np.uint32).ravel()
        for part in (starts, np.concatenate([full, first_ended]), np.concatenate([full, ended]))
    )
