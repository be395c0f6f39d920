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


def test_two_groups_stand_on_both_sides_of_0_by_rank_whatever_the_order_of_rows():
    table = extremes().sample(frac=1, random_state=0)
    table.attrs["groups"] = GROUPS[:2]
    figure = plot_extremes(table)
    bars = {bar.name: bar.x for bar in traces(figure, "bar")}
    assert bars["female"] == pytest.approx((0.4, 0.3, 0.2))
    assert bars["male"] == pytest.approx((-0.4, -0.3, -0.2))
    for trace, group in zip(traces(figure, "text"), bars, strict=True):
        assert words_of(trace) == [f"{group}{rank}" for rank in (1, 2, 3)]
    assert figure.layout.yaxis.range == (2.6, -0.6)  # rank 1 on top
    assert figure.layout.xaxis.title.text == "← male    cosine with the bias direction    female →"


@pytest.mark.parametrize(("n_groups", "models"), [(3, ["a"]), (4, ["a"]), (2, list("abcdefg"))])
def test_more_groups_or_models_have_a_panel_each_on_one_axis(n_groups, models, said):
    figure = plot_extremes(extremes(GROUPS[:n_groups], models))
    bars = traces(figure, "bar")
    titles = [note.text for note in said(figure)]
    assert titles == (models if n_groups == 2 else [f"{group}, a" for group in GROUPS[:n_groups]])
    assert len({bar.xaxis for bar in bars}) == len(titles)
    assert (min(x for bar in bars for x in bar.x) > 0) == (n_groups > 2)
    assert {axis.matches for axis in figure.select_xaxes()} == {None, "x"}


def test_a_group_has_one_colour_in_all_figures():
    colours = dict(zip(GROUPS, PALETTE, strict=False))
    shown = extremes(GROUPS)
    # A table without the first group says by its attrs which are all.
    part = shown[shown["group"].isin(["male", "other"])].copy()
    part.attrs["groups"] = GROUPS
    for figure in (plot_extremes(shown), plot_extremes(part)):
        own = {bar.name: bar.marker.line.color for bar in traces(figure, "bar")}
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
    assert [note.text for note in said(figure)] == [f"w2v, towards {group}" for group in GROUPS]
    away, towards = zip(*(trace.marker.color for trace in points(figure)), strict=True)
    assert towards == PALETTE[:4]
    assert len({*away}) == 1
