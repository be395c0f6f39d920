"""The native format: one safetensors file that opens in milliseconds, whatever its size.

It holds, in this order:

- ``embeddings``: float32, float16 or int8 of shape (n_words, dim), from a page boundary on;
- ``scale``: float32 of shape (n_words,), only for int8: a vector is its row times its scale;
- ``vocabulary``: the words in UTF-8, with a line end between them;
- ``vocabulary.starts``: where each word starts in these bytes, and where the last one ends;
- ``vocabulary.hashes`` and ``vocabulary.rows``: a 64-bit hash of each word, sorted, and its row, so
  that a word is found by bisection without reading the others.

Matrix and vocabulary lie in one file so that one renaming replaces both. Every safetensors reader
can open it. Files with ``embeddings`` and ``vocabulary`` alone are read, too.
"""

from __future__ import annotations

import bisect
import hashlib
import json
import logging
from array import array
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice
from wefe._files import atomic_file
from wefe._progress import progress_bar
from wefe.models._keyed_vectors import (
    ArrayVectors,
    FloatArray,
    Held,
    IndexedVectors,
    StoredVectors,
    is_mapped,
)
from wefe.models.formats._safetensors import Tensor, map_tensor, read_header
from wefe.models.formats._source import Block, Reading, TableSource

logger = logging.getLogger(__name__)

StoredDtype: TypeAlias = Literal["float32", "float16", "int8"]
_DTYPES = {"float32": ("F32", "<f4"), "float16": ("F16", "<f2"), "int8": ("I8", "|i1")}

# The header is written last, into room left for it, as only the end of a stream tells its length.
_HEADER_BYTES = 4096
_MOVE_ROWS = 4096


class FileVocabulary(Mapping[str, int]):
    """The vocabulary of a native file: words are looked up in the mapped file.

    Parameters
    ----------
    label : str
        The file, as messages name it.
    letters : ndarray of uint8
        The words, with a line end between them.
    starts : ndarray of shape (n_words + 1,), uint64
        Where each word starts; the last entry is one byte past the end of the last word.
    hashes, rows : ndarray of shape (n_words,)
        The sorted hashes of the words, and their rows.
    """

    def __init__(self, label: str, letters: Any, starts: Any, hashes: Any, rows: Any) -> None:
        self._label = label
        self._letters, self._starts, self._hashes, self._rows = letters, starts, hashes, rows

    def __len__(self) -> int:
        return len(self._hashes)

    def __getitem__(self, word: str) -> int:
        if isinstance(word, str):
            encoded = word.encode("utf-8", "surrogatepass")
            wanted = _hash(encoded)
            place = bisect.bisect_left(self._hashes, wanted)
            while place < len(self) and int(self._hashes[place]) == wanted:
                row = int(self._rows[place])
                found = self._word_bytes(row)
                if found == encoded:
                    return row
                if _hash(found) != wanted:
                    raise ValueError(
                        f"{self._label} is damaged: its index of words points at other words."
                    )
                place += 1
        raise KeyError(word)

    def __iter__(self) -> Iterator[str]:
        words = _words(self._label, self._letters) if len(self) else []
        if len(words) == len(self):
            return iter(words)
        # A word with a line end in it.
        return (self._word(row) for row in range(len(self)))

    def words(self, start: int, stop: int) -> list[str]:
        """Return the words of some rows; others are not read."""
        if not 0 <= start < stop <= len(self):
            return []
        words = _words(
            self._label, self._letters[int(self._starts[start]) : int(self._starts[stop]) - 1]
        )
        # Else a word has a line end in it.
        return words if len(words) == stop - start else [self._word(r) for r in range(start, stop)]

    def items(self) -> ItemsView[str, int]:
        """Return the words with their rows, in the order of the rows."""
        return _Items(self)

    def values(self) -> ValuesView[int]:
        """Return the rows: 0, 1, 2, ..."""
        return _Values(self)

    def _word(self, row: int) -> str:
        try:
            return self._word_bytes(row).decode("utf-8")
        except UnicodeDecodeError as error:
            raise _no_utf8(self._label, error) from error

    def _word_bytes(self, row: int) -> bytes:
        if row < len(self):
            start, end = int(self._starts[row]), int(self._starts[row + 1]) - 1
            if 0 <= start <= end <= len(self._letters):
                return self._letters[start:end].tobytes()  # type: ignore[no-any-return]
        raise ValueError(f"{self._label} is damaged: its index of words points outside of it.")


