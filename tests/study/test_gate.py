"""The gate: what passes, what does not, and that nothing passes for want of a measurement."""

import logging
import math
import os

import numpy as np
import pytest

from wefe.study import Outcome, StudyResults
from wefe.study._gate import GateReport, check

ONE = {
    "WEAT-ES": {
        "gender": {"art": {"w2v": 0.75, "glove": -0.25}, "job": {"w2v": 0.25, "glove": 0.25}}
    }
}


def cell(report, model, column="passed", limit="max"):
    rows = report.table[(report.table["model_name"] == model) & (report.table["limit"] == limit)]
    assert len(rows) == 1
    return rows[column].iloc[0]


# Limits on bias


def test_the_mean_distance_of_a_query_set_is_checked(results_of):
    report = check(results_of(ONE), max_bias={"weat-es": 0.4})
    assert not report.passed
    assert cell(report, "w2v", "value") == 0.5
    assert cell(report, "w2v", "margin") == pytest.approx(-0.1)
    assert cell(report, "w2v", "n_scores") == 2
    # The signs differ; a plain mean would be 0.
    assert cell(report, "glove", "value") == 0.25
    assert cell(report, "glove")
    assert report.violations["model_name"].tolist() == ["w2v"]
    assert report.messages() == ["WEAT-ES, gender, w2v: 0.5 is more than 0.4"]


def test_a_value_that_equals_the_limit_passes(results_of):
    assert check(results_of(ONE), max_bias={"weat-es": 0.5}).passed
    assert not check(results_of(ONE), max_bias={"weat-es": np.nextafter(0.5, 0)}).passed


def test_each_score_may_be_checked(results_of):
    report = check(results_of(ONE), max_bias={"weat-es": 0.5}, on="scores")
    assert len(report.table) == 4
    (row,) = report.violations.to_dict("records")
    assert (row["model_name"], row["query_name"], row["value"]) == ("w2v", "art", 0.75)
    assert report.messages() == ["WEAT-ES, gender, w2v, art: 0.75 is more than 0.5"]


def test_the_distance_is_that_from_no_bias_and_a_large_ect_is_fine(results_of):
    results = results_of({"ECT": {"s": {"q": {"fine": 0.875, "far": 0.25, "beyond": 1.25}}}})
    report = check(results, max_bias={"ect": 0.5})
    assert [cell(report, m, "value") for m in ("fine", "far", "beyond")] == [0.125, 0.75, 0.25]
    assert report.violations["model_name"].tolist() == ["far"]


def test_a_label_is_one_metric_and_a_name_is_all_of_that_metric(results_of):
    results = results_of({"RND": ONE["WEAT-ES"], "Unit RND": ONE["WEAT-ES"]})
    metrics = tuple(
        type(metric)(metric.label, "rnd", metric.title, {}, metric.scale, metric.query_sets)
        for metric in results.plan.metrics
    )
    plan = type(results.plan)(**{**vars(results.plan), "metrics": metrics})
    results = StudyResults(plan, results.outcomes)

    def limited(max_bias):
        table = check(results, max_bias=max_bias).table
        return dict(zip(table["metric"], table["most"], strict=True))

    assert limited({"rnd": 0.5}) == {"RND": 0.5, "Unit RND": 0.5}
    assert limited({"Unit RND": 0.5}) == {"Unit RND": 0.5}
    assert limited({"unit rnd": 0.5}) == {"Unit RND": 0.5}
    assert limited({"RND": 0.5}) == {"RND": 0.5}
    # Of two limits on one metric the smaller one holds, in whatever order.
    assert limited({"rnd": 0.5, "Unit RND": 0.75}) == {"RND": 0.5, "Unit RND": 0.5}
    assert limited({"Unit RND": 0.25, "rnd": 0.5}) == {"RND": 0.5, "Unit RND": 0.25}


