"""What a worker does: open a model, tell which results its tasks have, and compute those missing.

Everything here is plain data or can travel to another process: a :class:`Unit` is one model of the
study file with all that is asked of it, as it is and mitigated.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from wefe._answers import answer_of
from wefe._bootstrap import Resampling
from wefe._same_words import without_logging
from wefe.embeddings import Lookup, UnanswerableError, embed_query
from wefe.metrics._registry import as_metric
from wefe.models._load import load, words_of
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import WordUse
from wefe.running import warnings_beside
from wefe.study._fingerprint import Fingerprints
from wefe.study._plan import Task, digest
from wefe.words import check_preprocessors, variants

if TYPE_CHECKING:
    from wefe.contextual import FoundContexts
    from wefe.datasets import Criterion
    from wefe.debias import BaseDebias
    from wefe.metrics._base import BaseMetric
    from wefe.quality import Benchmark
    from wefe.study._declaration import MitigationEntry, ModelEntry

_WORD_SETS = ("definitional_sets", "equalize_sets", "stereotyped_words", "representatives")
_LOOKUP = tuple(Lookup.__annotations__)


@dataclass(frozen=True)
class Mitigation:
    """A mitigation of the study file, ready to be carried out.

    Attributes
    ----------
    entry : MitigationEntry
        What is to be done.
    base : Path
        Where its files are.
    offline : bool
        Whether nothing is downloaded.
    """

    entry: MitigationEntry
    base: Path
    offline: bool

    @cached_property
    def criterion(self) -> Criterion:
        """The word sets."""
        return self.entry.load_criterion(self.base, self.offline)

    def identity(self) -> dict[str, Any]:
        """Return all that decides what becomes of a model: method, parameters, words."""
        what = self.entry.model_dump(include={"method", "params", "target"})
        criterion = self.criterion
        words = {name: getattr(criterion, name) for name in ("name", *_WORD_SETS)}
        return {**what, **words, "ignore": self.entry.ignored(criterion)}

    def needed_words(self) -> list[str] | None:
        """Return the words that `fit` looks up; None for the whole vocabulary."""
        from wefe.debias import RowwiseDebias

        method = self.method()
        if not isinstance(method, RowwiseDebias) or method._fit_reads_vocabulary:
            return None
        return method._words_to_fit(criterion=self.criterion, **self.entry.fit_params())

    def method(self) -> BaseDebias:
        """Return the method, not fitted."""
        return self.entry.method_class(**self.entry.constructor_params())

    def apply(self, model: WordEmbeddingModel) -> WordEmbeddingModel:
        """Return the mitigated model."""
        return self.method().fit_transform(
            model,
            target=self.entry.target,
            ignore=self.entry.ignored(self.criterion),
            copy=True,
            criterion=self.criterion,
            **self.entry.fit_params(),
        )


@dataclass(frozen=True)
class Variant:
    """A model as it is, or mitigated, with the tasks about it.

    Attributes
    ----------
    label : str
        What tables call it.
    mitigation : Mitigation or None
        What is done to it.
    tasks : tuple of (int, Task)
        The tasks, with their positions in the plan.
    """

    label: str
    mitigation: Mitigation | None
    tasks: tuple[tuple[int, Task], ...]


@dataclass(frozen=True)
class Unit:
    """One model of the study file, and all that is asked of it: opened once.

    Attributes
    ----------
    entry : ModelEntry
        The model, with absolute paths.
    variants : tuple of Variant
        What is made of it; those without tasks left are not there.
    queries : dict of Query
        Digest -> query, for every query that a task asks.
    benchmarks : dict of Benchmark
        Name -> quality benchmark.
    n_threads : int or None
        Threads that read the model, and those of BLAS; None leaves both as they are.
    """

    entry: ModelEntry
    variants: tuple[Variant, ...]
    queries: Mapping[str, Query]
    benchmarks: Mapping[str, Benchmark]
    n_threads: int | None = None

    @property
    def positions(self) -> list[int]:
        """The positions of all its tasks in the plan."""
        return [position for variant in self.variants for position, _ in variant.tasks]


class Opened(NamedTuple):
    """A variant was opened: what is known of it, and the key of each of its tasks."""

    label: str
    info: dict[str, Any]
    keys: dict[int, str]
    #: None of them is done by that.
    positions: tuple[int, ...] = ()


class Done(NamedTuple):
    """A task was done."""

    positions: tuple[int, ...]
    value: dict[str, Any]
    seconds: float


class Failed(NamedTuple):
    """Tasks could not be done."""

    positions: tuple[int, ...]
    reason: str


Message: TypeAlias = Opened | Done | Failed


def run_unit(unit: Unit) -> Generator[Message, set[int] | None, None]:
    """Do what is missing of a unit.

    Yields
    ------
    Opened, Done or Failed
        To `Opened` the caller sends the positions of the tasks that are to be computed.
    """
    try:
        base = open_base(unit)
    except Exception as error:
        yield Failed(tuple(unit.positions), describe(error))
        return
    for variant in unit.variants:
        try:
            opened = OpenedVariant(unit, variant, base)
        except Exception as error:
            yield Failed(tuple(position for position, _ in variant.tasks), describe(error))
            continue
        wanted = yield opened.message
        for position in sorted(wanted or ()):
            yield opened.run(position)


def describe(error: BaseException) -> str:
    """Return an error as the reason of a failure."""
    return f"{type(error).__name__}: {error}"


def open_base(unit: Unit) -> WordEmbeddingModel:
    """Open the model of a unit: of a file that must be parsed, the words that are needed."""
    entry = unit.entry
    if entry.is_encoder:
        from wefe.contextual import load_encoder

        return load_encoder(entry.encoder, name=entry.label, progress=False, **entry.load_options())
    return load(
        entry.source,
        entry.label,
        words=needed_words(unit),
        n_jobs=unit.n_threads,
        progress=False,
        **entry.load_options(),
    )


class OpenedVariant:
    """A variant with its model, ready to do its tasks."""

    def __init__(self, unit: Unit, variant: Variant, base: WordEmbeddingModel) -> None:
        self.unit = unit
        self._tasks = dict(variant.tasks)
        self.model = base
        if variant.mitigation is not None:
            with without_logging("wefe"):
                self.model = variant.mitigation.apply(base)
            self.model.name = variant.label
        self._fingerprints = Fingerprints(self.model)
        self._of_place: dict[Any, str] = {}
        # One metric for all its queries: RNSB keeps what it trained on the same attribute words.
        # (It does so for one thread; a cluster may use several.)
        self._metrics: dict[tuple[str, int], BaseMetric] = {}
        keys = {
            position: digest(task.digest, self._fingerprint(task))
            for position, task in variant.tasks
        }
        info = {
            "n_words": None if unit.entry.is_encoder else len(self.model),
            "dim": self.model.dim,
            "held": self.model.held,
            "dtype": str(self.model.dtype),
            "fingerprint": digest(sorted(self._of_place.values())),
        }
        self.message = Opened(variant.label, info, keys)

    def run(self, position: int) -> Done | Failed:
        """Do a task."""
        task = self._tasks[position]
        start = time.perf_counter()
        try:
            # What is logged of words and NaN is part of every result.
            with without_logging("wefe"):
                value = _RUN[task.kind](self, task.identity)
            # A result that JSON cannot hold is a failure here, not of the file.
            json.dumps(value, allow_nan=False)
        except Exception as error:
            return Failed((position,), describe(error))
        return Done((position,), value, time.perf_counter() - start)

    def metric(self, name: str) -> BaseMetric:
        """Return the metric of that name, the same one at each call."""
        place = name, threading.get_ident()
        if place not in self._metrics:
            self._metrics[place] = as_metric(name)
        return self._metrics[place]

    @cached_property
    def contexts(self) -> FoundContexts:
        """The sentences in which CEAT sees the words of its queries."""
        from wefe.contextual import find_contexts

        about = [task.identity for task in self._tasks.values() if task.identity.get("contexts")]
        queries = [self.unit.queries[identity["query"]] for identity in about]
        with Path(about[0]["contexts"][0]).open(encoding="utf-8") as lines:
            return find_contexts(queries, (line.strip() for line in lines))

    def _fingerprint(self, task: Task) -> str:
        place = _place(task)
        if place not in self._of_place:
            words = _words_of(self.unit, task)
            prefix = self.model.vocab_prefix
            self._of_place[place] = (
                self._fingerprints.of_all()
                if words is None
                else self._fingerprints.of_words(_looked_up(words, task, prefix))
            )
        return self._of_place[place]


# Which words are needed


def needed_words(unit: Unit) -> frozenset[str] | None:
    """Return all strings that may be looked up for a unit; None if that is the whole vocabulary."""
    prefix = unit.entry.vocab_prefix
    needed: set[str] = set()
    places: dict[Any, Task] = {}
    for variant in unit.variants:
        if variant.mitigation is not None:
            to_fit = variant.mitigation.needed_words()
            if to_fit is None:
                return None
            needed.update((prefix or "") + word for word in to_fit)
        for _, task in variant.tasks:
            places.setdefault(_place(task), task)
    for task in places.values():
        asked = _words_of(unit, task)
        if asked is None:
            return None
        needed |= _looked_up(asked, task, prefix)
    return frozenset(needed)


def _place(task: Task) -> Any:
    """Return what decides the words of a task, hashable."""
    identity = task.identity
    about = identity.get("query") or identity.get("criterion") or identity.get("benchmark")
    return task.kind == "quality", about, json.dumps(identity.get("preprocessors"))


def _words_of(unit: Unit, task: Task) -> list[str] | Query | None:
    """Return the words of a task as they are written; None for the whole vocabulary."""
    identity = task.identity
    if task.kind == "quality":
        benchmark = unit.benchmarks[identity["benchmark"]]
        return None if benchmark.kind == "analogy" else sorted(benchmark.words)
    if task.kind == "direction":
        from wefe.datasets import load_criterion

        # Its definitional sets ship with the package.
        criterion = load_criterion(identity["criterion"], offline=True)
        return sorted({word for part in criterion.definitional_sets for word in part})
    return unit.queries[identity["query"]]


def _looked_up(words: list[str] | Query, task: Task, prefix: str | None) -> frozenset[str]:
    forms = json.dumps(task.identity.get("preprocessors") or [{}])
    if isinstance(words, Query):
        return _forms_of_query(words, prefix, forms)
    checked = check_preprocessors(json.loads(forms))
    every = (variants(word, checked, prefix) for word in words)
    return frozenset(itertools.chain.from_iterable(every))


@lru_cache(maxsize=1024)
def _forms_of_query(query: Query, prefix: str | None, forms: str) -> frozenset[str]:
    # Lexicons have thousands of words, and every model is asked the same queries.
    return words_of([query], prefix, json.loads(forms))


# How tasks are done: each takes the model and the identity, and returns plain data.


def _run_score(opened: OpenedVariant, what: Mapping[str, Any]) -> dict[str, Any]:
    metric, model = opened.metric(what["metric"]), opened.model
    query = opened.unit.queries[what["query"]]
    params = dict(what["params"])
    if what.get("contexts") is not None:
        params["contexts"] = opened.contexts
    wanted = None if what["bootstrap"] is None else Resampling.make(*what["bootstrap"])
    if not metric.encodes_texts:
        model.prepare([query], check_preprocessors(params.get("preprocessors")))
    answer = answer_of(metric, query, model, params, wanted)
    value = {name: _plain(part) for name, part in answer._asdict().items()}
    value["warnings"] = (
        warnings_beside(answer, metric, query, model, params) if what["audit"] else None
    )
    return value


def _run_words(opened: OpenedVariant, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.audit import audit_query

    query, model = opened.unit.queries[what["query"]], opened.model
    lookup = {name: what["params"][name] for name in _LOOKUP if name in what["params"]}
    model.prepare([query], check_preprocessors(lookup.get("preprocessors")))
    embedded = embed_query(model, query, **lookup)
    sets = [
        {
            "name": part.name,
            "role": role,
            "used": list(part.words),
            "lost": list(WordUse.of(part).lost),
        }
        for role, parts in (("target", embedded.targets), ("attribute", embedded.attributes))
        for part in parts
    ]
    value: dict[str, Any] = {"sets": sets, "audit": None, "not_audited": None}
    try:
        audit = audit_query(query, model, calculate_p_value=False, **lookup)
        value["audit"] = json.loads(audit.to_json())
    except (UnanswerableError, ValueError) as error:
        value["not_audited"] = str(error)
    return value


def _run_direction(opened: OpenedVariant, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.audit import audit_direction
    from wefe.datasets import load_criterion

    criterion = load_criterion(what["criterion"], offline=True)
    try:
        audit = audit_direction(criterion, opened.model, preprocessors=what["preprocessors"])
    except ValueError as error:  # no set is complete
        return {"audit": None, "nan_reason": str(error)}
    return {"audit": json.loads(audit.to_json()), "nan_reason": None}


def _run_silhouette(opened: OpenedVariant, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.silhouette import bias_silhouette

    try:
        silhouette = bias_silhouette(
            what["metric"],
            opened.unit.queries[what["query"]],
            opened.model,
            metric_params=what["params"],
            progress=False,
            **what["options"],
        )
    except UnanswerableError as error:
        return {"silhouette": None, "nan_reason": str(error)}
    return {"silhouette": json.loads(silhouette.to_json()), "nan_reason": None}


def _run_quality(opened: OpenedVariant, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.quality import evaluate

    benchmark = opened.unit.benchmarks[what["benchmark"]]
    score = evaluate(
        opened.model, benchmark, random_state=what["random_state"], progress=False
    ).to_dict()
    return {name: _plain(part) for name, part in score.items()}


_Run: TypeAlias = Callable[[OpenedVariant, Mapping[str, Any]], dict[str, Any]]
_RUN: Mapping[str, _Run] = {
    "score": _run_score,
    "words": _run_words,
    "direction": _run_direction,
    "silhouette": _run_silhouette,
    "quality": _run_quality,
}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: NaN is null."""
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(part) for part in value]
    return value
