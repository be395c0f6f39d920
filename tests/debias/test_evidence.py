"""What a mitigation changes: vectors, neighbours and quality; and what remains of the bias."""

import math

import numpy as np
import pytest
from mitigation import unit
from sklearn.cluster import KMeans
from sklearn.svm import SVC

from wefe import WordEmbeddingModel
from wefe.datasets import Criterion, load_criterion
from wefe.debias import _evidence
from wefe.debias._evidence import (
    CommonWords,
    as_table,
    check_quality,
    displacement_rows,
    neighbor_rows,
    paired_errors,
    paired_scores,
    quality_rows,
    residual_rows,
)
from wefe.quality import evaluate, load_benchmark

WORDS = [*"abcdefghijklmnopqrstuvwxyz", "she", "he"]
CRITERION = Criterion("gender", [("she", "he")])


def records(rows):
    return list(as_table(rows).itertuples())


def rows_of(*models, criterion=CRITERION, n_words=500):
    return records(residual_rows(CommonWords(models), criterion, n_words, 0))


def toy(words=WORDS, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(len(words), 4))
    return WordEmbeddingModel((words, vectors), f"m{seed}")


# Words in common


def test_words_that_one_model_lacks_are_left_out_of_both_and_counted(caplog):
    words = [*WORDS[10:14], "new", *WORDS[14:]]
    common = CommonWords([toy(), toy(words[::-1], 1)])
    assert common.words == WORDS[10:]
    assert "10 words of m0" in caplog.text
    assert "1 words of m1" in caplog.text
    assert common.find(["a", "new", *WORDS[10:]]).tolist() == [-1, -1, *range(18)]
    expected = [each.get_vectors(WORDS[12:15]) for each in common.models]
    for number in (0, 1):
        for rows in (slice(2, 5), np.array([2, 3, 4])):
            np.testing.assert_array_equal(common.vectors(number, rows), expected[number])


# Errors


def test_the_change_is_paired():
    before = np.random.default_rng(2).normal(size=15)
    shifted, opposite = (paired_errors([before], [each]) for each in (before + 3.0, -before))
    assert shifted["change_se"] == pytest.approx(0, abs=1e-14)
    assert shifted["before_se"] == pytest.approx(shifted["after_se"])
    assert shifted["before_se"] > 0.1
    assert opposite["change_se"] == pytest.approx(2 * opposite["before_se"])
    right = np.array([[1, 1, 1, 0, 1, 0, 1, 1], [1, 0, 0, 0, 1, 1, 1, 1]], dtype=float)
    (scores,) = paired_scores(right)
    assert (scores["before"], scores["after"]) == (0.75, 0.625)
    # Six of eight are right: p (1 - p) / (n - 1).
    assert scores["before_se"] == pytest.approx(math.sqrt(0.75 * 0.25 / 7))
    # Two are lost and one is found: differences 0, -1, -1, 0, 0, 1, 0, 0.
    assert scores["change_se"] == pytest.approx(math.sqrt((3 - 8 * (1 / 8) ** 2) / 7 / 8))
    assert math.isnan(paired_scores([np.ones(1), np.ones(1)])[0]["change_se"])
    # Of two words, each is left out once.
    (scores,) = paired_scores(np.array([[0.0, 1.0], [0.0, 0.0]]))
    assert [*scores.values()][2:] == pytest.approx([0.5, 0, 0.5])


# What remains


