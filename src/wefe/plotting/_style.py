"""What all figures have in common: colours, template, small text, title, size and dark mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from wefe._checks import found
from wefe.plotting._labels import LINE_PX, n_lines, wrap

# Okabe and Ito's colours, which every kind of colour vision tells apart. Their yellow is too pale
# on white, so grey stands in; black is kept for what sums the others up.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999999")
# The eighth bar has the first colour again, hatched, and so on.
_PATTERNS = ("", "/", "x", "-", ".", "|")
# So have points of the eighth group, as another symbol; the second one is for words apart.
_SYMBOLS = (
    ("circle", "x-thin"),
    ("square", "cross-thin"),
    ("diamond", "asterisk"),
    ("triangle-up", "y-up"),
)
INK, FAINT = "#222222", "#555555"

_AXIS = {
    "zeroline": False,
    "automargin": True,
    "title": {"standoff": 10},
    "gridcolor": "#e3e3e3",
}
_TEMPLATE = go.layout.Template(
    layout={
        "colorway": PALETTE,
        "font": {"family": "Open Sans, Helvetica, Arial, sans-serif", "size": 12, "color": INK},
        "title": {
            "font": {"size": 17},
            "x": 0,
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"l": 16, "t": 16},
        },
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "xaxis": _AXIS,
        "yaxis": {**_AXIS, "ticks": "outside", "tickcolor": "white"},
        "legend": {"traceorder": "normal"},
        "hovermode": "closest",
        "hoverlabel": {"align": "left", "bgcolor": "white", "font": {"color": INK}},
    }
)


def bar_style(position: int) -> dict[str, Any]:
    """Return the marker of one series of bars among several."""
    hatching, colour = divmod(position, len(PALETTE))
    shape = _PATTERNS[hatching % len(_PATTERNS)]
    pattern = {"shape": shape, "fillmode": "overlay", "fgcolor": "white", "size": 6}
    return {"color": PALETTE[colour], "pattern": pattern}


def point_style(position: int) -> tuple[str, str, str]:
    """Return colour and symbols of one group of points: of most, and of those apart from them."""
    shape, colour = divmod(position, len(PALETTE))
    return PALETTE[colour], *_SYMBOLS[shape % len(_SYMBOLS)]


def hollowed(style: dict[str, Any], hollow: Sequence[bool]) -> dict[str, Any]:
    """Return the marker with some bars as pale fillings of their outlines."""
    colour = style["color"]
    marker = {
        **style,
        "color": [pale(colour) if empty else colour for empty in hollow],
        "line": {"color": colour, "width": [1.5 if empty else 0 for empty in hollow]},
    }
    if "pattern" in style:
        hatch = [pale(colour, 0.5) if empty else "white" for empty in hollow]
        marker["pattern"] = {**style["pattern"], "fgcolor": hatch}
    return marker


def pale(colour: str, share: float = 0.12, paper: str = "#ffffff") -> str:
    """Mix a share of a colour into that of the paper."""
    pairs = [(int(paper[i : i + 2], 16), int(colour[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(back - share * (back - part)):02x}" for back, part in pairs)


def pointed_at(texts: Sequence[Any]) -> dict[str, Any]:
    """Return what makes a trace say a text, and no more, where it is pointed at."""
    return {"hovertext": texts, "hovertemplate": "%{hovertext}<extra></extra>"}


def write(
    figure: go.Figure,
    x: float,
    y: float,
    text: str,
    hover: str = "",
    size: float = 11,
    colour: str = FAINT,
    **place: Any,
) -> None:
    """Write a few words into a figure, by default to the right of a point."""
    figure.add_annotation(
        x=float(x),
        y=float(y),
        text=text,
        hovertext=hover or None,
        font={"size": size, "color": colour},
        showarrow=False,
        **{"xanchor": "left", **place},
    )


def dress(
    figure: go.Figure,
    title: str,
    notes: Sequence[str],
    plot_px: int,
    above_px: int = 0,
    below_px: int = 60,
    width: int | None = None,
    footnotes: Sequence[str] = (),
) -> go.Figure:
    """Add template, title, the notes below it, footnotes, and the size; return the figure."""
    characters = 66 if width is None else max(40, width // 9)
    lines = [wrap(title, characters)]
    for note in notes:
        small = wrap(note, characters * 3 // 2)
        lines.append(f'<span style="font-size:12px;color:{FAINT}">{small}</span>')
    text = "<br>".join(lines)
    top_px = 28 + 22 * n_lines(text) + above_px
    if footnotes:
        foot = "<br>".join(wrap(line, 64) for line in footnotes)
        place: dict[str, Any] = {
            "xref": "paper",
            "yref": "paper",
            "yshift": -below_px,
            "yanchor": "top",
        }
        write(figure, 0, 0, foot, align="left", **place)
        below_px += LINE_PX * n_lines(foot) + 12
    figure.update_layout(
        template=_TEMPLATE,
        title_text=text,
        # plotly sets a title of several lines higher by the height of a capital.
        title_pad_t=16 if n_lines(text) == 1 else 28,
        margin={"l": 24, "r": 24, "t": top_px, "b": below_px},
        height=top_px + max(plot_px, _legend_px(figure)) + below_px,
        width=width,
    )
    return figure


def _legend_px(figure: go.Figure) -> int:
    if not figure.layout.showlegend:
        return 0
    shown = [trace.name for trace in figure.data if trace.showlegend is not False]
    return 30 + sum(LINE_PX * n_lines(name) + 4 for name in shown)


# Share of its colour in a bar with a text upon it.
BAR = 0.45
_DARK_PAPER = "#16191d"
# Colours of texts, lines and surfaces; those of the palette, if opaque, are seen on either paper.
_DARK = {
    "white": _DARK_PAPER,
    INK: "#e8eaed",
    FAINT: "#b4bac2",
    "#f1f1f1": "#23282e",
    "#e3e3e3": "#3c434c",
    "#d4d4d4": "#3c434c",
    **{
        pale(colour, share): pale(colour, share, _DARK_PAPER)
        for colour in (*PALETTE, INK, FAINT)
        for share in (0.12, BAR, 0.5)
    },
}
_DARK_HOVER = "#2b3138"
# Blue is dark enough to be seen as a mark, not to be read as a text.
_DARK_TEXT = {**_DARK, PALETTE[0]: "#4da6e0"}


# The scale of heat maps, from its dark middle to ends that light numbers can be read on.
_DARK_CELLS = {
    "#e8893b": "#9c5210",
    "#f7d3b5": "#5a3a1f",
    "#fbfbfb": "#23282e",
    "#bcdcf2": "#1f4258",
    "#4c9bd6": "#1c659b",
}


def as_dark(figure: go.Figure) -> go.Figure:
    """Return a figure in light colours on a dark page.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        What any function of this package returns. Any other figure gets plotly's dark template,
        with our paper.

    Returns
    -------
    plotly.graph_objects.Figure
        A copy. Paper, texts, lines and grid have other colours; those of data stay, so that both
        figures can be read with the same legend, but are opaque, or dark blue could not be told
        from the paper. The cells of our heat maps keep their hues, with a dark middle; those of
        other heat maps stay as they are.

    Raises
    ------
    TypeError
        If `figure` is no figure.

    Examples
    --------
    >>> from wefe.plotting import plot_ranking
    >>> import pandas as pd
    >>> figure = plot_ranking(pd.DataFrame({"WEAT": [2, 1]}, index=["w2v", "glove"]))
    >>> as_dark(figure).layout.template.layout.paper_bgcolor
    '#16191d'
    >>> figure.layout.template.layout.paper_bgcolor
    'white'
    """
    if not isinstance(figure, go.Figure):
        raise TypeError(f"figure must be a plotly Figure; got {found(figure)}.")
    dark = go.Figure(figure)
    dark_axes = [axis for axis in dark.select_coloraxes() if _with_dark_cells(axis)]
    for trace in dark.data:
        # The numbers in heat maps of other scales stand on their cells in both modes.
        if (
            trace.type != "heatmap"
            or (trace.coloraxis and dark.layout[trace.coloraxis] in dark_axes)
            or _with_dark_cells(trace)
        ):
            trace.update(_darkened(trace.to_plotly_json(), _DARK))
        if trace.type == "scatter" and trace.marker.opacity is not None:
            trace.marker.opacity = 1
    layout = _darkened(dark.layout.to_plotly_json(), _DARK)
    annotations = dark.layout.to_plotly_json().get("annotations", ())
    layout["annotations"] = [_darkened(each, _DARK_TEXT) for each in annotations]
    template = layout.get("template", {})
    # Ours is known by its ink, which is dark or light already.
    ink = template.get("layout", {}).get("font", {}).get("color")
    if ink != _DARK[INK]:
        template = _dark_template()
    template["layout"].setdefault("hoverlabel", {})["bgcolor"] = _DARK_HOVER
    layout["template"] = template
    dark.layout = layout
    return dark


def _with_dark_cells(scaled: Any) -> bool:
    """Give a heat map, or an axis of colours, the dark form of its scale; False if it has none."""
    scale = scaled.colorscale or ()
    if not scale or any(colour not in _DARK_CELLS for _, colour in scale):
        return False
    scaled.colorscale = [(share, _DARK_CELLS[colour]) for share, colour in scale]
    return True


def _dark_template() -> dict[str, Any]:
    """Return plotly's dark template with our paper and ink."""
    import plotly.io as pio

    template: dict[str, Any] = pio.templates["plotly_dark"].to_plotly_json()
    surfaces = {"paper_bgcolor": _DARK_PAPER, "plot_bgcolor": _DARK_PAPER}
    template["layout"] |= surfaces | {"font": {"color": _DARK[INK]}}
    grid = {"gridcolor": _DARK["#e3e3e3"], "zerolinecolor": _DARK["#e3e3e3"]}
    for axis in ("xaxis", "yaxis"):
        template["layout"][axis] = {**template["layout"].get(axis, {}), **grid}
    return template


def _darkened(value: Any, colours: Mapping[str, str], key: str = "") -> Any:
    """Return other colours where colours stand; a word may be 'white' too."""
    if isinstance(value, dict):
        return {name: _darkened(part, colours, name) for name, part in value.items()}
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
        return [_darkened(part, colours, key) for part in value]
    if not isinstance(value, str):
        return value
    if key.endswith("color"):
        return colours.get(value, value)
    if key in ("text", "ticktext"):
        return value.replace(f"color:{FAINT}", f"color:{colours[FAINT]}")
    return value
