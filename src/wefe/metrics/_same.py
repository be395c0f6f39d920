"""SAME (Schröder, Schulz, Hinder and Hammer, 2022)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice
from wefe.embeddings import EmbeddedSet, Lookup
from wefe.metrics._base import BaseMetric, Measurement, Scale
from wefe.metrics._geometry import ZERO_LENGTH, Vectors, mean_unit, unit, unit_rows
from wefe.metrics._registry import register
from wefe.metrics._word_counts import WordCounts
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import MetricResult

_COMBINATIONS = ("sum", "projection")


def same_signed(words: npt.ArrayLike, group_1: npt.ArrayLike, group_2: npt.ArrayLike) -> Vectors:
    """Signed SAME of each word between two groups: s(w, A, B) over its attainable maximum.

    Parameters
    ----------
    words : array-like of shape (n_words, dim)
        Words that should be neutral.
    group_1, group_2 : array-like of shape (n_words, dim)
        Words of the two groups.

    Returns
    -------
    ndarray of shape (n_words,)
        In [-1, 1]: the cosine with the difference of the groups' means of unit vectors. Positive
        when a word leans to `group_1`. nan if the means coincide.

    Raises
    ------
    ValueError
        If an array is empty, not finite or has a zero row, or the dimensions do not fit.

    See Also
    --------
    wefe.metrics.association : the numerator s(w, A, B).
    wefe.metrics.same_by_word : without sign, for more groups.

    References
    ----------
    Schröder, Schulz, Hinder and Hammer, 2022; see :func:`same`.

    Examples
    --------
    >>> same_signed([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]], [[0.0, 1.0]])
    array([ 0.70710678, -0.70710678])
    """
    difference = mean_unit("group_1", group_1) - mean_unit("group_2", group_2)
    length = np.linalg.norm(difference)
    vectors = unit("words", words)
    if length < ZERO_LENGTH:
        return np.full(len(vectors), math.nan)
    return np.asarray(vectors @ (difference / length))


def same_by_word(
    words: npt.ArrayLike, groups: Sequence[npt.ArrayLike], combine: str = "sum"
) -> Vectors:
    """SAME of each word with respect to two or more groups.

    Parameters
    ----------
    words : array-like of shape (n_words, dim)
        Words that should be neutral.
    groups : sequence of array-like of shape (n_words, dim)
        Words of each group.
    combine : {'sum', 'projection'}, default='sum'
        How directions are combined with three or more groups. 'sum': as the authors' code does,
        ``|cos(w, b_1)|`` plus, for i >= 2, the sum of ``|cos(w, b_i)| ||b_i||``, where b_i leads
        from group i + 1 to the first one, and is made orthogonal to the earlier ones. It depends on
        the order of the groups and may exceed 1. 'projection': the length of the projection of the
        unit vector on their span; independent of the order and within [0, 1].

    Returns
    -------
    ndarray of shape (n_words,)
        0 means no association. In [0, 1] for two groups and for 'projection'; for n groups the sum
        is at most 1 + 2 (n - 2). nan if all groups have the same mean.

    Raises
    ------
    ValueError
        If there are fewer than two groups, an array is empty, not finite or has a zero row, the
        dimensions do not fit, or `combine` has no such value.

    See Also
    --------
    wefe.metrics.same_signed : with sign, for two groups.
    wefe.metrics.same : the mean over the words.

    References
    ----------
    Schröder, Schulz, Hinder and Hammer, 2022; see :func:`same`. 'sum' follows their code,
    'projection' is a variant of this package.

    Examples
    --------
    >>> he, she, they = [[1.0, 0.0]], [[0.0, 1.0]], [[-1.0, 0.0]]
    >>> same_by_word([[1.0, 0.0], [1.0, 1.0]], [he, she, they], combine="projection")
    array([1., 1.])
    """
    check_choice("combine", combine, _COMBINATIONS)
    directions, lengths = _directions(groups)
    vectors = unit("words", words)
    if len(directions) == 0:
        return np.full(len(vectors), math.nan)
    cosines = np.abs(vectors @ directions.T)
    if combine == "projection":
        return np.asarray(np.minimum(np.linalg.norm(cosines, axis=1), 1.0))
    # As released: the first direction is not weighted by its length, the others are.
    weights = np.concatenate([[1.0], lengths[1:]])
    return np.asarray(cosines @ weights)


def _directions(groups: Sequence[npt.ArrayLike]) -> tuple[Vectors, Vectors]:
    """Gram-Schmidt of the differences of group means; what vanishes is dropped."""
    if len(groups) < 2:
        raise ValueError(f"SAME needs two or more groups; got {len(groups)}.")
    means = [mean_unit(f"groups[{i}]", group) for i, group in enumerate(groups)]
    basis: list[Vectors] = []
    lengths: list[float] = []
    for mean in means[1:]:
        rest = means[0] - mean
        # Twice: after one pass what is left may still lean to the earlier directions.
        for direction in basis * 2:
            rest = rest - (rest @ direction) * direction
        length = float(np.linalg.norm(rest))
        if length >= ZERO_LENGTH:
            basis.append(rest / length)
            lengths.append(length)
    return np.array(basis), np.array(lengths)


def same(words: npt.ArrayLike, groups: Sequence[npt.ArrayLike], combine: str = "sum") -> float:
    """SAME: mean association of words with one of several groups, on a comparable scale.

    Parameters
    ----------
    words : array-like of shape (n_words, dim)
        Words that should be neutral.
    groups : sequence of array-like of shape (n_words, dim)
        Words of each of two or more groups.
    combine : {'sum', 'projection'}, default='sum'
        How directions are combined with three or more groups; see :func:`same_by_word`.

    Returns
    -------
    float
        In [0, 1] for two groups and for 'projection'; 0 if no association was measured. nan if all
        groups have the same mean.

    Raises
    ------
    ValueError
        As :func:`same_by_word` does.

    See Also
    --------
    wefe.metrics.same_by_word : word by word.

    References
    ----------
    Schröder, Schulz, Hinder and Hammer, "The SAME score: Improved cosine based bias score for word
    embeddings", 2022.

    Examples
    --------
    >>> same([[1.0, 0.0], [0.0, 1.0]], [[[1.0, 0.0]], [[0.0, 1.0]]])
    0.70710678
    """
    return float(same_by_word(words, groups, combine).mean())


@register
class SAME(BaseMetric):
    """SAME; :func:`wefe.metrics.same` holds the mathematics.

    The target sets are the groups, the attribute set holds the words whose bias is measured. 0
    means that no bias was measured; two groups give at most 1, which does not depend on the model.

    References
    ----------
    Schröder, Schulz, Hinder and Hammer, "The SAME score: Improved cosine based bias score for word
    embeddings", 2022.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> groups, jobs = [["she", "her"], ["he", "him"]], ["nurse", "engineer"]
    >>> query = Query(groups, [jobs], ["F", "M"], ["Jobs"])
    >>> result = SAME().run_query(query, load_test_model())
    >>> list(result), list(result["pairwise"])
    (['query_name', 'result', 'same', 'pairwise', 'word_values'], ['F - M'])
    """

    metric_template = ("n", 1)
    metric_template_minimum = (2, 1)
    metric_name = "SAME"
    metric_short_name = "SAME"
    value_range = (0.0, math.inf)
    nan_values = {"same": math.nan, "pairwise": {}, "word_values": {}}  # noqa: RUF012

    def run_query(
        self,
        query: Query,
        model: WordEmbeddingModel,
        *,
        combine: Literal["sum", "projection"] = "sum",
        **lookup: Unpack[Lookup],
    ) -> MetricResult:
        """Measure a model with SAME.

        Parameters
        ----------
        query : Query
            Two or more target sets (the groups) and one attribute set (the words measured).
        model : WordEmbeddingModel
            The model to be measured.
        combine : {'sum', 'projection'}, default='sum'
            How three or more groups are combined; see :func:`same_by_word`.
        **lookup
            How words are looked up, see :class:`wefe.embeddings.Lookup`.

        Returns
        -------
        MetricResult
            'query_name', 'result', 'same' (both the score); 'pairwise': 'group - other group' ->
            'skew' (mean of the signed values: a direction that all words share) and 'stereotype'
            (their population standard deviation); 'word_values': word -> 'same' and the signed
            value of every pair of groups, positive towards the first. `details['n_directions']` is
            smaller than the number of groups less one if a group adds no direction of its own. NaN
            if all groups have the same mean.

        Raises
        ------
        TypeError
            If `query` or `model` is something else, or an option is unknown or of a wrong type.
        ValueError
            If the query has not two or more target sets and one attribute set, or an option has no
            such value.
        UnusableVectorError
            If a word of the query has a zero or non-finite vector.
        """
        check_choice("combine", combine, _COMBINATIONS)
        return self._run(query, model, lookup, combine=combine)

    def scale(self, query: Query | None = None, **params: Any) -> Scale:
        """Say how scores are to be read: bounded by 1 for two groups and for 'projection'.

        Parameters
        ----------
        query : Query, optional
            Its number of target sets, n, bounds the score.
        **params
            Parameters that `run_query` is called with; `combine` matters.

        Returns
        -------
        Scale
            Label 'SAME', in [0, 1], or [0, 1 + 2 (n - 2)] for the sum of more than two groups,
            without a query unbounded above; 0 means that no bias was measured.
        """
        if params.get("combine") == "projection" or (query and query.template[0] == 2):
            return Scale("SAME", (0.0, 1.0), 0.0)
        # Every further direction adds at most its length, which is at most 2.
        bound = math.inf if query is None else 1.0 + 2.0 * (query.template[0] - 2)
        return Scale("SAME", (0.0, bound), 0.0)

    def _compute(
        self, targets: Sequence[EmbeddedSet], attributes: Sequence[EmbeddedSet], *, combine: str
    ) -> Measurement:
        (words,) = attributes
        groups = [part.vectors for part in targets]
        by_word = same_by_word(words.vectors, groups, combine)
        if math.isnan(by_word[0]):
            return self._undefined("all target sets have the same mean")
        signed = {
            f"{one.name} - {other.name}": same_signed(words.vectors, one.vectors, other.vectors)
            for one, other in itertools.combinations(targets, 2)
        }
        score = float(by_word.mean())
        return Measurement(
            {
                "result": score,
                "same": score,
                "pairwise": {
                    pair: {"skew": float(values.mean()), "stereotype": float(values.std())}
                    for pair, values in signed.items()
                },
                "word_values": {
                    word: {
                        "same": float(by_word[row]),
                        **{pair: float(values[row]) for pair, values in signed.items()},
                    }
                    for row, word in enumerate(words.words)
                },
            },
            details={"n_directions": len(_directions(groups)[0])},
        )

    def _compute_cases(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        counts: Sequence[WordCounts],
        **params: Any,
    ) -> Vectors:
        if len(targets) > 2:
            return super()._compute_cases(targets, attributes, counts, **params)
        (words,) = attributes
        first, second = (
            count.means(unit(part.name, part.vectors))
            for part, count in zip(targets, counts[:2], strict=True)
        )
        difference = first - second
        difference[np.linalg.norm(difference, axis=1) < ZERO_LENGTH] = 0
        by_word = np.abs(unit_rows(difference) @ unit(words.name, words.vectors).T)
        return np.asarray(counts[2].sums_by_case(by_word) / counts[2].totals)
