"""Horizontal bars: scores, ranks, and shares of the neighbours of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import check_choice
from wefe._visible import count
from wefe.plotting._reading import Reading, as_list, check_table, parts_of, score_hovers
from wefe.plotting._style import (
    add_marks,
    apply_layout,
    bar_style,
    colour_of,
    grid,
    hover,
    hover_texts,
    name_rows,
    offset,
    rows_px,
    shorten,
    shortened,
    tint,
    wrap,
    write,
)

if TYPE_CHECKING:
    from wefe.explore import WordPage

_BAND = {"symmetric": False, "width": 0, "thickness": 8, "color": "rgba(128, 128, 128, 0.45)"}


def plot_queries_results(
    results: pd.DataFrame, by: Literal["query", "model"] = "query"
) -> go.Figure:
    """Plot scores as grouped horizontal bars: the longer a bar, the more bias was measured.

    Bars start at the no-bias value (a line), or at 0 for an unknown metric. Grey bands contain 95 %
    of the scores expected without bias (with exchanged words). Bars that end within their band are
    hollow.

    Parameters
    ----------
    results : DataFrame
        Result of :func:`wefe.running.measure` for one metric and query set, which explains missing
        scores; or the matrix of :func:`wefe.running.run_queries`, with or without aggregates.
    by : {'query', 'model'}, default='query'
        What groups the bars; colours show the other one.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per model (or query), and one for its hollow bars. Hover over 'no value' for the
        reason.

    Examples
    --------
    >>> table = pd.DataFrame({"Math and Arts": [1.2, 0.1]}, index=["w2v", "glove"])
    >>> [trace.name for trace in plot_queries_results(table).data]
    ['w2v', 'glove']
    """
    series_by = {"query": "model", "model": "query"}[check_choice("by", by, ("query", "model"))]
    reading = Reading.of(results)
    table, (names, aggregation) = reading.table, reading.labels()
    known = table.fillna({"nan_reason": "the score is NaN"})
    rows = list(table[by].unique())
    table["hover"] = score_hovers(known, reading.metric or "score")
    table["row"], table["series"] = table[by].map(rows.index), table[series_by].map(names)
    labels = [wrap(names[row]) for row in rows]
    figure, (place,) = grid([""], rows_px(labels, table["series"].nunique()), 0)
    draw_bars(figure, table, place)
    for value in table["no_bias_value"].dropna().unique():
        figure.add_vline(value, line_width=1.5, annotation_text=f"no bias: {value:g}")
    figure.update_xaxes(title_text=wrap(reading.axis_title(), 60))
    name_rows(figure, labels, title_text=by.capitalize())
    figure.update_layout(showlegend=True, legend_title_text=series_by.capitalize())
    notes = {aggregation: aggregation, **reading.notes()}
    return apply_layout(figure, reading.title(), notes)


def draw_bars(figure: go.Figure, table: pd.DataFrame, place: dict[str, Any]) -> None:
    """Draw a bar per row and series; a grey band from `null_lower` to `null_upper` crosses each.

    Bars that end within their band are hollow.
    """
    n_series = table["series"].nunique()
    numbers = table.groupby("series", sort=False).ngroup()
    table = table.assign(
        y=table["row"] + offset(numbers, n_series),
        is_chance=table["score"].between(table["null_lower"], table["null_upper"]),
    )
    for position, (name, own) in enumerate(parts_of(table, "series")):
        # The legend shows the filled bars, if there are any.
        for is_chance, part in own.groupby("is_chance"):
            score = part["score"]
            # Both ends of the interval are relative to the end of the bar, the score.
            null = {"array": part["null_upper"] - score, "arrayminus": score - part["null_lower"]}
            # Bars without length are lines.
            marker = bar_style(position) | {"line": {"color": colour_of(position), "width": 2}}
            if is_chance:
                marker["color"] = tint(marker["color"])
            figure.add_bar(
                x=(score - part["start"]).tolist(),
                y=part["y"].tolist(),
                base=part["start"].tolist(),
                width=0.8 / n_series,
                orientation="h",
                error_x={**_BAND, **null},
                name=wrap(name, 30),
                legendgroup=name,
                marker=marker,
                **hover(part["hover"].tolist()),
                **place,
            )
    figure.update_layout(barmode="overlay")
    missing = table[table["score"].isna()].assign(text=" no value")
    missing = missing.rename(columns={"start": "x", "hover": "hovertext"})
    write(figure, missing[["x", "y", "text", "hovertext"]].to_dict("records"), **place)


def plot_ranking(ranking: pd.DataFrame, use_metric_as_facet: bool = False) -> go.Figure:
    """Plot the sum of ranks; the shortest bar is the best model (WEFE paper, figure 2).

    Parameters
    ----------
    ranking : DataFrame of shape (n_models, n_rankings)
        Result of :func:`wefe.ranking.create_ranking`; 1 is the best rank.
    use_metric_as_facet : bool, default=False
        Whether each column has its own panel instead of being stacked.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per column, the best model on top. Models without a rank come last.

    Examples
    --------
    >>> ranks = pd.DataFrame({"WEAT": [2, 1], "RND": [2, 1]}, index=["w2v", "glove"])
    >>> plot_ranking(ranks).layout.yaxis.ticktext
    ('glove', 'w2v')
    """
    table = best_first(ranking)
    models, columns = list(table.index), list(table.columns)
    short, aggregation = shorten(columns)
    labels, rows = list(map(wrap, models)), range(len(models))
    figure, places = grid(short if use_metric_as_facet else [""], rows_px(labels, 1), below_px=50)
    template = f"<b>{{model}}</b><br>{{ranking}}<br>rank {{x:g}} of {len(models)}"
    for position, (column, label) in enumerate(zip(columns, short, strict=True)):
        own = pd.DataFrame({"x": table[column], "y": rows, "model": models, "ranking": column})
        place = places[position * use_metric_as_facet]
        shown = own["x"].map("{:g}".format).replace("nan", "").tolist()
        look = {"textposition": "inside", "insidetextanchor": "middle", "textangle": 0}
        look |= {"text": shown, "orientation": "h", "marker": bar_style(position)}
        add_marks(figure, "bar", own, wrap(label, 30), template, **look, **place)
    lacks, totals = table.isna().any(axis=1), table.sum(axis=1)
    if use_metric_as_facet:
        longest, title = 1.05 * np.nanmax(table, initial=1), "Rank"
    else:
        texts = "<b>" + totals.map("{:g}".format).mask(lacks, "lacks a rank") + "</b>"
        sums = pd.DataFrame({"x": totals, "y": rows, "text": texts})
        write(figure, sums.to_dict("records"))
        # Leaves room for the text beside the longest stack.
        longest = 1.12 * totals.max()
        title = f"Sum of ranks over {count(len(columns), 'ranking')}"
    figure.update_xaxes(title_text=title, range=[0, float(max(longest, 1))])
    name_rows(figure, labels, title_text="" if use_metric_as_facet else "Model")
    figure.update_layout(
        barmode="stack",
        showlegend=not use_metric_as_facet,
        legend_title_text="Ranking",
        uniformtext={"mode": "hide", "minsize": 9},
    )
    notes = {
        "Rank 1 is the best: the longer a bar, the lower the position.": True,
        aggregation: aggregation,
        "Models that lack a rank stand last; their sums cannot be compared.": lacks.any(),
    }
    heading = f"Ranks of {count(len(models), 'model')} in {count(len(columns), 'ranking')}"
    return apply_layout(figure, heading, notes)


def best_first(ranking: pd.DataFrame) -> pd.DataFrame:
    """Check ranks and sort models by their sum; models without a rank come last."""
    table = check_table("ranking", ranking, "create_ranking", "models", "rankings")
    # Ranks may end in .5, because tied models may share the average of their ranks.
    possible = np.arange(2, 2 * len(table) + 1) / 2
    if not (table.isin(possible) | table.isna()).all(axis=None):
        raise ValueError(
            f"ranking must contain ranks from 1 to {len(table)}, with halves for ties. Turn scores "
            "into ranks with create_ranking, or plot them with plot_queries_results."
        )
    return table.iloc[np.lexsort((table.sum(axis=1), table.isna().any(axis=1)))]


def plot_group_shares(pages: Sequence[WordPage] | WordPage) -> go.Figure:
    """Plot the share of each group among the neighbours of words, and what chance would give.

    Parameters
    ----------
    pages : WordPage or sequence of WordPage
        Results of :func:`wefe.explore.word_page` with the same groups.

    Returns
    -------
    plotly.graph_objects.Figure
        One panel per model, one bar per word and group. Grey bands are intervals of random words;
        bars that end within them are hollow. Words say what they lean to: those of one
        model below their names, others on hover.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.explore import word_page
    >>> page = word_page(load_test_model(), "nurse", k=20)
    >>> [(bar.name, bar.x) for bar in plot_group_shares(page).data]
    [('female', (0.6,)), ('male', (0.0,))]
    """
    given: list[WordPage] = as_list(pages)
    groups = list(given[0].directions.groups)
    shares = {}
    for page in given:
        side = "leans to " * (page.leans_to in groups) + page.leans_to
        shares[page.model_name, page.word] = page.shares.loc[groups].assign(side=side)
    table = pd.concat(shares, names=["model", "word", "group"])
    models, words = (list(table.index.unique(level)) for level in ("model", "word"))
    cells = pd.MultiIndex.from_product([models, words, groups], names=table.index.names)
    table = table.reindex(cells).reset_index()
    template = (
        "<b>{word}</b>: {side}<br>{group}: {neighbors:.1%} of the neighbours<br>"
        "random words: {low:.1%} to {high:.1%}"
    )
    table = table.assign(
        start=0.0,
        hover=hover_texts(table, template),
        row=table["word"].map(words.index),
        series=table["group"],
    ).rename(columns={"neighbors": "score", "low": "null_lower", "high": "null_upper"})
    labels = [wrap(shortened(word)) for word in words]
    if len(models) == 1:
        for row, side in enumerate(table["side"][:: len(groups)]):
            labels[row] += f'<br><span style="font-size:10px">{wrap("word: " + side, 24)}</span>'
    panel_px = rows_px(labels, len(groups))
    figure, places = grid(models if len(models) > 1 else [""], panel_px, 54, abreast=2)
    for place, (_, own) in zip(places, parts_of(table, "model"), strict=True):
        draw_bars(figure, own, place)
    name_rows(figure, labels)
    # The last number of a panel would overlap the first one of the next.
    axis = {"range": [0, 1], "tickformat": ".0%", "tickvals": [0, 0.25, 0.5, 0.75]}
    figure.update_xaxes(title_text="Share of the neighbours", **axis)
    figure.update_layout(showlegend=True, legend_title_text="Lean to")
    heading = f"Which way the neighbours of {count(len(words), 'word')} lean"
    heading += f", {models[0]}" * (len(models) == 1)
    note = (
        "Grey band: 95 of 100 random words that are as frequent end within it. A hollow bar ends "
        "within its band: chance explains it."
    )
    return apply_layout(figure, heading, {note: table["null_lower"].notna().any()})
