"""Figures of the audit of a bias direction."""

import numpy as np
import pytest

from wefe import WordEmbeddingModel
from wefe.audit import audit_direction
from wefe.plotting import plot_direction_components, plot_direction_correlations


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


def texts(figure):
    return [note.text for note in figure.layout.annotations]


def test_two_panels_show_all_sets_and_those_without_outliers(with_outlier):
    figure = plot_direction_correlations(with_outlier)
    everything, rest = figure.data
    np.testing.assert_allclose(everything.z, with_outlier.correlations)
    np.testing.assert_allclose(rest.z, with_outlier.without(with_outlier.outliers).correlations)
    # Negative correlations must be seen as such, and panels be comparable.
    assert {(trace.zmin, trace.zmax) for trace in figure.data} == {(-1, 1)}
    assert [trace.showscale for trace in figure.data] == [True, False]
    assert everything.y[-1] == everything.x[-1] == "PC1"
    # Cells of both panels are of one size, one panel below the other.
    layout = figure.layout
    plot_px = layout.height - layout.margin.t - layout.margin.b
    assert [tuple(layout[axis].domain) for axis in ("xaxis", "xaxis2")] == [
        (0, 1),
        (0, pytest.approx(6 / 7)),
    ]
    first, second = [np.ptp(layout[axis].domain) * plot_px for axis in ("yaxis", "yaxis2")]
    assert first / 7 == pytest.approx(second / 6)
    headings = [text for text in texts(figure) if text.startswith("<b>")]
    assert [heading.partition(":")[0] for heading in headings] == [
        "<b>All sets</b>",
        "<b>Without 1 outlier</b>",
    ]
    assert f"mean {with_outlier.mean_correlation:.2f}" in headings[0]


def test_one_panel_where_there_is_nothing_to_leave_out(with_outlier, packaged_model):
    assert len(plot_direction_correlations(with_outlier, without_outliers=False).data) == 1
    audit = audit_direction("gender", packaged_model)
    figure = plot_direction_correlations(audit)
    assert len(figure.data) == 1
    assert "outlier" not in figure.layout.title.text


def test_the_first_component_is_set_apart_and_outliers_are_marked(with_outlier):
    figure = plot_direction_correlations(with_outlier, without_outliers=False)
    across, upright = figure.layout.shapes
    assert across.y0 == across.y1 == 5.5
    assert upright.x0 == upright.x1 == 5.5
    shown = figure.layout.yaxis.ticktext
    assert shown[-1] == "<b>PC1</b>"
    assert [text.endswith(" *") for text in shown] == [False] * 5 + [True, False]
    assert "*: outlier" in figure.layout.title.text


@pytest.mark.parametrize("n", [4, 45])
def test_many_pairs_have_labels_and_no_numbers(packaged_model, n):
    words = list(packaged_model.vocab)[100:]
    audit = audit_direction([words[2 * i : 2 * i + 2] for i in range(n)], packaged_model)
    figure = plot_direction_correlations(audit, without_outliers=False)
    assert figure.data[0].texttemplate == (None if n > 40 else "%{z:.2f}")
    assert figure.layout.yaxis.ticktext == figure.layout.xaxis.ticktext
    # Every label has its own line.
    assert figure.layout.height - figure.layout.margin.t - figure.layout.margin.b >= 16 * n


def test_the_scale_says_what_is_shown(toy_model):
    pairs = [["she", "he"], ["woman", "man"]]
    for correlation, name in (("cosine", "Cosine"), ("pearson", "Pearson correlation")):
        audit = audit_direction(pairs, toy_model, correlation=correlation)
        figure = plot_direction_correlations(audit)
        assert figure.data[0].colorbar.title.text == name


def test_components_beside_what_chance_would_give(with_outlier):
    figure = plot_direction_components(with_outlier)
    bars, cosines, without, stability = figure.data
    np.testing.assert_allclose(bars.y, with_outlier.explained_variance_ratio)
    assert bars.x[0] == "1"
    assert "up to here: 100.0%" in bars.hovertext[-1]
    np.testing.assert_allclose(cosines.x, np.abs(with_outlier.cosines))
    np.testing.assert_allclose(without.x, with_outlier.cosines_without)
    np.testing.assert_allclose(stability.x, with_outlier.stability)
    assert list(cosines.y) == list(with_outlier.labels)
    # The names of the sets are left of both panels.
    assert [trace.xaxis for trace in figure.data] == ["x2", None, None, None]
    assert figure.layout.xaxis.domain[0] == 0
    (line,) = figure.layout.shapes
    assert line.yref == "y2"
    assert line.y0 == pytest.approx(with_outlier.chance_ratio)


def test_a_single_set_can_be_drawn(toy_model, drawn):
    audit = audit_direction([["she", "he"]], toy_model)
    for kind in ("correlations", "components"):
        drawn(audit.plot(kind))
    assert "<b>All sets</b>: PC1 100% of variance" in texts(audit.plot())
