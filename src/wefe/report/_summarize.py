"""The content of the report as one dictionary of plain data."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from wefe._visible import plain, records, visible, visible_data
from wefe.audit._warnings import read_texts
from wefe.ranking import calculate_ranking_correlations
from wefe.report._claims import claims
from wefe.report._provenance import METHODS, methods_of, provenance
from wefe.report._scores import SIGNIFICANT, first_and_second, query_sets, rankings, scored
from wefe.report._text import cut, number
from wefe.report._words import explored, words_by_query
from wefe.retrieval._audit import largest_gap
from wefe.study._plan import OVERALL
from wefe.study._results import StudyResults, silhouette_of

#: Of more models, the report has tables and distributions in place of cells and panels for each.
MOST_MODELS = 40
# Columns of a score in the report.
_KNOWN = [
    *("score", "distance", "no_bias_value", "score_lower", "score_upper", "outside", "opposite"),
    *("p_value", "p_value_holm", "null_lower", "null_upper", "words_used", "words_lost"),
    *("nan_reason", "status"),
]
# Where a result of RNSB has the shares of its words.
_SHARES = "negative_sentiment_distribution"
# Maximum number of warnings of a kind in the report; the tidy table has all.
_MOST_WARNINGS = 100
# Smaller scores are rounding noise: relative changes of them have no meaning.
_NOTHING = 1e-6


def summarize(results: StudyResults) -> dict[str, Any]:
    """Return the content of the report of a study, as plain data for JSON; unknown values are None.

    - 'claims': the findings, as sentences: {'place', 'kind', 'text', 'parts' (names and words),
      'evidence'}; 'caveat' is their caveat.
    - 'models', 'query_sets': what was compared; 'is_large': more than 40 models, so that detailed
      tables contain only those in 'shown'.
    - 'rankings': ranks and aggregated scores per query set, 'Overall' first, in columns of kind
      'bias', 'quality' or 'external'; 'correlations': between them.
    - 'metrics': all scores of each metric, by query set.
    - 'pairs': evidence that the first model of each ranking is better than the second.
    - 'sentiment': shares of negative sentiment of the target words, per query of RNSB.
    - 'changes': each mitigated model against its base.
    - 'quality', 'silhouettes', 'directions', 'retrieval': further parts of the study.
    - 'explored': words along the directions of each criterion.
    - 'warnings': by kind; 'gaps': missing values with reasons.
    - 'words': word sets, lost words and individual biases, per query.
    - 'methods', 'provenance': how the results were made.
    """
    labels, scores = [*results.plan._models], scored(results)
    summary: dict[str, Any] = _plain(_tables(results, scores))
    summary["is_large"] = len(labels) > MOST_MODELS
    names = ["metric", "query_set", "query_name", "model_name"]
    as_shown = scores.assign(**{name: scores[name].map(visible) for name in names})
    summary["claims"] = claims(summary, as_shown)
    summary["caveat"] = (
        "A low score means that this metric measured less association with these words. It does "
        "not mean that a model is free of bias."
    )
    shown = named_in(summary) if summary["is_large"] else labels
    of_shown = {
        "explored": list(explored(results, shown)),
        "sentiment": list(_sentiment(results, shown)),
        "words": list(words_by_query(results, shown)),
    }
    return {**summary, "shown": shown, **_plain(of_shown)}


def named_in(summary: Mapping[str, Any]) -> list[str]:
    verdict = (claim for claim in summary["claims"] if claim["place"] == "verdict")
    names = [p["text"] for claim in verdict for p in claim["parts"] if p["kind"] == "model"]
    return list(dict.fromkeys(names))[:8]


def _plain(value: Any) -> Any:
    """Return JSON data with invisible characters made visible, except line breaks and tabs."""
    return visible_data(plain(value), "\n\t")


def _tables(results: StudyResults, scores: pd.DataFrame) -> dict[str, Any]:
    plan = results.plan
    return {
        "name": plan.name,
        "description": plan.description,
        "models": list(_models(results)),
        "query_sets": [
            {"name": part.name, "weight": part.weight, "left_out": part.left_out}
            for part in plan.query_sets
        ],
        "rankings": list(_rankings(results, scores)),
        "metrics": list(_metrics(results, scores)),
        "correlations": list(_correlations(results)),
        "pairs": list(first_and_second(results, scores)),
        "changes": list(_changes(results)),
        "quality": _quality(results),
        "silhouettes": list(_silhouettes(results)),
        "directions": [
            {"model": task.model, **task.place, **audit} for task, audit in results.directions()
        ],
        "retrieval": list(_retrieval(results)),
        "warnings": _warnings(results),
        "audited": bool(plan.settings["audit"]["scores"]),
        "gaps": _gaps(results, scores),
        "methods": methods_of(results),
        "provenance": provenance(results),
    }


def _models(results: StudyResults) -> Iterator[dict[str, Any]]:
    # For each model, the unique words of the queries that it has, and those that it lacks.
    words: dict[tuple[str, str], set[str]] = defaultdict(set)
    for task, sets in results._values("words", "sets"):
        for part in sets:
            words[task.model, "used"].update(part["used"])
            words[task.model, "lost"].update(part["lost"])
    for model in results.plan.models:
        known = dict(results.models.get(model.label, {}))
        used, lost = words[model.label, "used"], words[model.label, "lost"]
        # Details of a mitigation; the plan has only its name.
        yield known | {
            "how": known.get("mitigation"),
            **vars(model),
            "n_lost": len(lost),
            "n_words": len(used | lost),
        }


# Ranks


def _kinds(results: StudyResults) -> dict[str, str]:
    settings = results.plan.settings
    kinds = {part["name"]: "external" for part in settings["external"]}
    return kinds | ({settings["quality"]["name"]: "quality"} if settings["quality"] else {})


def _rankings(results: StudyResults, scores: pd.DataFrame) -> Iterator[dict[str, Any]]:
    settings, kinds = results.plan.settings, _kinds(results)
    external = {part["name"]: pd.Series(part["scores"]) for part in settings["external"]}
    function = settings["aggregation"]["function"]
    for name, ranks in rankings(results).items():
        best = results.totals.query("query_set == @name").groupby("metric")["best"].first()
        in_set = scores[(scores["query_set"] == name) | (name == OVERALL)]
        no_bias = in_set.groupby("metric")["no_bias_value"].unique()
        # Sums over fewer ranks are not comparable.
        sums = ranks.drop(columns=[*kinds], errors="ignore").sum(axis=1, skipna=False)
        sums = sums.sort_values(kind="stable")
        aggregated = pd.DataFrame({**external, **results.aggregated(name)})
        aggregated = aggregated.reindex(sums.index, columns=ranks.columns)
        yield {
            "name": name,
            "way": METHODS["aggregations"][function]
            + ", and over query sets their weighted mean" * (name == OVERALL),
            "function": function,
            "columns": [
                {
                    "name": column,
                    "kind": kinds.get(column, "bias"),
                    "best": best.get(column),
                    "no_bias": sorted(no_bias.get(column, ())),
                }
                for column in map(str, ranks)
            ],
            "rows": pd.DataFrame(
                {
                    "model": sums.index,
                    "ranks": ranks.loc[sums.index].to_numpy().tolist(),
                    "scores": aggregated.to_numpy().tolist(),
                    "sum": sums.to_numpy(),
                }
            ),
        }


def _correlations(results: StudyResults) -> Iterator[dict[str, Any]]:
    kinds, method = _kinds(results), results.plan.settings["aggregation"]["correlation"]
    for name, ranks in rankings(results).items():
        correlations = calculate_ranking_correlations(ranks, method)
        # Each pair once; the last item says whether both rank by bias.
        pairs = [
            (value, one, other, kinds.keys().isdisjoint((one, other)))
            for (one, own), position in zip(correlations.iterrows(), itertools.count(1))
            for other, value in own.iloc[position:].dropna().items()
        ]
        yield {
            "name": name,
            "columns": list(correlations),
            "values": correlations.to_numpy(),
            "pairs": sorted(pairs),
            "n_models": ranks.notna().any(axis=1).sum(),
            "method": method,
        }


# Scores


def _metrics(results: StudyResults, scores: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for metric in results.plan.metrics:
        own = scores[scores["metric"] == metric.label]
        no_bias = sorted(own["no_bias_value"].unique()) or [metric.scale.no_bias_value]
        parts = []
        for name, rows in own.groupby("query_set", sort=False):
            totals = results.totals.query("query_set == @name and metric == @metric.label")
            cells = dict(list(rows.groupby("model_name")))
            parts.append(
                {
                    "query_set": name,
                    "queries": rows["query_name"].unique(),
                    "cells": [_cells(cells[model]) for model in totals["model_name"]],
                    "aggregated": totals["score"].tolist(),
                    "aggregation": totals["aggregation"].iloc[0],
                    "left_out": totals["left_out"].iloc[0] or [],
                }
            )
        known = own[own["score"].notna()]
        order = ["distance", "model_name", "query_name"]
        yield {
            "label": metric.label,
            "title": metric.title,
            # The value of each query is in its cells.
            "no_bias": no_bias,
            # The bounds of scores on these queries.
            "range": [own["scale_min"].min(), own["scale_max"].max()],
            "models": [*results.plan._models],
            "parts": parts,
            # The score that is farthest from no bias, if there is any.
            "farthest": records(known.sort_values(order).iloc[-1:][order]),
            "stars": ((known["p_value"] < SIGNIFICANT) | known["opposite"].notna()).any(),
            "opposite": known["opposite"].notna().any(),
        }


def _cells(scores: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the known values of scores, because a report may have thousands of cells."""
    return [
        {name: value for name, value in row.items() if value not in (None, "")}
        for row in records(scores[_KNOWN])
    ]


