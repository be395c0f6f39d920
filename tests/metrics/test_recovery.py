"""Can the groups be recovered? Cluster, classification and neighbour tests, beside chance."""

import itertools
import math

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.svm import SVC

from wefe.metrics import _recovery as recovery
from wefe.metrics import (
    association,
    classification_test,
    cluster_test,
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
    return association(nine, [toy_model["he"]], [toy_model["she"]])


@pytest.fixture
def three():
    """Three groups of unequal size that overlap somewhat."""
    return groups_of(30, 40, 25, apart=1.2, seed=5, dim=4)


def groups_of(*sizes, apart=1.5, seed=0, dim=5):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, dim)) + apart * np.eye(dim)[i] for i, n in enumerate(sizes)]


def units(arrays):
    x = np.concatenate(arrays)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def labels_of(sizes):
    return np.repeat(np.arange(len(sizes)), sizes).tolist()


def said_of(train, test, **options):
    """What a classifier of scikit-learn says of the words of the test."""
    labels = labels_of([len(part) for part in train])
    return SVC(C=1, **options).fit(units(train), labels).predict(units(test))


def best_share(clusters, labels):
    """Share of words in the right cluster, by the best reading of the clusters."""
    clusters, readings = np.array(clusters), itertools.permutations(range(max(labels) + 1))
    return max(np.mean(np.array(each)[clusters] == labels) for each in readings)


def orders_of(labels):
    """All ways to share out the labels, each once."""
    orders = [[]]
    for _ in labels:
        orders = [
            [*order, label]
            for order in orders
            for label in sorted(set(labels))
            if order.count(label) < labels.count(label)
        ]
    return orders


def p_of(values, observed):
    return np.mean(np.array(values) >= observed - 1e-9)


# The worked example


def test_the_worked_example(toy_model, nine, bias):
    np.testing.assert_allclose(bias, PROJECTIONS, atol=5e-7)
    neighbors = neighbor_test(nine, bias, range(9), k=3)
    assert neighbors.value == pytest.approx(0.806600, abs=5e-7)
    assert neighbors.interval[0] < 0.8066 < neighbors.interval[1]
    assert neighbors.p_value < 0.05
    get = toy_model.get_vectors
    sides = [get(["she", "woman", "home", "nurse"]), get(["he", "man", "boss", "pilot"])]
    clusters = cluster_test(sides)
    # Of the 70 ways to choose four of eight words two are as good.
    assert (clusters.value, clusters.p_value) == (1.0, pytest.approx(2 / 70))
    train = get(["she", "woman"]), get(["he", "man"])
    test = get(["home", "kids", "nurse"]), get(["boss", "job", "pilot"])
    classes = classification_test(train, test=test)
    assert (classes.value, classes.p_value) == (1.0, pytest.approx(1 / 20))


@pytest.mark.parametrize(("n", "learnt"), [(2, 1), (4, 1), (10, 2)])
def test_every_group_has_words_to_learn_from_and_to_test_on(n, learnt):
    sides = [np.ones((n, 2)), np.ones((n, 2))]
    parts = recovery._divided(sides, np.random.default_rng(0))
    assert [[len(side) for side in part] for part in parts] == [[learnt] * 2, [n - learnt] * 2]


# Second implementations: values, chance and p-values


@pytest.mark.parametrize("sizes", [(4, 5), (2, 3, 3)])
def test_clusters_and_their_chance_are_those_of_all_groups_of_these_sizes(sizes):
    groups, labels = groups_of(*sizes, apart=1, seed=1, dim=3), labels_of(sizes)
    clusters = KMeans(len(sizes), n_init=10, random_state=0).fit_predict(units(groups))
    result = cluster_test(groups, n_permutations=5000)
    assert result.value == best_share(clusters, labels)
    every = [best_share(clusters, order) for order in orders_of(labels)]
    least = recovery.wilson(result.value, len(labels), 0.95)[0]
    assert result.interval[0] == pytest.approx(max(least, 1 / len(sizes)))
    error = 1e-9 if len(sizes) == 2 else 0.02
    assert result.chance == pytest.approx(np.mean(every), abs=error)
    assert result.p_value == pytest.approx(p_of(every, result.value), abs=error)


