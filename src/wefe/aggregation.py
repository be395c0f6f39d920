"""Aggregate the scores of many queries to one number per model (WEFE paper, section 3.2)."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Collection
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._checks import check_choice, found
from wefe.metrics._base import BaseMetric, Scale
from wefe.metrics._registry import list_metrics

__all__ = ["aggregate"]

logger = logging.getLogger(__name__)

Aggregation: TypeAlias = (
    Literal["sum", "abs_sum", "avg", "abs_avg", "bias_avg"]
    | Callable[[pd.DataFrame], pd.Series | npt.NDArray[Any]]
)

#: What ranks a column: higher or lower is better, or nearer to a number.
Best: TypeAlias = Literal["higher", "lower"] | float

# Name -> what it is called in headings.
DESCRIPTIONS: dict[str, str] = {
    "sum": "sum",
    "abs_sum": "sum of abs values",
    "avg": "average",
    "abs_avg": "average of abs values",
    "bias_avg": "average distance from no bias",
}
_CUSTOM = "custom aggregation"
#: Follows them in headings where an aggregate may not respect the metric's order.
CAUTION = " (no bias is not 0: may rank wrongly, use bias_avg)"

_NEEDED = {"query_set", "model_name", "metric", "query_name", "score", "no_bias_value"}
_WAY = f"({'|'.join([*DESCRIPTIONS.values(), _CUSTOM])})({re.escape(CAUTION)})?"
#: The heading of an aggregated column; a number tells equal ones apart.
HEADING = re.compile(
    rf"(?P<what>(?P<label>[^:]+): (?P<set>.+)) (?P<way>{_WAY}) score(?P<number>( \(\d+\))?)"
)


def check_aggregation(function: object, n_models: int) -> Aggregation:
    """Return the name of an aggregation, or a function that does one.

    A function is tried on a small table, so that one that returns something else is refused before
    the run and not after it.
    """
    if callable(function):
        trial = pd.DataFrame(np.full((n_models, 2), 0.5), columns=["a query", "another"])
        try:
            column = function(trial)
        except Exception:
            return function  # it may want other scores; the run will tell
        _check_column(column, trial)
        return function
    return check_choice("aggregation_function", function, DESCRIPTIONS)  # type: ignore[return-value]


def heading_of(totals: pd.DataFrame) -> str:
    """Return the heading of aggregated scores of one metric and query set, as documented."""
    first = totals.iloc[0]
    if pd.isna(first["aggregation"]):
        return str(first["metric"])
    return f"{first['metric']}: {first['query_set']} {first['aggregation']} score"


def check_scores(scores: object) -> None:
    """Refuse anything that is not a tidy table of scores."""
    if not isinstance(scores, pd.DataFrame) or not set(scores.columns) >= _NEEDED:
        raise TypeError(
            f"scores must be a table of wefe.measure, with the columns {', '.join(sorted(_NEEDED))}"
            f"; got {found(scores)}."
        )


def matrix_of(scores: pd.DataFrame) -> pd.DataFrame:
    """Return scores of one metric and query set by model and query, in the order of the rows."""
    if scores.duplicated(["model_name", "query_name"]).any():
        raise ValueError(
            "scores must have one row per model and query; got two. Use scores.drop_duplicates() "
            "to keep one."
        )
    matrix = scores.pivot(index="model_name", columns="query_name", values="score")
    return matrix.reindex(
        index=scores["model_name"].unique(), columns=scores["query_name"].unique()
    )


def aggregate(scores: pd.DataFrame, function: Aggregation = "bias_avg") -> pd.DataFrame:
    """Return one number per model, metric and query set.

    Parameters
    ----------
    scores : DataFrame
        What :func:`wefe.running.measure` returns, or some of its rows. Queries that some model
        could not answer are left out for all, so that models are compared on the same queries; the
        log names them.
    function : {'sum', 'abs_sum', 'avg', 'abs_avg', 'bias_avg'} or callable, default='bias_avg'
        How the scores of one model become one number: their sum or mean, that of their absolute
        values, or the mean distance from the value that means no bias ('bias_avg', which fits
        every metric). A function takes the table of answered queries (models in rows) and returns
        one number per model, as a Series with its index or an array. Some numbers can rank models
        against the order of the metric. The heading says so if no bias is not 0, as for ECT and
        MAC; the log if scores on both sides of 0 cancel out.

    Returns
    -------
    DataFrame
        One row per query set, metric and model: 'query_set', 'metric', 'model_name', 'score' (NaN
        if no query was answered by every model), 'best' (the number that means no bias),
        'aggregation' (what was done, in words), 'n_scores' (how many scores count), 'left_out' (the
        queries that do not) and 'n_queries' (of the set, before subqueries were generated).

    References
    ----------
    Badilla, Bravo-Marquez and Pérez, "WEFE: The Word Embeddings Fairness Evaluation Framework",
    IJCAI 2020, section 3.2 (aggregation of a query set).

    Examples
    --------
    >>> from wefe import load_test_model, measure
    >>> from wefe.datasets import load_weat_queries
    >>> scores = measure("weat-es", load_weat_queries()[5:8], [load_test_model()], "Gender")
    >>> scores["score"].round(3).tolist()
    [1.04, 0.997, 0.539]
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
    """Return what :func:`aggregate` does, and what it logs; some models may be left out, as NaN."""
    check_scores(scores)
    if not callable(function):
        check_choice("function", function, DESCRIPTIONS)
    parts, notes = [], []
    for (query_set, metric), part in scores.groupby(["query_set", "metric"], sort=False):
        matrix = matrix_of(part)
        compared = matrix.drop(index=list(without), errors="ignore")
        answered = matrix.columns[compared.notna().all()]
        left_out = [name for name in matrix.columns if name not in answered]
        if left_out:
            notes.append(
                "aggregated without queries that some models could not answer: "
                + ", ".join(left_out)
            )
        no_bias = part.drop_duplicates("query_name").set_index("query_name")["no_bias_value"]
        counted = no_bias[answered] if len(answered) else no_bias
        scale = Scale(str(metric), tuple(part[["scale_min", "scale_max"]].iloc[0]), counted.mean())
        column, best, way = _total(function, compared[answered], counted, scale, notes)
        parts.append(
            pd.DataFrame(
                {
                    "query_set": query_set,
                    "metric": metric,
                    "model_name": matrix.index,
                    "score": column.reindex(matrix.index).to_numpy(),
                    "best": best,
                    "aggregation": way,
                    "n_scores": len(answered),
                    "left_out": [left_out] * len(matrix),
                    "n_queries": part["n_queries"].iloc[0],
                }
            )
        )
    return pd.concat(parts, ignore_index=True), notes


