"""Relational Inner Product Association: pairs, their alignment, and the principal component."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe import Query, WordEmbeddingModel
from wefe.metrics import RIPA, bias_subspace, ripa, ripa_by_pair

T1, T2, ATTRIBUTES = "she woman", "he man", "home kids"

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 5)


def random_sets(seed, n_pairs, n_words, dim=5):
    rng = np.random.default_rng(seed)
    return [rng.normal(0.2, 1, (n, dim)) for n in (n_pairs, n_pairs, n_words)]


@pytest.fixture
def toy(vectors):
    return [vectors(words) for words in (T1, T2, ATTRIBUTES)]


# Worked examples


def test_toy_values_by_pair(toy):
    assert ripa_by_pair(*toy) == pytest.approx(
        np.array([[0.535361, 0.557528], [0.372653, 0.338499]]), abs=1e-6
    )
    assert ripa(*toy) == pytest.approx(0.451010, abs=1e-6)


def test_toy_result(query_of, toy_model):
    result = RIPA().run_query(query_of([T1, T2], [ATTRIBUTES]), toy_model)
    assert list(result) == ["query_name", "result", "ripa", "word_values"]
    assert result["result"] == result["ripa"] == pytest.approx(0.451010, abs=1e-6)
    assert result["word_values"]["home"] == pytest.approx(
        {"mean": 0.546444, "std": 0.011083}, abs=1e-6
    )
    assert result["word_values"]["kids"] == pytest.approx(
        {"mean": 0.355576, "std": 0.017077}, abs=1e-6
    )
    assert result.details["pairs"] == [("she", "he"), ("woman", "man")]


def test_toy_values_along_the_principal_component(toy, query_of, toy_model):
    direction = bias_subspace(toy[:2], normalize=False).directions
    assert direction == pytest.approx(np.array([[0.998298, -0.057922, -0.006814]]), abs=1e-6)
    assert ripa_by_pair(*toy, relation="pca")[:, 0] == pytest.approx([0.544805, 0.360137], abs=1e-6)
    result = RIPA().run_query(query_of([T1, T2], [ATTRIBUTES]), toy_model, relation="pca")
    assert result["ripa"] == pytest.approx((0.544805 + 0.360137) / 2, abs=1e-6)
    assert result["word_values"]["home"] == pytest.approx({"mean": 0.544805, "std": 0.0}, abs=1e-6)


# Published figures, and what is wrong with them

ALL_PAIRS = {
    "home": (0.024517, 0.082503),
    "parents": (0.219387, 0.291049),
    "children": (0.315017, 0.262444),
    "family": (0.074982, 0.194731),
    "cousins": (-0.041409, 0.261146),
    "marriage": (0.421688, 0.314837),
    "wedding": (0.419792, 0.273496),
    "relatives": (0.163565, 0.196934),
}
WITHOUT_THE_LAST_PAIR = {
    "home": (0.008022693, 0.07485135),
    "parents": (0.2038254, 0.30801567),
    "children": (0.30370313, 0.2787335),
    "family": (0.07277942, 0.20808344),
    "cousins": (-0.040398445, 0.27916202),
    "marriage": (0.37971354, 0.31494072),
    "wedding": (0.39682359, 0.28507116),
    "relatives": (0.16356598, 0.21053126),
}


@pytest.mark.parametrize(
    ("n_pairs", "score", "by_word"),
    [
        # The documented figure leaves out the last pair by mistake.
        (7, 0.18600442, WITHOUT_THE_LAST_PAIR),
        (8, 0.19969232, ALL_PAIRS),
    ],
)
def test_published_figures_are_those_of_seven_pairs_of_eight(
    n_pairs, score, by_word, gender_family, word2vec
):
    targets = [words[:n_pairs] for words in gender_family.target_sets]
    result = RIPA().run_query(Query(targets, gender_family.attribute_sets), word2vec)
    assert len(result.details["pairs"]) == n_pairs
    assert result["ripa"] == pytest.approx(score, abs=1e-7)
    assert list(result["word_values"]) == list(by_word)
    for word, (mean, std) in by_word.items():
        assert result["word_values"][word] == pytest.approx({"mean": mean, "std": std}, abs=1e-6)


# A second implementation, and theorems


@settings(max_examples=40, deadline=None)
@given(seeds, sizes, sizes)
def test_ripa_agrees_with_its_definition(literal, seed, n_pairs, n_words):
    sets = random_sets(seed, n_pairs, n_words)
    expected = np.array(literal.ripa_by_pair(*sets))
    assert ripa_by_pair(*sets) == pytest.approx(expected, abs=1e-12)
    assert ripa(*sets) == pytest.approx(literal.ripa(*sets), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(2, 5), sizes)
def test_principal_component_agrees_with_the_eigenvector(literal, seed, n_pairs, n_words):
    t1, t2, a = random_sets(seed, n_pairs, n_words)
    (direction, *_), _ = literal.principal_directions([t1, t2], normalize=False)
    expected = np.abs([literal.dot(word, direction) for word in a])
    assert np.abs(ripa_by_pair(t1, t2, a, "pca")[:, 0]) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(seeds, sizes)
def test_both_relations_are_one_for_a_single_pair(seed, n_words):
    sets = random_sets(seed, 1, n_words)
    assert ripa(*sets, relation="pca") == pytest.approx(ripa(*sets), abs=1e-12)


def test_principal_component_points_to_the_first_set(toy, literal):
    t1, t2, a = toy
    direction = bias_subspace([t1, t2], normalize=False).directions[0]
    assert literal.dot(direction, t1.mean(axis=0) - t2.mean(axis=0)) > 0
    # Whatever the order of the pairs, on which the sign of a singular vector may depend.
    assert ripa(t1[::-1], t2[::-1], a, "pca") == pytest.approx(ripa(t1, t2, a, "pca"))


# Traps


@pytest.mark.parametrize("relation", ["pairs", "pca"])
@pytest.mark.parametrize("lost_from", [0, 1])
def test_pairs_stay_aligned_when_a_word_is_missing(lost_from, relation, query_of, toy_model):
    targets = ["she they woman", "he folk man"]
    complete = RIPA().run_query(query_of([T1, T2], [ATTRIBUTES]), toy_model, relation=relation)
    targets[lost_from] = targets[lost_from].replace("they", "xyzzy").replace("folk", "xyzzy")
    result = RIPA().run_query(
        query_of(targets, [ATTRIBUTES]),
        toy_model,
        relation=relation,
        lost_vocabulary_threshold=0.5,
    )
    assert result.details["pairs"] == [("she", "he"), ("woman", "man")]
    assert result["ripa"] == pytest.approx(complete["ripa"], abs=1e-12)
    assert result["word_values"] == complete["word_values"]


def test_different_words_lost_from_each_set_leave_only_complete_pairs(query_of, toy_model):
    result = RIPA().run_query(
        query_of(["xyzzy she woman", "folk plugh man"], [ATTRIBUTES]),
        toy_model,
        lost_vocabulary_threshold=0.7,
    )
    assert result.details["pairs"] == [("woman", "man")]
    assert result.lost_words == {"Target set 0": ["xyzzy"], "Target set 1": ["plugh"]}


def test_no_complete_pair_is_nan_with_a_reason(query_of, toy_model):
    result = RIPA().run_query(
        query_of(["xyzzy she", "he plugh"], [ATTRIBUTES]), toy_model, lost_vocabulary_threshold=0.5
    )
    assert list(result) == ["query_name", "result", "ripa", "word_values"]
    assert math.isnan(result["result"])
    assert result.nan_reason == "2 of 2 pairs of target words lost a word"


def test_threshold_counts_pairs_not_only_words(query_of, toy_model):
    """Each set may lose a different third, and two thirds of the pairs are gone."""
    query = query_of(["xyzzy she woman", "folk plugh man"], [ATTRIBUTES])
    result = RIPA().run_query(query, toy_model, lost_vocabulary_threshold=0.5)
    assert result.nan_reason == "2 of 3 pairs of target words lost a word"


def test_sets_of_unequal_size_are_refused(query_of, toy_model, vectors):
    message = (
        "the target sets are paired by position and need equal sizes; "
        "'Target set 0' has 2, 'Target set 1' has 1"
    )
    with pytest.raises(ValueError, match=message):
        RIPA().run_query(query_of([T1, "he"], [ATTRIBUTES]), toy_model)
    with pytest.raises(ValueError, match="paired by position; they have 2 and 1 words"):
        ripa(vectors(T1), vectors("he"), vectors(ATTRIBUTES))


def test_identical_words_in_a_pair_are_nan_with_a_reason(query_of, toy_model, vectors):
    result = RIPA().run_query(query_of(["she tree", "he tree"], [ATTRIBUTES]), toy_model)
    assert math.isnan(result["result"])
    assert result.nan_reason == (
        "the vectors of a pair are identical, so it has no direction: [('tree', 'tree')]"
    )
    assert result["word_values"] == {}
    with np.errstate(all="raise", invalid="ignore"):
        assert math.isnan(ripa(vectors("she tree"), vectors("he tree"), vectors(ATTRIBUTES)))


def test_one_identical_pair_does_not_hinder_the_principal_component(query_of, toy_model):
    result = RIPA().run_query(
        query_of(["she tree", "he tree"], [ATTRIBUTES]), toy_model, relation="pca"
    )
    alone = RIPA().run_query(query_of(["she", "he"], [ATTRIBUTES]), toy_model)
    assert result["ripa"] == pytest.approx(alone["ripa"], abs=1e-12)


@pytest.mark.parametrize("relation", ["pairs", "pca"])
def test_same_words_on_both_sides_are_nan_with_a_reason(relation, query_of, toy_model):
    result = RIPA().run_query(query_of([T1, T1], [ATTRIBUTES]), toy_model, relation=relation)
    assert math.isnan(result["result"])
    assert result.nan_reason.startswith("the vectors of a pair are identical")


@pytest.mark.parametrize("relation", ["pairs", "pca"])
def test_pair_that_differs_only_in_length_has_no_direction_once_normalized(relation):
    rng = np.random.default_rng(0)
    words = rng.normal(size=(4, 7))
    model = WordEmbeddingModel(
        ([*"abcdABCDn"], np.vstack([words, words / 3, rng.normal(size=(1, 7))]))
    )
    query = Query([[*"abcd"], [*"ABCD"]], [["n"]])
    assert not math.isnan(RIPA().run_query(query, model, relation=relation)["ripa"])
    result = RIPA().run_query(query, model, relation=relation, normalize=True)
    assert math.isnan(result["ripa"])
    assert result.nan_reason.startswith("the vectors of a pair are identical")


def test_repeated_word_takes_part_in_each_of_its_pairs(query_of, toy_model, vectors):
    result = RIPA().run_query(query_of(["she she", "he man"], [ATTRIBUTES]), toy_model)
    assert result.details["pairs"] == [("she", "he"), ("she", "man")]
    expected = ripa(vectors("she she"), vectors("he man"), vectors(ATTRIBUTES))
    assert result["ripa"] == pytest.approx(expected, abs=1e-12)
