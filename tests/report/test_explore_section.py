"""The section on where words lie: what it says, draws and escapes."""

import json
import re
from dataclasses import replace

import pytest
from pages import Page, check_drawn

from wefe.report import summarize, to_html, to_markdown
from wefe.report._explored import NOTHING
from wefe.report._figures import figures
from wefe.study import Study

QUERY = {
    "targets": {"Female": ["she", "woman"], "Male": ["he", "man"]},
    "attributes": {"Family": ["home", "children"], "Career": ["office", "salary"]},
}
EXPLORE = {"criteria": ["gender", "religion"], "words": ["nurse", "engineer", "qxqx"]}
BAD = "</script><script>document.documentElement.dataset.pwned=1</script>"
LONG = "a model whose name says of which corpus, by which method and by whom it was made 300d"


def explored(models, folder=".", **more):
    given = {
        "name": "Explored",
        "offline": True,
        "models": models,
        "queries": [{"name": "Own", "query": [QUERY]}],
        "metrics": [{"metric": "weat-es"}],
        "explore": EXPLORE,
        **more,
    }
    return Study(given, base=folder).run(":memory:", progress=False)


@pytest.fixture(scope="module")
def two():
    """The demo model and what hard debias makes of it."""
    hard = {"method": "hard-debias", "criterion": "gender", "name": "hard"}
    return explored([{"source": "demo"}], mitigations=[hard])


@pytest.fixture(scope="module")
def seven(cuts):
    """Seven models with names that nobody would choose."""
    folder, entries = cuts
    names = [BAD, LONG, "<b>&", "d", "e", "f", "g"]
    models = [{**entries[i % 2], "name": name} for i, name in enumerate(names)]
    return explored(models, folder, explore={**EXPLORE, "words": ["nurse", "<i>x</i>"]})


def section(html):
    (found,) = re.findall(r'(?s)<section id="explored".*?</section>', html)
    return found


def changed(results, change):
    """Return results in which the pages are other ones."""
    outcomes = [
        change(task, outcome) if task.kind == "explore" else outcome
        for task, outcome in zip(results.plan.tasks, results.outcomes, strict=True)
    ]
    return replace(results, outcomes=tuple(outcomes))


def test_a_study_without_pages_has_no_section(example):
    assert summarize(example)["explored"] == []
    html = to_html(example)
    assert 'id="explored"' not in html
    assert 'href="#explored"' not in html
    assert "Where words lie" not in to_markdown(example)


def test_the_summary_has_what_the_tables_have(two):
    gender, religion = summarize(two)["explored"]
    assert gender["groups"] == ["female", "male"]
    assert religion["groups"] == ["jew", "christian", "muslim"]
    extremes = two.explore().extremes
    own = extremes[(extremes["model_name"] == "demo") & (extremes["criterion"] == "gender")]
    for side in gender["sides"]:
        words = own[own["group"] == side["group"]]
        assert [cells[0] for cells in side["ranks"]] == [
            list(pair) for pair in zip(words["word"], words["projection"], strict=True)
        ]
    nurse = gender["words"][0]["rows"][0]
    assert (nurse["leans_to"], nurse["most"], nurse["n_neighbors"]) == ("female", None, 100)
    assert [share["group"] for share in nurse["shares"]] == ["female", "male"]
    assert all(0 <= each["chance_low"] < each["chance_high"] <= 1 for each in nurse["shares"])
    json.dumps(gender, allow_nan=False)


def test_what_is_left_by_rounding_lies_nowhere(two):
    gender = summarize(two)["explored"][0]
    after = gender["words"][0]["rows"][1]
    assert abs(after["projection"]) < NOTHING
    assert after["leans_to"] == "no clear direction"
    # Its neighbours are another matter, which chance explains here.
    assert after["shares"][0]["neighbor_share"] > 0.4
    assert after["most"] is None
    assert [cells[1] for cells in gender["sides"][0]["ranks"]] == [None] * 10


def test_the_tables_stand_side_by_side(two):
    rows = Page(section(to_html(two))).rows
    heads = [row for row in rows if row[:1] == ["Rank"]]
    assert heads == [["Rank", "demo", "demo (hard)mitigated"]] * 5
    first = next(row for row in rows if row[0] == "1")
    assert first[1:] == ["hillary 0.45", "–"]
    (nurse, *_) = [row for row in rows if row[0] == "demo" and len(row) == 6]
    assert nurse == [
        *("demo", "female", "0.320more than 99 %"),
        *("68 %chance 0 % to 76 %", "0 %chance 0 % to 64 %", "51 %of 100"),
    ]
    after = next(row for row in rows if row[0] == "demo (hard)mitigated" and len(row) == 6)
    assert after[1:3] == ["no clear direction", "0.000"]


def test_what_a_partial_mitigation_left_is_listed_and_rounding_is_not(two):
    """The largest cosines after it are some that are worth a look, and some that are rounding."""

    def partly(task, outcome):
        page = (outcome.value or {}).get("page") or {}
        if task.model == "demo" or task.place["criterion"] != "gender" or "extremes" not in page:
            return outcome
        left = {"some": 0.2, "little": 6e-4, "rounded": 4e-4, "rounding": 1e-9}
        rows = [
            {"group": group, "rank": rank, "word": word, "projection": left[word]}
            for group in ("female", "male")
            for rank, word in enumerate(left, 1)
        ]
        return replace(outcome, value={**outcome.value, "page": {**page, "extremes": rows}})

    results = changed(two, partly)
    for side in summarize(results)["explored"][0]["sides"]:
        assert [cells[1] for cells in side["ranks"][:3]] == [["some", 0.2], ["little", 6e-4], None]
    assert "rounding" not in section(to_html(results))


