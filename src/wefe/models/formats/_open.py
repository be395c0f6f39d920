"""Open a path, a name or an object; its content determines the format."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wefe._checks import found, import_library, nearest
from wefe.models._tables import RowVectors, table_of
from wefe.models._types import Reading
from wefe.models.formats import _hub, _registry
from wefe.models.formats._arrays import class_names, gensim_source, gensim_table
from wefe.models.formats._frames import open_dict, open_frame
from wefe.models.formats._registry import BY_NAME, function
from wefe.models.formats._source import PackedFile, TableSource, VectorSource

_UNNAMED = "Unnamed model"


def open_source(source: Any, reading: Reading) -> VectorSource:
    """Open a path, a name of gensim-data or Hugging Face, or an object with vectors."""
    if not isinstance(source, str | os.PathLike):
        return open_object(source, reading)
    path = Path(source)
    # An empty name would be the current folder.
    if os.fspath(source) and path.is_dir():
        return function("_tokens:open_token_table")(path, reading)  # type: ignore[no-any-return]
    if any(each.is_file() for each in (path, *path.parents)):
        return open_file(path, reading)
    return open_source(_fetch(os.fspath(source), path, reading), reading)


def open_file(path: Path, reading: Reading) -> VectorSource:
    if _is_npz(path):
        return function(BY_NAME["npz"].reader)(path, reading)  # type: ignore[no-any-return]
    file = PackedFile(path)
    head = file.head()
    row = next((row for row in _registry.FORMATS if row.matches(head)), None)
    if row is None:
        raise ValueError(
            f"{file.label} is empty or in no known format; expected one of "
            f"{', '.join(BY_NAME)}, found {head[:16]!r}."
        )
    if file.packing is not None and not row.packed:
        raise ValueError(f"{file.label}: unpack the {file.packing} file to read {row.name!r}.")
    return function(row.reader)(file if row.packed else path, reading)  # type: ignore[no-any-return]


def _is_npz(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    # Damaged archives show as errors of almost any type.
    except Exception:
        return False
    return bool(names) and all(name.endswith(".npy") for name in names)


def _fetch(text: str, path: Path, reading: Reading) -> Path:
    if text in _hub.GENSIM_DATA_NAMES:
        return _hub.fetch_from_gensim_data(text)
    # In a folder that exists, a name is far more often a file that is missing than a repository.
    if _hub.looks_like_repo_id(text) and not path.parent.is_dir():
        return _hub.fetch_from_hugging_face(text, reading.token)
    raise FileNotFoundError(
        f"there is no file {text!r}. Give a file of vectors, a name of gensim-data, a repository "
        f"of Hugging Face ('org/name'), or 'demo'.{nearest(text, _hub.GENSIM_DATA_NAMES)}"
    )


def open_object(source: Any, reading: Reading) -> VectorSource:
    """Open an object, known by the name of its class, so that no library is imported."""
    classes = " ".join(class_names(source))
    label = f"the {type(source).__name__}"
    if isinstance(source, Mapping):
        return open_dict(source)
    if re.search(r"\bpandas\.\S*DataFrame\b", classes):
        return open_frame(source)
    if re.search(r"\bspacy\.(language\.Language|vocab\.Vocab)\b", classes):
        return _open_spacy(source, label)
    if re.search(r"\bflair\.embeddings\.", classes):
        source = flair_to_gensim(source)
    table = gensim_table(source)
    if table is not None:
        return gensim_source(table, label, _UNNAMED, reading)
    return TableSource(table_of("source", source), label, _UNNAMED)


def _open_spacy(source: Any, label: str) -> TableSource:
    vocabulary = getattr(source, "vocab", source)
    vectors, strings = vocabulary.vectors, vocabulary.strings
    # Row -1 is spaCy's mark of a word that lost its vector.
    rows = {strings[key]: row for key, row in vectors.key2row.items() if row >= 0}
    if not rows:
        raise ValueError(
            f"{label} lists no words with vectors, as small pipelines (..._sm) and floret do not. "
            "For floret, give a dict: {word: nlp.vocab[word].vector for word in words}."
        )
    index = dict(zip(rows, range(len(rows)), strict=True))
    places = np.array(list(rows.values()), dtype=np.intp)
    # On a GPU it is an array of cupy.
    data = np.asarray(getattr(vectors.data, "get", lambda: vectors.data)())
    table = RowVectors(index, data, places=places)
    return TableSource(table, label, vectors.name or _UNNAMED)


def flair_to_gensim(flair_embedding: Any) -> Any:
    """Return the vectors of a flair `WordEmbeddings` object.

    Parameters
    ----------
    flair_embedding : flair.embeddings.WordEmbeddings
        One of flair's classic (static) word embeddings; contextual ones raise TypeError.

    Returns
    -------
    gensim.models.KeyedVectors
        Vectors for `WordEmbeddingModel`.

    Examples
    --------
    >>> from wefe.models import ArrayVectors
    >>> class OldFlairEmbedding:
    ...     precomputed_word_embeddings = ArrayVectors(["she"], [[1.0]])
    >>> flair_to_gensim(OldFlairEmbedding())["she"]
    array([1.])
    """
    kept = getattr(flair_embedding, "precomputed_word_embeddings", None)
    if kept is not None:
        return kept
    # flair 0.12 and newer: a word-to-row table beside a torch embedding layer.
    vocabulary = getattr(flair_embedding, "vocab", None)
    layer: Any = getattr(flair_embedding, "embedding", None)
    if not isinstance(vocabulary, dict) or not hasattr(layer, "weight"):
        raise TypeError(
            "flair_to_gensim takes flair's classic WordEmbeddings (static vectors); "
            f"got {found(flair_embedding)}."
        )
    words = sorted(vocabulary, key=vocabulary.__getitem__)
    vectors = layer.weight.detach().cpu().numpy()[[vocabulary[word] for word in words]]
    library = import_library("gensim.models", "gensim", "flair_to_gensim")
    table = library.KeyedVectors(vector_size=vectors.shape[1], dtype=vectors.dtype)
    table.add_vectors(words, vectors)
    return table
