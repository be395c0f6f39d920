"""Models are written as other libraries read them, to the last bit, and whole or not at all."""

import gzip
import itertools
import lzma
import os
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_files import at_most

from wefe import convert, load
from wefe.models import WordEmbeddingModel
from wefe.models._tables import ArrayVectors, StoredVectors
from wefe.models.formats._numbers import text_lines
from wefe.models.formats._write import (
    write_blocks,
)

WORDS = ["she", "he", "naïve", ".", "語"]
VECTORS = np.array(
    [[1, 0.5, -2e-3], [0, -0.0, 2], [1e-30, 4e20, 0.1], [-1, 0, 0.25], [9, 123.25, -7e-5]],
    np.float32,
)
TEXT = """\
she 1.0 0.5 -0.002
he 0.0 -0.0 2.0
naïve 1e-30 4e+20 0.1
. -1.0 0.0 0.25
語 9.0 123.25 -7e-05
""".encode()


def binary_of(words, vectors):
    body = [
        word.encode() + b" " + vector.tobytes()
        for word, vector in zip(words, vectors.astype("<f4"), strict=True)
    ]
    return b"%d %d\n" % vectors.shape + b"".join(body)


BINARY = binary_of(WORDS, VECTORS)


def save(model, *args):
    model.save(*args)


# By format: the suffix that stands for it, and the content.
FILES = {
    "glove": (".txt", TEXT),
    "word2vec": (".vec", b"5 3\n" + TEXT),
    "word2vec-binary": (".bin", BINARY),
}
ALL = {**{kind: suffix for kind, (suffix, _) in FILES.items()}, "gensim": ".kv"}

# Every float32 that is a number: subnormal ones and both zeros, too.
NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
BIT_PATTERNS = st.integers(0, 2**32 - 1).filter(lambda bits: bits >> 23 & 255 != 255)


def model_of(words=WORDS, vectors=VECTORS, name="m"):
    return WordEmbeddingModel.from_arrays(words, vectors, name)


def bits(vectors):
    return np.ascontiguousarray(vectors).view(np.uint32)


def names_for(vectors):
    return [f"word{row}" for row in range(len(vectors))]


def in_blocks(words, vectors, size):
    for start in range(0, len(words), size):
        yield words[start : start + size], vectors[start : start + size]


def check_loaded(path, words=WORDS, vectors=VECTORS):
    model = load(path)
    assert list(model.vocab) == words
    assert model.vectors.dtype == np.float32
    np.testing.assert_array_equal(bits(model.vectors), bits(vectors))


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


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
    assert files_in(tmp_path) == ["file"]


@pytest.fixture
def keyed_vectors():
    return pytest.importorskip("gensim.models").KeyedVectors


@pytest.fixture
def fasttext():
    """A trained fastText model: knows n-grams."""
    sentences = [["she", "works"], ["he", "works", "there"], ["they", "work"]] * 5
    model = pytest.importorskip("gensim.models").FastText(
        sentences, vector_size=8, min_count=1, bucket=50, epochs=2, seed=1, workers=1
    )
    return model.wv


# ---- What is in the files ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", FILES)
def test_files_are_as_their_format_says(tmp_path, kind):
    suffix, content = FILES[kind]
    save(model_of(), tmp_path / f"by-name{suffix}")
    assert (tmp_path / f"by-name{suffix}").read_bytes() == content
    save(model_of(), str(tmp_path / "other"), kind)
    assert (tmp_path / "other").read_bytes() == content
    assert len(files_in(tmp_path)) == 2


