"""The figures of the report, as plain data for plotly.js, each with words that can stand for it."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from wefe._visible import visible
from wefe.report._paired import SIGNIFICANT
from wefe.report._summarize import MOST_MODELS, query_sets, ranked
from wefe.report._text import listed, number
from wefe.results import OPPOSITE

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from wefe.study._results import StudyResults

# So many models have room for their scores in the cells of a heat map.
_MOST_WITH_NUMBERS = 12
_CELL_PX = 26
# About what all models have together on a page.
_ACROSS_PX = 600
# The font of what stands above a row of silhouettes.
_HEAD_SIZE = 13


class Figure(NamedTuple):
    """A figure with what stands for it where it cannot be seen.

    Attributes
    ----------
    id : str
        Where it belongs in the report.
    caption : str
        What it shows, for all readers.
    alt : str
        What is to be seen in it, in a sentence.
    data : dict
        'data' and 'layout' for plotly.js.
    """

    id: str
    caption: str
    alt: str
    data: Mapping[str, Any]


def figures(results: StudyResults, summary: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of a study by what they show.

    Parameters
    ----------
    results : StudyResults
        The study.
    summary : dict
        What :func:`wefe.report.summarize` says of it.

    Returns
    -------
    dict of Figure
        'ranking-0' and so on, in the order of the tables of the summary; 'scores-0' per metric;
        'correlations-0'; 'sentiment-0' and 'matrix-0' per query of RNSB; 'silhouettes-0' per
        metric; 'explored-0' per criterion that has a page.
    """
    made = [
        *(_distributions(summary) if summary["is_large"] else _rankings(results, summary)),
        *_heat_maps(summary),
        *_correlations(results, summary),
        *_sentiment(summary),
        *_silhouettes(results, summary),
        *_spreads(summary),
    ]
    return {figure.id: figure for figure in made}


def write_figures(
    results: StudyResults,
    folder: str | os.PathLike[str],
    formats: Sequence[str] = ("png", "svg", "pdf"),
) -> list[Path]:
    """Write the figures that papers print: PNG, SVG and PDF, without a browser.

    It needs matplotlib: ``pip install 'wefe[figures]'``.

    Parameters
    ----------
    results : StudyResults
        What :meth:`wefe.study.Study.run` returns.
    folder : path
        Where the files go. It is made if it does not exist.
    formats : sequence of {'png', 'svg', 'pdf'}, default=('png', 'svg', 'pdf')
        What to write of each figure.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    See Also
    --------
    wefe.plotting.write_figures : Writes the same figures of tables of your own.

    Examples
    --------
    ``write_figures(results, "figures")`` writes all of them. A wrong format is refused before
    anything is drawn:

    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> write_figures(results, "figures", formats=["jpeg"])
    Traceback (most recent call last):
    ...
    ValueError: formats must be one of 'png', 'svg', 'pdf'; got str 'jpeg'.
    """
    from dataclasses import replace

    from wefe.plotting import write_figures as write

    ranks, tidy = results.rankings(), results.to_frame()
    sentiment: dict[str, dict[str, Any]] = {}
    for task, outcome in results.of_kind("score"):
        value = outcome.value or {}
        if value.get("negative_sentiment") and value["score"] is not None:
            of_query = sentiment.setdefault(f"{task.place['query_set']} {task.place['query']}", {})
            of_query[task.model] = {
                "rnsb": value["score"],
                "negative_sentiment_distribution": value["negative_sentiment"],
            }
    biases: dict[str, dict[str, Any]] = {}
    for task, outcome in results.of_kind("words"):
        audit = (outcome.value or {}).get("audit")
        if audit:
            of_query = biases.setdefault(f"{task.place['query_set']} {task.place['query']}", {})
            of_query[task.model] = {
                use["name"]: [math.nan if each is None else each for each in values]
                for use, values in zip(audit["targets"], audit["positions"], strict=True)
            }
    return write(
        folder,
        scores=None if tidy.empty else tidy,
        ranking=ranks if ranks.notna().to_numpy().any() and len(ranks) > 1 else None,
        correlations=results.correlations() if len(ranks) > 2 and ranks.shape[1] > 1 else None,
        negative_sentiment=sentiment,
        silhouettes=[replace(each, model_name=task.model) for task, each in results.silhouettes()],
        biases=biases,
        formats=formats,
    )


