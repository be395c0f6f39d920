"""Direct bias: strictness, subspaces, where the direction comes from, and neutral words."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe import Query, WordEmbeddingModel
from wefe.metrics import DirectBias, bias_subspace, direct_bias

T1, T2, NEUTRAL = "she woman", "he man", "nurse pilot tree"

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture
def query(query_of):
    return query_of([T1, T2], [NEUTRAL])


# Worked examples


@pytest.mark.parametrize(
    ("c", "expected"), [(1, 0.379881), (2.0, 0.177049), (0.5, 0.592492), (0, 1.0)]
)
def test_toy_scores(c, expected, query, toy_model):
    result = DirectBias().run_query(query, toy_model, c=c)
    assert list(result) == ["query_name", "result", "direct_bias", "word_values"]
    assert result["result"] == result["direct_bias"] == pytest.approx(expected, abs=1e-6)
    assert result["word_values"] == pytest.approx(
        {"nurse": 0.517465, "pilot": -0.497935, "tree": 0.124241}, abs=1e-6
    )


@pytest.mark.parametrize(("c", "expected"), [(1, 0.966911), (2, 0.935117)])
def test_toy_scores_for_two_components(c, expected, query, toy_model):
    result = DirectBias().run_query(query, toy_model, c=c, n_components=2)
    assert result["direct_bias"] == pytest.approx(expected, abs=1e-6)
    assert result["word_values"] == pytest.approx(
        {"nurse": 0.968448, "pilot": 0.948861, "tree": 0.983424}, abs=1e-6
    )


def test_details_hold_subspace_and_pairs(query, toy_model):
    result = DirectBias().run_query(query, toy_model)
    assert result.details["pairs"] == [("she", "he"), ("woman", "man")]
    assert result.details["subspace"].directions == pytest.approx(
        np.array([[0.997742, -0.067150, -0.001556]]), abs=1e-6
    )
    assert result.details["subspace"].explained_variance_ratio[0] == pytest.approx(0.996115)


@pytest.mark.parametrize(("c", "expected"), [(1, 0.080507), (0.5, 0.256859), (2, 0.011643)])
def test_professions_of_bolukbasi_on_word2vec(c, expected, word2vec, debiaswe_sets):
    query = Query(
        [debiaswe_sets["female_terms"], debiaswe_sets["male_terms"]], [debiaswe_sets["professions"]]
    )
    result = DirectBias().run_query(query, word2vec, c=c)
    assert result["direct_bias"] == pytest.approx(expected, abs=1e-5)
    assert len(result["word_values"]) == 320


def test_neutral_professions_on_word2vec(word2vec, debiaswe_sets):
    gendered = set(debiaswe_sets["gender_specific"])
    neutral = [word for word in debiaswe_sets["professions"] if word not in gendered]
    assert len(neutral) == 303
    query = Query([debiaswe_sets["female_terms"], debiaswe_sets["male_terms"]], [neutral])
    result = DirectBias().run_query(query, word2vec)
    assert result["direct_bias"] == pytest.approx(0.073079, abs=1e-5)
    # Positive towards the first, female set.
    assert result["word_values"]["nurse"] > 0.1
    assert result["word_values"]["warrior"] < 0


# A second implementation


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 3), st.floats(0, 4))
def test_direct_bias_agrees_with_its_definition(literal, seed, n_components, c):
    rng = np.random.default_rng(seed)
    words, *sets = (rng.normal(0.2, 1, (5, 6)) for _ in range(3))
    directions = bias_subspace(sets, n_components).directions
    score = direct_bias(words, directions, c)
    assert score == pytest.approx(literal.direct_bias(words, directions, c), abs=1e-9)
    assert 0 <= score <= 1 + 1e-12


def test_direction_of_means_is_that_of_same(query, toy_model, vectors, literal):
    result = DirectBias().run_query(query, toy_model, direction="means")
    t1, t2 = vectors(T1), vectors(T2)
    expected = {word: literal.same_signed(vectors(word)[0], t1, t2) for word in NEUTRAL.split()}
    assert result["word_values"] == pytest.approx(expected, abs=1e-12)
    assert result["word_values"]["nurse"] == pytest.approx(0.520295, abs=1e-6)
    assert result["direct_bias"] == pytest.approx(0.381016, abs=1e-6)
    assert "pairs" not in result.details


# Theorems


def test_strictest_score_is_the_share_of_words_that_are_not_orthogonal():
    # 0^0 is 0: a word without any projection is unbiased however strict one is.
    words = [[1.0, 0.0], [1e-9, 1.0], [0.0, 1.0], [0.0, -2.0]]
    assert direct_bias(words, [[1.0, 0.0]], c=0) == 0.5
    assert direct_bias(words[2:], [[1.0, 0.0]], c=0) == 0.0


# Traps


def test_pair_that_lost_a_word_is_left_out(query_of, toy_model):
    result = DirectBias().run_query(
        query_of(["they she woman", "xyzzy he man"], [NEUTRAL]),
        toy_model,
        lost_vocabulary_threshold=0.5,
    )
    assert result["direct_bias"] == pytest.approx(0.379881, abs=1e-6)
    assert result.details["pairs"] == [("she", "he"), ("woman", "man")]


def test_triples_define_a_direction_too(query_of, toy_model, vectors, literal):
    query = query_of([T1, T2, "they folk"], [NEUTRAL])
    result = DirectBias().run_query(query, toy_model, n_components=2)
    directions, _ = literal.principal_directions(
        [vectors(words) for words in (T1, T2, "they folk")]
    )
    expected = literal.direct_bias(vectors(NEUTRAL), directions[:2])
    assert result["direct_bias"] == pytest.approx(expected, abs=1e-9)
    assert result.details["pairs"][0] == ("she", "he", "they")


def test_unpaired_sets_need_the_direction_of_means(query_of, toy_model):
    query = query_of([T1, "he"], [NEUTRAL])
    with pytest.raises(ValueError, match="paired by position and need equal sizes"):
        DirectBias().run_query(query, toy_model)
    assert DirectBias().run_query(query, toy_model, direction="means")["result"] > 0


@pytest.mark.parametrize(
    ("targets", "options", "reason"),
    [
        ((T1, T1), {}, "the members of every pair have the same direction"),
        ((T1, T1), {"direction": "means"}, "the target sets have the same mean"),
        (
            ("she woman tree", "tree she woman"),
            {"direction": "means"},
            "the target sets have the s",
        ),
        (
            ("xyzzy she", "he plugh"),
            {"lost_vocabulary_threshold": 0.5},
            "2 of 2 pairs of target words lost a word",
        ),
    ],
)
def test_no_direction_is_nan_with_a_reason(targets, options, reason, query_of, toy_model):
    result = DirectBias().run_query(query_of(targets, [NEUTRAL]), toy_model, **options)
    assert list(result) == ["query_name", "result", "direct_bias", "word_values"]
    assert math.isnan(result["result"])
    assert result.nan_reason.startswith(reason)


@pytest.mark.parametrize("direction", ["pca", "means"])
def test_pairs_that_differ_only_in_length_have_no_direction(direction):
    rng = np.random.default_rng(1)
    words = rng.normal(size=(4, 20))
    model = WordEmbeddingModel(
        ([*"abcdABCDn"], np.vstack([words, words / 3, rng.normal(size=(1, 20))]))
    )
    result = DirectBias().run_query(
        Query([[*"abcd"], [*"ABCD"]], [["n"]]), model, direction=direction
    )
    assert math.isnan(result["result"])


# What is refused


def test_direction_of_means_needs_two_sets(query_of, toy_model):
    with pytest.raises(ValueError, match="direction='means' needs 2 target sets .*; got 3 sets"):
        DirectBias().run_query(
            query_of([T1, T2, "they folk"], [NEUTRAL]), toy_model, direction="means"
        )


def test_directions_that_are_not_orthonormal_are_refused(vectors):
    with pytest.raises(ValueError, match="directions must be orthonormal"):
        direct_bias(vectors(NEUTRAL), [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
