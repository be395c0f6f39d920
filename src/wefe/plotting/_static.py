"""Figures for papers as files, drawn by matplotlib without a browser."""

from __future__ import annotations

import itertools
import math
import os
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from wefe._checks import check_choice, check_sequence, import_library
from wefe._files import atomic_file
from wefe.plotting._bars import best_first
from wefe.plotting._lines import robustness_of
from wefe.plotting._negative_sentiment import joint_shares, read_spreads
from wefe.plotting._reading import Reading, check_table, parts_of
from wefe.plotting._style import INK, LIGHT, PALETTE, colour_of, offset, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wefe.silhouette import Silhouette

Limits: TypeAlias = tuple[float, float]
# Title -> model -> target set -> values.
Biases: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]

FORMATS = ("png", "svg", "pdf")
# More bars become one box per query; only this many models have panels.
_MOST_BARS, _MOST_PANELS = 400, 12
# Rows with more cells have no room for numbers.
_MOST_NUMBERS = 20
# Names are text, not formulas; fonts stay fonts; the same figure is the same file.
_STYLE = {
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 8,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.hashsalt": "wefe",
    "savefig.bbox": "tight",
    "savefig.dpi": 200,
}
_NO_DATE = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def write_figures(
    folder: str | os.PathLike[str],
    *,
    scores: pd.DataFrame | None = None,
    ranking: pd.DataFrame | None = None,
    correlations: pd.DataFrame | None = None,
    negative_sentiment: Mapping[str, Mapping[str, Any]] | None = None,
    silhouettes: Sequence[Silhouette] = (),
    biases: Biases | None = None,
    formats: Sequence[str] = FORMATS,
) -> list[Path]:
    """Write figures for papers as PNG, SVG and PDF; needs ``pip install 'wefe[figures]'``.

    Parameters
    ----------
    folder : path
        Output folder; created if it does not exist.
    scores : DataFrame, optional
        Result of :func:`wefe.running.measure`: bars with intervals and nulls, one figure for each
        metric and query set. More than 400 scores become one box per query.
    ranking, correlations : DataFrame, optional
        Results of :func:`wefe.ranking.create_ranking` and
        :func:`wefe.ranking.calculate_ranking_correlations`.
    negative_sentiment : mapping, optional
        Title -> model name -> result of RNSB: distributions, and the matrix of each model.
    silhouettes : sequence of Silhouette, optional
        Result of :func:`wefe.silhouette.bias_silhouettes`.
    biases : mapping, optional
        Title -> model name -> target set -> individual biases of its words.
    formats : sequence of {'png', 'svg', 'pdf'}, default=('png', 'svg', 'pdf')
        File formats of each figure.

    Returns
    -------
    list of Path
        The files. Figures with one panel per model show the first 12 models.

    Examples
    --------
    >>> write_figures("figures", formats=["jpeg"])
    Traceback (most recent call last):
    ...
    ValueError: formats must be one of 'png', 'svg', 'pdf'; got str 'jpeg'.
    """
    for name in check_sequence("formats", formats):
        check_choice("formats", name, FORMATS)
    mpl = check_matplotlib()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written, used = list[Path](), Counter[str]()
    given: Any = {
        _scores: scores,
        _ranking: ranking,
        _correlations: correlations,
        _sentiment: negative_sentiment,
        _silhouettes: silhouettes,
        _biases: biases,
    }
    with mpl.rc_context(_STYLE):
        drawn = (draw(table) for draw, table in given.items() if table is not None)
        for name, figure in itertools.chain.from_iterable(drawn):
            slug = re.sub(r"\W+", "-", name).strip("-")[:80]
            used[slug] += 1
            stem = slug if used[slug] == 1 else f"{slug}_{used[slug]}"
            for kind in formats:
                written.append(folder / f"{stem}.{kind}")
                with atomic_file(written[-1]) as file:
                    figure.savefig(file, format=kind, metadata=_NO_DATE[kind])
    return written


def check_matplotlib() -> Any:
    return import_library("matplotlib", "figures", "write_figures")


