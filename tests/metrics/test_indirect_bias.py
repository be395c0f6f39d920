"""Indirect bias: worked examples, the definition pair by pair, and what must not matter."""

import numpy as np
import pytest

from wefe.metrics import bias_subspace, indirect_bias


@pytest.fixture
def g(vectors):
    return bias_subspace([vectors("she woman"), vectors("he man")]).directions


def random_basis(rng, n_directions, dim):
    return np.linalg.qr(rng.normal(size=(dim, n_directions)))[0].T


@pytest.mark.parametrize(
    ("pair", "beta", "cosine"),
    [
        ("nurse home", 0.226520, 0.591608),
        ("nurse pilot", -1.067622, 0.482212),
        ("nurse she", 0.182662, 0.617213),
        ("boss job", -0.052122, 0.949644),
    ],
)
def test_toy_values(pair, beta, cosine, g, vectors):
    first, second = vectors(pair)
    assert indirect_bias(first, second, g) == pytest.approx([beta], abs=1e-6)
    # It is the share that a projection takes from the cosine.
    debiased = [each - (each @ g[0]) * g[0] for each in (first, second)]
    left = debiased[0] @ debiased[1] / np.prod(np.linalg.norm(debiased, axis=1))
    assert left == pytest.approx(cosine * (1 - beta), abs=2e-6)


@pytest.mark.parametrize("n_directions", [1, 2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_values_agree_with_the_definition(literal, seed, n_directions):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(0.3, 1, (2, 5, 6))
    basis = random_basis(rng, n_directions, 6)
    expected = [literal.indirect_bias(w, v, basis) for w, v in zip(first, second, strict=True)]
    beta = pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert indirect_bias(first, second, basis) == beta
    # Lengths, order, signs and the choice of the basis do not matter.
    assert indirect_bias(rng.uniform(0.1, 10, (5, 1)) * second, first, basis) == beta
    turn = random_basis(rng, n_directions, n_directions)
    assert indirect_bias(first, second, -turn @ basis) == beta


def test_shapes_that_do_not_fit_are_named():
    for rows in (3, 2):
        with pytest.raises(ValueError, match="same number of rows"):
            indirect_bias(np.ones((2, 3)), np.ones((rows, 3 + (rows == 2))), [1.0, 0, 0])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([0.0, 1.0, 0.0], [0.0, 0.0, 2.0]),
        ([1.0, 0.0, 0.0], [1.0, 1.0, 0.0]),
        ([1.0, 1.0, 0.0], [-3.0, 1e-8, 0.0]),
    ],
)
def test_orthogonal_words_and_words_that_are_all_bias_are_undefined(first, second):
    assert np.isnan(indirect_bias(first, second, [1.0, 0.0, 0.0])).all()
    assert np.isnan(indirect_bias(second, first, [1.0, 0.0, 0.0])).all()
