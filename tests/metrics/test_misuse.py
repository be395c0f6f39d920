"""Wrong values for every parameter of every public callable: each gets a clear error of ours."""

import inspect
import warnings

import numpy as np
import pytest
from misuse import ANYTHING, complaint, spoilt

import wefe.metrics
from wefe import Query, WordEmbeddingModel
from wefe.embeddings import Lookup
from wefe.metrics import BaseMetric, list_metrics

# They take no arrays or parameters, or what only run_query makes.
NOT_WALKED = {"list_metrics", "joint_negative_sentiment", "negative_sentiment_correlation"}
FUNCTIONS = {
    name: function
    for name in dir(wefe.metrics)
    if inspect.isfunction(function := getattr(wefe.metrics, name)) and name not in NOT_WALKED
}
METRICS = [metric for metric in list_metrics() if metric.__module__.startswith("wefe.")]


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


WORDS = [f"w{i}" for i in range(20)]
MODEL = WordEmbeddingModel(([*WORDS, "he", "she"], drawn(22, 3)), "drawn")
FIRST, SECOND, MORE = (drawn(n, 3, seed=seed) for seed, n in enumerate((4, 4, 6), 1))
GROUPS = [FIRST, SECOND]

# What functions are given for what they must be given, by the name of the parameter.
GOOD = {
    **dict.fromkeys(["x", "t1", "first", "group_1", "positive"], FIRST),
    **dict.fromkeys(["y", "t2", "second", "group_2", "negative", "b"], SECOND),
    **dict.fromkeys(["a", "t", "w", "words", "vectors"], MORE),
    **dict.fromkeys(["targets", "attributes", "groups", "defining_sets"], GROUPS),
    **dict.fromkeys(["train", "test"], GROUPS),
    "candidates": drawn(9, 3),
    "directions": np.array([[1.0, 0.0, 0.0]]),
    "towards": np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]),
    "indirect": drawn(2, 3),
    "along": drawn(2, 3, 2),
    "rows_of_words": np.array([0, 1]),
    "neighbor_rows": np.array([[1, 2, 3], [0, 2, 3]]),
    "cosines": np.array([0.3, 0.4]),
    "along_first": np.array([[0.1], [0.2]]),
    "along_second": np.array([[0.3], [0.1]]),
    "negative_probabilities": np.array([0.2, 0.3]),
    "bias": drawn(6),
    "rows": np.array([0, 1, 3, 4]),
    "before": drawn(6),
    "after": drawn(6, seed=1),
    "model": MODEL,
    "name": "weat",
    "metric": wefe.metrics.WEAT,
}
QUESTION = [["w0", "w1"], ["w2", "w3"], ["w4", "w5"], ["w6", "w7"]]
# Of single functions, beside what is quick or fits so little data.
GOOD_OF = {
    "permutation_test": {"x": FIRST[:, 0], "y": SECOND[:, 0], "n_iterations": 50},
    "bias_by_projection": {"first": FIRST[0], "second": SECOND[0]},
    "neighborhoods": {"words": WORDS[:2], "k": 2},
    "bias_by_neighbors": {"k": 2},
    "neighbor_correlation": {"k": 2},
    "neighbor_test": {"k": 2, "n_permutations": 9},
    "projection_test": {"n_permutations": 9},
    "classification_test": {"n_permutations": 9, "n_repeats": 2},
    "sembias": {"questions": [QUESTION, QUESTION], "direction": ["he", "she"]},
}

# What messages call a parameter, where it is not its name.
CALLED = {
    "preprocessors": "preprocessor",
    "name": "metric",
    "metric": "subclass",
    "targets": "target",
    "attributes": "attribute",
    "indirect_bias.directions": "directions|all vectors",
}

