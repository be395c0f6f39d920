"""Generalized WEAT: pairing by position, WEAT as the case of two sets, bounds."""

import math

import numpy as np
import pytest

from wefe.metrics import GeneralizedWEAT, association

TARGETS, ATTRIBUTES = ["she woman", "he man", "they folk"], ["home kids", "boss job", "nurse tree"]


@pytest.mark.parametrize(("n", "expected"), [(2, 0.837772), (3, 0.455752)])
def test_toy_scores(n, expected, toy):
    result = toy(GeneralizedWEAT, TARGETS[:n], ATTRIBUTES[:n])
    assert result["gweat"] == pytest.approx(expected, abs=1e-6)


def test_published_score(gender_family_career, word2vec):
    result = GeneralizedWEAT().run_query(gender_family_career, word2vec)
    # That of WEAT over 16.
    assert result["gweat"] == pytest.approx(0.46343882 / 16, abs=1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_two_sets_give_half_the_difference_of_mean_associations(seed):
    rng = np.random.default_rng(seed)
    x, y, a, b = (rng.normal(0.2, 1, (n, 5)) for n in rng.integers(1, 5, 4))
    expected = (association(x, a, b).mean() - association(y, a, b).mean()) / 2
    result = GeneralizedWEAT().run_vectors([x, y], [a, b])
    assert result["gweat"] == pytest.approx(expected, abs=1e-12)


def test_as_many_attribute_sets_as_target_sets_are_needed(query_of, toy):
    assert not GeneralizedWEAT().accepts(query_of(TARGETS[:1], ATTRIBUTES[:1]))
    query = query_of(TARGETS, ATTRIBUTES)
    assert GeneralizedWEAT().accepts(query)
    assert GeneralizedWEAT().scale(query).value_range == (-3.0, 3.0)
    assert GeneralizedWEAT().scale().value_range == (-math.inf, math.inf)
    with pytest.raises(ValueError, match="has 3 and 2"):
        toy(GeneralizedWEAT, TARGETS, ATTRIBUTES[:2])
