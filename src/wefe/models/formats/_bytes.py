"""Bytes of a file, packed or not, read ahead in bounded pieces."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import struct
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

_T = TypeVar("_T")

# What the first bytes of a file are compared with.
HEAD_BYTES = 4096
# Bytes that are read and searched at once; large enough for speed, small beside a model.
READ_BYTES = 1 << 20
# A line or record longer than this is no line of a word and its numbers.
MAX_RECORD_BYTES = 32 << 20
# Longer words were never seen; without a bound a damaged file would be one endless word.
MAX_WORD_BYTES = 4096

# Text packs three to five times, binary hardly at all; a file that unpacks to far more than that
# was made to fill the machine.
_MAX_EXPANSION = 100
_SMALL_BYTES = 64 << 20

# Four bytes may stand for a block of 128 KiB.
_ZSTD_BYTES = 1 << 9

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",  # an empty one
}


# What `zipfile` raises of damaged archives: an empty member name is an IndexError, for one.
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    ValueError,
    LookupError,
    OverflowError,
    RuntimeError,  # NotImplementedError is one
)


class PackedFile:
    """A file whose bytes are read unpacked, whatever it was packed with.

    Parameters
    ----------
    path : path
        The file; a member of a zip archive is named as if the archive were a folder
        ('glove.6B.zip/glove.6B.50d.txt').

    Attributes
    ----------
    path : Path
        The file itself.
    label : str
        How messages name what is read: the path, and the member if there are several.
    packing : str or None
        'gzip', 'bzip2', 'xz', 'zstd' or 'zip'; None for a plain file.
    size : int or None
        Number of bytes if they are known without unpacking.
    inner_name : str
        The file name without the suffix of the packing.

    Raises
    ------
    FileNotFoundError
        If there is no such file, or no such member.
    ValueError
        If an archive holds several files and none was named.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, member = _split_member(Path(path))
        self.label = str(path)
        self.packed_size = self.path.stat().st_size
        with self.path.open("rb") as file:
            magic = file.read(6)
        self.packing = next((name for key, name in _MAGIC.items() if magic.startswith(key)), None)
        self.size = self.packed_size if self.packing is None else None
        self._member: str | None = None
        self.inner_name = self.path.name
        if self.packing == "zip":
            self._member = self._choose_member(member)
            self.inner_name = Path(self._member).name
        elif member is not None:
            raise FileNotFoundError(f"{self.path} is a file, not a folder or zip archive.")
        elif self.packing is not None:
            self.inner_name = self.path.stem

    def open(self) -> BinaryIO:
        """Open for reading from the start, unpacked.

        The caller closes it. Damage of the packing is a ValueError that names the file.
        """
        if self.packing is None:
            return self.path.open("rb", buffering=0)
        return io.BufferedReader(_Unpacking(self), READ_BYTES)

    def head(self, n_bytes: int = HEAD_BYTES) -> bytes:
        """Return the first bytes, unpacked."""
        with self.open() as file:
            return read_fully(file, n_bytes)

    def open_packing(self) -> BinaryIO:
        """Open through the library that unpacks; its errors are its own."""
        if self.packing == "gzip":
            return gzip.open(self.path)  # type: ignore[return-value]
        if self.packing == "bzip2":
            return _Streams(self.path, bz2.BZ2Decompressor)  # type: ignore[return-value]
        if self.packing == "xz":
            return _Streams(self.path, partial(lzma.LZMADecompressor, lzma.FORMAT_XZ))  # type: ignore[return-value]
        if self.packing == "zstd":
            try:
                import zstandard
            except ImportError as error:
                raise ImportError(
                    f'{self.label} is packed with zstd; pip install "wefe[zstd]" to read it.'
                ) from error
            unpacker = zstandard.ZstdDecompressor()
            return _Streams(  # type: ignore[return-value]
                self.path, lambda: _ZstdStream(unpacker.decompressobj()), _ZSTD_BYTES
            )
        assert self._member is not None
        # The archive stays open as long as the member does.
        return zipfile.ZipFile(self.path).open(self._member)  # type: ignore[return-value]

    def _choose_member(self, member: str | None) -> str:
        try:
            with zipfile.ZipFile(self.path) as archive:
                infos = [info for info in archive.infolist() if not info.is_dir()]
        except ZIP_ERRORS as error:
            raise ValueError(f"{self.path} is a damaged zip archive: {error}") from error
        names = [info.filename for info in infos]
        listed = ", ".join(repr(name) for name in names[:10]) + (", ..." if len(names) > 10 else "")
        if member is None:
            if len(names) != 1:
                raise ValueError(
                    f"{self.path} holds {len(names)} files ({listed}); name one as if the archive "
                    f"were a folder: '{self.path}/{names[0] if names else 'NAME'}'."
                )
            member = names[0]
        if member not in names:
            raise FileNotFoundError(f"{self.path} has no member {member!r}; it has {listed}.")
        if infos[names.index(member)].flag_bits & 1:
            raise ValueError(f"{self.path}: {member!r} is encrypted; unpack it first.")
        return member


def _split_member(path: Path) -> tuple[Path, str | None]:
    """Split 'archive.zip/member' where the archive is a file."""
    if path.is_file():
        return path, None
    for parent in path.parents:
        if parent.is_file():
            return parent, path.relative_to(parent).as_posix()
    raise FileNotFoundError(f"there is no file {str(path)!r}.")


