"""Whether a result still holds: hashes of the vectors that it was computed from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wefe.models._word_embedding_model import WordEmbeddingModel

if TYPE_CHECKING:
    from wefe.study._entries import EncoderEntry, TableEntry

_CHUNK_ROWS = 4096


class Fingerprints:
    """Hashes of the vectors of words; of an encoder, of its weights, whatever the words."""

    def __init__(self, model: WordEmbeddingModel) -> None:
        self._model = model
        self._of_word: dict[str, bytes] = {}

    def of(self, words: Iterable[str] | None) -> str:
        """Return the hash of the vectors of those words that the model has; None for all of it."""
        encoding: str | None = getattr(self._model, "encoding", None)
        if encoding is not None:
            return encoding
        return self._whole if words is None else self._of_words(words)

    def _of_words(self, words: Iterable[str]) -> str:
        known = sorted(word for word in set(words) if word in self._model)
        new = [word for word in known if word not in self._of_word]
        for start in range(0, len(new), _CHUNK_ROWS):
            part = new[start : start + _CHUNK_ROWS]
            vectors = np.ascontiguousarray(self._model.get_vectors(part))
            head = str(vectors.dtype).encode()
            for word, vector in zip(part, vectors, strict=True):
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
        words = list(self._model.vocab)
        for start in range(0, len(words), _CHUNK_ROWS):
            part = words[start : start + _CHUNK_ROWS]
            hashed.update("\0".join(part).encode("utf-8", "surrogatepass"))
            hashed.update(np.ascontiguousarray(self._model.get_vectors(part)).data)
        return hashed.hexdigest()


def source_identity(entry: TableEntry | EncoderEntry) -> Any:
    """Tell a source from what it was before without reading it; None if that cannot be told."""
    from wefe import __version__

    if entry.place == "demo" and not entry.is_encoder:
        return ["demo", __version__]
    path = _existing(Path(entry.place))
    # A name on Hugging Face may stand for something new: its cached files have to be opened.
    if path is None:
        return None
    files = sorted(path.rglob("*")) if path.is_dir() else list(_with_siblings(path))
    for option in ("vocabulary", "counts"):
        other = entry.load_options().get(option)
        if isinstance(other, str):
            files.append(Path(other))
    return [_stamp(file) for file in files if file.is_file()]


def _existing(path: Path) -> Path | None:
    """Return the path, or the archive of which it names a member."""
    for candidate in (path, *path.parents):
        if candidate.is_file() or (candidate == path and candidate.is_dir()):
            return candidate
    return None


# What lies beside a matrix and belongs to it, whatever it is called.
_OF_SAFETENSORS = ("tokenizer.json", "config.json", "modules.json", "vocab.txt", "vocab.json")
_OF_NPY = (".txt", ".vocab", ".json", ".tsv", ".csv")


def _with_siblings(path: Path) -> Iterator[Path]:
    """Yield a file and what may belong to it: 'x.kv.vectors.npy', 'tokenizer.json'."""
    # By names: a folder may hold thousands of models.
    for name in sorted(os.listdir(path.parent)):
        stem, suffix = os.path.splitext(name)
        of_npy = path.suffix in (".npy", ".npz") and suffix in _OF_NPY
        if (
            name == path.name
            or name.startswith(f"{path.name}.")
            or (path.suffix == ".safetensors" and name in _OF_SAFETENSORS)
            or (of_npy and stem in (path.stem, "vocab", "vocabulary", "words"))
        ):
            yield path.parent / name


def _stamp(file: Path) -> list[Any]:
    found = os.stat(file)
    return [str(file), found.st_size, found.st_mtime_ns, found.st_ino]
