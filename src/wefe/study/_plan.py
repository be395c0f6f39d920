"""What a study consists of, as data: models, query sets, metrics, and the tasks among them."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar

from wefe._checks import found, nearest
from wefe.metrics._base import Scale
from wefe.query import Query

T = TypeVar("T")

Kind: TypeAlias = Literal[
    "score",
    "interval",
    "warnings",
    "mitigation",
    "words",
    "direction",
    "silhouette",
    "quality",
    "explore",
    "retrieval",
]

#: What stands for all query sets together, in tables and in `StudyResults.rankings`.
OVERALL = "Overall"


@dataclass(frozen=True)
class PlannedModel:
    """A model of the study, as it is or mitigated; :class:`Plan` explains the attributes."""

    label: str
    source: str
    is_encoder: bool
    base: str
    mitigation: str | None = None


@dataclass(frozen=True)
class PlannedQuerySet:
    """Queries that are aggregated together; :class:`Plan` explains the attributes."""

    name: str
    queries: tuple[Query, ...]
    weight: float
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PlannedMetric:
    """A metric with its parameters; :class:`Plan` explains the attributes."""

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
        'score' (a metric's answer to a query), 'interval' (of that score), 'warnings' (what an
        audit says of it), 'mitigation' (how a model was made), 'words' (what look-up found for a
        query), 'direction' (audit of a bias direction), 'silhouette', 'quality' (a benchmark),
        'explore' (the page of a model, or of a word in it) or 'retrieval' (audit of a ranking).
    model : str
        Label of the model.
    place : dict of str
        Where the result belongs: those of 'metric', 'query_set', 'query' (or subquery),
        'criterion', 'word', 'benchmark' and 'audit' that the kind has.
    identity : dict
        All that decides the result, but for the vectors. A query is in it by its digest;
        ``Plan.queries`` has it.

    Examples
    --------
    >>> from wefe.study import Study
    >>> plan = Study.example().plan
    >>> task = plan.tasks[0]
    >>> task.kind, task.model, task.place["metric"]
    ('score', 'minilm-words', 'WEAT-ES')
    >>> print(plan.queries[task.identity["query"]].query_name)
    Female terms and Male terms wrt Family and Career
    """

    kind: Kind
    model: str
    place: Mapping[str, str]
    identity: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """Hash of the kind and the identity, 32 hexadecimal digits."""
        return digest(self.kind, self.identity)

    def about(self, model: str) -> Task:
        """Return the same task about another model.

        Parameters
        ----------
        model : str
            Its label.

        Returns
        -------
        Task
            With the same key, if the vectors are the same.
        """
        self.digest  # noqa: B018 - the same of any model: computed once, and copied
        other = copy.copy(self)
        object.__setattr__(other, "model", model)
        return other

    @property
    def name(self) -> str:
        """What messages call it: the model, and where the result belongs."""
        return ", ".join([self.model, *self.place.values()])


Status: TypeAlias = Literal["done", "failed", "missing"]


@dataclass(frozen=True)
class Outcome:
    """What became of a task.

    Attributes
    ----------
    status : {'done', 'failed', 'missing'}
        'missing' has not been computed yet.
    value : dict or None
        The result, as plain data (NaN is None), if it is done; its keys depend on the kind.
    reason : str or None
        Why the task failed.
    key : str or None
        Hash of the task and of the vectors that it used, under which the result is kept.
    seconds : float
        Time that it took; 0 unless it is done.
    finished : str or None
        When, in UTC (ISO 8601).
    version : str or None
        The version of wefe that computed it.

    Examples
    --------
    >>> from wefe.study import Study
    >>> task, outcome = Study.example().run(":memory:", progress=False).of_kind("score")[0]
    >>> outcome.status, outcome.value["score"], outcome.value["words_used"]
    ('done', 0.235, 10)
    """

    status: Status = "missing"
    value: Mapping[str, Any] | None = None
    reason: str | None = None
    key: str | None = None
    seconds: float = 0.0
    finished: str | None = None
    version: str | None = None


def provenance(outcome: Outcome) -> dict[str, Any]:
    """Return the columns of tables that say what became of a task."""
    return {
        "status": outcome.status,
        "failure": outcome.reason,
        "key": outcome.key,
        "seconds": outcome.seconds,
        "finished": outcome.finished,
        "wefe_version": outcome.version,
    }


