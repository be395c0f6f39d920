"""What is wrong with one word is no reason to lose the others, and it is said."""

import numpy as np
import pandas as pd
import pytest

from wefe import WordEmbeddingModel
from wefe.datasets import Criterion
from wefe.explore import (
    bias_directions,
    correlate_with_statistic,
    extreme_words,
    indirect_bias_along,
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
    assert "zero or non-finite vectors for 2 of 4 words of 'words': nurse, tree" in caplog.text
    sound = project(toy_model, ["pilot"], PAIRS)
    np.testing.assert_array_equal(table["projection"], sound["projection"])


def test_a_word_without_a_direction_has_no_page(damaged):
    with pytest.raises(KeyError, match="'nurse' in damaged is zero or not finite"):
        word_page(damaged, "nurse", PAIRS)
    page = word_page(damaged, "pilot", PAIRS, others=["nurse", "home"], k=3)
    assert page.indirect_bias.index.tolist() == ["home"]


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
    found = correlate_with_statistic(toy_model, numbers, PAIRS, preprocessors=FORMS)
    assert found.statistic.tolist() == [0.9, 0.1, 0.5, 0.3, 0.6]
    assert "already has in another form 1 of 6 words" in caplog.text


def shouted(model):
    return WordEmbeddingModel(([word.upper() for word in model], model.vectors), "shouted")


def test_words_are_ignored_in_all_forms_that_are_looked_up(packaged_model):
    first = [word for word in packaged_model if word.isalpha() and word == word.lower()][:5000]
    small = WordEmbeddingModel((first, packaged_model.get_vectors(first)), "small")
    upper = [{}, {"lowercase": True}, {"uppercase": True}]
    quiet, loud = (
        extreme_words(model, 20, preprocessors=upper)["word"].str.lower().tolist()
        for model in (small, shouted(small))
    )
    assert quiet == loud
    lower = [{"lowercase": True}]
    most = extreme_words(small, 1, preprocessors=lower)["word"][0]
    without = extreme_words(small, 50, ignore=[most.upper()], preprocessors=lower)["word"]
    assert most not in without.tolist()


def test_neither_end_of_a_line_is_an_extreme_word_of_it(packaged_model):
    table = indirect_bias_along(
        packaged_model, "Nurse", "engineer", preprocessors=[{"lowercase": True}]
    )
    assert not {"nurse", "engineer"} & set(table["word"])


def test_stereotypes_that_a_model_lacks_are_counted_and_no_error(toy_model):
    criterion = Criterion(
        "sex",
        PAIRS,
        class_names=["f", "m"],
        stereotyped_words={"f": ["xyz", "zyx"], "m": ["pilot", "yyy"]},
    )
    page = model_page(toy_model, criterion)
    assert page.distribution["set"].tolist() == ["vocabulary", "m stereotypes"]
    assert page.n_lost == 3


def test_of_a_word_that_the_original_lacks_the_former_bias_is_unknown(toy_model):
    few = [word for word in toy_model if word not in ("nurse", "tree")]
    original = WordEmbeddingModel((few, toy_model.get_vectors(few)), "before")
    page = word_page(toy_model, "nurse", PAIRS, k=4, original=original, others=["home"])
    assert page.nan_reason == "before lacks the word, so its former bias is unknown"
    assert page.nan_reason in str(page)
    assert page.neighbors["indirect_bias"].isna().all()
    assert page.indirect_bias.empty or page.indirect_bias.isna().all()


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_number_is_one_however_it_is_written(toy_model, missing):
    numbers = {"nurse": 0.9, "pilot": 0.1, "tree": 0.5, "job": 0.3, "home": 0.6, "boss": missing}
    for given in (numbers, pd.Series(numbers, dtype=object)):
        found = correlate_with_statistic(toy_model, given, PAIRS)
        assert found.without_number == ("boss",)
        assert found.n == 5
        assert found.nan_reason.startswith("no interval: it would mean nothing with 5 words")


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        (1, "before has 3 of the 4 neighbours; the shares refer to these"),
        (3, "before has 1 of the 4 neighbours; these are too few for"),
    ],
)
def test_neighbours_that_the_original_lacks_are_counted(toy_model, lacking, said):
    near = word_page(toy_model, "nurse", PAIRS, k=4).neighbors["neighbor"].tolist()
    # Those of the pairs are needed for a direction.
    lost = [word for word in near if not any(word in pair for pair in PAIRS[:1])][:lacking]
    assert len(lost) == lacking
    few = [word for word in toy_model if word not in lost]
    original = WordEmbeddingModel((few, toy_model.get_vectors(few)), "before")
    page = word_page(toy_model, "nurse", PAIRS, k=4, original=original)
    assert said in page.nan_reason
    assert np.isnan(page.proximity_bias) == ("too few" in said)
