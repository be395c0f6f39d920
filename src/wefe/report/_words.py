"""Words for the report: those of queries, and those along bias directions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

import pandas as pd

from wefe._visible import records
from wefe.explore._directions import NO_CLEAR_DIRECTION
from wefe.query import Query
from wefe.study._results import StudyResults

# Maximum number of words of a list in the report; the results file has all.
MOST_WORDS = 200
# Number of words to name with the largest individual biases to each side.
_STRONGEST = 10
#: Cosines that are written as 0.000: what a mitigation leaves there is rounding.
NOTHING = 5e-4


def words_by_query(results: StudyResults, shown: Collection[str]) -> Iterator[dict[str, Any]]:
    """Return, per query, the words used and lost by `shown` models, and the most biased ones."""
    # By position, because two queries of a set may have the same name.
    stored: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for task, outcome in results.of_kind("words"):
        if task.model in shown:
            stored[task.place["query_set"]][task.model].append(outcome.value)
    for part in results.plan.query_sets:
        of_set = stored[part.name]
        for number, query in enumerate(part.queries):
            found = {model: own[number] for model, own in of_set.items() if own[number] is not None}
            yield {
                "query_set": part.name,
                "query": query.query_name,
                "sets": list(_sets(query, found)),
                **_individual(found),
            }


def _sets(query: Query, by_model: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    names = [*query.target_sets_names, *query.attribute_sets_names]
    for position, words in enumerate([*query.target_sets, *query.attribute_sets]):
        yield {
            "name": names[position],
            "role": "target" if position < len(query.target_sets) else "attribute",
            **_beginning(list(dict.fromkeys(words))),
            "lost": [
                {"model": model, **_beginning(lost)}
                for model, value in by_model.items()
                if (lost := value["sets"][position]["lost"])
            ],
        }


def _beginning(words: Sequence[str]) -> dict[str, Any]:
    return {"n": len(words), "words": words[:MOST_WORDS]}


def _individual(found: Mapping[str, Any]) -> dict[str, Any]:
    audits = {model: value["audit"] for model, value in found.items() if value["audit"]}
    first: Mapping[str, Any] = next(iter(audits.values()), {"attributes": (), "epsilon": None})
    return {
        "ends": [use["name"] for use in first["attributes"]],
        "epsilon": first["epsilon"],
        "audits": [_strongest(model, audit) for model, audit in audits.items()],
        "not_audited": [
            {"model": model, "why": value["not_audited"]}
            for model, value in found.items()
            if not value["audit"]
        ],
    }


def _strongest(model: str, audit: Mapping[str, Any]) -> dict[str, Any]:
    words = chain(*(use["used"] for use in audit["targets"]))
    positions = pd.Series(dict(zip(words, chain(*audit["positions"]), strict=True)), dtype=float)
    ends = (
        positions[positions > 0].nlargest(_STRONGEST),
        positions[positions < 0].nsmallest(_STRONGEST),
    )
    return {
        "model": model,
        "n_biased": audit["n_biased"],
        "n_words": len(positions),
        "strongest": [list(own.round(3).items()) for own in ends],
    }


# Along bias directions


def explored(results: StudyResults, shown: Collection[str]) -> Iterator[dict[str, Any]]:
    """Return the projections of words in each `shown` model, per criterion.

    Each entry has 'criterion', 'groups', 'models' (facts about the directions, or 'why' there are
    none), 'distribution' (rows), 'sides' (extreme words by group, rank and model) and 'words' (a
    row per model, for each requested word).
    """
    groups = {task.place["criterion"]: dict[str, None]() for task, _ in results.of_kind("explore")}
    for task, page in results._values("explore", "page"):
        groups[task.place["criterion"]] |= dict.fromkeys(page.get("groups", ()))
    tables = results.explore()
    for criterion, own in groups.items():
        models, distribution, extremes, words = (
            table[(table["criterion"] == criterion) & table["model_name"].isin(list(shown))]
            for table in (tables[name] for name in ("models", "distribution", "extremes", "words"))
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
    rows, largest = records(part), part["projection"].max()
    shares = [] if rows[0]["neighbor_share"] is None else rows
    facts = {**rows[0], "projection": largest, "shares": shares}
    # A cosine that is written as 0.000 has no direction.
    if largest < NOTHING:
        facts |= {"leans_to": NO_CLEAR_DIRECTION, "percentile": None}
    return facts
