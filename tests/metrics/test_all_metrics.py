"""Every registered metric against every property, and every formula against its definition."""

import copy
import inspect
import json
import math
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wefe.metrics
from wefe import MetricResult, Query, WordEmbeddingModel
from wefe.embeddings import UnusableVectorError
from wefe.metrics import (
    ECT,
    MAC,
    RIPA,
    RND,
    SAME,
    SCWEAT,
    WEAT,
    BaseMetric,
    GeneralizedWEAT,
    association,
    list_metrics,
)

# Metrics that other tests or users have registered are none of our business.
METRICS = [metric for metric in list_metrics() if metric.__module__.startswith("wefe.")]


class Facts(NamedTuple):
    """What is known of a metric: a new one gets a row in the table below."""

    keys: str
    wanted: str
    #: What swapping two target sets, or two attribute sets, does to the score.
    targets_swapped: str
    attributes_swapped: str = "same"
    pairs: bool = False
    cosines_only: bool = True
    #: The score of equal target sets.
    equal_targets: str = "undefined"
    no_bias: float = 0.0
    #: Without chance, and close enough to the optimum that rotations cannot be told apart.
    options: dict = {}  # noqa: RUF012
    tolerance: float = 1e-9


FIT = {"solver": "liblinear", "tol": 1e-12, "max_iter": 100_000}
# Of so few words a hundred neighbours would be all.
OF_NEIGHBORS = {"pairs": True, "options": {"k": 5}}
TWO_ONE, MANY_ONE = "2 target and 1 attribute sets", "2 or more target and 1 attribute sets"
FACTS = {
    "DirectBias": Facts("direct_bias word_values", MANY_ONE, "same", pairs=True),
    "ECT": Facts("ect", TWO_ONE, "same", cosines_only=False, equal_targets="no bias", no_bias=1),
    "EQT": Facts("eqt", TWO_ONE, "other", pairs=True, equal_targets="no bias", no_bias=1),
    "GeneralizedWEAT": Facts(
        *("gweat", "the same number of target and attribute sets, 2 or more"),
        *("sign", "sign"),
        equal_targets="no bias",
    ),
    "GIPE": Facts("gipe word_values weights", MANY_ONE, "same", **OF_NEIGHBORS),
    "MAC": Facts(
        *("mac targets_eval", "1 or more target and 1 or more attribute sets", "same"),
        equal_targets="by word",
        no_bias=1,
    ),
    "NeighborPercentage": Facts(
        "pmn word_values group_values", TWO_ONE, "other", no_bias=50, **OF_NEIGHBORS
    ),
    "ProximityBias": Facts("proximity_bias word_values", MANY_ONE, "same", **OF_NEIGHBORS),
    "RIPA": Facts("ripa word_values", TWO_ONE, "sign", pairs=True, cosines_only=False),
    "RND": Facts(
        "rnd distance_by_word", TWO_ONE, "sign", cosines_only=False, equal_targets="no bias"
    ),
    "RNSB": Facts(
        "rnsb negative_sentiment_probabilities negative_sentiment_distribution",
        *("2 or more target and 2 attribute sets", "same", "other"),
        cosines_only=False,
        equal_targets="by word",
        options={"holdout": False, "estimator_params": FIT},
        tolerance=1e-6,
    ),
    "SAME": Facts("same pairwise word_values", MANY_ONE, "same"),
    "SCWEAT": Facts(
        *("sc_weat effect_sizes p_values", "1 target and 2 attribute sets", "same", "sign"),
        equal_targets="has one",
    ),
    "WEAT": Facts(
        *("weat effect_size p_value", "2 target and 2 attribute sets", "sign", "sign"),
        equal_targets="no bias",
    ),
}
DIM, N_WORDS = 8, 4

