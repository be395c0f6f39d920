"""Vectors, unit vectors and associations: mathematics that several metrics share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._wordset import Vectors, Weights, WordSet, as_vectors, unit, word_sets

Numbers: TypeAlias = npt.NDArray[Any]

__all__ = ["Vectors", "as_vectors", "unit"]

# What is shorter than this, beside unit vectors, is rounding noise and has no direction.
ZERO_LENGTH = 1e-12
# A matrix of cases x words that is ranked at once has so many numbers, but at least so many cases.
_BLOCK_NUMBERS, _BLOCK_CASES = 1 << 16, 40


def associations(words: WordSet, a: WordSet, b: WordSet) -> Vectors:
    """Association s(w, A, B) of each word in each case of the weights: (n_cases, n_words)."""
    return a.mean_cosine(words) - b.mean_cosine(words)


def association(w: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike) -> Vectors:
    """Association s(w, A, B) of each word with one attribute set rather than the other.

    Parameters
    ----------
    w, a, b : array-like of shape (n_words, dim)
        Words, first and second attribute set.

    Returns
    -------
    ndarray of shape (n_words,)
        Mean cosine with `a` minus mean cosine with `b`, in [-2, 2]; 0 if neither is nearer.
        Caliskan et al., Science 356, 2017; Schröder et al. call it *individual bias*. Its maximum
        differs between models: :class:`SAME` divides by it.

    Examples
    --------
    >>> association([[1.0, 0.0], [1.0, 1.0]], [[1.0, 0.0]], [[0.0, 2.0]])
    array([1., 0.])
    """
    words, first, second = word_sets(w=w, a=a, b=b)
    return np.asarray(associations(words, first, second)[0])


def by_word(words: WordSet, values: Vectors) -> dict[str, float]:
    return dict(zip(words.words, values.tolist(), strict=True))


def values_by_word(words: WordSet, columns: Mapping[str, Vectors]) -> dict[str, dict[str, float]]:
    rows = np.stack(list(columns.values()), axis=1).tolist()
    by_row = [dict(zip(columns, row, strict=True)) for row in rows]
    return dict(zip(words.words, by_row, strict=True))


def unit_rows(vectors: Numbers, least: npt.ArrayLike = 0.0) -> Vectors:
    """Return vectors with rows of unit length; NaN where a row is not longer than `least`."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > least, lengths, np.nan))


def row_products(one: Numbers, other: Numbers) -> Numbers:
    """Inner product of each row with that of the other matrix, or with its only row: (n_rows,)."""
    return np.asarray(np.einsum("ij,ij->i", one, other))


def _mean_dot(part: WordSet, words: WordSet) -> Vectors:
    """Inner product of the mean vector of each case with each word: (n_cases, n_words)."""
    if part.weights.n_cases == 1:
        return words._dot(part.mean_vector())
    return part._average(part.vectors @ words.vectors.T)


def _mean_length(part: WordSet) -> Vectors:
    """Length of the mean vector of each case: (n_cases, 1)."""
    if part.weights.n_cases == 1:
        return np.asarray(np.linalg.norm(part.mean_vector(), axis=1, keepdims=True))
    sums = part.weights.sums(part.vectors @ part.vectors.T)
    return (np.sqrt(np.maximum(part.sum(sums), 0.0)) / part.total)[:, None]


def distances(part: WordSet, words: WordSet) -> Vectors:
    """Distance between the mean vector of each case and each word: (n_cases, n_words)."""
    of_words = np.einsum("...ij,...ij->...i", words.vectors, words.vectors)
    both = _mean_length(part) ** 2 + of_words
    squares = both - 2 * _mean_dot(part, words)
    result = np.sqrt(np.maximum(squares, 0))
    near = squares < 1e-4 * both
    means = part.mean_vector() if near.any() else result
    for case, word in zip(*np.nonzero(near), strict=True):
        vectors = words.vectors if words.vectors.ndim == 2 else words.vectors[case]
        result[case, word] = np.linalg.norm(means[case] - vectors[word])
    return np.asarray(result)


def mean_cosines(part: WordSet, words: WordSet) -> Vectors:
    """Cosine of the mean vector of each case with each word: (n_cases, n_words); NaN for zero."""
    lengths = _mean_length(part)
    return _mean_dot(part, words) / np.where(lengths > 0, lengths, math.nan) / words.lengths


def cosine(u: Vectors, v: Vectors) -> float:
    """Cosine of two vectors of shape (dim,); nan if one of them is zero."""
    lengths = float(np.linalg.norm(u) * np.linalg.norm(v))
    return float(u @ v) / lengths if lengths > 0 else float("nan")


def pearson(x: Vectors, y: Vectors) -> float:
    return cosine(x - x.mean(), y - y.mean())


def average_ranks(values: Vectors, tolerance: float = 0.0) -> Vectors:
    """Ranks from 1 of values (n_words,) or, in each row, (n_rows, n_words); ties share their mean.

    Sorted neighbours that differ by at most `tolerance` tie.
    """
    rows = np.atleast_2d(values)
    doubled = _doubled_ranks(rows, np.ones((1, rows.shape[1])), tolerance)
    return (doubled.reshape(values.shape) + 1) / 2


def _doubled_ranks(rows: Vectors, weights: Vectors, tolerance: float) -> Vectors:
    """Twice the ranks, minus 1, of words that count as often as their weights say.

    `rows` have shape (n_cases or 1, n_words), `weights` too.
    """
    order = np.argsort(rows, axis=1)
    begins = np.diff(np.take_along_axis(rows, order, axis=1), axis=1) > tolerance
    # A common order needs no indices for each case, which is faster.
    shared = len(order) == 1
    counts = weights.take(order[0], axis=1) if shared else np.take_along_axis(weights, order, 1)
    until = np.cumsum(counts, axis=1)
    before = until - counts
    if not begins.all():
        edge = np.ones((len(begins), 1), dtype=bool)
        starts = np.where(np.hstack([edge, begins]), before, 0)
        before = np.maximum.accumulate(starts, axis=1)
        ends = np.where(np.hstack([begins, edge]), until, np.inf)
        until = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    before += until
    ranks: Vectors
    if shared:
        ranks = before.take(order[0].argsort(), axis=1)
        return ranks
    ranks = np.empty(order.shape)
    np.put_along_axis(ranks, order, before, axis=1)
    return ranks


def spearman(x: Vectors, y: Vectors, weights: Weights, tolerance: float = 0.0) -> Vectors:
    """Spearman's correlation in each case; NaN where `x` or `y` is constant or NaN.

    Both have shape (n_cases or 1, n_words); values that differ by at most `tolerance` tie.
    """
    n_cases = max(len(x), len(y), weights.n_cases)
    size = max(_BLOCK_CASES, _BLOCK_NUMBERS // x.shape[1])
    scores = []
    for start in range(0, n_cases, size):
        block = slice(start, start + size)
        w = weights.matrix(block)
        used = w.any(axis=0)
        w = w[:, used]
        totals = w.sum(axis=1, keepdims=True)
        parts = ((each[block] if len(each) > 1 else each)[:, used] for each in (x, y))
        one, other = (_doubled_ranks(part, w, tolerance) - totals for part in parts)
        weighted = w * one
        squares = row_products(weighted, one) * row_products(w * other, other)
        with np.errstate(invalid="ignore", divide="ignore"):
            scores.append(row_products(weighted, other) / np.sqrt(squares))
    undefined = np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1)
    return np.where(undefined, np.nan, np.clip(np.concatenate(scores), -1.0, 1.0))
