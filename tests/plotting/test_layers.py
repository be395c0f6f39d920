"""Figures of encoders."""

import math

import numpy as np
import pytest

from wefe.contextual import LayerScore, LayerScores
from wefe.embeddings import EmbeddedQuery
from wefe.plotting import plot_effect_sizes, plot_layer_scores
from wefe.query import Query
from wefe.results import MetricResult


def made(models=("bert",), queries=("art",), n_layers=4, no_bias=0.0, **other):
    scores = [
        LayerScore(
            model, query, layer, layer / (n_layers - 1), math.sin(layer + len(query)), **other
        )
        for model in models
        for query in queries
        for layer in range(n_layers)
    ]
    return LayerScores("WEAT-ES", no_bias, tuple(scores))


def ceat(effect_sizes, combined=0.5, name="bert", nan_reason=None):
    query = Query([["a"], ["b"]], [["c"], ["d"]], ["X", "Y"], ["A", "B"])
    values = {"query_name": query.query_name, "result": combined, "ceat": combined}
    return MetricResult(
        {**values, "standard_error": 0.01},
        EmbeddedQuery(query, name, (), ()),
        "CEAT",
        nan_reason,
        {"effect_sizes": np.asarray(effect_sizes, dtype=float)},
    )


def test_one_model_has_a_line_per_query():
    scores = made(queries=("art", "career"))
    figure = plot_layer_scores(scores)
    assert [trace.name for trace in figure.data] == ["art", "career"]
    assert list(figure.data[1].x) == [0, 1, 2, 3]
    assert list(figure.data[1].y) == [score.score for score in scores.scores[4:]]
    assert figure.data[0].line.color != figure.data[1].line.color
    assert figure.layout.showlegend
    assert [shape.y0 for shape in figure.layout.shapes] == [0.0]


def test_several_models_have_a_panel_per_query(drawn, said):
    scores = made(("bert", "gpt"), ("art", "career", "a"), no_bias=1.0)
    figure = plot_layer_scores(scores)
    assert [trace.name for trace in figure.data if trace.showlegend] == ["bert", "gpt"]
    assert len(figure.data) == 6
    for query in ("art", "career"):
        assert said(figure, query)
    by_panel = {}
    for trace in figure.data:
        by_panel.setdefault(trace.xaxis, []).append(trace.name)
    assert list(by_panel.values()) == [["bert", "gpt"]] * 3
    assert [shape.y0 for shape in figure.layout.shapes] == [1.0] * 3
    drawn(figure)


def test_relative_depth_puts_models_of_any_depth_side_by_side():
    scores = LayerScores("M", 0.0, made(n_layers=3).scores + made(("large",), n_layers=25).scores)
    figure = plot_layer_scores(scores, relative=True)
    assert [(trace.x[0], trace.x[-1]) for trace in figure.data] == [(0, 1), (0, 1)]
    assert "Depth" in figure.layout.xaxis.title.text


def test_intervals_are_bands():
    figure = plot_layer_scores(made(score_lower=-2.0, score_upper=3.0))
    band, line = figure.data
    assert list(band.x) == [0, 1, 2, 3, 3, 2, 1, 0]
    assert list(band.y) == [3.0] * 4 + [-2.0] * 4
    assert band.fill == "toself"
    assert "Bands" in figure.layout.title.text
    assert line.mode == "lines+markers"


def test_bands_stop_where_there_is_no_interval():
    gap = LayerScore("bert", "art", 1, 1 / 3, 0.0)
    scores = made(score_lower=-2.0, score_upper=3.0).scores
    figure = plot_layer_scores(LayerScores("M", 0.0, (scores[0], gap, *scores[2:])))
    first, second, line = figure.data
    assert [list(first.x), list(second.x), list(line.x)] == [[0, 0], [2, 3, 3, 2], [0, 1, 2, 3]]


def test_layers_are_marked_by_whole_numbers():
    assert plot_layer_scores(made(n_layers=3)).layout.xaxis.dtick == 1
    assert plot_layer_scores(made(n_layers=49)).layout.xaxis.dtick == 4


def test_undefined_scores_are_gaps_that_say_why():
    scores = made().scores
    broken = LayerScore("bert", "art", 2, 2 / 3, math.nan, nan_reason="lost <all> words")
    figure = plot_layer_scores(LayerScores("M", 0.0, (*scores[:2], broken, scores[3])))
    assert math.isnan(figure.data[0].y[2])
    assert "lost &lt;all&gt; words" in figure.data[0].hovertext[2]
    assert "1 score of 4 undefined" in figure.layout.title.text


def test_effect_sizes_are_histograms_with_the_same_bins(said):
    rng = np.random.default_rng(0)
    one, other = rng.normal(0.5, 0.1, 1000), rng.normal(-0.5, 0.3, 500)
    figure = plot_effect_sizes([ceat(one), ceat([*other, math.nan], -0.5, "gpt")])
    first, second = figure.data
    assert sum(first.y) == pytest.approx(1)
    assert sum(second.y) == pytest.approx(1)
    assert list(first.x) == list(second.x)
    assert sum(x * y for x, y in zip(first.x, first.y, strict=True)) == pytest.approx(
        one.mean(), abs=0.02
    )
    assert [shape.x0 for shape in figure.layout.shapes] == [0, 0.5, 0, -0.5]
    low, high = np.quantile(other, [0.025, 0.975])
    titles = said(figure, "X and Y wrt A and B")
    assert titles[1].text.endswith(f"gpt<br>CEAT = -0.5, 95 % within {low:.3g} to {high:.3g}")


def test_equal_effect_sizes_have_a_bar():
    figure = plot_effect_sizes(ceat([1.25] * 10, 1.25))
    assert max(figure.data[0].y) == 1
    assert plot_effect_sizes(ceat([0.0] * 10, 0.0)).layout.xaxis.range == (-0.1, 0.1)


def test_undefined_results_say_why(said):
    figure = plot_effect_sizes([ceat([math.nan], math.nan, nan_reason="all alike")])
    assert said(figure, "no value: all alike")
