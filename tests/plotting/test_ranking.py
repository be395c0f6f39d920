"""Figures of ranks: they equal the tables they show, and say what is missing."""

import math

import pandas as pd
import pytest

from wefe.plotting import plot_ranking


def test_ranks_are_stacked_in_the_order_of_their_sum_best_on_top(ranking):
    figure = plot_ranking(ranking)
    order = ["glove", "fasttext", "w2v"]
    axis = figure.layout.yaxis
    assert list(axis.categoryarray) == order
    assert axis.range[0] > axis.range[1]
    assert figure.layout.barmode == "stack"
    assert figure.layout.legend.traceorder == "normal" or (
        figure.layout.template.layout.legend.traceorder == "normal"
    )
    for bar, column in zip(figure.data, ranking, strict=True):
        assert list(bar.y) == order
        assert list(bar.x) == ranking.loc[order, column].tolist()
        assert bar.name == column.removesuffix(" average of abs values score")
    assert [note.text for note in figure.layout.annotations] == ["<b>4</b>", "<b>6</b>", "<b>8</b>"]


@pytest.mark.parametrize("n_columns", [1, 2, 4, 7])
def test_with_facets_every_ranking_has_a_titled_panel_of_the_same_range(ranking, n_columns):
    wide = pd.concat([ranking] * 3, axis=1).iloc[:, :n_columns]
    wide.columns = [f"RND: query set {i}" for i in range(n_columns)]
    wide = wide.add_suffix(" average of abs values score")
    figure = plot_ranking(wide, use_metric_as_facet=True)
    panels = {(bar.xaxis or "x", bar.yaxis or "y") for bar in figure.data}
    assert len(figure.data) == len(panels) == n_columns
    titles = [note.text.replace("<br>", " ") for note in figure.layout.annotations]
    assert titles == [f"RND: query set {i}" for i in range(n_columns)]
    ranges = {tuple(axis.range) for axis in figure.select_xaxes()}
    assert len(ranges) == 1
    orders = {tuple(axis.categoryarray) for axis in figure.select_yaxes()}
    assert len(orders) == 1


@pytest.mark.parametrize("facets", [False, True])
def test_a_model_without_a_rank_stands_last_and_says_so(ranking, facets, drawn, said):
    ranking.loc["glove", ranking.columns[1]] = math.nan
    figure = plot_ranking(ranking, use_metric_as_facet=facets)
    assert list(figure.layout.yaxis.categoryarray) == ["fasttext", "w2v", "glove"]
    assert "lack a rank stand last" in figure.layout.title.text
    (note,) = said(figure, "no rank") if facets else said(figure, "<b>2 (no rank in 1)")
    assert note.y == 2
    assert len(said(figure, "glove has no rank in RND: Gender Queries.")) == (not facets)
    assert drawn(figure)["data"][1]["x"] == [1.0, 3.0, None]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        # What differs stays, also where only the weights do.
        (
            ["W: a average score", "W: Overall weighted average score"],
            ["W: a", "W: Overall weighted"],
        ),
        (["W: a sum score", "W: a average score"], ["W: a sum score", "W: a average score"]),
        (["W: a sum score", "W: a sum score (2)", "web"], ["W: a", "W: a (2)", "web"]),
        (["W: a sum score", "W: a"], ["W: a sum score", "W: a"]),
        (["W-ES: a custom aggregation score"], ["W-ES: a"]),
    ],
)
def test_headings_are_shortened_where_the_rest_is_the_same(columns, expected):
    figure = plot_ranking(pd.DataFrame([[1.0] * len(columns)], index=["m"], columns=columns))
    assert [bar.name for bar in figure.data] == expected


@pytest.mark.parametrize("wrong", [0.037, 0, 4, 1.25, -1, math.inf])
def test_scores_are_no_ranks(ranking, wrong):
    ranking.iloc[1, 1] = wrong
    message = rf"{wrong:g} in column 'RND: .*create_ranking"
    with pytest.raises(ValueError, match=message):
        plot_ranking(ranking)


def test_at_most_five_models_without_a_rank_are_listed(said):
    ranks = pd.DataFrame({"a": [1.0] + [math.nan] * 7}, index=[f"m{i}" for i in range(8)])
    (note,) = said(plot_ranking(ranks), "m1 has no rank in a.")
    assert note.text.count("has no rank") == 5
    assert note.text.endswith("and 2 more")
