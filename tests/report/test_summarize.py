"""What the report says, as data: known winners, sentences that change with the data, gaps."""

import json
import math
import re
from itertools import chain
from pathlib import Path

import pytest

import wefe.audit
from wefe.audit._warnings import read_texts
from wefe.datasets import load_weat_queries
from wefe.debias import list_debias_methods
from wefe.debias._registry import debias_method_name
from wefe.report import summarize, to_html, to_markdown
from wefe.report._claims import claims, said
from wefe.report._provenance import METHODS, as_toml
from wefe.report._scores import clusters, scored
from wefe.study import Outcome, Study
from wefe.study._entries import AggregationEntry

# Distances from no bias. WEAT: a 0.1, b 0.5, c 0.3; ECT: a 0.1, b 0.2, c 0.5.
SCORES = {
    "WEAT": {"Gender": {"q": {"a": -0.1, "b": 0.5, "c": 0.3}}},
    "ECT": {"Gender": {"q": {"a": 0.9, "b": 0.8, "c": 0.5}}},
}


def sentences(results, *kinds):
    """Return the sentences of some kinds of claims, or of a place."""
    return [
        claim["text"]
        for claim in summarize(results)["claims"]
        if claim["kind"] in kinds or claim["place"] in kinds
    ]


def eight(**scores):
    return {f"q{i}": dict(scores) for i in range(8)}


def test_ranks_sums_and_distances_are_those_of_the_worked_example(made):
    summary = summarize(made(SCORES))
    assert summary["rankings"] == [
        {
            "name": "Gender",
            "way": "the mean distance of the scores from the value that means no bias",
            "function": "bias_avg",
            "columns": [
                {"name": "WEAT", "kind": "bias", "best": 0.0, "no_bias": [0.0]},
                {"name": "ECT", "kind": "bias", "best": 0.0, "no_bias": [1.0]},
            ],
            "rows": [
                {"model": "a", "ranks": [1, 1], "scores": pytest.approx([0.1, 0.1]), "sum": 2},
                {"model": "b", "ranks": [3, 2], "scores": pytest.approx([0.5, 0.2]), "sum": 5},
                {"model": "c", "ranks": [2, 3], "scores": pytest.approx([0.3, 0.5]), "sum": 5},
            ],
        }
    ]
    assert summary["metrics"][1]["parts"][0]["cells"][2] == [
        {"score": 0.5, "distance": 0.5, "no_bias_value": 1.0, "status": "done"}
    ]


def test_no_sentence_promises_that_a_model_is_without_bias(rich, with_failure, example):
    for results in (rich, with_failure, example):
        text = json.dumps(summarize(results)).lower()
        assert "unbiased" not in text
        assert "fair model" not in text


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
    assert sentences(results, "tested") == [
        "In 1 of 1 tested ranking, the first model is significantly closer to no bias than the "
        "second (paired over queries)."
    ]
    verdict = summarize(results)["claims"][0]
    assert verdict["text"] == "Gender: a ranks first on WEAT (significantly)."
    assert verdict["evidence"] == {
        "models": ["a", "b", "c"], "n": 8, "unit": "query", "p_value": 2 / 256
    }  # fmt: skip


def test_tested_and_untested_rankings_are_told_apart(made):
    many = eight(a=0.1, b=0.9)
    scores = {"WEAT": {"G": many}, "RND": {"G": dict(list(many.items())[:7])}}
    mixed = {f"q{i}": {"a": 0.9 * (i % 2), "b": 0.5} for i in range(8)}
    results = made({**scores, "ECT": {"G": mixed}})
    (said,) = sentences(results, "tested")
    assert said.startswith("In 1 of 2 tested rankings, the first model is significantly closer")
    assert said.endswith("; 1 could not be tested.")
    (said,) = sentences(made({**scores, "ECT": {"G": eight(a=0.9, b=0.1)}}), "leader")
    assert said == "G: a ranks first on all 3 metrics (significantly on 2 of 2 tested)."


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
    for (_, name), cluster in clusters(queries).items():
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
    # An interval around no bias reaches down to it.
    for interval, n_overlap in (((-0.9, -1.0, -0.8), 0), ((0.3, -0.1, 0.4), 1)):
        scores["WEAT"]["Gender"]["q"]["b"] = with_interval(*interval)
        assert summarize(made(scores))["pairs"][0]["n_overlap"] == n_overlap


