"""Can the bias still be recovered? The tests of Gonen and Goldberg."""

import math

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.svm import SVC

from wefe import WordEmbeddingModel
from wefe.datasets import Criterion, load_criterion
from wefe.debias import (
    HardDebias,
    bias_by_neighbors,
    bias_by_projection,
    classification_accuracy,
    cluster_alignment,
    neighbor_correlation,
)
from wefe.debias._common_words import CommonWords
from wefe.debias._residual import residual_rows

# Of the toy model, less the words of its two target sets.
NINE = ["home", "kids", "boss", "job", "nurse", "pilot", "tree", "they", "folk"]
PROJECTIONS = [-0.897176, -0.846840, 0.697171, 1.212672, -0.899889, 1.036049, -0.132993]
PROJECTIONS += [-0.110616, 0.135105]


@pytest.fixture
def nine(toy_model):
    return toy_model.get_vectors(NINE)


@pytest.fixture
def bias(toy_model, nine):
    return bias_by_projection(nine, toy_model["he"], toy_model["she"])


@pytest.fixture
def rotation():
    return np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]


# The worked example


def test_projections_of_the_worked_example(bias):
    np.testing.assert_allclose(bias, PROJECTIONS, atol=5e-7)


def test_shares_among_neighbours_of_the_worked_example(nine, bias):
    shares = bias_by_neighbors(nine, bias, range(9), k=3)
    np.testing.assert_allclose(shares * 3, [1, 1, 3, 3, 1, 2, 2, 1, 1])
    assert 100 * shares.mean() == pytest.approx(55.555556)
    assert neighbor_correlation(nine, bias, range(9), k=3) == pytest.approx(0.806600, abs=5e-7)


def test_clusters_and_classes_of_the_worked_example(toy_model):
    female, male = ["she", "woman", "home", "nurse"], ["he", "man", "boss", "pilot"]
    get = toy_model.get_vectors
    assert cluster_alignment(get(female), get(male)) == 1.0
    train = get(["she", "woman"]), get(["he", "man"])
    test = get(["home", "kids", "nurse"]), get(["boss", "job", "pilot"])
    assert classification_accuracy(train, test, gamma="auto") == 1.0


# What must not matter


def test_a_rotation_of_the_vectors_has_no_influence(toy_model, nine, bias, rotation):
    turned = nine @ rotation
    np.testing.assert_allclose(
        bias_by_projection(turned, toy_model["he"] @ rotation, toy_model["she"] @ rotation),
        bias,
        atol=1e-14,
    )
    np.testing.assert_array_equal(
        bias_by_neighbors(turned, bias, range(9), k=3),
        bias_by_neighbors(nine, bias, range(9), k=3),
    )
    sides = np.random.default_rng(1).normal(size=(2, 40, 3))
    sides[:, :, 0] += [[0.5], [-0.5]]
    assert cluster_alignment(*(sides @ rotation)) == pytest.approx(cluster_alignment(*sides))
    halves = [(part[:, :20], part[:, 20:]) for part in (sides, sides @ rotation)]
    assert classification_accuracy(*halves[0]) == classification_accuracy(*halves[1])


def test_lengths_have_no_influence(nine, bias, toy_model):
    longer = nine * np.linspace(0.1, 9, 9)[:, None]
    np.testing.assert_allclose(
        bias_by_projection(longer, 3 * toy_model["he"], toy_model["she"]), bias, atol=1e-14
    )
    assert neighbor_correlation(longer, bias, range(9), 3) == pytest.approx(
        neighbor_correlation(nine, bias, range(9), 3)
    )
    assert cluster_alignment(longer[:4], longer[4:]) == cluster_alignment(nine[:4], nine[4:])


def test_exchanged_classes_change_signs_only(nine, bias, toy_model):
    swapped = bias_by_projection(nine, toy_model["she"], toy_model["he"])
    np.testing.assert_allclose(swapped, -bias, atol=1e-15)
    assert cluster_alignment(nine[:4], nine[4:]) == cluster_alignment(nine[4:], nine[:4])
    assert neighbor_correlation(nine, swapped, range(9), 3) == pytest.approx(
        neighbor_correlation(nine, bias, range(9), 3)
    )


def test_against_several_words_the_mean_of_the_cosines_counts(nine, bias, toy_model):
    he, she = toy_model["he"], toy_model["she"]
    both = bias_by_projection(nine, he, [she, 2 * toy_model["woman"]])
    mean = (bias + bias_by_projection(nine, he, toy_model["woman"])) / 2
    np.testing.assert_allclose(both, mean, atol=1e-15)


# Chance


def test_labels_without_meaning_are_recovered_by_chance_only():
    aligned, accuracies, n = [], [], 60
    for seed in range(25):
        vectors = np.random.default_rng(seed).normal(size=(2, n // 2, 5))
        aligned.append(cluster_alignment(*vectors, random_state=seed))
        accuracies.append(classification_accuracy(vectors[:, :10], vectors[:, 10:]))
    assert np.mean(aligned) == pytest.approx(0.5 + 1 / math.sqrt(2 * math.pi * n), abs=0.025)
    assert np.mean(accuracies) == pytest.approx(0.5, abs=0.05)
    assert min(aligned) >= 0.5


def test_what_is_refused(nine, bias):
    with pytest.raises(ValueError, match="zero vector"):
        cluster_alignment(nine, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="row 0 holds NaN"):
        classification_accuracy((nine[:2], nine[2:4]), ([[np.nan, 1, 1]], nine[4:]))
    with pytest.raises(ValueError, match="k must be an integer of at least 1"):
        bias_by_neighbors(nine, bias, [0], k=0)
    with pytest.raises(ValueError, match="k=9 is more than the 8 neighbours"):
        bias_by_neighbors(nine, bias, [0], k=9)


def test_no_correlation_with_a_constant(nine):
    assert math.isnan(neighbor_correlation(nine, np.ones(9), range(9), 3))


# The rows of a comparison

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
    assert "nothing but rounding is left" in projections.note


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
    assert "25 neighbours, as there are few words" in neighbors.note
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
