"""Measure many metrics, queries and models: a tidy table, or WEFE's matrix (paper, 3.2)."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from wefe._answers import Answer, no_subquery, run_all
from wefe._bootstrap import Resampling
from wefe._checks import check_bool, check_n_jobs, check_sequence, check_text, found
from wefe._visible import unique_labels
from wefe.aggregation import (
    Aggregation,
    aggregate,
    check_aggregation,
    check_scores,
    heading_of,
    matrix_of,
)
from wefe.metrics._base import BaseMetric, Scale
from wefe.metrics._registry import as_metric
from wefe.models._word_embedding_model import WordEmbeddingModel, check_models
from wefe.query import Query, check_queries, check_query, unique_queries

__all__ = [
    "adjust_p_values",
    "generate_subqueries_from_queries_list",
    "measure",
    "run_queries",
    "scores_matrix",
]

logger = logging.getLogger(__name__)

_NUMBERS = [
    *("score", "score_lower", "score_upper", "score_se"),
    *("null_mean", "null_lower", "null_median", "null_upper"),
    *("no_bias_value", "scale_min", "scale_max"),
    *("p_value", "p_value_holm", "p_value_bh", "p_value_lower", "p_value_upper"),
]
_COUNTS = ["words_used", "words_lost", "n_queries"]
#: The columns of a tidy table of scores.
COLUMNS = [
    *("model_name", "query_name", "metric"),
    *_NUMBERS,
    *("p_value_test", "p_value_method", "words_used", "words_lost", "lost_words"),
    *("nan_reason", "interval_nan_reason", "interval_note", "warnings", "n_queries", "query_set"),
]


def measure(
    metrics: type[BaseMetric] | BaseMetric | str | Sequence[type[BaseMetric] | BaseMetric | str],
    queries: Sequence[Query] | Mapping[str, Sequence[Query]],
    models: Sequence[WordEmbeddingModel],
    queries_set_name: str = "Unnamed queries set",
    lost_vocabulary_threshold: float = 0.2,
    metric_params: Mapping[str, Any] | None = None,
    generate_subqueries: bool = False,
    warn_not_found_words: bool = False,
    n_jobs: int | None = None,
    progress: bool = True,
    *,
    n_bootstrap: int = 0,
    confidence: float = 0.95,
    bootstrap_random_state: int | np.random.Generator | None = 0,
    audit: bool = False,
) -> pd.DataFrame:
    """Score every query on every model by every metric, and return one row for each.

    Parameters
    ----------
    metrics : metric class, instance or name, or a sequence of these
        For example ``"weat"``, or ``["weat-es", MAC(average="words")]``.
    queries : sequence of Query, or mapping of str to such sequences
        The queries, or several query sets by their names. A query that occurs twice in a set is
        run once.
    models : sequence of WordEmbeddingModel
        The models to be compared.
    queries_set_name : str, default='Unnamed queries set'
        What the queries test together, for example 'Gender', where `queries` is a sequence.
    lost_vocabulary_threshold : float, default=0.2
        A query with a set that loses a larger share of its words yields NaN.
    metric_params : mapping, optional
        Parameters of `run_query`, for all metrics. Those of one metric go to its instance.
    generate_subqueries : bool, default=False
        Replace a query that is too large for a metric by all its subqueries that fit; those with
        the same words occur once. A query that is too small keeps its row, as NaN. False refuses
        queries that do not fit.
    warn_not_found_words : bool, default=False
        Log the words that were not found.
    n_jobs : int or None, default=None
        Number of joblib workers, which changes no result; None is 1 unless a
        ``joblib.parallel_config`` says otherwise. SEAT and CEAT stay in this process.
    progress : bool, default=True
        Show a progress bar on a terminal when the run takes more than two seconds.
    n_bootstrap : int, default=0
        With 40 or more (1000 is a good number), estimate for each score how far it would move with
        other words of the same kind: draw the words of each set anew, with replacement.
    confidence : float, default=0.95
        Confidence of these intervals, between 0 and 1.
    bootstrap_random_state : int, Generator or None, default=0
        Draws the words: the same ones for every metric and model that has the same words of a
        query.
    audit : bool, default=False
        Say beside each score what it does not show: see :func:`wefe.audit.score_warnings`.

    Returns
    -------
    DataFrame
        One row per query set, model, metric and query. Models and queries with the same name are
        numbered, 'name (2)'. The columns are

        - 'model_name', 'query_name', 'metric', 'score';
        - 'score_lower', 'score_upper' and 'score_se': bounds of the bootstrap interval over words,
          and the standard error; NaN unless `n_bootstrap` was given;
        - 'no_bias_value': the score that means that no bias was measured; 'scale_min' and
          'scale_max': the smallest and largest possible score;
        - 'null_mean', 'null_lower', 'null_median' and 'null_upper': mean and 2.5, 50 and 97.5 %
          quantiles of the score with words exchanged, as they would be without bias; NaN unless
          the metric was asked for a p-value;
        - 'p_value', likewise; 'p_value_holm' and 'p_value_bh': adjusted for the number of tests in
          this table, see :func:`adjust_p_values`; 'p_value_lower' and 'p_value_upper': what
          encloses 'p_value'; 'p_value_test': its side; 'p_value_method': 'exact'; 'bounds',
          guaranteed; 'approximate', then the two are a 99 % confidence interval; or 'saddlepoint';
        - 'words_used' and 'words_lost': numbers over all sets of the query; NA for a metric that
          does not tell; 'lost_words': the out-of-vocabulary words;
        - 'nan_reason': why the score is NaN, and 'interval_nan_reason': why it has no interval,
          though one was asked for; None otherwise;
        - 'interval_note': that an interval cannot tell bias from chance, because no bias is an end
          of the range of the scores; None if it can, or if there is no interval;
        - 'warnings': those of the result and, with ``audit=True``, of an audit, between bars; None
          if there are none, '' after an audit;
        - 'query_set', and 'n_queries': its number of queries, before subqueries were generated.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or a query does not fit a metric.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> queries = load_weat_queries()[5:7]
    >>> scores = measure(["weat-es", "mac"], queries, [load_test_model()])
    >>> scores[["metric", "score", "no_bias_value", "words_used"]].round(2).values.tolist()
    [['WEAT-ES', 1.04, 0.0, 32], ['WEAT-ES', 1.0, 0.0, 32], ['MAC', 0.97, 1.0, 32],
    ['MAC', 1.04, 1.0, 32]]
    """
    one = isinstance(metrics, str | type | BaseMetric)
    every = [metrics] if one else check_sequence("metrics", metrics)
    instances = [as_metric(metric) for metric in every]
    name = check_text("queries_set_name", queries_set_name)
    sets = queries if isinstance(queries, Mapping) else {name: queries}
    if not instances or not sets:
        raise ValueError("measure needs at least one metric and one set of queries.")
    check_n_jobs(n_jobs)
    check_bool("progress", progress)
    compared = check_models(models)
    params = _check_params(metric_params)
    options = {
        "lost_vocabulary_threshold": lost_vocabulary_threshold,
        "warn_not_found_words": check_bool("warn_not_found_words", warn_not_found_words),
        **params,
    }
    wanted = None
    if type(n_bootstrap) is not int or n_bootstrap != 0:
        wanted = Resampling(n_bootstrap, confidence, bootstrap_random_state)
    with_subqueries = check_bool("generate_subqueries", generate_subqueries)
    check_bool("audit", audit)
    tasks = []
    for query_set, given in sets.items():
        asked = list(dict.fromkeys(check_queries(given)))
        for instance in instances:
            fitting = _fitting(instance, asked, compared[0], with_subqueries)
            tasks.append((query_set, len(asked), instance, fitting))
    model_names = unique_labels([model.name for model in compared], "models")
    runs = [(instance, fitting) for *_, instance, fitting in tasks]
    every = run_all(runs, compared, options, n_jobs, progress, wanted)
    rows: list[dict[str, Any]] = []
    for (query_set, n_queries, instance, fitting), answers in zip(tasks, every, strict=True):
        if audit:
            answers = [
                [
                    audited(answer, instance, query, model, options)
                    for query, answer in zip(fitting, row, strict=True)
                ]
                for model, row in zip(compared, answers, strict=True)
            ]
        rows += rows_of(
            answers,
            model_names,
            unique_labels([query.query_name for query in fitting], "queries"),
            [instance.scale(query, **params) for query in fitting],
            query_set=query_set,
            n_queries=n_queries,
            metric=instance.scale(None, **params).label,
        )
    scores = tidy_frame(rows)
    _log(scores, with_lost_words=options["warn_not_found_words"])
    return scores


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
    """Score every query on every model by one metric: WEFE's matrix of scores.

    :func:`measure` has the same scores with intervals, p-values, words used and reasons for NaN,
    and takes several metrics.

    Parameters
    ----------
    metric : metric class, instance or name
        For example ``WEAT`` or ``"weat"``.
    queries, models, queries_set_name, lost_vocabulary_threshold, metric_params : optional
        As in :func:`measure`; `queries` is a sequence.
    generate_subqueries : bool, default=False
        As in :func:`measure`.
    aggregate_results : bool, default=False
        Add a column that aggregates the scores of each model.
    aggregation_function : str or callable, default='abs_avg'
        'sum', 'abs_sum', 'avg', 'abs_avg' (of absolute values), 'bias_avg' (mean distance from the
        value that means no bias: the safe choice), or a function from the table of scores to a
        Series with one number per model. Only queries that every model could answer are aggregated;
        the log names the others.
    return_only_aggregation : bool, default=False
        Return the aggregated column alone.
    warn_not_found_words, n_jobs, progress : optional
        As in :func:`measure`.

    Returns
    -------
    DataFrame of shape (n_models, n_queries)
        Scores; rows are models ('model_name'), columns queries, and the columns are named after
        the metric. The aggregated column comes last. Names that occur twice are numbered,
        'name (2)', so that nothing is mixed up.

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
    with_aggregation = check_bool("aggregate_results", aggregate_results)
    only_aggregation = check_bool("return_only_aggregation", return_only_aggregation)
    n_models = len(check_models(models))
    function = check_aggregation(aggregation_function, n_models)
    scores = measure(
        as_metric(metric),
        check_queries(queries),
        models,
        queries_set_name,
        lost_vocabulary_threshold,
        metric_params,
        generate_subqueries,
        warn_not_found_words,
        n_jobs,
        progress,
    )
    # The matrix has no room for them.
    for text, rows in scores.groupby("warnings", sort=False):
        logger.warning("%d of %d scores: %s", len(rows), len(scores), text)
    matrix = scores_matrix(scores)
    if with_aggregation or only_aggregation:
        totals = aggregate(scores, function)
        matrix[heading_of(totals)] = totals["score"].to_numpy()
    return matrix.iloc[:, -1:] if only_aggregation else matrix


