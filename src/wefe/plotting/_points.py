"""Points: neighbourhoods, clusters, bias against a statistic, and impact ratios."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import listed
from wefe._visible import count
from wefe.explore._directions import NO_CLEAR_DIRECTION
from wefe.plotting._projections import AWAY
from wefe.plotting._reading import check_frame, groups_of, parts_of
from wefe.plotting._style import (
    PALETTE,
    add_band,
    add_marks,
    add_points,
    apply_layout,
    colour_of,
    shortened,
    spaced,
    wrap,
)

if TYPE_CHECKING:
    from wefe.explore import StatisticCorrelation, WordPage
    from wefe.retrieval import RankingAudit

# Maximum number of words to label: nearest to a centre, farthest from a line.
_MOST_NEAR, _MOST_FAR = 30, 16


def plot_neighborhood(page: WordPage) -> go.Figure:
    """Plot a map of the neighbourhood of a word.

    Parameters
    ----------
    page : WordPage
        Result of :func:`wefe.explore.word_page`.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per group, a grey one for no clear direction, one for the word, a star. The
        nearest words have labels where there is room. Rings: an indirect bias above `theta`.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.explore import word_page
    >>> plot_neighborhood(word_page(load_test_model(), "nurse", k=20)).data[-1].text
    ('<b>nurse</b>',)
    """
    # The first row is the word itself.
    table = page.map.join(page.neighbors.set_index("rank"))
    table["text"] = spaced(table, range(min(len(table), _MOST_NEAR + 1)))
    table["ring"] = np.where(table["indirect_bias"] > page.theta, 2.0, 0.4)
    template = (
        "<b>{word}</b><br>projection: {projection:.3f}<br>cosine with the centre: {cosine:.3f}<br>"
        "indirect bias: {indirect_bias:.3f}"
    )
    groups = page.directions.groups
    colours = {name: colour_of(number) for number, name in enumerate(groups)}
    colours[NO_CLEAR_DIRECTION] = AWAY
    figure = go.Figure()
    for name, colour in colours.items():
        part = table[table["leans_to"] == name]
        marker = {"color": colour, "size": 11, "line": {"width": part["ring"].tolist()}}
        add_points(figure, part, name, template, marker=marker)
    centre = table[:1].assign(text="<b>" + table["text"] + "</b>")
    # The star stands out from a crowd of points.
    star = {"symbol": "star", "color": colours[page.leans_to], "size": 22, "opacity": 1.0}
    add_points(figure, centre, "centre", template, marker=star, showlegend=False)
    figure.update_layout(height=520, showlegend=True, legend_title_text="Leans to")
    # Both axes have one scale, and no numbers, because these mean nothing.
    figure.update_xaxes(showticklabels=False)
    figure.update_yaxes(showticklabels=False, ticks="", scaleanchor="x")
    notes = {
        "Distances in this map are not those in the space. Hover over a dot for its word.": True,
        f"Star: {shortened(page.word, 40)}. Ring: indirect bias above {page.theta:g}.": True,
    }
    title = f"Neighbourhood of '{shortened(page.word, 60)}' in {page.model_name}"
    return apply_layout(figure, title, notes, 30)


def plot_clusters(frame: pd.DataFrame) -> go.Figure:
    """Plot the most biased words in two dimensions, with their clusters.

    Parameters
    ----------
    frame : DataFrame
        Result of :func:`wefe.explore.cluster_map`: 'word', 'x', 'y', 'group', 'cluster'.

    Returns
    -------
    plotly.graph_objects.Figure
        Dots are words in the cluster of their own group, crosses words in another one.

    Examples
    --------
    >>> rows = [("nurse", 0, 1, "female", "female"), ("pilot", 1, 0, "male", "female")]
    >>> frame = pd.DataFrame(rows, columns=["word", "x", "y", "group", "cluster"])
    >>> [trace.name for trace in plot_clusters(frame).data]
    ['female', 'male, in a cluster<br>of others']
    """
    table = check_frame(frame, ("word", "group", "cluster"), ("x", "y"))
    groups = groups_of(frame)
    table["number"] = table["group"].map(groups.index)
    table["other"] = table["group"] != table["cluster"]
    parts: Any = table.groupby(["number", "other"])
    figure = go.Figure()
    for (number, is_other), part in parts:
        colour, symbol = colour_of(number), "x-thin" if is_other else "circle"
        # The symbol of thin lines has no other colour.
        outline = {"width": 2 * int(is_other), "color": colour}
        marker = {"color": colour, "symbol": symbol, "size": 8, "line": outline}
        name = groups[number] + ", in a cluster of others" * is_other
        template = "<b>{word}</b><br>{group}; its cluster is that of<br>{cluster}"
        add_points(figure, part, name, template, marker=marker)
    figure.update_xaxes(showticklabels=False, showgrid=False)
    figure.update_yaxes(showticklabels=False, showgrid=False, ticks="")
    figure.update_layout(height=480, showlegend=True)
    share, words = 1 - table["other"].mean(), count(len(table), "word")
    notes = {
        f"{share:.0%} of {words} fall into the cluster of their group.": True,
        "Distances in this map are not those in the space, in which clusters were looked "
        "for.": True,
    }
    return apply_layout(figure, "The most biased words and their clusters", notes, 30)


def plot_statistic(correlation: StatisticCorrelation) -> go.Figure:
    """Plot the bias of words against a statistic, such as the share of women in an occupation.

    Parameters
    ----------
    correlation : StatisticCorrelation
        Result of :func:`wefe.explore.correlate_with_statistic`.

    Returns
    -------
    plotly.graph_objects.Figure
        Points, the regression line and its interval. Words farthest from the line have labels.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.explore import correlate_with_statistic
    >>> women = {"nurse": 0.86, "teacher": 0.74, "lawyer": 0.38, "pilot": 0.06}
    >>> plot_statistic(correlate_with_statistic(load_test_model(), women)).data[-1].x
    (0.86, 0.74, 0.38, 0.06)
    """
    statistic_name, bias_name = correlation.statistic_name, correlation.bias_name
    # The names of both numbers may contain braces.
    names = {"x name": statistic_name, "y name": bias_name}
    table = correlation.words.rename(columns={"statistic": "x", "bias": "y"}).assign(**names)
    slope, intercept = correlation.slope.value, correlation.intercept
    figure = go.Figure()
    if not math.isnan(slope):
        x = np.array([table["x"].min(), table["x"].max()])
        line = pd.DataFrame({"x": x, "y": slope * x + intercept})
        if correlation.band is not None:
            line = correlation.band.rename(columns={"statistic": "x", "fit": "y"})
            x, low, high = line[["x", "low", "high"]].to_numpy().T
            add_band(figure, x, low, high, PALETTE[3], "band")
        template = f"slope {slope:.3g}, intercept {intercept:.3g}"
        look = {"mode": "lines", "line": {"color": PALETTE[3], "width": 2}}
        add_marks(figure, "scatter", line, "fit", template, **look)
    away = (table["y"] - slope * table["x"] - intercept).abs()
    order = away.sort_values(ascending=False, kind="stable").index
    table["text"] = spaced(table, order[:_MOST_FAR])
    template = "<b>{word}</b><br>{x name}: {x:.4g}<br>{y name}: {y:.3f}"
    add_points(figure, table, "words", template, marker={"color": PALETTE[0], "size": 8})
    figure.update_xaxes(title_text=wrap(statistic_name, 70))
    figure.update_yaxes(title_text=wrap(bias_name, 44), zeroline=True)
    figure.update_layout(height=420, showlegend=False)
    r, lost = correlation.pearson, listed(correlation.lost)
    interval = f" (95 % interval {r.lower:.2f} to {r.upper:.2f})" * math.isfinite(r.lower)
    notes = {
        f"Pearson r = {r.value:.2f}{interval}, Spearman {correlation.spearman.value:.2f}.": (
            math.isfinite(r.value)
        ),
        f"{correlation.model_name}: {count(correlation.n, 'word')}.": True,
        f"The model lacks {lost}.": lost,
        f"{correlation.nan_reason}": correlation.nan_reason,
    }
    title = f"{bias_name[:1].upper()}{bias_name[1:]} and {statistic_name}"
    return apply_layout(figure, title, notes, 64)


def plot_impact_ratios(audit: RankingAudit) -> go.Figure:
    """Plot how often groups are selected, relative to the most selected group.

    Parameters
    ----------
    audit : RankingAudit
        Result of :func:`wefe.retrieval.audit_ranking`.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per attribute, one point per group, with its interval. Dashed: 0.8, the
        four-fifths rule.

    Examples
    --------
    >>> from wefe.retrieval import audit_ranking
    >>> def length(queries, documents):  # a toy reranker
    ...     return [len(document) for document in documents]
    >>> names = {"female": ["Amy", "Joan"], "male": ["Bill", "Hakim"]}
    >>> audit = audit_ranking(length, ["a nurse"], ["{}: nurse"], names, reranker=True, k=2)
    >>> plot_impact_ratios(audit).data[0].x
    (0.3333333333333333, 1.0)
    """
    figure = go.Figure()
    template = (
        "<b>{group}</b> ({n_names} names)<br>impact ratio: {impact_ratio:.3f}<br>"
        "selection rate: {selection_rate:.3f}<br>share of exposure: {exposure_share:.3f}"
    )
    names = audit.groups["group"].map(wrap)
    groups = audit.groups.assign(x=audit.groups["impact_ratio"], y=names)
    for number, (attribute, part) in enumerate(parts_of(groups, "attribute")):
        colour = colour_of(number)
        above = (part["impact_ratio_upper"] - part["x"]).tolist()
        below = (part["x"] - part["impact_ratio_lower"]).tolist()
        interval = {"array": above, "arrayminus": below, "color": colour}
        look = {"marker": {"color": colour, "size": 10}, "error_x": interval}
        add_points(figure, part, str(attribute), template, **look)
    text = {"text": "four-fifths rule of thumb", "yshift": 4}
    figure.add_vline(0.8, line_dash="dash", annotation=text, annotation_position="top")
    figure.update_xaxes(title_text="Impact ratio (1: the most selected group)", rangemode="tozero")
    figure.update_yaxes(autorange="reversed", type="category")
    size = {"height": 40 + 34 * len(groups), "margin_t": 24}
    figure.update_layout(**size, showlegend=groups["attribute"].nunique() > 1)
    notes = {
        f"Selected: the top {audit.k} documents of each query. Lines: {audit.confidence:.0%} "
        "intervals over names and queries.": True,
        "Below 0.8, the four-fifths rule of thumb asks for a closer look. It is no verdict.": True,
    }
    return apply_layout(figure, "Impact ratios", notes)
