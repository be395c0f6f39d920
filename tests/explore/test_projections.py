"""Projections of lists and vocabularies, and the words that lie farthest out."""

import itertools

import numpy as np
import pandas as pd
import pytest

from wefe import Query, WordEmbeddingModel, load
from wefe.explore import bias_directions, distribution_of, extreme_words, project

PAIRS = [("she", "he"), ("woman", "man")]
TRIPLES = [("she", "he", "they"), ("woman", "man", "folk")]
NEUTRAL = ["nurse", "pilot", "tree"]


def random_model(n_words=500, dim=6, dtype=np.float32):
    vectors = np.random.default_rng(0).normal(size=(n_words, dim)).astype(dtype)
    words = map("".join, itertools.product("abcdefghi", repeat=3))
    return WordEmbeddingModel((list(itertools.islice(words, n_words)), vectors), "random")


def test_projections_are_those_of_the_worked_example(toy_model):
    table = project(toy_model, NEUTRAL, PAIRS)
    assert table.columns.tolist() == ["model", "set", "word", "projection"]
    np.testing.assert_allclose(table["projection"], [0.517465, -0.497935, 0.124241], atol=1e-6)
    assert table.attrs["groups"] == ["she", "he"]


def test_lists_have_names_and_queries_have_sets_and_each_of_three_groups_a_row(toy_model):
    lists = {"jobs": ["nurse", "pilot"], "plants": ["tree"]}
    assert project(toy_model, lists, PAIRS)["set"].tolist() == ["jobs", "jobs", "plants"]
    query = Query([["she"], ["he"]], [["home"], ["job"]], ["F", "M"], ["Family", "Career"])
    assert project(toy_model, query, PAIRS)["set"].tolist() == ["F", "M", "Family", "Career"]
    table = project(toy_model, NEUTRAL, TRIPLES)
    assert table["group"].tolist() == ["she", "he", "they"] * 3
    cosines = bias_directions(toy_model, TRIPLES).cosines([toy_model[w] for w in NEUTRAL])
    np.testing.assert_allclose(table["projection"], cosines.ravel(), atol=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_several_models_have_directions_of_their_own_or_one_in_common(toy_model, sign):
    flipped = WordEmbeddingModel((list(toy_model), -toy_model.vectors), "flipped")
    # The space is turned, and the direction with it.
    criterion = PAIRS if sign == 1 else bias_directions(toy_model, PAIRS)
    both = project([toy_model, flipped], NEUTRAL, criterion)
    by_model = both.pivot(index="word", columns="model", values="projection")
    np.testing.assert_allclose(by_model["flipped"], sign * by_model["toy"], atol=1e-12)


def test_a_model_of_some_words_only_is_refused_its_vocabulary(tmp_path, toy_model):
    path = tmp_path / "toy.txt"
    toy_model.save(path)
    few = load(path, words=["she", "he", "woman", "man", "nurse"])
    assert len(project(few, ["nurse"], PAIRS)) == 1
    for ask in (project, extreme_words):
        with pytest.raises(ValueError, match="whole vocabulary"):
            ask(few, criterion=PAIRS)


# Extremes


def slow_extremes(model, pairs, n, ignore):
    towards = bias_directions(model, pairs).towards
    rows = []
    for group, direction in enumerate(towards):
        values = []
        for word in model:
            vector = model[word].astype(float)
            if word not in ignore:
                values.append((-(vector @ direction) / np.linalg.norm(vector), word))
        rows += [(group, word, -value) for value, word in sorted(values)[:n] if value < 0]
    return rows


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_extremes_are_those_of_a_loop_over_all_words(dtype):
    model = random_model(dtype=dtype)
    pairs = [("aaa", "baa"), ("caa", "daa")]
    every, listed = project(model, criterion=pairs), project(model, list(model.vocab), pairs)
    assert every["word"].tolist() == list(model.vocab)
    np.testing.assert_allclose(every["projection"], listed["projection"], atol=1e-6)
    for n, ignore in ((7, None), (1, [])):
        table = extreme_words(model, n, pairs, ignore=ignore)
        left_out = {"aaa", "baa", "caa", "daa"} if ignore is None else ()
        expected = slow_extremes(model, pairs, n, left_out)
        assert table["word"].tolist() == [word for _, word, _ in expected]
        assert table["rank"].tolist() == [*range(1, n + 1)] * 2
        np.testing.assert_allclose(table["projection"], [v for *_, v in expected], rtol=1e-12)


def test_only_words_that_look_like_words():
    words = ["she", "he", "nurse", "Nurse", "nurse2", "n-urse", "n" * 20, "pilot", "tree", "sea"]
    vectors = np.eye(10)
    vectors[2:, 0] = 0.5
    model = WordEmbeddingModel((words, vectors), "m")
    found = extreme_words(model, 20, [("she", "he")])["word"].tolist()
    assert found == ["nurse", "pilot", "tree", "sea"]


def test_frequent_words_are_those_from_the_start():
    model = random_model()
    table = extreme_words(model, 50, [("aaa", "baa")], among=100)
    assert max(model.vocab[word] for word in table["word"]) < 100
    assert len(extreme_words(model, 500, [("aaa", "baa")], among=None)) == 498


# Distribution


def test_a_distribution_is_that_of_pandas(toy_model):
    table = project(toy_model, {"a": NEUTRAL, "b": ["home", "kids"]}, PAIRS)
    without = pd.DataFrame({"model": "m", "set": "a", "word": "x", "projection": [np.nan]})
    rows = distribution_of(pd.concat([table, without])).set_index("set")
    values = table.groupby("set")["projection"]
    assert rows["n"].to_dict() == {"a": 3, "b": 2}
    for column, expected in (
        ("mean", values.mean()),
        ("std", values.std(ddof=0)),
        ("25 %", values.quantile(0.25)),
    ):
        assert rows[column].to_dict() == pytest.approx(expected.to_dict())
    # The direct bias of the worked example.
    assert rows.loc["a", "mean_abs"] == pytest.approx(0.379881, abs=1e-6)
