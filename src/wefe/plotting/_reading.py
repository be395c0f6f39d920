"""Check tables of results, and determine from them how to draw them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._checks import found
from wefe._visible import count, unique_labels
from wefe.aggregation import HEADING, best_of_heading, metric_of_label
from wefe.plotting._style import hover_texts, shorten
from wefe.results import OPPOSITE
from wefe.running import scores_matrix

Numbers = npt.NDArray[np.float64]


def check_table(name: str, table: object, source: str, rows: str, columns: str) -> pd.DataFrame:
    """Return the numbers of a table that the function `source` returns.

    Names become unique texts, because plotly merges equal ones.
    """
    frame = _check_filled(name, table, f", as {source} returns it")
    numbers = [_numbers(f"{name}: ", column, values) for column, values in frame.items()]
    return pd.DataFrame(
        np.stack(numbers, axis=1),
        unique_labels(list(map(str, frame.index)), rows),
        unique_labels(list(map(str, frame.columns)), columns),
    )


def check_frame(
    frame: object, texts: Sequence[str], numbers: Sequence[str], **defaults: str | float
) -> pd.DataFrame:
    """Return texts as str and numbers as float64; '' replaces missing texts, NaN infinities.

    Columns with a default may be missing.
    """
    wanted = [column for column in (*texts, *numbers) if column not in defaults]
    table = _check_filled("frame", frame, f" with the columns {', '.join(wanted)}")
    if lacking := [column for column in wanted if column not in table]:
        raise ValueError(
            f"frame must have the columns {', '.join(wanted)}; got {', '.join(map(str, table))}, "
            f"without {', '.join(lacking)}."
        )
    table = pd.DataFrame(defaults | dict(table.items()))
    checked = table[[*texts]].astype(object).fillna("").map(str)
    for column in numbers:
        values = _numbers("", column, table[column])
        checked[column] = np.where(np.isfinite(values), values, np.nan)
    return checked.reset_index(drop=True)


def _check_filled(name: str, table: object, what: str) -> pd.DataFrame:
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"{name} must be a DataFrame{what}; got {found(table)}.")
    if table.empty:
        raise ValueError(f"{name} must have at least one row and column.")
    return table


def _numbers(where: str, column: Any, values: pd.Series[Any]) -> Numbers:
    try:
        return values.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{where}column {column!r} must contain numbers; got {found(values.iloc[0])}. Put "
            "names in the index, for example with pd.read_csv(path, index_col=0)."
        ) from None


def groups_of(frame: pd.DataFrame) -> list[str]:
    """Return the groups in the order of their colours: those in `attrs`, or else in the rows."""
    seen = list(dict.fromkeys(map(str, frame.get("group", ()))))
    noted = list(map(str, frame.attrs.get("groups", ())))
    return noted if set(seen) <= set(noted) else seen


def parts_of(table: pd.DataFrame, by: str | list[str]) -> list[tuple[Any, pd.DataFrame]]:
    """Return the parts of a table with their names, in the order of their first rows."""
    return list(table.groupby(by, sort=False))


def as_list(results: Any) -> list[Any]:
    """Return one result, or a sequence of at least one, as a list."""
    given = list(results) if isinstance(results, list | tuple) else [results]
    if not given:
        raise ValueError(f"at least one result is needed to plot; got {found(results)}.")
    return given


#: Facts of a score.
FACTS = [
    *("score", "score_lower", "score_upper", "no_bias_value", "nan_reason", "warnings"),
    *("p_value", "null_lower", "null_upper", "words_used", "words_lost"),
]
_HOVER = (
    "<b>{model}</b><br>{query}<br>no value: {why}<br>{label} = {score:.4g}<br>"
    "no bias: {no_bias_value:g}<br>interval from {score_lower:.3g} to {score_upper:.3g}<br>"
    "p = {p_value:.3g}<br>{opposite}<br>"
    "without bias between {null_lower:.3g} and {null_upper:.3g} (95 %)<br>"
    "{words_lost:g} of {n_words:g} words lost"
)


@dataclass(frozen=True)
class Reading:
    """Scores and how to read them.

    `table` has one row per 'model' and 'query'. Unknown facts are NaN there and '' here. With an
    `aggregation`, the last query is the aggregate.
    """

    table: pd.DataFrame
    metric: str
    query_set: str
    aggregation: str

    @classmethod
    def of(cls, results: object) -> Reading:
        """Read a table of `measure` or `run_queries`, or any other table of scores."""
        is_tidy = isinstance(results, pd.DataFrame) and {"query_name", "score"} <= {*results}
        matrix: Any = scores_matrix(results) if is_tidy else results  # type: ignore[arg-type]
        matrix = check_table("results", matrix, "run_queries", "models", "queries")
        read = _of_scores if is_tidy else _of_matrix
        known, metric, query_set, way = read(results, matrix)
        table = known.rename_axis(["model", "query"]).reindex(columns=FACTS).reset_index()
        table["nan_reason"] = table["nan_reason"].astype(object)
        table["no_bias_value"] = table["no_bias_value"].where(np.isfinite(table["no_bias_value"]))
        table["start"] = table["no_bias_value"].fillna(0.0)
        table["opposite"] = table["warnings"].astype(str).str.startswith(OPPOSITE)
        query_set = "" if query_set == "Unnamed queries set" else query_set
        return cls(table, metric, query_set, way)

    def title(self) -> str:
        if self.metric and self.query_set:
            return f"{self.metric}: {self.query_set}"
        return f"{self.metric or 'Bias'} scores"

    def axis_title(self) -> str:
        what = f"{self.metric} score" if self.metric else "Score"
        values = self.table["no_bias_value"].unique()
        is_known = len(values) == 1 and not math.isnan(values[0])
        return f"{what} ({values[0]:g} = no bias measured)" if is_known else what

    def labels(self) -> tuple[dict[str, str], str]:
        """Return names without their common part, and that part as a sentence."""
        queries = list(self.table["query"].unique())
        short, repeated = shorten(queries)
        if self.aggregation:
            short, repeated = [*queries[:-1], self.aggregation.capitalize()], ""
        models = {name: name for name in self.table["model"]}
        return dict(zip(queries, short, strict=True)) | models, repeated

    def notes(self) -> dict[str, object]:
        table = self.table
        is_lost = table["score"].isna() & (table["query"] != table["query"].iloc[-1])
        n_lost, n_opposite = table["query"][is_lost].nunique(), int(table["opposite"].sum())
        queries = count(n_lost, "query", "queries")
        scores = count(n_opposite, "score is", "scores are")
        has_null = table["null_lower"].notna().any()
        return {
            f"The aggregate leaves out {queries} that not every model could answer.": n_lost
            and self.aggregation,
            "Grey bands: 95 % of scores with words exchanged, as they would be without bias. "
            "Hollow bars end within their band: chance explains them.": has_null,
            f"{scores} {OPPOSITE}, which the test misses.": n_opposite,
        }


def _of_scores(scores: Any, matrix: pd.DataFrame) -> tuple[pd.DataFrame, str, str, str]:
    known = scores.set_index(["model_name", "query_name"])
    known = known.reindex(pd.MultiIndex.from_product(matrix.axes))
    if scores["no_bias_value"].nunique(dropna=False) > 1:
        known["no_bias_value"] = math.nan
    metric, query_set = scores[["metric", "query_set"]].iloc[0]
    return known, str(metric), query_set, ""


def _of_matrix(given: Any, matrix: pd.DataFrame) -> tuple[pd.DataFrame, str, str, str]:
    names: list[Any] = [*matrix]
    headings = {name: match for name in names if (match := HEADING.fullmatch(name))}
    labels = {match["label"] for match in headings.values()}
    metric = str(given.columns.name or (labels.pop() if len(labels) == 1 else ""))
    known = metric_of_label(metric)
    n_common = int(matrix.drop(columns=[*headings]).notna().all().sum())
    no_bias: Any = dict.fromkeys(names, known.no_bias_value if known else math.nan)
    no_bias |= {name: best_of_heading(name, n_common) for name in headings}
    stacked: Any = matrix.stack(future_stack=True)
    scores = stacked.to_frame("score")
    query = scores.index.get_level_values(1)
    scores["no_bias_value"] = query.map(no_bias).astype(np.float64)
    reason = "there is no query that every model could answer"
    scores["nan_reason"] = pd.Series(reason, scores.index).where(query.isin([*headings]))
    # A single aggregate sums up the other columns.
    is_single = [*headings] == names[-1:]
    parts = headings.popitem()[1].groupdict() if is_single else {"set": "", "way": ""}
    return scores, metric, parts["set"], parts["way"]


def score_hovers(scores: pd.DataFrame, label: str) -> list[str]:
    """Return what is known of each score: the facts of a table, by the names of its columns."""
    facts = scores.assign(
        why=scores["nan_reason"].mask(scores["score"].notna()),
        opposite=np.where(scores["opposite"], OPPOSITE, ""),
        words_lost=scores["words_lost"].where(scores["words_lost"] > 0),
        n_words=scores["words_lost"] + scores["words_used"],
        label=label,
    )
    return hover_texts(facts, _HOVER)
