"""Write word2vec text and binary, GloVe text, and gensim's own files, in bounded memory."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice, import_library, logger, progress_bar
from wefe._files import atomic_file
from wefe.models._types import Block, FloatArray
from wefe.models.formats._numbers import text_lines
from wefe.models.formats._registry import BY_NAME, FORMATS, SAMPLE_LINES, function, numbers_at_end

SavedFormat: TypeAlias = Literal["gensim", "native", "word2vec-binary", "glove", "word2vec"]
WRITTEN = get_args(SavedFormat)
# The first format of a suffix.
_BY_SUFFIX = {s: row.name for row in reversed(FORMATS) if row.name in WRITTEN for s in row.suffixes}

_PACKERS: dict[str, Callable[[Any], Any]] = {
    # No name and time, so that the same model gives the same bytes.
    ".gz": lambda file: gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0),
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115 - closed by `write_plain`
}
# Longer words were never seen, and readers look for the end of a word for some thousand bytes only.
_MAX_WORD_BYTES = 2000

# What a word in a file must not have: half of a surrogate pair cannot be written in UTF-8.
_NOT_IN_TEXT = re.compile("[\\0\\t\\n\\r\ud800-\udfff]|\\A | \\Z")
_NOT_IN_BINARY = re.compile("[\\0 \ud800-\udfff]|\\A\\n")
# Readers of files without header would take the first word for the mark of another format.
_MAGIC = ("\ufeff", "BZh", "PK\x03\x04", "PK\x05\x06", "PAR1")


@dataclass(frozen=True)
class Writing:
    """What is written to a file; only the native format uses `name`."""

    blocks: Iterable[Block]
    n_words: int | None
    dim: int
    format: str
    dtype: npt.DTypeLike = np.float32
    name: str = ""
    progress: bool = True

    def shown(self, path: str | os.PathLike[str]) -> Iterator[Block]:
        """Yield the blocks and show a progress bar; refuse to write no words."""
        n_words, what = 0, f"writing {Path(path).name}"
        with progress_bar(self.n_words, what, "word", self.progress) as bar:
            for words, vectors in self.blocks:
                yield words, vectors
                n_words += len(words)
                bar.update(len(words))
        if n_words == 0:
            raise ValueError("there are no words to write.")


def save_table(
    table: Any, path: str | os.PathLike[str], wanted: str | None, name: str, *, progress: bool
) -> None:
    chosen = format_of(path, wanted)
    if table.requested is not None:
        logger.warning(
            "%s was opened for some words only, so %s contains these %d", name, path, len(table)
        )
    size = len(table), table.vector_size
    task = Writing(table.blocks(), *size, chosen, table.dtype, name, progress)
    writers = {"gensim": write_gensim, "native": function("_native:write_native")}
    writers.get(chosen, write_plain)(path, task)


def _binary_records(words: list[str], vectors: FloatArray) -> Iterator[bytes]:
    for word, vector in zip(words, np.asarray(vectors, "<f4"), strict=True):
        yield word.encode() + b" " + vector.tobytes()


def write_plain(path: str | os.PathLike[str], task: Writing) -> None:
    """Write a header 'n_words dim', unless it is GloVe's format, then each word and its numbers."""
    is_binary, n_done, n_spaced = task.format == "word2vec-binary", 0, 0
    if is_binary and np.dtype(task.dtype).itemsize > 4:
        logger.warning("numbers are rounded to float32, the only type in %s", path)
    # For float32 the files are identical to gensim's.
    encode = _binary_records if is_binary else text_lines
    pack = _PACKERS.get(Path(path).suffix.lower(), contextlib.nullcontext)
    with atomic_file(path) as packed, pack(packed) as file:
        if task.format != "glove":
            file.write(f"{task.n_words} {task.dim}\n".encode())
        for words, vectors in task.shown(path):
            for place, word in enumerate(words, n_done):
                _check_word(word, task.format, place)
            cast_finite(words, vectors, np.float32)
            file.writelines(encode(words, vectors))
            n_spaced += sum(" " in word for word in words)
            n_done += len(words)
    if n_spaced:
        logger.warning(
            "%d words in %s contain spaces: wefe reads them, gensim and others cannot. "
            "word2vec binary cannot hold them either; gensim's own format can.",
            n_spaced,
            path,
        )


def write_gensim(path: str | os.PathLike[str], task: Writing) -> None:
    """Write plain `KeyedVectors` of gensim in one pickle; needs all vectors in memory.

    Given a name, their own `save` puts large arrays into more files, which one renaming cannot
    replace.
    """
    library = import_library("gensim.models", "gensim", "the format 'gensim'")
    table = library.KeyedVectors(task.dim, dtype=task.dtype)
    table.index_to_key, table.next_index = [], task.n_words
    table.vectors = np.empty((task.n_words, task.dim), dtype=task.dtype)
    for words, block in task.shown(path):
        start = len(table.index_to_key)
        table.vectors[start : start + len(words)] = cast_finite(words, block, task.dtype)
        table.index_to_key += words
    table.key_to_index = {word: row for row, word in enumerate(table.index_to_key)}
    with atomic_file(path) as file:
        # Protocol 5 writes arrays without a copy in memory.
        pickle.dump(table, file, protocol=5)


def format_of(path: str | os.PathLike[str], format: str | None) -> str:  # noqa: A002
    """Return the requested format, or the format of a suffix."""
    path = Path(path)
    packed = path.suffix.lower() in _PACKERS
    if format is None:
        suffix = Path(path.stem if packed else path).suffix.lower()
        what = f"the suffix of {path.name!r}, unless format is given,"
        format = _BY_SUFFIX[check_choice(what, suffix, _BY_SUFFIX)]  # noqa: A001
    check_choice("format", format, WRITTEN)
    if packed and not BY_NAME[format].packed:
        raise ValueError(
            f"{path.name!r}: the format {format!r} is never packed; leave out {path.suffix!r}."
        )
    return format


def _check_word(word: str, format: str, place: int) -> None:  # noqa: A002
    """Refuse a word that a format cannot store, or that would hide the dimensions."""
    reason = ""
    if match := (_NOT_IN_BINARY if format == "word2vec-binary" else _NOT_IN_TEXT).search(word):
        reason = f"it contains {match.group()!r}"
    elif not 0 < len(word.encode()) <= _MAX_WORD_BYTES:
        reason = f"it is empty or has more than {_MAX_WORD_BYTES:,} bytes"
    elif format == "glove" and place < SAMPLE_LINES and numbers_at_end(word.encode()):
        reason = "it ends with a number, and the first words tell the dimensions"
    elif format == "glove" and place == 0 and word.startswith(_MAGIC):
        reason = "the file would start with the mark of another format"
    if reason:
        raise ValueError(
            f"the word {word[:60]!r} cannot be written as {format}: {reason}. Choose 'native'."
        )


def cast_finite(words: Sequence[str], vectors: FloatArray, dtype: npt.DTypeLike) -> FloatArray:
    """Convert vectors to a dtype; refuse numbers that it cannot hold."""
    with np.errstate(over="ignore"):
        cast: FloatArray = vectors.astype(dtype, copy=False)
    finite = np.isfinite(cast).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"the vector of {words[int(finite.argmin())]!r} has numbers not finite in {cast.dtype}."
        )
    return cast
