"""Vectors, unit vectors and associations: what the metrics have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from wefe._wordset import Nested, Ones, Vectors, Weights, WordSet, as_vectors, unit, word_sets

__all__ = ["Vectors", "as_vectors", "unit"]

# What is shorter than this, beside unit vectors, is rounding noise and has no direction.
ZERO_LENGTH = 1e-12
# Numbers of a matrix of cases x words that is ranked at once.
_BLOCK_NUMBERS = 1 << 16


def associations(words: WordSet, a: WordSet, b: WordSet) -> Vectors:
    """Association s(w, A, B) of each word in each case of the weights: (n_cases, n_words)."""
    return a.mean_cosine(words) - b.mean_cosine(words)


def association(w: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike) -> Vectors:
    """Association s(w, A, B) of each word with one attribute set rather than the other.

    Parameters
    ----------
    w : array-like of shape (n_words, dim)
        Words.
    a, b : array-like of shape (n_a, dim) and (n_b, dim)
        Attribute sets.

    Returns
    -------
    ndarray of shape (n_words,)
        Mean cosine with `a` minus mean cosine with `b`, in [-2, 2]; 0 if neither is nearer.

    Raises
    ------
    ValueError
        If an array is empty, not finite or has a zero row, or the dimensions do not fit.

    See Also
    --------
    wefe.metrics.weat : its sums over two target sets.
    wefe.metrics.same_signed : the same over the largest value that it could have.

    Notes
    -----
    No word can have more than the distance of the means of the unit vectors of `a` and `b`, which
    differs between models: values of two models cannot be compared as they are.

    References
    ----------
    Caliskan, Bryson and Narayanan, Science 356, 2017; the *individual bias* of Schröder et al.

    Examples
    --------
    >>> association([[1.0, 0.0], [1.0, 1.0]], [[1.0, 0.0]], [[0.0, 2.0]])
    array([1., 0.])
    """
    words, first, second = word_sets(w=w, a=a, b=b)
    return np.asarray(associations(words, first, second)[0])


def values_by_word(words: WordSet, columns: Mapping[str, Vectors]) -> dict[str, dict[str, float]]:
    """Return what columns of values say of each word."""
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return {
        w: dict(zip(columns, row, strict=True)) for w, row in zip(words.words, rows, strict=True)
    }


def unit_rows(vectors: Vectors) -> Vectors:
    """Return vectors with rows of unit length; NaN where there is no direction."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = np.nan
    return np.asarray(vectors / lengths)


def distances(part: WordSet, words: WordSet) -> Vectors:
    """Distance of the mean vector of each case from each word: shape (n_cases, n_words).

    By products, but for those that are so near that too many digits would cancel.
    """
    of_words = np.einsum("...ij,...ij->...i", words.vectors, words.vectors)
    both = part.mean_length()[:, None] ** 2 + of_words
    squares = both - 2 * part.mean_dot(words)
    result = np.sqrt(np.maximum(squares, 0))
    near = squares < 1e-4 * both
    means = part.mean_vector() if near.any() else result
    for case, word in zip(*np.nonzero(near), strict=True):
        vectors = words.vectors if words.vectors.ndim == 2 else words.vectors[case]
        result[case, word] = np.linalg.norm(means[case] - vectors[word])
    return np.asarray(result)


def mean_cosines(part: WordSet, words: WordSet) -> Vectors:
    """Cosine of the mean vector of each case with each word: (n_cases, n_words); NaN if it is 0."""
    lengths = part.mean_length()[:, None]
    return part.mean_dot(words) / np.where(lengths > 0, lengths, math.nan) / words.lengths


def cosine(u: Vectors, v: Vectors) -> float:
    """Cosine of two vectors of shape (dim,); nan if one of them is zero."""
    lengths = float(np.linalg.norm(u) * np.linalg.norm(v))
    return float(u @ v) / lengths if lengths > 0 else float("nan")


def pearson(x: Vectors, y: Vectors) -> float:
    """Pearson correlation of two vectors; nan if one of them is constant."""
    return cosine(x - x.mean(), y - y.mean())


