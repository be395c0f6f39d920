"""Dumbbells of what was before and after a mitigation."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from wefe.debias._evidence import COLUMNS
from wefe.plotting import plot_comparison


def row_of(aspect, measure, subject, model, before, after, se=0.1, best=0.0):
    values = [aspect, measure, subject, model, before, after, after - before]
    values += [se, se / 2, se / 4, "nearer to 0", best, 10, ""]
    return dict(zip(COLUMNS, values, strict=True))


@pytest.fixture
def table():
    return pd.DataFrame(
        row
        for model, shift in (("hard", 0.0), ("soft", 0.1))
        for row in (
            row_of("bias", "WEAT", "Career", model, 0.9, 0.2 + shift),
            row_of("bias", "WEAT", "Math <b>", model, 0.5, -0.1 + shift),
            row_of("bias", "ECT", "Career", model, 0.4, 0.8 + shift, best=1.0),
            row_of("cost", "word similarity", "SimLex-999", model, 0.4, 0.39, best=math.nan),
            row_of("cost", "mean cosine displacement", "words", model, 0.0, 0.1, se=math.nan),
            row_of("residual", "classification accuracy", "gender", model, 1.0, 0.9, best=0.5),
        )
    )


def markers(figure, name):
    return [trace for trace in figure.data if trace.mode == "markers" and trace.name == name]


def test_there_is_a_panel_for_each_metric_for_cost_and_for_what_remains(table, said):
    figure = plot_comparison(table)
    assert [note.text for note in said(figure)[:4]] == ["WEAT", "ECT", "Cost", "What remains"]
    assert [axis.ticktext for axis in figure.select_yaxes()] == [
        ("Career", "Math &lt;b&gt;"),
        ("Career",),
        ("word similarity", "mean cosine displacement"),
        ("classification accuracy",),
    ]


def test_hollow_is_before_and_filled_is_after(table):
    figure = plot_comparison(table)
    before, after = markers(figure, "before"), markers(figure, "hard")
    # One trace per panel, and of the score before one per model.
    assert (len(before), len(after)) == (8, 4)
    assert [trace.x for trace in after] == [(0.2, -0.1), (0.8,), (0.39, 0.1), (0.9,)]
    assert (before[0].x, before[0].y) == ((0.9, 0.5), after[0].y)
    assert (before[0].marker.symbol, after[0].marker.symbol) == (100, 0)  # open, filled
    line = next(trace for trace in figure.data if trace.mode == "lines")
    np.testing.assert_equal(line.x, [0.9, 0.2, math.nan, 0.5, -0.1, math.nan])
    assert "change: -0.7<br>standard error of the change: 0.025" in after[0].hovertext[0]


def test_error_bars_are_intervals_of_95_percent_and_the_best_value_is_marked(table, drawn):
    figure = plot_comparison(table)
    assert markers(figure, "before")[0].error_x.array == pytest.approx([0.196, 0.196])
    assert markers(figure, "hard")[0].error_x.array == pytest.approx([0.098, 0.098])
    # No error, no bar.
    assert math.isnan(markers(figure, "hard")[2].error_x.array[1])
    assert "NaN" not in json.dumps(drawn(figure)["data"])
    weat, ect, cost, residual = markers(figure, "no bias, best value<br>or chance")
    assert (weat.x, ect.x, residual.x) == ((0.0, 0.0), (1.0,), (0.5,))
    # Scores of data sets have none.
    np.testing.assert_equal(cost.x, (math.nan, 0.0))


def test_a_missing_value_is_marked_with_its_reason(table, said):
    table.loc[0, ["after", "note"]] = math.nan, "after: a set lost words"
    table.loc[6, ["before", "after"]] = math.nan
    figure = plot_comparison(table)
    after, both = said(figure, "  no value")
    assert (after.x, after.y) == (0.9, markers(figure, "before")[0].y[0])
    assert "after: a set lost words" in after.hovertext
    assert both.x == 0.0
