"""Indirect bias of pairs of words (Bolukbasi, Chang, Zou, Saligrama and Kalai, NeurIPS 2016)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wefe._checks import check_array
from wefe._wordset import Vectors, as_rows, unit
from wefe.metrics._direction import orthonormal
from wefe.metrics._geometry import ZERO_LENGTH

# What is left of a unit vector without the bias subspace has no direction if its squared length is
# below this; of vectors in float32 more than that is rounding noise.
_ZERO_SQUARE = 1e-12


def indirect_bias(
    first: npt.ArrayLike, second: npt.ArrayLike, directions: npt.ArrayLike
) -> Vectors:
    """Share of the similarity of two words that disappears when the bias subspace is removed.

    Parameters
    ----------
    first, second : array-like of shape (n_pairs, dim)
        The two words of each pair. A single vector is paired with all of the other side.
    directions : array-like of shape (n_directions, dim) or (dim,)
        As in :func:`direct_bias_by_word`.

    Returns
    -------
    ndarray of shape (n_pairs,)
        beta = (cos(w, v) - cos(w', v')) / cos(w, v), where w' and v' are w and v without their
        projections on the subspace (Bolukbasi et al., NeurIPS 2016, section 5.3, for one
        direction). 0: all similarity stays, as for a word and itself. Below 0: the words are nearer
        to each other without the subspace. Above 1: their cosine changes its sign. NaN if w and v
        are orthogonal, or one of them lies in the subspace. Do not average it, as it is unbounded
        where cos(w, v) is small: count pairs above a threshold (:func:`proximity_bias`).

    Examples
    --------
    >>> nurse, others = [0.5, 0.1, 0.8], [[0.6, 0.9, 0.3], [1.0, 0.2, 0.1]]
    >>> indirect_bias(nurse, others, [0.997742, -0.067150, -0.001556])
    array([0.2265, 0.1827])
    """
    basis = orthonormal(directions)
    left, right = unit("first", as_rows("first", first)), unit("second", as_rows("second", second))
    n_pairs, dims = {len(left), len(right)} - {1}, {part.shape[1] for part in (left, right, basis)}
    if len(n_pairs) > 1 or len(dims) > 1:
        raise ValueError(
            "first and second must have the same number of rows, or one row, and all vectors the "
            f"same dimensions; got shapes {left.shape}, {right.shape} and {basis.shape}."
        )
    # Uses vectors, because `indirect_bias_from_cosines` loses digits for words that are almost all
    # bias.
    parts = [each - (each @ basis.T) @ basis for each in (left, right)]
    lengths = (length_left(_products(part, part)) for part in parts)
    cosines = _products(left, right) / np.sqrt(_products(left, left) * _products(right, right))
    return share_lost(cosines, _products(*parts), *lengths)


def indirect_bias_from_cosines(
    cosines: npt.ArrayLike, along_first: npt.ArrayLike, along_second: npt.ArrayLike
) -> Vectors:
    """Indirect bias computed from cosines, as for whole vocabularies; see :func:`indirect_bias`.

    Parameters
    ----------
    cosines : array-like of any shape
        Cosine of the two words of each pair.
    along_first, along_second : array-like of shape (..., n_directions)
        Cosines of each word with the orthonormal directions of the subspace. All axes but the last
        broadcast with `cosines`: (n_words, 1, n_directions) for one word of many pairs.

    Returns
    -------
    ndarray
        One value per pair, NaN where an input is NaN. The last digits are unreliable for words that
        lie almost entirely in the subspace.

    Examples
    --------
    >>> indirect_bias_from_cosines([0.5, 0.5], [0.6], [[0.6], [0.0]])
    array([ 0.5625, -0.25  ])
    """
    arrays = {"cosines": cosines, "along_first": along_first, "along_second": along_second}
    c, p, q = (check_array(name, each, missing=True) for name, each in arrays.items())
    try:
        if not p.ndim or p.shape[-1:] != q.shape[-1:]:
            raise ValueError
        np.broadcast_shapes(c.shape, p.shape[:-1], q.shape[:-1])
    except ValueError:
        raise ValueError(
            "along_first and along_second must have shape (..., n_directions), and all but the "
            f"last axis must fit cosines; got shapes {p.shape}, {q.shape} and {c.shape}."
        ) from None
    both = (p * q).sum(axis=-1)
    lengths = (length_left(1 - (each * each).sum(axis=-1)) for each in (p, q))
    return share_lost(c, c - both, *lengths)


def _products(left: Vectors, right: Vectors) -> Vectors:
    return np.asarray((left * right).sum(axis=1))


def length_left(squares: Vectors) -> Vectors:
    """Length of what is left of unit vectors without the subspace; NaN if nothing is left."""
    return np.asarray(np.sqrt(np.where(squares > _ZERO_SQUARE, squares, np.nan)))


def share_lost(cosines: Vectors, products: Vectors, first: Vectors, second: Vectors) -> Vectors:
    """Beta from the cosines of words, and from products and lengths of what is left of them."""
    defined = np.where(np.abs(cosines) > ZERO_LENGTH, cosines, np.nan)
    return np.asarray(1 - products / (first * second * defined))
