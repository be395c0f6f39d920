"""How sure the order of two models is: their distances from no bias, paired over queries."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wefe._checks import as_seed
from wefe._visible import visible
from wefe.study._plan import OVERALL

if TYPE_CHECKING:
    import pandas as pd

    from wefe.study._results import StudyResults

SIGNIFICANT = 0.05
# With fewer independent groups of queries, sign flips say little.
LEAST_CLUSTERS = 8
# So many differences have 2^16 patterns of signs, which are all counted.
_MOST_EXACT = 16
# Sums that differ by less, relative to the largest one possible, are ties.
_TIE = 1e-9


def sign_flip_p_value(
    differences: Sequence[float], *, n_random: int = 9_999, random_state: int = 0
) -> float:
    """Test whether paired differences have a mean other than 0: a sign-flip permutation test.

    If it does not matter which of two models is which, each difference could as well have the
    other sign. The p-value (two-sided) is the share of the patterns of signs whose sum is as far
    from 0 as the observed one, or farther; the observed pattern is one of them.

    Parameters
    ----------
    differences : sequence of float
        One per pair; weighted ones, where pairs weigh differently.
    n_random : int, default=9999
        With more than 16 differences, so many random patterns stand for all.
    random_state : int, default=0
        Seed of the random patterns.

    Returns
    -------
    float
        In (0, 1]; at least 2 / 2^n, so that fewer than six pairs are never below 0.05. 1 without
        any pair.

    References
    ----------
    R. A. Fisher. The Design of Experiments. 1935, section 21.

    Examples
    --------
    Of the eight patterns of three signs, two have a sum as far from 0 as 6: all +, and all -.

    >>> sign_flip_p_value([1.0, 2.0, 3.0])
    0.25
    >>> sign_flip_p_value([1.0, -2.0, 3.0])
    0.75
    """
    observed = abs(math.fsum(differences))
    least = observed - _TIE * math.fsum(map(abs, differences))
    if len(differences) <= _MOST_EXACT:
        sums = np.zeros(1)
        for difference in differences:
            sums = np.concatenate([sums + difference, sums - difference])
        return float(np.mean(np.abs(sums) >= least))
    generator = np.random.default_rng(as_seed(random_state))
    sums = np.zeros(n_random)
    for difference in differences:
        sums += difference * generator.choice([-1.0, 1.0], n_random)
    return (1 + int(np.count_nonzero(np.abs(sums) >= least))) / (1 + n_random)


def first_and_second(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compare the first two models of every ranking, paired over the queries of the ranking.

    Parameters
    ----------
    summary : dict
        With 'rankings', 'metrics' and 'query_sets'.

    Returns
    -------
    list of dict
        Per metric and query set, and per metric overall if there are several sets: see
        :func:`compare`.
    """
    return [
        found
        for ranking in summary["rankings"]
        for metric in summary["metrics"]
        if (found := compare(summary, ranking, metric)) is not None
    ]


def resampled(summary: Mapping[str, Any], results: StudyResults) -> dict[str, float]:
    """Return the p-values of all pairs that a report compares, from resamples of the words."""
    originals = [each["label"] for each in summary["models"] if each["base"] == each["label"]]
    # Names in a summary show what is invisible in them.
    labels = {visible(model.label): model.label for model in results.plan.models}
    found: dict[str, float] = {}
    tables: dict[tuple[str, str], pd.DataFrame] = {}
    for ranking in summary["rankings"]:
        for metric in summary["metrics"]:
            for models in (None, originals):
                pair = compare(summary, ranking, metric, models)
                if pair is None:
                    continue
                both = pair["first"], pair["second"]
                if both not in tables:
                    table = results.compare_models(*(labels[name] for name in both))
                    names = {name: table[name].map(visible) for name in ("metric", "query_set")}
                    tables[both] = table.assign(**names)
                table = tables[both]
                # Of one query set, the overall ranking is that of the set.
                parts = [part["query_set"] for part in metric["parts"]]
                places = [ranking["name"], *(parts if len(parts) == 1 else ())]
                own = table[(table["metric"] == metric["label"]) & table["query_set"].isin(places)]
                if len(own):
                    found[_pair(metric, ranking, *both)] = float(own["p_value"].iloc[0])
    return found


def _pair(metric: Mapping[str, Any], ranking: Mapping[str, Any], first: str, second: str) -> str:
    return json.dumps([metric["label"], ranking["name"], first, second])


