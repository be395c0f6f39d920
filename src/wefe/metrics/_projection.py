"""Bias directions and subspaces, and projections on them: RIPA, direct and indirect bias."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from wefe._checks import check_bool, check_number, check_positive_int
from wefe._wordset import (
    Vectors,
    WordSet,
    WordSets,
    as_rows,
    each_case,
    lists_of_word_sets,
    n_cases_of,
    tuples_of,
    unit,
    word_sets,
)
from wefe.embeddings import Lookup, UnanswerableError
from wefe.metrics._base import SCORES_OF_MEANS, BaseMetric
from wefe.metrics._declaration import Count, Measurement, Scale
from wefe.metrics._geometry import ZERO_LENGTH, by_word, row_products, unit_rows, values_by_word
from wefe.metrics._registry import register
from wefe.models._tables import chunks
from wefe.query import Query, Template

# Components below this share of the largest one are rounding noise, not directions.
RANK_TOLERANCE = 1e-7
# Cosines of float32 vectors with a removed direction are far below this.
ROUNDING = 1e-5


@dataclass(frozen=True, eq=False)
class BiasSubspace:
    """The directions along which the members of defining tuples differ.

    Attributes
    ----------
    directions : ndarray of shape (n_components, dim)
        Orthonormal directions, each pointing from the second set to the first.
    explained_variance_ratio : ndarray of shape (min(n_sets * n_tuples, dim),)
        Share of the variance of the centred tuples along *all* principal directions, in descending
        order. If the first few do not dominate, they do not represent the tuples.

    Examples
    --------
    >>> space = bias_subspace([[[1.0, 0.2], [0.9, 0.5]], [[-1.0, 0.2], [-0.7, 0.8]]])
    >>> space.explained_variance_ratio.round(2)
    array([0.99, 0.01])
    """

    directions: Vectors
    explained_variance_ratio: Vectors = field(repr=False)


def bias_subspace(
    defining_sets: Sequence[npt.ArrayLike], n_components: int = 1, normalize: bool = True
) -> BiasSubspace:
    """Principal directions of defining pairs (or larger tuples), each centred on its own mean.

    Parameters
    ----------
    defining_sets : sequence of array-like of shape (n_tuples, dim)
        Row i of all sets together is one tuple, for example (she, he).
    n_components : int, default=1
        Number of directions, at most as many as the tuples span.
    normalize : bool, default=True
        Scale the vectors to unit length first, as the published code does.

    Returns
    -------
    BiasSubspace
        The right singular vectors of all centred tuples (Bolukbasi et al., NeurIPS 2016), with the
        mean of the first set on their positive side, and the explained variances.

    Raises
    ------
    UnanswerableError
        If the members of every tuple are equal, or span too few directions.

    Examples
    --------
    >>> she, he = [[1.0, 0.2]], [[-1.0, 0.2]]
    >>> bias_subspace([she, he]).directions
    array([[1., 0.]])
    """
    sets = _groups_of_tuples("defining_sets", defining_sets, check_bool("normalize", normalize))
    tuples = sets.swapaxes(0, 1)
    rows = (tuples - tuples.mean(axis=1, keepdims=True)).reshape(-1, tuples.shape[-1])
    _, singular, components = np.linalg.svd(rows, full_matrices=False)
    noise = max(RANK_TOLERANCE * singular[0], ZERO_LENGTH * np.abs(tuples).max())
    rank = int((singular > noise).sum())
    if rank == 0:
        raise UnanswerableError("the members of every tuple are equal, so there is no direction.")
    if check_positive_int("n_components", n_components) > rank:
        raise UnanswerableError(
            f"n_components must be between 1 and {rank}, the number of directions that "
            f"{len(tuples)} tuples span; got {n_components!r}."
        )
    directions = components[:n_components]
    # The sign of a principal component is arbitrary; the difference of the first two means is not.
    towards_first = directions @ (sets[0].mean(axis=0) - sets[1].mean(axis=0))
    directions = directions * np.where(towards_first < 0, -1.0, 1.0)[:, None]
    variances = singular**2
    return BiasSubspace(directions, variances / variances.sum())


def in_span(sets: WordSets) -> tuple[list[WordSet], Vectors]:
    """Return sets with unit vectors in coordinates of their span, and its basis in columns."""
    # Sets that are taken from one pool share its vectors.
    different = {id(part.unit): part.unit for part in sets}
    basis, _ = np.linalg.qr(np.concatenate(list(different.values())).T)
    placed = [replace(part, vectors=part.unit @ basis)._weighted(part.weights) for part in sets]
    return placed, np.asarray(basis)


def group_directions(groups: Sequence[npt.ArrayLike]) -> Vectors:
    """Directions towards each of several groups, from tuples of their words.

    Parameters
    ----------
    groups : sequence of array-like of shape (n_tuples, dim)
        As `defining_sets` of :func:`bias_subspace`. Vectors are scaled to unit length.

    Returns
    -------
    ndarray of shape (n_groups, dim)
        Unit vectors. Two groups: the first principal direction of the centred pairs and its
        opposite. More groups: the mean of each group's words after centring every tuple on its mean
        (Manzini, Lim, Black and Tsvetkov, NAACL 2019).

    Raises
    ------
    UnanswerableError
        If a group has the same mean as all groups together.

    Examples
    --------
    >>> she, he = [[1.0, 0.2]], [[-1.0, 0.2]]
    >>> group_directions([she, he])[:, 0]
    array([ 1., -1.])
    """
    sets = _groups_of_tuples("groups", groups)
    if len(sets) == 2:
        direction = bias_subspace(list(sets)).directions[0]
        return np.stack([direction, -direction])
    means = (sets - sets.mean(axis=0)).mean(axis=1)
    directions = unit_rows(means, ZERO_LENGTH)
    if (unknown := np.isnan(directions[:, 0])).any():
        raise UnanswerableError(
            f"groups[{int(unknown.argmax())}] has the same mean as all groups together, so there "
            "is no direction towards it."
        )
    return directions


def _groups_of_tuples(
    name: str, groups: Sequence[npt.ArrayLike], normalize: bool = True
) -> Vectors:
    (sets,) = lists_of_word_sets(**{name: groups})
    arrays = [part.unit if normalize else part.vectors for part in sets]
    shapes = [part.shape for part in arrays]
    if len(set(shapes)) != 1 or len(sets) < 2:
        expected = "two or more arrays of one shape (n_tuples, dim)"
        raise ValueError(f"{name} must be {expected}; got shapes {shapes}.")
    return np.stack(arrays)


def orthonormal(directions: npt.ArrayLike) -> Vectors:
    """Return directions of shape (n_directions, dim); a single one is scaled to unit length."""
    basis = as_rows("directions", directions)
    if len(basis) == 1:
        return unit("directions", basis)
    if not np.allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-6):
        raise ValueError("directions must be orthonormal; bias_subspace(...).directions are.")
    return basis


# Numbers of the vectors of cases whose directions are computed at once.
_BLOCK_NUMBERS = 1 << 17
# What is left of a unit vector without the bias subspace has no direction if its squared length is
# below this; of vectors in float32 more than that is rounding noise.
_ZERO_SQUARE = 1e-12


@register
class RIPA(BaseMetric):
    """Relational Inner Product Association: how far attribute words reach along pair differences.

    The score is the inner product of each attribute word with the relation vector of each pair,
    averaged over both: positive towards the first target set, 0 if no bias was measured, unbounded
    for raw vectors. Target sets are paired by position; pairs with an out-of-vocabulary word are
    left out. The lengths of the attribute words matter, and these depend on word frequency. To
    compare models, use ``normalize=True``, which keeps scores in [-1, 1]. Source: Ethayarajh,
    Duvenaud and Hirst, "Understanding Undesirable Word Embedding Associations", ACL 2019.

    The result has 'ripa' (the score) and 'word_values': word -> 'mean' and population standard
    deviation 'std' over the pairs. `details['pairs']` lists the pairs used. The score is NaN if a
    pair has identical vectors; for 'pca' only if all have.

    Parameters
    ----------
    relation : {'pairs', 'pca'}, default='pairs'
        'pairs': one relation vector per pair, the difference of its words scaled to unit length.
        'pca': a single one, the first principal component of the centred pairs, pointing from the
        second target set to the first.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "queen"], ["he", "king"]], [["family", "home"]])
    >>> RIPA().run_query(query, load_test_model())["word_values"]["home"]
    {'mean': 0.0012, 'std': 0.0197}
    """

    metric_template = (2, 1)
    metric_name = "Relational Inner Product Association"
    metric_short_name = "RIPA"
    if_unpaired = {}  # noqa: RUF012
    question = "how far do attribute words reach along the line of a pair of target words?"
    meaning = "How far attribute words reach along the line from one word of a pair to the other."
    null_exchange = "pairs"
    audit_findings = SCORES_OF_MEANS
    pairs_targets = True
    nan_values = {"ripa": math.nan, "word_values": {}}  # noqa: RUF012
    subset_params = {"normalize": True}  # noqa: RUF012

    relation: Literal["pairs", "pca"] = "pairs"

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        limit = 1.0 if lookup.get("normalize") else math.inf
        return Scale("RIPA", (-limit, limit), 0.0)

    def _relations(self, pairs: WordSets) -> Vectors:
        """Unit relation vectors of unweighted sets: (n_pairs or 1, dim); NaN if there is none."""
        first, second = (part.vectors for part in pairs)
        # Up to rounding: normalisation makes parallel vectors identical but for that.
        least = ZERO_LENGTH * np.linalg.norm(first, axis=1, keepdims=True)
        relations = unit_rows(first - second, least)
        # The principal component needs no more than one pair that has a direction.
        if self.relation == "pca" and not np.isnan(relations).all():
            return bias_subspace([first, second], normalize=False).directions
        return relations if self.relation == "pairs" else relations[:1]

    def _scores(self, targets: WordSets, attributes: WordSets) -> Vectors:
        (words,) = attributes
        if self.relation == "pca":
            mean = np.concatenate([self._relations(pairs) for pairs in each_case(targets)])
        else:
            # Pairs stay together, so both sets have the same weights.
            pairs, relations = targets[0], self._relations(targets)
            mean = pairs._average(np.nan_to_num(relations))
            mean[pairs.weights.sums(np.isnan(relations[:, 0])) > 0] = math.nan
        return np.asarray((mean * words.mean_vector()).sum(axis=1))

    @property
    def no_p_value(self) -> str:
        """Why there is no permutation test."""
        turned = "exchanging the words of a pair leaves the principal component as it is"
        return turned if self.relation == "pca" else ""

    def _pair_values(self, targets: WordSets, attributes: WordSets) -> Vectors:
        by_pair = self._relations(targets) @ attributes[0].mean_vector()[0]
        return np.stack([by_pair, -by_pair], axis=1)

    def _compute(self, targets: WordSets, attributes: WordSets) -> Measurement:
        (words,), pairs = attributes, tuples_of(targets)
        relations = self._relations(targets)
        same = list(compress(pairs, np.broadcast_to(np.isnan(relations[:, 0]), len(pairs))))
        if same:
            reason = f"the vectors of a pair are identical, so it has no direction: {same}"
            return self._measured(math.nan, {"pairs": pairs}, reason)
        score = float(self._scores(targets, attributes)[0])
        by_pair = words.vectors @ relations.T
        columns = {"mean": by_pair.mean(axis=1), "std": by_pair.std(axis=1)}
        return self._measured(score, {"pairs": pairs}, word_values=values_by_word(words, columns))


def direct_bias_by_word(words: npt.ArrayLike, directions: npt.ArrayLike) -> Vectors:
    """Share of each word's length that lies in the bias subspace: (n_words,)."""
    basis = orthonormal(directions)
    of_words, _ = word_sets(words=words, directions=basis)
    return _lengths(of_words.unit, basis)


