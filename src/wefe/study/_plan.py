"""What a study consists of, as data: models, query sets, metrics, and the tasks among them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from wefe.metrics._base import Scale
from wefe.query import Query

Kind: TypeAlias = Literal["score", "words", "direction", "silhouette", "quality", "explore"]


#: What stands for all query sets together, in tables and in `StudyResults.rankings`.
OVERALL = "Overall"


@dataclass(frozen=True)
class PlannedModel:
    """A model of the study, as it is or mitigated.

    Attributes
    ----------
    label : str
        What tables call it.
    source : str
        What the study file names: a file, a name on Hugging Face, 'demo'.
    is_encoder : bool
        Whether it computes its vectors from texts.
    base : str
        Label of the model that was mitigated; its own label if none was.
    mitigation : str or None
        Name of the mitigation.
    """

    label: str
    source: str
    is_encoder: bool
    base: str
    mitigation: str | None = None


@dataclass(frozen=True)
class PlannedQuerySet:
    """Queries that are aggregated together.

    Attributes
    ----------
    name : str
        What they test together.
    queries : tuple of Query
        The queries, before subqueries are generated.
    weight : float
        What the set counts in overall scores; its number of queries unless the study file says.
    left_out : tuple of (str, str)
        Queries that are not asked, and why.
    """

    name: str
    queries: tuple[Query, ...]
    weight: float
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PlannedMetric:
    """A metric with its parameters.

    Attributes
    ----------
    label : str
        What tables call it.
    metric : str
        Its name in the study file: 'weat-es'.
    title : str
        Its name in full.
    params : dict
        Every parameter of `run_query`, look-up included.
    scale : Scale
        How scores are to be read.
    query_sets : tuple of str
        The query sets it is asked about.
    """

    label: str
    metric: str
    title: str
    params: Mapping[str, Any]
    scale: Scale
    query_sets: tuple[str, ...]


@dataclass(frozen=True)
class Task:
    """Something to be computed about one model, independent of all else.

    Attributes
    ----------
    kind : str
        'score' (a metric's answer to a query), 'words' (what look-up found for a query, and the
        individual biases of its words), 'direction' (audit of a bias direction), 'silhouette',
        'quality' (a benchmark) or 'explore' (the page of a model, or of a word in it).
    model : str
        Label of the model.
    place : dict of str
        Where the result belongs: 'metric', 'query_set', 'query', 'criterion', 'word', 'benchmark'
        (those that the kind has). 'query' is the name as tables have it: of a subquery, where the
        metric takes the query apart.
    identity : dict
        All that decides the result, but for the vectors: the instruction by which it is computed.
        Queries are in it by their digest; ``Plan.queries`` has them.
    """

    kind: Kind
    model: str
    place: Mapping[str, str]
    identity: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """Hash of the identity and of the version of wefe, 32 hexadecimal digits."""
        from wefe import __version__

        return digest(self.kind, self.identity, __version__)

    @property
    def name(self) -> str:
        """What messages call it."""
        return ", ".join([self.model, *self.place.values()])


@dataclass(frozen=True)
class Plan:
    """A study, resolved: what there is to be computed, whatever was computed before.

    Attributes
    ----------
    name, description : str
        Of the study.
    models, query_sets, metrics : tuples
        As above.
    tasks : tuple of Task
        Model by model.
    queries : dict of Query
        Digest -> every query that a task asks, subqueries included.
    settings : dict
        The declaration as plain data: look-up, aggregation, external columns, limits and all else.
    """

    name: str
    description: str
    models: tuple[PlannedModel, ...]
    query_sets: tuple[PlannedQuerySet, ...]
    metrics: tuple[PlannedMetric, ...]
    tasks: tuple[Task, ...]
    queries: Mapping[str, Query]
    settings: Mapping[str, Any]

    def model(self, label: str) -> PlannedModel:
        """Return a model by its label."""
        return next(model for model in self.models if model.label == label)

    def query_set(self, name: str) -> PlannedQuerySet:
        """Return a query set by its name."""
        return next(part for part in self.query_sets if part.name == name)

    def metric(self, label: str) -> PlannedMetric:
        """Return a metric by its label."""
        return next(metric for metric in self.metrics if metric.label == label)

    def to_json(self) -> str:
        """Return the plan as JSON, from which :meth:`from_json` makes it again."""
        data = {
            "name": self.name,
            "description": self.description,
            "models": [asdict(model) for model in self.models],
            "query_sets": [
                {**vars(part), "queries": [query_digest(query) for query in part.queries]}
                for part in self.query_sets
            ],
            "metrics": [_metric_as_data(metric) for metric in self.metrics],
            "tasks": [
                {
                    "kind": task.kind,
                    "model": task.model,
                    "place": task.place,
                    "identity": task.identity,
                }
                for task in self.tasks
            ],
            "queries": {key: query.dict() for key, query in self.queries.items()},
            "settings": self.settings,
        }
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Make a plan from what :meth:`to_json` returns."""
        data = json.loads(text)
        queries = {key: Query.from_dict(query) for key, query in data["queries"].items()}
        return cls(
            data["name"],
            data["description"],
            tuple(PlannedModel(**model) for model in data["models"]),
            tuple(
                PlannedQuerySet(
                    part["name"],
                    tuple(queries[key] for key in part["queries"]),
                    part["weight"],
                    tuple((name, why) for name, why in part["left_out"]),
                )
                for part in data["query_sets"]
            ),
            tuple(_metric_from_data(metric) for metric in data["metrics"]),
            tuple(Task(**task) for task in data["tasks"]),
            queries,
            _with_defaults(data["settings"]),
        )


def _with_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with what an earlier version did not know."""
    return {
        "limits": {"max": {}, "max_increase": None},
        **settings,
        "aggregation": {"missing": "queries", **settings["aggregation"]},
    }


def _metric_as_data(metric: PlannedMetric) -> dict[str, Any]:
    low, high = metric.scale.value_range
    # JSON has no infinity; null is no bound.
    bounds = [None if math.isinf(low) else low, None if math.isinf(high) else high]
    data = asdict(metric)
    return {**data, "scale": {**data["scale"], "value_range": bounds}}


def _metric_from_data(data: Mapping[str, Any]) -> PlannedMetric:
    low, high = data["scale"]["value_range"]
    bounds = (-math.inf if low is None else low, math.inf if high is None else high)
    scale = Scale(data["scale"]["label"], bounds, data["scale"]["no_bias_value"])
    return PlannedMetric(**{**data, "scale": scale, "query_sets": tuple(data["query_sets"])})


def digest(*parts: Any) -> str:
    """Return a hash of plain data, whatever the order of keys."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def query_digest(query: Query) -> str:
    """Return a hash of the words and names of a query."""
    return digest(query.dict())
