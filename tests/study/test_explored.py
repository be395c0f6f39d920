"""The pages of models and words that a study may ask for, and metrics that depend on them."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_studies import change_vector, write_model

from wefe import Query
from wefe.datasets import load_criterion
from wefe.debias import HardDebias
from wefe.explore import bias_directions, model_page, word_page
from wefe.metrics import BaseMetric, get_metric
from wefe.metrics._base import Scale
from wefe.metrics._registry import _registry
from wefe.study import Study

TARGETS = {"Female": ["she", "woman"], "Male": ["he", "man"]}
QUERY = {
    "targets": TARGETS,
    "attributes": {"Family": ["home", "children"], "Career": ["office", "salary"]},
}
EXPLORE = {
    "criteria": ["gender", "religion"],
    "words": ["nurse", "qxqx"],
    "n_extremes": 4,
    "among": 3000,
    "k": 20,
    "theta": 0.1,
}
HARD = {"method": "hard-debias", "criterion": "gender", "name": "hard"}
FORMS = {"preprocessors": [{}, {"lowercase": True}]}
LABELS = ["demo", "demo (hard)"]


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


def words_and_pairs(model, n_words):
    pairs = [word for pair in bias_directions(model).sets for word in pair]
    asked = [word for part in QUERY.values() for own in part.values() for word in own]
    return list(dict.fromkeys([*pairs, *asked, "engineer", "nurse", *list(model.vocab)[:n_words]]))


@pytest.fixture
def cut(packaged_model, tmp_path):
    """A model of few words and dimensions."""
    words = words_and_pairs(packaged_model, 1000)
    write_model(tmp_path / "cut.txt", words, packaged_model.get_vectors(words)[:, :8].copy())
    return tmp_path


# What is found


def test_the_page_of_a_model_is_what_explore_makes_of_it(mitigated, packaged_model):
    pages = mitigated.explore()
    page = model_page(packaged_model, "gender", n=4, among=3000, **FORMS)
    place = {"model_name": "demo", "criterion": "gender"}
    extremes = row(pages.extremes, **place)
    assert extremes["word"].tolist() == page.extremes["word"].tolist()
    assert np.allclose(extremes["projection"], page.extremes["projection"], rtol=0, atol=1e-12)
    spread = row(pages.distribution, **place)
    assert spread["set"].tolist() == ["vocabulary", "female stereotypes", "male stereotypes"]
    assert spread["group"].tolist() == [None] * 3
    columns = ["n", "mean", "std", "mean_abs", "1 %", "50 %", "99 %"]
    assert np.allclose(spread[columns].astype(float), page.distribution[columns], atol=1e-12)
    about = row(pages.models, **place).iloc[0]
    assert about["explained_variance"] == page.directions.explained_variance_ratio[0]
    assert (about["n_sets"], about["n_sets_lost"], about["n_words_lost"]) == (10, 0, 0)


def test_the_page_of_a_word_is_what_explore_makes_of_it(mitigated, packaged_model):
    page = word_page(packaged_model, "nurse", "religion", k=20, theta=0.1, **FORMS)
    place = {"model_name": "demo", "criterion": "religion", "word": "nurse"}
    rows = row(mitigated.explore().words, **place)
    assert rows["group"].tolist() == ["jew", "christian", "muslim"]
    assert rows["projection"].tolist() == page.projection.tolist()
    of_groups = page.shares.loc[rows["group"]]
    shares = rows[["neighbor_share", "chance_low", "chance_high"]]
    assert np.array_equal(shares, of_groups[["neighbors", "low", "high"]])
    assert set(rows["leans_to"]) == {page.leans_to}
    assert set(rows["proximity_bias"]) == {page.proximity_bias}
    neighbors = row(mitigated.explore().neighbors, **place)
    for column in ("neighbor", "biased"):
        assert neighbors[column].tolist() == page.neighbors[column].tolist()
    assert np.allclose(neighbors["indirect_bias"], page.neighbors["indirect_bias"], atol=1e-12)


def test_mitigated_models_are_shown_along_the_directions_of_their_originals(
    mitigated, packaged_model, hard
):
    gender = bias_directions(packaged_model, **FORMS)
    page = word_page(hard, "nurse", gender, k=20, original=packaged_model, **FORMS)
    pages = mitigated.explore()
    place = {"model_name": "demo (hard)", "criterion": "gender"}
    rows = row(pages.words, word="nurse", **place)
    assert abs(rows["projection"].iloc[0]) < 1e-6
    assert rows["neighbor_share"].tolist() == page.shares["neighbors"].tolist()[:2]
    # Near 0 itself, but still among its neighbours of before.
    assert rows["neighbor_share"].iloc[0] > 0.4
    neighbors = row(pages.neighbors, word="nurse", **place)
    assert np.allclose(neighbors["indirect_bias"], page.neighbors["indirect_bias"], atol=1e-9)
    # Projections of frequent words, one by one.
    (spread,) = row(pages.distribution, set="male stereotypes", **place).to_dict("records")
    vectors = hard.get_vectors([w for w in gender.criterion.stereotyped_words["male"] if w in hard])
    values = vectors @ gender.towards[0] / np.linalg.norm(vectors, axis=1)
    assert (spread["n"], spread["mean"]) == (len(values), pytest.approx(values.mean(), abs=1e-6))


def test_a_word_that_a_model_lacks_is_nan_with_a_reason_and_no_failure(mitigated):
    assert mitigated.is_complete
    lost = row(mitigated.explore().words, word="qxqx")
    assert lost["model_name"].tolist() == [LABELS[0]] * 2 + [LABELS[1]] * 2
    assert set(lost["nan_reason"]) == {"the model lacks the word 'qxqx'"}
    assert lost["projection"].isna().all()
    assert lost["group"].tolist() == [None] * 4
    assert set(lost["status"]) == {"done"}
    # Results are plain data without names of models.
    for task, outcome in mitigated.of_kind("explore"):
        assert task.model not in json.dumps(outcome.value, allow_nan=False)
        assert "map" not in (outcome.value["page"] or {})


def test_pages_whose_neighbours_are_unknown_say_why(mitigated):
    def without_neighbours(task, outcome):
        if task.kind != "explore" or task.place.get("word") != "nurse":
            return outcome
        page = outcome.value["page"]
        unknown = [{**row, "neighbors": None} for row in page["shares"]]
        page = {**page, "shares": unknown, "proximity_bias": None, "nan_reason": "why"}
        return replace(outcome, value={**outcome.value, "page": page})

    outcomes = map(without_neighbours, mitigated.plan.tasks, mitigated.outcomes)
    words = replace(mitigated, outcomes=tuple(outcomes)).explore().words
    nurse = row(words, word="nurse")
    assert set(nurse["nan_reason"]) == {"why"}
    assert nurse["projection"].notna().all()


def test_a_model_without_all_words_has_what_they_allow_and_a_reason(tmp_path, packaged_model):
    directions = bias_directions(packaged_model)
    pairs = [word for pair in directions.sets[:3] for word in pair]
    words = dict.fromkeys([*pairs, "nurse", "home", "children", "office", "salary", "he"])
    write_model(tmp_path / "few.txt", words, packaged_model.get_vectors([*words])[:, :12].copy())
    explore = {"criteria": ["gender", "religion"], "words": ["nurse"]}
    results = run(study("few.txt", tmp_path, explore=explore))
    assert results.is_complete
    pages = results.explore()
    gender, religion = pages.models.to_dict("records")
    asked = [word for part in directions.criterion.stereotyped_words.values() for word in part]
    assert gender["n_words_lost"] == len([word for word in asked if word not in words])
    assert gender["n_sets"] + gender["n_sets_lost"] == 10
    assert gender["n_sets_lost"] > 0
    # No set of religion is complete.
    assert "definitional" in religion["nan_reason"]
    assert row(pages.words, criterion="religion")["nan_reason"].notna().all()
    assert row(pages.extremes, criterion="religion").empty
    assert row(pages.distribution, criterion="religion").empty


def test_words_without_a_direction_are_words_that_are_not_there(tmp_path, packaged_model):
    words = words_and_pairs(packaged_model, 6000)
    vectors = packaged_model.get_vectors(words).copy()
    for word in {"nurse", "homemaker", "teacher"} & {*words}:
        vectors[words.index(word)] = 0
    write_model(tmp_path / "zero.txt", words, vectors)
    explore = {"criteria": ["gender"], "words": ["nurse", "engineer"], "k": 5, "n_extremes": 3}
    results = run(study("zero.txt", tmp_path, explore=explore, mitigations=[HARD]))
    assert {outcome.status for _, outcome in results.of_kind("explore")} == {"done"}
    pages = results.explore()
    nurse = row(pages.words, word="nurse")
    assert nurse["group"].tolist() == [None] * 2
    assert all("nurse" in reason and "zero" in reason for reason in nurse["nan_reason"])
    assert row(pages.words, word="engineer")["neighbor_share"].notna().all()
    # Of the lists of the criterion, they are lost.
    assert pages.models["nan_reason"].isna().all()
    assert (pages.models["n_words_lost"] > 0).all()


# What is computed again, and from what


def test_pages_are_made_anew_when_an_option_or_any_word_changes(cut):
    explore = {"criteria": ["gender"], "words": ["engineer"], "n_extremes": 3, "k": 10}
    where = cut / "results.db"
    first = run(study("cut.txt", cut, explore=explore), where)
    words = [line.split()[0] for line in (cut / "cut.txt").read_text().splitlines()]
    n_words = len(words) - ("." not in words[0] and words[0].isdigit())
    assert first.models["demo"]["n_words_read"] == n_words
    for changed, n in (({}, 0), ({"theta": 0.2}, 1), ({"n_extremes": 2}, 1)):
        again = run(study("cut.txt", cut, explore={**explore, **changed}), where)
        assert again.run["n_computed"] == n
    change_vector(cut / "cut.txt", words[-1])
    assert run(study("cut.txt", cut, explore=explore), where).run["n_computed"] == 2
    # Only pages need a whole vocabulary.
    assert run(study("cut.txt", cut)).models["demo"]["n_words_read"] < 30


@pytest.mark.slow
def test_several_processes_find_the_same(cut):
    given = study("cut.txt", cut, explore={"criteria": ["gender"], "words": ["engineer"], "k": 10})
    here, there = (run(given, n_jobs=n_jobs).explore() for n_jobs in (None, 2))
    for name, table in here._asdict().items():
        timing = [column for column in ("seconds", "finished") if column in table]
        pair = [each.drop(columns=timing) for each in (table, getattr(there, name))]
        pd.testing.assert_frame_equal(*pair, check_exact=True)


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_the_tables_are_exported(mitigated, tmp_path, kind):
    names = mitigated.export(tmp_path, kind)
    assert {f"explore_{name}.{kind}" for name in mitigated.explore()._fields} <= set(names)
    read = pd.read_csv if kind == "csv" else pd.read_json
    table, own = read(tmp_path / f"explore_words.{kind}"), mitigated.explore().words
    assert table["projection"].tolist() == pytest.approx(own["projection"].tolist(), nan_ok=True)


# Other metrics


@pytest.mark.parametrize("name", ["pmn", "proximity-bias", "gipe"])
def test_neighbours_of_a_mitigated_model_are_judged_along_the_former_direction(
    name, packaged_model, hard
):
    neutral = {"targets": TARGETS, "attributes": {"Jobs": ["nurse", "engineer"]}}
    queries = [{"name": "Own", "query": [neutral]}]
    metrics = [{"metric": name, "params": {"k": 10}}]
    results = run(study(mitigations=[HARD], metrics=metrics, queries=queries))
    (score,) = row(results.to_frame(), model_name="demo (hard)")["score"]
    query = Query(list(TARGETS.values()), [["nurse", "engineer"]], [*TARGETS], ["Jobs"])
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
        return {2: 52.0, 3: 35.0}[len(targets)] + attributes[0].vectors[0, 0]


@pytest.fixture(scope="module")
def three_groups():
    groups = {"Jew": ["jew", "jews"], "Christian": ["christian", "christians"]}
    groups["Muslim"] = ["muslim", "muslims"]
    religion, gender = (
        {"targets": targets, "attributes": {"Jobs": ["nurse", "engineer", "teacher"]}}
        for targets in (groups, TARGETS)
    )
    queries = [
        {"name": "Religion", "query": [religion]},
        {"name": "Both", "query": [religion, gender]},
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(_registry, "groupshare", GroupShare)
        yield run(study(queries=queries, metrics=[{"metric": "gs"}]))


def test_no_bias_of_three_groups_is_a_third(three_groups):
    tidy = three_groups.to_frame()
    no_bias = tidy.set_index(["query_set", "query_name"])["no_bias_value"]
    assert no_bias.tolist() == pytest.approx([100 / 3, 100 / 3, 50])
    distance = (tidy["score"] - tidy["no_bias_value"]).abs().groupby(tidy["query_set"]).mean()
    for name in ("Religion", "Both"):
        aggregate = three_groups.scores("gs", name).loc["demo"].iloc[-1]
        assert aggregate == pytest.approx(distance[name])


def test_reports_say_what_means_no_bias_for_each_query(three_groups):
    from wefe.report import summarize, to_html

    summary = summarize(three_groups)
    (metric,) = summary["metrics"]
    assert metric["no_bias"] == pytest.approx([100 / 3, 50])
    heads = {part["name"]: part["columns"][0]["no_bias"] for part in summary["rankings"]}
    assert heads["Religion"] == pytest.approx([100 / 3])
    assert heads["Both"] == heads["Overall"] == metric["no_bias"]
    tidy = three_groups.to_frame()
    known = dict(zip(tidy["score"], (tidy["score"] - tidy["no_bias_value"]).abs(), strict=True))
    cells = [c for part in metric["parts"] for cells in part["cells"] for c in cells]
    assert all(cell["distance"] == pytest.approx(known[cell["score"]]) for cell in cells)
    html = to_html(three_groups)
    assert "33.3333 or 50 (by query) means that no bias was measured" in html
    assert "<small>distance from 33.3333</small>" in html
