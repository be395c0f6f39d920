"""Bias silhouettes: the paper's definitions word by word, worked examples, and edge cases."""

import json
import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from wefe import Query, WordEmbeddingModel, load
from wefe._evaluation import Evaluation
from wefe.embeddings import embed_query
from wefe.metrics import (
    ECT,
    EQT,
    GIPE,
    MAC,
    RIPA,
    RND,
    RNSB,
    SCWEAT,
    WEAT,
    BaseMetric,
    NeighborPercentage,
    ProximityBias,
    _rnsb,
    get_metric,
    list_metrics,
    permutation_test,
)
from wefe.silhouette import (
    Silhouette,
    accuracy_by_size,
    accuracy_score,
    bias_silhouette,
    bias_silhouettes,
    bootstrap_interval,
)
from wefe.silhouette._silhouette import growth_sizes, run_orders


def rng(seed=0):
    return np.random.default_rng(seed)


def made(curves, k=(2, 4, 6), value_range=(-2.0, 2.0), no_bias_value=0.0, **facts):
    facts = {
        "metric": "M",
        "query_name": "q",
        "model_name": "m",
        "vary": "targets",
        "n_words": k[-1],
        "value": curves[0][-1],
        "random_state": 0,
        **facts,
    }
    return Silhouette(
        sizes=np.array(k)[:, None],
        curves=np.array(curves, dtype=float),
        value_range=value_range,
        no_bias_value=no_bias_value,
        **facts,
    )


BIASED = [[0.9, 0.6, 0.5], [-0.3, 0.4, 0.5], [0.2, 0.7, 0.5]]
FAIR = [[0.2, 0.1, 0.1], [-0.4, -0.1, 0.1], [0.0, 0.2, 0.1]]

NAMES = "abcde"


def small_model(name="small", seed=0, dim=8):
    words = [f"{letter}{i}" for letter in NAMES for i in range(7)]
    vectors = rng(seed).normal(size=(len(words), dim))
    vectors[:7] += 0.5
    vectors[21:28] += 0.5
    return WordEmbeddingModel((words, vectors), name)


def words(letter, n):
    return [f"{letter}{i}" for i in range(n)]


def query_for(metric, sizes=(6, 6, 5, 5)):
    n_targets, n_attributes = (2 if n == "n" else n for n in metric.metric_template)
    n_attributes = 2 if metric.metric_short_name == "GWEAT" else n_attributes
    return Query(
        [words(letter, size) for letter, size in zip("ab", sizes, strict=False)][:n_targets],
        [words(letter, size) for letter, size in zip("de", sizes[2:], strict=True)][:n_attributes],
    )


# Few neighbours for the metrics of whole vocabularies: their usual 100 would be all words.
FEW = {
    "EQT": {"k": 3},
    **{name: {"k": 4, "direction": "pca"} for name in ("GIPE", "PMN", "Proximity Bias")},
}


# The worked example


def test_worked_example():
    biased, fair = made(BIASED), made(FAIR)
    np.testing.assert_allclose(biased.lower, [-0.3, 0.4, 0.5])
    np.testing.assert_allclose(biased.upper, [0.9, 0.7, 0.5])
    np.testing.assert_allclose(biased.mean, [0.266667, 0.566667, 0.5], atol=1e-6)
    assert biased.area == pytest.approx(1.8)
    assert biased.robustness == pytest.approx(0.925)
    assert biased.robustness_of_span == pytest.approx(0.8875)
    np.testing.assert_allclose(fair.mean, [-0.066667, 0.066667, 0.1], atol=1e-6)
    assert fair.robustness == pytest.approx(0.95)
    assert accuracy_score(fair, biased) == pytest.approx(0.566667, abs=1e-6)
    assert trapezoid(biased.bias - fair.bias, biased.k) == pytest.approx(1.6)


def test_a_silhouette_without_area():
    assert made([[0.3, 0.2, 0.1]] * 4).robustness == 1
    assert made([[0.3, 0.2, 0.1]] * 4).robustness_of_span == 1
    # Nothing varied, so nothing is known.
    alone = made([[0.3]], k=(6,))
    assert np.isnan([alone.robustness, alone.robustness_of_span]).all()


