"""The document, and stand-ins for what its listings download."""

import importlib.util
import sys
import types
import zlib
from pathlib import Path

import numpy as np
import pytest

BESIDE_REPOSITORY = Path(__file__).parents[2].parent / "shared"


def load_parser():
    """Import `_listings.py`, which is no test and lies on no path."""
    specification = importlib.util.spec_from_file_location(
        "wefe_documentation_listings", Path(__file__).with_name("_listings.py")
    )
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def listings():
    return load_parser()


@pytest.fixture(scope="session")
def document():
    found = sorted(BESIDE_REPOSITORY.glob("seeds/001*.txt"))
    if not found:
        pytest.skip("the text of the documentation is not at hand")
    return found[0]


@pytest.fixture(scope="session")
def guide(listings, document):
    return listings.Guide.read(document)


@pytest.fixture
def mirror(monkeypatch):
    """The bulk word lists, made known to the package."""
    folder = BESIDE_REPOSITORY / "data"
    if not all((folder / name).is_dir() for name in ("bingliu", "debiaswe")):
        pytest.skip("no local mirror of the bulk word lists")
    monkeypatch.setenv("WEFE_DATA_DIR", str(folder))
    return folder


# Vectors


@pytest.fixture(scope="session")
def packaged():
    from wefe import load_test_model

    model = load_test_model()
    return list(model.vocab), model.vectors


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


def lower_case(words, vectors):
    """Keep the first vector of each word in lower case, as models have it that fold case."""
    rows = {}
    for row, word in enumerate(words):
        rows.setdefault(word.lower(), row)
    return list(rows), vectors[list(rows.values())]


def with_lexicon(words, vectors):
    """Add the words of the opinion lexicon that are missing: the mean of its others, and noise."""
    from wefe.datasets import load_bingliu

    known = {word: row for row, word in enumerate(words)}
    added = {}
    for lexicon in load_bingliu().values():
        mean = vectors[[known[word] for word in lexicon if word in known]].mean(axis=0)
        for word in lexicon:
            if word not in known:
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
            words, vectors = lower_case(words, vectors)
        if name in ("glove-wiki-gigaword-300", "conceptnet-numberbatch-17-06-300"):
            words, vectors = with_lexicon(words, vectors)
        if name.startswith("conceptnet"):
            words = ["/c/en/" + word for word in words]
        return keyed_vectors(words, vectors[:, : int(name.rpartition("-")[2])])

    monkeypatch.setattr(downloader, "load", load)
    return asked_for


@pytest.fixture
def real_word2vec(monkeypatch, downloads, word2vec_subset):
    """The real vectors, for the test model and for the download of word2vec.

    One word of the document's queries is missing in the subset; it gets the vector of another.
    """
    import gensim.downloader

    import wefe.models
    from wefe.models import WordEmbeddingModel, _packaged

    def load_test_model():
        return WordEmbeddingModel(word2vec_subset, "word2vec")

    stand_in = gensim.downloader.load

    def load(name):
        if name != "word2vec-google-news-300":
            return stand_in(name)
        words = [*word2vec_subset.key_to_index, "judgmental"]
        rows = [*range(len(word2vec_subset)), word2vec_subset.key_to_index["conservative"]]
        return keyed_vectors(words, word2vec_subset.vectors[rows])

    monkeypatch.setattr(gensim.downloader, "load", load)
    for module in (wefe.models, _packaged):
        monkeypatch.setattr(module, "load_test_model", load_test_model)


@pytest.fixture
def files(tmp_path, monkeypatch, packaged):
    """A working directory with the word2vec files that the document names."""
    pytest.importorskip("gensim")
    table = keyed_vectors(*packaged)
    for name, binary in (("embeddings.bin", True), ("fast/embeddings.vec", False)):
        path = tmp_path / "path" / "to" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        table.save_word2vec_format(str(path), binary=binary)
    monkeypatch.chdir(tmp_path)


class _Tensor:
    """What of a torch tensor is needed to get at its numbers."""

    def __init__(self, array):
        self._array = array

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self._array


@pytest.fixture(params=["table", "gensim"])
def flair(request, monkeypatch, packaged):
    """A module in the place of flair, in the two ways in which flair has kept static vectors."""
    words, vectors = packaged

    class WordEmbeddings:
        def __init__(self, name):
            self.name = name
            if request.param == "gensim":
                self.precomputed_word_embeddings = keyed_vectors(words, vectors)
            else:
                self.vocab = {word: row for row, word in enumerate(words)}
                self.embedding = types.SimpleNamespace(weight=_Tensor(vectors))

    package, module = types.ModuleType("flair"), types.ModuleType("flair.embeddings")
    package.embeddings = module
    module.WordEmbeddings = WordEmbeddings
    monkeypatch.setitem(sys.modules, "flair", package)
    monkeypatch.setitem(sys.modules, "flair.embeddings", module)


@pytest.fixture
def shown(monkeypatch):
    """The figures shown, instead of a browser."""
    import plotly.basedatatypes
    import plotly.graph_objects

    figures = []

    def show(figure, *args, **kwargs):
        assert isinstance(figure, plotly.graph_objects.Figure)
        figures.append(figure)

    monkeypatch.setattr(plotly.basedatatypes.BaseFigure, "show", show)
    return figures
