"""Tables of vectors: one interface to vectors in memory, in files and in other libraries."""

from __future__ import annotations

import copy
import functools
import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from wefe._checks import check_sequence, found, logger
from wefe.models._types import CHUNK_ROWS, Block, FloatArray, Held

T = TypeVar("T")

#: Which rows are wanted: a slice without step, or row numbers.
RowsLike: TypeAlias = slice | Sequence[int] | npt.NDArray[np.integer[Any]]


class VectorTable(ABC):
    """The vocabulary and the vectors of a model; `requested`: words for which a file was opened."""

    key_to_index: Mapping[str, int]
    #: All vectors, of shape (n_words, dim).
    vectors: FloatArray
    requested: frozenset[str] | None = None
    #: Whether the table can build vectors from subwords.
    knows_subwords: bool = False

    @property
    def vector_size(self) -> int:
        """Number of dimensions."""
        return int(self.vectors.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the vectors."""
        return self.vectors.dtype

    @property
    def held(self) -> Held:
        """Where the vectors are; see `WordEmbeddingModel.held`."""
        if self.requested is not None:
            return "selected"
        # numpy keeps no subclass of arrays, but what an array is a view of.
        owners = (self.vectors, self.vectors.base)
        return "mapped" if any(isinstance(each, np.memmap) for each in owners) else "memory"

    @property
    def nbytes(self) -> int:
        """Size of the stored vectors in bytes."""
        return self.vectors.nbytes

    def rows(self, rows: RowsLike) -> FloatArray:
        """Return the vectors of some rows.

        Parameters
        ----------
        rows : slice without step, or sequence of int
            Row numbers of `key_to_index`.

        Returns
        -------
        ndarray of shape (n_rows, dim)
            A view if `rows` is a slice of vectors in memory.
        """
        # numpy takes rows faster than it indexes them.
        if isinstance(rows, slice):
            return self.vectors[rows]
        return self.vectors.take(np.asarray(rows, dtype=np.intp), axis=0)

    def load(self) -> None:  # noqa: B027 - most tables are there already
        """Read all vectors into memory."""

    def copied(self) -> Any:
        """Return a copy that shares no vectors in memory: a table, or vectors of gensim."""
        table = copy.copy(self)
        if "vectors" in vars(self):
            vars(table)["vectors"] = np.array(self.vectors)
        return table

    def refresh(self, rows: Sequence[int] | npt.NDArray[np.intp]) -> None:  # noqa: B027
        """Update whatever is derived from changed rows.

        Parameters
        ----------
        rows : sequence of int
            The changed rows.
        """

    def has_subwords(self, word: str) -> bool:  # noqa: ARG002 - for tables that do
        """Tell whether the table can build the vector of a word outside the vocabulary.

        Parameters
        ----------
        word : str
            The word.

        Returns
        -------
        bool
            Always False for a table of whole words.
        """
        return False

    def blocks(self) -> Iterator[Block]:
        """Yield all words and vectors, in order, in blocks of bounded size.

        Yields
        ------
        words : list of str
            The words of a block.
        vectors : ndarray of shape (len(words), dim)
            Their vectors.
        """
        index = self.key_to_index
        words, rows = iter(index), np.fromiter(index.values(), dtype=np.intp, count=len(index))
        for part in chunks(len(rows), CHUNK_ROWS):
            yield list(itertools.islice(words, CHUNK_ROWS)), self.rows(rows[part])

    def words_at(self, rows: npt.NDArray[np.integer[Any]]) -> list[str]:
        """Return the words of some rows.

        Parameters
        ----------
        rows : ndarray of int
            Row numbers.

        Returns
        -------
        list of str
            Their words.
        """
        wanted = set(rows.tolist())
        words = {row: word for word, row in self.key_to_index.items() if row in wanted}
        return [words[row] for row in rows.tolist()]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vectors as gensim does; see `WordEmbeddingModel.save` for other formats.

        Parameters
        ----------
        path : path
            The file, which ``gensim.models.KeyedVectors.load`` and `wefe.load` can open.
        """
        from wefe.models.formats._write import save_table

        save_table(self, path, "gensim", "", progress=True)

    def __getitem__(self, word: str) -> FloatArray:
        return self.rows([self.key_to_index[word]])[0]  # type: ignore[no-any-return]

    def __contains__(self, word: object) -> bool:
        return word in self.key_to_index

    def __len__(self) -> int:
        return len(self.key_to_index)

    @property
    def n_rows(self) -> int:
        """Number of rows, including rows that gensim reserves for new words."""
        return len(self.key_to_index)


class ArrayVectors(VectorTable):
    """A vocabulary and a 2-d array, for use without gensim.

    Parameters
    ----------
    vocabulary : sequence of str
        Different words, one per row.
    vectors : ndarray of shape (n_words, dim)
        Floating-point vectors, not copied.

    Examples
    --------
    >>> import numpy as np
    >>> ArrayVectors(["she", "he"], np.eye(2))["he"]
    array([0., 1.])
    """

    def __init__(self, vocabulary: Sequence[str], vectors: npt.ArrayLike) -> None:
        self.vectors = check_vectors("vectors", vectors)
        if len(check_sequence("vocabulary", vocabulary)) != len(self.vectors):
            raise ValueError(
                f"every row needs a word; got {len(vocabulary)} words and {len(self.vectors)} rows."
            )
        index: dict[str, int] = {}
        for row, word in enumerate(vocabulary):
            if not isinstance(word, str):
                raise TypeError(f"vocabulary: element {row} must be a string; got {found(word)}.")
            # A plain string, also where an array of words holds numpy's.
            if index.setdefault(str(word), row) != row:
                raise ValueError(
                    f"vocabulary: {word!r} stands at {index[word]} and again at {row}."
                )
        self.key_to_index = index


def unchecked_table(key_to_index: Mapping[str, int], vectors: FloatArray) -> ArrayVectors:
    """Make a table of an index and an array that are known to fit."""
    table = ArrayVectors.__new__(ArrayVectors)
    table.key_to_index, table.vectors = key_to_index, vectors
    return table


class UnreadWordError(KeyError, ValueError):
    """A word was looked up in a model that was opened for other words only."""

    def __str__(self) -> str:
        return str(self.args[0])


_OPEN_AGAIN = (
    "so it is unknown whether the file has it. Open the file for this word too (words=...), or "
    "whole (hold='memory')."
)


class PartialIndex(dict[str, int]):
    """Rows of the words `requested` from the file `label`; looking up another is an error."""

    def __init__(
        self, index: dict[str, int], requested: frozenset[str], label: str, hint: str = _OPEN_AGAIN
    ) -> None:
        super().__init__(index)
        self.requested, self.label, self.hint = requested, label, hint

    def _check(self, word: object) -> None:
        known = dict.__contains__(self, word) or word in self.requested
        if isinstance(word, str) and not known:
            raise UnreadWordError(
                f"{word!r} was not among the {len(self.requested):,} words for which {self.label} "
                f"was opened, {self.hint}"
            )

    def __contains__(self, word: object) -> bool:
        self._check(word)
        return super().__contains__(word)

    def __missing__(self, word: str) -> int:
        self._check(word)
        raise KeyError(word)

    def get(self, word: str, default: Any = None) -> Any:
        self._check(word)
        return super().get(word, default)

    def __reduce__(self) -> Any:
        return PartialIndex, (dict(self), self.requested, self.label, self.hint)


class StoredVectors(VectorTable):
    """Vectors computed when they are used; `vectors` computes all of them once and keeps them."""

    #: The arrays that it computes them from, in memory or in a file; the first has the vectors.
    stored: Sequence[Any] = (None,)
    vector_size: int = 0
    dtype = np.dtype(np.float32)

    @abstractmethod
    def _make(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        """Return new vectors of shape (len(rows), dim)."""

    def rows(self, rows: RowsLike) -> FloatArray:
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self.key_to_index)))
        indices = np.asarray(rows, dtype=np.intp)
        return self.vectors[indices] if "vectors" in vars(self) else self._make(indices)

    @functools.cached_property
    def vectors(self) -> FloatArray:  # type: ignore[override]
        n_words = len(self.key_to_index)
        every = np.empty((n_words, self.vector_size), dtype=self.dtype)
        for part in chunks(n_words, CHUNK_ROWS):
            every[part] = self.rows(part)
        logger.info(
            "all %d vectors were read into memory (%.1f MB), because a call needed all of them",
            n_words,
            every.nbytes / 1e6,
        )
        return every

    def load(self) -> None:
        vars(self).update(vectors=self.vectors, key_to_index=dict(self.key_to_index.items()))

    @property
    def held(self) -> Held:
        in_memory = "vectors" in vars(self) or isinstance(self.stored[0], np.ndarray)
        return "memory" if in_memory else "mapped"

    @property
    def nbytes(self) -> int:
        held = [self.vectors] if "vectors" in vars(self) else self.stored
        return sum(part.nbytes for part in held if part is not None)


