"""Vectors of live objects: what other libraries have loaded already."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wefe._checks import found
from wefe.models._flair import flair_to_gensim
from wefe.models._keyed_vectors import (
    ArrayVectors,
    FloatArray,
    Held,
    KeyedVectors,
    StoredVectors,
    is_mapped,
)
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.models.formats._frames import open_dict, open_frame
from wefe.models.formats._gensim import class_names, gensim_source, gensim_table
from wefe.models.formats._source import Reading, TableSource, VectorSource

logger = logging.getLogger(__name__)

_UNNAMED = "Unnamed model"


def open_object(source: Any, reading: Reading) -> VectorSource | None:
    """Take the vectors of an object that is there already.

    Objects are told by their classes' names, so no library is imported for it.

    Parameters
    ----------
    source : object
        gensim `KeyedVectors` or a model that has them, a pair (vocabulary, vectors), a table of
        wefe's, a `WordEmbeddingModel`, a dict from words to vectors, a pandas DataFrame, a spaCy
        `Language`, `Vocab` or `Vectors`, or one of flair's classic embeddings.
    reading : Reading
        How to read.

    Returns
    -------
    VectorSource or None
        The vectors; None if the object is nothing of that.

    Raises
    ------
    TypeError, ValueError
        If the object is of a known kind, but has no vectors of words, or is to be mapped although
        it is in memory.
    """
    opened = _open(source, reading)
    if opened is not None and reading.hold == "mapped" and opened.held != "mapped":
        raise ValueError(
            f"{opened.label} is in memory already; only files can be mapped. Convert it to a file "
            "first, or leave out hold='mapped'."
        )
    return opened


def _open(source: Any, reading: Reading) -> TableSource | None:
    names = class_names(source)
    label = f"the {type(source).__name__}"
    table = gensim_table(source)
    if table is not None:
        return gensim_source(table, label, _UNNAMED, reading)
    if isinstance(source, WordEmbeddingModel):
        return TableSource(source.wv, source.name, source.name, subwords=source.use_subwords)
    if isinstance(source, StoredVectors):
        return TableSource(source, label, _UNNAMED)
    if isinstance(source, tuple) and len(source) == 2:
        return TableSource(ArrayVectors(*source), "the pair (vocabulary, vectors)", _UNNAMED)
    if isinstance(source, Mapping):
        return open_dict(source)
    if any(name.startswith("pandas.") and name.endswith(".DataFrame") for name in names):
        return open_frame(source)
    if any(name.startswith("flair.embeddings.") for name in names):
        return _open_flair(source, label, reading)
    if "spacy.language.Language" in names or "spacy.vocab.Vocab" in names:
        vocabulary = getattr(source, "vocab", source)
        return _open_spacy(vocabulary.vectors, vocabulary.strings, label, reading)
    if "spacy.vectors.Vectors" in names:
        return _open_spacy(source, source.strings, label, reading)
    # Any other table, ArrayVectors among them.
    if isinstance(source, KeyedVectors):
        return TableSource(source, label, _UNNAMED)
    return None


def _open_flair(embedding: Any, label: str, reading: Reading) -> TableSource:
    table = flair_to_gensim(embedding)
    name = getattr(embedding, "name", None)
    # It is the path of the file, if that was given.
    name = Path(name).stem if isinstance(name, str) else _UNNAMED
    if gensim_table(table) is not None:
        return gensim_source(table, label, name, reading)
    return TableSource(table, label, name)


class SharedVectors(StoredVectors):
    """A table in which several words may have one row, as in spaCy's pruned vectors.

    Parameters
    ----------
    words : list of str
        The words, all different.
    rows : ndarray of int
        The row of each.
    data : ndarray of shape (n_rows, dim)
        The rows. Kept as they are.
    """

    def __init__(self, words: list[str], rows: npt.NDArray[np.intp], data: FloatArray) -> None:
        self.key_to_index: Mapping[str, int] = dict(zip(words, range(len(words)), strict=True))
        self.vector_size = int(data.shape[1])
        self._shared, self._data = rows, data

    def _make(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        return self._data[self._shared[rows]].astype(np.float32, copy=False)

    @property
    def stored_nbytes(self) -> int:
        """Bytes of the rows."""
        return int(self._data.nbytes + self._shared.nbytes)

    @property
    def stored_held(self) -> Held:
        """Where the rows are."""
        return "mapped" if is_mapped(self._data) else "memory"


def _open_spacy(vectors: Any, strings: Any, label: str, reading: Reading) -> TableSource:
    if "floret" in str(getattr(vectors, "mode", "")):
        raise ValueError(
            f"{label} has floret vectors: each word is built from hashed parts, and there is no "
            "list of words that it knows. Give the words and their vectors as a dict: "
            "{word: nlp.vocab[word].vector for word in words}."
        )
    if not hasattr(vectors, "key2row"):
        raise ValueError(
            f"{label} has vectors of a kind that lists no words; got {found(vectors)}."
        )
    if len(vectors.key2row) == 0:
        raise ValueError(
            f"{label} has no static vectors (the small pipelines of spaCy, ..._sm, have none)."
        )
    data = vectors.data
    if hasattr(data, "get"):
        data = data.get()  # From a GPU (cupy).
    data = np.asarray(data)
    words = []
    rows = []
    unnamed = 0
    for key, row in vectors.key2row.items():
        if key not in strings:
            unnamed += 1
        # spaCy's mark of a word that lost its vector.
        elif row >= 0:
            words.append(strings[key])
            rows.append(row)
    if (unnamed and not reading.lenient) or not words:
        raise ValueError(
            f"{label}: {unnamed:,} of its {len(vectors.key2row):,} vectors belong to hashes whose "
            "words its StringStore does not know. Pass the pipeline or its vocab, or leave these "
            "vectors out with on_error='skip'."
        )
    name = getattr(vectors, "name", None) or _UNNAMED
    indices = np.array(rows, dtype=np.intp)
    if indices.max() >= len(data):
        raise ValueError(f"{label}: row {indices.max()} of {len(data)} is asked for.")
    table: Any
    if np.array_equal(indices, np.arange(len(data))):
        table = ArrayVectors(words, data)
    else:
        table = SharedVectors(words, indices, data)
    source = TableSource(table, label, str(name))
    if unnamed:
        source.n_skipped = unnamed
        logger.warning("%s: %d vectors whose words are not known are left out", label, unnamed)
    return source
