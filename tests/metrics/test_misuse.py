"""Wrong values for every parameter of every public callable: each gets an error."""

import inspect
import warnings
from functools import partial

import numpy as np
import pytest
from misuse import ANYTHING, is_refused

from wefe import Query, WordEmbeddingModel
from wefe.embeddings import Lookup
from wefe.metrics import WEAT, association, indirect_bias, list_metrics

METRICS = [metric for metric in list_metrics() if metric.__module__.startswith("wefe.")]


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


WORDS = [f"w{i}" for i in range(20)]
MODEL = WordEmbeddingModel((WORDS, drawn(20, 3)), "drawn")

# Functions of vectors, one row per word, and what each of their parameters must not be.
OF_VECTORS = [association, indirect_bias]
NO_VECTORS = {"text": "text", "None": None, "NaN": np.full((4, 3), np.nan), "no rows": drawn(0, 3)}

BOOL, ZERO, ANY_NUMBER = {"bool"}, {"zero"}, {"zero", "float", "huge"}
# What is not wrong at all, by the name of the parameter.
FINE = {
    **dict.fromkeys(["normalize", "both_directions", "holdout"], BOOL),
    **dict.fromkeys(["print_model_evaluation", "calculate_p_value", "p_value_verbose"], BOOL),
    "return_effect_size": BOOL,
    "warn_not_found_words": ANYTHING,
    **dict.fromkeys(["ddof", "lost_vocabulary_threshold"], ZERO),
    "random_state": {"None", "zero"},
    "c": ANY_NUMBER,
    "theta": ANY_NUMBER | {"negative"},
    "exclude": {"empty list", "texts"},
    "variants": {"zero", "empty list", "empty dict"},
    # scikit-learn says well enough what its classifiers do not take.
    "estimator_params": {"empty dict", "dict"},
}


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def complaints(called, parameter, values, call, default=inspect.Parameter.empty):
    """Give what is wrong with the answers to wrong values of a parameter, in a line each."""
    for wrong, value in values.items():
        if wrong in FINE.get(parameter, ()) or value is default:
            continue
        if not is_refused(partial(call, value)):
            yield f"{called}({parameter}={wrong})"


@pytest.mark.parametrize("function", OF_VECTORS, ids=lambda function: function.__name__)
def test_functions_refuse_what_are_no_vectors(function):
    declared = inspect.signature(function).parameters.items()
    names = [name for name, each in declared if each.default is each.empty]
    good = {name: drawn(4, 3, seed=seed) for seed, name in enumerate(names)}
    if "directions" in good:
        good["directions"] = np.eye(3)[:1]
    function(**good)
    found = []
    for name in names:
        call = lambda value, name=name: function(**{**good, name: value})  # noqa: E731
        found += complaints(function.__name__, name, NO_VECTORS, call)
    assert found == []


@pytest.mark.parametrize("side", ["targets", "attributes"])
def test_metrics_refuse_what_are_no_vectors(side):
    good = {name: list(drawn(2, 4, 3, seed=i)) for i, name in enumerate(["targets", "attributes"])}
    found = complaints(
        *("run_vectors", side, {**NO_VECTORS, "no sets": []}),
        lambda value: WEAT().run_vectors(**{**good, side: value}),
    )
    assert list(found) == []


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
