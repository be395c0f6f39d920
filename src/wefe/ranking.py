"""Turn tables of scores into ranks, an overall table and correlations (WEFE paper, 3.2 and 4.2)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._checks import check_bool, check_choice, check_number, check_sequence, check_text, found
from wefe.aggregation import HEADING, Best, best_of_heading, heading_of, metric_of_label

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
_TOTALS = ["query_set", "metric", "model_name", "score", "best", "aggregation", "n_queries"]
_CORRELATIONS = ("pearson", "kendall", "spearman")


def score_column(
    scores: Mapping[str, float] | pd.Series,
    name: str,
    best: Best,
) -> pd.DataFrame:
    """Prepare an external score, such as a quality benchmark, for ranking beside bias scores.

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
    DataFrame
        One row per model, as of :func:`wefe.aggregation.aggregate`: 'metric' (the name),
        'model_name', 'score' and 'best'. :func:`create_ranking` takes it beside bias scores.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.

    Examples
    --------
    >>> quality = score_column({"w2v": 0.61, "glove": 0.58}, "WEB", best="higher")
    >>> create_ranking([quality])["WEB"].to_dict()
    {'w2v': 1.0, 'glove': 2.0}
    """
    check_text("name", name)
    if isinstance(best, str):
        check_choice("best", best, ("higher", "lower"))
    else:
        best = check_number("best", best)
    try:
        column = pd.Series(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"scores must be numbers by model name; {error}.") from error
    if not isinstance(scores, Mapping | pd.Series):
        raise TypeError(f"scores must be numbers by model name; got {found(scores)}.")
    return pd.DataFrame(
        {
            "query_set": None,
            "metric": name,
            "model_name": column.index,
            "score": column.to_numpy(),
            "best": best,
            "aggregation": None,
        }
    )


def create_ranking(
    results_dataframes: pd.DataFrame | Sequence[pd.DataFrame],
    method: TieMethod = "first",
    ascending: bool | None = None,
) -> pd.DataFrame:
    """Rank models by aggregated scores: 1 is the least biased.

    Parameters
    ----------
    results_dataframes : DataFrame or sequence of DataFrame
        Tables of :func:`wefe.aggregation.aggregate`, :func:`overall_scores` and
        :func:`score_column`; or of `run_queries`, of which the last column, the aggregated one, is
        ranked by what its heading says.
    method : {'first', 'average', 'min', 'max', 'dense'}, default='first'
        What ties get: ranks in order of the models, or the average, lowest, highest or dense rank.
        Prefer 'average' for a ranking that is to be correlated.
    ascending : bool or None, default=None
        None ranks by the order of each metric: by the distance from its value for no bias (so ECT
        is better when higher, MAC when nearer to 1, WEAT when nearer to 0). True or False ranks
        all plain scores in that direction.

    Returns
    -------
    DataFrame of shape (n_models, n_rankings)
        Ranks; one column per metric and query set. A model that has no score has no rank (NaN).
        Scores that differ by rounding only tie: by 1e-12 of the scores (or of the value for no
        bias), or by 1e-15.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong, a table has no aggregated column, or the heading does not tell what
        ranks it.

    Examples
    --------
    >>> table = score_column({"a": 0.3, "b": -0.1, "c": 0.9}, "WEAT: Gender", best=0)
    >>> create_ranking(table)["WEAT: Gender"].to_dict()
    {'a': 2.0, 'b': 1.0, 'c': 3.0}
    """
    check_choice("method", method, _TIE_METHODS)
    if ascending is not None:
        check_bool("ascending", ascending)
    ranking = ranked(results_dataframes, method, ascending)
    missing = ranking.columns[ranking.isna().any()]
    if len(missing):
        logger.warning("some models have no score and therefore no rank in: %s", ", ".join(missing))
    return ranking


def ranked(
    tables: pd.DataFrame | Sequence[pd.DataFrame],
    method: TieMethod,
    ascending: bool | None = None,
) -> pd.DataFrame:
    """Rank like :func:`create_ranking`, without a warning about models that have no score."""
    columns = list(_columns(tables, order_needed=ascending is None))
    models = list(dict.fromkeys(name for column, _ in columns for name in column.index))
    ranks: dict[str, pd.Series] = {}
    for column, best in columns:
        order = without_noise(column.reindex(models), best if ascending is None else "lower")
        label, number = str(column.name), 1
        while label in ranks:
            number += 1
            label = f"{column.name} ({number})"
        ranks[label] = order.rank(method=method, ascending=ascending is not False)
    return pd.DataFrame(ranks, index=pd.Index(models, name="model_name"))


def overall_scores(
    totals: pd.DataFrame | Sequence[pd.DataFrame],
    name: str = "Overall",
    weights: Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """Combine the aggregated scores of each metric over several query sets.

    Parameters
    ----------
    totals : DataFrame or sequence of DataFrame
        Tables of :func:`wefe.aggregation.aggregate`.
    name : str, default='Overall'
        What the combination is called.
    weights : mapping of str to float, optional
        Weight of each query set; by default its number of queries (before subqueries), as in
        section 4.2 of the WEFE paper, so that all metrics weigh the query sets alike.

    Returns
    -------
    DataFrame
        One row per metric and model, as of :func:`wefe.aggregation.aggregate`: the weighted mean,
        NaN for a model that lacks one of the scores.

    Raises
    ------
    TypeError, ValueError
        If `totals` is no table of aggregated scores, was aggregated in several ways, or lacks a
        weight.

    References
    ----------
    Badilla, Bravo-Marquez and Pérez, "WEFE: The Word Embeddings Fairness Evaluation Framework",
    IJCAI 2020, section 4.2.

    Examples
    --------
    >>> from wefe import aggregate, load_test_model, measure
    >>> from wefe.datasets import load_weat_queries
    >>> queries = load_weat_queries()
    >>> sets = {"nature": queries[:2], "gender": queries[5:6]}
    >>> totals = aggregate(measure("weat-es", sets, [load_test_model()]))
    >>> totals["score"].tolist(), overall_scores(totals)["score"].tolist()
    ([1.370, 1.040], [1.260])
    """
    check_text("name", name)
    if weights is not None and not isinstance(weights, Mapping):
        raise TypeError(f"weights must be numbers by query set; got {found(weights)}.")
    tables = [totals] if isinstance(totals, pd.DataFrame) else check_sequence("totals", totals)
    for table in tables if len(tables) else [None]:
        if not isinstance(table, pd.DataFrame) or not set(_TOTALS) <= set(table.columns):
            raise TypeError(f"totals must be tables of wefe.aggregate; got {found(table)}.")
    parts = []
    for metric, part in pd.concat(list(tables)).groupby("metric", sort=False):
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
        scores = part.pivot(index="model_name", columns="query_set", values="score")
        scores = scores.reindex(index=part["model_name"].unique(), columns=sets.index)
        combined = scores.mul(share).sum(axis=1, skipna=False) / share.sum()
        row = {
            "query_set": name,
            "metric": metric,
            "best": float(np.average(sets["best"].astype(float), weights=share)),
            "aggregation": f"weighted {ways[0]}",
            "n_queries": sets["n_queries"].sum(),
        }
        parts.append(combined.rename("score").reset_index().assign(**row))
    combined_scores: pd.DataFrame = pd.concat(parts, ignore_index=True)[_TOTALS]
    return combined_scores


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

    Raises
    ------
    TypeError
        If `rankings` is no DataFrame.
    ValueError
        If `method` is unknown.

    Examples
    --------
    >>> ranks = pd.DataFrame({"WEAT": [2, 3, 4, 1], "RND": [3, 1, 4, 2]})
    >>> float(calculate_ranking_correlations(ranks).loc["WEAT", "RND"])
    0.4
    """
    if not isinstance(rankings, pd.DataFrame):
        raise TypeError(f"rankings must be a DataFrame of create_ranking; got {found(rankings)}.")
    if rankings.empty or not all(map(pd.api.types.is_numeric_dtype, rankings.dtypes)):
        raise ValueError("rankings must be a table of ranks, with numbers only.")
    if not callable(method):
        check_choice("method", method, _CORRELATIONS)
    return rankings.corr(method=method, min_periods=_FEWEST_MODELS)  # type: ignore[arg-type]


