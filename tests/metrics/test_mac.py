"""Mean Average Cosine: a distance, 1 without association, both averages."""

import pytest

from wefe.metrics import MAC

T1, T2, A1, A2 = "she woman", "he man", "home kids", "boss job"


def test_toy_distances_by_word(toy):
    (by_word,) = toy(MAC, [f"{T1} {T2}"], [A1, A2])["targets_eval"].values()
    first, second = zip(*(distances.values() for distances in by_word.values()), strict=True)
    assert first == pytest.approx([0.342433, 0.177884, 1.214441, 0.937446], abs=1e-6)
    assert second == pytest.approx([1.226454, 1.059094, 0.271533, 0.294499], abs=1e-6)


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


def test_published_score_and_distances_by_word(gender_family_career, word2vec):
    for average in ("sets", "words"):
        result = MAC().run_query(gender_family_career, word2vec, average=average)
        assert result["result"] == pytest.approx(0.8416415235615204, abs=1e-7)
    by_word = result["targets_eval"]["Male terms"]
    assert by_word["male"] == pytest.approx({"Family": 0.873509, "Careers": 0.946801}, abs=1e-6)
    assert by_word["he"] == pytest.approx({"Family": 0.869304, "Careers": 0.877129}, abs=1e-6)
