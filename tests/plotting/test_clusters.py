"""Figure of the most biased words and their clusters."""

import math

import pandas as pd
import pytest

from wefe.plotting import plot_clusters
from wefe.plotting._style import PALETTE


def clusters(rows):
    table = pd.DataFrame(rows, columns=["word", "group", "cluster"])
    return table.assign(x=[float(i) for i in range(len(table))], y=0.5)


WORDS = [
    ("nurse", "female", "female"),
    ("maid", "female", "female"),
    ("pilot", "male", "female"),
    ("cook", "male", "male"),
]


@pytest.mark.parametrize(
    ("column", "missing"),
    [("x", math.nan), ("y", math.inf), ("group", None), ("group", math.nan), ("cluster", None)],
)
def test_what_lacks_something_is_left_out_of_points_and_share_and_named(
    column, missing, said, drawn
):
    table = clusters(WORDS)
    table.loc[2, column] = missing
    figure = plot_clusters(table)
    assert sorted(x for trace in figure.data for x in trace.x) == [0, 1, 3]
    assert [trace.name for trace in figure.data] == ["female", "male"]
    assert "100% of 3 words fall into the cluster of their group." in figure.layout.title.text
    assert said(figure, "Left out, because there is no place, group or cluster: pilot.")
    drawn(figure)


def test_the_share_is_that_of_words_in_the_cluster_of_their_group():
    figure = plot_clusters(clusters(WORDS))
    assert "75% of 4 words fall into the cluster of their group." in figure.layout.title.text
    wrong = [trace for trace in figure.data if trace.marker.symbol == "x-thin"]
    assert [trace.x for trace in wrong] == [(2,)]
    assert wrong[0].name == "male, in a cluster<br>of others"


def test_groups_have_their_colours_and_the_eighth_is_unlike_the_first():
    names = [f"group {number}" for number in range(9)]
    table = clusters([(f"w{n}{of}", n, of) for n in names for of in (n, "group 0")])
    table.attrs["groups"] = names
    figure = plot_clusters(table)
    looks = [(trace.marker.color, trace.marker.symbol) for trace in figure.data]
    assert len({*looks}) == len(looks) == 17
    dots = [trace for trace in figure.data if "of others" not in trace.name]
    assert [trace.marker.color for trace in dots] == [*PALETTE, *PALETTE[:2]]
    assert [trace.marker.symbol for trace in dots] == ["circle"] * 7 + ["square"] * 2
