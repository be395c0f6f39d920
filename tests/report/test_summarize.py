"""What the report says, as data: ranks, comparisons of pairs, gaps, words and methods."""

import json
import math
from collections import Counter
from itertools import chain

import pandas as pd
import pytest
from made_results import results_of

from wefe.audit._warnings import read_texts
from wefe.datasets import load_weat_queries
from wefe.debias import list_debias_methods
from wefe.debias._compare import debias_method_name
from wefe.report._provenance import METHODS
from wefe.report._render import to_html, to_markdown
from wefe.report._scores import clusters
from wefe.report._summarize import summarize
from wefe.study import Outcome, Study
from wefe.study._extras import AggregationEntry
from wefe.study._study import _EXAMPLE


def test_ranks_sums_and_distances_are_those_of_the_worked_example():
    scores = {
        "WEAT": {"Gender": {"q": {"a": -0.1, "b": 0.5, "c": 0.3}}},
        "ECT": {"Gender": {"q": {"a": 0.9, "b": 0.8, "c": 0.5}}},
    }
    external = [{"name": "WEB", "best": "higher", "scores": {"a": 1.0, "b": 3.0, "c": 2.0}}]
    summary = summarize(results_of(scores, {"external": external}))
    # With one query set, all is said once; external columns do not count in the sum.
    (ranking,) = summary["rankings"]
    assert ranking["name"] == "Gender"
    assert [(each["name"], each["kind"], each["best"]) for each in ranking["columns"]] == [
        ("WEAT", "bias", 0.0),
        ("ECT", "bias", 0.0),
        ("WEB", "external", None),
    ]
    assert ranking["rows"] == [
        {"model": "a", "ranks": [1, 1, 3], "scores": pytest.approx([0.1, 0.1, 1.0]), "sum": 2},
        {"model": "b", "ranks": [3, 2, 1], "scores": pytest.approx([0.5, 0.2, 3.0]), "sum": 5},
        {"model": "c", "ranks": [2, 3, 2], "scores": pytest.approx([0.3, 0.5, 2.0]), "sum": 5},
    ]
    assert summary["correlations"][0]["columns"] == ["WEAT", "ECT", "WEB"]
    assert summary["metrics"][1]["parts"][0]["cells"][2] == [
        {"score": 0.5, "distance": 0.5, "no_bias_value": 1.0, "status": "done"}
    ]


def test_a_query_set_without_values_does_not_empty_the_table_of_mitigations():
    none = {"q": {"a": "no word", "a + leace": "no word"}}
    some = {"r": {"a": 0.4, "a + leace": 0.1}}
    (change,) = summarize(results_of({"WEAT": {"Empty": none, "Gender": some}}))["changes"]
    assert (change["query_set"], change["bias"][0]["change"]) == ("Gender", pytest.approx(-0.3))


# How sure


def pairs(queries, **more):
    return summarize(results_of({"WEAT": {"Gender": queries}, **more}))["pairs"]


def test_the_first_two_are_compared_query_by_query():
    # Eight queries, a is nearer in six: of 256 patterns of signs, 20 sum up to +-1.8 or more.
    near, far = [0.1] * 6 + [0.4] * 2, [0.5, -0.5, 0.5, 0.5, -0.5, 0.5, 0.1, 0.1]
    queries = {
        f"q{i}": {"a": a, "b": b, "c": 2.0} for i, (a, b) in enumerate(zip(near, far, strict=True))
    }
    (found,) = pairs(queries)
    assert found == {
        "metric": "WEAT", "query_set": "Gender", "first": "a", "second": "b", "n": 8,
        "n_nearer": 6, "difference": pytest.approx(1.8 / 8), "n_clusters": 8,
        "p_value": 20 / 256, "beyond": False,
    }  # fmt: skip
    queries["q6"]["a"] = queries["q7"]["a"] = 0.0
    (found,) = pairs(queries)
    assert (found["n_nearer"], found["p_value"], found["beyond"]) == (8, 2 / 256, True)
    verdict = summarize(results_of({"WEAT": {"Gender": queries}}))["claims"][0]
    assert verdict["text"] == "Gender: a ranks first on WEAT (significantly)."
    assert (verdict["evidence"]["n"], verdict["evidence"]["p_value"]) == (8, 2 / 256)


