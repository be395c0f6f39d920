"""The figures of the report as data for plotly.js, each with alternative text."""

from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._visible import visible, visible_data
from wefe.plotting import (
    plot_impact_ratios,
    plot_negative_sentiment,
    plot_negative_sentiment_correlation,
    plot_ranking,
    plot_ranking_correlations,
    plot_silhouettes,
)
from wefe.plotting import write_figures as write
from wefe.plotting._heat_maps import draw_cells
from wefe.plotting._negative_sentiment import joint_shares
from wefe.plotting._projections import draw_boxes
from wefe.plotting._reading import FACTS, score_hovers
from wefe.plotting._style import PALETTE, add_marks, apply_layout, escape, grid, height_px, wrap
from wefe.report._scores import SIGNIFICANT, rankings
from wefe.report._summarize import MOST_MODELS, sentiment_by_query
from wefe.report._text import macros, number
from wefe.study._results import StudyResults

# Maximum number of models with scores in the cells of a heat map.
_MOST_WITH_NUMBERS = 12
_CELL_PX = 26
# Approximate width for all models on a page.
_ACROSS_PX = 600
# Maximum number of RNSB queries with figures; the table has all of them.
_MOST_QUERIES = 8
LEGEND_BELOW = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}


# Its place in the summary, and its 'data' for plotly.js, 'caption' and 'alt' text.
Figure: TypeAlias = tuple[str, dict[str, Any]]


def drawn(place: str, figure: go.Figure, facts: Mapping[str, Any], kind: str = "") -> Figure:
    """Return a figure as plain data, without its title."""
    data = json.loads(figure.to_json())
    layout = data["layout"]
    # The page has the template once, in light and in dark.
    del layout["template"]
    title = layout.pop("title", {}).get("text", "")
    top = layout["margin"]["t"]
    # The space that `apply_layout` reserved for the title; headings of panels keep theirs.
    taken = 28 + 22 * (title.count("<br>") + 1)
    layout["margin"]["t"] = max(24, top - taken + 12)
    layout["height"] -= top - layout["margin"]["t"]
    said, kind = macros("captions.jinja"), kind or place.partition("-")[0]
    caption, alt = (visible(getattr(said, of)(facts).strip()) for of in (kind, f"{kind}_alt"))
    return place, {"caption": caption, "alt": alt, "data": visible_data(data, "\n\t")}


