"""Figures of the audit of a bias direction: correlations of its sets, and its components."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from wefe._checks import check_bool, found
from wefe.plotting._axes import stacked
from wefe.plotting._correlations import add_cells
from wefe.plotting._labels import count, escape, shortened, width_px
from wefe.plotting._style import PALETTE, apply_layout, hover, write
from wefe.plotting._table import Table

if TYPE_CHECKING:
    from wefe.audit import DirectionAudit

# Up to so many rows a panel: pixels of a cell, and size of the number in it.
_CELLS = ((8, 52, 12), (13, 38, 10), (40, 20, 0), (math.inf, 13, 0))
# What a line above a panel takes.
_HEADING_PX = 30


def plot_direction_correlations(
    audit: DirectionAudit, *, without_outliers: bool = True
) -> go.Figure:
    """Plot how the directions of defining sets correlate (Schröder et al. 2024, figure 3).

    Parameters
    ----------
    audit : DirectionAudit
        What :func:`wefe.audit.audit_direction` returns.
    without_outliers : bool, default=True
        Where there are outliers, whether a second panel, below, shows the audit without them.

    Returns
    -------
    plotly.graph_objects.Figure
        A heat map, from -1 to 1; the last row and column, behind a line, are the first principal
        component, PC1. Outliers are marked with a star. Columns of many sets are numbered.

    Raises
    ------
    TypeError
        If `audit` is anything else.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.audit import audit_direction
    >>> figure = plot_direction_correlations(audit_direction("gender", load_test_model()))
    >>> figure.data[0].y[-1], len(figure.data[0].z)
    ('PC1', 11)
    """
    _check(audit)
    audits = [audit]
    if check_bool("without_outliers", without_outliers) and audit.outliers:
        audits.append(audit.without(audit.outliers))
    n_rows = audit.n_sets + 1
    cell_px, font_px = next((px, font) for most, px, font in _CELLS if n_rows <= most)
    # Where there are many, columns have the numbers of their rows. They are those of all sets.
    rows, columns = {"PC1": "<b>PC1</b>"}, {"PC1": "<b>PC1</b>"}
    for number, name in enumerate(audit.labels, 1):
        short = escape(shortened(name, 32)) + (" *" if name in audit.outliers else "")
        rows[name] = short if font_px else f"{short}  {number}"
        columns[name] = short if font_px else str(number)
    below_px = width_px(columns.values()) + 24
    heights = [cell_px * (each.n_sets + 1) for each in audits]
    # One panel below the other: beside each other, labels would lie on cells wherever a page is
    # narrower than the figure wants to be.
    figure, plot_px = stacked(heights, below_px + _HEADING_PX)
    kind = "Cosine" if audit.correlation == "cosine" else "Pearson correlation"
    for row, each in enumerate(audits, 1):
        cell: dict[str, Any] = {"row": row, "col": 1}
        names = [*each.labels, "PC1"]
        add_cells(figure, Table(names, names, each.correlations.to_numpy()), kind, font_px, **cell)
        axis: dict[str, Any] = {"tickfont_size": 12 if cell_px >= 20 else 9, **cell}
        # A panel of fewer sets has the same cells.
        domain = [0, len(names) / n_rows]
        across = [columns[name] for name in names]
        figure.update_xaxes(domain=domain, tickangle=-90, ticktext=across, **axis)
        figure.update_yaxes(ticktext=[rows[name] for name in names], **axis)
        figure.add_hline(each.n_sets - 0.5, line_width=2, **cell)
        figure.add_vline(each.n_sets - 0.5, line_width=2, **cell)
        what = "All sets" if row == 1 else f"Without {count(len(audit.outliers), 'outlier')}"
        mean = f"mean {each.mean_correlation:.2f}, " if each.n_sets > 1 else ""
        summary = f"<b>{what}</b>: {mean}PC1 {each.explained_variance_ratio[0]:.0%} of variance"
        top = {"xref": "x domain", "yref": "y domain", "yanchor": "bottom", "yshift": 6}
        write(figure, 0, 1, summary, font={"size": 12}, **top, **cell)
    # Beside the first panel, as the heading of the second may be wider than its cells.
    bar = {"y": 1, "yanchor": "top", "len": heights[0], "lenmode": "pixels"}
    figure.update_traces(colorbar=bar)
    for trace in figure.data[1:]:
        trace.showscale = False
    notes = [
        f"PC1: the bias direction, first principal component of {count(audit.n_sets, 'set')}. "
        f"By chance, a cosine is {audit.chance_cosine:.2f} off 0."
    ]
    if audit.outliers:
        notes.append("*: outlier, far from the common direction of the other sets.")
    if not font_px:
        notes.append("Columns have the numbers of the rows.")
    title = f"Directions of the defining sets, {audit.model_name}"
    width = max(560, heights[0] + width_px(rows.values()) + 150)
    return apply_layout(figure, title, notes, plot_px, _HEADING_PX, below_px, width)


def plot_direction_components(audit: DirectionAudit) -> go.Figure:
    """Plot the variance of the components, and what each defining set has to do with the first.

    Parameters
    ----------
    audit : DirectionAudit
        What :func:`wefe.audit.audit_direction` returns.

    Returns
    -------
    plotly.graph_objects.Figure
        Left: for each set, ``|cosine|`` of its direction with the first component, the same where
        the set did not contribute, and the stability of the component without the set. Right:
        explained variance ratios, and what unrelated sets would have at first.

    Raises
    ------
    TypeError
        If `audit` is anything else.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.audit import audit_direction
    >>> figure = plot_direction_components(audit_direction("gender", load_test_model()))
    >>> [trace.name for trace in figure.data]
    ['share of variance', 'with PC1', 'with PC1 of the other sets', 'PC1 with and without the set']
    """
    _check(audit)
    # Names of sets are left of all panels, so that they lie on none of them.
    figure = make_subplots(cols=2, column_widths=[0.65, 0.35], horizontal_spacing=0.16)
    ratios = audit.explained_variance_ratio[: audit.n_components]
    numbers = range(1, len(ratios) + 1)
    hovers = [
        f"component {i}: {own:.1%}<br>up to here: {total:.1%}"
        for i, own, total in zip(numbers, ratios, audit.cumulative_ratio, strict=False)
    ]
    right = {"row": 1, "col": 2}
    figure.add_bar(
        x=list(map(str, numbers)),
        y=ratios,
        name="share of variance",
        marker_color=PALETTE[0],
        showlegend=False,
        **hover(hovers),
        **right,
    )
    figure.add_hline(audit.chance_ratio, line_dash="dash", **right)
    # A title of the vertical axis would need room between the panels.
    figure.update_xaxes(title_text="share of variance<br>of components", type="category", **right)
    figure.update_yaxes(range=[0, 1], **right)
    labels = list(audit.labels)
    for name, values, symbol, colour in (
        ("with PC1", np.abs(audit.cosines), "circle", PALETTE[0]),
        ("with PC1 of the other sets", audit.cosines_without, "circle-open", PALETTE[0]),
        ("PC1 with and without the set", audit.stability, "line-ns-open", PALETTE[3]),
    ):
        figure.add_scatter(
            x=values,
            y=labels,
            mode="markers",
            name=name,
            marker={"symbol": symbol, "size": 10, "color": colour},
            hovertemplate="%{y}: %{x:.3f}<extra>" + name + "</extra>",
        )
    figure.update_xaxes(title_text="|cosine|", range=[-0.02, 1.02], col=1)
    shown = {"tickvals": labels, "ticktext": list(map(escape, labels)), "col": 1}
    figure.update_yaxes(type="category", autorange="reversed", **shown)
    place = {"x": 0.02, "xref": "container", "y": 0, "yref": "container", "yanchor": "bottom"}
    figure.update_layout(legend={"orientation": "h", **place})
    notes = [
        f"Dashed: the first component of unrelated sets, about {audit.chance_ratio:.0%}. "
        "PC1: the bias direction."
    ]
    title = f"Components of the bias direction, {audit.model_name}"
    return apply_layout(figure, title, notes, max(260, 20 * audit.n_sets), 16, 140)


def _check(audit: object) -> None:
    from wefe.audit import DirectionAudit

    if not isinstance(audit, DirectionAudit):
        raise TypeError(
            f"audit must be a DirectionAudit, as audit_direction returns it; got {found(audit)}."
        )
