"""Many queries on many models: one metric, one table (seed paper, section 3.2)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from wefe._checks import check_bool, check_choice, check_sequence, found
from wefe._progress import progress_bar
from wefe.embeddings import UnusableVectorError
from wefe.metrics._base import BaseMetric, Scale, get_metric
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query, check_query, unique_queries
from wefe.results import MetricResult

logger = logging.getLogger(__name__)

Aggregation: TypeAlias = (
    Literal["sum", "abs_sum", "avg", "abs_avg", "bias_avg"] | Callable[[pd.DataFrame], pd.Series]
)

_AGGREGATIONS: dict[str, str] = {
    "sum": "sum",
    "abs_sum": "sum of abs values",
    "avg": "average",
    "abs_avg": "average of abs values",
    "bias_avg": "average distance from no bias",
}

_TIDY_COLUMNS = [
    "model_name",
    "query_name",
    "metric",
    "score",
    "p_value",
    "words_used",
    "words_lost",
    "nan_reason",
]


def run_queries(
    metric: type[BaseMetric] | BaseMetric | str,
    queries: Sequence[Query],
    models: Sequence[WordEmbeddingModel],
    queries_set_name: str = "Unnamed queries set",
    lost_vocabulary_threshold: float = 0.2,
    metric_params: Mapping[str, Any] | None = None,
    generate_subqueries: bool = False,
    aggregate_results: bool = False,
    aggregation_function: Aggregation = "abs_avg",
    return_only_aggregation: bool = False,
    warn_not_found_words: bool = False,
    n_jobs: int | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Run one metric for every query on every model.

    Parameters
    ----------
    metric : metric class, instance or name
        For example ``WEAT`` or ``"weat"``.
    queries : sequence of Query
        Queries with the same words are run once, whatever they are called.
    models : sequence of WordEmbeddingModel
        The models to be compared.
    queries_set_name : str, default='Unnamed queries set'
        What the queries test together, for example 'Gender'. It heads the aggregated column.
    lost_vocabulary_threshold : float, default=0.2
        A query with a set that loses a larger share of its words yields NaN.
    metric_params : mapping, optional
        Parameters of the metric's `run_query`.
    generate_subqueries : bool, default=False
        Replace a query that is too large for the metric by all its subqueries that fit. They are
        not always comparable with each other. False refuses such queries.
    aggregate_results : bool, default=False
        Add a column that aggregates the scores of each model.
    aggregation_function : str or callable, default='abs_avg'
        'sum', 'abs_sum', 'avg', 'abs_avg' (of absolute values), 'bias_avg' (mean distance from the
        value that means no bias: the safe choice for every metric), or a function from the table
        of scores to one number per row. Only queries that every model could answer are aggregated,
        so that models are compared on the same queries; the log names the others.
    return_only_aggregation : bool, default=False
        Return the aggregated column alone.
    warn_not_found_words : bool, default=False
        Log the words that were not found.
    n_jobs : int or None, default=None
        Number of joblib workers; None is 1 unless a ``joblib.parallel_config`` says otherwise. The
        result is the same for every number.
    progress : bool, default=True
        Show a progress bar on a terminal when the run takes more than two seconds.

    Returns
    -------
    DataFrame of shape (n_models, n_queries)
        Scores; rows are models ('model_name'), columns queries. Names that occur twice are
        numbered, 'name (2)', so that nothing is mixed up. `attrs` holds what later steps need:
        'metric', 'queries_set_name', 'no_bias_value', 'value_range', 'n_queries', 'best' (what the
        last column is ranked by), 'nan_reasons' (model -> query -> why it is NaN) and 'records',
        which :func:`tidy_results` turns into a table with p-values and words used and lost.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or a query does not fit the metric.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> from wefe.metrics import WEAT
    >>> table = run_queries(
    ...     WEAT,
    ...     load_weat_queries()[:2],
    ...     [load_test_model()],
    ...     queries_set_name="Pleasantness",
    ...     metric_params={"return_effect_size": True},
    ...     aggregate_results=True,
    ...     return_only_aggregation=True,
    ... )
    >>> table.columns[0]
    'WEAT-ES: Pleasantness average of abs values score'
    """
    instance = _instantiate(metric)
    checked_queries, checked_models = _check_runs(queries, models)
    params = _check_params(metric_params)
    aggregate = check_bool("aggregate_results", aggregate_results)
    only_aggregation = check_bool("return_only_aggregation", return_only_aggregation)
    if not callable(aggregation_function):
        check_choice("aggregation_function", aggregation_function, _AGGREGATIONS)
    if check_bool("generate_subqueries", generate_subqueries):
        checked_queries = generate_subqueries_from_queries_list(instance, checked_queries)
        if not checked_queries:
            raise ValueError(
                f"no query has a subquery that {instance.metric_short_name} takes: it needs "
                f"{instance._wanted_shape()}."
            )
    else:
        for query in checked_queries:
            instance._check_input(query, checked_models[0])
        checked_queries = unique_queries(checked_queries)
    options = {
        "lost_vocabulary_threshold": lost_vocabulary_threshold,
        "warn_not_found_words": warn_not_found_words,
        **params,
    }
    answers = _run_all(instance, checked_queries, checked_models, options, n_jobs, progress)
    scale = instance.scale(None, **params)
    results = _tabulate(answers, checked_queries, checked_models)
    records = _records(answers, results, scale.label)
    results.attrs = {
        "metric": scale.label,
        "queries_set_name": queries_set_name,
        "no_bias_value": scale.no_bias_value,
        "value_range": list(scale.value_range),
        "n_queries": len(checked_queries),
        "best": scale.no_bias_value,
        "aggregated": False,
        "nan_reasons": _nan_reasons(records),
        "records": records,
    }
    if not (aggregate or only_aggregation):
        return results
    return _aggregate(results, aggregation_function, scale, only_aggregation)


