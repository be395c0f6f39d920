"""Run function calls in this process, in worker processes or on a cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any

from wefe._checks import import_library
from wefe.study._tasks import close_unit


def completed(
    calls: deque[tuple[Any, ...]], executors: Callable[[], Iterable[Executor]]
) -> Iterator[tuple[Any, Future[Any]]]:
    """Run calls (a label, a function, its arguments) and yield the labels of finished ones.

    Each executor runs one call at a time. What you add to the left of `calls` for a finished call
    goes to the same executor. Executors are started only if there are calls.
    """
    free = list(executors()) if calls else []
    running: dict[Future[Any], tuple[Any, Executor]] = {}

    def start(executor: Executor) -> None:
        label, *call = calls.popleft()
        running[executor.submit(*call)] = label, executor

    while calls or running:
        while calls and free:
            start(free.pop())
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            label, executor = running.pop(future)
            n_calls = len(calls)
            yield label, future
            if len(calls) > n_calls:
                start(executor)
            else:
                free.append(executor)


def executors_of(
    engine: str, scheduler: str | None, n_jobs: int | None
) -> AbstractContextManager[list[Executor]]:
    """Return the executors of a study: a cluster's, this process, or worker processes."""
    if engine == "dask":
        return cluster(scheduler)
    return here() if n_jobs is None else processes(n_jobs)


@contextmanager
def here() -> Iterator[list[Executor]]:
    try:
        yield [_Here()]
    finally:
        close_unit()


class _Here(Executor):
    def submit(self, function: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def processes(n: int) -> Iterator[list[Executor]]:
    """Return executors with one process each, so that a crash affects only one of them."""
    with ExitStack() as stack:
        yield [stack.enter_context(_OneProcess()) for _ in range(n)]


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
def cluster(scheduler: str | None) -> Iterator[list[Executor]]:
    """Return executors on a Dask cluster, one per thread."""
    distributed = import_library("distributed", "dask", "engine='dask'")
    client: Any = None
    if scheduler is None:
        with suppress(ValueError):  # there is none
            client = distributed.get_client()
    own = client is None
    client = distributed.Client(scheduler) if own else client
    try:
        client.wait_for_workers(1)
        # Calls prefer the worker that has their model open; others take over if it is lost.
        yield [
            client.get_executor(pure=False, workers=[address], allow_other_workers=True)
            for address, n_threads in client.nthreads().items()
            for _ in range(n_threads)
        ]
    finally:
        if own:
            client.close()
