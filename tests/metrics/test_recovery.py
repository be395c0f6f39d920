"""Can the groups be recovered? Cluster, classification and neighbour tests, beside chance."""

import itertools
import json
import math

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import balanced_accuracy_score
from sklearn.svm import SVC

from wefe.metrics import _recovery as recovery
from wefe.metrics import (
    bias_by_neighbors,
    bias_by_projection,
    classification_accuracy,
    classification_test,
    cluster_alignment,
    cluster_test,
    neighbor_correlation,
    neighbor_test,
    projection_test,
)

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


# Three groups and more


@pytest.fixture
def three():
    """Three groups of unequal size that overlap somewhat."""
    rng = np.random.default_rng(5)
    centres = 1.2 * np.eye(4)[:3]
    return [rng.normal(size=(n, 4)) + c for n, c in zip((30, 40, 25), centres, strict=True)]


def units(arrays):
    x = np.concatenate(arrays)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_of_three_groups_the_best_reading_of_the_clusters_counts(three):
    clusters = KMeans(3, n_init=10, random_state=0).fit_predict(units(three))
    labels = [g for g, part in enumerate(three) for _ in part]
    shares = []
    for reading in itertools.permutations(range(3)):
        right = 0
        for label, cluster in zip(labels, clusters, strict=True):
            right += reading[cluster] == label
        shares.append(right / len(labels))
    assert 0.5 < max(shares) < 1
    assert cluster_alignment(*three) == pytest.approx(max(shares))
    assert cluster_test(three).value == cluster_alignment(*three)


def test_no_group_stands_for_another(three):
    """Code in use compares the first group with itself, which would give the same for any third."""
    first, second, third = three
    far = third + np.array([0, 0, 0, 50])
    assert cluster_alignment(first, second, far) != cluster_alignment(first, second, third)
    assert classification_test([first, second, far]).value > (
        classification_test([first, second, third]).value
    )


def test_the_order_of_groups_and_a_rotation_have_no_influence(three):
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    # Far enough apart for k-means to end in the same clusters, wherever it starts.
    three = [part + 2 * np.eye(4)[i] for i, part in enumerate(three)]
    assert cluster_alignment(*three) < 1
    for other in (three[::-1], [three[1], three[2], three[0]], [part @ rotation for part in three]):
        assert cluster_alignment(*other) == pytest.approx(cluster_alignment(*three))
    halves = [part[::2] for part in three], [part[1::2] for part in three]
    turned = [[part @ rotation for part in side] for side in halves]
    assert classification_accuracy(*turned) == classification_accuracy(*halves)


def test_three_groups_are_classified_as_by_scikit_learn(three):
    train, test = [part[::2] for part in three], [part[1::2] for part in three]
    classifier = SVC(C=1).fit(units(train), np.repeat([0, 1, 2], [len(part) for part in train]))
    expected = classifier.score(units(test), np.repeat([0, 1, 2], [len(part) for part in test]))
    assert classification_accuracy(train, test) == pytest.approx(expected)
    result = classification_test(train, test=test)
    assert result.value == pytest.approx(expected)
    assert result.chance == 20 / 47
    assert (result.n_words, result.n_groups, result.p_method) == (95, 3, "permutation")


def test_shares_of_three_groups_are_those_of_a_slow_computation():
    rng = np.random.default_rng(3)
    vectors, bias, k = rng.normal(size=(40, 4)), rng.normal(size=(40, 3)), 6
    bias[7] = 0.3  # of no group
    rows = [0, 7, 11, 25, 39]
    expected = np.zeros((len(rows), 3))
    for i, row in enumerate(rows):
        cosines = []
        for other in range(40):
            length = np.linalg.norm(vectors[row]) * np.linalg.norm(vectors[other])
            cosines.append((-vectors[row] @ vectors[other] / length, other))
        near = [other for _, other in sorted(cosines) if other != row][:k]
        for other in near:
            if other != 7:
                expected[i, bias[other].argmax()] += 1 / k
    shares = bias_by_neighbors(vectors, bias, rows, k)
    np.testing.assert_allclose(shares, expected)
    correlations = neighbor_correlation(vectors, bias, rows, k)
    for group in range(3):
        slow = np.corrcoef(expected[:, group], bias[rows, group])[0, 1]
        assert correlations[group] == pytest.approx(slow)
        test = neighbor_test(vectors, bias, rows, k, group=group, n_permutations=20)
        assert test.value == pytest.approx(slow)


def test_two_columns_that_mirror_each_other_are_one(nine, bias):
    both = np.stack([bias, -bias], axis=1)
    shares = bias_by_neighbors(nine, both, range(9), 3)
    np.testing.assert_array_equal(shares[:, 0], bias_by_neighbors(nine, bias, range(9), 3))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    correlations = neighbor_correlation(nine, both, range(9), 3)
    assert correlations == pytest.approx(0.806600, abs=5e-7)


