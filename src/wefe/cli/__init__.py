"""The command line: parse, call public functions, print. One file per command."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import textwrap
from typing import Annotated, Any, NoReturn

import typer

# What the library logs of a score that is undefined.
UNDEFINED = "%s is NaN for %s: %s"
_LONGEST_WARNING = 600
_LONGEST_REASON = 120
_HINT = "--format csv has every reason. A larger part of a model has more words."


def application() -> typer.Typer:
    """Return the commands, with the help of each.

    Returns
    -------
    typer.Typer
        What `main` runs, and what the reference of the commands is made of.

    Examples
    --------
    >>> len(application().registered_commands)
    14
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
    from wefe.cli._options import Command

    app = typer.Typer(
        name="wefe",
        help="Measure how biased word embeddings are, and how they rank.\n\n"
        "Start with 'wefe demo'; it needs no files and no network. Then 'wefe measure --model "
        "FILE' asks published queries of your own vectors, 'wefe explore' shows where words lie "
        "and what is around them, 'wefe debias' mitigates their bias, and 'wefe convert' makes a "
        "large file open at once. For many models, queries and metrics: 'wefe init' writes a study "
        "file, 'wefe run' runs it, 'wefe report' makes a report of it.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for function, summary in (
        (_demo.demo, "Measure and rank the packaged vectors."),
        (_measure.measure, "Ask published or own queries of models."),
        (_run.init, "Create a study file from a template."),
        (_run.run, "Run a study: compute what is missing."),
        (_run.report, "Write the report of a study."),
        (_run.verify, "Compute a sample of results again."),
        (_diff.diff, "Compare two results of a study."),
        (_check.check, "Check limits, in continuous integration."),
        (_audit.audit, "Check how reliable the scores are."),
        (_silhouette.silhouette, "Check how much scores depend on words."),
        (_explore.explore, "Look at words and directions."),
        (_debias.debias, "Mitigate the bias of a file of vectors."),
        (_convert.convert, "Write vectors so that they open at once."),
        (_datasets.datasets, "List queries, criteria and words."),
    ):
        app.command(cls=Command, short_help=summary)(function)
    app.callback(invoke_without_command=True)(_top)
    return app


def main() -> None:
    """Run the command line; wrong input ends with a message and exit code 2, not a traceback."""
    import sqlite3

    log = _Log()
    logging.basicConfig(handlers=[log], level=logging.WARNING)
    # So that what is being written is removed, and workers end, as with Ctrl-C.
    for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
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
    finally:
        log.close()


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


class _Log(logging.StreamHandler[Any]):
    """Log to standard error: each message once and in a line, undefined scores by model."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(_Printable("%(levelname)s: %(message)s"))
        self._seen: set[str] = set()
        self._undefined: dict[str, dict[str, str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg == UNDEFINED and isinstance(record.args, tuple):
            query, model, reason = map(str, record.args)
            self._undefined.setdefault(model, {})[query] = reason
        elif record.getMessage() not in self._seen:
            self._seen.add(record.getMessage())
            super().emit(record)

    def close(self) -> None:
        """Say, in a line for each model, what is undefined."""
        for model, queries in self._undefined.items():
            query, reason = next(iter(queries.items()))
            what = f"{query} is" if len(queries) == 1 else f"{len(queries)} queries are"
            why = textwrap.shorten(reason, _LONGEST_REASON, placeholder=" ...")
            super().emit(_record(logging.WARNING, f"{model}: {what} NaN, as {why}"))
        if self._undefined:
            super().emit(_record(logging.INFO, _HINT))
            self._undefined = {}
        super().close()


def _record(level: int, text: str) -> logging.LogRecord:
    return logging.LogRecord("wefe", level, "", 0, text, None, None)


class _Printable(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        from wefe._visible import visible

        text = super().format(record)
        if record.levelno == logging.WARNING:
            text = textwrap.shorten(text, _LONGEST_WARNING, placeholder=" ...")
        return visible(text, "\n")
