"""The section on where words lie: what it says, draws and escapes."""

from dataclasses import replace

import pytest
from pages import Page

from wefe.report._figures import figures
from wefe.report._render import to_html
from wefe.report._summarize import summarize
from wefe.report._words import NOTHING
from wefe.study import Study
from wefe.study._study import _EXAMPLE


@pytest.fixture(scope="module")
def two():
    """The demo model and what hard debias makes of it."""
    words = ["nurse", "engineer", "qxqx"]
    given = {
        **_EXAMPLE,
        "models": [{"source": "demo"}],
        "mitigations": [{"method": "hard-debias", "criterion": "gender", "name": "hard"}],
        "explore": {"criteria": ["gender", "religion"], "words": words},
    }
    return Study(given).run(":memory:", progress=False)


def changed(results, change):
    """Return results in which the pages are other ones; `change` gets a task and its page."""
    outcomes = []
    for task, outcome in zip(results.plan.tasks, results.outcomes, strict=True):
        if task.kind == "explore":
            new = change(task, (outcome.value or {}).get("page") or {})
            if isinstance(new, dict):
                new = {"value": {**(outcome.value or {}), "page": new}} if new else {}
                outcome = replace(outcome, **new)
            else:
                outcome = replace(outcome, status=new, value=None, failure="no memory")
        outcomes.append(outcome)
    return replace(results, outcomes=tuple(outcomes))


def section(results):
    """Return the page of the section alone."""
    html = to_html(results).partition('<section id="explored"')[2].partition("</section>")[0]
    return Page(f"<section {html}</section>")


def test_the_summary_has_what_the_tables_have(two):
    gender, religion = summarize(two)["explored"]
    assert gender["groups"] == ["female", "male"]
    assert religion["groups"] == ["jew", "christian", "muslim"]
    extremes = two.explore()["extremes"]
    own = extremes[(extremes["model_name"] == "demo") & (extremes["criterion"] == "gender")]
    for side in gender["sides"]:
        words = own[own["group"] == side["group"]][["word", "projection"]]
        assert [[*cells[0]] for cells in side["ranks"]] == words.to_numpy().tolist()
    before, after = gender["words"][0]["rows"]
    assert (before["leans_to"], before["n_neighbors"]) == ("female", 100)
    assert all(0 <= each["chance_low"] < each["chance_high"] <= 1 for each in before["shares"])
    # What is left by rounding lies nowhere; its neighbours are another matter.
    assert abs(after["projection"]) < NOTHING
    assert after["leans_to"] == "no clear direction"
    assert after["shares"][0]["neighbor_share"] > 0.4
    assert [cells[1] for cells in gender["sides"][0]["ranks"]] == [None] * 10


def test_the_tables_stand_side_by_side(two):
    page = section(two)
    heads = [row for row in page.rows if row[:1] == ["Rank"]]
    assert heads == [["Rank", "demo", "demo (hard)mitigated"]] * 5
    first = next(row for row in page.rows if row[0] == "1")
    assert first[1:] == ["hillary 0.45", "–"]
    (nurse, *_) = [row for row in page.rows if row[0] == "demo" and len(row) == 6]
    assert nurse == [
        *("demo", "female", "0.320more than 99 %"),
        *("68 %chance 0 % to 76 %", "0 %chance 0 % to 64 %", "51 %of 100; chance 0 % to 66 %"),
    ]
    lacking = "qxqx: no model has a value (the model lacks the word 'qxqx')."
    assert page.text.count(lacking) == 2


def test_what_a_partial_mitigation_left_is_listed_and_rounding_is_not(two):
    """The largest cosines after it are some that are worth a look, and some that are rounding."""

    def partly(task, page):
        if task.model == "demo" or task.place["criterion"] != "gender" or "extremes" not in page:
            return page
        left = {"some": 0.2, "little": 6e-4, "rounded": 4e-4, "rounding": 1e-9}
        rows = [
            {"group": group, "rank": rank, "word": word, "projection": left[word]}
            for group in ("female", "male")
            for rank, word in enumerate(left, 1)
        ]
        return {**page, "extremes": rows}

    results = changed(two, partly)
    for side in summarize(results)["explored"][0]["sides"]:
        assert [cells[1] for cells in side["ranks"][:3]] == [["some", 0.2], ["little", 6e-4], None]
    assert "rounding" not in section(results).text


def test_neighbours_that_are_not_known_are_said(two):
    def unknown(task, page):
        if task.place.get("word") != "nurse" or not page:
            return page
        shares = [{**row, "neighbors": None} for row in page["shares"]]
        return {**page, "shares": shares, "proximity_bias": None, "nan_reason": "lost"}

    results = changed(two, unknown)
    assert "no value: lost" in section(results).text


def test_figures_have_the_quantiles(two):
    drawn = figures(two, summarize(two))
    gender = drawn["explored-0"]
    table = two.explore()["distribution"]
    spread = table[(table["criterion"] == "gender") & (table["set"] == "vocabulary")]
    (own,) = gender["data"]["data"]
    for key, column in (("q1", "25 %"), ("median", "50 %"), ("upperfence", "95 %")):
        assert [own[key][own["y"].index(row)] for row in range(2)] == spread[column].tolist()
    assert "right of 0 is towards female, left towards male" in gender["caption"]
    assert "female stereotypes in demo: 0.156" in gender["alt"]
    # Of three groups, a panel for each.
    titles = [note["text"] for note in drawn["explored-1"]["data"]["layout"]["annotations"]]
    assert titles == ["towards jew", "towards christian", "towards muslim"]


def test_results_that_are_not_there_are_said(two):
    def without(task, page):
        if task.place["criterion"] == "religion":
            return "missing"
        return page if task.model == "demo" else "failed"

    results = changed(two, without)
    gender, religion = summarize(results)["explored"]
    assert gender["models"][1]["why"] == "no memory"
    assert religion["groups"] == []
    assert {each["why"] for each in religion["models"]} == {"not computed yet"}
    text = section(results).text
    assert "no value: no memory" in text
    assert "nurse: no model has a value (not computed yet)" in text
