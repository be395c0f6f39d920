"""What all figures share: templates, colours, title and size."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from wefe._checks import found
from wefe.plotting._labels import LINE_PX, n_lines, shortened, wrap

# Okabe and Ito's colours, which all kinds of colour vision can distinguish. Grey replaces their
# yellow, which is too pale on white; black is for summaries.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999999")
# From the eighth bar on, colours repeat with hatching.
_PATTERNS = ("", "/", "x", "-", ".", "|")
# From the eighth group on, points get other symbols; the second is for words set apart.
_SYMBOLS = (
    ("circle", "x-thin"),
    ("square", "cross-thin"),
    ("diamond", "asterisk"),
    ("triangle-up", "y-up"),
)
INK = "#222222"


def _template(
    paper: str, ink: str, grid: str, hover: str, opacity: float, cells: Sequence[str]
) -> go.layout.Template:
    """Return a template that draws everything without a colour of its own in ink."""
    axis = {
        "zeroline": False,
        "zerolinecolor": ink,
        "zerolinewidth": 1,
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
            "hovermode": "closest",
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


def bar_style(position: int) -> dict[str, Any]:
    hatching, colour = divmod(position, len(PALETTE))
    shape = _PATTERNS[hatching % len(_PATTERNS)]
    pattern = {"shape": shape, "fillmode": "overlay", "fgcolor": "white", "size": 6}
    return {"color": PALETTE[colour], "pattern": pattern}


def point_style(position: int) -> tuple[str, str, str]:
    """Return the colour of a group of points, its symbol, and the symbol of words set apart."""
    shape, colour = divmod(position, len(PALETTE))
    return PALETTE[colour], *_SYMBOLS[shape % len(_SYMBOLS)]


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
    figure.layout.annotations = [
        *figure.layout.annotations,
        *(look | dict(note) for note in notes),
    ]


def write_no_value(figure: go.Figure, reason: str | None, **place: Any) -> None:
    note = {"x": 0.5, "y": 0.5, "text": wrap(f"no value: {reason}", 50)}
    write(figure, [note], domain="xy", xanchor="center", **place)


def add_marks(
    figure: go.Figure, kind: str, table: pd.DataFrame, name: str, template: str, **look: Any
) -> None:
    """Add a trace with one mark per row at its x and y; a template makes its hover texts."""
    on_hover = hover(hover_texts(table, template)) if template else {"hoverinfo": "skip"}
    x, y = table["x"].tolist(), table["y"].tolist()
    getattr(figure, f"add_{kind}")(x=x, y=y, name=name, **on_hover, **look)


def add_points(
    figure: go.Figure,
    table: pd.DataFrame,
    name: str,
    template: str,
    marker: Mapping[str, Any],
    **options: Any,
) -> None:
    """Add points, labelled by the column text if there is one."""
    look = {"mode": "markers", "marker": marker, "cliponaxis": False}
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
    figure: go.Figure,
    title: str,
    notes: Mapping[str, object],
    below_px: int = 60,
    width: int | None = None,
    footnotes: Sequence[str] = (),
) -> go.Figure:
    """Add template, title, the notes that apply, footnotes and their size; return the figure.

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
    if foot := "<br>".join(wrap(line, 64) for line in footnotes):
        figure.add_annotation(
            text=foot, x=0, y=0, xref="paper", yref="paper", xanchor="left", yanchor="top",
            yshift=-below_px, align="left", showarrow=False,
        )  # fmt: skip
        below_px += LINE_PX * n_lines(foot) + 12
    return figure.update_layout(
        template=LIGHT,
        title_text=text,
        # plotly places a title of several lines higher by the height of a capital letter.
        title_pad_t=16 if n_lines(text) == 1 else 28,
        margin={"l": 24, "r": 24, "t": top_px, "b": below_px},
        height=top_px + max(plot_px, _legend_px(figure)) + below_px,
        width=width,
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
    if not isinstance(figure, go.Figure):
        raise TypeError(f"figure must be a plotly Figure; got {found(figure)}.")
    return go.Figure(figure).update_layout(template=DARK)
