"""One interface to every kind of static embedding."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wefe._checks import check_bool, check_positive_int, check_sequence, found, logger
from wefe._visible import html_table
from wefe.models._search import directions, no_direction, search
from wefe.models._tables import VectorTable, as_table, chunks, table_of
from wefe.models._types import CHUNK_ROWS, FloatArray, Held

if TYPE_CHECKING:
    from wefe.models.formats._write import SavedFormat
    from wefe.words import Preprocessors, Words


class WordEmbeddingModel:
    """A static word embedding with a name, perhaps opened by :func:`wefe.models.load`.

    Parameters
    ----------
    wv : gensim KeyedVectors, ArrayVectors or (vocabulary, vectors)
        Vectors of gensim 4 or newer (also fastText), or a list of words and a 2-d array, which
        become ArrayVectors. Also an attribute.
    name : str, optional
        Name of the model in results; 'Unnamed model' by default.
    vocab_prefix : str, optional
        Prefix of every word of a query when it is looked up (``"/c/en/"`` for ConceptNet).
    use_subwords : bool, default=False
        Whether a word outside the vocabulary counts as found if its vector can be built from
        subwords, for example by fastText.

    Examples
    --------
    >>> import numpy as np
    >>> model = WordEmbeddingModel((["she", "he"], np.eye(2)), name="toy")
    >>> "they" in model, model["he"]
    (False, array([0., 1.]))
    """

    #: Words that look-ups do not find, though they have rows.
    _hidden: frozenset[str] = frozenset()

    def __init__(
        self,
        wv: Any,
        name: str | None = None,
        vocab_prefix: str | None = None,
        *,
        use_subwords: bool = False,
    ) -> None:
        table = table_of("wv", wv)
        for what, text in (("name", name), ("vocab_prefix", vocab_prefix)):
            if not isinstance(text, str | None):
                raise TypeError(f"{what} must be a string or None; got {found(text)}.")
        if check_bool("use_subwords", use_subwords) and not table.knows_subwords:
            raise TypeError("use_subwords=True needs vectors of subwords, such as fastText's.")
        self.wv: Any = getattr(table, "wv", table)
        self.name = "Unnamed model" if name is None else name
        self.vocab_prefix = vocab_prefix
        self.use_subwords = use_subwords

    @property
    def table(self) -> VectorTable:
        """The table of vectors, with the same interface for every library."""
        return as_table(self.wv)

    @property
    def vocab(self) -> Mapping[str, int]:
        """The words of the vocabulary and their rows."""
        return self.wv.key_to_index  # type: ignore[no-any-return]

    @property
    def settings(self) -> dict[str, Any]:
        """Options that decide the vectors, such as the prompt of an encoder; none for tables."""
        return {}

    @property
    def vectors(self) -> FloatArray:
        """All vectors, of shape (n_words, dim), not copied; a mapped file is read into memory."""
        return self.wv.vectors  # type: ignore[no-any-return]

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return self.table.vector_size

    @property
    def held(self) -> Held:
        """Storage: 'selected', 'mapped' or 'memory', as in :func:`wefe.models.load`."""
        return self.table.held

    @property
    def nbytes(self) -> int:
        """Size of the vectors in bytes, in memory or (if mapped) in the file."""
        return self.table.nbytes

    def __len__(self) -> int:
        return len(self.vocab)

    def __iter__(self) -> Iterator[str]:
        return iter(self.vocab)

    def __contains__(self, word: object) -> bool:
        if word in self._hidden:
            return False
        if word in self.vocab:
            return True
        return self.use_subwords and isinstance(word, str) and self.table.has_subwords(word)

    def __getitem__(self, word: str) -> FloatArray:
        """Return the read-only vector of a word exactly as written, without the prefix."""
        row = self.vocab.get(word)
        if row is not None:
            vector: FloatArray = self.table.rows(slice(row, row + 1))[0]
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
            Words of the model; a KeyError names one that it lacks.

        Returns
        -------
        ndarray of shape (len(words), dim)
            A new array in the dtype of the model.
        """
        row_of = self.vocab
        try:
            rows = [row_of[word] for word in words]
        except KeyError:
            return np.array([self[word] for word in words], dtype=self.dtype)
        return np.asarray(self.table.rows(rows))

    def prepare(self, words: Words, preprocessors: Preprocessors | None = None) -> None:
        """Compute vectors that will be looked up, in one pass; only encoders have anything to do.

        Parameters
        ----------
        words : iterable of str, Query, Criterion or Benchmark; or one of the last three
            Words exactly as they will be looked up, and what stands for its words. Unknown words
            are skipped.
        preprocessors : list of dict, optional
            The forms in which words of queries are looked up, by default as written; see
            :class:`wefe.embeddings.Lookup`.
        """

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the vectors."""
        return self.table.dtype

    def normalize(self) -> None:
        """Scale every vector to unit (L2) length, in place; lengths are computed in float64.

        Vectors without a direction (zero, NaN or infinity) do not change. Read-only vectors raise
        ValueError.
        """
        self._check_writeable()
        for chunk in chunks(len(self.vectors), CHUNK_ROWS):
            units, directed = directions(self.vectors[chunk])
            self._write(chunk.start + np.flatnonzero(directed), units[directed])

    def update(self, word: str, embedding: FloatArray) -> None:
        """Replace the vector of one word of the vocabulary.

        Parameters
        ----------
        word : str
            The word.
        embedding : ndarray of shape (dim,)
            The new vector, in the dtype of the model.
        """
        self.batch_update([word], [embedding])

    def batch_update(
        self, words: Sequence[str], embeddings: Sequence[FloatArray] | FloatArray
    ) -> None:
        """Replace the vectors of several words, all of them or (after an error) none.

        Parameters
        ----------
        words : sequence of str
            Words of the vocabulary; a missing one (or read-only vectors) raises ValueError. If a
            word occurs twice, its last vector is kept.
        embeddings : sequence of ndarray, or ndarray of shape (len(words), dim)
            The new vectors, in the dtype of the model.
        """
        check_sequence("words", words)
        # A copy: the vectors may be rows of this model.
        vectors, wanted = np.array(embeddings), (len(words), self.dim)
        if (vectors.dtype, vectors.shape) != (self.dtype, wanted):
            raise ValueError(
                f"the embeddings must be {self.dtype} of shape {wanted}, as in the model; got "
                f"{vectors.dtype} of shape {vectors.shape}."
            )
        for word in words:
            if word not in self.vocab:
                raise ValueError(f"{word!r} is not in the vocabulary of {self.name}.")
        self._check_writeable()
        self._write([self.vocab[word] for word in words], vectors)

    def save(
        self,
        path: str | os.PathLike[str],
        format: SavedFormat | None = None,  # noqa: A002 - what it is
        *,
        progress: bool = True,
    ) -> None:
        """Write the model to a file that :func:`wefe.models.load` can open.

        Parameters
        ----------
        path : path
            The file. It is replaced only when the new file is complete.
        format : {'glove', 'word2vec', 'word2vec-binary', 'gensim', 'native'}, optional
            By default the suffix decides: .txt, .vec, .bin, .kv or .safetensors. The first three
            may be compressed ('.txt.gz'). The native format opens in milliseconds. gensim's is that
            of plain `KeyedVectors`, without counts and n-grams.
        progress : bool, default=True
            Whether to show a progress bar.

        Raises
        ------
        ValueError, ImportError
            If the format cannot store a word or number of the model, or needs gensim, which is
            missing.

        Notes
        -----
        float32 numbers are kept exactly. 'word2vec-binary' and 'native' round float64 to float32,
        as :func:`wefe.models.load` does when it reads text.

        Examples
        --------
        >>> import tempfile
        >>> model = WordEmbeddingModel((["she", "he"], np.eye(2)), "toy")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/toy.txt")
        """
        from wefe.models.formats._write import save_table

        if self.use_subwords:
            logger.warning(
                "%s contains only the words of the vocabulary; vectors of other words, which %s "
                "builds from subwords, may be lost",
                *(path, self.name),
            )
        save_table(self.table, path, format, self.name, progress=progress)

    def copy(self, name: str | None = None) -> WordEmbeddingModel:
        """Return an independent copy.

        Parameters
        ----------
        name : str, optional
            Name of the copy; by default that of this model.

        Returns
        -------
        WordEmbeddingModel
            A copy of vectors in memory. Both models share a file until one of them changes.
        """
        table = self.table.copied()
        name = self.name if name is None else name
        return WordEmbeddingModel(table, name, self.vocab_prefix, use_subwords=self.use_subwords)

    def most_similar(
        self, positive: str | Sequence[str], negative: str | Sequence[str] = (), topn: int = 10
    ) -> list[tuple[str, float]]:
        """Find the words nearest to some words and far from others, like gensim's method.

        :func:`wefe.models.nearest_neighbors` searches for many vectors at once.

        Parameters
        ----------
        positive, negative : str or sequence of str
            Words of the vocabulary; their unit vectors are added and subtracted.
        topn : int, default=10
            Number of words to return.

        Returns
        -------
        list of (str, float)
            Words by falling cosine, in [-1, 1], with the sum; the given words are left out.

        Raises
        ------
        KeyError, ValueError
            If the model lacks a word; or it was opened for some words only, or a vector or the sum
            has no direction.

        Examples
        --------
        >>> from wefe import load_test_model
        >>> [word for word, _ in load_test_model().most_similar("nurse", topn=3)]
        ['nurses', 'nursing', 'midwife']
        """
        table = self.whole_table("most_similar")
        plus, minus = (
            [words] if isinstance(words, str) else list(words) for words in (positive, negative)
        )
        units, directed = directions(self.get_vectors([*plus, *minus]))
        query = units[: len(plus)].sum(axis=0) - units[len(plus) :].sum(axis=0)
        if not directed.all() or not query.any():
            raise ValueError(no_direction(f"a vector or the sum of {plus} minus {minus}"))
        given = [self.vocab[word] for word in (*plus, *minus) if word in self.vocab]
        topn = min(check_positive_int("topn", topn), len(table))
        rows, cosines = search(table, query[None], topn, [given])
        near = rows[0][rows[0] >= 0]
        return list(zip(table.words_at(near), cosines[0].tolist(), strict=False))

    def whole_table(self, purpose: str) -> VectorTable:
        """Return the table, or raise ValueError if the model was opened for some words only.

        Parameters
        ----------
        purpose : str
            What needs the whole vocabulary, for the message.

        Returns
        -------
        VectorTable
            The table.
        """
        if self.held == "selected":
            raise ValueError(
                f"{purpose} needs the whole vocabulary, but {self.name} was opened for "
                f"{len(self.table.requested or ()):,} words only. Load the whole file "
                "(hold='memory'); for an encoder, take a snapshot of all words that matter."
            )
        return self.table

    def _check_writeable(self) -> None:
        if not self.vectors.flags.writeable:
            raise ValueError(
                f"the vectors of {self.name} are read-only; nothing changed. Wrap a copy of them "
                "(what gensim loads with mmap='r' cannot be changed either)."
            )

    def _write(self, rows: Sequence[int] | npt.NDArray[np.intp], vectors: FloatArray) -> None:
        """Replace rows, and whatever gensim derives from them or caches."""
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
        if self.held == "selected" and self.table.requested is not None:
            where += f" of {len(self.table.requested)} words asked for"
        return (
            f"<WordEmbeddingModel {named}{self.name!r} with {len(self)} word embeddings "
            f"of {self.dim} dims{prefix}{where}>"
        )

    def _repr_html_(self) -> str:
        facts = {"word embeddings": len(self), "dimensions": self.dim, "storage": self.held}
        return html_table(self.name, [facts])


def check_model(model: object, name: str = "model") -> None:
    if not isinstance(model, WordEmbeddingModel):
        raise TypeError(
            f"{name} must be a WordEmbeddingModel; got {found(model)}. Open a file first: "
            "wefe.load(path); wrap vectors first: WordEmbeddingModel(vectors, name='...')."
        )


def check_models(models: object) -> list[WordEmbeddingModel]:
    """Return one or several models as a list; refuse an empty one."""
    if isinstance(models, WordEmbeddingModel):
        return [models]
    given = list(check_sequence("models", models))
    if not given:
        raise ValueError("models is empty; one model or more is needed.")
    for model in given:
        check_model(model)
    return given
