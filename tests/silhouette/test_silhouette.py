"""Bias silhouettes: the paper's definitions word by word, worked examples, and edge cases."""

import json
import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lettered import ASKED, model_of, query_for, without
from lettered import silhouette_of as made
from scipy.integrate import trapezoid
from scipy.stats import mannwhitneyu

from wefe import Query, WordEmbeddingModel, load
from wefe.embeddings import embed_query
from wefe.metrics import (
    ECT,
    EQT,
    RIPA,
    RND,
    RNSB,
    SCWEAT,
    WEAT,
    BaseMetric,
    NeighborPercentage,
    ProximityBias,
    _rnsb,
    list_metrics,
)
from wefe.silhouette import (
    Silhouette,
    accuracy_by_size,
    accuracy_score,
    bias_silhouettes,
    bootstrap_interval,
)
from wefe.silhouette._silhouette import growth_sizes, run_orders


def rng(seed=0):
    return np.random.default_rng(seed)


def silhouette_of(metric, query, model, *args, **options):
    (silhouette,) = bias_silhouettes(metric, query, [model], *args, **options)
    return silhouette


SIZES = (6, 6, 5, 5)
BIASED = [[0.9, 0.6, 0.5], [-0.3, 0.4, 0.5], [0.2, 0.7, 0.5]]
FAIR = [[0.2, 0.1, 0.1], [-0.4, -0.1, 0.1], [0.0, 0.2, 0.1]]


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
    wins = mannwhitneyu(np.abs(BIASED), np.abs(FAIR)).statistic
    np.testing.assert_allclose(table["told_apart"], wins / 9)
    # With a single size there is no area; the difference counts all the same.
    one, other = made([[0.1]], k=(6,)), made([[0.9]], k=(6,))
    assert accuracy_score(one, other) == pytest.approx(0.5 + 0.5 * 0.8 / 2)


def test_accuracy_is_symmetric_about_one_half():
    biased, fair = made(BIASED), made(FAIR)
    assert accuracy_score(biased, biased) == 0.5
    assert accuracy_score(biased, fair) == pytest.approx(1 - accuracy_score(fair, biased))
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


# Growth


@pytest.mark.parametrize(
    ("lengths", "per_list", "more", "expected"),
    [
        ([5, 3], 1, {}, [[1, 1], [2, 2], [3, 3], [4, 3], [5, 3]]),
        ([5, 3], 2, {}, [[2, 2], [4, 3], [5, 3]]),
        ([5, 3], 1, {"unequal": "trim"}, [[1, 1], [2, 2], [3, 3]]),
        ([6, 3], 1, {"unequal": "proportional"}, [[2, 1], [4, 2], [6, 3]]),
        ([5, 3], 1, {"k_min": 5}, [[3, 3], [4, 3], [5, 3]]),
        ([5, 3], 1, {"k_min": 99}, [[5, 3]]),
    ],
)
def test_sizes(lengths, per_list, more, expected):
    assert growth_sizes(lengths, per_list, **more).tolist() == expected


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
    paired = vary == "targets" and metric._with_params(**params)[0].pairs_targets
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


# The extremes of options and metrics that are no default.
CASES = [(metric, ASKED.get(metric.metric_short_name, {})) for metric in list_metrics()]
CASES += [
    (WEAT, {"return_effect_size": False}),
    (WEAT, {"ddof": 1}),
    (RND, {"distance": "cos"}),
    (RIPA, {"relation": "pairs"}),
    (SCWEAT, {"reduce": "mean_abs", "ddof": 1}),
]


