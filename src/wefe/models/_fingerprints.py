"""Hashes of the vectors behind a result, to check whether it is still valid."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from wefe.models._tables import chunks
from wefe.models._types import CHUNK_ROWS
from wefe.models._word_embedding_model import WordEmbeddingModel


class Fingerprints:
    """Hashes of the vectors of words; for an encoder, one hash of its weights."""

    def __init__(self, model: WordEmbeddingModel) -> None:
        self._model = model
        self._of_word: dict[str, bytes] = {}

    def of(self, words: Iterable[str] | None) -> str:
        """Return the hash of the vectors of those words that the model has, or of all (None)."""
        encoding: str | None = getattr(self._model, "encoding", None)
        if encoding is not None:
            return encoding
        return self._whole if words is None else self._of_words(words)

    def _of_words(self, words: Iterable[str]) -> str:
        known = sorted(word for word in set(words) if word in self._model)
        new = [word for word in known if word not in self._of_word]
        head = str(self._model.dtype).encode()
        for part in chunks(len(new), CHUNK_ROWS):
            vectors = np.ascontiguousarray(self._model.get_vectors(new[part]))
            for word, vector in zip(new[part], vectors, strict=True):
                hashed = hashlib.blake2b(head, digest_size=16)
                hashed.update(word.encode("utf-8", "surrogatepass") + b"\0")
                hashed.update(vector.data)
                self._of_word[word] = hashed.digest()
        everything = hashlib.blake2b(digest_size=16)
        for word in known:
            everything.update(self._of_word[word])
        return everything.hexdigest()

    @cached_property
    def _whole(self) -> str:
        hashed = hashlib.blake2b(str(self._model.dtype).encode(), digest_size=16)
        for words, vectors in self._model.table.blocks():
            hashed.update("\0".join(words).encode("utf-8", "surrogatepass"))
            hashed.update(np.ascontiguousarray(vectors).data)
        return hashed.hexdigest()