def _total(
    function: Aggregation,
    answered: pd.DataFrame,
    no_bias: pd.Series,
    scale: Scale,
    notes: list[str],
) -> tuple[pd.Series, float, str]:
    """Return one number per model, the number that means no bias, and what was done."""
    mean = float(no_bias.mean())
    if callable(function):
        if mean != 0:
            notes.append(
                f"a custom aggregation of {scale.label} is ranked by its distance from {mean:g}, "
                "the value for no bias. If it means something else, rank it with score_column(..., "
                "best=...)"
            )
        if answered.empty:
            return pd.Series(math.nan, index=answered.index), mean, _CUSTOM
        return _check_column(function(answered), answered), mean, _CUSTOM
    way = DESCRIPTIONS[function] + _caution(function, scale, notes)
    if function == "bias_avg":
        return (answered - no_bias[answered.columns]).abs().mean(axis=1), 0.0, way
    values = answered.abs() if function.startswith("abs") else answered
    if function.endswith("avg"):
        return values.mean(axis=1), mean, way
    return values.sum(axis=1, min_count=1), float(no_bias.sum()), way


def metric_of_label(label: str) -> type[BaseMetric] | None:
    """Return the metric of a score's label, such as 'WEAT-ES'; None for one of a user."""
    name = label.removesuffix("-ES")
    return next((m for m in list_metrics() if m.metric_short_name == name), None)


def best_of_heading(name: str, n_scores: int = 0) -> Best | None:
    """Return what ranks an aggregated column, by its heading; None if unknown.

    The heading of a sum hides how many scores were added up: `n_scores`, or 0 if that is not known.

    >>> best_of_heading("ECT: Gender average score")
    1.0
    >>> best_of_heading("ECT: Gender sum score", n_scores=3)
    3.0
    >>> best_of_heading("quality") is None
    True
    """
    match = HEADING.fullmatch(name)
    if match is None:
        return None
    way = match["way"]
    if way == DESCRIPTIONS["bias_avg"]:
        return 0.0
    metric = metric_of_label(match["label"])
    if metric is None:
        return None
    if way.startswith("sum") and metric.no_bias_value != 0:
        return metric.no_bias_value * n_scores or None
    return metric.no_bias_value


def _check_column(column: Any, answered: pd.DataFrame) -> pd.Series:
    if isinstance(column, np.ndarray) and column.shape == (len(answered),):
        column = pd.Series(column, index=answered.index)
    # Another index would be aligned by pandas, into NaN.
    fits = isinstance(column, pd.Series) and set(column.index) == set(answered.index)
    numeric = fits and pd.api.types.is_numeric_dtype(column)
    if not numeric or len(column) != len(answered) or pd.api.types.is_bool_dtype(column):
        raise TypeError(
            "aggregation_function must return one number per model: a Series with the index of "
            "its argument, for example lambda scores: scores.median(axis=1), or an array; it "
            f"returned {found(column)}."
        )
    aligned: pd.Series = column.reindex(answered.index).astype(float)
    return aligned


def _caution(function: str, scale: Scale, notes: list[str]) -> str:
    """Return what to add to the heading of an aggregate that may not respect the metric's order.

    Scores that cancel around 0 are noted instead: their heading is documented (WEFE paper, 3.2).
    """
    low, high = scale.value_range
    two_sided = low < scale.no_bias_value < high
    if function == "bias_avg":
        return ""
    if scale.no_bias_value != 0:
        folds = low < 0 and function.startswith("abs")
        return CAUTION if two_sided or folds else ""
    if two_sided and function in ("sum", "avg"):
        notes.append(
            f"{function!r} can rank models in the wrong order for {scale.label}, because scores on "
            "both sides of 0 cancel. Use 'bias_avg'"
        )
    return ""