def _changes(results: StudyResults) -> Iterator[dict[str, Any]]:
    """Compare each mitigated model with its base: distances from no bias, and quality."""
    tables = ((name, _distances(results, name)) for name in query_sets(results))
    # Overall has no value if one of the query sets has none.
    has_values = (each for each in tables if each[1].notna().any(axis=None))
    name, distances = next(has_values, (None, pd.DataFrame()))
    quality = pd.DataFrame(results.quality())
    for model in results.plan.models:
        if model.mitigation is not None:
            yield {
                "model": model.label,
                "base": model.base,
                "query_set": name,
                "bias": _change(distances, model.base, model.label),
                "quality": _change(quality, model.base, model.label),
            }


def _distances(results: StudyResults, query_set: str) -> pd.DataFrame:
    totals = results.totals[results.totals["query_set"] == query_set]
    best = totals.drop_duplicates("metric").set_index("metric")["best"]
    return (results.aggregated(query_set) - best).abs()


def _change(table: pd.DataFrame, base: str, model: str) -> list[dict[str, Any]]:
    pair = table.reindex([base, model]).set_axis(["before", "after"]).T.dropna()
    pair["change"] = pair["after"] - pair["before"]
    size = pair["before"].abs()
    pair["relative"] = pair["change"] / size.where(size > _NOTHING)
    # Compares scores as they are written: 0.313 to 0.313 is no change.
    same = pair["before"].map(number) == pair["after"].map(number)
    pair["way"] = np.where(same, "the same", np.where(pair["change"] > 0, "higher", "lower"))
    return records(pair.rename_axis("name").reset_index())


