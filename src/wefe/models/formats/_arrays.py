"""Arrays of numpy, and files of gensim, which are pickles with such arrays."""

from __future__ import annotations

import io
import math
import os
import pickle
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
import numpy.typing as npt

from wefe._checks import check_sequence, import_library
from wefe._files import read_text
from wefe.models._file_array import FileArray, OpenFile
from wefe.models._tables import check_vectors
from wefe.models._types import Reading, Vocabulary
from wefe.models.formats._frames import open_dict
from wefe.models.formats._source import TableSource, check_budget, naming_errors, table_source

# numpy refuses longer headers as well.
_MAX_HEADER_BYTES = 1 << 14


def open_npy(path: Path, reading: Reading) -> TableSource:
    """Open a matrix and its words; rows are read when they are used.

    `reading.vocabulary` is the words, or a file with one word per line; by default ``<stem>.txt``
    beside it.
    """
    vectors = open_array(path, reading)
    if vectors.dtype.hasobject and isinstance(vectors.tolist(), dict):
        return open_dict(vectors.tolist(), str(path), path.stem)
    return _join(path, vectors, reading.vocabulary)


def open_array(path: Path, reading: Reading) -> Any:
    label, file = str(path), OpenFile(path)
    head = file.read(0, min(file.size, _MAX_HEADER_BYTES))
    shape, fortran, dtype, offset = _read_header(head, file.size, label)
    _refuse_pickle(label, dtype, reading)
    if not (dtype.hasobject or fortran or not shape):
        return FileArray(file, offset, shape, dtype)
    with naming_errors(label, "array of numpy's"):
        return np.load(path, allow_pickle=reading.trust_pickle)


def open_npz(path: Path, reading: Reading) -> TableSource:
    """Read an archive of a 2-d floating-point array and a 1-d array of words, of any names."""
    label, vocabulary = str(path), reading.vocabulary
    with naming_errors(label, "archive"), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        # A member is never read beyond what it promises.
        check_budget(label, sum(member.file_size for member in members), path.stat().st_size)
        headers = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as file:
                head = file.read(_MAX_HEADER_BYTES)
            where = f"{label}, array {name!r}"
            shape, _, dtype, _ = _read_header(head, member.file_size, where)
            headers[name] = shape, dtype
    matrices = [k for k, (shape, dtype) in headers.items() if len(shape) == 2 and dtype.kind == "f"]
    texts = [k for k, (shape, dtype) in headers.items() if len(shape) == 1 and dtype.kind in "UO"]
    if len(matrices) != 1 or len(texts) > 1:
        raise ValueError(
            f"{label}: expected one 2-d array of floats and one of words, found {headers}."
        )
    for name in texts:
        _refuse_pickle(f"{label}, array {name!r}", headers[name][1], reading)
    # Other arrays are not read.
    with naming_errors(label, "archive"), np.load(path, allow_pickle=reading.trust_pickle) as read:
        vectors = read[matrices[0]]
        if vocabulary is None and texts:
            vocabulary = read[texts[0]].tolist()
    return _join(path, vectors, vocabulary)