def _as_data(figure: go.Figure) -> dict[str, Any]:
    """Return a figure as plain data, without its title: the caption says that."""
    data = json.loads(figure.to_json())
    layout = data["layout"]
    # The page has the template once, in light and in dark.
    del layout["template"]
    title = layout.pop("title", {}).get("text", "")
    top = layout["margin"]["t"]
    # What `apply_layout` reserved for the title; what stands above the panels keeps its room.
    taken = 28 + 22 * (title.count("<br>") + 1)
    layout["margin"]["t"] = max(24, top - taken + 12)
    layout["height"] -= top - layout["margin"]["t"]
    plain: dict[str, Any] = _visible(data)
    return plain


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value, "\n\t")
    if isinstance(value, dict):
        return {key: _visible(part) for key, part in value.items()}
    return [_visible(part) for part in value] if isinstance(value, list) else value


# Ranks


def _rankings(results: StudyResults, summary: Mapping[str, Any]) -> Iterator[Figure]:
    """Draw accumulated ranks, with external columns and that of quality (WEFE paper, figure 2)."""
    from wefe.plotting import plot_ranking

    if len(summary["models"]) < 2:
        return
    for position, name in enumerate(query_sets(results)):
        ranking = summary["rankings"][position]
        ranks = results.rankings(ranked(results, name))
        if not ranks.notna().to_numpy().any():
            continue
        others = [each["name"] for each in ranking["columns"] if each["kind"] != "bias"]
        best = [row["model"] for row in ranking["rows"] if row["sum"] is not None]
        alt = f"Stacked bars of the ranks of {len(ranks)} models"
        if best:
            alt += f": by bias alone, the lowest sum is that of {best[0]}, the highest that of "
            alt += f"{best[-1]}"
        also = f" Ranked in an order of their own: {listed(others)}." if others else ""
        yield Figure(
            f"ranking-{position}",
            f"Accumulated ranks, {name}. Rank 1 is the least bias measured: the longer a bar, the "
            f"lower the position. The sum stands beside it.{also}",
            f"{alt}. The table has the numbers.",
            _as_data(plot_ranking(ranks)),
        )


def _distributions(summary: Mapping[str, Any]) -> Iterator[Figure]:
    """Draw how aggregated scores spread over many models, a panel per metric."""
    for position, ranking in enumerate(summary["rankings"]):
        scores = {
            column["name"]: {
                row["model"]: row["scores"][i]
                for row in ranking["rows"]
                if row["scores"][i] is not None
            }
            for i, column in enumerate(ranking["columns"])
        }
        scores = {name: values for name, values in scores.items() if values}
        if not scores:
            continue
        shown = listed(summary["shown"])
        named = f" Marked: {shown}, which the verdict names." if shown else ""
        yield Figure(
            f"ranking-{position}",
            f"Aggregated scores of {len(ranking['rows'])} models, {ranking['name']}: how many "
            f"models have about which score.{named}",
            f"Histograms of the scores by {listed(list(scores))}. The table has the numbers.",
            _as_data(_histograms(scores, summary["shown"])),
        )


def _histograms(scores: Mapping[str, Mapping[str, float]], shown: Sequence[str]) -> go.Figure:
    from wefe.plotting._axes import Panels
    from wefe.plotting._labels import escape, wrap
    from wefe.plotting._style import PALETTE, apply_layout, hover

    panels = Panels(list(scores), 170, 40)
    figure = panels.figure()
    for at, values in enumerate(scores.values()):
        place = panels.place(at)
        figure.add_histogram(
            x=[float(f"{value:.4g}") for value in values.values()],
            nbinsx=30,
            marker={"color": PALETTE[-1]},
            showlegend=False,
            hovertemplate="%{y} models: %{x}<extra></extra>",
            **place,
        )
        for number_of_model, model in enumerate(shown):
            if model in values:
                text = f"{wrap(model)}<br>{values[model]:.4g}"
                figure.add_scatter(
                    x=[values[model]],
                    y=[0],
                    mode="markers",
                    marker={
                        "size": 13,
                        "symbol": "triangle-up",
                        "color": PALETTE[number_of_model % (len(PALETTE) - 1)],
                    },
                    name=escape(model[:40]),
                    legendgroup=model,
                    cliponaxis=False,
                    **hover([text]),
                    **place,
                )
    figure.update_yaxes(title_text="Models", col=1)
    figure.update_layout(
        showlegend=bool(shown),
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
    )
    return apply_layout(figure, "", [], panels.height, panels.title_px, 80)


