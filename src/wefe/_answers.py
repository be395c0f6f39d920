"""Ask many queries of many models, here or in joblib's workers."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from logging.handlers import QueueHandler
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wefe._bootstrap import Resampling, bootstrap
from wefe._checks import found
from wefe._evaluation import Evaluation
from wefe._progress import progress_bar
from wefe._same_words import without_logging
from wefe._workers import parallel, travelling, travelling_params
from wefe.embeddings import UnanswerableError
from wefe.metrics._base import BaseMetric
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import MetricResult
from wefe.words import check_preprocessors

logger = logging.getLogger(__name__)

_SIDES = {"greater": "right-sided", "less": "left-sided", "two-sided": "two-sided"}


class Answer(NamedTuple):
    """What one model answered to one query."""

    score: float
    p_value: float = math.nan
    p_value_lower: float = math.nan
    p_value_upper: float = math.nan
    p_value_test: str | None = None
    p_value_method: str | None = None
    words_used: int | None = None
    words_lost: int | None = None
    nan_reason: str | None = None
    score_lower: float = math.nan
    score_upper: float = math.nan
    score_se: float = math.nan
    interval_nan_reason: str | None = None
    warnings: Sequence[str] | None = None


def answer_of(
    metric: BaseMetric,
    query: Query,
    model: WordEmbeddingModel,
    options: Mapping[str, Any],
    wanted: Resampling | None,
) -> Answer:
    """Return what a model answers to a query; with an interval if a resampling is given."""
    answer = _score(metric, query, model, options)
    if wanted is None or math.isnan(answer.score):
        return answer
    try:
        # What there is to be logged has been.
        with without_logging("wefe"):
            evaluation = Evaluation(
                metric, query, model, options, subset_defaults=False, value=answer.score
            )
    except ValueError as error:  # a run_query of its own may answer what others cannot
        return answer._replace(interval_nan_reason=str(error))
    interval = bootstrap(evaluation, wanted)
    return answer._replace(
        score_lower=interval.lower,
        score_upper=interval.upper,
        score_se=interval.standard_error,
        interval_nan_reason=interval.nan_reason,
    )


def _score(
    metric: BaseMetric, query: Query, model: WordEmbeddingModel, options: Mapping[str, Any]
) -> Answer:
    if not metric.accepts(query):
        return Answer(math.nan, nan_reason=no_subquery(metric))
    try:
        result: Mapping[str, Any] = metric.run_query(query, model, **options)
    except UnanswerableError as error:
        logger.warning("%s is NaN for %s: %s", query.query_name, model.name, error)
        return Answer(math.nan, nan_reason=str(error))
    score = _number(metric, result, "result")
    reason = None
    if math.isnan(score):
        reason = getattr(result, "nan_reason", None) or "the metric returned NaN"
    # A metric with a run_query of its own may return a plain dictionary.
    p_value = _number(metric, result, "p_value") if result.get("p_value") is not None else math.nan
    if not isinstance(result, MetricResult):
        return Answer(score, p_value, nan_reason=reason)
    test = result.details.get("permutation_test")
    lower, upper = test.p_value_bounds if test is not None else (math.nan, math.nan)
    side, method = (_SIDES[test.alternative], test.method) if test is not None else (None, None)
    uses = result.targets + result.attributes
    used, lost = sum(len(use.used) for use in uses), sum(len(use.lost) for use in uses)
    warnings = list(result.warnings) or None
    return Answer(score, p_value, lower, upper, side, method, used, lost, reason, warnings=warnings)


def _number(metric: BaseMetric, result: object, key: str) -> float:
    if isinstance(result, Mapping):
        value = result.get(key)
        if isinstance(value, int | float | np.number) and not isinstance(value, bool):
            return float(value)
    raise TypeError(
        f"{type(metric).__name__}.run_query must return a dict with a number under {key!r}; "
        f"got {found(result)}."
    )


# A query, the model it is asked of, and the options of that call.
_Task: TypeAlias = tuple[Query, Mapping[str, Any]]


def _answer_all(
    metric: BaseMetric,
    tasks: Sequence[_Task],
    model: WordEmbeddingModel,
    wanted: Resampling | None,
) -> list[Answer]:
    return [answer_of(metric, query, model, options, wanted) for query, options in tasks]


class _Keep(QueueHandler):
    """Keeps log records, made fit to travel between processes."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.records: list[logging.LogRecord] = []

    def enqueue(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def _answer_elsewhere(
    metric: BaseMetric,
    tasks: Sequence[_Task],
    model: WordEmbeddingModel,
    wanted: Resampling | None,
    home: int,
    level: int,
) -> tuple[list[Answer], list[logging.LogRecord]]:
    """Answer in a worker; what it logs in another process comes back with the answers."""
    if os.getpid() == home:
        return _answer_all(metric, tasks, model, wanted), []
    handler = _Keep()
    ours = logging.getLogger("wefe")
    ours.addHandler(handler)
    ours.setLevel(level)
    ours.propagate = False
    try:
        return _answer_all(metric, tasks, model, wanted), handler.records
    finally:
        ours.removeHandler(handler)
        ours.propagate = True


def run_all(
    metric: BaseMetric,
    queries: Sequence[Query],
    models: Sequence[WordEmbeddingModel],
    options: Mapping[str, Any],
    n_jobs: int | None,
    progress: bool,
    wanted: Resampling | None = None,
) -> list[list[Answer]]:
    """Return the answers, model by model; with intervals where a resampling is given."""
    import joblib

    # Weights do not travel to workers.
    n_workers = 1 if metric.encodes_texts else joblib.effective_n_jobs(n_jobs)
    if not metric.encodes_texts:
        _prepare(models, queries, options, every_form=n_workers > 1)
    if n_workers > 1:
        options = travelling_params(options)
    # A model travels to a worker once per chunk; with one worker a chunk is one query, so that
    # the progress bar moves.
    per_model = len(queries) if n_workers == 1 else min(len(queries), -(-n_workers // len(models)))
    everything = [
        [(query, own) for query, own in zip(queries, row, strict=True)]
        for row in _options_of_calls(options, len(models), len(queries))
    ]
    chunks = [
        (model, tasks[part[0] : part[-1] + 1])
        for model, tasks in zip(models, everything, strict=True)
        for part in np.array_split(np.arange(len(queries)), per_model)
    ]
    parts: Iterable[tuple[list[Answer], list[logging.LogRecord]]]
    if n_workers == 1:
        parts = ((_answer_all(metric, tasks, model, wanted), []) for model, tasks in chunks)
    else:
        sent = {id(model): travelling(metric, queries, model, options) for model in models}
        chunks = [(sent[id(model)], tasks) for model, tasks in chunks]
        home, level = os.getpid(), logging.getLogger("wefe").getEffectiveLevel()
        parts = parallel(n_jobs)(
            joblib.delayed(_answer_elsewhere)(metric, tasks, model, wanted, home, level)
            for model, tasks in chunks
        )
    flat: list[Answer] = []
    total = len(models) * len(queries)
    with progress_bar(total, metric.metric_short_name, "query", progress) as bar:
        for answers, logged in parts:
            for record in logged:
                if logging.getLogger(record.name).isEnabledFor(record.levelno):
                    logging.getLogger(record.name).handle(record)
            flat.extend(answers)
            bar.update(len(answers))
    width = len(queries)
    return [flat[start : start + width] for start in range(0, len(flat), width)]


def _prepare(
    models: Sequence[WordEmbeddingModel],
    queries: Sequence[Query],
    options: Mapping[str, Any],
    *,
    every_form: bool,
) -> None:
    """Let models that compute their vectors do so at once.

    A worker has what was made ready and nothing else; here, other forms of a word can still be
    made if the first is not found.
    """
    given = options.get("preprocessors")
    forms = check_preprocessors(given if isinstance(given, list | tuple) else None)
    if not every_form and options.get("strategy") != "all":
        forms = forms[:1]
    for model in models:
        model.prepare(queries, forms)


def _options_of_calls(
    options: Mapping[str, Any], n_models: int, n_queries: int
) -> list[list[Mapping[str, Any]]]:
    """Return the options of each call: the same, but for the seed if it is a generator.

    Calls that drew from one generator would depend on their order, and so on `n_jobs`.
    """
    generator = options.get("random_state")
    if not isinstance(generator, np.random.Generator):
        return [[options] * n_queries] * n_models
    seeds = generator.integers(2**32, size=(n_models, n_queries)).tolist()
    return [[{**options, "random_state": seed} for seed in row] for row in seeds]


def no_subquery(metric: BaseMetric) -> str:
    """Say why a query stays unanswered although subqueries were generated."""
    return f"it has no subquery of {metric._wanted_shape()}, as {metric.metric_short_name} needs"
