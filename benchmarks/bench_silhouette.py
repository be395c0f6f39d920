"""Bias silhouettes against evaluating each subset from scratch.

    python benchmarks/bench_silhouette.py
    python benchmarks/bench_silhouette.py --runs 100

ECT, WEAT and RNSB on lists of 70 social-group words and 6,000 concept words, 300 dims, with the
steps of the paper; RNSB for one tenth of the runs unless --runs is given, as it takes longest. From
scratch is `run_query` on queries of ten sizes spread evenly, times the number of subsets. Needs
Linux for peak memory.
"""

from __future__ import annotations

import numpy as np
from _table import parser, report
from _timing import best_time, peak_mb, reset_peak

from wefe import ECT, RNSB, WEAT, Query, WordEmbeddingModel
from wefe.silhouette import bias_silhouettes

DIM = 300
SIZES = (35, 35, 3_000, 3_000)
QUICK_SIZES, QUICK_RUNS = (12, 12, 200, 200), 3
RUNS = 100
SAMPLE = 10


def make(length: float, sizes: tuple[int, ...]) -> tuple[WordEmbeddingModel, list[list[str]]]:
    """Two groups and two kinds of concept words, leaning along two directions."""
    rng = np.random.default_rng(0)
    words = [[f"{name}{i}" for i in range(n)] for name, n in zip("abcd", sizes, strict=True)]
    flat = [word for part in words for word in part]
    vectors = rng.normal(size=(len(flat), DIM)).astype(np.float32)
    gender, sentiment = rng.normal(size=(2, DIM)) / np.sqrt(DIM)
    starts = np.cumsum([0, *sizes])
    vectors[: starts[1]] += 4 * gender
    vectors[starts[2] : starts[3]] += 2 * gender + 3 * sentiment
    vectors *= length / np.linalg.norm(vectors, axis=1).mean()
    return WordEmbeddingModel((flat, vectors), "generated"), words


def from_scratch(metric, query, model, vary, sizes, n_runs) -> float:
    """Seconds that all subsets would take, one query each."""
    instance, n_targets = metric(), len(query.target_sets)
    rng = np.random.default_rng(0)
    queries = []
    for row in np.linspace(0, len(sizes) - 1, SAMPLE).astype(int):
        sets = [list(part) for part in query.target_sets + query.attribute_sets]
        places = range(n_targets) if vary == "targets" else range(n_targets, len(sets))
        for place, size in zip(places, sizes[row], strict=True):
            sets[place] = [sets[place][i] for i in rng.permutation(len(sets[place]))[:size]]
        queries.append((sets[:n_targets], sets[n_targets:]))

    def run_all() -> None:
        for parts in queries:
            instance.run_query(Query(*parts), model, **metric.subset_params)

    return best_time(run_all, 1)[0] / SAMPLE * len(sizes) * n_runs


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--runs", type=int, help="runs of every metric")
    asked.add_argument(
        "--length", type=float, default=5.0, help="mean length of the vectors; GloVe's is about 5"
    )
    options = asked.parse_args()
    if options.quick:
        options.runs = options.runs or QUICK_RUNS
    model, words = make(options.length, QUICK_SIZES if options.quick else SIZES)
    pairs = Query(words[:2], words[2:])
    one_list = Query(words[:2], [words[2] + words[3]])
    for metric, query in ((WEAT, pairs), (ECT, one_list), (RNSB, pairs)):
        ours = scratch = 0.0
        # What is imported at the first use is not timed.
        few = Query(*([part[:8] for part in s] for s in (query.target_sets, query.attribute_sets)))
        metric().run_query(few, model, **metric.subset_params)
        for vary in ("targets", "attributes"):
            slow = metric is RNSB and vary == "attributes"
            n_runs = options.runs or (RUNS // 10 if slow else RUNS)
            reset_peak()
            before = peak_mb()
            took, (silhouette,) = best_time(
                lambda args=(metric, query, [model], vary, n_runs): bias_silhouettes(
                    *args, progress=False
                ),
                1,
            )
            memory = peak_mb() - before
            all_sizes = from_scratch(metric, query, model, vary, silhouette.sizes, n_runs)
            ours, scratch = ours + took, scratch + all_sizes
            growing = "groups" if vary == "targets" else "concepts"
            report(
                f"{metric.__name__}, {growing} grow, {n_runs} runs, "
                f"{silhouette.curves.size:,} scores",
                took,
                memory,
                against="`run_query` for each subset",
                their_seconds=all_sizes,
                note=f"extrapolated from {SAMPLE} sizes",
            )
            print(
                f"{metric.__name__}, {vary}, {n_runs} runs, {silhouette.curves.size:,} scores: "
                f"{took:.1f} s, {memory:.0f} MB; from scratch {all_sizes:,.0f} s: "
                f"{all_sizes / took:.0f} x",
                flush=True,
            )
        report(
            f"{metric.__name__}, both",
            ours,
            against="`run_query` for each subset",
            their_seconds=scratch,
        )
        print(f"{metric.__name__}: {ours:.1f} s, {scratch / ours:.0f} x", flush=True)


if __name__ == "__main__":
    main()
