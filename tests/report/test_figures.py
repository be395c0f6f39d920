"""Figures of the report: what they show and say, and their form for many models."""

import pytest
from made_results import many, results_of

from wefe.report._figures import figures
from wefe.report._render import to_html
from wefe.report._summarize import summarize


def drawn(results):
    return figures(results, summarize(results))


def test_the_heat_map_names_the_score_that_is_farthest_from_no_bias():
    results = results_of({"ECT": {"G": {"q": {"a": 0.9, "b": 0.2}, "r": {"a": 0.5, "b": 0.4}}}})
    figure = drawn(results)["scores-0"]
    assert figure["alt"].endswith("farthest from 1 is that of b for q: 0.800 away.")
    (trace,) = figure["data"]["data"]
    # The name of the query set stands above its queries.
    expected = [[None, None], pytest.approx([-0.1, -0.8]), pytest.approx([-0.5, -0.6])]
    assert trace["z"] == expected
    assert (trace["zmin"], trace["zmax"]) == pytest.approx((-0.8, 0.8))
    assert "<bdi>ECT</bdi><small>distance from 1</small>" in to_html(results)


def test_what_is_strong_in_the_opposite_direction_is_named_in_its_cell():
    opposite = {
        "score": -0.9,
        "p_value": 0.997,
        "p_value_test": "right-sided",
        "warnings": ["strong in the opposite direction: use p_value_test_type='two-sided'"],
    }
    results = results_of({"WEAT": {"G": {"q": {"a": opposite, "b": 0.2}}}})
    assert "p = 0.997, strong in the opposite direction</small>" in to_html(results)
    figure = drawn(results)["scores-0"]
    assert "marks p < 0.05, or strong in the opposite direction (one-sided)." in figure["caption"]
    assert figure["data"]["data"][0]["text"][1] == ["-0.900*", "0.200"]


def test_ranks_stand_with_scores_and_accumulate_with_external_columns():
    external = [{"name": "WEB", "best": "higher", "scores": {"a": 0.3, "b": 0.6}}]
    scores = {"WEAT": {"G": {"q": {"a": 0.1, "b": -0.25}}}}
    results = results_of(scores, {"external": external})
    assert '2 <span class="score">(0.250)</span></td>' in to_html(results)
    figure = drawn(results)["ranking-0"]
    assert [trace["name"] for trace in figure["data"]["data"]] == ["WEAT", "WEB"]
    assert "These columns are ranked in their own order: WEB." in figure["caption"]


def test_negative_sentiment_is_drawn_and_in_a_table():
    def value(score, **shares):
        return {"score": score, "negative_sentiment": shares}

    of_models = {
        "a": value(0.2, irish=0.2, cuban=0.8),
        "b": value(0.0, irish=0.5, cuban=0.5),
        "c": "lost",
    }
    results = results_of({"RNSB": {"Nation": {"q": of_models}}})
    (part,) = summarize(results)["sentiment"]
    assert [(row["model"], row["rnsb"]) for row in part["rows"]] == [("b", 0.0), ("a", 0.2)]
    assert {"sentiment-0", "matrix-0-0", "matrix-0-1"} <= drawn(results).keys()
    assert '<td class="number">80.0 %</td>' in to_html(results)
    # Of many models only some are shown, here one that has no score for the second query.
    first = {f"m{i}": value(i / 100, irish=0.5, cuban=0.5) for i in range(42)}
    results = results_of({"RNSB": {"Nation": {"q": first, "r": first | {"m0": "lost"}}}})
    assert [part["query"] for part in summarize(results)["sentiment"]] == ["q"]


@pytest.mark.slow
def test_above_forty_models_the_report_changes_form():
    for n_models in (40, 41):
        html = to_html(many(n_models, n_queries=2, n_metrics=1))
        assert ("the scores as a table" in html) == (n_models == 40)
    sixty = many(60, n_queries=6)
    summary = summarize(sixty)
    verdict = [claim for claim in summary["claims"] if claim["place"] == "verdict"]
    parts = [part for claim in verdict for part in claim["parts"] if part["kind"] == "model"]
    assert set(summary["shown"]) == {part["text"] for part in parts}
    found = figures(sixty, summary)
    histograms = [t for t in found["ranking-0"]["data"]["data"] if t["type"] == "histogram"]
    assert sum(len(each["x"]) for each in histograms) == sum(
        score is not None for row in summary["rankings"][0]["rows"] for score in row["scores"]
    )
    heat_maps = [figure["data"] for name, figure in found.items() if name.startswith("scores-")]
    assert len(histograms) == len(heat_maps) == 5
    for data in heat_maps:
        assert all("texttemplate" not in trace for trace in data["data"])
    html = to_html(sixty)
    assert len(html.encode()) < 10e6
    assert html.count('<tr class="named">') == 3 * len(summary["shown"])
