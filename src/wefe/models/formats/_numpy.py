"""numpy's own files: a matrix (.npy) with its vocabulary beside it, or both in one (.npz)."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from wefe._checks import check_sequence, found
from wefe.models._keyed_vectors import ArrayVectors, FloatArray
from wefe.models.formats._source import Reading, TableSource

logger = logging.getLogger(__name__)

#: What a user may give as vocabulary: the words, or the file that has them.
Vocabulary: TypeAlias = str | os.PathLike[str] | Sequence[str]

# Looked for beside a matrix: after its name without suffix, and for the whole folder.
_OWN = (
    ".vocab",
    ".txt",
    ".words",
    "-vocab.txt",
    ".json",
    ".vocab.json",
    "-vocab.json",
    ".vocab.npy",
)
_SHARED = ("vocab.txt", "vocab.json")

_MATRIX_NAMES = ("vectors", "embeddings", "matrix", "W")
_VOCABULARY_NAMES = ("vocabulary", "vocab", "words", "tokens")

# An archive that grows by more than this when it is unpacked is no archive of vectors.
_MOST_EXPANSION = 100
_HARMLESS_BYTES = 64 << 20


def open_npy(path: Path, reading: Reading, vocabulary: Vocabulary | None = None) -> TableSource:
    """Open a matrix, mapped copy-on-write, with the vocabulary in a file beside it.

    Parameters
    ----------
    path : Path
        A ``.npy`` file with one row per word.
    reading : Reading
        How to read.
    vocabulary : path or sequence of str, optional
        The words, or a file of them: one per line, JSON (a list, or word to row), or ``.npy``.
        By default a file is looked for: ``<stem>.vocab``, ``<stem>.txt``, ``<stem>.words``,
        ``<stem>-vocab.txt``, ``<stem>.vocab.npy``, ``vocab.txt`` or the same in JSON.

    Returns
    -------
    TableSource
        The matrix and its words.

    Raises
    ------
    ValueError
        If the matrix is no 2-d array of floating-point numbers, there is no vocabulary or more
        than one, or their lengths differ.
    """
    vectors = _matrix(path, reading)
    if isinstance(vectors, dict):
        from wefe.models.formats._frames import dict_source

        return dict_source(vectors, str(path), path.stem)
    _check_matrix(str(path), vectors)
    words, counts, where = _vocabulary_of(path, vocabulary, reading, vectors.shape[1])
    if len(words) != len(vectors):
        raise ValueError(f"{path} has {len(vectors):,} rows, but {where} has {len(words):,} words.")
    if reading.hold == "memory":
        vectors = np.array(vectors)
    return table_source(words, vectors, str(path), path.stem, counts, reading)


def open_npz(path: Path, reading: Reading, vocabulary: Vocabulary | None = None) -> TableSource:
    """Open an archive of a matrix and a vocabulary; it is read into memory.

    Parameters
    ----------
    path : Path
        A ``.npz`` file with one 2-d array of floating-point numbers and one 1-d array of strings,
        of any names.
    reading : Reading
        How to read.
    vocabulary : path or sequence of str, optional
        The words, if they are not in the archive; see `open_npy`.

    Returns
    -------
    TableSource
        The matrix and its words.

    Raises
    ------
    ValueError
        If the archive is damaged or would grow beyond measure, its arrays are not those, or the
        vectors are to be mapped.
    """
    if reading.hold == "mapped":
        raise ValueError(
            f"{path} cannot be mapped: it is an archive. Convert it first to a format that can, "
            "or leave out hold='mapped'."
        )
    with path.open("rb"):
        pass  # An error of the system's own, if it cannot be read.
    try:
        arrays = _Archive(path, reading)
    # zipfile and zlib have errors of many types; that a position does not exist is an OSError.
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith(str(path)):
            raise
        raise ValueError(
            f"{path} is a damaged archive ({type(error).__name__}: {error})."
        ) from error
    matrix_name = arrays.choose("2-d array of floating-point numbers", 2, "f", _MATRIX_NAMES)
    if matrix_name is None:
        raise ValueError(
            f"{path}: expected a 2-d array of floating-point numbers, found {arrays}.{arrays.hint}"
        )
    vectors = arrays.read(matrix_name)
    _check_matrix(str(path), vectors)
    counts = None
    words_name = None
    if vocabulary is None:
        words_name = arrays.choose("1-d array of strings", 1, "US", _VOCABULARY_NAMES)
    if words_name is not None:
        words = _strings(arrays.read(words_name), f"{path}, array {words_name!r}")
        where = f"its array {words_name!r}"
    else:
        found_in = f"{path} has no 1-d array of strings ({arrays}).{arrays.hint} "
        words, counts, where = _vocabulary_of(path, vocabulary, reading, vectors.shape[1], found_in)
    if len(words) != len(vectors):
        raise ValueError(
            f"{path}: the array {matrix_name!r} has {len(vectors):,} rows, but {where} has "
            f"{len(words):,} words."
        )
    return table_source(words, vectors, str(path), path.stem, counts, reading)


def table_source(
    words: Sequence[str],
    vectors: FloatArray,
    label: str,
    name: str,
    counts: Mapping[str, int] | None = None,
    reading: Reading | None = None,
) -> TableSource:
    """Make a source of words and rows; of a word that comes twice the first row is kept."""
    first: dict[str, int] = {}
    for row, word in enumerate(words):
        first.setdefault(word, row)
    if len(first) < len(words):
        n_more = len(words) - len(first)
        if reading is not None and reading.hold == "mapped":
            raise ValueError(
                f"{label} has {n_more} words twice, so its rows cannot be mapped as they are. "
                "Convert it first, or leave out hold='mapped'."
            )
        logger.warning("%s has %d words twice; the first vector of each is kept", label, n_more)
        words, vectors = list(first), vectors[list(first.values())]
    try:
        return TableSource(ArrayVectors(words, vectors), label, name, counts)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{label}: {error}") from error


# ---- One array ---------------------------------------------------------------------------------


def _matrix(path: Path, reading: Reading) -> Any:
    """Map the array of a file; unpickle it, if it is a pickle and trusted."""
    with path.open("rb") as file:
        shape, fortran, dtype = _npy_header(file, str(path))
        offset = file.tell()
    if dtype.hasobject:
        array = _unpickle(path, reading)
        if array.ndim == 0 and isinstance(array.item(), dict):
            return array.item()
        try:
            return np.array(array.tolist(), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} holds objects that are no numbers: {error}") from error
    _check_size(shape, dtype, path.stat().st_size - offset, str(path))
    if math.prod(shape) == 0:
        raise ValueError(f"{path} is empty: it is of shape {shape}.")
    order: Any = "F" if fortran else "C"
    return np.memmap(path, dtype, mode="c", offset=offset, shape=shape, order=order)


def _unpickle(path: Path, reading: Reading) -> Any:
    if not reading.trust_pickle:
        raise ValueError(
            f"{path} holds Python objects in a pickle, which can run any code when it is opened. "
            "If you trust its author, trust_pickle=True opens it."
        )
    try:
        return np.load(path, allow_pickle=True)
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{path} is damaged ({type(error).__name__}: {error}).") from error


def _npy_header(file: IO[bytes], label: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, order and type of an array."""
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            header = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            header = np.lib.format.read_array_header_2_0(file)
        else:
            raise ValueError(f"version {version} of the format is not known")
        shape, fortran, dtype = header
    except OSError:
        raise
    # The header is a Python literal; one that is damaged may raise anything.
    except Exception as error:
        raise ValueError(
            f"{label} is damaged, or no array of numpy's ({type(error).__name__}: {error})."
        ) from error
    return shape, fortran, dtype


