"""Exact nearest neighbours against gensim, scikit-learn and the bare matrix product, in one run.

    python benchmarks/bench_neighbors.py
    python benchmarks/bench_neighbors.py --approximate     (needs faiss)

The ratios are the claim. The bare product is numpy's of all queries with all vectors, in float32
and in blocks of the same size: what no exact search can do without. Memory is the peak of what was
allocated beside vectors and queries, as tracemalloc counts it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _table import lacking, parser, report
from _timing import allocated_mb, best_time, in_turn

from wefe.models import nearest_neighbors

N_WORDS, DIM, N_QUERIES, K = 400_000, 300, 200, 10
N_QUICK = 40_000
REPEATS = 5
# Enough for many queries to be worth an index.
N_MANY = 5_000


def product(vectors: np.ndarray, queries: np.ndarray) -> None:
    # As nearest_neighbors cuts them.
    rows = min(16_384, 8_000_000 // max(len(queries), DIM))
    buffer = np.empty((len(queries), rows), dtype=np.float32)
    for start in range(0, len(vectors), rows):
        chunk = vectors[start : start + rows]
        np.matmul(queries, chunk.T, out=buffer[:, : len(chunk)])


def line(title: str, seconds: float, ours: float, memory: float) -> None:
    print(
        f"{title:<42} {seconds / ours:6.2f} x the time of ours "
        f"({1e3 * seconds:7.0f} ms, {memory:6.0f} MB)"
    )


def against_others(vectors: np.ndarray, picked: np.ndarray) -> None:
    queries = vectors[picked]

    def ours():
        return nearest_neighbors(vectors, queries, K, exclude=picked)

    times = in_turn({"ours": ours, "bare": lambda: product(vectors, queries)}, REPEATS)
    our_time, _, (rows, cosines) = times["ours"]
    memory = allocated_mb(ours)
    task = f"the {K} nearest of {len(queries)} words among {len(vectors):,} x {DIM}"
    print(task)

    def compare(title: str, seconds: float, theirs: Callable[[], Any] | None) -> None:
        about = {"their_seconds": seconds, "their_mb": theirs and allocated_mb(theirs)}
        report(task, our_time, memory, against=title, **about)
        line(title, seconds, our_time, about["their_mb"] or 0)

    line("ours", our_time, our_time, memory)
    compare("the bare matrix product", times["bare"].seconds, None)

    if why := lacking("gensim"):
        report(task, our_time, memory, against="gensim", missing=why)
    else:
        from gensim.models import KeyedVectors

        words = [str(row) for row in range(len(vectors))]
        keyed = KeyedVectors(DIM)
        keyed.add_vectors(words, vectors)
        keyed.fill_norms()  # cached for later calls, so not counted

        def loop():
            return [keyed.most_similar(words[row], topn=K) for row in picked]

        seconds, found = best_time(loop, 2)
        assert [[int(word) for word, _ in near] for near in found] == rows.tolist()
        compare("gensim's `most_similar` in a loop", seconds, loop)

    from sklearn.neighbors import NearestNeighbors

    brute = NearestNeighbors(n_neighbors=K + 1, metric="cosine", algorithm="brute").fit(vectors)
    seconds, (distances, _) = best_time(lambda: brute.kneighbors(queries), 2)
    assert np.allclose(1 - distances[:, 1:], cosines, atol=1e-5)
    compare("scikit-learn, brute force", seconds, lambda: brute.kneighbors(queries))

    seconds = best_time(lambda: nearest_neighbors(vectors, queries[:1], K), 5)[0]
    text = f"one word alone: {1e3 * seconds:.0f} ms"
    if not why:
        one = best_time(lambda: keyed.most_similar(words[0], topn=K), 5)[0]
        text += f"; gensim with cached lengths {1e3 * one:.0f} ms"
    print(text)


def against_the_product(vectors: np.ndarray, picked: np.ndarray) -> None:
    queries = vectors[picked]
    print("\nTime, in times of the bare sgemm")

    def show(title: str, table: np.ndarray, n_queries: int, k: int) -> None:
        some = queries[:n_queries].astype(table.dtype)
        ways = {
            "bare": lambda: product(vectors[: len(table)], queries[:n_queries]),
            "ours": lambda: nearest_neighbors(table, some, k),
        }
        bare, seconds = (timed.seconds for timed in in_turn(ways, REPEATS).values())
        peak = allocated_mb(ways["ours"])
        print(
            f"{n_queries:6} queries, k = {k:<4} {title:<9} {seconds / bare:6.2f} "
            f"({1e3 * seconds:7.0f} ms, {peak:4.0f} MB)"
        )

    for n_words in (100_000, len(vectors)):
        print(f"{n_words:,} words")
        for n_queries, k in ((1, 10), (10, 10), (500, 10), (500, 100), (500, 1000)):
            show("float32", vectors[:n_words], n_queries, k)
    for dtype in ("float16", "float64"):
        show(dtype, vectors.astype(dtype), 200, K)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "vectors.npy")
        np.save(path, vectors)
        show("mapped", np.load(path, mmap_mode="r"), 200, K)


def against_an_index(picked: np.ndarray) -> None:
    # Random vectors are all equally far from each other, which no index can use; so clusters.
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((4_000, DIM), dtype=np.float32)
    vectors = centres[rng.integers(len(centres), size=len(picked))]
    for start in range(0, len(vectors), 50_000):
        chunk = vectors[start : start + 50_000]
        chunk += 0.7 * rng.standard_normal(chunk.shape, dtype=np.float32)
    queries = vectors[picked[:N_MANY]]
    exact_time, (exact, _) = best_time(lambda: nearest_neighbors(vectors, queries, K), 1)
    seconds, (rows, _) = best_time(
        lambda: nearest_neighbors(vectors, queries, K, approximate=True), 1
    )
    share = np.mean([len(set(a) & set(b)) / K for a, b in zip(rows, exact, strict=True)])
    print(
        f"\nApproximate, {len(queries)} queries: exact {exact_time:.1f} s, "
        f"with faiss {seconds:.1f} s, {100 * share:.1f} % of the neighbours"
    )


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--approximate", action="store_true", help="time the index of faiss too")
    options = asked.parse_args()
    n_words = N_QUICK if options.quick else N_WORDS
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((n_words, DIM), dtype=np.float32)
    picked = rng.permutation(n_words)
    against_others(vectors, picked[:N_QUERIES])
    if not options.quick:
        against_the_product(vectors, picked[:1000])
    if options.approximate:
        against_an_index(picked)


if __name__ == "__main__":
    main()
