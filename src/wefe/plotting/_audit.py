"""Individual biases of target words: their distributions, as in figures 1 and 2 of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from wefe._checks import check_bool
from wefe.plotting._axes import Panels
from wefe.plotting._labels import auc_text, count, escape, wrap
from wefe.plotting._style import PALETTE, apply_layout, hover, write
from wefe.plotting._table import check_several

if TYPE_CHECKING:
    from wefe.audit import QueryAudit

_SET_PX = 90
# Share of the distance between two sets that the shape of a distribution takes.
_SHAPE = 0.55


def plot_individual_biases(
    audits: Sequence[QueryAudit] | QueryAudit,
    *,
    relative: bool = False,
    full_range: bool = False,
    shared_axis: bool = True,
) -> go.Figure:
    """Plot how the individual biases of target words spread, a distribution per target set.

    These are figures 1 and 2 of Schröder et al. (ICPRAM 2024), with every word as a point.

    Parameters
    ----------
    audits : QueryAudit or sequence of QueryAudit
        What :func:`wefe.audit.audit_query` returns. Each has a panel.
    relative : bool, default=False
        Whether the axis shows s / d, which can be compared between models, or s.
    full_range : bool, default=False
        Whether the axis shows everything that is attainable, from -d to d, or what there is.
    shared_axis : bool, default=True
        Whether all panels have the same horizontal axis, so that they can be compared, or each
        its own, so that small biases can be seen beside large ones.

    Returns
    -------
    plotly.graph_objects.Figure
        A panel per audit. A line in the colour of a set is its mean, the solid line 0, dashed
        lines -d and d; where these are beyond the axis, the panel says so. Effect size, p-value
        and AUC stand above, if there are two target sets. You see words on hover.

    Raises
    ------
    TypeError
        If `audits` holds anything else.
    ValueError
        If there is none.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.audit import audit_query
    >>> from wefe.datasets import load_weat_queries
    >>> audit = audit_query(load_weat_queries()[5], load_test_model())
    >>> [trace.name for trace in plot_individual_biases(audit).data]
    ['Male names', 'Female names']
    """
    from wefe.audit import QueryAudit

    given = check_several("audits", audits, QueryAudit)
    check_bool("relative", relative)
    check_bool("full_range", full_range)
    check_bool("shared_axis", shared_axis)
    values = [audit.positions if relative else audit.biases for audit in given]
    limits = [1.0 if relative else audit.attribute_difference for audit in given]
    n_sets = max(len(audit.biases) for audit in given)
    # The title names what all audits share, a panel what they do not.
    title = "Individual biases"
    names: list[list[str]] = [[] for _ in given]
    for separator, attribute in ((": ", "query_name"), (", ", "model_name")):
        several = [getattr(audit, attribute) for audit in given]
        if len(set(several)) == 1:
            title += separator + several[0]
        else:
            names = [[*parts, name] for parts, name in zip(names, several, strict=True)]
    panels = Panels(
        [", ".join(parts) for parts in names],
        _SET_PX * n_sets + 20,
        below_px=50,
        abreast=2,
        second_lines=[_numbers(audit) for audit in given],
    )
    figure = panels.figure()
    common = _ends([s for parts in values for s in parts], limits, full_range)
    for position, (audit, parts, limit) in enumerate(zip(given, values, limits, strict=True)):
        place = panels.place(position)
        ends = common if shared_axis else _ends(parts, [limit], full_range)
        figure.update_xaxes(range=ends, **place)
        _draw(figure, audit, parts, place)
        figure.add_vline(0, **place)
        if limit <= ends[1]:
            for end in (-limit, limit):
                figure.add_vline(end, line_dash="dash", **place)
        else:
            corner: dict[str, Any] = {"xref": "x domain", "yref": "y domain", "yanchor": "bottom"}
            text = f"attainable: ±{limit:.3g}"
            write(figure, 1, 0, text, xanchor="right", **corner, **place)
    figure.update_xaxes(exponentformat="none", title_text=_axis_title(given, relative))
    # Room for the points below the first set, and for the name above the last one.
    figure.update_yaxes(range=[n_sets - 0.25, -0.75], showticklabels=False, showgrid=False)
    figure.update_layout(showlegend=False, violingap=0, violinmode="overlay")
    notes = [
        "Each point: a target word, to the right of 0 if it leans to the first attribute set. "
        "Line in the colour of a set: its mean. Dashed: what is attainable."
    ]
    if not shared_axis and len(given) > 1:
        notes.append("Each panel has an axis of its own.")
    return apply_layout(figure, title, notes, panels.height, panels.title_px)


def _numbers(audit: QueryAudit) -> str:
    if audit.comparison is None:
        words = count(len(audit.all_biases), "word")
        return f"{audit.n_biased} of {words} beyond {audit.epsilon:.0%} of the attainable"
    compared = audit.comparison
    shown = round(compared.effect_size, 2) + 0.0  # never -0.00
    effect = "undefined" if math.isnan(shown) else f"{shown:.2f}"
    p_value = "" if math.isnan(compared.p_value) else f"p = {compared.p_value:.2g}, "
    return f"effect size {effect}, {p_value}AUC {auc_text(compared.auc)}"


def _axis_title(audits: Sequence[QueryAudit], relative: bool) -> str:
    title = "s(w, A, B) / d" if relative else "s(w, A, B)"
    ends = {tuple(use.name for use in audit.attributes) for audit in audits}
    if len(ends) == 1:
        first, second = (wrap(name, 30) for name in ends.pop())
        title = f"← {second}    {title}    {first} →"
    return title


def _ends(values: Sequence[Any], limits: Sequence[float], full_range: bool) -> list[float]:
    """Return the ends of the axis, the same to both sides of 0."""
    finite = [float(np.abs(s[np.isfinite(s)]).max(initial=0)) for s in values]
    largest = max(limits) if full_range else max(finite)
    largest = 1.08 * largest or 0.1
    return [-largest, largest]


def _draw(
    figure: go.Figure, audit: QueryAudit, parts: Sequence[Any], place: dict[str, Any]
) -> None:
    """Draw the words of each target set, and the shape of their distribution, into a panel."""
    for number, (use, values) in enumerate(zip(audit.targets, parts, strict=True)):
        colour = PALETTE[number % len(PALETTE)]
        hovers = [
            f"<b>{escape(word)}</b><br>s = {s:.3f}<br>s / d = {share:.3f}"
            for word, s, share in zip(
                use.used, audit.biases[number], audit.positions[number], strict=True
            )
        ]
        figure.add_violin(
            x=values,
            y0=number,
            orientation="h",
            name=wrap(use.name, 30),
            side="negative",  # upwards, as the vertical axis is reversed
            width=2 * _SHAPE,
            spanmode="hard",  # no biases are shown that no word has
            scalemode="width",
            points="all",
            pointpos=0.3,
            jitter=0.25,
            hoveron="points",
            meanline={"visible": True, "width": 2},
            line={"color": colour, "width": 1},
            marker={"color": colour, "size": 5, "opacity": 0.7},
            **hover(hovers),
            **place,
        )
        mean = float(np.mean(values))
        label = f"<b>{wrap(use.name, 34)}</b>"
        if math.isfinite(mean):
            label += f", mean {mean:.3f}"
        start: dict[str, Any] = {"xref": "x domain", "yanchor": "top"}
        # Beside the line of what is attainable, which is at the edge of the full range.
        write(figure, 0.05, number - 0.72, label, **start, **place)
