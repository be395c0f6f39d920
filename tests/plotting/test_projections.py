"""Figures of words on a bias direction: extremes and distributions; and dark mode."""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
import pytest

from wefe import load_test_model
from wefe.audit import audit_direction
from wefe.plotting import (
    as_dark,
    plot_direction_correlations,
    plot_extremes,
    plot_group_shares,
    plot_negative_sentiment_correlation,
    plot_projections,
    plot_ranking_correlations,
)
from wefe.plotting._style import DARK, LIGHT, PALETTE, tint

GROUPS = ["female", "male", "other", "unknown"]


def extremes(groups=GROUPS[:2], models=("w2v",), n=3):
    rows = [
        (model, group, rank, f"{group}{rank}", 0.5 - 0.1 * rank)
        for model in models
        for group in groups
        for rank in range(1, n + 1)
    ]
    return pd.DataFrame(rows, columns=["model", "group", "rank", "word", "projection"])


def projections(values, models=("w2v",), sets=("jobs",), **columns):
    rows = [
        (model, name, f"word{number}", value)
        for model in models
        for name in sets
        for number, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=["model", "set", "word", "projection"]).assign(**columns)


def scatters(figure, mode):
    return [trace for trace in figure.data if trace.type == "scatter" and trace.mode == mode]


def bars(figure):
    return [trace for trace in figure.data if trace.type == "bar"]


def boxes(figure):
    return [trace for trace in figure.data if trace.type == "box"]


def points(figure):
    return scatters(figure, "markers+text")


def words_of(figure):
    return [[text.strip() for text in trace.text] for trace in scatters(figure, "text")]


def test_two_groups_stand_on_both_sides_of_0_by_rank_whatever_the_order_of_rows():
    table = extremes().sample(frac=1, random_state=0)
    first, second = bars(plot_extremes(table, groups=GROUPS[:2]))
    assert first.x == pytest.approx((0.4, 0.3, 0.2))
    assert second.x == pytest.approx((-0.4, -0.3, -0.2))
    figure = plot_extremes(extremes())
    assert words_of(figure) == [["female1", "female2", "female3"], ["male1", "male2", "male3"]]
    assert figure.layout.yaxis.range == (2.6, -0.6)  # rank 1 on top
    assert figure.layout.xaxis.title.text.startswith("← male")
    assert figure.layout.xaxis.title.text.endswith("female →")
    low, high = figure.layout.xaxis.range
    assert -low == high > 0.4


def test_other_numbers_of_groups_have_a_panel_each():
    for groups in (GROUPS[:1], GROUPS[:3], GROUPS):
        figure = plot_extremes(extremes(groups))
        assert [trace.xaxis for trace in bars(figure)] == [
            "x" if number == 0 else f"x{number + 1}" for number in range(len(groups))
        ]
        assert all(min(trace.x) > 0 for trace in bars(figure))
        if len(groups) > 1:
            assert [note.text for note in figure.layout.annotations] == groups
        assert figure.layout.xaxis.range[0] == 0
        title = figure.layout.xaxis.title.text
        assert title == ("cosine" if len(groups) >= 3 else "cosine with the bias direction") + " →"


@pytest.mark.parametrize("n_models", [2, 7])
def test_several_models_have_a_panel_each_on_one_axis(n_models):
    models = [f"model {number}" for number in range(n_models)]
    figure = plot_extremes(extremes(models=models))
    assert [note.text for note in figure.layout.annotations] == models
    assert len(bars(figure)) == 2 * n_models
    ranges = {figure.layout[f"xaxis{i or ''}"].range for i in (0, *range(2, n_models + 1))}
    assert len(ranges) == 1


@pytest.mark.parametrize("missing", [math.nan, math.inf])
def test_what_has_no_projection_is_left_out_and_named(missing, said):
    table = extremes()
    table.loc[1, "projection"] = missing
    figure = plot_extremes(table)
    assert words_of(figure)[0] == ["female1", "female3"]
    assert said(figure, "Left out, because there is no projection: female2.")
    figure = plot_projections(projections([0.1, missing, -0.2]))
    assert points(figure)[0].x == (-0.2, 0.1)
    assert said(figure, "Left out, because there is no projection: word1.")


def test_a_table_without_any_projection_is_drawn(drawn, said):
    drawn(plot_extremes(extremes().assign(projection=math.nan)))
    figure = plot_projections(projections([math.nan]))
    drawn(figure)
    assert said(figure, "  no projection")


