"""`wefe silhouette` as a user calls it."""

import csv
import json

import command_line
import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel, load
from wefe.datasets import load_weat_queries
from wefe.silhouette import accuracy_score, bias_silhouettes


def wefe(*arguments, **options):
    return command_line.wefe("silhouette", *arguments, **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, packaged_model):
    """Files of two models and a query."""
    place = tmp_path_factory.mktemp("silhouette")
    words = list(packaged_model.vocab)
    for name, part in (("biased", slice(0, 32)), ("unbiased", slice(32, 64))):
        vectors = packaged_model.vectors[:, part].copy()
        WordEmbeddingModel.from_arrays(words, vectors, name).save(place / f"{name}.bin")
    (place / "career.json").write_text(load_weat_queries()[5].to_json())
    return place


MODELS = ["--model", "unbiased.bin", "--model", "biased.bin"]
CALL = ["--queries", "career.json", *MODELS, "--runs", "4"]


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_tables_figure_and_silhouettes_are_written_and_are_those_of_the_library(folder):
    out = folder / "report"
    done = wefe(*CALL, "--metric", "weat", "--metric", "ect", "--out", "report", folder=folder)
    assert "Robustness (1: the score never depends on the words)" in done.stdout
    assert "biased as biased, unbiased as unbiased" in done.stdout
    assert "Written to report" in done.stdout
    table = {
        (row["metric"], row["list_type"], row["model"]): float(row["robustness"])
        for row in rows(out / "robustness.csv")
    }
    accuracy = {
        (row["metric"], row["list_type"]): float(row["accuracy"])
        for row in rows(out / "accuracy.csv")
    }
    assert len(table) == 8
    assert len(accuracy) == 4
    models = [load(folder / f"{name}.bin") for name in ("unbiased", "biased")]
    pair = bias_silhouettes("weat", load_weat_queries()[5], models, "attributes", n_runs=4)
    key = ("WEAT-ES", "Bias concept")
    assert table[*key, "biased"] == pytest.approx(pair[1].robustness, rel=1e-12)
    assert accuracy[key] == pytest.approx(accuracy_score(*pair), rel=1e-12)
    stored = sorted((out / "silhouettes").iterdir())
    assert len(stored) == 8
    assert json.loads(stored[0].read_text())["curves"]
    page = (out / "silhouettes.html").read_text()
    assert "Bias silhouettes" in page
    assert "<script src" not in page  # it needs no network


def test_started_again_it_goes_on(folder):
    call = [*CALL, "--vary", "targets", "--out", "again"]
    first = wefe(*call, folder=folder).stdout
    kept, lost = sorted((folder / "again" / "silhouettes").iterdir())
    # What is read shows in the table: a silhouette without any area.
    content = json.loads(kept.read_text())
    curves = np.ones_like(content["curves"]).tolist()
    kept.write_text(json.dumps({**content, "curves": curves}))
    lost.unlink()
    assert wefe(*call, folder=folder).stdout != first
    table = {row["model"]: row for row in rows(folder / "again" / "robustness.csv")}
    assert float(table["biased"]["robustness"]) == 1.0
    assert float(table["unbiased"]["robustness"]) < 1.0
    assert lost.is_file()


def test_options_reach_the_study(folder):
    options = ["--step", "4", "--seed", "3", "--vary", "targets", "--n-jobs", "2"]
    options += ["--model", "a=demo", "--param", "weat.ddof=1"]
    wefe(*CALL, *options, "--out", "options", folder=folder)
    table = rows(folder / "options" / "robustness.csv")
    assert [row["model"] for row in table] == ["unbiased", "biased", "a"]
    assert {row["list_type"] for row in table} == {"Social group"}
    path = next((folder / "options" / "silhouettes").glob("*_a_*"))
    silhouette = json.loads(path.read_text())
    assert silhouette["random_state"] == 3
    assert [sum(sizes) for sizes in silhouette["sizes"]] == [4, 8, 12, 16]
    (expected,) = bias_silhouettes(
        "weat", load_weat_queries()[5], [load("demo")], step=4, random_state=3, n_runs=4,
        metric_params={"ddof": 1},
    )  # fmt: skip
    np.testing.assert_allclose(silhouette["curves"], expected.curves, rtol=1e-6)


def test_without_references_there_is_no_accuracy(folder):
    call = ["--queries", "career.json", "--runs", "2", "--vary", "targets", "--out", "alone"]
    (folder / "alone").mkdir()
    (folder / "alone" / "accuracy.csv").write_text("of an earlier call")
    output = wefe(*call, "--model", "demo", folder=folder).stdout
    assert "Accuracy" not in output
    assert rows(folder / "alone" / "accuracy.csv") == []


