"""What the report says, as data: known winners, sentences that change with the data, gaps."""

import json
import math
import re
from pathlib import Path

import pytest

import wefe.audit
from wefe._visible import visible
from wefe.datasets import load_weat_queries
from wefe.debias import list_debias_methods
from wefe.debias._registry import debias_method_name
from wefe.metrics._registry import get_metric
from wefe.report import summarize
from wefe.report._findings import findings
from wefe.report._methods import AGGREGATIONS, MITIGATIONS, TIES, WARNINGS
from wefe.report._provenance import _range, as_toml
from wefe.report._summarize import _clusters
from wefe.study import Outcome, Study
from wefe.study._entries import AggregationEntry

# Distances from no bias. WEAT: a 0.1, b 0.5, c 0.3; ECT: a 0.1, b 0.2, c 0.5.
SCORES = {
    "WEAT": {"Gender": {"q": {"a": -0.1, "b": 0.5, "c": 0.3}}},
    "ECT": {"Gender": {"q": {"a": 0.9, "b": 0.8, "c": 0.5}}},
}


def sentences(results, title):
    found = {part["title"]: part["sentences"] for part in summarize(results)["findings"]}
    return found.get(title, [])


def test_ranks_sums_and_distances_are_those_of_the_worked_example(made):
    summary = summarize(made(SCORES))
    assert summary["rankings"] == [
        {
            "name": "Gender",
            "columns": [{"name": "WEAT", "kind": "bias"}, {"name": "ECT", "kind": "bias"}],
            "rows": [
                {"model": "a", "ranks": [1, 1], "sum": 2},
                {"model": "b", "ranks": [3, 2], "sum": 5},
                {"model": "c", "ranks": [2, 3], "sum": 5},
            ],
        }
    ]
    (part,) = summary["aggregated"]
    assert part["best"] == [0, 0]
    assert [row["distances"] for row in part["rows"]] == [
        pytest.approx([0.1, 0.1]),
        pytest.approx([0.5, 0.2]),
        pytest.approx([0.3, 0.5]),
    ]
    assert summary["metrics"][1]["parts"][0]["cells"][2] == [
        {"score": 0.5, "distance": 0.5, "status": "done"}
    ]


def test_the_first_sentence_names_the_model_with_the_least_bias_measured(made):
    assert sentences(made(SCORES), "Least bias measured") == [
        "Gender: a has the least bias measured by WEAT and ECT.",
        "Over both metrics (Gender), a has the lowest sum of ranks: 2, where 2 would be first by "
        "every metric; next is b with 5.",
    ]


def test_the_first_sentence_changes_when_the_scores_do(made):
    other = {**SCORES, "ECT": {"Gender": {"q": {"a": 0.4, "b": 0.8, "c": 0.5}}}}
    assert sentences(made(other), "Least bias measured")[0] == (
        "Gender: a has the least bias measured by WEAT; b by ECT."
    )


def test_a_tie_is_called_one(made):
    tied = {"WEAT": {"Gender": {"q": {"a": -0.1, "b": 0.1, "c": 0.3}}}}
    assert sentences(made(tied), "Least bias measured") == [
        "Gender: a and b have the least bias measured by WEAT in equal measure."
    ]


def test_one_model_is_not_ranked(made):
    summary = summarize(made({"WEAT": {"Gender": {"q": {"a": 0.1}}}}))
    assert summary["findings"][0]["sentences"] == [
        "There is one model, a, so nothing is ranked; its scores stand below."
    ]


def test_no_sentence_promises_that_a_model_is_without_bias(rich, with_failure, example):
    for results in (rich, with_failure, example):
        text = json.dumps(summarize(results)).lower()
        assert "unbiased" not in text
        assert "fair model" not in text


