"""Find nearest neighbours in a whole vocabulary, in bounded memory."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import check_bool, check_positive_int, found, import_library
from wefe.models._tables import VectorTable, check_vectors, chunks
from wefe.models._types import FloatArray

Rows: TypeAlias = npt.NDArray[np.int64]
Cosines: TypeAlias = npt.NDArray[np.float64]
Table: TypeAlias = FloatArray | VectorTable

# Queries of one pass, rows of a block, and its numbers: larger ones are not faster, as measured.
QUERIES = 1_024
ROWS = 16_384
CELLS = 4_000_000
# Numbers in float64 at once, so that they stay in the cache.
WIDE_NUMBERS = 100_000
# Candidates beyond k: cosines in float64 decide among all of them.
MARGIN = 8
# The cosine of what is nobody's neighbour, in float32.
NONE = np.float32(-2)
# An index of faiss is no faster below.
APPROXIMATE_FROM = 32_768


def nearest_neighbors(
    vectors: npt.ArrayLike | VectorTable,
    queries: npt.ArrayLike,
    k: int,
    *,
    exclude: npt.ArrayLike | None = None,
    approximate: bool = False,
) -> tuple[Rows, Cosines]:
    """Find the vectors with the largest cosine to each query.

    Parameters
    ----------
    vectors : ndarray of shape (n_words, dim), or VectorTable
        Floating-point vectors, in memory or mapped from a file.
    queries : ndarray of shape (n_queries, dim)
        Floating-point vectors; their lengths do not matter.
    k : int
        Number of neighbours per query, at least 1.
    exclude : sequence of int, of length n_queries, optional
        For each query, a row that cannot be its neighbour, such as its own.
    approximate : bool, default=False
        Search with faiss, which finds most neighbours and is faster for very many queries. Below
        32,768 vectors the search is always exact. Without faiss it raises ImportError.

    Returns
    -------
    rows : ndarray of shape (n_queries, k), int64
        Rows of `vectors`, by falling cosine and, for equal cosines, by row.
    cosines : ndarray of shape (n_queries, k), float64
        Their cosines, in [-1, 1].

    Raises
    ------
    ValueError
        If a query has no direction (zero, NaN or infinity), or fewer than `k` neighbours.

    Notes
    -----
    Vectors without a direction, or longer than 1e19, are never neighbours. A search in float32
    finds `k` + 8 candidates, and cosines in float64 rank them. If more than 8 other vectors are
    as near as the k-th neighbour in float32, such as copies of it, any of them may be returned.

    Examples
    --------
    >>> import numpy as np
    >>> vectors = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0], [0.0, 2.0]])
    >>> rows, cosines = nearest_neighbors(vectors, vectors[:1], k=2, exclude=[0])
    >>> rows, cosines
    (array([[1, 3]]), array([[0.6, 0. ]]))
    """
    table = vectors if isinstance(vectors, VectorTable) else check_vectors("vectors", vectors)
    dim = table.vector_size if isinstance(table, VectorTable) else table.shape[1]
    array = check_vectors("queries", queries)
    if array.shape[1] != dim:
        raise ValueError(f"queries must have shape (n_queries, {dim}); got {array.shape}.")
    directed = directions(array)[1]
    if not directed.all():
        raise ValueError(no_direction(f"queries: row {directed.argmin()}"))
    k, approximate = check_positive_int("k", k), check_bool("approximate", approximate)
    banned: Any = ()
    if exclude is not None:
        own = np.asarray(exclude)
        is_row = own.shape == (len(array),) and own.dtype.kind in "iu"
        if not is_row or ((own < 0) | (own >= len(table))).any():
            raise ValueError(
                f"exclude must be the number of one row of {len(table)} for each of {len(array)} "
                f"queries; got {found(exclude)}."
            )
        banned = own[:, np.newaxis]
    rows, cosines = search(table, array, k, banned, approximate=approximate)
    short = (rows < 0).any(axis=1)
    if short.any():
        query = int(short.argmax())
        raise ValueError(
            f"k={k} is more than the {(rows[query] >= 0).sum()} neighbours that query {query} has."
        )
    return rows, cosines


def search(
    table: Table,
    queries: FloatArray,
    k: int,
    exclude: Sequence[Sequence[int]] = (),
    *,
    n_words: int | None = None,
    approximate: bool = False,
) -> tuple[Rows, Cosines]:
    """Search like `nearest_neighbors`, with arguments that are already checked.

    `n_words` restricts the search to the first rows. Missing neighbours get row -1 and cosine -inf.
    """
    n_words = len(table) if n_words is None else min(n_words, len(table))
    rows = np.full((len(queries), k), -1, dtype=np.int64)
    cosines = np.full((len(queries), k), -np.inf)
    find: Callable[..., Rows] = _scan
    if approximate and n_words >= APPROXIMATE_FROM:
        find = functools.partial(_look_up, _faiss_index(table, n_words, queries.shape[1]))
    for batch in chunks(len(queries) if n_words else 0, QUERIES):
        units = directions(queries[batch])[0].astype(np.float32)
        banned = exclude[batch]
        of_query = np.repeat(np.arange(len(banned)), np.fromiter(map(len, banned), np.intp))
        banned_rows = np.concatenate([[], *banned]).astype(np.int64)
        near = find(table, n_words, units, k + MARGIN, of_query, banned_rows)
        rows[batch], cosines[batch] = _ranked(table, queries[batch], near, k)
    return rows, cosines


def with_lengths(
    vectors: FloatArray, dtype: npt.DTypeLike
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Return vectors in a dtype, their lengths, and which rows have a direction."""
    with np.errstate(all="ignore"):
        block = vectors.astype(dtype, order="C", copy=False)
        lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
    return block, lengths, (lengths > 0) & (lengths < np.inf)


