"""What readers of file formats share: bytes, packed files, and sources of vectors."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from wefe._checks import found, import_library, listed, logger
from wefe.models._file_array import FileArray
from wefe.models._tables import RowVectors, VectorTable, as_table, number, unchecked_table
from wefe.models._types import Block, Reading
from wefe.models.formats._registry import HEAD_BYTES

# Bytes that are read and searched at once; large enough for speed, small beside a model.
READ_BYTES = 1 << 20
# A line or record longer than this is no line of a word and its numbers.
MAX_RECORD_BYTES = 32 << 20
# Longer words were never seen; without a bound a damaged file would be one endless word.
MAX_WORD_BYTES = 4096
# The budget of every reader: so many times the bytes of the file, or so many bytes. Text packs
# three to five times, binary hardly at all; what grows by more was made to fill the machine.
MAX_EXPANSION = 100
SMALL_BYTES = 64 << 20

# Packed bytes that are unpacked at once: they may stand for some thousand times as many.
_PACKED_BYTES = 1 << 9

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",  # an empty one
}


def check_budget(label: str, promised: int, size: int) -> None:
    """Refuse a file that promises, or unpacks to, implausibly many bytes for its size."""
    if promised > max(SMALL_BYTES, MAX_EXPANSION * size):
        raise ValueError(
            f"{label} grows to {promised:,} bytes or more from {size:,}: it is damaged, or built "
            "to fill the memory. Unpack it yourself if you trust it."
        )


def check_promise(label: str, header: tuple[int, int], least: int, size: int | None) -> None:
    """Refuse a header of no words, or of more than a file of `size` bytes can hold."""
    size = least if size is None else size
    if min(header) == 0 or least > size:
        raise ValueError(
            f"{label}: the header promises {header[0]} words of {header[1]} dims, which need at "
            f"least {least:,} bytes; the file has {size:,}. It may be cut short."
        )


@contextlib.contextmanager
def naming_errors(label: str, what: str) -> Iterator[None]:
    """Add the name of the file to errors of a library that lack it."""
    try:
        yield
    except (MemoryError, ImportError):
        raise
    # Damage shows as errors of almost any type.
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith(label):
            raise
        raise ValueError(
            f"{label} is damaged, or no {what} ({type(error).__name__}: {error!s:.300})."
        ) from error


class PackedFile:
    """A file, or member of a zip archive ('archive.zip/member'), decompressed as it is read.

    `name` has no suffixes; `size` is None for packed files.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        path = Path(path)
        self.label = str(path)
        # What follows an archive in a path is the name of its member.
        self.path = next(filter(Path.is_file, (path, *path.parents)), path)
        member = None if path == self.path else path.relative_to(self.path).as_posix()
        self.packed_size = self.path.stat().st_size
        with self.path.open("rb") as file:
            magic = file.read(6)
        self.packing = next((name for key, name in _MAGIC.items() if magic.startswith(key)), None)
        self.size = self.packed_size if self.packing is None else None
        if member is not None and self.packing != "zip":
            raise FileNotFoundError(f"{self.path} is a file, not a folder or zip archive.")
        self._member = self._choose_member(member) if self.packing == "zip" else ""
        outer = self.path.stem if self.packing else self.path.name
        self.name = Path(self._member or outer).stem

    def open(self) -> BinaryIO:
        """Open at the start; the caller closes it. Damaged compression is a ValueError."""
        if self.packing is None:
            return self.path.open("rb")
        return io.BufferedReader(_Unpacking(self._parts()), READ_BYTES)

    def head(self) -> bytes:
        with self.open() as file:
            return file.read(HEAD_BYTES)

    def _parts(self) -> Iterator[bytes]:
        """Yield decompressed bytes; name the file in errors, and stop at implausible growth."""
        n_bytes = 0
        with naming_errors(self.label, f"whole {self.packing} file"):
            for part in filter(None, self._unpacked()):
                n_bytes += len(part)
                check_budget(self.label, n_bytes, self.packed_size)
                yield part

    def _unpacked(self) -> Iterator[bytes]:
        if self.packing == "gzip":
            with gzip.open(self.path) as packed:
                yield from iter(partial(packed.read, 1 << 16), b"")
        elif self.packing == "zip":
            with zipfile.ZipFile(self.path) as archive, archive.open(self._member) as file:
                yield from iter(partial(file.read, 1 << 16), b"")
        elif self.packing == "zstd":
            library = import_library("zstandard", "zstd", self.label)
            yield from _streams(self.path, library.ZstdDecompressor().decompressobj)
        elif self.packing == "bzip2":
            yield from _streams(self.path, bz2.BZ2Decompressor, 1 << 16)
        else:
            start = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ)
            yield from _streams(self.path, start, 1 << 16)

    def _choose_member(self, member: str | None) -> str:
        with naming_errors(self.label, "zip archive"), zipfile.ZipFile(self.path) as archive:
            members = [info.filename for info in archive.infolist() if not info.is_dir()]
        names = listed([*map(repr, members)])
        if member is None:
            if len(members) != 1:
                raise ValueError(
                    f"{self.path} holds {len(members)} files ({names}); name one as if the archive "
                    f"were a folder: '{self.path}/{(*members, 'NAME')[0]}'."
                )
            (member,) = members
        if member not in members:
            raise FileNotFoundError(f"{self.path} has no member {member!r}; it has {names}.")
        return member


