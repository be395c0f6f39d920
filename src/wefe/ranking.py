"""From tables of scores to ranks, an overall table and correlations (WEFE paper, 3.2 and 4.2)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._checks import check_bool, check_choice, check_sequence, found
from wefe.aggregation import Best, best_of_heading, heading, metric_of_heading

__all__ = ["calculate_ranking_correlations", "create_ranking", "overall_scores", "score_column"]

logger = logging.getLogger(__name__)

TieMethod: TypeAlias = Literal["average", "min", "max", "first", "dense"]
Correlation: TypeAlias = (
    Literal["pearson", "kendall", "spearman"]
    | Callable[[npt.NDArray[Any], npt.NDArray[Any]], float]
)

_TIE_METHODS = ("average", "min", "max", "first", "dense")
# What means and sums of the same numbers, in another order, may differ by: a share of the scores,
# or a few units in the last place of what they were made from.
_ROUNDING = 1e-12
_LAST_PLACE = 1e-15
# Two points always lie on a line.
_FEWEST_MODELS = 3
_CORRELATIONS = ("pearson", "kendall", "spearman")


def score_column(
    scores: Mapping[str, float] | pd.Series,
    name: str,
    best: Best,
) -> pd.DataFrame:
    """Make an external score (a quality benchmark, say) fit to be ranked beside bias scores.

    Parameters
    ----------
    scores : mapping or Series
        Model name -> score.
    name : str
        What heads the column.
    best : {'higher', 'lower'} or float
        Which scores are better: higher, lower, or nearer to a value.

    Returns
    -------
    DataFrame of shape (n_models, 1)
        What :func:`create_ranking` takes beside the tables of :func:`wefe.running.run_queries`.

    Raises
    ------
    TypeError
        If `scores` are no numbers, or `best` is neither a string nor a number.
    ValueError
        If `best` is another string, or not finite.

    See Also
    --------
    wefe.quality.quality_ranking : Such a column from benchmarks of quality.

    Examples
    --------
    >>> quality = score_column({"w2v": 0.61, "glove": 0.58}, "WEB", best="higher")
    >>> create_ranking([quality])["WEB"].to_dict()
    {'w2v': 1.0, 'glove': 2.0}
    """
    if isinstance(best, str):
        check_choice("best", best, ("higher", "lower"))
    elif not isinstance(best, int | float | np.number) or isinstance(best, bool):
        raise TypeError(f"best must be 'higher', 'lower' or a number; got {found(best)}.")
    elif not math.isfinite(best):
        raise ValueError(f"best must be 'higher', 'lower' or a finite number; got {best!r}.")
    else:
        best = float(best)
    try:
        column = pd.Series(scores, dtype=np.float64).to_frame(name)
    except (TypeError, ValueError) as error:
        raise TypeError(f"scores must be numbers by model name; {error}.") from error
    column.index.name = "model_name"
    column.attrs = {"metric": name, "best": {name: best}, "aggregated": name}
    return column


def create_ranking(
    results_dataframes: Sequence[pd.DataFrame],
    method: TieMethod = "first",
    ascending: bool | None = None,
) -> pd.DataFrame:
    """Rank models by the last column of each table: 1 is the least biased.

    Parameters
    ----------
    results_dataframes : sequence of DataFrame
        Tables of `run_queries` with an aggregated (last) column, or of :func:`score_column`. A
        table that was read from a file, or put together, is understood by its last heading.
    method : {'first', 'average', 'min', 'max', 'dense'}, default='first'
        What ties get: ranks in order of the models, or the average, lowest, highest or dense rank.
        Prefer 'average' for a ranking that is to be correlated.
    ascending : bool or None, default=None
        None ranks by the order of each metric: by the distance from its value for no bias (so ECT
        is better when higher, MAC when nearer to 1, WEAT when nearer to 0). True or False ranks
        all plain scores in that direction.

    Returns
    -------
    DataFrame of shape (n_models, n_tables)
        Ranks. A model that has no score in a table has no rank (NaN) there. Scores that differ by
        rounding only tie: by 1e-12 of the scores (or of the value for no bias), or by 1e-15.

    Raises
    ------
    TypeError
        If an element is no DataFrame.
    ValueError
        If there is no table, a table has no aggregated column or names a model twice, or it comes
        from a file and its heading does not tell what ranks it.

    See Also
    --------
    score_column : External scores, as a table to be ranked.
    calculate_ranking_correlations : How far rankings agree.
    wefe.plotting.plot_ranking : Draw a ranking.

    References
    ----------
    Badilla, Bravo-Marquez and Pérez, "WEFE: The Word Embeddings Fairness Evaluation Framework",
    IJCAI 2020, sections 3.2 and 4.2.

    Examples
    --------
    >>> table = score_column({"a": 0.3, "b": -0.1, "c": 0.9}, "WEAT: Gender", best=0)
    >>> create_ranking([table])["WEAT: Gender"].to_dict()
    {'a': 2.0, 'b': 1.0, 'c': 3.0}
    """
    check_choice("method", method, _TIE_METHODS)
    if ascending is not None:
        check_bool("ascending", ascending)
    tables = check_sequence("results_dataframes", results_dataframes)
    if len(tables) == 0:
        raise ValueError("results_dataframes is empty; there is nothing to rank.")
    columns = [
        _last_column(table, position, order_needed=ascending is None)
        for position, table in enumerate(tables)
    ]
    models = list(dict.fromkeys(name for column, _ in columns for name in column.index))
    ranks: dict[str, pd.Series] = {}
    for column, best in columns:
        aligned = column.reindex(models)
        if ascending is None:
            ranked = without_noise(aligned, best).rank(method=method)
        else:
            ranked = without_noise(aligned).rank(method=method, ascending=ascending)
        ranks[_new_name(str(column.name), ranks)] = ranked
    ranking = pd.DataFrame(ranks, index=pd.Index(models, name="model_name"))
    missing = ranking.columns[ranking.isna().any()]
    if len(missing):
        logger.warning("some models have no score, so no rank, in: %s", ", ".join(missing))
    return ranking


def overall_scores(
    results_dataframes: Sequence[pd.DataFrame],
    name: str = "Overall",
    weights: Sequence[float] | None = None,
) -> pd.DataFrame:
    """Combine the aggregated scores of one metric over several query sets.

    Parameters
    ----------
    results_dataframes : sequence of DataFrame
        Tables of `run_queries` with an aggregated column: the same metric and aggregation, one
        table per query set.
    name : str, default='Overall'
        What the combination is called.
    weights : sequence of float, optional
        Weight of each table; by default its number of queries (before subqueries), as in section
        4.2 of the WEFE paper, so that all metrics weigh the query sets alike.

    Returns
    -------
    DataFrame of shape (n_models, 1)
        Weighted mean per model; NaN for a model that lacks one of the scores.

    Raises
    ------
    TypeError
        If an element is no DataFrame.
    ValueError
        If there is no table, one has no aggregated column, they are of several metrics or
        aggregations, or differ in what is better; or if weights are wanted and not given, of the
        wrong number, negative, or all 0.

    References
    ----------
    Badilla, Bravo-Marquez and Pérez, "WEFE: The Word Embeddings Fairness Evaluation Framework",
    IJCAI 2020, section 4.2.

    Examples
    --------
    >>> gender = score_column({"w2v": 0.2}, "WEAT", best=0)
    >>> religion = score_column({"w2v": 0.4}, "WEAT", best=0)
    >>> overall_scores([gender, religion], weights=[7, 9]).loc["w2v"].round(4).tolist()
    [0.3125]
    """
    tables = check_sequence("results_dataframes", results_dataframes)
    if len(tables) == 0:
        raise ValueError("results_dataframes is empty; there is nothing to combine.")
    columns = [_last_column(table, position) for position, table in enumerate(tables)]
    labels = {str(table.attrs.get("metric", "")) for table in tables}
    ways = {str(table.attrs.get("aggregation", "")) for table in tables}
    if len(labels) > 1 or len(ways) > 1:
        raise ValueError(
            "overall_scores combines query sets of one metric and aggregation; got metrics "
            f"{sorted(labels)} and aggregations {sorted(ways)}."
        )
    if weights is None:
        counts = [table.attrs.get("n_queries") for table in tables]
        if None in counts:
            raise ValueError(
                "a table does not know its number of queries (only those of run_queries do); "
                "pass weights."
            )
        weights = [float(count) for count in counts if count is not None]
    if len(weights) != len(tables) or not sum(weights) > 0 or min(weights) < 0:
        raise ValueError(
            f"weights must be {len(tables)} non-negative numbers, not all 0; got {list(weights)}."
        )
    scores = pd.concat([column for column, _ in columns], axis=1)
    combined = scores.mul(list(weights), axis=1).sum(axis=1, skipna=False) / sum(weights)
    combined.index.name = "model_name"
    label, way = labels.pop(), ways.pop()
    column = heading(label, f"{name} weighted", way) if label and way else name
    table = combined.to_frame(column)
    table.attrs = {
        "metric": label,
        "queries_set_name": name,
        "best": {column: _combined_best([best for _, best in columns], weights)},
        "aggregated": column,
        "aggregation": way,
        "weights": list(weights),
    }
    return table


def calculate_ranking_correlations(
    rankings: pd.DataFrame, method: Correlation = "spearman"
) -> pd.DataFrame:
    """Correlate the columns of a ranking.

    Parameters
    ----------
    rankings : DataFrame of shape (n_models, n_rankings)
        What :func:`create_ranking` returns.
    method : {'spearman', 'kendall', 'pearson'} or callable, default='spearman'
        As in `pandas.DataFrame.corr`; 'kendall' is tau-b.

    Returns
    -------
    DataFrame of shape (n_rankings, n_rankings)
        In [-1, 1]; NaN for a pair of rankings that have fewer than 3 models in common. With few
        models even a high correlation may be chance: for 7 models a Spearman correlation of 0.75
        has p = 0.052 by the t-test (two-sided), and 0.066 if all orders are counted.
        `attrs['n_models']` says how many there are, in the pair with the fewest, and
        `attrs['n_models_of_pairs']` (ranking -> ranking -> number) how many in each.

    Raises
    ------
    TypeError
        If `rankings` is no DataFrame.
    ValueError
        If `method` is unknown.

    See Also
    --------
    wefe.plotting.plot_ranking_correlations : Draw them.

    Examples
    --------
    >>> ranks = pd.DataFrame({"WEAT": [2, 3, 4, 1], "RND": [3, 1, 4, 2]})
    >>> float(calculate_ranking_correlations(ranks).loc["WEAT", "RND"])
    0.4
    """
    if not isinstance(rankings, pd.DataFrame):
        raise TypeError(f"rankings must be a DataFrame of create_ranking; got {found(rankings)}.")
    if not callable(method):
        check_choice("method", method, _CORRELATIONS)
    correlations = rankings.corr(
        method=method,  # type: ignore[arg-type]
        min_periods=_FEWEST_MODELS,
    )
    is_ranked = rankings.notna().to_numpy(dtype=np.int64)
    in_common = is_ranked.T @ is_ranked
    names = [str(name) for name in rankings.columns]
    correlations.attrs = {
        # The diagonal is not smaller than the rest of its row.
        "n_models": int(in_common.min(initial=len(rankings))),
        "n_models_of_pairs": {
            name: dict(zip(names, row, strict=True))
            for name, row in zip(names, in_common.tolist(), strict=True)
        },
        "method": str(method),
    }
    return correlations


def _last_column(
    table: object, position: int, order_needed: bool = False
) -> tuple[pd.Series, Best]:
    """Return the scores to be ranked, and what is better among them."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(
            "results_dataframes must hold DataFrames, as run_queries returns them; element "
            f"{position} is {found(table)}. (score_column makes one of external scores.)"
        )
    if table.shape[1] == 0:
        raise ValueError(f"results_dataframes: element {position} has no column.")
    column = table.iloc[:, -1]
    name = str(column.name)
    if table.shape[1] > 1 and table.attrs.get("aggregated", name) != name:
        raise ValueError(
            f"results_dataframes: element {position} does not end with an aggregated column; call "
            "run_queries with aggregate_results=True."
        )
    if not column.index.is_unique:
        repeated = sorted(set(column.index[column.index.duplicated()].astype(str)))
        raise ValueError(f"results_dataframes: element {position} repeats models {repeated}.")
    best: Best | None = table.attrs.get("best", {}).get(name)
    if best is None:
        best = best_of_heading(name)
    if best is None and order_needed and metric_of_heading(name) is not None:
        raise ValueError(
            f"results_dataframes: {name!r} lost what ranks it (a file and pandas.concat do not "
            "keep attrs), and its heading does not tell. Rank the table of run_queries itself, "
            "make a score_column(..., best=...) of it, or pass ascending."
        )
    if best is None:
        logger.warning(
            "nothing tells what is better in %r: lower scores are ranked first (score_column says "
            "so, ascending= decides)",
            name,
        )
        best = "lower"
    return column, best