def test_queries_that_share_words_count_as_one():
    # q6 and q7 share words: one cluster, whose differences have a common sign.
    queries = {f"q{i}": {"a": 0.1, "b": 0.2 + i / 10} for i in range(7)}
    queries["other q6"] = {"a": 0.9, "b": 0.3}
    (found,) = pairs(queries)
    assert (found["n"], found["n_clusters"], found["p_value"]) == (8, 7, None)
    (found,) = pairs({**queries, "q7": {"a": 0.1, "b": 0.9}})
    # 0.1, 0.2, ..., 0.6, then 0.7 - 0.6, and 0.8: those of all signs are all above 0.
    assert (found["n"], found["n_clusters"], found["p_value"]) == (9, 8, 2 / 256)


def test_clusters_of_the_weat_queries_are_those_that_share_words():
    queries = {("WEAT", str(number)): query for number, query in enumerate(load_weat_queries())}
    groups = {}
    for (_, name), cluster in clusters(queries).items():
        groups.setdefault(cluster, set()).add(name)
    # 'cancer' is unpleasant and a disease, 'Bill' a man and old.
    assert sorted(map(sorted, groups.values())) == [list("01234589"), list("67")]


def test_overall_pairs_weigh_query_sets_as_overall_scores_do():
    # Weights 2 and 1; the mean of all three queries.
    scores = {"WEAT": {"Gender": {"q": {"a": 0.1, "b": 0.2}, "r": {"a": 0.1, "b": 0.4}},
                       "Age": {"s": {"a": 0.9, "b": 0.1}}}}  # fmt: skip
    overall, gender, age = summarize(results_of(scores))["pairs"]
    assert (overall["query_set"], overall["first"], overall["n"]) == ("Overall", "b", 3)
    assert overall["difference"] == pytest.approx((0.8 - 0.1 - 0.3) / 3)
    assert overall["n_nearer"] == 1
    assert (gender["first"], gender["n_nearer"], age["first"]) == ("a", 2, "b")


def test_queries_outside_the_aggregate_are_not_compared_and_no_mean_is_against_the_order():
    (found,) = pairs({"q": {"a": 0.1, "b": 0.2, "c": 0.3}, "r": {"a": 0.9, "b": 0.1, "c": "lost"}})
    assert (found["first"], found["n"], found["n_nearer"]) == ("a", 1, 1)
    # Scores of opposite signs cancel in the average, so that a is ranked first.
    queries = {f"q{i}": {"a": 0.9 * (-1) ** i, "b": 0.1} for i in range(8)}
    aggregation = {"function": "avg", "missing": "queries", "ties": "min"}
    settings = {"aggregation": {**aggregation, "correlation": "spearman"}}
    (found,) = summarize(results_of({"WEAT": {"G": queries}}, settings))["pairs"]
    assert (found["first"], found["difference"]) == ("a", pytest.approx(-0.8))
    assert (found["p_value"], found["beyond"]) == (2 / 256, False)


def with_interval(score, low, high):
    return {"score": score, "score_lower": low, "score_upper": high}


def test_intervals_that_do_not_hold_their_score_are_named():
    # As they are written, 0.70001 and the end of its interval are the same.
    outside, same = with_interval(0.99, 0.72, 0.98), with_interval(0.70001, 0.5, 0.7)
    results = results_of({"ECT": {"G": {"q": {"a": outside, "b": same}}}})
    (part,) = summarize(results)["metrics"][0]["parts"]
    assert ["outside" in cell for row in part["cells"] for cell in row] == [True, False]
    assert "[0.720, 0.980] does not contain the score" in to_html(results)


# Gaps and words


