"""`wefe check` and `wefe diff`: compare the results of a study with limits, or with others."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import pandas as pd
import typer

from wefe._checks import logger
from wefe._output import Format, tell, write
from wefe._visible import one_line, visible, visible_data
from wefe.cli import _options as opt
from wefe.cli._run import Stored, run_study
from wefe.study import Outcome, Study, StudyResults
from wefe.study._diff import LONGEST_LIST
from wefe.study._diff import diff as compare
from wefe.study._gate import GateReport
from wefe.study._gate import check as check_limits

# GitHub shows at most ten annotations per step.
_MOST_ANNOTATIONS = 10


@opt.command
def check(
    study: Path,
    *,
    max: list[str] = [],
    max_increase: str | None = None,
    min_impact_ratio: float | None = None,
    max_gap: float | None = None,
    baseline: Path | None = None,
    allow_new: bool = False,
    allow_gone: bool = False,
    allow_nan: bool = False,
    stored: Stored,
    n_jobs: int = 1,
    format: Literal["text", "json", "junit", "github"] | None = None,
) -> None:
    """Check bias against limits, in continuous integration.

    For each metric, model and query set, compares the mean distance of the scores from the no-bias
    value with a limit. Missing scores fail, with the reason, so that a check cannot pass because
    nothing was measured. In GitHub Actions, the job also gets a summary and an annotation for each
    failure.

    Exit code: 0 if all checks pass, 1 if one fails, 2 on errors.

    Example: wefe check study.toml --max weat-es=0.5 --max-increase 10% --baseline baseline.db

    Parameters
    ----------
    study : STUDY
        A study file (missing results are computed first) or a results file.
    max : METRIC=VALUE
        Largest distance from the no-bias value that passes. METRIC is a name or label of the study.
        Repeat for several.
    max_increase : AMOUNT
        How much farther from no bias than the baseline a score may be: '10%' of the baseline's
        distance, or an amount such as 0.05. Applies to all metrics.
    min_impact_ratio : RATIO
        For audits of rankings: smallest impact ratio of a group that passes. A common rule of thumb
        is 0.8 (four-fifths rule).
    max_gap : GAP
        For audits of rankings: largest gap between the mean scores of two groups that passes.
    baseline : FILE
        Results file of an earlier run to compare with.
    allow_new
        Accept scores that are not in the baseline.
    allow_gone
        Accept that scores of the baseline are no longer part of the study.
    allow_nan
        Ignore NaN scores if the query set has other scores.
    format
        json: all rows. junit: XML for CI servers. github: text with annotations, the default in
        GitHub Actions. Otherwise text.
    """
    given = _parse_limits(max)
    source = stored.source(study)
    uses = {"n_jobs": (isinstance(source, Study), "a study file (.toml)")}
    opt.check_used(check, locals(), uses)
    own = stored.results or (source.results_path if isinstance(source, Study) else study)
    within_limits = partial(
        check_limits,
        max_bias=given,
        min_impact_ratio=min_impact_ratio,
        max_gap=max_gap,
        max_increase=max_increase,
        baseline=None if baseline is None else _open_baseline(baseline, own),
        allow_new=allow_new,
        allow_gone=allow_gone,
        allow_nan=allow_nan,
    )
    if isinstance(source, Study):
        # Check all input before missing results are computed, which may take hours.
        within_limits(StudyResults(source.plan, (Outcome(),) * len(source.plan.tasks)))
        source = run_study(source, stored.results, n_jobs=n_jobs)
    report = within_limits(source)
    default = "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text"
    printers = {"json": _print_json, "junit": _print_junit, "github": _print_github, "text": _print}
    printers[format or default](report)
    _write_summary(report, os.environ.get("GITHUB_STEP_SUMMARY"))
    if not report.passed:
        raise typer.Exit(1)


def _parse_limits(texts: Sequence[str]) -> dict[str, float]:
    # Labels may contain '='.
    pairs = [text.rpartition("=") for text in texts]
    with suppress(ValueError):
        limits = {metric.strip(): float(value) for metric, _, value in pairs}
        if all(limits) and len(limits) == len(texts):
            return limits
    raise ValueError(
        f"--max {', '.join(texts)}: expected METRIC=VALUE, for example weat-es=0.5. Give each "
        "metric only once."
    )


def _open_baseline(baseline: Path, results: Path) -> StudyResults:
    if results.exists() and baseline.exists() and results.samefile(baseline):
        raise ValueError(
            f"--baseline {baseline} is the results file itself, so nothing can differ. Keep a copy "
            "of the results of each release."
        )
    return StudyResults.from_file(baseline)


def _print(report: GateReport) -> None:
    tell(f"Bias gate {report.summary()}\n", "green" if report.passed else "red")
    write("table", [report._shown()], {})
    lines = [f"- {message}" for message in report.messages()[:LONGEST_LIST]]
    lines += [f"note: {note}" for note in report.notes]
    # A line break in a name could inject a command into GitHub Actions.
    tell("\n".join(map(one_line, lines)))


def _print_github(report: GateReport) -> None:
    _print(report)
    for message in report.messages()[:_MOST_ANNOTATIONS]:
        print(f"::error title=Bias gate::{_escaped(message)}")


def _print_json(report: GateReport) -> None:
    notes = pd.DataFrame({"note": report.notes})
    write("json", [], {"checks": report.table, "notes": notes})


def _print_junit(report: GateReport) -> None:
    table = report.table
    count = {"tests": str(len(table)), "failures": str(len(report.violations))}
    suite = ElementTree.Element("testsuite", {"name": "wefe check", **count})
    for row in table.to_dict("records"):
        names = (row["query_set"], row["attribute"], row["model_name"], row["limit"])
        name = ", ".join(one_line(part) for part in names if isinstance(part, str))
        case = {"classname": one_line(row["metric"]), "name": name}
        test = ElementTree.SubElement(suite, "testcase", case)
        if not row["passed"]:
            ElementTree.SubElement(test, "failure", {"message": one_line(row["reason"])})
    ElementTree.SubElement(suite, "system-out").text = "\n".join(map(one_line, report.notes))
    ElementTree.indent(suite)
    print(ElementTree.tostring(suite, encoding="unicode"))


def _write_summary(report: GateReport, path: str | None) -> None:
    """Append the report to the job summary of GitHub Actions."""
    if not path:
        return
    try:
        # Other steps of the job write to the same file.
        with open(path, "a", encoding="utf-8") as file:
            file.write(report.to_markdown())
    except OSError as error:
        # The check is decided, and its exit code must show it.
        logger.warning("the summary of the job could not be written: %s", error)


def _escaped(text: str) -> str:
    """Escape a text so that it cannot end or start an annotation."""
    return visible(text, "\r\n").translate({ord(each): f"%{ord(each):02X}" for each in "%\r\n"})


@opt.command
def diff(before: Path, after: Path, *, tolerance: float = 0.0, format: Format = "table") -> None:
    """Compare two results of a study.

    Matches scores by the names of model, query set, query and metric, and lists scores without a
    match. For each score that changed, prints the change, the change of its distance from no bias,
    whether this is more than half the width of its bootstrap interval, and the inputs that differ:
    words or parameters, or the vectors or the version of wefe. Also compares quality benchmarks,
    audits of rankings, and settings.

    Exit code: 0 if nothing differs, 1 if something differs or nothing is comparable, 2 on errors.

    Example: wefe diff before.db after.db --tolerance 1e-6

    Parameters
    ----------
    before : BEFORE
        A results file, or a study file that you have run.
    after : AFTER
        The same, to compare with BEFORE.
    tolerance : X
        Ignore smaller differences. Use 1e-6 for results of two machines.
    format
        table, markdown and latex show the differences; csv contains all rows; json contains all
        differences and settings.
    """
    found = compare(Stored().open(before), Stored().open(after), tolerance=tolerance)
    if format == "markdown":
        print(found.to_markdown(), end="")
    else:
        if format == "table":
            print(f"{found.summary()}\n")
        # A line break in a name could inject a command into GitHub Actions.
        differences = found.table.map(visible_data)
        write(format, found.tables(), {"differences": differences, "settings": found.settings})
    if not found.is_empty:
        raise typer.Exit(1)