def test_accuracy_by_size():
    table = accuracy_by_size(made(FAIR), made(BIASED))
    assert table["k"].tolist() == [2, 4, 6]
    differences = np.array([0.266667, 0.566667, 0.5]) - [0.066667, 0.066667, 0.1]
    np.testing.assert_allclose(table["accuracy"], 0.5 + differences / 4, atol=1e-6)
    wins = [
        np.mean([(b > f) + 0.5 * (b == f) for b in biased for f in fair])
        for biased, fair in zip(np.abs(BIASED).T, np.abs(FAIR).T, strict=True)
    ]
    np.testing.assert_allclose(table["told_apart"], wins)
    # With a single size there is no area; the difference counts all the same.
    one, other = made([[0.1]], k=(6,)), made([[0.9]], k=(6,))
    assert accuracy_score(one, other) == pytest.approx(0.5 + 0.5 * 0.8 / 2)


def test_accuracy_is_symmetric_about_one_half():
    biased, fair = made(BIASED), made(FAIR)
    assert accuracy_score(biased, biased) == 0.5
    assert accuracy_score(biased, fair) == pytest.approx(1 - accuracy_score(fair, biased))
    span = accuracy_score(fair, biased, of_span=True)
    assert span - 0.5 == pytest.approx((accuracy_score(fair, biased) - 0.5) * 6 / 4)
    # As far apart as can be, from no words on.
    low, high = made([[0.0] * 3], k=(0, 3, 6)), made([[-2.0] * 3], k=(0, 3, 6))
    assert accuracy_score(low, high) == 1


def test_where_no_bias_is_at_the_top_a_fairer_model_scores_as_fairer():
    fair, biased = (
        made(curves, value_range=(-1.0, 1.0), no_bias_value=1.0)
        for curves in ([[0.9, 0.9, 0.9]], [[0.1, 0.1, 0.1]])
    )
    assert accuracy_score(fair, biased) == pytest.approx(0.5 + 0.5 * 0.8 * 4 / (2 * 6))
    # With 0 for no bias, as printed, it is the other way round.
    old = [
        made(curves, value_range=(-1.0, 1.0)) for curves in ([[0.9, 0.9, 0.9]], [[0.1, 0.1, 0.1]])
    ]
    assert accuracy_score(*old) < 0.5


def test_silhouettes_that_cannot_be_compared():
    with pytest.raises(ValueError, match="metric; got 'M' and 'N'"):
        accuracy_score(made(FAIR), made(BIASED, metric="N"))
    with pytest.raises(ValueError, match="value_range; got"):
        accuracy_score(made(FAIR), made(BIASED, value_range=(-1.0, 1.0)))
    with pytest.raises(ValueError, match="same sizes"):
        accuracy_score(made(FAIR), made(BIASED, k=(2, 5, 6)))
    with pytest.raises(TypeError, match="two Silhouette"):
        accuracy_score(made(FAIR), 0.5)


# Growth


@pytest.mark.parametrize(
    ("lengths", "per_list", "unequal", "expected"),
    [
        ([5, 3], 1, "exhaust", [[1, 1], [2, 2], [3, 3], [4, 3], [5, 3]]),
        ([5, 3], 2, "exhaust", [[2, 2], [4, 3], [5, 3]]),
        ([5, 3], 1, "trim", [[1, 1], [2, 2], [3, 3]]),
        ([6, 3], 1, "proportional", [[2, 1], [4, 2], [6, 3]]),
        ([4], 6, "exhaust", [[4]]),
        ([3, 3, 3], 1, "exhaust", [[1, 1, 1], [2, 2, 2], [3, 3, 3]]),
    ],
)
def test_sizes(lengths, per_list, unequal, expected):
    assert growth_sizes(lengths, per_list, unequal).tolist() == expected


