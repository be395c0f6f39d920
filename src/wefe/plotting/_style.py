"""What all figures share: templates, colours, title, size, and text that fits."""

from __future__ import annotations

import contextlib
import html
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from wefe.aggregation import HEADING

LINE_PX = 16


def escape(text: str) -> str:
    """Keep plotly from reading a text as markup."""
    return html.escape(text, quote=False)


def wrap(text: str, width: int = 40) -> str:
    """Break a text into lines and escape it; names of queries break between their parts."""
    parts = re.split(r"\n| (?=wrt )" if len(text) > width else r"\n", text)
    return "<br>".join(escape(line) for part in parts for line in textwrap.wrap(part, width))


def shorten(names: Sequence[str]) -> tuple[list[str], str]:
    """Remove the aggregation shared by all headings, and return it as a sentence.

    >>> shorten(["WEAT: Gender sum score", "ECT: Gender sum score", "WordSim"])
    (['WEAT: Gender', 'ECT: Gender', 'WordSim'], 'Scores of each metric and query set: sum.')
    """
    parts = pd.Series(names).str.extract(f"^{HEADING.pattern}$")
    short = (parts["what"] + parts["number"]).fillna(pd.Series(names))
    if parts["way"].nunique() != 1 or short.nunique() < len(set(names)):
        return list(names), ""
    return short.tolist(), f"Scores of each metric and query set: {parts['way'].dropna().iloc[0]}."


def n_lines(label: str) -> int:
    return label.count("<br>") + 1


def height_px(labels: Iterable[str]) -> int:
    return LINE_PX * max(map(n_lines, labels))


def shortened(word: str, most: int = 24) -> str:
    """Shorten a word, which may be a whole URL."""
    return word if len(word) <= most else word[: most - 1] + "…"


def spaced(table: pd.DataFrame, order: Iterable[int]) -> list[str]:
    """Return labels of points, most important words first, as far as there is room."""
    places = table[["x", "y"]]
    shares = (places / (places.max() - places.min()).replace(0, 1)).to_numpy()
    chosen: list[int] = []
    for point in order:
        across, down = np.abs(shares[chosen] - shares[point]).T
        if not ((across < 0.17) & (down < 0.045)).any():
            chosen.append(point)
    return [
        escape(shortened(word)) if row in chosen else "" for row, word in enumerate(table["word"])
    ]


# Okabe and Ito's colours, which all kinds of colour vision can distinguish. Grey replaces their
# yellow, which is too pale on white; black is for summaries.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999999")
# From the eighth bar on, colours repeat with hatching.
_PATTERNS = ("", "/", "x", "-", ".", "|")
INK = "#222222"


def _template(
    paper: str, ink: str, grid: str, hover: str, opacity: float, cells: Sequence[str]
) -> go.layout.Template:
    """Return a template that draws everything without a colour of its own in ink."""
    axis = {
        "zeroline": False,
        "zerolinecolor": ink,
        "automargin": True,
        "title": {"standoff": 10},
        "gridcolor": grid,
    }
    in_ink: dict[str, Any] = {
        "line": {"color": ink},
        "marker": {"color": ink, "line": {"color": ink}},
    }
    return go.layout.Template(
        layout={
            "colorway": PALETTE,
            "colorscale": {"diverging": cells, "sequential": cells[2:]},
            "font": {"family": "Open Sans, Helvetica, Arial, sans-serif", "size": 12, "color": ink},
            "title": {
                "font": {"size": 17},
                "x": 0,
                "y": 1,
                "yref": "container",
                "yanchor": "top",
                "pad": {"l": 16, "t": 16},
            },
            "paper_bgcolor": paper,
            "plot_bgcolor": paper,
            "xaxis": axis,
            "yaxis": {**axis, "ticks": "outside", "tickcolor": paper},
            "legend": {"traceorder": "normal"},
            "modebar": {"bgcolor": paper, "color": ink, "activecolor": ink},
            "hoverlabel": {"align": "left", "bgcolor": hover, "font": {"color": ink}},
            "annotationdefaults": {"font": {"size": 11, "color": ink}, "showarrow": False},
            "shapedefaults": {"line": {"color": ink, "width": 1}},
        },
        data={
            "scatter": [{**in_ink, "marker": {**in_ink["marker"], "opacity": opacity}}],
            "bar": [{"marker": {"color": ink}, "error_x": {"color": ink}}],
            "box": [in_ink],
            "heatmap": [{"textfont": {"color": ink}}],
        },
    )


