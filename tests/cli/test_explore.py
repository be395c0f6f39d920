"""`wefe explore`: its pages and tables are those of Python."""

import csv
import io
import json

import command_line
import numpy as np
import pytest

from wefe import WordEmbeddingModel, load
from wefe.datasets import load_criterion
from wefe.debias import HardDebias
from wefe.explore import extreme_words, model_page, project, word_page

DEMO = ["--model", "demo"]
LOWER = [{}, {"lowercase": True}]
GROUPS = ["she", "he", "woman", "man"]


@pytest.fixture
def wefe(tmp_path):
    """Explore in an empty folder."""
    return lambda *arguments, **how: command_line.wefe(
        "explore", *arguments, folder=tmp_path, **how
    )


@pytest.fixture
def pages(wefe):
    """Give the pages of the JSON that a call prints."""
    return lambda *arguments: json.loads(wefe(*arguments, "--format", "json").stdout)["pages"]


def random_model(words):
    vectors = np.random.default_rng(0).normal(size=(len(words), 5)).astype(np.float32)
    return WordEmbeddingModel((words, vectors))


def test_pages_of_words_are_those_of_python(packaged_model, wefe, pages):
    call = ["Nurse", "pilot", *DEMO, "--with", "doctor"]
    how = {"others": ["doctor"], "preprocessors": LOWER}
    shown = wefe(*call).stdout
    page = word_page(packaged_model, "Nurse", **how)
    assert shown.startswith(f"{page}\n\nrank  neighbor")
    for row in page.neighbors.head(10).itertuples():
        assert f"{row.rank:4d}  {row.neighbor} " in shown
    assert page.neighbors["neighbor"][10] not in shown.split()
    assert "... 90 more" in shown
    # Forms of one word have one page.
    expected = [word_page(packaged_model, word, **how).to_dict() for word in ("Nurse", "pilot")]
    assert pages(*call, "nurse", "NURSE") == json.loads(json.dumps(expected))


def test_after_a_mitigation_the_directions_are_those_of_the_original(
    packaged_model, wefe, pages, tmp_path
):
    criterion = load_criterion("gender", offline=True)
    after = HardDebias().fit(packaged_model, criterion=criterion).transform(load("demo"), copy=True)
    after.save(tmp_path / "after.safetensors")
    call = ["nurse", "--model", "x_debiased=after.safetensors"]
    (found,) = pages(*call, "--original", "demo")
    page = word_page(after, "nurse", original=packaged_model)
    shares = {row["group"]: row["neighbors"] for row in found["shares"]}
    assert shares == pytest.approx(page.shares["neighbors"].to_dict())
    # The word was neutralised, its neighbours are the same.
    assert abs(found["projection"]["female"]) < 1e-6
    assert shares["female"] > 0.4
    assert "use --original" in wefe(*call).stderr


def test_models_stand_side_by_side_on_one_page(packaged_model, wefe, tmp_path):
    (tmp_path / "jobs.txt").write_text("nurse\n\npilot\n", encoding="utf-8")
    call = [*DEMO, "--model", "b=demo", "--words", "jobs.txt", "--words", "two=he,she"]
    done = wefe(*call, "--out", "page.html")
    lines = [line.split() for line in done.stdout.splitlines()]
    first = extreme_words(packaged_model, 1).iloc[0]
    cell = [first["word"], f"{first['projection']:.2f}"]
    assert ["rank", "minilm-words", "b"] in lines
    assert ["1", *cell, *cell] in lines
    of_jobs = [line[:3] for line in lines if "jobs" in line]
    assert of_jobs == [["minilm-words", "jobs", "2"], ["b", "jobs", "2"]]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1><bdi>minilm-words and b</bdi></h1>" in page
    assert "Written to page.html." in done.stderr


def test_a_table_for_programs_has_what_was_asked_for(packaged_model, wefe):
    def column(name, *arguments):
        text = wefe(*DEMO, *arguments, "--format", "csv").stdout
        return [row[name] for row in csv.DictReader(io.StringIO(text))]

    near = column("indirect_bias", "nurse", "pilot")
    page = word_page(packaged_model, "nurse")
    assert (len(near), float(near[0])) == (200, page.neighbors["indirect_bias"][0])
    jobs = column("projection", "--words", "jobs=nurse,pilot")
    expected = project(packaged_model, {"jobs": ["nurse", "pilot"]})
    assert [*map(float, jobs)] == expected["projection"].tolist()
    far = column("word", "--criterion", "religion")
    assert far == extreme_words(packaged_model, 10, "religion")["word"].tolist()


def test_json_of_a_model_is_that_of_python(packaged_model, pages):
    found = pages(*DEMO, "--words", "jobs=nurse,pilot", "--criterion", "ethnicity")
    page = model_page(packaged_model, "ethnicity", words={"jobs": ["nurse", "pilot"]})
    assert found == [json.loads(json.dumps(page.to_dict()))]


def test_a_line_of_a_list_ends_at_a_line_end_only(wefe, tmp_path):
    strange = ["a\u2028b", "c\x85d", "plain"]
    random_model([*GROUPS, *strange]).save(tmp_path / "m.safetensors")
    (tmp_path / "c.json").write_text('{"definitional_sets": [["she", "he"], ["woman", "man"]]}')
    (tmp_path / "list.txt").write_bytes("\r\n".join(strange).encode())
    call = ["--model", "m.safetensors", "--criterion", "c.json", "--words", "list.txt"]
    table = io.StringIO(wefe(*call, "--format", "csv").stdout)
    assert [row["word"] for row in csv.DictReader(table)] == strange


def test_what_fails_is_named_and_no_reason_to_lose_the_rest(wefe, pages, tmp_path):
    random_model(["she", "he", *(f"w{letter}" for letter in "bcdfgh")]).save(tmp_path / "o.bin")
    call = ["--model", "other=o.bin", *DEMO]
    # Its directions of religion are not to be found, nor is one of the words.
    asked = ("nurse", "nursse", "--criterion", "religion", "--out", "page.html")
    done = wefe(*call, *asked)
    assert done.stdout.startswith("nurse in minilm-words")
    assert "other in" not in done.stdout
    assert "WARNING: other" in done.stderr
    assert "WARNING: minilm-words has no word 'nursse'" in done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "minilm-words has no word &#39;nursse&#39;" in page
    # Its directions are, the words of the list are not.
    (page,) = pages(*call, "--words", "jobs=nurse,pilot")
    assert page["model"] == "minilm-words"
    # What no model can answer is an error.
    failed = wefe(*call, "--words", "jobs=qqqq,zzzz", expect=2)
    assert "other has none of the words" in failed.stderr
    assert "minilm-words has none of the words" in failed.stderr


def test_names_cannot_forge_lines(wefe, tmp_path):
    word, group = "nurse\nforged: 1", "she\nforged: 2"
    model = random_model([*GROUPS, word, *(f"w{letter}" for letter in "bcdfgh")])
    model.save(tmp_path / "m.safetensors")
    criterion = {
        "name": "c\nforged: 3",
        "definitional_sets": [["she", "he"], ["woman", "man"]],
        "class_names": [group, "he"],
        "stereotyped_words": {group: [word]},
    }
    (tmp_path / "c.json").write_text(json.dumps(criterion))
    call = ["--model", "a\nforged: 4=m.safetensors", "--criterion", "c.json"]
    for asked, shown in (([word, "--with", "wb"], "124"), ([], "234")):
        done = wefe(*asked, *call)
        lines = (done.stdout + done.stderr).splitlines()
        assert not [line for line in lines if line.startswith("forged")]
        assert all(rf"\u000aforged: {number}" in done.stdout for number in shown)
