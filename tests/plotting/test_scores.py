"""Figures of scores: they equal the tables they show, and say what is missing. No pixels."""

import math

import numpy as np
import pandas as pd
import pytest

from wefe import load_test_model
from wefe.datasets import load_weat_queries
from wefe.plotting import plot_queries_results
from wefe.query import Query
from wefe.running import measure, run_queries

LONG = "European American names 5 and African American names 5 wrt Pleasant 5 and Unpleasant 5"


def tidy(table, reason=lambda model, query: None):
    """Scores as of `measure`, with reasons for NaN."""
    long = table.rename_axis(index="model_name", columns=None).reset_index()
    long = long.melt("model_name", var_name="query_name", value_name="score")
    reasons = [reason(*place) for place in zip(long["model_name"], long["query_name"], strict=True)]
    return long.assign(
        metric="WEAT", query_set="Unnamed queries set", no_bias_value=0.0, nan_reason=reasons
    )


def ends(bar):
    """Where the bars of a trace end: the scores."""
    return np.asarray(bar.x, dtype=float) + bar.base


def lines_at(figure):
    """Positions of the vertical lines."""
    return [shape.x0 for shape in figure.layout.shapes if shape.type == "line"]


@pytest.mark.parametrize(("by", "other"), [("query", "Model"), ("model", "Query")])
def test_bars_end_at_the_scores_in_the_order_of_the_table(results, by, other, said):
    table = results if by == "query" else results.T
    figure = plot_queries_results(results, by=by)
    layout = figure.layout
    assert [bar.legendgroup for bar in figure.data] == list(table.index)
    for bar, (_, scores) in zip(figure.data, table.iterrows(), strict=True):
        assert list(bar.y) == list(layout.yaxis.categoryarray) == list(table.columns)
        np.testing.assert_array_equal(ends(bar), scores)
    assert layout.yaxis.range[0] > layout.yaxis.range[1]
    assert layout.barmode == "group"
    assert layout.title.text == "WEAT-ES: Pleasantness"
    assert layout.xaxis.title.text == "WEAT-ES score (0 = no bias measured)"
    assert layout.yaxis.title.text.lower() == by
    assert layout.legend.title.text == other
    assert lines_at(figure) == [0]
    assert said(figure, "no bias: 0")
    assert not said(figure, "●")
    last = layout.yaxis.ticktext[-1] if by == "query" else figure.data[-1].name
    assert last in ("<b>Average of abs values</b>", "Average of abs values")
    assert not plot_queries_results(results.iloc[:, :-1], by=by).layout.shapes[1:]


def test_bars_of_ect_start_at_1_because_that_means_no_bias(ect_results):
    scores = ect_results.iloc[:, :-1]
    figure = plot_queries_results(scores)
    assert lines_at(figure) == [1]
    for bar, row in zip(figure.data, scores.to_numpy(), strict=True):
        assert bar.base == 1
        np.testing.assert_allclose(ends(bar), row, rtol=1e-14)


@pytest.mark.parametrize("by", ["query", "model"])
def test_an_aggregate_with_another_value_for_no_bias_gets_an_axis_of_its_own(ect_results, by):
    figure = plot_queries_results(ect_results, by=by)
    assert lines_at(figure) == [1, 0]
    assert figure.layout.xaxis.title.text.replace("<br>", " ") == "ECT score (1 = no bias measured)"
    assert figure.layout.xaxis2.title.text.replace("<br>", " ") == (
        "Average distance from no bias (0 = no bias measured)"
    )
    aggregated = [bar for bar in figure.data if bar.xaxis == "x2"]
    np.testing.assert_array_equal(
        np.concatenate([ends(bar) for bar in aggregated]), ect_results.iloc[:, -1]
    )
    shown = [bar.name for bar in figure.data if bar.showlegend is not False]
    assert len(shown) == len(ect_results.index if by == "query" else ect_results.columns)


def test_the_aggregate_is_shaded_among_queries_and_black_among_models(results):
    by_query, by_model = (plot_queries_results(results, by=by) for by in ("query", "model"))
    (band,) = [shape for shape in by_query.layout.shapes if shape.type == "rect"]
    assert (band.y0, band.y1) == (3.5, 4.5)
    assert by_query.layout.yaxis.ticktext[-1].startswith("<b>")
    colours = [bar.marker.color for bar in by_model.data]
    assert colours.count(colours[-1]) == 1
    assert not by_model.data[-1].marker.pattern.shape


@pytest.mark.parametrize("by", ["query", "model"])
def test_a_table_from_a_file_is_read_by_its_heading(ect_results, tmp_path, by):
    path = tmp_path / "scores.csv"
    ect_results.to_csv(path)
    table = pd.read_csv(path, index_col="model_name", float_precision="round_trip")
    drawn = [plot_queries_results(each, by=by).to_json() for each in (table, ect_results)]
    assert drawn[0] == drawn[1]
    figure = plot_queries_results(table.iloc[:, :-1], by=by)
    assert lines_at(figure) == []
    assert figure.layout.title.text == "Bias scores"


