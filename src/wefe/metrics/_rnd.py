"""Relative Norm Distance (Garg, Schiebinger, Jurafsky and Zou, PNAS 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._wordset import Vectors, WordSet, word_sets
from wefe.embeddings import Lookup
from wefe.metrics._base import SCORES_OF_MEANS, BaseMetric, Measurement, Scale, distinct_sizes
from wefe.metrics._geometry import by_word, distances, mean_cosines
from wefe.metrics._registry import register
from wefe.query import Query

Distance: TypeAlias = Literal["norm", "cos", "cos_distance"]


def rnd_by_word(
    t1: npt.ArrayLike, t2: npt.ArrayLike, a: npt.ArrayLike, distance: Distance = "norm"
) -> Vectors:
    """Relative distance of each attribute word to the means of two target sets.

    Parameters
    ----------
    t1, t2, a : array-like of shape (n_words, dim)
        Target sets and attribute set; lengths matter for 'norm'.
    distance : {'norm', 'cos', 'cos_distance'}, default='norm'
        'norm': ``||a - mean(t1)|| - ||a - mean(t2)||``, positive if the word is nearer to `t2`.
        'cos': the documented variant ``cos(a, mean(t1)) - cos(a, mean(t2))``, a difference of
        *similarities*; positive if the word is nearer to `t1`. 'cos_distance': the same with cosine
        distances, so with the sign of 'norm'.

    Returns
    -------
    ndarray of shape (n_words,)
        In [-2, 2], but unbounded for 'norm' with vectors that are not of unit length. For cosines,
        nan if the mean of a target set is zero.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> rnd_by_word([he], [she], [he, she], distance="cos")
    array([ 1., -1.])
    """
    *targets, words = word_sets(t1=t1, t2=t2, a=a)
    return np.asarray(RND(distance=distance)._by_word(targets, words)[0])


def rnd(
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    a: npt.ArrayLike,
    distance: Distance = "norm",
    reduce: Literal["mean", "sum"] = "mean",
) -> float:
    """Relative norm distance: how much nearer attribute words are to one target set.

    Parameters
    ----------
    t1, t2, a, distance : array-like and {'norm', 'cos', 'cos_distance'}
        As in :func:`rnd_by_word`.
    reduce : {'mean', 'sum'}, default='mean'
        Mean over the attribute words, as documented, or their sum, as printed in both papers.

    Returns
    -------
    float
        0 if no difference was measured. Sign, range (n times that for sums over n words) and nan
        are those of :func:`rnd_by_word`.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> rnd([he], [she], [she, she], reduce="sum")
    2.8284271
    """
    *targets, words = word_sets(t1=t1, t2=t2, a=a)
    return float(RND(distance=distance, reduce=reduce)._scores(targets, [words])[0])


@register
class RND(BaseMetric):
    """Relative Norm Distance: are attribute words nearer to one target set than to the other?

    0 means that no bias was measured; for formula, sign, range and NaN see :func:`rnd`. The lengths
    of raw vectors matter, and these depend on word frequency: compare models with
    ``normalize=True``. The result has 'rnd' (the score) and 'distance_by_word': word -> its
    difference, in ascending order. Source: Garg, Schiebinger, Jurafsky and Zou, "Word embeddings
    quantify 100 years of gender and ethnic stereotypes", PNAS 115, 2018.

    Parameters
    ----------
    distance, reduce : optional
        As in :func:`rnd`.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "her"], ["he", "him"]], [["family", "home"]])
    >>> list(RND().run_query(query, load_test_model()))
    ['query_name', 'result', 'rnd', 'distance_by_word']
    """

    metric_template = (2, 1)
    metric_name = "Relative Norm Distance"
    metric_short_name = "RND"
    question = "from which target set are the attribute words farther?"
    meaning = (
        "How much farther the attribute words are from the mean of one target set than from that "
        "of the other. The sign gives the direction."
    )
    null_exchange = "targets"
    audit_findings = SCORES_OF_MEANS
    nan_values = {"rnd": math.nan, "distance_by_word": {}}  # noqa: RUF012
    subset_params = {"normalize": True}  # noqa: RUF012
    scores_many_models = True

    distance: Distance = "norm"
    reduce: Literal["mean", "sum"] = "mean"

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        bound = 2.0 if self.distance != "norm" or lookup.get("normalize") else math.inf
        if self.reduce == "sum":
            sizes = distinct_sizes(None if query is None else query.attribute_sets, lookup)
            bound *= math.inf if sizes is None else sizes[0]
        return Scale("RND", (-bound, bound), 0.0)

    def _by_word(self, targets: Sequence[WordSet], words: WordSet) -> Vectors:
        """Difference of each word in each case: (n_cases, n_words)."""
        measure = distances if self.distance == "norm" else mean_cosines
        first, second = (measure(part, words) for part in targets)
        return second - first if self.distance == "cos_distance" else first - second

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        (words,) = attributes
        return self._reduced(words, self._by_word(targets, words))

    def _reduced(self, words: WordSet, by_word: Vectors) -> Vectors:
        return words.mean(by_word) if self.reduce == "mean" else words.sum(by_word)

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        (words,) = attributes
        values = self._by_word(targets, words)
        score = float(self._reduced(words, values)[0])
        if math.isnan(score):
            return self._undefined("the mean of a target set is zero, which has no direction")
        ascending = dict(sorted(by_word(words, values[0]).items(), key=lambda item: item[1]))
        return self._measured(score, distance_by_word=ascending)
