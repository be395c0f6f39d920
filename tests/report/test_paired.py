"""The sign-flip permutation test: a worked example, that of scipy, and random patterns."""

import numpy as np
import pytest
from scipy.stats import permutation_test

from wefe.report._scores import sign_flip_p_value


def of_scipy(differences):
    """The same test with every pattern of signs, by scipy."""
    found = permutation_test((differences,), np.sum, permutation_type="samples", n_resamples=np.inf)
    return found.pvalue


def test_a_worked_example():
    # 1 + 2 + 3 = 6 is reached by +++ and ---; 1 - 2 + 3 = 2 by all but +-- 4, -++ 4, ... below 2.
    assert sign_flip_p_value([1, 2, 3]) == 2 / 8
    assert sign_flip_p_value([1, -2, 3]) == 6 / 8
    assert sign_flip_p_value([]) == sign_flip_p_value([0.0, 0.0]) == 1
    assert sign_flip_p_value([0.1 + 0.2, -0.3]) == 1  # but for rounding, they cancel


@pytest.mark.parametrize("n", range(2, 11))
def test_it_counts_what_scipy_counts(n):
    generator = np.random.default_rng(n)
    for differences in (generator.normal(0.5, 1, n), generator.integers(-2, 3, n)):
        expected = of_scipy(differences)
        assert sign_flip_p_value(differences.tolist()) == pytest.approx(expected)


def test_random_patterns_come_close_to_all_of_them_and_are_the_same_again():
    differences = np.random.default_rng(0).normal(0.4, 1, 17).tolist()
    found = sign_flip_p_value(differences)
    assert found == sign_flip_p_value(differences)
    # Four standard errors of 9,999 draws.
    exact = of_scipy(differences)
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9_999))
    assert sign_flip_p_value([1.0] * 40) == 1 / 10_000
