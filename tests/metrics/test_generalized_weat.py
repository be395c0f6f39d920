"""Generalized WEAT: pairing by position, WEAT as the case of two sets, bounds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe.metrics import GeneralizedWEAT, association, generalized_weat, weat

T1, T2, T3, A1, A2, A3 = "she woman", "he man", "they folk", "home kids", "boss job", "nurse tree"

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 4)


def random_sets(rng, set_sizes, dim=5):
    return [rng.normal(0.2, 1, (size, dim)) for size in set_sizes]


# Worked examples and a published figure


def test_toy_scores(query_of, toy_model):
    for query, expected in [
        (query_of([T1, T2], [A1, A2]), 0.837772),
        (query_of([T1, T2, T3], [A1, A2, A3]), 0.455752),
    ]:
        result = GeneralizedWEAT().run_query(query, toy_model)
        assert list(result) == ["query_name", "result", "gweat"]
        assert result["result"] == result["gweat"] == pytest.approx(expected, abs=1e-6)


def test_published_score(gender_family_career, word2vec):
    result = GeneralizedWEAT().run_query(gender_family_career, word2vec)
    assert result["gweat"] == pytest.approx(0.02896493, abs=1e-7)
    assert result["gweat"] == pytest.approx(0.46343882 / 16, abs=1e-8)


# A second implementation, and theorems


@settings(max_examples=40, deadline=None)
@given(
    seeds,
    st.integers(2, 4).flatmap(lambda n: st.tuples(*[st.lists(sizes, min_size=n, max_size=n)] * 2)),
)
def test_generalized_weat_agrees_with_its_definition_and_its_bound(literal, seed, shapes):
    rng = np.random.default_rng(seed)
    targets, attributes = (random_sets(rng, shape) for shape in shapes)
    score = generalized_weat(targets, attributes)
    assert score == pytest.approx(literal.generalized_weat(targets, attributes), abs=1e-12)
    assert abs(score) <= len(targets)


@settings(max_examples=40, deadline=None)
@given(seeds, sizes, sizes, sizes, sizes)
def test_two_sets_give_half_the_difference_of_mean_associations(seed, n_x, n_y, n_a, n_b):
    x, y, a, b = random_sets(np.random.default_rng(seed), (n_x, n_y, n_a, n_b))
    expected = (association(x, a, b).mean() - association(y, a, b).mean()) / 2
    assert generalized_weat([x, y], [a, b]) == pytest.approx(expected, abs=1e-12)
    if n_x == n_y:
        assert expected == pytest.approx(weat(x, y, a, b) / (2 * n_x), abs=1e-12)


def test_pairing_is_by_position(vectors):
    targets = [vectors(words) for words in (T1, T2)]
    attributes = [vectors(words) for words in (A1, A2)]
    assert generalized_weat(targets, attributes) == pytest.approx(
        -generalized_weat(targets[::-1], attributes)
    )
    equal = [vectors(T1)] * 2
    assert generalized_weat(equal, attributes) == 0.0


def test_bound_is_reached_for_two_opposite_pairs():
    he, she = [[1.0, 0.0]], [[-1.0, 0.0]]
    assert generalized_weat([he, she], [he, she]) == 2.0
    assert generalized_weat([he, she], [she, he]) == -2.0


# Shapes


def test_as_many_attribute_sets_as_target_sets_are_needed(query_of, toy_model, vectors):
    metric = GeneralizedWEAT()
    uneven = query_of([T1, T2, T3], [A1, A2])
    assert not metric.accepts(uneven)
    assert not metric.accepts(query_of([T1], [A1]))
    assert metric.accepts(query_of([T1, T2, T3], [A1, A2, A3]))
    with pytest.raises(
        ValueError,
        match="Generalized WEAT needs the same number of target and attribute sets, 2 or more; "
        "'Target set 0, Target set 1 and Target set 2 wrt Attribute set 0 and Attribute set 1' "
        "has 3 and 2",
    ):
        metric.run_query(uneven, toy_model)
    with pytest.raises(ValueError, match="the same number of each, two or more; got 1 and 1"):
        generalized_weat([vectors(T1)], [vectors(A1)])
    with pytest.raises(ValueError, match="got 2 and 1"):
        generalized_weat([vectors(T1), vectors(T2)], [vectors(A1)])


def test_scale_grows_with_the_number_of_pairs(query_of):
    query = query_of([T1, T2, T3], [A1, A2, A3])
    assert GeneralizedWEAT().scale(query).value_range == (-3.0, 3.0)
    assert GeneralizedWEAT().scale().value_range == (-math.inf, math.inf)
