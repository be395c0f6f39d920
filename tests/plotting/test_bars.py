"""Bars of scores, ranks and shares: they equal the tables they show, and say what is missing."""

import math

import numpy as np
import pandas as pd
import pytest

from wefe import Query, load_test_model
from wefe.datasets import load_weat_queries
from wefe.plotting import plot_group_shares, plot_queries_results, plot_ranking
from wefe.running import measure, run_queries

both_ways = pytest.mark.parametrize("by", ["query", "model"])
EXACT = {"calculate_p_value": True, "p_value_method": "exact"}

# Scores


@pytest.fixture(scope="module")
def results(models):
    return run_queries(
        "weat",
        load_weat_queries()[:4],
        models,
        queries_set_name="Pleasantness",
        metric_params={"return_effect_size": True},
        aggregate_results=True,
    )


def tidy(table, reason):
    """Scores as of `measure`, with a reason for NaN."""
    long = table.rename_axis(index="model_name", columns="query_name").stack(future_stack=True)
    facts = {"metric": "WEAT", "query_set": "Unnamed queries set", "no_bias_value": 0.0}
    return long.rename("score").reset_index().assign(**facts, nan_reason=reason)


def ends(bars):
    """Where bars end: the scores."""
    return np.concatenate([np.asarray(bar.x, dtype=float) + bar.base for bar in bars])


def lines_at(figure):
    return [shape.x0 for shape in figure.layout.shapes if shape.type == "line"]


def hollow_bars(figure):
    """The scores that are drawn hollow, by legend group."""
    return {
        bar.legendgroup: [x for x in bar.x if x is not None]
        for bar in figure.data
        if bar.marker.line.width and bar.legendgroup
    }


@both_ways
def test_bars_end_at_the_scores_in_the_order_of_the_table(results, by, said, heading):
    table = results if by == "query" else results.T
    figure = plot_queries_results(results, by=by)
    layout = figure.layout
    assert [bar.legendgroup for bar in figure.data] == list(table.index)
    assert list(layout.yaxis.tickvals) == list(table.columns)
    assert layout.yaxis.range[0] > layout.yaxis.range[1]  # the first on top
    np.testing.assert_array_equal(ends(figure.data), table.to_numpy().ravel())
    assert heading(figure) == "WEAT-ES: Pleasantness"
    assert layout.xaxis.title.text == "WEAT-ES score (0 = no bias measured)"
    assert lines_at(figure) == [0]
    assert said(figure, "no bias: 0")


@both_ways
def test_bars_start_at_no_bias_and_an_aggregate_with_another_has_its_own_axis(ect_results, by):
    figure = plot_queries_results(ect_results, by=by)
    assert lines_at(figure) == [1, 0]
    titles = [axis.title.text.replace("<br>", " ") for axis in figure.select_xaxes()]
    assert titles == [
        "ECT score (1 = no bias measured)",
        "Average distance from no bias (0 = no bias measured)",
    ]
    scores, aggregated = ([bar for bar in figure.data if bar.xaxis == x] for x in ("x", "x2"))
    assert {bar.base for bar in scores} == {1}
    table = ect_results.iloc[:, :-1] if by == "query" else ect_results.iloc[:, :-1].T
    np.testing.assert_allclose(ends(scores), table.to_numpy().ravel(), rtol=1e-14)
    np.testing.assert_array_equal(ends(aggregated), ect_results.iloc[:, -1])


def test_a_table_from_a_file_is_read_by_its_heading(ect_results, tmp_path):
    ect_results.to_csv(tmp_path / "scores.csv")
    table = pd.read_csv(tmp_path / "scores.csv", index_col="model_name")
    shown = [plot_queries_results(each).to_json() for each in (table, ect_results)]
    assert shown[0] == shown[1]
    assert lines_at(plot_queries_results(table.iloc[:, :-1])) == []


@both_ways
def test_a_missing_score_says_so_at_its_place_with_the_reason(results, by, drawn, said, heading):
    table = results.copy()
    table.iloc[1, 2] = math.nan
    reason = "'Insects' lost 33% of its words (<xyzzy>), more than the 20% allowed; 'X' lost 100% "
    reason += "of its words (:)), nothing is left; 3 are in lower case: preprocessors=[{}]"
    figure = plot_queries_results(tidy(table, reason), by=by)
    (note,) = said(figure, "no value")
    assert "lost 33% of its words (&lt;xyzzy&gt;)" in note.hovertext.replace("<br>", " ")
    trace, slot = (1, 2) if by == "query" else (2, 1)
    # The second of 3 slots, or the third of 5, is the middle of the row.
    assert (note.text, note.y) == ("no value (a)", pytest.approx(slot))
    assert "1 score has no value (reasons below)" in heading(figure)
    short = "'Insects' lost 33% of its words; 'X' lost 100% of its words; 3 are in lower case"
    assert said(figure, "a: ")[0].text.replace("<br>", " ") == f"a: {short}"
    assert drawn(figure)["data"][trace]["x"][slot] is None


@both_ways
def test_a_score_of_no_bias_is_a_dot_on_its_line_unlike_a_missing_one(ect_results, by, said):
    table = ect_results.copy()
    table.iloc[0, 0], table.iloc[1, 1], table.iloc[2, 0] = 1.0, 0.9999, math.nan
    figure = plot_queries_results(table, by=by)
    dots = said(figure, "●")
    assert [dot.x for dot in dots] == [1, 1]
    assert {dot.font.color for dot in dots} == {bar.marker.color for bar in figure.data[:2]}
    assert len(said(figure, "no value")) == 1


