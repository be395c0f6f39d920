"""`wefe explore` as a user calls it: in a process of its own; wrong calls in this one."""

import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from wefe import WordEmbeddingModel, load
from wefe.cli import _explore
from wefe.datasets import load_criterion
from wefe.debias import HardDebias
from wefe.explore import (
    correlate_with_statistic,
    extreme_words,
    generate_analogies,
    model_page,
    project,
    word_page,
)

DEMO = ["--model", "demo"]
LOWER = [{}, {"lowercase": True}]


def wefe(*arguments, expect=0, folder=None):
    done = subprocess.run(
        [sys.executable, "-c", "from wefe.cli import main; main()", "explore", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
        timeout=120,
    )
    assert done.returncode == expect, done.stderr + done.stdout
    return done


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Call the command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command()(_explore.explore)

    def call(*arguments):
        return CliRunner().invoke(app, arguments)

    return call


def test_a_word_has_a_page_and_its_nearest_neighbours(packaged_model):
    done = wefe("Nurse", *DEMO, "--with", "doctor", "-k", "40")
    page = word_page(packaged_model, "Nurse", k=40, others=["doctor"], preprocessors=LOWER)
    assert done.stdout.startswith(f"{page}\n\nrank  neighbor")
    for row in page.neighbors.head(10).itertuples():
        assert f"{row.rank:4d}  {row.neighbor} " in done.stdout
    assert page.neighbors["neighbor"][10] not in done.stdout.split()
    assert "... 30 more" in done.stdout


def test_json_is_what_python_returns(packaged_model):
    call = ["nurse", "pilot", *DEMO, "--with", "doctor", "-k", "15", "--theta", "0.1"]
    call += ["--map", "t-sne", "--seed", "3", "--format", "json"]
    (content,) = json.loads(wefe(*call).stdout)["models"]
    pages = [
        word_page(
            packaged_model,
            word,
            k=15,
            theta=0.1,
            others=["doctor"],
            map_method="t-sne",
            random_state=3,
            preprocessors=LOWER,
        ).to_dict()
        for word in ("nurse", "pilot")
    ]
    assert content["model"] == "minilm-words"
    assert content["words"] == json.loads(json.dumps(pages))


def test_models_stand_side_by_side_on_one_page(packaged_model, tmp_path):
    (tmp_path / "jobs.txt").write_text("# jobs\nnurse\n\npilot\n", encoding="utf-8")
    call = [*DEMO, "--model", "b=demo", "--words", "jobs.txt", "--words", "two=he,she", "-n", "3"]
    done = wefe(*call, "--out", "page.html", folder=tmp_path)
    line = next(line for line in done.stdout.splitlines() if line.startswith("rank"))
    assert line.split() == ["rank", "minilm-words", "b"]
    first = extreme_words(packaged_model, 1).iloc[0]
    cell = f"{first['word']} {first['projection']:.2f}"
    assert (
        f"   1  {cell}  {cell}".split()
        == next(line for line in done.stdout.splitlines() if line.startswith("   1")).split()
    )
    assert [line.split()[:3] for line in done.stdout.splitlines() if " jobs " in line] == [
        ["minilm-words", "jobs", "2"],
        ["b", "jobs", "2"],
    ]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1><bdi>minilm-words and b</bdi></h1>" in page
    assert "50,000 from the start of the vocabulary" in page
    assert "<script src" not in page
    assert "Written to page.html." in done.stderr


def test_a_table_for_programs_has_what_was_asked_for(packaged_model, here, tmp_path):
    def rows(*arguments):
        result = here(*DEMO, *arguments, "--format", "csv")
        assert result.exit_code == 0, result.exception
        return list(csv.DictReader(io.StringIO(result.stdout)))

    near = rows("nurse", "pilot", "-k", "7")
    assert len(near) == 14
    page = word_page(packaged_model, "nurse", k=7)
    assert float(near[0]["indirect_bias"]) == page.neighbors["indirect_bias"][0]
    assert (near[0]["word"], near[7]["word"]) == ("nurse", "pilot")
    jobs = rows("--words", "jobs=nurse,pilot")
    expected = project(packaged_model, {"jobs": ["nurse", "pilot"]})
    assert [float(row["projection"]) for row in jobs] == expected["projection"].tolist()
    assert list(jobs[0]) == list(expected)
    far = rows("-n", "2", "--among", "3000", "--criterion", "religion")
    table = extreme_words(packaged_model, 2, "religion", among=3000)
    assert [row["word"] for row in far] == table["word"].tolist()
    pairs = rows("--analogies", "5", "--among", "1000")
    found = generate_analogies(packaged_model, n=5, among=1000)
    assert [(row["first"], row["second"]) for row in pairs] == list(
        zip(found["first"], found["second"], strict=True)
    )


def test_a_statistic_is_compared_with_the_bias_towards_the_group_it_names(
    packaged_model, here, tmp_path
):
    numbers = {"nurse": 14.0, "engineer": 86.0, "lawyer": 62.0, "librarian": 17.0}
    lines = ["word,male", *(f"{word},{value}" for word, value in numbers.items()), "pilot,"]
    (tmp_path / "shares.csv").write_text("\n".join(lines), encoding="utf-8-sig")
    call = [*DEMO, "--statistic", "shares.csv", "--seed", "5"]
    content = json.loads(here(*call, "--format", "json").stdout)["models"][0]
    one = correlate_with_statistic(
        packaged_model, numbers, group="male", random_state=5, preprocessors=LOWER
    )
    assert content["statistic"]["pearson"]["value"] == one.pearson.value
    assert content["statistic"]["slope"]["lower"] == one.slope.lower
    assert content["statistic"]["statistic"] == "male"
    assert content["statistic"]["without_number"] == ["pilot"]
    shown = here(*call).stdout
    assert f"{one.pearson.value:.4f}" in shown
    assert "intervals of 95%" in shown


def test_json_of_a_model_is_that_of_python(packaged_model, here):
    call = [*DEMO, "--words", "jobs=nurse,pilot", "--criterion", "ethnicity", "-n", "4"]
    result = here(*call, "--analogies", "2", "--among", "2000", "--format", "json")
    (content,) = json.loads(result.stdout)["models"]
    page = model_page(
        packaged_model, "ethnicity", words={"jobs": ["nurse", "pilot"]}, n=4, among=2000
    )
    assert {key: content[key] for key in page.to_dict()} == json.loads(json.dumps(page.to_dict()))
    assert len(content["projections"]) == 2 * 3
    assert len(content["analogies"]) == 3 * 2


def test_after_a_mitigation_the_directions_are_those_of_the_original(
    packaged_model, here, tmp_path
):
    criterion = load_criterion("gender", offline=True)
    after = HardDebias().fit(packaged_model, criterion=criterion).transform(load("demo"), copy=True)
    after.name = "after"
    after.save(tmp_path / "after.safetensors")
    call = ["nurse", "--model", "after=after.safetensors", "--original", "demo", "-k", "30"]
    result = here(*call, "--format", "json")
    assert result.exit_code == 0, result.exception
    ((found,),) = (each["words"] for each in json.loads(result.stdout)["models"])
    page = word_page(after, "nurse", k=30, original=packaged_model)
    assert found["neighbor_shares"] == pytest.approx(page.neighbor_shares.to_dict())
    # The word was neutralised, its neighbours are the same.
    assert abs(found["projection"]["female"]) < 1e-6
    assert found["neighbor_shares"]["female"] > 0.8


def test_words_that_are_not_there_are_named_and_the_others_shown(packaged_model):
    done = wefe("nurse", "nursse", *DEMO, "-k", "5")
    assert "WARNING: minilm-words has no word 'nursse'" in done.stderr
    assert "Did you mean 'nurse'?" in done.stderr
    assert done.stdout.startswith("nurse in minilm-words")
    done = wefe("nursse", *DEMO, expect=2)
    assert "Did you mean 'nurse'?" in done.stderr
    assert done.stdout == ""


def test_words_of_strangers_are_text(here, tmp_path):
    rng = np.random.default_rng(0)
    words = ["she", "he", "woman", "man", "<b>&", "a\x1b[2Jb", *(f"w{i}x" for i in range(20))]
    model = WordEmbeddingModel.from_arrays(words, rng.normal(size=(26, 5)).astype(np.float32))
    model.save(tmp_path / "m.safetensors")
    (tmp_path / "c.json").write_text('{"definitional_sets": [["she", "he"], ["woman", "man"]]}')
    call = ["--model", "m.safetensors", "--criterion", "c.json", "-k", "24"]
    result = here("a\x1b[2Jb", "<b>&", *call, "--out", "page.html")
    assert result.exit_code == 0, result.exception
    assert "\x1b" not in result.stdout
    assert r"a\u001b[2Jb in Unnamed model: leans" in result.stdout
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "\x1b" not in page
    assert "<b>" not in page.split("<main")[1].split('<script type="application/json">')[0]
    assert "&lt;b&gt;&amp;" in page


BAD = [
    ([], "say where to look: --model"),
    ([*DEMO, "--with", "doctor"], "--with is for a WORD"),
    ([*DEMO, "-k", "5"], "--neighbors is for a WORD"),
    (["nurse", *DEMO, "--words", "a,b"], "--words is for the page of a model"),
    (["nurse", *DEMO, "-n", "3"], "--extremes is for the page of a model"),
    ([*DEMO, "--criterion", "gendr"], "Did you mean 'gender'"),
    ([*DEMO, "--criterion", "none.json"], "none.json"),
    (["nurse", *DEMO, "--theta", "2"], "--theta is a share between 0 and 1; got 2.0"),
    (["nurse", *DEMO, "--theta", "nan"], "--theta is a share between 0 and 1"),
    ([*DEMO, "--words", "jobs.txt"], "there is no such file"),
    ([*DEMO, "--words", "latin.txt"], "latin.txt is no text in UTF-8"),
    ([*DEMO, "--words", "empty.txt"], "empty.txt has no word"),
    ([*DEMO, "--words", "a=he,she", "--words", "a=he,him"], "list called 'a' already"),
    ([*DEMO, "--words", "vocabulary=he,she"], "list called 'vocabulary' already"),
    ([*DEMO, "--words", "a=qqqq,zzzz"], "none of the words"),
    ([*DEMO, "--statistic", "none.csv"], "there is no such file; or 'census'"),
    ([*DEMO, "--statistic", "latin.txt"], "no text in UTF-8"),
    ([*DEMO, "--statistic", "empty.txt"], "expected a CSV file with the columns word and value"),
    ([*DEMO, "--statistic", "texts.csv"], "texts.csv, line 3: expected a word and a number"),
    ([*DEMO, "--statistic", "twice.csv"], "line 3: 'nurse' has a number already"),
    ([*DEMO, "--statistic", "wide.csv"], "which column? It has 'a', 'b'"),
    ([*DEMO, "--statistic", "few.csv"], "needs 3 words or more"),
    (["he", *DEMO, "--analogies", "3", "--format", "csv"], "csv is one table"),
    ([*DEMO, "--model", "small.txt", "--original", "demo"], "--original has 256 dimensions and"),
    (["he", *DEMO, "--out", "nowhere/page.html"], "no such folder"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda part: " ".join(part)[:40])
def test_calls_that_make_no_sense_say_so(arguments, message, here, tmp_path):
    (tmp_path / "latin.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    (tmp_path / "empty.txt").write_text("# nothing\n")
    (tmp_path / "texts.csv").write_text("word,value\nnurse,0.5\npilot,many\n")
    (tmp_path / "twice.csv").write_text("word,value\nnurse,0.5\nnurse,0.6\n")
    (tmp_path / "wide.csv").write_text("word,a,b\nnurse,0.5,1\n")
    (tmp_path / "few.csv").write_text("word,value\nnurse,0.5\npilot,0.6\n")
    (tmp_path / "small.txt").write_text("she 1 0\nhe 0 1\nwoman 1 0.5\nman 0 1.5\n")
    result = here(*arguments)
    # What `main` prints, with exit code 2.
    assert isinstance(result.exception, ValueError | OSError), result.output
    assert message in str(result.exception)
    assert result.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [["-k", "0"], ["--theta", "x"], ["--map", "tsne"], ["-n", "0"], ["--seed", "-1"]],
    ids=" ".join,
)
def test_options_out_of_range_are_refused(arguments, here):
    assert here("nurse", *DEMO, *arguments).exit_code == 2


def test_the_census_is_a_download(here, monkeypatch):
    import wefe.datasets._download

    monkeypatch.setattr(wefe.datasets._download, "at_hand", lambda names: False)
    result = here(*DEMO, "--statistic", "census", "--offline")
    assert "census is a download, which --offline rules out" in str(result.exception)
