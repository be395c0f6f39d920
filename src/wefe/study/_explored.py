"""Tidy tables of what a study found along bias directions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from wefe.study._plan import Outcome, Task

_STATE = ("nan_reason", *Outcome().provenance)
_PROXIMITY = ("proximity_bias", "proximity_low", "proximity_high")
_OF_WORD = ("direct_bias", "percentile", *_PROXIMITY, "n_neighbors")
_OF_SHARES = {"neighbors": "neighbor_share", "low": "chance_low", "high": "chance_high"}
_QUANTILES = tuple(f"{share} %" for share in (1, 5, 25, 50, 75, 95, 99))
_NEIGHBOR = ("rank", "neighbor", "cosine", "leans_to", "projection", "indirect_bias", "biased")
# Columns of each table after 'model_name' and 'criterion'.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "models": ("n_sets", "n_sets_lost", "explained_variance", "n_words_lost", *_STATE),
    "distribution": ("set", "group", "n", "mean", "std", "mean_abs", *_QUANTILES),
    "extremes": ("group", "rank", "word", "projection"),
    "words": (
        *("word", "group", "projection", *_OF_SHARES.values(), "leans_to", *_OF_WORD, *_STATE),
    ),
    "neighbors": ("word", *_NEIGHBOR),
}


_WHOLE = {"n", "n_sets", "n_sets_lost", "n_words_lost", "n_neighbors", "rank"}


def explored(tasks: Sequence[tuple[Task, Outcome]]) -> dict[str, pd.DataFrame]:
    """Return the tables of pages; see :meth:`wefe.study.StudyResults.explore`."""
    rows = [row for pair in tasks for row in _rows(*pair)]
    tables = {}
    for name, columns in _COLUMNS.items():
        own = [row for of, row in rows if of == name]
        table = pd.DataFrame(own, columns=["model_name", "criterion", *columns])
        tables[name] = table.astype(dict.fromkeys(_WHOLE.intersection(columns), "Int64"))
    return tables


def _rows(task: Task, outcome: Outcome) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a page, each with the name of its table."""
    value = outcome.value or {"page": None}
    page = value["page"] or {}
    place = {"model_name": task.model, **task.place}
    reason = value.get("nan_reason") or page.get("nan_reason")
    state = {**place, "nan_reason": reason, **outcome.provenance}
    if "word" in place:
        for row in _of_groups(page):
            yield "words", {**page, **row, **state}
    else:
        ratio = page.get("explained_variance_ratio", [None])
        yield "models", {**page, "explained_variance": ratio[0], **state}
    for name in ("distribution", "extremes", "neighbors"):
        yield from ((name, {**place, **row}) for row in page.get(name, ()))


def _of_groups(page: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row per group; a word without a page has one row, without a group."""
    if not page:
        yield {"projection": None}
    for row in page.get("shares", ()):
        if row["group"] in page["projection"]:
            numbers = {name: row[of] for of, name in _OF_SHARES.items()}
            projection = page["projection"][row["group"]]
            yield {"group": row["group"], "projection": projection, **numbers}