@dataclass(eq=False, repr=False)
class RowVectors(StoredVectors):
    """Rows of an array, perhaps times a `scale` (int8); `places` has rows that words share."""

    key_to_index: Mapping[str, int]
    array: Any
    scale: Any = None
    places: Any = None

    def __post_init__(self) -> None:
        self.vector_size = int(self.array.shape[1])
        self.stored = self.array, self.scale, self.places
        if self.scale is None:
            self.dtype = self.array.dtype

    def _make(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        rows = rows if self.places is None else self.places[rows]
        vectors: FloatArray = self.array[rows]
        if self.scale is not None:
            vectors = vectors.astype(np.float32)
            vectors *= self.scale[rows][:, None]
        return vectors


class ForeignVectors(VectorTable):
    """gensim's `KeyedVectors`, or another object with `key_to_index` and `vectors`; no caching."""

    def __init__(self, wv: Any) -> None:
        self.wv = wv
        self.knows_subwords = getattr(wv, "vectors_ngrams", None) is not None

    @property
    def key_to_index(self) -> Mapping[str, int]:  # type: ignore[override]
        return self.wv.key_to_index  # type: ignore[no-any-return]

    @property
    def vectors(self) -> FloatArray:  # type: ignore[override]
        """All vectors, including rows that gensim reserves for new words."""
        return self.wv.vectors  # type: ignore[no-any-return]

    def copied(self) -> Any:
        vectors = np.array(self.vectors)
        # Dictionaries and lists of its own, as words may be added to it later.
        wv = copy.copy(self.wv)
        for attribute, value in vars(self.wv).items():
            if isinstance(value, dict | list):
                setattr(wv, attribute, value.copy())
        wv.vectors, wv.norms = vectors, None
        if getattr(wv, "vectors_vocab", None) is not None:
            wv.vectors_vocab = np.array(wv.vectors_vocab)
        return wv

    @property
    def n_rows(self) -> int:
        return len(self.vectors)

    def refresh(self, rows: Sequence[int] | npt.NDArray[np.intp]) -> None:
        """Update what gensim derives from its rows or caches."""
        wv = self.wv
        # gensim caches the lengths of its vectors for `most_similar`.
        wv.norms = None
        if len(getattr(wv, "buckets_word", None) or ()) != len(self.vectors):
            return
        # gensim's fastText saves no vectors; it makes them again when loaded, each as the mean of
        # the word's own vector and those of its n-grams. So the change goes into the former.
        if not wv.vectors_vocab.flags.writeable:
            wv.vectors_vocab = np.array(wv.vectors_vocab)
        for row in rows:
            ngrams = wv.vectors_ngrams[wv.buckets_word[row]]
            wv.vectors_vocab[row] = self.vectors[row] * (len(ngrams) + 1) - ngrams.sum(axis=0)

    def has_subwords(self, word: str) -> bool:
        """Tell whether a word has n-grams; `in` of gensim's fastText is True for every word."""
        # Of a word too short for n-grams it makes a zero vector. It delimits words with < and >,
        # which are no n-grams themselves.
        shortest = max(self.wv.min_n, 1 if word else 2)
        return bool(self.wv.bucket > 0 and shortest <= min(self.wv.max_n, len(word) + 2))


def table_of(name: str, value: Any) -> VectorTable:
    """Return a table of an object with words and vectors, or of a pair (words, vectors)."""
    if isinstance(value, tuple) and len(value) == 2:
        return ArrayVectors(*value)
    if isinstance(value, VectorTable):
        return value
    if not hasattr(value, "key_to_index") or not hasattr(value, "vectors"):
        raise TypeError(
            f"{name} must be vectors, as gensim 4 KeyedVectors or a pair (words, 2-d array); got "
            f"{found(value)}. wefe.load takes files, dicts and models of gensim, too."
        )
    check_vectors("vectors", value.vectors)
    return ForeignVectors(value)


def as_table(wv: Any) -> VectorTable:
    return wv if isinstance(wv, VectorTable) else ForeignVectors(wv)


def number(
    index: dict[T, int], words: Iterable[T]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Give new words the next numbers; return the numbers of all, and where each new one is."""
    n_before = len(index)
    numbers = np.array([index.setdefault(word, len(index)) for word in words], dtype=np.intp)
    unique, first = np.unique(numbers, return_index=True)
    return numbers, first[unique >= n_before]


def chunks(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def check_vectors(name: str, vectors: npt.ArrayLike) -> FloatArray:
    """Return a 2-d array of floating-point numbers; refuse anything else."""
    array = np.asarray(vectors)
    if array.ndim != 2:
        raise ValueError(f"{name} must be 2-d, one vector per row; got shape {array.shape}.")
    if not np.issubdtype(array.dtype, np.floating):
        raise TypeError(
            f"{name} must hold floating-point numbers; got {array.dtype}. Use .astype('float32')."
        )
    return array
