"""Commands of the pages: each is one that exists, with options that exist.

Most need files of the reader, so that they are parsed, not run; Python blocks run as doctests.
"""

import importlib
import itertools
import re
import shlex
import tomllib
from pathlib import Path

import command_line
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


def parse(command):
    """Parse what stands behind "wefe", as the command line does; say what is wrong with it."""
    group = typer.main.get_command(application())
    name, *arguments = shlex.split(command)
    if name.startswith("--"):
        assert [name, *arguments] in (["--help"], ["--version"]), command
        return
    # With --help, click looks at nothing else; here, the rest is looked at.
    given = [word for word in arguments if word != "--help"]
    try:
        group.commands[name].make_context(name, given)
    except Exception as error:
        # Options that do not exist are found before those that are missing.
        if given == arguments or "Missing" not in f"{type(error).__name__} {error}":
            raise


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_a_command_of_a_page_can_be_parsed(page, command):
    parse(command)


# Commands of a clone: benchmarks and scripts, make, and what is installed.

TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in PAGES}
BENCHMARKS = re.compile(r"^[ >]*python -m benchmarks\b((?:[^\n]*\\\n)*[^\n`]*)", re.MULTILINE)


def test_calls_of_the_benchmarks_can_be_parsed(tmp_path, monkeypatch):
    main, page = ROOT / "benchmarks/__main__.py", "docs/about/benchmarks.md"
    if not main.exists():
        pytest.skip("the benchmarks are not here")
    (tmp_path / page).parent.mkdir(parents=True)
    (tmp_path / page).write_text(TEXTS[page], "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT))
    parse_benchmarks = importlib.import_module("benchmarks.__main__").arguments
    texts = [*TEXTS.values(), main.read_text("utf-8")]
    calls = [call.replace("\\\n", " ") for text in texts for call in BENCHMARKS.findall(text)]
    assert len(calls) > 3
    for call in calls:
        parse_benchmarks([word for word in shlex.split(call) if word != "--help"])


def named(pattern):
    """Give the pages, and what they name."""
    found = {(page, name) for page in TEXTS for name in re.findall(pattern, TEXTS[page], re.M)}
    assert len(found) > 3
    return found


def test_scripts_targets_and_extras_that_pages_name_exist():
    scripts = named(r"python3? ((?:benchmarks|scripts)/[\w/]+\.py)")
    assert not [(page, name) for page, name in scripts if not (ROOT / name).is_file()]
    targets = {*re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)}
    makes = named(r"(?:^|`)make (\w+)")
    assert not [(page, name) for page, name in makes if name not in targets]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {*project["optional-dependencies"]}
    installs = named(r"pip install (?:-e )?[\"']?(?:\.|wefe)\[([\w,]+)\]")
    assert not [(page, names) for page, names in installs if not {*names.split(",")} <= extras]


def test_the_words_tested_in_the_how_to_have_the_values_that_it_shows(tmp_path):
    page = (ROOT / "docs/howto/explore_words.md").read_text("utf-8")
    (queries,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(Effect sizes.*?)```", page, re.DOTALL)
    (tmp_path / "words.json").write_text(queries)
    call = ["measure", "--model", "demo", "--queries", "words.json", "--metric", "sc-weat"]
    assert shown in command_line.wefe(*call, folder=tmp_path).stdout
