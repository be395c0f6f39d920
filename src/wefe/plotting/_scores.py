"""Scores as grouped bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from wefe._checks import check_choice
from wefe.plotting._axes import Rows
from wefe.plotting._labels import count, n_lines, wrap
from wefe.plotting._reading import SIGNIFICANT, Reading
from wefe.plotting._style import (
    FAINT,
    INK,
    bar_style,
    dress,
    hollowed,
    pointed_at,
    write,
)
from wefe.plotting._table import check_table
from wefe.results import OPPOSITE

_SHADE = "#f1f1f1"
_DOT = "●"
# Bars shorter than this share of the longest one can hardly be seen.
_SHORT = 0.005


def plot_queries_results(
    results: pd.DataFrame, by: Literal["query", "model"] = "query"
) -> go.Figure:
    """Plot scores as grouped horizontal bars.

    Bars start at the value that means no bias, which a line marks: the longer a bar, the more bias
    was measured; a dot stands for a bar that is too short to be seen. They start at 0 where the
    table does not name a metric that WEFE knows. Hollow bars have p > 0.05, where the metric was
    asked for p-values. Full ones against the direction of a one-sided test are strong in
    the opposite direction; a note counts them. A line across shows where 95 % of the scores lie
    with words exchanged, as they would be without bias.

    Parameters
    ----------
    results : DataFrame
        What :func:`wefe.running.measure` returns, of one metric and query set: p-values, reasons
        for NaN and lost words are shown, too. Or the matrix of
        :func:`wefe.running.run_queries`, with or without an aggregated column. That
        one stands apart: as a shaded group or as black bars, and on an axis of its own if another
        value means no bias.
    by : {'query', 'model'}, default='query'
        What the bars are grouped by. The other one has the colours.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per model (per query if grouped by model) and axis, in the order of the table;
        with hollow bars, further traces without bars make the legend. Scores that are NaN are
        marked 'no value', with a letter for the reason, if the table knows it; the reasons stand
        below the plot.

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
    reading = Reading.of(results)
    models, queries, scores = check_table(
        "results", reading.matrix, "run_queries", "models", "queries"
    )
    by_query = check_choice("by", by, ("query", "model")) == "query"
    short, aggregation = reading.labels(queries)
    labels = [wrap(name) for name in short]
    stands_apart = reading.aggregated and len(queries) > 1
    if stands_apart:
        labels[-1] = f"<b>{labels[-1]}</b>"
    # In the order of the picture.
    missing = np.argwhere(np.isnan(scores.T if by_query else scores))[:, :: -1 if by_query else 1]
    marks, footnotes = reading.reasons([(models[i], queries[j], j) for i, j in missing.tolist()])
    cells = np.empty(scores.shape, dtype=object)
    for i, j in np.ndindex(scores.shape):
        model, query, score = models[i], queries[j], float(scores[i, j])
        p_value = reading.p_value(model, query)
        cells[i, j] = _Cell(
            score,
            hover=reading.hover(model, query, j, score),
            p_value=math.nan if math.isnan(score) else p_value,
            opposite=reading.opposite(model, query),
            null=reading.null(model, query),
            no_value=f"no value{marks.get((model, query), '')}",
        )

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
    dotted, title_lines = [], 1
    for number, (part, bars) in enumerate(zip(parts, rows, strict=True)):
        place = {"row": number + 1, "col": 1} if by_query else {"row": 1, "col": number + 1}
        no_bias = reading.no_bias[part[0]]
        start = no_bias or 0.0
        shortest = _SHORT * float(np.nanmax(np.abs(scores[:, part] - start), initial=0))
        columns = [(name, name) for name in models]
        if not by_query:
            columns = [(queries[j], short[j]) for j in part]
        for position, (name, label) in enumerate(columns):
            sums_up = stands_apart and not by_query and name == queries[-1]
            dots = _draw(
                figure,
                bars,
                position,
                (cells[:, part] if by_query else cells[:, part].T)[position],
                {
                    "name": wrap(label, 30),
                    "legendgroup": name,
                    # Bars of an axis of its own have the room of all.
                    "alignmentgroup": str(number),
                    "offsetgroup": name,
                    "showlegend": number == 0 or not by_query,
                    "marker": {"color": INK} if sums_up else bar_style(position),
                    "base": start,
                },
                shortest,
                place,
            )
            if dots:
                dotted.append(f"{start:g}")
        if no_bias is not None:
            _mark_no_bias(figure, no_bias, **place)
        # Side by side, the second part is narrow.
        what = wrap(reading.axis_title(part), 24 if len(parts) > 1 and not by_query else 60)
        title_lines = max(title_lines, n_lines(what))
        figure.update_xaxes(title_text=what, **place)
        bars.apply(figure, "" if number else by.capitalize(), **place)
    if stands_apart and by_query and len(parts) == 1:
        edges = {"y0": len(queries) - 1.5, "y1": len(queries) - 0.5}
        figure.add_hrect(**edges, fillcolor=_SHADE, line_width=0, layer="below")
    notes = reading.notes(scores, with_reasons=bool(footnotes))
    if aggregation:
        notes.append(aggregation)
    if dotted:
        values = " or ".join(dict.fromkeys(dotted))
        notes.append(f"{_DOT} A score of {values}, or too near to it for a bar to be seen.")
    if any(cell.null for cell in cells.flat):
        notes.append("Lines: 95 % of scores with words exchanged, as they would be without bias.")
    n_opposite = sum(cell.opposite for cell in cells.flat)
    if n_opposite:
        are = count(n_opposite, "full bar is", "full bars are")
        notes.append(f"{are} {OPPOSITE}, which the {reading.test()} misses.")
    if any(cell.hollow for cell in cells.flat):
        _explain_hollow_bars(figure, f"p > {SIGNIFICANT} ({reading.test()})")
    elif not n_opposite and not all(math.isnan(cell.p_value) for cell in cells.flat):
        notes.append(f"All p-values are at most {SIGNIFICANT} ({reading.test()}).")
    legend_title = "Model" if by_query else "Query"
    figure.update_layout(barmode="group", showlegend=True, legend_title_text=legend_title)
    below_px = 60 + 18 * (title_lines - 1)
    return dress(figure, reading.title(), notes, height, 20, below_px, footnotes=footnotes)


