"""Pages of words and models as one HTML file: figures, tables, and how to read them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from wefe._checks import check_sequence, found
from wefe._visible import visible
from wefe.audit._direction import LEAST_RATIO, LEAST_RATIO_TO_SECOND
from wefe.explore import ModelPage, WordPage
from wefe.explore._directions import NO_CLEAR_DIRECTION, BiasDirections
from wefe.explore._maps import METHODS
from wefe.report._figures import Figure, _as_data, _visible
from wefe.report._render import html_page
from wefe.report._text import count, cut, listed, percent

if TYPE_CHECKING:
    import pandas as pd

    from wefe.explore import StatisticCorrelation

_Page = TypeVar("_Page", ModelPage, WordPage)

# Neighbours that stand in the text; the others are folded.
_NEAREST = 12
# A row of a legend, what an entry has beside its name, a letter, and the narrowest drawing.
_LEGEND_PX, _ENTRY_PX, _LETTER_PX, _ACROSS_PX = 22, 42, 7, 520
# Letters of a name in titles and captions; the page has all of them where it is pointed at.
_LONGEST = 60


def page_html(
    pages: Sequence[WordPage | ModelPage] | WordPage | ModelPage,
    *,
    analogies: Mapping[str, pd.DataFrame] | None = None,
    correlations: Sequence[StatisticCorrelation] = (),
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> str:
    """Return pages of words and models as one HTML page.

    It is one file without any other: no network is used, and its Content-Security-Policy forbids
    it. Whatever comes from vocabularies and names is shown as text. It says how to read the
    numbers, and what they do not show.

    Parameters
    ----------
    pages : sequence of WordPage or ModelPage
        What :func:`wefe.explore.word_page` and :func:`wefe.explore.model_page` return, or one of
        them. Models of one criterion share their figures, so that they can be compared.
    analogies : mapping from str to DataFrame, optional
        By the name of the model, what :func:`wefe.explore.generate_analogies` returns.
    correlations : sequence of StatisticCorrelation, optional
        What :func:`wefe.explore.correlate_with_statistic` returns.
    title : str, optional
        By default the words, or the models.
    facts : mapping, optional
        What else there is to say of where the numbers are from, such as ``{"Seed": 0}``.

    Returns
    -------
    str
        About 5 MB, most of which is the library that draws the figures.

    Raises
    ------
    TypeError
        If one of `pages` is no page.
    ValueError
        If there is nothing to show.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.explore import word_page
    >>> html = page_html(word_page(load_test_model(), "nurse", k=20))
    >>> html[:15], html.count("<h1")
    ('<!doctype html>', 1)
    """
    from wefe import __version__

    given = [pages] if isinstance(pages, WordPage | ModelPage) else check_sequence("pages", pages)
    for page in given:
        if not isinstance(page, WordPage | ModelPage):
            raise TypeError(f"pages must be of words or models; got {found(page)}.")
    words = _by_word([page for page in given if isinstance(page, WordPage)])
    models = [page for page in given if isinstance(page, ModelPage)]
    pairs = dict(analogies or {})
    if not (words or models or pairs or correlations):
        raise ValueError("there is nothing to show: pages is empty.")
    drawn = [*_of_models(models), *_of_words(words), *_of_statistics(correlations)]
    directions = _directions([page.directions for page in given])
    names = dict.fromkeys(
        [page.word for page in words]
        or [page.model_name for page in models]
        or [*pairs, *(one.model_name for one in correlations)]
    )
    content = {
        "title": title or listed([cut(name, _LONGEST) for name in names], 4),
        "whole_title": title or listed(list(names), 4),
        "models": [_model(position, page) for position, page in enumerate(models)],
        "groups_of_models": [
            {"name": part[0].directions.name, "models": [page.model_name for page in part]}
            for part in _alike(models)
        ],
        "words": [_word(position, page) for position, page in enumerate(words)],
        "contents": _contents(words),
        "groups_of_words": [
            {"name": part[0].directions.name, "groups": list(part[0].directions.groups)}
            for part in _alike(words)
        ],
        "analogies": [
            {"model": model, "rows": table.to_dict("records")} for model, table in pairs.items()
        ],
        "correlations": [_correlation(one) for one in correlations],
        "directions": directions,
        "weak": [each for each in directions if each["weak"]],
        "thetas": sorted({f"{page.theta:g}" for page in words}),
        "provenance": _provenance(words, models, facts or {}),
        "version": __version__,
    }
    figures = {
        each.id: Figure(each.id, visible(each.caption), visible(each.alt), each.data)
        for each in drawn
    }
    return html_page("page.html.jinja", **_visible(content), figures=figures)


def write_page(
    path: str | os.PathLike[str],
    pages: Sequence[WordPage | ModelPage] | WordPage | ModelPage,
    **options: Any,
) -> None:
    """Write pages of words and models as one HTML file; `path` is what it was, or the whole page.

    Parameters
    ----------
    path : path
        The file.
    pages : sequence of WordPage or ModelPage
        What is shown; see :func:`page_html`.
    **options
        Those of :func:`page_html`.

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from wefe import load_test_model
    >>> from wefe.explore import model_page
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(Path(folder, "model.html"), model_page(load_test_model()))
    ...     [path.name for path in Path(folder).iterdir()]
    ['model.html']
    """
    from wefe._files import atomic_file, check_writable

    check_writable(path)
    text = page_html(pages, **options)
    with atomic_file(path) as file:
        file.write(text.encode("utf-8"))


def _by_word(pages: Sequence[WordPage]) -> list[WordPage]:
    """Return pages so that those of a word stand together, in the order of the first ones."""
    parts: dict[str, list[WordPage]] = {}
    for page in pages:
        parts.setdefault(page.word, []).append(page)
    return [page for part in parts.values() for page in part]


def _contents(words: Sequence[WordPage]) -> list[dict[str, Any]]:
    """Return per word where its pages are: those of several models, or of several criteria."""
    several = len({page.directions.name for page in words}) > 1
    rows: dict[str, list[dict[str, str]]] = {}
    for position, page in enumerate(words):
        name = f"{page.model_name}, {page.directions.name}" if several else page.model_name
        rows.setdefault(page.word, []).append({"id": f"word-{position}", "name": name})
    return [{"word": word, "pages": pages} for word, pages in rows.items()]


def _alike(pages: Sequence[_Page]) -> list[list[_Page]]:
    """Return pages by criterion: only those can stand in one figure."""
    parts: dict[tuple[str, tuple[str, ...]], list[_Page]] = {}
    for page in pages:
        parts.setdefault((page.directions.name, page.directions.groups), []).append(page)
    return list(parts.values())


# Figures


def _of_models(pages: Sequence[ModelPage]) -> Iterator[Figure]:
    import pandas as pd

    from wefe.explore._model_page import sides
    from wefe.plotting import plot_extremes, plot_projections

    for position, part in enumerate(_alike(pages)):
        directions = part[0].directions
        name, groups = directions.name, list(directions.groups)
        labels = listed([cut(page.model_name, _LONGEST) for page in part])
        spread = pd.concat([page.distribution for page in part], ignore_index=True)
        widest = spread.iloc[int(spread["mean_abs"].argmax())]
        projections = pd.concat([page.projections.assign(chance=page.chance) for page in part])
        projections.attrs["groups"] = groups
        yield Figure(
            f"spread-{position}",
            f"Projections of words on the direction of {name}, in {labels}. Tick: median. Named: "
            "the words at both ends. Grey: no clear direction. Many words are a histogram, scaled "
            "to its highest bar.",
            f"How the words of {count(spread['set'].nunique(), 'list')} spread along the "
            f"direction. Farthest from 0 on average: {cut(widest['set'])} in "
            f"{cut(widest['model'])}, {widest['mean_abs']:.3f}. The table has the numbers.",
            _as_data(plot_projections(projections, **sides(groups))),
        )
        extremes = pd.concat([page.extremes for page in part], ignore_index=True)
        if extremes.empty:
            continue
        first = extremes.iloc[int(extremes["projection"].argmax())]
        yield Figure(
            f"extremes-{position}",
            f"Words that lie farthest towards each group of {name}, in {labels}: their cosine with "
            "the direction towards it. Words that the criterion lists are left out.",
            f"Bars of the farthest words of {listed(groups)}. The longest is {cut(first['word'])}, "
            f"{first['projection']:.3f} towards {first['group']} in {cut(first['model'])}.",
            _as_data(plot_extremes(extremes, groups=groups)),
        )


def _of_words(pages: Sequence[WordPage]) -> Iterator[Figure]:
    import pandas as pd

    from wefe.plotting import plot_group_shares, plot_neighborhood

    for position, part in enumerate(_alike(pages)):
        groups = list(part[0].directions.groups)
        table = pd.concat(
            page.shares.loc[groups]
            .rename_axis("group")
            .reset_index()
            .rename(columns={"neighbors": "share"})
            .assign(model=page.model_name, word=page.word, leans_to=page.leans_to)
            for page in part
        )
        yield Figure(
            f"shares-{position}",
            "How many of the nearest neighbours of each word lean to each group. The band is what "
            "chance gives: 95 of 100 random words that are as frequent lie within it. Chance "
            "explains a bar that ends within its band, so it is grey.",
            f"Bars of the shares of {listed(groups)} among the neighbours of "
            f"{listed(list(dict.fromkeys(cut(page.word, _LONGEST) for page in part)))}, each with "
            "the interval of random words. The texts and the table have the numbers.",
            _with_legend_below(_as_data(plot_group_shares(table, groups=groups))),
        )
    for position, page in enumerate(pages):
        nearest = listed([cut(word, _LONGEST) for word in page.neighbors["neighbor"].head(3)])
        word = cut(page.word, _LONGEST)
        yield Figure(
            f"map-{position}",
            f"The neighbourhood of {word} in {cut(page.model_name, _LONGEST)}, drawn by "
            f"{METHODS[page.map_method]}. Distances in the drawing are not those in the space. "
            f"Colour: which group a word leans to. Ring: indirect bias above {page.theta:g}.",
            f"Map of {word} and its {len(page.neighbors)} nearest neighbours, the nearest of "
            f"which are {nearest}. The table has all of them.",
            _with_legend_below(
                _as_data(
                    plot_neighborhood(
                        page.map,
                        word=page.word,
                        groups=page.directions.groups,
                        method=METHODS[page.map_method],
                        theta=page.theta,
                    )
                )
            ),
        )


def _with_legend_below(data: dict[str, Any]) -> dict[str, Any]:
    """Put the legend where it is seen on a narrow page, too: below, from the left edge."""
    layout = data["layout"]
    shown = [trace for trace in data["data"] if trace.get("showlegend") is not False]
    widest = max((len(str(trace.get("name", ""))) for trace in shown), default=0)
    # The first entry stands beside the title of the legend.
    abreast = max(1, _ACROSS_PX // (_ENTRY_PX + _LETTER_PX * widest))
    room = 16 + _LEGEND_PX * math.ceil((len(shown) + 1) / abreast)
    layout["margin"]["b"] = layout["margin"].get("b", 0) + room
    layout["height"] += room
    layout["legend"] = {
        **layout.get("legend", {}),
        "orientation": "h",
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
    }
    return data


def _of_statistics(correlations: Iterable[StatisticCorrelation]) -> Iterator[Figure]:
    for position, one in enumerate(correlations):
        yield Figure(
            f"statistic-{position}",
            f"Each point is a word: to the right its {one.statistic_name}, upwards its bias "
            f"({one.bias_name}) in {one.model_name}. Line of least squares, with its interval.",
            f"Scatter plot of {count(one.n, 'word')}. Pearson correlation "
            f"{one.pearson.value:.2f}, slope of the line {one.slope.value:.3g}.",
            _as_data(one.plot()),
        )


# What is said


def _model(position: int, page: ModelPage) -> dict[str, Any]:
    own = page.to_dict()
    by_group = "group" in page.distribution
    return own | {
        "id": f"model-{position}",
        "n_words": int(page.distribution["n"].iloc[0]) if len(page.distribution) else 0,
        "by_group": by_group,
        "farthest": [
            {
                "group": group,
                "words": [row for row in own["extremes"] if row["group"] == group],
            }
            for group in page.directions.groups
        ],
    }


def _word(position: int, page: WordPage) -> dict[str, Any]:
    own = page.to_dict()
    is_clear = page.leans_to != NO_CLEAR_DIRECTION
    towards = page.leans_to if is_clear else page.directions.groups[0]
    share = next(row for row in own["shares"] if row["group"] == page.leans_to)
    return own | {
        "is_clear": is_clear,
        "share": share,
        "smaller": _share_smaller(page.percentile),
        "id": f"word-{position}",
        "several": not page.directions.is_binary,
        "towards": towards,
        "cosine": own["projection"][towards],
        "original": page.directions.model_name,
        "nearest": own["neighbors"][:_NEAREST],
        "map": None,
    }


def _share_smaller(percentile: float) -> str:
    return "" if math.isnan(percentile) else percent(percentile)


def _correlation(one: StatisticCorrelation) -> dict[str, Any]:
    return {
        "model": one.model_name,
        "statistic": one.statistic_name,
        "bias": one.bias_name,
        "n": one.n,
        "lost": list(one.lost),
        "nan_reason": one.nan_reason,
        "level": one.confidence_level,
        "estimates": [
            {"name": name, "value": each.value, "lower": each.lower, "upper": each.upper}
            for name, each in (
                ("Pearson correlation", one.pearson),
                ("Spearman correlation", one.spearman),
                ("slope of the line", one.slope),
            )
        ],
    }


def _directions(given: Iterable[BiasDirections]) -> list[dict[str, Any]]:
    """Return what is known of each direction, once."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for each in given:
        ratios = [*each.explained_variance_ratio.tolist(), 0.0, 0.0]
        taken = sum(ratios[: len(each.subspace)])
        weak = taken < LEAST_RATIO
        if each.is_binary:
            weak = weak or ratios[0] < LEAST_RATIO_TO_SECOND * ratios[1]
        rows[each.model_name, each.name] = {
            "model": each.model_name,
            "criterion": each.name,
            "groups": list(each.groups),
            "n_sets": len(each.sets),
            "n_lost": each.n_lost,
            "sets": [" – ".join(words) for words in each.sets],
            "n_directions": len(each.subspace),
            "taken": taken,
            "first": ratios[0],
            "second": ratios[1],
            "weak": weak,
        }
    return list(rows.values())


def _provenance(
    words: Sequence[WordPage], models: Sequence[ModelPage], facts: Mapping[str, object]
) -> dict[str, str]:
    """Return where the numbers are from."""
    pages: list[WordPage | ModelPage] = [*words, *models]
    rows = {"Models": dict.fromkeys(page.model_name for page in pages)}
    rows["Criterion"] = dict.fromkeys(page.directions.name for page in pages)
    if any(page.model_name != page.directions.model_name for page in pages):
        rows["Directions of"] = dict.fromkeys(page.directions.model_name for page in pages)
    rows["Neighbours"] = dict.fromkeys(f"{len(page.neighbors):,}" for page in words)
    rows["Biased above"] = dict.fromkeys(f"{page.theta:g}" for page in words)
    rows["Map"] = dict.fromkeys(METHODS[page.map_method] for page in words)
    said = {name: ", ".join(values) for name, values in rows.items() if values}
    return said | {str(name): str(value) for name, value in facts.items()}
