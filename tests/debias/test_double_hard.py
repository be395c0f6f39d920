"""DoubleHardDebias: the worked example, its invariances, and mistakes seen in other versions."""

import numpy as np
import pytest
from mitigation import changed_words, unit
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from wefe import WordEmbeddingModel, load
from wefe.debias import DoubleHardDebias, _double_hard
from wefe.debias._double_hard import (
    alignment,
    cleaner,
    principal_directions,
    two_means,
    vocabulary_covariance,
)

PAIRS = [["she", "he"], ["woman", "man"]]
BOTH = ["she", "he"]
FOUR = [*PAIRS, ["girl", "boy"], ["her", "him"]]
USED = {word for pair in FOUR for word in pair}


@pytest.fixture
def model():
    """A vocabulary that leans along a direction, and varies most along a frequency direction."""
    rng = np.random.default_rng(3)
    lean, frequency = np.linalg.qr(rng.normal(size=(12, 2)))[0].T
    vectors = 0.3 * rng.normal(size=(400, 12)) + 0.4
    vectors += rng.normal(size=(400, 1)) * lean + 3 * rng.exponential(size=(400, 1)) * frequency
    for first in range(392, 400, 2):
        vectors[first] = vectors[first + 1] + 2 * lean + 0.1 * rng.normal(size=12)
    words = [f"w{row}" for row in range(392)] + [word for pair in FOUR for word in pair]
    return WordEmbeddingModel((words, vectors), name="leaning")


@pytest.fixture
def method(model):
    return DoubleHardDebias().fit(model, FOUR, BOTH)


# The worked example


def test_mean_and_components_of_the_worked_example(toy_model):
    mean, covariance = vocabulary_covariance(toy_model)
    np.testing.assert_allclose(mean, [0.053846, 0.484615, 0.269231], atol=1e-6)
    variances = np.linalg.eigvalsh(covariance)[::-1]
    shares = variances / variances.sum()
    np.testing.assert_allclose(shares, [0.540203, 0.369528, 0.090269], atol=1e-6)
    expected = [
        [0.990476, 0.012357, -0.137132],
        [0.108213, -0.685680, 0.719815],
        [0.085134, 0.727799, 0.680486],
    ]
    components = principal_directions(covariance, mean)
    signs = np.sign(np.sum(components * expected, axis=1))
    np.testing.assert_allclose(components * signs[:, None], expected, atol=1e-6)
    assert (components @ mean >= 0).all()


@pytest.fixture
def groups_of_the_example(toy_model, monkeypatch):
    """The groups are given: of nine words, fit would take two for each class."""
    sides = ["nurse", "home", "kids", "tree"], ["job", "pilot", "boss", "folk"]
    groups = [np.array([toy_model.vocab[word] for word in side]) for side in sides]
    monkeypatch.setattr(_double_hard, "_most_biased", lambda *_: groups)


@pytest.mark.usefixtures("groups_of_the_example")
def test_vectors_of_the_worked_example(toy_model):
    method = DoubleHardDebias().fit(toy_model, PAIRS, BOTH)
    np.testing.assert_allclose(method.alignments_, [0.75, 0.625, 0.625])
    assert method.chosen_component_ == 1
    chosen = method.transform(toy_model, ignore=BOTH)["nurse"]
    np.testing.assert_allclose(chosen, (0.019308, -0.014525, 0.167569), atol=1e-6)


# Against slow or independent versions