@pytest.mark.parametrize("vary", ["targets", "attributes"])
@pytest.mark.parametrize(("metric", "params"), CASES)
def test_agrees_with_the_definitions(metric, params, vary):
    model, query = model_of(), query_for(metric, SIZES)
    step = 4 if vary == "targets" else 2
    got = silhouette_of(metric, query, model, vary, 6, step, metric_params=params)
    per_list = step // query.template[vary == "attributes"]
    params = {**metric.subset_params, **params}
    expected = literal_curves(metric(), query, model, vary, 6, per_list, 0, params)
    left_out = expected.shape[1] - len(got.k)
    assert np.isnan(expected[:, :left_out]).any(axis=0).all()
    # liblinear, which run_query fits with, stops a little before the optimum.
    near = 1e-4 if metric is RNSB else 1e-9
    np.testing.assert_allclose(got.curves, expected[:, left_out:], atol=near)
    value = metric().run_query(query, model, **params)["result"]
    assert got.value == pytest.approx(value)
    np.testing.assert_allclose(got.curves[:, -1], value, rtol=1e-5)
    assert got.k[-1] == got.n_words
    low, high = got.value_range
    assert low - 1e-12 <= got.curves.min() <= got.curves.max() <= high + 1e-12
    area = trapezoid(got.curves.max(axis=0) - got.curves.min(axis=0), got.k)
    assert got.robustness == pytest.approx(1 - area / ((high - low) * got.n_words), abs=1e-9)
    assert 0 <= got.robustness_of_span <= got.robustness <= 1
    assert accuracy_score(got, got) == 0.5


# What stays the same


@pytest.mark.parametrize("metric", [WEAT, RNSB])
def test_workers_and_numbers_of_runs_do_not_matter(metric):
    def curves(n_runs=30, random_state=5, **options):
        query = query_for(metric, SIZES)
        asked = {"n_runs": n_runs, "random_state": random_state, **options}
        return silhouette_of(metric, query, model_of(), "attributes", step=2, **asked).curves

    alone = curves()
    np.testing.assert_array_equal(curves(n_jobs=2), alone)
    np.testing.assert_allclose(curves(7), alone[:7], rtol=1e-6, atol=1e-6)
    assert not np.array_equal(curves(random_state=6), alone)


def test_words_that_one_model_lacks_are_left_out_for_all(caplog):
    models = [model_of(), without(without(model_of(), "a0"), "d1")]
    with caplog.at_level(logging.WARNING):
        one, other = bias_silhouettes(WEAT, query_for(WEAT, SIZES), models, n_runs=5)
    assert "a0" in caplog.text
    np.testing.assert_allclose(one.curves, other.curves, atol=1e-12)
    assert one.words_left_out == other.words_left_out == ("a0",)
    assert one.n_words == 11


def test_the_same_words_come_in_for_every_metric_and_model():
    class FirstWords(BaseMetric):
        """The number of the first word of each subset, so that orders can be read."""

        metric_template = (2, 2)
        metric_name = "First words"
        metric_short_name = "FW"
        value_range = (0.0, 100.0)

        def _compute(self, targets, attributes):
            return 10 * int(targets[0].words[0][1:]) + int(targets[1].words[0][1:])

    query = query_for(WEAT, SIZES)
    one, other = bias_silhouettes(FirstWords, query, [model_of(), model_of(1)], n_runs=9)
    np.testing.assert_array_equal(one.curves, other.curves)
    first = run_orders([6, 6], 9, 0)
    # Subsets keep the order of the set, so the first word is the smallest number.
    np.testing.assert_array_equal(one.curves[:, 0], 10 * first[0][:, 0] + first[1][:, 0])


# Ranges


@pytest.mark.parametrize(
    ("metric", "params", "expected"),
    [
        (RND, {}, (-2, 2)),
        (RIPA, {}, (-1, 1)),
        (WEAT, {}, (-2, 2)),
        (WEAT, {"return_effect_size": False}, (-24, 24)),
        (RNSB, {}, (0, np.log(12))),
    ],
)
def test_ranges(metric, params, expected):
    query = query_for(metric, SIZES)
    got = silhouette_of(metric, query, model_of(), n_runs=3, metric_params=params)
    assert got.value_range == pytest.approx(expected)