def test_intervals_that_do_not_hold_their_score_are_named(made):
    scores = {"ECT": {"G": {"q": {"a": with_interval(0.99, 0.72, 0.98),
                                  "b": with_interval(0.5, 0.4, 0.6)},
                            # As they are written, these are the same.
                            "r": {"a": with_interval(0.70001, 0.5, 0.7),
                                  "b": with_interval(0.5, 0.5, 0.6)}}}}  # fmt: skip
    (part,) = summarize(made(scores))["metrics"][0]["parts"]
    assert ["outside" in cell for row in part["cells"] for cell in row] == [
        True,
        False,
        False,
        False,
    ]
    assert "[0.720, 0.980] does not contain the score" in to_html(made(scores))


def test_the_side_of_a_test_is_said_in_words(example):
    assert sentences(example, "one_sided") == []
    one_sided = summarize(example)
    one_sided["methods"]["metrics"][0]["params"]["p_value_test_type"] = "right-sided"
    (claim,) = [c for c in claims(one_sided, scored(example)) if c.kind == "one_sided"]
    assert said(claim)["text"] == (
        "The test of WEAT-ES is right-sided: it only tests whether the first targets are "
        "associated with the first attributes, so a score below 0 always has a large p-value."
    )


# Sentences

TIED = {"WEAT": {"Gender": {"q": {"a": -0.1, "b": 0.1, "c": 0.3}}}}
SEVEN = {f"q{i}": {"a": 0.1, "b": 0.9} for i in range(7)}
# By ECT a is first in the mean of eight queries, but nearer in four of them only.
MIXED = {f"q{i}": {"a": 0.9 if i < 4 else 0.5, "b": 0.3 if i < 4 else 0.7} for i in range(8)}
P_VALUES = {"q": (0.001, 0.9), "r": (0.03, 0.04), "s": (0.2, 0.06)}
P_VALUES = {
    query: {name: {"score": 0.5, "p_value": p} for name, p in zip("ab", pair, strict=True)}
    for query, pair in P_VALUES.items()
}
MITIGATED = {"a": 0.3, "b": 0.4, "a + hard": 0.1, "shuffled b": 0.05}
ONE_WAY = {"q": {"a": 0.1, "b": 0.2, "c": 0.3}}
OTHER_WAY = {"q": {"a": 0.3, "b": 0.2, "c": 0.1}}
# Scores, kinds or places of claims, and the sentences.
SAID = [
    (SCORES, ["first_on"], ["Gender: a ranks first on WEAT and ECT."]),
    (SCORES, ["lowest_sum"], ["a has the lowest sum of ranks over both metrics: 2, where 2 is the "
                              "least possible; b follows with 5."]),
    (SCORES, ["leader", "no_leader"], ["Gender: no model is clearly ahead: a ranks first on both "
                                       "metrics (not tested for significance)."]),
    ({**SCORES, "ECT": {"Gender": {"q": {"a": 0.4, "b": 0.8, "c": 0.5}}}}, ["first_on"],
     ["Gender: a ranks first on WEAT; b ranks first on ECT."]),
    (TIED, ["verdict"], ["Gender: no model is clearly ahead: models tie for first on 1 metric (not "
                         "tested for significance)."]),
    (TIED, ["first_on"], ["Gender: a and b tie for first on WEAT."]),
    ({"WEAT": {"G": {"q": {"a": 0.1}}}}, ["verdict"],
     ["a is the only model with scores, so there is no ranking."]),
    ({"WEAT": {"G": {q: {"a": of["a"]} for q, of in P_VALUES.items()}}}, ["verdict"],
     ["a is the only model with scores, so there is no ranking.",
      "Scores with p < 0.05: a 2 of 3 (1 after Holm's correction for 3 tests)."]),
    ({"WEAT": {"G": eight(a=0.1, b=0.2)}, "RND": {"G": eight(a=0.2, b=0.1)}}, ["verdict"],
     ["G: no model is clearly ahead: a ranks first on 1 of 2 metrics (significantly), b on 1 "
      "(significantly).",
      "a and b share the lowest sum of ranks over both metrics: 3, where 2 is the least "
      "possible."]),
    ({"WEAT": {"G": eight(a=0.1, b=0.2)}, "RND": {"G": eight(a=0.1, b=0.2)}, "ECT": {"G": MIXED}},
     ["leader"], ["G: a ranks first on all 3 metrics (significantly on 2)."]),
    ({"WEAT": {"G": eight(**MITIGATED)}}, ["verdict"],
     ["G: shuffled b ranks first on WEAT (significantly).",
      "G: without mitigated models and shuffled b (a control by its name), a ranks first on WEAT "
      "(significantly)."]),
    ({"WEAT": {"G": SEVEN}, "RND": {"G": SEVEN}}, ["tested"],
     ["No ranking could be tested for significance: without intervals, the test needs at least 8 "
      "groups of queries that share no words."]),
    ({"WEAT": {"G": P_VALUES}}, ["p_values"],
     ["Scores with p < 0.05: a 2 of 3 (1 after Holm's correction for 6 tests); b 1 of 3 (0 after "
      "Holm's correction for 6 tests)."]),
    ({"WEAT": {"G": ONE_WAY}, "RND": {"G": OTHER_WAY}}, ["differ", "spread"],
     ["Some metrics rank the models differently (Spearman correlation): WEAT and RND (-1.00).",
      "The metrics disagree most about a (rank 1 on WEAT, 3 on RND); c (rank 1 on RND, 3 on "
      "WEAT)."]),
    ({"WEAT": {"G": ONE_WAY}, "RND": {"G": ONE_WAY}}, ["differ", "spread", "same_order"],
     ["Both metrics rank the models in the same order."]),
    *(({name: {"G": {"q": {f"m{i}": 0.1 + i / 10 for i in range(n)}}} for name in ("WEAT", "RND")},
       ["by_chance"], [f"With {n} models, {text}."])
      for n, text in [(3, "even a perfect rank correlation may be chance (p = 0.33)"),
                      (4, "even a perfect rank correlation may be chance (p = 0.083)"),
                      (7, "a rank correlation below 0.786 may be chance (p > 0.05)")]),
]  # fmt: skip


