"""Studies: what is computed, what is kept, and that nothing finished is lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dying_workers import die_at_short

from wefe import WordEmbeddingModel, load, load_test_model, measure, run_queries
from wefe.datasets import load_query_set
from wefe.study import Study, StudyResults

STUDY = """
name = "Three models"
offline = true
random_state = 3

[[models]]
source = "whole.txt"
[[models]]
source = "short.txt"
[[models]]
source = "shuffled.txt"

[[queries]]
set = "gender"
[[queries]]
set = "religion"

[[metrics]]
metric = "weat-es"
params = { p_value_method = "approximate", p_value_iterations = 100 }
[[metrics]]
metric = "rnd"
[[metrics]]
metric = "rnsb"
params = { n_iterations = 2 }
"""
# Without the slowest metric.
QUICK = STUDY.split('[[metrics]]\nmetric = "rnsb"')[0]
# Slow enough to be interrupted.
SLOW = QUICK + "[intervals]\nn_bootstrap = 3000\n"
SHORT = QUICK.replace('[[queries]]\nset = "religion"\n', "")
VOLATILE = ["seconds", "finished"]


@pytest.fixture(scope="module")
def models_folder(tmp_path_factory):
    """Three models as text files: whole, of fewer dims, with vectors dealt out to other words."""
    folder = tmp_path_factory.mktemp("models")
    packaged = load_test_model()
    queries = [query for name in ("gender", "religion") for query in load_query_set(name, True)]
    asked = {
        word
        for query in queries
        for part in query.target_sets + query.attribute_sets
        for word in part
    }
    words = [word for word in packaged.vocab if word in asked or packaged.vocab[word] < 300]
    vectors = packaged.get_vectors(words)
    WordEmbeddingModel((words, vectors)).save(str(folder / "whole.txt"))
    WordEmbeddingModel((words, vectors[:, :32].copy())).save(str(folder / "short.txt"))
    order = np.random.default_rng(0).permutation(len(words))
    WordEmbeddingModel((words, vectors[order])).save(str(folder / "shuffled.txt"))
    return folder


@pytest.fixture
def folder(models_folder, tmp_path):
    for file in models_folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def tables(results: StudyResults) -> pd.DataFrame:
    return results.to_frame().drop(columns=VOLATILE)


def run(folder: Path, **options) -> StudyResults:
    return Study.from_file(folder / "study.toml").run(progress=False, **options)


def test_a_study_gives_what_run_queries_gives(folder):
    results = run(folder)
    assert results.is_complete
    models = [_load(folder, name) for name in ("whole", "short", "shuffled")]
    params = {
        "WEAT-ES": {
            "return_effect_size": True,
            "calculate_p_value": True,
            "p_value_method": "approximate",
            "p_value_iterations": 100,
            "p_value_test_type": "two-sided",
            "random_state": 3,
        },
        "RND": {"calculate_p_value": True, "p_value_test_type": "two-sided", "random_state": 3},
        "RNSB": {"n_iterations": 2, "random_state": 3},
    }
    for query_set in ("gender", "religion"):
        for label, own in params.items():
            asked = {
                "metric_params": {"preprocessors": [{}, {"lowercase": True}], **own},
                "generate_subqueries": True,
            }
            name, queries = label.removesuffix("-ES").lower(), load_query_set(query_set, True)
            table = run_queries(
                name,
                queries,
                models,
                query_set,
                aggregate_results=True,
                aggregation_function="bias_avg",
                **asked,
            )
            pd.testing.assert_frame_equal(results.scores(label, query_set), table)
            tidy = results.to_frame().query("query_set == @query_set and metric == @label")
            expected = measure(name, queries, models, query_set, **asked)
            for column in ("score", "p_value", "words_used", "words_lost", "nan_reason"):
                assert tidy[column].tolist() == pytest.approx(
                    expected[column].tolist(), nan_ok=True
                ), column


def _load(folder, name):
    return load(folder / f"{name}.txt")


def test_a_second_run_computes_nothing(folder):
    first, second = run(folder), run(folder)
    assert first.run["n_computed"] == len(first.plan.tasks)
    assert second.run["n_computed"] == 0
    # Not even the time at which they were finished.
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame())


def test_only_what_changed_is_computed_again(folder):
    first = run(folder)
    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(text.replace("n_iterations = 2", "n_iterations = 4"))
    changed = run(folder)
    n_rnsb = sum(task.place.get("metric") == "RNSB" for task in first.plan.tasks)
    assert changed.run["n_computed"] == n_rnsb
    unchanged = "metric != 'RNSB'"
    pd.testing.assert_frame_equal(
        first.to_frame().query(unchanged), changed.to_frame().query(unchanged)
    )
    # What it was before is still there.
    (folder / "study.toml").write_text(text)
    assert run(folder).run["n_computed"] == 0


def test_another_vector_of_a_word_recomputes_the_queries_with_that_word(folder):
    first = run(folder)
    _change_a_vector(folder / "whole.txt", "algebra")
    again = run(folder)
    with_word = [
        task
        for task in first.plan.tasks
        if task.model == "whole"
        and any(
            "algebra" in part for part in first.plan.queries[task.identity["query"]].attribute_sets
        )
    ]
    assert 0 < len(with_word) < len(first.plan.tasks) / 3
    assert again.run["n_computed"] == len(with_word)


def test_a_model_in_another_format_has_the_same_results(folder):
    first = run(folder)
    _load(folder, "whole").save(str(folder / "whole.bin"))
    (folder / "whole.txt").unlink()
    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(text.replace("whole.txt", "whole.bin"))
    again = run(folder)
    assert again.run["n_computed"] == 0
    pd.testing.assert_frame_equal(first.to_frame(), again.to_frame())


def test_a_broken_model_fails_alone_and_is_tried_again(folder):
    whole = (folder / "short.txt").read_bytes()
    (folder / "short.txt").write_bytes(b"she 0.1 0.2\nhe 0.1 oops\n")
    results = run(folder)
    failures = results.failures()
    assert failures["model_name"].tolist() == ["short"]
    assert "oops" in failures["reason"][0]
    assert {task.model for task, _ in results.failed} == {"short"}
    frame = results.to_frame().set_index("model_name")
    assert frame.loc["whole", "score"].notna().all()
    assert frame.loc["short", "score"].isna().all()
    assert (frame.loc["short", "nan_reason"] == failures["reason"][0]).all()
    # The others are ranked as if it were not there.
    ranking = results.rankings()
    assert ranking.loc["short"].isna().all()
    assert ranking.loc[["whole", "shuffled"]].notna().all(axis=None)
    (folder / "short.txt").write_bytes(whole)
    mended = run(folder)
    assert mended.is_complete
    assert mended.run["n_computed"] == len(results.failed)


def test_processes_give_the_same_tables(folder):
    here = run(folder)
    there = run(folder, results=folder / "other.db", n_jobs=2)
    assert there.run["n_computed"] == here.run["n_computed"]
    pd.testing.assert_frame_equal(tables(here), tables(there))


@pytest.mark.slow
@pytest.mark.parametrize("processes", [False, True])
def test_a_dask_cluster_gives_the_same_tables(folder, processes):
    distributed = pytest.importorskip("distributed")
    here = run(folder)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=processes, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        there = run(folder, results=folder / "other.db", engine="dask")
        assert client.status == "running"
        named = run(
            folder,
            results=folder / "named.db",
            engine="dask",
            scheduler=cluster.scheduler_address,
        )
    for other in (there, named):
        assert other.run["n_computed"] == here.run["n_computed"]
        pd.testing.assert_frame_equal(tables(here), tables(other))


# Interruptions


def start(folder: Path, *options: str) -> subprocess.Popen:
    # A job in the background may ignore Ctrl-C and SIGHUP; what it starts does, too.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "hasattr(signal, 'SIGHUP') and signal.signal(signal.SIGHUP, signal.SIG_DFL); "
        f"sys.path[:] = {sys.path!r}; from wefe.cli import main; main()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", str(folder / "study.toml"), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def n_results(path: Path, kinds: str = "NOT IN ('model', 'study')") -> int:
    if not path.is_file():
        return 0
    with (
        contextlib.closing(sqlite3.connect(path, timeout=60)) as db,
        contextlib.suppress(sqlite3.OperationalError),  # the tables are being made
    ):
        return db.execute(f"SELECT count(*) FROM results WHERE kind {kinds}").fetchone()[0]
    return 0


def wait_for(path: Path, n: int, process: subprocess.Popen, *kinds: str) -> None:
    end = time.monotonic() + 120
    while n_results(path, *kinds) < n and process.poll() is None:
        assert time.monotonic() < end, process.communicate()[0]
        time.sleep(0.01)


def is_sound(path: Path) -> bool:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--n-jobs", "2")])
def test_killed_at_random_points_it_finishes_with_the_same_results(folder, options):
    (folder / "study.toml").write_text(SLOW)
    whole = run(folder, results=folder / "whole.db")
    n_tasks = len({outcome.key for outcome in whole.outcomes})
    path, draw = folder / "study.db", random.Random(len(options))
    points = sorted(draw.sample(range(n_tasks - 10), 3))
    computed = []
    for point in points:
        process = start(folder, *options)
        wait_for(path, point, process)
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert is_sound(path)
        computed.append(n_results(path))
        assert computed[-1] >= point
    process = start(folder, *options)
    text = process.communicate(timeout=240)[0]
    assert process.returncode == 0, text
    resumed = StudyResults.from_file(path)
    # What was finished before the last kill was not computed again.
    assert resumed.run["n_computed"] <= n_tasks - computed[-1]
    pd.testing.assert_frame_equal(tables(whole), tables(resumed))


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--n-jobs", "2")])
def test_control_c_loses_nothing_and_says_so(folder, options):
    (folder / "study.toml").write_text(SLOW)
    path = folder / "study.db"
    process = start(folder, *options)
    wait_for(path, 5, process)
    os.kill(process.pid, signal.SIGINT)
    text = process.communicate(timeout=60)[0]
    assert process.returncode == 130, text
    assert "the same command again to continue" in text
    assert "Traceback" not in text
    n_before = n_results(path)
    assert n_before >= 5
    # The workers are gone, too.
    time.sleep(0.5)
    assert n_results(path) == n_before
    results = run(folder)
    assert results.is_complete
    assert results.run["n_computed"] <= len(results.plan.tasks) - n_before


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGHUP")
@pytest.mark.parametrize("name", ["SIGHUP", "SIGKILL"])
def test_workers_end_with_their_caller_however_it_ends(folder, name):
    psutil = pytest.importorskip("psutil")
    # The first task of each worker would take hours.
    (folder / "study.toml").write_text(
        STUDY.split("[[metrics]]")[0]
        + '[[metrics]]\nmetric = "rnsb"\nparams = { n_iterations = 5_000_000 }\n'
    )
    process = start(folder, "--n-jobs", "2")
    wait_for(folder / "study.db", 3, process, "= 'model'")
    try:
        # The workers, and loky's trackers of resources.
        workers = psutil.Process(process.pid).children()
        assert len(workers) >= 2
        process.send_signal(getattr(signal, name))
        process.wait(timeout=60)
        _, left = psutil.wait_procs(workers, timeout=30)
        assert not left
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
def test_two_runs_at_once_share_one_file(folder):
    (folder / "study.toml").write_text(SLOW)
    alone = run(folder, results=folder / "alone.db")
    both = [start(folder), start(folder, "--n-jobs", "2")]
    for process in both:
        text = process.communicate(timeout=240)[0]
        assert process.returncode == 0, text
    assert is_sound(folder / "study.db")
    shared = run(folder)
    assert shared.run["n_computed"] == 0
    pd.testing.assert_frame_equal(tables(alone), tables(shared))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_worker_that_dies_fails_its_model_only(folder, monkeypatch, n_jobs):
    from wefe.study import _run

    monkeypatch.setattr(_run, "run_tasks", die_at_short)
    results = run(folder, n_jobs=n_jobs)
    (failure,) = results.failures().itertuples()
    assert failure.model_name == "short"
    assert "SIGKILL" in failure.reason
    assert {task.model for task, _ in results.failed} == {"short"}
    assert not results.missing


# Aggregation


def test_a_model_that_lacks_words_takes_queries_from_all_or_is_left_out(folder):
    lines = (folder / "short.txt").read_text().splitlines(keepends=True)
    lacks = ("math ", "algebra ", "geometry ", "calculus ", "equations ", "computation ")
    kept = [line for line in lines if not line.startswith(lacks)]
    (folder / "short.txt").write_text("".join(kept))
    queries = run(folder)
    column = queries.scores("WEAT-ES", "gender")
    left_out = queries.totals("gender")["WEAT-ES"]["left_out"].iloc[0]
    assert len(left_out) == 1
    assert "Math" in left_out[0]
    whole = column.loc["whole"]
    assert whole.iloc[-1] == pytest.approx(whole.drop(left_out).iloc[:-1].abs().mean())
    assert queries.rankings("gender").notna().all(axis=None)

    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(text + '[aggregation]\nmissing = "models"\n')
    models = run(folder)
    assert models.run["n_computed"] == 0
    column = models.scores("WEAT-ES", "gender")
    assert column.loc["whole"].iloc[-1] == pytest.approx(column.loc["whole"].iloc[:-1].abs().mean())
    ranks = models.rankings("gender")
    assert ranks.loc["short"].isna().all()
    assert sorted(ranks.drop("short")["WEAT-ES"]) == [1, 2]


# The results file


def test_a_results_file_is_read_without_its_study_file(folder):
    results = run(folder)
    (folder / "study.toml").unlink()
    again = StudyResults.from_file(folder / "study.db")
    pd.testing.assert_frame_equal(results.to_frame(), again.to_frame())
    pd.testing.assert_frame_equal(results.rankings(), again.rankings())
    assert again.plan == results.plan
    assert again.models["whole"]["dim"] == 256
    assert again.run["finished"] >= again.run["started"]


def test_a_file_of_several_studies_asks_which(folder):
    run(folder)
    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(text.replace("Three models", "Another"))
    # The tasks are the same ones, whatever the study is called.
    assert run(folder).run["n_computed"] == 0
    with pytest.raises(
        ValueError, match="holds 2 studies. Name one of them: 'Another', 'Three models'"
    ):
        StudyResults.from_file(folder / "study.db")
    assert StudyResults.from_file(folder / "study.db", "Another").plan.name == "Another"
    with pytest.raises(ValueError, match="Did you mean 'Another'"):
        StudyResults.from_file(folder / "study.db", "another")


def test_other_files_are_refused(folder):
    study = Study.from_file(folder / "study.toml")
    (folder / "text.db").write_text("she 0.1 0.2\n" * 100)
    with pytest.raises(ValueError, match=r"text\.db cannot be read as a results file"):
        study.run(folder / "text.db")
    with contextlib.closing(sqlite3.connect(folder / "other.db")) as db:
        db.execute("CREATE TABLE something (a)")
    with pytest.raises(ValueError, match="is not a results file of wefe"):
        study.run(folder / "other.db")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        study.run(folder / "no" / "folder.db")
    with pytest.raises(FileNotFoundError, match="there is no such results file"):
        study.results()
    with pytest.raises(FileNotFoundError):
        StudyResults.from_file(folder / "none.db")
    assert not (folder / "none.db").exists()
    run(folder)
    with contextlib.closing(sqlite3.connect(folder / "study.db")) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(ValueError, match="another version of wefe"):
        run(folder)


def test_a_place_that_cannot_be_written_is_named_at_once(folder):
    run(folder)
    # SQLite fails as in a folder that is write-protected, which root may write to.
    (folder / "study.db-journal").mkdir()
    with pytest.raises(OSError, match=r"study\.db: the results file cannot be written"):
        run(folder)


def test_reading_changes_nothing(folder):
    (folder / "empty.db").write_bytes(b"")
    with pytest.raises(ValueError, match="is not a results file of wefe"):
        StudyResults.from_file(folder / "empty.db")
    assert (folder / "empty.db").read_bytes() == b""
    results = run(folder)
    StudyResults.from_file(folder / "study.db")
    # One plain file, with nothing beside it.
    assert [file.name for file in folder.glob("study.db*")] == ["study.db"]
    before = (folder / "study.db").read_bytes()
    kept = folder / "kept"
    kept.mkdir()
    (kept / "baseline.db").write_bytes(before)
    (kept / "baseline.db").chmod(0o444)
    kept.chmod(0o555)
    try:
        again = StudyResults.from_file(kept / "baseline.db")
    finally:
        kept.chmod(0o755)
    pd.testing.assert_frame_equal(results.to_frame(), again.to_frame())
    assert (kept / "baseline.db").read_bytes() == before


def test_what_was_not_computed_is_missing_and_nan(folder):
    study = Study.from_file(folder / "study.toml")
    with contextlib.suppress(KeyboardInterrupt):
        _interrupted_after(study, 7)
    results = study.results()
    assert len(results.missing) == len(results.plan.tasks) - 7
    assert not results.is_complete
    assert "missing" in repr(results)
    frame = results.to_frame()
    assert (frame["nan_reason"][frame["status"] == "missing"] == "not computed yet").all()
    assert frame["score"].notna().sum() == 7


def _interrupted_after(study, n):
    from wefe.study import _run, _tasks

    original = _run.Run._enter

    def enter(self, results):
        if self.n_computed == n:
            raise KeyboardInterrupt
        return original(self, results)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tasks, "CALL_SECONDS", 0)
        patch.setattr(_run.Run, "_enter", enter)
        study.run(progress=False)


def _change_a_vector(path, word):
    lines = path.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith(f"{word} "))
    lines[place] = f"{word} " + " ".join(reversed(lines[place].split()[1:]))
    path.write_text("\n".join(lines) + "\n")


def test_a_file_that_changes_while_tasks_run_fails_the_rest_of_them(folder, monkeypatch):
    # Vectors of a mapped file are read when a task needs them, long after it was opened.
    from wefe.study import _tasks

    original, n_scores = _tasks._RUN["score"], []

    def score_and_change(place, what):
        value = original(place, what)
        if place.unit.entry.label == "whole":
            n_scores.append(1)
            if len(n_scores) == 2:
                _change_a_vector(folder / "whole.txt", "algebra")
        return value

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tasks, "_RUN", {**_tasks._RUN, "score": score_and_change})
        results = run(folder)
    assert {task.model for task, _ in results.failed} == {"whole"}
    pairs = zip(results.plan.tasks, results.outcomes, strict=True)
    kept = [task for task, outcome in pairs if task.model == "whole" and outcome.status == "done"]
    assert len(kept) == 1
    assert set(results.failures()["reason"].str.contains("changed during the study")) == {True}
    fresh = run(folder, results=folder / "fresh.db")
    pd.testing.assert_frame_equal(tables(run(folder)), tables(fresh))


def test_models_with_the_same_vectors_share_results_under_their_own_names(folder):
    (folder / "copy.txt").write_bytes((folder / "whole.txt").read_bytes())
    text = (folder / "study.toml").read_text()
    more = 'source = "copy.txt"\n[audit]\ncriteria = ["gender"]\n'
    (folder / "study.toml").write_text(text + "[[models]]\n" + more)
    results = run(folder)
    assert results.is_complete
    n_keys = len({outcome.key for outcome in results.outcomes})
    assert results.run["n_computed"] == n_keys == len(results.plan.tasks) * 3 // 4
    assert [audit["model_name"] for task, audit in results.directions()] == [
        task.model for task, _ in results.directions()
    ]
    query = "Male terms and Female terms wrt Career and Family"
    assert results.words("copy", "gender", query)["audit"]["model_name"] == "copy"


def test_a_report_of_a_study_file_does_not_look_at_the_models(folder):
    results = run(folder)
    (folder / "whole.json").write_text("[]")
    for file in folder.glob("*.txt"):
        file.unlink()
    again = Study.from_file(folder / "study.toml").results()
    pd.testing.assert_frame_equal(results.to_frame(), again.to_frame())
    assert again.run == results.run
    # Declared anew, it is another study, of which some is there.
    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(text.replace("n_iterations = 2", "n_iterations = 4"))
    changed = Study.from_file(folder / "study.toml").results()
    assert changed.missing


def test_files_that_do_not_belong_to_a_model_do_not_reopen_it(folder, monkeypatch):
    from wefe.study import _tasks

    run(folder)
    (folder / "whole.json").write_text("[]")
    (folder / "whole.db").write_bytes(b"")
    opened = []
    monkeypatch.setattr(_tasks, "open_base", lambda unit: opened.append(unit))
    assert run(folder).is_complete
    assert not opened


def test_a_study_of_the_same_name_elsewhere_is_noticed(folder, caplog):
    run(folder)
    (folder / "other.toml").write_bytes((folder / "study.toml").read_bytes())
    Study.from_file(folder / "other.toml").run(folder / "study.db", progress=False)
    assert "had a study called 'Three models' of study.toml" in caplog.text


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
    run(folder)
    with contextlib.closing(sqlite3.connect(folder / "study.db")) as db:
        db.execute(damage)
        db.commit()
    with pytest.raises(ValueError, match=r"study\.db is damaged"):
        StudyResults.from_file(folder / "study.db")


# Other kinds of tasks


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "params"), [("hard-debias", {}), ("inlp", {}), ("half-sibling-regression", {})]
)
def test_mitigated_models_have_the_same_keys_however_they_are_run(folder, method, params):
    mitigation = f'[[mitigations]]\nmethod = "{method}"\ncriterion = "gender"\nmodels = ["whole"]\n'
    (folder / "study.toml").write_text(SHORT + mitigation)
    one = run(folder, results=folder / "one.db")
    two = run(folder, results=folder / "two.db", n_jobs=2)
    pd.testing.assert_frame_equal(tables(one), tables(two))
    # Another query set takes more words; what is there stays.
    more = '[[queries]]\nset = "religion"\n'
    (folder / "study.toml").write_text(SHORT + more + mitigation)
    again = run(folder, results=folder / "one.db", reopen=True)
    new = sum(task.place.get("query_set") == "religion" for task in again.plan.tasks)
    assert again.run["n_computed"] == new
    info = again.models[f"whole ({method}, gender)"]["mitigation"]
    assert info["method"] == method
    assert info["n_ignored"] > 0


def test_what_a_mitigation_does_is_part_of_what_its_results_are_kept_under(folder):
    mitigation = '[[mitigations]]\nmethod = "hard-debias"\ncriterion = "gender"\nname = "hard"\n'
    (folder / "study.toml").write_text(SHORT + mitigation)
    first = run(folder)
    n_mitigated = sum(task.model.endswith("(hard)") for task in first.plan.tasks)
    for change in (
        "ignore = []\n",
        'target = ["math"]\n',
        "params.pca_args = { n_components = 2 }\n",
    ):
        (folder / "study.toml").write_text(SHORT + mitigation + change)
        assert run(folder).run["n_computed"] == n_mitigated, change


def test_mitigated_models_stand_beside_their_own(folder):
    with (folder / "study.toml").open("a") as file:
        file.write('[[mitigations]]\nmethod = "hard-debias"\ncriterion = "gender"\n')
        file.write('models = ["whole"]\n[audit]\nscores = true\ncriteria = ["gender"]\n')
    results = run(folder)
    assert [model.label for model in results.plan.models] == [
        *("whole", "whole (hard-debias, gender)", "short", "shuffled"),
    ]
    frame = results.to_frame()
    mitigated = frame[frame["mitigation"].notna()]
    assert set(mitigated["base_model"]) == {"whole"}
    from wefe.datasets import load_criterion
    from wefe.debias import HardDebias

    criterion = load_criterion("gender", offline=True)
    model = HardDebias().fit_transform(
        _load(folder, "whole"), criterion=criterion, ignore=criterion.specific_words
    )
    table = run_queries(
        "rnd",
        load_query_set("gender", offline=True),
        [model],
        metric_params={"preprocessors": [{}, {"lowercase": True}]},
        generate_subqueries=True,
    )
    scores = results.scores("RND", "gender").loc["whole (hard-debias, gender)"]
    assert scores[:-1].tolist() == pytest.approx(table.iloc[0].tolist(), abs=1e-6)
    directions = {task.model: audit for task, audit in results.directions()}
    assert len(directions) == 4
    assert directions["whole"]["explained_variance_ratio"][0] > 0
    words = results.words("whole", "gender", "Male terms and Female terms wrt Career and Family")
    assert [part["name"] for part in words["sets"]] == [
        *("Male terms", "Female terms", "Career", "Family"),
    ]
    assert words["audit"]["most_biased_word"]


def test_silhouettes_and_quality_are_tasks(folder):
    (folder / "pairs.tsv").write_text(
        "she\the\t9\nmath\talgebra\t8\npoetry\tmath\t2\nwar\tson\t1\n"
    )
    with (folder / "study.toml").open("a") as file:
        file.write('[quality]\nbenchmarks = ["pairs.tsv"]\n[[silhouettes]]\nmetric = "weat-es"\n')
        file.write('query_set = "gender"\nn_runs = 5\nmodels = ["whole", "shuffled"]\n')
        file.write('query = "Male terms and Female terms wrt Career and Family"\n')
    results = run(folder)
    assert results.is_complete
    from wefe.silhouette import bias_silhouette

    silhouettes = {task.model: each for task, each in results.silhouettes()}
    assert list(silhouettes) == ["whole", "shuffled"]
    query = next(q for q in load_query_set("gender", True) if "Career" in q.query_name)
    expected = bias_silhouette(
        "weat",
        query,
        _load(folder, "whole"),
        n_runs=5,
        random_state=3,
        metric_params={"return_effect_size": True, "preprocessors": [{}, {"lowercase": True}]},
    )
    assert silhouettes["whole"].robustness == pytest.approx(expected.robustness)
    quality = results.quality()
    assert quality.shape == (3, 1)
    assert "Quality" in results.rankings()
    assert run(folder).run["n_computed"] == 0


def test_options_that_do_not_fit_are_refused(folder):
    study = Study.from_file(folder / "study.toml")
    with pytest.raises(ValueError, match="engine must be"):
        study.run(engine="spark")
    with pytest.raises(ValueError, match="scheduler is for engine='dask'"):
        study.run(scheduler="tcp://here:1")
    with pytest.raises(TypeError, match="reopen must be True or False"):
        study.run(reopen=1)
    for n_jobs in (0, True, 1.5):
        with pytest.raises((ValueError, TypeError), match="n_jobs must be a number of"):
            study.run(n_jobs=n_jobs)
    assert not study.results_path.exists()


def test_reopening_finds_the_same_vectors(folder):
    first = run(folder)
    for file in folder.glob("*.txt"):
        os.utime(file, (0, 0))
    again = run(folder)
    reopened = run(folder, reopen=True)
    assert again.run["n_computed"] == reopened.run["n_computed"] == 0
    pd.testing.assert_frame_equal(first.to_frame(), again.to_frame())


def test_a_model_that_broke_since_does_not_show_what_it_was(folder):
    run(folder)
    (folder / "short.txt").write_bytes(b"nothing of the kind")
    results = run(folder)
    assert {task.model for task, _ in results.failed} == {"short"}
    assert results.scores("RND", "gender").loc["short"].isna().all()


def test_dask_keeps_failures_apart(folder):
    distributed = pytest.importorskip("distributed")
    (folder / "short.txt").write_bytes(b"she 0.1 0.2\nhe 0.1 oops\n")
    with distributed.Client(processes=False, n_workers=1, dashboard_address=None):
        results = run(folder, engine="dask")
    assert {task.model for task, _ in results.failed} == {"short"}
    assert not results.missing


def test_one_object_may_be_run_again_after_its_files_changed(folder):
    study = Study.from_file(folder / "study.toml")
    first = study.run(progress=False)
    _change_a_vector(folder / "whole.txt", "algebra")
    again = study.run(progress=False)
    assert 0 < again.run["n_computed"] < len(first.plan.tasks) / 3
    fresh = run(folder, results=folder / "fresh.db")
    pd.testing.assert_frame_equal(tables(again), tables(fresh))


def test_a_file_that_changes_while_it_is_read_fails_and_is_read_anew(folder, monkeypatch):
    from wefe.study import _tasks

    original = _tasks.open_base

    def load_and_change(unit):
        model = original(unit)
        if unit.entry.label == "whole":
            _change_a_vector(folder / "whole.txt", "algebra")
        return model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tasks, "open_base", load_and_change)
        results = run(folder)
    assert "changed during the study" in results.failures()["reason"][0]
    assert {task.model for task, _ in results.failed} == {"whole"}
    fresh = run(folder, results=folder / "fresh.db")
    pd.testing.assert_frame_equal(tables(run(folder)), tables(fresh))
