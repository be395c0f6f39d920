"""The results file: read alone, shared by studies, and never believed when it was changed."""

import numpy as np
import pandas as pd
import pytest
from small_studies import declared, execute, n_computed, run, tables

from wefe.study import StudyResults
from wefe.study._store import Store


def test_a_results_file_is_read_without_its_study_file_and_not_written(folder):
    results = run(declared(folder))
    # One plain file, with nothing beside it.
    assert [file.name for file in folder.glob("study.db*")] == ["study.db"]
    before = (folder / "study.db").read_bytes()
    again = StudyResults.from_file(folder / "study.db")
    assert (folder / "study.db").read_bytes() == before
    pd.testing.assert_frame_equal(results.to_frame(), again.to_frame())
    assert again.plan == results.plan
    assert again.models == results.models
    assert again.models["whole"]["dim"] == 64


def test_a_file_shows_the_study_that_ran_last_and_keeps_the_results_of_others(folder):
    one = run(declared(folder))
    # The tasks are the same ones, whatever the study is called.
    assert n_computed(declared(folder, name="Another")) == 0
    assert StudyResults.from_file(folder / "study.db").plan.name == "Another"
    assert declared(folder).results().outcomes == one.outcomes


def test_other_files_are_refused_and_left_alone(folder):
    study = declared(folder)
    (folder / "text.db").write_bytes(b"she 0.1 0.2\n" * 100)
    with pytest.raises(ValueError, match=r"text\.db"):
        StudyResults.from_file(folder / "text.db")
    with pytest.raises(ValueError, match=r"text\.db cannot be read"):
        run(study, folder / "text.db")
    execute(folder / "other.db", "CREATE TABLE something (a)")
    with pytest.raises(ValueError, match="is not a results file of wefe"):
        run(study, folder / "other.db")
    with pytest.raises(OSError, match="in a folder that exists"):
        run(study, folder / "no" / "folder.db")
    with pytest.raises(FileNotFoundError, match="no such results file"):
        study.results()
    Store(folder / "study.db")
    with pytest.raises(ValueError, match=r"study\.db is damaged"):
        StudyResults.from_file(folder / "study.db")
    execute(folder / "study.db", "PRAGMA user_version = 99")
    with pytest.raises(ValueError, match="another version of wefe"):
        run(study)


def test_a_place_that_cannot_be_written_is_named_at_once(folder, monkeypatch):
    study = declared(folder)
    # SQLite fails as in a folder that is write-protected, which root may write to.
    (folder / "study.db-journal").mkdir()
    with pytest.raises(OSError, match=r"study\.db: the results file cannot be written"):
        run(study)
    monkeypatch.setattr("wefe.study._store._PATIENCE_S", 0)
    with (
        Store(folder / "locked.db") as store,
        store._transaction(),
        pytest.raises(TimeoutError, match=r"locked\.db: another run"),
    ):
        run(study, folder / "locked.db")


def test_a_result_that_was_edited_is_refused_by_name_and_computed_anew(folder):
    study = declared(folder)
    first = run(study)
    _, outcome = first.of_kind("score")[1]
    execute(
        folder / "study.db",
        "UPDATE results SET value = replace(value, '.', '.1') WHERE key = ?",
        outcome.key,
    )
    read = StudyResults.from_file(folder / "study.db")
    assert read.failures()["n_tasks"].tolist() == [1]
    outcome = read.of_kind("score")[1][1]
    assert "was changed after it was written" in outcome.failure
    assert np.isnan(read.to_frame()["score"][1])
    again = run(study)
    assert again.run["n_computed"] == 1
    pd.testing.assert_frame_equal(tables(again), tables(first))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE results SET value = '{}' WHERE kind = 'study'",
        "UPDATE results SET value = replace(value, 'a', 'b') WHERE kind = 'model'",
        "UPDATE results SET kind = 'score' WHERE kind = 'study'",
        "UPDATE results SET value = replace(hex(zeroblob(50000)), '00', '[')",
        "DROP TABLE results",
        "CREATE VIEW v AS SELECT 1",
    ],
)
def test_damaged_results_files_are_named(folder, damage):
    run(declared(folder, "whole", metrics=[{"metric": "ect"}]))
    execute(folder / "study.db", damage)
    with pytest.raises(ValueError, match=r"study\.db is damaged"):
        StudyResults.from_file(folder / "study.db")