@pytest.mark.parametrize(("scores", "kinds", "expected"), SAID)
def test_sentences(made, scores, kinds, expected):
    assert sentences(made(scores), *kinds) == expected


# The verdict


# What disagrees


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
        return sentences(results, "same_order")

    one, fewer = {**lost, "a": 0.1}, {**ranked, "c": no_value}
    for first, second in ((lost, lost), (one, one), (ranked, lost), (ranked, fewer)):
        assert said(WEAT=first, RND=second) == []
    assert said(WEAT=fewer, RND=fewer) == ["Both metrics rank the models in the same order."]
    assert said(WEAT=ranked, RND=ranked, ECT=lost) == [
        "2 of 3 metrics rank the models in the same order; the others rank fewer than two models."
    ]


def test_external_columns_are_called_so_and_do_not_count_in_the_sum(made):
    external = [{"name": "WEB", "best": "higher", "scores": {"a": 1.0, "b": 3.0, "c": 2.0}}]
    summary = summarize(made(SCORES, {"external": external}))
    overall = summary["rankings"][0]
    # With one query set, all is said once.
    assert [part["name"] for part in summary["rankings"]] == ["Gender"]
    assert [part["name"] for part in summary["correlations"]] == ["Gender"]
    assert summary["correlations"][0]["columns"] == ["WEAT", "ECT", "WEB"]
    assert overall["columns"][-1] == {
        "name": "WEB",
        "kind": "external",
        "best": None,
        "no_bias": [],
    }
    first = overall["rows"][0]
    assert (first["model"], first["ranks"], first["sum"]) == ("a", [1, 1, 3], 2)
    assert first["scores"] == pytest.approx([0.1, 0.1, 1.0])


