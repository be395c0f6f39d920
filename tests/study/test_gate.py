"""The gate: what passes, what does not, and that nothing passes for want of a measurement."""

import math
from dataclasses import replace

import pytest
from made_results import results_of

from wefe.study import Outcome
from wefe.study._gate import GateReport, check

ONE = {
    "WEAT-ES": {
        "gender": {"art": {"w2v": 0.75, "glove": -0.25}, "job": {"w2v": 0.25, "glove": 0.25}}
    }
}


def rnd(*scores, **more):
    """One model, and a query for each score."""
    queries = {f"q{i}": {"m": score} for i, score in enumerate(scores)}
    return results_of({"RND": {"s": queries}}, **more)


def values(report, column="value"):
    return dict(zip(report.table["model_name"], report.table[column], strict=True))


# Limits on bias


def test_the_mean_distance_of_a_query_set_is_checked():
    report = check(results_of(ONE), max_bias={"weat-es": 0.4})
    # The signs differ; a plain mean of 'glove' would be 0.
    assert values(report) == {"w2v": 0.5, "glove": 0.25}
    assert values(report, "passed") == {"w2v": False, "glove": True}
    assert values(report, "n_scores") == {"w2v": 2, "glove": 2}
    assert report.messages() == ["WEAT-ES, gender, w2v: 0.5 is more than 0.4"]
    assert check(results_of(ONE), max_bias={"weat-es": 0.5}).passed
    assert not GateReport(report.table.iloc[:0]).passed


def test_the_distance_is_that_from_no_bias_and_a_large_ect_is_fine():
    results = results_of({"ECT": {"s": {"q": {"fine": 0.875, "far": 0.25, "beyond": 1.25}}}})
    report = check(results, max_bias={"ect": 0.5})
    assert values(report) == {"fine": 0.125, "far": 0.75, "beyond": 0.25}
    assert report.violations["model_name"].tolist() == ["far"]


@pytest.mark.parametrize(
    ("max_bias", "expected"),
    [
        ({"rnd": 0.5}, {"RND": 0.5, "Unit RND": 0.5}),
        ({"unit rnd": 0.5}, {"Unit RND": 0.5}),
        # Of two limits on one metric the smaller one holds.
        ({"rnd": 0.5, "Unit RND": 0.75}, {"RND": 0.5, "Unit RND": 0.5}),
    ],
)
def test_a_label_is_one_metric_and_a_name_is_all_of_that_metric(max_bias, expected):
    results = results_of({"RND": ONE["WEAT-ES"], "Unit RND": ONE["WEAT-ES"]})
    metrics = tuple(replace(metric, metric="rnd") for metric in results.plan.metrics)
    results = replace(results, plan=replace(results.plan, metrics=metrics))
    table = check(results, max_bias=max_bias).table
    assert dict(zip(table["metric"], table["most"], strict=True)) == expected


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_bias": {"weat": 0.5}}, r"'weat' is no metric of this study. Did you mean"),
        ({"max_bias": {"ect": -0.1}}, "'ect'"),
        ({"max_bias": 0.5}, "max_bias must be a dict"),
        ({"max_bias": 0}, "max_bias must be a dict"),
        ({}, "there is no limit"),
        ({"max_increase": "10%"}, "needs a baseline"),
        ({"max_bias": {"ect": 1}, "baseline": rnd(0.5)}, "a baseline needs max_increase"),
        ({"max_increase": "tenth", "baseline": rnd(0.5)}, "an increase must be a share"),
        ({"max_increase": "10%", "baseline": "old.db"}, "baseline must be a StudyResults"),
        ({"max_gap": 0.1}, r"no \[\[retrieval\]\]"),
    ],
)
def test_what_cannot_be_checked_is_refused(two_models, options, says):
    with pytest.raises((ValueError, TypeError), match=says):
        check(two_models, **options)


# Nothing passes for want of a measurement

FAILED = Outcome("failed", failure="OSError: broken file")


@pytest.mark.parametrize(
    ("what", "reason"),
    [(FAILED, "OSError: broken file"), (Outcome(), "not computed yet"), ("lost", "lost")],
)
def test_what_has_no_score_fails_with_its_reason(what, reason):
    results = results_of({"RND": {"s": {"q": {"a": 0.0, "b": 0.0}, "r": {"a": 1.0, "b": what}}}})
    report = check(results, max_bias={"rnd": 9})
    (row,) = report.violations.to_dict("records")
    assert row["model_name"] == "b"
    assert reason in row["reason"]
    assert math.isnan(row["value"])
    # And as well where increases are checked.
    (message,) = check(results, max_increase="10%", baseline=results).messages()
    assert reason in message
    # A model without scores takes no queries from the others, as it does in aggregated scores.
    assert values(check(results, max_bias={"rnd": 9}))["a"] == 0.5


# Increases


@pytest.mark.parametrize(
    ("before", "after", "most", "passed"),
    [
        ([0.5], [0.54], "10%", True),
        ([0.5], [-0.56], "10%", False),
        ([-0.5], [0.25], "10%", True),
        ([0.5], [0.5625], 0.0625, True),
        ([0.5], [0.5626], 0.0625, False),
        ([0.5], [0.5], 0, True),
        ([0.5], [0.501], "0%", False),
        # One query may lean more if others lean less: the mean is checked.
        ([0.5, 0.5], [0.75, 0.25], "10%", True),
        # A share of nothing is nothing, but rounding is no increase.
        ([0.0], [1e-8], "10%", True),
        ([0.0], [1e-5], "10%", False),
    ],
)
def test_an_increase_is_relative_or_absolute(before, after, most, passed):
    report = check(rnd(*after), max_increase=most, baseline=rnd(*before))
    assert report.passed is passed
    assert passed or "the baseline has" in report.messages()[0]


