"""Words specific to a group, learned from some of them."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from wefe import WordEmbeddingModel
from wefe.datasets import fetch_debiaswe
from wefe.explore._specific_words import learn_specific_words

# The published lists and vectors, where they are at hand.
DATA = Path(os.environ.get("WEFE_DATA_DIR") or Path(__file__).parents[3] / "shared" / "data")
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
    return WordEmbeddingModel.from_arrays(words, vectors, name="clear")


def test_words_on_the_side_of_the_seed_words_are_found(clear):
    found = learn_specific_words(clear, SEED_WORDS, among=210, n_folds=5)
    assert set(found.words) == {*SEED_WORDS, *(f"t{i}" for i in range(20))}
    assert found.scores()["mean"].tolist() == [1.0, 1.0, 1.0]
    assert (found.n_seed, found.n_train, found.lost) == (10, 210, ())
    frame = found.to_frame()
    assert frame["word"][frame["is_seed"]].isin(SEED_WORDS).all()
    assert "30 words from 10 seed words, held-out F1 1.00" in repr(found)


@pytest.mark.parametrize("weight", [None, "balanced"])
@pytest.mark.parametrize("threshold", [-0.3, 0.0, 0.5])
def test_decisions_are_those_of_the_classifier_on_each_word(packaged_model, weight, threshold):
    seeds = fetch_debiaswe(offline=True)["gender_specific_seed"]
    found = learn_specific_words(
        packaged_model, seeds, among=1000, n_folds=2, class_weight=weight, threshold=threshold
    )
    words = list(packaged_model.vocab)
    training = dict.fromkeys([*words[:1000], *(word for word in words if word in set(seeds))])
    unit = {word: packaged_model[word] / np.linalg.norm(packaged_model[word]) for word in words}
    machine = LinearSVC(C=1.0, class_weight=weight, dual="auto", random_state=0, max_iter=10_000)
    machine.fit(
        np.stack([unit[word] for word in training]).astype(float),
        [word in set(seeds) for word in training],
    )
    every = {word: float(unit[word] @ machine.coef_[0] + machine.intercept_[0]) for word in words}
    sure = {word for word, value in every.items() if value > threshold + 1e-4 or word in seeds}
    decisions = dict(zip(found.words, found.decisions, strict=True))
    assert sure <= set(decisions)
    assert all(every[word] > threshold - 1e-4 for word in set(decisions) - sure)
    assert decisions == pytest.approx({word: every[word] for word in decisions}, abs=1e-4)
    assert found.n_train == len(training)


def test_lost_seed_words_are_named_and_a_prefix_is_taken_off(clear, caplog):
    words = [*(f"/c/en/{word}" for word in clear), "/c/fr/s0"]
    vectors = np.vstack([clear.vectors, clear.vectors[:1]])
    prefixed = WordEmbeddingModel((words, vectors), "prefixed", "/c/en/")
    plain = learn_specific_words(clear, SEED_WORDS, among=210, n_folds=2)
    found = learn_specific_words(prefixed, [*SEED_WORDS, "unicorn"], among=210, n_folds=2)
    assert (found.words, found.lost) == (plain.words, ("unicorn",))
    assert "lacks 1 of 11 words of 'seed words': unicorn" in caplog.text


@pytest.mark.skipif(not (DATA / "debiaswe").is_dir(), reason="no local mirror")
def test_words_learned_of_word2vec_are_mostly_those_published(monkeypatch):
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    monkeypatch.setenv("WEFE_DATA_DIR", str(DATA))
    wv = keyed_vectors.load(str(DATA / "models" / "word2vec_subset.kv"))
    word_sets = fetch_debiaswe()
    published, seeds = set(word_sets["gender_specific"]), word_sets["gender_specific_seed"]
    for weight, least in ((None, 0.97), ("balanced", 0.4)):
        found = learn_specific_words(
            WordEmbeddingModel(wv, "word2vec"), seeds, n_folds=2, class_weight=weight
        )
        learned = set(found.words) - (set(seeds) if weight else set())
        # By chance it would be a tenth.
        assert len(learned & published) / len(learned) > least
    assert len(learned & published) > 200