def test_query_sets_weigh_what_they_should_in_overall_ranks(made):
    scores = {"WEAT": {"Gender": {"q": {"a": 0.1, "b": 0.2}, "r": {"a": 0.1, "b": 0.2}},
                       "Age": {"q": {"a": 0.9, "b": 0.1}}}}  # fmt: skip
    summary = summarize(made(scores))
    assert [part["name"] for part in summary["rankings"]] == ["Overall", "Gender", "Age"]
    # (2 * 0.1 + 0.9) / 3 and (2 * 0.2 + 0.1) / 3.
    distances = [row["distances"][0] for row in summary["aggregated"][0]["rows"]]
    assert distances == pytest.approx([1.1 / 3, 0.5 / 3])
    assert "Overall: b has the least bias measured by WEAT." in sentences(
        made(scores), "Least bias measured"
    )


# How sure


def with_interval(score, low, high, p_value=math.nan):
    return {"score": score, "score_lower": low, "score_upper": high, "p_value": p_value}


def test_the_first_two_are_compared_query_by_query(made):
    # Eight queries, a is nearer in six: of 256 patterns of signs, 20 sum up to +-1.8 or more.
    near, far = [0.1] * 6 + [0.4] * 2, [0.5, -0.5, 0.5, 0.5, -0.5, 0.5, 0.1, 0.1]
    queries = {
        f"q{i}": {"a": a, "b": b, "c": 2.0} for i, (a, b) in enumerate(zip(near, far, strict=True))
    }
    (found,) = summarize(made({"WEAT": {"Gender": queries}}))["pairs"]
    assert found == {
        "metric": "WEAT",
        "query_set": "Gender",
        "first": "a",
        "second": "b",
        "n": 8,
        "n_nearer": 6,
        "difference": pytest.approx(1.8 / 8),
        "n_clusters": 8,
        "p_value": 20 / 256,
        "beyond": False,
        "n_intervals": 0,
        "n_overlap": 0,
    }
    queries["q6"]["a"] = queries["q7"]["a"] = 0.0
    results = made({"WEAT": {"Gender": queries}})
    (found,) = summarize(results)["pairs"]
    assert (found["n_nearer"], found["p_value"], found["beyond"]) == (8, 2 / 256, True)
    assert sentences(results, "How sure this is")[0] == (
        "In the one ranking the first model is nearer to no bias than the second beyond chance "
        "(p < 0.05, paired over queries): WEAT, Gender (a before b in 8 of 8 queries, p = 0.008)."
    )
    assert sentences(results, "In short") == [
        "Gender: a has the least bias measured by 1 of 1 metric, beyond chance."
    ]


def test_few_queries_are_not_tested(made):
    queries = {f"q{i}": {"a": 0.1, "b": 0.9} for i in range(7)}
    results = made({"WEAT": {"Gender": queries}, "RND": {"Gender": queries}})
    assert [each["p_value"] for each in summarize(results)["pairs"]] == [None, None]
    assert sentences(results, "How sure this is")[:2] == [
        "2 rankings have no p-value for the order of the first two models: the test needs at least "
        "8 groups of queries that share no words. wefe.compare_models tests two models on queries "
        "that share words.",
        "The table “First and second” compares the first two models of each ranking.",
    ]
    assert sentences(results, "In short") == [
        "Gender: no model is clearly ahead: a has the least bias measured by 2 of 2 metrics, not "
        "tested against chance; the lowest sum of ranks is that of a."
    ]


def test_tested_and_untested_rankings_are_told_apart(made):
    many = eight(a=0.1, b=0.9)
    scores = {"WEAT": {"G": many}, "RND": {"G": dict(list(many.items())[:7])}}
    mixed = {f"q{i}": {"a": 0.9 * (i % 2), "b": 0.5} for i in range(8)}
    results = made({**scores, "ECT": {"G": mixed}})
    said = sentences(results, "How sure this is")
    assert said[0].startswith("In 1 of 2 rankings tested (one per metric and query set) the first")
    assert said[1] == "In the others the order of the first two may change with other queries."
    assert said[2].startswith("1 ranking has no p-value for the order of the first two models")
    (said,) = sentences(made({**scores, "ECT": {"G": eight(a=0.9, b=0.1)}}), "In short")
    assert "3 of 3 metrics, beyond chance by 2 of 2 tested" in said


