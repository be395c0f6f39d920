"""Bias in the neighbourhoods of words (Kumar, Bhotia and Chakraborty, TACL 2020)."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from wefe._checks import (
    check_array,
    check_number,
    check_positive_int,
    check_sequence,
    check_word_set,
)
from wefe._wordset import Vectors, WordSet, n_cases_of, unit
from wefe.embeddings import UnanswerableError
from wefe.metrics._base import Measurement, TestType
from wefe.metrics._direct_bias import SubspaceMetric
from wefe.metrics._direction import ROUNDING, group_directions, in_span, orthonormal
from wefe.metrics._exchange import Exchange
from wefe.metrics._indirect_bias import length_left, share_lost
from wefe.metrics._parameters import Count
from wefe.metrics._registry import register
from wefe.models._passes import forms
from wefe.models._search import directions as directions_of
from wefe.models._search import search
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model

if TYPE_CHECKING:
    import pandas as pd

Rows = npt.NDArray[np.int64]
# Words, their rows, and rows, names and cosines of their neighbours: `Neighborhoods` begins so.
_Neighbors: TypeAlias = tuple[npt.NDArray[Any], ...]
# Places of edges among the neighbours, and which of them lead to each word: see `_edges`.
_Edges: TypeAlias = tuple[tuple[npt.NDArray[np.intp], ...], csr_array]
# Scores, values of the words (NaN if unknown) in each case, and further entries of a result.
_Values: TypeAlias = tuple[Vectors, Vectors, dict[str, Any]]

# Those of the authors.
DEFAULT_K = 100
DEFAULT_THETA = 0.05

# Nothing is said of a word of which less than this share of the neighbours is known.
_LEAST_KNOWN = 0.5
# Numbers of the neighbours of cases that are scored at once: what a cache holds.
_BLOCK_NUMBERS = 1 << 17
# Words of a message.
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
        The words looked at, as the vocabulary has them.
    word_rows : ndarray of shape (n_words,)
        Their rows in the evaluated model; -1 for a word that it builds from subwords.
    rows : ndarray of shape (n_words, k)
        Rows of their neighbours in the evaluated model, the nearest first.
    names : ndarray of shape (n_words, k), of str objects
        The neighbours.
    cosines : ndarray of shape (n_words, k)
        Their cosines with the word in the evaluated model, in [-1, 1].
    indirect_bias : ndarray of shape (n_words, k)
        Indirect bias of the word and each neighbour in the model that the directions are of. NaN
        where that lacks one of the two, or where it is undefined; see :func:`indirect_bias`.
    along : ndarray of shape (n_words, k, n_groups)
        Cosine of each neighbour with the direction towards each group, in that same model. NaN
        where that lacks the neighbour.
    n_missing : int
        Number of different words, of `words` and their neighbours, that that model lacks, or has
        without a direction.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> from wefe.metrics import ProximityBias
    >>> query = Query([["she", "woman"], ["he", "man"]], [["nurse", "engineer"]])
    >>> result = ProximityBias().run_query(query, load_test_model(), k=3)
    >>> near = result.details["neighborhoods"]
    >>> near.words, near.k
    (('nurse', 'engineer'), 3)
    >>> frame = near.to_frame(["she", "he"])
    >>> frame.loc[frame["indirect_bias"] > 0.05, ["word", "neighbor"]].values.tolist()
    [['nurse', 'midwife']]
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

    def to_frame(self, groups: Sequence[str] | None = None) -> pd.DataFrame:
        """Return one line per neighbour.

        Parameters
        ----------
        groups : sequence of str, optional
            Names of the groups; 'group 0', 'group 1' and so on by default.

        Returns
        -------
        pandas.DataFrame
            Columns ``word``, ``rank`` (from 1), ``neighbor``, ``cosine``, ``indirect_bias``, and
            ``towards NAME``: the cosine with the direction towards each group.
        """
        import pandas as pd

        n_groups = self.along.shape[2]
        names = groups or [f"group {i}" for i in range(n_groups)]
        return pd.DataFrame(
            {
                "word": np.repeat(np.array(self.words, dtype=object), self.k),
                "rank": np.tile(np.arange(1, self.k + 1), len(self.words)),
                "neighbor": self.names.ravel(),
                "cosine": self.cosines.ravel(),
                "indirect_bias": self.indirect_bias.ravel(),
                **{f"towards {names[i]}": self.along[..., i].ravel() for i in range(n_groups)},
            }
        )


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

    Parameters
    ----------
    model : WordEmbeddingModel
        The model that is evaluated, with its whole vocabulary: neighbours are those in it.
    words : sequence of str
        Words of the model, as its vocabulary has them.
    directions : array-like of shape (n_directions, dim)
        Orthonormal directions of the bias subspace; a single one may have any length.
    towards : array-like of shape (n_groups, dim)
        Directions towards groups, of any length; see :func:`group_directions`.
    k : int, default=100
        Neighbours of each word. If the model has fewer, all that there are.
    original : WordEmbeddingModel, optional
        The model that the directions are of, and in which indirect bias and leaning are computed:
        the one before mitigation. By default `model` itself.
    exclude : sequence of str, optional
        Words that are nobody's neighbours, as the vocabulary has them. A word is never its own.

    Returns
    -------
    Neighborhoods
        Everything in float64, from the numbers as they are stored.

    Raises
    ------
    TypeError, ValueError
        If an argument is of a wrong kind, shape or range.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> model = load_test_model()
    >>> g = group_directions([[model["she"]], [model["he"]]])
    >>> near = neighborhoods(model, ["nurse"], g[:1], g, k=3)
    >>> near.names.tolist()
    [['nurses', 'nursing', 'midwife']]
    >>> near.indirect_bias.shape, near.along.shape
    ((1, 3), (1, 3, 2))
    """
    space = _check_original("original", original) or model
    near = _nearest(model, words, k, exclude)
    basis, groups = orthonormal(directions), unit("towards", towards)
    if not basis.shape[1] == groups.shape[1] == space.dim:
        got = f"shapes {basis.shape} and {groups.shape}"
        raise ValueError(f"directions and towards must have {space.dim} dimensions; got {got}.")
    counts = np.ones((1, len(words)))
    return _annotated(_placed(near, model, space).cases(basis[None], counts), groups)


