"""The vectors behind many printed values, and word lists that are downloaded."""

from pathlib import Path

import pytest

DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture
def mirror(monkeypatch):
    """Word lists that would be downloaded, from a local folder."""
    if not DATA.is_dir():
        pytest.skip("no local mirror of the downloads")
    monkeypatch.setenv("WEFE_DATA_DIR", str(DATA))


@pytest.fixture
def word2vec(mirror):
    """13,013 word2vec vectors of Google News, as the paper calls them."""
    return {"word2vec": {"source": str(DATA / "models/word2vec_subset.kv"), "trust_pickle": True}}