def test_queries_that_share_words_count_as_one(made):
    # q6 and q7 share words: one cluster, whose differences have a common sign.
    queries = {f"q{i}": {"a": 0.1, "b": 0.2 + i / 10} for i in range(7)}
    queries["other q6"] = {"a": 0.9, "b": 0.3}
    (found,) = summarize(made({"WEAT": {"Gender": queries}}))["pairs"]
    assert (found["n"], found["n_clusters"], found["p_value"]) == (8, 7, None)
    queries["q7"] = {"a": 0.1, "b": 0.9}
    (found,) = summarize(made({"WEAT": {"Gender": queries}}))["pairs"]
    # 0.1, 0.2, ..., 0.6, then 0.7 - 0.6, and 0.8: those of all signs are all above 0.
    assert (found["n"], found["n_clusters"], found["p_value"]) == (9, 8, 2 / 256)


def test_clusters_of_the_weat_queries_are_those_that_share_words():
    queries = {("WEAT", str(number)): query for number, query in enumerate(load_weat_queries())}
    groups = {}
    for (_, name), cluster in _clusters(queries).items():
        groups.setdefault(cluster, set()).add(name)
    # 'cancer' is unpleasant and a disease, 'Bill' a man and old.
    assert sorted(map(sorted, groups.values())) == [list("01234589"), list("67")]


def test_overall_pairs_weigh_query_sets_as_overall_scores_do(made):
    # Weights 2 and 1; the mean of all three queries.
    scores = {"WEAT": {"Gender": {"q": {"a": 0.1, "b": 0.2}, "r": {"a": 0.1, "b": 0.4}},
                       "Age": {"s": {"a": 0.9, "b": 0.1}}}}  # fmt: skip
    overall, gender, age = summarize(made(scores))["pairs"]
    assert (overall["query_set"], overall["first"], overall["n"]) == ("Overall", "b", 3)
    assert overall["difference"] == pytest.approx((0.8 - 0.1 - 0.3) / 3)
    assert overall["n_nearer"] == 1
    assert (gender["first"], gender["n_nearer"], age["first"]) == ("a", 2, "b")


def test_queries_that_are_not_in_the_aggregate_are_not_compared(made):
    no_value = {"score": None, "nan_reason": "lost"}
    scores = {"WEAT": {"G": {"q": {"a": 0.1, "b": 0.2, "c": 0.3},
                             "r": {"a": 0.9, "b": 0.1, "c": no_value}}}}  # fmt: skip
    (found,) = summarize(made(scores))["pairs"]
    assert (found["first"], found["n"], found["n_nearer"]) == ("a", 1, 1)


def test_a_mean_against_the_order_is_never_beyond_chance(made):
    # Scores of opposite signs cancel in the average, so that a is ranked first.
    queries = {f"q{i}": {"a": 0.9 * (-1) ** i, "b": 0.1} for i in range(8)}
    settings = {"aggregation": {"function": "avg", "missing": "queries", "ties": "min",
                                "correlation": "spearman"}}  # fmt: skip
    (found,) = summarize(made({"WEAT": {"G": queries}}, settings))["pairs"]
    assert found["first"] == "a"
    assert found["difference"] == pytest.approx(-0.8)
    assert found["p_value"] == 2 / 256
    assert found["beyond"] is False


def test_intervals_are_compared_as_distances_from_no_bias(made):
    # Scores on either side of 0: the intervals do not overlap, but the distances do.
    scores = {"WEAT": {"Gender": {"q": {"a": with_interval(0.3, 0.2, 0.4),
                                        "b": with_interval(-0.35, -0.5, -0.25),
                                        "c": with_interval(2.0, 1.9, 2.1)}}}}  # fmt: skip
    (found,) = summarize(made(scores))["pairs"]
    assert (found["n_overlap"], found["n_intervals"]) == (1, 1)
    scores["WEAT"]["Gender"]["q"]["b"] = with_interval(-0.9, -1.0, -0.8)
    assert summarize(made(scores))["pairs"][0]["n_overlap"] == 0


def test_an_interval_around_no_bias_reaches_down_to_it(made):
    scores = {"WEAT": {"Gender": {"q": {"a": with_interval(0.0, -0.1, 0.1),
                                        "b": with_interval(0.3, -0.4, 0.8)}}}}  # fmt: skip
    assert summarize(made(scores))["pairs"][0]["n_overlap"] == 1


