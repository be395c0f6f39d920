"""What differs between two results of a study: scores, aggregated scores, ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from wefe._checks import check_choice, found
from wefe.study._plan import OVERALL
from wefe.study._results import StudyResults

#: What a row of :func:`scores_of` is about.
KEYS = ["model_name", "query_set", "query_name", "metric"]

# No difference, as far as there is something to be compared.
_SAME = {"equal", "NaN in both", "computed in neither", "within tolerance"}
_VALUES = ["score", "bias", "p_value", "score_lower", "score_upper"]
_SIDES = ("before", "after")
_LONGEST_LIST = 40


@dataclass(frozen=True, eq=False, repr=False)
class StudyDiff:
    """What :func:`diff` returns. Rows keep the order of the first study.

    Attributes
    ----------
    before, after : str
        Names of the studies.
    tolerance : float
        Scores that differ by no more are equal.
    scores : DataFrame
        One row per model, query set, query and metric that both have: 'score_before' and '_after';
        'bias_before' and '_after', the distance from the score that means no bias; 'change' of the
        score; 'bias_change', and 'relative_change', of that distance (0.1 is a tenth more);
        'beyond_interval', whether the score changed by more than half the width of its bootstrap
        interval, the wider one of the two (missing where there is none); 'p_value_before' and
        '_after'; 'status', and 'differs': what the two were computed from that is not the same
        ('query', 'parameters', 'version' of wefe, 'vectors').

        The status is 'equal', 'changed', 'p-value changed' or 'interval changed' (of an equal
        score), 'NaN before', 'NaN after', 'NaN in both', 'computed after only', 'computed before
        only' or 'computed in neither'.
    aggregated : DataFrame
        The same of aggregated scores, per model, query set ('Overall' for all) and metric.
    ranks : DataFrame
        Ranks among the models that both have, per model, query set and column of the ranking.
    only_before, only_after : DataFrame
        Model, query set, query and metric of scores that the other study does not ask for.
    notes : tuple of str
        In what else the studies differ.
    """

    before: str
    after: str
    tolerance: float
    scores: pd.DataFrame
    aggregated: pd.DataFrame
    ranks: pd.DataFrame
    only_before: pd.DataFrame
    only_after: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        tables = (self.scores, self.aggregated, self.ranks)
        same = all(table["status"].isin(_SAME).all() for table in tables)
        return same and self.only_before.empty and self.only_after.empty

    def changed(self, table: str = "scores") -> pd.DataFrame:
        """Return the rows of 'scores', 'aggregated' or 'ranks' that differ."""
        check_choice("table", table, ("scores", "aggregated", "ranks"))
        rows: pd.DataFrame = getattr(self, table)
        return rows[~rows["status"].isin(_SAME)].reset_index(drop=True)

    def to_frame(self) -> pd.DataFrame:
        """Return all scores: :attr:`scores`, then 'only before' and 'only after' by status."""
        parts = [
            self.scores,
            self.only_before.assign(status="only before"),
            self.only_after.assign(status="only after"),
        ]
        whole = [part.reindex(columns=self.scores.columns).astype(object) for part in parts]
        return pd.concat(whole, ignore_index=True).astype(self.scores.dtypes.to_dict())

    def summary(self) -> str:
        """Return the numbers of rows in a line."""
        if self.is_empty:
            compared = self.scores["status"]
            extra = "".join(
                f", {n:,} {status}"
                for status, n in compared.value_counts().items()
                if status != "equal"
            )
            return f"no difference in {len(compared):,} scores{extra}"
        counts = self.scores["status"].value_counts(sort=False)
        statuses = ", ".join(f"{n:,} {status}" for status, n in counts.items())
        parts = [f"scores in both: {len(self.scores):,}" + (f" ({statuses})" if statuses else "")]
        others = {
            "aggregated scores changed": self.changed("aggregated"),
            "ranks changed": self.changed("ranks"),
            "scores only before": self.only_before,
            "scores only after": self.only_after,
        }
        parts += [f"{what}: {len(rows):,}" for what, rows in others.items() if len(rows)]
        return "; ".join(parts)

    def to_markdown(self, limit: int = _LONGEST_LIST) -> str:
        """Return the differences for a pull request.

        Parameters
        ----------
        limit : int, default=40
            Rows of each table, those with the largest changes.
        """
        lines = [
            f"## {markdown_text(self.before)} before, {markdown_text(self.after)} after",
            "",
            self.summary(),
        ]
        lines += [f"- {markdown_text(note)}" for note in self.notes]
        for title, frame, n_more in self.tables(limit):
            lines += ["", f"### {title}", "", markdown_table(frame)]
            lines += ["", f"... and {n_more:,} more"] if n_more else []
        return "\n".join([*lines, ""])

    def tables(self, limit: int = _LONGEST_LIST) -> Iterator[tuple[str, pd.DataFrame, int]]:
        """Yield what differs, for people.

        Parameters
        ----------
        limit : int, default=40
            Rows of each table: what has no score, then the largest changes.

        Yields
        ------
        title : str
            Of the table.
        table : DataFrame
            Without columns that would be empty.
        n_more : int
            Rows that are not shown.
        """
        titles = {"Aggregated scores": "aggregated", "Ranks": "ranks", "Scores": "scores"}
        for title, name in titles.items():
            frame = self.changed(name)
            # What could not be compared is easily missed.
            size = frame["change"].abs().fillna(math.inf)
            frame = frame.loc[size.sort_values(ascending=False, kind="stable").index]
            known = ["bias_before", "bias_after", "change"]
            shown = frame.head(limit).drop(columns=[c for c in known if c in frame])
            if len(shown):
                whole = shown.dropna(axis="columns", how="all").reset_index(drop=True)
                yield title, whole, len(frame) - len(shown)
        for title, frame in (("Only before", self.only_before), ("Only after", self.only_after)):
            if len(frame):
                yield title, frame.head(limit), max(0, len(frame) - limit)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"


def diff(before: StudyResults, after: StudyResults, tolerance: float = 0.0) -> StudyDiff:
    """Compare two results: of a study before and after a change, or of two studies.

    Scores belong together if their model, query set, query and metric are called the same.

    Parameters
    ----------
    before, after : StudyResults
        The results.
    tolerance : float, default=0.0
        Largest difference of scores (p-values, ends of intervals) that counts as none. Results of
        one machine are equal to the last bit; for those of two, 1e-6 is reasonable.

    Returns
    -------
    StudyDiff
        Its `is_empty` tells whether there is a difference.

    Raises
    ------
    TypeError
        If one of them is no StudyResults.
    ValueError
        If the tolerance is no number of at least 0.

    Examples
    --------
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> diff(results, results)
    <StudyDiff: no difference in 6 scores>
    """
    for name, value in (("before", before), ("after", after)):
        if not isinstance(value, StudyResults):
            raise TypeError(f"{name} must be a StudyResults; got {found(value)}.")
    is_number = isinstance(tolerance, int | float | np.number) and not isinstance(tolerance, bool)
    if not is_number or not 0 <= tolerance < math.inf:
        raise ValueError(f"tolerance must be a number of at least 0; got {found(tolerance)}.")
    one, other = scores_of(before).set_index(KEYS), scores_of(after).set_index(KEYS)
    both = one.index[one.index.isin(other.index)]
    scores = _paired(one.loc[both], other.loc[both])
    scores = _compare(scores.reset_index(), tolerance)
    sides = (table.loc[both].to_dict("records") for table in (one, other))
    reasons = [", ".join(_what_differs(*rows)) or None for rows in zip(*sides, strict=True)]
    scores["differs"] = pd.Series(reasons, dtype=object)
    aggregated = _aggregated(before, after, tolerance)
    return StudyDiff(
        before.plan.name,
        after.plan.name,
        float(tolerance),
        scores,
        aggregated,
        _ranks(before, after, aggregated, tolerance),
        one.index[~one.index.isin(other.index)].to_frame(index=False),
        other.index[~other.index.isin(one.index)].to_frame(index=False),
        tuple(notes_of(before, after)),
    )


def scores_of(results: StudyResults) -> pd.DataFrame:
    """Return the tidy table with the distance from no bias, and what was asked.

    Parameters
    ----------
    results : StudyResults
        What a study found.

    Returns
    -------
    DataFrame
        That of :meth:`StudyResults.to_frame`, with 'bias' (at least 0) and 'identity', the
        instruction by which the score is computed.
    """
    tidy = results.to_frame()
    asked = [
        task.identity
        for metric in results.plan.metrics
        for name in metric.query_sets
        for task, _ in results._scores_of(metric.label, name)
    ]
    scales = {metric.label: metric.scale for metric in results.plan.metrics}
    tidy["bias"] = [
        scales[label].bias(score)
        for label, score in zip(tidy["metric"], tidy["score"], strict=True)
    ]
    tidy["identity"] = pd.Series(asked, dtype=object)
    return tidy


def notes_of(before: StudyResults, after: StudyResults) -> Iterator[str]:
    """Say in which parts of their declarations two studies differ, but for models and limits."""
    one, other = before.plan.settings, after.plan.settings
    parts = [
        key
        for key in dict.fromkeys([*one, *other])
        if key not in ("name", "description", "models", "limits") and one.get(key) != other.get(key)
    ]
    if parts:
        yield f"the study files differ in: {', '.join(parts)}"
    weights = [
        {part.name: part.weight for part in results.plan.query_sets} for results in (before, after)
    ]
    if weights[0] != weights[1] and "queries" not in parts:
        yield "the query sets differ in their weights, or in how many queries they have"


def _paired(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Return the values of two tables of the same rows side by side."""
    columns = {}
    for name in [*_VALUES, "status"]:
        if name in before:
            columns[f"{name}_before"] = before[name]
            columns[f"{name}_after"] = after[name]
    return pd.DataFrame(columns, index=before.index)


