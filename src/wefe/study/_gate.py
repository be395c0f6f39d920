"""Check whether the bias measured by a study stays within limits: a gate for releases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import fmean
from typing import Any, Literal, TypeAlias

import pandas as pd

from wefe._checks import check_bool, check_choice, check_number, check_share, found, nearest
from wefe._visible import html_table
from wefe.study._diff import (
    GAP,
    IMPACT,
    KEYS,
    markdown_table,
    markdown_text,
    measured,
)
from wefe.study._plan import Plan
from wefe.study._results import StudyResults

On: TypeAlias = Literal["aggregated", "scores"]

#: An increase below this is rounding of vectors of 32 bits, and passes.
ROUNDING = 1e-6

_COLUMNS = [
    *("limit", "metric", "query_set", "query_name", "model_name", "n_scores"),
    *("value", "baseline", "most", "margin", "passed", "reason"),
]
_LONGEST_LIST = 40


@dataclass(frozen=True, eq=False, repr=False)
class GateReport:
    """Result of :func:`check`. Passing does not mean that a model has no bias.

    Attributes
    ----------
    table : DataFrame
        One row per limit, metric, query set and model (and query, if ``on="scores"``): 'limit'
        ('max' or 'increase'), 'metric', 'query_set', 'query_name', 'model_name', 'n_scores' (number
        of scores in 'value'), 'value' (distance from no bias), 'baseline', 'most' (largest value
        that passes), 'margin' ('most' minus 'value'), 'passed' and 'reason'.
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
        return len(self.table) > 0 and bool(self.table["passed"].all())

    @property
    def violations(self) -> pd.DataFrame:
        """The rows that did not pass."""
        return self.table[~self.table["passed"]].reset_index(drop=True)

    def to_frame(self) -> pd.DataFrame:
        """Return a copy of `table`."""
        return self.table.copy()

    def short(self) -> pd.DataFrame:
        """Return the violations or, if there are none, the rows closest to each limit.

        Rows of `table`, without 'passed' and without empty columns.
        """
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
        n_failed, n = len(self.violations), len(self.table)
        if n_failed:
            return f"failed: {n_failed:,} of {n:,} checks"
        return f"passed: {n:,} of {n:,} checks"

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

    Values are distances from the score that means no bias (0 for WEAT, 1 for ECT and MAC), so
    scores on both sides of it do not cancel out.

    Parameters
    ----------
    results : StudyResults
        The results to check.
    max_bias : dict of float, optional
        Metric (label or name, in any case) -> largest distance that passes, 0 or more. Default:
        [limits] of the study file, unless `max_increase` is given.
    min_impact_ratio, max_gap : float, optional
        Limits for each attribute of a ranking audit: the lowest impact ratio of a group (0.8 is the
        four-fifths rule) and the largest gap between the mean scores of two groups. Default:
        [limits].
    max_increase : str or float, optional
        How much a value may exceed the baseline: relative ('10%') or absolute (0.05). An increase
        below 1e-6 counts as rounding. Default: [limits], if no `max_bias` or a `baseline` is given.
    baseline : StudyResults, optional
        Results to compare with, matched by model, query set, query and metric.
    on : {'aggregated', 'scores'}, default='aggregated'
        Check the mean distance over the queries of each query set, or every score. In ranking
        audits: the mean gap, or the gap of every query, because opposite gaps cancel in the mean.
    allow_new, allow_gone : bool, default=False
        Whether scores may be missing from the baseline, or scores of the baseline from the study.
    allow_nan : bool, default=False
        Whether to ignore NaN scores, as long as some scores remain. Scores that could not be
        computed always fail.

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
    check_choice("on", on, ("aggregated", "scores"))
    flags = {"allow_new": allow_new, "allow_gone": allow_gone, "allow_nan": allow_nan}
    for name, flag in flags.items():
        check_bool(name, flag)
    for name, value in (("results", results), ("baseline", baseline)):
        if not isinstance(value, StudyResults) and not (name == "baseline" and value is None):
            raise TypeError(f"{name} must be a StudyResults; got {found(value)}.")
    if max_bias is not None and not isinstance(max_bias, Mapping):
        raise TypeError(
            f"max_bias must be a dict, for example {{'weat-es': 0.5}}; got {found(max_bias)}."
        )
    declared = results.plan.settings["limits"]
    if max_increase is None and (not max_bias or baseline is not None):
        max_increase = declared["max_increase"]
        max_bias = max_bias or declared["max"]
    limits = limits_by_label(max_bias or {}, results.plan)
    limits |= limits_of_rankings(results.plan, min_impact_ratio, max_gap)
    increase = checked_increase(max_increase, limits, baseline)
    by_query = on == "scores"
    now = measured(results, by_query=by_query)
    before = [] if baseline is None else measured(baseline, by_query=by_query)
    gone = _match(now, before)
    rows = [
        {**dict(zip_longest(_NAMES, place)), **row}
        for place, unit in _units(_without_nan(now) if allow_nan else now, on).items()
        for row in _judged(unit, len(place), limits.get(place[0]), increase, allow_new=allow_new)
    ]
    rows += _gone(gone, on, allow_gone=allow_gone)
    table = pd.DataFrame(rows, columns=_COLUMNS, dtype=object)
    table["margin"] = table["most"] - table["value"]
    numbers = dict.fromkeys(("value", "baseline", "most", "margin"), float)
    table = table.astype({**numbers, "n_scores": int, "passed": bool})
    notes = [*_notes_of_study(results, baseline, limits)]
    notes += [] if baseline is None else _notes_of_baseline(now, gone)
    return GateReport(table, tuple(notes))


