"""What a mitigation changes: vectors, neighbours, quality, and errors by leaving words out."""

import math

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel
from wefe.debias import _evidence
from wefe.debias._evidence import (
    CommonWords,
    bias_rows,
    check_quality,
    displacement_rows,
    neighbor_rows,
    quality_rows,
)
from wefe.metrics import MAC, WEAT
from wefe.quality import evaluate, load_benchmark


def model(vectors, name="after", words=None):
    vectors = np.asarray(vectors)
    words = [f"w{i}" for i in range(len(vectors))] if words is None else words
    return WordEmbeddingModel.from_arrays(words, vectors, name)


def displacements(*models):
    """The rows of one mitigated model: share changed, cosine and vector displacement."""
    return displacement_rows(CommonWords(models))


def values(*models):
    return [row.after for row in displacements(*models)]


def kept(before, after, n_sample=10**6, seed=0):
    (row,) = neighbor_rows(CommonWords([before, after]), n_sample, np.random.default_rng(seed))
    return row


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(300, 8))


@pytest.fixture
def before(vectors):
    return model(vectors, "before")


@pytest.fixture
def moved(vectors):
    moved = vectors + np.random.default_rng(1).normal(scale=0.5, size=vectors.shape)
    moved[:50] = vectors[:50]
    return moved


# Vectors and neighbours


@pytest.mark.parametrize("block", [1, 64, 1 << 20])
def test_displacements_are_those_of_a_loop_over_words(vectors, before, moved, block, monkeypatch):
    monkeypatch.setattr(_evidence, "_BLOCK_NUMBERS", block)
    distances, lengths = [], []
    for b, a in zip(vectors.tolist(), moved.tolist(), strict=True):
        dot = sum(x * y for x, y in zip(b, a, strict=True))
        distances.append(1 - dot / math.hypot(*b) / math.hypot(*a))
        lengths.append(math.dist(a, b) / math.hypot(*b))
    expected = [250 / 300, np.mean(distances), np.mean(lengths)]
    assert values(before, model(moved)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_did_not_change_moved_by_exactly_nothing(vectors, dtype):
    vectors = vectors.astype(dtype)
    assert values(model(vectors, "before"), model(vectors.copy())) == [0, 0, 0]


def test_vectors_without_direction_are_left_out_and_counted():
    changed, cosine, length = displacements(
        model([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [np.nan, 1.0]], "before"),
        model([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [np.nan, 1.0]]),
    )
    assert (changed.after, changed.n) == (0.75, 4)
    # Only the first has directions in both; the third went all its length.
    assert (cosine.after, cosine.n) == (1.0, 1)
    assert (length.after, length.n) == (pytest.approx((math.sqrt(2) + 1) / 2), 2)
    assert "3 without a direction left out" in cosine.note


def test_neighbours_are_those_of_a_loop_over_words(vectors, before, moved):
    def ten_nearest(table, i):
        unit = table / np.linalg.norm(table, axis=1, keepdims=True)
        return set([int(j) for j in np.argsort(-unit @ unit[i]) if j != i][:10])

    shares = [len(ten_nearest(vectors, i) & ten_nearest(moved, i)) / 10 for i in range(300)]
    row = kept(before, model(moved))
    assert 0.1 < row.after < 0.9
    assert row.after == pytest.approx(np.mean(shares), rel=1e-12)
    assert row.change_se == pytest.approx(np.std(shares, ddof=1) / math.sqrt(300), rel=1e-12)
    assert (row.before, row.best_value, row.n, row.note) == (1, 1, 300, "")


def test_invariances_of_neighbours(vectors, before, moved):
    rotation, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(8, 8)))
    assert kept(before, model(vectors @ rotation)).after == 1
    shuffled = np.random.default_rng(3).permutation(vectors)
    # By chance 10 of 299.
    assert kept(before, model(shuffled)).after == pytest.approx(10 / 299, abs=0.02)
    after, order = model(moved), np.random.default_rng(4).permutation(300)
    other = model(moved[order], words=[f"w{i}" for i in order])
    assert kept(before, other, 50) == kept(before, after, 50)
    assert kept(before, after, 50) != kept(before, after, 50, seed=1)
    assert values(before, other) == pytest.approx(values(before, after), rel=1e-12)


