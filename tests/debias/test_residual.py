"""Can the bias still be recovered? The tests of Gonen and Goldberg."""

import math

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.svm import SVC

from wefe import WordEmbeddingModel
from wefe.datasets import Criterion, load_criterion
from wefe.debias import HardDebias
from wefe.debias._residual import CommonWords, residual_rows
from wefe.metrics import bias_by_projection

GENDER = load_criterion("gender", offline=True)


def rows_of(before, *after, criterion=GENDER, **given):
    options = {"words": None, "ignore": (), "n_words": 500, "k": 100, "random_state": 0, **given}
    return residual_rows(CommonWords([before, *after]), criterion, *options.values())


@pytest.fixture(scope="module")
def debiased(packaged_model):
    return HardDebias().fit_transform(
        packaged_model, criterion=GENDER, ignore=GENDER.specific_words
    )


def test_the_rows_are_those_of_a_slow_computation(packaged_model, debiased):
    n, k = 120, 15
    rows = rows_of(packaged_model, debiased, n_words=n, k=k)
    scores = {row.measure: (row.before, row.after) for row in rows}

    def unit(model, words):
        vectors = np.array([model[word] for word in words], dtype=float)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    specific = set(GENDER.specific_words)
    plain = [
        word
        for word in packaged_model.vocab
        if word == word.lower() and len(word) < 20 and word not in specific
        if not any(c in "0123456789!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" for c in word)
    ]
    she, he = unit(packaged_model, ["she", "he"])
    towards = {
        word: float(v @ she - v @ he)
        for word, v in zip(plain, unit(packaged_model, plain), strict=True)
    }
    ranked = sorted(plain, key=towards.get)
    male, female = ranked[:n], ranked[-n:]
    draw = np.random.default_rng(0).permutation(n)
    for which, model in enumerate((packaged_model, debiased)):
        x = unit(model, female[::-1] + male)
        y = np.repeat([0, 1], n)
        found = KMeans(2, n_init=10, random_state=0).fit_predict(x)
        share = (found == y).mean()
        assert scores["cluster alignment"][which] == pytest.approx(max(share, 1 - share))
        learnt = np.concatenate([draw[: n // 5], n + draw[: n // 5]])
        tested = np.setdiff1d(np.arange(2 * n), learnt)
        right = SVC(C=1, gamma="scale").fit(x[learnt], y[learnt]).score(x[tested], y[tested])
        assert scores["classification accuracy"][which] == pytest.approx(right)
        everything = unit(model, plain)
        shares = []
        for i in range(2 * n):
            cosines = everything @ everything[i]
            cosines[i] = -2
            near = np.argsort(-cosines)[:k]
            shares.append(np.mean([towards[plain[j]] > 0 for j in near]))
        expected = np.corrcoef(shares, [towards[word] for word in plain[: 2 * n]])[0, 1]
        assert scores["neighbour correlation"][which] == pytest.approx(expected, abs=1e-3)


def test_the_class_is_recovered_from_the_words_of_a_hard_debiased_model(packaged_model, debiased):
    """Measured: 1.00 -> 0.89 of 800 words, clusters 0.82 -> 0.79, neighbours 0.80 -> 0.76."""
    clusters, classes, linear, neighbors, projections = rows_of(packaged_model, debiased)
    assert (classes.n, classes.best_value, classes.subject) == (800, 0.5, "gender")
    assert classes.before > 0.99
    assert 0.85 < classes.after < 0.95
    assert classes.after - 0.3 > 0.5
    assert (linear.n, linear.best_value, linear.before) == (800, 0.5, 1.0)
    assert 0.85 < linear.after < 0.95
    assert clusters.best_value == pytest.approx(0.5126, abs=1e-4)
    assert clusters.after > clusters.best_value + 0.2
    assert neighbors.after > 0.7
    assert (neighbors.n, neighbors.best_value) == (1000, 0)
    # The very direction is gone.
    assert projections.before == pytest.approx(1)
    assert math.isnan(projections.after)
    assert "only rounding errors are left" in projections.note


def test_of_vectors_that_know_nothing_nothing_is_recovered(packaged_model):
    noise = np.random.default_rng(0).normal(size=packaged_model.vectors.shape)
    after = WordEmbeddingModel.from_arrays(list(packaged_model.vocab), noise, "noise")
    clusters, classes, linear, neighbors, projections = rows_of(packaged_model, after)
    assert clusters.after < clusters.best_value + 0.03
    assert classes.after == pytest.approx(0.5, abs=0.06)
    assert linear.after == pytest.approx(0.5, abs=0.06)
    assert abs(neighbors.after) < 0.1
    assert abs(projections.after) < 0.1


def test_the_same_model_has_no_change(packaged_model):
    rows = rows_of(packaged_model, packaged_model.copy("same"), n_words=100)
    assert [row.after - row.before for row in rows] == [0] * 5
    assert [row.change_se for row in rows] == [0] * 5


def test_of_more_classes_each_is_told_from_the_others(packaged_model):
    religion = load_criterion("religion")
    rows = rows_of(packaged_model, packaged_model.copy("same"), criterion=religion, n_words=100)
    assert len(rows) == 15
    assert list(dict.fromkeys(row.subject for row in rows)) == [
        "religion: jew or not",
        "religion: christian or not",
        "religion: muslim or not",
    ]
    # 'jew' against the mean of the other two, by hand.
    unit = {w: packaged_model[w] / np.linalg.norm(packaged_model[w]) for w in religion.class_names}
    word = packaged_model["holy"] / np.linalg.norm(packaged_model["holy"])
    expected = word @ unit["jew"] - (word @ unit["christian"] + word @ unit["muslim"]) / 2
    assert bias_by_projection([word], unit["jew"], [unit["christian"], unit["muslim"]]) == (
        pytest.approx(expected, abs=1e-6)
    )
    assert all(row.before > 0.9 for row in rows if row.measure == "classification accuracy")


def toy(words, seed=0, dtype=float, prefix=None):
    vectors = np.random.default_rng(seed).normal(size=(len(words), 4)).astype(dtype)
    prefixed = [(prefix or "") + word for word in words]
    return WordEmbeddingModel.from_arrays(prefixed, vectors, f"m{seed}", prefix)


WORDS = [*"abcdefghijklmnopqrstuvwxyz", "she", "he"]
CRITERION = Criterion("gender", [("she", "he")])


def test_few_words_are_enough_and_noted():
    clusters, classes, _, neighbors, _ = rows_of(toy(WORDS), toy(WORDS, 1), criterion=CRITERION)
    assert clusters.n == 12
    assert "6 words per side, a quarter of the 26 there are" in clusters.note
    assert classes.n == 10
    assert "25 neighbours, because there are few words" in neighbors.note
    # All words share their 25 neighbours but for themselves: a share, but a constant one nearly.
    assert not math.isnan(neighbors.after)


def test_too_few_words_are_nan_with_the_reason():
    few = ["a", "b", "she", "he"]
    rows = rows_of(toy(few), toy(few, 1), criterion=CRITERION)
    assert len(rows) == 5
    assert all(math.isnan(row.before) and math.isnan(row.after) for row in rows)
    assert {row.note for row in rows} == {"only 2 words are left to choose from"}


def test_a_missing_representative_is_nan_with_the_reason():
    before = toy(WORDS)
    zero = toy(WORDS, 1)
    zero.update("he", np.zeros(4))
    for after in (toy([word for word in WORDS if word != "he"], 1), zero):
        rows = rows_of(before, after, criterion=CRITERION)
        assert len(rows) == 5
        assert {row.note for row in rows} == {
            "no vector with a direction for he, which represent a class"
        }


def test_ignored_words_and_what_is_not_plain_is_left_out():
    odd = ["A1", "b-c", "x" * 20, "Big"]
    plain = rows_of(toy(WORDS), toy(WORDS, 1), criterion=CRITERION, ignore=["a", "b"])
    assert "a quarter of the 24" in plain[0].note
    with_odd = rows_of(toy(WORDS + odd), toy(WORDS + odd, 1), criterion=CRITERION)
    assert "a quarter of the 26" in with_odd[0].note


def test_a_vocabulary_in_upper_case_has_words_too():
    words = [word.upper() for word in WORDS]
    criterion = Criterion("gender", [("SHE", "HE")])
    rows = rows_of(toy(words), toy(words, 1), criterion=criterion)
    assert rows[0].n == 12
    assert "words of any case" in rows[0].note


def test_a_prefix_is_honoured():
    words = ["b", "c", "d", "e"]
    plain = rows_of(toy(WORDS), toy(WORDS, 1), criterion=CRITERION, ignore=["a"], words=words)
    prefixed = rows_of(
        toy(WORDS, prefix="/c/en/"),
        toy(WORDS, 1, prefix="/c/en/"),
        criterion=CRITERION,
        ignore=["a"],
        words=words,
    )
    # As text, since NaN is not equal to itself.
    assert repr(prefixed) == repr(plain)
    assert not math.isnan(plain[2].after)


def test_words_of_the_user_are_looked_at(packaged_model, debiased):
    jobs = ["nurse", "doctor", "engineer", "teacher", "xyzzy"]
    *_, neighbors, projections = rows_of(packaged_model, debiased, words=jobs, n_words=50)
    assert (neighbors.n, projections.n) == (4, 4)
    assert "1 of 5 words not found" in neighbors.note


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_every_dtype_is_taken(dtype):
    rows = rows_of(toy(WORDS, 0, dtype), toy(WORDS, 1, dtype), criterion=CRITERION)
    assert not any(math.isnan(row.after) for row in rows)
