"""Whether the bias that a study measured stays within limits: a gate for releases."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal, TypeAlias

import pandas as pd

from wefe._checks import check_bool, check_choice, found, nearest
from wefe.study._diff import KEYS, is_number, markdown_table, markdown_text, scores_of
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
    """What :func:`check` returns.

    A gate that passes says that no limit was exceeded by what was measured. It does not say that a
    model has no bias: the queries ask for some associations and not for others.

    Attributes
    ----------
    table : DataFrame
        One row per limit, metric, query set and model (and query, if every score is checked):
        'limit' ('max' or 'increase'), 'metric', 'query_set', 'query_name', 'model_name',
        'n_scores' (that the value is the mean of; of an increase, those that the baseline has,
        too), 'value' (distance from the score that means no bias), 'baseline', 'most' (the largest
        value that passes), 'margin' ('most' less the value), 'passed', and 'reason', if there is
        something to say.
    notes : tuple of str
        What does not decide, and should be known.

    Examples
    --------
    >>> from wefe.study import Study, check
    >>> results = Study.example().run(":memory:", progress=False)
    >>> report = check(results, max_bias={"weat-es": 0.1})
    >>> report.passed
    False
    >>> report.to_frame()[["model_name", "value", "most", "passed"]].round(3)
                               model_name  value  most  passed
    0                        minilm-words  0.235   0.1   False
    1  minilm-words (hard-debias, gender)  0.000   0.1    True
    """

    table: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every limit was kept; False, too, if nothing was checked."""
        return len(self.table) > 0 and bool(self.table["passed"].all())

    @property
    def violations(self) -> pd.DataFrame:
        """The rows that did not pass."""
        return self.table[~self.table["passed"]].reset_index(drop=True)

    def to_frame(self) -> pd.DataFrame:
        """Return a copy of `table`.

        Returns
        -------
        DataFrame
            One row per limit, metric, query set and model.
        """
        return self.table.copy()

    def short(self) -> pd.DataFrame:
        """Return what did not pass, or else what is nearest to each limit, for people.

        Returns
        -------
        DataFrame
            Rows of `table`, without 'passed' and without columns that would be empty.
        """
        shown = self.violations
        if shown.empty:
            nearest_to_limit = self.table["margin"].fillna(math.inf).sort_values(kind="stable")
            ordered = self.table.loc[nearest_to_limit.index]
            shown = ordered.drop_duplicates(["limit", "metric", "query_set"]).sort_index()
        return shown.drop(columns="passed").dropna(axis="columns", how="all").reset_index(drop=True)

    def messages(self) -> list[str]:
        """Return each violation as a sentence.

        Returns
        -------
        list of str
            Metric, query set, model (and query): the reason. Empty if all passed.
        """
        return [
            f"{', '.join(filter(None, (row[key] for key in _NAMES)))}: {row['reason']}"
            for row in self.violations.to_dict("records")
        ]

    def summary(self) -> str:
        """Return the outcome in a line.

        Returns
        -------
        str
            Such as 'failed: 1 of 2 checks'.
        """
        n_failed, n = len(self.violations), len(self.table)
        if n_failed:
            return f"failed: {n_failed:,} of {n:,} checks"
        return f"passed: {n:,} of {n:,} checks"

    def to_markdown(self, limit: int = _LONGEST_LIST) -> str:
        """Return the report for a pull request or a job summary.

        Parameters
        ----------
        limit : int, default=40
            Most rows of the table.

        Returns
        -------
        str
            Markdown: a title with the outcome, the table of :meth:`short`, and `notes`.
        """
        shown = self.short()
        title = "Not within limits" if len(self.violations) else "Nearest to the limits"
        lines = [
            f"## Bias gate {self.summary()}",
            "",
            f"### {title}",
            "",
            markdown_table(shown.head(limit)),
        ]
        if len(shown) > limit:
            lines += ["", f"... and {len(shown) - limit:,} more"]
        lines += ["", *(f"- {markdown_text(note)}" for note in self.notes)] if self.notes else []
        lines += [
            "",
            "Values are distances from the score that means no bias. A gate that passes says that "
            "what was measured is within its limits, not that a model has no bias.",
        ]
        return "\n".join([*lines, ""])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"


