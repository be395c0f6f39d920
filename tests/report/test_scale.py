"""Reports of many models: another form, small and quick, and sorted in a browser."""

import json
import re

import pytest
from made_results import many, results_of
from pages import chromium_opens

from wefe.report import summarize, to_html
from wefe.report._figures import figures
from wefe.report._summarize import MOST_MODELS

_SORT = """
const say = (key, value) => (document.documentElement.dataset[key] = JSON.stringify(value));
addEventListener("load", () => setTimeout(() => {
  const table = document.querySelector("#rankings table");
  const rows = () => [...table.tBodies[0].rows];
  table.tHead.querySelectorAll("button")[1].click();
  say("first", rows().slice(0, 3).map((row) => parseInt(row.cells[1].textContent)));
  const field = document.querySelector("#rankings input[type=search]");
  field.value = "MODEL 1";
  field.dispatchEvent(new Event("input"));
  say("left", rows().filter((row) => row.offsetHeight > 0).map((row) => row.cells[0].textContent));
  say("named", document.querySelectorAll("#rankings tr.named").length);
}));
"""


@pytest.fixture(scope="module")
def sixty():
    return many(60, n_queries=6)


def test_above_forty_models_the_report_changes_form(sixty):
    assert MOST_MODELS < 60
    summary = summarize(sixty)
    assert summary["is_large"]
    named = {
        part["text"]
        for claim in summary["claims"]
        if claim["place"] == "verdict"
        for part in claim["parts"]
        if part["kind"] == "model"
    }
    assert set(summary["shown"]) == named
    drawn = figures(sixty, summary)
    histograms = [t for t in drawn["ranking-0"].data["data"] if t["type"] == "histogram"]
    assert len(histograms) == 5
    assert sum(len(each["x"]) for each in histograms) == sum(
        score is not None for row in summary["rankings"][0]["rows"] for score in row["scores"]
    )
    heat_maps = [figure.data for name, figure in drawn.items() if name.startswith("scores-")]
    assert len(heat_maps) == 5
    for data in heat_maps:
        assert all("texttemplate" not in trace for trace in data["data"])
        assert {"<b>Gender</b>", "<b>Age</b>"} <= {*data["layout"]["yaxis"]["ticktext"]}
    html = to_html(sixty)
    assert len(html.encode()) < 10e6
    assert html.count('<tr class="named">') == 3 * len(named)
    assert "the scores as a table" not in html


def test_forty_models_have_cells_and_forty_one_have_not():
    def form(n):
        html = to_html(many(n, n_queries=2, n_metrics=1))
        return "the scores as a table" in html

    assert form(40)
    assert not form(41)


@pytest.mark.parametrize("n_models", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_table_of_many_models_sorts_and_is_filtered(n_models, chromium, tmp_path):
    text = to_html(many(n_models, n_queries=6 if n_models < 100 else 25))
    text = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", text)
    text = text.replace("</body>", f"<script>{_SORT}</script></body>")
    document, console = chromium_opens(chromium, tmp_path, text, "--dump-dom")
    assert console == []
    root = re.search(r"<html[^>]*>", document)[0].replace("&quot;", '"')
    assert "data-errors" not in root
    said = {key: json.loads(v) for key, v in re.findall(r'data-(\w+)="(\[.*?\]|\d+)"', root)}
    assert said["first"] == [1, 2, 3]
    assert {"model 1", "model 10", "model 19"} <= set(said["left"])
    assert all(name.startswith("model 1") for name in said["left"])
    assert said["named"] >= 1


def test_negative_sentiment_is_drawn_and_in_a_table():
    def value(score, **shares):
        return {"score": score, "negative_sentiment": shares}

    scores = {
        "RNSB": {"Nation": {"q": {"a": value(0.2, irish=0.2, cuban=0.8),
                                  "b": value(0.0, irish=0.5, cuban=0.5),
                                  "c": {"score": None, "nan_reason": "lost"}}}}
    }  # fmt: skip
    results = results_of(scores)
    summary = summarize(results)
    (part,) = summary["sentiment"]
    assert part["words"] == ["irish", "cuban"]
    assert [(row["model"], row["shares"]) for row in part["rows"]] == [
        ("b", [0.5, 0.5]),
        ("a", [0.2, 0.8]),
    ]
    drawn = figures(results, summary)
    bars = [trace["y"] for trace in drawn["sentiment-0"].data["data"]]
    assert bars == [[0.5, 0.5], [0.2, 0.8]]
    # Beside the uniform distribution.
    assert [shape["y0"] for shape in drawn["sentiment-0"].data["layout"]["shapes"]] == [0.5, 0.5]
    assert drawn["matrix-0-1"].data["data"][0]["z"] == [
        pytest.approx([0.04, 0.16]),
        pytest.approx([0.16, 0.64]),
    ]
    assert '<td class="number">80.0 %</td>' in to_html(results)


def test_ranks_stand_with_scores_and_accumulate_with_external_columns(made):
    scores = {"WEAT": {"G": {"q": {"a": 0.1, "b": -0.25}}}}
    external = [{"name": "WEB", "best": "higher", "scores": {"a": 0.3, "b": 0.6}}]
    results = made(scores, {"external": external})
    assert '2 <span class="score">(0.250)</span></td>' in to_html(results)
    drawn = figures(results, summarize(results))["ranking-0"]
    assert [trace["name"] for trace in drawn.data["data"]] == ["WEAT", "WEB"]
    assert "These columns are ranked in their own order: WEB." in drawn.caption
