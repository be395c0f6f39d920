"""RAN: the worked example, the published mistakes, and two slow optimisers to compare with."""

import math
from pathlib import Path

import numpy as np
import pytest

from wefe import WordEmbeddingModel, load
from wefe.datasets import Criterion, fetch_debiaswe
from wefe.debias import RepulsionAttractionNeutralization, _ran
from wefe.debias._ran import repel_attract_neutralize
from wefe.metrics import indirect_bias

AUTHORS = (1 / 8, 6 / 8, 1 / 8)
PAIRS = [["she", "he"], ["woman", "man"]]
TOY_DIRECTION = np.array([0.997742, -0.067150, -0.001556])
NURSE, HOME = np.array([0.5, 0.1, 0.8]), np.array([0.6, 0.9, 0.3])
SHARED = Path(__file__).resolve().parents[2].parent / "shared"


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def objective(vector, word, repulsion_set, direction, weights):
    """What RAN minimises, for one word: repulsion, attraction and neutralisation."""
    x, w, g = (unit(np.asarray(each, dtype=float)) for each in (vector, word, direction))
    near = np.asarray(repulsion_set, dtype=float).reshape(-1, len(x))
    repulsion = np.abs(unit(near) @ x).mean() if len(near) else 0.0
    return np.dot(weights, [repulsion, abs(x @ w - 1) / 2, abs(x @ g)])


