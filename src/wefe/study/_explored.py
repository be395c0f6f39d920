"""Tidy tables of what a study found along bias directions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from wefe.study._plan import Outcome, Task


class Explored(NamedTuple):
    """Words along bias directions: tidy tables that begin with 'model_name' and 'criterion'.

    Projections are cosines in [-1, 1], for a mitigated model on the directions of its original.

    Attributes
    ----------
    models : DataFrame
        One row per model and criterion: 'n_sets' and 'n_sets_lost' (complete and incomplete
        definitional sets), 'explained_variance' (share along the first principal direction),
        'n_words_lost' (out-of-vocabulary words of `distribution`), then 'nan_reason', 'status',
        'failure', 'key', 'seconds', 'finished' and 'wefe_version'.
    distribution : DataFrame
        One row per word set: 'set', 'group' (None if there are two groups; positive projections are
        then on the side of the first), 'n', 'mean', 'std', 'mean_abs', and quantiles '1 %' to '99
        %'.
    extremes : DataFrame
        One row per word with an extreme projection: 'group', 'rank', 'word', 'projection'.
    words : DataFrame
        One row per requested word and group: 'word', 'group', 'projection' onto it,
        'neighbor_share' (neighbours on its side), 'chance_low' and 'chance_high' (interval of that
        share for random words of similar frequency); then, equal for all groups, 'leans_to' (a
        group, or 'no clear direction'), 'direct_bias', 'percentile', 'proximity_bias',
        'n_neighbors', 'nan_reason', 'status' and so on. A word without results has one row.
    neighbors : DataFrame
        One row per neighbour: 'word', 'rank', 'neighbor', 'cosine', 'leans_to', 'projection',
        'indirect_bias', 'biased'.
    """

    models: pd.DataFrame
    distribution: pd.DataFrame
    extremes: pd.DataFrame
    words: pd.DataFrame
    neighbors: pd.DataFrame


_STATE = ("nan_reason", *Outcome().provenance)
_OF_WORD = ("direct_bias", "percentile", "proximity_bias", "n_neighbors")
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
_TEXTS = {
    *("model_name", "criterion", "set", "group", "word", "leans_to", "neighbor"),
    *("nan_reason", "status", "failure", "key", "finished", "wefe_version"),
}
_WHOLE = ("n", "n_sets", "n_sets_lost", "n_words_lost", "n_neighbors", "rank")
_TYPES: dict[str, Any] = {**dict.fromkeys(_WHOLE, "Int64"), "biased": "boolean"}


def explored(tasks: Sequence[tuple[Task, Outcome]]) -> Explored | None:
    rows = [row for pair in tasks for row in _rows(*pair)]
    tables = {
        name: _table([row for of, row in rows if of == name], columns)
        for name, columns in _COLUMNS.items()
    }
    return Explored(**tables) if tasks else None


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
        yield {}
    for row in page.get("shares", ()):
        if row["group"] in page["projection"]:
            numbers = {name: row[of] for of, name in _OF_SHARES.items()}
            projection = page["projection"][row["group"]]
            yield {"group": row["group"], "projection": projection, **numbers}


def _table(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    names = ["model_name", "criterion", *columns]
    cells = [[row.get(name) for name in names] for row in rows]
    table = pd.DataFrame(cells, columns=names, dtype=object)
    numbers = {name: _TYPES.get(name, float) for name in names if name not in _TEXTS}
    return table.astype(numbers)
