"""Direct bias (Bolukbasi, Chang, Zou, Saligrama and Kalai, NeurIPS 2016)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from wefe._checks import check_number
from wefe._wordset import Vectors, WordSet, n_cases_of, unit, word_sets
from wefe.metrics._base import BaseMetric, Measurement
from wefe.metrics._direction import BiasSubspace, bias_subspace, orthonormal, principal_directions
from wefe.metrics._geometry import ZERO_LENGTH, by_word
from wefe.metrics._pairs import tuples_of
from wefe.metrics._parameters import Count
from wefe.metrics._registry import register
from wefe.query import Template

# Numbers of the vectors of cases whose directions are computed at once.
_BLOCK_NUMBERS = 1 << 17


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
        In [0, 1]: ``|cos(w, g)|``; for several directions, the length of the projection of the unit
        vector.

    Examples
    --------
    >>> direct_bias_by_word([[3.0, 4.0], [0.0, 2.0]], [[1.0, 0.0]])
    array([0.6, 0. ])
    """
    basis = orthonormal(directions)
    of_words, _ = word_sets(words=words, directions=basis)
    return _lengths(of_words, basis)


def direct_bias(words: npt.ArrayLike, directions: npt.ArrayLike, c: float = 1.0) -> float:
    """Direct bias: how much of the words lies along a bias direction or subspace.

    Parameters
    ----------
    words, directions : array-like
        As in :func:`direct_bias_by_word`; for example ``bias_subspace(...).directions``.
    c : float, default=1.0
        Strictness, at least 0. 0 counts every word that is not exactly orthogonal as fully biased;
        larger values forgive small projections. Scores are comparable only with the same `c`.

    Returns
    -------
    float
        Mean of ``|cos(w, g)|^c`` over the words, in [0, 1]; 0 if no association was measured. With
        several directions the length of the projection replaces the cosine.

    Examples
    --------
    >>> direct_bias([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]])
    0.5
    """
    return float(_strict(direct_bias_by_word(words, directions), DirectBias(c=c).c).mean())


