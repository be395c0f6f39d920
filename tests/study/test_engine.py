"""The engine of studies: what is kept under which key, and what proves itself."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from wefe import WordEmbeddingModel, compare_models, load, load_test_model, measure
from wefe._same_words import on_same_words
from wefe.datasets import load_query_set
from wefe.study import Study, StudyResults, verify
from wefe.study._store import Store

FORMS = [{}, {"lowercase": True}]
QUERIES = load_query_set("gender", offline=True)[:2]
LACKS = {"short": ("math", "poetry"), "none": ("math", "algebra", "geometry", "calculus")}


@pytest.fixture
def folder(tmp_path):
    """Two models that lack different words, and one that cannot answer the query about math."""
    packaged = load_test_model()
    asked = {w for q in QUERIES for part in q.target_sets + q.attribute_sets for w in part}
    words = [word for word in packaged.vocab if word in asked]
    for name, lacks in {"whole": (), **LACKS}.items():
        kept = [word for word in words if word not in lacks]
        size = 64 if name == "whole" else 48
        vectors = packaged.get_vectors(kept)[:, :size].copy()
        WordEmbeddingModel((kept, vectors)).save(str(tmp_path / f"{name}.txt"))
    return tmp_path


def declared(folder, *models, **more):
    return Study(
        {
            "name": "Engine",
            "offline": True,
            "models": [{"source": f"{name}.txt"} for name in models],
            "queries": [{"set": "gender", "leave_out": [q.query_name for q in _others()]}],
            "metrics": [{"metric": "weat-es", "params": {"p_value_method": "saddlepoint"}}],
            **more,
        },
        folder,
        folder / "study.toml",
    )


def _others():
    return load_query_set("gender", offline=True)[2:]


def run(study, **options):
    return study.run(progress=False, **options)


def test_a_changed_number_of_resamples_keeps_the_scores(folder):
    with_intervals = {"intervals": {"n_bootstrap": 60}, "audit": {"scores": True}}
    first = run(declared(folder, "whole", **with_intervals))
    kinds = [task.kind for task in first.plan.tasks]
    assert kinds.count("interval") == kinds.count("warnings") == kinds.count("score") == 2
    assert run(declared(folder, "whole")).run["n_computed"] == 0
    others = run(declared(folder, "whole", intervals={"n_bootstrap": 80}))
    assert others.run["n_computed"] == 2
    one, other = first.to_frame(), others.to_frame()
    assert one["score"].tolist() == other["score"].tolist()
    assert (one["score_lower"] != other["score_lower"]).all()
    again = run(declared(folder, "whole", **with_intervals))
    assert again.run["n_computed"] == 0
    pd.testing.assert_frame_equal(one, again.to_frame())


def test_the_progress_of_identical_models_ends_at_its_total(folder, monkeypatch):
    from wefe.study import _study

    bars = []

    class Bar(_study.progress_bar):
        def __init__(self, *args):
            super().__init__(*args)
            bars.append(self)

    monkeypatch.setattr(_study, "progress_bar", Bar)
    shutil.copy(folder / "whole.txt", folder / "twin.txt")
    results = run(declared(folder, "whole", "twin"))
    assert results.run["n_computed"] == len(results.plan.tasks) / 2
    assert [(bar._done, bar._total) for bar in bars] == [(2, 2), (8, 8)]


def test_models_are_compared_on_the_words_that_all_have(folder, caplog):
    names = ["whole", "short"]
    table = run(declared(folder, *names)).to_frame()
    assert (
        "2 words of the queries are left out because not all models have them: math, p"
        in caplog.text
    )
    models = [load(folder / f"{name}.txt") for name in names]
    expected = measure("weat-es", QUERIES, on_same_words(models, QUERIES, {"preprocessors": FORMS}),
                       metric_params={"preprocessors": FORMS})  # fmt: skip
    assert table["score"].tolist() == expected["score"].tolist()
    assert table["lost_words"].tolist() == expected["lost_words"].tolist()
    assert table["words_lost"].tolist() == expected["words_lost"].tolist()
    assert table["words_lost"].sum() > 0
    own = run(declared(folder, *names, lookup={"own_words": True})).to_frame()
    each = [run(declared(folder, name)).to_frame() for name in names]
    assert own["score"].tolist() == [score for one in each for score in one["score"]]
    assert own["score"].tolist() != table["score"].tolist()


def test_a_model_that_cannot_answer_takes_no_words_from_the_others(folder):
    alone = run(declared(folder, "whole")).to_frame()
    beside = run(declared(folder, "whole", "none")).to_frame()
    assert beside["score"][beside["model_name"] == "none"].isna().any()
    assert alone["score"].tolist() == beside["score"][beside["model_name"] == "whole"].tolist()


@pytest.mark.parametrize(("n_jobs", "n_threads"), [(None, None), (1, None), (2, 3)])
def test_models_that_are_read_side_by_side_share_the_cores(folder, monkeypatch, n_jobs, n_threads):
    from wefe.models.formats import _source
    from wefe.study import _run

    seen = []
    original = _run.Run.open

    def open_and_note(self, units, *others):
        seen.extend(unit.n_threads for unit in units)
        original(self, units, *others)

    monkeypatch.setattr(_source, "available_cores", lambda: 6)
    monkeypatch.setattr(_run.Run, "open", open_and_note)
    run(declared(folder, "whole", "short"), n_jobs=n_jobs)
    assert seen == [n_threads] * 2


def test_two_models_are_compared_as_by_compare_models(folder):
    names = ["whole", "short"]
    results = run(declared(folder, *names, intervals={"n_bootstrap": 300}))
    (found,) = results.compare_models(*names).itertuples()
    models = [load(folder / f"{name}.txt") for name in names]
    expected = compare_models(
        "weat-es", QUERIES, *models, metric_params={"preprocessors": FORMS}, n_bootstrap=300
    )
    assert found.n_queries == expected.n_queries == 2
    for name in ("difference", "lower", "upper", "p_value"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-6)
    assert results.compare_models("short", "whole")["difference"][0] == -found.difference
    assert run(declared(folder, *names)).compare_models(*names).empty
    with pytest.raises(ValueError, match="not a model of this study"):
        results.compare_models("whole", "other")


def test_a_result_that_was_edited_is_refused_by_name_and_computed_anew(folder):
    study = declared(folder, "whole", "short")
    first = run(study)
    with contextlib.closing(sqlite3.connect(folder / "study.db")) as db:
        key = first.of_kind("score")[1][1].key
        db.execute("UPDATE results SET value = replace(value, '.', '.1') WHERE key = ?", (key,))
        db.commit()
    read = StudyResults.from_file(folder / "study.db")
    ((task, outcome),) = read.failed
    assert task.name == first.of_kind("score")[1][0].name
    assert "was changed after it was written" in outcome.reason
    assert np.isnan(read.to_frame()["score"][1])
    again = run(study)
    assert again.run["n_computed"] == 1
    assert again.to_frame()["score"].tolist() == first.to_frame()["score"].tolist()


def test_verify_computes_a_sample_again(folder):
    study = declared(folder, "whole", "short")
    results = run(study)
    found = verify(study, results, n=100, progress=False)
    assert len(found) == len(results.plan.tasks)
    assert found["passed"].all()
    assert (found["largest_difference"] == 0).all()
    assert len(verify(study, results, n=2, random_state=1, progress=False)) == 2
    with Store(folder / "study.db") as store:
        (row,) = store.get([results.of_kind("score")[0][1].key]).values()
        store.put([row._replace(value={**row.value, "score": row.value["score"] + 0.5})])
    edited = study.results()
    found = verify(study, edited, n=100, progress=False)
    assert found["largest_difference"][~found["passed"]].tolist() == [0.5]
    with pytest.raises(ValueError, match="the study file has changed"):
        verify(declared(folder, "whole"), results, progress=False)
    with pytest.raises(ValueError, match="n must be an integer"):
        verify(study, results, n=0)


def test_a_full_disk_is_an_error_at_once(folder, monkeypatch):
    original = Store._prepare

    def open_on_a_full_disk(self):
        original(self)
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        self._db.execute(f"PRAGMA max_page_count = {pages}")

    monkeypatch.setattr(Store, "_prepare", open_on_a_full_disk)
    start = time.monotonic()
    with pytest.raises(OSError, match=r"study\.db: .* disk is full"):
        run(declared(folder, "whole"))
    assert time.monotonic() - start < 5


# Dask


def _dask(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *arguments]
        if arguments[0].startswith("--port")
        else [sys.executable, "-m", "distributed.cli.dask_worker", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.slow
def test_dask_survives_a_worker_and_resumes_after_its_scheduler(folder):
    pytest.importorskip("distributed")
    many = {"intervals": {"n_bootstrap": 4000}}
    whole = run(declared(folder, "whole", "short", **many), results=folder / "whole.db")
    port = _free_port()
    address = f"tcp://127.0.0.1:{port}"
    started = []

    def scheduler():
        started.append(_dask(f"--port={port}", "--host=127.0.0.1", "--no-dashboard"))
        return started[-1]

    def worker():
        started.append(_dask(address, "--nthreads=1", "--no-dashboard", "--no-nanny"))
        return started[-1]

    try:
        first = scheduler()
        workers = [worker(), worker()]
        study = declared(folder, "whole", "short", **many)
        # A worker that is lost while it works hands its calls to the other one.
        code = (
            "from wefe.study import Study; import json, sys; "
            "Study(json.loads(sys.argv[1]), sys.argv[2], sys.argv[2] + '/study.toml')"
            ".run(engine='dask', scheduler=sys.argv[3], progress=False)"
        )
        call = [sys.executable, "-c", code, _as_json(study), str(folder), address]
        caller = subprocess.Popen(call, stderr=subprocess.PIPE, text=True)
        _wait_for_results(folder / "study.db", 1)
        os.killpg(workers[0].pid, signal.SIGKILL)
        # Then the scheduler is lost, and the run ends with a reason.
        _wait_for_results(folder / "study.db", 2)
        os.killpg(first.pid, signal.SIGKILL)
        _, text = caller.communicate(timeout=180)
        if caller.returncode:
            assert "scheduler was lost" in text
        for each in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)
        scheduler(), worker()
        resumed = run(study, engine="dask", scheduler=address)
    finally:
        for each in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)
            each.wait()
    volatile = ["seconds", "finished"]
    pd.testing.assert_frame_equal(
        whole.to_frame().drop(columns=volatile), resumed.to_frame().drop(columns=volatile)
    )


def _as_json(study):
    return study.declaration.model_dump_json(exclude_unset=True)


def _wait_for_results(path, n):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as db:
            if db.execute(
                "SELECT count(*) FROM results WHERE kind NOT IN ('model', 'study')"
            ).fetchone()[0] >= n:  # fmt: skip
                return
        time.sleep(0.02)
    raise AssertionError("no results came")
