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


def lines(figure):
    """Return where the first panel has lines from top to bottom."""
    shapes = figure.layout.shapes
    return sorted(line.x0 for line in shapes if line.yref == "y domain" and line.x0 == line.x1)


def test_every_word_is_a_point_and_the_numbers_stand_above(audits, said, heading):
    audit = audits[0]
    figure = plot_individual_biases(audit)
    assert [trace.name for trace in figure.data] == ["Male names", "Female names"]
    for trace, use, s in zip(figure.data, audit.targets, audit.biases, strict=True):
        np.testing.assert_allclose(trace.x, s)
        assert len(trace.hovertext) == len(use.used)
        assert trace.hovertext[0].startswith(f"<b>{use.used[0]}</b><br>s = {s[0]:.3f}<br>s / d")
    compared = audit.comparison
    (head,) = said(figure, "Male names and Female names")
    assert f"effect size {compared.effect_size:.2f}, p = {compared.p_value:.2g}, AUC" in head.text
    assert said(figure, f"<b>Male names</b>, mean {audit.means['Male names']:.3f}")
    assert heading(figure).startswith("Individual biases ")
    assert figure.layout.xaxis.title.text == "← Family    s(w, A, B)    Career →"


def test_what_is_attainable_is_a_line(audits):
    d = audits[0].attribute_difference
    assert lines(plot_individual_biases(audits[0])) == [-d, 0, d]


def test_without_two_targets_or_attributes_that_differ_there_is_no_effect_size(
    toy_model, drawn, said
):
    equal = Query([["she", "he"], ["nurse", "pilot"]], [["home"], ["home"]])
    figure = plot_individual_biases(audit_query(equal, toy_model))
    drawn(figure)
    assert any("effect size undefined" in note.text for note in said(figure))
    three = Query([["she", "woman"], ["he"], ["nurse"]], [["home", "kids"], ["boss", "job"]])
    audit = audit_query(three, toy_model)
    note = f"{audit.n_biased} of 4 words beyond 10% of the attainable"
    assert any(note in each.text for each in said(plot_individual_biases(audit)))
