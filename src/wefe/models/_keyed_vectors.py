"""Tables of vectors: what a model holds, whoever keeps the numbers and wherever they lie."""

from __future__ import annotations

import logging
import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from wefe._checks import check_sequence, found

logger = logging.getLogger(__name__)

FloatArray = npt.NDArray[np.floating[Any]]

# Rows that are worked on at once: bounds the temporary memory to some tens of MB.
CHUNK_ROWS = 16_384

#: Where the vectors of a model are: parsed for the words asked for, mapped from a file and read
#: when used, or in memory.
Held: TypeAlias = Literal["selected", "mapped", "memory"]


@runtime_checkable
class KeyedVectors(Protocol):
    """What a table of vectors must offer; gensim's `KeyedVectors` does, so does `ArrayVectors`."""

    @property
    def key_to_index(self) -> Mapping[str, int]:
        """The row of each word."""

    @property
    def vectors(self) -> FloatArray:
        """The vectors, of shape (n_words, dim)."""


class IndexedVectors:
    """An array and an index of its rows, both taken as they are.

    Parameters
    ----------
    key_to_index : mapping from str to int
        The row of each word.
    vectors : ndarray of shape (n_words, dim)
        The vectors; may be mapped from a file.
    """

    def __init__(self, key_to_index: Mapping[str, int], vectors: FloatArray) -> None:
        self.key_to_index = key_to_index
        self.vectors = vectors

    @property
    def vector_size(self) -> int:
        """Number of dimensions."""
        return int(self.vectors.shape[1])

    @property
    def held(self) -> Held:
        """Where the vectors are: 'mapped' from a file or in 'memory'."""
        return "mapped" if is_mapped(self.vectors) else "memory"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vectors as gensim's own do, so that ``model.wv.save(path)`` works for all.

        Parameters
        ----------
        path : path
            The file, to be read by ``gensim.models.KeyedVectors.load`` or `wefe.load`.

        See Also
        --------
        wefe.models.WordEmbeddingModel.save : Other formats.
        """
        from wefe.models._word_embedding_model import WordEmbeddingModel

        WordEmbeddingModel(self).save(path, "gensim")

    def __getitem__(self, word: str) -> FloatArray:
        return self.vectors[self.key_to_index[word]]  # type: ignore[no-any-return]

    def __contains__(self, word: object) -> bool:
        return word in self.key_to_index

    def __len__(self) -> int:
        return len(self.key_to_index)


class ArrayVectors(IndexedVectors):
    """A vocabulary and a 2-d array: the table of vectors that works without gensim.

    Parameters
    ----------
    vocabulary : sequence of str
        The words, all different, one per row.
    vectors : ndarray of shape (n_words, dim)
        Floating-point numbers of any width. Kept as they are, not copied.

    Raises
    ------
    TypeError
        If a word is no string, or the numbers are not floating-point.
    ValueError
        If a word is there twice, there are more words than rows, or fewer, or the array is not 2-d.

    Examples
    --------
    >>> import numpy as np
    >>> table = ArrayVectors(["she", "he"], np.eye(2))
    >>> table["he"]
    array([0., 1.])
    """

    def __init__(self, vocabulary: Sequence[str], vectors: npt.ArrayLike) -> None:
        array = check_vectors(vectors)
        if len(check_sequence("vocabulary", vocabulary)) != len(array):
            raise ValueError(
                f"vocabulary and vectors must have the same length; got {len(vocabulary)} words "
                f"and {len(array)} rows."
            )
        index: dict[str, int] = {}
        for row, word in enumerate(vocabulary):
            if not isinstance(word, str):
                raise TypeError(f"vocabulary: element {row} must be a string; got {found(word)}.")
            # A plain string, also where an array of words holds numpy's.
            if index.setdefault(str(word), row) != row:
                raise ValueError(
                    f"vocabulary: {word!r} stands at {index[word]} and again at {row}; "
                    "every word has one vector."
                )
        super().__init__(index, array)


class UnreadWordError(KeyError, ValueError):
    """A word was looked up in a model that was opened for other words."""

    def __str__(self) -> str:
        return str(self.args[0])


class SelectedIndex(dict[str, int]):
    """The rows of the words found; a word that was never searched for is an error, not missing."""

    def __init__(self, words: Sequence[str], asked: frozenset[str], label: str) -> None:
        super().__init__(zip(words, range(len(words)), strict=True))
        self.asked = asked
        self.label = label

    def _check(self, word: object) -> None:
        if not dict.__contains__(self, word) and isinstance(word, str) and word not in self.asked:
            raise UnreadWordError(
                f"{word!r} was not among the {len(self.asked):,} words for which {self.label} was "
                "opened, so nobody knows whether the file has it. Open it for this word too "
                "(words=...), or whole (hold='memory')."
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
        return SelectedIndex, (list(self), self.asked, self.label)


class SelectedVectors(ArrayVectors):
    """The vectors of some words of a file: those that were asked for and found.

    Looking up a word that was not asked for raises `UnreadWordError`: the file may have it.

    Parameters
    ----------
    vocabulary : sequence of str
        The words found.
    vectors : ndarray of shape (n_words, dim)
        Their vectors.
    asked : collection of str
        All words that were searched for.
    label : str
        The file, as messages name it.

    Examples
    --------
    >>> table = SelectedVectors(["she"], [[1.0]], asked=["she", "xyzzy"], label="vectors.txt")
    >>> "xyzzy" in table
    False
    >>> "he" in table
    Traceback (most recent call last):
        ...
    wefe.models._keyed_vectors.UnreadWordError: 'he' was not among the 2 words for which
    vectors.txt was opened, so nobody knows whether the file has it. Open it for this word too
    (words=...), or whole (hold='memory').
    """

    def __init__(
        self, vocabulary: Sequence[str], vectors: npt.ArrayLike, asked: Iterable[str], label: str
    ) -> None:
        super().__init__(vocabulary, vectors)
        self.asked = frozenset(asked)
        self.key_to_index = SelectedIndex(list(self.key_to_index), self.asked, label)

    @property
    def held(self) -> Held:
        """Always 'selected'."""
        return "selected"


class StoredVectors(ABC):
    """Vectors that are kept in another form than rows of floating-point numbers.

    Quantised to int8, in bfloat16, or as the tokens of a language model: `rows` makes the
    vectors of some words; `vectors` makes all of them, once, in memory.

    Attributes
    ----------
    key_to_index : mapping from str to int
        The row of each word.
    vector_size : int
        Number of dimensions.
    """

    key_to_index: Mapping[str, int]
    vector_size: int
    _all: FloatArray | None = None

    @abstractmethod
    def _make(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        """Return new vectors of shape (len(rows), dim), float32."""

    @property
    @abstractmethod
    def stored_nbytes(self) -> int:
        """Bytes of what is kept."""

    @property
    @abstractmethod
    def stored_held(self) -> Held:
        """Where that is."""

    def rows(self, rows: Sequence[int] | npt.NDArray[np.intp]) -> FloatArray:
        """Return the vectors of some rows, of shape (len(rows), dim): a new array."""
        indices = np.asarray(rows, dtype=np.intp)
        return self._make(indices) if self._all is None else self._all[indices]

    @property
    def vectors(self) -> FloatArray:
        """All vectors, of shape (n_words, dim), float32; made in memory at the first use."""
        if self._all is None:
            n_words = len(self.key_to_index)
            self._all = np.empty((n_words, self.vector_size), dtype=np.float32)
            for start in range(0, n_words, CHUNK_ROWS):
                stop = min(start + CHUNK_ROWS, n_words)
                self._all[start:stop] = self._make(np.arange(start, stop))
            logger.info(
                "all %d vectors were made in memory (%.1f MB), as something asked for all of them",
                n_words,
                self._all.nbytes / 1e6,
            )
        return self._all

    @property
    def held(self) -> Held:
        """Where the vectors are: as stored, or in memory once all were asked for."""
        return self.stored_held if self._all is None else "memory"

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors, as they are held."""
        return self.stored_nbytes if self._all is None else self._all.nbytes

    def __getitem__(self, word: str) -> FloatArray:
        return self.rows([self.key_to_index[word]])[0]  # type: ignore[no-any-return]

    def __contains__(self, word: object) -> bool:
        return word in self.key_to_index

    def __len__(self) -> int:
        return len(self.key_to_index)


