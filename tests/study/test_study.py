"""What a study computes, what it computes again, and which words it compares models on."""

import itertools
import math
import os
import shutil

import pandas as pd
import pytest
from small_studies import INLINE, QUERIES, change_vector, declared, n_computed, run, tables

from wefe import compare_models, load, measure, run_queries
from wefe._same_words import on_same_words
from wefe.datasets import load_criterion
from wefe.debias import HardDebias
from wefe.metrics._registry import as_metric
from wefe.silhouette import bias_silhouettes
from wefe.study import Study, StudyResults, _run, _tasks, verify
from wefe.study._store import Store
from wefe.study._study import _difference

FORMS = {"preprocessors": [{}, {"lowercase": True}]}
HARD = {"method": "hard-debias", "criterion": "gender", "name": "hard", "models": ["whole"]}
RND = {"metric": "rnd"}
EXACT = {"calculate_p_value": True, "p_value_test_type": "two-sided"}


def opened(folder, *names):
    return [load(folder / f"{name}.txt") for name in names]


# What is computed


def test_a_label_names_a_metric_in_all_tables(folder):
    metrics = [{"metric": "weat-es", "label": each} for each in ("first", "second")]
    results = run(declared(folder, metrics=metrics))
    assert results.to_frame()["metric"].unique().tolist() == ["first", "second"]
    assert results.rankings().columns.tolist() == ["first", "second"]


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ({"metric": "weat-es"}, {"return_effect_size": True, **EXACT, "p_value_method": "exact"}),
        (RND, EXACT),
        ({"metric": "rnsb", "params": {"n_iterations": 2}}, {"n_iterations": 2}),
    ],
    ids=["weat-es", "rnd", "rnsb"],
)
def test_a_study_gives_what_run_queries_gives(folder, metric, params):
    results = run(declared(folder, metrics=[metric], random_state=3, lookup={"own_words": True}))
    assert results.is_complete
    asked = {"metric_params": {**FORMS, "random_state": 3, **params}, "generate_subqueries": True}
    name, models = metric["metric"].removesuffix("-es"), opened(folder, "whole", "short")
    aggregation = {"aggregate_results": True, "aggregation_function": "bias_avg"}
    table = run_queries(name, QUERIES[:2], models, "gender", **aggregation, **asked)
    pd.testing.assert_frame_equal(results.scores(metric["metric"], "gender"), table)
    tidy, expected = results.to_frame(), measure(name, QUERIES[:2], models, "gender", **asked)
    for column in ("score", "p_value", "words_used", "words_lost", "nan_reason"):
        found = tidy[column].tolist()
        assert found == pytest.approx(expected[column].tolist(), nan_ok=True), column


def test_mitigated_models_stand_beside_their_own(folder):
    more = {"mitigations": [HARD], "audit": {"criteria": ["gender"], "scores": True}}
    results = run(declared(folder, **more))
    labels = ["whole", "whole (hard)", "short"]
    assert [model.label for model in results.plan.models] == labels
    frame = results.to_frame()
    assert set(frame["base_model"][frame["mitigation"] == "hard"]) == {"whole"}
    criterion = load_criterion("gender", offline=True)
    (whole,) = opened(folder, "whole")
    model = HardDebias().fit_transform(whole, criterion=criterion, ignore=criterion.specific_words)
    model = on_same_words([model, *opened(folder, "short")], QUERIES[:2], FORMS)[0]
    table = run_queries("rnd", QUERIES[:2], [model], metric_params=FORMS, generate_subqueries=True)
    scores = results.scores("RND", "gender").loc["whole (hard)"]
    assert scores[:-1].tolist() == pytest.approx(table.iloc[0].tolist(), abs=1e-6)
    assert results.models["whole (hard)"]["mitigation"]["n_ignored"] > 0
    directions = {task.model: audit for task, audit in results.directions()}
    assert list(directions) == labels
    words = results.of_kind("words")[0][1].value
    names = [part["name"] for part in words["sets"]]
    assert names == ["Male terms", "Female terms", "Career", "Family"]


