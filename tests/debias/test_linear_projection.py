"""Linear projection, OSCaR and half-sibling regression: worked examples, figures, theorems."""

import inspect

import numpy as np
import pytest
from mitigation import changed_words, unit
from sklearn.linear_model import Ridge

from wefe import WEAT, WordEmbeddingModel
from wefe.datasets import Criterion, load_criterion
from wefe.debias import HalfSiblingRegression, LinearProjection, OSCaR

PAIRS = [["she", "he"], ["woman", "man"]]


@pytest.fixture
def unit_toy_model(toy_model):
    return WordEmbeddingModel((list(toy_model), unit(toy_model.vectors)), "unit toy")


# Linear projection


@pytest.mark.parametrize(
    ("direction", "found", "nurse", "score"),
    [
        ("means", (0.997711, -0.067599, 0.001874), (0.007943, 0.140581, 0.842299), 0.083004),
        ("pair", (0.996588, -0.059793, -0.056887), (0.057679, 0.133570, 0.870066), None),
        ("pca", (0.997742, -0.067150, -0.001556), None, None),
    ],
)
def test_linear_worked_example(
    toy_model, unit_toy_model, toy_query, direction, found, nurse, score
):
    method = LinearProjection(direction=direction).fit(unit_toy_model, PAIRS)
    np.testing.assert_allclose(method.bias_direction_, found, atol=1e-6)
    # Directions do not depend on lengths.
    raw = LinearProjection(direction=direction).fit(toy_model, PAIRS)
    np.testing.assert_allclose(raw.bias_subspace_, method.bias_subspace_, atol=1e-12)
    turned = LinearProjection(direction=direction).fit(toy_model, [pair[::-1] for pair in PAIRS])
    np.testing.assert_allclose(turned.bias_direction_, -method.bias_direction_, atol=1e-12)
    projected = method.transform(unit_toy_model)
    if nurse is not None:
        np.testing.assert_allclose(projected["nurse"], nurse, atol=1e-6)
    if score is not None:
        answer = WEAT().run_query(toy_query, projected, normalize=True)
        assert answer["weat"] == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("direction", ["means", "pair", "pca"])
@pytest.mark.parametrize("name", ["gender", "religion"])
def test_it_is_an_orthogonal_projection(packaged_model, direction, name):
    criterion = load_criterion(name, offline=True)
    for n_components in (None, 1):
        method = LinearProjection(direction=direction, n_components=n_components).fit(
            packaged_model, criterion=criterion
        )
        n_directions = n_components or len(criterion.class_names) - 1
        assert len(method.bias_subspace_) == n_directions
        matrix = method._map_vectors(np.eye(packaged_model.dim))
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
        np.testing.assert_allclose(matrix @ matrix, matrix, atol=1e-12)
        assert np.trace(matrix) == pytest.approx(packaged_model.dim - n_directions)
    if direction == "pair":
        first, *others = unit(packaged_model.get_vectors(criterion.representatives))
        assert method.bias_direction_ @ (first - np.mean(others, axis=0)) > 0
        if len(others) == 1:
            assert method.bias_direction_ @ unit(first - others[0]) == pytest.approx(1)


# OSCaR


def rotated(vectors, bias, concept):
    method = OSCaR()
    method.bias_direction_, method.concept_direction_ = bias, concept
    return method._map_vectors(vectors)


def test_oscar_worked_example(toy_model):
    bias = unit(unit(toy_model["she"]) - unit(toy_model["he"]))
    concept = unit([1, 1, 0.3])
    np.testing.assert_allclose(bias, (0.996588, -0.059793, -0.056887), atol=1e-6)
    for vector, expected in (
        (toy_model["nurse"], (0.243792, 0.284448, 0.871582)),
        (toy_model["pilot"], (-0.478046, 0.105564, 0.671065)),
        (toy_model["tree"], (0.099423, -0.294082, 0.902015)),
        (toy_model["home"], (-0.071756, 1.054877, 0.376942)),
        (concept, (0.074779, 0.945850, 0.315872)),
    ):
        image = rotated(vector[None], bias, concept)[0]
        np.testing.assert_allclose(image, expected, atol=1e-6)
    assert image @ bias == pytest.approx(0, abs=1e-12)


