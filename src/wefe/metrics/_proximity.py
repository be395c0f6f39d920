"""Bias in the neighbourhoods of words (Kumar, Bhotia and Chakraborty, TACL 2020)."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import compress
from operator import add
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from wefe._checks import check_sequence, check_word_set, listed
from wefe._wordset import Vectors, WordSet, WordSets, n_cases_of
from wefe.embeddings import UnanswerableError
from wefe.metrics._declaration import Count, Measurement
from wefe.metrics._exchange import TestType
from wefe.metrics._projection import (
    ROUNDING,
    SubspaceMetric,
    group_directions,
    length_left,
    share_lost,
)
from wefe.metrics._registry import register
from wefe.models._passes import forms
from wefe.models._search import Rows, search
from wefe.models._search import directions as directions_of
from wefe.models._tables import chunks
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model

if TYPE_CHECKING:
    import pandas as pd

_Values: TypeAlias = tuple[Vectors, Any]
_ByWord: TypeAlias = Mapping[str, float]

# Defaults of the authors.
DEFAULT_K = 100
DEFAULT_THETA = 0.05

# A word has no value if less than this share of its neighbours is known.
_LEAST_KNOWN = 0.5
# Numbers of the neighbours of cases that are scored at once: what a cache holds.
_BLOCK_NUMBERS = 1 << 17
_ONLY_ROUNDING = (
    "only rounding errors lie along the direction; pass the model before mitigation as `original`"
)


def proximity_bias(betas: Vectors, theta: float) -> Vectors:
    """Share of the known neighbours (second axis) whose indirect bias is above theta."""
    n_known = betas.shape[1] - np.isnan(betas).sum(axis=1)
    return shares_of_known((betas > theta).sum(axis=1), n_known, betas.shape[1])


def shares_of_known(counts: npt.NDArray[Any], n_known: npt.NDArray[Any], k: int) -> Vectors:
    """Counts as shares of the known neighbours; NaN if these are fewer than half of all k."""
    enough = (n_known > 0) & (n_known >= _LEAST_KNOWN * k)
    return np.asarray(np.where(enough, counts / np.maximum(n_known, 1), np.nan))


def _edges(words: Sequence[str], neighbors: npt.NDArray[np.object_]) -> csr_array:
    """Return which neighbours are words of the list: (n_words, n_edges), 1 at the ends of edges."""
    number = {word: i for i, word in enumerate(words)}
    to = np.array([number.get(name, -1) for name in neighbors.ravel().tolist()])
    edges = np.flatnonzero(to >= 0)
    return csr_array((np.ones(len(edges)), (to[edges], edges)), (len(words), len(to)))


def _gammas(edges: csr_array, betas: Vectors, theta: float, counts: Vectors) -> Vectors:
    """Weights of words that count several times, or in several cases: the last axis."""
    counts = counts[:, None]
    parts = counts * ~np.isnan(betas), counts * (betas > theta)
    n_known, n_biased = (edges @ part.reshape(edges.shape[1], -1) for part in parts)
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

    needs_vocabulary = True
    takes_original = True
    null_exchange = "targets"

    k: Count = DEFAULT_K
    original: Annotated[WordEmbeddingModel | None, _check_original] = None
    exclude: Annotated[Sequence[str], _check_words] = ()
    p_value_test_type: TestType = "two-sided"
    p_value_iterations: Count = 999

    def _values(self, near: Neighbors, directions: Vectors, counts: Vectors) -> _Values:
        """Return the values of the words in each case (NaN if unknown), and their weights.

        `directions` have shape (n_cases, n_directions, dim), `counts` (n_words, n_cases or 1).
        """
        raise NotImplementedError

    def _more(self, score: float, weights: _ByWord, groups: Sequence[str]) -> dict[str, Any]:
        """Return further entries of the result; `weights` are those of words with a value."""
        return {}

    def _neighbors(self, words: WordSet) -> Neighbors:
        exclude = forms(self.model, self.exclude)
        return find_neighbors(self.model, words.words, self.k, self.original, exclude)

    @np.errstate(all="ignore")  # vectors without a direction make NaN
    def _scores(self, targets: WordSets, attributes: WordSets) -> Vectors:
        # Neighbours depend neither on the directions nor on the other words: one search is enough.
        (words,) = attributes
        near = self._neighbors(words)
        groups = [_in_model(part, self.original) for part in targets]
        directions, basis = self._directions(groups)
        near = replace(near, of_words=near.of_words @ basis, units=near.units @ basis)
        scores = []
        size = max(1, _BLOCK_NUMBERS // near.place.size)
        for block in chunks(n_cases_of((*targets, words)), size):
            own = directions[block] if len(directions) > 1 else directions
            counts = words.weights.matrix(block).T
            values, weights = self._values(near, own, counts)
            scores.append(_mean_of_known(values, counts * weights))
        return np.concatenate(scores)

    def _compute(self, targets: WordSets, attributes: WordSets) -> Measurement:
        near, counts = self._neighbors(attributes[0]), attributes[0].weights.matrix().T
        groups = [_in_model(part, self.original) for part in targets]
        details = self._subspace(groups)
        basis = details["subspace"].directions
        towards = np.stack([basis[0], -basis[0]])
        if len(groups) > 2:
            towards = group_directions([part.vectors for part in groups])
        names = [part.name for part in targets]
        details["neighborhoods"] = near.table(basis, dict(zip(names, towards, strict=True)))
        values, weights = self._values(near, basis[None], counts)
        score = float(_mean_of_known(values, counts * weights)[0])
        there = ~np.isnan(values[:, 0])
        words = list(compress(near.words, there))
        known, used = (
            dict(zip(words, np.broadcast_to(each, values.shape)[there, 0].tolist(), strict=True))
            for each in (values, weights)
        )
        space = self.original or self.model
        few = f"fewer than half of its {near.place.shape[1]} neighbours are known"
        lacks = f"{space.name} lacks it"
        details["left_out"] = left_out = {
            word: few if word in space else lacks for word in near.words if word not in known
        }
        if math.isnan(score):
            reason = _ONLY_ROUNDING if known else f"no word is left: {_listed(left_out)}"
            return self._measured(math.nan, details, reason)
        warnings, more = tuple(self._warnings(near, details)), self._more(score, used, names)
        return self._measured(score, details, None, warnings, word_values=known, **more)

    def _warnings(self, near: Neighbors, details: Mapping[str, Any]) -> Iterator[str]:
        unknown = np.isnan(near.units[:, 0])[near.place]
        missing = {*compress(near.words, np.isnan(near.of_words[:, 0])), *near.names[unknown]}
        if missing:
            which = f"{len(missing)} of {len({*near.words, *near.names.flat})}"
            name = (self.original or self.model).name
            yield f"{name} lacks {which} words and neighbours, or their direction"
        if left_out := details["left_out"]:
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
    0 means that no bias was measured. `details` has 'subspace', 'pairs', 'left_out' (word -> why it
    has no value; fewer than half of its neighbours are known) and 'neighborhoods', a table with a
    row for each word and neighbour, the nearest first: 'word', 'neighbor', 'cosine' (in the
    measured model), 'indirect_bias', and for each group the cosine of the neighbour with the
    direction 'towards' it. The score is NaN if there is no direction, no word is left, or the model
    was opened for some words only.

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

    def _values(self, near: Neighbors, directions: Vectors, counts: Vectors) -> _Values:
        return proximity_bias(near.indirect_bias(directions), self.theta), 1.0


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

    def _values(self, near: Neighbors, directions: Vectors, counts: Vectors) -> _Values:
        betas = near.indirect_bias(directions)
        weights = _gammas(near.edges, betas, self.theta, counts)
        return proximity_bias(betas, self.theta), weights

    def _more(self, score: float, weights: _ByWord, groups: Sequence[str]) -> dict[str, Any]:
        return {"weights": weights}


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

    def _values(self, near: Neighbors, directions: Vectors, counts: Vectors) -> _Values:
        along, place = near.units @ directions[:, 0].T, near.place
        sides = along > ROUNDING, along < -ROUNDING, ~np.isnan(along)
        first, second, n_known = (each.take(place, axis=0).sum(axis=1) for each in sides)
        of_first = first + (n_known - first - second) / 2
        clear = ((first + second > 0) & (counts > 0)).any(axis=0)
        # Without a weight there is no score.
        return 100 * shares_of_known(of_first, n_known, place.shape[1]), clear

    def _more(self, score: float, weights: _ByWord, groups: Sequence[str]) -> dict[str, Any]:
        return {"group_values": dict(zip(groups, [score, 100 - score], strict=True))}

    def _warnings(self, near: Neighbors, details: Mapping[str, Any]) -> Iterator[str]:
        yield from super()._warnings(near, details)
        along = near.along(details["subspace"].directions[0])
        n_known, n_rounding = (~np.isnan(along)).sum(), (np.abs(along) <= ROUNDING).sum()
        if n_known > n_rounding > n_known / 2:
            which = f"of {n_rounding} of {n_known} neighbours"
            yield f"{which} {_ONLY_ROUNDING}; they count in equal parts for all groups"


def _mean_of_known(values: Vectors, weights: Vectors) -> Vectors:
    """Mean along the first axis; NaN if nothing is known."""
    total = np.where(np.isnan(values), 0.0, weights).sum(axis=0)
    sums = np.nansum(values * weights, axis=0)
    return np.asarray(sums / np.where(total > 0, total, math.nan))


def _listed(left_out: Mapping[str, str]) -> str:
    return listed([f"{word} ({why})" for word, why in left_out.items()], 3)


def _in_model(part: WordSet, original: WordEmbeddingModel | None) -> WordSet:
    if original is None:
        return part
    missing = [word for word in part.words if word not in original]
    if missing:
        which = f"words of {part.name!r} ({', '.join(missing)})"
        raise UnanswerableError(f"{original.name} lacks {which}, so it gives no bias direction.")
    vectors = original.get_vectors(part.words).astype(np.float64)
    return replace(part, vectors=vectors)._weighted(part.weights)


@dataclass(frozen=True)
class Neighbors:
    """Words, their neighbours, and unit vectors in the model of the directions."""

    words: tuple[str, ...]
    #: Neighbours of each word, the nearest first: rows, words, and cosines in the evaluated model.
    rows: Rows
    names: npt.NDArray[np.object_]
    cosines: Vectors
    #: Cosines of words and neighbours in the model of the directions.
    in_space: Vectors
    #: Unit vectors of the words, and of all different neighbours; NaN if that model lacks them.
    of_words: Vectors
    units: Vectors
    #: Which of `units` is that of each neighbour.
    place: Rows

    @cached_property
    def edges(self) -> csr_array:
        return _edges(self.words, self.names)

    @np.errstate(all="ignore")  # vectors without a direction make NaN
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
        cosines, of_units = self.in_space[..., None], second.take(self.place, axis=0)
        return share_lost(cosines, cosines - both, first[:, None], of_units)

    @np.errstate(all="ignore")
    def along(self, direction: Vectors) -> Vectors:
        """Cosines of the neighbours with a unit vector: (n_words, k)."""
        return np.asarray((self.units @ direction)[self.place])

    def table(self, basis: Vectors, towards: Mapping[str, Vectors]) -> pd.DataFrame:
        import pandas as pd

        columns = {
            "word": np.repeat(self.words, self.place.shape[1]),
            "neighbor": self.names,
            "cosine": self.cosines,
            "indirect_bias": self.indirect_bias(basis[None]),
            **{f"towards {group}": self.along(own) for group, own in towards.items()},
        }
        return pd.DataFrame({name: np.ravel(column) for name, column in columns.items()})


def find_neighbors(
    model: WordEmbeddingModel,
    words: Sequence[str],
    k: int,
    original: WordEmbeddingModel | None,
    exclude: Sequence[str] = (),
) -> Neighbors:
    table, row_of, space = model.whole_table("neighborhoods"), model.vocab, original or model
    nobodys = [[row_of[each] for each in {word, *exclude} if each in row_of] for word in words]
    rows, cosines = search(table, model.get_vectors(words), min(k, len(table)), nobodys)
    # Missing neighbours have row -1.
    k = int((rows >= 0).sum(axis=1).min())
    if k < 1:
        raise UnanswerableError(f"{model.name} has no words that could be neighbours.")
    rows, cosines = rows[:, :k], cosines[:, :k]
    different, place = np.unique(rows, return_inverse=True)
    place, names = place.reshape(rows.shape), model.table.words_at(different)
    # A word of the query that is hidden, as other models lack it, is still a neighbour.
    units, of_words = _units(space, names, space.wv.key_to_index), _units(space, words, space)
    in_space = cosines
    if original is not None:
        pairs = zip(place, of_words, strict=True)
        in_space = np.stack([units[of_word] @ word for of_word, word in pairs])
    named = np.array(names, dtype=object)[place]
    return Neighbors(tuple(words), rows, named, cosines, in_space, of_words, units, place)


def _units(space: WordEmbeddingModel, words: Sequence[str], known: Container[str]) -> Vectors:
    there = [word in known for word in words]
    units = np.full((len(words), space.dim), np.nan)
    vectors, directed = directions_of(space.get_vectors(list(compress(words, there))))
    units[there] = np.where(directed[:, None], vectors, np.nan)
    return units
