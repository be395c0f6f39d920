"""Embedding Coherence Test: Spearman's correlation, ties, and what is undefined."""

import math

import numpy as np
import pytest
from scipy import stats

from wefe.metrics import ECT

T1, T2, ATTRIBUTES = "she woman", "he man", "home kids boss job nurse pilot tree"


def ect(t1, t2, words):
    return ECT().run_vectors([t1, t2], [words])["ect"]


def by_scipy(t1, t2, a):
    rows = [np.mean(t1, axis=0), np.mean(t2, axis=0)], np.asarray(a)
    means, words = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in rows)
    return stats.spearmanr(words @ means.T)


@pytest.mark.parametrize(
    ("normalize", "expected", "p_value"),
    [(False, 0.6190476190476191, 0.101733), (True, 0.7619047619047621, 0.028005)],
)
def test_published_scores(normalize, expected, p_value, gender_family, word2vec):
    result = ECT().run_query(gender_family, word2vec, normalize=normalize)
    assert result["ect"] == pytest.approx(expected, abs=1e-12)
    sets = [word2vec.get_vectors(list(part.used)) for part in result.targets + result.attributes]
    if normalize:
        sets = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in sets]
    assert by_scipy(*sets).statistic == pytest.approx(expected, abs=1e-12)
    assert by_scipy(*sets).pvalue == pytest.approx(p_value, abs=1e-6)


def test_ties_share_the_mean_of_their_ranks_as_in_scipy(literal):
    # Coordinates along the axes give exact ties in every implementation.
    axes = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0]])
    t1, t2 = [[1.0, 0.5, 0.25]], [[0.25, 1.0, -0.5]]
    for seed in range(30):
        rng = np.random.default_rng(seed)
        words = axes[[0, 1, *rng.integers(0, 4, rng.integers(1, 10))]]
        expected = by_scipy(t1, t2, words).statistic
        assert ect(t1, t2, words) == pytest.approx(expected, abs=1e-12)
        assert literal.ect(t1, t2, words) == pytest.approx(expected, abs=1e-12)
    assert math.isnan(ect(t1, t2, axes[[0, 0, 0]]))


@pytest.mark.parametrize("seed", range(10))
def test_words_of_one_direction_tie_although_rounding_tells_them_apart(seed):
    t1, t2, a = np.split(np.random.default_rng(seed).normal(size=(6, 7)), [1, 2])
    repeated = a[[0, 0, 1, 2, 3]]
    longer = repeated * np.array([[1.0], [1 / 3], [1.0], [1.0], [1.0]])
    assert ect(t1, t2, longer) == pytest.approx(ect(t1, t2, repeated), abs=1e-12)


SHE, HE = [[1.0, 0.1, 0.2]], [[-0.9, 0.3, 0.2]]


@pytest.mark.parametrize(
    ("t1", "words", "reason"),
    [
        (SHE, [[1.0, 1.0, 0.0]], "two or more attribute words; 'Attribute set 0' has one left"),
        # Of one direction, although they differ in rounding.
        (SHE, np.outer([1.0, 1 / 3, 7.0, 0.1], [0.3, 0.7, -0.2]), "are equally similar"),
        ([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], np.eye(3), "or its mean is zero"),
    ],
)
def test_what_has_no_correlation_is_nan_with_a_reason(t1, words, reason, named):
    query, model = named([t1, HE], [words])
    result = ECT().run_query(query, model)
    assert math.isnan(result["ect"])
    assert reason in result.nan_reason
