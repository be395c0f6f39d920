"""Heat maps: they equal the matrices they show."""

import math

import numpy as np
import pandas as pd
import pytest

from wefe.metrics import joint_negative_sentiment
from wefe.plotting import plot_negative_sentiment_correlation, plot_ranking_correlations
from wefe.ranking import calculate_ranking_correlations

MATRIX_PLOTS = [plot_ranking_correlations, plot_negative_sentiment_correlation]


def test_correlations_range_from_minus_1_to_1_whatever_the_values(ranking):
    matrix = calculate_ranking_correlations(ranking)
    (heat_map,) = plot_ranking_correlations(matrix).data
    np.testing.assert_array_equal(heat_map.z, matrix)
    assert list(heat_map.x) == list(heat_map.y) == list(matrix.columns)
    assert (heat_map.zmin, heat_map.zmax) == (-1, 1)
    assert heat_map.texttemplate == "%{z:.2f}"


def test_headings_lose_the_aggregation_that_all_share_and_the_title_says_it(ranking):
    figure = plot_ranking_correlations(calculate_ranking_correlations(ranking))
    short = ("WEAT: Gender Queries", "RND: Gender Queries", "RNSB: Gender Queries")
    assert figure.layout.xaxis.ticktext == figure.layout.yaxis.ticktext == short
    assert "query set: average of abs values." in figure.layout.title.text
    assert ranking.columns[0] in figure.data[0].hovertext[0][0].replace("<br>", " ")


@pytest.mark.parametrize("plot", MATRIX_PLOTS)
def test_a_cell_without_value_is_marked(ranking, plot, drawn, said):
    matrix = calculate_ranking_correlations(ranking)
    matrix.iloc[0, 2] = matrix.iloc[2, 0] = math.nan
    figure = plot(matrix)
    assert {(note.x, note.y) for note in said(figure, "n/a")} == {(0, 2), (2, 0)}
    assert "n/a: no value" in figure.layout.title.text
    assert drawn(figure)["data"][0]["z"][0][2] is None


@pytest.mark.parametrize("plot", MATRIX_PLOTS)
@pytest.mark.parametrize("size", [2, 15, 60])
def test_matrices_of_any_size_are_plotted(plot, size):
    matrix = (
        pd.DataFrame(np.eye(size)).add_prefix("word ").set_axis([f"word {i}" for i in range(size)])
    )
    figure = plot(matrix)
    assert figure.layout.width > 18 * size
    assert figure.layout.height > 18 * size


def test_joint_negative_sentiment_ranges_from_0_to_its_maximum(rnsb_results):
    matrix = joint_negative_sentiment(rnsb_results[0])
    figure = plot_negative_sentiment_correlation(matrix)
    (heat_map,) = figure.data
    np.testing.assert_array_equal(heat_map.z, matrix)
    assert (heat_map.zmin, heat_map.zmax) == (0, matrix.to_numpy().max())
    assert "would give 2.78% everywhere" in figure.layout.title.text.replace("<br>", " ")
    named = plot_negative_sentiment_correlation(matrix, title="GloVe")
    assert named.layout.title.text.startswith("GloVe")


def test_words_that_occur_in_two_sets_keep_their_own_row():
    matrix = pd.DataFrame(np.full((2, 2), 0.25), index=["irish"] * 2, columns=["irish"] * 2)
    assert plot_negative_sentiment_correlation(matrix).data[0].y == ("irish", "irish (2)")