def test_what_failed_or_has_no_value_is_counted_as_the_tidy_table_has_it():
    failed = Outcome("failed", failure="no such file")
    results = results_of({"WEAT": {"G": {"q": {"a": 0.1, "b": "lost", "c": failed},
                                         "r": {"a": Outcome(), "b": "lost", "c": failed},
                                         "s": {"a": "lost", "b": "lost", "c": 0.1}}}})  # fmt: skip
    gaps = summarize(results)["gaps"]
    assert gaps["failures"] == [{"model_name": "c", "reason": "no such file", "n_tasks": 2}]
    assert results.to_frame()["score"].isna().sum() == 7 == len(gaps["nan"]) + 2 + 1
    assert list(gaps["nan"][-1].values()) == ["WEAT", "G", "s", "b", "lost"]
    text = to_markdown(results)
    assert "- **c**: 2 tasks failed (no such file)\n" in text
    assert "- 4 undefined scores (2 models): lost\n" in text


def test_words_that_models_lack_are_listed_for_the_right_one_of_two_queries(rich):
    lost, whole = [each for each in summarize(rich)["words"] if each["query_set"] == "Lost"]
    (old,) = [part for part in lost["sets"] if part["lost"]]
    assert (old["name"], old["lost"][0]["words"]) == ("Older", ["qxqx", "qyqy"])
    assert not any(part["lost"] for part in whole["sets"])


def test_individual_biases_are_those_of_the_audit(rich):
    each = summarize(rich)["words"][0]
    place = {"query_set": "Gender", "query": each["query"]}
    (audit,) = [
        outcome.value["audit"]
        for task, outcome in rich.of_kind("words")
        if (task.model, task.place) == ("cut 64", place)
    ]
    words = [word for use in audit["targets"] for word in use["used"]]
    expected = pd.Series([*chain(*audit["positions"])], words)
    (own,) = [part for part in each["audits"] if part["model"] == "cut 64"]
    ends = [words[0][0] for words in own["strongest"]]
    assert ends == [expected.idxmax(), expected.idxmin()]


# Methods


@pytest.mark.parametrize(
    ("metric", "expected"),
    # Four target words, each with an association of at most 2.
    [("weat", [-8, 8]), ("rnd", [None, None]), ("rnsb", [0, math.log(4)])],
)
def test_the_range_of_scores_is_that_of_the_metric_with_these_queries(metric, expected):
    study = Study({**_EXAMPLE, "metrics": [{"metric": metric}]})
    (found,) = summarize(study.run(":memory:", progress=False))["metrics"]
    assert found["range"] == pytest.approx(expected)


def test_warnings_are_counted_by_kind(rich):
    found = {each["kind"]: each["n"] for each in summarize(rich)["warnings"]}
    of_scores = Counter(
        text.partition(":")[0]
        for _, outcome in rich.of_kind("warnings")
        for text in outcome.value["warnings"]
    )
    assert of_scores.keys() <= found.keys()
    assert all(found[kind] >= n > 0 for kind, n in of_scores.items())
    assert [*found.values()] == sorted(found.values(), reverse=True)


def test_every_method_and_warning_has_plain_words():
    mitigations = METHODS["mitigations"]
    assert {*mitigations} == {debias_method_name(method) for method in list_debias_methods()}
    assert all(meaning and reference for meaning, reference in mitigations.values())
    ways = AggregationEntry.model_fields
    assert set(METHODS["aggregations"]) == set(ways["function"].annotation.__args__)
    assert set(METHODS["ties"]) == set(ways["ties"].annotation.__args__)
    assert all(meaning and text for meaning, text in read_texts("warnings.toml").values())


def test_a_summary_and_its_declaration_are_json_the_same_every_time(rich):
    summary = summarize(rich)
    text = json.dumps(summary, allow_nan=False)
    assert text == json.dumps(summarize(rich), allow_nan=False)
    assert "unbiased" not in text.lower()
    given = json.loads(summary["provenance"]["declaration"])
    assert given["queries"][1]["query"][0]["targets"]["Young"] == ["young", "youth", "child"]
