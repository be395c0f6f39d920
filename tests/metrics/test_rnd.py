"""Relative Norm Distance: both distances, their signs, and both ways to reduce them."""

import math

import numpy as np
import pytest

from wefe.metrics import RND

T1, T2, ATTRIBUTES = "she woman", "he man", "home kids boss job"
COS = [0.878070, 0.776836, -0.630836, -1.139503]


# Worked examples


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ("norm", [-0.791590, -0.574557, 0.567462, 0.971446]),
        ("cos", COS),
        ("cos_distance", [-number for number in COS]),
    ],
)
def test_toy_distances_by_word(distance, expected, toy, vectors):
    targets, attributes = [vectors(T1), vectors(T2)], [vectors(ATTRIBUTES)]
    result = RND(distance=distance).run_vectors(targets, attributes)
    by_word = [result["distance_by_word"][f"attributes[0][{i}]"] for i in range(4)]
    assert by_word == pytest.approx(expected, abs=1e-6)
    assert result["rnd"] == pytest.approx(np.mean(expected), abs=1e-6)
    result = toy(RND, [T1, T2], [ATTRIBUTES], distance=distance, reduce="sum")
    assert result["rnd"] == pytest.approx(sum(expected), abs=1e-6)
    by_word = list(result["distance_by_word"].values())
    assert by_word == pytest.approx(sorted(expected), abs=1e-6)


# Published figures


def test_published_score_and_distances_by_word(gender_family, word2vec):
    result = RND().run_query(gender_family, word2vec)
    assert result["result"] == pytest.approx(0.030381828546524048, abs=1e-7)
    by_word = {
        "wedding": -0.1056304, "marriage": -0.10163283, "children": -0.068374634,
        "parents": 0.00097084, "relatives": 0.0483346, "family": 0.12408042,
        "cousins": 0.17195654, "home": 0.1733501,
    }  # fmt: skip
    assert list(result["distance_by_word"]) == list(by_word)
    assert result["distance_by_word"] == pytest.approx(by_word, abs=1e-6)


# Traps


@pytest.mark.parametrize("distance", ["norm", "cos"])
@pytest.mark.parametrize("reduce", ["mean", "sum"])
@pytest.mark.parametrize("normalize", [True, False])
def test_scores_reach_the_ends_of_the_scale(distance, reduce, normalize, named):
    ends = np.array([[1.0, 0.0]]), np.array([[-1.0, 0.0]])
    query, model = named(ends, [np.repeat(ends[1], 2, axis=0)])
    options = {"distance": distance, "reduce": reduce, "normalize": normalize}
    score = RND().run_query(query, model, **options)["result"]
    lowest, highest = RND().scale(query, **options).value_range
    assert lowest == -highest
    if distance == "norm" and not normalize:
        assert highest == math.inf
        assert score > 0
    else:
        assert score == (highest if distance == "norm" else lowest)


def test_norm_does_not_cancel_for_words_that_are_far_away():
    # ||a||^2 - 2 a.t + ||t||^2 loses all digits here.
    result = RND().run_vectors([[[1.0, 0.0]], [[-1.0, 0.0]]], [[[1e9, 0.0]]])
    assert result["rnd"] == pytest.approx(-2.0)


def test_target_set_whose_mean_is_zero_has_no_cosine(named):
    query, model = named([[[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0]]], [[[1.0, 1.0]]])
    result = RND().run_query(query, model, distance="cos")
    assert math.isnan(result["result"])
    assert "the mean of a target set is zero" in result.nan_reason
    assert RND().run_query(query, model)["result"] == pytest.approx(math.sqrt(2) - 1)