def test_silhouettes_and_quality_are_tasks(folder):
    (folder / "pairs.tsv").write_text("she\the\t9\nalgebra\tart\t8\nmath\tpoetry\t2\nson\tman\t1\n")
    asked = {"metric": "weat-es", "query_set": "gender", "models": ["whole"]}
    more = {
        "quality": {"benchmarks": ["pairs.tsv"]},
        "queries": [{"name": "gender", "query": INLINE[:1]}],
        "silhouettes": [{**asked, "n_runs": 5, "params": {"ddof": 1}}],
    }
    results = run(declared(folder, random_state=3, **more))
    ((task, found),) = results.silhouettes()
    params = {"return_effect_size": True, "ddof": 1, **FORMS}
    (whole,) = opened(folder, "whole")
    (expected,) = bias_silhouettes(
        "weat", QUERIES[0], [whole], n_runs=5, random_state=3, metric_params=params
    )
    assert (task.model, found.robustness) == ("whole", pytest.approx(expected.robustness))
    assert results.quality().shape == (2, 1)
    assert "Quality" in results.rankings()
    assert n_computed(declared(folder, random_state=3, **more)) == 0


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("weat-es", {"return_effect_size": True}),
        ("weat", {"return_effect_size": False}),
        # Without unit vectors, these have no finite range.
        ("rnd", {"normalize": True}),
        ("ripa", {"normalize": True}),
    ],
)
def test_silhouettes_of_a_study_are_those_of_the_metric_named(folder, name, params):
    asked = {"metric": name, "query_set": "gender", "n_runs": 3}
    queries = [{"name": "gender", "query": INLINE[:1]}]
    results = run(declared(folder, "whole", queries=queries, silhouettes=[asked]))
    metric, (whole,) = as_metric(name), opened(folder, "whole")
    found = {
        task.place["query"]: (task.place["metric"], each) for task, each in results.silhouettes()
    }
    for query in metric.subqueries(QUERIES[0]):
        label, each = found.pop(query.query_name)
        options = {"n_runs": 3, "metric_params": params | FORMS}
        (expected,) = bias_silhouettes(metric, query, [whole], **options)
        assert each.to_json() == expected.to_json()
        assert label == metric.scale(query, **params).label
    assert not found


# Queries with subqueries of the same name.
_CONCEPTS = {"A": ["home", "children", "parents"], "B": ["office", "salary", "business"]}
_GROUPS = {"F": ["she", "woman", "girl"], "M": ["he", "man", "boy"], "N": ["we", "us", "people"]}
_OF_ONE_NAME = [
    {"targets": _GROUPS, "attributes": _CONCEPTS},
    {
        "targets": {"F": ["her", "mother", "lady"], "M": ["him", "father", "lord"]},
        "attributes": _CONCEPTS,
    },
]


def test_subqueries_of_one_name_have_intervals_and_warnings_of_their_own():
    def scored(*queries):
        data = Study.example().declaration.canonical() | {"mitigations": []}
        data |= {
            "queries": [{"name": "g", "query": [*queries]}],
            "metrics": [{"metric": "weat-es"}],
        }
        data |= {"intervals": {"n_bootstrap": 50}, "audit": {"scores": True}}
        results = run(Study(data), ":memory:")
        names = [task.place["query"] for task, _ in results.of_kind("score")]
        assert len(set(names)) == len(names)
        # Reports look up the queries of rows by these names.
        assert results.to_frame()["query_name"].tolist() == names
        return results.to_frame()

    alone, both = scored(_OF_ONE_NAME[0]), scored(*_OF_ONE_NAME)
    for name in ("score", "score_lower", "score_upper", "warnings"):
        assert both[name][: len(alone)].tolist() == alone[name].tolist()


def test_subqueries_of_one_name_have_silhouettes_of_their_own():
    data = Study.example().declaration.canonical() | {"mitigations": []}
    data |= {"queries": [{"name": "g", "query": _OF_ONE_NAME}]}
    data |= {"silhouettes": [{"metric": "weat-es", "query_set": "g", "n_runs": 3}]}
    found = {task.place["query"]: each for task, each in run(Study(data), ":memory:").silhouettes()}
    both = found["F and M wrt A and B"], found["F and M wrt A and B (2)"]
    assert len(found) == 4  # three of the first query, one of the second
    assert both[0].robustness != both[1].robustness


