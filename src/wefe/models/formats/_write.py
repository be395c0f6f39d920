"""Writers of vectors: word2vec text and binary, GloVe text, gensim's own files.

Each takes blocks of words and vectors, so that a model of any size is written in bounded memory,
and writes the file whole or not at all (see `wefe._files`).
"""

from __future__ import annotations

import bz2
import contextlib
import copy
import functools
import gzip
import itertools
import logging
import lzma
import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice, found, nearest
from wefe._files import atomic_file
from wefe._progress import progress_bar
from wefe.models._keyed_vectors import FloatArray, StoredVectors
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.models.formats._source import Block, TableSource

logger = logging.getLogger(__name__)

SavedFormat: TypeAlias = Literal["glove", "word2vec", "word2vec-binary", "gensim", "native"]
FORMATS = ("glove", "word2vec", "word2vec-binary", "gensim", "native")

_BY_SUFFIX = {
    ".txt": "glove",
    ".vec": "word2vec",
    ".bin": "word2vec-binary",
    ".kv": "gensim",
    ".safetensors": "native",
}
_PACKED = (".gz", ".bz2", ".xz")
# gensim's and safetensors' readers take the suffix or the first bytes for the format.
_NEVER_PACKED = ("gensim", "native")

# Longer words were never seen, and readers look for the end of a word for some thousand bytes only.
_MAX_WORD_BYTES = 2000
# What a file starts with tells readers its format; these marks may also start a word.
_MAGIC = ("BZh", "PK\x03\x04", "PK\x05\x06", "PAR1")
# Readers of files without header count the numbers in so many lines.
_FIRST_LINES = 10

# Not text: half of a surrogate pair, which UTF-8 cannot write.
_NOT_IN_TEXT = re.compile("[\\0\\t\\n\\r\ud800-\udfff]|\\A |\\A\\Z| \\Z")
_NOT_IN_BINARY = re.compile("[\\0 \ud800-\udfff]|\\A\\n|\\A\\Z")
_NAMES = {"\0": "a NUL", "\t": "a tab", "\n": "a line end", "\r": "a carriage return"}


def save(
    model: WordEmbeddingModel,
    path: str | os.PathLike[str],
    format: SavedFormat | None = None,  # noqa: A002 - what it is
    *,
    progress: bool = True,
) -> None:
    """Write a model to a file that `wefe.load`, and other libraries, can open.

    The file appears, or is replaced, once all of it is written: a run that is interrupted or
    killed leaves what was there before.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model. Its words are written as in its vocabulary, without `vocab_prefix`.
    path : path
        The file.
    format : {'glove', 'word2vec', 'word2vec-binary', 'gensim', 'native'}, optional
        By default the suffix of the file name tells it:

        - 'glove' (.txt): text; a word and its numbers per line.
        - 'word2vec' (.vec): the same after a first line 'n_words dim'.
        - 'word2vec-binary' (.bin): words and float32 numbers.
        - 'gensim' (.kv): what ``gensim.models.KeyedVectors.load`` opens, in one file. Vectors of
          gensim are written with all they have, such as the n-grams of fastText.
        - 'native' (.safetensors): opens in milliseconds, in float16 or float32.

        Text and word2vec binary may be packed: '.txt.gz', '.vec.bz2', '.bin.xz'.
    progress : bool, default=True
        Whether long work shows a bar.

    Raises
    ------
    ValueError
        If the format is unknown, or cannot hold a word or number of the model: the message names
        it. What was at `path` stays.
    FileNotFoundError
        If the folder does not exist.
    ImportError
        If gensim's own format is asked for and gensim is not installed.

    Notes
    -----
    Text has, of each number, the fewest digits that tell it from all others of its type, so
    reading gives back the same float32 to the last bit. Numbers of float64 models are written
    with up to 17 digits; `wefe.load` and gensim read them as float32, to which word2vec binary and
    the native format round them at once.

    Of a model that was opened for some words ('selected'), those are written.
    """
    check_model(model)
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a path; got {found(path)}.")
    chosen = format_of(Path(path), format)
    if model.held == "selected":
        logger.warning(
            "%s was opened for some words only; %s gets these %d", model.name, path, len(model)
        )
    if chosen == "gensim":
        _save_gensim(model, path, progress)
        return
    if model.use_subwords:
        logger.warning(
            "%s gets the words of the vocabulary only; vectors of other words, which %s builds "
            "from subwords, cannot be kept",
            *(path, model.name),
        )
    source = TableSource(model.wv, str(path), model.name)
    if chosen != "native":
        # Before hours of formatting; the writers check again, as they also serve others.
        _WORD_CHECKS[chosen](list(model.vocab), True)
    write_blocks(
        path,
        chosen,
        source.blocks(),
        len(model.vocab),
        source.dim,
        dtype=model.dtype,
        name=model.name,
        progress=progress,
    )