def check(
    results: StudyResults,
    *,
    max_bias: Mapping[str, float] | None = None,
    max_increase: str | float | None = None,
    baseline: StudyResults | None = None,
    on: On = "aggregated",
    allow_new: bool = False,
    allow_gone: bool = False,
    allow_nan: bool = False,
) -> GateReport:
    """Check the results of a study against limits.

    Every value is a distance from the score that means no bias (0 for WEAT, 1 for ECT and MAC), so
    that scores on both sides of it do not cancel, whatever the aggregation of the study.

    Parameters
    ----------
    results : StudyResults
        What is to pass.
    max_bias : dict of float, optional
        Metric -> the largest distance that passes, 0 or more. Metrics by label or name, in upper or
        lower case. If two entries name one metric, the smaller one holds. By default that of the
        study file ([limits]), if no `max_increase` is given.
    max_increase : str or float, optional
        How much farther from no bias than the baseline a value may be, for every metric: '10%' of
        the baseline's, or 0.05 more. An increase below 1e-6 is rounding, and passes. By default
        that of the study file, if no `max_bias` is given, or if there is a `baseline`.
    baseline : StudyResults, optional
        What `max_increase` compares with: scores of the same model, query set, query and metric.
    on : {'aggregated', 'scores'}, default='aggregated'
        What is checked: the mean distance over the queries of each query set, or every score.
    allow_new : bool, default=False
        Whether scores pass of which the baseline has nothing to compare with. Else they fail.
    allow_gone : bool, default=False
        Whether scores of the baseline may be missing here because the study does not ask for them
        any more: of a model, query set, query or metric. Else they fail.
    allow_nan : bool, default=False
        Whether scores that are NaN are left out, such as those of queries that a metric cannot
        take, as long as something is left. Else they fail. What could not be computed always fails.

    Returns
    -------
    GateReport
        Its `passed` tells.

    Raises
    ------
    TypeError, ValueError
        If there is no limit, or one that cannot be, or a baseline without `max_increase` or the
        other way round; or if the study has no such metric.

    See Also
    --------
    wefe.study.diff : all that differs between two results.

    Examples
    --------
    >>> from wefe.study import Study, check
    >>> results = Study.example().run(":memory:", progress=False)
    >>> report = check(results, max_bias={"weat-es": 0.1})
    >>> report
    <GateReport: failed: 1 of 2 checks>
    >>> report.messages()
    ['WEAT-ES, Gender, minilm-words: 0.235 is more than 0.1']
    >>> check(results, max_increase="10%", baseline=results).passed
    True
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
    increase = checked_increase(max_increase, limits, baseline)
    now = _with_baseline(results, baseline)
    rows = [
        {**place, **row}
        for place, unit in _units(results, now, on, allow_nan=allow_nan)
        for row in _judged(unit, place, limits.get(place["metric"]), increase, allow_new=allow_new)
    ]
    if baseline is not None:
        rows += _gone(now, scores_of(baseline), on, allow_gone=allow_gone)
    table = pd.DataFrame(rows, columns=_COLUMNS, dtype=object)
    table["margin"] = table["most"] - table["value"]
    numbers = dict.fromkeys(("value", "baseline", "most", "margin"), float)
    table = table.astype({**numbers, "n_scores": int, "passed": bool})
    return GateReport(table, tuple(_notes(results, baseline, limits, now)))


def checked_increase(
    max_increase: str | float | None, limits: Mapping[str, float], baseline: object
) -> tuple[float, bool] | None:
    """Return the largest increase, and whether it is a share of the baseline.

    Raises
    ------
    ValueError
        If there is no limit at all, or an increase without a baseline, or a baseline without one.
    """
    if not limits and max_increase is None:
        raise ValueError(
            "there is no limit to check: give one of a metric (max_bias={'weat-es': 0.5}, --max "
            "weat-es=0.5), of the increase, or [limits] in the study file."
        )
    if (max_increase is None) != (baseline is None):
        raise ValueError(
            "max_increase needs a baseline to compare with."
            if baseline is None
            else "a baseline is compared with only if max_increase is given, for example '10%'."
        )
    return None if max_increase is None else parse_limit(max_increase)


def limits_by_label(max_bias: Mapping[str, float], plan: Plan) -> dict[str, float]:
    """Return limits by the labels of the metrics of a study.

    Parameters
    ----------
    max_bias : dict of float
        Metric, by label or name, in any case: the largest distance from no bias.
    plan : Plan
        The study.

    Raises
    ------
    ValueError
        If the study has no such metric, or the limit is no number of at least 0.
    """
    limits: dict[str, float] = {}
    names = [label for metric in plan.metrics for label in (metric.label, metric.metric)]
    for name, most in max_bias.items():
        if not is_number(most) or not 0 <= most < math.inf:
            raise ValueError(
                f"the limit of {name!r} must be a number of at least 0; got {found(most)}."
            )
        # A label as it is written is that metric and no other.
        labels = [metric.label for metric in plan.metrics if metric.label == name] or [
            metric.label
            for metric in plan.metrics
            if str(name).casefold() in (metric.label.casefold(), metric.metric.casefold())
        ]
        if not labels:
            known = ", ".join(map(repr, dict.fromkeys(names)))
            raise ValueError(
                f"the study has no metric {name!r}; it has {known}.{nearest(name, names)}"
            )
        for label in labels:
            limits[label] = min(float(most), limits.get(label, math.inf))
    return limits


def parse_limit(value: str | float) -> tuple[float, bool]:
    """Return the largest increase, and whether it is a share of the baseline.

    Raises
    ------
    ValueError
        If it is neither a share such as '10%' nor a number of at least 0.
    """
    from wefe.study._extras import parse_increase

    if is_number(value):
        value = float(value)
    try:
        return parse_increase(value)
    except ValueError as error:
        raise ValueError(f"max_increase {error}.") from error


# What is checked

_NAMES = ("metric", "query_set", "model_name", "query_name")


def _with_baseline(results: StudyResults, baseline: StudyResults | None) -> pd.DataFrame:
    """Return the tidy table, with what the baseline has of each score: 'was', 'why_not'."""
    now = scores_of(results)
    if baseline is None:
        return now
    before = scores_of(baseline)
    before["why_not"] = [_why_missing(row) for row in before.to_dict("records")]
    named = {"bias": "was", "why_not": "why_not"}
    named |= {name: f"{name}_before" for name in ("identity", "wefe_version", "status")}
    known = before[[*KEYS, *named]].rename(columns=named)
    joined = now.merge(known, on=KEYS, how="left", indicator="known")
    joined["why_not"] = joined["why_not"].where(joined["known"] == "both", "it is not in there")
    return joined


def _units(
    results: StudyResults, scores: pd.DataFrame, on: On, *, allow_nan: bool
) -> Iterator[tuple[dict[str, Any], list[dict[Any, Any]]]]:
    """Yield what has a value of its own: all scores of a place together, or each of them.

    A place is there, whether or not there are scores of it.
    """
    parts: dict[tuple[str, ...], list[dict[Any, Any]]] = {}
    for row in scores.to_dict("records"):
        parts.setdefault(tuple(row[name] for name in _NAMES[:3]), []).append(row)
    for metric in results.plan.metrics:
        for query_set, model in itertools.product(metric.query_sets, results.plan.models):
            place = dict(zip(_NAMES[:3], (metric.label, query_set, model.label), strict=True))
            rows = parts.get(tuple(place.values()), [])
            if allow_nan:
                # If nothing is left, the part fails: nothing was measured.
                rows = [r for r in rows if r["status"] != "done" or r["bias"] == r["bias"]] or rows
            if on == "aggregated" or not rows:
                yield {**place, "query_name": None}, rows
            else:
                yield from (({**place, "query_name": row["query_name"]}, [row]) for row in rows)


def _why_missing(row: Mapping[Any, Any]) -> str:
    texts = [row[name] for name in ("failure", "nan_reason") if isinstance(row[name], str)]
    return texts[0] if texts else "no reason is known"


def _judged(
    unit: Sequence[Mapping[Any, Any]],
    place: Mapping[str, Any],
    most: float | None,
    increase: tuple[float, bool] | None,
    *,
    allow_new: bool,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each limit on some scores, of which the mean counts."""
    is_mean = place["query_name"] is None
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
    # Of the same scores on both sides: new ones would count as an increase.
    value, was = fmean(row["bias"] for row in known), fmean(row["was"] for row in known)
    most = max(was * (1 + share) if is_relative else was + share, was + ROUNDING)
    reason = _no_baseline(unit, is_mean=is_mean) if is_new else None
    if value > most:
        shown, old, limit = _apart(value, was, most)
        more = f"{value / was - 1:.1%} more" if was > ROUNDING else f"{value - was:.3g} more"
        reason = f"{shown} is {more} than the {old} of the baseline; at most {limit} passes"
    about = {"limit": "increase", "n_scores": len(known), "value": value, "baseline": was}
    yield {**about, "most": most, "passed": value <= most, "reason": reason}


