"""Many queries on many models: one metric, one table (WEFE paper, section 3.2)."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from wefe._answers import Answer, no_subquery, run_all
from wefe._bootstrap import Resampling
from wefe._checks import check_bool, check_sequence, found
from wefe.aggregation import Aggregation, aggregate, check_aggregation
from wefe.metrics._base import BaseMetric, Scale
from wefe.metrics._registry import as_metric
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query, check_query, unique_queries

__all__ = ["generate_subqueries_from_queries_list", "run_queries", "tidy_results"]

logger = logging.getLogger(__name__)

_TIDY_COLUMNS = [
    "model_name",
    "query_name",
    "metric",
    "score",
    "score_lower",
    "score_upper",
    "score_se",
    "no_bias_value",
    "p_value",
    "p_value_lower",
    "p_value_upper",
    "p_value_test",
    "p_value_method",
    "words_used",
    "words_lost",
    "nan_reason",
    "interval_nan_reason",
    "warnings",
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
    *,
    n_bootstrap: int = 0,
    confidence: float = 0.95,
    bootstrap_random_state: int | np.random.Generator | None = 0,
    audit: bool = False,
) -> pd.DataFrame:
    """Run one metric for every query on every model.

    Parameters
    ----------
    metric : metric class, instance or name
        For example ``WEAT`` or ``"weat"``.
    queries : sequence of Query
        A query that occurs twice is run once.
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
        not always comparable with each other; those with the same words occur once. A query that
        is too small keeps its column, as NaN. False refuses queries that do not fit.
    aggregate_results : bool, default=False
        Add a column that aggregates the scores of each model.
    aggregation_function : str or callable, default='abs_avg'
        'sum', 'abs_sum', 'avg', 'abs_avg' (of absolute values), 'bias_avg' (mean distance from the
        value that means no bias: the safe choice for every metric), or a function from the table
        of scores to a Series with one number per model. Only queries that every model could answer
        are aggregated, so that models are compared on the same queries; the log names the others.
    return_only_aggregation : bool, default=False
        Return the aggregated column alone.
    warn_not_found_words : bool, default=False
        Log the words that were not found.
    n_jobs : int or None, default=None
        Number of joblib workers; None is 1 unless a ``joblib.parallel_config`` says otherwise. The
        result is the same for every number. SEAT and CEAT stay in this process, with the encoder.
    progress : bool, default=True
        Show a progress bar on a terminal when the run takes more than two seconds.
    n_bootstrap : int, default=0
        With 40 or more, estimate for each score how far it would move with other words of the same
        kind: the words of each set are drawn anew this many times, with replacement, and scored
        with the same parameters. 1000 is a good number. :func:`tidy_results` shows the intervals.
    confidence : float, default=0.95
        Confidence of these intervals, between 0 and 1.
    bootstrap_random_state : int, Generator or None, default=0
        Draws the words: the same ones for every metric and model that has the same words of a
        query, whatever seed the metric has in `metric_params`.
    audit : bool, default=False
        Say beside each score what it does not show: see :func:`wefe.audit.score_warnings`.
        :func:`tidy_results` has these warnings.

    Returns
    -------
    DataFrame of shape (n_models, n_queries)
        Scores; rows are models ('model_name'), columns queries. Names that occur twice are
        numbered, 'name (2)', so that nothing is mixed up. `attrs` holds what later steps need:
        'metric', 'queries_set_name', 'no_bias_value' (None if that depends on the query),
        'value_range', 'n_queries' (as given, before subqueries), 'best' (column -> what ranks it),
        'aggregated' (that column, or None), 'nan_reasons' (model -> query -> why it is NaN) and
        'records', which :func:`tidy_results` turns into a table with intervals, p-values and words
        used and lost.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or a query does not fit the metric.

    See Also
    --------
    tidy_results : One row per model and query, with all that is known about each score.
    wefe.ranking.create_ranking : Rank the models.
    wefe.plotting.plot_queries_results : Draw the table.
    wefe.study.Study : Many metrics, with a record of everything.

    References
    ----------
    Badilla, Bravo-Marquez and Pérez, "WEFE: The Word Embeddings Fairness Evaluation Framework",
    IJCAI 2020, section 3.2.

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
    instance = as_metric(metric)
    checked_queries, checked_models = _check_runs(queries, models)
    params = _check_params(metric_params)
    with_aggregation = check_bool("aggregate_results", aggregate_results)
    only_aggregation = check_bool("return_only_aggregation", return_only_aggregation)
    function = check_aggregation(aggregation_function, len(checked_models))
    wanted = None
    if isinstance(n_bootstrap, bool) or n_bootstrap != 0:
        wanted = Resampling.make(n_bootstrap, confidence, bootstrap_random_state)
    n_queries = len(checked_queries)
    if check_bool("generate_subqueries", generate_subqueries):
        fitting = generate_subqueries_from_queries_list(instance, checked_queries)
        if not fitting:
            raise ValueError(
                f"no query has a subquery that {instance.metric_short_name} takes: it needs "
                f"{instance._wanted_shape()}."
            )
        # What cannot be asked keeps its column, as NaN.
        checked_queries = fitting + [q for q in checked_queries if not instance.subqueries(q)]
    else:
        for query in checked_queries:
            instance._check_input(query, checked_models[0])
    options = {
        "lost_vocabulary_threshold": lost_vocabulary_threshold,
        "warn_not_found_words": warn_not_found_words,
        **params,
    }
    answers = run_all(instance, checked_queries, checked_models, options, n_jobs, progress, wanted)
    scale = instance.scale(None, **params)
    no_bias_values = [instance.scale(query, **params).no_bias_value for query in checked_queries]
    if check_bool("audit", audit):
        answers = _audited(answers, instance, checked_queries, checked_models, options)
    results = results_table(
        answers,
        [model.name for model in checked_models],
        [query.query_name for query in checked_queries],
        scale,
        queries_set_name,
        n_queries,
        no_bias_values,
    )
    if not (with_aggregation or only_aggregation):
        return results
    aggregated = aggregate(results, function, scale_of_answered(results, scale))
    return aggregated.iloc[:, -1:] if only_aggregation else aggregated


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

    See Also
    --------
    wefe.query.Query.get_subqueries : Those of one query, for any template.

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
        What `run_queries` returned, or a part of it: models and queries that are no longer in the
        table are left out.

    Returns
    -------
    DataFrame
        Its columns are

        - 'model_name', 'query_name', 'metric', 'score';
        - 'score_lower', 'score_upper' and 'score_se': bounds of the bootstrap interval over words,
          and the standard error; NaN unless `n_bootstrap` was given;
        - 'no_bias_value': the score that means that no bias was measured;
        - 'p_value': NaN unless the metric was asked for one; 'p_value_lower' and 'p_value_upper':
          what encloses it; 'p_value_test': its side; 'p_value_method': 'exact'; 'bounds',
          guaranteed; or 'approximate', then the two are a 99 % confidence interval;
        - 'words_used' and 'words_lost': numbers over all sets of the query; NA for a metric that
          does not tell;
        - 'nan_reason': why the score is NaN, and 'interval_nan_reason': why it has no interval,
          though one was asked for; None otherwise;
        - 'warnings': those of the result and, with ``audit=True``, of an audit, between bars; None
          if there are none, '' after an audit.

        Rows and columns of `results` that were renamed have no record; the log names them.

    Raises
    ------
    TypeError
        If `results` is no DataFrame of :func:`run_queries`, or lost its `attrs`, as a file does
        not keep them.

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
            "results must be a DataFrame of run_queries, with its attrs (most files do not keep "
            f"them); got {found(results) if not isinstance(results, pd.DataFrame) else 'none'}."
        )
    records, models, queries = results.attrs["records"], set(results.index), set(results.columns)
    # A table of the aggregated column alone stands for all queries.
    whole = queries == {results.attrs["aggregated"]}
    unknown = models - {record["model_name"] for record in records}
    unknown |= queries - {record["query_name"] for record in records}
    unknown.discard(results.attrs["aggregated"])
    if unknown:
        logger.warning("nothing is recorded of %s; rename after tidy_results", sorted(unknown))
    tidy = pd.DataFrame(
        [
            {**record, "warnings": _joined(record["warnings"])}
            for record in records
            if record["model_name"] in models and (whole or record["query_name"] in queries)
        ],
        columns=_TIDY_COLUMNS,
    )
    numbers = ["score", "score_lower", "score_upper", "score_se", "no_bias_value"]
    numbers += ["p_value", "p_value_lower", "p_value_upper"]
    counts = ["words_used", "words_lost"]
    return tidy.astype({**dict.fromkeys(numbers, float), **dict.fromkeys(counts, "Int64")})


