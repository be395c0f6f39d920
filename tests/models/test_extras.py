"""Without the library that something needs, the error says which extra to install."""

import pickle
import sys

import numpy as np
import pytest
from fuzz_files import good_files

from wefe import load
from wefe.models import WordEmbeddingModel, nearest_neighbors

VECTORS = np.eye(2, dtype=np.float32)
LARGE = np.ones((33_000, 2), np.float32)
# The library, the extra, and what needs it, given a folder.
NEEDS = {
    "parquet": ("pyarrow.parquet", "parquet", lambda folder: folder / "fuzzed.parquet"),
    "zst": ("zstandard", "zstd", lambda folder: folder / "fuzzed.zst"),
    "tokens": ("tokenizers", "hub", lambda folder: folder),
    "hub": ("huggingface_hub", "hub", lambda _: "org/name"),
    "gensim-data": ("gensim.downloader", "gensim", lambda _: "glove-twitter-25"),
    "pickle": ("gensim.utils", "gensim", lambda folder: folder / "pickled"),
}


@pytest.fixture
def without(monkeypatch):
    def without(library):
        monkeypatch.setitem(sys.modules, library, None)
        monkeypatch.setitem(sys.modules, library.partition(".")[0], None)

    return without


@pytest.mark.parametrize("kind", NEEDS)
def test_without_the_library_of_a_format_the_extra_is_named(tmp_path, without, kind):
    library, extra, source = NEEDS[kind]
    (tmp_path / "pickled").write_bytes(pickle.dumps([]))
    if kind in ("parquet", "zst", "tokens"):
        pytest.importorskip(library)
        for name, content in good_files(kind)[0].items():
            (tmp_path / name).write_bytes(content)
    without(library)
    with pytest.raises(ImportError, match=rf"wefe\[{extra}\]"):
        load(source(tmp_path), trust_pickle=True)


def test_without_gensim_and_faiss_their_extras_are_named(tmp_path, without):
    without("gensim.models")
    without("faiss")
    with pytest.raises(ImportError, match=r"wefe\[gensim\]"):
        WordEmbeddingModel((["she", "he"], VECTORS)).save(tmp_path / "m.kv")
    with pytest.raises(ImportError, match=r"wefe\[neighbors\]"):
        nearest_neighbors(LARGE, VECTORS, 1, approximate=True)
    # Small tables are searched exactly.
    assert nearest_neighbors(LARGE[:9], VECTORS[:1], 2, approximate=True)[0].tolist() == [[0, 1]]
