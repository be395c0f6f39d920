"""Results of studies that were never run: tables of scores, put where results would be."""

import pytest

from wefe import Query
from wefe.metrics._base import Scale
from wefe.study import Outcome, Plan, StudyResults, Task
from wefe.study._plan import (
    PlannedMetric,
    PlannedModel,
    PlannedQuerySet,
    digest,
    query_digest,
)

_SCALES = {
    "WEAT-ES": ("weat-es", (-2.0, 2.0), 0.0),
    "ECT": ("ect", (-1.0, 1.0), 1.0),
    "RND": ("rnd", (float("-inf"), float("inf")), 0.0),
}


def answer(score, **others):
    """What is kept of an answer; a text in place of a score is the reason for NaN."""
    is_nan = isinstance(score, str)
    return {
        "score": None if is_nan else score,
        "p_value": None,
        "nan_reason": score if is_nan else None,
        "score_lower": None,
        "score_upper": None,
        **others,
    }


@pytest.fixture
def results_of():
    """Return a function that makes results.

    It takes {metric: {query set: {query: {model: score}}}}. A score is a number, a text (NaN for
    that reason), a dict (of an answer) or an Outcome. `others` are tasks of other kinds: (kind,
    model, place, value or Outcome); `about` is what is known of each model.
    """

    def make(
        scores,
        name="Study",
        settings=None,
        weights=None,
        left_out=(),
        params=None,
        others=(),
        about=None,
    ):
        query_sets, metrics, tasks, outcomes, queries = {}, [], [], [], {}
        models = []
        for label, of_sets in scores.items():
            metric, value_range, no_bias = _SCALES.get(label, (label.lower(), (-9.0, 9.0), 0.0))
            scale = Scale(label, value_range, no_bias)
            metrics.append(PlannedMetric(label, metric, label, {}, scale, tuple(of_sets)))
            for of_queries in of_sets.values():
                models += [each for row in of_queries.values() for each in row]
        models = list(dict.fromkeys(models))
        for label, of_sets in scores.items():
            for query_set, of_queries in of_sets.items():
                for text in of_queries:
                    query = Query([["she"], ["he"]], [[f"{text}!"]], ["a", "b"], [text])
                    queries[query_digest(query)] = query
                    query_sets.setdefault(query_set, {})[text] = query
                for model in models:
                    for text, row in of_queries.items():
                        place = {"metric": label, "query_set": query_set, "query": text}
                        key = query_digest(query_sets[query_set][text])
                        identity = {"metric": label, "query": key, "params": params or {}}
                        tasks.append(Task("score", model, place, identity))
                        outcomes.append(outcome(row[model], tasks[-1]))
        for kind, model, place, value in others:
            models += [model] if model not in models else []
            tasks.append(Task(kind, model, place, {kind: place}))
            outcomes.append(outcome(value, tasks[-1]))
        plan = Plan(
            name,
            "",
            tuple(PlannedModel(model, model, False, model) for model in models),
            tuple(
                PlannedQuerySet(
                    label,
                    tuple(own.values()),
                    (weights or {}).get(label, float(len(own))),
                    left_out,
                )
                for label, own in query_sets.items()
            ),
            tuple(metrics),
            tuple(tasks),
            queries,
            {
                "aggregation": {
                    "function": "bias_avg",
                    "missing": "queries",
                    "ties": "min",
                    "correlation": "spearman",
                },
                "external": [],
                "quality": None,
                "limits": {"max": {}, "max_increase": None},
                **(settings or {}),
            },
        )
        known = {model: {} for model in models} | (about or {})
        return StudyResults(plan, tuple(outcomes), known, {})

    def outcome(score, task):
        if isinstance(score, Outcome):
            return score
        value = score if isinstance(score, dict) else answer(score)
        vectors = "the same vectors"
        return Outcome(
            "done", value, None, digest(task.digest, vectors), 0.1, "2030-01-01T00:00:00", "2.0.0"
        )

    return make


@pytest.fixture
def two_models(results_of):
    """Two models, two query sets, two metrics, one of which is best at 1."""
    return results_of(
        {
            "WEAT-ES": {
                "gender": {"art": {"w2v": 0.6, "glove": -0.4}, "job": {"w2v": 0.2, "glove": 0.2}},
                "faith": {"mood": {"w2v": 1.0, "glove": -0.1}},
            },
            "ECT": {"gender": {"art": {"w2v": 0.9, "glove": 0.75}}},
        }
    )
