"""What tasks do: open a model, say what its results depend on, compute those that are missing.

Everything here is plain data or can travel to another process: a :class:`Unit` is one model of the
study file with all that is asked of it, as it is and mitigated.
"""

from __future__ import annotations

import base64
import itertools
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from threadpoolctl import threadpool_limits

from wefe._answers import answer_of
from wefe._bootstrap import Resampling
from wefe._evaluation import Evaluation
from wefe._plain import plain
from wefe._same_words import hiding, lacking
from wefe.embeddings import Lookup, UnanswerableError, embed_query
from wefe.metrics._registry import as_metric, get_metric
from wefe.models._load import load, words_of
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import WordUse
from wefe.study._fingerprint import Fingerprints, source_identity
from wefe.study._plan import Task, digest
from wefe.words import check_preprocessors, variants

if TYPE_CHECKING:
    from wefe.datasets import Criterion
    from wefe.debias import BaseDebias
    from wefe.metrics._base import BaseMetric
    from wefe.quality import Benchmark
    from wefe.study._entries import EncoderEntry, TableEntry
    from wefe.study._extras import MitigationEntry

logger = logging.getLogger(__name__)

_WORD_SETS = ("definitional_sets", "equalize_sets", "stereotyped_words", "representatives")
_LOOKUP = tuple(Lookup.__annotations__)
#: A call returns when it has worked this long, so that results are kept and progress shows.
CALL_SECONDS = 0.2


@contextmanager
def _noted(notes: list[str]) -> Iterator[None]:
    """Collect the warnings that this thread causes, each once, in place of logging them."""
    here = threading.get_ident()

    def passes(record: logging.LogRecord) -> bool:
        if record.levelno > logging.WARNING or record.thread != here:
            return True
        if record.levelno == logging.WARNING and record.getMessage() not in notes:
            notes.append(record.getMessage())
        return False

    # A filter holds for the very logger only, not for those below it.
    names = [name for name in logging.root.manager.loggerDict if name.startswith("wefe.")]
    loggers = [logging.getLogger(name) for name in names]
    for each in loggers:
        each.addFilter(passes)
    try:
        yield
    finally:
        for each in loggers:
            each.removeFilter(passes)


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
    def _opened(self) -> tuple[Criterion, list[str]]:
        notes: list[str] = []
        with _noted(notes):
            criterion = self.entry.load_criterion(self.base, self.offline)
        for note in notes:
            logger.warning("%s", note)
        return criterion, notes

    @property
    def criterion(self) -> Criterion:
        """The word sets."""
        return self._opened[0]

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

    def apply(self, model: WordEmbeddingModel) -> tuple[WordEmbeddingModel, dict[str, Any]]:
        """Return the mitigated model, and what is to be known about how it was made."""
        notes = list(self._opened[1])
        ignored = self.entry.ignored(self.criterion)
        with _noted(notes):
            mitigated = self.method().fit_transform(
                model,
                target=self.entry.target,
                ignore=ignored,
                copy=True,
                criterion=self.criterion,
                **self.entry.fit_params(),
            )
        return mitigated, {
            "dtype": str(mitigated.dtype),
            "method": self.entry.method,
            "criterion": self.criterion.name,
            "n_ignored": len(ignored),
            "offline": self.offline,
            "notes": notes,
        }


@dataclass(frozen=True)
class Variant:
    """A model as it is, or mitigated, with the tasks about it.

    Attributes
    ----------
    label : str
        What tables call it.
    mitigation : Mitigation or None
        What is done to it.
    tasks : dict of Task
        Position in the plan -> task.
    """

    label: str
    mitigation: Mitigation | None
    tasks: Mapping[int, Task]

    @cached_property
    def how(self) -> str | None:
        """Hash of all that decides what becomes of the model; None if nothing is done to it."""
        return None if self.mitigation is None else digest(self.mitigation.identity())


