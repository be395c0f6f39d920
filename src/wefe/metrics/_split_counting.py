"""Count the subsets of a list of integers that reach a threshold: exactly, or between two bounds.

:func:`count_at_least` uses one of two methods, because 32 + 32 words have 1.8e18 splits:

- *Halves* (meet in the middle; Horowitz & Sahni, Journal of the ACM 21, 1974): list the subset sums
  of both halves, drop those that no completion lifts to T, and count the pairs that reach it.
  Exact, for small sets, few distinct values, and thresholds that few subsets reach.
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
# 64-bit integers where all counts fit; Python integers or floats where they may not.
Counts: TypeAlias = npt.NDArray[Any]

# Bounds are close enough if they differ by this share of the upper one.
_RELATIVE_GAP = 0.01
# Sums listed for one half, enough for any 40 values; 2**20 for each half take about 0.1 s.
_MAX_STATES = 2**21
# For shorter lists, searching what can be dropped takes longer than keeping it.
_WORTH_PRUNING = 2**8
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
    n_subsets = math.comb(len(values), size)
    total = int(values.sum())
    if 2 * size > len(values):
        # The chosen values reach T when those left out sum to at most total - T.
        values, size, threshold = -values, len(values) - size, threshold - total
        total = -total
    # A threshold below the mean subset sum is passed by most subsets: count the fewer that miss it.
    misses = threshold * len(values) <= size * total
    if misses:
        values, threshold = -values, 1 - threshold
    values = np.sort(values)

    def reaching(lower: int, upper: int) -> tuple[int, int]:
        return (n_subsets - upper, n_subsets - lower) if misses else (lower, upper)

    count = _count_by_halves(values, size, threshold, _MAX_STATES)
    if count is not None:
        return reaching(count, count)
    if n_subsets.bit_length() > _MAX_FLOAT_BITS:
        return 0, n_subsets

    extent = _grid_extent(values, size)
    # Where all sums fit into a table, both bounds agree.
    cells = extent if extent <= _FULL_TABLE else _FIRST_CELLS
    while True:
        lower, upper = reaching(*_bound_on_grid(values, size, threshold, cells))
        gap, wanted = upper - lower, _RELATIVE_GAP * upper
        if gap <= wanted or cells in (extent, _MAX_CELLS):
            return lower, upper
        # The gap is about proportional to the step; aim a little below what is wanted.
        growth = 1.3 * (gap / wanted)
        cells = int(min(cells * min(max(growth, 2.0), 64.0), _MAX_CELLS))


def _count_by_halves(values: Integers, size: int, threshold: int, max_states: int) -> int | None:
    """Exact count for sorted `values`, or None when a half has more than `max_states` sums."""
    n_values = len(values)
    largest = np.concatenate([[0], np.cumsum(values[::-1])])
    if threshold > int(largest[size]):
        return 0
    distinct, copies = np.unique(values, return_counts=True)
    # Halve the work, not the values: a value that occurs c times offers c + 1 choices.
    effort = np.cumsum(np.log2(copies + 1))
    middle = int(np.abs(effort - effort[-1] / 2).argmin()) + 1
    dtype = np.int64 if math.comb(n_values, size) < 2**63 else object
    are_different = len(distinct) == n_values

    def half_sums(part: slice, from_top: bool) -> list[tuple[Integers, Any]] | None:
        """Sorted sums that may reach T and their counts (None: all 1), per number of values."""
        found: list[tuple[Integers, Any]] = [
            (np.zeros(1, np.int64), None if are_different else np.ones(1, dtype))
        ]
        seen = 0
        for value, count in zip(distinct[part].tolist(), copies[part].tolist(), strict=True):
            seen += count
            # What `chosen` values must sum to, if the largest ones left are to lift them to T.
            # Going down, those are the next values; going up, the largest of all.
            best = largest[seen if from_top else 0 :]
            fewest = max(0, size - (n_values - seen))
            before, found = found, []
            for chosen in range(min(seen, size) + 1):
                taken = range(max(0, chosen - len(before) + 1), min(count, chosen) + 1)
                sums = np.concatenate([before[chosen - t][0] + value * t for t in taken])
                # A merge of sorted runs, which takes a tenth of the time of a sort.
                if are_different:
                    sums, ways = np.sort(sums, kind="stable"), None
                else:
                    parts = [before[chosen - t][1] * math.comb(count, t) for t in taken]
                    order = np.argsort(sums, kind="stable")
                    sums, ways = sums[order], np.concatenate(parts)[order]
                if len(sums) > _WORTH_PRUNING:
                    # With fewer than these, what is left does not fill the subset.
                    start = len(sums)
                    if chosen >= fewest:
                        least = threshold - (best[size - chosen] - best[0])
                        start = int(np.searchsorted(sums, least))
                    sums, ways = sums[start:], None if ways is None else ways[start:]
                found.append((sums, ways))
            if sum(len(sums) for sums, _ in found) > max_states:
                return None
        return found

    # The upper half from its largest value down, the lower one from its smallest up: where few
    # subsets reach T, the first choices are then almost forced.
    upper = half_sums(slice(len(distinct) - 1, middle - 1, -1), from_top=True)
    lower = half_sums(slice(0, middle), from_top=False) if upper is not None else None
    if upper is None or lower is None:
        return None

    total = 0
    for chosen, (above, ways_above) in enumerate(upper):
        if not 0 <= size - chosen < len(lower):
            continue
        below, ways_below = lower[size - chosen]
        n_short = np.searchsorted(above, threshold - below)
        if ways_above is None or ways_below is None:
            total += len(above) * len(below) - int(n_short.sum())
        else:
            ways_from = np.concatenate([[0], np.cumsum(ways_above[::-1])])[::-1]
            total += int((ways_below * ways_from[n_short]).sum())
    return total


def _bound_on_grid(values: Integers, size: int, threshold: int, max_cells: int) -> tuple[int, int]:
    """Lower and upper bound for sorted `values`, from a table of about `max_cells` counts."""
    n_values = len(values)
    middle = n_values // 2
    step = max(1, -(-_grid_extent(values, size) // max_cells))
    rounded = (values + step // 2) // step
    error = np.sort(values - step * rounded)
    # sum = step * rounded sum + sum of errors, and the errors of `size` values lie between these:
    least_error, most_error = int(error[:size].sum()), int(error[-size:].sum())
    certain = -((least_error - threshold) // step)
    possible = -((most_error - threshold) // step)

    n_subsets = math.comb(n_values, size)
    fits = n_subsets < 2**63
    dtype = np.int64 if fits else np.float64
    lows_below, counts_below = _grid_counts(rounded[:middle], size, dtype)
    lows_above, counts_above = _grid_counts(rounded[middle:], size, dtype)

    lower = upper = 0.0 if not fits else 0
    longest = 0
    for chosen_below in range(len(counts_below)):
        chosen_above = size - chosen_below
        if chosen_above >= len(counts_above):
            continue
        below = counts_below[chosen_below]
        # from_top[j]: subsets of the upper half among the j + 1 largest sums of the grid.
        from_top = np.cumsum(counts_above[chosen_above][::-1])
        highest = lows_above[chosen_above] + len(from_top) - 1
        longest = max(longest, len(below), len(from_top))
        first = lows_below[chosen_below] + highest
        lower += _pairs(below, from_top, certain - first)
        upper += _pairs(below, from_top, possible - first)
    if fits:
        return int(lower), int(upper)
    # All terms are positive, so that the relative error is at most the number of successive float
    # operations (table, cumulative sum, dot product, sum over sizes) times half an ulp; twice that
    # covers the terms of second order.
    operations = n_values + 2 * longest + size + 10
    error_share = operations * 2.0**-52
    return (
        int(lower) - math.ceil(error_share * lower),
        int(upper) + math.ceil(error_share * upper),
    )


def _grid_extent(values: Integers, size: int) -> int:
    """Count the cells of a table of both halves with step 1, summed over the subset sizes."""
    extent = 0
    for half in (values[: len(values) // 2], values[len(values) // 2 :]):
        low, high = _extreme_sums(half, size)
        extent += sum((high - low).tolist())
    return extent


def _pairs(below: Counts, from_top: Counts, start: int) -> Any:
    """Sum of ``below[i] * from_top[i - start]``; `from_top` keeps its last value beyond its end."""
    below = below[max(start, 0) :]
    offset = max(-start, 0)
    overlap = max(min(len(below), len(from_top) - offset), 0)
    # Not `@`: starting the threads of the BLAS costs more than a product of short rows.
    product = (below[:overlap] * from_top[offset : offset + overlap]).sum()
    return product.item() + below[overlap:].sum().item() * from_top[-1].item()


def _extreme_sums(values: Integers, size: int) -> tuple[Integers, Integers]:
    """Smallest and largest sum of k of the sorted `values`, for k from 0 to `size` at most."""
    cumulative = np.concatenate([[0], np.cumsum(values)])
    n_sizes = min(size, len(values)) + 1
    return cumulative[:n_sizes], cumulative[-1] - cumulative[::-1][:n_sizes]


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
        for k in range(min(i + 1, len(counts) - 1), 0, -1):
            # The k - 1 largest of the first i values bound what row k - 1 holds so far.
            reach = cumulative[i] - cumulative[i - k + 1] - low[k - 1] + 1
            start = low[k - 1] + value - low[k]
            counts[k][start : start + reach] += counts[k - 1][:reach]
    return low, counts
