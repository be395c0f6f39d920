"""How much a score depends on the choice of words: the delete-a-group jackknife."""

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
    """Return which of n words to leave out together: single words up to `most`, else random groups.

    The seed is fixed, because word lists are often sorted.
    """
    if n < 2:
        return []
    order = np.arange(n) if n <= most else np.random.default_rng(0).permutation(n)
    return list(np.array_split(order, min(n, most)))


def left_out(
    statistic: Callable[[Rows], npt.ArrayLike], n: int, most: int = MOST_GROUPS
) -> Numbers:
    """Return a statistic with each group left out; it receives the rows of the words that stay."""
    groups = deletion_groups(n, most)
    values = [statistic(np.setdiff1d(np.arange(n), group)) for group in groups]
    return np.asarray(values, dtype=np.float64)


def jackknife_error(by_set: Sequence[npt.ArrayLike]) -> float:
    """Standard error of a score, from its values with words of each set left out.

    The root of the sum over sets of (G - 1) / G * sum_g (score_g - mean)^2; NaN for G = 1 group.
    """
    total = 0.0
    for values in by_set:
        scores = np.asarray(values, dtype=np.float64)
        if len(scores) < 2:
            return math.nan
        total += (len(scores) - 1) * float(scores.var())
    return math.sqrt(total)
