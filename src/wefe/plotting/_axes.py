"""Rows of bars, and grids of panels whose heights fit their content."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from wefe.plotting._labels import height_px, wrap

_ROW_GAP = 0.2


def at(row: int, col: int = 1) -> dict[str, Any]:
    return {"row": row, "col": col}


def name_rows(
    figure: go.Figure, labels: Sequence[str], names: Sequence[str] = (), **place: Any
) -> None:
    """Name the rows at 0, 1, 2 and so on, or at the categories `names`, from the top."""
    figure.update_yaxes(
        range=[len(labels) - 0.5, -0.5],
        tickvals=[*(names or range(len(labels)))],
        ticktext=labels,
        showgrid=False,
        **place,
    )


class Rows:
    """Groups of horizontal bars: the position of each bar and their total height."""

    def __init__(self, names: Sequence[str], labels: Mapping[str, str], n_series: int) -> None:
        self.names, self.labels = names, [labels[name] for name in names]
        self.n_series = n_series
        bar_px = min(18.0, max(8.0, 70 / n_series))
        row_px = max(n_series * bar_px / (1 - _ROW_GAP), height_px(self.labels) + 8)
        self.height = max(120, math.ceil(len(names) * row_px))
        self.font = {"size": min(11.0, bar_px)}

    def centre(self, row: Any, position: Any) -> Any:
        return row + (position - (self.n_series - 1) / 2) * (1 - _ROW_GAP) / self.n_series

    def apply(self, figure: go.Figure, **axis: Any) -> None:
        """Put the names on the vertical axis, the first on top."""
        figure.update_layout(bargap=_ROW_GAP)
        name_rows(figure, self.labels, self.names, type="category", **axis)


def grid(
    names: Sequence[str],
    panel_px: int,
    below_px: int,
    abreast: int = 3,
    second_lines: Sequence[str] = (),
) -> tuple[go.Figure, list[dict[str, Any]]]:
    """Return a figure with a panel per name, no narrower than its title, and their places."""
    # Four panels look better two by two.
    n_columns = min(2 if len(names) == 4 else len(names), abreast)
    n_rows = math.ceil(len(names) / n_columns)
    titles = [wrap(name, 80 // n_columns) for name in names]
    if second_lines:
        pairs = zip(titles, second_lines, strict=True)
        titles = ["<br>".join(filter(None, pair)) for pair in pairs]
    title_px = (height_px(titles) + 10) * any(titles)
    figure = stacked(
        [panel_px] * n_rows,
        below_px + title_px,
        title_px,
        cols=n_columns,
        subplot_titles=titles,
        shared_yaxes=True,
        horizontal_spacing=0.1 / n_columns,
    )
    places = [at(*place) for place in product(range(1, n_rows + 1), range(1, n_columns + 1))]
    return figure, places[: len(names)]


def stacked(
    heights: Sequence[int], between_px: int, above_px: int = 0, **options: Any
) -> go.Figure:
    """Return a figure with rows of panels; its height and upper margin are those of the panels."""
    height = sum(heights) + between_px * (len(heights) - 1)
    figure = make_subplots(
        rows=len(heights),
        row_heights=list(heights),
        vertical_spacing=between_px / height if len(heights) > 1 else 0,
        **options,
    )
    figure.update_annotations(font={"size": 13})
    return figure.update_layout(height=height, margin_t=above_px)


def mark_no_bias(figure: go.Figure, value: float, where: str = "top", **place: Any) -> None:
    text = {"text": f"no bias: {value:g}"}
    if not math.isnan(value):
        figure.add_vline(value, line_width=1.5, annotation=text, annotation_position=where, **place)
