"""Matrices of correlations, and of negative sentiment that words share, as heat maps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe.plotting._labels import count, height_px, shorten, width_px, wrap
from wefe.plotting._style import apply_layout, hover, write
from wefe.plotting._table import Table, check_table


def plot_ranking_correlations(correlation_matrix: pd.DataFrame, title: str = "") -> go.Figure:
    """Plot the correlations between rankings as a heat map (WEFE paper, figure 1).

    Parameters
    ----------
    correlation_matrix : DataFrame of shape (n_rankings, n_rankings)
        What :func:`wefe.ranking.calculate_ranking_correlations` returns.
    title : str, default=''
        Without one the figure says what is correlated.

    Returns
    -------
    plotly.graph_objects.Figure
        Colours always range from -1 to 1, so that a negative correlation is seen as one and
        figures can be compared. The values stand in the cells; 'n/a' marks NaN.

    Raises
    ------
    TypeError
        If `correlation_matrix` is no DataFrame.
    ValueError
        If it is empty or holds anything but numbers.

    Examples
    --------
    >>> names = ["WEAT", "RND"]
    >>> matrix = pd.DataFrame([[1.0, -0.4], [-0.4, 1.0]], index=names, columns=names)
    >>> heat_map = plot_ranking_correlations(matrix).data[0]
    >>> heat_map.zmin, heat_map.zmax
    (-1, 1)
    """
    table = check_table(
        "correlation_matrix",
        correlation_matrix,
        "calculate_ranking_correlations",
        "rows",
        "columns",
    )
    title = title or f"Correlation of {count(len(table.rows), 'ranking')}"
    return _heat_map(table, title, ["With few models even a high value may be chance."])


def plot_negative_sentiment_correlation(matrix: pd.DataFrame, title: str = "") -> go.Figure:
    """Plot which target words share negative sentiment (Sweeney and Najafian, figure 4).

    Parameters
    ----------
    matrix : DataFrame of shape (n_words, n_words)
        What :func:`wefe.metrics.negative_sentiment_correlation` or
        :func:`wefe.metrics.joint_negative_sentiment` returns. The diagonal tells them apart: it is
        1 (or NaN) for correlations.
    title : str, default=''
        Without one the figure says what is shown.

    Returns
    -------
    plotly.graph_objects.Figure
        Colours range from -1 to 1 for correlations, from 0 to the maximum for joint shares.

    Raises
    ------
    TypeError
        If `matrix` is no DataFrame.
    ValueError
        If it is empty or holds anything but numbers.

    Examples
    --------
    >>> words = ["irish", "cuban"]
    >>> joint = pd.DataFrame([[0.04, 0.16], [0.16, 0.64]], index=words, columns=words)
    >>> heat_map = plot_negative_sentiment_correlation(joint).data[0]
    >>> heat_map.zmin, heat_map.zmax
    (0, 0.64)
    """
    table = check_table("matrix", matrix, "negative_sentiment_correlation", "rows", "columns")
    diagonal = np.diag(table.values)
    words = count(len(table.rows), "target word")
    if (np.isnan(diagonal) | np.isclose(diagonal, 1.0)).all():
        title = title or f"Correlation of negative sentiment between {words}"
        return _heat_map(table, title, ["Pearson correlation over the iterations of RNSB."])
    title = title or f"Joint negative sentiment of {words}"
    notes = [
        "Products of the words' shares of negative sentiment. Equal shares of all words (no bias "
        f"measured) would give {1 / table.values.size:.2%} everywhere."
    ]
    highest = float(np.nanmax(table.values)) or 1.0
    return _heat_map(table, title, notes, "Joint share", (0, highest), ".2%")


def _heat_map(
    table: Table,
    title: str,
    notes: list[str],
    what: str = "Correlation",
    limits: tuple[float, float] = (-1, 1),
    number_format: str = ".2f",
) -> go.Figure:
    """Draw a table with its values in square cells."""
    rows, columns, values = table
    n_cells = max(values.shape)
    # In more than 40 cells a row there is no room for numbers.
    sizes = ((8, 64, 13), (16, 46, 11), (40, 36, 9), (math.inf, 18, 0))
    cell_px, font_px = next((px, font) for most, px, font in sizes if n_cells <= most)
    figure = go.Figure()
    missing = add_cells(figure, table, what, font_px, number_format, limits)
    if missing:
        notes = [*notes, "n/a: no value (NaN)."]
    short, aggregation = shorten(columns)
    if aggregation:
        notes = [*notes, aggregation]
    across, down = [wrap(name, 24) for name in short], [wrap(name) for name in shorten(rows)[0]]
    upright = width_px(across) > cell_px
    if upright and height_px(across) >= cell_px:
        across = [wrap(name, 60) for name in short]
    figure.update_xaxes(ticktext=across, tickangle=-90 if upright else 0)
    figure.update_yaxes(ticktext=down)
    width = max(480, width_px(down) + cell_px * len(columns) + 170)
    below_px = width_px(across) + 30 if upright else 60
    return apply_layout(figure, title, notes, cell_px * len(rows), below_px=below_px, width=width)


def add_cells(
    figure: go.Figure,
    table: Table,
    what: str,
    font_px: int,
    number_format: str = ".2f",
    limits: tuple[float, float] = (-1, 1),
    **place: Any,
) -> bool:
    """Add a table in the colours of the template; return whether some cells have no value."""
    rows, columns, values = table
    hovers = [
        [
            f"{wrap(row, 60)}<br>{wrap(column, 60)}<br>{what}: "
            + ("no value (NaN)" if math.isnan(value) else f"{value:.4g}")
            for column, value in zip(columns, line, strict=True)
        ]
        for row, line in zip(rows, values, strict=True)
    ]
    figure.add_heatmap(
        z=values.tolist(),
        x=columns,
        y=rows,
        zmin=limits[0],
        zmax=limits[1],
        autocolorscale=True,
        colorbar={
            "title": {"text": what, "side": "right"},
            "thickness": 14,
            "tickformat": number_format,
        },
        texttemplate=f"%{{z:{number_format}}}" if font_px else None,
        textfont={"size": font_px or 1},
        xgap=1,
        ygap=1,
        **hover(hovers),
        **place,
    )
    axis = {"type": "category", "showgrid": False, **place}
    figure.update_xaxes(tickvals=columns, **axis)
    figure.update_yaxes(tickvals=rows, autorange="reversed", **axis)
    missing = np.argwhere(np.isnan(values)).tolist()
    for i, j in missing:
        look = {"hovertext": hovers[i][j], "font": {"size": font_px or 1}, "xanchor": "center"}
        write(figure, j, i, "n/a", **look, **place)
    return bool(missing)
