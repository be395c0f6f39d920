"""Words along bias directions, for the report."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import zip_longest
from typing import Any

import pandas as pd

from wefe._plain import records
from wefe.explore._directions import NO_CLEAR_DIRECTION
from wefe.study._results import StudyResults

#: Cosines that are written as 0.000: what a mitigation leaves there is rounding.
NOTHING = 5e-4


def explored(results: StudyResults, shown: Collection[str]) -> Iterator[dict[str, Any]]:
    """Return the projections of words in each `shown` model, per criterion.

    Each entry has 'criterion', 'groups', 'models' (facts about the directions, or 'why' there are
    none), 'distribution' (rows), 'extremes' (words by group, model and rank) and 'words' (a row per
    model, for each requested word).
    """
    groups: dict[str, list[str]] = {}
    for task, outcome in results.of_kind("explore"):
        page = (outcome.value or {}).get("page") or {}
        groups.setdefault(task.place["criterion"], []).extend(page.get("groups", ()))
    tables = results.explore()
    for criterion, found in groups.items():
        models, distribution, extremes, words = (
            table[(table["criterion"] == criterion) & table["model_name"].isin(list(shown))]
            for table in tables[:4]  # type: ignore[index]
        )
        own = list(dict.fromkeys(found))
        yield {
            "criterion": criterion,
            "groups": own,
            "models": [row | {"why": _why(row)} for row in records(models)],
            "distribution": records(distribution),
            "sides": list(_sides(extremes, distribution["model_name"].unique().tolist(), own)),
            "words": [
                {
                    "word": word,
                    "rows": [_word(part) for _, part in rows.groupby("model_name", sort=False)],
                }
                for word, rows in words.groupby("word", sort=False)
            ],
        }


def _why(row: dict[str, Any]) -> str | None:
    missing = "not computed yet" if row["status"] == "missing" else None
    return missing or row["nan_reason"] or row["failure"]


def _sides(
    extremes: pd.DataFrame, models: list[str], groups: list[str]
) -> Iterator[dict[str, Any]]:
    """Return the words of each model by rank, for each group, without rounding noise."""
    far = extremes[extremes["projection"] >= NOTHING]
    for group in groups:
        lists = [
            part[["word", "projection"]].to_numpy().tolist()
            for model in models
            for part in [far[(far["group"] == group) & (far["model_name"] == model)]]
        ]
        yield {"group": group, "models": models, "ranks": list(zip_longest(*lists))}


def _word(part: pd.DataFrame) -> dict[str, Any]:
    rows = records(part)
    first = rows[0]
    if first["group"] is None:
        return {"model": first["model_name"], "why": _why(first)}
    largest = part["projection"].max()
    # A cosine that is written as 0.000 has no direction.
    is_something = largest >= NOTHING
    leans_to = first["leans_to"] if is_something else NO_CLEAR_DIRECTION
    # Groups with a larger share of the neighbours than by chance.
    clear = part[part["neighbor_share"] > part["chance_high"]].set_index("group")["neighbor_share"]
    return {
        **{name: first[name] for name in ("proximity_bias", "n_neighbors")},
        "model": first["model_name"],
        "why": None,
        "leans_to": leans_to,
        "is_clear": leans_to != NO_CLEAR_DIRECTION,
        "percentile": first["percentile"] if is_something else None,
        "projection": largest,
        # The reason why neighbours are unknown.
        "missing": first["nan_reason"],
        "most": clear.idxmax() if len(clear) else None,
        "shares": [] if first["neighbor_share"] is None else rows,
    }
