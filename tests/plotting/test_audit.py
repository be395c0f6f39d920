"""Figures of individual biases."""

import numpy as np
import pytest

from wefe import Query
from wefe.audit import audit_query
from wefe.datasets import load_weat_queries
from wefe.plotting import plot_individual_biases


@pytest.fixture(scope="module")
def audits(models):
    queries = [load_weat_queries()[i] for i in (5, 6)]
    return [audit_query(query, model) for query in queries for model in models[:2]]


def texts(figure):
    return [note.text for note in figure.layout.annotations]


def lines(figure, panel=""):
    """Return where a panel has lines from top to bottom."""
    return sorted(
        shape.x0
        for shape in figure.layout.shapes
        if shape.yref == f"y{panel} domain" and shape.x0 == shape.x1
    )


def test_every_word_is_a_point_that_says_which(audits):
    audit = audits[0]
    figure = audit.plot()
    assert [trace.name for trace in figure.data] == ["Male names", "Female names"]
    for trace, use, s in zip(figure.data, audit.targets, audit.biases, strict=True):
        np.testing.assert_allclose(trace.x, s)
        assert trace.points == "all"
        assert trace.hoveron == "points"
        assert len(trace.hovertext) == len(use.used)
        assert trace.hovertext[0].startswith(f"<b>{use.used[0]}</b><br>s = {s[0]:.3f}<br>s / d")
    assert figure.data[0].line.color != figure.data[1].line.color


def test_the_numbers_stand_above(audits):
    compared = audits[0].comparison
    numbers = (
        f"effect size {compared.effect_size:.2f}, p = {compared.p_value:.2g}, "
        f"AUC {compared.auc:.2f}"
    )
    figure = audits[0].plot()
    assert numbers in texts(figure)
    assert figure.layout.title.text.startswith("Individual biases: Male names and Female names")
    assert "minilm 64d" in figure.layout.title.text
    mean = audits[0].means["Male names"]
    assert f"<b>Male names</b>, mean {mean:.3f}" in texts(figure)
    assert figure.layout.xaxis.title.text == "← Family    s(w, A, B)    Career →"


def test_what_is_attainable_is_a_line_or_a_note(audits):
    d = audits[0].attribute_difference
    near = audits[0].plot()
    assert lines(near) == [0]
    assert f"attainable: ±{d:.3g}" in texts(near)
    full = audits[0].plot(full_range=True)
    assert lines(full) == [-d, 0, d]
    assert not [text for text in texts(full) if text.startswith("attainable")]
    low, high = full.layout.xaxis.range
    assert low < -d < d < high
    relative = audits[0].plot(relative=True, full_range=True)
    assert lines(relative) == [-1, 0, 1]
    np.testing.assert_allclose(relative.data[0].x, audits[0].positions[0])
    assert "/ d" in relative.layout.xaxis.title.text


def test_several_audits_side_by_side_share_the_axis(audits, drawn):
    figure = plot_individual_biases(audits)
    assert len(figure.data) == 8
    assert {trace.xaxis for trace in figure.data} == {"x", "x2", "x3", "x4"}
    layout = drawn(figure)["layout"]
    assert len({tuple(layout[f"xaxis{number}"]["range"]) for number in ("", 2, 3, 4)}) == 1
    assert figure.layout.title.text.startswith("Individual biases<br>")
    titles = [text for text in texts(figure) if "effect size" in text]
    assert titles[0].startswith("Male names and Female names")
    assert "minilm 64d" in titles[0]
    # The attributes differ, so no end of the axis has a name.
    assert figure.layout.xaxis.title.text == "s(w, A, B)"


def test_axes_of_their_own_show_small_biases_beside_large_ones(toy_model, models, drawn):
    large = audit_query(Query([["she"], ["he"]], [["home"], ["boss"]]), toy_model)
    small = audit_query(load_weat_queries()[9], models[0])
    assert small.largest_bias < large.largest_bias / 4
    shared = plot_individual_biases([large, small])
    own = plot_individual_biases([large, small], shared_axis=False)
    assert shared.layout.xaxis2.range == shared.layout.xaxis.range == own.layout.xaxis.range
    assert own.layout.xaxis2.range == small.plot().layout.xaxis.range
    assert "Each panel has an axis of its own." in own.layout.title.text
    # What is attainable is beyond the axis of the small ones only then.
    assert f"attainable: ±{small.attribute_difference:.3g}" in texts(own)
    assert f"attainable: ±{small.attribute_difference:.3g}" not in texts(shared)
    drawn(own)


@pytest.mark.parametrize("n_sets", [1, 3])
def test_other_numbers_of_target_sets(toy_model, n_sets, drawn):
    targets = [["she", "woman"], ["he"], ["nurse", "pilot", "tree"]][:n_sets]
    audit = audit_query(Query(targets, [["home", "kids"], ["boss", "job"]]), toy_model)
    figure = audit.plot()
    assert len(figure.data) == n_sets
    n_words = len(audit.all_biases)
    assert f"{audit.n_biased} of {n_words} words beyond 10% of the attainable" in texts(figure)
    drawn(figure)


def test_attribute_sets_that_do_not_differ(toy_model, drawn):
    query = Query([["she", "he"], ["nurse", "pilot"]], [["home"], ["home"]])
    audit = audit_query(query, toy_model)
    for options in ({}, {"relative": True}, {"full_range": True}):
        figure = audit.plot(**options)
        drawn(figure)
        assert [text for text in texts(figure) if text.startswith("effect size undefined")]
        low, high = figure.layout.xaxis.range
        assert low < 0 < high
