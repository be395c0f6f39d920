"""Load the word vectors that ship with the package."""

from __future__ import annotations

import warnings
from importlib import resources

import numpy as np

from wefe.models._tables import ArrayVectors
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.models.formats._native import open_safetensors
from wefe.models.formats._source import Reading


def load_test_model() -> WordEmbeddingModel:
    """Load the small, real embedding that ships with the package, without a network.

    It has all words of the packaged word sets. Do not draw conclusions about other models from it.

    Returns
    -------
    WordEmbeddingModel
        A new model 'minilm-words' on each call: 10,569 words, 256 dimensions, float32.

    Notes
    -----
    The vectors come from the sentence encoder all-MiniLM-L6-v2 (Apache-2.0), which encoded each
    word as a sentence. A centred PCA kept 256 of 384 dimensions (95 % of the variance), rounded to
    float16. The words are the 10,000 most frequent English words of `wordfreq`, by falling
    frequency, then the other words of the packaged word sets, sorted. The encoder ignores case:
    ``Adam`` and ``adam`` have the same vector. Older releases had a word2vec subset with other
    scores.

    Examples
    --------
    >>> model = load_test_model()
    >>> she_he = model["she"] - model["he"]
    >>> bool(she_he @ model["nurse"] > she_he @ model["engineer"])
    True
    """
    shipped = resources.files("wefe.models").joinpath("data", "minilm-words.safetensors")
    with resources.as_file(shipped) as path:
        source = open_safetensors(path, Reading())
        [(words, vectors)] = source.blocks()
    # Computed with in float32, kept in float16.
    return WordEmbeddingModel(ArrayVectors(words, vectors.astype(np.float32)), name=source.name)


def load_weat_w2v() -> ArrayVectors:
    """Load the vectors of :func:`load_test_model` under the name used by the oldest releases.

    Returns
    -------
    ArrayVectors
        The vectors, to be wrapped in a model.

    Warns
    -----
    UserWarning
        Always: despite the name, these are not word2vec vectors.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     WordEmbeddingModel(load_weat_w2v(), "as before")
    <WordEmbeddingModel named 'as before' with 10569 word embeddings of 256 dims>
    """
    warnings.warn(
        "load_weat_w2v() returns the vectors of load_test_model(), not the word2vec subset of "
        "older releases. Call load_test_model() instead.",
        stacklevel=2,
    )
    vectors: ArrayVectors = load_test_model().wv
    return vectors