def test_two_models_are_compared_as_by_compare_models(folder):
    names, weat = ["whole", "short"], [{"metric": "weat-es"}]
    results = run(declared(folder, metrics=weat, intervals={"n_bootstrap": 300}))
    (found,) = results.compare_models(*names).itertuples()
    expected = compare_models(
        "weat-es", QUERIES[:2], *opened(folder, *names), metric_params=FORMS, n_bootstrap=300
    )
    assert found.n_queries == expected.n_queries == 2
    for name in ("difference", "lower", "upper", "p_value"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-6)
    assert results.compare_models("short", "whole")["difference"][0] == -found.difference
    assert run(declared(folder, metrics=weat)).compare_models(*names).empty
    two = {"name": "gender", "query": INLINE[:2], "weight": 1}
    sets = [two, {"name": "one", "query": INLINE[:1], "weight": 3}]
    more = {"metrics": weat, "intervals": {"n_bootstrap": 40}, "queries": sets}
    table = run(declared(folder, **more)).compare_models(*names).set_index("query_set")
    of_sets = table["difference"]
    assert of_sets["Overall"] == pytest.approx((of_sets["gender"] + 3 * of_sets["one"]) / 4)
    with pytest.raises(ValueError, match="'other'"):
        results.compare_models("whole", "other")


# Which words


def test_models_are_compared_on_the_words_that_all_have(folder, caplog):
    names, weat = ["whole", "short"], [{"metric": "weat-es"}]
    table = run(declared(folder, metrics=weat)).to_frame()
    assert "2 words of the queries are left out because not all models have them" in caplog.text
    models = on_same_words(opened(folder, *names), QUERIES[:2], FORMS)
    expected = measure("weat-es", QUERIES[:2], models, metric_params=FORMS)
    for column in ("score", "lost_words", "words_lost"):
        assert table[column].tolist() == expected[column].tolist()
    own = run(declared(folder, metrics=weat, lookup={"own_words": True})).to_frame()
    each = [run(declared(folder, name, metrics=weat)).to_frame() for name in names]
    assert own["score"].tolist() == [score for one in each for score in one["score"]]
    assert own["score"].tolist() != table["score"].tolist()


def test_a_model_that_cannot_answer_takes_no_words_from_the_others(folder):
    alone = run(declared(folder, "whole")).to_frame()
    beside = run(declared(folder, "whole", "none")).to_frame()
    assert beside["score"][beside["model_name"] == "none"].isna().any()
    assert alone["score"].tolist() == beside["score"][beside["model_name"] == "whole"].tolist()


@pytest.mark.parametrize("missing", ["queries", "models"])
def test_a_model_that_lacks_words_takes_queries_from_all_or_is_left_out(folder, missing):
    study = declared(folder, "whole", "short", "none", aggregation={"missing": missing})
    results = run(study)
    row, ranks = results.scores("RND", "gender").loc["whole"], results.rankings("gender")
    if missing == "queries":
        left_out = results.totals.query("query_set == 'gender' and metric == 'RND'")[
            "left_out"
        ].iloc[0]
        assert len(left_out) > 0
        assert set(left_out) < set(row.index)
        assert row.iloc[-1] == pytest.approx(row.drop(left_out).iloc[:-1].abs().mean())
        assert ranks.notna().all(axis=None)
    else:
        assert row.iloc[-1] == pytest.approx(row.iloc[:-1].abs().mean())
        assert ranks.loc["none"].isna().all()
        assert sorted(ranks.drop("none")["RND"]) == [1, 2]


# What is computed again


def test_a_second_run_computes_nothing_and_another_option_what_depends_on_it(folder):
    more = {"intervals": {"n_bootstrap": 60}, "audit": {"scores": True}, "metrics": [RND]}
    first = run(declared(folder, **more))
    kinds = [task.kind for task in first.plan.tasks]
    n_scores = kinds.count("score")
    assert kinds.count("interval") == kinds.count("warnings") == n_scores
    assert first.run["n_computed"] == len(kinds)
    second = run(declared(folder, **more))
    assert second.run["n_computed"] == 0
    # Not even the time at which they were finished.
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame())
    changed = run(declared(folder, **{**more, "intervals": {"n_bootstrap": 80}}))
    assert changed.run["n_computed"] == n_scores
    one, other = first.to_frame(), changed.to_frame()
    assert (one["score_lower"] != other["score_lower"]).all()
    other = {**RND, "params": {"distance": "cos"}}
    assert n_computed(declared(folder, metrics=[other])) == n_scores


