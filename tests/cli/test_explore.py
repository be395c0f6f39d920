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
GROUPS = ["she", "he", "woman", "man"]


@pytest.fixture
def wefe(tmp_path):
    """Explore in an empty folder."""
    return lambda *arguments, **how: command_line.wefe(
        "explore", *arguments, folder=tmp_path, **how
    )


@pytest.fixture
def models(wefe):
    """Give the models of the JSON that a call prints."""
    return lambda *arguments: json.loads(wefe(*arguments, "--format", "json").stdout)["models"]


def random_model(words):
    vectors = np.random.default_rng(0).normal(size=(len(words), 5)).astype(np.float32)
    return WordEmbeddingModel.from_arrays(words, vectors)


def test_pages_of_words_are_those_of_python(packaged_model, wefe, models):
    call = ["Nurse", "pilot", *DEMO, "--with", "doctor", "-k", "15", "--theta", "0.1"]
    how = {"k": 15, "theta": 0.1, "others": ["doctor"], "preprocessors": LOWER}
    shown = wefe(*call).stdout
    page = word_page(packaged_model, "Nurse", **how)
    assert shown.startswith(f"{page}\n\nrank  neighbor")
    for row in page.neighbors.head(10).itertuples():
        assert f"{row.rank:4d}  {row.neighbor} " in shown
    assert page.neighbors["neighbor"][10] not in shown.split()
    assert "... 5 more" in shown
    # Forms of one word have one page.
    (content,) = models(*call, "nurse", "NURSE", "--map", "t-sne", "--seed", "3")
    how |= {"map_method": "t-sne", "random_state": 3}
    pages = [word_page(packaged_model, word, **how).to_dict() for word in ("Nurse", "pilot")]
    assert content["model"] == "minilm-words"
    assert content["words"] == json.loads(json.dumps(pages))


def test_models_stand_side_by_side_on_one_page(packaged_model, wefe, tmp_path):
    (tmp_path / "jobs.txt").write_text("# jobs\nnurse\n\npilot\n", encoding="utf-8")
    call = [*DEMO, "--model", "b=demo", "--words", "jobs.txt", "--words", "two=he,she", "-n", "3"]
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
    assert "50,000 from the start of the vocabulary" in page
    assert "Written to page.html." in done.stderr


def test_a_table_for_programs_has_what_was_asked_for(packaged_model, wefe):
    def column(name, *arguments):
        text = wefe(*DEMO, *arguments, "--format", "csv").stdout
        return [row[name] for row in csv.DictReader(io.StringIO(text))]

    near = column("indirect_bias", "nurse", "pilot", "-k", "7")
    page = word_page(packaged_model, "nurse", k=7)
    assert (len(near), float(near[0])) == (14, page.neighbors["indirect_bias"][0])
    jobs = column("projection", "--words", "jobs=nurse,pilot")
    expected = project(packaged_model, {"jobs": ["nurse", "pilot"]})
    assert [*map(float, jobs)] == expected["projection"].tolist()
    far = column("word", "-n", "2", "--among", "3000", "--criterion", "religion")
    assert far == extreme_words(packaged_model, 2, "religion", among=3000)["word"].tolist()
    pairs = column("second", "--analogies", "5", "--among", "1000")
    assert pairs == generate_analogies(packaged_model, n=5, among=1000)["second"].tolist()


def test_a_statistic_is_compared_with_the_bias_towards_the_group_it_names(
    packaged_model, wefe, models, tmp_path
):
    numbers = {"nurse": 14.0, "engineer": 86.0, "lawyer": 62.0, "librarian": 17.0}
    numbers |= {"carpenter": 98.0, "teacher": 26.0, "dietitian": 9.0, "surgeon": 78.0}
    lines = ["word,male", *(f"{word},{value}" for word, value in numbers.items()), "pilot,"]
    (tmp_path / "shares.csv").write_text("\n".join(lines), encoding="utf-8-sig")
    call = [*DEMO, "--statistic", "shares.csv", "--seed", "5"]
    found = models(*call)[0]["statistic"]
    how = {"group": "male", "random_state": 5, "preprocessors": LOWER}
    one = correlate_with_statistic(packaged_model, numbers, **how)
    assert found["pearson"]["value"] == one.pearson.value
    # The interval has the seed of the call.
    assert found["slope"]["lower"] == one.slope.lower
    assert (found["statistic"], found["without_number"]) == ("male", ["pilot"])
    shown = wefe(*call).stdout
    assert f"{one.pearson.value:.4f}" in shown
    assert "confidence of intervals: 95%" in shown


