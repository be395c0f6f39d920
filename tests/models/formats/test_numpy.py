"""Matrices of numpy's, with their words in the same archive or in a file beside them."""

import functools
import zipfile

import numpy as np
import pytest
from fuzz_files import written
from model_files import Bomb, at_most

from wefe import load
from wefe.models._types import Reading
from wefe.models.formats._arrays import open_npy, open_npz

PLAIN, TRUSTED = Reading(), Reading(trust_pickle=True)
WORDS = ["she", "he", "naïve", ".", "new york", "a\x85b"]
VECTORS = np.arange(18, dtype=np.float32).reshape(6, 3) / 7
npy = functools.partial(written, np.save)
LINES = "".join(f"{word}\n" for word in WORDS).encode()


@pytest.fixture
def matrix(write):
    return write(npy(VECTORS), "m.npy")


def check(source, words=WORDS, vectors=VECTORS):
    assert source.name == "m"
    [(read_words, read)] = source.blocks()
    assert read_words == list(words)
    np.testing.assert_array_equal(read, vectors, strict=True)


# Where the words are


@pytest.mark.parametrize("content", [LINES, b"\xef\xbb\xbf" + LINES[:-1].replace(b"\n", b"\r\n")])
def test_words_are_read_from_a_file_beside_the_matrix_or_archive(matrix, write, content):
    np.savez(matrix.with_suffix(".npz"), vectors=VECTORS)
    for opener, suffix in ((open_npy, ".npy"), (open_npz, ".npz")):
        with pytest.raises(ValueError, match=rf"m\{suffix} holds no words.*'m.txt'.*vocabulary="):
            opener(matrix.with_suffix(suffix), PLAIN)
    write(content, "m.txt")
    check(open_npy(matrix, PLAIN))
    check(open_npz(matrix.with_suffix(".npz"), PLAIN))


def test_words_or_their_file_may_be_given(matrix, write):
    write(b"something else\n", "m.txt")
    other = write(LINES, "words of another name.lst")
    for vocabulary in (tuple(WORDS), np.array(WORDS), other, str(other)):
        source = open_npy(matrix, Reading(vocabulary=vocabulary))
        check(source)
        assert {type(word) for word in source.table.key_to_index} == {str}


@pytest.mark.parametrize(
    ("vocabulary", "error", "culprit"),
    [
        (["she", None, "a", "b", "c", "d"], TypeError, "vocabulary"),
        ("nowhere.txt", FileNotFoundError, "nowhere.txt"),
        (["she"], ValueError, r"m\.npy has 6 rows, but .* 1 words"),
    ],
)
def test_other_vocabularies_are_refused(matrix, vocabulary, error, culprit):
    with pytest.raises(error, match=culprit):
        open_npy(matrix, Reading(vocabulary=vocabulary))


def test_a_damaged_vocabulary_is_named(matrix, write):
    write(b"she\n\xff\n", "m.txt")
    with pytest.raises(ValueError, match=r"m\.txt is not text"):
        open_npy(matrix, PLAIN)
    write(b"".join(b"word%d %d\n" % (n, 9 - n) for n in range(6)), "m.txt")
    with pytest.raises(ValueError, match=r"m\.txt: .* with its count"):
        open_npy(matrix, PLAIN)


# The matrix


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f2", ">f4", "<f8"])
def test_the_matrix_is_changed_in_memory_and_the_file_never_changes(write, order, dtype):
    vectors = VECTORS.astype(dtype)
    path = write(npy(np.asarray(vectors, order=order)), "m.npy")
    before = path.read_bytes()
    check(open_npy(path, Reading(vocabulary=WORDS)), WORDS, vectors)
    model = load(path, vocabulary=WORDS)
    assert model.held == ("mapped" if order == "C" else "memory")
    model.update("he", np.full(3, 9, dtype))
    assert path.read_bytes() == before


def test_of_a_word_that_comes_twice_the_first_row_is_kept(matrix, caplog):
    words = ["she", "he", "she", ".", "he", "math"]
    source = open_npy(matrix, Reading(vocabulary=words))
    check(source, ["she", "he", ".", "math"], VECTORS[[0, 1, 3, 5]])
    assert "2 words twice" in caplog.text


