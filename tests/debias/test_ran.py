"""RAN: the worked example, the published mistakes, and a slow optimiser to compare with."""

import math

import numpy as np
import pytest
from mitigation import changed_words, unit

from wefe import WordEmbeddingModel
from wefe.debias import RepulsionAttractionNeutralization, _ran
from wefe.metrics import indirect_bias

AUTHORS = (1 / 8, 6 / 8, 1 / 8)
EQUAL = (0.33, 0.33, 0.33)
PAIRS = [["she", "he"], ["woman", "man"]]
TOY_DIRECTION = np.array([0.997742, -0.067150, -0.001556])
NURSE, HOME = np.array([0.5, 0.1, 0.8]), np.array([0.6, 0.9, 0.3])


def objective(vector, word, repulsion_set, direction, weights):
    """What RAN minimises, for one word: repulsion, attraction and neutralisation."""
    x, w, g = unit(vector), unit(word), unit(direction)
    near = np.asarray(repulsion_set, dtype=float).reshape(-1, len(x))
    repulsion = np.abs(unit(near) @ x).mean() if len(near) else 0.0
    return np.dot(weights, [repulsion, abs(x @ w - 1) / 2, abs(x @ g)])


def biased_model(dtype=np.float64):
    """Words on both sides of a direction, so that many neighbours are biased ones."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(80, 10))
    vectors[:, 0] += rng.choice([-2.0, 2.0], 80)
    vectors[:4, 0] = [4, -4, 5, -5]
    words = ["she", "he", "woman", "man", *(f"w{i}" for i in range(4, 80))]
    return WordEmbeddingModel((words, vectors.astype(dtype)), "random")


def random_task(n_words=12, dim=7):
    """Words, sets of 0 to n_words - 1 vectors, and a direction; nothing has unit length."""
    rng = np.random.default_rng(3)
    words = rng.normal(size=(n_words, dim))
    sets = [words[i] + rng.normal(size=(i, dim)) for i in range(n_words)]
    return words, sets[::-1], rng.normal(size=dim)


def optimized(words, sets, direction, weights, epochs=300, rate=0.01):
    method = RepulsionAttractionNeutralization(weights=weights, epochs=epochs, learning_rate=rate)
    method.bias_direction_ = direction
    return method._optimized(words, sets)


# The optimum


def test_optimum_of_the_worked_example():
    (found,) = optimized(NURSE[None], [HOME[None]], TOY_DIRECTION, AUTHORS)
    np.testing.assert_allclose(found, (0.0212, -0.1817, 0.9831), atol=2e-3)
    for vector, expected in ((found, 0.08713), (NURSE, 0.138634)):
        value = objective(vector, NURSE, [HOME], TOY_DIRECTION, AUTHORS)
        assert value == pytest.approx(expected, abs=1e-5)
    # Each of these is what one published mistake leads to.
    for mistake in (
        (0.4262, -0.0470, 0.9034),  # |x . g| in place of the cosine
        (-0.0104, -0.1795, 0.9837),  # neutralisation with the weight of attraction
        (-0.0196, -0.3047, 0.9523),  # attraction to a copy that moves along
    ):
        assert np.abs(found - mistake).max() > 5e-3


# A slow optimiser


def gradient(x, word, near, g, weights):
    """Derivative of the objective, one cosine after the other."""
    length = math.sqrt(x @ x)

    def of_cosine(to):
        return (unit(to) - (x @ unit(to)) / length * x / length) / length

    result = -weights[1] / 2 * of_cosine(word) + weights[2] * np.sign(x @ g) * of_cosine(g)
    for vector in near:
        result = result + weights[0] / len(near) * np.sign(x @ vector) * of_cosine(vector)
    return result


def literal(word, near, g, weights, epochs, rate):
    """Adam as its paper has it; the best vector on its way."""
    x, m, v = unit(word), 0.0, 0.0
    best = x
    for t in range(1, epochs + 1):
        slope = gradient(x, word, near, g, weights)
        m, v = 0.9 * m + 0.1 * slope, 0.999 * v + 0.001 * slope**2
        x = x - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        best = min(best, x, key=lambda each: objective(each, word, near, g, weights))
    return unit(best)


@pytest.mark.parametrize("weights", [AUTHORS, EQUAL, (0.7, 0.1, 0.0)])
@pytest.mark.parametrize("epochs", [1, 2, 40, 300])
def test_whole_trajectory_against_a_literal_optimiser(epochs, weights):
    words, sets, g = random_task()
    found = optimized(words, sets, g, weights, epochs, 0.02)
    for word, near, x in zip(words, sets, found, strict=True):
        if not len(near) and not weights[2]:
            # What nothing pushes keeps its direction; rounding noise would move it.
            np.testing.assert_allclose(x, unit(word), atol=1e-15)
            continue
        np.testing.assert_allclose(x, literal(word, near, g, weights, epochs, 0.02), atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_word_depends_on_its_block(monkeypatch, dtype):
    words, sets, g = random_task(n_words=40, dim=33)
    exact = optimized(words, sets, g, AUTHORS)
    words, sets = words.astype(dtype), [near.astype(dtype) for near in sets]
    together = optimized(words, sets, g, AUTHORS)
    assert together.dtype == dtype
    for task in zip(words, sets, exact, together, strict=True):
        word, near, *found = task
        values = [objective(each, word, near, g, AUTHORS) for each in found]
        assert values[1] == pytest.approx(values[0], abs=2e-3)
    for size in (1, 3 * 33, 500):
        monkeypatch.setattr(_ran, "_BLOCK_NUMBERS", size)
        assert np.array_equal(optimized(words, sets, g, AUTHORS), together)
    order = np.random.default_rng(0).permutation(len(words))
    shuffled = optimized(words[order], [sets[row] for row in order], g, AUTHORS)
    assert np.array_equal(shuffled, together[order])


# The method


def brute_force_sets(model, word, g, theta, n_neighbours):
    """Nearest neighbours of a word, one by one, and which of them are biased."""
    own = unit(model[word])
    others = sorted({*model} - {word}, key=lambda other: -(own @ unit(model[other])))
    near = model.get_vectors(others[:n_neighbours])
    return near[indirect_bias(own, near, g) >= theta]


@pytest.mark.parametrize(("theta", "n_neighbours"), [(0.05, 10), (-0.2, 10), (0.3, 100)])
def test_transform_is_the_objective_with_biased_neighbours(theta, n_neighbours):
    model = biased_model()
    method = RepulsionAttractionNeutralization(
        theta=theta, n_neighbours=n_neighbours, weights="authors", epochs=50
    ).fit(model, PAIRS)
    g = method.bias_direction_
    targets = [f"w{i}" for i in range(4, 40)]
    result = method.transform(model, target=targets)
    sizes = set()
    for word in targets:
        near = brute_force_sets(model, word, g, theta, n_neighbours)
        sizes.add(len(near))
        (expected,) = optimized(model[word][None], [near], g, AUTHORS, 50)
        np.testing.assert_allclose(result[word], expected, atol=1e-9)
    assert len(sizes) > 3


def test_neighbours_are_those_of_the_model_before(monkeypatch, caplog):
    model = biased_model()
    method = RepulsionAttractionNeutralization(epochs=10).fit(model, PAIRS)
    copied = method.transform(model)
    assert "nothing is ignored" in caplog.text
    assert changed_words(model, copied) == {*model}
    few = method.transform(model, ["w7", "w5", "w9"], ["w5"])
    assert np.array_equal(few["w7"], copied["w7"])
    monkeypatch.setattr(_ran, "_BATCH_NUMBERS", 1)
    assert method.transform(model) == copied
    method.transform(model, copy=False)
    assert model == copied


@pytest.mark.parametrize(
    ("setting", "value", "error", "culprit"),
    [
        ("epochs", 0, ValueError, "epochs"),
        ("theta", math.nan, ValueError, "theta"),
        ("learning_rate", 0, ValueError, "learning_rate"),
        ("weights", (0.5, 0.5), ValueError, "weights must be three"),
        ("weights", (0.5, 0.5, -1), ValueError, "weights must be three"),
        ("weights", (0, 0, 0), ValueError, "weights must be three"),
        ("weights", "autors", ValueError, "'authors'"),
    ],
)
def test_settings_are_checked_in_fit(setting, value, error, culprit):
    with pytest.raises(error, match=culprit):
        RepulsionAttractionNeutralization(**{setting: value}).fit(biased_model(), PAIRS)
