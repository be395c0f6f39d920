"""Mean attribute differences: worked examples, bounds, what was lost, and what is ambiguous."""

import json
import math

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel
from wefe.audit import audit_query, mean_attribute_differences
from wefe.datasets import load_weat
from wefe.embeddings import UnusableVectorError

SETS = Query([["she"]], [["she", "woman"], ["he", "man"]])
PAIRS = [["she", "he"], ["woman", "man"], ["they", "man"]]


def distance(*args, **options):
    (value,) = mean_attribute_differences(*args, **options)["mean_attribute_difference"]
    return value


def test_toy_model(toy_model):
    assert distance(SETS, toy_model) == pytest.approx(1.807586, abs=1e-6)
    upper = Query([["she"]], [["SHE", "woman"], ["he", "MAN"]])
    found = distance(upper, toy_model, preprocessors=[{}, {"lowercase": True}])
    assert found == distance(SETS, toy_model)
    assert distance(SETS, toy_model, normalize=False) == pytest.approx(1.702939, abs=1e-6)


def test_published_vectors(word2vec, shared_data):
    sets = load_weat()
    terms = Query([["career"]], [sets["male_terms"], sets["female_terms"]])
    assert distance(terms, word2vec) == pytest.approx(0.583646, abs=1e-5)
    pairs = json.loads((shared_data / "debiaswe" / "definitional_pairs.json").read_text())
    assert distance(pairs, word2vec) == pytest.approx(0.570143, abs=1e-5)


def test_a_query_gives_its_attribute_sets(toy_model, toy_query):
    table = mean_attribute_differences(toy_query, toy_model)
    audit = audit_query(toy_query, toy_model)
    assert table["mean_attribute_difference"].tolist() == pytest.approx(
        [audit.attribute_difference]
    )
    raw = distance(toy_query, toy_model, normalize=False)
    assert raw == pytest.approx(audit.raw_attribute_difference)
    # Its targets do not matter, lost or not.
    other = Query([["xyzzy"]], toy_query.attribute_sets)
    assert distance(other, toy_model) == pytest.approx(audit.attribute_difference)


def test_every_pair_counts_also_where_a_word_comes_again(toy_model):
    found = distance(PAIRS, toy_model)
    vectors = {word: toy_model[word] / np.linalg.norm(toy_model[word]) for word in toy_model.vocab}
    slow = np.mean([vectors[a] - vectors[b] for a, b in PAIRS], axis=0)
    assert found == pytest.approx(np.linalg.norm(slow))
    # In a set it would count once.
    firsts, seconds = (list(words) for words in zip(*PAIRS, strict=True))
    assert distance(Query([["she"]], [firsts, seconds]), toy_model) != pytest.approx(found)


def test_a_lost_word_takes_its_pair_with_it(toy_model):
    lost = [*PAIRS, ["she", "xyzzy"]]
    table = mean_attribute_differences(lost, toy_model, lost_vocabulary_threshold=0.5)
    assert table["mean_attribute_difference"].tolist() == [distance(PAIRS, toy_model)]
    assert table[["n_words_1", "n_words_2"]].to_numpy().tolist() == [[3, 3]]
    assert table["words_lost"].tolist() == ["xyzzy"]
    # Each list of pairs loses a fifth, both together more.
    lost = [*PAIRS, ["a1", "he"], ["she", "b1"]]
    table = mean_attribute_differences(lost, toy_model)
    assert table["nan_reason"].tolist() == ["2 of 5 pairs of target words lost a word"]
    # Of a set only the word is lost.
    sets = Query([["she"]], [["she", "they", "woman"], ["he", "man", "xyzzy"]], None, ["a", "b"])
    table = mean_attribute_differences(sets, toy_model, lost_vocabulary_threshold=0.5)
    assert table[["n_words_1", "n_words_2"]].to_numpy().tolist() == [[3, 2]]
    (row,) = mean_attribute_differences(sets, toy_model).itertuples()
    assert math.isnan(row.mean_attribute_difference)
    assert "'b' lost 33% of its words (xyzzy)" in row.nan_reason


def test_the_largest_comes_first_and_nan_last():
    words = ["a", "b"]
    models = [
        WordEmbeddingModel((["x"], np.eye(2)[:1]), name="lacks both"),
        WordEmbeddingModel((words, np.array([[1.0, 0], [1.0, 1]])), name="near"),
        WordEmbeddingModel((words, np.array([[9.0, 0], [-0.1, 0]])), name="opposite"),
    ]
    table = mean_attribute_differences([["a", "b"]], models)
    assert table.index.tolist() == ["opposite", "near", "lacks both"]
    assert table.index.name == "model_name"
    near = math.sqrt(2 - math.sqrt(2))
    assert table["mean_attribute_difference"].tolist()[:2] == pytest.approx([2, near])
    assert math.isnan(table.loc["lacks both", "mean_attribute_difference"])


@pytest.mark.parametrize(
    ("sets", "error", "says"),
    [
        ([["she"], ["he"], ["man", "they"]], ValueError, "must be pairs"),
        ("she", TypeError, "must be a list"),
        (Query([["she"]], [["he"]]), ValueError, r"exactly two .* has 1\. query.get_subqueries"),
    ],
)
def test_other_things_than_two_sets(toy_model, sets, error, says):
    with pytest.raises(error, match=says):
        mean_attribute_differences(sets, toy_model)


def test_wrong_models_and_options(toy_model):
    with pytest.raises(ValueError, match="models is empty"):
        mean_attribute_differences(SETS, [])
    with pytest.raises(TypeError, match="normalize"):
        mean_attribute_differences(SETS, toy_model, normalize=1)
    zero = WordEmbeddingModel((["a", "b"], np.array([[1.0, 0], [0, 0]])))
    with pytest.raises(UnusableVectorError):
        mean_attribute_differences([["a", "b"]], zero)
