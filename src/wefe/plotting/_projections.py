"""Words on a bias direction: the most extreme ones, and how word lists spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import listed
from wefe.explore._pages import distribution_of
from wefe.plotting._reading import check_frame, groups_of, parts_of
from wefe.plotting._style import (
    PALETTE,
    add_marks,
    add_points,
    apply_layout,
    colour_of,
    escape,
    grid,
    height_px,
    name_rows,
    shortened,
    wrap,
)

_COSINE = "cosine with the bias direction"
# Maximum number of words with a point each; beyond it, only words at both ends have one.
_MOST_POINTS = 60
_BOX = {"q1": "25 %", "median": "50 %", "q3": "75 %", "lowerfence": "5 %", "upperfence": "95 %"}
# Colour of words on the other side of a group.
AWAY = PALETTE[-1]


def plot_extremes(frame: pd.DataFrame) -> go.Figure:
    """Plot the most extreme words of each group.

    Parameters
    ----------
    frame : DataFrame
        One row per word: 'model', 'group', 'rank' (from 1), 'word', and 'projection', the cosine
        with the direction towards the group, in [-1, 1]. `frame.attrs['groups']` are the groups in
        order.

    Returns
    -------
    plotly.graph_objects.Figure
        One panel per model and group, rank 1 on top.

    Examples
    --------
    >>> rows = [("w2v", "female", 1, "nurse", 0.4), ("w2v", "male", 1, "pilot", 0.3)]
    >>> table = pd.DataFrame(rows, columns=["model", "group", "rank", "word", "projection"])
    >>> [(trace.name, trace.x) for trace in plot_extremes(table).data]
    [('female', (0.4,)), ('male', (0.3,))]
    """
    table = check_frame(frame, ("model", "group", "word"), ("rank", "projection"))
    table = table.assign(x=table["projection"]).sort_values("rank", kind="stable")
    parts, groups = parts_of(table, ["model", "group"]), groups_of(frame)
    n_rows = max(len(own) for _, own in parts)
    titles = [f"{group}, {model}" for (model, group), _ in parts]
    figure, places = grid(titles, 18 * n_rows + 12, 54, min(len(groups), 3))
    template = "<b>{word}</b><br>{group}, rank {rank:g}<br>cosine: {x:.3f}"
    for ((_, group), own), place in zip(parts, places, strict=True):
        words = [f" {escape(shortened(word, 18))} " for word in own["word"]]
        look = {"orientation": "h", "text": words, "textposition": "outside", "cliponaxis": False}
        look["marker_color"] = colour_of(groups.index(group))
        own = own.assign(y=range(len(own)))
        add_marks(figure, "bar", own, wrap(group, 30), template, **look, **place)
    # Half of a panel is for the words.
    ends = 2 * min(0.0, table["x"].min()), 2 * max(0.05, table["x"].max())
    figure.update_xaxes(range=ends, tickformat=".2~f", nticks=7, title_text="cosine")
    figure.update_yaxes(range=[n_rows - 0.4, -0.6], showticklabels=False, showgrid=False)
    figure.update_layout(bargap=0.15, showlegend=False)
    note = f"Bars: {_COSINE} towards the group; rank 1 on top."
    return apply_layout(figure, "Words that lean most to each group", {note: True})


def plot_projections(frame: pd.DataFrame) -> go.Figure:
    """Plot the distribution of the projections of word lists onto a bias direction.

    Parameters
    ----------
    frame : DataFrame
        One row per word: 'model', 'set' (the word list), 'word', and 'projection' (cosine with the
        bias direction, in [-1, 1]). For more than two groups also 'group', whose direction it is.
        Words no farther from 0 than the optional 'chance' are grey; without it, all are.
        `frame.attrs['groups']` names the groups of positive and negative projections.

    Returns
    -------
    plotly.graph_objects.Figure
        One row per word list and model; with 'group', one panel per group. Up to 60 words have a
        point each; of more words, only the 5 at each end. Words without a projection are named.

    Examples
    --------
    >>> rows = [("w2v", "jobs", "nurse", 0.4), ("w2v", "jobs", "pilot", -0.3)]
    >>> table = pd.DataFrame(rows, columns=["model", "set", "word", "projection"])
    >>> table.attrs["groups"] = ["female", "male"]
    >>> plot_projections(table).layout.xaxis.title.text
    '← male    cosine with the bias direction    female →'
    """
    texts, numbers = ("model", "set", "word", "group"), ("projection", "chance")
    table = check_frame(frame, texts, numbers, group="", chance=np.inf)
    groups = groups_of(frame)
    lost = listed(table["word"][table["projection"].isna()].unique())
    table = table.dropna(subset="projection")
    if table.empty:
        raise ValueError("frame must have at least one word with a projection.")
    figure, rows, places = draw_boxes(distribution_of(table), groups)
    table = table.sort_values("projection", kind="stable")
    of_row = table.groupby(["group", "set", "model"])["projection"]
    size, at, x = of_row.transform("size"), of_row.cumcount(), table["projection"]
    is_end, by_group = (at == 0) | (at == size - 1), table["group"] != ""
    towards = [colour_of(groups.index(name) if name else 0) for name in table["group"]]
    away = np.where(by_group, AWAY, PALETTE[1])
    points = table.assign(
        x=x,
        colour=np.select([x.abs() <= table["chance"], x > 0], [AWAY, towards], away),
        # Neighbours get different heights, the same at each call.
        y=0.44 * ((0.618 * at) % 1 - 0.5),
        text=table["word"].map(lambda word: f" {escape(shortened(word, 18))} ").where(is_end, ""),
        side=np.where(at == 0, "middle left", "middle right"),
    )[(size <= _MOST_POINTS) | (at < 5) | (at >= size - 5)]
    points["y"] += _row_names(points).map(rows.index)
    template = "<b>{word}</b><br>{set}, {model}<br>{x:.3f}"
    for name, own in parts_of(points, "group"):
        marker = {"color": [*own["colour"]], "size": 6}
        look = {"marker": marker, "textposition": [*own["side"]], **places[name]}
        add_points(figure, own, "", template, **look)
    # Room for the words at both ends.
    limit = 1.6 * x.abs().max() or 0.1
    figure.update_xaxes(range=[-limit, limit])
    notes = {
        "In parentheses: number of words. Box: middle half, with the median. Lines: 90 %.": True,
        "Grey: no clear direction, as three quarters of the frequent words.": "chance" in frame,
        f"Left out, because there is no projection: {lost}.": lost,
    }
    title = ", ".join(["Projections on the bias direction", *table["model"].unique()[:4]])
    return apply_layout(figure, title, notes)


def draw_boxes(
    spread: pd.DataFrame, groups: Sequence[str]
) -> tuple[go.Figure, list[str], dict[str, dict[str, Any]]]:
    """Draw the quantiles of `distribution_of`: a row per word list and model, a panel per group.

    Returns the figure, the names of its rows, and the place of each group.
    """
    # The models of a word list stand together.
    order = spread.groupby("set", sort=False).ngroup().argsort(kind="stable")
    spread = spread.assign(row=_row_names(spread)).iloc[order]
    names, panels = spread.drop_duplicates("row"), spread["group"].unique()
    rows = list(names["row"])
    labels = [*(names["row"].map(wrap) + names["n"].map("<br>({:,})".format))]
    titles = [f"towards {group}" * bool(group) for group in panels]
    panel_px = (height_px(labels) + 8) * len(rows) + 8
    figure, shown = grid(titles, panel_px, 56, 2, shared_xaxes="all")
    places = dict(zip(panels, shown, strict=True))
    for group, own in parts_of(spread, "group"):
        figure.add_box(
            y=own["row"].map(rows.index).tolist(),
            **{part: own[column].tolist() for part, column in _BOX.items()},
            orientation="h",
            name="",
            width=0.5,
            line={"width": 1},
            fillcolor="rgba(0,0,0,0)",
            **places[group],
        )
    name_rows(figure, labels)
    axis = "cosine towards the group →" if panels[0] else _COSINE
    if axis == _COSINE and len(groups) == 2:
        first, second = map(escape, map(shortened, groups))
        axis = f"← {second}    {axis}    {first} →"
    figure.update_xaxes(tickformat=".2~f", nticks=9, tickangle=0, zeroline=True, title_text=axis)
    figure.update_xaxes(showticklabels=True)
    figure.update_layout(showlegend=False)
    return figure, rows, places


def _row_names(table: pd.DataFrame) -> pd.Series[str]:
    is_one = table["model"].nunique() == 1
    return table["set"] if is_one else table["set"] + ", " + table["model"]
