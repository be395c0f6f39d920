"""The native format: one safetensors file of any size that opens in milliseconds.

It holds, in this order:

- ``embeddings``: float32, float16 or int8 of shape (n_words, dim), starting at a page boundary;
- ``scale``: float32 of shape (n_words,), only for int8; a vector is its row times its scale;
- ``vocabulary``: the words in UTF-8, separated by line ends;
- ``vocabulary.starts``: the byte where each word starts, and the end of the last one;
- ``vocabulary.hashes`` and ``vocabulary.rows``: sorted 64-bit hashes of the words, and their rows.

Files with only ``embeddings`` and ``vocabulary`` can be read, too.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
from array import array
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from wefe._checks import logger
from wefe._files import atomic_file
from wefe.models._tables import RowVectors, chunks, number
from wefe.models._types import CHUNK_ROWS, FloatArray, Reading
from wefe.models.formats._safetensors import Tensor, header_of, read_header
from wefe.models.formats._source import TableSource, VectorSource, naming_errors
from wefe.models.formats._write import Writing, cast_finite

StoredDtype: TypeAlias = Literal["float32", "float16", "int8"]
_DTYPES = {"float32": "<f4", "float16": "<f2", "int8": "|i1"}

# The header is written last, into room left for it, as only the end of a stream tells its length.
_HEADER_BYTES = 4096


def _hash(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


class FileVocabulary(Mapping[str, int]):
    """The vocabulary of a native file; no dict is built."""

    def __init__(self, label: str, letters: Any, starts: Any, hashes: Any, rows: Any) -> None:
        self._label = label
        self._letters, self._starts, self._hashes, self._rows = letters, starts, hashes, rows
        self._found: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def __getitem__(self, word: str) -> int:
        if not isinstance(word, str):
            raise KeyError(word)
        if word in self._found:
            return self._found[word]
        encoded = word.encode("utf-8", "surrogatepass")
        wanted = _hash(encoded)
        key = np.uint64(wanted)
        start = np.searchsorted(self._sorted, key)
        stop = np.searchsorted(self._sorted, key, side="right")
        for row in self._rows[start:stop].tolist():
            (there,) = self._bytes(row, row + 1)
            if there == encoded:
                self._found[word] = row
                return row  # type: ignore[no-any-return]
            if _hash(there) != wanted:
                raise ValueError(
                    f"{self._label} is damaged: its index of words points at other words."
                )
        raise KeyError(word)

    @functools.cached_property
    def _sorted(self) -> Any:
        """The hashes in memory: 8 bytes per word."""
        return self._hashes[:]

    def __iter__(self) -> Iterator[str]:
        for part in chunks(len(self), CHUNK_ROWS):
            with naming_errors(self._label, "vocabulary in UTF-8"):
                words = [word.decode() for word in self._bytes(part.start, part.stop)]
            yield from words

    def items(self) -> Iterator[tuple[str, int]]:  # type: ignore[override]
        return zip(self, itertools.count())

    def values(self) -> range:  # type: ignore[override]
        return range(len(self))

    def _bytes(self, start: int, stop: int) -> list[bytes]:
        """Return the words of some rows without reading others."""
        if stop <= len(self):
            bounds = self._starts[start : stop + 1].tolist()
            first, last = bounds[0], bounds[-1]
            if bounds == sorted(bounds) and last <= len(self._letters) + 1:
                letters = self._letters[first:last].tobytes()
                return [letters[i - first : j - first - 1] for i, j in pairwise(bounds)]
        raise ValueError(f"{self._label} is damaged: its index of words points outside of it.")


def open_safetensors(path: Path, reading: Reading) -> VectorSource:
    """Open a native file, or the table of a model with a tokenizer, without reading vectors."""
    tensors, metadata = read_header(path)
    if {"embeddings", "vocabulary"} <= set(tensors):
        return _open_native(path, tensors, metadata)
    from wefe.models.formats._tokens import open_token_table

    return open_token_table(path, reading)


def _open_native(
    path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> TableSource:
    label = str(path)
    with naming_errors(label, "whole native file"):
        array = tensors["embeddings"].numbers(2, "F32", "F16", "F64", "I8")
        letters = tensors["vocabulary"].numbers(1, "U8")
        scale = tensors["scale"].numbers(1, "F32")[:] if array.dtype == np.int8 else None
        index: Mapping[str, int]
        if "vocabulary.hashes" in tensors:
            starts = tensors["vocabulary.starts"].numbers(1, "U64")
            hashes = tensors["vocabulary.hashes"].numbers(1, "U64")
            rows = tensors["vocabulary.rows"].numbers(1, "U32")
            index = FileVocabulary(label, letters, starts, hashes, rows)
            sizes = {len(starts) - 1, len(hashes), len(rows)}
        else:
            words = letters[:].tobytes().decode("utf-8").split("\n")
            index = dict(zip(words, itertools.count()))
            # Words that come twice shift the rows of those behind them.
            sizes = {len(words), len(index)}
    sizes.add(len(array if scale is None else scale))
    if sizes != {len(array)}:
        raise ValueError(
            f"{path}: the vocabulary has {len(index)} different words for {len(array)} vectors."
        )
    table = RowVectors(index, array, scale)
    return TableSource(table, label, metadata.get("name") or path.stem)


def _encoded(word: str) -> bytes:
    try:
        return word.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the word {word!r} cannot be written in UTF-8.") from None


def write_native(path: str | os.PathLike[str], task: Writing) -> None:
    """Write blocks of words and vectors to a native file, in bounded memory.

    A repeated word keeps its first vector. Dtypes other than float16 and int8 become float32. int8
    divides each vector by 1/127 of its largest absolute number and rounds.
    """
    dtype = np.dtype(_DTYPES.get(np.dtype(task.dtype).name, "<f4"))
    index: dict[bytes, int] = {}
    scale, n_words = array("f"), 0
    with atomic_file(path) as file:
        file.seek(_HEADER_BYTES)
        for words, vectors in task.shown(path):
            n_words += len(words)
            _, new = number(index, map(_encoded, words))
            words, vectors = [words[row] for row in new], vectors[new]
            if dtype == np.int8:
                vectors, factors = _quantized(cast_finite(words, vectors, np.float32))
                scale.extend(factors.tolist())
            file.write(cast_finite(words, vectors, dtype).tobytes())
        if n_words > len(index):
            logger.warning("%d words occur twice; the first vector is kept", n_words - len(index))
        parts = _vocabulary(list(index))
        if scale:
            parts = {"scale": np.array(scale, "<f4"), **parts}
        # Of the vectors, which are there already, only the shape is needed.
        vectors = np.broadcast_to(np.zeros((), dtype), (len(index), task.dim))
        metadata = {"format": "wefe", "version": "1", "name": task.name}
        header = header_of({"embeddings": vectors, **parts}, metadata, _HEADER_BYTES)
        file.writelines(parts.values())
        file.seek(0)
        file.write(header)


def _quantized(vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return multiples of the scale of each vector, and the scales."""
    scale = np.abs(vectors).max(axis=1, initial=0) / np.float32(127)
    # A vector of zeros stays one.
    quotients = np.rint(vectors / np.where(scale == 0, np.inf, scale)[:, None])
    return quotients.clip(-127, 127), scale


def _vocabulary(words: list[bytes]) -> dict[str, Any]:
    hashes = np.fromiter(map(_hash, words), "<u8", len(words))
    order = np.argsort(hashes, kind="stable")
    ends = np.cumsum(np.fromiter(map(len, words), "<u8", len(words)) + 1)
    return {
        "vocabulary": np.frombuffer(b"\n".join(words), np.uint8),
        "vocabulary.starts": np.append(np.uint64(0), ends),
        "vocabulary.hashes": hashes[order],
        "vocabulary.rows": order.astype("<u4"),
    }
