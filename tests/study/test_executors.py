"""Processes and clusters: the same tables, and nothing finished is lost however a run ends."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import CancelledError

import pandas as pd
import pytest
from dying_workers import die_at_short
from small_studies import declared, n_computed, run, tables

from wefe.study import StudyResults, _run

# Slow enough to be interrupted.
SLOW = {"intervals": {"n_bootstrap": 3000}, "queries": [{"set": "gender"}]}


def test_processes_give_the_same_tables(folder):
    here = run(declared(folder))
    there = run(declared(folder), ":memory:", n_jobs=2)
    assert there.run["n_computed"] == here.run["n_computed"]
    pd.testing.assert_frame_equal(tables(here), tables(there))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_worker_that_dies_fails_its_model_only(folder, monkeypatch, n_jobs):
    monkeypatch.setattr(_run, "run_tasks", die_at_short)
    results = run(declared(folder, "short", "whole"), n_jobs=n_jobs)
    (failure,) = results.failures().itertuples()
    assert (failure.model_name, "SIGKILL" in failure.reason) == ("short", True)
    assert results.n_tasks["missing"] == 0


def test_dask_keeps_failures_apart(folder):
    distributed = pytest.importorskip("distributed")
    (folder / "none.txt").write_bytes(b"she 0.1 0.2\nhe 0.1 oops\n")
    with distributed.Client(processes=False, n_workers=1, dashboard_address=None) as client:
        where = {"engine": "dask", "scheduler": client.scheduler.address}
        results = run(declared(folder, "whole", "none"), **where)
    assert results.failures()["model_name"].tolist() == ["none"]
    assert results.n_tasks["missing"] == 0


def test_a_lost_scheduler_ends_the_run_with_a_reason(folder, monkeypatch):
    def lose(*_):
        raise CancelledError

    monkeypatch.setattr(_run, "run_tasks", lose)
    with pytest.raises(ConnectionError, match="scheduler was lost"):
        run(declared(folder))


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_tables(folder):
    distributed = pytest.importorskip("distributed")
    here = run(declared(folder))
    options = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": None}
    with distributed.LocalCluster(processes=True, **options) as cluster:
        where = {"engine": "dask", "scheduler": cluster.scheduler_address}
        there = run(declared(folder), ":memory:", **where)
    pd.testing.assert_frame_equal(tables(here), tables(there))


# Interruptions

CALL = """
import json, signal, sys
# A job in the background may ignore Ctrl-C and SIGHUP; what it starts does, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
hasattr(signal, "SIGHUP") and signal.signal(signal.SIGHUP, signal.SIG_DFL)
data, folder, options, sys.path[:] = map(json.loads, sys.argv[1:])
from wefe.study import Study
Study(data, folder, folder + "/study.toml").run(progress=False, **options)
"""


def start(study, folder, **options):
    """Run a study in a process of its own."""
    data = study.declaration.model_dump(mode="json", exclude_unset=True)
    given = [json.dumps(each) for each in (data, str(folder), options, sys.path)]
    return subprocess.Popen(
        [sys.executable, "-c", CALL, *given],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def n_results(path, kinds="NOT IN ('model', 'study')"):
    if path.is_file():
        with (
            contextlib.closing(sqlite3.connect(path, timeout=60)) as db,
            contextlib.suppress(sqlite3.OperationalError),  # the tables are being made
        ):
            assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            return db.execute(f"SELECT count(*) FROM results WHERE kind {kinds}").fetchone()[0]
    return 0


def wait_for(path, n, process, *kinds):
    until = time.monotonic() + 120
    while n_results(path, *kinds) < n and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"n_jobs": 2}])
def test_killed_at_random_points_it_finishes_with_the_same_results(folder, options):
    study, path = declared(folder, **SLOW), folder / "study.db"
    whole = run(study, ":memory:")
    n_tasks = len({outcome.key for outcome in whole.outcomes})
    computed = []
    for point in sorted(random.Random(len(options)).sample(range(n_tasks - 10), 2)):
        process = start(study, folder, **options)
        wait_for(path, point, process)
        assert process.poll() is None
        end(process)
        computed.append(n_results(path))
        assert computed[-1] >= point
    process = start(study, folder, **options)
    assert process.wait(timeout=240) == 0, process.stderr.read()
    resumed = StudyResults.from_file(path)
    # What was finished before the last kill was not computed again.
    assert resumed.run["n_computed"] <= n_tasks - computed[-1]
    pd.testing.assert_frame_equal(tables(whole), tables(resumed))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGHUP")
@pytest.mark.parametrize("name", ["SIGHUP", "SIGKILL"])
def test_workers_end_with_their_caller_however_it_ends(folder, name):
    psutil = pytest.importorskip("psutil")
    # The first task of each worker would take hours.
    endless = [{"metric": "rnsb", "params": {"n_iterations": 5_000_000}}]
    process = start(declared(folder, metrics=endless), folder, n_jobs=2)
    wait_for(folder / "study.db", 2, process, "= 'model'")
    try:
        # The workers, and loky's trackers of resources.
        workers = psutil.Process(process.pid).children()
        assert len(workers) >= 2
        process.send_signal(getattr(signal, name))
        process.wait(timeout=60)
        _, left = psutil.wait_procs(workers, timeout=30)
        assert not left
    finally:
        end(process)


@pytest.mark.slow
def test_two_runs_at_once_share_one_file(folder):
    study = declared(folder, **SLOW)
    alone = run(study, ":memory:")
    for process in [start(study, folder), start(study, folder, n_jobs=2)]:
        assert process.wait(timeout=240) == 0, process.stderr.read()
    assert n_computed(study) == 0
    pd.testing.assert_frame_equal(tables(alone), tables(study.results()))