def biased_model(n_words=80, dim=10, name="random", dtype=np.float64):
    """Words on both sides of a direction, so that many neighbours are biased ones."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(n_words, dim))
    vectors[:, 0] += rng.choice([-2.0, 2.0], n_words)
    vectors[:4, 0] = [4, -4, 5, -5]
    words = ["she", "he", "woman", "man", *(f"w{i}" for i in range(4, n_words))]
    return WordEmbeddingModel((words, vectors.astype(dtype)), name)


def random_task(n_words=12, dim=7, seed=3):
    """Words, sets of 0 to n_words - 1 vectors, and a direction; nothing has unit length."""
    rng = np.random.default_rng(seed)
    words = rng.normal(size=(n_words, dim))
    sets = [words[i] + rng.normal(size=(i, dim)) for i in range(n_words)]
    return words, sets[::-1], rng.normal(size=dim)


# Indirect bias


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("nurse", "home", 0.226520),
        ("nurse", "pilot", -1.067622),
        ("nurse", "she", 0.182662),
        ("boss", "job", -0.052122),
    ],
)
def test_indirect_bias_worked_example(toy_model, first, second, expected):
    method = RepulsionAttractionNeutralization().fit(toy_model, PAIRS)
    g = method.bias_direction_
    np.testing.assert_allclose(g, TOY_DIRECTION, atol=1e-6)
    (found,) = indirect_bias(toy_model[first], toy_model[second], g)
    assert found == pytest.approx(expected, abs=1e-6)


# The optimum


def test_objective_worked_example():
    def value(vector, weights):
        return objective(vector, NURSE, [HOME], TOY_DIRECTION, weights)

    neutral = NURSE - (NURSE @ TOY_DIRECTION) * TOY_DIRECTION
    assert value(NURSE, AUTHORS) == pytest.approx(0.138634, abs=1e-6)
    assert value(neutral, AUTHORS) == pytest.approx(0.104320, abs=1e-6)
    assert value(NURSE, (0.33, 0.33, 0.33)) == pytest.approx(0.365994, abs=1e-6)
    for weights, before, after in (
        ((1, 0, 0), 0.591608, 0.401671),
        ((0, 1, 0), 0, 0.072148),
        ((0, 0, 1), 0.517465, 0),
    ):
        assert value(NURSE, weights) == pytest.approx(before, abs=1e-6)
        assert value(neutral, weights) == pytest.approx(after, abs=1e-6)
        assert value(7 * neutral, weights) == pytest.approx(after, abs=1e-6)
    assert objective(NURSE, NURSE, np.empty((0, 3)), TOY_DIRECTION, (1, 0, 0)) == 0


def test_optimum_worked_example():
    (found,) = repel_attract_neutralize(NURSE[None], [HOME[None]], TOY_DIRECTION, AUTHORS)
    np.testing.assert_allclose(found, (0.0212, -0.1817, 0.9831), atol=2e-3)
    value = objective(found, NURSE, [HOME], TOY_DIRECTION, AUTHORS)
    assert value == pytest.approx(0.08713, abs=1e-4)
    # Each of these is what one published mistake leads to.
    for mistake in (
        (0.4262, -0.0470, 0.9034),  # |x . g| in place of the cosine
        (-0.0104, -0.1795, 0.9837),  # neutralisation with the weight of attraction
        (-0.0196, -0.3047, 0.9523),  # attraction to a copy that moves along
    ):
        assert np.abs(found - mistake).max() > 5e-3


def test_nothing_better_is_near_the_optimum():
    words, sets, g = random_task()
    found = repel_attract_neutralize(words, sets, g, AUTHORS, 3000, 1e-3)
    rng = np.random.default_rng(0)
    for word, near, best in zip(words, sets, found, strict=True):
        reached = objective(best, word, near, g, AUTHORS)
        assert reached < objective(word, word, near, g, AUTHORS)
        for step in rng.normal(size=(100, len(g))):
            assert objective(best + 0.1 * step, word, near, g, AUTHORS) > reached - 1e-3


def test_each_term_moves_the_vector_by_its_own_weight():
    words, sets, g = random_task(n_words=2, seed=4)
    word, near = words[0], sets[0]
    assert len(near) == 1

    def cosines(weights):
        (x,) = repel_attract_neutralize(words[:1], [near], g, weights)
        return abs(x @ unit(near[0])), x @ unit(word), abs(x @ unit(g))

    repelled = cosines((1, 0, 0))
    neutral = cosines((0, 0, 1))
    before = abs(unit(word) @ unit(near[0])), 1, abs(unit(word) @ unit(g))
    assert repelled[0] < 0.02 < before[0]
    assert neutral[2] < 0.02 < before[2]
    np.testing.assert_allclose(cosines((0, 1, 0)), before, atol=1e-6)
    # The original is the anchor: the more it counts, the nearer the vector stays.
    kept = [cosines((1, weight, 1))[1] for weight in (0, 3, 5, 50)]
    assert (np.diff(kept) > 0.1).all()
    assert kept[-1] > 0.999


def test_lengths_do_not_count_and_the_result_has_length_one():
    words, sets, g = random_task()
    found = repel_attract_neutralize(words, sets, g, AUTHORS)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-12)
    scaled = repel_attract_neutralize(1e-3 * words, [50 * near for near in sets], 9 * g, AUTHORS)
    np.testing.assert_allclose(scaled, found, atol=1e-6)


# Two slow optimisers


def gradient(x, word, near, g, weights):
    """Derivative of the objective, one cosine after the other."""
    length = math.sqrt(x @ x)

    def of_cosine(to):
        return (to / math.sqrt(to @ to) - (x @ unit(to)) / length * x / length) / length

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


def test_gradient_against_finite_differences():
    words, sets, g = random_task()
    rng = np.random.default_rng(1)
    for word, near in zip(words, sets, strict=True):
        x, step = rng.normal(size=len(g)), 1e-6
        differences = [
            objective(x + step * axis, word, near, g, (0.2, 0.5, 0.3))
            - objective(x - step * axis, word, near, g, (0.2, 0.5, 0.3))
            for axis in np.eye(len(g))
        ]
        expected = np.array(differences) / (2 * step)
        np.testing.assert_allclose(gradient(x, word, near, g, (0.2, 0.5, 0.3)), expected, atol=1e-8)


@pytest.mark.parametrize("weights", [AUTHORS, (0.33, 0.33, 0.33), (0.7, 0.1, 0.0)])
@pytest.mark.parametrize("epochs", [1, 2, 5, 40, 300])
def test_whole_trajectory_against_a_literal_optimiser(epochs, weights):
    words, sets, g = random_task()
    found = repel_attract_neutralize(words, sets, g, weights, epochs, 0.02)
    for word, near, x in zip(words, sets, found, strict=True):
        if not len(near) and not weights[2]:
            continue  # only rounding noise would move it
        np.testing.assert_allclose(x, literal(word, near, g, weights, epochs, 0.02), atol=1e-8)


@pytest.mark.parametrize("epochs", [1, 2, 5, 40, 300])
def test_whole_trajectory_against_torch(epochs):
    torch = pytest.importorskip("torch")
    words, sets, g = random_task()
    found = repel_attract_neutralize(words, sets, g, AUTHORS, epochs, 0.01)
    direction = torch.tensor(unit(g))
    for word, near, result in zip(words, sets, found, strict=True):
        anchor = torch.tensor(unit(word))
        others = torch.tensor(unit(near))
        x = anchor.clone().requires_grad_()
        adam = torch.optim.Adam([x], lr=0.01)
        best, least = x.detach().clone(), np.inf
        for step in range(epochs + 1):
            adam.zero_grad()
            along = x / x.norm()
            loss = AUTHORS[1] * (along @ anchor - 1).abs() / 2
            loss = loss + AUTHORS[2] * (along @ direction).abs()
            if len(others):
                loss = loss + AUTHORS[0] * (others @ along).abs().mean()
            if float(loss.detach()) < least:
                best, least = x.detach().clone(), float(loss.detach())
            if step < epochs:
                loss.backward()
                adam.step()
        # On the way, vectors swing more than at the end.
        np.testing.assert_allclose(result, unit(best.numpy()), atol=1e-7)


@pytest.mark.parametrize("weights", [AUTHORS, (0.33, 0.33, 0.33), (0.0, 1.0, 0.01)])
@pytest.mark.parametrize("epochs", [1, 3, 30])
def test_no_word_ends_with_a_larger_loss_than_it_began_with(epochs, weights):
    words, sets, g = random_task(n_words=40)
    found = repel_attract_neutralize(words, sets, g, weights, epochs, 0.5)
    for word, near, x in zip(words, sets, found, strict=True):
        began, ended = (objective(each, word, near, g, weights) for each in (word, x))
        assert ended <= began + 1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_word_depends_on_its_block(monkeypatch, dtype):
    words, sets, g = random_task(n_words=40, dim=33)
    words, sets = words.astype(dtype), [near.astype(dtype) for near in sets]
    together = repel_attract_neutralize(words, sets, g, AUTHORS)
    assert together.dtype == dtype
    for size in (1, 3 * 33, 500):
        monkeypatch.setattr(_ran, "_BLOCK_NUMBERS", size)
        assert np.array_equal(repel_attract_neutralize(words, sets, g, AUTHORS), together)
    order = np.random.default_rng(0).permutation(len(words))
    shuffled = repel_attract_neutralize(words[order], [sets[row] for row in order], g, AUTHORS)
    assert np.array_equal(shuffled, together[order])
    alone = [
        repel_attract_neutralize(word[None], [near], g, AUTHORS)[0]
        for word, near in zip(words, sets, strict=True)
    ]
    assert np.array_equal(alone, together)


def test_float32_reaches_the_same_value():
    words, sets, g = random_task(n_words=30, dim=50)
    exact = repel_attract_neutralize(words, sets, g, AUTHORS)
    single = repel_attract_neutralize(
        words.astype(np.float32), [near.astype(np.float32) for near in sets], g, AUTHORS
    )
    for word, near, x, y in zip(words, sets, exact, single, strict=True):
        difference = objective(x, word, near, g, AUTHORS) - objective(y, word, near, g, AUTHORS)
        assert abs(difference) < 2e-3


def test_inputs_stay_as_they_are():
    words, sets, g = random_task()
    copies = words.copy(), [near.copy() for near in sets], g.copy()
    repel_attract_neutralize(words, sets, g, AUTHORS, 3)
    assert np.array_equal(words, copies[0])
    assert np.array_equal(g, copies[2])
    assert all(np.array_equal(*pair) for pair in zip(sets, copies[1], strict=True))


# The method


def brute_force_sets(model, word, g, theta, n_neighbours):
    """Nearest neighbours of a word, one by one, and which of them are biased."""
    own = unit(model[word].astype(float))
    others = [other for other in model if other != word and model[other].any()]
    others.sort(key=lambda other: -(own @ unit(model[other].astype(float))))
    near = np.array([model[other] for other in others[:n_neighbours]], dtype=float)
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
        (expected,) = repel_attract_neutralize(model[word][None], [near], g, AUTHORS, 50)
        np.testing.assert_allclose(result[word], expected, atol=1e-9)
    assert len(sizes) > 3


def test_settings_reach_the_optimiser():
    model = biased_model()

    def result(**settings):
        method = RepulsionAttractionNeutralization(**settings)
        return method.fit_transform(model, definitional_pairs=PAIRS, target=["w9"])["w9"]

    default = result()
    assert np.array_equal(default, result(weights=[0.33, 0.33, 0.33], epochs=300))
    assert np.array_equal(result(weights="authors"), result(weights=AUTHORS))
    for other in (
        {"weights": "authors"},
        {"weights": (0.33, 0.33, 0.1)},
        {"epochs": 20},
        {"learning_rate": 0.03},
        {"theta": 10},
        {"n_neighbours": 1},
    ):
        assert not np.allclose(default, result(**other), atol=1e-4), other


def test_target_and_ignore(caplog):
    model = biased_model()
    before = model.vectors.copy()
    method = RepulsionAttractionNeutralization(epochs=10).fit(model, PAIRS)
    every = method.transform(model)
    assert "nothing is ignored" in caplog.text
    assert (every.vectors != before).any(axis=1).all()
    result = method.transform(model, target=["w7", "missing", "w5", "w9"], ignore=["w5", "she"])
    changed = [word for word in model if not np.array_equal(result[word], model[word])]
    assert changed == ["w7", "w9"]
    assert "lacks 1 of the 4 words in target: missing" in caplog.text
    assert np.array_equal(result["w7"], every["w7"])
    assert list(result.vocab) == list(model.vocab)
    rest = method.transform(model, ignore=["she", "w5"])
    same = [word for word in model if np.array_equal(rest[word], model[word])]
    assert same == ["she", "w5"]
    assert np.array_equal(model.vectors, before)
    with pytest.raises(ValueError, match="none of the 1 words in target"):
        method.transform(model, target=["missing"])


def test_neighbours_are_those_of_the_model_before(monkeypatch):
    model = biased_model()
    method = RepulsionAttractionNeutralization(criterion_name="gender", epochs=10)
    copied = method.fit(model, PAIRS).transform(model)
    monkeypatch.setattr(_ran, "_BATCH_NUMBERS", 1)
    assert np.array_equal(method.transform(model).vectors, copied.vectors)
    assert method.transform(model, copy=False) is model
    assert np.array_equal(model.vectors, copied.vectors)
    assert model.name == copied.name == "random_gender_debiased"


def test_vectors_without_a_direction_stay(caplog):
    model = biased_model()
    model.vectors[10], model.vectors[11, 3], model.vectors[12, 0] = 0, np.nan, np.inf
    result = RepulsionAttractionNeutralization(epochs=5, n_neighbours=1000).fit_transform(
        model, definitional_pairs=PAIRS, ignore=["he"]
    )
    assert np.array_equal(result.vectors[10:13], model.vectors[10:13], equal_nan=True)
    assert "3 vectors do not change" in caplog.text
    assert np.isfinite(np.delete(result.vectors, (10, 11, 12), axis=0)).all()


def test_a_vocabulary_of_one_other_word_and_none():
    model = biased_model()
    method = RepulsionAttractionNeutralization(epochs=300).fit(model, PAIRS)
    lonely = WordEmbeddingModel((["w"], np.full((1, 10), 0.5)), "lonely")
    result = method.transform(lonely, target=["w"])
    assert abs(result["w"] @ method.bias_direction_) < 0.02


def test_models_opened_for_some_words_are_refused(tmp_path):
    model = biased_model(dtype=np.float32)
    model.save(tmp_path / "vectors.txt")
    some = load(
        tmp_path / "vectors.txt", words=["she", "he", "woman", "man", "w5"], hold="selected"
    )
    method = RepulsionAttractionNeutralization().fit(some, PAIRS)
    with pytest.raises(ValueError, match="whole vocabulary"):
        method.transform(some, target=["w5"])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"epochs": 0}, ValueError, "epochs"),
        ({"epochs": 1.5}, TypeError, "epochs"),
        ({"n_neighbours": 0}, ValueError, "n_neighbours"),
        ({"theta": "high"}, TypeError, "theta must be a finite number; got str"),
        ({"theta": float("nan")}, ValueError, "theta"),
        ({"learning_rate": 0}, ValueError, "learning_rate must be above 0"),
        ({"learning_rate": -1}, ValueError, "learning_rate"),
        ({"weights": (0.5, 0.5)}, ValueError, "weights must be three numbers"),
        ({"weights": (0.5, 0.5, -1)}, ValueError, r"weights\[2\]"),
        ({"weights": (0, 0, 0)}, ValueError, "must not all be 0"),
        ({"weights": "autors"}, ValueError, "Did you mean 'authors'"),
        ({"weights": 0.5}, TypeError, "weights must be a list"),
    ],
)
def test_settings_are_checked_in_fit(settings, error, message):
    method = RepulsionAttractionNeutralization(**settings)
    with pytest.raises(error, match=message):
        method.fit(biased_model(), PAIRS)


def test_a_criterion_brings_its_pairs():
    model = biased_model()
    method = RepulsionAttractionNeutralization(epochs=2)
    expected = method.fit(model, PAIRS).bias_direction_
    method.fit(model, criterion=Criterion("gender", PAIRS))
    assert np.array_equal(method.bias_direction_, expected)
    assert method.transform(model, target=["w5"]).name == "random_gender_debiased"


def test_words_without_a_reason_to_move_keep_their_direction():
    words, _, g = random_task()
    none = [np.empty((0, 7))] * len(words)
    assert np.array_equal(repel_attract_neutralize(words, none, g, (1, 0.1, 0)), _ran._unit(words))


def test_fewer_biased_neighbours_on_real_vectors(packaged_model):
    method = RepulsionAttractionNeutralization(weights="authors")
    method.fit(packaged_model, fetch_debiaswe(offline=True)["definitional_pairs"])
    g = method.bias_direction_
    originals = unit(packaged_model.vectors.astype(float))
    targets = ["nurse", "dancer", "housekeeper", "stylist", "librarian", "coach"]
    result = method.transform(packaged_model, target=targets)

    def biased_neighbours(model, word):
        units = unit(model.vectors.astype(float))
        row = model.vocab[word]
        near = [i for i in np.argsort(-(units @ units[row]))[:101] if i != row]
        return int((indirect_bias(originals[row], originals[near], g) >= 0.05).sum())

    before, after = (
        [biased_neighbours(model, word) for word in targets] for model in (packaged_model, result)
    )
    assert sum(after) < sum(before) / 2
    for word in targets:
        old, new = (unit(each[word].astype(float)) for each in (packaged_model, result))
        assert abs(new @ g) < 0.03
        assert new @ old > 0.8
