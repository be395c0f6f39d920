"""Pages of a model and of a word: numbers come from `to_dict`, sentences from templates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from wefe._checks import as_seed, check_positive_int
from wefe._visible import plain, templates, visible_data
from wefe.debias._base import check_words
from wefe.explore._directions import (
    CLEAR,
    FREQUENT,
    NO_CLEAR_DIRECTION,
    BiasDirections,
    CriterionLike,
    bias_directions,
    form_of,
    look_up,
)
from wefe.explore._projections import (
    VOCABULARY,
    MapMethod,
    WordLists,
    extreme_words,
    in_two_dimensions,
    project,
    projections_frame,
    usable_method,
    word_lists,
)
from wefe.metrics._geometry import Vectors
from wefe.metrics._projection import ROUNDING, direct_bias_by_word, indirect_bias
from wefe.metrics._proximity import find_neighbors, proximity_bias, shares_of_known
from wefe.models._passes import Rows, bare_words, plain_rows, vocabulary_cosines
from wefe.models._search import directions as directions_of
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.words import Preprocessors

_TEMPLATES = Path(__file__).parent / "templates"
# Quantiles of projections on a page.
_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
# The neighbours of so many random words say what chance makes. The interval of 95 % goes from the
# fifth lowest share of 199 words to the fifth highest; fewer than 39 words have none.
_N_RANDOM, _FEWEST_RANDOM = 199, 39
_TAILS = (0.025, 0.975)
# Random words are drawn from this many words with the nearest ranks.
_AS_FREQUENT = 1000


@dataclass(frozen=True, eq=False, repr=False)
class ModelPage:
    """A bias in one model; :func:`wefe.report.write_page` saves it as HTML.

    Draw `projections` with :func:`wefe.plotting.plot_projections`, and `extremes` with
    :func:`wefe.plotting.plot_extremes`.

    Attributes
    ----------
    model_name, directions : str, BiasDirections
        The model and its directions.
    chance : float
        Direct bias (share of a word's length in the bias subspace) that three quarters of the
        frequent words do not exceed. Words up to this value have no clear direction.
    distribution : pandas.DataFrame
        The projections in numbers, see :func:`distribution_of`; `mean_abs` is the direct bias for
        one direction. The set 'vocabulary' contains frequent words.
    extremes, projections : pandas.DataFrame
        Results of :func:`extreme_words`, without words that have no clear direction, and of
        :func:`project` for all sets, with `chance` in each row.
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
    directions: BiasDirections
    chance: float
    distribution: pd.DataFrame
    extremes: pd.DataFrame
    projections: pd.DataFrame
    n_lost: int

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain data for JSON, without the projections of single words.

        It has the keys of :meth:`BiasDirections.to_dict`, 'model', 'chance', 'n_words_lost', and
        the rows of 'distribution' and 'extremes'. NaN becomes None.
        """
        return {
            "model": self.model_name,
            **self.directions.to_dict(),
            "chance": self.chance,
            "n_words_lost": self.n_lost,
            "distribution": plain(self.distribution),
            "extremes": plain(self.extremes),
        }

    def __repr__(self) -> str:
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
        The model with its whole vocabulary.
    criterion : str, Criterion, sequence or BiasDirections, default='gender'
        The groups, as in :func:`bias_directions`.
    words : sequence of str, mapping or Query, optional
        Word lists to describe as well. Default: the stereotyped words of the criterion, if any.
    n, among, preprocessors : optional
        As in :func:`extreme_words`; `among` is the number of words that count as frequent.

    Returns
    -------
    ModelPage
        Use ``print`` to show it.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> page = model_page(load_test_model(), words={"jobs": ["nurse", "engineer"]}, n=3)
    >>> page.distribution[["set", "n", "mean"]].values.tolist()
    [['vocabulary', 10405, 0.001], ['jobs', 2, 0.183]]
    """
    directions = bias_directions(model, criterion, preprocessors=preprocessors)
    rows, _ = plain_rows(model, among)
    cosines = vocabulary_cosines(model, directions.towards, among)[rows]
    frequent = bare_words(model, model.table.words_at(rows))
    parts = [projections_frame(model.name, VOCABULARY, frequent, cosines, directions)]
    extremes = extreme_words(model, n, directions, among=among, preprocessors=preprocessors)
    least = directions._chance(cosines)
    is_clear = directions._places(cosines, least) < len(directions.groups)
    extremes = extremes[extremes["word"].isin(pd.Series(frequent)[is_clear])].reset_index(drop=True)
    stereotypes = directions.criterion.stereotyped_words.items()
    lists = {f"{name} stereotypes": [*own] for name, own in stereotypes}
    if words is not None:
        lists = word_lists(words)
    if VOCABULARY in lists:
        raise ValueError(f"the name {VOCABULARY!r} means the frequent words; rename the list.")
    n_lost = sum(map(len, lists.values()))
    # The model may lack all stereotyped words.
    if words is not None or any(look_up(model, own, preprocessors).words for own in lists.values()):
        own = project(model, lists, directions, preprocessors=preprocessors)
        n_lost = sum(map(len, own.attrs["lost"][model.name].values()))
        parts.append(own)
    projections = pd.concat(parts, ignore_index=True).assign(chance=least)
    projections.attrs["groups"] = list(directions.groups)
    spread = distribution_of(projections)
    return ModelPage(model.name, directions, least, spread, extremes, projections, n_lost)


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
    >>> table = pd.DataFrame({"model": "m", "set": "jobs", "projection": [0.4, -0.2]})
    >>> distribution_of(table)[["n", "mean", "mean_abs"]].values.tolist()
    [[2.0, 0.1, 0.3]]
    """
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


@dataclass(frozen=True, eq=False, repr=False)
class WordPage:
    """The bias of one word in one model; :func:`wefe.report.write_page` saves it as HTML.

    :func:`wefe.plotting.plot_neighborhood` draws the map.

    Attributes
    ----------
    word, model_name : str
        The word in the form of the vocabulary, and the model.
    directions : BiasDirections
        The directions, those of the original model if there is one.
    leans_to : str
        The group whose direction is closest to the word, if three quarters of the frequent words
        have less direct bias; otherwise 'no clear direction'.
    projection : pandas.Series
        Cosine of the word with the direction towards each group, in [-1, 1].
    direct_bias, percentile : float
        Share of the word's length in the bias subspace, in [0, 1], where 0 means no bias; and share
        of frequent words with a smaller direct bias, in [0, 1]; NaN if unknown.
    neighbors : pandas.DataFrame
        One row per neighbour: `rank`, `neighbor`, `cosine` with the word, `leans_to`, `projection`
        (on the first group; the largest one for more than two groups), `indirect_bias` with the
        word, and `biased` (whether it is above `theta`).
    proximity_bias, proximity_low, proximity_high : float
        Share of biased neighbours, in [0, 1], and its interval as in `shares`.
    shares : pandas.DataFrame
        One row per group and for 'no clear direction'. `neighbors` is the share of neighbours that
        lean to the group, in [0, 1]. For random words of similar frequency, this share is
        `expected` on average, and between `low` and `high` in 95 % of cases; `is_clear` if it is
        outside.
    indirect_bias : pandas.Series
        Indirect bias with each of the `others` that the model has; NaN if undefined.
    map, map_method, theta : pandas.DataFrame, str, float
        The word and then its neighbours in two dimensions: `word`, `x` and `y`; and the parameters
        of :func:`word_page`.
    nan_reason : str or None
        Why numbers are missing, if any are.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> page = word_page(load_test_model(), "nurse", k=20)
    >>> page.leans_to, page.direct_bias, page.percentile, page.shares["neighbors"].tolist()
    ('female', 0.32, 0.99, [0.6, 0.0, 0.4])
    """

    word: str
    model_name: str
    directions: BiasDirections
    leans_to: str
    projection: pd.Series[float]
    direct_bias: float
    percentile: float
    neighbors: pd.DataFrame
    proximity_bias: float
    proximity_low: float
    proximity_high: float
    shares: pd.DataFrame
    indirect_bias: pd.Series[float]
    map: pd.DataFrame
    map_method: str
    theta: float
    nan_reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain data for JSON; undefined values are None.

        It has the attributes by name (tables as rows), 'model', 'n_neighbors', and the keys of
        :meth:`BiasDirections.to_dict`.
        """
        names = {"word": self.word, "model": self.model_name, **self.directions.to_dict()}
        own = {k: v for k, v in vars(self).items() if k not in ("model_name", "directions")}
        own |= {"shares": self.shares.rename_axis("group").reset_index()}
        return {**names, **plain(own), "n_neighbors": len(self.neighbors)}

    def __repr__(self) -> str:
        return as_text("word.txt.jinja", self.to_dict())


def word_page(
    model: WordEmbeddingModel,
    word: str,
    criterion: CriterionLike = "gender",
    *,
    k: int = 100,
    theta: float = 0.05,
    others: Sequence[str] = (),
    original: WordEmbeddingModel | None = None,
    map_method: MapMethod = "pca",
    random_state: int | None = 0,
    preprocessors: Preprocessors | None = None,
) -> WordPage:
    """Describe the bias of a word: its position along the bias direction, and its neighbours.

    Generalises the word report of Kumar, Bhotia and Chakraborty, "Fair Embedding Engine", NLP-OSS
    2020, to any groups.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model with its whole vocabulary.
    word : str
        The word; KeyError if the model lacks it, or its vector has no direction.
    criterion : str, Criterion, sequence or BiasDirections, default='gender'
        The groups, as in :func:`bias_directions`.
    k : int, default=100
        Number of nearest neighbours, at most all other words.
    theta : float, default=0.05
        A neighbour is biased if its indirect bias is above this threshold.
    others : sequence of str
        Words whose indirect bias with the word is also computed.
    original : WordEmbeddingModel, optional
        The model before mitigation. Directions and indirect bias are computed from it.
    map_method : {'pca', 't-sne', 'umap'}, default='pca'
        Method of the map; PCA for fewer than 8 words. 't-sne' uses scikit-learn, 'umap' needs
        ``wefe[umap]``.
    random_state, preprocessors : optional
        The seed of the random words and of UMAP; and as in :func:`bias_directions`.

    Returns
    -------
    WordPage
        Use ``print`` to show it.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> print(word_page(load_test_model(), "nurse", k=20, others=["midwife", "doctor"]))
    nurse in minilm-words: leans to female
      projection      female +0.320, male -0.320 (cosine; words of the groups: 0.426, 0.313)
      direct bias     0.320, that of 99% of frequent words is smaller
      neighbours      female 60%, male 0%, no clear direction 40% of the 20 nearest
      by chance       female 0-70%, male 0-75%, no clear direction 5-100% (random words as frequent)
      proximity bias  35% (share of them with an indirect bias above 0.05; by chance 0-40%)
      indirect bias   midwife +0.099, doctor -0.062
    """
    check_model(model)
    before = model if original is None else original
    others = check_words("others", others)
    directions = bias_directions(before, criterion, preprocessors=preprocessors)
    bias_directions(model, directions)  # refuses a model of other dimensions
    form = form_of(model, word, preprocessors)
    check_positive_int("k", k)
    random = _random_words(model, form, np.random.default_rng(as_seed(random_state)))
    around = find_neighbors(model, [form, *random], k, original)
    along = around.along(directions.towards.T)
    betas = around.indirect_bias(directions.subspace[None])[..., 0]
    vector = np.asarray(model.get_vectors([form]))
    projection = pd.Series(directions.cosines(vector)[0], index=list(directions.groups))
    strength = float(direct_bias_by_word(vector, directions.subspace)[0])
    smaller = math.nan
    if strength > ROUNDING:
        of_others = np.linalg.norm(_frequent(model, directions.subspace), axis=1)
        smaller = float((of_others < strength).mean())
    leans_to = str(projection.idxmax()) if smaller >= CLEAR else NO_CLEAR_DIRECTION
    least = directions._chance(_frequent(before, directions.towards))
    found, labels = directions._places(along, least), [*directions.groups, NO_CLEAR_DIRECTION]
    proximity = proximity_bias(betas, theta)[:, None]
    _, low, high = _by_chance(proximity[1:])[:, 0]
    neighbors = pd.DataFrame(
        {
            "rank": 1 + np.arange(len(found[0])),
            "neighbor": bare_words(model, model.table.words_at(around.rows[0])),
            "cosine": around.cosines[0],
            "leans_to": np.array([*labels, None])[found[0]].tolist(),
            "projection": along[0, :, directions.shown].max(axis=1),
            "indirect_bias": betas[0],
            "biased": betas[0] > theta,
        }
    )
    known = look_up(before, others if form in before else [], preprocessors, "others")
    with_others: Any = []
    if known.words:
        with_others = indirect_bias(before.get_vectors([form]), known.vectors, directions.subspace)
    (bare,) = bare_words(model, [form])
    vectors = np.concatenate([vector, model.table.rows(around.rows[0])])
    x, y = in_two_dimensions(vectors, map_method, random_state).T
    return WordPage(
        word=bare,
        model_name=model.name,
        directions=directions,
        leans_to=leans_to,
        projection=projection,
        direct_bias=strength,
        percentile=smaller,
        neighbors=neighbors,
        proximity_bias=float(proximity[0, 0]),
        proximity_low=float(low),
        proximity_high=float(high),
        shares=_shares(found, labels),
        indirect_bias=pd.Series(with_others, index=known.forms, dtype=np.float64),
        map=pd.DataFrame({"word": [bare, *neighbors["neighbor"]], "x": x, "y": y}),
        map_method=usable_method(map_method, len(x)),
        theta=theta,
        nan_reason=_why_missing(before, form, along[0]),
    )


def _why_missing(before: WordEmbeddingModel, form: str, along: Vectors) -> str | None:
    if form not in before:
        return f"{before.name} lacks the word, so its former bias is unknown"
    known, k = int(np.isfinite(along).all(axis=1).sum()), len(along)
    few = "; these are too few for shares" if 2 * known < k else "; the shares refer to these"
    return None if known == k else f"{before.name} has {known} of the {k} neighbours{few}"


def _random_words(model: WordEmbeddingModel, form: str, rng: np.random.Generator) -> list[str]:
    rows, _ = plain_rows(model)
    if len(rows) <= _FEWEST_RANDOM:
        rows = np.arange(len(model.vocab))
    # A word built from subwords counts as rarer than all others.
    own = model.vocab.get(form, len(model.vocab))
    rows = rows[rows != own]
    place = int(np.searchsorted(rows, own))
    start = max(0, min(place - _AS_FREQUENT // 2, len(rows) - _AS_FREQUENT))
    near = rows[start : start + _AS_FREQUENT]
    near = near[directions_of(model.table.rows(near))[1]]
    return model.table.words_at(np.sort(rng.choice(near, min(_N_RANDOM, len(near)), replace=False)))


def _shares(found: Rows, labels: list[str]) -> pd.DataFrame:
    """Return the share of each label around the first word, and its distribution for the others."""
    counts = (found[..., None] == np.arange(len(labels))).sum(axis=1)
    shares = shares_of_known(counts, counts.sum(axis=1, keepdims=True), found.shape[1])
    expected, low, high = _by_chance(shares[1:])
    columns = {"neighbors": shares[0], "expected": expected, "low": low, "high": high}
    is_clear = (shares[0] < low) | (shares[0] > high)
    return pd.DataFrame({**columns, "is_clear": is_clear}, index=labels)


def _by_chance(of_random: Vectors) -> Vectors:
    """Return the mean of each share around random words, and both ends of its interval."""
    known = of_random[~np.isnan(of_random).any(axis=1)]
    if len(known) < _FEWEST_RANDOM:
        return np.full((3, of_random.shape[1]), math.nan)
    ends = np.quantile(known, _TAILS, axis=0, method="weibull")
    return np.vstack([known.mean(axis=0), ends])


def _frequent(model: WordEmbeddingModel, axes: Vectors) -> Vectors:
    """Return the cosines of frequent words that have a direction."""
    rows, _ = plain_rows(model, FREQUENT)
    if not len(rows):
        rows = np.arange(min(len(model.vocab), FREQUENT))
    cosines = vocabulary_cosines(model, axes, FREQUENT)[rows].astype(np.float64)
    return np.asarray(cosines[np.isfinite(cosines).all(axis=1)])


def as_text(template: str, page: Mapping[str, Any]) -> str:
    """Return a page as text, with control and invisible characters escaped."""
    environment = templates(_TEMPLATES)
    environment.filters |= {"percent": _percent, "table": _table}
    return environment.get_template(template).render(visible_data(page)).rstrip()


def _percent(share: float | None) -> str:
    """Format a share as a percentage; only exact 0 and 1 become 0 % and 100 %."""
    if share is None:
        return "unknown"
    if 0.995 <= share < 1:
        return "more than 99%"
    return f"{share:.0%}"


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    return str(pd.DataFrame(rows).round(3).to_string(index=False))
