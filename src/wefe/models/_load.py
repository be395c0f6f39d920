"""Open a file of vectors; the format is told by its content."""

from __future__ import annotations

import codecs
import itertools
import logging
import mmap
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from wefe._checks import found
from wefe.models._word_embedding_model import ArrayVectors, WordEmbeddingModel

logger = logging.getLogger(__name__)

_Table = tuple[list[str], np.ndarray]

_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}

# What the first bytes of a file are compared with.
_HEAD_BYTES = 4096


def load(
    source: str | os.PathLike[str], name: str | None = None, vocab_prefix: str | None = None
) -> WordEmbeddingModel:
    """Open a file of vectors as a model.

    Parameters
    ----------
    source : path
        A file in one of these formats, told by content, not by name:

        - GloVe or word2vec text: a word and its numbers per line, with or without a first line
          'n_words dim'. Words may contain spaces.
        - word2vec binary.
        - safetensors with 'embeddings' (n_words x dim) and 'vocabulary' (UTF-8 bytes, one word per
          line), as the packaged vectors are kept.

        'demo' opens the packaged vectors. gensim's own files are pickles, which can run code when
        opened: load those with gensim and wrap the vectors.
    name : str, optional
        Name of the model; by default that of the file, without its last suffix.
    vocab_prefix : str, optional
        Put before each word that is looked up.

    Returns
    -------
    WordEmbeddingModel
        The model, in memory, in float32 (safetensors: as stored).

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is in no known format or damaged; the message names the file and the line or
        word, what was expected and what was found.

    Examples
    --------
    >>> load("demo")
    <WordEmbeddingModel named 'minilm-words' with 10569 word embeddings of 256 dims>
    """
    if source == "demo":
        from wefe.models._packaged import load_test_model

        model = load_test_model()
        model.name = model.name if name is None else name
        model.vocab_prefix = vocab_prefix
        return model
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"source must be a path or 'demo'; got {found(source)}.")
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no file {str(source)!r}. A model is a file of vectors, or 'demo' for the "
            "packaged ones."
        )
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        file.seek(0)
        words, vectors = _reader_of(path, head)(path, file)
    words, vectors = _without_repetitions(path, words, vectors)
    try:
        table = ArrayVectors(words, vectors)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    return WordEmbeddingModel(table, path.stem if name is None else name, vocab_prefix)


def _without_repetitions(path: Path, words: list[str], vectors: np.ndarray) -> _Table:
    """Keep the first vector of each word, as gensim does; the log says how many were dropped."""
    first = {word: row for row, word in reversed(list(enumerate(words)))}
    if len(first) == len(words) or len(words) != len(vectors):
        return words, vectors
    rows = sorted(first.values())
    logger.warning(
        "%s has %d words twice; the first vector of each is kept", path, len(words) - len(rows)
    )
    return [words[row] for row in rows], vectors[rows]


def _reader_of(path: Path, head: bytes) -> Callable[[Path, BinaryIO], _Table]:
    if not head:
        raise ValueError(f"{path} is empty.")
    if head[:2] == b"\x80\x04" or head[:2] == b"\x80\x05" or b"gensim.models" in head:
        raise ValueError(
            f"{path} is a pickle (as gensim saves), which can run code when opened. If you trust "
            "it, load it with gensim (KeyedVectors.load) and pass the result to "
            "WordEmbeddingModel."
        )
    for magic, name in _PACKED.items():
        if head.startswith(magic):
            raise ValueError(f"{path} is packed ({name}); unpack it first.")
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 100_000_000:
        return _read_safetensors
    header = _header(head)
    # In word2vec's binary format a space follows the word, whatever bytes come after.
    if any(re.match(rb"[^\t ]+\t[-+.0-9]", line) for line in head.split(b"\n")[:2]):
        raise ValueError(f"{path} has tabs between numbers; expected single spaces.")
    if header is not None and min(header) == 0:
        raise ValueError(f"{path}: the header promises {header[0]} words of {header[1]} dims.")
    if header is not None and not _is_text(head[head.index(b"\n") + 1 :]):
        return _read_word2vec_binary
    if _is_text(head):
        return _read_text
    raise ValueError(
        f"{path} is in no known format; expected GloVe or word2vec text, word2vec binary or "
        f"safetensors, found bytes that start with {head[:16]!r}."
    )