def proximity_bias(indirect: npt.ArrayLike, theta: float = DEFAULT_THETA) -> Vectors:
    """Share of the neighbours of each word that are near it because of the bias.

    Parameters
    ----------
    indirect : array-like of shape (n_words, k)
        Indirect bias of each word and each of its neighbours; NaN where it is not known.
    theta : float, default=0.05
        The indirect bias has to be larger than this. The authors use 0.03 to 0.07.

    Returns
    -------
    ndarray of shape (n_words,)
        In [0, 1]; 0 if no neighbour's nearness is due to the bias. Neighbours whose indirect bias
        is NaN are left out: the share is that of the others. NaN if these are fewer than half.

    Raises
    ------
    TypeError, ValueError
        If an argument is of a wrong kind, shape or range.

    Examples
    --------
    >>> proximity_bias([[0.2, 0.01, -1.0, 0.06], [0.05, 0.0, 0.0, 0.0]])
    array([0.5, 0. ])
    """
    betas = check_array("indirect", indirect, "(n_words, k)", missing=True)
    return _shares_above(betas, check_number("theta", theta))


def _shares_above(betas: Vectors, theta: float) -> Vectors:
    """Share of the known neighbours, the second axis, with a larger indirect bias."""
    n_known = betas.shape[1] - np.isnan(betas).sum(axis=1)
    return _shares_of_known((betas > theta).sum(axis=1), n_known, betas.shape[1])


def _shares_of_known(counts: npt.NDArray[Any], n_known: npt.NDArray[Any], k: int) -> Vectors:
    """Counts as shares of the known neighbours; NaN where these are fewer than half of all k."""
    enough = (n_known > 0) & (n_known >= _LEAST_KNOWN * k)
    return np.asarray(np.where(enough, counts / np.maximum(n_known, 1), np.nan))


