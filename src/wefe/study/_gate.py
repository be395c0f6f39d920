"""Check whether the bias measured by a study stays within limits: a gate for releases."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import pandas as pd

from wefe._checks import check_number, check_share, found, plain_name
from wefe._output import as_markdown
from wefe._visible import escape_markdown
from wefe.study._diff import GAP, IMPACT, KEYS, LONGEST_LIST, check_results, first_rows, measured
from wefe.study._plan import Plan
from wefe.study._results import StudyResults
from wefe.study._schema import no_such, shown

#: An increase below this is rounding of vectors of 32 bits, and passes.
ROUNDING = 1e-6

# What a mean is over: the scores of a query set, or an attribute of the names of an audit.
_UNIT = ["metric", "query_set", "model_name", "attribute"]
_VALUES = ["value", "baseline", "most"]
_PLACE = [*KEYS, "attribute"]


@dataclass(frozen=True, eq=False, repr=False)
class GateReport:
    """Result of :func:`check`. Passing does not mean that a model has no bias.

    Attributes
    ----------
    table : DataFrame
        One row per limit ('max' or 'increase'), metric, query set and model: 'metric', 'query_set',
        'model_name', 'attribute' (of the names in an audited ranking, or None), 'limit',
        'n_scores', 'value' (mean distance from no bias), 'baseline', 'most' (largest value that
        passes), 'reason' (why it fails, or None) and 'passed'.
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
        return bool(self.table["passed"].all() and len(self.table))

    @property
    def violations(self) -> pd.DataFrame:
        """The rows that did not pass."""
        return self.table[~self.table["passed"]].reset_index(drop=True)

    def messages(self) -> list[str]:
        """Return a list with a sentence for each violation."""
        return [
            f"{', '.join(filter(None, (row[key] for key in _UNIT)))}: {row['reason']}"
            for row in self.violations.to_dict("records")
        ]

    def summary(self) -> str:
        """Return the outcome in one line, for example 'failed: 1 of 2 checks'."""
        n_failed, n = len(self.violations), len(self.table)
        if not n:
            return "failed: nothing was compared"
        outcome, n_shown = ("failed", n_failed) if n_failed else ("passed", n)
        return f"{outcome}: {n_shown:,} of {n:,} checks"

    def to_markdown(self) -> str:
        """Return the outcome and `notes` in Markdown, for a job summary, with up to 40 checks."""
        lines = [*self.messages()[:LONGEST_LIST], *self.notes]
        text = "".join(f"- {escape_markdown(line)}\n" for line in lines)
        return (
            f"## Bias gate {self.summary()}\n\n{as_markdown(*self._shown())}\n{text}\n"
            "Values are distances from the score that means no bias. If the gate passes, the "
            "measured values are within their limits. It does not mean that a model has no bias.\n"
        )

    def _shown(self) -> tuple[str, pd.DataFrame]:
        """Return violations, or else all rows, with a title."""
        title, rows = "Within limits", self.table
        if not self.passed:
            title, rows = "Not within limits", self.violations
        title += " (value: distance from the score that means no bias)"
        return first_rows(title, rows.drop(columns=["passed", "reason"]))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"


