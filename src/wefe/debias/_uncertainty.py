"""How far a score depends on the choice of words: delete-a-group jackknife, paired by model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wefe.embeddings import EmbeddedQuery, WordSet
from wefe.models._passes import Rows
from wefe.query import Query

Numbers = npt.NDArray[np.float64]

#: More groups would take longer and say little more.
MOST_GROUPS = 20


class Errors(NamedTuple):
    """Standard errors of a score before, after, and of its change."""

    before: float = math.nan
    after: float = math.nan
    change: float = math.nan


def deletion_groups(n: int) -> list[Rows]:
    """Return which of n words are left out together: single words up to 20, else 20 groups.

    Groups are drawn at random, with a fixed seed, as lists of words are often sorted; their sizes
    differ by one at most. Of a single word nothing can be left out, so there are no groups.

    Examples
    --------
    >>> [group.tolist() for group in deletion_groups(3)]
    [[0], [1], [2]]
    >>> [len(group) for group in deletion_groups(42)][:4]
    [3, 3, 2, 2]
    """
    if n < 2:
        return []
    order = np.arange(n) if n <= MOST_GROUPS else np.random.default_rng(0).permutation(n)
    return list(np.array_split(order, min(n, MOST_GROUPS)))


def left_out(statistic: Callable[[Rows], npt.ArrayLike], n: int) -> Numbers:
    """Return a statistic with each group left out: it gets the numbers of the words that stay.

    Returns
    -------
    ndarray of shape (n_groups, ...)
    """
    groups = deletion_groups(n)
    values = [statistic(np.setdiff1d(np.arange(n), group)) for group in groups]
    return np.asarray(values, dtype=np.float64)


def jackknife_error(by_set: Sequence[npt.ArrayLike]) -> float:
    """Return the standard error of a score from its values with words left out.

    Parameters
    ----------
    by_set : sequence of array-like of shape (n_groups,)
        For each independent sample, here each set of words, the score with each group left out.

    Returns
    -------
    float
        The root of the sum, over sets, of (G - 1) / G * sum_g (score_g - mean)^2 for G groups.
        NaN if a set has fewer than two groups.

    Examples
    --------
    The mean of 1, 2, 6 without each of them; the result is s / sqrt(n).

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


def paired_errors(before: Sequence[npt.ArrayLike], after: Sequence[npt.ArrayLike]) -> Errors:
    """Return standard errors from the same deletions in two models; the change is paired.

    Parameters
    ----------
    before, after : sequence of array-like of shape (n_groups,)
        For each set, the scores of each model with each group left out.
    """
    changes = [np.subtract(b, a) for b, a in zip(before, after, strict=True)]
    return Errors(jackknife_error(before), jackknife_error(after), jackknife_error(changes))


def paired_mean_errors(before: npt.ArrayLike, after: npt.ArrayLike) -> Errors:
    """Return standard errors of the means of two numbers per word, and of their difference."""
    b, a = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if len(b) < 2:
        return Errors()
    return Errors(*(float(x.std(ddof=1)) / math.sqrt(len(b)) for x in (b, a, a - b)))


def reduced_queries(
    embedded: EmbeddedQuery, *, paired: bool
) -> tuple[list[list[Query]], str | None]:
    """Return the query without each group of words of each of its sets.

    Parameters
    ----------
    embedded : EmbeddedQuery
        The query after look-up: words that were lost are no words to be left out.
    paired : bool
        Word i of each target set belong together, and are left out together.

    Returns
    -------
    queries : list of list of Query
        Per set (target sets are one if paired), per group.
    reason : str or None
        Why there are none: a set has a single word.
    """
    query = embedded.query
    targets, attributes = query.target_sets, query.attribute_sets
    reduced: list[list[Query]] = []
    samples: list[tuple[list[int], list[list[int]], str]] = []
    n_targets = len(targets)
    if paired:
        names = " and ".join(part.name for part in embedded.targets)
        samples.append((list(range(n_targets)), _entries(embedded.targets), f"pairs of {names}"))
    for position, part in enumerate(embedded.sets):
        if not (paired and position < n_targets):
            samples.append(([position], _entries([part]), f"words of {part.name!r}"))
    for positions, units, called in samples:
        if len(units) < 2:
            return [], f"no standard error: too few {called} to leave one out"
        of_sample = []
        for group in deletion_groups(len(units)):
            gone = {entry for unit in group for entry in units[unit]}
            sets = [*targets, *attributes]
            for position in positions:
                sets[position] = [w for i, w in enumerate(sets[position]) if i not in gone]
            of_sample.append(
                Query(
                    sets[:n_targets],
                    sets[n_targets:],
                    query.target_sets_names,
                    query.attribute_sets_names,
                )
            )
        reduced.append(of_sample)
    return reduced, None


def _entries(parts: Sequence[WordSet]) -> list[list[int]]:
    """Return the entries of each unit: entries with the same vectors are one word."""
    units: dict[tuple[int | None, ...], list[int]] = {}
    for entry, rows in enumerate(zip(*(part.first_row for part in parts), strict=True)):
        if None not in rows:
            units.setdefault(rows, []).append(entry)
    return list(units.values())
