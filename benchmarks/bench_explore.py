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

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _table import parser, report
from _timing import allocated_mb, best_time, in_turn

from wefe import WordEmbeddingModel
from wefe.metrics import indirect_bias
from wefe.metrics._proximity import neighborhoods
from wefe.models._passes import vocabulary_cosines

N_WORDS, DIM, N_QUERIES, K = 400_000, 300, 500, 100
QUICK_WORDS, QUICK_QUERIES = 40_000, 100
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

    ways = {
        "projection of all words": project,
        f"{K} neighbours of {len(rows)} words, indirect bias": near,
        "both": both,
    }
    times = in_turn({"bare products": bare, **ways}, repeats)
    products_s, products_processor, _ = times["bare products"]
    memory = allocated_mb(near)
    print(f"\n{title}: {len(vectors):,} x {DIM}, {len(rows)} words, k = {K}")
    for name, (seconds, processor, _) in times.items():
        print(
            f"  {name:<46} {seconds:6.2f} s {seconds / products_s:5.2f} x"
            f"   processor {processor:6.2f} s {processor / products_processor:5.2f} x"
        )
        if name in ways:
            about = {"against": "the bare matrix products", "their_seconds": products_s}
            task = f"{len(vectors):,} x {DIM} {title}: {name}"
            report(task, seconds, memory if ways[name] is near else None, **about)
    print(f"  memory of neighbours: {memory:.0f} MB")
    check(model, near(), rows, g)
    return times["both"].seconds


def check(model: WordEmbeddingModel, found: Any, rows: np.ndarray, g: np.ndarray) -> None:
    """The benchmark is of what is right."""
    for i in (0, len(rows) - 1):
        neighbors = model.vectors[found.rows[i]]
        expected = indirect_bias(model.vectors[rows[i]], neighbors, g)
        np.testing.assert_allclose(found.indirect_bias[i], expected, atol=1e-9)
        assert rows[i] not in found.rows[i]


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--repeats", type=int)
    options = asked.parse_args()
    repeats = options.repeats or (2 if options.quick else 5)
    n_words, n_queries = (QUICK_WORDS, QUICK_QUERIES) if options.quick else (N_WORDS, N_QUERIES)
    print(f"load of the machine (1 minute): {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((n_words, DIM), dtype=np.float32)
    rows = rng.choice(n_words, n_queries, replace=False)
    words = [str(row) for row in range(n_words)]
    ours = measure("in memory", WordEmbeddingModel((words, vectors)), rows, repeats)

    seconds = best_time(partial(naive, vectors, rows[:N_NAIVE], np.eye(DIM)[0]), 1)[0]
    seconds *= n_queries / N_NAIVE
    about = {
        "against": "a loop that sorts for each word, then pair by pair",
        "note": f"extrapolated from {N_NAIVE} words",
    }
    report(f"{n_words:,} x {DIM} in memory: both", ours, their_seconds=seconds, **about)
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