def write_blocks(
    path: str | os.PathLike[str],
    format: str,  # noqa: A002 - what it is
    blocks: Iterable[Block],
    n_words: int,
    dim: int,
    *,
    dtype: npt.DTypeLike = np.float32,
    name: str = "",
    progress: bool = True,
) -> None:
    """Write blocks of words and vectors in a format of `FORMATS`; see `save`.

    Parameters
    ----------
    path : path
        The file.
    format : {'glove', 'word2vec', 'word2vec-binary', 'gensim', 'native'}
        How to write it.
    blocks : iterable of (list of str, ndarray of shape (n, dim))
        What to write; each word once.
    n_words, dim : int
        How many words there are in all blocks, and numbers per word.
    dtype : dtype, default=float32
        Type of the numbers, for the formats that know several.
    name : str
        The name of the model, for the native format.
    progress : bool, default=True
        Whether long work shows a bar.
    """
    if format == "native":
        from wefe.models.formats._native import write_native

        half = np.dtype(dtype) == np.float16
        write_native(
            os.fspath(path),
            blocks,
            dim,
            dtype="float16" if half else "float32",
            name=name,
            n_words=n_words,
            progress=progress,
        )
    elif format == "gensim":
        write_gensim(path, blocks, n_words, dim, dtype=dtype, progress=progress)
    elif format == "word2vec-binary":
        write_word2vec_binary(path, blocks, n_words, dim, progress=progress)
    elif format == "word2vec":
        write_word2vec_text(path, blocks, n_words, dim, progress=progress)
    else:
        write_glove(path, blocks, n_words, dim, progress=progress)


def write_word2vec_text(
    path: str | os.PathLike[str],
    blocks: Iterable[Block],
    n_words: int,
    dim: int,
    header: bool = True,
    *,
    progress: bool = True,
) -> None:
    """Write a word and its numbers per line, after a first line 'n_words dim'.

    Of float16 and float32 vectors, each number is the shortest decimal that gives back the same
    float32; of wider ones, the same float64. Bytes are those that gensim writes for float32.

    Parameters
    ----------
    path : path
        The file; with the suffix '.gz', '.bz2' or '.xz' it is packed.
    blocks : iterable of (list of str, ndarray of shape (n, dim))
        What to write.
    n_words, dim : int
        How many words there are in all blocks, and numbers per word.
    header : bool, default=True
        Whether to write the first line.
    progress : bool, default=True
        Whether long work shows a bar.

    Raises
    ------
    ValueError
        If a word cannot stand in such a file, a number is not finite in float32, or the blocks
        are not as announced. What was at `path` stays.
    """
    check = _check_text_words if header else _check_glove_words
    with _opened(path, n_words, progress) as (file, update):
        if header:
            file.write(b"%d %d\n" % (n_words, dim))
        n_spaced = 0
        for words, vectors in _checked(blocks, n_words, dim, check):
            for lines in _text_lines(words, vectors):
                file.write(lines)
            n_spaced += sum(" " in word for word in words)
            update(len(words))
    if n_spaced:
        logger.warning(
            "%d words in %s contain spaces: wefe reads them, gensim and others cannot. "
            "word2vec binary cannot hold them either; gensim's own format can.",
            n_spaced,
            path,
        )


