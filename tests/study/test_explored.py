"""The pages of models and words that a study may ask for, and metrics that depend on them."""

import numpy as np
import pytest
from small_studies import change_vector, write_model

from wefe import Query
from wefe.datasets import load_criterion
from wefe.debias import HardDebias
from wefe.explore import bias_directions, model_page, word_page
from wefe.metrics import BaseMetric, get_metric
from wefe.metrics._declaration import Scale
from wefe.metrics._registry import _registry
from wefe.study import Study

TARGETS = {"Female": ["she", "woman"], "Male": ["he", "man"]}
QUERY = {
    "targets": TARGETS,
    "attributes": {"Family": ["home", "children"], "Career": ["office", "salary"]},
}
EXPLORE = {"criteria": ["gender", "religion"], "words": ["nurse"]}
JOBS = ["nurse", "engineer"]
HARD = {"method": "hard-debias", "criterion": "gender", "name": "hard"}
FORMS = {"preprocessors": [{}, {"lowercase": True}]}


def study(source="demo", folder=".", **more):
    data = {
        "name": "Explored",
        "offline": True,
        "models": [{"source": source, "name": "demo"}],
        "queries": [{"name": "Own", "query": [QUERY]}],
        "metrics": [{"metric": "weat-es"}],
    }
    return Study({**data, **more}, folder)


def run(given, where=":memory:", **options):
    return given.run(where, progress=False, **options)


def row(table, **where):
    """Return the rows of a table in which columns have these values."""
    for column, value in where.items():
        table = table[table[column] == value]
    return table


@pytest.fixture(scope="module")
def mitigated():
    return run(study(explore=EXPLORE, mitigations=[HARD]))


@pytest.fixture(scope="module")
def hard(packaged_model):
    """What hard debias makes of the demo model outside of a study."""
    words = load_criterion("gender", offline=True)
    ignore = list(words.specific_words)
    return HardDebias().fit_transform(packaged_model, criterion=words, ignore=ignore, copy=True)


# What is found


def test_the_page_of_a_model_is_what_explore_makes_of_it(mitigated, packaged_model):
    pages = mitigated.explore()
    page = model_page(packaged_model, "gender", **FORMS)
    place = {"model_name": "demo", "criterion": "gender"}
    extremes = row(pages["extremes"], **place)
    assert extremes["word"].tolist() == page.extremes["word"].tolist()
    assert np.allclose(extremes["projection"], page.extremes["projection"], rtol=0, atol=1e-12)
    spread = row(pages["distribution"], **place)
    assert spread["set"].tolist() == ["vocabulary", "female stereotypes", "male stereotypes"]
    columns = page.distribution.select_dtypes("number").columns
    assert columns.size == 11
    assert np.allclose(spread[columns].astype(float), page.distribution[columns], atol=1e-12)
    about = row(pages["models"], **place).iloc[0]
    assert about["explained_variance"] == page.directions.explained_variance_ratio[0]
    assert about[["n_sets", "n_sets_lost", "n_words_lost"]].tolist() == [10, 0, 0]


def test_the_page_of_a_word_is_what_explore_makes_of_it(mitigated, packaged_model):
    page = word_page(packaged_model, "nurse", "religion", **FORMS)
    place = {"model_name": "demo", "criterion": "religion", "word": "nurse"}
    rows = row(mitigated.explore()["words"], **place)
    assert rows["group"].tolist() == ["jew", "christian", "muslim"]
    assert rows["projection"].tolist() == page.projection.tolist()
    of_groups = page.shares.loc[rows["group"]]
    shares = rows[["neighbor_share", "chance_low", "chance_high"]]
    assert np.array_equal(shares, of_groups[["neighbors", "low", "high"]])
    assert set(rows["leans_to"]) == {page.leans_to}
    assert set(rows["proximity_bias"]) == {page.proximity_bias}
    assert set(rows["proximity_high"]) == {page.proximity_high}
    neighbors = row(mitigated.explore()["neighbors"], **place)
    for column in ("neighbor", "biased"):
        assert neighbors[column].tolist() == page.neighbors[column].tolist()


def test_mitigated_models_are_shown_along_the_directions_of_their_originals(
    mitigated, packaged_model, hard
):
    gender = bias_directions(packaged_model, **FORMS)
    page = word_page(hard, "nurse", gender, original=packaged_model, **FORMS)
    pages = mitigated.explore()
    place = {"model_name": "demo (hard)", "criterion": "gender"}
    rows = row(pages["words"], word="nurse", **place)
    assert abs(rows["projection"].iloc[0]) < 1e-6
    assert rows["neighbor_share"].tolist() == page.shares["neighbors"].tolist()[:2]
    # Near 0 itself, but still among its neighbours of before.
    assert rows["neighbor_share"].iloc[0] > 0.4
    neighbors = row(pages["neighbors"], word="nurse", **place)
    assert np.allclose(neighbors["indirect_bias"], page.neighbors["indirect_bias"], atol=1e-9)


