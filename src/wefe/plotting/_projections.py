"""Figures of words on a bias direction: the most extreme ones, and how word lists spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from wefe.plotting._axes import Panels
from wefe.plotting._labels import count, escape, height_px, in_full, left_out, shortened, wrap
from wefe.plotting._style import PALETTE, apply_layout, bar_style, hover, tint, write
from wefe.plotting._table import check_frame, check_groups

_COSINE = "cosine with the bias direction"
# Words that have a point each; more become a histogram.
_MOST_POINTS = 60
_MOST_BINS = 80
# A median of fewer words would hide one of them.
_FEWEST_FOR_MEDIAN = 5
# Colour of what leans away from a group.
AWAY = PALETTE[-1]


def plot_extremes(
    frame: pd.DataFrame, *, title: str | None = None, groups: Sequence[str] | None = None
) -> go.Figure:
    """Plot the words that lean most to each group.

    Parameters
    ----------
    frame : DataFrame
        A row per word: 'model', 'group', 'rank' (1 leans most), 'word', and 'projection', the
        cosine with the bias direction towards the group, in [-1, 1].
    title : str, optional
        Without one the figure says what is shown.
    groups : sequence of str, optional
        All groups, in the order of their colours; by default `frame.attrs['groups']`, or else the
        order of the rows.

    Returns
    -------
    plotly.graph_objects.Figure
        Of two groups: a panel per model, the words of the first group to the right of 0, those of
        the second to the left, rank 1 on top. Of others: a panel per model and group. All panels
        have the same axis.

    Raises
    ------
    TypeError
        If `frame` is no DataFrame.
    ValueError
        If it is empty, or lacks one of the columns.

    Notes
    -----
    Words without a projection are left out, and named below the figure. Long words are cut; you
    see them in full on hover.

    Examples
    --------
    >>> rows = [("w2v", "female", 1, "nurse", 0.4), ("w2v", "male", 1, "pilot", 0.3)]
    >>> columns = ["model", "group", "rank", "word", "projection"]
    >>> figure = plot_extremes(pd.DataFrame(rows, columns=columns))
    >>> [(trace.name, trace.x) for trace in figure.data if trace.type == "bar"]
    [('female', (0.4,)), ('male', (-0.3,))]
    """
    table = check_frame(frame, ("model", "group", "word"), ("rank", "projection"))
    shown = check_groups(groups, frame)
    models = list(dict.fromkeys(table["model"]))
    missing = table["projection"].isna()
    lost = left_out(table["word"][missing], "projection")
    table = table[~missing].sort_values("rank", kind="stable")
    facing = len(shown) == 2
    n_rows = int(table.groupby(["model", "group"]).size().max()) if len(table) else 1
    # Two groups face each other in one panel.
    members = [shown] if facing else [[group] for group in shown]
    keys = [(model, some) for model in models for some in members]
    titles = [
        ", ".join([model] * (len(models) > 1) + some * (len(some) == 1 < len(shown)))
        for model, some in keys
    ]
    # A row per model where its groups fit into one.
    abreast = 2 if len(shown) <= 2 else len(shown) if len(shown) in (3, 4) else 3
    panels = Panels(titles, 18 * n_rows + 12, below_px=54, abreast=abreast)
    axis, meaning = _axis_title(panels.n_columns, *(shown if facing else ("", "", " →")))
    characters = max(12, 80 // panels.n_columns // (2 if facing else 1))
    figure = panels.figure()
    for position, (model, some) in enumerate(keys):
        place = panels.place(position)
        for group in some:
            side = -1 if facing and group == shown[1] else 1
            part = table[(table["model"] == model) & (table["group"] == group)]
            colour = bar_style(shown.index(group))["color"]
            _draw_extremes(figure, part, group, side, colour, characters, place)
        figure.add_vline(0, **place)
    high = 1.05 * float(table["projection"].abs().max()) if len(table) else 1.0
    low = high if facing else max(0.0, -1.05 * float(table["projection"].min() or 0))
    figure.update_xaxes(range=[-low, high or 0.1], tickformat=".2~f", nticks=7, title_text=axis)
    figure.update_yaxes(range=[n_rows - 0.4, -0.6], showticklabels=False, showgrid=False)
    figure.update_layout(barmode="overlay", bargap=0.15, showlegend=False)
    heading = title or f"Words that lean most to {'each group' if len(shown) > 1 else shown[0]}"
    if title is None and len(models) == 1:
        heading += f", {models[0]}"
    notes = ["Bars: cosine with the bias direction towards the group; rank 1 on top.", *meaning]
    return apply_layout(figure, heading, notes, panels.height, panels.title_px, footnotes=lost)


def _draw_extremes(
    figure: go.Figure,
    part: pd.DataFrame,
    group: str,
    side: int,
    colour: str,
    characters: int,
    place: dict[str, Any],
) -> None:
    """Draw the bars of a group and write its words over them, from 0 on."""
    if part.empty:
        write(figure, 0, 0, " no words ", xanchor="right" if side < 0 else "left", **place)
        return
    rows = list(range(len(part)))
    hovers = [
        f"{in_full(word)}<br>{wrap(group, 60)}, rank {rank:g}<br>{_COSINE}: {value:.3f}"
        for word, rank, value in zip(part["word"], part["rank"], part["projection"], strict=True)
    ]
    figure.add_bar(
        x=(side * part["projection"]).tolist(),
        y=rows,
        orientation="h",
        name=wrap(group, 30),
        # See-through, for a text upon it on light and on dark paper.
        marker={"color": tint(colour, 0.45), "line": {"color": colour, "width": 1}},
        **hover(hovers),
        **place,
    )
    figure.add_scatter(
        x=[0] * len(rows),
        y=rows,
        mode="text",
        text=[f" {escape(shortened(word, characters))} " for word in part["word"]],
        textposition="middle left" if side < 0 else "middle right",
        hoverinfo="skip",
        **place,
    )


def plot_projections(
    frame: pd.DataFrame,
    *,
    title: str | None = None,
    toward_first: str = "",
    toward_second: str = "",
) -> go.Figure:
    """Plot how the projections of word lists on a bias direction spread.

    Parameters
    ----------
    frame : DataFrame
        A row per word: 'model', 'set' (name of the word list), 'word', and 'projection', its
        cosine with the bias direction, in [-1, 1]. Of more than two groups also 'group', the one
        that the projection is towards. It may have 'chance': words that lie no farther from 0 have
        no clear direction, and are grey.
    title : str, optional
        Without one the figure says what is shown.
    toward_first, toward_second : str, default=''
        The group towards which positive projections lean, and negative ones; by default the two
        of `frame.attrs['groups']`, if it has two.

    Returns
    -------
    plotly.graph_objects.Figure
        Of one model: a row per word list. Of several: a panel per word list with a row per model.
        With 'group': a panel per group. Up to 60 words have a point each, more become a histogram
        with points for the words at both ends. The words at both ends are named; the other points
        show their word on hover. A tick is the median of 5 words and more.

    Raises
    ------
    TypeError
        If `frame` is no DataFrame.
    ValueError
        If it is empty, or lacks one of the columns.

    Notes
    -----
    Colours are those of the group on whose side of 0 a word lies, beyond 'chance'. Each histogram
    is scaled to its highest bar. Words without a projection are left out, and named.

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
    by_group = "group" in table and table["group"].nunique() > 1
    if "group" not in table:
        table["group"] = ""
    models, sets = (list(dict.fromkeys(table[key])) for key in ("model", "set"))
    groups = check_groups(None, frame) if by_group else list(table["group"].unique())
    noted = list(map(str, frame.attrs.get("groups", ())))
    if len(noted) == 2:
        toward_first, toward_second = toward_first or noted[0], toward_second or noted[1]
    missing = table["projection"].isna()
    lost = left_out(table["word"][missing], "projection")
    table = table[~missing].sort_values("projection", kind="stable")
    of_models = len(models) > 1
    rows, what = (models, "model") if of_models else (sets, "set")
    # A panel is what is no row: groups, and word lists if rows are models.
    keys = [(group, name) for group in groups for name in (sets if of_models else [""])]
    names = [
        ", ".join([f"towards {group}"] * by_group + [name] * (of_models and len(sets) > 1))
        for group, name in keys
    ]
    labels = [wrap(row, 26) for row in rows]
    panel_px = max(52, height_px(labels) + 26) * len(rows) + 8
    panels = Panels(names, panel_px, 56, abreast=1 if len(keys) <= 3 else 2)
    toward = ("", "") if by_group else (toward_first, toward_second)
    end = " towards the group →" if by_group else ""
    axis, meaning = _axis_title(panels.n_columns, *toward, end)
    figure = panels.figure()
    largest = float(table["projection"].abs().max()) if len(table) else 1.0
    # Room for the words at both ends.
    limit = (1.45 if panels.n_columns == 1 else 1.8) * largest or 0.1
    notes = ["Tick: median. Named: the words at both ends.", *meaning]
    if "chance" in table:
        notes.append("Grey: no clear direction, as three quarters of the frequent words.")
    table = table.assign(chance=table.get("chance", 0.0))
    sizes = table.groupby(["group", "model", "set"]).size()
    if sizes.max() > _MOST_POINTS:
        notes.append(f"More than {_MOST_POINTS} words: a histogram, scaled to its highest bar.")
    for position, (group, name) in enumerate(keys):
        place = panels.place(position)
        inside = (table["group"] == group) & (not of_models or table["set"] == name)
        first = bar_style(groups.index(group))["color"]
        second = AWAY if by_group else bar_style(1)["color"]
        ticks = []
        for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
            part = table[inside & (table[what] == row)]
            of_row = f"{len(part):,} word" + "s" * (len(part) != 1)
            ticks.append(f'{label}<br><span style="font-size:10px">{of_row}</span>')
            _draw_row(figure, number, row, part, (first, second), place)
        figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=ticks, **place)
    figure.update_yaxes(range=[len(rows) - 0.45, -0.55], showgrid=False, showticklabels=True)
    figure.update_xaxes(range=[-limit, limit], tickformat=".2~f", nticks=9, tickangle=0)
    figure.update_xaxes(zeroline=True, title_text=axis)
    figure.update_layout(barmode="overlay", showlegend=False)
    heading = title or "Projections on the bias direction"
    if title is None:
        heading += f", {sets[0]}" if of_models and len(sets) == 1 else ""
        heading += f", {models[0]}" if not of_models else ""
    return apply_layout(figure, heading, notes, panels.height, panels.title_px, footnotes=lost)


