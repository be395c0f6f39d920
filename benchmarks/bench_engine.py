"""What a study of many small models costs, and what it loses when it is killed.

    python benchmarks/bench_engine.py
    python benchmarks/bench_engine.py --kills 100

Models of 10,000 words x 32 dims with random vectors, the queries of the WEFE case study that ship
with the package, WEAT's effect size, RND and ECT, each with a p-value. Times are of the processor,
of all processes together. Needs Linux.
"""

from __future__ import annotations

import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _table import parser, report

from wefe.datasets import load_query_set
from wefe.models import WordEmbeddingModel
from wefe.study import StudyResults

N_WORDS, DIM = 10_000, 32
STUDY = """
name = "Many models"
offline = true
{models}
[[queries]]
set = "gender"
[[queries]]
set = "ethnicity"
[[queries]]
set = "religion"
[[metrics]]
metric = "weat-es"
params = {{ p_value_method = "{method}" }}
[[metrics]]
metric = "rnd"
params = {{ calculate_p_value = true }}
[[metrics]]
metric = "ect"
params = {{ calculate_p_value = true }}
"""


def make(folder: Path, n_models: int) -> None:
    """Write the models, and a study for each kind of p-value."""
    queries = load_query_set("case_study", offline=True)
    asked = [word.lower() for q in queries for side in q.content for part in side for word in part]
    words = list(dict.fromkeys([*asked, *(f"word{row}" for row in range(N_WORDS))]))[:N_WORDS]
    for number in range(n_models):
        vectors = np.random.default_rng(number).normal(size=(N_WORDS, DIM)).astype(np.float32)
        WordEmbeddingModel((words, vectors)).save(str(folder / f"m{number}.safetensors"))
    models = "".join(f'[[models]]\nsource = "m{i}.safetensors"\n' for i in range(n_models))
    for method in ("exact", "saddlepoint"):
        text = STUDY.format(models=models, method=method)
        (folder / f"{method}.toml").write_text(text)


def command(folder: Path, method: str, n_jobs: int) -> list[str]:
    call = [sys.executable, "-m", "wefe", "run", str(folder / f"{method}.toml")]
    return [*call, "--n-jobs", str(n_jobs)]


def processor_seconds(call: list[str]) -> float:
    """Run a command; return the processor time of all its processes."""

    def used() -> float:
        times = resource.getrusage(resource.RUSAGE_CHILDREN)
        return times.ru_utime + times.ru_stime

    before = used()
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return used() - before


def kept(path: Path) -> dict[str, str]:
    """Return what a results file holds: key -> time of writing."""
    with sqlite3.connect(path) as db:
        (verdict,) = db.execute("PRAGMA integrity_check").fetchone()
        assert verdict == "ok", verdict
        rows = db.execute("SELECT key, finished FROM results WHERE kind NOT IN ('model', 'study')")
        return dict(rows.fetchall())


def kill(folder: Path, n_kills: int, n_jobs: int) -> str:
    """Kill runs at random times; return what became of the results."""
    path, rng = folder / "exact.db", random.Random(0)
    results = StudyResults.from_file(path)
    whole, seconds = results.scores("RND", "gender"), results.run["seconds"]
    path.unlink()
    n_done, before = 0, dict[str, str]()
    while n_done < n_kills:
        running = subprocess.Popen(
            command(folder, "exact", n_jobs), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(rng.uniform(0.5, 0.5 + seconds / 3))
        was_alive = running.poll() is None
        running.kill()
        running.wait()
        n_done += was_alive
        now = kept(path) if path.is_file() else {}
        # What was finished is there, and was not written again.
        assert before.items() <= now.items(), "a result was lost, or computed twice"
        before = now
        if not was_alive:
            assert StudyResults.from_file(path).scores("RND", "gender").equals(whole)
            path.unlink()
            before = {}
    processor_seconds(command(folder, "exact", n_jobs))
    assert StudyResults.from_file(path).scores("RND", "gender").equals(whole)
    return f"{n_kills} kills: nothing lost, nothing computed twice, the same table"


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--models", type=int)
    asked.add_argument("--kills", type=int, default=0, metavar="N")
    given = asked.parse_args()
    n_models = given.models or (5 if given.quick else 150)
    with tempfile.TemporaryDirectory() as own:
        folder = Path(own)
        make(folder, n_models)
        for method in ("exact", "saddlepoint"):
            seconds = processor_seconds(command(folder, method, 1)) / n_models
            task = f"study of {n_models} models, {method} p-values, per model"
            report(task, seconds, note="processor time")
            print(f"{task:60} {seconds:6.2f} s", flush=True)
            again = processor_seconds(command(folder, method, 1))
            task = f"study of {n_models} models, {method} p-values, again"
            report(task, again, note="nothing to do")
            print(f"{task:60} {again:6.2f} s", flush=True)
        for n_jobs in (1, 2) if given.kills else ():
            note = kill(folder, given.kills, n_jobs)
            report(f"study killed again and again, n_jobs={n_jobs}", note=note)
            print(f"n_jobs={n_jobs}: {note}", flush=True)


if __name__ == "__main__":
    main()
