"""Horizontal bars: scores, ranks, and shares of the neighbours of words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import check_choice
from wefe._visible import count
from wefe.explore._directions import NO_CLEAR_DIRECTION
from wefe.plotting._reading import (
    SIGNIFICANT,
    Reading,
    check_frame,
    check_groups,
    check_table,
    parts_of,
    score_hovers,
)
from wefe.plotting._style import (
    PALETTE,
    Rows,
    add_marks,
    apply_layout,
    at,
    at_most,
    bar_style,
    grid,
    hover,
    hover_texts,
    mark_no_bias,
    shorten,
    shortened,
    stacked,
    tint,
    wrap,
    write,
)

DOT = "●"


def plot_queries_results(
    results: pd.DataFrame, by: Literal["query", "model"] = "query"
) -> go.Figure:
    """Plot scores as grouped horizontal bars: the longer a bar, the more bias was measured.

    Bars start at the no-bias value (a line), or at 0 for an unknown metric. Dots are bars too short
    to see. Hollow bars have p > 0.05, unless a one-sided test misses that they are strong in the
    opposite direction, which a note counts. Lines across bars contain 95 % of the scores expected
    without bias (with exchanged words).

    Parameters
    ----------
    results : DataFrame
        Result of :func:`wefe.running.measure` for one metric and query set, which explains missing
        scores; or the matrix of :func:`wefe.running.run_queries`. An aggregated column is set
        apart, on its own axis if its no-bias value differs.
    by : {'query', 'model'}, default='query'
        What groups the bars; colours show the other one.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per model (or query) and axis, and one for its hollow bars. Letters refer from
        missing scores to the reasons below.

    Examples
    --------
    >>> table = pd.DataFrame({"Math and Arts": [1.2, 0.1]}, index=["w2v", "glove"])
    >>> [trace.name for trace in plot_queries_results(table).data]
    ['w2v', 'glove']
    """
    series_by = {"query": "model", "model": "query"}[check_choice("by", by, ("query", "model"))]
    reading = Reading.of(results)
    table, (names, aggregation) = reading.table, reading.labels()
    table["text"], footnotes = reading.reasons()
    known = table.fillna({"nan_reason": "the score is NaN"})
    table["hover"] = score_hovers(known, reading.metric or "score")
    # The summary of all queries is emphasised.
    has_summary = reading.aggregation and len(reading.queries) > 1
    last = reading.queries[-1] if has_summary else None
    labels = {name: wrap(label) for name, label in names.items()}
    if last is not None:
        labels[last] = f"<b>{labels[last]}</b>"
    parts = [part for _, part in parts_of(table, "axis")]
    rows = [Rows([*part[by].unique()], labels, part[series_by].nunique()) for part in parts]
    figure = stacked([bars.height for bars in rows], 90, 20)
    for row, (part, bars) in enumerate(zip(parts, rows, strict=True), 1):
        for position, (name, own) in enumerate(parts_of(part, series_by)):
            # The template draws what has no style, here the summary of models, in ink.
            style = {} if name == last else bar_style(position)
            draw_series(figure, own, bars, position, style, (name, names[name]), at(row))
        mark_no_bias(figure, part["no_bias_value"].iloc[0], **at(row))
        figure.update_xaxes(title_text=wrap(reading.axis_title(part), 60), **at(row))
        bars.apply(figure, **at(row))
    figure.update_yaxes(title_text=by.capitalize(), row=1)
    if last in rows[0].names and len(parts) == 1:
        edges = {"y0": len(reading.queries) - 1.5, "y1": len(reading.queries) - 0.5}
        figure.add_hrect(**edges, fillcolor=tint(PALETTE[-1]), line_width=0, layer="below")
    if table["hollow"].any():
        meaning = wrap(f"p > {SIGNIFICANT} ({reading.test()})", 30)
        grey, first = _outline({"color": PALETTE[-1]}), rows[0].names[:1]
        figure.add_bar(x=[None], y=first, name=meaning, marker=grey, offsetgroup=name)
    values = " or ".join(table["start"][table["dot"]].map("{:g}".format).unique())
    notes = reading.notes() | {
        aggregation: aggregation,
        f"{DOT} A score of {values}, or too near to it for a bar to be seen.": values,
    }
    legend_title = series_by.capitalize()
    figure.update_layout(barmode="group", showlegend=True, legend_title_text=legend_title)
    return apply_layout(figure, reading.title(), notes, footnotes=footnotes)


def draw_series(
    figure: go.Figure,
    own: pd.DataFrame,
    bars: Rows,
    position: int,
    style: dict[str, Any],
    names: tuple[str, str],
    place: dict[str, Any],
) -> None:
    """Draw one series of bars, with dots for invisible bars; `names`: its key and legend entry."""
    length = own["score"] - own["start"]
    null = {
        "array": own["null_upper"] - own["score"],
        "arrayminus": own["score"] - own["null_lower"],
    }
    for is_hollow in (False, True)[: 1 + own["hollow"].any()]:
        figure.add_bar(
            x=length.astype(object).where(own["hollow"] == is_hollow, None).tolist(),
            y=bars.names,
            base=own["start"].iloc[0],
            orientation="h",
            # Both ends of the interval are relative to the end of the bar, the score.
            error_x={"type": "data", "symmetric": False, "width": 0, "thickness": 2, **null},
            name=wrap(names[1], 30),
            legendgroup=names[0],
            offsetgroup=names[0],
            # Bars on their own axis do not share their space with others.
            alignmentgroup=str(place),
            marker=_outline(style) if is_hollow else style,
            showlegend=False if is_hollow else None,
            **hover(own["hover"].tolist()),
            **place,
        )
    notes = own.assign(
        x=own["start"], y=bars.centre(np.arange(len(own)), position), hovertext=own["hover"]
    )[["x", "y", "text", "hovertext"]]
    write(figure, notes[own["score"].isna()].to_dict("records"), font=bars.font, **place)
    font = {"size": 1.8 * bars.font["size"], "color": style.get("color")}
    dots = notes[own["dot"]].assign(text=DOT).to_dict("records")
    write(figure, dots, xanchor="center", font=font, **place)


def _outline(style: dict[str, Any]) -> dict[str, Any]:
    colour = style["color"]
    pattern = {**style.get("pattern", {}), "fgcolor": colour}
    return {"color": tint(colour), "line": {"color": colour, "width": 1.5}, "pattern": pattern}


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
    >>> plot_ranking(ranks).layout.yaxis.tickvals
    ('glove', 'w2v')
    """
    table = best_first(ranking)
    models, columns = list(table.index), list(table.columns)
    short, aggregation = shorten(columns)
    rows = Rows(models, {model: wrap(model) for model in models}, 1)
    figure, places = grid(short if use_metric_as_facet else [""], rows.height, below_px=50)
    template = f"<b>{{y}}</b><br>{{ranking}}<br>rank {{x:g}} of {len(models)}"
    for position, (column, label) in enumerate(zip(columns, short, strict=True)):
        own = pd.DataFrame({"x": table[column], "y": models, "ranking": column})
        place = places[position * use_metric_as_facet]
        shown = own["x"].map("{:g}".format).replace("nan", "").tolist()
        look = {"textposition": "inside", "insidetextanchor": "middle", "textangle": 0}
        look |= {"text": shown, "orientation": "h", "marker": bar_style(position)}
        add_marks(figure, "bar", own, wrap(label, 30), template, **look, **place)
        gaps = np.flatnonzero(own["x"].isna() & use_metric_as_facet).tolist()
        write(figure, [{"x": 0, "y": row, "text": "no rank"} for row in gaps], **place)
    lacking, totals = table.isna().sum(axis=1), table.sum(axis=1)
    if use_metric_as_facet:
        longest, title = 1.05 * np.nanmax(table, initial=1), "Rank"
    else:
        gap = " (no rank in " + lacking.astype(str) + ")"
        texts = "<b>" + totals.map("{:g}".format) + gap.where(lacking > 0, "") + "</b>"
        sums = pd.DataFrame({"x": totals, "y": range(len(models)), "text": texts})
        write(figure, sums.to_dict("records"))
        # Leaves room for the text beside the longest stack.
        longest = totals.max() * (1.4 if lacking.any() else 1.12)
        title = f"Sum of ranks over {count(len(columns), 'ranking')}"
    figure.update_xaxes(title_text=title, range=[0, float(max(longest, 1))])
    rows.apply(figure, title_text="" if use_metric_as_facet else "Model")
    figure.update_layout(
        barmode="stack",
        showlegend=not use_metric_as_facet,
        legend_title_text="Ranking",
        uniformtext={"mode": "hide", "minsize": 9},
    )
    notes = {
        "Rank 1 is the best: the longer a bar, the lower the position.": True,
        aggregation: aggregation,
        "Models that lack a rank stand last; their sums cannot be compared.": lacking.any(),
    }
    heading = f"Ranks of {count(len(models), 'model')} in {count(len(columns), 'ranking')}"
    lines = [
        f"{model} has no rank in {', '.join(at_most(np.array(short)[gaps].tolist()))}."
        for model, gaps in table.isna()[(lacking > 0) & (not use_metric_as_facet)].iterrows()
    ]
    return apply_layout(figure, heading, notes, footnotes=at_most(lines))


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