@dataclass(frozen=True)
class Unit:
    """One model of the study file, and all that is asked of it.

    Attributes
    ----------
    entry : TableEntry or EncoderEntry
        The model, with absolute paths.
    identity : list or None
        What :func:`source_identity` told of the model when the study was planned.
    variants : tuple of Variant
        What is made of it.
    queries : dict of Query
        Digest -> query, for every query that a task asks.
    benchmarks : dict of Benchmark
        Name -> quality benchmark.
    texts : dict of Path
        Hash of its content -> file of sentences.
    preprocessors : list of dict
        The forms in which words are looked up.
    n_threads : int or None
        Threads that read the model; None is one for each core.
    """

    entry: TableEntry | EncoderEntry
    identity: Any
    variants: tuple[Variant, ...]
    queries: Mapping[str, Query]
    benchmarks: Mapping[str, Benchmark]
    texts: Mapping[str, Path]
    preprocessors: Sequence[Mapping[str, Any]]
    n_threads: int | None = None


class Opened(NamedTuple):
    """What the results of a model depend on.

    Attributes
    ----------
    prints : dict of str
        Digest of a task -> hash of the vectors that it uses. Those of a mitigated model are the
        ones before: what is computed is not the same to the last digit everywhere.
    lacking : dict of list of str
        Digest of a query -> its words that the model does not have.
    info : dict of dict
        Label -> what is known of the model.
    """

    prints: dict[str, dict[str, str]]
    lacking: dict[str, list[str]]
    info: dict[str, dict[str, Any]]


class Result(NamedTuple):
    """What a task computed, or why it failed."""

    value: dict[str, Any] | None
    seconds: float = 0.0
    reason: str | None = None


def open_unit(unit: Unit) -> Opened:
    """Open the model of a unit and return what its results depend on."""
    with _one_thread():
        return _model_of(unit).opened


def run_tasks(
    unit: Unit,
    positions: Sequence[int],
    prints: Mapping[str, Mapping[str, str]],
    without: Mapping[str, Sequence[str]],
) -> dict[int, Result]:
    """Run some tasks of a unit: the first one, and others as long as there is time.

    Parameters
    ----------
    unit : Unit
        The model.
    positions : sequence of int
        The tasks, by their positions in the plan.
    prints : dict of dict of str
        What the results are kept under: the vectors must still be the same.
    without : dict of sequence of str
        Digest of a query -> its words that are left out, as other models lack them.
    """
    end = time.perf_counter() + CALL_SECONDS
    results: dict[int, Result] = {}
    with _one_thread():
        opened = _model_of(unit)
        if opened.opened.prints != prints:
            raise RuntimeError(_changed(unit.entry))
        for position in positions:
            results[position] = opened.run(position, without)
            if time.perf_counter() > end:
                break
    return results


def _one_thread() -> threadpool_limits:
    """Have BLAS use one thread: the last digits of sums depend on how many there are."""
    return threadpool_limits(1, "blas")


# The models that this process has open: one for each of its threads that run tasks.
_open: dict[int, tuple[Unit, OpenedUnit]] = {}


def _model_of(unit: Unit) -> OpenedUnit:
    """Return the opened model of a unit; the last one of each thread stays open."""
    place = threading.get_ident()
    known = _open.get(place)
    if known is None or (known[0] is not unit and _token(known[0]) != _token(unit)):
        _open.pop(place, None)
        known = _open[place] = unit, OpenedUnit(unit)
    return known[1]


def _token(unit: Unit) -> Any:
    tasks = [task.digest for variant in unit.variants for task in variant.tasks.values()]
    return unit.entry, unit.identity, tasks


def close_units() -> None:
    """Forget the models that this process has open."""
    _open.clear()


def _changed(entry: TableEntry | EncoderEntry) -> str:
    return f"the files of {entry.label} changed since the study began; run it again."


def describe(error: BaseException) -> str:
    """Return an error as the reason of a failure."""
    return f"{type(error).__name__}: {error}"


