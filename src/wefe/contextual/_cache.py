"""Cache of encoded vectors: one SQLite file per encoder, shared by all processes."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import secrets
import sqlite3
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

logger = logging.getLogger(__name__)

_FOLDER = "encoders"
_TIMEOUT_S = 30.0
# SQLite takes at least 999 parameters per statement.
_KEYS_AT_ONCE = 900
_OPEN = """
PRAGMA trusted_schema=OFF;
PRAGMA synchronous=NORMAL;
CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL);
"""


def cache_folder(cache_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the cache: in `cache_dir`, or in the user's cache of the package."""
    if cache_dir is not None:
        return Path(cache_dir).expanduser() / _FOLDER
    import pooch

    return Path(pooch.os_cache("wefe")) / _FOLDER


def clear_cache(cache_dir: str | os.PathLike[str] | None = None) -> int:
    """Remove all cached vectors; open models keep working.

    Parameters
    ----------
    cache_dir : path, optional
        The folder given to :func:`load_encoder`; by default the user's cache.

    Returns
    -------
    int
        Bytes freed; 0 if there was no cache.

    Raises
    ------
    TypeError
        If `cache_dir` is not a path.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clear_cache(folder)
    0
    """
    freed = 0
    for path in cache_folder(cache_dir).glob("*.sqlite*"):
        with contextlib.suppress(FileNotFoundError):
            size = path.stat().st_size
            path.unlink()
            freed += size
    return freed


def vector_key(settings: bytes, text: str, start: int, end: int) -> bytes:
    """Return the key of a vector: a hash, which confirms a guessed text."""
    hashed = hashlib.blake2b(settings, digest_size=16)
    hashed.update(f"\0{start}\0{end}\0{text}".encode())
    return hashed.digest()


class VectorCache:
    """Vectors by key, in one SQLite file that several threads and processes may use at once.

    If the file fails or a checksum is wrong, vectors are encoded again. Without a path it is empty.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = VectorCache(Path(folder) / "toy.sqlite")
    ...     cache.put({b"she": np.ones(3, dtype=np.float32)})
    ...     cache.get([b"she", b"he"])
    {b'she': array([1., 1., 1.], dtype=float32)}
    """

    def __init__(self, path: Path | None) -> None:
        self._usable = path is not None
        self.path = path or Path()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, npt.NDArray[np.float32]]:
        """Return the vectors found."""
        found: dict[bytes, Any] = {}

        def read(connection: sqlite3.Connection) -> None:
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                some = keys[start : start + _KEYS_AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"
                found.update(connection.execute(query, some))

        if keys and self.path.is_file():
            self._use(read)
        whole = {key: blob[:-4] for key, blob in found.items() if _is_sealed(blob)}
        if damaged := len(found) - len(whole):
            logger.warning("%s: %d vectors are damaged; they are encoded again", self.path, damaged)
        return {key: np.frombuffer(data, "<f4").astype(np.float32) for key, data in whole.items()}

    def put(self, vectors: Mapping[bytes, npt.NDArray[np.float32]]) -> None:
        """Store vectors, except those with NaN or infinity."""
        rows = [
            (key, _sealed(each.astype("<f4").tobytes()))
            for key, each in vectors.items()
            if np.isfinite(each).all()
        ]

        def write(connection: sqlite3.Connection) -> None:
            with connection:  # one transaction
                connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

        if rows:
            self._use(write)

    def _use(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Open the file briefly, so that no threads or forks share a connection."""
        if not self._usable:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self.path, timeout=_TIMEOUT_S)) as connection:
                connection.executescript(_OPEN)
                work(connection)
        except (sqlite3.OperationalError, OSError) as error:
            self._usable = False
            logger.warning(
                "the cache %s cannot be used (%s); encoding without it", self.path, error
            )
        except sqlite3.DatabaseError as error:  # no database, or a damaged one
            self._set_aside(error)

    def _set_aside(self, error: Exception) -> None:
        aside = self.path.with_name(f"{self.path.name}.damaged-{secrets.token_hex(4)}")
        logger.warning("%s is damaged (%s); it was renamed to %s", self.path, error, aside.name)
        with contextlib.suppress(FileNotFoundError):  # another process was quicker
            os.replace(self.path, aside)
        self.path.with_name(f"{self.path.name}-journal").unlink(missing_ok=True)


def _sealed(data: bytes) -> bytes:
    return data + zlib.crc32(data).to_bytes(4, "little")


def _is_sealed(blob: object) -> bool:
    return isinstance(blob, bytes) and blob == _sealed(blob[:-4])