def neighbor_group_shares(along: npt.ArrayLike) -> Vectors:
    """Share of the neighbours of each word that lean to each group.

    Parameters
    ----------
    along : array-like of shape (n_words, k, n_groups)
        Cosine of each neighbour with the direction towards each group. With the opposite directions
        of two groups the sign decides.

    Returns
    -------
    ndarray of shape (n_words, n_groups)
        A neighbour belongs to the group of its largest cosine; one that has it with several groups
        counts for each of them in equal parts. Rows sum to 1. Neighbours whose cosines are NaN are
        left out; if the others are fewer than half, the shares are NaN.

    Raises
    ------
    TypeError, ValueError
        If an argument is of a wrong kind, shape or range.

    Notes
    -----
    Cosines of at most 1e-5 in magnitude count as 0: that much is left by rounding where a direction
    was removed from vectors in float32, and its sign says nothing.

    Examples
    --------
    >>> neighbor_group_shares([[[0.3, -0.3], [-0.1, 0.1], [0.0, 0.0], [-0.2, 0.2]]])
    array([[0.375, 0.625]])
    """
    array = check_array("along", along, "(n_words, k, n_groups)", missing=True)
    array = np.where(np.abs(array) <= ROUNDING, 0.0, array)
    known = ~np.isnan(array).any(axis=2, keepdims=True)
    largest = known & (array == array.max(axis=2, keepdims=True))
    parts = largest / np.maximum(largest.sum(axis=2, keepdims=True), 1)
    return _shares_of_known(parts.sum(axis=1), known.sum(axis=1), array.shape[1])


def gipe(
    rows_of_words: npt.ArrayLike,
    neighbor_rows: npt.ArrayLike,
    indirect: npt.ArrayLike,
    theta: float = DEFAULT_THETA,
) -> tuple[float, Vectors]:
    """Gender-based illicit proximity estimate: proximity bias, weighted by a graph of the words.

    Parameters
    ----------
    rows_of_words : array-like of shape (n_words,)
        Rows (any integer names) of the words in the vocabulary.
    neighbor_rows : array-like of shape (n_words, k)
        Rows of their neighbours, without the word itself.
    indirect : array-like of shape (n_words, k)
        Indirect bias of each word and each of its neighbours; NaN where it is not known.
    theta : float, default=0.05
        Threshold of the indirect bias, as in :func:`proximity_bias`.

    Returns
    -------
    score : float
        The weighted mean of the proximity bias of the words, in [0, 1]; 0 if none was measured.
        Words whose proximity bias is NaN are left out; NaN if no other is left.
    weights : ndarray of shape (n_words,)
        gamma, in [1, 2]: 1 plus the share of the edges to the word whose indirect bias is above
        `theta`. An edge leads from each of the other words to each of its neighbours; those of
        which the indirect bias is NaN are left out. A word without edges to it has weight 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is of a wrong kind, shape or range.

    Notes
    -----
    Released code gives words without incoming edges the weight 0, although its comment says 1, so
    that they do not count. Here they do, as in the paper.

    Examples
    --------
    >>> gipe([0, 1], [[1, 2], [3, 2]], [[0.2, 0.0], [0.0, 0.1]])
    (0.5, array([1., 2.]))
    """
    words = check_array("rows_of_words", rows_of_words, "(n_words,)", whole=True)
    neighbors = check_array("neighbor_rows", neighbor_rows, "(n_words, k)", whole=True)
    betas = check_array("indirect", indirect, "(n_words, k)", missing=True)
    if words.shape != betas.shape[:1] or neighbors.shape != betas.shape:
        raise ValueError(
            "rows_of_words must have shape (n_words,), neighbor_rows and indirect (n_words, k); "
            f"got {words.shape}, {neighbors.shape} and {betas.shape}."
        )
    edges = _edges(words, neighbors)
    weights = _gammas(edges, betas, check_number("theta", theta), np.ones(len(words)))
    return float(_mean_of_known(_shares_above(betas, theta), weights)), weights


def _edges(words: Rows, neighbors: Rows) -> _Edges:
    """Return the places of other words among the neighbours, and which edges lead to each word."""
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
    """Return a model that has its whole vocabulary, or None."""
    if value is not None:
        check_model(value)
        value.whole_table(name)
    return value


