"""Vectors out of flair objects, of both of the layouts that flair has had.

flair is not needed: what stands in for it has the attributes that the conversion reads.
"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from wefe.models import WordEmbeddingModel, flair_to_gensim
from wefe.models._tables import ArrayVectors

torch = pytest.importorskip("torch")

VECTORS = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("has_gensim", [True, False])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("vocabulary", [{"math": 2, "she": 0, "he": 1}, {"math": 2, "he": 1}])
def test_every_word_of_newer_flair_keeps_its_row(monkeypatch, has_gensim, dtype, vocabulary):
    kind = ArrayVectors
    if has_gensim:
        kind = pytest.importorskip("gensim.models").KeyedVectors
    else:
        monkeypatch.setitem(sys.modules, "gensim.models", None)
    # flair 0.12 and newer: a layer with one more row for unknown words.
    weights = torch.from_numpy(np.vstack([VECTORS, np.zeros((1, 4))]).astype(dtype))
    layer = torch.nn.Embedding.from_pretrained(weights, freeze=False)
    table = flair_to_gensim(SimpleNamespace(vocab=vocabulary, embedding=layer))
    assert type(table) is kind
    assert table.vectors.dtype == dtype
    model = WordEmbeddingModel(table)
    assert list(model.vocab) == sorted(vocabulary, key=vocabulary.get)
    for word, row in vocabulary.items():
        np.testing.assert_array_equal(model[word], VECTORS[row])
    model.update("he", np.zeros(4, dtype))
    np.testing.assert_array_equal(layer.weight.detach().numpy()[:3], VECTORS)


@pytest.mark.parametrize(
    "other",
    [
        "glove",
        SimpleNamespace(vocab={"she": 0}, embedding=None),
        SimpleNamespace(vocab=["she"], embedding=SimpleNamespace(weight=VECTORS)),
    ],
)
def test_embeddings_without_static_vectors_are_refused(other):
    with pytest.raises(TypeError, match="flair_to_gensim"):
        flair_to_gensim(other)