def held(table: Any) -> Held:
    """Tell where the vectors of a table are."""
    if hasattr(table, "held"):
        return table.held  # type: ignore[no-any-return]
    return "mapped" if is_mapped(table.vectors) else "memory"


def is_mapped(array: Any) -> bool:
    """Tell whether an array is, or is a view of, a memory-mapped file."""
    while array is not None:
        if isinstance(array, mmap.mmap):
            return True
        if isinstance(array, np.memmap):
            # A copy of a mapped array is of this class as well, without a map.
            return array._mmap is not None  # type: ignore[attr-defined]
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    return False


def private_copy(vectors: FloatArray) -> FloatArray:
    """Return a copy that can be changed; of a mapped array, another private map of its file.

    A map costs memory only where it is changed later. What was changed in `vectors` since they
    were mapped is copied, and everything if the file is no longer what it was.
    """
    mapped = _map_again(vectors)
    if mapped is None:
        return np.array(vectors)
    for start in range(0, len(vectors), CHUNK_ROWS):
        chunk = slice(start, start + CHUNK_ROWS)
        # Bytes are compared, as NaN differs from itself.
        width = f"V{vectors.shape[1] * vectors.itemsize}" if vectors.shape[1] else "V1"
        old, new = np.ascontiguousarray(vectors[chunk]), mapped[chunk]
        if old.tobytes() != new.tobytes():
            differs = (old.view(width) != new.view(width)).ravel()
            new[differs] = old[differs]
    return mapped


