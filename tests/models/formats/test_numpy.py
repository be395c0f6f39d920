"""Matrices of numpy's, with their words in the same archive or in a file beside them."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from model_files import Bomb, at_most

from wefe import load
from wefe.models import WordEmbeddingModel
from wefe.models.formats import _numpy
from wefe.models.formats._source import Reading

PLAIN = Reading()
TRUSTED = Reading(trust_pickle=True)
WORDS = ["she", "he", "naïve", ".", "new york", "a\x85b"]
VECTORS = np.arange(18, dtype=np.float32).reshape(6, 3) / 7


def open_npy(path, reading, vocabulary=None):
    return _numpy.open_npy(path, replace(reading, vocabulary=vocabulary))


def open_npz(path, reading, vocabulary=None):
    return _numpy.open_npz(path, replace(reading, vocabulary=vocabulary))


LINES = "".join(f"{word}\n" for word in WORDS).encode()


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def packed(**members):
    """An archive of bytes, compressed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


@pytest.fixture
def matrix(tmp_path):
    path = tmp_path / "m.npy"
    np.save(path, VECTORS)
    return path


def beside(path, name, content=LINES):
    (path.parent / name).write_bytes(content)


def check(source, words=WORDS, vectors=VECTORS):
    assert source.name == "m"
    [(read_words, read)] = source.blocks()
    assert read_words == list(words)
    np.testing.assert_array_equal(read, vectors)
    assert read.dtype == vectors.dtype


# ---- .npy --------------------------------------------------------------------------------------


ROWS = json.dumps({word: row for row, word in reversed(list(enumerate(WORDS)))}).encode()
BESIDE = dict.fromkeys(("m.vocab", "m.txt", "m.words", "m-vocab.txt", "vocab.txt"), LINES)
BESIDE |= dict.fromkeys(("m.json", "m.vocab.json", "m-vocab.json", "vocab.json"), ROWS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *BESIDE.items(),
        ("m.txt", LINES[:-1]),
        ("m.txt", LINES.replace(b"\n", b"\r\n")),
        ("m.txt", b"\xef\xbb\xbf" + LINES),
        ("m.json", json.dumps(WORDS).encode()),
        ("m.vocab.npy", npy(np.array(WORDS))),
        ("m.vocab.npy", npy(np.char.encode(WORDS))),
    ],
)
def test_words_are_read_from_a_file_beside_the_matrix(matrix, name, content):
    beside(matrix, name, content)
    check(open_npy(matrix, PLAIN))


@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_words_may_be_given(matrix, form):
    beside(matrix, "m.txt", b"something else\n")
    source = open_npy(matrix, PLAIN, form(WORDS))
    check(source)
    assert {type(word) for word in source.table.key_to_index} == {str}


@pytest.mark.parametrize("form", [str, lambda path: path])
def test_the_file_of_words_may_be_given(matrix, tmp_path, form):
    beside(matrix, "m.txt", b"something else\n")
    beside(matrix, "words of another name.lst")
    check(open_npy(matrix, PLAIN, form(tmp_path / "words of another name.lst")))
    with pytest.raises(FileNotFoundError, match=r"nowhere\.txt"):
        open_npy(matrix, PLAIN, form(tmp_path / "nowhere.txt"))


@pytest.mark.parametrize("vocabulary", [["she", None, "a", "b", "c", "d"], 5])
def test_other_vocabularies_are_refused(matrix, vocabulary):
    with pytest.raises((TypeError, ValueError), match="vocabulary"):
        open_npy(matrix, PLAIN, vocabulary)


def test_without_words_or_with_several_files_of_them_the_error_names_them(matrix):
    with pytest.raises(ValueError, match=r"m\.npy holds no words.*vocabulary=") as caught:
        open_npy(matrix, PLAIN)
    for name in ("'m.vocab'", "'m.txt'", "'m.words'", "'m-vocab.txt'", "'vocab.txt'", "'m.json'"):
        assert name in str(caught.value)
    beside(matrix, "m.vocab")
    beside(matrix, "vocab.txt")
    with pytest.raises(ValueError, match=r"found \['m\.vocab', 'vocab\.txt'\]"):
        open_npy(matrix, PLAIN)


