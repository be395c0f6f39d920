"""Tasks: open a model, find what its results depend on, and compute missing results."""

# Everything that goes to another process is plain data or picklable.

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from threadpoolctl import threadpool_limits

from wefe._answers import answer_of
from wefe._bootstrap import Resampling
from wefe._checks import noted
from wefe._evaluation import Evaluation
from wefe._same_words import hiding, lacking
from wefe._visible import Facts, plain
from wefe.embeddings import UnanswerableError, embed_query
from wefe.metrics._registry import as_metric, get_metric
from wefe.models._passes import fingerprint
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.study._extras import MitigationEntry, method_and_fit_params
from wefe.study._plan import Outcome, Task, digest
from wefe.words import check_preprocessors, every_form, words_of

if TYPE_CHECKING:
    from wefe.datasets import Criterion
    from wefe.metrics._base import BaseMetric
    from wefe.quality import Benchmark
    from wefe.study._entries import ModelEntry

_WORD_SETS = ("definitional_sets", "equalize_sets", "stereotyped_words", "representatives")
#: A call returns when it has worked this long, so that results are kept and progress shows.
CALL_SECONDS = 0.2


@dataclass(frozen=True)
class Mitigation:
    """A mitigation of the study file, with its words and what was logged about them."""

    entry: MitigationEntry
    criterion: Criterion
    notes: Sequence[str]
    offline: bool

    @classmethod
    def open(cls, entry: MitigationEntry, base: Path, offline: bool = False) -> Mitigation:
        notes: list[str] = []
        with noted(notes, quiet=False):
            return cls(entry, entry.load_criterion(base, offline), notes, offline)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that determines a mitigated model: method, parameters, words."""
        what = self.entry.model_dump(include={"method", "params", "target"})
        words = {name: getattr(self.criterion, name) for name in ("name", *_WORD_SETS)}
        return {**what, **words, "ignore": self.entry.ignored(self.criterion)}

    @cached_property
    def digest(self) -> str:
        return digest(self.identity)

    def needed_words(self, prefix: str) -> _Words:
        """Return the words that `fit` looks up."""
        from wefe.debias import RowwiseDebias

        method, fit_params = method_and_fit_params(self.entry.method_class, self.entry.params)
        if not isinstance(method, RowwiseDebias) or method._fit_reads_vocabulary:
            return None
        words = method._words_to_fit(criterion=self.criterion, **fit_params)
        return frozenset(prefix + word for word in words)

    def apply(self, model: WordEmbeddingModel) -> tuple[WordEmbeddingModel, dict[str, Any]]:
        """Return the mitigated model and a description of the mitigation."""
        notes, ignored = list(self.notes), self.entry.ignored(self.criterion)
        method, fit_params = method_and_fit_params(self.entry.method_class, self.entry.params)
        fit_params |= {"target": self.entry.target, "ignore": ignored, "criterion": self.criterion}
        with noted(notes):
            mitigated = method.fit_transform(model, copy=True, **fit_params)
        return mitigated, {
            "method": self.entry.method,
            "criterion": self.criterion.name,
            "n_ignored": len(ignored),
            "offline": self.offline,
            "notes": notes,
        }


@dataclass(frozen=True)
class Unit:
    """One model of the study file and all its tasks, original and mitigated."""

    entry: ModelEntry  # with absolute paths
    identity: Any  # of its files, when the study was planned
    key: str  # of its row. Each study has rows of its own, as others read other words.
    tasks: dict[int, Task]  # by position in the plan
    mitigations: dict[str, Mitigation]  # by label of the mitigated model
    queries: Mapping[str, Query]  # by digest
    benchmarks: Mapping[str, Benchmark]
    texts: Mapping[str, Path]  # files of sentences, by the hash of their content
    preprocessors: Sequence[Mapping[str, Any]]


class Opened(NamedTuple):
    """What the results of a model depend on."""

    # Id of a task -> hash of the vectors that it uses. Those of a mitigated model are the ones
    # before: what is computed is not the same to the last digit everywhere.
    prints: dict[str, str]
    # Digest of a query -> its words that the model does not have.
    lacking: dict[str, list[str]]
    # What is known of the model.
    info: dict[str, Any]
    # Why the model could not be opened.
    failure: str | None = None


def open_unit(unit: Unit) -> Opened:
    """Open the model of a unit and return what its results depend on."""
    with _one_thread():
        return _model_of(unit).opened


def run_tasks(
    unit: Unit, positions: list[int], prints: Mapping[str, str], without: Mapping[str, list[str]]
) -> dict[int, Outcome]:
    """Run the first of some tasks, and as many of the others as time allows."""
    end = time.perf_counter() + CALL_SECONDS
    results: dict[int, Outcome] = {}
    with _one_thread():
        opened = _model_of(unit)
        if opened.opened.prints != prints:
            raise RuntimeError(_changed(unit.entry))
        opened.without = without
        for position in positions:
            results[position] = opened.run(position)
            if time.perf_counter() > end:
                break
    return results


def _one_thread() -> threadpool_limits:
    """Limit BLAS to one thread, because the last digits of sums depend on the number of threads."""
    return threadpool_limits(1, "blas")


# Each thread keeps its last model open.
_last = threading.local()


def _model_of(unit: Unit) -> OpenedUnit:
    token = unit.entry, unit.identity, [task.digest for task in unit.tasks.values()]
    if getattr(_last, "token", None) != token:
        close_unit()
        _last.opened, _last.token = OpenedUnit(unit), token
    opened: OpenedUnit = _last.opened
    return opened


def close_unit() -> None:
    """Close the model that this thread has open."""
    vars(_last).clear()


def _changed(entry: ModelEntry) -> str:
    return f"the files of {entry.label} changed during the study. Run it again."


def describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


class OpenedUnit:
    """An open model and its mitigated versions."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        needed = _needed(unit)
        self.base = base = unit.entry.open(_all_of(needed.values()))
        hashed = cache(partial(fingerprint, base))
        prints = {task: hashed(words) for task, words in needed.items()}
        # An encoder has a vector for every word.
        n_words, queries = (None, {}) if unit.entry.is_encoder else (len(base), unit.queries)
        info = {
            "n_words_read": n_words,
            "dim": base.dim,
            "held": base.held,
            "dtype": str(base.dtype),
            "prompt": getattr(base, "prompt", None),
            "fingerprint": digest(sorted(set(prints.values()))),
        }
        lost = {key: lacking(base, query, unit.preprocessors) for key, query in queries.items()}
        self.opened = Opened(prints, lost, info)
        self._check_files()
        # Reuse the metric: RNSB caches classifiers of the same attribute words.
        self.metric = cache(as_metric)
        self._place_of = cache(self._make_place)
        # Digest of a query -> its words that other models lack.
        self.without: Mapping[str, Sequence[str]] = {}

    def _check_files(self) -> None:
        """Raise an error if the files changed, because tasks read vectors from them at any time."""
        if self.unit.entry.identity() != self.unit.identity:
            raise RuntimeError(_changed(self.unit.entry))

    def _make_place(self, label: str) -> Place:
        if label not in self.unit.mitigations:
            return Place(self, self.base)
        model, made = self.unit.mitigations[label].apply(self.base)
        model.name = label
        return Place(self, model, self.base, made)

    def run(self, position: int) -> Outcome:
        task = self.unit.tasks[position]
        start = time.perf_counter()
        try:
            place = self._place_of(task.model)
            # Log messages about words and NaN are part of every result.
            with noted([]):
                value = plain(_RUN[task.kind](place, task.identity))
            # A result that is not JSON-compatible fails here, not in the results file.
            json.dumps(value)
            self._check_files()
        except Exception as error:
            return Outcome("failed", failure=describe(error))
        return Outcome("done", value, seconds=time.perf_counter() - start)


