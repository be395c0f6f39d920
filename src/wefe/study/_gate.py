"""Check whether the bias measured by a study stays within limits: a gate for releases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import Any, Literal, TypeAlias, get_args

import pandas as pd

from wefe._checks import check_choice, check_number, check_share, found
from wefe._visible import html_table
from wefe.study._diff import (
    GAP,
    IMPACT,
    KEYS,
    check_results,
    markdown_table,
    markdown_text,
    measured,
)
from wefe.study._extras import parse_increase
from wefe.study._plan import Plan, Task
from wefe.study._results import StudyResults
from wefe.study._schema import no_such, plain_name

On: TypeAlias = Literal["aggregated", "scores"]

#: An increase below this is rounding of vectors of 32 bits, and passes.
ROUNDING = 1e-6

_COLUMNS = [
    *("limit", "metric", "query_set", "query_name", "model_name", "n_scores"),
    *("value", "baseline", "most", "margin", "passed", "reason"),
]
_LONGEST_LIST = 40
# What identifies a checked value; a mean over queries has no query.
_NAMES = ["metric", "query_set", "model_name", "query_name"]
_UNIT = [*_NAMES[:3], "unit"]


@dataclass(frozen=True, eq=False, repr=False)
class GateReport:
    """Result of :func:`check`. Passing does not mean that a model has no bias.

    Attributes
    ----------
    table : DataFrame
        One row per limit ('max' or 'increase'), metric, query set, model and, with ``on="scores"``,
        query: 'limit', 'metric', 'query_set', 'query_name', 'model_name', 'n_scores', 'value' (mean
        distance from no bias), 'baseline', 'most' (largest value that passes), 'margin' ('most'
        minus 'value'), 'passed' and 'reason'.
    notes : tuple of str
        Remarks that do not affect the outcome.

    Examples
    --------
    >>> from wefe.study import Study, check
    >>> report = check(Study.example().run(":memory:", progress=False), max_bias={"weat-es": 0.1})
    >>> report.passed, len(report.violations)
    (False, 1)
    """

    table: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all limits are kept. False if nothing was checked."""
        return bool(self.table["passed"].all() and self._n_compared)

    @property
    def _n_compared(self) -> int:
        # Scores that are new or gone have no limit.
        return int((self.table["most"].notna() & self.table["value"].notna()).sum())

    @property
    def violations(self) -> pd.DataFrame:
        """The rows that did not pass."""
        return self.table[~self.table["passed"]].reset_index(drop=True)

    def to_frame(self) -> pd.DataFrame:
        """Return a copy of `table`."""
        return self.table.copy()

    def short(self) -> pd.DataFrame:
        """Return violations, or else the rows closest to each limit, without empty columns."""
        shown = self.violations
        if shown.empty:
            nearest_to_limit = self.table["margin"].fillna(math.inf).sort_values(kind="stable")
            ordered = self.table.loc[nearest_to_limit.index]
            shown = ordered.drop_duplicates(["limit", "metric", "query_set"]).sort_index()
        return shown.drop(columns="passed").dropna(axis="columns", how="all").reset_index(drop=True)

    def messages(self) -> list[str]:
        """Return a list with a sentence for each violation."""
        return [
            f"{', '.join(filter(None, (row[key] for key in _NAMES)))}: {row['reason']}"
            for row in self.violations.to_dict("records")
        ]

    def summary(self) -> str:
        """Return the outcome in one line, for example 'failed: 1 of 2 checks'."""
        n_failed, n, n_compared = len(self.violations), len(self.table), self._n_compared
        if n_failed:
            return f"failed: {n_failed:,} of {n:,} checks"
        if not n_compared:
            return "failed: nothing was compared"
        others = f", {n - n_compared:,} without a comparison" if n > n_compared else ""
        return f"passed: {n_compared:,} of {n_compared:,} checks{others}"

    def to_markdown(self, limit: int = _LONGEST_LIST) -> str:
        """Return the report as text for a pull request or a job summary.

        Parameters
        ----------
        limit : int, default=40
            Maximum number of rows in the table.

        Returns
        -------
        str
            Markdown: a title with the outcome, the table of :meth:`short`, and `notes`.
        """
        shown = self.short()
        title = "Not within limits" if len(self.violations) else "Nearest to the limits"
        lines = [f"## Bias gate {self.summary()}", "", f"### {title}", ""]
        lines.append(markdown_table(shown.head(limit)))
        if len(shown) > limit:
            lines += ["", f"... and {len(shown) - limit:,} more"]
        lines += ["", *(f"- {markdown_text(note)}" for note in self.notes)] if self.notes else []
        lines += [
            "",
            "Values are distances from the score that means no bias. If the gate passes, the "
            "measured values are within their limits. It does not mean that a model has no bias.",
        ]
        return "\n".join([*lines, ""])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"

    def _repr_html_(self) -> str:
        return html_table(f"Bias gate {self.summary()}", self.short(), self.notes)


