"""Ask many queries of many models, here or in joblib's workers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wefe._bootstrap import Resampling, bootstrap
from wefe._checks import found
from wefe._evaluation import Evaluation, call_all, in_memory, travelling
from wefe._progress import progress_bar
from wefe._same_words import with_only
from wefe.embeddings import UnanswerableError
from wefe.metrics._base import BaseMetric, result_of
from wefe.metrics._exchange import ALTERNATIVES
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import MetricResult
from wefe.words import check_preprocessors

_SIDES = {alternative: side for side, alternative in ALTERNATIVES.items()}


class Answer(NamedTuple):
    """What one model answered to one query."""

    score: float
    score_lower: float = math.nan
    score_upper: float = math.nan
    score_se: float = math.nan
    null_mean: float = math.nan
    null_lower: float = math.nan
    null_median: float = math.nan
    null_upper: float = math.nan
    p_value: float = math.nan
    p_value_lower: float = math.nan
    p_value_upper: float = math.nan
    p_value_test: str | None = None
    p_value_method: str | None = None
    words_used: int | None = None
    words_lost: int | None = None
    lost_words: Sequence[str] | None = None
    nan_reason: str | None = None
    interval_nan_reason: str | None = None
    interval_note: str | None = None
    warnings: Sequence[str] | None = None
    # Of RNSB: target word -> its share, for figures of a study.
    negative_sentiment: Mapping[str, float] | None = None
    # Of SC-WEAT: target word -> its effect size, p-value and the method of its test.
    words: Mapping[str, Sequence[Any]] | None = None


def answer_of(
    metric: BaseMetric,
    query: Query,
    model: WordEmbeddingModel,
    options: Mapping[str, Any],
    wanted: Resampling | None,
) -> Answer:
    """Return the answer of one model to one query, with an interval if a resampling is given."""
    answer = _score(metric, query, model, options)
    if wanted is None or math.isnan(answer.score):
        return answer
    try:
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
        interval_note=None if interval.nan_reason else interval.note or None,
    )


def _score(
    metric: BaseMetric, query: Query, model: WordEmbeddingModel, options: Mapping[str, Any]
) -> Answer:
    if not metric.accepts(query):
        return Answer(math.nan, nan_reason=no_subquery(metric))
    try:
        result = result_of(metric, query, model, **options)
    except UnanswerableError as error:
        return Answer(math.nan, nan_reason=str(error))
    score = _number(metric, result, "result")
    # A metric with a run_query of its own may return a plain dictionary.
    p_value = math.nan if result.get("p_value") is None else _number(metric, result, "p_value")
    answer = Answer(score, p_value=p_value)
    if math.isnan(score):
        reason = getattr(result, "nan_reason", None) or "the metric returned NaN"
        answer = answer._replace(nan_reason=reason)
    if not isinstance(result, MetricResult):
        return answer
    if test := result.details.get("permutation_test"):
        names = "p_value_lower", "p_value_upper", "null_lower", "null_median", "null_upper"
        bounds = zip(names, (*test.p_value_bounds, *test.null_quantiles), strict=True)
        answer = answer._replace(
            **dict(bounds),
            null_mean=test.null_mean,
            p_value_test=_SIDES[test.alternative],
            p_value_method=test.method,
        )
    uses = result.targets + result.attributes
    lost = [word for use in uses for word in use.lost]
    return answer._replace(
        words_used=sum(len(use.used) for use in uses),
        words_lost=len(lost),
        lost_words=lost or None,
        warnings=list(result.warnings) or None,
        negative_sentiment=result.get("negative_sentiment_distribution"),
        words=_words(result),
    )


def _words(result: MetricResult) -> dict[str, list[Any]] | None:
    tests = result.details.get("permutation_tests", {})
    return {
        word: [
            effect_size,
            *((test.p_value, test.method) if (test := tests.get(word)) else (None, None)),
        ]
        for word, effect_size in result.get("effect_sizes", {}).items()
    } or None


def _number(metric: BaseMetric, result: object, key: str) -> float:
    value = result.get(key) if isinstance(result, Mapping) else None
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return float(value)
    raise TypeError(
        f"{type(metric).__name__}.run_query must return a dict with a number under {key!r}; "
        f"got {found(result)}."
    )


def run_all(
    asked: Sequence[tuple[BaseMetric, Sequence[Query]]],
    models: Sequence[WordEmbeddingModel],
    options: Mapping[str, Any],
    n_jobs: int | None,
    progress: bool,
    wanted: Resampling | None = None,
) -> list[list[list[Answer]]]:
    """Return the answers by metric, model and query; with intervals if a resampling is given."""
    import joblib

    encoded = any(metric.encodes_texts for metric, _ in asked)
    n_jobs = 1 if encoded else n_jobs  # weights do not travel to workers
    n_workers = joblib.effective_n_jobs(n_jobs)
    queries = list(dict.fromkeys(query for _, some in asked for query in some))
    sent = list(models)
    if not encoded:
        # A worker has the forms that were made ready and no others; here more can be made.
        forms = check_preprocessors(options.get("preprocessors"))
        all_forms = n_workers > 1 or options.get("strategy") == "all"
        for model in models:
            model.prepare(queries, forms if all_forms else forms[:1])
    if n_workers > 1:
        options = travelling(options)
        metrics = [metric for metric, _ in asked]
        sent = [for_worker(metrics, queries, model, options) for model in models]
    by_model = _tasks(asked, len(models), options)
    # Calls are short here, so that the progress bar moves; a worker gets as much as there is.
    n_tasks = len(by_model[0])
    n_parts = n_tasks if n_workers == 1 else min(n_tasks, -(-n_workers // len(models)))
    parts = [own[k::n_parts] for own in by_model for k in range(n_parts)]
    calls = ((sent[part[0].model], part, wanted) for part in parts)
    answers = [[[Answer(math.nan)] * len(some) for _ in models] for _, some in asked]
    label = ", ".join(metric.metric_short_name for metric, _ in asked)
    with progress_bar(n_tasks * len(models), label, "query", progress) as bar:
        for part, row in zip(parts, call_all(_answers, calls, n_jobs), strict=True):
            for task, answer in zip(part, row, strict=True):
                answers[task.metric_number][task.model][task.position] = answer
            bar.update(len(row))
    return answers


class _Task(NamedTuple):
    """What one model is asked, and the place of its answer."""

    model: int
    metric_number: int
    position: int
    metric: BaseMetric
    query: Query
    options: Mapping[str, Any]


def _tasks(
    asked: Sequence[tuple[BaseMetric, Sequence[Query]]], n_models: int, options: Mapping[str, Any]
) -> list[list[_Task]]:
    """Return what each model is asked."""
    by_model: list[list[_Task]] = [[] for _ in range(n_models)]
    for number, (metric, queries) in enumerate(asked):
        calls = itertools.product(range(n_models), enumerate(queries))
        seeded = _seeded(options, n_models * len(queries))
        for (i, (position, query)), params in zip(calls, seeded, strict=True):
            by_model[i].append(_Task(i, number, position, metric, query, params))
    return by_model


def _answers(
    model: WordEmbeddingModel, tasks: Sequence[_Task], wanted: Resampling | None
) -> list[Answer]:
    return [answer_of(task.metric, task.query, model, task.options, wanted) for task in tasks]


def for_worker(
    metrics: Sequence[BaseMetric],
    queries: Sequence[Query],
    model: WordEmbeddingModel,
    options: Mapping[str, Any],
) -> WordEmbeddingModel:
    """Return what goes to a worker in place of a model; see `travelling`."""
    # Our metrics look up the words of the query and nothing else.
    few = not model.use_subwords and all(
        type(metric).__module__.startswith("wefe.metrics.") and not metric.needs_vocabulary
        for metric in metrics
    )
    if model.held == "mapped" and few:
        return with_only(model, model.vocab, queries, options.get("preprocessors"))
    return in_memory(model)


def _seeded(options: Mapping[str, Any], n_calls: int) -> list[Mapping[str, Any]]:
    """Return the options of each call: the same, but for the seed if it is a generator.

    Seeds are drawn here, so that the results do not depend on which worker calls first.
    """
    generator = options.get("random_state")
    if not isinstance(generator, np.random.Generator):
        return [options] * n_calls
    return [{**options, "random_state": int(s)} for s in generator.integers(2**32, size=n_calls)]


def no_subquery(metric: BaseMetric) -> str:
    """Say why a query stays unanswered although subqueries were generated."""
    return f"it has no subquery of {metric._wanted_shape()}, as {metric.metric_short_name} needs"
