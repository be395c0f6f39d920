"""Compare two results of a study: scores, ranks, quality, audits and settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from wefe._checks import check_choice, check_number, found
from wefe._output import as_markdown
from wefe._visible import escape_markdown
from wefe.study._plan import digest
from wefe.study._results import StudyResults, row_of, silhouette_of
from wefe.study._schema import shown

#: Distances from no bias of an audited ranking.
IMPACT, GAP = "1 - impact ratio", "gap of mean scores"
#: Most rows and messages to print.
LONGEST_LIST = 40
#: What a row of :func:`measured` is about.
KEYS = ["model_name", "query_set", "query_name", "metric"]

# Statuses that count as no difference.
_SAME = {"equal", "NaN in both"}
_NUMBERS = ["score", "bias", "p_value", "score_lower", "score_upper"]
# Sections of a study file whose differences the tables show.
_LISTED = ["name", "models", "queries", "metrics", "mitigations", "silhouettes", "retrieval"]
_TABLES = ("aggregated", "ranks", "quality", "audits", "scores")


@dataclass(frozen=True, eq=False, repr=False)
class StudyDiff:
    """Result of :func:`diff`. Rows keep the order of the first study.

    Attributes
    ----------
    before, after : str
        Names of the studies.
    table : DataFrame
        One row per item of either study: 'table' ('scores', 'aggregated', 'ranks' among the models
        of both studies, 'quality', or 'audits': of rankings, silhouettes and bias directions),
        'model_name', 'query_set', 'query_name', 'metric' (or the ranked column, the benchmark, the
        audited quantity), and

        - 'before', 'after', 'change': the score or the rank; 'bias_change': change of the distance
          from no bias
        - 'beyond_interval': whether the change exceeds half of the wider bootstrap interval
        - 'p_value_before', 'p_value_after'
        - 'status': 'equal', 'changed', 'p-value changed', 'interval changed', 'NaN before', 'NaN
          after', 'NaN in both', or 'only before' and 'only after' (not part of the other study)
        - 'differs': what a score was computed from, if not from the same: 'words or parameters', or
          'vectors or version'
    settings : DataFrame
        Settings of the studies that differ: 'setting', 'before' and 'after'.

    Examples
    --------
    >>> from wefe.study import Study, diff
    >>> results = Study.example().run(":memory:", progress=False)
    >>> diff(results, results).is_empty
    True
    """

    before: str
    after: str
    table: pd.DataFrame
    settings: pd.DataFrame

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs. False if nothing could be compared."""
        is_same = self.table["status"].isin(_SAME).all() and self.settings.empty
        return bool(is_same and self._n_compared)

    @property
    def _n_compared(self) -> int:
        is_result = self.table["table"].isin(("scores", "quality", "audits"))
        return int((is_result & self.table["change"].notna()).sum())

    def changed(self, table: str = "scores") -> pd.DataFrame:
        """Return the rows of a table that differ.

        Parameters
        ----------
        table : {'scores', 'aggregated', 'ranks', 'quality', 'audits'}, default='scores'
            Which table.

        Returns
        -------
        DataFrame
            Rows whose status is not 'equal' or 'NaN in both', without the column 'table'.
        """
        check_choice("table", table, _TABLES)
        rows = self.table[(self.table["table"] == table) & ~self.table["status"].isin(_SAME)]
        return rows.drop(columns="table").reset_index(drop=True)

    def summary(self) -> str:
        """Return a one-line summary of the comparison, such as 'no difference in 6 results'."""
        if self.is_empty:
            return f"no difference in {self._n_compared:,} results"
        changed = self.table[~self.table["status"].isin(_SAME)]
        counts: Any = changed.groupby(["table", "status"]).size()
        parts = [f"{name}: {n:,} {status}" for (name, status), n in counts.items()]
        parts += [f"settings changed: {len(self.settings)}"] if len(self.settings) else []
        return "; ".join(parts) or "there is nothing to compare"

    def to_markdown(self) -> str:
        """Return the differences as text for a pull request, the largest 40 of each table."""
        title = escape_markdown(f"{self.before} before, {self.after} after")
        tables = [as_markdown(*each) for each in self.tables()]
        return "\n".join([f"## {title}\n\n{self.summary()}\n", *tables])

    def tables(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield readable tables of the differences.

        Yields
        ------
        title : str
            Title of the table, with its numbers of rows if some are not shown.
        table : DataFrame
            At most 40 rows, without empty columns: rows without a score, then the largest changes.
        """
        for name in _TABLES:
            rows = self.changed(name)
            size = rows["change"].abs().fillna(math.inf)
            rows = rows.loc[size.sort_values(ascending=False, kind="stable").index]
            if len(rows):
                yield first_rows(name.capitalize(), rows)
        if len(self.settings):
            yield "Settings", self.settings

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"


def diff(before: StudyResults, after: StudyResults, tolerance: float = 0.0) -> StudyDiff:
    """Compare two results; scores match by the names of model, query set, query and metric.

    Parameters
    ----------
    before, after : StudyResults
        The results to compare.
    tolerance : float, default=0.0
        Largest difference that counts as equal. Results from one machine agree exactly; use 1e-6
        for results from two machines.

    Returns
    -------
    StudyDiff
        The differences; `is_empty` is True if there are none.

    Examples
    --------
    >>> from wefe.study import Study, diff
    >>> data = Study.example().declaration.canonical()
    >>> before = Study(data).run(":memory:", progress=False)
    >>> data["queries"][0]["query"][0]["targets"]["Male terms"] = ["he", "boy"]
    >>> after = Study(data).run(":memory:", progress=False)
    >>> diff(before, after).changed()[["metric", "before", "after", "differs"]].round(2).head(1)
        metric  before  after              differs
    0  WEAT-ES    0.24  -0.89  words or parameters
    """
    check_results(before=before, after=after)
    tolerance = check_number("tolerance", tolerance, 0)
    labels = {model.label for model in after.plan.models}
    models = [model.label for model in before.plan.models if model.label in labels]
    table = _compared(_tidy(before, models), _tidy(after, models), tolerance)
    flat = pd.json_normalize([dict(each.plan.settings) for each in (before, after)]).astype(object)
    settings = flat.drop(columns=_LISTED, errors="ignore").T.set_axis(["before", "after"], axis=1)
    # The order of keys does not matter.
    settings = settings[settings["before"].map(digest) != settings["after"].map(digest)].map(shown)
    settings = settings.rename_axis("setting").reset_index()
    return StudyDiff(before.plan.name, after.plan.name, table, settings)


def first_rows(title: str, rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return a table to print, without empty columns, and a title that says if it is cut."""
    shown = rows.head(LONGEST_LIST).dropna(axis="columns", how="all").reset_index(drop=True)
    return title + f" ({len(shown)} of {len(rows):,})" * (len(shown) < len(rows)), shown


def check_results(**given: object) -> None:
    for name, value in given.items():
        if not isinstance(value, StudyResults):
            raise TypeError(f"{name} must be a StudyResults; got {found(value)}.")


def measured(results: StudyResults) -> pd.DataFrame:
    """Return the scores and audited rankings of a study, with 'bias' and 'identity'.

    The 'attribute' of rankings is the one by which names differ; scores have ''.
    """
    scores = results._tidy.assign(table="scores", attribute="").astype(object)
    rankings = pd.DataFrame(_rankings(results), dtype=object)
    return pd.concat([scores, rankings]).astype({"bias": float})


def _rankings(results: StudyResults) -> Iterator[dict[str, Any]]:
    """Yield the distance from no bias of each attribute of a ranking audit, by both measures."""
    from wefe.retrieval import RankingAudit
    from wefe.retrieval._audit import groups_of

    for task, outcome in results.of_kind("retrieval"):
        about = {"table": "audits", **row_of(task, outcome), "query_set": task.place["audit"]}
        audit = outcome.value and RankingAudit._from_dict(outcome.value["audit"])
        for attribute in dict.fromkeys(key for key, _ in groups_of(dict(task.identity["names"]))):
            found = {IMPACT: math.nan, GAP: math.nan}
            if audit:
                groups, gaps = (
                    table[table["attribute"] == attribute] for table in (audit.groups, audit.gaps)
                )
                found = {IMPACT: 1 - groups["impact_ratio"].min(), GAP: gaps["gap"].abs().max()}
            for metric, bias in found.items():
                of_audit = {"metric": metric, "score": bias, "bias": bias}
                yield {**about, "query_name": attribute, "attribute": attribute, **of_audit}


def _audits(results: StudyResults) -> Iterator[dict[str, Any]]:
    """Yield the robustness of each silhouette, and what the first component explains."""
    for task, outcome in results.of_kind("silhouette") + results.of_kind("direction"):
        about = {"table": "audits", **row_of(task, outcome)}
        about["query_name"] = ", ".join(task.place.values())
        metric, score = "variance of the first component", math.nan
        if task.kind == "silhouette":
            found, metric = silhouette_of(task, outcome), "robustness of the silhouette"
            score = math.nan if isinstance(found, str) else found.robustness
        elif outcome.value and outcome.value["audit"]:
            score = outcome.value["audit"]["explained_variance_ratio"][0]
        yield {**about, "metric": metric, "score": score}


# One tidy table of each study, and the two side by side


def _tidy(results: StudyResults, models: list[str]) -> pd.DataFrame:
    """Return everything to compare, one row per score, total, rank, benchmark and audit."""
    ties = results.plan.settings["aggregation"]["ties"]
    quality = results._quality_table().rename(columns={"benchmark": "metric"})
    audits = pd.DataFrame(_audits(results))
    tables = [measured(results), quality.assign(table="quality"), audits]
    totals = results.totals[results.totals["model_name"].isin(models)]
    bias = (totals["score"] - totals["best"]).abs()
    tables.append(totals.assign(table="aggregated", bias=bias))
    for place in results._places:
        ranks = results.rankings(place).loc[models].rank(method=ties).rename_axis("model_name")
        ranked: Any = ranks.rename_axis(columns="metric").unstack()
        tables.append(ranked.rename("score").reset_index().assign(table="ranks", query_set=place))
    columns = ["table", *KEYS, *_NUMBERS, "identity", "key"]
    tidy = pd.concat([table.reindex(columns=columns).astype(object) for table in tables])
    return tidy.astype(dict.fromkeys(_NUMBERS, float)).set_index(["table", *KEYS])


def _compared(one: pd.DataFrame, other: pd.DataFrame, tolerance: float) -> pd.DataFrame:
    index = one.index.append(other.index[~other.index.isin(one.index)])
    a, b = one.reindex(index), other.reindex(index)
    change = b["score"] - a["score"]
    widths = [side["score_upper"] - side["score_lower"] for side in (a, b)]
    half = pd.concat(widths, axis=1).max(axis=1) / 2
    beyond = (change.abs() > half).astype("boolean").mask(half.isna() | change.isna())

    def differ(*names: str) -> pd.Series:
        x, y = a[[*names]], b[[*names]]
        same = (x == y) | ((y - x).abs() <= tolerance) | (x.isna() & y.isna())
        return ~same.all(axis=1)

    changed = differ("score")
    # With a tolerance, ranks may change although all aggregates agree.
    kind = index.get_level_values("table")
    places = pd.MultiIndex.from_frame(index.to_frame()[["query_set", "metric"]])
    steady = places[kind == "aggregated"].difference(places[(kind == "aggregated") & changed])
    changed &= ~((kind == "ranks") & places.isin(steady) & (tolerance > 0))
    was_nan, is_nan = a["score"].isna(), b["score"].isna()
    # The first that holds.
    statuses: dict[str, Any] = {
        "only before": ~index.isin(other.index),
        "only after": ~index.isin(one.index),
        "NaN in both": was_nan & is_nan,
        "NaN before": was_nan,
        "NaN after": is_nan,
        "changed": changed,
        "p-value changed": differ("p_value"),
        "interval changed": differ("score_lower", "score_upper"),
    }
    in_both = a["identity"].notna() & b["identity"].notna()
    causes: dict[str, Any] = {
        "words or parameters": in_both & (a["identity"] != b["identity"]),
        "vectors or version": in_both & (a["key"] != b["key"]),
    }
    table = {
        "before": a["score"],
        "after": b["score"],
        "change": change,
        "bias_change": b["bias"] - a["bias"],
        "beyond_interval": beyond,
        "p_value_before": a["p_value"],
        "p_value_after": b["p_value"],
        "status": _first(statuses, "equal"),
        "differs": _first(causes, None),
    }
    return pd.DataFrame(table).reset_index()


def _first(conditions: Mapping[str, Any], default: str | None) -> np.ndarray:
    """Return the name of the first condition that holds in each row."""
    names: Any = [np.array(name, dtype=object) for name in conditions]
    return np.select([*conditions.values()], names, np.array(default))