def checked_increase(
    max_increase: str | float | None, limits: Mapping[str, float], baseline: object
) -> tuple[float, bool] | None:
    """Return the largest increase, and whether it is relative to the baseline."""
    if not limits and max_increase is None:
        raise ValueError(
            "there is no limit to check. Give a limit for a metric (max_bias={'weat-es': 0.5}, "
            "--max weat-es=0.5) or for the increase, or add [limits] to the study file."
        )
    if (max_increase is None) != (baseline is None):
        raise ValueError(
            "max_increase needs a baseline to compare with."
            if baseline is None
            else "a baseline needs max_increase, for example '10%'."
        )
    if max_increase is None:
        return None
    from wefe.study._extras import parse_increase

    try:
        return parse_increase(max_increase)
    except ValueError as error:
        raise ValueError(f"max_increase {error}.") from error


def limits_by_label(max_bias: Mapping[str, float], plan: Plan) -> dict[str, float]:
    limits: dict[str, float] = {}
    names = {name: name for metric in plan.metrics for name in (metric.label, metric.metric)}
    for name, limit in max_bias.items():
        most = check_number(f"the limit of {name!r}", limit, 0)
        # An exact label takes precedence over other spellings.
        labels = [metric.label for metric in plan.metrics if metric.label == name] or [
            metric.label
            for metric in plan.metrics
            if str(name).casefold() in (metric.label.casefold(), metric.metric.casefold())
        ]
        if not labels:
            known = ", ".join(map(repr, names))
            raise ValueError(
                f"the study has no metric {name!r}; it has {known}.{nearest(name, names)}"
            )
        limits |= {label: min(most, limits.get(label, math.inf)) for label in labels}
    return limits