def test_intervals_that_do_not_hold_their_score_are_named(made):
    scores = {"ECT": {"G": {"q": {"a": with_interval(0.99, 0.72, 0.98),
                                  "b": with_interval(0.5, 0.4, 0.6)},
                            # As they are written, these are the same.
                            "r": {"a": with_interval(0.70001, 0.5, 0.7),
                                  "b": with_interval(0.5, 0.5, 0.6)}}}}  # fmt: skip
    said = [text for text in sentences(made(scores), "How sure this is") if "hold" in text]
    assert said == [
        "1 of 4 intervals does not hold its own score: ECT 0.990 [0.720, 0.980] of a, q. "
        "Resampling repeats words, which moves bounded or non-linear scores to one side; such an "
        "interval tells how wide the spread is, not where the score lies."
    ]


def test_p_values_are_counted_per_model_and_corrected_for_their_number(made):
    def cell(p_value):
        return {"score": 0.5, "p_value": p_value}

    scores = {"WEAT": {"Gender": {"q": {"a": cell(0.001), "b": cell(0.9)},
                                  "r": {"a": cell(0.03), "b": cell(0.04)},
                                  "s": {"a": cell(0.2), "b": cell(0.06)}}}}  # fmt: skip
    said = [text for text in sentences(made(scores), "How sure this is") if "Scores with" in text]
    assert said == [
        "Scores with p < 0.05: a 2 of 3 (1 by Holm's method, for 6 tests); b 1 of 3 (0 by Holm's "
        "method, for 6 tests). If words were sorted at random, about 5 % would be."
    ]


def test_p_values_and_intervals_are_told_apart_where_there_are_both(made):
    told = "A small p-value beside a wide interval is no contradiction."

    def is_told(cell):
        said = sentences(made({"WEAT": {"G": {"q": {"a": cell}}}}), "How sure this is")
        return any(text.startswith(told) for text in said)

    assert is_told(with_interval(0.4, -0.464, 1.342, 0.024))
    assert not is_told(with_interval(0.4, -0.464, 1.342))
    assert not is_told({"score": 0.4, "p_value": 0.024})


def test_the_side_of_a_test_is_said_in_words(example):
    assert not any("only leaning of" in each for each in sentences(example, "How sure this is"))
    one_sided = summarize(example)
    for metric in one_sided["methods"]["metrics"]:
        if metric["label"] == "WEAT-ES":
            metric["params"]["p_value_test_type"] = "right-sided"
    said = [text for part in findings(one_sided) for text in part["sentences"]]
    assert (
        "The test of WEAT-ES is right-sided: only leaning of the first targets to the first "
        "attributes counts, so that a score below 0 has a large p-value whatever its size." in said
    )


# The verdict


def eight(**scores):
    return {f"q{i}": dict(scores) for i in range(8)}


def test_no_model_is_ahead_that_is_first_by_half_of_the_metrics(made):
    scores = {"WEAT": {"G": eight(a=0.1, b=0.2)}, "RND": {"G": eight(a=0.2, b=0.1)}}
    assert sentences(made(scores), "In short") == [
        "G: no model is clearly ahead: a has the least bias measured by 1 of 2 metrics, beyond "
        "chance; b by 1 of 2 metrics, beyond chance; the lowest sum of ranks is that of a and b."
    ]


def test_a_model_is_ahead_by_most_metrics_and_beyond_chance(made):
    # By ECT a is first in the mean of eight queries, but nearer in four of them only.
    mixed = {f"q{i}": {"a": 0.9 if i < 4 else 0.5, "b": 0.3 if i < 4 else 0.7} for i in range(8)}
    scores = {
        "WEAT": {"G": eight(a=0.1, b=0.2)},
        "RND": {"G": eight(a=0.1, b=0.2)},
        "ECT": {"G": mixed},
    }
    assert sentences(made(scores), "In short") == [
        "G: a has the least bias measured by 3 of 3 metrics, beyond chance by 2, and the lowest "
        "sum of ranks."
    ]