@pytest.mark.parametrize("block_numbers", [24, 1 << 20])
def test_streamed_covariance_is_that_of_numpy(model, monkeypatch, block_numbers):
    monkeypatch.setattr("wefe.models._passes._BLOCK_NUMBERS", block_numbers)
    vectors = model.vectors + 1e4
    mean, covariance = vocabulary_covariance(WordEmbeddingModel((list(model), vectors)))
    np.testing.assert_allclose(mean, vectors.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(covariance, np.cov(vectors.T), rtol=1e-7, atol=1e-9)
    components = PCA(svd_solver="full").fit(vectors).components_
    found = principal_directions(covariance, mean)
    np.testing.assert_allclose(np.abs(np.sum(found * components, axis=1)), 1, atol=1e-6)


def test_every_step_written_out(model, caplog):
    """The steps word by word, with scikit-learn's PCA and KMeans."""
    n_words = 60
    method = DoubleHardDebias(n_words=n_words, n_components=3).fit(model, FOUR, BOTH)
    assert "most biased words" not in caplog.text
    # A quarter of the others.
    for n_asked, told in ((98, False), (99, True)):
        DoubleHardDebias(n_words=n_asked, n_components=1).fit(model, FOUR, BOTH)
        assert ("the 98 most biased words of each class" in caplog.text) is told
    lean = unit(model.vectors) @ (unit(model["he"]) - unit(model["she"]))
    order = sorted({*model} - USED, key=lambda word: lean[model.vocab[word]])
    sides = order[:n_words] + order[-n_words:]
    mean = model.vectors.mean(axis=0)
    alignments, results = [], []
    for u in PCA(3, svd_solver="full").fit(model.vectors).components_:
        new = {word: model[word] - mean - (u @ model[word]) * u for word in model}
        differences = [new[first] - new[second] for first, second in FOUR]
        g = np.linalg.svd(np.array(differences))[2][0]
        results.append({word: vector - (vector @ g) * g for word, vector in new.items()})
        points = np.array([results[-1][word] for word in sides])
        labels = KMeans(2, n_init=10, random_state=1).fit(points).labels_
        accuracy = np.mean(labels == np.repeat([0, 1], n_words))
        alignments.append(max(accuracy, 1 - accuracy))
    np.testing.assert_allclose(method.alignments_, alignments, atol=0.02)
    assert method.chosen_component_ == np.argmin(alignments)
    debiased = method.transform(model, ignore=["w1"])
    for word in ("w0", "w7", "she"):
        expected = results[method.chosen_component_][word]
        np.testing.assert_allclose(debiased[word], expected, atol=1e-10)


@pytest.mark.parametrize("apart", [0.0, 1.0])
def test_two_means_is_as_good_as_that_of_scikit_learn(apart):
    points = np.random.default_rng(5).normal(size=(300, 4)) + 7
    points[:70] += apart * 3
    labels = two_means(points, np.random.default_rng(0))
    within = sum(len(p) * p.var(axis=0).sum() for p in (points[labels], points[~labels]))
    theirs = KMeans(2, n_init=20, random_state=0).fit(points)
    assert within == pytest.approx(theirs.inertia_, rel=1e-6 if apart else 2e-3)
    assert two_means(np.ones((5, 3)), np.random.default_rng(0)).shape == (5,)
    assert alignment([np.zeros((3, 2)), np.ones((6, 2))], np.random.default_rng(0)) == 1


# Which words change, and which count


def test_target_and_ignore(model, method, caplog):
    everything = method.transform(model)
    assert "nothing is ignored" in caplog.text
    assert (np.abs(everything.vectors - model.vectors).max(axis=1) > 1e-3).all()
    targets = [f"w{row}" for row in range(0, 380, 3)]
    debiased = method.transform(model, targets, ["w3", "w4", "she"])
    assert "cosines" in caplog.text
    assert changed_words(model, debiased) == {*targets}
    # Ignored words lose the frequency direction only.
    ignored = method.transform(model, ignore=["w3", "she"])
    for word in ("w3", "she"):
        (expected,) = cleaner(method.frequency_direction_, method.mean_)(model[word][None])
        np.testing.assert_allclose(ignored[word], expected, atol=1e-12)
    assert abs(ignored["she"] @ method.bias_direction_) > 0.1
    np.testing.assert_allclose(debiased["w3"], ignored["w3"], atol=1e-12)
    for word in {*targets} - {"w3"}:
        np.testing.assert_allclose(debiased[word], everything[word], atol=1e-12)


@pytest.mark.parametrize("prefix", ["", "/en/"])
def test_most_biased_words(model, prefix):
    named = WordEmbeddingModel(([prefix + w for w in model], model.vectors), "m", prefix or None)
    find = DoubleHardDebias().get_target_words
    lean = unit(model.vectors) @ (unit(model["she"]) - unit(model["he"]))
    order = sorted({*model} - {*BOTH}, key=lambda word: -lean[model.vocab[word]])
    assert find(named, None, BOTH, 30, BOTH) == order[:30] + order[::-1][:30]
    some = ["w1", "w2", "w3", "missing"]
    assert sorted(find(named, some, [], 3, BOTH)) == some[:3]
    with pytest.raises(ValueError, match="n_words"):
        find(named, None, None, 0, BOTH)


NINE = ["home", "kids", "boss", "job", "nurse", "pilot", "tree", "they", "folk"]


@pytest.mark.parametrize(
    ("settings", "words", "error", "culprit"),
    [
        ({}, {"bias_representation": ["she"]}, ValueError, "2 words"),
        ({}, {"bias_representation": ["she", "she"]}, ValueError, "same direction"),
        ({}, {"ignore": NINE[:8]}, ValueError, "no word"),
    ],
)
def test_what_cannot_be_fitted_is_named(toy_model, settings, words, error, culprit):
    given = {"definitional_pairs": PAIRS, "bias_representation": BOTH} | words
    with pytest.raises(error, match=culprit):
        DoubleHardDebias(**settings).fit(toy_model, **given)


def test_models_that_cannot_be_fitted(toy_model, tmp_path):
    toy_model.save(tmp_path / "toy.txt", progress=False)
    some = load(tmp_path / "toy.txt", hold="selected", words=[*BOTH, "woman", "man", *NINE])
    with pytest.raises(ValueError, match="whole vocabulary"):
        DoubleHardDebias().fit(some, PAIRS, BOTH)