def _compare(pairs: pd.DataFrame, tolerance: float) -> pd.DataFrame:
    """Return the pairs with the changes and a status."""
    table = pairs.copy()
    table["change"] = table["score_after"] - table["score_before"]
    table["bias_change"] = table["bias_after"] - table["bias_before"]
    share = table["bias_change"] / table["bias_before"]
    table["relative_change"] = share.where(table["bias_before"] > 0)
    has_intervals = "score_lower_before" in table
    if has_intervals:
        halves = pd.concat(
            [(table[f"score_upper_{s}"] - table[f"score_lower_{s}"]) / 2 for s in _SIDES], axis=1
        ).max(axis=1)
        beyond = (table["change"].abs() > halves).astype("boolean")
        table["beyond_interval"] = beyond.mask(halves.isna() | table["change"].isna())
    statuses = [_status(row, tolerance) for row in table.to_dict("records")]
    dropped = [f"{name}_{s}" for name in ("status", "score_lower", "score_upper") for s in _SIDES]
    table = table.drop(columns=[name for name in dropped if name in table])
    table["status"] = pd.Series(statuses, index=table.index, dtype=object)
    return table


def _status(row: dict[Any, Any], tolerance: float) -> str:
    done = [row.get(f"status_{side}", "done") == "done" for side in _SIDES]
    if not all(done):
        return {
            (True, False): "computed before only",
            (False, True): "computed after only",
            (False, False): "computed in neither",
        }[done[0], done[1]]
    nan = [math.isnan(row[f"score_{side}"]) for side in _SIDES]
    if any(nan):
        return "NaN in both" if all(nan) else "NaN before" if nan[0] else "NaN after"
    # Aggregated values may be equal while what they are farther from is not.
    if not (_equal(row, "score", tolerance) and _equal(row, "bias", tolerance)):
        return "changed"
    if not _equal(row, "p_value", tolerance):
        return "p-value changed"
    same = _equal(row, "score_lower", tolerance) and _equal(row, "score_upper", tolerance)
    return "equal" if same else "interval changed"


