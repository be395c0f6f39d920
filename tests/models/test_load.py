"""Opening files: formats are told by content, damage is named, nothing is unpickled."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe import load
from wefe.models import WordEmbeddingModel

WORDS = ["she", "he", "New York", "naïve", "."]
VECTORS = np.array([[1, 0.5, -2e-3], [0, 1, 2], [3, 4, 5], [-1, 0, 0.25], [9, 8, 7]], np.float32)


def text_of(words, vectors, header):
    lines = [f"{len(words)} {vectors.shape[1]}"] if header else []
    for word, vector in zip(words, vectors, strict=True):
        lines.append(f"{word} {' '.join(repr(float(x)) for x in vector)}")
    return ("\n".join(lines) + "\n").encode()


def binary_of(words, vectors, newline=b"\n"):
    body = b"".join(
        word.encode() + b" " + row.astype("<f4").tobytes() + newline
        for word, row in zip(words, vectors, strict=True)
    )
    return f"{len(words)} {vectors.shape[1]}\n".encode() + body


@pytest.fixture
def write(tmp_path):
    def write(content, name="vectors.any"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def check(model, words=WORDS):
    assert list(model.vocab) == words
    np.testing.assert_array_equal(model.vectors, VECTORS[: len(words)])
    assert model.vectors.dtype == np.float32


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("name", ["vectors.txt", "vectors.vec", "vectors", "vectors.bin"])
def test_text_is_known_by_its_content(write, header, name):
    check(load(write(text_of(WORDS, VECTORS, header), name)))


def test_first_word_with_a_space_needs_no_header(write):
    words = ["New York", "she"]
    check_words = load(write(text_of(words, VECTORS[:2], header=False)))
    assert list(check_words.vocab) == words


@pytest.mark.parametrize("newline", [b"\n", b""])
def test_word2vec_binary_with_and_without_line_ends(write, newline):
    words = ["she", "he", "New_York", "naïve", "."]
    check(load(write(binary_of(words, VECTORS, newline))), words)


def test_files_of_gensim_are_read_as_gensim_reads_them(tmp_path, packaged_model):
    gensim_models = pytest.importorskip("gensim.models")
    words = list(packaged_model.vocab)[:200]
    kv = gensim_models.KeyedVectors(256)
    kv.add_vectors(words, packaged_model.get_vectors(words))
    for binary in (True, False):
        path = tmp_path / f"kv-{binary}"
        kv.save_word2vec_format(path, binary=binary)
        model = load(path)
        assert list(model.vocab) == words
        np.testing.assert_allclose(model.vectors, kv.vectors, rtol=1e-6)


def test_name_is_that_of_the_file_unless_given(write):
    path = write(text_of(WORDS, VECTORS, header=True), "glove.6B.txt")
    assert load(path).name == "glove.6B"
    named = load(str(path), "mine", "/c/en/")
    assert (named.name, named.vocab_prefix) == ("mine", "/c/en/")


def test_demo_is_the_packaged_model():
    assert load("demo").name == "minilm-words"
    assert load("demo", "x").name == "x"


def test_safetensors_round_trip(tmp_path):
    from safetensors.numpy import save_file

    vocabulary = np.frombuffer("\n".join(WORDS).encode(), np.uint8).copy()
    save_file({"embeddings": VECTORS, "vocabulary": vocabulary}, tmp_path / "m.safetensors")
    check(load(tmp_path / "m.safetensors"))
    save_file({"weights": VECTORS}, tmp_path / "other.safetensors")
    with pytest.raises(
        ValueError, match="named 'embeddings'.*found the 2-d tensors \\['weights'\\]"
    ):
        load(tmp_path / "other.safetensors")


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('a pickle ran code')",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_not_opened(write, protocol):
    with pytest.raises(ValueError, match="pickle|no known format"):
        load(write(pickle.dumps(Bomb(), protocol), "model.kv"))


def test_gensims_own_file_is_refused_with_the_way_out(tmp_path):
    gensim_models = pytest.importorskip("gensim.models")
    kv = gensim_models.KeyedVectors(3)
    kv.add_vectors(["a", "b"], VECTORS[:2])
    kv.save(str(tmp_path / "m.kv"))
    with pytest.raises(ValueError, match="a pickle .*trust_pickle=True opens it"):
        load(tmp_path / "m.kv")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is empty"),
        (b"\x00\x01\x02\x03" * 10, "no known format"),
        (b"just some words\nand more\n", "no known format"),
        (b"she 1 2 3\nhe 1 2\n", "line 2: expected a word and 3 numbers"),
        (b"she 1 2 3\nhe 1 2 x\n", "line 2: expected a word and 3 numbers"),
        (b"3 2\nshe 1 2\nhe 1 2\n", "promises 3 words, the file has 2"),
        (b"1 2\nshe 1 2\nhe 1 2\n", "promises 1 words, the file has 2"),
        (b"5\n6\n", "no known format"),
        (b"she  1 2\nhe  3 4\n", "line 1: expected single spaces"),
        (b"she 1  2\nhe 3  4\n", "line 1: expected single spaces"),
        (b"2 2\nshe\t1\t2\nhe\t3\t4\n", "tabs between numbers"),
        (b"0 2\n", "promises 0 words"),
        (b"1" + binary_of(["she", "he"], VECTORS[:2])[1:], "there is more after byte"),
        (b"1_0 1_0\n", "no known format"),
        (b"\x1f\x8b\x08" + b"x" * 50, "gzip"),
        (b"she 1 2\n\xff\xfe 3 4\n", "line 2: the word .* is not UTF-8"),
        (binary_of(["she", "he"], VECTORS[:2])[:-4], "promises|cut short"),
        (b"1000000000 300\nshe \x00\x00", "the header promises 1000000000 words"),
        (b'\x40\x00\x00\x00\x00\x00\x00\x00{"embeddings":', "damaged safetensors"),
    ],
)
def test_damage_is_named(write, content, text):
    with pytest.raises(ValueError, match=text):
        load(write(content))


def test_missing_file_and_wrong_type():
    with pytest.raises(FileNotFoundError, match="no file 'nowhere.txt'"):
        load("nowhere.txt")
    with pytest.raises(TypeError, match="must be a path, a name.*got int 3"):
        load(3)


@pytest.mark.parametrize("binary", [True, False])
def test_first_vector_of_a_repeated_word_is_kept_and_logged(write, binary, caplog):
    words = ["she", "he", "she"]
    make = binary_of if binary else lambda w, v: text_of(w, v, header=True)
    model = load(write(make(words, VECTORS[:3])))
    check(model, ["she", "he"])
    assert "has 1 words twice" in caplog.text


def test_byte_order_mark_is_no_part_of_the_first_word(write):
    check(load(write(b"\xef\xbb\xbf" + text_of(WORDS, VECTORS, header=False))))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_crash_the_reader(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("fuzz") / "f"
    path.write_bytes(content)
    try:
        model = load(path)
    except ValueError:
        return
    assert isinstance(model, WordEmbeddingModel)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_file_is_refused_or_read_whole(tmp_path_factory, data):
    good = data.draw(
        st.sampled_from([text_of(WORDS, VECTORS, True), binary_of(["a", "b"], VECTORS[:2])])
    )
    cut = data.draw(st.integers(0, len(good) - 1))
    path = tmp_path_factory.mktemp("cut") / "f"
    path.write_bytes(good[:cut])
    # All that may be missing unnoticed is the end of the last number or the last line end.
    try:
        model = load(path)
    except ValueError:
        return
    assert len(model) == int(good.split(b" ")[0])
