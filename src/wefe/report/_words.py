"""What the report says of words: which were used and lost, and which are biased most."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wefe.study._results import StudyResults

# Of a longer list, the report has the beginning; the results file has all of it.
MOST_WORDS = 200
# Words with the largest individual biases to each side that stand in the text.
_STRONGEST = 10


def words_by_query(results: StudyResults, shown: Collection[str]) -> Iterator[dict[str, Any]]:
    """Return per query which words `shown` models used and lost, and which are biased most."""
    # By position, as two queries of a set may have the same name.
    values: dict[str, dict[str, list[Mapping[str, Any] | None]]] = {}
    for task, outcome in results.of_kind("words"):
        if task.model not in shown:
            continue
        of_set = values.setdefault(task.place["query_set"], {})
        of_set.setdefault(task.model, []).append(outcome.value)
    for part in results.plan.query_sets:
        for number, query in enumerate(part.queries):
            by_model = {
                model: value
                for model, of_model in values.get(part.name, {}).items()
                if (value := of_model[number]) is not None
            }
            sets = [
                (name, role, list(dict.fromkeys(words)))
                for role, names, lists in (
                    ("target", query.target_sets_names, query.target_sets),
                    ("attribute", query.attribute_sets_names, query.attribute_sets),
                )
                for name, words in zip(names, lists, strict=True)
            ]
            yield {
                "query_set": part.name,
                "query": query.query_name,
                "sets": [
                    {
                        "name": name,
                        "role": role,
                        "n_words": len(words),
                        "words": words[:MOST_WORDS],
                        "lost": [
                            {"model": model, **_beginning(value["sets"][position]["lost"])}
                            for model, value in by_model.items()
                            if value["sets"][position]["lost"]
                        ],
                    }
                    for position, (name, role, words) in enumerate(sets)
                ],
                **_individual(by_model),
            }


def _beginning(words: Sequence[str]) -> dict[str, Any]:
    return {"n": len(words), "words": list(words)[:MOST_WORDS]}


def _individual(by_model: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the strongest individual biases per model, and a table of words by model."""
    audits = {model: value["audit"] for model, value in by_model.items() if value["audit"]}
    not_audited: dict[str, list[str]] = {}
    for model, value in by_model.items():
        if not value["audit"]:
            not_audited.setdefault(value["not_audited"] or "unknown", []).append(model)
    models, positions = [], {}
    ends: list[str] = []
    for model, audit in audits.items():
        ends = [use["name"] for use in audit["attributes"]]
        words = [word for use in audit["targets"] for word in use["used"]]
        values = [value for part in audit["positions"] for value in part]
        known = sorted(
            {
                word: value for word, value in zip(words, values, strict=True) if value is not None
            }.items(),
            key=lambda pair: pair[1],
        )
        positions[model] = dict(known)
        models.append(
            {
                "model": model,
                "largest": audit["attribute_difference"],
                "n_biased": audit["n_biased"],
                "n_words": len(words),
                "to_first": _rounded(pair for pair in known[: -_STRONGEST - 1 : -1] if pair[1] > 0),
                "to_second": _rounded(pair for pair in known[:_STRONGEST] if pair[1] < 0),
            }
        )
    rows = list(dict.fromkeys(word for column in positions.values() for word in column))
    strength = {
        word: max(abs(column.get(word, 0.0)) for column in positions.values()) for word in rows
    }
    rows = sorted(rows, key=lambda word: -strength[word])
    return {
        "ends": ends,
        "epsilon": next((audit["epsilon"] for audit in audits.values()), None),
        "audits": models,
        "not_audited": [{"why": why, "models": names} for why, names in not_audited.items()],
        "n_positions": len(rows),
        "positions": {
            "models": list(positions),
            "words": rows[:MOST_WORDS],
            "values": [
                [_round(column.get(word)) for column in positions.values()]
                for word in rows[:MOST_WORDS]
            ],
        },
    }


def _rounded(pairs: Iterable[tuple[str, float]]) -> list[list[Any]]:
    return [[word, _round(value)] for word, value in pairs]


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