def _what_is_missing(unit: Sequence[Mapping[Any, Any]], *, is_mean: bool) -> str | None:
    """Return why scores have no mean; None if all are there."""
    wrong = [row for row in unit if math.isnan(row["bias"])]
    if not wrong:
        return None if unit else "no query was asked"
    if is_mean:
        first = f"{wrong[0]['query_name']}: {_why_missing(wrong[0])}"
        return f"{len(wrong)} of {len(unit)} scores are missing; {first}"
    what = "NaN" if wrong[0]["status"] == "done" else "not computed"
    return f"{what}: {_why_missing(wrong[0])}"


def _no_baseline(unit: Sequence[Mapping[Any, Any]], *, is_mean: bool) -> str:
    new = [row for row in unit if not math.isfinite(row["was"])]
    n = f" for {len(new)} of {len(unit)} scores" if is_mean else ""
    return f"no baseline{n}; {new[0]['query_name']}: {new[0]['why_not']}"


def _apart(*values: float) -> list[str]:
    """Return numbers with so many digits that those that differ are seen to."""
    for digits in range(3, 17):
        texts = [f"{value:.{digits}g}" for value in values]
        if len({float(text) for text in texts}) == len(set(values)):
            return texts
    return [repr(value) for value in values]


def _gone(
    now: pd.DataFrame, before: pd.DataFrame, on: On, *, allow_gone: bool
) -> Iterator[dict[str, Any]]:
    """Yield a row for what the baseline has measured, and the study does not ask for any more."""
    lost = before[~_places(before).isin(_places(now)) & before["bias"].notna()]
    names = list(_NAMES if on == "scores" else _NAMES[:3])
    for place, rows in lost.groupby(names, sort=False):
        n = "1 score" if len(rows) == 1 else f"{len(rows)} scores"
        queries = "; ".join(rows["query_name"][:3]) + ("; ..." if len(rows) > 3 else "")
        reason = f"{n} of the baseline no longer asked for: {queries}"
        about = {"query_name": None, "limit": "increase"} | dict(zip(names, place, strict=True))
        more = {"baseline": fmean(rows["bias"]), "n_scores": 0, "passed": allow_gone}
        yield {**about, **more, "reason": reason}


