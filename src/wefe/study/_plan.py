"""The plan of a study as data: models, query sets, metrics and tasks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from wefe.metrics._declaration import Scale
from wefe.query import Query

_Query: TypeAlias = Annotated[Query, PlainValidator(Query.from_dict), PlainSerializer(Query.dict)]


def _plain_scale(scale: Scale) -> dict[str, Any]:
    # JSON has no infinity.
    return {**vars(scale), "value_range": [*map(str, scale.value_range)]}


#: What stands for all query sets together, in tables and in `StudyResults.rankings`.
OVERALL = "Overall"


@dataclass(frozen=True)
class PlannedModel:
    """A model of the study, original or mitigated; see :class:`Plan` for the attributes."""

    label: str
    source: str
    is_encoder: bool
    base: str
    mitigation: str | None = None


@dataclass(frozen=True)
class PlannedQuerySet:
    """Queries that are aggregated together; see :class:`Plan` for the attributes."""

    name: str
    queries: tuple[_Query, ...]
    weight: float
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PlannedMetric:
    """A metric with its parameters; see :class:`Plan` for the attributes."""

    label: str
    metric: str
    title: str
    params: Mapping[str, Any]
    scale: Annotated[Scale, PlainSerializer(_plain_scale)]
    query_sets: tuple[str, ...]


@dataclass(frozen=True)
class Job:
    """Tasks that differ in the model only; see :class:`Task` for the other attributes."""

    kind: str
    models: tuple[str, ...]
    place: Mapping[str, str]
    identity: Mapping[str, Any]


@dataclass(frozen=True)
class Task:
    """One computation about one model, independent of all others.

    Attributes
    ----------
    kind, model : str
        'score', 'interval' and 'warnings' of that score, 'mitigation' (how a model was made),
        'words' (lookup of a query), 'direction' (audit of a bias direction), 'silhouette',
        'quality' (a benchmark), 'explore' (a model, or a word in it) or 'retrieval'; and the label
        of the model.
    place : dict of str
        Labels that locate the result, depending on the kind: 'metric', 'query_set', 'query' (or
        subquery), 'criterion', 'word', 'benchmark', 'audit'.
    identity : dict
        Everything that determines the result, except the vectors; the query by its digest in
        ``Plan.queries``.

    Examples
    --------
    >>> from wefe.study import Study
    >>> task = Study.example().plan.tasks[0]
    >>> task.kind, task.model, task.place["metric"]
    ('score', 'minilm-words', 'WEAT-ES')
    """

    kind: str
    model: str
    place: Mapping[str, str]
    identity: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """Hash of the kind and the identity, 32 hexadecimal digits."""
        return digest(self.kind, self.identity)

    @property
    def id(self) -> str:
        """The digest with the model, 'DIGEST MODEL'."""
        return f"{self.digest} {self.model}"

    @property
    def name(self) -> str:
        """Name of the task in messages: the model and the place of the result."""
        return ", ".join([self.model, *self.place.values()])


Status: TypeAlias = Literal["done", "failed", "missing"]


@dataclass(frozen=True)
class Outcome:
    """Result of a task.

    Attributes
    ----------
    status : {'done', 'failed', 'missing'}
        'missing' means not computed yet.
    value : dict or None
        The result as plain data (NaN is None), with keys that depend on the kind of the task.
    failure : str or None
        Why the task failed.
    key : str or None
        Hash of the task and its vectors, under which the result is stored.
    seconds : float
        Computing time; 0 unless done.
    finished : str or None
        Completion time, in UTC (ISO 8601).
    wefe_version : str or None
        Version of wefe that computed the result.

    Examples
    --------
    >>> from wefe.study import Study
    >>> task, outcome = Study.example().run(":memory:", progress=False).of_kind("score")[0]
    >>> outcome.status, outcome.value["score"], outcome.value["words_used"]
    ('done', 0.235, 10)
    """

    status: Status = "missing"
    value: Mapping[str, Any] | None = None
    failure: str | None = None
    key: str | None = None
    seconds: float = 0.0
    finished: str | None = None
    wefe_version: str | None = None

    @property
    def why(self) -> str:
        """The reason why there is no value."""
        return self.failure or "not computed yet"

    @property
    def provenance(self) -> dict[str, Any]:
        """Everything except the value, as columns of tables."""
        return {name: each for name, each in vars(self).items() if name != "value"}


@dataclass(frozen=True)
class Plan:
    """The tasks of a study, whether or not they are computed already.

    Attributes
    ----------
    name, description : str
        Name and description of the study.
    models : tuple of PlannedModel
        The models: 'label', 'source', 'is_encoder', 'base' (label of the original model),
        'mitigation' (its name, or None).
    query_sets : tuple of PlannedQuerySet
        The query sets: 'name', 'queries' (before subqueries), 'weight' in overall scores, and
        'left_out' (queries that are not run, with the reasons).
    metrics : tuple of PlannedMetric
        The metrics: 'label', 'metric' (name in the study file), 'title' (full name), 'params',
        'scale' and 'query_sets' (names).
    jobs : tuple of Job
        The tasks, those that differ in the model only as one: 'kind', 'models', 'place' and
        'identity'.
    queries : dict of Query
        Digest -> query or subquery, for all tasks.
    settings : dict
        The declaration as plain data.

    Examples
    --------
    >>> from wefe.study import Study
    >>> plan = Study.example().plan
    >>> len(plan.models), len(plan.tasks), len(plan.queries)
    (2, 9, 3)
    """

    name: str
    description: str
    models: tuple[PlannedModel, ...]
    query_sets: tuple[PlannedQuerySet, ...]
    metrics: tuple[PlannedMetric, ...]
    jobs: tuple[Job, ...]
    queries: Mapping[str, _Query]
    settings: Mapping[str, Any]

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, grouped by model."""
        of_models: dict[str, list[Task]] = {model.label: [] for model in self.models}
        for job in self.jobs:
            for label in job.models:
                of_models[label].append(Task(job.kind, label, job.place, job.identity))
        return tuple(chain(*of_models.values()))

    @cached_property
    def _models(self) -> dict[str, PlannedModel]:
        return {model.label: model for model in self.models}

    @cached_property
    def _metrics(self) -> dict[str, PlannedMetric]:
        return {metric.label: metric for metric in self.metrics}

    @cached_property
    def _query_sets(self) -> dict[str, PlannedQuerySet]:
        return {part.name: part for part in self.query_sets}


#: Converts a plan to JSON data and back.
PLAN = TypeAdapter(Plan)


def digest(*parts: Any) -> str:
    """Return a hash of plain data that does not depend on the order of keys."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def query_digest(query: Query) -> str:
    return digest(query.dict())
