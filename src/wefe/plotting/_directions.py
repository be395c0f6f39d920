"""Figures of the audit of a bias direction: correlations of its sets, and its components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from wefe._checks import check_bool, found
from wefe.plotting._correlations import _DIVERGING, _GAP
from wefe.plotting._labels import count, escape, width_px
from wefe.plotting._style import FAINT, INK, PALETTE, dress, pointed_at, write

if TYPE_CHECKING:
    from wefe.audit import DirectionAudit

# Up to so many rows a panel: pixels of a cell, and size of the number in it.
_CELLS = ((8, 52, 12), (13, 38, 10), (40, 20, 0))
_SMALLEST_CELL = (13, 0)
# Characters of the longest label, and what a line above a panel takes.
_LABEL = 32
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
    cell_px, font_px = next(
        ((px, font) for most, px, font in _CELLS if n_rows <= most), _SMALLEST_CELL
    )
    # Where there are many, columns have the numbers of their rows. They are those of all sets.
    numbers = {name: number for number, name in enumerate(audit.labels, 1)}
    numbered = not font_px
    rows, columns = {}, {}
    for name, number in numbers.items():
        mark = " *" if name in audit.outliers else ""
        short = escape(name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…") + mark
        rows[name] = f"{short}  {number}" if numbered else short
        columns[name] = str(number) if numbered else short
    below_px = width_px([*columns.values(), "PC1"]) + 24
    rows["PC1"] = columns["PC1"] = "<b>PC1</b>"
    heights = [cell_px * (each.n_sets + 1) for each in audits]
    # One panel below the other: beside each other, labels would lie on cells wherever a page is
    # narrower than the figure wants to be.
    between_px = below_px + _HEADING_PX
    plot_px = sum(heights) + between_px * (len(audits) - 1)
    figure = make_subplots(
        rows=len(audits),
        row_heights=heights,
        vertical_spacing=between_px / plot_px if len(audits) > 1 else 0,
    )
    for row, each in enumerate(audits, 1):
        cell = {"row": row, "col": 1}
        names, table = [*each.labels, "PC1"], each.correlations.to_numpy()
        hovers = [
            [
                f"{escape(name)}<br>{escape(other)}<br>{value:.3f}"
                for other, value in zip(names, line, strict=True)
            ]
            for name, line in zip(names, table, strict=True)
        ]
        figure.add_heatmap(
            z=table.tolist(),
            x=names,
            y=names,
            coloraxis="coloraxis",
            texttemplate="%{z:.2f}" if font_px else None,
            textfont={"size": font_px or 1, "color": INK},
            xgap=1,
            ygap=1,
            **pointed_at(hovers),
            **cell,
        )
        axis: dict[str, Any] = {
            "type": "category", "tickvals": names, "showgrid": False,
            "tickfont": {"size": 12 if cell_px >= 20 else 9}, **cell,
        }  # fmt: skip
        # A panel of fewer sets has the same cells.
        domain = [0, len(names) / n_rows]
        across = [columns[name] for name in names]
        figure.update_xaxes(domain=domain, tickangle=-90, ticktext=across, **axis)
        figure.update_yaxes(autorange="reversed", ticktext=[rows[name] for name in names], **axis)
        line = {"color": INK, "width": 2}
        figure.add_hline(each.n_sets - 0.5, line=line, **cell)
        figure.add_vline(each.n_sets - 0.5, line=line, **cell)
        top = next(figure.select_yaxes(**cell)).domain[1]
        what = "All sets" if row == 1 else f"Without {count(len(audit.outliers), 'outlier')}"
        mean = f"mean {each.mean_correlation:.2f}, " if each.n_sets > 1 else ""
        summary = f"<b>{what}</b>: {mean}PC1 {each.explained_variance_ratio[0]:.0%} of variance"
        write(
            figure, 0, top, summary, size=12, colour=INK, xref="paper", yref="paper",
            yanchor="bottom", yshift=6,
        )  # fmt: skip
    kind = "Cosine" if audit.correlation == "cosine" else "Pearson correlation"
    figure.update_layout(
        plot_bgcolor=_GAP,
        coloraxis={
            "cmin": -1,
            "cmax": 1,
            "colorscale": _DIVERGING,
            # Beside the first panel, as the heading of the second may be wider than its cells.
            "colorbar": {
                "title": {"text": kind, "side": "right"},
                "thickness": 14,
                "y": 1,
                "yanchor": "top",
                "len": heights[0],
                "lenmode": "pixels",
            },
        },
    )
    notes = [
        f"PC1: the bias direction, first principal component of {count(audit.n_sets, 'set')}. "
        f"By chance, a cosine is {audit.chance_cosine:.2f} off 0."
    ]
    if audit.outliers:
        notes.append("*: outlier, far from the common direction of the other sets.")
    if numbered:
        notes.append("Columns have the numbers of the rows.")
    title = f"Directions of the defining sets, {audit.model_name}"
    width = max(560, heights[0] + width_px(rows.values()) + 150)
    return dress(figure, title, notes, plot_px, _HEADING_PX, below_px, width)


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
    labels = [escape(name) for name in audit.labels]
    # Names of sets are left of all panels, so that they lie on none of them.
    figure = make_subplots(cols=2, column_widths=[0.65, 0.35], horizontal_spacing=0.16)
    ratios = audit.explained_variance_ratio[: audit.n_components]
    together = audit.cumulative_ratio[: len(ratios)]
    figure.add_bar(
        x=[str(number) for number in range(1, len(ratios) + 1)],
        y=ratios,
        name="share of variance",
        marker={"color": PALETTE[0]},
        showlegend=False,
        row=1,
        col=2,
        **pointed_at(
            [
                f"component {i}: {own:.1%}<br>up to here: {total:.1%}"
                for i, (own, total) in enumerate(zip(ratios, together, strict=True), 1)
            ]
        ),
    )
    figure.add_hline(
        audit.chance_ratio, line={"color": FAINT, "width": 1, "dash": "dash"}, row=1, col=2
    )
    # A title of the vertical axis would need room between the panels.
    of_bars = "share of variance<br>of components"
    figure.update_xaxes(title_text=of_bars, type="category", row=1, col=2)
    figure.update_yaxes(range=[0, 1], row=1, col=2)
    points = (
        ("with PC1", np.abs(audit.cosines), "circle"),
        ("with PC1 of the other sets", audit.cosines_without, "circle-open"),
        ("PC1 with and without the set", audit.stability, "line-ns-open"),
    )
    for position, (name, values, symbol) in enumerate(points):
        figure.add_scatter(
            x=values,
            y=list(audit.labels),
            mode="markers",
            name=name,
            marker={"symbol": symbol, "size": 10, "color": PALETTE[(0, 0, 3)[position]]},
            hovertemplate="%{y}: %{x:.3f}<extra>" + name + "</extra>",
            row=1,
            col=1,
        )
    figure.update_xaxes(title_text="|cosine|", range=[-0.02, 1.02], row=1, col=1)
    figure.update_yaxes(
        type="category", autorange="reversed", tickvals=list(audit.labels), ticktext=labels,
        row=1, col=1,
    )  # fmt: skip
    place = {"x": 0.02, "xref": "container", "y": 0, "yref": "container", "yanchor": "bottom"}
    figure.update_layout(legend={"orientation": "h", **place})
    notes = [
        f"Dashed: the first component of unrelated sets, about {audit.chance_ratio:.0%}. "
        "PC1: the bias direction."
    ]
    title = f"Components of the bias direction, {audit.model_name}"
    return dress(figure, title, notes, max(260, 20 * audit.n_sets), 16, 140)


def _check(audit: object) -> None:
    from wefe.audit import DirectionAudit

    if not isinstance(audit, DirectionAudit):
        raise TypeError(
            f"audit must be a DirectionAudit, as audit_direction returns it; got {found(audit)}."
        )
