"""What a reader of any format offers, so that loading and converting need not know the format."""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from wefe._checks import found
from wefe.models._file_array import FileArray
from wefe.models._tables import ArrayVectors, RowVectors, VectorTable, as_table
from wefe.models._types import Block, FloatArray, Subwords

logger = logging.getLogger(__name__)

#: The words of a matrix: themselves, or the file that has them.
Vocabulary: TypeAlias = str | os.PathLike[str] | Sequence[str]


@dataclass(frozen=True)
class Reading:
    """How a source is to be read; see the parameters of `wefe.models.load`.

    `lenient` skips, counts and logs what is damaged and can be told apart. `subwords` None does
    what the format does by itself. `vocabulary` has the words of a matrix without words.
    """

    lenient: bool = False
    trust_pickle: bool = False
    subwords: Subwords | None = None
    vocabulary: Vocabulary | None = None
    n_jobs: int = 1
    progress: bool = True


class VectorSource(ABC):
    """Vectors of a file or an object, ready to be read.

    Attributes
    ----------
    label : str
        How messages name it.
    name : str
        The name its model gets unless the user gives another.
    dim : int
        Number of dimensions.
    table : VectorTable or None
        The vectors, if they can be had without reading the source from start to end.
    n_words : int or None
        Number of words, as far as known before reading.
    expected_words : int
        About as many, for reserving memory: never more than the file can hold.
    n_skipped : int
        Words left out so far because they were damaged (only where the user asked for leniency).
    counts : callable, or None
        Returns how often each word occurred in the training text, where the format knows.
    use_subwords : bool
        Whether its table is to be asked for the vectors of words that are not in its vocabulary.
    """

    label: str
    name: str
    dim: int
    table: VectorTable | None = None
    n_words: int | None = None
    expected_words: int = 0
    n_skipped: int = 0
    counts: Callable[[], Mapping[str, int]] | None = None
    use_subwords: bool = False

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Read everything, in order, in blocks of bounded size; words may come twice."""

    def select(self, words: frozenset[str]) -> Block:
        """Return the first vector of each of `words` that is there, in the order of the source."""
        return select(self.blocks(), words, self.dim)

    def skip_or_raise(self, where: str, message: str, lenient: bool) -> None:
        """Count what is damaged, or name it in an error."""
        if not lenient:
            raise ValueError(f"{self.label}, {where}: {message}")
        self.n_skipped += 1


class TableSource(VectorSource):
    """A table of vectors that exists already: of a file, or made by another library."""

    table: VectorTable

    def __init__(
        self,
        table: Any,
        label: str,
        name: str,
        counts: Callable[[], Mapping[str, int]] | None = None,
        subwords: bool = False,
    ) -> None:
        self.table = as_table(table)
        self.label, self.name, self.counts, self.use_subwords = label, name, counts, subwords
        self.dim, self.n_words = self.table.vector_size, len(self.table)
        self.expected_words = self.n_words

    def blocks(self) -> Iterator[Block]:
        """Hand out the rows of the words, in order."""
        return self.table.blocks()

    def select(self, words: frozenset[str]) -> Block:
        """Read the rows of the words asked for."""
        return self.table.select(words)


def table_source(
    words: Sequence[str],
    vectors: FloatArray | FileArray,
    label: str,
    name: str,
    counts: Callable[[], Mapping[str, int]] | None = None,
) -> TableSource:
    """Make a source of words and rows; of a word that comes twice the first row is kept."""
    first: dict[str, int] = {}
    for row, word in enumerate(words):
        if not isinstance(word, str):
            raise TypeError(f"{label}: the vocabulary must hold strings; got {found(word)}.")
        first.setdefault(word, row)
    if len(first) < len(words):
        n_more = len(words) - len(first)
        logger.warning("%s has %d words twice; the first vector of each is kept", label, n_more)
        words, vectors = list(first), vectors[list(first.values())]
    if isinstance(vectors, FileArray):
        return TableSource(RowVectors(first, vectors), label, name, counts)
    try:
        return TableSource(ArrayVectors(words, vectors), label, name, counts)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{label}: {error}") from error


def select(blocks: Iterable[Block], words: frozenset[str], dim: int) -> Block:
    """Return the first vector of each of `words` that comes along, in order."""
    found: dict[str, FloatArray] = {}
    for block_words, vectors in blocks:
        for row, word in enumerate(block_words):
            if word in words and word not in found:
                found[word] = vectors[row].copy()
    none: FloatArray = np.empty((0, dim), dtype=np.float32)
    return list(found), np.array(list(found.values())) if found else none


def available_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