each_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
random = settings(max_examples=8, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def of(metric):
    return FACTS[metric.__name__]


def keys_of(metric):
    return ["query_name", "result", *of(metric).keys.split()]


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
    return metric().run_query(query, model, **of(metric).options, **lookup)


def score_of(metric, query, model, **lookup):
    return run(metric, query, model, **lookup)["result"]


def close(metric, expected):
    return pytest.approx(expected, rel=of(metric).tolerance, abs=of(metric).tolerance)


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


def test_the_table_knows_every_metric():
    assert list(FACTS) == [metric.__name__ for metric in METRICS]


# Defaults: if one changes, so do numbers of users

# The widest range of scores, and what a metric adds to the parameters of all or changes of them.
DEFAULTS = {
    "DirectBias": "0 1 c=1.0 direction=pca n_components=1",
    "ECT": "-1 1 p_value_test_type=two-sided",
    "EQT": "0 1 both_directions=False k=1 p_value_test_type=two-sided",
    "GeneralizedWEAT": "-inf inf",
    "GIPE": "0 1 direction=pca exclude=() k=100 n_components=1 "
    "p_value_iterations=999 p_value_test_type=two-sided theta=0.05",
    "MAC": "0 2 average=sets",
    "NeighborPercentage": "0 100 direction=pca exclude=() k=100 n_components=1 "
    "p_value_iterations=999 p_value_test_type=two-sided",
    "ProximityBias": "0 1 direction=pca exclude=() k=100 n_components=1 "
    "p_value_iterations=999 p_value_test_type=two-sided theta=0.05",
    "RIPA": "-inf inf relation=pairs",
    "RND": "-inf inf distance=norm reduce=mean",
    "RNSB": "0 inf holdout=True n_iterations=1 p_value_iterations=199 "
    "p_value_test_type=two-sided print_model_evaluation=False",
    "SAME": "0 inf combine=sum p_value_test_type=two-sided",
    "SCWEAT": "-inf inf ddof=0 reduce=mean",
    "WEAT": "-inf inf ddof=0 p_value_method=approximate return_effect_size=False",
}
OF_FUNCTIONS = """
    bias_subspace: n_components=1 normalize=True
    classification_test: kernel=rbf n_permutations=1000 random_state=0
    cluster_test: n_permutations=1000 random_state=0
    direct_bias: c=1.0
    neighbor_test: k=100 n_permutations=1000 random_state=0
    permutation_test: alternative=greater method=approximate n_iterations=10000
    projection_test: n_permutations=1000 random_state=0
    sembias: n_subset=0 normalize=False
"""


@each_metric
def test_defaults_and_ranges_of_metrics(metric):
    low, high = metric().scale().value_range
    values = {name: getattr(metric, name) for name in sorted(metric.parameters())}
    own = [f"{k}={v}" for k, v in values.items() if v != getattr(BaseMetric, k, None)]
    assert " ".join([f"{low:g} {high:g}", *own]) == DEFAULTS[metric.__name__]


@each_metric
def test_a_query_of_another_shape_leaves_the_range_open(metric):
    for n_targets, n_attributes in ((2, 1), (3, 3)):
        query = Query([["a", "b"]] * n_targets, [["c", "d"]] * n_attributes)
        assert metric().scale(query).value_range[1] >= 0


def test_ranges_depend_on_parameters():
    assert SCWEAT().scale(None, reduce="mean_abs").value_range == (0.0, np.inf)
    assert RIPA().scale(None, normalize=True).value_range == (-1.0, 1.0)


def test_defaults_of_functions():
    found = []
    for name, function in inspect.getmembers(wefe.metrics, inspect.isfunction):
        parameters = inspect.signature(function).parameters.items()
        own = [f"{k}={v.default}" for k, v in parameters if v.default not in (v.empty, None)]
        found += [f"{name}:", *own] * bool(own)
    assert " ".join(found).split() == OF_FUNCTIONS.split()


# Formulas


# Metric, its target sets and its attribute sets: p is one of two sets that make pairs.
FORMULAS = {
    "weat": [(WEAT(), "xy", "ab")],
    "weat_effect_size": [(WEAT(return_effect_size=True, ddof=ddof), "xy", "ab") for ddof in (0, 1)],
    "rnd_by_word": [(RND(distance=each), "xy", "a") for each in ("norm", "cos", "cos_distance")],
    "ect": [(ECT(), "xy", "m")],
    "mac": [(MAC(average=each), "xyz", "ab") for each in ("sets", "words")],
    "ripa": [(RIPA(), "pp", "a")],
    "same_by_word": [(SAME(combine=each), "xyza", "b") for each in ("sum", "projection")],
    "generalized_weat": [(GeneralizedWEAT(), "xy", "ab"), (GeneralizedWEAT(), "xyz", "abc")],
}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_agree_with_their_definitions(name, literal, seed):
    definition, rng = getattr(literal, name), np.random.default_rng(seed)
    sizes = {"p": rng.integers(1, 6), "m": rng.integers(2, 9)}
    for metric, *sides in FORMULAS[name]:
        targets, attributes = (
            [rng.normal(0.2, 1, (sizes.get(part, rng.integers(1, 6)), 5)) for part in side]
            for side in sides
        )
        first, *others = inspect.signature(definition).parameters
        options = {each: getattr(metric, each) for each in others if hasattr(metric, each)}
        args = {"targets": (targets, attributes), "words": (attributes[0], targets)}
        expected = definition(*args.get(first, [*targets, *attributes]), **options)
        score = metric.run_vectors(targets, attributes)["result"]
        assert score == pytest.approx(np.mean(expected), rel=1e-9, abs=1e-9)


def test_associations_agree_with_their_definition(literal):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        words, a, b = (rng.normal(0.2, 1, (n, 5)) for n in rng.integers(1, 6, 3))
        expected = [literal.association(word, a, b) for word in words]
        np.testing.assert_allclose(association(words, a, b), expected, rtol=1e-9, atol=1e-9)


# Invariances


@each_metric
@pytest.mark.parametrize("side", [0, 1], ids=["targets", "attributes"])
def test_swapping_sets_does_what_the_table_says(metric, side):
    changed = 0
    how = (of(metric).targets_swapped, of(metric).attributes_swapped)[side]
    for seed in range(8):
        query, model = example(metric, seed)
        sets = [query.target_sets, query.attribute_sets]
        sets[side] = sets[side][::-1]
        score, swapped = (score_of(metric, each, model) for each in (query, Query(*sets)))
        if how == "other":
            changed += swapped != close(metric, score)
        else:
            assert swapped == close(metric, -score if how == "sign" else score)
            assert abs(score) > 1e-3 or how == "same"
    # Counts of hits may be equal by chance.
    assert changed >= (3 if how == "other" else 0)


@each_metric
@random
@given(seeds, st.permutations(range(N_WORDS)))
def test_order_of_the_words_does_not_matter(metric, seed, order):
    query, model = example(metric, seed)
    attributes = [[words[i] for i in order] for words in query.attribute_sets]
    # Pairs are reordered together, sets one by one.
    first, *others = ([words[i] for i in order] for words in query.target_sets)
    targets = [first, *(others if of(metric).pairs else query.target_sets[1:])]
    reordered = with_sets(query, targets, attributes)
    assert score_of(metric, reordered, model) == close(metric, score_of(metric, query, model))


@pytest.mark.parametrize("metric", [each for each in METRICS if of(each).pairs])
def test_order_of_the_words_decides_what_is_paired(metric):
    changed = 0
    for seed in range(3):
        query, model = example(metric, seed)
        first, second = query.target_sets
        other = score_of(metric, with_sets(query, [first, second[::-1]]), model)
        changed += other != close(metric, score_of(metric, query, model))
    assert changed >= 1


@pytest.mark.parametrize("metric", [each for each in METRICS if of(each).pairs])
def test_pairs_that_lost_a_word_are_left_out_and_counted(metric):
    query, model = example(metric)
    (f, m), (f0, m0) = query.target_sets, (part[0] for part in query.target_sets)
    lost = with_sets(query, [["xyzzy", *f, f0], [m0, *m, "plugh"]])
    result = run(metric, lost, model, lost_vocabulary_threshold=0.4)
    assert result["result"] == close(metric, score_of(metric, query, model))
    assert result.lost_words == {"F": ["xyzzy"], "M": ["plugh"]}
    # Each set may lose a different third, and two thirds of the pairs are gone.
    few = with_sets(query, [["xyzzy", f0, f[1]], [m0, "plugh", m[1]]])
    result = run(metric, few, model, lost_vocabulary_threshold=0.5)
    assert math.isnan(result["result"])
    assert result.nan_reason == "2 of 3 pairs of target words lost a word"
    none = with_sets(query, [["xyzzy", *f[1:]], [m0, *["plugh"] * (len(m) - 1)]])
    result = run(metric, none, model, lost_vocabulary_threshold=1.0)
    assert result.nan_reason == f"{len(f)} of {len(f)} pairs of target words lost a word"
    with pytest.raises(ValueError, match="'F' has 4, 'M' has 3"):
        run(metric, with_sets(query, [f, m[:3]]), model)


@each_metric
@random
@given(seeds)
def test_rotating_the_space_changes_nothing(metric, seed):
    query, model = example(metric, seed)
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(DIM, DIM)))
    rotated = with_vectors(model, model.vectors @ rotation)
    assert score_of(metric, query, rotated) == close(metric, score_of(metric, query, model))


