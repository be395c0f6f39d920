"""Extreme words between two neutral ones, and how far a bias puts them there."""

import numpy as np
import pytest

from wefe import WordEmbeddingModel
from wefe.explore import bias_directions, indirect_bias_along
from wefe.metrics import indirect_bias

PAIRS = [("she", "he"), ("woman", "man")]
OTHERS = ["home", "kids", "boss", "job", "tree", "they", "folk"]


@pytest.mark.parametrize("prefix", [None, "/c/en/"])
def test_the_table_is_that_of_a_loop(toy_model, prefix):
    words = [(prefix or "") + word for word in toy_model]
    model = WordEmbeddingModel((words, toy_model.vectors), "m", prefix)
    table = indirect_bias_along(model, "nurse", "pilot", PAIRS, n=3)
    unit = {w: toy_model[w] / np.linalg.norm(toy_model[w]) for w in toy_model}
    line = unit["nurse"] - unit["pilot"]
    g = bias_directions(toy_model, PAIRS).subspace
    for end, sign in (("nurse", 1), ("pilot", -1)):
        along = {w: sign * (unit[w] @ line) / np.linalg.norm(line) for w in OTHERS}
        part = table[table["end"] == end].set_index("word")
        order = sorted(OTHERS, key=along.get, reverse=True)[:3]
        assert part.index.tolist() == [w for w in order if along[w] > 0]
        for word, row in part.iterrows():
            assert row["projection"] == pytest.approx(along[word])
            assert row["cosine"] == pytest.approx(unit[word] @ unit[end])
            (expected,) = indirect_bias(toy_model[end], [toy_model[word]], g)
            assert row["indirect_bias"] == pytest.approx(expected)