@dataclass(frozen=True)
class Place:
    """The environment of a task: a model, original or mitigated, and shared data of the study."""

    opened: OpenedUnit
    model: WordEmbeddingModel
    #: The model before its mitigation, for what compares with it.
    original: WordEmbeddingModel | None = None
    #: How it was mitigated.
    made: Mapping[str, Any] = field(default_factory=dict)

    def asked(self, what: Mapping[str, Any]) -> tuple[BaseMetric, Query, Any, dict[str, Any]]:
        metric, query = self.opened.metric(what["metric"]), self.opened.unit.queries[what["query"]]
        params, model = dict(what["params"]), self.model
        if what.get("contexts") is not None:
            from wefe.contextual import find_contexts

            # Look up only this query: the sentences found depend on all requested words.
            with self.opened.unit.texts[what["contexts"]].open(encoding="utf-8") as lines:
                params["contexts"] = find_contexts([query], map(str.strip, lines))
        if metric.takes_original and self.original is not None:
            params["original"] = self.original
        if not metric.encodes_texts:
            forms = check_preprocessors(params.get("preprocessors"))
            model.prepare([query], forms)
            lost = self.opened.without.get(what["query"])
            if lost:
                model = hiding(model, [query], lost, forms)
        return metric, query, model, params


# Which words are needed