@pytest.mark.parametrize("kind", ["word2vec", "word2vec-binary"])
def test_bytes_are_those_of_gensim(tmp_path, packaged_model, keyed_vectors, kind):
    words = [word for word in packaged_model.vocab if " " not in word][:700]
    vectors = packaged_model.get_vectors(words).astype(np.float32)
    vectors[::7] *= 1e-3
    vectors[::11] *= 1e5
    vectors[::13] = vectors[::13].round(3)
    theirs = keyed_vectors(vectors.shape[1])
    theirs.add_vectors(words, vectors)
    theirs.save_word2vec_format(str(tmp_path / "theirs"), binary=kind == "word2vec-binary")
    for name, model in (
        ("ours", model_of(words, vectors)),
        ("wrapped", WordEmbeddingModel(theirs, "theirs")),
        ("again", load(tmp_path / "theirs")),
    ):
        save(model, tmp_path / name, kind)
        assert (tmp_path / name).read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("index", "n_rows"), [({"he": 1, "she": 0}, 2), ({"she": 0, "he": 1}, 5), ({"he": 3}, 5)]
)
def test_a_row_goes_with_its_word_whatever_the_order_of_the_index(tmp_path, kind, index, n_rows):
    pytest.importorskip("gensim")
    table = ArrayVectors.unchecked(index, VECTORS[:n_rows])
    save(WordEmbeddingModel(table), tmp_path / "file", kind)
    loaded = load(tmp_path / "file", trust_pickle=True)
    assert list(loaded.vocab) == list(index)
    np.testing.assert_array_equal(loaded.vectors, VECTORS[list(index.values())])


# ---- Numbers -----------------------------------------------------------------------------------


def check_digits(numbers):
    """The text of float32 numbers is the shortest that numpy finds."""
    numbers = np.asarray(numbers, np.float32).reshape(1, -1)
    (line,) = text_lines(["she"], numbers)
    assert line.decode().split()[1:] == [str(number) for number in numbers[0]]


def test_digits_are_the_fewest_at_powers_of_two_and_ten_and_beside_them():
    powers = np.array(
        [*(2.0**power for power in range(-149, 128)), *(10.0**power for power in range(-45, 39))],
        np.float32,
    )
    largest = np.finfo(np.float32).max
    for numbers in (powers, np.nextafter(powers, np.float32(0)), -np.nextafter(powers, largest)):
        # Very large and very small ones together, and the others, are written in different ways.
        check_digits(numbers)
        check_digits(numbers[np.abs(numbers) < 1e11])
        check_digits(numbers[(np.abs(numbers) < 10) & (np.abs(numbers) > 1e-4)])


@settings(max_examples=300, deadline=None)
@given(st.lists(NUMBERS | BIT_PATTERNS.map(lambda b: np.uint32(b).view(np.float32)), min_size=1))
def test_digits_are_the_fewest_for_any_number(numbers):
    check_digits(numbers)


def test_text_of_float64_has_its_digits_and_is_read_as_float32(tmp_path):
    vectors = np.array([[0.1, 1 / 3], [-2e-7, 1e16]])
    save(model_of(["a", "b"], vectors), tmp_path / "m.txt")
    text = "a 0.1 0.3333333333333333\nb -2e-07 1e+16\n"
    assert (tmp_path / "m.txt").read_text() == text
    check_loaded(tmp_path / "m.txt", ["a", "b"], vectors.astype(np.float32))


def test_binary_rounds_float64_and_says_so(tmp_path, caplog):
    save(model_of(), tmp_path / "m.bin")
    assert not caplog.text
    save(model_of(vectors=VECTORS.astype(np.float64) + 1e-12), tmp_path / "m.bin")
    assert "rounded to float32" in caplog.text
    check_loaded(tmp_path / "m.bin", vectors=(VECTORS.astype(np.float64) + 1e-12).astype("f4"))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *((kind, value) for kind in ALL for value in (np.nan, -np.inf)),
        # What float64 has and float32 has not.
        *((kind, 1e39) for kind in FILES),
    ],
)
def test_a_number_that_cannot_be_read_back_is_refused_with_its_word(old, kind, value):
    pytest.importorskip("gensim")
    vectors = VECTORS.astype(np.float64)
    vectors[3, 1] = value
    with pytest.raises(ValueError, match=r"vector of '\.' has a number"):
        save(model_of(vectors=vectors), old, kind)


# ---- Words -------------------------------------------------------------------------------------

