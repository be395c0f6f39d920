"""Vectors, unit vectors and associations: what the metrics have in common."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wefe._wordset import Vectors, Weights, WordSet, as_vectors, unit, word_sets

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


def unit_rows(vectors: Vectors) -> Vectors:
    """Return vectors with rows of unit length; NaN where there is no direction."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = np.nan
    return np.asarray(vectors / lengths)


def distances(points: Vectors, words: Vectors) -> Vectors:
    """Euclidean distance of each point to each word: shape (n_points, n_words).

    One matrix product, but for those that are so near that too many digits would cancel.
    """
    of_points, of_words = (np.einsum("ij,ij->i", each, each) for each in (points, words))
    both = of_points[:, None] + of_words
    squares = both - 2 * (points @ words.T)
    result = np.sqrt(np.maximum(squares, 0))
    for point, word in zip(*np.nonzero(squares < 1e-4 * both), strict=True):
        result[point, word] = np.linalg.norm(points[point] - words[word])
    return np.asarray(result)


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
    rows, numbers = np.broadcast_arrays(
        *map(np.atleast_2d, (values, 1.0 if weights is None else weights))
    )
    order = np.argsort(rows, axis=1)
    ordered, counts = (np.take_along_axis(each, order, axis=1) for each in (rows, numbers))
    apart, edge = np.diff(ordered, axis=1) > tolerance, np.ones((len(rows), 1), dtype=bool)
    until = np.cumsum(counts, axis=1)
    before = np.where(np.hstack([edge, apart]), until - counts, 0)
    before = np.maximum.accumulate(before, axis=1)
    until = np.where(np.hstack([apart, edge]), until, np.inf)
    until = np.minimum.accumulate(until[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(rows.shape)
    np.put_along_axis(ranks, order, (before + until + 1) / 2, axis=1)
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
    size = max(1, _BLOCK_NUMBERS // x.shape[1])
    for start in range(0, n_cases, size):
        part = slice(start, start + size)
        w = weights.matrix(part if weights.n_cases > 1 else slice(None))
        centre = (w.sum(axis=1, keepdims=True) + 1) / 2
        one, other = (
            average_ranks(each[part] if len(each) > 1 else each, w, tolerance) - centre
            for each in (x, y)
        )
        squares = (w * one**2).sum(axis=1) * (w * other**2).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            scores[part] = (w * one * other).sum(axis=1) / np.sqrt(squares)
    undefined = np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1)
    return np.where(undefined, np.nan, np.clip(scores, -1.0, 1.0))
