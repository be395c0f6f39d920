"""Many variants of a query at once: every fast form agrees with one call for each."""

import math

import numpy as np
import pytest

from wefe import WordEmbeddingModel
from wefe.embeddings import EmbeddedSet
from wefe.metrics import (
    ECT,
    MAC,
    RIPA,
    RND,
    SAME,
    SCWEAT,
    WEAT,
    DirectBias,
    GeneralizedWEAT,
    ect,
    mac,
    rnd,
    same,
    weat,
    weat_effect_size,
)
from wefe.metrics._base import BaseMetric, case_of, picked, without_losses
from wefe.metrics._geometry import distances, unit_rows
from wefe.metrics._word_counts import Counts, Nested, Once, n_cases_of

WEAT_PARAMS = {
    "calculate_p_value": False,
    "alternative": "greater",
    "p_value_method": "approximate",
    "p_value_iterations": 10,
    "p_value_verbose": False,
    "random_state": None,
}

SC_WEAT_PARAMS = {name: value for name, value in WEAT_PARAMS.items() if name != "p_value_verbose"}

# Metric, numbers of target and attribute sets, parameters of _compute.
VARIANTS = [
    *[
        (WEAT, (2, 2), {**WEAT_PARAMS, "return_effect_size": effect_size, "ddof": ddof})
        for effect_size in (False, True)
        for ddof in (0, 1)
    ],
    *[
        (SCWEAT, (1, 2), {**SC_WEAT_PARAMS, "reduce": reduce, "ddof": ddof})
        for reduce, ddof in (("mean", 0), ("mean_abs", 0), ("mean", 1))
    ],
    (ECT, (2, 1), {}),
    (MAC, (2, 3), {"average": "sets"}),
    (MAC, (2, 3), {"average": "words"}),
    (MAC, (3, 1), {"average": "words"}),
    *[
        (RND, (2, 1), {"distance": distance, "reduce": reduce})
        for distance in ("norm", "cos", "cos_distance")
        for reduce in ("mean", "sum")
    ],
    (SAME, (2, 1), {"combine": "sum"}),
    (SAME, (3, 1), {"combine": "projection"}),
    (GeneralizedWEAT, (2, 2), {}),
    (GeneralizedWEAT, (3, 3), {}),
    (RIPA, (2, 1), {"relation": "pairs"}),
    (RIPA, (2, 1), {"relation": "pca"}),
    (DirectBias, (2, 1), {"c": 1.0, "n_components": 1, "direction": "pca"}),
    (DirectBias, (2, 1), {"c": 0.5, "n_components": 1, "direction": "means"}),
    (DirectBias, (3, 1), {"c": 2.0, "n_components": 2, "direction": "pca"}),
]


def rng(seed=0):
    return np.random.default_rng(seed)


def word_set(name, n_words, seed, dim=12):
    words = tuple(f"{name}{i}" for i in range(n_words))
    vectors = rng(seed).normal(size=(n_words, dim))
    return EmbeddedSet(name, words, vectors, (), tuple(range(n_words)))


TARGETS = [word_set(name, 7, seed) for seed, name in enumerate("abc")]
ATTRIBUTES = [word_set(name, 8 + seed, 10 + seed) for seed, name in enumerate("xyz")]


def orders(lengths, seed, *, together=False):
    return [
        np.stack([rng([seed, run, 0 if together else i]).permutation(n) for run in range(3)])
        for i, n in enumerate(lengths)
    ]


def grown(parts, seed, *, together=False):
    steps = np.arange(3, max(map(len, parts)) + 1)
    drawn = orders([len(part) for part in parts], seed, together=together)
    return [
        Nested(order, np.minimum(steps, len(part)))
        for order, part in zip(drawn, parts, strict=True)
    ]


def drawn(parts, seed, *, together=False, n_cases=9):
    generators = [rng([seed, 0 if together else i]) for i, _ in enumerate(parts)]
    return [
        Counts(g.multinomial(len(part), np.full(len(part), 1 / len(part)), size=n_cases))
        for g, part in zip(generators, parts, strict=True)
    ]


def left_out(parts):
    return [Counts(1 - np.eye(len(part))[:7]) for part in parts]


def whole(parts):
    return [Once(len(part)) for part in parts]