def write_glove(
    path: str | os.PathLike[str],
    blocks: Iterable[Block],
    n_words: int,
    dim: int,
    *,
    progress: bool = True,
) -> None:
    """Write a word and its numbers per line, without header; see `write_word2vec_text`."""
    write_word2vec_text(path, blocks, n_words, dim, header=False, progress=progress)


def write_word2vec_binary(
    path: str | os.PathLike[str],
    blocks: Iterable[Block],
    n_words: int,
    dim: int,
    *,
    progress: bool = True,
) -> None:
    """Write word2vec's binary format, byte by byte as gensim does.

    Numbers are float32; the log says if those of wider vectors had to be rounded.

    Parameters
    ----------
    path, blocks, n_words, dim, progress
        As for `write_word2vec_text`.

    Raises
    ------
    ValueError
        As for `write_word2vec_text`; here no word may contain a space.
    """
    rounded = False
    with _opened(path, n_words, progress) as (file, update):
        file.write(b"%d %d\n" % (n_words, dim))
        for words, vectors in _checked(blocks, n_words, dim, _check_binary_words):
            numbers = np.ascontiguousarray(vectors, dtype="<f4")
            rounded = rounded or not np.array_equal(numbers, vectors)
            starts = (word.encode() + b" " for word in words)
            file.write(b"".join(itertools.chain.from_iterable(zip(starts, numbers, strict=True))))
            update(len(words))
    if rounded:
        logger.warning("numbers were rounded to float32, as %s holds no other", path)


def write_gensim(
    path: str | os.PathLike[str],
    blocks: Iterable[Block],
    n_words: int,
    dim: int,
    *,
    dtype: npt.DTypeLike = np.float32,
    progress: bool = True,
) -> None:
    """Write what ``gensim.models.KeyedVectors.load`` opens: a pickle, in one file.

    The vectors are collected in memory first, as a pickle cannot be written in blocks.

    Parameters
    ----------
    path, blocks, n_words, dim, progress
        As for `write_word2vec_text`; the file is never packed.
    dtype : dtype, default=float32
        Type of the numbers.

    Raises
    ------
    ValueError
        If a number is not finite, or the blocks are not as announced.
    ImportError
        If gensim is not installed.
    """
    _import_gensim()
    all_words: list[str] = []
    vectors = np.empty((n_words, dim), dtype=dtype)
    with progress_bar(n_words, f"collecting {Path(path).name}", "word", progress) as bar:
        for words, block in _checked(blocks, n_words, dim, _check_any_words, dtype):
            vectors[len(all_words) : len(all_words) + len(words)] = block
            all_words += words
            bar.update(len(words))
    _pickle_gensim(path, _gensim_vectors(all_words, vectors))


def _save_gensim(model: WordEmbeddingModel, path: str | os.PathLike[str], progress: bool) -> None:
    keyed_vectors = _import_gensim()
    words, dim = list(model.vocab), model.dim
    blocks = TableSource(model.wv, str(path), model.name).blocks()
    theirs = isinstance(model.wv, keyed_vectors)
    if not theirs and (
        isinstance(model.wv, StoredVectors)
        or len(words) != len(model.vectors)
        or list(model.vocab.values()) != list(range(len(words)))
    ):
        write_gensim(path, blocks, len(words), dim, dtype=model.dtype, progress=progress)
        return
    for _ in _checked(blocks, len(words), dim, _check_any_words, model.dtype):
        pass
    # The array itself, also where it is mapped: pickling copies nothing.
    _pickle_gensim(path, model.wv if theirs else _gensim_vectors(words, model.vectors))


def _import_gensim() -> Any:
    try:
        from gensim.models import KeyedVectors
    except ImportError as error:
        raise ImportError(
            'gensim is needed to write its own format; pip install "wefe[gensim]", or choose '
            "another format."
        ) from error
    return KeyedVectors


def _gensim_vectors(words: list[str], vectors: FloatArray) -> Any:
    table = _import_gensim()(vectors.shape[1], dtype=vectors.dtype)
    table.index_to_key = words
    table.key_to_index = {word: row for row, word in enumerate(words)}
    table.vectors = vectors
    table.next_index = len(words)
    return table


