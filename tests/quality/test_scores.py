"""Tests of the table of quality and of the ranking that is made of it."""

import numpy as np
import pandas as pd
import pytest

from wefe import WordEmbeddingModel, create_ranking
from wefe.quality import Benchmark, evaluate, quality_ranking, quality_scores

PAIRS = Benchmark(
    "pairs", "similarity", [("she", "woman"), ("he", "man"), ("she", "tree")], [9.0, 8.0, 1.0]
)
GROUPS = Benchmark(
    "groups", "categorisation", [("she", "f"), ("woman", "f"), ("he", "m"), ("man", "m")]
)


@pytest.fixture
def smaller(toy_model):
    words = [word for word in toy_model.vocab if word not in ("he", "man")]
    return WordEmbeddingModel((words, toy_model.get_vectors(words)), "smaller")


def test_a_table_has_a_row_per_model_and_benchmark(toy_model, smaller, caplog):
    scores = quality_scores([toy_model, smaller], [PAIRS, GROUPS])
    assert scores["model_name"].tolist() == ["toy", "toy", "smaller", "smaller"]
    assert scores["benchmark"].tolist() == ["pairs", "groups"] * 2
    assert scores["score"][:2].tolist() == [evaluate(toy_model, PAIRS).score, 1.0]
    assert np.isnan(scores["score"][3])
    assert scores["n_used"].tolist() == [3, 4, 2, 2]
    assert scores["n_items"].tolist() == [3, 4, 3, 4]
    assert scores["nan_reason"].notna().tolist() == [False, False, False, True]
    assert "pairs: models were scored on different items" in caplog.text


@pytest.mark.parametrize(
    ("models", "benchmarks", "error", "message"),
    [
        ([], [PAIRS], ValueError, "models is empty"),
        ("toy", [], ValueError, "benchmarks must be one or more"),
        ("toy", [PAIRS, PAIRS], ValueError, "differ in name.*'pairs': 2"),
        ("toy", PAIRS, TypeError, "Put it in a list"),
    ],
)
def test_wrong_lists_are_refused(toy_model, models, benchmarks, error, message):
    with pytest.raises(error, match=message):
        quality_scores([toy_model] if models == "toy" else models, benchmarks)


# Ranks by column: a 1, 2, 1.5; b 2, 1, 1.5; c 3, 3, 3.
SCORES = {"similarity": [0.7, 0.6, 0.5], "analogy": [0.3, 0.8, 0.1], "purity": [0.9, 0.9, 0.2]}


def tidy(scores):
    wide = pd.DataFrame(scores, index=list("abcd")[: len(next(iter(scores.values())))])
    table = wide.rename_axis("model_name").reset_index()
    return table.melt("model_name", var_name="benchmark", value_name="score")


def test_ranks_over_benchmarks_are_added_up():
    column = quality_ranking(tidy(SCORES), "WEB")
    assert column["model_name"].tolist() == ["a", "b", "c"]
    assert column["score"].tolist() == [4.5, 4.5, 9.0]
    assert create_ranking([column], method="average")["WEB"].tolist() == [1.5, 1.5, 3.0]
    # Scores that differ by rounding share a rank.
    scores = tidy({"x": [sum([0.1] * 10), 1.0], "y": [0.5, 0.5]})
    assert quality_ranking(scores)["score"].tolist() == [3.0, 3.0]
    # Numbers as texts count, and a matrix is refused.
    assert quality_ranking(scores.astype(str))["score"].tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match=r"no column \['model_name', 'benchmark'"):
        quality_ranking(scores.pivot(index="model_name", columns="benchmark", values="score"))


def test_a_model_that_lacks_a_score_has_no_rank_and_does_not_move_the_others(caplog):
    # Best in what it has: with it b would be third in similarity.
    last = [0.65, np.nan, np.nan]
    scores = tidy({name: [*SCORES[name], one] for name, one in zip(SCORES, last, strict=True)})
    column = quality_ranking(scores)
    assert column["score"].tolist()[:3] == quality_ranking(tidy(SCORES))["score"].tolist()
    assert np.isnan(column["score"][3])
    assert "no score in analogy, purity" in caplog.text
