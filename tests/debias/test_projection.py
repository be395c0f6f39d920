"""The geometry of mitigation: each function against a slow one, and what must hold of it."""

import numpy as np
import pytest
from mitigation import unit

from wefe.debias._projection import (
    Erasure,
    equalized,
    orthonormal,
    principal_components,
    remove,
    to_unit,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def unit_rows(n, seed=0):
    return unit(rng(seed).normal(size=(n, 8)))


def basis_of(k):
    return np.linalg.qr(rng(1).normal(size=(8, k)))[0].T


# Principal components


@pytest.mark.parametrize(
    ("asked", "found"), [({}, 3), ({"n_components": None}, 3), ({"n_components": 10}, 3),
                         ({"n_components": np.int64(9)}, 3), ({"n_components": 2}, 2)]
)  # fmt: skip
def test_no_more_components_than_the_sets_span(asked, found):
    pairs = [unit_rows(2, seed) for seed in range(3)]
    # A fourth pair with the difference of the first one adds a row, but no direction.
    pairs.append(pairs[0] + 1)
    assert principal_components(pairs, asked).components_.shape == (found, 8)


@pytest.mark.parametrize("noise", [0, 1e-16])
def test_equal_members_have_no_direction(noise):
    pair = np.ones((2, 4))
    pair[0] += noise
    with pytest.raises(ValueError, match="every definitional set have the same vector"):
        principal_components([pair, 3 * pair], {})


# Removing directions, lengths and bases


def test_orthonormal_bases():
    rows = rng().normal(size=(3, 8))
    basis = orthonormal(np.vstack([rows, rows[0] + rows[1], 5 * rows[2], np.zeros(8)]))
    assert basis.shape == (3, 8)
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-14)
    projector = rows.T @ np.linalg.inv(rows @ rows.T) @ rows
    np.testing.assert_allclose(basis.T @ basis, projector, atol=1e-13)
    np.testing.assert_allclose(np.abs(orthonormal([3.0, 0, 4])), [[0.6, 0, 0.8]])
    assert orthonormal([[1, 0, 0], [1, 1e-9, 0]]).shape == (1, 3)
    assert orthonormal(np.zeros((2, 3))).shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_word_that_is_nothing_but_bias_becomes_zero_not_noise(dtype, caplog):
    basis = basis_of(2)
    others = rng().normal(size=(3, 8))
    others[2] = 1e-5 * others[2] + basis[0]
    vectors = np.concatenate([3 * basis[:1] + 2 * basis[1:], others])
    result = Erasure(basis, basis)(vectors.astype(dtype))
    assert not result[0].any()
    assert not to_unit(result.copy())[0].any()
    np.testing.assert_allclose(result[1:], remove(vectors, basis)[1:], atol=1e-6)
    assert result[3].any()
    assert "1 vectors lie entirely in the bias subspace" in caplog.text


# Equalizing


@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 2), (3, 1), (4, 3), (2, 3)])
def test_equalized_is_the_formula_of_the_paper(n, k):
    vectors, basis = unit_rows(n), basis_of(k)
    inside = np.array([sum((v @ b) * b for b in basis) for v in vectors])
    y = (vectors - inside).mean(axis=0)
    expected = y + np.sqrt(1 - y @ y) * unit(inside - inside.mean(axis=0))
    result = equalized(vectors, vectors, basis)
    np.testing.assert_allclose(result, expected, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(result, axis=1), 1)
    # The sides are those of the originals: after neutralising, only noise would tell of them.
    neutral = to_unit(remove(vectors, basis))
    for noise in (1e-17, -1e-17):
        again = equalized(neutral + noise * basis[0], vectors, basis)
        np.testing.assert_allclose(unit(again @ basis.T), unit(result @ basis.T), atol=1e-12)