def _pickle_gensim(path: str | os.PathLike[str], vectors: Any) -> None:
    """Write vectors of gensim as their own `save` does when it is given an open file.

    Given a name, that `save` puts large arrays into further files, which no renaming replaces
    together with the first. Nor is it called, as it notes the name of the file (the temporary one)
    in the vectors.
    """
    whole = copy.copy(vectors)
    # Lengths that were cached before the vectors were changed from outside would stay wrong.
    whole.norms = None
    # gensim leaves out what fastText can compute again. The n-grams of every word are that; the
    # vectors would come out a little different.
    vars(whole).pop("buckets_word", None)
    for name, value in vars(whole).items():
        if isinstance(value, np.memmap):
            # Else it would be copied, and be no plain array when it is loaded.
            setattr(whole, name, np.asarray(value))
    with atomic_file(path) as file:
        # Protocol 5 writes arrays without a copy in memory.
        pickle.dump(whole, file, protocol=5)


def format_of(path: Path, format: str | None) -> str:  # noqa: A002
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] in _PACKED
    if packed:
        del suffixes[-1]
    if format is not None:
        chosen = check_choice("format", format, FORMATS)
    else:
        suffix = suffixes[-1] if suffixes else ""
        if suffix not in _BY_SUFFIX:
            known = ", ".join(f"{known} ({name})" for known, name in _BY_SUFFIX.items())
            raise ValueError(
                f"the suffix of {path.name!r} tells no format; expected one of {known}, or "
                f"format={' or '.join(map(repr, FORMATS))}.{nearest(suffix, _BY_SUFFIX)}"
            )
        chosen = _BY_SUFFIX[suffix]
    if packed and chosen in _NEVER_PACKED:
        raise ValueError(
            f"{path.name!r}: the format {chosen!r} is never packed; leave out {path.suffix!r}."
        )
    return chosen


@contextlib.contextmanager
def _opened(
    path: str | os.PathLike[str], n_words: int, progress: bool
) -> Iterator[tuple[BinaryIO, Callable[[int], None]]]:
    """Open a file for writing, packed if its name says so, and a progress bar."""
    name = Path(path).name
    with (
        atomic_file(path) as file,
        _packing(file, name) as packed,
        progress_bar(n_words, f"writing {name}", "word", progress) as bar,
    ):
        yield packed, bar.update


def _packing(file: BinaryIO, name: str) -> contextlib.AbstractContextManager[Any]:
    suffix = Path(name).suffix.lower()
    if suffix == ".gz":
        # No name and time, so that the same model gives the same bytes.
        return gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)
    if suffix == ".bz2":
        return bz2.BZ2File(file, "wb")
    if suffix == ".xz":
        return lzma.LZMAFile(file, "wb")
    return contextlib.nullcontext(file)


_WordCheck: TypeAlias = Callable[[list[str], bool], None]


def _checked(
    blocks: Iterable[Block],
    n_words: int,
    dim: int,
    check_words: _WordCheck,
    dtype: npt.DTypeLike = np.float32,
) -> Iterator[Block]:
    """Hand on blocks; refuse what no file should hold, and another number of words."""
    if n_words < 1 or dim < 1:
        raise ValueError(f"there is nothing to write: {n_words} words of {dim} dims.")
    n_done = 0
    for words, vectors in blocks:
        if vectors.shape != (len(words), dim):
            raise ValueError(
                f"expected {len(words)} vectors of {dim} dims after word {n_done}; found an array "
                f"of shape {vectors.shape}."
            )
        check_words(words, n_done == 0)
        with np.errstate(over="ignore"):
            finite = np.isfinite(vectors.astype(dtype, copy=False))
        if not finite.all():
            row = int(np.flatnonzero(~finite.all(axis=1))[0])
            number = vectors[row][~finite[row]][0]
            raise ValueError(
                f"the vector of {words[row]!r} has the number {number}; only numbers that are "
                f"finite in {np.dtype(dtype)} can be read back."
            )
        n_done += len(words)
        yield words, vectors
    if n_done != n_words:
        raise ValueError(f"{n_words} words were announced, and {n_done} came.")


def _check_any_words(words: list[str], first: bool) -> None:  # noqa: ARG001
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"words must be strings; got {found(word)}.")


