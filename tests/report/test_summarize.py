"""What the report says, as data: known winners, sentences that change with the data, gaps."""

import json
import math

import pytest

from wefe.debias import list_debias_methods
from wefe.debias._registry import debias_method_name
from wefe.report import summarize
from wefe.report._methods import AGGREGATIONS, METRICS, MITIGATIONS, TIES
from wefe.report._provenance import as_toml
from wefe.report._summarize import visible
from wefe.study import Outcome
from wefe.study._declaration import AggregationEntry, metric_names

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
        "Gender: a has the least bias measured, by WEAT and ECT.",
        "Over both metrics (Gender), a has the lowest sum of ranks: 2, where 2 would be first by "
        "every metric; next is b with 5.",
    ]


def test_the_first_sentence_changes_when_the_scores_do(made):
    other = {**SCORES, "ECT": {"Gender": {"q": {"a": 0.4, "b": 0.8, "c": 0.5}}}}
    assert sentences(made(other), "Least bias measured")[0] == (
        "Gender: a has the least bias measured, by WEAT; b has it by ECT."
    )


def test_a_tie_is_called_one(made):
    tied = {"WEAT": {"Gender": {"q": {"a": -0.1, "b": 0.1, "c": 0.3}}}}
    assert sentences(made(tied), "Least bias measured") == [
        "Gender: a and b have the least bias measured, by WEAT in equal measure."
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
    assert "Overall: b has the least bias measured, by WEAT." in sentences(
        made(scores), "Least bias measured"
    )


# How sure


def with_interval(score, low, high, p_value=math.nan):
    return {"score": score, "score_lower": low, "score_upper": high, "p_value": p_value}


def test_intervals_are_compared_as_distances_from_no_bias(made):
    # Scores on either side of 0: the intervals do not overlap, but the distances do.
    scores = {"WEAT": {"Gender": {"q": {"a": with_interval(0.3, 0.2, 0.4),
                                        "b": with_interval(-0.35, -0.5, -0.25),
                                        "c": with_interval(2.0, 1.9, 2.1)}}}}  # fmt: skip
    assert summarize(made(scores))["overlaps"] == [
        {
            "metric": "WEAT",
            "query_set": "Gender",
            "first": "a",
            "second": "b",
            "n_overlap": 1,
            "n": 1,
        }
    ]
    scores["WEAT"]["Gender"]["q"]["b"] = with_interval(-0.9, -1.0, -0.8)
    assert summarize(made(scores))["overlaps"][0]["n_overlap"] == 0
    (sentence, *_) = sentences(made(scores), "How sure this is")
    assert sentence.startswith("In 0 of 1 ranking")
    assert sentence.endswith("They do not in WEAT, Gender (a, b).")


def test_an_interval_around_no_bias_reaches_down_to_it(made):
    scores = {"WEAT": {"Gender": {"q": {"a": with_interval(0.0, -0.1, 0.1),
                                        "b": with_interval(0.3, -0.4, 0.8)}}}}  # fmt: skip
    assert summarize(made(scores))["overlaps"][0]["n_overlap"] == 1


def test_p_values_are_counted_and_corrected_for_their_number(made):
    values = {"a": 0.001, "b": 0.03, "c": 0.2, "d": 0.9}
    scores = {
        "WEAT": {"Gender": {"q": {m: {"score": 0.5, "p_value": p} for m, p in values.items()}}}
    }
    sentence = next(x for x in sentences(made(scores), "How sure this is") if "p-value" in x)
    assert sentence == (
        "Of 4 scores with a p-value, 2 (50 %) have p < 0.05; about 0.2 would by chance if words "
        "were sorted at random. 1 has p < 0.05 after correction for 4 tests (Bonferroni)."
    )


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


def test_external_columns_are_called_so_and_do_not_count_in_the_sum(made):
    external = [{"name": "WEB", "best": "higher", "scores": {"a": 1.0, "b": 3.0, "c": 2.0}}]
    summary = summarize(made(SCORES, {"external": external}))
    overall = summary["rankings"][0]
    assert overall["name"] == "Overall"
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
    assert "Of the models as they are, a has the least bias measured, by WEAT and ECT." in (
        sentences(made(scores), "Least bias measured")
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
        "1 of 4 scores has no value: 1 of b by WEAT. For example: 'F' lost all of its words.",
        "Aggregates over G leave out queries that not every model could answer: 1 of 2 by WEAT.",
    ]


def test_words_that_models_lack_are_listed_for_the_right_one_of_two_queries(rich):
    lost, whole = [each for each in summarize(rich)["words"] if each["query_set"] == "Lost"]
    assert lost["query"] == whole["query"]  # they have the same name
    (old,) = [part for part in lost["sets"] if part["lost"]]
    assert old["name"] == "Old"
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


def test_every_metric_and_method_has_a_meaning_and_a_reference():
    assert set(METRICS) == set(metric_names())
    assert set(MITIGATIONS) == {debias_method_name(method) for method in list_debias_methods()}
    assert all(each.meaning and each.reference for each in (METRICS | MITIGATIONS).values())
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
    assert visible(text) == text


@pytest.mark.parametrize("letter", ["\u202e", "\u2066", "\x00", "\x1b", "\ud800"])
def test_what_is_not_seen_or_reorders_text_is_shown(letter):
    assert visible(f"a{letter}b") == f"a\\u{ord(letter):04x}b"