def check(
    results: StudyResults,
    *,
    max_bias: Mapping[str, float] | None = None,
    min_impact_ratio: float | None = None,
    max_gap: float | None = None,
    max_increase: str | float | None = None,
    baseline: StudyResults | None = None,
    on: On = "aggregated",
    allow_new: bool = False,
    allow_gone: bool = False,
    allow_nan: bool = False,
) -> GateReport:
    """Check the results of a study against limits.

    Values are distances from the score that means no bias, so scores on both sides of it (0 for
    WEAT, 1 for ECT and MAC) do not cancel out.

    Parameters
    ----------
    results : StudyResults
        The results to check.
    max_bias : dict of float, optional
        Metric (label or name, in any case) -> largest distance that passes, 0 or more. Default:
        [limits] of the study file, unless `max_increase` is given.
    min_impact_ratio, max_gap : float, optional
        In ranking audits, the lowest impact ratio of a group (0.8 is the four-fifths rule) and the
        largest gap between the mean scores of two groups. Default: [limits].
    max_increase : str or float, optional
        How much a value may exceed the baseline: relative ('10%') or absolute (0.05). An increase
        below 1e-6 counts as rounding. Default: [limits], if no `max_bias` or a `baseline` is given.
    baseline : StudyResults, optional
        Results to compare with, matched by model, query set, query and metric.
    on : {'aggregated', 'scores'}, default='aggregated'
        Check the mean distance over each query set, or every score; in ranking audits the gap of
        the means, or of every query, because opposite gaps cancel in the mean.
    allow_new, allow_gone : bool, default=False
        Whether scores may be missing from the baseline, or scores of the baseline from the study.
    allow_nan : bool, default=False
        Whether to ignore NaN scores if others remain. Scores that were not computed always fail.

    Returns
    -------
    GateReport
        The checks; see its `passed`.

    Examples
    --------
    >>> from wefe.study import Study, check
    >>> results = Study.example().run(":memory:", progress=False)
    >>> check(results, max_bias={"weat-es": 0.1}).messages()
    ['WEAT-ES, Gender, minilm-words: 0.235 is more than 0.1']
    """
    check_choice("on", on, get_args(On))
    check_results(results=results)
    if baseline is not None:
        check_results(baseline=baseline)
    if max_bias is not None and not isinstance(max_bias, Mapping):
        raise TypeError(
            f"max_bias must be a dict, for example {{'weat-es': 0.5}}; got {found(max_bias)}."
        )
    declared = results.plan.settings["limits"]
    if max_increase is None and (not max_bias or baseline is not None):
        max_increase = declared["max_increase"]
        max_bias = max_bias or declared["max"]
    limits = limits_by_label(max_bias or {}, results.plan)
    limits |= _limits_of_rankings(results.plan, min_impact_ratio, max_gap)
    increase = _checked_increase(max_increase, bool(limits), baseline is not None)
    now, gone = _matched(results, baseline, on)
    rows = [
        *_judged(_without_nan(now) if allow_nan else now, limits, increase, allow_new),
        *_gone(gone.dropna(subset="bias"), allow_gone),
    ]
    table = pd.DataFrame(rows, columns=_COLUMNS, dtype=object)
    table["margin"] = table["most"] - table["value"]
    numbers = dict.fromkeys(("value", "baseline", "most", "margin"), float)
    table = table.astype({**numbers, "n_scores": int, "passed": bool})
    notes = [*_notes_of_study(results, baseline, limits)]
    notes += [] if baseline is None else _notes_of_baseline(now, gone)
    return GateReport(table, tuple(notes))


def _checked_increase(
    max_increase: str | float | None, has_limits: bool, has_baseline: bool
) -> tuple[float, bool] | None:
    """Return the largest increase, and whether it is relative to the baseline."""
    if max_increase is None and not has_limits:
        raise ValueError(
            "there is no limit to check. Give a limit for a metric (max_bias={'weat-es': 0.5}, "
            "--max weat-es=0.5) or for the increase, or add [limits] to the study file."
        )
    if (max_increase is not None) != has_baseline:
        # In quotes, a key of a study file is not turned into an option of the command line.
        raise ValueError(
            "'max_increase' needs a baseline, and a baseline needs 'max_increase', such as '10%'."
        )
    return None if max_increase is None else parse_increase(max_increase)


