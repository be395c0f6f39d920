"""SAME (Schröder, Schulz and Hammer, 2022)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from wefe._wordset import Vectors, WordSet
from wefe.embeddings import Lookup
from wefe.metrics._base import BaseMetric, Measurement, Scale, TestType
from wefe.metrics._direction import in_span
from wefe.metrics._geometry import ZERO_LENGTH, values_by_word
from wefe.metrics._registry import register
from wefe.query import Query

Combine: TypeAlias = Literal["sum", "projection"]


def _directions(groups: Sequence[WordSet]) -> tuple[Vectors, Vectors]:
    """Gram-Schmidt of the differences of group means in each case: directions and lengths.

    Of shape (n_groups - 1, n_cases, dim or 1); both are 0 where a direction vanishes.
    """
    first, *others = np.broadcast_arrays(*(group.mean_unit() for group in groups))
    basis: list[Vectors] = []
    lengths = []
    for mean in others:
        rest = first - mean
        # Twice: after one pass what is left may still lean to the earlier directions.
        for direction in basis * 2:
            rest = rest - (rest * direction).sum(axis=1, keepdims=True) * direction
        length = np.linalg.norm(rest, axis=1, keepdims=True)
        there = length >= ZERO_LENGTH
        basis.append(np.where(there, rest, 0) / np.where(there, length, 1))
        lengths.append(length * there)
    return np.stack(basis), np.stack(lengths)


def _signed(words: WordSet, *pair: WordSet) -> Vectors:
    """Cosine of each word with the direction from the second to the first group: (n_words,)."""
    (direction,), (length,) = _directions(pair)
    return np.where(length[0] > 0, words.unit @ direction[0], math.nan)


@register
class SAME(BaseMetric):
    """SAME: how far do attribute words lean to one of the target groups?

    The target sets are the groups; the attribute set contains the words to measure. 0 means that no
    bias was measured. The range does not depend on the model: up to 1 for two groups and for
    'projection', and up to 1 + 2 (n - 2) for the sum of n groups. Source: Schröder, Schulz and
    Hammer, "The SAME score: Improved cosine based bias score for word embeddings", 2022.

    The result has 'same' (the score); 'pairwise': 'group - other group' -> 'skew' (mean of the
    signed values: a direction that all words share) and 'stereotype' (their population standard
    deviation); 'word_values': word -> 'same' and, for each pair of groups, the signed value: s(w,
    A, B) as a share of its maximum. This is the cosine with the difference of the groups' means of
    unit vectors, positive if the word leans to the first group. `details['n_directions']` is less
    than the number of groups minus 1 if a group adds no direction of its own. The score is NaN if
    all groups have the same mean.

    Parameters
    ----------
    combine : {'sum', 'projection'}, default='sum'
        How to combine the directions of three or more groups. 'sum', as in the authors' code:
        ``|cos(w, b_1)|`` plus the sum of ``|cos(w, b_i)| ||b_i||`` for i >= 2, where b_i leads from
        group i + 1 to the first group and is made orthogonal to the earlier ones. It depends on the
        order of the groups. 'projection', a variant of this package, does not: the length of the
        projection of the unit vector on the span of all b_i.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "her"], ["he", "him"]], [["nurse", "engineer"]], ["F", "M"])
    >>> SAME().run_query(query, load_test_model())["pairwise"]
    {'F - M': {'skew': 0.142, 'stereotype': 0.120}}
    """

    metric_template = ("n", 1)
    metric_template_minimum = (2, 1)
    metric_name = "SAME"
    metric_short_name = "SAME"
    question = "how far do attribute words lean to one of the target groups?"
    meaning = "How far attribute words lean to a target group, as a share of the most possible."
    null_exchange = "targets"
    audit_findings = frozenset()
    value_range = (0.0, math.inf)
    nan_values = {"same": math.nan, "pairwise": {}, "word_values": {}}  # noqa: RUF012

    combine: Combine = "sum"
    p_value_test_type: TestType = "two-sided"

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        n_groups = math.inf if query is None else query.template[0]
        # Every further direction adds at most its length, which is at most 2.
        bound = 1.0 if self.combine == "projection" else 1.0 + 2.0 * (n_groups - 2)
        return Scale("SAME", (0.0, bound), 0.0)

    def _by_word(self, groups: Sequence[WordSet], units: Vectors) -> Vectors:
        """Bias of each word, given as a unit vector, in each case: (n_cases, n_words)."""
        basis, lengths = _directions(groups)
        cosines, known = np.abs(basis @ units.T), np.cumsum(lengths > 0, axis=0)
        if self.combine == "projection":
            by_word = np.minimum(np.linalg.norm(cosines, axis=0), 1.0)
        else:
            # As released: the first direction is not weighted by its length, the others are.
            by_word = (np.where(known > 1, lengths, 1) * cosines).sum(axis=0)
        return np.where(known[-1] > 0, by_word, math.nan)

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        # Directions of all cases lie in the span of the targets, which has few dimensions.
        targets, basis = in_span(targets)
        (words,) = attributes
        return words.mean(self._by_word(targets, words.unit @ basis))

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        (words,) = attributes
        by_word = self._by_word(targets, words.unit)[0]
        score = float(words.mean(by_word[None])[0])
        if math.isnan(score):
            return self._undefined("all target sets have the same mean")
        signed = {
            f"{one.name} - {other.name}": _signed(words, one, other)
            for one, other in itertools.combinations(targets, 2)
        }
        pairwise = {
            pair: {"skew": float(values.mean()), "stereotype": float(values.std())}
            for pair, values in signed.items()
        }
        word_values = values_by_word(words, {"same": by_word, **signed})
        n_directions = int((_directions(targets)[1] > 0).sum())
        details = {"n_directions": n_directions}
        return self._measured(score, details, pairwise=pairwise, word_values=word_values)
