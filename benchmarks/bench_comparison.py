"""Type I error and power of comparing two models over the ten WEAT queries, which share words.

    python benchmarks/bench_comparison.py

Each simulation draws the vectors of all words anew: what two models have in common, and noise of
each model. In the null, both have the same bias; for the power, the other has less. The
sign-flip test takes the ten queries as independent. Reports do not use it so.
"""

from __future__ import annotations

import time

import numpy as np
from _table import parser, report

from wefe import Query, WordEmbeddingModel, compare_models
from wefe.datasets import load_weat_queries
from wefe.metrics._permutation import flip_test

DIM, NOISE, LEVEL = 50, 0.8, 0.05
SIGNS, STRENGTHS = (1, -1, 1, -1), (0.25, 0.25, 0.5, 0.5)


def leanings(queries: list[Query], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw how far each word leans along the axis of the query in which it occurs first."""
    axes = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
    leaning: dict[str, np.ndarray] = {}
    axis_of: dict[str, int] = {}
    for number, query in enumerate(queries):
        attributes = [word for part in query.attribute_sets for word in part]
        # Queries that share attributes share the axis.
        own = next((axis_of[word] for word in attributes if word in axis_of), number)
        axis_of.update(dict.fromkeys(attributes, own))
        parts = query.target_sets + query.attribute_sets
        for part, sign, strength in zip(parts, SIGNS, STRENGTHS, strict=True):
            for word in part:
                leaning.setdefault(word, (sign * strength + rng.normal(0, 0.25)) * axes[own])
    return leaning


def models(
    queries: list[Query], share: float, rng: np.random.Generator
) -> list[WordEmbeddingModel]:
    """Draw two models, of which the second has a share of the bias of the first."""
    leaning = leanings(queries, rng)
    size = (len(leaning), DIM)
    common = (rng.normal(size=size) + 0.4) / np.sqrt(DIM)
    lean = np.array(list(leaning.values()))
    return [
        WordEmbeddingModel(
            (list(leaning), common + own * lean + NOISE * rng.normal(size=size) / np.sqrt(DIM)),
            f"{own:.0%} of the bias",
        )
        for own in (1.0, share)
    ]


def rejections(metric: str, share: float, n: int) -> tuple[np.ndarray, float]:
    """Return how often each test rejects, and the seconds that one comparison takes."""
    queries, seconds = load_weat_queries(), 0.0
    p_values = []
    for seed in range(n):
        one, other = models(queries, share, np.random.default_rng(seed))
        start = time.perf_counter()
        found = compare_models(metric, queries, one, other, random_state=seed)
        seconds += time.perf_counter() - start
        differences = found.distances["other"] - found.distances["one"]
        flips = flip_test(differences.to_numpy(), "two-sided", "exact", 0, seed)
        p_values.append((found.p_value, flips.p_value))
    return (np.array(p_values) <= LEVEL).mean(axis=0), seconds / n


def main() -> None:
    n = 10 if parser(__doc__).parse_args().quick else 1000
    print(f"Rejections at {LEVEL} in {n} simulations: compare_models, sign flips per query")
    for metric, weaker in (("weat-es", 0.7), ("weat", 0.9)):
        for share, what in ((1.0, "type I error"), (weaker, f"power, {weaker:.0%} of the bias")):
            (ours, flips), seconds = rejections(metric, share, n)
            text = f"{what} {ours:.1%}, of sign flips per query {flips:.1%}"
            report(f"two models compared, ten WEAT queries, {metric}", seconds, note=text)
            print(f"{metric:<8} {what:<24} {ours:6.1%} {flips:6.1%}   {1e3 * seconds:.0f} ms each")


if __name__ == "__main__":
    main()
