"""The sign-flip permutation test: a worked example, a literal version, what must not matter."""

import itertools

import numpy as np
import pytest

from wefe.report._paired import sign_flip_p_value


def literal(differences):
    """Try every pattern of signs, one after the other."""
    observed = abs(sum(differences))
    patterns = list(itertools.product((1, -1), repeat=len(differences)))
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in patterns
    ]
    return sum(each >= observed - 1e-9 for each in sums) / len(patterns)


def test_a_worked_example():
    # 1 + 2 + 3 = 6 is reached by +++ and ---; 1 - 2 + 3 = 2 by all but +-- 4, -++ 4, ... below 2.
    assert sign_flip_p_value([1, 2, 3]) == 2 / 8
    assert sign_flip_p_value([1, -2, 3]) == 6 / 8
    assert sign_flip_p_value([1] * 6) == 2 / 64


@pytest.mark.parametrize("n", range(1, 11))
def test_it_counts_what_a_literal_version_counts(n):
    generator = np.random.default_rng(n)
    for differences in (generator.normal(0.5, 1, n), generator.integers(-2, 3, n)):
        assert sign_flip_p_value(differences.tolist()) == literal(differences.tolist())


def test_no_difference_is_no_evidence():
    assert sign_flip_p_value([]) == 1
    assert sign_flip_p_value([0.0, 0.0]) == 1
    assert sign_flip_p_value([0.1 + 0.2, -0.3]) == 1  # but for rounding, they cancel


def test_random_patterns_come_close_to_all_of_them_and_are_the_same_again():
    differences = np.random.default_rng(0).normal(0.4, 1, 17).tolist()
    found = sign_flip_p_value(differences)
    assert found == sign_flip_p_value(differences)
    assert found != sign_flip_p_value(differences, random_state=1)
    # Four standard errors of 9,999 draws.
    exact = literal(differences)
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9_999))
    assert sign_flip_p_value([1.0] * 40) == 1 / 10_000
