"""What is wrong with one word is no reason to lose the others, and it is said."""

import numpy as np
import pytest

from wefe import WordEmbeddingModel
from wefe.explore import (
    bias_directions,
    correlate_with_statistic,
    model_page,
    project,
    word_page,
)
from wefe.explore._lookup import look_up

PAIRS = [("she", "he"), ("woman", "man")]
FORMS = [{}, {"lowercase": True}]


@pytest.fixture
def damaged(toy_model):
    """A model in which some words have no direction."""
    vectors = toy_model.vectors.copy()
    vectors[toy_model.vocab["nurse"]] = 0
    vectors[toy_model.vocab["tree"], 1] = np.nan
    return WordEmbeddingModel((list(toy_model), vectors), "damaged")


def test_words_without_a_direction_are_left_out_of_lists_and_named(damaged, toy_model, caplog):
    table = project(damaged, ["nurse", "pilot", "tree", "xyz"], PAIRS)
    assert table["word"].tolist() == ["pilot"]
    assert table.attrs["lost"]["damaged"] == {"words": ("xyz", "nurse", "tree")}
    assert "has no vector with a direction for 2 of 4 words of 'words': nurse, tree" in caplog.text
    sound = project(toy_model, ["pilot"], PAIRS)
    np.testing.assert_array_equal(table["projection"], sound["projection"])


def test_a_word_without_a_direction_has_no_page(damaged):
    with pytest.raises(KeyError, match="'nurse' in damaged is zero, or not finite"):
        word_page(damaged, "nurse", PAIRS)
    page = word_page(damaged, "pilot", PAIRS, others=["nurse", "home"], k=3)
    assert page.indirect_bias.index.tolist() == ["home"]


def test_a_model_has_its_page_although_a_stereotype_has_no_direction(damaged):
    page = model_page(damaged, PAIRS, words={"jobs": ["nurse", "pilot"]})
    assert page.n_lost == 1
    assert page.distribution.set_index("set").loc["jobs", "n"] == 1


def test_definitional_sets_without_a_direction_are_left_out(toy_model, caplog):
    vectors = toy_model.vectors.copy()
    vectors[toy_model.vocab["woman"]] = 0
    damaged = WordEmbeddingModel((list(toy_model), vectors), "damaged")
    found = bias_directions(damaged, PAIRS)
    assert found.n_lost == 1
    assert found.sets == (("she", "he"),)
    np.testing.assert_array_equal(found.towards, bias_directions(toy_model, PAIRS[:1]).towards)
    assert "woman" in caplog.text
    with pytest.raises(ValueError, match="woman"):
        bias_directions(damaged, PAIRS[1:])


def test_forms_of_one_word_count_once(toy_model, caplog):
    known = look_up(toy_model, ["Nurse", "nurse", "NURSE", "pilot"], FORMS)
    assert known.words == ["Nurse", "pilot"]
    assert known.forms == ["nurse", "pilot"]
    assert known.repeated == ("nurse", "NURSE")
    numbers = {"nurse": 0.9, "Nurse": 0.8, "pilot": 0.1, "tree": 0.5, "job": 0.3, "home": 0.6}
    once = {word: value for word, value in numbers.items() if word != "Nurse"}
    twice, alone = (
        correlate_with_statistic(toy_model, each, PAIRS, preprocessors=FORMS)
        for each in (numbers, once)
    )
    assert twice.n == 5
    assert twice.pearson == alone.pearson
    assert "has in another form already 1 of 6 words" in caplog.text


def test_very_small_vectors_have_a_direction(toy_model):
    small = WordEmbeddingModel((list(toy_model), toy_model.vectors * 1e-30), "small")
    np.testing.assert_allclose(
        project(small, ["nurse"], PAIRS)["projection"],
        project(toy_model, ["nurse"], PAIRS)["projection"],
    )
