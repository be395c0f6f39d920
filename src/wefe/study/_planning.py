"""From a declaration to tasks: what is to be computed, about which models."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wefe.datasets import list_query_sets
from wefe.metrics._registry import as_metric, metric_names
from wefe.query import Query, unique_queries
from wefe.study._declaration import Declaration
from wefe.study._entries import EncoderEntry, MetricEntry, TableEntry
from wefe.study._extras import SilhouetteEntry
from wefe.study._fingerprint import source_identity
from wefe.study._plan import (
    Plan,
    PlannedMetric,
    PlannedModel,
    PlannedQuerySet,
    Task,
    digest,
    query_digest,
)
from wefe.study._schema import repeated
from wefe.study._tasks import Mitigation, Unit, Variant

if TYPE_CHECKING:
    from wefe.quality import Benchmark

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Planned:
    """A plan, and how to carry it out.

    Attributes
    ----------
    plan : Plan
        What there is to be computed.
    units : tuple of Unit
        The same, by model of the study file.
    model_keys : dict of str
        Label of a unit -> what its row in the results file is kept under: its files and
        mitigations. What is known of a model is known by a study: others read other words.
    own_words : bool
        Whether each model is measured on all words that it has.
    """

    plan: Plan
    units: tuple[Unit, ...]
    model_keys: Mapping[str, str]
    own_words: bool


class Planner:
    """Makes the plan of a declaration.

    Parameters
    ----------
    declaration : Declaration
        The study.
    base : path
        Folder that its relative paths start from.
    """

    def __init__(self, declaration: Declaration, base: Path) -> None:
        self._declaration, self._base = declaration, base
        self._queries: dict[str, Query] = {}
        self._texts: dict[str, Path] = {}
        self._query_sets = tuple(self._open_query_sets())
        self._benchmarks = self._open_benchmarks()

    def plan(self) -> Planned:
        """Return the plan."""
        declaration = self._declaration
        models: list[PlannedModel] = []
        tasks: list[Task] = []
        units: list[Unit] = []
        keys: dict[str, str] = {}
        for model in declaration.models:
            entry = model.resolved(self._base)
            identity = source_identity(entry)
            variants = []
            for planned, mitigation in self._variants(model):
                own = list(self._tasks_of(planned, mitigation))
                _check_places(own)
                variants.append(
                    Variant(planned.label, mitigation, dict(enumerate(own, len(tasks))))
                )
                models.append(planned)
                tasks += own
            units.append(
                Unit(
                    entry,
                    identity,
                    tuple(variants),
                    self._queries,
                    self._benchmarks,
                    self._texts,
                    declaration.lookup.preprocessors,
                )
            )
            source = identity, entry.is_encoder, entry.place, entry.load_options()
            hows = [variant.how for variant in variants]
            keys[entry.label] = digest("model", declaration.name, entry.label, source, hows)
        plan = Plan(
            declaration.name,
            declaration.description,
            tuple(models),
            self._query_sets,
            tuple(self._planned_metric(entry) for entry in declaration.metrics),
            tuple(tasks),
            self._queries,
            settings_of(declaration),
        )
        return Planned(plan, tuple(units), keys, declaration.lookup.own_words)

    # What is declared

    def _open_query_sets(self) -> Iterator[PlannedQuerySet]:
        for entry in self._declaration.queries:
            queries, left_out = entry.load(self._base, self._declaration.offline)
            queries = unique_queries(queries)
            weight = float(len(queries)) if entry.weight is None else entry.weight
            yield PlannedQuerySet(entry.label, tuple(queries), weight, tuple(left_out))

    def _open_benchmarks(self) -> dict[str, Benchmark]:
        if self._declaration.quality is None:
            return {}
        return self._declaration.quality.load(self._base)

    def _variants(
        self, entry: TableEntry | EncoderEntry
    ) -> Iterator[tuple[PlannedModel, Mitigation | None]]:
        label = entry.label
        source = entry.place
        yield PlannedModel(label, source, entry.is_encoder, label), None
        for model, how in self._declaration.mitigated():
            if model.label == label:
                planned = PlannedModel(
                    how.label_of(label), source, entry.is_encoder, label, how.label
                )
                yield planned, Mitigation(how, self._base, self._declaration.offline)

    def _planned_metric(self, entry: MetricEntry) -> PlannedMetric:
        instance = entry.metric_class()
        params = {**self._lookup, **entry.run_params(self._declaration.random_state)}
        return PlannedMetric(
            entry.label,
            entry.metric,
            instance.metric_name,
            params,
            instance.scale(None, **params),
            tuple(part.name for part in self._query_sets_of(entry)),
        )

    @property
    def _lookup(self) -> dict[str, Any]:
        return self._declaration.lookup.model_dump(exclude={"own_words"})

    def _query_sets_of(self, entry: MetricEntry) -> list[PlannedQuerySet]:
        return [
            part for part in self._query_sets if entry.queries is None or part.name in entry.queries
        ]

    # What is to be done about a model

    def _tasks_of(self, model: PlannedModel, mitigation: Mitigation | None) -> Iterator[Task]:
        if mitigation is not None:
            place = {"mitigation": str(model.mitigation)}
            yield Task("mitigation", model.label, place, mitigation.identity())
        yield from (task.about(model.label) for task in self._asked_of_all)
        if not model.is_encoder:
            yield from (task.about(model.label) for task in self._pages)
        for silhouette in self._declaration.silhouettes:
            yield from self._silhouettes(model, silhouette)
        quality = self._declaration.quality
        if quality is not None and (model.mitigation is None or quality.mitigated):
            yield from (task.about(model.label) for task in self._benchmark_scores)

    @cached_property
    def _asked_of_all(self) -> list[Task]:
        """What is asked of every model, made and hashed once."""
        tasks = [task for metric in self._declaration.metrics for task in self._scores(metric)]
        for part in self._query_sets:
            for query in part.queries:
                identity = {"query": self._known(query), "params": self._lookup, **self._forms}
                place = {"query_set": part.name, "query": query.query_name}
                tasks.append(Task("words", "", place, identity))
        for criterion in self._declaration.audit.criteria:
            identity = {"criterion": criterion, **self._forms}
            tasks.append(Task("direction", "", {"criterion": criterion}, identity))
        return tasks

    @cached_property
    def _benchmark_scores(self) -> list[Task]:
        tasks = []
        for name, benchmark in self._benchmarks.items():
            identity = {
                "benchmark": name,
                "content": digest(benchmark.items, benchmark.scores),
                "random_state": self._declaration.random_state,
                "preprocessors": [{}, {"lowercase": True}],
            }
            tasks.append(Task("quality", "", {"benchmark": name}, identity))
        return tasks

    @property
    def _forms(self) -> dict[str, Any]:
        return {"preprocessors": self._lookup["preprocessors"]}

    def _known(self, query: Query) -> str:
        key = query_digest(query)
        self._queries.setdefault(key, query)
        return key

    def _scores(self, entry: MetricEntry) -> Iterator[Task]:
        instance = entry.metric_class()
        intervals = self._declaration.intervals
        bootstrap = None
        if intervals.n_bootstrap and not instance.encodes_texts:
            seed = self._declaration.random_state
            bootstrap = [intervals.n_bootstrap, intervals.confidence, seed]
        for part in self._query_sets_of(entry):
            # As run_queries does: what cannot be asked keeps its column, as NaN.
            fitting = [sub for query in part.queries for sub in instance.subqueries(query)]
            others = [query for query in part.queries if not instance.subqueries(query)]
            asked = unique_queries(fitting) + others
            params = {
                **self._lookup,
                **self._for_unpaired(entry, part.name),
                **entry.run_params(self._declaration.random_state),
            }
            for query in asked:
                identity: dict[str, Any] = {
                    "metric": _registered(entry.metric),
                    "query": self._known(query),
                    "params": params,
                    **self._forms,
                }
                path = entry.contexts_path(self._base)
                if path is not None:
                    identity["contexts"] = content = _content(path)
                    self._texts[content] = path
                place = {
                    "metric": entry.label,
                    "query_set": part.name,
                    "query": query.query_name,
                }
                yield Task("score", "", place, identity)
                if bootstrap is not None:
                    how = {**identity, "bootstrap": bootstrap}
                    yield Task("interval", "", place, how)
                if self._declaration.audit.scores:
                    yield Task("warnings", "", place, identity)

    def _for_unpaired(self, entry: MetricEntry, query_set: str) -> dict[str, Any]:
        """Return what metrics of pairs need where word i of each target set are no pair."""
        published = {part.label: part.set for part in self._declaration.queries}[query_set]
        paired = self._paired.get(published)
        return as_metric(entry.metric).params_for_unpaired(entry.params, query_set, paired)

    @cached_property
    def _paired(self) -> dict[str | None, bool | None]:
        return {part["name"]: part["paired_targets"] for part in list_query_sets()}

    @cached_property
    def _pages(self) -> list[Task]:
        explore, tasks = self._declaration.explore, []
        for criterion in explore.criteria:
            about = {"criterion": criterion, **self._forms}
            what = {"n": explore.n_extremes, "among": explore.among}
            tasks.append(Task("explore", "", {"criterion": criterion}, {**about, **what}))
            for word in explore.words:
                of_word = {"word": word, "k": explore.k, "theta": explore.theta}
                place = {"criterion": criterion, "word": word}
                tasks.append(Task("explore", "", place, {**about, **of_word}))
        return tasks

    def _silhouettes(self, model: PlannedModel, entry: SilhouetteEntry) -> Iterator[Task]:
        if entry.models is not None and model.label not in entry.models:
            return
        part = next(part for part in self._query_sets if part.name == entry.query_set)
        seed = self._declaration.random_state
        for query in entry.pick(part.queries):
            identity = {
                "metric": _registered(entry.metric),
                "query": self._known(query),
                "params": {**self._lookup, **entry.run_params(seed)},
                "options": {
                    "vary": entry.vary,
                    "n_runs": entry.n_runs,
                    "step": entry.step,
                    "k_min": entry.k_min,
                    "unequal": entry.unequal,
                    "random_state": seed,
                },
                **self._forms,
            }
            place = {
                "metric": _label_of(entry),
                "query_set": part.name,
                "query": query.query_name,
                "vary": entry.vary,
            }
            yield Task("silhouette", model.label, place, identity)


def _check_places(tasks: Sequence[Task]) -> None:
    """Refuse two silhouettes of the same, of which tables would show one."""
    places = [tuple(task.place.values()) for task in tasks if task.kind == "silhouette"]
    for position, _ in repeated(places):
        raise ValueError(
            f"two of [[silhouettes]] show the same: {', '.join(places[position])}. Take one out, "
            "or name other models."
        )


def settings_of(declaration: Declaration) -> dict[str, Any]:
    """Return a declaration as plain data, as results files have it."""
    data = {**declaration.canonical(), "limits": declaration.limits.model_dump()}
    return dict(json.loads(json.dumps(data)))


def _label_of(entry: SilhouetteEntry) -> str:
    metric = metric_names()[entry.metric]()
    return metric.scale(None, **entry.run_params()).label


def _registered(metric: str) -> str:
    """Return the name of the class: the effect size is a parameter of WEAT."""
    return metric.removesuffix("-es")


def _content(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
