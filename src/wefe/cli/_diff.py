"""`wefe diff`: show what differs between two results of a study."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import typer

from wefe._output import Format, as_json, as_latex, as_text
from wefe._visible import as_csv, visible
from wefe.cli import _options as opt
from wefe.cli._run import Stored
from wefe.study._diff import StudyDiff
from wefe.study._diff import diff as compare


@opt.command
def diff(
    before: Path,
    after: Path,
    *,
    study: str | None = None,
    tolerance: float = 0.0,
    format: Format = "table",
) -> None:
    """Compare two results of a study.

    Matches scores by the names of model, query set, query and metric, and lists scores without a
    match. For each score that changed, prints the change, the change of its distance from no bias,
    whether this is more than half the width of its bootstrap interval, and the inputs that differ:
    words, parameters, vectors, or the version of wefe. Also compares quality benchmarks,
    silhouettes, bias directions, and settings of rankings.

    Exit code: 0 if nothing differs, 1 if something differs or nothing is comparable, 2 on errors.

    Example: wefe diff before.db after.db --tolerance 1e-6

    Parameters
    ----------
    before : BEFORE
        A results file, or a study file that you have run.
    after : AFTER
        The same, to compare with BEFORE.
    study : NAME
        Name of the study, if a results file holds several.
    tolerance : X
        Ignore smaller differences. Use 1e-6 for results of two machines.
    format
        table, markdown and latex show the differences; csv contains all scores; json contains all
        differences and settings.
    """
    declared = [path.suffix == ".toml" for path in (before, after)]
    opt.check_used(diff, locals(), {"study": (not all(declared), "results files")})
    one, other = (
        Stored(name=None if is_declared else study).open(path)
        for path, is_declared in zip((before, after), declared, strict=True)
    )
    found = compare(one, other, tolerance=tolerance)
    if format == "csv":
        print(_as_csv(found.rows()), end="")
    elif format == "json":
        print(as_json({"differences": found.table, "settings": found.settings}))
    elif format == "markdown":
        print(found.to_markdown(), end="")
    elif format == "latex":
        print("\n".join(as_latex(title, frame) for title, frame, _ in found.tables()), end="")
    else:
        _print(found)
    if not found.is_empty:
        raise typer.Exit(1)


def _as_csv(frame: pd.DataFrame) -> str:
    """Return CSV with quoted names, so that no line can be a command to a CI server."""
    frame = frame.map(lambda cell: visible(cell) if isinstance(cell, str) else cell)
    return as_csv(frame, quoting=csv.QUOTE_NONNUMERIC)


def _print(found: StudyDiff) -> None:
    print(found.summary())
    for note in found.notes:
        print(f"note: {visible(note)}")
    for title, frame, n_more in found.tables():
        print(f"\n{title}")
        # GitHub Actions obeys lines that begin so, even after spaces.
        for line in as_text(frame).split("\n"):
            print(f"\\{line}" if line.lstrip().startswith(("::", "##[")) else line)
        if n_more:
            print(f"... and {n_more:,} more; --format csv prints all scores")
