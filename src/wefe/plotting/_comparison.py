"""Models before and after a mitigation: bias, cost and what remains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from wefe._checks import found
from wefe.plotting._axes import Rows
from wefe.plotting._labels import at_most, count, n_lines, wrap
from wefe.plotting._style import FAINT, INK, PALETTE, dress, pointed_at, write

if TYPE_CHECKING:
    from wefe.debias import Comparison

_COLUMNS = (
    *("aspect", "measure", "subject", "model", "before", "after", "change"),
    *("before_se", "after_se", "change_se", "better", "best_value", "n", "note"),
)
# Keys in the legend; those of models are their names.
_BEFORE_KEY, _BEST_KEY = "", " "
_TITLES = {"cost": "Cost", "residual": "What remains"}
# Standard errors on either side: a 95 % interval.
_WIDTH = 1.96
# The eighth model has the first colour again, with another symbol, and so on.
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")


def plot_comparison(table: pd.DataFrame | Comparison) -> go.Figure:
    """Plot scores before and after a mitigation: dumbbells from hollow to filled.

    Parameters
    ----------
    table : Comparison or DataFrame
        What :func:`wefe.debias.compare` returns, or some rows of its table.

    Returns
    -------
    plotly.graph_objects.Figure
        A panel for each metric, one for costs and one for what remains; a colour for each
        mitigated model. A hollow dot is the score before, a filled one that after. Error bars are
        1.96 standard errors long on either side. Where all rows of a panel have the same value
        for no bias, a line marks it; otherwise short lines mark the best value of each row, or
        chance. What has no value is marked 'no value', and the reasons stand below.

    Raises
    ------
    TypeError
        If `table` is neither a Comparison nor a DataFrame.
    ValueError
        If it has no rows, or lacks columns of a comparison.

    Examples
    --------
    >>> row = ["bias", "WEAT", "Career", "w2v debiased", 0.9, 0.2, -0.7]
    >>> row += [0.2, 0.2, 0.1, "nearer to 0", 0.0, 32, ""]
    >>> figure = plot_comparison(pd.DataFrame([row], columns=list(_COLUMNS)))
    >>> [(trace.name, trace.x) for trace in figure.data if trace.mode == "markers"]
    [('before', (0.9,)), ('w2v debiased', (0.2,))]
    """
    table = _check(table)
    models = list(dict.fromkeys(map(str, table["model"])))
    panels = _panels(table)
    rows = []
    for panel in panels:
        names = list(dict.fromkeys(row["name"] for row in panel.rows))
        rows.append(Rows(names, [wrap(name, 36) for name in names], len(models)))
    heights = [part.height for part in rows]
    between_px = 84
    plot_px = sum(heights) + between_px * (len(rows) - 1)
    figure = make_subplots(
        rows=len(rows),
        row_heights=heights,
        subplot_titles=[wrap(panel.title, 60) for panel in panels],
        vertical_spacing=between_px / plot_px if len(rows) > 1 else 0,
    )
    figure.update_annotations(font={"size": 13})
    in_legend: set[str] = set()
    missing: dict[str, None] = {}
    for number, (panel, bars) in enumerate(zip(panels, rows, strict=True), 1):
        place = {"row": number, "col": 1}
        for position, model in enumerate(models):
            own = [row for row in panel.rows if str(row["model"]) == model]
            _draw(figure, bars, position, model, own, in_legend, missing, place)
        _mark_best(figure, bars, panel, in_legend, place)
        figure.update_xaxes(title_text=panel.axis, **place)
        figure.update_yaxes(
            range=[len(bars.names) - 0.5, -0.5],
            tickvals=list(range(len(bars.names))),
            ticktext=bars.labels,
            showgrid=False,
            **place,
        )
    figure.update_layout(showlegend=True, legend_title_text="Model")
    original = table.attrs.get("before")
    title = f"{original}: " if original else ""
    title += f"before and after, {count(len(models), 'mitigated model')}"
    notes = ["Hollow: before. Filled: after."]
    if any(not math.isnan(_number(row["after_se"])) for panel in panels for row in panel.rows):
        notes.append(
            "Error bars: ± 1.96 standard errors (choice of words), pale before. The change is "
            "mostly known better: point at a dot to see its error."
        )
    title_px = 20 + 16 * max(n_lines(wrap(panel.title, 60)) for panel in panels[:1])
    return dress(figure, title, notes, plot_px, title_px, footnotes=at_most(list(missing), 8))


class _Panel:
    """Rows of a table that share an axis."""

    def __init__(self, title: str, axis: str, rows: list[dict[str, Any]]) -> None:
        self.title, self.axis, self.rows = title, axis, rows


def _check(given: object) -> pd.DataFrame:
    table = getattr(given, "table", given)
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"table must be a DataFrame, as compare returns it; got {found(given)}.")
    if table.empty:
        raise ValueError(f"table has shape {table.shape}; there is nothing to plot.")
    lacking = [column for column in _COLUMNS if column not in table.columns]
    if lacking:
        raise ValueError(
            f"table must have the columns of compare; it lacks {', '.join(map(repr, lacking))}."
        )
    return table


def _panels(table: pd.DataFrame) -> list[_Panel]:
    """Give each metric a panel, as scores of different metrics share no axis.

    Each row gets a 'name', which is that of its place on the vertical axis.
    """
    by_title: dict[str, _Panel] = {}
    n_subjects = table.groupby(["aspect", "measure"])["subject"].nunique()
    for record in table.to_dict("records"):
        row = {str(column): value for column, value in record.items()}
        aspect, measure, subject = (str(row[key]) for key in ("aspect", "measure", "subject"))
        row["name"] = subject
        if aspect in _TITLES:
            several = n_subjects[aspect, measure] > 1
            row["name"] = f"{measure}: {subject}" if several else measure
        title = _TITLES.get(aspect, measure)
        axis = "Score" if aspect in _TITLES else f"{measure} score"
        by_title.setdefault(title, _Panel(title, axis, [])).rows.append(row)
    return list(by_title.values())


def _number(value: Any) -> float:
    return math.nan if value is None or value is pd.NA else float(value)


def _or_none(value: Any) -> float | None:
    number = _number(value)
    return None if math.isnan(number) else number


def _draw(
    figure: go.Figure,
    bars: Rows,
    position: int,
    model: str,
    rows: Sequence[dict[str, Any]],
    in_legend: set[str],
    missing: dict[str, None],
    place: dict[str, Any],
) -> None:
    """Draw the dumbbells of one model in one panel."""
    again, number = divmod(position, len(PALETTE))
    colour, symbol = PALETTE[number], _SYMBOLS[again % len(_SYMBOLS)]
    heights = [bars.centre(bars.names.index(row["name"]), position) for row in rows]
    line_x: list[float | None] = []
    line_y: list[float | None] = []
    for row, y in zip(rows, heights, strict=True):
        line_x += [_or_none(row["before"]), _or_none(row["after"]), None]
        line_y += [y, y, None]
        lacking = [which for which in ("before", "after") if math.isnan(_number(row[which]))]
        if lacking:
            text = "no value" if len(lacking) == 2 else f"no value {lacking[0]}"
            known = (_number(row[which]) for which in ("before", "after", "best_value"))
            start = next((value for value in known if not math.isnan(value)), 0.0)
            write(figure, start, y, f"  {text}", _hover(row), bars.font_size, **place)
            where = row["name"]
            if row["aspect"] not in _TITLES:
                where = f"{row['measure']}, {where}"
            missing[f"{model}, {where}: {row['note']}"] = None
    figure.add_scatter(
        x=line_x,
        y=line_y,
        mode="lines",
        line={"color": colour, "width": 2},
        legendgroup=model,
        showlegend=False,
        hoverinfo="skip",
        **place,
    )
    for which in ("before", "after"):
        hollow = which == "before"
        key = _BEFORE_KEY if hollow else model
        figure.add_scatter(
            x=[_or_none(row[which]) for row in rows],
            y=heights,
            mode="markers",
            name="before" if hollow else wrap(model, 30),
            legendgroup=key,
            showlegend=key not in in_legend,
            marker={
                "color": "white" if hollow else colour,
                "size": 9,
                "symbol": symbol,
                "line": {"color": colour, "width": 1.5},
            },
            error_x={
                "type": "data",
                "array": [_width(row[f"{which}_se"]) for row in rows],
                "color": _faded(colour) if hollow else colour,
                "thickness": 1,
                "width": 3,
            },
            **pointed_at([_hover(row) for row in rows]),
            **place,
        )
        in_legend.add(key)


def _faded(colour: str) -> str:
    """Return a colour through which what lies behind is seen."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.4)"


