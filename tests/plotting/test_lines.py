"""Figures of layers, and bias silhouettes."""

import math

import numpy as np
import pandas as pd

from wefe.plotting import plot_layer_scores, plot_silhouettes
from wefe.plotting._lines import _MOST_POINTS
from wefe.silhouette import Silhouette

# Layers


def layers(models=("bert",), queries=("art",), n_layers=4, no_bias=0.0, **other):
    rows = [
        (model, query, layer, layer / (n_layers - 1), math.sin(layer))
        for model in models
        for query in queries
        for layer in range(n_layers)
    ]
    table = pd.DataFrame(rows, columns=["model_name", "query_name", "layer", "depth", "score"])
    facts = dict.fromkeys(["score_lower", "score_upper", "p_value"], math.nan)
    same = {"metric": "WEAT-ES", "no_bias_value": no_bias, "nan_reason": None}
    return table.assign(**facts | same | other)


def test_one_model_has_a_line_per_query_and_several_a_panel_per_query(said):
    scores = layers(queries=("art", "career"))
    figure = plot_layer_scores(scores)
    assert [trace.name for trace in figure.data] == ["art", "career"]
    assert list(figure.data[1].x) == [0, 1, 2, 3]
    assert list(figure.data[1].y) == scores["score"][4:].tolist()
    figure = plot_layer_scores(layers(("bert", "gpt"), ("art", "career", "a"), no_bias=1.0))
    assert [trace.name for trace in figure.data if trace.showlegend] == ["bert", "gpt"]
    panels = {(trace.xaxis, trace.name) for trace in figure.data}
    assert panels == {(axis, name) for axis in ("x", "x2", "x3") for name in ("bert", "gpt")}
    assert [note.text for note in said(figure)] == ["art", "career", "a"]
    assert [shape.y0 for shape in figure.layout.shapes] == [1.0] * 3


def test_bands_stop_where_there_is_no_interval_and_undefined_scores_say_why(heading):
    scores = layers(score_lower=-2.0, score_upper=3.0)
    broken = ["score", "score_lower", "score_upper"]
    scores.loc[1, [*broken, "nan_reason"]] = [math.nan] * 3 + ["lost <all> words"]
    figure = plot_layer_scores(scores)
    first, second, line = figure.data
    shown = [list(trace.x) for trace in (first, second, line)]
    assert shown == [[0, 0], [2, 3, 3, 2], [0, 1, 2, 3]]
    assert list(second.y) == [3.0, 3.0, -2.0, -2.0]
    assert math.isnan(line.y[1])
    assert "lost &lt;all&gt; words" in line.hovertext[1]
    assert "1 score of 4 undefined" in heading(figure)


# Silhouettes


def made(model="w2v", metric="M", query="q", vary="targets", n_runs=3, sizes=(2, 4, 7), **other):
    """Return a silhouette of random scores within [-1, 1]."""
    rng = np.random.default_rng([len(model), n_runs])
    curves = rng.uniform(-0.5, 0.5, size=(n_runs, len(sizes)))
    curves[:, -1] = 0.25
    facts = {"value_range": (-1.0, 1.0), "no_bias_value": 0.0, "random_state": 0, **other}
    k = np.array(sizes)[:, None]
    return Silhouette(metric, query, model, vary, k, curves, sizes[-1], 0.25, **facts)


def test_all_runs_are_one_trace_with_gaps():
    silhouette = made()
    faint, band, mean = plot_silhouettes(silhouette).data
    np.testing.assert_array_equal(faint.x, [2, 4, 7, math.nan] * 3)
    rows = np.pad(silhouette.curves, [(0, 0), (0, 1)], constant_values=math.nan)
    np.testing.assert_allclose(faint.y, rows.ravel(), rtol=1e-6)
    np.testing.assert_allclose(band.y, [*silhouette.upper, *silhouette.lower[::-1]], rtol=1e-6)
    np.testing.assert_allclose(mean.y, silhouette.mean, rtol=1e-6)


def test_very_many_points_are_thinned_but_not_bounds_and_mean():
    sizes = tuple(range(3, 3003, 3))
    faint, band, mean = plot_silhouettes(made(n_runs=100, sizes=sizes)).data
    assert len(faint.x) <= 1.05 * _MOST_POINTS + 200
    assert len(band.x) == 2 * len(mean.x) == 2 * len(sizes)


def test_silhouettes_have_panels_with_robustness_and_the_title_names_what_they_share(said, heading):
    low, high = made("low"), made("high bias", no_bias_value=1.0)
    figure = plot_silhouettes([low, high])
    assert said(figure, f"low<br>robustness {low.robustness:.2f}")
    assert said(plot_silhouettes([made(sizes=(2,))]), "w2v<br>robustness undefined")
    assert heading(figure).startswith("Bias silhouettes: M, q, social groups vary")
    assert [line.y0 for line in figure.layout.shapes] == [0.0, 1.0]
    figure = plot_silhouettes([low, high, made("low", vary="attributes")])
    assert said(figure, "low<br>M, q, concepts vary<br>robustness")
