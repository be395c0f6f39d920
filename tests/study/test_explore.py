"""The pages of models and words that a study may ask for."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from wefe import load_test_model
from wefe.debias import HardDebias
from wefe.explore import bias_directions, model_page, word_page
from wefe.metrics import BaseMetric
from wefe.metrics._base import Scale
from wefe.metrics._registry import _registry
from wefe.models import load
from wefe.study import Study
from wefe.study._declaration import check_declaration

QUERY = {
    "targets": {"Female": ["she", "woman"], "Male": ["he", "man"]},
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
PLAIN_FORMS = [{}, {"lowercase": True}]
LABELS = ["demo", "demo (hard)"]


def declared(models=({"source": "demo"},), **more):
    return {
        "name": "Explored",
        "offline": True,
        "models": list(models),
        "queries": [{"name": "Own", "query": [QUERY]}],
        "metrics": [{"metric": "weat-es"}],
        "lookup": {"preprocessors": PLAIN_FORMS},
        **more,
    }


def run(given, where=":memory:", folder=".", **options):
    return Study(given, base=folder).run(where, progress=False, **options)


def row(table, **where):
    """Return the rows of a table in which columns have these values."""
    for column, value in where.items():
        table = table[table[column] == value]
    return table


@pytest.fixture(scope="module")
def mitigated():
    return run(declared(explore=EXPLORE, mitigations=[HARD]))


@pytest.fixture(scope="module")
def hard():
    """The demo model, and what hard debias makes of it outside of a study."""
    from wefe.datasets import load_criterion

    model = load_test_model()
    criterion = load_criterion("gender", offline=True)
    ignore = list(criterion.specific_words)
    after = HardDebias().fit_transform(model, criterion=criterion, ignore=ignore, copy=True)
    return model, after


def seven_cuts(folder, n_words=2000):
    """Write seven small models: the packaged one, cut to ever fewer dimensions."""
    model = load_test_model()
    pairs = [word for pair in bias_directions(model).sets for word in pair]
    words = list(dict.fromkeys([*pairs, *QUERY["targets"]["Female"], *list(model.vocab)[:n_words]]))
    entries = []
    for dim in (40, 32, 24, 20, 16, 12, 8):
        vectors = model.get_vectors(words)[:, :dim]
        lines = [
            f"{word} {' '.join(f'{value:.4f}' for value in vector)}\n"
            for word, vector in zip(words, vectors, strict=True)
        ]
        (folder / f"{dim}.txt").write_text("".join(lines), encoding="utf-8")
        entries.append({"source": f"{dim}.txt", "name": f"cut to {dim} dimensions"})
    return entries


@pytest.fixture(scope="module")
def seven(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seven")
    explore = {"criteria": ["gender"], "words": ["time"], "n_extremes": 3, "k": 10}
    given = declared(seven_cuts(folder), explore=explore)
    return given, folder, run(given, folder / "seven.db", folder)


# What is found


def test_the_page_of_a_model_is_what_explore_makes_of_it(mitigated):
    pages = mitigated.explore()
    page = model_page(load_test_model(), "gender", n=4, among=3000, preprocessors=PLAIN_FORMS)
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


def test_the_page_of_a_word_is_what_explore_makes_of_it(mitigated):
    pages = mitigated.explore()
    page = word_page(
        load_test_model(), "nurse", "religion", k=20, theta=0.1, preprocessors=PLAIN_FORMS
    )
    place = {"model_name": "demo", "criterion": "religion", "word": "nurse"}
    rows = row(pages.words, **place)
    assert rows["group"].tolist() == ["jew", "christian", "muslim"]
    assert rows["projection"].tolist() == page.projection.tolist()
    of_groups = page.shares.loc[rows["group"]]
    assert rows["neighbor_share"].tolist() == of_groups["neighbors"].tolist()
    assert rows["chance_low"].tolist() == of_groups["low"].tolist()
    assert rows["chance_high"].tolist() == of_groups["high"].tolist()
    assert set(rows["leans_to"]) == {page.leans_to}
    assert set(rows["proximity_bias"]) == {page.proximity_bias}
    neighbors = row(pages.neighbors, **place)
    assert neighbors["neighbor"].tolist() == page.neighbors["neighbor"].tolist()
    assert neighbors["biased"].tolist() == page.neighbors["biased"].tolist()
    assert np.allclose(neighbors["indirect_bias"], page.neighbors["indirect_bias"], atol=1e-12)


def test_mitigated_models_are_shown_along_the_directions_of_their_originals(mitigated, hard):
    before, after = hard
    gender = bias_directions(before, preprocessors=PLAIN_FORMS)
    page = word_page(after, "nurse", gender, k=20, original=before, preprocessors=PLAIN_FORMS)
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
    words = gender.criterion.stereotyped_words["male"]
    values = [
        float(np.dot(after[word], gender.towards[0]) / np.linalg.norm(after[word]))
        for word in words
        if word in after
    ]
    assert spread["n"] == len(values)
    assert spread["mean"] == pytest.approx(sum(values) / len(values), abs=1e-6)


def test_a_word_that_a_model_lacks_is_nan_with_a_reason_and_no_failure(mitigated):
    assert mitigated.is_complete
    lost = row(mitigated.explore().words, word="qxqx")
    assert lost["model_name"].tolist() == [LABELS[0]] * 2 + [LABELS[1]] * 2
    assert set(lost["nan_reason"]) == {"the model lacks the word 'qxqx'"}
    assert lost["projection"].isna().all()
    assert lost["group"].tolist() == [None] * 4
    assert set(lost["status"]) == {"done"}


def test_a_model_without_a_complete_set_has_no_page_and_a_reason(tmp_path):
    model = load_test_model()
    words = ["she", "woman", "home", "children", "office", "salary", "man", "nurse", "boy"]
    lines = [f"{word} {' '.join(map(str, model[word][:6]))}\n" for word in (*words, "he")]
    (tmp_path / "few.txt").write_text("".join(lines), encoding="utf-8")
    explore = {"criteria": ["religion"], "words": ["nurse"]}
    results = run(declared([{"source": "few.txt"}], explore=explore), folder=tmp_path)
    pages = results.explore()
    assert results.is_complete
    assert "definitional" in pages.models["nan_reason"].iloc[0]
    assert pages.words["nan_reason"].notna().all()
    assert pages.extremes.empty
    assert pages.distribution.empty


def test_results_are_plain_data_without_names_of_models(mitigated):
    for task, outcome in mitigated.of_kind("explore"):
        text = json.dumps(outcome.value, allow_nan=False)
        assert task.model not in text
        assert "map" not in (outcome.value["page"] or {})


# What is computed again


def test_a_second_run_computes_nothing_and_another_option_what_depends_on_it(seven, tmp_path):
    given, folder, _ = seven
    where = shutil.copy(folder / "seven.db", tmp_path / "copy.db")
    assert run(given, where, folder).run["n_computed"] == 0
    of_words = {**given["explore"], "theta": 0.2}
    assert run({**given, "explore": of_words}, where, folder).run["n_computed"] == 7
    of_models = {**given["explore"], "n_extremes": 2}
    assert run({**given, "explore": of_models}, where, folder).run["n_computed"] == 7


def test_a_changed_vector_of_any_word_makes_the_page_anew(tmp_path):
    entries = seven_cuts(tmp_path)[6:]
    given = declared(entries, explore={"criteria": ["gender"]})
    where, file = tmp_path / "results.db", tmp_path / "8.txt"
    run(given, where, tmp_path)
    lines = file.read_text(encoding="utf-8").splitlines()
    asked = {"she", "woman", "he", "man", "home", "children", "office", "salary"}
    at = next(i for i, line in enumerate(lines) if line.split()[0].lower() not in asked and i > 500)
    lines[at] = f"{lines[at].split()[0]} 1 2 3 4 5 6 7 8"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run(given, where, tmp_path).run["n_computed"] == 1


def test_a_whole_vocabulary_is_read_for_pages_only(tmp_path):
    entries = seven_cuts(tmp_path)[:1]
    with_pages = Study(declared(entries, explore={"criteria": ["gender"]}), base=tmp_path)
    without = Study(declared(entries), base=tmp_path)
    n_words = len(load(tmp_path / "40.txt", progress=False))
    assert run_info(with_pages)["n_words_read"] == n_words
    assert run_info(without)["n_words_read"] < 30


def run_info(study):
    (info,) = study.run(":memory:", progress=False).models.values()
    return info


# Files


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_the_tables_are_exported(mitigated, tmp_path, kind):
    names = mitigated.export(tmp_path, kind)
    wanted = {f"explore_{name}.{kind}" for name in mitigated.explore()._fields}
    assert wanted <= set(names)
    read = pd.read_csv if kind == "csv" else pd.read_json
    table = read(tmp_path / f"explore_words.{kind}")
    own = mitigated.explore().words
    assert table["projection"].tolist() == pytest.approx(own["projection"].tolist(), nan_ok=True)
    # Tables that the next export does not have are gone.
    run(declared()).export(tmp_path, kind)
    assert not list(tmp_path.glob("explore_*"))


@pytest.mark.parametrize("mitigations", [[], [HARD]])
def test_words_without_a_direction_are_words_that_are_not_there(tmp_path, mitigations):
    model = load_test_model()
    words = list(model.vocab)[:6000]
    words += [word for pair in bias_directions(model).sets for word in pair]
    words = list(dict.fromkeys([*words, "engineer", "nurse"]))
    vectors = model.get_vectors(words)
    for word in ("nurse", "homemaker", "teacher"):
        if word in words:
            vectors[words.index(word)] = 0
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(words, vectors, strict=True)]
    (tmp_path / "zero.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    explore = {"criteria": ["gender"], "words": ["nurse", "engineer"], "k": 5, "n_extremes": 3}
    given = declared([{"source": "zero.txt"}], explore=explore, mitigations=mitigations)
    results = run(given, folder=tmp_path)
    assert {outcome.status for _, outcome in results.of_kind("explore")} == {"done"}
    pages = results.explore()
    nurse = row(pages.words, word="nurse")
    assert nurse["group"].tolist() == [None] * (1 + len(mitigations))
    assert all("nurse" in reason and "zero" in reason for reason in nurse["nan_reason"])
    engineer = row(pages.words, word="engineer")
    assert engineer["neighbor_share"].notna().all()
    # Of the lists of the criterion, they are lost.
    assert pages.models["nan_reason"].isna().all()
    assert (pages.models["n_words_lost"] > 0).all()


# What is declared


@pytest.mark.parametrize(
    ("explore", "message"),
    [
        ({"criteria": ["gendre"]}, "'gendre' is no criterion. Did you mean 'gender'"),
        ({"criteria": ["gender"], "words": ["a", "a"]}, "'a' occurs twice"),
        ({"criteria": ["gender"], "words": ["a", " b"]}, "key 'words', number 2: ' b' has blanks"),
        ({"words": ["nurse"]}, "key 'criteria': is empty, so there is nothing to explore"),
        ({"criteria": ["gender"], "theta": 2.0}, "key 'theta': must be less than or equal to 1"),
        ({"criteria": ["gender"], "word": ["nurse"]}, "'word': unknown. Did you mean 'words'"),
    ],
)
def test_what_is_wrong_is_said(explore, message):
    with pytest.raises(ValueError, match="^study: key 'explore'") as error:
        check_declaration(declared(explore=explore))
    assert message in str(error.value)


def test_encoders_alone_are_refused_and_beside_tables_left_out():
    encoder = {"encoder": "some/encoder", "name": "contextual"}
    with pytest.raises(ValueError, match=r"all models are encoders, which have no vocabulary"):
        check_declaration(declared([encoder], explore={"criteria": ["gender"]}))
    both = Study(declared([encoder, {"source": "demo"}], explore={"criteria": ["gender"]}))
    assert {task.model for task in both.plan.tasks} == {"contextual", "demo"}
    assert {task.model for task in both.plan.tasks if task.kind == "explore"} == {"demo"}


@pytest.mark.parametrize("name", ["pmn", "proximity-bias", "gipe"])
def test_neighbours_of_a_mitigated_model_are_judged_along_the_former_direction(name):
    from wefe import Query
    from wefe.datasets import load_criterion
    from wefe.debias import compare
    from wefe.metrics import get_metric

    neutral = {"targets": QUERY["targets"], "attributes": {"Jobs": ["nurse", "engineer"]}}
    metrics = [{"metric": name, "params": {"k": 10}}]
    results = run(
        declared(
            mitigations=[HARD],
            metrics=metrics,
            queries=[{"name": "Own", "query": [neutral]}],
        )
    )
    scores = results.to_frame().set_index("model_name")["score"]
    model = load_test_model()
    words = load_criterion("gender", offline=True)
    debiased = HardDebias().fit(model, criterion=words)
    debiased = debiased.transform(model, ignore=words.specific_words)
    query = Query(
        list(QUERY["targets"].values()), [["nurse", "engineer"]], ["Female", "Male"], ["Jobs"]
    )
    metric = get_metric(name)()
    alone = metric.run_query(query, debiased, k=10)["result"]
    judged = metric.run_query(query, debiased, k=10, original=model)["result"]
    assert alone != pytest.approx(judged)
    assert scores["demo (hard)"] == pytest.approx(judged, rel=1e-6)
    # And so they are where models are compared.
    comparison = compare(
        model, {"hard": debiased}, [query], [name], quality=None, n_words=20, progress=False
    )
    table = comparison.to_frame()
    judged = metric.run_query(query, debiased, original=model)["result"]
    after = table[(table["aspect"] == "bias")]["after"]
    assert after.tolist() == [pytest.approx(judged, rel=1e-6)]


# What means no bias may depend on the query

GROUPS = {"Jew": ["jew", "jews"], "Christian": ["christian", "christians"]}
GROUPS["Muslim"] = ["muslim", "muslims"]
JOBS = {"Jobs": ["nurse", "engineer", "teacher"]}


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
    religion = {"targets": GROUPS, "attributes": JOBS}
    gender = {"targets": QUERY["targets"], "attributes": JOBS}
    queries = [{"name": "Religion", "query": [religion]}, {"name": "Both", "query": [religion]}]
    queries[1]["query"] = [religion, gender]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(_registry, "groupshare", GroupShare)
        yield run(declared(queries=queries, metrics=[{"metric": "gs"}], mitigations=[HARD]))


def test_no_bias_of_three_groups_is_a_third(three_groups):
    tidy = three_groups.to_frame()
    groups = [33.3, 33.3, 50.0] * 2
    tidy = tidy.sort_values(["model_name", "query_set"], kind="stable")
    assert sorted(tidy["no_bias_value"].round(1)) == sorted(groups)
    scores = row(tidy, model_name="demo").set_index(["query_set", "query_name"])
    distance = (scores["score"] - scores["no_bias_value"]).abs()
    for name in ("Religion", "Both"):
        column = three_groups.scores("gs", name).iloc[:, -1]
        assert column["demo"] == pytest.approx(distance[name].mean())


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
    assert "<small>distance from no bias</small>" in html
    assert "no bias: 33.3333" in html
    assert "no bias: 50" in html


def test_studies_compute_no_p_values_of_words():
    given = declared(metrics=[{"metric": "sc-weat"}, {"metric": "weat-es"}])
    assert [metric.params.get("calculate_p_value") for metric in Study(given).plan.metrics] == [
        *(None, True)
    ]
    asked = {"metric": "sc-weat", "params": {"calculate_p_value": True}}
    (metric,) = Study(declared(metrics=[asked])).plan.metrics
    assert metric.params["p_value_method"] == "exact"


def test_words_lost_from_lists_are_counted(tmp_path):
    model = load_test_model()
    pairs = [word for pair in bias_directions(model).sets[:3] for word in pair]
    words = dict.fromkeys([*pairs, "nurse", "home", "children", "office", "salary", "he"])
    lines = [f"{word} {' '.join(map(str, model[word][:12]))}\n" for word in words]
    (tmp_path / "few.txt").write_text("".join(lines), encoding="utf-8")
    given = declared([{"source": "few.txt"}], explore={"criteria": ["gender"]})
    about = run(given, folder=tmp_path).explore().models.iloc[0]
    stereotypes = bias_directions(model).criterion.stereotyped_words
    asked = [word for part in stereotypes.values() for word in part]
    assert about["n_words_lost"] == len([word for word in asked if word not in words])
    assert about["n_sets"] + about["n_sets_lost"] == 10
    assert about["n_sets_lost"] > 0


@pytest.mark.slow
def test_several_processes_find_the_same(seven):
    given, folder, here = seven
    there = run(given, folder / "processes.db", folder, n_jobs=2).explore()
    for name, table in here.explore()._asdict().items():
        others = getattr(there, name)
        timing = [column for column in ("seconds", "finished") if column in table]
        pd.testing.assert_frame_equal(
            table.drop(columns=timing), others.drop(columns=timing), check_exact=True
        )


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
