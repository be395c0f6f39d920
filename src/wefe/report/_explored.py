"""Words along bias directions, for the report."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import zip_longest
from typing import Any

import pandas as pd

from wefe._plain import records
from wefe.explore._directions import NO_CLEAR_DIRECTION
from wefe.report._scores import values
from wefe.study._results import StudyResults

#: Cosines that are written as 0.000: what a mitigation leaves there is rounding.
NOTHING = 5e-4


def explored(results: StudyResults, shown: Collection[str]) -> Iterator[dict[str, Any]]:
    """Return the projections of words in each `shown` model, per criterion.

    Each entry has 'criterion', 'groups', 'models' (facts about the directions, or 'why' there are
    none), 'distribution' (rows), 'sides' (extreme words by group, rank and model) and 'words' (a
    row per model, for each requested word).
    """
    groups = {task.place["criterion"]: dict[str, None]() for task, _ in results.of_kind("explore")}
    for task, page in values(results, "explore", "page"):
        groups[task.place["criterion"]] |= dict.fromkeys(page.get("groups", ()))
    for criterion, own in groups.items():
        models, distribution, extremes, words = (
            table[(table["criterion"] == criterion) & table["model_name"].isin(list(shown))]
            for table in results.explore()[:4]  # type: ignore[index]
        )
        names = distribution["model_name"].unique().tolist()
        yield {
            "criterion": criterion,
            "groups": list(own),
            "models": records(_with_reasons(models)),
            "distribution": records(distribution),
            "sides": [_side(extremes, names, group) for group in own],
            "words": list(_words(_with_reasons(words))),
        }


def _with_reasons(table: pd.DataFrame) -> pd.DataFrame:
    reasons = table["nan_reason"].fillna(table["failure"])
    return table.assign(why=reasons.mask(table["status"] == "missing", "not computed yet"))


def _side(extremes: pd.DataFrame, models: list[str], group: str) -> dict[str, Any]:
    """Return the words of each model towards a group by rank, without rounding noise."""
    far = extremes[(extremes["projection"] >= NOTHING) & (extremes["group"] == group)]
    pairs = far[["word", "projection"]]
    lists = [pairs[far["model_name"] == model].to_numpy().tolist() for model in models]
    return {"group": group, "models": models, "ranks": list(zip_longest(*lists))}


def _words(words: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for word, rows in words.groupby("word", sort=False):
        parts = rows.groupby("model_name", sort=False)
        yield {"word": word, "rows": [_word(part) for _, part in parts]}


def _word(part: pd.DataFrame) -> dict[str, Any]:
    rows = records(part)
    first = rows[0]
    if first["group"] is None:
        return {"model": first["model_name"], "why": first["why"]}
    largest = part["projection"].max()
    # A cosine that is written as 0.000 has no direction.
    is_something = largest >= NOTHING
    leans_to = first["leans_to"] if is_something else NO_CLEAR_DIRECTION
    # Groups with a larger share of the neighbours than by chance.
    clear = part[part["neighbor_share"] > part["chance_high"]].set_index("group")["neighbor_share"]
    return {
        "proximity_bias": first["proximity_bias"],
        "n_neighbors": first["n_neighbors"],
        "model": first["model_name"],
        "why": None,
        "leans_to": leans_to,
        "is_clear": leans_to != NO_CLEAR_DIRECTION,
        "percentile": first["percentile"] if is_something else None,
        "projection": largest,
        # The reason why neighbours are unknown.
        "missing": first["nan_reason"],
        "most": next(iter(clear.nlargest(1).index), None),
        "shares": [] if first["neighbor_share"] is None else rows,
    }
