"""Compute the missing results of a study, here, in worker processes or on a cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from joblib import effective_n_jobs

from wefe._checks import import_library, logger, progress_bar
from wefe._same_words import left_out, tell_left_out
from wefe.study._plan import Outcome, Plan, Task, digest
from wefe.study._store import Row, Store
from wefe.study._tasks import Opened, Unit, close_unit, describe, open_unit, run_tasks

if TYPE_CHECKING:
    from wefe.study._planning import Planned

_Call: TypeAlias = tuple[Any, ...]


def completed(
    function: Callable[..., Any], calls: deque[_Call], executors: Sequence[Executor]
) -> Iterator[tuple[Any, Any]]:
    """Call a function with each tuple of arguments; yield those of finished calls, with the result.

    The result of a call that fails is a failed outcome. Each executor runs one call at a time. What
    you add to the left of `calls` for a finished call goes to the same executor.
    """
    free = list(executors)
    running: dict[Future[Any], tuple[_Call, Executor]] = {}
    while running or (calls and free):
        while calls and free:
            call, executor = calls.popleft(), free.pop()
            running[executor.submit(function, *call)] = call, executor
        future = wait(running, return_when=FIRST_COMPLETED).done.pop()
        call, executor = running.pop(future)
        free.append(executor)
        yield call, _result(future)


@contextmanager
def executors_of(
    engine: str, scheduler: str | None, n_jobs: int | None
) -> Iterator[list[Executor]]:
    """Return the executors of a study: a cluster's, this process, or worker processes."""
    with ExitStack() as stack:
        if engine == "dask":
            distributed = import_library("distributed", "dask", "engine='dask'")
            client = stack.enter_context(distributed.Client(scheduler))
            client.wait_for_workers(1)
            # Calls prefer the worker that has their model open; others take over if it is lost.
            yield [
                client.get_executor(pure=False, workers=[address], allow_other_workers=True)
                for address, n_threads in client.nthreads().items()
                for _ in range(n_threads)
            ]
        elif n_jobs is None:
            yield [stack.enter_context(_Here())]
        else:
            # One process each, so that a crash affects only one of them.
            yield [stack.enter_context(_OneProcess()) for _ in range(effective_n_jobs(n_jobs))]


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


def compute(
    planned: Planned, store: Store, executors: list[Executor], only: set[int], *, progress: bool
) -> int:
    """Open the models and compute missing results, each stored immediately; return how many."""
    plan = planned.plan
    opened = _open_models(planned, store, executors, progress=progress)
    units = [(unit, opened[label]) for label, unit in planned.units.items()]
    without = {} if plan.settings["lookup"]["own_words"] else _words_left_out(plan, units)
    # Position of a task -> key of its result.
    keys = {at: key for each in units for at, key in _keys_of(*each, without)}
    present = store.get(keys.values())
    store.put([_about(*each, keys) for each in units])
    settled = {key for key, outcome in present.items() if outcome.status == "done"}
    asked = {at: keys[at] for at in only if at in keys}
    calls = deque((*call, without) for call in _missing(units, asked, settled))
    n_computed, n_tasks = 0, sum(len(left) for _, left, *_ in calls)
    with progress_bar(n_tasks, plan.name, "task", progress) as bar:
        for (unit, left, *more), results in completed(run_tasks, calls, executors):
            if isinstance(results, Outcome):
                # The call or its process died, so all tasks of the model fail.
                results = dict.fromkeys(left, results)
            store.put([_row(plan.tasks[at], keys[at], each) for at, each in results.items()])
            n_computed += sum(each.status == "done" for each in results.values())
            bar.update(len(results))
            if others := [at for at in left if at not in results]:
                calls.appendleft((unit, others, *more))
    return n_computed


def _open_models(
    planned: Planned, store: Store, executors: Sequence[Executor], *, progress: bool
) -> dict[str, Opened]:
    """Open the models that are new or may have changed since the last run."""
    opened = dict(_known(planned, store))
    calls = deque((unit,) for label, unit in planned.units.items() if label not in opened)
    with progress_bar(len(calls), f"{planned.plan.name}: opening", "model", progress) as bar:
        for (unit,), about in completed(open_unit, calls, executors):
            bar.update(1)
            if isinstance(about, Outcome):
                logger.info("%s failed: %s", unit.entry.label, about.failure)
                about = Opened({}, {}, {}, about.failure)
            opened[unit.entry.label] = about
    return opened


def _known(planned: Planned, store: Store) -> Iterator[tuple[str, Opened]]:
    """Yield what the file says of models that have not changed since."""
    rows = store.get(planned.model_keys.values())
    for label, unit in planned.units.items():
        about = rows.get(unit.key, Outcome()).value
        asked = {task.id for task in unit.tasks.values()}
        if about and unit.identity is not None and asked <= about["prints"].keys():
            yield label, Opened(**{name: about[name] for name in Opened._fields})


def _words_left_out(plan: Plan, units: Sequence[tuple[Unit, Opened]]) -> dict[str, list[str]]:
    """Return, per query, the words that some models lack; no model is measured with them."""
    found = {}
    for key, query in plan.queries.items():
        lacked = [about.lacking.get(key, []) for _, about in units if about.failure is None]
        words = left_out(query, lacked, plan.settings["lookup"]["lost_vocabulary_threshold"])
        if words:
            found[key] = words
    tell_left_out(sorted(set().union(*found.values())))
    return found


def _keys_of(
    unit: Unit, about: Opened, without: Mapping[str, list[str]]
) -> Iterator[tuple[int, str]]:
    """Yield the keys of results: hashes of everything that they are computed from."""
    from wefe import __version__

    for at, task in unit.tasks.items() if about.failure is None else ():
        mitigation = unit.mitigations.get(task.model)
        how = mitigation and mitigation.digest
        is_compared = task.kind in ("score", "interval", "warnings", "silhouette")
        lost = without.get(task.identity["query"]) if is_compared else None
        yield at, digest(task.digest, __version__, about.prints[task.id], how, lost)


def _missing(
    units: Sequence[tuple[Unit, Opened]], asked: Mapping[int, str], settled: set[str]
) -> Iterator[_Call]:
    """Yield the missing tasks of each model; equal tasks are computed once."""
    for unit, about in units:
        own = {asked[at]: at for at in unit.tasks if at in asked}
        left = sorted(at for key, at in own.items() if key not in settled)
        settled.update(own)
        if left:
            yield unit, left, about.prints


def _about(unit: Unit, about: Opened, keys: Mapping[int, str]) -> Row:
    """Return the row of a model: what its results depend on, and their keys."""
    own = {task.id: keys[at] for at, task in unit.tasks.items() if at in keys}
    return unit.key, "model", {**about._asdict(), "keys": own}, 0.0


def _row(task: Task, key: str, outcome: Outcome) -> Row:
    """Return the row of a result, or of the reason of a failure."""
    if outcome.failure is None:
        return key, task.kind, outcome.value, outcome.seconds
    logger.info("%s failed: %s", task.name, outcome.failure)
    return key, "failure", outcome.failure, 0.0


def _result(future: Future[Any]) -> Any:
    """Return the result of a call, or a failed outcome."""
    try:
        return future.result()
    except CancelledError as error:
        raise ConnectionError(
            "the Dask scheduler was lost. Finished results are kept; run the study again to "
            "continue."
        ) from error
    except Exception as error:
        return Outcome("failed", failure=describe(error))