class SubspaceMetric(BaseMetric):
    """Base of the metrics whose target sets define a bias subspace."""

    metric_template: ClassVar[Template] = ("n", 1)
    metric_template_minimum: ClassVar[tuple[int, int]] = (2, 1)

    n_components: Count = 1
    direction: Literal["pca", "means"] = "pca"

    @property
    def pairs_targets(self) -> bool:
        """Whether words at the same position form pairs, which principal directions need."""
        return self.direction == "pca"

    def _subspace(self, targets: Sequence[WordSet]) -> tuple[dict[str, Any], str | None]:
        """Return details with the subspace of unweighted sets, and why there is none (or None)."""
        details: dict[str, Any] = {}
        if self.pairs_targets:
            details["pairs"] = tuples_of(targets)
            if np.ptp([part.unit for part in targets], axis=0).max() < ZERO_LENGTH:
                return details, "the members of every pair have the same direction"
            details["subspace"] = bias_subspace([t.vectors for t in targets], self.n_components)
            return details, None
        if (len(targets), self.n_components) != (2, 1):
            needs = "direction='means' needs 2 target sets and n_components=1"
            raise ValueError(f"{needs}; got {len(targets)} sets, n_components={self.n_components}.")
        first, second = (part.mean_unit() for part in targets)
        if np.linalg.norm(first - second) < ZERO_LENGTH:
            return details, "the target sets have the same mean, so there is no direction"
        details["subspace"] = BiasSubspace(unit("direction", first - second), np.ones(1))
        return details, None

    def _directions(self, targets: Sequence[WordSet]) -> Vectors:
        """Directions in each case, (n_cases, n_components, dim); NaN where there are none."""
        first, second, *_ = (part.mean_unit() for part in targets)
        difference = (first - second)[:, None]
        if not self.pairs_targets:
            lengths = np.linalg.norm(difference, axis=2, keepdims=True)
            return np.asarray(difference / np.where(lengths < ZERO_LENGTH, math.nan, lengths))
        from scipy.linalg import helmert  # quicker to start without it

        size = max(1, _BLOCK_NUMBERS // targets[0].vectors.size)
        blocks = []
        for start in range(0, n_cases_of(targets), size):
            listed = [part.weights.listed(slice(start, start + size)) for part in targets]
            sets = [part.unit.take(own, 0) for part, (own, _) in zip(targets, listed, strict=True)]
            # Contrasts have the same products as what is left without the mean of a tuple. Tuples
            # stay together, so all sets have the same weights.
            factors = helmert(len(targets)), np.sqrt(listed[0][1])
            rows = np.einsum("cs,bt,sbtd->bctd", *factors, sets)
            rows = rows.reshape(len(rows), -1, rows.shape[-1])
            blocks.append(principal_directions(rows, self.n_components))
        directions = np.concatenate(blocks)
        # The sign of a principal component is arbitrary; the difference of the means is not.
        is_turned = (directions * difference).sum(axis=2, keepdims=True) < 0
        return np.where(is_turned, -directions, directions)


@register
class DirectBias(SubspaceMetric):
    """Direct bias: how much of neutral words lies along the bias direction.

    The target sets define the bias direction; the attribute set contains words that should be
    neutral, for example professions. Vectors are always scaled to unit length. The score
    (:func:`direct_bias`) is NaN without a direction: if all pairs or both means are equal. Source:
    Bolukbasi, Chang, Zou, Saligrama and Kalai, "Man is to Computer Programmer as Woman is to
    Homemaker? Debiasing Word Embeddings", NeurIPS 2016.

    The result has 'direct_bias' (the score) and 'word_values'. These are the cosine of each word
    with the direction, in [-1, 1] and positive towards the first target set; with several
    directions, the length of its projection, in [0, 1]. `details` has, for 'pca', the 'pairs' used,
    and 'subspace', a :class:`BiasSubspace`. Check its `explained_variance_ratio`: if one direction
    does not represent the pairs, the score says little.

    Parameters
    ----------
    c : float, default=1.0
        Strictness; see :func:`direct_bias`.
    n_components : int, default=1
        Dimensions of the bias subspace; at most as many as the pairs span.
    direction : {'pca', 'means'}, default='pca'
        'pca': principal directions of the centred pairs, without those with an out-of-vocabulary
        word. 'means': the difference of the means of two target sets, which need not be paired.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "woman"], ["he", "man"]], [["nurse", "engineer"]])
    >>> values = DirectBias().run_query(query, load_test_model())["word_values"]
    >>> values["nurse"] > values["engineer"]
    True
    """

    metric_name = "Direct Bias"
    metric_short_name = "Direct Bias"
    if_unpaired = {"direction": "means"}  # noqa: RUF012
    question = "how much of neutral words lies along the bias direction?"
    meaning = "How far neutral words lie along the bias direction that the target words define."
    no_p_value = (
        "exchanging the words of a pair, or the pairs, does not change the bias direction, and no "
        "other exchange tests this score alone"
    )
    audit_findings = frozenset()
    value_range = (0.0, 1.0)
    nan_values = {"direct_bias": math.nan, "word_values": {}}  # noqa: RUF012

    c: Annotated[float, partial(check_number, at_least=0)] = 1.0

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        (words,) = attributes
        directions = self._directions(targets)
        lengths = np.linalg.norm(directions @ words.unit.T, axis=1)
        scores = words.mean(_strict(np.minimum(lengths, 1.0), self.c))
        return np.where(np.isnan(directions[:, 0, 0]), math.nan, scores)

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        (words,) = attributes
        details, reason = self._subspace(targets)
        if reason is not None:
            return self._undefined(reason, details)
        directions = details["subspace"].directions
        lengths = _lengths(words, directions)
        score = float(words.mean(_strict(lengths, self.c)[None])[0])
        values = words.unit @ directions[0] if len(directions) == 1 else lengths
        return self._measured(score, details, word_values=by_word(words, values))


def _lengths(words: WordSet, basis: Vectors) -> Vectors:
    return np.asarray(np.minimum(np.linalg.norm(words.unit @ basis.T, axis=1), 1.0))


def _strict(shares: Vectors, c: float) -> Vectors:
    # 0^0 is 0 here: a word without any projection is not biased, however strict one is.
    return np.where(shares > 0, shares**c, 0.0)
