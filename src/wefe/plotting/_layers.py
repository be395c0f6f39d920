"""Figures of encoders: scores over the layers, and effect sizes over the contexts of words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from wefe._checks import check_bool, found
from wefe.plotting._axes import Panels
from wefe.plotting._labels import count, wrap
from wefe.plotting._style import PALETTE, add_band, apply_layout, hover, write
from wefe.results import MetricResult

if TYPE_CHECKING:
    from wefe.contextual import LayerScores
    from wefe.contextual._layers import LayerScore

_PANEL_PX = 300
_DASHES = ("solid", "dot", "dash", "dashdot")
_N_BINS = 50


def plot_layer_scores(scores: LayerScores, *, relative: bool = False) -> go.Figure:
    """Plot scores by layer.

    Parameters
    ----------
    scores : LayerScores
        What :func:`wefe.contextual.layer_scores` returns.
    relative : bool, default=False
        Whether layers stand at their depth, from 0 to 1, so that models of different depth can be
        compared; or at their number.

    Returns
    -------
    plotly.graph_objects.Figure
        Of one model: a line per query. Of several: a panel per query with a line per model. A
        dashed line is the score that means no bias; bands, if there are any, are bootstrap
        intervals.

    Raises
    ------
    TypeError
        If this is anything else.

    Examples
    --------
    >>> from wefe.contextual import LayerScore, LayerScores
    >>> scores = [LayerScore("bert", "art", layer, layer / 2, 0.1 * layer) for layer in range(3)]
    >>> plot_layer_scores(LayerScores("WEAT-ES", 0.0, tuple(scores))).data[0].x
    (0, 1, 2)
    """
    from wefe.contextual import LayerScores

    if not isinstance(scores, LayerScores):
        raise TypeError(f"scores must be what layer_scores returns; got {found(scores)}.")
    check_bool("relative", relative)
    models = list(dict.fromkeys(score.model_name for score in scores.scores))
    queries = list(dict.fromkeys(score.query_name for score in scores.scores))
    by_query = len(models) > 1
    panels = Panels(queries if by_query else models, _PANEL_PX, 70, 2)
    figure = panels.figure()
    lines: dict[tuple[str, str], list[LayerScore]] = {}
    for score in scores.scores:
        key = (score.query_name, score.model_name) if by_query else ("", score.query_name)
        lines.setdefault(key, []).append(score)
    names = models if by_query else queries
    for (panel, name), line in lines.items():
        place = panels.place(queries.index(panel) if by_query else 0)
        _draw_line(figure, name, line, names.index(name), relative, place)
    figure.add_hline(scores.no_bias_value, line_dash="dash")
    what = "Depth (0: embedding layer, 1: last)" if relative else "Layer (0: embedding layer)"
    last = max(score.layer for score in scores.scores)
    figure.update_xaxes(title_text=what, dtick=0.2 if relative else max(1, round(last / 12)))
    figure.update_yaxes(matches="y")
    figure.update_yaxes(title_text=scores.metric, col=1)
    figure.update_layout(showlegend=len(names) > 1)
    notes = ["Dashed: no bias measured."]
    if any(math.isfinite(score.score_lower) for score in scores.scores):
        notes[0] += " Bands: bootstrap intervals over the words."
    undefined = sum(math.isnan(score.score) for score in scores.scores)
    if undefined:
        notes.append(f"{count(undefined, 'score')} of {len(scores.scores)} undefined: no point.")
    return apply_layout(figure, f"{scores.metric} by layer", notes, panels.height, panels.title_px)


def _draw_line(
    figure: go.Figure,
    name: str,
    line: Sequence[LayerScore],
    number: int,
    relative: bool,
    place: Mapping[str, Any],
) -> None:
    colour = PALETTE[number % len(PALETTE)]
    for part in _runs_with_interval(line):
        add_band(
            figure,
            [score.depth if relative else score.layer for score in part],
            [score.score_lower for score in part],
            [score.score_upper for score in part],
            colour,
            legendgroup=name,
            showlegend=False,
            **place,
        )
    texts = [
        f"{wrap(name, 60)}<br>layer {score.layer}: "
        + (f"{score.score:.4g}" if score.nan_reason is None else wrap(score.nan_reason, 60))
        + (f"<br>p = {score.p_value:.3g}" if math.isfinite(score.p_value) else "")
        for score in line
    ]
    figure.add_scatter(
        x=[score.depth if relative else score.layer for score in line],
        y=[score.score for score in line],
        mode="lines+markers",
        name=wrap(name, 30),
        legendgroup=name,
        line={"color": colour, "dash": _DASHES[number // len(PALETTE) % len(_DASHES)]},
        marker={"color": colour, "size": 6},
        **hover(texts),
        **place,
    )


def _runs_with_interval(line: Sequence[LayerScore]) -> list[list[LayerScore]]:
    """Return the stretches of a line in which every score has an interval."""
    runs: list[list[LayerScore]] = [[]]
    for score in line:
        if math.isfinite(score.score_lower) and math.isfinite(score.score_upper):
            runs[-1].append(score)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def plot_effect_sizes(results: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> go.Figure:
    """Plot how the effect sizes of CEAT spread over the contexts of the words.

    Parameters
    ----------
    results : MetricResult or sequence of MetricResult
        What :meth:`wefe.contextual.CEAT.run_query` returns; several are compared.

    Returns
    -------
    plotly.graph_objects.Figure
        A histogram per result, all with the same bins, the combined effect size as a line and,
        dashed, the value of no bias. Bars are shares of the samples. It shows the spread of what
        one sample of contexts may yield, which the standard error of CEAT does not.

    Raises
    ------
    TypeError
        If this is no result of CEAT.
    ValueError
        If there is none.

    Examples
    --------
    :class:`wefe.contextual.CEAT` makes the result, of an encoder. Here it is put together from four
    effect sizes:

    >>> from wefe import MetricResult, Query, load_test_model
    >>> from wefe.embeddings import embed_query
    >>> query = Query([["she"], ["he"]], [["art"], ["math"]], ["Women", "Men"], ["Art", "Math"])
    >>> result = MetricResult(
    ...     {"query_name": query.query_name, "result": 0.49, "ceat": 0.49},
    ...     embed_query(load_test_model(), query),
    ...     "CEAT",
    ...     details={"effect_sizes": [0.31, 0.52, 0.47, 0.66]},
    ... )
    >>> figure = plot_effect_sizes(result)
    >>> float(sum(figure.data[0].y)), figure.layout.xaxis.title.text
    (1.0, 'Effect size')
    """
    given = [results] if isinstance(results, MetricResult) else results
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise TypeError(f"results must be results of CEAT; got {found(results)}.")
    if not given:
        raise ValueError("results is empty; there is nothing to plot.")
    effects = [_effect_sizes(result) for result in given]
    every = np.concatenate(effects)
    # All equal, as with one context per word, they need bins of some width.
    low, high = (every.min(), every.max()) if len(every) else (-1.0, 1.0)
    low, high = min(low, -0.1), max(high, 0.1)
    edges = np.linspace(low, high, _N_BINS + 1)
    names = [str(result["query_name"]) for result in given]
    panels = Panels(names, 200, 60, 2, list(map(_second_line, given, effects)))
    figure = panels.figure()
    for position, (result, own) in enumerate(zip(given, effects, strict=True)):
        place = panels.place(position)
        shares = np.histogram(own, edges)[0] / max(1, len(own))
        middles = (edges[1:] + edges[:-1]) / 2
        texts = [
            f"{start:.2f} to {end:.2f}: {share:.1%} of the samples"
            for start, end, share in zip(edges[:-1], edges[1:], shares, strict=True)
        ]
        figure.add_bar(x=middles, y=shares, marker={"color": PALETTE[0]}, **hover(texts), **place)
        figure.add_vline(0, line_dash="dash", **place)
        if len(own):
            figure.add_vline(float(result["result"]), line_color=PALETTE[3], line_width=2, **place)
        else:
            middle: dict[str, Any] = {"xref": "x domain", "yref": "y domain", "xanchor": "center"}
            reason = wrap(f"no value: {getattr(result, 'nan_reason', None)}", 50)
            write(figure, 0.5, 0.5, reason, **middle, **place)
    figure.update_xaxes(range=[low, high], title_text="Effect size")
    figure.update_yaxes(tickformat="~%")
    figure.update_yaxes(title_text="Share of samples", col=1)
    figure.update_layout(bargap=0, showlegend=False)
    notes = [
        "Each sample has one context of every word. Line: combined effect size. Dashed: no bias.",
        "Samples share words and contexts: read the spread, not the standard error.",
    ]
    return apply_layout(figure, "Effect sizes over contexts", notes, panels.height, panels.title_px)


def _effect_sizes(result: object) -> npt.NDArray[np.float64]:
    details = getattr(result, "details", None)
    if not isinstance(result, Mapping) or details is None or "ceat" not in result:
        raise TypeError(f"results must be results of CEAT; got {found(result)}.")
    sizes = np.asarray(details.get("effect_sizes", ()), dtype=np.float64)
    return sizes[np.isfinite(sizes)]


def _second_line(result: Any, effect_sizes: npt.NDArray[np.float64]) -> str:
    name = wrap(str(result.model_name), 40)
    if not len(effect_sizes):
        return name
    low, high = np.quantile(effect_sizes, [0.025, 0.975])
    return f"{name}<br>CEAT = {result['result']:.3g}, 95 % within {low:.3g} to {high:.3g}"
