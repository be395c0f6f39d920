"""Figure of the bias of words against a statistic of the world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import check_sequence, found
from wefe.plotting._labels import escape, wrap
from wefe.plotting._places import place_labels
from wefe.plotting._projections import check_frame, in_full, left_out, shortened
from wefe.plotting._style import INK, PALETTE, dress, pointed_at

_PLOT_PX = (520, 420)
_POINT_PX = 8


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
    lost = left_out(list(table["word"][missing]), "statistic or bias")
    table = table[~missing].reset_index(drop=True)
    statistic, bias = table["statistic"].to_numpy(), table["bias"].to_numpy()
    figure = go.Figure()
    if band is not None:
        _add_band(figure, band)
    away = _away_from_middle(statistic, bias)
    if fit is not None:
        slope, intercept = _check_fit(fit)
        away = np.abs(bias - (slope * statistic + intercept))
        if len(table):
            ends = [float(statistic.min()), float(statistic.max())]
            line = [slope * end + intercept for end in ends]
            figure.add_scatter(
                x=ends,
                y=line,
                mode="lines",
                name="fit",
                line={"color": PALETTE[3], "width": 2},
                **pointed_at([f"slope {slope:.3g}, intercept {intercept:.3g}"] * 2),
            )
    drawn = [float(y) for trace in figure.data for y in trace.y or ()]
    ranges = _range(statistic, 0.12), _range(np.r_[bias, drawn], 0.06)
    points = [
        (_PLOT_PX[0] * x, _PLOT_PX[1] * y)
        for x, y in zip(_along(statistic, ranges[0]), _along(bias, ranges[1]), strict=True)
    ]
    order = np.argsort(-away, kind="stable")[:n_labels].tolist()
    labels = [shortened(word) for word in table["word"]]
    spots = place_labels(points, labels, order, [_POINT_PX] * len(labels), within=(0, 0, *_PLOT_PX))
    figure.add_scatter(
        x=statistic.tolist(),
        y=bias.tolist(),
        mode="markers+text",
        name="words",
        marker={"color": PALETTE[0], "size": _POINT_PX, "opacity": 0.75},
        text=[escape(label) if row in spots else "" for row, label in enumerate(labels)],
        textposition=[spots.get(row, "middle right") for row in range(len(table))],
        textfont={"size": 11},
        **pointed_at(
            [
                f"{in_full(word)}<br>{wrap(statistic_name, 60)}: {x:.4g}<br>"
                f"{wrap(bias_name, 60)}: {y:.3f}"
                for word, x, y in table.itertuples(index=False)
            ]
        ),
    )
    figure.update_xaxes(title_text=wrap(statistic_name, 70), range=ranges[0])
    figure.update_yaxes(title_text=wrap(bias_name, 44), range=ranges[1])
    figure.update_yaxes(zeroline=True, zerolinecolor=INK, zerolinewidth=1)
    figure.update_layout(showlegend=False)
    heading = title or f"{bias_name[:1].upper()}{bias_name[1:]} and {statistic_name}"
    return dress(figure, heading, notes, _PLOT_PX[1], below_px=64, footnotes=lost)


def _check_fit(fit: object) -> tuple[float, float]:
    try:
        slope, intercept = map(float, fit)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise ValueError(f"fit must be slope and intercept, two numbers; got {found(fit)}.") from (
            None
        )
    return slope, intercept


def _add_band(figure: go.Figure, band: object) -> None:
    """Fill what lies between both ends of the interval, there and back again."""
    table = check_frame(band, (), ("statistic", "low", "high")).dropna().sort_values("statistic")
    red, green, blue = (int(PALETTE[3][start : start + 2], 16) for start in (1, 3, 5))
    across = table["statistic"].tolist()
    figure.add_scatter(
        x=across + across[::-1],
        y=table["high"].tolist() + table["low"].tolist()[::-1],
        mode="lines",
        name="band",
        line={"width": 0},
        fill="toself",
        fillcolor=f"rgba({red},{green},{blue},0.15)",
        hoverinfo="skip",
    )


def _away_from_middle(
    statistic: npt.NDArray[np.float64], bias: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return how far words are from the medians, with both axes of one length."""
    away = np.zeros(len(bias))
    for values in (statistic, bias):
        if len(values) and np.ptp(values):
            away += ((values - np.median(values)) / np.ptp(values)) ** 2
    return np.sqrt(away)


def _range(values: npt.NDArray[np.float64], room: float) -> list[float]:
    """Return the ends of an axis with room for labels on both sides."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    margin = room * ((high - low) or 1.0)
    return [low - margin, high + margin]


def _along(values: npt.NDArray[np.float64], ends: Sequence[float]) -> list[float]:
    """Return where values lie on an axis, 0 at its start and 1 at its end."""
    shares: list[float] = ((values - ends[0]) / (ends[1] - ends[0])).tolist()
    return shares
