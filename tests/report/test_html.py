"""The page: what is in it, that names are text, that it can be read by everybody, and Chromium."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from pages import Page, check_drawn, chromium_opens

import wefe.report
from wefe.plotting._style import DARK
from wefe.report import to_html, write_html
from wefe.report._figures import figures
from wefe.report._summarize import summarize
from wefe.report._text import environment
from wefe.study import Outcome

TEMPLATES = Path(wefe.report.__file__).parent / "templates"


@pytest.fixture(scope="session")
def rich_html(rich):
    return to_html(rich)


@pytest.fixture(scope="session")
def nasty_html(nasty):
    return to_html(nasty)


@pytest.fixture(scope="session")
def page(rich_html):
    return Page(rich_html)


@pytest.mark.parametrize("which", ["rich", "nasty", "with_failure", "example"])
def test_every_element_is_closed_and_every_link_leads_somewhere(which, request):
    page = Page(to_html(request.getfixturevalue(which)))
    page.check()
    page.check_loads_nothing()
    assert page.all("html")[0][0]["lang"] == "en"


_NAN = {"score": None, "nan_reason": "lost"}


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({"a": 0.1}, "so there is no ranking"),
        ({"a": Outcome(), "b": Outcome()}, "2 of 2 tasks are not computed yet"),
        ({"a": Outcome("failed", reason="no <file>")}, "no &lt;file&gt;"),
        ({"a": _NAN, "b": _NAN}, "2 of 2 scores have no value"),
        ({f"m{i}": i / 10 for i in range(20)}, "m0</bdi> ranks first on"),
        ({"a": 0.0, "b": 0.0}, "models tie for first on 1 metric"),
    ],
    ids=["one model", "nothing computed", "failed", "nan", "many models", "all zero"],
)
def test_a_study_in_any_state_has_a_report(made, scores, said):
    text = to_html(made({"WEAT": {"G": {"q": scores}}}))
    assert Page(text).unclosed == []
    assert said in text


def test_tables_have_captions_and_headings_of_rows_and_columns(page):
    n_tables = len(page.all("table"))
    assert n_tables > 20
    assert len(page.all("caption")) == n_tables
    assert all(attrs.get("scope") in ("col", "row") for attrs, _ in page.all("th"))


def test_each_figure_has_a_caption_and_words_that_stand_for_it(rich, page):
    drawn = figures(rich, summarize(rich))
    plots = [attrs for attrs, _ in page.all("div") if attrs.get("class") == "drawing"]
    assert len(plots) == len(drawn) == len(page.all("figcaption")) > 10
    assert all(len(attrs["aria-label"]) > 40 for attrs in plots)
    kinds = {name.partition("-")[0] for name in drawn}
    assert kinds == {"ranking", "scores", "correlations", "silhouettes"}


def test_the_heat_map_names_the_score_that_is_farthest_from_no_bias(made):
    results = made({"ECT": {"G": {"q": {"a": 0.9, "b": 0.2}, "r": {"a": 0.5, "b": 0.4}}}})
    figure = figures(results, summarize(results))["scores-0"]
    assert figure.alt.endswith("farthest from 1 is that of b for q: 0.800 away.")
    (trace,) = figure.data["data"]
    # The name of the query set stands above its queries.
    assert trace["z"][0] == [None, None]
    assert trace["z"][1:] == [
        pytest.approx([-0.1, -0.8]),
        pytest.approx([-0.5, -0.6]),
    ]
    axis = figure.data["layout"]["coloraxis"]
    assert (axis["cmin"], axis["cmax"]) == pytest.approx((-0.8, 0.8))


def test_names_are_text(nasty_html, nasty_names):
    script, image, link, *_ = nasty_names
    page = Page(nasty_html)
    assert len([attrs for attrs, _ in page.all("script") if "type" not in attrs]) == 3
    assert not page.all("img")
    assert all(attrs["href"].startswith("#") for attrs, _ in page.all("a"))
    assert not any(key.startswith("on") for _, attrs, _ in page.elements for key in attrs)
    # Not left out, and not taken for a template.
    text = "".join("".join(texts) for _, _, texts in page.elements)
    assert all(name in text for name in (script, image, link))
    assert nasty_html.count("<b>") == 0


def test_marks_that_reorder_or_take_sentences_apart_are_shown(made):
    text = to_html(made({"WEAT": {"G": {"q": {"a\u202eb": 0.1, "c\ufdd3\ufdd1d": 0.2}}}}))
    assert not set("\u202e\ufdd1\ufdd3") & set(text[: text.index("* plotly.js v")])
    assert "a\\u202eb</bdi> ranks first on" in text
    assert "c\\ufdd3\\ufdd1d" in text


def test_names_are_marked_in_sentences_and_metrics_explained(made):
    text = to_html(made({"WEAT": {"G": {"q": {"<i>a": 0.1, "b": 0.2}}}}))
    assert (
        '<li><bdi class="name other">G</bdi>: no model is clearly ahead: <bdi class="name model">'
        "&lt;i&gt;a</bdi> ranks first on <abbr " in text
    )
    assert '<abbr title="WEAT: how much closer is each target set to its attribute words,' in text
    assert "<dt><bdi>WEAT</bdi></dt> <dd>WEAT – how much closer" in text


def test_what_is_strong_in_the_opposite_direction_is_named_in_its_cell(made):
    opposite = {
        "score": -0.9,
        "p_value": 0.997,
        "p_value_test": "right-sided",
        "warnings": ["strong in the opposite direction: use p_value_test_type='two-sided'"],
    }
    results = made({"WEAT": {"G": {"q": {"a": opposite, "b": 0.2}}}})
    assert "p = 0.997, strong in the opposite direction</small>" in to_html(results)
    drawn = figures(results, summarize(results))["scores-0"]
    assert "marks p < 0.05, or strong in the opposite direction (one-sided)." in drawn.caption
    assert drawn.data["data"][0]["text"][1] == ["-0.900*", "0.200"]
    assert "strong in the opposite direction" in drawn.data["data"][0]["hovertext"][1][0]


def test_aggregated_distances_are_headed_as_distances(made):
    text = to_html(made({"ECT": {"G": {"q": {"a": 0.9, "b": 0.2}}}}))
    assert "<bdi>ECT</bdi><small>distance from 1</small>" in text
    assert "no bias: 0" not in text


def test_how_a_mitigated_model_was_made_is_shown_as_text(made):
    results = made({"WEAT": {"G": {"q": {"a": 0.4, "a + hard": 0.1}}}})
    how = {"method": "hard-debias", "criterion": "gender", "n_ignored": 232, "offline": True,
           "notes": ["2 definitional sets are left out, as <words> are missing"]}  # fmt: skip
    known = replace(results, models={"a + hard": {"dim": 2, "mitigation": how}})
    text = to_html(known)
    assert (
        "</bdi> was made by hard-debias, criterion gender, offline, so without the word "
        "lists that need a download; 232 words to be left as they are." in text
    )
    assert "left out, as &lt;words&gt; are missing" in text
    # The name of the mitigation stays what the plan says.
    assert summarize(known)["models"][1]["mitigation"] == "hard"


def test_names_are_no_markup_in_figures(nasty, nasty_names):
    allowed = re.compile(r"</?b>|<br>|</?i>|<extra></extra>|</?span( style=\"[^\"]*\")?>")

    def texts(value):
        if isinstance(value, dict):
            # Positions of bars are not shown; what stands at them is `ticktext`.
            for key, part in value.items():
                if key not in ("y", "x", "tickvals", "categoryarray"):
                    yield from texts(part)
        elif isinstance(value, list):
            for part in value:
                yield from texts(part)
        elif isinstance(value, str):
            yield value

    found = [
        text for figure in figures(nasty, summarize(nasty)).values() for text in texts(figure.data)
    ]
    assert any("&lt;img src=x" in text for text in found)
    assert not [text for text in found if "<" in allowed.sub("", text)]


@pytest.mark.parametrize(
    "text", ["</script>", "<!--", "<script", "a\u2028b\u2029", "&amp;", "\x7f"]
)
def test_json_in_the_page_cannot_end_its_element(text):
    page = environment(autoescape=True).from_string("{{ value|tojson }}")
    written = page.render(value={text: [text]})
    assert json.loads(written) == {text: [text]}
    assert not set("<>&\u2028\u2029") & set(written)


def test_it_is_written_whole_or_not_at_all(example, tmp_path):
    path = tmp_path / "report.html"
    write_html(example, path)
    assert path.read_text(encoding="utf-8") == to_html(example)
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(FileNotFoundError, match="no such folder"):
        write_html(example, tmp_path / "nowhere" / "report.html")


# Contrast


def _luminance(colour):
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one, other):
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _themes():
    css = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    colours = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", css)
    light, dark = ({name: pair[at] for name, *pair in colours} for at in (0, 1))
    # Paper is light, and its links are text.
    (link,) = re.findall(r"@media print \{\s*:root \{[^}]*--link: (#\w{6})", css)
    return [light, dark, {**light, "link": link}]


@pytest.mark.parametrize("number", [0, 1, 2], ids=["light", "dark", "print"])
def test_texts_can_be_read_in_every_theme(number):
    theme = _themes()[number]
    pairs = [(text, ground) for text in ("text", "faint", "link") for ground in ("page", "panel")]
    pairs += [("good-text", "good"), ("note-text", "note")]
    too_low = {
        pair: ratio for pair in pairs if (ratio := _contrast(theme[pair[0]], theme[pair[1]])) < 4.5
    }
    assert too_low == {}
    assert _contrast(theme["focus"], theme["page"]) >= 3


def test_texts_of_figures_can_be_read_in_the_dark_theme():
    assert _contrast(DARK.layout.font.color, _themes()[1]["page"]) >= 4.5
    assert DARK.layout.paper_bgcolor == _themes()[1]["page"]


# In a browser


def _errors(document):
    return Page(document).all("html")[0][0].get("data-errors")


@pytest.mark.parametrize("which", ["rich", "nasty"])
def test_all_figures_are_drawn_without_an_error(which, request, chromium, tmp_path):
    results = request.getfixturevalue(which)
    text = request.getfixturevalue(f"{which}_html")
    document = check_drawn(chromium, tmp_path, text, len(figures(results, summarize(results))))
    # Nobody made an element of a name.
    page = Page(document)
    assert not page.all("img")
    links = [attrs.get("href") or attrs.get("xlink:href") for attrs, _ in page.all("a")]
    assert all(link is None or link.startswith("#") for link in links)


def test_a_script_that_gets_into_the_page_does_not_run(rich_html, chromium, tmp_path):
    inside = "<script>document.documentElement.dataset.pwned = 1</script>"
    image = "<img src=x onerror='document.documentElement.dataset.pwned = 2'>"
    text = rich_html.replace("<h2", f"{inside}{image}<h2", 1)
    document, _ = chromium_opens(chromium, tmp_path, text, "--dump-dom")
    assert "data-pwned" not in document
    assert "script-src" in _errors(document)


def test_figures_follow_the_dark_theme(rich_html, chromium, tmp_path):
    shown = {}
    for name, flags in {"light": (), "dark": ("--blink-settings=preferredColorScheme=0",)}.items():
        document, _ = chromium_opens(chromium, tmp_path, rich_html, "--dump-dom", *flags)
        svg = "".join(re.findall(r"<svg.*?</svg>", document, re.DOTALL))
        # INK of wefe.plotting, and what stands for it in the dark.
        shown[name] = (svg.count("fill: rgb(34, 34, 34)"), svg.count("fill: rgb(232, 234, 237)"))
    assert shown["light"][0] > 100
    assert shown["light"][1] == 0
    assert shown["dark"][1] > 100
    # What is left of dark ink stands on the pale cells of heat maps.
    assert shown["dark"][0] < shown["light"][0]


_TRY = """
const say = (key, value) => (document.documentElement.dataset[key] = JSON.stringify(value));
const table = document.querySelector("#rankings table");
const button = table.tHead.querySelectorAll("button")[1];
const rank = (row) => row.cells[1].textContent.split(" ")[0];
const column = () => [...table.tBodies[0].rows].map(rank);
button.click();
say("once", [column(), button.parentElement.getAttribute("aria-sort")]);
button.click();
say("twice", [column(), button.parentElement.getAttribute("aria-sort")]);
button.focus();
say("focused", document.activeElement === button);
document.querySelector("#words details").open = true;
const details = document.querySelector("details.words");
details.open = true;
setTimeout(() => {
  say("words", details.querySelectorAll("tbody tr").length);
  window.dispatchEvent(new Event("beforeprint"));
  const closed = [...document.querySelectorAll("details:not(.long)")].filter((one) => !one.open);
  say("closed", closed.length);
  const drawn = document.querySelectorAll('.drawing[data-drawn="yes"]');
  say("printed", [drawn.length, document.querySelectorAll(".drawing").length]);
  const plot = document.querySelector(".drawing");
  const width = () => Number(plot.querySelector(".main-svg").getAttribute("width"));
  const onPaper = width();
  window.dispatchEvent(new Event("afterprint"));
  say("widths", [onPaper, width() - plot.clientWidth]);
}, 500);
"""


def test_tables_sort_words_unfold_and_printing_opens_everything(
    rich, rich_html, chromium, tmp_path
):
    # The policy of the page would not let a test in.
    text = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", rich_html)
    text = text.replace("</body>", f"<script>{_TRY}</script></body>")
    flags = ("--dump-dom", "--window-size=1200,600")
    document, console = chromium_opens(chromium, tmp_path, text, *flags)
    assert console == []
    root = Page(document).all("html")[0][0]
    said = {
        key.removeprefix("data-"): json.loads(value)
        for key, value in root.items()
        if key.startswith("data-") and key != "data-ready"
    }
    assert said["once"] == [["1", "2", "3", "4"], "ascending"]
    assert said["twice"] == [["4", "3", "2", "1"], "descending"]
    assert said["focused"] is True
    assert said["words"] == summarize(rich)["words"][0]["n_positions"]
    assert said["closed"] == 0
    assert said["printed"][0] == said["printed"][1] > 10
    # A4 is about 680 wide within its margins; afterwards figures fill the page again.
    assert said["widths"] == [680, 0]
