"""The command line: parse, call public functions, print. One file per command."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
from typing import Annotated, Any, NoReturn

import typer


def application() -> typer.Typer:
    """Return the commands, with the help of each.

    Returns
    -------
    typer.Typer
        What `main` runs, and what the reference of the commands is made of.

    Examples
    --------
    >>> len(application().registered_commands)
    13
    """
    from wefe.cli import (
        _audit,
        _check,
        _convert,
        _datasets,
        _debias,
        _demo,
        _diff,
        _explore,
        _measure,
        _run,
        _silhouette,
    )

    app = typer.Typer(
        name="wefe",
        help="Measure how biased word embeddings are, and how they rank.\n\n"
        "Start with 'wefe demo'; it needs no files and no network. Then 'wefe measure --model "
        "FILE' asks published queries of your own vectors, 'wefe explore' shows where words lie "
        "and what is around them, 'wefe debias' mitigates their bias, and 'wefe convert' makes a "
        "large file open at once. For many models, queries and metrics: 'wefe init' writes a study "
        "file, 'wefe run' runs it, 'wefe report' makes a report of it.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.command("demo", short_help="Measure and rank the packaged vectors.")(_demo.demo)
    app.command("measure", short_help="Ask published or own queries of models.")(_measure.measure)
    app.command("init", short_help="Write a study file, to be changed.")(_run.init)
    app.command("run", short_help="Run a study: compute what is missing.")(_run.run)
    app.command("report", short_help="Write the report of a study.")(_run.report)
    app.command("diff", short_help="Compare two results of a study.")(_diff.diff)
    app.command("check", short_help="A gate for continuous integration.")(_check.check)
    app.command("audit", short_help="Say whether scores may be believed.")(_audit.audit)
    app.command("silhouette", short_help="Say how far metrics and words can be trusted.")(
        _silhouette.silhouette
    )
    app.command("explore", short_help="Look at words and directions.")(_explore.explore)
    app.command("debias", short_help="Mitigate the bias of a file of vectors.")(_debias.debias)
    app.command("convert", short_help="Write vectors so that they open at once.")(_convert.convert)
    app.command("datasets", short_help="List queries, criteria and words.")(_datasets.datasets)
    app.callback(invoke_without_command=True)(_top)
    return app


def main() -> None:
    """Run the command line; wrong input ends with a message and exit code 2, not a traceback."""
    import sqlite3

    _log_each_message_once()
    # So that what is being written is removed, as with Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        application()()
    except (ValueError, TypeError, OSError, ImportError) as error:
        # For whoever mends wefe: the place where it happened.
        if os.environ.get("WEFE_TRACEBACK"):
            raise
        _end(str(error))
    except RecursionError as error:
        # What is nested without end is a file that somebody made so.
        if os.environ.get("WEFE_TRACEBACK"):
            raise
        _end(f"a file is nested too deeply to be read: {error}.")
    except sqlite3.Error as error:
        # A full disk, or a file that another program has locked.
        if os.environ.get("WEFE_TRACEBACK"):
            raise
        _end(
            f"a results file (or cache) cannot be read or written: {error}. What was finished is "
            "kept, and the same command goes on from there."
        )


def _end(message: str) -> NoReturn:
    from wefe._visible import visible

    # Messages about study files have a line for each key.
    text = visible(_as_options(message), "\n")
    print(f"error: {text}", file=sys.stderr)
    sys.exit(2)


def _as_options(message: str) -> str:
    """Name options as the command does: '--trust-pickle' for 'trust_pickle=True'."""
    commands: Any = typer.main.get_command(application())
    command = commands.commands.get(" ".join(sys.argv[1:2]))
    options = {option.name: option for option in command.params} if command else {}

    def as_option(found: re.Match[str]) -> str:
        name, value = found.groups()
        # `wefe measure --bootstrap` is n_bootstrap in Python.
        option = options.get(name) or options.get(name.removeprefix("n_"))
        if option is None or not option.opts[0].startswith("--") or option.opts[0] in message:
            return found[0]
        if value is None:
            # Without an underscore it may be a word of the sentence.
            return option.opts[0] if "_" in name else name
        if option.is_flag:
            flags = {"True": option.opts, "False": option.secondary_opts}.get(value)
            return flags[0] if flags else found[0]
        return " ".join([option.opts[0], value.strip("'")])

    # Not in quotes, paths or parameters of metrics.
    pattern = r"(?<![\w./'\"-])([a-z]\w*)(?:=('[^']*'|\w+(?:\.\w+)?))?(?![\w/]|\.\w)"
    return re.sub(pattern, as_option, message)


def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import wefe

        print(f"wefe {wefe.__version__}")
        raise typer.Exit


class _Printable(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        from wefe._visible import visible

        return visible(super().format(record), "\n")


def _log_each_message_once() -> None:
    """Log to standard error; what every metric would say again is said once."""
    seen: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        return not (message in seen or seen.add(message))  # type: ignore[func-returns-value]

    handler = logging.StreamHandler()
    handler.setFormatter(_Printable("%(levelname)s: %(message)s"))
    handler.addFilter(is_new)
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