def slow_rotation(x, v1, v2):
    """The published formulas, word by word, case by case."""
    flat = unit(v2 - (v1 @ v2) * v1)
    theta_between = np.arccos(v1 @ v2)
    theta = np.pi / 2 - theta_between
    a, b = x @ v1, x @ flat
    if a == b == 0:
        return x
    phi = np.arccos(a / np.hypot(a, b))
    if b > 0:
        if phi < theta_between:
            rotation = theta * phi / theta_between
        else:
            rotation = theta * (np.pi - phi) / (np.pi - theta_between)
    elif phi >= np.pi - theta_between:
        rotation = theta * (np.pi - phi) / theta_between
    else:
        rotation = theta * phi / (np.pi - theta_between)
    c, s = np.cos(rotation), np.sin(rotation)
    return x + (c * a - s * b - a) * v1 + (s * a + c * b - b) * flat


@pytest.mark.parametrize("cosine", [0.0, 0.01, 0.5, 0.99])
def test_rotations_are_those_of_the_formulas(cosine):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(6, 2)))[0].T
    bias, concept = basis[0], cosine * basis[0] + np.sqrt(1 - cosine**2) * basis[1]
    vectors = np.vstack([rng.normal(size=(200, 6)), bias, -bias, concept, -concept, np.zeros(6)])
    found = rotated(vectors, bias, concept)
    expected = [slow_rotation(x, bias, concept) for x in vectors]
    np.testing.assert_allclose(found, expected, atol=1e-10)
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), lengths, atol=1e-12)
    outside = np.eye(6) - basis.T @ basis
    np.testing.assert_allclose(found @ outside, vectors @ outside, atol=1e-12)
    np.testing.assert_allclose(found[-3:] @ bias, 0, atol=1e-12)
    if cosine == 0:
        np.testing.assert_allclose(found, vectors, atol=1e-15)


@pytest.mark.parametrize("concept", ["pca", "means"])
def test_the_concept_direction_is_as_documented(packaged_model, gender, concept):
    method = OSCaR(concept=concept).fit(packaged_model, criterion=gender)
    parts = [
        unit(packaged_model.get_vectors([word for word in words if word in packaged_model]))
        for words in gender.stereotyped_words.values()
    ]
    if concept == "means":
        expected = unit(parts[0].mean(axis=0) - parts[1].mean(axis=0))
    else:
        every = np.concatenate(parts)
        expected = np.linalg.svd(every - every.mean(axis=0))[2][0]
    assert abs(expected @ method.concept_direction_) == pytest.approx(1, abs=1e-10)
    cosine = method.concept_direction_ @ method.bias_direction_
    assert cosine > 0
    assert method.angle_ == pytest.approx(np.degrees(np.arccos(cosine)))


# Half-sibling regression


def random_model(n_words=40, dim=12, dtype=np.float64):
    vectors = np.random.default_rng(0).normal(size=(n_words, dim)).astype(dtype)
    return WordEmbeddingModel(([f"w{i}" for i in range(n_words)], vectors), "random")


@pytest.mark.parametrize(
    ("alpha", "nurse", "pilot"),
    [
        ({}, (0.486506, 0.099286, 0.799850), (-0.387158, 0.198187, 0.698637)),
        ({"alpha": 1}, (0.201114, 0.046178, 0.773709), (-0.120819, 0.123628, 0.648042)),
    ],
)
def test_half_sibling_worked_example(toy_model, alpha, nurse, pilot):
    method = HalfSiblingRegression().fit(toy_model, ["she", "he"], **alpha)
    result = method.transform(toy_model)
    np.testing.assert_allclose(result["nurse"], nurse, atol=1e-6)
    np.testing.assert_allclose(result["pilot"], pilot, atol=1e-6)
    assert changed_words(toy_model, result) == {*toy_model} - {"she", "he"}


