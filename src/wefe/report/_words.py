"""Words of the queries, for the report: used, lost, and most biased."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import pandas as pd

from wefe.query import Query
from wefe.study._results import StudyResults

# Maximum number of words of a list in the report; the results file has all.
MOST_WORDS = 200
# Number of words to name with the largest individual biases to each side.
_STRONGEST = 10


def words_by_query(results: StudyResults, shown: Collection[str]) -> Iterator[dict[str, Any]]:
    """Return, per query, the words used and lost by `shown` models, and the most biased ones."""
    # By position, because two queries of a set may have the same name.
    values: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for task, outcome in results.of_kind("words"):
        if task.model in shown:
            values[task.place["query_set"]][task.model].append(outcome.value)
    for part in results.plan.query_sets:
        of_set = values[part.name]
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
    columns = {model: _positions(audit) for model, audit in audits.items()}
    table = pd.DataFrame(columns, dtype=float).dropna(how="all")
    order = table.abs().max(axis=1).sort_values(ascending=False, kind="stable").index
    return {
        "ends": [use["name"] for use in first["attributes"]],
        "epsilon": first["epsilon"],
        "audits": [
            {
                "model": model,
                "n_biased": audits[model]["n_biased"],
                "n_words": len(own),
                "strongest": _strongest(table[model]),
            }
            for model, own in columns.items()
        ],
        "n_positions": len(table),
        "positions": table.loc[order[:MOST_WORDS]].round(3).to_dict("split"),
        "not_audited": [
            {"model": model, "why": value["not_audited"]}
            for model, value in found.items()
            if not value["audit"]
        ],
    }


def _positions(audit: Mapping[str, Any]) -> dict[str, float]:
    words = chain(*(use["used"] for use in audit["targets"]))
    return dict(zip(words, chain(*audit["positions"]), strict=True))


def _strongest(positions: pd.Series[float]) -> list[list[Any]]:
    towards = positions[positions > 0].nlargest(_STRONGEST)
    away = positions[positions < 0].nsmallest(_STRONGEST)
    return [list(own.round(3).items()) for own in (towards, away)]
