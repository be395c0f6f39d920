"""Heat maps: correlations, shared negative sentiment, and the audit of a bias direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._visible import count
from wefe.plotting._reading import check_table
from wefe.plotting._style import (
    LINE_PX,
    apply_layout,
    height_px,
    name_rows,
    shorten,
    shortened,
    stacked,
    wrap,
    write,
)

if TYPE_CHECKING:
    from wefe.audit import DirectionAudit

# More rows or columns have no room for numbers.
_MOST_NUMBERS = 24


def plot_ranking_correlations(correlation_matrix: pd.DataFrame, title: str = "") -> go.Figure:
    """Plot the correlations between rankings as a heat map (WEFE paper, figure 1).

    Parameters
    ----------
    correlation_matrix : DataFrame of shape (n_rankings, n_rankings)
        Result of :func:`wefe.ranking.calculate_ranking_correlations`.
    title : str, default=''
        Title of the figure.

    Returns
    -------
    plotly.graph_objects.Figure
        Colours always range from -1 to 1, so figures are comparable. 'n/a' marks NaN.

    Examples
    --------
    >>> matrix = pd.DataFrame([[1.0, -0.4], [-0.4, 1.0]], ["WEAT", "RND"], ["WEAT", "RND"])
    >>> plot_ranking_correlations(matrix).data[0].zmin
    -1
    """
    source = "calculate_ranking_correlations"
    table = check_table("correlation_matrix", correlation_matrix, source, "rows", "columns")
    title = title or f"Correlation of {count(len(table), 'ranking')}"
    return _heat_map(table, title, {"With few models even a high value may be chance.": True})


def plot_negative_sentiment_correlation(matrix: pd.DataFrame) -> go.Figure:
    """Plot which target words share negative sentiment (Sweeney and Najafian, figure 4).

    Parameters
    ----------
    matrix : DataFrame of shape (n_words, n_words)
        Result of :func:`wefe.metrics.negative_sentiment_correlation` (the diagonal is 1 or NaN) or
        :func:`wefe.metrics.joint_negative_sentiment`.

    Returns
    -------
    plotly.graph_objects.Figure
        Colours range from -1 to 1 for correlations, from 0 to the maximum for joint shares.

    Examples
    --------
    >>> joint = pd.DataFrame([[0.04, 0.16], [0.16, 0.64]], ["irish", "cuban"], ["irish", "cuban"])
    >>> plot_negative_sentiment_correlation(joint).data[0].zmax
    0.64
    """
    table = check_table("matrix", matrix, "negative_sentiment_correlation", "rows", "columns")
    diagonal = np.diag(table)
    words = count(len(table), "target word")
    if (np.isnan(diagonal) | np.isclose(diagonal, 1.0)).all():
        title = f"Correlation of negative sentiment between {words}"
        return _heat_map(table, title, {"Pearson correlation over the iterations of RNSB.": True})
    title = f"Joint negative sentiment of {words}"
    note = (
        "Products of the words' shares of negative sentiment. Equal shares of all words (no bias "
        f"measured) would give {1 / table.size:.2%} everywhere."
    )
    highest = float(np.nanmax(table)) or 1.0
    return _heat_map(table, title, {note: True}, "Joint share", (0, highest), ".2%")


def _heat_map(
    table: pd.DataFrame, title: str, notes: dict[str, object], what: str = "Correlation", *look: Any
) -> go.Figure:
    short, aggregation = shorten(list(table.columns))
    # About 600 pixels suffice.
    cell_px = min(60, max(16, 600 // max(table.shape)))
    down = list(map(wrap, shorten(list(table.index))[0]))
    table = table.set_axis(short, axis=1).set_axis(down)
    figure = draw_cells(table, what, (cell_px, cell_px), *look)
    missing = [{"x": j, "y": i, "text": "n/a"} for i, j in np.argwhere(table.isna())]
    write(figure, missing, xanchor="center")
    notes |= {"n/a: no value (NaN).": bool(missing), aggregation: aggregation}
    # Short names of rows leave more room to the cells.
    width = max(480, cell_px * len(short) + 300)
    return apply_layout(figure, title, notes, 30).update_layout(width=width)


def draw_cells(
    table: pd.DataFrame,
    what: str,
    cell_px: tuple[float, int],
    limits: tuple[float, float] = (-1, 1),
    number_format: str = ".2f",
) -> go.Figure:
    """Draw cells of at least about this width and height.

    Names of columns take what they need of the room below; plotly turns those that would overlap.
    """
    across, room_px = [wrap(name, 24) for name in table.columns], 150
    if height_px(across) > max(LINE_PX, cell_px[0]):
        across, room_px = [wrap(name, 60) for name in table.columns], 350
    figure = stacked([cell_px[1] * len(table) + room_px], 0)
    has_numbers = number_format and max(table.shape) <= _MOST_NUMBERS
    colorbar = {"title": {"text": what, "side": "right"}, "thickness": 14}
    figure.add_heatmap(
        z=table.to_numpy().tolist(),
        zmin=limits[0],
        zmax=limits[1],
        autocolorscale=True,
        colorbar={**colorbar, "tickformat": number_format},
        # Plotly fits the size of the numbers.
        texttemplate=f"%{{z:{number_format}}}" if has_numbers else None,
        xgap=1,
        ygap=1,
        hovertemplate=f"%{{y}}<br>%{{x}}<br>{what}: %{{z:.4g}}<extra></extra>",
    )
    name_rows(figure, list(table.index))
    axis = {"tickvals": [*range(len(across))], "ticktext": across, "autotickangles": [0, -90]}
    figure.update_xaxes(**axis, showgrid=False)
    return figure


def plot_direction_correlations(audit: DirectionAudit) -> go.Figure:
    """Plot how the directions of defining sets correlate (Schröder et al. 2024, figure 3).

    Parameters
    ----------
    audit : DirectionAudit
        Result of :func:`wefe.audit.audit_direction`.

    Returns
    -------
    plotly.graph_objects.Figure
        A heat map from -1 to 1. The last row and column, behind a line, are the first principal
        component (PC1). A star marks outliers; :meth:`wefe.audit.DirectionAudit.without` leaves
        them out.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.audit import audit_direction
    >>> audit = audit_direction("gender", load_test_model())
    >>> plot_direction_correlations(audit).layout.yaxis.ticktext[-1]
    'PC1'
    """
    labels = [shortened(name, 32) + " *" * (name in audit.outliers) for name in audit.sets]
    table = pd.DataFrame(audit.correlations.to_numpy(), [*labels, "PC1"], [*labels, "PC1"])
    share = audit.explained_variance_ratio[0]
    notes: dict[str, object] = {
        f"PC1: the bias direction, first principal component of {count(audit.n_sets, 'set')}, "
        f"with {share:.0%} of their variance. By chance, a cosine is {audit.chance_cosine:.2f} off "
        "0.": True,
        f"Between sets, the mean is {audit.mean_correlation:.2f}.": audit.n_sets > 1,
        "*: outlier, far from the common direction of the other sets.": audit.outliers,
    }
    title = f"Directions of the defining sets, {audit.model_name}"
    figure = _heat_map(table, title, notes, "Cosine")
    figure.add_hline(audit.n_sets - 0.5, line_width=2)
    return figure.add_vline(audit.n_sets - 0.5, line_width=2)