class _Items(ItemsView[str, int]):
    def __init__(self, vocabulary: FileVocabulary) -> None:
        super().__init__(vocabulary)
        self._vocabulary = vocabulary

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return ((word, row) for row, word in enumerate(self._vocabulary))


class _Values(ValuesView[int]):
    def __init__(self, vocabulary: FileVocabulary) -> None:
        super().__init__(vocabulary)
        self._vocabulary = vocabulary

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._vocabulary)))


class QuantizedVectors(StoredVectors):
    """Vectors kept as int8 numbers with one scale per word.

    Parameters
    ----------
    key_to_index : mapping from str to int
        The row of each word.
    numbers : ndarray of shape (n_words, dim), int8
        The rounded numbers, from -127 to 127.
    scale : ndarray of shape (n_words,), float32
        What a row is multiplied by.
    """

    def __init__(self, key_to_index: Mapping[str, int], numbers: Any, scale: Any) -> None:
        self.key_to_index = key_to_index
        self.vector_size = int(numbers.shape[1])
        self._numbers, self._scale = numbers, scale

    def _make(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        vectors: FloatArray = self._numbers[rows].astype(np.float32)
        vectors *= self._scale[rows][:, None]
        return vectors

    @property
    def stored_nbytes(self) -> int:
        """Bytes of the rounded numbers and their scales."""
        return int(self._numbers.nbytes + self._scale.nbytes)

    @property
    def stored_held(self) -> Held:
        """Where the rounded numbers are."""
        return "mapped" if is_mapped(self._numbers) else "memory"


def is_native(tensors: Mapping[str, Tensor]) -> bool:
    """Tell whether a safetensors file holds a vocabulary beside its vectors."""
    return {"embeddings", "vocabulary"} <= set(tensors)


def open_native(path: Path, reading: Reading) -> TableSource:
    """Open a native file; nothing of the matrix is read unless it is to be held in memory."""
    tensors, metadata = read_header(path)
    tensors = _check_layout(path, tensors)
    in_memory = reading.hold == "memory"
    # Plain arrays over the maps: numpy's own class for them is slow to index.
    mapped = {name: np.asarray(map_tensor(path, tensor)) for name, tensor in tensors.items()}
    numbers = mapped["embeddings"]
    if in_memory:
        numbers = np.array(numbers)
    index: Mapping[str, int]
    if "vocabulary.hashes" in tensors:
        index = FileVocabulary(
            str(path),
            mapped["vocabulary"],
            *(mapped[f"vocabulary.{part}"] for part in ("starts", "hashes", "rows")),
        )
        if in_memory:
            index = dict(index.items())
        _check_count(path, len(index), numbers)
    else:
        index = _index_of(path, mapped["vocabulary"], numbers)
    table: IndexedVectors | QuantizedVectors
    if numbers.dtype == np.int8:
        table = QuantizedVectors(index, numbers, np.array(mapped["scale"]))
    else:
        table = IndexedVectors(index, numbers)
    return TableSource(table, str(path), metadata.get("name") or path.stem)


def _words(label: str, letters: Any) -> list[str]:
    """Split the words at their line ends."""
    try:
        return letters.tobytes().decode("utf-8").split("\n")  # type: ignore[no-any-return]
    except UnicodeDecodeError as error:
        raise _no_utf8(label, error) from error


def _no_utf8(label: str, error: UnicodeDecodeError) -> ValueError:
    return ValueError(f"{label} is damaged: its vocabulary is not UTF-8 ({error}).")


def _index_of(path: Path, letters: Any, numbers: Any) -> Mapping[str, int]:
    words = _words(str(path), letters)
    _check_count(path, len(words), numbers)
    try:
        return ArrayVectors(words, np.empty((len(words), 0), dtype=np.float32)).key_to_index
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _check_count(path: Path, n_words: int, numbers: Any) -> None:
    if n_words != len(numbers):
        raise ValueError(f"{path}: the vocabulary has {n_words} words for {len(numbers)} vectors.")


def _check_layout(path: Path, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors of the format; there may be others."""
    matrix, letters = tensors["embeddings"], tensors["vocabulary"]
    n_words = matrix.shape[0] if len(matrix.shape) == 2 else -1
    expected: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
        "vocabulary": (("U8",), (letters.nbytes,)),
        "embeddings": (("F32", "F16", "F64", "I8"), matrix.shape),
    }
    if matrix.dtype == "I8":
        expected["scale"] = ("F32",), (n_words,)
    if "vocabulary.hashes" in tensors:
        expected["vocabulary.starts"] = ("U64",), (n_words + 1,)
        expected["vocabulary.hashes"] = ("U64",), (n_words,)
        expected["vocabulary.rows"] = ("U32",), (n_words,)
    for name, (dtypes, shape) in expected.items():
        tensor = tensors.get(name)
        if n_words < 0 or tensor is None or tensor.dtype not in dtypes or tensor.shape != shape:
            found = "none" if tensor is None else f"{tensor.dtype} of shape {tensor.shape}"
            wanted = "two dimensions" if n_words < 0 else f"shape {shape}"
            raise ValueError(
                f"{path}: expected a tensor {name!r} of {' or '.join(dtypes)} and {wanted}; "
                f"found {found}."
            )
    return {name: tensors[name] for name in expected}


def write_native(
    path: str | Path,
    blocks: Iterable[Block],
    dim: int,
    *,
    dtype: StoredDtype = "float32",
    name: str = "",
    n_words: int | None = None,
    progress: bool = True,
) -> int:
    """Write blocks of words and vectors to a native file, in bounded memory.

    Of a word that comes twice, the first vector is kept; the log counts the others.

    Parameters
    ----------
    path : path
        The file to write; it appears (or is replaced) when all is written.
    blocks : iterable of (list of str, ndarray of shape (n, dim))
        What to write.
    dim : int
        Number of dimensions.
    dtype : {'float32', 'float16', 'int8'}, default='float32'
        How the numbers are kept. float16 keeps 11 significant bits. int8 divides each vector by a
        scale of its own, 1/127 of its largest number, and rounds: off by at most half of that.
    name : str
        The name of the model.
    n_words : int, optional
        Number of words, for the progress bar only.
    progress : bool, default=True
        Whether to show one.

    Returns
    -------
    int
        Number of words written.

    Raises
    ------
    ValueError
        If a number does not fit into `dtype`, or there are no words. What was at `path` stays.
    """
    check_choice("dtype", dtype, tuple(_DTYPES))
    with atomic_file(path) as file:
        writer = _NativeWriter(file, dim, dtype)
        with progress_bar(n_words, f"writing {Path(path).name}", "word", progress) as bar:
            for words, vectors in blocks:
                writer.add(words, vectors)
                bar.update(len(words))
        return writer.finish({"format": "wefe", "version": "1", "name": name})


class _NativeWriter:
    """Collects the vocabulary while the vectors go to the file."""

    def __init__(self, file: BinaryIO, dim: int, dtype: StoredDtype) -> None:
        self._file, self._dim = file, dim
        self._tensor_dtype, self._numpy_dtype = _DTYPES[dtype]
        self._letters = bytearray()
        self._starts = array("Q", [0])
        self._hashes = array("Q")
        self._scale = array("f")
        file.seek(_HEADER_BYTES)

    def add(self, words: list[str], vectors: FloatArray) -> None:
        for word in words:
            try:
                encoded = word.encode("utf-8")
            except UnicodeEncodeError:
                raise ValueError(f"the word {word!r} cannot be written in UTF-8.") from None
            self._letters += encoded
            self._letters += b"\n"
            self._starts.append(len(self._letters))
            self._hashes.append(_hash(encoded))
        self._file.write(self._packed(words, vectors).tobytes())

    def _packed(self, words: list[str], vectors: FloatArray) -> npt.NDArray[Any]:
        if self._tensor_dtype == "I8":
            with np.errstate(over="ignore"):
                largest = np.abs(vectors).max(axis=1, initial=0).astype(np.float32)
                _check_finite(words, largest[:, None], "float32")
                scale = largest / np.float32(127)
                # At both ends of float32 rounding matters: 127 steps must reach the largest
                # number, and must not exceed what float32 can hold.
                up = (scale < np.finfo(np.float32).tiny) & (largest > 0)
                scale[up] = np.nextafter(scale[up], np.float32(1))
                down = np.isinf(scale * np.float32(127))
                scale[down] = np.nextafter(scale[down], np.float32(0))
            self._scale.extend(scale.tolist())
            # A vector of zeros stays one.
            scale[scale == 0] = np.inf
            steps: npt.NDArray[Any] = np.rint(vectors / scale[:, None])
            return steps.clip(-127, 127).astype(np.int8)
        with np.errstate(over="ignore"):
            packed = vectors.astype(self._numpy_dtype)
        _check_finite(words, packed, np.dtype(self._numpy_dtype).name)
        return packed

    def finish(self, metadata: dict[str, str]) -> int:
        """Write the vocabulary and the header; return the number of words."""
        hashes = np.frombuffer(self._hashes, dtype=np.uint64)
        if len(hashes) == 0:
            raise ValueError("there are no words to write.")
        order = np.argsort(hashes, kind="stable")
        repeated = self._repeated(hashes, order)
        if repeated:
            self._remove(repeated)
            hashes = np.frombuffer(self._hashes, dtype=np.uint64)
            order = np.argsort(hashes, kind="stable")
        del self._letters[-1:]
        n_words = len(hashes)
        entries: list[tuple[str, str, tuple[int, ...], Any]] = [
            ("vocabulary", "U8", (len(self._letters),), self._letters),
            ("vocabulary.starts", "U64", (n_words + 1,), _bytes_of(self._starts, "<u8")),
            ("vocabulary.hashes", "U64", (n_words,), hashes[order].astype("<u8").tobytes()),
            ("vocabulary.rows", "U32", (n_words,), order.astype("<u4").tobytes()),
        ]
        if self._tensor_dtype == "I8":
            entries.insert(0, ("scale", "F32", (n_words,), _bytes_of(self._scale, "<f4")))
        row_bytes = self._dim * np.dtype(self._numpy_dtype).itemsize
        offset = n_words * row_bytes
        header: dict[str, Any] = {"__metadata__": metadata}
        header["embeddings"] = _entry(self._tensor_dtype, (n_words, self._dim), 0, offset)
        self._file.seek(_HEADER_BYTES + offset)
        for name, dtype, shape, data in entries:
            self._file.write(data)
            header[name] = _entry(dtype, shape, offset, offset + len(data))
            offset += len(data)
        self._file.truncate(_HEADER_BYTES + offset)
        # A file name that is no UTF-8 comes with halves of surrogate pairs.
        text = json.dumps(header, ensure_ascii=False).encode("utf-8", "replace")
        if len(text) > _HEADER_BYTES - 8:
            raise ValueError(f"the name {metadata['name'][:60]!r}... is too long.")
        self._file.seek(0)
        # The format allows spaces after the header.
        self._file.write((_HEADER_BYTES - 8).to_bytes(8, "little"))
        self._file.write(text.ljust(_HEADER_BYTES - 8))
        return n_words

    def _word(self, row: int) -> bytes:
        return bytes(self._letters[self._starts[row] : self._starts[row + 1] - 1])

    def _repeated(self, hashes: Any, order: Any) -> list[int]:
        """Return the rows, in order, whose word stood in an earlier row."""
        ordered = hashes[order]
        repeated = []
        first_of: dict[bytes, int] = {}
        for place in np.flatnonzero(ordered[1:] == ordered[:-1]).tolist():
            # The sort is stable, so the earlier row comes first; the hash alone proves nothing.
            for row in (int(order[place]), int(order[place + 1])):
                if first_of.setdefault(self._word(row), row) != row:
                    repeated.append(row)
        return sorted(set(repeated))

    def _remove(self, rows: list[int]) -> None:
        logger.warning("%d words came twice; the first vector of each is kept", len(rows))
        gone = set(rows)
        kept = [row for row in range(len(self._hashes)) if row not in gone]
        row_bytes = self._dim * np.dtype(self._numpy_dtype).itemsize
        self._file.flush()
        # Rows only move towards the start, so a chunk never overwrites one not yet read.
        for start in range(0, len(kept), _MOVE_ROWS):
            moved = bytearray()
            for row in kept[start : start + _MOVE_ROWS]:
                self._file.seek(_HEADER_BYTES + row * row_bytes)
                moved += self._file.read(row_bytes)
            self._file.seek(_HEADER_BYTES + start * row_bytes)
            self._file.write(moved)
        words = [self._word(row) for row in kept]
        self._hashes = array("Q", (self._hashes[row] for row in kept))
        if self._scale:
            self._scale = array("f", (self._scale[row] for row in kept))
        self._letters, self._starts = bytearray(), array("Q", [0])
        for word in words:
            self._letters += word + b"\n"
            self._starts.append(len(self._letters))


def _entry(dtype: str, shape: tuple[int, ...], start: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def _bytes_of(numbers: array[Any], dtype: str) -> bytes:
    return np.frombuffer(numbers, dtype=numbers.typecode).astype(dtype).tobytes()


def _check_finite(words: list[str], numbers: npt.NDArray[Any], dtype: str) -> None:
    finite = np.isfinite(numbers).all(axis=1)
    if not finite.all():
        word = words[int(np.flatnonzero(~finite)[0])]
        raise ValueError(f"the vector of {word!r} has numbers that {dtype} cannot hold.")


def _hash(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")
