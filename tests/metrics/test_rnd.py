"""Relative Norm Distance: both distances, their signs, and both ways to reduce them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe.metrics import RND, rnd, rnd_by_word

T1, T2, ATTRIBUTES = "she woman", "he man", "home kids boss job"
DISTANCES = ("norm", "cos", "cos_distance")

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 6)


def random_sets(seed, *set_sizes, dim=5):
    rng = np.random.default_rng(seed)
    return [rng.normal(0.3, 1, (size, dim)) for size in set_sizes]


@pytest.fixture
def toy(vectors):
    return [vectors(words) for words in (T1, T2, ATTRIBUTES)]


# Worked examples


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ("norm", [-0.791590, -0.574557, 0.567462, 0.971446]),
        ("cos", [0.878070, 0.776836, -0.630836, -1.139503]),
        ("cos_distance", [-0.878070, -0.776836, 0.630836, 1.139503]),
    ],
)
def test_toy_distances_by_word(distance, expected, toy):
    assert rnd_by_word(*toy, distance=distance) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 0.043190),
        ({"reduce": "sum"}, 0.172762),
        ({"distance": "cos"}, -0.028858),
        ({"normalize": True}, 0.025912),
    ],
)
def test_toy_scores(options, expected, query_of, toy_model):
    result = RND().run_query(query_of([T1, T2], [ATTRIBUTES]), toy_model, **options)
    assert result["result"] == result["rnd"] == pytest.approx(expected, abs=1e-6)


def test_toy_score_of_the_first_attribute_set(vectors):
    score = rnd(vectors(T1), vectors(T2), vectors("home kids"))
    assert score == pytest.approx(-0.683073, abs=1e-6)


# Published figures


def test_published_score_and_distances_by_word(gender_family, word2vec):
    result = RND().run_query(gender_family, word2vec)
    assert list(result) == ["query_name", "result", "rnd", "distance_by_word"]
    assert result["result"] == pytest.approx(0.030381828546524048, abs=1e-7)
    assert list(result["distance_by_word"].items()) == [
        ("wedding", pytest.approx(-0.1056304, abs=1e-6)),
        ("marriage", pytest.approx(-0.10163283, abs=1e-6)),
        ("children", pytest.approx(-0.068374634, abs=1e-6)),
        ("parents", pytest.approx(0.00097084, abs=1e-6)),
        ("relatives", pytest.approx(0.0483346, abs=1e-6)),
        ("family", pytest.approx(0.12408042, abs=1e-6)),
        ("cousins", pytest.approx(0.17195654, abs=1e-6)),
        ("home", pytest.approx(0.1733501, abs=1e-6)),
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"normalize": True}, -0.00627878),
        ({"normalize": True, "distance": "cos"}, 0.03643464),
        ({"distance": "cos"}, 0.0267417),
        ({"reduce": "sum"}, 0.2430547),
    ],
)
def test_variants_on_word2vec(options, expected, gender_family, word2vec):
    result = RND().run_query(gender_family, word2vec, **options)
    assert result["result"] == pytest.approx(expected, abs=1e-7)


# A second implementation


@settings(max_examples=40, deadline=None)
@given(seeds, sizes, sizes, sizes, st.sampled_from(DISTANCES))
def test_rnd_agrees_with_its_definition(literal, seed, n_1, n_2, n_a, distance):
    sets = random_sets(seed, n_1, n_2, n_a)
    expected = literal.rnd_by_word(*sets, distance=distance)
    assert rnd_by_word(*sets, distance=distance) == pytest.approx(expected, abs=1e-12)
    assert rnd(*sets, distance=distance) == pytest.approx(literal.mean(expected), abs=1e-12)
    assert rnd(*sets, distance=distance, reduce="sum") == pytest.approx(sum(expected), abs=1e-12)


# Theorems


@settings(max_examples=40, deadline=None)
@given(
    seeds,
    sizes,
    sizes,
    sizes,
    st.sampled_from(DISTANCES),
    st.sampled_from(["mean", "sum"]),
    st.booleans(),
)
def test_scores_stay_within_the_scale(named, seed, n_1, n_2, n_a, distance, reduce, normalize):
    t1, t2, a = random_sets(seed, n_1, n_2, n_a)
    query, model = named([t1, t2], [a])
    options = {"distance": distance, "reduce": reduce, "normalize": normalize}
    lowest, highest = RND().scale(query, **options).value_range
    assert math.isfinite(highest) == (normalize or distance != "norm")
    assert lowest <= RND().run_query(query, model, **options)["result"] <= highest


# Traps


def test_cos_has_the_opposite_sign_of_norm_and_cos_distance_the_same():
    nearer_to_t2 = [[-1.0, 0.1]]
    t1, t2 = [[1.0, 0.0]], [[-1.0, 0.0]]
    assert rnd(t1, t2, nearer_to_t2, distance="norm") > 0
    assert rnd(t1, t2, nearer_to_t2, distance="cos_distance") > 0
    assert rnd(t1, t2, nearer_to_t2, distance="cos") < 0
    assert rnd(t1, t2, nearer_to_t2, distance="cos") == -rnd(
        t1, t2, nearer_to_t2, distance="cos_distance"
    )


def test_norm_does_not_cancel_for_words_that_are_far_away():
    # ||a||^2 - 2 a.t + ||t||^2 loses all digits here.
    far = [[1e9, 0.0]]
    assert rnd([[1.0, 0.0]], [[-1.0, 0.0]], far) == pytest.approx(-2.0)


def test_means_of_unit_vectors_are_not_renormalised(query_of, toy_model, vectors):
    words = [vectors(part) for part in (T1, T2, ATTRIBUTES)]
    units = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in words]
    result = RND().run_query(query_of([T1, T2], [ATTRIBUTES]), toy_model, normalize=True)
    assert result["rnd"] == pytest.approx(rnd(*units), abs=1e-15)


def test_distances_are_in_ascending_order_whatever_their_sign(query_of, toy_model):
    for distance in DISTANCES:
        result = RND().run_query(
            query_of([T1, T2], [ATTRIBUTES]), toy_model, distance=distance, reduce="sum"
        )
        by_word = list(result["distance_by_word"].values())
        assert by_word == sorted(by_word)
        assert sum(by_word) == pytest.approx(result["result"])


# What is undefined or refused


def test_target_set_whose_mean_is_zero_has_no_cosine(named):
    opposite, other, a = [[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0]], [[1.0, 1.0]]
    query, model = named([opposite, other], [a])
    result = RND().run_query(query, model, distance="cos")
    assert math.isnan(result["result"])
    assert result.nan_reason == "the mean of a target set is zero, which has no direction"
    assert RND().run_query(query, model)["result"] == pytest.approx(math.sqrt(2) - 1)
