"""Models are written as other libraries read them, to the last bit, and whole or not at all."""

import gzip
import lzma
import os

import numpy as np
import pytest
from model_files import at_most

from wefe import load
from wefe.models import WordEmbeddingModel
from wefe.models._tables import unchecked_table
from wefe.models.formats._write import WRITTEN

WORDS = ["she", "he", "naïve", ".", "語"]
TEXT = """\
she 1.0 0.5 -0.002
he 0.0 -0.0 2.0
naïve 1e-30 4e+20 0.1
. -1.0 0.0 0.25
語 9.0 123.25 -7e-05
""".encode()
VECTORS = np.array([line.split()[1:] for line in TEXT.splitlines()], np.float32)
BINARY = b"".join(w.encode() + b" " + v.tobytes() for w, v in zip(WORDS, VECTORS, strict=True))
FILES = {"glove": TEXT, "word2vec": b"5 3\n" + TEXT, "word2vec-binary": b"5 3\n" + BINARY}
SUFFIX = {"glove": ".txt", "word2vec": ".vec", "word2vec-binary": ".bin"}
plain_formats = pytest.mark.parametrize("kind", FILES)


@pytest.fixture(params=WRITTEN)
def kind(request):
    if request.param == "gensim":
        pytest.importorskip("gensim")
    return request.param


def model_of(words=WORDS, vectors=VECTORS):
    return WordEmbeddingModel((words, vectors), "m")


def check_loaded(path, words=WORDS, vectors=VECTORS):
    model = load(path)
    assert list(model.vocab) == words
    assert np.array(model.vectors).tobytes() == np.asarray(vectors, np.float32).tobytes()