# Scores


def _heat_maps(summary: Mapping[str, Any]) -> Iterator[Figure]:
    for position, metric in enumerate(summary["metrics"]):
        distances = [
            (cell["distance"], metric["models"][row], query)
            for part in metric["parts"]
            for row, cells in enumerate(part["cells"])
            for cell, query in zip(cells, part["queries"], strict=True)
            if "distance" in cell
        ]
        if not distances:
            continue
        largest, model, query = max(distances)
        n_queries = sum(len(part["queries"]) for part in metric["parts"])
        yield Figure(
            f"scores-{position}",
            f"{metric['label']}: scores of each model and query. The colour is the distance from "
            f"{metric['no_bias']}, the score that means no bias: pale is little. The "
            f"sign tells its direction.{_star(metric)} Point at a cell for what is known of it.",
            f"Heat map of {n_queries} queries by {len(metric['models'])} models. The score "
            f"farthest from {metric['no_bias']} is that of {model} for {query}: "
            f"{number(largest)} away.",
            _as_data(_heat_map(metric, largest)),
        )


def _heat_map(metric: Mapping[str, Any], largest: float) -> go.Figure:
    """Draw a panel of queries by models for each query set, on one scale of colours."""
    from plotly.subplots import make_subplots

    from wefe.plotting._labels import escape, height_px, width_px, wrap
    from wefe.plotting._style import apply_layout, hover

    models, parts = metric["models"], metric["parts"]
    is_large = len(models) > MOST_MODELS
    labels = [[wrap(query, 44) for query in part["queries"]] for part in parts]
    # A row is as high as the longest name of its panel.
    heights = [len(names) * max(_CELL_PX, height_px(names) + 6) for names in labels]
    between_px = 34
    plot_px = sum(heights) + between_px * (len(parts) - 1)
    figure = make_subplots(
        rows=len(parts),
        row_heights=heights,
        shared_xaxes=True,
        vertical_spacing=between_px / plot_px if len(parts) > 1 else 0,
        subplot_titles=[f"<b>{escape(part['query_set'])}</b>" for part in parts],
    )
    figure.update_annotations(font={"size": 13}, x=0, xanchor="left")
    with_numbers = len(models) <= _MOST_WITH_NUMBERS
    # Plotly merges equal categories, so positions stand for names.
    across = list(range(len(models)))
    for number_of_part, (part, names) in enumerate(zip(parts, labels, strict=True), 1):
        place = {"row": number_of_part, "col": 1}
        rows = list(zip(*part["cells"], strict=True))
        distances = [[_from_no_bias(cell, metric) for cell in row] for row in rows]
        figure.add_heatmap(
            z=distances,
            # Of many models, the name says which one is pointed at.
            x=[escape(model) for model in models] if is_large else across,
            y=[escape(query) for query in part["queries"]] if is_large else list(range(len(names))),
            text=[[_in_cell(cell) for cell in row] for row in rows] if with_numbers else None,
            texttemplate="%{text}" if with_numbers else None,
            textfont={"size": 11},
            coloraxis="coloraxis",
            xgap=0 if is_large else 1,
            ygap=1,
            **(
                {"hovertemplate": "<b>%{x}</b><br>%{y}<br>%{z:.4g} from no bias<extra></extra>"}
                if is_large
                else hover(
                    [
                        [
                            _hover(cell, model, query, metric)
                            for model, cell in zip(models, row, strict=True)
                        ]
                        for query, row in zip(part["queries"], rows, strict=True)
                    ]
                )
            ),
            **place,
        )
        # One trace for all: annotations would be added one by one.
        missing = [
            (j, i) for i, row in enumerate(distances) for j, z in enumerate(row) if z is None
        ]
        if missing and not is_large:
            figure.add_scatter(
                x=[j for j, _ in missing],
                y=[i for _, i in missing],
                mode="text",
                text="n/a",
                showlegend=False,
                **hover(
                    [_hover(rows[i][j], models[j], part["queries"][i], metric) for j, i in missing]
                ),
                **place,
            )
        figure.update_yaxes(
            tickvals=list(range(len(names))),
            ticktext=names,
            range=[len(names) - 0.5, -0.5],
            showgrid=False,
            **place,
        )
    if is_large:
        figure.update_xaxes(type="category", showticklabels=False, ticks="", showgrid=False)
    shown = ["Models"] if is_large else [wrap(name, 18) for name in models]
    upright = width_px(shown) > _ACROSS_PX / len(models)
    if upright and not is_large:
        shown = [wrap(name, 24) for name in models]
    if not is_large:
        figure.update_xaxes(
            tickvals=across,
            ticktext=shown,
            tickangle=-90 if upright else 0,
            ticks="",
            range=[-0.5, len(models) - 0.5],
            showgrid=False,
        )
    figure.update_layout(
        coloraxis={
            "cmin": -largest or -1,
            "cmax": largest or 1,
            "autocolorscale": True,
            "colorbar": {
                "title": {"text": f"{escape(metric['label'])}: from no bias", "side": "right"},
                "thickness": 14,
            },
        },
    )
    below_px = 30 + (width_px(shown) if upright else height_px(shown))
    return apply_layout(figure, "", [], plot_px, 30, below_px)


