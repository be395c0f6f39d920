"""Direct bias (Bolukbasi, Chang, Zou, Saligrama and Kalai, NeurIPS 2016)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice, check_positive_int, found
from wefe.embeddings import EmbeddedSet, Lookup, UnanswerableError
from wefe.metrics._base import BaseMetric, Measurement, case_of
from wefe.metrics._direction import BiasSubspace, bias_subspace, orthonormal
from wefe.metrics._geometry import ZERO_LENGTH, Vectors, mean_unit, unit
from wefe.metrics._pairs import paired_vectors
from wefe.metrics._registry import register
from wefe.metrics._word_counts import WordCounts, n_cases_of
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import MetricResult

_DIRECTIONS = ("pca", "means")


def direct_bias_by_word(words: npt.ArrayLike, directions: npt.ArrayLike) -> Vectors:
    """Share of each word's length that lies in the bias subspace.

    Parameters
    ----------
    words : array-like of shape (n_words, dim)
        Words that should be neutral.
    directions : array-like of shape (n_directions, dim)
        Orthonormal directions; a single one may have any length.

    Returns
    -------
    ndarray of shape (n_words,)
        In [0, 1]: ``|cos(w, g)|`` for one direction g, the length of the projection of the unit
        vector for several.

    Raises
    ------
    ValueError
        If an array is empty, not finite or has a zero row, the dimensions do not fit, or several
        directions are not orthonormal.

    See Also
    --------
    wefe.metrics.direct_bias : the mean over the words.
    wefe.metrics.bias_subspace : where directions come from.

    References
    ----------
    Bolukbasi et al., NeurIPS 2016, section 5.2, for one direction.

    Examples
    --------
    >>> direct_bias_by_word([[3.0, 4.0], [0.0, 2.0]], [[1.0, 0.0]])
    array([0.6, 0. ])
    """
    basis = orthonormal(directions)
    lengths = np.linalg.norm(unit("words", words) @ basis.T, axis=1)
    return np.asarray(np.minimum(lengths, 1.0))


def direct_bias(words: npt.ArrayLike, directions: npt.ArrayLike, c: float = 1.0) -> float:
    """Direct bias: how much of the words lies along a bias direction or subspace.

    Parameters
    ----------
    words : array-like of shape (n_words, dim)
        Words that should be neutral.
    directions : array-like of shape (n_directions, dim)
        Orthonormal directions, for example ``bias_subspace(...).directions``; a single one may
        have any length.
    c : float, default=1.0
        Strictness, at least 0: the exponent of ``|cos(w, g)|``. At 0 every word that is not exactly
        orthogonal counts as fully biased; larger values forgive small projections. Scores of
        different `c` cannot be compared.

    Returns
    -------
    float
        Mean of ``|cos(w, g)|^c`` over the words, in [0, 1]; 0 if no association was measured. For
        several directions the length of the projection stands for the cosine.

    Raises
    ------
    ValueError
        If `c` is negative or no finite number, an array is empty, not finite or has a zero row, or
        several directions are not orthonormal.

    See Also
    --------
    wefe.metrics.direct_bias_by_word : word by word, without the exponent.
    wefe.metrics.indirect_bias : what the direction does to the similarity of two words.

    References
    ----------
    Bolukbasi, Chang, Zou, Saligrama and Kalai, "Man is to Computer Programmer as Woman is to
    Homemaker? Debiasing Word Embeddings", NeurIPS 2016, section 5.2.

    Examples
    --------
    >>> direct_bias([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]])
    0.5
    """
    if not (isinstance(c, int | float | np.number) and math.isfinite(c) and c >= 0):
        raise ValueError(f"c must be a number of at least 0; got {found(c)}.")
    return float(_strict(direct_bias_by_word(words, directions), c).mean())


@register
class DirectBias(BaseMetric):
    """Direct bias; :func:`wefe.metrics.direct_bias` holds the mathematics.

    The target sets define the bias direction, paired by position; the attribute set holds words
    that should be neutral to it, for example professions. A pair that lost a word is left out.

    The score says nothing of the bias where one direction does not represent the pairs: look at
    ``details["subspace"].explained_variance_ratio``.

    References
    ----------
    Bolukbasi, Chang, Zou, Saligrama and Kalai, "Man is to Computer Programmer as Woman is to
    Homemaker? Debiasing Word Embeddings", NeurIPS 2016.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "woman"], ["he", "man"]], [["nurse", "engineer"]])
    >>> result = DirectBias().run_query(query, load_test_model())
    >>> list(result)
    ['query_name', 'result', 'direct_bias', 'word_values']
    >>> result["word_values"]["nurse"] > result["word_values"]["engineer"]
    True
    """

    metric_template = ("n", 1)
    metric_template_minimum = (2, 1)
    metric_name = "Direct Bias"
    metric_short_name = "Direct Bias"
    value_range = (0.0, 1.0)
    nan_values = {"direct_bias": math.nan, "word_values": {}}  # noqa: RUF012

    def run_query(
        self,
        query: Query,
        model: WordEmbeddingModel,
        *,
        c: float = 1.0,
        n_components: int = 1,
        direction: Literal["pca", "means"] = "pca",
        **lookup: Unpack[Lookup],
    ) -> MetricResult:
        """Measure a model with direct bias.

        Parameters
        ----------
        query : Query
            Two or more target sets of equal size, paired by position, and one set of words that
            should be neutral.
        model : WordEmbeddingModel
            The model to be measured.
        c : float, default=1.0
            Strictness, at least 0; see :func:`direct_bias`.
        n_components : int, default=1
            Dimensions of the bias subspace; at most as many as the pairs span.
        direction : {'pca', 'means'}, default='pca'
            'pca': principal directions of the centred pairs. 'means': the difference of the means
            of two target sets, which need not be paired then; a single direction.
        **lookup
            How words are looked up, see :class:`wefe.embeddings.Lookup`. Vectors are always
            scaled to unit length.

        Returns
        -------
        MetricResult
            'query_name', 'result', 'direct_bias' (both the score, in [0, 1]), and 'word_values':
            word -> cosine with the direction, in [-1, 1] and positive towards the first target set,
            or length of the projection, in [0, 1], if there are several. `details` has 'subspace',
            a :class:`BiasSubspace`, and, of 'pca', 'pairs': the pairs used. NaN if there is no
            direction, as all pairs, or both means, are equal.

        Raises
        ------
        TypeError
            If `query` or `model` is something else, or an option is unknown or of a wrong type.
        ValueError
            If the query has not two or more target sets and one attribute set, an option has no
            such value, or 'means' is asked for more than two sets or one component.
        UnanswerableError
            If target sets have different sizes, or the pairs span fewer directions than
            `n_components`.
        UnusableVectorError
            If a word of the query has a zero or non-finite vector.
        """
        return self._run(
            query,
            model,
            lookup,
            c=c,
            n_components=check_positive_int("n_components", n_components),
            direction=check_choice("direction", direction, _DIRECTIONS),
        )

    def _pairs_targets(self, **params: Any) -> bool:
        return bool(params.get("direction", "pca") == "pca")

    def _compute(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        *,
        c: float,
        n_components: int,
        direction: str,
    ) -> Measurement:
        (words,) = attributes
        details, reason = _subspace(targets, n_components, direction)
        if reason is not None:
            return self._undefined(reason, details)
        directions = details["subspace"].directions
        score = direct_bias(words.vectors, directions, c)
        by_word = (
            unit(words.name, words.vectors) @ directions[0]
            if len(directions) == 1
            else direct_bias_by_word(words.vectors, directions)
        )
        return Measurement(
            {
                "result": score,
                "direct_bias": score,
                "word_values": dict(zip(words.words, by_word.tolist(), strict=True)),
            },
            None,
            details,
        )

    def _compute_cases(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        counts: Sequence[WordCounts],
        **params: Any,
    ) -> Vectors:
        (words,), of_targets, of_words = attributes, counts[:-1], counts[-1]
        vectors = unit(words.name, words.vectors)
        by_word = np.full((n_cases_of(of_targets), len(words)), math.nan)
        for case, row in enumerate(by_word):
            sets = [case_of(part, c, case) for part, c in zip(targets, of_targets, strict=True)]
            try:
                found, reason = _subspace(sets, params["n_components"], params["direction"])
            except UnanswerableError:
                continue
            if reason is None:
                lengths = np.linalg.norm(vectors @ found["subspace"].directions.T, axis=1)
                row[:] = _strict(np.minimum(lengths, 1.0), params["c"])
        return np.asarray(of_words.sums_by_case(by_word) / of_words.totals)


def _subspace(
    targets: Sequence[EmbeddedSet], n_components: int, direction: str
) -> tuple[dict[str, Any], str | None]:
    """Return details with the 'subspace' that target sets define, or why there is none."""
    if direction == "pca":
        pairs, arrays = paired_vectors(targets)
        if np.ptp([unit("targets", part) for part in arrays], axis=0).max() < ZERO_LENGTH:
            return {"pairs": pairs}, "the members of every pair have the same direction"
        try:
            return {"pairs": pairs, "subspace": bias_subspace(arrays, n_components)}, None
        except ValueError as error:  # the pairs found span fewer directions
            raise UnanswerableError(str(error)) from error
    if len(targets) != 2 or n_components != 1:
        raise ValueError(
            "direction='means' needs 2 target sets and n_components=1; got "
            f"{len(targets)} sets, n_components={n_components!r}."
        )
    first, second = (mean_unit(part.name, part.vectors) for part in targets)
    if np.linalg.norm(first - second) < ZERO_LENGTH:
        return {}, "the target sets have the same mean, so there is no direction"
    directions = unit("direction", (first - second)[None])
    return {"subspace": BiasSubspace(directions, np.ones(1))}, None


def _strict(shares: Vectors, c: float) -> Vectors:
    # 0^0 is 0 here: a word without any projection is not biased, however strict one is.
    return np.where(shares > 0, shares**c, 0.0)
