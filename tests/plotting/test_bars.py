"""Bars of scores, ranks and shares: they equal the tables they show, and say what is missing."""

import math

import numpy as np
import pandas as pd
import pytest

from wefe import Query, load_test_model
from wefe.datasets import load_weat_queries
from wefe.explore import word_page
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
    return np.concatenate([np.add(np.asarray(bar.x, dtype=float), bar.base) for bar in bars])


def lines_at(figure):
    return [shape.x0 for shape in figure.layout.shapes if shape.type == "line"]


@both_ways
def test_bars_end_at_the_scores_in_the_order_of_the_table(results, by, said, heading):
    table = results if by == "query" else results.T
    figure = plot_queries_results(results, by=by)
    layout = figure.layout
    assert len(figure.data) == len(table)
    labels = [text.replace("<br>", " ") for text in layout.yaxis.ticktext[:-1]]
    assert labels == list(table.columns[:-1])
    assert layout.yaxis.range[0] > layout.yaxis.range[1]  # the first on top
    np.testing.assert_array_equal(ends(figure.data), table.to_numpy().ravel())
    assert heading(figure) == "WEAT-ES: Pleasantness"
    assert layout.xaxis.title.text == "WEAT-ES score (0 = no bias measured)"
    assert lines_at(figure) == [0]
    assert said(figure, "no bias: 0")


@both_ways
def test_every_bar_starts_at_its_own_value_for_no_bias(ect_results, by, said):
    table = ect_results if by == "query" else ect_results.T
    figure = plot_queries_results(ect_results, by=by)
    assert lines_at(figure) == [1, 0]
    assert figure.layout.xaxis.title.text == "ECT score"
    if by == "query":
        assert {bar.base for bar in figure.data} == {(1.0, 1.0, 0.0)}
        assert figure.layout.yaxis.ticktext[-1] == "Average distance from no bias"
    np.testing.assert_allclose(ends(figure.data), table.to_numpy().ravel(), rtol=1e-14)
    assert said(figure, "no bias: 1")


def test_a_table_from_a_file_is_read_by_its_heading(ect_results, tmp_path):
    ect_results.to_csv(tmp_path / "scores.csv")
    table = pd.read_csv(tmp_path / "scores.csv", index_col="model_name")
    shown = [plot_queries_results(each).to_json() for each in (table, ect_results)]
    assert shown[0] == shown[1]
    assert lines_at(plot_queries_results(table.iloc[:, :-1])) == []


@both_ways
def test_a_missing_score_says_so_at_its_place_with_the_reason(results, by, drawn, said):
    table = results.copy()
    table.iloc[1, 2] = math.nan
    reason = "'Insects' lost 33% of its words (<xyzzy>), more than the 20% allowed"
    figure = plot_queries_results(tidy(table, reason), by=by)
    (note,) = said(figure, " no value")
    assert "lost 33% of its words (&lt;xyzzy&gt;)" in note.hovertext.replace("<br>", " ")
    trace, slot = (1, 2) if by == "query" else (2, 1)
    # The second of 3 slots, or the third of 5, is the middle of the row.
    assert note.y == pytest.approx(slot)
    assert drawn(figure)["data"][trace]["x"][slot] is None


def is_hollow(bar):
    return bar.marker.color.startswith("rgba")


@both_ways
def test_a_bar_shows_its_null_and_whether_a_one_sided_test_misses_it(by, heading):
    flowers, _, names = load_weat_queries()[:3]
    reverse = Query(flowers.target_sets[::-1], flowers.attribute_sets)
    table = measure("weat", [reverse, names], [load_test_model()], metric_params=EXACT)
    figure = plot_queries_results(table, by=by)
    nulls = [low for bar in figure.data for low in bar.error_x.arrayminus]
    assert nulls == pytest.approx((table["score"] - table["null_lower"]).tolist())
    # Chance explains the second score.
    drawn = [(is_hollow(bar), x) for bar in figure.data for x in bar.x]
    assert drawn == [(False, table["score"][0]), (True, table["score"][1])]
    hovers = [text for bar in figure.data for text in bar.hovertext]
    assert ["strong in the opposite direction" in text for text in hovers] == [True, False]
    assert all("no bias: 0<br>p = " in text for text in hovers)
    assert "1 score is strong in the opposite direction" in heading(figure)


# Ranks


def test_ranks_are_stacked_in_the_order_of_their_sum_best_on_top(ranking, said):
    figure = plot_ranking(ranking)
    order = ["glove", "fasttext", "w2v"]
    axis = figure.layout.yaxis
    assert list(axis.ticktext) == order
    assert axis.range[0] > axis.range[1]
    for bar, column in zip(figure.data, ranking, strict=True):
        assert (list(bar.y), list(bar.x)) == ([0, 1, 2], ranking.loc[order, column].tolist())
        assert bar.name == column.removesuffix(" average of abs values score")
    assert [note.text for note in said(figure)] == ["<b>4</b>", "<b>6</b>", "<b>8</b>"]


@pytest.mark.parametrize("facets", [False, True])
def test_a_model_without_a_rank_stands_last_and_says_so(ranking, facets, drawn, said, heading):
    ranking.loc["glove", ranking.columns[1]] = math.nan
    figure = plot_ranking(ranking, use_metric_as_facet=facets)
    assert list(figure.layout.yaxis.ticktext) == ["fasttext", "w2v", "glove"]
    assert len({(bar.xaxis, bar.yaxis) for bar in figure.data}) == (3 if facets else 1)
    assert len({axis.range for axis in figure.select_xaxes()}) == 1
    assert "lack a rank stand last" in heading(figure)
    assert [note.y for note in said(figure, "<b>lacks a rank")] == [2] * (not facets)
    assert drawn(figure)["data"][1]["x"] == [1.0, 3.0, None]


# Shares of the neighbours of words


def test_a_band_is_the_interval_of_random_words_and_models_have_a_panel_each(models, said):
    pages = [word_page(model, word, k=20) for model in models[:2] for word in ("nurse", "cook")]
    figure = plot_group_shares(pages[:3])
    assert [note.text for note in said(figure, "minilm")] == ["minilm 64d", "minilm 16d"]
    assert len(said(figure, " no value")) == 2
    assert [bar.name for bar in figure.data if bar.showlegend] == ["female", "male"]
    female = pages[0].shares.loc["female"]
    bar = figure.data[0]
    assert bar.x[0] == female["neighbors"]
    assert is_hollow(bar) == (female["low"] <= female["neighbors"] <= female["high"])
    labels = plot_group_shares(pages[0]).layout.yaxis.ticktext
    assert labels[0].startswith('nurse<br><span style="font-size:10px">word: leans to female')
    interval = bar.error_x
    assert interval.array[0] == pytest.approx(female["high"] - female["neighbors"])
    assert interval.arrayminus[0] == pytest.approx(female["neighbors"] - female["low"])
