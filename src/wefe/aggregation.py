"""Aggregate the scores of many queries into one number per model (WEFE paper, section 3.2)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._checks import check_choice, found, logger
from wefe.metrics._base import BaseMetric
from wefe.metrics._registry import list_metrics

__all__ = ["aggregate"]

Aggregation: TypeAlias = (
    Literal["sum", "abs_sum", "avg", "abs_avg", "bias_avg"]
    | Callable[[pd.DataFrame], pd.Series | npt.NDArray[Any]]
)

#: Which scores are better: higher, lower, or nearer to a number.
Best: TypeAlias = Literal["higher", "lower"] | float

# Name -> wording in headings.
DESCRIPTIONS: dict[str, str] = {
    "sum": "sum",
    "abs_sum": "sum of abs values",
    "avg": "average",
    "abs_avg": "average of abs values",
    "bias_avg": "average distance from no bias",
}
_CUSTOM = "custom aggregation"
#: Appended to a heading if the aggregate may not respect the metric's order.
CAUTION = " (no bias is not 0: may rank wrongly, use bias_avg)"

_NEEDED = {"query_set", "model_name", "metric", "query_name", "score", "no_bias_value"}
_WAY = f"({'|'.join([*DESCRIPTIONS.values(), _CUSTOM])})({re.escape(CAUTION)})?"
#: The heading of an aggregated column; a number distinguishes repeated headings.
HEADING = re.compile(
    rf"(?P<what>(?P<label>[^:]+): (?P<set>.+)) (?P<way>{_WAY}) score(?P<number>( \(\d+\))?)"
)


def check_aggregation(function: Aggregation) -> None:
    """Check that a function for :func:`aggregate` is callable or known by name."""
    if not callable(function):
        check_choice("the aggregation", function, DESCRIPTIONS)


def heading_of(totals: pd.DataFrame) -> str:
    """Return the heading of the aggregated scores of one metric and query set."""
    first = totals.iloc[0]
    if pd.isna(first["aggregation"]):
        return str(first["metric"])
    return f"{first['metric']}: {first['query_set']} {first['aggregation']} score"


def check_scores(scores: object) -> None:
    """Check that `scores` is a tidy table of scores."""
    if not isinstance(scores, pd.DataFrame) or not set(scores.columns) >= _NEEDED:
        raise TypeError(
            f"scores must be a table of wefe.measure, with the columns {', '.join(sorted(_NEEDED))}"
            f"; got {found(scores)}."
        )


def matrix_of(scores: pd.DataFrame, columns: str = "query_name") -> pd.DataFrame:
    """Return the scores of one metric as a table of models and queries (or query sets)."""
    matrix = scores.pivot(index="model_name", columns=columns, values="score")
    return matrix.reindex(index=scores["model_name"].unique(), columns=scores[columns].unique())


def aggregate(scores: pd.DataFrame, function: Aggregation = "bias_avg") -> pd.DataFrame:
    """Aggregate scores into a number per model, metric and query set (WEFE paper, 3.2).

    Parameters
    ----------
    scores : DataFrame
        A table of :func:`wefe.running.measure`, or some of its rows. A query without a score for
        some model is left out for all models, and logged, so that the comparison stays fair.
    function : {'sum', 'abs_sum', 'avg', 'abs_avg', 'bias_avg'} or callable, default='bias_avg'
        How to combine the scores of a model: the sum or mean of the scores ('sum', 'avg') or of
        their absolute values ('abs_sum', 'abs_avg'), or the mean distance from the no-bias value
        ('bias_avg', suitable for every metric). A function gets the scores (models in rows, queries
        in columns) and returns one number per model, as a Series with the same index or an array.
        Choices other than 'bias_avg' can contradict the order of a metric. The heading warns you if
        the no-bias value is not 0 (ECT, MAC), and the log if positive and negative scores cancel.

    Returns
    -------
    DataFrame
        One row per query set, metric and model. The columns are 'query_set', 'metric',
        'model_name', 'score' (NaN if no query has a score for every model), 'best' (the number
        that means no bias), 'aggregation' (its description), 'n_scores' (number of queries used),
        'left_out' (names of the others) and 'n_queries' (size of the query set, before subqueries).

    Examples
    --------
    >>> from wefe import load_test_model, measure
    >>> from wefe.datasets import load_weat_queries
    >>> scores = measure("weat-es", load_weat_queries()[5:8], [load_test_model()], "Gender")
    >>> aggregate(scores, "bias_avg")[["metric", "query_set", "model_name", "score"]].round(2)
        metric query_set    model_name  score
    0  WEAT-ES    Gender  minilm-words   0.86
    """
    totals, notes = aggregated(scores, function)
    for note in notes:
        logger.warning("%s", note)
    return totals


def aggregated(
    scores: pd.DataFrame, function: Aggregation, without: Collection[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Aggregate like :func:`aggregate`, but return the notes; models in `without` get NaN."""
    check_scores(scores)
    check_aggregation(function)
    parts, notes = [], []
    for (query_set, metric), part in scores.groupby(["query_set", "metric"], sort=False):
        matrix = matrix_of(part)
        answered = matrix.drop(index=list(without), errors="ignore").dropna(axis="columns")
        left_out = [str(name) for name in matrix if name not in answered]
        if left_out:
            notes.append(
                "aggregated without queries that some models could not answer: "
                + ", ".join(left_out)
            )
        no_bias = part.drop_duplicates("query_name").set_index("query_name")["no_bias_value"]
        no_bias = no_bias if answered.empty else no_bias[answered.columns]
        column, best = _total(function, answered, no_bias)
        columns = {
            "query_set": query_set,
            "metric": metric,
            "model_name": matrix.index,
            "score": column.reindex(matrix.index).to_numpy(),
            "best": best,
            "aggregation": _describe(function, part.iloc[0], no_bias.mean(), notes),
            "n_scores": answered.shape[1],
            "left_out": [left_out] * len(matrix),
            "n_queries": part["n_queries"].iloc[0],
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True), notes


