"""OSCaR: the worked example, continuity, and what a rotation keeps."""

import numpy as np
import pytest

from wefe.datasets import load_criterion
from wefe.debias import OSCaR, graded_rotation

PAIRS = [["she", "he"], ["woman", "man"]]


def unit(vector):
    return np.asarray(vector, dtype=float) / np.linalg.norm(vector)


@pytest.fixture
def directions(toy_model):
    return unit(unit(toy_model["she"]) - unit(toy_model["he"])), unit([1, 1, 0.3])


def test_worked_example(toy_model, directions):
    bias, concept = directions
    np.testing.assert_allclose(bias, (0.996588, -0.059793, -0.056887), atol=1e-6)
    for word, expected in {
        "nurse": (0.243792, 0.284448, 0.871582),
        "pilot": (-0.478046, 0.105564, 0.671065),
        "tree": (0.099423, -0.294082, 0.902015),
        "home": (-0.071756, 1.054877, 0.376942),
    }.items():
        image = graded_rotation(toy_model[word][None], bias, concept)[0]
        np.testing.assert_allclose(image, expected, atol=1e-6)
    image = graded_rotation(concept[None], bias, concept)[0]
    np.testing.assert_allclose(image, (0.074779, 0.945850, 0.315872), atol=1e-6)
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
def test_agrees_with_the_formulas_word_by_word(cosine):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(6, 2)))[0].T
    bias, concept = basis[0], cosine * basis[0] + np.sqrt(1 - cosine**2) * basis[1]
    vectors = rng.normal(size=(200, 6))
    got = graded_rotation(vectors, bias, concept)
    np.testing.assert_allclose(got, [slow_rotation(x, bias, concept) for x in vectors], atol=1e-10)


def test_what_a_rotation_keeps(packaged_model):
    method = OSCaR(concept="means").fit(
        packaged_model, criterion=load_criterion("gender", offline=True)
    )
    vectors = packaged_model.vectors.astype(np.float64)
    images = graded_rotation(vectors, method.bias_direction_, method.concept_direction_)
    np.testing.assert_allclose(
        np.linalg.norm(images, axis=1), np.linalg.norm(vectors, axis=1), atol=1e-12
    )
    plane = np.linalg.qr(np.stack([method.bias_direction_, method.concept_direction_]).T)[0]
    outside = np.eye(packaged_model.dim) - plane @ plane.T
    np.testing.assert_allclose(images @ outside, vectors @ outside, atol=1e-12)
    special = np.stack([method.bias_direction_, method.concept_direction_])
    special = np.concatenate([special, -special])
    moved = graded_rotation(special, method.bias_direction_, method.concept_direction_)
    np.testing.assert_allclose(moved[[0, 2]], special[[0, 2]], atol=1e-12)
    np.testing.assert_allclose(moved[[1, 3]] @ method.bias_direction_, 0, atol=1e-12)


def test_the_map_is_continuous_everywhere():
    bias, concept = np.array([1.0, 0]), np.array([np.cos(0.7), np.sin(0.7)])
    angles = np.linspace(-np.pi, np.pi, 100_001)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    images = graded_rotation(circle, bias, concept)
    steps = np.linalg.norm(np.diff(images, axis=0), axis=1)
    # The steepest sector stretches angles by (pi / 2) / 0.7.
    assert steps.max() < (angles[1] - angles[0]) * (np.pi / 2) / 0.7 * 1.001
    order = np.unwrap(np.arctan2(images[:, 1], images[:, 0]))
    assert (np.diff(order) > 0).all()


def test_nothing_moves_where_the_directions_are_orthogonal():
    vectors = np.random.default_rng(0).normal(size=(50, 4))
    images = graded_rotation(vectors, [1, 0, 0, 0], [0, 1, 0, 0])
    np.testing.assert_allclose(images, vectors, atol=1e-15)


@pytest.mark.parametrize("concept", ["pca", "means"])
def test_the_concept_direction_is_as_documented(packaged_model, concept):
    criterion = load_criterion("gender", offline=True)
    method = OSCaR(concept=concept).fit(packaged_model, criterion=criterion)
    parts = []
    for words in criterion.stereotyped_words.values():
        vectors = packaged_model.get_vectors([w for w in words if w in packaged_model.vocab])
        vectors = vectors.astype(np.float64)
        parts.append(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    if concept == "means":
        expected = unit(parts[0].mean(axis=0) - parts[1].mean(axis=0))
    else:
        every = np.concatenate(parts)
        expected = np.linalg.svd(every - every.mean(axis=0))[2][0]
    assert abs(expected @ method.concept_direction_) == pytest.approx(1, abs=1e-10)
    cosine = method.concept_direction_ @ method.bias_direction_
    assert cosine > 0
    assert method.angle_ == pytest.approx(np.degrees(np.arccos(cosine)))


def test_more_classes_take_the_first_principal_component(packaged_model):
    criterion = load_criterion("religion")
    method = OSCaR("pca").fit(packaged_model, criterion=criterion)
    assert method.bias_direction_ @ method.bias_direction_ == pytest.approx(1)
    with pytest.raises(ValueError, match="first principal component"):
        OSCaR().fit(packaged_model, criterion=criterion)


@pytest.mark.parametrize(
    ("arguments", "fit", "error", "message"),
    [
        ({}, {}, TypeError, "needs concept_words, or a criterion"),
        ({}, {"concept_words": ["nurse"]}, ValueError, "1 of the 1 concept_words; at least 2"),
        ({}, {"concept_words": []}, ValueError, "concept_words"),
        ({"concept": "mean"}, {"concept_words": ["nurse", "pilot"]}, ValueError, "'means'"),
        ({"concept": "means"}, {"concept_words": ["nurse", "pilot"]}, ValueError, "a mapping"),
        (
            {"concept": "means"},
            {"concept_words": {"f": ["nurse"], "m": ["alien"]}},
            ValueError,
            "1 of the 2 classes in concept_words",
        ),
        (
            {"concept": "means"},
            {"concept_words": {"f": ["nurse"], "m": ["nurse"]}},
            ValueError,
            "different mean vectors",
        ),
        (
            {"concept": "means"},
            {"concept_words": {"f": ["she", "woman"], "m": ["he", "man"]}},
            ValueError,
            "parallel",
        ),
    ],
)
def test_wrong_arguments(toy_model, arguments, fit, error, message):
    with pytest.raises(error, match=message):
        OSCaR(**arguments).fit(toy_model, PAIRS, **fit)