# The cells of each template contrast with the numbers in its ink.
LIGHT = _template(
    paper="white",
    ink=INK,
    grid="#e3e3e3",
    hover="white",
    opacity=0.8,
    cells=("#e8893b", "#f7d3b5", "#fbfbfb", "#bcdcf2", "#4c9bd6"),
)
DARK = _template(
    paper="#16191d",
    ink="#e8eaed",
    grid="#3c434c",
    hover="#2b3138",
    opacity=1.0,  # dark blue could not be told from the paper
    cells=("#9c5210", "#5a3a1f", "#23282e", "#1f4258", "#1c659b"),
)


def colour_of(position: int) -> str:
    return PALETTE[position % len(PALETTE)]


def bar_style(position: int) -> dict[str, Any]:
    shape = _PATTERNS[position // len(PALETTE) % len(_PATTERNS)]
    return {"color": colour_of(position), "pattern": {"shape": shape, "fillmode": "overlay"}}


def tint(colour: str, opacity: float = 0.15) -> str:
    red, green, blue = bytes.fromhex(colour[1:])
    return f"rgba({red},{green},{blue},{opacity:g})"


def hover(texts: Sequence[Any]) -> dict[str, Any]:
    """Return trace arguments that show only these texts on hover."""
    return {"hovertext": texts, "hovertemplate": "%{hovertext}<extra></extra>"}


def hover_texts(table: pd.DataFrame, template: str) -> list[str]:
    """Return hover texts from a template of columns; lines with unknown values are left out."""
    return [_filled(template, row) for row in table.to_dict("records")]


def _filled(template: str, row: Mapping[Any, Any]) -> str:
    known = {name: value for name, value in row.items() if pd.notna(value) and value != ""}
    texts = {name: wrap(shortened(t, 300), 60) for name, t in known.items() if isinstance(t, str)}
    lines = []
    for line in template.split("<br>"):
        with contextlib.suppress(KeyError):
            lines.append(line.format_map(known | texts))
    return "<br>".join(lines)


def write(
    figure: go.Figure, notes: Iterable[Mapping[Any, Any]], *, domain: str = "", row: int = 1,
    col: int = 1, **look: Any,
) -> None:  # fmt: skip
    """Write texts into a panel; coordinates named in `domain`, such as 'xy', are shares of it.

    All texts are added at once, because plotly copies all annotations whenever one is added.
    """
    for name, axis in zip("xy", figure.get_subplot(row, col), strict=True):
        ref = axis.plotly_name.replace("axis", "")
        look[f"{name}ref"] = f"{ref} domain" if name in domain else ref
    look = {"xanchor": "left", "showarrow": False} | look
    # update_layout would compare each with what is there, sixty times as slow.
    figure.layout.annotations = [*figure.layout.annotations, *(look | dict(note) for note in notes)]


def add_marks(
    figure: go.Figure, kind: str, table: pd.DataFrame, name: str, template: str, **look: Any
) -> None:
    """Add a trace with one mark per row at its x and y; a template makes its hover texts."""
    on_hover = hover(hover_texts(table, template)) if template else {"hoverinfo": "skip"}
    x, y = table["x"].tolist(), table["y"].tolist()
    getattr(figure, f"add_{kind}")(x=x, y=y, name=name, **on_hover, **look)


def add_points(
    figure: go.Figure, table: pd.DataFrame, name: str, template: str, **options: Any
) -> None:
    """Add points, labelled by the column text if there is one."""
    look: dict[str, Any] = {"mode": "markers", "cliponaxis": False}
    if "text" in table:
        look |= {"mode": "markers+text", "text": table["text"].tolist(), "textfont": {"size": 11}}
        look["textposition"] = "top center"
    add_marks(figure, "scatter", table, wrap(name, 20), template, **look | options)


def add_band(
    figure: go.Figure, x: Any, low: Any, high: Any, colour: str, name: str = "", **options: Any
) -> None:
    ends = {"x": np.concatenate([x, x[::-1]]), "y": np.concatenate([high, low[::-1]])}
    look = {"mode": "lines", "fill": "toself", "fillcolor": tint(colour), "line": {"width": 0}}
    add_marks(figure, "scatter", pd.DataFrame(ends), name, "", **look | options)


def apply_layout(
    figure: go.Figure, title: str, notes: Mapping[str, object], below_px: int = 60
) -> go.Figure:
    """Add template, title, the notes that apply, and their size; return the figure.

    The figure has the height of its panels, and the margin of what is above them.
    """
    small = [
        f'<span style="font-size:12px">{wrap(note, 100)}</span>'
        for note, applies in notes.items()
        if applies
    ]
    text = "<br>".join([wrap(title, 66), *small])
    plot_px, above_px = figure.layout.height, figure.layout.margin.t or 0
    top_px = 28 + 22 * n_lines(text) + above_px
    return figure.update_layout(
        template=LIGHT,
        title_text=text,
        # plotly places a title of several lines higher by the height of a capital letter.
        title_pad_t=16 if n_lines(text) == 1 else 28,
        margin={"l": 24, "r": 24, "t": top_px, "b": below_px},
        height=top_px + max(plot_px, _legend_px(figure)) + below_px,
    )


def _legend_px(figure: go.Figure) -> int:
    """Name each group of traces once in the legend; return its height."""
    named, height = set(), 30
    for trace in figure.data:
        if trace.legendgroup and trace.showlegend is None:
            trace.showlegend = trace.legendgroup not in named
            named.add(trace.legendgroup)
        if trace.showlegend is not False:
            height += LINE_PX * n_lines(trace.name or "") + 4
    return height * bool(figure.layout.showlegend)


def as_dark(figure: go.Figure) -> go.Figure:
    """Return a copy of a figure with the dark template.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        Any plotly figure.

    Returns
    -------
    plotly.graph_objects.Figure
        Data keep their colours, so one legend serves both figures. Points become opaque.

    Examples
    --------
    >>> import plotly.graph_objects as go
    >>> as_dark(go.Figure()).layout.template.layout.paper_bgcolor
    '#16191d'
    """
    return go.Figure(figure).update_layout(template=DARK)


def name_rows(figure: go.Figure, labels: Sequence[str], **place: Any) -> None:
    """Name the rows at 0, 1, 2 and so on from the top."""
    figure.update_yaxes(
        range=[len(labels) - 0.5, -0.5],
        tickvals=[*range(len(labels))],
        ticktext=labels,
        showgrid=False,
        **place,
    )


def rows_px(labels: Sequence[str], n_bars: int) -> int:
    """Return the height of rows with as many bars each."""
    bars_px = min(22 * n_bars, max(10 * n_bars, 88))
    return max(120, len(labels) * max(bars_px, height_px(labels) + 8))


def offset(position: Any, n_bars: int) -> Any:
    """Return the place of a bar relative to the middle of its row, of which bars take 80 %."""
    return 0.8 * (position - (n_bars - 1) / 2) / n_bars


def grid(
    names: Sequence[str], panel_px: int, below_px: int, abreast: int = 3, **options: Any
) -> tuple[go.Figure, list[dict[str, Any]]]:
    """Return a figure with a panel per name, no narrower than its title, and their places."""
    # Four panels look better two by two.
    n_columns = min(2 if len(names) == 4 else len(names), abreast)
    n_rows = math.ceil(len(names) / n_columns)
    titles = [wrap(name, 80 // n_columns) for name in names]
    title_px = (height_px(titles) + 10) * any(titles)
    figure = stacked(
        [panel_px] * n_rows,
        below_px + title_px,
        title_px,
        cols=n_columns,
        subplot_titles=titles,
        horizontal_spacing=0.1 / n_columns,
        **{"shared_yaxes": True, **options},
    )
    places = [{"row": row + 1, "col": col + 1} for row, col in np.ndindex(n_rows, n_columns)]
    return figure, places[: len(names)]


def stacked(heights: list[int], between_px: int, above_px: int = 0, **options: Any) -> go.Figure:
    """Return a figure with rows of panels; its height and upper margin are those of the panels."""
    height = sum(heights) + between_px * (len(heights) - 1)
    figure = make_subplots(
        rows=len(heights),
        row_heights=heights,
        vertical_spacing=between_px / height if len(heights) > 1 else 0,
        **options,
    )
    figure.update_annotations(font={"size": 13})
    return figure.update_layout(height=height, margin_t=above_px)