@pytest.mark.parametrize("by", ["query", "model"])
def test_a_missing_score_says_so_at_its_place_with_the_reason(results, by, drawn, said):
    table = results.copy()
    table.iloc[1, 2] = math.nan
    reason = "'Insects' lost 33% of its words (<xyzzy>), more than the 20% allowed; 'X' lost 100% "
    reason += "of its words (:)), nothing is left; 3 are in lower case: preprocessors=[{}]"
    figure = plot_queries_results(tidy(table, lambda *place: reason), by=by)
    (note,) = said(figure, "no value")
    assert "lost 33% of its words (&lt;xyzzy&gt;)" in note.hovertext.replace("<br>", " ")
    # Row 2 with 3 slots (the second is its middle), or row 1 with 5 slots (the third is).
    assert note.y == pytest.approx(2 if by == "query" else 1)
    assert note.text == "no value (a)"
    assert "1 score has no value (reasons below)" in figure.layout.title.text
    short = "'Insects' lost 33% of its words; 'X' lost 100% of its words; 3 are in lower case"
    assert said(figure, "a: ")[0].text.replace("<br>", " ") == f"a: {short}"
    bar, slot = (figure.data[1], 2) if by == "query" else (figure.data[2], 1)
    assert drawn(figure)["data"][1 if by == "query" else 2]["x"][slot] is None
    assert math.isnan(bar.x[slot])


def test_a_missing_score_without_a_known_reason_still_says_so(said):
    figure = plot_queries_results(pd.DataFrame({"q": [1.0, math.nan]}, index=["a", "b"]))
    (note,) = said(figure, "no value")
    assert note.text == "no value"
    assert "the score is NaN" in note.hovertext
    assert "1 score has no value.<" in figure.layout.title.text
    assert figure.layout.title.text.startswith("Bias scores")
    assert not said(figure, "a: ")


@pytest.mark.parametrize("by", ["query", "model"])
def test_equal_reasons_share_a_letter_and_at_most_five_are_written(by, said):
    names = [f"q{i}" for i in range(9)]
    table = pd.DataFrame(math.nan, index=["m", "n"], columns=names)
    reasons = dict(zip(names, ["same", "same", *"stuvwxy"], strict=True))
    figure = plot_queries_results(tidy(table, lambda _, query: reasons[query]), by=by)
    assert len(said(figure, "no value (a)")) == 4
    assert len(said(figure, "no value (e)")) == 2
    assert sum(note.text == "no value" for note in said(figure, "no value")) == 6
    (note,) = said(figure, "a: same")
    assert note.text == "a: same<br>b: s<br>c: t<br>d: u<br>e: v<br>and 3 more"
    assert figure.layout.margin.b > 16 * 6


@pytest.mark.parametrize("by", ["query", "model"])
def test_a_score_of_no_bias_is_a_dot_on_its_line_unlike_a_missing_one(ect_results, by, said):
    table = ect_results.copy()
    table.iloc[0, 0], table.iloc[1, 1], table.iloc[2, 0] = 1.0, 0.9999, math.nan
    figure = plot_queries_results(table, by=by)
    dots = said(figure, "●")
    assert [dot.x for dot in dots] == [1, 1]
    assert sorted(round(dot.y, 3) for dot in dots) == (
        [-0.267, 1.0] if by == "query" else [-0.2, 1.2]
    )
    assert {dot.font.color for dot in dots} == {bar.marker.color for bar in figure.data[:2]}
    assert "= 1<br>no bias: 1" in dots[0].hovertext
    assert "● A score of 1, or too near to it" in figure.layout.title.text
    assert len(said(figure, "no value")) == 1


@pytest.fixture(scope="module")
def tested(models):
    asked = {"calculate_p_value": True, "p_value_method": "exact"}
    return measure("weat", load_weat_queries()[:3], models, metric_params=asked)


def hollow_bars(figure):
    """Return the scores that are drawn hollow, by legend group."""
    return {
        bar.legendgroup: [x for x in bar.x if x is not None]
        for bar in figure.data
        if bar.marker.line.width and bar.legendgroup
    }


@pytest.mark.parametrize("by", ["query", "model"])
def test_bars_with_a_large_p_value_are_hollow_and_the_legend_says_so(tested, by):
    large = tested[(tested["p_value"] > 0.05) & tested["warnings"].isna()]  # else: the other way
    assert len(large)
    figure = plot_queries_results(tested, by=by)
    names = "model_name" if by == "query" else "query_name"
    wanted = {name: list(part["score"]) for name, part in large.groupby(names)}
    assert hollow_bars(figure) == wanted
    shown = [bar.name for bar in figure.data if bar.showlegend]
    assert len(shown) == 3
    drawn = [x for bar in figure.data for x in bar.x if x is not None]
    assert sorted(drawn) == sorted(tested["score"])
    assert (
        figure.data[-1].name.replace("<br>", " ")
        == "p &gt; 0.05 (right-sided permutation test of WEAT)"
    )