@pytest.fixture(scope="module", autouse=True)
def no_waiting_for_the_disk():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def old(tmp_path):
    """A file that must stay as it is, and alone in its folder."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    yield path
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]


# What is in the files


@plain_formats
def test_files_are_as_their_format_says(tmp_path, kind):
    # A suffix counts whatever its case, and a given format counts more.
    path = tmp_path / f"M{SUFFIX[kind].upper()}"
    model_of().save(path)
    assert path.read_bytes() == FILES[kind]
    model_of().save(str(tmp_path / "m.kv"), kind)
    assert (tmp_path / "m.kv").read_bytes() == FILES[kind]


@pytest.mark.parametrize("kind", ["word2vec", "word2vec-binary"])
def test_bytes_are_those_of_gensim(tmp_path, packaged_model, kind):
    theirs = pytest.importorskip("gensim.models").KeyedVectors(packaged_model.dim)
    theirs.add_vectors(list(packaged_model.vocab)[:700], packaged_model.vectors[:700])
    theirs.save_word2vec_format(str(tmp_path / "theirs"), binary=kind == "word2vec-binary")
    WordEmbeddingModel(theirs).save(tmp_path / "ours", kind)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_a_row_goes_with_its_word_whatever_the_order_of_the_index(tmp_path, kind):
    index = {"he": 1, "she": 0}
    WordEmbeddingModel(unchecked_table(index, VECTORS)).save(tmp_path / "m", kind)
    check_loaded(tmp_path / "m", list(index), VECTORS[list(index.values())])


def test_float64_is_rounded_where_it_must_be(tmp_path, caplog):
    vectors = np.array([[0.1, 1 / 3], [-2e-7, 1e16]])
    model = model_of(["a", "b"], vectors)
    model.save(tmp_path / "m.txt")
    text = "a 0.1 0.3333333333333333\nb -2e-07 1e+16\n"
    assert (tmp_path / "m.txt").read_text() == text
    assert not caplog.text
    model.save(tmp_path / "m.bin")
    assert "rounded to float32" in caplog.text
    check_loaded(tmp_path / "m.bin", ["a", "b"], vectors)


def test_a_number_that_cannot_be_read_back_is_refused_with_its_word(old, kind):
    vectors = VECTORS.astype(np.float64)
    # gensim's own files are the only ones with numbers beyond float32.
    vectors[3, 1] = np.nan if kind == "gensim" else 1e39
    with pytest.raises(ValueError, match=r"the vector of '\.' has"):
        model_of(vectors=vectors).save(old, kind)


# Words


@pytest.mark.parametrize(
    ("kinds", "word", "reason"),
    [
        (FILES, "", "empty"),
        (["glove", "word2vec"], " she", "' '"),
        (["glove", "word2vec"], "s\nhe", r"'\\n'"),
        (FILES, "s\0he", r"'\\x00'"),
        (FILES, "s\ud800he", r"'\\ud"),
        (FILES, "é" * 1001, "2,000 bytes"),
        (["word2vec-binary"], "New York", "' '"),
    ],
)
def test_a_word_that_the_format_cannot_hold_is_refused_and_the_old_file_stays(
    old, kinds, word, reason
):
    for kind in kinds:
        with pytest.raises(ValueError, match=f"the word .*{reason}"):
            model_of([*WORDS[:4], word]).save(old, kind)


@pytest.mark.parametrize("word", ["at 5", "a -1e5", "not nan"])
def test_without_header_the_first_words_must_not_mislead_readers(tmp_path, word):
    words = [word, *WORDS[1:]]
    with pytest.raises(ValueError, match="cannot be written as glove.*Choose"):
        model_of(words).save(tmp_path / "m.txt")
    model_of(words).save(tmp_path / "m.vec")
    check_loaded(tmp_path / "m.vec", words)


def test_text_may_have_words_with_spaces_and_binary_with_tabs(tmp_path, caplog):
    words = ["New York", "she", "a  b", "he", "x"]
    model_of(words).save(tmp_path / "m.txt")
    check_loaded(tmp_path / "m.txt", words)
    assert "2 words" in caplog.text
    words = ["a\tb", "a\t5", "x\n", "\tq", "a\r"]
    model_of(words).save(tmp_path / "m.bin")
    check_loaded(tmp_path / "m.bin", words)


# The bytes of its vectors may be anything: here none is NUL, and some are line ends and digits.
NOT_TEXT = np.array([[0x410A0A31, 0x3F8CCCCD], [0x41310A20, 0x3F8CCCCD]], np.uint32)


@pytest.mark.parametrize("words", [["5"], ["nan", "she"], ["5\nx", "she"], ["a\nb"]])
def test_a_binary_file_that_starts_with_a_number_is_not_taken_for_text(tmp_path, words):
    vectors = NOT_TEXT.view(np.float32)[: len(words)]
    model_of(words, vectors).save(tmp_path / "m.bin")
    check_loaded(tmp_path / "m.bin", words, vectors)


# Blocks


def test_an_interrupted_writer_and_an_empty_model_leave_the_old_file(old, kind):
    def blocks():
        yield WORDS[:3], VECTORS[:3]
        raise KeyboardInterrupt

    model = model_of()
    model.wv.blocks = blocks
    with pytest.raises(KeyboardInterrupt):
        model.save(old, kind)
    with pytest.raises(ValueError, match="no words to write"):
        model_of([], np.empty((0, 3))).save(old, kind)


@pytest.mark.parametrize("kind", ["glove", "word2vec-binary", "native"])
def test_memory_does_not_grow_with_the_model(tmp_path, kind):
    numbers = np.full((1000, 256), 0.1, np.float32)
    model = model_of(["w"], numbers[:1])
    model.wv.blocks = lambda: (([f"w{n}-{r}" for r in range(1000)], numbers) for n in range(20))
    # All vectors take 20 MB; the native format keeps its vocabulary until the end.
    with at_most(10e6):
        model.save(tmp_path / "file", kind)


@pytest.mark.skipif(os.name != "posix", reason="Windows replaces no mapped file")
def test_a_mapped_model_is_saved_over_the_file_it_is_mapped_from(tmp_path, kind):
    path = tmp_path / "vectors.npy"
    np.save(path, VECTORS)
    model = model_of(WORDS, np.load(path, mmap_mode="r"))
    assert model.held == "mapped"
    model.save(path, kind)
    check_loaded(path)
    # Who has it mapped still sees the old bytes.
    np.testing.assert_array_equal(model.vectors, VECTORS)


# gensim's own files


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_gensim_opens_its_own_format_with_words_vectors_and_dtype(tmp_path, dtype):
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    words, vectors = ["New York", "", "a\nb", "she", "he"], VECTORS.clip(-9, 9).astype(dtype)
    model_of(words, vectors).save(tmp_path / "m.kv")
    theirs = keyed_vectors.load(str(tmp_path / "m.kv"))
    assert theirs.index_to_key == words
    np.testing.assert_array_equal(theirs.vectors, vectors, strict=True)
    theirs.add_vectors(["they"], vectors[:1])
    np.testing.assert_array_equal(theirs["they"], vectors[0])


def test_of_fasttext_the_vectors_of_words_are_written_as_plain_ones(tmp_path, gensim_model):
    fasttext = gensim_model("FastText").wv
    model = WordEmbeddingModel(fasttext, "ft")
    model.update("she", np.arange(4, dtype=np.float32))
    model.save(tmp_path / "m.kv")
    check_loaded(tmp_path / "m.kv", fasttext.index_to_key, fasttext.vectors)


# Choosing the format


@pytest.mark.parametrize("packing", [".gz", ".bz2", ".xz"])
@plain_formats
def test_packed_files_hold_the_same_and_are_the_same_every_time(tmp_path, kind, packing):
    first, second = (tmp_path / f"{name}{SUFFIX[kind]}{packing}" for name in ("one", "two"))
    model_of().save(first)
    model_of().save(second)
    check_loaded(first)
    assert first.read_bytes() == second.read_bytes()
    if unpack := {".gz": gzip.decompress, ".xz": lzma.decompress}.get(packing):
        assert unpack(first.read_bytes()) == FILES[kind]


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("m", None, "'m'"),
        ("m.tx.gz", None, "mean '.txt'"),
        ("m.txt", "glov", "format .*'glove'"),
        ("m.kv.gz", None, "'gensim' .*'.gz'"),
    ],
)
def test_a_format_that_is_unknown_is_refused_with_the_nearest(tmp_path, name, kind, text):
    with pytest.raises(ValueError, match=text):
        model_of().save(tmp_path / name, kind)
    assert [*tmp_path.iterdir()] == []


def test_of_selected_words_those_are_written_and_the_log_says_so(tmp_path, caplog):
    vectors = dict(zip(["she", "he"], VECTORS[:2], strict=True))
    model = load(vectors, "big", words=["she", "he", "they"], hold="selected")
    model.save(tmp_path / "m.vec")
    check_loaded(tmp_path / "m.vec", ["she", "he"], VECTORS[:2])
    assert "big was opened for some words only" in caplog.text
