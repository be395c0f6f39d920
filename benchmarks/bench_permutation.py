"""Permutation test of WEAT against straightforward loops, on the same data in the same run.

    python benchmarks/bench_permutation.py

The ratios are the claim: they should hold on any machine. The times tell what to expect of one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from _table import parser, report
from _timing import best_time

from wefe.metrics._permutation import permutation_test

N_ITERATIONS = 10_000


def words(n_x: int, n_y: int, shift: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_x)
    return rng.normal(shift, 0.3, n_x), rng.normal(0.0, 0.3, n_y)


def loop_over_random_splits(x: np.ndarray, y: np.ndarray, n_iterations: int) -> float:
    rng = np.random.default_rng(0)
    observed = x.sum() - y.sum()
    pool = np.concatenate([x, y])
    hits = 0
    for _ in range(n_iterations):
        shuffled = rng.permutation(pool)
        hits += shuffled[: len(x)].sum() - shuffled[len(x) :].sum() >= observed - 1e-12
    return (hits + 1) / (n_iterations + 1)


def loop_over_all_splits(x: np.ndarray, y: np.ndarray) -> float:
    pool = [*x.tolist(), *y.tolist()]
    total, observed = sum(pool), sum(x.tolist())
    hits = sum(
        2 * sum(chosen) - total >= 2 * observed - total - 1e-12
        for chosen in itertools.combinations(pool, len(x))
    )
    return hits / math.comb(len(pool), len(x))


def compare(title: str, slow: Callable[[], float], fast: Callable[[], float], against: str) -> None:
    slow_time, slow_p = best_time(slow, 3)
    fast_time, fast_p = best_time(fast, 20)
    report(title, fast_time, against=against, their_seconds=slow_time)
    print(
        f"{title:<42} {slow_time / fast_time:6.0f} times faster "
        f"({1e3 * slow_time:.1f} ms / {1e3 * fast_time:.2f} ms; p {slow_p:.4f}, {fast_p:.4f})"
    )


def main() -> None:
    quick = parser(__doc__).parse_args().quick
    n_iterations = N_ITERATIONS // 10 if quick else N_ITERATIONS
    print("Ratios, against loops over known associations")
    for n in (8, 32):
        x, y = words(n, n)
        compare(
            f"{n_iterations:,} random splits of {n} + {n} words",
            lambda x=x, y=y: loop_over_random_splits(x, y, n_iterations),
            lambda x=x, y=y: (
                permutation_test(x, y, n_iterations=n_iterations, random_state=0).p_value
            ),
            "a loop over shuffles of known associations",
        )
    x, y = words(8, 8)
    compare(
        "all splits of 8 + 8 words",
        lambda: loop_over_all_splits(x, y),
        lambda: permutation_test(x, y, method="exact").p_value,
        "a loop over combinations of known associations",
    )

    print('\nTimes of method="exact" (relative_gap 0.01)')
    sizes = ((8, 8), (16, 16), (20, 20), (25, 25), (32, 32), (8, 56), (100, 100))
    for n_x, n_y in sizes[:3] if quick else sizes:
        for shift in (0.0, 0.2, 0.5):
            x, y = words(n_x, n_y, shift)
            seconds, test = best_time(lambda x=x, y=y: permutation_test(x, y, method="exact"), 3)
            lower, upper = test.p_value_bounds
            known = f"within {100 * (upper - lower) / upper:.2g} %" if upper > lower else "exactly"
            report(f"exact p-value of {n_x} + {n_y} words: {upper:.3g}, known {known}", seconds)
            print(
                f"{n_x:4} + {n_y:<4} {1e3 * seconds:8.1f} ms   p {upper:.3g}  {test.method}, "
                f"gap {100 * (upper - lower) / upper:.2f} %"
            )

    print('\nTimes of method="saddlepoint", against 10,000 random splits')
    for n in (8, 32, 400) if quick else (8, 32, 400, 2_000, 10_000):
        x, y = words(n, n, 0.2)
        slow_time, slow = best_time(lambda x=x, y=y: permutation_test(x, y, random_state=0), 3)
        fast_time, fast = best_time(
            lambda x=x, y=y: permutation_test(x, y, method="saddlepoint"), 20
        )
        title, against = f"saddlepoint p-value of {n:,} + {n:,} words", "10,000 random splits"
        report(title, fast_time, against=against, their_seconds=slow_time)
        print(
            f"{n:6,} + {n:<6,} {1e3 * fast_time:5.2f} ms, {slow_time / fast_time:.0f} times faster "
            f"(p {fast.p_value:.4g}, {slow.p_value:.4g})"
        )


if __name__ == "__main__":
    main()