def open_base(unit: Unit) -> WordEmbeddingModel:
    """Open the model of a unit: of a file that must be parsed, the words that are needed."""
    entry = unit.entry
    options = {"name": entry.label, "progress": False, **entry.load_options()}
    if entry.is_encoder:
        from wefe.contextual import load_encoder

        encoder: WordEmbeddingModel = load_encoder(entry.place, **options)
        return encoder
    needed = [needed for part in unit.variants for needed in _needed(unit, part).values()]
    words = None if None in needed else frozenset().union(*filter(None, needed))
    return load(entry.place, words=words, n_jobs=unit.n_threads, **options)


class OpenedUnit:
    """A model that is open, with what was made of it."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.base = open_base(unit)
        self.opened = self._what_results_depend_on()
        self._check_files()
        self._places: dict[str, Place] = {}
        self._failures: dict[str, str] = {}
        # One metric for all its queries: RNSB keeps what it trained on the same attribute words.
        self.metrics: dict[str, BaseMetric] = {}

    def _what_results_depend_on(self) -> Opened:
        unit, base = self.unit, self.base
        fingerprints = Fingerprints(base)
        of_words: dict[Any, str] = {}
        prints: dict[str, dict[str, str]] = {}
        info = {}
        for variant in unit.variants:
            own = prints[variant.label] = {}
            needed = _needed(unit, variant)
            for task in variant.tasks.values():
                place = _place(task), variant.how
                if place not in of_words:
                    words = needed[_place(task)]
                    of_words[place] = (
                        fingerprints.of_all() if words is None else fingerprints.of_words(words)
                    )
                own[task.digest] = of_words[place]
            info[variant.label] = {
                "n_words_read": None if unit.entry.is_encoder else len(base),
                "dim": base.dim,
                "held": base.held,
                "dtype": str(base.dtype),
                "fingerprint": digest(sorted(set(own.values()))),
            }
        # An encoder has a vector of every word.
        queries = {} if unit.entry.is_encoder else unit.queries
        lost = {key: lacking(base, query, unit.preprocessors) for key, query in queries.items()}
        return Opened(prints, {key: words for key, words in lost.items() if words}, info)

    def _check_files(self) -> None:
        """Raise if the files changed: vectors are read from them at any time while tasks run."""
        if source_identity(self.unit.entry) != self.unit.identity:
            raise RuntimeError(_changed(self.unit.entry))

    def _place_of(self, variant: Variant) -> Place:
        """Return where the tasks of a variant are done; a mitigation is tried once."""
        label = variant.label
        if label in self._failures:
            raise RuntimeError(self._failures[label])
        if label not in self._places:
            try:
                self._places[label] = Place(self, variant)
            except Exception as error:
                self._failures[label] = describe(error)
                raise
        return self._places[label]

    def run(self, position: int, without: Mapping[str, Sequence[str]]) -> Result:
        """Do a task."""
        variant = next(part for part in self.unit.variants if position in part.tasks)
        task = variant.tasks[position]
        start = time.perf_counter()
        try:
            place = self._place_of(variant)
            place.without = without
            # What is logged of words and NaN is part of every result.
            with _noted([]):
                value = _RUN[task.kind](place, task.identity)
            # A result that JSON cannot hold is a failure here, not of the file.
            json.dumps(value, allow_nan=False)
            self._check_files()
        except Exception as error:
            reason = self._failures.get(variant.label) or describe(error)
            return Result(None, reason=reason)
        return Result(value, time.perf_counter() - start)


@dataclass
class Place:
    """Where a task is done: a model, as it is or mitigated, and what belongs to the study."""

    opened: OpenedUnit
    variant: Variant
    without: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.unit, self.model = self.opened.unit, self.opened.base
        self.made: dict[str, Any] = {}
        #: The model before mitigation, for what compares with it.
        self.original: WordEmbeddingModel | None = None
        mitigation = self.variant.mitigation
        if mitigation is not None:
            self.original = self.model
            self.model, self.made = mitigation.apply(self.original)
            self.model.name = self.variant.label

    def metric(self, name: str) -> BaseMetric:
        """Return the metric of that name, the same one at each call."""
        return self.opened.metrics.setdefault(name, as_metric(name))

    def asked(self, what: Mapping[str, Any]) -> tuple[BaseMetric, Query, Any, dict[str, Any]]:
        """Return metric, query, model and options of a score."""
        metric, query = self.metric(what["metric"]), self.unit.queries[what["query"]]
        params, model = dict(what["params"]), self.model
        if what.get("contexts") is not None:
            from wefe.contextual import find_contexts

            # Of this query alone, as which words find a sentence depends on all that are asked for.
            with self.unit.texts[what["contexts"]].open(encoding="utf-8") as lines:
                params["contexts"] = find_contexts([query], (line.strip() for line in lines))
        if metric.takes_original and self.original is not None:
            params["original"] = self.original
        if not metric.encodes_texts:
            forms = check_preprocessors(params.get("preprocessors"))
            model.prepare([query], forms)
            lost = self.without.get(what["query"])
            if lost:
                model = hiding(model, [query], lost, forms)
        return metric, query, model, params


# Which words are needed


def _needed(unit: Unit, variant: Variant) -> dict[Any, frozenset[str] | None]:
    """Return what may be looked up, by place of a task; None for the whole vocabulary."""
    prefix = unit.entry.load_options().get("vocab_prefix")
    to_fit = [] if variant.mitigation is None else variant.mitigation.needed_words()
    places = {_place(task): task for task in variant.tasks.values()}
    if to_fit is None:
        return dict.fromkeys(places)
    fitted = frozenset((prefix or "") + word for word in to_fit)
    needed: dict[Any, frozenset[str] | None] = {}
    for place, task in places.items():
        asked = _words_of(unit, task)
        needed[place] = None if asked is None else fitted | _looked_up(asked, task, prefix)
    return needed


def _place(task: Task) -> Any:
    """Return what decides the words of a task, hashable."""
    identity = task.identity
    about = identity.get("query") or identity.get("criterion") or identity.get("benchmark")
    forms = json.dumps(identity.get("preprocessors"))
    return task.kind == "quality", _needs_vocabulary(task), about, forms


def _needs_vocabulary(task: Task) -> bool:
    """Tell whether a task looks at more words than its query, or its criterion, has."""
    if task.kind in ("score", "interval", "warnings"):
        return get_metric(task.identity["metric"]).needs_vocabulary
    return task.kind == "explore"


def _words_of(unit: Unit, task: Task) -> list[str] | Query | None:
    """Return the words of a task as they are written; None for the whole vocabulary."""
    identity = task.identity
    if task.kind == "quality":
        benchmark = unit.benchmarks[identity["benchmark"]]
        return None if benchmark.kind == "analogy" else sorted(benchmark.words)
    if task.kind == "mitigation":
        return []
    if task.kind == "direction":
        from wefe.datasets import load_criterion

        # Its definitional sets ship with the package.
        criterion = load_criterion(identity["criterion"], offline=True)
        return sorted({word for part in criterion.definitional_sets for word in part})
    if _needs_vocabulary(task):
        return None
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


# How tasks are done: each takes the place and the identity, and returns plain data.


def _run_score(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    answer = answer_of(*place.asked(what), None)
    return {name: plain(part) for name, part in answer._asdict().items() if name not in _INTERVAL}


_INTERVAL = ("score_lower", "score_upper", "score_se", "interval_nan_reason")


def _run_interval(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.comparison import resampled_distances

    metric, query, model, params = place.asked(what)
    if "calculate_p_value" in params:
        params["calculate_p_value"] = False
    wanted = Resampling(*what["bootstrap"])
    answer = answer_of(metric, query, model, params, wanted)
    value = {name: plain(getattr(answer, name)) for name in _INTERVAL}
    try:
        evaluation = Evaluation(metric, query, model, params, subset_defaults=False)
        found = resampled_distances(evaluation, wanted.n_bootstrap, wanted.seed)
        # For comparisons of models, which have the same resamples.
        distances = base64.b64encode(found.astype("<f4").tobytes()).decode()
    except ValueError:  # there is no score, or nothing to draw
        distances = None
    return {**value, "distances": distances}


def _run_warnings(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.audit import score_warnings

    metric, query, model, params = place.asked(what)
    found = score_warnings(metric, query, model, **params) if metric.accepts(query) else ()
    # A score that is NaN has its reason instead.
    return {"warnings": [str(each) for each in found if each.kind != "not-audited"]}


def _run_mitigation(place: Place, _: Mapping[str, Any]) -> dict[str, Any]:
    return place.made


def _run_words(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.audit import audit_query

    query, model = place.unit.queries[what["query"]], place.model
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
        value["audit"] = _nameless(audit.to_json())
    except (UnanswerableError, ValueError) as error:
        value["not_audited"] = str(error)
    return value


def _run_direction(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.audit import audit_direction
    from wefe.datasets import load_criterion

    criterion = load_criterion(what["criterion"], offline=True)
    try:
        audit = audit_direction(criterion, place.model, preprocessors=what["preprocessors"])
    except ValueError as error:  # no set is complete
        return {"audit": None, "nan_reason": str(error)}
    return {"audit": _nameless(audit.to_json()), "nan_reason": None}


def _run_silhouette(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.silhouette import bias_silhouette

    try:
        silhouette = bias_silhouette(
            what["metric"],
            place.unit.queries[what["query"]],
            place.model,
            metric_params=what["params"],
            progress=False,
            **what["options"],
        )
    except UnanswerableError as error:
        return {"silhouette": None, "nan_reason": str(error)}
    return {"silhouette": _nameless(silhouette.to_json()), "nan_reason": None}


def _run_quality(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.quality import evaluate

    benchmark = place.unit.benchmarks[what["benchmark"]]
    score = evaluate(
        place.model, benchmark, random_state=what["random_state"], progress=False
    ).to_dict()
    return {name: plain(part) for name, part in score.items()}


def _run_explore(place: Place, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.embeddings import get_embeddings_from_set
    from wefe.explore import bias_directions, model_page, word_page

    model, forms = place.model, what["preprocessors"]
    before = model if place.original is None else place.original
    word = what.get("word")
    try:
        if word is not None and not get_embeddings_from_set(model, [word], forms)[1]:
            return {"page": None, "nan_reason": f"the model lacks the word {word!r}"}
        # Of the original model, so that what a mitigation left along them shows.
        directions = bias_directions(before, what["criterion"], preprocessors=forms)
        if word is None:
            page = model_page(
                model, directions, n=what["n"], among=what["among"], preprocessors=forms
            ).to_dict()
        else:
            page = word_page(
                *(model, word, directions),
                k=what["k"],
                theta=what["theta"],
                original=place.original,
                preprocessors=forms,
            ).to_dict()
    except (KeyError, ValueError) as error:  # no set is complete, or the word has no direction
        return {"page": None, "nan_reason": str(error.args[0])}
    # Names of the model are not kept, as another one with these vectors may share the page.
    left_out = ("model", "caveat", "map", "map_method")
    kept = {key: part for key, part in page.items() if key not in left_out}
    for rows in ("distribution", "extremes"):
        for row in kept.get(rows, ()):
            del row["model"]
    return {"page": plain(kept), "nan_reason": None}


def _nameless(text: str) -> dict[str, Any]:
    """Return a result without the model's name: another one with these vectors may share it."""
    data: dict[str, Any] = json.loads(text)
    del data["model_name"]
    return data


_Run: TypeAlias = Callable[[Place, Mapping[str, Any]], dict[str, Any]]
_RUN: Mapping[str, _Run] = {
    "score": _run_score,
    "interval": _run_interval,
    "warnings": _run_warnings,
    "mitigation": _run_mitigation,
    "words": _run_words,
    "direction": _run_direction,
    "silhouette": _run_silhouette,
    "quality": _run_quality,
    "explore": _run_explore,
}