def test_another_vector_of_a_word_recomputes_the_queries_with_that_word(folder):
    study = declared(folder)
    first = run(study)
    change_vector(folder / "whole.txt", "algebra")
    tasks = [task for task in first.plan.tasks if task.model == "whole"]
    sets = [first.plan.queries[task.identity["query"]].attribute_sets for task in tasks]
    n = sum("algebra" in words for of_query in sets for words in of_query)
    assert 0 < n < len(tasks)
    assert n_computed(study) == n


def test_a_model_in_another_format_or_opened_again_has_the_same_results(folder):
    run(declared(folder))
    for file in folder.glob("*.txt"):
        os.utime(file, (0, 0))
    assert n_computed(declared(folder)) == 0
    opened(folder, "whole")[0].save(str(folder / "whole.bin"))
    models = [{"source": "whole.bin"}, {"source": "short.txt"}]
    assert n_computed(declared(folder, models=models)) == 0


@pytest.mark.parametrize(
    "change", [{"ignore": []}, {"target": ["math"]}, {"params": {"pca_args": {"n_components": 2}}}]
)
def test_what_a_mitigation_does_is_part_of_what_its_results_are_kept_under(folder, change):
    first = run(declared(folder, mitigations=[HARD]))
    n_mitigated = sum(task.model == "whole (hard)" for task in first.plan.tasks)
    assert n_computed(declared(folder, mitigations=[{**HARD, **change}])) == n_mitigated


@pytest.mark.slow
@pytest.mark.parametrize("method", ["hard-debias", "half-sibling-regression"])
def test_mitigated_models_have_the_same_keys_whatever_else_is_asked(folder, method):
    mitigations = [{**HARD, "method": method}]
    one = run(declared(folder, mitigations=mitigations))
    # Another query set takes more words; what is there stays.
    queries = [*one.plan.settings["queries"], {"set": "gender", "name": "all"}]
    study = declared(folder, mitigations=mitigations, queries=queries)
    known = {None, *(task.identity.get("query") for task in one.plan.tasks)}
    new = [task for task in study.plan.tasks if task.identity.get("query") not in known]
    assert n_computed(study) == len(new)


def test_models_with_the_same_vectors_share_results_under_their_own_names(folder):
    shutil.copy(folder / "whole.txt", folder / "twin.txt")
    results = run(declared(folder, "whole", "twin", audit={"criteria": ["gender"]}))
    n = len(results.plan.tasks)
    assert results.run["n_computed"] == len({each.key for each in results.outcomes}) == n / 2
    assert [audit["model_name"] for _, audit in results.directions()] == ["whole", "twin"]


# Failures


def test_a_broken_model_fails_alone_and_is_tried_again(folder):
    whole = (folder / "short.txt").read_bytes()
    (folder / "short.txt").write_bytes(b"she 0.1 0.2\nhe 0.1 oops\n")
    results = run(declared(folder, "whole", "short", "none"))
    (failure,) = results.failures().itertuples()
    assert (failure.model_name, failure.n_tasks) == ("short", results.n_tasks["failed"])
    assert "oops" in failure.reason
    frame = results.to_frame().set_index("model_name")
    assert (frame.loc["short", "nan_reason"] == failure.reason).all()
    # The others are ranked as if it were not there.
    assert results.rankings().loc["short"].isna().all()
    assert results.rankings().loc[["whole", "none"]].notna().all(axis=None)
    (folder / "short.txt").write_bytes(whole)
    assert run(declared(folder, "whole", "short", "none")).is_complete
    # A model that broke since does not show what it was.
    (folder / "short.txt").write_bytes(b"nothing of the kind")
    assert run(declared(folder)).scores("RND", "gender").loc["short"].isna().all()


def test_a_file_that_changes_during_the_study_fails_and_is_read_anew(folder):
    study = declared(folder)
    # Vectors of a mapped file are read when a task needs them, long after it was opened.
    original, n_scores = _tasks._RUN["score"], itertools.count()

    def score_and_change(place, what):
        value = original(place, what)
        if place.opened.unit.entry.label == "whole" and next(n_scores) == 1:
            change_vector(folder / "whole.txt", "algebra")
        return value

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tasks, "_RUN", {**_tasks._RUN, "score": score_and_change})
        results = run(study)
    (failure,) = results.failures().itertuples()
    assert (failure.model_name, "changed during" in failure.reason) == ("whole", True)
    assert failure.n_tasks == [task.model for task in results.plan.tasks].count("whole") - 1
    pd.testing.assert_frame_equal(tables(run(study)), tables(run(study, ":memory:")))


