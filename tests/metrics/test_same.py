"""SAME: two groups, more groups both ways, skew and stereotype, and vanishing directions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe import Query
from wefe.metrics import SAME, association, same, same_by_word, same_signed

T1, T2, T3, NEUTRAL = "she woman", "he man", "they folk", "nurse pilot tree"

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 4)


def random_sets(seed, *set_sizes, dim=6):
    rng = np.random.default_rng(seed)
    return [rng.normal(0.2, 1, (size, dim)) for size in set_sizes]


# Worked examples


def test_toy_result_for_two_groups(query_of, toy_model):
    query = query_of([T1, T2], [NEUTRAL], ["F", "M"], ["N"])
    result = SAME().run_query(query, toy_model)
    assert list(result) == ["query_name", "result", "same", "pairwise", "word_values"]
    assert result["result"] == result["same"] == pytest.approx(0.381016, abs=1e-6)
    assert list(result["pairwise"]) == ["F - M"]
    assert result["pairwise"]["F - M"] == pytest.approx(
        {"skew": 0.050924, "stereotype": 0.418080}, abs=1e-6
    )
    signed = {word: values["F - M"] for word, values in result["word_values"].items()}
    assert signed == pytest.approx(
        {"nurse": 0.520295, "pilot": -0.495138, "tree": 0.127616}, abs=1e-6
    )
    for values in result["word_values"].values():
        assert values["same"] == pytest.approx(abs(values["F - M"]))


@pytest.mark.parametrize(
    ("order", "by_word", "expected"),
    [
        ((T1, T2, T3), [0.544390, 0.508836, 0.418168], 0.490465),
        ((T1, T3, T2), [0.693608, 0.664559, 0.714801], 0.690989),
    ],
)
def test_toy_scores_for_three_groups_depend_on_their_order(
    order, by_word, expected, query_of, toy_model
):
    result = SAME().run_query(query_of(order, [NEUTRAL]), toy_model)
    assert [values["same"] for values in result["word_values"].values()] == pytest.approx(
        by_word, abs=1e-6
    )
    assert result["same"] == pytest.approx(expected, abs=1e-6)
    assert list(result["pairwise"]) == [
        "Target set 0 - Target set 1",
        "Target set 0 - Target set 2",
        "Target set 1 - Target set 2",
    ]


def test_toy_lengths_of_the_directions(vectors, literal):
    directions = literal.same_directions([vectors(words) for words in (T1, T2, T3)])
    assert [literal.length(b) for b in directions] == pytest.approx([1.807586, 0.580893], abs=1e-6)


@pytest.mark.parametrize(
    ("terms", "expected"), [("female_terms", 0.2677120929221758), ("male_terms", 0.19272106)]
)
def test_published_scores(terms, expected, word2vec, weat_sets):
    query = Query([weat_sets["family"], weat_sets["career"]], [weat_sets[terms]])
    assert SAME().run_query(query, word2vec)["same"] == pytest.approx(expected, abs=1e-7)


# A second implementation


@settings(max_examples=40, deadline=None)
@given(
    seeds, sizes, st.lists(sizes, min_size=2, max_size=4), st.sampled_from(["sum", "projection"])
)
def test_same_agrees_with_its_definition(literal, seed, n_words, n_groups, combine):
    words, *groups = random_sets(seed, n_words, *n_groups)
    expected = literal.same_by_word(words, groups, combine)
    assert same_by_word(words, groups, combine) == pytest.approx(expected, abs=1e-9)
    assert same(words, groups, combine) == pytest.approx(literal.mean(expected), abs=1e-9)


# Theorems


@settings(max_examples=40, deadline=None)
@given(seeds, sizes, sizes, sizes)
def test_same_is_the_association_over_its_attainable_maximum(literal, seed, n_words, n_1, n_2):
    words, a, b = random_sets(seed, n_words, n_1, n_2)
    largest = literal.length(literal.difference(literal.mean_unit(a), literal.mean_unit(b)))
    signed = association(words, a, b) / largest
    assert same_signed(words, a, b) == pytest.approx(signed, abs=1e-12)
    for combine in ("sum", "projection"):
        assert same_by_word(words, [a, b], combine) == pytest.approx(np.abs(signed), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_skew_and_stereotype_are_mean_and_deviation_of_the_signed_values(literal, named, seed):
    words, a, b = random_sets(seed, 4, 2, 3)
    query, model = named([a, b], [words])
    result = SAME().run_query(query, model)
    signed = [literal.same_signed(word, a, b) for word in words]
    (pair,) = result["pairwise"].values()
    assert pair["skew"] == pytest.approx(literal.mean(signed), abs=1e-12)
    assert pair["stereotype"] == pytest.approx(literal.deviation(signed), abs=1e-12)


# Traps and what is undefined


def test_sum_may_exceed_one_and_its_scale_says_so(query_of):
    words = [[1.0, 1.0]]
    groups = [[[1.0, 0.0]], [[-1.0, 0.0]], [[0.0, -1.0]]]
    assert same(words, groups) > 1
    assert same(words, groups, "projection") == pytest.approx(1.0)
    three = query_of([T1, T2, T3], [NEUTRAL])
    assert SAME().scale(three).value_range == (0.0, 3.0)
    assert SAME().scale(three, combine="projection").value_range == (0.0, 1.0)
    assert SAME().scale(query_of([T1, T2], [NEUTRAL])).value_range == (0.0, 1.0)
    assert SAME().scale().value_range == (0.0, math.inf)


@pytest.mark.parametrize("combine", ["sum", "projection"])
def test_group_with_the_mean_of_another_adds_no_direction(combine, query_of, toy_model):
    two = SAME().run_query(query_of([T1, T2], [NEUTRAL]), toy_model, combine=combine)
    three = SAME().run_query(query_of([T1, T2, "man he"], [NEUTRAL]), toy_model, combine=combine)
    assert three["same"] == pytest.approx(two["same"], abs=1e-9)
    undefined = three["pairwise"]["Target set 1 - Target set 2"]
    assert all(math.isnan(value) for value in undefined.values())


@pytest.mark.parametrize("targets", [(T1, T1), ("she woman tree", "tree she woman"), (T1, T1, T1)])
def test_groups_of_one_mean_are_nan_with_a_reason(targets, query_of, toy_model):
    result = SAME().run_query(query_of(targets, [NEUTRAL]), toy_model)
    assert list(result) == ["query_name", "result", "same", "pairwise", "word_values"]
    assert math.isnan(result["result"])
    assert result.nan_reason == "all target sets have the same mean"


def test_pure_functions_return_nan_for_equal_means(vectors):
    words, group = vectors(NEUTRAL), vectors(T1)
    assert np.isnan(same_signed(words, group, group[::-1])).all()
    assert np.isnan(same_by_word(words, [group, group])).all()
    assert math.isnan(same(words, [group, group]))


def test_one_group_is_refused(vectors):
    with pytest.raises(ValueError, match="SAME needs two or more groups; got 1"):
        same(vectors(NEUTRAL), [vectors(T1)])


def test_groups_without_a_direction_of_their_own_are_told(toy_model):
    """Three groups on one line span one direction; a fourth off the line adds another."""
    query = Query([["she"], ["he"], ["she", "he"], ["tree"]], [["nurse", "pilot"]])
    assert SAME().run_query(query, toy_model).details["n_directions"] == 2