def _check_words(words: list[str], wrong: re.Pattern[str], what: str) -> None:
    _check_any_words(words, False)
    for word in words:
        match = wrong.search(word)
        if match is None and len(word) * 4 > _MAX_WORD_BYTES < len(word.encode()):
            _refuse(word, what, f"it has more than {_MAX_WORD_BYTES:,} bytes")
        if match is None:
            continue
        if not word:
            _refuse(word, what, "it is empty")
        letter = match.group()
        if letter == " ":
            where = "contains" if what == "word2vec binary" else "starts or ends with"
            _refuse(word, what, f"it {where} a space")
        _refuse(word, what, f"it contains {_NAMES.get(letter, 'half a surrogate pair')}")


def _check_text_words(words: list[str], first: bool) -> None:  # noqa: ARG001
    _check_words(words, _NOT_IN_TEXT, "text")


def _check_glove_words(words: list[str], first: bool) -> None:
    _check_words(words, _NOT_IN_TEXT, "text")
    if not first:
        return
    # Without header, the first lines alone tell how many numbers there are, and the first bytes
    # that it is text.
    for word in words[:_FIRST_LINES]:
        _, space, last = word.rpartition(" ")
        if space and _is_number(last):
            reason = "it ends with a number and is among the first words, which tell the dimensions"
            _refuse(word, "text without header", reason, "'word2vec'")
    if words and words[0].startswith(("\ufeff", *_MAGIC)):
        reason = "the file would start with the mark of another format"
        _refuse(words[0], "text without header", reason, "'word2vec'")


def _check_binary_words(words: list[str], first: bool) -> None:
    _check_words(words, _NOT_IN_BINARY, "word2vec binary")
    # Readers take that for text with tabs.
    if first and words and re.match(r"[^\t]+\t[-+.0-9]", words[0]):
        _refuse(words[0], "word2vec binary", "it is the first word and has a tab before a number")


_WORD_CHECKS: dict[str, _WordCheck] = {
    "glove": _check_glove_words,
    "word2vec": _check_text_words,
    "word2vec-binary": _check_binary_words,
}


