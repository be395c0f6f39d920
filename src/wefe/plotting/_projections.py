"""Words on a bias direction: the most extreme ones, and how word lists spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe.plotting._reading import check_frame, groups_of, parts_of
from wefe.plotting._style import (
    PALETTE,
    add_marks,
    add_points,
    apply_layout,
    at_most,
    bar_style,
    escape,
    grid,
    height_px,
    match_axes,
    name_rows,
    shortened,
    tint,
    wrap,
)

_COSINE = "cosine with the bias direction"
# Maximum number of words with a point each; beyond it, only words at both ends have one.
_MOST_POINTS = 60
_QUANTILES = {"lowerfence": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "upperfence": 0.95}
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
        For two groups, one panel per model: the first group to the right of 0, the second to the
        left. Otherwise one panel per group and model.

    Examples
    --------
    >>> rows = [("w2v", "female", 1, "nurse", 0.4), ("w2v", "male", 1, "pilot", 0.3)]
    >>> table = pd.DataFrame(rows, columns=["model", "group", "rank", "word", "projection"])
    >>> [(trace.name, trace.x) for trace in plot_extremes(table).data if trace.type == "bar"]
    [('female', (0.4,)), ('male', (-0.3,))]
    """
    table = check_frame(frame, ("model", "group", "word"), ("rank", "projection"))
    groups = groups_of(frame)
    # Two groups face each other in one panel.
    facing = len(groups) == 2
    table["panel"] = table["model"] if facing else table["group"] + ", " + table["model"]
    panels = list(table["panel"].unique())
    table = table.sort_values("rank", kind="stable")
    table["y"] = table.groupby(["model", "group"]).cumcount()
    n_rows = int(table["y"].max()) + 1
    figure, places = grid(panels, 18 * n_rows + 12, 54, 2 if facing else 3)
    n_columns = max(place["col"] for place in places)
    characters = max(12, 80 // n_columns // (1 + facing))
    is_left = facing & (table["group"] == groups[-1])
    table["x"] = table["projection"].mask(is_left, -table["projection"])
    table["side"] = np.where(is_left, "middle left", "middle right")
    table["text"] = " " + table["word"].map(lambda word: escape(shortened(word, characters))) + " "
    template = f"<b>{{word}}</b><br>{{group}}, rank {{rank:g}}<br>{_COSINE}: {{projection:.3f}}"
    for (panel, group), own in parts_of(table, ["panel", "group"]):
        place, colour = places[panels.index(panel)], bar_style(groups.index(group))["color"]
        # Translucent, so that texts on it are readable on light and on dark paper.
        marker = {"color": tint(colour, 0.45), "line": {"color": colour, "width": 1}}
        look = {"orientation": "h", "marker": marker, **place}
        add_marks(figure, "bar", own, wrap(group, 30), template, **look)
        look = {"mode": "text", "textposition": [*own["side"]], "textfont": None}
        add_points(figure, own.assign(x=0), "", "", {}, **look, cliponaxis=None, **place)
    figure.add_vline(0)
    axis = _axis_title(n_columns, *(groups if facing else ("", "", " →")))
    match_axes(figure, "x")
    figure.update_xaxes(tickformat=".2~f", nticks=7, title_text=axis)
    figure.update_yaxes(range=[n_rows - 0.4, -0.6], showticklabels=False, showgrid=False)
    figure.update_layout(barmode="overlay", bargap=0.15, showlegend=False)
    note = "Bars: cosine with the bias direction towards the group; rank 1 on top."
    return apply_layout(figure, "Words that lean most to each group", {note: True})


def plot_projections(frame: pd.DataFrame) -> go.Figure:
    """Plot the distribution of the projections of word lists onto a bias direction.

    Parameters
    ----------
    frame : DataFrame
        One row per word: 'model', 'set' (the word list), 'word', and 'projection' (cosine with the
        bias direction, in [-1, 1]). For more than two groups also 'group', whose direction it is.
        Optional 'chance': words no farther from 0 are grey. `frame.attrs['groups']` names the
        groups of positive and negative projections.

    Returns
    -------
    plotly.graph_objects.Figure
        One row per word list; for several models, one panel per word list with a row per model;
        with 'group', one panel per group. Up to 60 words have a point each; of more words, only the
        5 at each end. Words without a projection are named.

    Examples
    --------
    >>> rows = [("w2v", "jobs", "nurse", 0.4), ("w2v", "jobs", "pilot", -0.3)]
    >>> table = pd.DataFrame(rows, columns=["model", "set", "word", "projection"])
    >>> table.attrs["groups"] = ["female", "male"]
    >>> plot_projections(table).layout.xaxis.title.text
    '← male    cosine with the bias direction    female →'
    """
    texts, numbers = ("model", "set", "word", "group"), ("projection", "chance")
    table = check_frame(frame, texts, numbers, group="", chance=0.0)
    noted, row, panel = groups_of(frame), "set", "model"
    if table["model"].nunique() > 1:
        row, panel = panel, row
    by_group = table["group"].nunique() > 1
    lost = ", ".join(at_most(list(table["word"][table["projection"].isna()].unique())))
    table["panel"] = table[panel] + (", towards " + table["group"] if by_group else "")
    panels, rows = list(table["panel"].unique()), list(table[row].unique())
    table["row"] = table[row].map(rows.index).astype(int)
    table = table.dropna(subset="projection").sort_values("projection", kind="stable")
    labels = [wrap(name, 26) for name in rows]
    panel_px = max(52, height_px(labels) + 26) * len(rows) + 8
    figure, places = grid(panels, panel_px, 56, abreast=1 if len(panels) <= 3 else 2)
    n_columns = max(place["col"] for place in places)
    for (name, group), inside in parts_of(table, ["panel", "group"]):
        place, number = places[panels.index(name)], noted.index(group) if by_group else 0
        away = AWAY if by_group else bar_style(1)["color"]
        _draw(figure, inside, bar_style(number)["color"], away, place)
        sizes = inside["row"].value_counts().reindex(range(len(rows)), fill_value=0)
        name_rows(figure, [*(labels + sizes.map("<br>({:,})".format))], **place)
    # Room for the words at both ends.
    largest = np.abs(table["projection"].to_numpy()).max(initial=0)
    limit = (1.1 + 0.35 * n_columns) * largest or 0.1
    figure.update_yaxes(showticklabels=True)
    figure.update_xaxes(range=[-limit, limit], tickformat=".2~f", nticks=9, tickangle=0)
    first, second = noted if len(noted) == 2 and not by_group else ("", "")
    axis = _axis_title(n_columns, first, second, " towards the group →" * by_group)
    figure.update_xaxes(zeroline=True, title_text=axis)
    figure.update_layout(showlegend=False)
    notes = {
        "In parentheses: number of words. Box: middle half, with the median. Lines: 90 %.": True,
        "Grey: no clear direction, as three quarters of the frequent words.": "chance" in frame,
        f"Left out, because there is no projection: {lost}.": lost,
    }
    return apply_layout(figure, "Projections on the bias direction", notes)


def _axis_title(n_columns: int, first: str = "", second: str = "", end: str = "") -> str:
    most = 24 // n_columns + 2
    left, right = (f"← {shortened(second, most)}    ", f"    {shortened(first, most)} →")
    what = _COSINE if n_columns == 1 else "cosine"
    return escape(left * bool(second) + what + end + right * bool(first))


def _draw(figure: go.Figure, words: pd.DataFrame, first: str, second: str, place: Any) -> None:
    of_row = words.groupby("row")["projection"]
    size, at = of_row.transform("size"), of_row.cumcount()
    shares = np.array(list(_QUANTILES.values()))
    boxes = of_row.quantile(shares).unstack().reindex(columns=shares)
    figure.add_box(
        y=boxes.index,
        **{part: boxes[share].tolist() for part, share in _QUANTILES.items()},
        orientation="h",
        name="",
        width=0.5,
        line={"width": 1},
        fillcolor="rgba(0,0,0,0)",
        **place,
    )
    is_end = (at == 0) | (at == size - 1)
    towards = np.where(words["projection"] > 0, first, second)
    points = words.assign(
        x=words["projection"],
        colour=np.where(words["projection"].abs() <= words["chance"], AWAY, towards),
        # Neighbours get different heights, the same at each call.
        y=words["row"] + 0.44 * ((0.618 * at) % 1 - 0.5),
        text=words["word"].map(lambda word: f" {escape(shortened(word, 18))} ").where(is_end, ""),
        side=np.where(at == 0, "middle left", "middle right"),
    )[(size <= _MOST_POINTS) | (at < 5) | (at >= size - 5)]
    marker = {"color": points["colour"].tolist(), "size": 6}
    template = "<b>{word}</b><br>{set}, {model}<br>{x:.3f}"
    add_points(figure, points, "", template, marker, textposition=[*points["side"]], **place)