def test_scores_without_bounds_are_related_to_a_range_that_is_given():
    raw = {"metric_params": {"normalize": False}, "n_runs": 3}
    query = query_for(RND, SIZES)
    with pytest.raises(ValueError, match=r"RND has \(-inf, inf\).*value_range.*normalize=True"):
        silhouette_of(RND, query, model_of(), **raw)
    got = silhouette_of(RND, query, model_of(), **raw, value_range=(-50, 50))
    assert got.value_range == (-50, 50)


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


@pytest.mark.parametrize("vary", ["targets", "attributes"])
def test_a_metric_of_a_user(vary):
    got = silhouette_of(Plain, query_for(RND, SIZES), model_of(), vary, 5)
    cosines = {"distance": "cos", "normalize": False}
    expected = silhouette_of(RND, query_for(RND, SIZES), model_of(), vary, 5, metric_params=cosines)
    np.testing.assert_allclose(got.curves, expected.curves, atol=1e-12)
    assert got.metric == "P"


# What comes out


def test_sizes_at_which_the_score_is_undefined_are_left_out(caplog):
    with caplog.at_level(logging.WARNING):
        silhouette = silhouette_of(
            ECT, query_for(ECT, SIZES), model_of(), "attributes", n_runs=3, step=1
        )
    assert silhouette.k.tolist() == [2, 3, 4, 5]
    assert "undefined for some subsets of up to 1 words; the curves start at 2" in caplog.text


def test_frames_and_json():
    silhouette = silhouette_of(WEAT, query_for(WEAT, SIZES), model_of(), n_runs=3)
    frame = silhouette.to_frame()
    assert frame["k"].tolist() == [2, 4, 6, 8, 10, 12]
    again = Silhouette._of(json.loads(silhouette.to_json()))
    np.testing.assert_array_equal(again.curves, silhouette.curves)
    assert again.to_json() == silhouette.to_json()


# Metrics that are built on others


class HalfWeat(WEAT):
    """Another metric, whose variants must not be scored as those of WEAT."""

    value_range = (-1.0, 1.0)

    def _compute(self, targets, attributes):
        return 0.5 * super()._compute(targets, attributes).values["result"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"vary": "target"}, ValueError, "Did you mean 'targets'"),
        ({"n_runs": 0}, ValueError, "n_runs"),
        ({"unequal": "cut"}, ValueError, "unequal"),
        ({"metric": ECT}, ValueError, "1 attribute sets"),
        ({"no_bias_value": 7}, ValueError, "no_bias_value"),
        ({"value_range": (0, np.inf)}, ValueError, "value_range"),
        ({"value_range": (-0.1, 0.1)}, ValueError, r"value_range \(-0.1, 0.1\)"),
        ({"query": Query([["x"], ["y"]], [["z"], ["u"]])}, ValueError, "cannot be answered"),
    ],
)
def test_wrong_arguments(change, error, message):
    arguments = {"metric": WEAT, "query": query_for(WEAT, SIZES), "model": model_of(), **change}
    with pytest.raises(error, match=message):
        silhouette_of(**arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "N"}, "'M' and 'N'"),
        ({"value_range": (-1.0, 1.0)}, "value_range"),
        ({"k": (2, 5, 6)}, "same k"),
    ],
)
def test_silhouettes_that_cannot_be_compared(change, message):
    with pytest.raises(ValueError, match=message):
        accuracy_score(made(FAIR), made(BIASED, **change))


def test_random_scores_are_refused(monkeypatch):
    query, model = query_for(RNSB, (6, 6, 7, 7)), model_of()
    # Two draws may give one score; those of this generator do not.
    fresh, drawn = _rnsb._seeds, rng()
    monkeypatch.setattr(_rnsb, "_seeds", lambda state, n: fresh(state or drawn, n))
    with pytest.raises(ValueError, match="gives another score"):
        silhouette_of(RNSB, query, model, metric_params={"holdout": True})
    seeded = {"holdout": True, "random_state": 3}
    assert silhouette_of(RNSB, query, model, n_runs=2, metric_params=seeded).n_runs == 2