def test_a_group_has_one_colour_in_all_figures():
    shown = extremes(GROUPS)
    shares = shown[shown["rank"] == 1].assign(word="nurse", share=0.25)
    colours = {trace.name: trace.marker.line.color for trace in bars(plot_extremes(shown))}
    assert colours == dict(zip(GROUPS, PALETTE, strict=False))
    drawn = {trace.name: trace.marker.color for trace in plot_group_shares(shares).data}
    assert colours.items() <= drawn.items()
    # A table without the first group says by its attrs, or the call, which are all.
    part = shown[shown["group"].isin(["male", "other"])]
    by_call = plot_extremes(part, groups=GROUPS)
    part.attrs["groups"] = GROUPS
    for figure in (by_call, plot_extremes(part)):
        for trace in bars(figure):
            assert trace.marker.line.color == colours[trace.name]
            assert trace.marker.color == tint(colours[trace.name], 0.45)
    with pytest.raises(ValueError, match="missing: male"):
        plot_extremes(part, groups=["female", "other"])
    # On a direction of two groups, a word has the colour of the group that it leans to.
    (trace,) = points(plot_projections(projections([0.3, -0.2])))
    assert trace.marker.color == (PALETTE[1], PALETTE[0])


def test_few_words_have_a_point_each_and_the_ends_are_named():
    values = np.random.default_rng(0).normal(0, 0.1, 60)
    (trace,) = points(plot_projections(projections(values)))
    assert trace.x == tuple(sorted(values))
    assert [text.strip() for text in trace.text if text] == [
        f"word{values.argmin()}",
        f"word{values.argmax()}",
    ]
    assert len({*trace.y}) > 10
    assert max(abs(y) for y in trace.y) <= 0.25
    assert plot_projections(projections(values)) == plot_projections(projections(values))


def test_of_many_words_those_at_both_ends_have_a_point_and_a_box_shows_all():
    values = np.random.default_rng(0).normal(0.05, 0.1, 3000)
    figure = plot_projections(projections(values))
    (box,) = boxes(figure)
    shares = [box.lowerfence, box.q1, box.median, box.q3, box.upperfence]
    wanted = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
    np.testing.assert_allclose(np.ravel(shares), wanted)
    (ends,) = points(figure)
    ordered = sorted(values)
    assert ends.x == (*ordered[:5], *ordered[-5:])
    assert sum(map(bool, ends.text)) == 2


@pytest.mark.parametrize("values", [[0.0] * 100, [0.3] * 100, [1e-9] * 99 + [0.9]])
def test_equal_projections_have_a_box_too(values):
    (box,) = boxes(plot_projections(projections(values)))
    assert box.median == (values[0],)


def test_a_box_is_of_five_words_or_more():
    (box,) = boxes(plot_projections(projections([0.5, 0.1, -0.2, 0.3, 0.0])))
    assert (box.q1, box.median, box.q3) == ((0.0,), (0.1,), (0.3,))
    (box,) = boxes(plot_projections(projections([0.5, 0.1])))
    assert box.median == ()


def test_rows_are_word_lists_of_one_model_or_models_of_each_word_list():
    figure = plot_projections(projections([0.1, 0.2], sets=("jobs", "a <b>&")))
    labels = [text.partition("<br>")[0] for text in figure.layout.yaxis.ticktext]
    assert labels == ["jobs", "a &lt;b&gt;&amp;"]
    assert "2 words" in figure.layout.yaxis.ticktext[0]
    models = [f"model {number}" for number in range(7)]
    figure = plot_projections(projections([0.1, 0.2], models, ("jobs", "names", "colours")))
    assert [note.text for note in figure.layout.annotations] == ["jobs", "names", "colours"]
    assert [len(trace.x) for trace in points(figure)] == [14] * 3
    for axis in ("yaxis", "yaxis2", "yaxis3"):
        shown = [text.partition("<br>")[0] for text in figure.layout[axis].ticktext]
        assert shown == models
    assert len({figure.layout[axis].range for axis in ("xaxis", "xaxis2", "xaxis3")}) == 1


def test_the_axis_says_towards_which_group_each_side_leans():
    table = projections([0.1])
    figure = plot_projections(table, toward_first="<f>", toward_second="m")
    wanted = "← m    cosine with the bias direction    &lt;f&gt; →"
    assert figure.layout.xaxis.title.text == wanted
    assert plot_projections(table).layout.xaxis.title.text == "cosine with the bias direction"
    table.attrs["groups"] = ["<f>", "m"]
    assert plot_projections(table).layout.xaxis.title.text == wanted


LONG_GROUPS = ["women in the labour market of Chile <>", "men who were born before the year 1950"]