@pytest.mark.parametrize("kind", ["targets", "attributes", "resampled", "left out", "all"])
@pytest.mark.parametrize(("metric", "shape", "params"), VARIANTS)
def test_fast_scores_equal_one_call_per_case(metric, shape, params, kind):
    instance = metric()
    targets, attributes = TARGETS[: shape[0]], ATTRIBUTES[: shape[1]]
    together = instance._pairs_targets(**params)
    counts = {
        "targets": lambda: grown(targets, 1, together=together) + whole(attributes),
        "attributes": lambda: whole(targets) + grown(attributes, 2),
        "resampled": lambda: drawn(targets, 3, together=together) + drawn(attributes, 4),
        "left out": lambda: left_out(targets) + whole(attributes),
        "all": lambda: whole(targets) + whole(attributes),
    }[kind]()
    fast = instance._compute_cases(targets, attributes, counts, **params)
    slow = BaseMetric._compute_cases(instance, targets, attributes, counts, **params)
    assert fast.shape == slow.shape == (n_cases_of(counts),)
    assert np.isfinite(slow).any()
    np.testing.assert_allclose(fast, slow, rtol=1e-11, atol=1e-12)


def test_the_slow_form_repeats_rows():
    counts = drawn(TARGETS[:2], 5) + drawn(ATTRIBUTES[:2], 6)
    by_hand = []
    for case in range(9):
        arrays = []
        for part, count in zip([*TARGETS[:2], *ATTRIBUTES[:2]], counts, strict=True):
            rows = np.repeat(np.arange(len(part)), count.matrix()[case].astype(int))
            arrays.append(part.vectors[rows])
        by_hand.append(weat_effect_size(*arrays))
    params = {**WEAT_PARAMS, "return_effect_size": True, "ddof": 0}
    got = WEAT()._compute_cases(TARGETS[:2], ATTRIBUTES[:2], counts, **params)
    np.testing.assert_allclose(got, by_hand, rtol=1e-11)


def test_all_words_give_the_functions_of_the_metrics():
    a, b, c = (part.vectors for part in TARGETS)
    x, y = (part.vectors for part in ATTRIBUTES[:2])
    two, one = whole([*TARGETS[:2], *ATTRIBUTES[:2]]), whole([*TARGETS[:2], ATTRIBUTES[0]])
    params = {**WEAT_PARAMS, "return_effect_size": False, "ddof": 0}
    for got, expected in [
        (WEAT()._compute_cases(TARGETS[:2], ATTRIBUTES[:2], two, **params), weat(a, b, x, y)),
        (ECT()._compute_cases(TARGETS[:2], ATTRIBUTES[:1], one), ect(a, b, x)),
        (
            MAC()._compute_cases(TARGETS[:2], ATTRIBUTES[:2], two, average="sets"),
            mac([a, b], [x, y]),
        ),
        (
            RND()._compute_cases(TARGETS[:2], ATTRIBUTES[:1], one, distance="norm", reduce="mean"),
            rnd(a, b, x),
        ),
        (
            SAME()._compute_cases(TARGETS[:2], ATTRIBUTES[:1], one, combine="sum"),
            same(x, [a, b]),
        ),
    ]:
        assert got == pytest.approx([expected], rel=1e-12)
    assert len(c) == 7


def test_undefined_cases_are_nan():
    twice = picked(TARGETS[0], [0, 0, 0])
    params = {**WEAT_PARAMS, "return_effect_size": True, "ddof": 0}
    counts = [Once(3), Once(3), Once(8), Once(9)]
    assert np.isnan(WEAT()._compute_cases([twice, twice], ATTRIBUTES[:2], counts, **params)).all()
    # One word cannot be ranked.
    single = [*whole(TARGETS[:2]), Nested([np.arange(8)], [1, 2, 3])]
    got = ECT()._compute_cases(TARGETS[:2], ATTRIBUTES[:1], single)
    assert np.isnan(got).tolist() == [True, False, False]
    # Groups with the same mean have no direction.
    same_groups = [Once(7), Once(7), Once(8)]
    two = [TARGETS[0], TARGETS[0]]
    assert np.isnan(SAME()._compute_cases(two, ATTRIBUTES[:1], same_groups, combine="sum")).all()
    pairs = RIPA()._compute_cases(two, ATTRIBUTES[:1], same_groups, relation="pairs")
    assert np.isnan(pairs).all()


def test_tied_words_are_ranked_as_the_metric_does():
    part = picked(ATTRIBUTES[0], [0, 1, 2, 2, 3, 4, 4])
    counts = [*whole(TARGETS[:2]), Nested([rng().permutation(7)], np.arange(3, 8))]
    fast = ECT()._compute_cases(TARGETS[:2], [part], counts)
    slow = BaseMetric._compute_cases(ECT(), TARGETS[:2], [part], counts)
    np.testing.assert_allclose(fast, slow, atol=1e-12)