def test_a_metric_that_changes_another_one_keeps_its_change():
    query = query_for(WEAT, SIZES)
    got, plain = (silhouette_of(each, query, model_of(), n_runs=4) for each in (HalfWeat, WEAT))
    np.testing.assert_allclose(got.curves, 0.5 * plain.curves, atol=1e-12)


# Whole models


@pytest.mark.parametrize("metric", [EQT, NeighborPercentage])
def test_workers_see_a_mapped_model_as_it_is_in_memory(metric, tmp_path):
    model_of().save(tmp_path / "v.safetensors")
    mapped = load(tmp_path / "v.safetensors", hold="mapped")
    mapped.vectors[:] = rng(5).normal(size=mapped.vectors.shape)
    still = WordEmbeddingModel((list(mapped.vocab), np.array(mapped.vectors)), "still")
    query, params = query_for(metric), {"metric_params": ASKED.get(metric.metric_short_name)}
    expected = silhouette_of(metric, query, still, n_runs=4, **params)
    got = silhouette_of(metric, query, mapped, n_runs=4, n_jobs=2, **params)
    np.testing.assert_array_equal(got.curves, expected.curves)
    assert np.ptp(got.curves) > 0
    expected = bootstrap_interval(metric, query, still, 150, **params)
    got = bootstrap_interval(metric, query, mapped, 150, n_jobs=2, **params)
    np.testing.assert_array_equal(got.samples, expected.samples)


@pytest.mark.parametrize(("metric", "n_jobs"), [(EQT, 1), (ProximityBias, 2)])
def test_models_of_which_words_are_left_out_keep_their_neighbours(metric, n_jobs):
    one, lacking = model_of(), without(model_of(1), "a5")
    asked = {"n_runs": 3, "metric_params": {"k": 3}}
    query, shorter = query_for(metric, SIZES), query_for(metric, (5, 5, 5, 5))
    got = bias_silhouettes(metric, query, [one, lacking], n_jobs=n_jobs, **asked)
    # Of the query the pair a5, b5 is left out; a neighbour each word remains.
    for silhouette, model in zip(got, (one, lacking), strict=True):
        alone = silhouette_of(metric, shorter, model, **asked)
        np.testing.assert_array_equal(silhouette.curves, alone.curves)
        assert silhouette.value == metric().run_query(shorter, model, k=3)["result"]


def test_models_opened_for_words_only_are_refused_with_that_reason(tmp_path):
    query = query_for(ProximityBias, SIZES)
    words = [word for part in query.target_sets + query.attribute_sets for word in part]
    without(model_of(), "a5").save(tmp_path / "lacking.txt")
    lacking = load(tmp_path / "lacking.txt", words=words)
    with pytest.raises(ValueError, match=rf"lacking was opened for {len(words)} words only"):
        bias_silhouettes(ProximityBias, query, [model_of(), lacking], n_runs=3)


def test_models_may_have_words_in_other_forms():
    lower = model_of()
    upper = WordEmbeddingModel(([word.upper() for word in lower.vocab], lower.vectors), "upper")
    params = {"preprocessors": [{}, {"uppercase": True}]}
    one, other = bias_silhouettes(
        WEAT, query_for(WEAT, SIZES), [lower, upper], n_runs=3, metric_params=params
    )
    np.testing.assert_allclose(one.curves, other.curves, atol=1e-12)
    assert one.words_left_out == ()


def test_a_score_that_is_undefined_for_many_words_is_refused():
    class Often(Plain):
        """Undefined for odd numbers of words."""

        def _compute(self, targets, attributes):
            return np.nan if len(targets[0]) == 5 else super()._compute(targets, attributes)

    with pytest.raises(ValueError, match="undefined for subsets of up to"):
        silhouette_of(Often, query_for(RND, SIZES), model_of(), n_runs=3)
