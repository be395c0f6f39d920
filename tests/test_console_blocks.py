"""Commands of the pages: each is one that exists, with options that exist.

Most need files of the reader, so that they are parsed, not run; Python blocks run as doctests.
"""

import itertools
import re
import shlex
from pathlib import Path

import pytest
import typer.main

from wefe.cli import application

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
CONSOLE = re.compile(r"^([ >]*)```(?:console|bash|shell|sh)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
YAML_RUN = re.compile(r"^ +-? *run: *(wefe .*)$", re.MULTILINE)


def commands_of(page):
    """Give the lines that begin with wefe, those that go on joined."""
    text = page.read_text("utf-8")
    blocks = [block for _, block in CONSOLE.findall(text)] + YAML_RUN.findall(text)
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"&&|\||;", line):
                words = shlex.split(part.partition(" #")[0], comments=False)
                words = list(itertools.takewhile(lambda word: word not in (">", ">>"), words))
                if words and words[0] == "wefe":
                    yield words[1:]


COMMANDS = sorted(
    {
        (page.relative_to(ROOT).as_posix(), shlex.join(c))
        for page in PAGES
        for c in commands_of(page)
    }
)


def test_the_pages_have_commands():
    assert len(COMMANDS) > 40


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_a_command_of_a_page_can_be_parsed(page, command):
    name, *arguments = shlex.split(command)
    group = typer.main.get_command(application())
    if name.startswith("--"):
        assert name in ("--help", "--version")
        return
    assert name in group.commands, page
    if "--help" not in arguments:
        context = group.commands[name].make_context(name, arguments)
        assert context.params


def test_an_option_that_does_not_exist_is_found():
    group = typer.main.get_command(application())
    with pytest.raises(Exception, match="No such option"):
        group.commands["measure"].make_context("measure", ["--queries", "weat", "--modle", "demo"])
