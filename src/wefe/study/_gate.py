"""Whether the bias that a study measured stays within limits: a gate for releases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    if not max_bias and max_increase is None:
        raise ValueError(
            "there is no limit to check; give one, for example max_bias={'weat-es': 0.5}, or "
            "[limits] in the study file."
        )
    if (max_increase is None) != (baseline is None):
        raise ValueError(
            "max_increase needs a baseline to compare with."
            if baseline is None
            else "a baseline is compared with only if max_increase is given, for example '10%'."
        )
    limits = limits_by_label(max_bias or {}, results.plan)
    increase = None if max_increase is None else parse_limit(max_increase)
    before = None if baseline is None else _Baseline(baseline)
    rows = []
    for part in _parts(results, set(limits) if increase is None else None):
        for checked in part.units(on, allow_nan=allow_nan):
            label = part.place["metric"]
            if label in limits:
                rows.append({"limit": "max", **part.place, **_max(checked, limits[label])})
            if increase is not None and before is not None:
                row = _increase(checked, before, *increase, allow_new=allow_new)
                rows.append({"limit": "increase", **part.place, **row})
    if increase is not None and before is not None:
        rows += _gone(results, before, on, allow_gone=allow_gone)
    table = pd.DataFrame(rows, columns=_COLUMNS, dtype=object).astype(
        dict.fromkeys(("value", "baseline", "most", "margin"), float)
        | {"n_scores": int, "passed": bool}
    )
    return GateReport(table, tuple(_notes(results, baseline, limits, before)))


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
    TypeError
        If a name is none.
    ValueError
        If the study has no such metric, or the limit is no number of at least 0.
    """
    limits: dict[str, float] = {}
    for name, most in max_bias.items():
        if not isinstance(name, str):
            raise TypeError(f"max_bias: the name of a metric is a string; got {found(name)}.")
        if not is_number(most) or not 0 <= most < math.inf:
            raise ValueError(
                f"the limit of {name!r} must be a number of at least 0; got {found(most)}."
            )
        for label in _labels(name, plan):
            limits[label] = min(float(most), limits.get(label, math.inf))
    return limits


def _labels(name: str, plan: Plan) -> list[str]:
    """Return the labels of the metrics that a name stands for."""
    # A label as it is written is that metric and no other.
    exact = [metric.label for metric in plan.metrics if metric.label == name]
    plain = name.casefold()
    labels = exact or [
        metric.label
        for metric in plan.metrics
        if plain in (metric.label.casefold(), metric.metric.casefold())
    ]
    if not labels:
        known = list(dict.fromkeys(n for each in plan.metrics for n in (each.label, each.metric)))
        raise ValueError(
            f"the study has no metric {name!r}; it has {', '.join(map(repr, known))}."
            f"{nearest(name, known)}"
        )
    return labels


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


class _Part:
    """The scores of one metric, query set and model."""

    def __init__(self, place: dict[str, str], scores: list[dict[str, Any]]) -> None:
        self.place, self._scores = place, scores

    def units(self, on: On, *, allow_nan: bool) -> Iterator[_Unit]:
        """Yield what has a value of its own: all scores together, or each of them."""
        rows = self._scores
        if allow_nan:
            # If nothing is left, the part fails: nothing was measured.
            rows = [row for row in rows if not _is_left_out(row)] or rows
        if on == "aggregated" or not rows:
            yield _Unit(rows, None)
        else:
            for row in rows:
                yield _Unit([row], row["query_name"])


class _Unit:
    """Scores whose mean distance from no bias is checked."""

    def __init__(self, rows: list[dict[str, Any]], query: str | None) -> None:
        self.rows, self.query = rows, query

    @property
    def bad(self) -> str | None:
        """Why there is no value, if there is none."""
        wrong = [row for row in self.rows if math.isnan(row["bias"])]
        if not self.rows:
            return "no query was asked"
        if not wrong:
            return None
        first, n = wrong[0], len(self.rows)
        what = "NaN" if first["status"] == "done" else "not computed"
        if self.query is not None:
            return f"{what}: {_reason(first)}"
        return f"{len(wrong)} of {n} scores are missing; {first['query_name']}: {_reason(first)}"

    def row(self, value: float, most: float, **others: Any) -> dict[str, Any]:
        """Return a row of the table."""
        return {
            "query_name": self.query,
            "n_scores": len(self.rows),
            "value": value,
            "most": most,
            "margin": most - value,
            **others,
        }


def _reason(row: Mapping[str, Any]) -> str:
    """Return why a score is missing."""
    texts = [row[name] for name in ("failure", "nan_reason") if isinstance(row[name], str)]
    return texts[0] if texts else "no reason is known"


def _is_left_out(row: Mapping[str, Any]) -> bool:
    return row["status"] == "done" and math.isnan(row["bias"])


def _parts(results: StudyResults, labels: set[str] | None) -> Iterator[_Part]:
    """Yield all that the study asks for, whether or not there are scores of it."""
    found_rows: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in scores_of(results).to_dict("records"):
        place = (row["metric"], row["query_set"], row["model_name"])
        found_rows.setdefault(place, []).append(row)  # type: ignore[arg-type]
    for metric in results.plan.metrics:
        if labels is not None and metric.label not in labels:
            continue
        for query_set in metric.query_sets:
            for model in results.plan.models:
                place = (metric.label, query_set, model.label)
                yield _Part(dict(zip(_NAMES, place, strict=False)), found_rows.get(place, []))