def test_being_first_by_every_metric_is_not_enough_where_it_may_be_chance(made):
    (said,) = sentences(made(SCORES), "In short")
    assert said == (
        "Gender: no model is clearly ahead: a has the least bias measured by 2 of 2 metrics, "
        "not tested against chance; the lowest sum of ranks is that of a."
    )


def test_the_verdict_is_also_of_the_models_as_they_are(made):
    scores = {"WEAT": {"G": eight(**{"a": 0.3, "b": 0.4, "a + hard": 0.1, "shuffled b": 0.05})}}
    assert sentences(made(scores), "In short") == [
        "G: shuffled b has the least bias measured by 1 of 1 metric, beyond chance.",
        "Of the models as they are (without mitigated ones and shuffled b, by its name a control): "
        "a has the least bias measured by 1 of 1 metric, beyond chance.",
    ]


@pytest.mark.parametrize(
    ("label", "is_control"),
    [
        ("shuffled control", True),
        ("Control", True),
        ("controlled-lm", False),
        ("random-walk", False),
    ],
)
def test_what_is_a_control_is_known_by_its_name(made, label, is_control):
    results = made({"WEAT": {"G": eight(**{"a": 0.3, "b": 0.4, label: 0.1})}})
    assert len(sentences(results, "In short")) == 1 + is_control


def test_sentences_in_parts_say_the_same_and_tell_names_from_words(made):
    (short, *_) = summarize(made(SCORES))["findings"]
    (parts,) = short["parts"]
    assert "".join(part["text"] for part in parts) == short["sentences"][0]
    assert {part["text"] for part in parts if part["kind"] == "model"} == {"a"}
    assert parts[0] == {"kind": "name", "text": "Gender"}


@pytest.mark.parametrize(
    ("n_models", "said"),
    [(2, "no correlation"), (3, "p = 0.33"), (4, "p = 0.083"), (7, "below 0.786")],
)
def test_few_models_make_correlations_uncertain(made, n_models, said):
    models = {f"m{i}": 0.1 + i / 10 for i in range(n_models)}
    results = made({"WEAT": {"G": {"q": models}}, "RND": {"G": {"q": models}}})
    assert said in sentences(results, "How sure this is")[-1]


# What disagrees


def test_rankings_that_disagree_are_named_with_their_correlation(made):
    scores = {
        "WEAT": {"G": {"q": {"a": 0.1, "b": 0.2, "c": 0.3}}},
        "RND": {"G": {"q": {"a": 0.3, "b": 0.2, "c": 0.1}}},
    }
    first, second = sentences(made(scores), "What disagrees")
    assert first == (
        "These metrics rank the models differently (Spearman correlation): WEAT and RND (-1.00)."
    )
    assert "a has rank 1 by WEAT and 3 by RND" in second
    scores["RND"] = scores["WEAT"]
    assert sentences(made(scores), "What disagrees") == [
        "Both metrics put the models in the same order (G)."
    ]


def test_metrics_agree_only_where_each_ranks_the_same_two_models_or_more(made):
    no_value = {"score": None, "nan_reason": "lost"}
    lost = dict.fromkeys("abc", no_value)
    ranked = {"a": 0.1, "b": 0.2, "c": 0.3}

    def said(**scores):
        aggregation = {"function": "avg", "missing": "models", "ties": "min"}
        results = made(
            {name: {"G": {"q": each}} for name, each in scores.items()},
            {"aggregation": {**aggregation, "correlation": "spearman"}},
        )
        return [text for text in sentences(results, "What disagrees") if "same order" in text]

    one, fewer = {**lost, "a": 0.1}, {**ranked, "c": no_value}
    for first, second in ((lost, lost), (one, one), (ranked, lost), (ranked, fewer)):
        assert said(WEAT=first, RND=second) == []
    assert said(WEAT=fewer, RND=fewer) == ["Both metrics put the models in the same order (G)."]
    assert said(WEAT=ranked, RND=ranked, ECT=lost) == [
        "2 of 3 metrics put the models in the same order (G); the rest rank fewer than two."
    ]


