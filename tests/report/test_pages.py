"""Pages of words and models: what they say, that names are text, and that they need no network."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pages import Page, check_drawn

from wefe import WordEmbeddingModel
from wefe.explore import bias_directions, correlate_with_statistic, model_page, word_page
from wefe.report import page_html, write_page

NASTY = [
    "<img src=x onerror=document.documentElement.dataset.pwned=1>",
    "</script><script>alert(1)</script>",
    "a\x1b[2J\u202eb",
    "{{ 7 * 7 }}",
    "&amp;<b>",
]
GROUPS = [("<i>she", "h&e"), ("woman", "man"), ("girl", "boy")]


@pytest.fixture(scope="module")
def nasty_model():
    words = [
        *(word for pair in GROUPS for word in pair),
        *NASTY,
        *(f"w{letter}" for letter in "bcdfghjklmnp"),
    ]
    vectors = np.random.default_rng(0).normal(size=(len(words), 6))
    vectors[0:6:2, 0] += 5
    vectors[1:6:2, 0] -= 5
    return WordEmbeddingModel.from_arrays(words, vectors, name="</title>model & co")


@pytest.fixture(scope="module")
def nasty_pages(nasty_model):
    words = [word_page(nasty_model, word, GROUPS, k=8, others=NASTY[:1]) for word in NASTY]
    return [*words, model_page(nasty_model, GROUPS, words={"<list>": NASTY}, n=3)]


@pytest.fixture(scope="module")
def nasty_html(nasty_pages):
    return page_html(nasty_pages, facts={"Se<ed": "<0>"})


def test_every_element_is_closed_and_nothing_is_loaded(nasty_html):
    page = Page(nasty_html)
    page.check()
    page.check_loads_nothing()


def test_words_and_names_are_text(nasty_html):
    page = Page(nasty_html)
    assert not any(tag in ("img", "i", "b", "list") for tag, *_ in page.elements)
    for word in (*NASTY[:2], *NASTY[3:], "</title>model & co", "<list>", "<0>", "<i>she"):
        assert word in page.text
    # What a terminal obeys, or turns the text around, is shown.
    assert "\x1b" not in nasty_html
    assert "\u202e" not in nasty_html
    assert r"a\u001b[2J\u202eb" in page.text
    # Three of the page itself, and one of data for each figure.
    assert nasty_html.count("</script>") == 3 + nasty_html.count('type="application/json"')


def test_a_page_of_a_word_says_what_is_known_of_it(packaged_model):
    own = word_page(packaged_model, "nurse", k=20, others=["doctor"])
    text = Page(page_html(own)).text
    assert "nurse leans to female: its cosine with that direction is +0.320" in text
    assert f"{100 * own.percentile:.0f} % of frequent words have less direct bias" in text
    assert f"{100 * own.proximity_bias:.0f} % are biased: more than 0.05" in text
    assert f"doctor {own.indirect_bias['doctor']:+.3f}" in text
    for name in own.neighbors["neighbor"]:
        assert name in text
    assert "All neighbours (20)" in text
    assert "They are neither a property of people" in text
    assert "Read with care" not in text
    facts = text.partition("Software")[2]
    for fact in ("Modelsminilm-words", "Criteriongender", "Neighbours20", "MapPCA"):
        assert fact in facts


def test_words_in_the_range_of_chance_have_no_label_of_a_group(packaged_model):
    own = word_page(packaged_model, "engineer", k=20)
    assert own.leans_to == "no clear direction"
    page = Page(page_html(own))
    assert "engineer has no clear direction: its cosine with that of female is +0.046" in page.text
    row = next(row for row in page.rows if row[:2] == ["engineer", "minilm-words"])
    assert row[2:4] == ["no clear direction", "–"]
    share, low, high = (
        f"{100 * x:.0f} %" for x in own.shares.iloc[2][["neighbors", "low", "high"]]
    )
    assert row[5] == f"{share}{low} to {high}"
    labels = {row.neighbor: row.leans_to for row in own.neighbors.itertuples()}
    assert set(labels.values()) == {"female", "no clear direction"}
    shown = {row[0]: row[3] for row in page.rows if row[0] in labels and len(row) == 7}
    assert shown | {"engineer": ""} == labels | {"engineer": ""}
    # Bars of what chance explains are hollow, and the points of such words are grey.
    drawn = _drawn(page_html(own))
    bars = drawn["shares-0"]["data"]
    for group, share in own.shares["neighbors"].items():
        hollow = [bar["x"] for bar in bars if bar["name"] == group and "line" in bar["marker"]]
        full = [bar["x"] for bar in bars if bar["name"] == group and "line" not in bar["marker"]]
        is_group = group != "no clear direction"
        assert (full, hollow) == (([[None]], [[share]]) if is_group else ([], []))
    points = {trace["name"]: trace for trace in drawn["map-0"]["data"]}
    assert points["centre"]["marker"]["color"] == "#999999"
    grey = [word for word, label in labels.items() if label == "no clear direction"]
    assert len(points["no clear direction"]["x"]) == len(grey)


@pytest.mark.parametrize(("percentile", "said"), [(0.97, "97 %"), (0.9996, "more than 99 %")])
def test_not_quite_all_words_are_never_all_of_them(percentile, said, packaged_model):
    own = replace(word_page(packaged_model, "nurse", k=5), percentile=percentile)
    page = Page(page_html(own))
    assert f", and {said} of frequent words have less direct bias" in page.text
    row = next(row for row in page.rows if row[:2] == ["nurse", "minilm-words"])
    assert row[4].endswith(f"{said} have less")


def test_models_of_a_criterion_share_their_figures(packaged_model):
    one = model_page(packaged_model, words={"jobs": ["nurse", "pilot", "zzzz"]}, n=3)
    other = WordEmbeddingModel(packaged_model.wv, "other")
    two = model_page(other, words={"jobs": ["nurse", "pilot"]}, n=3)
    third = model_page(other, "religion", n=3)
    text = page_html([one, two, third])
    figures = re.findall(r'id="figure-([^"]+)"', text)
    assert figures == ["spread-0", "extremes-0", "spread-1", "extremes-1"]
    page = Page(text)
    word, value = one.extremes[["word", "projection"]].iloc[0]
    assert page.text.count(f"{word} {value:+.3f}") == 2
    assert "The model lacks 1 word of the lists" in page.text
    assert page.text.count("Projections in other") == 2


@pytest.mark.parametrize(("second", "weak"), [(0.45, True), (0.3, False)])
def test_a_direction_that_is_not_twice_the_second_one_is_weak(second, weak):
    axes = np.eye(6)
    # Differences of three pairs: two along one axis, one along another; their squares add up.
    sizes = [np.sqrt((1 - second) / 2)] * 2 + [np.sqrt(second)]
    ways = [axes[0], axes[0], axes[1]]
    pairs = [(f"w{letter}a", f"w{letter}b") for letter in "xyz"]
    vectors = []
    for number, (size, way) in enumerate(zip(sizes, ways, strict=True)):
        # All vectors have length 1.
        middle = np.sqrt(1 - size**2) * axes[3 + number]
        vectors += [middle + size * way, middle - size * way]
    words = [word for pair in pairs for word in pair]
    model = WordEmbeddingModel.from_arrays(words, np.stack(vectors), name="m")
    page = word_page(model, "wxa", pairs, k=3)
    ratios = page.directions.explained_variance_ratio
    assert ratios[:2] == pytest.approx([1 - second, second])
    text = Page(page_html(page)).text
    said = f"(the second component: {100 * second:.0f} %), so it hardly represents them"
    assert (said in text) == weak
    assert ("Read with care:" in text) == weak


def test_two_directions_of_three_groups_are_weak_together(packaged_model):
    noise = np.random.default_rng(0).normal(size=(12, 40))
    words = [f"w{letter}" for letter in "bcdfghjklmnp"]
    model = WordEmbeddingModel.from_arrays(words, noise, name="noise")
    page = word_page(model, "wb", [tuple(words[i : i + 3]) for i in range(0, 12, 3)], k=4)
    taken = page.directions.explained
    assert taken < 0.5
    text = Page(page_html(page)).text
    assert f"has {100 * taken:.0f} % of the variance of its 4 definitional sets, so it" in text
    other = WordEmbeddingModel(packaged_model.wv, "after")
    own = word_page(other, "nurse", "religion", k=4, original=packaged_model)
    text = Page(page_html(own)).text
    assert "Read with care" not in text
    assert "Directions and indirect bias are those of minilm-words." in text
    assert f"Cosines with the direction of each group: jew {own.projection['jew']:+.3f}" in text
    assert "a word leans to that of the largest cosine" in text


def test_a_word_that_was_neutralised_leans_to_no_group_but_its_neighbours_do(packaged_model):
    words = ["she", "he", "woman", "man", "nurse", "nurses", "midwife", "doctor", "chair"]
    vectors = np.stack([packaged_model[word] for word in words]).astype(np.float64)
    before = WordEmbeddingModel.from_arrays(words, vectors, name="before")
    pairs = [("she", "he"), ("woman", "man")]
    direction = bias_directions(before, pairs).subspace[0]
    vectors = np.concatenate(
        [vectors[:4], vectors[4:] - np.outer(vectors[4:] @ direction, direction)]
    )
    after = WordEmbeddingModel.from_arrays(words, vectors.astype(np.float32), name="after")
    page = word_page(after, "nurse", pairs, k=3, original=before)
    text = Page(page_html(page)).text
    assert "In after, nurse has no clear direction: its cosine with that of she is" in text
    share = 100 * page.shares["neighbors"]["she"]
    assert f"Its 3 nearest neighbours: {share:.0f} % lean to she" in text


def test_words_in_several_models_stand_together(packaged_model):
    models = [WordEmbeddingModel(packaged_model.wv, f"m{number}") for number in range(3)]
    pages = [word_page(model, word, k=5) for model in models for word in ("nurse", "captain")]
    text = page_html(pages)
    contents = text.partition("<nav")[2].partition("</nav>")[0]
    links = re.findall(r'<a href="#(word-\d)"><bdi>(.*?)</bdi></a>', contents)
    assert links == [(f"word-{number}", f"m{number % 3}") for number in range(6)]
    assert re.findall(r'<span class="of"><bdi>(.*?)</bdi>', contents) == ["nurse", "captain"]
    page = Page(text)
    assert page.unclosed == []
    heads = re.findall(r'<h2 id="h-(word-\d)"><bdi>(.*?)</bdi> in <bdi>(.*?)</bdi>', text)
    assert heads == [
        (f"word-{number}", ("nurse", "captain")[number // 3], f"m{number % 3}")
        for number in range(6)
    ]


def test_a_long_name_is_cut_and_whole_where_it_is_pointed_at(packaged_model):
    model, word = "m" * 10_000, "w" * 9_000
    words = ["she", "he", "woman", "man", "nurse", word]
    vectors = np.stack([packaged_model[each] for each in [*words[:5], "doctor"]])
    long = WordEmbeddingModel.from_arrays(words, vectors, name=model)
    pairs = [("she", "he"), ("woman", "man")]
    pages = [word_page(long, each, pairs, k=3) for each in ("nurse", word)]
    page = Page(page_html([*pages, model_page(long, pairs, words={"l" * 8_000: [word]}, n=3)]))
    assert page.unclosed == []
    text, _, provenance = page.text.partition("Provenance Software")
    assert max(map(len, re.findall(r"[mwl]+", text))) <= 300
    assert max(map(len, re.findall(r"[mwl]+", provenance))) <= 1000
    titles = {attrs["title"] for _, attrs, _ in page.elements if "title" in attrs}
    assert {model, word, "l" * 8_000} <= titles
    labels = [attrs["aria-label"] for _, attrs, _ in page.elements if "aria-label" in attrs]
    assert max(map(len, labels)) < 600
    # A name that has room is not given twice.
    short = Page(page_html(word_page(packaged_model, "nurse", k=3)))
    assert not [attrs for _, attrs, _ in short.elements if "title" in attrs]


def _drawn(text):
    found = re.findall(
        r'id="figure-([^"]+)".*?<script type="application/json">(.*?)</script>', text, re.DOTALL
    )
    return {name: json.loads(data) for name, data in found}


def test_analogies_and_correlations_have_their_sections(packaged_model):
    numbers = {"nurse": 0.9, "librarian": 0.8, "engineer": 0.1, "lawyer": 0.4, "pilot": 0.1}
    one = correlate_with_statistic(packaged_model, numbers, statistic_name="<share>")
    row = {
        "first_group": "female",
        "second_group": "male",
        "first": "she<",
        "second": "he",
        "score": 0.5,
        "distance": 0.9,
        "is_definitional": True,
    }
    text = page_html([], analogies={"demo": pd.DataFrame([row])}, correlations=[one])
    assert 'id="figure-statistic-0"' in text
    page = Page(text)
    assert page.unclosed == []
    assert "Analogies in demo" in page.text
    assert "she<" in page.text
    assert f"Pearson correlation {one.pearson.value:+.3f}" in page.text


def test_the_file_is_written_whole_or_not_at_all(packaged_model, tmp_path, monkeypatch):
    page = word_page(packaged_model, "nurse", k=5)
    path = tmp_path / "page.html"
    write_page(path, [page], title="A title")
    assert path.read_text(encoding="utf-8") == page_html(page, title="A title")
    assert "<h1><bdi>A title</bdi></h1>" in path.read_text(encoding="utf-8")
    before = path.read_bytes()
    monkeypatch.setattr("wefe.report._pages.html_page", lambda *a, **k: "\ud800")
    with pytest.raises(UnicodeEncodeError):
        write_page(path, page)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(FileNotFoundError):
        write_page(tmp_path / "nowhere" / "page.html", page)


def test_what_is_no_page_is_refused(packaged_model):
    with pytest.raises(ValueError, match="nothing to show"):
        page_html([])
    with pytest.raises(TypeError, match="pages must be of words or models; got str 'nurse'"):
        page_html(["nurse"])
    with pytest.raises(TypeError, match="pages must be a list"):
        page_html("nurse")


def test_chromium_draws_all_figures_without_an_error(nasty_html, chromium, tmp_path):
    check_drawn(chromium, tmp_path, nasty_html, 8)
