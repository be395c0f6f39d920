"""Figures of words on a bias direction: the most extreme ones, and how word lists spread."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import check_sequence, found
from wefe.plotting._axes import Panels
from wefe.plotting._labels import CHARACTER_PX, at_most, count, escape, height_px, wrap
from wefe.plotting._places import place_labels
from wefe.plotting._style import BAR, FAINT, INK, bar_style, dress, pale, pointed_at, write

_COSINE = "cosine with the bias direction"
# Words that are all named, if there is room.
_FEW = 8
# Words that have a point each; more become a histogram.
_MOST_POINTS = 60
_MOST_BINS = 80
# A median of fewer words would hide one of them.
_FEWEST_FOR_MEDIAN = 5
_POINT_PX, _TICK_PX = 6, 26
# Characters of the words at both ends of a row.
_END_CHARACTERS = 18
# Colour of what leans away from a group.
AWAY = "#999999"


def check_frame(
    frame: object, texts: Sequence[str], numbers: Sequence[str], optional: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the columns of a table that a figure needs, texts as str and numbers as float64.

    Of `optional` texts, those that are there. Infinite numbers become NaN.
    """
    columns = [*texts, *numbers]
    if not isinstance(frame, pd.DataFrame):
        wanted = ", ".join(columns)
        raise TypeError(f"frame must be a DataFrame with the columns {wanted}; got {found(frame)}.")
    if frame.empty:
        raise ValueError(f"frame has shape {frame.shape}; there is nothing to plot.")
    lacking = [column for column in columns if column not in frame.columns]
    if lacking:
        raise ValueError(
            f"frame must have the columns {', '.join(columns)}; it lacks {', '.join(lacking)}. "
            f"Its columns are {', '.join(map(str, frame.columns))}."
        )
    texts = [*texts, *(column for column in optional if column in frame.columns)]
    checked = pd.DataFrame({column: [str(text) for text in frame[column]] for column in texts})
    for column in numbers:
        try:
            values = frame[column].astype(np.float64).to_numpy()
        except (TypeError, ValueError):
            first = frame[column].iloc[0]
            raise ValueError(f"column {column!r} must hold numbers; got {found(first)}.") from None
        checked[column] = np.where(np.isfinite(values), values, np.nan)
    return checked


def check_groups(groups: Sequence[str] | None, frame: pd.DataFrame) -> list[str]:
    """Return the groups in the order of their colours: as given, as in `attrs`, or as in rows."""
    seen = list(dict.fromkeys(map(str, frame["group"])))
    noted = list(map(str, frame.attrs.get("groups", ())))
    if groups is None:
        return noted if set(seen) <= set(noted) else seen
    names = [str(name) for name in check_sequence("groups", groups)]
    unknown = sorted(set(seen) - set(names))
    if unknown:
        raise ValueError(
            f"groups must name every group of the frame; it lacks {', '.join(unknown)}."
        )
    return names


def shortened(word: str, most: int = 24) -> str:
    """Cut a word of a vocabulary, which may be a whole URL; where it is pointed at, it is whole."""
    return word if len(word) <= most else word[: most - 1] + "…"


def in_full(word: str) -> str:
    """Return a word for where it is pointed at: whole, unless that would fill the page."""
    return f"<b>{wrap(shortened(word, 300), 60)}</b>"


