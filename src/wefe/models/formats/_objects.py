"""Vectors of objects that other libraries have loaded."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wefe.models._flair import flair_to_gensim
from wefe.models._tables import RowVectors, table_of
from wefe.models.formats._frame import open_dict, open_frame
from wefe.models.formats._gensim import class_names, gensim_source, gensim_table
from wefe.models.formats._source import Reading, TableSource, VectorSource

logger = logging.getLogger(__name__)

_UNNAMED = "Unnamed model"


def open_object(source: Any, reading: Reading) -> VectorSource:
    """Open an object of gensim, spaCy, flair, pandas or wefe, a dict or a pair.

    The name of its class identifies it, so no library is imported.
    """
    classes = " ".join(class_names(source))
    label, name = f"the {type(source).__name__}", _UNNAMED
    if isinstance(source, Mapping):
        return open_dict(source)
    if re.search(r"\bpandas\.\S*DataFrame\b", classes):
        return open_frame(source)
    if re.search(r"\bspacy\.(language\.Language|vocab\.Vocab|vectors\.Vectors)\b", classes):
        return _open_spacy(source, label, reading)
    if re.search(r"\bflair\.embeddings\.", classes):
        # flair calls them by the path of their file, if that was given.
        name = Path(getattr(source, "name", _UNNAMED)).stem
        source = flair_to_gensim(source)
    table = gensim_table(source)
    if table is not None:
        return gensim_source(table, label, name, reading)
    return TableSource(table_of("source", source), label, name)


def _open_spacy(source: Any, label: str, reading: Reading) -> TableSource:
    vocabulary = getattr(source, "vocab", source)
    vectors = getattr(vocabulary, "vectors", vocabulary)
    if "floret" in str(getattr(vectors, "mode", "")) or not len(vectors.key2row):
        raise ValueError(
            f"{label} lists no words with vectors, as small pipelines (..._sm) and floret do not. "
            "For floret, give a dict: {word: nlp.vocab[word].vector for word in words}."
        )
    # Row -1 is spaCy's mark of a word that lost its vector.
    keys = [key for key, row in vectors.key2row.items() if row >= 0]
    strings = vocabulary.strings
    known = {strings[key]: vectors.key2row[key] for key in keys if key in strings}
    unnamed = len(keys) - len(known)
    if (unnamed and not reading.lenient) or not known:
        raise ValueError(
            f"{label}: {unnamed:,} of its {len(keys):,} vectors have no word in its StringStore. "
            "Pass the pipeline or its vocab, or leave them out with on_error='skip'."
        )
    # On a GPU it is an array of cupy.
    data = np.asarray(getattr(vectors.data, "get", lambda: vectors.data)())
    places = np.array(list(known.values()), dtype=np.intp)
    table = RowVectors({word: n for n, word in enumerate(known)}, data, places=places)
    opened = TableSource(table, label, str(getattr(vectors, "name", None) or _UNNAMED))
    opened.n_skipped = unnamed
    if unnamed:
        logger.warning("%s: %d vectors whose words are not known are left out", label, unnamed)
    return opened
