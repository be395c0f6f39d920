"""Figures of the neighbours of words: the map, and the shares of groups."""

import math

import numpy as np
import pandas as pd
import pytest

from wefe.plotting import plot_group_shares, plot_neighborhood
from wefe.plotting._style import PALETTE


def hood(n=12, **columns):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "word": ["nurse", *(f"word{number}" for number in range(1, n))],
            "x": rng.normal(size=n),
            "y": rng.normal(size=n),
            "cosine": np.linspace(1, 0.3, n),
            "projection": rng.uniform(-0.3, 0.2, n),
            "group": "female",
            "indirect_bias": [0.0, *rng.uniform(-0.2, 0.3, n - 1)],
            "is_center": [True, *[False] * (n - 1)],
        }
    )
    return table.assign(**columns)


def shares(groups=("female", "male"), words=("nurse", "cook"), models=None):
    rows = [
        {"model": model, "word": word, "group": group, "share": 1 / len(groups)}
        for model in models or [""]
        for word in words
        for group in groups
    ]
    table = pd.DataFrame(rows)
    return table if models else table.drop(columns="model")


def test_points_have_their_place_their_colour_and_their_values():
    table = hood()
    figure = plot_neighborhood(table, word="nurse", groups=("female", "male"))
    neighbours, _, _, centre = figure.data
    others = table[~table["is_center"]]
    assert neighbours.x == tuple(others["x"])
    assert neighbours.y == tuple(others["y"])
    assert (neighbours.name, neighbours.marker.color) == ("female", PALETTE[0])
    assert centre.marker.symbol == "star"
    assert centre.text == ("<b>nurse</b>",)
    row = others.iloc[0]
    assert neighbours.hovertext[0] == (
        f"<b>word1</b><br>projection: {row['projection']:.3f}<br>"
        f"cosine with the centre: {row['cosine']:.3f}<br>indirect bias: {row['indirect_bias']:.3f}"
    )
    assert figure.layout.yaxis.scaleanchor == "x"
    assert not figure.layout.xaxis.showticklabels


def test_rings_are_for_indirect_bias_above_theta():
    table = hood()
    table.loc[3, "indirect_bias"] = math.nan
    table.loc[4, "indirect_bias"] = 0.1
    for theta in (0.05, 0.1, 0.2):
        trace = plot_neighborhood(table, word="nurse", theta=theta).data[0]
        ringed = [width > 1 for width in trace.marker.line.width]
        assert ringed == [value > theta for value in table["indirect_bias"][1:]]
        assert "indirect bias" not in trace.hovertext[2]


