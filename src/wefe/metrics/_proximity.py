"""Bias in the neighbourhoods of words (Kumar, Bhotia and Chakraborty, TACL 2020)."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from wefe._checks import (
    check_array,
    check_number,
    check_positive_int,
    check_sequence,
    check_word_set,
)
from wefe._wordset import Vectors, WordSet, n_cases_of, unit
from wefe.embeddings import Lookup, UnanswerableError
from wefe.metrics._base import BaseMetric, Measurement
from wefe.metrics._direct_bias import find_subspace
from wefe.metrics._direction import ROUNDING, group_directions, orthonormal
from wefe.metrics._indirect_bias import indirect_bias_from_cosines
from wefe.metrics._pairs import tuples_of
from wefe.metrics._parameters import Count
from wefe.metrics._registry import register
from wefe.models._keyed_vectors import FloatArray
from wefe.models._neighbors import _search, _Task, _whole_table
from wefe.models._neighbors import _words as _words_of
from wefe.models._passes import chunks, forms, word_rows
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query, Template

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

Rows = npt.NDArray[np.int64]

# Those of the authors.
DEFAULT_K = 100
DEFAULT_THETA = 0.05

# Nothing is said of a word of which less than this share of the neighbours is known.
_LEAST_KNOWN = 0.5
# Words of a message.
_SHOWN = 3

# Numbers of the vectors of neighbours that are looked at together: some MB.
_BLOCK_NUMBERS = 1 << 19
_BUFFER_MB = 64


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

    See Also
    --------
    wefe.metrics.neighborhoods : makes it of words and directions.
    wefe.metrics.ProximityBias : has it in the `details` of its results.

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
    KeyError
        If the model lacks one of `words`.
    TypeError
        If a model is something else, `k` is no integer, or words are no list of strings.
    ValueError
        If a model was opened for some words only, a vector or direction has no direction, the
        shapes do not fit, `k` is below 1, or there is no neighbour at all.

    See Also
    --------
    wefe.metrics.proximity_bias : makes numbers of `indirect_bias`.
    wefe.metrics.neighbor_group_shares : makes numbers of `along`.

    References
    ----------
    Kumar, Bhotia and Chakraborty, TACL 8, 2020.

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
    space = _same_space(model, original)
    basis, groups = orthonormal(directions), unit("towards", towards)
    _check_dimensions(space, basis, groups)
    return _judged(_found(model, words, k, exclude), space, basis, groups, own=space is model)


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
    ValueError
        If `indirect` is empty or not two-dimensional, or `theta` is no finite number.

    See Also
    --------
    wefe.metrics.indirect_bias : the share of a similarity that is due to the bias.
    wefe.metrics.neighborhoods : finds neighbours and their indirect bias.
    wefe.metrics.gipe : the mean of the words, weighted.

    References
    ----------
    V. Kumar, T. S. Bhotia and T. Chakraborty. Nurse is Closer to Woman than Surgeon? Mitigating
    Gender-Biased Proximities in Word Embeddings. TACL 8, 2020.

    Examples
    --------
    >>> proximity_bias([[0.2, 0.01, -1.0, 0.06], [0.05, 0.0, 0.0, 0.0]])
    array([0.5, 0. ])
    """
    betas = check_array("indirect", indirect, "(n_words, k)", missing=True)
    n_biased = (betas > check_number("theta", theta)).sum(axis=1)
    return _shares_of_known(n_biased, (~np.isnan(betas)).sum(axis=1), betas.shape[1])


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
    ValueError
        If `along` has not three dimensions, or no neighbour or no group.

    See Also
    --------
    wefe.metrics.NeighborPercentage : the share of the first of two groups, for a query.

    Notes
    -----
    Cosines of at most 1e-5 in magnitude count as 0: that much is left by rounding where a direction
    was removed from vectors in float32, and its sign says nothing.

    References
    ----------
    Gonen and Goldberg, NAACL 2019, for two groups.

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
    ValueError
        If the shapes do not fit, there is no word or no neighbour, or `theta` is no finite number.

    See Also
    --------
    wefe.metrics.proximity_bias : the values of the words.

    Notes
    -----
    Released code gives words without incoming edges the weight 0, although its comment says 1, so
    that they do not count. Here they do, as in the paper.

    References
    ----------
    Kumar, Bhotia and Chakraborty, TACL 8, 2020, section 3.4.

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
    shares = proximity_bias(betas, theta)
    different, of_word = np.unique(words, return_inverse=True)
    to = np.searchsorted(different, neighbors).clip(max=len(different) - 1)
    edges = (different[to] == neighbors) & (neighbors != words[:, None]) & ~np.isnan(betas)
    n_edges, n_biased = (
        np.bincount(to[chosen], minlength=len(different))
        for chosen in (edges, edges & (betas > theta))
    )
    weights = 1 + (n_biased / np.maximum(n_edges, 1))[of_word]
    counted = ~np.isnan(shares)
    if not counted.any():
        return math.nan, weights
    return float(np.average(shares[counted], weights=weights[counted])), weights