def test_unknown_metrics_and_wrong_limits_are_refused(two_models):
    with pytest.raises(ValueError, match=r"no metric 'weat'; it has 'WEAT-ES', .* Did you mean"):
        check(two_models, max_bias={"weat": 0.5})
    for wrong in (-0.1, math.nan, math.inf, "0.5", True, None):
        with pytest.raises((ValueError, TypeError), match="limit of 'ect' must be a finite number"):
            check(two_models, max_bias={"ect": wrong})
    with pytest.raises(ValueError, match="there is no limit"):
        check(two_models)
    with pytest.raises(ValueError, match="max_increase needs a baseline"):
        check(two_models, max_increase="10%")
    with pytest.raises(ValueError, match="a baseline needs max_increase"):
        check(two_models, max_bias={"ect": 1}, baseline=two_models)
    with pytest.raises(ValueError, match="max_increase must be a share"):
        check(two_models, max_increase="a tenth", baseline=two_models)
    with pytest.raises(ValueError, match="on must be one of"):
        check(two_models, max_bias={"ect": 1}, on="ranks")
    with pytest.raises(TypeError, match="results must be a StudyResults"):
        check("results.db", max_bias={"ect": 1})


# Nothing passes for want of a measurement

MISSING = [
    (Outcome("failed", reason="OSError: broken file"), "OSError: broken file"),
    (Outcome(), "not computed yet"),
    ("too many words lost", "too many words lost"),
]


@pytest.mark.parametrize(("what", "reason"), MISSING)
@pytest.mark.parametrize("on", ["aggregated", "scores"])
def test_what_has_no_score_fails_with_its_reason(results_of, what, reason, on):
    results = results_of({"RND": {"s": {"q": {"a": 0.0, "b": 0.0}, "r": {"a": 0.0, "b": what}}}})
    report = check(results, max_bias={"rnd": 9}, on=on)
    (row,) = report.violations.to_dict("records")
    assert row["model_name"] == "b"
    assert reason in row["reason"]
    assert math.isnan(row["value"])
    # And as well where increases are checked.
    report = check(results, max_increase="10%", baseline=results, on=on)
    assert report.violations["model_name"].tolist() == ["b"]
    assert reason in report.violations["reason"].iloc[0]


def test_one_model_without_scores_does_not_take_queries_from_the_others(results_of):
    # The aggregated scores of a study leave out what not every model could answer.
    results = results_of({"RND": {"s": {"q": {"a": 0.0, "b": 0.0}, "r": {"a": 1.0, "b": "lost"}}}})
    assert cell(check(results, max_bias={"rnd": 0.25}), "a", "value") == 0.5


def test_nan_may_be_allowed_but_failures_never_and_something_must_be_left(results_of):
    def study(score, other=0.25):
        return results_of({"RND": {"s": {"q": {"m": score}, "r": {"m": other}}}})

    for on in ("aggregated", "scores"):
        options = {"max_bias": {"rnd": 0.5}, "allow_nan": True, "on": on}
        assert check(study("lost"), **options).passed
        assert cell(check(study("lost"), **options), "m", "value") == 0.25
        assert not check(study("lost", 0.75), **options).passed
        assert not check(study(Outcome()), **options).passed
        assert not check(study(Outcome("failed", reason="x")), **options).passed
        nothing_left = check(study("lost", "lost"), **options)
        assert not nothing_left.passed
        assert nothing_left.violations["reason"].str.endswith("lost").all()


def test_a_report_without_checks_has_not_passed(two_models):
    report = check(two_models, max_bias={"ect": 2})
    assert report.passed
    assert not GateReport(report.table.iloc[:0]).passed


# Increases


def pair(results_of, before, after):
    return tuple(
        results_of({"RND": {"s": {f"q{i}": {"m": x} for i, x in enumerate(scores)}}})
        for scores in (before, after)
    )


@pytest.mark.parametrize(
    ("before", "after", "most", "passed"),
    [
        ([0.5], [0.5], "10%", True),
        ([0.5], [0.54], "10%", True),
        ([0.5], [0.56], "10%", False),
        ([0.5], [-0.56], "10%", False),
        ([-0.5], [0.25], "10%", True),
        ([0.5], [0.5625], 0.0625, True),
        ([0.5], [0.5626], 0.0625, False),
        ([0.5], [0.5626], "0.0625", False),
        ([0.5], [0.5], 0, True),
        ([0.5], [0.501], "0%", False),
        # One query may lean more if others lean less: the mean is checked.
        ([0.5, 0.5], [0.75, 0.25], "10%", True),
        # A share of nothing is nothing, but rounding is no increase.
        ([0.0], [1e-8], "10%", True),
        ([0.0], [1e-5], "10%", False),
    ],
)
def test_an_increase_is_relative_or_absolute(results_of, before, after, most, passed):
    old, new = pair(results_of, before, after)
    report = check(new, max_increase=most, baseline=old)
    assert report.passed is passed
    if not passed:
        assert "of the baseline" in report.messages()[0]


