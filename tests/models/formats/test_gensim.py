"""What gensim saved is opened without running code, or if it is trusted."""

import pickle
import struct
import sys

import numpy as np
import pytest
from model_files import Bomb, at_most

import wefe
from wefe.models._types import Reading
from wefe.models.formats._arrays import open_gensim

gensim_models = pytest.importorskip("gensim.models")

PLAIN, TRUSTED = Reading(), Reading(trust_pickle=True)
WORDS = ["she", "he", "naïve", ".", "語"]
VECTORS = np.arange(15, dtype=np.float32).reshape(5, 3) / 7


def keyed_vectors(vectors=VECTORS):
    table = gensim_models.KeyedVectors(vectors.shape[1], dtype=vectors.dtype)
    table.add_vectors(WORDS, vectors)
    return table


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.kv"


@pytest.fixture
def apart(path):
    """The vectors in a file of their own, as gensim saves large ones."""
    keyed_vectors().save(str(path), separately=["vectors"])
    return path


# Plain KeyedVectors


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize("dtype", [">f4", "<f8", "<f2"])
@pytest.mark.parametrize("order", "CF")
def test_plain_vectors_need_neither_trust_nor_gensim(path, monkeypatch, protocol, dtype, order):
    table = keyed_vectors()
    table.vectors = np.array(VECTORS, dtype, order=order)
    table.save(str(path), pickle_protocol=protocol)
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.utils", None)
    model = wefe.load(path)
    assert (model.name, list(model.vocab)) == ("m", WORDS)
    np.testing.assert_array_equal(model.vectors, VECTORS.astype(dtype), strict=True)
    model.update("he", np.ones(3, dtype))
    with pytest.raises(ValueError, match=r"m\.kv cannot be mapped"):
        wefe.load(path, hold="mapped")


def test_vectors_of_their_own_file_are_mapped_and_the_file_never_changes(apart):
    companion = apart.with_name("m.kv.vectors.npy")
    before = companion.read_bytes()
    wefe.load(apart, hold="mapped").update("he", np.full(3, 9, np.float32))
    assert companion.read_bytes() == before
    model = wefe.load(apart, hold="memory")
    companion.unlink()
    np.testing.assert_array_equal(model.vectors, VECTORS)
    with pytest.raises(FileNotFoundError, match=companion.name):
        open_gensim(apart, PLAIN)


@pytest.mark.parametrize("vectors", [VECTORS[:4], VECTORS.ravel(), VECTORS.astype(object)])
def test_a_companion_of_no_vectors_is_refused(apart, vectors):
    np.save(apart.with_name("m.kv.vectors.npy"), vectors)
    with pytest.raises(ValueError, match=r"m\.kv"):
        open_gensim(apart, PLAIN)


@pytest.mark.parametrize("apart", [False, True])
def test_rows_that_belong_to_no_word_shift_no_others(path, apart):
    # Whatever went through all rows stopped before the last of the words.
    table = keyed_vectors()
    del table.key_to_index["he"]
    table.save(str(path), sep_limit=0 if apart else 1 << 20)
    model = wefe.load(path)
    assert list(model.vocab) == ["she", "naïve", ".", "語"]
    assert np.array_equal(model.vectors, VECTORS[[0, 2, 3, 4]])


# Pickles that do harm


class Calls:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


def text(word):
    return b"\x8c%c%s" % (len(word), word.encode())


def array(data, shape):
    """The instructions that make an array of float32."""
    call = text("numpy._core.numeric") + text("_frombuffer") + b"\x93("
    dtype = text("numpy") + text("dtype") + b"\x93" + text("f4") + b"\x85R"
    state = b"(K\x03" + text("<") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
    return call + data + dtype + state + shape + text("C") + b"tR"


def write_plain(path, **parts):
    """Write `KeyedVectors` with some parts replaced by instructions of a pickle."""
    index = {"key_to_index": b"}" + text("she") + b"K\0s"}
    whole = index | {"vectors": array(b"C\x04abcd", b"K\x01K\x01\x86"), **parts}
    start = b"\x80\x04" + text("gensim.models.keyedvectors") + text("KeyedVectors") + b"\x93)\x81}("
    path.write_bytes(start + b"".join(text(name) + whole[name] for name in whole) + b"ub.")


