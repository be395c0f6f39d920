"""Everything that the report says, as one dictionary of plain data."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wefe._visible import visible
from wefe.report._explored import explored
from wefe.report._methods import AGGREGATIONS, WARNINGS
from wefe.report._provenance import methods_of, provenance
from wefe.report._text import cut, number
from wefe.report._words import words_by_query
from wefe.results import OPPOSITE
from wefe.study._plan import OVERALL

if TYPE_CHECKING:
    import pandas as pd

    from wefe.query import Query
    from wefe.study._results import StudyResults

#: Of more models, the report has tables and distributions in place of cells and panels for each.
MOST_MODELS = 40
# What the report says of a score.
_KNOWN = [
    *("model_name", "query_name", "score", "no_bias_value", "score_lower", "score_upper"),
    *("p_value", "p_value_holm", "null_lower", "null_upper", "warnings", "words_used"),
    *("words_lost", "nan_reason", "status"),
]
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

        - 'claims': list of {'place', 'kind', 'text', 'parts', 'evidence'}, what was found, in
          sentences in which names can be told from words; 'caveat' goes with them.
        - 'models', 'query_sets': what was compared; 'is_large': whether these are more than 40
          models, of which tables of single scores and words have those in 'shown' only, which the
          verdict names.
        - 'rankings': ranks and aggregated scores per query set, and 'Overall' first if there are
          several; 'kind' tells columns of bias from external ones and those of quality.
        - 'metrics': per metric its scores, query set by query set, with all that is known of each.
        - 'correlations': per query set, how rankings correlate.
        - 'pairs': how sure it is that the first model of each ranking is ahead of the second.
        - 'sentiment': per query of RNSB, how negative sentiment spreads over the target words.
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
    >>> print(summary["claims"][1]["text"])
    minilm-words (hard-debias, gender) has the lowest sum of ranks over both metrics: 2, where 2 is
    the least possible; minilm-words follows with 4.
    """
    from wefe.report._claims import claims
    from wefe.report._paired import first_and_second, resampled
    from wefe.report._sentences import said

    summary: dict[str, Any] = _plain(_tables(results))
    summary["resampled"] = resampled(summary, results)
    summary["pairs"] = first_and_second(summary)
    summary["claims"] = [said(claim) for claim in claims(summary)]
    summary["caveat"] = (
        "A low score means that this metric measured less association with these words. It does "
        "not mean that a model is free of bias."
    )
    labels = [model["label"] for model in summary["models"]]
    summary["is_large"] = len(labels) > MOST_MODELS
    shown = named_in(summary) if summary["is_large"] else labels
    summary["shown"] = shown
    if summary["is_large"]:
        summary["explored"] = _plain(list(explored(results, shown)))
    summary["sentiment"] = _plain(list(_sentiment(results, shown)))
    summary["words"] = _plain(list(words_by_query(results, shown)))
    return summary


def named_in(summary: Mapping[str, Any], most: int = 8) -> list[str]:
    """Return the models that the verdict names."""
    said = (c for c in summary["claims"] if c["place"] == "verdict")
    names = [part["text"] for claim in said for part in claim["parts"] if part["kind"] == "model"]
    return list(dict.fromkeys(names))[:most]


