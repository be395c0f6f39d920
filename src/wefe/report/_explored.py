"""What the report says of words along bias directions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from wefe.explore._directions import NO_CLEAR_DIRECTION

if TYPE_CHECKING:
    import pandas as pd

    from wefe.study._results import StudyResults

#: Cosines that are written as 0.000: what a mitigation leaves there is rounding.
NOTHING = 5e-4


def explored(
    results: StudyResults, shown: Collection[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Return per criterion where words lie in each model, or in those that are `shown`.

    Yields
    ------
    dict
        'criterion', 'groups', 'models' (what is known of the directions, or 'why' there are none),
        'distribution' (rows), 'extremes' (per group, the words of each model by rank) and 'words'
        (per word asked for, a row per model).
    """
    tables = results.explore()
    if tables is None:
        return
    groups = _groups(results)
    for criterion in tables.models["criterion"].unique():
        models, distribution, extremes, words = (
            table[
                (table["criterion"] == criterion)
                & (shown is None or table["model_name"].isin(list(shown)))
            ]
            for table in tables[:4]
        )
        yield {
            "criterion": criterion,
            "groups": groups.get(criterion, []),
            "models": [_model(results, row) for row in models.to_dict("records")],
            "distribution": distribution.drop(columns="criterion").to_dict("records"),
            "extremes": list(
                _extremes(
                    results,
                    extremes,
                    list(distribution["model_name"].unique()),
                    groups.get(criterion, []),
                )
            ),
            "words": [
                {
                    "word": word,
                    "rows": [_word(results, part) for _, part in _by(rows, "model_name")],
                }
                for word, rows in _by(words, "word")
            ],
        }


def _groups(results: StudyResults) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for task, outcome in results.of_kind("explore"):
        page = (outcome.value or {}).get("page") or {}
        if "groups" in page:
            found.setdefault(task.place["criterion"], page["groups"])
    return found


def _by(table: pd.DataFrame, column: str) -> Iterator[tuple[str, pd.DataFrame]]:
    for name, part in table.groupby(column, sort=False):
        yield str(name), part


def _model(results: StudyResults, row: Mapping[str, Any]) -> dict[str, Any]:
    label = row["model_name"]
    return {
        "model": label,
        "mitigation": results.plan.model(label).mitigation,
        "n_sets": row["n_sets"],
        "n_sets_lost": row["n_sets_lost"],
        "explained": row["explained_variance"],
        "n_words_lost": row["n_words_lost"],
        "why": _why(row),
    }


def _why(row: Mapping[str, Any]) -> str | None:
    """Return why there is no page."""
    if row["status"] == "missing":
        return "not computed yet"
    why: str | None = row["nan_reason"] or row["failure"]
    return why


def _extremes(
    results: StudyResults, table: pd.DataFrame, models: Sequence[str], groups: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Return per group the words of each model by rank; what is rounding is left out."""
    far = table[table["projection"] >= NOTHING]
    for group in groups:
        lists = {
            model: list(zip(part["word"], part["projection"], strict=True))
            for model, part in _by(far[far["group"] == group], "model_name")
        }
        columns = [lists.get(model, []) for model in models]
        n_ranks = max(map(len, columns), default=0)
        yield {
            "group": group,
            "first": {model: [word for word, _ in words[:3]] for model, words in lists.items()},
            "models": [
                {"model": model, "mitigation": results.plan.model(model).mitigation}
                for model in models
            ],
            "ranks": [
                [list(column[rank]) if rank < len(column) else None for column in columns]
                for rank in range(n_ranks)
            ],
        }


def _word(results: StudyResults, rows: pd.DataFrame) -> dict[str, Any]:
    """Return what is known of a word in one model."""
    first = rows.to_dict("records")[0]
    label = first["model_name"]
    known: dict[str, Any] = {
        "model": label,
        "mitigation": results.plan.model(label).mitigation,
        "why": None,
    }
    if first["group"] is None:
        return {**known, "why": _why({str(key): value for key, value in first.items()})}
    towards = dict(zip(rows["group"], rows["projection"], strict=True))
    largest = max(towards.values())
    # What would be shown as 0.000 leans nowhere.
    is_something = largest >= NOTHING
    leans_to = first["leans_to"] if is_something else NO_CLEAR_DIRECTION
    shares = [
        {"group": group, "share": share, "low": low, "high": high}
        for group, share, low, high in zip(
            *(rows[name] for name in ("group", "neighbor_share", "chance_low", "chance_high")),
            strict=True,
        )
    ]
    clear = [each for each in shares if each["share"] > each["high"]]
    return {
        **known,
        "leans_to": leans_to,
        "is_clear": leans_to != NO_CLEAR_DIRECTION,
        "percentile": first["percentile"] if is_something else None,
        "projection": largest,
        # Of neighbours that are not known nothing is said but why.
        "missing": first["nan_reason"],
        # The group with more of the neighbours than chance gives, if there is one.
        "most": max(clear, key=itemgetter("share"))["group"] if clear else None,
        "shares": [] if math.isnan(first["neighbor_share"]) else shares,
        "proximity_bias": first["proximity_bias"],
        "n_neighbors": first["n_neighbors"],
    }
