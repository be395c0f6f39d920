"""Mean Average Cosine: a distance, 1 without association, both averages."""

import numpy as np
import pytest

from wefe import Query
from wefe.datasets import fetch_debias_multiclass
from wefe.metrics import MAC, mac_by_word

T1, T2, A1, A2 = "she woman", "he man", "home kids", "boss job"


def test_toy_distances_by_word(vectors):
    by_word = mac_by_word(vectors(f"{T1} {T2}"), [vectors(A1), vectors(A2)])
    assert by_word[:, 0] == pytest.approx([0.342433, 0.177884, 1.214441, 0.937446], abs=1e-6)
    assert by_word[:, 1] == pytest.approx([1.226454, 1.059094, 0.271533, 0.294499], abs=1e-6)


@pytest.mark.parametrize(
    ("attributes", "average", "expected"),
    [
        ((A1, A2), "sets", 0.690473),
        ((A1, A2), "words", 0.690473),
        (("home kids tree", A2), "sets", 0.757845),
        (("home kids tree", A2), "words", 0.766835),
    ],
)
def test_toy_scores(attributes, average, expected, toy):
    result = toy(MAC, [T1, T2], attributes, average=average)
    assert result["mac"] == pytest.approx(expected, abs=1e-6)


# By family and careers.
PUBLISHED = {
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


def test_published_score_and_distances_by_word(gender_family_career, word2vec):
    for average in ("sets", "words"):
        result = MAC().run_query(gender_family_career, word2vec, average=average)
        assert result["result"] == pytest.approx(0.8416415235615204, abs=1e-7)
    found = {
        group: {word: tuple(by_set.values()) for word, by_set in by_word.items()}
        for group, by_word in result["targets_eval"].items()
    }
    assert {group: list(by_word) for group, by_word in found.items()} == {
        group: list(by_word) for group, by_word in PUBLISHED.items()
    }
    for group, by_word in PUBLISHED.items():
        for word, expected in by_word.items():
            assert found[group][word] == pytest.approx(expected, abs=1e-6)
    assert list(result["targets_eval"]["Male terms"]["he"]) == ["Family", "Careers"]


def test_published_score_for_ethnicity_and_distances_for_religion(word2vec):
    templates = fetch_debias_multiclass()
    query = Query(
        [["black", "africa"], ["caucasian", "america"], ["asian", "asia"]],
        [templates[f"{group}_biased_words"] for group in ("black", "white", "asian")],
    )
    result = MAC().run_query(query, word2vec)
    assert result["result"] == pytest.approx(0.9462675075454171, abs=1e-7)
    sets = [word2vec.get_vectors(templates[group]) for group in ("greed", "terrorism")]
    by_word = mac_by_word(word2vec.get_vectors(["judaism", "jew"]), sets)
    expected = np.array([[0.874468, 0.889447], [0.781028, 0.841066]])
    assert by_word == pytest.approx(expected, abs=1e-6)