def test_a_model_without_all_words_has_what_they_allow_and_a_reason(tmp_path, packaged_model):
    directions = bias_directions(packaged_model)
    pairs = [word for pair in directions.sets[:3] for word in pair]
    words = dict.fromkeys([*pairs, "nurse", "home", "children", "office", "salary", "he"])
    write_model(tmp_path / "few.txt", words, packaged_model.get_vectors([*words])[:, :12].copy())
    explore = {"criteria": ["gender", "religion"], "words": ["nurse", "qxqx"]}
    results = run(study("few.txt", tmp_path, explore=explore))
    assert results.is_complete
    pages = results.explore()
    gender, religion = pages["models"].to_dict("records")
    asked = [word for part in directions.criterion.stereotyped_words.values() for word in part]
    assert gender["n_words_lost"] == sum(word not in words for word in asked)
    assert 0 < gender["n_sets_lost"] == 10 - gender["n_sets"]
    (lost,) = row(pages["words"], criterion="gender", word="qxqx").to_dict("records")
    assert lost["nan_reason"] == "the model lacks the word 'qxqx'"
    # No set of religion is complete.
    assert "definitional" in religion["nan_reason"]
    assert row(pages["words"], criterion="religion")["nan_reason"].notna().all()
    assert row(pages["extremes"], criterion="religion").empty


# What is computed again, and from what


def test_pages_are_made_anew_when_any_word_changes(tmp_path, packaged_model):
    words = [*packaged_model.vocab][:1000]
    write_model(tmp_path / "cut.txt", words, packaged_model.get_vectors(words)[:, :8].copy())
    cut = "cut.txt", tmp_path
    explore = {"criteria": ["gender"], "words": [words[9]]}

    def found():
        return run(study(*cut, explore=explore), tmp_path / "results.db")

    assert found().models["demo"]["n_words_read"] == 1000
    assert found().run["n_computed"] == 0
    change_vector(tmp_path / "cut.txt", words[-1])
    assert found().run["n_computed"] == 2
    # Only pages and metrics of neighbours need a whole vocabulary.
    assert run(study(*cut)).models["demo"]["n_words_read"] < 30
    pmn = {"metric": "pmn", "query_set": "Own", "n_runs": 1}
    assert run(study(*cut, silhouettes=[pmn])).silhouettes()


# Other metrics


@pytest.mark.parametrize("name", ["pmn", "proximity-bias", "gipe"])
def test_neighbours_of_a_mitigated_model_are_judged_along_the_former_direction(
    name, packaged_model, hard
):
    neutral = {"targets": TARGETS, "attributes": {"Jobs": JOBS}}
    queries = [{"name": "Own", "query": [neutral]}]
    metrics = [{"metric": name, "params": {"k": 10}}]
    results = run(study(mitigations=[HARD], metrics=metrics, queries=queries))
    (score,) = row(results.to_frame(), model_name="demo (hard)")["score"]
    query = Query(list(TARGETS.values()), [JOBS], [*TARGETS], ["Jobs"])
    metric = get_metric(name)()
    alone = metric.run_query(query, hard, k=10)["result"]
    judged = metric.run_query(query, hard, k=10, original=packaged_model)["result"]
    assert alone != pytest.approx(judged)
    assert score == pytest.approx(judged, rel=1e-6)


class GroupShare(BaseMetric):
    """A user's metric: a percentage, which is 100 / n where there is no bias."""

    metric_template = ("n", 1)
    metric_name, metric_short_name = "Group share", "GS"
    no_bias_value = 50.0

    def scale(self, query=None, **params):
        return Scale("GS", (0.0, 100.0), 100 / (2 if query is None else len(query.target_sets)))

    def _compute(self, targets, attributes):
        return {2: 52.0, 3: 35.0}[len(targets)]


def test_no_bias_of_three_groups_is_a_third(monkeypatch):
    monkeypatch.setitem(_registry, "groupshare", GroupShare)
    three = {"Jew": ["jew", "jews"], "Christian": ["christian"], "Muslim": ["muslim", "muslims"]}
    queries = [{"targets": groups, "attributes": {"Jobs": JOBS}} for groups in (three, TARGETS)]
    results = run(study(queries=[{"name": "Both", "query": queries}], metrics=[{"metric": "gs"}]))
    assert results.to_frame()["no_bias_value"].tolist() == pytest.approx([100 / 3, 50])
    distance = np.mean([35 - 100 / 3, 2])
    assert results.scores("gs", "Both").loc["demo"].iloc[-1] == pytest.approx(distance)
