"""Accumulated ranks as bars."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import check_bool
from wefe.plotting._axes import Panels, Rows
from wefe.plotting._labels import at_most, count, shorten, wrap
from wefe.plotting._style import apply_layout, bar_style, hover, write
from wefe.plotting._table import Numbers, Table, check_table


def plot_ranking(ranking: pd.DataFrame, use_metric_as_facet: bool = False) -> go.Figure:
    """Plot accumulated ranks: the longer a bar, the lower the position (WEFE paper, figure 2).

    Parameters
    ----------
    ranking : DataFrame of shape (n_models, n_rankings)
        What :func:`wefe.ranking.create_ranking` returns; 1 is the best rank.
    use_metric_as_facet : bool, default=False
        Give each column a panel of its own instead of stacking them.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per column; models by the sum of their ranks, the best one on top. Models that
        lack a rank come last, because their sums cannot be compared.

    Raises
    ------
    TypeError
        If `ranking` is no DataFrame.
    ValueError
        If it is empty or holds anything but ranks.

    Examples
    --------
    >>> ranks = pd.DataFrame({"WEAT": [2, 1], "RND": [2, 1]}, index=["w2v", "glove"])
    >>> plot_ranking(ranks).layout.yaxis.categoryarray
    ('glove', 'w2v')
    """
    models, columns, ranks = best_first(ranking)
    facets = check_bool("use_metric_as_facet", use_metric_as_facet)
    short, aggregation = shorten(columns)
    traces = [
        _bars(i, column, label, models, ranks[:, i])
        for i, (column, label) in enumerate(zip(columns, short, strict=True))
    ]

    rows = Rows(models, [wrap(name) for name in models], 1)
    lacks = _lacks(models, short, ranks)
    notes = ["Rank 1 is the best: the longer a bar, the lower the position."]
    if aggregation:
        notes.append(aggregation)
    if lacks:
        notes.append("Models that lack a rank stand last; their sums cannot be compared.")
    panels = Panels(short if facets else [""], rows.height, below_px=50)
    figure = panels.figure()
    for position, trace in enumerate(traces):
        figure.add_trace(trace, **panels.place(position if facets else 0))
    if facets:
        for row, position in np.argwhere(np.isnan(ranks)).tolist():
            write(figure, 0, row, "no rank", **panels.place(position))
        highest = float(np.nanmax(ranks, initial=1))
        figure.update_xaxes(title_text="Rank", range=[0, 1.05 * highest])
        lacks = []  # the panels say it themselves
    else:
        _write_sums(figure, columns, ranks)
    rows.apply(figure, "" if facets else "Model")
    figure.update_layout(
        barmode="stack",
        showlegend=not facets,
        legend_title_text="Ranking",
        uniformtext={"mode": "hide", "minsize": 9},
    )
    title = f"Ranks of {count(len(models), 'model')} in {count(len(columns), 'ranking')}"
    above_px = panels.title_px if facets else 0
    return apply_layout(figure, title, notes, panels.height, above_px, footnotes=lacks)


def best_first(ranking: pd.DataFrame) -> Table:
    """Check ranks; return them by their sum, of models that lack a rank last."""
    models, columns, ranks = check_table("ranking", ranking, "create_ranking", "models", "rankings")
    _check_ranks(columns, ranks)
    order = np.lexsort((np.nansum(ranks, axis=1), np.isnan(ranks).any(axis=1)))
    return Table([models[i] for i in order], columns, ranks[order])


def _check_ranks(columns: Sequence[str], ranks: Numbers) -> None:
    """Refuse scores: they are no ranks, though they can be drawn as such."""
    # Tied models may share the average of their ranks, a half at most.
    no_rank = ~(np.isin(2 * ranks, np.arange(2, 2 * len(ranks) + 1)) | np.isnan(ranks))
    for column, values, wrong in zip(columns, ranks.T, no_rank.T, strict=True):
        if wrong.any():
            raise ValueError(
                f"ranking: column {column!r} holds {values[wrong][0]:g}, which is no rank of "
                f"{count(len(ranks), 'model')}: those are 1 to {len(ranks)}, with halves for ties. "
                "create_ranking makes ranks of scores (and of the models that are left, if some "
                "were dropped); plot_queries_results plots scores."
            )


def _lacks(models: Sequence[str], columns: Sequence[str], ranks: Numbers) -> list[str]:
    """Say which model has no rank where."""
    lines = []
    for model, lacking in zip(models, np.isnan(ranks), strict=True):
        names = [name for name, lack in zip(columns, lacking, strict=True) if lack]
        if names:
            lines.append(f"{model} has no rank in {', '.join(at_most(names))}.")
    return at_most(lines)


def _bars(position: int, column: str, label: str, models: Sequence[str], ranks: Numbers) -> go.Bar:
    """Return the bars of one ranking."""
    hovers = [
        f"<b>{wrap(model)}</b><br>{wrap(column, 60)}<br>rank {rank:g} of {len(models)}"
        for model, rank in zip(models, ranks, strict=True)
    ]
    return go.Bar(
        orientation="h",
        name=wrap(label, 30),
        y=models,
        # A list, because plotly stacks nothing on a NaN of an array.
        x=ranks.tolist(),
        text=["" if math.isnan(rank) else f"{rank:g}" for rank in ranks],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        marker=bar_style(position),
        **hover(hovers),
    )


def _write_sums(figure: go.Figure, columns: Sequence[str], ranks: Numbers) -> None:
    """Write beside each stack its sum, and which ranks it lacks."""
    totals, lacks = np.nansum(ranks, axis=1), np.isnan(ranks)
    notes = []
    for row, total in enumerate(totals):
        text, hovertext = f"{total:g}", None
        lacking = [name for name, lack in zip(columns, lacks[row], strict=True) if lack]
        if lacking:
            text += f" (no rank in {len(lacking)})"
            hovertext = "<br>".join(["no rank in", *(wrap(name, 60) for name in lacking)])
        place = {"x": float(total), "y": row, "xanchor": "left", "showarrow": False}
        notes.append({**place, "text": f"<b>{text}</b>", "hovertext": hovertext})
    # Together: plotly copies all annotations for each that is added.
    figure.update_layout(annotations=[*figure.layout.annotations, *notes])
    # Beside the longest stack there is room for what stands there.
    longest = float(totals.max(initial=1)) * (1.4 if lacks.any() else 1.12)
    title = f"Sum of ranks over {count(len(columns), 'ranking')}"
    figure.update_xaxes(title_text=title, range=[0, longest])