def _equal(row: dict[Any, Any], name: str, tolerance: float) -> bool:
    before, after = row.get(f"{name}_before", math.nan), row.get(f"{name}_after", math.nan)
    if math.isnan(before) or math.isnan(after):
        return math.isnan(before) and math.isnan(after)
    return bool(before == after or abs(after - before) <= tolerance)


def _what_differs(before: dict[Any, Any], after: dict[Any, Any]) -> Iterator[str]:
    one, other = before["identity"], after["identity"]
    if one.get("query") != other.get("query"):
        yield "query"
    if {**one, "query": None} != {**other, "query": None}:
        yield "parameters"
    if before["status"] != "done" or after["status"] != "done":
        return
    if before["wefe_version"] != after["wefe_version"]:
        yield "version"
    # The key is a hash of all of them, and of the vectors.
    elif one == other and before["key"] != after["key"]:
        yield "vectors"


def _places(results: StudyResults) -> list[str]:
    """Return the query sets that have columns, and that of all."""
    asked = {name for metric in results.plan.metrics for name in metric.query_sets}
    return [OVERALL, *(part.name for part in results.plan.query_sets if part.name in asked)]


def _aggregated(before: StudyResults, after: StudyResults, tolerance: float) -> pd.DataFrame:
    one, other = _aggregated_of(before), _aggregated_of(after)
    both = one.index[one.index.isin(other.index)]
    return _compare(_paired(one.loc[both], other.loc[both]).reset_index(), tolerance)