def limits_by_label(max_bias: Mapping[str, float], plan: Plan) -> dict[str, float]:
    limits: dict[str, float] = {}
    for name, limit in max_bias.items():
        most = check_number(f"the limit of {name!r}", limit, 0)
        names = {metric.label: (metric.label, metric.metric) for metric in plan.metrics}
        labels = [each for each in names if plain_name(name) in map(plain_name, names[each])]
        if not labels:
            known = dict.fromkeys(chain(*names.values()))
            raise ValueError(no_such(name, known, "no metric of this study"))
        # An exact label takes precedence over other spellings.
        for label in [name] if name in labels else labels:
            limits[label] = min(most, limits.get(label, math.inf))
    return limits


def _limits_of_rankings(
    plan: Plan, min_impact_ratio: float | None, max_gap: float | None
) -> dict[str, float]:
    """Return the limits of ranking audits as distances from no bias."""
    declared = plan.settings["limits"]
    ratio = declared.get("min_impact_ratio") if min_impact_ratio is None else min_impact_ratio
    gap = declared.get("max_gap") if max_gap is None else max_gap
    limits: dict[str, float] = {}
    if ratio is not None:
        limits[IMPACT] = 1 - check_share("min_impact_ratio", ratio)
    if gap is not None:
        limits[GAP] = check_number("max_gap", gap, 0)
    if limits and not plan.settings.get("retrieval"):
        raise ValueError(
            "'min_impact_ratio' and 'max_gap' are for audits of rankings, and the study has no "
            "[[retrieval]]."
        )
    return limits


def check_each(scores: pd.DataFrame, most: float) -> list[str | None]:
    """Return, for each score of a table with 'bias', why it exceeds a limit, or None."""
    rows = scores.assign(status="done", unit="each").to_dict("records")
    return [_limited([row], most)["reason"] for row in rows]


# What is checked

_Row: TypeAlias = dict[Any, Any]


