"""Bias silhouettes against evaluating each subset from scratch.

    python benchmarks/bench_silhouette.py
    python benchmarks/bench_silhouette.py --runs 100

ECT, WEAT and RNSB on lists of 70 social-group words and 6,000 concept words, 300 dims, with the
steps of the paper; RNSB for one tenth of the runs unless --runs is given, as it takes longest. From
scratch is `run_query` on queries of ten sizes spread evenly, times the number of subsets. Needs
Linux for peak memory.
"""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path

import numpy as np

from wefe import ECT, RNSB, WEAT, Query, WordEmbeddingModel
from wefe.silhouette import bias_silhouette

DIM = 300
SIZES = (35, 35, 3_000, 3_000)
RUNS = 100
SAMPLE = 10


def make(length: float) -> tuple[WordEmbeddingModel, list[list[str]]]:
    """Two groups and two kinds of concept words, leaning along two directions."""
    rng = np.random.default_rng(0)
    words = [[f"{name}{i}" for i in range(n)] for name, n in zip("abcd", SIZES, strict=True)]
    flat = [word for part in words for word in part]
    vectors = rng.normal(size=(len(flat), DIM)).astype(np.float32)
    gender, sentiment = rng.normal(size=(2, DIM)) / np.sqrt(DIM)
    starts = np.cumsum([0, *SIZES])
    vectors[: starts[1]] += 4 * gender
    vectors[starts[2] : starts[3]] += 2 * gender + 3 * sentiment
    vectors *= length / np.linalg.norm(vectors, axis=1).mean()
    return WordEmbeddingModel((flat, vectors), "generated"), words


def from_scratch(metric, query, model, vary, sizes, n_runs) -> float:
    """Seconds that all subsets would take, one query each."""
    instance, n_targets = metric(), len(query.target_sets)
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    for row in np.linspace(0, len(sizes) - 1, SAMPLE).astype(int):
        sets = [list(part) for part in query.target_sets + query.attribute_sets]
        places = range(n_targets) if vary == "targets" else range(n_targets, len(sets))
        for place, size in zip(places, sizes[row], strict=True):
            sets[place] = [sets[place][i] for i in rng.permutation(len(sets[place]))[:size]]
        part = Query(sets[:n_targets], sets[n_targets:])
        instance.run_query(part, model, **metric._params_for_subsets)
    return (time.perf_counter() - start) / SAMPLE * len(sizes) * n_runs


def peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) * 1024 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, help="runs of every metric")
    parser.add_argument(
        "--length", type=float, default=5.0, help="mean length of the vectors; GloVe's is about 5"
    )
    options = parser.parse_args()
    model, words = make(options.length)
    pairs = Query(words[:2], words[2:])
    one_list = Query(words[:2], [words[2] + words[3]])
    for metric, query in ((WEAT, pairs), (ECT, one_list), (RNSB, pairs)):
        ours = scratch = n_scores = 0.0
        for vary in ("targets", "attributes"):
            slow = metric is RNSB and vary == "attributes"
            n_runs = options.runs or (RUNS // 10 if slow else RUNS)
            Path("/proc/self/clear_refs").write_text("5")
            before = peak_mb()
            start = time.perf_counter()
            silhouette = bias_silhouette(metric, query, model, vary, n_runs, progress=False)
            took = time.perf_counter() - start
            all_sizes = from_scratch(metric, query, model, vary, silhouette.sizes, n_runs)
            ours, scratch = ours + took, scratch + all_sizes
            n_scores += silhouette.curves.size
            print(
                f"{metric.__name__}, {vary}, {n_runs} runs, {silhouette.curves.size:,} scores: "
                f"{took:.1f} s, {peak_mb() - before:.0f} MB; from scratch {all_sizes:,.0f} s: "
                f"{all_sizes / took:.0f} x",
                flush=True,
            )
        print(f"{metric.__name__}: {ours:.1f} s, {scratch / ours:.0f} x", flush=True)


if __name__ == "__main__":
    main()
