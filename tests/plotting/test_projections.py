"""Figures of words on a bias direction: extremes and distributions."""

import pandas as pd
import pytest

from wefe.plotting import plot_extremes, plot_projections
from wefe.plotting._style import PALETTE

GROUPS = ["female", "male", "other", "unknown"]


def extremes(groups=GROUPS[:2], models=("w2v",), n=3):
    rows = [
        (model, group, rank, f"{group}{rank}", 0.5 - 0.1 * rank)
        for model in models
        for group in groups
        for rank in range(1, n + 1)
    ]
    return pd.DataFrame(rows, columns=["model", "group", "rank", "word", "projection"])


def projections(values, models=("w2v",), sets=("jobs",), **columns):
    rows = [
        (model, name, f"word{number}", value)
        for model in models
        for name in sets
        for number, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=["model", "set", "word", "projection"]).assign(**columns)


def traces(figure, kind):
    """The bars, boxes, texts or points of a figure."""
    return [trace for trace in figure.data if kind in (trace.type, getattr(trace, "mode", None))]


def points(figure):
    return traces(figure, "markers+text")


def words_of(trace):
    return [text.strip() for text in trace.text if text]


@pytest.mark.parametrize(
    ("n_groups", "models"), [(2, ["a"]), (3, ["a"]), (4, ["a"]), (2, list("abcdefg"))]
)
def test_each_model_and_group_has_a_panel_on_one_axis(n_groups, models, said):
    table = extremes(GROUPS[:n_groups], models).sort_values("rank", ascending=False, kind="stable")
    figure = plot_extremes(table)
    titles = [note.text for note in said(figure)]
    assert titles == [f"{group}, {model}" for model in models for group in GROUPS[:n_groups]]
    assert len({bar.xaxis for bar in figure.data}) == len(titles)
    for bar in figure.data:
        assert words_of(bar) == [f"{bar.name}{rank}" for rank in (1, 2, 3)]
        assert bar.x == pytest.approx((0.4, 0.3, 0.2))
    assert figure.layout.yaxis.range == (2.6, -0.6)  # rank 1 on top
    assert {axis.range for axis in figure.select_xaxes()} == {(0, 0.8)}


def test_a_group_has_one_colour_in_all_figures():
    colours = dict(zip(GROUPS, PALETTE, strict=False))
    shown = extremes(GROUPS)
    # A table without the first group says by its attrs which are all.
    part = shown[shown["group"].isin(["male", "other"])].copy()
    part.attrs["groups"] = GROUPS
    for figure in (plot_extremes(shown), plot_extremes(part)):
        own = {bar.name: bar.marker.color for bar in traces(figure, "bar")}
        assert own.items() <= colours.items()
    # On a direction of two groups, a word has the colour of the group that it leans to.
    (trace,) = points(plot_projections(projections([0.3, -0.2])))
    assert trace.marker.color == (PALETTE[1], PALETTE[0])


def test_the_axis_says_towards_which_group_each_side_leans():
    table = projections([0.1])
    assert plot_projections(table).layout.xaxis.title.text == "cosine with the bias direction"
    table.attrs["groups"] = ["<f>", "m"]
    wanted = "← m    cosine with the bias direction    &lt;f&gt; →"
    assert plot_projections(table).layout.xaxis.title.text == wanted


def test_more_groups_have_a_panel_each_in_their_colour(said):
    table = pd.concat([projections([0.1, -0.2], group=group) for group in GROUPS])
    figure = plot_projections(table)
    assert [note.text for note in said(figure)] == [f"towards {group}" for group in GROUPS]
    away, towards = zip(*(trace.marker.color for trace in points(figure)), strict=True)
    assert towards == PALETTE[:4]
    assert len({*away}) == 1


def test_the_models_of_a_word_list_stand_together():
    table = projections([0.1, -0.2], ["a", "b"], ["jobs", "names"])
    figure = plot_projections(table)
    labels = [f"{name}, {model}<br>(2)" for name in ("jobs", "names") for model in "ab"]
    assert [*figure.layout.yaxis.ticktext] == labels
    (trace,) = points(figure)
    for row, (name, own) in enumerate(table.groupby(["set", "model"])):
        assert [trace.x[at] for at, y in enumerate(trace.y) if round(y) == row] == [-0.2, 0.1], name
        assert len(own) == 2
