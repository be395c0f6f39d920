"""Models before and after a mitigation: bias, cost and what remains."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd
import plotly.graph_objects as go

from wefe._checks import found
from wefe.plotting._axes import Rows, mark_no_bias, stacked
from wefe.plotting._labels import at_most, count, height_px, wrap
from wefe.plotting._style import PALETTE, apply_layout, hover, tint, write

if TYPE_CHECKING:
    from wefe.debias import Comparison

_COLUMNS = (
    *("aspect", "measure", "subject", "model", "before", "after", "change"),
    *("before_se", "after_se", "change_se", "better", "best_value", "n", "note"),
)
_NUMBERS = [
    *("before", "after", "change"),
    *("before_se", "after_se", "change_se"),
    "best_value",
    "n",
]
# Keys in the legend; those of models are their names.
_BEFORE_KEY, _BEST_KEY = "  ", " "
_TITLES = {"cost": "Cost", "residual": "What remains"}
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
    original = table.attrs.get("before")
    models = list(table["model"].unique())
    panels = {str(title): panel for title, panel in table.groupby("panel", sort=False)}
    names = [list(panel["name"].unique()) for panel in panels.values()]
    rows = [Rows(some, [wrap(name, 36) for name in some], len(models)) for some in names]
    titles = [wrap(title, 60) for title in panels]
    figure, plot_px = stacked([part.height for part in rows], 84, subplot_titles=titles)
    figure.update_annotations(font={"size": 13})
    missing: dict[str, None] = {}
    for number, ((title, panel), bars) in enumerate(zip(panels.items(), rows, strict=True), 1):
        place = {"row": number, "col": 1}
        for position, model in enumerate(models):
            own = panel[panel["model"] == model]
            _draw(figure, bars, position, model, own, missing, place)
        of_metric = title not in _TITLES.values()
        _mark_best(figure, bars, panel, of_metric, place)
        figure.update_xaxes(title_text=f"{title} score" if of_metric else "Score", **place)
        figure.update_yaxes(
            range=[len(bars.names) - 0.5, -0.5],
            tickvals=list(range(len(bars.names))),
            ticktext=bars.labels,
            showgrid=False,
            **place,
        )
    figure.update_layout(showlegend=True, legend_title_text="Model")
    heading = f"{original}: " if original else ""
    heading += f"before and after, {count(len(models), 'mitigated model')}"
    notes = ["Hollow: before. Filled: after."]
    if table["after_se"].notna().any():
        notes.append(
            "Error bars: ± 1.96 standard errors (choice of words), pale before. The change is "
            "mostly known better: hover over a dot to see its error."
        )
    above_px = 20 + height_px(titles[:1])
    footnotes = at_most(list(missing), 8)
    return apply_layout(figure, heading, notes, plot_px, above_px, footnotes=footnotes)


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
    table = table.astype(dict.fromkeys(_COLUMNS[:4], str))
    table = table.astype(dict.fromkeys(_NUMBERS, float))
    several = table.groupby(["aspect", "measure"])["subject"].transform("nunique") > 1
    # Scores of different metrics share no axis. A name is that of a place on the vertical axis.
    named = table["measure"] + (": " + table["subject"]).where(several, "")
    shared = table["aspect"].isin(_TITLES)
    return table.assign(
        name=named.where(shared, table["subject"]),
        panel=table["aspect"].map(_TITLES).where(shared, table["measure"]),
        place=(table["measure"] + ", " + table["subject"]).where(~shared, named),
    )


def _draw(
    figure: go.Figure,
    bars: Rows,
    position: int,
    model: str,
    rows: pd.DataFrame,
    missing: dict[str, None],
    place: dict[str, Any],
) -> None:
    """Draw the dumbbells of one model in one panel."""
    again, number = divmod(position, len(PALETTE))
    colour, symbol = PALETTE[number], _SYMBOLS[again % len(_SYMBOLS)]
    heights = [bars.centre(bars.names.index(name), position) for name in rows["name"]]
    hovers = [_hover(row) for row in rows.to_dict("records")]
    for (_, row), y, text in zip(rows.iterrows(), heights, hovers, strict=True):
        figure.add_scatter(
            x=[row["before"], row["after"]],
            y=[y, y],
            mode="lines",
            line={"color": colour, "width": 2},
            legendgroup=model,
            showlegend=False,
            hoverinfo="skip",
            **place,
        )
        lacking = [which for which in ("before", "after") if math.isnan(row[which])]
        if lacking:
            what = "no value" if len(lacking) == 2 else f"no value {lacking[0]}"
            start = row[["before", "after", "best_value"]].dropna().tolist() or [0.0]
            write(figure, start[0], y, f"  {what}", hovertext=text, font=bars.font, **place)
            missing[f"{model}, {row['place']}: {row['note']}"] = None
    for which in ("before", "after"):
        hollow = which == "before"
        figure.add_scatter(
            x=rows[which].tolist(),
            y=heights,
            mode="markers",
            name="before" if hollow else wrap(model, 30),
            legendgroup=_BEFORE_KEY if hollow else model,
            marker={
                "color": colour,
                "size": 9,
                "symbol": f"{symbol}-open" if hollow else symbol,
                "line": {"color": colour, "width": 1.5},
            },
            error_x={
                "type": "data",
                # A 95 % interval.
                "array": (1.96 * rows[f"{which}_se"]).tolist(),
                "color": tint(colour, 0.4) if hollow else colour,
                "thickness": 1,
                "width": 3,
            },
            **hover(hovers),
            **place,
        )


def _mark_best(
    figure: go.Figure, bars: Rows, panel: pd.DataFrame, of_metric: bool, place: dict[str, Any]
) -> None:
    values = panel["best_value"].dropna().unique().tolist()
    if len(values) == 1 and of_metric:
        mark_no_bias(figure, values[0], "bottom right", **place)
        return
    best = panel.drop_duplicates("name")
    figure.add_scatter(
        x=best["best_value"].tolist(),
        y=[bars.names.index(name) for name in best["name"]],
        mode="markers",
        name="best value, or chance",
        legendgroup=_BEST_KEY,
        marker={"symbol": "line-ns-open", "size": 22, "line": {"width": 1.5}},
        hoverinfo="skip",
        **place,
    )


def _hover(row: dict[Any, Any]) -> str:
    lines = [f"<b>{wrap(row['model'])}</b>", wrap(row["name"], 60)]
    for which in ("before", "after", "change"):
        value, error = row[which], row[f"{which}_se"]
        text = "no value (NaN)" if math.isnan(value) else f"{value:.4g}"
        lines.append(f"{which}: {text}" + ("" if math.isnan(error) else f" ± {error:.2g} (SE)"))
    if row["n"]:
        lines.append(f"n = {row['n']:.0f}")
    if isinstance(row["note"], str) and row["note"]:
        lines.append(wrap(row["note"], 60))
    return "<br>".join(lines)
