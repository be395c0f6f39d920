"""SAME: two groups, more groups both ways, skew and stereotype, and vanishing directions."""

import math

import numpy as np
import pytest

from wefe import Query
from wefe.metrics import SAME, association

T1, T2, T3, NEUTRAL = "she woman", "he man", "they folk", "nurse pilot tree"

both_ways = pytest.mark.parametrize("combine", ["sum", "projection"])


# Worked examples and published figures


def test_toy_result_for_two_groups(query_of, toy_model):
    query = query_of([T1, T2], [NEUTRAL], ["F", "M"], ["N"])
    result = SAME().run_query(query, toy_model)
    assert result["same"] == pytest.approx(0.381016, abs=1e-6)
    assert list(result["pairwise"]) == ["F - M"]
    expected = {"skew": 0.050924, "stereotype": 0.418080}
    assert result["pairwise"]["F - M"] == pytest.approx(expected, abs=1e-6)
    expected = {"nurse": 0.520295, "pilot": -0.495138, "tree": 0.127616}
    assert list(result["word_values"]) == list(expected)
    for word, values in result["word_values"].items():
        assert values["F - M"] == pytest.approx(expected[word], abs=1e-6)
        assert values["same"] == pytest.approx(abs(values["F - M"]))


@pytest.mark.parametrize(
    ("order", "by_word", "expected"),
    [
        ((T1, T2, T3), [0.544390, 0.508836, 0.418168], 0.490465),
        ((T1, T3, T2), [0.693608, 0.664559, 0.714801], 0.690989),
    ],
)
def test_toy_scores_for_three_groups_depend_on_their_order(order, by_word, expected, toy):
    result = toy(SAME, order, [NEUTRAL])
    found = [values["same"] for values in result["word_values"].values()]
    assert found == pytest.approx(by_word, abs=1e-6)
    assert result["same"] == pytest.approx(expected, abs=1e-6)
    pairs = [f"Target set {i} - Target set {j}" for i, j in ((0, 1), (0, 2), (1, 2))]
    assert list(result["pairwise"]) == pairs


@pytest.mark.parametrize(
    ("terms", "expected"), [("female_terms", 0.2677120929221758), ("male_terms", 0.19272106)]
)
def test_published_scores(terms, expected, word2vec, weat_sets):
    query = Query([weat_sets["family"], weat_sets["career"]], [weat_sets[terms]])
    assert SAME().run_query(query, word2vec)["same"] == pytest.approx(expected, abs=1e-7)


# Theorems


@pytest.mark.parametrize("seed", range(10))
def test_same_is_the_association_over_its_attainable_maximum(literal, seed):
    rng = np.random.default_rng(seed)
    words, a, b = (rng.normal(0.2, 1, (n, 6)) for n in (4, *rng.integers(1, 5, 2)))
    largest = literal.length(literal.difference(literal.mean_unit(a), literal.mean_unit(b)))
    signed = association(words, a, b) / largest
    for combine in ("sum", "projection"):
        result = SAME().run_vectors([a, b], [words], combine=combine)
        by_word = [list(values.values()) for values in result["word_values"].values()]
        assert np.array(by_word) == pytest.approx(np.stack([abs(signed), signed], 1), abs=1e-12)
        assert result["same"] == pytest.approx(np.abs(signed).mean(), abs=1e-12)
        (pair,) = result["pairwise"].values()
        expected = {"skew": literal.mean(signed), "stereotype": literal.deviation(signed)}
        assert pair == pytest.approx(expected, abs=1e-12)


# Traps and what is undefined


def test_sum_may_exceed_one_and_its_scale_says_so(query_of):
    sets = [[[1.0, 0.0]], [[-1.0, 0.0]], [[0.0, -1.0]]], [[[1.0, 1.0]]]
    assert SAME().run_vectors(*sets)["same"] > 1
    assert SAME(combine="projection").run_vectors(*sets)["same"] == pytest.approx(1.0)
    three = query_of([T1, T2, T3], [NEUTRAL])
    assert SAME().scale(three).value_range == (0.0, 3.0)
    assert SAME().scale(three, combine="projection").value_range == (0.0, 1.0)
    assert SAME().scale(query_of([T1, T2], [NEUTRAL])).value_range == (0.0, 1.0)
    assert SAME().scale().value_range == (0.0, math.inf)


@pytest.mark.parametrize("targets", [(T1, T1), ("she woman tree", "tree she woman"), (T1, T1, T1)])
def test_groups_of_one_mean_are_nan_with_a_reason(targets, toy):
    result = toy(SAME, targets, [NEUTRAL])
    assert math.isnan(result["result"])
    assert result.nan_reason == "all target sets have the same mean"


def test_groups_without_a_direction_of_their_own_are_told(toy):
    """Three groups on one line span one direction; a fourth off the line adds another."""
    result = toy(SAME, ["she", "he", "she he", "tree"], ["nurse pilot"])
    assert result.details["n_directions"] == 2