def _from_no_bias(cell: Mapping[str, Any], metric: Mapping[str, Any]) -> float | None:
    """Return how far a score is from no bias, with its sign, in four digits: a page has many."""
    if "score" not in cell:
        return None
    return float(f"{cell['score'] - _no_bias(cell, metric):.4g}")


def _in_cell(cell: Mapping[str, Any]) -> str:
    return f"{number(cell['score'])}{'*' if _is_small(cell) else ''}" if "score" in cell else ""


def _is_small(cell: Mapping[str, Any]) -> bool:
    return bool(cell.get("p_value", 1.0) < SIGNIFICANT) or "opposite" in cell


def _star(metric: Mapping[str, Any]) -> str:
    """Say what the star in a heat map means, if there is one."""
    cells = [cell for part in metric["parts"] for row in part["cells"] for cell in row]
    also = f", or {OPPOSITE} (one-sided)" if any("opposite" in cell for cell in cells) else ""
    stars = len(metric["models"]) <= _MOST_WITH_NUMBERS and any(map(_is_small, cells))
    return f" A star (*) marks p < {SIGNIFICANT}{also}." if stars else ""


def _no_bias(cell: Mapping[str, Any], metric: Mapping[str, Any]) -> float:
    """Return the score of a query that means no bias."""
    return float(cell.get("no_bias_value", metric["no_bias_value"]))


def _hover(cell: Mapping[str, Any], model: str, query: str, metric: Mapping[str, Any]) -> str:
    from wefe.plotting._labels import escape, wrap

    lines = [f"<b>{wrap(model)}</b>", wrap(query, 60)]
    if "score" in cell:
        label = escape(metric["label"])
        lines.append(f"{label} = {cell['score']:.4g} ({_no_bias(cell, metric):g} = no bias)")
    else:
        reason = cell.get("reason") or "not computed"
        lines.append(wrap(f"no value: {reason[:300]}", 60))
    if "interval" in cell:
        low, high = cell["interval"]
        lines.append(f"interval {low:.4g} to {high:.4g}")
    if "p_value" in cell:
        lines.append(f"p = {cell['p_value']:.3g}{f', {OPPOSITE}' if 'opposite' in cell else ''}")
    if "null" in cell:
        low, high = cell["null"]
        lines.append(f"without bias {low:.4g} to {high:.4g} (95 %)")
    if "used" in cell:
        lines.append(f"{cell['used']} words used, {cell.get('lost', 0)} lost")
    return "<br>".join(lines)


# Correlations