def _refuse(word: str, what: str, reason: str, other: str = "'gensim'") -> None:
    raise ValueError(
        f"the word {found(word).removeprefix('str ')} cannot be written as {what}: {reason}. "
        f"Choose another format, for example {other}."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# Numbers that are turned into text at once: their digits fit into the cache.
_AT_ONCE = 1 << 15
# From 0.0001 up to 10, 13 digits with fixed point hold any float32: 9 significant ones tell it from
# all others, and it starts at the fourth decimal or before. In float64 everything is exact there:
# 24 bits times 10**12 (28 bits and a power of two). Python writes smaller ones with an exponent.
_DECIMALS = 12
_TENS = 10.0 ** np.arange(_DECIMALS + 1)
_LEAST = np.nextafter(np.float32(1e-4), np.float32(1))
_LIMIT = np.float32(10)
# A separator, the sign, a digit, the point and the decimals.
_CELL_BYTES = 16


def _text_lines(words: list[str], vectors: FloatArray) -> Iterator[bytes]:
    """Hand out the lines of words and vectors, some at a time."""
    single = vectors.dtype.itemsize <= 4
    step = max(1, _AT_ONCE // vectors.shape[1])
    for start in range(0, len(words), step):
        chunk = vectors[start : start + step]
        if single:
            rows = _float32_rows(chunk.astype(np.float32, copy=False))
        else:
            rows = _any_rows(chunk.astype(np.float64, copy=False))
        begin = words[start : start + step]
        yield b"".join(
            [b"%b %b\n" % (word.encode(), row) for word, row in zip(begin, rows, strict=True)]
        )


def _any_rows(vectors: FloatArray) -> list[bytes]:
    """Return the numbers of each row as text: slow, and right for any float."""
    return [b" ".join(row) for row in vectors.astype(np.bytes_).tolist()]


def _float32_rows(vectors: npt.NDArray[np.float32]) -> list[bytes]:
    """Return what `_any_rows` does for float32, ten times faster.

    Every number gets a cell of 16 bytes: separator, sign, digit, point and twelve decimals, of
    which those that are not needed are NUL and removed in the end.
    """
    positive = np.abs(vectors)
    special = (positive >= _LIMIT) | ((positive < _LEAST) & (positive != 0))
    any_special = bool(special.any())
    if any_special:
        positive[special] = 0
    exact = positive.astype(np.float64)
    # With so many decimals a number has nine significant digits.
    n_decimals = np.full(vectors.shape, _DECIMALS, dtype=np.int8)
    for power in (1e-3, 1e-2, 1e-1, 1):
        n_decimals -= positive >= np.float32(power)
    # The number times 10**12 as an integer, rounded to 9, 8, 7 and 6 digits; the fewest that give
    # it back are kept. Of six digits or less, those that are left over are zeros.
    shortest = _rounded(exact, n_decimals)
    for fewer in (1, 2, 3):
        rounded = _rounded(exact, n_decimals - fewer)
        same = (rounded / 10.0**_DECIMALS).astype(np.float32) == positive
        np.copyto(shortest, rounded, where=same)
    digits = shortest.astype(np.int64)
    high = digits // 10**8
    low = (digits - high * 10**8).astype(np.int32)
    high = high.astype(np.int32)
    whole = high // 10**4
    first = high - whole * 10**4
    second = low // 10**4
    third = low - second * 10**4
    starts, first_decimals, decimals = _cell_parts()
    end_here = third == 0
    cells = np.empty((*vectors.shape, 4), dtype=np.uint32)
    cells[..., 0] = starts.take(whole + 10 * np.signbit(vectors))
    cells[..., 3] = decimals.take(third + 10**4)
    cells[..., 2] = decimals.take(second + 10**4 * end_here)
    end_here &= second == 0
    cells[..., 1] = first_decimals.take(first + 10**4 * end_here)
    letters = cells.view(np.uint8)
    if any_special:
        texts = vectors[special].astype(np.bytes_)
        # Before numpy 2.3 large numbers have no exponent.
        if np.char.str_len(texts).max() >= _CELL_BYTES:
            return _any_rows(vectors)
        by_letter = texts.astype(f"S{_CELL_BYTES - 1}").view(np.uint8)
        letters.reshape(*vectors.shape, _CELL_BYTES)[special, 1:] = by_letter.reshape(
            -1, _CELL_BYTES - 1
        )
    letters[:, 0, 0] = ord("\n")
    return letters.tobytes().translate(None, b"\0").split(b"\n")[1:]


def _rounded(exact: npt.NDArray[np.float64], n_decimals: npt.NDArray[np.int8]) -> Any:
    """Round to so many decimals, times 10**12."""
    rounded = np.rint(exact * _TENS.take(n_decimals))
    rounded *= _TENS.take(_DECIMALS - n_decimals)
    return rounded


@functools.cache
def _cell_parts() -> tuple[Any, Any, Any]:
    """Return the four bytes of each part of a cell, as one integer each.

    For separator, sign, digit and point, ten entries without sign and ten with one. For the first
    four decimals, 10,000 entries in full and 10,000 for the end of a number, without the zeros that
    end it ('.0' keeps its one). For other decimals the same, where nothing is left of four zeros.
    """
    starts = np.zeros((20, 4), dtype=np.uint8)
    starts[:, 0], starts[10:, 1], starts[:, 3] = ord(" "), ord("-"), ord(".")
    starts[:, 2] = ord("0") + np.arange(20) % 10
    numbers = np.arange(10**4)
    full = np.stack([ord("0") + numbers // 10**place % 10 for place in (3, 2, 1, 0)], axis=1)
    full = full.astype(np.uint8)
    ended = full.copy()
    for place in range(4):
        ended[numbers % 10 ** (4 - place) == 0, place] = 0
    first_ended = ended.copy()
    first_ended[0, 0] = ord("0")
    return tuple(  # type: ignore[return-value]
        np.ascontiguousarray(part).view(np.uint32).ravel()
        for part in (starts, np.concatenate([full, first_ended]), np.concatenate([full, ended]))
    )
