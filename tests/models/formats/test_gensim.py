"""What gensim saved is opened without running code, or if it is trusted."""

import pickle
import shutil
import struct
import sys

import numpy as np
import pytest
from model_files import Bomb, at_most

import wefe
from wefe.models import WordEmbeddingModel
from wefe.models.formats._gensim import open_gensim
from wefe.models.formats._source import Reading

gensim_models = pytest.importorskip("gensim.models")
gensim_corpora = pytest.importorskip("gensim.corpora")

TRUSTED = Reading(trust_pickle=True)
WORDS = ["she", "he", "naïve", ".", "語"]
VECTORS = np.arange(15, dtype=np.float32).reshape(5, 3) / 7
CORPUS = [["she", "reads", "math"], ["he", "reads", "art"], ["she", "likes", "art"]] * 5
TRAINING = {"vector_size": 4, "min_count": 1, "epochs": 1, "workers": 1, "seed": 1}


def keyed_vectors(vectors=VECTORS):
    table = gensim_models.KeyedVectors(vectors.shape[1], dtype=vectors.dtype)
    table.add_vectors(WORDS, vectors)
    return table


@pytest.fixture
def together(tmp_path):
    path = tmp_path / "m.kv"
    keyed_vectors().save(str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["m.kv"]
    return path


@pytest.fixture
def apart(tmp_path):
    """The vectors in a file of their own, as gensim saves large ones."""
    path = tmp_path / "m.kv"
    keyed_vectors().save(str(path), separately=["vectors"])
    assert (tmp_path / "m.kv.vectors.npy").is_file()
    return path


@pytest.fixture(scope="module")
def trained():
    tagged = gensim_models.doc2vec.TaggedDocument
    return {
        "Word2Vec": gensim_models.Word2Vec(CORPUS, **TRAINING),
        "FastText": gensim_models.FastText(CORPUS, bucket=50, **TRAINING),
        "Doc2Vec": gensim_models.Doc2Vec(
            [tagged(w, [i]) for i, w in enumerate(CORPUS)], **TRAINING
        ),
    }


# ---- Plain KeyedVectors ------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "<f2"])
def test_plain_vectors_need_neither_trust_nor_gensim(tmp_path, monkeypatch, protocol, dtype):
    for order in "CF":
        table = keyed_vectors(np.array(VECTORS, dtype, order=order))
        table.vectors = np.array(VECTORS, dtype, order=order)
        table.save(str(tmp_path / f"{order}.kv"), pickle_protocol=protocol)
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.utils", None)
    for order in "CF":
        source = open_gensim(tmp_path / f"{order}.kv", Reading())
        [(words, vectors)] = source.blocks()
        assert (source.name, source.dim, words, vectors.dtype) == (order, 3, WORDS, np.dtype(dtype))
        np.testing.assert_array_equal(vectors, VECTORS.astype(dtype))
        WordEmbeddingModel(source.table).update("he", np.ones(3, dtype))


def test_vectors_of_their_own_file_are_mapped_and_the_file_never_changes(apart, tmp_path):
    companion = apart.with_name("m.kv.vectors.npy")
    before = companion.read_bytes()
    model = wefe.load(apart, hold="mapped")
    assert model.held == "mapped"
    model.update("he", np.full(3, 9, np.float32))
    assert companion.read_bytes() == before
    (tmp_path / "other").mkdir()
    for file in (apart, companion):
        shutil.move(file, tmp_path / "other" / file.name)
    model = wefe.load(tmp_path / "other" / "m.kv", hold="memory")
    (tmp_path / "other" / companion.name).write_bytes(b"")
    assert model.held == "memory"
    np.testing.assert_array_equal(model.vectors, VECTORS)


def test_vectors_within_the_pickle_cannot_be_mapped(together):
    with pytest.raises(ValueError, match=r"m\.kv cannot be mapped"):
        wefe.load(together, hold="mapped")


@pytest.mark.parametrize("name", ["m.kv", "m.kv.vectors.npy"])
def test_a_missing_file_is_named(apart, name):
    apart.with_name(name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        open_gensim(apart, Reading())


@pytest.mark.parametrize(
    "vectors",
    [VECTORS[:4], VECTORS.ravel(), VECTORS.astype(int), VECTORS.astype(object)],
    ids=["few rows", "1-d", "int", "objects"],
)
def test_a_companion_of_no_vectors_is_refused(apart, vectors):
    np.save(apart.with_name("m.kv.vectors.npy"), vectors)
    with pytest.raises(ValueError, match=r"m\.kv"):
        open_gensim(apart, Reading())


def test_a_pickle_that_says_nothing_of_its_vectors_is_refused(together, tmp_path):
    content = together.read_bytes()
    assert content.count(b"\x07vectors\x94") == 1
    (tmp_path / "changed.kv").write_bytes(content.replace(b"\x07vectors\x94", b"\x07wectors\x94"))
    with pytest.raises(ValueError, match=r"changed\.kv: expected gensim's plain KeyedVectors"):
        open_gensim(tmp_path / "changed.kv", Reading())


# ---- Pickles that do harm ----------------------------------------------------------------------


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
    whole = {
        "key_to_index": b"}" + text("she") + b"K\0s",
        "vectors": array(b"C\x04abcd", b"K\x01K\x01\x86"),
        **parts,
    }
    start = b"\x80\x04" + text("gensim.models.keyedvectors") + text("KeyedVectors") + b"\x93)\x81}("
    path.write_bytes(start + b"".join(text(name) + whole[name] for name in whole) + b"ub.")


def test_nothing_runs_unless_it_is_trusted(tmp_path):
    path, mark = tmp_path / "m.kv", tmp_path / "mark"
    path.write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(ValueError, match=r"m\.kv.*open.*any code.*trust_pickle=True"):
        open_gensim(path, Reading())
    assert not mark.exists()
    # The bomb does work: whoever trusts it gets what it does.
    with pytest.raises(ValueError, match=r"m\.kv"):
        open_gensim(path, TRUSTED)
    assert mark.exists()


@pytest.mark.parametrize(
    "call",
    [
        (eval, "1"),
        (getattr, "", "join"),
        (np.empty, 10**9),
        (np.load, "m.npy"),
        (np.dtype, [("a", "f4")]),
        (pickle.loads, b"N."),
    ],
    ids=lambda call: call[0].__name__,
)
def test_what_plain_vectors_do_not_need_is_refused(together, call):
    table = keyed_vectors()
    table.expandos["count"] = Calls(*call)
    table.save(str(together))
    with pytest.raises(ValueError, match=r"m\.kv.*trust_pickle=True"):
        open_gensim(together, Reading())


HARM = {
    "memo": b"Nr\xff\xff\xff\x0f",
    "memo as text": b"Np99999999\n",
    "bytearray": b"\x96" + struct.pack("<Q", 1 << 33),
    "bytes": b"\x8e" + struct.pack("<Q", 1 << 33),
    "text": b"X" + struct.pack("<I", (1 << 32) - 1),
    "frame": b"\x95" + struct.pack("<Q", 1 << 33),
    "shape": array(b"C\x04abcd", b"J\0\0\0\x40\x85"),
    "time of hashes": b"})" + b"".join(b"\x94h%c\x86" % n for n in range(60)) + b"Ns",
    "depth of hashes": b"})" + b"\x85" * 300_000 + b"Ns",
    "marks": b"(" * 300_000,
    "dicts": b"(" + b"}" * 300_000,
    "objects": b"(" + array(b"C\x04abcd", b"K\1\x85") * 3000,
    "persistent": b"Pname\n",
    "extension": b"\x82\x01",
}


@pytest.mark.parametrize("harm", HARM)
def test_a_pickle_takes_no_more_than_some_times_its_size(tmp_path, harm):
    path = tmp_path / "m.kv"
    write_plain(path, vectors=HARM[harm])
    most = 2**20 + 500 * path.stat().st_size
    with at_most(most), pytest.raises(ValueError, match=r"m\.kv.*trust_pickle"):
        open_gensim(path, Reading())


def test_an_array_that_stands_there_often_takes_memory_once(tmp_path):
    data, shape = b"B" + struct.pack("<I", 1 << 20) + bytes(1 << 20) + b"\x94", b"J\0\0\4\0\x85"
    many = b"](" + array(data, shape) + array(b"h\0", shape) * 200 + b"e"
    write_plain(tmp_path / "m.kv", more=many)
    with at_most(4 << 20):
        assert open_gensim(tmp_path / "m.kv", Reading()).n_words == 1


# ---- Other files of gensim's ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Word2Vec", "FastText", "Doc2Vec"])
def test_models_need_trust_and_give_the_vectors_of_their_words(tmp_path, trained, kind):
    trained[kind].save(str(tmp_path / "m.model"))
    with pytest.raises(ValueError, match=rf"m\.model.*{kind}.*trust_pickle=True"):
        open_gensim(tmp_path / "m.model", Reading())
    source = open_gensim(tmp_path / "m.model", TRUSTED)
    assert source.table.wv.index_to_key == trained[kind].wv.index_to_key
    np.testing.assert_array_equal(source.table.vectors, trained[kind].wv.vectors)


def test_the_name_of_a_file_is_no_address(tmp_path, monkeypatch, trained):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    path = tmp_path / "s3:" / "m [1]%20.model"
    trained["Word2Vec"].save(str(path))
    for given_path in (path, path.relative_to(tmp_path)):
        assert open_gensim(given_path, TRUSTED).n_words == 6


@pytest.mark.parametrize(
    "thing", [{"she": [1.0]}, VECTORS, "a model"], ids=["dict", "array", "str"]
)
@pytest.mark.parametrize("reading", [Reading(), TRUSTED], ids=["plain", "trusted"])
def test_other_pickles_are_refused(tmp_path, thing, reading):
    (tmp_path / "m.kv").write_bytes(pickle.dumps(thing))
    with pytest.raises(ValueError, match=r"m\.kv"):
        open_gensim(tmp_path / "m.kv", reading)


def test_what_has_no_vectors_of_words_is_refused(tmp_path, trained):
    numbers = gensim_models.KeyedVectors(3)
    numbers.add_vectors(["she", 10], VECTORS[:2])
    for saved, reading, culprit in (
        (gensim_corpora.Dictionary(CORPUS), TRUSTED, "Dictionary"),
        (trained["Doc2Vec"].dv, TRUSTED, ""),
        (numbers, Reading(), "the word 10"),
    ):
        saved.save(str(tmp_path / "m.kv"))
        with pytest.raises(ValueError, match=rf"m\.kv.*{culprit}"):
            open_gensim(tmp_path / "m.kv", reading)


def test_without_gensim_the_error_says_what_to_install(tmp_path, trained, monkeypatch):
    trained["Word2Vec"].save(str(tmp_path / "m.model"))
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.utils", None)
    with pytest.raises(ImportError, match=r'pip install "wefe\[gensim\]"'):
        open_gensim(tmp_path / "m.model", TRUSTED)


# ---- Counts and subwords -----------------------------------------------------------------------


@pytest.mark.parametrize("plain", [False, True])
def test_counts_are_those_of_training(tmp_path, trained, plain):
    model = trained["Word2Vec"]
    (model.wv if plain else model).save(str(tmp_path / "m"))
    counts = open_gensim(tmp_path / "m", Reading(trust_pickle=not plain)).counts()
    assert dict(counts) == {"she": 10, "reads": 10, "math": 5, "he": 5, "likes": 5, "art": 10}
    assert type(counts["she"]) is int


def test_counts_that_gensim_made_up_are_not_believed(tmp_path, together):
    text = tmp_path / "m.txt"
    text.write_text("4 2\nshe 1 2\nhe 3 4\nart 5 6\nmath 7 8\n")
    table = gensim_models.KeyedVectors.load_word2vec_format(str(text))
    assert table.get_vecattr("she", "count") == 4
    table.save(str(tmp_path / "made-up.kv"))
    assert open_gensim(tmp_path / "made-up.kv", Reading()).counts is None
    assert open_gensim(together, Reading()).counts is None


@pytest.mark.parametrize(
    ("subwords", "expected"), [(None, False), ("refuse", False), ("mean", True)]
)
def test_unseen_words_are_built_if_asked_for(tmp_path, trained, subwords, expected):
    trained["FastText"].save(str(tmp_path / "m.model"))
    model = wefe.load(tmp_path / "m.model", trust_pickle=True, subwords=subwords)
    assert ("shes" in model) is expected