def test_external_columns_are_called_so_and_do_not_count_in_the_sum(made):
    external = [{"name": "WEB", "best": "higher", "scores": {"a": 1.0, "b": 3.0, "c": 2.0}}]
    summary = summarize(made(SCORES, {"external": external}))
    overall = summary["rankings"][0]
    # With one query set, all is said once.
    assert [part["name"] for part in summary["rankings"]] == ["Gender"]
    assert [part["name"] for part in summary["correlations"]] == ["Gender"]
    assert summary["correlations"][0]["columns"] == ["WEAT", "ECT", "WEB"]
    assert overall["columns"][-1] == {"name": "WEB", "kind": "external"}
    assert overall["rows"][0] == {"model": "a", "ranks": [1, 1, 3], "sum": 2}


# What mitigation changed


def test_a_mitigated_model_is_compared_with_its_base(made):
    scores = {
        "WEAT": {"G": {"q": {"a": -0.4, "b": 0.9, "a + hard": 0.1}}},
        "ECT": {"G": {"q": {"a": 0.9, "b": 0.1, "a + hard": 0.5}}},
    }
    (change,) = summarize(made(scores))["changes"]
    assert (change["model"], change["base"]) == ("a + hard", "a")
    weat, ect = change["bias"]
    assert (weat["before"], weat["after"], weat["relative"]) == pytest.approx((0.4, 0.1, -0.75))
    assert (ect["before"], ect["after"]) == pytest.approx((0.1, 0.5))
    assert sentences(made(scores), "What mitigation changed") == [
        "a + hard, against a (G): less bias measured by WEAT (distance from no bias 0.400 to "
        "0.100, -75 %); more bias measured by ECT (distance from no bias 0.100 to 0.500, +400 %)."
    ]
    assert (
        "Of the models as they are (without mitigated ones), a has the least bias measured by WEAT "
        "and ECT." in sentences(made(scores), "Least bias measured")
    )


def test_mitigation_of_nothing_has_no_percentage(made):
    scores = {"WEAT": {"G": {"q": {"a": 0.0, "a + hard": 0.1}}}}
    assert summarize(made(scores))["changes"][0]["bias"][0]["relative"] is None
    (sentence,) = sentences(made(scores), "What mitigation changed")
    assert "0.000 to 0.100)" in sentence


# Gaps


def test_what_failed_and_what_is_missing_is_said(made):
    failed = Outcome("failed", reason="no such file")
    scores = {"WEAT": {"G": {"q": {"a": 0.1, "b": 0.2, "c": failed},
                             "r": {"a": 0.1, "b": Outcome(), "c": failed}}}}  # fmt: skip
    summary = summarize(made(scores))
    assert summary["gaps"]["failures"] == [
        {"model_name": "c", "reason": "no such file", "n_tasks": 2}
    ]
    said = sentences(made(scores), "What is missing")
    assert said[0].startswith("1 of 6 tasks is not computed yet. Run the study again")
    assert said[1] == "c: 2 tasks failed (no such file)."


def test_a_model_that_cannot_be_opened_is_reported(with_failure):
    summary = summarize(with_failure)
    (failure,) = summary["gaps"]["failures"]
    assert failure["model_name"] == "broken"
    assert "line 2" in failure["reason"]
    assert any(
        text.startswith("broken: ") and "failed" in text
        for text in sentences(with_failure, "What is missing")
    )


def test_scores_without_a_value_come_with_their_reason(made):
    no_value = {"score": None, "nan_reason": "'F' lost all of its words"}
    scores = {"WEAT": {"G": {"q": {"a": 0.1, "b": no_value}, "r": {"a": 0.1, "b": 0.3}}}}
    summary = summarize(made(scores))
    assert summary["gaps"]["nan"] == [
        {
            "metric": "WEAT",
            "query_set": "G",
            "query": "q",
            "model": "b",
            "reason": "'F' lost all of its words",
        }
    ]
    assert sentences(made(scores), "What is missing") == [
        "1 of 4 scores has no value: 1 NaN.",
        "NaN by model: b 1 (1 by WEAT). Most often, as 'F' lost all of its words.",
        "Aggregates over G leave out queries that not every model could answer: 1 of 2 by WEAT.",
    ]