def test_options_that_do_not_fit_are_refused(folder):
    study = declared(folder)
    wrong = {"engine": "spark", "scheduler": "tcp://a:1", "n_jobs": 0}
    for name, value in wrong.items():
        with pytest.raises((TypeError, ValueError), match=name):
            study.run(**{name: value})
    assert not study.results_path.exists()


# Without computing


def test_results_are_read_without_looking_at_the_models(folder, monkeypatch):
    results = run(declared(folder))
    # Files that do not belong to a model do not reopen it.
    (folder / "whole.json").write_text("[]")
    monkeypatch.setattr(_tasks, "OpenedUnit", None)
    assert run(declared(folder)).is_complete
    for file in folder.glob("*.txt"):
        file.unlink()
    pd.testing.assert_frame_equal(results.to_frame(), declared(folder).results().to_frame())
    # Declared anew, it is another study, of which some is there.
    assert declared(folder, "whole", metrics=[{"metric": "ect"}]).results().n_tasks["missing"]


def test_what_was_not_computed_is_missing_and_nan(folder, monkeypatch):
    study = declared(folder)
    n_calls = itertools.count()

    def three_times(*call):
        if next(n_calls) == 3:
            raise KeyboardInterrupt
        return _tasks.run_tasks(*call)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tasks, "CALL_SECONDS", 0)
        patch.setattr(_run, "run_tasks", three_times)
        with pytest.raises(KeyboardInterrupt):
            run(study)
    results = study.results()
    n_missing = results.n_tasks["missing"]
    assert n_missing == len(results.plan.tasks) - 3
    assert f"{n_missing} missing" in repr(results)
    frame = results.to_frame()
    assert (frame["nan_reason"][frame["status"] == "missing"] == "not computed yet").all()
    assert frame["score"].notna().sum() == 3
    assert n_computed(study) == n_missing


def test_verify_computes_a_sample_again(folder):
    study = declared(folder)
    results = run(study)
    found = verify(study, results, n=100, tolerance=0.0, progress=False)
    assert len(found) == len(results.plan.tasks)
    assert found["passed"].all()
    assert (found["largest_difference"] == 0).all()
    assert len(verify(study, results, n=2, progress=False)) == 2
    outcome = results.of_kind("score")[0][1]
    value = {**outcome.value, "score": outcome.value["score"] + 0.5}
    with Store(folder / "study.db") as store:
        store.put([(outcome.key, "score", value, 0.0)])
    found = verify(study, StudyResults.from_file(folder / "study.db"), n=100, progress=False)
    assert found["largest_difference"][~found["passed"]].tolist() == [0.5]
    with pytest.raises(ValueError, match="the study file has changed"):
        verify(declared(folder, "whole"), results, progress=False)
    with pytest.raises(ValueError, match="n must be"):
        verify(study, results, n=0)


def test_the_difference_of_results_is_that_of_their_numbers_if_nothing_else_differs():
    one, other = {"a": [1, 2.0], "b": None}, {"a": [1.5, 2.0], "b": None}
    assert _difference(one, other) == 0.5
    pairs = [(True, 1), (None, 0.0), ([1], [1, 1]), ("a", "b"), ("1", 1), ({"a": 1}, {"b": 1})]
    for one, other in pairs:
        assert _difference(one, other) == _difference(other, one) == math.inf
        assert _difference(one, one) == 0


def test_studies_compute_no_p_values_of_words(folder):
    given = declared(folder, metrics=[{"metric": "sc-weat"}, {"metric": "weat-es"}])
    params = [metric.params.get("calculate_p_value") for metric in given.plan.metrics]
    assert params == [None, True]
    (metric,) = declared(
        folder, metrics=[{"metric": "sc-weat", "params": {"calculate_p_value": True}}]
    ).plan.metrics
    assert metric.params["p_value_method"] == "exact"