def test_a_smallest_size_keeps_the_last_one():
    assert growth_sizes([5, 3], 1, k_min=5).tolist() == [[3, 3], [4, 3], [5, 3]]
    assert growth_sizes([5, 3], 1, k_min=99).tolist() == [[5, 3]]


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    per_list=st.integers(1, 9),
    unequal=st.sampled_from(["exhaust", "proportional", "trim"]),
)
@settings(max_examples=200, deadline=None)
def test_sizes_grow_to_all_words(lengths, per_list, unequal):
    sizes = growth_sizes(lengths, per_list, unequal)
    assert (np.diff(sizes, axis=0) >= 0).all()
    assert (np.diff(sizes.sum(axis=1)) > 0).all()
    assert (sizes >= 1).all()
    end = lengths if unequal != "trim" else [min(lengths)] * len(lengths)
    assert sizes[-1].tolist() == end


def test_orders_depend_on_seed_run_list_and_length_only():
    few, many = run_orders([5, 3], 2, 7), run_orders([5, 3, 4], 9, 7)
    for one, other in zip(few, many, strict=False):
        np.testing.assert_array_equal(one, other[:2])
    assert not np.array_equal(few[0], run_orders([5, 3], 2, 8)[0])
    together = run_orders([5, 5], 3, 7, paired=True)
    np.testing.assert_array_equal(*together)
    for order in many[0]:
        assert sorted(order) == list(range(5))


# The definitions, literally


def literal_curves(metric, query, model, vary, n_runs, per_list, seed, params):
    """Grow the lists word by word and ask the metric each time (sections 3.2 and 4.1)."""
    embedded = embed_query(model, query, lost_vocabulary_threshold=1.0)
    sets = {"targets": embedded.targets, "attributes": embedded.attributes}
    growing = [list(part.words) for part in sets[vary]]
    paired = vary == "targets" and metric.with_params(**params)[0].pairs_targets
    curves = []
    for run in range(n_runs):
        shuffled = [
            [each[i] for i in rng([seed, run, 0 if paired else place]).permutation(len(each))]
            for place, each in enumerate(growing)
        ]
        curve, n = [], 0
        while True:
            n += per_list
            subset = [each[:n] for each in shuffled]
            asked = {"targets": query.target_sets, "attributes": query.attribute_sets, vary: subset}
            part = Query(asked["targets"], asked["attributes"])
            curve.append(metric.run_query(part, model, **params)["result"])
            if n >= max(map(len, growing)):
                break
        curves.append(curve)
    return np.array(curves)


CASES = [
    (WEAT, {"return_effect_size": True}),
    (WEAT, {"return_effect_size": True, "ddof": 1}),
    (WEAT, {"return_effect_size": False}),
    (ECT, {}),
    (MAC, {}),
    (RND, {"normalize": True}),
    (RND, {"distance": "cos"}),
    (RIPA, {"normalize": True, "relation": "pairs"}),
    *[(metric, {}) for metric in list_metrics() if metric.__name__ in ("SAME", "GeneralizedWEAT")],
    (SCWEAT, {}),
    (SCWEAT, {"reduce": "mean_abs", "ddof": 1}),
    *[(get_metric(name), params) for name, params in FEW.items()],
]