BOTH, TEXTS, BINARY_ONLY = FILES, ["glove", "word2vec"], ["word2vec-binary"]
REFUSED = [
    (BOTH, "", "is empty"),
    (TEXTS, " she", "' '"),
    (TEXTS, "she ", "' '"),
    (TEXTS, "s\nhe", r"'\\n'"),
    (TEXTS, "s\rhe", r"'\\r'"),
    (TEXTS, "s\the", r"'\\t'"),
    (BOTH, "s\0he", r"'\\x00'"),
    (BOTH, "s\ud800he", r"'\\ud"),
    (BOTH, "é" * 1001, "2,000 bytes"),
    (BINARY_ONLY, "New York", "' '"),
    (BINARY_ONLY, "\nshe", r"'\\n'"),
]


@pytest.mark.parametrize(
    ("kind", "word", "reason"),
    [(kind, word, reason) for kinds, word, reason in REFUSED for kind in kinds],
)
def test_a_word_that_the_format_cannot_hold_is_refused_and_the_old_file_stays(
    old, kind, word, reason
):
    words = [*WORDS[:4], word]
    with pytest.raises(ValueError, match=f"the word .*{reason}"):
        save(model_of(words), old, kind)
    # Also where nobody knows the words before they come.
    with pytest.raises(ValueError, match=f"the word .*{reason}"):
        write_blocks(old, kind, in_blocks(words, VECTORS, 2), 5, 3)


@pytest.mark.parametrize("word", ["at 5", "a -1e5", "not nan", "\ufeffshe", "BZhang", "PAR1"])
def test_without_header_the_first_words_must_not_mislead_readers(tmp_path, word):
    words = [word, *WORDS[1:]]
    with pytest.raises(ValueError, match="cannot be written as glove.*Choose"):
        save(model_of(words), tmp_path / "m.txt")
    save(model_of(words), tmp_path / "m.vec")
    check_loaded(tmp_path / "m.vec", words)


@pytest.mark.parametrize("suffix", [".txt", ".vec"])
def test_words_with_spaces_are_written_as_text_and_counted_in_the_log(tmp_path, caplog, suffix):
    words = ["New York", "she", "a  b", "he", "x"]
    save(model_of(words), tmp_path / f"m{suffix}")
    check_loaded(tmp_path / f"m{suffix}", words)
    assert "2 words" in caplog.text
    assert "gensim and others cannot" in caplog.text
    caplog.clear()
    save(model_of(), tmp_path / f"m{suffix}")
    assert not caplog.text


def test_binary_words_may_have_tabs_unless_readers_would_take_the_first_for_text(tmp_path):
    words = ["a\tb", "a\t5", "x\n", "\tq", "a\r"]
    write_blocks(tmp_path / "m.bin", "word2vec-binary", in_blocks(words, VECTORS, 1), 5, 3)
    check_loaded(tmp_path / "m.bin", words)
    with pytest.raises(ValueError, match="first word and has a tab before a number"):
        save(model_of(words[1:], VECTORS[1:]), tmp_path / "m.bin")


# The bytes of its vectors may be anything: here none is NUL, and some are line ends and digits.
NOT_TEXT = np.array([[0x410A0A31, 0x3F8CCCCD], [0x41310A20, 0x3F8CCCCD]], np.uint32)


@pytest.mark.parametrize("words", [["5", "6"], ["nan", "she"], ["5\nx", "she"]])
@pytest.mark.parametrize("n_words", [1, 2])
def test_a_binary_file_that_starts_with_a_number_is_not_taken_for_text(tmp_path, words, n_words):
    vectors = NOT_TEXT.view(np.float32)[:n_words]
    save(model_of(words[:n_words], vectors), tmp_path / "m.bin")
    check_loaded(tmp_path / "m.bin", words[:n_words], vectors)


# ---- Blocks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("n_words", [4, 6])
def test_blocks_that_are_not_as_announced_leave_the_old_file(old, kind, n_words):
    with pytest.raises(ValueError, match=f"expected {n_words} words; got 5"):
        write_blocks(old, kind, in_blocks(WORDS, VECTORS, 2), n_words, 3)