def _matched(
    results: StudyResults, baseline: StudyResults | None, on: On
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the distances from no bias beside those of the baseline, and what is only there."""

    def rows_of(which: StudyResults) -> pd.DataFrame:
        rows = measured(which, by_query=on == "scores")
        # A mean over queries has no name of a query.
        is_each = rows["metric"].isin((IMPACT, GAP)) | (on == "scores")
        rows["unit"] = rows["query_name"].where(is_each, "")
        return rows.set_index(KEYS, drop=False).rename_axis([None] * len(KEYS))

    now = rows_of(results)
    before = now.iloc[:0] if baseline is None else rows_of(baseline)
    return now.join(before.add_suffix("_before")), before[~before.index.isin(now.index)]


def _without_nan(rows: pd.DataFrame) -> pd.DataFrame:
    """Leave out NaN scores where others remain, because without any nothing was measured."""
    kept = rows["bias"].notna() | (rows["status"] != "done")
    query = rows["query_name"].where(rows["metric"].isin((IMPACT, GAP)), "")
    remains = kept.groupby([*(rows[name] for name in _UNIT[:3]), query]).transform("any")
    return rows[kept | ~remains]


def _units(scores: pd.DataFrame) -> dict[Any, list[_Row]]:
    """Group the scores whose mean is checked; in Python, as there may be a group per score."""
    units: dict[Any, list[_Row]] = {}
    for row in scores.to_dict("records"):
        units.setdefault(tuple(row[name] for name in _UNIT), []).append(row)
    return units


def _mean(rows: list[_Row], name: str = "bias") -> float:
    return fmean(row[name] for row in rows)


def _judged(
    scores: pd.DataFrame,
    limits: Mapping[str, float],
    increase: tuple[float, bool] | None,
    allow_new: bool,
) -> Iterator[_Row]:
    """Yield one row per limit on the mean of some scores."""
    for place, unit in _units(scores).items():
        names = _names(place)
        if names["metric"] in limits:
            yield names | _limited(unit, limits[names["metric"]])
        if increase is not None:
            yield names | _increased(unit, *increase, allow_new)


def _names(place: Any) -> _Row:
    return {name: each or None for name, each in zip(_NAMES, place, strict=True)}


def _limited(unit: list[_Row], most: float) -> _Row:
    value, reason = _mean(unit), _what_is_missing(unit)
    if value > most:
        reason = "{} is more than {}".format(*_apart(value, most))
    row = {"limit": "max", "n_scores": len(unit), "value": value, "most": most}
    return {**row, "passed": reason is None, "reason": reason}


def _increased(unit: list[_Row], share: float, is_relative: bool, allow_new: bool) -> _Row:
    known = [row for row in unit if not math.isnan(row["bias_before"])]
    missing, reason = _what_is_missing(unit), _no_baseline(unit)
    row = {"limit": "increase", "n_scores": len(unit if missing else known)}
    if missing or not known or (reason and not allow_new):
        row |= {"value": _mean(unit), "reason": missing or reason}
        return {**row, "passed": allow_new and not missing}
    # Compare the same scores: new ones would count as an increase.
    value, was = _mean(known), _mean(known, "bias_before")
    most = max(was * (1 + share) if is_relative else was + share, was + ROUNDING)
    if value > most:
        shown, old, limit = _apart(value, was, most)
        more = f"{value / was - 1:.1%}" if was > ROUNDING else f"{value - was:.3g}"
        reason = f"{shown} is {more} more than the {old} of the baseline; at most {limit} passes"
    row |= {"value": value, "baseline": was, "most": most, "passed": value <= most}
    return {**row, "reason": reason}


def _what_is_missing(unit: list[_Row]) -> str | None:
    """Return why the scores have no mean; None if all are available."""
    lost = [row for row in unit if math.isnan(row["bias"])]
    if not lost:
        return None
    query, why, status = (lost[0][name] for name in ("query_name", "nan_reason", "status"))
    if not lost[0]["unit"]:
        return f"{len(lost)} of {len(unit)} scores are missing; {query}: {why}"
    return f"{'NaN' if status == 'done' else 'not computed'}: {why}"


def _no_baseline(unit: list[_Row]) -> str | None:
    new = [row for row in unit if math.isnan(row["bias_before"])]
    if not new:
        return None
    n = "" if new[0]["unit"] else f" for {len(new)} of {len(unit)} scores"
    why = new[0]["nan_reason_before"]
    why = why if isinstance(why, str) else "it is not in there"
    return f"no baseline{n}; {new[0]['query_name']}: {why}"


def _apart(*values: float) -> list[str]:
    """Format numbers with enough digits to show that they differ."""
    n = len(set(values))
    digits = next((d for d in range(3, 17) if len({f"{v:.{d}g}" for v in values}) == n), 17)
    return [f"{value:.{digits}g}" for value in values]


def _gone(scores: pd.DataFrame, allow_gone: bool) -> Iterator[_Row]:
    """Yield a row for scores of the baseline that are no longer part of the study."""
    for place, unit in _units(scores).items():
        queries = "; ".join(row["query_name"] for row in unit[:3])
        if len(unit) > 3:
            queries += "; ..."
        reason = f"{len(unit)} of the baseline no longer in the study: {queries}"
        row = {"limit": "increase", "n_scores": 0, "baseline": _mean(unit)}
        yield {**_names(place), **row, "passed": allow_gone, "reason": reason}


def _notes_of_study(
    results: StudyResults, baseline: StudyResults | None, limits: Mapping[str, float]
) -> Iterator[str]:
    def is_checked(task: Task) -> bool:
        if task.kind not in ("score", "retrieval"):
            return False
        measures = {IMPACT, GAP} if task.kind == "retrieval" else {task.place.get("metric")}
        return baseline is not None or not measures.isdisjoint(limits)

    for part in results.plan.query_sets:
        if part.left_out:
            yield f"queries of {part.name!r} that were not asked: {len(part.left_out)}"
    others = [task.name for task, _ in (*results.failed, *results.missing) if not is_checked(task)]
    if others:
        yield f"tasks without a limit that were not computed: {len(others)} (first: {others[0]})"
    if baseline is not None and baseline.plan.name != results.plan.name:
        yield f"the baseline comes from another study, {baseline.plan.name!r}"


def _notes_of_baseline(now: pd.DataFrame, gone: pd.DataFrame) -> Iterator[str]:
    shared = now[now["status_before"].notna()]
    kinds = {
        "scores of the baseline that are no longer in the study": gone,
        "scores that the baseline lacks, so they were not compared": now[now["bias_before"].isna()],
        "scores with other words or parameters than before, so the question changed": (
            shared[shared["identity"] != shared["identity_before"]]
        ),
    }
    for what, rows in kinds.items():
        if len(rows):
            yield f"{what}: {len(rows)} (first: {', '.join(rows.index[0])})"
    done = shared[(shared["status"] == "done") & (shared["status_before"] == "done")]
    versions = done[["wefe_version_before", "wefe_version"]].drop_duplicates()
    for old, version in sorted(versions.itertuples(index=False, name=None)):
        if old != version:
            yield f"the baseline was computed with wefe {old}, these results with {version}"
