"""Turn a declaration into tasks."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from wefe._visible import unique_labels
from wefe.datasets import list_query_sets
from wefe.metrics._registry import as_metric
from wefe.query import Query, unique_queries
from wefe.study._declaration import Declaration
from wefe.study._entries import MetricEntry, ModelEntry
from wefe.study._extras import SilhouetteEntry
from wefe.study._plan import Job, Plan, PlannedMetric, PlannedModel, digest, query_digest
from wefe.study._schema import blaming, name_or_file, repeated
from wefe.study._tasks import Mitigation, Unit


class Planned:
    """The plan of a declaration, and everything needed to carry it out."""

    def __init__(self, declaration: Declaration, base: Path) -> None:
        self._declaration, self._base = declaration, base
        self._queries: dict[str, Query] = {}
        self._texts: dict[str, Path] = {}
        self._lookup = declaration.lookup.model_dump(exclude={"own_words"})
        self._forms = {"preprocessors": self._lookup["preprocessors"]}
        # Static embeddings have no vectors for phrases.
        several = all(model.is_encoder for model in declaration.models)
        self._query_sets = {
            entry.label: entry.load(base, declaration.offline, several_words=several)
            for entry in declaration.queries
        }
        # Whether the target sets of published query sets consist of word pairs.
        published = {part["name"]: part["paired_targets"] for part in list_query_sets()}
        self._paired = {part.label: published.get(part.set) for part in declaration.queries}
        quality = declaration.quality
        self._benchmarks = {} if quality is None else quality.load(base)
        self.units = {model.label: self._unit(model) for model in declaration.models}
        self.model_keys = {label: unit.key for label, unit in self.units.items()}
        self.plan = self._plan()
        for at, task in enumerate(self.plan.tasks):
            self.units[self.plan._models[task.model].base].tasks[at] = task

    def _unit(self, declared: ModelEntry) -> Unit:
        """Return a model of the study, with its mitigations and without tasks."""
        study, entry = self._declaration, declared.resolved(self._base)
        identity = entry.identity()
        made = {
            how.label_of(model.label): Mitigation.open(how, self._base, study.offline)
            for model, how in study.mitigated()
            if model is declared
        }
        source = identity, entry.is_encoder, entry.place, entry.load_options()
        hows = [how.digest for how in made.values()]
        key = digest("model", study.name, entry.label, source, hows)
        shared = self._queries, self._benchmarks, self._texts, study.lookup.preprocessors
        return Unit(entry, identity, key, {}, made, *shared)

    def _plan(self) -> Plan:
        declared = self._declaration
        models: list[PlannedModel] = []
        jobs: list[Job] = []
        for base, unit in self.units.items():
            about = unit.entry.place, unit.entry.is_encoder, base
            models.append(PlannedModel(base, *about))
            for label, made in unit.mitigations.items():
                models.append(PlannedModel(label, *about, made.entry.label))
                place = {"mitigation": made.entry.label}
                jobs.append(Job("mitigation", (label,), place, made.identity))
        jobs += self._jobs()
        _check_places(jobs)
        return Plan(
            declared.name,
            declared.description,
            tuple(models),
            tuple(self._query_sets.values()),
            tuple(map(self._planned_metric, declared.metrics)),
            tuple(jobs),
            self._queries,
            declared.canonical(),
        )

    def _planned_metric(self, entry: MetricEntry) -> PlannedMetric:
        instance = as_metric(entry.metric)
        params = {**self._lookup, **entry.run_params(self._declaration.random_state)}
        names = tuple(self._names_of(entry))
        scale = instance.scale(None, **params)
        return PlannedMetric(entry.label, entry.metric, instance.metric_name, params, scale, names)

    def _names_of(self, entry: MetricEntry) -> list[str]:
        """Return the names of the query sets that a metric measures."""
        return [name for name in self._query_sets if name in (entry.queries or self._query_sets)]

    # Jobs

    def _jobs(self) -> Iterator[Job]:
        declared = self._declaration
        every, encoders = tuple(declared.all_labels()), tuple(declared.labels(encoders=True))
        for metric in declared.metrics:
            yield from self._scores(metric, every)
        for name, part in self._query_sets.items():
            for query in part.queries:
                identity = {"query": self._known(query), "params": self._lookup, **self._forms}
                place = {"query_set": name, "query": query.query_name}
                yield Job("words", every, place, identity)
        for name in declared.audit.criteria:
            place = {"criterion": name}
            yield Job("direction", every, place, {**place, **self._forms})
        tables = tuple(label for label in every if label not in encoders)
        # A page of each model, and one of each word in it.
        words = [{}, *({"word": word} for word in declared.explore.words)]
        for name, word in itertools.product(declared.explore.criteria, words):
            place = {"criterion": name, **word}
            yield Job("explore", tables, place, {**place, **self._forms})
        for audit in declared.retrieval:
            identity = {**audit.load(self._base), "random_state": declared.random_state}
            models = tuple(audit.models or encoders)
            yield Job("retrieval", models, {"audit": audit.label}, identity)
        for entry in declared.silhouettes:
            yield from self._silhouettes(entry, tuple(entry.models or every))
        yield from self._quality(every)

    def _known(self, query: Query) -> str:
        key = query_digest(query)
        self._queries.setdefault(key, query)
        return key

    def _about(self, entry: MetricEntry | SilhouetteEntry, query_set: str) -> dict[str, Any]:
        """Return the identity of the scores of a metric in a query set, without the query."""
        # A metric of word pairs needs target sets whose i-th words are pairs.
        paired = self._paired.get(query_set)
        unpaired = as_metric(entry.metric)._params_for_unpaired(entry.params, query_set, paired)
        params = entry.run_params(self._declaration.random_state)
        return {
            # The effect size is a parameter of WEAT.
            "metric": entry.metric.removesuffix("-es"),
            "params": {**self._lookup, **unpaired, **params},
            **self._forms,
        }

    def _scores(self, entry: MetricEntry, labels: tuple[str, ...]) -> Iterator[Job]:
        metric, declared = as_metric(entry.metric), self._declaration
        contexts = {}
        if entry.contexts is not None:
            with blaming("metrics", entry.label, "contexts"):
                path = Path(name_or_file(entry.contexts, self._base))
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "blake2b").hexdigest()[:32]
            contexts["contexts"] = content
            self._texts[content] = path
        drawn = [*declared.intervals.model_dump().values(), declared.random_state]
        has_intervals = declared.intervals.n_bootstrap and not metric.encodes_texts
        for query_set in self._names_of(entry):
            asked = self._query_sets[query_set].queries
            # As in run_queries, queries without a score keep their column, as NaN.
            fitting = [sub for query in asked for sub in metric.subqueries(query)]
            others = [query for query in asked if not metric.subqueries(query)]
            about = self._about(entry, query_set) | contexts
            for name, query in _named(unique_queries(fitting) + others):
                identity = {**about, "query": self._known(query)}
                place = {"metric": entry.label, "query_set": query_set, "query": name}
                yield Job("score", labels, place, identity)
                if has_intervals:
                    yield Job("interval", labels, place, {**identity, "bootstrap": drawn})
                if declared.audit.scores:
                    yield Job("warnings", labels, place, identity)

    def _silhouettes(self, entry: SilhouetteEntry, labels: tuple[str, ...]) -> Iterator[Job]:
        own = ("n_runs", "step", "k_min", "unequal", "value_range", "no_bias_value")
        options = entry.model_dump(include={*own})
        options["random_state"] = self._declaration.random_state
        metric, query_set = as_metric(entry.metric), entry.query_set
        scale = metric.scale(None, **entry.run_params())
        about = self._about(entry, query_set)
        # In the template of the metric.
        parts_of = metric._on_one_list if entry.join else metric.subqueries
        parts = itertools.chain(*map(parts_of, self._query_sets[query_set].queries))
        lists = ("targets", "attributes") if entry.vary == "both" else (entry.vary,)
        for vary, (name, query) in itertools.product(lists, _named([*dict.fromkeys(parts)])):
            of_lists = {"options": {"vary": vary, **options}, "query": self._known(query)}
            place = {"metric": scale.label, "query_set": query_set, "query": name, "vary": vary}
            yield Job("silhouette", labels, place, {**about, **of_lists})

    def _quality(self, labels: tuple[str, ...]) -> Iterator[Job]:
        for name, benchmark in self._benchmarks.items():
            identity = {
                "benchmark": name,
                "content": digest(benchmark.items, benchmark.scores),
                "random_state": self._declaration.random_state,
                "preprocessors": [{}, {"lowercase": True}],
            }
            yield Job("quality", labels, {"benchmark": name}, identity)


def _check_places(jobs: Sequence[Job]) -> None:
    """Raise an error if two silhouettes have the same place in tables."""
    asked = [job for job in jobs if job.kind == "silhouette"]
    places = [(label, *job.place.values()) for job in asked for label in job.models]
    for position in repeated(places):
        raise ValueError(
            f"two of [[silhouettes]] are the same: {', '.join(places[position][1:])}. Remove one, "
            "or name other models."
        )


def _named(queries: Sequence[Query]) -> Iterator[tuple[str, Query]]:
    """Yield queries with unique names; subqueries of two queries may have the same one."""
    names = unique_labels([query.query_name for query in queries], "queries")
    return zip(names, queries, strict=True)
