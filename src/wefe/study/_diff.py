"""Compare two results of a study: scores, ranks, quality, audits and settings."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from wefe._checks import check_choice, check_number, found
from wefe._visible import html_table, one_line
from wefe.study._plan import Outcome, Task
from wefe.study._results import StudyResults, silhouette_of

#: Distances from no bias of an audited ranking.
IMPACT, GAP = "1 - impact ratio", "gap of mean scores"
#: What a row of :func:`scores_of` is about.
KEYS = ["model_name", "query_set", "query_name", "metric"]

# Statuses that count as no difference.
_SAME = {"equal", "NaN in both", "within tolerance"}
_NUMBERS = ["score", "bias", "p_value", "score_lower", "score_upper"]
_STATE = ["details", "status", "identity", "key", "wefe_version"]
# Sections of a study file that decide nothing, or whose differences the tables show.
_NOT_NOTED = ("name", "description", "models")
_LONGEST_LIST = 40
_TABLES = {
    "aggregated": "Aggregated scores",
    "ranks": "Ranks",
    "quality": "Quality",
    "audits": "Audits",
    "scores": "Scores",
}


@dataclass(frozen=True, eq=False, repr=False)
class StudyDiff:
    """Result of :func:`diff`. Rows keep the order of the first study.

    Attributes
    ----------
    before, after : str
        Names of the studies.
    tolerance : float
        Largest difference of two scores that counts as equal.
    table : DataFrame
        One row per item of either study: 'table' ('scores', 'aggregated', 'ranks' among the models
        of both studies, 'quality' or 'audits'), 'model_name', 'query_set', 'query_name', 'metric'
        (or the ranked column, the benchmark, the audited quantity), and

        - 'before', 'after', 'change': the score, the rank, the robustness of a silhouette, or the
          share of variance of the first component of a bias direction
        - 'bias_before', 'bias_after', 'bias_change': distance from no bias; 'relative_change' of it
          (0.1 means 10 % more)
        - 'beyond_interval': whether the change exceeds half of the wider bootstrap interval
        - 'p_value_before', 'p_value_after'
        - 'status': 'equal', 'changed', 'p-value changed', 'interval changed', 'details changed'
          (other items of a benchmark, another curve), 'NaN before', 'NaN after', 'NaN in both',
          'computed after only', 'computed before only', 'computed in neither', 'only before' or
          'only after' (not part of the other study), 'within tolerance' (ranks only)
        - 'differs': which inputs differ ('query', 'parameters', 'vectors', 'version', 'version,
          perhaps vectors', 'words that all models have')
    settings : DataFrame
        Settings of aggregation and ranking that differ: 'setting', 'before' and 'after'.
    notes : tuple of str
        Other differences between the studies.

    Examples
    --------
    >>> from wefe.study import Study, diff
    >>> results = Study.example().run(":memory:", progress=False)
    >>> diff(results, results).is_empty
    True
    """

    before: str
    after: str
    tolerance: float
    table: pd.DataFrame
    settings: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs. False if nothing could be compared."""
        is_same = self.table["status"].isin(_SAME).all() and self.settings.empty
        return bool(is_same) and bool(self._n_compared)

    @property
    def _n_compared(self) -> list[str]:
        counts = {"scores": "", "quality": "of ", "audits": "of "}
        sizes = {f"{of}{name}": len(self.rows(name)) for name, of in counts.items()}
        return [f"{n:,} {what}" for what, n in sizes.items() if n]

    def rows(self, table: str = "scores") -> pd.DataFrame:
        """Return the rows of one table.

        Parameters
        ----------
        table : {'scores', 'aggregated', 'ranks', 'quality', 'audits'}, default='scores'
            Which table.

        Returns
        -------
        DataFrame
            The columns of `table` other than 'table'.
        """
        check_choice("table", table, _TABLES)
        part = self.table[self.table["table"] == table]
        return part.drop(columns="table").reset_index(drop=True)

    def changed(self, table: str = "scores") -> pd.DataFrame:
        """Return the rows of a table that differ.

        Parameters
        ----------
        table : str, default='scores'
            As in :meth:`rows`.

        Returns
        -------
        DataFrame
            Rows whose status is not 'equal', 'NaN in both' or 'within tolerance'.
        """
        rows = self.rows(table)
        return rows[~rows["status"].isin(_SAME)].reset_index(drop=True)

    def summary(self) -> str:
        """Return a one-line summary of the comparison, such as 'no difference in 6 scores'."""
        if self.is_empty:
            return f"no difference in {'; nor in '.join(self._n_compared)}"
        parts = [
            f"{name}: {', '.join(f'{n:,} {status}' for status, n in counts.items())}"
            for name in _TABLES
            if not _SAME.issuperset(
                (counts := self.rows(name)["status"].value_counts(sort=False)).index
            )
        ]
        parts += [f"settings changed: {len(self.settings)}"] if len(self.settings) else []
        return "; ".join(parts) or "there is nothing to compare"

    def to_markdown(self, limit: int = _LONGEST_LIST) -> str:
        """Return the differences as text for a pull request.

        Parameters
        ----------
        limit : int, default=40
            Maximum number of rows per table; the largest changes are kept.

        Returns
        -------
        str
            Markdown.
        """
        title = f"{markdown_name(self.before)} before, {markdown_name(self.after)} after"
        lines = [f"## {title}", "", self.summary()]
        lines += [f"- {markdown_text(note)}" for note in self.notes]
        for title, frame, n_more in self.tables(limit):
            lines += ["", f"### {title}", "", markdown_table(frame)]
            lines += ["", f"... and {n_more:,} more"] if n_more else []
        return "\n".join([*lines, ""])

    def tables(self, limit: int = _LONGEST_LIST) -> Iterator[tuple[str, pd.DataFrame, int]]:
        """Yield readable tables of the differences.

        Parameters
        ----------
        limit : int, default=40
            Maximum number of rows per table: rows without a score first, then the largest changes.

        Yields
        ------
        title : str
            Title of the table.
        table : DataFrame
            The rows, without empty columns.
        n_more : int
            Number of rows not shown.
        """
        for name, title in _TABLES.items():
            rows = self.changed(name)
            # Rows that could not be compared come first.
            size = rows["change"].abs().fillna(math.inf)
            rows = rows.loc[size.sort_values(ascending=False, kind="stable").index]
            shown = rows.head(limit).drop(columns=["bias_before", "bias_after", "change"])
            if len(shown):
                whole = shown.dropna(axis="columns", how="all").reset_index(drop=True)
                yield title, _for_people(whole, name), len(rows) - len(shown)
        if len(self.settings):
            yield "Settings", self.settings.head(limit), max(0, len(self.settings) - limit)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"

    def _repr_html_(self) -> str:
        parts = [html_table(title, table) for title, table, _ in self.tables()]
        return html_table(self.summary(), [], self.notes) + "".join(parts)


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
        metric  before  after differs
    0  WEAT-ES    0.24  -0.89   query
    """
    check_results(before=before, after=after)
    tolerance = check_number("tolerance", tolerance, 0)
    labels = {model.label for model in after.plan.models}
    models = [model.label for model in before.plan.models if model.label in labels]
    same_vectors = _on_the_same_vectors(before, after)
    table = _compared(_tidy(before, models), _tidy(after, models), tolerance, same_vectors)
    declared = _changed(before.plan.settings, after.plan.settings)
    parts = [key for key, *_ in declared if key not in _NOT_NOTED]
    notes = (f"the study files differ in: {', '.join(parts)}",) if parts else ()
    names = before.plan.name, after.plan.name
    return StudyDiff(*names, tolerance, table, _settings(before, after), notes)


def check_results(**given: object) -> None:
    for name, value in given.items():
        if not isinstance(value, StudyResults):
            raise TypeError(f"{name} must be a StudyResults; got {found(value)}.")


def measured(results: StudyResults) -> pd.DataFrame:
    """Return the scores and audited rankings of a study, with 'bias' and 'identity'."""
    scores = results._tidy.assign(table="scores").astype(object)
    rankings = pd.DataFrame(_rankings(results), dtype=object)
    return pd.concat([scores, rankings]).astype({"bias": float})


def _rankings(results: StudyResults) -> Iterator[dict[Any, Any]]:
    """Yield the distance from no bias of each attribute of a ranking audit, by both measures."""
    from wefe.retrieval import RankingAudit
    from wefe.retrieval._audit import groups_of

    for task, outcome in results.of_kind("retrieval"):
        about: dict[Any, Any] = {"table": "audits", "query_set": task.place["audit"]}
        about |= {"model_name": task.model, **outcome.provenance}
        about |= {"nan_reason": outcome.why, "identity": task.identity}
        audit = outcome.value and RankingAudit.from_dict(outcome.value["audit"])
        for attribute in dict.fromkeys(key for key, _ in groups_of(dict(task.identity["names"]))):
            found = {IMPACT: math.nan, GAP: math.nan}
            if audit:
                groups, gaps = (
                    table[table["attribute"] == attribute] for table in (audit.groups, audit.gaps)
                )
                found = {IMPACT: 1 - groups["impact_ratio"].min(), GAP: gaps["gap"].abs().max()}
            for metric, bias in found.items():
                yield {**about, "query_name": attribute, "metric": metric} | {
                    "score": bias,
                    "bias": bias,
                }


# One tidy table of each study, and the two side by side


def _tidy(results: StudyResults, models: list[str]) -> pd.DataFrame:
    """Return everything to compare, one row per score, total, rank, benchmark and audit."""
    ties, tables = results.plan.settings["aggregation"]["ties"], []
    for place in results._places:
        for totals in results.totals(place).values():
            bias = (totals["score"] - totals["best"]).abs()
            tables.append(totals.assign(table="aggregated", query_set=place, bias=bias))
        ranks = results.rankings(place).loc[models].rank(method=ties).rename_axis("model_name")
        ranked: Any = ranks.rename_axis(columns="metric").unstack()
        tables.append(ranked.rename("score").reset_index().assign(table="ranks", query_set=place))
    rows = measured(results).to_dict("records")
    rows += [
        row for table in tables for row in table.to_dict("records") if row["model_name"] in models
    ]
    for task, outcome in zip(results.plan.tasks, results.outcomes, strict=True):
        if task.kind in ("quality", "silhouette", "direction"):
            about: dict[Any, Any] = {"model_name": task.model, "identity": task.identity}
            about |= outcome.provenance | _described(task, outcome)
            rows.append(about)
    tidy = pd.DataFrame(rows, columns=["table", *KEYS, *_NUMBERS, *_STATE], dtype=object)
    return tidy.astype(dict.fromkeys(_NUMBERS, float)).set_index(["table", *KEYS])


def _described(task: Task, outcome: Outcome) -> dict[str, Any]:
    """Return the columns that describe the result of a benchmark or an audit."""
    about: dict[str, Any]
    value = outcome.value or {}
    if task.kind == "quality":
        about = {"table": "quality", "metric": task.place["benchmark"]}
        details = [value["n_used"]] if value else None
        return about | {"score": value.get("score"), "details": details}
    about = {"table": "audits", "query_name": ", ".join(task.place.values())}
    if task.kind == "direction":
        shares = (value.get("audit") or {}).get("explained_variance_ratio", [])
        about["metric"] = "variance of the first component"
        return about | {"score": next(iter(shares), None), "details": shares}
    about["metric"] = "robustness of the silhouette"
    found = silhouette_of(task, outcome)
    if isinstance(found, str):
        return about
    return about | {"score": found.robustness, "details": list(np.ravel(found.curves))}


def _compared(
    one: pd.DataFrame, other: pd.DataFrame, tolerance: float, same_vectors: set[str]
) -> pd.DataFrame:
    index = one.index.append(other.index[~other.index.isin(one.index)])
    only = {"before": ~index.isin(other.index), "after": ~index.isin(one.index)}
    one, other = one.reindex(index), other.reindex(index)
    table = pd.DataFrame({"before": one["score"], "after": other["score"]})
    table["change"] = change = other["score"] - one["score"]
    table["bias_before"], table["bias_after"] = one["bias"], other["bias"]
    table["bias_change"] = other["bias"] - one["bias"]
    table["relative_change"] = (table["bias_change"] / one["bias"]).where(one["bias"] > 0)
    widths = [side["score_upper"] - side["score_lower"] for side in (one, other)]
    half = pd.concat(widths, axis=1).max(axis=1) / 2
    beyond = (change.abs() > half).astype("boolean")
    table["beyond_interval"] = beyond.mask(half.isna() | change.isna())
    table["p_value_before"], table["p_value_after"] = one["p_value"], other["p_value"]
    status = _statuses(one, other, tolerance)
    for side, is_only in only.items():
        status[is_only] = f"only {side}"
    # Ignore rank changes if all scores agree within the tolerance.
    places = pd.MultiIndex.from_frame(index.to_frame()[["query_set", "metric"]])
    kind = index.get_level_values("table")
    is_total, is_same = kind == "aggregated", status.isin(_SAME)
    steady = places[is_total].difference(places[is_total & ~is_same])
    is_noise = (kind == "ranks") & places.isin(steady) & (tolerance > 0)
    table["status"] = status.mask(is_noise & (status == "changed"), "within tolerance")
    pairs = zip(one.to_dict("records"), other.to_dict("records"), strict=True)
    table["differs"] = [
        ", ".join(_what_differs(*pair, has_same_vectors=model in same_vectors)) or None
        for pair, model in zip(pairs, index.get_level_values("model_name"), strict=True)
    ]
    return table.reset_index()


def _statuses(one: pd.DataFrame, other: pd.DataFrame, tolerance: float) -> pd.Series:
    def differ(*names: str) -> pd.Series:
        a, b = one[[*names]], other[[*names]]
        same = (a == b) | ((b - a).abs() <= tolerance) | (a.isna() & b.isna())
        return ~same.all(axis=1)

    status = pd.Series("equal", index=one.index, dtype=object)
    # Later assignments take precedence.
    pairs = zip(one["details"], other["details"], strict=True)
    status[[not _alike(*pair, tolerance) for pair in pairs]] = "details changed"
    status[differ("score_lower", "score_upper")] = "interval changed"
    status[differ("p_value")] = "p-value changed"
    # Equal aggregated values may have different distances from no bias.
    status[differ("score", "bias")] = "changed"
    nan = one["score"].isna(), other["score"].isna()
    status[nan[0]], status[nan[1]] = "NaN before", "NaN after"
    status[nan[0] & nan[1]] = "NaN in both"
    done = [side["status"].fillna("done") == "done" for side in (one, other)]
    status[~done[1]], status[~done[0]] = "computed before only", "computed after only"
    status[~done[0] & ~done[1]] = "computed in neither"
    return status


def _alike(one: Any, other: Any, tolerance: float) -> bool:
    """Return whether two lists of numbers are equal; True if either is missing."""
    if not isinstance(one, list) or not isinstance(other, list):
        return True
    same = len(one) == len(other)
    return same and np.allclose(one, other, rtol=0, atol=tolerance, equal_nan=True)


def _what_differs(
    one: Mapping[Any, Any], other: Mapping[Any, Any], *, has_same_vectors: bool
) -> Iterator[str]:
    asked, was_asked = other["identity"], one["identity"]
    if not isinstance(asked, Mapping) or not isinstance(was_asked, Mapping):
        return
    if asked.get("query") != was_asked.get("query"):
        yield "query"
    if {**asked, "query": None} != {**was_asked, "query": None}:
        yield "parameters"
    if {one["status"], other["status"]} != {"done"}:
        return
    if one["wefe_version"] != other["wefe_version"]:
        # The key contains the version, so it cannot show whether the vectors differ.
        yield "version" if has_same_vectors else "version, perhaps vectors"
    # The key is a hash of these, the vectors, and the words that other models lack.
    elif asked == was_asked and one["key"] != other["key"]:
        yield "words that all models have" if has_same_vectors else "vectors"


def _on_the_same_vectors(before: StudyResults, after: StudyResults) -> set[str]:
    """Return the models known to have the same vectors in both studies."""
    one, other = (
        {(label, about.get("fingerprint")) for label, about in each.models.items()}
        for each in (before, after)
    )
    return {label for label, fingerprint in one & other if fingerprint is not None}


def _settings(before: StudyResults, after: StudyResults) -> pd.DataFrame:
    # Query sets of only one study show up in the scores.
    shared = before._query_sets.keys() & after._query_sets.keys()
    rows = _changed(_settings_of(before, shared), _settings_of(after, shared))
    return pd.DataFrame(rows, columns=["setting", "before", "after"], dtype=object)


def _changed(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    both = [(name, one.get(name), other.get(name)) for name in {**one, **other}]
    return [each for each in both if each[1] != each[2]]


def _settings_of(results: StudyResults, shared: Collection[str]) -> dict[str, str]:
    settings, sets = results.plan.settings, results.plan.query_sets
    parts = {f"aggregation: {name}": value for name, value in settings["aggregation"].items()}
    parts |= {f"external: {column['name']}": column for column in settings["external"]}
    parts |= {f"weight: {part.name}": part.weight for part in sets if part.name in shared}
    return {
        name: json.dumps(value, ensure_ascii=False, sort_keys=True)
        for name, value in parts.items()
        if value is not None
    }


# Readable tables


def _for_people(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    """Format shares as percentages and whole ranks as integers."""
    if "relative_change" in frame:
        shares = frame["relative_change"].map("{:+.1%}".format, na_action="ignore")
        frame = frame.assign(relative_change=shares.astype(object))
    ranks = frame.columns.intersection(["before", "after"])
    # Average ranks of ties are not whole.
    if table == "ranks" and ((frame[ranks] % 1).fillna(0) == 0).all(axis=None):
        frame = frame.astype(dict.fromkeys(ranks, "Int64"))
    return frame


# Columns that contain no user-chosen names.
_PROSE = ("status", "differs", "limit", "audit", "reason", "relative_change")
# Texts that GitHub turns into links, mentions and references.
_LIVE = re.compile(r"@|#\w|://|www\.|mailto:", re.IGNORECASE)


def markdown_table(frame: pd.DataFrame) -> str:
    """Return a table in Markdown whose cells cannot contain markup, links or mentions."""
    cells = frame.astype(object).apply(
        lambda column: column.map(markdown_text if column.name in _PROSE else markdown_name)
    )
    numbers = set(frame.select_dtypes("number"))
    return "\n".join(
        [
            _line(markdown_text(str(name).replace("_", " ")) for name in frame),
            "|" + "|".join("--:" if name in numbers else "---" for name in frame) + "|",
            *map(_line, cells.itertuples(index=False)),
        ]
    )


def _line(cells: Iterable[str]) -> str:
    # A pipe ends a cell, even in code.
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def markdown_name(value: Any) -> str:
    """Return a user-chosen text as a code span; other values as :func:`markdown_text` does."""
    if not isinstance(value, str):
        return markdown_text(value)
    text = one_line(value)
    if not text:
        return ""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    room = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{room}{text}{room}{fence}"


def markdown_text(value: Any) -> str:
    r"""Return text that Markdown shows as it is: 4 digits, None and NaN as '', links as code.

    >>> print(markdown_text("*is* like @team"))
    \*is\* like `@team`
    """
    if pd.isna(value) is True:
        return ""
    if isinstance(value, bool | np.bool_):
        return ("no", "yes")[bool(value)]
    if isinstance(value, int | float | np.number):
        return f"{value:.4g}"
    words = one_line(value).split(" ")
    return " ".join(markdown_name(w) if _LIVE.search(w) else _escaped(w) for w in words)


def _escaped(text: str) -> str:
    text = re.sub(r"([\\`*_{}\[\]()#+!~$@])", r"\\\1", text)
    return html.escape(text, quote=False).replace("|", "&#124;")
