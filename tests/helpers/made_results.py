"""Results of studies that were never run, for tests and benchmarks of reports."""

import math
import random

from wefe import Query
from wefe.metrics._declaration import Scale
from wefe.study import Outcome, Plan, Study, StudyResults
from wefe.study._plan import Job, PlannedMetric, PlannedModel, PlannedQuerySet, digest

SCALES = {
    "WEAT": Scale("WEAT", (-math.inf, math.inf), 0.0),
    "RND": Scale("RND", (-math.inf, math.inf), 0.0),
    "ECT": Scale("ECT", (-1.0, 1.0), 1.0),
    "MAC": Scale("MAC", (0.0, 2.0), 1.0),
    "RNSB": Scale("RNSB", (0.0, math.inf), 0.0),
    "WEAT-ES": Scale("WEAT-ES", (-2.0, 2.0), 0.0),
}


# Of a study that says nothing of the kind.
_STUDY = {
    "name": "By hand",
    "models": [{"source": "demo"}],
    "queries": [{"set": "weat"}],
    "metrics": [{"metric": "rnd"}],
    "lookup": {"preprocessors": [{}]},
}
SETTINGS = Study(_STUDY).declaration.canonical()


def _query(name):
    word = name.split()[-1]
    return Query([[f"she {word}"], [f"he {word}"]], [[f"home {word}"], [f"office {word}"]])


def results_of(
    scores,
    settings=None,
    *,
    name="By hand",
    weights=None,
    left_out=(),
    params=None,
    others=(),
    about=None,
):
    """Build results by hand: metric -> query set -> query -> model -> score.

    A score is a number, a text (why it is NaN), a value, or an Outcome. Queries share words if the
    last words of their names are the same. `others` are tasks of other kinds: (kind, model, place,
    value or Outcome); `about` is what is known of each model.
    """
    sets: dict[str, list[str]] = {}
    for of_set in scores.values():
        for query_set, queries in of_set.items():
            sets.setdefault(query_set, [])
            sets[query_set] += [query for query in queries if query not in sets[query_set]]
    queries_of = [
        q for of_set in scores.values() for queries in of_set.values() for q in queries.values()
    ]
    scored = list(dict.fromkeys(label for models in queries_of for label in models))
    labels = list(dict.fromkeys([*scored, *(model for _, model, _, _ in others)]))
    planned = []
    for label in labels:
        base, _, mitigation = label.partition(" + ")
        planned.append(PlannedModel(label, base, False, base, mitigation or None))
    jobs = {label: [] for label in labels}

    def add(kind, label, place, identity, value):
        if isinstance(value, str):
            value = {"score": None, "nan_reason": value}
        elif isinstance(value, float):
            value = {"score": value}
        if not isinstance(value, Outcome):
            value = Outcome("done", value, key=digest(identity), wefe_version="2.0")
        jobs[label].append((Job(kind, (label,), place, identity), value))

    for label in scored:
        for metric, of_set in scores.items():
            for query_set, queries in of_set.items():
                for query, each in queries.items():
                    place = {"metric": metric, "query_set": query_set, "query": query}
                    asked = {"query": query, "metric": metric, "params": params or {}}
                    add("score", label, place, asked, each[label])
    for kind, label, place, value in others:
        add(kind, label, place, {kind: place}, value)
    pairs = [pair for of_model in jobs.values() for pair in of_model]
    plan = Plan(
        name,
        "",
        tuple(planned),
        tuple(
            PlannedQuerySet(
                label,
                tuple(map(_query, queries)),
                (weights or {}).get(label, float(len(queries))),
                left_out,
            )
            for label, queries in sets.items()
        ),
        tuple(
            PlannedMetric(
                metric,
                metric.lower(),
                metric,
                {},
                SCALES.get(metric, Scale(metric, (-9.0, 9.0), 0.0)),
                tuple(of_set),
            )
            for metric, of_set in scores.items()
        ),
        tuple(job for job, _ in pairs),
        {name: _query(name) for queries in sets.values() for name in queries},
        SETTINGS | (settings or {}),
    )
    outcomes = tuple(outcome for _, outcome in pairs)
    return StudyResults(plan, outcomes, {label: {} for label in labels} | (about or {}))


def many(n_models, n_queries=25, n_metrics=5, seed=0):
    """Build results of many models, some of whose scores have no value."""
    generator = random.Random(seed)

    def score():
        if generator.random() < 0.01:
            return {"score": None, "nan_reason": "the model lacks a word"}
        return {"score": generator.gauss(0.3, 0.2), "words_used": 16, "words_lost": 0}

    # Models that lack a word must not take the queries from all others.
    settings = {"aggregation": {**SETTINGS["aggregation"], "missing": "models"}}
    sets = {"Gender": range(n_queries // 2), "Age": range(n_queries // 2, n_queries)}
    names = [f"model {number}" for number in range(n_models)]
    return results_of(
        {
            metric: {
                name: {
                    f"query q{number}": {model: score() for model in names} for number in numbers
                }
                for name, numbers in sets.items()
            }
            for metric in list(SCALES)[:n_metrics]
        },
        settings,
    )
