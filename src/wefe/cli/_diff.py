"""`wefe diff`: what differs between two results of a study."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wefe.cli._output import as_json, as_text

if TYPE_CHECKING:
    import pandas as pd

    from wefe.study._diff import StudyDiff


class DiffFormat(StrEnum):
    """How differences are printed."""

    table = "table"
    csv = "csv"
    json = "json"
    markdown = "markdown"


def diff(
    before: Annotated[
        Path, typer.Argument(help="A results file, or a study file that was run.", metavar="BEFORE")
    ],
    after: Annotated[
        Path,
        typer.Argument(help="Another one.", metavar="AFTER"),
    ],
    study: Annotated[
        str | None, typer.Option(help="Name of the study, where a results file holds several.")
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(help="Largest difference that counts as none; 1e-6 between two machines."),
    ] = 0.0,
    format: Annotated[  # noqa: A002 - the option is called --format
        DiffFormat,
        typer.Option(
            help="table and markdown show what differs. csv has all scores, the equal ones too; "
            "json has all tables."
        ),
    ] = DiffFormat.table,
) -> None:
    """Compare two results of a study: scores, aggregated scores, ranks.

    Scores belong together if their model, query set, query and metric are called the same; others
    are listed. For each that changed: by how much, by how much its distance from no bias, whether
    that is more than half the width of its bootstrap interval, and what it was computed from that
    is not the same: the words of the query, parameters, the version of wefe, vectors.

    The exit code is 0 if nothing differs, 1 if something does, 2 on errors.

    Example: wefe diff before.db after.db --tolerance 1e-6
    """
    from wefe.cli._run import open_results
    from wefe.study._diff import diff as compare

    found = compare(
        open_results(before, name=study), open_results(after, name=study), tolerance=tolerance
    )
    if format is DiffFormat.csv:
        print(found.to_frame().to_csv(index=False), end="")
    elif format is DiffFormat.json:
        names = ("scores", "aggregated", "ranks", "only_before", "only_after")
        print(as_json({name: getattr(found, name) for name in names}))
    elif format is DiffFormat.markdown:
        print(found.to_markdown(), end="")
    else:
        _print(found)
    if not found.is_empty:
        raise typer.Exit(1)


def _print(found: StudyDiff) -> None:
    print(found.summary())
    for note in found.notes:
        print(note)
    for title, frame, n_more in found.tables():
        print(f"\n{title}")
        print(as_text(_short(frame)))
        if n_more:
            print(f"... and {n_more:,} more; --format csv has all scores")


def _short(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with shares in percent."""
    if "relative_change" not in frame:
        return frame
    shares = frame["relative_change"].map("{:+.1%}".format, na_action="ignore")
    return frame.assign(relative_change=shares)
