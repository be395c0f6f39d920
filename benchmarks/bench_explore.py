"""Projection of a vocabulary, and neighbours with their indirect bias, against their products.

    python benchmarks/bench_explore.py
    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_explore.py     (on a machine shared with others)

The ratio is the claim: both together take at most 1.5 times the matrix products that they need,
numpy's of all queries and of the bias direction with all vectors, in float32 and in blocks. All are
timed in turn in one run, by the clock and by the processor time of all threads. The former says
little while others use the machine, the latter only with a single thread. Memory is the peak of
what was allocated, as tracemalloc counts it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wefe import WordEmbeddingModel
from wefe.metrics import indirect_bias, neighborhoods
from wefe.models._passes import vocabulary_cosines

N_WORDS, DIM, N_QUERIES, K = 400_000, 300, 500, 100
N_NAIVE = 5
ROWS = 8_192


def products(vectors: np.ndarray, queries: np.ndarray) -> None:
    out = np.empty((ROWS, len(queries)), dtype=np.float32)
    for start in range(0, len(vectors), ROWS):
        chunk = vectors[start : start + ROWS]
        np.matmul(chunk, queries.T, out=out[: len(chunk)])


def naive(vectors: np.ndarray, rows: np.ndarray, g: np.ndarray) -> None:
    """As libraries do it: the whole vocabulary sorted for each word, then pair by pair."""
    lengths = np.linalg.norm(vectors, axis=1)
    for row in rows:
        cosines = vectors @ (vectors[row] / lengths[row]) / lengths
        for near in np.argsort(-cosines)[1 : K + 1]:
            w, v = (each.astype(np.float64) / np.linalg.norm(each) for each in vectors[[row, near]])
            rest_w, rest_v = w - (w @ g) * g, v - (v @ g) * g
            rest = rest_w @ rest_v / (np.linalg.norm(rest_w) * np.linalg.norm(rest_v))
            (w @ v - rest) / (w @ v)


def peak_mb(function: Callable[[], Any]) -> float:
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def in_turn(functions: dict[str, Callable[[], Any]], repeats: int) -> dict[str, np.ndarray]:
    """Shortest times of each, clock and processor, in turn: what else is going on hits all."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            clock, processor = time.perf_counter(), time.process_time()
            function()
            times[name].append((time.perf_counter() - clock, time.process_time() - processor))
    return {name: np.min(each, axis=0) for name, each in times.items()}


def measure(title: str, model: WordEmbeddingModel, rows: np.ndarray, repeats: int) -> float:
    vectors = model.vectors
    words = [str(row) for row in rows]
    g = np.random.default_rng(1).standard_normal(DIM)
    g /= np.linalg.norm(g)
    queries = np.ascontiguousarray(vectors[rows])
    towards = np.stack([g, -g])

    def bare():
        products(vectors, queries)
        products(vectors, g[None].astype(np.float32))

    def project():
        return vocabulary_cosines(model, g[None])

    def near():
        return neighborhoods(model, words, g[None], towards, k=K)

    def both():
        project()
        near()

    times = in_turn(
        {"bare products": bare, "projection": project, "neighbours": near, "both": both}, repeats
    )
    print(f"\n{title}: {len(vectors):,} x {DIM}, {len(rows)} words, k = {K}")
    for name, seconds in times.items():
        ratios = seconds / times["bare products"]
        print(
            f"  {name:<14} {seconds[0]:6.2f} s {ratios[0]:5.2f} x"
            f"   processor {seconds[1]:6.2f} s {ratios[1]:5.2f} x"
        )
    print(f"  memory of neighbours: {peak_mb(near):.0f} MB")
    check(model, near(), rows, g)
    return float(times["both"][0])


def check(model: WordEmbeddingModel, found: Any, rows: np.ndarray, g: np.ndarray) -> None:
    """The benchmark is of what is right."""
    for i in (0, len(rows) - 1):
        neighbors = model.vectors[found.rows[i]]
        expected = indirect_bias(model.vectors[rows[i]], neighbors, g)
        np.testing.assert_allclose(found.indirect_bias[i], expected, atol=1e-9)
        assert rows[i] not in found.rows[i]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    print(f"load of the machine (1 minute): {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((N_WORDS, DIM), dtype=np.float32)
    rows = rng.choice(N_WORDS, N_QUERIES, replace=False)
    words = [str(row) for row in range(N_WORDS)]
    ours = measure("in memory", WordEmbeddingModel((words, vectors)), rows, repeats)

    start = time.perf_counter()
    naive(vectors, rows[:N_NAIVE], np.eye(DIM)[0])
    seconds = (time.perf_counter() - start) * N_QUERIES / N_NAIVE
    print(
        f"  a loop, per word argsort and per pair beta: {seconds:.0f} s, {seconds / ours:.0f} x "
        f"ours (EXTRAPOLATED from {N_NAIVE} words)"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "vectors.npy")
        np.save(path, vectors)
        del vectors
        mapped = WordEmbeddingModel((words, np.load(path, mmap_mode="r")))
        measure("mapped", mapped, rows, repeats)


if __name__ == "__main__":
    main()