def _columns(
    tables: pd.DataFrame | Sequence[pd.DataFrame], order_needed: bool
) -> Iterator[tuple[pd.Series, Best]]:
    """Yield the scores to be ranked, by model, and what is better among them."""
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
                yield _checked(column, of), part["best"].iloc[0]
            continue
        if {"query_name", "score"} <= names or not names:
            raise ValueError(
                f"{of} must have aggregated scores. Rank the tables that wefe.aggregate returns."
            )
        column = _checked(table.iloc[:, -1], of)
        name, is_matrix = str(column.name), table.columns.name is not None
        if is_matrix and not name.endswith(" score"):
            raise ValueError(
                f"{of} must end with an aggregated column. Call run_queries with "
                "aggregate_results=True."
            )
        n_answered = int(table.iloc[:, :-1].notna().all().sum())
        yield column, _best_of(name, n_answered, order_needed)


def _checked(column: pd.Series, of: str) -> pd.Series:
    if not pd.api.types.is_numeric_dtype(column):
        raise TypeError(f"{of} must have numbers in its last column; got {found(column.iloc[0])}.")
    if not column.index.is_unique:
        repeated = sorted(set(column.index[column.index.duplicated()].astype(str)))
        raise ValueError(f"{of} repeats models {repeated}.")
    return column