def test_nothing_runs_unless_it_is_trusted(path, tmp_path):
    mark = tmp_path / "mark"
    path.write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(ValueError, match=r"m\.kv.*open.*any code.*trust_pickle=True"):
        open_gensim(path, PLAIN)
    assert not mark.exists()
    # The bomb does work: whoever trusts it gets what it does.
    with pytest.raises(ValueError, match=r"m\.kv"):
        open_gensim(path, TRUSTED)
    assert mark.exists()


@pytest.mark.parametrize(
    "call",
    [(eval, "1"), (getattr, "", "join"), (np.empty, 10**9), (np.load, "m")],
    ids=lambda call: call[0].__name__,
)
def test_what_plain_vectors_do_not_need_is_refused(path, call):
    table = keyed_vectors()
    table.expandos["count"] = Calls(*call)
    table.save(str(path))
    with pytest.raises(ValueError, match=r"m\.kv.*trust_pickle=True"):
        open_gensim(path, PLAIN)


HARM = {
    "memo": b"Nr\xff\xff\xff\x0f",
    "bytearray": b"\x96" + struct.pack("<Q", 1 << 33),
    "bytes": b"\x8e" + struct.pack("<Q", 1 << 33),
    "text": b"X" + struct.pack("<I", (1 << 32) - 1),
    "shape": array(b"C\x04abcd", b"J\0\0\0\x40\x85"),
    "time of hashes": b"})" + b"".join(b"\x94h%c\x86" % n for n in range(60)) + b"Ns",
    "depth of hashes": b"})" + b"\x85" * 100_000 + b"Ns",
    "marks": b"(" * 100_000,
    "objects": b"(" + array(b"C\x04abcd", b"K\1\x85") * 3000,
    "persistent": b"Pname\n",
    "extension": b"\x82\x01",
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_a_pickle_takes_no_more_than_some_times_its_size(path, harm):
    write_plain(path, vectors=harm)
    most = 2**20 + 500 * path.stat().st_size
    with at_most(most), pytest.raises(ValueError, match=r"m\.kv.*trust_pickle"):
        open_gensim(path, PLAIN)


def test_an_array_that_stands_there_often_takes_memory_once(path):
    data, shape = b"B" + struct.pack("<I", 1 << 20) + bytes(1 << 20) + b"\x94", b"J\0\0\4\0\x85"
    write_plain(path, more=b"](" + array(data, shape) + array(b"h\0", shape) * 200 + b"e")
    with at_most(4 << 20):
        assert open_gensim(path, PLAIN).n_words == 1


# Other files of gensim's


@pytest.mark.parametrize("kind", ["Word2Vec", "FastText", "Doc2Vec"])
def test_models_need_trust_and_give_the_vectors_of_their_words(
    tmp_path, monkeypatch, gensim_model, kind
):
    trained = gensim_model(kind)
    # A name that looks like an address is none.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    path = (tmp_path / "s3:" / "m [1]%20.model").relative_to(tmp_path)
    trained.save(str(path.absolute()))
    with pytest.raises(ValueError, match=rf"model.*{kind}.*trust_pickle=True"):
        open_gensim(path, PLAIN)
    source = open_gensim(path, TRUSTED)
    assert source.table.wv.index_to_key == trained.wv.index_to_key
    np.testing.assert_array_equal(source.table.vectors, trained.wv.vectors)


def test_what_has_no_vectors_of_words_is_refused(path, gensim_model):
    numbers = gensim_models.KeyedVectors(3)
    numbers.add_vectors(["she", 10], VECTORS[:2])
    for thing, reading, culprit in (
        ({"she": [1.0]}, PLAIN, "dict"),
        (VECTORS, TRUSTED, "ndarray"),
        (gensim_model("Doc2Vec").dv, TRUSTED, ""),
        (numbers, PLAIN, "the word 10"),
    ):
        path.write_bytes(pickle.dumps(thing))
        with pytest.raises(ValueError, match=rf"m\.kv.*{culprit}"):
            open_gensim(path, reading)


def test_counts_are_those_of_training_and_not_made_up(path, write, gensim_model):
    gensim_model("Word2Vec").wv.save(str(path))
    source = open_gensim(path, PLAIN)
    counts = dict(zip(source.table.key_to_index, source.counts, strict=True))
    assert counts == {"she": 5, "reads": 10, "math": 5, "he": 5, "art": 5}
    text = write(b"4 2\nshe 1 2\nhe 3 4\nart 5 6\nmath 7 8\n", "m.txt")
    gensim_models.KeyedVectors.load_word2vec_format(str(text)).save(str(path))
    assert open_gensim(path, PLAIN).counts is None
