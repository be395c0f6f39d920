"""Figures of RNSB's negative sentiment."""

import pytest

from wefe.metrics import RNSB
from wefe.plotting import plot_negative_sentiment
from wefe.query import Query

ATTRIBUTES = [["good", "nice", "love"], ["bad", "ugly", "hate"]]


def test_each_model_has_a_panel_with_the_same_words_and_range(rnsb_results, said):
    figure = plot_negative_sentiment({r.model_name: r for r in rnsb_results})
    for bar, result in zip(figure.data, rnsb_results, strict=True):
        assert dict(zip(bar.x, bar.y, strict=True)) == result["negative_sentiment_distribution"]
    titles = [note.text for note in said(figure)]
    assert titles == [f"{r.model_name}<br>RNSB = {r['rnsb']:.3g}" for r in rnsb_results]
    assert len({axis.matches for axis in figure.select_yaxes()}) == 2  # None, and its name
    # Equal shares of six words.
    assert [line.y0 for line in figure.layout.shapes] == [pytest.approx(1 / 6)] * 3
    assert len(plot_negative_sentiment(rnsb_results[0]).data) == 1


def test_a_result_that_is_nan_says_why(models, drawn, said):
    query = Query([["xyzzy"], ["irish"]], ATTRIBUTES)
    figure = plot_negative_sentiment(RNSB().run_query(query, models[0], holdout=False))
    drawn(figure)
    (note,) = said(figure, "no value: ")
    assert "lost 100% of its words" in note.text.replace("<br>", " ")