@pytest.mark.parametrize("alpha", [0.01, 60, 1e4])
@pytest.mark.parametrize("n_definitional", [1, 3, 30])
def test_the_map_equals_the_primal_regression(alpha, n_definitional):
    """As published: every dimension is a sample, every other word a regression."""
    model = random_model()
    result = (
        HalfSiblingRegression().fit(model, list(model)[:n_definitional], alpha).transform(model)
    )
    words, others = model.vectors[:n_definitional], model.vectors[n_definitional:]
    ridge = Ridge(alpha=alpha, fit_intercept=False).fit(words.T, others.T)
    expected = others - ridge.predict(words.T).T
    np.testing.assert_allclose(result.vectors[n_definitional:], expected, atol=1e-9)


def test_protected_missing_and_repeated_words(caplog):
    model = random_model()
    method = HalfSiblingRegression().fit(model, ["w0", "nobody", "w1", "w0"])
    assert method.definitional_words_ == ("w0", "nobody", "w1")
    assert "lacks 1 of the 3 definitional_words: nobody" in caplog.text
    criterion = Criterion("letters", [("w0", "w1")], specific_words=["w1"])
    same = HalfSiblingRegression().fit(model, criterion=criterion)
    np.testing.assert_allclose(method.map_, same.map_, atol=1e-14)
    every = method.transform(model)
    result = method.transform(model, target=["w30", "missing", "w0", "w7", "w12"], ignore=["w12"])
    assert changed_words(model, result) == {"w30", "w7"}
    for word in ("w30", "w7"):
        np.testing.assert_allclose(result[word], every[word], atol=1e-14)


def test_published_figures_of_half_sibling_regression(published):
    method = HalfSiblingRegression().fit(published.model, published.words["gender_specific"])
    result = method.transform(published.model)
    assert (result.vectors != published.model.vectors).any(axis=1).sum() == 11_572
    assert published.scores(result) == pytest.approx([0.126400, 0.043295], abs=1e-6)
    effects = published.scores(result, "effect_size")
    assert effects == pytest.approx([0.386784, 0.444367], abs=1e-6)


# What cannot be fitted

MEANS = OSCaR(concept="means")
FEMALE_MALE = {"f": ["she", "woman"], "m": ["he", "man"]}


@pytest.mark.parametrize(
    ("method", "name", "words", "error", "culprit"),
    [
        (LinearProjection(direction="mean"), "definitional_sets", PAIRS, ValueError, "'means'"),
        (LinearProjection(), "definitional_sets", [["she", "no"]], ValueError, "0 of the 1"),
        (LinearProjection(), "words_by_class", {"a": ["he"], "b": ["he"]}, ValueError, "same mean"),
        (LinearProjection(direction="pca"), "words_by_class", FEMALE_MALE, ValueError, "'means'"),
        (OSCaR(), "concept_words", ["nurse"], ValueError, "1 of the 1 concept_words"),
        (OSCaR(), "definitional_sets", [["she", "he", "they"]], ValueError, "'pca'"),
        (MEANS, "concept_words", ["nurse", "pilot"], ValueError, "concept_words"),
        (MEANS, "concept_words", {"f": ["tree"], "m": ["tree"]}, ValueError, "different mean"),
        (MEANS, "concept_words", FEMALE_MALE, ValueError, "parallel"),
        (HalfSiblingRegression(), "alpha", 0, ValueError, "alpha"),
        (HalfSiblingRegression(), "alpha", "60", TypeError, "alpha"),
        (HalfSiblingRegression(), "definitional_words", ["no"], ValueError, "0 of the 1 defin"),
    ],
)
def test_what_cannot_be_fitted_is_named(toy_model, method, name, words, error, culprit):
    usual = {
        "definitional_sets": PAIRS,
        "concept_words": ["nurse", "pilot"],
        "definitional_words": ["she"],
    }
    known = inspect.signature(method.fit).parameters
    given = {key: value for key, value in usual.items() if key in known} | {name: words}
    with pytest.raises(error, match=culprit):
        method.fit(toy_model, **given)
