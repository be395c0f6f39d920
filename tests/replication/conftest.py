"""The models behind printed values, where the data lies beside the checkout."""

from pathlib import Path

import pytest

from wefe import WordEmbeddingModel
from wefe.replication import _replication

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@pytest.fixture(scope="module")
def mirror():
    """The files that the package would download."""
    if not (DATA / "bingliu").is_dir():
        pytest.skip("no local mirror of the bulk files")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEFE_DATA_DIR", str(DATA))
        yield DATA


@pytest.fixture(scope="module")
def word2vec(mirror):
    """An entry of a study file: 13,013 words of word2vec Google News."""
    pytest.importorskip("gensim")
    path = mirror / "models" / "word2vec_subset.kv"
    if not path.is_file():
        pytest.skip("the word2vec subset is not at hand")
    return {"source": str(path), "trust_pickle": True}


@pytest.fixture
def no_downloads(monkeypatch):
    def unreachable(name):
        raise ConnectionError(name)

    monkeypatch.setattr(_replication, "load_query_set", unreachable)


@pytest.fixture
def few():
    return WordEmbeddingModel((["she", "he"], [[1.0, 0.0], [0.0, 1.0]]), name="few words")
