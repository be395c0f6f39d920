"""Test whether groups can be recovered from a model, as in Gonen and Goldberg (2019)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from wefe._checks import as_seed, check_positive_int, check_word_set
from wefe.datasets import Criterion
from wefe.debias._evidence import CommonWords, plain_words, without_noise
from wefe.explore._directions import CriterionLike, as_criterion, bias_directions, look_up
from wefe.explore._projections import METHODS, MapMethod, in_two_dimensions, usable_method
from wefe.metrics._geometry import Vectors, unit, unit_rows
from wefe.metrics._recovery import (
    classification_test,
    cluster_test,
    clustered,
    correlation_test,
    members,
    neighborhoods,
    projection_test,
)
from wefe.models._passes import Rows, bare_words
from wefe.models._search import nearest_neighbors
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.words import Preprocessors, every_form

_COLUMNS = ["test", "group", "value", "chance", "low", "high", "p_value", "n_words", "note"]
# A classifier learns from one word per group, and is tested on another.
_FEWEST_WORDS = 2


def recovery_tests(
    model: WordEmbeddingModel,
    criterion: CriterionLike = "gender",
    *,
    original: WordEmbeddingModel | None = None,
    n_words: int = 500,
    k: int = 100,
    words: Sequence[str] | None = None,
    random_state: int | np.random.Generator | None = 0,
    preprocessors: Preprocessors | None = None,
) -> pd.DataFrame:
    """Test whether the groups that words were biased towards can be recovered from a model.

    The words are frequent words of both models, as in :func:`extreme_words`. The bias for two
    groups is cos(w, first) - cos(w, second) with the words that represent them ('she' and 'he');
    for more groups, it is the cosine with each direction of :func:`wefe.metrics.group_directions`.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model to test, with its whole vocabulary.
    criterion : str, Criterion or sequence, default='gender'
        The groups, as in :func:`bias_directions`.
    original : WordEmbeddingModel, optional
        The model before mitigation, which determines the groups of words. Default: `model`; then
        compare the results with those of other models, not with chance.
    n_words : int, default=500
        Number of words per group, those with the largest bias. At most half of the vocabulary is
        used.
    k : int, default=100
        Number of neighbours.
    words : sequence of str, optional
        Words whose neighbours and projections are examined, for example professions. Default: the
        most frequent ones, `n_words` per group.
    random_state, preprocessors : optional
        The seed, and variants of the words of the criterion.

    Returns
    -------
    pandas.DataFrame
        One row for each test:

        - 'test': 'clusters', 'classification (rbf)', 'classification (linear)', 'neighbours', and
          'projections' (only with `original`)
        - 'group': for the last two tests, the group whose shares and biases are correlated (of two
          groups only the first, because they mirror each other); otherwise ''
        - 'value', 'chance', 'low', 'high' (95 % interval), 'p_value', 'n_words': see
          :class:`wefe.metrics.RecoveryTest`
        - 'note': why a value is NaN, and which words are missing

    Raises
    ------
    ValueError
        If only some words of a model are loaded, the original model lacks the words that represent
        the groups, or too few words are left.

    References
    ----------
    Gonen and Goldberg, "Lipstick on a Pig: Debiasing Methods Cover up Systematic Gender Biases in
    Word Embeddings But do not Remove Them", NAACL-HLT 2019, for two groups.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> table = recovery_tests(load_test_model(), n_words=100, k=20)
    >>> table.loc[[0, 3], ["test", "value", "chance", "low", "high"]].round(2)
             test  value  chance   low  high
    0    clusters   0.93    0.53  0.89  0.96
    3  neighbours   0.76    0.00  0.69  0.81
    """
    k, seed, known = check_positive_int("k", k), as_seed(random_state), as_criterion(criterion)
    common, vocabulary, bias, most_biased, notes = _former_bias(
        model, original, known, n_words, preprocessors
    )
    vectors = common.vectors(-1, vocabulary)
    groups = [vectors[own] for own in most_biased]
    tests = [("clusters", "", cluster_test(groups, random_state=seed), notes)]
    for kernel in ("rbf", "linear"):
        test = classification_test(groups, kernel=kernel, random_state=seed)
        tests.append((f"classification ({kernel})", "", test, notes))
    # Two groups mirror each other.
    n_classes = len(known.class_names)
    looked_at = known.class_names[: 1 if n_classes == 2 else None]
    rows, on_words = np.arange(len(bias))[: n_words * n_classes], list(notes)
    if words is not None:
        asked = common.find(check_word_set("words", words))
        rows = np.flatnonzero(np.isin(vocabulary, asked))
        on_words.append(f"{len(rows)} of {len(asked)} words are neutral and frequent")
    if k >= len(bias):
        k = len(bias) - 1
        on_words.append(f"{k} neighbours, because there are few words")
    near, _ = nearest_neighbors(vectors, vectors[rows], k, exclude=rows)
    belongs = members(bias)
    for group, name in enumerate(looked_at):
        exchanged = neighborhoods(near, belongs[:, group], bias[:, group], rows)
        test = correlation_test(exchanged, len(bias), random_state=seed)
        tests.append(("neighbours", name, test, on_words))
    if original is not None:
        after = np.zeros((len(rows), bias.shape[1]))
        try:
            axes = _axes(model, known, preprocessors)
            after = without_noise(_bias(common, 1, axes, vocabulary[rows]), model.dtype)
            why = "" if after.any() else "the projections are zero except for rounding errors"
        except ValueError as error:
            why = str(error)
        for group, name in enumerate(looked_at):
            test = projection_test(bias[rows, group], after[:, group], random_state=seed)
            test = dataclasses.replace(test, nan_reason=why or test.nan_reason)
            tests.append(("projections", name, test, on_words))
    records = []
    for *names, test, noted in tests:
        facts = test.value, test.chance, *test.interval, test.p_value, test.n_words
        records.append((*names, *facts, "; ".join(filter(None, [test.nan_reason, *noted]))))
    return pd.DataFrame(records, columns=_COLUMNS)


def _former_bias(
    model: WordEmbeddingModel,
    original: WordEmbeddingModel | None,
    criterion: Criterion,
    n_words: int,
    preprocessors: Preprocessors | None,
) -> tuple[CommonWords, Rows, Vectors, list[Rows], list[str]]:
    """Find frequent neutral words of both models, and the most biased ones of the first model.

    Returns the common words, the numbers of the neutral ones, their biases, for each group the
    positions of those most biased towards it, without overlap, and notes.
    """
    models = [model] if original is None else [original, model]
    for each in models:
        check_model(each)
        each.whole_table("a recovery test")
    common, notes = CommonWords(models), list[str]()
    if n_lost := len(models[0].vocab) - len(common):
        notes.append(f"{n_lost:,} words of {models[0].name} are not in {models[-1].name}")
    own = {*criterion.specific_words, *criterion.representatives}
    own |= every_form(own, preprocessors)
    vocabulary = plain_words(common, own, notes)
    bias = _bias(common, 0, _axes(models[0], criterion, preprocessors), vocabulary)
    belongs, n_groups = members(bias), bias.shape[1]
    wanted = check_positive_int("n_words", n_words)
    per_group = int(min(wanted, len(bias) // (2 * n_groups), belongs.sum(axis=0).min()))
    if per_group < _FEWEST_WORDS:
        raise ValueError(
            f"each group needs at least {_FEWEST_WORDS} words biased towards it; of {len(bias)} "
            f"candidates, the groups have {belongs.sum(axis=0).tolist()}. Use a model with more "
            "words."
        )
    if per_group < wanted:
        notes.append(f"{per_group} words per group, from {len(bias):,} candidates")
    order = np.argsort(np.where(belongs, -bias, math.inf), axis=0, kind="stable")
    return common, vocabulary, bias, list(order[:per_group].T), notes


def _axes(
    model: WordEmbeddingModel, criterion: Criterion, preprocessors: Preprocessors | None
) -> Vectors:
    """Return the matrix of shape (n_groups, dim) that maps unit vectors to biases."""
    if len(criterion.class_names) > 2:
        return bias_directions(model, criterion, preprocessors=preprocessors).towards
    known = look_up(model, criterion.representatives, preprocessors)
    if len(known.words) < 2:
        raise ValueError(
            f"{model.name} lacks at least one of {', '.join(criterion.representatives)}, the words "
            "that represent the groups. Choose others: Criterion(..., representatives=[...])."
        )
    first, second = unit_rows(known.vectors)
    return np.stack([first - second, second - first])


def _bias(common: CommonWords, model: int, axes: Vectors, numbers: Rows) -> Vectors:
    bias = np.empty((len(numbers), len(axes)))
    for part in common.blocks(len(numbers)):
        bias[part] = unit("words", common.vectors(model, numbers[part])) @ axes.T
    return bias


def cluster_map(
    model: WordEmbeddingModel,
    criterion: CriterionLike = "gender",
    *,
    original: WordEmbeddingModel | None = None,
    n_words: int = 250,
    method: MapMethod = "t-sne",
    random_state: int | None = 0,
    preprocessors: Preprocessors | None = None,
) -> pd.DataFrame:
    """Map the words with the largest bias to two dimensions, with the cluster of each word.

    Parameters
    ----------
    model, criterion, original, n_words : optional
        As in :func:`recovery_tests`, with 250 words per group, or fewer in a small vocabulary.
    method : {'pca', 't-sne', 'umap'}, default='t-sne'
        Method of the map. Clusters are computed in the full space.
    random_state, preprocessors : optional
        As in :func:`recovery_tests`; the seed also applies to UMAP.

    Returns
    -------
    pandas.DataFrame
        `word`, `x`, `y`, `group` (of its largest bias in the original model) and `cluster` (the
        group matched with its k-means cluster). The share of rows in which they agree is `value` of
        :func:`wefe.metrics.cluster_test`. Use :func:`wefe.plotting.plot_clusters` to draw the map.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> table = cluster_map(load_test_model(), n_words=50, method="pca")
    >>> list(table), float((table["group"] == table["cluster"]).mean())
    (['word', 'x', 'y', 'group', 'cluster'], 0.99)
    """
    known, seed = as_criterion(criterion), as_seed(random_state)
    common, vocabulary, _, groups, _ = _former_bias(model, original, known, n_words, preprocessors)
    numbers = vocabulary[np.concatenate(groups)]
    vectors = common.vectors(-1, numbers)
    points = in_two_dimensions(vectors, method, seed)
    names = np.array(known.class_names, dtype=object)
    table = pd.DataFrame(
        {
            "word": bare_words(model, [common.words[number] for number in numbers]),
            "x": points[:, 0],
            "y": points[:, 1],
            "group": np.repeat(names, len(groups[0])),
            "cluster": names[clustered(np.split(vectors, len(groups)), seed)[1]],
        }
    )
    table.attrs = {"model": model.name, "criterion": known.name, "groups": list(names)}
    table.attrs["method"] = METHODS[usable_method(method, len(table))]
    return table
