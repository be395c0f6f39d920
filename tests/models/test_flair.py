"""Vectors out of flair objects, of both of the layouts that flair has had.

flair is not needed: what stands in for it has the attributes that the conversion reads.
"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from wefe.models import WordEmbeddingModel, flair_to_gensim
from wefe.models._keyed_vectors import ArrayVectors

VECTORS = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


class Parameter:
    """A torch parameter on a GPU: numpy gets it only once it is detached and on the CPU."""

    def __init__(self, data, detached=False, on_cpu=False):
        self.data, self.detached, self.on_cpu = data, detached, on_cpu

    def detach(self):
        return Parameter(self.data, True, self.on_cpu)

    def cpu(self):
        return Parameter(self.data, self.detached, True)

    def numpy(self):
        if not (self.detached and self.on_cpu):
            raise RuntimeError("can't convert this tensor to numpy")
        return self.data


def new_flair(vocabulary=None, vectors=VECTORS):
    """flair 0.12 and newer: words, and a layer with one more row for unknown words."""
    unknown = np.zeros((1, vectors.shape[1]), vectors.dtype)
    return SimpleNamespace(
        vocab={"she": 0, "he": 1, "math": 2} if vocabulary is None else vocabulary,
        embedding=SimpleNamespace(weight=Parameter(np.vstack([vectors, unknown]))),
    )


@pytest.fixture(params=["with gensim", "without gensim"])
def table_class(request, monkeypatch):
    if request.param == "with gensim":
        return pytest.importorskip("gensim.models").KeyedVectors
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    return ArrayVectors


def test_older_flair_hands_out_the_gensim_object_it_keeps():
    kept = object()
    assert flair_to_gensim(SimpleNamespace(precomputed_word_embeddings=kept)) is kept


def test_newer_flair_hands_out_words_and_vectors(table_class):
    table = flair_to_gensim(new_flair())
    assert type(table) is table_class
    model = WordEmbeddingModel(table, "flair")
    assert list(model.vocab) == ["she", "he", "math"]
    np.testing.assert_array_equal(model.vectors, VECTORS)
    np.testing.assert_array_equal(table["he"], VECTORS[1])


def test_every_word_keeps_its_row_whatever_the_order_of_the_vocabulary(table_class):
    model = WordEmbeddingModel(flair_to_gensim(new_flair({"math": 2, "she": 0, "he": 1})))
    assert list(model.vocab) == ["she", "he", "math"]
    np.testing.assert_array_equal(model.get_vectors(["she", "he", "math"]), VECTORS)


def test_rows_without_a_word_are_left_out(table_class):
    # The last row stands for unknown words; here the first has no word either.
    model = WordEmbeddingModel(flair_to_gensim(new_flair({"math": 2, "he": 1})))
    assert len(model) == len(model.vectors) == 2
    np.testing.assert_array_equal(model.get_vectors(["he", "math"]), VECTORS[1:])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_vectors_keep_their_width(table_class, dtype):
    table = flair_to_gensim(new_flair(vectors=VECTORS.astype(dtype)))
    assert table.vectors.dtype == dtype


def test_changing_the_model_leaves_flair_alone(table_class):
    flair_embedding = new_flair()
    model = WordEmbeddingModel(flair_to_gensim(flair_embedding))
    model.normalize()
    model.update("she", np.zeros(4, np.float32))
    np.testing.assert_array_equal(flair_embedding.embedding.weight.data[:3], VECTORS)


@pytest.mark.parametrize(
    "other",
    [
        None,
        "glove",
        SimpleNamespace(vocab={"she": 0}),
        SimpleNamespace(embedding=SimpleNamespace(weight=Parameter(VECTORS))),
        SimpleNamespace(vocab=["she"], embedding=SimpleNamespace(weight=Parameter(VECTORS))),
        SimpleNamespace(vocab={"she": 0}, embedding=None),
    ],
    ids=["none", "name", "no layer", "no words", "words in a list", "empty layer"],
)
def test_embeddings_without_static_vectors_are_refused(other):
    with pytest.raises(TypeError, match="flair_to_gensim takes flair's classic WordEmbeddings"):
        flair_to_gensim(other)
