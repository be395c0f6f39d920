"""Which words of a source become the vocabulary of a model, and what becomes of repeated ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from wefe.models._keyed_vectors import ArrayVectors, FloatArray, IndexedVectors
from wefe.models.formats._source import Block

logger = logging.getLogger(__name__)

#: What becomes of words that differ in case only: nothing, the first counts, or their mean.
Lowercase: TypeAlias = Literal["first", "mean"]

# Growing is cheap where the C library can move pages; what is reserved too much is memory in use.
_GROWTH = 1.0625


@dataclass(frozen=True)
class VocabularyCut:
    """The words to keep, and the form in which they are kept.

    Attributes
    ----------
    limit : int or None
        Only the first rows of the source (files are sorted by frequency as a rule).
    keep : callable or None
        Takes a word and tells whether to keep it.
    min_count : int
        Words that occurred less often in the training text are dropped.
    counts : mapping from str to int, or None
        How often each word occurred; a word that is missing here occurred 0 times.
    lowercase : {'first', 'mean'} or None
        Lower the case of all words, and what the vector of those is that become the same.
    """

    limit: int | None = None
    keep: Callable[[str], bool] | None = None
    min_count: int = 0
    counts: Mapping[str, int] | None = None
    lowercase: Lowercase | None = None

    @property
    def keeps_all(self) -> bool:
        """Whether the vocabulary stays as it is."""
        return self == VocabularyCut(counts=self.counts)

    def apply(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Drop words and lower their case, block by block; repetitions stay."""
        if self.keeps_all:
            yield from blocks
            return
        left = self.limit
        for words, vectors in blocks:
            if left is not None:
                words, vectors = words[:left], vectors[:left]
                left -= len(words)
            rows = [row for row, word in enumerate(words) if self._keeps(word)]
            if len(rows) < len(words):
                words, vectors = [words[row] for row in rows], vectors[rows]
            if self.lowercase is not None:
                words = [word.lower() for word in words]
            yield words, vectors
            if left == 0:
                return

    def _keeps(self, word: str) -> bool:
        if self.min_count and (self.counts or {}).get(word, 0) < self.min_count:
            return False
        return self.keep is None or bool(self.keep(word))


class Collector:
    """Gathers blocks of words and vectors into one table in memory.

    The first vector of a word that comes twice is kept, or the mean of all; they are counted.

    Parameters
    ----------
    dim : int
        Number of dimensions.
    lowercase : {'first', 'mean'} or None
        What becomes of words that are the same once their case was lowered.
    expected_words : int
        Rows to reserve; no memory is used for those that never come.
    """

    def __init__(
        self, dim: int, lowercase: Lowercase | None = None, expected_words: int = 0
    ) -> None:
        self._dim = dim
        self._expected_words = expected_words
        self._mean = lowercase == "mean"
        self._index: dict[str, int] = {}
        self._vectors: FloatArray | None = None
        self._n_merged: dict[int, int] = {}
        self.n_repeated = 0

    def add(self, words: list[str], vectors: FloatArray) -> None:
        """Append a block."""
        start = len(self._index)
        fresh = dict(zip(words, range(start, start + len(words)), strict=True))
        if len(fresh) < len(words) or not self._index.keys().isdisjoint(fresh):
            vectors = self._without_repeated(words, vectors)
        else:
            self._index.update(fresh)
        self._reserve(len(self._index), vectors.dtype)
        assert self._vectors is not None
        self._vectors[start : len(self._index)] = vectors

    def _without_repeated(self, words: list[str], vectors: FloatArray) -> FloatArray:
        start = len(self._index)
        rows: list[int] = []
        for row, word in enumerate(words):
            place = self._index.setdefault(word, len(self._index))
            if place == start + len(rows):
                rows.append(row)
                continue
            self.n_repeated += 1
            if self._mean:
                # Summed here, divided at the end.
                self._n_merged[place] = self._n_merged.get(place, 1) + 1
                if place < start:
                    assert self._vectors is not None
                    self._vectors[place] += vectors[row]
                else:
                    if not vectors.flags.writeable:
                        vectors = vectors.copy()
                    vectors[rows[place - start]] += vectors[row]
        return vectors[rows]

    def _reserve(self, n_rows: int, dtype: np.dtype[Any]) -> None:
        if self._vectors is None:
            self._vectors = np.empty((max(n_rows, self._expected_words), self._dim), dtype=dtype)
        elif n_rows > len(self._vectors):
            # Grows in place (nobody else holds the array), so that there are never two copies.
            n_reserved = max(n_rows, int(len(self._vectors) * _GROWTH))
            self._vectors.resize((n_reserved, self._dim), refcheck=False)

    def table(self, label: str) -> IndexedVectors:
        """Return what was gathered; the collector must not be used afterwards."""
        if self._vectors is None or not self._index:
            return ArrayVectors([], np.empty((0, self._dim), dtype=np.float32))
        self._vectors.resize((len(self._index), self._dim), refcheck=False)
        for row, times in self._n_merged.items():
            self._vectors[row] /= times
        if self.n_repeated and self._mean:
            logger.info("%s: %d words merged into the mean of their forms", label, self.n_repeated)
        elif self.n_repeated:
            logger.warning(
                "%s has %d words twice; the first vector of each is kept", label, self.n_repeated
            )
        return IndexedVectors(self._index, self._vectors)
