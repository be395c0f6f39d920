"""Where units are run: in this process, in several, or on a cluster; always with the same results.

An engine yields the messages of units, and asks back which tasks of an opened model are missing.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from threadpoolctl import threadpool_limits

from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.study._work import (
    Done,
    Failed,
    Message,
    Opened,
    OpenedVariant,
    Unit,
    describe,
    open_base,
    run_unit,
)

#: Told that a model was opened, says which of its tasks are to be computed.
Missing: TypeAlias = Callable[[Opened], set[int]]

# Models up to this size may travel between machines.
_TRAVELS_NBYTES = 1 << 28


def run_here(units: Sequence[Unit], missing: Missing) -> Iterator[Message]:
    """Run units one after the other, in this process."""
    for unit in units:
        yield from _conversation(unit, missing)


def _conversation(unit: Unit, missing: Missing) -> Iterator[Message]:
    work = run_unit(unit)
    answer: set[int] | None = None
    while True:
        try:
            message = work.send(answer)
        except StopIteration:
            return
        answer = missing(message) if isinstance(message, Opened) else None
        yield message


def run_in_processes(units: Sequence[Unit], missing: Missing, n_jobs: int) -> Iterator[Message]:
    """Run each unit in one of several processes; one that dies fails its unit and no other."""
    inbox: queue.SimpleQueue[tuple[_Worker, Any]] = queue.SimpleQueue()
    waiting = list(reversed(units))
    workers = [_Worker(inbox) for _ in range(min(n_jobs, len(units)))]
    busy = set()
    try:
        for worker in workers:
            worker.start(waiting.pop())
            busy.add(worker)
        while busy:
            worker, message = inbox.get()
            if isinstance(message, Opened):
                wanted = missing(message)
                worker.unfinished -= set(message.keys) - wanted
                worker.send(wanted)
            if isinstance(message, Opened | Done | Failed):
                worker.unfinished -= set(message.positions)
                yield message
                continue
            # A unit is finished (None), or the process ended, perhaps while it had nothing to do.
            busy.discard(worker)
            if message is not None:
                if worker.unfinished:
                    yield Failed(tuple(sorted(worker.unfinished)), message)
                workers.remove(worker)
                if not waiting:
                    continue
                worker = _Worker(inbox)
                workers.append(worker)
            if waiting and worker not in busy:
                worker.start(waiting.pop())
                busy.add(worker)
    finally:
        for worker in workers:
            worker.kill()


class _Worker:
    """A Python process that runs units.

    It is started afresh, without what the caller's script does on import, so that a script needs
    no ``if __name__ == "__main__"`` and a notebook works.
    """

    def __init__(self, inbox: queue.SimpleQueue[tuple[_Worker, Any]]) -> None:
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; from wefe.study._engine import serve; serve()"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C is for the caller, who then ends its workers.
            start_new_session=True,
        )
        self.unfinished: set[int] = set()
        threading.Thread(target=self._listen, args=(inbox,), daemon=True).start()

    def _listen(self, inbox: queue.SimpleQueue[tuple[_Worker, Any]]) -> None:
        """Pass on what comes; None ends a unit, and a text says how the process ended."""
        assert self._process.stdout is not None
        with suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                inbox.put((self, pickle.load(self._process.stdout)))
        code = self._process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        hint = " (is there enough memory?)" if code == -9 else ""
        inbox.put((self, f"the worker process ended with {how}{hint}"))

    def start(self, unit: Unit) -> None:
        """Give it a unit."""
        self.unfinished = set(unit.positions)
        self.send(unit)

    def send(self, message: object) -> None:
        """Send something; that the process died comes in by itself."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(pickle.dumps(message))
            self._process.stdin.flush()

    def kill(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


def serve() -> None:
    """Run units that come through standard input, in a worker process."""
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    outward = os.fdopen(os.dup(1), "wb")
    # What libraries print must not get among the messages.
    os.dup2(2, 1)

    def listen() -> None:
        # The input ends with the caller, however it ended. Then nobody would keep results.
        try:
            while True:
                inbox.put(pickle.load(sys.stdin.buffer))
        finally:
            os._exit(1)

    def missing(opened: Opened) -> set[int]:
        send(opened)
        wanted: set[int] = inbox.get()
        return wanted

    def send(message: object) -> None:
        pickle.dump(message, outward)
        outward.flush()

    threading.Thread(target=listen, daemon=True).start()
    with suppress(OSError, KeyboardInterrupt):
        while True:
            for message in _conversation(inbox.get(), missing):
                if not isinstance(message, Opened):
                    send(message)
            send(None)
    os._exit(0)


def run_on_dask(units: Sequence[Unit], missing: Missing, client: Any) -> Iterator[Message]:
    """Run units on a Dask cluster.

    Each model is opened once, by one of its workers; as many are open at a time as the cluster has
    threads. One of few words travels to where there is time; an encoder, or a large vocabulary,
    stays, and its tasks come to it.
    """
    from distributed import as_completed

    following: Any = as_completed()  # type: ignore[no-untyped-call]
    waiting = list(reversed(units))
    # Future -> its unit, and the positions that fail if its worker is lost.
    others: dict[Any, tuple[int, tuple[int, ...]]] = {}
    # Number of a unit -> how many of its futures are under way.
    n_open: dict[int, int] = {}
    bases: dict[Any, tuple[Unit, Any]] = {}
    variants: dict[Any, tuple[Any, dict[str, Any]]] = {}

    def submit(unit: int, positions: Iterable[int], function: Any, *args: Any, **place: Any) -> Any:
        future = client.submit(function, *args, pure=False, **place)
        others[future] = unit, tuple(positions)
        n_open[unit] = n_open.get(unit, 0) + 1
        following.add(future)
        return future

    def begin() -> None:
        n_threads = max(1, sum(client.nthreads().values()))
        while waiting and len(n_open) < n_threads:
            number, unit = len(units) - len(waiting), waiting.pop()
            base = client.submit(_open, unit, pure=False)
            bases[submit(number, unit.positions, _fate, base)] = unit, base

    begin()
    for future in following:
        number, positions = others.pop(future)
        message = future.result() if future.status == "finished" else None
        if message is None:
            bases.pop(future, None)
            variants.pop(future, None)
            yield Failed(positions, describe(future.exception()))
        elif future in bases:
            unit, base = bases.pop(future)
            if isinstance(message, str):
                yield Failed(positions, message)
            else:
                # Where the model is, if it is too large to travel.
                place = {} if message else {"workers": list(client.who_has(base)[base.key])}
                for at, variant in enumerate(unit.variants):
                    opened = client.submit(_open_variant, unit, at, base, pure=False, **place)
                    own = [position for position, _ in variant.tasks]
                    variants[submit(number, own, _tell, opened, **place)] = opened, place
        elif isinstance(message, Opened):
            opened, place = variants.pop(future)
            for position in sorted(missing(message)):
                submit(number, [position], _run, opened, position, **place)
            yield message
        else:
            variants.pop(future, None)
            yield message
        n_open[number] -= 1
        if not n_open[number]:
            del n_open[number]
            begin()


# What the workers of a cluster do. An error is a value there, as it is the reason of a failure.


def _open(unit: Unit) -> WordEmbeddingModel | str:
    try:
        with threadpool_limits(1, "blas"):
            return open_base(unit)
    except Exception as error:
        return describe(error)


def _fate(base: WordEmbeddingModel | str) -> bool | str:
    """Return whether the model may travel, or why there is none."""
    if isinstance(base, str):
        return base
    return not hasattr(base, "snapshot") and base.nbytes <= _TRAVELS_NBYTES


def _open_variant(unit: Unit, number: int, base: WordEmbeddingModel) -> OpenedVariant | Failed:
    variant = unit.variants[number]
    try:
        with threadpool_limits(1, "blas"):
            return OpenedVariant(unit, variant, base)
    except Exception as error:
        return Failed(tuple(position for position, _ in variant.tasks), describe(error))


def _tell(opened: OpenedVariant | Failed) -> Opened | Failed:
    if isinstance(opened, Failed):
        return opened
    return opened.message


def _run(opened: OpenedVariant, position: int) -> Done | Failed:
    with threadpool_limits(1, "blas"):
        return opened.run(position)
