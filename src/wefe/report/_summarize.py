"""Everything that the report says, as one dictionary of plain data."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wefe._visible import visible
from wefe.report._explored import explored
from wefe.report._methods import AGGREGATIONS
from wefe.report._provenance import methods_of, provenance
from wefe.report._words import words_by_query
from wefe.results import OPPOSITE
from wefe.study._plan import OVERALL

if TYPE_CHECKING:
    import pandas as pd

    from wefe.query import Query
    from wefe.study._results import StudyResults

# Of more warnings of a kind, the report has the first ones; the tidy table has all.
_MOST_WARNINGS = 100
_WEIGHTED = ", and over query sets their weighted mean"


def summarize(results: StudyResults) -> dict[str, Any]:
    """Return everything that the report says about a study.

    Parameters
    ----------
    results : StudyResults
        What :meth:`wefe.study.Study.run` returns; it may be incomplete.

    Returns
    -------
    dict
        Plain data, fit for JSON: texts, numbers, lists; what has no value is None.

        - 'findings': list of {'title', 'sentences', 'parts'}, the summary in words, in which names
          can be told from words; 'caveat' goes with it.
        - 'models', 'query_sets': what was compared.
        - 'rankings': a table of ranks per query set, and 'Overall' first if there are several;
          'kind' tells columns of bias from external ones and those of quality.
        - 'metrics': per metric its scores, query set by query set, with all that is known of each.
        - 'aggregated': per query set, aggregated scores and their distance from no bias.
        - 'correlations': per query set, how rankings correlate.
        - 'pairs': how sure it is that the first model of each ranking is ahead of the second.
        - 'changes': each mitigated model against its base.
        - 'quality', 'silhouettes', 'directions': what else was asked for.
        - 'explored': per criterion, where words lie along its directions.
        - 'warnings': by kind, with where; 'gaps': what has no value, and why.
        - 'words': per query set and query, word sets, lost words and individual biases.
        - 'methods', 'provenance': how all this was made.

    Examples
    --------
    >>> from wefe.study import Study
    >>> summary = summarize(Study.example().run(":memory:", progress=False))
    >>> print(summary["findings"][1]["sentences"][0])
    Gender: minilm-words (hard-debias, gender) has the least bias measured by WEAT-ES and ECT.
    """
    from wefe.report._findings import findings
    from wefe.report._paired import first_and_second

    summary: dict[str, Any] = _plain(_tables(results))
    summary["pairs"] = first_and_second(summary)
    summary["findings"] = findings(summary)
    summary["caveat"] = (
        "A low score says that less association was measured with these words, by this metric. It "
        "does not say that a model is free of bias."
    )
    return summary


def _tables(results: StudyResults) -> dict[str, Any]:
    tidy = results.to_frame()
    plan = results.plan
    return {
        "name": plan.name,
        "description": plan.description,
        "models": [_model(results, label) for label in _labels(results)],
        "query_sets": [
            {
                "name": part.name,
                "n_queries": len(part.queries),
                "weight": part.weight,
                "left_out": [{"query": name, "why": why} for name, why in part.left_out],
            }
            for part in plan.query_sets
        ],
        "rankings": [_ranking(results, name) for name in query_sets(results)],
        "metrics": [_scores(results, tidy, metric.label) for metric in plan.metrics],
        "aggregated": [_aggregated(results, name) for name in query_sets(results)],
        "correlations": [_correlations(results, name) for name in query_sets(results)],
        "changes": list(_changes(results)),
        "quality": _quality(results),
        "silhouettes": list(_silhouettes(results)),
        "directions": list(_directions(results)),
        "explored": list(explored(results)),
        "warnings": _warnings(results),
        "audited": bool(plan.settings["audit"]["scores"]),
        "gaps": _gaps(results, tidy),
        "words": list(words_by_query(results)),
        "methods": methods_of(results),
        "provenance": provenance(results),
    }


def query_sets(results: StudyResults) -> list[str]:
    """Return what has a ranking of its own: if there are several sets, all together first."""
    asked = {name for metric in results.plan.metrics for name in metric.query_sets}
    names = [part.name for part in results.plan.query_sets if part.name in asked]
    return [OVERALL, *names] if len(names) > 1 else names


def ranked(results: StudyResults, name: str) -> str:
    """Return what `StudyResults.rankings` calls the ranking of a query set.

    External columns and the one of quality are in the overall ranking only; of one query set, that
    is the same otherwise.
    """
    return OVERALL if len(query_sets(results)) == 1 else name


def _labels(results: StudyResults) -> list[str]:
    return [model.label for model in results.plan.models]


def _model(results: StudyResults, label: str) -> dict[str, Any]:
    planned = results.plan.model(label)
    known = {key: value for key, value in results.models.get(label, {}).items() if key != "source"}
    # What the engine tells of a mitigation, beside its name in the plan.
    how = known.pop("mitigation", None)
    return {
        "label": label,
        "source": planned.source,
        "is_encoder": planned.is_encoder,
        "base": planned.base,
        "mitigation": planned.mitigation,
        "how": dict(how) if isinstance(how, Mapping) else None,
        **known,
        "lost": _lost(results, label),
    }


def _lost(results: StudyResults, label: str) -> dict[str, Any] | None:
    """Count the different words that the queries ask for and a model lacks."""
    used: set[str] = set()
    lost: set[str] = set()
    values = [outcome.value for task, outcome in results.of_kind("words") if task.model == label]
    for value in values:
        for part in (value or {}).get("sets", ()):
            used.update(part["used"])
            lost.update(part["lost"])
    n_words = len(used | lost)
    return {"n_lost": len(lost), "n_words": n_words} if n_words else None


# Ranks


def _kind(results: StudyResults, column: str) -> str:
    settings = results.plan.settings
    if column in [part["name"] for part in settings["external"]]:
        return "external"
    if settings["quality"] and column == settings["quality"]["name"]:
        return "quality"
    return "bias"


def _ranking(results: StudyResults, name: str) -> dict[str, Any]:
    ranks = results.rankings(ranked(results, name))
    kinds = {str(column): _kind(results, str(column)) for column in ranks}
    bias = ranks[[column for column, kind in kinds.items() if kind == "bias"]]
    # A sum over fewer ranks cannot be compared.
    sums = bias.sum(axis=1, skipna=False)
    return {
        "name": name,
        "columns": [{"name": column, "kind": kind} for column, kind in kinds.items()],
        "rows": [
            {"model": model, "ranks": ranks.loc[model].tolist(), "sum": sums[model]}
            for model in sums.sort_values(kind="stable", na_position="last").index
        ],
    }


# Scores


def _scores(results: StudyResults, tidy: pd.DataFrame, label: str) -> dict[str, Any]:
    metric = results.plan.metric(label)
    parts = []
    own = [] if tidy.empty else tidy.loc[tidy["metric"] == label, "no_bias_value"].unique().tolist()
    no_bias = own[0] if len(own) == 1 else metric.scale.no_bias_value
    tasks = [task for task, _ in results.of_kind("score") if task.place["metric"] == label]
    queries_of = [results.plan.queries[task.identity["query"]] for task in tasks]
    places = [(task.place["query_set"], task.place["query"]) for task in tasks]
    clusters = _clusters(dict(zip(places, queries_of, strict=True)))
    for name in metric.query_sets:
        rows = tidy[(tidy["metric"] == label) & (tidy["query_set"] == name)]
        if rows.empty:
            continue
        totals = results.totals(name)[label]
        by_model = {
            model: part.set_index("query_name") for model, part in rows.groupby("model_name")
        }
        queries = rows["query_name"].unique().tolist()
        parts.append(
            {
                "query_set": name,
                "queries": queries,
                "clusters": [clusters[name, query] for query in queries],
                "cells": [
                    [_cell(by_model[model].loc[query], no_bias) for query in queries]
                    for model in totals["model_name"]
                ],
                "aggregated": totals["score"].tolist(),
                "aggregation": totals["aggregation"].iloc[0],
                "left_out": totals["left_out"].iloc[0],
            }
        )
    return {
        "label": label,
        "title": metric.title,
        # That of a query is in its cells, where it is another one.
        "no_bias_value": no_bias,
        "no_bias": _listed_values(own or [no_bias]),
        "models": _labels(results),
        "parts": parts,
    }


def _clusters(queries: Mapping[tuple[str, str], Query]) -> dict[tuple[str, str], int]:
    """Number the groups of queries that share words with each other, and with no other query."""
    groups: list[tuple[set[str], list[tuple[str, str]]]] = []
    for key, query in queries.items():
        parts = query.target_sets + query.attribute_sets
        words = {word.lower() for part in parts for word in part}
        alike = [group for group in groups if group[0] & words]
        groups = [group for group in groups if not group[0] & words]
        keys = [key, *(each for _, found in alike for each in found)]
        groups.append((words.union(*(found for found, _ in alike)), keys))
    return {key: number for number, (_, keys) in enumerate(groups) for key in keys}


def _listed_values(values: Sequence[float]) -> str:
    """Write what means no bias; several values, if that depends on the query.

    Examples
    --------
    >>> _listed_values([50.0, 100 / 3])
    '33.3333 or 50 (by query)'
    """
    texts = [f"{value:g}" for value in sorted(values)]
    return texts[0] if len(texts) == 1 else f"{' or '.join(texts)} (by query)"


def _cell(row: Any, no_bias: float) -> dict[str, Any]:
    own = row["no_bias_value"]
    known = {
        "score": row["score"],
        "distance": abs(row["score"] - own),
        "no_bias_value": own if own != no_bias else None,
        "interval": [row["score_lower"], row["score_upper"]],
        "p_value": row["p_value"],
        "p_value_holm": row["p_value_holm"],
        "null": [row["null_lower"], row["null_upper"]],
        "opposite": True if str(row["warnings"]).startswith(OPPOSITE) else None,
        "used": row["words_used"],
        "lost": row["words_lost"],
        "outside": True if _is_outside(row) else None,
        "reason": row["nan_reason"],
        "status": row["status"],
    }
    # Most have no more than a score: a report of thousands should not be long for nothing.
    return {key: value for key, value in known.items() if not _is_missing(value)}


def _is_outside(row: Any) -> bool:
    """Tell whether an interval does not hold its own score, as both are written."""
    from wefe.report._findings import number

    low, high, score = row["score_lower"], row["score_upper"], row["score"]
    if not (score < low or score > high):
        return False
    return number(score) != number(low if score < low else high)


def _is_missing(value: Any) -> bool:
    import pandas as pd

    if isinstance(value, list):
        return all(map(_is_missing, value))
    return bool(pd.isna(value))


def _aggregated(results: StudyResults, name: str) -> dict[str, Any]:
    """Return aggregated scores, and their distances from what means no bias in it."""
    columns = {
        metric.label: column
        for metric in results.plan.metrics
        if (column := _column(results, metric.label, name)) is not None
    }
    function = results.plan.settings["aggregation"]["function"]
    return {
        "name": name,
        "way": AGGREGATIONS[function] + (_WEIGHTED if name == OVERALL else ""),
        "heads": [
            _head(function, best, _no_bias_values(results, label, name))
            for label, (_, best) in columns.items()
        ],
        "columns": list(columns),
        "best": [best for _, best in columns.values()],
        "rows": [
            {
                "model": model,
                "values": [column.get(model, math.nan) for column, _ in columns.values()],
                "distances": [
                    abs(column.get(model, math.nan) - best) for column, best in columns.values()
                ],
            }
            for model in _labels(results)
        ],
    }


def _no_bias_values(results: StudyResults, label: str, name: str) -> set[float]:
    """Return the scores that mean no bias, of the queries of a set."""
    tidy = results.to_frame()
    rows = tidy[tidy["metric"] == label]
    if name != OVERALL:
        rows = rows[rows["query_set"] == name]
    return set(rows["no_bias_value"])


def _head(function: str, best: float, no_bias: Collection[float]) -> str:
    """Say what a column of aggregated scores holds.

    Examples
    --------
    >>> _head("bias_avg", 0.0, {1.0}), _head("avg", 1.0, {1.0}), _head("sum", 4.0, {1.0})
    ('distance from 1', 'no bias: 1', 'no bias: 4 (sum)')
    >>> _head("bias_avg", 0.0, {50.0, 25.0})
    'distance from no bias'
    """
    if function == "bias_avg":
        return f"distance from {min(no_bias):g}" if len(no_bias) == 1 else "distance from no bias"
    added_up = function in ("sum", "abs_sum") and best != 0
    return f"no bias: {best:g}{' (sum)' if added_up else ''}"


def _column(results: StudyResults, label: str, name: str) -> tuple[pd.Series, float] | None:
    """Return an aggregated column of a metric, and the value that means no bias in it."""
    totals = results.totals(name).get(label)
    if totals is None:
        return None
    return totals.set_index("model_name")["score"], float(totals["best"].iloc[0])


def _correlations(results: StudyResults, name: str) -> dict[str, Any]:
    ranks = results.rankings(ranked(results, name))
    correlations = results.correlations(ranked(results, name))
    return {
        "name": name,
        "columns": [str(column) for column in correlations],
        "kinds": [_kind(results, str(column)) for column in correlations],
        "values": correlations.to_numpy().tolist(),
        "n_models": int(ranks.notna().any(axis=1).sum()),
        "method": results.plan.settings["aggregation"]["correlation"],
    }


def _changes(results: StudyResults) -> Iterator[dict[str, Any]]:
    """Compare each mitigated model with its base: distances from no bias, and quality."""
    name = query_sets(results)[0] if query_sets(results) else None
    distances: dict[str, pd.Series] = {}
    if name is not None:
        columns = {m.label: _column(results, m.label, name) for m in results.plan.metrics}
        distances = {
            label: (found[0] - found[1]).abs() for label, found in columns.items() if found
        }
    table = results.quality()
    quality = {} if table is None else {str(k): row.to_dict() for k, row in table.iterrows()}
    for model in results.plan.models:
        if model.mitigation is None:
            continue
        yield {
            "model": model.label,
            "base": model.base,
            "mitigation": model.mitigation,
            "query_set": name,
            "bias": [
                {"metric": label, **_change(column.get(model.base), column.get(model.label))}
                for label, column in distances.items()
            ],
            "quality": [
                {"benchmark": str(benchmark), **_change(of_base, scores[benchmark])}
                for benchmark, of_base in quality.get(model.base, {}).items()
                if (scores := quality.get(model.label)) is not None
            ],
        }


def _change(before: Any, after: Any) -> dict[str, float]:
    before, after = (math.nan if each is None else float(each) for each in (before, after))
    # What is left of rounding is no bias, and nothing to be relative to.
    relative = (after - before) / abs(before) if abs(before) > 1e-6 else math.nan
    return {"before": before, "after": after, "change": after - before, "relative": relative}


# What else was asked for


def _quality(results: StudyResults) -> dict[str, Any] | None:
    table = results.quality()
    if table is None:
        return None
    cells: dict[Any, Any] = {
        (task.model, task.place["benchmark"]): outcome.value or {"nan_reason": outcome.reason}
        for task, outcome in results.of_kind("quality")
    }
    return {
        "name": results.plan.settings["quality"]["name"],
        "benchmarks": [str(column) for column in table],
        "rows": [
            {
                "model": model,
                "scores": table.loc[model].tolist(),
                "used": [_used(cells.get((model, column), {})) for column in table],
                "reasons": [cells.get((model, column), {}).get("nan_reason") for column in table],
            }
            for model in table.index
        ],
    }


def _used(score: Mapping[str, Any]) -> str | None:
    if score.get("n_items") is None:
        return None
    return f"{score['n_used']} of {score['n_items']}"


def _silhouettes(results: StudyResults) -> Iterator[dict[str, Any]]:
    for task, silhouette in results.silhouettes():
        yield {
            "model": task.model,
            "metric": silhouette.metric,
            "query_set": task.place["query_set"],
            "query": silhouette.query_name,
            "vary": silhouette.vary,
            "n_runs": silhouette.n_runs,
            "n_words": silhouette.n_words,
            "value": silhouette.value,
            "robustness": silhouette.robustness,
            "bounds": [float(silhouette.lower[0]), float(silhouette.upper[0])],
            "fewest": int(silhouette.k[0]),
        }


def _directions(results: StudyResults) -> Iterator[dict[str, Any]]:
    for task, audit in results.directions():
        yield {
            "model": task.model,
            "criterion": task.place["criterion"],
            "n_sets": len(audit["sets"]),
            "first": audit["explained_variance_ratio"][0],
            "chance": audit["chance_ratio"],
            "mean_correlation": audit["mean_correlation"],
            "outliers": list(audit["outliers"]),
            "n_warnings": len(audit["warnings"]),
        }


# What to mind


def _warnings(results: StudyResults) -> list[dict[str, Any]]:
    """Return audit warnings by kind, the most frequent first."""
    found: dict[str, list[dict[str, str]]] = {}
    for task, outcome in results.of_kind("score"):
        for text in (outcome.value or {}).get("warnings") or ():
            kind, _, message = str(text).partition(": ")
            found.setdefault(kind, []).append({**_where(task), "message": message})
    for task, audit in results.directions():
        for warning in audit["warnings"]:
            item = {**_where(task), "message": warning["message"]}
            found.setdefault(warning["kind"], []).append(item)
    of_scores = {
        (kind, item["model"], item["query"]) for kind, items in found.items() for item in items
    }
    for task, outcome in results.of_kind("words"):
        for warning in ((outcome.value or {}).get("audit") or {}).get("warnings") or ():
            key = (warning["kind"], task.model, task.place["query"])
            if key not in of_scores:
                item = {**_where(task), "message": warning["message"]}
                found.setdefault(warning["kind"], []).append(item)
    return [
        {
            "kind": kind,
            "n": len(items),
            "items": items[:_MOST_WARNINGS],
            "models": list(dict.fromkeys(item["model"] for item in items)),
        }
        for kind, items in sorted(found.items(), key=lambda pair: -len(pair[1]))
    ]


def _where(task: Any) -> dict[str, str]:
    place = task.place
    return {
        "model": task.model,
        "metric": place.get("metric", ""),
        "query_set": place.get("query_set", ""),
        "query": place.get("query") or f"bias direction: {place.get('criterion')}",
    }


def _gaps(results: StudyResults, tidy: pd.DataFrame) -> dict[str, Any]:
    """Return what has no value, and why."""
    nan: list[dict[str, Any]] = []
    n_scores = len(results.of_kind("score"))
    statuses: list[str] = []
    if n_scores:
        statuses = tidy.loc[tidy["score"].isna(), "status"].tolist()
        without = tidy[tidy["score"].isna() & (tidy["status"] == "done")]
        nan = [
            {
                "metric": row["metric"],
                "query_set": row["query_set"],
                "query": row["query_name"],
                "model": row["model_name"],
                "reason": row["nan_reason"] or "the score is NaN",
            }
            for row in without.to_dict("records")
        ]
    return {
        "n_scores": n_scores,
        "n_tasks": len(results.outcomes),
        "n_missing": len(results.missing),
        "n_failed": len(results.failed),
        "n_failed_scores": statuses.count("failed"),
        "n_missing_scores": statuses.count("missing"),
        "failures": results.failures().to_dict("records"),
        "nan": nan,
    }


# As plain data


def _plain(value: Any) -> Any:
    """Return what JSON has for a value, with texts that cannot disturb what is around them."""
    import numpy as np
    import pandas as pd

    if isinstance(value, str):
        return visible(value, "\n\t")
    if isinstance(value, Mapping):
        return {visible(str(key), "\n\t"): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is pd.NA or value is None:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