def _axis_title(
    n_columns: int, first: str = "", second: str = "", end: str = ""
) -> tuple[str, list[str]]:
    """Return the title of an axis, and in a note the names of groups that are cut in it."""
    most = 24 // n_columns + 2
    left = f"← {shortened(second, most)}    " if second else ""
    right = f"    {shortened(first, most)} →" if first else ""
    what = _COSINE if n_columns == 1 else "cosine"
    named = [
        f"{side}: towards {name}" for side, name in (("left", second), ("right", first)) if name
    ]
    is_cut = max(len(first), len(second)) > most
    note = ", ".join(named)
    note = f"{note[:1].upper()}{note[1:]}."
    return escape(f"{left}{what}{end}{right}"), [note] * is_cut


def _draw_row(
    figure: go.Figure,
    number: int,
    name: str,
    part: pd.DataFrame,
    colours: tuple[str, str],
    place: dict[str, Any],
) -> None:
    """Draw the words of a row, which are sorted; name the first and the last one."""
    if part.empty:
        write(figure, 0, number, "  no projection", **place)
        return
    chance = float(part["chance"].iloc[0])
    # Neighbours stand at different heights, the same ones at each call.
    heights = number + 0.44 * ((0.618 * np.arange(len(part))) % 1 - 0.5)
    ends = part
    if len(part) > _MOST_POINTS:
        _draw_histogram(figure, number, part["projection"].to_numpy(), (*colours, chance), place)
        ends = pd.concat([part[:5], part[-5:]])
        heights = np.full(len(ends), number + 0.34)
    texts = [""] * len(ends)
    texts[0] = f"{escape(shortened(ends['word'].iloc[0], 18))} "
    if len(ends) > 1:
        texts[-1] = f" {escape(shortened(ends['word'].iloc[-1], 18))}"
    hovers = [
        f"{in_full(word)}<br>{wrap(name)}<br>{value:.3f}"
        for word, value in zip(ends["word"], ends["projection"], strict=True)
    ]
    figure.add_scatter(
        x=ends["projection"].tolist(),
        y=heights.tolist(),
        mode="markers+text",
        name=wrap(name, 30),
        marker={
            "color": [_colour(value, *colours, chance) for value in ends["projection"]],
            "size": 6,
            "opacity": 0.8,
        },
        text=texts,
        textposition=["middle left"] + ["middle right"] * (len(ends) - 1),
        cliponaxis=False,
        textfont={"size": 11},
        **hover(hovers),
        **place,
    )
    if len(part) < _FEWEST_FOR_MEDIAN:
        return
    least, low, median, high, most = part["projection"].quantile([0, 0.25, 0.5, 0.75, 1])
    text = (
        f"<b>{wrap(name)}</b>, {count(len(part), 'word')}<br>median {median:.3f}<br>"
        f"middle half: {low:.3f} to {high:.3f}<br>all: {least:.3f} to {most:.3f}"
    )
    figure.add_scatter(
        x=[median],
        y=[number],
        mode="markers",
        name="median",
        marker={"symbol": "line-ns", "size": 26, "line": {"width": 2}},
        **hover([text]),
        **place,
    )


def _colour(value: float, first: str, second: str, chance: float) -> str:
    if abs(value) <= chance:
        return AWAY
    return first if value > 0 else second


def _draw_histogram(
    figure: go.Figure,
    number: int,
    values: npt.NDArray[np.float64],
    colours: tuple[str, str, float],
    place: dict[str, Any],
) -> None:
    """Draw upwards how many words lie where; no bin lies on both sides of 0."""
    width = float(np.diff(np.histogram_bin_edges(values, "fd")[:2])[0])
    width = max(width, float(np.ptp(values)) / _MOST_BINS, 1e-6)
    edges = width * np.arange(np.floor(values[0] / width), np.floor(values[-1] / width) + 2)
    counts = np.histogram(values, edges)[0]
    middles = (edges[1:] + edges[:-1]) / 2
    hovers = [
        f"{low:.3f} to {high:.3f}<br>{count(int(n), 'word')}"
        for low, high, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    figure.add_bar(
        x=middles.tolist(),
        y=(-0.75 * counts / counts.max()).tolist(),
        base=number + 0.34,
        width=width,
        marker={"color": [_colour(middle, *colours) for middle in middles], "line": {"width": 0}},
        customdata=counts.tolist(),
        **hover(hovers),
        **place,
    )