# Other parts of a study


def _quality(results: StudyResults) -> dict[str, Any] | None:
    cells: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for task, outcome in results.of_kind("quality"):
        unknown = {"score": None, "n_items": None, "nan_reason": outcome.failure}
        cells[task.model].append({**task.place, **unknown, **(outcome.value or {})})
    if not cells:
        return None
    return {
        "name": results.plan.settings["quality"]["name"],
        "benchmarks": [cell["benchmark"] for cell in next(iter(cells.values()))],
        "rows": [{"model": model, "cells": row} for model, row in cells.items()],
    }


def _silhouettes(results: StudyResults) -> Iterator[dict[str, Any]]:
    for task, outcome in results.of_kind("silhouette"):
        if outcome.status == "done":
            found = silhouette_of(task, outcome)
            facts: dict[str, Any] = {"why": found}
            if not isinstance(found, str):
                facts = {name: getattr(found, name) for name in ("n_words", "value", "robustness")}
                facts |= {"bounds": [found.lower[0], found.upper[0]], "fewest": found.k[0]}
            yield {"model": task.model, **task.place, **facts}


def _retrieval(results: StudyResults) -> Iterator[dict[str, Any]]:
    names = ("k", "ndcg", "confidence", "groups", "gaps", "decided")
    for task, audit in results.retrieval():
        yield {name: getattr(audit, name) for name in names} | {
            "audit": task.place["audit"],
            "model": task.model,
            "n_queries": audit.queries["query"].nunique(),
            "n_templates": audit.templates["template"].nunique(),
            "n_names": len(audit.names),
            "lowest": audit.groups.nsmallest(1, "impact_ratio").iloc[0],
            "largest": largest_gap(audit.gaps),
            "driver": largest_gap(audit.templates),
            "first_names": audit.names["name"].head(3).tolist(),
            "last_names": audit.names["name"].tail(3).tolist(),
        }