def plot_group_shares(frame: pd.DataFrame, *, groups: Sequence[str] | None = None) -> go.Figure:
    """Plot the share of each group among the neighbours of words, and what chance would give.

    Parameters
    ----------
    frame : DataFrame
        One row per word and group: 'word', 'group', 'share' of its neighbours that lean to the
        group (0 to 1). Optional: 'model'; 'low' and 'high', the interval of random words;
        'leans_to', the group of the word itself.
    groups : sequence of str, optional
        All groups in the order of their colours. Default: `frame.attrs['groups']`, or those found.

    Returns
    -------
    plotly.graph_objects.Figure
        One panel per model, one bar per word and group. Lines across bars are intervals of random
        words; bars that end within them are hollow.

    Examples
    --------
    >>> rows = [("nurse", "female", 0.75, 0.1, 0.6), ("nurse", "male", 0.25, 0.1, 0.6)]
    >>> table = pd.DataFrame(rows, columns=["word", "group", "share", "low", "high"])
    >>> [(bar.name, bar.x) for bar in plot_group_shares(table).data if bar.marker.line.width]
    [('male', (0.25,))]
    """
    texts, numbers = ("model", "leans_to", "word", "group"), ("share", "low", "high")
    optional: Any = {"model": "", "leans_to": "", "low": math.nan, "high": math.nan}
    table = check_frame(frame, texts, numbers, **optional)
    names = check_groups(groups, frame)
    words, models = table["word"].unique().tolist(), table["model"].unique().tolist()
    leans = table.groupby("word")["leans_to"].first().map(_lean)
    labels = {word: wrap(shortened(word)) + leans[word] * (len(models) == 1) for word in words}
    cells = pd.MultiIndex.from_product([models, words, names], names=["model", "word", "group"])
    table = table.set_index(cells.names).reindex(cells).reset_index()
    template = (
        "<b>{word}</b><br>{group}: {share:.1%} of the neighbours<br>"
        "random words: {low:.1%} to {high:.1%}"
    )
    table = table.assign(
        start=0.0,
        text=" no value",
        dot=False,
        hollow=table["share"].between(table["low"], table["high"]),
        hover=hover_texts(table, template),
    ).rename(columns={"share": "score", "low": "null_lower", "high": "null_upper"})
    rows = Rows(words, labels, len(names))
    figure, places = grid(models if len(models) > 1 else [""], rows.height, 54, abreast=2)
    for (model, group), own in parts_of(table, ["model", "group"]):
        number, place = names.index(group), places[models.index(model)]
        draw_series(figure, own, rows, number, bar_style(number), (group, group), place)
    rows.apply(figure)
    # The last number of a panel would overlap the first one of the next.
    axis = {"range": [0, 1], "tickformat": ".0%", "tickvals": [0, 0.25, 0.5, 0.75]}
    figure.update_xaxes(title_text="Share of the neighbours", **axis)
    figure.update_layout(barmode="group", showlegend=True, legend_title_text="Lean to")
    heading = f"Which way the neighbours of {count(len(words), 'word')} lean"
    heading += f", {models[0]}" * (len(models) == 1 and bool(models[0]))
    note = (
        "Line: 95 of 100 random words that are as frequent lie within it. Hollow bars end within "
        "their line: chance explains them."
    )
    notes = {note: table["null_lower"].notna().any()}
    return apply_layout(figure, heading, notes)


def _lean(label: str) -> str:
    text = label if label in ("", NO_CLEAR_DIRECTION) else f"leans to {wrap(label, 24)}"
    return text and f'<br><span style="font-size:10px">{text}</span>'
