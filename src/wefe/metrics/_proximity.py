"""Bias in the neighbourhoods of words (Kumar, Bhotia and Chakraborty, TACL 2020)."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import compress
from operator import add
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from wefe._checks import (
    check_positive_int,
    check_sequence,
    check_word_set,
)
from wefe._wordset import Vectors, WordSet, n_cases_of, unit
from wefe.embeddings import UnanswerableError
from wefe.metrics._declaration import Count, Measurement
from wefe.metrics._exchange import Exchange, TestType
from wefe.metrics._projection import (
    ROUNDING,
    SubspaceMetric,
    group_directions,
    in_span,
    length_left,
    orthonormal,
    share_lost,
)
from wefe.metrics._registry import register
from wefe.models._passes import forms
from wefe.models._search import directions as directions_of
from wefe.models._search import search
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model

Rows = npt.NDArray[np.int64]
# Places of edges among the neighbours, and which of them lead to each word: see `_edges`.
_Edges: TypeAlias = tuple[tuple[npt.NDArray[np.intp], ...], csr_array]
# Scores, values of the words (NaN if unknown) in each case, and further entries of a result.
_Values: TypeAlias = tuple[Vectors, Vectors, dict[str, Any]]

# Defaults of the authors.
DEFAULT_K = 100
DEFAULT_THETA = 0.05

# A word has no value if less than this share of its neighbours is known.
_LEAST_KNOWN = 0.5
# Numbers of the neighbours of cases that are scored at once: what a cache holds.
_BLOCK_NUMBERS = 1 << 17
# Number of words to show in a message.
_SHOWN = 3
_ONLY_ROUNDING = (
    "only rounding errors lie along the direction; pass the model before mitigation as `original`"
)


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """The nearest neighbours of some words, and how each relates to a bias.

    Attributes
    ----------
    words : tuple of str
        The words, as in the vocabulary.
    word_rows : ndarray of shape (n_words,)
        Their rows in the evaluated model; -1 for a word built from subwords.
    rows, names, cosines : ndarray of shape (n_words, k)
        The neighbours, the nearest first: their rows, the words themselves, and their cosines, in
        [-1, 1], in the evaluated model.
    indirect_bias : ndarray of shape (n_words, k)
        Indirect bias of the word and each neighbour in the model of the directions, as in
        :func:`indirect_bias`. NaN if that model lacks one of the two, or if it is undefined.
    along : ndarray of shape (n_words, k, n_groups)
        Cosine of each neighbour with the direction towards each group, in the model of the
        directions. NaN if that model lacks the neighbour.
    n_missing : int
        Number of distinct words and neighbours that the model of the directions does not know.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she"], ["he"]], [["nurse"]])
    >>> result = ProximityBias().run_query(query, load_test_model(), k=3)
    >>> result.details["neighborhoods"].names.tolist()
    [['nurses', 'nursing', 'midwife']]
    """

    words: tuple[str, ...]
    word_rows: Rows = field(repr=False)
    rows: Rows = field(repr=False)
    names: npt.NDArray[np.object_] = field(repr=False)
    cosines: Vectors = field(repr=False)
    indirect_bias: Vectors = field(repr=False)
    along: Vectors = field(repr=False)
    n_missing: int = 0

    @property
    def k(self) -> int:
        """Number of neighbours of each word."""
        return int(self.rows.shape[1])


def neighborhoods(
    model: WordEmbeddingModel,
    words: Sequence[str],
    directions: npt.ArrayLike,
    towards: npt.ArrayLike,
    k: int = DEFAULT_K,
    *,
    original: WordEmbeddingModel | None = None,
    exclude: Sequence[str] = (),
) -> Neighborhoods:
    """Find the nearest neighbours of words, their indirect bias and the group they lean to.

    Directions of the subspace are orthonormal, those towards groups of any length. A word never is
    its own neighbour, and words to `exclude` are nobody's.
    """
    space = _check_original("original", original) or model
    near = _nearest(model, words, k, exclude)
    basis, groups = orthonormal(directions), unit("towards", towards)
    return _annotated(_placed(near, model, space), basis, groups)


def proximity_bias(betas: Vectors, theta: float) -> Vectors:
    """Share of the known neighbours (second axis) whose indirect bias is above theta."""
    n_known = betas.shape[1] - np.isnan(betas).sum(axis=1)
    return _shares_of_known((betas > theta).sum(axis=1), n_known, betas.shape[1])


def _shares_of_known(counts: npt.NDArray[Any], n_known: npt.NDArray[Any], k: int) -> Vectors:
    """Counts as shares of the known neighbours; NaN if these are fewer than half of all k."""
    enough = (n_known > 0) & (n_known >= _LEAST_KNOWN * k)
    return np.asarray(np.where(enough, counts / np.maximum(n_known, 1), np.nan))


def _edges(words: Rows, neighbors: Rows) -> _Edges:
    """Return the positions of the words among the neighbours, and which edges lead to each word."""
    different, of_word = np.unique(words, return_inverse=True)
    to = np.searchsorted(different, neighbors).clip(max=len(different) - 1)
    places = np.nonzero((different[to] == neighbors) & (neighbors != words[:, None]))
    n_edges = len(places[0])
    cells = np.ones(n_edges), (to[places], np.arange(n_edges))
    return places, csr_array(cells, (len(different), n_edges))[of_word]


def _gammas(edges: _Edges, betas: Vectors, theta: float, counts: Vectors) -> Vectors:
    """Weights of words that count several times, or in several cases: the last axis."""
    places, incoming = edges
    of_edges, counts = betas[places], counts[places[0]]
    n_known = incoming @ (counts * ~np.isnan(of_edges))
    n_biased = incoming @ (counts * (of_edges > theta))
    return np.asarray(1 + n_biased / np.where(n_known > 0, n_known, 1))


def _check_words(name: str, words: Any) -> tuple[str, ...]:
    return check_word_set(name, words) if len(check_sequence(name, words)) else ()


def _check_original(name: str, value: WordEmbeddingModel | None) -> WordEmbeddingModel | None:
    if value is not None:
        check_model(value, name)
        value.whole_table(name)
    return value


class _NeighborMetric(SubspaceMetric):
    """Base of the metrics of neighbourhoods; a subclass computes their values."""

    needs_vocabulary: ClassVar[bool] = True
    takes_original: ClassVar[bool] = True
    null_exchange: ClassVar[Exchange | None] = "targets"

    k: Count = DEFAULT_K
    # Declared again to fix their position, because parameters can be given by position.
    n_components: Count = 1
    direction: Literal["pca", "means"] = "pca"
    original: Annotated[WordEmbeddingModel | None, _check_original] = None
    exclude: Annotated[Sequence[str], _check_words] = ()
    p_value_test_type: TestType = "two-sided"
    p_value_iterations: Count = 999

    @property
    def _space(self) -> WordEmbeddingModel:
        """The model in which directions and indirect bias are computed."""
        return self.original or self.model

    def _values(
        self, placed: _Placed, directions: Vectors, counts: Vectors, groups: Sequence[str]
    ) -> _Values:
        """Compute the values of each case; further entries are those of the first case.

        `directions` have shape (n_cases, n_directions, dim), `counts` (n_words, n_cases or 1).
        """
        raise NotImplementedError

    def _placed(self, words: WordSet) -> _Placed:
        near = _nearest(self.model, words.words, self.k, forms(self.model, self.exclude))
        return _placed(near, self.model, self._space)

    @np.errstate(all="ignore")  # vectors without a direction make NaN
    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        # Neighbours depend neither on the directions nor on the other words: one search is enough.
        (words,) = attributes
        placed, names = self._placed(words), [part.name for part in targets]
        targets, basis = in_span([_in_model(part, self.original) for part in targets])
        directions = self._directions(targets)
        some = replace(placed, of_words=placed.of_words @ basis, units=placed.units @ basis)
        size = max(1, _BLOCK_NUMBERS // placed.place.size)
        scores = []
        for start in range(0, n_cases_of((*targets, words)), size):
            block = slice(start, start + size)
            own = directions[block] if len(directions) > 1 else directions
            scores.append(self._values(some, own, words.weights.matrix(block).T, names)[0])
        return np.concatenate(scores)

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        placed, names = self._placed(attributes[0]), [part.name for part in targets]
        targets = [_in_model(part, self.original) for part in targets]
        details, reason = self._subspace(targets)
        if reason is not None:
            return self._undefined(reason, details)
        basis = details["subspace"].directions
        towards = np.stack([basis[0], -basis[0]])
        if len(targets) > 2:
            towards = group_directions([part.vectors for part in targets])
        details["neighborhoods"] = near = _annotated(placed, basis, towards)
        counts = attributes[0].weights.matrix().T
        (score,), by_word, more = self._values(placed, basis[None], counts, names)
        known = _of_known(near.words, by_word, by_word)
        few = f"fewer than half of its {near.k} neighbours are known"
        lacks = f"{self._space.name} lacks it"
        left_out = {
            word: few if word in self._space else lacks for word in near.words if word not in known
        }
        details["left_out"] = left_out
        score = float(score)
        if math.isnan(score):
            reason = _ONLY_ROUNDING if known else f"no word is left: {_listed(left_out)}"
            return self._undefined(reason, details)
        measured = self._measured(score, details, word_values=known, **more)
        return replace(measured, warnings=tuple(self._warnings(near, left_out)))

    def _warnings(self, near: Neighborhoods, left_out: Mapping[str, str]) -> Iterator[str]:
        if near.n_missing:
            which = f"{near.n_missing} of {len({*near.words, *near.names.flat})}"
            yield f"{self._space.name} lacks {which} words and neighbours, or their direction"
        if left_out:
            which = f"{len(left_out)} of {len(near.words)}"
            yield f"{which} words are left out: {_listed(left_out)}"


@register
class ProximityBias(_NeighborMetric):
    """Proximity bias: what share of the neighbours of words is near because of the bias?

    The target sets are paired by position and define the bias direction. The attribute set contains
    words that should be neutral, for example professions. Source: Kumar, Bhotia and Chakraborty,
    "Nurse is Closer to Woman than Surgeon? Mitigating Gender-Biased Proximities in Word
    Embeddings", TACL 8, 2020.

    The result has 'proximity_bias' (the score) and 'word_values': word -> share of its known
    neighbours whose :func:`indirect_bias` is above `theta`. The score is their mean, in [0, 1], and
    0 means that no bias was measured. `details` has
    'subspace', 'pairs', 'neighborhoods' (a :class:`Neighborhoods`) and 'left_out' (word -> why it
    has no value; fewer than half of its neighbours are known). The score is NaN if there is no
    direction, no word is left, or the model was opened for some words only.

    Parameters
    ----------
    k : int, default=100
        Neighbours of each word; all other words if the model has fewer.
    exclude : list of str, default=()
        Words that never count as neighbours. By default target words do.
    n_components, direction : optional
        As in :class:`DirectBias`.
    theta : float, default=0.05
        The authors use 0.03 to 0.07.
    original : WordEmbeddingModel, optional
        The model before mitigation, for everything but the neighbours, as in the paper: a
        mitigation may have removed the direction. By default the measured model.
    p_value_iterations : int, default=999
        Number of random splits; each needs its own bias direction.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "woman"], ["he", "man"]], [["nurse", "engineer"]])
    >>> ProximityBias().run_query(query, load_test_model(), k=50)["word_values"]
    {'nurse': 0.54, 'engineer': 0.0}
    """

    metric_name = "Proximity Bias"
    metric_short_name = "Proximity Bias"
    question = "what share of the neighbours of words is near because of the bias?"
    meaning = "The share of the neighbours of words that are near because of the bias direction."
    value_range = (0.0, 1.0)
    nan_values = {"proximity_bias": math.nan, "word_values": {}}  # noqa: RUF012

    theta: float = DEFAULT_THETA

    def _values(
        self, placed: _Placed, directions: Vectors, counts: Vectors, groups: Sequence[str]
    ) -> _Values:
        by_word = proximity_bias(placed.indirect_bias(directions), self.theta)
        return _mean_of_known(by_word, counts), by_word, {}


@register
class GIPE(ProximityBias):
    """Gender-based illicit proximity estimate: proximity bias weighted by a graph of the words.

    Each word has an edge to each of its neighbours. The score is the weighted mean of the proximity
    bias of the words, in [0, 1]. The weight of a word is 1 plus the share of the edges that lead to
    it whose indirect bias is above `theta`. Edges with an unknown indirect bias are left out; words
    without such edges have weight 1 (in the released code 0). Despite its name the metric works for
    any criterion. Source: Kumar, Bhotia and Chakraborty, "Nurse is Closer to Woman than Surgeon?
    Mitigating Gender-Biased Proximities in Word Embeddings", TACL 8, 2020.

    The result has 'gipe' (the score; 0 means that no bias was measured), 'word_values' and
    'weights' (word -> weight). Everything else is as in :class:`ProximityBias`.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "woman"], ["he", "man"]], [["nurse", "midwife", "engineer"]])
    >>> GIPE().run_query(query, load_test_model(), k=50)["weights"]
    {'nurse': 2.0, 'midwife': 2.0, 'engineer': 1.0}
    """

    metric_name = "Gender-based Illicit Proximity Estimate"
    metric_short_name = "GIPE"
    question = "like proximity bias, weighted by how near the words are to each other"
    meaning = (
        "Proximity bias in which words that are also biased neighbours of others count up to twice."
    )
    nan_values = {"gipe": math.nan, "word_values": {}, "weights": {}}  # noqa: RUF012

    def _values(
        self, placed: _Placed, directions: Vectors, counts: Vectors, groups: Sequence[str]
    ) -> _Values:
        betas = placed.indirect_bias(directions)
        weights, by_word = (
            _gammas(placed.edges, betas, self.theta, counts),
            proximity_bias(betas, self.theta),
        )
        scores = _mean_of_known(by_word, counts * weights)
        return scores, by_word, {"weights": _of_known(placed.near.words, weights, by_word)}


@register
class NeighborPercentage(_NeighborMetric):
    """Percentage of neighbours per group (PMN: percentage of male neighbours).

    What percentage of the nearest neighbours of the attribute words leans to the first group, by
    the sign of the cosine with the (first) bias direction? The two target sets are the groups,
    paired by position; for more see :func:`wefe.explore.word_page`. The score is in [0, 100]; 50
    means that no bias was measured. In some models most words lean to one group, so compare with
    other words as well. Source: Gonen and Goldberg, "Lipstick on a Pig: Debiasing Methods Cover up
    Systematic Gender Biases in Word Embeddings But do not Remove Them", NAACL 2019 (bias by
    neighbours). Kumar, Bhotia and Chakraborty, TACL 8, 2020.

    The result has 'pmn' (the score), 'word_values' (word -> its percentage) and 'group_values'
    (group -> mean percentage). The rest is as in :class:`ProximityBias`; also NaN if only rounding
    errors lie along the direction, for example after a mitigation.

    Parameters
    ----------
    k, n_components, direction, original, exclude, p_value_iterations : optional
        As in :class:`ProximityBias`.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["he", "man"], ["she", "woman"]], [["nurse", "engineer"]])
    >>> NeighborPercentage().run_query(query, load_test_model(), k=50)["word_values"]
    {'nurse': 0.0, 'engineer': 6.0}
    """

    metric_template = (2, 1)
    metric_name = "Percentage of Neighbours"
    metric_short_name = "PMN"
    question = "what percentage of the neighbours of words leans to the first group?"
    meaning = "The percentage of neighbours that lean to the first group; 50 if both are alike."
    value_range = (0.0, 100.0)
    no_bias_value = 50.0
    nan_values = {"pmn": math.nan, "word_values": {}, "group_values": {}}  # noqa: RUF012

    def _values(
        self, placed: _Placed, directions: Vectors, counts: Vectors, groups: Sequence[str]
    ) -> _Values:
        along, place = placed.units @ directions[:, 0].T, placed.place
        sides = along > ROUNDING, along < -ROUNDING, ~np.isnan(along)
        first, second, n_known = (each.take(place, axis=0).sum(axis=1) for each in sides)
        of_first = first + (n_known - first - second) / 2
        percentages = 100 * _shares_of_known(of_first, n_known, place.shape[1])
        means = _mean_of_known(percentages, counts)
        clear = ((first + second > 0) & (counts > 0)).any(axis=0)
        more = dict(zip(groups, [float(means[0]), 100 - float(means[0])], strict=True))
        return np.where(clear, means, math.nan), percentages, {"group_values": more}

    def _warnings(self, near: Neighborhoods, left_out: Mapping[str, str]) -> Iterator[str]:
        yield from super()._warnings(near, left_out)
        n_known = (~np.isnan(near.along[..., 0])).sum()
        n_rounding = (np.abs(near.along[..., 0]) <= ROUNDING).sum()
        if n_known > n_rounding > n_known / 2:
            which = f"of {n_rounding} of {n_known} neighbours"
            yield f"{which} {_ONLY_ROUNDING}; they count in equal parts for all groups"


def _mean_of_known(values: Vectors, weights: npt.ArrayLike = 1.0) -> Vectors:
    """Mean along the first axis; NaN if nothing is known."""
    weights = np.where(np.isnan(values), 0.0, weights)
    total = weights.sum(axis=0)
    sums = (np.nan_to_num(values) * weights).sum(axis=0)
    return np.asarray(sums / np.where(total > 0, total, math.nan))


def _of_known(words: Sequence[str], numbers: Vectors, values: Vectors) -> dict[str, float]:
    every = zip(words, numbers[:, 0], values[:, 0], strict=True)
    return {word: float(number) for word, number, value in every if not np.isnan(value)}


def _listed(left_out: Mapping[str, str]) -> str:
    shown = [f"{word} ({why})" for word, why in list(left_out.items())[:_SHOWN]]
    more = f" and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
    return ", ".join(shown) + more


def _in_model(part: WordSet, original: WordEmbeddingModel | None) -> WordSet:
    if original is None:
        return part
    missing = [word for word in part.words if word not in original]
    if missing:
        which = f"words of {part.name!r} ({', '.join(missing)})"
        raise UnanswerableError(f"{original.name} lacks {which}, so it gives no bias direction.")
    vectors = original.get_vectors(part.words).astype(np.float64)
    return replace(part, vectors=vectors)._weighted(part.weights)


def _nearest(
    model: WordEmbeddingModel, words: Sequence[str], k: int, exclude: Sequence[str]
) -> Neighborhoods:
    check_model(model)
    table = model.whole_table("neighborhoods")
    words = check_word_set("words", words)
    word_rows = [model.vocab.get(word, -1) for word in words]
    nobodys = {model.vocab.get(word, -1) for word in _check_words("exclude", exclude)}
    excluded = [sorted({row, *nobodys} - {-1}) for row in word_rows]
    k = min(check_positive_int("k", k), len(table))
    vectors = model.get_vectors(words)
    if not (directed := directions_of(vectors)[1]).all():
        raise ValueError(f"{words[directed.argmin()]!r} has no direction in {model.name}.")
    rows, cosines = search(table, vectors, k, excluded)
    # Missing neighbours have row -1.
    k = int((rows >= 0).sum(axis=1).min())
    if k < 1:
        raise UnanswerableError(f"{model.name} has no words that could be neighbours.")
    rows, cosines, unknown = rows[:, :k], cosines[:, :k], np.empty(0)
    names = np.array(model.table.words_at(rows.ravel()), dtype=object).reshape(-1, k)
    return Neighborhoods(words, np.array(word_rows), rows, names, cosines, unknown, unknown)


@dataclass(frozen=True)
class _Placed:
    """Words, neighbours and their unit vectors in the model of the directions (not projected)."""

    #: As `_nearest` returns them.
    near: Neighborhoods
    #: Cosines of words and neighbours in that space.
    cosines: Vectors
    #: Unit vectors of the words, and of all different neighbours; NaN if that space lacks them.
    of_words: Vectors
    units: Vectors
    #: Which of `units` is that of each neighbour.
    place: Rows

    @cached_property
    def edges(self) -> _Edges:
        return _edges(self.near.word_rows, self.near.rows)

    def indirect_bias(self, directions: Vectors) -> Vectors:
        """Indirect bias of words and neighbours for directions (n_cases, n_directions, dim).

        Its shape is (n_words, k, n_cases).
        """
        turned = directions.transpose(1, 2, 0)
        sides = self.of_words @ turned, self.units @ turned
        squares = (np.einsum("i...,i...->...", each, each) for each in sides)
        first, second = (length_left(1 - each) for each in squares)
        pairs = zip(*sides, strict=True)
        both = reduce(add, (p[:, None] * q.take(self.place, axis=0) for p, q in pairs))
        cosines, of_units = self.cosines[..., None], second.take(self.place, axis=0)
        return share_lost(cosines, cosines - both, first[:, None], of_units)


def _placed(near: Neighborhoods, model: WordEmbeddingModel, space: WordEmbeddingModel) -> _Placed:
    _, first, place = np.unique(near.rows, return_index=True, return_inverse=True)
    # A word of the query that is hidden, as other models lack it, is still a neighbour.
    units = _units(space, near.names.ravel()[first].tolist(), space.wv.key_to_index)
    of_words, place, cosines = (
        _units(space, near.words, space),
        place.reshape(near.rows.shape),
        near.cosines,
    )
    if space is not model:
        pairs = zip(place, of_words, strict=True)
        cosines = np.stack([units[of_word] @ word for of_word, word in pairs])
    return _Placed(near, cosines, of_words, units, place)


@np.errstate(all="ignore")  # vectors without a direction make NaN
def _annotated(placed: _Placed, basis: Vectors, towards: Vectors) -> Neighborhoods:
    """Return the neighbourhoods with indirect bias and the leaning of the neighbours."""
    near, along = placed.near, (placed.units @ towards.T)[placed.place]
    words = np.array(near.words)[np.isnan(placed.of_words[:, 0])]
    n_missing = len({*near.names[np.isnan(along[..., 0])], *words.tolist()})
    indirect = placed.indirect_bias(basis[None])[..., 0]
    return replace(near, indirect_bias=indirect, along=along, n_missing=n_missing)


def _units(space: WordEmbeddingModel, words: Sequence[str], known: Container[str]) -> Vectors:
    there = np.array([word in known for word in words], dtype=bool)
    units = np.full((len(words), space.dim), np.nan)
    vectors, directed = directions_of(space.get_vectors(list(compress(words, there))))
    units[there] = np.where(directed[:, None], vectors, np.nan)
    return units
