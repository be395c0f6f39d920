"""The real word vectors that ship with the package."""

from __future__ import annotations

import warnings
from importlib import resources

import numpy as np

from wefe.models._tables import ArrayVectors
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.models.formats._native import open_safetensors
from wefe.models.formats._source import Reading


def load_test_model() -> WordEmbeddingModel:
    """Load the small, real embedding that ships with the package; no network is needed.

    For learning, tests and demonstrations: it holds every word of every packaged word set and
    shows bias that the metrics find.

    Returns
    -------
    WordEmbeddingModel
        Named 'minilm-words': 10,569 words, 256 dimensions, float32. A fresh model at each
        call, so changing one in place leaves the others alone.

    Notes
    -----
    *What it is.* Static vectors made from the sentence encoder all-MiniLM-L6-v2 (Apache-2.0): each
    word was encoded as a sentence of its own, a centred PCA kept 256 of 384 dimensions (95 % of the
    variance), and the numbers were rounded to float16 (5.5 MB). The words are the 10,000 most
    frequent English ones by `wordfreq`, most frequent first, then the remaining words of the
    packaged word sets, sorted, with multi-word ones such as ``Catholic_priest``.
    ``scripts/build_packaged_vectors.py`` makes the file again, byte for byte.

    *What it is not.* No embedding trained on word co-occurrence, and no model to draw conclusions
    about other models from. It is not the word2vec subset that older releases carried, so figures
    differ from those in the older documentation. The encoder folds case: ``Adam`` and ``adam``,
    where both are there, share one vector. Of a large lexicon such as that of Hu and Liu it knows
    only the frequent words (one in five).

    Examples
    --------
    >>> model = load_test_model()
    >>> model.name, model.dim
    ('minilm-words', 256)
    >>> "Catholic_priest" in model
    True
    >>> she_he = model["she"] - model["he"]
    >>> bool(she_he @ model["nurse"] > she_he @ model["engineer"])
    True
    """
    shipped = resources.files("wefe.models").joinpath("data", "minilm-words.safetensors")
    with resources.as_file(shipped) as path:
        source = open_safetensors(path, Reading())
        words = [word for block, _ in source.blocks() for word in block]
        # Computed with in float32, kept in float16.
        vectors = np.concatenate([part.astype(np.float32) for _, part in source.blocks()])
    return WordEmbeddingModel(ArrayVectors(words, vectors), name=source.name)


def load_weat_w2v() -> ArrayVectors:
    """Load the vectors of :func:`load_test_model` under the name that the oldest releases used.

    Returns
    -------
    ArrayVectors
        A table of vectors, as then, to be wrapped: ``WordEmbeddingModel(load_weat_w2v(), "name")``.

    Warns
    -----
    UserWarning
        Always: despite the name, these are no word2vec vectors.

    See Also
    --------
    load_test_model : The same as a model, and without a warning.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     vectors = load_weat_w2v()
    >>> WordEmbeddingModel(vectors, "as before")
    <WordEmbeddingModel named 'as before' with 10569 word embeddings of 256 dims>
    """
    warnings.warn(
        "load_weat_w2v() returns the vectors of load_test_model(), not the word2vec subset of "
        "older releases. Call load_test_model() instead.",
        stacklevel=2,
    )
    vectors: ArrayVectors = load_test_model().wv
    return vectors