def check(
    results: StudyResults,
    *,
    max_bias: Mapping[str, float] | None = None,
    min_impact_ratio: float | None = None,
    max_gap: float | None = None,
    max_increase: str | float | None = None,
    baseline: StudyResults | None = None,
    allow_new: bool = False,
    allow_gone: bool = False,
    allow_nan: bool = False,
) -> GateReport:
    """Check the results of a study against limits.

    Checks the mean distance from no bias over each query set, so scores on both sides of it (0 for
    WEAT, 1 for ECT and MAC) do not cancel out. A score that is missing fails, with the reason.

    Parameters
    ----------
    results : StudyResults
        The results to check.
    max_bias : dict of float, optional
        Metric (label or name, in any case) -> largest distance that passes, 0 or more.
    min_impact_ratio, max_gap : float, optional
        In ranking audits, the lowest impact ratio of a group (0.8 is the four-fifths rule) and the
        largest gap between the mean scores of two groups.
    max_increase : str or float, optional
        How much a value may exceed the baseline: relative ('10%') or absolute (0.05). An increase
        below 1e-6 counts as rounding.
    baseline : StudyResults, optional
        Results to compare with, which must have the same scores: model, query set, query, metric.
    allow_new, allow_gone : bool, default=False
        Accept scores that the baseline lacks, or scores of the baseline that are not asked for now.
    allow_nan : bool, default=False
        Ignore undefined scores if the query set has others. A failure is never ignored.

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
    check_results(results=results, **({} if baseline is None else {"baseline": baseline}))
    if max_bias is not None and not isinstance(max_bias, Mapping):
        raise TypeError(
            f"max_bias must be a dict, for example {{'weat-es': 0.5}}; got {found(max_bias)}."
        )
    limits = _limits_by_label(max_bias or {}, results.plan)
    limits |= _limits_of_rankings(results.plan, min_impact_ratio, max_gap)
    if max_increase is None and not limits:
        raise ValueError(
            "there is no limit to check. Give a limit for a metric (max_bias={'weat-es': 0.5}, "
            "--max weat-es=0.5) or for the increase."
        )
    if (max_increase is None) != (baseline is None):
        raise ValueError(
            "max_increase needs a baseline, and a baseline needs max_increase, such as '10%'."
        )
    now = measured(results)
    others = now["bias"].notna().groupby([now[name] for name in _UNIT]).transform("any")
    is_nan = now["bias"].isna() & (now["status"] == "done") & others & allow_nan
    rows = list(_limited(now[~is_nan], limits))
    notes = [
        f"queries of {part.name!r} that were not asked: {len(part.left_out)}"
        for part in results.plan.query_sets
        if part.left_out
    ]
    if is_nan.any():
        notes.append(f"undefined scores that were left out: {is_nan.sum()}")
    if max_increase is not None and baseline is not None:
        # What the baseline could not measure is not there.
        before = measured(baseline).dropna(subset="bias")[[*_PLACE, "bias", "identity"]]
        # In the order of the study, in which an outer merge does not leave them.
        now = now.assign(is_nan=is_nan, at=range(len(now)))
        both = now.merge(before, "outer", _PLACE, suffixes=("", "_before")).sort_values("at")
        both = both.fillna({"nan_reason": "it is no longer in the study"})
        is_new = both["bias_before"].isna() & both["bias"].notna() & allow_new
        is_gone = both["identity"].isna() & allow_gone
        unmatched = {
            "scores without a baseline": is_new,
            "scores of the baseline that are gone": is_gone,
        }
        notes += [f"{what}: {each.sum()}" for what, each in unmatched.items() if each.any()]
        both = both[~(is_new | is_gone) & both["is_nan"].ne(True)]
        rows += _increased(both, *_parse_increase(max_increase))
        notes += _question_changed(both)
    columns = [*_UNIT, "limit", "n_scores", *_VALUES, "reason"]
    table = pd.DataFrame(rows, columns=columns, dtype=object)
    table = table.astype({**dict.fromkeys(_VALUES, float), "n_scores": int})
    return GateReport(table.assign(passed=table["reason"].isna()), tuple(notes))


def _parse_increase(text: object) -> tuple[float, bool]:
    """Return the allowed increase of bias, and whether it is relative."""
    found = re.fullmatch(r"\s*(\d*\.?\d+(?:e[+-]?\d+)?)\s*(%?)\s*", str(text))
    value, percent = (float(found[1]), found[2]) if found else (math.inf, "")
    # A value of 10 was meant as 10 %.
    if math.isinf(value) or (value >= 1 and not percent):
        raise ValueError(
            "an increase must be a share such as '10%', or a number such as 0.05, at least 0 and "
            f"below 1; got {shown(text)}"
        )
    return (value / 100, True) if percent else (value, False)


def _limits_by_label(max_bias: Mapping[str, float], plan: Plan) -> dict[str, float]:
    limits: dict[str, float] = {}
    for name, limit in max_bias.items():
        most = check_number(f"the limit of {name!r}", limit, 0)
        pairs = [(metric.label, metric.metric) for metric in plan.metrics]
        labels = [pair[0] for pair in pairs if plain_name(name) in map(plain_name, pair)]
        if not labels:
            known = dict.fromkeys(chain(*pairs))
            raise ValueError(no_such(name, known, "no metric of this study"))
        for label in labels:
            limits[label] = min(most, limits.get(label, math.inf))
    return limits


def _limits_of_rankings(
    plan: Plan, min_impact_ratio: float | None, max_gap: float | None
) -> dict[str, float]:
    """Return the limits of ranking audits as distances from no bias."""
    limits: dict[str, float] = {}
    if min_impact_ratio is not None:
        limits[IMPACT] = 1 - check_share("min_impact_ratio", min_impact_ratio)
    if max_gap is not None:
        limits[GAP] = check_number("max_gap", max_gap, 0)
    if limits and not plan.settings.get("retrieval"):
        raise ValueError(
            "min_impact_ratio and max_gap are for audits of rankings, and the study has no "
            "[[retrieval]]."
        )
    return limits


# What is checked

_Row: TypeAlias = tuple[Any, ...]


def _units(scores: pd.DataFrame) -> Iterator[tuple[list[Any], pd.DataFrame]]:
    """Yield the scores whose mean is checked, with their names."""
    for place, unit in scores.groupby(_UNIT, sort=False):
        yield [each or None for each in place], unit


def _limited(now: pd.DataFrame, limits: Mapping[str, float]) -> Iterator[_Row]:
    for names, unit in _units(now[now["metric"].isin(limits)]):
        value, most = unit["bias"].mean(skipna=False), limits[names[0]]
        reason = _missing(unit, "scores are missing")
        if value > most:
            reason = f"{value:.6g} is more than {most:.6g}"
        yield (*names, "max", len(unit), value, math.nan, most, reason)


def _increased(both: pd.DataFrame, share: float, is_relative: bool) -> Iterator[_Row]:
    for names, unit in _units(both):
        value, was = unit["bias"].mean(skipna=False), unit["bias_before"].mean(skipna=False)
        most = max(was * (1 + share) if is_relative else was + share, was + ROUNDING)
        reason = _missing(unit, "scores are missing")
        reason = reason or _missing(unit, "scores have no baseline", "bias_before")
        if value > most:
            reason = f"{value:.6g} is more than {most:.6g}; the baseline has {was:.6g}"
        yield (*names, "increase", len(unit), value, was, most, reason)


def _missing(unit: pd.DataFrame, what: str, column: str = "bias") -> str | None:
    """Return why some scores have no mean; None if all are available."""
    lost = unit[unit[column].isna()].to_dict("records")
    if not lost:
        return None
    why = lost[0]["nan_reason"] if column == "bias" else "it is not in there"
    return f"{len(lost)} of {len(unit)} {what}; {lost[0]['query_name']}: {why}"


def _question_changed(both: pd.DataFrame) -> Iterator[str]:
    shared = both[["bias", "bias_before"]].notna().all(axis=1)
    rows = both[shared & (both["identity"] != both["identity_before"])]
    if len(rows):
        yield (
            "scores with other words or parameters than before, so the question changed: "
            f"{len(rows)} (first: {', '.join(rows[KEYS].iloc[0])})"
        )
