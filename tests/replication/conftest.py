"""The model behind many printed values, where it lies beside the checkout."""

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@pytest.fixture(scope="module")
def word2vec():
    """An entry of a study file: 13,013 words of word2vec Google News."""
    pytest.importorskip("gensim")
    path = DATA / "models" / "word2vec_subset.kv"
    if not path.is_file():
        pytest.skip("the word2vec subset is not at hand")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEFE_DATA_DIR", str(DATA))
        yield {"source": str(path), "trust_pickle": True}
