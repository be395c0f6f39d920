"""Project words onto the directions of a criterion, or onto a map in two dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from wefe._checks import (
    as_seed,
    check_choice,
    check_given,
    check_positive_int,
    check_word_set,
    import_library,
)
from wefe._visible import by_name
from wefe.debias._base import check_words
from wefe.explore._directions import (
    AS_LOOKED_UP,
    FREQUENT,
    BiasDirections,
    CriterionLike,
    bias_directions,
    form_of,
    look_up,
    own_words,
)
from wefe.metrics._geometry import Vectors, row_products, unit
from wefe.metrics._projection import ROUNDING, indirect_bias
from wefe.models._passes import bare_words, forms, most_associated, plain_rows, vocabulary_cosines
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel, check_models
from wefe.query import Query
from wefe.words import Preprocessors, every_form

#: What functions take for words: one list, lists by name, or the sets of a query.
WordLists: TypeAlias = Sequence[str] | Mapping[str, Sequence[str]] | Query
Models: TypeAlias = WordEmbeddingModel | Sequence[WordEmbeddingModel]

VOCABULARY = "vocabulary"


def project(
    models: Models,
    words: WordLists | None = None,
    criterion: CriterionLike = "gender",
    *,
    preprocessors: Preprocessors | None = None,
) -> pd.DataFrame:
    """Project words onto the bias direction of a criterion, in one or several models.

    Parameters
    ----------
    models : WordEmbeddingModel or sequence of them
        Each model uses its own direction, unless `criterion` is a BiasDirections.
    words : sequence of str, mapping or Query, optional
        A word list, several lists by name, or the sets of a query. Default: the whole vocabulary,
        which the model must have. ValueError if a model has none of the words.
    criterion, preprocessors : optional
        As in :func:`bias_directions`; variants of `words`, too.

    Returns
    -------
    pandas.DataFrame
        One row per model, set and word. `projection` is the cosine with the bias direction, in [-1,
        1]; positive values are on the side of the first group. For more than two groups there is
        one row per `group`, with the cosine with its direction. NaN for words of a vocabulary
        without a direction. `attrs` has 'criterion', 'groups', and 'lost': model -> set -> words
        not found, or without a direction.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> project(load_test_model(), ["nurse"]).round(3)
              model    set   word  projection
    0  minilm-words  words  nurse        0.32
    """
    lists = None if words is None else word_lists(words)
    parts, lost = [], dict[str, dict[str, tuple[str, ...]]]()
    for label, model in by_name(check_models(models)).items():
        directions = bias_directions(model, criterion, preprocessors=preprocessors)
        if lists is None:
            cosines: FloatArray = vocabulary_cosines(model, directions.towards[directions.shown])
            bare, own = own_words(model, np.arange(len(cosines)))
            parts.append(projections_frame(label, VOCABULARY, bare, cosines[own], directions))
            continue
        known = {name: look_up(model, words, preprocessors, name) for name, words in lists.items()}
        if not any(one.words for one in known.values()):
            raise ValueError(f"{model.name} has none of the words {AS_LOOKED_UP}.")
        lost[label] = {name: one.lost for name, one in known.items()}
        for name, one in known.items():
            cosines = directions.cosines(one.vectors)
            parts.append(projections_frame(label, name, one.forms, cosines, directions))
    table = pd.concat(parts, ignore_index=True)
    groups = list(directions.groups)
    table.attrs.update({"criterion": directions.name, "groups": groups, "lost": lost})
    return table


def extreme_words(
    models: Models,
    n: int = 10,
    criterion: CriterionLike = "gender",
    *,
    among: int | None = FREQUENT,
    ignore: Sequence[str] | None = None,
    preprocessors: Preprocessors | None = None,
) -> pd.DataFrame:
    """Find the words of a vocabulary with the largest projection on each group.

    To compare words of your own, such as occupations, sort the result of :func:`project`.

    Parameters
    ----------
    models : WordEmbeddingModel or sequence of them
        As in :func:`project`, with their whole vocabularies.
    n, criterion : optional
        Number of words per group, and the groups, as in :func:`bias_directions`.
    among : int or None, default=50_000
        Choose from this many words at the start of the vocabulary (usually the most frequent ones);
        None for all. Only forms that look like words count: in lower case, shorter than 20 letters,
        without digits and punctuation.
    ignore : sequence of str, optional
        Words to leave out; an empty list ignores none. Default: words that rightly belong to a
        group (the `specific_words` of the criterion).
    preprocessors : list of dict, optional
        As in :func:`bias_directions`.

    Returns
    -------
    pandas.DataFrame
        `model`, `group`, `rank` (from 1), `word` and `projection` (cosine with the direction
        towards that group, in (0, 1]). Fewer rows if fewer words have a positive projection.
        `attrs` has 'criterion' and 'groups'.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> extreme_words(load_test_model(), n=1).round(3)
              model   group  rank     word  projection
    0  minilm-words  female     1  hillary       0.451
    1  minilm-words    male     1      hes       0.431
    """
    check_positive_int("n", n)
    check_given(check_positive_int, among=among)
    parts = []
    for label, model in by_name(check_models(models)).items():
        directions = bias_directions(model, criterion, preprocessors=preprocessors)
        own = directions.criterion.specific_words
        ignored = own if ignore is None else check_words("ignore", ignore)
        left_out = {*ignored, *every_form(ignored, preprocessors)}
        rows, _ = plain_rows(model, among)
        best = most_associated(model, directions.towards, n, left_out, rows)
        for group, (rows, along) in zip(directions.groups, best, strict=True):
            far = along > ROUNDING
            columns = {
                "model": label,
                "group": group,
                "rank": np.arange(1, far.sum() + 1),
                "word": bare_words(model, model.table.words_at(rows[far])),
                "projection": along[far],
            }
            parts.append(pd.DataFrame(columns))
    table = pd.concat(parts, ignore_index=True)
    table.attrs.update({"criterion": directions.name, "groups": list(directions.groups)})
    return table


def word_lists(words: object) -> dict[str, list[str]]:
    if isinstance(words, Query):
        names = [*words.target_sets_names, *words.attribute_sets_names]
        words = dict(zip(names, words.target_sets + words.attribute_sets, strict=True))
    lists = words if isinstance(words, Mapping) else {"words": words}
    return {str(name): [*check_word_set(f"words[{name!r}]", lists[name])] for name in lists}


def projections_frame(
    label: str, set_name: str, words: Sequence[str], cosines: FloatArray, directions: BiasDirections
) -> pd.DataFrame:
    groups = pd.Index(directions.groups[directions.shown], name="group")
    index = pd.Index(list(words), dtype=object, name="word")
    wide: Any = pd.DataFrame(cosines[:, : len(groups)], index, groups)
    table: pd.DataFrame = wide.stack(future_stack=True).rename("projection").reset_index()
    table.insert(0, "model", label)
    table.insert(1, "set", set_name)
    return table.drop(columns="group") if len(groups) == 1 else table


def indirect_bias_along(
    model: WordEmbeddingModel,
    first: str,
    second: str,
    criterion: CriterionLike = "gender",
    *,
    n: int = 10,
    among: int | None = FREQUENT,
    preprocessors: Preprocessors | None = None,
) -> pd.DataFrame:
    """Find the extreme words between two neutral words, and their indirect bias.

    Words are projected onto the direction from one neutral word to the other. The indirect bias of
    an extreme word is the share of its similarity with the neutral word at its end that disappears
    without the bias directions; see :func:`wefe.metrics.indirect_bias`.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model with its whole vocabulary.
    first, second : str
        Two words that should be neutral, such as 'softball' and 'football'. ValueError if the model
        lacks one of them, or they have the same direction.
    criterion, n, among, preprocessors : optional
        As in :func:`extreme_words`, with `n` words at each end, never `first` and `second`.

    Returns
    -------
    pandas.DataFrame
        `end` (`first` or `second`), `rank`, `word`, `projection` (cosine with the direction towards
        that end, in (0, 1]), `cosine` with the word at that end, and `indirect_bias` with it (NaN
        if undefined).

    Examples
    --------
    >>> from wefe import load_test_model
    >>> table = indirect_bias_along(load_test_model(), "nurse", "engineer", n=4)
    >>> table.set_index("word")["indirect_bias"].round(2).head(4).to_dict()
    {'nursing': 0.02, 'nurses': 0.01, 'patients': 0.02, 'mary': 0.19}
    """
    bias = bias_directions(model, criterion, preprocessors=preprocessors)
    line = bias_directions(model, [(first, second)], preprocessors=preprocessors)
    ignore = [*bias.criterion.specific_words, first, second]
    table = extreme_words(model, n, line, among=among, ignore=ignore, preprocessors=preprocessors)
    table["cosine"], table["indirect_bias"] = np.nan, np.nan
    if len(table):
        form = {end: form_of(model, end, preprocessors) for end in line.groups}
        ends = model.get_vectors(list(table["group"].map(form)))
        # The vocabulary has words with the prefix of the model.
        words = model.get_vectors(forms(model, table["word"]))
        table["cosine"] = row_products(unit("ends", ends), unit("words", words))
        table["indirect_bias"] = indirect_bias(ends, words, bias.subspace)
    return table.drop(columns="model").rename(columns={"group": "end"})


MapMethod: TypeAlias = Literal["pca", "t-sne", "umap"]
METHODS = {"pca": "PCA", "t-sne": "t-SNE", "umap": "UMAP"}
# t-SNE and UMAP need more words than PCA.
_FEWEST = 8


def usable_method(method: str, n_words: int) -> str:
    """Return the method that maps so many words: PCA if they are too few for others."""
    return method if n_words >= _FEWEST else "pca"


def in_two_dimensions(vectors: Any, method: str = "pca", random_state: int | None = 0) -> Vectors:
    """Map the directions of two or more words to two dimensions: shape (n_words, 2)."""
    check_choice("method", method, METHODS)
    units = unit("vectors", vectors)
    if usable_method(method, len(units)) == "pca":
        centred = units - units.mean(axis=0)
        return np.asarray(centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T)
    seed = as_seed(random_state)
    if method == "t-sne":
        from sklearn.manifold import TSNE

        perplexity = min(30.0, (len(units) - 1) / 3)
        map_ = TSNE(2, perplexity=perplexity, init="pca", random_state=seed, metric="cosine")
    else:
        umap = import_library("umap", "umap", "method='umap'")
        n_neighbors = min(15, len(units) - 1)
        map_ = umap.UMAP(n_neighbors=n_neighbors, metric="cosine", random_state=seed, n_jobs=1)
    return np.asarray(map_.fit_transform(units), dtype=np.float64)
