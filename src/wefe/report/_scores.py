"""The scores of a study as one table, with columns derived for the report."""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import connected_components

from wefe.query import Query
from wefe.results import OPPOSITE
from wefe.study._plan import OVERALL, Kind, Task
from wefe.study._results import StudyResults

# Smaller differences do not show in a score as it is written.
_WRITTEN = 5e-4


def values(results: StudyResults, kind: Kind, key: str) -> Iterator[tuple[Task, Any]]:
    """Return a part of the values of a kind of tasks, where there is any."""
    for task, outcome in results.of_kind(kind):
        if part := (outcome.value or {}).get(key):
            yield task, part


def query_sets(results: StudyResults) -> list[str]:
    """Return the names of rankings: 'Overall' first if there are several query sets."""
    asked = {name for metric in results.plan.metrics for name in metric.query_sets}
    names = [part.name for part in results.plan.query_sets if part.name in asked]
    return [OVERALL, *names] if len(names) > 1 else names


def rankings(results: StudyResults) -> dict[str, pd.DataFrame]:
    """Return ranks by query set; only the overall ranking has external columns and quality."""
    names = query_sets(results)
    return {name: results.rankings(name if len(names) > 1 else OVERALL) for name in names}


def scored(results: StudyResults) -> pd.DataFrame:
    """Return the tidy table with more columns.

    'distance' from no bias; 'near' and 'far', the interval of the distance; 'outside': whether an
    interval does not contain its own score, as both are printed; 'opposite': whether the score is
    strong on the side that its test ignores; 'counts': whether the query counts in aggregated
    scores; 'cluster': the number of the group of queries that share words.
    """
    tidy = results.to_frame()
    score, no_bias = tidy["score"], tidy["no_bias_value"]
    low, high = tidy["score_lower"], tidy["score_upper"]
    tidy["distance"] = (score - no_bias).abs()
    ends = tidy[["score_lower", "score_upper"]].sub(no_bias, axis=0).abs()
    tidy["near"] = ends.min(axis=1).mask((low <= no_bias) & (no_bias <= high), 0.0)
    tidy["far"] = ends.max(axis=1)
    tidy["outside"] = (score < low - _WRITTEN) | (score > high + _WRITTEN)
    tidy["opposite"] = tidy["warnings"].astype(str).str.startswith(OPPOSITE)
    # Cells of a report name only what applies.
    tidy[["outside", "opposite"]] = tidy[["outside", "opposite"]].replace(False, None)
    places = pd.MultiIndex.from_frame(tidy[["metric", "query_set", "query_name"]])
    left_out = [
        (label, part.name, query)
        for part in results.plan.query_sets
        for label, totals in results.totals(part.name).items()
        for query in totals["left_out"].iloc[0] or ()
    ]
    tidy["counts"] = ~places.isin(left_out)
    queries: dict[str, dict[tuple[str, ...], Query]] = defaultdict(dict)
    for task, _ in results.of_kind("score"):
        place = (task.place["metric"], task.place["query_set"], task.place["query"])
        queries[place[0]][place] = results.plan.queries[task.identity["query"]]
    groups = dict(ChainMap(*map(clusters, queries.values())))
    tidy["cluster"] = places.map(groups)
    return tidy


def clusters(queries: Mapping[tuple[str, ...], Query]) -> dict[tuple[str, ...], int]:
    """Number the groups of queries that share words with each other, but with no other query."""
    words = [
        {word.lower() for part in query.target_sets + query.attribute_sets for word in part}
        for query in queries.values()
    ]
    share = np.array([[not one.isdisjoint(other) for other in words] for one in words])
    return dict(zip(queries, connected_components(share)[1].tolist(), strict=True))