# The tests: chance and p-values


def test_chance_of_two_groups_is_that_of_all_groups_of_these_sizes():
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)) + np.eye(3)[0]
    clusters = KMeans(2, n_init=10, random_state=0).fit_predict(units(groups))
    result, every = cluster_test(groups), []
    for chosen in itertools.combinations(range(9), 4):
        share = np.mean([(i in chosen) == (clusters[i] == 1) for i in range(9)])
        every.append(max(share, 1 - share))
    assert result.chance == pytest.approx(np.mean(every))
    assert result.p_value == pytest.approx(np.mean(np.array(every) >= result.value - 1e-9))
    assert result.p_method == "exact"


def test_random_groups_of_three_agree_with_all_of_them():
    rng = np.random.default_rng(1)
    groups = [rng.normal(size=(n, 3)) for n in (2, 3, 3)]
    clusters = KMeans(3, n_init=10, random_state=0).fit_predict(units(groups))
    every = []
    for labels in set(itertools.permutations([0, 0, 1, 1, 1, 2, 2, 2])):
        shares = [
            np.mean([reading[c] == g for c, g in zip(clusters, labels, strict=True)])
            for reading in itertools.permutations(range(3))
        ]
        every.append(max(shares))
    result = cluster_test(groups, n_permutations=5000)
    assert result.chance == pytest.approx(np.mean(every), abs=0.01)
    expected = np.mean(np.array(every) >= result.value - 1e-9)
    assert result.p_value == pytest.approx(expected, abs=0.02)
    assert result.p_method == "permutation"


def test_the_p_value_of_one_classification_is_that_of_all_groups_of_the_words_tested():
    rng = np.random.default_rng(2)
    apart = np.array([[[0.5, 0, 0]], [[-0.5, 0, 0]]])
    train, test = (rng.normal(size=(2, n, 3)) + apart for n in (10, 4))
    result = classification_test(train, test=test)
    said = SVC(C=1).fit(units(train), np.repeat([0, 1], 10)).predict(units(test))
    every = []
    for chosen in itertools.combinations(range(8), 4):
        every.append(np.mean([(i in chosen) == (said[i] == 1) for i in range(8)]))
    assert result.p_value == pytest.approx(np.mean(np.array(every) >= result.value - 1e-9))
    assert (result.n_words, result.chance) == (28, 0.5)


@pytest.mark.parametrize("apart", [0.25, 0.7])
def test_the_p_value_of_three_divisions_is_twice_their_median(apart):
    rng, seed = np.random.default_rng(11), 4
    sides = rng.normal(size=(2, 6, 3)) + apart * np.array([[[1, 0, 0]], [[-1, 0, 0]]])
    divisions = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
    p_values, accuracies = [], []
    for _ in range(3):
        orders = [divisions.permutation(6) for _ in sides]
        learnt = [side[order[:2]] for side, order in zip(sides, orders, strict=True)]
        tested = [side[order[2:]] for side, order in zip(sides, orders, strict=True)]
        said = SVC(C=1).fit(units(learnt), [0, 0, 1, 1]).predict(units(tested))
        right = np.mean(said == [0] * 4 + [1] * 4)
        every = [
            np.mean([(i in chosen) == (said[i] == 1) for i in range(8)])
            for chosen in itertools.combinations(range(8), 4)
        ]
        accuracies.append(right)
        p_values.append(np.mean(np.array(every) >= right - 1e-9))
    result = classification_test(sides, train_share=1 / 3, n_repeats=3, random_state=seed)
    assert result.value == pytest.approx(np.mean(accuracies))
    assert result.p_value == pytest.approx(min(1, 2 * sorted(p_values)[1]))
    # Neither the median itself nor always 1.
    assert (result.p_value < 1) == (apart == 0.7)
    single = classification_test(sides, train_share=1 / 3, n_repeats=1, random_state=seed)
    assert single.p_value == pytest.approx(p_values[0])


# Groups of different sizes


def uneven(*sizes, apart=1.5, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, 5)) + apart * np.eye(5)[i] for i, n in enumerate(sizes)]


def test_a_small_group_is_found_where_groups_count_alike():
    groups = uneven(60, 6)
    plain, fair = (classification_test(groups, balanced=each) for each in (False, True))
    # Every word is said to be of the large group.
    assert plain.value == plain.chance == pytest.approx(48 / 53)
    assert plain.p_value == 1
    assert fair.chance == 0.5
    assert fair.value > 0.6
    assert fair.p_value < 1