def _check_size(shape: tuple[int, ...], dtype: np.dtype[Any], size: int, label: str) -> None:
    promised = math.prod(shape) * dtype.itemsize
    if any(length < 0 for length in shape) or promised != size:
        raise ValueError(
            f"{label} is damaged or cut short: an array of shape {shape} of {dtype} takes "
            f"{promised:,} bytes; {size:,} are there."
        )


def _check_matrix(label: str, array: Any) -> None:
    if array.ndim != 2 or array.dtype.kind != "f":
        raise ValueError(
            f"{label}: expected a 2-d array of floating-point numbers, found one of shape "
            f"{array.shape} of {array.dtype}."
        )
    if array.size == 0:
        raise ValueError(f"{label} is empty: it is of shape {array.shape}.")


def _strings(array: Any, label: str) -> list[str]:
    """Return the words of an array of str, bytes or objects."""
    try:
        words = array.tolist()
        if array.ndim != 1:
            raise ValueError(f"it is of shape {array.shape}")
        if array.dtype.kind == "S":
            words = [word.decode("utf-8") for word in words]
        for word in words:
            if not isinstance(word, str):
                raise ValueError(f"found {found(word)}")
        # An array can hold half a pair of surrogates, or no character at all.
        "".join(words).encode("utf-8")
    except ValueError as error:
        raise ValueError(f"{label}: expected a 1-d array of strings; {error}.") from error
    return words  # type: ignore[no-any-return]


