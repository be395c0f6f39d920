"""What holds for every figure."""

import json
import math
import subprocess
import sys

import pandas as pd
import pytest

from wefe.plotting import (
    plot_negative_sentiment,
    plot_negative_sentiment_correlation,
    plot_queries_results,
    plot_ranking,
    plot_ranking_correlations,
)
from wefe.ranking import calculate_ranking_correlations

TABLE_PLOTS = [
    plot_queries_results,
    plot_ranking,
    plot_ranking_correlations,
    plot_negative_sentiment_correlation,
]


@pytest.mark.parametrize("plot", TABLE_PLOTS)
def test_what_is_no_table_is_refused(plot):
    for wrong in ([[1.0]], {"a": [1.0]}, None, "table", pd.Series([1.0])):
        with pytest.raises(TypeError, match="must be a DataFrame, as .* returns it; got"):
            plot(wrong)


@pytest.mark.parametrize("plot", TABLE_PLOTS)
def test_an_empty_table_is_refused(plot):
    with pytest.raises(ValueError, match="nothing to plot"):
        plot(pd.DataFrame())


@pytest.mark.parametrize("plot", TABLE_PLOTS)
def test_a_column_of_names_is_refused_with_the_remedy(plot):
    table = pd.DataFrame({"model_name": ["w2v", "glove"], "WEAT": [0.1, 0.2]})
    with pytest.raises(ValueError, match=r"'model_name' must hold numbers.*index_col=0"):
        plot(table)


@pytest.mark.parametrize("plot", TABLE_PLOTS)
@pytest.mark.parametrize("dtype", ["int64", "float32", "Float64", "object"])
def test_any_kind_of_number_is_plotted(plot, dtype, drawn):
    drawn(plot(pd.DataFrame({"a": [2, 1], "b": [1, 2]}, index=["a", "b"]).astype(dtype)))


@pytest.mark.parametrize("plot", TABLE_PLOTS)
def test_a_table_of_nothing_but_nan_is_plotted(plot, drawn):
    table = pd.DataFrame(math.nan, index=["a", "b"], columns=["a", "b"])
    assert "NaN" not in json.dumps(drawn(plot(table))["data"][0].get("x"))


@pytest.mark.parametrize("plot", TABLE_PLOTS)
def test_the_table_is_left_as_it_was(plot, results, ranking):
    table = {
        plot_queries_results: results,
        plot_ranking: ranking,
    }.get(plot, calculate_ranking_correlations(ranking))
    before, attrs = table.copy(deep=True), json.dumps(table.attrs, default=str)
    plot(table)
    pd.testing.assert_frame_equal(table, before)
    assert json.dumps(table.attrs, default=str) == attrs


def test_results_of_rnsb_are_left_as_they_were(rnsb_results):
    before = json.dumps(rnsb_results)
    plot_negative_sentiment(rnsb_results)
    assert json.dumps(rnsb_results) == before


def test_every_figure_shares_the_template_and_can_be_written(results, ranking, rnsb_results, drawn):
    correlations = calculate_ranking_correlations(ranking)
    figures = [
        plot_queries_results(results),
        plot_queries_results(results, by="model"),
        plot_ranking(ranking),
        plot_ranking(ranking, use_metric_as_facet=True),
        plot_ranking_correlations(correlations),
        plot_negative_sentiment(rnsb_results),
        plot_negative_sentiment_correlation(correlations),
    ]
    assert len({json.dumps(drawn(figure)["layout"]["template"]) for figure in figures}) == 1
    assert all(figure.layout.height for figure in figures)
    assert all(figure.layout.title.text for figure in figures)


@pytest.mark.parametrize("module", ["wefe", "wefe.plotting"])
def test_importing_does_not_import_plotly(module):
    code = f"import sys, {module}; sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
