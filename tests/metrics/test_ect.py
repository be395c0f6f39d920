"""Embedding Coherence Test: Spearman's correlation, ties, and what is undefined."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from wefe import Query, WordEmbeddingModel
from wefe.metrics import ECT, ect

T1, T2, ATTRIBUTES = "she woman", "he man", "home kids boss job nurse pilot tree"

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 5)


def similarities(t1, t2, a):
    means = np.stack([np.mean(t1, axis=0), np.mean(t2, axis=0)])
    units = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (np.asarray(a), means)]
    return units[0] @ units[1].T


# Worked examples and published figures


def test_toy_score(query_of, toy_model, vectors):
    x, y = similarities(*(vectors(words) for words in (T1, T2, ATTRIBUTES))).T
    assert stats.rankdata(x).tolist() == [7, 6, 3, 2, 5, 1, 4]
    assert stats.rankdata(y).tolist() == [3, 4, 6, 7, 1, 5, 2]
    assert stats.kendalltau(x, y).statistic == pytest.approx(-0.428571, abs=1e-6)
    query = query_of([T1, T2], [ATTRIBUTES])
    for normalize in (False, True):
        result = ECT().run_query(query, toy_model, normalize=normalize)
        assert list(result) == ["query_name", "result", "ect"]
        assert result["result"] == result["ect"] == pytest.approx(-0.607143, abs=1e-6)


@pytest.mark.parametrize(
    ("normalize", "expected", "p_value"),
    [(False, 0.6190476190476191, 0.101733), (True, 0.7619047619047621, 0.028005)],
)
def test_published_scores(normalize, expected, p_value, gender_family, word2vec):
    result = ECT().run_query(gender_family, word2vec, normalize=normalize)
    assert result["ect"] == pytest.approx(expected, abs=1e-12)

    sets = [word2vec.get_vectors(list(part.used)) for part in result.targets + result.attributes]
    if normalize:
        sets = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in sets]
    scipy_result = stats.spearmanr(similarities(*sets))
    assert scipy_result.statistic == pytest.approx(expected, abs=1e-12)
    assert scipy_result.pvalue == pytest.approx(p_value, abs=1e-6)


# Second implementations


@settings(max_examples=60, deadline=None)
@given(seeds, sizes, sizes, st.integers(2, 9))
def test_ect_agrees_with_its_definition_and_with_scipy(literal, seed, n_1, n_2, n_a):
    rng = np.random.default_rng(seed)
    t1, t2, a = (rng.normal(0.2, 1, (n, 4)) for n in (n_1, n_2, n_a))
    expected = literal.ect(t1, t2, a)
    assert ect(t1, t2, a) == pytest.approx(expected, abs=1e-12)
    assert stats.spearmanr(similarities(t1, t2, a)).statistic == pytest.approx(expected, abs=1e-9)


# Coordinates along the axes give exact ties in every implementation.
axis_words = st.lists(
    st.sampled_from([(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)]),
    min_size=3,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(axis_words)
def test_ties_share_the_mean_of_their_ranks_as_in_scipy(literal, words):
    t1, t2 = [[1.0, 0.5, 0.25]], [[0.25, 1.0, -0.5]]
    if len(set(words)) == 1:
        assert math.isnan(ect(t1, t2, words))
        return
    expected = stats.spearmanr(similarities(t1, t2, words)).statistic
    assert ect(t1, t2, words) == pytest.approx(expected, abs=1e-12)
    assert literal.ect(t1, t2, words) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_words_of_one_direction_tie_although_rounding_tells_them_apart(seed):
    rng = np.random.default_rng(seed)
    t1, t2, a = rng.normal(size=(1, 7)), rng.normal(size=(1, 7)), rng.normal(size=(4, 7))
    longer = a[[0, 0, 1, 2, 3]] * np.array([[1.0], [1 / 3], [1.0], [1.0], [1.0]])
    repeated = a[[0, 0, 1, 2, 3]]
    assert ect(t1, t2, longer) == pytest.approx(ect(t1, t2, repeated), abs=1e-12)


# Theorems


# Traps


def test_one_attribute_word_is_not_enough(query_of, toy_model):
    result = ECT().run_query(query_of([T1, T2], ["home"]), toy_model)
    assert math.isnan(result["result"])
    assert result.nan_reason == (
        "a rank correlation needs two or more attribute words; 'Attribute set 0' has one left"
    )


def test_equal_similarities_have_no_correlation_although_they_differ_in_rounding():
    words = np.outer([1.0, 1 / 3, 7.0, 0.1], [0.3, 0.7, -0.2])
    model = WordEmbeddingModel(
        ([*"abcd", "she", "he"], np.vstack([words, [[1.0, 0.1, 0.2], [-0.9, 0.3, 0.2]]]))
    )
    result = ECT().run_query(Query([["she"], ["he"]], [[*"abcd"]]), model)
    assert math.isnan(result["ect"])
    assert result.nan_reason == (
        "all attribute words are equally similar to a target set, or its mean is zero"
    )


def test_target_set_whose_mean_is_zero_is_undefined(named):
    opposite, a = [[1.0, 0.0], [-1.0, 0.0]], [[1.0, 1.0], [2.0, 1.0], [0.0, 1.0]]
    query, model = named([opposite, [[0.0, 1.0]]], [a])
    result = ECT().run_query(query, model)
    assert math.isnan(result["ect"])
    assert "or its mean is zero" in result.nan_reason