def _streams(path: Path, start: Callable[[], Any], *at_most: int) -> Iterator[bytes]:
    """Decompress consecutive streams to the last byte of a file.

    The libraries' own readers stop silently at a truncated file or a damaged second stream.
    """
    stream, data = None, b""
    with path.open("rb") as file:
        while True:
            # Those of zstandard unpack all that they get at once.
            if not data and (stream is None or getattr(stream, "needs_input", True)):
                data = file.read(_PACKED_BYTES)
                if not data:
                    break
            if stream is None:
                # The format of xz allows zeros behind a stream.
                data = data.lstrip(b"\0")
                stream = start() if data else None
            if stream is not None:
                yield stream.decompress(data, *at_most)
                stream, data = (None, stream.unused_data) if stream.eof else (stream, b"")
    if stream is not None:
        raise EOFError("the file ends within what is packed")


class _Unpacking(io.RawIOBase):
    """A file of the parts of a generator, none of them empty."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts, self._left = parts, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._left = self._left or memoryview(next(self._parts, b""))
        n_bytes = min(len(buffer), len(self._left))
        buffer[:n_bytes], self._left = self._left[:n_bytes], self._left[n_bytes:]
        return n_bytes

    def close(self) -> None:
        self._parts.close()  # type: ignore[attr-defined]
        super().close()


def line_blocks(file: BinaryIO, label: str, n_bytes: int = READ_BYTES) -> Iterator[bytes]:
    """Yield the rest of a file in blocks of whole lines; the last may lack its line end."""
    rest = b""
    while piece := file.read(n_bytes):
        rest += piece
        end = rest.rfind(b"\n") + 1
        if len(rest) - end > MAX_RECORD_BYTES:
            raise ValueError(
                f"{label} has a line of more than {MAX_RECORD_BYTES:,} bytes: no word and numbers."
            )
        if end:
            yield rest[:end]
        rest = rest[end:]
    if rest:
        yield rest


# ---- Sources -----------------------------------------------------------------------------------


class VectorSource(ABC):
    """Vectors of a file or an object, ready to be read.

    `label` is the name in messages, `name` the default name of the model. `table` has the vectors
    if the source need not be read for them; with `use_subwords`, it builds those of other words.
    `n_words` may be None. `n_skipped` counts damaged words that were left out. `counts` has how
    often each word occurred in the training text.
    """

    label: str
    name: str
    dim: int
    table: VectorTable | None = None
    n_words: int | None = None
    n_skipped: int = 0
    counts: npt.NDArray[np.integer[Any]] | None = None
    use_subwords: bool = False
    vocab_prefix: str | None = None
    reading: Reading = Reading()

    @abstractmethod
    def blocks(self, words: frozenset[str] | None = None) -> Iterator[Block]:
        """Read everything, in order, in blocks of bounded size; words may occur twice.

        With `words`, other words may be left out.
        """

    def skip_or_raise(self, where: str, message: str, n_words: int = 1) -> None:
        """Count damaged words, or raise an error for them."""
        if self.reading.on_error == "raise":
            place = f"{self.label}, {where}" if where else self.label
            raise ValueError(f"{place}: {message}")
        self.n_skipped += n_words

    def log_skipped(self) -> None:
        if self.n_skipped:
            what = "%s: %d damaged words were left out (on_error='skip')"
            logger.warning(what, self.label, self.n_skipped)


class TableSource(VectorSource):
    """A table of vectors that exists already, in a file or made by another library."""

    table: VectorTable

    def __init__(
        self, table: Any, label: str, name: str, counts: Any = None, subwords: bool = False
    ) -> None:
        self.table = as_table(table)
        self.label, self.name, self.counts, self.use_subwords = label, name, counts, subwords
        self.dim, self.n_words = self.table.vector_size, len(self.table)

    def blocks(self, words: frozenset[str] | None = None) -> Iterator[Block]:
        if words is None:
            yield from self.table.blocks()
            return
        index = self.table.key_to_index
        there = sorted((index[word], word) for word in words if word in index)
        yield [word for _, word in there], self.table.rows([row for row, _ in there])


def table_source(words: Sequence[str], vectors: Any, label: str, name: str) -> TableSource:
    """Make a source of words and rows; a repeated word keeps its first row."""
    if wrong := [word for word in words if not isinstance(word, str)]:
        raise TypeError(f"{label}: the vocabulary must hold strings; got {found(wrong[0])}.")
    index: dict[str, int] = {}
    # Plain strings, also where an array of words holds numpy's.
    _, new = number(index, map(str, words))
    if n_more := len(words) - len(new):
        logger.warning("%s has %d words twice; the first vector of each is kept", label, n_more)
        vectors = vectors[new]
    in_file = isinstance(vectors, FileArray)
    table = RowVectors(index, vectors) if in_file else unchecked_table(index, vectors)
    return TableSource(table, label, name)
