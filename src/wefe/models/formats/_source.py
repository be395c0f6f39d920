"""The interface of all readers, so that loading and converting need not know the format."""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from wefe._checks import check_bool, check_choice, check_positive_int, found
from wefe.models._file_array import FileArray
from wefe.models._tables import RowVectors, VectorTable, as_table, unchecked_table
from wefe.models._types import Block, FloatArray, Subwords

logger = logging.getLogger(__name__)

#: The words of a matrix: themselves, or the file that has them.
Vocabulary: TypeAlias = str | os.PathLike[str] | Sequence[str]


@dataclass(frozen=True)
class Reading:
    """Options for reading; see `wefe.models.load`. `lenient` is ``on_error='skip'``."""

    lenient: bool = False
    trust_pickle: bool = False
    subwords: Subwords | None = None
    vocabulary: Vocabulary | None = None
    n_jobs: int | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        check_bool("trust_pickle", self.trust_pickle)
        check_bool("progress", self.progress)
        if self.subwords is not None:
            check_choice("subwords", self.subwords, get_args(Subwords))
        if self.n_jobs is not None:
            check_positive_int("n_jobs", self.n_jobs)


@dataclass(frozen=True)
class Writing:
    """What is written to a file; only the native format uses `name`."""

    blocks: Iterable[Block]
    n_words: int | None
    dim: int
    format: str
    dtype: npt.DTypeLike = np.float32
    name: str = ""
    progress: bool = True


class VectorSource(ABC):
    """Vectors of a file or an object, ready to be read.

    `label` is the name in messages, `name` the default name of the model. `table` has the vectors
    if they are available without reading the whole source. `n_words` is None if it is not known
    before. `n_skipped` counts damaged words that lenient reading left out. `counts` returns how
    often each word occurred in the training text. With `use_subwords`, the table builds the vectors
    of words outside its vocabulary.
    """

    label: str
    name: str
    dim: int
    table: VectorTable | None = None
    n_words: int | None = None
    n_skipped: int = 0
    counts: Callable[[], Mapping[str, int]] = dict
    use_subwords: bool = False
    vocab_prefix: str | None = None
    reading: Reading = Reading()

    @abstractmethod
    def blocks(self, words: frozenset[str] | None = None) -> Iterator[Block]:
        """Read everything, in order, in blocks of bounded size; words may occur twice.

        With `words`, other words may be left out.
        """

    def skip_or_raise(self, where: str, message: str, n_words: int = 1) -> None:
        """Count damaged words, or raise an error for them."""
        if not self.reading.lenient:
            place = f"{self.label}, {where}" if where else self.label
            raise ValueError(f"{place}: {message}")
        self.n_skipped += n_words

    def log_skipped(self) -> None:
        if self.n_skipped:
            what = "%s: %d damaged words were left out (on_error='skip')"
            logger.warning(what, self.label, self.n_skipped)


class TableSource(VectorSource):
    """A table of vectors that exists already, in a file or made by another library."""

    table: VectorTable

    def __init__(
        self,
        table: Any,
        label: str,
        name: str,
        counts: Callable[[], Mapping[str, int]] = dict,
        subwords: bool = False,
    ) -> None:
        self.table = as_table(table)
        self.label, self.name, self.counts, self.use_subwords = label, name, counts, subwords
        self.dim, self.n_words = self.table.vector_size, len(self.table)

    def blocks(self, words: frozenset[str] | None = None) -> Iterator[Block]:
        if words is None:
            yield from self.table.blocks()
            return
        index = self.table.key_to_index
        there = sorted((index[word], word) for word in words if word in index)
        rows = np.array([row for row, _ in there], dtype=np.intp)
        yield [word for _, word in there], self.table.rows(rows)


def table_source(
    words: Sequence[str],
    vectors: Any,
    label: str,
    name: str,
    counts: Callable[[], Mapping[str, int]] = dict,
) -> TableSource:
    """Make a source of words and rows; a repeated word keeps its first row."""
    first: dict[str, int] = {}
    for row, word in enumerate(words):
        if not isinstance(word, str):
            raise TypeError(f"{label}: the vocabulary must hold strings; got {found(word)}.")
        # A plain string, also where an array of words holds numpy's.
        first.setdefault(str(word), row)
    if n_more := len(words) - len(first):
        logger.warning("%s has %d words twice; the first vector of each is kept", label, n_more)
        vectors = vectors[list(first.values())]
        first = dict(zip(first, range(len(first)), strict=True))
    in_file = isinstance(vectors, FileArray)
    table = RowVectors(first, vectors) if in_file else unchecked_table(first, vectors)
    return TableSource(table, label, name, counts)


def cast_finite(words: Sequence[str], vectors: FloatArray, dtype: npt.DTypeLike) -> FloatArray:
    """Convert vectors to a dtype; refuse numbers that it cannot hold."""
    with np.errstate(over="ignore"):
        cast: FloatArray = vectors.astype(dtype, copy=False)
    finite = np.isfinite(cast).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"the vector of {words[int(finite.argmin())]!r} has numbers not finite in {cast.dtype}."
        )
    return cast


def available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