class _Neighbors(NamedTuple):
    """Neighbours of whose bias nothing is known yet; the first fields of `Neighborhoods`."""

    words: tuple[str, ...]
    word_rows: Rows
    rows: Rows
    names: npt.NDArray[np.object_]
    cosines: Vectors

    def only(self, chosen: npt.NDArray[np.intp]) -> _Neighbors:
        """Return those of some words; a word may come several times."""
        return _Neighbors(
            tuple(self.words[i] for i in chosen.tolist()),
            self.word_rows[chosen],
            self.rows[chosen],
            self.names[chosen],
            self.cosines[chosen],
        )


class _NeighborMetric(BaseMetric):
    """What the metrics of neighbourhoods share; a subclass says what it makes of one."""

    metric_template: ClassVar[Template] = ("n", 1)
    metric_template_minimum: ClassVar[tuple[int, int]] = (2, 1)
    needs_vocabulary: ClassVar[bool] = True
    takes_original: ClassVar[bool] = True
    #: What has to be known of a neighbour.
    _known_by: ClassVar[str] = "indirect bias"

    k: Count = DEFAULT_K
    n_components: Count = 1
    direction: Literal["pca", "means"] = "pca"
    original: WordEmbeddingModel | None = None
    exclude: Annotated[Sequence[str], _check_words] = ()

    @property
    def pairs_targets(self) -> bool:
        """Word i of each target set belong together, for principal directions."""
        return self.direction == "pca"

    def _bind(self, query: Query, model: WordEmbeddingModel, lookup: Lookup) -> WordEmbeddingModel:
        if self.original is not None:
            _same_space(model, self.original)
        return super()._bind(query, model, lookup)

    def _values(
        self, near: Neighborhoods, groups: Sequence[str]
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the values of the result, and the words that are left out."""
        raise NotImplementedError

    def _why_unknown(self, near: Neighborhoods) -> str | None:
        """Say why there is no score, where one could be computed."""
        return None

    def _known(self, near: Neighborhoods) -> npt.NDArray[np.bool_]:
        """Tell which neighbours are known."""
        return ~np.isnan(near.indirect_bias)

    def _why_left_out(
        self, near: Neighborhoods, words: Sequence[str], space: WordEmbeddingModel
    ) -> dict[str, str]:
        n_known = dict(zip(near.words, self._known(near).sum(axis=1).tolist(), strict=True))
        return {
            word: f"{space.name} lacks it"
            if not n_known[word] and word not in space
            else f"the {self._known_by} of {n_known[word]} of its {near.k} neighbours is known"
            for word in words
        }

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        (words,), model = attributes, self.model
        near = _found(model, words.words, self.k, forms(model, self.exclude))
        measured = self._measured(targets, near)
        n_found = near.rows.shape[1]
        if n_found < self.k:
            logger.info("%s has %d neighbours for each word, not %d", model.name, n_found, self.k)
        self._log(measured, (self.original or model).name)
        return measured

    def _log(self, measured: Measurement, space: str) -> None:
        """Say what is not known in the model of that name."""
        near, left_out = (measured.details.get(key) for key in ("neighborhoods", "left_out"))
        if near is None:
            return
        if near.n_missing:
            n_words = len({*near.words, *near.names.ravel().tolist()})
            logger.warning(
                "%s lacks %d of %d words and neighbours, or has them without a direction; these "
                "neighbours are left out",
                *(space, near.n_missing, n_words),
            )
        if left_out and measured.nan_reason is None:
            logger.warning(
                "%s: %d of %d words are left out: %s",
                *(self.metric_short_name, len(left_out), len(near.words), _listed(left_out)),
            )

    def _measured(self, targets: Sequence[WordSet], found_near: _Neighbors) -> Measurement:
        """Score words whose neighbours are known."""
        space = self.model if self.original is None else self.original
        if self.original is not None:
            targets = [_in_model(part, space) for part in targets]
        details: dict[str, Any] = {"pairs": tuples_of(targets)} if self.pairs_targets else {}
        subspace, reason = find_subspace(targets, self.n_components, self.direction)
        if subspace is None:
            return self._undefined(str(reason), details)
        basis, own = subspace.directions, self.original is None
        near = _judged(found_near, space, basis, _towards(targets, basis), own=own)
        values, undefined = self._values(near, [part.name for part in targets])
        left_out = self._why_left_out(near, undefined, space)
        missing = tuple(word for word in undefined if word not in space)
        details |= {"subspace": subspace, "neighborhoods": near, "left_out": left_out}
        details["not_in_original"] = missing
        if math.isnan(values["result"]):
            return self._undefined(f"no word is left: {_listed(left_out)}", details)
        reason = self._why_unknown(near)
        return self._undefined(reason, details) if reason else Measurement(values, None, details)

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        # Neighbours depend neither on the directions nor on the other words: they are found once.
        (words,) = attributes
        near = _found(self.model, words.words, self.k, forms(self.model, self.exclude))
        scores = np.full(n_cases_of((*targets, words)), math.nan)
        for case in range(len(scores)):
            some = near.only(np.repeat(np.arange(len(words)), words.weights.row(case).astype(int)))
            try:
                measured = self._measured([part.resample(case) for part in targets], some)
                scores[case] = measured.values["result"]
            except UnanswerableError:
                continue
        return scores


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

    Notes
    -----
    The result has 'proximity_bias' (the score) and 'word_values': word -> share of its known
    neighbours, in [0, 1]; neighbours that `original` lacks are left out. The score is the mean of
    the words. Words are written as in the vocabulary, with its prefix. `details` has 'subspace',
    'pairs', 'neighborhoods' (see :class:`Neighborhoods`; its `k` is the number used), 'left_out':
    word -> why it has no value, for words of which fewer than half of the neighbours are known, and
    'not_in_original': those of them that `original` lacks. It is NaN if there is no direction, no
    word is left, or the model was opened for some words only. Vectors are always scaled to unit
    length.

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
    question = "which share of the neighbours of words is near because of the bias?"
    meaning = (
        "The share of the nearest neighbours of attribute words that are near because of the "
        "bias direction, which the target words define."
    )
    reference = (
        "V. Kumar, T. S. Bhotia and T. Chakraborty. Nurse is Closer to Woman than Surgeon? "
        "Mitigating Gender-Biased Proximities in Word Embeddings. TACL 8, 2020."
    )
    null_exchange = "words between the target sets"
    value_range = (0.0, 1.0)
    nan_values = {"proximity_bias": math.nan, "word_values": {}}  # noqa: RUF012

    theta: float = DEFAULT_THETA

    def _values(
        self,
        near: Neighborhoods,
        groups: Sequence[str],
    ) -> tuple[dict[str, Any], list[str]]:
        by_word = proximity_bias(near.indirect_bias, self.theta)
        score, known, undefined = _mean_of_known(near.words, by_word)
        return {"result": score, "proximity_bias": score, "word_values": known}, undefined


@register
class GIPE(_NeighborMetric):
    """Gender-based illicit proximity estimate; :func:`wefe.metrics.gipe` holds the mathematics.

    The proximity bias of words, weighted: a word to which biased edges of the other words lead
    counts up to twice. In [0, 1]; 0 means that no bias was measured. Despite its name it is not
    bound to gender.

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
    question = "as proximity bias, weighted by how the words are near each other"
    meaning = (
        "The proximity bias of attribute words, in which a word counts for more if it is "
        "itself such a neighbour of the others."
    )
    reference = (
        "V. Kumar, T. S. Bhotia and T. Chakraborty. Nurse is Closer to Woman than Surgeon? "
        "Mitigating Gender-Biased Proximities in Word Embeddings. TACL 8, 2020."
    )
    null_exchange = "words between the target sets"
    value_range = (0.0, 1.0)
    nan_values = {"gipe": math.nan, "word_values": {}, "weights": {}}  # noqa: RUF012

    theta: float = DEFAULT_THETA

    def _values(
        self,
        near: Neighborhoods,
        groups: Sequence[str],
    ) -> tuple[dict[str, Any], list[str]]:
        theta = self.theta
        score, weights = gipe(near.word_rows, near.rows, near.indirect_bias, theta)
        by_word = proximity_bias(near.indirect_bias, theta)
        _, known, undefined = _mean_of_known(near.words, by_word)
        of_words = dict(zip(near.words, weights.tolist(), strict=True))
        values = {
            "result": score,
            "gipe": score,
            "word_values": known,
            "weights": {word: of_words[word] for word in known},
        }
        return values, undefined


@register
class NeighborPercentage(_NeighborMetric):
    """Percentage of neighbours per group (PMN: percentage of male neighbours).

    The two target sets are groups, paired by position; the attribute set holds words that should be
    neutral to them. Which percentage of the nearest neighbours of these words lean to the first
    group? The sign of the cosine with the bias direction decides, and 50 means that no bias was
    measured. Of more groups no such number is known: their directions do not lie evenly, so that
    words of a random model lean to some more often than to others. Subqueries compare each two, and
    :func:`neighbor_group_shares` has the shares of all.

    In some models most words lean to one group, and so do neighbours: compare with other words, or
    with the model before mitigation, rather than with 50 alone.

    Parameters
    ----------
    k : int, default=100
        Nearest neighbours of each word; all other words, if the model has fewer. A word is
        never its own neighbour.
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

    Notes
    -----
    The result has 'pmn' (the score), 'word_values': word -> percentage of its known neighbours that
    lean to the first group, and 'group_values': group -> mean percentage of the words, that of the
    first group being the score. The words of a balanced score may lean to one group each: look at
    them. The first component tells where neighbours lean; others matter for their indirect bias in
    `details` only, which is as for :class:`ProximityBias`. The score is NaN if nothing but rounding
    lies along the direction, as where a mitigation removed it.

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
    question = "which percentage of the neighbours of words leans to the first group?"
    meaning = (
        "The percentage of the nearest neighbours of attribute words that lean to the first "
        "target group; 50 if two groups are alike."
    )
    reference = (
        "H. Gonen and Y. Goldberg. Lipstick on a Pig: Debiasing Methods Cover up Systematic "
        "Gender Biases in Word Embeddings But do not Remove Them. NAACL-HLT 2019."
    )
    null_exchange = "words between the target sets"
    value_range = (0.0, 100.0)
    no_bias_value = 50.0
    nan_values = {"pmn": math.nan, "word_values": {}, "group_values": {}}  # noqa: RUF012
    _known_by = "leaning"

    def _known(self, near: Neighborhoods) -> npt.NDArray[np.bool_]:
        return np.asarray(~np.isnan(near.along).any(axis=2))

    def _why_unknown(self, near: Neighborhoods) -> str | None:
        if (np.abs(near.along) > ROUNDING).any():
            return None
        return (
            "nothing but rounding lies along the direction; pass the model before mitigation as "
            "`original`"
        )

    def _log(self, measured: Measurement, space: str) -> None:
        super()._log(measured, space)
        near = measured.details.get("neighborhoods")
        if near is None or measured.nan_reason is not None:
            return
        largest = np.abs(near.along).max(axis=2)
        n_rounding, n_known = int((largest <= ROUNDING).sum()), int((~np.isnan(largest)).sum())
        if 2 * n_rounding > n_known:
            logger.warning(
                "%s: of %d of %d neighbours nothing but rounding lies along the direction; they "
                "count in equal parts for all groups; pass the model before mitigation as "
                "`original`",
                *(space, n_rounding, n_known),
            )

    def _values(
        self,
        near: Neighborhoods,
        groups: Sequence[str],
    ) -> tuple[dict[str, Any], list[str]]:
        percentages = 100 * neighbor_group_shares(near.along)
        score, known, undefined = _mean_of_known(near.words, percentages[:, 0])
        of_groups = [_mean_of_known(near.words, each)[0] for each in percentages.T]
        values = {
            "result": score,
            "pmn": score,
            "word_values": known,
            "group_values": dict(zip(groups, of_groups, strict=True)),
        }
        return values, undefined


def _mean_of_known(
    words: Sequence[str], values: Vectors
) -> tuple[float, dict[str, float], list[str]]:
    """Return the mean of what is not NaN, the value of each such word, and the other words."""
    known = ~np.isnan(values)
    by_word = dict(zip(words, values.tolist(), strict=True))
    undefined = [word for word, value in by_word.items() if math.isnan(value)]
    score = float(values[known].mean()) if known.any() else math.nan
    return score, {word: v for word, v in by_word.items() if not math.isnan(v)}, undefined


def _listed(left_out: Mapping[str, str]) -> str:
    """Write down some words, and why they are left out."""
    shown = [f"{word} ({why})" for word, why in list(left_out.items())[:_SHOWN]]
    more = f" and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
    return ", ".join(shown) + more


def _towards(targets: Sequence[WordSet], basis: Vectors) -> Vectors:
    """Directions towards the groups that target sets are."""
    if len(targets) == 2:
        return np.stack([basis[0], -basis[0]])
    try:
        return group_directions([part.vectors for part in targets])
    except ValueError as error:
        raise UnanswerableError(str(error)) from error


def _in_model(part: WordSet, original: WordEmbeddingModel) -> WordSet:
    """Return a set with the vectors that another model has for its words."""
    missing = [word for word in part.words if word not in original]
    if missing:
        raise UnanswerableError(
            f"{original.name} lacks words of {part.name!r} ({', '.join(missing)}), so it gives no "
            "bias direction."
        )
    return part.with_vectors(original.get_vectors(part.words).astype(np.float64))


def _found(
    model: WordEmbeddingModel, words: Sequence[str], k: int, exclude: Sequence[str]
) -> _Neighbors:
    """Search the neighbours of words."""
    check_model(model)
    _check_whole(model)
    words = check_word_set("words", words)
    queries = model.get_vectors(words)
    rows_of_words = np.array([model.vocab.get(word, -1) for word in words], dtype=np.int64)
    everywhere = {
        model.vocab[word] for word in _check_words("exclude", exclude) if word in model.vocab
    }
    excluded = [
        sorted(everywhere | {row} if row >= 0 else everywhere) for row in rows_of_words.tolist()
    ]
    table = _whole_table(model, "neighborhoods")
    k = min(check_positive_int("k", k), table.n_words - max(map(len, excluded)))
    if k > 0:
        rows, cosines = _search(_Task.checked(table, queries, k, excluded, _BUFFER_MB))
        # Of vectors without a direction there may be any number.
        k = int((rows >= 0).sum(axis=1).min())
        rows, cosines = rows[:, :k], cosines[:, :k]
    if k < 1:
        raise UnanswerableError(f"{model.name} has no words that could be neighbours.")
    different, inverse = np.unique(rows, return_inverse=True)
    names = np.array(_words_of(model, different), dtype=object)[inverse.reshape(rows.shape)]
    return _Neighbors(words, rows_of_words, rows, names, cosines)


def _judged(
    near: _Neighbors, space: WordEmbeddingModel, basis: Vectors, groups: Vectors, *, own: bool
) -> Neighborhoods:
    """Add indirect bias and leaning, computed in a model; `own` if the neighbours are of it."""
    different, first, inverse = np.unique(near.rows, return_index=True, return_inverse=True)
    inverse = inverse.reshape(near.rows.shape)
    if own:
        rows, rows_of_words = different, near.word_rows
    else:
        of_space = space.vocab.get
        names = near.names.ravel()[first]
        rows = np.array([of_space(name, -1) for name in names], dtype=np.int64)
        rows_of_words = np.array([of_space(word, -1) for word in near.words], dtype=np.int64)
    axes = np.concatenate([basis, groups])
    coordinates = np.full((len(rows), len(axes)), np.nan)
    for part in _parts(np.flatnonzero(rows >= 0), space.dim):
        wide, lengths = _wide(word_rows(space, rows[part]))
        coordinates[part] = wide @ axes.T / lengths[:, None]
    vectors = _vectors_of(space, near.words, rows_of_words)
    of_words, of_neighbors = vectors @ basis.T, coordinates[inverse]
    along_basis, along_groups = np.split(of_neighbors, [len(basis)], axis=2)
    cosines = near.cosines if own else _cosines(space, vectors, rows[inverse])
    betas = indirect_bias_from_cosines(cosines, of_words[:, None], along_basis)
    lacking = set(near.names.ravel()[first[np.isnan(coordinates[:, 0])]])
    lacking |= {near.words[i] for i in np.flatnonzero(np.isnan(of_words[:, 0])).tolist()}
    return Neighborhoods(*near, betas, along_groups, len(lacking))


def _cosines(space: WordEmbeddingModel, vectors: Vectors, rows: Rows) -> Vectors:
    """Cosines of unit vectors, of shape (n, dim), with rows of a model, of shape (n, k)."""
    result = np.full(rows.shape, np.nan)
    words, places = np.nonzero(rows >= 0)
    for part in _parts(np.arange(len(words)), space.dim):
        word, place = words[part], places[part]
        wide, lengths = _wide(word_rows(space, rows[word, place]))
        result[word, place] = np.einsum("ij,ij->i", wide, vectors[word]) / lengths
    return result


def _vectors_of(space: WordEmbeddingModel, words: Sequence[str], rows: Rows) -> Vectors:
    """Unit vectors of words; NaN where the model has none."""
    vectors = np.full((len(words), space.dim), np.nan)
    there = np.flatnonzero(rows >= 0)
    vectors[there] = _unit(word_rows(space, rows[there]))
    if space.use_subwords:
        for i in np.flatnonzero(rows < 0).tolist():
            if words[i] in space:
                vectors[i] = _unit(space.get_vectors([words[i]]))[0]
    return vectors


def _unit(vectors: FloatArray) -> Vectors:
    """Unit vectors in float64; NaN where there is no direction."""
    wide, lengths = _wide(vectors)
    return np.asarray(wide / lengths[:, None])


def _wide(vectors: FloatArray) -> tuple[Vectors, Vectors]:
    """Vectors in float64, and their lengths; NaN where there is no direction."""
    with np.errstate(all="ignore"):
        wide = vectors.astype(np.float64)
        squares = np.einsum("ij,ij->i", wide, wide)
        # Squares of very large and very small numbers have no place even there.
        odd = np.flatnonzero(~((squares > 1e-200) & (squares < 1e200)))
        if odd.size:
            wide[odd] /= np.abs(wide[odd]).max(axis=1, keepdims=True, initial=0)
            squares[odd] = np.einsum("ij,ij->i", wide[odd], wide[odd])
    return wide, np.sqrt(squares)


def _parts(positions: npt.NDArray[np.intp], dim: int) -> Iterator[npt.NDArray[np.intp]]:
    """Cut positions into parts whose vectors are some MB."""
    for part in chunks(len(positions), max(1, _BLOCK_NUMBERS // max(dim, 1))):
        yield positions[part]


def _check_words(name: str, words: Any) -> tuple[str, ...]:
    return check_word_set(name, words) if len(check_sequence(name, words)) else ()


def _same_space(
    model: WordEmbeddingModel, original: WordEmbeddingModel | None
) -> WordEmbeddingModel:
    """Return the model in which bias is looked at, which must have its whole vocabulary."""
    space = model if original is None else original
    check_model(space)
    _check_whole(space)
    return space


def _check_whole(model: WordEmbeddingModel) -> None:
    if model.held == "selected":
        raise ValueError(
            f"neighbours may be any words, and {model.name} was opened for "
            f"{len(model.wv.asked):,} words only; load it whole."
        )


def _check_dimensions(space: WordEmbeddingModel, basis: Vectors, groups: Vectors) -> None:
    if basis.shape[1] != space.dim or groups.shape[1] != space.dim:
        raise ValueError(
            f"directions and towards must have {space.dim} dimensions, as {space.name} has; got "
            f"shapes {basis.shape} and {groups.shape}."
        )
