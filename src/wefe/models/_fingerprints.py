"""Hashes of the vectors behind a result, to check whether it is still valid."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from wefe.models._tables import chunks
from wefe.models._types import CHUNK_ROWS, Block
from wefe.models._word_embedding_model import WordEmbeddingModel


def fingerprint(model: WordEmbeddingModel, words: Iterable[str] | None) -> str:
    """Return the hash of the vectors of those words that a model has, or of all (None).

    For an encoder it is the hash of its weights.
    """
    encoding: str | None = getattr(model, "encoding", None)
    if encoding is not None:
        return encoding
    blocks: Iterable[Block] = model.table.blocks()
    if words is not None:
        known = sorted(filter(model.__contains__, set(words)))
        parts = (known[part] for part in chunks(len(known), CHUNK_ROWS))
        blocks = ((part, model.get_vectors(part)) for part in parts)
    hashed = hashlib.blake2b(str(model.dtype).encode(), digest_size=16)
    for names, vectors in blocks:
        hashed.update("\0".join(names).encode("utf-8", "surrogatepass"))
        hashed.update(np.ascontiguousarray(vectors).data)
    return hashed.hexdigest()