def test_both_files_and_both_numbers_are_named_if_they_differ(matrix):
    beside(matrix, "m.txt", LINES + b"more\n")
    with pytest.raises(ValueError, match=r"m\.npy has 6 rows, but .*m\.txt has 7 words"):
        open_npy(matrix, PLAIN)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.txt", b"she\n\xff\n"),
        ("m.json", b"["),
        ("m.json", b"[" * 100_000),
        ("m.json", b'{"she": 0, "he": 2}'),
        ("m.json", b'{"dim": "x"}'),
        ("m.json", b"[1, 2]"),
        ("m.json", b'"she"'),
        ("m.vocab.npy", npy(VECTORS)),
        ("m.vocab.npy", npy(np.array([["she"]]))),
        ("m.vocab.npy", npy(np.array([b"\xff"]))),
        ("m.vocab.npy", npy(np.array(["\ud800"]))),
        ("m.vocab.npy", npy(np.array(WORDS))[:-1]),
        ("m.vocab.npy", b"she\nhe\n"),
    ],
)
def test_a_damaged_vocabulary_is_named(matrix, name, content):
    beside(matrix, name, content)
    with pytest.raises(ValueError, match=rf"{name} is damaged"):
        open_npy(matrix, PLAIN)


@pytest.mark.parametrize("blank", [" ", "\t"])
def test_counts_after_the_words_are_counts(matrix, blank):
    # As word2vec and GloVe save vocabularies.
    words = ["she", "he", "naïve", ".", "york", "語"]
    lines = "".join(f"{word}{blank}{100 - row}\n" for row, word in enumerate(words))
    beside(matrix, "vocab.txt", lines.encode())
    source = open_npy(matrix, PLAIN)
    check(source, words)
    assert source.counts() == {word: 100 - row for row, word in enumerate(words)}


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_matrix_is_changed_in_memory_and_the_file_never_changes(tmp_path, order):
    path = tmp_path / "m.npy"
    np.save(path, np.asarray(VECTORS, order=order))
    before = path.read_bytes()
    source = open_npy(path, PLAIN, WORDS)
    assert source.table.held == ("mapped" if order == "C" else "memory")
    check(source)
    model = WordEmbeddingModel(source.table)
    model.update("he", np.full(3, 9, np.float32))
    model.normalize()
    assert model["he"] == pytest.approx(np.full(3, 3**-0.5), rel=1e-6)
    assert path.read_bytes() == before


def test_opening_reads_no_vectors(tmp_path):
    np.save(tmp_path / "m.npy", np.zeros((2000, 2000), np.float32))
    words = [f"word{row}" for row in range(2000)]
    with at_most(2_000_000):
        open_npy(tmp_path / "m.npy", PLAIN, words)


@pytest.mark.parametrize("dtype", ["<f2", ">f4", "<f8"])
def test_numbers_keep_their_type(tmp_path, dtype):
    vectors = VECTORS.astype(dtype)
    np.save(tmp_path / "m.npy", vectors)
    check(open_npy(tmp_path / "m.npy", PLAIN, WORDS), WORDS, vectors)


def test_of_a_word_that_comes_twice_the_first_row_is_kept(matrix, caplog):
    words = ["she", "he", "she", ".", "he", "math"]
    check(open_npy(matrix, PLAIN, words), ["she", "he", ".", "math"], VECTORS[[0, 1, 3, 5]])
    assert "2 words twice" in caplog.text
    with pytest.raises(ValueError, match="cannot be mapped.*convert"):
        load(matrix, vocabulary=words, hold="mapped")


@pytest.mark.parametrize(
    "array",
    [
        VECTORS.ravel(),
        VECTORS[None],
        VECTORS.astype(int),
        VECTORS.astype(complex),
        np.array([WORDS]),
        np.zeros(6, [("a", "f4"), ("b", "f4")]),
        np.empty((0, 3)),
        np.empty((3, 0)),
    ],
)
def test_other_arrays_are_refused(tmp_path, array):
    np.save(tmp_path / "m.npy", array)
    with pytest.raises(ValueError, match=r"m\.npy: expected a 2-d array of floating-point"):
        open_npy(tmp_path / "m.npy", PLAIN, WORDS)


@pytest.mark.parametrize("part", ["matrix", "words", "archive"])
def test_objects_are_not_unpickled_unless_they_are_trusted(matrix, tmp_path, part):
    path, mark = {"archive": tmp_path / "m.npz"}.get(part, matrix), tmp_path / "mark"
    bomb = npy(np.array([Bomb(mark)], dtype=object), allow_pickle=True)
    if part == "matrix":
        path.write_bytes(bomb)
    elif part == "words":
        beside(matrix, "m.vocab.npy", bomb)
    else:
        path.write_bytes(packed(vectors=npy(VECTORS), words=bomb))
    reader = open_npz if part == "archive" else open_npy
    words = ["she"] if part == "matrix" else None
    culprit = {"words": "m.vocab.npy"}.get(part, path.name)
    with pytest.raises(ValueError, match=rf"{culprit}.*trust_pickle=True"):
        reader(path, PLAIN, words)
    assert not mark.exists()
    # The bomb does work.
    with pytest.raises(ValueError, match="array of"):
        reader(path, TRUSTED, words)
    assert mark.exists()


