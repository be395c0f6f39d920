"""How far vectors moved, and which neighbours they kept."""

import math

import numpy as np
import pytest

from wefe import WordEmbeddingModel
from wefe.debias import _residual
from wefe.debias._changes import displacement_rows, neighbor_rows
from wefe.debias._residual import CommonWords


def model(vectors, name="after", words=None):
    vectors = np.asarray(vectors)
    words = [f"w{i}" for i in range(len(vectors))] if words is None else words
    return WordEmbeddingModel.from_arrays(words, vectors, name)


def displacements(*models):
    rows = displacement_rows(CommonWords(models))
    return {(row.measure, row.model): row for row in rows}


def values(*models):
    return [row.after for row in displacements(*models).values()]


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(300, 8))


def kept(before, after, n_sample=10**6):
    (row,) = neighbor_rows(CommonWords([before, after]), n_sample, np.random.default_rng(0))
    return row


def test_displacements_are_those_of_a_loop_over_words(vectors):
    moved = vectors + np.random.default_rng(1).normal(scale=0.3, size=vectors.shape)
    moved[:50] = vectors[:50]
    distances, lengths = [], []
    for b, a in zip(vectors.tolist(), moved.tolist(), strict=True):
        dot = sum(x * y for x, y in zip(b, a, strict=True))
        distances.append(1 - dot / math.hypot(*b) / math.hypot(*a))
        lengths.append(math.dist(a, b) / math.hypot(*b))
    changed, cosine, length = values(model(vectors, "before"), model(moved))
    assert changed == pytest.approx(250 / 300)
    assert cosine == pytest.approx(sum(distances) / 300, rel=1e-12)
    assert length == pytest.approx(sum(lengths) / 300, rel=1e-12)


@pytest.mark.parametrize("block", [1, 8, 64, 10**6])
def test_blocks_have_no_influence(vectors, block, monkeypatch):
    models = model(vectors, "before"), model(vectors[:, ::-1])
    whole = values(*models)
    monkeypatch.setattr(_residual, "_BLOCK_NUMBERS", block)
    assert values(*models) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_did_not_change_moved_by_exactly_nothing(vectors, dtype):
    vectors = vectors.astype(dtype)
    assert values(model(vectors, "before"), model(vectors.copy())) == [0, 0, 0]


def test_a_scaled_vector_keeps_its_direction(vectors):
    factors = np.linspace(0.5, 3, len(vectors))
    changed, cosine, length = values(model(vectors, "before"), model(vectors * factors[:, None]))
    assert changed == 1
    assert cosine == pytest.approx(0, abs=1e-14)
    assert length == pytest.approx(np.abs(factors - 1).mean())


def test_vectors_without_direction_are_left_out_and_counted():
    before = model([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [np.nan, 1.0]], "before")
    after = model([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [np.nan, 1.0]])
    changed, cosine, length = displacements(before, after).values()
    assert (changed.after, changed.n) == (0.75, 4)
    # Only the first has directions in both; the third went all its length.
    assert (cosine.after, cosine.n) == (1.0, 1)
    assert (length.after, length.n) == (pytest.approx((math.sqrt(2) + 1) / 2), 2)
    assert "3 without a direction left out" in cosine.note


def test_models_of_other_dims_have_no_displacement_but_neighbours(vectors):
    before, after = model(vectors, "before"), model(np.hstack([vectors, 0 * vectors]))
    for row in displacements(before, after).values():
        assert math.isnan(row.after)
        assert "8 and of 16 dims cannot be compared" in row.note
    assert kept(before, after).after == 1


def test_several_models_are_kept_apart(vectors):
    rows = displacements(model(vectors, "b"), model(vectors, "same"), model(2 * vectors, "double"))
    assert rows["mean vector displacement", "same"].after == 0
    assert rows["mean vector displacement", "double"].after == pytest.approx(1)


def test_neighbours_are_those_of_a_loop_over_words(vectors):
    moved = vectors + np.random.default_rng(1).normal(scale=0.5, size=vectors.shape)

    def ten_nearest(table, i):
        unit = table / np.linalg.norm(table, axis=1, keepdims=True)
        cosines = unit @ unit[i]
        return set([int(j) for j in np.argsort(-cosines) if j != i][:10])

    shares = [
        len(ten_nearest(vectors, i) & ten_nearest(moved, i)) / 10 for i in range(len(vectors))
    ]
    row = kept(model(vectors, "before"), model(moved))
    assert 0.1 < row.after < 0.9
    assert row.after == pytest.approx(np.mean(shares), rel=1e-12)
    assert row.change_se == pytest.approx(np.std(shares, ddof=1) / math.sqrt(300), rel=1e-12)
    assert (row.before, row.best_value, row.n) == (1, 1, 300)


def test_a_rotation_keeps_all_neighbours_and_a_shuffle_hardly_any(vectors):
    rotation, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(8, 8)))
    before = model(vectors, "before")
    assert kept(before, model(vectors @ rotation)).after == 1
    shuffled = np.random.default_rng(3).permutation(vectors)
    # By chance 10 of 299.
    assert kept(before, model(shuffled)).after == pytest.approx(10 / 299, abs=0.02)


def test_the_order_of_the_words_has_no_influence(vectors):
    moved = vectors + np.random.default_rng(1).normal(scale=0.3, size=vectors.shape)
    before, after = model(vectors, "before"), model(moved)
    order = np.random.default_rng(4).permutation(300)
    other = model(moved[order], words=[f"w{i}" for i in order])
    assert kept(before, other, 50) == kept(before, after, 50)
    assert values(before, other) == pytest.approx(values(before, after), rel=1e-12)


def test_words_that_one_model_lacks_are_left_out_of_both_and_counted(vectors, caplog):
    before = model(vectors, "before")
    words = [f"w{i}" for i in range(100, 300)] + ["new"]
    after = model(np.vstack([vectors[100:], np.ones((1, 8))]), words=words)
    with caplog.at_level("WARNING", "wefe"):
        common = CommonWords([before, after])
    assert len(common) == 200
    assert "100 words only in before and 1 only in after are left out" in caplog.text
    assert values(before, after) == [0, 0, 0]
    assert kept(before, after).after == 1
    assert common.find("w99") is None
    assert common.words[common.find("w100")] == "w100"


def test_few_words_have_fewer_neighbours():
    row = kept(model(np.eye(4), "before"), model(np.eye(4)))
    assert row.after == 1
    assert row.note == "3 neighbours, because there are few words"
    alone = kept(model(np.eye(1), "before"), model(np.eye(1)))
    assert math.isnan(alone.after)
    assert alone.note == "fewer than two words have a direction in every model"


def test_samples_are_seeded(vectors):
    models = CommonWords([model(vectors, "before"), model(vectors[:, :4])])
    first, again, other = (
        neighbor_rows(models, 20, np.random.default_rng(seed))[0].after for seed in (0, 0, 1)
    )
    assert first == again != other
