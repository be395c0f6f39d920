"""Relative Norm Distance (Garg, Schiebinger, Jurafsky and Zou, PNAS 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice
from wefe.embeddings import EmbeddedSet, Lookup
from wefe.metrics._base import BaseMetric, Measurement, Scale, distinct_sizes
from wefe.metrics._geometry import Vectors, as_vectors, distances, unit, unit_rows
from wefe.metrics._registry import register
from wefe.metrics._word_counts import WordCounts
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import MetricResult

_DISTANCES = ("norm", "cos", "cos_distance")
_REDUCTIONS = ("mean", "sum")


def rnd_by_word(
    t1: npt.ArrayLike, t2: npt.ArrayLike, a: npt.ArrayLike, distance: str = "norm"
) -> Vectors:
    """Relative distance of each attribute word to the means of two target sets.

    Parameters
    ----------
    t1, t2, a : array-like of shape (n_words, dim)
        Target sets and attribute set, as they are: lengths matter for 'norm'.
    distance : {'norm', 'cos', 'cos_distance'}, default='norm'
        'norm': ``||a - mean(t1)|| - ||a - mean(t2)||``, positive when the word is nearer to `t2`.
        'cos': ``cos(a, mean(t1)) - cos(a, mean(t2))``, the documented variant. It is a difference
        of *similarities*: positive when the word is nearer to `t1`, the opposite of 'norm'.
        'cos_distance': the same of cosine distances, with the sign of 'norm'.

    Returns
    -------
    ndarray of shape (n_words,)
        'norm' is unbounded, and within [-2, 2] for unit vectors; the others always are. With these
        nan if the mean of a target set is zero.

    Raises
    ------
    ValueError
        If an array is empty or not finite, the dimensions do not fit, or `distance` has no such
        value; but for 'norm' also if an attribute word is a zero vector.

    See Also
    --------
    wefe.metrics.rnd : the mean or sum of these.

    References
    ----------
    Garg, Schiebinger, Jurafsky and Zou, PNAS 115, 2018, for 'norm' and 'cos'.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> rnd_by_word([he], [she], [he, she], distance="cos")
    array([ 1., -1.])
    """
    check_choice("distance", distance, _DISTANCES)
    words = as_vectors("a", a)
    mean_1 = as_vectors("t1", t1).mean(axis=0)
    mean_2 = as_vectors("t2", t2).mean(axis=0)
    if distance == "norm":
        # The expanded form ||a||^2 - 2 a.t + ||t||^2 would cancel.
        return np.asarray(
            np.linalg.norm(words - mean_1, axis=1) - np.linalg.norm(words - mean_2, axis=1)
        )
    means = np.stack([mean_1, mean_2])
    if not np.linalg.norm(means, axis=1).all():
        return np.full(len(words), math.nan)
    similarity = unit("a", words) @ unit("means", means).T
    sign = 1.0 if distance == "cos" else -1.0
    return np.asarray(sign * (similarity[:, 0] - similarity[:, 1]))


def rnd(
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    a: npt.ArrayLike,
    distance: str = "norm",
    reduce: str = "mean",
) -> float:
    """Relative norm distance: how much nearer attribute words are to one target set.

    Parameters
    ----------
    t1, t2, a : array-like of shape (n_words, dim)
        Target sets and attribute set, as they are: lengths matter for 'norm'.
    distance : {'norm', 'cos', 'cos_distance'}, default='norm'
        Difference of Euclidean distances, of cosines, or of cosine distances; see
        :func:`rnd_by_word`.
    reduce : {'mean', 'sum'}, default='mean'
        Mean over the attribute words, as documented, or their sum, as both papers print it.

    Returns
    -------
    float
        0 if no difference was measured. Positive when the attribute words are nearer to `t2`; with
        'cos' when they are nearer to `t1`. The mean is within [-2, 2] for cosines and for unit
        vectors, the sum within that times the number of words. nan as in :func:`rnd_by_word`.

    Raises
    ------
    ValueError
        As :func:`rnd_by_word` does, or if `reduce` has no such value.

    See Also
    --------
    wefe.metrics.rnd_by_word : word by word.

    References
    ----------
    Garg, Schiebinger, Jurafsky and Zou, "Word embeddings quantify 100 years of gender and ethnic
    stereotypes", PNAS 115, 2018.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> rnd([he], [she], [she, she], reduce="sum")
    2.8284271
    """
    check_choice("reduce", reduce, _REDUCTIONS)
    by_word = rnd_by_word(t1, t2, a, distance)
    return float(by_word.mean() if reduce == "mean" else by_word.sum())


@register
class RND(BaseMetric):
    """Relative Norm Distance; :func:`wefe.metrics.rnd` holds the mathematics.

    Are the attribute words nearer to the mean of the first or of the second target set? 0 means
    that no bias was measured. The lengths of raw vectors enter, and with them word frequency:
    compare models with ``normalize=True``.

    References
    ----------
    Garg, Schiebinger, Jurafsky and Zou, "Word embeddings quantify 100 years of gender and ethnic
    stereotypes", PNAS 115, 2018.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "her"], ["he", "him"]], [["family", "home"]])
    >>> result = RND().run_query(query, load_test_model())
    >>> list(result)
    ['query_name', 'result', 'rnd', 'distance_by_word']
    """

    metric_template = (2, 1)
    metric_name = "Relative Norm Distance"
    metric_short_name = "RND"
    nan_values = {"rnd": math.nan, "distance_by_word": {}}  # noqa: RUF012
    _params_for_subsets = {"normalize": True}  # noqa: RUF012

    def run_query(
        self,
        query: Query,
        model: WordEmbeddingModel,
        distance: Literal["norm", "cos", "cos_distance"] = "norm",
        *,
        reduce: Literal["mean", "sum"] = "mean",
        **lookup: Unpack[Lookup],
    ) -> MetricResult:
        """Measure a model with RND.

        Parameters
        ----------
        query : Query
            Two target sets and one attribute set.
        model : WordEmbeddingModel
            The model to be measured.
        distance : {'norm', 'cos', 'cos_distance'}, default='norm'
            See :func:`rnd_by_word`. Positive means nearer to the second target set, except for
            'cos', a difference of similarities, where it means nearer to the first.
        reduce : {'mean', 'sum'}, default='mean'
            Mean or sum over the attribute words.
        **lookup
            How words are looked up, see :class:`wefe.embeddings.Lookup`. Without
            ``normalize=True`` the length of the vectors, and so word frequency, enters 'norm'.

        Returns
        -------
        MetricResult
            'query_name', 'result', 'rnd' (both the score), and 'distance_by_word': word -> its
            difference, in ascending order. But for 'norm' NaN if the mean of a target set is zero.

        Raises
        ------
        TypeError
            If `query` or `model` is something else, or an option is unknown or of a wrong type.
        ValueError
            If the query has not two target sets and one attribute set, or an option has no such
            value.
        UnusableVectorError
            If a word of the query has a zero or non-finite vector.
        """
        return self._run(
            query,
            model,
            lookup,
            distance=check_choice("distance", distance, _DISTANCES),
            reduce=check_choice("reduce", reduce, _REDUCTIONS),
        )

    def scale(self, query: Query | None = None, **params: Any) -> Scale:
        """Say how scores are to be read: bounded by 2 for cosines and for unit vectors.

        Parameters
        ----------
        query : Query, optional
            With ``reduce="sum"`` the number of its attribute words, n, bounds the score.
        **params
            Parameters that `run_query` is called with; `distance`, `reduce`, `normalize` and
            `strategy` matter.

        Returns
        -------
        Scale
            Label 'RND', in [-2, 2] for cosines and with ``normalize=True``, for the sum in
            [-2 n, 2 n], otherwise unbounded; 0 means that no bias was measured.
        """
        bound = 2.0 if params.get("distance", "norm") != "norm" or params.get("normalize") else None
        if params.get("reduce") == "sum" and bound is not None:
            sizes = None if query is None else distinct_sizes(query.attribute_sets, params)
            bound = None if sizes is None else bound * sizes[0]
        limit = math.inf if bound is None else bound
        return Scale("RND", (-limit, limit), 0.0)

    def _compute(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        *,
        distance: str,
        reduce: str,
    ) -> Measurement:
        (words,) = attributes
        by_word = rnd_by_word(targets[0].vectors, targets[1].vectors, words.vectors, distance)
        score = float(by_word.mean() if reduce == "mean" else by_word.sum())
        order = np.argsort(by_word, kind="stable")
        return Measurement(
            {
                "result": score,
                "rnd": score,
                "distance_by_word": {words.words[i]: float(by_word[i]) for i in order},
            },
            "the mean of a target set is zero, which has no direction"
            if math.isnan(score)
            else None,
        )

    def _compute_cases(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        counts: Sequence[WordCounts],
        **params: Any,
    ) -> Vectors:
        (words,) = attributes
        first, second = (
            count.means(part.vectors) for part, count in zip(targets, counts[:2], strict=True)
        )
        # Per case and attribute word: (n_cases or 1, n_words).
        if params["distance"] == "norm":
            by_word = distances(first, words.vectors) - distances(second, words.vectors)
        else:
            sign = 1.0 if params["distance"] == "cos" else -1.0
            by_word = sign * (unit_rows(first) - unit_rows(second)) @ unit("a", words.vectors).T
        scores = counts[2].sums_by_case(by_word)
        return np.asarray(scores / counts[2].totals if params["reduce"] == "mean" else scores)