BOOL, ZERO, ANY_NUMBER = {"bool"}, {"zero"}, {"zero", "float", "huge"}
# What is not wrong at all, by the name of the parameter or of the function and the parameter.
FINE = {
    **dict.fromkeys(["normalize", "balanced", "both_directions", "holdout"], BOOL),
    **dict.fromkeys(["warn_not_found_words", "print_model_evaluation"], BOOL),
    **dict.fromkeys(["calculate_p_value", "p_value_verbose", "return_effect_size"], BOOL),
    **dict.fromkeys(["ddof", "relative_gap", "lost_vocabulary_threshold", "group"], ZERO),
    "n_subset": ZERO,
    "random_state": {"None", "zero"},
    "c": ANY_NUMBER,
    "gamma": ANY_NUMBER,
    "theta": ANY_NUMBER | {"negative"},
    "exclude": {"empty list", "texts"},
    "candidates": {"texts"},
    "variants": {"empty dict"},
    # scikit-learn says well enough what its classifiers do not take.
    "estimator_params": {"empty dict", "dict"},
    "questions": {"only one"},
    "direction": {"texts"},
    # One direction or several.
    "directions": {"an axis less"},
    "indirect_bias.first": {"an axis less"},
    "indirect_bias.second": {"an axis less"},
    "bias_by_projection.first": {"an axis more"},
    "bias_by_projection.second": {"an axis more"},
    # One association or more.
    "permutation_test.x": {"numbers"},
    "permutation_test.y": {"numbers"},
    "mac.targets": {"only one"},
    "mac.attributes": {"only one"},
    "mac_by_word.attributes": {"only one"},
    # No other array has these axes.
    "vectors": {"a column more"},
    "proximity_bias.indirect": {"NaN", "a column more"},
    "neighbor_group_shares.along": {"NaN", "a column more"},
    "gipe.indirect": {"NaN"},
    # Arrays of any shape, with NaN where nothing is known.
    "cosines": {"NaN", "numbers", "too deep", "an array without axes", "an axis more"}
    | {"an axis less", "negative", *ANY_NUMBER},
    "along_first": {"NaN", "an axis more", "an axis less"},
    "along_second": {"NaN", "an axis more", "an axis less"},
}


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def complaints(called, parameter, values, call, default=inspect.Parameter.empty):
    """Give what is wrong with the answers to wrong values of a parameter, in a line each."""
    fine = FINE.get(f"{called}.{parameter}", FINE.get(parameter, set()))
    culprit = CALLED.get(f"{called}.{parameter}", CALLED.get(parameter, parameter))
    for wrong, value in values.items():
        if wrong in fine or value is default:
            continue
        complained = complaint(lambda value=value: call(value), culprit)
        if complained:
            yield f"{called}({parameter}={wrong}): {complained}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_refuse_wrong_values(name):
    function = FUNCTIONS[name]
    parameters = inspect.signature(function).parameters
    groups = GROUPS if name == "cluster_alignment" else []
    good = {
        parameter: GOOD[parameter]
        for parameter, declared in parameters.items()
        if declared.default is declared.empty and declared.kind is not declared.VAR_POSITIONAL
    } | GOOD_OF.get(name, {})
    function(*groups, **good)
    found = []
    for parameter, declared in parameters.items():
        if declared.kind is declared.VAR_POSITIONAL:
            values = {**ANYTHING, **dict(spoilt(FIRST))}
            found += complaints(name, parameter, values, lambda v: function(v, SECOND, **good))
            continue
        values = {**ANYTHING, **dict(spoilt(good.get(parameter, GOOD.get(parameter))))}
        found += complaints(
            *(name, parameter, values),
            lambda value, parameter=parameter: function(*groups, **{**good, parameter: value}),
            declared.default,
        )
    assert found == []


def example(metric):
    n_targets, n_attributes = (1 if want == 1 else 2 for want in metric.metric_template)
    query = Query([WORDS[:4], WORDS[4:8]][:n_targets], [WORDS[8:12], WORDS[12:16]][:n_attributes])
    return query, {"k": 3} if "k" in metric.parameters() else {}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
def test_metrics_refuse_wrong_parameters(metric, caplog):
    caplog.set_level("ERROR")
    (query, others), found = example(metric), []
    metric().run_query(query, MODEL, **others)
    for parameter in [*metric.parameters(), *Lookup.__annotations__]:
        default = getattr(metric, parameter, None)
        ways = {
            f"{metric.__name__}.run_query": lambda value, parameter=parameter: metric().run_query(
                query, MODEL, **{**others, parameter: value}
            ),
            metric.__name__: lambda value, parameter=parameter: metric(
                **{**others, parameter: value}
            ).run_query(query, MODEL),
        }
        for called, call in ways.items():
            if called == metric.__name__ and parameter in Lookup.__annotations__:
                continue
            found += complaints(called, parameter, ANYTHING, call, default)
    assert found == []


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
def test_metrics_refuse_what_is_no_query_or_model(metric):
    query, _ = example(metric)
    found = [
        *complaints("run_query", "query", ANYTHING, lambda v: metric().run_query(v, MODEL)),
        *complaints("run_query", "model", ANYTHING, lambda v: metric().run_query(query, v)),
        *complaints("scale", "query", ANYTHING, lambda v: metric().scale(v), None),
        *complaints("accepts", "query", ANYTHING, metric().accepts),
        *complaints("subqueries", "query", ANYTHING, metric().subqueries),
    ]
    assert found == []


def test_parameters_of_plain_types_are_checked():
    class Plain(BaseMetric):
        metric_template = (1, 1)
        metric_name = metric_short_name = "Plain"
        number: float = 0.5
        times: int = 1
        label: str = "label"
        flag: bool = False

        def _compute(self, targets, attributes):
            return self.number

    refused = {
        "number": ["0.5", None, True, np.nan, np.inf],
        "times": [0.5, "1", None, True],
        "label": [1, None, b"label"],
        "flag": [0, "no", None],
    }
    for parameter, values in refused.items():
        for value in values:
            with pytest.raises((TypeError, ValueError), match=f"^{parameter} must be "):
                Plain(**{parameter: value})
    assert Plain(number=1, times=3, label="", flag=np.True_).number == 1.0