# Words as the model writes them; None for the whole vocabulary.
_Words: TypeAlias = frozenset[str] | None


def _needed(unit: Unit) -> dict[str, _Words]:
    """Return the words that each task looks up, by its id."""
    prefix = unit.entry.vocab_prefix
    to_fit = {label: how.needed_words(prefix or "") for label, how in unit.mitigations.items()}
    # Lexicons have thousands of words, and many tasks share a query.
    of_query = {
        key: words_of([query], prefix, unit.preprocessors) for key, query in unit.queries.items()
    }
    needed = {}
    for task in unit.tasks.values():
        fitted = to_fit.get(task.model, frozenset())
        needed[task.id] = _all_of([_words_of(unit, task, of_query), fitted])
    return needed


def _all_of(words: Collection[_Words]) -> _Words:
    return None if None in words else frozenset().union(*filter(None, words))


def _words_of(unit: Unit, task: Task, of_query: Mapping[str, frozenset[str]]) -> _Words:
    what = task.identity
    words: Iterable[str] = ()
    if task.kind == "explore" or ("metric" in what and get_metric(what["metric"]).needs_vocabulary):
        return None
    if "query" in what:
        return of_query[what["query"]]
    if task.kind == "direction":
        from wefe.datasets import load_criterion

        # Definitional sets ship with the package.
        words = chain(*load_criterion(what["criterion"], offline=True).definitional_sets)
    if task.kind == "quality":
        benchmark = unit.benchmarks[what["benchmark"]]
        if benchmark.kind == "analogy":
            return None
        words = benchmark.words
    return every_form(words, what.get("preprocessors"), unit.entry.vocab_prefix)


# Functions by kind of task: from place and identity to the result, which is stored as plain data.