def results_table(
    answers: Sequence[Sequence[Answer]],
    model_names: Sequence[str],
    query_names: Sequence[str],
    scale: Scale,
    queries_set_name: str,
    n_queries: int,
    no_bias_values: Sequence[float] | None = None,
) -> pd.DataFrame:
    """Return answers as the table that `run_queries` describes, before aggregation.

    Parameters
    ----------
    answers : sequence of sequences of Answer
        Model by model, and query by query.
    model_names, query_names : sequence of str
        Those that occur twice are numbered.
    scale : Scale
        How the scores are to be read.
    queries_set_name : str
        What the queries test together.
    n_queries : int
        Number of queries before subqueries were generated.
    no_bias_values : sequence of float, optional
        The score of each query that means no bias, where that is not the same for all.
    """
    results = pd.DataFrame(
        [[answer.score for answer in row] for row in answers],
        index=pd.Index(unique_labels(model_names, "models"), name="model_name"),
        columns=unique_labels(query_names, "queries"),
        dtype=np.float64,
    )
    if no_bias_values is None:
        no_bias_values = [scale.no_bias_value] * results.shape[1]
    best = dict(zip(results.columns, no_bias_values, strict=True))
    records = _records(answers, results, scale.label, best)
    results.attrs = {
        "metric": scale.label,
        "queries_set_name": queries_set_name,
        "no_bias_value": common_value(no_bias_values),
        "value_range": list(scale.value_range),
        "n_queries": n_queries,
        "best": best,
        "aggregated": None,
        "nan_reasons": _nan_reasons(records),
        "records": records,
    }
    return results


