"""Options, tables and formats that commands share."""

import re
import subprocess
import sys
from xml.etree import ElementTree

import pandas as pd
import pytest
import typer.main
from command_line import wefe

from wefe import __version__
from wefe._output import as_latex, as_markdown, as_text, bibtex
from wefe.cli import application
from wefe.metrics._registry import as_metric, metric_names

COMMANDS = typer.main.get_command(application()).commands
GENDER = ["--model", "demo", "--queries", "gender", "--offline"]


def test_module_can_be_run():
    call = [sys.executable, "-m", "wefe", "--version"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"wefe {__version__}"
    assert "..." not in wefe("--help").stdout.partition("Commands:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_what_to_write_and_no_types_of_python(name):
    text = wefe(name, "-h", terminal=80).stdout
    types = r"INTEGER|FLOAT|PATH|BOOLEAN|<(lambda|path|str|int|float|bool)( range)?>"
    assert not re.search(types, text)
    assert max(map(len, text.splitlines())) <= 80
    usage = wefe(name, "--help").stdout.partition("\n\n")[0]
    for param in COMMANDS[name].params:
        if param.required and param.param_type_name == "option":
            assert re.search(rf" {param.opts[0]}\s+[A-Z]+\s", usage)


def test_options_of_one_name_are_one_option():
    shared = {"--queries", "--metric", "--n-jobs", "--encoder", "--layer", "--pooling"}
    texts = {}
    # These take one encoder, and the queries of a retrieval audit are texts.
    for command in COMMANDS.keys() - {"retrieval", "debias"}:
        for param in COMMANDS[command].params:
            for name in shared.intersection(param.opts):
                texts.setdefault(name, set()).add(param.help)
    assert {name: len(found) for name, found in texts.items()} == dict.fromkeys(shared, 1)


@pytest.mark.parametrize(
    "call",
    [
        ["datasets"],
        ["measure", *GENDER, "--model", "b=demo"],
        ["audit", *GENDER, "--criterion", "gender"],
        ["explore", "nurse", "--model", "demo"],
        ["silhouette", *GENDER, "--runs", "2", "--vary", "targets", "--out", "out"],
    ],
    ids=" ".join,
)
def test_lines_fit_a_terminal_of_80_columns(call, tmp_path):
    wide = wefe(*call, folder=tmp_path).stdout
    narrow = wefe(*call, folder=tmp_path, terminal=80).stdout
    assert narrow
    assert [line for line in narrow.splitlines() if len(line) > 80] == []
    # A pipe has room for every column.
    assert "without room" not in wide
    assert "\x1b[" not in wide


def test_the_first_columns_stay_and_names_are_cut(monkeypatch):
    monkeypatch.setattr("wefe._output._room", lambda: 50)
    table = pd.DataFrame({"query": ["a" * 40 + "b" * 40], "score": [0.5], "p_value": [0.01]})
    wide = table.assign(note="z" * 30)
    (_, row, *hint) = as_text(wide).splitlines()
    assert len(row) <= 50
    assert row.split()[1:] == ["0.5000", "0.0100"]
    assert re.fullmatch("a+…b+", row.split()[0])
    assert "columns without room: note;" in " ".join(hint)


def test_small_p_values_are_never_zero_in_latex():
    table = pd.DataFrame({"query": ["A & B_1", "50 %"], "p_value": [2e-11, 0.0414]})
    text = as_latex("Scores", table)
    assert r"A \& B\_1 & 2.0e-11 \\" in text
    assert r"50 \% & 0.0414 \\" in text


def test_a_table_in_markdown_has_empty_cells_where_nothing_is():
    frame = pd.DataFrame({"a_b": [None, "x|y"], "n": [float("nan"), 2.0]})
    # No name makes another cell.
    assert as_markdown("T", frame).splitlines()[2:] == [
        *("| a b | n |", "|---|--:|"),
        *("|  |  |", r"| x\|y | 2.0000 |"),
    ]


def test_what_a_terminal_would_obey_is_shown():
    frame = pd.DataFrame({"a\x1b[2J": ["x\x1b]0;y\x07", "n\nm"], "b": ["\u202ec", "é\u200d👩"]})
    lines = as_text(frame).split("\n")
    assert len(lines) == 3
    assert all(line.replace("\u200d", "").isprintable() for line in lines)
    for text in ("a\\u001b[2J", "x\\u001b]0;y\\u0007", "n\\u000am", "\\u202ec", "é\u200d👩"):
        assert text in "\n".join(lines)


def test_references_are_those_of_what_was_run(tmp_path):
    call = ["measure", *GENDER, "--bibtex", "a.bib", "--metric", "weat-es", "--bootstrap", "50"]
    wefe(*call, folder=tmp_path)
    keys = re.findall(r"@misc\{(.*),", (tmp_path / "a.bib").read_text(encoding="utf-8"))
    assert keys == ["caliskan2017", "efron1987", "holm1979", "benjamini1995", "badilla2020"]


def test_every_metric_has_an_entry():
    for name in metric_names():
        text = bibtex([name], [], [])
        for field in ("author", "title", "year"):
            assert re.search(rf"  {field} = \{{.+\}},", text), (name, as_metric(name).reference)


def test_a_gate_can_be_read_by_any_ci(folder):
    call = ["check", "study.toml", "--max", "weat-es=0.01", "--format", "junit"]
    suite = ElementTree.fromstring(wefe(*call, folder=folder, expect=1).stdout)
    assert suite.attrib == {"name": "wefe check", "tests": "1", "failures": "1"}
    (test,) = suite.iter("testcase")
    assert (test.get("classname"), test.get("name")) == ("WEAT-ES", "Own, demo, max")
    assert "is more than 0.01" in test.find("failure").get("message")
    printed = {
        kind: wefe(*call[:-1], kind, folder=folder, expect=1).stdout
        for kind in ("json", "github", "text")
    }
    assert '"passed": false' in printed["json"]
    assert printed["github"].count("::error title=Bias gate::WEAT-ES") == 1
    assert "::error" not in printed["text"]
