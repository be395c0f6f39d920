"""The progress bar of long work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

# A bar appears once the work has taken this many seconds.
_DELAY_S = 2.0


def progress_bar(total: int, what: str, unit: str, show: bool = True) -> tqdm[Any]:
    """Return a bar on standard error, to be used as a context manager.

    It appears only where standard error is a terminal (or a notebook), and only when the work
    takes more than two seconds.
    """
    from tqdm.auto import tqdm

    # disable=None: no bar where standard error is no terminal.
    disable = None if show else True
    return tqdm(total=total, desc=what, unit=unit, delay=_DELAY_S, disable=disable, leave=False)