class _Streams:
    """Packed streams, one behind the other, to the last byte of a file.

    The readers of the libraries take a file that was cut (zstandard), or whose second stream is
    damaged (bz2), for one that ends there: part of a model would be taken for all of it.

    Parameters
    ----------
    path : Path
        The file.
    start : callable
        Returns what unpacks one stream, as `bz2.BZ2Decompressor` does.
    n_bytes : int
        Packed bytes that are unpacked at once.
    """

    def __init__(self, path: Path, start: Callable[[], Any], n_bytes: int = 1 << 16) -> None:
        self._file = path.open("rb")
        self._start, self._n_bytes = start, n_bytes
        self._stream = start()

    def read(self, n_bytes: int) -> bytes:
        """Return at least one and at most `n_bytes` bytes, none at the end."""
        while True:
            data = b""
            if self._stream.eof:
                # The format of xz allows zeros behind a stream.
                data = self._stream.unused_data.lstrip(b"\0")
                while not data:
                    if not (data := self._file.read(self._n_bytes)):
                        return b""
                    data = data.lstrip(b"\0")
                self._stream = self._start()
            elif self._stream.needs_input and not (data := self._file.read(self._n_bytes)):
                raise EOFError("the file ends within what is packed")
            if unpacked := self._stream.decompress(data, n_bytes):
                return unpacked  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _ZstdStream:
    """Gives the unpacker of zstandard the face of the others: it unpacks all it gets at once."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._waiting = memoryview(b"")

    @property
    def needs_input(self) -> bool:
        return not self._waiting

    @property
    def eof(self) -> bool:
        return not self._waiting and bool(self._stream.eof)

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data  # type: ignore[no-any-return]

    def decompress(self, data: bytes, at_most: int) -> bytes:
        if not self._waiting:
            self._waiting = memoryview(self._stream.decompress(data))
        unpacked, self._waiting = self._waiting[:at_most], self._waiting[at_most:]
        return bytes(unpacked)


class _Unpacking(io.RawIOBase):
    """Unpacks, names the file in errors, and stops when the bytes grow without bound."""

    def __init__(self, source: PackedFile) -> None:
        self._source = source
        self._file = self._guard(source.open_packing)
        self._n_bytes = 0
        self._limit = max(_SMALL_BYTES, _MAX_EXPANSION * source.packed_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._guard(lambda: self._file.read(len(buffer)))
        self._n_bytes += len(data)
        if self._n_bytes > self._limit:
            raise ValueError(
                f"{self._source.label} unpacks to more than {self._limit:,} bytes from "
                f"{self._source.packed_size:,}; no file of vectors does. Unpack it yourself if "
                "you trust it."
            )
        buffer[: len(data)] = data
        return len(data)

    def _guard(self, function: Callable[[], _T]) -> _T:
        try:
            return function()
        except ImportError:
            raise
        except (*ZIP_ERRORS, lzma.LZMAError) as error:
            raise self._damage(error) from error
        except Exception as error:
            # zstandard's own error, whose class is there only if the library is.
            if type(error).__module__.startswith("zstandard"):
                raise self._damage(error) from error
            raise

    def _damage(self, error: Exception) -> ValueError:
        n_bytes = getattr(self, "_n_bytes", 0)
        return ValueError(
            f"{self._source.label} is damaged or cut short ({self._source.packing}): after "
            f"{n_bytes:,} unpacked bytes: {error}"
        )

    def close(self) -> None:
        if not self.closed and hasattr(self, "_file"):
            self._file.close()
        super().close()


def read_fully(file: BinaryIO, n_bytes: int) -> bytes:
    """Read `n_bytes`, or all there are."""
    data = file.read(n_bytes) or b""
    while len(data) < n_bytes:
        more = file.read(n_bytes - len(data))
        if not more:
            break
        data += more
    return data


def read_ahead(file: BinaryIO, n_bytes: int = READ_BYTES) -> Iterator[bytes]:
    """Hand out the rest of a file in pieces; the next one is read while this one is used."""
    with ThreadPoolExecutor(1, "wefe-read") as reader:
        coming = reader.submit(file.read, n_bytes)
        while piece := coming.result():
            coming = reader.submit(file.read, n_bytes)
            # Lets the reader start: it would wait for the interpreter until this thread does.
            time.sleep(0)
            yield piece


def line_spans(
    file: BinaryIO, label: str, n_bytes: int = READ_BYTES
) -> Iterator[tuple[bytes, bytes, int, int]]:
    """Hand out the rest of a file in pieces and where whole lines lie in them.

    Each time, the line that began in the piece before (or nothing), a piece, and the start and end
    of the whole lines in it; so that no piece need be copied. The last line may lack its end.
    """
    rest = b""
    for piece in read_ahead(file, n_bytes):
        start = piece.find(b"\n") + 1 if rest else 0
        if rest and start == 0:
            rest += piece
            if len(rest) > MAX_RECORD_BYTES:
                raise ValueError(
                    f"{label} has a line of more than {MAX_RECORD_BYTES:,} bytes; expected a word "
                    "and its numbers per line."
                )
            continue
        end = piece.rfind(b"\n") + 1
        yield rest + piece[:start] if rest else b"", piece, start, end
        rest = piece[end:]
    if rest:
        yield rest, b"", 0, 0


def line_blocks(file: BinaryIO, label: str, n_bytes: int = READ_BYTES) -> Iterator[bytes]:
    """Hand out the rest of a file in blocks that end with a line; the last may lack its end."""
    for line, piece, start, end in line_spans(file, label, n_bytes):
        # A view, so that the bytes are copied once.
        if block := b"".join([line, memoryview(piece)[start:end]]):
            yield block
