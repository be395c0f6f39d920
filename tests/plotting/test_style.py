"""Light and dark figures can be read."""

import numpy as np
import plotly.graph_objects as go
import pytest

from wefe.plotting import as_dark
from wefe.plotting._style import DARK, LIGHT, PALETTE


def parts_of(colour):
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])


def contrast(one, other):
    """Contrast of two colours, in [1, 21] (WCAG 2)."""
    shares = []
    for parts in (one / 255, other / 255):
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        shares.append(float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05)
    return max(shares) / min(shares)


@pytest.mark.parametrize("colour", PALETTE)
def test_marks_are_told_from_dark_paper_and_texts_from_translucent_bars(colour):
    paper, ink = parts_of(DARK.layout.paper_bgcolor), parts_of(DARK.layout.font.color)
    assert contrast(parts_of(colour), paper) >= 3
    assert contrast(0.45 * parts_of(colour) + 0.55 * paper, ink) >= 4.5


@pytest.mark.parametrize("name", ["diverging", "sequential"])
@pytest.mark.parametrize("template", [LIGHT, DARK])
def test_numbers_can_be_read_on_the_cells_of_heat_maps(name, template):
    scale, ink = template.layout.colorscale[name], parts_of(template.layout.font.color)
    places, colours = zip(*scale, strict=True)
    channels = np.array(list(map(parts_of, colours))).T
    nothing, most = (
        np.array([np.interp(share, places, channel) for channel in channels])
        for share in (0.5 * (name == "diverging"), 1)
    )
    for share in np.linspace(0, 1, 41):
        cell = np.array([np.interp(share, places, channel) for channel in channels])
        assert contrast(cell, ink) >= 4.5
    # Small differences are seen: the ends are far from the middle, which is like the paper.
    assert contrast(most, nothing) > 2
    paper = template.layout.paper_bgcolor.replace("white", "#ffffff")
    assert contrast(nothing, parts_of(paper)) < 1.5


@pytest.mark.parametrize("scale", [None, "Viridis"])
def test_other_figures_of_plotly_keep_their_colours(scale, drawn):
    figure = go.Figure(go.Heatmap(z=[[1, 2]], colorscale=scale))
    dark = as_dark(figure)
    assert dark.layout.template == DARK
    assert drawn(dark)["data"] == drawn(figure)["data"]
    with pytest.raises(TypeError, match="plotly Figure"):
        as_dark({})