def test_neighbours_that_are_not_known_are_said(two):
    def unknown(task, outcome):
        page = (outcome.value or {}).get("page") or {}
        if task.place.get("word") != "nurse" or not page:
            return outcome
        shares = [{**row, "neighbors": None} for row in page["shares"]]
        page = {**page, "shares": shares, "proximity_bias": None, "nan_reason": "lost"}
        return replace(outcome, value={**outcome.value, "page": page})

    results = changed(two, unknown)
    text = Page(section(to_html(results))).text
    assert "no value: lost" in text
    assert "| demo | female 0.320; neighbours: no value |" in to_markdown(results)
    assert "of the neighbours of nurse" not in json.dumps(summarize(results)["claims"])


def test_a_word_that_no_model_has_is_said_in_a_line(two):
    text = Page(section(to_html(two))).text
    assert text.count("qxqx: no model has a value (the model lacks the word 'qxqx').") == 2


def test_claims_say_what_mitigation_left(two):
    (text,) = [claim["text"] for claim in summarize(two)["claims"] if claim["kind"] == "left_over"]
    start = "demo (hard), along the direction of gender: the mean distance of frequent words from 0"
    assert text.startswith(f"{start} is 0.00")
    text = text.replace("\xa0", " ")
    said = "44 % of the neighbours of nurse lean to female (68 % before; by chance 0 % to 51 %)"
    assert said in text
    assert "(0.056 before)" in text


def test_markdown_has_one_short_table(two):
    text = to_markdown(two)
    at = text.index("**Where words lie, gender**")
    lines = [line for line in text[at:].splitlines() if line.startswith("|")]
    assert lines == [
        "| Model | nurse | engineer | qxqx |",
        "| :--- | :--- | :--- | :--- |",
        "| demo | female 0.320; neighbours: as by chance "
        "| no clear direction 0.046; neighbours: as by chance | no value |",
        "| demo (hard) | no clear direction; neighbours: as by chance "
        "| no clear direction; neighbours: as by chance | no value |",
    ]
    assert "religion**" not in text


def test_figures_have_the_quantiles(two):
    drawn = figures(two, summarize(two))
    gender = drawn["explored-0"]
    table = two.explore().distribution
    spread = table[(table["criterion"] == "gender") & (table["set"] == "vocabulary")]
    boxes = gender.data["data"]
    assert {trace["type"] for trace in boxes} == {"box"}
    (own,) = [trace for trace in boxes if trace["q1"] == spread["25 %"].tolist()]
    for key, column in (("median", "50 %"), ("q3", "75 %"), ("upperfence", "95 %")):
        assert own[key] == spread[column].tolist()
    assert "right of 0 is towards female, left towards male" in gender.caption
    assert "female stereotypes in demo: 0.156" in gender.alt
    # Of three groups, a bar for each, once in the legend.
    legend = [
        trace["name"] for trace in drawn["explored-1"].data["data"] if trace.get("showlegend")
    ]
    assert legend == ["towards jew", "towards christian", "towards muslim"]


def test_names_and_words_are_text(seven):
    def with_bad_words(task, outcome):
        page = (outcome.value or {}).get("page")
        if not page or "extremes" not in page:
            return outcome
        extremes = [{**row, "word": BAD} for row in page["extremes"]]
        spread = [{**row, "set": f"{row['set']} <img src=x>"} for row in page["distribution"]]
        page = {**page, "extremes": extremes, "distribution": spread}
        return replace(outcome, value={**outcome.value, "page": page})

    html = section(to_html(changed(seven, with_bad_words)))
    page = Page(html)
    tags = [tag for tag, *_ in page.elements]
    assert not {"img", "b", "i"} & set(tags)
    assert tags.count("script") == 2  # The data of the figures.
    assert "document.documentElement" in page.text


def test_results_that_are_not_there_are_said(two):
    def without(task, outcome):
        if task.place["criterion"] == "religion":
            return replace(outcome, status="missing", value=None)
        if task.model != "demo":
            return replace(outcome, status="failed", value=None, reason="Broken: no memory")
        return outcome

    results = changed(two, without)
    gender, religion = summarize(results)["explored"]
    assert gender["models"][1]["why"] == "Broken: no memory"
    assert religion["groups"] == []
    assert {each["why"] for each in religion["models"]} == {"not computed yet"}
    text = Page(section(to_html(results))).text
    assert "no value: Broken: no memory" in text
    assert "nurse: no model has a value (not computed yet)" in text
    assert "| demo (hard) | no value | no value | no value |" in to_markdown(results)
    # A study of which nothing was computed has a report as well.
    nothing = changed(two, lambda _, outcome: replace(outcome, status="missing", value=None))
    assert "Where words lie" in to_html(nothing)
    assert "Where words lie" not in to_markdown(nothing)


def test_figures_are_drawn_in_a_browser(seven, chromium, tmp_path):
    check_drawn(chromium, tmp_path, to_html(seven), len(figures(seven, summarize(seven))))
