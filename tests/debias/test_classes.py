"""INLP and LEACE: worked examples, theorems, slow versions, and the words they learn from."""

from itertools import chain

import numpy as np
import pytest
from mitigation import unit
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from wefe import WordEmbeddingModel
from wefe.datasets import Criterion
from wefe.debias import INLP, LEACE, leace_map
from wefe.debias._classes import _held_out, _shrunk, look_up
from wefe.debias._projection import Erasure, orthonormal

DIM = 12


def separated(n_classes=2, n_words=300, seed=0):
    """Random vectors of classes that differ along a few directions, and noise elsewhere."""
    rng = np.random.default_rng(seed)
    offsets = 3 * np.array([(1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, -1, -1)])[:n_classes]
    vectors = rng.normal(size=(n_classes * n_words, DIM))
    vectors[:, :3] += np.repeat(offsets, n_words, axis=0)
    by_class = {name: [f"{name}{i}" for i in range(n_words)] for name in "abcd"[:n_classes]}
    return WordEmbeddingModel(([*chain(*by_class.values())], vectors), "separated"), by_class


def assert_projection(matrix, rank):
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-14)
    np.testing.assert_allclose(matrix @ matrix, matrix, atol=1e-12)
    assert np.linalg.matrix_rank(matrix, tol=1e-6) == rank


# INLP


def test_inlp_worked_example(toy_model):
    first, second = np.array([1.0, 1, 0]), np.array([1.0, 0, 1])

    def projection_of(*rows):
        basis = orthonormal(rows)
        return Erasure(basis, basis).matrix

    projection = projection_of(first, second)
    expected = np.array([[1, -1, -1], [-1, 1, 1], [-1, 1, 1]]) / 3
    np.testing.assert_allclose(projection, expected, atol=1e-12)
    nurse = toy_model["nurse"]
    np.testing.assert_allclose(nurse @ projection, (-0.133333, 0.133333, 0.133333), atol=1e-6)
    product = projection_of(second) @ projection_of(first) @ nurse
    np.testing.assert_allclose(product, (-0.3, -0.2, 0.3), atol=1e-12)
    assert abs(product @ first) > 0.1


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_classifiers_end_at_chance_by_a_projection(n_classes):
    model, words = separated(n_classes)
    method = INLP().fit(model, words_by_class=words)
    n_directions = len(method.directions_)
    assert 0 < n_directions < DIM
    assert_projection(method.projection_, DIM - n_directions)
    gram = method.directions_ @ method.directions_.T
    np.testing.assert_allclose(gram, np.eye(n_directions), atol=1e-10)
    once = method.transform(model)
    np.testing.assert_allclose(once.vectors, model.vectors @ method.projection_, atol=1e-10)
    assert method.accuracies_[0] > 0.7
    assert method.accuracies_[-1] < 1 / n_classes + 0.08


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_iterations", [1, 3])
def test_inlp_equals_a_slow_implementation(n_classes, n_iterations):
    model, words = separated(n_classes)
    method = INLP(n_iterations=n_iterations, min_accuracy=0).fit(model, words_by_class=words)
    _, vectors, labels = look_up(model, words)
    x = vectors / np.sqrt((vectors**2).sum(axis=1).mean())
    held_out = _held_out(labels, np.random.default_rng(0))
    weights, projection, accuracies = [], np.eye(DIM), []
    for _ in range(n_iterations + 1):
        svm = LinearSVC(dual=False).fit((x @ projection)[~held_out], labels[~held_out])
        accuracies.append(svm.score((x @ projection)[held_out], labels[held_out]))
        if len(weights) < n_iterations:
            weights.append(svm.coef_)
            rows = np.concatenate(weights)
            projection = np.eye(DIM) - np.linalg.pinv(rows, rcond=1e-6) @ rows
    np.testing.assert_allclose(method.projection_, projection, atol=1e-6)
    np.testing.assert_allclose(method.accuracies_, accuracies)


def test_the_loop_ends_at_chance_by_default():
    model, words = separated(3)
    words = {"a": words["a"], "b": words["b"][:100], "c": words["c"][:100]}
    # 75 of 125 held-out words are of the largest class.
    limit = 0.6 + np.sqrt(0.6 * 0.4 / 125)
    method = INLP().fit(model, words_by_class=words)
    assert (method.accuracies_[:-1] > limit).all()
    assert method.accuracies_[-1] <= limit
    for other, same in ((limit, True), (limit - 0.05, False)):
        projection = INLP(min_accuracy=other).fit(model, words_by_class=words).projection_
        assert np.array_equal(projection, method.projection_) is same


