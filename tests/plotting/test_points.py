"""Points: the neighbourhood of a word, clusters of words, and words against a statistic."""

import numpy as np
import pandas as pd
import pytest

from wefe.explore import correlate_with_statistic, word_page
from wefe.plotting import plot_clusters, plot_neighborhood, plot_statistic
from wefe.plotting._style import PALETTE


def labels(trace):
    return [text for text in trace.text if text]


# The neighbourhood of a word


def test_points_have_their_place_their_colour_and_their_values(packaged_model):
    page = word_page(packaged_model, "nurse", k=20, theta=0.1)
    figure = plot_neighborhood(page)
    centre = figure.data[-1]
    assert (centre.marker.symbol, centre.marker.color) == ("star", PALETTE[0])
    others = page.map.join(page.neighbors.set_index("rank")).query("leans_to == 'female'")
    neighbours = figure.data[0]
    assert (neighbours.x, neighbours.y) == (tuple(others["x"]), tuple(others["y"]))
    assert (neighbours.name, neighbours.marker.color) == ("female", PALETTE[0])
    ringed = [width > 1 for width in neighbours.marker.line.width]
    assert ringed == list(others["indirect_bias"] > 0.1)
    row = others.iloc[0]
    assert neighbours.hovertext[0] == (
        f"<b>{row['word']}</b><br>projection: {row['projection']:.3f}<br>"
        f"cosine with the centre: {row['cosine']:.3f}<br>indirect bias: {row['indirect_bias']:.3f}"
    )


# Clusters


@pytest.fixture
def clustered():
    groups = ["female", "female", "male", "male"]
    table = pd.DataFrame({"word": ["nurse", "maid", "pilot", "cook"], "group": groups})
    return table.assign(cluster=["female"] * 3 + ["male"], x=[0.0, 1.0, 2.0, 3.0], y=0.5)


def test_the_share_is_that_of_words_in_the_cluster_of_their_group(clustered, heading):
    figure = plot_clusters(clustered)
    assert "75% of 4 words fall into the cluster of their group." in heading(figure)
    (wrong,) = [trace for trace in figure.data if trace.marker.symbol == "x-thin"]
    assert (wrong.name, wrong.x) == ("male, in a cluster<br>of others", (2,))


# A statistic


@pytest.fixture(scope="module")
def correlation(packaged_model):
    women = {"nurse": 0.86, "dietitian": 0.91, "teacher": 0.74, "lawyer": 0.38, "pilot": 0.06}
    women["carpenter"] = 0.02
    return correlate_with_statistic(packaged_model, women, statistic_name="share <b>")


def test_every_word_is_a_point_and_texts_are_escaped(correlation, heading):
    points = plot_statistic(correlation).data[-1]
    assert points.x == tuple(correlation.words["statistic"])
    np.testing.assert_array_equal(points.y, correlation.words["bias"])
    assert "<br>share &lt;b&gt;: 0.38<br>" in points.hovertext[3]
    title = heading(plot_statistic(correlation))
    assert "and share &lt;b&gt; " in title
    assert f"Pearson r = {correlation.pearson.value:.2f} (95 % interval" in title


def test_the_line_runs_over_the_words_and_the_band_there_and_back(correlation):
    area, line, _ = plot_statistic(correlation).data
    band = correlation.band
    np.testing.assert_array_equal(line.y, band["fit"])
    np.testing.assert_array_equal(area.y, [*band["high"], *band["low"][::-1]])
