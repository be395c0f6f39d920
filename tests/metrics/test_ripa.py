"""Relational Inner Product Association: pairs, their alignment, and the principal component."""

import math

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel
from wefe.metrics import RIPA, bias_subspace

T1, T2, ATTRIBUTES = "she woman", "he man", "home kids"

both_relations = pytest.mark.parametrize("relation", ["pairs", "pca"])


def by_word(pairs, words, relation="pairs"):
    values = RIPA(relation=relation).run_vectors(pairs, [words])["word_values"].values()
    return [value["mean"] for value in values]


# Worked examples


def test_toy_values_by_pair(toy):
    for pair, expected in {
        "she he": (0.535361, 0.372653),
        "woman man": (0.557528, 0.338499),
    }.items():
        values = toy(RIPA, pair.split(), [ATTRIBUTES])["word_values"].values()
        assert [value["mean"] for value in values] == pytest.approx(expected, abs=1e-6)
    result = toy(RIPA, [T1, T2], [ATTRIBUTES])
    assert result["ripa"] == pytest.approx(0.451010, abs=1e-6)
    home, kids = ({"mean": 0.546444, "std": 0.011083}, {"mean": 0.355576, "std": 0.017077})
    assert result["word_values"]["home"] == pytest.approx(home, abs=1e-6)
    assert result["word_values"]["kids"] == pytest.approx(kids, abs=1e-6)
    assert result.details["pairs"] == [("she", "he"), ("woman", "man")]


def test_toy_values_along_the_principal_component(toy, vectors):
    t1, t2, a = (vectors(words) for words in (T1, T2, ATTRIBUTES))
    direction = bias_subspace([t1, t2], normalize=False).directions
    assert direction == pytest.approx(np.array([[0.998298, -0.057922, -0.006814]]), abs=1e-6)
    # Whatever the order of the pairs, on which the sign of a singular vector may depend.
    for first, second in ((t1, t2), (t1[::-1], t2[::-1])):
        assert by_word([first, second], a, "pca") == pytest.approx([0.544805, 0.360137], abs=1e-6)
    result = toy(RIPA, [T1, T2], [ATTRIBUTES], relation="pca")
    assert result["ripa"] == pytest.approx((0.544805 + 0.360137) / 2, abs=1e-6)
    assert result["word_values"]["home"] == pytest.approx({"mean": 0.544805, "std": 0.0}, abs=1e-6)


# Published figures, and what is wrong with them


def test_published_figures_are_those_of_seven_pairs_of_eight(gender_family, word2vec):
    """The documented figure leaves out the last pair by mistake."""
    targets = [words[:7] for words in gender_family.target_sets]
    result = RIPA().run_query(Query(targets, gender_family.attribute_sets), word2vec)
    assert result["ripa"] == pytest.approx(0.18600442, abs=1e-7)
    values = result["word_values"]
    assert values["home"] == pytest.approx({"mean": 0.008023, "std": 0.074851}, abs=1e-6)
    assert values["wedding"] == pytest.approx({"mean": 0.396824, "std": 0.285071}, abs=1e-6)
    every = RIPA().run_query(gender_family, word2vec)
    assert every["ripa"] == pytest.approx(0.19969232, abs=1e-7)


# A second implementation


@pytest.mark.parametrize("seed", range(20))
def test_principal_component_agrees_with_the_eigenvector(literal, seed):
    rng = np.random.default_rng(seed)
    n_pairs = rng.integers(1, 6)
    t1, t2, a = (rng.normal(0.2, 1, (n, 5)) for n in (n_pairs, n_pairs, 4))
    if n_pairs == 1:
        assert by_word([t1, t2], a, "pca") == pytest.approx(by_word([t1, t2], a), abs=1e-12)
    (direction, *_), _ = literal.principal_directions([t1, t2], normalize=False)
    side = np.sign(literal.dot(direction, t1.mean(axis=0) - t2.mean(axis=0)))
    expected = [side * literal.dot(word, direction) for word in a]
    assert by_word([t1, t2], a, "pca") == pytest.approx(expected, abs=1e-6)


# Pairs


@pytest.mark.parametrize(
    ("targets", "options", "reason"),
    [
        (["she tree", "he tree"], {}, "[('tree', 'tree')]"),
        ([T1, T1], {}, "the vectors of a pair are identical"),
        ([T1, T1], {"relation": "pca"}, "the vectors of a pair are identical"),
    ],
)
def test_pairs_without_a_direction_are_nan_with_a_reason(targets, options, reason, toy):
    result = toy(RIPA, targets, [ATTRIBUTES], **options)
    assert math.isnan(result["result"])
    assert result["word_values"] == {}
    assert reason in result.nan_reason


@both_relations
def test_pair_that_differs_only_in_length_has_no_direction_once_normalized(relation):
    words, other = np.split(np.random.default_rng(0).normal(size=(5, 7)), [4])
    model = WordEmbeddingModel(([*"abcdABCDn"], np.vstack([words, words / 3, other])))
    query = Query([[*"abcd"], [*"ABCD"]], [["n"]])
    assert not math.isnan(RIPA().run_query(query, model, relation=relation)["ripa"])
    result = RIPA().run_query(query, model, relation=relation, normalize=True)
    assert math.isnan(result["ripa"])