def test_scores_without_a_value_are_counted_as_the_tidy_table_has_them(made):
    no_value = {"score": None, "nan_reason": "lost"}
    failed = Outcome("failed", reason="no such file")
    results = made({"WEAT": {"G": {"q": {"a": 0.1, "b": no_value, "c": failed},
                                   "r": {"a": Outcome(), "b": no_value, "c": failed},
                                   "s": {"a": no_value, "b": no_value, "c": 0.1}}}})  # fmt: skip
    assert results.to_frame()["score"].isna().sum() == 7
    said = sentences(results, "What is missing")
    assert "7 of 9 scores have no value: 2 failed, 1 not computed yet and 4 NaN." in said
    assert "NaN by model: b 3 (3 by WEAT); a 1 (1 by WEAT). Most often, as lost." in said


def test_words_that_models_lack_are_listed_for_the_right_one_of_two_queries(rich):
    lost, whole = [each for each in summarize(rich)["words"] if each["query_set"] == "Lost"]
    (old,) = [part for part in lost["sets"] if part["lost"]]
    assert old["name"] == "Older"
    assert old["lost"][0]["words"] == ["qxqx", "qyqy"]
    assert not any(part["lost"] for part in whole["sets"])


def test_individual_biases_are_those_of_the_audit(rich):
    each = summarize(rich)["words"][0]
    audit = rich.words("cut 64", "Gender", each["query"])["audit"]
    table = dict(
        zip(
            [word for use in audit["targets"] for word in use["used"]],
            [value for part in audit["positions"] for value in part],
            strict=True,
        )
    )
    column = each["positions"]["models"].index("cut 64")
    shown = dict(zip(each["positions"]["words"], each["positions"]["values"], strict=True))
    assert {word: values[column] for word, values in shown.items()} == {
        word: round(value, 3) for word, value in table.items()
    }
    (strongest,) = [part for part in each["audits"] if part["model"] == "cut 64"]
    assert strongest["to_first"][0][0] == max(table, key=table.get)
    assert strongest["to_second"][0][0] == min(table, key=table.get)


# The rest


def test_warnings_are_said_in_plain_words(rich):
    said = sentences(rich, "Warnings")
    meaning = "words of a set are biased to opposite sides, which a mean does not show"
    assert any(text.endswith(f": {meaning} (cancelling-biases).") for text in said)


def test_every_kind_of_warning_has_plain_words():
    folder = Path(wefe.audit.__file__).parent
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    found = set(re.findall(r'(?:AuditWarning|yield )\(\s*"([a-z-]+)",', code))
    assert found == set(WARNINGS)


def test_quality_that_did_not_change_is_called_the_same(rich):
    summary = json.loads(json.dumps(summarize(rich)))
    (change,) = summary["changes"]
    (quality,) = change["quality"]
    quality |= {"before": 0.3131, "after": 0.3132, "change": 0.0001, "relative": 0.0003}
    said = [
        x for part in findings(summary) for x in part["sentences"] if x.startswith("Quality of")
    ]
    assert said == [
        "Quality of cut 64 (hard-debias, gender), against cut 64: about the same by alike (0.313)."
    ]
    quality |= {"after": 0.25, "change": -0.0631, "relative": -0.2015}
    said = [
        x for part in findings(summary) for x in part["sentences"] if x.startswith("Quality of")
    ]
    assert said == [
        "Quality of cut 64 (hard-debias, gender), against cut 64: lower by alike (0.313 to 0.250, "
        "-20 %)."
    ]


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ({"metric": "weat-es"}, "scores are -2 to 2"),
        # Eight target words, each with an association of at most 2.
        ({"metric": "weat"}, "scores are -16 to 16"),
        ({"metric": "rnd"}, "scores have no bounds"),
        ({"metric": "rnd", "params": {"distance": "cos"}}, "scores are -2 to 2"),
        ({"metric": "ect"}, "scores are -1 to 1"),
        ({"metric": "mac"}, "scores are 0 to 2"),
        ({"metric": "rnsb"}, f"scores are 0 to {math.log(8):.4g}"),
        ({"metric": "ripa"}, "scores have no bounds"),
        ({"metric": "direct-bias"}, "scores are 0 to 1"),
        ({"metric": "same"}, "scores are 0 to 1"),
        ({"metric": "gweat"}, "scores are -2 to 2"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["metric"],
)
def test_the_range_of_scores_is_that_of_the_metric_with_these_queries(metric, said):
    words = {
        "targets": {"F": ["she", "woman", "girl", "mother"], "M": ["he", "man", "boy", "father"]},
        "attributes": {"A": ["home", "family"], "B": ["office", "career"]},
    }
    study = Study(
        {"name": "R", "offline": True, "models": [{"source": "demo"}],
         "queries": [{"name": "G", "query": [words]}], "metrics": [metric]}
    )  # fmt: skip
    results = study.run(":memory:", progress=False)
    (method,) = summarize(results)["methods"]["metrics"]
    assert method["range"] == said
    (planned,) = results.plan.metrics
    (task, _), *_ = results.of_kind("score")
    query = results.plan.queries[task.identity["query"]]
    low, high = get_metric(task.identity["metric"])().scale(query, **planned.params).value_range
    assert said == _range(low, high)
    assert low <= results.to_frame()["score"].iloc[0] <= high


