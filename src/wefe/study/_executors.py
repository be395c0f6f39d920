"""Run function calls in this process, in worker processes or on a cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from wefe._checks import import_library
from wefe.study._tasks import close_units


class Call(NamedTuple):
    """A function call, and a callback for its result."""

    # Function and arguments are picklable.
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    # Takes the finished future; returns the next call for the same executor, if any.
    done: Callable[[Future[Any]], Call | None]


def run_calls(calls: Iterable[Call], executors: Iterable[Executor]) -> None:
    """Run calls, one at a time on each executor."""
    waiting, free = deque(calls), list(executors)
    running: dict[Future[Any], tuple[Call, Executor]] = {}

    def start(call: Call, executor: Executor) -> None:
        running[executor.submit(call.function, *call.arguments)] = call, executor

    while waiting or running:
        while waiting and free:
            start(waiting.popleft(), free.pop())
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            call, executor = running.pop(future)
            following = call.done(future)
            if following is None:
                free.append(executor)
            else:
                start(following, executor)


@contextmanager
def here() -> Iterator[list[Executor]]:
    try:
        yield [_Here()]
    finally:
        close_units()


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
    executors = [_OneProcess() for _ in range(n)]
    try:
        yield list(executors)
    finally:
        for executor in executors:
            executor.kill()


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
            self.kill()
        self._pool = ProcessPoolExecutor(1, initializer=_begin, initargs=(os.getpid(),))
        return self._pool.submit(function, *args)  # type: ignore[no-any-return]

    def kill(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)


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
