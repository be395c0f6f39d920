"""Vectors that gensim reads: its own pickles, and the binary files of Facebook's fastText."""

from __future__ import annotations

import glob
import logging
import mmap
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from wefe._checks import found
from wefe.models._keyed_vectors import check_vectors
from wefe.models.formats._source import Reading, TableSource

logger = logging.getLogger(__name__)

#: The first four bytes of a fastText model, as a little-endian int32.
FASTTEXT_MAGIC = 793712314

_NEED_GENSIM = (
    '{} can only be read with gensim, which is not installed: pip install "wefe[gensim]".'
)


def open_gensim(path: Path, reading: Reading) -> TableSource:
    """Open what gensim saved: `KeyedVectors`, or a model that was trained.

    Arrays that gensim stored in files of their own are mapped copy-on-write: changes stay in
    memory.

    Parameters
    ----------
    path : Path
        The file, with those that belong to it beside it.
    reading : Reading
        How to read; without `trust_pickle` nothing is opened.

    Returns
    -------
    TableSource
        gensim's own table.

    Raises
    ------
    ImportError
        If gensim is missing.
    ValueError
        If the user does not trust the file, it is damaged, holds no vectors of words, or cannot
        be mapped although the user asks for that.
    """
    if not reading.trust_pickle:
        raise ValueError(
            f"{path} is a pickle (as gensim saves), which can run any code when it is opened. If "
            "you trust its author, trust_pickle=True opens it."
            + ("" if find_spec("gensim") else f" {_NEED_GENSIM.format('It')}")
        )
    loaded = _unpickle(path)
    table = gensim_table(loaded)
    if table is None:
        raise ValueError(
            f"{path} holds no vectors of words: expected gensim's KeyedVectors or a model with "
            f"them (Word2Vec, FastText, Doc2Vec), found {found(loaded)}."
        )
    source = gensim_source(table, str(path), path.stem, reading)
    if reading.hold == "mapped" and source.held != "mapped":
        raise ValueError(
            f"{path} cannot be mapped: its vectors lie within the pickle, or are made from their "
            "n-grams when it is opened. Convert it first to a format that can, or leave out "
            "hold='mapped'."
        )
    if reading.hold == "memory":
        for name, value in vars(table).items():
            if isinstance(value, np.memmap):
                setattr(table, name, np.array(value))
    return source


def _unpickle(path: Path) -> Any:
    try:
        from gensim.utils import SaveLoad
    except ImportError as error:
        raise ImportError(_NEED_GENSIM.format(path)) from error
    # Mapped even if it is to end in memory: so the sizes that the files promise are compared
    # with those they have, and what a model knows beside its vectors is never read.
    packed = path.suffix in (".gz", ".bz2")
    # gensim takes a string with '://' for an address; an absolute path never is one.
    name = str(path.absolute())
    try:
        return SaveLoad.load(name, mmap=None if packed else "c")
    except FileNotFoundError as error:
        if error.filename is None or str(error.filename) == name:
            raise
        raise ValueError(
            f"{path}: the file {Path(error.filename).name!r} is missing. gensim saves large arrays "
            "beside the pickle; keep the files together."
        ) from error
    except PermissionError:
        raise
    # A damaged pickle may raise anything.
    except Exception as error:
        culprit = _damaged_companion(path) or path
        raise ValueError(
            f"{culprit} is damaged, or no file of gensim's ({type(error).__name__}: {error})."
        ) from error


def _damaged_companion(path: Path) -> Path | None:
    for companion in sorted(path.parent.glob(f"{glob.escape(path.name)}.*.npy")):
        try:
            np.load(companion, mmap_mode="r")
        except Exception:
            return companion
    return None


def gensim_table(value: Any) -> Any | None:
    """Return the `KeyedVectors` that a gensim object is or has; None if it has none."""
    for candidate in (value, getattr(value, "wv", None)):
        if "gensim.models.keyedvectors.KeyedVectors" in class_names(candidate):
            return candidate
    return None


def class_names(value: object) -> list[str]:
    """Return the full names of the classes of an object, without importing their modules."""
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in type(value).__mro__]


def gensim_source(table: Any, label: str, name: str, reading: Reading) -> TableSource:
    """Make a source of gensim's `KeyedVectors`, after a look at whether they are whole."""
    try:
        vectors = check_vectors(table.vectors)
        index = table.key_to_index
        rows = np.fromiter(index.values(), dtype=np.intp, count=len(index))
        if not all(isinstance(word, str) for word in index):
            wrong = next(word for word in index if not isinstance(word, str))
            raise TypeError(f"words must be strings; got {found(wrong)}.")
        if len(rows) == 0:
            raise ValueError("there is no word in it.")
        if rows.min() < 0 or rows.max() >= len(vectors) or len(np.unique(rows)) != len(rows):
            raise ValueError(f"the {len(rows):,} words do not fit {len(vectors):,} vectors.")
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"{label}: {error}") from error
    return TableSource(table, label, name, _counts(table), _subwords(table, label, reading))