def directions(vectors: FloatArray) -> tuple[Cosines, npt.NDArray[np.bool_]]:
    """Return unit vectors in float64 (zeros without a direction), and which rows have one."""
    units: Cosines = vectors.astype(np.float64)
    _, lengths, directed = with_lengths(units, np.float64)
    with np.errstate(all="ignore"):
        units /= lengths[:, None]
    units[~directed] = 0
    return units, directed


def read(table: Table, rows: slice | Rows) -> FloatArray:
    if isinstance(table, VectorTable):
        return table.rows(rows)
    # Faster than by an index.
    return table[rows] if isinstance(rows, slice) else table.take(rows, axis=0)


def _scan(
    table: Table, n_words: int, units: FloatArray, k: int, of_query: Rows, banned: Rows
) -> Rows:
    """Return k candidates per query in any order; -1 for missing ones."""
    n_queries, dim = units.shape
    best = np.full((n_queries, k), NONE)
    rows = np.full((n_queries, k), -1)
    for part in chunks(n_words, max(1, min(ROWS, CELLS // max(n_queries, dim)))):
        block, lengths, directed = with_lengths(read(table, part), np.float32)
        every = np.empty((n_queries, k + len(block)), dtype=np.float32)
        every[:, :k] = best
        cosines = every[:, k:]
        with np.errstate(all="ignore"):
            np.matmul(units, block.T, out=cosines)
            cosines /= lengths
        cosines[:, ~directed] = NONE
        here = (banned >= part.start) & (banned < part.stop)
        cosines[of_query[here], banned[here] - part.start] = NONE
        kept = np.argpartition(every, -k, axis=1)[:, -k:]
        best = np.take_along_axis(every, kept, axis=1)
        older = np.take_along_axis(rows, kept.clip(max=k - 1), axis=1)
        rows = np.where(kept < k, older, kept - k + part.start)
    return np.where(best == NONE, -1, rows)


def _ranked(table: Table, queries: FloatArray, near: Rows, k: int) -> tuple[Rows, Cosines]:
    """Sort candidates by their cosines in float64; ties by row."""
    near = np.sort(near, axis=1)
    cosines = np.empty(near.shape)
    size = max(1, WIDE_NUMBERS // max(1, near.shape[1] * queries.shape[1]))
    for part in chunks(len(near), size):
        shape = (*near[part].shape, queries.shape[1])
        left = read(table, near[part].ravel().clip(0)).astype(np.float64).reshape(shape)
        right = queries[part].astype(np.float64)
        # One root, not two: the cosine of a vector with itself is 1.
        squares = np.einsum("ij,ij->i", right, right)[:, None]
        squares = squares * np.einsum("ijk,ijk->ij", left, left)
        with np.errstate(all="ignore"):
            cosines[part] = np.einsum("ijk,ik->ij", left, right) / np.sqrt(squares)
    nobodys = (near < 0) | np.isnan(cosines)
    cosines = np.where(nobodys, -np.inf, cosines.clip(-1, 1))
    near[nobodys] = -1
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(near, order, axis=1), np.take_along_axis(cosines, order, axis=1)


def _faiss_index(table: Table, n_words: int, dim: int) -> Any:
    faiss = import_library("faiss", "neighbors", "approximate=True")
    n_cells = int(4 * math.sqrt(n_words))
    index = faiss.index_factory(dim, f"IVF{n_cells},Flat", faiss.METRIC_INNER_PRODUCT)
    index.nprobe = 32
    # faiss asks for 39 vectors per cell to place the cells well.
    sample = np.linspace(0, n_words - 1, min(n_words, 40 * n_cells)).astype(np.int64)
    index.train(directions(read(table, sample))[0].astype(np.float32))
    for part in chunks(n_words, ROWS):
        units, directed = directions(read(table, part))
        rows = np.flatnonzero(directed)
        index.add_with_ids(units[rows].astype(np.float32), part.start + rows)
    return index


def _look_up(
    index: Any, table: Table, n_words: int, units: FloatArray, k: int, of_query: Rows, banned: Rows
) -> Rows:
    """Return candidates from the index; if a query has too few, search everything."""
    rows: Rows = index.search(units, k + int(np.bincount(of_query).max(initial=0)))[1]
    pair, place = np.nonzero(rows[of_query] == banned[:, None])
    rows[of_query[pair], place] = -1
    if ((rows >= 0).sum(axis=1) < k).any():
        return _scan(table, n_words, units, k, of_query, banned)
    return rows


def no_direction(what: str) -> str:
    return f"{what} is zero or holds NaN or infinity, so it has no direction."
