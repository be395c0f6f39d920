"""One pass over a vocabulary: everything once, and the same whatever the blocks are."""

import numpy as np
import pytest

from wefe import WordEmbeddingModel, convert, load
from wefe.models import _passes
from wefe.models._passes import (
    most_associated,
    plain_rows,
    vocabulary_blocks,
    vocabulary_cosines,
)

N_WORDS, DIM = 300, 8
WORDS = [f"w{row}" for row in range(N_WORDS)]


def vectors(dtype=np.float32):
    return np.random.default_rng(0).normal(size=(N_WORDS, DIM)).astype(dtype)


def model_of(array, prefix=None):
    return WordEmbeddingModel(([(prefix or "") + word for word in WORDS], array), "m", prefix)


def joined(model):
    parts = list(vocabulary_blocks(model))
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), parts


@pytest.fixture(params=[1, 7 * DIM, N_WORDS * DIM, 1 << 20])
def block_numbers(request, monkeypatch):
    monkeypatch.setattr(_passes, "_BLOCK_NUMBERS", request.param)
    return request.param


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_every_row_comes_once_and_in_order(dtype, block_numbers):
    array = vectors(dtype)
    rows, found, parts = joined(model_of(array))
    np.testing.assert_array_equal(rows, np.arange(N_WORDS))
    np.testing.assert_array_equal(found, array)
    # Narrow numbers are widened, so that nothing is computed in float16.
    assert {part.dtype for _, part in parts} == {np.promote_types(dtype, np.float32)}
    assert max(part.size for _, part in parts) <= max(block_numbers, DIM)


def test_vectors_without_a_direction_are_left_out(block_numbers):
    array = vectors()
    array[3] = 0
    array[10, 2] = np.nan
    array[200, 0] = np.inf
    rows, found, _ = joined(model_of(array))
    kept = [row for row in range(N_WORDS) if row not in (3, 10, 200)]
    np.testing.assert_array_equal(rows, kept)
    np.testing.assert_array_equal(found, array[kept])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_stored_and_mapped_models(dtype, tmp_path, block_numbers):
    path = tmp_path / "m.safetensors"
    convert(model_of(vectors()), path, dtype=dtype)
    opened = load(path)
    held = opened.held
    rows, found, _ = joined(opened)
    np.testing.assert_array_equal(rows, np.arange(N_WORDS))
    # A pass does not make all vectors in memory.
    assert opened.held == held == "mapped"
    np.testing.assert_array_equal(found, load(path).get_vectors(WORDS))


def test_a_model_opened_for_some_words_is_refused(tmp_path):
    model_of(vectors()).save(tmp_path / "m.txt")
    opened = load(tmp_path / "m.txt", words=["w1", "w2"])
    with pytest.raises(ValueError, match="the whole vocabulary, but m was opened for 2 words only"):
        next(vocabulary_blocks(opened))


def test_room_for_words_to_come_does_not_count():
    gensim = pytest.importorskip("gensim.models")
    wv = gensim.KeyedVectors(DIM, count=10)
    wv.add_vectors(WORDS[:4], vectors()[:4])
    wv.resize_vectors()
    wv.vectors = np.vstack([vectors()[:4], np.ones((6, DIM), np.float32)])
    rows, found, _ = joined(WordEmbeddingModel(wv, "m"))
    np.testing.assert_array_equal(rows, range(4))
    np.testing.assert_array_equal(found, vectors()[:4])


# The words that are most associated


def slow_most_associated(model, axis, n_words, left_out=()):
    """All words sorted by their product with the axis, word by word in float64."""
    reached = []
    for row, word in enumerate(model.vocab):
        vector = model[word].astype(np.float64)
        if word in left_out or not vector.any():
            continue
        length = np.sqrt(sum(vector * vector))
        reached.append((-sum(vector / length * axis), row))
    return [row for _, row in sorted(reached)][:n_words]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n_words", [1, 10, N_WORDS, 5 * N_WORDS])
def test_most_associated_are_those_of_a_full_sort(dtype, n_words, block_numbers):
    array = vectors(dtype)
    array[17] = 0
    model = model_of(array)
    axes = np.random.default_rng(1).normal(size=(3, DIM))
    results = most_associated(model, axes, n_words)
    for axis, (rows, reach) in zip(axes, results, strict=True):
        expected = slow_most_associated(model, axis, n_words)
        np.testing.assert_array_equal(rows, expected)
        unit = (
            array[rows].astype(float) / np.linalg.norm(array[rows].astype(float), axis=1)[:, None]
        )
        np.testing.assert_allclose(reach, unit @ axis, atol=1e-12)
        assert (np.diff(reach) <= 0).all()


def test_of_equal_words_the_earlier_ones_come_first(block_numbers):
    array = np.ones((N_WORDS, DIM), np.float32)
    array[::2] *= 4  # another length, the same direction
    array[5] = -1
    ((rows, _),) = most_associated(model_of(array), np.ones(DIM), 8)
    np.testing.assert_array_equal(rows, [0, 1, 2, 3, 4, 6, 7, 8])