def test_json_of_a_model_is_that_of_python(packaged_model, models):
    call = [*DEMO, "--words", "jobs=nurse,pilot", "--criterion", "ethnicity", "-n", "4"]
    (content,) = models(*call, "--analogies", "2", "--among", "2000")
    how = {"words": {"jobs": ["nurse", "pilot"]}, "n": 4, "among": 2000}
    page = json.loads(json.dumps(model_page(packaged_model, "ethnicity", **how).to_dict()))
    assert {key: content[key] for key in page} == page
    assert len(content["projections"]) == 2 * 3
    assert len(content["analogies"]) == 3 * 2


def test_after_a_mitigation_the_directions_are_those_of_the_original(
    packaged_model, wefe, models, tmp_path
):
    criterion = load_criterion("gender", offline=True)
    after = HardDebias().fit(packaged_model, criterion=criterion).transform(load("demo"), copy=True)
    after.save(tmp_path / "after.safetensors")
    call = ["nurse", "--model", "x_debiased=after.safetensors", "-k", "30"]
    ((found,),) = (each["words"] for each in models(*call, "--original", "demo"))
    page = word_page(after, "nurse", k=30, original=packaged_model)
    shares = {row["group"]: row["neighbors"] for row in found["shares"]}
    assert shares == pytest.approx(page.shares["neighbors"].to_dict())
    # The word was neutralised, its neighbours are the same.
    assert abs(found["projection"]["female"]) < 1e-6
    assert shares["female"] > 0.5
    # A model that looks mitigated wants its original.
    assert "if this model is mitigated, use --original" in wefe(*call).stderr


def test_a_line_of_a_list_ends_at_a_line_end_only(models, tmp_path):
    strange = ["a\u2028b", "c\x85d", "plain"]
    random_model([*GROUPS, *strange]).save(tmp_path / "m.safetensors")
    (tmp_path / "c.json").write_text('{"definitional_sets": [["she", "he"], ["woman", "man"]]}')
    (tmp_path / "list.txt").write_bytes("\r\n".join(strange).encode())
    call = ["--model", "m.safetensors", "--criterion", "c.json", "--words", "list.txt"]
    assert [row["word"] for row in models(*call)[0]["projections"]] == strange


def test_what_fails_is_named_and_no_reason_to_lose_the_rest(wefe, models, tmp_path):
    random_model(["she", "he", *(f"w{letter}" for letter in "bcdfgh")]).save(tmp_path / "o.bin")
    call = ["--model", "other=o.bin", *DEMO]
    # Its directions of religion are not to be found, nor is one of the words.
    asked = ("nurse", "nursse", "--criterion", "religion", "-k", "5", "--out", "page.html")
    done = wefe(*call, *asked)
    assert done.stdout.startswith("nurse in minilm-words")
    assert "other in" not in done.stdout
    assert "WARNING: other" in done.stderr
    assert "WARNING: minilm-words has no word 'nursse'" in done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "minilm-words has no word &#39;nursse&#39;" in page
    # Its directions are, the words of the list are not.
    first, second = models(*call, "--words", "jobs=nurse,pilot")
    assert first == {"model": "other", "criterion": "gender"}
    assert second["model"] == "minilm-words"
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
    for asked, shown in (([word, "-k", "5", "--with", "wb"], "124"), ([], "234")):
        done = wefe(*asked, *call)
        lines = (done.stdout + done.stderr).splitlines()
        assert not [line for line in lines if line.startswith("forged")]
        assert all(rf"\u000aforged: {number}" in done.stdout for number in shown)
