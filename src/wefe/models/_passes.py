"""Compute with a whole vocabulary in one pass and bounded memory."""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from wefe.models._search import with_lengths
from wefe.models._tables import chunks
from wefe.models._types import CHUNK_ROWS, Block, FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

# Numbers of a block: some MB.
_BLOCK_NUMBERS = 1 << 20
# What looks like a word, for Gonen and Goldberg (2019).
_PLAIN = rf"([^0-9{re.escape(string.punctuation)}]{{1,19}})"

Rows: TypeAlias = npt.NDArray[np.intp]


def vocabulary_blocks(model: WordEmbeddingModel) -> Iterator[tuple[Rows, FloatArray]]:
    """Yield rows of a vocabulary and their vectors (at least float32) that have a direction."""
    model.whole_table("a pass over all vectors")
    for part in chunks(len(model.vocab), max(1, _BLOCK_NUMBERS // model.dim)):
        rows = np.arange(part.start, part.stop)
        block = model.table.rows(part)
        vectors = block.astype(np.promote_types(block.dtype, np.float32), copy=False)
        largest = np.abs(vectors).max(axis=1)
        usable = (largest > 0) & (largest < np.inf)
        if usable.all():
            yield rows, vectors
        elif usable.any():
            yield rows[usable], vectors[usable]


def vocabulary_cosines(
    model: WordEmbeddingModel, directions: npt.ArrayLike, n_words: int | None = None
) -> FloatArray:
    """Return the cosines of the first `n_words` words with directions of shape (n_directions, dim).

    Words without a direction get NaN. The dtype is that of the vectors, at least float32; in
    float32 the error is below dim * 2**-24.
    """
    model.whole_table("a pass over all vectors")
    axes = np.atleast_2d(np.asarray(directions, dtype=np.float64))
    axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    width = np.promote_types(model.dtype, np.float32)
    of_width = np.ascontiguousarray(axes.T, dtype=width)
    n_words = len(model.vocab) if n_words is None else min(n_words, len(model.vocab))
    cosines = np.empty((n_words, len(axes)), dtype=width)
    for part in chunks(n_words, max(1, _BLOCK_NUMBERS // model.dim)):
        block, lengths, directed = with_lengths(model.table.rows(part), width)
        with np.errstate(all="ignore"):
            np.matmul(block, of_width, out=cosines[part])
            cosines[part] /= lengths[:, None]
        cosines[part][~directed] = np.nan
    return np.clip(cosines, -1, 1, out=cosines)


def plain_rows(model: WordEmbeddingModel, n_words: int | None = None) -> tuple[Rows, bool]:
    """Return rows of lower-case short words without digits or punctuation, and True.

    If hardly any word is in lower case, return words of any case, and False.
    """
    pattern = re.compile(re.escape(model.vocab_prefix or "") + _PLAIN)
    last = len(model.vocab) if n_words is None else n_words
    vocab = model.vocab.items()
    matches = ((row, pattern.fullmatch(word)) for word, row in vocab if row < last)
    plain = {row: match[1] for row, match in matches if match}
    lower = [row for row, word in plain.items() if word == word.lower()]
    # A vocabulary in upper case has no lower-case words to prefer.
    enough = len(lower) * 10 >= len(plain)
    return np.sort(np.array(lower if enough else list(plain), dtype=np.intp)), enough


def most_associated(
    model: WordEmbeddingModel,
    axes: npt.ArrayLike,
    n_words: int,
    ignore: Iterable[str] = (),
    rows: Rows | None = None,
) -> list[tuple[Rows, FloatArray]]:
    """Return, per axis, the `n_words` rows whose unit vectors have the largest products with it.

    With the axis unit(he) - unit(she) the product is the bias by projection of Gonen and Goldberg
    (2019). Words to `ignore`, and all but `rows`, are left out. Ties are sorted by row.
    """
    directions = np.atleast_2d(np.asarray(axes, dtype=np.float64))
    allowed = np.full(len(model.vocab), rows is None)
    allowed[[] if rows is None else rows] = True
    allowed[[model.vocab[form] for form in forms(model, ignore) if form in model.vocab]] = False
    last = np.flatnonzero(allowed).max(initial=-1)
    products = np.full((len(allowed), len(directions)), np.nan)
    for block_rows, vectors in vocabulary_blocks(model):
        if block_rows[0] > last:
            break
        wide = vectors.astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
        products[block_rows] = wide @ directions.T / lengths[:, None]
    known = np.flatnonzero(allowed & ~np.isnan(products[:, 0]))
    products = products[known].T
    best = np.argsort(-products, axis=1, kind="stable")[:, :n_words]
    return list(zip(known[best], np.take_along_axis(products, best, axis=1), strict=True))


def forms(model: WordEmbeddingModel, words: Iterable[str]) -> list[str]:
    """Return words as the vocabulary of a model writes them, with its prefix."""
    prefix = model.vocab_prefix or ""
    return [prefix + word for word in words]


def bare_words(model: WordEmbeddingModel, words: Iterable[str]) -> list[str]:
    """Return forms of a vocabulary without the model's prefix."""
    prefix = model.vocab_prefix or ""
    return [word.removeprefix(prefix) for word in words]


def fingerprint(model: WordEmbeddingModel, words: Iterable[str] | None) -> str:
    """Return the hash of the vectors of those words that a model has, or of all (None).

    For an encoder it is the hash of its weights.
    """
    encoding: str | None = getattr(model, "encoding", None)
    if encoding is not None:
        return encoding
    blocks: Iterable[Block] = model.table.blocks()
    if words is not None:
        known = sorted(filter(model.__contains__, set(words)))
        parts = (known[part] for part in chunks(len(known), CHUNK_ROWS))
        blocks = ((part, model.get_vectors(part)) for part in parts)
    hashed = hashlib.blake2b(str(model.dtype).encode(), digest_size=16)
    for names, vectors in blocks:
        hashed.update("\0".join(names).encode("utf-8", "surrogatepass"))
        hashed.update(np.ascontiguousarray(vectors).data)
    return hashed.hexdigest()