def _header(head: bytes) -> tuple[int, int] | None:
    """Return (n_words, dim) if the first line is a word2vec header."""
    fields = head.partition(b"\n")[0].split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        return int(fields[0]), int(fields[1])
    return None


def _is_text(head: bytes) -> bool:
    """Tell whether the bytes look like lines of a word and numbers."""
    line = head.partition(b"\n")[0]
    if b"\0" in line:
        return False
    fields = line.rstrip().split(b" ")
    # A line longer than the head is cut within its last number.
    if b"\n" not in head:
        fields = fields[:-1]
    try:
        float(fields[-1])
    except (ValueError, IndexError):
        return False
    return True


def _read_safetensors(path: Path, file: BinaryIO) -> _Table:  # noqa: ARG001
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is a damaged safetensors file: {error}") from error
    missing = {"embeddings", "vocabulary"} - set(tensors)
    if missing:
        raise ValueError(
            f"{path}: expected tensors 'embeddings' and 'vocabulary'; found {sorted(tensors)}."
        )
    words = _decode(path, tensors["vocabulary"].tobytes(), "vocabulary").split("\n")
    return words, tensors["embeddings"]


def _read_word2vec_binary(path: Path, file: BinaryIO) -> _Table:
    header = _header(file.readline())
    assert header is not None  # the reader was chosen by it
    n_words, dim = header
    size = path.stat().st_size
    # Believe no header: every row takes its vector, one letter and a space.
    if n_words * (4 * dim + 2) > size:
        raise ValueError(
            f"{path}: the header promises {n_words} words of {dim} dims, which need at least "
            f"{n_words * (4 * dim + 2):,} bytes; the file has {size:,}."
        )
    vectors = np.empty((n_words, dim), dtype=np.float32)
    words = []
    position = file.tell()
    # Mapped, so that the file is not held in memory beside its vectors.
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for row in range(n_words):
            space = data.find(b" ", position)
            end = space + 1 + 4 * dim
            if space < 0 or end > size:
                raise ValueError(
                    f"{path} ends within word {row + 1} of {n_words}; the file is cut short."
                )
            words.append(_decode(path, data[position:space].lstrip(b"\n"), f"word {row + 1}"))
            vectors[row] = np.frombuffer(data[space + 1 : end], dtype="<f4")
            position = end
        if data[position : position + 2].strip():
            raise ValueError(
                f"{path}: the header promises {n_words} words of {dim} dims, but there is more "
                f"after byte {position:,}."
            )
    return words, vectors


def _read_text(path: Path, file: BinaryIO) -> _Table:
    first = file.readline().removeprefix(codecs.BOM_UTF8)
    header = _header(first)
    lines: Iterator[tuple[int, bytes]]
    if header is None:
        lines = enumerate(itertools.chain([first], file), start=1)
        dim = _count_numbers(first)
    else:
        lines = enumerate(file, start=2)
        dim = header[1]
    words: list[str] = []
    rows: list[np.ndarray] = []
    for number, line in lines:
        if not line.strip():
            continue
        # Counted from the right, because a word may contain spaces.
        fields = line.rstrip().rsplit(b" ", dim)
        if b"" in fields or fields[0].endswith(b" "):
            raise ValueError(f"{path}, line {number}: expected single spaces, found several.")
        try:
            # Python reads 1_0 as 10; no file of vectors means that.
            if b"_" in b"".join(fields[1:]):
                raise ValueError
            row = np.array(fields[1:], dtype=np.float32)
        except ValueError:
            row = np.empty(0, dtype=np.float32)
        if len(row) != dim or dim == 0:
            raise ValueError(
                f"{path}, line {number}: expected a word and {dim} numbers, found "
                f"{line[:60]!r}{'...' if len(line) > 60 else ''}."
            )
        words.append(_decode(path, fields[0], f"line {number}"))
        rows.append(row)
    if header is not None and len(rows) != header[0]:
        raise ValueError(
            f"{path}: the header promises {header[0]} words, the file has {len(rows)}."
        )
    return words, np.array(rows, dtype=np.float32)


def _count_numbers(line: bytes) -> int:
    """Number of numbers at the end of the first line of a text file without header."""
    count = 0
    for field in reversed(line.rstrip().split(b" ")[1:]):
        try:
            float(field)
        except ValueError:
            break
        count += 1
    return count


def _decode(path: Path, word: bytes, where: str) -> str:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}, {where}: the word {word!r} is not UTF-8.") from error