# What mitigation changed


def test_a_mitigated_model_is_compared_with_its_base(made):
    scores = {
        "WEAT": {"G": {"q": {"a": -0.4, "b": 0.9, "a + hard": 0.1}}},
        "ECT": {"G": {"q": {"a": 0.9, "b": 0.1, "a + hard": 0.5}}},
        "RND": {"G": {"q": {"a": 0.0, "b": 0.1, "a + hard": 0.1}}},
    }
    (change,) = summarize(made(scores))["changes"]
    assert (change["model"], change["base"]) == ("a + hard", "a")
    weat, ect, rnd = change["bias"]
    assert (weat["before"], weat["after"], weat["relative"]) == pytest.approx((0.4, 0.1, -0.75))
    assert (ect["before"], ect["after"]) == pytest.approx((0.1, 0.5))
    # A change from nothing has no percentage.
    assert rnd["relative"] is None
    assert sentences(made(scores), "mitigated", "mitigation") == [
        "Mitigation lowered the measured bias in 1 of 3 comparisons with the original model and "
        "raised it in 2.",
        "a + hard against a (G): higher distance from no bias on ECT (0.100 to 0.500, +400 %), RND "
        "(0.000 to 0.100); lower distance from no bias on WEAT (0.400 to 0.100, -75 %).",
    ]


# Gaps


def test_what_failed_and_what_is_missing_is_said(made):
    failed = Outcome("failed", reason="no such file")
    scores = {"WEAT": {"G": {"q": {"a": 0.1, "b": 0.2, "c": failed},
                             "r": {"a": 0.1, "b": Outcome(), "c": failed}}}}  # fmt: skip
    summary = summarize(made(scores))
    assert summary["gaps"]["failures"] == [
        {"model_name": "c", "reason": "no such file", "n_tasks": 2}
    ]
    assert sentences(made(scores), "gaps") == [
        "1 of 6 tasks is not computed yet and 2 of 6 tasks failed; run the study again to compute "
        "what is missing.",
    ]
    assert "- **c**: 2 tasks failed (no such file)\n" in to_markdown(made(scores))


def test_scores_without_a_value_are_counted_as_the_tidy_table_has_them(made):
    no_value = {"score": None, "nan_reason": "lost"}
    failed = Outcome("failed", reason="no such file")
    results = made({"WEAT": {"G": {"q": {"a": 0.1, "b": no_value, "c": failed},
                                   "r": {"a": Outcome(), "b": no_value, "c": failed},
                                   "s": {"a": no_value, "b": no_value, "c": 0.1}}}})  # fmt: skip
    assert results.to_frame()["score"].isna().sum() == 7
    assert summarize(results)["gaps"]["nan"][-1] == {
        "metric": "WEAT", "query_set": "G", "query": "s", "model": "b", "reason": "lost"
    }  # fmt: skip
    assert sentences(results, "without_value", "left_out") == [
        "7 of 9 scores have no value: 2 failed, 1 not computed yet and 4 undefined (NaN).",
        "Aggregated scores of G leave out queries that not every model could answer: 3 of 3 for "
        "WEAT.",
    ]
    assert "- 4 undefined scores (2 models): lost\n" in to_markdown(results)


def test_words_that_models_lack_are_listed_for_the_right_one_of_two_queries(rich):
    lost, whole = [each for each in summarize(rich)["words"] if each["query_set"] == "Lost"]
    (old,) = [part for part in lost["sets"] if part["lost"]]
    assert old["name"] == "Older"
    assert old["lost"][0]["words"] == ["qxqx", "qyqy"]
    assert not any(part["lost"] for part in whole["sets"])


