"""The command line: parse, call public functions, print. One file per command."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import sqlite3
import sys
import textwrap
from functools import partial
from importlib import import_module
from typing import Annotated, Any

import typer

_LONGEST_WARNING = 600
# Module and name of each command, in the order of the help.
_COMMANDS = (
    "demo.demo measure.measure run.init run.run run.report run.verify check.diff check.check "
    "audit.audit audit.silhouette explore.explore debias.debias run.retrieval demo.replicate "
    "demo.convert demo.datasets"
)
# Errors that end a command, and their messages.
_ERRORS: dict[type[Exception], str] = {
    # Only a file made on purpose is nested so deeply.
    RecursionError: "a file is nested too deeply to be read: {}.",
    # A full disk, or a file that another program has locked.
    sqlite3.Error: "a results file (or cache) cannot be read or written: {}. Finished results are "
    "kept; run the same command again to continue.",
    **dict.fromkeys((ValueError, TypeError, OSError, ImportError), "{}"),
}
# Where a study that is not in a file is wrong: "study: key 'lookup', key 'normalize'".
_PLACE = re.compile(
    r"(?m)^(?:study: (?:key '(\w+)', (?:number \d+, )?)?(key 'params', )?|\[\[(\w+)\]\] of '.*?', )"
    r"key '([^']+)'"
)
# Skips quotes, paths and parameters of metrics.
_PARAMETER = re.compile(r"(?<![\w./'\"-])([a-z]\w*)(?:=('[^']*'|\w+(?:\.\w+)?))?(?![\w/]|\.\w)")


def application() -> typer.Typer:
    """Build the command-line application; the reference of the commands uses it too.

    >>> len(application().registered_commands)
    16
    """
    from wefe.cli._options import Command, prose

    app = typer.Typer(
        name="wefe",
        help="Measure the bias of word embeddings, and rank models by it.\n\nStart with 'wefe "
        "demo', which needs no files and no network. Then use 'wefe measure --model FILE' to "
        "measure your own vectors with published queries. 'wefe explore' shows the bias and the "
        "neighbours of words, 'wefe debias' mitigates bias, and 'wefe convert' writes a file that "
        "opens in milliseconds. To compare many models, queries and metrics, create a study file "
        "with 'wefe init', run it with 'wefe run', and write its report with 'wefe report'.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for module, name in (command.split(".") for command in _COMMANDS.split()):
        function = getattr(import_module(f"wefe.cli._{module}"), name)
        app.command(cls=Command, help=prose(function))(function)
    app.callback(invoke_without_command=True)(_top)
    return app


def main() -> None:
    """Run the command line; wrong input ends with a message and exit code 2."""
    log = _Log()
    logging.basicConfig(handlers=[log], level=logging.WARNING)
    # Removes unfinished files and ends workers, as with Ctrl-C.
    for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        application()()
    except tuple(_ERRORS) as error:
        # Developers want the traceback.
        if os.environ.get("WEFE_TRACEBACK"):
            raise
        from wefe._visible import visible

        message = next(text for kind, text in _ERRORS.items() if isinstance(error, kind))
        # Messages about study files have one line per key.
        text = visible(_as_options(message.format(error)), "\n")
        print(f"error: {text}", file=sys.stderr)
        sys.exit(2)
    finally:
        log.close()


def _as_options(message: str) -> str:
    """Name options in place of parameters and keys of a study, for example '--trust-pickle'."""
    commands: Any = typer.main.get_command(application())
    command = commands.commands.get(" ".join(sys.argv[1:2]))
    # The first name of an option may be its short flag.
    own = [each for each in getattr(command, "params", ()) if each.opts[0].startswith("--")]
    # The option --bootstrap is n_bootstrap in Python, and --model is repeated for a list of models.
    options = {form.format(each.name): each for form in ("{}s", "n_{}", "{}") for each in own}
    message = _PLACE.sub(partial(_option_of_place, options), message)
    return _PARAMETER.sub(partial(_option_of_parameter, options, message), message)


def _option_of_place(options: dict[str, Any], found: re.Match[str]) -> str:
    table, params, part, key = found.groups()
    if params:
        return f"--param {key}"
    named = [options[name].opts[0] for name in (key, table, part) if name in options]
    return named[0] if named else found[0]


def _option_of_parameter(options: dict[str, Any], message: str, found: re.Match[str]) -> str:
    name, value = found.groups()
    option = options.get(name)
    if option is None or option.opts[0] in message:
        return found[0]
    if value is None:
        # Without an underscore it may be a word of the sentence.
        return str(option.opts[0]) if "_" in name else name
    if not option.is_flag:
        return " ".join([option.opts[0], value.strip("'")])
    flags = {"True": option.opts, "False": option.secondary_opts}.get(value, [])
    return str([*flags, found[0]][0])


def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import wefe

        print(f"wefe {wefe.__version__}")
        raise typer.Exit


class _Log(logging.StreamHandler[Any]):
    """A log on standard error: each message once, on one line."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() not in self._seen:
            self._seen.add(record.getMessage())
            super().emit(record)

    def format(self, record: logging.LogRecord) -> str:
        from wefe._visible import visible

        text = f"{record.levelname}: {record.getMessage()}"
        if record.levelno == logging.WARNING:
            text = textwrap.shorten(text, _LONGEST_WARNING, placeholder=" ...")
        if sys.stderr.isatty():
            text = textwrap.fill(text, shutil.get_terminal_size().columns, subsequent_indent="  ")
        return visible(text, "\n")
