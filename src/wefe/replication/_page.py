"""Render a replication: tables and figures of the paper, then the report of its study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from wefe._visible import visible, visible_data
from wefe.report._figures import drawn
from wefe.report._figures import figures as study_figures
from wefe.report._render import html_page
from wefe.report._summarize import summarize
from wefe.report._text import number

if TYPE_CHECKING:
    from wefe.replication._replication import Replication


def replication_html(made: Replication) -> str:
    summary = summarize(made.results)
    own = [
        drawn(f"paper-{at}", figure, {"title": title})
        for at, (title, figure) in enumerate(made.figures.items())
    ]
    compared = made.comparison.drop(columns="tolerance").set_index("table")
    shown = {
        **{key: made.paper[key] for key in ("title", "reference")},
        "notes": [*made.notes],
        "verdicts": made.verdicts(),
        "tables": [_table(*pair) for pair in made.tables.items()],
        "compared": _table("Printed values and those measured here", compared),
        "figures": [each.id for each in own],
    }
    drawings = study_figures(made.results, summary) | {each.id: each for each in own}
    page = summary | {"figures": drawings, "paper": visible_data(shown, "\n")}
    return html_page("replication.html.jinja", **page)


def cell_text(value: object) -> str:
    """Format a table cell: three decimals, small numbers in scientific notation, '' for NaN.

    >>> cell_text(1.23456), cell_text(1.6e-06), cell_text(float("nan")), cell_text("she")
    ('1.235', '1.6e-06', '', 'she')
    """
    if not isinstance(value, float):
        return visible(str(value))
    if value != value:
        return ""
    return f"{value:.1e}" if 0 < abs(value) < 5e-5 else number(value)


def _table(title: str, frame: pd.DataFrame) -> dict[str, Any]:
    cells = frame.reset_index()
    is_number = [pd.api.types.is_numeric_dtype(kind) for kind in cells.dtypes]
    return {
        "title": title,
        "heads": [str(name).replace("_", " ") for name in cells],
        "is_number": is_number,
        "rows": [[cell_text(cell) for cell in row] for row in cells.itertuples(index=False)],
    }
