"""EQT: worked example, a second implementation, and what may be an answer."""

import math

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel
from wefe.metrics import EQT

MALE, FEMALE = "he man", "she woman"
NEUTRAL = "home kids boss job"


def model_of(n_words=40, seed=0, dim=5, spread=0.7):
    """Words around a common mean, so that neighbours are near and questions are missed."""
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(n_words)]
    return WordEmbeddingModel((words, rng.normal(0.4, spread, (n_words, dim))), "drawn")


def plain(model):
    return {word: model[word].tolist() for word in model}


def names(*numbers):
    return [f"w{i}" for i in numbers]


# Worked example


def test_toy_score(toy):
    result = toy(EQT, [MALE, FEMALE], [NEUTRAL])
    assert result["eqt"] == 0.375
    hits = [answer[:3] for answer in result.details["answers"] if answer[-1]]
    assert hits == [("he", "home", "she"), ("man", "home", "woman"), ("he", "kids", "she")]
    assert result.details["by_word"] == {"home": 1.0, "kids": 0.5, "boss": 0.0, "job": 0.0}
    assert result.details["by_pair"] == {("he", "she"): 0.5, ("man", "woman"): 0.25}


# A second implementation


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_score_agrees_with_its_definition(literal, seed, both):
    model, k = model_of(seed=seed), seed % 3 + 1
    pairs = [("w0", "w1"), ("w2", "w3"), ("w4", "w1")]
    words = names(*range(6, 14))
    query = Query([[m for m, _ in pairs], [f for _, f in pairs]], [words])
    variants = {"w6": ["w20", "w21", "gone"], "w7": ["w30"]}
    options = {"k": k, "variants": variants}
    result = EQT().run_query(query, model, both_directions=both, **options)
    expected = literal.eqt_hits(plain(model), pairs, words, both=both, **options)
    assert [answer[-1] for answer in result.details["answers"]] == expected
    assert result["eqt"] == pytest.approx(np.mean(expected))


# What may be an answer


def test_words_of_pairs_are_no_answers_but_the_word_asked_about_always_is():
    vectors = {"he": [1, 0, 0.2], "she": [0, 1, 0.2], "lady": [0.1, 1, 0.3], "book": [0, 0.2, 1]}
    model = WordEmbeddingModel((list(vectors), np.array(list(vectors.values()), dtype=float)))
    pair = [["he"], ["she"]]
    missed = EQT().run_query(Query(pair, [["book"]]), model)
    assert missed.details["answers"] == [("he", "book", "she", "lady", False)]
    # As the second word of another pair it is no candidate.
    twice = Query([["he", "he"], ["she", "lady"]], [["book"]])
    assert EQT().run_query(twice, model)["eqt"] == 1
    assert EQT().run_query(Query(pair, [["she"]]), model)["eqt"] == 1


def test_variants_without_a_direction_are_ignored(toy, toy_model):
    toy_model.update("tree", np.zeros(3))
    accepted = (
        toy(EQT, [MALE, FEMALE], [NEUTRAL], variants={"boss": forms})
        for forms in (["tree", "home"], ["home"])
    )
    assert len({result["eqt"] for result in accepted}) == 1


def test_question_without_a_direction_is_nan_with_a_reason():
    vectors = [[1.0, 0.0], [0.5, 0.75**0.5], [0.5, -(0.75**0.5)]]
    model = WordEmbeddingModel((["m", "f", "s"], vectors))
    result = EQT().run_query(Query([["m"], ["f"]], [["s"]]), model)
    assert math.isnan(result["eqt"])
    assert "[('m', 's', 'f')]" in result.nan_reason
