"""One pass over a whole vocabulary, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from wefe.models._keyed_vectors import FloatArray, StoredVectors
from wefe.models._word_embedding_model import WordEmbeddingModel

# Numbers of a block: some MB.
_BLOCK_NUMBERS = 1 << 20

Rows: TypeAlias = npt.NDArray[np.intp]
Vectors: TypeAlias = npt.NDArray[np.float64]


def vocabulary_blocks(model: WordEmbeddingModel) -> Iterator[tuple[Rows, FloatArray]]:
    """Hand out the vectors of a vocabulary block by block, as they are stored or mapped.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model that has its whole vocabulary.

    Yields
    ------
    rows : ndarray of int
        Rows of the model.
    vectors : ndarray of shape (len(rows), dim), float32 or float64
        Their vectors. Those that are zero, or hold NaN or infinity, are left out.

    Raises
    ------
    ValueError
        If the model was opened for some words only.
    """
    if model.held == "selected":
        raise ValueError(
            f"this method learns from the whole vocabulary, and {model.name} was opened for "
            f"{len(model.wv.asked):,} words only; load it whole. Of an encoder, take a "
            "snapshot of all words that matter."
        )
    stored = isinstance(model.wv, StoredVectors)
    for part in chunks(len(model.vocab), max(1, _BLOCK_NUMBERS // max(model.dim, 1))):
        rows = np.arange(part.start, part.stop)
        block = model.wv.rows(rows) if stored else model.vectors[part]
        vectors = block.astype(np.promote_types(block.dtype, np.float32), copy=False)
        usable = np.isfinite(vectors).all(axis=1) & vectors.any(axis=1)
        if usable.all():
            yield rows, vectors
        elif usable.any():
            yield rows[usable], vectors[usable]


def most_associated(
    model: WordEmbeddingModel,
    axes: npt.ArrayLike,
    n_words: int,
    ignore: Sequence[str] = (),
    rows: Rows | None = None,
) -> list[tuple[Rows, Vectors]]:
    """Find the words whose unit vectors reach farthest along each of some axes.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model that has its whole vocabulary.
    axes : array-like of shape (n_axes, dim)
        For example unit(he) - unit(she) and its opposite: then the numbers are
        cos(w, he) - cos(w, she), the bias by projection of Gonen and Goldberg (2019).
    n_words : int
        Words wanted for each axis.
    ignore : sequence of str
        Words that are left out.
    rows : ndarray of int, optional
        The only rows that count; by default all.

    Returns
    -------
    list of (ndarray of int, ndarray)
        Per axis: rows, by falling product with the axis (of equal ones the lower row first), and
        these products. Fewer where there are fewer words.
    """
    directions = np.atleast_2d(np.asarray(axes, dtype=np.float64))
    allowed = np.ones(len(model.vocab), dtype=bool)
    if rows is not None:
        allowed[:] = False
        allowed[rows] = True
    allowed[[model.vocab[form] for form in forms(model, ignore) if form in model.vocab]] = False
    best: list[tuple[Rows, Vectors]] = [(np.empty(0, np.intp), np.empty(0)) for _ in directions]
    for block_rows, vectors in vocabulary_blocks(model):
        here = allowed[block_rows]
        if not here.any():
            continue
        wide = vectors[here].astype(np.float64)
        reach = (wide @ directions.T) / np.linalg.norm(wide, axis=1, keepdims=True)
        for axis, (kept, values) in enumerate(best):
            candidates = np.concatenate([kept, block_rows[here]])
            reached = np.concatenate([values, reach[:, axis]])
            # A stable sort, and blocks come by rising row.
            order = np.argsort(-reached, kind="stable")[:n_words]
            best[axis] = (candidates[order], reached[order])
    return best


def words_at(model: WordEmbeddingModel, rows: Rows) -> list[str]:
    """Return the words of rows, as the vocabulary has them.

    The vocabulary is read in passing: that of a mapped file need not be held for a few words.
    """
    wanted = set(rows.tolist())
    found = {row: word for row, word in enumerate(model.vocab) if row in wanted}
    return [found[row] for row in rows.tolist()]


def forms(model: WordEmbeddingModel, words: Iterable[str]) -> list[str]:
    """Return words as the vocabulary of a model has them, that is with its prefix."""
    prefix = model.vocab_prefix or ""
    return [prefix + word for word in words]


def chunks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