def _tables(results: StudyResults) -> dict[str, Any]:
    tidy = results.to_frame()
    plan = results.plan
    return {
        "name": plan.name,
        "description": plan.description,
        "models": _models(results),
        "query_sets": [
            {
                "name": part.name,
                "n_queries": len(part.queries),
                "weight": part.weight,
                "left_out": [{"query": name, "why": why} for name, why in part.left_out],
            }
            for part in plan.query_sets
        ],
        "rankings": [_ranking(results, tidy, name) for name in query_sets(results)],
        "metrics": [_scores(results, tidy, metric.label) for metric in plan.metrics],
        "correlations": [_correlations(results, name) for name in query_sets(results)],
        "changes": list(_changes(results)),
        "quality": _quality(results),
        "silhouettes": list(_silhouettes(results)),
        "directions": list(_directions(results)),
        "explored": list(explored(results)),
        "warnings": _warnings(results),
        "audited": bool(plan.settings["audit"]["scores"]),
        "gaps": _gaps(results, tidy),
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


def _models(results: StudyResults) -> list[dict[str, Any]]:
    # Of each model, the different words that the queries ask for, and those that it lacks.
    used: dict[str, set[str]] = {}
    lost: dict[str, set[str]] = {}
    for task, outcome in results.of_kind("words"):
        for part in (outcome.value or {}).get("sets", ()):
            used.setdefault(task.model, set()).update(part["used"])
            lost.setdefault(task.model, set()).update(part["lost"])
    models = []
    for planned in results.plan.models:
        label = planned.label
        known = {
            key: part for key, part in results.models.get(label, {}).items() if key != "source"
        }
        # What the engine tells of a mitigation, beside its name in the plan.
        how = known.pop("mitigation", None)
        without = lost.get(label, set())
        n_words = len(used.get(label, set()) | without)
        models.append(
            {
                "label": label,
                "source": planned.source,
                "is_encoder": planned.is_encoder,
                "base": planned.base,
                "mitigation": planned.mitigation,
                "how": dict(how) if isinstance(how, Mapping) else None,
                **known,
                "lost": {"n_lost": len(without), "n_words": n_words} if n_words else None,
            }
        )
    return models


# Ranks


def _kind(results: StudyResults, column: str) -> str:
    settings = results.plan.settings
    if column in [part["name"] for part in settings["external"]]:
        return "external"
    if settings["quality"] and column == settings["quality"]["name"]:
        return "quality"
    return "bias"


def _ranking(results: StudyResults, tidy: pd.DataFrame, name: str) -> dict[str, Any]:
    """Return ranks with the aggregated scores that they are made of."""
    ranks = results.rankings(ranked(results, name))
    settings = results.plan.settings
    function = settings["aggregation"]["function"]
    totals = results.totals(name)
    scores: dict[str, Mapping[str, float]] = {
        **{part["name"]: part["scores"] for part in settings["external"]},
        **{key: dict(zip(t["model_name"], t["score"], strict=True)) for key, t in totals.items()},
    }
    columns = []
    for column in map(str, ranks):
        head = ""
        if column in totals:
            rows = tidy[tidy["metric"] == column]
            own = rows if name == OVERALL else rows[rows["query_set"] == name]
            best = float(totals[column]["best"].iloc[0])
            head = _head(function, best, set(own["no_bias_value"]))
        columns.append({"name": column, "kind": _kind(results, column), "head": head})
    is_bias = [column["kind"] == "bias" for column in columns]
    # A sum over fewer ranks cannot be compared.
    sums = ranks.loc[:, is_bias].sum(axis=1, skipna=False)
    return {
        "name": name,
        "way": AGGREGATIONS[function] + (_WEIGHTED if name == OVERALL else ""),
        "columns": columns,
        "rows": [
            {
                "model": model,
                "ranks": own,
                "scores": [scores.get(column["name"], {}).get(model) for column in columns],
                "sum": total,
            }
            for model, own, total in sorted(
                zip(ranks.index, ranks.to_numpy().tolist(), sums, strict=True),
                key=lambda row: (row[2] != row[2], row[2]),
            )
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
        cells = {
            (row["model_name"], row["query_name"]): _cell(row, no_bias)
            for row in rows[_KNOWN].to_dict("records")
        }
        queries = rows["query_name"].unique().tolist()
        parts.append(
            {
                "query_set": name,
                "queries": queries,
                "clusters": [clusters[name, query] for query in queries],
                "cells": [
                    [cells[model, query] for query in queries] for model in totals["model_name"]
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
        "models": [model.label for model in results.plan.models],
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


def _cell(row: Mapping[Any, Any], no_bias: float) -> dict[str, Any]:
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


def _is_outside(row: Mapping[Any, Any]) -> bool:
    """Tell whether an interval does not hold its own score, as both are written."""
    low, high, score = row["score_lower"], row["score_upper"], row["score"]
    if not (score < low or score > high):
        return False
    return number(score) != number(low if score < low else high)


def _is_missing(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_missing, value))
    # NaN and pandas' NA are not equal to themselves; the latter says so by being no bool.
    return value is None or (value != value) is not False


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
    distances: dict[str, pd.Series] = {
        label: (totals.set_index("model_name")["score"] - totals["best"].iloc[0]).abs()
        for label, totals in (results.totals(name) if name else {}).items()
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


def _sentiment(results: StudyResults, shown: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Return per query of RNSB the shares of negative sentiment of its target words."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    wanted = set(shown)
    for task, outcome in results.of_kind("score"):
        value = outcome.value or {}
        if task.model in wanted and value.get("negative_sentiment") and value["score"] is not None:
            key = (task.place["metric"], task.place["query_set"], task.place["query"])
            row = {"model": task.model, "score": value["score"]}
            found.setdefault(key, []).append({**row, "shares": value["negative_sentiment"]})
    for (metric, query_set, query), rows in found.items():
        words = list(dict.fromkeys(word for row in rows for word in row["shares"]))
        yield {
            "metric": metric,
            "query_set": query_set,
            "query": query,
            "words": words,
            "rows": [
                {**row, "shares": [row["shares"].get(word) for word in words]}
                for row in sorted(rows, key=lambda row: row["score"])
            ],
        }


# What to mind


def _warnings(results: StudyResults) -> list[dict[str, Any]]:
    """Return audit warnings by kind, the most frequent first."""
    found: dict[str, list[dict[str, str]]] = {}
    for task, outcome in (*results.of_kind("score"), *results.of_kind("warnings")):
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
            "meaning": WARNINGS.get(kind) or cut(" ".join(items[0]["message"].split()), 240),
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
