"""The document, and stand-ins for what its listings download."""

import sys
import types
import zlib
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from listings import Guide

BESIDE_REPOSITORY = Path(__file__).parents[2].parent / "shared"


@pytest.fixture(scope="session")
def guide():
    found = sorted(BESIDE_REPOSITORY.glob("seeds/001*.txt"))
    if not found:
        pytest.skip("the text of the documentation is not at hand")
    return Guide(found[0].read_text(encoding="utf-8"))


@pytest.fixture
def mirror(monkeypatch):
    """The bulk word lists, made known to the package."""
    folder = BESIDE_REPOSITORY / "data"
    if not all((folder / name).is_dir() for name in ("bingliu", "debiaswe")):
        pytest.skip("no local mirror of the bulk word lists")
    monkeypatch.setenv("WEFE_DATA_DIR", str(folder))


# Vectors


@pytest.fixture(scope="session")
def packaged(packaged_model):
    return list(packaged_model.vocab), packaged_model.vectors


@pytest.fixture(scope="session")
def word2vec_subset():
    """The model behind the figures that the document prints for the test model."""
    path = BESIDE_REPOSITORY / "data" / "models" / "word2vec_subset.kv"
    if not path.is_file():
        pytest.skip("the word2vec subset is not at hand")
    return pytest.importorskip("gensim.models").KeyedVectors.load(str(path))


def keyed_vectors(words, vectors):
    from gensim.models import KeyedVectors

    table = KeyedVectors(vector_size=vectors.shape[1], dtype=np.float32)
    table.add_vectors(list(words), vectors)
    return table


def with_lexicon(words, vectors):
    """Add the words of the opinion lexicon that are missing: the mean of its others, and noise."""
    from wefe.datasets import load_bingliu

    known = {word: row for row, word in enumerate(words)}
    added = {}
    for lexicon in load_bingliu().values():
        mean = vectors[[known[word] for word in lexicon if word in known]].mean(axis=0)
        for word in set(lexicon) - set(known):
            noise = np.random.default_rng(zlib.crc32(word.encode())).normal(0, 0.05, len(mean))
            added[word] = (mean + noise).astype(np.float32)
    return [*words, *added], np.concatenate([vectors, np.stack(list(added.values()))])


@pytest.fixture
def downloads(monkeypatch, packaged):
    """`gensim.downloader.load` answers with the vectors of the package, made to look the part.

    As many dimensions as the name says, or all there are if that is fewer. GloVe and ConceptNet
    fold case, ConceptNet puts '/c/en/' before each word, and the two that are asked for the opinion
    lexicon know all of it.
    """
    downloader = pytest.importorskip("gensim.downloader")
    asked_for = []

    def load(name):
        asked_for.append(name)
        words, vectors = packaged
        if not name.startswith("word2vec"):
            rows = {word.lower(): row for row, word in reversed([*enumerate(words)])}
            words, vectors = list(rows), vectors[list(rows.values())]
        if name in ("glove-wiki-gigaword-300", "conceptnet-numberbatch-17-06-300"):
            words, vectors = with_lexicon(words, vectors)
        prefix = "/c/en/" * name.startswith("conceptnet")
        size = int(name.rpartition("-")[2])
        return keyed_vectors([prefix + word for word in words], vectors[:, :size])

    monkeypatch.setattr(downloader, "load", load)
    return asked_for


@pytest.fixture
def real_word2vec(monkeypatch, downloads, word2vec_subset):
    """The real vectors, for the test model and for the download of word2vec.

    One word of the document's queries is missing in the subset; it gets the vector of another.
    """
    import gensim.downloader

    import wefe.models
    from wefe.models import WordEmbeddingModel, _load

    stand_in = gensim.downloader.load

    def load(name):
        if name != "word2vec-google-news-300":
            return stand_in(name)
        words = [*word2vec_subset.key_to_index, "judgmental"]
        rows = [*range(len(word2vec_subset)), word2vec_subset.key_to_index["conservative"]]
        return keyed_vectors(words, word2vec_subset.vectors[rows])

    monkeypatch.setattr(gensim.downloader, "load", load)
    for module in (wefe.models, _load):
        model = WordEmbeddingModel(word2vec_subset, "word2vec")
        monkeypatch.setattr(module, "load_test_model", lambda model=model: model)


@pytest.fixture
def files(tmp_path, monkeypatch, packaged):
    """A working directory with the word2vec files that the document names."""
    pytest.importorskip("gensim")
    table = keyed_vectors(*packaged)
    (tmp_path / "path/to/fast").mkdir(parents=True)
    table.save_word2vec_format(str(tmp_path / "path/to/embeddings.bin"), binary=True)
    table.save_word2vec_format(str(tmp_path / "path/to/fast/embeddings.vec"), binary=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=["table", "gensim"])
def flair(request, monkeypatch, packaged):
    """A module in the place of flair, in the two ways in which flair has kept static vectors."""
    words, vectors = packaged
    tensor = {"detach.return_value.cpu.return_value.numpy.return_value": vectors}

    class WordEmbeddings:
        def __init__(self, name):
            self.name = name
            if request.param == "gensim":
                self.precomputed_word_embeddings = keyed_vectors(words, vectors)
            else:
                self.vocab = {word: row for row, word in enumerate(words)}
                self.embedding = types.SimpleNamespace(weight=mock.Mock(**tensor))

    package, module = types.ModuleType("flair"), types.ModuleType("flair.embeddings")
    package.embeddings = module
    module.WordEmbeddings = WordEmbeddings
    monkeypatch.setitem(sys.modules, "flair", package)
    monkeypatch.setitem(sys.modules, "flair.embeddings", module)


@pytest.fixture
def shown(monkeypatch):
    """The figures shown, instead of a browser."""
    from plotly.basedatatypes import BaseFigure

    figures = []
    monkeypatch.setattr(BaseFigure, "show", lambda figure, *_, **__: figures.append(figure))
    return figures
