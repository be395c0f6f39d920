"""Points: the neighbourhood of a word, clusters of words, and words against a statistic."""

import math

import numpy as np
import pandas as pd
import pytest

from wefe.plotting import plot_clusters, plot_neighborhood, plot_statistic
from wefe.plotting._style import PALETTE


def labels(trace):
    return [text for text in trace.text if text]


# The neighbourhood of a word


def hood(n=12, **columns):
    rng = np.random.default_rng(0)
    table = {
        "word": ["nurse", *(f"word{number}" for number in range(1, n))],
        "x": rng.normal(size=n),
        "y": rng.normal(size=n),
        "cosine": np.linspace(1, 0.3, n),
        "projection": rng.uniform(-0.3, 0.2, n),
        "group": "female",
        "indirect_bias": rng.uniform(-0.2, 0.3, n),
        "is_center": np.arange(n) == 0,
    }
    return pd.DataFrame(table | columns)


def test_points_have_their_place_their_colour_and_their_values():
    table = hood()
    neighbours, _, _, centre = plot_neighborhood(
        table, word="nurse", groups=("female", "male")
    ).data
    others = table[~table["is_center"]]
    assert (neighbours.x, neighbours.y) == (tuple(others["x"]), tuple(others["y"]))
    assert (neighbours.name, neighbours.marker.color) == ("female", PALETTE[0])
    assert centre.marker.symbol == "star"
    row = others.iloc[0]
    assert neighbours.hovertext[0] == (
        f"<b>word1</b><br>projection: {row['projection']:.3f}<br>"
        f"cosine with the centre: {row['cosine']:.3f}<br>indirect bias: {row['indirect_bias']:.3f}"
    )


@pytest.mark.parametrize("theta", [0.05, 0.1, 0.2])
def test_rings_are_for_indirect_bias_above_theta(theta):
    table = hood()
    table.loc[[3, 4], "indirect_bias"] = math.nan, 0.1
    trace = plot_neighborhood(table, word="nurse", theta=theta).data[0]
    ringed = [width > 1 for width in trace.marker.line.width]
    assert ringed == list(table["indirect_bias"][1:] > theta)
    assert "indirect bias" not in trace.hovertext[2]


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


def test_the_note_names_the_method_of_the_map(clustered, heading):
    clustered.attrs["method"] = "PCA"
    assert "Map by PCA: " in heading(plot_clusters(clustered))
    assert "Map by UMAP: " in heading(plot_clusters(clustered, method="UMAP"))


# A statistic


def statistic(table, **options):
    return plot_statistic(table, statistic_name="share <b>", bias_name="b & c", **options)


@pytest.fixture
def words():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"word": [f"word{i}" for i in range(30)], "statistic": rng.uniform(size=30)}
    )
    return table.assign(bias=0.4 * table["statistic"] - 0.2 + rng.normal(0, 0.05, 30))


def test_every_word_is_a_point_and_texts_are_escaped(words, heading):
    figure = statistic(words, notes=["r = 0.6 (n = 30)", "p < 0.01"])
    (points,) = figure.data
    assert (points.x, points.y) == (tuple(words["statistic"]), tuple(words["bias"]))
    x, y = words[["statistic", "bias"]].iloc[3]
    assert points.hovertext[3] == f"<b>word3</b><br>share &lt;b&gt;: {x:.4g}<br>b &amp; c: {y:.3f}"
    assert heading(figure).startswith("B &amp; c and share &lt;b&gt; ")
    assert "p &lt; 0.01" in heading(figure)


def test_the_line_runs_over_the_words_and_the_band_there_and_back(words):
    band = pd.DataFrame({"statistic": [1.0, 0.0], "low": [0.1, -0.3], "high": [0.3, -0.1]})
    area, line, _ = statistic(words, fit=(0.4, -0.2), band=band).data
    assert (area.name, line.name) == ("band", "fit")
    assert area.x == (0, 1, 1, 0)
    assert area.y == (-0.1, 0.3, 0.1, -0.3)
    assert line.x == (words["statistic"].min(), words["statistic"].max())
    assert line.y == pytest.approx([0.4 * end - 0.2 for end in line.x])