def compare(
    summary: Mapping[str, Any],
    ranking: Mapping[str, Any],
    metric: Mapping[str, Any],
    models: Collection[str] | None = None,
) -> dict[str, Any] | None:
    """Compare the first two models of a ranking by one metric.

    Parameters
    ----------
    summary : dict
        With 'query_sets', for their weights.
    ranking, metric : dict
        Of the summary.
    models : collection of str, optional
        The models that are ranked; all by default.

    Returns
    -------
    dict or None
        'metric', 'query_set', 'first', 'second'; 'n' (queries of the aggregate that both answered),
        'n_nearer' (in how many the first is nearer to no bias), 'difference' (how much nearer, in
        the mean), 'n_clusters' (groups of queries that share no words), 'p_value' (of resampled
        words where the study has intervals, else of sign flips; None with fewer than eight of the
        groups), 'beyond' (whether that is beyond chance), 'n_intervals' (queries in
        which both have one) and 'n_overlap' (of these). None if there are no two.
    """
    parts = [p for p in metric["parts"] if ranking["name"] in (OVERALL, p["query_set"])]
    if not parts:
        return None
    column = [each["name"] for each in ranking["columns"]].index(metric["label"])
    ranked = sorted(
        (row["ranks"][column], row["model"])
        for row in ranking["rows"]
        if row["ranks"][column] is not None and (models is None or row["model"] in models)
    )
    if len(ranked) < 2:
        return None
    first, second = (model for _, model in ranked[:2])
    weights = {each["name"]: each["weight"] for each in summary["query_sets"]}
    differences, shares, clusters = [], [], []
    overlaps = []
    for part in parts:
        pairs = list(_pairs(metric, part, first, second))
        both = [each for each in pairs if all("distance" in cell for cell in each[1:])]
        differences += [b["distance"] - a["distance"] for _, a, b in both]
        clusters += [cluster for cluster, *_ in both]
        # As overall scores weigh them: each set by its weight, its queries alike.
        shares += [weights[part["query_set"]] / len(both)] * len(both)
        overlaps += [
            _overlap(a["interval"], b["interval"], metric["no_bias_value"])
            for _, a, b in pairs
            if "interval" in a and "interval" in b
        ]
    total = math.fsum(shares)
    if total <= 0:
        return None
    weighted = [share / total * each for share, each in zip(shares, differences, strict=True)]
    mean = math.fsum(weighted)
    sums = dict.fromkeys(clusters, 0.0)
    for cluster, each in zip(clusters, weighted, strict=True):
        sums[cluster] += each
    p_value = summary.get("resampled", {}).get(_pair(metric, ranking, first, second))
    if p_value is None and len(sums) >= LEAST_CLUSTERS:
        p_value = sign_flip_p_value([*sums.values()])
    return {
        "metric": metric["label"],
        "query_set": ranking["name"],
        "first": first,
        "second": second,
        "n": len(differences),
        "n_nearer": sum(each > _TIE for each in differences),
        "difference": mean,
        "n_clusters": len(sums),
        "p_value": p_value,
        # The mean may be against the order, where scores of opposite signs cancel in the aggregate.
        "beyond": mean > 0 and p_value is not None and p_value < SIGNIFICANT,
        "n_intervals": len(overlaps),
        "n_overlap": sum(overlaps),
    }


def _pairs(
    metric: Mapping[str, Any], part: Mapping[str, Any], first: str, second: str
) -> Iterator[tuple[int, Mapping[str, Any], Mapping[str, Any]]]:
    """Return cluster and the cells of two models of the queries that count in the aggregate."""
    one, other = (part["cells"][metric["models"].index(model)] for model in (first, second))
    for query, *found in zip(part["queries"], part["clusters"], one, other, strict=True):
        if query not in part["left_out"]:
            yield tuple(found)


def _overlap(one: Sequence[float], other: Sequence[float], no_bias: float) -> bool:
    a, b = (distances(interval, no_bias) for interval in (one, other))
    return a[0] <= b[1] and b[0] <= a[1]


def distances(interval: Sequence[float], no_bias: float) -> tuple[float, float]:
    """Return the interval of distances from no bias that belongs to an interval of scores.

    Examples
    --------
    >>> distances([-0.5, 0.25], 0.0), distances([0.25, 0.5], 1.0)
    ((0.0, 0.5), (0.5, 0.75))
    """
    low, high = (end - no_bias for end in interval)
    largest = max(abs(low), abs(high))
    return (0.0, largest) if low <= 0 <= high else (min(abs(low), abs(high)), largest)
