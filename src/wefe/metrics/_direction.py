"""Bias directions and subspaces (Bolukbasi, Chang, Zou, Saligrama and Kalai, NeurIPS 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from wefe._checks import check_bool, check_positive_int
from wefe._wordset import Vectors, WordSet, as_rows, lists_of_word_sets, unit
from wefe.embeddings import UnanswerableError
from wefe.metrics._geometry import ZERO_LENGTH

# Components below this share of the largest one are rounding noise, not directions.
RANK_TOLERANCE = 1e-7
# Cosines of float32 vectors with a removed direction are far below this.
ROUNDING = 1e-5


@dataclass(frozen=True, eq=False)
class BiasSubspace:
    """The directions along which the members of defining tuples differ.

    Attributes
    ----------
    directions : ndarray of shape (n_components, dim)
        Orthonormal directions, each pointing from the second set to the first.
    explained_variance_ratio : ndarray of shape (min(n_sets * n_tuples, dim),)
        Share of the variance of the centred tuples along *all* principal directions, in descending
        order. If the first few do not dominate, they do not represent the tuples.

    Examples
    --------
    >>> she_her, he_his = [[1.0, 0.2], [0.9, 0.5]], [[-1.0, 0.2], [-0.7, 0.8]]
    >>> bias_subspace([she_her, he_his]).explained_variance_ratio.round(2)
    array([0.99, 0.01])
    """

    directions: Vectors
    explained_variance_ratio: Vectors = field(repr=False)


def bias_subspace(
    defining_sets: Sequence[npt.ArrayLike], n_components: int = 1, normalize: bool = True
) -> BiasSubspace:
    """Principal directions of defining pairs (or larger tuples), each centred on its own mean.

    Parameters
    ----------
    defining_sets : sequence of array-like of shape (n_tuples, dim)
        Row i of all sets together is one tuple, for example (she, he).
    n_components : int, default=1
        Number of directions, at most as many as the tuples span.
    normalize : bool, default=True
        Scale the vectors to unit length first, as the published code does.

    Returns
    -------
    BiasSubspace
        The right singular vectors of all centred tuples (Bolukbasi et al., NeurIPS 2016), with the
        mean of the first set on their positive side, and the explained variances.

    Raises
    ------
    UnanswerableError
        If the members of every tuple are equal, or span too few directions.

    Examples
    --------
    >>> she, he = [[1.0, 0.2]], [[-1.0, 0.2]]
    >>> bias_subspace([she, he]).directions
    array([[1., 0.]])
    """
    sets = _groups_of_tuples("defining_sets", defining_sets, check_bool("normalize", normalize))
    tuples = sets.swapaxes(0, 1)
    rows = (tuples - tuples.mean(axis=1, keepdims=True)).reshape(-1, tuples.shape[-1])
    _, singular, components = np.linalg.svd(rows, full_matrices=False)
    noise = max(RANK_TOLERANCE * singular[0], ZERO_LENGTH * np.abs(tuples).max())
    rank = int((singular > noise).sum())
    if rank == 0:
        raise UnanswerableError("the members of every tuple are equal, so there is no direction.")
    if check_positive_int("n_components", n_components) > rank:
        raise UnanswerableError(
            f"n_components must be between 1 and {rank}, the number of directions that "
            f"{len(tuples)} tuples span; got {n_components!r}."
        )
    directions = components[:n_components]
    # The sign of a principal component is arbitrary; the difference of the first two means is not.
    towards_first = directions @ (sets[0].mean(axis=0) - sets[1].mean(axis=0))
    directions = directions * np.where(towards_first < 0, -1.0, 1.0)[:, None]
    variances = singular**2
    return BiasSubspace(directions, variances / variances.sum())


def principal_directions(rows: Vectors, n_components: int) -> Vectors:
    """First right singular vectors of stacked matrices; NaN where the rank is smaller."""
    squares, vectors = np.linalg.eigh(rows @ rows.swapaxes(1, 2))
    # The largest ones are the last.
    lengths = np.sqrt(np.maximum(squares[:, : -n_components - 1 : -1], 0.0))
    noise = np.maximum(RANK_TOLERANCE * lengths[:, 0], ZERO_LENGTH)
    lengths[lengths[:, -1] <= noise] = np.nan
    largest = vectors[:, :, : -n_components - 1 : -1].swapaxes(1, 2)
    return np.asarray(largest @ rows / lengths[..., None])


def in_span(sets: Sequence[WordSet]) -> tuple[list[WordSet], Vectors]:
    """Return sets with unit vectors in coordinates of their span, and its basis in columns."""
    # Sets that are taken from one pool share its vectors.
    different = {id(part.unit): part.unit for part in sets}
    basis, _ = np.linalg.qr(np.concatenate(list(different.values())).T)
    placed = [replace(part, vectors=part.unit @ basis).weighted(part.weights) for part in sets]
    return placed, np.asarray(basis)


def group_directions(groups: Sequence[npt.ArrayLike]) -> Vectors:
    """Directions towards each of several groups, from tuples of their words.

    Parameters
    ----------
    groups : sequence of array-like of shape (n_tuples, dim)
        As `defining_sets` of :func:`bias_subspace`. Vectors are scaled to unit length.

    Returns
    -------
    ndarray of shape (n_groups, dim)
        Unit vectors. Two groups: the first principal direction of the centred pairs and its
        opposite, so that the cosine of a word is its projection on the bias direction. More groups:
        the mean of each group's words after centring every tuple on its mean (Manzini, Lim, Black
        and Tsvetkov, NAACL 2019).

    Raises
    ------
    UnanswerableError
        If a group has the same mean as all groups together.

    Examples
    --------
    >>> she, he = [[1.0, 0.2]], [[-1.0, 0.2]]
    >>> group_directions([she, he])[:, 0]
    array([ 1., -1.])
    """
    sets = _groups_of_tuples("groups", groups)
    if len(sets) == 2:
        direction = bias_subspace(list(sets)).directions[0]
        return np.stack([direction, -direction])
    means = (sets - sets.mean(axis=0)).mean(axis=1)
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    if (lengths < ZERO_LENGTH).any():
        raise UnanswerableError(
            f"groups[{int(lengths.argmin())}] has the same mean as all groups together, so there "
            "is no direction towards it."
        )
    return np.asarray(means / lengths)


def _groups_of_tuples(
    name: str, groups: Sequence[npt.ArrayLike], normalize: bool = True
) -> Vectors:
    (sets,) = lists_of_word_sets(**{name: groups})
    arrays = [part.unit if normalize else part.vectors for part in sets]
    shapes = [part.shape for part in arrays]
    if len(set(shapes)) != 1 or len(sets) < 2:
        expected = "two or more arrays of one shape (n_tuples, dim)"
        raise ValueError(f"{name} must be {expected}; got shapes {shapes}.")
    return np.stack(arrays)


def orthonormal(directions: npt.ArrayLike) -> Vectors:
    """Return directions of shape (n_directions, dim); a single one is scaled to unit length."""
    basis = as_rows("directions", directions)
    if len(basis) == 1:
        return unit("directions", basis)
    if not np.allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-6):
        raise ValueError("directions must be orthonormal; bias_subspace(...).directions are.")
    return basis
