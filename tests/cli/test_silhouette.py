"""`wefe silhouette`: its numbers are those of the library, and it goes on where it stopped."""

import csv

import command_line
import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel, load
from wefe.datasets import load_weat_queries
from wefe.silhouette import accuracy_score, bias_silhouettes
from wefe.study import StudyResults

CAREER = load_weat_queries()[5]
CALL = ["--queries", "career.json", "--model", "unbiased.bin", "--model", "biased.bin"]
CALL += ["--runs", "4"]
# Cheaper: two silhouettes.
TARGETS = [*CALL, "--vary", "targets"]


def wefe(*arguments, **options):
    return command_line.wefe("silhouette", *arguments, **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, packaged_model):
    """Files of two models and a query."""
    place = tmp_path_factory.mktemp("silhouette")
    words = list(packaged_model.vocab)
    for name, part in (("biased", slice(0, 32)), ("unbiased", slice(32, 64))):
        vectors = packaged_model.vectors[:, part].copy()
        WordEmbeddingModel((words, vectors), name).save(place / f"{name}.bin")
    (place / "career.json").write_text(CAREER.to_json())
    return place


@pytest.fixture(scope="module")
def models(folder):
    return [load(folder / f"{name}.bin") for name in ("unbiased", "biased")]


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def silhouettes(out):
    """Return what is stored, by the name of the model."""
    results = StudyResults.from_file(out / "results.db")
    return {task.model: one for task, one in results.silhouettes()}


def test_tables_figure_and_silhouettes_are_written_and_are_those_of_the_library(folder, models):
    out = folder / "report"
    done = wefe(*CALL, "--metric", "weat", "--metric", "ect", "--out", "report", folder=folder)
    assert "Robustness (1: the score never depends on the words)" in done.stdout
    assert "biased as biased, unbiased as unbiased" in done.stdout
    table = rows(out / "robustness.csv")
    robustness = {
        (row["metric"], row["list_type"], row["model"]): float(row["robustness"]) for row in table
    }
    accuracy = {(row["metric"], row["list_type"]): float(row["accuracy"]) for row in table}
    assert (len(robustness), len(accuracy)) == (8, 4)
    pair = bias_silhouettes("weat", CAREER, models, "attributes", n_runs=4)
    key = ("WEAT-ES", "Bias concept")
    assert robustness[*key, "biased"] == pytest.approx(pair[1].robustness, rel=1e-12)
    assert accuracy[key] == pytest.approx(accuracy_score(*pair), rel=1e-12)
    page = (out / "silhouettes.html").read_text()
    assert "Bias silhouettes" in page
    assert "<script src" not in page  # it needs no network


def test_started_again_it_goes_on(folder):
    seen = []
    for more in ([], [], ["--model", "a=demo"]):
        wefe(*TARGETS, *more, "--out", "again", folder=folder)
        results = StudyResults.from_file(folder / "again" / "results.db")
        seen.append({outcome.key: outcome for _, outcome in results.of_kind("silhouette")})
    assert seen[0] == seen[1]
    assert seen[0].items() < seen[2].items()


def test_options_reach_the_study(folder):
    options = ["--step", "4", "--seed", "3", "--n-jobs", "2", "--model", "a=demo"]
    options += ["--param", "weat.ddof=1"]
    wefe(*TARGETS, *options, "--out", "options", folder=folder)
    table = rows(folder / "options" / "robustness.csv")
    assert [row["model"] for row in table] == ["unbiased", "biased", "a"]
    assert {row["list_type"] for row in table} == {"Social group"}
    silhouette = silhouettes(folder / "options")["a"]
    assert silhouette.random_state == 3
    assert silhouette.k.tolist() == [4, 8, 12, 16]
    own = {"step": 4, "random_state": 3, "metric_params": {"ddof": 1}}
    (expected,) = bias_silhouettes("weat", CAREER, [load("demo")], n_runs=4, **own)
    np.testing.assert_allclose(silhouette.curves, expected.curves, rtol=1e-6)


def test_models_are_compared_on_shared_words_and_sets_with_one_name_are_told_apart(folder, models):
    lost = CAREER.target_sets[0][0]
    words = [word for word in models[0].vocab if word.lower() != lost.lower()]
    vectors = np.array([models[0][word] for word in words])
    WordEmbeddingModel((words, vectors), "few").save(folder / "few.bin")
    content = CAREER.dict()
    shorter = {**content, "target_sets": [part[2:] for part in CAREER.target_sets]}
    (folder / "shorter.json").write_text(Query.from_dict(shorter).to_json())
    call = [*TARGETS, "--model", "few.bin", "--queries", "shorter.json", "--out", "shared"]
    wefe(*call, folder=folder)
    table = rows(folder / "shared" / "robustness.csv")
    n_words = {(row["bias_type"].split(" (")[-1], row["n_words"]) for row in table}
    assert n_words == {("career.json)", "15"), ("shorter.json)", "12")}
    assert {row["words_left_out"] for row in table} == {"1", "0"}


def test_without_references_there_is_no_accuracy(folder):
    call = ["--queries", "career.json", "--runs", "2", "--vary", "targets", "--out", "alone"]
    assert "Accuracy" not in wefe(*call, "--model", "demo", folder=folder).stdout
    assert rows(folder / "alone" / "robustness.csv")[0]["accuracy"] == ""


@pytest.mark.parametrize(("key", "name"), [("weat", "weat-es"), ("weat-es", "weat")])
def test_the_effect_size_has_two_names(folder, models, key, name):
    call = [*TARGETS, "--metric", key, "--param", f"{name}.ddof=1", "--out", key]
    wefe(*call, folder=folder)
    params = {"ddof": 1, "preprocessors": [{}, {"lowercase": True}]}
    expected, _ = bias_silhouettes("weat", CAREER, models, n_runs=4, metric_params=params)
    found = float(rows(folder / key / "robustness.csv")[0]["robustness"])
    assert found == pytest.approx(expected.robustness, rel=1e-12)


def test_a_model_that_does_not_open_has_a_row_that_says_why(folder):
    call = [*TARGETS, "--model", "nope.bin", "--out", "lacking"]
    done = wefe(*call, folder=folder, expect=1)
    assert "ERROR: nope: FileNotFoundError: there is no file" in done.stderr
    *others, own = rows(folder / "lacking" / "robustness.csv")
    assert own["model"] == "nope"
    assert "nope.bin'. Give a file" in own["nan_reason"]
    assert [row["nan_reason"] for row in others] == ["", ""]
