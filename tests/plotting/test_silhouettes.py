"""Figures of bias silhouettes."""

import math

import numpy as np
import pytest

from wefe.plotting import plot_silhouettes
from wefe.plotting._lines import _MOST_POINTS
from wefe.silhouette import Silhouette, accuracy_score


def made(model="w2v", metric="M", query="q", vary="targets", n_runs=3, sizes=(2, 4, 7), **other):
    """Return a silhouette of random scores within [-1, 1]."""
    rng = np.random.default_rng([len(model), n_runs])
    curves = rng.uniform(-0.5, 0.5, size=(n_runs, len(sizes)))
    curves[:, -1] = 0.25
    facts = {"value_range": (-1.0, 1.0), "no_bias_value": 0.0, **other}
    return Silhouette(
        metric, query, model, vary, np.array(sizes)[:, None], curves, sizes[-1], 0.25,
        random_state=0, **facts,
    )  # fmt: skip


def texts(figure):
    return [note.text for note in figure.layout.annotations]


def test_all_runs_are_one_trace_with_gaps():
    silhouette = made()
    faint, band, mean = plot_silhouettes(silhouette).data
    assert faint.name == "3 runs"
    assert len(faint.x) == 3 * 4
    np.testing.assert_array_equal(faint.x[:4], [2, 4, 7, math.nan])
    rows = np.reshape(faint.y, (3, 4))
    np.testing.assert_allclose(rows[:, :3], silhouette.curves, rtol=1e-6)
    assert np.isnan(rows[:, 3]).all()
    assert faint.opacity < 1
    np.testing.assert_allclose(band.y[:3], silhouette.upper, rtol=1e-6)
    np.testing.assert_allclose(band.y[3:], silhouette.lower[::-1], rtol=1e-6)
    assert list(band.x) == [2, 4, 7, 7, 4, 2]
    assert band.fill == "toself"
    np.testing.assert_allclose(mean.y, silhouette.mean, rtol=1e-6)
    assert list(mean.x) == [2, 4, 7]


def test_very_many_points_are_thinned_but_not_bounds_and_mean():
    sizes = tuple(range(3, 3003, 3))
    silhouette = made(n_runs=100, sizes=sizes)
    figure = plot_silhouettes(silhouette)
    faint, band, mean = figure.data
    assert len(faint.x) <= 1.05 * _MOST_POINTS + 200
    one = faint.x[: len(faint.x) // 100]
    assert (one[0], one[-2]) == (3, 3000)
    assert len(mean.x) == len(sizes)
    assert len(band.x) == 2 * len(sizes)
    # All points would take 2 MB. (Plotly 6 writes them in base64, older releases as text.)
    assert len(figure.to_json()) < 800_000


def test_models_have_panels_with_the_same_axes_and_their_robustness(drawn):
    low, high = made("low"), made("a model of high bias")
    figure = plot_silhouettes([low, high])
    assert len(figure.data) == 6
    assert figure.data[0].line.color != figure.data[3].line.color
    assert f"low<br>robustness {low.robustness:.2f}" in texts(figure)
    layout = drawn(figure)["layout"]
    assert layout["yaxis"]["range"] == layout["yaxis2"]["range"]
    assert layout["xaxis"]["range"] == layout["xaxis2"]["range"]
    start, end = layout["yaxis"]["range"]
    curves = np.concatenate([low.curves, high.curves])
    assert start < curves.min()
    assert end > curves.max()
    assert end - start < 1.2


def test_accuracy_is_in_the_heading_and_the_note_says_of_what():
    low, high = made("low"), made("high bias")
    figure = plot_silhouettes([low, high])
    score = accuracy_score(low, high)
    assert f"<b>M, q, social groups vary: accuracy {score:.2f}</b>" in texts(figure)
    assert "Accuracy takes low for unbiased and high bias for biased." in figure.layout.title.text
    turned = plot_silhouettes([low, high], unbiased="high bias", biased="low")
    assert f"<b>M, q, social groups vary: accuracy {1 - score:.2f}</b>" in texts(turned)
    alone = plot_silhouettes(low)
    assert "<b>M, q, social groups vary</b>" in texts(alone)
    assert "ccuracy" not in alone.to_json()


def test_silhouettes_that_cannot_be_compared_stand_side_by_side():
    figure = plot_silhouettes([made("a"), made("bb", sizes=(2, 4, 6))])
    assert "accuracy" not in figure.to_json()
    assert len(figure.data) == 6


def test_no_bias_is_always_in_sight():
    silhouette = made(no_bias_value=1.0, value_range=(-2.0, 2.0))
    figure = plot_silhouettes(silhouette)
    (line,) = figure.layout.shapes
    assert line.y0 == line.y1 == 1.0
    assert 1 < figure.layout.yaxis.range[1] < 2
    assert plot_silhouettes(silhouette, full_range=True).layout.yaxis.range[1] > 2


def test_metrics_queries_and_lists_have_rows_of_their_own(drawn):
    given = [
        made(model, metric, query, vary)
        for metric in ("M", "N")
        for query in ("q", "r")
        for vary in ("targets", "attributes")
        for model in ("a", "bb")
        if (metric, query, model) != ("N", "r", "bb")
    ]
    figure = plot_silhouettes(given)
    heads = [text for text in texts(figure) if text.startswith("<b>")]
    assert len(heads) == 8
    assert heads[0].startswith("<b>M, q, social groups vary")
    assert heads[1].startswith("<b>M, q, concepts vary")
    assert heads[-1] == "<b>N, r, concepts vary</b>"
    assert texts(figure).count("bb<br>no value") == 2
    assert len(figure.data) == 3 * 14
    assert figure.layout.height > plot_silhouettes(given[:2]).layout.height
    drawn(figure)


def test_a_single_size_is_a_point():
    (*_, mean) = plot_silhouettes(made(sizes=(4,))).data
    assert mean.mode == "markers"
    assert list(mean.y) == [0.25]


def test_what_is_no_silhouette_is_refused():
    with pytest.raises(ValueError, match="two of M"):
        plot_silhouettes([made(), made()])
    with pytest.raises(ValueError, match="biased must be one of"):
        plot_silhouettes([made()], unbiased="w2v")
    with pytest.raises(ValueError, match="biased must be one of"):
        plot_silhouettes([made("a"), made("bb")], unbiased="a", biased="c")
