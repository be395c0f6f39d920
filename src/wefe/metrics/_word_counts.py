"""Many variants of a word set at once: how often each of its words counts in each case.

Nested subsets (silhouettes), words left out one at a time (influence) and words drawn with
replacement (bootstrap) are all that. A metric that is written in terms of `totals` and `sums`
answers a query for thousands of cases with the similarities of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from wefe.metrics._geometry import Vectors

# Numbers of a matrix of cases that is made at once.
_BLOCK_NUMBERS = 1 << 21


class WordCounts(ABC):
    """How often each word of one word set counts, in each of several cases.

    Attributes
    ----------
    n_cases, n_words : int
        Number of cases, and of words. `Once` has one case, which stands for any number of equal
        ones.
    """

    n_cases: int
    n_words: int

    @property
    @abstractmethod
    def totals(self) -> Vectors:
        """Number of words in each case, repetitions included: shape (n_cases,)."""

    @abstractmethod
    def sums(self, values: npt.ArrayLike) -> Vectors:
        """Sum values over the words of each case.

        Parameters
        ----------
        values : array-like of shape (n_words,) or (n_words, n_values)
            What each word has.

        Returns
        -------
        ndarray of shape (n_cases,) or (n_cases, n_values)
        """

    @abstractmethod
    def matrix(self, cases: slice = slice(None)) -> Vectors:
        """Return the counts of some cases: shape (n_cases, n_words)."""

    def row(self, case: int) -> npt.NDArray[Any]:
        """Return the counts of one case: shape (n_words,); booleans where no word repeats."""
        return np.asarray(self.matrix(slice(case, case + 1))[0])

    def means(self, values: npt.ArrayLike) -> Vectors:
        """Average values over the words of each case; see `sums`."""
        sums = self.sums(values)
        return sums / (self.totals if sums.ndim == 1 else self.totals[:, None])

    def sums_by_case(self, values: Vectors) -> Vectors:
        """Sum values that differ between cases.

        Parameters
        ----------
        values : ndarray of shape (n_cases, n_words) or (1, n_words)
            What each word has in each case; one row stands for all cases.

        Returns
        -------
        ndarray of shape (n_cases,)
        """
        if len(values) == 1:
            return self.sums(values[0])
        if self.n_cases == 1:
            return np.asarray(values @ self.matrix()[0])
        return np.concatenate(
            [np.einsum("ij,ij->i", self.matrix(part), values[part]) for part in self.blocks()]
        )

    def blocks(self) -> Iterator[slice]:
        """Yield parts of the cases of which `matrix` has some MB."""
        size = max(1, _BLOCK_NUMBERS // max(self.n_words, 1))
        for start in range(0, self.n_cases, size):
            yield slice(start, min(start + size, self.n_cases))


class Once(WordCounts):
    """Every word once: a set that is the same in all cases."""

    def __init__(self, n_words: int) -> None:
        self.n_cases, self.n_words = 1, n_words

    @property
    def totals(self) -> Vectors:
        return np.array([float(self.n_words)])

    def sums(self, values: npt.ArrayLike) -> Vectors:
        return np.atleast_1d(np.asarray(values, dtype=np.float64).sum(axis=0)[None])

    def row(self, case: int) -> npt.NDArray[np.bool_]:  # noqa: ARG002
        return np.ones(self.n_words, dtype=bool)

    def matrix(self, cases: slice = slice(None)) -> Vectors:
        ones: Vectors = np.ones((1, self.n_words))
        return ones[cases]


class Counts(WordCounts):
    """Any numbers: words left out, or drawn with replacement.

    Parameters
    ----------
    counts : array-like of shape (n_cases, n_words)
        How often each word counts; at least one word in each case.
    """

    def __init__(self, counts: npt.ArrayLike) -> None:
        self._counts = np.asarray(counts, dtype=np.float64)
        self.n_cases, self.n_words = self._counts.shape

    @property
    def totals(self) -> Vectors:
        return np.asarray(self._counts.sum(axis=1))

    def sums(self, values: npt.ArrayLike) -> Vectors:
        return np.asarray(self._counts @ np.asarray(values, dtype=np.float64))

    def matrix(self, cases: slice = slice(None)) -> Vectors:
        part: Vectors = self._counts[cases]
        return part


class Nested(WordCounts):
    """Growing subsets: in each run the first words of an order, ever more of them.

    Cases are the steps of the first run, then those of the second one, and so on.

    Parameters
    ----------
    orders : array-like of int, shape (n_runs, n_words)
        The order of the words in each run.
    sizes : array-like of int, shape (n_steps,)
        Number of words in each step, not falling, at least 1.
    """

    def __init__(self, orders: npt.ArrayLike, sizes: npt.ArrayLike) -> None:
        self.orders = np.atleast_2d(np.asarray(orders, dtype=np.intp))
        self.sizes = np.asarray(sizes, dtype=np.intp)
        self.n_runs, self.n_words = self.orders.shape
        self.n_cases = self.n_runs * len(self.sizes)
        self._places = np.argsort(self.orders, axis=1)

    @property
    def totals(self) -> Vectors:
        return np.tile(self.sizes.astype(np.float64), self.n_runs)

    def sums(self, values: npt.ArrayLike) -> Vectors:
        array = np.asarray(values, dtype=np.float64)
        last = self.sizes[-1]
        grown = [np.cumsum(array[order[:last]], axis=0)[self.sizes - 1] for order in self.orders]
        return np.concatenate(grown)

    def matrix(self, cases: slice = slice(None)) -> Vectors:
        runs, steps = np.divmod(np.arange(*cases.indices(self.n_cases)), len(self.sizes))
        return np.asarray(self._places[runs] < self.sizes[steps, None], dtype=np.float64)

    def row(self, case: int) -> npt.NDArray[np.bool_]:
        run, step = divmod(case, len(self.sizes))
        return np.asarray(self._places[run] < self.sizes[step])


def n_cases_of(counts: Iterable[WordCounts]) -> int:
    """Number of cases of several sets: those of the sets that vary, which must agree.

    Raises
    ------
    ValueError
        If two sets have different numbers of cases, neither of them 1.
    """
    numbers = {each.n_cases for each in counts} - {1}
    if len(numbers) > 1:
        raise ValueError(f"the word sets have different numbers of cases: {sorted(numbers)}.")
    return numbers.pop() if numbers else 1