class _NeighborMetric(SubspaceMetric):
    """The metrics of neighbourhoods; a subclass computes the values of one."""

    needs_vocabulary: ClassVar[bool] = True
    takes_original: ClassVar[bool] = True
    null_exchange: ClassVar[Exchange | None] = "targets"
    #: What has to be known of a neighbour.
    _known_by: ClassVar[str] = "indirect bias"

    k: Count = DEFAULT_K
    # Declared once more for their place among the parameters, which can be given by position.
    n_components: Count = 1
    direction: Literal["pca", "means"] = "pca"
    original: Annotated[WordEmbeddingModel | None, _check_original] = None
    exclude: Annotated[Sequence[str], _check_words] = ()
    p_value_test_type: TestType = "two-sided"
    p_value_iterations: Count = 999

    @property
    def _space(self) -> WordEmbeddingModel:
        """The model of the directions and the indirect bias."""
        return self.original or self.model

    def _values(self, cases: _Cases, groups: Sequence[str]) -> _Values:
        """Compute the values of each case; further entries are those of the first one."""
        raise NotImplementedError

    def _known(self, near: Neighborhoods) -> npt.NDArray[np.bool_]:
        """Tell which neighbours are known."""
        return ~np.isnan(near.indirect_bias)

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
            counts = words.weights.matrix(block)
            scores.append(self._values(some.cases(own, counts), names)[0])
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
        cases = placed.cases(basis[None], attributes[0].weights.matrix())
        details["neighborhoods"] = near = _annotated(cases, towards)
        (score,), by_word, more = self._values(cases, names)
        known = _of_known(cases, by_word, by_word)
        left_out = self._why_left_out(near, known)
        missing = tuple(word for word in left_out if word not in self._space)
        details |= {"left_out": left_out, "not_in_original": missing}
        score = float(score)
        if math.isnan(score):
            reason = _ONLY_ROUNDING if known else f"no word is left: {_listed(left_out)}"
            return self._undefined(reason, details)
        measured = self._measured(score, details, word_values=known, **more)
        return replace(measured, warnings=tuple(self._warnings(near, left_out)))

    def _why_left_out(self, near: Neighborhoods, known: Mapping[str, float]) -> dict[str, str]:
        """Say why words have no value."""
        left_out = {}
        for word, n_known in zip(near.words, self._known(near).sum(axis=1), strict=True):
            if word not in known:
                why = f"the {self._known_by} of {n_known} of its {near.k} neighbours is known"
                lacks = not n_known and word not in self._space
                left_out[word] = f"{self._space.name} lacks it" if lacks else why
        return left_out

    def _warnings(self, near: Neighborhoods, left_out: Mapping[str, str]) -> Iterator[str]:
        """Say what is not known."""
        if near.n_missing:
            which = f"{near.n_missing} of {len({*near.words, *near.names.flat})}"
            yield f"{self._space.name} lacks {which} words and neighbours, or their direction"
        if left_out:
            which = f"{len(left_out)} of {len(near.words)}"
            yield f"{which} words are left out: {_listed(left_out)}"


