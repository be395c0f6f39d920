"""Heat maps equal the matrices they show; the audit of a bias direction."""

import math

import numpy as np
import pandas as pd
import pytest

from wefe import WordEmbeddingModel
from wefe.audit import audit_direction
from wefe.metrics import joint_negative_sentiment
from wefe.plotting import (
    plot_direction_components,
    plot_direction_correlations,
    plot_negative_sentiment_correlation,
    plot_ranking_correlations,
)
from wefe.ranking import calculate_ranking_correlations


def test_correlations_range_from_minus_1_to_1_under_short_headings(ranking, heading):
    matrix = calculate_ranking_correlations(ranking)
    figure = plot_ranking_correlations(matrix)
    (heat_map,) = figure.data
    np.testing.assert_array_equal(heat_map.z, matrix)
    assert list(heat_map.x) == list(heat_map.y) == list(matrix.columns)
    assert (heat_map.zmin, heat_map.zmax) == (-1, 1)
    short = ("WEAT: Gender Queries", "RND: Gender Queries", "RNSB: Gender Queries")
    assert figure.layout.xaxis.ticktext == figure.layout.yaxis.ticktext == short
    assert "query set: average of abs values." in heading(figure)


def test_a_cell_without_value_is_marked(ranking, drawn, said, heading):
    matrix = calculate_ranking_correlations(ranking)
    matrix.iloc[0, 2] = matrix.iloc[2, 0] = math.nan
    figure = plot_ranking_correlations(matrix)
    assert {(note.x, note.y) for note in said(figure, "n/a")} == {(0, 2), (2, 0)}
    assert "n/a: no value" in heading(figure)
    assert drawn(figure)["data"][0]["z"][0][2] is None


def test_a_large_matrix_has_room_for_labels_but_not_for_numbers():
    names = [f"word {i}" for i in range(60)]
    figure = plot_ranking_correlations(pd.DataFrame(np.eye(60), names, names))
    assert min(figure.layout.width, figure.layout.height) > 16 * 60
    assert figure.data[0].texttemplate is None


def test_joint_negative_sentiment_ranges_from_0_to_its_maximum(rnsb_results, heading):
    matrix = joint_negative_sentiment(rnsb_results[0])
    figure = plot_negative_sentiment_correlation(matrix)
    (heat_map,) = figure.data
    np.testing.assert_array_equal(heat_map.z, matrix)
    assert (heat_map.zmin, heat_map.zmax) == (0, matrix.to_numpy().max())
    assert "would give 2.78% everywhere" in heading(figure)


def test_words_that_occur_in_two_sets_keep_their_own_row():
    matrix = pd.DataFrame(np.full((2, 2), 0.25), index=["irish"] * 2, columns=["irish"] * 2)
    assert plot_negative_sentiment_correlation(matrix).data[0].y == ("irish", "irish (2)")


# The audit of a bias direction


@pytest.fixture(scope="module")
def with_outlier():
    """Six pairs, of which the last is an outlier; the names are markup."""
    rng = np.random.default_rng(0)
    halves = 0.1 * rng.standard_normal((6, 50))
    halves[:5, 0] += 1
    halves[5, 1] += 1
    words = [f"{letter}<b>{i}" for i in range(6) for letter in "fm"]
    vectors = np.stack([halves, -halves], axis=1).reshape(12, 50)
    model = WordEmbeddingModel.from_arrays(words, vectors, "a < b")
    audit = audit_direction([words[i : i + 2] for i in range(0, 12, 2)], model)
    assert audit.outliers == ("f<b>5/m<b>5",)
    return audit


def test_two_panels_show_all_sets_and_those_without_outliers(with_outlier, said):
    figure = plot_direction_correlations(with_outlier)
    everything, rest = figure.data
    np.testing.assert_allclose(everything.z, with_outlier.correlations)
    np.testing.assert_allclose(rest.z, with_outlier.without(with_outlier.outliers).correlations)
    # Negative correlations must be seen as such, and panels be comparable.
    assert {(trace.zmin, trace.zmax) for trace in figure.data} == {(-1, 1)}
    assert everything.y[-1] == everything.x[-1] == "PC1"
    assert said(figure, f"<b>All sets</b>: mean {with_outlier.mean_correlation:.2f}, PC1")
    assert said(figure, "<b>Without 1 outlier</b>")


def test_the_first_component_is_set_apart_and_outliers_are_marked(with_outlier, heading):
    figure = plot_direction_correlations(with_outlier, without_outliers=False)
    assert len(figure.data) == 1
    across, upright = figure.layout.shapes
    assert across.y0 == across.y1 == upright.x0 == upright.x1 == 5.5
    shown = figure.layout.yaxis.ticktext
    assert shown[-1] == "<b>PC1</b>"
    assert [text.endswith(" *") for text in shown] == [False] * 5 + [True, False]
    assert "*: outlier" in heading(figure)


@pytest.mark.parametrize(
    ("correlation", "name"), [("cosine", "Cosine"), ("pearson", "Pearson correlation")]
)
def test_the_scale_says_what_is_shown(toy_model, correlation, name, heading):
    pairs = [["she", "he"], ["woman", "man"]]
    figure = audit_direction(pairs, toy_model, correlation=correlation).plot()
    assert figure.data[0].colorbar.title.text == name
    assert "outlier" not in heading(figure)


def test_components_beside_what_chance_would_give(with_outlier):
    figure = plot_direction_components(with_outlier)
    bars, cosines, without, stability = figure.data
    np.testing.assert_allclose(bars.y, with_outlier.explained_variance_ratio)
    assert "up to here: 100.0%" in bars.hovertext[-1]
    np.testing.assert_allclose(cosines.x, np.abs(with_outlier.cosines))
    np.testing.assert_allclose(without.x, with_outlier.cosines_without)
    np.testing.assert_allclose(stability.x, with_outlier.stability)
    assert list(cosines.y) == list(with_outlier.labels)
    (line,) = figure.layout.shapes
    assert line.y0 == pytest.approx(with_outlier.chance_ratio)


def test_a_single_set_can_be_drawn(toy_model, drawn, said):
    audit = audit_direction([["she", "he"]], toy_model)
    drawn(audit.plot("components"))
    assert said(audit.plot(), "<b>All sets</b>: PC1 100% of variance")
