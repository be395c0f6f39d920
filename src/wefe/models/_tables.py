"""Tables of vectors: one interface for vectors in memory, in files and in other libraries."""

from __future__ import annotations

import copy
import logging
import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import check_sequence, found
from wefe.models._types import CHUNK_ROWS, Block, FloatArray, Held

logger = logging.getLogger(__name__)

#: Which rows are wanted: a slice without step, or row numbers.
RowsLike: TypeAlias = slice | Sequence[int] | npt.NDArray[np.integer[Any]]


class VectorTable(ABC):
    """What every model holds: words with their rows, and rows with their vectors.

    `key_to_index` has the row of each word. `requested` are the words for which a file was
    opened; None if the table has all words of its source.
    """

    key_to_index: Mapping[str, int]
    requested: frozenset[str] | None = None

    @property
    def vector_size(self) -> int:
        """Number of dimensions."""
        return int(self.vectors.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self.vectors.dtype

    @property
    def held(self) -> Held:
        """Where the vectors are."""
        if self.requested is not None:
            return "selected"
        return "mapped" if is_mapped(self.vectors) else "memory"

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors, as they are held."""
        return self.vectors.nbytes

    @property
    @abstractmethod
    def vectors(self) -> FloatArray:
        """All vectors, of shape (n_words, dim)."""

    def rows(self, rows: RowsLike) -> FloatArray:
        """Return the vectors of some rows.

        Parameters
        ----------
        rows : slice without step, or sequence of int
            Rows, as `key_to_index` numbers them.

        Returns
        -------
        ndarray of shape (n_rows, dim)
            For an array in memory, a slice gives a view.
        """
        # numpy takes rows faster than it indexes them.
        if isinstance(rows, slice):
            return self.vectors[rows]
        return self.vectors.take(np.asarray(rows, dtype=np.intp), axis=0)

    def load(self) -> None:  # noqa: B027 - most tables are there already
        """Read everything into memory."""

    def copy_vectors(self) -> FloatArray | None:
        """Copy all vectors.

        Returns
        -------
        ndarray of shape (n_words, dim), or None
            None while the vectors are only stored in another form, or in a file.
        """
        return np.array(self.vectors)

    def with_vectors(self, vectors: FloatArray | None) -> Any:
        """Make a table of the same words over other vectors.

        Parameters
        ----------
        vectors : ndarray of shape (n_words, dim), or None
            The vectors, taken as they are. None keeps those that are not in memory as they are.

        Returns
        -------
        object
            What a `WordEmbeddingModel` takes: a table, or vectors of gensim.
        """
        table = copy.copy(self)
        table.__dict__["vectors"] = vectors
        return table

    def portable(self) -> Any:
        """Return a table that another process can use, even if the file changes.

        joblib sends a mapped array as the name of its file, and so loses what was changed.

        Returns
        -------
        object
            What a `WordEmbeddingModel` takes.
        """
        return self.with_vectors(np.array(self.vectors)) if self.held == "mapped" else self

    def refresh(self, rows: Sequence[int] | npt.NDArray[np.intp]) -> None:  # noqa: B027
        """Bring up to date what is derived from rows that were changed.

        Parameters
        ----------
        rows : sequence of int
            The rows.
        """

    @property
    def knows_subwords(self) -> bool:
        """Whether vectors of other words can be built from their parts."""
        return False

    def has_subwords(self, word: str) -> bool:  # noqa: ARG002 - for tables that do
        """Tell whether a vector can be built for a word that is not in `key_to_index`.

        Parameters
        ----------
        word : str
            The word.

        Returns
        -------
        bool
            False for a table that knows whole words only.
        """
        return False

    def blocks(self) -> Iterator[Block]:
        """Hand out all words and vectors, in order, in blocks of bounded size.

        Yields
        ------
        words : list of str
            Some words.
        vectors : ndarray of shape (len(words), dim)
            Their vectors.
        """
        index = self.key_to_index
        if hasattr(index, "words"):
            # Rows 0, 1, 2, ...: a vocabulary in a file need not be read as a whole.
            for part in chunks(len(index), CHUNK_ROWS):
                yield index.words(part.start, part.stop), self.rows(part)
            return
        words, rows = list(index), np.fromiter(index.values(), dtype=np.intp, count=len(index))
        for part in chunks(len(words), CHUNK_ROWS):
            yield words[part], self.rows(rows[part])

    def select(self, words: Iterable[str]) -> Block:
        """Read the vectors of some words.

        Parameters
        ----------
        words : iterable of str
            Words, which need not all be there.

        Returns
        -------
        words : list of str
            Those that are there, in the order of their rows.
        vectors : ndarray of shape (len(words), dim)
            Their vectors.
        """
        index = self.key_to_index
        rows = sorted((index[word], word) for word in words if word in index)
        chosen = np.array([row for row, _ in rows], dtype=np.intp)
        return [word for _, word in rows], self.rows(chosen)

    def words_at(self, rows: npt.NDArray[np.integer[Any]]) -> list[str]:
        """Return the words of rows.

        Parameters
        ----------
        rows : ndarray of int
            Rows.

        Returns
        -------
        list of str
            Their words.
        """
        wanted = set(rows.tolist())
        words = {row: word for word, row in self.key_to_index.items() if row in wanted}
        return [words[row] for row in rows.tolist()]

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
        from wefe.models.formats._write import save_table

        save_table(self, path, "gensim")

    def __getitem__(self, word: str) -> FloatArray:
        return self.rows([self.key_to_index[word]])[0]  # type: ignore[no-any-return]

    def __contains__(self, word: object) -> bool:
        return word in self.key_to_index

    def __len__(self) -> int:
        return len(self.key_to_index)

    @property
    def n_rows(self) -> int:
        """Number of rows; gensim may have room for words to come."""
        return len(self.key_to_index)


class ArrayVectors(VectorTable):
    """A vocabulary and a 2-d array: the table of vectors that works without gensim.

    Parameters
    ----------
    vocabulary : sequence of str
        The words, all different, one per row.
    vectors : ndarray of shape (n_words, dim)
        Floating-point numbers of any width. Kept as they are, not copied.
    requested : collection of str, optional
        The words for which a file was opened. Looking up any other word that is not in the table
        is an `UnreadWordError` then, as the file may have it.
    label : str, default=''
        The file, as messages name it.

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

    vectors: FloatArray = None  # type: ignore[assignment]  # an attribute, not a property

    def __init__(
        self,
        vocabulary: Sequence[str],
        vectors: npt.ArrayLike,
        requested: Iterable[str] | None = None,
        label: str = "",
    ) -> None:
        self.vectors = check_vectors(vectors)
        if len(check_sequence("vocabulary", vocabulary)) != len(self.vectors):
            raise ValueError(
                f"vocabulary and vectors must have the same length; got {len(vocabulary)} words "
                f"and {len(self.vectors)} rows."
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
        self.key_to_index = index
        if requested is not None:
            self.requested = frozenset(requested)
            self.key_to_index = PartialIndex(index, self.requested, label)

    @classmethod
    def unchecked(cls, key_to_index: Mapping[str, int], vectors: FloatArray) -> ArrayVectors:
        """Make a table of an index and an array that are known to fit.

        Parameters
        ----------
        key_to_index : mapping from str to int
            The row of each word.
        vectors : ndarray of shape (n_words, dim)
            The vectors.

        Returns
        -------
        ArrayVectors
            The table.
        """
        table = cls.__new__(cls)
        table.key_to_index, table.vectors = key_to_index, vectors
        return table

    def __getitem__(self, word: str) -> FloatArray:
        return self.vectors[self.key_to_index[word]]  # type: ignore[no-any-return]


class UnreadWordError(KeyError, ValueError):
    """A word was looked up in a model that was opened for other words."""

    def __str__(self) -> str:
        return str(self.args[0])


_OPEN_AGAIN = (
    "so it is unknown whether the file has it. Open the file for this word too (words=...), or "
    "whole (hold='memory')."
)


class PartialIndex(dict[str, int]):
    """The rows of the words found; a word that was never searched for is an error, not missing.

    `requested` are the words searched for, and `label` names what was searched. `hint` ends the
    message: what to do.
    """

    def __init__(
        self,
        index: Mapping[str, int],
        requested: frozenset[str],
        label: str,
        hint: str = _OPEN_AGAIN,
    ) -> None:
        super().__init__(index)
        self.requested, self.label, self.hint = requested, label, hint

    def _check(self, word: object) -> None:
        if (
            not dict.__contains__(self, word)
            and isinstance(word, str)
            and word not in self.requested
        ):
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
    """Vectors that are kept in another form than an array in memory.

    Quantised to int8, in bfloat16, as the tokens of a language model, or in a file: `rows` makes
    the vectors of some words; `vectors` makes all of them, once, in memory.
    """

    #: Where it is kept.
    stored_held: Held = "mapped"
    vector_size: int = 0
    _all: FloatArray | None = None

    @abstractmethod
    def _make(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        """Return new vectors of shape (len(rows), dim)."""

    @property
    @abstractmethod
    def stored_nbytes(self) -> int:
        """Bytes of what is kept."""

    def rows(self, rows: RowsLike) -> FloatArray:
        """Return the vectors of some rows, of shape (len(rows), dim): a new array."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self.key_to_index)))
        indices = np.asarray(rows, dtype=np.intp)
        return self._make(indices) if self._all is None else self._all[indices]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers that `rows` returns."""
        return np.dtype(np.float32)

    @property
    def vectors(self) -> FloatArray:
        """All vectors, of shape (n_words, dim), made in memory at the first use."""
        if self._all is None:
            n_words = len(self.key_to_index)
            every = np.empty((n_words, self.vector_size), dtype=self.dtype)
            for part in chunks(n_words, CHUNK_ROWS):
                every[part] = self.rows(part)
            self._all = every
            logger.info(
                "all %d vectors were read into memory (%.1f MB), because a call needed all of them",
                n_words,
                every.nbytes / 1e6,
            )
        return self._all

    def load(self) -> None:
        """Make all vectors, and the index of their words, in memory."""
        self.key_to_index, self._all = dict(self.key_to_index.items()), self.vectors

    def copy_vectors(self) -> FloatArray | None:
        """Return a copy of all vectors; None unless they were made."""
        return None if self._all is None else np.array(self.vectors)

    def portable(self) -> Any:
        """Return the table, which opens its files anew in another process."""
        return self

    def with_vectors(self, vectors: FloatArray | None) -> Any:
        """Return a table of the same words over other vectors; None keeps the stored ones."""
        table = copy.copy(self)
        table._all = vectors
        return table

    @property
    def held(self) -> Held:
        """Where the vectors are: as stored, or in memory once all were asked for."""
        return self.stored_held if self._all is None else "memory"

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors, as they are held."""
        return self.stored_nbytes if self._all is None else self._all.nbytes


class RowVectors(StoredVectors):
    """Vectors that are rows of an array in a file, or in memory, and are made when they are used.

    A row of int8 is multiplied by its `scale`. `places` has the row of each word, where several
    words have one, as in spaCy's pruned vectors.
    """

    def __init__(
        self, key_to_index: Mapping[str, int], array: Any, scale: Any = None, places: Any = None
    ) -> None:
        self.key_to_index, self.vector_size = key_to_index, int(array.shape[1])
        self._array, self._scale, self._places = array, scale, places
        self.stored_held = "memory" if isinstance(array, np.ndarray) else "mapped"

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers that `rows` returns."""
        return self._array.dtype if self._scale is None else np.dtype(np.float32)

    def _make(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        rows = rows if self._places is None else self._places[rows]
        vectors: FloatArray = self._array[rows]
        if self._scale is not None:
            vectors = vectors.astype(np.float32)
            vectors *= self._scale[rows][:, None]
        return vectors

    def portable(self) -> Any:
        """Return a table in memory: another file may have taken the place of this one."""
        return self.with_vectors(np.array(self.rows(slice(None))))

    @property
    def stored_nbytes(self) -> int:
        """Bytes of the rows, and of what belongs to them."""
        parts = (self._array, self._scale, self._places)
        return sum(int(part.nbytes) for part in parts if part is not None)


class ForeignVectors(VectorTable):
    """gensim's `KeyedVectors`, or another object with `key_to_index` and `vectors`.

    They are looked at anew each time.
    """

    def __init__(self, wv: Any) -> None:
        self.wv = wv

    @property
    def key_to_index(self) -> Mapping[str, int]:  # type: ignore[override]
        """The row of each word."""
        return self.wv.key_to_index  # type: ignore[no-any-return]

    @property
    def vectors(self) -> FloatArray:
        """All vectors; gensim may have room for words to come."""
        return self.wv.vectors  # type: ignore[no-any-return]

    def with_vectors(self, vectors: FloatArray | None) -> Any:
        """Return another object of the same class."""
        if not hasattr(self.wv, "index_to_key"):
            return ArrayVectors.unchecked(self.key_to_index, vectors)  # type: ignore[arg-type]
        # Dictionaries and lists of its own, as words may be added to it later.
        wv = copy.copy(self.wv)
        for attribute, value in vars(self.wv).items():
            if isinstance(value, dict | list):
                setattr(wv, attribute, value.copy())
        wv.vectors, wv.norms = vectors, None
        if getattr(wv, "vectors_vocab", None) is not None:
            wv.vectors_vocab = np.array(wv.vectors_vocab)
        return wv

    def portable(self) -> Any:
        """Return vectors of which none are mapped."""
        return super().portable() if self.held == "mapped" else self.wv

    @property
    def n_rows(self) -> int:
        """Number of rows, those for words to come included."""
        return len(self.vectors)

    def refresh(self, rows: Sequence[int] | npt.NDArray[np.intp]) -> None:
        """Bring up to date what gensim derives its rows from, and caches of them."""
        wv = self.wv
        # gensim caches the lengths of its vectors for `most_similar`.
        if getattr(wv, "norms", None) is not None:
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

    @property
    def knows_subwords(self) -> bool:
        """Whether these are gensim's vectors of fastText."""
        return getattr(self.wv, "vectors_ngrams", None) is not None

    def has_subwords(self, word: str) -> bool:
        """Tell whether a word has n-grams; the `in` of gensim's fastText says yes to every word."""
        # Of a word too short for n-grams it makes a zero vector. It delimits words with < and >,
        # which are no n-grams themselves.
        shortest = max(self.wv.min_n, 1 if word else 2)
        return bool(self.wv.bucket > 0 and shortest <= min(self.wv.max_n, len(word) + 2))

    def get_vector(self, word: str) -> FloatArray:
        """Return the vector of a word, built of its n-grams if need be."""
        return self.wv.get_vector(word)  # type: ignore[no-any-return]


def is_table(value: object) -> bool:
    """Tell whether an object holds words and vectors, as gensim's `KeyedVectors` do."""
    return isinstance(value, VectorTable) or (
        hasattr(value, "key_to_index") and hasattr(value, "vectors")
    )


def as_table(wv: Any) -> VectorTable:
    """Wrap vectors of any library in a table."""
    return wv if isinstance(wv, VectorTable) else ForeignVectors(wv)


def is_mapped(array: Any) -> bool:
    """Tell whether an array is, or is a view of, a memory-mapped file."""
    while array is not None:
        if isinstance(array, mmap.mmap):
            return True
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    return False


def chunks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


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