@pytest.mark.parametrize("kind", ALL)
def test_an_interrupted_writer_leaves_the_old_file(old, kind):
    pytest.importorskip("gensim")

    def blocks():
        yield WORDS[:3], VECTORS[:3]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_blocks(old, kind, blocks(), 5, 3)


@pytest.mark.parametrize("kind", ["glove", "word2vec-binary"])
def test_memory_does_not_grow_with_the_model(tmp_path, kind):
    block = [str(row) for row in range(1000)], np.full((1000, 64), 0.1, np.float32)
    # All vectors take 26 MB.
    with at_most(12e6):
        write_blocks(tmp_path / "file", kind, itertools.repeat(block, 100), 100_000, 64)


@pytest.mark.parametrize("kind", ALL)
def test_a_mapped_model_is_saved_over_the_file_it_is_mapped_from(tmp_path, kind):
    if os.name != "posix":
        pytest.skip("Windows replaces no mapped file")
    pytest.importorskip("gensim")
    path = tmp_path / "vectors.npy"
    vectors = np.random.default_rng(0).normal(size=(2000, 30)).astype(np.float32)
    np.save(path, vectors)
    model = model_of(names_for(vectors), np.load(path, mmap_mode="r"))
    assert model.held == "mapped"
    save(model, path, kind)
    loaded = load(path, trust_pickle=True)
    np.testing.assert_array_equal(loaded.vectors, vectors)
    # Who has it mapped still sees the old bytes.
    np.testing.assert_array_equal(model.vectors, vectors)


# ---- gensim's own files ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_gensim_opens_its_own_format_with_words_vectors_and_dtype(tmp_path, keyed_vectors, dtype):
    words = ["New York", "", "a\nb", "she", "he"]
    vectors = np.random.default_rng(0).normal(size=(5, 4)).astype(dtype)
    vectors[4, 3] = np.finfo(dtype).max
    save(model_of(words, vectors), tmp_path / "m.kv")
    write_blocks(tmp_path / "n.kv", "gensim", in_blocks(words, vectors, 2), 5, 4, dtype=dtype)
    for name in ("m.kv", "n.kv"):
        theirs = keyed_vectors.load(str(tmp_path / name))
        assert theirs.index_to_key == words
        assert theirs.key_to_index == {word: row for row, word in enumerate(words)}
        assert theirs.vectors.dtype == dtype
        np.testing.assert_array_equal(theirs.vectors, vectors)
        assert theirs.next_index == 5
        theirs.add_vectors(["they"], vectors[:1])
        assert len(theirs) == 6
        np.testing.assert_array_equal(theirs["they"], vectors[0])


def test_fasttext_keeps_its_ngrams_and_vectors_to_the_last_bit(tmp_path, fasttext):
    unseen = fasttext.get_vector("working").copy()
    model = WordEmbeddingModel(fasttext, "ft", use_subwords=True)
    model.update("she", np.arange(8, dtype=np.float32))
    vectors = fasttext.vectors.copy()
    save(model, tmp_path / "m.kv")
    loaded = type(fasttext).load(str(tmp_path / "m.kv"))
    assert type(loaded) is type(fasttext)
    assert loaded.index_to_key == fasttext.index_to_key
    np.testing.assert_array_equal(loaded.vectors, vectors)
    np.testing.assert_array_equal(loaded.get_vector("working"), unseen)
    # What gensim computes again when it is asked to agrees with what is stored.
    loaded.adjust_vectors()
    np.testing.assert_allclose(loaded.vectors, vectors, atol=1e-5)
    # The n-grams of each word are computed again.
    assert b"buckets_word" not in (tmp_path / "m.kv").read_bytes()