@pytest.mark.parametrize("vary", ["targets", "attributes"])
@pytest.mark.parametrize(("metric", "params"), CASES)
def test_agrees_with_the_definitions(metric, params, vary):
    model, query, instance = small_model(), query_for(metric), metric()
    got = bias_silhouette(
        metric, query, model, vary, 6, 2 * (2 if vary == "targets" else 1), metric_params=params
    )
    n_lists = query.template[vary == "attributes"]
    per_list = max(1, 2 * (2 if vary == "targets" else 1) // n_lists)
    params = {**metric.subset_params, **params}
    expected = literal_curves(instance, query, model, vary, 6, per_list, 0, params)
    defined = expected[:, expected.shape[1] - len(got.k) :]
    np.testing.assert_allclose(got.curves, defined, atol=1e-9)
    assert np.isnan(expected[:, : expected.shape[1] - len(got.k)]).any(axis=0).all()
    assert got.k[-1] == got.n_words
    lower, upper = defined.min(axis=0), defined.max(axis=0)
    area = sum(
        (got.k[i + 1] - got.k[i]) * (upper[i] - lower[i] + upper[i + 1] - lower[i + 1]) / 2
        for i in range(len(got.k) - 1)
    )
    low, high = got.value_range
    assert got.robustness == pytest.approx(1 - area / ((high - low) * got.n_words), abs=1e-9)


@pytest.mark.parametrize("vary", ["targets", "attributes"])
@pytest.mark.parametrize("metric", list_metrics())
def test_every_metric_ends_in_its_own_value_and_scores_within_0_and_1(metric, vary):
    model, query = small_model(seed=3), query_for(metric, (7, 7, 6, 6))
    asked = FEW.get(metric.metric_short_name, {})
    silhouette = bias_silhouette(metric, query, model, vary, 4, 2, metric_params=asked)
    params = {**metric.subset_params, **asked}
    value = metric().run_query(query, model, **params)["result"]
    np.testing.assert_allclose(silhouette.curves[:, -1], value, rtol=1e-12)
    assert silhouette.value == pytest.approx(value)
    low, high = silhouette.value_range
    assert low - 1e-12 <= silhouette.curves.min() <= silhouette.curves.max() <= high + 1e-12
    assert 0 <= silhouette.robustness_of_span <= silhouette.robustness <= 1
    other = bias_silhouette(metric, query, small_model(seed=4), vary, 4, 2, metric_params=asked)
    if len(other.k) == len(silhouette.k):
        assert 0 <= accuracy_score(silhouette, other) <= 1
    assert accuracy_score(silhouette, silhouette) == 0.5


# What stays the same


def test_the_same_words_come_in_for_every_metric_and_model():
    class FirstWords(BaseMetric):
        """The number of the first word of each subset, so that orders can be read."""

        metric_template = (2, 2)
        metric_name = "First words"
        metric_short_name = "FW"
        value_range = (0.0, 100.0)

        def _compute(self, targets, attributes):
            return 10 * int(targets[0].words[0][1:]) + int(targets[1].words[0][1:])

    query = query_for(WEAT)
    one, other = bias_silhouettes(FirstWords, query, [small_model(), small_model("b", 1)], n_runs=9)
    np.testing.assert_array_equal(one.curves, other.curves)
    first = run_orders([6, 6], 9, 0)
    # Subsets keep the order of the set, so the first word is the smallest number.
    np.testing.assert_array_equal(one.curves[:, 0], 10 * first[0][:, 0] + first[1][:, 0])


@pytest.mark.parametrize("metric", [WEAT, ECT, RNSB])
@pytest.mark.parametrize("vary", ["targets", "attributes"])
def test_workers_and_numbers_of_runs_do_not_matter(metric, vary):
    model, query = small_model(), query_for(metric)
    alone = bias_silhouette(metric, query, model, vary, 30, 2, random_state=5)
    shared = bias_silhouette(metric, query, model, vary, 30, 2, random_state=5, n_jobs=2)
    np.testing.assert_array_equal(alone.curves, shared.curves)
    fewer = bias_silhouette(metric, query, model, vary, 7, 2, random_state=5)
    np.testing.assert_allclose(fewer.curves, alone.curves[:7], rtol=1e-6, atol=1e-6)
    other = bias_silhouette(metric, query, model, vary, 30, 2, random_state=6)
    assert not np.array_equal(alone.curves, other.curves)


def test_words_that_one_model_lacks_are_left_out_for_all(caplog):
    whole = small_model()
    few = WordEmbeddingModel(
        ([w for w in whole.vocab if w not in ("a0", "d1")], np.delete(whole.vectors, [0, 22], 0)),
        "few",
    )
    query = query_for(WEAT)
    with caplog.at_level(logging.WARNING):
        one, other = bias_silhouettes(WEAT, query, [whole, few], n_runs=5)
    assert "a0" in caplog.text
    np.testing.assert_allclose(one.curves, other.curves, atol=1e-12)
    assert one.words_left_out == other.words_left_out == ("a0",)
    assert one.n_words == 11
    concepts = bias_silhouettes(WEAT, query, [whole, few], "attributes", n_runs=5)
    assert concepts[0].words_left_out == ("d1",)


def test_trimmed_lists_end_where_the_shortest_does():
    query = query_for(WEAT, (7, 4, 5, 5))
    trimmed = bias_silhouette(WEAT, query, small_model(), n_runs=8, unequal="trim")
    assert trimmed.sizes.tolist() == [[n, n] for n in range(1, 5)]
    assert trimmed.n_words == 8
    assert np.ptp(trimmed.curves[:, -1]) > 0
    whole = bias_silhouette(WEAT, query, small_model(), n_runs=8)
    assert np.ptp(whole.curves[:, -1]) == 0
    np.testing.assert_allclose(trimmed.curves[:, :4], whole.curves[:, :4])


# Ranges


def test_scores_without_bounds_are_refused_or_related_to_a_range_that_is_given():
    query, model = query_for(RND), small_model()
    with pytest.raises(ValueError, match=r"RND has \(-inf, inf\).*value_range.*normalize=True"):
        bias_silhouette(RND, query, model, metric_params={"normalize": False})
    given_range = bias_silhouette(
        RND, query, model, metric_params={"normalize": False}, value_range=(-50, 50), n_runs=3
    )
    assert given_range.value_range == (-50, 50)
    assert bias_silhouette(RND, query, model, n_runs=3).value_range == (-2, 2)
    assert bias_silhouette(RIPA, query, model, n_runs=3).value_range == (-1, 1)
    total = bias_silhouette(
        WEAT, query_for(WEAT), model, n_runs=3, metric_params={"return_effect_size": False}
    )
    assert total.metric == "WEAT"
    assert total.value_range == (-24, 24)
    assert bias_silhouette(WEAT, query_for(WEAT), model, n_runs=3).value_range == (-2, 2)
    rnsb = bias_silhouette(RNSB, query_for(RNSB), model, n_runs=3)
    assert rnsb.value_range == pytest.approx((0, np.log(12)))


def test_the_range_of_an_effect_size_holds_for_every_subset():
    query = query_for(WEAT, (7, 2, 5, 5))
    silhouette = bias_silhouette(WEAT, query, small_model(), n_runs=3)
    assert silhouette.value_range[1] == pytest.approx(9 / np.sqrt(14))


# Metrics of users


class Plain(BaseMetric):
    """A metric that is not vectorised."""

    metric_template = (2, 1)
    metric_name = "Plain"
    metric_short_name = "P"
    value_range = (-2.0, 2.0)

    def _compute(self, targets, attributes):
        means = [part.vectors.mean(axis=0) for part in targets]
        unit = [mean / np.linalg.norm(mean) for mean in means]
        words = attributes[0].vectors
        words = words / np.linalg.norm(words, axis=1, keepdims=True)
        return float((words @ (unit[0] - unit[1])).mean())


class WholeQueries(BaseMetric):
    """A metric with a run_query of its own."""

    metric_template = (2, 1)
    metric_name = "Whole queries"
    metric_short_name = "WQ"
    value_range = (-2.0, 2.0)

    def run_query(self, query, model, **lookup):
        return {"result": RND().run_query(query, model, distance="cos", **lookup)["result"]}


@pytest.mark.parametrize("vary", ["targets", "attributes"])
@pytest.mark.parametrize("metric", [Plain, WholeQueries])
def test_a_metric_of_a_user(metric, vary):
    got = bias_silhouette(metric, query_for(RND), small_model(), vary, 5)
    cosines = {"distance": "cos", "normalize": False}
    expected = bias_silhouette(RND, query_for(RND), small_model(), vary, 5, metric_params=cosines)
    np.testing.assert_allclose(got.curves, expected.curves, atol=1e-12)
    assert got.metric in ("P", "WQ")


# What comes out


def test_sizes_at_which_the_score_is_undefined_are_left_out(caplog):
    with caplog.at_level(logging.WARNING):
        silhouette = bias_silhouette(
            ECT, query_for(ECT), small_model(), "attributes", n_runs=3, step=1
        )
    assert silhouette.k.tolist() == [2, 3, 4, 5]
    assert "undefined for some subsets of up to 1 words; the curves start at 2" in caplog.text


def test_frames_and_json():
    silhouette = bias_silhouette(WEAT, query_for(WEAT), small_model(), n_runs=3)
    frame = silhouette.to_frame()
    assert list(frame) == ["k", "lower", "mean", "upper"]
    assert frame["k"].tolist() == [2, 4, 6, 8, 10, 12]
    tidy = silhouette.to_frame(curves=True)
    assert tidy.shape == (18, 3)
    pivot = tidy.pivot(index="run", columns="k", values="score").to_numpy()
    np.testing.assert_array_equal(pivot, silhouette.curves)
    again = Silhouette.from_json(silhouette.to_json())
    np.testing.assert_array_equal(again.curves, silhouette.curves)
    assert again.to_json() == silhouette.to_json()
    assert again.robustness == silhouette.robustness
    assert json.loads(silhouette.to_json())["metric"] == "WEAT-ES"
    whole = json.loads(silhouette.to_json())
    for change in ({"curves": [[None]]}, {"sizes": []}, {"value": None}):
        with pytest.raises(ValueError, match="to_json"):
            Silhouette.from_json(json.dumps(whole | change))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"vary": "target"}, ValueError, "Did you mean 'targets'"),
        ({"n_runs": 0}, ValueError, "n_runs"),
        ({"step": 0}, ValueError, "step"),
        ({"k_min": -1}, ValueError, "k_min"),
        ({"unequal": "cut"}, ValueError, "unequal"),
        ({"metric": "weatt"}, ValueError, "weat"),
        ({"metric": 3}, TypeError, "metric class"),
        ({"query": "q"}, TypeError, "Query"),
        ({"model": "m"}, TypeError, "WordEmbeddingModel"),
        ({"metric": ECT}, ValueError, "1 attribute sets"),
        ({"metric_params": {"ddoff": 1}}, TypeError, "Did you mean 'ddof'"),
        ({"no_bias_value": np.nan}, ValueError, "no_bias_value"),
        ({"no_bias_value": 7}, ValueError, "no_bias_value"),
        ({"value_range": (1, 0)}, ValueError, "value_range"),
        ({"value_range": (0, np.inf)}, ValueError, "value_range"),
        ({"value_range": (0, 1, 2)}, ValueError, "value_range"),
        ({"value_range": "ab"}, TypeError, "value_range"),
        ({"value_range": (-0.1, 0.1)}, ValueError, r"value_range \(-0.1, 0.1\)"),
        ({"k_min": 13}, ValueError, "k_min must be an integer from 0 to 12"),
        ({"query": Query([["x"], ["y"]], [["z"], ["u"]])}, ValueError, "cannot be answered"),
    ],
)
def test_wrong_arguments(change, error, message):
    arguments = {"metric": WEAT, "query": query_for(WEAT), "model": small_model(), **change}
    with pytest.raises(error, match=message):
        bias_silhouette(**arguments)


