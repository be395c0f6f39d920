"""Compute the missing results of a study, here, in worker processes or on a cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from wefe._checks import import_library, logger, progress_bar
from wefe._same_words import left_out, tell_left_out
from wefe.study._plan import Outcome, digest
from wefe.study._store import Row, Store
from wefe.study._tasks import Opened, Unit, close_unit, describe, open_unit, run_tasks

if TYPE_CHECKING:
    from wefe.study._planning import Planned

# Starts executors.
_Start: TypeAlias = Callable[[], Iterable[Executor]]


def completed(
    function: Callable[..., Any], calls: deque[tuple[Any, ...]], executors: _Start
) -> Iterator[tuple[Any, Future[Any]]]:
    """Call a function with each tuple of arguments, and yield the arguments of finished calls.

    Each executor runs one call at a time. What you add to the left of `calls` for a finished call
    goes to the same executor. Executors are started only if there are calls.
    """
    free = list(executors()) if calls else []
    running: dict[Future[Any], tuple[Any, Executor]] = {}

    def start(executor: Executor) -> None:
        call = calls.popleft()
        running[executor.submit(function, *call)] = call, executor

    while calls or running:
        while calls and free:
            start(free.pop())
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            call, executor = running.pop(future)
            n_calls = len(calls)
            yield call, future
            if len(calls) > n_calls:
                start(executor)
            else:
                free.append(executor)


@contextmanager
def executors_of(
    engine: str, scheduler: str | None, n_jobs: int | None
) -> Iterator[list[Executor]]:
    """Return the executors of a study: a cluster's, this process, or worker processes."""
    with ExitStack() as stack:
        if engine == "dask":
            yield stack.enter_context(_cluster(scheduler))
        else:
            # One process each, so that a crash affects only one of them.
            own = [_Here()] if n_jobs is None else [_OneProcess() for _ in range(n_jobs)]
            yield [stack.enter_context(each) for each in own]


class _Here(Executor):
    def submit(self, function: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, *_: bool, **__: bool) -> None:
        close_unit()


class _OneProcess(Executor):
    """A worker process that is replaced if it dies."""

    def __init__(self) -> None:
        self._pool: Any = None

    def submit(self, function: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        # loky needs no ``if __name__ == "__main__"`` in the caller's script.
        from joblib.externals.loky import ProcessPoolExecutor, process_executor

        try:
            if self._pool is not None:
                return self._pool.submit(function, *args)  # type: ignore[no-any-return]
        except process_executor.BrokenProcessPool:
            self.shutdown()
        self._pool = ProcessPoolExecutor(1, initializer=_begin, initargs=(os.getpid(),))
        return self._pool.submit(function, *args)  # type: ignore[no-any-return]

    def shutdown(self, wait: bool = True, **_: bool) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=wait, kill_workers=True)


def _begin(caller: int) -> None:
    """Prepare a worker process: ignore Ctrl-C, and exit together with the caller."""
    from tqdm import tqdm

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Output of libraries must not mix with that of the caller.
    os.dup2(2, 1)
    # A killed process would leave behind tqdm's default lock, which processes share.
    tqdm.set_lock(threading.RLock())

    def watch() -> None:
        while os.getppid() == caller:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _cluster(scheduler: str | None) -> Iterator[list[Executor]]:
    """Return executors on a Dask cluster, one per thread."""
    distributed = import_library("distributed", "dask", "engine='dask'")
    with distributed.Client(scheduler) as client:
        client.wait_for_workers(1)
        # Calls prefer the worker that has their model open; others take over if it is lost.
        yield [
            client.get_executor(pure=False, workers=[address], allow_other_workers=True)
            for address, n_threads in client.nthreads().items()
            for _ in range(n_threads)
        ]


