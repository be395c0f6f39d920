"""The progress bar of long work."""

from __future__ import annotations

import sys
import time
from typing import Any

# A bar appears, and tqdm is imported, once the work has taken this many seconds.
_DELAY_S = 2.0


class progress_bar:  # noqa: N801 - used like a function
    """A bar on standard error, as a context manager; it appears after two seconds of work.

    In the log of a job, where standard error is no terminal, it is written anew every 30 s.

    Parameters
    ----------
    total : int or None
        Amount of work in `unit`; None if nobody knows.
    what : str
        What is done.
    unit : str
        What is counted; 'B' for bytes.
    show : bool, default=True
        False for no bar at all.
    """

    def __init__(self, total: int | None, what: str, unit: str, show: bool = True) -> None:
        self._how: dict[str, Any] = {
            "total": total,
            "desc": what,
            "unit": unit,
            "unit_scale": unit == "B",
        }
        self._show, self._done = show, 0
        self._bar: Any = None

    def __enter__(self) -> progress_bar:
        self._start = time.monotonic()
        return self

    def update(self, n: int = 1) -> None:
        """Count work that is done."""
        self._done += n
        if self._bar is not None:
            self._bar.update(n)
        elif self._show and time.monotonic() - self._start > _DELAY_S:
            from tqdm.auto import tqdm

            is_live = sys.stderr.isatty() or "ipykernel" in sys.modules
            often = 0.1 if is_live else 30
            self._bar = tqdm(**self._how, initial=self._done, leave=False, mininterval=often)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()
