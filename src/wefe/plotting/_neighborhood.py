"""Figures of the neighbours of words: a map of one neighbourhood, and the shares of groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import check_sequence, check_share
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
from wefe.plotting._style import apply_layout, bar_style, hover, point_style, tint, write
from wefe.plotting._table import check_frame, check_groups

_NUMBERS = ["share", "low", "high"]
# What traces are called that are no group.
CHANCE, WITHIN = "random words", "no more than by chance"
# In the legend they come after the groups.
_WITHIN_RANK = 1000


def plot_neighborhood(
    frame: pd.DataFrame,
    *,
    word: str,
    title: str | None = None,
    groups: Sequence[str] = (),
    method: str = "PCA",
    theta: float = 0.05,
    n_labels: int = 30,
) -> go.Figure:
    """Plot a map of the neighbourhood of a word.

    Parameters
    ----------
    frame : DataFrame
        A row per word, the centre included: 'word', 'x', 'y', 'cosine' (with the centre),
        'projection' (cosine with the bias direction), 'group' (the one that the word leans to, or
        'no clear direction'), 'indirect_bias' (with the centre) and 'is_center'.
    word : str
        The centre.
    title : str, optional
        Without one the figure says what is shown.
    groups : sequence of str, default=()
        All groups, in the order of their colours; by default those of the frame.
    method : str, default='PCA'
        How the map was made, for the note: 'PCA', 't-SNE', 'UMAP'.
    theta : float, default=0.05
        Points of an indirect bias above it have a ring.
    n_labels : int, default=30
        At most so many of the nearest words are named, fewer where there is no room. The centre
        always is.

    Returns
    -------
    plotly.graph_objects.Figure
        A trace of points per group, a grey one for words without a clear direction, and one for the
        centre. Where a point is pointed at, its values are given.

    Raises
    ------
    TypeError
        If `frame` is no DataFrame.
    ValueError
        If it is empty, or lacks one of the columns.

    Notes
    -----
    Words without place or projection are left out, and named. An undefined indirect bias has no
    ring.

    Examples
    --------
    >>> columns = ["word", "x", "y", "cosine", "projection", "group", "indirect_bias", "is_center"]
    >>> rows = [
    ...     ("nurse", 0, 0, 1.0, 0.3, "female", 0.0, True),
    ...     ("doctor", 1, 0, 0.7, 0.0, "no clear direction", 0.2, False),
    ... ]
    >>> figure = plot_neighborhood(
    ...     pd.DataFrame(rows, columns=columns), word="nurse", groups=("female", "male")
    ... )
    >>> [(trace.name, trace.text) for trace in figure.data if trace.text]
    [('no clear direction', ('doctor',)), ('centre', ('<b>nurse</b>',))]
    """
    names = [str(name) for name in check_sequence("groups", groups)]
    check_share("theta", theta)
    table = check_frame(
        frame,
        ("word", "group"),
        ("x", "y", "cosine", "projection", "indirect_bias", "is_center"),
    )
    # Groups that are not named are those of the rows.
    names = names or [name for name in table["group"].unique() if name != NO_CLEAR_DIRECTION]
    table.loc[~table["group"].isin(names), "group"] = NO_CLEAR_DIRECTION
    missing = table[["x", "y", "projection"]].isna().any(axis=1)
    lost = left_out(table["word"][missing], "place or projection")
    table = table[~missing].reset_index(drop=True)
    centre = table["is_center"] == 1
    order = table.sort_values(["is_center", "cosine"], ascending=False, kind="stable").index
    table["named"] = table.index.isin(spaced(table[["x", "y"]], order[: n_labels + 1]))
    table["size"] = np.where(centre, 22.0, 11.0)
    figure = go.Figure()
    styles = {name: point_style(number)[:2] for number, name in enumerate(names)}
    styles[NO_CLEAR_DIRECTION] = (AWAY, "circle")
    for name, (colour, symbol) in styles.items():
        own = table["group"] == name
        _add_points(figure, table[own & ~centre], name, symbol, theta, colour)
    for group, star in table[centre].groupby("group"):
        _add_points(figure, star, "centre", "star", theta, styles[str(group)][0])
    figure.update_layout(showlegend=True, legend_title_text="Leans to")
    # One scale, and no numbers, which would mean nothing.
    figure.update_xaxes(showticklabels=False)
    figure.update_yaxes(showticklabels=False, ticks="", scaleanchor="x")
    notes = [
        f"Map by {method}: distances in it are not those in the space. Hover over a dot for its "
        "word.",
        f"Star: {shortened(word, 40)}. Ring: indirect bias above {theta:g}.",
    ]
    heading = title or f"Neighbourhood of '{shortened(word, 60)}'"
    return apply_layout(figure, heading, notes, 520, below_px=30, footnotes=lost)


def _add_points(
    figure: go.Figure, part: pd.DataFrame, name: str, symbol: str, theta: float, colour: str
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
            "color": colour,
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


def plot_group_shares(
    frame: pd.DataFrame, *, title: str | None = None, groups: Sequence[str] | None = None
) -> go.Figure:
    """Plot which share of the neighbours of words leans to each group, and what chance makes of it.

    Parameters
    ----------
    frame : DataFrame
        A row per word and group: 'word', 'group', and 'share' of the word's neighbours that lean to
        the group, in [0, 1]. It may have 'model'; 'low' and 'high', the interval of the shares that
        random words have; and 'leans_to', the label of the word itself.
    title : str, optional
        Without one the figure says what is shown.
    groups : sequence of str, optional
        All groups, in the order of their colours; by default `frame.attrs['groups']`, or else the
        order of the rows.

    Returns
    -------
    plotly.graph_objects.Figure
        A panel per model, with a bar per word and group, the first word on top. The interval of
        random words is a band behind the bar. A bar that ends within it is grey.

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
    >>> rows = [("nurse", "female", 0.75, 0.1, 0.6), ("nurse", "male", 0.25, 0.1, 0.6)]
    >>> table = pd.DataFrame(rows, columns=["word", "group", "share", "low", "high"])
    >>> figure = plot_group_shares(table)
    >>> [bar.name for bar in figure.data if bar.x[0] > 0]
    ['random words', 'female', 'random words', 'no more than by chance']
    """
    numbers = ["share", *(name for name in ("low", "high") if name in frame)]
    table = check_frame(frame, ("word", "group"), numbers, optional=("model", "leans_to"))
    for name in ("model", "leans_to", "low", "high"):
        if name not in table:
            table[name] = math.nan if name in _NUMBERS else ""
    names = check_groups(groups, frame)
    _check_shares(table)
    words, models = (list(dict.fromkeys(table[key])) for key in ("word", "model"))
    labels = [wrap(shortened(word)) for word in words]
    if len(models) == 1:
        said = table.groupby("word")["leans_to"].first()
        small = '<br><span style="font-size:10px">{}</span>'
        labels = [
            label + small.format(_lean(said[word])) * bool(said[word])
            for word, label in zip(words, labels, strict=True)
        ]
    rows = Rows(words, labels, len(names))
    panels = Panels(models if len(models) > 1 else [""], rows.height, 54, abreast=2)
    figure = panels.figure()
    cells = table.set_index(["model", "word", "group"])[_NUMBERS]
    for position, model in enumerate(models):
        place = panels.place(position)
        for number, group in enumerate(names):
            wanted = pd.MultiIndex.from_product([[model], words, [group]])
            own = cells.reindex(wanted).reset_index(drop=True)
            _add_shares(figure, own, words, group, (number, rows), place)
        here = table[(table["model"] == model) & table["share"].notna()]
        for row, word in enumerate(words):
            if word not in set(here["word"]):
                write(figure, 0, row, " no value", **place)
    rows.apply(figure)
    # Panels of a row share the names of the words.
    figure.update_xaxes(range=[0, 1], tickformat=".0%", title_text="Share of the neighbours")
    if panels.n_columns > 1:
        # The last number of a panel would run into the first one of the next.
        figure.update_xaxes(tickvals=[0.25, 0.5, 0.75])
    figure.update_layout(barmode="overlay", showlegend=True, legend_title_text="Lean to")
    heading = title or f"Which way the neighbours of {count(len(words), 'word')} lean"
    if title is None and len(models) == 1 and models[0]:
        heading += f", {models[0]}"
    notes = []
    if table["low"].notna().any():
        notes = [
            "Band: 95 of 100 random words that are as frequent lie within it. Grey bars end within "
            "their band: chance explains them."
        ]
    return apply_layout(figure, heading, notes, panels.height, panels.title_px)


def _lean(label: str) -> str:
    return label if label == NO_CLEAR_DIRECTION else f"leans to {wrap(label, 24)}"


def _add_shares(
    figure: go.Figure,
    own: pd.DataFrame,
    words: Sequence[str],
    group: str,
    bar: tuple[int, Rows],
    place: dict[str, Any],
) -> None:
    """Add the bars of one group, each before the band of random words."""
    number, rows = bar
    width = 0.8 / rows.n_series
    middle = rows.centre(0, number)
    same = {"y": list(words), "orientation": "h", **place}
    hovers = [
        f"{in_full(word)}<br>{wrap(group, 60)}: {share:.1%} of the neighbours"
        + (f"<br>random words: {low:.1%} to {high:.1%}" if low == low else "")
        for word, share, low, high in zip(words, *own.to_numpy().T, strict=True)
    ]
    figure.add_bar(
        base=own["low"].tolist(),
        x=(own["high"] - own["low"]).tolist(),
        width=0.96 * width,
        offset=middle - 0.48 * width,
        name=CHANCE,
        legendgroup=CHANCE,
        legendrank=_WITHIN_RANK + 1,
        marker={"color": tint(AWAY, 0.3), "line": {"width": 0}},
        **hover(hovers),
        **same,
    )
    within = own["share"].between(own["low"], own["high"])
    style = bar_style(number)
    for name, colour, shown in (
        (group, style["color"], ~within),
        (WITHIN, AWAY, within),
    ):
        figure.add_bar(
            x=own["share"].where(shown).tolist(),
            width=0.5 * width,
            offset=middle - 0.25 * width,
            name=wrap(name, 30),
            legendgroup=name,
            marker={**style, "color": colour},
            # What is grey has no colour that says which group it is of.
            text=[f"{wrap(shortened(group))} {share:.0%}" for share in own["share"]],
            textposition="outside",
            constraintext="none",
            cliponaxis=False,
            legendrank=_WITHIN_RANK if name == WITHIN else number + 1,
            textfont={"size": 10},
            **hover(hovers),
            **same,
        )


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