@each_metric
def test_lengths_of_single_vectors_matter_to_those_that_see_them_unless_normalized(metric):
    changed = 0
    for seed in range(5):
        query, model = example(metric, seed)
        lengths = np.random.default_rng(seed).uniform(0.1, 10, (len(model), 1))
        longer = with_vectors(model, lengths * model.vectors)
        score, other = (score_of(metric, query, each) for each in (model, longer))
        changed += other != close(metric, score)
        score, other = (score_of(metric, query, each, normalize=True) for each in (model, longer))
        assert other == close(metric, score)
    assert changed == 0 if of(metric).cosines_only else changed >= 3


# Values


@each_metric
@settings(max_examples=15, deadline=None)
@given(seeds, st.integers(2, 5), st.booleans())
def test_score_lies_within_the_range_that_the_scale_states(metric, seed, n_words, normalize):
    query, model = example(metric, seed, n_words)
    options = {**of(metric).options, "normalize": normalize}
    scale, widest = metric().scale(query, **options), metric().scale(None, **options)
    lowest, highest = scale.value_range
    assert widest.value_range[0] <= lowest < highest <= widest.value_range[1]
    score = metric().run_query(query, model, **options)["result"]
    assert lowest - 1e-12 <= score <= highest + 1e-12
    assert scale.label == metric.metric_short_name
    assert lowest <= scale.no_bias_value == of(metric).no_bias <= highest
    assert scale.bias(scale.no_bias_value) == 0