def test_objects_that_are_trusted_are_opened(matrix, tmp_path):
    np.save(tmp_path / "m.vocab.npy", np.array(WORDS, dtype=object), allow_pickle=True)
    check(open_npy(matrix, TRUSTED))
    np.save(matrix, VECTORS.astype(object), allow_pickle=True)
    check(open_npy(matrix, TRUSTED), WORDS, VECTORS.astype(np.float64))


def test_a_saved_dict_is_opened_if_it_is_trusted(tmp_path):
    vectors = dict(zip(WORDS, VECTORS, strict=True))
    np.save(tmp_path / "m.npy", vectors, allow_pickle=True)
    with pytest.raises(ValueError, match="trust_pickle=True"):
        open_npy(tmp_path / "m.npy", PLAIN)
    check(open_npy(tmp_path / "m.npy", TRUSTED))


# ---- .npz --------------------------------------------------------------------------------------


def open_bytes(tmp_path, content, reading=PLAIN, vocabulary=None):
    path = tmp_path / "m.npz"
    path.write_bytes(content)
    return open_npz(path, reading, vocabulary)


@pytest.mark.parametrize("words", [np.array(WORDS), np.char.encode(WORDS)], ids=["str", "bytes"])
@pytest.mark.parametrize("names", [("vectors", "vocabulary"), ("a", "b"), ("arr_0", "arr_1")])
def test_an_archive_has_a_matrix_and_words_of_any_names(tmp_path, words, names):
    source = open_bytes(tmp_path, npz(**dict(zip(names, (VECTORS, words), strict=True))))
    check(source)
    assert source.table.held == "memory"


@pytest.mark.parametrize("name", ["vectors", "embeddings", "matrix", "W"])
@pytest.mark.parametrize("words_name", ["vocabulary", "vocab", "words", "tokens"])
def test_of_several_arrays_those_with_telling_names_are_taken(tmp_path, name, words_name):
    others = {"a": VECTORS * 2, "z": VECTORS * 3, "b": np.array(["x"]), "counts": np.arange(6)}
    check(open_bytes(tmp_path, npz(**others, **{name: VECTORS, words_name: np.array(WORDS)})))


@pytest.mark.parametrize(
    "arrays", [{"vectors": VECTORS, "a": WORDS, "b": WORDS}, {"a": VECTORS, "b": VECTORS}]
)
def test_several_arrays_without_telling_names_are_listed(tmp_path, arrays):
    with pytest.raises(ValueError, match=r"m\.npz.*'a'.*'b'"):
        open_bytes(tmp_path, npz(**arrays))


def test_words_of_an_archive_may_lie_beside_it_or_be_given(tmp_path):
    with pytest.raises(ValueError, match=r"m\.npz holds no words.*'m\.vocab'"):
        open_bytes(tmp_path, npz(vectors=VECTORS))
    check(open_bytes(tmp_path, npz(vectors=VECTORS), vocabulary=WORDS))
    (tmp_path / "m.txt").write_bytes(LINES)
    check(open_bytes(tmp_path, npz(vectors=VECTORS)))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "found {}"),
        ({"a": np.array(WORDS)}, "'a'"),
        ({"a": VECTORS.astype(int), "b": np.array(WORDS)}, "'a'"),
        ({"a": VECTORS, "b": np.array(WORDS[:5])}, "6 rows.* 5 words"),
        ({"a": VECTORS[:, :0], "b": np.array(WORDS)}, "not empty"),
    ],
)
def test_archives_of_other_arrays_are_refused(tmp_path, arrays, message):
    with pytest.raises(ValueError, match=rf"m\.npz.*{message}"):
        open_bytes(tmp_path, npz(**arrays))


def test_an_archive_that_fills_the_memory_is_refused_before_it_does(tmp_path):
    large = npy(np.zeros((100_000, 256), np.float32))
    content = packed(vectors=large, words=npy(np.array(WORDS)))
    with at_most(2_000_000), pytest.raises(ValueError, match=r"m\.npz grows to 102,4"):
        open_bytes(tmp_path, content)
