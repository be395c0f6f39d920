"""Figure of the bias of words against a statistic of the world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import check_sequence, found
from wefe.plotting._labels import escape, in_full, left_out, shortened, spaced, wrap
from wefe.plotting._style import PALETTE, add_band, apply_layout, hover
from wefe.plotting._table import check_frame


def plot_statistic(
    frame: pd.DataFrame,
    *,
    statistic_name: str,
    bias_name: str,
    title: str | None = None,
    fit: tuple[float, float] | None = None,
    band: pd.DataFrame | None = None,
    notes: Sequence[str] = (),
    n_labels: int = 16,
) -> go.Figure:
    """Plot the bias of words against a statistic, such as the share of women in an occupation.

    Parameters
    ----------
    frame : DataFrame
        A row per word: 'word', 'statistic', 'bias'.
    statistic_name, bias_name : str
        Titles of the axes, with units.
    title : str, optional
        Without one the figure says what is shown.
    fit : (float, float), optional
        Slope and intercept of a line.
    band : DataFrame, optional
        'statistic', 'low' and 'high': an interval around the line.
    notes : sequence of str, default=()
        What stands below the title: correlation, interval, number of words.
    n_labels : int, default=16
        At most so many words are named: those farthest from the line, or without one from the
        middle of all; fewer where there is no room.

    Returns
    -------
    plotly.graph_objects.Figure
        Points, and perhaps line and band. Each word stands where its point is pointed at.

    Raises
    ------
    TypeError
        If `frame` or `band` is no DataFrame.
    ValueError
        If one is empty or lacks a column, or `fit` is no pair of numbers.

    Notes
    -----
    Words without statistic or bias are left out, and named.

    Examples
    --------
    >>> rows = [("nurse", 0.9, 0.3), ("pilot", 0.1, -0.2), ("cook", 0.4, 0.1)]
    >>> table = pd.DataFrame(rows, columns=["word", "statistic", "bias"])
    >>> figure = plot_statistic(
    ...     table, statistic_name="share of women", bias_name="projection", fit=(0.6, -0.2)
    ... )
    >>> figure.data[0].name, figure.data[0].x
    ('fit', (0.1, 0.9))
    """
    check_sequence("notes", notes)
    table = check_frame(frame, ("word",), ("statistic", "bias"))
    missing = table[["statistic", "bias"]].isna().any(axis=1)
    lost = left_out(table["word"][missing], "statistic or bias")
    table = table[~missing].reset_index(drop=True)
    places = table[["statistic", "bias"]]
    # How far words are from the middle of all, with both axes of one length.
    away = ((places - places.median()) / (places.max() - places.min())).pow(2).sum(axis=1)
    figure = go.Figure()
    if band is not None:
        ends = check_frame(band, (), ("statistic", "low", "high")).dropna()
        x, low, high = ends.sort_values("statistic").to_numpy().T
        add_band(figure, x, low, high, PALETTE[3], name="band")
    if fit is not None:
        slope, intercept = _check_fit(fit)
        away = (table["bias"] - slope * table["statistic"] - intercept).abs()
        across = np.array([table["statistic"].min(), table["statistic"].max()])
        figure.add_scatter(
            x=across.tolist(),
            y=(slope * across + intercept).tolist(),
            mode="lines",
            name="fit",
            line={"color": PALETTE[3], "width": 2},
            **hover([f"slope {slope:.3g}, intercept {intercept:.3g}"] * 2),
        )
    order = away.sort_values(ascending=False, kind="stable").index
    named = spaced(places, order[:n_labels])
    hovers = [
        f"{in_full(word)}<br>{wrap(statistic_name, 60)}: {x:.4g}<br>{wrap(bias_name, 60)}: {y:.3f}"
        for word, x, y in table.itertuples(index=False)
    ]
    figure.add_scatter(
        x=table["statistic"].tolist(),
        y=table["bias"].tolist(),
        mode="markers+text",
        name="words",
        marker={"color": PALETTE[0], "size": 8, "opacity": 0.75},
        text=[
            escape(shortened(word)) if row in named else ""
            for row, word in enumerate(table["word"])
        ],
        textposition="top center",
        textfont={"size": 11},
        cliponaxis=False,
        **hover(hovers),
    )
    figure.update_xaxes(title_text=wrap(statistic_name, 70))
    figure.update_yaxes(title_text=wrap(bias_name, 44), zeroline=True)
    figure.update_layout(showlegend=False)
    heading = title or f"{bias_name[:1].upper()}{bias_name[1:]} and {statistic_name}"
    return apply_layout(figure, heading, notes, 420, below_px=64, footnotes=lost)


def _check_fit(fit: object) -> tuple[float, float]:
    try:
        slope, intercept = map(float, fit)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise ValueError(f"fit must be slope and intercept, two numbers; got {found(fit)}.") from (
            None
        )
    return slope, intercept
