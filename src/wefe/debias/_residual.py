"""What remains after a mitigation: can the former bias be recovered from the vectors?

The tests of H. Gonen and Y. Goldberg. Lipstick on a Pig: Debiasing Methods Cover up Systematic
Gender Biases in Word Embeddings But do not Remove Them. NAACL-HLT 2019.
"""

from __future__ import annotations

import logging
import math
import string
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice, check_positive_int
from wefe.datasets import Criterion
from wefe.debias._common_words import FREQUENT, CommonWords, Row
from wefe.debias._uncertainty import (
    Errors,
    Numbers,
    left_out,
    paired_errors,
    paired_mean_errors,
)
from wefe.metrics._geometry import as_vectors, association, pearson, unit
from wefe.models._neighbors import nearest_neighbors
from wefe.models._passes import Rows, forms

logger = logging.getLogger(__name__)

CLUSTERS = "cluster alignment"
CLASSIFICATION = "classification accuracy"
LINEAR = "linear classification accuracy"
NEIGHBORS = "neighbour correlation"
PROJECTIONS = "projection correlation"
_MEASURES = (CLUSTERS, CLASSIFICATION, LINEAR, NEIGHBORS, PROJECTIONS)

# Of the words chosen, the share that the classifier learns from.
_TRAIN_SHARE = 0.2
_LONGEST_WORD = 20
# A classifier learns from one word per side, and is tested on another.
_FEWEST_WORDS = 2
_NO_WORDS = set(string.digits + string.punctuation)

Pair = tuple[npt.ArrayLike, npt.ArrayLike]


def bias_by_projection(
    vectors: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike
) -> Numbers:
    """Bias of words by projection: cos(w, first) - mean cos(w, second).

    Parameters
    ----------
    vectors : array-like of shape (n_words, dim)
        Words; in the tests below those of the *original* model.
    first, second : array-like of shape (dim,) or (n_words, dim)
        The word that stands for each class, such as 'she' and 'he'; or several, of which the mean
        of the cosines counts.

    Returns
    -------
    ndarray of shape (n_words,)
        In [-2, 2]; positive where a word is nearer to `first`.

    References
    ----------
    Gonen and Goldberg, NAACL-HLT 2019.

    Examples
    --------
    >>> bias_by_projection([[3.0, 4.0], [1.0, 0.0]], first=[2.0, 0.0], second=[0.0, 1.0])
    array([-0.2,  1. ])
    """
    return association(vectors, np.atleast_2d(first), np.atleast_2d(second))


def cluster_alignment(
    first: npt.ArrayLike, second: npt.ArrayLike, *, random_state: int = 0
) -> float:
    """Do the words of two classes fall into two clusters of their own?

    Parameters
    ----------
    first, second : array-like of shape (n_words, dim)
        Vectors, in the model to be judged, of the words that were most biased towards each class
        in the original model. They are scaled to unit length.
    random_state : int, default=0
        Seed of k-means, which starts ten times.

    Returns
    -------
    float
        max(accuracy, 1 - accuracy) of two clusters as classes, in [0.5, 1]: 1 means that the
        clusters are the former classes. By chance it is about 0.5 + 1 / sqrt(2 pi n) for n words,
        as the better of two readings counts.

    References
    ----------
    Gonen and Goldberg, NAACL-HLT 2019.

    Examples
    --------
    >>> cluster_alignment([[1.0, 0.1], [1.0, 0.0]], [[0.1, 1.0], [0.0, 1.0]])
    1.0
    """
    return float(_in_own_cluster(first, second, random_state).mean())


def classification_accuracy(
    train: Pair,
    test: Pair,
    *,
    gamma: str | float = "scale",
    kernel: Literal["rbf", "linear"] = "rbf",
) -> float:
    """Can a classifier learn the former class of words from their vectors?

    Parameters
    ----------
    train, test : pair of array-like of shape (n_words, dim)
        Vectors, in the model to be judged, of words that were biased towards the first and towards
        the second class in the original model. They are scaled to unit length.
    gamma : {'scale', 'auto'} or float, default='scale'
        Width of the radial kernel of scikit-learn's support vector machine ``SVC(C=1)``.
    kernel : {'rbf', 'linear'}, default='rbf'
        'rbf' as published; 'linear' for what a linear model can read.

    Returns
    -------
    float
        Share of the words of `test` that are recognised, in [0, 1]: 0.5 is chance (where the
        classes are of equal size), 1 means that the class can be recovered.

    References
    ----------
    Gonen and Goldberg, NAACL-HLT 2019.

    Examples
    --------
    >>> train = [[1.0, 0.1], [1.0, 0.0]], [[0.1, 1.0], [0.0, 1.0]]
    >>> classification_accuracy(train, test=([[1.0, 0.2]], [[0.2, 1.0]]))
    1.0
    """
    check_choice("kernel", kernel, ("rbf", "linear"))
    return float(_recognised(train, test, gamma, kernel).mean())


