"""Figure of the bias of words against a statistic of the world."""

import math

import numpy as np
import pandas as pd
import pytest

from wefe.plotting import plot_statistic

NAMES = {"statistic_name": "share of women", "bias_name": "projection"}


def words(n=30):
    rng = np.random.default_rng(0)
    statistic = rng.uniform(0, 1, n)
    bias = 0.4 * statistic - 0.2 + rng.normal(0, 0.05, n)
    return pd.DataFrame(
        {"word": [f"word{i}" for i in range(n)], "statistic": statistic, "bias": bias}
    )


def test_a_fit_or_band_that_cannot_be_plotted_is_refused():
    with pytest.raises(TypeError, match="fit"):
        plot_statistic(words(), **NAMES, fit=1.0)
    with pytest.raises(ValueError, match="columns statistic, low, high; got .*without high"):
        plot_statistic(words(), **NAMES, band=pd.DataFrame({"statistic": [0.0], "low": [0.0]}))


def test_every_word_is_a_point():
    table = words()
    (points,) = plot_statistic(table, **NAMES).data
    assert points.x == tuple(table["statistic"])
    assert points.y == tuple(table["bias"])
    x, y = table[["statistic", "bias"]].iloc[3]
    assert points.hovertext[3] == f"<b>word3</b><br>share of women: {x:.4g}<br>projection: {y:.3f}"


def test_the_line_runs_over_the_words_and_the_band_there_and_back():
    table = words()
    band = pd.DataFrame({"statistic": [1.0, 0.0], "low": [0.1, -0.3], "high": [0.3, -0.1]})
    figure = plot_statistic(table, **NAMES, fit=(0.4, -0.2), band=band)
    area, line, _ = figure.data
    assert (area.name, line.name) == ("band", "fit")
    assert area.x == (0, 1, 1, 0)
    assert area.y == (-0.1, 0.3, 0.1, -0.3)
    ends = table["statistic"].min(), table["statistic"].max()
    assert line.x == ends
    assert line.y == pytest.approx([0.4 * end - 0.2 for end in ends])


def test_the_words_farthest_from_the_line_are_named():
    table = words()
    table.loc[4, "bias"] = 1.0
    table.loc[[9, 17], "bias"] -= 0.5
    points = plot_statistic(table, **NAMES, fit=(0.4, -0.2), n_labels=3).data[-1]
    assert [text for text in points.text if text] == ["word4", "word9", "word17"]
    # Without a line: those farthest from the middle of all.
    table = words()
    table.loc[7, "statistic"] = 9.0
    points = plot_statistic(table, **NAMES, n_labels=1).data[-1]
    assert [text for text in points.text if text] == ["word7"]


def test_words_without_a_value_are_left_out_and_named(said, drawn):
    table = words()
    table.loc[2, "bias"] = math.nan
    table.loc[5, "statistic"] = math.inf
    figure = plot_statistic(table, **NAMES)
    assert len(figure.data[0].x) == 28
    assert said(figure, "Left out, because there is no statistic or bias: word2, word5.")
    drawn(plot_statistic(table.assign(bias=math.nan), **NAMES, fit=(1, 0)))


def test_texts_are_escaped_and_notes_stand_below_the_title():
    table = words()
    table.loc[0, ["word", "bias"]] = ["<b>&", 3.0]
    figure = plot_statistic(
        table, statistic_name="a <b>", bias_name="b & c", notes=["r = 0.6 (n = 30)", "p < 0.01"]
    )
    assert figure.data[0].text[0] == "&lt;b&gt;&amp;"
    assert figure.layout.xaxis.title.text == "a &lt;b&gt;"
    assert figure.layout.yaxis.title.text == "b &amp; c"
    title = figure.layout.title.text
    assert title.startswith("B &amp; c and a &lt;b&gt;<br>")
    assert "r = 0.6 (n = 30)" in title
    assert "p &lt; 0.01" in title
