"""The script that draws the figures of the documentation as wide as a page is."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest

from wefe.plotting import plot_extremes, plot_queries_results
from wefe.plotting._style import apply_layout

SCRIPT = Path(__file__).parents[2] / "docs/_static/figures.js"
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None or not SCRIPT.exists(), reason="needs node and docs")

# A page of one figure, in which all characters are 7 px wide (of 12).
PAGE = """
const { script, figure, least, width } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const drawn = [];
const classes = {};
const frame = {
  clientWidth: width, scrollWidth: width, scrollLeft: 0, addEventListener() {},
  classList: { toggle(name, on) { classes[name] = on; } },
};
const place = {
  style: { minWidth: least ? `${least}px` : "" },
  parentElement: frame,
  querySelector: () => ({
    textContent: JSON.stringify({ light: figure, dark: figure }), remove() {},
  }),
};
const pen = {
  measureText(text) { return { width: 7 / 12 * parseFloat(this.font) * text.length }; },
};
const unescape = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
globalThis.document = {
  documentElement: { dataset: {} },
  createElement: (tag) => tag === "canvas"
    ? { getContext: () => pen }
    : { set innerHTML(text) { this.value = unescape(text); } },
  querySelectorAll: () => [place],
  addEventListener: (_, act) => { globalThis.start = act; },
};
let resize;
globalThis.ResizeObserver = class { constructor(act) { resize = act; } observe() {} };
globalThis.MutationObserver = class { observe() {} };
globalThis.Plotly = { react(_, data, layout) {
  drawn.push({ layout, least: place.style.minWidth, height: place.style.height, classes });
  frame.scrollWidth = Math.max(frame.clientWidth, parseFloat(place.style.minWidth) || 0);
} };
eval(script);
start();
frame.clientWidth = 1100;
resize([{ target: frame }]);
console.log(JSON.stringify(drawn.map((one) => ({ ...one, classes: undefined }))));
"""


def shown(figure, width, least=0):
    """Layouts that a page draws: in a frame of a width, and in one of 1100 px after that."""
    given = {"script": SCRIPT.read_text("utf-8"), "figure": json.loads(figure.to_json())}
    done = subprocess.run(
        [NODE, "-e", PAGE],
        input=json.dumps(given | {"least": least, "width": width}),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def widths(title):
    """Widths of the lines of a title."""
    small, found = False, []
    for line in title.split("<br>"):
        small |= "<span" in line
        text = re.sub("<[^>]*>", "", line).replace("&lt;", "<").strip()
        found.append(7 * len(text) * (1 if small else 17 / 12))
        small &= "</span" not in line
    return found


@pytest.mark.parametrize("width", [468, 320])
def test_titles_and_notes_are_as_wide_as_the_page(width):
    notes = {
        "A note < of so many words that it takes more than one line where a page is narrow.": True,
        "A second note.": True,
    }
    figure = apply_layout(
        go.Figure(), "A title < of words, which takes more than one line", notes, 200
    )
    before = figure.layout
    narrow, wide = (one["layout"] for one in shown(figure, width))
    text = narrow["title"]["text"]
    assert max(widths(before.title.text)) > width - 32
    assert max(widths(text)) <= width - 32
    more = text.count("<br>") - before.title.text.count("<br>")
    assert more > 0
    # The plot is as high as it was.
    assert narrow["height"] == before.height + 22 * more
    assert narrow["margin"]["t"] == before.margin.t + 22 * more
    # Nothing but breaks is new, and they go where there is room again.
    words = re.sub("<br>| ", "", before.title.text)
    assert re.sub("<br>| ", "", text) == words
    assert wide["title"]["text"] == before.title.text
    assert wide["height"] == before.height


def test_legends_stand_below_narrow_figures(results):
    figure = plot_queries_results(results)
    assert figure.layout.legend.orientation is None
    narrow, wide = shown(figure, 468, least=700)
    legend = narrow["layout"]["legend"]
    assert (legend["x"], legend["xref"], legend["yref"]) == (0.02, "container", "container")
    assert narrow["layout"]["margin"]["b"] > figure.layout.margin.b + 40
    assert float(narrow["height"].removesuffix("px")) == narrow["layout"]["height"]
    assert max(widths(narrow["layout"]["title"]["text"])) <= 468 - 32 - 48
    assert float(narrow["least"].removesuffix("px")) < 700 - 50
    # Where there is room the figure is as it was made.
    assert wide["least"] == "700px"
    assert wide["layout"].get("legend") == json.loads(figure.to_json())["layout"].get("legend")
    assert wide["layout"]["height"] == figure.layout.height


def test_a_figure_without_legend_keeps_its_width():
    rows = [("w2v", group, 1, group, 0.5) for group in ("f", "m")]
    columns = ["model", "group", "rank", "word", "projection"]
    figure = plot_extremes(pd.DataFrame(rows, columns=columns)).update_layout(showlegend=False)
    narrow, _ = shown(figure, 468, least=700)
    assert narrow["least"] == "700px"
    assert narrow["layout"]["margin"]["b"] == figure.layout.margin.b


def test_edges_fade_where_there_is_more():
    rules = (SCRIPT.parent / "wefe.css").read_text("utf-8")
    script = SCRIPT.read_text("utf-8")
    fade_px = re.search(r"black (\d+)px", rules)[1]
    assert f"FADE_PX = {fade_px};" in script
    for name in ("more-before", "more-after"):
        assert f'"{name}"' in script
        assert f".figure-scroll.{name} {{ mask-image" in rules