@register
class ProximityBias(_NeighborMetric):
    """Proximity bias; :func:`wefe.metrics.proximity_bias` holds the mathematics.

    The target sets define the bias direction, paired by position; the attribute set holds words
    that should be neutral to it, for example professions. Which share of the nearest neighbours of
    these words is near because of the bias direction, in [0, 1]? 0 means that none is.

    Parameters
    ----------
    k : int, default=100
        Nearest neighbours of each word; all other words, if the model has fewer. A word is
        never its own neighbour.
    theta : float, default=0.05
        The indirect bias of a biased neighbour is larger than this.
    n_components : int, default=1
        Dimensions of the bias subspace.
    direction : {'pca', 'means'}, default='pca'
        'pca': principal directions of the centred pairs. 'means': the difference of the means
        of two target sets, which need not be paired then; a single direction.
    original : WordEmbeddingModel, optional
        The model before mitigation. The bias direction and the indirect bias are computed
        there, as in the paper, and only the neighbours are those of the model measured: a direction
        that was removed from it could tell nothing about it. By default the model measured.
    exclude : sequence of str, optional
        Words that are nobody's neighbours. None by default; the target words count, too.
    p_value_test_type : {'two-sided', 'right-sided', 'left-sided'}, default='two-sided'
        See :class:`BaseMetric`, as for the other parameters of the test.
    p_value_iterations : int, default=999
        Number of random splits; each needs a bias direction of its own.

    Notes
    -----
    The result has 'proximity_bias' (the score) and 'word_values': word -> share of its known
    neighbours, in [0, 1]; the score is their mean. Words are as in the vocabulary. `details` has
    'subspace', 'pairs', 'neighborhoods' (a :class:`Neighborhoods`), 'left_out': word -> why it
    has no value, for words of which fewer than half of the neighbours are known, and
    'not_in_original': those of them that `original` lacks. The score is NaN if there is no
    direction, no word is left, or the model was opened for some words only.

    References
    ----------
    Kumar, Bhotia and Chakraborty, "Nurse is Closer to Woman than Surgeon? Mitigating Gender-Biased
    Proximities in Word Embeddings", TACL 8, 2020.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "woman"], ["he", "man"]], [["nurse", "engineer"]])
    >>> result = ProximityBias().run_query(query, load_test_model(), k=50)
    >>> list(result)
    ['query_name', 'result', 'proximity_bias', 'word_values']
    >>> result["word_values"]["nurse"] > result["word_values"]["engineer"]
    True
    """

    metric_name = "Proximity Bias"
    metric_short_name = "Proximity Bias"
    question = "what share of the neighbours of words is near because of the bias?"
    meaning = "The share of the neighbours of words that are near because of the bias direction."
    value_range = (0.0, 1.0)
    nan_values = {"proximity_bias": math.nan, "word_values": {}}  # noqa: RUF012

    theta: float = DEFAULT_THETA

    def _values(self, cases: _Cases, groups: Sequence[str]) -> _Values:
        by_word = _shares_above(cases.indirect_bias, self.theta)
        return _mean_of_known(by_word, cases.counts), by_word, {}


@register
class GIPE(ProximityBias):
    """Gender-based illicit proximity estimate; :func:`wefe.metrics.gipe` holds the mathematics.

    The proximity bias of words, weighted: a word to which biased edges of the other words lead
    counts up to twice. In [0, 1]; 0 means that no bias was measured. Despite its name it is not
    bound to gender.

    Parameters
    ----------
    k, theta, n_components, direction, original, exclude : optional
        As of :class:`ProximityBias`.
    p_value_test_type, p_value_iterations : optional
        As of :class:`ProximityBias`.

    Notes
    -----
    The result has 'gipe' (the score), 'word_values': word -> proximity bias, and 'weights': word ->
    weight; everything else is as for :class:`ProximityBias`.

    References
    ----------
    Kumar, Bhotia and Chakraborty, "Nurse is Closer to Woman than Surgeon? Mitigating Gender-Biased
    Proximities in Word Embeddings", TACL 8, 2020.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "woman"], ["he", "man"]], [["nurse", "midwife", "engineer"]])
    >>> result = GIPE().run_query(query, load_test_model(), k=50)
    >>> list(result)
    ['query_name', 'result', 'gipe', 'word_values', 'weights']
    >>> result["weights"]["engineer"]  # no neighbour of the others
    1.0
    """

    metric_name = "Gender-based Illicit Proximity Estimate"
    metric_short_name = "GIPE"
    question = "like proximity bias, weighted by how near the words are to each other"
    meaning = (
        "Proximity bias in which words that are also biased neighbours of others count up to twice."
    )
    nan_values = {"gipe": math.nan, "word_values": {}, "weights": {}}  # noqa: RUF012

    def _values(self, cases: _Cases, groups: Sequence[str]) -> _Values:
        weights = _gammas(cases.placed.edges, cases.indirect_bias, self.theta, cases.counts)
        by_word = _shares_above(cases.indirect_bias, self.theta)
        scores = _mean_of_known(by_word, cases.counts * weights)
        return scores, by_word, {"weights": _of_known(cases, weights, by_word)}