def test_individual_biases_are_those_of_the_audit(rich):
    each = summarize(rich)["words"][0]
    audit = rich.words("cut 64", "Gender", each["query"])["audit"]
    words = [word for use in audit["targets"] for word in use["used"]]
    table = dict(zip(words, chain(*audit["positions"]), strict=True))
    column = each["positions"]["columns"].index("cut 64")
    shown = dict(zip(each["positions"]["index"], each["positions"]["data"], strict=True))
    assert {word: values[column] for word, values in shown.items()} == {
        word: round(value, 3) for word, value in table.items()
    }
    (strongest,) = [part for part in each["audits"] if part["model"] == "cut 64"]
    first, second = strongest["strongest"]
    assert first[0][0] == max(table, key=table.get)
    assert second[0][0] == min(table, key=table.get)


# The rest


def test_warnings_are_said_in_plain_words(rich):
    meaning = "words of one set are biased in opposite directions, which a mean hides"
    (said,) = sentences(rich, "warned", "not_audited")
    assert said.endswith(f"about these scores. Most often, {meaning}.")
    assert f"<code>cancelling-biases</code>: {meaning} <" in to_html(rich)


def test_every_kind_of_warning_has_plain_words():
    folder = Path(wefe.audit.__file__).parent
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    found = set(re.findall(r'(?:AuditWarning|yield )\(\s*"([a-z-]+)",', code))
    assert found | {*read_texts("warnings.toml")} == {*METHODS["warnings"]}


@pytest.mark.parametrize(
    ("after", "way", "text"),
    [
        (0.3132, "the same", "about the same quality on alike (0.313)."),
        (0.25, "lower", "lower quality on alike (0.313 to 0.250, -20 %)."),
    ],
)
def test_quality_that_did_not_change_is_called_the_same(rich, after, way, text):
    summary = json.loads(json.dumps(summarize(rich)))
    (quality,) = summary["changes"][0]["quality"]
    quality |= {"before": 0.3131, "after": after, "way": way, "relative": after / 0.3131 - 1}
    found = [said(each)["text"] for each in claims(summary, scored(rich)) if each.kind == "changed"]
    assert f"cut 64 (hard-debias, gender) against cut 64: {text}" in found


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        # Eight target words, each with an association of at most 2.
        ({"metric": "weat"}, [-16, 16]),
        ({"metric": "rnd"}, [None, None]),
        ({"metric": "rnd", "params": {"distance": "cos"}}, [-2, 2]),
        ({"metric": "rnsb"}, [0, math.log(8)]),
    ],
    ids=str,
)
def test_the_range_of_scores_is_that_of_the_metric_with_these_queries(metric, said):
    words = {
        "targets": {"F": ["she", "woman", "girl", "mother"], "M": ["he", "man", "boy", "father"]},
        "attributes": {"A": ["home", "family"], "B": ["office", "career"]},
    }
    given = {"name": "R", "offline": True, "models": [{"source": "demo"}], "metrics": [metric]}
    study = Study({**given, "queries": [{"name": "G", "query": [words]}]})
    (method,) = summarize(study.run(":memory:", progress=False))["methods"]["metrics"]
    assert method["range"] == pytest.approx(said)


def test_warnings_are_counted_by_kind(rich):
    found = summarize(rich)["warnings"]
    of_scores = [
        text.partition(":")[0]
        for _, outcome in rich.of_kind("warnings")
        for text in outcome.value["warnings"]
    ]
    cancelling = next(each for each in found if each["kind"] == "cancelling-biases")
    assert cancelling["n"] >= of_scores.count("cancelling-biases") > 0
    assert {"model", "metric", "query_set", "query", "message"} == set(cancelling["items"][0])
    assert [each["n"] for each in found] == sorted((each["n"] for each in found), reverse=True)


def test_a_summary_is_json_without_nan_and_the_same_every_time(rich):
    text = json.dumps(summarize(rich), allow_nan=False)
    assert text == json.dumps(summarize(rich), allow_nan=False)


def test_every_method_has_a_meaning_and_a_reference():
    assert set(METHODS["mitigations"]) == {
        debias_method_name(method) for method in list_debias_methods()
    }
    assert all(meaning and reference for meaning, reference in METHODS["mitigations"].values())
    ways = AggregationEntry.model_fields
    assert set(METHODS["aggregations"]) == set(ways["function"].annotation.__args__)
    assert set(METHODS["ties"]) == set(ways["ties"].annotation.__args__)


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
