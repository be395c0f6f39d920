"""What differs between two results of a study: scores, ranks, quality, audits, settings."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from wefe._checks import check_choice, found
from wefe._visible import visible
from wefe.study._plan import OVERALL, Kind
from wefe.study._results import StudyResults

#: What a row of :func:`scores_of` is about.
KEYS = ["model_name", "query_set", "query_name", "metric"]

# No difference, as far as there is something to be compared.
_SAME = {"equal", "NaN in both", "within tolerance"}
_VALUES = ["score", "bias", "p_value", "score_lower", "score_upper"]
_PROVENANCE = ("status", "identity", "key", "wefe_version")
_SIDES = ("before", "after")
_LONGEST_LIST = 40
_COMPARED = ("scores", "aggregated", "ranks", "quality", "audits")


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
        '_after'; 'status', and 'differs': what the two were computed from that is not the same:
        'query', 'parameters', 'vectors', 'version' of wefe, or 'version, perhaps vectors', where
        it is not known whether these are the same.

        The status is 'equal', 'changed', 'p-value changed' or 'interval changed' (of an equal
        score), 'NaN before', 'NaN after', 'NaN in both', 'computed after only', 'computed before
        only' or 'computed in neither'.
    aggregated : DataFrame
        The same of aggregated scores, per model, query set ('Overall' for all) and metric.
    ranks : DataFrame
        Ranks among the models that both have, per model, query set and column of the ranking. A
        column that only one study has is 'only before' or 'only after'.
    quality : DataFrame
        Scores of the quality benchmarks, per model and benchmark: 'score_before' and '_after',
        'change', 'n_used_before' and '_after' (items of the benchmark), 'status' and 'differs'.
        Of an equal score the status is 'details changed' if it is over another number of items.
    audits : DataFrame
        The same of what else was computed, per model, 'audit' and 'name': the robustness of a
        silhouette, and the share of variance that the first component of a bias direction has; the
        details are the curves, and the other components.
    settings : DataFrame
        What decides aggregated scores and ranks, and differs: 'setting', 'before' and 'after'.
    only_before, only_after : DataFrame
        Model, query set, query and metric of scores that the other study does not ask for.
    notes : tuple of str
        In what else the studies differ.

    Examples
    --------
    A study, and the same with other words:

    >>> from wefe.study import Study, diff
    >>> data = Study.example().declaration.canonical()
    >>> before = Study(data).run(":memory:", progress=False)
    >>> data["queries"][0]["query"][0]["targets"]["Male terms"] = ["he", "boy"]
    >>> after = Study(data).run(":memory:", progress=False)
    >>> difference = diff(before, after)
    >>> difference.is_empty
    False
    >>> columns = ["metric", "score_before", "score_after", "differs"]
    >>> difference.changed()[columns].round(2).head(1)
        metric  score_before  score_after differs
    0  WEAT-ES          0.24        -0.89   query
    """

    before: str
    after: str
    tolerance: float
    scores: pd.DataFrame
    aggregated: pd.DataFrame
    ranks: pd.DataFrame
    quality: pd.DataFrame
    audits: pd.DataFrame
    settings: pd.DataFrame
    only_before: pd.DataFrame
    only_after: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs. If nothing could be compared, that is not so."""
        tables = [getattr(self, name) for name in _COMPARED]
        same = all(table["status"].isin(_SAME).all() for table in tables)
        others = (self.settings, self.only_before, self.only_after)
        return same and self._n_compared > 0 and all(table.empty for table in others)

    @property
    def _n_compared(self) -> int:
        return len(self.scores) + len(self.quality) + len(self.audits)

    def changed(self, table: str = "scores") -> pd.DataFrame:
        """Return the rows of a table that differ.

        Parameters
        ----------
        table : {'scores', 'aggregated', 'ranks', 'quality', 'audits'}, default='scores'
            Which table.

        Returns
        -------
        DataFrame
            Those rows of which the status is not 'equal' or 'NaN in both' (of ranks and the like
            also 'within tolerance').

        Raises
        ------
        ValueError
            If `table` is none of these.
        """
        check_choice("table", table, _COMPARED)
        rows: pd.DataFrame = getattr(self, table)
        return rows[~rows["status"].isin(_SAME)].reset_index(drop=True)

    def to_frame(self) -> pd.DataFrame:
        """Return all scores in one table.

        Returns
        -------
        DataFrame
            `scores`, then those of `only_before` and `only_after`, whose status says so and whose
            numbers are NaN.
        """
        parts = [
            self.scores,
            self.only_before.assign(status="only before"),
            self.only_after.assign(status="only after"),
        ]
        whole = [part.reindex(columns=self.scores.columns).astype(object) for part in parts]
        return pd.concat(whole, ignore_index=True).astype(self.scores.dtypes.to_dict())

    def summary(self) -> str:
        """Return the numbers of rows in a line.

        Returns
        -------
        str
            Such as 'no difference in 6 scores'.
        """
        if self.is_empty:
            compared = self.scores["status"]
            extra = "".join(
                f", {n:,} {status}"
                for status, n in compared.value_counts().items()
                if status != "equal"
            )
            others = {"of quality": self.quality, "of audits": self.audits}
            extra += "".join(
                f"; nor in {len(table):,} {what}" for what, table in others.items() if len(table)
            )
            return f"no difference in {len(compared):,} scores{extra}"
        counts = self.scores["status"].value_counts(sort=False)
        statuses = ", ".join(f"{n:,} {status}" for status, n in counts.items())
        parts = [f"scores in both: {len(self.scores):,}" + (f" ({statuses})" if statuses else "")]
        others = {
            "aggregated scores changed": self.changed("aggregated"),
            "ranks changed": self.changed("ranks"),
            "scores of quality changed": self.changed("quality"),
            "audits changed": self.changed("audits"),
            "settings changed": self.settings,
            "scores only before": self.only_before,
            "scores only after": self.only_after,
        }
        parts += [f"{what}: {len(rows):,}" for what, rows in others.items() if len(rows)]
        if not self._n_compared and len(parts) == 1:
            parts.append("there is nothing to compare")
        return "; ".join(parts)

    def to_markdown(self, limit: int = _LONGEST_LIST) -> str:
        """Return the differences for a pull request.

        Parameters
        ----------
        limit : int, default=40
            Rows of each table, those with the largest changes.

        Returns
        -------
        str
            Markdown: a title, :meth:`summary`, `notes`, and the tables that are not empty.
        """
        lines = [
            f"## {markdown_name(self.before)} before, {markdown_name(self.after)} after",
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
            Without columns that would be empty. Shares are texts in percent, whole ranks integers.
        n_more : int
            Rows that are not shown.
        """
        titles = {
            "Aggregated scores": "aggregated",
            "Ranks": "ranks",
            "Quality": "quality",
            "Audits": "audits",
            "Scores": "scores",
        }
        for title, name in titles.items():
            frame = self.changed(name)
            # What could not be compared is easily missed.
            size = frame["change"].abs().fillna(math.inf)
            frame = frame.loc[size.sort_values(ascending=False, kind="stable").index]
            known = ["bias_before", "bias_after", "change"]
            shown = frame.head(limit).drop(columns=[c for c in known if c in frame])
            if len(shown):
                whole = shown.dropna(axis="columns", how="all").reset_index(drop=True)
                yield title, _short(whole), len(frame) - len(shown)
        others = {
            "Settings": self.settings,
            "Only before": self.only_before,
            "Only after": self.only_after,
        }
        for title, frame in others.items():
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

    See Also
    --------
    wefe.study.check : whether bias stays within limits.

    Examples
    --------
    >>> from wefe.study import Study, diff
    >>> results = Study.example().run(":memory:", progress=False)
    >>> diff(results, results)
    <StudyDiff: no difference in 6 scores>
    """
    for name, value in (("before", before), ("after", after)):
        if not isinstance(value, StudyResults):
            raise TypeError(f"{name} must be a StudyResults; got {found(value)}.")
    if not is_number(tolerance) or not 0 <= tolerance < math.inf:
        raise ValueError(f"tolerance must be a number of at least 0; got {found(tolerance)}.")
    one, other = scores_of(before), scores_of(after)
    places = [pd.MultiIndex.from_frame(table[KEYS]) for table in (one, other)]
    same_vectors = _on_the_same_vectors(before, after)
    aggregated = _compare(_aggregated_of(before), _aggregated_of(after), tolerance)
    return StudyDiff(
        before=before.plan.name,
        after=after.plan.name,
        tolerance=float(tolerance),
        scores=_compare(one, other, tolerance, KEYS, same_vectors),
        aggregated=aggregated,
        ranks=_ranks(before, after, aggregated, tolerance),
        quality=_quality(before, after, same_vectors, tolerance),
        audits=_audits(before, after, same_vectors, tolerance),
        settings=_settings(before, after),
        only_before=one[KEYS][~places[0].isin(places[1])].reset_index(drop=True),
        only_after=other[KEYS][~places[1].isin(places[0])].reset_index(drop=True),
        notes=tuple(notes_of(before, after)),
    )


def is_number(value: object) -> bool:
    """Tell whether a value is a real number of any kind, and no bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


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
    if "score" not in tidy:
        # A study may have quality and audits only.
        return tidy.reindex(columns=[*KEYS, *_EMPTY]).astype(_EMPTY)
    asked = [
        task.identity
        for metric in results.plan.metrics
        for name in metric.query_sets
        for task, _ in results._scores_of(metric.label, name)
    ]
    tidy["bias"] = (tidy["score"] - tidy["no_bias_value"]).abs()
    tidy["identity"] = pd.Series(asked, dtype=object)
    return tidy