@pytest.mark.parametrize("prefix", [None, "/c/en/"])
def test_ignored_words_are_written_without_the_prefix(prefix, block_numbers):
    model, axis = model_of(vectors(), prefix), np.eye(DIM)[0]
    ((best, _),) = most_associated(model, axis, 3)
    ignored = [WORDS[best[0]], WORDS[best[2]], "xyzzy"]
    ((rows, _),) = most_associated(model, axis, 3, ignore=ignored)
    forms = [(prefix or "") + word for word in ignored]
    np.testing.assert_array_equal(rows, slow_most_associated(model, axis, 3, forms))


def test_only_some_rows_may_count(block_numbers):
    model, axis = model_of(vectors()), np.eye(DIM)[0]
    allowed = np.arange(50, 90)
    ((rows, _),) = most_associated(model, axis, 5, ignore=["w60"], rows=allowed)
    outside = {word for row, word in enumerate(WORDS) if row not in allowed} | {"w60"}
    np.testing.assert_array_equal(rows, slow_most_associated(model, axis, 5, outside))
    ((none, _),) = most_associated(model, axis, 5, ignore=["w60"], rows=np.array([60]))
    assert len(none) == 0


# Cosines of a whole vocabulary


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_cosines_of_a_vocabulary_are_those_of_a_loop(dtype, block_numbers):
    array, directions = vectors(dtype), np.random.default_rng(1).normal(size=(3, DIM))
    cosines = vocabulary_cosines(model_of(array), directions)
    expected = [
        [
            row.astype(float) @ g / np.linalg.norm(row.astype(float)) / np.linalg.norm(g)
            for g in directions
        ]
        for row in array
    ]
    narrow = dtype != np.float64
    np.testing.assert_allclose(cosines, expected, atol=DIM * 2.0**-24 if narrow else 1e-14)
    assert cosines.dtype == np.promote_types(dtype, np.float32)


def test_cosines_do_not_depend_on_lengths():
    array, direction = vectors(), np.eye(DIM)[:1]
    # Of the longest and shortest vectors in float32, squares overflow or vanish.
    scales = 10.0 ** np.linspace(-37, 37, N_WORDS)
    scaled = (array.astype(np.float64) * scales[:, None]).astype(np.float32)
    np.testing.assert_allclose(
        vocabulary_cosines(model_of(scaled), direction),
        vocabulary_cosines(model_of(array), direction),
        atol=2e-6,
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_no_cosine_is_beyond_one(dtype):
    array = vectors(dtype)
    array[3] = 0
    for row in range(50):
        g = array[row].astype(np.float64)
        if not g.any():
            continue
        cosines = vocabulary_cosines(model_of(array), [g, -g])
        assert cosines[row] == pytest.approx([1, -1], abs=1e-6)
        assert np.nanmax(np.abs(cosines)) <= 1
        assert np.isnan(cosines).any(axis=1).tolist() == [each == 3 for each in range(N_WORDS)]


def test_words_without_a_direction_have_no_cosine():
    array = vectors()
    array[3], array[4, 0], array[5, 0] = 0, np.nan, np.inf
    cosines = vocabulary_cosines(model_of(array), np.eye(DIM)[:2])
    assert np.flatnonzero(np.isnan(cosines).all(axis=1)).tolist() == [3, 4, 5]
    assert np.isnan(cosines).sum() == 6


def test_cosines_of_the_first_words_and_of_a_mapped_file(tmp_path):
    model = model_of(vectors())
    path = tmp_path / "m.txt"
    model.save(path)
    convert(path, tmp_path / "m.safetensors")
    mapped = load(tmp_path / "m.safetensors")
    direction = np.eye(DIM)[:1]
    np.testing.assert_array_equal(
        vocabulary_cosines(mapped, direction, 10), vocabulary_cosines(model, direction)[:10]
    )
    assert len(vocabulary_cosines(model, direction, 10 * N_WORDS)) == N_WORDS


def test_plain_words_are_in_lower_case_short_and_made_of_letters():
    words = ["the", "The", "x1", "don't", "a" * 20, "a" * 19, "señor", "b"]
    model = WordEmbeddingModel((words, np.ones((8, 2))), "m")
    rows, lower = plain_rows(model)
    assert rows.tolist() == [0, 5, 6, 7]
    assert lower
    assert plain_rows(model, 6)[0].tolist() == [0, 5]


def test_a_vocabulary_in_upper_case_has_plain_words():
    model = WordEmbeddingModel((["THE", "X1", "Of"], np.ones((3, 2))), "m")
    rows, lower = plain_rows(model)
    assert rows.tolist() == [0, 2]
    assert not lower


def test_plain_words_have_the_prefix_of_the_model():
    model = WordEmbeddingModel((["/c/en/the", "the", "/c/en/"], np.ones((3, 2))), "m", "/c/en/")
    assert plain_rows(model)[0].tolist() == [0]
