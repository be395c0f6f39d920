"""Embedding Coherence Test (Dev and Phillips, AISTATS 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wefe.embeddings import EmbeddedSet
from wefe.metrics._base import BaseMetric, Measurement
from wefe.metrics._geometry import (
    ZERO_LENGTH,
    Vectors,
    as_vectors,
    average_ranks,
    pearson,
    unit,
    unit_rows,
)
from wefe.metrics._registry import register
from wefe.metrics._word_counts import WordCounts, n_cases_of


def ect(t1: npt.ArrayLike, t2: npt.ArrayLike, a: npt.ArrayLike) -> float:
    """Embedding coherence: do two target sets rank the attribute words alike?

    Parameters
    ----------
    t1, t2, a : array-like of shape (n_words, dim)
        Target sets and attribute set, as they are: each target set is averaged first, so long
        vectors weigh more.

    Returns
    -------
    float
        Spearman's rank correlation, over the attribute words, of their cosines with the means of
        the two target sets, in [-1, 1]; 1 (both rank alike) means that no bias was measured. nan
        with fewer than two attribute words, if the cosines with a target set are all equal, or if
        the mean of a target set is zero.

    Raises
    ------
    ValueError
        If an array is empty or not finite, an attribute word is a zero vector, or the dimensions
        do not fit.

    Notes
    -----
    Only the order counts: a constant offset, with which all attribute words are nearer to `t1`,
    does not show. Equal cosines (up to 1e-12) share the mean of their ranks.

    References
    ----------
    Dev and Phillips, "Attenuating Bias in Word Vectors", AISTATS 2019.

    Examples
    --------
    >>> he, she = [1.0, 0.1], [0.1, 1.0]
    >>> ect([he], [he], [he, she, [1.0, 1.0]])
    1.0
    """
    means = np.stack([as_vectors("t1", t1).mean(axis=0), as_vectors("t2", t2).mean(axis=0)])
    if not np.linalg.norm(means, axis=1).all():
        return math.nan
    similarities = unit("a", a) @ unit("means", means).T
    # Words of one direction have equal similarities but for rounding: they tie.
    x, y = (average_ranks(column, ZERO_LENGTH) for column in similarities.T)
    correlation = pearson(x, y)
    return correlation if math.isnan(correlation) else max(-1.0, min(1.0, correlation))


@register
class ECT(BaseMetric):
    """Embedding Coherence Test; :func:`wefe.metrics.ect` holds the mathematics.

    Do the two target sets rank the attribute words alike? The score is in [-1, 1], and 1 means that
    no bias was measured. Vectors are averaged as they are: ``normalize=True`` gives another score.

    References
    ----------
    Dev and Phillips, "Attenuating Bias in Word Vectors", AISTATS 2019.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "her"], ["he", "him"]], [["family", "home", "office"]])
    >>> ECT().run_query(query, load_test_model())["ect"]
    -0.5
    """

    metric_template = (2, 1)
    metric_name = "Embedding Coherence Test"
    metric_short_name = "ECT"
    value_range = (-1.0, 1.0)
    no_bias_value = 1.0

    def _compute(
        self, targets: Sequence[EmbeddedSet], attributes: Sequence[EmbeddedSet]
    ) -> Measurement:
        (words,) = attributes
        score = ect(targets[0].vectors, targets[1].vectors, words.vectors)
        reason = None
        if math.isnan(score):
            reason = (
                f"a rank correlation needs two or more attribute words; {words.name!r} has one left"
                if len(words) < 2
                else "all attribute words are equally similar to a target set, or its mean is zero"
            )
        return Measurement({"result": score, "ect": score}, reason)

    def _compute_cases(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        counts: Sequence[WordCounts],
        **params: Any,
    ) -> Vectors:
        (words,), of_words = attributes, counts[2]
        vectors = unit("a", words.vectors)
        # Per case and attribute word: (n_cases or 1, n_words).
        similarities = [
            unit_rows(count.means(part.vectors)) @ vectors.T
            for part, count in zip(targets, counts[:2], strict=True)
        ]
        scores = np.empty(n_cases_of(counts))
        changing = max(map(len, similarities)) > 1
        rankings: _Rankings | None = None
        for case in range(len(scores)):
            if rankings is None or changing:
                rankings = _Rankings(*(each[min(case, len(each) - 1)] for each in similarities))
            if rankings.tied:
                scores[case] = self._compute_case(targets, attributes, counts, case, **params)
            else:
                row = of_words.row(min(case, of_words.n_cases - 1))
                scores[case] = rankings.correlation(row)
        return scores


class _Rankings:
    """Words ranked by two similarities, once, for the correlation within any of their subsets."""

    def __init__(self, first: Vectors, second: Vectors) -> None:
        self._first, self._second = np.argsort(first), np.argsort(second)
        steps = np.concatenate([np.diff(first[self._first]), np.diff(second[self._second])])
        # Also where there is NaN.
        self.tied = not (steps > ZERO_LENGTH).all()
        place = np.empty(len(first), dtype=np.intp)
        place[self._second] = np.arange(len(first))
        self._in_second = place[self._first]

    def correlation(self, counts: npt.NDArray[Any]) -> float:
        """Spearman's correlation of words that count several times, or not at all."""
        if counts.dtype == bool:
            return self._of_subset(counts)
        x, y = counts[self._first], counts[self._second]
        # Copies of a word tie, and share the mean of their ranks.
        middle = (float(x.sum()) + 1) / 2
        x_ranks = np.cumsum(x) - (x - 1) / 2 - middle
        y_ranks = (np.cumsum(y) - (y - 1) / 2)[self._in_second] - middle
        spread = ((x * x_ranks) @ x_ranks) * ((x * y_ranks) @ y_ranks)
        if spread <= 0:
            return math.nan
        return max(-1.0, min(1.0, float((x * x_ranks) @ y_ranks) / math.sqrt(spread)))

    def _of_subset(self, included: npt.NDArray[np.bool_]) -> float:
        """Spearman's correlation within a subset: ranks are 1 to n, in either order."""
        chosen = self._in_second[included[self._first]]
        y_ranks = np.cumsum(included[self._second])[chosen]
        n = len(y_ranks)
        if n < 2:
            return math.nan
        products = float(np.arange(1.0, n + 1) @ y_ranks.astype(np.float64))
        # 1 - 6 sum(d^2) / (n (n^2 - 1)), with sum(d^2) = 2 (sum(i^2) - sum(i r_i)).
        squares = n * (n + 1) * (2 * n + 1) / 6
        return max(-1.0, min(1.0, 1.0 - 12.0 * (squares - products) / (n * (n * n - 1.0))))
