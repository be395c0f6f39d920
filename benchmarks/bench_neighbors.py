"""Exact nearest neighbours against gensim, scikit-learn and the bare matrix product, in one run.

    python benchmarks/bench_neighbors.py
    python benchmarks/bench_neighbors.py --approximate     (needs faiss)

The ratios are the claim. The bare product is numpy's of all queries with all vectors, in float32
and in blocks of the same size: what no exact search can do without. Memory is the peak of what was
allocated beside vectors and queries, as tracemalloc counts it.
"""

from __future__ import annotations

import argparse
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _timing import best_time

from wefe.models._neighbors import ApproximateIndex, nearest_neighbors

N_WORDS, DIM, N_QUERIES, K = 400_000, 300, 200, 10
# Enough for many queries to be worth an index.
N_MANY = 5_000


def peak_mb(function: Callable[[], Any]) -> float:
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def best_in_turn(*functions: Callable[[], Any]) -> list[float]:
    """Shortest of five times of each, in turn, so that what else the machine does hits all."""
    return [
        min(times)
        for times in zip(
            *([best_time(function, 1)[0] for function in functions] for _ in range(5)), strict=True
        )
    ]


def product(vectors: np.ndarray, queries: np.ndarray) -> None:
    rows, block = 8_192, 512
    buffer = np.empty(rows * block, dtype=np.float32)
    for start in range(0, len(vectors), rows):
        chunk = vectors[start : start + rows]
        for first in range(0, len(queries), block):
            part = queries[first : first + block]
            out = buffer[: len(part) * len(chunk)].reshape(len(part), len(chunk))
            np.matmul(part, chunk.T, out=out)


def line(title: str, seconds: float, ours: float, function: Callable[[], Any]) -> None:
    print(
        f"{title:<42} {seconds / ours:6.2f} x the time of ours "
        f"({1e3 * seconds:7.0f} ms, {peak_mb(function):6.0f} MB)"
    )


def against_others(vectors: np.ndarray, picked: np.ndarray) -> None:
    queries = vectors[picked]

    def ours():
        return nearest_neighbors(vectors, queries, K, exclude=picked)

    rows, cosines = ours()
    our_time, bare_time = best_in_turn(ours, lambda: product(vectors, queries))
    print(f"{len(queries)} words, their {K} nearest of {len(vectors):,} x {DIM} float32")
    line("ours", our_time, our_time, ours)
    line("bare sgemm", bare_time, our_time, lambda: None)

    from gensim.models import KeyedVectors

    words = [str(row) for row in range(len(vectors))]
    keyed = KeyedVectors(DIM)
    keyed.add_vectors(words, vectors)
    keyed.fill_norms()  # cached for later calls, so not counted

    def loop():
        return [keyed.most_similar(words[row], topn=K) for row in picked]

    seconds, found = best_time(loop, 2)
    assert [[int(word) for word, _ in near] for near in found] == rows.tolist()
    line("gensim's most_similar in a loop", seconds, our_time, loop)
    one = best_time(lambda: keyed.most_similar(words[0], topn=K), 5)[0]

    from sklearn.neighbors import NearestNeighbors

    brute = NearestNeighbors(n_neighbors=K + 1, metric="cosine", algorithm="brute").fit(vectors)
    seconds, (distances, _) = best_time(lambda: brute.kneighbors(queries), 2)
    assert np.allclose(1 - distances[:, 1:], cosines, atol=1e-5)
    line(
        "scikit-learn's NearestNeighbors, brute",
        seconds,
        our_time,
        lambda: brute.kneighbors(queries),
    )

    seconds = best_time(lambda: nearest_neighbors(vectors, queries[:1], K), 5)[0]
    print(f"one word alone: {1e3 * seconds:.0f} ms; gensim with cached lengths {1e3 * one:.0f} ms")


def against_the_product(vectors: np.ndarray, picked: np.ndarray) -> None:
    queries = vectors[picked]
    print("\nTime, in times of the bare sgemm")

    def show(title: str, table: np.ndarray, n_queries: int, k: int) -> None:
        some = queries[:n_queries].astype(table.dtype)
        bare, seconds = best_in_turn(
            lambda: product(vectors, queries[:n_queries]),
            lambda: nearest_neighbors(table, some, k),
        )
        peak = peak_mb(lambda: nearest_neighbors(table, some, k))
        print(
            f"{n_queries:6} queries, k = {k:<4} {title:<9} {seconds / bare:6.2f} "
            f"({1e3 * seconds:7.0f} ms, {peak:4.0f} MB)"
        )

    for n_queries, k in ((1, 10), (10, 10), (200, 10), (1000, 10), (1000, 100), (1000, 1000)):
        show("float32", vectors, n_queries, k)
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
    vectors = centres[rng.integers(len(centres), size=N_WORDS)]
    for start in range(0, N_WORDS, 50_000):
        chunk = vectors[start : start + 50_000]
        chunk += 0.7 * rng.standard_normal(chunk.shape, dtype=np.float32)
    queries = vectors[picked]
    exact_time, (exact, _) = best_time(lambda: nearest_neighbors(vectors, queries, K), 1)
    build_time, index = best_time(lambda: ApproximateIndex(vectors), 1)
    print(
        f"\nApproximate, {len(queries)} queries: exact {exact_time:.1f} s, build {build_time:.1f} s"
    )
    for probes in (8, 32, 128):
        index.probes = probes
        seconds, (rows, _) = best_time(lambda: index.query(queries, K), 1)
        share = np.mean([len(set(a) & set(b)) / K for a, b in zip(rows, exact, strict=True)])
        print(f"{probes:6} probes: {seconds:5.2f} s, {100 * share:.1f} % of the neighbours")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--approximate", action="store_true", help="time the index of faiss too")
    approximate = parser.parse_args().approximate
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((N_WORDS, DIM), dtype=np.float32)
    picked = rng.permutation(N_WORDS)
    against_others(vectors, picked[:N_QUERIES])
    against_the_product(vectors, picked[:1000])
    if approximate:
        against_an_index(picked[:N_MANY])


if __name__ == "__main__":
    main()