def _places(scores: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(scores[KEYS])


def _notes(
    results: StudyResults,
    baseline: StudyResults | None,
    limits: Mapping[str, float],
    now: pd.DataFrame,
) -> Iterator[str]:
    for part in results.plan.query_sets:
        if part.left_out:
            yield f"queries of {part.name!r} that were not asked: {len(part.left_out)}"
    others = [
        task
        for task, outcome in (*results.failed, *results.missing)
        if task.kind != "score" or (baseline is None and task.place["metric"] not in limits)
    ]
    if others:
        yield (
            f"tasks without a limit on them that were not computed: {len(others)} "
            f"(first: {others[0].name})"
        )
    if baseline is None:
        return
    if baseline.plan.name != results.plan.name:
        yield f"the baseline is of another study, {baseline.plan.name!r}"
    places = _places(scores_of(baseline))
    gone = places[~places.isin(_places(now))]
    new = _places(now)[now["was"].isna()]
    for what, keys in (
        ("scores of the baseline that are no longer asked for", gone),
        ("scores that were compared with nothing, as the baseline lacks them", new),
    ):
        if len(keys):
            yield f"{what}: {len(keys)} (first: {', '.join(map(str, keys[0]))})"
    shared = now[now["known"] == "both"]
    asked = sum(map(operator.ne, shared["identity"], shared["identity_before"]))
    if asked:
        yield (
            f"scores of other words or parameters than in the baseline: {asked}; what changed may "
            "be the question"
        )
    done = shared[(shared["status"] == "done") & (shared["status_before"] == "done")]
    for old, version in sorted(
        {*zip(done["wefe_version_before"], done["wefe_version"], strict=True)}
    ):
        if old != version:
            yield f"the baseline was computed with wefe {old}, this with {version}"
