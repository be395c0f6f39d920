"""Cosines, associations, correlations and ranks."""

import itertools

import numpy as np
import pytest
from scipy import stats

from wefe._wordset import Ones, Weights, WordSet
from wefe.metrics import association
from wefe.metrics._geometry import average_ranks, pearson, spearman
from wefe.metrics._permutation import deletion_groups, jackknife_error


def mean_unit(vectors):
    return WordSet("words", (), vectors).mean_unit()[0]


def test_association_of_toy_words(vectors):
    words = vectors("she woman he man nurse pilot tree")
    expected = [0.884021, 0.881211, -0.942908, -0.642947, 0.080541, -0.850664, -0.406032]
    found = association(words, vectors("home kids"), vectors("boss job"))
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_ranks_and_correlation_agree_with_scipy(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-3, 4, rng.integers(1, 21))
    assert average_ranks(numbers).tolist() == stats.rankdata(numbers).tolist()
    x, y = rng.normal(size=(2, 12))
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)


def test_average_ranks_tie_within_a_tolerance():
    x = np.array([0.3, 0.1 + 0.2, 1.0, 0.0])
    assert average_ranks(x).tolist() == [2.0, 3.0, 4.0, 1.0]
    assert average_ranks(x, tolerance=1e-12).tolist() == [2.5, 2.5, 4.0, 1.0]


def test_correlation_with_nan_is_nan():
    x, y = np.array([[1.0, 3, 2]]), np.array([[1.0, np.nan, 3]])
    assert spearman(x, x, Ones(3)) == [1.0]
    assert np.isnan([spearman(x, y, Ones(3)), spearman(y, x, Ones(3))]).all()


def test_resamples_without_rank_correlation_are_exactly_zero():
    # Intervals count the resamples on either side of the score.
    x, y = np.array([[4.0, 1, 3, 0, 2]]), np.array([[2.0, 0, 3, 4, 1]])
    assert spearman(x, y, Weights([[1.0, 2, 3, 2, 3]])) == [0.0]


def test_words_are_left_out_one_by_one_up_to_twenty():
    for n, sizes in ((1, []), (20, [1] * 20), (22, [2, 2] + [1] * 18)):
        groups = deletion_groups(n)
        assert [len(group) for group in groups] == sizes
        assert sorted(itertools.chain(*groups)) == [*range(n)] * bool(sizes)
    assert jackknife_error([[1.0, 3.0], [2.0, 2.0]]) == 1.0
    assert np.isnan(jackknife_error([[1.0, 3.0], [2.0]]))


@pytest.mark.parametrize(
    ("w", "a", "message"),
    [
        ([[1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]], "a: row 1 is a zero vector"),
        # It would become a zero vector, and its association 0.
        ([[1e200, 0.0]], [[1.0, 0.0]], "w: row 0 is so long"),
    ],
)
def test_vectors_without_a_direction_are_refused_by_row(w, a, message):
    with pytest.raises(ValueError, match=message):
        association(w, a, [[0.0, 1.0]])
