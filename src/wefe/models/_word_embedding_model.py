"""WordEmbeddingModel: one face for every kind of static embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from wefe._checks import check_bool, check_sequence, found

FloatArray = npt.NDArray[np.floating[Any]]

# Rows that are normalised at once: bounds the temporary memory to some tens of MB.
_CHUNK_ROWS = 16_384


@runtime_checkable
class KeyedVectors(Protocol):
    """What a table of vectors must offer; gensim's `KeyedVectors` does, so does `ArrayVectors`."""

    @property
    def key_to_index(self) -> Mapping[str, int]:
        """The row of each word."""

    @property
    def vectors(self) -> FloatArray:
        """The vectors, of shape (n_words, dim)."""


class ArrayVectors:
    """A vocabulary and a 2-d array: the table of vectors that works without gensim.

    Parameters
    ----------
    vocabulary : sequence of str
        The words, all different, one per row.
    vectors : ndarray of shape (n_words, dim)
        Floating-point numbers of any width. Kept as they are, not copied.

    Examples
    --------
    >>> import numpy as np
    >>> table = ArrayVectors(["she", "he"], np.eye(2))
    >>> table["he"]
    array([0., 1.])
    """

    def __init__(self, vocabulary: Sequence[str], vectors: npt.ArrayLike) -> None:
        array = _check_vectors(vectors)
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
        self.key_to_index = index
        self.vectors = array

    @property
    def vector_size(self) -> int:
        """Number of dimensions."""
        return int(self.vectors.shape[1])

    def __getitem__(self, word: str) -> FloatArray:
        return self.vectors[self.key_to_index[word]]  # type: ignore[no-any-return]

    def __contains__(self, word: object) -> bool:
        return word in self.key_to_index

    def __len__(self) -> int:
        return len(self.key_to_index)


