"""Options, tables and formats that commands share."""

import json
import re
from xml.etree import ElementTree

import pandas as pd
import pytest
import typer.main
from command_line import wefe

from wefe import WordEmbeddingModel
from wefe._bibtex import bibtex
from wefe._output import as_latex, as_text
from wefe.cli import application
from wefe.metrics._registry import as_metric, metric_names

COMMANDS = typer.main.get_command(application()).commands
GENDER = ["--queries", "gender", "--offline"]


@pytest.fixture(scope="module")
def few(tmp_path_factory, packaged_model):
    """A model that lacks most words."""
    path = tmp_path_factory.mktemp("few") / "few.txt"
    words = list(packaged_model.vocab)[:500]
    WordEmbeddingModel((words, packaged_model.get_vectors(words)), "few").save(path)
    return path


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_what_to_write_and_no_types_of_python(name):
    text = wefe(name, "-h", terminal=80).stdout
    assert text == wefe(name, "--help", terminal=80).stdout
    types = r"INTEGER|FLOAT|PATH|BOOLEAN|<(lambda|path|str|int|float|bool)( range)?>"
    assert not re.search(types, text)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_usage_names_the_options_that_are_needed(name):
    usage = wefe(name, "-h").stdout.partition("\n\n")[0]
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
    every = {name for command in COMMANDS.values() for p in command.params for name in p.opts}
    assert not {"--jobs", "--models", "--query"} & every


@pytest.mark.parametrize(
    "call",
    [
        ["demo"],
        ["datasets"],
        ["measure", "--model", "demo", "--model", "b=demo", "--queries", "weat"],
        ["audit", "--model", "demo", *GENDER, "--criterion", "gender"],
        ["explore", "nurse", "--model", "demo"],
        ["explore", "--model", "demo"],
        ["silhouette", *GENDER, "--model", "demo", "--runs", "2", "--out", "out"],
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
    assert (
        " ".join(hint) == "(columns without room: note; use a wider terminal, or write to a file)"
    )


def test_small_p_values_are_never_zero_in_latex():
    table = pd.DataFrame({"query": ["A & B_1", "50 %"], "p_value": [2e-11, 0.0414]})
    text = as_latex("Scores", table)
    assert r"A \& B\_1 & $<0.001$ \\" in text
    assert r"50 \% & $0.041$ \\" in text
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1


def test_one_table_in_every_format():
    call = ["measure", "--model", "demo", *GENDER, "--bootstrap", "100", "--format"]
    markdown, latex = (wefe(*call, each).stdout for each in ("markdown", "latex"))
    head = ["query", "model", "score", "interval", "p value", "p value holm"]
    assert markdown.splitlines()[2].strip("| ").split(" | ")[:6] == head
    assert " & ".join(head) in latex
    assert "0.000 " not in latex


def test_a_model_that_cannot_be_opened_does_not_stop_the_others():
    call = ["measure", "--model", "lost=lost.txt", "--model", "demo", *GENDER]
    done = wefe(*call, expect=1)
    assert re.search("ERROR: lost: .*there is no file '.*lost.txt'", done.stderr)
    rows = json.loads(wefe(*call, "--format", "json", expect=1).stdout)["results"]
    own = [row for row in rows if row["model_name"] == "lost"]
    assert len(own) == 6
    assert all("there is no file" in row["nan_reason"] for row in own)
    assert all(row["score"] is not None for row in rows if row not in own)


def test_a_model_that_lacks_words_takes_a_line_and_no_ranking_of_others(few):
    call = ["measure", "--model", "demo", "--model", "b=demo", "--model", str(few), *GENDER]
    done = wefe(*call)
    assert "or use --missing models" in done.stdout
    assert done.stderr.count("few: 6 queries are NaN") == 1
    assert max(map(len, done.stderr.splitlines())) < 250
    ranked = wefe(*call, "--missing", "models").stdout
    assert "Blank" not in ranked
    assert "The models tie in every ranking" in ranked


def test_references_are_those_of_what_was_run(tmp_path):
    call = ["measure", "--model", "demo", *GENDER, "--bibtex", "a.bib"]
    wefe(*call, "--metric", "rnsb", folder=tmp_path)
    keys = re.findall(r"@misc\{(.*),", (tmp_path / "a.bib").read_text(encoding="utf-8"))
    assert keys == ["sweeney2019", "badilla2020"]
    wefe(*call, "--metric", "weat-es", "--bootstrap", "50", folder=tmp_path)
    text = (tmp_path / "a.bib").read_text(encoding="utf-8")
    keys = re.findall(r"@misc\{(.*),", text)
    assert keys == ["caliskan2017", "efron1987", "holm1979", "benjamini1995", "badilla2020"]
    assert "author = {Caliskan and Bryson and Narayanan}" in text


def test_every_metric_has_an_entry():
    for name in metric_names():
        text = bibtex([name], [], [])
        for field in ("author", "title", "year"):
            assert re.search(rf"  {field} = \{{.+\}},", text), (name, as_metric(name).reference)


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
[[metrics]]
metric = "rnd"
"""


def test_a_gate_can_be_read_by_any_ci(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    call = ["check", "study.toml", "--max", "weat-es=0.01", "--max", "rnd=9", "--format"]
    suite = ElementTree.fromstring(wefe(*call, "junit", folder=tmp_path, expect=1).stdout)
    assert suite.attrib == {"name": "wefe check", "tests": "2", "failures": "1"}
    failed = [test for test in suite.iter("testcase") if test.find("failure") is not None]
    assert [(test.get("classname"), test.get("name")) for test in failed] == [
        ("WEAT-ES", "Own, demo, max")
    ]
    assert "is more than 0.01" in failed[0].find("failure").get("message")
    data = json.loads(wefe(*call, "json", folder=tmp_path, expect=1).stdout)
    assert [row["passed"] for row in data["checks"]] == [False, True]
    printed = wefe(*call, "github", folder=tmp_path, expect=1).stdout
    assert printed.count("::error title=Bias gate::WEAT-ES") == 1
    assert "::error" not in wefe(*call, "text", folder=tmp_path, expect=1).stdout
