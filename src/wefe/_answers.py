"""Ask many queries of many models, here or in joblib's workers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wefe._bootstrap import Resampling, bootstrap
from wefe._checks import found
from wefe._evaluation import Evaluation, call_all, in_memory, is_mapped, travelling
from wefe._progress import progress_bar
from wefe._same_words import with_only
from wefe.embeddings import UnanswerableError
from wefe.metrics._base import BaseMetric, result_of
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import MetricResult
from wefe.words import check_preprocessors

_SIDES = {"greater": "right-sided", "less": "left-sided", "two-sided": "two-sided"}


class Answer(NamedTuple):
    """What one model answered to one query."""

    score: float
    score_lower: float = math.nan
    score_upper: float = math.nan
    score_se: float = math.nan
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
    test = result.details.get("permutation_test")
    if test is not None:
        lower, upper = test.p_value_bounds
        answer = answer._replace(
            p_value_lower=lower,
            p_value_upper=upper,
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
    )


def _number(metric: BaseMetric, result: object, key: str) -> float:
    if isinstance(result, Mapping):
        value = result.get(key)
        if isinstance(value, int | float | np.number) and not isinstance(value, bool):
            return float(value)
    raise TypeError(
        f"{type(metric).__name__}.run_query must return a dict with a number under {key!r}; "
        f"got {found(result)}."
    )


def _answer_all(
    metric: BaseMetric,
    model: WordEmbeddingModel,
    queries: Sequence[Query],
    options: Sequence[Mapping[str, Any]],
    wanted: Resampling | None,
) -> list[Answer]:
    return [
        answer_of(metric, query, model, own, wanted)
        for query, own in zip(queries, options, strict=True)
    ]


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

    if metric.encodes_texts:  # weights do not travel to workers
        n_jobs = 1
    n_workers, n_queries = joblib.effective_n_jobs(n_jobs), len(queries)
    if not metric.encodes_texts:
        # A worker has the forms that were made ready and no others; here more can be made.
        forms = check_preprocessors(options.get("preprocessors"))
        every = n_workers > 1 or options.get("strategy") == "all"
        for model in models:
            model.prepare(queries, forms if every else forms[:1])
    sent = list(models)
    if n_workers > 1:
        options = travelling(options)
        sent = [for_worker(metric, queries, model, options) for model in models]
    # A model travels to a worker once per chunk; with one worker a chunk is one query, so that
    # the progress bar moves.
    size = 1 if n_workers == 1 else -(-n_queries // -(-n_workers // len(models)))
    calls = [
        (metric, model, queries[start : start + size], own[start : start + size], wanted)
        for model, own in zip(sent, _options_of_calls(options, len(sent), n_queries), strict=True)
        for start in range(0, n_queries, size)
    ]
    flat: list[Answer] = []
    total = len(models) * n_queries
    with progress_bar(total, metric.metric_short_name, "query", progress) as bar:
        for answers in call_all(_answer_all, calls, n_jobs):
            flat.extend(answers)
            bar.update(len(answers))
    return [flat[start : start + n_queries] for start in range(0, total, n_queries)]


def for_worker(
    metric: BaseMetric,
    queries: Sequence[Query],
    model: WordEmbeddingModel,
    options: Mapping[str, Any],
) -> WordEmbeddingModel:
    """Return what goes to a worker in place of a model; see `travelling`."""
    if not is_mapped(model):
        return model
    ours = type(metric).__module__.startswith("wefe.metrics.")
    if not ours or metric.needs_vocabulary or model.use_subwords:
        return in_memory(model)
    # Our metrics look up the words of the query and nothing else.
    return with_only(model, model.vocab, queries, options.get("preprocessors"))


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