def limits_of_rankings(
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
    if limits and not any(task.kind == "retrieval" for task in plan.tasks):
        raise ValueError(
            "min_impact_ratio and max_gap are for audits of rankings, and the study has no "
            "[[retrieval]]."
        )
    return limits


def check_each(scores: pd.DataFrame, most: float) -> list[str | None]:
    """Return, for each score of a table with 'bias', why it exceeds a limit, or None."""
    rows = scores.assign(status="done").to_dict("records")
    judged = [next(_judged([row], len(_NAMES), most, None, allow_new=False)) for row in rows]
    return [row["reason"] for row in judged]


# What is checked

_NAMES = ("metric", "query_set", "model_name", "query_name")
_Row: TypeAlias = dict[Any, Any]


def _match(now: list[_Row], before: list[_Row]) -> list[_Row]:
    """Add the baseline score to each score as 'before'; return scores no longer in the study."""
    known = {_key(row): row for row in before}
    for row in now:
        row["before"] = known.pop(_key(row), None)
        row["was"] = math.nan if row["before"] is None else row["before"]["bias"]
    return list(known.values())


def _key(row: _Row) -> tuple[str, ...]:
    return tuple(row[name] for name in KEYS)


def _units(rows: list[_Row], on: On) -> dict[tuple[str, ...], list[_Row]]:
    """Group the rows whose mean is checked by metric, query set, model and query."""
    units: dict[tuple[str, ...], list[_Row]] = {}
    for row in rows:
        is_mean = on == "aggregated" and row["metric"] not in (IMPACT, GAP)
        names = _NAMES[:3] if is_mean else _NAMES
        units.setdefault(tuple(row[name] for name in names), []).append(row)
    return units


def _without_nan(rows: list[_Row]) -> list[_Row]:
    """Leave out NaN scores where others remain, because without any nothing was measured."""
    kept: list[_Row] = []
    for unit in _units(rows, "aggregated").values():
        left = [row for row in unit if row["status"] != "done" or not math.isnan(row["bias"])]
        kept += left or unit
    return kept


def _judged(
    unit: Sequence[_Row],
    n_names: int,
    most: float | None,
    increase: tuple[float, bool] | None,
    *,
    allow_new: bool,
) -> Iterator[_Row]:
    """Yield one row per limit on the mean of some scores."""
    is_mean = n_names < len(_NAMES)
    why = _what_is_missing(unit, is_mean=is_mean)
    value = math.nan if why else fmean(row["bias"] for row in unit)
    if most is not None:
        passed = value <= most
        reason = why if passed or why else "{} is more than {}".format(*_apart(value, most))
        about = {"limit": "max", "n_scores": len(unit), "value": value, "most": most}
        yield {**about, "passed": passed, "reason": reason}
    if increase is None:
        return
    share, is_relative = increase
    known = [row for row in unit if math.isfinite(row["was"])]
    is_new = len(known) < len(unit)
    if why or not known or (is_new and not allow_new):
        about = {"limit": "increase", "n_scores": len(unit if why else known), "value": value}
        reason = why or _no_baseline(unit, is_mean=is_mean)
        yield {**about, "passed": not why and allow_new, "reason": reason}
        return
    # Compare the same scores: new ones would count as an increase.
    value, was = fmean(row["bias"] for row in known), fmean(row["was"] for row in known)
    most = max(was * (1 + share) if is_relative else was + share, was + ROUNDING)
    reason = _no_baseline(unit, is_mean=is_mean) if is_new else None
    if value > most:
        shown, old, limit = _apart(value, was, most)
        more = f"{value / was - 1:.1%} more" if was > ROUNDING else f"{value - was:.3g} more"
        reason = f"{shown} is {more} than the {old} of the baseline; at most {limit} passes"
    about = {"limit": "increase", "n_scores": len(known), "value": value, "baseline": was}
    yield {**about, "most": most, "passed": value <= most, "reason": reason}


def _what_is_missing(unit: Sequence[_Row], *, is_mean: bool) -> str | None:
    """Return why the scores have no mean; None if all are available."""
    wrong = [row for row in unit if math.isnan(row["bias"])]
    if not wrong:
        return None
    why = wrong[0]["nan_reason"]
    if is_mean:
        return f"{len(wrong)} of {len(unit)} scores are missing; {wrong[0]['query_name']}: {why}"
    return f"{'NaN' if wrong[0]['status'] == 'done' else 'not computed'}: {why}"


def _no_baseline(unit: Sequence[_Row], *, is_mean: bool) -> str:
    new = [row for row in unit if not math.isfinite(row["was"])]
    n = f" for {len(new)} of {len(unit)} scores" if is_mean else ""
    before = new[0]["before"]
    why = "it is not in there" if before is None else before["nan_reason"]
    return f"no baseline{n}; {new[0]['query_name']}: {why}"


def _apart(*values: float) -> list[str]:
    """Format numbers with enough digits to show that they differ."""
    n = len(set(values))
    digits = next((d for d in range(3, 17) if len({f"{v:.{d}g}" for v in values}) == n), 17)
    return [f"{value:.{digits}g}" for value in values]


def _gone(gone: list[_Row], on: On, *, allow_gone: bool) -> Iterator[_Row]:
    """Yield a row for scores of the baseline that are no longer part of the study."""
    for place, rows in _units([row for row in gone if not math.isnan(row["bias"])], on).items():
        queries = "; ".join(row["query_name"] for row in rows[:3])
        yield {
            **dict(zip_longest(_NAMES, place)),
            "limit": "increase",
            "n_scores": 0,
            "baseline": fmean(row["bias"] for row in rows),
            "passed": allow_gone,
            "reason": f"{len(rows)} of the baseline no longer in the study: {queries}"
            + ("; ..." if len(rows) > 3 else ""),
        }


def _notes_of_study(
    results: StudyResults, baseline: StudyResults | None, limits: Mapping[str, float]
) -> Iterator[str]:
    for part in results.plan.query_sets:
        if part.left_out:
            yield f"queries of {part.name!r} that were not asked: {len(part.left_out)}"
    others = []
    for task, _ in (*results.failed, *results.missing):
        measures = {IMPACT, GAP} if task.kind == "retrieval" else {task.place.get("metric")}
        has_limit = baseline is not None or bool(measures & {*limits})
        if task.kind not in ("score", "retrieval") or not has_limit:
            others.append(task.name)
    if others:
        yield f"tasks without a limit that were not computed: {len(others)} (first: {others[0]})"
    if baseline is not None and baseline.plan.name != results.plan.name:
        yield f"the baseline comes from another study, {baseline.plan.name!r}"


def _notes_of_baseline(now: list[_Row], gone: list[_Row]) -> Iterator[str]:
    new = [row for row in now if math.isnan(row["was"])]
    for what, rows in (
        ("scores of the baseline that are no longer in the study", gone),
        ("scores that the baseline lacks, so they were not compared", new),
    ):
        if rows:
            yield f"{what}: {len(rows)} (first: {', '.join(_key(rows[0]))})"
    shared = [(row["before"], row) for row in now if row["before"] is not None]
    asked = sum(before["identity"] != row["identity"] for before, row in shared)
    if asked:
        yield (
            f"scores with other words or parameters than in the baseline: {asked}. They may differ "
            "because the question changed"
        )
    done = [pair for pair in shared if {row["status"] for row in pair} == {"done"}]
    for old, version in sorted({(a["wefe_version"], b["wefe_version"]) for a, b in done}):
        if old != version:
            yield f"the baseline was computed with wefe {old}, these results with {version}"
