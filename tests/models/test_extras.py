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
    "parquet": ("pyarrow.parquet", "parquet", lambda folder: load(folder / "fuzzed.parquet")),
    "zst": ("zstandard", "zstd", lambda folder: load(folder / "fuzzed.zst")),
    "tokens": ("tokenizers", "hub", lambda folder: load(folder)),
    "hub": ("huggingface_hub", "hub", lambda _: load("org/name")),
    "gensim-data": ("gensim.downloader", "gensim", lambda _: load("glove-twitter-25")),
    "pickle": ("gensim.utils", "gensim", lambda folder: load(folder / "m", trust_pickle=True)),
    "saved": (
        "gensim.models",
        "gensim",
        lambda folder: WordEmbeddingModel((["she", "he"], VECTORS)).save(folder / "m.kv"),
    ),
    "search": (
        "faiss",
        "neighbors",
        lambda _: nearest_neighbors(LARGE, VECTORS, 1, approximate=True),
    ),
}


@pytest.mark.parametrize(("library", "extra", "use"), NEEDS.values(), ids=NEEDS)
def test_without_its_library_the_extra_is_named(
    tmp_path, monkeypatch, request, library, extra, use
):
    kind = request.node.callspec.id
    (tmp_path / "m").write_bytes(pickle.dumps([]))
    if kind in ("parquet", "zst", "tokens"):
        pytest.importorskip(library)
        for name, content in good_files(kind)[0].items():
            (tmp_path / name).write_bytes(content)
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setitem(sys.modules, library.partition(".")[0], None)
    with pytest.raises(ImportError, match=rf"wefe\[{extra}\]"):
        use(tmp_path)
    # Small tables are searched exactly.
    assert nearest_neighbors(LARGE[:9], VECTORS[:1], 2, approximate=True)[0].tolist() == [[0, 1]]