def direct_bias(words: npt.ArrayLike, directions: npt.ArrayLike, c: float = 1.0) -> float:
    """Direct bias: how much of the words lies along a bias direction or subspace.

    Parameters
    ----------
    words : array-like of shape (n_words, dim)
        Words that should be neutral.
    directions : array-like of shape (n_directions, dim)
        Orthonormal directions, for example ``bias_subspace(...).directions``; a single one may have
        any length.
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
    metric_template_minimum = (2, 1)

    n_components: Count = 1
    direction: Literal["pca", "means"] = "pca"

    @property
    def pairs_targets(self) -> bool:
        """Whether words at the same position form pairs, which principal directions need."""
        return self.direction == "pca"

    def _subspace(self, targets: WordSets) -> dict[str, Any]:
        """Return details with the subspace of unweighted sets."""
        if self.pairs_targets:
            space = bias_subspace([part.vectors for part in targets], self.n_components)
            return {"pairs": tuples_of(targets), "subspace": space}
        if (len(targets), self.n_components) != (2, 1):
            needs = "direction='means' needs 2 target sets and n_components=1"
            raise ValueError(f"{needs}; got {len(targets)} sets, n_components={self.n_components}.")
        first, second = (part.mean_unit() for part in targets)
        if np.linalg.norm(first - second) < ZERO_LENGTH:
            raise UnanswerableError("the target sets have the same mean, so there is no direction.")
        return {"subspace": BiasSubspace(unit("direction", first - second), np.ones(1))}

    def _directions(self, targets: WordSets) -> tuple[Vectors, Vectors]:
        """Return directions in each case, (n_cases, n_components, n_axes), and the axes in columns.

        NaN where there are none.
        """
        targets, basis = in_span(targets)
        first, second, *_ = (part.mean_unit() for part in targets)
        difference = (first - second)[:, None]
        if not self.pairs_targets:
            return unit_rows(difference, ZERO_LENGTH), basis
        from scipy.linalg import helmert  # quicker to start without it

        n, blocks = self.n_components, []
        size = max(1, _BLOCK_NUMBERS // targets[0].vectors.size)
        for block in chunks(n_cases_of(targets), size):
            listed = [part.weights.listed(block) for part in targets]
            sets = [part.unit.take(own, 0) for part, (own, _) in zip(targets, listed, strict=True)]
            # Contrasts have the same products as what is left without the mean of a tuple. Tuples
            # stay together, so all sets have the same weights.
            factors = helmert(len(targets)), np.sqrt(listed[0][1])
            rows = np.einsum("cs,bt,sbtd->bctd", *factors, sets)
            rows = rows.reshape(len(rows), -1, rows.shape[-1])
            _, lengths, components = np.linalg.svd(rows, full_matrices=False)
            noise = np.maximum(RANK_TOLERANCE * lengths[:, 0], ZERO_LENGTH)
            components[lengths[:, :n].min(axis=1) <= noise] = math.nan
            blocks.append(components[:, :n])
        directions = np.concatenate(blocks)
        # The sign of a principal component is arbitrary; the difference of the means is not.
        is_turned = (directions * difference).sum(axis=2, keepdims=True) < 0
        return np.where(is_turned, -directions, directions), basis


@register
class DirectBias(SubspaceMetric):
    """Direct bias: how much of neutral words lies along the bias direction.

    The target sets define the bias direction; the attribute set contains words that should be
    neutral, for example professions. Vectors are scaled to unit length. The score
    (:func:`direct_bias`) is NaN if all pairs or both means are equal. Source: Bolukbasi, Chang,
    Zou, Saligrama and Kalai, "Man is to Computer Programmer as Woman is to Homemaker? Debiasing
    Word Embeddings", NeurIPS 2016.

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
    >>> DirectBias().run_query(query, load_test_model())["word_values"]
    {'nurse': 0.302, 'engineer': 0.060}
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

    def _scores(self, targets: WordSets, attributes: WordSets) -> Vectors:
        (words,) = attributes
        directions, basis = self._directions(targets)
        scores = words.mean(_strict(_lengths(words.unit @ basis, directions), self.c))
        return np.where(np.isnan(directions[:, 0, 0]), math.nan, scores)

    def _compute(self, targets: WordSets, attributes: WordSets) -> Measurement:
        (words,) = attributes
        details = self._subspace(targets)
        directions = details["subspace"].directions
        lengths = _lengths(words.unit, directions)
        score = float(words.mean(_strict(lengths, self.c)[None])[0])
        values = words.unit @ directions[0] if len(directions) == 1 else lengths
        return self._measured(score, details, word_values=by_word(words, values))