class Counts(Mapping[str, int]):
    """How often each word occurred: an array behind a vocabulary."""

    def __init__(self, index: Mapping[str, int], array: Any) -> None:
        self._index, self._array = index, array

    def __getitem__(self, word: str) -> int:
        return int(self._array[self._index[word]])

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)


def _counts(table: Any) -> Counts | None:
    kept = (getattr(table, "expandos", None) or {}).get("count")
    if not isinstance(kept, np.ndarray) or kept.ndim != 1 or kept.dtype.kind not in "iu":
        return None
    # Reading word2vec's format, gensim makes up counts that fall by one from word to word.
    if len(kept) < len(table.vectors) or np.all(np.diff(kept) == -1):
        return None
    return Counts(table.key_to_index, kept)


def _subwords(table: Any, label: str, reading: Reading) -> bool:
    if reading.subwords in (None, "refuse"):
        return False
    ngrams = getattr(table, "vectors_ngrams", None)
    if ngrams is None:
        raise ValueError(
            f"{label} knows whole words only, so subwords={reading.subwords!r} has no meaning for "
            "it; leave it out."
        )
    if reading.subwords == "first":
        raise ValueError(
            f"{label}: fastText builds a word from the mean of its n-grams; it has no first one. "
            "Use subwords='mean'."
        )
    if ngrams.shape != (table.bucket, table.vectors.shape[1]):
        raise ValueError(
            f"{label}: expected n-gram vectors of shape ({table.bucket}, {table.vectors.shape[1]})"
            f", found {ngrams.shape}."
        )
    return True


# ---- Facebook's binary files -------------------------------------------------------------------

# magic, version, dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn,
# lrUpdateRate, t; nothing is padded.
_HEADER = struct.Struct("<2i12id")
# floret's header says two more things before lrUpdateRate: hashCount and mode.
_FLORET_HEADER = struct.Struct("<2i14id")
# Entries, words, labels, tokens, entries of the index of pruned n-grams (-1: not pruned).
_DICTIONARY = struct.Struct("<3i2q")
# After each word and its NUL: how often it occurred, and whether it is a word or a label.
_ENTRY = struct.Struct("<qb")
# Whether it is quantised, rows, columns.
_MATRIX = struct.Struct("<b2q")
_NEWEST_VERSION = 12
_LONGEST_WORD = 1 << 20
_LONGEST_NGRAM = 1000
#: fastText's end of sentence: the only word without n-grams.
_END_OF_SENTENCE = "</s>"


@dataclass(frozen=True)
class _Facebook:
    """What the file says about itself."""

    words: list[str]
    dim: int
    bucket: int


def open_fasttext_bin(path: Path, reading: Reading) -> TableSource:
    """Open a model that Facebook's fastText wrote (`.bin`), with its n-grams.

    Parameters
    ----------
    path : Path
        The file.
    reading : Reading
        How to read; with ``subwords='mean'`` unseen words are built from their n-grams.

    Returns
    -------
    TableSource
        gensim's `FastTextKeyedVectors`, in memory.

    Raises
    ------
    ImportError
        If gensim is missing.
    ValueError
        If the file is damaged, supervised or quantised, or is to be mapped.
    """
    if reading.hold == "mapped":
        raise ValueError(
            f"{path} cannot be mapped: fastText keeps the parts of its vectors, which are put "
            "together when it is opened. Convert it first to a format that can, or leave out "
            "hold='mapped'."
        )
    # gensim believes the file: it asks for the memory that is promised, and looks for the end of
    # a word beyond the end of the file, for ever.
    expected = _check_fasttext(path)
    try:
        from gensim.models.fasttext import load_facebook_vectors
    except ImportError as error:
        raise ImportError(_NEED_GENSIM.format(path)) from error
    try:
        table = load_facebook_vectors(str(path.absolute()))
    except OSError:
        raise
    except Exception as error:
        raise ValueError(
            f"{path}: gensim cannot read this fastText model ({type(error).__name__}: {error})."
        ) from error
    if table.index_to_key != expected.words or table.vectors.shape[1] != expected.dim:
        raise ValueError(
            f"{path}: gensim reads {len(table.index_to_key):,} words of {table.vectors.shape[1]} "
            f"dims, the file has {len(expected.words):,} of {expected.dim}."
        )
    row = table.key_to_index.get(_END_OF_SENTENCE)
    if row is not None:
        # gensim mixes n-grams into it, fastText does not.
        table.vectors[row] = table.vectors_vocab[row]
        table.buckets_word[row] = np.array([], dtype=np.uint32)
    return gensim_source(table, str(path), path.stem, reading)


def _check_fasttext(path: Path) -> _Facebook:
    """Read everything but the numbers, and compare what is promised with the size of the file."""
    with path.open("rb") as file:
        size = path.stat().st_size
        if size < _HEADER.size + _DICTIONARY.size:
            raise ValueError(f"{path} is cut short: {size} bytes are no fastText model.")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _check_fasttext_bytes(path, data, size)


