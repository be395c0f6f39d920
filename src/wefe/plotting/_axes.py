"""Rows of bars, and grids of panels whose heights fit their content."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from wefe.plotting._labels import height_px, wrap

_ROW_GAP = 0.2


def at(row: int, col: int = 1) -> dict[str, Any]:
    return {"row": row, "col": col}


def name_rows(figure: go.Figure, labels: Sequence[str], **place: Any) -> None:
    """Name the rows at 0, 1, 2 and so on, from the top."""
    figure.update_yaxes(
        range=[len(labels) - 0.5, -0.5],
        tickvals=list(range(len(labels))),
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
        figure.update_yaxes(
            type="category",
            categoryorder="array",
            categoryarray=self.names,
            range=[len(self.names) - 0.5, -0.5],
            tickvals=self.names,
            ticktext=self.labels,
            showgrid=False,
            **axis,
        )


class Panels:
    """A grid of panels, each with a title no wider than itself."""

    def __init__(
        self,
        names: Sequence[str],
        panel_px: int,
        below_px: int,
        abreast: int = 3,
        second_lines: Sequence[str] = (),
    ) -> None:
        # Four panels look better two by two.
        self.n_columns = min(2 if len(names) == 4 else len(names), abreast)
        self.n_rows = math.ceil(len(names) / self.n_columns)
        self.titles = [wrap(name, 80 // self.n_columns) for name in names]
        if second_lines:
            pairs = zip(self.titles, second_lines, strict=True)
            self.titles = ["<br>".join(filter(None, pair)) for pair in pairs]
        self.title_px = height_px(self.titles) + 10
        between_px = below_px + self.title_px
        self.height = self.n_rows * panel_px + (self.n_rows - 1) * between_px
        self.spacing = between_px / self.height if self.n_rows > 1 else 0

    def figure(self) -> go.Figure:
        figure = make_subplots(
            rows=self.n_rows,
            cols=self.n_columns,
            subplot_titles=self.titles,
            shared_yaxes=True,
            horizontal_spacing=0.1 / self.n_columns,
            vertical_spacing=self.spacing,
        )
        return figure.update_annotations(font={"size": 13})

    def place(self, position: int) -> dict[str, Any]:
        """Return row and column of a panel, counted from 1 as plotly does."""
        row, column = divmod(position, self.n_columns)
        return at(row + 1, column + 1)


def stacked(heights: Sequence[int], between_px: int, **options: Any) -> tuple[go.Figure, int]:
    height = sum(heights) + between_px * (len(heights) - 1)
    figure = make_subplots(
        rows=len(heights),
        row_heights=list(heights),
        vertical_spacing=between_px / height if len(heights) > 1 else 0,
        **options,
    )
    return figure, height


def mark_no_bias(figure: go.Figure, value: float, where: str = "top", **place: Any) -> None:
    text = {"text": f"no bias: {value:g}"}
    if not math.isnan(value):
        figure.add_vline(value, line_width=1.5, annotation=text, annotation_position=where, **place)
