"""Permutation test of WEAT against straightforward loops, on the same data in the same run.

    python benchmarks/bench_permutation.py

The ratios are the claim: they should hold on any machine. The times tell what to expect of one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from _timing import best_time

from wefe.metrics._permutation import permutation_test

N_ITERATIONS = 10_000


def words(n_x: int, n_y: int, shift: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_x)
    return rng.normal(shift, 0.3, n_x), rng.normal(0.0, 0.3, n_y)


def loop_over_random_splits(x: np.ndarray, y: np.ndarray) -> float:
    rng = np.random.default_rng(0)
    observed = x.sum() - y.sum()
    pool = np.concatenate([x, y])
    hits = 0
    for _ in range(N_ITERATIONS):
        shuffled = rng.permutation(pool)
        hits += shuffled[: len(x)].sum() - shuffled[len(x) :].sum() >= observed - 1e-12
    return (hits + 1) / (N_ITERATIONS + 1)


def loop_over_all_splits(x: np.ndarray, y: np.ndarray) -> float:
    pool = [*x.tolist(), *y.tolist()]
    total, observed = sum(pool), sum(x.tolist())
    hits = sum(
        2 * sum(chosen) - total >= 2 * observed - total - 1e-12
        for chosen in itertools.combinations(pool, len(x))
    )
    return hits / math.comb(len(pool), len(x))


def compare(title: str, slow: Callable[[], float], fast: Callable[[], float]) -> None:
    slow_time, slow_p = best_time(slow, 3)
    fast_time, fast_p = best_time(fast, 20)
    print(
        f"{title:<42} {slow_time / fast_time:6.0f} times faster "
        f"({1e3 * slow_time:.1f} ms / {1e3 * fast_time:.2f} ms; p {slow_p:.4f}, {fast_p:.4f})"
    )


def main() -> None:
    print("Ratios")
    for n in (8, 32):
        x, y = words(n, n)
        compare(
            f"{N_ITERATIONS} random splits of {n} + {n}: loop / ours",
            lambda x=x, y=y: loop_over_random_splits(x, y),
            lambda x=x, y=y: (
                permutation_test(x, y, n_iterations=N_ITERATIONS, random_state=0).p_value
            ),
        )
    x, y = words(8, 8)
    compare(
        "all splits of 8 + 8: itertools / ours",
        lambda: loop_over_all_splits(x, y),
        lambda: permutation_test(x, y, method="exact").p_value,
    )

    print('\nTimes of method="exact" (relative_gap 0.01)')
    for n_x, n_y in ((8, 8), (16, 16), (20, 20), (25, 25), (32, 32), (8, 56), (100, 100)):
        for shift in (0.0, 0.2, 0.5):
            x, y = words(n_x, n_y, shift)
            seconds, test = best_time(lambda x=x, y=y: permutation_test(x, y, method="exact"), 3)
            lower, upper = test.p_value_bounds
            print(
                f"{n_x:4} + {n_y:<4} {1e3 * seconds:8.1f} ms   p {upper:.3g}  {test.method}, "
                f"gap {100 * (upper - lower) / upper:.2f} %"
            )


if __name__ == "__main__":
    main()
