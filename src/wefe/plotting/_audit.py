"""Individual biases of target words: their distributions, as in figures 1 and 2 of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from wefe._visible import count
from wefe.audit._query import QueryAudit, p_and_auc
from wefe.plotting._reading import as_list
from wefe.plotting._style import apply_layout, colour_of, grid, hover, hover_texts, wrap, write

_SET_PX = 90
# Height of a distribution, as a share of the distance between two sets.
_SHAPE = 0.55


def plot_individual_biases(audits: Sequence[QueryAudit] | QueryAudit) -> go.Figure:
    """Plot individual biases of target words by target set (Schröder et al. 2024, figures 1, 2).

    Parameters
    ----------
    audits : QueryAudit or sequence of QueryAudit
        Results of :func:`wefe.audit.audit_query`.

    Returns
    -------
    plotly.graph_objects.Figure
        One panel per audit, one point per word. Lines: the mean of each set, 0 (solid), -d and d
        (dashed, what is attainable). Compare models by s / d, which a word shows on hover. For two
        target sets, effect size, p-value and AUC are above.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.audit import audit_query
    >>> from wefe.datasets import load_weat_queries
    >>> audit = audit_query(load_weat_queries()[5], load_test_model())
    >>> [trace.name for trace in plot_individual_biases(audit).data]
    ['Male names', 'Female names']
    """
    given: list[QueryAudit] = as_list(audits)
    axis = "s(w, A, B)"
    n_sets = max(len(audit.targets) for audit in given)
    titles = [f"{audit.query_name}, {audit.model_name}\n{_numbers(audit)}" for audit in given]
    figure, places = grid(titles, _SET_PX * n_sets + 20, 50, abreast=2, shared_xaxes="all")
    for place, audit in zip(places, given, strict=True):
        _draw(figure, audit, place)
        for limit in (-audit.attribute_difference, audit.attribute_difference):
            figure.add_vline(limit, line_dash="dash", **place)
    figure.add_vline(0)
    attributes = {tuple(wrap(use.name, 30) for use in audit.attributes) for audit in given}
    if len(attributes) == 1:
        axis = "← {1}    {axis}    {0} →".format(*attributes.pop(), axis=axis)
    figure.update_xaxes(exponentformat="none", title_text=axis, showticklabels=True)
    # Room for the points below the first set, and for the name above the last one.
    figure.update_yaxes(range=[n_sets - 0.25, -0.75], showticklabels=False, showgrid=False)
    figure.update_layout(showlegend=False, violingap=0, violinmode="overlay")
    note = (
        "Each point: a target word, to the right of 0 if it leans to the first attribute set. "
        "Line in the colour of a set: its mean. Dashed: what is attainable."
    )
    return apply_layout(figure, "Individual biases", {note: True})


def _numbers(audit: QueryAudit) -> str:
    if audit.comparison is None:
        words = count(len(audit.all_biases), "word")
        return f"{audit.n_biased} of {words} beyond {audit.epsilon:.0%} of the attainable"
    compared = audit.comparison
    shown = round(compared.effect_size, 2) + 0.0  # never -0.00
    effect = "undefined" if math.isnan(shown) else f"{shown:.2f}"
    return f"effect size {effect}, {p_and_auc(compared)}"


def _draw(figure: go.Figure, audit: QueryAudit, place: dict[str, Any]) -> None:
    labels = []
    parts = zip(audit.targets, audit.biases, audit.positions, strict=True)
    for number, (use, biases, shares) in enumerate(parts):
        name, colour = wrap(use.name, 30), colour_of(number)
        words = pd.DataFrame({"word": use.used, "s": biases, "share": shares})
        figure.add_violin(
            x=words["s"].tolist(),
            y0=number,
            orientation="h",
            name=name,
            side="negative",  # upwards, as the vertical axis is reversed
            width=2 * _SHAPE,
            spanmode="hard",  # ends at the smallest and largest bias
            scalemode="width",
            points="all",
            pointpos=0.3,
            jitter=0.25,
            hoveron="points",
            meanline={"visible": True, "width": 2},
            line={"color": colour, "width": 1},
            marker={"color": colour, "size": 5, "opacity": 0.7},
            **hover(hover_texts(words, "<b>{word}</b><br>s = {s:.3f}<br>s / d = {share:.3f}")),
            **place,
        )
        mean = words["s"].mean(skipna=False)
        # Keeps clear of the line at d, which is at the edge of the full range.
        text = f"<b>{name}</b>" + f", mean {mean:.3f}" * math.isfinite(mean)
        labels.append({"x": 0.05, "y": number - 0.72, "text": text})
    write(figure, labels, domain="x", yanchor="top", **place)