def _combined_best(bests: Sequence[Best], weights: Sequence[float]) -> Best:
    numbers = [best for best in bests if not isinstance(best, str)]
    if len(numbers) == len(bests):
        return float(np.average(numbers, weights=weights))
    if len(set(bests)) > 1:
        raise ValueError(f"the tables differ in what is better: {', '.join(map(str, bests))}.")
    return bests[0]


def without_noise(scores: pd.Series, best: Best = "lower") -> pd.Series:
    """Return numbers in the order of the scores, best first, that are equal but for real gaps.

    Parameters
    ----------
    scores : Series
        Scores of models.
    best : {'higher', 'lower'} or float, default='lower'
        Which are better.

    Returns
    -------
    Series
        0, 1, 2 ... and NaN for NaN. Neighbours get the same number if the gap between them may be
        rounding. That depends on the scores before any distance is taken: the last digits of
        0.1 + 0.2 - 0.3 are not of the size of the result.

    Examples
    --------
    >>> without_noise(pd.Series([0.1 + 0.2 - 0.3, 0.0, 0.5]), best=0.0).tolist()
    [0.0, 0.0, 1.0]
    """
    known = scores.dropna()
    raw = known.to_numpy(dtype=np.float64)
    is_value = not isinstance(best, str)
    badness = abs(raw - float(best)) if is_value else -raw if best == "higher" else raw
    order = np.argsort(badness, kind="stable")
    sizes = abs(raw[order])
    # Infinity is not near anything but itself.
    sizes[np.isinf(sizes)] = 0.0
    around = np.maximum(sizes, abs(float(best)) if is_value else 0.0)
    largest = max(1.0, sizes.max(initial=0.0))
    noise = np.maximum(
        _ROUNDING * np.maximum(around[1:], around[:-1]),
        _LAST_PLACE * largest,
    )
    ordered = badness[order]
    is_new = np.zeros(len(raw))
    is_new[1:] = ordered[1:] > ordered[:-1] + noise
    groups = np.empty(len(raw))
    groups[order] = np.cumsum(is_new)
    return pd.Series(groups, index=known.index, name=scores.name).reindex(scores.index)


def _new_name(name: str, taken: Mapping[str, object]) -> str:
    number, label = 1, name
    while label in taken:
        number += 1
        label = f"{name} ({number})"
    return label
