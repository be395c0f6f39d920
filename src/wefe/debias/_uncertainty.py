"""How far a score depends on the choice of words: delete-a-group jackknife, paired by model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wefe.embeddings import EmbeddedQuery, WordSet
from wefe.metrics._jackknife import deletion_groups, jackknife_error
from wefe.query import Query


class Errors(NamedTuple):
    """Standard errors of a score before, after, and of its change."""

    before: float = math.nan
    after: float = math.nan
    change: float = math.nan


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