def _best_of(name: str, n_scores: int, order_needed: bool) -> Best:
    """Return what is better in the last column of a matrix of `run_queries`."""
    best = best_of_heading(name, n_scores)
    if best is not None:
        return best
    match = HEADING.fullmatch(name)
    if order_needed and match is not None and metric_of_label(match["label"]) is not None:
        raise ValueError(
            f"results_dataframes: {name!r} is a sum over an unknown number of scores. Rank the "
            "tables that wefe.aggregate returns, or pass ascending."
        )
    logger.warning(
        "it is unknown what is better in %r, so lower scores are ranked first. Use score_column or "
        "ascending= to change this",
        name,
    )
    return "lower"


def without_noise(scores: pd.Series, best: Best = "lower") -> pd.Series:
    """Return 0, 1, 2 ... in the order of the scores, best first; NaN for NaN.

    Neighbours get the same number if the gap between them may be rounding. That depends on the
    scores before any distance is taken: the last digits of 0.1 + 0.2 - 0.3 are not of the size of
    the result.

    >>> without_noise(pd.Series([0.1 + 0.2 - 0.3, 0.0, 0.5]), best=0.0).tolist()
    [0.0, 0.0, 1.0]
    """
    known = scores.dropna()
    raw = known.to_numpy(dtype=np.float64)
    value = 0.0 if isinstance(best, str) else float(best)
    badness = {"higher": -raw, "lower": raw}.get(str(best), abs(raw - value))
    order = np.argsort(badness, kind="stable")
    # Infinity is not near anything but itself.
    sizes = np.where(np.isinf(raw), 0.0, abs(raw))[order]
    around = np.maximum(np.maximum(sizes[1:], sizes[:-1]), abs(value))
    noise = np.maximum(_ROUNDING * around, _LAST_PLACE * max(1.0, sizes.max(initial=0.0)))
    ordered = badness[order]
    groups = np.zeros(len(raw))
    groups[order[1:]] = np.cumsum(ordered[1:] > ordered[:-1] + noise)
    return pd.Series(groups, index=known.index, name=scores.name).reindex(scores.index)