class _Cell(NamedTuple):
    """A score and what the figure says of it."""

    score: float
    hover: str
    p_value: float
    opposite: bool
    null: tuple[float, float] | None
    no_value: str

    @property
    def hollow(self) -> bool:
        return self.p_value > SIGNIFICANT and not self.opposite


def _draw(
    figure: go.Figure,
    bars: Rows,
    position: int,
    cells: Sequence[_Cell],
    look: dict[str, Any],
    shortest: float,
    place: dict[str, Any],
) -> bool:
    """Draw one series of bars, and words or dots in place of those that cannot be seen.

    Return whether there are dots.
    """
    start, style = look["base"], look["marker"]
    hollow = [cell.hollow for cell in cells]
    figure.add_bar(
        **{**look, "marker": hollowed(style, hollow) if any(hollow) else style},
        orientation="h",
        y=bars.names,
        x=[cell.score - start for cell in cells],
        **pointed_at([cell.hover for cell in cells]),
        **place,
    )
    dots, middle = False, {"xanchor": "center"}
    for row, cell in enumerate(cells):
        y = bars.centre(row, position)
        if cell.null is not None:
            ends = {"x0": cell.null[0], "x1": cell.null[1], "y0": y, "y1": y}
            for color, width in (("white", 4), (INK, 2)):  # seen on bars of any colour
                line = {"color": color, "width": width}
                figure.add_shape(type="line", line=line, **ends, **place)
        if math.isnan(cell.score):
            write(figure, start, y, cell.no_value, cell.hover, bars.font_size, **place)
        elif abs(cell.score - start) <= shortest:
            dots = True
            size = 1.8 * bars.font_size
            write(figure, start, y, _DOT, cell.hover, size, style["color"], **middle, **place)
    return dots


def _explain_hollow_bars(figure: go.Figure, meaning: str) -> None:
    """Let traces without bars make the legend: it looks like first bars, which may be hollow."""
    in_legend = [bar for bar in figure.data if bar.showlegend]
    for bar in in_legend:
        marker = bar.marker.to_plotly_json()
        if not isinstance(marker["color"], str):
            marker["color"] = marker.pop("line")["color"]
            if "pattern" in marker:
                marker["pattern"]["fgcolor"] = "white"
        figure.add_trace(_like(bar, bar.name, bar.legendgroup, marker))
        bar.showlegend = False
    marker = hollowed({"color": FAINT}, [True])
    figure.add_trace(_like(in_legend[0], wrap(meaning, 30), "p", marker))


def _like(bar: go.Bar, name: str, legendgroup: str, marker: dict[str, Any]) -> go.Bar:
    """Return a trace without bars that takes no room from those of another."""
    keys = ("orientation", "alignmentgroup", "offsetgroup", "xaxis", "yaxis")
    same = {key: bar[key] for key in keys}
    return go.Bar(x=[None], y=bar.y[:1], name=name, legendgroup=legendgroup, marker=marker, **same)


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
