"""Count the subsets of a list of integers that reach a threshold: exactly, or between two bounds.

:func:`count_at_least` uses one of two methods, because 32 + 32 words have 1.8e18 splits:

- *Halves* (meet in the middle; Horowitz & Sahni, Journal of the ACM 21, 1974): list the subset sums
  of both halves, drop those that no completion lifts to T, and count the pairs that reach it.
  Exact, for small sets and for thresholds that few subsets reach.
- *Grid*: round the values to multiples of a step, and count the subsets of every size and rounded
  sum by dynamic programming. Rounding errors are bounded, so two thresholds, one too low and one
  too high, enclose the count. The step shrinks until the bounds are close enough.

Sums are integers. Counts beyond 63 bits are floats, with bounds widened by the largest error.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
# 64-bit integers where all counts fit; floats where they may not.
Counts: TypeAlias = npt.NDArray[Any]

# Bounds are close enough if they differ by this share of the upper one.
_RELATIVE_GAP = 0.01
# Sums listed for one half, enough for any 40 values; 2**20 for each half take about 0.1 s.
_MAX_SUMS = 2**21
_FIRST_CELLS = 2**18
_FULL_TABLE = 2**22
# 128 MiB of 8-byte counts.
_MAX_CELLS = 2**24
# Floats overflow near 2**1024; sums of products of counts stay below the number of all subsets.
_MAX_FLOAT_BITS = 1000


def count_at_least(values: Integers, size: int, threshold: int) -> tuple[int, int]:
    """Bounds (equal if exact) for the number of subsets of `size` values with sum >= `threshold`.

    They are accepted once they differ by 1 % of the upper one, but stay wider where that needs more
    than some 200 MB; above about 1,000 values they may be 0 and the number of all subsets. The sum
    of absolute values must stay below 2**62, and 1 <= `size` < n_values.
    """
    n_values, total = len(values), int(values.sum())
    n_subsets = math.comb(n_values, size)
    if 2 * size > n_values:
        # The chosen values reach T when those left out sum to at most total - T.
        return count_at_least(-values, n_values - size, threshold - total)
    if threshold * n_values <= size * total:
        # Most subsets pass a threshold below their mean sum: count the fewer that miss it.
        fewest, most = count_at_least(-values, size, 1 - threshold)
        return n_subsets - most, n_subsets - fewest
    values = np.sort(values)
    count = _count_by_halves(values, size, threshold)
    if count is not None:
        return count, count
    if n_subsets.bit_length() > _MAX_FLOAT_BITS:
        return 0, n_subsets

    extent = _grid_extent(values, size)
    # Where all sums fit into a table, both bounds agree.
    cells = extent if extent <= _FULL_TABLE else _FIRST_CELLS
    while True:
        lower, upper = _bound_on_grid(values, size, threshold, cells)
        gap, wanted = upper - lower, _RELATIVE_GAP * upper
        if gap <= wanted or cells == _MAX_CELLS:
            return lower, upper
        # The gap is about proportional to the step; aim a little below what is wanted.
        cells = min(int(cells * max(1.3 * (gap / wanted), 2.0)), _MAX_CELLS)


def _count_by_halves(values: Integers, size: int, threshold: int) -> int | None:
    """Exact count for sorted `values`, or None when a half has too many sums.

    A half has at least `size` values.
    """
    largest = np.concatenate([[0], np.cumsum(values[::-1])])
    middle, halves = len(values) // 2, []
    # The upper half from its largest value down, the lower one from its smallest up: where few
    # subsets reach T, the first choices are then almost forced.
    for half, is_upper in ((values[: middle - 1 : -1], True), (values[:middle], False)):
        # Sorted sums of k of the values seen so far, for each k.
        rows = [np.zeros(1, np.int64)]
        for seen, value in enumerate(half.tolist(), 1):
            # Sums of the largest values left: going up, they are the largest of all.
            best = largest[seen if is_upper else 0 :]
            before, rows = rows, rows[:1]
            for k in range(1, min(seen, size) + 1):
                row = np.concatenate([before[k - 1] + value, *before[k : k + 1]])
                # A merge of sorted runs, which takes a tenth of the time of a sort.
                row.sort(kind="stable")
                least = threshold - (best[size - k] - best[0])
                rows.append(row[row.searchsorted(least) :])
            if sum(map(len, rows)) > _MAX_SUMS:
                return None
        halves.append(rows)
    upper, lower = halves
    return sum(
        len(one) * len(other) - int(one.searchsorted(threshold - other).sum())
        for one, other in zip(upper, lower[::-1], strict=True)
    )


def _bound_on_grid(values: Integers, size: int, threshold: int, max_cells: int) -> tuple[int, int]:
    """Lower and upper bound for sorted `values`, from a table of about `max_cells` counts."""
    middle = len(values) // 2
    step = max(1, -(-_grid_extent(values, size) // max_cells))
    rounded = (values + step // 2) // step
    error = np.sort(values - step * rounded)
    # sum = step * rounded sum + sum of errors, and the errors of `size` values lie between these:
    extremes = int(error[:size].sum()), int(error[-size:].sum())
    goals = [-((each - threshold) // step) for each in extremes]

    n_subsets = math.comb(len(values), size)
    fits = n_subsets < 2**63
    dtype = np.int64 if fits else np.float64
    low_below, below = _grid_counts(rounded[:middle], size, dtype)
    low_above, above = _grid_counts(rounded[middle:], size, dtype)
    counts = np.zeros(2, dtype)
    for k, row in enumerate(below):
        # from_top[j]: subsets of the upper half among the j largest sums of the grid.
        from_top = np.cumsum(np.append(0, above[size - k][::-1]))
        n_sums = len(from_top) - 1
        for i, goal in enumerate(goals):
            surplus = low_below[k] + low_above[size - k] + n_sums - goal
            reaching = from_top[np.clip(np.arange(len(row)) + surplus, 0, n_sums)]
            counts[i] += (row * reaching).sum()
    lower, upper = map(int, counts)
    if fits:
        return lower, upper
    # All terms are positive, so that the relative error is at most the number of successive float
    # operations (at most two for each cell and some for each value) times half an ulp; twice that
    # covers the terms of second order.
    share = (2 * max_cells + 4 * len(values)) * 2.0**-52
    return lower - math.ceil(share * lower), upper + math.ceil(share * upper)


def _grid_extent(values: Integers, size: int) -> int:
    """Count the cells of a table of both halves with step 1, summed over the subset sizes."""
    middle = len(values) // 2
    extremes = (_extreme_sums(half, size) for half in (values[:middle], values[middle:]))
    return sum(sum((high - low).tolist()) for low, high in extremes)


def _extreme_sums(values: Integers, size: int) -> tuple[Integers, Integers]:
    """Smallest and largest sum of k of the sorted `values`, for k from 0 to `size`."""
    cumulative = np.concatenate([[0], np.cumsum(values)])
    return cumulative[: size + 1], cumulative[-1] - cumulative[::-1][: size + 1]


def _grid_counts(
    values: Integers, size: int, dtype: type[np.int64] | type[np.float64]
) -> tuple[list[int], list[Counts]]:
    """For k up to `size`, the smallest sum of k sorted `values`, and subsets per sum from there."""
    low, high = (extreme.tolist() for extreme in _extreme_sums(values, size))
    cumulative = np.concatenate([[0], np.cumsum(values)]).tolist()
    counts = [np.zeros(b - a + 1, dtype) for a, b in zip(low, high, strict=True)]
    counts[0][0] = 1
    for i, value in enumerate(values.tolist()):
        # Downwards, so that `value` is not used twice.
        for k in range(min(i + 1, size), 0, -1):
            # The k - 1 largest of the first i values bound what row k - 1 holds so far.
            reach = cumulative[i] - cumulative[i - k + 1] - low[k - 1] + 1
            start = low[k - 1] + value - low[k]
            counts[k][start : start + reach] += counts[k - 1][:reach]
    return low, counts
