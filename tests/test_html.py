"""What notebooks show: short tables, in which no text of somebody else is markup."""

from html.parser import HTMLParser

import pytest

from wefe import WEAT, Query, WordEmbeddingModel, measure, run_queries
from wefe.contextual import load_encoder
from wefe.study import Study

# Would run if it were markup; the last character turns the direction of what follows.
EVIL = "<script>alert(1)</script>\u202e"


class Reader(HTMLParser):
    """The elements and texts of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.texts += [data.strip()] if data.strip() else []


@pytest.fixture
def shown(toy_model):
    """Everything that has a name by somebody else, as a notebook shows it."""
    model = WordEmbeddingModel((list(toy_model.vocab), toy_model.vectors), EVIL)
    query = Query([["she", EVIL], ["he", "man"]], [["home"], ["boss"]], [EVIL, "b"], ["c", "d"])
    data = Study.example().declaration.canonical()
    data["models"][0]["name"] = "<script>alert(1)</script>"
    results = Study(data).run(":memory:", progress=False)
    return {
        "query": query,
        "model": model,
        "result": WEAT().run_query(query, model),
        "measure": measure("weat", [query], [model], progress=False),
        "run_queries": run_queries(WEAT, [query], [model], progress=False),
        "study": results,
    }


def test_names_of_others_are_no_markup(shown):
    for what, each in shown.items():
        page = Reader(each._repr_html_())
        assert "script" not in page.tags, what
        assert "table" in page.tags, what
        assert any("alert(1)" in text for text in page.texts), what
        if what not in ("measure", "run_queries"):  # which pandas shows
            assert "\u202e" not in each._repr_html_(), what


def test_what_is_shown_holds_sets_scores_words_and_reasons(toy_model, toy_query, shown):
    assert "<td>she and woman</td>" in toy_query._repr_html_()
    result = WEAT().run_query(toy_query, toy_model, calculate_p_value=True, random_state=0)
    page = result._repr_html_()
    assert f"result: {result['result']:.4g}, p_value: {result['p_value']:.4g}" in page
    lost = Query([["she", "xyzzy"], ["he", "man"]], [["home"], ["boss"]])
    page = WEAT().run_query(lost, toy_model)._repr_html_()
    assert "NaN: &#x27;Target set 0&#x27; lost 50% of its words (xyzzy)" in page
    ranks = Reader(shown["study"]._repr_html_()).texts
    assert ranks[1:4] == ["model_name", "WEAT-ES", "ECT"]
    encoder = load_encoder(lambda texts: [[1.0, len(text)] for text in texts], "<b>", cache=False)
    page = Reader(encoder._repr_html_())
    assert (page.tags, page.texts) == ({"p"}, [repr(encoder)])