# ---- Vocabularies ------------------------------------------------------------------------------

_Words: TypeAlias = tuple[list[str], dict[str, int] | None, str]


def _vocabulary_of(
    path: Path, given: Vocabulary | None, reading: Reading, dim: int, before: str = ""
) -> _Words:
    """Return the words of a matrix, their counts if they are known, and where they stand."""
    if given is None:
        given = _find_vocabulary(path, before)
    if not isinstance(given, str | os.PathLike):
        words = list(check_sequence("vocabulary", given))
        for position, word in enumerate(words):
            if not isinstance(word, str):
                raise TypeError(
                    f"vocabulary: element {position} must be a string; got {found(word)}."
                )
        return [str(word) for word in words], None, "the vocabulary"
    file = Path(given)
    if not file.is_file():
        raise FileNotFoundError(f"there is no vocabulary file {str(given)!r}.")
    if file.suffix == ".npy":
        return _read_npy_words(file, reading), None, str(file)
    content = file.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if file.suffix == ".json":
        return _read_json_words(file, content), None, str(file)
    words, counts = _read_text_words(file, content, dim)
    return words, counts, str(file)


def _find_vocabulary(path: Path, before: str) -> Path:
    names = [path.stem + suffix for suffix in _OWN] + list(_SHARED)
    there = [name for name in names if (path.parent / name).is_file()]
    if len(there) == 1:
        return path.parent / there[0]
    if there:
        raise ValueError(
            f"{before}{path}: its words could stand in {' or '.join(map(repr, there))}. Say which: "
            "vocabulary='...'."
        )
    raise ValueError(
        f"{before or f'{path} holds numbers only. '}Its words were looked for beside it, in "
        f"{', '.join(map(repr, names))}; there is no such file. Say where they are, or give them: "
        "vocabulary=..."
    )


def _read_npy_words(file: Path, reading: Reading) -> list[str]:
    with file.open("rb") as stream:
        shape, _, dtype = _npy_header(stream, str(file))
        size = file.stat().st_size - stream.tell()
    if dtype.hasobject:
        return _strings(_unpickle(file, reading), str(file))
    _check_size(shape, dtype, size, str(file))
    return _strings(np.load(file, allow_pickle=False), str(file))


def _read_json_words(file: Path, content: bytes) -> list[str]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is no JSON: {error}.") from error
    if isinstance(value, dict):
        rows = list(value.values())
        if not all(type(row) is int for row in rows) or sorted(rows) != list(range(len(rows))):
            raise ValueError(
                f"{file}: expected every row from 0 to {len(rows) - 1} for one word; found "
                f"{found(value)}."
            )
        value = sorted(value, key=value.__getitem__)
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ValueError(
            f"{file}: expected a list of words, or a row for each word; found {found(value)}."
        )
    return value