def test_some_dimension_is_always_left(toy_model, caplog):
    words = {"f": ["she", "woman", "nurse", "home"], "m": ["he", "man", "boss", "pilot"]}
    method = INLP(min_accuracy=0).fit(toy_model, words_by_class=words)
    assert len(method.directions_) == 2
    assert "all 3 dims would be removed; 2 are" in caplog.text
    assert method.transform(toy_model).vectors.any(axis=1).all()


# The words that are learned from


def reach_of(model, axes):
    """Reach of every unit vector along each axis."""
    return dict(zip(model.vocab, unit(model.vectors) @ np.asarray(axes).T, strict=True))


def test_words_of_two_classes(toy_model, caplog):
    sets = [("she", "he"), ("woman", "man")]
    words = INLP(n_words=2)._word_classes(toy_model, sets, ("female", "male"))
    reach = reach_of(toy_model, (0.997742, -0.067150, -0.001556))
    free = sorted({*reach} - {"she", "he", "woman", "man"}, key=reach.get)
    assert words["female"] == ["she", "woman", *free[:-3:-1]]
    assert words["male"] == ["he", "man", *free[:2]]
    rest = [word for word in free if word not in words["female"] + words["male"]]
    assert words["neutral"] == sorted(rest, key=lambda word: abs(reach[word]))[:2]
    # A third of the 13 words.
    for n_words, told in ((4, False), (5, True)):
        INLP(n_words=n_words)._word_classes(toy_model, sets, ("female", "male"))
        assert ("4 words of each class are used, not 5" in caplog.text) is told


def test_words_of_three_classes():
    rng = np.random.default_rng(2)
    model = WordEmbeddingModel(([f"w{i}" for i in range(60)], rng.normal(size=(60, 5))), "random")
    sets = [("w0", "w1", "w2"), ("w3", "w4", "w5"), ("w6", "w1", "w7")]
    words = INLP(n_words=15, neutral=False)._word_classes(model, sets, ())
    rows = np.array([unit(model.get_vectors(part)) for part in sets])
    reach = reach_of(model, unit(rows.mean(axis=0) - rows.mean(axis=(0, 1))))
    free = {*reach} - {word for part in sets for word in part}
    lists = [sorted(free, key=lambda w: -reach[w][k])[:15] for k in range(3)]
    assert list(words) == ["class 0", "class 1", "class 2"]
    for k, part in enumerate(lists):
        definitional = list(dict.fromkeys(each[k] for each in sets))
        own = [
            word
            for word in part
            if reach[word][k] > 0
            and reach[word][k] == max(reach[word][j] for j in range(3) if word in lists[j])
        ]
        assert words[f"class {k}"] == definitional + own
    assert set(lists[0]) & set(lists[1]) or set(lists[0]) & set(lists[2])


@pytest.mark.parametrize("method", [INLP(), LEACE()], ids=["INLP", "LEACE"])
def test_missing_and_repeated_words(method, caplog):
    model, words = separated()
    expected = method.fit(model, words_by_class=words).projection_
    more = {"a": [*words["a"], "nobody", "a3"], "b": words["b"]}
    assert np.array_equal(method.fit(model, words_by_class=more).projection_, expected)
    assert method.words_by_class_ == words
    assert "lacks 1 of the 301 words of class 'a': nobody" in caplog.text


def test_given_words_win():
    model, words = separated()
    criterion = Criterion("kind", [("a0", "b0"), ("a1", "b1")], ("neutral", "second"))
    method = INLP().fit(model, [("a0", "b0")], words, criterion=criterion)
    assert method.words_by_class_ == words
    method = INLP(n_words=5).fit(model, [("a3", "b3"), ("a4", "b4")], criterion=criterion)
    assert method.words_by_class_["class 0"][:2] == ["a3", "a4"]
    method = INLP(n_words=10, neutral=False).fit(model, criterion=criterion)
    assert list(method.words_by_class_) == ["neutral", "second"]
    with pytest.raises(ValueError, match="a class is called 'neutral'"):
        INLP(n_words=10).fit(model, criterion=criterion)


