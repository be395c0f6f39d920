"""The tests of recovery for the words of a model."""

import math

import numpy as np
import pytest

from wefe import WordEmbeddingModel
from wefe.datasets import Criterion, load_criterion
from wefe.debias import HardDebias
from wefe.debias._evidence import CommonWords, residual_rows
from wefe.explore._recovery import recovery_tests

GENDER = load_criterion("gender", offline=True)
TESTS = ["clusters", "classification (rbf)", "classification (linear)", "neighbours"]
WORDS = [*"abcdefghijklmnopqrstuvwxyz", "she", "he"]
PAIR = Criterion("gender", [("she", "he")], class_names=("female", "male"))


@pytest.fixture(scope="module")
def debiased(packaged_model):
    return HardDebias().fit_transform(
        packaged_model, criterion=GENDER, ignore=GENDER.specific_words
    )


@pytest.fixture(scope="module")
def table(packaged_model, debiased):
    return recovery_tests(debiased, GENDER, original=packaged_model)


def toy(words, seed=0, prefix=None):
    vectors = np.random.default_rng(seed).normal(size=(len(words), 4))
    prefixed = [(prefix or "") + word for word in words]
    return WordEmbeddingModel((prefixed, vectors), f"m{seed}", prefix)


def test_what_is_found_is_what_a_comparison_finds(packaged_model, debiased, table):
    """The same words, so the same clusters and neighbours; divisions are others."""
    common = CommonWords([packaged_model, debiased])
    rows = {row["measure"]: row.get("after") for row in residual_rows(common, GENDER, 500, 0)}
    found = table.set_index("test").value
    assert found["clusters"] == pytest.approx(rows["cluster alignment"])
    assert found["neighbours"] == pytest.approx(rows["neighbour correlation"])
    assert found["classification (rbf)"] == pytest.approx(rows["classification accuracy"], abs=0.03)
    assert math.isnan(found["projections"])


def test_the_groups_are_recovered_from_a_hard_debiased_model(table):
    """Measured: clusters 0.79, classes 0.91, neighbours 0.76."""
    assert table.test.tolist() == [*TESTS, "projections"]
    assert table.group.tolist() == ["", "", "", "female", "female"]
    first = table[:4]
    assert ((first.chance + 0.2 < first.low) & (first.low < first.value)).all()
    assert ((first.value < first.high) & (first.p_value < 0.002)).all()
    assert (table.n_words == 1000).all()
    assert "rounding errors" in table.note[4]


def test_neighbours_and_projections_may_be_those_of_professions(packaged_model):
    jobs = ["nurse", "engineer", "lawyer", "she", "xyzzy"]
    found = recovery_tests(packaged_model, GENDER, words=jobs, n_words=50)
    assert found.n_words.tolist() == [100, 100, 100, 3]
    assert "3 of 5 words are neutral and frequent" in found.note[3]


def test_few_words_are_enough_and_noted():
    found = recovery_tests(toy(WORDS, 1), PAIR, original=toy(WORDS))
    assert found.n_words[0] == 12
    assert "6 words per group, from 26" in found.note[0]
    assert "25 neighbours, because there are few words" in found.note[3]
    prefixed = [toy(WORDS, seed, "/c/en/") for seed in (0, 1)]
    assert recovery_tests(prefixed[1], PAIR, original=prefixed[0]).equals(found)


def test_words_that_one_model_lacks_are_counted_and_those_of_a_group_have_no_projections():
    found = recovery_tests(toy(WORDS[2:-1], 1), PAIR, original=toy(WORDS))
    assert found.note[0].startswith("3 words of m0 are not in m1")
    assert math.isnan(found.value[4])
    assert found.note[4].startswith("m1 lacks at least one of she, he")
    assert not found.value[:4].isna().any()


@pytest.mark.parametrize(
    ("words", "options", "culprit"),
    [
        (WORDS[:-1], {}, "m0 lacks .* she, he"),
        (["a", "b", "she", "he"], {}, "at least 2 words biased"),
        (WORDS, {"n_words": 0}, "n_words must be"),
    ],
)
def test_what_is_refused(words, options, culprit):
    with pytest.raises(ValueError, match=culprit):
        recovery_tests(toy(words), PAIR, **options)
