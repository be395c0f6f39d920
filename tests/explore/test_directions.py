"""Directions of a criterion: those of the worked example, however the criterion is written."""

import numpy as np
import pytest

from wefe import WordEmbeddingModel
from wefe.datasets import Criterion
from wefe.explore import bias_directions

PAIRS = [("she", "he"), ("woman", "man")]
TRIPLES = [("she", "he", "they"), ("woman", "man", "folk")]


def test_the_direction_of_two_groups_is_that_of_the_worked_example(toy_model):
    found = bias_directions(toy_model, PAIRS)
    g = [0.997742, -0.067150, -0.001556]
    np.testing.assert_allclose(found.towards, [g, np.negative(g)], atol=1e-6)
    np.testing.assert_allclose(found.subspace, [g], atol=1e-6)
    np.testing.assert_allclose(found.explained_variance_ratio, [0.996115, 0.003885, 0], atol=1e-6)


@pytest.mark.parametrize("criterion", [PAIRS, Criterion("sex", PAIRS, class_names=["she", "he"])])
def test_a_criterion_may_be_written_in_many_ways(toy_model, criterion):
    found = bias_directions(toy_model, criterion)
    assert found.groups == ("she", "he")
    np.testing.assert_array_equal(found.towards, bias_directions(toy_model, PAIRS).towards)


def test_directions_found_before_are_taken_as_they_are(toy_model):
    found = bias_directions(toy_model, PAIRS)
    assert bias_directions(toy_model, found) is found
    other = WordEmbeddingModel((["she"], np.ones((1, 2))), "flat")
    with pytest.raises(ValueError, match="flat has 2 dimensions"):
        bias_directions(other, found)


def test_of_three_groups_each_has_a_direction_and_the_subspace_is_their_span(toy_model):
    found = bias_directions(toy_model, TRIPLES)
    units = np.array([[toy_model[word] for word in words] for words in TRIPLES])
    units /= np.linalg.norm(units, axis=2, keepdims=True)
    means = (units - units.mean(axis=1, keepdims=True)).mean(axis=0)
    expected = means / np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(found.towards, expected, atol=1e-12)
    np.testing.assert_allclose(found.cosines(7 * units[0]), units[0] @ expected.T, atol=1e-12)
    assert np.isnan(found.cosines([[0, 0, 0]])).all()
    assert found.subspace.shape == (2, 3)
    np.testing.assert_allclose(found.subspace @ found.subspace.T, np.eye(2), atol=1e-12)
    # Nothing of the directions is outside of the subspace.
    inside = found.towards @ found.subspace.T @ found.subspace
    np.testing.assert_allclose(inside, found.towards, atol=1e-12)


@pytest.mark.parametrize("sets", [PAIRS, TRIPLES])
def test_without_the_subspace_nothing_lies_along_a_direction(toy_model, sets):
    found = bias_directions(toy_model, sets)
    rest = found.without(toy_model.vectors)
    np.testing.assert_allclose(rest @ found.towards.T, 0, atol=1e-12)
    # What was taken away lies in the subspace.
    taken = toy_model.vectors - rest
    np.testing.assert_allclose(taken @ found.subspace.T @ found.subspace, taken, atol=1e-12)