@dataclass(frozen=True)
class Plan:
    """A study, resolved: what there is to be computed, whatever was computed before.

    Attributes
    ----------
    name, description : str
        Of the study.
    models : tuple of PlannedModel
        The models: 'label', 'source' (as the study file has it), 'is_encoder', 'base' (label of
        the model that was mitigated, its own if none was) and 'mitigation' (its name, or None).
    query_sets : tuple of PlannedQuerySet
        Queries that are aggregated together: 'name', 'queries' (before subqueries are generated),
        'weight' in overall scores, and 'left_out' (pairs of a query that is not asked, and why).
    metrics : tuple of PlannedMetric
        Metrics: 'label', 'metric' (name in the study file), 'title' (name in full), 'params',
        'scale' and 'query_sets' (names of those that it is asked about).
    tasks : tuple of Task
        Model by model.
    queries : dict of Query
        Digest -> every query that a task asks, subqueries included.
    settings : dict
        The declaration as plain data.

    Examples
    --------
    >>> from wefe.study import Study
    >>> plan = Study.example().plan
    >>> [model.label for model in plan.models]
    ['minilm-words', 'minilm-words (hard-debias, gender)']
    >>> len(plan.tasks), len(plan.queries)
    (9, 3)
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
        """Return a model by its label.

        Parameters
        ----------
        label : str
            What tables call it.

        Returns
        -------
        PlannedModel
            The entry.

        Raises
        ------
        ValueError
            If there is none; the message names those there are.
        """
        return _labelled("a model", label, {model.label: model for model in self.models})

    def query_set(self, name: str) -> PlannedQuerySet:
        """Return a query set by its name.

        Parameters
        ----------
        name : str
            What tables call it.

        Returns
        -------
        PlannedQuerySet
            The entry.

        Raises
        ------
        ValueError
            If there is none; the message names those there are.
        """
        return _labelled("a query set", name, {part.name: part for part in self.query_sets})

    def metric(self, label: str) -> PlannedMetric:
        """Return a metric by its label.

        Parameters
        ----------
        label : str
            What tables call it.

        Returns
        -------
        PlannedMetric
            The entry.

        Raises
        ------
        ValueError
            If there is none; the message names those there are.
        """
        return _labelled("a metric", label, {metric.label: metric for metric in self.metrics})

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data, from which :meth:`from_dict` makes it again.

        Returns
        -------
        dict
            The attributes by name, fit for JSON. Query sets have the digests of their queries; a
            bound that is infinite is null.
        """
        # What is asked of every model is written once.
        jobs: dict[Any, tuple[int, dict[str, Any]]] = {}
        tasks = []
        for task in self.tasks:
            what = {"kind": task.kind, "place": task.place, "identity": task.identity}
            place = task.digest, *task.place.items()
            tasks.append([task.model, jobs.setdefault(place, (len(jobs), what))[0]])
        return {
            "name": self.name,
            "description": self.description,
            "models": [asdict(model) for model in self.models],
            "query_sets": [
                {**vars(part), "queries": [query_digest(query) for query in part.queries]}
                for part in self.query_sets
            ],
            "metrics": [_metric_as_data(metric) for metric in self.metrics],
            "tasks": tasks,
            "jobs": [job for _, job in jobs.values()],
            "queries": {key: query.dict() for key, query in self.queries.items()},
            "settings": self.settings,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Make a plan from what :meth:`to_dict` returns.

        Parameters
        ----------
        data : mapping
            What is missing in it is a KeyError.

        Returns
        -------
        Plan
            The same one.
        """
        queries = {key: Query.from_dict(query) for key, query in data["queries"].items()}
        jobs = [Task(model="", **job) for job in data["jobs"]]
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
            tuple(jobs[number].about(model) for model, number in data["tasks"]),
            queries,
            data["settings"],
        )


def _labelled(what: str, label: object, labelled: Mapping[str, T]) -> T:
    if label not in labelled:
        known = ", ".join(map(repr, labelled))
        raise ValueError(
            f"{found(label)} is not {what} of this study, which has {known}."
            f"{nearest(label, labelled)}"
        )
    return labelled[label]  # type: ignore[index]


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
