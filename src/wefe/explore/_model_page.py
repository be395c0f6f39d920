"""The page of a model: directions, distribution of words along them, and extreme words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wefe._plain import plain
from wefe._visible import draw
from wefe.explore._directions import BiasDirections, CriterionLike, bias_directions, chance, places
from wefe.explore._lookup import FREQUENT, bare_words, look_up
from wefe.explore._projections import (
    VOCABULARY,
    WordLists,
    extreme_words,
    project,
    projections_frame,
    word_lists,
)
from wefe.explore._text import as_text
from wefe.models._passes import plain_rows, vocabulary_cosines
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.words import Preprocessors

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

# Quantiles of projections on a page.
_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True, eq=False)
class ModelPage:
    """A bias in one model: its directions, distribution and extreme words.

    Use :func:`wefe.report.write_page` to save pages as an HTML file.

    Attributes
    ----------
    model_name : str
        The model.
    directions : BiasDirections
        The directions.
    chance : float
        Direct bias (share of a word's length in the bias subspace) that three quarters of the
        frequent words do not exceed. Words up to this value have no clear direction.
    distribution : pandas.DataFrame
        One row per word set (and per group if there are more than two): `n`, `mean`, `std`,
        `mean_abs` (the direct bias, for one direction) and quantiles of the projections. The set
        'vocabulary' contains frequent words.
    extremes : pandas.DataFrame
        Words with the largest projection on each group, as from :func:`extreme_words`, without
        words that have no clear direction.
    projections : pandas.DataFrame
        All projections, as from :func:`project`.
    n_lost : int
        Number of out-of-vocabulary words.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> page = model_page(load_test_model(), n=3)
    >>> page.distribution.set_index("set")["mean_abs"].round(3).to_dict()
    {'vocabulary': 0.056, 'female stereotypes': 0.156, 'male stereotypes': 0.029}
    """

    model_name: str
    directions: BiasDirections = field(repr=False)
    chance: float
    distribution: pd.DataFrame = field(repr=False)
    extremes: pd.DataFrame = field(repr=False)
    projections: pd.DataFrame = field(repr=False)
    n_lost: int

    def plot(self) -> Figure:
        """Return a figure of the projections; see :func:`wefe.plotting.plot_projections`."""
        return draw(
            "plot_projections",
            self.projections.assign(chance=self.chance),
            title=f"Projections on the direction of {self.directions.name} in {self.model_name}",
        )

    def plot_extremes(self) -> Figure:
        """Return bars of the extreme words; see :func:`wefe.plotting.plot_extremes`."""
        return draw("plot_extremes", self.extremes)

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain data for JSON, without the projections of single words.

        The keys of :meth:`BiasDirections.to_dict`, 'model', 'chance', 'n_words_lost', and the
        rows of 'distribution' and 'extremes'. NaN becomes None.
        """
        return {
            "model": self.model_name,
            **self.directions.to_dict(),
            "chance": self.chance,
            "n_words_lost": self.n_lost,
            "distribution": plain(self.distribution),
            "extremes": plain(self.extremes),
        }

    def __str__(self) -> str:
        return as_text("model.txt.jinja", self.to_dict())


def model_page(
    model: WordEmbeddingModel,
    criterion: CriterionLike = "gender",
    *,
    words: WordLists | None = None,
    n: int = 10,
    among: int | None = FREQUENT,
    preprocessors: Preprocessors | None = None,
) -> ModelPage:
    """Describe a bias in a model: its directions, distribution and extreme words.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model with its whole vocabulary.
    criterion : str, Criterion, mapping, sequence or BiasDirections, default='gender'
        The groups, as in :func:`bias_directions`.
    words : sequence of str, mapping or Query, optional
        Word lists to describe as well. Default: the stereotyped words of the criterion, if any.
    n : int, default=10
        Number of extreme words per group.
    among : int or None, default=50_000
        Number of words from the start of the vocabulary that count as frequent; None for all.
    preprocessors : optional
        As in :func:`extreme_words`.

    Returns
    -------
    ModelPage
        Use ``print`` to show it.

    Raises
    ------
    ValueError
        If only some words of the model are loaded, or no definitional set is complete.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> page = model_page(load_test_model(), words={"jobs": ["nurse", "engineer"]}, n=3)
    >>> page.distribution[["set", "n", "mean", "std"]].round(3)
              set      n   mean    std
    0  vocabulary  10405  0.001  0.081
    1        jobs      2  0.183  0.137
    """
    import pandas as pd

    check_model(model)
    directions = bias_directions(model, criterion, preprocessors=preprocessors)
    rows, _ = plain_rows(model, among)
    cosines = vocabulary_cosines(model, directions.towards, among)[rows]
    frequent = bare_words(model, model.table.words_at(rows))
    parts = [projections_frame(model.name, VOCABULARY, frequent, cosines, directions)]
    extremes = extreme_words(model, n, directions, among=among, preprocessors=preprocessors)
    known = cosines[np.isfinite(cosines).all(axis=1)]
    least = chance(known, directions)
    is_clear = places(cosines, least, directions) < len(directions.groups)
    extremes = extremes[extremes["word"].map(dict(zip(frequent, is_clear, strict=True)))]
    stereotypes = directions.criterion.stereotyped_words.items()
    lists = {f"{name} stereotypes": [*own] for name, own in stereotypes}
    if words is not None:
        lists = word_lists(words)
    if VOCABULARY in lists:
        raise ValueError(
            f"words must not use the name {VOCABULARY!r}, which is reserved for the frequent words "
            "of the model. Rename the list."
        )
    n_lost = sum(map(len, lists.values()))
    # The model may lack all stereotyped words.
    if words is not None or any(look_up(model, own, preprocessors).words for own in lists.values()):
        own = project(model, lists, directions, preprocessors=preprocessors)
        n_lost = sum(len(lost) for lost in own.attrs["lost"][model.name].values())
        parts.append(own)
    projections = pd.concat(parts, ignore_index=True)
    projections.attrs["groups"] = list(directions.groups)
    return ModelPage(
        model.name,
        directions,
        least,
        distribution_of(projections),
        extremes.reset_index(drop=True),
        projections,
        n_lost,
    )


def distribution_of(projections: pd.DataFrame) -> pd.DataFrame:
    """Summarise projections per model and set (and per group if there are more than two).

    Parameters
    ----------
    projections : DataFrame
        Result of :func:`project`.

    Returns
    -------
    pandas.DataFrame
        `model`, `set`, `group` (only for more than two), `n`, `mean`, `std` (population),
        `mean_abs`, and quantiles '1 %' to '99 %'. Words without a direction are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("m", "jobs", "nurse", 0.4), ("m", "jobs", "pilot", -0.2)]
    >>> table = pd.DataFrame(rows, columns=["model", "set", "word", "projection"])
    >>> distribution_of(table)[["n", "mean", "mean_abs", "50 %"]]
       n  mean  mean_abs  50 %
    0  2   0.1       0.3   0.1
    """
    import pandas as pd

    keys = [name for name in ("model", "set", "group") if name in projections]
    known = projections[np.isfinite(projections["projection"])].astype({"projection": np.float64})
    values = known.groupby(keys, sort=False, observed=True)["projection"]
    columns = {
        "n": values.size(),
        "mean": values.mean(),
        "std": values.std(ddof=0),
        "mean_abs": values.agg(lambda some: some.abs().mean()),
    }
    quantiles = {f"{100 * share:g} %": values.quantile(share) for share in _QUANTILES}
    return pd.DataFrame(columns | quantiles).reset_index()