def _check_fasttext_bytes(path: Path, data: mmap.mmap, size: int) -> _Facebook:
    magic, version, dim, *_, bucket, min_n, max_n, _, _ = _HEADER.unpack_from(data)
    if magic != FASTTEXT_MAGIC:
        raise ValueError(f"{path} is no fastText model: it starts with {data[:4]!r}.")
    if not 0 < version <= _NEWEST_VERSION:
        raise ValueError(
            f"{path} is a fastText model of version {version}; known are 1 to {_NEWEST_VERSION}."
        )
    entries, n_words, n_labels, _, pruned = _DICTIONARY.unpack_from(data, _HEADER.size)
    if entries != n_words + n_labels and _is_floret(data):
        raise ValueError(
            f"{path} is a model of floret, which gensim does not read, although it looks like one "
            "of fastText. Write its vectors with floret (save_vectors) and open those."
        )
    if n_labels > 0:
        raise ValueError(
            f"{path} is a supervised fastText model (a classifier of {n_labels:,} labels), which "
            "gensim does not read. Write its vectors with fastText (save_vectors, or "
            "'fasttext print-word-vectors') and open those."
        )
    if (
        dim < 1
        or bucket < 0
        or not 0 <= min_n <= _LONGEST_NGRAM
        or not 0 <= max_n <= _LONGEST_NGRAM
    ):
        raise ValueError(
            f"{path} is damaged: it promises {dim} dims, {bucket} buckets and n-grams of {min_n} "
            f"to {max_n} characters."
        )
    position = _HEADER.size + _DICTIONARY.size
    # An entry takes at least a letter, its NUL, and 9 bytes.
    if n_labels < 0 or entries != n_words or not 0 < entries * 11 <= size - position:
        raise ValueError(
            f"{path} is damaged: it promises {entries} entries, {n_words} words and {n_labels} "
            f"labels in {size:,} bytes."
        )
    words, position = _read_words(path, data, position, entries)
    if pruned != -1:
        raise ValueError(
            f"{path} is a fastText model whose n-grams were pruned ({pruned} are left), which "
            "gensim does not read. Use the .bin that it was made from."
        )
    position = _check_matrix(path, data, position, (n_words + bucket, dim), "input")
    position = _check_matrix(path, data, position, (None, dim), "output")
    if position != size:
        raise ValueError(f"{path} is damaged: {size - position:,} bytes follow its end.")
    return _Facebook(words, dim, bucket)


def _is_floret(data: mmap.mmap) -> bool:
    if len(data) < _FLORET_HEADER.size + _DICTIONARY.size:
        return False
    hash_count, mode = _FLORET_HEADER.unpack_from(data)[13:15]
    entries, n_words, n_labels, _, _ = _DICTIONARY.unpack_from(data, _FLORET_HEADER.size)
    return 1 <= hash_count <= 4 and mode in (1, 2) and entries == n_words + n_labels > 0


def _read_words(path: Path, data: mmap.mmap, position: int, entries: int) -> tuple[list[str], int]:
    words: dict[str, None] = {}
    for number in range(1, entries + 1):
        end = data.find(b"\0", position, position + _LONGEST_WORD)
        if end < 0 or end + 1 + _ENTRY.size > len(data):
            raise ValueError(f"{path} ends within word {number:,} of {entries:,}; it is cut short.")
        count, kind = _ENTRY.unpack_from(data, end + 1)
        # As gensim decodes: some published models have words that are not UTF-8.
        word = data[position:end].decode("utf-8", errors="backslashreplace")
        if not word or count < 1 or kind != 0:
            raise ValueError(
                f"{path} is damaged: word {number:,} of {entries:,} is {word[:60]!r}, occurs "
                f"{count} times and is of type {kind}."
            )
        if word in words:
            raise ValueError(f"{path} is damaged: the word {word[:60]!r} stands in it twice.")
        words[word] = None
        position = end + 1 + _ENTRY.size
    return list(words), position


def _check_matrix(
    path: Path, data: mmap.mmap, position: int, shape: tuple[int | None, int], what: str
) -> int:
    """Check the header of a matrix; return where the matrix ends."""
    start = position + _MATRIX.size
    if start > len(data):
        raise ValueError(f"{path} ends before its {what} matrix; it is cut short.")
    quantised, rows, columns = _MATRIX.unpack_from(data, position)
    if quantised:
        raise ValueError(
            f"{path} is a quantised fastText model (.ftz), which gensim does not read. Use the "
            ".bin that it was made from."
        )
    if columns != shape[1] or rows < 0 or (shape[0] is not None and rows != shape[0]):
        raise ValueError(
            f"{path} is damaged: its {what} matrix should be of {shape[0] or 'some'} rows and "
            f"{shape[1]} columns, and says it is of {rows} and {columns}."
        )
    end: int = start + 4 * rows * columns
    if end > len(data):
        raise ValueError(
            f"{path} is cut short: its {what} matrix of {rows:,} x {columns} needs "
            f"{end - start:,} bytes; {len(data) - start:,} are left."
        )
    return end