@register
class NeighborPercentage(_NeighborMetric):
    """Percentage of neighbours per group (PMN: percentage of male neighbours).

    The two target sets are groups, paired by position; the attribute set holds words that should be
    neutral to them. Which percentage of the nearest neighbours of these words lean to the first
    group, by the sign of the cosine with the bias direction? 50 means that no bias was measured; in
    some models most words lean to one group, so compare with other words, too. Of more than two
    groups :func:`neighbor_group_shares` has the shares.

    Parameters
    ----------
    k, n_components, direction, original, exclude : optional
        As of :class:`ProximityBias`.
    p_value_test_type, p_value_iterations : optional
        As of :class:`ProximityBias`.

    Notes
    -----
    The result has 'pmn' (the score), 'word_values': word -> percentage of its known neighbours that
    lean to the first group, and 'group_values': group -> mean percentage of the words. The first
    component tells where neighbours lean. `details` is as for :class:`ProximityBias`. The score is
    NaN if nothing but rounding lies along the direction, as where a mitigation removed it.

    References
    ----------
    Gonen and Goldberg, "Lipstick on a Pig: Debiasing Methods Cover up Systematic Gender Biases in
    Word Embeddings But do not Remove Them", NAACL 2019 (bias by neighbours).
    Kumar, Bhotia and Chakraborty, TACL 8, 2020.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> words = [["nurse", "engineer"]]
    >>> query = Query([["he", "man"], ["she", "woman"]], words, ["Male", "Female"])
    >>> result = NeighborPercentage().run_query(query, load_test_model(), k=50)
    >>> list(result), list(result["group_values"])
    (['query_name', 'result', 'pmn', 'word_values', 'group_values'], ['Male', 'Female'])
    >>> result["word_values"]["nurse"] < result["word_values"]["engineer"]
    True
    """

    metric_template = (2, 1)
    metric_name = "Percentage of Neighbours"
    metric_short_name = "PMN"
    question = "what percentage of the neighbours of words leans to the first group?"
    meaning = "The percentage of neighbours that lean to the first group; 50 if both are alike."
    value_range = (0.0, 100.0)
    no_bias_value = 50.0
    nan_values = {"pmn": math.nan, "word_values": {}, "group_values": {}}  # noqa: RUF012
    _known_by = "leaning"

    def _known(self, near: Neighborhoods) -> npt.NDArray[np.bool_]:
        return np.asarray(~np.isnan(near.along).any(axis=2))

    def _values(self, cases: _Cases, groups: Sequence[str]) -> _Values:
        along, place = cases.units[0], cases.placed.place
        sides = along > ROUNDING, along < -ROUNDING, ~np.isnan(along)
        first, second, n_known = (each.take(place, axis=0).sum(axis=1) for each in sides)
        counts = first + (n_known - first - second) / 2
        percentages = 100 * _shares_of_known(counts, n_known, place.shape[1])
        means = _mean_of_known(percentages, cases.counts)
        clear = ((first + second > 0) & (cases.counts > 0)).any(axis=0)
        more = dict(zip(groups, [float(means[0]), 100 - float(means[0])], strict=True))
        return np.where(clear, means, math.nan), percentages, {"group_values": more}

    def _warnings(self, near: Neighborhoods, left_out: Mapping[str, str]) -> Iterator[str]:
        yield from super()._warnings(near, left_out)
        n_known = self._known(near).sum()
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


def _of_known(cases: _Cases, numbers: Vectors, values: Vectors) -> dict[str, float]:
    """Return the numbers of the words of which a value is known, in the first case."""
    every = zip(cases.placed.near[0], numbers[:, 0], values[:, 0], strict=True)
    return {word: float(number) for word, number, value in every if not np.isnan(value)}


def _listed(left_out: Mapping[str, str]) -> str:
    """Write down some words, and why they are left out."""
    shown = [f"{word} ({why})" for word, why in list(left_out.items())[:_SHOWN]]
    more = f" and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
    return ", ".join(shown) + more


def _in_model(part: WordSet, original: WordEmbeddingModel | None) -> WordSet:
    """Return a set with the vectors that another model has for its words."""
    if original is None:
        return part
    missing = [word for word in part.words if word not in original]
    if missing:
        which = f"words of {part.name!r} ({', '.join(missing)})"
        raise UnanswerableError(f"{original.name} lacks {which}, so it gives no bias direction.")
    vectors = original.get_vectors(part.words).astype(np.float64)
    return part.with_vectors(vectors).weighted(part.weights)


