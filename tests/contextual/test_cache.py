"""The cache on disk."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from wefe.contextual import load_encoder
from wefe.contextual._cache import VectorCache, vector_key

DIM = 5


def vectors(start, stop):
    return {
        vector_key(b"settings", f"word {n}", 0, 4): np.full(DIM, n, dtype=np.float32)
        for n in range(start, stop)
    }


@pytest.fixture
def cache(tmp_path):
    return VectorCache(tmp_path / "encoders" / "toy.sqlite")


def assert_kept(cache, expected):
    kept = cache.get(list(expected))
    assert kept.keys() == expected.keys()
    for key, vector in expected.items():
        np.testing.assert_array_equal(kept[key], vector)


def test_what_is_kept_is_found_by_another_object(cache):
    many = vectors(0, 2500)  # more than fit into one statement
    assert cache.get(list(many)) == {}
    assert not cache.path.exists()
    cache.put(many)
    assert_kept(VectorCache(cache.path), many)
    cache.put({b"bad": np.array([1, np.nan], dtype=np.float32)})  # not kept
    assert cache.get([b"no such key", b"bad"]) == {}


@pytest.mark.parametrize("start", [0, 4096])
def test_a_broken_file_is_used_no_more(cache, start, caplog):
    cache.put(vectors(0, 300))
    data = cache.path.read_bytes()
    cache.path.write_bytes(data[:start] + b"\xff" * (len(data) - start))
    assert cache.get(list(vectors(0, 300))) == {}
    assert "cannot be used" in caplog.text


def test_a_place_that_cannot_be_used_is_said_once(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    cache = VectorCache(tmp_path / "file" / "toy.sqlite")
    for _ in range(3):
        cache.put(vectors(0, 1))
        assert cache.get(list(vectors(0, 1))) == {}
    assert caplog.text.count("cannot be used") == 1


def test_two_make_the_file_at_once(tmp_path, caplog):
    for n in range(20):
        path = tmp_path / str(n) / "toy.sqlite"
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda n, path=path: VectorCache(path).put(vectors(n, n + 1)), range(2)))
        assert_kept(VectorCache(path), vectors(0, 2))
    assert not caplog.records


# With an encoder


@pytest.fixture
def counted(tiny, tmp_path, n_runs):
    """Opens an encoder with a cache; counts the texts that its network reads."""

    def load(seed=0, side="right", **options):
        options = {"cache_dir": tmp_path, "progress": False, **options}
        network, tokenizer = tiny.encoder("bert", seed)
        tokenizer.truncation_side = side
        model = load_encoder((network, tokenizer), **options)
        n_runs.clear()  # not what it took to open it
        return model

    load.n_texts, load.folder = n_runs, tmp_path / "encoders"
    return load


def test_another_session_reads_what_was_encoded(counted):
    words = ["she", "nurse", "kids"]
    first = counted().get_vectors(words)
    assert sum(counted.n_texts) == 3
    again = counted()
    np.testing.assert_array_equal(again.get_vectors([*words[::-1], "boss"])[2::-1], first)
    assert sum(counted.n_texts) == 1
    (file,) = counted.folder.glob("*.sqlite")
    assert file.stem == again.fingerprint
    assert b"nurse" not in file.read_bytes()


def test_other_settings_are_other_vectors(counted):
    for options in (
        {},
        {"layer": 1},
        {"pooling": "cls"},
        {"pooling": "sentence"},
        {"templates": ["This is {}."]},
        {"max_length": 20},
        {"dtype": "bfloat16"},
        {"seed": 1},
        {"side": "left"},
    ):
        own = counted(**options).get_vectors(["nursing"])
        assert sum(counted.n_texts) == 1, options
        fresh = counted(cache=False, **options)
        np.testing.assert_array_equal(own, fresh.get_vectors(["nursing"]))
    assert len(list(counted.folder.glob("*.sqlite"))) == 3  # per weights, and their type