def average_ranks(
    values: Vectors, weights: Vectors | None = None, tolerance: float = 0.0
) -> Vectors:
    """Ranks from 1 of words that count once, several times, or not at all.

    Ties share the mean of their ranks; values no further apart than `tolerance` tie.

    Parameters
    ----------
    values : ndarray of shape (n_words,) or (n_cases or 1, n_words)
        What is ranked.
    weights : ndarray of shape (n_cases or 1, n_words), optional
        How often each word counts in each case; by default once.
    tolerance : float, default=0.0
        Largest distance of values that tie.

    Returns
    -------
    ndarray of shape (n_words,) or (n_cases, n_words)

    Examples
    --------
    >>> average_ranks(np.array([0.3, 0.1, 0.3]))
    array([2.5, 1. , 2.5])
    """
    rows = np.atleast_2d(values)
    order = np.argsort(rows, axis=1)
    begins = np.diff(np.take_along_axis(rows, order, axis=1), axis=1) > tolerance
    until = np.arange(1.0, rows.shape[1] + 1)[None]
    counts = np.ones((1, 1))
    if weights is not None:
        # One order for all cases is picked faster as columns.
        counts = (
            weights[:, order[0]]
            if len(order) == 1
            else np.take_along_axis(np.broadcast_to(weights, order.shape), order, axis=1)
        )
        until = np.cumsum(counts, axis=1)
    before = until - counts
    if not begins.all():
        edge = np.ones((len(begins), 1), dtype=bool)
        before = np.where(np.hstack([edge, begins]), before, 0)
        before = np.maximum.accumulate(before, axis=1)
        until = np.where(np.hstack([begins, edge]), until, np.inf)
        until = np.minimum.accumulate(until[:, ::-1], axis=1)[:, ::-1]
    middle = (before + until + 1) / 2
    ranks = np.empty((max(len(order), len(middle)), rows.shape[1]))
    if len(order) == 1:
        ranks[:, order[0]] = middle
    else:
        np.put_along_axis(ranks, order, np.broadcast_to(middle, ranks.shape), axis=1)
    return ranks.reshape(np.shape(values) if weights is None else ranks.shape)


def spearman(x: Vectors, y: Vectors, weights: Weights, tolerance: float = 0.0) -> Vectors:
    """Spearman's correlation of two similarities of words, in each case of the weights.

    Parameters
    ----------
    x, y : ndarray of shape (n_cases or 1, n_words)
        What is ranked.
    weights : Weights
        How often each word counts.
    tolerance : float, default=0.0
        Largest distance of values that tie.

    Returns
    -------
    ndarray of shape (n_cases,)
        In [-1, 1]; NaN where a similarity is constant or NaN.
    """
    n_cases = max(len(x), len(y), weights.n_cases)
    scores = np.empty(n_cases)
    if (
        isinstance(weights, Nested)
        and len(x) == len(y) == 1
        and all(_differ(each[0]) > tolerance for each in (x, y))
    ):
        return _spearman_of_subsets(x[0], y[0], weights)
    if len(x) == len(y) == 1:
        # Sorted once: every case has its words in this order.
        order = np.argsort(x[0])
        x, y = x[:, order], y[:, order]
    size = max(1, _BLOCK_NUMBERS // x.shape[1])
    for start in range(0, n_cases, size):
        part = slice(start, start + size)
        w = None if isinstance(weights, Ones) else weights.matrix(part)
        n = weights.totals[:1] if w is None else w.sum(axis=1)
        if w is not None and len(x) == len(y) == 1:
            w = w[:, order]
        one, other = (
            average_ranks(each[part] if len(each) > 1 else each, w, tolerance)
            - (n[:, None] + 1) / 2
            for each in (x, y)
        )
        weighted = one if w is None else w * one
        squares = _row_products(weighted, one)
        squares = squares * _row_products(other if w is None else w * other, other)
        with np.errstate(invalid="ignore", divide="ignore"):
            scores[part] = _row_products(weighted, other) / np.sqrt(squares)
    undefined = np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1)
    return np.where(undefined, np.nan, np.clip(scores, -1.0, 1.0))


def _differ(values: Vectors) -> float:
    """Smallest difference of two values; NaN if one of them is NaN."""
    return float(np.diff(np.sort(values)).min(initial=np.inf))


def _spearman_of_subsets(x: Vectors, y: Vectors, subsets: Nested) -> Vectors:
    """Correlate in each subset of words without ties: ranks are 1 to n, in either order.

    1 - 6 sum(d^2) / (n (n^2 - 1)), with sum(d^2) = 2 (sum(i^2) - sum(i r_i)).
    """
    by_x, by_y = np.argsort(x), np.argsort(y)
    place_in_y = np.argsort(by_y)[by_x]
    n = subsets.totals
    products = np.empty(len(n))
    for case in range(len(n)):
        included = subsets.row(case)
        ranks = np.cumsum(included[by_y])[place_in_y[included[by_x]]]
        products[case] = np.arange(1.0, len(ranks) + 1) @ ranks.astype(np.float64)
    squares = n * (n + 1) * (2 * n + 1) / 6
    with np.errstate(invalid="ignore"):
        return np.asarray(np.clip(1 - 12 * (squares - products) / (n * (n * n - 1)), -1.0, 1.0))


def _row_products(a: Vectors, b: Vectors) -> Vectors:
    """Inner products of rows, of which one may stand for all."""
    return np.asarray(np.einsum("ij,ij->i", *np.broadcast_arrays(a, b)))
