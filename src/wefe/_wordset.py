"""Weighted word sets, from which every metric is computed.

With all weights 1, the formula of a metric gives its score. Random counts give the bootstrap,
growing subsets a silhouette, and a weight of 0 the score without a word.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import check_array

Vectors: TypeAlias = npt.NDArray[np.float64]


def as_vectors(name: str, values: npt.ArrayLike) -> Vectors:
    """Return finite numbers as a float64 array of shape (n_words, dim), not empty."""
    return check_array(name, values, "(n_words, dim)")


def as_rows(name: str, values: npt.ArrayLike) -> Vectors:
    """Return one or more vectors as a float64 array of shape (n_vectors, dim)."""
    return np.atleast_2d(check_array(name, values, "(dim,) or (n_vectors, dim)"))


def lengths_of(name: str, array: Vectors) -> Vectors:
    """Return the lengths of rows; reject rows without a direction."""
    lengths = np.sqrt(np.einsum("...ij,...ij->...i", array, array))
    if not (lengths.all() and np.isfinite(lengths).all()):
        row = int(np.flatnonzero((lengths == 0) | ~np.isfinite(lengths))[0])
        what = "so long that its length overflows" if lengths[row] else "a zero vector"
        raise ValueError(f"{name}: row {row} is {what}, which has no direction.")
    return np.asarray(lengths)


def unit(name: str, values: npt.ArrayLike) -> Vectors:
    """Scale rows to unit length; reject rows without a direction."""
    array = as_vectors(name, values)
    return np.asarray(array / lengths_of(name, array)[:, None])


class FractionalWeightsError(ValueError):
    """A formula that needs whole numbers of words was given fractional weights."""


class Weights:
    """How often each word counts in each case (for example, a resample): (n_cases, n_words).

    Every case has at least one word, and `totals` is its number of words with repetitions. A single
    case stands for any number of equal cases. `n_steps` cases in a row are one growing subset.
    """

    n_steps = 1
    n_cases: int
    n_words: int
    totals: Vectors

    def __init__(self, matrix: npt.ArrayLike) -> None:
        self._matrix = np.asarray(matrix, dtype=np.float64)
        self.n_cases, self.n_words = self._matrix.shape
        self.totals = self._matrix.sum(axis=1)

    def sums(self, values: npt.ArrayLike) -> Vectors:
        """Sum values of the words: (n_words,) to (n_cases,), or (n_words, k) to (n_cases, k)."""
        return np.asarray(self._matrix @ np.asarray(values, dtype=np.float64))

    def matrix(self, cases: slice = slice(None)) -> Vectors:
        """Return the weights of cases, (n_cases, n_words); a single case ignores `cases`."""
        return np.asarray(self._matrix[cases] if self.n_cases > 1 else self._matrix)

    def rows(self, case: int) -> npt.NDArray[np.intp]:
        """Return the words of one case, repeated as often as they count: (n_chosen,)."""
        weights = self.matrix()[min(case, self.n_cases - 1)]
        counts = weights.astype(int)
        if (counts != weights).any():
            raise FractionalWeightsError("words can only be repeated a whole number of times.")
        return np.repeat(np.arange(self.n_words), counts)

    def listed(self, cases: slice) -> tuple[npt.NDArray[np.integer[Any]], Vectors]:
        """Return rows of words, and how often each counts: (n_cases or 1, n_words) each."""
        return np.arange(self.n_words)[None], self.matrix(cases)


@functools.lru_cache  # few sizes occur, and the weights are never changed
def Ones(n_words: int) -> Weights:
    """Return weights that count every word once in all cases."""
    return Weights(np.ones((1, n_words)))


class Nested(Weights):
    """Growing subsets: each run takes the first 1, 2, ... words of its order.

    `orders` has shape (n_runs, n_words), `sizes` (n_steps,). Cases are sorted by run, then by step.
    """

    def __init__(self, orders: npt.ArrayLike, sizes: npt.ArrayLike) -> None:
        self._orders, self._sizes = np.atleast_2d(orders), np.asarray(sizes)
        self._places = np.argsort(self._orders, axis=1)
        n_runs, self.n_words = self._orders.shape
        self.n_steps = len(self._sizes)
        self.n_cases = n_runs * self.n_steps
        self.totals = np.tile(self._sizes.astype(np.float64), n_runs)

    def sums(self, values: npt.ArrayLike) -> Vectors:
        array = np.asarray(values, dtype=np.float64)
        steps = self._sizes - 1
        grown = [np.cumsum(array[order], axis=0)[steps] for order in self._orders]
        return np.concatenate(grown)

    def matrix(self, cases: slice = slice(None)) -> Vectors:
        runs, steps = np.divmod(np.arange(*cases.indices(self.n_cases)), self.n_steps)
        return np.asarray(self._places[runs] < self._sizes[steps, None], dtype=np.float64)


class Chosen(Weights):
    """Subsets without repetitions; `rows` of shape (n_cases, n_chosen) keep their order."""

    def __init__(self, rows: npt.NDArray[np.integer[Any]], n_words: int) -> None:
        matrix = np.zeros((len(rows), n_words))
        np.put_along_axis(matrix, rows, 1.0, axis=1)
        super().__init__(matrix)
        self._rows = rows

    def rows(self, case: int) -> npt.NDArray[np.intp]:
        return np.asarray(self._rows[min(case, self.n_cases - 1)], dtype=np.intp)

    def listed(self, cases: slice) -> tuple[npt.NDArray[np.integer[Any]], Vectors]:
        return self._rows[cases], np.ones((1, self._rows.shape[1]))


@dataclass(frozen=True, eq=False)
class WordSet:
    """A word set after look-up: vectors, and how often each word counts.

    Methods compute all cases of the weights (for example, bootstrap resamples) at once. A new word
    set has a single case, in which every word counts once.

    Attributes
    ----------
    name : str
        Name of the set.
    words : tuple of str
        The distinct forms found in the vocabulary, one per row of `vectors`.
    vectors : ndarray of shape (n_words, dim)
        Vectors in float64. Internally, several models are stacked as (n_models, n_words, dim), with
        one case per model.
    lost : tuple of str
        Out-of-vocabulary words, as written in the query.
    first_row : tuple of (int or None)
        For each entry of the set, in order, the row of its first form found; None if it is out of
        vocabulary. It keeps paired sets aligned.
    weights : Weights
        How often each word counts in each case.

    Examples
    --------
    Entry 2 repeats entry 0, so both have row 0. Entry 1 is out of vocabulary.

    >>> import numpy as np
    >>> from wefe import Query, WordEmbeddingModel
    >>> from wefe.embeddings import embed_query
    >>> model = WordEmbeddingModel((["she", "he", "math"], np.eye(3)), "toy")
    >>> query = Query([["she", "her", "she"], ["he"]], [["math"]])
    >>> women = embed_query(model, query, lost_vocabulary_threshold=0.5).targets[0]
    >>> women.words, women.first_row, women.lost, round(women.lost_share, 2)
    (('she',), (0, None, 0), ('her',), 0.33)
    """

    name: str
    words: tuple[str, ...]
    vectors: Vectors = field(repr=False)
    lost: tuple[str, ...] = ()
    first_row: tuple[int | None, ...] = field(default=(), repr=False)
    weights: Weights = field(init=False, repr=False)

    def __post_init__(self) -> None:
        vars(self)["weights"] = Ones(len(self))

    def __len__(self) -> int:
        return int(self.vectors.shape[-2])

    @property
    def n_entries(self) -> int:
        """Number of entries of the set in the query, with repetitions."""
        return len(self.first_row)

    @property
    def lost_share(self) -> float:
        """Share of the entries that are out of vocabulary, from 0 to 1."""
        return self.first_row.count(None) / self.n_entries

    @functools.cached_property
    def lengths(self) -> Vectors:
        """Lengths of the vectors, all above 0: shape (n_words,)."""
        return lengths_of(self.name, self.vectors)

    @functools.cached_property
    def unit(self) -> Vectors:
        """Vectors scaled to unit length: shape (n_words, dim)."""
        return np.asarray(self.vectors / self.lengths[..., None])

    @property
    def total(self) -> Vectors:
        """Number of words in each case, with repetitions: shape (n_cases,)."""
        return self.weights.totals

    def _average(self, rows: Vectors) -> Vectors:
        """Average rows, one per word, over the words of each case: (n_cases, k)."""
        return self.weights.sums(rows) / self.total[:, None]

    def mean_vector(self) -> Vectors:
        """Return the mean of the vectors in each case: an ndarray of shape (n_cases, dim)."""
        return self._average(self.vectors).reshape(-1, self.vectors.shape[-1])

    def mean_unit(self) -> Vectors:
        """Return the mean of the unit vectors in each case, not of unit length: (n_cases, dim)."""
        return self._mean_unit

    @functools.cached_property
    def _mean_unit(self) -> Vectors:
        if self.weights.n_cases == 1:
            weights = self.weights.matrix() / self.lengths[..., None, :]
            return (weights @ self.vectors / self.total).reshape(-1, self.vectors.shape[-1])
        return self._average(self.unit)

    def mean_cosine(self, other: WordSet) -> Vectors:
        """Average the cosines between each word of another set and the words of this set.

        Parameters
        ----------
        other : WordSet
            The other set; its weights are ignored.

        Returns
        -------
        ndarray of shape (n_cases, n_words)
            One mean cosine per word of the other set, from -1 to 1.
        """
        if self.weights.n_cases == 1:
            return other._dot(self.mean_unit()) / other.lengths
        return self._average(self.unit @ other.unit.T)

    def _dot(self, rows: Vectors) -> Vectors:
        """Inner products of one vector (or one per model) with the words: (n_cases, n_words)."""
        return np.asarray((self.vectors @ rows[:, :, None])[:, :, 0])

    def sum(self, values: Vectors) -> Vectors:
        """Sum values over the words of each case.

        Parameters
        ----------
        values : ndarray of shape (n_cases or 1, n_words)
            One value per word; a single row holds for all cases.

        Returns
        -------
        ndarray of shape (n_cases,)
            One sum per case.
        """
        if len(values) == 1:
            return self.weights.sums(values[0])
        weights = np.broadcast_to(self.weights.matrix(), values.shape)
        return np.asarray(np.einsum("ij,ij->i", weights, values))

    def mean(self, values: Vectors) -> Vectors:
        """Average values over the words of each case.

        Parameters
        ----------
        values : ndarray of shape (n_cases or 1, n_words)
            As in :meth:`sum`.

        Returns
        -------
        ndarray of shape (n_cases,)
            One mean per case.
        """
        return self.sum(values) / self.total

    def _weighted(self, weights: Weights, name: str | None = None) -> WordSet:
        """Return the same words with new weights."""
        other = copy.copy(self)
        vars(other).update(weights=weights, name=name or self.name)
        vars(other).pop("_mean_unit", None)
        return other

    def _take(self, rows: npt.ArrayLike) -> WordSet:
        """Return the words of rows, which may repeat, each counted once."""
        chosen = np.asarray(rows, dtype=np.intp)
        words = tuple(self.words[row] for row in chosen) if self.words else ()
        return WordSet(self.name, words, self.vectors[chosen], (), tuple(range(len(chosen))))


#: The target sets, or the attribute sets.
WordSets: TypeAlias = Sequence[WordSet]


def word_sets(**arrays: npt.ArrayLike) -> list[WordSet]:
    """Turn arrays of vectors into word sets; all must have the same dimension."""
    sets = [WordSet(name, (), as_vectors(name, values)) for name, values in arrays.items()]
    dims = {part.name: part.vectors.shape[1] for part in sets}
    if len(set(dims.values())) > 1:
        stated = ", ".join(f"{name} has {dim}" for name, dim in dims.items())
        raise ValueError(f"all words must have the same number of dimensions; {stated}.")
    return sets


def lists_of_word_sets(**lists: Sequence[npt.ArrayLike]) -> list[list[WordSet]]:
    """Turn lists of arrays into lists of word sets; see :func:`word_sets`."""
    flat = {f"{name}[{i}]": a for name, arrays in lists.items() for i, a in enumerate(arrays)}
    sets = iter(word_sets(**flat))
    return [list(itertools.islice(sets, len(arrays))) for arrays in lists.values()]


def tuples_of(sets: WordSets) -> list[tuple[str, ...]]:
    """Return the words of each tuple: those at the same position of all sets."""
    return list(zip(*(part.words for part in sets), strict=True))


def n_cases_of(sets: Iterable[WordSet]) -> int:
    """Return the number of cases, in which sets with several cases agree."""
    return max(part.weights.n_cases for part in sets)


def each_case(sets: WordSets) -> Iterator[list[WordSet]]:
    """Yield the sets of each case, with words repeated as often as they count."""
    for case in range(n_cases_of(sets)):
        yield [part._take(part.weights.rows(case)) for part in sets]
