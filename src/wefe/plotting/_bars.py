"""Horizontal bars: scores, ranks, and shares of the neighbours of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import check_bool, check_choice
from wefe._visible import count
from wefe.explore._directions import NO_CLEAR_DIRECTION
from wefe.plotting._axes import Panels, Rows, at, mark_no_bias, stacked
from wefe.plotting._labels import at_most, shorten, shortened, wrap
from wefe.plotting._reading import SIGNIFICANT, Reading
from wefe.plotting._style import PALETTE, apply_layout, bar_style, hover, hover_rows, tint, write
from wefe.plotting._table import Table, check_frame, check_groups, check_table, parts_of

_DOT = "●"
# Bars shorter than this share of the longest one can hardly be seen.
_SHORT = 0.005


def plot_queries_results(
    results: pd.DataFrame, by: Literal["query", "model"] = "query"
) -> go.Figure:
    """Plot scores as grouped horizontal bars: the longer a bar, the more bias was measured.

    Bars start at the no-bias value of the metric, which a line marks, or at 0 for an unknown
    metric. Dots are bars too short to see. Hollow bars have p > 0.05. Full bars against the
    direction of a one-sided test are strong in the opposite direction; a note counts them. Lines
    across bars hold 95 % of the scores with exchanged words, as they would be without bias.

    Parameters
    ----------
    results : DataFrame
        What :func:`wefe.running.measure` returns for one metric and query set; this adds p-values,
        reasons for NaN and lost words. Or the matrix of :func:`wefe.running.run_queries`; its
        aggregated column stands apart, on an axis of its own if its no-bias value differs.
    by : {'query', 'model'}, default='query'
        What groups the bars; the other one has the colours.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per model (or query) and axis; hollow bars are a further trace. NaN is marked 'no
        value', with a letter for the reason, which stands below.

    Raises
    ------
    TypeError, ValueError
        If `results` is not a DataFrame of numbers or is empty, or `by` is unknown.

    Examples
    --------
    >>> table = pd.DataFrame({"Math and Arts": [1.2, 0.1]}, index=["w2v", "glove"])
    >>> [trace.name for trace in plot_queries_results(table).data]
    ['w2v', 'glove']
    """
    reading = Reading.of(results)
    by_query = check_choice("by", by, ("query", "model")) == "query"
    series_by = "model" if by_query else "query"
    short, aggregation = reading.labels()
    names = dict(zip(reading.queries, short, strict=True)) | {m: m for m in reading.models}
    labels = {name: wrap(label) for name, label in names.items()}
    last = reading.queries[-1] if reading.aggregation and len(reading.queries) > 1 else None
    if last is not None:
        labels[last] = f"<b>{labels[last]}</b>"
    reading.table["hover"] = reading.hovers()
    parts = reading.parts()
    rows = [
        Rows(own, [labels[name] for name in own], part[series_by].nunique())
        for part in parts
        for own in [list(part[by].unique())]
    ]
    figure, height = stacked([part.height for part in rows], 90)
    marks, footnotes = reading.reasons()
    dotted = []
    for number, (part, bars) in enumerate(zip(parts, rows, strict=True)):
        place = at(number + 1)
        length = (part["score"] - part["start"]).abs()
        part = part.assign(
            text=["no value" + marks.get(reason, "") for reason in part["nan_reason"]],
            dot=length <= _SHORT * length.max(),
        )
        dotted += [f"{start:g}" for start in part["start"][part["dot"]]]
        texts: list[dict[Any, Any]] = []
        for position, (name, own) in enumerate(parts_of(part, series_by)):
            # The template draws what has no style, here the summary of models, in ink.
            style = {} if name == last and not by_query else bar_style(position)
            texts += draw_series(figure, own, bars, position, style, (name, names[name]), place)
        write(figure, texts, **place)
        if pd.notna(no_bias := part["no_bias_value"].iloc[0]):
            mark_no_bias(figure, no_bias, **place)
        figure.update_xaxes(title_text=wrap(reading.axis_title(part), 60), **place)
        bars.apply(figure, "" if number else by.capitalize(), **place)
    if last is not None and by_query and len(parts) == 1:
        edges = {"y0": len(reading.queries) - 1.5, "y1": len(reading.queries) - 0.5}
        figure.add_hrect(**edges, fillcolor=tint(PALETTE[-1]), line_width=0, layer="below")
    notes = [*reading.notes(), *filter(None, [aggregation])]
    if dotted:
        values = " or ".join(dict.fromkeys(dotted))
        notes.append(f"{_DOT} A score of {values}, or too near to it for a bar to be seen.")
    if reading.table["hollow"].any():
        meaning = wrap(f"p > {SIGNIFICANT} ({reading.test()})", 30)
        grey, first = _outline({"color": PALETTE[-1]}), rows[0].names[:1]
        figure.add_bar(x=[None], y=first, name=meaning, marker=grey, offsetgroup=name)
    legend_title = series_by.capitalize()
    figure.update_layout(barmode="group", showlegend=True, legend_title_text=legend_title)
    return apply_layout(figure, reading.title(), notes, height, 20, footnotes=footnotes)


def draw_series(
    figure: go.Figure,
    own: pd.DataFrame,
    bars: Rows,
    position: int,
    style: dict[str, Any],
    names: tuple[str, str],
    place: dict[str, Any],
) -> list[dict[Any, Any]]:
    """Draw one series of bars, hollow ones apart; `names` are its key and its name in the legend.

    Return the texts or dots in place of bars that cannot be seen.
    """
    length = own["score"] - own["start"]
    null = {
        "array": own["null_upper"] - own["score"],
        "arrayminus": own["score"] - own["null_lower"],
    }
    looks: list[dict[str, Any]] = [{"marker": style}]
    if own["hollow"].any():
        looks.append({"marker": _outline(style), "showlegend": False})
    for is_hollow, each in enumerate(looks):
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
            # Bars on their own axis share their room with no others.
            alignmentgroup=str(place),
            **hover(own["hover"].tolist()),
            **each,
            **place,
        )
    missing = {"font": bars.font}
    font = {"size": 1.8 * bars.font["size"], "color": style.get("color")}
    dot = {"text": _DOT, "font": font, "xanchor": "center"}
    heights = bars.centre(np.arange(len(own)), position)
    notes = own.assign(x=own["start"], y=heights, hovertext=own["hover"])
    notes = notes[notes["score"].isna() | notes["dot"]]
    records = notes[["x", "y", "text", "hovertext"]].to_dict("records")
    places = [dot if is_dot else missing for is_dot in notes["dot"]]
    return [record | look for record, look in zip(records, places, strict=True)]


def _outline(style: dict[str, Any]) -> dict[str, Any]:
    colour = style["color"]
    pattern = {**style.get("pattern", {}), "fgcolor": colour}
    return {"color": tint(colour), "line": {"color": colour, "width": 1.5}, "pattern": pattern}


def plot_ranking(ranking: pd.DataFrame, use_metric_as_facet: bool = False) -> go.Figure:
    """Plot the sum of ranks: the longer a bar, the lower the position (WEFE paper, figure 2).

    Parameters
    ----------
    ranking : DataFrame of shape (n_models, n_rankings)
        What :func:`wefe.ranking.create_ranking` returns; 1 is the best rank.
    use_metric_as_facet : bool, default=False
        Give each column its own panel instead of stacking them.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per column; the best model on top. Models that lack a rank come last, because
        their sums cannot be compared.

    Raises
    ------
    TypeError, ValueError
        If `ranking` is not a DataFrame of ranks, or is empty.

    Examples
    --------
    >>> ranks = pd.DataFrame({"WEAT": [2, 1], "RND": [2, 1]}, index=["w2v", "glove"])
    >>> plot_ranking(ranks).layout.yaxis.categoryarray
    ('glove', 'w2v')
    """
    models, columns, ranks = best_first(ranking)
    facets = check_bool("use_metric_as_facet", use_metric_as_facet)
    short, aggregation = shorten(columns)
    lacks, totals = np.isnan(ranks), np.nansum(ranks, axis=1)
    rows = Rows(models, [wrap(name) for name in models], 1)
    panels = Panels(short if facets else [""], rows.height, below_px=50)
    figure = panels.figure()
    for position, (column, label) in enumerate(zip(columns, short, strict=True)):
        own = pd.DataFrame({"model": models, "ranking": column, "rank": ranks[:, position]})
        figure.add_bar(
            orientation="h",
            name=wrap(label, 30),
            y=models,
            # A list, because plotly stacks nothing on NaN in an array.
            x=own["rank"].tolist(),
            text=["" if np.isnan(rank) else f"{rank:g}" for rank in own["rank"]],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            marker=bar_style(position),
            **hover_rows(
                own, f"<b>{{model}}</b><br>{{ranking}}<br>rank {{rank:g}} of {len(models)}"
            ),
            **panels.place(position if facets else 0),
        )
    lacking = [[name for name, lack in zip(short, row, strict=True) if lack] for row in lacks]
    lines = [
        f"{model} has no rank in {', '.join(at_most(names))}."
        for model, names in zip(models, lacking, strict=True)
        if names
    ]
    if facets:
        for position, gaps in enumerate(lacks.T):
            marks = [{"x": 0, "y": row, "text": "no rank"} for row in np.flatnonzero(gaps).tolist()]
            write(figure, marks, **panels.place(position))
        longest, title, lines = 1.05 * np.nanmax(ranks, initial=1), "Rank", []
    else:
        gaps = [f" (no rank in {len(names)})" * bool(names) for names in lacking]
        texts = [f"<b>{total:g}{gap}</b>" for total, gap in zip(totals, gaps, strict=True)]
        sums = pd.DataFrame({"x": totals, "y": range(len(models)), "text": texts})
        write(figure, sums.to_dict("records"))
        # Leaves room for the text beside the longest stack.
        longest = totals.max(initial=1) * (1.4 if lacks.any() else 1.12)
        title = f"Sum of ranks over {count(len(columns), 'ranking')}"
    figure.update_xaxes(title_text=title, range=[0, float(longest)])
    rows.apply(figure, "" if facets else "Model")
    figure.update_layout(
        barmode="stack",
        showlegend=not facets,
        legend_title_text="Ranking",
        uniformtext={"mode": "hide", "minsize": 9},
    )
    notes = ["Rank 1 is the best: the longer a bar, the lower the position."]
    notes += [aggregation] * bool(aggregation)
    if lacks.any():
        notes.append("Models that lack a rank stand last; their sums cannot be compared.")
    heading = f"Ranks of {count(len(models), 'model')} in {count(len(columns), 'ranking')}"
    above_px, footnotes = panels.title_px * facets, at_most(lines)
    return apply_layout(figure, heading, notes, panels.height, above_px, footnotes=footnotes)


def best_first(ranking: pd.DataFrame) -> Table:
    """Check ranks; return them by their sum, models that lack a rank last."""
    models, columns, ranks = check_table("ranking", ranking, "create_ranking", "models", "rankings")
    # Ranks may end in .5, because tied models may share the average of their ranks.
    possible = np.arange(2, 2 * len(ranks) + 1)
    for row, column in np.argwhere(~(np.isin(2 * ranks, possible) | np.isnan(ranks))):
        raise ValueError(
            f"ranking: column {columns[column]!r} holds {ranks[row, column]:g}, which is no rank "
            f"of {count(len(ranks), 'model')}: those are 1 to {len(ranks)}, with halves for ties. "
            "create_ranking makes ranks of scores; plot_queries_results plots scores."
        )
    order = np.lexsort((np.nansum(ranks, axis=1), np.isnan(ranks).any(axis=1)))
    return Table([models[i] for i in order], columns, ranks[order])


def plot_group_shares(
    frame: pd.DataFrame, *, title: str | None = None, groups: Sequence[str] | None = None
) -> go.Figure:
    """Plot the share of each group among the neighbours of words, and what chance would give.

    Parameters
    ----------
    frame : DataFrame
        One row per word and group: 'word', 'group', 'share' of the word's neighbours associated
        with the group, in [0, 1]. Optional: 'model'; 'low' and 'high', the interval for random
        words; 'leans_to', the group of the word itself.
    title : str, optional
        Default: a description.
    groups : sequence of str, optional
        All groups, in the order of their colours; by default `frame.attrs['groups']` or as in rows.

    Returns
    -------
    plotly.graph_objects.Figure
        One panel per model, one bar per word and group. Lines across bars are intervals of random
        words; bars that end within them are hollow. 'no value': words without shares.

    Raises
    ------
    TypeError, ValueError
        If `frame` is not such a table or is empty, or the shares of a word sum to more than 1.

    Examples
    --------
    >>> rows = [("nurse", "female", 0.75, 0.1, 0.6), ("nurse", "male", 0.25, 0.1, 0.6)]
    >>> table = pd.DataFrame(rows, columns=["word", "group", "share", "low", "high"])
    >>> [(bar.name, bar.x) for bar in plot_group_shares(table).data if bar.marker.line.width]
    [('male', (0.25,))]
    """
    ends = [name for name in ("low", "high") if name in frame]
    table = check_frame(frame, ("word", "group"), ("share", *ends), ("model", "leans_to"))
    names = check_groups(groups, frame)
    table = table.reindex(columns=["model", "leans_to", "word", "group", "share", "low", "high"])
    table[["model", "leans_to"]] = table[["model", "leans_to"]].astype(object).fillna("")
    _check_shares(table)
    words, models = (list(dict.fromkeys(table[key])) for key in ("word", "model"))
    said = table.groupby("word")["leans_to"].first().map(_lean)
    small = '<br><span style="font-size:10px">{}</span>'
    notes_of = [
        small.format(said[word]) if said[word] and len(models) == 1 else "" for word in words
    ]
    labels = [wrap(shortened(word)) + note for word, note in zip(words, notes_of, strict=True)]
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
        hover=hover_rows(table, template)["hovertext"],
    ).rename(columns={"share": "score", "low": "null_lower", "high": "null_upper"})
    rows = Rows(words, labels, len(names))
    panels = Panels(models if len(models) > 1 else [""], rows.height, 54, abreast=2)
    figure = panels.figure()
    for (model, group), own in parts_of(table, ["model", "group"]):
        number = names.index(group)
        place = panels.place(models.index(model))
        look = bar_style(number)
        write(figure, draw_series(figure, own, rows, number, look, (group, group), place), **place)
    rows.apply(figure)
    # Panels in a row share the names of the words.
    figure.update_xaxes(range=[0, 1], tickformat=".0%", title_text="Share of the neighbours")
    if panels.n_columns > 1:
        # The last number of a panel would run into the first one of the next.
        figure.update_xaxes(tickvals=[0.25, 0.5, 0.75])
    figure.update_layout(barmode="group", showlegend=True, legend_title_text="Lean to")
    heading = title or f"Which way the neighbours of {count(len(words), 'word')} lean"
    if title is None and len(models) == 1 and models[0]:
        heading += f", {models[0]}"
    notes = [
        "Line: 95 of 100 random words that are as frequent lie within it. Hollow bars end within "
        "their line: chance explains them."
    ]
    notes = notes if table["null_lower"].notna().any() else []
    return apply_layout(figure, heading, notes, panels.height, panels.title_px)


def _lean(label: str) -> str:
    return label if label in ("", NO_CLEAR_DIRECTION) else f"leans to {wrap(label, 24)}"


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