_EMPTY: Mapping[str, Any] = {
    **dict.fromkeys(_VALUES, float),
    **dict.fromkeys(("status", "identity", "key", "wefe_version"), object),
}


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


# Two tables of the same columns, side by side


def _merged(one: pd.DataFrame, other: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return the rows of both tables by their keys, those of the first one first; 'in' says whose.

    Every other column is there twice, with '_before' and '_after'.
    """
    one, other = one.set_index([*keys]), other.set_index([*keys])
    places = one.index.append(other.index[~other.index.isin(one.index)])
    sides = [
        table.reindex(places).add_suffix(f"_{side}")
        for side, table in zip(_SIDES, (one, other), strict=True)
    ]
    # As in pairs, each with the same name.
    columns = [f"{name}_{side}" for name in one.columns for side in _SIDES]
    merged = pd.concat(sides, axis=1)[columns]
    inside = zip(places.isin(one.index), places.isin(other.index), strict=True)
    which = ["both" if all(pair) else f"only {'before' if pair[0] else 'after'}" for pair in inside]
    merged["in"] = pd.Series(which, index=places, dtype=object)
    return merged.reset_index()


def _compare(
    one: pd.DataFrame,
    other: pd.DataFrame,
    tolerance: float,
    keys: Sequence[str] = ("model_name", "query_set", "metric"),
    same_vectors: set[str] | None = None,
) -> pd.DataFrame:
    """Return the values that both tables have, the changes, and a status."""
    columns = [*keys, *(name for name in (*_VALUES, *_PROVENANCE) if name in one)]
    merged = _merged(one[columns], other[columns], keys)
    table = merged[merged["in"] == "both"].reset_index(drop=True)
    table["change"] = table["score_after"] - table["score_before"]
    table["bias_change"] = table["bias_after"] - table["bias_before"]
    share = table["bias_change"] / table["bias_before"]
    table["relative_change"] = share.where(table["bias_before"] > 0)
    if "score_lower" in one:
        halves = pd.concat(
            [(table[f"score_upper_{s}"] - table[f"score_lower_{s}"]) / 2 for s in _SIDES], axis=1
        ).max(axis=1)
        beyond = (table["change"].abs() > halves).astype("boolean")
        table["beyond_interval"] = beyond.mask(halves.isna() | table["change"].isna())
    found = {"status": _statuses(table, tolerance)}
    if same_vectors is not None:
        found["differs"] = _reasons(table, same_vectors)
    internal = (*_PROVENANCE, "score_lower", "score_upper")
    dropped = ["in", *(f"{name}_{side}" for name in internal for side in _SIDES)]
    return table.drop(columns=dropped, errors="ignore").assign(**found)


def _statuses(table: pd.DataFrame, tolerance: float) -> pd.Series:
    """Return what became of each row of a merged table."""

    def differ(*names: str) -> pd.Series:
        wrong = pd.Series(False, index=table.index)
        for name in names:
            if f"{name}_before" in table:
                one, other = (table[f"{name}_{side}"].astype(float) for side in _SIDES)
                same = (one == other) | ((other - one).abs() <= tolerance)
                wrong |= ~(same | (one.isna() & other.isna()))
        return wrong

    found = pd.Series("equal", index=table.index, dtype=object, name="status")
    # What is said last holds.
    found[differ("score_lower", "score_upper")] = "interval changed"
    found[differ("p_value")] = "p-value changed"
    # Aggregated values may be equal while what they are farther from is not.
    found[differ("score", "bias")] = "changed"
    nan = [table[f"score_{side}"].isna() for side in _SIDES]
    found[nan[0]], found[nan[1]] = "NaN before", "NaN after"
    found[nan[0] & nan[1]] = "NaN in both"
    if "status_before" in table:
        done = [table[f"status_{side}"] == "done" for side in _SIDES]
        found[~done[1]], found[~done[0]] = "computed before only", "computed after only"
        found[~done[0] & ~done[1]] = "computed in neither"
    return found.mask(table["in"] != "both", table["in"])


def _on_the_same_vectors(before: StudyResults, after: StudyResults) -> set[str]:
    """Return the models of which it is known that they were measured on the same vectors."""
    known = {label: about.get("fingerprint") for label, about in before.models.items()}
    return {
        label
        for label, about in after.models.items()
        if known.get(label) is not None and about.get("fingerprint") == known[label]
    }


def _reasons(table: pd.DataFrame, same_vectors: set[str]) -> pd.Series:
    """Return what each row of a merged table was computed from that is not the same."""
    reasons = [
        ", ".join(_what_differs(row, row["model_name"] in same_vectors)) or None
        for row in table.to_dict("records")
    ]
    return pd.Series(reasons, index=table.index, dtype=object)


def _what_differs(row: Mapping[Any, Any], has_same_vectors: bool) -> Iterator[str]:
    if row["in"] != "both":
        return
    one, other = row["identity_before"], row["identity_after"]
    if one.get("query") != other.get("query"):
        yield "query"
    if {**one, "query": None} != {**other, "query": None}:
        yield "parameters"
    if row["status_before"] != "done" or row["status_after"] != "done":
        return
    if row["wefe_version_before"] != row["wefe_version_after"]:
        # It is in the key, which tells nothing of the vectors then.
        yield "version" if has_same_vectors else "version, perhaps vectors"
    # The key is a hash of all of them, of the vectors, and of the words that other models lack.
    elif one == other and row["key_before"] != row["key_after"]:
        yield "words that all models have" if has_same_vectors else "vectors"


def _places(results: StudyResults) -> list[str]:
    """Return the query sets that have columns, and that of all."""
    asked = {name for metric in results.plan.metrics for name in metric.query_sets}
    return [OVERALL, *(part.name for part in results.plan.query_sets if part.name in asked)]


def _aggregated_of(results: StudyResults) -> pd.DataFrame:
    rows = []
    for place in _places(results):
        for label, totals in results.totals(place).items():
            for model, score, best in totals[["model_name", "score", "best"]].itertuples(
                index=False
            ):
                rows.append((model, place, label, score, abs(score - best)))
    columns = ["model_name", "query_set", "metric", "score", "bias"]
    return pd.DataFrame(rows, columns=columns).astype({"score": float, "bias": float})


def _ranks(
    before: StudyResults, after: StudyResults, aggregated: pd.DataFrame, tolerance: float
) -> pd.DataFrame:
    labels = {model.label for model in after.plan.models}
    models = [model.label for model in before.plan.models if model.label in labels]
    places = [name for name in _places(before) if name in _places(after)]
    one, other = (_ranks_among(results, places, models) for results in (before, after))
    table = _merged(one, other, _RANKED)
    table["change"] = table["rank_after"] - table["rank_before"]
    ranks = table["rank_before"].fillna(0), table["rank_after"].fillna(0)
    status = np.where(ranks[0] == ranks[1], "equal", "changed").astype(object)
    # Ranks that noise has exchanged are no difference where noise is none.
    steady = {
        place
        for place, part in aggregated.groupby(["query_set", "metric"])
        if tolerance > 0 and part["status"].isin(_SAME).all()
    }
    is_steady = [
        place in steady for place in zip(table["query_set"], table["ranking"], strict=True)
    ]
    status[(status == "changed") & np.array(is_steady, bool)] = "within tolerance"
    inside = table.pop("in")
    return table.assign(status=np.where(inside == "both", status, inside))


_RANKED = ("model_name", "query_set", "ranking")


def _ranks_among(results: StudyResults, places: list[str], models: list[str]) -> pd.DataFrame:
    """Return the ranks that models have among themselves: one row for each."""
    rows = []
    # A study may have quality and audits only.
    for place in places if results.plan.metrics or results._external else ():
        ties = results.plan.settings["aggregation"]["ties"]
        for column, ranks in results.rankings(place).loc[models].rank(method=ties).items():
            rows += [(model, place, column, ranks[model]) for model in models]
    return pd.DataFrame(rows, columns=[*_RANKED, "rank"]).astype({"rank": float})


# What else a study computes: a number for people, and all that must be the same as well


def _quality(
    before: StudyResults, after: StudyResults, same_vectors: set[str], tolerance: float
) -> pd.DataFrame:
    """Compare the scores of quality benchmarks."""
    one, other = (_others_of(each, "quality", _of_benchmark) for each in (before, after))
    table = _compare_others(one, other, same_vectors, tolerance)
    for at, side in enumerate(_SIDES, table.columns.to_list().index("status")):
        used = table.pop(f"details_{side}")
        numbers = [each[0] if isinstance(each, tuple) else math.nan for each in used]
        table.insert(at, f"n_used_{side}", np.array(numbers, dtype=float))
    return table.rename(columns={"name": "benchmark"})


def _audits(
    before: StudyResults, after: StudyResults, same_vectors: set[str], tolerance: float
) -> pd.DataFrame:
    """Compare silhouettes and bias directions."""
    tables = []
    audits: tuple[tuple[str, Kind, Any], ...] = (
        ("robustness of the silhouette", "silhouette", _of_silhouette),
        ("variance of the first component", "direction", _of_direction),
    )
    for title, kind, values in audits:
        one, other = (_others_of(each, kind, values) for each in (before, after))
        table = _compare_others(one, other, same_vectors, tolerance)
        table.insert(1, "audit", pd.Series(title, index=table.index, dtype=object))
        tables.append(table.drop(columns=["details_before", "details_after"]))
    # Of an empty table, the types would not be known.
    filled = [table for table in tables if len(table)] or tables[:1]
    return pd.concat(filled, ignore_index=True)


# The score, and the other numbers.
_Values: TypeAlias = tuple[float | None, tuple[float, ...]]


def _of_benchmark(value: Mapping[str, Any]) -> _Values:
    return value["score"], (value["n_used"],)


def _of_silhouette(value: Mapping[str, Any]) -> _Values:
    from wefe.silhouette import Silhouette

    found = Silhouette.from_json(json.dumps({**value["silhouette"], "model_name": ""}))
    return found.robustness, tuple(np.ravel(found.curves))


def _of_direction(value: Mapping[str, Any]) -> _Values:
    shares = value["audit"]["explained_variance_ratio"]
    return next(iter(shares), None), tuple(shares)


def _others_of(
    results: StudyResults, kind: Kind, values_of: Callable[[Mapping[str, Any]], _Values]
) -> pd.DataFrame:
    """Return the results of a kind as a table of scores."""
    rows = []
    for task, outcome in results.of_kind(kind):
        value = outcome.value or {}
        has_numbers = bool(value) and value.get(kind, value.get("audit", True)) is not None
        score, details = values_of(value) if has_numbers else (None, (math.nan,))
        state = outcome.status, task.identity, outcome.key, outcome.version
        rows.append((task.model, ", ".join(task.place.values()), score, details, *state))
    columns = ["model_name", "name", "score", "details", *_PROVENANCE]
    return pd.DataFrame(rows, columns=columns).astype({"score": float})


def _compare_others(
    one: pd.DataFrame, other: pd.DataFrame, same_vectors: set[str], tolerance: float
) -> pd.DataFrame:
    """Return a row for each result of either side."""
    table = _merged(one, other, ("model_name", "name"))
    status = _statuses(table, tolerance)
    pairs = zip(table["details_before"], table["details_after"], strict=True)
    # Where a side is missing, the status says so.
    same = [
        not isinstance(a, tuple)
        or not isinstance(b, tuple)
        or (len(a) == len(b) and np.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True))
        for a, b in pairs
    ]
    status[(status == "equal") & ~np.array(same, bool)] = "details changed"
    numbers = table[["model_name", "name", "score_before", "score_after"]].assign(
        change=table["score_after"] - table["score_before"],
        status=status,
        differs=_reasons(table, same_vectors),
    )
    return numbers.join(table[["details_before", "details_after"]])


def _settings(before: StudyResults, after: StudyResults) -> pd.DataFrame:
    """Return what decides aggregated scores and ranks, and is not the same."""
    one, other = _settings_of(before), _settings_of(after)
    for part in before.plan.query_sets:
        # Those of one study only are told by their scores.
        for also in (also for also in after.plan.query_sets if also.name == part.name):
            one[f"weight: {part.name}"], other[f"weight: {part.name}"] = part.weight, also.weight
    rows = [
        (name, *(_as_json(side.get(name)) for side in (one, other)))
        for name in dict.fromkeys([*one, *other])
        if one.get(name) != other.get(name)
    ]
    return pd.DataFrame(rows, columns=["setting", "before", "after"], dtype=object)


def _settings_of(results: StudyResults) -> dict[str, Any]:
    settings = results.plan.settings
    parts = {f"aggregation: {name}": value for name, value in settings["aggregation"].items()}
    return parts | {f"external: {column['name']}": column for column in settings["external"]}


def _as_json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


# For people


def _short(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with shares in percent, and without decimals of whole ranks."""
    frame = frame.copy()
    if "relative_change" in frame:
        shares = frame["relative_change"]
        frame["relative_change"] = shares.map("{:+.1%}".format, na_action="ignore").astype(object)
    ranks = [name for name in ("rank_before", "rank_after", "change") if name in frame]
    # Those of ties by their average are halves.
    if "ranking" in frame and (frame[ranks].dropna() % 1 == 0).all(axis=None):
        frame[ranks] = frame[ranks].astype("Int64")
    return frame


# Columns whose texts are no names that somebody chose.
_PROSE = ("status", "differs", "limit", "audit", "reason", "relative_change")
# What GitHub makes links, mentions and references of.
_LIVE = re.compile(r"@|#\w|://|www\.|mailto:", re.IGNORECASE)


def plain(text: str) -> str:
    r"""Return a text in one line, with escapes for what is not seen, or reorders the line.

    Examples
    --------
    >>> print(plain("a\n::error::b\x1b[31m"))
    a ::error::b\u001b[31m
    """
    return visible(" ".join(text.split()))


def markdown_table(frame: pd.DataFrame) -> str:
    r"""Return a table in Markdown; nothing in its cells is markup, a link or a mention.

    Examples
    --------
    >>> print(markdown_table(pd.DataFrame({"model_name": ["a|<b>"], "value": [0.5]})))
    | model name | value |
    |---|--:|
    | `a\|<b>` | 0.5 |
    """
    numeric = [
        pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        for kind in frame.dtypes
    ]
    shown = [markdown_text if name in _PROSE else markdown_name for name in frame]
    lines = [_line(markdown_text(str(name).replace("_", " ")) for name in frame)]
    lines.append("|" + "|".join("--:" if is_number else "---" for is_number in numeric) + "|")
    for row in frame.itertuples(index=False):
        lines.append(_line(show(value) for show, value in zip(shown, row, strict=True)))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    # A pipe ends a cell, in code as well.
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def markdown_name(value: Any) -> str:
    r"""Return a text that somebody chose as a code span, in which nothing is markup.

    Parameters
    ----------
    value : object
        What is no text is shown as :func:`markdown_text` does.

    Examples
    --------
    >>> print(markdown_name("`x` @team"))
    `` `x` @team ``
    """
    if not isinstance(value, str):
        return markdown_text(value)
    text = plain(value)
    if not text:
        return ""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    room = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{room}{text}{room}{fence}"


def markdown_text(value: Any) -> str:
    r"""Return a value as text that Markdown shows as it is.

    Parameters
    ----------
    value : object
        Numbers get four digits; None and NaN are nothing. Words of a text that would become links
        or mentions are code.

    Examples
    --------
    >>> print(markdown_text("*is* like @team"))
    \*is\* like `@team`
    """
    if value is None or value is pd.NA or value != value:
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | float | np.number):
        return f"{value:.4g}"
    words = plain(str(value)).split(" ")
    return " ".join(markdown_name(w) if _LIVE.search(w) else _escaped(w) for w in words)


def _escaped(text: str) -> str:
    text = "".join(f"\\{letter}" if letter in r"\`*_{}[]()#+!~$@" else letter for letter in text)
    # The first of them is in all others.
    for mark, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "&#124;")):
        text = text.replace(mark, entity)
    return text