def _correlations(results: StudyResults, summary: Mapping[str, Any]) -> Iterator[Figure]:
    from wefe.plotting import plot_ranking_correlations

    for position, part in enumerate(summary["correlations"]):
        if part["n_models"] < 3 or len(part["columns"]) < 2:
            continue
        table = results.correlations(ranked(results, part["name"]))
        names = part["columns"]
        pairs = [
            (value, names[i], names[j])
            for i, row in enumerate(part["values"])
            for j, value in enumerate(row[:i])
            if value is not None and not math.isnan(value)
        ]
        alt = f"Matrix of correlations of {len(names)} rankings."
        if pairs:
            low, high = min(pairs), max(pairs)
            alt += f" Lowest: {low[1]} and {low[2]}, {low[0]:.2f}. "
            alt += f"Highest: {high[1]} and {high[2]}, {high[0]:.2f}."
        yield Figure(
            f"correlations-{position}",
            f"{part['method'].capitalize()} correlation of the rankings of {part['n_models']} "
            f"models, {part['name']}. 1: the same order; -1: the opposite one.",
            alt,
            _as_data(plot_ranking_correlations(table)),
        )


# Negative sentiment

# So many queries of RNSB have figures; the table has all of them.
_MOST_QUERIES = 8


def _sentiment(summary: Mapping[str, Any]) -> Iterator[Figure]:
    """Draw figures 3 and 4 of Sweeney and Najafian (ACL 2019), for models at both ends."""
    from wefe.plotting import plot_negative_sentiment, plot_negative_sentiment_correlation
    from wefe.plotting._negative_sentiment import joint_shares

    for position, part in enumerate(summary["sentiment"][:_MOST_QUERIES]):
        where = f"{part['metric']}, {part['query']} ({part['query_set']})"
        rows = {row["model"]: row for row in part["rows"]}
        ends = list(rows) if len(rows) <= 6 else [*list(rows)[:3], *list(rows)[-3:]]
        spreads = {
            model: {
                "rnsb": rows[model]["score"],
                "negative_sentiment_distribution": {
                    word: share
                    for word, share in zip(part["words"], rows[model]["shares"], strict=True)
                    if share is not None
                },
            }
            for model in ends
        }
        some = f" (of {len(rows)} models, the three at each end)" if len(ends) < len(rows) else ""
        yield Figure(
            f"sentiment-{position}",
            f"{where}: shares of negative sentiment of the target words in {listed(ends, 6)}"
            f"{some}. Dashed: equal shares, which mean that no bias was measured.",
            f"Bars of {len(part['words'])} words. The lowest score is that of {ends[0]}, the "
            f"highest that of {ends[-1]}. The table has the numbers.",
            _as_data(plot_negative_sentiment(spreads)),
        )
        for place, model in enumerate(dict.fromkeys((ends[0], ends[-1]))):
            yield Figure(
                f"matrix-{position}-{place}",
                f"{where}: joint negative sentiment of every two target words in {model}, the "
                "product of their shares.",
                f"Matrix of {len(part['words'])} by {len(part['words'])} words. It follows from "
                "the shares in the table.",
                _as_data(plot_negative_sentiment_correlation(joint_shares(spreads[model]))),
            )


# Silhouettes


def _silhouettes(results: StudyResults, summary: Mapping[str, Any]) -> Iterator[Figure]:
    """Draw a figure per metric, query and kind of list: a panel for each model."""
    from dataclasses import replace

    from wefe.plotting import plot_silhouettes

    groups: dict[tuple[str, ...], dict[str, Any]] = {}
    for task, silhouette in results.silhouettes():
        if task.model not in summary["shown"]:
            continue
        key = (silhouette.metric, task.place["query_set"], silhouette.query_name, silhouette.vary)
        groups.setdefault(key, {})[task.model] = replace(silhouette, model_name=task.model)
    position = 0
    for (metric, query_set, query, vary), by_model in groups.items():
        shown = list(by_model.values())
        # More than three panels abreast cannot be read on a page.
        for start in range(0, len(shown), 3):
            some = shown[start : start + 3]
            data = _as_data(_without_heads(plot_silhouettes(some)))
            names = [each.model_name for each in some]
            values = [f"{each.model_name} {each.robustness:.2f}" for each in some]
            yield Figure(
                f"silhouettes-{position}",
                f"Silhouette of {metric} for {query} ({query_set}), {listed(names)}: the score "
                f"with ever more of the words of the {vary}. Faint: each random order. Band: "
                "lowest to highest. Line: mean. Dashed: no bias.",
                f"Bands that narrow as words are added. Robustness: {listed(values)}.",
                data,
            )
            position += 1