def _total(
    function: Aggregation, answered: pd.DataFrame, no_bias: pd.Series
) -> tuple[pd.Series, float]:
    """Return one number per model, and the number that means no bias."""
    if callable(function):
        column = np.full(len(answered), math.nan) if answered.empty else function(answered)
        if isinstance(column, np.ndarray) and column.shape == (len(answered),):
            column = pd.Series(column, answered.index)
        # pandas would align another index and fill in NaN.
        if not isinstance(column, pd.Series) or set(column.index) != set(answered.index):
            raise TypeError(
                "aggregation_function must return one number per model: a Series with the index of "
                "its argument, for example lambda scores: scores.median(axis=1), or an array; it "
                f"returned {found(column)}."
            )
        return column.astype(float), float(no_bias.mean())
    if function == "bias_avg":
        answered, no_bias = answered - no_bias, no_bias * 0
    values = answered if function in ("sum", "avg") else answered.abs()
    if function.endswith("sum"):
        return values.sum(axis=1, min_count=1), float(no_bias.sum())
    return values.mean(axis=1), float(no_bias.mean())


def _describe(function: Aggregation, first: pd.Series, no_bias: float, notes: list[str]) -> str:
    """Return the wording in headings, with a caution if the order of the metric may not hold.

    Scores that cancel around 0 go to `notes` instead, because their heading is documented.
    """
    if callable(function):
        return _CUSTOM
    way, low = DESCRIPTIONS[function], first["scale_min"]
    if low < no_bias < first["scale_max"] or (low < 0 and function.startswith("abs")):
        if no_bias != 0 and function != "bias_avg":
            return way + CAUTION
        if function in ("sum", "avg"):
            notes.append(
                f"{function!r} can rank models in the wrong order for {first['metric']}, because "
                "scores on both sides of 0 cancel. Use 'bias_avg'"
            )
    return way


def metric_of_label(label: str) -> type[BaseMetric] | None:
    """Return the metric of a label such as 'WEAT-ES'; None for a metric of the user."""
    name = label.removesuffix("-ES")
    return next((m for m in list_metrics() if m.metric_short_name == name), None)


def best_of_heading(name: str, n_scores: int = 0) -> Best | None:
    """Return which aggregated scores are best, from a heading; None if unknown.

    A heading does not tell how many scores a sum has: pass `n_scores`, or 0 if unknown.

    >>> best_of_heading("ECT: Gender sum score", n_scores=3)
    3.0
    """
    match = HEADING.fullmatch(name)
    metric = metric_of_label(match["label"]) if match else None
    if match and match["way"] == DESCRIPTIONS["bias_avg"]:
        return 0.0
    if match and metric and match["way"].startswith("sum") and metric.no_bias_value != 0:
        return metric.no_bias_value * n_scores or None
    return metric.no_bias_value if metric else None
