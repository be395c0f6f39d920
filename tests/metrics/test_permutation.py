"""Permutation test of WEAT: worked examples, slow literal versions, theorems."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from wefe.metrics import _split_counting
from wefe.metrics._permutation import permutation_test

ALTERNATIVES = ("greater", "less", "two-sided")
# The toy model of tests/conftest.py, with A = home, kids and B = boss, job.
ATTRIBUTES_A = [[0.6, 0.9, 0.3], [0.4, 0.7, -0.2]]
ATTRIBUTES_B = [[-0.3, 0.8, 0.6], [-0.5, 0.6, 0.4]]
SHE_WOMAN = [[1.0, 0.2, 0.1], [0.8, 0.4, 0.0]]
HE_MAN = [[-0.9, 0.3, 0.2], [-0.7, 0.5, -0.1]]
NURSE, PILOT = [0.5, 0.1, 0.8], [-0.4, 0.2, 0.7]


def toy_associations(words):
    w, a, b = (
        np.array(vectors) / np.linalg.norm(vectors, axis=1, keepdims=True)
        for vectors in (words, ATTRIBUTES_A, ATTRIBUTES_B)
    )
    return (w @ a.T).mean(axis=1) - (w @ b.T).mean(axis=1)


TOY_X, TOY_Y = toy_associations(SHE_WOMAN), toy_associations(HE_MAN)


def literal_p(x, y, alternative):
    """List every split, as the definition says."""
    pool = [*x, *y]
    observed = math.fsum(x) / len(x) - math.fsum(y) / len(y)
    # The largest difference of two sums that is a tie, in units of a difference of means.
    tolerance = 0.5e-12 * max(1.0, abs(math.fsum(x) - math.fsum(y))) * (1 / len(x) + 1 / len(y))
    hits = total = 0
    for chosen in itertools.combinations(range(len(pool)), len(x)):
        first = math.fsum(pool[i] for i in chosen)
        statistic = first / len(x) - (math.fsum(pool) - first) / len(y)
        total += 1
        hits += {
            "greater": statistic >= observed - tolerance,
            "less": statistic <= observed + tolerance,
            "two-sided": abs(statistic) >= abs(observed) - tolerance,
        }[alternative]
    return hits / total


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


def words(rng, n_x, n_y, shift=0.1):
    return rng.normal(shift, 0.3, n_x), rng.normal(0.0, 0.3, n_y)


small_sets = st.lists(
    st.one_of(
        st.floats(-2, 2, allow_subnormal=False),
        # Heavy ties, of decimals that binary fractions cannot represent.
        st.sampled_from([-0.3, -0.1, 0.0, 0.1, 0.2, 0.3, 0.7]),
    ),
    min_size=1,
    max_size=5,
)


# Worked examples


def test_toy_query_has_the_published_p_values():
    test = permutation_test(TOY_X, TOY_Y, method="exact")
    assert test.statistic == pytest.approx(3.351087, abs=1e-6)
    assert (test.p_value, test.method, test.n_splits) == (1 / 6, "exact", 6)
    assert permutation_test(TOY_X, TOY_Y, method="exact", alternative="two-sided").p_value == 1 / 3


def test_two_sided_compares_with_the_size_of_a_negative_statistic():
    # Comparing with the signed S, as WEFE 1.0.1 did, gives 1.
    assert permutation_test(TOY_Y, TOY_X, method="exact", alternative="two-sided").p_value == 1 / 3


def test_exact_p_counts_ties():
    # Splits with 0.3 and 0.1 on one side: 0.1 occurs twice. In floats 0.1 + 0.2 != 0.3.
    assert permutation_test([0.3, 0.1], [0.1, 0.0], method="exact").p_value == 2 / 6
    assert permutation_test([0.1, 0.2], [0.3, 0.0], method="exact").p_value == 4 / 6


def test_associations_that_differ_in_the_last_digits_are_ties():
    noisy = 0.1 + 0.2  # 0.30000000000000004
    # The split with both nearly equal words exchanged has a slightly smaller statistic.
    test = permutation_test([noisy, 0.01234567], [0.3, 0.07654321], method="exact")
    assert test.p_value == 5 / 6
    assert permutation_test([noisy, 0.3], [0.3, 0.3], method="exact").p_value == 1.0


def test_word_in_both_sets_counts_twice():
    assert permutation_test([0.3, 0.1], [0.3, -0.2], method="exact").n_splits == 6


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("method", ["exact", "approximate"])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e-300, 1e-8])
def test_identical_values_give_p_one(alternative, method, value):
    test = permutation_test([value] * 40, [value] * 30, alternative=alternative, method=method)
    assert test.p_value == 1.0


@pytest.mark.parametrize(("n_x", "n_y"), [(8, 8), (25, 25), (32, 32), (8, 56), (100, 100)])
def test_perfect_separation_leaves_one_split(n_x, n_y):
    rng = np.random.default_rng(3)
    x, y = rng.normal(1, 0.1, n_x), rng.normal(-1, 0.1, n_y)
    test = permutation_test(x, y, method="exact")
    assert test.method == "exact"
    assert test.p_value == 1 / math.comb(n_x + n_y, n_x)
    two_sided = permutation_test(x, y, method="exact", alternative="two-sided")
    assert two_sided.p_value == (2 if n_x == n_y else 1) / math.comb(n_x + n_y, n_x)
    assert permutation_test(y, x, method="exact").p_value == 1.0


def test_p_is_positive_even_where_floats_end():
    test = permutation_test([1.0] * 600, [0.0] * 600, method="exact")
    assert test.method == "exact"
    assert test.p_value == math.ulp(0.0)


# Slow literal versions


@settings(max_examples=150, deadline=None)
@given(x=small_sets, y=small_sets, alternative=st.sampled_from(ALTERNATIVES))
def test_exact_p_equals_listing_all_splits(x, y, alternative):
    test = permutation_test(x, y, method="exact", alternative=alternative)
    assert test.method == "exact"
    assert test.p_value == literal_p(x, y, alternative)


# SciPy's two-sided p-value doubles the smaller tail, which is ours only for equal sizes.
@pytest.mark.parametrize(
    ("n_x", "n_y", "alternative"),
    [
        *itertools.product([5], [5], ALTERNATIVES),
        *itertools.product([3, 6], [7, 2], ["greater", "less"]),
    ],
)
def test_exact_p_agrees_with_scipy(n_x, n_y, alternative):
    x, y = words(np.random.default_rng(n_x), n_x, n_y)
    theirs = stats.permutation_test(
        (x, y),
        lambda a, b, axis: a.sum(axis) - b.sum(axis),
        alternative=alternative,
        n_resamples=np.inf,
        vectorized=True,
    )
    ours = permutation_test(x, y, alternative=alternative, method="exact")
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-12)
    assert ours.statistic == pytest.approx(theirs.statistic)


@pytest.mark.parametrize(("n_x", "n_y"), [(25, 25), (32, 32), (8, 56)])
def test_rounded_associations_are_counted_exactly(n_x, n_y):
    rng = np.random.default_rng(n_x)
    x, y = rng.integers(0, 80, n_x), rng.integers(0, 70, n_y)
    hits = count_of_small_integers([*x, *y], n_x, int(x.sum()))
    test = permutation_test((x - 35) * 0.01, (y - 35) * 0.01, method="exact")
    assert test.method == "exact"
    assert test.p_value == hits / math.comb(n_x + n_y, n_x)


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("deviation", [-2.0, 0.0, 4.5])
@pytest.mark.parametrize(("n", "size"), [(50, 25), (50, 26), (64, 32), (64, 56), (200, 100)])
def test_bounds_contain_the_exact_count(n, size, deviation, direction):
    # Noise too small to carry a sum across the threshold, but too large for two values to be equal:
    # the count is that of the small integers, which the algorithm under test does not get to see.
    rng = np.random.default_rng(n + size)
    small = rng.integers(0, 40, n)
    coarse = 10**9
    values = coarse * small + rng.integers(-(10**6), 10**6, n)
    spread = small.std() * math.sqrt(size * (n - size) / n)
    threshold = int(size * small.mean() + deviation * spread)
    exact = count_of_small_integers(small, size, threshold)
    if direction == 1:
        limit = coarse * threshold - coarse // 2
    else:
        # The same question about the mirrored values.
        values, limit = -values, -(coarse * threshold - coarse // 2) + 1
        exact = math.comb(n, size) - exact
    lower, upper = _split_counting.count_at_least(values, size, limit, relative_gap=0.01)
    assert lower <= exact <= upper
    for cells in (10**3, 10**5):
        lower, upper = _split_counting._bound_on_grid(np.sort(values), size, limit, cells)
        assert lower <= exact <= upper


@pytest.mark.parametrize("seed", range(20))
def test_grid_and_halves_agree_at_every_resolution(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 33))
    size = int(rng.integers(1, n))
    values = np.sort(rng.integers(-(10**4), 10**4, n) ** int(rng.integers(1, 3)))
    threshold = int(rng.permutation(values)[:size].sum())
    exact = _split_counting._count_by_halves(values, size, threshold, 2**21)
    for cells in (1, 10**3, 10**5):
        lower, upper = _split_counting._bound_on_grid(values, size, threshold, cells)
        assert lower <= exact <= upper
    complete = _split_counting._grid_extent(values, size)
    if complete < 10**7:
        bounds = _split_counting._bound_on_grid(values, size, threshold, complete)
        assert bounds == (exact, exact)


def test_halves_give_up_instead_of_growing():
    values = np.sort(np.random.default_rng(0).integers(0, 2**50, 30))
    middle = int(values.sum()) // 2
    assert _split_counting._count_by_halves(values, 15, middle, max_states=1000) is None


def test_float_counts_widen_the_bounds_by_their_rounding_error():
    # 70 values: more than 2**63 subsets. On a complete grid only the rounding of floats remains.
    small = np.random.default_rng(5).integers(0, 50, 70)
    threshold = int(small.sum()) // 2
    exact = count_of_small_integers(small, 35, threshold)
    lower, upper = _split_counting._bound_on_grid(np.sort(small), 35, threshold, 10**7)
    assert lower < exact < upper
    assert upper - lower < 1e-9 * exact


# Properties


@pytest.mark.parametrize(("n_x", "n_y"), [(4, 4), (3, 9), (25, 25), (26, 24), (8, 56), (32, 32)])
def test_swapping_the_sets_exchanges_greater_and_less(n_x, n_y):
    x, y = words(np.random.default_rng(n_x), n_x, n_y)

    def p(first, second, alternative):
        return permutation_test(first, second, alternative=alternative, method="exact").p_value

    assert p(x, y, "greater") == p(y, x, "less")
    assert p(x, y, "less") == p(y, x, "greater")
    assert p(x, y, "two-sided") == p(y, x, "two-sided")


@pytest.mark.parametrize("n", [25, 32])
def test_bounds_are_within_one_per_cent_from_half_to_1e_12(n):
    rng = np.random.default_rng(n)
    found = []
    for shift in np.linspace(0.0, 0.8, 9):
        x, y = rng.normal(shift, 0.3, n), rng.normal(0, 0.3, n)
        test = permutation_test(x, y, method="exact")
        lower, upper = test.p_value_bounds
        assert 0 < lower <= upper == test.p_value <= 1
        assert upper - lower <= 0.01 * upper
        assert test.method == ("exact" if lower == upper else "bounds")
        found.append(upper)
    # The shifts do span the range that the name of this test promises.
    assert max(found) > 0.1
    assert min(found) < 1e-10


@pytest.mark.parametrize(("n_x", "n_y"), [(8, 56), (20, 44), (26, 24), (64, 64)])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_bounds_are_within_one_per_cent_for_other_sizes(n_x, n_y, alternative):
    x, y = words(np.random.default_rng(n_x), n_x, n_y, shift=0.15)
    lower, upper = permutation_test(x, y, alternative=alternative, method="exact").p_value_bounds
    assert upper - lower <= 0.01 * upper


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("n_x", "n_y"), [(600, 600), (700, 500)])
def test_sets_beyond_every_exact_method_get_random_splits(n_x, n_y, alternative):
    """Bounds of 0 and 1 are true and useless: a p-value of 1 would hide any difference."""
    x, y = words(np.random.default_rng(1), n_x, n_y)
    test = permutation_test(
        x + 0.5, y, alternative=alternative, method="exact", n_iterations=500, random_state=0
    )
    assert (test.method, test.n_splits) == ("approximate", 500)
    assert test.p_value == (1.0 if alternative == "less" else 1 / 501)
    assert test == permutation_test(
        x + 0.5, y, alternative=alternative, n_iterations=500, random_state=0
    )


# Random splits


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("n_x", "n_y"), [(8, 8), (4, 10), (32, 32)])
def test_random_splits_agree_with_the_exact_p(n_x, n_y, alternative):
    x, y = words(np.random.default_rng(n_x), n_x, n_y)
    lower, upper = permutation_test(x, y, alternative=alternative, method="exact").p_value_bounds
    random = permutation_test(x, y, alternative=alternative, n_iterations=40_000, random_state=7)
    sigma = math.sqrt(upper * (1 - lower) / 40_000)
    assert lower - 4 * sigma <= random.p_value <= upper + 4 * sigma
    assert random.p_value_bounds[0] < random.p_value < random.p_value_bounds[1]
    assert (random.method, random.n_splits) == ("approximate", 40_000)


def test_random_splits_are_drawn_without_replacement():
    # 0.27 with replacement.
    test = permutation_test([1.0, 0.0], [0.0, 0.0], n_iterations=5_000, random_state=0)
    assert test.p_value == pytest.approx(1 / 2, abs=0.03)


def test_random_p_counts_the_observed_split():
    x, y = np.linspace(1, 2, 20), np.linspace(-2, -1, 20)
    assert permutation_test(x, y, n_iterations=99, random_state=0).p_value == 0.01


def test_random_splits_count_ties():
    test = permutation_test([0.1, 0.2], [0.3, 0.0], n_iterations=5_000, random_state=0)
    assert test.p_value == pytest.approx(4 / 6, abs=0.03)


def test_same_seed_gives_the_same_p():
    x, y = words(np.random.default_rng(0), 8, 8)

    def p(random_state):
        return permutation_test(x, y, n_iterations=2_000, random_state=random_state).p_value

    assert p(5) == p(5) == p(np.int64(5)) == p(np.random.default_rng(5))
    assert len({p(seed) for seed in range(10)}) > 1
    generator = np.random.default_rng(5)
    assert len({p(generator) for _ in range(5)}) > 1


def test_many_random_splits_need_little_memory():
    x, y = words(np.random.default_rng(0), 32, 32)
    tracemalloc.start()
    try:
        permutation_test(x, y, n_iterations=100_000, random_state=0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # All splits at once would take 51 MB.
    assert peak < 25e6


# Wrong arguments


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ([], ValueError, r"x must have shape \(n_words,\), with at least one number; got \(0,\)"),
        ([[0.1, 0.2]], ValueError, r"x must have shape \(n_words,\).*\(1, 2\)"),
        ([0.1, np.nan], ValueError, "x: row 1 holds NaN or infinity"),
        ([0.1, np.inf], ValueError, "x: row 1 holds NaN or infinity"),
        ([1e308, 1e308], ValueError, "x must hold associations, from -2 to 2; their sum is inf"),
        (["he", "him"], TypeError, r"x must be an array of real numbers.*; got list \['he'"),
        ([1j], TypeError, "x must be an array of real numbers"),
        ([True, False], TypeError, "x must be an array of real numbers"),
    ],
)
def test_wrong_associations_are_refused(x, error, message):
    with pytest.raises(error, match=message):
        permutation_test(x, [0.1])
    with pytest.raises(error, match=message.replace("x", "y", 1)):
        permutation_test([0.1], x)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alternative": "bigger"}, ValueError, "alternative must be one of 'greater', 'less'"),
        ({"method": "bootstrap"}, ValueError, "method must be one of 'approximate', 'exact'"),
        (
            {"n_iterations": 0},
            ValueError,
            "n_iterations must be an integer of at least 1; got int 0",
        ),
        (
            {"n_iterations": 10.0},
            TypeError,
            "n_iterations must be an integer of at least 1; got float 10.0",
        ),
        (
            {"n_iterations": True},
            TypeError,
            "n_iterations must be an integer of at least 1; got bool True",
        ),
        (
            {"random_state": -1},
            ValueError,
            "random_state must be an integer from 0 .*; got int -1",
        ),
        ({"random_state": "42"}, TypeError, "random_state must be an integer"),
        ({"relative_gap": 1}, ValueError, "relative_gap must be below 1"),
        ({"relative_gap": math.nan}, ValueError, "relative_gap is a share between 0 and 1"),
        (
            {"relative_gap": "1%"},
            TypeError,
            "relative_gap must be a number between 0 and 1; got str '1%'",
        ),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        permutation_test(TOY_X, TOY_Y, **options)
