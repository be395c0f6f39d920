"""Geometry of the mitigation methods: subspaces, projections, unit lengths, equalized pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import logger
from wefe.metrics._geometry import ZERO_LENGTH, unit_rows
from wefe.metrics._projection import RANK_TOLERANCE
from wefe.models._types import FloatArray

if TYPE_CHECKING:
    from sklearn.decomposition import PCA

Vectors: TypeAlias = npt.NDArray[np.float64]


def centred_rows(sets: Sequence[Vectors]) -> Vectors:
    return np.concatenate([part - part.mean(axis=0) for part in sets])


def principal_components(sets: Sequence[npt.ArrayLike], pca_args: Mapping[str, Any]) -> PCA:
    """Fit a PCA to definitional sets of shape (n_words, dim), each centred on its own mean.

    Components point from the second to the first words (Bolukbasi et al. 2016). Their number is at
    most the rank of the sets, because further ones are rounding noise.
    """
    from sklearn.decomposition import PCA

    arrays = [np.asarray(part, dtype=np.float64) for part in sets]
    rows = centred_rows(arrays)
    singular = np.linalg.svd(rows, compute_uv=False)
    largest = np.abs(np.concatenate(arrays)).max()
    rank = int((singular > max(RANK_TOLERANCE * singular[0], ZERO_LENGTH * largest)).sum())
    if rank == 0:
        raise ValueError(
            "the members of every definitional set have the same vector, so there is no bias "
            "direction."
        )
    wanted = pca_args.get("n_components")
    if isinstance(wanted, int | np.integer | None):
        wanted = min(rank if wanted is None else wanted, rank)
        if wanted < 1:
            raise ValueError(f"n_components must be at least 1, or None for all; got {wanted}.")
    # Otherwise the randomised solver may be chosen, which draws from the global generator.
    pca = PCA(**{"svd_solver": "full", **pca_args, "n_components": wanted}).fit(rows)
    # The sign of a component is arbitrary; that of the mean difference of two classes is not.
    towards_first = pca.components_ @ np.sum([part[0] - part[1] for part in arrays], axis=0)
    pca.components_ = np.ascontiguousarray(pca.components_)
    pca.components_[towards_first < 0] *= -1
    return pca


def remove(vectors: FloatArray, basis: FloatArray, writes: FloatArray | None = None) -> FloatArray:
    """Return ``x - (x @ basis.T) @ writes`` of rows x; `writes` is the basis by default."""
    reads = np.atleast_2d(basis).astype(vectors.dtype, copy=False)
    back = reads if writes is None else writes.astype(vectors.dtype, copy=False)
    if len(reads) == 1:
        # An outer product as a matrix product takes longer than the sum itself.
        removed = np.multiply((vectors @ reads[0])[:, None], back[0])
    else:
        removed = (vectors @ reads.T) @ back
    np.subtract(vectors, removed, out=removed)
    return np.asarray(removed)


def to_unit(vectors: FloatArray) -> FloatArray:
    """Scale vectors to unit length, in place, and return them; zero vectors stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    lengths[lengths == 0] = 1
    vectors /= lengths[:, None]
    return vectors


@dataclass(frozen=True, eq=False)
class Erasure:
    """The affine map r(x) = x - (x @ reads.T) @ writes + shift of rows x, perhaps at unit length.

    ``reads @ writes.T`` is the identity. Without a shift, both are the same: the projection is
    orthogonal, and what would be only rounding noise of a vector becomes zero.
    """

    reads: Vectors = field(repr=False)
    writes: Vectors = field(repr=False)
    shift: Vectors | None = field(default=None, repr=False)
    to_unit: bool = False

    @property
    def matrix(self) -> Vectors:
        """The matrix M of ``r(x) = x @ M + shift``: shape (dim, dim), idempotent."""
        return np.asarray(np.eye(self.reads.shape[1]) - self.reads.T @ self.writes)

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Return the mapped vectors (n_words, dim), in their dtype."""
        result = remove(vectors, self.reads, self.writes)
        if self.shift is not None:
            result += self.shift.astype(result.dtype)
        else:
            left, before = (np.einsum("ij,ij->i", each, each) for each in (result, vectors))
            nothing_left = left <= (16 * np.finfo(result.dtype).eps) ** 2 * before
            if nothing_left.any():
                result[nothing_left] = 0
                logger.warning(
                    "%d vectors lie entirely in the bias subspace and become zero",
                    nothing_left.sum(),
                )
        return to_unit(result) if self.to_unit else result


class UnitMap(NamedTuple):
    """The linear map r(x) = x @ matrix of rows x, scaled to unit length."""

    matrix: Vectors
    shift: None = None
    to_unit: bool = True

    def __call__(self, vectors: FloatArray) -> FloatArray:
        return to_unit(vectors @ self.matrix.astype(vectors.dtype))


def orthonormal(rows: npt.ArrayLike) -> Vectors:
    """Return an orthonormal basis of the span of rows: shape (rank, dim)."""
    matrix = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    _, singular, components = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(components[singular > RANK_TOLERANCE * singular.max(initial=0)])


def equalized(vectors: Vectors, originals: Vectors, basis: Vectors) -> Vectors:
    """Make words differ only within the bias subspace: ``y + sqrt(1 - |y|^2) * s_w``.

    y is the mean of the words outside of the subspace, s_w the unit vector of the side of word w.
    Sides come from `originals`, the unit vectors before neutralising, which leaves only noise of
    them. Words without a side become y at unit length (Bolukbasi et al. 2016, section 6).
    """
    mean = vectors.mean(axis=0)
    y = mean - (mean @ basis.T) @ basis
    inside = originals @ basis.T
    sides = unit_rows(inside - inside.mean(axis=0), ZERO_LENGTH)
    height = float(np.linalg.norm(y))
    result = y + math.sqrt(max(1 - height**2, 0.0)) * (sides @ basis)
    alone = y / height if height > ZERO_LENGTH else y
    return np.asarray(np.where(np.isnan(result), alone, result))
