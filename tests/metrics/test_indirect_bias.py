"""Indirect bias: worked examples, the definition pair by pair, and what must not matter."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe.metrics import bias_subspace, indirect_bias, indirect_bias_from_cosines

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture
def g(vectors):
    return bias_subspace([vectors("she woman"), vectors("he man")]).directions


def slow_beta(w, v, basis):
    """The definition, for one pair and any number of directions, one number at a time."""
    w = [x / math.sqrt(sum(y * y for y in w)) for x in w]
    v = [x / math.sqrt(sum(y * y for y in v)) for x in v]
    rest_w, rest_v = list(w), list(v)
    for direction in basis:
        for rest, whole in ((rest_w, w), (rest_v, v)):
            along = sum(x * b for x, b in zip(whole, direction, strict=True))
            for i, b in enumerate(direction):
                rest[i] -= along * b
    cosine = sum(x * y for x, y in zip(w, v, strict=True))
    left = sum(x * y for x, y in zip(rest_w, rest_v, strict=True))
    left /= math.sqrt(sum(x * x for x in rest_w)) * math.sqrt(sum(x * x for x in rest_v))
    return (cosine - left) / cosine


def random_basis(rng, n_directions, dim):
    return np.linalg.qr(rng.normal(size=(dim, n_directions)))[0].T


# Worked examples


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
    along = [vectors(word)[0] @ g[0] / np.linalg.norm(vectors(word)) for word in pair.split()]
    of_cosines = indirect_bias_from_cosines(cosine, along[:1], along[1:])
    assert of_cosines == pytest.approx(beta, abs=5e-6)


# A second implementation


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 3))
def test_both_forms_agree_with_the_definition(seed, n_directions):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(0.3, 1, (2, 5, 6))
    basis = random_basis(rng, n_directions, 6)
    expected = [slow_beta(w, v, basis) for w, v in zip(first, second, strict=True)]
    assert indirect_bias(first, second, basis) == pytest.approx(expected, rel=1e-7, abs=1e-9)
    units = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (first, second)]
    cosines = np.einsum("ij,ij->i", *units)
    found = indirect_bias_from_cosines(cosines, *(each @ basis.T for each in units))
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-9)


# Theorems


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_lengths_order_signs_and_the_choice_of_the_basis_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(0.3, 1, (2, 5, 6))
    basis, turn = random_basis(rng, 2, 6), random_basis(rng, 2, 2)
    beta = pytest.approx(indirect_bias(first, second, basis), rel=1e-7, abs=1e-9)
    lengths = rng.uniform(0.1, 10, (5, 1))
    assert indirect_bias(lengths * second, first, basis) == beta
    assert indirect_bias(first, second, turn @ basis) == beta
    assert indirect_bias(first, second, basis * [[-1], [1]]) == beta
    rotation = random_basis(rng, 6, 6)
    assert indirect_bias(first @ rotation, second @ rotation, basis @ rotation) == beta


def test_it_is_the_share_that_a_projection_takes_from_the_cosine(vectors, g):
    def cosine(w, v):
        return w @ v / np.linalg.norm(w) / np.linalg.norm(v)

    nurse, home = vectors("nurse home")
    debiased = [each - (each @ g[0]) * g[0] for each in (nurse, home)]
    beta = indirect_bias(nurse, home, g)[0]
    assert cosine(*debiased) == pytest.approx(cosine(nurse, home) * (1 - beta), abs=1e-12)


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


def test_cosine_of_nan_is_undefined_and_hurts_no_other_pair():
    found = indirect_bias_from_cosines([0.5, math.nan, 0.5], [0.6], [[0.6], [0.6], [math.nan]])
    assert found[0] == pytest.approx(0.5625)
    assert np.isnan(found[1:]).all()


# Shapes


def test_one_vector_is_compared_with_all_of_the_other_side(vectors, g):
    nurse, others = vectors("nurse"), vectors("home pilot she")
    expected = pytest.approx([0.226520, -1.067622, 0.182662], abs=1e-6)
    assert indirect_bias(nurse[0], others, g[0]) == expected
    assert indirect_bias(others, nurse, -4 * g) == expected


def test_cosines_of_many_words_with_many_neighbours_broadcast():
    rng = np.random.default_rng(3)
    cosines, words, near = rng.uniform(0.2, 0.6, (4, 7)), *rng.uniform(-0.5, 0.5, (2, 4, 7, 2))
    found = indirect_bias_from_cosines(cosines, words[:, :1], near)
    assert found.shape == (4, 7)
    assert found[2, 5] == indirect_bias_from_cosines(cosines[2, 5], words[2, 0], near[2, 5])


@pytest.mark.parametrize(
    ("first", "second", "directions", "message"),
    [
        (np.ones((2, 3)), np.ones((4, 3)), [1.0, 0, 0], "the same number of rows, or one row"),
        (np.ones((2, 3)), np.ones((2, 2)), [1.0, 0, 0], "the same dimensions"),
        (np.ones((2, 3)), np.ones((2, 3)), [1.0, 0], "the same dimensions"),
        (np.ones((2, 3)), np.zeros((2, 3)), [1.0, 0, 0], "second: row 0 is a zero vector"),
        (np.ones((1, 3)), np.ones((1, 3)), [[1.0, 0, 0], [1.0, 1, 0]], "must be orthonormal"),
    ],
)
def test_what_does_not_fit_is_refused(first, second, directions, message):
    with pytest.raises(ValueError, match=message):
        indirect_bias(first, second, directions)