@both_ways
def test_bars_with_a_large_p_value_are_hollow_and_small_ones_are_mentioned(models, by, heading):
    tested = measure("weat", load_weat_queries()[:3], models, metric_params=EXACT)
    large = tested[(tested["p_value"] > 0.05) & tested["warnings"].isna()]  # else: the other way
    figure = plot_queries_results(tested, by=by)
    names = "model_name" if by == "query" else "query_name"
    wanted = {name: list(part["score"]) for name, part in large.groupby(names)}
    assert hollow_bars(figure) == wanted != {}
    meaning = figure.data[-1].name.replace("<br>", " ")
    assert meaning == "p &gt; 0.05 (right-sided permutation test of WEAT)"
    small = plot_queries_results(tested[tested["p_value"] <= 0.05].iloc[:1], by=by)
    assert "All p-values are at most 0.05 (right-sided permutation test" in heading(small)
    (hover,) = small.data[0].hovertext
    for part in (f"WEAT = {small.data[0].x[0]:.4g}", "no bias: 0", "p = "):
        assert f"<br>{part}" in hover


@both_ways
def test_a_bar_against_a_one_sided_test_is_full_and_named_if_it_is_significant(by, heading):
    flowers, _, names = load_weat_queries()[:3]
    reverse = Query(flowers.target_sets[::-1], flowers.attribute_sets)
    table = measure("weat", [reverse, names], [load_test_model()], metric_params=EXACT)
    assert (table["p_value"] > 0.05).all()
    figure = plot_queries_results(table, by=by)
    hollow = [x for some in hollow_bars(figure).values() for x in some]
    assert hollow == [table["score"].iloc[1]]
    hovers = [text for bar in figure.data if bar.showlegend for text in bar.hovertext]
    assert ["strong in the opposite direction" in text for text in hovers] == [True, False]
    assert "1 full bar is strong in the opposite direction" in heading(figure)


# Ranks


def test_ranks_are_stacked_in_the_order_of_their_sum_best_on_top(ranking, said):
    figure = plot_ranking(ranking)
    order = ["glove", "fasttext", "w2v"]
    axis = figure.layout.yaxis
    assert list(axis.tickvals) == order
    assert axis.range[0] > axis.range[1]
    for bar, column in zip(figure.data, ranking, strict=True):
        assert (list(bar.y), list(bar.x)) == (order, ranking.loc[order, column].tolist())
        assert bar.name == column.removesuffix(" average of abs values score")
    assert [note.text for note in said(figure)] == ["<b>4</b>", "<b>6</b>", "<b>8</b>"]


@pytest.mark.parametrize("facets", [False, True])
def test_a_model_without_a_rank_stands_last_and_says_so(ranking, facets, drawn, said, heading):
    ranking.loc["glove", ranking.columns[1]] = math.nan
    figure = plot_ranking(ranking, use_metric_as_facet=facets)
    assert list(figure.layout.yaxis.tickvals) == ["fasttext", "w2v", "glove"]
    assert len({(bar.xaxis, bar.yaxis) for bar in figure.data}) == (3 if facets else 1)
    assert len({axis.range for axis in figure.select_xaxes()}) == 1
    assert "lack a rank stand last" in heading(figure)
    (note,) = said(figure, "no rank") if facets else said(figure, "<b>2 (no rank in 1)")
    assert note.y == 2
    assert len(said(figure, "glove has no rank in RND: Gender Queries.")) == (not facets)
    assert drawn(figure)["data"][1]["x"] == [1.0, 3.0, None]


# Shares of the neighbours of words


def shares(models=("",), **columns):
    index = pd.MultiIndex.from_product([models, ["nurse", "cook"], ["female", "male"]])
    table = index.set_names(["model", "word", "group"]).to_frame(index=False)
    return table.assign(**{"share": 0.5} | columns)


def test_bars_that_chance_explains_are_hollow_and_a_line_is_their_interval(heading):
    leans_to = ["female", "female", "no clear direction", "no clear direction"]
    table = shares(share=[0.7, 0.3, 0.4, 0.6], low=0.1, high=0.6, leans_to=leans_to)
    figure = plot_group_shares(table)
    bars = [(bar.name, bool(bar.marker.line.width), bar.x) for bar in figure.data]
    assert bars == [
        ("female", False, (0.7, None)),
        ("female", True, (None, 0.4)),
        ("male", False, (None, None)),
        ("male", True, (0.3, 0.6)),
    ]
    interval = figure.data[0].error_x
    assert interval.array == pytest.approx([0.6 - 0.7, 0.6 - 0.4])
    assert interval.arrayminus == pytest.approx([0.7 - 0.1, 0.4 - 0.1])
    assert "Hollow bars end within their line" in heading(figure)
    rows = figure.layout.yaxis.ticktext
    assert ["leans to female" in text for text in rows] == [True, False]


def test_models_have_a_panel_each_and_lacking_words_are_marked(said):
    figure = plot_group_shares(shares(models=("w2v", "glove"))[:6])
    assert [note.text for note in figure.layout.annotations[:2]] == ["w2v", "glove"]
    assert len(said(figure, " no value")) == 2
    assert [bar.name for bar in figure.data if bar.showlegend] == ["female", "male"]
