"""Progress bars."""

from __future__ import annotations

import sys
import time
from typing import Any

from wefe._checks import check_bool

# A bar appears, and tqdm is imported, once the work has taken this many seconds.
_DELAY_S = 2.0
# Seconds between two lines if standard error is not a terminal.
_LINE_S = 30.0


class progress_bar:  # noqa: N801 - used like a function
    """A progress bar on standard error, as a context manager; shown after two seconds.

    If standard error is not a terminal, a line is written every 30 s. The unit 'B' means bytes.
    """

    def __init__(self, total: int | None, what: str, unit: str, show: bool = True) -> None:
        self._total, self._what, self._unit = total, what, unit
        self._show = check_bool("progress", show)
        self._of = "" if total is None else f" of {total:,}"
        self._done = 0
        self._bar: Any = None

    def __enter__(self) -> progress_bar:
        self._start = self._last_line = time.monotonic()
        return self

    def update(self, n: int = 1) -> None:
        """Advance by `n`."""
        self._done += n
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update(n)
            if self._bar.disable and now - self._last_line > _LINE_S:
                self._last_line = now
                line = f"{self._what}: {self._done:,}{self._of} {_plural(self._unit)}"
                print(line, file=sys.stderr, flush=True)
        elif self._show and now - self._start > _DELAY_S:
            self._show_bar(now - self._start)

    def _show_bar(self, elapsed: float) -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(
            total=self._total,
            desc=self._what,
            unit=self._unit,
            unit_scale=self._unit == "B",
            initial=self._done,
            disable=None,  # no bar if standard error is not a terminal
            leave=False,
        )
        if not self._bar.disable:
            self._bar.start_t -= elapsed

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()


def _plural(unit: str) -> str:
    """Return the plural of a unit, for example queries, tasks; 'B' stays."""
    if unit == "B" or unit.endswith("s"):
        return unit
    return f"{unit[:-1]}ies" if unit.endswith("y") else f"{unit}s"