def test_warnings_are_counted_by_kind(rich):
    found = summarize(rich)["warnings"]
    of_scores = [
        text.partition(":")[0]
        for _, outcome in rich.of_kind("score")
        for text in outcome.value["warnings"] or ()
    ]
    cancelling = next(each for each in found if each["kind"] == "cancelling-biases")
    assert cancelling["n"] >= of_scores.count("cancelling-biases") > 0
    assert {"model", "metric", "query_set", "query", "message"} == set(cancelling["items"][0])
    assert [each["n"] for each in found] == sorted((each["n"] for each in found), reverse=True)


def test_everything_that_was_asked_for_is_there(rich):
    summary = summarize(rich)
    assert summary["quality"]["benchmarks"] == ["alike"]
    assert len(summary["silhouettes"]) == 2
    assert len(summary["directions"]) == 4
    assert summary["changes"][0]["quality"][0]["benchmark"] == "alike"
    assert summary["provenance"]["n_done"] == len(rich.outcomes)
    assert len(summary["provenance"]["keys"]) == len(rich.outcomes)


def test_a_summary_is_json_without_nan_and_the_same_every_time(rich):
    text = json.dumps(summarize(rich), allow_nan=False)
    assert text == json.dumps(summarize(rich), allow_nan=False)


def test_every_method_has_a_meaning_and_a_reference():
    assert set(MITIGATIONS) == {debias_method_name(method) for method in list_debias_methods()}
    assert all(each.meaning and each.reference for each in MITIGATIONS.values())
    ways = AggregationEntry.model_fields
    assert set(AGGREGATIONS) == set(ways["function"].annotation.__args__)
    assert set(TIES) == set(ways["ties"].annotation.__args__)


def test_the_declaration_is_toml_that_says_the_same(rich, nasty):
    import tomllib

    for results in (rich, nasty):
        read = tomllib.loads(as_toml(dict(results.plan.settings["lookup"])))
        assert read == results.plan.settings["lookup"]
    text = summarize(rich)["provenance"]["declaration"]
    assert tomllib.loads(text)["queries"][1]["query"][0]["targets"]["Young"] == [
        "young",
        "youth",
        "child",
    ]


@pytest.mark.parametrize(
    "text", ["plain", "fam\u00edlia", "\u05e9\u05dc\u05d5\u05dd", "\U0001f600", "a\nb"]
)
def test_texts_of_all_scripts_stay_as_they_are(text):
    assert visible(text, "\n") == text


@pytest.mark.parametrize("letter", ["\u202e", "\u2066", "\x00", "\x1b", "\ud800"])
def test_what_is_not_seen_or_reorders_text_is_shown(letter):
    assert visible(f"a{letter}b") == f"a\\u{ord(letter):04x}b"