def bias_by_neighbors(
    vectors: npt.ArrayLike, bias: npt.ArrayLike, rows: npt.ArrayLike, k: int = 100
) -> Numbers:
    """Share of words of the first class among the nearest neighbours of words.

    Parameters
    ----------
    vectors : array-like of shape (n_words, dim)
        The model to be judged.
    bias : array-like of shape (n_words,)
        :func:`bias_by_projection` of the same words in the *original* model: words above 0 belong
        to the first class.
    rows : array-like of int
        The words whose neighbours count. No word is its own neighbour.
    k : int, default=100
        Number of neighbours.

    Returns
    -------
    ndarray of shape (len(rows),)
        Shares, in [0, 1].

    References
    ----------
    Gonen and Goldberg, NAACL-HLT 2019.

    Examples
    --------
    >>> vectors = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> bias_by_neighbors(vectors, bias=[1.0, 0.9, -1.0, -0.9], rows=[0, 2], k=1)
    array([1., 0.])
    """
    array, numbers = as_vectors("vectors", vectors), np.asarray(bias, dtype=np.float64)
    return _shares(array, numbers, np.asarray(rows, dtype=np.intp), check_positive_int("k", k))


def neighbor_correlation(
    vectors: npt.ArrayLike, bias: npt.ArrayLike, rows: npt.ArrayLike, k: int = 100
) -> float:
    """Does the former bias of words show in their neighbours?

    Parameters
    ----------
    vectors, bias, rows, k
        See :func:`bias_by_neighbors`.

    Returns
    -------
    float
        Pearson correlation, over the words of `rows`, between :func:`bias_by_neighbors` in the
        model to be judged and `bias` in the original one, in [-1, 1]; 0 means that neighbours tell
        nothing. nan if one of the two is the same for all words.

    References
    ----------
    Gonen and Goldberg, NAACL-HLT 2019.

    Examples
    --------
    >>> vectors = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> neighbor_correlation(vectors, bias=[1.0, 0.9, -1.0, -0.9], rows=[0, 1, 2, 3], k=1)
    0.9986178
    """
    chosen = np.asarray(rows, dtype=np.intp)
    shares = bias_by_neighbors(vectors, bias, chosen, k)
    return pearson(shares, np.asarray(bias, dtype=np.float64)[chosen])


def _in_own_cluster(
    first: npt.ArrayLike, second: npt.ArrayLike, random_state: int
) -> npt.NDArray[np.bool_]:
    from sklearn.cluster import KMeans

    sides = unit("first", first), unit("second", second)
    k_means = KMeans(n_clusters=2, n_init=10, random_state=random_state)
    clusters = k_means.fit_predict(np.concatenate(sides))
    own = clusters == np.repeat([0, 1], [len(side) for side in sides])
    return np.asarray(own if own.mean() >= 0.5 else ~own)


def _recognised(
    train: Pair, test: Pair, gamma: str | float = "scale", kernel: str = "rbf"
) -> npt.NDArray[np.bool_]:
    from sklearn.svm import SVC

    (x, y), (x_test, y_test) = (
        (
            np.concatenate([unit(f"{name}[{i}]", side) for i, side in enumerate(pair)]),
            np.repeat([0, 1], [len(side) for side in map(np.asarray, pair)]),
        )
        for name, pair in (("train", train), ("test", test))
    )
    classifier = SVC(kernel=kernel, gamma=gamma, C=1.0).fit(x, y)
    return np.asarray(classifier.predict(x_test) == y_test)


def _shares(vectors: npt.NDArray[np.floating], bias: Numbers, rows: Rows, k: int) -> Numbers:
    near, _ = nearest_neighbors(vectors, vectors[rows], k, exclude=rows)
    return np.asarray((bias[near] > 0).mean(axis=1))


