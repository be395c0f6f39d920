"""Fixtures for the tests of audits: published vectors, where they are beside the checkout."""

from pathlib import Path

import pytest

from wefe import WordEmbeddingModel

SHARED = Path(__file__).resolve().parents[2].parent / "shared"


@pytest.fixture(scope="session")
def shared_data():
    if not SHARED.is_dir():
        pytest.skip("needs the published vectors")
    return SHARED / "data"


@pytest.fixture(scope="session")
def word2vec(shared_data):
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    path = shared_data / "models" / "word2vec_subset.kv"
    return WordEmbeddingModel(keyed_vectors.load(str(path)), "word2vec")
