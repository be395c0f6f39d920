"""Figures of the neighbours of words: a map of one neighbourhood, and the shares of groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import check_number, check_sequence, check_share
from wefe.explore._directions import NO_CLEAR_DIRECTION
from wefe.plotting._axes import Panels, Rows
from wefe.plotting._labels import (
    at_most,
    count,
    escape,
    in_full,
    left_out,
    shortened,
    spaced,
    wrap,
)
from wefe.plotting._projections import AWAY
from wefe.plotting._style import PALETTE, apply_layout, bar_style, hover, point_style, write
from wefe.plotting._table import check_frame, check_groups

# From the second group over grey, which is seen on light and dark paper, to the first.
_LEANS = (PALETTE[1], "#cfcfcf", PALETTE[0])


def plot_neighborhood(
    frame: pd.DataFrame,
    *,
    word: str,
    title: str | None = None,
    groups: Sequence[str] = (),
    method: str = "PCA",
    theta: float = 0.05,
    n_labels: int = 30,
    largest: float | None = None,
) -> go.Figure:
    """Plot a map of the neighbourhood of a word.

    Parameters
    ----------
    frame : DataFrame
        A row per word, the centre included: 'word', 'x', 'y', 'cosine' (with the centre),
        'projection' (cosine with the bias direction), 'indirect_bias' (with the centre) and
        'is_center'. Of more than two groups, 'projection' is towards the one that is nearest;
        'group', which the frame may have, names it, or is 'no clear direction'.
    word : str
        The centre.
    title : str, optional
        Without one the figure says what is shown.
    groups : sequence of str, default=()
        Names of the group of positive and that of negative projections; or all of them, in the
        order of their colours.
    method : str, default='PCA'
        How the map was made, for the note: 'PCA', 't-SNE', 'UMAP'.
    theta : float, default=0.05
        Points of an indirect bias above it have a ring.
    n_labels : int, default=30
        At most so many of the nearest words are named, fewer where there is no room. The centre
        always is.
    largest : float, optional
        Projection at both ends of the scale of colours, so that several maps can share one; by
        default the largest in the frame. Words farther out have the colour of the end.

    Returns
    -------
    plotly.graph_objects.Figure
        Two traces of points, the neighbours and the centre, coloured by their projection on a
        scale that is symmetric about 0; or, of more than two groups, a trace per group. Where a
        point is pointed at, its values are given.

    Raises
    ------
    TypeError
        If `frame` is no DataFrame, or `largest` no number.
    ValueError
        If it is empty, or lacks one of the columns, or `largest` is not above 0.

    Notes
    -----
    Words without place or projection are left out, and named. An undefined indirect bias has no
    ring.

    Examples
    --------
    >>> columns = ["word", "x", "y", "cosine", "projection", "indirect_bias", "is_center"]
    >>> rows = [("nurse", 0, 0, 1.0, 0.3, 0.0, True), ("doctor", 1, 0, 0.7, -0.1, 0.2, False)]
    >>> figure = plot_neighborhood(
    ...     pd.DataFrame(rows, columns=columns), word="nurse", groups=("female", "male")
    ... )
    >>> [(trace.name, trace.text) for trace in figure.data]
    [('neighbours', ('doctor',)), ('centre', ('<b>nurse</b>',))]
    """
    names = [str(name) for name in check_sequence("groups", groups)]
    check_share("theta", theta)
    end = None if largest is None else check_number("largest", largest)
    if end is not None and end <= 0:
        raise ValueError(f"largest must be above 0; got {end:g}.")
    table = check_frame(
        frame,
        ("word",),
        ("x", "y", "cosine", "projection", "indirect_bias", "is_center"),
        optional=("group",),
    )
    # Groups that are not named are those of the rows.
    seen = frame["group"].dropna().astype(str).unique().tolist() if "group" in frame else []
    names = names or [name for name in seen if name != NO_CLEAR_DIRECTION]
    by_group = bool(seen) and len(names) != 2
    missing = table[["x", "y", "projection"]].isna().any(axis=1)
    lost = left_out(table["word"][missing], "place or projection")
    table = table[~missing].reset_index(drop=True)
    centre = table["is_center"] == 1
    order = table.sort_values(["is_center", "cosine"], ascending=False, kind="stable").index
    table["named"] = table.index.isin(spaced(table[["x", "y"]], order[: n_labels + 1]))
    table["size"] = np.where(centre, 22.0, 11.0)
    figure = go.Figure()
    if by_group:
        styles = {name: point_style(number)[:2] for number, name in enumerate(names)}
        for name, (colour, symbol) in styles.items():
            own = table[(table["group"] == name) & ~centre]
            _add_points(figure, own, name, symbol, theta, color=colour)
        none = table[~table["group"].isin(names) & ~centre]
        if len(none):
            _add_points(figure, none, NO_CLEAR_DIRECTION, "circle", theta, color=AWAY)
        for group, own in table[centre].groupby("group", sort=False):
            colour = styles.get(str(group), (AWAY,))[0]
            _add_points(figure, own, "centre", "star", theta, color=colour)
        figure.update_layout(showlegend=True, legend_title_text="Leans to")
    else:
        for own, name, symbol in (
            (table[~centre], "neighbours", "circle"),
            (table[centre], "centre", "star"),
        ):
            colours = {"color": own["projection"].tolist(), "coloraxis": "coloraxis"}
            _add_points(figure, own, name, symbol, theta, **colours)
        end = end or (float(table["projection"].abs().max()) if len(table) else 0.0) or 0.1
        figure.update_layout(showlegend=False, coloraxis=_scale(end, names))
    # One scale, and no numbers, which would mean nothing.
    figure.update_xaxes(showticklabels=False)
    figure.update_yaxes(showticklabels=False, ticks="", scaleanchor="x")
    notes = [
        f"Map by {method}: distances in it are not those in the space. Hover over a dot for its "
        "word.",
        f"Star: {shortened(word, 40)}. Ring: indirect bias above {theta:g}.",
    ]
    if len(names) > 2 and not by_group:
        notes.append("Colour: projection towards the group that is nearest.")
    heading = title or f"Neighbourhood of '{shortened(word, 60)}'"
    return apply_layout(figure, heading, notes, 520, below_px=30, footnotes=lost)


def _add_points(
    figure: go.Figure, part: pd.DataFrame, name: str, symbol: str, theta: float, **colours: Any
) -> None:
    """Add points of one kind."""
    star = symbol == "star"
    bold, least = ("<b>{}</b>", 1.0) if star else ("{}", 0.4)
    hovers = []
    columns = ["word", "projection", "cosine", "indirect_bias"]
    for word, *values in part[columns].itertuples(index=False):
        shown = ["undefined" if math.isnan(value) else f"{value:.3f}" for value in values]
        hovers.append(
            f"{in_full(word)}<br>projection: {shown[0]}<br>"
            f"cosine with the centre: {shown[1]}<br>indirect bias: {shown[2]}"
        )
    figure.add_scatter(
        x=part["x"].tolist(),
        y=part["y"].tolist(),
        mode="markers+text",
        name=wrap(name, 20),
        cliponaxis=False,
        marker={
            "symbol": symbol,
            "size": part["size"].tolist(),
            # The star is seen over the points of a crowd.
            "opacity": 1 if star else 0.9,
            "line": {"width": np.where(part["indirect_bias"] > theta, 2.0, least).tolist()},
            **colours,
        },
        text=[
            bold.format(escape(shortened(word))) if named else ""
            for word, named in zip(part["word"], part["named"], strict=True)
        ],
        textposition="top center",
        textfont={"size": 11},
        showlegend=not star,
        **hover(hovers),
    )


def _scale(largest: float, groups: Sequence[str]) -> dict[str, Any]:
    """Return a scale of colours whose ends say towards which group they are."""
    ends = [f"{largest:.2f}", f"{-largest:.2f}"]
    for end, group in enumerate(groups if len(groups) <= 2 else ()):
        ends[end] += f"<br>{wrap(group, 16)}"
    return {
        "cmin": -largest,
        "cmax": largest,
        "colorscale": _LEANS,
        "colorbar": {
            "title": {"text": "Projection", "side": "right"},
            "thickness": 14,
            "tickvals": [largest, 0, -largest],
            "ticktext": [ends[0], "0", ends[1]],
        },
    }


def plot_group_shares(
    frame: pd.DataFrame, *, title: str | None = None, groups: Sequence[str] | None = None
) -> go.Figure:
    """Plot which groups the neighbours of words lean to.

    Parameters
    ----------
    frame : DataFrame
        A row per word and group: 'word', 'group', 'share' of the word's neighbours that lean to
        the group, in [0, 1], and perhaps 'model'. What stands in parentheses in place of a word,
        as '(frequent words)', are words to compare with, and no neighbours. In place of a group,
        'no clear direction' is drawn in grey.
    title : str, optional
        Without one the figure says what is shown.
    groups : sequence of str, optional
        All groups, in the order of their colours; by default `frame.attrs['groups']`, or else the
        order of the rows.

    Returns
    -------
    plotly.graph_objects.Figure
        A panel per model, with a stacked bar per word in the order of the frame, the first on top.

    Raises
    ------
    TypeError
        If `frame` is no DataFrame.
    ValueError
        If it is empty, lacks one of the columns, or the shares of a word are none or sum to more
        than 1.

    Notes
    -----
    A word without shares is marked 'no value'.

    Examples
    --------
    >>> rows = [("nurse", "female", 0.75), ("nurse", "male", 0.25)]
    >>> figure = plot_group_shares(pd.DataFrame(rows, columns=["word", "group", "share"]))
    >>> [(trace.name, trace.x) for trace in figure.data]
    [('female', (0.75,)), ('male', (0.25,))]
    """
    table = check_frame(frame, ("word", "group"), ("share",), optional=("model",))
    if "model" not in table:
        table["model"] = ""
    names = check_groups(groups, frame)
    _check_shares(table)
    words, models = (list(dict.fromkeys(table[key])) for key in ("word", "model"))
    others = [word for word in words if word.startswith("(") and word.endswith(")")]
    rows = Rows(words, [wrap(shortened(word)) for word in words], 1)
    panels = Panels(models if len(models) > 1 else [""], rows.height, 54, abreast=2)
    figure = panels.figure()
    by_word = table.groupby(["model", "word", "group"])["share"].first()
    for position, model in enumerate(models):
        place = panels.place(position)
        cells = [[by_word.get((model, word, group), math.nan) for word in words] for group in names]
        for number, (group, own) in enumerate(zip(names, cells, strict=True)):
            hovers = [
                f"{in_full(word)}<br>{wrap(group, 60)}: {share:.1%} of the "
                + ("words" if word in others else "neighbours")
                for word, share in zip(words, own, strict=True)
            ]
            style = bar_style(number)
            if group == NO_CLEAR_DIRECTION:
                style = {**style, "color": AWAY}
            figure.add_bar(
                x=own,
                y=words,
                orientation="h",
                name=wrap(group, 30),
                legendgroup=group,
                text=[f"{share:.0%}" if share >= 0.08 else "" for share in own],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                marker=style,
                **hover(hovers),
                **place,
            )
        for row in np.flatnonzero(np.isnan(cells).all(axis=0)).tolist():
            write(figure, 0, row, " no value", **place)
    rows.apply(figure)
    # Panels of a row share the names of the words.
    figure.update_xaxes(
        range=[0, 1],
        showgrid=False,
        tickformat=".0%",
        title_text="Share of words" if others else "Share of the neighbours",
    )
    if panels.n_columns > 1:
        # The last number of a panel would run into the first one of the next.
        figure.update_xaxes(tickvals=[0.25, 0.5, 0.75])
    figure.update_layout(barmode="stack", showlegend=True, legend_title_text="Leans to")
    n_words = len(words) - len(others)
    heading = title or f"Groups among the neighbours of {count(n_words, 'word')}"
    if title is None and len(models) == 1 and models[0]:
        heading += f", {models[0]}"
    return apply_layout(figure, heading, [], panels.height, panels.title_px)


def _check_shares(table: pd.DataFrame) -> None:
    """Refuse percentages, and shares of one group that are given twice."""
    wrong = ~table["share"].between(0, 1) & table["share"].notna()
    if wrong.any():
        raise ValueError(
            f"column 'share' must hold shares between 0 and 1; got {table['share'][wrong].iloc[0]}."
        )
    sums = table.groupby(["model", "word"], sort=False)["share"].sum()
    over = list(sums[sums > 1 + 1e-6].index.get_level_values("word"))
    if over:
        raise ValueError(
            f"the shares of a word must sum to 1; those of {', '.join(at_most(over))} sum to more. "
            "If there are several models, name them in a column 'model'."
        )