def test_neighbours_are_those_of_a_slow_computation():
    rng = np.random.default_rng(3)
    vectors, bias, k = rng.normal(size=(40, 4)), rng.normal(size=40), 6
    rows, shares = [0, 7, 11, 25, 39], []
    for row in rows:
        cosines = []
        for other in range(40):
            length = np.linalg.norm(vectors[row]) * np.linalg.norm(vectors[other])
            cosines.append((-vectors[row] @ vectors[other] / length, other))
        near = [other for _, other in sorted(cosines) if other != row][:k]
        shares.append(np.mean(bias[near] > 0))
    slow = np.corrcoef(shares, bias[rows])[0, 1]
    test = neighbor_test(vectors, bias, rows, k, n_permutations=20)
    assert test.value == pytest.approx(slow)


@pytest.mark.parametrize("apart", [0.25, 1.5])
def test_the_p_value_of_twenty_divisions_is_twice_their_median(apart):
    rng, seed = np.random.default_rng(11), 4
    sides = rng.normal(size=(2, 6, 3)) + apart * np.array([[[1, 0, 0]], [[-1, 0, 0]]])
    divisions = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
    p_values, accuracies = [], []
    for _ in range(20):
        orders = [divisions.permutation(6) for _ in sides]
        learnt = [side[order[:1]] for side, order in zip(sides, orders, strict=True)]
        tested = [side[order[1:]] for side, order in zip(sides, orders, strict=True)]
        said = said_of(learnt, tested)
        accuracies.append(np.mean(said == labels_of([5, 5])))
        every = [np.mean(said == order) for order in orders_of(labels_of([5, 5]))]
        p_values.append(p_of(every, accuracies[-1]))
        if len(p_values) == 1:
            given = classification_test(learnt, test=tested)
            assert given.p_value == pytest.approx(p_values[0])
            assert (given.n_words, given.chance) == (12, 0.5)
    result = classification_test(sides, random_state=seed)
    assert (result.value, result.n_words) == (pytest.approx(np.mean(accuracies)), 12)
    assert result.p_value == pytest.approx(min(1, 2 * np.median(p_values)))
    # Neither the median itself nor always 1.
    assert (result.p_value < 1) == (apart == 1.5)


# Chance and intervals


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
    same = projection_test(range(10), range(10))
    assert same.value == pytest.approx(1)
    assert same.interval == pytest.approx((1, 1))


# Results, and what is undefined or refused


def test_undefined_correlations_say_why(nine):
    constant = neighbor_test(nine, np.ones(9), range(9), 3)
    assert math.isnan(constant.value)
    assert "all have the same number" in constant.nan_reason
    assert math.isnan(constant.p_value)
    # The mean of 1/3, 1/3 ... is not 1/3 but for rounding.
    assert math.isnan(recovery.correlation(np.full(9, 1 / 3), np.arange(9.0)))
    few = projection_test([1, 2], [3, 4])
    assert few.nan_reason.startswith("no correlation: fewer than 3 words")
    ties = projection_test([0, 0, 0, 1], [1, 2, 3, 5])
    assert not math.isnan(ties.value)
    assert ties.nan_reason.startswith("no interval")


ONES = np.ones((9, 3))
PAIR = [ONES[:5], ONES[5:]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: neighbor_test(ONES, ONES[:, 0], [0], k=9), "k=9 is more than the 8"),
        (lambda: classification_test([ONES, ONES[:1]]), r"groups\[1\] has a single word"),
        (lambda: classification_test(PAIR, test=[*PAIR, ONES]), "got 2 and 3"),
        (lambda: neighbor_test(ONES, ONES[:8, 0], range(8), 3), "the 9 vectors"),
        (lambda: neighbor_test(ONES, ONES, range(9), 3), r"bias must .*\(n_words,\)"),
        (lambda: projection_test([1, 2, 3], [1, 2]), "the same words in both"),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
