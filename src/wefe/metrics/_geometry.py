"""Vectors, unit vectors and associations: what the metrics have in common."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from wefe._wordset import Vectors, Weights, WordSet, as_vectors, unit, word_sets

__all__ = ["Vectors", "as_vectors", "unit"]

# What is shorter than this, beside unit vectors, is rounding noise and has no direction.
ZERO_LENGTH = 1e-12


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

    Notes
    -----
    The largest possible value is the distance of the means of the unit vectors of `a` and `b`. It
    differs between models; :func:`same_signed` divides by it.

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


def by_word(words: WordSet, values: Vectors) -> dict[str, float]:
    """Return the value of each word."""
    return dict(zip(words.words, values.tolist(), strict=True))


def values_by_word(words: WordSet, columns: Mapping[str, Vectors]) -> dict[str, dict[str, float]]:
    """Return what columns of values say of each word."""
    rows = np.stack(list(columns.values()), axis=1).tolist()
    by_row = [dict(zip(columns, row, strict=True)) for row in rows]
    return dict(zip(words.words, by_row, strict=True))


def unit_rows(vectors: Vectors) -> Vectors:
    """Return vectors with rows of unit length; NaN where there is no direction."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = np.nan
    return np.asarray(vectors / lengths)


def distances(part: WordSet, words: WordSet) -> Vectors:
    """Distance of the mean vector of each case from each word: shape (n_cases, n_words)."""
    from scipy.spatial.distance import cdist  # `import wefe.metrics` stays quick

    if part.weights.n_cases == 1:
        return np.asarray(cdist(part.mean_vector(), words.vectors))
    # By products of words, which are fewer than dimensions times cases.
    squares = part.weights.sums_by_case(part.weights.sums(part.vectors @ part.vectors.T))
    both = (squares / part.total**2)[:, None] + (words.vectors**2).sum(axis=1)
    between = both - 2 * part.average(part.vectors @ words.vectors.T)
    result = np.sqrt(np.maximum(between, 0))
    # Too many digits cancel where a mean is near to a word.
    near = (between < 1e-4 * both).any(axis=1)
    if near.any():
        result[near] = cdist(part.mean_vector()[near], words.vectors)
    return np.asarray(result)


def mean_cosines(part: WordSet, words: WordSet) -> Vectors:
    """Cosine of the mean vector of each case with each word: (n_cases, n_words); NaN if it is 0."""
    if part.weights.n_cases == 1:
        return unit_rows(part.mean_vector()) @ words.unit.T
    # By products of words, which are fewer than dimensions times cases.
    squares = part.weights.sums_by_case(part.weights.sums(part.vectors @ part.vectors.T))
    lengths = np.sqrt(np.where(squares > 0, squares, np.nan)) / part.total
    return part.average(part.vectors @ words.unit.T) / lengths[:, None]


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
    """Ranks from 1, with their mean for ties, of words that count as often as weights say.

    Shapes are those of `values`, (n_words,) or (n_cases or 1, n_words), and of `weights`,
    (n_cases or 1, n_words). Values no further apart than `tolerance` tie.

    Examples
    --------
    >>> average_ranks(np.array([0.3, 0.1, 0.3]))
    array([2.5, 1. , 2.5])
    """
    rows = np.atleast_2d(values)
    order, groups = np.argsort(rows, axis=1), np.zeros(rows.shape, dtype=np.intp)
    gaps = np.diff(np.take_along_axis(rows, order, axis=1), axis=1) > tolerance
    np.put_along_axis(groups, order[:, 1:], np.cumsum(gaps, axis=1), axis=1)
    groups, counts = np.broadcast_arrays(groups, np.ones(1) if weights is None else weights)
    cells = groups + counts.shape[1] * np.arange(len(counts))[:, None]
    sizes = np.bincount(cells.ravel(), counts.ravel(), counts.size).reshape(counts.shape)
    middles = np.cumsum(sizes, axis=1) - (sizes - 1) / 2
    ranks = np.take_along_axis(middles, groups, axis=1)
    return ranks.reshape(values.shape) if weights is None else ranks


def spearman(x: Vectors, y: Vectors, weights: Weights, tolerance: float = 0.0) -> Vectors:
    """Spearman's correlation in each case of the weights; NaN where values are constant or NaN.

    Both have shape (n_cases or 1, n_words); values no further apart than `tolerance` tie.
    """
    w = weights.matrix()
    middle = (weights.totals[:, None] + 1) / 2
    one, other = (average_ranks(each, w, tolerance) - middle for each in (x, y))
    squares = (w * one**2).sum(axis=1) * (w * other**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = np.clip((w * one * other).sum(axis=1) / np.sqrt(squares), -1.0, 1.0)
    return np.where(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1), np.nan, scores)
