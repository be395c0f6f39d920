"""The one way in which benchmarks take a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def best_time(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Shortest of several runs in seconds, and what the function returned."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result