def test_words_of_one_direction_do_not_lose_the_spread_to_rounding():
    near = word_set("n", 6, 3)
    base = rng(9).normal(size=12)
    vectors = base + 1e-7 * near.vectors
    part = EmbeddedSet("n", near.words, vectors, (), near.first_row)
    other = EmbeddedSet("m", near.words, vectors[::-1] + 1e-7, (), near.first_row)
    params = {**WEAT_PARAMS, "return_effect_size": True, "ddof": 0}
    counts = grown([part, other], 1) + whole(ATTRIBUTES[:2])
    fast = WEAT()._compute_cases([part, other], ATTRIBUTES[:2], counts, **params)
    slow = BaseMetric._compute_cases(WEAT(), [part, other], ATTRIBUTES[:2], counts, **params)
    np.testing.assert_allclose(fast, slow, rtol=1e-6)


# Word counts


@pytest.mark.parametrize("values_shape", [(9,), (9, 3)])
def test_sums_of_nested_subsets(values_shape):
    values = rng().normal(size=values_shape)
    nested = Nested(orders([9], 0)[0], [2, 5, 9])
    assert nested.n_cases == 9
    by_hand = [values[order[:size]].sum(axis=0) for order in nested.orders for size in (2, 5, 9)]
    np.testing.assert_allclose(nested.sums(values), by_hand, atol=1e-14)
    np.testing.assert_allclose(nested.matrix() @ values, by_hand, atol=1e-14)
    np.testing.assert_allclose(
        nested.means(values),
        np.array(by_hand) / nested.totals.reshape(-1, *[1] * (values.ndim - 1)),
    )
    assert nested.totals.tolist() == [2, 5, 9] * 3


@pytest.mark.parametrize(
    "counts",
    [Once(9), Counts(rng(3).integers(0, 3, size=(5, 9))), Nested(orders([9], 0)[0], [2, 9])],
)
def test_forms_of_counts_agree_with_their_matrix(counts, monkeypatch):
    monkeypatch.setattr("wefe.metrics._word_counts._BLOCK_NUMBERS", 20)
    matrix = np.concatenate([counts.matrix(part) for part in counts.blocks()])
    assert matrix.shape == (counts.n_cases, 9)
    values = rng().normal(size=(counts.n_cases, 9))
    np.testing.assert_allclose(counts.sums_by_case(values), (matrix * values).sum(axis=1))
    np.testing.assert_allclose(counts.sums_by_case(values[:1]), matrix @ values[0])
    np.testing.assert_allclose(counts.totals, matrix.sum(axis=1))


def test_numbers_of_cases_must_agree():
    assert n_cases_of([Once(3), Counts(np.ones((4, 3)))]) == 4
    with pytest.raises(ValueError, match=r"\[3, 4\]"):
        n_cases_of([Counts(np.ones((3, 3))), Counts(np.ones((4, 3)))])


def test_a_case_is_a_set_of_its_own():
    part = case_of(TARGETS[0], Counts([[0, 2, 1, 0, 0, 0, 0]]), 0)
    assert part.words == ("a1", "a1", "a2")
    assert part.first_row == (0, 1, 2)
    np.testing.assert_array_equal(part.vectors, TARGETS[0].vectors[[1, 1, 2]])


def test_what_was_lost_is_left_out_of_pairs():
    model = WordEmbeddingModel((["she", "he", "queen"], np.eye(3)), "few")
    from wefe import Query
    from wefe.embeddings import embed_query

    embedded = embed_query(model, Query([["she", "queen"], ["he", "king"]], [["she"]]))
    assert [part.words for part in without_losses(embedded.targets, paired=True)] == [
        ("she",),
        ("he",),
    ]
    assert [part.words for part in without_losses(embedded.targets)] == [("she", "queen"), ("he",)]


def test_distances_do_not_cancel():
    words = rng().normal(size=(20, 50)) + 100
    points = np.concatenate([words[:3], words[:3] + 1e-7, rng(1).normal(size=(4, 50))])
    expected = np.linalg.norm(points[:, None] - words[None], axis=2)
    np.testing.assert_allclose(distances(points, words), expected, rtol=1e-10, atol=1e-15)


def test_no_direction_is_nan():
    assert np.isnan(unit_rows(np.zeros((1, 3)))).all()
    assert math.isclose(float(np.linalg.norm(unit_rows(np.array([[3.0, 4.0]])))), 1)