def scores_matrix(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of one metric and query set as a table of models and queries.

    Parameters
    ----------
    scores : DataFrame
        What :func:`measure` returns, or those of its rows that are of one metric and query set.

    Returns
    -------
    DataFrame of shape (n_models, n_queries)
        Rows and columns in the order of `scores`; the columns are named after the metric.

    Raises
    ------
    TypeError, ValueError
        If `scores` is no table of :func:`measure`, or holds several metrics or query sets.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> scores = measure("weat", load_weat_queries()[:2], [load_test_model()])
    >>> scores_matrix(scores).shape
    (1, 2)
    """
    check_scores(scores)
    places = scores[["metric", "query_set"]].drop_duplicates()
    if len(places) != 1:
        raise ValueError(
            "scores must come from one metric and one query set; got "
            f"{', '.join(f'{metric}: {name}' for metric, name in places.itertuples(index=False))}. "
            "Select a part: scores[scores['metric'] == 'WEAT']."
        )
    return matrix_of(scores).rename_axis(index="model_name", columns=places["metric"].iloc[0])


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
        Without repetitions: queries with the same words occur once (WEFE paper, section 3.2). A
        query without any fitting subquery is named in the log.

    Raises
    ------
    TypeError, ValueError
        If an element is no query, or there is no metric of that name.

    Examples
    --------
    >>> query = Query([["she"], ["he"]], [["math"], ["art"]])
    >>> [part.template for part in generate_subqueries_from_queries_list("rnd", [query])]
    [(2, 1), (2, 1)]
    """
    instance = as_metric(metric)
    parts = []
    for query in check_sequence("queries", queries):
        check_query(query)
        fitting = instance.subqueries(query)
        if not fitting:
            logger.warning("%r: %s", query.query_name, no_subquery(instance))
        parts.extend(fitting)
    return unique_queries(parts)


def rows_of(
    answers: Sequence[Sequence[Answer]],
    model_names: Sequence[str],
    query_names: Sequence[str],
    scales: Sequence[Scale],
    **same: Any,
) -> list[dict[str, Any]]:
    """Return the rows of a tidy table: `answers` by model and query, `scales` by query."""
    rows = []
    for model, row in zip(model_names, answers, strict=True):
        for query, scale, answer in zip(query_names, scales, row, strict=True):
            place = {"model_name": model, "query_name": query, "no_bias_value": scale.no_bias_value}
            low, high = scale.value_range
            rows.append({**answer._asdict(), **place, "scale_min": low, "scale_max": high, **same})
    return rows


def tidy_frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows of :func:`rows_of` as a tidy table."""
    frame = pd.DataFrame(list(rows), columns=COLUMNS)
    for column, separator in (("warnings", " | "), ("lost_words", ", ")):
        frame[column] = [None if each is None else separator.join(each) for each in frame[column]]
    frame = frame.astype({**dict.fromkeys(_NUMBERS, float), **dict.fromkeys(_COUNTS, "Int64")})
    return adjust_p_values(frame)


def adjust_p_values(scores: pd.DataFrame) -> pd.DataFrame:
    """Adjust p-values for the number of tests; all rows of a table are one family.

    Parameters
    ----------
    scores : DataFrame
        What :func:`measure` returns: several such tables together, or some of their rows.

    Returns
    -------
    DataFrame
        A copy with new columns 'p_value_holm' (Holm's method: the chance of one false discovery or
        more, however the tests depend on each other) and 'p_value_bh' (Benjamini and Hochberg's:
        the expected share of false ones among discoveries, where tests do not depend negatively on
        each other).

    Raises
    ------
    TypeError
        If `scores` is no table of :func:`measure`.

    References
    ----------
    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6, 1979. Benjamini and Hochberg, "Controlling the false discovery rate", Journal of
    the Royal Statistical Society B 57, 1995.

    Examples
    --------
    The family is what you ask together. That of one model alone:

    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> how = {"calculate_p_value": True, "p_value_method": "exact"}
    >>> scores = measure("weat", load_weat_queries()[5:8], [load_test_model()], metric_params=how)
    >>> columns = ["p_value", "p_value_holm", "p_value_bh"]
    >>> adjust_p_values(scores)[columns].round(3).values.tolist()
    [[0.019, 0.058, 0.037], [0.025, 0.058, 0.037], [0.16, 0.16, 0.16]]
    """
    check_scores(scores)
    known = scores["p_value"].dropna().sort_values()
    n = len(known)
    ranks = np.arange(1, n + 1)
    bh = np.minimum.accumulate((known.to_numpy() * n / ranks)[::-1])[::-1]
    return scores.assign(
        p_value_holm=holm(scores["p_value"]),
        p_value_bh=pd.Series(np.minimum(bh, 1.0), known.index),
    )


def holm(p_values: pd.Series) -> pd.Series:
    """Adjust the p-values that are known, as one family, by Holm's method."""
    known = p_values.dropna().sort_values()
    adjusted = np.maximum.accumulate(known.to_numpy() * np.arange(len(known), 0, -1))
    return pd.Series(np.minimum(adjusted, 1.0), known.index)


def _log(scores: pd.DataFrame, *, with_lost_words: bool) -> None:
    """Say why scores are NaN and, on request, which words were lost."""
    for row in scores[scores["nan_reason"].notna()].itertuples():
        logger.warning("%s is NaN for %s: %s", row.query_name, row.model_name, row.nan_reason)
    lossy = scores[scores["lost_words"].notna()] if with_lost_words else scores.iloc[:0]
    for row in lossy.drop_duplicates(["query_name", "model_name"]).itertuples():
        words = row.words_lost, row.query_name, row.lost_words
        logger.warning("%s lacks %d words of %r: %s", row.model_name, *words)


def audited(
    answer: Answer,
    metric: BaseMetric,
    query: Query,
    model: WordEmbeddingModel,
    options: Mapping[str, Any],
) -> Answer:
    """Add warnings of what a score does not show; a score that is NaN has its reason instead."""
    from wefe.audit import score_warnings  # quicker to start without it

    found: Sequence[object] = ()
    if not math.isnan(answer.score):
        found = score_warnings(metric, query, model, **options)
    return answer._replace(warnings=[*(answer.warnings or ()), *map(str, found)])


def _fitting(
    metric: BaseMetric, queries: list[Query], model: WordEmbeddingModel, with_subqueries: bool
) -> list[Query]:
    """Return the queries that a metric is asked: as they are, or their subqueries."""
    if not with_subqueries:
        for query in queries:
            metric._check_input(query, model)
        return queries
    fitting = generate_subqueries_from_queries_list(metric, queries)
    if not fitting:
        raise ValueError(
            f"no query has a subquery that fits {metric.metric_short_name}, which needs "
            f"{metric._wanted_shape()}."
        )
    # What cannot be asked keeps its place, as NaN.
    return fitting + [query for query in queries if not metric.subqueries(query)]


def _check_params(metric_params: object) -> dict[str, Any]:
    metric_params = {} if metric_params is None else metric_params
    if not isinstance(metric_params, Mapping):
        raise TypeError(f"metric_params must be a dict of parameters; got {found(metric_params)}.")
    return dict(metric_params)
