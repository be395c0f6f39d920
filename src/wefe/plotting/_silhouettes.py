"""Bias silhouettes: scores of ever more words, as in figure 2 of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from wefe._checks import check_bool, check_choice
from wefe.plotting._axes import stacked
from wefe.plotting._labels import LINE_PX, count, height_px, wrap
from wefe.plotting._style import PALETTE, add_band, apply_layout, write
from wefe.plotting._table import check_several

if TYPE_CHECKING:
    from wefe.silhouette import Silhouette

_PANEL_PX = 200
# Points of all faint curves of a panel; of more, only some sizes are drawn.
_MOST_POINTS = 20_000
_LISTS = {"targets": "social groups", "attributes": "concepts"}
# Characters across the whole figure.
_CHARACTERS = 90


def plot_silhouettes(
    silhouettes: Sequence[Silhouette] | Silhouette,
    *,
    unbiased: str | None = None,
    biased: str | None = None,
    full_range: bool = False,
) -> go.Figure:
    """Plot bias silhouettes: every run, the bounds and the mean, over the number of words.

    Parameters
    ----------
    silhouettes : Silhouette or sequence of Silhouette
        What :func:`wefe.silhouette.bias_silhouettes` returns. Each metric, query and kind of list
        has a row, each model a panel in it.
    unbiased, biased : str, optional
        Names of the models that accuracy compares. With two models, the first is taken for the
        unbiased one unless these say otherwise.
    full_range : bool, default=False
        Whether the vertical axes show all scores that there can be, against which robustness and
        accuracy are counted, or those that there are and the value of no bias.

    Returns
    -------
    plotly.graph_objects.Figure
        Panels of a row have the same axes. In each, all runs are one faint trace, with gaps in
        between; of very many runs and sizes only some sizes are drawn, the last always. A dashed
        line is the score that means no bias. Robustness stands above each panel, accuracy above
        each row.

    Raises
    ------
    TypeError
        If `silhouettes` holds anything else.
    ValueError
        If there are none, or two of the same metric, query, lists and model.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> from wefe.silhouette import bias_silhouette
    >>> silhouette = bias_silhouette("weat", load_weat_queries()[5], load_test_model(), n_runs=5)
    >>> [trace.name for trace in plot_silhouettes(silhouette).data]
    ['5 runs', 'bounds', 'mean']
    """
    from wefe.silhouette import Silhouette

    given = check_several("silhouettes", silhouettes, Silhouette)
    check_bool("full_range", full_range)
    rows: dict[tuple[str, str, str], dict[str, Silhouette]] = {}
    for each in given:
        row = rows.setdefault((each.metric, each.query_name, each.vary), {})
        if row.setdefault(each.model_name, each) is not each:
            raise ValueError(
                f"two silhouettes are of {each.metric}, {each.query_name!r}, {each.vary} and "
                f"{each.model_name!r}; plot them apart."
            )
    models = list(dict.fromkeys(each.model_name for each in given))
    unbiased, biased = _references(unbiased, biased, models)

    width = max(16, _CHARACTERS // len(models) - 2)
    heads = [wrap(_head(key, row, unbiased, biased), _CHARACTERS) for key, row in rows.items()]
    titles_px = 14 + LINE_PX + height_px(wrap(name, width) for name in models)
    above_px = titles_px + 8 + height_px(heads)
    figure, plot_px = stacked(
        [_PANEL_PX] * len(rows),
        46 + above_px,
        cols=len(models),
        shared_yaxes=True,
        horizontal_spacing=0.05 / len(models),
    )
    top: dict[str, Any] = {"xref": "x domain", "yref": "y domain", "yanchor": "bottom"}
    for number, (row, head) in enumerate(zip(rows.values(), heads, strict=True), 1):
        bounds = _y_range(list(row.values()), full_range)
        ends = max(int(each.k[-1]) for each in row.values())
        figure.update_yaxes(range=bounds, exponentformat="none", row=number)
        figure.update_xaxes(range=[0, ends * 1.02], row=number)
        metric = next(iter(row.values())).metric
        figure.update_yaxes(title_text=wrap(metric, 24), row=number, col=1)
        write(
            figure, 0, 1, f"<b>{head}</b>", font={"size": 13}, yshift=titles_px, align="left",
            row=number, col=1, **top,
        )  # fmt: skip
        for column, name in enumerate(models, 1):
            cell = {"row": number, "col": column}
            silhouette = row.get(name)
            score = "no value"
            if silhouette is not None:
                score = f"robustness {silhouette.robustness:.2f}"
                _draw(figure, silhouette, PALETTE[(column - 1) % len(PALETTE)], cell)
            title = f"{wrap(name, width)}<br>{score}"
            centre = {"font": {"size": 12}, "xanchor": "center", "yshift": 4}
            write(figure, 0.5, 1, title, **centre, **top, **cell)
    figure.update_xaxes(title_text="k (words)", row=len(rows))
    figure.update_layout(showlegend=False)
    n_runs = sorted({each.n_runs for each in given})
    runs = count(n_runs[0], "run") if len(n_runs) == 1 else f"{n_runs[0]} to {n_runs[-1]} runs"
    notes = [
        f"Faint: {runs}, each with ever more of the words. Band: lowest to highest score. "
        "Line: mean. Dashed: no bias."
    ]
    if any("accuracy" in head for head in heads):
        notes.append(f"Accuracy takes {unbiased} for unbiased and {biased} for biased.")
    title = "Bias silhouettes" if len(given) > 1 else "Bias silhouette"
    return apply_layout(figure, title, notes, plot_px, above_px)


def _references(
    unbiased: str | None, biased: str | None, models: Sequence[str]
) -> tuple[str | None, str | None]:
    """Return the names of the models that accuracy compares."""
    if unbiased is None and biased is None:
        return (models[0], models[1]) if len(models) == 2 else (None, None)
    if unbiased is None or biased is None or unbiased == biased:
        raise ValueError(
            "accuracy compares two models; name both, unbiased and biased. Got "
            f"unbiased={unbiased!r}, biased={biased!r}."
        )
    return check_choice("unbiased", unbiased, models), check_choice("biased", biased, models)


def _head(
    key: tuple[str, str, str],
    row: dict[str, Silhouette],
    unbiased: str | None,
    biased: str | None,
) -> str:
    from wefe.silhouette import accuracy_score

    metric, query_name, vary = key
    head = f"{metric}, {query_name}, {_LISTS[vary]} vary"
    if unbiased is None or biased is None or not {unbiased, biased} <= set(row):
        return head
    try:
        return f"{head}: accuracy {accuracy_score(row[unbiased], row[biased]):.2f}"
    except ValueError:
        # Not of the same words, say: they can be looked at side by side, no more.
        return head


def _y_range(row: Sequence[Silhouette], full_range: bool) -> list[float]:
    if full_range:
        ends = [bound for each in row for bound in each.value_range]
    else:
        ends = [
            float(value)
            for each in row
            for value in (each.curves.min(), each.curves.max(), each.no_bias_value)
        ]
    margin = 0.04 * (max(ends) - min(ends)) or 0.1
    return [min(ends) - margin, max(ends) + margin]


def _draw(figure: go.Figure, silhouette: Silhouette, colour: str, cell: dict[str, int]) -> None:
    """Draw the faint curves, the band, the mean and the line of no bias into a panel."""
    k = silhouette.k
    x, y = _with_gaps(silhouette)
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        name=count(silhouette.n_runs, "run"),
        line={"color": colour, "width": 0.6},
        opacity=max(0.08, min(0.5, 6 / silhouette.n_runs)),
        hoverinfo="skip",
        **cell,
    )
    line = {"color": colour, "width": 1}
    add_band(
        figure, k, silhouette.lower, silhouette.upper, colour, name="bounds", line=line, **cell
    )
    figure.add_scatter(
        x=k.astype(np.float32),
        y=silhouette.mean.astype(np.float32),
        # A single size is a point.
        mode="lines" if len(k) > 1 else "markers",
        name="mean",
        line={"width": 2},
        customdata=np.stack([silhouette.lower, silhouette.upper], axis=1).astype(np.float32),
        hovertemplate="k = %{x}<br>mean %{y:.3f}<br>from %{customdata[0]:.3f} to "
        "%{customdata[1]:.3f}<extra></extra>",
        **cell,
    )
    figure.add_hline(silhouette.no_bias_value, line_dash="dash", **cell)


def _with_gaps(silhouette: Silhouette) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return all curves as one line, NaN after each."""
    n_runs, n_steps = silhouette.curves.shape
    every = math.ceil(n_runs * n_steps / _MOST_POINTS)
    # Counted from the end, so that the full lists are there.
    steps = np.arange(n_steps - 1, -1, -every)[::-1]
    if steps[0]:
        steps = np.concatenate([[0], steps])
    gap = np.full((n_runs, 1), np.nan)
    y = np.hstack([silhouette.curves[:, steps], gap]).astype(np.float32)
    x = np.append(silhouette.k[steps], np.nan).astype(np.float32)
    return np.tile(x, n_runs), y.ravel()
