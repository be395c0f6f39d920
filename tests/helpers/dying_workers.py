"""A call of the engine of studies that ends its process, where workers can import it."""

import os
import signal

from wefe.study import _tasks


def die_at_short(unit, *others):
    """Run tasks, but end the process at the model called 'short'."""
    if unit.entry.label == "short":
        os.kill(os.getpid(), signal.SIGKILL)
    return _tasks.run_tasks(unit, *others)
