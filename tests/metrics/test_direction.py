"""Bias directions and subspaces: worked example, orientation, rank, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe.metrics import bias_subspace

T1, T2, T3 = "she woman", "he man", "they folk"

seeds = st.integers(0, 2**32 - 1)


def random_sets(seed, n_sets, n_tuples, dim=6):
    return list(np.random.default_rng(seed).normal(0.1, 1, (n_sets, n_tuples, dim)))


# Worked examples


def test_toy_direction_and_ratios(vectors):
    subspace = bias_subspace([vectors(T1), vectors(T2)])
    assert subspace.directions == pytest.approx(
        np.array([[0.997742, -0.067150, -0.001556]]), abs=1e-6
    )
    assert subspace.explained_variance_ratio == pytest.approx([0.996115, 0.003885, 0], abs=1e-6)


def test_toy_second_component(vectors):
    subspace = bias_subspace([vectors(T1), vectors(T2)], n_components=2)
    assert np.abs(subspace.directions[1]) == pytest.approx([0.007200, 0.129952, 0.991494], abs=1e-6)


def test_ten_pairs_of_bolukbasi_on_word2vec(word2vec, debiaswe_sets):
    def unit(words):
        rows = word2vec.get_vectors(words).astype(float)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    female, male = (debiaswe_sets[f"{side}_terms"] for side in ("female", "male"))
    subspace = bias_subspace([word2vec.get_vectors(female), word2vec.get_vectors(male)])
    assert subspace.explained_variance_ratio[:4] == pytest.approx(
        [0.605292, 0.127255, 0.099281, 0.048347], abs=1e-5
    )
    (g,) = subspace.directions
    differences = unit(female) - unit(male)
    differences /= np.linalg.norm(differences, axis=1, keepdims=True)
    she_he = differences[female.index("she")]
    assert g @ she_he == pytest.approx(0.945023, abs=1e-5)
    # female - male is the outlier.
    expected = [0.821191, 0.743048, 0.945023, 0.692064, 0.749017, 0.710207, 0.352283]
    expected += [0.913719, 0.948788, 0.566651]
    assert np.abs(differences @ g) == pytest.approx(expected, abs=1e-5)
    cosines = (differences @ differences.T)[np.triu_indices(10, 1)]
    assert [cosines.mean(), cosines.min(), cosines.max()] == pytest.approx(
        [0.522634, 0.059068, 0.921345], abs=1e-5
    )


# A second implementation


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(2, 4), st.integers(2, 6), st.booleans())
def test_subspace_agrees_with_the_eigenvectors_of_the_covariance(
    literal, seed, n_sets, n_tuples, normalize
):
    sets = random_sets(seed, n_sets, n_tuples)
    subspace = bias_subspace(sets, n_components=2, normalize=normalize)
    directions, ratios = literal.principal_directions(sets, normalize=normalize)
    size = len(subspace.explained_variance_ratio)
    assert subspace.explained_variance_ratio == pytest.approx(ratios[:size], abs=1e-12)
    # Projections do not depend on signs, nor on the basis if two variances are equal.
    expected = np.array(directions[:2]).T @ np.array(directions[:2])
    if ratios[1] - ratios[2] > 1e-3:
        found = subspace.directions.T @ subspace.directions
        assert found == pytest.approx(expected, abs=1e-9)


# Theorems


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(2, 4), st.integers(2, 6))
def test_directions_are_orthonormal_and_point_to_the_first_set(seed, n_sets, n_tuples):
    sets = random_sets(seed, n_sets, n_tuples)
    directions = bias_subspace(sets, n_components=2).directions
    assert directions @ directions.T == pytest.approx(np.eye(2), abs=1e-12)
    units = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in sets]
    assert (directions @ (units[0].mean(axis=0) - units[1].mean(axis=0)) >= -1e-12).all()


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 6))
def test_centring_pairs_equals_leaving_differences_uncentred(seed, n_pairs):
    first, second = random_sets(seed, 2, n_pairs)
    _, singular, components = np.linalg.svd(first - second, full_matrices=False)
    subspace = bias_subspace([first, second], normalize=False)
    assert np.abs(subspace.directions @ components[0]) == pytest.approx([1.0], abs=1e-9)
    assert subspace.explained_variance_ratio[: len(singular)] == pytest.approx(
        singular**2 / (singular**2).sum(), abs=1e-9
    )


def test_ratios_cover_all_directions_and_sum_to_one(vectors):
    subspace = bias_subspace([vectors(T1), vectors(T2), vectors(T3)])
    assert len(subspace.explained_variance_ratio) == 3
    assert subspace.explained_variance_ratio.sum() == pytest.approx(1.0)


# What is refused


def test_more_components_than_the_tuples_span_are_refused(vectors):
    message = "n_components must be between 1 and 2, the number of directions that 2 tuples span"
    with pytest.raises(ValueError, match=message):
        bias_subspace([vectors(T1), vectors(T2)], n_components=3)


def test_rank_counts_directions_and_no_rounding_noise():
    rng = np.random.default_rng(0)
    direction, middles = rng.normal(size=300), rng.normal(size=(8, 300))
    pairs = [middles + direction, middles - direction]
    assert bias_subspace(pairs, normalize=False).explained_variance_ratio[0] == pytest.approx(1.0)
    with pytest.raises(ValueError, match="between 1 and 1, the number of directions that 8 tuples"):
        bias_subspace(pairs, n_components=2, normalize=False)


@pytest.mark.parametrize("factor", [1.0, 3.0, 0.1])
def test_equal_members_have_no_direction_although_rounding_tells_them_apart(factor):
    words = np.random.default_rng(0).normal(size=(5, 50))
    with pytest.raises(ValueError, match="members of every tuple are equal, so there is no direc"):
        bias_subspace([words, factor * words])


@pytest.mark.parametrize("n_components", [0, -1])
def test_number_of_components_is_positive(n_components, vectors):
    with pytest.raises(ValueError, match="n_components must be an integer of at least 1"):
        bias_subspace([vectors(T1), vectors(T2)], n_components)


def test_sets_of_different_shape_are_refused(vectors):
    with pytest.raises(ValueError, match=r"one shape .*; got shapes \[\(2, 3\), \(1, 3\)\]"):
        bias_subspace([vectors(T1), vectors("he")])
    with pytest.raises(ValueError, match=r"two or more arrays .*; got shapes \[\(2, 3\)\]"):
        bias_subspace([vectors(T1)])
