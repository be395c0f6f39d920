"""The one way in which benchmarks take times and memory.

Only the standard library: peers import this file in environments of their own.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Timed(NamedTuple):
    """Shortest times of a function in seconds, by the clock and of the processor; its result."""

    seconds: float
    processor: float
    result: Any


def in_turn(functions: dict[str, Callable[[], Any]], repeats: int) -> dict[str, Timed]:
    """Time several functions in turn, so that what else the machine does hits all of them."""
    best: dict[str, Timed] = {}
    for _ in range(repeats):
        for name, function in functions.items():
            clock, processor = time.perf_counter(), time.process_time()
            result = function()
            times = (time.perf_counter() - clock, time.process_time() - processor)
            if name in best:
                times = (min(times[0], best[name].seconds), min(times[1], best[name].processor))
            best[name] = Timed(*times, result)
    return best


def best_time(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Shortest of several runs in seconds, and what the function returned."""
    timed = in_turn({"": function}, repeats)[""]
    return timed.seconds, timed.result


def allocated_mb(function: Callable[[], Any]) -> float:
    """Peak of what a function allocates, as tracemalloc counts it."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def peak_mb() -> float:
    """Peak memory of this process, mapped pages included; what getrusage says has the parent's."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) * 1024 / 1e6


def reset_peak() -> None:
    """Start the peak of this process anew."""
    Path("/proc/self/clear_refs").write_text("5")


class TaskError(RuntimeError):
    """A process failed; the message is the last line that it wrote."""


def fresh_process(python: str, *arguments: Any, repeats: int = 1) -> dict:
    """Run an interpreter on a task that prints JSON; return that, with `wall_s` of the best run."""
    best: dict = {}
    call = [str(part) for part in (python, *arguments)]
    for _ in range(repeats):
        try:
            wall_s, done = best_time(
                lambda: subprocess.run(call, capture_output=True, text=True, check=False), 1
            )
        except OSError as error:
            raise TaskError(f"the interpreter does not start: {error.strerror}") from error
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            raise TaskError(lines[-1] if lines else f"exit code {done.returncode}")
        if not best or wall_s < best["wall_s"]:
            best = {**json.loads(done.stdout), "wall_s": wall_s}
    return best