@pytest.mark.parametrize("n_models", [1, 2, 7])
@pytest.mark.parametrize("plot", [plot_extremes, plot_projections])
def test_long_names_of_groups_are_cut_and_stand_in_a_note(plot, n_models):
    models = [f"model {number}" for number in range(n_models)]
    if plot is plot_extremes:
        figure = plot(extremes(LONG_GROUPS, models))
    else:
        table = projections([0.1, 0.2], models, ("a", "b", "c", "d"))
        figure = plot(table, toward_first=LONG_GROUPS[0], toward_second=LONG_GROUPS[1])
    title = figure.layout.xaxis.title.text
    assert title.startswith("← men ")
    assert title.endswith("… →")
    notes = figure.layout.title.text.replace("<br>", " ")
    assert "Left: towards men who were born before the year 1950, right: towards women" in notes


def test_more_groups_have_a_panel_each_in_their_colour():
    table = pd.concat([projections([0.1, -0.2], group=group) for group in GROUPS])
    figure = plot_projections(table)
    assert [note.text for note in figure.layout.annotations] == [f"towards {g}" for g in GROUPS]
    colours = [trace.marker.color[1] for trace in points(figure)]
    assert colours == list(PALETTE[:4])
    assert len({trace.marker.color[0] for trace in points(figure)}) == 1
    assert figure.layout.xaxis.title.text.endswith("towards the group →")


# Dark mode


def contrast(one, other):
    """Contrast of two colours, in [1, 21] (WCAG 2)."""
    shares = []
    for colour in (one, other):
        parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        shares.append(float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05)
    return max(shares) / min(shares)


def test_marks_are_told_from_dark_paper_and_texts_from_bars():
    paper, ink = DARK.layout.paper_bgcolor, DARK.layout.font.color
    assert all(contrast(colour, paper) >= 3 for colour in PALETTE)
    for trace in bars(as_dark(plot_extremes(extremes()))):
        colours = (bytes.fromhex(colour[1:]) for colour in (trace.marker.line.color, paper))
        mixed = [round(0.45 * a + 0.55 * b) for a, b in zip(*colours, strict=True)]
        assert contrast(f"#{bytes(mixed).hex()}", ink) >= 4.5


def on_scale(scale, share):
    """Colour of a scale at a share of its length, as plotly mixes it."""
    places = [place for place, _ in scale]
    parts = [[int(colour[i : i + 2], 16) for _, colour in scale] for i in (1, 3, 5)]
    return "#" + "".join(f"{round(np.interp(share, places, part)):02x}" for part in parts)


def dark_heat_maps():
    table = pd.DataFrame([[1.0, 0.5], [0.5, 1.0]], index=["a", "b"], columns=["a", "b"])
    shares = pd.DataFrame([[0.1, 0.2], [0.2, 0.4]], index=["a", "b"], columns=["a", "b"])
    audit = audit_direction("gender", load_test_model())
    return {
        "diverging": plot_ranking_correlations(table),
        "sequential": plot_negative_sentiment_correlation(shares),
        "shared": plot_direction_correlations(audit),
    }


@pytest.mark.parametrize("kind", ["diverging", "sequential", "shared"])
@pytest.mark.parametrize("template", [LIGHT, DARK])
def test_numbers_can_be_read_on_the_cells_of_heat_maps(kind, template, drawn):
    figure = dark_heat_maps()[kind]
    dark = as_dark(figure)
    (trace,) = dark.data
    assert trace.autocolorscale
    assert np.array_equal(trace.z, figure.data[0].z)
    name = "diverging" if trace.zmin < 0 else "sequential"
    assert (name == "sequential") == (kind == "sequential")
    scale = template.layout.colorscale[name]
    nothing = on_scale(scale, 0 if kind == "sequential" else 0.5)
    assert contrast(nothing, template.layout.paper_bgcolor.replace("white", "#ffffff")) < 1.5
    for share in np.linspace(0, 1, 41):
        assert contrast(on_scale(scale, share), template.layout.font.color) >= 4.5
    # Small differences are seen: the ends are far from the middle.
    assert contrast(on_scale(scale, 1), nothing) > 2


@pytest.mark.parametrize("template", [None, "plotly_dark"])
@pytest.mark.parametrize("scale", [None, "Viridis"])
def test_other_figures_of_plotly_keep_their_colours(template, scale, monkeypatch, drawn):
    monkeypatch.setattr(pio.templates, "default", template)
    for figure in (go.Figure(), go.Figure(go.Heatmap(z=[[1, 2]], colorscale=scale))):
        dark = as_dark(figure)
        assert dark.layout.template == DARK
        assert drawn(dark)["data"] == drawn(figure)["data"]
    with pytest.raises(TypeError, match="must be a plotly Figure; got dict"):
        as_dark({})
