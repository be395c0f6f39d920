"""How far a score depends on the choice of words: the delete-a-group jackknife."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from wefe.models._passes import Rows

Numbers = npt.NDArray[np.float64]

#: More groups would take longer and say little more.
MOST_GROUPS = 20


def deletion_groups(n: int, most: int = MOST_GROUPS) -> list[Rows]:
    """Return which of n words are left out together: single words up to `most`, else groups.

    Groups are drawn at random, with a fixed seed, as lists of words are often sorted; their sizes
    differ by one at most.

    >>> [len(group) for group in deletion_groups(42)][:4]
    [3, 3, 2, 2]
    """
    if n < 2:
        return []
    order = np.arange(n) if n <= most else np.random.default_rng(0).permutation(n)
    return list(np.array_split(order, min(n, most)))


def left_out(
    statistic: Callable[[Rows], npt.ArrayLike], n: int, most: int = MOST_GROUPS
) -> Numbers:
    """Return a statistic with each group left out; it gets the numbers of the words that stay."""
    groups = deletion_groups(n, most)
    values = [statistic(np.setdiff1d(np.arange(n), group)) for group in groups]
    return np.asarray(values, dtype=np.float64)


def jackknife_error(by_set: Sequence[npt.ArrayLike]) -> float:
    """Return the standard error of a score from its values with words left out, for each set.

    The root of the sum, over sets, of (G - 1) / G * sum_g (score_g - mean)^2 for G groups. NaN if a
    set has fewer than two groups. The mean of 1, 2, 6 without each of them; the result is s /
    sqrt(n):

    >>> jackknife_error([[4.0, 3.5, 1.5]])
    1.527525
    """
    total = 0.0
    for values in by_set:
        scores = np.asarray(values, dtype=np.float64)
        if len(scores) < 2:
            return math.nan
        total += (len(scores) - 1) * float(scores.var())
    return math.sqrt(total)
