"""Vectors, unit vectors and associations: what the metrics have in common."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Vectors: TypeAlias = npt.NDArray[np.float64]

# What is shorter than this, beside unit vectors, is rounding noise and has no direction.
ZERO_LENGTH = 1e-12


def as_vectors(name: str, values: npt.ArrayLike) -> Vectors:
    """Return `values` as float64 of shape (n_words, dim); refuse what is empty or not finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] == 0:
        raise ValueError(
            f"{name} must have shape (n_words, dim) with at least one word; got {array.shape}."
        )
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise ValueError(f"{name}: row {row} holds NaN or infinity.")
    return array


def unit(name: str, values: npt.ArrayLike) -> Vectors:
    """Return `values` with rows of unit length; refuse rows without a direction."""
    array = as_vectors(name, values)
    lengths = np.sqrt(np.einsum("ij,ij->i", array, array))
    if not lengths.all():
        row = int(np.flatnonzero(lengths == 0)[0])
        raise ValueError(f"{name}: row {row} is a zero vector, which has no direction.")
    if not np.isfinite(lengths).all():
        row = int(np.flatnonzero(np.isinf(lengths))[0])
        raise ValueError(f"{name}: row {row} is so long that its length overflows.")
    return np.asarray(array / lengths[:, None])


def mean_unit(name: str, values: npt.ArrayLike) -> Vectors:
    """Return the mean of the unit vectors, itself not renormalised: shape (dim,)."""
    return np.asarray(unit(name, values).mean(axis=0))


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
    # The mean of cosines is the cosine's linear part: one product for all words.
    return np.asarray(unit("w", w) @ (mean_unit("a", a) - mean_unit("b", b)))


def cosine(u: Vectors, v: Vectors) -> float:
    """Cosine of two vectors of shape (dim,); nan if one of them is zero."""
    lengths = float(np.linalg.norm(u) * np.linalg.norm(v))
    return float(u @ v) / lengths if lengths > 0 else float("nan")


def pearson(x: Vectors, y: Vectors) -> float:
    """Pearson correlation of two vectors; nan if one of them is constant."""
    return cosine(x - x.mean(), y - y.mean())


def average_ranks(x: npt.NDArray[Any], tolerance: float = 0.0) -> Vectors:
    """Ranks from 1, ties sharing the mean of their ranks.

    Values no further apart than `tolerance` tie.
    """
    order = np.argsort(x, kind="stable")
    steps = np.diff(x[order], prepend=x[order[:1]]) > tolerance
    group = np.cumsum(steps)
    counts = np.bincount(group)
    ranks = np.empty(len(x))
    ranks[order] = (np.cumsum(counts) - (counts - 1) / 2)[group]
    return ranks


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


def add(arrays: Sequence[Vectors]) -> Vectors:
    """Add arrays, of which one row stands for all."""
    return functools.reduce(np.add, arrays)
