"""Heat maps equal the matrices they show; the audit of a bias direction."""

import math
from itertools import chain

import numpy as np
import pytest

from wefe import WordEmbeddingModel
from wefe.audit import audit_direction
from wefe.metrics import joint_negative_sentiment
from wefe.plotting import (
    plot_direction_correlations,
    plot_negative_sentiment_correlation,
    plot_ranking_correlations,
)
from wefe.ranking import calculate_ranking_correlations


def test_correlations_range_from_minus_1_to_1_and_a_cell_without_value_is_marked(
    ranking, drawn, said, heading
):
    matrix = calculate_ranking_correlations(ranking)
    matrix.iloc[0, 2] = matrix.iloc[2, 0] = math.nan
    figure = plot_ranking_correlations(matrix)
    (heat_map,) = figure.data
    np.testing.assert_array_equal(heat_map.z, matrix)
    assert (heat_map.zmin, heat_map.zmax) == (-1, 1)
    short = ("WEAT: Gender Queries", "RND: Gender Queries", "RNSB: Gender Queries")
    assert figure.layout.xaxis.ticktext == figure.layout.yaxis.ticktext == short
    assert {(note.x, note.y) for note in said(figure, "n/a")} == {(0, 2), (2, 0)}
    assert "query set: average of abs values." in heading(figure)
    assert drawn(figure)["data"][0]["z"][0][2] is None


def test_joint_negative_sentiment_ranges_from_0_to_its_maximum(rnsb_results, heading):
    matrix = joint_negative_sentiment(rnsb_results[0])
    figure = plot_negative_sentiment_correlation(matrix)
    (heat_map,) = figure.data
    np.testing.assert_array_equal(heat_map.z, matrix)
    assert (heat_map.zmin, heat_map.zmax) == (0, matrix.to_numpy().max())
    assert "would give 2.78% everywhere" in heading(figure)


# The audit of a bias direction


@pytest.fixture(scope="module")
def with_outlier():
    """Six pairs, of which the last is an outlier; the names are markup."""
    halves = 0.1 * np.random.default_rng(0).standard_normal((6, 50))
    halves[:5, 0] += 1
    halves[5, 1] += 1
    pairs = [[f"f<b>{i}", f"m<b>{i}"] for i in range(6)]
    vectors = np.stack([halves, -halves], axis=1).reshape(12, 50)
    model = WordEmbeddingModel(([*chain(*pairs)], vectors), "a < b")
    return audit_direction(pairs, model)


def test_the_correlations_of_all_sets_with_outliers_marked(with_outlier, heading):
    assert with_outlier.outliers == ("f<b>5/m<b>5",)
    figure = plot_direction_correlations(with_outlier)
    np.testing.assert_allclose(figure.data[0].z, with_outlier.correlations)
    assert f"the mean is {with_outlier.mean_correlation:.2f}" in heading(figure)
    # The first component is set apart and outliers are marked.
    across, upright = figure.layout.shapes[:2]
    assert across.y0 == across.y1 == upright.x0 == upright.x1 == 5.5
    shown = figure.layout.yaxis.ticktext
    assert shown[-1] == "PC1"
    assert [text.endswith(" *") for text in shown] == [False] * 5 + [True, False]
    assert "*: outlier" in heading(figure)