class Run:
    """Opens the models of a study and computes missing results."""

    def __init__(self, planned: Planned, store: Store, only: set[int] | None = None) -> None:
        self._planned, self._store = planned, store
        self._only = set(range(len(planned.plan.tasks))) if only is None else only
        self._opened: dict[str, Opened] = {}
        # Position of a task -> key of its result.
        self._keys: dict[int, str] = {}
        self.n_computed = 0

    def open(self, executors: _Start, *, progress: bool) -> None:
        """Open the models that are new or may have changed since the last run."""
        self._opened |= self._known()
        units = [each for each in self._planned.units if each.entry.label not in self._opened]
        title = f"{self._planned.plan.name}: opening"
        with progress_bar(len(units), title, "model", progress) as bar:
            for (unit,), future in completed(open_unit, deque(zip(units)), executors):
                bar.update(1)
                opened, reason = _result(future)
                if reason is not None:
                    logger.info("%s failed: %s", unit.entry.label, reason)
                    opened = Opened({}, {}, {}, reason)
                self._opened[unit.entry.label] = opened

    def _known(self) -> dict[str, Opened]:
        """Return what the file says of models that have not changed since."""
        keys, known = self._planned.model_keys, {}
        rows = self._store.get(keys.values())
        for unit in self._planned.units:
            asked = {task.id for task in unit.tasks.values()}
            about = rows.get(keys[unit.entry.label], Outcome()).value
            if about and unit.identity is not None and asked <= about["prints"].keys():
                known[unit.entry.label] = Opened(**{n: about[n] for n in Opened._fields})
        return known

    def _missing(self, without: Mapping[str, list[str]]) -> Iterator[tuple[Any, ...]]:
        """Yield a call for each model with missing results; equal tasks are computed once."""
        units = self._planned.units
        opened = [each for each in units if self._opened[each.entry.label].failure is None]
        for unit in opened:
            self._keys |= self._keys_of(unit, without)
        present = self._store.get(self._keys.values()).items()
        settled = {key for key, outcome in present if outcome.status == "done"}
        self._store.put(map(self._about, units))
        for unit in opened:
            asked = {self._keys[at]: at for at in unit.tasks if at in self._only}
            own = sorted(at for key, at in asked.items() if key not in settled)
            settled.update(asked)
            if own:
                yield unit, own, self._opened[unit.entry.label].prints, without

    def compute(self, executors: _Start, *, progress: bool) -> None:
        """Compute missing results and store each of them immediately."""
        plan = self._planned.plan
        without = {} if plan.settings["lookup"]["own_words"] else self._words_left_out()
        calls = deque(self._missing(without))
        n_tasks = sum(len(own) for _, own, *_ in calls)
        with progress_bar(n_tasks, plan.name, "task", progress) as bar:
            for (unit, left, *more), future in completed(run_tasks, calls, executors):
                results, reason = _result(future)
                if reason is not None:
                    # The call or its process died, so all tasks of the model fail.
                    results = dict.fromkeys(left, Outcome("failed", failure=reason))
                self._enter(results)
                bar.update(len(results))
                if others := [at for at in left if at not in results]:
                    calls.appendleft((unit, others, *more))

    def _words_left_out(self) -> dict[str, list[str]]:
        """Return, per query, the words that some models lack; no model is measured with them."""
        lookup = self._planned.plan.settings["lookup"]
        found = {}
        for key, query in self._planned.plan.queries.items():
            opened = [each for each in self._opened.values() if each.failure is None]
            lacked = [each.lacking.get(key, []) for each in opened]
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
            is_compared = task.kind in ("score", "interval", "warnings", "silhouette")
            lost = without.get(task.identity["query"]) if is_compared else None
            keys[at] = digest(task.digest, __version__, prints[task.id], how, lost)
        return keys

    def _enter(self, results: Mapping[int, Outcome]) -> None:
        """Store results, and the reasons of failures."""
        rows: list[Row] = []
        for at, outcome in results.items():
            task, key = self._planned.plan.tasks[at], self._keys[at]
            if outcome.failure is None:
                self.n_computed += 1
                rows.append((key, task.kind, outcome.value, outcome.seconds))
            else:
                logger.info("%s failed: %s", task.name, outcome.failure)
                rows.append((key, "failure", outcome.failure, 0.0))
        self._store.put(rows)

    def _about(self, unit: Unit) -> Row:
        """Return the row of a model: what its results depend on, and their keys."""
        label = unit.entry.label
        keys = {task.id: self._keys[at] for at, task in unit.tasks.items() if at in self._keys}
        value = {**self._opened[label]._asdict(), "keys": keys}
        return self._planned.model_keys[label], "model", value, 0.0


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
