"""Figures as files: all six, in three formats, whatever names hold; the same each time."""

import math
import re
import sys

import pandas as pd
import pytest

pytest.importorskip("matplotlib")

from wefe import Query, load_test_model
from wefe.metrics import RNSB
from wefe.plotting import _static, write_figures
from wefe.running import measure
from wefe.silhouette import bias_silhouettes

NASTY = "$x_{1}$ \\frac <b>&"


@pytest.fixture(scope="module")
def everything():
    model = load_test_model()
    query = Query(
        [["she", "woman", "girl"], ["he", "man", "boy"]],
        [["home", "family"], ["office", "career"]],
        ["Female", NASTY],
        ["Home", "Work"],
    )
    params = {"calculate_p_value": True}
    names = ["A", NASTY]
    return {
        "scores": measure("weat-es", [query], [model], n_bootstrap=40, metric_params=params),
        "ranking": pd.DataFrame({"WEAT": [2, 1], NASTY: [1, math.nan]}, names),
        "correlations": pd.DataFrame([[1, math.nan], [math.nan, 1]], names, names),
        "negative_sentiment": {"q": {"demo": RNSB().run_query(query, model, holdout=False)}},
        "silhouettes": bias_silhouettes("weat", query, [model], n_runs=4),
        "biases": {
            NASTY: {"demo": {"Female": [0.1, math.nan, 0.2], NASTY: [0.3], "no": []}, "b": {}}
        },
    }


@pytest.mark.slow
def test_every_figure_is_written_in_three_formats_the_same_each_time(everything, tmp_path):
    written = {path.name: path.read_bytes() for path in write_figures(tmp_path, **everything)}
    kinds = {re.split("[-.]", name)[0] for name in written}
    assert kinds == {
        *("scores", "ranking", "correlations", "negative", "joint", "silhouette", "individual")
    }
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert len(written) == len(kinds) * len(starts)
    for name, content in written.items():
        assert content.startswith(starts[name[-3:]])
        assert len(content) > 2000
    again = write_figures(tmp_path / "new", ranking=everything["ranking"])
    assert all(path.read_bytes() == written[path.name] for path in again)


def test_bars_begin_at_no_bias_and_have_interval_and_null(everything):
    ((_, figure),) = _static._scores(everything["scores"])
    (row,) = everything["scores"].to_dict("records")
    (axes,) = figure.axes
    (bar,) = axes.patches
    assert (bar.get_x(), bar.get_width()) == pytest.approx((0, row["score"]))
    for lines, name in zip(axes.collections, ("score", "null"), strict=True):
        (ends,) = lines.get_segments()
        assert ends[:, 0] == pytest.approx([row[f"{name}_lower"], row[f"{name}_upper"]])


def test_many_scores_are_boxes_and_many_models_are_panels_of_the_first(everything, tmp_path):
    one = everything["scores"]
    many = [one.assign(model_name=f"m{i}", score=i / 500) for i in range(500)]
    ((_, figure),) = _static._scores(pd.concat(many, ignore_index=True))
    assert not figure.axes[0].patches
    ((_, figure),) = _static._biases({"q": {f"m{i}": {"A": [0.1]} for i in range(20)}})
    assert [axes.get_title() for axes in figure.axes if axes.axison] == [f"m{i}" for i in range(12)]
    # Two figures of one name are two files.
    biases = {name: {"m": {"A": [0.1]}} for name in ("a/1", "a 1")}
    written = write_figures(tmp_path, biases=biases, formats=["svg"])
    names = ["individual-biases-a-1.svg", "individual-biases-a-1_2.svg"]
    assert [path.name for path in written] == names


def test_nothing_is_written_without_a_known_format_or_matplotlib(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="formats"):
        write_figures(tmp_path / "new", formats=["jpeg"])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"wefe\[figures\]"):
        write_figures(tmp_path / "new")
    assert not (tmp_path / "new").exists()
