"""The report of a replication: the paper's tables and figures, then the report of its study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from wefe._visible import visible, visible_data
from wefe.report._figures import drawn, figures
from wefe.report._render import html_page
from wefe.report._summarize import summarize
from wefe.report._text import number

if TYPE_CHECKING:
    from wefe.replication._replication import Replication


def replication_html(replication: Replication) -> str:
    """Return the report as one HTML file."""
    summary = summarize(replication.results)
    own = {}
    for at, (title, figure) in enumerate(replication.figures.items()):
        own[title] = drawn(f"paper-{at}", figure, {"title": title})
    compared = replication.comparison.drop(columns="tolerance").set_index("table")
    paper = {
        **{key: replication.paper[key] for key in ("title", "reference")},
        "notes": replication.notes,
        "verdicts": replication.verdicts(),
        "tables": [_table(*pair) for pair in replication.tables.items()],
        "compared": _table("Printed values and those measured here", compared),
        "figures": [each.id for each in own.values()],
    }
    drawings = figures(replication.results, summary) | {each.id: each for each in own.values()}
    page = summary | {"figures": drawings, "paper": visible_data(paper, "\n")}
    return html_page("replication.html.jinja", **page)


def cell_text(value: object) -> str:
    """Return a cell for people: three decimals, small numbers as powers of ten, '' for none.

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
