"""Models before and after a mitigation: bias, cost and what remains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._visible import count
from wefe.plotting._reading import check_frame, parts_of
from wefe.plotting._style import (
    PALETTE,
    add_marks,
    apply_layout,
    colour_of,
    height_px,
    hover_texts,
    name_rows,
    offset,
    rows_px,
    stacked,
    tint,
    wrap,
    write,
)

_TEXTS = ("aspect", "measure", "subject", "model", "better", "note")
_NUMBERS = (
    *("before", "after", "change"),
    *("before_se", "after_se", "change_se", "best_value", "n"),
)
# Added to plotly's number of a symbol.
_OPEN = 100
_TITLES = {"cost": "Cost", "residual": "What remains"}
_HOVER = (
    "<b>{model}</b><br>{name}<br>before: {before:.4g}<br>standard error: {before_se:.2g}<br>"
    "after: {after:.4g}<br> standard error: {after_se:.2g}<br>change: {change:.4g}<br>"
    "standard error of the change: {change_se:.2g}<br>n = {n:.0f}<br>{note}"
)


def plot_comparison(table: pd.DataFrame) -> go.Figure:
    """Plot scores before (hollow dot) and after (filled dot) a mitigation.

    Parameters
    ----------
    table : DataFrame
        The `table` of :func:`wefe.debias.compare`, or some of its rows.

    Returns
    -------
    plotly.graph_objects.Figure
        One panel for each metric, one for costs and one for remaining bias; one colour per
        mitigated model. Error bars: 1.96 standard errors to each side. Ticks: no bias, the best
        value, or chance. Hover over 'no value' for the reason.

    Examples
    --------
    >>> row = dict(aspect="bias", measure="WEAT", subject="Career", model="debiased", n=32, note="")
    >>> row |= dict(before=0.9, after=0.2, change=-0.7, better="nearer to 0", best_value=0.0)
    >>> row |= dict(before_se=0.2, after_se=0.2, change_se=0.1)
    >>> plot_comparison(pd.DataFrame([row])).data[-2].x
    (0.2,)
    """
    table = _placed(check_frame(table, _TEXTS, _NUMBERS))
    models = list(table["model"].unique())
    names, panels = zip(*parts_of(table, "panel"), strict=True)
    rows = [list(panel["name"].unique()) for panel in panels]
    labels = [[wrap(name, 36) for name in of_panel] for of_panel in rows]
    titles = [wrap(title, 60) for title in names]
    heights = [rows_px(of_panel, len(models)) for of_panel in labels]
    figure = stacked(heights, 84, 20 + height_px(titles[:1]), subplot_titles=titles)
    for number, panel in enumerate(panels):
        place: dict[str, Any] = {"row": number + 1, "col": 1}
        panel = panel.assign(row=panel["name"].map(rows[number].index))
        panel["y"] = panel["row"] + offset(panel["model"].map(models.index), len(models))
        for model, own in parts_of(panel, "model"):
            _draw(figure, own, model, models.index(model), place)
        missing = panel[panel[["before", "after"]].isna().any(axis=1)]
        missing = missing.assign(text="  no value", hovertext=hover_texts(missing, _HOVER))
        notes = missing[["x", "y", "text", "hovertext"]].to_dict("records")
        write(figure, notes, **place)
        best = panel.drop_duplicates("name")
        best = best.assign(x=best["best_value"], y=best["row"])
        marker = {"symbol": "line-ns-open", "size": 22, "line": {"width": 1.5}}
        # The legend group is not the name of a model.
        look = {"mode": "markers", "marker": marker, "legendgroup": " "}
        add_marks(figure, "scatter", best, "no bias, best value<br>or chance", "", **look, **place)
        name_rows(figure, labels[number], **place)
        figure.update_xaxes(title_text="Score", **place)
    figure.update_layout(showlegend=True, legend_title_text="Model")
    heading = f"Before and after, {count(len(models), 'mitigated model')}"
    notes = {
        "Hollow: before. Filled: after.": True,
        "Error bars: ± 1.96 standard errors (choice of words), pale before. The change is mostly "
        "known better: hover over a dot to see its error.": table["after_se"].notna().any(),
    }
    return apply_layout(figure, heading, notes)


def _placed(table: pd.DataFrame) -> pd.DataFrame:
    several = table.groupby(["aspect", "measure"])["subject"].transform("nunique") > 1
    # Different metrics share no axis. A name is a place on the vertical axis.
    named = table["measure"] + (": " + table["subject"]).where(several, "")
    shared = table["aspect"].isin(_TITLES)
    return table.assign(
        name=named.where(shared, table["subject"]),
        panel=table["aspect"].map(_TITLES).where(shared, table["measure"]),
        x=table[["before", "after", "best_value"]].bfill(axis=1).iloc[:, 0].fillna(0.0),
    )


def _draw(
    figure: go.Figure, rows: pd.DataFrame, model: str, position: int, place: dict[str, Any]
) -> None:
    # From the eighth model on, colours repeat with other symbols.
    colour, symbol = colour_of(position), position // len(PALETTE)
    # One line with gaps between the rows.
    ends = rows[["before", "after"]].assign(gap=np.nan).to_numpy().ravel()
    line = pd.DataFrame({"x": ends, "y": rows["y"].repeat(3)})
    look = {"mode": "lines", "line": {"color": colour, "width": 2}, "legendgroup": model}
    add_marks(figure, "scatter", line, "", "", showlegend=False, **look, **place)
    for which, name, group, end, pale in (
        ("before", "before", "  ", _OPEN, tint(colour, 0.4)),
        ("after", wrap(model, 30), model, 0, colour),
    ):
        # A 95 % interval.
        error = {"type": "data", "array": (1.96 * rows[f"{which}_se"]).tolist()}
        outline = {"color": colour, "width": 1.5}
        marker = {"color": colour, "size": 9, "symbol": symbol + end, "line": outline}
        look = {"mode": "markers", "legendgroup": group, "marker": marker}
        look["error_x"] = {**error, "color": pale, "thickness": 1, "width": 3}
        add_marks(figure, "scatter", rows.assign(x=rows[which]), name, _HOVER, **look, **place)
