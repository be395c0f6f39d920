"""What holds for every figure, and how wrong arguments are refused."""

import json
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from wefe import plotting
from wefe.plotting import as_dark
from wefe.plotting._style import DARK, LIGHT

NAME = "<b>&"
MATRIX = pd.DataFrame([[2, 1], [1, 2]], index=[NAME, "b"], columns=["a", NAME])
COMPARED = {
    "aspect": "bias",
    "measure": NAME,
    "subject": "q",
    "model": NAME,
    "better": "",
    "note": "",
}
COMPARED |= dict.fromkeys(["before", "after", "change", "before_se", "after_se", "change_se"], 0.5)
WORDS = {"word": [NAME, "cook"], "group": ["f", "m"], "x": [0.1, 0.2], "y": [0.3, 0.1]}
WORDS |= {"projection": [0.3, 0.2], "model": NAME, "rank": 1, "set": NAME, "share": [0.4, 0.6]}
WORDS |= {"cosine": 0.5, "indirect_bias": 0.1, "is_center": [True, False], "cluster": "f"}
WORDS |= {"statistic": [0.4, 0.2], "bias": [0.1, 0.3]}
# Functions of a table: a table, and the other arguments that they need.
TABLES = {
    "plot_queries_results": (MATRIX, {}),
    "plot_ranking": (MATRIX, {}),
    "plot_ranking_correlations": (MATRIX, {"title": NAME}),
    "plot_negative_sentiment_correlation": (MATRIX, {"title": NAME}),
    "plot_comparison": (pd.DataFrame([COMPARED | {"best_value": 0.0, "n": 9}]), {}),
    "plot_extremes": (pd.DataFrame(WORDS), {"title": NAME}),
    "plot_projections": (pd.DataFrame(WORDS), {"title": NAME}),
    "plot_group_shares": (pd.DataFrame(WORDS), {"title": NAME}),
    "plot_neighborhood": (pd.DataFrame(WORDS), {"word": NAME}),
    "plot_clusters": (pd.DataFrame(WORDS), {"title": NAME}),
    "plot_statistic": (pd.DataFrame(WORDS), {"statistic_name": NAME, "bias_name": "bias"}),
}
MATRICES = [name for name, (table, _) in TABLES.items() if table is MATRIX]
every_table = pytest.mark.parametrize("name", TABLES)
every_matrix = pytest.mark.parametrize("name", MATRICES)


def plotted(name, table):
    return getattr(plotting, name)(table, **TABLES[name][1])


def test_every_function_is_walked_here_or_takes_results():
    of_results = {"plot_negative_sentiment", "plot_direction_components", *WRONG}
    assert {n for n in plotting.__all__ if n.startswith("plot_")} == {*TABLES, *of_results}


@every_table
def test_what_is_no_table_is_refused(name):
    for wrong in ([[1.0]], {"a": [1.0]}, None, "table", pd.Series([1.0])):
        with pytest.raises(TypeError, match="must be a DataFrame.*; got"):
            plotted(name, wrong)
    with pytest.raises(ValueError, match="at least one row and column"):
        plotted(name, TABLES[name][0].iloc[:0])


@pytest.mark.parametrize("name", [name for name in TABLES if name not in MATRICES])
def test_columns_that_are_lacking_or_hold_no_numbers_are_named(name):
    table = TABLES[name][0]
    with pytest.raises(ValueError, match=r"must have the columns .*got other.*without \w+"):
        plotted(name, table[[]].assign(other=1))
    number = {"plot_clusters": "x", "plot_neighborhood": "x", "plot_comparison": "before"}
    number |= {"plot_statistic": "bias", "plot_group_shares": "share"}
    column = number.get(name, "projection")
    with pytest.raises(ValueError, match=f"'{column}' must contain numbers; got str 'much'"):
        plotted(name, table.assign(**{column: "much"}))


@every_matrix
def test_a_column_of_names_is_refused_with_the_remedy(name):
    table = pd.DataFrame({"model_name": ["w2v", "glove"], "WEAT": [0.1, 0.2]})
    with pytest.raises(ValueError, match=r"'model_name' must contain numbers.*index_col=0"):
        plotted(name, table)


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
    assert drawn(as_dark(dark)) == drawn(dark)
    assert all(trace.marker.opacity in (None, 1) for trace in dark.select_traces("scatter"))


@every_matrix
@pytest.mark.parametrize("dtype", ["int64", "float32", "Float64", "object"])
def test_any_kind_of_number_is_plotted(name, dtype, drawn):
    drawn(plotted(name, MATRIX.astype(dtype)))


@every_matrix
def test_a_table_of_nothing_but_nan_is_plotted(name, drawn):
    table = pd.DataFrame(math.nan, index=["a", "b"], columns=["a", "b"])
    assert "NaN" not in json.dumps(drawn(plotted(name, table))["data"][0].get("x"))


# Functions of results: wrong arguments, and what the error must name.
WRONG = {
    "plot_direction_correlations": (TypeError, [None, "gender", np.eye(3)], "DirectionAudit"),
    "plot_impact_ratios": (TypeError, [None, [1]], "RankingAudit"),
    "plot_layer_scores": (TypeError, [None, [1]], "LayerScores"),
    "plot_effect_sizes": (TypeError, [{"ceat": 1.0}, 3, "ceat", [3]], "results"),
    "plot_individual_biases": (TypeError, [["audit"], "audit"], "audits"),
    "plot_silhouettes": (TypeError, ["weat", None, [1.0]], "silhouettes"),
}
SEVERAL = ["plot_effect_sizes", "plot_individual_biases", "plot_silhouettes"]


@pytest.mark.parametrize("name", [*WRONG, "plot_direction_components", "plot_negative_sentiment"])
def test_other_objects_than_results_are_refused(name):
    rnsb = [3, "rnsb", {"rnsb": 0.1}, [{"result": 1.0}], {"a": 3}]
    rnsb += [{"negative_sentiment_distribution": 3}]
    others = {"plot_negative_sentiment": (TypeError, rnsb, "results must be an RNSB result")}
    others["plot_direction_components"] = WRONG["plot_direction_correlations"]
    kind, every, said = (WRONG | others)[name]
    for wrong in every:
        with pytest.raises(kind, match=said):
            getattr(plotting, name)(wrong)


@pytest.mark.parametrize("name", [*SEVERAL, "plot_negative_sentiment"])
def test_no_results_are_refused(name):
    with pytest.raises(ValueError, match="at least one"):
        getattr(plotting, name)([])


@pytest.mark.parametrize("module", ["wefe", "wefe.plotting"])
def test_importing_does_not_import_plotly(module):
    code = f"import sys, {module}; sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
