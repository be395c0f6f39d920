"""What a worker does: open a model, tell which results its tasks have, and compute those missing.

Everything here is plain data or can travel to another process: a :class:`Unit` is one model of the
study file with all that is asked of it, as it is and mitigated.
"""

from __future__ import annotations

import itertools
import json
import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from threadpoolctl import threadpool_limits

from wefe._answers import answer_of
from wefe._bootstrap import Resampling
from wefe.embeddings import Lookup, UnanswerableError, embed_query
from wefe.metrics._registry import as_metric, get_metric
from wefe.models._load import load, words_of
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import WordUse
from wefe.running import audited
from wefe.study._fingerprint import Fingerprints, source_identity
from wefe.study._plan import Task, digest
from wefe.words import check_preprocessors, variants

if TYPE_CHECKING:
    from wefe.datasets import Criterion
    from wefe.debias import BaseDebias
    from wefe.metrics._base import BaseMetric
    from wefe.quality import Benchmark
    from wefe.study._entries import ModelEntry
    from wefe.study._extras import MitigationEntry

logger = logging.getLogger(__name__)

_WORD_SETS = ("definitional_sets", "equalize_sets", "stereotyped_words", "representatives")
_LOOKUP = tuple(Lookup.__annotations__)


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
    tasks : tuple of (int, Task)
        The tasks to be done, with their positions in the plan.
    all_tasks : tuple of Task
        These, and those that are done. The words of all of them are read, so that what is known of
        a model does not depend on what an earlier run has left to do.
    """

    label: str
    mitigation: Mitigation | None
    tasks: tuple[tuple[int, Task], ...]
    all_tasks: tuple[Task, ...]


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
    texts : dict of Path
        Hash of its content -> file of sentences.
    identity : list or None
        What :func:`source_identity` told of the model when the study was planned.
    n_threads : int or None
        Threads that read the model; None is one for each core.
    """

    entry: ModelEntry
    variants: tuple[Variant, ...]
    queries: Mapping[str, Query]
    benchmarks: Mapping[str, Benchmark]
    texts: Mapping[str, Path]
    identity: Any = None
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
    # The last digits of sums depend on the number of threads, and so on how many processes share
    # the cores.
    with threadpool_limits(1, "blas"):
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

        model: WordEmbeddingModel = load_encoder(
            entry.encoder, name=entry.label, progress=False, **entry.load_options()
        )
    else:
        model = _load_vectors(unit)
    return model


def _load_vectors(unit: Unit) -> WordEmbeddingModel:
    entry = unit.entry
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
        #: The model before mitigation, where a task asks for it: it may have far to travel.
        self.original: WordEmbeddingModel | None = None
        known: dict[str, Any] = {}
        if variant.mitigation is not None:
            self.model, known["mitigation"] = variant.mitigation.apply(base)
            self.model.name = variant.label
            if any(_asks_for_original(task) for _, task in variant.tasks):
                self.original = base
        # One metric for all its queries: RNSB keeps what it trained on the same attribute words.
        # (It does so for one thread; a cluster may use several.)
        self._metrics: dict[tuple[str, int], BaseMetric] = {}
        keys = _Keys(unit, variant, base)
        info = {
            "n_words_read": None if unit.entry.is_encoder else len(base),
            "dim": self.model.dim,
            "held": base.held,
            "dtype": str(self.model.dtype),
            "fingerprint": digest(sorted({keys.words_of(task) for task in variant.all_tasks})),
            **known,
        }
        self.message = Opened(
            variant.label, info, {position: keys.key(task) for position, task in variant.tasks}
        )
        self._check_files()

    def _check_files(self) -> None:
        """Raise if the files changed: vectors are read from them at any time while tasks run."""
        entry = self.unit.entry
        if source_identity(entry) != self.unit.identity:
            raise RuntimeError(
                f"the files of {entry.label} changed since the study began; run it again."
            )

    def run(self, position: int) -> Done | Failed:
        """Do a task."""
        task = self._tasks[position]
        start = time.perf_counter()
        try:
            # What is logged of words and NaN is part of every result.
            with _noted([]):
                value = _RUN[task.kind](self, task.identity)
            # A result that JSON cannot hold is a failure here, not of the file.
            json.dumps(value, allow_nan=False)
            self._check_files()
        except Exception as error:
            return Failed((position,), describe(error))
        return Done((position,), value, time.perf_counter() - start)

    def metric(self, name: str) -> BaseMetric:
        """Return the metric of that name, the same one at each call."""
        place = name, threading.get_ident()
        if place not in self._metrics:
            self._metrics[place] = as_metric(name)
        return self._metrics[place]


