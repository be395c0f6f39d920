"""The results file: an SQLite database that several runs may write to at once."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from wefe.study._plan import Plan

# 'wefe' in ASCII: tells these files from other databases.
_APPLICATION_ID = 0x77656665
_LAYOUT = 1
_TABLES = ("failures", "known", "models", "results", "studies")
# Another run holds the file for the time of one small transaction.
_PATIENCE_S = 60

_SCHEMA = """
CREATE TABLE results (
    key TEXT PRIMARY KEY,     -- hash of the task, the vectors that it used, the version of wefe
    kind TEXT NOT NULL,
    value TEXT NOT NULL,      -- JSON
    seconds REAL NOT NULL,
    finished TEXT NOT NULL,   -- UTC, ISO 8601
    version TEXT NOT NULL     -- of wefe
) WITHOUT ROWID;
CREATE TABLE known (
    request TEXT PRIMARY KEY, -- hash of the task and of its source: file, size, time
    key TEXT NOT NULL         -- the result that it had when the source was last opened
) WITHOUT ROWID;
CREATE TABLE failures (
    request TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    finished TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE models (
    request TEXT PRIMARY KEY, -- hash of the source and of the mitigation
    info TEXT NOT NULL        -- JSON
) WITHOUT ROWID;
CREATE TABLE studies (
    name TEXT PRIMARY KEY,
    plan TEXT NOT NULL,       -- JSON
    requests TEXT NOT NULL,   -- JSON: that of each task of the plan, and of each model
    run TEXT NOT NULL         -- JSON: when and where it was run last
) WITHOUT ROWID;
"""


class Store:
    """Results by the hash of what they were computed from.

    A result is there as a whole or not at all, whatever ends the run. Two runs may have the file
    open at once; what one has finished, the other finds.

    Parameters
    ----------
    path : path
        The file; ':memory:' for none. Not on a network drive, where SQLite cannot lock.
    create : bool
        Whether to make the file if there is none.

    Raises
    ------
    FileNotFoundError
        If there is no such file, or no folder to make it in.
    OSError
        If the file cannot be written.
    ValueError
        If the file is something else than results of wefe, or of a newer version.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = str(path)
        is_file = self.path != ":memory:"
        self._writes = create and is_file
        if is_file and not Path(path).is_file() and not create:
            raise FileNotFoundError(f"{path}: there is no such results file.")
        if is_file and not Path(path).absolute().parent.is_dir():
            raise FileNotFoundError(f"{path}: there is no folder to write the results file into.")
        try:
            if create:
                self._open_to_write()
            else:
                self._open_to_read()
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                raise TimeoutError(
                    f"{path}: another run has kept the file locked for {_PATIENCE_S} seconds."
                ) from error
            if self._writes and isinstance(error, sqlite3.OperationalError):
                raise OSError(
                    f"{path}: the results file cannot be written here: {error}. Name another place "
                    "for it."
                ) from error
            raise ValueError(f"{path} cannot be opened as a results file: {error}.") from error

    def _open_to_write(self) -> None:
        # Transactions begin where the code says so.
        self._db = sqlite3.connect(self.path, timeout=_PATIENCE_S, isolation_level=None)
        try:
            self._make_or_check()
            self._write_ahead()
        except BaseException:
            self._db.close()
            raise

    def _open_to_read(self) -> None:
        """Open a file that stays as it is, also where nothing may be written."""
        address = Path(self.path).absolute().as_uri()
        # In a folder that is write-protected, SQLite cannot note that it reads.
        ways = ("mode=ro", "mode=ro&immutable=1")
        for way in ways:
            self._db = sqlite3.connect(
                f"{address}?{way}", uri=True, timeout=_PATIENCE_S, isolation_level=None
            )
            try:
                self._check_layout()
                return
            except sqlite3.OperationalError:
                self._db.close()
                if way == ways[-1]:
                    raise
            except BaseException:
                self._db.close()
                raise

    def _make_or_check(self) -> None:
        with self._transaction():
            (n_tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if n_tables:
                self._check_layout()
                return
            for statement in _SCHEMA.split(";\n"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            self._db.execute(f"PRAGMA user_version = {_LAYOUT}")

    def _check_layout(self) -> None:
        (mark,) = self._db.execute("PRAGMA application_id").fetchone()
        (layout,) = self._db.execute("PRAGMA user_version").fetchone()
        # Reads the file, which the lines before need not.
        parts = self._db.execute("SELECT type, name FROM sqlite_master").fetchall()
        if mark != _APPLICATION_ID:
            raise ValueError(f"{self.path} is no results file of wefe.")
        if layout != _LAYOUT:
            raise ValueError(
                f"{self.path} was written by another version of wefe (layout {layout}, "
                f"this one reads {_LAYOUT}). Use another file."
            )
        # A view or trigger of a stranger could run for ever.
        if sorted(parts) != [("table", name) for name in _TABLES]:
            raise ValueError(f"{self.path} is damaged, or was not written by wefe.")

    def _write_ahead(self) -> None:
        # What was committed survives a kill; a loss of power may take the last results, no more.
        self._db.execute("PRAGMA synchronous = NORMAL")
        # Where another run is about to do the same, SQLite does not wait by itself.
        end = time.monotonic() + _PATIENCE_S
        while self.path != ":memory:":
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                # The code tells in its last byte what went wrong, in the others where.
                is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_busy or time.monotonic() > end:
                    raise
                time.sleep(0.05)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the file; what was written ahead goes into it.

        Where no other run has it open, it becomes one plain file again, which can be copied, and
        read where nothing may be written.
        """
        if self._writes:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("PRAGMA busy_timeout = 0")
                self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Writing

    def link(self, keys: Mapping[str, str]) -> set[str]:
        """Keep which result each request has now; return the keys of those that are there."""
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO known VALUES (?, ?)", keys.items())
        return self._present(keys.values())

    def add(self, key: str, kind: str, value: Mapping[str, Any], seconds: float) -> None:
        """Keep a result."""
        from wefe import __version__

        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?, ?, ?)",
                (key, kind, text, seconds, now(), __version__),
            )
            self._db.execute(
                "DELETE FROM failures WHERE request IN (SELECT request FROM known WHERE key = ?)",
                (key,),
            )

    def add_failures(self, requests: Iterable[str], reason: str) -> None:
        """Keep why tasks failed; the next run tries them again."""
        with self._transaction():
            self._db.executemany(
                "INSERT OR REPLACE INTO failures VALUES (?, ?, ?)",
                [(request, reason, now()) for request in requests],
            )
            # A result of what the source was before is not one of what it is now.
            self._db.executemany(
                "DELETE FROM known WHERE request = ?", [(request,) for request in requests]
            )

    def add_model(self, request: str, info: Mapping[str, Any]) -> None:
        """Keep what is known of a model."""
        with self._transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO models VALUES (?, ?)", (request, json.dumps(info))
            )

    def add_study(
        self, plan: Plan, requests: Sequence[str], models: Mapping[str, str], run: Mapping[str, Any]
    ) -> None:
        """Keep the study itself, so that the file can be read without its declaration."""
        with self._transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO studies VALUES (?, ?, ?, ?)",
                (
                    plan.name,
                    plan.to_json(),
                    json.dumps({"tasks": list(requests), "models": dict(models)}),
                    json.dumps(run),
                ),
            )

    # Reading

    def done(self, requests: Sequence[str]) -> set[str]:
        """Return those requests whose result is there."""
        keys = self._keys(requests)
        present = self._present(keys.values())
        return {request for request, key in keys.items() if key in present}

    def outcomes(self, requests: Sequence[str]) -> list[dict[str, Any]]:
        """Return what became of each request, as the arguments of an Outcome."""
        keys = self._keys(requests)
        rows = self._select(
            "SELECT key, value, seconds, finished, version FROM results WHERE key IN", keys.values()
        )
        # Many models may share a result, and values are not changed.
        results = {
            key: {
                "status": "done",
                "value": json.loads(value),
                "key": key,
                "seconds": seconds,
                "finished": finished,
                "version": version,
            }
            for key, value, seconds, finished, version in rows
        }
        failures = dict(
            self._select("SELECT request, reason FROM failures WHERE request IN", requests)
        )
        found = []
        for request in requests:
            if keys.get(request) in results:
                found.append(results[keys[request]])
            elif request in failures:
                found.append({"status": "failed", "reason": failures[request]})
            else:
                found.append({"status": "missing"})
        return found

    def models(self, requests: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Return what is known of each model, by label."""
        rows = self._select("SELECT request, info FROM models WHERE request IN", requests.values())
        info = {request: json.loads(text) for request, text in rows}
        return {label: info.get(request, {}) for label, request in requests.items()}

    def study_file(self, name: str) -> str | None:
        """Return the name of the file that declared a study when it was run last."""
        row = self._db.execute("SELECT run FROM studies WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0]).get("study_file")

    def studies(self) -> list[str]:
        """Return the names of the studies that were run into this file."""
        return [name for (name,) in self._db.execute("SELECT name FROM studies ORDER BY name")]

    def study(self, name: str) -> tuple[Plan, list[str], dict[str, str], dict[str, Any]]:
        """Return plan, requests of tasks, requests of models, and the last run of a study."""
        plan, requests, run = self._db.execute(
            "SELECT plan, requests, run FROM studies WHERE name = ?", (name,)
        ).fetchone()
        parts = json.loads(requests)
        return Plan.from_json(plan), parts["tasks"], parts["models"], json.loads(run)

    def _keys(self, requests: Sequence[str]) -> dict[str, str]:
        return dict(self._select("SELECT request, key FROM known WHERE request IN", requests))

    def _present(self, keys: Iterable[str]) -> set[str]:
        return {key for (key,) in self._select("SELECT key FROM results WHERE key IN", keys)}

    def _select(self, statement: str, values: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        wanted = list(dict.fromkeys(values))
        # SQLite takes a limited number of variables.
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ", ".join("?" * len(part))
            yield from self._db.execute(f"{statement} ({marks})", part).fetchall()


def now() -> str:
    """Return the time, in UTC (ISO 8601)."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
