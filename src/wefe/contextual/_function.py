"""Functions from texts to vectors as encoders, for services and other libraries."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import itertools
import json
import math
import os
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wefe._checks import check_number, found, logger, progress_bar
from wefe.contextual._encoder import SURROGATE, Context, Sink, Tokens, Vectors

# The wait before the first retry; each further one is twice as long.
_FIRST_WAIT_S = 1.0
# Requests to an async function that may be under way at the same time.
_AT_ONCE = 8


@dataclass(eq=False, repr=False)
class FunctionEncoder:
    """A function as an `Encoder`, see `load_encoder`; `identity` is the name in the cache."""

    n_layers = 1
    pipeline = None
    max_length = 2**31

    function: Callable[[list[str]], Any]
    label: str
    identity: str
    prompt: str | None = None
    batch_size: int = 32
    rate: float | None = None
    retries: int = 4
    progress: bool = True

    def __post_init__(self) -> None:
        named = f"function {self.identity}".encode()
        self.fingerprint = hashlib.blake2b(named, digest_size=16).hexdigest()
        # The first vectors show how many dimensions there are.
        self.dims: list[int | None] = [None]
        call = getattr(self.function, "__call__", None)  # noqa: B004 - of an object, it may be async
        self._is_async = any(map(inspect.iscoroutinefunction, (self.function, call)))
        check_number("retries", self.retries, 0)
        rate = math.inf if self.rate is None else check_number("rate", self.rate, 0.001)
        self._interval_s, self._next_start = 1 / rate, 0.0

    def settings(self, *_: object) -> bytes:
        return json.dumps({"prompt": self.prompt or ""}).encode()

    def alone(self, word: str) -> Context:
        return Context(word, 0, len(word))

    def tokenize(self, contexts: Sequence[Context]) -> list[Tokens | str]:
        return [
            "it is empty or cannot be written as UTF-8"
            if not text.strip() or SURROGATE.search(text)
            else Tokens((self.prompt or "") + text)
            for text, _, _ in contexts
        ]

    def encode(self, tokens: Sequence[Tokens], *_: object, sink: Sink) -> None:
        with progress_bar(len(tokens), f"encoding with {self.label}", "text", self.progress) as bar:
            _run(self._encode([each.text for each in tokens], sink, bar))

    async def _encode(self, texts: list[str], sink: Sink, bar: Any) -> None:
        starts = iter(range(0, len(texts), self.batch_size))

        async def work() -> None:
            for start in starts:  # shared by all workers
                batch = texts[start : start + self.batch_size]
                vectors = await self._ask(batch)
                sink(range(start, start + len(batch)), vectors[None])
                bar.update(len(batch))

        n_workers = _AT_ONCE if self._is_async else 1
        workers = [asyncio.create_task(work()) for _ in range(n_workers)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()

    async def _ask(self, texts: list[str]) -> Vectors:
        """Return the vectors of a batch; after an error, wait and try again."""
        for attempt in itertools.count():
            start = max(self._next_start, time.monotonic())
            self._next_start = start + self._interval_s
            await asyncio.sleep(start - time.monotonic())
            try:
                # A thread, so that the function may run an event loop of its own.
                answer = await asyncio.to_thread(self.function, list(texts))
                answer = await answer if inspect.isawaitable(answer) else answer
                break
            except (Exception, KeyboardInterrupt, SystemExit) as error:
                if attempt >= self.retries or not isinstance(error, Exception):
                    raise RuntimeError(
                        f"{self.label} failed {attempt + 1} times, at last with {error!r}. Run it "
                        "again to continue: the cache keeps the vectors received so far."
                    ) from error
                wait = _FIRST_WAIT_S * 2**attempt
                logger.warning("%s failed (%r); next attempt in %g s", self.label, error, wait)
                await asyncio.sleep(wait)
        return self._checked(answer, texts)

    def _checked(self, answer: Any, texts: Sequence[str]) -> Vectors:
        try:
            vectors: Vectors = np.atleast_1d(np.asarray(answer, dtype=np.float32))
        except (TypeError, ValueError):  # no numbers, or rows of different lengths
            vectors = np.empty(0, dtype=np.float32)
        if vectors.shape != (len(texts), self.dims[0] or max(1, vectors.shape[-1])):
            raise ValueError(
                f"{self.label} must return an array of shape ({len(texts)}, "
                f"{self.dims[0] or 'dim'}); got {getattr(answer, 'shape', None) or found(answer)}. "
                "A late-interaction model has a vector for each token and none for a word: pool "
                "them in the function. If the function changed, give it another revision."
            )
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            raise ValueError(
                f"{self.label} returned NaN or infinity for {len(bad)} of {len(texts)} texts, such "
                f"as {texts[bad[0]]!r}."
            )
        return vectors


@functools.cache
def _loop(pid: int) -> asyncio.AbstractEventLoop:  # noqa: ARG001 - a fork needs its own
    """Return the event loop of this process, which keeps the connections of clients."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="wefe-functions", daemon=True).start()
    return loop


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine, even inside a running loop, as in notebooks."""
    future = asyncio.run_coroutine_threadsafe(work, _loop(os.getpid()))
    try:
        future.result()
    except BaseException:  # Ctrl-C as well: send no more requests
        future.cancel()
        raise
