"""Permutation test of WEAT: worked examples, slow literal versions, theorems."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe.metrics import _split_counting
from wefe.metrics._permutation import permutation_test

ALTERNATIVES = ("greater", "less", "two-sided")
# Associations of she, woman and he, man of the toy model with home, kids and boss, job.
TOY_X, TOY_Y = [0.884021, 0.881211], [-0.942908, -0.642947]


def count_of_small_integers(values, size, threshold):
    """Subsets of non-negative integers that reach a threshold, exact for any number of values.

    ``rows[k]`` is the polynomial whose coefficient at ``sum`` counts the subsets of k values,
    packed into one Python integer with a fixed number of bits for each coefficient.
    """
    bits = math.comb(len(values), size).bit_length()
    rows = [1] + [0] * size
    for i, value in enumerate(values):
        for k in range(min(i + 1, size), 0, -1):
            rows[k] += rows[k - 1] << (bits * int(value))
    coefficients = rows[size] >> (bits * threshold)
    mask, count = (1 << bits) - 1, 0
    for position in range(0, coefficients.bit_length(), bits):
        count += (coefficients >> position) & mask
    return count


def drawn(n_x, n_y, shift=0.1, seed=None):
    rng = np.random.default_rng(n_x if seed is None else seed)
    return rng.normal(shift, 0.3, n_x), rng.normal(0.0, 0.3, n_y)


def exact(x, y, alternative="greater"):
    return permutation_test(x, y, method="exact", alternative=alternative)


def at_random(x, y, n_iterations, alternative="greater", random_state=0):
    return permutation_test(
        x, y, alternative=alternative, n_iterations=n_iterations, random_state=random_state
    )


small_sets = st.lists(
    st.one_of(
        st.floats(-2, 2, allow_subnormal=False),
        # Heavy ties, of decimals that binary fractions cannot represent.
        st.sampled_from([-0.3, -0.1, 0.0, 0.1, 0.2, 0.3, 0.7]),
    ),
    min_size=1,
    max_size=5,
)


# Comparing with the signed statistic, as WEFE 1.0.1 did, gives 1 for a negative one.
@pytest.mark.parametrize(
    ("x", "y", "alternative", "expected"),
    [
        (TOY_X, TOY_Y, "greater", 1 / 6),
        (TOY_X, TOY_Y, "two-sided", 1 / 3),
        (TOY_Y, TOY_X, "two-sided", 1 / 3),
        # Splits with 0.3 and 0.1 on one side: 0.1 occurs twice. In floats 0.1 + 0.2 != 0.3.
        ([0.3, 0.1], [0.1, 0.0], "greater", 2 / 6),
        ([0.1, 0.2], [0.3, 0.0], "greater", 4 / 6),
        # The split with both nearly equal words exchanged has a slightly smaller statistic.
        ([0.1 + 0.2, 0.01234567], [0.3, 0.07654321], "greater", 5 / 6),
        ([0.1 + 0.2, 0.3], [0.3, 0.3], "greater", 1.0),
        # Where floats end.
        ([1.0] * 600, [0.0] * 600, "greater", math.ulp(0.0)),
    ],
)
def test_worked_examples(x, y, alternative, expected):
    test = exact(x, y, alternative)
    assert (test.method, test.p_value) == ("exact", expected)
    assert test.statistic == pytest.approx(sum(x) - sum(y))
    assert test.n_splits == math.comb(len(x) + len(y), len(x))


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("method", ["exact", "approximate"])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e-300, 1e-8])
def test_identical_values_give_p_one(alternative, method, value):
    test = permutation_test([value] * 40, [value] * 30, alternative=alternative, method=method)
    assert test.p_value == 1.0


@pytest.mark.parametrize(("n_x", "n_y"), [(8, 8), (32, 32), (8, 56), (100, 100)])
def test_perfect_separation_leaves_one_split(n_x, n_y):
    rng = np.random.default_rng(3)
    x, y = rng.normal(1, 0.1, n_x), rng.normal(-1, 0.1, n_y)
    assert exact(x, y).method == "exact"
    assert exact(x, y).p_value == 1 / math.comb(n_x + n_y, n_x)
    assert exact(x, y, "two-sided").p_value == (1 + (n_x == n_y)) / math.comb(n_x + n_y, n_x)
    assert exact(y, x).p_value == 1.0


# Slow literal versions


@settings(max_examples=150, deadline=None)
@given(x=small_sets, y=small_sets, alternative=st.sampled_from(ALTERNATIVES))
def test_exact_p_equals_listing_all_splits(literal, x, y, alternative):
    test = exact(x, y, alternative)
    assert test.method == "exact"
    assert test.p_value == literal.p_value(x, y, alternative)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("deviation", [-2.0, 0.0, 4.5])
@pytest.mark.parametrize(("n", "size"), [(50, 25), (51, 26), (64, 56), (120, 60)])
def test_bounds_contain_the_exact_count(n, size, deviation, mirrored):
    # Noise too small to carry a sum across the threshold, but too large for two values to be equal:
    # the count is that of the small integers, which the algorithm under test does not get to see.
    rng = np.random.default_rng(n + size)
    small, coarse = rng.integers(0, 40, n), 10**9
    values = coarse * small + rng.integers(-(10**6), 10**6, n)
    spread = small.std() * math.sqrt(size * (n - size) / n)
    threshold = int(size * small.mean() + deviation * spread)
    count, limit = (
        count_of_small_integers(small, size, threshold),
        coarse * threshold - coarse // 2,
    )
    if mirrored:
        values, limit, count = -values, 1 - limit, math.comb(n, size) - count
    lower, upper = _split_counting.count_at_least(values, size, limit)
    assert lower <= count <= upper
    for cells in (10**3, 10**5) if 2 * size <= n else ():
        lower, upper = _split_counting._bound_on_grid(np.sort(values), size, limit, cells)
        assert lower <= count <= upper


@pytest.mark.parametrize("seed", range(20))
def test_grid_and_halves_agree_at_every_resolution(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 33))
    size = int(rng.integers(1, n // 2 + 1))
    values = np.sort(rng.integers(-(10**4), 10**4, n) ** int(rng.integers(1, 3)))
    threshold = int(rng.permutation(values)[:size].sum())
    count = _split_counting._count_by_halves(values, size, threshold)
    for cells in (1, 10**3, 10**5):
        lower, upper = _split_counting._bound_on_grid(values, size, threshold, cells)
        assert lower <= count <= upper
    complete = _split_counting._grid_extent(values, size)
    if complete < 10**7:
        bounds = _split_counting._bound_on_grid(values, size, threshold, complete)
        assert bounds == (count, count)


# Properties


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("n_x", "n_y"), [(600, 600), (700, 500)])
def test_sets_beyond_every_exact_method_get_random_splits(n_x, n_y, alternative):
    """Bounds of 0 and 1 are true and useless: a p-value of 1 would hide any difference."""
    x, y = drawn(n_x, n_y, 0.6)
    test = permutation_test(
        x, y, alternative=alternative, method="exact", n_iterations=500, random_state=0
    )
    assert (test.method, test.n_splits) == ("approximate", 500)
    assert test.p_value == (1.0 if alternative == "less" else 1 / 501)
    assert test == at_random(x, y, 500, alternative)


# Random splits


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("n_x", "n_y"), [(8, 8), (4, 10), (32, 32)])
def test_random_splits_agree_with_the_exact_p(n_x, n_y, alternative):
    x, y = drawn(n_x, n_y)
    lower, upper = exact(x, y, alternative).p_value_bounds
    test = at_random(x, y, 40_000, alternative, 7)
    sigma = math.sqrt(upper * (1 - lower) / 40_000)
    assert lower - 4 * sigma <= test.p_value <= upper + 4 * sigma
    assert test.p_value_bounds[0] < test.p_value < test.p_value_bounds[1]
    assert (test.method, test.n_splits) == ("approximate", 40_000)


def test_same_seed_gives_the_same_p():
    x, y = drawn(8, 8)

    def p(random_state):
        return at_random(x, y, 2_000, random_state=random_state).p_value

    assert p(5) == p(5) == p(np.int64(5))
    assert len({p(seed) for seed in range(10)}) > 1
    generator = np.random.default_rng(5)
    assert len({p(generator) for _ in range(5)}) > 1