def test_of_scores_that_are_missing_the_first_of_the_study_is_named():
    lost = {"RND": {"s": {"z": {"m": "lost z"}, "a": {"m": "lost a"}}}}
    (message,) = check(results_of(lost), max_increase="10%", baseline=rnd(0.5)).messages()[:1]
    assert "lost z" in message


def test_value_and_limit_are_told_apart():
    (row,) = check(rnd(0.550002), max_increase="10%", baseline=rnd(0.5)).table.to_dict("records")
    assert (row["baseline"], row["most"]) == (0.5, pytest.approx(0.55))
    assert row["reason"] == "0.550002 is more than 0.55; the baseline has 0.5"


@pytest.mark.parametrize("what", ["lost", Outcome(), FAILED, None])
def test_what_the_baseline_lacks_fails(what):
    old = rnd(0.5) if what is None else rnd(0.5, what)
    (message,) = check(rnd(0.5, 0.0), max_increase="10%", baseline=old).messages()
    assert message == "RND, s, m: 1 of 2 scores have no baseline; q1: it is not in there"
    # What the baseline could not measure may go.
    assert check(rnd(0.5), max_increase="10%", baseline=old).passed
    new = results_of({"RND": {"s": {"q0": {"m": 0.5, "other": 0.5}}}})
    (message,) = check(new, max_increase="10%", baseline=old).messages()
    assert message.startswith("RND, s, other: 1 of 1 scores have no baseline")


@pytest.mark.parametrize("without", ["model", "set", "query", "metric"])
def test_what_is_no_longer_asked_for_does_not_pass(without):
    def made(query, model, **names):
        scores = {each: dict.fromkeys(model, 0.5) for each in query}
        return results_of({label: dict.fromkeys(names["set"], scores) for label in names["metric"]})

    names = {"metric": ["RND", "ECT"], "set": "st", "query": ["art", "job"], "model": "ab"}
    old, new = made(**names), made(**{**names, without: names[without][:1]})
    gone = check(new, max_increase="10%", baseline=old).violations
    assert gone["reason"].str.contains("it is no longer in the study").all()
    assert gone["baseline"].tolist() == [0.5] * (8 if without == "query" else 4)


def test_what_has_no_counterpart_may_be_allowed_and_is_noted():
    old, new = rnd(0.5, 9.0), results_of({"RND": {"s": {"q0": {"m": 0.5, "other": 9.0}}}})
    options = {"max_increase": "10%", "baseline": old}
    both = {"allow_new": True, "allow_gone": True}
    report = check(new, **options, **both)
    assert report.passed
    assert report.notes == (
        "scores without a baseline: 1",
        "scores of the baseline that are gone: 1",
    )
    for name in both:
        assert not check(new, **options, **{name: True}).passed
    # A new score that could not be measured is no new score.
    failed = results_of({"RND": {"s": {"q0": {"m": 0.5, "other": FAILED}}}})
    (message,) = check(failed, **options, **both).messages()
    assert "broken file" in message
    # Something must be left.
    other = results_of({"ECT": {"s": {"q": {"m": 0.5}}}})
    assert not check(other, **options, **both).passed


@pytest.mark.parametrize(("cell", "passed"), [("lost", True), (FAILED, False)])
def test_nan_may_be_allowed_but_failures_never_and_something_must_be_left(cell, passed):
    options = {"max_bias": {"rnd": 0.5}, "allow_nan": True}
    assert check(rnd(0.5, cell), **options).passed is passed
    assert not check(rnd(cell), **options).passed
    options = {"max_increase": 0, "baseline": rnd(0.5, 0.5), "allow_nan": True}
    assert check(rnd(0.5, cell), **options).passed is passed


# Notes and texts


def test_what_does_not_decide_is_noted():
    new = rnd(0.5, params={"normalize": True}, left_out=(("x", "offline"),))
    report = check(new, max_increase="10%", baseline=rnd(0.5))
    assert report.passed
    assert report.notes == (
        "queries of 's' that were not asked: 1",
        "scores with other words or parameters than before, so the question changed: 1 (first: m, "
        "s, q0, RND)",
    )


def test_a_report_is_short_for_people_and_whole_for_programs(two_models):
    report = check(two_models, max_bias={"weat-es": 0.5, "ect": 1})
    assert (
        repr(report) == f"<GateReport: {report.summary()}>" == "<GateReport: failed: 1 of 6 checks>"
    )
    assert (len(report._shown()[1]), len(report.table)) == (1, 6)
    assert report.to_markdown().startswith("## Bias gate failed: 1 of 6 checks")
    passing = check(two_models, max_bias={"weat-es": 2})
    assert passing.summary() == "passed: 4 of 4 checks"
    assert passing._shown()[1]["value"].round(9).tolist() == [0.4, 0.3, 1.0, 0.1]
    assert "does not mean that a model has no bias" in passing.to_markdown()
