"""Points: neighbourhoods, clusters, bias against a statistic, and impact ratios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import check_sequence
from wefe._visible import count
from wefe.explore._directions import NO_CLEAR_DIRECTION
from wefe.plotting._projections import AWAY
from wefe.plotting._reading import check_frame, check_groups, parts_of, with_values
from wefe.plotting._style import (
    PALETTE,
    add_band,
    add_marks,
    add_points,
    apply_layout,
    point_style,
    shortened,
    spaced,
    wrap,
)

if TYPE_CHECKING:
    from wefe.retrieval import RankingAudit

# Maximum number of words to label: nearest to a centre, farthest from a line.
_MOST_NEAR, _MOST_FAR = 30, 16


def plot_neighborhood(
    frame: pd.DataFrame,
    *,
    word: str,
    title: str | None = None,
    groups: Sequence[str] = (),
    method: str = "PCA",
    theta: float = 0.05,
) -> go.Figure:
    """Plot a map of the neighbourhood of a word.

    Parameters
    ----------
    frame : DataFrame
        One row per word, including the centre: 'word', 'x', 'y', 'cosine' and 'indirect_bias' (both
        with the centre), 'projection' (cosine with the bias direction), 'group' (that the word
        leans to, or 'no clear direction') and 'is_center'.
    word : str
        The centre.
    title : str, optional
        Title of the figure.
    groups : sequence of str, default=()
        All groups, in the order of their colours. Default: those of the frame.
    method : str, default='PCA'
        Method of the map, for the note: 'PCA', 't-SNE', 'UMAP'.
    theta : float, default=0.05
        Points with a larger indirect bias get a ring.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per group, a grey one for no clear direction, one for the centre. The nearest
        words have labels where there is room. Words without position or projection are named below.

    Examples
    --------
    >>> columns = ["word", "x", "y", "cosine", "projection", "group", "indirect_bias", "is_center"]
    >>> row = ("nurse", 0, 0, 1.0, 0.3, "female", 0.0, True)
    >>> plot_neighborhood(pd.DataFrame([row], columns=columns), word="nurse").data[-1].text
    ('<b>nurse</b>',)
    """
    texts, numbers = ("word", "group"), ("x", "y", "cosine", "projection", "indirect_bias")
    table = check_frame(frame, texts, (*numbers, "is_center"))
    # Groups default to those of the rows.
    of_rows = table.loc[table["group"] != NO_CLEAR_DIRECTION, "group"]
    names = [*check_sequence("groups", groups)] or of_rows.unique().tolist()
    table.loc[~table["group"].isin(names), "group"] = NO_CLEAR_DIRECTION
    table, lost = with_values(table, ["x", "y", "projection"], "place or projection")
    order = table.sort_values(["is_center", "cosine"], ascending=False, kind="stable").index
    table["text"] = spaced(table, order[: _MOST_NEAR + 1])
    table["ring"] = np.where(table["indirect_bias"] > theta, 2.0, 0.4)
    template = (
        "<b>{word}</b><br>projection: {projection:.3f}<br>cosine with the centre: {cosine:.3f}<br>"
        "indirect bias: {indirect_bias:.3f}"
    )
    looks = {name: point_style(number)[:2] for number, name in enumerate(names)}
    looks[NO_CLEAR_DIRECTION] = (AWAY, "circle")
    is_centre = table["is_center"] == 1
    figure = go.Figure()
    for name, (colour, symbol) in looks.items():
        part = table[~is_centre & (table["group"] == name)]
        marker = {"symbol": symbol, "color": colour, "line": {"width": part["ring"].tolist()}}
        add_points(figure, part, name, template, {**marker, "size": 11})
    for group, star in parts_of(table[is_centre], "group"):
        # The star stands out from a crowd of points.
        ring = {"width": star["ring"].tolist()}
        marker = {"symbol": "star", "color": looks[group][0], "line": ring}
        star = star.assign(text="<b>" + star["text"] + "</b>")
        look = {"size": 22, "opacity": 1.0}
        add_points(figure, star, "centre", template, marker | look, showlegend=False)
    figure.update_layout(height=520, showlegend=True, legend_title_text="Leans to")
    # Both axes have one scale, and no numbers, because these mean nothing.
    figure.update_xaxes(showticklabels=False)
    figure.update_yaxes(showticklabels=False, ticks="", scaleanchor="x")
    notes = {
        f"Map by {method}: distances in it are not those in the space. Hover over a dot for its "
        "word.": True,
        f"Star: {shortened(word, 40)}. Ring: indirect bias above {theta:g}.": True,
    }
    heading = title or f"Neighbourhood of '{shortened(word, 60)}'"
    return apply_layout(figure, heading, notes, 30, footnotes=lost)


def plot_clusters(frame: pd.DataFrame, *, method: str | None = None) -> go.Figure:
    """Plot the most biased words in two dimensions, with their clusters.

    Parameters
    ----------
    frame : DataFrame
        Result of :func:`wefe.explore.cluster_map`: 'word', 'x', 'y', 'group', 'cluster'.
    method : str, optional
        Method of the map, for the note. Default: the one that `cluster_map` used.

    Returns
    -------
    plotly.graph_objects.Figure
        Dots are words in the cluster of their own group, crosses words in another one. Words
        without position, group or cluster are named below and excluded from the share.

    Examples
    --------
    >>> rows = [("nurse", 0, 1, "female", "female"), ("pilot", 1, 0, "male", "female")]
    >>> frame = pd.DataFrame(rows, columns=["word", "x", "y", "group", "cluster"])
    >>> [trace.name for trace in plot_clusters(frame).data]
    ['female', 'male, in a cluster<br>of others']
    """
    table = check_frame(frame, ("word", "group", "cluster"), ("x", "y"))
    table, lost = with_values(table, ["x", "y", "group", "cluster"], "place, group or cluster")
    table.attrs = frame.attrs
    groups = check_groups(None, table)
    table["number"] = table["group"].map(groups.index)
    table["other"] = table["group"] != table["cluster"]
    parts: Any = table.groupby(["number", "other"])
    figure = go.Figure()
    for (number, is_other), part in parts:
        group, agrees = groups[number], not is_other
        colour, symbol, other = point_style(number)
        marker = {
            "color": colour,
            "symbol": symbol if agrees else other,
            "size": 8,
            "line": {"width": 2 * int(is_other), "color": colour},
        }
        name = group if agrees else f"{group}, in a cluster of others"
        template = "<b>{word}</b><br>{group}; its cluster is that of<br>{cluster}"
        add_points(figure, part, name, template, marker)
    figure.update_xaxes(showticklabels=False, showgrid=False)
    figure.update_yaxes(showticklabels=False, showgrid=False, ticks="")
    figure.update_layout(height=480, showlegend=True)
    shown = count(len(table), "word")
    share = f"{1 - table['other'].mean():.0%} of " if len(table) else ""
    notes = {
        f"{share}{shown} fall into the cluster of their group.": True,
        f"Map by {method or frame.attrs.get('method', 't-SNE')}: distances in it are not those in "
        "the space, in which clusters were looked for.": True,
    }
    names = ["The most biased words and their clusters", *filter(None, [frame.attrs.get("model")])]
    heading = ", ".join(names)
    return apply_layout(figure, heading, notes, 30, footnotes=lost)


def plot_statistic(
    frame: pd.DataFrame,
    *,
    statistic_name: str,
    bias_name: str,
    title: str | None = None,
    fit: tuple[float, float] | None = None,
    band: pd.DataFrame | None = None,
    notes: Sequence[str] = (),
) -> go.Figure:
    """Plot the bias of words against a statistic, such as the share of women in an occupation.

    Parameters
    ----------
    frame : DataFrame
        One row per word: 'word', 'statistic', 'bias'.
    statistic_name, bias_name : str
        Titles of the axes, with units.
    title : str, optional
        Title of the figure.
    fit : (float, float), optional
        Slope and intercept of a line.
    band : DataFrame, optional
        Interval around the line: 'statistic', 'low', 'high'.
    notes : sequence of str, default=()
        Lines below the title: correlation, interval, number of words.

    Returns
    -------
    plotly.graph_objects.Figure
        Points, with line and band if given. Words farthest from the line (or the median) have
        labels. Words without a value are named below.

    Examples
    --------
    >>> rows = [("nurse", 0.9, 0.3), ("pilot", 0.1, -0.2)]
    >>> table = pd.DataFrame(rows, columns=["word", "statistic", "bias"])
    >>> plot_statistic(table, statistic_name="share of women", bias_name="projection").data[0].x
    (0.9, 0.1)
    """
    table = check_frame(frame, ("word",), ("statistic", "bias"))
    table, lost = with_values(table, ["statistic", "bias"], "statistic or bias")
    table[["x", "y"]] = table[["statistic", "bias"]]
    places = table[["x", "y"]]
    # Distance of words from the median, with both axes scaled to the same length.
    away = ((places - places.median()) / (places.max() - places.min())).pow(2).sum(axis=1)
    figure = go.Figure()
    if band is not None:
        ends = check_frame(band, (), ("statistic", "low", "high")).dropna()
        x, low, high = ends.sort_values("statistic").to_numpy().T
        add_band(figure, x, low, high, PALETTE[3], name="band")
    if fit is not None:
        slope, intercept = fit
        away = (table["y"] - slope * table["x"] - intercept).abs()
        across = np.array([table["x"].min(), table["x"].max()])
        ends = pd.DataFrame({"x": across, "y": slope * across + intercept})
        template = f"slope {slope:.3g}, intercept {intercept:.3g}"
        line = {"color": PALETTE[3], "width": 2}
        add_marks(figure, "scatter", ends, "fit", template, mode="lines", line=line)
    # The names of both numbers may contain braces.
    table[["x name", "y name"]] = statistic_name, bias_name
    template = "<b>{word}</b><br>{x name}: {x:.4g}<br>{y name}: {y:.3f}"
    order = away.sort_values(ascending=False, kind="stable").index
    table["text"] = spaced(table, order[:_MOST_FAR])
    marker = {"color": PALETTE[0], "size": 8}
    add_points(figure, table, "words", template, marker)
    figure.update_xaxes(title_text=wrap(statistic_name, 70))
    figure.update_yaxes(title_text=wrap(bias_name, 44), zeroline=True)
    figure.update_layout(height=420, showlegend=False)
    heading = title or f"{bias_name[:1].upper()}{bias_name[1:]} and {statistic_name}"
    shown = dict.fromkeys(notes, True)
    return apply_layout(figure, heading, shown, 64, footnotes=lost)


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
        colour = PALETTE[number % len(PALETTE)]
        above = (part["impact_ratio_upper"] - part["x"]).tolist()
        below = (part["x"] - part["impact_ratio_lower"]).tolist()
        interval = {"array": above, "arrayminus": below, "color": colour}
        marker = {"color": colour, "size": 10}
        add_points(figure, part, str(attribute), template, marker, error_x=interval)
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