def _nearest(
    model: WordEmbeddingModel, words: Sequence[str], k: int, exclude: Sequence[str]
) -> _Neighbors:
    """Search the neighbours of words."""
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
    # In place of those that are not there come -1.
    k = int((rows >= 0).sum(axis=1).min())
    if k < 1:
        raise UnanswerableError(f"{model.name} has no words that could be neighbours.")
    names = np.array(model.table.words_at(rows[:, :k].ravel()), dtype=object).reshape(-1, k)
    every = np.array(words, dtype=object), np.array(word_rows, dtype=np.int64)
    return *every, rows[:, :k], names, cosines[:, :k]


@dataclass(frozen=True)
class _Placed:
    """Words, neighbours and their unit vectors in the space of the directions: no direction yet."""

    #: As `_nearest` returns them.
    near: _Neighbors
    #: Cosines of words and neighbours in that space.
    cosines: Vectors
    #: Unit vectors of the words, and of all different neighbours; NaN if that space lacks them.
    of_words: Vectors
    units: Vectors
    #: Which of `units` is that of each neighbour.
    place: Rows

    @cached_property
    def edges(self) -> _Edges:
        """Edges between the words."""
        return _edges(self.near[1], self.near[2])

    def cases(self, directions: Vectors, counts: Vectors) -> _Cases:
        """Project on directions of shape (n_cases, n_directions, dim)."""
        turned = directions.transpose(1, 2, 0)
        return _Cases(self, self.of_words @ turned, self.units @ turned, counts.T)


@dataclass(frozen=True)
class _Cases:
    """What the directions of several cases, the last axis, say of words and neighbours."""

    placed: _Placed
    #: Cosines with each direction: (n_directions, n_words or n_units, n_cases).
    of_words: Vectors
    units: Vectors
    #: How often each word counts: (n_words, n_cases or 1).
    counts: Vectors

    @cached_property
    def indirect_bias(self) -> Vectors:
        """Indirect bias of words and neighbours: (n_words, k, n_cases)."""
        place, cosines = self.placed.place, self.placed.cosines[..., None]
        pairs = zip(self.of_words, self.units, strict=True)
        both = reduce(add, (p[:, None] * q.take(place, axis=0) for p, q in pairs))
        squares = (np.einsum("i...,i...->...", each, each) for each in (self.of_words, self.units))
        first, second = (length_left(1 - each) for each in squares)
        return share_lost(cosines, cosines - both, first[:, None], second.take(place, axis=0))


def _placed(near: _Neighbors, model: WordEmbeddingModel, space: WordEmbeddingModel) -> _Placed:
    """Look up words and neighbours in another model."""
    words, _, rows, names, cosines = near
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    units, of_words = _units(space, names.ravel()[first], space.vocab), _units(space, words, space)
    place = place.reshape(rows.shape)
    if space is not model:
        pairs = zip(place, of_words, strict=True)
        cosines = np.stack([units[of_word] @ word for of_word, word in pairs])
    return _Placed(near, cosines, of_words, units, place)


@np.errstate(all="ignore")  # vectors without a direction make NaN
def _annotated(cases: _Cases, towards: Vectors) -> Neighborhoods:
    """Return the neighbourhoods of the first case, with the association of neighbours."""
    words, word_rows, rows, names, cosines = cases.placed.near
    along = (cases.placed.units @ towards.T)[cases.placed.place]
    lacking = {*names[np.isnan(along[..., 0])], *words[np.isnan(cases.placed.of_words[:, 0])]}
    found = word_rows, rows, names, cosines, cases.indirect_bias[..., 0]
    return Neighborhoods(tuple(words), *found, along, len(lacking))


def _units(
    space: WordEmbeddingModel, words: npt.NDArray[np.object_], known: Container[str]
) -> Vectors:
    """Unit vectors of words; NaN for words that are not known."""
    there = np.array([word in known for word in words], dtype=bool)
    units = np.full((len(words), space.dim), np.nan)
    vectors, directed = directions_of(space.get_vectors(words[there].tolist()))
    units[there] = np.where(directed[:, None], vectors, np.nan)
    return units