def test_balanced_accuracy_is_that_of_scikit_learn_and_its_p_value_that_of_all_groups():
    train, test = uneven(20, 9, 5), uneven(4, 3, 1, seed=1)
    classifier = SVC(C=1, class_weight="balanced")
    said = classifier.fit(units(train), np.repeat([0, 1, 2], [20, 9, 5])).predict(units(test))
    labels = np.repeat([0, 1, 2], [4, 3, 1])
    result = classification_test(train, test=test, balanced=True, n_permutations=4000)
    seen = balanced_accuracy_score(labels, said)
    assert result.value == pytest.approx(seen)
    assert result.chance == pytest.approx(1 / 3)
    every = [
        balanced_accuracy_score(each, said) for each in set(itertools.permutations(labels.tolist()))
    ]
    expected = np.mean(np.array(every) >= seen - 1e-9)
    assert 0.01 < expected < 0.6
    assert result.p_value == pytest.approx(expected, abs=0.03)
    # Shares of 4, 3 and 1 words have the variance of a share of so many.
    n = 9 / (1 / 4 + 1 / 3 + 1)
    assert result.interval == pytest.approx(recovery.wilson(seen, n, 0.95))


def test_of_groups_of_one_size_balance_changes_nothing(three):
    groups = [part[:20] for part in three]
    options = {"n_repeats": 3, "n_permutations": 99}
    plain, fair = (
        classification_test(groups, balanced=each, **options).to_dict() for each in (False, True)
    )
    for name in ("value", "chance", "p_value", "interval"):
        assert fair[name] == pytest.approx(plain[name]), name


def test_balanced_accuracy_of_groups_without_meaning_is_chance():
    values = [
        classification_test(
            uneven(40, 10, apart=0, seed=seed), balanced=True, n_repeats=5, random_state=seed
        ).value
        for seed in range(30)
    ]
    assert np.mean(values) == pytest.approx(0.5, abs=4 * np.std(values) / math.sqrt(30))


def test_the_worked_example_as_tests(toy_model, nine, bias):
    get = toy_model.get_vectors
    sides = [get(["she", "woman", "home", "nurse"]), get(["he", "man", "boss", "pilot"])]
    clusters = cluster_test(sides)
    # Of the 70 ways to choose four of eight words two are as good.
    assert (clusters.value, clusters.p_value) == (1.0, pytest.approx(2 / 70))
    train = get(["she", "woman"]), get(["he", "man"])
    test = get(["home", "kids", "nurse"]), get(["boss", "job", "pilot"])
    classes = classification_test(train, test=test, gamma="auto")
    assert (classes.value, classes.p_value) == (1.0, pytest.approx(1 / 20))
    neighbors = neighbor_test(nine, bias, range(9), k=3)
    assert neighbors.value == pytest.approx(0.806600, abs=5e-7)
    assert neighbors.interval[0] < 0.8066 < neighbors.interval[1]
    assert neighbors.p_value < 0.05


def test_the_interval_of_a_correlation_is_that_of_a_slow_jackknife():
    x = np.random.default_rng(0).normal(size=20)
    y = x + np.random.default_rng(1).normal(size=20)
    z = []
    for i in range(20):
        kept = [j for j in range(20) if j != i]
        z.append(math.atanh(np.corrcoef(x[kept], y[kept])[0, 1]))
    error = math.sqrt(19 / 20 * sum((value - sum(z) / 20) ** 2 for value in z))
    result = projection_test(x, y, n_permutations=99)
    centre = math.atanh(np.corrcoef(x, y)[0, 1])
    bounds = [math.tanh(centre + sign * 1.959964 * error) for sign in (-1, 1)]
    assert result.interval == pytest.approx(bounds, abs=1e-6)
    assert result.p_value == 0.01
    assert result.interval_method == "jackknife"


def test_the_interval_of_a_share_is_wilsons():
    """8 of 10: 0.490 to 0.943, as textbooks have it."""
    assert recovery.wilson(0.8, 10, 0.95) == pytest.approx((0.4902, 0.9433), abs=1e-4)


@pytest.mark.parametrize("n", range(1, 60))
def test_the_interval_of_nothing_begins_at_zero_and_that_of_all_ends_at_one(n):
    low, high = recovery.wilson(0.0, n, 0.95)
    assert low == 0
    assert 0 < high < 1
    low, high = recovery.wilson(1.0, n, 0.95)
    assert 0 < low < 1
    assert high == 1


