"""Pages of words and models: what they say, that names are text, and that they need no network."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from pages import Page, check_drawn

from wefe import WordEmbeddingModel
from wefe.explore import model_page, word_page
from wefe.report import write_page
from wefe.report._pages import page_html

NASTY = [
    "<img src=x onerror=document.documentElement.dataset.pwned=1>",
    "</script><script>alert(1)</script>",
    "a\x1b[2J\u202eb",
    "{{ 7 * 7 }}",
    "&amp;<b>",
]
GROUPS = [("<i>she", "h&e"), ("woman", "man"), ("girl", "boy")]


@pytest.fixture(scope="module")
def nasty_html():
    words = [
        *(word for pair in GROUPS for word in pair),
        *NASTY,
        *(f"w{letter}" for letter in "bcdfghjklmnp"),
    ]
    vectors = np.random.default_rng(0).normal(size=(len(words), 6))
    vectors[0:6:2, 0] += 5
    vectors[1:6:2, 0] -= 5
    model = WordEmbeddingModel((words, vectors), name="</title>model & co")
    pages = [word_page(model, word, GROUPS, k=8, others=NASTY[:1]) for word in NASTY]
    pages.append(model_page(model, GROUPS, words={"<list>": NASTY}, n=3))
    return page_html(pages, facts={"Se<ed": "<0>"})


def test_words_and_names_are_text_and_nothing_is_loaded(nasty_html):
    page = Page(nasty_html)
    page.check()
    page.check_loads_nothing()
    assert not any(tag in ("img", "i", "b", "list") for tag, *_ in page.elements)
    for word in (*NASTY[:2], *NASTY[3:], "</title>model & co", "<list>", "<0>", "<i>she"):
        assert word in page.text
    # What a terminal obeys, or turns the text around, is shown.
    assert "\x1b" not in nasty_html
    assert "\u202e" not in nasty_html
    assert r"a\u001b[2J\u202eb" in page.text
    # Two of the page itself, and one of data for each figure.
    assert nasty_html.count("</script>") == 2 + nasty_html.count('type="application/json"')


def test_chromium_draws_all_figures_without_an_error(nasty_html, chromium, tmp_path):
    check_drawn(chromium, tmp_path, nasty_html, 8)


def test_a_page_of_a_word_says_what_is_known_of_it(packaged_model):
    own = word_page(packaged_model, "nurse", k=20, others=["doctor"])
    text = Page(page_html([own])).text
    assert "nurse leans to female: its cosine with that direction is +0.320" in text
    assert f"{100 * own.percentile:.0f} % of frequent words have less direct bias" in text
    assert f"{100 * own.proximity_bias:.0f} % of the neighbours owe more than 0.05" in text
    assert f"doctor {own.indirect_bias['doctor']:+.3f}" in text
    assert all(name in text for name in own.neighbors["neighbor"])
    assert "They are neither a property of people" in text
    facts = text.partition("Software")[2]
    for fact in ("Modelsminilm-words", "Criteriongender", "Neighbours20", "MapPCA"):
        assert fact in facts


def test_words_in_the_range_of_chance_have_no_label_of_a_group(packaged_model):
    own = word_page(packaged_model, "engineer", k=20)
    html = page_html([own])
    page = Page(html)
    assert "engineer has no clear direction: its cosine with that of female is +0.046" in page.text
    labels = {row.neighbor: row.leans_to for row in own.neighbors.itertuples()}
    assert set(labels.values()) == {"female", "no clear direction"}
    shown = {row[0]: row[3] for row in page.rows if row[0] in labels and len(row) == 7}
    assert shown | {"engineer": ""} == labels | {"engineer": ""}
    # The points of such words are grey.
    data = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    _, points = ({t["name"]: t for t in each["data"]} for each in map(json.loads, data))
    assert points["centre"]["marker"]["color"] == "#999999"
    grey = [word for word, label in labels.items() if label == "no clear direction"]
    assert len(points["no clear direction"]["x"]) == len(grey)


def test_models_of_a_criterion_share_their_figures(packaged_model):
    other = WordEmbeddingModel(packaged_model.wv, "other")
    pages = [
        model_page(packaged_model, words={"jobs": ["nurse", "pilot", "zzzz"]}, n=3),
        model_page(other, words={"jobs": ["nurse", "pilot"]}, n=3),
        model_page(other, "religion", n=3),
    ]
    text = page_html(pages)
    figures = re.findall(r'id="figure-([^"]+)"', text)
    assert figures == ["spread-0", "extremes-0", "spread-1", "extremes-1"]
    page = Page(text)
    assert "The model lacks 1 word of the lists" in page.text
    assert page.text.count("Projections in other") == 2


def test_two_directions_of_three_groups_are_weak_together(packaged_model):
    after = WordEmbeddingModel(packaged_model.wv, "after")
    page = word_page(after, "nurse", "religion", k=4, original=packaged_model)
    text = Page(page_html([page])).text
    assert "Read with care" not in text
    assert "Directions and indirect bias are those of minilm-words." in text
    assert f"Cosines with the direction of each group: jew {page.projection['jew']:+.3f}" in text
    found = replace(page.directions, explained_variance_ratio=np.array([0.25, 0.2, 0.1]))
    text = Page(page_html([replace(page, directions=found)])).text
    assert f"has 45 % of the variance of its {len(found.sets)} definitional sets, so it" in text


def test_the_file_is_written_whole_or_not_at_all(packaged_model, tmp_path, monkeypatch):
    page = word_page(packaged_model, "nurse", k=5)
    path = tmp_path / "page.html"
    write_page(path, [page])
    before = path.read_text(encoding="utf-8")
    assert before == page_html([page])
    monkeypatch.setattr("wefe.report._pages.html_page", lambda *a, **k: "\ud800")
    with pytest.raises(UnicodeEncodeError):
        write_page(path, [page])
    assert path.read_text(encoding="utf-8") == before
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
