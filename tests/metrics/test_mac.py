"""Mean Average Cosine: a distance, 1 without association, both averages."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe import Query, WordEmbeddingModel
from wefe.datasets import fetch_debias_multiclass
from wefe.metrics import MAC, mac, mac_by_word

T1, T2, A1, A2 = "she woman", "he man", "home kids", "boss job"

set_sizes = st.lists(st.integers(1, 4), min_size=1, max_size=3)


def random_sets(rng, set_sizes, dim=5):
    return [rng.normal(0.2, 1, (size, dim)) for size in set_sizes]


# Worked examples


def test_toy_distances_by_word(vectors):
    by_word = mac_by_word(vectors(f"{T1} {T2}"), [vectors(A1), vectors(A2)])
    assert by_word[:, 0] == pytest.approx([0.342433, 0.177884, 1.214441, 0.937446], abs=1e-6)
    assert by_word[:, 1] == pytest.approx([1.226454, 1.059094, 0.271533, 0.294499], abs=1e-6)


@pytest.mark.parametrize(
    ("attributes", "options", "expected"),
    [
        ((A1, A2), {}, 0.690473),
        ((A1, A2), {"average": "words"}, 0.690473),
        (("home kids tree", A2), {}, 0.757845),
        (("home kids tree", A2), {"average": "words"}, 0.766835),
    ],
)
def test_toy_scores(attributes, options, expected, query_of, toy_model):
    result = MAC().run_query(query_of([T1, T2], attributes), toy_model, **options)
    assert result["result"] == result["mac"] == pytest.approx(expected, abs=1e-6)


# Published figures


def test_published_score(gender_family_career, word2vec):
    result = MAC().run_query(gender_family_career, word2vec)
    assert list(result) == ["query_name", "result", "mac", "targets_eval"]
    assert result["result"] == pytest.approx(0.8416415235615204, abs=1e-7)
    pooled = MAC().run_query(gender_family_career, word2vec, average="words")
    assert pooled["result"] == pytest.approx(0.8416415235615204, abs=1e-7)


PUBLISHED_BY_WORD = {
    "Female terms": {
        "female": (0.918574, 0.916070),
        "woman": (0.752434, 0.937781),
        "girl": (0.707458, 0.986797),
        "sister": (0.597339, 0.948225),
        "she": (0.787279, 0.916158),
        "her": (0.788306, 0.923725),
        "hers": (0.738537, 0.948005),
        "daughter": (0.547258, 0.927734),
    },
    "Male terms": {
        "male": (0.873509, 0.946801),
        "man": (0.824939, 0.935017),
        "boy": (0.710606, 0.987905),
        "brother": (0.628027, 0.947718),
        "he": (0.869304, 0.877129),
        "him": (0.823019, 0.888684),
        "his": (0.887620, 0.892089),
        "son": (0.576464, 0.922019),
    },
}


def test_published_distances_by_word(gender_family_career, word2vec):
    targets_eval = MAC().run_query(gender_family_career, word2vec)["targets_eval"]
    assert list(targets_eval) == list(PUBLISHED_BY_WORD)
    for group, by_word in PUBLISHED_BY_WORD.items():
        assert list(targets_eval[group]) == list(by_word)
        for word, expected in by_word.items():
            found = targets_eval[group][word]
            assert list(found) == ["Family", "Careers"]
            assert list(found.values()) == pytest.approx(expected, abs=1e-6)


def test_published_score_for_ethnicity(word2vec):
    templates = fetch_debias_multiclass()
    query = Query(
        [["black", "africa"], ["caucasian", "america"], ["asian", "asia"]],
        [templates[f"{group}_biased_words"] for group in ("black", "white", "asian")],
    )
    result = MAC().run_query(query, word2vec)
    assert result["result"] == pytest.approx(0.9462675075454171, abs=1e-7)


def test_published_distances_for_religion(word2vec):
    templates = fetch_debias_multiclass()
    columns = {
        word: mac_by_word(
            word2vec.get_vectors([word]),
            [word2vec.get_vectors(templates[group]) for group in ("greed", "terrorism")],
        )[0]
        for word in ("judaism", "jew")
    }
    assert columns["judaism"] == pytest.approx([0.874468, 0.889447], abs=1e-6)
    assert columns["jew"] == pytest.approx([0.781028, 0.841066], abs=1e-6)


# A second implementation, and theorems


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), set_sizes, set_sizes, st.sampled_from(["sets", "words"]))
def test_mac_agrees_with_its_definition(literal, seed, n_targets, n_attributes, average):
    rng = np.random.default_rng(seed)
    targets, attributes = random_sets(rng, n_targets), random_sets(rng, n_attributes)
    score = mac(targets, attributes, average)
    assert score == pytest.approx(literal.mac(targets, attributes, average), abs=1e-12)
    assert 0 <= score <= 2


def test_every_target_word_weighs_the_same_whatever_its_set():
    he, she = [1.0, 0.0], [0.0, 1.0]
    assert mac([[he, he, he], [she]], [[he]]) == pytest.approx(1 / 4)


# Traps


def test_mean_hides_opposite_deviations_that_the_table_shows(toy_model):
    model = WordEmbeddingModel((["he", "she", "math"], np.array([[1, 0.2], [-1, -0.2], [1, 0.0]])))
    result = MAC().run_query(Query([["he", "she"]], [["math"]]), model)
    assert result["mac"] == pytest.approx(1.0)
    by_word = result["targets_eval"]["Target set 0"]
    assert by_word["he"]["Attribute set 0"] < 0.1
    assert by_word["she"]["Attribute set 0"] > 1.9