TWO = {"a": ["a0", "a1"], "b": ["b0", "b1"]}


@pytest.mark.parametrize(
    ("method", "words", "error", "culprit"),
    [
        (INLP(), {"words_by_class": [["a0"], ["b0"]]}, ValueError, "words_by_class"),
        (INLP(), {"words_by_class": {"a": ["a0", "a1"]}}, ValueError, "two classes or more"),
        (INLP(), {"words_by_class": TWO | {"b": ["a1", "b0"]}}, ValueError, "'a1'"),
        (INLP(), {"words_by_class": TWO | {"a": ["a0", "no"]}}, ValueError, "1 of the 2.* 'a'"),
        (INLP(), {"definitional_sets": [("a0", "b0"), ("a1", "b1", "a2")]}, ValueError, "one word"),
        (INLP(n_words=2.5), {"words_by_class": TWO}, TypeError, "n_words"),
        (INLP(min_accuracy=2), {"words_by_class": TWO}, ValueError, "min_accuracy"),
        (LEACE(method="lace"), {"words_by_class": TWO}, ValueError, "'leace'"),
        (LEACE(svd_tol=-1), {"words_by_class": TWO}, ValueError, "svd_tol"),
    ],
)
def test_what_cannot_be_fitted_is_named(method, words, error, culprit):
    with pytest.raises(error, match=culprit):
        method.fit(separated(n_words=20)[0], **words)


# LEACE

OPTIONS = [
    {"method": method, "affine": affine, "shrinkage": shrinkage}
    for method in ("leace", "orth")
    for affine in (True, False)
    for shrinkage in (True, False)
]
# Words, dims, classes.
SHAPES = [(60, 10, 2), (12, 30, 2), (90, 8, 3), (15, 40, 3), (300, 20, 4)]


