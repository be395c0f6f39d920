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
        Spearman's rank correlation of the similarities, in [-1, 1]; 1 (both rank alike) means
        that no bias was measured. nan with fewer than two attribute words or if the similarities
        to a target set are all equal.

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
    """Embedding Coherence Test; :func:`ect` holds the mathematics.

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
        n_cases, n_rankings = n_cases_of(counts), max(map(len, similarities))
        scores = np.empty(n_cases)
        rankings: _Rankings | None = None
        for block in of_words.blocks() if of_words.n_cases > 1 else [slice(0, n_cases)]:
            numbers = of_words.matrix(block if of_words.n_cases > 1 else slice(0, 1))
            for case in range(block.start, block.stop):
                if rankings is None or n_rankings > 1:
                    rankings = _Rankings(*(each[min(case, len(each) - 1)] for each in similarities))
                if rankings.tied:
                    scores[case] = self._compute_case(targets, attributes, counts, case, **params)
                else:
                    row = numbers[min(case - block.start, len(numbers) - 1)]
                    scores[case] = rankings.correlation(row)
        return scores


class _Rankings:
    """Words ranked by two similarities, once, for the correlation within any of their subsets."""

    def __init__(self, first: Vectors, second: Vectors) -> None:
        orders = [np.argsort(each, kind="stable") for each in (first, second)]
        self.tied = any(
            not np.isfinite(each).all() or (np.diff(each[order]) <= ZERO_LENGTH).any()
            for each, order in zip((first, second), orders, strict=True)
        )
        self._first, self._second = orders
        place = np.empty(len(first), dtype=np.intp)
        place[self._second] = np.arange(len(first))
        self._in_second = place[self._first]

    def correlation(self, counts: Vectors) -> float:
        """Spearman's correlation of words that count several times, or not at all."""
        x, y = counts[self._first], counts[self._second]
        n = float(x.sum())
        # Copies of a word tie, and share the mean of their ranks.
        x_ranks = np.cumsum(x) - (x - 1) / 2
        y_ranks = (np.cumsum(y) - (y - 1) / 2)[self._in_second]
        mean = (n + 1) / 2
        x_ranks -= mean
        y_ranks -= mean
        weighted = x * x_ranks
        spread = (weighted @ x_ranks) * ((x * y_ranks) @ y_ranks)
        if spread <= 0:
            return math.nan
        return max(-1.0, min(1.0, float(weighted @ y_ranks) / math.sqrt(spread)))