@pytest.mark.parametrize("by", ["query", "model"])
def test_a_bar_against_a_one_sided_test_is_full_and_named_if_it_is_significant(by):
    flowers, _, names = load_weat_queries()[:3]
    reverse = Query(flowers.target_sets[::-1], flowers.attribute_sets)
    asked = {"calculate_p_value": True, "p_value_method": "exact"}
    table = measure("weat", [reverse, names], [load_test_model()], metric_params=asked)
    assert (table["p_value"] > 0.05).all()
    figure = plot_queries_results(table, by=by)
    hollow = [x for some in hollow_bars(figure).values() for x in some]
    assert hollow == [table["score"].iloc[1]]
    hovers = [text for bar in figure.data if bar.showlegend for text in bar.hovertext]
    assert ["strong in the opposite direction" in text for text in hovers] == [True, False]
    assert (
        "1 full bar is strong in the opposite direction, which the right-sided permutation test of "
        "WEAT misses." in figure.layout.title.text.replace("<br>", " ")
    )
    alone = plot_queries_results(table[:1])
    assert "All p-values" not in alone.layout.title.text


def test_small_p_values_are_mentioned_and_none_is_not(tested, results):
    shown = tested["model_name"].isin(tested["model_name"].unique()[:2])
    first = tested["query_name"].isin(tested["query_name"].unique()[:2])
    small = plot_queries_results(tested[shown & first])
    assert (
        "All p-values are at most 0.05 (right-sided permutation test of WEAT)."
        in small.layout.title.text
    )
    assert len(small.data) == 2
    assert "p-value" not in plot_queries_results(results).layout.title.text


def test_aggregates_side_by_side_are_no_summary(ect_results):
    columns = {f"ECT: {name} average score": ect_results.iloc[:, 0] for name in ("a", "b")}
    figure = plot_queries_results(pd.DataFrame(columns))
    assert figure.layout.yaxis.ticktext == ("ECT: a", "ECT: b")
    assert "Scores of each metric and query set: average." in figure.layout.title.text
    assert not figure.layout.shapes


def test_an_aggregate_of_nothing_says_why_it_is_missing(said):
    query = Query([["xyzzy"], ["plugh"]], [["he"], ["she"]])
    table = run_queries("weat", [query], [load_test_model()], aggregate_results=True)
    hovers = [note.hovertext for note in said(plot_queries_results(table), "no value")]
    assert "the score is NaN" in hovers[0].replace("<br>", " ")
    assert "no query that every model could answer" in hovers[1].replace("<br>", " ")
    scores = measure("weat", [query], [load_test_model()])
    (note,) = said(plot_queries_results(scores), "no value")
    assert "xyzzy" in note.hovertext


def test_pointing_at_a_bar_says_model_query_score_p_value_and_lost_words(models):
    query = Query(
        [["she", "her", "hers"], ["he", "him", "his"]],
        [["math", "algebra", "calculus", "equations", "xyzzy"], ["art", "poetry", "dance"]],
    )
    table = measure(
        "weat",
        [query],
        models[:1],
        lost_vocabulary_threshold=0.5,
        metric_params={"calculate_p_value": True},
    )
    (hover,) = plot_queries_results(table).data[0].hovertext
    assert "minilm 64d" in hover
    assert "wrt" in hover
    assert f"WEAT = {table['score'].item():.4g}<br>no bias: 0" in hover
    assert "<br>p = " in hover
    assert "<br>p between " in hover
    assert "1 of 14 words lost" in hover


def test_long_names_are_wrapped_and_never_cut():
    model = "conceptnet-numberbatch-17-06-300-" * 3
    figure = plot_queries_results(pd.DataFrame({LONG: [1.0]}, index=[model]))
    (label,) = figure.layout.yaxis.ticktext
    assert label.replace("<br>", " ") == LONG
    assert "<br>wrt" in label
    assert max(map(len, label.split("<br>"))) <= 40
    assert figure.data[0].name.replace("<br>", "") == model
    assert max(map(len, figure.data[0].name.split("<br>"))) <= 30


def test_columns_of_the_same_name_do_not_merge():
    table = pd.DataFrame([[1.0, 2.0]], index=["m"], columns=["q", "q"])
    assert plot_queries_results(table).data[0].y == ("q", "q (2)")


def test_an_unknown_grouping_is_refused(results):
    with pytest.raises(ValueError, match="by must be one of 'query', 'model'"):
        plot_queries_results(results, by="queries")