def _read_text_words(
    file: Path, content: bytes, dim: int
) -> tuple[list[str], dict[str, int] | None]:
    # Not splitlines, which also ends lines at characters that stand within words.
    lines = [line.removesuffix(b"\r") for line in content.removesuffix(b"\n").split(b"\n")]
    words = []
    for number, line in enumerate(lines, start=1):
        try:
            words.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(f"{file}, line {number}: {line[:60]!r} is not UTF-8.") from error
    first = words[0].split()
    if dim > 1 and len(first) > dim and all(_is_number(field) for field in first[-dim:]):
        raise ValueError(
            f"{file}: expected one word per line; found vectors ({words[0][:60]!r}). Open that "
            "file itself, or say where the words are: vocabulary=..."
        )
    # As GloVe and word2vec write their vocabularies.
    fields = [re.fullmatch(r"(\S+)[ \t](\d+)", word, re.ASCII) for word in words]
    if all(fields):
        logger.info("%s has a count after each word", file)
        counts = {field[1]: int(field[2]) for field in fields if field}
        return [field[1] for field in fields if field], counts
    return words, None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- Archives ----------------------------------------------------------------------------------


class _Archive:
    """The arrays of an .npz file, of which the headers were read."""

    def __init__(self, path: Path, reading: Reading) -> None:
        self.path, self.reading = path, reading
        self.headers: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            packed = sum(member.compress_size for member in members)
            # Both are only promised, but a member is never read beyond what it promises.
            packed = min(packed, path.stat().st_size)
            if unpacked > max(_HARMLESS_BYTES, _MOST_EXPANSION * packed):
                raise ValueError(
                    f"{path} would grow from {packed:,} to {unpacked:,} bytes when unpacked; no "
                    "vectors do that, so it is damaged or made to fill the memory."
                )
            for member in members:
                if not member.filename.endswith(".npy"):
                    continue
                name = member.filename.removesuffix(".npy")
                with archive.open(member) as file:
                    shape, _, dtype = _npy_header(file, f"{path}, array {name!r}")
                    size = member.file_size - file.tell()
                if not dtype.hasobject:
                    _check_size(shape, dtype, size, f"{path}, array {name!r}")
                self.headers[name] = shape, dtype

    @property
    def hint(self) -> str:
        """What to do about arrays of objects."""
        if self.reading.trust_pickle or not any(d.hasobject for _, d in self.headers.values()):
            return ""
        return (
            " Arrays of objects are pickles, which can run any code when they are opened; if you "
            "trust their author, trust_pickle=True opens them."
        )

    def choose(self, what: str, n_dims: int, kinds: str, preferred: tuple[str, ...]) -> str | None:
        """Return the name of the only fitting array, or of the one with a name that tells."""
        if self.reading.trust_pickle and n_dims == 1:
            kinds += "O"
        fitting = [
            name
            for name, (shape, dtype) in self.headers.items()
            if len(shape) == n_dims and dtype.kind in kinds
        ]
        if len(fitting) < 2:
            return fitting[0] if fitting else None
        for name in preferred:
            if name in fitting:
                return name
        raise ValueError(
            f"{self.path}: expected one {what}, found {len(fitting)}: "
            f"{', '.join(map(repr, fitting))}. Save the one meant as {preferred[0]!r}."
        )

    def read(self, name: str) -> Any:
        """Read one array."""
        try:
            # Its CRC is checked while it is read.
            with np.load(self.path, allow_pickle=self.reading.trust_pickle) as archive:
                return archive[name]
        except Exception as error:
            raise ValueError(
                f"{self.path}: the array {name!r} is damaged ({type(error).__name__}: {error})."
            ) from error

    def __str__(self) -> str:
        arrays = [
            f"{name!r} of shape {shape} of {dtype}" for name, (shape, dtype) in self.headers.items()
        ]
        return ", ".join(arrays) or "no array"