def test_references_can_be_named(folder):
    call = ["--queries", "career.json", "--runs", "2", "--vary", "targets", "--out", "named"]
    call += ["--model", "low=unbiased.bin", "--model", "high=biased.bin"]
    done = wefe(*call, "--unbiased", "low", "--biased", "high", folder=folder)
    assert "high as biased, low as unbiased" in done.stdout


def curves_of(out):
    """Return the curves by the name of the query; the files say what was asked."""
    stored = [json.loads(path.read_text()) for path in (out / "silhouettes").iterdir()]
    return {one["query_name"]: one["curves"] for one in stored}


def test_a_query_set_does_not_change_the_scores_of_another(folder):
    # Nobody knows whether the targets of a file are pairs; those of religions are none.
    targets, attributes = [["mary", "anna", "susan"], ["john", "paul", "peter"]], [["home", "job"]]
    own = Query(targets, attributes, ["Women", "Men"], ["Work"])
    (folder / "pairs.json").write_text(own.to_json())
    call = ["--model", "demo", "--runs", "2", "--vary", "targets", "--metric", "direct-bias"]
    call += ["--queries", "pairs.json", "--offline"]
    wefe(*call, "--out", "one", folder=folder)
    both = wefe(*call, "--queries", "religion", "--out", "both", folder=folder)
    assert "the difference of their means is taken instead" in both.stderr
    alone, together = (curves_of(folder / name) for name in ("one", "both"))
    assert together[own.query_name] == alone[own.query_name]
    (by_means,) = bias_silhouettes(
        "direct-bias", own, [load("demo")], n_runs=2, metric_params={"direction": "means"}
    )
    assert not np.allclose(by_means.value, json_value(folder / "both", own.query_name))
    asked = list(dict.fromkeys(row["bias_type"] for row in rows(folder / "both/robustness.csv")))
    assert asked[0] == own.query_name
    assert len(asked) > 1


def json_value(out, query_name):
    stored = [json.loads(path.read_text()) for path in (out / "silhouettes").iterdir()]
    return next(one["value"] for one in stored if one["query_name"] == query_name)


@pytest.mark.parametrize("key", ["weat", "weat-es"])
def test_the_effect_size_has_two_names(folder, key):
    call = [*CALL, "--vary", "targets", "--metric", key]
    tables = []
    for name in ("weat", "weat-es"):
        wefe(*call, "--param", f"{name}.ddof=1", "--out", f"{key} {name}", folder=folder)
        tables.append(rows(folder / f"{key} {name}" / "robustness.csv"))
    models = [load(folder / f"{name}.bin") for name in ("unbiased", "biased")]
    params = {"ddof": 1, "preprocessors": [{}, {"lowercase": True}]}
    (expected, _) = bias_silhouettes(
        "weat", load_weat_queries()[5], models, n_runs=4, metric_params=params
    )
    assert tables[0] == tables[1]
    assert float(tables[0][0]["robustness"]) == pytest.approx(expected.robustness, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--n-jobs", "0"], "--n-jobs must be a number of workers"),
        (["--metric", "weet"], "Did you mean 'weat'?"),
        (["--queries", "nope"], "neither a published query set"),
        (["--biased", "biased"], "unbiased must be one of"),
        (["--unbiased", "unbiased", "--biased", "by"], "biased must be one of"),
        (["--param", "rnsb.x=1"], "'rnsb' is not measured"),
        (["--out", "career.json"], "Not a directory"),
        (["--model", "./biased.bin"], "--model NAME=FILE"),
        (["--model", "a=demo", "--model", "a=biased.bin"], "--model NAME=FILE"),
    ],
)
def test_mistakes_are_named(folder, change, message):
    done = wefe(*CALL, "--out", "mistake", *change, folder=folder, expect=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_that_does_not_open_has_a_row_that_says_why(folder):
    call = [*CALL, "--vary", "targets", "--model", "nope.bin", "--out", "lacking"]
    done = wefe(*call, folder=folder, expect=1)
    assert "ERROR: nope: there is no file 'nope.bin'" in done.stderr
    *others, own = rows(folder / "lacking" / "robustness.csv")
    assert own["model"] == "nope"
    assert "no file 'nope.bin'" in own["nan_reason"]
    assert [row["nan_reason"] for row in others] == ["", ""]
