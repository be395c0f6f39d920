"""WordEmbeddingModel: one face for every kind of static embedding."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wefe._checks import check_bool, found
from wefe.models._keyed_vectors import (
    CHUNK_ROWS,
    ArrayVectors,
    FloatArray,
    Held,
    IndexedVectors,
    KeyedVectors,
    SelectedVectors,
    StoredVectors,
    check_vectors,
    held,
    private_copy,
)

if TYPE_CHECKING:
    from wefe.models.formats._write import SavedFormat
    from wefe.query import Query
    from wefe.words import Preprocessors


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

    See Also
    --------
    load : Open any embedding, from a file or a hub.

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
        # Not asked for its vectors, which would be made in memory.
        stored = isinstance(wv, StoredVectors)
        if not stored and not isinstance(wv, KeyedVectors):
            inner = getattr(wv, "wv", None)
            hint = " Pass its .wv instead." if isinstance(inner, KeyedVectors) else ""
            raise TypeError(
                "wv must be a gensim KeyedVectors (version 4 or newer) or a pair "
                f"(vocabulary, 2-d array); got {found(wv)}.{hint}"
            )
        if not stored:
            check_vectors(wv.vectors)
        for what, text in (("name", name), ("vocab_prefix", vocab_prefix)):
            if text is not None and not isinstance(text, str):
                raise TypeError(f"{what} must be a string or None; got {found(text)}.")
        if check_bool("use_subwords", use_subwords) and not _knows_subwords(wv):
            raise TypeError(
                "use_subwords=True needs vectors that know subwords (gensim's "
                "FastTextKeyedVectors, or a file of vectors with a tokenizer); got "
                f"{type(wv).__name__}."
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
        """Make a model from a list of words and an array, without gensim.

        Parameters
        ----------
        vocabulary : sequence of str
            The words, all different.
        embeddings : array-like of shape (n_words, dim)
            Their vectors, a word per row: floating-point numbers of any width. An array is taken
            as it is, not copied.
        name : str, optional
            The name under which results are reported.
        vocab_prefix : str, optional
            Put before each word of a query when it is looked up.

        Returns
        -------
        WordEmbeddingModel
            The model.

        Raises
        ------
        TypeError
            If a word is no string, or the numbers are not floating-point.
        ValueError
            If a word is there twice, there are more words than vectors, or fewer, or the array is
            not 2-d.

        Examples
        --------
        >>> import numpy as np
        >>> WordEmbeddingModel.from_arrays(["she", "he"], np.eye(2), "toy")
        <WordEmbeddingModel named 'toy' with 2 word embeddings of 2 dims>
        """
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
        return int(self.wv.vector_size if self._stored else self.vectors.shape[1])

    @property
    def held(self) -> Held:
        """Where the vectors are.

        'selected': in memory, and only those of the words for which the file was opened.
        'mapped': in a file, of which the system reads what is used; changes stay in memory.
        'memory': in memory, all of them.
        """
        return held(self.wv)

    @property
    def nbytes(self) -> int:
        """Size of the vectors in bytes, as they are held (in the file, if mapped)."""
        return int(self.wv.nbytes if self._stored else self.vectors.nbytes)

    @property
    def _stored(self) -> bool:
        return isinstance(self.wv, StoredVectors)

    def __len__(self) -> int:
        return len(self.vocab)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the words of the vocabulary, in the order of their rows."""
        return iter(self.vocab)

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
            vector: FloatArray = self.wv.rows([row])[0] if self._stored else self.vectors[row]
            vector.flags.writeable = False
            return vector
        if word in self:
            # gensim builds it in float32, whatever the model has.
            return np.asarray(self.wv.get_vector(word), dtype=self.dtype)
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
        row_of = self.vocab
        try:
            rows = [row_of[word] for word in words]
        except KeyError:
            return np.array([self[word] for word in words], dtype=self.dtype)
        if not rows:
            return np.empty((0, self.dim), dtype=self.dtype)
        # A mapped row is copied, and so is one in memory.
        return self.wv.rows(rows) if self._stored else np.asarray(self.vectors[rows])

    def prepare(
        self,
        words: Iterable[str | Query] | Query,
        preprocessors: Preprocessors | None = None,
    ) -> None:
        """Make ready the vectors of words and queries that are to be looked up.

        A table of vectors has nothing to do. A :class:`wefe.contextual.ContextualModel` encodes
        what it lacks, in one pass.

        Parameters
        ----------
        words : iterable of str or Query, or Query
            Words, exactly as they are to be looked up, and queries, which stand for their words.
        preprocessors : list of dict, optional
            The variants in which the words of queries are to be looked up; see
            :class:`wefe.embeddings.Lookup`.
        """

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers that a vector has."""
        return np.dtype(np.float32) if self._stored else self.vectors.dtype

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
        for start in range(0, len(self.vectors), CHUNK_ROWS):
            chunk = slice(start, start + CHUNK_ROWS)
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

    def save(
        self,
        path: str | os.PathLike[str],
        format: SavedFormat | None = None,  # noqa: A002 - what it is
        *,
        progress: bool = True,
    ) -> None:
        """Write the model to a file that :func:`wefe.models.load`, and others, can open.

        Parameters
        ----------
        path : path
            The file. It appears, or is replaced, once all of it is written.
        format : {'glove', 'word2vec', 'word2vec-binary', 'gensim', 'native'}, optional
            By default as the suffix says: .txt, .vec, .bin, .kv or .safetensors. Text and word2vec
            binary may be packed ('.txt.gz'); 'native' opens in milliseconds.
        progress : bool, default=True
            Whether long work shows a bar.

        Raises
        ------
        ValueError
            If the format is unknown, or cannot hold a word or number of the model.

        Notes
        -----
        Text gives back the same float32 numbers to the last bit. float64 becomes float32.

        Examples
        --------
        >>> import tempfile
        >>> from wefe import load
        >>> model = WordEmbeddingModel((["she", "he"], np.eye(2, dtype=np.float32)), "toy")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/toy.txt")
        ...     load(f"{folder}/toy.txt") == model
        True
        """
        from wefe.models.formats._write import save

        save(self, path, format, progress=progress)

    def copy(self, name: str | None = None) -> WordEmbeddingModel:
        """Return a model of its own, which can be changed without changing this one.

        Parameters
        ----------
        name : str, optional
            Its name; by default that of this model.

        Returns
        -------
        WordEmbeddingModel
            Vectors in memory are copied. Mapped ones are mapped once more: what is changed later,
            in either model, costs memory, the rest does not.

        Examples
        --------
        >>> model = WordEmbeddingModel((["she", "he"], np.eye(2)), name="toy")
        >>> other = model.copy("changed")
        >>> other.update("she", np.zeros(2))
        >>> model["she"]
        array([1., 0.])
        """
        vectors = self.wv._all if self._stored else private_copy(self.vectors)
        if self._stored and vectors is not None:
            vectors = np.array(vectors)
        return self._with_vectors(vectors, name)

    def _with_vectors(
        self, vectors: FloatArray | None, name: str | None = None
    ) -> WordEmbeddingModel:
        """Return a model like this one over another array, which is taken as it is.

        Of stored vectors None keeps them as they are stored. Call `_refresh` when rows of the
        array are not those of this model.
        """
        table = self.wv
        if isinstance(table, SelectedVectors):
            label = table.key_to_index.label  # type: ignore[attr-defined]
            wv: Any = SelectedVectors(list(table.key_to_index), vectors, table.asked, label)  # type: ignore[arg-type]
        elif isinstance(table, StoredVectors):
            wv = copy.copy(table)
            wv._all = vectors
        elif isinstance(table, IndexedVectors) or not hasattr(table, "index_to_key"):
            wv = IndexedVectors(table.key_to_index, vectors)  # type: ignore[arg-type]
        else:
            # gensim's: dictionaries and lists of its own, as words may be added to it later.
            wv = copy.copy(table)
            for attribute, value in vars(table).items():
                if isinstance(value, dict | list):
                    setattr(wv, attribute, value.copy())
            wv.vectors = vectors
            wv.norms = None
            if getattr(table, "vectors_vocab", None) is not None:
                wv.vectors_vocab = np.array(table.vectors_vocab)
        return WordEmbeddingModel(
            wv,
            self.name if name is None else name,
            self.vocab_prefix,
            use_subwords=self.use_subwords,
        )

    def most_similar(
        self,
        positive: Any = None,
        negative: Any = None,
        topn: int = 10,
        *,
        restrict_vocab: int | None = None,
    ) -> list[tuple[str, float]]:
        """Find the words nearest to some words and far from others, as gensim's method does.

        See :func:`wefe.models.neighbors_of` and :func:`wefe.models.nearest_neighbors` for many
        queries at once.

        Parameters
        ----------
        positive, negative : str, ndarray of shape (dim,), or sequence of these, optional
            Words, written as the vocabulary has them, and vectors; at least one.
        topn : int, default=10
            Number of words wanted.
        restrict_vocab : int, optional
            Search only that many words from the start of the vocabulary.

        Returns
        -------
        list of (str, float)
            Words and their cosines, in [-1, 1], with the mean of the unit vectors of the words; by
            falling cosine. The words given are left out.

        Raises
        ------
        KeyError
            If the model lacks a word.
        ValueError
            If the model was opened for some words only, or what is given has no direction.

        Examples
        --------
        >>> from wefe import load_test_model
        >>> [word for word, _ in load_test_model().most_similar("nurse", topn=3)]
        ['nurses', 'nursing', 'midwife']
        """
        from wefe.models._neighbors import most_similar

        return most_similar(self, positive, negative, topn, restrict_vocab=restrict_vocab)

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

    def _write(self, rows: Sequence[int] | npt.NDArray[np.intp], vectors: FloatArray) -> None:
        """Replace rows, and with them what gensim derives them from or caches of them."""
        self.vectors[rows] = vectors
        self._refresh(rows)

    def _refresh(self, rows: Sequence[int] | npt.NDArray[np.intp]) -> None:
        """Bring up to date what gensim derives rows from or caches of them."""
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
                or self.wv is other.wv
                or np.array_equal(
                    getattr(self.wv, "vectors_ngrams", self.wv.vectors),
                    getattr(other.wv, "vectors_ngrams", other.wv.vectors),
                    equal_nan=True,
                )
            )
        )

    # Vectors change in place, so a model is no dictionary key.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        named = "" if self.name == "Unnamed model" else "named "
        prefix = f" and {self.vocab_prefix!r} as word prefix" if self.vocab_prefix else ""
        where = "" if self.held == "memory" else f", {self.held}"
        if isinstance(self.wv, SelectedVectors):
            where += f" of {len(self.wv.asked)} words asked for"
        return (
            f"<WordEmbeddingModel {named}{self.name!r} with {len(self)} word embeddings "
            f"of {self.dim} dims{prefix}{where}>"
        )


def check_model(model: object) -> None:
    """Refuse anything that is not a `WordEmbeddingModel`."""
    if not isinstance(model, WordEmbeddingModel):
        hint = (
            f"Open it first: wefe.load({model!r})."
            if isinstance(model, str)
            else "Wrap the vectors first: WordEmbeddingModel(vectors, name='...')."
        )
        raise TypeError(f"model must be a WordEmbeddingModel; got {found(model)}. {hint}")


def _knows_subwords(wv: Any) -> bool:
    return hasattr(wv, "has_subwords") or getattr(wv, "vectors_ngrams", None) is not None


def _has_subwords(wv: Any, word: str) -> bool:
    """Tell whether a vector can be built; the `in` of gensim's fastText says yes to every word."""
    if hasattr(wv, "has_subwords"):
        return bool(wv.has_subwords(word))
    # Of a word too short for n-grams it makes a zero vector. It delimits words with < and >,
    # which are no n-grams themselves.
    length = len(word) + 2
    shortest = max(wv.min_n, 1 if word else 2)
    return bool(wv.bucket > 0 and shortest <= min(wv.max_n, length))