@each_metric
def test_equal_targets_score_what_the_table_says(metric):
    how = of(metric).equal_targets
    query, model = example(metric)
    first = query.target_sets[0]
    if how == "has one":
        return
    result = run(metric, with_sets(query, [first, first]), model)
    if how == "no bias":
        assert result["result"] == pytest.approx(of(metric).no_bias, abs=1e-12)
    elif how == "by word":
        shuffled = run(metric, with_sets(query, [first, first[::-1]]), model)
        assert result["result"] == close(metric, shuffled["result"])
    else:
        assert math.isnan(result["result"])
        assert result.nan_reason
        assert list(result) == keys_of(metric)


@each_metric
def test_vectors_of_single_precision_are_measured_in_double_precision(metric):
    query, model = example(metric)
    single = with_vectors(model, model.vectors.astype(np.float32))
    double = with_vectors(model, single.vectors.astype(np.float64))
    assert run(metric, query, single) == run(metric, query, double)


# Results


def leaves(value):
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    return [value]


@each_metric
def test_result_has_its_documented_keys_in_order_and_plain_numbers(metric):
    query, model = example(metric)
    result = run(metric, query, model)
    assert list(result) == keys_of(metric)
    assert result["query_name"] == query.query_name
    assert result["result"] == result[of(metric).keys.split()[0]]
    assert {type(leaf) for leaf in leaves(result)} == {str, float}
    assert json.loads(json.dumps(result))["result"] == result["result"]
    assert (result.query, result.model_name) == (query, "example")
    assert (result.nan_reason, result.lost_words) == (None, {})
    assert result.metric_name == metric.metric_short_name
    assert [use.name for use in result.targets] == query.target_sets_names
    assert result.attributes[0].used == tuple(query.attribute_sets[0])