def _read_header(
    first_bytes: bytes, size: int, label: str
) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return shape, order, dtype and start of an array that fills the rest of `size` bytes."""
    # numpy makes room for as many bytes as a header says that it has.
    head = io.BytesIO(first_bytes)
    with naming_errors(label, "array of numpy's"):
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[np.lib.format.read_magic(head)]
        shape, fortran, dtype = read(head)
        promised, there = math.prod(shape) * dtype.itemsize, size - head.tell()
        if not dtype.hasobject and (min(shape, default=0) < 0 or promised != there):
            raise ValueError(f"shape {shape} of {dtype} takes {promised:,} bytes, found {there:,}")
    return shape, fortran, dtype, head.tell()


def _refuse_pickle(label: str, dtype: np.dtype[Any], reading: Reading) -> None:
    if dtype.hasobject and not reading.trust_pickle:
        raise ValueError(
            f"{label} holds Python objects in a pickle, which can run any code when it is opened. "
            "If you trust its author, trust_pickle=True opens it."
        )


# ---- Vocabularies ------------------------------------------------------------------------------

# A line of the vocabulary of GloVe.
_COUNTED = re.compile(r"\S+[ \t]\d+")


def _join(path: Path, vectors: Any, vocabulary: Vocabulary | None) -> TableSource:
    label, where = str(path), "the vocabulary"
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or 0 in vectors.shape:
        raise ValueError(
            f"{label}: expected a 2-d array of floating-point numbers that is not empty, found one "
            f"of shape {vectors.shape} of {vectors.dtype}."
        )
    if vocabulary is None:
        vocabulary = path.with_suffix(".txt")
        if not vocabulary.is_file():
            raise ValueError(
                f"{path} holds no words, and there is no file {vocabulary.name!r} beside it. Say "
                "where the words are, or give them: vocabulary=..."
            )
    if isinstance(vocabulary, str | os.PathLike):
        where = str(vocabulary)
        vocabulary = _words_of(Path(vocabulary))
    words = np.array(check_sequence("vocabulary", vocabulary), dtype=object).tolist()
    if len(words) != len(vectors):
        raise ValueError(
            f"{label} has {len(vectors):,} rows, but {where} has {len(words):,} words."
        )
    return table_source(words, vectors, label, path.stem)


def _words_of(path: Path) -> list[str]:
    # Not splitlines, which also ends lines at characters that stand within words.
    lines = read_text(path).removesuffix("\n").split("\n")
    if all(map(_COUNTED.fullmatch, lines)):
        raise ValueError(
            f"{path}: expected one word per line, found a word with its count on each line. Write "
            "the words only, or pass a list of them: vocabulary=..."
        )
    return lines


# ---- Files of gensim -----------------------------------------------------------------------------


def open_gensim(path: Path, reading: Reading) -> TableSource:
    """Open `KeyedVectors` or a trained model saved by gensim.

    Plain `KeyedVectors` need neither gensim nor `trust_pickle`: only plain data are unpickled.
    """
    try:
        return _open_plain(path)
    except OSError:
        raise
    # A pickle that is damaged, or not plain, may raise anything.
    except Exception as error:
        if not reading.trust_pickle:
            raise ValueError(
                f"{path}: expected gensim's plain KeyedVectors, found something else or damage "
                f"({type(error).__name__}: {error!s:.200}). It is a pickle, which can run any code "
                "when it is opened: if you trust it, trust_pickle=True opens it with gensim."
            ) from error
        library = import_library("gensim.utils", "gensim", str(path))
        with naming_errors(str(path), "file of gensim"):
            # gensim takes a string with '://' for an address; an absolute path never is one.
            loaded = library.SaveLoad.load(str(path.absolute()), mmap="c")
        return gensim_source(gensim_table(loaded) or loaded, str(path), path.stem, reading)


# ---- Plain KeyedVectors ------------------------------------------------------------------------


class _Part:
    """An object in a pickle: the arguments of its constructor and its state."""

    state: Any = None

    def __init__(self, *args: Any) -> None:
        self.args = args

    def __setstate__(self, state: Any) -> None:
        self.state = state


# What plain KeyedVectors consist of.
_NAMES = ("KeyedVectors", "_frombuffer", "_reconstruct", "dtype", "ndarray", "scalar")
_PARTS: dict[str, Any] = {name: type(name, (_Part,), {}) for name in _NAMES}
_OPCODES = (
    "PROTO FRAME STOP MARK MEMOIZE BINGET LONG_BINGET NONE NEWTRUE NEWFALSE BININT BININT1 "
    "BININT2 BINFLOAT SHORT_BINUNICODE BINUNICODE SHORT_BINBYTES BINBYTES BINBYTES8 BYTEARRAY8 "
    "EMPTY_LIST EMPTY_TUPLE TUPLE APPEND APPENDS EMPTY_DICT SETITEM SETITEMS FROZENSET "
    "STACK_GLOBAL NEWOBJ REDUCE BUILD"
)
# Nothing hashes a list, which takes for ever of nested tuples; nor is room made for a bytearray
# before its bytes are there.
_READ_AS = {"EMPTY_TUPLE": "EMPTY_LIST", "TUPLE": "LIST", "BYTEARRAY8": "BINBYTES8"}


def _load_list_of(count: int) -> Any:
    def load(unpickler: Any) -> None:
        unpickler.stack[-count:] = [unpickler.stack[-count:]]

    return load


class _PlainUnpickler(pickle._Unpickler):
    """Reads plain KeyedVectors; in Python, as C allocates a memo of any size that is asked for."""

    dispatch: ClassVar[dict[int, Any]] = {
        getattr(pickle, op)[0]: pickle._Unpickler.dispatch[getattr(pickle, _READ_AS.get(op, op))[0]]
        for op in _OPCODES.split()
    } | {pickle.TUPLE1[0] + n: _load_list_of(n + 1) for n in range(3)}

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        size = os.fstat(file.fileno()).st_size
        # No more room is made than the file can fill.
        self._file_read = lambda n_bytes: file.read(min(n_bytes, size))

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] not in ("gensim", "numpy") or name not in _PARTS:
            raise pickle.UnpicklingError(f"it needs {module}.{name}")
        return _PARTS[name]


def _open_plain(path: Path) -> TableSource:
    with path.open("rb") as file:
        loaded = _PlainUnpickler(file).load()
    if not isinstance(loaded, _PARTS["KeyedVectors"]):
        raise TypeError(f"it holds no KeyedVectors, but a {type(loaded).__name__}")
    state = loaded.state
    index, expandos = state["key_to_index"], state.get("expandos", {})
    if "vectors" in state:
        vectors = np.array(_array(state["vectors"]))
    elif "vectors" in state["__numpys"]:
        vectors = open_array(path.with_name(f"{path.name}.vectors.npy"), Reading())
    else:
        raise TypeError("it says nothing of its vectors")
    rows = check_index(index, len(vectors))
    check_vectors("vectors", vectors[:1])
    if not np.array_equal(rows, np.arange(len(vectors))):
        # Rows that belong to no word are left out, so that word follows word.
        vectors = vectors[rows]
    source = table_source(list(index), vectors, str(path), path.stem)
    if "count" in expandos:
        source.counts = _counts(rows, _array(expandos["count"]))
    return source


def _array(part: _Part) -> npt.NDArray[Any]:
    """Make an array that shares the bytes of the pickle, even if it occurs twice."""
    if isinstance(part, _PARTS["_frombuffer"]):
        data, dtype, shape, order = part.args
    elif part.args == (_PARTS["ndarray"], [0], b"b"):
        _, shape, dtype, fortran, data = part.state
        order = "F" if fortran else "C"
    else:
        raise TypeError(f"an array made of {part.args}")
    code = dtype.state[1] + dtype.args[0]
    plain = [3, code[:1], None, None, None, -1, -1, 0]
    if not re.fullmatch("[<>|][fiu][1248]", code) or dtype.state != plain:
        raise TypeError(f"an array of {dtype.args} {dtype.state}")
    return np.frombuffer(data, code).reshape(shape, order=order)


# ---- Objects of gensim -------------------------------------------------------------------------


def gensim_table(value: Any) -> Any | None:
    """Return the `KeyedVectors` of a gensim object, or None."""
    for candidate in (value, getattr(value, "wv", None)):
        if "gensim.models.keyedvectors.KeyedVectors" in class_names(candidate):
            return candidate
    return None


def class_names(value: object) -> list[str]:
    """Return the full names of the classes of an object without importing their modules."""
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in type(value).__mro__]


def gensim_source(table: Any, label: str, name: str, reading: Reading) -> TableSource:
    """Check gensim's `KeyedVectors` and make a source of them."""
    with naming_errors(label, "vectors of words"):
        rows = check_index(table.key_to_index, len(check_vectors("vectors", table.vectors)))
    has_ngrams = getattr(table, "vectors_ngrams", None) is not None
    subwords = has_ngrams and reading.subwords == "mean"
    kept = np.asarray((getattr(table, "expandos", None) or {}).get("count"))
    return TableSource(table, label, name, _counts(rows, kept), subwords)


def check_index(index: Mapping[str, int], n_vectors: int) -> npt.NDArray[np.intp]:
    """Return the rows; refuse words that are not strings, or rows that do not fit the vectors."""
    rows = np.fromiter(index.values(), dtype=np.intp, count=len(index))
    if wrong := [word for word in index if not isinstance(word, str)]:
        raise TypeError(f"the word {wrong[0]!r}")
    unique = len(rows) == len(np.unique(rows))
    if not (unique and len(rows) and rows.min() >= 0 and rows.max() < n_vectors):
        raise ValueError(f"{len(rows):,} words that do not fit {n_vectors:,} vectors")
    return rows


def _counts(rows: npt.NDArray[np.intp], kept: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Return how often the word of each row occurred, or None if that is unknown."""
    there = kept.ndim == 1 and kept.dtype.kind in "iu" and len(kept) > rows.max()
    # Reading word2vec's format, gensim makes up counts that fall by one from word to word.
    return kept[rows] if there and not np.all(np.diff(kept) == -1) else None
