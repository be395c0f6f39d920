"""`wefe explore` as a user calls it: in a process of its own; wrong calls in this one."""

import csv
import io
import json

import command_line
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


def wefe(*arguments, **options):
    return command_line.wefe("explore", *arguments, **options)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Call the command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command()(_explore.explore)

    def call(*arguments):
        return CliRunner().invoke(app, arguments)

    return call


def test_pages_of_words_are_those_of_python(packaged_model):
    call = ["Nurse", "pilot", *DEMO, "--with", "doctor", "-k", "15", "--theta", "0.1"]
    how = {"k": 15, "theta": 0.1, "others": ["doctor"], "preprocessors": LOWER}
    shown = wefe(*call).stdout
    page = word_page(packaged_model, "Nurse", **how)
    assert shown.startswith(f"{page}\n\nrank  neighbor")
    for row in page.neighbors.head(10).itertuples():
        assert f"{row.rank:4d}  {row.neighbor} " in shown
    assert page.neighbors["neighbor"][10] not in shown.split()
    assert "... 5 more" in shown
    call += ["--map", "t-sne", "--seed", "3", "--format", "json"]
    (content,) = json.loads(wefe(*call).stdout)["models"]
    how |= {"map_method": "t-sne", "random_state": 3}
    pages = [word_page(packaged_model, word, **how).to_dict() for word in ("Nurse", "pilot")]
    assert content["model"] == "minilm-words"
    assert content["words"] == json.loads(json.dumps(pages))


def test_models_stand_side_by_side_on_one_page(packaged_model, tmp_path):
    (tmp_path / "jobs.txt").write_text("# jobs\nnurse\n\npilot\n", encoding="utf-8")
    call = [*DEMO, "--model", "b=demo", "--words", "jobs.txt", "--words", "two=he,she", "-n", "3"]
    done = wefe(*call, "--out", "page.html", folder=tmp_path)
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
    numbers |= {"carpenter": 98.0, "teacher": 26.0, "dietitian": 9.0, "surgeon": 78.0}
    lines = ["word,male", *(f"{word},{value}" for word, value in numbers.items()), "pilot,"]
    (tmp_path / "shares.csv").write_text("\n".join(lines), encoding="utf-8-sig")
    call = [*DEMO, "--statistic", "shares.csv", "--seed", "5"]
    content = json.loads(here(*call, "--format", "json").stdout)["models"][0]
    one = correlate_with_statistic(
        packaged_model, numbers, group="male", random_state=5, preprocessors=LOWER
    )
    assert content["statistic"]["pearson"]["value"] == one.pearson.value
    assert content["statistic"]["slope"]["lower"] == one.slope.lower
    # The seed is that of the call.
    other = json.loads(here(*call[:-1], "6", "--format", "json").stdout)["models"][0]
    assert other["statistic"]["slope"]["lower"] != one.slope.lower
    assert content["statistic"]["statistic"] == "male"
    assert content["statistic"]["without_number"] == ["pilot"]
    shown = here(*call).stdout
    assert f"{one.pearson.value:.4f}" in shown
    assert "confidence of intervals: 95%" in shown


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
    shares = {row["group"]: row["neighbors"] for row in found["shares"]}
    assert shares == pytest.approx(page.shares["neighbors"].to_dict())
    # The word was neutralised, its neighbours are the same.
    assert abs(found["projection"]["female"]) < 1e-6
    assert shares["female"] > 0.5


def test_words_that_are_not_there_are_named_and_the_others_shown(packaged_model):
    done = wefe("nurse", "nursse", *DEMO, "-k", "5")
    assert "WARNING: minilm-words has no word 'nursse'" in done.stderr
    assert "Did you mean 'nurse'?" in done.stderr
    assert done.stdout.startswith("nurse in minilm-words")
    done = wefe("nursse", *DEMO, expect=2)
    assert "Did you mean 'nurse'?" in done.stderr
    assert done.stdout == ""