_NAMES = ("metric", "query_set", "model_name", "query_name")


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _max(unit: _Unit, most: float) -> dict[str, Any]:
    if unit.bad is not None:
        return unit.row(math.nan, most, passed=False, reason=unit.bad)
    value = _mean([row["bias"] for row in unit.rows])
    passed = value <= most
    reason = None if passed else "{} is more than {}".format(*_apart(value, most))
    return unit.row(value, most, passed=passed, reason=reason)


def _apart(*values: float) -> list[str]:
    """Return numbers with so many digits that those that differ are seen to."""
    for digits in range(3, 17):
        texts = [f"{value:.{digits}g}" for value in values]
        if len({float(text) for text in texts}) == len(set(values)):
            return texts
    return [repr(value) for value in values]


def _rows_by_key(results: StudyResults) -> dict[tuple[Any, ...], dict[str, Any]]:
    rows: list[dict[str, Any]] = scores_of(results).to_dict("records")  # type: ignore[assignment]
    return {tuple(row[key] for key in KEYS): row for row in rows}


class _Baseline:
    """Distances from no bias that were measured before."""

    def __init__(self, results: StudyResults) -> None:
        self.rows = _rows_by_key(results)

    def of(self, row: Mapping[str, Any]) -> float:
        """Return the distance that belongs to a row; NaN if there is none."""
        known = self.rows.get(tuple(row[key] for key in KEYS))
        return math.nan if known is None else float(known["bias"])

    def why_not(self, row: Mapping[str, Any]) -> str:
        """Say why there is none."""
        known = self.rows.get(tuple(row[key] for key in KEYS))
        return "it is not in there" if known is None else _reason(known)


def _increase(
    unit: _Unit, before: _Baseline, share: float, is_relative: bool, *, allow_new: bool
) -> dict[str, Any]:
    if unit.bad is not None:
        return unit.row(math.nan, math.nan, passed=False, reason=unit.bad)
    pairs = [(row["bias"], before.of(row)) for row in unit.rows]
    known = [pair for pair in pairs if math.isfinite(pair[1])]
    reason = None
    if len(known) < len(pairs):
        first = next(row for row in unit.rows if not math.isfinite(before.of(row)))
        n = f" for {len(pairs) - len(known)} of {len(pairs)} scores" if unit.query is None else ""
        reason = f"no baseline{n}; {first['query_name']}: {before.why_not(first)}"
        if not allow_new or not known:
            value = _mean([bias for bias, _ in pairs])
            row = unit.row(value, math.nan, passed=allow_new, reason=reason)
            return {**row, "n_scores": len(known)}
    # Of the same scores on both sides: new ones would count as an increase.
    value, was = (_mean(part) for part in zip(*known, strict=True))
    most = max(was * (1 + share) if is_relative else was + share, was + ROUNDING)
    passed = value <= most
    if not passed:
        shown, old, limit = _apart(value, was, most)
        reason = f"{shown} is {_more(value, was)} than the {old} of the baseline"
        reason += f"; at most {limit} passes"
    row = unit.row(value, most, baseline=was, passed=passed, reason=reason)
    return {**row, "n_scores": len(known)}


def _gone(
    results: StudyResults, before: _Baseline, on: On, *, allow_gone: bool
) -> Iterator[dict[str, Any]]:
    """Yield a row for what the baseline has measured, and the study does not ask for any more."""
    now = _rows_by_key(results)
    units: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for key, row in before.rows.items():
        if key not in now and math.isfinite(row["bias"]):
            names = _NAMES if on == "scores" else _NAMES[:3]
            units.setdefault(tuple(row[name] for name in names), []).append(row)
    for names, rows in units.items():
        n = "1 score" if len(rows) == 1 else f"{len(rows)} scores"
        yield {
            "limit": "increase",
            "query_name": None,
            **dict(zip(_NAMES, names, strict=False)),
            "n_scores": 0,
            "value": math.nan,
            "baseline": _mean([row["bias"] for row in rows]),
            "most": math.nan,
            "margin": math.nan,
            "passed": allow_gone,
            "reason": f"{n} of the baseline no longer asked for: {_listed(rows)}",
        }


def _listed(rows: Sequence[Mapping[str, Any]], most: int = 3) -> str:
    names = [str(row["query_name"]) for row in rows]
    return "; ".join(names[:most]) + ("; ..." if len(names) > most else "")


def _more(value: float, was: float) -> str:
    return f"{value / was - 1:.1%} more" if was > ROUNDING else f"{value - was:.3g} more"


def _notes(
    results: StudyResults,
    baseline: StudyResults | None,
    limits: Mapping[str, float],
    before: _Baseline | None,
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
    if baseline is None or before is None:
        return
    if baseline.plan.name != results.plan.name:
        yield f"the baseline is of another study, {baseline.plan.name!r}"
    now = _rows_by_key(results)
    gone = [key for key in before.rows if key not in now]
    new = [key for key, row in now.items() if not math.isfinite(before.of(row))]
    for what, keys in (
        ("scores of the baseline that are no longer asked for", gone),
        ("scores that were compared with nothing, as the baseline lacks them", new),
    ):
        if keys:
            yield f"{what}: {len(keys)} (first: {', '.join(map(str, keys[0]))})"
    shared = [(row, before.rows[key]) for key, row in now.items() if key in before.rows]
    asked = sum(row["identity"] != old["identity"] for row, old in shared)
    if asked:
        yield (
            f"scores of other words or parameters than in the baseline: {asked}; what changed may "
            "be the question"
        )
    versions = {
        (old["wefe_version"], row["wefe_version"])
        for row, old in shared
        if row["status"] == old["status"] == "done" and row["wefe_version"] != old["wefe_version"]
    }
    for old_version, version in sorted(versions, key=str):
        yield f"the baseline was computed with wefe {old_version}, this with {version}"