# Quality


def quality_of(before, *after, quality="auto", n_sample=1000, seed=0):
    rng = np.random.default_rng(seed)
    return quality_rows(CommonWords([before, *after]), check_quality(quality), n_sample, rng)


@pytest.mark.parametrize(
    ("quality", "error", "culprit"),
    [
        ("all", ValueError, "quality.*'auto'"),
        (["missing.tsv"], FileNotFoundError, r"missing\.tsv"),
        (["animals.tsv"], ValueError, "animals"),
    ],
)
def test_what_is_no_benchmark_is_refused(quality, error, culprit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "animals.tsv").write_text("cat\tmammal\nowl\tbird\n")
    with pytest.raises(error, match=culprit):
        check_quality(quality)
    assert check_quality(None) == check_quality([]) == []


def test_scores_are_those_of_the_quality_of_models(packaged_model, tmp_path):
    pytest.importorskip("gensim")
    file = tmp_path / "questions.txt"
    some = load_benchmark("google-analogies").items[::60]
    file.write_text(": all\n" + "\n".join(" ".join(words) for *words, _ in some) + "\n")
    sources = ["wordsim353", "simlex999", file]
    same = packaged_model.copy("same")
    rows = quality_of(packaged_model, same, quality=sources, n_sample=None)
    assert [row.subject for row in rows] == ["WordSim-353", "SimLex-999", "questions"]
    for row, source in zip(rows, sources, strict=True):
        expected = evaluate(packaged_model, source)
        assert row.before == row.after == pytest.approx(expected.score, abs=1e-6)
        assert (row.n, row.change_se) == (expected.n_used, 0)
        assert f"{expected.n_items - row.n} of {expected.n_items} questions left out" in row.note


def test_analogies_are_solved_where_they_hold(tmp_path):
    pytest.importorskip("gensim")
    words = ["man", "woman", "king", "queen", "boy", "girl", "far"]
    royal, young, female, rest, _, far = np.eye(6)
    vectors = [rest, rest + female, rest + royal, rest + royal + female]
    vectors += [rest + young, rest + young + female, far]
    broken = [*vectors]
    broken[3] = -far
    questions = ["man woman king queen", "Man Woman Boy Girl", "king queen boy girl"]
    file = tmp_path / "questions.txt"
    file.write_text("\n".join([": family", *questions, "man woman uncle aunt"]) + "\n")
    (row,) = quality_of(model(vectors, "b", words), model(broken, "a", words), quality=[file])
    assert (row.measure, row.subject, row.n) == ("analogy accuracy", "questions", 3)
    assert (row.before, row.after) == (1, pytest.approx(2 / 3))
    assert row.note == "1 of 4 questions left out because a model lacks a word"
    # Differences -1, 0, 0: their deviation is 1 / sqrt(3).
    assert row.change_se == pytest.approx(1 / 3)


# Errors of bias by leaving words out


@pytest.mark.parametrize(("metric", "most"), [(WEAT, 1.3), (MAC, 1.7)])
def test_errors_are_those_of_words_drawn_anew(metric, most):
    """The error estimated from one sample is the spread over many samples, or somewhat larger."""
    n, dim = 8, 10
    words = [[f"{name}{i}" for i in range(n)] for name in "abcd"]
    query = Query(words[:2], words[2:])
    options = {"lost_vocabulary_threshold": 0.2, "warn_not_found_words": False}
    rows = []
    for seed in range(60):
        vectors = np.random.default_rng(seed).normal(size=(4, n, dim))
        vectors[:, :, 0] += np.array([1.5, -1.5, 1.0, -1.0])[:, None]
        halved = vectors * np.array([0.5] + [1.0] * (dim - 1))
        models = [model(part.reshape(-1, dim), words=np.ravel(words)) for part in (vectors, halved)]
        rows += bias_rows(metric(), [query], models, options, None, False)
    numbers = np.array([(row.before, row.after, row.after - row.before) for row in rows])
    errors = np.array([(row.before_se, row.after_se, row.change_se) for row in rows])
    ratios = errors.mean(axis=0) / numbers.std(axis=0, ddof=1)
    assert ((ratios > 0.75) & (ratios < most)).all()