class _Keys:
    """Under which hash each result of a variant is kept.

    That of a mitigated model depends on the vectors before, and on the mitigation: vectors that
    were computed are not the same to the last digit everywhere.
    """

    def __init__(self, unit: Unit, variant: Variant, base: WordEmbeddingModel) -> None:
        self._unit, self._base = unit, base
        self._fingerprints = Fingerprints(base)
        self._of_place: dict[Any, str] = {}
        self._how, self._to_fit = "", frozenset[str]()
        self._needs_all = False
        if variant.mitigation is not None:
            self._how = digest(variant.mitigation.identity())
            to_fit = variant.mitigation.needed_words()
            self._needs_all = to_fit is None
            prefix = base.vocab_prefix or ""
            self._to_fit = frozenset(prefix + word for word in to_fit or ())

    def key(self, task: Task) -> str:
        """Return the key of a task's result."""
        return digest(task.digest, self.words_of(task), self._how)

    def words_of(self, task: Task) -> str:
        """Return the hash of the vectors that a task uses."""
        place = _place(task)
        if place not in self._of_place:
            words = _words_of(self._unit, task)
            if words is None or self._needs_all:
                self._of_place[place] = self._fingerprints.of_all()
            else:
                asked = _looked_up(words, task, self._base.vocab_prefix)
                self._of_place[place] = self._fingerprints.of_words(asked | self._to_fit)
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
        for task in variant.all_tasks:
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
    forms = json.dumps(identity.get("preprocessors"))
    return task.kind == "quality", _needs_vocabulary(task), about, forms


def _needs_vocabulary(task: Task) -> bool:
    """Tell whether a task looks at more words than its query, or its criterion, has."""
    if task.kind == "score":
        return get_metric(task.identity["metric"]).needs_vocabulary
    return task.kind == "explore"


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
    if _needs_vocabulary(task):
        return None
    return unit.queries[identity["query"]]


def _asks_for_original(task: Task) -> bool:
    """Tell whether a task of a mitigated model looks at the model as it was, too."""
    if task.kind == "score":
        return get_metric(task.identity["metric"]).takes_original
    return task.kind == "explore"


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
        from wefe.contextual import find_contexts

        # Of this query alone, as which words find a sentence depends on all that are asked for.
        with opened.unit.texts[what["contexts"]].open(encoding="utf-8") as lines:
            params["contexts"] = find_contexts([query], (line.strip() for line in lines))
    if metric.takes_original and opened.original is not None:
        params["original"] = opened.original
    wanted = None if what["bootstrap"] is None else Resampling(*what["bootstrap"])
    if not metric.encodes_texts:
        model.prepare([query], check_preprocessors(params.get("preprocessors")))
    answer = answer_of(metric, query, model, params, wanted)
    if what["audit"]:
        answer = audited(answer, metric, query, model, params)
    return {name: _plain(part) for name, part in answer._asdict().items()}


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
        value["audit"] = _nameless(audit.to_json())
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
    return {"audit": _nameless(audit.to_json()), "nan_reason": None}


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
    return {"silhouette": _nameless(silhouette.to_json()), "nan_reason": None}


def _run_quality(opened: OpenedVariant, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.quality import evaluate

    benchmark = opened.unit.benchmarks[what["benchmark"]]
    score = evaluate(
        opened.model, benchmark, random_state=what["random_state"], progress=False
    ).to_dict()
    return {name: _plain(part) for name, part in score.items()}


def _run_explore(opened: OpenedVariant, what: Mapping[str, Any]) -> dict[str, Any]:
    from wefe.embeddings import get_embeddings_from_set
    from wefe.explore import bias_directions, model_page, word_page

    model, forms = opened.model, what["preprocessors"]
    before = model if opened.original is None else opened.original
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
                original=opened.original,
                preprocessors=forms,
            ).to_dict()
    except (KeyError, ValueError) as error:  # no set is complete, or the word has no direction
        return {"page": None, "nan_reason": str(error.args[0])}
    # Names of the model are not kept, as another one with these vectors may share the page.
    plain = {key: part for key, part in page.items() if key not in ("model", "map", "map_method")}
    for rows in ("distribution", "extremes"):
        for row in plain.get(rows, ()):
            del row["model"]
    return {"page": _plain(plain), "nan_reason": None}


def _nameless(text: str) -> dict[str, Any]:
    """Return a result without the model's name: another one with these vectors may share it."""
    data: dict[str, Any] = json.loads(text)
    del data["model_name"]
    return data


_Run: TypeAlias = Callable[[OpenedVariant, Mapping[str, Any]], dict[str, Any]]
_RUN: Mapping[str, _Run] = {
    "score": _run_score,
    "words": _run_words,
    "direction": _run_direction,
    "silhouette": _run_silhouette,
    "quality": _run_quality,
    "explore": _run_explore,
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