def left_out(words: Sequence[str], what: str) -> list[str]:
    """Say which words are not in a figure."""
    if not len(words):
        return []
    names = ", ".join(at_most([shortened(word) for word in dict.fromkeys(words)]))
    return [f"Left out, as there is no {what}: {names}."]


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
    Words without a projection are left out, and named below the figure. Long words are cut; they
    stand in full where they are pointed at.

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
    lost = left_out(list(table["word"][missing]), "projection")
    table = table[~missing].sort_values("rank", kind="stable")
    facing = len(shown) == 2
    parts = dict(iter(table.groupby(["model", "group"], sort=False)))
    n_rows = max((len(part) for part in parts.values()), default=1)
    titles = [
        ", ".join([model] * (len(models) > 1) + members * (len(members) == 1 < len(shown)))
        for model, members in _panels_of(models, shown)
    ]
    # A row per model where its groups fit into one.
    abreast = 2 if len(shown) <= 2 else len(shown) if len(shown) in (3, 4) else 3
    panels = Panels(titles, 18 * n_rows + 12, below_px=54, left_px=24, abreast=abreast)
    axis, meaning = _axis_title(panels.characters, *(shown if facing else ("", "", " →")))
    more_px = panels.make_room(axis)
    characters = max(12, 80 // panels.n_columns // (2 if facing else 1))
    figure = panels.figure()
    for position, (model, members) in enumerate(_panels_of(models, shown)):
        place = panels.place(position)
        for group in members:
            side = -1 if facing and group == shown[1] else 1
            colour = bar_style(shown.index(group))["color"]
            part = parts.get((model, group))
            if part is None:
                ends: dict[str, Any] = {"xanchor": "right" if side < 0 else "left"}
                write(figure, 0, 0, " no words ", **ends, **place)
            else:
                _draw_extremes(figure, part, group, side, colour, characters, place)
        figure.add_vline(0, line={"color": INK, "width": 1}, **place)
    high = 1.05 * float(table["projection"].abs().max()) if len(table) else 1.0
    low = high if facing else max(0.0, -1.05 * float(table["projection"].min() or 0))
    figure.update_xaxes(range=[-low, high or 0.1], tickformat=".2~f", nticks=7)
    figure.update_yaxes(range=[n_rows - 0.4, -0.6], showticklabels=False, showgrid=False)
    figure.update_layout(barmode="overlay", bargap=0.15, showlegend=False)
    figure.update_xaxes(title_text=axis)
    heading = title or f"Words that lean most to {'each group' if len(shown) > 1 else shown[0]}"
    if title is None and len(models) == 1:
        heading += f", {models[0]}"
    notes = ["Bars: cosine with the bias direction towards the group; rank 1 on top.", *meaning]
    return dress(
        figure, heading, notes, panels.height, panels.title_px, 60 + more_px, footnotes=lost
    )


def _panels_of(models: Sequence[str], groups: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the model and the groups of each panel."""
    for model in models:
        if len(groups) == 2:
            yield model, list(groups)
        else:
            yield from ((model, [group]) for group in groups)


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
        # Pale enough for a text upon it, on light and on dark paper.
        marker={"color": pale(colour, BAR), "line": {"color": colour, "width": 1}},
        **pointed_at(hovers),
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
        that the projection is towards.
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
        with points for the words at both ends. The words at both ends are named; of up to 8 words,
        all that have room. A tick is the median of 5 words and more.

    Raises
    ------
    TypeError
        If `frame` is no DataFrame.
    ValueError
        If it is empty, or lacks one of the columns.

    Notes
    -----
    Colours are those of the group on whose side of 0 a word lies, however near to it. Each
    histogram is scaled to its highest bar. Words without a projection are left out, and named.

    Examples
    --------
    >>> rows = [("w2v", "jobs", "nurse", 0.4), ("w2v", "jobs", "pilot", -0.3)]
    >>> table = pd.DataFrame(rows, columns=["model", "set", "word", "projection"])
    >>> figure = plot_projections(table, toward_first="female", toward_second="male")
    >>> figure.layout.xaxis.title.text
    '← male    cosine with the bias direction    female →'
    """
    table = check_frame(frame, ("model", "set", "word"), ("projection",), optional=("group",))
    by_group = "group" in table and table["group"].nunique() > 1
    if "group" not in table:
        table["group"] = ""
    models, sets = (list(dict.fromkeys(table[key])) for key in ("model", "set"))
    groups = check_groups(None, frame) if by_group else list(table["group"].unique())
    noted = list(map(str, frame.attrs.get("groups", ())))
    if len(noted) == 2:
        toward_first, toward_second = toward_first or noted[0], toward_second or noted[1]
    missing = table["projection"].isna()
    lost = left_out(list(table["word"][missing]), "projection")
    table = table[~missing]
    of_models = len(models) > 1
    rows, what = (models, "model") if of_models else (sets, "set")
    # A panel is what is no row: groups, and word lists if rows are models.
    keys = [(group, name) for group in groups for name in (sets if of_models else [""])]
    names = [
        ", ".join([f"towards {group}"] * by_group + [name] * (of_models and len(sets) > 1))
        for group, name in keys
    ]
    labels = [wrap(row, 26) for row in rows]
    sizes = table.groupby(["group", "model", "set"]).size()
    most_named = int(sizes[sizes <= _FEW].max()) if (sizes <= _FEW).any() else 0
    row_px = max(52, height_px(labels) + 26, 28 + 8 * most_named)
    panel_px = row_px * len(rows) + 8
    panels = Panels(names, panel_px, 56, left_px=200, abreast=1 if len(keys) <= 3 else 2)
    toward = ("", "") if by_group else (toward_first, toward_second)
    end = " towards the group →" if by_group else ""
    axis, meaning = _axis_title(panels.characters, *toward, end)
    more_px = panels.make_room(axis)
    figure = panels.figure()
    largest = float(table["projection"].abs().max()) if len(table) else 1.0
    # Room for the words at both ends.
    limit = (1.45 if panels.n_columns == 1 else 1.8) * largest or 0.1
    # Pixels of a cosine of 1, and of a row.
    scale_px = panels.characters * CHARACTER_PX / (2 * limit), panel_px / (len(rows) + 0.1)
    biggest = 0
    for position, (group, name) in enumerate(keys):
        place = panels.place(position)
        inside = table["group"] == group
        if of_models:
            inside &= table["set"] == name
        ticks = []
        first = bar_style(groups.index(group))["color"]
        second = AWAY if by_group else bar_style(1)["color"]
        for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
            part = table[inside & (table[what] == row)].sort_values("projection", kind="stable")
            ticks.append(label)
            biggest = max(biggest, len(part))
            if len(part):
                _draw_row(figure, number, row, part, (first, second), scale_px, place)
            else:
                write(figure, 0, number, "  no projection", **place)
            of_row = count(len(part), "word") if len(part) < 1000 else f"{len(part):,} words"
            ticks[-1] += f'<br><span style="font-size:10px;color:{FAINT}">{of_row}</span>'
        figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=ticks, **place)
    figure.update_yaxes(range=[len(rows) - 0.45, -0.55], showgrid=False, showticklabels=True)
    figure.update_xaxes(range=[-limit, limit], tickformat=".2~f", nticks=9, tickangle=0)
    figure.update_xaxes(zeroline=True, zerolinecolor=INK, zerolinewidth=1)
    figure.update_xaxes(title_text=axis)
    figure.update_layout(barmode="overlay", showlegend=False)
    heading = title or "Projections on the bias direction"
    if title is None:
        heading += f", {sets[0]}" if of_models and len(sets) == 1 else ""
        heading += f", {models[0]}" if not of_models else ""
    notes = [
        f"Tick: median. Named: the words at both ends, and more of up to {_FEW}, if there is room.",
        *meaning,
    ]
    if biggest > _MOST_POINTS:
        notes.append(f"More than {_MOST_POINTS} words: a histogram, scaled to its highest bar.")
    return dress(
        figure, heading, notes, panels.height, panels.title_px, 60 + more_px, footnotes=lost
    )


def _axis_title(
    characters: int, first: str = "", second: str = "", end: str = ""
) -> tuple[str, list[str]]:
    """Return the title of an axis, and in a note the names of groups that are cut in it.

    Names that have no room beside the title get a line of their own.
    """
    left, right = f"← {second}    " * bool(second), f"    {first} →" * bool(first)
    for what in (_COSINE, "cosine"):
        line = f"{left}{what}{end}{right}"
        if len(line) <= characters:
            return escape(line), []
    named = [(side, name) for side, name in (("left", second), ("right", first)) if name]
    most = max(8, (characters - 8) // max(1, len(named)))
    cut = [shortened(name, most) for _, name in named]
    arrows = {"left": "← {}", "right": "{} →"}
    line = "    ".join(
        arrows[side].format(name) for (side, _), name in zip(named, cut, strict=True)
    )
    whole = ", ".join(f"{side}: towards {name}" for side, name in named)
    what = _COSINE if len(_COSINE) <= characters else "cosine"
    note = [] if cut == [name for _, name in named] else [f"{whole[0].upper()}{whole[1:]}."]
    return f"{what}<br>{escape(line)}", note


def _draw_row(
    figure: go.Figure,
    number: int,
    name: str,
    part: pd.DataFrame,
    colours: tuple[str, str],
    scale_px: tuple[float, float],
    place: dict[str, Any],
) -> None:
    """Draw the words of a row, which are sorted; name the first and the last one, or all."""
    values, words = part["projection"].to_numpy(), list(part["word"])
    many = len(words) > _MOST_POINTS
    ends = [*range(5), *range(len(words) - 5, len(words))] if many else list(range(len(words)))
    if many:
        _draw_histogram(figure, number, values, colours, place)
        heights = np.full(len(ends), number + 0.34)
    else:
        # Neighbours stand at different heights, the same ones at each call.
        spread = 0.7 if len(words) <= _FEW else 0.44
        heights = number + spread * ((0.618 * np.arange(len(words))) % 1 - 0.5)
    labels = [shortened(words[i], _END_CHARACTERS) for i in ends]
    sides = {0: "middle left", len(ends) - 1: "middle right"}
    if len(words) <= _FEW:
        sides = _named(values, heights - number, labels, scale_px)
    texts = [escape(label) if i in sides else "" for i, label in enumerate(labels)]
    for i, side in sides.items():
        # A little farther from the point.
        if side.startswith("middle"):
            texts[i] = f" {texts[i]}" if side.endswith("right") else f"{texts[i]} "
    figure.add_scatter(
        x=values[ends].tolist(),
        y=heights.tolist(),
        mode="markers+text",
        name=wrap(name, 30),
        marker={
            "color": [colours[0] if values[i] >= 0 else colours[1] for i in ends],
            "size": _POINT_PX,
            "opacity": 0.8,
        },
        text=texts,
        textposition=[sides.get(i, "middle right") for i in range(len(ends))],
        cliponaxis=False,
        textfont={"size": 11},
        **pointed_at([f"{in_full(words[i])}<br>{wrap(name)}<br>{values[i]:.3f}" for i in ends]),
        **place,
    )
    if len(words) < _FEWEST_FOR_MEDIAN:
        return
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    hover = (
        f"<b>{wrap(name)}</b>, {count(len(words), 'word')}<br>median {median:.3f}<br>"
        f"middle half: {low:.3f} to {high:.3f}<br>all: {values[0]:.3f} to {values[-1]:.3f}"
    )
    figure.add_scatter(
        x=[float(median)],
        y=[number],
        mode="markers",
        name="median",
        marker={"symbol": "line-ns", "size": _TICK_PX, "line": {"color": INK, "width": 2}},
        **pointed_at([hover]),
        **place,
    )


def _named(
    values: npt.NDArray[np.float64],
    heights: npt.NDArray[np.float64],
    labels: Sequence[str],
    scale_px: tuple[float, float],
) -> dict[int, str]:
    """Return the sides of the labels of few words: both ends, and what has room besides."""
    last, half = len(labels) - 1, scale_px[1] / 2
    points = [
        (float(x), float(-y))
        for x, y in zip(values * scale_px[0], heights * scale_px[1], strict=True)
    ]
    sizes = [float(_POINT_PX)] * len(points)
    if len(labels) >= _FEWEST_FOR_MEDIAN:
        middle = float(np.median(values)) * scale_px[0]
        points += [(middle, y) for y in (-_TICK_PX / 3, 0.0, _TICK_PX / 3)]
        sizes += [_TICK_PX / 3] * 3
    return place_labels(
        points,
        labels,
        dict.fromkeys([0, last, *range(last)]),
        sizes,
        within=(-math.inf, -half, math.inf, half),
        always={0, last},
        first={0: "middle left"} if last else {},
    )


def _draw_histogram(
    figure: go.Figure,
    number: int,
    values: npt.NDArray[np.float64],
    colours: tuple[str, str],
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
        marker={
            "color": [colours[0] if middle > 0 else colours[1] for middle in middles],
            "line": {"width": 0},
        },
        customdata=counts.tolist(),
        **pointed_at(hovers),
        **place,
    )