def _lengths(units: Vectors, directions: Vectors) -> Vectors:
    return np.asarray(np.minimum(np.linalg.norm(directions @ units.T, axis=-2), 1.0))


def _strict(shares: Vectors, c: float) -> Vectors:
    # 0^0 is 0 here: a word without any projection is not biased, however strict one is.
    return np.where(shares > 0, shares**c, 0.0)


def indirect_bias(
    first: npt.ArrayLike, second: npt.ArrayLike, directions: npt.ArrayLike
) -> Vectors:
    """Share of the similarity of two words that disappears when the bias subspace is removed.

    Parameters
    ----------
    first, second : array-like of shape (n_pairs, dim)
        The two words of each pair. A single vector is paired with all of the other side.
    directions : array-like of shape (n_directions, dim) or (dim,)
        As in :func:`direct_bias`.

    Returns
    -------
    ndarray of shape (n_pairs,)
        beta = (cos(w, v) - cos(w', v')) / cos(w, v), where w' and v' are w and v without their
        projections on the subspace (Bolukbasi et al., NeurIPS 2016, section 5.3, for one
        direction). 0: all similarity stays. Below 0: the words are nearer to each other without the
        subspace. Above 1: their cosine changes its sign. NaN if w and v are orthogonal, or one of
        them lies in the subspace. It has no bounds, so count pairs above a threshold
        (:class:`ProximityBias`) instead of averaging it.

    Examples
    --------
    >>> nurse, others = [0.5, 0.1, 0.8], [[0.6, 0.9, 0.3], [1.0, 0.2, 0.1]]
    >>> indirect_bias(nurse, others, [0.997742, -0.067150, -0.001556])
    array([0.2265, 0.1827])
    """
    basis = orthonormal(directions)
    left, right = unit("first", as_rows("first", first)), unit("second", as_rows("second", second))
    n_pairs, dims = {len(left), len(right)} - {1}, {part.shape[1] for part in (left, right, basis)}
    if len(n_pairs) > 1 or len(dims) > 1:
        raise ValueError(
            "first and second must have the same number of rows, or one row, and all vectors the "
            f"same dimensions; got shapes {left.shape}, {right.shape} and {basis.shape}."
        )
    # Uses vectors, because cosines lose digits for words that are almost all bias.
    parts = [each - (each @ basis.T) @ basis for each in (left, right)]
    lengths = (length_left(row_products(part, part)) for part in parts)
    return share_lost(row_products(left, right), row_products(*parts), *lengths)


def length_left(squares: Vectors) -> Vectors:
    """Length of what is left of unit vectors without the subspace; NaN if nothing is left."""
    return np.asarray(np.sqrt(np.where(squares > _ZERO_SQUARE, squares, np.nan)))


def share_lost(cosines: Vectors, products: Vectors, first: Vectors, second: Vectors) -> Vectors:
    """Beta from the cosines of words, and from products and lengths of what is left of them."""
    defined = np.where(np.abs(cosines) > ZERO_LENGTH, cosines, np.nan)
    return np.asarray(1 - products / (first * second * defined))