def generate_subqueries_from_queries_list(
    metric: type[BaseMetric] | BaseMetric | str, queries: Sequence[Query]
) -> list[Query]:
    """Return Q_F: the queries, or their subqueries, that fit the template of a metric.

    Parameters
    ----------
    metric : metric class, instance or name
        Its template decides. A query that fits stays as it is.
    queries : sequence of Query
        The queries.

    Returns
    -------
    list of Query
        Without repetitions: queries with the same words occur once (seed paper, section 3.2). A
        query without any fitting subquery is named in the log.

    Examples
    --------
    >>> query = Query([["she"], ["he"]], [["math"], ["art"]])
    >>> [part.template for part in generate_subqueries_from_queries_list("rnd", [query])]
    [(2, 1), (2, 1)]
    """
    instance = _instantiate(metric)
    parts = []
    for query in check_sequence("queries", queries):
        check_query(query)
        fitting = instance.subqueries(query)
        if not fitting:
            logger.warning(
                "%r is left out: it has no subquery of %s, as %s needs",
                query.query_name,
                instance._wanted_shape(),
                instance.metric_short_name,
            )
        parts.extend(fitting)
    return unique_queries(parts)


def unique_labels(names: Sequence[str], what: str) -> list[str]:
    """Return names with those that occur again numbered: 'name', 'name (2)'; the log says so.

    Examples
    --------
    >>> unique_labels(["w2v", "glove", "w2v"], "models")
    ['w2v', 'glove', 'w2v (2)']
    """
    labels: list[str] = []
    taken = set(names)
    seen: set[str] = set()
    for name in names:
        label, number = name, 1
        while label in seen or (number > 1 and label in taken):
            number += 1
            label = f"{name} ({number})"
        if number > 1:
            logger.warning("two %s are called %r; the later one is now %r", what, name, label)
        seen.add(label)
        labels.append(label)
    return labels


