"""The figures of the report, as plain data for plotly.js, each with words that can stand for it."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from wefe._visible import visible
from wefe.report._findings import listed, number
from wefe.report._paired import SIGNIFICANT
from wefe.report._summarize import query_sets, ranked
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
        'correlations-0'; 'silhouettes-0' per metric; 'explored-0' per criterion that has a page.
    """
    made = [
        *_rankings(results, summary),
        *_heat_maps(summary),
        *_correlations(results, summary),
        *_silhouettes(results),
        *_spreads(summary),
    ]
    return {figure.id: figure for figure in made}


def _as_data(figure: go.Figure) -> dict[str, Any]:
    """Return a figure as plain data, without its title: the caption says that."""
    data = json.loads(figure.to_json())
    layout = data["layout"]
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
    from wefe.plotting import plot_ranking

    if len(summary["models"]) < 2:
        return
    for position, name in enumerate(query_sets(results)):
        kinds = [column["kind"] for column in summary["rankings"][position]["columns"]]
        ranks = results.rankings(ranked(results, name))
        # Ranks by bias add up; that of quality is another matter.
        ranks = ranks.iloc[:, [i for i, kind in enumerate(kinds) if kind == "bias"]]
        if ranks.notna().to_numpy().any():
            rows = summary["rankings"][position]["rows"]
            best = [row for row in rows if row["sum"] is not None]
            alt = f"Stacked bars of the ranks of {len(rows)} models"
            if best:
                alt += f": the shortest is that of {best[0]['model']}, the longest that of "
                alt += f"{best[-1]['model']}"
            yield Figure(
                f"ranking-{position}",
                f"Ranks by bias, {name}. Rank 1 is the least bias measured: the longer a bar, the "
                "lower the position. The sum stands beside it.",
                f"{alt}. The table has the numbers.",
                _as_data(plot_ranking(ranks)),
            )


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
            f"sign tells its direction.{_star(metric)} Point at a cell for all that is known of "
            "it.",
            f"Heat map of {n_queries} queries by {len(metric['models'])} models. The score "
            f"farthest from {metric['no_bias']} is that of {model} for {query}: "
            f"{number(largest)} away.",
            _as_data(_heat_map(metric, largest)),
        )


def _heat_map(metric: Mapping[str, Any], largest: float) -> go.Figure:
    """Draw a panel of queries by models for each query set, on one scale of colours."""
    from plotly.subplots import make_subplots

    from wefe.plotting._labels import escape, height_px, width_px, wrap
    from wefe.plotting._style import apply_layout, hover, write

    models, parts = metric["models"], metric["parts"]
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
        texts = [[_in_cell(cell) for cell in row] for row in rows]
        figure.add_heatmap(
            z=[
                [
                    None if "score" not in cell else cell["score"] - _no_bias(cell, metric)
                    for cell in row
                ]
                for row in rows
            ],
            x=across,
            y=list(range(len(names))),
            text=texts if with_numbers else None,
            texttemplate="%{text}" if with_numbers else None,
            textfont={"size": 11},
            coloraxis="coloraxis",
            xgap=1,
            ygap=1,
            **hover(
                [
                    [
                        _hover(cell, model, query, metric)
                        for model, cell in zip(models, row, strict=True)
                    ]
                    for query, row in zip(part["queries"], rows, strict=True)
                ]
            ),
            **place,
        )
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                if "score" not in cell:
                    text = _hover(cell, models[j], part["queries"][i], metric)
                    write(figure, j, i, "n/a", hovertext=text, xanchor="center", **place)
        figure.update_yaxes(
            tickvals=list(range(len(names))),
            ticktext=names,
            range=[len(names) - 0.5, -0.5],
            showgrid=False,
            **place,
        )
    shown = [wrap(name, 18) for name in models]
    upright = width_px(shown) > _ACROSS_PX / len(models)
    if upright:
        shown = [wrap(name, 24) for name in models]
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


# Silhouettes


def _silhouettes(results: StudyResults) -> Iterator[Figure]:
    """Draw a figure per metric, query and kind of list: a panel for each model."""
    from dataclasses import replace

    from wefe.plotting import plot_silhouettes

    groups: dict[tuple[str, ...], dict[str, Any]] = {}
    for task, silhouette in results.silhouettes():
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