def _width(error: Any) -> float | None:
    number = _or_none(error)
    return None if number is None else _WIDTH * number


def _mark_best(
    figure: go.Figure, bars: Rows, panel: _Panel, in_legend: set[str], place: dict[str, Any]
) -> None:
    best = {row["name"]: _or_none(row["best_value"]) for row in panel.rows}
    values = set(best.values()) - {None}
    if len(values) == 1 and panel.title not in _TITLES.values():
        (value,) = values
        figure.add_vline(
            value,
            line={"color": INK, "width": 1.5},
            annotation={"text": f"no bias: {value:g}", "font": {"size": 11, "color": FAINT}},
            annotation_position="bottom right",
            **place,
        )
        return
    figure.add_scatter(
        x=list(best.values()),
        y=[bars.names.index(name) for name in best],
        mode="markers",
        name="best value, or chance",
        legendgroup=_BEST_KEY,
        showlegend=_BEST_KEY not in in_legend,
        marker={"symbol": "line-ns-open", "size": 22, "color": INK, "line": {"width": 1.5}},
        hoverinfo="skip",
        **place,
    )
    in_legend.add(_BEST_KEY)


def _hover(row: dict[str, Any]) -> str:
    lines = [f"<b>{wrap(str(row['model']))}</b>", wrap(str(row["name"]), 60)]
    for which in ("before", "after", "change"):
        value, error = _number(row[which]), _number(row[f"{which}_se"])
        text = "no value (NaN)" if math.isnan(value) else f"{value:.4g}"
        lines.append(f"{which}: {text}" + ("" if math.isnan(error) else f" ± {error:.2g} (SE)"))
    if _number(row["n"]):
        lines.append(f"n = {int(row['n'])}")
    if isinstance(row["note"], str) and row["note"]:
        lines.append(wrap(row["note"], 60))
    return "<br>".join(lines)
