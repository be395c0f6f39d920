"""Rank models, combine scores and correlate rankings (WEFE paper, 3.2 and 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._checks import check_choice, check_number, check_sequence, found, logger
from wefe._visible import numbered
from wefe.aggregation import HEADING, Best, best_of_heading, heading_of, matrix_of, metric_of_label

__all__ = ["calculate_ranking_correlations", "create_ranking", "overall_scores", "score_column"]

TieMethod: TypeAlias = Literal["average", "min", "max", "first", "dense"]
Correlation: TypeAlias = (
    Literal["pearson", "kendall", "spearman"]
    | Callable[[npt.NDArray[Any], npt.NDArray[Any]], float]
)

# Rounding error of means and sums of the same numbers in another order: relative to the largest
# score, or a few units in the last place of the numbers added.
_ROUNDING = 1e-12
_LAST_PLACE = 1e-15
# Two points always lie on a line, so correlations need three models.
_FEWEST_MODELS = 3
_TOTALS = ["query_set", "metric", "model_name", "score", "best", "aggregation", "n_queries"]


def score_column(scores: Mapping[str, float] | pd.Series, name: str, best: Best) -> pd.DataFrame:
    """Prepare an external score, such as a quality benchmark, for ranking with bias scores.

    Parameters
    ----------
    scores : mapping or Series
        Model name -> score.
    name : str
        Heading of the column.
    best : {'higher', 'lower'} or float
        Which scores are better: higher, lower, or closer to a number.

    Returns
    -------
    DataFrame
        One row per model, for :func:`create_ranking`.

    Examples
    --------
    >>> quality = score_column({"w2v": 0.61, "glove": 0.58}, "WEB", best="higher")
    >>> create_ranking([quality])["WEB"].to_dict()
    {'w2v': 1.0, 'glove': 2.0}
    """
    if isinstance(best, str):
        check_choice("best", best, ("higher", "lower"))
    else:
        best = check_number("best", best)
    if not isinstance(scores, Mapping | pd.Series):
        raise TypeError(f"scores must be numbers by model name; got {found(scores)}.")
    column = pd.Series(scores, dtype=np.float64, name="score").rename_axis("model_name")
    table = column.reset_index()
    return table.assign(query_set=None, metric=name, best=best, aggregation=None)


def create_ranking(
    results_dataframes: pd.DataFrame | Sequence[pd.DataFrame],
    method: TieMethod = "first",
    ascending: bool | None = None,
) -> pd.DataFrame:
    """Rank models by aggregated scores; rank 1 shows the least bias.

    Parameters
    ----------
    results_dataframes : DataFrame or sequence of DataFrame
        Tables of :func:`wefe.aggregation.aggregate`, :func:`overall_scores` or
        :func:`score_column`; or tables of :func:`wefe.run_queries`, whose last column must hold the
        aggregated scores.
    method : {'first', 'average', 'min', 'max', 'dense'}, default='first'
        How to rank ties, as in :meth:`pandas.Series.rank`. Use 'average' for correlations.
    ascending : bool or None, default=None
        None ranks by the order of each metric: higher ECT is better, MAC closer to 1, WEAT closer
        to 0. An unknown column is ranked from low to high, with a warning. True or False ranks the
        plain scores in that direction.

    Returns
    -------
    DataFrame of shape (n_models, n_rankings)
        Ranks, one column per metric and query set; NaN for a model without a score. Scores that
        differ only by rounding (1e-12 of the largest, or 1e-15) are ties.

    Examples
    --------
    >>> table = score_column({"a": 0.3, "b": -0.1, "c": 0.9}, "WEAT: Gender", best=0)
    >>> create_ranking(table)["WEAT: Gender"].to_dict()
    {'a': 2.0, 'b': 1.0, 'c': 3.0}
    """
    check_choice("method", method, get_args(TieMethod))
    ranking = ranked(results_dataframes, method, ascending)
    missing = ranking.columns[ranking.isna().any()]
    if len(missing):
        logger.warning("some models have no score and therefore no rank in: %s", ", ".join(missing))
    return ranking


def ranked(
    tables: pd.DataFrame | Sequence[pd.DataFrame], method: TieMethod, ascending: bool | None = None
) -> pd.DataFrame:
    """Rank like :func:`create_ranking`, without a warning about models without a score."""
    columns = list(_columns(tables, order_needed=ascending is None))
    models = dict.fromkeys(name for column in columns for name in column.index)
    labels = numbered([str(column.name) for column in columns])
    order = pd.DataFrame(dict(zip(labels, columns, strict=True)))
    table = order.reindex(list(models)).rename_axis("model_name")
    return table.rank(method=method, ascending=ascending in (None, True))


def overall_scores(
    totals: pd.DataFrame | Sequence[pd.DataFrame], weights: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """Average the aggregated scores of each metric over query sets (WEFE paper, 4.2).

    Parameters
    ----------
    totals : DataFrame or sequence of DataFrame
        Tables of :func:`wefe.aggregation.aggregate`.
    weights : mapping of str to float, optional
        Weight of each query set; by default its number of queries before subqueries are generated,
        so that the weights are the same for all metrics.

    Returns
    -------
    DataFrame
        One row per metric and model, as in :func:`wefe.aggregation.aggregate`, for the query set
        'Overall'. The score is the weighted mean, NaN if one of the scores is.

    Examples
    --------
    >>> from wefe import aggregate, load_test_model, measure
    >>> from wefe.datasets import load_weat_queries
    >>> sets = {"nature": load_weat_queries()[:2], "gender": load_weat_queries()[5:6]}
    >>> totals = aggregate(measure("weat-es", sets, [load_test_model()]))
    >>> totals["score"].tolist(), overall_scores(totals)["score"].tolist()
    ([1.370, 1.040], [1.260])
    """
    every = totals if isinstance(totals, pd.DataFrame) else pd.concat(totals)
    if not set(_TOTALS) <= set(every.columns):
        raise TypeError(f"totals must be tables of wefe.aggregate; got {found(every)}.")
    parts = []
    for metric, part in every.groupby("metric", sort=False):
        ways = part["aggregation"].unique()
        if len(ways) > 1:
            raise ValueError(
                f"{metric} was aggregated in several ways: {', '.join(ways)}. Use one way for all "
                "query sets."
            )
        sets = part.drop_duplicates("query_set").set_index("query_set")
        share = sets["n_queries"] if weights is None else pd.Series(dict(weights))
        share = share.reindex(sets.index).astype(float)
        if not (share >= 0).all() or share.sum() == 0:
            raise ValueError(
                f"weights must have a number of at least 0 for each of {list(sets.index)}, not all "
                f"0; got {weights}."
            )
        scores = matrix_of(part, "query_set")
        row = {
            "query_set": "Overall",
            "metric": metric,
            "model_name": scores.index,
            "score": np.average(scores, axis=1, weights=share),
            "best": np.average(sets["best"].astype(float), weights=share),
            "aggregation": f"weighted {ways[0]}",
            "n_queries": sets["n_queries"].sum(),
        }
        parts.append(pd.DataFrame(row))
    return pd.concat(parts, ignore_index=True)


def calculate_ranking_correlations(
    rankings: pd.DataFrame, method: Correlation = "spearman"
) -> pd.DataFrame:
    """Correlate the columns of a ranking.

    Parameters
    ----------
    rankings : DataFrame of shape (n_models, n_rankings)
        A result of :func:`create_ranking`.
    method : {'spearman', 'kendall', 'pearson'} or callable, default='spearman'
        As in :meth:`pandas.DataFrame.corr`; 'kendall' is tau-b.

    Returns
    -------
    DataFrame of shape (n_rankings, n_rankings)
        Correlations from -1 to 1; NaN if two rankings share fewer than 3 models. With few models, a
        high correlation may be chance: for 7 models, a Spearman correlation of 0.75 has a two-sided
        p-value of 0.052 (t-test) or 0.066 (all orders).

    Examples
    --------
    >>> ranks = pd.DataFrame({"WEAT": [2, 3, 4, 1], "RND": [3, 1, 4, 2]})
    >>> float(calculate_ranking_correlations(ranks).loc["WEAT", "RND"])
    0.4
    """
    return rankings.corr(method=method, min_periods=_FEWEST_MODELS)  # type: ignore[arg-type]


def _columns(
    tables: pd.DataFrame | Sequence[pd.DataFrame], order_needed: bool
) -> Iterator[pd.Series]:
    """Yield how bad each model is, under the heading of its scores."""
    given = [tables] if isinstance(tables, pd.DataFrame) else check_sequence("tables", tables)
    if len(given) == 0:
        raise ValueError("results_dataframes is empty; there is nothing to rank.")
    for position, table in enumerate(given):
        of = f"results_dataframes: element {position}"
        if not isinstance(table, pd.DataFrame):
            raise TypeError(
                f"{of} must be a DataFrame, of aggregate or run_queries; got {found(table)}. "
                "(score_column makes one of external scores.)"
            )
        names = set(table.columns)
        if {"metric", "model_name", "score", "best"} <= names:
            for _, part in table.groupby(["query_set", "metric"], sort=False, dropna=False):
                column = part.set_index("model_name")["score"].rename(heading_of(part))
                yield without_noise(column, part["best"].iloc[0] if order_needed else "lower")
            continue
        column = table.iloc[:, -1]
        name, is_matrix = str(column.name), table.columns.name is not None
        if {"query_name", "score"} <= names or (is_matrix and not name.endswith(" score")):
            raise ValueError(
                f"{of} must have aggregated scores: rank a table of wefe.aggregate, or of "
                "run_queries with aggregate_results=True."
            )
        n_answered = int(table.iloc[:, :-1].notna().all().sum())
        best = best_of_heading(name, n_answered) if order_needed else "lower"
        match = HEADING.fullmatch(name)
        if best is None and match and metric_of_label(match["label"]):
            raise ValueError(
                f"results_dataframes: {name!r} is a sum over an unknown number of scores. Rank the "
                "tables that wefe.aggregate returns, or pass ascending."
            )
        if best is None:
            logger.warning(
                "it is unknown what is better in %r, so lower scores are ranked first. Use "
                "score_column or ascending= to change this",
                name,
            )
        yield without_noise(column, "lower" if best is None else best)


def without_noise(scores: pd.Series, best: Best = "lower") -> pd.Series:
    """Return how bad scores are, in units of what rounding can change; NaN for NaN.

    >>> without_noise(pd.Series([0.1 + 0.2 - 0.3, 0.0, 0.5]), best=0.0).rank().tolist()
    [1.5, 1.5, 3.0]
    """
    value = 0.0 if isinstance(best, str) else float(best)
    badness: pd.Series = {"higher": -scores, "lower": scores}.get(str(best), (scores - value).abs())
    largest = max(abs(value), scores[np.isfinite(scores)].abs().max())
    rounded: pd.Series = badness.div(max(_LAST_PLACE, _ROUNDING * largest)).round()
    return rounded
