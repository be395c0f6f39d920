"""Words specific to a group, learned from some of them."""

import numpy as np
import pytest

from wefe import WordEmbeddingModel
from wefe.explore._analogies import learn_specific_words

SEED_WORDS = tuple(f"s{i}" for i in range(10))


@pytest.fixture
def clear():
    """Thirty specific words on one side of a plane, of which ten are known, and 200 others."""
    generator = np.random.default_rng(0)
    # Frequent words do not include those to be learned.
    words = [*SEED_WORDS, *(f"o{i}" for i in range(200)), *(f"t{i}" for i in range(20))]
    vectors = generator.normal(size=(230, 6))
    vectors[:, 0] = 4 + generator.random(230)
    vectors[10:210, 0] -= 7
    return WordEmbeddingModel((words, vectors), name="clear")


def test_words_on_the_side_of_the_seed_words_are_found(clear):
    words, scores = learn_specific_words(clear, SEED_WORDS, among=210, n_folds=5)
    assert set(words["word"]) == {*SEED_WORDS, *(f"t{i}" for i in range(20))}
    assert set(words["word"][words["is_seed"]]) == {*SEED_WORDS}
    assert (scores == 1).all(axis=None)


def test_lost_seed_words_are_named_and_a_prefix_is_taken_off(clear, caplog):
    words = [*(f"/c/en/{word}" for word in clear), "/c/fr/s0", "/c/en/zero"]
    vectors = np.vstack([clear.vectors, clear.vectors[:1], np.zeros((1, 6))])
    prefixed = WordEmbeddingModel((words, vectors), "prefixed", "/c/en/")
    plain, _ = learn_specific_words(clear, SEED_WORDS, among=210, n_folds=2)
    found, _ = learn_specific_words(prefixed, [*SEED_WORDS, "unicorn"], among=210, n_folds=2)
    assert found["word"].tolist() == plain["word"].tolist()
    assert "lacks, or has no direction for, 1 of 11 words of 'seed words': unicorn" in caplog.text
