"""Vectors from flair's classic word embeddings."""

from __future__ import annotations

from typing import Any

from wefe._checks import found
from wefe.models._tables import ArrayVectors


def flair_to_gensim(flair_embedding: Any) -> Any:
    """Return the vectors of a flair `WordEmbeddings` object.

    Parameters
    ----------
    flair_embedding : flair.embeddings.WordEmbeddings
        One of flair's classic (static) word embeddings.

    Returns
    -------
    gensim.models.KeyedVectors or ArrayVectors
        Vectors for `WordEmbeddingModel`.

    Examples
    --------
    >>> class OldFlairEmbedding:
    ...     precomputed_word_embeddings = ArrayVectors(["she"], [[1.0]])
    >>> flair_to_gensim(OldFlairEmbedding())["she"]
    array([1.])
    """
    kept = getattr(flair_embedding, "precomputed_word_embeddings", None)
    if kept is not None:
        return kept
    # flair 0.12 and newer: a word-to-row table beside a torch embedding layer.
    vocabulary = getattr(flair_embedding, "vocab", None)
    layer: Any = getattr(flair_embedding, "embedding", None)
    if not isinstance(vocabulary, dict) or not hasattr(layer, "weight"):
        raise TypeError(
            "flair_to_gensim takes flair's classic WordEmbeddings (static vectors); "
            f"got {found(flair_embedding)}."
        )
    words = sorted(vocabulary, key=vocabulary.__getitem__)
    vectors = layer.weight.detach().cpu().numpy()[[vocabulary[word] for word in words]]
    try:
        from gensim.models import KeyedVectors
    except ImportError:
        return ArrayVectors(words, vectors)
    table = KeyedVectors(vector_size=vectors.shape[1], dtype=vectors.dtype)
    table.add_vectors(words, vectors)
    return table
