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
        for number, query in enumerate(part.queries):
            every = {model: found[number] for model, found in values[part.name].items()}
            by_model = {model: value for model, value in every.items() if value is not None}
            yield {
                "query_set": part.name,
                "query": query.query_name,
                "sets": list(_sets(query, by_model)),
                **_individual({m: v["audit"] for m, v in by_model.items() if v["audit"]}),
                "not_audited": [
                    {"model": model, "why": value["not_audited"]}
                    for model, value in by_model.items()
                    if not value["audit"]
                ],
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


def _individual(audits: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the strongest individual biases per model, and a table of words by model."""
    first: Mapping[str, Any] = next(iter(audits.values()), {"attributes": (), "epsilon": None})
    columns = {
        model: dict(
            zip(
                chain(*(use["used"] for use in audit["targets"])),
                chain(*audit["positions"]),
                strict=True,
            )
        )
        for model, audit in audits.items()
    }
    table = pd.DataFrame(columns, dtype=float).dropna(how="all")
    order = table.abs().max(axis=1).sort_values(ascending=False, kind="stable").index
    return {
        "ends": [use["name"] for use in first["attributes"]],
        "epsilon": first["epsilon"],
        "audits": [
            {
                "model": model,
                "n_biased": audits[model]["n_biased"],
                "n_words": len(columns[model]),
                "strongest": [
                    list(own[own > 0].nlargest(_STRONGEST).round(3).items()),
                    list(own[own < 0].nsmallest(_STRONGEST).round(3).items()),
                ],
            }
            for model in columns
            for own in [table[model]]
        ],
        "n_positions": len(table),
        "positions": table.loc[order[:MOST_WORDS]].round(3).to_dict("split"),
    }