def common_value(values: Sequence[float]) -> float | None:
    """Return the number that all are; None if they differ."""
    return values[0] if len(set(values)) == 1 else None


def scale_of_answered(results: pd.DataFrame, scale: Scale) -> Scale:
    """Return the scale by which a table of scores is aggregated.

    What means no bias may differ between queries. Its mean then stands for the mean of scores; a
    distance is taken from the value of its own query.

    Parameters
    ----------
    results : DataFrame
        A table of `results_table`.
    scale : Scale
        That of the metric, whatever the query.
    """
    best: dict[str, float] = results.attrs["best"]
    values = [best[name] for name in results.columns[results.notna().all()]]
    if all(value == scale.no_bias_value for value in values):
        return scale
    mean = values[0] if len(set(values)) == 1 else float(np.mean(values))
    return _ScaleOfQueries(scale.label, scale.value_range, mean, best)


@dataclass(frozen=True)
class _ScaleOfQueries(Scale):
    """The scale of queries of which each has its own value for no bias."""

    no_bias_values: Mapping[str, float]

    def bias(self, scores: pd.DataFrame) -> pd.DataFrame:
        """Distance of each score from the value of its query."""
        return abs(scores - [self.no_bias_values[name] for name in scores.columns])


class _SharedTuple(tuple[dict[str, Any], ...]):
    """Records in `attrs`: pandas copies those deeply at every operation; these are shared."""

    __slots__ = ()

    def __deepcopy__(self, memo: object) -> _SharedTuple:
        return self


class _SharedDict(dict[str, Any]):
    """A dictionary in `attrs` that is shared, too."""

    def __deepcopy__(self, memo: object) -> _SharedDict:
        return self


def _records(
    answers: Sequence[Sequence[Answer]],
    results: pd.DataFrame,
    label: str,
    no_bias_values: Mapping[str, float],
) -> _SharedTuple:
    # None for NaN: attrs are compared and written as JSON, where NaN is neither equal nor valid.
    return _SharedTuple(
        {
            "model_name": model,
            "query_name": query,
            "metric": label,
            "no_bias_value": no_bias_values[query],
            **{key: None if value != value else value for key, value in answer._asdict().items()},
        }
        for model, row in zip(results.index, answers, strict=True)
        for query, answer in zip(results.columns, row, strict=True)
    )


def _audited(
    answers: Sequence[Sequence[Answer]],
    metric: BaseMetric,
    queries: Sequence[Query],
    models: Sequence[WordEmbeddingModel],
    options: Mapping[str, Any],
) -> list[list[Answer]]:
    """Return the answers with the warnings of an audit."""
    return [
        [
            audited(answer, metric, query, model, options)
            for query, answer in zip(queries, row, strict=True)
        ]
        for model, row in zip(models, answers, strict=True)
    ]


def audited(
    answer: Answer,
    metric: BaseMetric,
    query: Query,
    model: WordEmbeddingModel,
    options: Mapping[str, Any],
) -> Answer:
    """Add warnings of what a score does not show; a score that is NaN has its reason instead."""
    # It stands on what this module offers, so it is not imported by it.
    from wefe.audit import score_warnings

    found: Sequence[object] = ()
    if not math.isnan(answer.score):
        found = score_warnings(metric, query, model, **options)
    return answer._replace(warnings=[*(answer.warnings or ()), *map(str, found)])


def _joined(texts: Sequence[str] | None) -> str | None:
    return None if texts is None else " | ".join(texts)


def _nan_reasons(records: Iterable[dict[str, Any]]) -> _SharedDict:
    reasons = _SharedDict()
    for record in records:
        if record["nan_reason"] is not None:
            of_model = reasons.setdefault(record["model_name"], {})
            of_model[record["query_name"]] = record["nan_reason"]
    return reasons


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
    return list(dict.fromkeys(checked_queries)), checked_models


def _check_params(metric_params: object) -> dict[str, Any]:
    if metric_params is None:
        return {}
    if not isinstance(metric_params, Mapping):
        raise TypeError(
            "metric_params must be a dict of parameters of the metric's run_query; "
            f"got {found(metric_params)}."
        )
    return dict(metric_params)