def tidy_results(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model and query: the score and all that is known about it.

    Parameters
    ----------
    results : DataFrame
        What `run_queries` returned.

    Returns
    -------
    DataFrame
        Columns 'model_name', 'query_name', 'metric', 'score', 'p_value' (NaN unless the metric
        was asked for one), 'words_used' and 'words_lost' (numbers over all sets of the query; NA
        for a metric that does not tell) and 'nan_reason'.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> table = run_queries("weat", load_weat_queries()[:1], [load_test_model()])
    >>> tidy_results(table)[["words_used", "words_lost"]].values.tolist()
    [[100, 0]]
    """
    if not isinstance(results, pd.DataFrame) or "records" not in results.attrs:
        raise TypeError(
            "results must be a DataFrame of run_queries, with its attrs (a file does not keep "
            f"them); got {found(results) if not isinstance(results, pd.DataFrame) else 'none'}."
        )
    tidy = pd.DataFrame(results.attrs["records"], columns=_TIDY_COLUMNS)
    return tidy.astype(
        {"score": float, "p_value": float, "words_used": "Int64", "words_lost": "Int64"}
    )


class _Answer(NamedTuple):
    """What one model answered to one query."""

    score: float
    p_value: float
    words_used: int | None
    words_lost: int | None
    nan_reason: str | None


def _answer(
    metric: BaseMetric, query: Query, model: WordEmbeddingModel, options: Mapping[str, Any]
) -> _Answer:
    try:
        result = metric.run_query(query, model, **options)
    except UnusableVectorError as error:
        logger.warning("%s is NaN for %s: %s", query.query_name, model.name, error)
        return _Answer(math.nan, math.nan, None, None, str(error))
    score = float(result["result"])
    reason = None
    if math.isnan(score):
        reason = getattr(result, "nan_reason", None) or "the metric returned NaN"
    used = lost = None
    # A metric with a run_query of its own may return a plain dictionary.
    if isinstance(result, MetricResult):
        uses = result.targets + result.attributes
        used, lost = sum(len(use.used) for use in uses), sum(len(use.lost) for use in uses)
    return _Answer(score, float(result.get("p_value", math.nan)), used, lost, reason)


def _answer_all(
    metric: BaseMetric,
    queries: Sequence[Query],
    model: WordEmbeddingModel,
    options: Mapping[str, Any],
) -> list[_Answer]:
    return [_answer(metric, query, model, options) for query in queries]


def _run_all(
    metric: BaseMetric,
    queries: Sequence[Query],
    models: Sequence[WordEmbeddingModel],
    options: Mapping[str, Any],
    n_jobs: int | None,
    progress: bool,
) -> list[list[_Answer]]:
    """Return the answers, model by model."""
    import joblib

    n_workers = joblib.effective_n_jobs(n_jobs)
    # A model travels to a worker once per chunk; with one worker a chunk is one query, so that
    # the progress bar moves.
    per_model = len(queries) if n_workers == 1 else min(len(queries), -(-n_workers // len(models)))
    tasks = [
        (model, [int(i) for i in chunk])
        for model in models
        for chunk in np.array_split(np.arange(len(queries)), per_model)
    ]
    parts: Iterator[list[_Answer]]
    if n_workers == 1:
        parts = (
            _answer_all(metric, [queries[i] for i in chunk], model, options)
            for model, chunk in tasks
        )
    else:
        parts = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
            joblib.delayed(_answer_all)(metric, [queries[i] for i in chunk], model, options)
            for model, chunk in tasks
        )
    flat: list[_Answer] = []
    total = len(models) * len(queries)
    with progress_bar(total, metric.metric_short_name, "query", progress) as bar:
        for part in parts:
            flat.extend(part)
            bar.update(len(part))
    width = len(queries)
    return [flat[start : start + width] for start in range(0, len(flat), width)]


def _tabulate(
    answers: list[list[_Answer]], queries: Sequence[Query], models: Sequence[WordEmbeddingModel]
) -> pd.DataFrame:
    return pd.DataFrame(
        [[answer.score for answer in row] for row in answers],
        index=pd.Index(unique_labels([m.name for m in models], "models"), name="model_name"),
        columns=unique_labels([query.query_name for query in queries], "queries"),
        dtype=np.float64,
    )


def _records(
    answers: list[list[_Answer]], results: pd.DataFrame, label: str
) -> list[dict[str, Any]]:
    # None for NaN: attrs are compared and written as JSON, where NaN is neither equal nor valid.
    return [
        {
            "model_name": model,
            "query_name": query,
            "metric": label,
            **{key: None if value != value else value for key, value in answer._asdict().items()},
        }
        for model, row in zip(results.index, answers, strict=True)
        for query, answer in zip(results.columns, row, strict=True)
    ]


def _nan_reasons(records: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    reasons: dict[str, dict[str, str]] = {}
    for record in records:
        if record["nan_reason"] is not None:
            of_model = reasons.setdefault(record["model_name"], {})
            of_model[record["query_name"]] = record["nan_reason"]
    return reasons


def _aggregate(
    results: pd.DataFrame, function: Aggregation, scale: Scale, only_aggregation: bool
) -> pd.DataFrame:
    answered = results.loc[:, results.notna().all()]
    left_out = [str(name) for name in results.columns if name not in answered.columns]
    if left_out:
        logger.warning(
            "aggregated without queries that not every model could answer: %s", ", ".join(left_out)
        )
    best = scale.no_bias_value
    if callable(function):
        description = "custom aggregation"
        column = function(answered)
        if not isinstance(column, pd.Series) or len(column) != len(results):
            raise TypeError(
                "aggregation_function must return a Series with one number per model, for example "
                f"lambda scores: scores.median(axis=1); it returned {found(column)}."
            )
    elif answered.shape[1] == 0:
        description = _AGGREGATIONS[function]
        column = pd.Series(math.nan, index=results.index)
    else:
        description = _AGGREGATIONS[function]
        _warn_if_misleading(function, scale)
        scores = answered
        if function == "bias_avg":
            scores, best = scale.bias(answered), 0.0
        elif function.startswith("abs"):
            scores = answered.abs()
        if function.endswith("sum"):
            column, best = scores.sum(axis=1), best * answered.shape[1]
        else:
            column = scores.mean(axis=1)
    name = f"{scale.label}: {results.attrs['queries_set_name']} {description} score"
    aggregated = column.to_frame(name) if only_aggregation else results.assign(**{name: column})
    aggregated.attrs = {
        **results.attrs,
        "best": best,
        "aggregated": True,
        "aggregation": description,
        "left_out": left_out,
        "n_queries": answered.shape[1],
    }
    return aggregated


def _warn_if_misleading(function: str, scale: Scale) -> None:
    """Say when an aggregate does not respect the metric's order (seed paper, section 3.2)."""
    if function == "bias_avg":
        return
    signed = scale.value_range[0] < scale.no_bias_value < scale.value_range[1]
    cancels = signed and function in ("sum", "avg")
    folds = scale.no_bias_value != 0 and scale.value_range[0] < 0 and function.startswith("abs")
    off_centre = signed and scale.no_bias_value != 0
    if cancels or folds or off_centre:
        logger.warning(
            "%r can rank models against the order of %s, whose value for no bias is %g%s; "
            "'bias_avg' cannot",
            function,
            scale.label,
            scale.no_bias_value,
            " (scores on both sides of it cancel)" if cancels or off_centre else "",
        )


def _instantiate(metric: object) -> BaseMetric:
    if isinstance(metric, str):
        return get_metric(metric)()
    if isinstance(metric, BaseMetric):
        return metric
    if isinstance(metric, type) and issubclass(metric, BaseMetric):
        return metric()
    raise TypeError(f"metric must be a metric class such as WEAT; got {found(metric)}.")


def _check_runs(queries: object, models: object) -> tuple[list[Query], list[WordEmbeddingModel]]:
    checked_queries = list(check_sequence("queries", queries))
    checked_models = list(check_sequence("models", models))
    for what, checked in (("queries", checked_queries), ("models", checked_models)):
        if not checked:
            raise ValueError(f"{what} is empty; there is nothing to run.")
    for query in checked_queries:
        check_query(query)
    for model in checked_models:
        check_model(model)
    return checked_queries, checked_models


def _check_params(metric_params: object) -> dict[str, Any]:
    if metric_params is None:
        return {}
    if not isinstance(metric_params, Mapping):
        raise TypeError(
            "metric_params must be a dict of parameters of the metric's run_query; "
            f"got {found(metric_params)}."
        )
    return dict(metric_params)
