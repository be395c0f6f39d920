"""Relational Inner Product Association (Ethayarajh, Duvenaud and Hirst, ACL 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice
from wefe.embeddings import EmbeddedSet, Lookup
from wefe.metrics._base import BaseMetric, Measurement, Scale
from wefe.metrics._direction import bias_subspace
from wefe.metrics._geometry import ZERO_LENGTH, Vectors, as_vectors, unit
from wefe.metrics._pairs import paired_vectors
from wefe.metrics._registry import register
from wefe.metrics._word_counts import WordCounts
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import MetricResult

_RELATIONS = ("pairs", "pca")


def ripa_by_pair(
    t1: npt.ArrayLike, t2: npt.ArrayLike, a: npt.ArrayLike, relation: str = "pairs"
) -> Vectors:
    """Inner product of each attribute word with the relation vector of each pair.

    Parameters
    ----------
    t1, t2 : array-like of shape (n_pairs, dim)
        Row i of `t1` is paired with row i of `t2`.
    a : array-like of shape (n_words, dim)
        Attribute words; their lengths are part of the idea.
    relation : {'pairs', 'pca'}, default='pairs'
        'pairs': one relation vector per pair, (t1_i - t2_i) scaled to unit length.
        'pca': a single one, the first principal component of the pairs (each pair centred),
        pointing from `t2` to `t1`.

    Returns
    -------
    ndarray of shape (n_words, n_pairs), or (n_words, 1) for 'pca'
        Positive when the word leans to `t1`; at most the length of the word in magnitude. With
        'pairs' a pair of identical vectors has no direction: nan.

    Raises
    ------
    ValueError
        If `t1` and `t2` have different shapes, an array is empty or not finite, the dimensions do
        not fit, or `relation` has no such value; with 'pca' also if all pairs are of identical
        vectors.

    See Also
    --------
    wefe.metrics.ripa : the mean of these.

    References
    ----------
    Ethayarajh, Duvenaud and Hirst, ACL 2019.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> ripa_by_pair([he], [she], [he, she]).round(4)
    array([[ 0.7071],
           [-0.7071]])
    """
    check_choice("relation", relation, _RELATIONS)
    words, first, second = as_vectors("a", a), as_vectors("t1", t1), as_vectors("t2", t2)
    if first.shape != second.shape:
        raise ValueError(
            f"t1 and t2 are paired by position; their shapes are {first.shape} and {second.shape}."
        )
    if relation == "pca":
        return words @ bias_subspace([first, second], normalize=False).directions.T
    differences = first - second
    lengths = np.linalg.norm(differences, axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(words @ (differences / lengths[:, None]).T)


def ripa(t1: npt.ArrayLike, t2: npt.ArrayLike, a: npt.ArrayLike, relation: str = "pairs") -> float:
    """Relational inner product association, averaged over pairs and attribute words.

    Parameters
    ----------
    t1, t2 : array-like of shape (n_pairs, dim)
        Row i of `t1` is paired with row i of `t2`.
    a : array-like of shape (n_words, dim)
        Attribute words; their lengths are part of the idea.
    relation : {'pairs', 'pca'}, default='pairs'
        'pairs': one relation vector per pair. 'pca': the first principal component of all pairs.

    Returns
    -------
    float
        Mean over the words of the mean over the pairs: unbounded for raw vectors, in [-1, 1] for
        unit vectors. Positive when the attribute words lean to `t1`; 0 if no association was
        measured. With 'pairs' nan if a pair is of identical vectors.

    Raises
    ------
    ValueError
        As :func:`ripa_by_pair` does.

    See Also
    --------
    wefe.metrics.ripa_by_pair : each word and pair.

    References
    ----------
    Ethayarajh, Duvenaud and Hirst, "Understanding Undesirable Word Embedding Associations",
    ACL 2019.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> ripa([he], [she], [he])
    0.70710678
    """
    return float(ripa_by_pair(t1, t2, a, relation).mean(axis=1).mean())


@register
class RIPA(BaseMetric):
    """Relational Inner Product Association; :func:`wefe.metrics.ripa` holds the mathematics.

    The two target sets are paired by position. A pair that lost a word is left out whole, so that
    the others stay aligned.

    The score is the mean inner product of the attribute words with the unit differences of the
    pairs: positive towards the first target set, 0 if no bias was measured. The lengths of the
    attribute words, and so their frequency, enter: compare models with ``normalize=True``.

    References
    ----------
    Ethayarajh, Duvenaud and Hirst, "Understanding Undesirable Word Embedding Associations",
    ACL 2019.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "queen"], ["he", "king"]], [["family", "home"]])
    >>> result = RIPA().run_query(query, load_test_model())
    >>> list(result), list(result["word_values"]["home"])
    (['query_name', 'result', 'ripa', 'word_values'], ['mean', 'std'])
    """

    metric_template = (2, 1)
    metric_name = "Relational Inner Product Association"
    metric_short_name = "RIPA"
    nan_values = {"ripa": math.nan, "word_values": {}}  # noqa: RUF012
    _params_for_subsets = {"normalize": True}  # noqa: RUF012

    def run_query(
        self,
        query: Query,
        model: WordEmbeddingModel,
        *,
        relation: Literal["pairs", "pca"] = "pairs",
        **lookup: Unpack[Lookup],
    ) -> MetricResult:
        """Measure a model with RIPA.

        Parameters
        ----------
        query : Query
            Two target sets of equal size, paired by position, and one attribute set.
        model : WordEmbeddingModel
            The model to be measured.
        relation : {'pairs', 'pca'}, default='pairs'
            One relation vector per pair, or the first principal component of all pairs.
        **lookup
            How words are looked up, see :class:`wefe.embeddings.Lookup`.

        Returns
        -------
        MetricResult
            'query_name', 'result', 'ripa' (both the score), and 'word_values': word -> 'mean' and
            (population) standard deviation 'std' over the pairs. `details['pairs']` lists the pairs
            used. NaN if a pair is of identical vectors; of 'pca' only if all are.

        Raises
        ------
        TypeError
            If `query` or `model` is something else, or an option is unknown or of a wrong type.
        ValueError
            If the query has not two target sets and one attribute set, or an option has no such
            value.
        UnanswerableError
            If the target sets have different sizes.
        UnusableVectorError
            If a word of the query has a zero or non-finite vector.
        """
        check_choice("relation", relation, _RELATIONS)
        return self._run(query, model, lookup, relation=relation)

    def scale(self, query: Query | None = None, **params: Any) -> Scale:  # noqa: ARG002
        """Say how scores are to be read: within [-1, 1] for unit vectors.

        Parameters
        ----------
        query : Query, optional
            It does not matter.
        **params
            Parameters that `run_query` is called with; `normalize` matters.

        Returns
        -------
        Scale
            Label 'RIPA', unbounded, or in [-1, 1] with ``normalize=True``; 0 means that no bias was
            measured.
        """
        limit = 1.0 if params.get("normalize") else math.inf
        return Scale("RIPA", (-limit, limit), 0.0)

    def _pairs_targets(self, **params: Any) -> bool:  # noqa: ARG002
        return True

    def _compute(
        self, targets: Sequence[EmbeddedSet], attributes: Sequence[EmbeddedSet], *, relation: str
    ) -> Measurement:
        (words,) = attributes
        pairs, (t1, t2) = paired_vectors(targets)
        # Up to rounding: normalisation makes parallel vectors identical but for that.
        spans = np.linalg.norm(t1 - t2, axis=1) > ZERO_LENGTH * np.linalg.norm(t1, axis=1)
        same = [pair for pair, spanned in zip(pairs, spans, strict=True) if not spanned]
        # The principal component needs no more than one pair that has a direction.
        if same and (relation == "pairs" or not spans.any()):
            return self._undefined(
                f"the vectors of a pair are identical, so it has no direction: {same}",
                {"pairs": pairs},
            )
        by_pair = ripa_by_pair(t1, t2, words.vectors, relation)
        means = by_pair.mean(axis=1)
        score = float(means.mean())
        word_values = {
            word: {"mean": mean, "std": std}
            for word, mean, std in zip(
                words.words, means.tolist(), by_pair.std(axis=1).tolist(), strict=True
            )
        }
        return Measurement(
            {"result": score, "ripa": score, "word_values": word_values}, None, {"pairs": pairs}
        )

    def _compute_cases(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        counts: Sequence[WordCounts],
        **params: Any,
    ) -> Vectors:
        (words,) = attributes
        differences = targets[0].vectors - targets[1].vectors
        lengths = np.linalg.norm(targets[0].vectors, axis=1)
        identical = np.linalg.norm(differences, axis=1) <= ZERO_LENGTH * lengths
        if params["relation"] != "pairs" or identical.any():
            return super()._compute_cases(targets, attributes, counts, **params)
        # Pairs stay together, so both sets have the same counts.
        relations = counts[0].means(unit("pairs", differences))
        return np.asarray((relations * counts[2].means(words.vectors)).sum(axis=1))