def test_what_the_baseline_lacks_fails_unless_it_may_be_new(results_of):
    old = results_of({"RND": {"s": {"q": {"m": 0.5}}}})
    new = results_of({"RND": {"s": {"q": {"m": 0.5, "other": 0.5}}}})
    report = check(new, max_increase="10%", baseline=old)
    assert report.violations["model_name"].tolist() == ["other"]
    assert report.messages() == [
        "RND, s, other: no baseline for 1 of 1 scores; q: it is not in there"
    ]
    allowed = check(new, max_increase="10%", baseline=old, allow_new=True)
    assert allowed.passed
    assert "no baseline" in cell(allowed, "other", "reason", "increase")


@pytest.mark.parametrize("what", ["lost", Outcome(), Outcome("failed", reason="lost")])
def test_a_baseline_that_is_nan_is_none(results_of, what):
    old, new = pair(results_of, [0.5, what], [0.5, 0.5])
    report = check(new, max_increase="10%", baseline=old)
    assert "no baseline for 1 of 2 scores; q1: " in report.messages()[0]
    assert check(new, max_increase="10%", baseline=old, allow_new=True).passed


def gone(results_of, without):
    """Two studies, of which the second does not ask for something."""
    scores = {
        label: {name: {q: {"a": 0.5, "b": 0.5} for q in ("art", "job")} for name in ("s", "t")}
        for label in ("RND", "ECT")
    }
    old = results_of(scores)
    if without == "metric":
        del scores["ECT"]
    for of_sets in scores.values():
        if without == "query set":
            del of_sets["t"]
        for of_queries in of_sets.values():
            if without == "query":
                del of_queries["job"]
            if without == "model":
                for row in of_queries.values():
                    del row["b"]
    return old, results_of(scores)


@pytest.mark.parametrize(
    ("without", "n_rows", "n_scores"),
    [("model", 4, 8), ("query set", 4, 8), ("query", 8, 8), ("metric", 4, 8)],
)
def test_what_is_no_longer_asked_for_does_not_pass_unless_it_may_be_gone(
    results_of, without, n_rows, n_scores
):
    old, new = gone(results_of, without)
    report = check(new, max_increase="10%", baseline=old)
    assert not report.passed
    assert len(report.violations) == n_rows
    assert (
        report.violations["reason"].str.contains("of the baseline no longer in the study: ").all()
    )
    assert report.violations["baseline"].tolist() == [0.5] * n_rows
    each = check(new, max_increase="10%", baseline=old, on="scores").violations
    assert len(each) == n_scores
    assert each["query_name"].notna().all()
    allowed = check(new, max_increase="10%", baseline=old, allow_gone=True)
    assert allowed.passed
    assert f"no longer in the study: {n_scores} (first: " in "\n".join(allowed.notes)
    # Limits on bias need no baseline.
    assert check(new, max_bias={"rnd": 1}).passed


def test_what_the_baseline_could_not_measure_may_go(results_of):
    old = results_of({"RND": {"s": {"q": {"m": 0.5}, "lost": {"m": "lost"}}}})
    new = results_of({"RND": {"s": {"q": {"m": 0.5}}}})
    assert check(new, max_increase="10%", baseline=old).passed


def test_value_and_limit_are_told_apart_however_near_they_are(results_of):
    report = check(results_of(ONE), max_bias={"weat-es": 0.4999999}, on="aggregated")
    assert report.messages() == ["WEAT-ES, gender, w2v: 0.5 is more than 0.4999999"]
    old, new = pair(results_of, [0.5], [0.550002])
    (message,) = check(new, max_increase="10%", baseline=old).messages()
    assert "0.550002 is 10.0% more than the 0.5" in message
    assert message.endswith("at most 0.55 passes")
    report = check(results_of(ONE), max_bias={"weat-es": np.nextafter(0.5, 0)})
    assert report.messages() == ["WEAT-ES, gender, w2v: 0.5 is more than 0.4999999999999999"]


