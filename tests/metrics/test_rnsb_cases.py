"""Tests of RNSB on many variants of a query at once."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from wefe._wordset import Nested, Ones, Weights, WordSet
from wefe.metrics import RNSB
from wefe.metrics._base import BaseMetric

EXACT = {
    "estimator": LogisticRegression,
    "estimator_params": {"solver": "liblinear", "tol": 1e-10, "max_iter": 10_000},
    "holdout": False,
}
SIZES = (4, 3, 5, 8, 8)


def sets(seed=0, dim=6):
    """Three target sets and two attribute sets."""
    rng = np.random.default_rng(seed)
    made = []
    for number, size in enumerate(SIZES):
        words = tuple(f"{number}_{word}" for word in range(size))
        vectors = rng.normal(size=(size, dim)) + 0.5 * (number == 3) - 0.5 * (number == 4)
        made.append(WordSet(f"set {number}", words, vectors, (), tuple(range(size))))
    return made[:3], made[3:]


def scores_of(targets, attributes, weights, formula=RNSB._scores, **params):
    """Score word sets with weights, by the formula or one case after the other."""
    parts = [part.weighted(own) for part, own in zip([*targets, *attributes], weights, strict=True)]
    metric = RNSB(**{"holdout": False, **params})
    return formula(metric, parts[: len(targets)], parts[len(targets) :])


def once():
    return [Ones(size) for size in SIZES]


def nested(size, sizes, n_runs=3, seed=0):
    rng = np.random.default_rng(seed)
    return Nested([rng.permutation(size) for _ in range(n_runs)], sizes)


def bootstrap(size, n_cases=6, seed=0):
    rng = np.random.default_rng(seed)
    return Weights(rng.multinomial(size, np.full(size, 1 / size), size=n_cases))


def leave_one_out(size):
    return Weights(1 - np.eye(size))


def varied(**changes):
    counts = once()
    for name, count in changes.items():
        counts[int(name[1:])] = count
    return counts


VARIED = {
    "nothing": varied(),
    "nested targets": varied(_0=nested(4, [1, 2, 4]), _2=nested(5, [1, 3, 5], seed=1)),
    "targets, drawn": varied(_1=bootstrap(3)),
    "nested attributes, from one word each": varied(
        _3=nested(8, [1, 2, 5, 8]), _4=nested(8, [1, 3, 5, 8], seed=1)
    ),
    "one attribute set": varied(_4=nested(8, [1, 4, 7])),
    "one case of a part": varied(_3=nested(8, [3], n_runs=1)),
    "attributes, drawn": varied(_3=bootstrap(8), _4=bootstrap(8, seed=1)),
    "attributes, one left out": varied(_3=leave_one_out(8)),
    "nested and drawn": varied(_3=nested(8, [2, 8]), _4=bootstrap(8)),
    "runs of different lengths": varied(
        _3=nested(8, [2, 8], n_runs=3), _4=nested(8, [2, 5, 8], n_runs=2)
    ),
    "all": varied(_0=bootstrap(4, seed=3), _3=nested(8, [2, 8]), _4=nested(8, [2, 6], seed=1)),
}


@pytest.mark.parametrize("name", VARIED)
def test_cases_are_those_of_one_fit_after_the_other(name):
    targets, attributes = sets()
    scores = scores_of(targets, attributes, VARIED[name])
    slow = scores_of(targets, attributes, VARIED[name], BaseMetric._scores, **EXACT)
    assert scores.shape == slow.shape
    np.testing.assert_allclose(scores, slow, atol=1e-6)
    assert len(scores) == 1 or np.ptp(scores) > 1e-3


def test_the_full_list_has_the_score_of_the_query(packaged_model):
    from wefe import Query
    from wefe.datasets import load_weat
    from wefe.embeddings import embed_query

    words = load_weat()
    names = ["swedish", "irish", "mexican", "chinese", "german"]
    query = Query([[name] for name in names], [words["pleasant_5"], words["unpleasant_5"]])
    parts = embed_query(packaged_model, query)
    lengths = [len(part) for part in parts.attributes]
    counts = [Ones(1)] * len(names) + [nested(n, [2, n // 2, n]) for n in lengths]
    scores = scores_of(parts.targets, parts.attributes, counts)
    exact = RNSB().run_query(
        query,
        packaged_model,
        estimator=LogisticRegression,
        estimator_params=EXACT["estimator_params"],
        holdout=False,
    )
    np.testing.assert_allclose(scores[2::3], exact["result"], atol=1e-7)
    documented = RNSB().run_query(query, packaged_model, holdout=False)
    np.testing.assert_allclose(scores[2::3], documented["result"], atol=1e-3)


def test_a_lacking_class_is_nan():
    targets, attributes = sets()
    counts = varied(_3=Weights([[1] * 8, [0] * 8, [2] * 8]))
    scores = scores_of(targets, attributes, counts)
    assert np.isnan(scores).tolist() == [False, True, False]
    of_targets = varied(_0=bootstrap(4, n_cases=2), _3=Weights([[0] * 8, [1] * 8]))
    scores = scores_of(targets, attributes, of_targets)
    assert np.isnan(scores).tolist() == [True, False]


def test_probabilities_that_are_all_zero_are_nan():
    targets, attributes = sets()
    far = [
        WordSet(part.name, part.words, 1e6 * attributes[0].vectors[: len(part)], (), ())
        for part in targets
    ]
    (score,) = scores_of(far, attributes, once())
    assert math.isnan(score)


@pytest.mark.parametrize(
    "changes",
    [
        {"holdout": True, "random_state": 3},
        {"estimator": LogisticRegression},
        {"estimator_params": {"C": 0.1}},
    ],
)
def test_other_classifiers_are_trained_for_each_case(changes):
    targets, attributes = sets()
    counts = varied(_3=nested(8, [4, 8], n_runs=2))
    params = {"holdout": False, **changes}
    scores = scores_of(targets, attributes, counts, **params)
    slow = scores_of(targets, attributes, counts, BaseMetric._scores, **params)
    assert scores.tolist() == slow.tolist()
