"""Calls of the metrics and functions that are refused, and the culprit that is named."""

import pytest
from fake_encoder import FakeEncoder

from wefe import Query, layer_scores
from wefe.contextual import find_contexts
from wefe.metrics import CEAT, SEAT, random_effects

QUERY = Query([["nurse", "clerk"], ["pilot", "judge"]], [["art", "dance"], ["math", "logic"]])


def ceat(contexts):
    return CEAT().run_query(QUERY, FakeEncoder(), contexts)


def seat(**options):
    return SEAT().run_query(QUERY, FakeEncoder(), **options)


def layers(metric="weat", models=None, **options):
    return layer_scores(metric, QUERY, [FakeEncoder()] if models is None else models, **options)


@pytest.mark.parametrize(
    ("call", "culprit"),
    [
        (lambda: random_effects([], []), "effect_sizes"),
        (lambda: random_effects([1.0], [0.0]), "above 0"),
        (lambda: ceat("A nurse."), "must be a mapping"),
        (lambda: ceat({"nurse": "A nurse."}), r"contexts\['nurse'\] must be a list"),
        (lambda: ceat({"nurse": ["A judge."]}), r"\['nurse'\]\[0\] lacks the word"),
        (lambda: find_contexts("nurse", ["A nurse."]), "words must be"),
        (lambda: find_contexts(["nurse"], "A nurse."), "sentences must be"),
        (lambda: seat(templates="nouns"), "Did you mean 'noun'"),
        (lambda: seat(templates=["{} and {}"]), "must hold one"),
        (lambda: layers(layers=[5]), "layer must be from 0 to 3"),
        (lambda: layers("rnd"), "needs 2 target and 1 attribute sets"),
    ],
)
def test_the_culprit_is_named(call, culprit):
    with pytest.raises((TypeError, ValueError), match=culprit):
        call()


def test_a_static_model_is_refused_with_the_way_out(toy_model, toy_query):
    with pytest.raises(TypeError, match=r"SEAT needs an encoder.*load_encoder.*WEAT"):
        SEAT().run_query(toy_query, toy_model)
    with pytest.raises(TypeError, match="layer_scores needs an encoder"):
        layer_scores("weat", toy_query, toy_model)