@pytest.mark.parametrize("n_groups", [2, 3])
def test_of_random_vectors_chance_is_what_is_found(n_groups):
    """Means near chance; intervals that hold it, and p-values below 0.1, as often as promised."""
    found = {"clusters": [], "classification": [], "neighbours": []}
    for seed in range(40):
        rng = np.random.default_rng([n_groups, seed])
        vectors = rng.normal(size=(n_groups, 40, 6))
        bias = rng.normal(size=(300, n_groups))
        options = {"n_permutations": 49, "random_state": seed}
        for test in (
            cluster_test(vectors, **options),
            classification_test(vectors[:, :15], test=vectors[:, 15:], **options),
            neighbor_test(rng.normal(size=(300, 6)), bias, range(40), 10, **options),
        ):
            low, high = test.interval
            covered = low <= test.chance <= high
            found[test.what].append((test.value - test.chance, covered, test.p_value <= 0.1))
    for what, results in found.items():
        off, covered, small = np.mean(results, axis=0)
        # Four standard errors of the mean.
        assert abs(off) < 4 * np.std([row[0] for row in results]) / math.sqrt(40), what
        assert covered >= 0.85, what
        assert small <= 0.2, what


def test_twenty_divisions_do_not_make_more_words():
    vectors = np.random.default_rng(0).normal(size=(2, 50, 5))
    many, one = (classification_test(vectors, n_repeats=n) for n in (20, 1))
    widths = [high - low for low, high in (many.interval, one.interval)]
    assert widths[0] == pytest.approx(widths[1], rel=0.05)
    assert many.p_value > 0.05


def test_a_seed_gives_the_same_and_another_one_others(three):
    for run in (
        lambda seed: classification_test(three, n_repeats=3, n_permutations=9, random_state=seed),
        lambda seed: cluster_test(three, n_permutations=9, random_state=seed),
    ):
        assert run(1) == run(1)
        assert run(np.random.default_rng(1)) == run(np.random.default_rng(1))
    first, second = (
        projection_test(range(9), [0, 2, 1, 5, 3, 4, 9, 6, 0], random_state=seed).p_value
        for seed in (1, 2)
    )
    assert first != second


def test_the_same_biases_are_correlated_without_a_doubt():
    result = projection_test(range(10), range(10))
    assert result.value == pytest.approx(1)
    assert result.interval == pytest.approx((1, 1))


def test_a_result_says_what_it_is(three):
    result = cluster_test(three, n_permutations=99)
    assert repr(result).startswith(f"<RecoveryTest of clusters: {result.value:.3f} [")
    assert repr(result).endswith("p = 0.01; 95 words of 3 groups>")
    record = json.loads(json.dumps(result.to_dict()))
    assert record["interval"] == list(result.interval)
    assert record["what"] == "clusters"


def test_undefined_correlations_say_why(nine):
    constant = neighbor_test(nine, np.ones(9), range(9), 3)
    assert "the same for all words" in constant.nan_reason
    assert "the same for all words" in repr(constant)
    assert math.isnan(constant.p_value)
    few = projection_test([1, 2], [3, 4])
    assert few.nan_reason == "a correlation needs 3 words, and there are 2"
    ties = projection_test([0, 0, 0, 1], [1, 2, 3, 5])
    assert not math.isnan(ties.value)
    assert ties.nan_reason.startswith("no interval")
    assert ties.nan_reason in repr(ties)


def test_a_third_among_neighbours_of_all_words_is_constant():
    """The mean of 1/3, 1/3 ... is not 1/3 but for rounding."""
    assert math.isnan(recovery.correlation(np.full(9, 1 / 3), np.arange(9.0)))


def test_wrong_arguments_of_tests_are_refused(nine, bias, three):
    with pytest.raises(ValueError, match="two groups or more"):
        cluster_test([nine])
    with pytest.raises(ValueError, match="same number of dimensions"):
        cluster_alignment(nine, three[0])
    with pytest.raises(ValueError, match=r"groups\[1\] has a single word"):
        classification_test([nine[:5], nine[5:6]])
    with pytest.raises(ValueError, match="the same groups; got 2 and 3"):
        classification_test(three[:2], test=three)
    with pytest.raises(ValueError, match="train_share must be between 0 and 1"):
        classification_test(three, train_share=1)
    with pytest.raises(ValueError, match="kernel must be one of"):
        classification_test(three, kernel="cubic")
    with pytest.raises(ValueError, match="confidence_level must be between"):
        cluster_test(three, confidence_level=0)
    with pytest.raises(ValueError, match="for each of the 9 vectors"):
        neighbor_test(nine, bias[:8], range(8), 3)
    both = np.stack([bias, -bias], axis=1)
    for group in (5, 2, -1, 0.0, True):
        with pytest.raises(ValueError, match="from 0 to 1, as bias has 2 columns"):
            neighbor_test(nine, both, range(9), 3, group=group)
    with pytest.raises(ValueError, match="from 0 to 0, as bias has 1 columns"):
        neighbor_test(nine, bias, range(9), 3, group=1)
    with pytest.raises(TypeError, match="balanced must be True or False"):
        classification_test(three, balanced=1)
    with pytest.raises(ValueError, match="the same words in both"):
        projection_test([1, 2, 3], [1, 2])