def test_the_same_on_a_dask_cluster():
    distributed = pytest.importorskip("distributed")
    import joblib

    query, model = query_for(WEAT), small_model()
    alone = bias_silhouette(WEAT, query, model, n_runs=60)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        shared = bias_silhouette(WEAT, query, model, n_runs=60)
    np.testing.assert_array_equal(shared.curves, alone.curves)


# Metrics that are built on others


class HalfWeat(WEAT):
    """Another metric, whose variants must not be scored as those of WEAT."""

    value_range = (-1.0, 1.0)

    def _compute(self, targets, attributes):
        return 0.5 * super()._compute(targets, attributes).values["result"]


class HalfEct(ECT):
    """The same for a metric whose result comes from its formula."""

    def _compute(self, targets, attributes):
        return 0.5 * super()._compute(targets, attributes).values["result"]


class Negated(WEAT):
    """Something is done around `run_query`."""

    def run_query(self, query, model, **params):
        result = super().run_query(query, model, **params)
        result["result"] = -result["effect_size"]
        return result


@pytest.mark.parametrize(
    ("metric", "base", "factor"), [(HalfWeat, WEAT, 0.5), (HalfEct, ECT, 0.5), (Negated, WEAT, -1)]
)
def test_a_metric_that_changes_another_one_keeps_its_change(metric, base, factor):
    query, model = query_for(base), small_model()
    got = bias_silhouette(metric, query, model, n_runs=4)
    plain = bias_silhouette(base, query, model, n_runs=4)
    np.testing.assert_allclose(got.curves, factor * plain.curves, atol=1e-12)