def _aggregated_of(results: StudyResults) -> pd.DataFrame:
    rows = []
    for place in _places(results):
        for label, table in results._columns(place).items():
            column = table.iloc[:, -1]
            best = float(table.attrs["best"][column.name])
            for model, score in column.items():
                rows.append((model, place, label, score, abs(score - best)))
    columns = ["model_name", "query_set", "metric", "score", "bias"]
    frame = pd.DataFrame(rows, columns=columns).astype({"score": float, "bias": float})
    return frame.set_index(columns[:3])


def _ranks(
    before: StudyResults, after: StudyResults, aggregated: pd.DataFrame, tolerance: float
) -> pd.DataFrame:
    rows = []
    # Ranks that noise has exchanged are no difference where noise is none.
    steady = {
        place
        for place, part in aggregated.groupby(["query_set", "metric"])
        if tolerance > 0 and part["status"].isin(_SAME).all()
    }
    labels = {model.label for model in after.plan.models}
    models = [model.label for model in before.plan.models if model.label in labels]
    for place in [name for name in _places(before) if name in _places(after)]:
        one, other = (_ranks_among(results, place, models) for results in (before, after))
        for column in [name for name in one if name in other]:
            for model in models:
                first, second = one[column][model], other[column][model]
                same = first == second or (math.isnan(first) and math.isnan(second))
                status = "equal" if same else "changed"
                if not same and (place, column) in steady:
                    status = "within tolerance"
                rows.append((model, place, column, first, second, second - first, status))
    columns = ["model_name", "query_set", "ranking"]
    return pd.DataFrame(rows, columns=[*columns, "rank_before", "rank_after", "change", "status"])


def _ranks_among(
    results: StudyResults, place: str, models: list[str]
) -> dict[str, dict[str, float]]:
    """Return the ranks that models have among themselves: column, model -> rank."""
    ties = results.plan.settings["aggregation"]["ties"]
    ranks = results.rankings(place).loc[models].rank(method=ties)
    return {str(name): dict(column) for name, column in ranks.items()}


# For people


def markdown_table(frame: pd.DataFrame) -> str:
    r"""Return a table in Markdown; nothing in its cells is markup.

    Examples
    --------
    >>> print(markdown_table(pd.DataFrame({"model_name": ["a|<b>"], "value": [0.5]})))
    | model name | value |
    |---|--:|
    | a\|&lt;b&gt; | 0.5 |
    """
    numeric = [
        pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        for kind in frame.dtypes
    ]
    lines = [_line(markdown_text(str(name).replace("_", " ")) for name in frame)]
    lines.append("|" + "|".join("--:" if is_number else "---" for is_number in numeric) + "|")
    for row in frame.itertuples(index=False):
        lines.append(_line(markdown_text(value) for value in row))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def markdown_text(value: Any) -> str:
    """Return a value as text that Markdown shows as it is.

    Parameters
    ----------
    value : object
        Numbers get four digits; None and NaN are nothing.
    """
    if value is None or value is pd.NA or value != value:
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | float | np.number):
        return f"{value:.4g}"
    text = " ".join(str(value).split())
    for mark, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(mark, entity)
    return "".join(f"\\{letter}" if letter in r"\`*_{}[]()#+!|~$@" else letter for letter in text)