def test_at_most_the_nearest_words_are_named():
    table = hood(60, x=np.arange(60.0) % 4, y=np.arange(60.0) // 4)
    trace = plot_neighborhood(table, word="nurse", n_labels=5).data[0]
    assert [text for text in trace.text if text] == [f"word{number}" for number in range(1, 6)]
    crowded = hood(60, x=0.0, y=0.0)
    assert not any(plot_neighborhood(crowded, word="nurse").data[0].text)


def test_the_centre_is_named_even_in_a_crowd():
    around = [[0.01 * i, 0.01 * j] for i in range(-10, 11) for j in range(-10, 11) if i or j]
    table = hood(len(around) + 1)
    table[["x", "y"]] = [[0.0, 0.0], *around]
    *_, centre = plot_neighborhood(table, word="nurse").data
    assert centre.text == ("<b>nurse</b>",)
    assert centre.marker.opacity == 1


@pytest.mark.parametrize("column", ["x", "y", "projection"])
def test_what_has_no_place_or_projection_is_left_out_and_named(column, said, drawn):
    table = hood()
    table.loc[2, column] = math.nan
    figure = plot_neighborhood(table, word="nurse")
    assert len(figure.data[0].x) == 10
    assert said(figure, "Left out, because there is no place or projection: word2.")
    drawn(plot_neighborhood(table.assign(**{column: math.nan}), word="nurse"))


def test_more_groups_are_told_apart_by_their_colours():
    names = ["asian", "black", "caucasian", "other"]
    table = hood(13, group=[names[i % 4] for i in range(13)])
    figure = plot_neighborhood(table, word="nurse", groups=names)
    *of_groups, _, centre = figure.data
    assert [(trace.name, trace.marker.color) for trace in of_groups] == list(
        zip(names, PALETTE, strict=False)
    )
    assert [len(trace.x) for trace in of_groups] == [3, 3, 3, 3]
    assert (centre.name, centre.marker.color) == ("centre", PALETTE[0])
    table.loc[4, "group"] = "no clear direction"
    *_, none, centre = plot_neighborhood(table, word="nurse").data
    assert (none.name, len(none.x)) == ("no clear direction", 1)
    assert none.marker.color not in PALETTE[:4]


def test_labels_are_not_written_over_each_other():
    trace = plot_neighborhood(hood(200), word="nurse", n_labels=200).data[0]
    named = [(x, y) for x, y, text in zip(trace.x, trace.y, trace.text, strict=True) if text]
    across, down = np.ptp(trace.x), np.ptp(trace.y)
    assert 5 < len(named) < 150
    for i, (x, y) in enumerate(named):
        for other_x, other_y in named[:i]:
            assert abs(x - other_x) > 0.1 * across or abs(y - other_y) > 0.03 * down


def with_chance(low=0.1, high=0.6):
    return shares(("female", "male", "no clear direction")).assign(low=low, high=high)


def bars_of(figure, group):
    return next(trace for trace in figure.data if trace.name == group)


def test_bars_that_chance_explains_are_hollow_and_a_line_is_their_interval():
    table = with_chance()
    table["share"] = [0.7, 0.05, 0.25, 0.3, 0.6, 0.1]
    figure = plot_group_shares(table, groups=("female", "male", "no clear direction"))
    hollow = [trace for trace in figure.data if trace.marker.line.width]
    full = [trace for trace in figure.data if not trace.marker.line.width]
    assert [trace.marker.color for trace in full] == list(PALETTE[:3])
    assert [trace.x for trace in full] == [(0.7, None), (0.05, None), (None, None)]
    assert [trace.x for trace in hollow] == [(None, 0.3), (None, 0.6), (0.25, 0.1)]
    error = full[0].error_x
    assert error.array == pytest.approx([0.6 - 0.7, 0.6 - 0.3])
    assert error.arrayminus == pytest.approx([0.7 - 0.1, 0.3 - 0.1])
    assert "Hollow bars end within their line" in figure.layout.title.text


@pytest.mark.parametrize("table", [shares(), pd.concat([shares(), shares()])])
def test_shares_that_are_none_are_refused(table):
    with pytest.raises(ValueError, match="'share'.*got more for nurse, cook"):
        plot_group_shares(table.assign(share=table["share"] + 0.1))


def test_rows_say_what_the_words_lean_to():
    labels = ["female", "no clear direction"]
    table = shares().assign(leans_to=[label for label in labels for _ in range(2)])
    first, second = plot_group_shares(table).layout.yaxis.ticktext
    assert first.startswith("nurse<br>")
    assert "leans to female" in first
    assert "no clear direction" in second
    assert "leans to" not in second


def test_models_have_a_panel_each_and_lacking_words_are_marked(said):
    table = shares(models=("w2v", "glove"))
    table = table[(table["model"] == "w2v") | (table["word"] == "nurse")]
    figure = plot_group_shares(table)
    assert [note.text for note in figure.layout.annotations[:2]] == ["w2v", "glove"]
    assert len(said(figure, " no value")) == 2
    assert all(
        sum(bar.name == name and bar.showlegend for bar in figure.data) == 1
        for name in ("female", "male")
    )
    assert "Which way the neighbours of 2 words lean" in figure.layout.title.text
    table = shares()
    table.loc[table["word"] == "cook", "share"] = math.nan
    assert len(said(plot_group_shares(table), " no value")) == 2