def test_subsets_get_no_p_value(monkeypatch):
    # One that changes _compute is asked again for each subset, and would run a test each time.
    calls = []
    monkeypatch.setattr(
        "wefe.metrics._exchange.permutation_test",
        lambda *args, **kwargs: calls.append(args) or permutation_test(*args, **kwargs),
    )
    params = {"calculate_p_value": True, "p_value_iterations": 9}
    bias_silhouette(HalfWeat, query_for(WEAT), small_model(), n_runs=2, metric_params=params)
    assert len(calls) == 1


def test_random_scores_are_refused(monkeypatch):
    query, model = query_for(RNSB, (6, 6, 7, 7)), small_model()
    # Two draws may give one score; those of this generator do not.
    fresh, drawn = _rnsb._seeds, rng()
    monkeypatch.setattr(_rnsb, "_seeds", lambda state, n: fresh(state or drawn, n))
    for params in ({"holdout": True}, {"holdout": True, "random_state": rng()}):
        with pytest.raises(ValueError, match="gives another score"):
            bias_silhouette(RNSB, query, model, metric_params=params)
    seeded = {"holdout": True, "random_state": 3}
    one, other = (
        bias_silhouette(RNSB, query, model, n_runs=2, metric_params=seeded, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.curves, other.curves)


def test_a_changed_mapped_model_travels_as_it_is_in_memory(tmp_path):
    small_model().save(tmp_path / "v.safetensors")
    mapped = load(tmp_path / "v.safetensors", hold="mapped")
    mapped.vectors[:] += 0.5
    evaluation = Evaluation(WholeQueries(), query_for(RND), mapped, {})
    sent = evaluation.for_jobs(2)
    assert (evaluation._model.held, sent._model.held) == ("memory", "memory")
    np.testing.assert_array_equal(sent._model.vectors, mapped.vectors)
    # What needs no model sends none.
    plain = Evaluation(RND(), query_for(RND), mapped, {}).for_jobs(2)
    assert not hasattr(plain, "_model")
    assert not any(isinstance(each, WordEmbeddingModel) for each in vars(plain.metric).values())


# Metrics of whole vocabularies


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("metric", [EQT, NeighborPercentage])
def test_workers_see_the_vocabulary_of_a_mapped_model_as_it_is_in_memory(metric, changed, tmp_path):
    small_model().save(tmp_path / "v.safetensors")
    mapped = load(tmp_path / "v.safetensors", hold="mapped")
    if changed:
        mapped.vectors[:] = rng(5).normal(size=mapped.vectors.shape)
    still = WordEmbeddingModel.from_arrays(list(mapped.vocab), np.array(mapped.vectors), "still")
    query, params = query_for(metric), {"metric_params": {"k": 3}}
    expected = bias_silhouette(metric, query, still, n_runs=4, **params)
    got = bias_silhouette(metric, query, mapped, n_runs=4, n_jobs=2, **params)
    np.testing.assert_array_equal(got.curves, expected.curves)
    assert np.ptp(got.curves) > 0
    expected = bootstrap_interval(metric, query, still, 150, **params)
    got = bootstrap_interval(metric, query, mapped, 150, n_jobs=2, **params)
    np.testing.assert_array_equal(got.samples, expected.samples)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("metric", [EQT, GIPE, NeighborPercentage, ProximityBias])
def test_models_of_which_words_are_left_out_keep_their_neighbours(metric, n_jobs):
    one, other = small_model("one"), small_model("other", 1)
    query = query_for(metric)
    params = {"k": 3}
    both = bias_silhouettes(metric, query, [one, other], n_runs=3, metric_params=params)
    for silhouette, model in zip(both, (one, other), strict=True):
        assert silhouette.value == metric().run_query(query, model, **params)["result"]
    lacking = WordEmbeddingModel.from_arrays(
        [word for word in other.vocab if word != "a5"],
        np.delete(other.vectors, other.vocab["a5"], axis=0),
        "lacking",
    )
    got = bias_silhouettes(
        metric, query, [one, lacking], n_runs=3, metric_params=params, n_jobs=n_jobs
    )
    # Of the query its pair is left out; a neighbour the word remains.
    at = query.target_sets[0].index("a5")
    shorter = Query(
        [[*part[:at], *part[at + 1 :]] for part in query.target_sets],
        query.attribute_sets,
        query.target_sets_names,
        query.attribute_sets_names,
    )
    for silhouette, model in zip(got, (one, lacking), strict=True):
        alone = bias_silhouette(metric, shorter, model, n_runs=3, metric_params=params)
        np.testing.assert_array_equal(silhouette.curves, alone.curves)
        assert silhouette.value == metric().run_query(shorter, model, **params)["result"]


def test_models_opened_for_words_only_are_refused_with_that_reason(tmp_path):
    query = query_for(ProximityBias)
    words = [word for part in query.target_sets + query.attribute_sets for word in part]
    path = tmp_path / "lacking.txt"
    small_model("one").save(path)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("a5 ")), encoding="utf-8")
    lacking = load(path, words=words)
    with pytest.raises(ValueError, match=rf"lacking was opened for {len(words)} words only"):
        bias_silhouettes(ProximityBias, query, [small_model("one"), lacking], n_runs=3)


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("unequal", ["exhaust", "proportional", "trim"])
def test_range_of_sc_weat_holds_for_attribute_sets_of_any_growth(unequal, ddof):
    """Subsets of 5 and 2 words allow more than the full sets of 7 and 3 do."""
    names = [f"t{i}" for i in range(4)] + [f"d{i}" for i in range(7)] + [f"e{i}" for i in range(3)]
    cosines = np.array([1.0] * 4 + [0.6] * 7 + [-0.6] * 3)
    vectors = np.column_stack([cosines, np.sqrt(1 - cosines**2)])
    # Without any scatter the largest effect size is reached at every size.
    noise = 1e-6 * rng().normal(size=vectors.shape)
    model = WordEmbeddingModel.from_arrays(names, vectors + noise, "extreme")
    query = Query([names[:4]], [names[4:11], names[11:]])
    got = bias_silhouette(
        SCWEAT, query, model, "attributes", 3, 2, unequal=unequal, metric_params={"ddof": ddof}
    )
    bounds = [n.sum() / np.sqrt(n.prod()) * np.sqrt((n.sum() - ddof) / n.sum()) for n in got.sizes]
    np.testing.assert_allclose(got.curves, np.tile(bounds, (3, 1)), rtol=1e-4)
    assert got.value_range[1] >= max(bounds) - 1e-12


def test_models_may_have_words_in_other_forms():
    lower = small_model()
    upper = WordEmbeddingModel(([word.upper() for word in lower.vocab], lower.vectors), "upper")
    params = {"preprocessors": [{}, {"uppercase": True}]}
    one, other = bias_silhouettes(
        WEAT, query_for(WEAT), [lower, upper], n_runs=3, metric_params=params
    )
    np.testing.assert_allclose(one.curves, other.curves, atol=1e-12)
    assert one.words_left_out == ()


def test_a_score_that_is_undefined_for_many_words_is_refused():
    class Often(Plain):
        """Undefined for odd numbers of words."""

        def _compute(self, targets, attributes):
            return np.nan if len(targets[0]) == 5 else super()._compute(targets, attributes)

    with pytest.raises(ValueError, match="undefined for subsets of up to"):
        bias_silhouette(Often, query_for(RND), small_model(), n_runs=3)