class _Contrast(NamedTuple):
    """A class and what it is told from, and the words that are looked at."""

    subject: str
    # Numbers of the words that stand for the class, and for the other or others.
    towards: tuple[Rows, Rows]
    # Numbers of all words that may be neighbours, and their bias in the original model.
    vocabulary: Rows
    bias: Numbers
    # Positions in `vocabulary`: the most biased words on either side, and those whose neighbours
    # are looked at.
    first: Rows
    second: Rows
    rows: Rows


def residual_rows(
    common: CommonWords,
    criterion: Criterion,
    words: Sequence[str] | None,
    ignore: Sequence[str],
    n_words: int,
    k: int,
    random_state: int,
) -> list[Row]:
    """Run the four tests on all models; of more than two classes, for each against the others.

    Parameters
    ----------
    common : CommonWords
        The words and the models, the original one first.
    criterion : Criterion
        The classes.
    words, ignore, n_words, k
        See :func:`wefe.debias.compare`.
    random_state : int
        Seed of the clusters, and of which words the classifier learns from.
    """
    names = [model.name for model in common.models[1:]]
    subjects = [criterion.name]
    if criterion.n_classes > 2:
        subjects = [f"{criterion.name}: {name} or not" for name in criterion.class_names]
    notes: list[str] = []
    left_out_words = {*criterion.specific_words, *criterion.representatives, *ignore}
    vocabulary = common.usable(_plain_words(common, left_out_words, notes))
    per_side = min(n_words, len(vocabulary) // 4)
    nothing = _lacking(common, criterion)
    if not nothing and per_side < _FEWEST_WORDS:
        nothing = f"only {len(vocabulary)} words are left to choose from"
    if nothing:
        return [
            Row("residual", measure, subject, name, math.nan, math.nan, note=nothing)
            for subject in subjects
            for measure in _MEASURES
            for name in names
        ]
    if per_side < n_words:
        notes.append(f"{per_side} words per side, a quarter of the {len(vocabulary)} there are")
    neighbor_notes = list(notes)
    asked = vocabulary[: 2 * n_words]
    if words is not None:
        numbers = map(common.find, forms(common.models[0], words))
        known = [number for number in numbers if number is not None]
        asked = common.usable(np.unique(np.array(known, dtype=np.intp)))
        n_lost = len(set(words)) - len(asked)
        if n_lost:
            neighbor_notes.append(f"{n_lost} of {len(set(words))} words not found")
    everything = np.concatenate([vocabulary, np.setdiff1d(asked, vocabulary)])
    k_possible = min(k, len(everything) - 1)
    if k_possible < k:
        neighbor_notes.append(f"{k_possible} neighbours, as there are few words")
    found = map(common.find, forms(common.models[0], criterion.representatives))
    stand_for = np.array(list(found), dtype=np.intp)
    rows = []
    for position, subject in enumerate(subjects):
        towards = stand_for[[position]], np.delete(stand_for, position)
        bias = _projections(common, 0, towards, everything)
        order = np.argsort(-bias[: len(vocabulary)], kind="stable")
        contrast = _Contrast(
            *(subject, towards, everything, bias, order[:per_side], order[::-1][:per_side]),
            np.flatnonzero(np.isin(everything, asked)),
        )
        before, *after = [
            _look(common, number, contrast, k_possible, random_state)
            for number in range(len(common.models))
        ]
        for measure in _MEASURES:
            said = neighbor_notes if measure in (NEIGHBORS, PROJECTIONS) else notes
            for name, now in zip(names, after, strict=True):
                rows.append(_row(measure, name, before, now, contrast, said))
    return rows


def _lacking(common: CommonWords, criterion: Criterion) -> str:
    lost = [
        word
        for word, form in zip(
            criterion.representatives,
            forms(common.models[0], criterion.representatives),
            strict=True,
        )
        if (number := common.find(form)) is None or not len(common.usable(np.array([number])))
    ]
    what = ", ".join(lost)
    return f"no vector with a direction for {what}, which represent a class" if lost else ""


def _plain_words(common: CommonWords, left_out_words: set[str], notes: list[str]) -> Rows:
    """Return frequent words, lower case, short, without digits and punctuation, as published."""
    prefix = common.models[0].vocab_prefix or ""
    plain, lower = [], []
    for number, form in enumerate(common.words[:FREQUENT]):
        word = form[len(prefix) :]
        if (
            not form.startswith(prefix)
            or word in left_out_words
            or len(word) >= _LONGEST_WORD
            or not _NO_WORDS.isdisjoint(word)
        ):
            continue
        plain.append(number)
        if word == word.lower():
            lower.append(number)
    # A vocabulary in upper case has no lower-case words to prefer.
    if len(lower) * 10 < len(plain):
        notes.append("words of any case, as the vocabulary has hardly any in lower case")
        lower = plain
    return np.array(lower, dtype=np.intp)


def _projections(
    common: CommonWords, model: int, towards: tuple[Rows, Rows], numbers: Rows
) -> Numbers:
    first, second = (common.vectors(model, part) for part in towards)
    bias = np.empty(len(numbers))
    for part in common.blocks(len(numbers)):
        bias[part] = bias_by_projection(common.vectors(model, numbers[part]), first, second)
    return bias


class _Seen(NamedTuple):
    """What one model shows, word by word."""

    own_cluster: npt.NDArray[np.bool_]
    recognised: npt.NDArray[np.bool_]
    recognised_linearly: npt.NDArray[np.bool_]
    shares: Numbers
    projections: Numbers
    # Smaller projections are rounding.
    noise: float


def _look(
    common: CommonWords, number: int, contrast: _Contrast, k: int, random_state: int
) -> _Seen:
    vectors = common.vectors(number, contrast.vocabulary)
    first, second = vectors[contrast.first], vectors[contrast.second]
    # The same words in every model.
    order = np.random.default_rng(random_state).permutation(len(first))
    n_train = max(1, round(_TRAIN_SHARE * len(first)))
    learnt, tested = order[:n_train], order[n_train:]
    parts = (first[learnt], second[learnt]), (first[tested], second[tested])
    return _Seen(
        _in_own_cluster(first, second, random_state),
        _recognised(*parts),
        _recognised(*parts, kernel="linear"),
        _shares(vectors, contrast.bias, contrast.rows, k),
        _projections(common, number, contrast.towards, contrast.vocabulary[contrast.rows]),
        16 * float(np.finfo(common.models[number].dtype).eps),
    )


def _row(
    measure: str,
    name: str,
    before: _Seen,
    now: _Seen,
    contrast: _Contrast,
    notes: Sequence[str],
) -> Row:
    notes = list(notes)
    if measure in (CLUSTERS, CLASSIFICATION, LINEAR):
        was, is_now = (
            {
                CLUSTERS: seen.own_cluster,
                CLASSIFICATION: seen.recognised,
                LINEAR: seen.recognised_linearly,
            }[measure]
            for seen in (before, now)
        )
        scores = float(was.mean()), float(is_now.mean())
        errors, n = paired_mean_errors(was, is_now), len(was)
        # The better of two readings counts: 1/2 + E|X - 1/2| for X of variance 1 / (4 n).
        chance = 0.5 + (1 / math.sqrt(2 * math.pi * n) if measure == CLUSTERS else 0.0)
    else:
        bias, n, chance = contrast.bias[contrast.rows], len(contrast.rows), 0.0
        columns = [
            seen.shares if measure == NEIGHBORS else seen.projections for seen in (before, now)
        ]
        if measure == PROJECTIONS and np.abs(columns[1]).max(initial=0) <= now.noise:
            columns[1] = np.zeros(n)
            notes.append("after: nothing but rounding is left of the projections")
        scores, errors = _correlations(bias, columns)
        if any(map(math.isnan, scores)):
            notes.append("no correlation with what is the same for all words")
    return Row(
        *("residual", measure, contrast.subject, name, *scores, *errors, n, chance),
        "; ".join(notes),
    )


def _correlations(bias: Numbers, columns: Sequence[Numbers]) -> tuple[tuple[float, float], Errors]:
    def correlate(kept: Rows) -> list[float]:
        return [_pearson(column[kept], bias[kept]) for column in columns]

    before, after = correlate(np.arange(len(bias)))
    by_group = left_out(correlate, len(bias))
    if not len(by_group):
        return (before, after), Errors()
    return (before, after), paired_errors([by_group[:, 0]], [by_group[:, 1]])


def _pearson(x: Numbers, y: Numbers) -> float:
    # Of what is constant but for rounding there is no correlation.
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return pearson(x, y)
