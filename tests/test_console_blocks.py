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
    assert name in group.commands, command
    # With --help, click looks at nothing else; here, the rest is looked at.
    help_is_asked = "--help" in arguments
    arguments = [word for word in arguments if word != "--help"]
    try:
        group.commands[name].make_context(name, arguments)
    except Exception as error:
        # Options that do not exist are found before those that are missing.
        if not (help_is_asked and "Missing" in f"{type(error).__name__} {error}"):
            raise


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_a_command_of_a_page_can_be_parsed(page, command):
    parse(command)


# Commands of a clone: benchmarks and scripts, make, and what is installed.

TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in PAGES}
BENCHMARKS = re.compile(r"^[ >]*python -m benchmarks\b((?:[^\n]*\\\n)*[^\n`]*)", re.MULTILINE)


def benchmark_calls():
    """Give the pages, and the docstring, with what they write behind `python -m benchmarks`."""
    main = ROOT / "benchmarks/__main__.py"
    texts = {**TEXTS, "benchmarks/__main__.py": main.read_text("utf-8")} if main.exists() else {}
    found = ((name, call) for name, text in texts.items() for call in BENCHMARKS.findall(text))
    return sorted({(name, call.replace("\\\n", " ").strip()) for name, call in found})


@pytest.fixture
def parse_benchmarks(tmp_path, monkeypatch):
    """The parser of the benchmarks, where their page is, and where it may touch files."""
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("the benchmarks are not here")
    (tmp_path / "docs/about").mkdir(parents=True)
    page = (ROOT / "docs/about/benchmarks.md").read_text("utf-8")
    (tmp_path / "docs/about/benchmarks.md").write_text(page, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.__main__").arguments


@pytest.mark.parametrize(("page", "call"), benchmark_calls())
def test_a_call_of_the_benchmarks_can_be_parsed(page, call, parse_benchmarks):
    words = shlex.split(call)
    if "--help" in words:
        with pytest.raises(SystemExit) as ended:
            parse_benchmarks(["--help"])
        assert ended.value.code == 0
    parse_benchmarks([word for word in words if word != "--help"])


def test_scripts_that_pages_name_exist():
    script = re.compile(r"python3? ((?:benchmarks|scripts)/[\w/]+\.py)")
    named = {(page, name) for page, text in TEXTS.items() for name in script.findall(text)}
    assert named
    assert not [(page, name) for page, name in named if not (ROOT / name).is_file()]


def test_targets_of_make_that_pages_name_exist():
    targets = {*re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)}
    named = re.compile(r"(?:^|`)make (\w+)", re.MULTILINE)
    found = {(page, name) for page, text in TEXTS.items() for name in named.findall(text)}
    assert len(found) > 5
    assert not [(page, name) for page, name in found if name not in targets]


def test_extras_that_pages_install_exist():
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    named = re.compile(r"pip install (?:-e )?[\"']?(?:\.|wefe)\[([\w,]+)\]")
    found = {(page, names) for page, text in TEXTS.items() for names in named.findall(text)}
    assert len(found) > 3
    assert not [(page, names) for page, names in found if not {*names.split(",")} <= {*extras}]


def test_the_words_tested_in_the_how_to_have_the_values_that_it_shows(tmp_path):
    page = (ROOT / "docs/howto/explore_words.md").read_text("utf-8")
    (queries,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(Effect sizes.*?)```", page, re.DOTALL)
    (tmp_path / "words.json").write_text(queries)
    call = ["measure", "--model", "demo", "--queries", "words.json", "--metric", "sc-weat"]
    assert shown in command_line.wefe(*call, folder=tmp_path).stdout