def _figure(
    n_panels: int = 1, abreast: int = 1, panel: tuple[float, float] = (6.0, 3.0), **options: Any
) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    columns = min(abreast, n_panels)
    rows = math.ceil(n_panels / columns)
    figure = Figure(figsize=(panel[0] * columns, panel[1] * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options).ravel().tolist()
    for empty in axes[n_panels:]:
        empty.set_axis_off()
    return figure, axes[:n_panels]


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [textwrap.fill(name, 32) for name in names])
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)


def _scores(scores: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    for (metric, query_set), group in parts_of(scores, ["metric", "query_set"]):
        reading = Reading.of(group)
        table = reading.table
        queries, models = parts_of(table, "query"), parts_of(table, "model")
        is_long = len(table) > _MOST_BARS
        high = 0.3 * len(queries) if is_long else max(0.12 * len(table), 0.3 * len(queries))
        figure, (axes,) = _figure(panel=(6, 1 + high))
        if is_long:
            known = [own["score"].dropna() for _, own in queries]
            axes.boxplot(known, orientation="horizontal", positions=range(len(known)), widths=0.6)
        else:
            for position, (model, own) in enumerate(models):
                y, start = np.arange(len(queries)) + offset(position, len(models)), own["start"]
                length, look = own["score"] - start, {"color": colour_of(position), "label": model}
                axes.barh(y, length, 0.72 / len(models), left=start, **look)
                axes.hlines(y, own["score_lower"], own["score_upper"], color=INK, linewidth=1)
                null = own["null_lower"], own["null_upper"]
                axes.hlines(y, *null, color="#00000055", linewidth=2.5)
            figure.legend(loc="outside right upper")
        _name_rows(axes, [query for query, _ in queries])
        axes.axvline(table["no_bias_value"].iloc[0], color=INK, linewidth=0.8)
        axes.set_xlabel(reading.axis_title())
        axes.set_title(reading.title())
        yield f"scores {metric} {query_set}", figure


def _ranking(ranking: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    table = best_first(ranking)
    figure, (axes,) = _figure(panel=(6, 1 + 0.22 * len(table)))
    colours: Any = list(itertools.islice(itertools.cycle(PALETTE), len(table.columns)))
    shown = table.set_axis(shorten(list(table.columns))[0], axis=1)
    shown.plot.barh(stacked=True, ax=axes, color=colours, legend=False)
    figure.legend(loc="outside right upper")
    for row, (_, own) in enumerate(table.iterrows()):
        lacks = " (lacks a rank)" * own.hasnans
        axes.text(own.sum(), row, f" {own.sum():g}{lacks}", va="center")
    _name_rows(axes, list(table.index))
    axes.set_xlabel("Sum of ranks (rank 1: least bias measured)")
    yield "ranking", figure


def _correlations(correlations: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    table = check_table("correlations", correlations, "correlations", "rows", "columns")
    yield "correlations", _matrices({"": table}, "Rank correlation", (-1.0, 1.0), "{:.2f}")


def _matrices(tables: Mapping[str, pd.DataFrame], what: str, limits: Limits, text: str) -> Figure:
    """Draw tables with a common colour scale, one panel each."""
    from matplotlib.colors import LinearSegmentedColormap

    scale = LIGHT.layout.colorscale
    cells = scale.diverging if limits[0] < 0 else scale.sequential
    colours = LinearSegmentedColormap.from_list("wefe", list(cells))
    names = [shorten([*table.index, *table.columns])[0] for table in tables.values()]
    longest = max(map(len, itertools.chain(*names)))
    # Inches of the cells, and of names of 8 points beside them.
    side = 1.5 + min(5.0, 0.175 * max(map(len, names))) + 0.07 * longest
    figure, panels = _figure(len(tables), 2, (side, side))
    for axes, (title, table) in zip(panels, tables.items(), strict=True):
        image = axes.imshow(table, cmap=colours, vmin=limits[0], vmax=limits[1])
        (rows, _), (columns, _) = map(shorten, map(list, table.axes))
        size = min(8.0, 8 * 14 / len(columns))
        axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=size)
        axes.set_yticks(range(len(rows)), rows, fontsize=size)
        axes.set_title(title)
        if len(columns) <= _MOST_NUMBERS:
            for (i, j), value in np.ndenumerate(table):
                shown = re.sub("nan%?", "n/a", text.format(value))
                axes.text(j, i, shown, ha="center", va="center", fontsize=0.8 * size)
    figure.colorbar(image, ax=panels, label=what, shrink=0.8)
    return figure


def _sentiment(results_of: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Figure]]:
    for title, of_models in results_of.items():
        spreads = [pair for pair in read_spreads(of_models).items() if len(pair[1].words)]
        if not spreads:
            continue
        shares = [spread.words["share"] for _, spread in spreads[:_MOST_PANELS]]
        wide = max(2.5, 0.25 * max(map(len, shares)))
        figure, panels = _figure(len(shares), max(1, int(9 / wide)), (wide, 2.4), sharey=True)
        tables = {}
        for axes, own, (model, spread) in zip(panels, shares, spreads, strict=False):
            own.plot.bar(ax=axes, color=PALETTE[0], xlabel="")
            axes.axhline(spread.uniform, color=INK, linewidth=0.8, linestyle="--")
            axes.set_title(f"{model}\nRNSB = {spread.score:.3g}")
            tables[model] = joint_shares(of_models[model])
        figure.supylabel("Share of negative sentiment")
        yield f"negative sentiment {title}", figure
        highest = max(float(own.max()) for own in shares) ** 2 or 1.0
        figure = _matrices(tables, "Joint share", (0.0, highest), "{:.1%}")
        yield f"joint negative sentiment {title}", figure


def _silhouettes(silhouettes: Sequence[Silhouette]) -> Iterator[tuple[str, Figure]]:
    groups: dict[tuple[str, str, str], list[Silhouette]] = defaultdict(list)
    for each in silhouettes:
        groups[each.metric, each.query_name, each.vary].append(each)
    for (metric, query, vary), every in groups.items():
        several = every[:_MOST_PANELS]
        figure, panels = _figure(len(several), 3, (2.6, 2.2), sharey=True)
        for axes, each in zip(panels, several, strict=True):
            axes.plot(each.k, each.curves.T, color=PALETTE[0], linewidth=0.4, alpha=0.15)
            axes.fill_between(each.k, each.lower, each.upper, color=PALETTE[0], alpha=0.15)
            axes.plot(each.k, each.mean, color=INK, linewidth=1.2)
            axes.axhline(each.no_bias_value, color=INK, linewidth=0.8, linestyle="--")
            axes.set_title(f"{each.model_name}\n{robustness_of(each)}")
            axes.set_xlabel(f"k (words of the {vary})")
        panels[0].set_ylabel(metric)
        yield f"silhouette {metric} {query} {vary}", figure


def _biases(biases: Biases) -> Iterator[tuple[str, Figure]]:
    for title, of_models in biases.items():
        shown = dict(itertools.islice(of_models.items(), _MOST_PANELS))
        n_sets = max(map(len, shown.values()), default=0)
        if not n_sets:
            continue
        figure, panels = _figure(len(shown), 2, (3.6, 0.9 + 0.6 * n_sets), sharex=True)
        for axes, (model, sets) in zip(panels, shown.items(), strict=True):
            for row, given in enumerate(sets.values()):
                values = pd.Series(given, dtype=float).dropna()
                colour = colour_of(row)
                if values.nunique() > 1:
                    shape: Any = axes.violinplot(
                        values, [row], orientation="horizontal", showextrema=False
                    )
                    shape["bodies"][0].set_facecolor(colour)
                axes.plot(values, [row] * len(values), "o", color=colour, markersize=3)
                axes.plot(values.mean(), row, "|", color=INK, markersize=14)
            axes.axvline(0, color=INK, linewidth=0.8)
            _name_rows(axes, list(sets))
            axes.set_title(model)
        figure.suptitle(title)
        figure.supxlabel("Individual bias of a word (line: mean of the set)")
        yield f"individual biases {title}", figure
