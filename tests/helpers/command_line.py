"""Run `wefe ...` as a user would, in this process: a new one takes longer than most tests."""

import contextlib
import io
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

from wefe.cli import main

#: A study of one score.
STUDY = """
name = "Gate"
offline = true
[[models]]
source = "demo"
[[queries]]
name = "Own"
[[queries.query]]
targets = {Women = ["she", "woman"], Men = ["he", "man"]}
attributes = {Family = ["home", "children"], Career = ["office", "salary"]}
[[metrics]]
metric = "weat-es"
"""


def wefe(*arguments, expect=0, folder=None, environment=None, terminal=None):
    """Run a command in `folder`, check its exit code, and return it with what it printed.

    `terminal` is the width of a terminal without colours; by default output goes into a pipe.
    """
    arguments = ["wefe", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
    if terminal is not None:
        environment = {**(environment or {}), "COLUMNS": str(terminal), "TERM": "dumb"}
        out.isatty = lambda: True
    root, log = logging.getLogger(), logging.getLogger("wefe")
    terminate = signal.getsignal(signal.SIGTERM)
    code = 0
    with (
        contextlib.chdir(folder or Path.cwd()),
        mock.patch.dict(os.environ, {"COLUMNS": "100", **(environment or {})}),
        mock.patch.object(sys, "argv", arguments),
        # What a command does to the log of its process.
        mock.patch.object(root, "handlers", []),
        mock.patch.object(log, "level", log.level),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        finally:
            signal.signal(signal.SIGTERM, terminate)
            log.manager._clear_cache()
    printed = []
    for stream in (out, err):
        stream.flush()
        printed.append(stream.buffer.getvalue().decode())
    assert code == expect, "".join(printed)
    return subprocess.CompletedProcess(arguments, code, *printed)