def test_the_rows_are_those_of_a_slow_computation(packaged_model, debiased, gender):
    n, k = 60, 100
    rows = rows_of(packaged_model, debiased, criterion=gender, n_words=n)
    scores = {row.measure: (row.before, row.after) for row in rows}
    plain = [
        word
        for word in packaged_model
        if word == word.lower() and len(word) < 20 and word not in gender.specific_words
        if not any(c in "0123456789!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" for c in word)
    ]
    she, he = unit(packaged_model.get_vectors(["she", "he"]))
    towards = unit(packaged_model.get_vectors(plain)) @ (she - he)
    order = np.argsort(towards)
    sides = [*order[::-1][:n], *order[:n]]
    draw = np.random.default_rng(0).permutation(n)
    learnt = np.concatenate([draw[: n // 5], n + draw[: n // 5]])
    tested = np.setdiff1d(np.arange(2 * n), learnt)
    y = np.repeat([0, 1], n)
    for which, model in enumerate((packaged_model, debiased)):
        everything = unit(model.get_vectors(plain))
        x = everything[sides]
        share = (KMeans(2, n_init=10, random_state=0).fit_predict(x) == y).mean()
        assert scores["cluster alignment"][which] == pytest.approx(max(share, 1 - share))
        right = SVC(C=1, gamma="scale").fit(x[learnt], y[learnt]).score(x[tested], y[tested])
        assert scores["classification accuracy"][which] == pytest.approx(right)
        cosines = everything[: 2 * n] @ everything.T
        np.fill_diagonal(cosines, -2)
        near = np.argsort(-cosines, axis=1)[:, :k]
        shares = (towards[near] > 0).mean(axis=1)
        expected = np.corrcoef(shares, towards[: 2 * n])[0, 1]
        assert scores["neighbour correlation"][which] == pytest.approx(expected, abs=1e-3)


def test_the_class_is_recovered_from_the_words_of_a_hard_debiased_model(
    packaged_model, debiased, gender
):
    """Measured: 1.00 -> 0.89 of 800 words, clusters 0.82 -> 0.79, neighbours 0.80 -> 0.76."""
    clusters, classes, linear, neighbors, projections = rows_of(
        packaged_model, debiased, criterion=gender
    )
    assert (classes.n, classes.best_value, classes.subject) == (800, 0.5, "gender")
    assert classes.before > 0.99
    assert 0.85 < classes.after < 0.95
    assert (linear.n, linear.best_value, linear.before) == (800, 0.5, 1.0)
    assert 0.85 < linear.after < 0.95
    assert clusters.best_value == pytest.approx(0.5126, abs=1e-4)
    assert clusters.after > clusters.best_value + 0.2
    assert neighbors.after > 0.7
    assert (neighbors.n, neighbors.best_value) == (1000, 0)
    # The very direction is gone.
    assert projections.before == pytest.approx(1)
    assert math.isnan(projections.after)
    assert "except for rounding" in projections.note
    assert not any("rounding" in row.note for row in (clusters, classes, linear, neighbors))


def test_of_more_classes_each_is_told_from_the_others(packaged_model):
    religion = load_criterion("religion")
    same = packaged_model.copy("same")
    rows = rows_of(packaged_model, same, criterion=religion, n_words=100)
    names = ["jew", "christian", "muslim"]
    assert [row.subject for row in rows[::5]] == [f"religion: {name} or not" for name in names]
    assert len(rows) == 15
    assert all(row.before > 0.9 for row in rows if row.measure == "classification accuracy")
    assert {(row.after - row.before, row.change_se) for row in rows} == {(0, 0)}
    assert not any("rounding" in row.note for row in rows)


def test_what_cannot_be_tested_is_nan_with_the_reason():
    few, zero = ["a", "b", "she", "he"], toy(seed=1)
    zero.update("he", np.zeros(4))
    nothing = "no vector with a direction for he, which represent a class"
    for before, after, note in (
        (toy(few), toy(few, 1), "only 2 words are left to choose from"),
        (toy(), toy([word for word in WORDS if word != "he"], 1), nothing),
        (toy(), zero, nothing),
    ):
        rows = rows_of(before, after)
        assert len(rows) == 5
        assert all(math.isnan(row.before) and math.isnan(row.after) for row in rows)
        assert {(row.note, row.n) for row in rows} == {(note, 0)}


@pytest.mark.parametrize(
    ("words", "specific", "n_words"),
    [
        (WORDS, ["a", "b"], 24),
        ([*WORDS, "A1", "b-c", "x" * 20, "Big"], [], 26),
        ([word.upper() for word in WORDS], ["A"], 25),
    ],
)
def test_specific_words_and_what_is_not_plain_is_left_out(words, specific, n_words):
    upper = "SHE" in words
    pairs = [("SHE", "HE")] if upper else [("she", "he")]
    criterion = Criterion("gender", pairs, specific_words=specific)
    rows = rows_of(toy(words), toy(words, 1), criterion=criterion)
    assert f"a quarter of the {n_words}" in rows[0].note
    assert ("words of any case" in rows[0].note) is upper
    assert "quarter" not in rows_of(toy(), toy(seed=1), n_words=6)[0].note


def test_neighbours_are_as_many_as_there_are():
    neighbors = rows_of(toy(), toy(seed=1))[3]
    assert neighbors.note.endswith("25 neighbours, because there are few words")


def model(vectors, name="after", words=None):
    vectors = np.asarray(vectors)
    words = [f"w{i}" for i in range(len(vectors))] if words is None else words
    return WordEmbeddingModel((words, vectors), name)


def displacements(*models):
    """The rows of one mitigated model: share changed, cosine and vector displacement."""
    return records(displacement_rows(CommonWords(models)))


def values(*models):
    return [row.after for row in displacements(*models)]


def kept(before, after, n_sample=10**6, seed=0):
    rng = np.random.default_rng(seed)
    (row,) = records(neighbor_rows(CommonWords([before, after]), n_sample, rng))
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
    two = np.eye(2)
    assert kept(model(two, "before"), model(two)).after == 1


# Quality


def quality_of(before, *after, quality="auto", n_sample=1000, seed=0):
    rng = np.random.default_rng(seed)
    models = CommonWords([before, *after])
    return records(quality_rows(models, check_quality(quality), n_sample, rng))


def test_scores_are_those_of_the_quality_of_models(packaged_model, tmp_path):
    pytest.importorskip("gensim")
    file = tmp_path / "questions.txt"
    some = load_benchmark("google-analogies").items[::60]
    file.write_text(": all\n" + "\n".join(" ".join(words) for *words, _ in some) + "\n")
    sources = ["wordsim353", "simlex999", file]
    same = packaged_model.copy("same")
    rows = quality_of(packaged_model, same, quality=sources, n_sample=None)
    assert [row.subject for row in rows] == ["wordsim353", "simlex999", "questions"]
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
