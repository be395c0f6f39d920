"""Every registered metric against every property; each metric is sorted into one class of each."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe import (
    ECT,
    MAC,
    RIPA,
    RND,
    RNSB,
    SAME,
    WEAT,
    DirectBias,
    GeneralizedWEAT,
    MetricResult,
    Query,
    WordEmbeddingModel,
)
from wefe.embeddings import UnusableVectorError
from wefe.metrics import (
    EQT,
    GIPE,
    SCWEAT,
    NeighborPercentage,
    ProximityBias,
    get_metric,
    list_metrics,
)

# Metrics that other tests or users have registered are none of our business.
METRICS = [metric for metric in list_metrics() if metric.__module__.startswith("wefe.")]

SIGNED_BY_TARGET_ORDER = {WEAT, RND, RIPA, GeneralizedWEAT}
BLIND_TO_TARGET_ORDER = {ECT, MAC, RNSB, SAME, DirectBias, ProximityBias, GIPE}
CHANGED_BY_TARGET_ORDER = {EQT, NeighborPercentage}
ONE_TARGET_SET = {SCWEAT}

SIGNED_BY_ATTRIBUTE_ORDER = {WEAT, GeneralizedWEAT, SCWEAT}
BLIND_TO_ATTRIBUTE_ORDER = {MAC}
CHANGED_BY_ATTRIBUTE_ORDER = {RNSB}
OF_NEIGHBORS = {ProximityBias, GIPE, NeighborPercentage}
ONE_ATTRIBUTE_SET = {RND, ECT, RIPA, SAME, DirectBias, EQT, *OF_NEIGHBORS}

PAIRED = {RIPA, DirectBias, EQT, *OF_NEIGHBORS}
UNPAIRED = {WEAT, RND, RNSB, MAC, ECT, SAME, GeneralizedWEAT, SCWEAT}

COSINES_ONLY = {WEAT, MAC, SAME, DirectBias, GeneralizedWEAT, SCWEAT, EQT, *OF_NEIGHBORS}
LENGTHS_MATTER = {RND, ECT, RNSB, RIPA}

UNBIASED_IF_TARGETS_ARE_EQUAL = {WEAT, RND, ECT, GeneralizedWEAT, EQT}
UNDEFINED_IF_TARGETS_ARE_EQUAL = {RIPA, SAME, DirectBias, *OF_NEIGHBORS}
# They compare words, not sets.
INDIFFERENT_TO_EQUAL_TARGETS = {RNSB, MAC}

NO_BIAS_AT_ZERO = {
    *(WEAT, RND, RNSB, RIPA, SAME, DirectBias, GeneralizedWEAT, SCWEAT, ProximityBias, GIPE)
}
NO_BIAS_AT_ONE = {ECT, MAC, EQT}
NO_BIAS_AT_FIFTY = {NeighborPercentage}

SORTINGS = {
    "order of targets": (
        SIGNED_BY_TARGET_ORDER,
        BLIND_TO_TARGET_ORDER,
        CHANGED_BY_TARGET_ORDER,
        ONE_TARGET_SET,
    ),
    "order of attributes": (
        SIGNED_BY_ATTRIBUTE_ORDER,
        BLIND_TO_ATTRIBUTE_ORDER,
        CHANGED_BY_ATTRIBUTE_ORDER,
        ONE_ATTRIBUTE_SET,
    ),
    "pairs": (PAIRED, UNPAIRED),
    "lengths": (COSINES_ONLY, LENGTHS_MATTER),
    "equal targets": (
        UNBIASED_IF_TARGETS_ARE_EQUAL,
        UNDEFINED_IF_TARGETS_ARE_EQUAL,
        INDIFFERENT_TO_EQUAL_TARGETS,
        ONE_TARGET_SET,
    ),
    "no bias": (NO_BIAS_AT_ZERO, NO_BIAS_AT_ONE, NO_BIAS_AT_FIFTY),
}

# Without chance, and close enough to the optimum that rotations cannot be told apart.
OPTIONS = {
    RNSB: {
        "holdout": False,
        "estimator_params": {"solver": "liblinear", "tol": 1e-12, "max_iter": 100_000},
    },
    # Of so few words a hundred neighbours would be all.
    **{metric: {"k": 5} for metric in OF_NEIGHBORS},
}
# What solving for an optimum costs in digits.
TOLERANCE = {RNSB: 1e-6}

KEYS = {
    WEAT: ["weat", "effect_size", "p_value"],
    RND: ["rnd", "distance_by_word"],
    RNSB: ["rnsb", "negative_sentiment_probabilities", "negative_sentiment_distribution"],
    MAC: ["mac", "targets_eval"],
    ECT: ["ect"],
    RIPA: ["ripa", "word_values"],
    DirectBias: ["direct_bias", "word_values"],
    SAME: ["same", "pairwise", "word_values"],
    GeneralizedWEAT: ["gweat"],
    SCWEAT: ["sc_weat", "effect_sizes", "p_values"],
    EQT: ["eqt"],
    ProximityBias: ["proximity_bias", "word_values"],
    GIPE: ["gipe", "word_values", "weights"],
    NeighborPercentage: ["pmn", "word_values", "group_values"],
}

WANTED = {
    WEAT: "2 target and 2 attribute sets",
    RND: "2 target and 1 attribute sets",
    RNSB: "2 or more target and 2 attribute sets",
    MAC: "1 or more target and 1 or more attribute sets",
    ECT: "2 target and 1 attribute sets",
    RIPA: "2 target and 1 attribute sets",
    DirectBias: "2 or more target and 1 attribute sets",
    SAME: "2 or more target and 1 attribute sets",
    GeneralizedWEAT: "the same number of target and attribute sets, 2 or more",
    SCWEAT: "1 target and 2 attribute sets",
    EQT: "2 target and 1 attribute sets",
    **dict.fromkeys((ProximityBias, GIPE), "2 or more target and 1 attribute sets"),
    NeighborPercentage: "2 target and 1 attribute sets",
}

DIM, N_WORDS = 8, 4

each_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)


def each_of(metrics):
    ordered = sorted(metrics, key=lambda metric: metric.__name__)
    return pytest.mark.parametrize("metric", ordered, ids=lambda metric: metric.__name__)


def example(metric, seed=0, n_words=N_WORDS):
    """A query of up to two target and attribute sets, as the metric takes them, on a model."""
    n_targets, n_attributes = (1 if want == 1 else 2 for want in metric.metric_template)
    sets = [[f"{letter}{i}" for i in range(n_words)] for letter in ("f", "m", "a", "b")]
    sets = sets[:n_targets] + sets[2 : 2 + n_attributes]
    words = [word for part in sets for word in part]
    vectors = np.random.default_rng(seed).normal(0.2, 1, (len(words), DIM))
    # Some bias, so that no score is close to the value for none.
    for i in range(len(sets)):
        vectors[i * n_words : (i + 1) * n_words, i % 2] += 1
    if metric.needs_vocabulary:
        others = np.random.default_rng([seed, 1]).normal(0.2, 1, (30, DIM))
        words += [f"other{i}" for i in range(len(others))]
        vectors = np.concatenate([vectors, others])
    names = ["F", "M"][:n_targets], ["A", "B"][:n_attributes]
    query = Query(sets[:n_targets], sets[n_targets:], *names)
    return query, WordEmbeddingModel((words, vectors), "example")


def run(metric, query, model, **lookup):
    return metric().run_query(query, model, **OPTIONS.get(metric, {}), **lookup)


def close(metric, expected):
    tolerance = TOLERANCE.get(metric, 1e-9)
    return pytest.approx(expected, rel=tolerance, abs=tolerance)


def with_sets(query, targets=None, attributes=None):
    """The query with other words under the same names."""
    return Query(
        targets or query.target_sets,
        attributes or query.attribute_sets,
        query.target_sets_names,
        query.attribute_sets_names,
    )


def with_vectors(model, vectors):
    return WordEmbeddingModel((list(model.vocab), vectors), model.name)


# The sorting


@pytest.mark.parametrize("sorting", SORTINGS.values(), ids=SORTINGS.keys())
def test_every_metric_is_sorted_once(sorting):
    sorted_metrics = [metric for part in sorting for metric in part]
    assert len(sorted_metrics) == len(set(sorted_metrics))
    assert set(sorted_metrics) == set(METRICS)


def test_tables_know_every_metric():
    assert set(KEYS) == set(WANTED) == set(METRICS)


# Symmetries


@each_of(SIGNED_BY_TARGET_ORDER)
def test_swapping_the_targets_changes_the_sign(metric):
    query, model = example(metric)
    swapped = Query(query.target_sets[::-1], query.attribute_sets)
    score = run(metric, query, model)["result"]
    assert abs(score) > 1e-3
    assert run(metric, swapped, model)["result"] == close(metric, -score)


@each_of(BLIND_TO_TARGET_ORDER)
def test_swapping_the_targets_changes_nothing(metric):
    query, model = example(metric)
    swapped = Query(query.target_sets[::-1], query.attribute_sets)
    score = run(metric, query, model)["result"]
    assert run(metric, swapped, model)["result"] == close(metric, score)


@each_of(CHANGED_BY_TARGET_ORDER)
def test_swapping_the_targets_changes_the_score(metric):
    scores = []
    for seed in range(8):
        query, model = example(metric, seed)
        swapped = Query(query.target_sets[::-1], query.attribute_sets)
        scores.append([run(metric, each, model)["result"] for each in (query, swapped)])
    # Counts of hits may be equal by chance.
    assert sum(one != close(metric, other) for one, other in scores) >= 3


@each_of(SIGNED_BY_ATTRIBUTE_ORDER)
def test_swapping_the_attributes_changes_the_sign(metric):
    query, model = example(metric)
    swapped = Query(query.target_sets, query.attribute_sets[::-1])
    score = run(metric, query, model)["result"]
    assert run(metric, swapped, model)["result"] == close(metric, -score)
    if metric in SIGNED_BY_TARGET_ORDER:
        both = Query(query.target_sets[::-1], query.attribute_sets[::-1])
        assert run(metric, both, model)["result"] == close(metric, score)


@each_of(BLIND_TO_ATTRIBUTE_ORDER)
def test_swapping_the_attributes_changes_nothing(metric):
    query, model = example(metric)
    swapped = Query(query.target_sets, query.attribute_sets[::-1])
    assert run(metric, swapped, model)["result"] == close(
        metric, run(metric, query, model)["result"]
    )


@each_of(CHANGED_BY_ATTRIBUTE_ORDER)
def test_swapping_the_attributes_changes_the_score(metric):
    query, model = example(metric)
    swapped = Query(query.target_sets, query.attribute_sets[::-1])
    assert run(metric, swapped, model)["result"] != close(
        metric, run(metric, query, model)["result"]
    )


@each_metric
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.permutations(range(N_WORDS)))
def test_order_of_the_words_does_not_matter(metric, seed, order):
    query, model = example(metric, seed)
    score = run(metric, query, model)["result"]
    attributes = [[words[i] for i in order] for words in query.attribute_sets]
    reordered = with_sets(query, attributes=attributes)
    assert run(metric, reordered, model)["result"] == close(metric, score)

    # Pairs are reordered together, sets one by one.
    first, *others = ([words[i] for i in order] for words in query.target_sets)
    kept = others if metric in PAIRED else query.target_sets[1:]
    reordered = with_sets(query, targets=[first, *kept])
    assert run(metric, reordered, model)["result"] == close(metric, score)


@each_of(PAIRED)
def test_order_of_the_words_decides_what_is_paired(metric):
    changed = 0
    for seed in range(3):
        query, model = example(metric, seed)
        first, second = query.target_sets
        repaired = with_sets(query, targets=[first, second[::-1]])
        score = run(metric, query, model)["result"]
        changed += run(metric, repaired, model)["result"] != close(metric, score)
    assert changed >= 1


@each_metric
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_rotating_the_space_changes_nothing(metric, seed):
    query, model = example(metric, seed)
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(DIM, DIM)))
    rotated = with_vectors(model, model.vectors @ rotation)
    score = run(metric, query, model)["result"]
    assert run(metric, query, rotated)["result"] == close(metric, score)


@each_of(COSINES_ONLY)
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_lengths_of_single_vectors_do_not_matter(metric, seed):
    query, model = example(metric, seed)
    lengths = np.random.default_rng(seed).uniform(0.01, 100, (len(model), 1))
    score = run(metric, query, model)["result"]
    longer = with_vectors(model, lengths * model.vectors)
    assert run(metric, query, longer)["result"] == close(metric, score)
    assert run(metric, query, longer, normalize=True)["result"] == close(metric, score)


@each_of(LENGTHS_MATTER)
def test_lengths_of_single_vectors_matter_unless_normalized(metric):
    changed = 0
    for seed in range(5):
        query, model = example(metric, seed)
        lengths = np.random.default_rng(seed).uniform(0.2, 5, (len(model), 1))
        longer = with_vectors(model, lengths * model.vectors)
        score, other = (run(metric, query, m)["result"] for m in (model, longer))
        changed += abs(score - other) > 1e-3
        score, other = (run(metric, query, m, normalize=True)["result"] for m in (model, longer))
        assert other == close(metric, score)
    assert changed >= 3


# Values


@each_metric
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.booleans())
def test_score_lies_within_the_range_that_the_scale_states(metric, seed, n_words, normalize):
    query, model = example(metric, seed, n_words)
    options = {**OPTIONS.get(metric, {}), "normalize": normalize}
    lowest, highest = metric().scale(query, **options).value_range
    widest = metric().scale(None, **options).value_range
    assert widest[0] <= lowest < highest <= widest[1]
    score = metric().run_query(query, model, **options)["result"]
    assert lowest - 1e-12 <= score <= highest + 1e-12


@each_metric
def test_scale_tells_which_value_means_no_bias(metric):
    query, _ = example(metric)
    scale = metric().scale(query)
    expected = 50 if metric in NO_BIAS_AT_FIFTY else float(metric in NO_BIAS_AT_ONE)
    assert scale.no_bias_value == expected
    assert scale.value_range[0] <= scale.no_bias_value <= scale.value_range[1]
    assert scale.label == metric.metric_short_name
    assert scale.bias(scale.no_bias_value) == 0


@each_of(UNBIASED_IF_TARGETS_ARE_EQUAL)
def test_equal_targets_have_the_value_for_no_bias(metric):
    query, model = example(metric)
    equal = with_sets(query, targets=[query.target_sets[0]] * 2)
    expected = metric().scale().no_bias_value
    assert run(metric, equal, model)["result"] == pytest.approx(expected, abs=1e-12)


@each_of(UNDEFINED_IF_TARGETS_ARE_EQUAL)
def test_equal_targets_are_nan_with_a_reason(metric):
    query, model = example(metric)
    result = run(metric, with_sets(query, targets=[query.target_sets[0]] * 2), model)
    assert math.isnan(result["result"])
    assert result.nan_reason
    assert list(result) == ["query_name", "result", *KEYS[metric]]


@each_of(INDIFFERENT_TO_EQUAL_TARGETS)
def test_equal_targets_are_measured_word_by_word(metric):
    query, model = example(metric)
    first = query.target_sets[0]
    result = run(metric, with_sets(query, targets=[first, first]), model)
    shuffled = run(metric, with_sets(query, targets=[first, first[::-1]]), model)
    assert math.isfinite(result["result"])
    assert result["result"] == close(metric, shuffled["result"])


@each_metric
def test_vectors_of_single_precision_are_measured_in_double_precision(metric):
    query, model = example(metric)
    single = with_vectors(model, model.vectors.astype(np.float32))
    double = with_vectors(model, single.vectors.astype(np.float64))
    assert run(metric, query, single) == run(metric, query, double)


@each_metric
def test_default_options_give_a_score(metric):
    query, model = example(metric, n_words=8)
    result = metric().run_query(query, model)
    assert math.isfinite(result["result"])
    assert type(result["result"]) is float


# Results


@each_metric
def test_result_has_its_documented_keys_in_order(metric):
    query, model = example(metric)
    result = run(metric, query, model)
    assert isinstance(result, MetricResult)
    assert list(result) == ["query_name", "result", *KEYS[metric]]
    assert result["query_name"] == query.query_name
    assert result["result"] == result[KEYS[metric][0]]
    assert result.query == query
    assert result.model_name == "example"
    assert result.metric_name == metric.metric_short_name
    assert result.nan_reason is None
    assert result.lost_words == {}
    assert [use.name for use in result.targets] == query.target_sets_names
    assert query.target_sets_names[0] == "F"
    assert result.attributes[0].used == tuple(query.attribute_sets[0])


def leaves(value):
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    return [value]


@each_metric
def test_result_holds_plain_numbers_that_json_can_write(metric):
    query, model = example(metric)
    result = run(metric, query, model)
    assert {type(leaf) for leaf in leaves(result)} == {str, float}
    assert json.loads(json.dumps(result))["result"] == result["result"]


@each_metric
@pytest.mark.parametrize("side", [0, 1])
def test_nan_result_has_the_same_keys_in_the_same_order_and_a_reason(metric, side):
    query, model = example(metric)
    sets = [query.target_sets, query.attribute_sets]
    sets[side][0][1] = "xyzzy"
    lost = with_sets(query, *sets)
    result = run(metric, lost, model)
    assert list(result) == list(run(metric, query, model))
    assert result["query_name"] == query.query_name
    assert math.isnan(result["result"])
    assert math.isnan(result[KEYS[metric][0]])
    assert result.nan_reason == (
        f"'{'FA'[side]}' lost 25% of its words (xyzzy), more than the 20% allowed"
    )
    assert result.lost_words == {"FA"[side]: ["xyzzy"]}
    assert result.metric_name == metric.metric_short_name


@each_metric
@pytest.mark.parametrize("found", [True, False])
def test_result_can_be_pickled_and_copied(metric, found):
    query, model = example(metric)
    if not found:
        query = with_sets(query, targets=[["xyzzy"], ["plugh"]][: len(query.target_sets)])
    result = run(metric, query, model)
    for twin in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert isinstance(twin, MetricResult)
        assert repr(twin) == repr(result)
        assert twin.query == query
        assert twin.nan_reason == result.nan_reason
        assert (twin.targets, twin.attributes) == (result.targets, result.attributes)
        assert twin.model_name == "example"
        assert twin.metric_name == metric.metric_short_name
        assert list(twin.details) == list(result.details)


# Look-up


@each_metric
def test_lost_words_within_the_threshold_are_left_out(metric):
    query, model = example(metric)
    # Both sides of a pair, as a metric that pairs words leaves out the whole pair.
    targets = [[*words, "xyzzy"] for words in query.target_sets]
    attributes = [[*words, "plugh"] for words in query.attribute_sets]
    result = run(metric, with_sets(query, targets, attributes), model)
    assert result["result"] == close(metric, run(metric, query, model)["result"])
    assert result.lost_words["F"] == ["xyzzy"]
    strict = run(metric, with_sets(query, targets), model, lost_vocabulary_threshold=0.1)
    assert math.isnan(strict["result"])
    assert strict.nan_reason.startswith("'F' lost 20% of its words (xyzzy), more than the 10% all")


@each_metric
def test_preprocessors_are_applied(metric):
    query, model = example(metric)
    shouted = with_sets(query, [[word.upper() for word in words] for words in query.target_sets])
    result = run(metric, shouted, model, preprocessors=[{}, {"lowercase": True}])
    assert repr(result) == repr(run(metric, query, model))
    assert math.isnan(run(metric, shouted, model)["result"])


@each_metric
def test_prefix_of_the_vocabulary_is_applied(metric):
    query, model = example(metric)
    prefixed = WordEmbeddingModel(
        ([f"/c/en/{word}" for word in model.vocab], model.vectors), "example", "/c/en/"
    )
    assert run(metric, query, prefixed)["result"] == run(metric, query, model)["result"]


@each_metric
def test_unusable_vector_is_an_error_that_names_the_word(metric):
    query, model = example(metric)
    for value, kind in ((0.0, "zero"), (math.nan, "NaN or inf")):
        broken = with_vectors(model, model.vectors.copy())
        broken.vectors[1] = value
        with pytest.raises(UnusableVectorError, match=f"example .* in 'F': {kind} for .*f1"):
            run(metric, query, broken)


# What is refused, and what is left alone


@each_metric
def test_query_of_another_shape_is_refused(metric):
    query, model = example(metric)
    wrong = Query([query.target_sets[0]], [])
    with pytest.raises(ValueError, match="needs") as caught:
        run(metric, wrong, model)
    assert str(caught.value) == (
        f"{metric.metric_name} needs {WANTED[metric]}; 'Target set 0' has 1 and 0. "
        "To split larger queries, use Query.get_subqueries, or "
        "run_queries(generate_subqueries=True)."
    )
    assert not metric().accepts(wrong)
    assert metric().subqueries(wrong) == []
    assert metric().accepts(query)
    assert metric().subqueries(query) == [query]


@each_metric
def test_unknown_parameter_is_refused(metric):
    query, model = example(metric)
    with pytest.raises(
        TypeError, match=f"{metric.__name__}.run_query has no parameter 'normalise'"
    ):
        run(metric, query, model, normalise=True)


@each_metric
@pytest.mark.parametrize("lookup", [{}, {"normalize": True}])
def test_model_and_query_are_not_changed(metric, lookup):
    query, model = example(metric)
    vectors, vocabulary, words = model.vectors.tobytes(), list(model.vocab), query.dict()
    run(metric, query, model, **lookup)
    assert model.vectors.tobytes() == vectors
    assert list(model.vocab) == vocabulary
    assert query.dict() == words


@each_metric
def test_global_generator_is_neither_used_nor_changed(metric):
    query, model = example(metric, n_words=8)
    options = {"calculate_p_value": True} if metric is WEAT else {}
    before = pickle.dumps(np.random.get_state())  # noqa: NPY002
    metric().run_query(query, model, **options)
    assert pickle.dumps(np.random.get_state()) == before  # noqa: NPY002


# The class itself


@each_metric
def test_metric_introduces_itself(metric):
    assert repr(metric()) == f"{metric.__name__}()"
    assert metric.metric_name
    assert metric.metric_short_name
    assert "References" in metric.__doc__
    assert "Examples" in metric.__doc__


@each_metric
def test_metric_is_found_by_its_names(metric):
    for name in (metric.__name__, metric.metric_short_name):
        for spelling in (name, name.lower(), name.upper().replace(" ", "-")):
            assert get_metric(spelling) is metric


@each_metric
def test_instances_keep_no_state(metric):
    query, model = example(metric)
    instance = metric()
    before = dict(vars(instance))
    instance.run_query(query, model, **OPTIONS.get(metric, {}))
    assert vars(instance) == before
