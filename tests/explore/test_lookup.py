"""What is wrong with one word is no reason to lose the others, and it is said."""

import numpy as np
import pandas as pd
import pytest

from wefe import WordEmbeddingModel
from wefe.explore import correlate_with_statistic, extreme_words, project, word_page
from wefe.explore._directions import look_up

PAIRS = [("she", "he"), ("woman", "man")]
FORMS = [{}, {"lowercase": True}]


@pytest.fixture
def damaged(toy_model):
    """A model in which some words have no direction."""
    vectors = toy_model.vectors.copy()
    vectors[toy_model.vocab["nurse"]] = 0
    vectors[toy_model.vocab["tree"], 1] = np.nan
    return WordEmbeddingModel((list(toy_model), vectors), "damaged")


def test_words_without_a_direction_are_left_out_of_lists_and_have_no_page(damaged, caplog):
    table = project(damaged, ["nurse", "pilot", "tree", "xyz"], PAIRS)
    assert table["word"].tolist() == ["pilot"]
    assert table.attrs["lost"]["damaged"] == {"words": ("nurse", "tree", "xyz")}
    assert "lacks, or has no direction for, 3 of 4 words of 'words': nurse, tree" in caplog.text
    with pytest.raises(KeyError, match="damaged has no word 'nurse' .*zero vectors do not count"):
        word_page(damaged, "nurse", PAIRS)
    page = word_page(damaged, "pilot", PAIRS, others=["nurse", "home"], k=3)
    assert page.indirect_bias.index.tolist() == ["home"]


def test_forms_of_one_word_count_once_and_are_ignored_together(toy_model, caplog):
    known = look_up(toy_model, ["Nurse", "nurse", "NURSE", "pilot"], FORMS)
    assert (known.words, known.forms) == (["Nurse", "pilot"], ["nurse", "pilot"])
    numbers = {"nurse": 0.9, "Nurse": 0.8, "pilot": 0.1, "tree": 0.5, "job": 0.3, "home": pd.NA}
    found = correlate_with_statistic(toy_model, numbers, PAIRS, preprocessors=FORMS)
    assert found.words["statistic"].tolist() == [0.9, 0.1, 0.5, 0.3]
    assert found.without_number == ("home",)
    assert "already has in another form 1 of 5 words" in caplog.text
    for words in (["Nurse"], ["nurse"]):
        rest = extreme_words(toy_model, 20, PAIRS, ignore=words, preprocessors=FORMS)["word"]
        assert "nurse" not in rest.tolist()


def test_of_a_word_that_the_original_lacks_the_former_bias_is_unknown(toy_model):
    few = [word for word in toy_model if word not in ("nurse", "tree")]
    original = WordEmbeddingModel((few, toy_model.get_vectors(few)), "before")
    page = word_page(toy_model, "nurse", PAIRS, k=4, original=original, others=["home"])
    assert page.nan_reason == "before lacks the word, so its former bias is unknown"
    assert page.neighbors["indirect_bias"].isna().all()


@pytest.mark.parametrize(("lacking", "said"), [(1, "the shares refer to"), (3, "too few for")])
def test_neighbours_that_the_original_lacks_are_counted(toy_model, lacking, said):
    near = word_page(toy_model, "nurse", PAIRS, k=4).neighbors["neighbor"]
    # Those of the pairs are needed for a direction.
    lost = near[~near.isin(PAIRS[0])].tolist()[:lacking]
    few = [word for word in toy_model if word not in lost]
    original = WordEmbeddingModel((few, toy_model.get_vectors(few)), "before")
    page = word_page(toy_model, "nurse", PAIRS, k=4, original=original)
    assert f"before has {4 - lacking} of the 4 neighbours" in page.nan_reason
    assert said in page.nan_reason
    assert np.isnan(page.proximity_bias) == (lacking == 3)