def _without_heads(figure: go.Figure) -> go.Figure:
    """Leave out what the caption says, and the accuracy, for which one model must be unbiased."""
    figure.layout.annotations = [
        annotation for annotation in figure.layout.annotations if annotation.font.size != _HEAD_SIZE
    ]
    return figure


# Words along bias directions


def _spreads(summary: Mapping[str, Any]) -> Iterator[Figure]:
    for position, part in enumerate(summary["explored"]):
        rows = part["distribution"]
        if not rows:
            continue
        widest = max(rows, key=lambda row: row["mean_abs"])
        groups = part["groups"]
        towards = f" towards {widest['group']}" if len(groups) > 2 else ""
        what = (
            f"right of 0 is towards {groups[0]}, left towards {groups[1]}"
            if len(groups) == 2
            else "right of 0 is towards the group, left away from it"
        )
        yield Figure(
            f"explored-{position}",
            f"Cosines of words with the direction of {part['criterion']}: {what}. Box: the "
            "middle half of the words, with their median. Lines: 90 % of them. The vocabulary is "
            "that of frequent words.",
            f"Boxes of {len({row['set'] for row in rows})} sets of words in "
            f"{len({row['model_name'] for row in rows})} models. The set that lies farthest from 0 "
            f"in the mean is {widest['set']}{towards} in {widest['model_name']}: "
            f"{number(widest['mean_abs'])}.",
            _as_data(_spread(rows, groups)),
        )


def _spread(rows: Sequence[Mapping[str, Any]], groups: Sequence[str]) -> go.Figure:
    """Draw a panel per set of words, with a row per model; a box per group if they are several."""
    from wefe.plotting._axes import Panels
    from wefe.plotting._labels import escape, height_px, wrap
    from wefe.plotting._style import PALETTE, apply_layout

    sets = list(dict.fromkeys(row["set"] for row in rows))
    models = list(dict.fromkeys(row["model_name"] for row in rows))
    several = groups if len(groups) > 2 else [None]
    labels = [wrap(name, 26) for name in models]
    row_px = max(height_px(labels) + 12, 14 * len(several) + 12, 30)
    panels = Panels(sets, row_px * len(models) + 8, 34, 1 if len(sets) <= 3 else 2)
    figure = panels.figure()
    for (at, name), (position, group) in itertools.product(enumerate(sets), enumerate(several)):
        some = [row for row in rows if row["set"] == name and row["group"] == group]
        figure.add_box(
            q1=[row["25 %"] for row in some],
            median=[row["50 %"] for row in some],
            q3=[row["75 %"] for row in some],
            lowerfence=[row["5 %"] for row in some],
            upperfence=[row["95 %"] for row in some],
            y=[models.index(row["model_name"]) for row in some],
            orientation="h",
            offsetgroup=str(position),
            name="" if group is None else f"towards {escape(group)}",
            legendgroup=str(group),
            showlegend=group is not None and at == 0,
            marker={"color": PALETTE[-1] if group is None else PALETTE[position % len(PALETTE)]},
            **panels.place(at),
        )
    figure.update_yaxes(
        range=[len(models) - 0.45, -0.55],
        tickvals=list(range(len(models))),
        ticktext=labels,
        showgrid=False,
    )
    largest = max(max(abs(row["5 %"]), abs(row["95 %"])) for row in rows)
    ends = [-1.08 * largest or -1, 1.08 * largest or 1]
    figure.update_xaxes(range=ends, nticks=7, zeroline=True)
    last = {"row": panels.n_rows}
    title = f"← {wrap(groups[1], 24)}    cosine    {wrap(groups[0], 24)} →"
    below_px = 64
    if len(several) > 1:
        title = "cosine towards the group →"
        below_px += 30
        legend = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
        figure.update_layout(legend=legend)
    figure.update_xaxes(title_text=title, **last)
    figure.update_layout(boxmode="group")
    return apply_layout(figure, "", [], panels.height, panels.title_px, below_px)
