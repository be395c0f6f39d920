"""Scores as grouped bars."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from wefe._checks import check_choice
from wefe.plotting._axes import Rows, mark_no_bias, stacked
from wefe.plotting._labels import count, n_lines, wrap
from wefe.plotting._reading import SIGNIFICANT, Cell, Reading
from wefe.plotting._style import PALETTE, apply_layout, bar_style, hover, tint, write
from wefe.plotting._table import check_table
from wefe.results import OPPOSITE

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
        hollow bars are a further trace. Scores that are NaN are
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
        mark = marks.get((model, query), "")
        cells[i, j] = reading.cell(model, query, j, score, mark)

    parts = reading.parts()
    if by_query:
        rows = [
            Rows([queries[j] for j in part], [labels[j] for j in part], len(models))
            for part in parts
        ]
        figure, height = stacked([part.height for part in rows], 90)
    else:
        rows = [Rows(models, [wrap(name) for name in models], len(part)) for part in parts]
        height = rows[0].height
        # The second part has one column.
        widths = [2, 1][: len(rows)]
        figure = make_subplots(
            cols=len(rows), column_widths=widths, shared_yaxes=True, horizontal_spacing=0.05
        )
    dotted: dict[str, None] = {}
    title_lines = 1
    for number, (part, bars) in enumerate(zip(parts, rows, strict=True)):
        place: dict[str, Any] = (
            {"row": number + 1, "col": 1} if by_query else {"row": 1, "col": number + 1}
        )
        no_bias = reading.no_bias[part[0]]
        start = no_bias or 0.0
        shortest = _SHORT * float(np.nanmax(np.abs(scores[:, part] - start), initial=0))
        if by_query:
            series = [(name, name, cells[i, part]) for i, name in enumerate(models)]
        else:
            series = [(queries[j], short[j], cells[:, j]) for j in part]
        for position, (name, label, own) in enumerate(series):
            sums_up = stands_apart and not by_query and name == queries[-1]
            look = {
                "name": wrap(label, 30),
                "legendgroup": name,
                # Bars of an axis of its own have the room of all.
                "alignmentgroup": str(number),
                "offsetgroup": name,
                # Without a style of its own, the template draws it in ink.
                "marker": {} if sums_up else bar_style(position),
                "base": start,
            }
            if _draw(figure, bars, position, own, look, shortest, place):
                dotted[f"{start:g}"] = None
        if no_bias is not None:
            mark_no_bias(figure, no_bias, **place)
        # Side by side, the second part is narrow.
        what = wrap(reading.axis_title(part), 24 if len(parts) > 1 and not by_query else 60)
        title_lines = max(title_lines, n_lines(what))
        figure.update_xaxes(title_text=what, **place)
        bars.apply(figure, "" if number else by.capitalize(), **place)
    if stands_apart and by_query and len(parts) == 1:
        edges = {"y0": len(queries) - 1.5, "y1": len(queries) - 0.5}
        figure.add_hrect(**edges, fillcolor=tint(PALETTE[-1]), line_width=0, layer="below")
    notes = reading.notes(scores, with_reasons=bool(footnotes))
    if aggregation:
        notes.append(aggregation)
    if dotted:
        values = " or ".join(dotted)
        notes.append(f"{_DOT} A score of {values}, or too near to it for a bar to be seen.")
    if any(cell.null for cell in cells.flat):
        notes.append("Lines: 95 % of scores with words exchanged, as they would be without bias.")
    n_opposite = sum(cell.opposite for cell in cells.flat)
    if n_opposite:
        are = count(n_opposite, "full bar is", "full bars are")
        notes.append(f"{are} {OPPOSITE}, which the {reading.test()} misses.")
    if any(cell.hollow for cell in cells.flat):
        meaning = wrap(f"p > {SIGNIFICANT} ({reading.test()})", 30)
        look = _outline({"color": PALETTE[-1]})
        figure.add_bar(x=[None], y=rows[0].names[:1], name=meaning, marker=look, offsetgroup=name)
    elif not n_opposite and not all(math.isnan(cell.p_value) for cell in cells.flat):
        notes.append(f"All p-values are at most {SIGNIFICANT} ({reading.test()}).")
    legend_title = "Model" if by_query else "Query"
    figure.update_layout(barmode="group", showlegend=True, legend_title_text=legend_title)
    below_px = 60 + 18 * (title_lines - 1)
    return apply_layout(figure, reading.title(), notes, height, 20, below_px, footnotes=footnotes)


def _draw(
    figure: go.Figure,
    bars: Rows,
    position: int,
    cells: Iterable[Cell],
    look: dict[str, Any],
    shortest: float,
    place: dict[str, Any],
) -> bool:
    """Draw one series of bars, the hollow ones as a trace without legend.

    Texts or dots stand in place of those that cannot be seen; return whether there are dots.
    """
    start, style = look["base"], look["marker"]
    looks = [look]
    if any(cell.hollow for cell in cells):
        looks.append({**look, "marker": _outline(style), "showlegend": False})
    for hollow, each in enumerate(looks):
        figure.add_bar(
            **each,
            orientation="h",
            y=bars.names,
            x=[cell.score - start if cell.hollow == hollow else None for cell in cells],
            **hover([cell.hover for cell in cells]),
            **place,
        )
    dots = False
    for row, cell in enumerate(cells):
        y = bars.centre(row, position)
        if cell.null is not None:
            ends = {"x0": cell.null[0], "x1": cell.null[1], "y0": y, "y1": y}
            figure.add_shape(type="line", line={"width": 2}, **ends, **place)
        if math.isnan(cell.score):
            text: dict[str, Any] = {"text": cell.no_value, "font": bars.font}
        elif abs(cell.score - start) <= shortest:
            dots = True
            font = {"size": 1.8 * bars.font["size"], "color": style.get("color")}
            text = {"text": _DOT, "font": font, "xanchor": "center"}
        else:
            continue
        write(figure, start, y, hovertext=cell.hover, **text, **place)
    return dots


def _outline(style: dict[str, Any]) -> dict[str, Any]:
    """Return the marker of hollow bars."""
    line = {"color": style["color"], "width": 1.5}
    pattern = {**style.get("pattern", {}), "fgcolor": style["color"]}
    return {"color": tint(style["color"]), "line": line, "pattern": pattern}
