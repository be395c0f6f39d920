"""Against the real MLflow: runs are read back with its client."""

import json

import numpy as np
import pandas as pd
import pytest

from wefe import measure
from wefe.integrations.mlflow import log_results

mlflow = pytest.importorskip("mlflow")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run in a store of its own. Files have the strictest rules for names."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    experiment = mlflow.create_experiment("bias", artifact_location=(tmp_path / "kept").as_uri())
    with mlflow.start_run(experiment_id=experiment) as active:
        yield active
    mlflow.set_tracking_uri(before)


@pytest.fixture
def table(toy_model, toy_query):
    return measure("weat-es", [toy_query], [toy_model], progress=False)


def kept(run):
    """Metrics, parameters and rows of the table, as the store has them."""
    run = mlflow.MlflowClient().get_run(run.info.run_id)
    table = json.loads(mlflow.artifacts.load_text(f"{run.info.artifact_uri}/wefe/scores.json"))
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    return run.data.metrics, run.data.params, rows


def test_every_score_of_a_study_is_a_metric_and_a_row(run, results):
    log_results(results)
    metrics, params, rows = kept(run)
    scores = results.to_frame()
    by_name = {row["query_name"]: row for row in rows}
    assert len(rows) == len(scores) == 6
    assert by_name.keys() == set(scores["query_name"])
    weat = "Gender/WEAT-ES/Female terms and Male terms wrt Family and Career"
    assert metrics[f"minilm-words/{weat}"] == pytest.approx(0.235, abs=5e-4)
    means = results.aggregated("Gender")
    assert metrics["minilm-words/Gender/ECT/mean_distance"] == pytest.approx(
        means.loc["minilm-words", "ECT"]
    )
    # 6 scores, and a mean for 2 models and 2 metrics.
    assert len(metrics) == 6 + 4
    assert params["wefe.study"] == "Example"
    assert params["wefe.WEAT-ES.calculate_p_value"] == "True"
    assert all(row["no_bias_value"] == (1 if row["metric"] == "ECT" else 0) for row in rows)


def test_scores_of_each_step_are_kept(run, table):
    for step in range(3):
        log_results(table.assign(score=table["score"] / (step + 1)), step=step)
    (name,) = (name for name in kept(run)[0] if "mean_distance" not in name)
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, name)
    (score,) = table["score"]
    assert [(each.step, each.value) for each in history] == [
        (step, pytest.approx(score / (step + 1))) for step in range(3)
    ]
    assert [row["step"] for row in kept(run)[2]] == [0, 1, 2]


def test_names_that_mlflow_refuses_are_changed_and_kept_apart(run, table):
    names = ("é? ../a", "é! ../a", "x" * 400)
    several = pd.concat([table.assign(query_name=name) for name in names], ignore_index=True)
    undefined = table.assign(query_name="lost", score=np.nan, nan_reason="too few words")
    log_results(pd.concat([several, undefined]).assign(model_name="org/name"))
    metrics = [name.partition("org_name/Unnamed queries set/WEAT-ES/") for name in kept(run)[0]]
    assert all(before == "" for before, _, _ in metrics)
    ends = {end[:100] for _, _, end in metrics}
    assert ends == {"é_ .._a", "é_ .._a _2_", "x" * 100, "mean_distance"}
    row = kept(run)[2][-1]
    assert (row["score"], row["nan_reason"]) == (None, "too few words")


def test_more_scores_than_mlflow_takes_at_once(run, table):
    many = table.loc[table.index.repeat(1200)].assign(query_name=[f"q{n}" for n in range(1200)])
    log_results(many)
    assert len(kept(run)[0]) == 1201
