"""The scores of a study as one table, and how certain the order of two models is."""

from __future__ import annotations

import itertools
import math
from collections import ChainMap, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import connected_components

from wefe.metrics._permutation import flip_test
from wefe.query import Query
from wefe.results import OPPOSITE
from wefe.study._plan import OVERALL
from wefe.study._results import StudyResults

SIGNIFICANT = 0.05
# With fewer independent groups of queries, sign flips say little.
LEAST_CLUSTERS = 8
# Smaller differences are rounding noise.
_TIE = 1e-9
# Random sign patterns, for more groups than can be counted exactly (40).
_N_RANDOM = 9_999
# Smaller differences do not show in a score as it is written.
_WRITTEN = 5e-4


def query_sets(results: StudyResults) -> list[str]:
    """Return the names of rankings: 'Overall' first if there are several query sets."""
    return results._places if len(results._places) > 2 else results._places[1:]


def rankings(results: StudyResults) -> dict[str, pd.DataFrame]:
    """Return ranks by query set; only the overall ranking has external columns and quality."""
    names = query_sets(results)
    return {name: results.rankings(name if len(names) > 1 else OVERALL) for name in names}


def scored(results: StudyResults) -> pd.DataFrame:
    """Return the tidy table with more columns.

    'distance' from no bias; 'outside': whether the printed interval does not contain the score;
    'opposite': whether it is strong on the side that its test ignores; 'counts': whether the query
    counts in aggregates; 'weight' of its query set; 'cluster': see `clusters`.
    """
    tidy = results.to_frame().rename(columns={"bias": "distance"})
    score, low, high = tidy["score"], tidy["score_lower"], tidy["score_upper"]
    tidy["outside"] = (score < low - _WRITTEN) | (score > high + _WRITTEN)
    tidy["opposite"] = tidy["warnings"].astype(str).str.startswith(OPPOSITE)
    # Cells of a report name only what applies.
    tidy[["outside", "opposite"]] = tidy[["outside", "opposite"]].replace(False, None)
    places = pd.MultiIndex.from_frame(tidy[["metric", "query_set", "query_name"]])
    left_out = results.totals.reindex(columns=["metric", "query_set", "left_out"])
    tidy["counts"] = ~places.isin(pd.MultiIndex.from_frame(left_out.explode("left_out")))
    tidy["weight"] = tidy["query_set"].map({p.name: p.weight for p in results.plan.query_sets})
    queries: dict[str, dict[tuple[str, ...], Query]] = defaultdict(dict)
    for task, _ in results.of_kind("score"):
        place = (task.place["metric"], task.place["query_set"], task.place["query"])
        queries[place[0]][place] = results.plan.queries[task.identity["query"]]
    groups = dict(ChainMap(*map(clusters, queries.values())))
    tidy["cluster"] = places.map(groups)
    return tidy


def clusters(queries: Mapping[tuple[str, ...], Query]) -> dict[tuple[str, ...], int]:
    """Number the groups of queries that share words with each other, but with no other query."""
    words = [{word.lower() for word in query.words} for query in queries.values()]
    share = np.array([[not one.isdisjoint(other) for other in words] for one in words])
    return dict(zip(queries, connected_components(share)[1].tolist(), strict=True))


# The first two models of a ranking


def first_and_second(results: StudyResults, scores: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Compare the first two models of each ranking, paired over its queries.

    Yields per ranking and metric: 'metric', 'query_set', 'first', 'second'; 'n' (queries of the
    aggregate with scores of both), 'n_nearer' (how often the first is closer to no bias),
    'difference' (how much closer, on average), 'n_clusters' (groups of queries without common
    words), 'p_value' (from resampled words if the study has intervals, else from sign flips; NaN
    with fewer than eight groups) and 'beyond' (whether this is beyond chance).
    """
    has_intervals = results.plan.settings["intervals"]["n_bootstrap"]
    resampled, every = cache(results.compare_models), rankings(results).items()
    for (name, ranks), metric in itertools.product(every, results.plan.metrics):
        known = ranks.reindex(columns=[metric.label])[metric.label].dropna()
        pair = known.sort_index().nsmallest(2).index.tolist()
        names = metric.query_sets if name == OVERALL else (name,)
        found = _compare(_of(scores, metric.label, names), pair)
        if found:
            # With one query set, the overall ranking is that of the set.
            names = names if len(names) == 1 else (name,)
            if has_intervals:
                p_values = _of(resampled(*pair), metric.label, names)["p_value"]
                found["p_value"] = next(iter(p_values), found["p_value"])
            # The mean may contradict the order if scores of opposite signs cancel.
            found["beyond"] = found["p_value"] < SIGNIFICANT and found["difference"] > 0
            yield {"metric": metric.label, "query_set": name, **found}


def _of(table: pd.DataFrame, metric: str, query_sets: Collection[str]) -> pd.DataFrame:
    return table[(table["metric"] == metric) & table["query_set"].isin(list(query_sets))]


def _compare(scores: pd.DataFrame, pair: Sequence[str]) -> dict[str, Any]:
    """Compare two models by their scores of one metric; empty without common scores."""
    if len(pair) < 2:
        return {}
    first, second = pair
    wide = scores[scores["counts"] & scores["model_name"].isin(pair)].pivot(
        index=["query_set", "query_name", "cluster", "weight"],
        columns="model_name",
        values="distance",
    )
    both = wide.dropna()
    differences = both[second] - both[first]
    # Weights as in overall scores: each set has its weight, its queries share it equally.
    sizes = differences.groupby("query_set").transform("size")
    shares = both.index.get_level_values("weight").to_numpy(float) / sizes
    if not shares.sum() > 0:
        return {}
    weighted = differences * shares / shares.sum()
    sums = weighted.groupby("cluster").sum().to_numpy()
    # The smallest p-value is 2 / 2^n (Fisher, The Design of Experiments, 1935, section 21).
    p_value = flip_test(sums, "two-sided", "exact", _N_RANDOM, 0).p_value
    return {
        "first": first,
        "second": second,
        "n": len(both),
        "n_nearer": int((differences > _TIE).sum()),
        "difference": float(weighted.sum()),
        "n_clusters": len(sums),
        "p_value": p_value if len(sums) >= LEAST_CLUSTERS else math.nan,
    }
