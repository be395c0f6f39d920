"""A study of seven large models, against reading their files once.

    python benchmarks/bench_study.py
    python benchmarks/bench_study.py --p-values --folder FOLDER

Seven text files of 400,000 words x 300 dims (about 1 GB each, written into FOLDER and kept there if
one is named), the 25 queries of the WEFE case study (those of which all words are at hand: set
WEFE_DATA_DIR, or be online, for all) and its four metrics. Each line of times is a fresh process;
memory is that of all its processes together, beyond what they share. Needs Linux.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from _table import parser, report
from _timing import best_time

from wefe import WordEmbeddingModel
from wefe.datasets import load_query_set

N_MODELS, DIM = 7, 300
STUDY = """
name = "Seven models"
{models}
[[queries]]
set = "gender"
[[queries]]
set = "ethnicity"
[[queries]]
set = "religion"
[[metrics]]
metric = "weat"
params = {{ calculate_p_value = {p_values} }}
[[metrics]]
metric = "weat-es"
params = {{ calculate_p_value = {p_values} }}
[[metrics]]
metric = "rnd"
[[metrics]]
metric = "rnsb"
[aggregation]
function = "abs_avg"
"""
# What reading means: the bytes alone, the words of the queries, or every word.
READING = {
    "reading the bytes": """
        for path in paths:
            with open(path, "rb", buffering=0) as file:
                while file.read(1 << 22):
                    pass
    """,
    "loading the words of the queries": """
        from wefe import load
        from wefe.datasets import load_query_set
        queries = load_query_set("case_study", offline={offline})
        for path in paths:
            load(path, words=queries, progress=False)
    """,
    "loading every word": """
        from wefe import load
        for path in paths:
            load(path, progress=False)
    """,
}


def make(folder: Path, n_words: int, offline: bool) -> list[Path]:
    """Write the models: the same lines, dealt out to other words in each."""
    paths = [folder / f"model_{number}.txt" for number in range(N_MODELS)]
    if all(path.is_file() for path in paths):
        return paths
    rng = np.random.default_rng(0)
    queries = load_query_set("case_study", offline=offline)
    asked = list(
        dict.fromkeys(
            word
            for query in queries
            for part in query.target_sets + query.attribute_sets
            for word in part
        )
    )
    vocabulary = [f"word{row}" for row in range(n_words)]
    for place, word in zip(rng.permutation(n_words)[: len(asked)], asked, strict=True):
        vocabulary[place] = word
    vectors = rng.normal(0, 0.1, (n_words, DIM)).astype(np.float32)
    # A short number takes the place of nine digits: files of this kind have six.
    vectors = np.round(vectors, 5)
    WordEmbeddingModel((vocabulary, vectors)).save(str(paths[0]))
    with paths[0].open("rb") as file:
        lines = [line.partition(b" ")[2] for line in file]
    for number, path in enumerate(paths[1:], start=1):
        shift = number * n_words // N_MODELS
        with path.open("wb") as file:
            for row, word in enumerate(vocabulary):
                file.write(word.encode() + b" " + lines[(row + shift) % n_words])
    return paths


def timed(code: str) -> tuple[float, float]:
    """Run code in a fresh process; return seconds, and the peak of its tree's memory in MB."""
    peaks = [0.0]

    def watch(process: subprocess.Popen) -> None:
        while process.poll() is None:
            peaks.append(sum(map(own_memory_mb, tree(process.pid))))
            time.sleep(0.05)

    def run() -> tuple[int, threading.Thread]:
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        watcher = threading.Thread(target=watch, args=(process,))
        watcher.start()
        return process.wait(), watcher

    seconds, (code_of_exit, watcher) = best_time(run, 1)
    watcher.join()
    if code_of_exit:
        raise RuntimeError(f"exit code {code_of_exit} of {code}")
    return seconds, max(peaks)


def tree(pid: int) -> list[int]:
    """Return a process and all that it started."""
    found = [pid]
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found += tree(int(entry))
    return found


def own_memory_mb(pid: int) -> float:
    """Return what a process holds that is not a mapped file."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in text.splitlines() if "RssAnon" in line) / 1000


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--words", type=int)
    asked.add_argument("--folder", type=Path)
    asked.add_argument("--p-values", action="store_true", help="exact p-values, too")
    given = asked.parse_args()
    n_words = given.words or (4_000 if given.quick else 400_000)
    try:
        load_query_set("case_study")
        offline = False
    except ConnectionError:
        offline = True
    n_queries = len(load_query_set("case_study", offline=offline))
    with tempfile.TemporaryDirectory() as own:
        folder = given.folder or Path(own)
        folder.mkdir(exist_ok=True)
        paths = make(folder, n_words, offline)
        size = sum(path.stat().st_size for path in paths) / 1e9
        print(f"{N_MODELS} files of {n_words:,} x {DIM}: {size:.1f} GB, {n_queries} queries")
        texts = "".join(f'[[models]]\nsource = "{path.absolute()}"\n' for path in paths)
        (folder / "study.toml").write_text(
            STUDY.format(models=texts, p_values=json.dumps(given.p_values))
        )
        files = f"{N_MODELS} files of {n_words:,} x {DIM}"
        head = f"paths = {[str(path) for path in paths]!r}\n"
        times = {}
        for what, code in READING.items():
            body = "\n".join(line[8:] for line in code.format(offline=offline).splitlines())
            times[what], memory = timed(head + body)
            report(f"{files}: {what}", times[what], memory)
            print(f"{what:40} {times[what]:7.1f} s  {memory:6.0f} MB")
        for n_jobs in (1, 2):
            results = folder / "study.db"
            for file in folder.glob("study.db*"):
                file.unlink()
            code = (
                "from wefe.study import Study\n"
                f"Study.from_file({str(folder / 'study.toml')!r}).run(n_jobs={n_jobs})"
            )
            seconds, memory = timed(code)
            title = f"study of {files}, {n_queries} queries, n_jobs={n_jobs}"
            for what, of in times.items():
                report(title, seconds, memory, against=f"{what} alone", their_seconds=of)
            ratios = ", ".join(f"{seconds / of:.2f} x '{what}'" for what, of in times.items())
            print(f"study, n_jobs={n_jobs:<28} {seconds:7.1f} s  {memory:6.0f} MB  {ratios}")
            again, _ = timed(code)
            report(f"{title}, again", again)
            print(f"the same again, n_jobs={n_jobs:<19} {again:7.1f} s  {results.stat().st_size} B")


if __name__ == "__main__":
    main()
