"""Read arrays from files by position; a file that changes raises an error and never crashes."""

from __future__ import annotations

import itertools
import math
import os
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_SEEKING = threading.Lock()


class OpenFile:
    """A file open for positioned reads, which fail once its `stamp` (size, time, inode) changes.

    It is not memory-mapped, because reading a map of a truncated file ends the process.
    """

    def __init__(
        self, path: str | os.PathLike[str], stamp: tuple[int, int, int] | None = None
    ) -> None:
        self.path = Path(path)
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self._descriptor)
        self.stamp = self._stamp() if stamp is None else stamp
        self.check()

    @property
    def size(self) -> int:
        return self.stamp[0]

    def _stamp(self) -> tuple[int, int, int]:
        status = os.fstat(self._descriptor)
        return status.st_size, status.st_mtime_ns, status.st_ino

    def check(self) -> None:
        if self._stamp() != self.stamp:
            raise ValueError(f"{self.path} changed while it was open. Load it again.")

    def read_into(self, buffer: Any, offset: int) -> None:
        """Fill a buffer with the bytes from `offset` on; call `check` afterwards."""
        view = memoryview(buffer).cast("B")
        while view:
            n_bytes = _read_at(self._descriptor, view, offset)
            if n_bytes == 0:
                self.check()
                raise ValueError(f"{self.path} is cut short: it ends before byte {offset:,}.")
            view, offset = view[n_bytes:], offset + n_bytes

    def read(self, offset: int, n_bytes: int) -> bytes:
        # Never more than the file has: what a header promises is not to fill the memory.
        if not 0 <= offset <= offset + n_bytes <= self.size:
            raise ValueError(
                f"{self.path} is damaged or cut short: expected {n_bytes:,} bytes from byte "
                f"{offset:,} on; the file has {self.size:,}. Fetch or save it again."
            )
        buffer = bytearray(n_bytes)
        self.read_into(buffer, offset)
        self.check()
        return bytes(buffer)

    def __reduce__(self) -> Any:
        return OpenFile, (self.path.absolute(), self.stamp)


def _read_at(descriptor: int, view: memoryview, offset: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, [view], offset)
    with _SEEKING:  # Windows
        os.lseek(descriptor, offset, os.SEEK_SET)
        data = os.read(descriptor, len(view))
    view[: len(data)] = data
    return len(data)


class FileArray:
    """An array that starts at byte `offset` of a file; indexing reads those rows into memory.

    Check first that the file is large enough.
    """

    def __init__(
        self, file: OpenFile, offset: int, shape: Sequence[int], dtype: npt.DTypeLike
    ) -> None:
        self.file, self.offset = file, offset
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self._row_bytes = self.dtype.itemsize * math.prod(self.shape[1:])
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, rows: Any) -> npt.NDArray[Any]:
        """Read rows: a slice without step, or an array of row numbers."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            found = np.empty((max(stop - start, 0), *self.shape[1:]), dtype=self.dtype)
            self._fill(found, start)
            self.file.check()
            return found
        unique, place = np.unique(np.asarray(rows, dtype=np.intp), return_inverse=True)
        if unique.size and not 0 <= unique[0] <= unique[-1] < len(self):
            raise IndexError(f"rows {unique[0]} to {unique[-1]} of an array of {len(self)} rows")
        found = np.empty((len(unique), *self.shape[1:]), dtype=self.dtype)
        # Rows that follow each other are read in one go.
        cuts = np.flatnonzero(np.diff(unique) > 1) + 1
        for i, j in itertools.pairwise(sorted({0, *cuts.tolist(), len(unique)})):
            self._fill(found[i:j], int(unique[i]))
        self.file.check()
        return found[place]

    def _fill(self, rows: npt.NDArray[Any], start: int) -> None:
        if rows.size:
            self.file.read_into(rows, self.offset + start * self._row_bytes)
