"""Compute the missing results of a study and store them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError, Executor, Future
from typing import TYPE_CHECKING, Any

from wefe._same_words import left_out, tell_left_out
from wefe.study._executors import Call, run_calls
from wefe.study._plan import Task, digest
from wefe.study._store import Row, Store
from wefe.study._tasks import Opened, Result, Unit, describe, open_unit, run_tasks

if TYPE_CHECKING:
    from wefe.study._planning import Planned

logger = logging.getLogger(__name__)


class Run:
    """Tracks the models of a study and computes missing results."""

    def __init__(self, planned: Planned, store: Store, only: set[int] | None = None) -> None:
        self._planned, self._store, self._only = planned, store, only
        self._opened: dict[str, Opened] = {}
        # Label of a unit -> id of a task -> why it failed.
        self._failures: dict[str, dict[str, str]] = {}
        # Keys being computed, with the tasks that wait for them.
        self._in_work: dict[str, list[int]] = {}
        self._without: dict[str, list[str]] = {}
        self._keys: dict[int, str] = {}
        self._unit_of = {task.model: unit for unit in planned.units for task in unit.tasks.values()}
        self.n_computed = 0

    # Open

    def to_open(self, *, reopen: bool) -> list[Unit]:
        """Return the models that are new or may have changed since the last run."""
        rows = self._store.get(self._planned.model_keys.values())
        units = []
        for unit in self._planned.units:
            row = rows.get(self._planned.model_keys[unit.entry.label])
            known = None if row is None or reopen or unit.identity is None else row.value
            if known is None or any(t.id not in known["prints"] for t in unit.tasks.values()):
                units.append(unit)
            else:
                opened = Opened(**{name: known[name] for name in Opened._fields})
                self._opened[unit.entry.label] = opened
        return units

    def open(
        self, units: Iterable[Unit], executors: Iterable[Executor], advance: Callable[[int], object]
    ) -> None:
        def call(unit: Unit) -> Call:
            def done(future: Future[Opened]) -> None:
                advance(1)
                opened, reason = _result(future)
                if reason is None:
                    self._opened[unit.entry.label] = opened
                else:
                    self._fail(dict.fromkeys(unit.tasks, reason))

            return Call(open_unit, (unit,), done)

        run_calls(map(call, units), executors)

    # Compute

    def missing(self) -> list[tuple[Unit, list[int]]]:
        """Return the tasks without a result, by model."""
        own_words = self._planned.plan.settings["lookup"]["own_words"]
        self._without = {} if own_words else self._words_left_out()
        opened = [unit for unit in self._planned.units if unit.entry.label in self._opened]
        for unit in opened:
            own = self._opened[unit.entry.label]
            for at, task in unit.tasks.items():
                self._keys[at] = self._key(unit, task, own.prints[task.id])
        rows = self._store.get(self._keys.values())
        present = {key for key, row in rows.items() if row.value is not None}
        missing = []
        for unit in opened:
            self._keep(unit)
            wanted = []
            for at in unit.tasks:
                key = self._keys[at]
                if key in present or (self._only is not None and at not in self._only):
                    continue
                if key not in self._in_work:
                    wanted.append(at)
                self._in_work.setdefault(key, []).append(at)
            if wanted:
                missing.append((unit, wanted))
        return missing

    @property
    def n_waiting(self) -> int:
        """Number of tasks without a result, those included that share one."""
        return sum(map(len, self._in_work.values()))

    def compute(
        self,
        missing: Iterable[tuple[Unit, list[int]]],
        executors: Iterable[Executor],
        advance: Callable[[int], object],
    ) -> None:
        """Compute results and store each of them immediately."""

        def call(unit: Unit, left: list[int]) -> Call:
            def done(future: Future[Any]) -> Call | None:
                results, reason = _result(future)
                if reason is not None:
                    # The call or its process died, so all tasks of the model fail.
                    advance(self._fail(dict.fromkeys(left, reason)))
                    return None
                advance(self._enter(results))
                others = [at for at in left if at not in results]
                return call(unit, others) if others else None

            opened = self._opened[unit.entry.label]
            return Call(run_tasks, (unit, left, opened.prints, self._without), done)

        run_calls((call(*each) for each in missing), executors)

    def _words_left_out(self) -> dict[str, list[str]]:
        """Return, per query, the words that some models lack; no model is measured with them."""
        lookup = self._planned.plan.settings["lookup"]
        found = {}
        for key, query in self._planned.plan.queries.items():
            lacked = [opened.lacking.get(key, []) for opened in self._opened.values()]
            words = left_out(query, lacked, lookup["lost_vocabulary_threshold"])
            if words:
                found[key] = words
        tell_left_out(sorted(set().union(*found.values())))
        return found

    def _key(self, unit: Unit, task: Task, vectors: str) -> str:
        """Return the key of a result: a hash of everything that it is computed from."""
        from wefe import __version__

        mitigation = unit.mitigations.get(task.model)
        how = None if mitigation is None else mitigation.digest
        is_compared = task.kind in ("score", "interval", "warnings")
        without = self._without.get(task.identity["query"]) if is_compared else None
        return digest(task.digest, __version__, vectors, how, without)

    def _enter(self, results: Mapping[int, Result]) -> int:
        """Store results; return how many tasks they complete."""
        tasks = self._planned.plan.tasks
        done = {at: result for at, result in results.items() if result.reason is None}
        self._store.put(
            Row(self._keys[at], tasks[at].kind, result.value, result.seconds)
            for at, result in done.items()
        )
        self.n_computed += len(done)
        settled = sum(len(self._in_work.pop(self._keys[at])) for at in done)
        return settled + self._fail(
            {at: result.reason for at, result in results.items() if result.reason is not None}
        )

    def _fail(self, reasons: Mapping[int, str]) -> int:
        """Record why tasks failed, also for tasks that share their key; return their number."""
        n, changed = 0, {}
        for at, reason in reasons.items():
            for other in self._in_work.pop(self._keys.get(at, ""), [at]):
                task = self._planned.plan.tasks[other]
                unit = self._unit_of[task.model]
                self._failures.setdefault(unit.entry.label, {})[task.id] = reason
                changed[unit.entry.label, reason] = unit
                n += 1
        for label, reason in changed:
            logger.info("%s failed: %s", label, reason)
        if changed:
            self._store.put(map(self._row, changed.values()))
        return n

    def _keep(self, unit: Unit) -> None:
        row = self._row(unit)
        known = self._store.get([row.key]).get(row.key)
        # A second run with nothing to do writes nothing.
        if known is None or known.value != row.value:
            self._store.put([row])

    def _row(self, unit: Unit) -> Row:
        label = unit.entry.label
        opened = self._opened.get(label, Opened({}, {}, {}))
        keys = {task.id: self._keys[at] for at, task in unit.tasks.items() if at in self._keys}
        value = {**opened._asdict(), "keys": keys, "failures": self._failures.get(label, {})}
        return Row(self._planned.model_keys[label], "model", value)


def _result(future: Future[Any]) -> tuple[Any, str | None]:
    try:
        return future.result(), None
    except CancelledError as error:
        raise ConnectionError(
            "the Dask scheduler was lost. Finished results are kept; run the study again to "
            "continue."
        ) from error
    except Exception as error:
        return None, describe(error)