def drawn(n_words, dim, n_classes, seed=0):
    """Correlated vectors whose mean depends on the class, and the classes, one column each."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_words) % n_classes
    vectors = rng.normal(size=(n_words, dim)) @ rng.normal(size=(dim, dim)) / np.sqrt(dim)
    vectors += rng.normal(size=(n_classes, dim))[labels] + 0.5
    return vectors, np.eye(n_classes)[labels]


def covariance(x, z):
    return (x - x.mean(axis=0)).T @ (z - z.mean(axis=0)) / (len(x) - 1)


def test_leace_worked_example(toy_model):
    words = {"female": ["she", "woman", "nurse"], "male": ["he", "man", "pilot"]}
    method = LEACE(shrinkage=False).fit(toy_model, words_by_class=words)
    expected = [
        (0.003613, 0.030361, -0.064269),
        (0.069515, 0.997882, 0.004484),
        (-0.023172, 0.000706, 0.998505),
    ]
    np.testing.assert_allclose(method.projection_, expected, atol=1e-6)
    result = method.transform(toy_model)
    for word, vector in {
        "she": (0.062685, 0.265394, 0.078202),
        "nurse": (0.012854, 0.133987, 0.788671),
        "tree": (-0.007163, -0.292523, 0.897508),
    }.items():
        np.testing.assert_allclose(result[word], vector, atol=1e-6)
    for part in words.values():
        mean = result.get_vectors(part).mean(axis=0)
        np.testing.assert_allclose(mean, (0.05, 0.283333, 0.283333), atol=1e-6)
    every = [word for part in words.values() for word in part]
    variances = [np.trace(np.cov(m.get_vectors(every).T)) for m in (toy_model, result)]
    np.testing.assert_allclose(variances, [0.830333, 0.160513], atol=1e-6)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_guarantees_of_leace(shape, options):
    x, z = drawn(*shape)
    erase = leace_map(x, z, **options)
    after, p = erase(x), erase.matrix.T
    np.testing.assert_allclose(after, x @ p.T + erase.shift, atol=1e-12)
    assert np.abs(covariance(x, z)).max() > 0.1
    np.testing.assert_allclose(covariance(after, z), 0, atol=1e-10)
    np.testing.assert_allclose(p @ p, p, atol=1e-9)
    assert np.linalg.matrix_rank(np.eye(len(p)) - p, tol=1e-6) == len(erase.reads) == shape[2] - 1
    np.testing.assert_allclose(erase(after), after, atol=1e-9)
    assert np.trace(covariance(after, after)) <= np.trace(covariance(x, x)) + 1e-12
    if options["affine"]:
        np.testing.assert_allclose(after.mean(axis=0), x.mean(axis=0), atol=1e-10)
    else:
        assert not erase.shift.any()
    if options["method"] == "orth":
        np.testing.assert_allclose(p, p.T, atol=1e-12)
    short = leace_map(1e-4 * x, z, **options)(1e-4 * x)
    np.testing.assert_allclose(short, 1e-4 * after, rtol=0, atol=1e-13)
    # No linear regression explains anything; the penalty is for directions that have no variance.
    assert Ridge(1e-3).fit(after, z).score(after, z) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", [(60, 10, 2), (90, 8, 3), (300, 20, 4)])
def test_leace_equals_the_oblique_projection(shape, affine):
    """Without whitening: I - C (C' S^-1 C)^-1 C' S^-1, for independent columns of C."""
    x, z = drawn(*shape)
    cross, inverse = covariance(x, z[:, 1:]), np.linalg.inv(np.cov(x.T))
    p = np.eye(len(inverse)) - cross @ np.linalg.solve(cross.T @ inverse @ cross, cross.T @ inverse)
    erase = leace_map(x, z, affine=affine, shrinkage=False)
    np.testing.assert_allclose(erase.matrix.T, p, atol=1e-9)
    mean = x.mean(axis=0) * affine
    np.testing.assert_allclose(erase(x), (x - mean) @ p.T + mean, atol=1e-9)


def test_shrinkage_minimises_the_error_of_the_covariance():
    # The covariance is known here, so the best weight can be looked for.
    rng = np.random.default_rng(0)
    dim, n_words = 200, 150
    true = np.diag(np.linspace(0.2, 3, dim))
    found = np.cov((rng.normal(size=(n_words, dim)) @ np.sqrt(true)).T)
    target = np.trace(found) / dim * np.eye(dim)
    error = np.linalg.norm(_shrunk(found, n_words) - true)
    errors = [
        np.linalg.norm(weight * found + (1 - weight) * target - true)
        for weight in np.linspace(0, 1, 201)
    ]
    assert error < 1.01 * min(errors)
    assert error < 0.6 * errors[-1]
    assert np.array_equal(_shrunk(np.eye(3), 9), np.eye(3))
    x, z = drawn(30, 12, 3)
    assert np.array_equal(leace_map(x, z)(x), leace_map(x, z, affine=True, shrinkage=True)(x))


def test_small_singular_values_are_noise(caplog):
    x, z = drawn(60, 10, 2)
    erase = leace_map(x, z, svd_tol=10)
    assert not len(erase.reads)
    np.testing.assert_array_equal(erase(x), x)
    model, words = separated()
    LEACE(svd_tol=10).fit(model, words_by_class=words)
    assert "nothing is erased" in caplog.text
    # A weak concept is erased as soon as the tolerance allows it.
    assert len(leace_map(x, z[:, 0] * 1e-3, shrinkage=False).reads) == 0
    assert len(leace_map(x, z[:, 0] * 1e-3, shrinkage=False, svd_tol=1e-6).reads) == 1


@pytest.mark.parametrize(
    ("x", "z", "culprit"),
    [
        (np.ones((4, 3)), np.ones(3), "mismatch"),
        (np.ones(4), np.ones(4), "x must have shape"),
        (np.ones((4, 3)), np.arange(4), "all vectors of x are equal"),
    ],
)
def test_matrices_that_do_not_do(x, z, culprit):
    with pytest.raises(ValueError, match=culprit):
        leace_map(x, z)
    assert len(leace_map(np.eye(2), [0, 1]).reads) == 1


@pytest.mark.parametrize(("method", "most"), [(INLP(neutral=False), 0.1), (LEACE(), 0.05)])
def test_published_vectors(published, method, most):
    result = method.fit_transform(published.model, criterion=published.gender)
    assert published.scores(published.model)[0] == pytest.approx(0.463, abs=1e-3)
    assert abs(published.scores(result)[0]) < most
    if isinstance(method, INLP):
        assert method.accuracies_[0] > 0.99
        assert method.accuracies_[-1] < 0.52