@pytest.mark.parametrize(
    "array", [VECTORS.ravel(), VECTORS.astype(int), np.array([WORDS]), np.empty((0, 3))]
)
def test_other_arrays_are_refused(write, array):
    with pytest.raises(ValueError, match=r"m\.npy: expected a 2-d array of floating-point"):
        open_npy(write(npy(array), "m.npy"), Reading(vocabulary=WORDS))


def test_headers_of_the_second_version_are_read(tmp_path):
    with (tmp_path / "m.npy").open("wb") as file:
        np.lib.format.write_array(file, VECTORS, version=(2, 0))
    check(open_npy(tmp_path / "m.npy", Reading(vocabulary=WORDS)))


def test_a_matrix_that_promises_more_than_there_is_is_refused(matrix, write):
    write(matrix.read_bytes()[:-1], "m.npy")
    with pytest.raises(ValueError, match=r"m\.npy.* takes 72 bytes, found 71"):
        open_npy(matrix, Reading(vocabulary=WORDS))


# Pickles


@pytest.mark.parametrize("part", ["matrix", "archive"])
def test_objects_are_not_unpickled_unless_they_are_trusted(matrix, write, tmp_path, part):
    mark = tmp_path / "mark"
    array = np.array([Bomb(mark)], dtype=object)
    # An array that is not needed is not opened.
    np.savez(tmp_path / "m.npz", vectors=VECTORS, words=np.array(WORDS), more=array[0])
    check(open_npz(tmp_path / "m.npz", PLAIN))
    path, reader = tmp_path / "m.npz", open_npz
    if part == "matrix":
        path, reader = write(npy(array, allow_pickle=True), "m.npy"), open_npy
    else:
        np.savez(path, vectors=VECTORS, words=array)
    vocabulary = ["she"] if part == "matrix" else None
    with pytest.raises(ValueError, match=rf"{path.name}.*trust_pickle=True"):
        reader(path, Reading(vocabulary=vocabulary))
    assert not mark.exists()
    # The bomb does work.
    with pytest.raises((TypeError, ValueError)):
        reader(path, Reading(vocabulary=vocabulary, trust_pickle=True))
    assert mark.exists()


def test_objects_that_are_trusted_are_opened(write, tmp_path):
    path = write(npy(dict(zip(WORDS, VECTORS, strict=True)), allow_pickle=True), "m.npy")
    check(open_npy(path, TRUSTED))
    np.savez(tmp_path / "m.npz", vectors=VECTORS, words=np.array(WORDS, dtype=object))
    check(open_npz(tmp_path / "m.npz", TRUSTED))


# Archives


def open_arrays(tmp_path, **arrays):
    np.savez(tmp_path / "m.npz", **arrays)
    return open_npz(tmp_path / "m.npz", PLAIN)


def test_an_archive_has_a_matrix_and_words_of_any_names(tmp_path):
    check(open_arrays(tmp_path, arr_0=VECTORS, arr_1=np.array(WORDS), counts=np.arange(6)))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": VECTORS.astype(int), "b": WORDS}, "'a'"),
        ({"a": VECTORS, "b": WORDS[:5]}, "6 rows.* 5 words"),
        ({"a": VECTORS[:, :0], "b": WORDS}, "not empty"),
        ({"a": VECTORS, "b": VECTORS}, "'a'.*'b'"),
        ({"vectors": VECTORS, "a": WORDS, "b": WORDS}, "'a'.*'b'"),
    ],
)
def test_archives_of_other_arrays_are_refused(tmp_path, arrays, message):
    with pytest.raises(ValueError, match=rf"m\.npz.*{message}"):
        open_arrays(tmp_path, **arrays)


def test_an_archive_that_fills_the_memory_is_refused_before_it_does(tmp_path):
    path = tmp_path / "m.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vectors.npy", npy(np.zeros((100_000, 256), np.float32)))
    with at_most(2_000_000), pytest.raises(ValueError, match=r"m\.npz grows to 102,4"):
        open_npz(path, PLAIN)
