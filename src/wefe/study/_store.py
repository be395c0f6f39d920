"""The results file: an SQLite database with one table that several runs can write to at once."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from wefe.study._plan import Outcome, digest

# 'wefe' in ASCII identifies these databases.
_APPLICATION_ID = 0x77656665
_LAYOUT = 6
#: Key of the row of the study itself: its plan and its last run.
STUDY = "study"
# Other runs lock the file only for one small transaction.
_PATIENCE_S = 60
_TABLE = """
CREATE TABLE results (
    key TEXT PRIMARY KEY,    -- hash of what the result was computed from
    kind TEXT NOT NULL,      -- of the task; 'failure', 'model' or 'study'
    value TEXT NOT NULL,     -- JSON
    seconds REAL NOT NULL,
    finished TEXT NOT NULL,  -- UTC, ISO 8601
    version TEXT NOT NULL,   -- of wefe
    digest TEXT NOT NULL     -- hash of the row, by which a change is noticed
) WITHOUT ROWID
"""


#: Key, kind, value and computing time.
Row: TypeAlias = tuple[str, str, Any, float]


class Store(contextlib.AbstractContextManager["Store"]):
    """Results by the hash of their inputs; runs may share the file, but not on a network drive."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path, self._creates = str(path), create
        if not (create or Path(path).is_file()):
            raise FileNotFoundError(f"{path}: there is no such results file.")
        # A write-protected file is opened to be read.
        place = f"{Path(path).absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        address = self.path if self.path == ":memory:" else place
        with self._naming_errors():
            # Transactions begin explicitly.
            self._db = sqlite3.connect(address, uri=True, timeout=_PATIENCE_S, isolation_level=None)
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    @contextlib.contextmanager
    def _naming_errors(self) -> Iterator[None]:
        """Add the file name and a remedy to SQLite errors."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                raise TimeoutError(
                    f"{self.path}: another run has kept the file locked for {_PATIENCE_S} seconds."
                ) from error
            if self._creates and isinstance(error, sqlite3.OperationalError):
                raise OSError(
                    f"{self.path}: the results file cannot be written: {error}. Finished results "
                    "are kept. Choose another place, in a folder that exists, or free some space."
                ) from error
            raise ValueError(
                f"{self.path} cannot be read as a results file of 'wefe run': {error}."
            ) from error

    def _prepare(self) -> None:
        """Create the table in an empty database, and check that the database is one of wefe."""
        if self._creates:
            with self._transaction():
                (n_tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
                if not n_tables:
                    self._db.execute(_TABLE)
                    self._db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                    self._db.execute(f"PRAGMA user_version = {_LAYOUT}")
        (mark,) = self._db.execute("PRAGMA application_id").fetchone()
        (layout,) = self._db.execute("PRAGMA user_version").fetchone()
        # The first statement that certainly reads the file.
        parts = self._db.execute("SELECT type, name FROM sqlite_master").fetchall()
        if mark != _APPLICATION_ID:
            raise ValueError(f"{self.path} is not a results file of wefe.")
        if layout != _LAYOUT:
            raise ValueError(
                f"{self.path} was written by another version of wefe (layout {layout}, "
                f"this one reads {_LAYOUT}). Use another file."
            )
        # An untrusted view or trigger could run forever.
        if parts != [("table", "results")]:
            raise ValueError(f"{self.path} is damaged, or was not written by wefe.")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._naming_errors(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def put(self, rows: Iterable[Row]) -> None:
        """Store all rows or none."""
        from wefe import __version__

        full = []
        for key, kind, value, seconds in rows:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
            values = (key, kind, text, float(seconds), now(), __version__)
            full.append((*values, digest(*values)))
        with self._transaction():
            statement = "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?)"
            self._db.executemany(statement, full)

    def get(self, keys: Iterable[str]) -> dict[str, Outcome]:
        """Return the existing rows by key; a row that was changed counts as failed."""
        changed = (
            f"its result in {self.path} was changed after it was written. Run the study again to "
            "recompute it"
        )
        outcomes = {}
        # One variable, because SQLite limits their number.
        statement = "SELECT * FROM results WHERE key IN (SELECT value FROM json_each(?))"
        for *values, proof in self._db.execute(statement, [json.dumps(list(keys))]):
            key, kind, text, *when = values
            # A row is sound if it is as `put` wrote it.
            if not isinstance(text, str) or digest(*values) != proof:
                outcomes[key] = Outcome("failed", failure=changed)
            elif kind == "failure":
                outcomes[key] = Outcome("failed", failure=json.loads(text))
            else:
                outcomes[key] = Outcome("done", json.loads(text), None, key, *when)
        return outcomes

    def one(self, key: str) -> Any:
        """Return the value of a model or a study; None if it does not exist."""
        outcome = self.get([key]).get(key, Outcome())
        if outcome.status == "failed":
            raise ValueError(f"{self.path} is damaged: a row was changed after it was written.")
        return outcome.value


def now() -> str:
    """Return the time in UTC (ISO 8601)."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
