"""What holds for every figure, and how wrong arguments are refused."""

import json
import math
import subprocess
import sys

import pandas as pd
import plotly.graph_objects as go
import pytest

from wefe import plotting
from wefe.debias._evidence import COLUMNS
from wefe.plotting import as_dark
from wefe.plotting._style import DARK, LIGHT

NAME = "<b>&"
MATRIX = pd.DataFrame([[2, 1], [1, 2]], index=[NAME, "b"], columns=["a", NAME])
COMPARED = dict.fromkeys(COLUMNS, 0.5) | {"aspect": "bias", "measure": NAME, "subject": "q"}
COMPARED |= {"model": NAME, "better": "", "note": ""}
WORDS = {"word": [NAME, "cook"], "group": ["f", "m"], "x": [0.1, 0.2], "y": [0.3, 0.1]}
WORDS |= {"projection": [0.3, 0.2], "model": NAME, "rank": 1, "set": NAME, "cluster": "f"}
WORDS = pd.DataFrame(WORDS)
# Functions of a table: a table, the other arguments that they need, and a column of numbers.
TABLES = {
    "plot_queries_results": (MATRIX, {}, "a"),
    "plot_ranking": (MATRIX, {}, "a"),
    "plot_ranking_correlations": (MATRIX, {"title": NAME}, "a"),
    "plot_negative_sentiment_correlation": (MATRIX, {}, "a"),
    "plot_comparison": (pd.DataFrame([COMPARED]), {}, "before"),
    "plot_extremes": (WORDS, {}, "projection"),
    "plot_projections": (WORDS, {}, "projection"),
    "plot_clusters": (WORDS, {}, "x"),
}
MATRICES = [name for name, (table, *_) in TABLES.items() if table is MATRIX]
every_table = pytest.mark.parametrize("name", TABLES)
every_matrix = pytest.mark.parametrize("name", MATRICES)


def plotted(name, table):
    return getattr(plotting, name)(table, **TABLES[name][1])


def test_every_function_is_walked_here():
    assert {n for n in plotting.__all__ if n.startswith("plot_")} == {*TABLES, *RESULTS}


@every_table
def test_what_is_no_table_is_refused(name):
    table, _, column = TABLES[name]
    for wrong in ([[1.0]], None, pd.Series([1.0])):
        with pytest.raises(TypeError, match="DataFrame"):
            plotted(name, wrong)
    with pytest.raises(ValueError, match="at least one row"):
        plotted(name, table.iloc[:0])
    with pytest.raises(ValueError, match=f"'{column}' must contain numbers.*'much'.*index_col=0"):
        plotted(name, table.assign(**{column: "much"}))
    if name not in MATRICES:
        with pytest.raises(ValueError, match=rf"{column}.*got other"):
            plotted(name, table[[]].assign(other=1))


@every_table
def test_names_are_no_markup_tables_stay_and_figures_can_be_written_and_dark(name, drawn):
    table = TABLES[name][0].copy(deep=True)
    figure = plotted(name, table)
    pd.testing.assert_frame_equal(table, TABLES[name][0])
    before = drawn(figure)
    assert figure.layout.template == LIGHT
    assert figure.layout.height
    assert figure.layout.title.text
    # Texts and lines have the colours of the template, light or dark.
    shown = json.dumps([before["data"], {**before["layout"], "template": 0}])
    assert LIGHT.layout.font.color not in shown
    assert "<b>&<" not in shown.replace(json.dumps(NAME), "")
    assert "&lt;b&gt;&amp;" in shown
    dark = as_dark(figure)
    assert dark.layout.template == DARK
    assert drawn(figure) == before
    assert all(trace.marker.opacity in (None, 1) for trace in dark.select_traces("scatter"))


@pytest.mark.parametrize("missing", [math.nan, math.inf])
def test_words_without_a_projection_are_left_out_and_named(missing, heading):
    figure = plotted("plot_projections", WORDS.assign(projection=[0.1, missing]))
    assert "Left out, because there is no projection: cook." in heading(figure)
    with pytest.raises(ValueError, match="at least one word with a projection"):
        plotted("plot_projections", WORDS.assign(projection=missing))


@pytest.mark.parametrize("scale", [None, "Viridis"])
def test_other_figures_of_plotly_keep_their_colours(scale, drawn):
    figure = go.Figure(go.Heatmap(z=[[1, 2]], colorscale=scale))
    assert drawn(as_dark(figure))["data"] == drawn(figure)["data"]


@every_matrix
def test_any_kind_of_number_is_plotted_and_nothing_but_nan(name, drawn):
    for dtype in ("int64", "float32", "Float64", "object"):
        drawn(plotted(name, MATRIX.astype(dtype)))
    nothing = drawn(plotted(name, MATRIX.astype(float) * math.nan))
    assert "NaN" not in json.dumps(nothing["data"][0].get("x"))


# Functions of results.
RESULTS = {
    *("plot_direction_correlations", "plot_impact_ratios"),
    *("plot_layer_scores", "plot_individual_biases", "plot_silhouettes"),
    *("plot_negative_sentiment", "plot_neighborhood", "plot_statistic", "plot_group_shares"),
}


@pytest.mark.parametrize("what", ["group_shares", "individual_biases", "silhouettes"])
def test_no_results_are_no_plot(what):
    with pytest.raises(ValueError, match="at least one result is needed to plot; got list"):
        getattr(plotting, f"plot_{what}")([])


@pytest.mark.parametrize("wrong", ["rnsb", {}, {"a": 3}, [{"result": 1.0}]])
def test_results_of_other_metrics_than_rnsb_are_refused(wrong):
    with pytest.raises(TypeError, match="RNSB"):
        plotting.plot_negative_sentiment(wrong)


@pytest.mark.parametrize("module", ["wefe", "wefe.plotting"])
def test_importing_does_not_import_plotly(module):
    code = f"import sys, {module}; sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