class FileRows(StoredVectors):
    """Rows of a mapped file that are read without being kept: each time from a map of their own.

    Pages of a map count as memory in use as long as it exists, so a pass over a mapped file would
    seem to need all of it. Changes made in memory since the file was mapped are not seen.

    Parameters
    ----------
    key_to_index : mapping from str to int
        The row of each word.
    mapped : ndarray of shape (n_words, dim)
        The rows, mapped from a file.
    """

    def __init__(self, key_to_index: Mapping[str, int], mapped: FloatArray) -> None:
        self.key_to_index = key_to_index
        self.vector_size = int(mapped.shape[1])
        self._mapped = mapped

    def _make(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        if not len(rows):
            return np.empty((0, self.vector_size), dtype=np.float32)
        first, last = int(rows.min()), int(rows.max())
        span = self._mapped[first : last + 1]
        again = _map_again(span)
        span = span if again is None else again
        return span[rows - first].astype(np.float32, copy=False)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers in the file."""
        return self._mapped.dtype

    @property
    def stored_nbytes(self) -> int:
        """Bytes of the file that hold vectors."""
        return int(self._mapped.nbytes)

    @property
    def stored_held(self) -> Held:
        """Always 'mapped'."""
        return "mapped"


def _map_again(vectors: FloatArray) -> FloatArray | None:
    """Map the same part of the same file; None if `vectors` are no such part."""
    root: Any = None
    array: Any = vectors
    while array is not None:
        if isinstance(array, np.memmap):
            # Not its first view: that has the offset of the map, whatever part of it it is.
            root = array
        array = getattr(array, "base", None)
    if (
        root is None
        or not is_mapped(root)
        or not root.filename
        or not vectors.flags.c_contiguous
        or not vectors.size
    ):
        return None
    offset = root.offset + vectors.ctypes.data - root.ctypes.data
    try:
        again = np.memmap(root.filename, vectors.dtype, "c", offset, vectors.shape)
    except (OSError, ValueError):
        return None
    return np.asarray(again)


def check_vectors(vectors: npt.ArrayLike) -> FloatArray:
    """Return a 2-d array of floating-point numbers; anything else is refused."""
    array = np.asarray(vectors)
    if array.ndim != 2:
        raise ValueError(
            f"vectors must be 2-d, one row per word; got {array.ndim} dimensions, "
            f"shape {array.shape}."
        )
    if not np.issubdtype(array.dtype, np.floating):
        raise TypeError(
            f"vectors must hold floating-point numbers; got {array.dtype}. "
            "Convert them, for example with .astype('float32')."
        )
    return array