def sentiment_by_query(results: StudyResults) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the RNSB results per model, by metric, query set and query."""
    found: dict[tuple[str, str, str], dict[str, Any]] = defaultdict(dict)
    for task, outcome in results.of_kind("score"):
        value = outcome.value or {}
        if value.get("negative_sentiment") and value["score"] is not None:
            place = (task.place["metric"], task.place["query_set"], task.place["query"])
            shares = {_SHARES: value["negative_sentiment"]}
            found[place][task.model] = {"rnsb": value["score"], **shares}
    return found


def _sentiment(results: StudyResults, shown: Sequence[str]) -> Iterator[dict[str, Any]]:
    for (metric, query_set, query), by_model in sentiment_by_query(results).items():
        rows = [{"model": model, **own} for model, own in by_model.items() if model in shown]
        if rows:
            yield {
                "metric": metric,
                "query_set": query_set,
                "query": query,
                "words": list(dict.fromkeys(itertools.chain(*(row[_SHARES] for row in rows)))),
                "rows": sorted(rows, key=itemgetter("rnsb")),
            }


# Warnings and gaps


def _warnings(results: StudyResults) -> list[dict[str, Any]]:
    columns = ["kind", "message", "is_of_score", "model", "metric", "query_set", "query"]
    table = pd.DataFrame(_every_warning(results), columns=columns, dtype=object).fillna("")
    of_score = table["is_of_score"].astype(bool)
    # An audit of words repeats the warnings of a score.
    keys = pd.MultiIndex.from_frame(table[["kind", "model", "query"]])
    table = table[of_score | ~keys.isin(keys[of_score])]
    shown = ["model", "metric", "query_set", "query", "message"]
    meanings = read_texts("warnings.toml")
    return [
        {
            "kind": kind,
            "n": len(own),
            "meaning": meanings.get(str(kind), [cut(own["message"].iloc[0], 240)])[0],
            "items": own[shown].iloc[:_MOST_WARNINGS].to_dict("records"),
            "models": own["model"].unique().tolist(),
        }
        for kind, own in sorted(table.groupby("kind", sort=False), key=lambda part: -len(part[1]))
    ]


def _every_warning(results: StudyResults) -> Iterator[dict[str, Any]]:
    every = (results._values(kind, "warnings") for kind in ("score", "warnings"))
    for task, texts in itertools.chain(*every):
        for text in texts:
            kind, _, message = str(text).partition(": ")
            about = {"kind": kind, "message": message, "is_of_score": True}
            yield {**task.place, "model": task.model, **about}
    for task, audit in (*results.directions(), *results._values("words", "audit")):
        for each in audit["warnings"]:
            direction = {"query": f"bias direction: {task.place.get('criterion')}"}
            yield {**direction, **task.place, "model": task.model, **each, "is_of_score": False}


def _gaps(results: StudyResults, scores: pd.DataFrame) -> dict[str, Any]:
    without = scores[scores["score"].isna()]
    nan = without[without["status"] == "done"].fillna({"nan_reason": "the score is NaN"})
    columns = ["metric", "query_set", "query_name", "model_name", "nan_reason"]
    return {
        "n_scores": len(scores),
        "n_tasks": len(results.outcomes),
        "n_missing": results.n_tasks["missing"],
        "n_failed": results.n_tasks["failed"],
        "failures": records(results.failures()),
        "nan": records(nan[columns]),
    }
