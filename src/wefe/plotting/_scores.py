"""Scores as grouped bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from wefe._checks import check_choice
from wefe.plotting._axes import Rows
from wefe.plotting._labels import wrap
from wefe.plotting._reading import Reading
from wefe.plotting._style import FAINT, INK, bar_style, dress, pointed_at, write
from wefe.plotting._table import check_table

_SHADE = "#f1f1f1"


def plot_queries_results(
    results: pd.DataFrame, by: Literal["query", "model"] = "query"
) -> go.Figure:
    """Plot scores as grouped horizontal bars.

    Bars start at the value that means no bias, which a line marks: the longer a bar, the more bias
    was measured. A table without `attrs` (from a file, say) does not know that value; its bars
    start at 0.

    Parameters
    ----------
    results : DataFrame of shape (n_models, n_queries)
        What `run_queries` returns, with or without an aggregated column. That one stands apart: as
        a shaded group or as black bars, and on an axis of its own if another value means no bias.
    by : {'query', 'model'}, default='query'
        What the bars are grouped by. The other one has the colours.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per model (per query if grouped by model) and axis, in the order of the table.
        Scores that are NaN are marked 'no value', with the reason, if the table knows it, when
        pointed at.

    Raises
    ------
    TypeError
        If `results` is no DataFrame.
    ValueError
        If it is empty or holds anything but numbers, or `by` is unknown.

    Examples
    --------
    >>> table = pd.DataFrame({"Math and Arts": [1.2, 0.1]}, index=["w2v", "glove"])
    >>> [trace.name for trace in plot_queries_results(table).data]
    ['w2v', 'glove']
    """
    models, queries, scores = check_table("results", results, "run_queries", "models", "queries")
    by_query = check_choice("by", by, ("query", "model")) == "query"
    reading = Reading.of(results)
    hovers = np.empty(scores.shape, dtype=object)
    for i, j in np.ndindex(scores.shape):
        hovers[i, j] = reading.hover(models[i], queries[j], j, float(scores[i, j]))
    labels = [wrap(name) for name in queries]
    stands_apart = reading.aggregated and len(queries) > 1
    if stands_apart:
        labels[-1] = f"<b>{labels[-1]}</b>"

    parts = reading.parts()
    if by_query:
        rows = [
            Rows([queries[j] for j in part], [labels[j] for j in part], len(models))
            for part in parts
        ]
        figure, height = _above_each_other(rows)
    else:
        rows = [Rows(models, [wrap(name) for name in models], len(part)) for part in parts]
        figure, height = _side_by_side(rows)
    for number, (part, bars) in enumerate(zip(parts, rows, strict=True)):
        place = {"row": number + 1, "col": 1}
        series, values, texts = models, scores[:, part], hovers[:, part]
        if not by_query:
            place = {"row": 1, "col": number + 1}
            series, values, texts = [queries[j] for j in part], values.T, texts.T
        no_bias = reading.no_bias[part[0]]
        start = no_bias or 0.0
        for position, name in enumerate(series):
            sums_up = stands_apart and not by_query and name == queries[-1]
            figure.add_bar(
                orientation="h",
                name=wrap(name, 30),
                legendgroup=name,
                showlegend=number == 0 or not by_query,
                y=bars.names,
                x=(values[position] - start).tolist(),
                base=start,
                marker={"color": INK} if sums_up else bar_style(position),
                **pointed_at(texts[position].tolist()),
                **place,
            )
            for row in np.flatnonzero(np.isnan(values[position])).tolist():
                y, hover = bars.centre(row, position), texts[position][row]
                write(figure, start, y, "no value", hover, bars.font_size, **place)
        if no_bias is not None:
            _mark_no_bias(figure, no_bias, **place)
        # Side by side, the second part is narrow.
        what = wrap(reading.axis_title(part), 24 if len(parts) > 1 and not by_query else 60)
        figure.update_xaxes(title_text=what, **place)
        bars.apply(figure, "" if number else by.capitalize(), **place)
    if stands_apart and by_query and len(parts) == 1:
        edges = {"y0": len(queries) - 1.5, "y1": len(queries) - 0.5}
        figure.add_hrect(**edges, fillcolor=_SHADE, line_width=0, layer="below")
    legend_title = "Model" if by_query else "Query"
    figure.update_layout(barmode="group", showlegend=True, legend_title_text=legend_title)
    return dress(figure, reading.title(), reading.notes(scores), height, above_px=20)


def _above_each_other(rows: Sequence[Rows]) -> tuple[go.Figure, int]:
    """Return axes for each part of a table of scores, and the height of all."""
    heights = [part.height for part in rows]
    between_px = 90 * (len(rows) - 1)
    height = sum(heights) + between_px
    figure = make_subplots(
        rows=len(rows), row_heights=heights, vertical_spacing=between_px / height
    )
    return figure, height


def _side_by_side(rows: Sequence[Rows]) -> tuple[go.Figure, int]:
    """Return the same for parts with the same rows; the second part has one column."""
    figure = make_subplots(
        cols=len(rows),
        column_widths=[2, 1][: len(rows)],
        shared_yaxes=True,
        horizontal_spacing=0.05,
    )
    return figure, rows[0].height


def _mark_no_bias(figure: go.Figure, value: float, **place: Any) -> None:
    figure.add_vline(
        value,
        line={"color": INK, "width": 1.5},
        annotation={"text": f"no bias: {value:g}", "font": {"size": 11, "color": FAINT}},
        annotation_position="top",
        **place,
    )
