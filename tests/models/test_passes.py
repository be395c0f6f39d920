"""One pass over a vocabulary: everything once, and the same whatever the blocks are."""

import numpy as np
import pytest

from wefe import WordEmbeddingModel, convert, load
from wefe.models import _passes
from wefe.models._passes import most_associated, plain_rows, vocabulary_blocks, vocabulary_cosines

N_WORDS, DIM = 300, 8
WORDS = [f"w{row}" for row in range(N_WORDS)]
NO_DIRECTION = [3, 10, 200]
every_width = pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])


def vectors(dtype=np.float32):
    return np.random.default_rng(0).normal(size=(N_WORDS, DIM)).astype(dtype)


def with_holes(dtype):
    array = vectors(dtype)
    array[3], array[10, 2], array[200, 0] = 0, np.nan, np.inf
    return array


def model_of(array, prefix=None):
    return WordEmbeddingModel(([(prefix or "") + word for word in WORDS], array), "m", prefix)


@pytest.fixture(params=[7 * DIM, 1 << 20])
def block_numbers(request, monkeypatch):
    monkeypatch.setattr(_passes, "_BLOCK_NUMBERS", request.param)
    return request.param


@every_width
def test_every_row_with_a_direction_comes_once_and_in_order(dtype, block_numbers):
    array = with_holes(dtype)
    rows, blocks = zip(*vocabulary_blocks(model_of(array)), strict=True)
    rows = np.concatenate(rows)
    np.testing.assert_array_equal(rows, np.delete(np.arange(N_WORDS), NO_DIRECTION))
    np.testing.assert_array_equal(np.concatenate(blocks), array[rows])
    # Narrow numbers are widened, so that nothing is computed in float16.
    assert {block.dtype for block in blocks} == {np.promote_types(dtype, np.float32)}
    assert max(block.size for block in blocks) <= max(block_numbers, DIM)


def test_a_pass_does_not_read_a_mapped_model_into_memory(tmp_path, block_numbers):
    opened = convert(model_of(vectors()), tmp_path / "m.safetensors", dtype="int8")
    found = np.concatenate([block for _, block in vocabulary_blocks(opened)])
    cosines = vocabulary_cosines(opened, np.eye(DIM)[:1], 10)
    assert opened.held == "mapped"
    np.testing.assert_array_equal(found, opened.vectors)
    np.testing.assert_array_equal(cosines, vocabulary_cosines(opened, np.eye(DIM)[:1])[:10])


def test_a_model_opened_for_some_words_is_refused(tmp_path):
    model_of(vectors()).save(tmp_path / "m.txt")
    some = load(tmp_path / "m.txt", words=["w1", "w2"])
    for use in (vocabulary_cosines, WordEmbeddingModel.most_similar):
        with pytest.raises(ValueError, match="m was opened for 2 words only"):
            use(some, ["w1"])
    with pytest.raises(ValueError, match="m was opened for 2 words only"):
        next(vocabulary_blocks(some))


# The words that are most associated


def slow_most_associated(array, axis, n_words, allowed):
    """All words sorted by their product with the axis, word by word in float64."""
    wide = array.astype(np.float64)
    reached = [(-(wide[row] / np.linalg.norm(wide[row])) @ axis, row) for row in allowed]
    return [row for _, row in sorted(reached)][:n_words]


@every_width
@pytest.mark.parametrize("n_words", [1, 10, 5 * N_WORDS])
def test_most_associated_are_those_of_a_full_sort(dtype, n_words, block_numbers):
    array = with_holes(dtype)
    model, axes = model_of(array, "/c/en/"), np.random.default_rng(1).normal(size=(3, DIM))
    for rows, ignore in ((None, []), (np.arange(5, 90), ["w6", "w7", "xyzzy"])):
        allowed = set(range(N_WORDS) if rows is None else rows) - {*NO_DIRECTION}
        allowed -= {int(word[1:]) for word in ignore if word in WORDS}
        every = most_associated(model, axes, n_words, ignore=ignore, rows=rows)
        for axis, (found, values) in zip(axes, every, strict=True):
            expected = slow_most_associated(array, axis, n_words, allowed)
            np.testing.assert_array_equal(found, expected)
            assert (np.diff(values) <= 0).all()


def test_of_equal_words_the_earlier_ones_come_first(block_numbers):
    array = np.ones((N_WORDS, DIM), np.float32)
    array[5] = -1
    ((rows, values),) = most_associated(model_of(array), np.ones(DIM), 8)
    np.testing.assert_array_equal(rows, [0, 1, 2, 3, 4, 6, 7, 8])
    np.testing.assert_allclose(values, DIM**0.5)


# Cosines of a whole vocabulary


@every_width
def test_cosines_of_a_vocabulary_are_those_of_a_loop(dtype, block_numbers):
    array = with_holes(dtype)
    directions = np.vstack([np.random.default_rng(1).normal(size=(3, DIM)), -array[:1]])
    cosines = vocabulary_cosines(model_of(array), directions)
    assert cosines.dtype == np.promote_types(dtype, np.float32)
    assert np.nanmin(cosines) >= -1
    error = 1e-14 if dtype == np.float64 else DIM * 2.0**-24
    for row, vector in enumerate(array.astype(float)):
        if row in NO_DIRECTION:
            assert np.isnan(cosines[row]).all()
            continue
        expected = [vector @ g / np.linalg.norm(vector) / np.linalg.norm(g) for g in directions]
        np.testing.assert_allclose(cosines[row], expected, atol=error)


MIXED = ["the", "The", "x1", "don't", "a" * 20, "a" * 19, "señor"]


@pytest.mark.parametrize(
    ("words", "prefix", "n_words", "rows", "lower"),
    [
        (MIXED, None, None, [0, 5, 6], True),
        (MIXED, None, 6, [0, 5], True),
        (["THE", "X1", "Of"], None, None, [0, 2], False),
        (["/c/en/the", "the", "/c/en/"], "/c/en/", None, [0], True),
        ([*"ABCDEFGHI", "a"], None, None, [9], True),
    ],
)
def test_plain_words_are_in_lower_case_short_and_made_of_letters(
    words, prefix, n_words, rows, lower
):
    model = WordEmbeddingModel((words, np.ones((len(words), 2))), "m", prefix)
    found, is_lower = plain_rows(model, n_words)
    assert (found.tolist(), is_lower) == (rows, lower)


# ---- Hashes: they change with what a result is computed from, and with nothing else ----

THREE = ["she", "he", "nurse"]


def hashed(words=THREE, change=0.0, dtype=np.float32, of=None):
    vectors = np.arange(9, dtype=dtype).reshape(3, 3)
    vectors[2, 2] += change
    return _passes.fingerprint(WordEmbeddingModel((list(words), vectors), "m"), of)


def test_all_words_and_some_words_have_a_hash_of_their_own():
    some, other = {"she", "absent"}, {"he", "nurse"}
    for of in (None, some, other):
        assert hashed(of=of) == hashed(of=of)
        assert (hashed(change=1.0, of=of) == hashed(of=of)) is (of is some)
        assert hashed(dtype=np.float64, of=of) != hashed(of=of)
    every = [hashed(), hashed(["She", *THREE[1:]]), hashed(of=some), hashed(of=other)]
    assert len({*every, hashed([*THREE[:2], "Nurse"])}) == 5
    assert {(type(each), len(each)) for each in every} == {(str, 32)}


def test_an_encoder_has_the_hash_of_its_weights():
    class Encoder:
        encoding = "weights"

    assert _passes.fingerprint(Encoder(), ["she"]) == "weights"