def _run_score(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    return answer_of(*place.asked(what), None)


_INTERVAL = ("score_lower", "score_upper", "score_se", "interval_nan_reason", "distances")


def _run_interval(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.comparison import resampled_distances

    metric, query, model, params = place.asked(what)
    if "calculate_p_value" in params:
        params["calculate_p_value"] = False
    resampling = Resampling(*what["bootstrap"])

    def drawn(evaluation: Evaluation) -> dict[str, Any]:
        facts = resampling(evaluation)
        with suppress(ValueError):  # there is nothing to draw
            # Used to compare models, which share their resamples.
            found = resampled_distances(evaluation, resampling)
            facts["distances"] = base64.b64encode(found.astype("<f4").tobytes()).decode()
        return facts

    answer = answer_of(metric, query, model, params, drawn)
    return {name: answer.get(name) for name in _INTERVAL}


def _run_warnings(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.audit import score_warnings

    metric, query, model, params = place.asked(what)
    found = score_warnings(metric, query, model, **params) if metric.accepts(query) else ()
    # A NaN score has a reason instead.
    return {"warnings": [str(each) for each in found if each.kind != "not-audited"]}


def _run_mitigation(place: Place, _: Mapping[str, Any]) -> Mapping[str, Any]:
    return place.made


def _run_words(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.audit import audit_query

    query, model, lookup = place.opened.unit.queries[what["query"]], place.model, what["params"]
    model.prepare([query], check_preprocessors(lookup["preprocessors"]))
    embedded = embed_query(model, query, **lookup)
    sets = [
        {"name": part.name, "role": role, "used": part.words, "lost": part.lost}
        for role, parts in (("target", embedded.targets), ("attribute", embedded.attributes))
        for part in parts
    ]
    try:
        audit = audit_query(query, model, calculate_p_value=False, **lookup)
    except (UnanswerableError, ValueError) as error:
        return {"sets": sets, "audit": None, "not_audited": str(error)}
    return {"sets": sets, "audit": _nameless(audit), "not_audited": None}


def _run_direction(place: Place, what: Mapping[str, Any]) -> Facts:
    from wefe.audit import audit_direction
    from wefe.datasets import load_criterion

    criterion = load_criterion(what["criterion"], offline=True)
    return audit_direction(criterion, place.model, preprocessors=what["preprocessors"])


def _run_silhouette(place: Place, what: Mapping[str, Any]) -> Facts:
    from wefe.silhouette import bias_silhouettes

    metric, query, model, params = place.asked(what)
    options = {**what["options"], "metric_params": params, "progress": False}
    return bias_silhouettes(metric, query, [model], **options)[0]


def _run_quality(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.quality import evaluate

    benchmark, seed = place.opened.unit.benchmarks[what["benchmark"]], what["random_state"]
    return dict(plain(evaluate(place.model, benchmark, random_state=seed, progress=False)))


def _run_explore(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.embeddings import get_embeddings_from_set
    from wefe.explore import bias_directions, model_page, word_page

    model, word, forms = place.model, what.get("word"), what["preprocessors"]
    if word is not None and not get_embeddings_from_set(model, [word], forms)[1]:
        raise ValueError(f"the model lacks the word {word!r}")
    # Directions of the original model show what a mitigation left.
    directions = bias_directions(place.original or model, what["criterion"], preprocessors=forms)
    if word is None:
        page = model_page(model, directions, preprocessors=forms).to_dict()
    else:
        options: dict[str, Any] = {"original": place.original, "preprocessors": forms}
        page = word_page(model, word, directions, **options).to_dict()
    # Store no model name, because models with equal vectors share the page.
    for row in (page, *page.get("distribution", ()), *page.get("extremes", ())):
        row.pop("model", None)
    return {key: part for key, part in page.items() if key not in ("caveat", "map", "map_method")}


def _run_retrieval(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.retrieval import audit_ranking

    options = {**what, "names": dict(what["names"])}
    if find_spec("wordfreq") is not None:  # an extra
        from wordfreq import zipf_frequency

        names = chain(*options["names"].values())
        options["frequency"] = {name: zipf_frequency(name, "en") for name in names}
    encoder: Any = place.model
    return {"audit": audit_ranking(encoder, **options).to_dict()}


def _or_reason(key: str, compute: Callable[[Place, Mapping[str, Any]], Any]) -> _Run:
    """Return a function whose result is that of another, or the reason why there is none."""

    def run(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return {key: _nameless(compute(place, what)), "nan_reason": None}
        # No set is complete, or a word is lacking or has no direction.
        except (KeyError, ValueError) as error:
            return {key: None, "nan_reason": str(error.args[0])}

    return run


def _nameless(found: Facts | dict[str, Any]) -> dict[str, Any]:
    """Return a result without the model's name, so that models with equal vectors can share it."""
    return {name: value for name, value in plain(found).items() if name != "model_name"}


_Run: TypeAlias = Callable[[Place, Mapping[str, Any]], Mapping[str, Any]]
_RUN: Mapping[str, _Run] = {
    "score": _run_score,
    "interval": _run_interval,
    "warnings": _run_warnings,
    "mitigation": _run_mitigation,
    "words": _run_words,
    "direction": _or_reason("audit", _run_direction),
    "silhouette": _or_reason("silhouette", _run_silhouette),
    "quality": _run_quality,
    "explore": _or_reason("page", _run_explore),
    "retrieval": _run_retrieval,
}
