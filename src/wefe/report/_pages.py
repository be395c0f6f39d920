"""Pages of words and models as one HTML file: figures, tables, and how to read them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from wefe import __version__
from wefe._checks import check_sequence
from wefe._visible import plain, visible_data
from wefe.audit._direction import LEAST_RATIO, LEAST_RATIO_TO_SECOND
from wefe.explore import ModelPage, WordPage
from wefe.explore._directions import BiasDirections
from wefe.explore._projections import METHODS
from wefe.plotting import plot_extremes, plot_group_shares, plot_neighborhood, plot_projections
from wefe.report._figures import LEGEND_BELOW, Figure, drawn
from wefe.report._render import html_page, write


def page_html(pages: Sequence[Any], facts: Mapping[str, object] | None = None) -> str:
    """Return the HTML of :func:`write_page`."""
    models = [page for page in pages if isinstance(page, ModelPage)]
    words = [page for page in pages if isinstance(page, WordPage)]
    # Pages of one word stand side by side.
    order = [page.word for page in words]
    words.sort(key=lambda page: order.index(page.word))
    directions = {(d.model_name, d.name): d for d in (page.directions for page in pages)}
    content = {
        "models": [page.to_dict() for page in models],
        "words": list(map(_word, words)),
        "directions": list(map(_direction, directions.values())),
        "facts": {str(name): str(value) for name, value in (facts or {}).items()},
        "version": __version__,
    }
    return html_page(
        "page.html.jinja",
        **visible_data(plain(content), "\n\t"),
        figures=dict((*_of_models(models), *_of_words(words))),
    )


def write_page(
    path: str | os.PathLike[str],
    pages: Sequence[WordPage | ModelPage],
    *,
    facts: Mapping[str, object] | None = None,
) -> None:
    """Write pages of words and models to one HTML file, which explains how to read the numbers.

    The file has about 5 MB, needs no network and blocks it. Texts from vocabularies cannot run as
    code.

    Parameters
    ----------
    path : path
        The file. It is replaced only when the page is complete.
    pages : sequence of WordPage or ModelPage
        Results of :func:`wefe.explore.word_page` and :func:`wefe.explore.model_page`. Models of one
        criterion share their figures.
    facts : mapping, optional
        Further facts about the origin of the numbers, such as ``{"Seed": 0}``.

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from wefe import load_test_model
    >>> from wefe.explore import model_page
    >>> with TemporaryDirectory() as folder:
    ...     write_page(f"{folder}/model.html", [model_page(load_test_model())])
    """
    given = check_sequence("pages", pages)
    write(path, lambda: page_html(given, facts))


def _alike(pages: Sequence[Any]) -> list[list[Any]]:
    """Group pages by criterion, because only those can share a figure."""
    parts = defaultdict(list)
    for page in pages:
        parts[page.directions.name, page.directions.groups].append(page)
    return list(parts.values())


# Figures


def _of_models(pages: Sequence[ModelPage]) -> Iterator[Figure]:
    for position, part in enumerate(_alike(pages)):
        directions = part[0].directions
        groups, models = list(directions.groups), [page.model_name for page in part]
        spread = pd.concat([page.distribution for page in part], ignore_index=True)
        facts = {
            "criterion": directions.name,
            "groups": groups,
            "models": models,
            "n_sets": spread["set"].nunique(),
            "widest": spread.nlargest(1, "mean_abs").to_dict("records")[0],
        }
        projections = pd.concat([page.projections for page in part])
        projections.attrs["groups"] = groups
        figure = plot_projections(projections)
        yield drawn(f"spread-{position}", figure, facts, "projections")
        extremes = pd.concat([page.extremes for page in part], ignore_index=True)
        if len(extremes):
            facts["first"] = extremes.nlargest(1, "projection").to_dict("records")[0]
            extremes.attrs["groups"] = groups
            yield drawn(f"extremes-{position}", plot_extremes(extremes), facts)


def _of_words(pages: Sequence[WordPage]) -> Iterator[Figure]:
    for position, part in enumerate(_alike(pages)):
        facts = {"groups": list(part[0].directions.groups), "words": [page.word for page in part]}
        figure = _with_legend_below(plot_group_shares(part))
        yield drawn(f"shares-{position}", figure, facts)
    for position, page in enumerate(pages):
        facts = page.to_dict() | {"method": METHODS[page.map_method]}
        yield drawn(f"map-{position}", _with_legend_below(plot_neighborhood(page)), facts)


def _with_legend_below(figure: go.Figure) -> go.Figure:
    """Move the legend below the figure, where plotly makes room, so that narrow pages show it."""
    n_entries = sum(trace.showlegend is not False for trace in figure.data)
    return figure.update_layout(
        height=figure.layout.height + 40 + 11 * n_entries,
        legend={**LEGEND_BELOW, "xref": "container"},
    )


# Data for the templates


def _direction(one: BiasDirections) -> dict[str, Any]:
    first, second = [*one.explained_variance_ratio.tolist(), 0.0, 0.0][:2]
    is_divided = len(one.groups) == 2 and first < LEAST_RATIO_TO_SECOND * second
    return one.to_dict() | {
        "model": one.model_name,
        "sets": [" – ".join(words) for words in one.sets],
        "first": first,
        "second": second,
        "weak": is_divided or one.explained < LEAST_RATIO,
    }


def _word(page: WordPage) -> dict[str, Any]:
    name = page.directions.model_name
    return page.to_dict() | {
        # The model whose directions the page uses, if it is another one.
        "original": None if name == page.model_name else name,
        "map_method": METHODS[page.map_method],
        "map": None,
    }