def figures(results: StudyResults, summary: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the figures of a study by their place in the summary.

    Places are 'ranking-0' and so on in the order of its tables; 'scores-0' and 'silhouettes-0' per
    metric; 'correlations-0'; 'sentiment-0' and 'matrix-0' per query of RNSB; 'impact-0' per ranking
    audit; 'explored-0' per criterion that has a page.
    """
    made = (
        *(_distributions(summary) if summary["is_large"] else _rankings(results, summary)),
        *_heat_maps(summary),
        *_correlations(summary),
        *_sentiment(summary),
        *_silhouettes(results, summary),
        *_impact_ratios(results, summary),
        *_spreads(summary),
    )
    return dict(made)


def write_figures(
    results: StudyResults,
    folder: str | os.PathLike[str],
    formats: Sequence[str] = ("png", "svg", "pdf"),
) -> list[Path]:
    """Write the figures of a study with :func:`wefe.plotting.write_figures`.

    Parameters
    ----------
    results : StudyResults
        Results of a study.
    folder, formats : optional
        As in :func:`wefe.plotting.write_figures`.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> write_figures(results, "figures", formats=["jpeg"])
    Traceback (most recent call last):
    ...
    ValueError: formats must be one of 'png', 'svg', 'pdf'; got str 'jpeg'.
    """
    ranks = results.rankings()
    sentiment: dict[str, dict[str, Any]] = defaultdict(dict)
    for (_, query_set, query), by_model in sentiment_by_query(results).items():
        sentiment[f"{query_set} {query}"] |= by_model
    return write(
        folder,
        scores=results.to_frame(),
        ranking=ranks if ranks.notna().to_numpy().any() and len(ranks) > 1 else None,
        correlations=results.correlations() if len(ranks) > 2 and ranks.shape[1] > 1 else None,
        negative_sentiment=sentiment,
        silhouettes=[each for _, each in results.silhouettes()],
        biases=_biases(results),
        formats=formats,
    )


def _biases(results: StudyResults) -> dict[str, dict[str, Any]]:
    biases: dict[str, dict[str, Any]] = defaultdict(dict)
    for task, audit in results._values("words", "audit"):
        names = (use["name"] for use in audit["targets"])
        of_query = biases[f"{task.place['query_set']} {task.place['query']}"]
        of_query[task.model] = dict(zip(names, audit["positions"], strict=True))
    return biases


# Ranks


def _rankings(results: StudyResults, summary: Mapping[str, Any]) -> Iterator[Figure]:
    for position, ranks in enumerate(rankings(results).values()):
        ranking = summary["rankings"][position]
        if len(ranks) > 1 and ranks.notna().to_numpy().any():
            yield drawn(f"ranking-{position}", plot_ranking(ranks), ranking)


def _distributions(summary: Mapping[str, Any]) -> Iterator[Figure]:
    """Draw the distribution of aggregated scores over many models, one panel per metric."""
    for position, ranking in enumerate(summary["rankings"]):
        names = [column["name"] for column in ranking["columns"]]
        scores = {row["model"]: row["scores"] for row in ranking["rows"]}
        table = pd.DataFrame.from_dict(scores, "index", float, names).dropna(axis=1, how="all")
        if len(table.columns):
            facts = {**ranking, "shown": summary["shown"]}
            figure = _histograms(table, summary["shown"])
            yield drawn(f"ranking-{position}", figure, facts, "spread")


def _histograms(table: pd.DataFrame, shown: Sequence[str]) -> go.Figure:
    figure, places = grid(table.columns.tolist(), 170, 40)
    for name, place in zip(table, places, strict=True):
        known = table[name].dropna()
        figure.add_histogram(
            x=known.map("{:.4g}".format).astype(float).tolist(),
            nbinsx=30,
            marker_color=PALETTE[-1],
            showlegend=False,
            hovertemplate="%{y} models: %{x}<extra></extra>",
            **place,
        )
        for model, colour in zip(shown, itertools.cycle(PALETTE[:-1])):
            own = pd.DataFrame({"x": known[known.index == model], "y": 0, "model": model})
            marker = {"size": 13, "symbol": "triangle-up", "color": colour}
            look = {"mode": "markers", "marker": marker, "legendgroup": model, "cliponaxis": False}
            name, template = escape(model[:40]), "{model}<br>{x:.4g}"
            add_marks(figure, "scatter", own, name, template, **look, **place)
    figure.update_yaxes(title_text="Models", col=1)
    figure.update_layout(showlegend=bool(shown), legend=LEGEND_BELOW)
    return apply_layout(figure, "", {}, 80)


# Scores


def _heat_maps(summary: Mapping[str, Any]) -> Iterator[Figure]:
    for position, metric in enumerate(summary["metrics"]):
        if metric["farthest"]:
            yield drawn(f"scores-{position}", _heat_map(metric), metric)


def _heat_map(metric: Mapping[str, Any]) -> go.Figure:
    """Draw queries by models, with the names of query sets above their queries."""
    models, names, rows = metric["models"], list[str](), list[Any]()
    for part in metric["parts"]:
        names += [f"<b>{escape(part['query_set'])}</b>", *(wrap(q, 44) for q in part["queries"])]
        rows += [[{}] * len(models), *zip(*part["cells"], strict=True)]
    cells = pd.DataFrame(itertools.chain(*rows)).reindex(columns=[*FACTS, "opposite"])
    cells["opposite"] = cells["opposite"].notna()
    # Four digits, to save space.
    far = (cells["score"] - cells["no_bias_value"]).map("{:.4g}".format).astype(float)

    def cells_of(values: Iterable[Any]) -> Any:
        return np.reshape(list(values), (-1, len(models))).tolist()

    # The longest name determines the height of a row.
    cell_px = _ACROSS_PX / len(models), max(_CELL_PX, height_px(names) + 6)
    largest = metric["farthest"][0]["distance"] or 1
    table = pd.DataFrame(cells_of(far), names, models)
    # The heading above the figure names the metric.
    figure = draw_cells(table, "from no bias", cell_px, (-largest, largest), "")
    if len(models) <= _MOST_WITH_NUMBERS:
        is_small = (cells["p_value"] < SIGNIFICANT) | cells["opposite"]
        texts = cells["score"].map(number).where(cells["score"].notna(), "")
        in_cells = cells_of(texts + np.where(is_small, "*", ""))
        figure.update_traces(text=in_cells, texttemplate="%{text}")
    if len(models) > MOST_MODELS:
        figure.update_xaxes(title_text="Models", showticklabels=False)
        figure.update_traces(xgap=0)
    else:
        template = "<b>%{x}</b><br>%{y}<br>%{hovertext}<extra></extra>"
        on_hover = cells_of(score_hovers(cells, metric["label"]))
        figure.update_traces(hovertext=on_hover, hovertemplate=template)
    return apply_layout(figure, "", {}, 30)


# Correlations


def _correlations(summary: Mapping[str, Any]) -> Iterator[Figure]:
    for position, part in enumerate(summary["correlations"]):
        names = part["columns"]
        if part["n_models"] > 2 and part["pairs"]:
            table = pd.DataFrame(part["values"], names, names, dtype=float)
            yield drawn(f"correlations-{position}", plot_ranking_correlations(table), part)


# Negative sentiment


def _sentiment(summary: Mapping[str, Any]) -> Iterator[Figure]:
    """Draw figures 3 and 4 of Sweeney and Najafian (ACL 2019), for the extreme models."""
    for position, part in enumerate(summary["sentiment"][:_MOST_QUERIES]):
        rows = part["rows"]
        ends = rows if len(rows) <= 6 else [*rows[:3], *rows[-3:]]
        spreads = {row["model"]: row for row in ends}
        names = list(spreads)
        figure = plot_negative_sentiment(spreads)
        yield drawn(f"sentiment-{position}", figure, {**part, "ends": names})
        for place, model in enumerate(dict.fromkeys((names[0], names[-1]))):
            figure = plot_negative_sentiment_correlation(joint_shares(spreads[model]))
            yield drawn(f"matrix-{position}-{place}", figure, {**part, "model": model})


# Silhouettes


def _silhouettes(results: StudyResults, summary: Mapping[str, Any]) -> Iterator[Figure]:
    """Draw one figure per metric, query and kind of list, with a panel per model."""
    groups: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    for task, each in results.silhouettes():
        if task.model in summary["shown"]:
            key = (each.metric, task.place["query_set"], each.query_name, each.vary)
            groups[key].append(each)
    for position, (place, own) in enumerate(groups.items()):
        facts = dict(zip(("metric", "query_set", "query", "vary"), place, strict=True))
        panels = [(each.model_name, each.robustness) for each in own]
        yield drawn(f"silhouettes-{position}", plot_silhouettes(own), {**facts, "panels": panels})


# Rankings


def _impact_ratios(results: StudyResults, summary: Mapping[str, Any]) -> Iterator[Figure]:
    pairs = zip(results.retrieval(), summary["retrieval"], strict=True)
    for position, ((_, audit), part) in enumerate(pairs):
        yield drawn(f"impact-{position}", plot_impact_ratios(audit), part)


# Words along bias directions


def _spreads(summary: Mapping[str, Any]) -> Iterator[Figure]:
    for position, part in enumerate(summary["explored"]):
        if part["distribution"]:
            table = pd.DataFrame(part["distribution"]).fillna({"group": ""})
            table = table.rename(columns={"model_name": "model"})
            figure, *_ = draw_boxes(table, part["groups"])
            yield drawn(f"explored-{position}", apply_layout(figure, "", {}), part)
