"""Compute the missing results of a study and store them."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError, Executor, Future
from typing import TYPE_CHECKING, Any

from wefe._same_words import left_out, tell_left_out
from wefe.study._executors import completed
from wefe.study._plan import digest
from wefe.study._store import Row, Store
from wefe.study._tasks import Opened, Result, Unit, describe, open_unit, run_tasks

if TYPE_CHECKING:
    from wefe.study._planning import Planned

logger = logging.getLogger(__name__)


class Run:
    """Opens the models of a study and computes missing results."""

    def __init__(self, planned: Planned, store: Store, only: set[int] | None = None) -> None:
        self._planned, self._store = planned, store
        self._only = set(range(len(planned.plan.tasks))) if only is None else only
        self._opened: dict[str, Opened] = {}
        # Position of a task -> key of its result.
        self._keys: dict[int, str] = {}
        # Key of a result, or label of a model that could not be opened -> why.
        self._failures: dict[str, str] = {}
        # Models and reasons in the log.
        self._told: set[tuple[str, str]] = set()
        self.n_computed = 0

    def to_open(self, *, reopen: bool) -> list[Unit]:
        """Return the models that are new or may have changed since the last run."""
        keys = self._planned.model_keys
        rows = {} if reopen else self._store.get(keys.values())
        known = {key: row.value for key, row in rows.items() if row.value is not None}
        for unit in self._planned.units:
            asked = {task.id for task in unit.tasks.values()}
            about = known.get(keys[unit.entry.label])
            if about and unit.identity is not None and asked <= about["prints"].keys():
                opened = Opened(**{name: about[name] for name in Opened._fields})
                self._opened[unit.entry.label] = opened
        return [unit for unit in self._planned.units if unit.entry.label not in self._opened]

    def open(
        self,
        units: Iterable[Unit],
        executors: Callable[[], Iterable[Executor]],
        advance: Callable[[int], object],
    ) -> None:
        for unit, future in completed(deque((unit, open_unit, unit) for unit in units), executors):
            advance(1)
            opened, reason = _result(future)
            if reason is None:
                self._opened[unit.entry.label] = opened
            else:
                self._fail(unit.entry.label, unit.entry.label, reason)

    def missing(self) -> list[tuple[Unit, list[int]]]:
        """Return the tasks to compute, by model; tasks with the same key are computed once."""
        own_words = self._planned.plan.settings["lookup"]["own_words"]
        without = {} if own_words else self._words_left_out()
        opened = [unit for unit in self._planned.units if unit.entry.label in self._opened]
        for unit in opened:
            self._keys |= self._keys_of(unit, without)
        present = self._store.get(self._keys.values()).values()
        settled = {row.key for row in present if row.value is not None}
        missing = []
        for unit in opened:
            asked = {self._keys[at]: at for at in unit.tasks if at in self._only}
            own = sorted(at for key, at in asked.items() if key not in settled)
            settled.update(asked)
            if own:
                missing.append((unit, own))
        self._keep()
        self._without = without
        return missing

    def compute(
        self,
        missing: Iterable[tuple[Unit, list[int]]],
        executors: Callable[[], Iterable[Executor]],
        advance: Callable[[int], object],
    ) -> None:
        """Compute results and store each of them immediately."""

        def call(unit: Unit, left: list[int]) -> tuple[Any, ...]:
            prints = self._opened[unit.entry.label].prints
            return (unit, left), run_tasks, unit, left, prints, self._without

        calls = deque(call(*each) for each in missing)
        try:
            for (unit, left), future in completed(calls, executors):
                results, reason = _result(future)
                if reason is not None:
                    # The call or its process died, so all tasks of the model fail.
                    results = dict.fromkeys(left, Result(None, reason=reason))
                self._enter(results)
                if any(result.reason is not None for result in results.values()):
                    self._keep()
                advance(len(results))
                if others := [at for at in left if at not in results]:
                    calls.appendleft(call(unit, others))
        finally:
            self._keep()

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

    def _keys_of(self, unit: Unit, without: Mapping[str, list[str]]) -> dict[int, str]:
        """Return the keys of results: hashes of everything that they are computed from."""
        from wefe import __version__

        prints, keys = self._opened[unit.entry.label].prints, {}
        for at, task in unit.tasks.items():
            mitigation = unit.mitigations.get(task.model)
            how = mitigation and mitigation.digest
            is_compared = task.kind in ("score", "interval", "warnings")
            lost = without.get(task.identity["query"]) if is_compared else None
            keys[at] = digest(task.digest, __version__, prints[task.id], how, lost)
        return keys

    def _enter(self, results: Mapping[int, Result]) -> None:
        """Store results."""
        tasks = self._planned.plan.tasks
        done = {at: result for at, result in results.items() if result.reason is None}
        self._store.put(
            Row(self._keys[at], tasks[at].kind, result.value, result.seconds)
            for at, result in done.items()
        )
        self.n_computed += len(done)
        for at, result in results.items():
            if result.reason is not None:
                self._fail(tasks[at].model, self._keys[at], result.reason)

    def _fail(self, model: str, key: str, reason: str) -> None:
        if (model, reason) not in self._told:
            self._told.add((model, reason))
            logger.info("%s failed: %s", model, reason)
        self._failures[key] = reason

    def _keep(self) -> None:
        """Store what is known of the models, unless the file says so already."""
        rows = []
        for unit in self._planned.units:
            label = unit.entry.label
            opened = self._opened.get(label, Opened({}, {}, {}))
            keys = {task.id: self._keys[at] for at, task in unit.tasks.items() if at in self._keys}
            failures = {
                task.id: self._failures[key]
                for task in unit.tasks.values()
                if (key := keys.get(task.id, label)) in self._failures
            }
            value = {**opened._asdict(), "keys": keys, "failures": failures}
            rows.append(Row(self._planned.model_keys[label], "model", value))
        known = self._store.get(row.key for row in rows)
        nothing = Row("", "", None)
        self._store.put(row for row in rows if known.get(row.key, nothing).value != row.value)


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
