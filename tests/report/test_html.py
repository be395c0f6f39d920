"""The page: what is in it, that names are text, that it can be read by everybody, and Chromium."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from made_results import many, results_of
from pages import Page, check_drawn, chromium_opens

from wefe.report import write_report
from wefe.report._figures import figures
from wefe.report._render import to_html, to_markdown
from wefe.report._summarize import summarize
from wefe.report._text import TEMPLATES, environment
from wefe.study import Outcome, Study


@pytest.fixture(scope="session")
def rich_html(rich):
    return to_html(rich)


@pytest.fixture(scope="session")
def nasty_html(nasty):
    return to_html(nasty)


@pytest.mark.parametrize("which", ["rich", "nasty"])
def test_it_is_whole_loads_nothing_and_tables_and_figures_have_captions(which, request):
    results, html = (request.getfixturevalue(name) for name in (which, f"{which}_html"))
    page = Page(html)
    page.check()
    page.check_loads_nothing()
    assert page.all("html")[0][0]["lang"] == "en"
    assert len(page.all("caption")) == len(page.all("table")) > 20
    assert all(attrs.get("scope") in ("col", "row") for attrs, _ in page.all("th"))
    summary = summarize(results)
    plots = [attrs for attrs, _ in page.all("div") if attrs.get("class") == "drawing"]
    assert len(plots) == len(figures(results, summary)) == len(page.all("figcaption")) > 5
    assert all(len(attrs["aria-label"]) > 40 for attrs in plots)
    for claim in summary["claims"]:
        assert claim["place"] != "verdict" or claim["text"] in page.text


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({"a": 0.1}, "so there is no ranking"),
        ({"a": Outcome(), "b": Outcome()}, "2 of 2 tasks are not computed yet"),
        ({"a": Outcome("failed", failure="no <file>")}, "no &lt;file&gt;"),
        ({"a": "lost", "b": "lost"}, "2 of 2 scores have no value"),
        ({f"m{i}": i / 10 for i in range(20)}, "m0</bdi> ranks first on"),
        ({"a": 0.0, "b": 0.0}, "models tie for first on 1 metric"),
    ],
    ids=["one model", "nothing computed", "failed", "nan", "many models", "all zero"],
)
def test_a_study_in_any_state_has_a_report(scores, said):
    text = to_html(results_of({"WEAT": {"G": {"q": scores}}}))
    assert Page(text).unclosed == []
    assert said in text


def test_a_study_without_scores_but_with_those_of_others_has_a_report():
    external = [{"name": "WEB", "best": "higher", "scores": {"a": 1.0, "b": 3.0, "c": 2.0}}]
    lost = {"G": {"q": dict.fromkeys("abc", "lost")}}
    text = to_html(results_of({"WEAT": lost, "ECT": lost}, {"external": external}))
    assert "6 of 6 scores have no value" in text


def test_a_silhouette_without_a_value_is_listed_with_its_reason():
    attributes = {"c": ["art", "dance"], "d": ["math", "physics"]}
    lost = {"targets": {"a": ["she", "he"], "b": ["qxqx", "qyqy"]}, "attributes": attributes}
    given = {
        "name": "Lost words",
        "models": [{"source": "demo"}],
        "queries": [{"name": "Lost", "query": [lost]}],
        "silhouettes": [{"metric": "weat-es", "query_set": "Lost", "n_runs": 10}],
    }
    page = Page(to_html(Study(given).run(":memory:", progress=False)))
    assert page.unclosed == []
    assert "no value: " in page.text


def test_names_are_text(nasty, nasty_html):
    page = Page(nasty_html)
    assert len([attrs for attrs, _ in page.all("script") if "type" not in attrs]) == 2
    assert not page.all("img")
    assert not page.all("b")
    assert all(attrs["href"].startswith("#") for attrs, _ in page.all("a"))
    assert not any(key.startswith("on") for _, attrs, _ in page.elements for key in attrs)
    # Not left out, and not taken for a template.
    text = "".join("".join(texts) for _, _, texts in page.elements)
    query_set = nasty.plan.query_sets[0]
    (query,) = query_set.queries
    names = (nasty.plan.name, query_set.name, *query.attribute_sets_names)
    assert all(name in text for name in names)


def test_marks_that_reorder_or_take_sentences_apart_are_shown():
    text = to_html(results_of({"WEAT": {"G": {"q": {"a\u202eb": 0.1, "c\ufdd3\ufdd1d": 0.2}}}}))
    assert not set("\u202e\ufdd1\ufdd3") & set(text[: text.index("* plotly.js v")])
    assert "a\\u202eb</bdi> ranks first on <abbr title=" in text
    assert "c\\ufdd3\\ufdd1d" in text


def test_how_a_mitigated_model_was_made_is_shown_as_text():
    results = results_of({"WEAT": {"G": {"q": {"a": 0.4, "a + hard": 0.1}}}})
    how = {"method": "hard-debias", "criterion": "gender", "n_ignored": 232, "offline": True,
           "notes": ["2 definitional sets are left out, as <words> are missing"]}  # fmt: skip
    text = to_html(replace(results, models={"a + hard": {"dim": 2, "mitigation": how}}))
    assert "was made by hard-debias, criterion gender, offline" in text
    assert "; 232 words to be left as they are." in text
    assert "left out, as &lt;words&gt; are missing" in text


def test_json_in_the_page_cannot_end_its_element():
    given = {"</script>": ["<!--", "<script", "a\u2028b\u2029", "&amp;", "\x7f"]}
    page = environment(autoescape=True).from_string("{{ value|tojson }}")
    written = page.render(value=given)
    assert json.loads(written) == given
    assert not set("<>&\u2028\u2029") & set(written)


@pytest.mark.parametrize(("name", "text"), [("r.html", to_html), ("R.MD", to_markdown)])
def test_it_is_written_whole_or_not_at_all(example, tmp_path, name, text):
    write_report(example, tmp_path / name)
    assert (tmp_path / name).read_text(encoding="utf-8") == text(example)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    with pytest.raises(FileNotFoundError, match="no such folder"):
        write_report(example, tmp_path / "nowhere" / name)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_texts_can_be_read_in_every_theme(theme):
    def light(colour):
        parts = np.frombuffer(bytes.fromhex(colour[1:]), np.uint8) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722] + 0.05

    css = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", css)
    colours = {name: light(pair[theme]) for name, *pair in found}
    pairs = [(text, ground) for text in ("text", "faint", "link") for ground in ("page", "panel")]
    for pair in [*pairs, ("good-text", "good"), ("note-text", "note")]:
        low, high = sorted(colours[name] for name in pair)
        assert high / low >= 4.5, pair


# In a browser


@pytest.mark.slow
def test_all_figures_are_drawn_without_an_error(nasty, nasty_html, chromium, tmp_path):
    n_figures = len(figures(nasty, summarize(nasty)))
    document = check_drawn(chromium, tmp_path, nasty_html, n_figures)
    # Nobody made an element of a name.
    assert not Page(document).all("img")


def test_a_script_that_gets_into_the_page_does_not_run(rich_html, chromium, tmp_path):
    inside = "<script>document.documentElement.dataset.pwned = 1</script>"
    image = "<img src=x onerror='document.documentElement.dataset.pwned = 2'>"
    text = rich_html.replace("<h2", f"{inside}{image}<h2", 1)
    document, console = chromium_opens(chromium, tmp_path, text, "--dump-dom")
    assert "data-pwned" not in document
    assert "script-src" in console[0]


@pytest.mark.slow
def test_figures_follow_the_dark_theme(rich_html, chromium, tmp_path):
    flags = ("--dump-dom", "--blink-settings=preferredColorScheme=0")
    document, _ = chromium_opens(chromium, tmp_path, rich_html, *flags)
    svg = "".join(re.findall(r"<svg.*?</svg>", document, re.DOTALL))
    # What stands for INK of wefe.plotting in the dark.
    assert svg.count("fill: rgb(232, 234, 237)") > 100


_SAY = """
const say = (key, value) => (document.documentElement.dataset[key] = JSON.stringify(value));
const all = (selector) => [...document.querySelectorAll(selector)];
const table = document.querySelector("#rankings table");
const rows = () => [...table.tBodies[0].rows];
"""
_UNFOLD = """
const button = table.tHead.querySelectorAll("button")[1];
const column = () => rows().map((row) => row.cells[1].textContent.split(" ")[0]);
for (const key of ["once", "twice"]) {
  button.click();
  say(key, [column(), button.parentElement.getAttribute("aria-sort")]);
}
document.querySelector("#words details").open = true;
setTimeout(() => {
  window.dispatchEvent(new Event("beforeprint"));
  say("closed", all("details").filter((one) => !one.open).length);
  say("drawn", all('.drawing[data-drawn="yes"]').length);
}, 500);
"""
_FILTER = """
addEventListener("load", () => setTimeout(() => {
  const field = document.querySelector("#rankings input[type=search]");
  field.value = "MODEL 1";
  field.dispatchEvent(new Event("input"));
  say("left", rows().filter((row) => row.offsetHeight > 0).map((row) => row.cells[0].textContent));
}));
"""


def tried(script, text, chromium, tmp_path):
    """Return what a script in the page says, which the policy of the page would not let in."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", text)
    text = text.replace("</body>", f"<script>{_SAY}{script}</script></body>")
    flags = ("--dump-dom", "--window-size=1200,600")
    document, console = chromium_opens(chromium, tmp_path, text, *flags)
    assert console == []
    root = Page(document).all("html")[0][0]
    return {key.removeprefix("data-"): value for key, value in root.items()}


@pytest.mark.slow
def test_tables_sort_and_printing_opens_everything(rich, rich_html, chromium, tmp_path):
    said = tried(_UNFOLD, rich_html, chromium, tmp_path)
    assert said["once"] == '[["1","2","3","4"],"ascending"]'
    assert said["twice"] == '[["4","3","2","1"],"descending"]'
    summary = summarize(rich)
    assert (said["closed"], said["drawn"]) == ("0", str(len(figures(rich, summary))))


@pytest.mark.slow
def test_a_table_of_many_models_is_filtered(chromium, tmp_path):
    said = tried(_FILTER, to_html(many(60, n_queries=6)), chromium, tmp_path)
    left = json.loads(said["left"])
    assert {"model 1", "model 10", "model 19"} <= set(left)
    assert all(name.startswith("model 1") for name in left)
