"""Permutation tests of all metrics: every split is asked as a query of its own."""

import itertools

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel
from wefe.metrics import (
    ECT,
    EQT,
    MAC,
    RIPA,
    RND,
    RNSB,
    SAME,
    SCWEAT,
    WEAT,
    BaseMetric,
    DirectBias,
    GeneralizedWEAT,
    NeighborPercentage,
    permutation_test,
)
from wefe.metrics._exchange import all_orders
from wefe.metrics._permutation import PermutationTest, flip_test

WORDS = [f"w{i}" for i in range(40)]
SIDES = {
    "right-sided": lambda scores, score, middle: scores >= score - 1e-9,
    "left-sided": lambda scores, score, middle: scores <= score + 1e-9,
    "two-sided": lambda scores, score, middle: abs(scores - middle) >= abs(score - middle) - 1e-9,
}

each_alternative = pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])


@pytest.fixture(scope="module")
def model():
    return WordEmbeddingModel((WORDS, np.random.default_rng(5).normal(size=(40, 6))), "noise")


def query_of(*sizes, n_targets):
    ends = np.cumsum(sizes).tolist()
    sets = [WORDS[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    return Query(sets[:n_targets], sets[n_targets:])


def splits_of(sets):
    """All ways to share out the words of the sets, each once."""
    words = [word for part in sets for word in part]
    if len(sets) == 1:
        return [[words]]
    splits = []
    for chosen in itertools.combinations(words, len(sets[0])):
        left = iter([word for word in words if word not in chosen])
        others = [[next(left) for _ in part] for part in sets[1:]]
        splits += [[list(chosen), *rest] for rest in splits_of(others)]
    return splits


def exchanged(metric, query):
    """All queries in which what the metric names is exchanged."""
    targets, attributes = query.target_sets, query.attribute_sets
    if metric.null_exchange == "targets":
        return [Query(each, attributes) for each in splits_of(targets)]
    if metric.null_exchange == "attributes":
        return [Query(targets, each) for each in splits_of(attributes)]
    pairs = list(zip(*targets, strict=True))
    patterns = itertools.product([1, -1], repeat=len(pairs))
    turned = ([p[::sign] for p, sign in zip(pairs, signs, strict=True)] for signs in patterns)
    return [Query(list(zip(*each, strict=True)), attributes) for each in turned]


CASES = [
    (WEAT(p_value_method="exact"), query_of(3, 4, 3, 3, n_targets=2)),
    (WEAT(p_value_method="exact", return_effect_size=True), query_of(4, 3, 2, 3, n_targets=2)),
    (RND(), query_of(3, 4, 5, n_targets=2)),
    (RND(distance="cos", reduce="sum"), query_of(3, 3, 5, n_targets=2)),
    (ECT(), query_of(3, 4, 6, n_targets=2)),
    (SAME(), query_of(3, 3, 4, n_targets=2)),
    (SAME(combine="projection"), query_of(2, 2, 3, 4, n_targets=3)),
    (GeneralizedWEAT(), query_of(3, 4, 3, 2, n_targets=2)),
    (GeneralizedWEAT(), query_of(2, 2, 3, 2, 3, 2, n_targets=3)),
    (SCWEAT(), query_of(3, 4, 4, n_targets=1)),
    (SCWEAT(reduce="mean_abs"), query_of(3, 3, 4, n_targets=1)),
    (RNSB(holdout=False), query_of(2, 2, 4, 3, n_targets=2)),
    (RIPA(), query_of(5, 5, 4, n_targets=2)),
    (EQT(), query_of(4, 4, 4, n_targets=2)),
    (NeighborPercentage(direction="means", k=5), query_of(3, 3, 4, n_targets=2)),
]


@pytest.mark.parametrize(("metric", "query"), CASES, ids=lambda each: repr(each)[:40])
@pytest.mark.parametrize("side", SIDES)
def test_the_p_value_counts_all_exchanges(metric, query, side, model):
    result = metric.run_query(query, model, calculate_p_value=True, p_value_test_type=side)
    test = result.details["permutation_test"]
    scores = np.array([metric.run_query(q, model)["result"] for q in exchanged(metric, query)])
    scale = metric.scale()
    middle = scale.no_bias_value
    if isinstance(metric, WEAT | GeneralizedWEAT) and len(query.target_sets) == 2:
        # Of sets that differ in size, differences of means are compared.
        effects = WEAT(return_effect_size=True)
        compared = [effects.run_query(q, model)["result"] for q in exchanged(effects, query)]
        hits = SIDES[side](np.array(compared), effects.run_query(query, model)["result"], 0.0)
    else:
        hits = SIDES[side](scores, result["result"], middle)
    assert test.method == "exact"
    assert test.n_splits == len(scores)
    assert result["p_value"] == test.p_value == pytest.approx(hits.mean())
    assert test.statistic == result["result"]
    if metric.null_exchange != "pairs" and metric._sums is BaseMetric._sums:
        assert test.null_mean == pytest.approx(scores.mean())
        quantiles = np.quantile(scores, [0.025, 0.5, 0.975])
        assert test.null_quantiles == pytest.approx(tuple(quantiles), abs=1e-12)
    else:  # a sample shows what is counted
        error = scores.std() / np.sqrt(1000)
        assert test.null_mean == pytest.approx(scores.mean(), abs=5 * error)
        assert min(scores) - 1e-9 <= test.null_quantiles[0]
        assert test.null_quantiles[2] <= max(scores) + 1e-9
        assert test.null_quantiles[2] >= np.quantile(scores, 0.9) - 1e-9
    # An exchange that changes nothing could test nothing.
    assert len(set(scores.round(9))) > 1


@pytest.mark.parametrize("metric", [ECT(), SAME(), RNSB(holdout=False)], ids=repr)
def test_scores_on_one_side_of_no_bias_are_tested_for_more_bias(metric, model):
    query = query_of(3, 3, *[5] * metric.metric_template[1], n_targets=2)
    result = metric.run_query(query, model, calculate_p_value=True)
    alternative = result.details["permutation_test"].alternative
    assert alternative == ("less" if isinstance(metric, ECT) else "greater")
    # Its test has a direction, and misses nothing.
    assert result.warnings == ()


@pytest.mark.parametrize("side", SIDES)
def test_the_observed_split_counts_though_a_solver_is_not_exact(side):
    # Of these words, the score of the query and that of its batch differ by more than a tie.
    vectors = np.random.default_rng(157).normal(size=(9, 20))
    model, query = WordEmbeddingModel((WORDS[:9], vectors), "m"), query_of(2, 3, 2, 2, n_targets=2)
    metric = RNSB(holdout=False, p_value_test_type=side)
    assert metric.run_query(query, model, calculate_p_value=True)["p_value"] >= 1 / 6


@pytest.mark.parametrize(
    ("metric", "sizes", "why"),
    [
        (MAC(), (3, 3, 2, 2), "a mean over all target words"),
        (DirectBias(), (4, 4, 3), "does not change the bias direction"),
        (RIPA(relation="pca"), (4, 4, 3), "leaves the principal component as it is"),
        (EQT(both_directions=True), (4, 4, 3), "both directions are asked"),
    ],
    ids=repr,
)
def test_metrics_without_a_p_value_say_why_and_stay_as_they_are(metric, sizes, why, model):
    query = query_of(*sizes, n_targets=2)
    result = metric.run_query(query, model, calculate_p_value=True)
    assert np.isnan(result["p_value"])
    (warning,) = result.warnings
    assert warning.startswith(f"{metric.metric_short_name} has no p-value: ")
    assert why in warning
    other = WEAT() if isinstance(metric, MAC) else RIPA()  # of which words are exchanged
    scores = [abs(metric.run_query(q, model)["result"]) for q in exchanged(other, query)]
    assert scores == pytest.approx([scores[0]] * len(scores))


def test_a_metric_of_a_user_has_a_p_value_when_it_says_what_may_be_exchanged(model):
    class Spread(BaseMetric):
        metric_template = (2, 1)
        metric_name = "Spread"
        metric_short_name = "SPR"

        def _compute(self, targets, attributes):
            one, other = (part.vectors.mean(axis=0) for part in targets)
            return float(np.abs(attributes[0].vectors @ (one - other)).max())

    query = query_of(3, 3, 4, n_targets=2)
    result = Spread().run_query(query, model, calculate_p_value=True)
    assert "does not define what may be exchanged" in result.warnings[0]
    Spread.null_exchange = "targets"
    result = Spread().run_query(query, model, calculate_p_value=True)
    scores = [Spread().run_query(q, model)["result"] for q in exchanged(Spread, query)]
    assert result["p_value"] == np.mean(np.array(scores) >= result["result"] - 1e-9)
    for exchange, error in (("words", ValueError), ("pairs", TypeError)):
        Spread.null_exchange = exchange
        with pytest.raises(error, match="null_exchange must be|must define _pair_values"):
            Spread().run_query(query, model, calculate_p_value=True)


@pytest.mark.parametrize("parent", [WEAT, GeneralizedWEAT])
def test_a_subclass_with_its_own_formula_is_not_tested_by_the_inherited_one(parent, model):
    """The p-value was that of the parent's sums, or of its `_scores`."""

    def compute(self, targets, attributes):
        one, other = (attributes[0].mean_cosine(part).mean() for part in targets)
        return float(one - other)

    declared = {"metric_name": "Half", "metric_short_name": "HALF", "_compute": compute}
    half = type("Half", (parent,), declared)
    alone = type(
        "Alone", (BaseMetric,), {**declared, "metric_template": (2, 2), "null_exchange": "targets"}
    )
    query = query_of(3, 4, 5, 5, n_targets=2)
    how = {"calculate_p_value": True, "p_value_iterations": 50, "random_state": 0}
    for method in ("exact", "approximate"):
        tests = [
            metric().run_query(query, model, p_value_method=method, **how)
            for metric in (half, alone)
        ]
        first, second = (result.details["permutation_test"] for result in tests)
        assert first == second
    pairs = type("Pairs", (RIPA,), declared)
    with pytest.raises(TypeError, match="must define _pair_values"):
        pairs().run_query(query_of(3, 3, 5, n_targets=2), model, **how)


def test_too_many_splits_are_sampled(model):
    query = query_of(10, 10, 5, n_targets=2)
    result = ECT().run_query(query, model, calculate_p_value=True, p_value_iterations=99)
    test = result.details["permutation_test"]
    assert (test.method, test.n_splits) == ("approximate", 99)
    assert all_orders((10, 10)) is None
    few, sums = query_of(3, 3, 5, n_targets=2), query_of(10, 10, 5, 5, n_targets=2)
    for metric, query, method in (
        (ECT(p_value_method="approximate"), few, "approximate"),
        (GeneralizedWEAT(p_value_method="exact"), sums, "exact"),
    ):
        result = metric.run_query(query, model, calculate_p_value=True)
        assert result.details["permutation_test"].method == method


def test_counted_tests_have_the_same_null_distribution_in_every_call(model):
    metric, query = WEAT(p_value_method="exact"), query_of(4, 4, 3, 3, n_targets=2)
    tests = [
        metric.run_query(query, model, calculate_p_value=True).details["permutation_test"]
        for _ in range(2)
    ]
    assert tests[0] == tests[1]


def test_another_method_than_the_one_asked_for_is_told():
    for method, bounds, told in (
        ("exact", (0.5, 0.5), ()),
        ("bounds", (0.497, 0.5), ()),
        (
            *("bounds", (0.1, 0.5)),
            ("the exact p-value lies between 0.1 and 0.5; the upper bound is returned",),
        ),
        (
            *("approximate", (0.1, 0.5)),
            ("too many words for an exact p-value; 99 random splits were drawn",),
        ),
    ):
        test = PermutationTest(0.0, 0.5, bounds, method, "greater", 99)
        assert (*WEAT(p_value_method="exact")._not_as_asked(test),) == told
        assert not [*ECT(p_value_method="exact")._not_as_asked(test)]


def test_defaults_of_reports_are_exact_or_without_chance():
    exact = ECT()._report_params({}, random_state=3)
    assert (exact["calculate_p_value"], exact["random_state"]) == (True, 3)
    for metric in (MAC(), SCWEAT()):
        assert metric._report_params({}, random_state=3) == {}
    assert ECT()._params_for_unpaired({}, "queries", paired=False) == {}
    assert RNSB()._report_params({}, random_state=3) == {"holdout": False, "random_state": 3}
    assert RNSB()._report_params({"n_iterations": 9}, random_state=3)["holdout"]


# Pairs


@each_alternative
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_exchanges_of_pairs_are_counted(n, alternative):
    d = np.random.default_rng(n).normal(size=n) + 0.3
    sums = np.array([np.dot(signs, d) for signs in itertools.product([1, -1], repeat=n)])
    side = {"greater": "right-sided", "less": "left-sided"}.get(alternative, "two-sided")
    expected = SIDES[side](sums, d.sum(), 0.0).mean()
    test = flip_test(d, alternative, "exact", 100, 0)
    assert (test.method, test.p_value) == ("exact", pytest.approx(expected))
    drawn = flip_test(d, alternative, "approximate", 20_000, 0)
    assert drawn.p_value == pytest.approx(expected, abs=0.02)
    if n == 12:
        quick = flip_test(d, alternative, "saddlepoint", 1, 0)
        assert quick.p_value == pytest.approx(expected, rel=0.1)


def test_many_pairs_are_counted_by_halves_and_more_of_them_sampled():
    d = np.random.default_rng(0).normal(size=40) + 0.4
    counted, drawn = (flip_test(d, "greater", m, 200_000, 0) for m in ("exact", "approximate"))
    assert counted.method == "exact"
    assert drawn.p_value_bounds[0] < counted.p_value < drawn.p_value_bounds[1]
    assert flip_test(np.ones(41), "greater", "exact", 99, 0).method == "approximate"


# The saddlepoint


@each_alternative
@pytest.mark.parametrize(("n_x", "n_y"), [(16, 16), (25, 25), (10, 40), (60, 60)])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_saddlepoint_p_values_are_near_the_count(n_x, n_y, alternative, shift):
    generator = np.random.default_rng(n_x)
    x, y = generator.normal(size=n_x) + shift, generator.normal(size=n_y)
    exact, quick = (
        permutation_test(x, y, alternative=alternative, method=method, random_state=0)
        for method in ("exact", "saddlepoint")
    )
    assert quick.method == "saddlepoint"
    assert np.isnan(quick.p_value_bounds).all()
    if exact.p_value > 1e-5:
        assert quick.p_value == pytest.approx(np.mean(exact.p_value_bounds), rel=0.03)


@each_alternative
@pytest.mark.parametrize("paired", [False, True])
def test_auto_counts_where_a_first_look_may_not_be_enough(paired, alternative):
    generator, counted = np.random.default_rng(0), []
    for n, shift in itertools.product((5, 9, 14, 18), (0.0, 0.2, 0.5, 1.0, 2.0)):
        x, y = generator.normal(size=n) + shift, generator.normal(size=n)
        auto, exact = (
            flip_test(x - y, alternative, method, 99, 0)
            if paired
            else permutation_test(x, y, alternative=alternative, method=method)
            for method in ("auto", "exact")
        )
        counted.append(auto.method == "exact")
        if counted[-1]:
            assert auto == exact
        else:
            assert (auto.method, auto.n_splits) == ("saddlepoint", 0)
            assert auto.p_value == pytest.approx(exact.p_value, rel=0.1)
            assert not 0.03 <= exact.p_value <= 0.09
            assert exact.p_value * exact.n_splits > 900
    assert 0 < sum(counted) < len(counted)


@each_alternative
@pytest.mark.parametrize(
    ("x", "y"), [([1.0], [0.0]), ([1.0, 1.0], [1.0, 1.0, 1.0]), ([5.0, 5.0, 5.0], [0.0, 0.0, 0.0])]
)
def test_saddlepoint_p_values_of_odd_values_are_p_values(x, y, alternative):
    p_value = permutation_test(x, y, alternative=alternative, method="saddlepoint").p_value
    assert (p_value == 1) if len({*x, *y}) == 1 else (0 < p_value <= 1)
    if len(x) == 3:  # the most extreme of 20 splits
        shares = {"greater": 1 / 20, "two-sided": 2 / 20, "less": 1}
        assert p_value == pytest.approx(shares[alternative])