@each_metric
def test_nan_result_has_the_same_keys_and_a_reason_and_results_can_be_copied(metric):
    query, model = example(metric)
    complete = run(metric, query, model)
    for side, name in enumerate("FA"):
        sets = copy.deepcopy([query.target_sets, query.attribute_sets])
        sets[side][0][1] = "xyzzy"
        result = run(metric, with_sets(query, *sets), model)
        assert list(result) == keys_of(metric)
        assert math.isnan(result["result"])
        assert math.isnan(result[of(metric).keys.split()[0]])
        assert result.nan_reason.startswith(f"'{name}' lost 25% of its words (xyzzy)")
        assert result.lost_words == {name: ["xyzzy"]}
    for found in (complete, result):
        for twin in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            assert isinstance(twin, MetricResult)
            assert repr(twin) == repr(found)
            for name in ("query", "nan_reason", "targets", "attributes", "model_name"):
                assert getattr(twin, name) == getattr(found, name)
            assert twin.metric_name == metric.metric_short_name
            assert list(twin.details) == list(found.details)


# Look-up


@each_metric
def test_lost_words_within_the_threshold_are_left_out(metric, caplog):
    query, model = example(metric)
    # Both sides of a pair, as a metric that pairs words leaves out the whole pair.
    targets = [[*words, "xyzzy"] for words in query.target_sets]
    attributes = [[*words, "plugh"] for words in query.attribute_sets]
    result = run(metric, with_sets(query, targets, attributes), model)
    assert result["result"] == close(metric, score_of(metric, query, model))
    assert result.lost_words["F"] == ["xyzzy"]
    assert "xyzzy" not in caplog.text
    strict = run(metric, with_sets(query, targets), model, lost_vocabulary_threshold=0.1)
    assert math.isnan(strict["result"])
    assert strict.nan_reason.startswith("'F' lost 20% of its words (xyzzy), more than the 10%")


@each_metric
def test_preprocessors_and_the_prefix_of_the_vocabulary_are_applied(metric):
    query, model = example(metric)
    shouted = with_sets(query, [[word.upper() for word in words] for words in query.target_sets])
    result = run(metric, shouted, model, preprocessors=[{}, {"lowercase": True}])
    assert repr(result) == repr(run(metric, query, model))
    assert math.isnan(score_of(metric, shouted, model))
    words = [f"/c/en/{word}" for word in model.vocab]
    prefixed = WordEmbeddingModel((words, model.vectors), "example", "/c/en/")
    assert score_of(metric, query, prefixed) == result["result"]


@each_metric
@pytest.mark.parametrize("value", [0.0, math.nan])
def test_unusable_vector_is_an_error_that_names_the_word(metric, value):
    query, model = example(metric)
    model.vectors[1] = value
    with pytest.raises(UnusableVectorError, match="example .* in 'F': .*f1"):
        run(metric, query, model)


# What is refused, and what is left alone


@each_metric
def test_query_of_another_shape_and_unknown_parameters_are_refused(metric):
    query, model = example(metric)
    wrong = Query([query.target_sets[0]], [])
    with pytest.raises(ValueError, match=f"{of(metric).wanted}; 'Target set 0' has 1 and 0"):
        run(metric, wrong, model)
    assert not metric().accepts(wrong)
    assert metric().subqueries(wrong) == []
    assert metric().accepts(query)
    assert metric().subqueries(query) == [query]
    with pytest.raises(TypeError, match="normalise"):
        run(metric, query, model, normalise=True)


@each_metric
def test_model_query_instance_and_global_generator_are_left_as_they_were(metric):
    query, model = example(metric, n_words=8)

    def state():
        generator = pickle.dumps(np.random.get_state())  # noqa: NPY002
        return model.vectors.tobytes(), list(model.vocab), query.dict(), generator, repr(metric())

    before, instance = state(), metric()
    result = instance.run_query(query, model, calculate_p_value=metric.__name__ == "WEAT")
    assert type(result["result"]) is float
    assert math.isfinite(result["result"])
    assert vars(instance) == vars(metric())
    run(metric, query, model, normalize=True)
    assert state() == before