# Quantiles from the widest range to the narrowest, and how high and how faint their bars are.
_RANGES = (("1 %", "99 %", 0.12, 0.5), ("5 %", "95 %", 0.4, 0.5), ("25 %", "75 %", 0.8, 1.0))


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
            f"Cosines of words with the direction of {part['criterion']}: {what}. Thick: the "
            "middle half of the words. Thinner: 90 % of them, and 98 %. Tick: median. The "
            "vocabulary is that of frequent words.",
            f"Bars of {len({row['set'] for row in rows})} sets of words in "
            f"{len({row['model_name'] for row in rows})} models. The set that lies farthest from 0 "
            f"in the mean is {widest['set']}{towards} in {widest['model_name']}: "
            f"{number(widest['mean_abs'])}.",
            _as_data(_spread(rows, groups)),
        )


def _spread(rows: Sequence[Mapping[str, Any]], groups: Sequence[str]) -> go.Figure:
    """Draw a panel per set of words, with a row per model; a bar per group if they are several."""
    from wefe.plotting._axes import Panels
    from wefe.plotting._labels import escape, height_px, wrap
    from wefe.plotting._style import INK, PALETTE, apply_layout, hover

    sets = list(dict.fromkeys(row["set"] for row in rows))
    models = list(dict.fromkeys(row["model_name"] for row in rows))
    several = groups if len(groups) > 2 else [None]
    labels = [wrap(name, 26) for name in models]
    row_px = max(height_px(labels) + 12, 14 * len(several) + 12, 30)
    abreast = 1 if len(sets) <= 3 else 2
    panels = Panels(sets, row_px * len(models) + 8, 34, abreast)
    figure = panels.figure()
    high = 0.8 / len(several)
    for (at, name), (bar, group) in itertools.product(enumerate(sets), enumerate(several)):
        colour = "#8a8f98" if group is None else PALETTE[bar % len(PALETTE)]
        some = [row for row in rows if row["set"] == name and row["group"] == group]
        place = panels.place(at)
        y = [
            models.index(row["model_name"]) + (bar - (len(several) - 1) / 2) * high for row in some
        ]
        hovers = [_hover_of_set(row) for row in some]
        for low, top, share, opacity in _RANGES:
            figure.add_bar(
                x=[row[top] - row[low] for row in some],
                base=[row[low] for row in some],
                y=y,
                width=share * high,
                orientation="h",
                marker={"color": colour, "opacity": opacity, "line": {"width": 0}},
                name="" if group is None else f"towards {escape(group)}",
                legendgroup=str(group),
                showlegend=group is not None and at == 0 and top == "75 %",
                **hover(hovers),
                **place,
            )
        figure.add_scatter(
            x=[row["50 %"] for row in some],
            y=y,
            mode="markers",
            marker={
                "symbol": "line-ns",
                "size": max(8, int(0.7 * high * row_px)),
                "line": {"color": INK, "width": 2},
            },
            showlegend=False,
            **hover(hovers),
            **place,
        )
    figure.update_yaxes(
        range=[len(models) - 0.45, -0.55],
        tickvals=list(range(len(models))),
        ticktext=labels,
        showgrid=False,
    )
    for at in range(len(sets)):
        place = panels.place(at)
        figure.update_yaxes(showticklabels=place["col"] == 1, **place)
    largest = max(max(abs(row["1 %"]), abs(row["99 %"])) for row in rows)
    figure.update_xaxes(
        range=[-1.08 * largest or -1, 1.08 * largest or 1],
        nticks=7,
        # Above the line of the grid, which would hide a shape.
        zeroline=True,
        zerolinecolor=INK,
        zerolinewidth=1,
    )
    below_px = 64
    title = f"← {wrap(groups[1], 24)}    cosine    {wrap(groups[0], 24)} →"
    last = {"row": panels.n_rows}
    figure.update_xaxes(
        title_text="cosine towards the group →" if len(several) > 1 else title, **last
    )
    if len(several) > 1:
        below_px += 30
        figure.update_layout(
            legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
        )
    figure.update_layout(barmode="overlay")
    return apply_layout(figure, "", [], panels.height, panels.title_px, below_px)


def _hover_of_set(row: Mapping[str, Any]) -> str:
    from wefe.plotting._labels import wrap

    towards = "" if row["group"] is None else f" towards {wrap(row['group'], 40)}"
    return (
        f"<b>{wrap(row['model_name'])}</b><br>"
        f"{wrap(row['set'], 60)}, {row['n']:,} words{towards}<br>"
        f"mean {row['mean']:.3f}, without sign {row['mean_abs']:.3f}<br>"
        f"median {row['50 %']:.3f}, middle half {row['25 %']:.3f} to {row['75 %']:.3f}<br>"
        f"98 % of them {row['1 %']:.3f} to {row['99 %']:.3f}"
    )
