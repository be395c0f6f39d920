"""Silhouettes of RNSB that retrain at every size, against training on each subset from scratch.

    python benchmarks/bench_silhouette_rnsb.py            # 10 runs
    python benchmarks/bench_silhouette_rnsb.py --runs 100

Two lists of 3,000 attribute words that grow by 3 words each (1,000 sizes), 70 target words, 300
dimensions. Training from scratch is timed at sizes spread evenly and scaled up.
"""

import argparse
import time

import numpy as np

from wefe.embeddings import EmbeddedSet
from wefe.metrics import RNSB
from wefe.metrics._word_counts import Nested, Once, WordCounts

N_WORDS, N_TARGETS, DIM, STEP = 3_000, 70, 300, 3
PARAMS = {
    "estimator": None,
    "estimator_params": None,
    "n_iterations": 1,
    "random_state": None,
    "holdout": False,
    "print_model_evaluation": False,
}


def word_sets() -> tuple[list[EmbeddedSet], list[EmbeddedSet]]:
    """Vectors of length 5 or so, whose first axes vary most; the lists differ along one line."""
    rng = np.random.default_rng(0)
    spread = np.exp(-np.arange(DIM) / (DIM / 2))
    line = rng.normal(size=DIM) * spread
    line *= 1.5 / np.linalg.norm(line)
    made = []
    for name, size, side in [
        *((f"group {number}", N_TARGETS // 2, 0.0) for number in range(2)),
        ("pleasant", N_WORDS, 1.0),
        ("unpleasant", N_WORDS, -1.0),
    ]:
        vectors = rng.normal(size=(size, DIM)) * spread
        vectors *= 5 / np.linalg.norm(vectors, axis=1, keepdims=True)
        words = tuple(f"{name} {word}" for word in range(size))
        made.append(EmbeddedSet(name, words, vectors + side * line, (), tuple(range(size))))
    return made[:2], made[2:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--samples", type=int, default=10, help="subsets trained from scratch")
    options = parser.parse_args()

    metric = RNSB()
    targets, attributes = word_sets()
    rng = np.random.default_rng(1)
    sizes = np.arange(STEP, N_WORDS + 1, STEP)
    counts: list[WordCounts] = [Once(len(part)) for part in targets]
    for _ in attributes:
        orders = [rng.permutation(N_WORDS) for _ in range(options.runs)]
        counts.append(Nested(orders, sizes))
    n_fits = options.runs * len(sizes)

    start = time.perf_counter()
    scores = metric._compute_cases(targets, attributes, counts, **PARAMS)
    fast = time.perf_counter() - start

    # The middles of equal parts of the sizes, all of the first run.
    cases = ((np.arange(options.samples) + 0.5) * len(sizes) / options.samples).astype(int)
    start = time.perf_counter()
    slow_scores = [metric._compute_case(targets, attributes, counts, c, **PARAMS) for c in cases]
    slow = (time.perf_counter() - start) / options.samples * n_fits

    print(f"{n_fits} fits: {fast:.0f} s ({1e3 * fast / n_fits:.2f} ms each)")
    print(f"from scratch, by {options.samples} of them: {slow:.0f} s")
    print(f"{slow / fast:.0f} times faster")
    print(f"largest difference of scores: {np.abs(scores[cases] - slow_scores).max():.1e}")


if __name__ == "__main__":
    main()
