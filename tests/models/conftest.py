"""Fixtures for tests of models."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Write bytes to a file."""

    def written(content, name="vectors.any"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return written


@pytest.fixture(scope="session")
def gensim_model():
    """Train a small model of gensim's; not to be changed by a test."""
    models = pytest.importorskip("gensim.models")

    def trained(kind, **options):
        corpus = [["she", "reads", "math"], ["he", "reads", "art"]] * 5
        options |= {"bucket": 50} if kind == "FastText" else {}
        if kind == "Doc2Vec":
            corpus = [models.doc2vec.TaggedDocument(words, [0]) for words in corpus]
        options |= {"vector_size": 4, "min_count": 1, "epochs": 1, "workers": 1, "seed": 1}
        return getattr(models, kind)(corpus, **options)

    return trained
