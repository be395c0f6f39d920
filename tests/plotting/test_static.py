"""Figures as files: all six, in three formats, whatever names hold; the same each time."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from wefe import Query, load_test_model
from wefe.metrics import RNSB
from wefe.plotting import write_figures
from wefe.plotting._static import FORMATS
from wefe.running import measure
from wefe.silhouette import bias_silhouette

NASTY = "$x_{1}$ \\frac <b>&"
QUERY = Query(
    [["she", "woman", "girl"], ["he", "man", "boy"]],
    [["home", "family"], ["office", "career"]],
    ["Female", NASTY],
    ["Home", "Work"],
)


@pytest.fixture(scope="module")
def model():
    pytest.importorskip("matplotlib")
    return load_test_model()


@pytest.fixture(scope="module")
def everything(model):
    scores = measure(
        "weat-es", [QUERY], [model], n_bootstrap=40, metric_params={"calculate_p_value": True}
    )
    return {
        "scores": scores,
        "ranking": pd.DataFrame(
            {"WEAT": [2, 1, 3], NASTY: [1, np.nan, 2]}, index=["a", "b", NASTY]
        ),
        "correlations": pd.DataFrame(
            [[1, math.nan], [math.nan, 1]], index=["A", NASTY], columns=["A", NASTY]
        ),
        "negative_sentiment": {"q": {"demo": RNSB().run_query(QUERY, model, holdout=False)}},
        "silhouettes": [bias_silhouette("weat", QUERY, model, n_runs=4)],
        "biases": {
            NASTY: {"demo": {"Female": [0.1, math.nan, 0.2], NASTY: [0.3], "no": []}, "b": {}}
        },
    }


def test_the_six_figures_are_written_in_three_formats(everything, tmp_path):
    written = write_figures(tmp_path / "new", **everything)
    names = {path.stem.split("-")[0] for path in written}
    assert names == {
        "scores", "ranking", "correlations", "negative", "joint", "silhouette", "individual"
    }  # fmt: skip
    assert len(written) == 7 * len(FORMATS) == len(set(written))
    starts = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    for path in written:
        content = path.read_bytes()
        assert content.startswith(starts[path.suffix])
        assert len(content) > 2000


def test_the_same_figure_is_the_same_file(everything, tmp_path):
    one, other = (
        write_figures(tmp_path / name, ranking=everything["ranking"], formats=FORMATS)
        for name in "ab"
    )
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_bars_begin_at_no_bias_and_have_interval_and_null(everything, monkeypatch):
    from wefe.plotting import _static

    ((name, figure),) = _static._scores(everything["scores"])
    (row,) = everything["scores"].to_dict("records")
    assert name == "scores WEAT-ES Unnamed queries set"
    (axes,) = figure.axes
    (bar,) = axes.patches
    assert (bar.get_x(), bar.get_width()) == pytest.approx((0, row["score"]))
    lines = [lines.get_segments()[0][:, 0].tolist() for lines in axes.collections]
    assert lines == [
        pytest.approx([row["score_lower"], row["score_upper"]]),
        pytest.approx([row["null_lower"], row["null_upper"]]),
    ]


def test_many_scores_are_boxes_and_many_models_are_panels_of_the_first(model):
    from wefe.plotting import _static

    one = measure("weat-es", [QUERY], [model])
    many = pd.concat(
        [one.assign(model_name=f"m{i}", score=i / 500) for i in range(500)], ignore_index=True
    )
    ((_, figure),) = _static._scores(many)
    assert not figure.axes[0].patches
    ((_, figure),) = _static._biases({"q": {f"m{i}": {"A": [0.1]} for i in range(20)}})
    assert [axes.get_title() for axes in figure.axes if axes.axison] == [f"m{i}" for i in range(12)]


def test_two_figures_of_one_name_are_two_files(model, tmp_path):
    one, other = ("a/b", "a b")
    written = write_figures(
        tmp_path, biases={one: {"m": {"A": [0.1]}}, other: {"m": {"A": [0.2]}}}, formats=["svg"]
    )
    assert [path.name for path in written] == [
        "individual-biases-a-b.svg",
        "individual-biases-a-b_2.svg",
    ]


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match="formats must be one of"):
        write_figures(tmp_path, formats=["jpeg"])
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_it_says_what_to_install(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'wefe[figures]'")):
        write_figures(tmp_path / "new")
    assert not (tmp_path / "new").exists()
