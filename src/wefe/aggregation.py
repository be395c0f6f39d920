"""From the scores of many queries to one number per model (WEFE paper, section 3.2)."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
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

_HEADING = re.compile(
    rf"(?P<label>[^:]+): .* (?P<way>{'|'.join([*DESCRIPTIONS.values(), _CUSTOM])})"
    rf"({re.escape(CAUTION)})? score"
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


def heading(label: str, queries_set_name: str, description: str) -> str:
    """Return the heading of an aggregated column, as documented."""
    return f"{label}: {queries_set_name} {description} score"


def aggregate(results: pd.DataFrame, function: Aggregation, scale: Scale) -> pd.DataFrame:
    """Return the table with a column that aggregates the scores of each model.

    Parameters
    ----------
    results : DataFrame of shape (n_models, n_queries)
        Scores, as :func:`wefe.running.run_queries` returns them, with its `attrs`. Queries that
        some model could not answer are left out for all, so that models are compared on the same
        queries; the log names them.
    function : {'sum', 'abs_sum', 'avg', 'abs_avg', 'bias_avg'} or callable
        How the scores of one model become one number: their sum or mean, that of their absolute
        values, or the mean distance from the value that means no bias ('bias_avg', which fits
        every metric). A function takes the table of answered queries and returns one number per
        model, as a Series with its index or an array. Some numbers can rank models against the
        order of the metric. The heading says so if no bias is not 0, as for ECT and MAC; the log
        if scores on both sides of 0 cancel out.
    scale : Scale
        How the scores are to be read: ``metric.scale(None, **metric_params)``.

    Returns
    -------
    DataFrame of shape (n_models, n_queries + 1)
        The table and, last, the aggregated column; NaN if no query was answered by every model.
        `attrs` has, beside those of `results`: 'aggregated' (the name of the column), 'best' (by
        column, what ranks it, now with this one), 'aggregation' (what was done, in words),
        'left_out' (queries that did not count) and 'n_scores' (how many did).

    Raises
    ------
    TypeError
        If a function returns anything but one number per model.

    See Also
    --------
    wefe.running.run_queries : With ``aggregate_results=True`` it calls this function.
    wefe.ranking.create_ranking : Rank models by aggregated columns.

    References
    ----------
    Badilla, Bravo-Marquez and Pérez, "WEFE: The Word Embeddings Fairness Evaluation Framework",
    IJCAI 2020, section 3.2 (aggregation of a query set).

    Examples
    --------
    Three scores, then their mean distance from 0. The same table can be aggregated in several ways
    without being measured again.

    >>> from wefe import load_test_model, run_queries
    >>> from wefe.datasets import load_weat_queries
    >>> from wefe.metrics import WEAT
    >>> params = {"return_effect_size": True}
    >>> queries = load_weat_queries()[5:8]
    >>> table = run_queries(WEAT, queries, [load_test_model()], "Gender", metric_params=params)
    >>> table.iloc[0].round(3).tolist()
    [1.04, 0.997, 0.539]
    >>> aggregated = aggregate(table, "bias_avg", WEAT().scale(None, **params))
    >>> aggregated.attrs["aggregated"]
    'WEAT-ES: Gender average distance from no bias score'
    >>> aggregated.iloc[:, -1].round(3).to_dict()
    {'minilm-words': 0.859}
    """
    answered = results.loc[:, results.notna().all()]
    left_out = [str(name) for name in results.columns if name not in answered.columns]
    if left_out:
        logger.warning(
            "aggregated without queries that not every model could answer: %s", ", ".join(left_out)
        )
    best: Best = scale.no_bias_value
    if callable(function):
        description = _CUSTOM
        if answered.shape[1] > 0:
            column = _check_column(function(answered), answered)
        else:
            column = pd.Series(math.nan, index=answered.index)
        if best != 0:
            logger.warning(
                "a custom aggregation of %s is ranked by its distance from %g, the value for no "
                "bias; if it means something else, rank it through score_column(..., best=...)",
                scale.label,
                best,
            )
    else:
        description = DESCRIPTIONS[function]
        if function != "bias_avg":
            description += _caution(function, scale)
        column, best = _by_name(function, answered, scale)
    name = heading(scale.label, results.attrs["queries_set_name"], description)
    aggregated = results.assign(**{name: column})
    aggregated.attrs = {
        **results.attrs,
        "best": {**results.attrs["best"], name: best},
        "aggregated": name,
        "aggregation": description,
        "left_out": left_out,
        "n_scores": answered.shape[1],
    }
    return aggregated


def metric_of_heading(name: str) -> type[BaseMetric] | None:
    """Return the metric that an aggregated column is of, by its heading."""
    match = _HEADING.fullmatch(name)
    if match is None:
        return None
    label = match["label"].removesuffix("-ES")
    return next((m for m in list_metrics() if m.metric_short_name == label), None)


def best_of_heading(name: str) -> Best | None:
    """Tell by its heading what ranks a column of a table that lost its `attrs` (a file, say).

    Examples
    --------
    >>> best_of_heading("ECT: Gender average score")
    1.0
    >>> best_of_heading("ECT: Gender average distance from no bias score")
    0.0
    >>> best_of_heading("quality") is None
    True
    """
    match = _HEADING.fullmatch(name)
    if match is None:
        return None
    way = match["way"]
    if way == DESCRIPTIONS["bias_avg"]:
        return 0.0
    metric = metric_of_heading(name)
    # A sum of scores that should be 1 is best at their number, which the heading hides.
    if metric is not None and (metric.no_bias_value == 0 or way.startswith("average")):
        return metric.no_bias_value
    return None


def _by_name(function: str, answered: pd.DataFrame, scale: Scale) -> tuple[pd.Series, Best]:
    n_scores = answered.shape[1]
    if n_scores == 0:
        best = 0.0 if function == "bias_avg" else scale.no_bias_value
        return pd.Series(math.nan, index=answered.index), best
    if function == "bias_avg":
        return scale.bias(answered).mean(axis=1), 0.0
    scores = answered.abs() if function.startswith("abs") else answered
    if function.endswith("sum"):
        return scores.sum(axis=1), scale.no_bias_value * n_scores
    return scores.mean(axis=1), scale.no_bias_value


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


def _caution(function: str, scale: Scale) -> str:
    """Return what to add to the heading of an aggregate that may not respect the metric's order.

    Scores that cancel around 0 are logged instead: their heading is documented (WEFE paper, 3.2).
    """
    low, high = scale.value_range
    two_sided = low < scale.no_bias_value < high
    if scale.no_bias_value != 0:
        folds = low < 0 and function.startswith("abs")
        return CAUTION if two_sided or folds else ""
    if two_sided and function in ("sum", "avg"):
        logger.warning(
            "%r can rank models against the order of %s: scores on both sides of 0 cancel; "
            "'bias_avg' cannot",
            function,
            scale.label,
        )
    return ""