def test_limits_of_the_study_file_hold_where_nothing_is_given(results_of):
    def study(most, increase):
        return results_of(ONE, settings={"limits": {"max": most, "max_increase": increase}})

    assert not check(study({"weat-es": 0.4}, None)).passed
    assert check(study({"weat-es": 0.5}, None)).passed
    assert check(study({"weat-es": 0.4}, None), max_bias={"weat-es": 0.6}).passed
    old = results_of(ONE)
    both = check(study({"weat-es": 0.4}, "10%"), baseline=old)
    assert both.table["limit"].value_counts().to_dict() == {"max": 2, "increase": 2}
    with pytest.raises(ValueError, match="max_increase needs a baseline"):
        check(study({"weat-es": 0.4}, "10%"))
    # What is given is all that is checked.
    assert check(study({"weat-es": 0.4}, "10%"), max_bias={"weat-es": 0.6}).passed
    assert check(study({"weat-es": 0.4}, None), max_increase="10%", baseline=old).passed


def test_new_queries_are_no_increase_and_hide_none(results_of):
    old, new = pair(results_of, [0.5], [0.75, 0.0])
    # The mean over both is below the baseline; that of the old query is not.
    report = check(new, max_increase="10%", baseline=old, allow_new=True)
    assert not report.passed
    assert cell(report, "m", "value", "increase") == 0.75
    old, new = pair(results_of, [0.5], [0.5, 9.0])
    assert check(new, max_increase="10%", baseline=old, allow_new=True).passed


def test_what_does_not_decide_is_noted(results_of):
    old = results_of({"RND": {"s": {"q": {"m": 0.5}, "gone": {"m": 9.0}}}}, name="Old")
    new = results_of(
        {"RND": {"s": {"q": {"m": 0.5}}}}, params={"normalize": True}, left_out=(("x", "offline"),)
    )
    report = check(new, max_increase="10%", baseline=old, allow_gone=True)
    assert report.passed
    notes = "\n".join(report.notes)
    assert "queries of 's' that were not asked: 1" in notes
    assert "the baseline comes from another study, 'Old'" in notes
    assert (
        "scores of the baseline that are no longer in the study: 1 (first: m, s, gone, RND)"
        in notes
    )
    assert "scores with other words or parameters than in the baseline: 1." in notes
    same = results_of({"RND": {"s": {"q": {"m": 0.5}}}})
    assert check(same, max_increase="10%", baseline=same).notes == ()


def test_failures_that_no_limit_is_on_are_noted(results_of):
    results = results_of(
        {"RND": {"s": {"q": {"m": 0.5}}}, "ECT": {"s": {"q": {"m": Outcome("failed", reason="x")}}}}
    )
    report = check(results, max_bias={"rnd": 1})
    assert report.passed
    assert report.notes == (
        "tasks without a limit that were not computed: 1 (first: m, ECT, s, q)",
    )


def test_results_of_another_version_are_noted(results_of):
    def study(version):
        done = Outcome("done", {"score": 0.5}, None, "k", 0.1, "2030-01-01T00:00:00", version)
        return results_of({"RND": {"s": {"q": {"m": done}}}})

    report = check(study("2.1"), max_increase="10%", baseline=study("2.0"))
    assert report.notes == ("the baseline was computed with wefe 2.0, these results with 2.1",)


# To read


def test_a_report_is_short_for_people_and_whole_for_programs(two_models):
    report = check(two_models, max_bias={"weat-es": 0.5, "ect": 1}, on="scores")
    assert repr(report) == "<GateReport: failed: 2 of 8 checks>"
    assert len(report.short()) == 2
    assert list(report.to_frame())[:5] == [
        *("limit", "metric", "query_set", "query_name", "model_name"),
    ]
    passing = check(two_models, max_bias={"weat-es": 2}, on="scores")
    assert repr(passing) == "<GateReport: passed: 6 of 6 checks>"
    # The nearest of each metric and query set.
    assert passing.short()["value"].tolist() == [0.6, 1.0]


def test_markdown_says_what_a_passed_gate_does_not_mean(two_models):
    text = check(two_models, max_bias={"weat-es": 2}).to_markdown()
    assert text.startswith("## Bias gate passed: 4 of 4 checks")
    assert "does not mean that a model has no bias" in text
    assert "unbiased" not in text


