"""Permutation tests: of WEAT against straightforward loops, of all metrics against plain scores.

    python benchmarks/bench_permutation.py

The ratios are the claim: they should hold on any machine. The times tell what to expect of one.
"""

from __future__ import annotations

import functools
import itertools
import logging
import math
from collections.abc import Callable

import numpy as np
from _table import parser, report
from _timing import best_time, in_turn

from wefe import Query, WordEmbeddingModel
from wefe.metrics import (
    ECT,
    EQT,
    GIPE,
    RIPA,
    RND,
    SAME,
    SCWEAT,
    WEAT,
    BaseMetric,
    GeneralizedWEAT,
    NeighborPercentage,
    ProximityBias,
)
from wefe.metrics._permutation import permutation_test

N_ITERATIONS, N_WORDS, DIM = 10_000, 5_000, 300
# Metrics without a solver, and their numbers of target and attribute sets.
METRICS: dict[type[BaseMetric], tuple[int, int]] = {
    WEAT: (2, 2),
    GeneralizedWEAT: (2, 2),
    SCWEAT: (1, 2),
    RND: (2, 1),
    ECT: (2, 1),
    SAME: (2, 1),
    RIPA: (2, 1),
    EQT: (2, 1),
    ProximityBias: (2, 1),
    GIPE: (2, 1),
    NeighborPercentage: (2, 1),
}


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


def compare_with_plain_scores(n_iterations: int, sizes: tuple[int, ...]) -> None:
    """Print how many plain scores' time 1,000 random splits take."""
    # What single results warn of is no news here.
    logging.getLogger("wefe").setLevel(logging.ERROR)
    rng = np.random.default_rng(0)
    names = [f"w{number}" for number in range(N_WORDS)]
    vectors = rng.normal(size=(N_WORDS, DIM)) + 0.5 * rng.normal(size=DIM)
    model = WordEmbeddingModel((names, vectors.astype(np.float32)), "generated")
    asked = {"p_value_method": "approximate", "p_value_iterations": n_iterations}
    for metric, template in METRICS.items():
        for n in sizes:
            words = rng.choice(names, (sum(template), n), replace=False).tolist()
            query = Query(words[: template[0]], words[template[0] :])
            kinds = metric(), metric(**asked, calculate_p_value=True, random_state=0)
            functions = (functools.partial(kind.run_query, query, model) for kind in kinds)
            timed = in_turn(dict(zip(("one", "test"), functions, strict=True)), 5)
            of_one, seconds = timed["one"].seconds, timed["test"].seconds
            title = f"{n_iterations:,} random splits, {metric.metric_short_name}, {n} words per set"
            report(title, seconds, against="one score", their_seconds=of_one)
            share = 1000 / n_iterations * (seconds - of_one) / of_one
            print(
                f"{title:<60} {1e3 * seconds:8.1f} ms; plain {1e3 * of_one:6.2f} ms; "
                f"1,000 splits: {share:.1f} plain scores"
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

    print(f"\nMetrics on {N_WORDS:,} x {DIM} vectors")
    compare_with_plain_scores(n_iterations, (8,) if quick else (8, 25, 100))

    print('\nTimes of method="exact"')
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
