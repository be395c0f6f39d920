"""Bias directions and subspaces: worked example, orientation, rank, and what is refused."""

import numpy as np
import pytest

from wefe.metrics import bias_subspace, direct_bias, group_directions

T1, T2, T3 = "she woman", "he man", "they folk"


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# Worked examples


def test_toy_directions_and_ratios(vectors):
    subspace = bias_subspace([vectors(T1), vectors(T2)], n_components=2)
    first, second = subspace.directions
    assert first == pytest.approx([0.997742, -0.067150, -0.001556], abs=1e-6)
    assert np.abs(second) == pytest.approx([0.007200, 0.129952, 0.991494], abs=1e-6)
    assert subspace.explained_variance_ratio == pytest.approx([0.996115, 0.003885, 0], abs=1e-6)
    subspace = bias_subspace([vectors(T1), vectors(T2), vectors(T3)])
    assert len(subspace.explained_variance_ratio) == 3
    assert subspace.explained_variance_ratio.sum() == pytest.approx(1.0)


def test_three_groups_have_a_direction_each():
    found = group_directions([[[1.0, 0.0]], [[0.0, 2.0]], [[-1.0, 0.0]]])
    assert found == pytest.approx(unit(np.array([[1, -1 / 3], [0, 2 / 3], [-1, -1 / 3]])))


def test_one_direction_may_have_any_length_and_several_are_orthonormal():
    words = [[1.0, 1.0], [0.0, 1.0]]
    assert direct_bias(words, [[3.0, 0.0]]) == pytest.approx(0.5**0.5 / 2)
    with pytest.raises(ValueError, match="orthonormal"):
        direct_bias(words, [[3.0, 0.0], [0.0, 1.0]])


# A second implementation, and theorems


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_subspace_agrees_with_the_eigenvectors_of_the_covariance(literal, seed, normalize):
    rng = np.random.default_rng(seed)
    sets = list(rng.normal(0.1, 1, (rng.integers(2, 5), rng.integers(2, 7), 6)))
    subspace = bias_subspace(sets, n_components=2, normalize=normalize)
    directions, ratios = literal.principal_directions(sets, normalize=normalize)
    size = len(subspace.explained_variance_ratio)
    assert subspace.explained_variance_ratio == pytest.approx(ratios[:size], abs=1e-12)
    found = subspace.directions
    assert found @ found.T == pytest.approx(np.eye(2), abs=1e-12)
    # Projections do not depend on the basis if two variances are equal.
    if ratios[1] - ratios[2] > 1e-3:
        expected = np.array(directions[:2]).T @ np.array(directions[:2])
        assert found.T @ found == pytest.approx(expected, abs=1e-9)
    # They point to the first set.
    first, second = ((unit(part) if normalize else part).mean(axis=0) for part in sets[:2])
    assert (found @ (first - second) >= -1e-12).all()


# What is refused


def test_rank_counts_directions_and_no_rounding_noise():
    rng = np.random.default_rng(0)
    direction, middles = rng.normal(size=300), rng.normal(size=(8, 300))
    pairs = [middles + direction, middles - direction]
    assert bias_subspace(pairs, normalize=False).explained_variance_ratio[0] == pytest.approx(1.0)
    with pytest.raises(ValueError, match="n_components must be between 1 and 1,.* 8 tuples"):
        bias_subspace(pairs, n_components=2, normalize=False)


@pytest.mark.parametrize("factor", [1.0, 3.0, 0.1])
def test_equal_members_have_no_direction_although_rounding_tells_them_apart(factor):
    words = np.random.default_rng(0).normal(size=(5, 50))
    with pytest.raises(ValueError, match="members of every tuple are equal"):
        bias_subspace([words, factor * words])
