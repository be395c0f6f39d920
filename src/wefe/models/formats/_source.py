"""What a reader of any format offers, so that loading and converting need not know the format."""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from wefe.models._keyed_vectors import CHUNK_ROWS, FloatArray, Held, StoredVectors, held

logger = logging.getLogger(__name__)

#: Words and their vectors, one per row.
Block: TypeAlias = tuple[list[str], FloatArray]

#: What becomes of a word that is several subwords of a model with a tokenizer.
Subwords: TypeAlias = Literal["first", "mean", "refuse"]


@dataclass(frozen=True)
class Reading:
    """How a source is to be read.

    Attributes
    ----------
    hold : {'selected', 'mapped', 'memory'} or None
        How the user wants the vectors to be held; None leaves the choice to the format.
    lenient : bool
        Skip, count and log what is damaged and can be told apart, instead of raising.
    trust_pickle : bool
        Whether files may be unpickled, which can run any code that their author put there.
    subwords : {'first', 'mean', 'refuse'} or None
        What to do with words of several subwords; None does what the format does by itself.
    n_jobs : int
        Threads that parse.
    progress : bool
        Whether long work shows a bar.
    """

    hold: Held | None = None
    lenient: bool = False
    trust_pickle: bool = False
    subwords: Subwords | None = None
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
    n_words : int or None
        Number of words, as far as known before reading.
    expected_words : int
        About as many, for reserving memory: never more than the file can hold.
    n_skipped : int
        Words left out so far because they were damaged (only where the user asked for leniency).
    counts : mapping from str to int, or None
        How often each word occurred in the training text, where the format knows.
    use_subwords : bool
        Whether its table is to be asked for the vectors of words that are not in its vocabulary.
    """

    label: str
    name: str
    dim: int
    n_words: int | None = None
    expected_words: int = 0
    n_skipped: int = 0
    counts: Mapping[str, int] | None = None
    use_subwords: bool = False

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Read everything, in order, in blocks of bounded size; words may come twice."""

    def select(self, words: frozenset[str]) -> Block:
        """Return the first vector of each of `words` that is there, in the order of the source."""
        return select(self.blocks(), words, self.dim)

    def table(self) -> Any | None:
        """Return a table of vectors that is there already (mapped, or another library's), or None.

        A source with a table can be opened without reading it.
        """
        return None


class TableSource(VectorSource):
    """A table of vectors that exists already: mapped from a file, or made by another library.

    Parameters
    ----------
    table : KeyedVectors or StoredVectors
        The table.
    label, name : str
        How messages and results name it.
    counts : mapping from str to int, optional
        Frequency of the words.
    subwords : bool, default=False
        Whether the table is to be asked for vectors of unseen words.
    """

    def __init__(
        self,
        table: Any,
        label: str,
        name: str,
        counts: Mapping[str, int] | None = None,
        subwords: bool = False,
    ) -> None:
        self._table = table
        self.label, self.name, self.counts, self.use_subwords = label, name, counts, subwords
        stored = isinstance(table, StoredVectors)
        self.dim = int(table.vector_size if stored else table.vectors.shape[1])
        self.n_words = len(table.key_to_index)

    @property
    def held(self) -> Held:
        """Where the table has its vectors."""
        return held(self._table)

    def table(self) -> Any:
        """Return the table."""
        return self._table

    def blocks(self) -> Iterator[Block]:
        """Hand out the rows of the words, in order."""
        index = self._table.key_to_index
        if hasattr(index, "words"):
            # Rows 0, 1, 2 ...: a file that need not be read for its words as a whole.
            for start in range(0, len(index), CHUNK_ROWS):
                stop = min(start + CHUNK_ROWS, len(index))
                yield index.words(start, stop), self._rows(np.arange(start, stop))
            return
        words, rows = list(index), np.fromiter(index.values(), dtype=np.intp, count=len(index))
        for start in range(0, len(words), CHUNK_ROWS):
            chunk = slice(start, start + CHUNK_ROWS)
            yield words[chunk], self._rows(rows[chunk])

    def select(self, words: frozenset[str]) -> Block:
        """Read the rows of the words asked for."""
        index = self._table.key_to_index
        rows = {word: index[word] for word in words if word in index}
        chosen = sorted(rows, key=rows.__getitem__)
        return chosen, self._rows(np.array([rows[word] for word in chosen], dtype=np.intp))

    def _rows(self, rows: Any) -> FloatArray:
        if isinstance(self._table, StoredVectors):
            return self._table.rows(rows)
        return self._table.vectors[rows]  # type: ignore[no-any-return]


def select(blocks: Iterable[Block], words: frozenset[str], dim: int) -> Block:
    """Return the first vector of each of `words` that comes along, in order."""
    found: dict[str, FloatArray] = {}
    for block_words, vectors in blocks:
        for row, word in enumerate(block_words):
            if word in words and word not in found:
                found[word] = vectors[row].copy()
    return list(found), np.array(list(found.values()) or np.empty((0, dim)), dtype=np.float32)


def available_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
