"""Many queries and many models: what measuring costs beside its arithmetic.

    python benchmarks/bench_many.py

Ten WEAT queries are compared with what no implementation can avoid: one gather of the vectors and
one matrix product per query. Then 25 queries are run on 1,000 models in memory, with five metrics.
Each of these models has the vectors of one random matrix in an order of its own. At last, what
p-values cost: of WEAT on these models, and random splits beside a single score.
"""

from __future__ import annotations

import numpy as np
from _table import parser, report
from _timing import best_time, in_turn

from wefe import Query, WordEmbeddingModel, load_test_model
from wefe.datasets import load_query_set
from wefe.metrics import WEAT, get_metric
from wefe.metrics._registry import as_metric
from wefe.models._tables import ArrayVectors
from wefe.running import measure

# RND and ECT take one attribute set: they are asked the first subquery of each query.
METRICS = {
    "WEAT, its effect size and MAC": ["weat", "weat-es", "mac"],
    "RND and ECT": ["rnd", "ect"],
}
VOCABULARY, DIM, N_QUERIES = 10_000, 300, 25


def gather_and_multiply(model: WordEmbeddingModel, sides: list[tuple[list[str], list[str]]]):
    """The mean cosines of target and attribute words, without names, checks and results."""
    means = []
    for targets, attributes in sides:
        rows = [model.vocab[word] for word in targets + attributes]
        vectors = model.vectors[rows].astype(np.float64)
        vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
        means.append((vectors[: len(targets)] @ vectors[len(targets) :].T).mean())
    return means


def ten_queries(repeats: int) -> None:
    model, queries = load_test_model(), load_query_set("weat")
    sides = [
        (
            [w for part in q.target_sets for w in part],
            [w for part in q.attribute_sets for w in part],
        )
        for q in queries
    ]
    times = in_turn(
        {
            "here": lambda: [WEAT().run_query(query, model) for query in queries],
            "bare": lambda: gather_and_multiply(model, sides),
        },
        repeats,
    )
    here, bare = times["here"].seconds, times["bare"].seconds
    against = "one gather and one matrix product per query"
    report("ten WEAT queries on an open model", here, against=against, their_seconds=bare)
    print(
        f"ten WEAT queries: {1e3 * here:.2f} ms, {here / bare:.1f} times as long as {against} "
        f"({1e3 * bare:.2f} ms)"
    )


def shuffled_models(words: list[str], n_models: int) -> list[WordEmbeddingModel]:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((VOCABULARY, DIM), dtype=np.float32)
    orders = (rng.permutation(VOCABULARY).tolist() for _ in range(n_models))
    return [
        WordEmbeddingModel(ArrayVectors([words[row] for row in order], vectors), f"{i}")
        for i, order in enumerate(orders)
    ]


def words_of(queries: list[Query]) -> list[str]:
    return [w for q in queries for part in q.target_sets + q.attribute_sets for w in part]


def gather_all(models: list[WordEmbeddingModel], queries: list[Query]) -> None:
    """What every metric has to do: look all words up, and gather their vectors."""
    words = [[word for part in q.target_sets + q.attribute_sets for word in part] for q in queries]
    for model in models:
        vocab, vectors = model.vocab, model.vectors
        for own in words:
            vectors[[vocab[word] for word in own]].astype(np.float64)


def many_models(n_models: int) -> None:
    asked = (load_query_set("weat") + load_query_set("case_study", offline=True))[:N_QUERIES]
    words = list(dict.fromkeys([*words_of(asked), *load_test_model().vocab]))[:VOCABULARY]
    models = shuffled_models(words, n_models)
    title = f"{N_QUERIES} queries on {n_models:,} models in memory"
    total = total_bare = 0.0
    for name, metrics in METRICS.items():
        queries = [get_metric(metrics[0])().subqueries(query)[0] for query in asked]
        bare, _ = best_time(lambda queries=queries: gather_all(models, queries), 1)
        seconds, scores = best_time(
            lambda metrics=metrics, queries=queries: measure(
                metrics, queries, models, progress=False
            ),
            1,
        )
        assert scores["score"].notna().all()
        total, total_bare = total + seconds, total_bare + bare
        print(
            f"{title}, {name}: {seconds:.2f} s, {1e6 * seconds / len(scores):.0f} microseconds per "
            f"score; the gathers alone take {bare:.2f} s"
        )
    report(f"{title}, 5 metrics", total, against="the gathers alone", their_seconds=total_bare)
    print(f"{title}, all 5 metrics: {total:.1f} s; gathers {total_bare:.1f} s")


def p_values(n_models: int) -> None:
    queries = (load_query_set("weat") + load_query_set("case_study", offline=True))[:N_QUERIES]
    words = list(dict.fromkeys([*words_of(queries), *load_test_model().vocab]))[:VOCABULARY]
    models = shuffled_models(words, n_models)
    title = f"WEAT, {N_QUERIES} queries on {n_models:,} models in memory"
    plain, _ = best_time(lambda: measure("weat", queries, models, progress=False), 1)
    how = {"calculate_p_value": True, "p_value_method": "saddlepoint"}
    seconds, scores = best_time(
        lambda: measure("weat", queries, models, metric_params=how, progress=False), 1
    )
    assert scores["p_value"].notna().all()
    report(f"{title}, saddlepoint p-values", seconds, against="scores alone", their_seconds=plain)
    print(f"{title}, saddlepoint p-values: {seconds:.1f} s; scores alone {plain:.1f} s")


def random_query(model: WordEmbeddingModel, n: int) -> Query:
    """Two target sets of n words each, and 25 attribute words."""
    words = [word for word in model.vocab if word.isalpha() and len(word) > 3]
    drawn = np.random.default_rng(0).choice(words, 2 * n + 25, replace=False).tolist()
    return Query([drawn[:n], drawn[n : 2 * n]], [drawn[2 * n :]])


def splits(n_splits: int) -> None:
    """What 1,000 random splits cost beside one score."""
    model, query = load_test_model(), load_query_set("weat")[5]
    names = ("weat", "rnd", "ect", "same", "gweat", "sc-weat", "ripa")
    asked_of = [(name, as_metric(name).subqueries(query)[0], 20) for name in names]
    for n in (10, 25):
        query = random_query(model, n)
        asked_of += [(name, query, 3) for name in ("proximity-bias", "pmn", "gipe")]
    for name, asked, repeats in asked_of:
        metric = as_metric(name)
        how = {"calculate_p_value": True, "p_value_method": "approximate", "random_state": 0}
        how |= {"p_value_iterations": n_splits, "p_value_test_type": "two-sided"}
        times = in_turn(
            {
                "plain": lambda metric=metric, asked=asked: metric.run_query(asked, model),
                "splits": lambda metric=metric, asked=asked, how=how: metric.run_query(
                    asked, model, **how
                ),
            },
            repeats,
        )
        plain, tested = times["plain"].seconds, times["splits"].seconds
        per_1000 = (tested - plain) / n_splits * 1000 / plain
        title = f"{name}, {' + '.join(str(len(part)) for part in asked.target_sets)} words"
        against = {"against": "one score", "their_seconds": plain}
        report(f"{title}, {n_splits:,} random splits", tested, **against)
        print(
            f"{title}: 1,000 random splits cost {per_1000:.1f} scores ({1e3 * plain:.2f} ms each)"
        )


def main() -> None:
    quick = parser(__doc__).parse_args().quick
    ten_queries(20 if quick else 200)
    many_models(20 if quick else 1000)
    p_values(5 if quick else 1000)
    splits(1000 if quick else 10_000)


if __name__ == "__main__":
    main()