class WordEmbeddingModel:
    """A static word embedding with a name.

    Parameters
    ----------
    wv : gensim KeyedVectors, ArrayVectors or (vocabulary, vectors)
        Every gensim `KeyedVectors` works (version 4 or newer), `FastTextKeyedVectors` included;
        so does a pair of a list of words and a 2-d array, without gensim.
    name : str, optional
        The name under which results are reported; 'Unnamed model' by default.
    vocab_prefix : str, optional
        Put before each word of a query when it is looked up (``"/c/en/"`` for ConceptNet).
    use_subwords : bool, default=False
        For fastText vectors that can build a vector for an unseen word from its parts: True
        counts such words as found. False keeps to the vocabulary, as all other models do.

    Attributes
    ----------
    wv
        The table of vectors.
    vocab : mapping from str to int
        The words and their rows.
    name : str
        The name.
    vocab_prefix : str or None
        The prefix.

    Raises
    ------
    TypeError
        If `wv` is no table of floating-point vectors, or a name or prefix is not a string.

    Examples
    --------
    >>> import numpy as np
    >>> model = WordEmbeddingModel((["she", "he"], np.eye(2)), name="toy")
    >>> model
    <WordEmbeddingModel named 'toy' with 2 word embeddings of 2 dims>
    >>> "she" in model, "they" in model
    (True, False)
    >>> model["he"]
    array([0., 1.])
    """

    def __init__(
        self,
        wv: Any,
        name: str | None = None,
        vocab_prefix: str | None = None,
        *,
        use_subwords: bool = False,
    ) -> None:
        if isinstance(wv, tuple) and len(wv) == 2:
            wv = ArrayVectors(*wv)
        if not isinstance(wv, KeyedVectors):
            inner = getattr(wv, "wv", None)
            hint = " Pass its .wv instead." if isinstance(inner, KeyedVectors) else ""
            raise TypeError(
                "wv must be a gensim KeyedVectors (version 4 or newer) or a pair "
                f"(vocabulary, 2-d array); got {found(wv)}.{hint}"
            )
        _check_vectors(wv.vectors)
        for what, text in (("name", name), ("vocab_prefix", vocab_prefix)):
            if text is not None and not isinstance(text, str):
                raise TypeError(f"{what} must be a string or None; got {found(text)}.")
        if check_bool("use_subwords", use_subwords) and not _knows_subwords(wv):
            raise TypeError(
                "use_subwords=True needs vectors that know subwords (gensim's "
                f"FastTextKeyedVectors); got {type(wv).__name__}."
            )
        self.wv: Any = wv
        self.name = "Unnamed model" if name is None else name
        self.vocab_prefix = vocab_prefix
        self.use_subwords = use_subwords

    @classmethod
    def from_arrays(
        cls,
        vocabulary: Sequence[str],
        embeddings: npt.ArrayLike,
        name: str | None = None,
        vocab_prefix: str | None = None,
    ) -> WordEmbeddingModel:
        """Make a model from a list of words and an array of shape (n_words, dim)."""
        return cls(ArrayVectors(vocabulary, embeddings), name, vocab_prefix)

    @property
    def vocab(self) -> Mapping[str, int]:
        """The words of the vocabulary and their rows."""
        return self.wv.key_to_index  # type: ignore[no-any-return]

    @property
    def model_name(self) -> str:
        """The same as `name`, as older releases called it."""
        return self.name

    @property
    def vectors(self) -> FloatArray:
        """All vectors, of shape (n_words, dim): the array itself, not a copy."""
        return self.wv.vectors  # type: ignore[no-any-return]

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.vocab)

    def __contains__(self, word: object) -> bool:
        if word in self.vocab:
            return True
        return self.use_subwords and isinstance(word, str) and _has_subwords(self.wv, word)

    def __getitem__(self, word: str) -> FloatArray:
        """Return the vector of a word, exactly as written (the prefix is not added).

        It is read-only, as gensim's are: :meth:`update` is the way to change a vector.
        """
        row = self.vocab.get(word)
        if row is not None:
            vector: FloatArray = self.vectors[row]
            vector.flags.writeable = False
            return vector
        if word in self:
            # gensim builds it in float32, whatever the model has.
            return np.asarray(self.wv.get_vector(word), dtype=self.vectors.dtype)
        raise KeyError(f"{word!r} is not in the vocabulary of {self.name} ({len(self):,} words)")

    def get_vectors(self, words: Sequence[str]) -> FloatArray:
        """Return the vectors of words, each exactly as written.

        Parameters
        ----------
        words : sequence of str
            Words of the model.

        Returns
        -------
        ndarray of shape (len(words), dim)
            A new array in the dtype of the model.

        Raises
        ------
        KeyError
            If the model lacks a word; the error names it.
        """
        try:
            rows = [self.vocab[word] for word in words]
        except KeyError:
            return np.array([self[word] for word in words], dtype=self.vectors.dtype)
        if not rows:
            return np.empty((0, self.dim), dtype=self.vectors.dtype)
        return self.vectors[rows]

    def normalize(self) -> None:
        """Scale every vector to unit (L2) length, in place.

        Vectors without a direction (zero, or with NaN or infinity) stay as they are. The dtype
        stays; lengths are computed in at least float64.

        Raises
        ------
        ValueError
            If the vectors are read-only.
        """
        self._check_writeable()
        # float32 cannot square its large numbers: a length of inf would turn a vector into zeros.
        width = np.promote_types(self.vectors.dtype, np.float64)
        for start in range(0, len(self.vectors), _CHUNK_ROWS):
            chunk = slice(start, start + _CHUNK_ROWS)
            rows = self.vectors[chunk].astype(width)
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            lengths[(lengths == 0) | ~np.isfinite(lengths)] = 1
            self._write(range(start, start + len(rows)), rows / lengths)

    def update(self, word: str, embedding: FloatArray) -> None:
        """Replace the vector of one word of the vocabulary.

        Parameters
        ----------
        word : str
            The word.
        embedding : ndarray of shape (dim,)
            Its new vector, in the dtype of the model.

        Raises
        ------
        TypeError
            If `word` is not a string or `embedding` not an array.
        ValueError
            If the model lacks the word, shape or dtype are not those of the model, or its vectors
            are read-only. Nothing is changed then.
        """
        if not isinstance(word, str):
            raise TypeError(f"word must be a string; got {found(word)}.")
        if not isinstance(embedding, np.ndarray):
            raise TypeError(f"embedding must be a numpy array; got {found(embedding)}.")
        self.batch_update([word], [embedding])

    def batch_update(
        self, words: Sequence[str], embeddings: Sequence[FloatArray] | FloatArray
    ) -> None:
        """Replace the vectors of several words; either all are replaced or none.

        Parameters
        ----------
        words : sequence of str
            Words of the vocabulary.
        embeddings : sequence of ndarray, or ndarray of shape (len(words), dim)
            Their new vectors, in the dtype of the model.

        Raises
        ------
        TypeError
            If `words` or `embeddings` are of another type.
        ValueError
            If the numbers differ, a word is missing, a shape or dtype is not the model's, or the
            vectors of the model are read-only.

        Notes
        -----
        Of a word that occurs twice, the last vector stays.
        """
        if not isinstance(words, list | tuple | np.ndarray):
            raise TypeError(f"words must be a list, tuple or array; got {found(words)}.")
        if not isinstance(embeddings, list | tuple | np.ndarray):
            raise TypeError(
                f"embeddings must be an array or a list of arrays; got {found(embeddings)}."
            )
        if len(words) != len(embeddings):
            raise ValueError(
                "words and embeddings must have the same length; got "
                f"{len(words)} words and {len(embeddings)} embeddings."
            )
        rows = [self._row_to_update(word) for word in words]
        for word, embedding in zip(words, embeddings, strict=True):
            self._check_embedding(word, embedding)
        if rows:
            self._check_writeable()
            vectors = np.asarray(embeddings)
            if np.may_share_memory(vectors, self.vectors):
                # Rows would be overwritten before they are read (numpy before 2 does that).
                vectors = vectors.copy()
            self._write(rows, vectors)

    def _row_to_update(self, word: str) -> int:
        if not isinstance(word, str):
            raise TypeError(f"words must be strings; got {found(word)}.")
        row = self.vocab.get(word)
        if row is None:
            raise ValueError(f"{word!r} is not in the vocabulary of {self.name}; nothing changed.")
        return row

    def _check_embedding(self, word: str, embedding: object) -> None:
        if not isinstance(embedding, np.ndarray):
            raise TypeError(f"the embedding of {word!r} must be an array; got {found(embedding)}.")
        if embedding.shape != (self.dim,):
            raise ValueError(
                f"the embedding of {word!r} must have shape ({self.dim},); got {embedding.shape}."
            )
        if embedding.dtype != self.vectors.dtype:
            raise ValueError(
                f"the embedding of {word!r} must be {self.vectors.dtype}, as the model is; "
                f"got {embedding.dtype}."
            )

    def _check_writeable(self) -> None:
        if not self.vectors.flags.writeable:
            raise ValueError(
                f"the vectors of {self.name} are read-only; nothing changed. Wrap a copy of them "
                "(what gensim loads with mmap='r' cannot be changed either)."
            )

    def _write(self, rows: Sequence[int], vectors: FloatArray) -> None:
        """Replace rows, and with them what gensim derives them from or caches of them."""
        self.vectors[rows] = vectors
        # gensim caches the lengths of its vectors for `most_similar`.
        if getattr(self.wv, "norms", None) is not None:
            self.wv.norms = None
        if len(getattr(self.wv, "buckets_word", None) or ()) != len(self.vectors):
            return
        # gensim's fastText saves no vectors; it makes them again when loaded, each as the mean of
        # the word's own vector and those of its n-grams. So the change goes into the former.
        if not self.wv.vectors_vocab.flags.writeable:
            self.wv.vectors_vocab = np.array(self.wv.vectors_vocab)
        for row in rows:
            ngrams = self.wv.vectors_ngrams[self.wv.buckets_word[row]]
            self.wv.vectors_vocab[row] = self.vectors[row] * (len(ngrams) + 1) - ngrams.sum(axis=0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordEmbeddingModel):
            return NotImplemented
        return (
            self.name == other.name
            and self.vocab_prefix == other.vocab_prefix
            and self.use_subwords == other.use_subwords
            and self.vectors.shape == other.vectors.shape
            and self.vectors.dtype == other.vectors.dtype
            and self.vocab == other.vocab
            and np.array_equal(self.vectors, other.vectors, equal_nan=True)
            and (
                not self.use_subwords
                or np.array_equal(self.wv.vectors_ngrams, other.wv.vectors_ngrams, equal_nan=True)
            )
        )

    # Vectors change in place, so a model is no dictionary key.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        named = "" if self.name == "Unnamed model" else "named "
        prefix = f" and {self.vocab_prefix!r} as word prefix" if self.vocab_prefix else ""
        return (
            f"<WordEmbeddingModel {named}{self.name!r} with {len(self)} word embeddings "
            f"of {self.dim} dims{prefix}>"
        )


def check_model(model: object) -> None:
    """Refuse anything that is not a `WordEmbeddingModel`."""
    if not isinstance(model, WordEmbeddingModel):
        raise TypeError(
            f"model must be a WordEmbeddingModel; got {found(model)}. "
            "Wrap the vectors first: WordEmbeddingModel(vectors, name='...')."
        )


def _check_vectors(vectors: npt.ArrayLike) -> FloatArray:
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


def _knows_subwords(wv: Any) -> bool:
    return getattr(wv, "vectors_ngrams", None) is not None


def _has_subwords(wv: Any, word: str) -> bool:
    """Tell whether gensim's fastText can build a vector; its own `in` says yes to every word."""
    # Of a word too short for n-grams it makes a zero vector. It delimits words with < and >,
    # which are no n-grams themselves.
    length = len(word) + 2
    shortest = max(wv.min_n, 1 if word else 2)
    return bool(wv.bucket > 0 and shortest <= min(wv.max_n, length))
