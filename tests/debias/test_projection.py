"""The geometry of mitigation: each function against a slow one, and what must hold of it."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from wefe.debias._projection import (
    centred_rows,
    equalized,
    neutralised,
    orthonormal,
    principal_components,
    remove,
    to_unit,
)
from wefe.models._passes import chunks


def rng():
    return np.random.default_rng(0)


def unit_rows(n, dim=8, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def basis_of(k, dim=8, seed=1):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(dim, k)))[0].T


# Principal components


def test_every_set_is_centred_on_its_own_mean():
    sets = [rng().normal(size=(n, 5)) for n in (2, 3, 2)]
    expected = np.array([row - sum(part) / len(part) for part in sets for row in part])
    np.testing.assert_allclose(centred_rows(sets), expected, atol=1e-15)
    # A set of one word says nothing about differences.
    assert not centred_rows([np.ones((1, 5))]).any()


def test_components_are_the_eigenvectors_of_the_scatter_of_differences():
    pairs = rng().normal(size=(6, 2, 4)) + np.array(
        [
            [[2.0, 0, 0, 0]],
        ]
    ) * [[[1], [-1]]]
    pca = principal_components(list(pairs), {"n_components": 10})
    # Of a pair, both centred rows are half of the difference, up to the sign.
    scatter = sum(np.outer(a - b, a - b) / 2 for a, b in pairs)
    values, vectors = np.linalg.eigh(scatter)
    np.testing.assert_allclose(pca.explained_variance_ratio_, values[::-1] / values.sum())
    for component, expected in zip(pca.components_, vectors.T[::-1], strict=True):
        assert abs(component @ expected) == pytest.approx(1)


def test_direction_of_the_worked_example(toy_model):
    pairs = [
        [toy_model[word] / np.linalg.norm(toy_model[word]) for word in pair]
        for pair in (("she", "he"), ("woman", "man"))
    ]
    pca = principal_components(pairs, {"n_components": 10})
    np.testing.assert_allclose(pca.components_[0], (0.997742, -0.067150, -0.001556), atol=1e-6)
    np.testing.assert_allclose(np.abs(pca.components_[1]), (0.0072, 0.129952, 0.991494), atol=1e-6)
    np.testing.assert_allclose(pca.explained_variance_ratio_, (0.996115, 0.003885), atol=1e-6)


def test_components_point_to_the_first_words_whatever_the_solver_found():
    pairs = [unit_rows(2, seed=seed) for seed in range(4)]
    differences = sum(pair[0] - pair[1] for pair in pairs)
    forth = principal_components(pairs, {}).components_
    back = principal_components([pair[::-1] for pair in pairs], {}).components_
    assert (forth @ differences >= 0).all()
    np.testing.assert_allclose(back, -forth, atol=1e-12)


@pytest.mark.parametrize(
    ("asked", "found"), [({}, 3), ({"n_components": None}, 3), ({"n_components": 10}, 3),
                         ({"n_components": np.int64(9)}, 3), ({"n_components": 2}, 2)]
)  # fmt: skip
def test_no_more_components_than_the_sets_span(asked, found):
    pairs = [unit_rows(2, seed=seed) for seed in range(3)]
    # A fourth pair with the difference of the first one adds a row, but no direction.
    pairs.append(pairs[0] + 1)
    assert principal_components(pairs, asked).components_.shape == (found, 8)


def test_other_arguments_reach_scikit_learn():
    pairs = [unit_rows(2, seed=seed) for seed in range(6)]
    share = principal_components(pairs, {"n_components": 0.5})
    assert share.explained_variance_ratio_[:-1].sum() < 0.5
    assert share.explained_variance_ratio_.sum() >= 0.5
    assert principal_components(pairs, {"whiten": True}).whiten is True
    with pytest.raises(TypeError, match="colour"):
        principal_components(pairs, {"colour": "red"})


def test_the_full_decomposition_is_used_also_of_large_sets():
    # scikit-learn would choose a randomised one here, which draws from the global generator.
    pairs = list(rng().normal(size=(50, 2, 600)))
    np.random.seed(5)  # noqa: NPY002
    assert principal_components(pairs, {"n_components": 5}).svd_solver == "full"
    assert np.random.rand() == np.random.RandomState(5).rand()  # noqa: NPY002


def test_centring_again_changes_nothing():
    pairs = [unit_rows(2, seed=seed) for seed in range(5)]
    pca = principal_components(pairs, {})
    np.testing.assert_allclose(pca.mean_, 0, atol=1e-15)
    plain = PCA().fit(centred_rows(pairs))
    np.testing.assert_allclose(
        pca.explained_variance_, plain.explained_variance_[: len(pca.components_)], atol=1e-15
    )


@pytest.mark.parametrize("noise", [0, 1e-16])
def test_equal_members_have_no_direction(noise):
    pair = np.ones((2, 4))
    pair[0] += noise
    with pytest.raises(ValueError, match="every definitional set have the same vector"):
        principal_components([pair, 3 * pair], {})


# Removing directions


@pytest.mark.parametrize("k", [1, 2, 5])
def test_remove_is_the_projection_written_out(k):
    vectors, basis = rng().normal(size=(20, 8)), basis_of(k)
    before = vectors.copy()
    result = remove(vectors, basis)
    for row, vector in zip(result, vectors, strict=True):
        expected = vector.copy()
        for direction in basis:
            expected = expected - sum(vector * direction) * direction
        np.testing.assert_allclose(row, expected, atol=1e-14)
    assert np.array_equal(vectors, before)


@pytest.mark.parametrize("k", [1, 3])
def test_remove_is_an_orthogonal_projection(k):
    basis = basis_of(k)
    matrix = remove(np.eye(8), basis)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-15)
    np.testing.assert_allclose(matrix @ matrix, matrix, atol=1e-15)
    assert np.trace(matrix) == pytest.approx(8 - k)
    np.testing.assert_allclose(matrix @ basis.T, 0, atol=1e-15)
    vectors = rng().normal(size=(20, 8))
    np.testing.assert_allclose(remove(remove(vectors, basis), basis), remove(vectors, basis))


def test_remove_takes_one_direction_as_a_vector_and_keeps_the_dtype():
    vectors, direction = rng().normal(size=(5, 8)).astype(np.float32), basis_of(1)[0]
    result = remove(vectors, direction)
    assert result.dtype == np.float32
    assert np.array_equal(result, remove(vectors, direction[None]))
    np.testing.assert_allclose(result, remove(vectors.astype(float), direction), atol=1e-6)


def test_remove_of_nothing():
    vectors = rng().normal(size=(5, 8))
    result = remove(vectors, np.empty((0, 8)))
    np.testing.assert_array_equal(result, vectors)
    assert not np.shares_memory(result, vectors)


# Lengths and bases


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unit_lengths_in_place(dtype):
    vectors = rng().normal(size=(6, 4)).astype(dtype)
    vectors[2] = 0
    expected = [v / np.sqrt(sum(x * x for x in v)) if v.any() else v for v in vectors.copy()]
    assert to_unit(vectors) is vectors
    assert vectors.dtype == dtype
    np.testing.assert_allclose(vectors, expected, rtol=4 * np.finfo(dtype).eps)
    assert not vectors[2].any()


def test_orthonormal_basis_of_dependent_rows():
    rows = rng().normal(size=(3, 8))
    dependent = np.vstack([rows, rows[0] + rows[1], 5 * rows[2], np.zeros(8)])
    basis = orthonormal(dependent)
    assert basis.shape == (3, 8)
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(rows @ basis.T @ basis, rows, atol=1e-14)
    projector = rows.T @ np.linalg.inv(rows @ rows.T) @ rows
    np.testing.assert_allclose(basis.T @ basis, projector, atol=1e-13)


def test_orthonormal_basis_of_one_row_of_noise_and_of_nothing():
    np.testing.assert_allclose(np.abs(orthonormal([3.0, 0, 4])), [[0.6, 0, 0.8]])
    assert orthonormal([[1, 0, 0], [1, 1e-9, 0]]).shape == (1, 3)
    assert orthonormal(np.zeros((2, 3))).shape == (0, 3)


# Equalizing


def test_equalized_pair_of_the_worked_example(toy_model):
    direction = np.array([[0.997742, -0.067150, -0.001556]])
    direction /= np.linalg.norm(direction)
    for pair, y, z in (
        (("she", "he"), (0.017247, 0.252745, 0.151947), 0.955371),
        (("woman", "man"), (0.034427, 0.512864, -0.057722), 0.855835),
    ):
        vectors = to_unit(np.stack([toy_model[word] for word in pair]))
        result = equalized(vectors, vectors, direction)
        np.testing.assert_allclose(result.mean(axis=0), y, atol=2e-6)
        np.testing.assert_allclose(result @ direction[0], (z, -z), atol=2e-6)


@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 2), (3, 1), (4, 3), (2, 3)])
def test_equalized_is_the_formula_of_the_paper(n, k):
    vectors, basis = unit_rows(n), basis_of(k)
    inside = np.array([sum((v @ b) * b for b in basis) for v in vectors])
    mean = sum(vectors) / n
    mean_inside = sum((mean @ b) * b for b in basis)
    y = mean - mean_inside
    expected = [
        y + np.sqrt(1 - y @ y) * (part - mean_inside) / np.linalg.norm(part - mean_inside)
        for part in inside
    ]
    result = equalized(vectors, vectors, basis)
    np.testing.assert_allclose(result, expected, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(result, axis=1), 1)
    # They differ inside of the subspace only.
    np.testing.assert_allclose(remove(result, basis), np.tile(y, (n, 1)), atol=1e-13)


def test_the_side_is_read_from_the_originals_where_words_were_neutralised():
    originals, basis = unit_rows(2), basis_of(1)
    if originals[0] @ basis[0] < originals[1] @ basis[0]:
        originals = originals[::-1]
    neutral = to_unit(remove(originals, basis))
    for noise in (1e-17, -1e-17):
        along = equalized(neutral + noise * basis, originals, basis) @ basis[0]
        assert along[0] > 0.1
        assert along[1] == pytest.approx(-along[0])


def test_words_without_a_side_become_their_mean_at_unit_length():
    basis = np.eye(3)[:1]
    pair = np.array([[0.0, 1, 0], [0, 0, 1]])
    result = equalized(pair, pair, basis)
    np.testing.assert_allclose(result, np.tile([0, 0.5**0.5, 0.5**0.5], (2, 1)))
    opposite = np.array([[0.0, 1, 0], [0, -1, 0]])
    assert np.isfinite(equalized(opposite, opposite, basis)).all()


def test_equal_words_have_nothing_to_differ_in():
    pair = np.tile([0.6, 0.8, 0], (2, 1))
    np.testing.assert_allclose(equalized(pair, pair, np.eye(3)[:1]), [[0, 1, 0], [0, 1, 0]])


def test_rounding_above_unit_length_is_no_error():
    pair, basis = np.array([[1e-9, 1 + 1e-9, 0], [-1e-9, 1 + 1e-9, 0]]), np.eye(3)[:1]
    np.testing.assert_allclose(equalized(pair, pair, basis), [[0, 1, 0]] * 2, atol=1e-6)


@pytest.mark.parametrize(("n", "size"), [(0, 3), (1, 3), (3, 3), (7, 3), (9, 1), (5, 100)])
def test_chunks_cover_a_range_once(n, size):
    parts = [range(n)[part] for part in chunks(n, size)]
    assert [i for part in parts for i in part] == list(range(n))
    assert all(0 < len(part) <= size for part in parts)


def test_a_word_that_is_nothing_but_bias_becomes_zero_and_is_logged(caplog):
    basis = np.linalg.qr(rng().normal(size=(9, 2)))[0].T
    vectors = np.concatenate([3 * basis[:1] + 2 * basis[1:], rng().normal(size=(2, 9))])
    for dtype in (np.float32, np.float64):
        result = neutralised(vectors.astype(dtype), basis)
        assert not result[0].any()
        np.testing.assert_allclose(result[1:], remove(vectors, basis)[1:], atol=1e-5)
    assert "1 vectors lie entirely in the bias subspace" in caplog.text


def test_components_are_contiguous_so_that_pickling_changes_nothing():
    pca = principal_components(list(rng().normal(size=(5, 2, 7))), {"n_components": 3})
    assert pca.components_.flags.c_contiguous


@pytest.mark.parametrize("n_components", [0, -1])
def test_no_components_are_refused(n_components):
    with pytest.raises(ValueError, match="n_components must be at least 1"):
        principal_components(list(rng().normal(size=(5, 2, 7))), {"n_components": n_components})