def test_cached_lengths_are_not_saved_and_gensims_object_stays_as_it_was(tmp_path, keyed_vectors):
    theirs = keyed_vectors(3)
    theirs.add_vectors(WORDS, VECTORS.clip(-10, 10))
    theirs.set_vecattr("she", "count", 7)
    theirs.fill_norms()
    cached, state = theirs.norms, set(vars(theirs))
    theirs.vectors[0] = [0, 3, 4]
    save(WordEmbeddingModel(theirs), tmp_path / "m.kv")
    loaded = keyed_vectors.load(str(tmp_path / "m.kv"))
    assert loaded.get_vector("she", norm=True).tolist() == pytest.approx([0, 0.6, 0.8])
    assert loaded.get_vecattr("she", "count") == 7
    assert theirs.norms is cached
    assert set(vars(theirs)) == state


@pytest.mark.parametrize("kind", ALL)
def test_vectors_that_are_made_when_used_are_made_block_by_block(tmp_path, monkeypatch, kind):
    pytest.importorskip("gensim")
    model = convert(model_of(vectors=VECTORS.clip(-1e4, 1e4)), tmp_path / "m.safetensors", "int8")
    monkeypatch.setattr(StoredVectors, "vectors", property(lambda self: pytest.fail("all at once")))
    save(model, tmp_path / "file", kind)
    monkeypatch.undo()
    loaded = load(tmp_path / "file", trust_pickle=True)
    assert list(loaded.vocab) == WORDS
    np.testing.assert_array_equal(loaded.vectors, model.vectors)


def test_without_gensim_its_format_is_refused_with_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ImportError, match=r'pip install "wefe\[gensim\]"'):
        save(model_of(), tmp_path / "m.kv")
    with pytest.raises(ImportError, match=r'pip install "wefe\[gensim\]"'):
        write_blocks(tmp_path / "m.kv", "gensim", in_blocks(WORDS, VECTORS, 2), 5, 3)
    assert files_in(tmp_path) == []
    save(model_of(), tmp_path / "m.txt")
    check_loaded(tmp_path / "m.txt")


# ---- Choosing the format ---------------------------------------------------------------------


@pytest.mark.parametrize("packing", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("kind", FILES)
def test_packed_files_hold_the_same_and_are_the_same_every_time(tmp_path, kind, packing):
    suffix, content = FILES[kind]
    first, second = tmp_path / f"first{suffix}{packing}", tmp_path / f"second{suffix}{packing}"
    save(model_of(), first)
    save(model_of(), second)
    check_loaded(first)
    assert first.read_bytes() == second.read_bytes()
    if packing == ".gz":
        assert gzip.decompress(first.read_bytes()) == content
        assert first.read_bytes()[3:8] == bytes(5)  # neither a name nor a time
    if packing == ".xz":
        assert lzma.decompress(first.read_bytes()) == content


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("m", None, "'m'"),
        ("m.gz", None, "'m.gz'"),
        ("m.tx.gz", None, "mean '.txt'"),
        ("m.txt", "glov", "format .*'glove'"),
        ("m.txt", 3, "format"),
        ("m.kv.gz", None, "'gensim' .*'.gz'"),
        ("m.bin.xz", "native", "'native' .*'.xz'"),
    ],
)
def test_a_format_that_is_unknown_is_refused_with_the_nearest(tmp_path, name, kind, text):
    with pytest.raises(ValueError, match=text):
        save(model_of(), tmp_path / name, kind)
    with pytest.raises(TypeError, match="path must be a path"):
        save(model_of(), 3)
    assert files_in(tmp_path) == []


def test_suffixes_are_told_whatever_their_case_and_a_given_format_counts_more(tmp_path):
    save(model_of(), tmp_path / "M.TXT")
    assert (tmp_path / "M.TXT").read_bytes() == TEXT
    save(model_of(), tmp_path / "m.txt", "word2vec-binary")
    assert (tmp_path / "m.txt").read_bytes() == BINARY


def test_of_selected_words_those_are_written_and_the_log_says_so(tmp_path, caplog):
    table = ArrayVectors(["she", "he"], VECTORS[:2], ["she", "he", "they"], "big.txt")
    save(WordEmbeddingModel(table, "big"), tmp_path / "m.vec")
    check_loaded(tmp_path / "m.vec", ["she", "he"], VECTORS[:2])
    assert "big was opened for some words only" in caplog.text