FILES = {
    "latin.txt": b"caf\xe9\n",
    "empty.txt": b"# nothing\n",
    "texts.csv": b"word,value\nnurse,0.5\npilot,many\n",
    "twice.csv": b"word,value\nnurse,0.5\nnurse,0.6\n",
    "wide.csv": b"word,a,b\nnurse,0.5,1\n",
    "few.csv": b"word,value\nnurse,0.5\npilot,0.6\n",
    "deep.json": b"[" * 100_000,
    "break.csv": b'word,value\nnurse,0.5\n"pi\nlot",0.6\n',
    "small.txt": b"she 1 0\nhe 0 1\nwoman 1 0.5\nman 0 1.5\n",
}
BAD = [
    ([], "there is no model: give --model"),
    ([*DEMO, "--with", "doctor"], "--with is for pages of words"),
    (["nurse", *DEMO, "--words", "a,b"], "--words is for the page of a model"),
    ([*DEMO, "--criterion", "gendr"], "Did you mean 'gender'"),
    ([*DEMO, "--criterion", "none.json"], "none.json"),
    ([*DEMO, "--criterion", "deep.json"], "deep.json: expected a JSON file (it is nested too"),
    (["nurse", *DEMO, "--theta", "nan"], "--theta is a share between 0 and 1"),
    ([*DEMO, "--words", "jobs.txt"], "there is no such file"),
    ([*DEMO, "--words", "w" * 300], "To list words, separate them by commas"),
    ([*DEMO, "--words", "latin.txt"], "latin.txt is not UTF-8 text"),
    ([*DEMO, "--words", "empty.txt"], "empty.txt: the list is empty"),
    ([*DEMO, "--words", "a=he,she", "--words", "a=he,him"], "already a list called 'a'"),
    ([*DEMO, "--words", "a=qqqq,zzzz"], "none of the words"),
    ([*DEMO, "--words", "=he,she"], "=he,she: expected a name before '='"),
    ([*DEMO, "--statistic", "none.csv"], "Give a CSV file, or 'census'"),
    ([*DEMO, "--statistic", "latin.txt"], "latin.txt: 'utf-8' codec can't decode"),
    ([*DEMO, "--statistic", "texts.csv"], "texts.csv: could not convert string to float: 'many'"),
    ([*DEMO, "--statistic", "twice.csv"], "'nurse' occurs twice"),
    ([*DEMO, "--statistic", "wide.csv"], "columns word and value; got 'word', 'a', 'b'"),
    ([*DEMO, "--statistic", "few.csv"], "at least 3 words"),
    ([*DEMO, "--statistic", "break.csv"], "break.csv: 'pi\\nlot' occurs twice, or is not a word"),
    (["he", *DEMO, "--analogies", "3", "--format", "csv"], "csv prints one table"),
    (["he", "--model", "small.txt", "--original", "demo"], "with 2 dimensions; got minilm-words"),
    (["he", "--model", "a="], "a=: expected a name before '=', and a file"),
    (["he", *DEMO, "--map", "umap", "--format", "csv"], "--map is for --out"),
    (["he", *DEMO, "--out", "page.csv"], "ends in .html, for example page.html"),
    (["he", *DEMO, "--out", "nowhere/page.html"], "no such folder"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_calls_that_make_no_sense_say_so(arguments, message, here, tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
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
    assert "census needs a download, which --offline forbids" in str(result.exception)


def test_a_line_of_a_list_ends_at_a_line_end_only(here, tmp_path):
    rng = np.random.default_rng(0)
    strange = ["a\u2028b", "c\x85d", "plain"]
    words = ["she", "he", "woman", "man", *strange]
    model = WordEmbeddingModel.from_arrays(words, rng.normal(size=(7, 5)).astype(np.float32))
    model.save(tmp_path / "m.safetensors")
    (tmp_path / "c.json").write_text('{"definitional_sets": [["she", "he"], ["woman", "man"]]}')
    (tmp_path / "list.txt").write_bytes("\r\n".join(strange).encode())
    call = ["--model", "m.safetensors", "--criterion", "c.json", "--format", "json"]
    (content,) = json.loads(here(*call, "--words", "list.txt").stdout)["models"]
    assert [row["word"] for row in content["projections"]] == strange
    numbers = "\n".join(["word,value", "plain,1", "she,2", "he,0", "man,0"])
    (tmp_path / "numbers.csv").write_text(numbers)
    (content,) = json.loads(here(*call, "--statistic", "numbers.csv").stdout)["models"]
    assert content["statistic"]["n"] == 4


def test_a_model_that_fails_is_no_reason_to_lose_the_others(packaged_model, here, tmp_path, caplog):
    rng = np.random.default_rng(0)
    words = ["she", "he", *(f"w{letter}" for letter in "bcdfgh")]
    other = WordEmbeddingModel.from_arrays(words, rng.normal(size=(8, 5)).astype(np.float32))
    other.save(tmp_path / "other.safetensors")
    call = ["--model", "other=other.safetensors", *DEMO]
    # Its directions of religion are not to be found.
    result = here("nurse", *call, "--criterion", "religion", "-k", "5")
    assert result.exit_code == 0, result.exception
    assert result.stdout.startswith("nurse in minilm-words")
    assert "other in" not in result.stdout
    assert any("other" in record.message for record in caplog.records)
    # Its directions are, the words of the list are not.
    caplog.clear()
    result = here(*call, "--words", "jobs=nurse,pilot", "--format", "json")
    assert result.exit_code == 0, result.exception
    first, second = json.loads(result.stdout)["models"]
    assert first == {"model": "other", "criterion": "gender"}
    assert second["model"] == "minilm-words"
    assert "other has none of the words" in caplog.text
    # What no model can answer is an error.
    result = here(*call, "--words", "jobs=qqqq,zzzz")
    assert isinstance(result.exception, ValueError)
    assert "other has none of the words" in str(result.exception)
    assert "minilm-words has none of the words" in str(result.exception)


def test_forms_of_one_word_have_one_page(here):
    result = here("Nurse", "NURSE", "nurse", "doctor", *DEMO, "-k", "5", "--format", "json")
    (content,) = json.loads(result.stdout)["models"]
    assert [page["word"] for page in content["words"]] == ["nurse", "doctor"]


def test_names_cannot_forge_lines(here, tmp_path):
    word, group = "nurse\nforged: 1", "she\nforged: 2"
    rng = np.random.default_rng(0)
    words = ["she", "he", "woman", "man", word, *(f"w{letter}" for letter in "bcdfgh")]
    vectors = rng.normal(size=(11, 5)).astype(np.float32)
    # The word is extreme, too: without it the page of the model would not name it.
    vectors[4] = vectors[0] + vectors[2] - vectors[1] - vectors[3]
    model = WordEmbeddingModel.from_arrays(words, vectors)
    model.save(tmp_path / "m.safetensors")
    criterion = {
        "name": "c\nforged: 3",
        "definitional_sets": [["she", "he"], ["woman", "man"]],
        "class_names": [group, "he"],
        "stereotyped_words": {group: [word]},
    }
    (tmp_path / "c.json").write_text(json.dumps(criterion))
    call = ["--model", "a\nforged: 4_debiased=m.safetensors", "--criterion", "c.json"]
    of_word = here(word, *call, "-k", "5", "--with", "wb")
    of_model = here(*call)
    for result in (of_word, of_model):
        assert result.exit_code == 0, result.exception
        lines = result.output.splitlines()
        assert not [line for line in lines if line.startswith("forged")]
        for number in "24":
            assert rf"\u000aforged: {number}" in result.stdout
    assert r"nurse\u000aforged: 1 in a" in of_word.stdout
    assert r"direction of c\u000aforged: 3" in of_model.stdout


def test_a_model_that_looks_mitigated_wants_its_original(here, tmp_path):
    call = ["nurse", "--model", "m_gender_debiased=demo", "-k", "5"]
    hint = "if this model is mitigated, use --original to see how much of the former bias is left."
    assert here(*call).stderr == f"m_gender_debiased: {hint}\n"
    assert here(*call, "--original", "demo").stderr == ""
    assert here("nurse", *DEMO, "-k", "5").stderr == ""
