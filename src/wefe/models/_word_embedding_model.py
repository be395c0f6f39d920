"""WordEmbeddingModel: one interface to every kind of static embedding."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wefe._checks import check_bool, check_positive_int, check_sequence, found
from wefe._visible import html_table
from wefe.models._search import directions, no_direction, search
from wefe.models._tables import (
    ArrayVectors,
    ForeignVectors,
    RowsLike,
    VectorTable,
    as_table,
    check_vectors,
    chunks,
    is_table,
)
from wefe.models._types import CHUNK_ROWS, FloatArray, Held

if TYPE_CHECKING:
    from wefe.models.formats._write import SavedFormat
    from wefe.query import Query
    from wefe.words import Preprocessors

logger = logging.getLogger(__name__)


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
        if not is_table(wv):
            hint = " Pass its .wv instead." if is_table(getattr(wv, "wv", None)) else ""
            raise TypeError(
                "wv must be a gensim KeyedVectors (version 4 or newer) or a pair "
                f"(vocabulary, 2-d array); got {found(wv)}.{hint}"
            )
        if not isinstance(wv, VectorTable):
            check_vectors(wv.vectors)
        for what, text in (("name", name), ("vocab_prefix", vocab_prefix)):
            if text is not None and not isinstance(text, str):
                raise TypeError(f"{what} must be a string or None; got {found(text)}.")
        if check_bool("use_subwords", use_subwords) and not as_table(wv).knows_subwords:
            raise TypeError(
                "use_subwords=True needs vectors that know subwords (fastText's, or a table with "
                f"a tokenizer); got {type(wv).__name__}."
            )
        self.wv: Any = wv.wv if isinstance(wv, ForeignVectors) else wv
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
    def table(self) -> VectorTable:
        """The table of vectors behind our interface, whichever library made it."""
        return as_table(self.wv)

    @property
    def vocab(self) -> Mapping[str, int]:
        """The words of the vocabulary and their rows."""
        return self.wv.key_to_index  # type: ignore[no-any-return]

    @property
    def model_name(self) -> str:
        """The same as `name`; kept from older releases."""
        return self.name

    @property
    def vectors(self) -> FloatArray:
        """All vectors, of shape (n_words, dim): the array itself, not a copy.

        Of a file that is read where it is used, they are read into memory first, and held there.
        """
        return self.wv.vectors  # type: ignore[no-any-return]

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return self.table.vector_size

    @property
    def held(self) -> Held:
        """Where the vectors are.

        'selected': in memory, and only those of the words for which the file was opened.
        'mapped': in a file, of which the rows are read that are used.
        'memory': in memory, all of them.
        """
        return self.table.held

    @property
    def nbytes(self) -> int:
        """Size of the vectors in bytes, as they are held (in the file, if mapped)."""
        return self.table.nbytes

    @property
    def requested(self) -> frozenset[str] | None:
        """The words for which the file was opened; None if the model has its whole vocabulary."""
        return self.table.requested

    def rows(self, rows: RowsLike) -> FloatArray:
        """Return the vectors of some rows.

        Parameters
        ----------
        rows : slice without step, or sequence of int
            Rows, as `vocab` numbers them.

        Returns
        -------
        ndarray of shape (n_rows, dim)
            In the dtype of the model. For vectors in memory, a slice gives a view.
        """
        return self.table.rows(rows)

    def __len__(self) -> int:
        return len(self.vocab)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the words of the vocabulary, in the order of their rows."""
        return iter(self.vocab)

    def __contains__(self, word: object) -> bool:
        if word in self.vocab:
            return True
        return self.use_subwords and isinstance(word, str) and self.table.has_subwords(word)

    def __getitem__(self, word: str) -> FloatArray:
        """Return the vector of a word, exactly as written (the prefix is not added).

        It is read-only, as gensim's are: :meth:`update` is the way to change a vector.
        """
        row = self.vocab.get(word)
        if row is not None:
            vector: FloatArray = self.rows(slice(row, row + 1))[0]
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
        return np.asarray(self.rows(rows))

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
        return self.table.dtype

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
        for chunk in chunks(len(self.vectors), CHUNK_ROWS):
            rows = self.vectors[chunk].astype(width)
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            lengths[(lengths == 0) | ~np.isfinite(lengths)] = 1
            self._write(np.arange(chunk.start, chunk.stop), rows / lengths)

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
        check_sequence("words", words)
        check_sequence("embeddings", embeddings)
        if len(words) != len(embeddings):
            raise ValueError(
                "words and embeddings must have the same length; got "
                f"{len(words)} words and {len(embeddings)} embeddings."
            )
        for word, embedding in zip(words, embeddings, strict=True):
            if not isinstance(word, str) or not isinstance(embedding, np.ndarray):
                raise TypeError(
                    f"words must be strings and embeddings arrays; got {found(word)} and "
                    f"{found(embedding)}."
                )
            if word not in self.vocab:
                raise ValueError(f"{word!r} is not in the vocabulary of {self.name}.")
            if (embedding.dtype, embedding.shape) != (self.dtype, (self.dim,)):
                raise ValueError(
                    f"the embedding of {word!r} must be {self.dtype} of shape ({self.dim},), as "
                    f"the model has them; got {embedding.dtype} of shape {embedding.shape}."
                )
        if len(words):
            self._check_writeable()
            # A copy: the vectors may be rows of this model.
            self._write([self.vocab[word] for word in words], np.array(embeddings))

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
        from wefe.models.formats._write import save_table

        if self.use_subwords:
            logger.warning(
                "%s contains only the words of the vocabulary; vectors of other words, which %s "
                "builds from subwords, may be lost",
                *(path, self.name),
            )
        save_table(self.table, path, format, name=self.name, progress=progress)

    def copy(self, name: str | None = None) -> WordEmbeddingModel:
        """Return an independent copy, which you can change without changing this model.

        Parameters
        ----------
        name : str, optional
            Its name; by default that of this model.

        Returns
        -------
        WordEmbeddingModel
            Vectors in memory are copied. A file is read by both until one of them is changed.

        Examples
        --------
        >>> model = WordEmbeddingModel((["she", "he"], np.eye(2)), name="toy")
        >>> other = model.copy("changed")
        >>> other.update("she", np.zeros(2))
        >>> model["she"]
        array([1., 0.])
        """
        return self._with_vectors(self.table.copy_vectors(), name)

    def _with_vectors(
        self, vectors: FloatArray | None, name: str | None = None
    ) -> WordEmbeddingModel:
        """Return a model like this one over another array, which is taken as it is.

        None keeps vectors as they are stored. Call `table.refresh` when rows of the array are
        not those of this model.
        """
        return WordEmbeddingModel(
            self.table.with_vectors(vectors),
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
            Words, written as the vocabulary has them, and vectors; at least one. A pair (word or
            vector, weight) in a sequence gives it another weight than 1.
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
        table = self.whole_table("most_similar")
        n_words = len(table)
        if restrict_vocab is not None:
            n_words = min(n_words, check_positive_int("restrict_vocab", restrict_vocab))
        weighted = [
            *self._weighted("positive", positive, 1.0),
            *self._weighted("negative", negative, -1.0),
        ]
        vectors = [vector for _, vector in weighted]
        query = np.sum(vectors, axis=0)
        # What is left of vectors that cancel each other out is rounding noise.
        if not vectors or np.linalg.norm(query) <= 1e-12 * np.linalg.norm(vectors, axis=1).sum():
            raise ValueError(
                "positive and negative are empty, or cancel each other out: give a word or a "
                "vector."
            )
        words = [word for word, _ in weighted if isinstance(word, str)]
        given = [row for word in words if (row := self.vocab.get(word, n_words)) < n_words]
        topn = min(check_positive_int("topn", topn), n_words)
        rows, cosines = search(table, query[None], topn, [given], n_words=n_words)
        near = rows[0][rows[0] >= 0]
        return list(zip(table.words_at(near), cosines[0].tolist(), strict=False))

    def _weighted(
        self, name: str, items: Any, sign: float
    ) -> Iterator[tuple[Any, npt.NDArray[np.float64]]]:
        """Yield words or vectors with their weighted vectors, those of words of unit length."""
        if isinstance(items, str) or (isinstance(items, np.ndarray) and items.ndim == 1):
            items = [items]
        for position, item in enumerate(() if items is None else check_sequence(name, items)):
            is_pair = isinstance(item, tuple) and len(item) == 2
            word, weight = item if is_pair else (item, sign)
            vector = self[word] if isinstance(word, str) else word
            what = f"{name}: element {position} ({found(word)})"
            if not isinstance(vector, np.ndarray) or vector.dtype.kind not in "fiu":
                raise TypeError(f"{what} must be a word, or a vector: an array of numbers.")
            if vector.shape != (self.dim,):
                raise ValueError(f"{what} must have shape ({self.dim},); it has {vector.shape}.")
            unit, directed = directions(vector[None])
            if not directed[0]:
                raise ValueError(no_direction(what))
            yield word, weight * (unit[0] if isinstance(word, str) else vector.astype(np.float64))

    def whole_table(self, purpose: str) -> VectorTable:
        """Return the table; a model that was opened for some words only is refused.

        Parameters
        ----------
        purpose : str
            What needs the whole vocabulary, for the message.

        Returns
        -------
        VectorTable
            The table.

        Raises
        ------
        ValueError
            If the model does not have its whole vocabulary.
        """
        if self.held == "selected":
            raise ValueError(
                f"{purpose} needs the whole vocabulary, but {self.name} was opened for "
                f"{len(self.requested or ()):,} words only. Load the whole file (hold='memory'); "
                "for an encoder, take a snapshot of all words that matter."
            )
        return self.table

    def _check_writeable(self) -> None:
        if not self.vectors.flags.writeable:
            raise ValueError(
                f"the vectors of {self.name} are read-only; nothing changed. Wrap a copy of them "
                "(what gensim loads with mmap='r' cannot be changed either)."
            )

    def _write(self, rows: Sequence[int] | npt.NDArray[np.intp], vectors: FloatArray) -> None:
        """Replace rows, and with them what gensim derives them from or caches of them."""
        self.vectors[rows] = vectors
        self.table.refresh(rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordEmbeddingModel):
            return NotImplemented
        mine, others = (
            (m.name, m.vocab_prefix, m.use_subwords, m.vectors.shape, m.dtype, m.vocab)
            for m in (self, other)
        )
        parts = ("vectors", "vectors_ngrams") if self.use_subwords else ("vectors",)
        return mine == others and all(
            np.array_equal(getattr(self.wv, part, 0), getattr(other.wv, part, 0), equal_nan=True)
            for part in parts
        )

    # Vectors change in place, so a model is no dictionary key.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        named = "" if self.name == "Unnamed model" else "named "
        prefix = f" and {self.vocab_prefix!r} as word prefix" if self.vocab_prefix else ""
        where = "" if self.held == "memory" else f", {self.held}"
        if self.held == "selected" and self.requested is not None:
            where += f" of {len(self.requested)} words asked for"
        return (
            f"<WordEmbeddingModel {named}{self.name!r} with {len(self)} word embeddings "
            f"of {self.dim} dims{prefix}{where}>"
        )

    def _repr_html_(self) -> str:
        facts = {"word embeddings": len(self), "dimensions": self.dim, "storage": self.held}
        return html_table(self.name, [facts])


def check_model(model: object) -> None:
    """Refuse anything that is not a `WordEmbeddingModel`."""
    if not isinstance(model, WordEmbeddingModel):
        raise TypeError(
            f"model must be a WordEmbeddingModel; got {found(model)}. Open a file first: "
            "wefe.load(path); wrap vectors first: WordEmbeddingModel(vectors, name='...')."
        )


def check_models(models: object) -> list[WordEmbeddingModel]:
    """Return one model or several as a list; refuse an empty one."""
    if isinstance(models, WordEmbeddingModel):
        return [models]
    given = list(check_sequence("models", models))
    if not given:
        raise ValueError("models is empty; one model or more is needed.")
    for model in given:
        check_model(model)
    return given
