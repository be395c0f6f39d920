"""Cache of encoded vectors: one SQLite file per encoder, shared by all processes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wefe._checks import logger

_FOLDER = "encoders"
_TIMEOUT_S = 30.0
_OPEN = """
PRAGMA trusted_schema=OFF;
PRAGMA synchronous=NORMAL;
CREATE TABLE IF NOT EXISTS encoded (key BLOB PRIMARY KEY, vector BLOB NOT NULL);
"""


def cache_folder(cache_dir: str | os.PathLike[str] | None = None) -> Path:
    if cache_dir is not None:
        return Path(cache_dir).expanduser() / _FOLDER
    import pooch

    return Path(pooch.os_cache("wefe")) / _FOLDER


def vector_key(settings: bytes, text: str, start: int = 0, end: int = 0) -> bytes:
    """Return the key of a vector: a hash, which confirms a guessed text."""
    hashed = hashlib.blake2b(settings, digest_size=16)
    hashed.update(f"\0{start}\0{end}\0{text}".encode())
    return hashed.digest()


@dataclass(eq=False, repr=False)
class VectorCache:
    """Vectors by key, in one SQLite file that several threads and processes may use at once.

    Without a path, or once the file has failed, the cache is empty.
    """

    path: Path | None
    failed: bool = False

    def get(self, keys: Sequence[bytes]) -> dict[bytes, npt.NDArray[np.float32]]:
        exists = self.path is not None and self.path.is_file()
        rows = [(key,) for key in keys] if exists else []
        found = self._run("SELECT key, vector FROM encoded WHERE key = ?", rows)
        return {key: np.frombuffer(data, "<f4").astype(np.float32) for key, data in found}

    def put(self, vectors: Mapping[bytes, npt.NDArray[np.float32]]) -> None:
        """Store vectors, except those with NaN or infinity."""
        rows = [
            (key, each.astype("<f4").tobytes())
            for key, each in vectors.items()
            if np.isfinite(each).all()
        ]
        self._run("INSERT OR REPLACE INTO encoded VALUES (?, ?)", rows)

    def _run(self, query: str, rows: Sequence[tuple[bytes, ...]]) -> list[Any]:
        """Open the file briefly, so that no threads or forks share a connection."""
        if not rows or self.path is None or self.failed:
            return []
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self.path, timeout=_TIMEOUT_S)) as connection:
                connection.executescript(_OPEN)
                with connection:  # one transaction
                    return [found for row in rows for found in connection.execute(query, row)]
        except (sqlite3.Error, OSError) as error:
            self.failed = True
            logger.warning(
                "the cache %s cannot be used (%s); encoding without it. You may delete it",
                *(self.path, error),
            )
            return []
