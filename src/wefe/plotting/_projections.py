"""Words on a bias direction: the most extreme ones, and how word lists spread."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe.plotting._axes import Panels
from wefe.plotting._labels import escape, height_px, left_out, shortened, wrap
from wefe.plotting._style import (
    PALETTE,
    add_points,
    apply_layout,
    bar_style,
    hover_rows,
    tint,
    write,
)
from wefe.plotting._table import check_frame, check_groups

_COSINE = "cosine with the bias direction"
# Maximum number of words with a point each; beyond it, only words at both ends have one.
_MOST_POINTS = 60
# A box of fewer words would hide one of them.
_FEWEST_FOR_BOX = 5
_QUANTILES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
# Colour of words on the other side of a group.
AWAY = PALETTE[-1]


def plot_extremes(
    frame: pd.DataFrame, *, title: str | None = None, groups: Sequence[str] | None = None
) -> go.Figure:
    """Plot the words most associated with each group.

    Parameters
    ----------
    frame : DataFrame
        One row per word: 'model', 'group', 'rank' (1: most associated), 'word', and 'projection',
        the cosine with the bias direction towards the group, in [-1, 1].
    title : str, optional
        Default: a description.
    groups : sequence of str, optional
        All groups, in the order of their colours; by default `frame.attrs['groups']` or as in rows.

    Returns
    -------
    plotly.graph_objects.Figure
        For two groups, one panel per model: the first group to the right of 0, the second to the
        left. Otherwise one panel per model and group. Words without a projection are named below.

    Raises
    ------
    TypeError, ValueError
        If `frame` is not a DataFrame, is empty, or lacks a column.

    Examples
    --------
    >>> rows = [("w2v", "female", 1, "nurse", 0.4), ("w2v", "male", 1, "pilot", 0.3)]
    >>> table = pd.DataFrame(rows, columns=["model", "group", "rank", "word", "projection"])
    >>> [(trace.name, trace.x) for trace in plot_extremes(table).data if trace.type == "bar"]
    [('female', (0.4,)), ('male', (-0.3,))]
    """
    table = check_frame(frame, ("model", "group", "word"), ("rank", "projection"))
    shown = check_groups(groups, frame)
    models = list(dict.fromkeys(table["model"]))
    missing = table["projection"].isna()
    lost = left_out(table["word"][missing], "projection")
    table = table[~missing].sort_values("rank", kind="stable")
    table["row"] = table.groupby(["model", "group"]).cumcount()
    n_rows = int(table["row"].max()) + 1 if len(table) else 1
    # Two groups face each other in one panel.
    facing = len(shown) == 2
    keys = list(product(models, [shown] if facing else [[group] for group in shown]))
    titles = [
        ", ".join([model] * (len(models) > 1) + some * (len(some) == 1 < len(shown)))
        for model, some in keys
    ]
    # A row per model where its groups fit into one.
    abreast = {1: 2, 2: 2, 4: 4}.get(len(shown), 3)
    panels = Panels(titles, 18 * n_rows + 12, below_px=54, abreast=abreast)
    axis, meaning = _axis_title(panels.n_columns, *(shown if facing else ("", "", " →")))
    characters = max(12, 80 // panels.n_columns // (1 + facing))
    template = f"<b>{{word}}</b><br>{{group}}, rank {{rank:g}}<br>{_COSINE}: {{projection:.3f}}"
    figure = panels.figure()
    for position, (model, group) in enumerate(product(models, shown)):
        place = panels.place(position // (1 + facing))
        number = shown.index(group)
        side, anchor = (-1, "middle left") if facing and number else (1, "middle right")
        part = table[(table["model"] == model) & (table["group"] == group)]
        words = [f" {escape(shortened(word, characters))} " for word in part["word"]]
        colour = bar_style(number)["color"]
        figure.add_bar(
            x=(side * part["projection"]).tolist(),
            y=part["row"].tolist(),
            orientation="h",
            name=wrap(group, 30),
            # Translucent, so that texts on it are readable on light and on dark paper.
            marker={"color": tint(colour, 0.45), "line": {"color": colour, "width": 1}},
            **hover_rows(part, template),
            **place,
        )
        figure.add_scatter(
            x=[0] * max(1, len(part)),
            y=part["row"].tolist() or [0],
            mode="text",
            text=words or [" no words "],
            textposition=anchor,
            hoverinfo="skip",
            **place,
        )
    figure.add_vline(0)
    high = 1.05 * table["projection"].abs().max() if len(table) else 1.0
    low = high if facing else max(0.0, -1.05 * table["projection"].min()) if len(table) else 0.0
    figure.update_xaxes(range=[-low, high or 0.1], tickformat=".2~f", nticks=7, title_text=axis)
    figure.update_yaxes(range=[n_rows - 0.4, -0.6], showticklabels=False, showgrid=False)
    figure.update_layout(barmode="overlay", bargap=0.15, showlegend=False)
    heading = title or f"Words that lean most to {'each group' if len(shown) > 1 else shown[0]}"
    if title is None and len(models) == 1:
        heading += f", {models[0]}"
    notes = ["Bars: cosine with the bias direction towards the group; rank 1 on top.", *meaning]
    return apply_layout(figure, heading, notes, panels.height, panels.title_px, footnotes=lost)


def plot_projections(
    frame: pd.DataFrame,
    *,
    title: str | None = None,
    toward_first: str = "",
    toward_second: str = "",
) -> go.Figure:
    """Plot how the projections of word lists onto a bias direction spread.

    Parameters
    ----------
    frame : DataFrame
        One row per word: 'model', 'set' (name of the word list), 'word', and 'projection', its
        cosine with the bias direction, in [-1, 1]. For more than two groups also 'group', the one
        that the projection is towards. Optional 'chance': words no farther from 0 are grey.
    title : str, optional
        Default: a description.
    toward_first, toward_second : str, default=''
        Groups of positive and of negative projections; by default two of `frame.attrs['groups']`.

    Returns
    -------
    plotly.graph_objects.Figure
        One row per word list; for several models, one panel per word list with a row per model;
        with 'group', one panel per group. Boxes need 5 words. Up to 60 words have a point each, of
        more words the 5 at each end. Words without a projection are named below.

    Raises
    ------
    TypeError, ValueError
        If `frame` is not a DataFrame, is empty, or lacks a column.

    Examples
    --------
    >>> rows = [("w2v", "jobs", "nurse", 0.4), ("w2v", "jobs", "pilot", -0.3)]
    >>> table = pd.DataFrame(rows, columns=["model", "set", "word", "projection"])
    >>> figure = plot_projections(table, toward_first="female", toward_second="male")
    >>> figure.layout.xaxis.title.text
    '← male    cosine with the bias direction    female →'
    """
    numbers = ["projection", *(["chance"] if "chance" in frame else [])]
    table = check_frame(frame, ("model", "set", "word"), numbers, optional=("group",))
    table = pd.DataFrame({"group": "", "chance": 0.0} | dict(table.items()))
    models, sets, groups = (list(dict.fromkeys(table[key])) for key in ("model", "set", "group"))
    by_group, of_models = len(groups) > 1, len(models) > 1
    if by_group:
        groups = check_groups(None, frame)
    noted = list(map(str, frame.attrs.get("groups", ())))
    if len(noted) == 2:
        toward_first, toward_second = toward_first or noted[0], toward_second or noted[1]
    missing = table["projection"].isna()
    lost = left_out(table["word"][missing], "projection")
    table = table[~missing].sort_values("projection", kind="stable")
    # Panels are groups, and word lists if rows are models.
    rows, what = (models, "model") if of_models else (sets, "set")
    table = table.assign(
        row=table[what].map(rows.index).astype(int), panel=table["set"] if of_models else ""
    )
    keys = list(product(groups, sets if of_models else [""]))
    names = [
        ", ".join([f"towards {group}"] * by_group + [name] * (of_models and len(sets) > 1))
        for group, name in keys
    ]
    labels = [wrap(row, 26) for row in rows]
    panel_px = max(52, height_px(labels) + 26) * len(rows) + 8
    panels = Panels(names, panel_px, 56, abreast=1 if len(keys) <= 3 else 2)
    toward = ("", "") if by_group else (toward_first, toward_second)
    axis, meaning = _axis_title(panels.n_columns, *toward, " towards the group →" * by_group)
    figure = panels.figure()
    for position, (group, name) in enumerate(keys):
        place = panels.place(position)
        inside = table[(table["group"] == group) & (table["panel"] == name)]
        sizes = inside.groupby("row").size().reindex(range(len(rows)), fill_value=0)
        first = bar_style(groups.index(group))["color"]
        _draw(figure, inside, first, AWAY if by_group else bar_style(1)["color"], place)
        small = '{}<br><span style="font-size:10px">{:,} word{}</span>'
        ticks = [
            small.format(*label, "s" * (label[1] != 1)) for label in zip(labels, sizes, strict=True)
        ]
        figure.update_yaxes(tickvals=sizes.index, ticktext=ticks, **place)
        empty = [{"x": 0, "y": row, "text": "  no projection"} for row in sizes.index[sizes == 0]]
        write(figure, empty, **place)
    # Room for the words at both ends.
    largest = float(table["projection"].abs().max()) if len(table) else 1.0
    limit = (1.45 if panels.n_columns == 1 else 1.8) * largest or 0.1
    figure.update_yaxes(range=[len(rows) - 0.45, -0.55], showgrid=False, showticklabels=True)
    figure.update_xaxes(range=[-limit, limit], tickformat=".2~f", nticks=9, tickangle=0)
    figure.update_xaxes(zeroline=True, title_text=axis)
    figure.update_layout(showlegend=False)
    heading = title or "Projections on the bias direction"
    if title is None:
        heading += f", {sets[0]}" * (of_models and len(sets) == 1) + f", {models[0]}" * (
            not of_models
        )
    notes = [
        "Box: middle half, with the median. Lines: 90 % of the words. Named: those at both ends.",
        *meaning,
    ]
    if "chance" in frame:
        notes.append("Grey: no clear direction, as three quarters of the frequent words.")
    return apply_layout(figure, heading, notes, panels.height, panels.title_px, footnotes=lost)


def _axis_title(
    n_columns: int, first: str = "", second: str = "", end: str = ""
) -> tuple[str, list[str]]:
    """Return the title of an axis, and a note with the groups whose names are cut in it."""
    most = 24 // n_columns + 2
    left = f"← {shortened(second, most)}    " if second else ""
    right = f"    {shortened(first, most)} →" if first else ""
    what = _COSINE if n_columns == 1 else "cosine"
    sides = {"left": second, "right": first}
    note = ", ".join(f"{side}: towards {name}" for side, name in sides.items() if name)
    is_cut = max(len(first), len(second)) > most
    return escape(f"{left}{what}{end}{right}"), [f"{note[:1].upper()}{note[1:]}."] * is_cut


def _draw(figure: go.Figure, words: pd.DataFrame, first: str, second: str, place: Any) -> None:
    """Draw boxes of words, sorted by projection, and points: all, or those at the ends."""
    of_row = words.groupby("row")["projection"]
    size, at = of_row.transform("size"), of_row.cumcount()
    boxes = (
        words[size >= _FEWEST_FOR_BOX].groupby("row")["projection"].quantile(_QUANTILES).unstack()
    )
    low, q1, median, q3, high = boxes.to_numpy().T.tolist() if len(boxes) else [[]] * 5
    figure.add_box(
        y=boxes.index,
        lowerfence=low,
        q1=q1,
        median=median,
        q3=q3,
        upperfence=high,
        orientation="h",
        name="",
        width=0.5,
        line={"width": 1},
        fillcolor="rgba(0,0,0,0)",
        **place,
    )
    towards = np.where(words["projection"] > 0, first, second)
    points = words.assign(
        x=words["projection"],
        colour=np.where(words["projection"].abs() <= words["chance"], AWAY, towards),
        # Neighbours get different heights, the same at each call.
        y=words["row"] + 0.44 * ((0.618 * at) % 1 - 0.5),
        text=[
            f" {escape(shortened(word, 18))} " if is_end else ""
            for word, is_end in zip(words["word"], (at == 0) | (at == size - 1), strict=True)
        ],
        side=np.where(at == 0, "middle left", "middle right"),
    )[(size <= _MOST_POINTS) | (at < 5) | (at >= size - 5)]
    marker = {"color": points["colour"].tolist(), "size": 6, "opacity": 0.8}
    template = "<b>{word}</b><br>{set}, {model}<br>{x:.3f}"
    add_points(figure, points, "", template, marker, textposition=[*points["side"]], **place)