def test_markdown_shows_names_as_they_are(results_of):
    evil = "<img src=x onerror=alert(1)>|\n## passed"
    text = check(
        results_of({"RND": {evil: {evil: {evil: Outcome("failed", reason=evil)}}}}, name=evil),
        max_bias={"rnd": 0.5},
    ).to_markdown()
    code = "`<img src=x onerror=alert(1)>\\| ## passed`"
    assert code in text
    # In the reason, which is of many words, they are escaped.
    assert "&lt;img src=x onerror=alert" in text
    assert text.count("<img") == text.count("`<img") == text.count(code)
    assert "\n## passed" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({row.replace("\\|", "").count("|") for row in rows}) == 1


# The command


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Return a function that calls `wefe check` with results in place of files."""
    import typer

    import wefe.study
    from wefe.cli import _check

    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(files, *arguments):
        for name in files:
            (tmp_path / name).touch()
        monkeypatch.setattr(
            wefe.study.StudyResults,
            "from_file",
            staticmethod(lambda path, study=None: files[str(path)]),
        )
        monkeypatch.setattr(_check, "_open_baseline", lambda path, study: files[str(path)])
        app = typer.Typer(pretty_exceptions_enable=False)
        app.command()(_check.check)
        code = app(list(arguments), standalone_mode=False)
        return code or 0, capsys.readouterr().out

    return run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is no limit to check"),
        (["--max", "weat-es"], "expected METRIC=VALUE"),
        (["--max", "=0.5"], "expected METRIC=VALUE"),
        (["--max", "weat-es=much"], "expected METRIC=VALUE"),
        (["--max", "weat-es=-1"], "expected METRIC=VALUE"),
        (["--max", "weat-es=nan"], "expected METRIC=VALUE"),
        (["--max", "weat-es=1", "--max", "weat-es=2"], "Give each metric only once"),
        (["--max", "rnsb=1"], "the study has no metric 'rnsb'"),
        (["--max-increase", "10%"], "needs a baseline"),
        (["--max-increase", "much", "--baseline", "old.db"], "must be a share such as '10%'"),
        (["--max-increase", "10%", "--baseline", "none.db"], "there is no such file"),
        (["--max-increase", "10%", "--baseline", "r.db"], "is the results file itself"),
        (["--max-increase", "10%", "--baseline", "link.db"], "is the results file itself"),
        (["--max", "weat-es=1", "--results", "x.db"], "--results is for a study file"),
        (["--max", "weat-es=1", "--n-jobs", "2"], "--n-jobs is for a study file"),
        (["--max", "weat-es=1", "--baseline", "old.db"], "a baseline needs max_increase"),
    ],
)
def test_wrong_options_are_refused(call, results_of, tmp_path, arguments, message):
    files = {"r.db": results_of(ONE), "old.db": results_of(ONE)}
    (tmp_path / "r.db").touch()
    os.link(tmp_path / "r.db", tmp_path / "link.db")
    with pytest.raises((ValueError, OSError), match=message):
        call(files, "r.db", *arguments)


def test_github_gets_a_summary_and_annotations(call, results_of, tmp_path, monkeypatch):
    evil = "50%,\r\n::error::all: fine"
    files = {"r.db": results_of({"RND": {"s": {"q": {evil: 0.5, "plain": 0.5, "ok": 0.0}}}})}
    (tmp_path / "summary.md").write_text("Of another step.\n", encoding="utf-8")
    call(files, "r.db", "--max", "rnd=0.25")
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == "Of another step.\n"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    code, printed = call(files, "r.db", "--max", "rnd=0.25")
    assert code == 1
    orders = [line for line in printed.splitlines() if line.startswith("::")]
    assert orders == [
        "::error title=Bias gate::RND, s, 50%25,%0D%0A::error::all: fine: 0.5 is more than 0.25",
        "::error title=Bias gate::RND, s, plain: 0.5 is more than 0.25",
    ]
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("Of another step.\n")
    assert "## Bias gate failed: 2 of 3 checks" in text
    assert call({"r.db": results_of(ONE)}, "r.db", "--max", "weat-es=2")[0] == 0
    assert "## Bias gate passed" in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_github_gets_as_many_annotations_as_it_shows(call, results_of, monkeypatch):
    files = {"r.db": results_of({"RND": {"s": {"q": {f"m{i}": 0.5 for i in range(14)}}}})}
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    code, printed = call(files, "r.db", "--max", "rnd=0.25")
    assert code == 1
    assert len([line for line in printed.splitlines() if line.startswith("::error")]) == 10
    assert len([line for line in printed.splitlines() if line.startswith("- RND, s, m")]) == 14


def test_a_summary_that_cannot_be_written_changes_nothing(
    call, results_of, monkeypatch, tmp_path, caplog
):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "folder.md"))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    files = {"r.db": results_of(ONE)}
    with caplog.at_level(logging.WARNING, "wefe"):
        assert call(files, "r.db", "--max", "weat-es=2")[0] == 0
        code, printed = call(files, "r.db", "--max", "weat-es=0.1")
    assert code == 1
    assert "::error title=Bias gate::WEAT-ES, gender, w2v" in printed
    assert "the summary of the job could not be written" in caplog.text


STUDY = """
name = "Gate"
offline = true
[[models]]
source = "demo"
[[queries]]
name = "gender"
[[queries.query]]
targets = {Women = ["she", "woman"], Men = ["he", "man"]}
attributes = {Family = ["home", "children"], Career = ["office", "salary"]}
[[metrics]]
metric = "weat-es"
[limits]
max.weat-es = 2.0
"""


@pytest.fixture
def wefe_check(tmp_path, monkeypatch, capsys):
    """Return a function that calls `wefe check` in a folder with a study file."""
    import typer

    from wefe.cli import _check

    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")

    def run(*arguments):
        app = typer.Typer(pretty_exceptions_enable=False)
        app.command()(_check.check)
        return app(list(arguments), standalone_mode=False) or 0, capsys.readouterr().out

    return run


def test_of_a_study_file_what_is_missing_is_run_first(wefe_check, tmp_path):
    assert wefe_check("study.toml")[0] == 0
    first = StudyResults.from_file(tmp_path / "study.db")
    assert first.is_complete
    # Again from what is there, by the limits that the file has now.
    (tmp_path / "study.toml").write_text(STUDY.replace("2.0", "0.001"), encoding="utf-8")
    assert wefe_check("study.toml")[0] == 1
    again = StudyResults.from_file(tmp_path / "study.db")
    assert again.run["n_computed"] == 0
    assert [one.key for one in again.outcomes] == [one.key for one in first.outcomes]
    # The results file has the limits as well.
    assert wefe_check("study.db")[0] == 1
    assert wefe_check("study.db", "--max", "weat-es=2")[0] == 0


def test_a_release_is_compared_with_the_one_before(wefe_check, tmp_path):
    assert wefe_check("study.toml", "--results", "baseline.db")[0] == 0
    options = ("--max-increase", "10%", "--baseline", "baseline.db")
    assert wefe_check("study.toml", *options)[0] == 0
    (tmp_path / "study.toml").write_text(
        STUDY.replace('["office", "salary"]', '["office", "salary", "she"]'), encoding="utf-8"
    )
    code, printed = wefe_check("study.toml", *options)
    assert code == 1
    assert "more than the" in printed
    assert "scores with other words or parameters than in the baseline: 1." in printed


def test_the_baseline_is_never_written_to(wefe_check, tmp_path):
    assert wefe_check("study.toml")[0] == 0
    options = ("--max-increase", "10%", "--baseline", "study.db")
    for path in ("study.toml", "study.db"):
        with pytest.raises(ValueError, match="is the results file itself"):
            wefe_check(path, *options)
    os.link(tmp_path / "study.db", tmp_path / "kept.db")
    with pytest.raises(ValueError, match="is the results file itself"):
        wefe_check("study.toml", "--results", "kept.db", *options)


def test_a_baseline_may_hold_several_studies(wefe_check, tmp_path):
    assert wefe_check("study.toml", "--results", "all.db")[0] == 0
    (tmp_path / "other.toml").write_text(STUDY.replace("Gate", "Other"), encoding="utf-8")
    assert wefe_check("other.toml", "--results", "all.db")[0] == 0
    options = ("--max-increase", "0%", "--baseline", "all.db")
    code, printed = wefe_check("study.toml", *options)
    assert code == 0
    assert "another study" not in printed
    with pytest.raises(ValueError, match="holds 2 studies"):
        wefe_check("all.db", "--max", "weat-es=2")
    assert wefe_check("all.db", "--name", "Other")[0] == 0
    (tmp_path / "third.toml").write_text(STUDY.replace("Gate", "Third"), encoding="utf-8")
    with pytest.raises(ValueError, match="holds 2 studies"):
        wefe_check("third.toml", *options)
    with pytest.raises(ValueError, match="--name is for a results file"):
        wefe_check("study.toml", "--name", "Gate")
