"""Linear projection: worked examples, recomputed figures, and that it is a projection."""

from pathlib import Path

import numpy as np
import pytest

from wefe import WEAT, Query, WordEmbeddingModel
from wefe.datasets import fetch_debiaswe, load_criterion, load_weat
from wefe.debias import LinearProjection
from wefe.metrics import DirectBias

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
PAIRS = [["she", "he"], ["woman", "man"]]


@pytest.fixture
def unit_toy_model(toy_model):
    vectors = toy_model.vectors / np.linalg.norm(toy_model.vectors, axis=1, keepdims=True)
    return WordEmbeddingModel((list(toy_model.vocab), vectors), "unit toy")


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        ("means", (0.007943, 0.140581, 0.842299)),
        ("pair", (0.057679, 0.133570, 0.870066)),
    ],
)
def test_worked_example(unit_toy_model, direction, expected):
    method = LinearProjection(direction).fit(unit_toy_model, PAIRS)
    np.testing.assert_allclose(method.transform(unit_toy_model)["nurse"], expected, atol=1e-6)


def test_directions_of_the_worked_example(unit_toy_model, toy_query):
    method = LinearProjection().fit(unit_toy_model, PAIRS)
    np.testing.assert_allclose(method.bias_direction_, (0.997711, -0.067599, 0.001874), atol=1e-6)
    projected = method.transform(unit_toy_model)
    score = WEAT().run_query(toy_query, projected, normalize=True)["weat"]
    assert score == pytest.approx(0.083004, abs=1e-6)
    first = LinearProjection("pca").fit(unit_toy_model, PAIRS).bias_direction_
    np.testing.assert_allclose(first, (0.997742, -0.067150, -0.001556), atol=1e-6)


def test_directions_do_not_depend_on_lengths(toy_model, unit_toy_model):
    for direction in ("means", "pair", "pca"):
        raw, unit = (
            LinearProjection(direction).fit(model, PAIRS).bias_subspace_
            for model in (toy_model, unit_toy_model)
        )
        np.testing.assert_allclose(raw, unit, atol=1e-12)


@pytest.mark.parametrize("direction", ["means", "pair", "pca"])
@pytest.mark.parametrize("name", ["gender", "religion"])
def test_it_is_an_orthogonal_projection(packaged_model, direction, name):
    criterion = load_criterion(name, offline=True)
    method = LinearProjection(direction).fit(packaged_model, criterion=criterion)
    dim = packaged_model.dim
    matrix = method._map_vectors(np.eye(dim))
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    np.testing.assert_allclose(matrix @ matrix, matrix, atol=1e-12)
    assert np.trace(matrix) == pytest.approx(dim - (criterion.n_classes - 1))
    assert len(method.bias_subspace_) == criterion.n_classes - 1


def test_direct_bias_becomes_zero(packaged_model):
    criterion = load_criterion("gender", offline=True)
    method = LinearProjection("pca").fit(packaged_model, criterion=criterion)
    neutral = method.transform(packaged_model, target=criterion.concept_words)
    classes = [list(part)[:7] for part in criterion.classes.values()]
    query = Query(classes, [list(criterion.concept_words)])
    before, after = (
        DirectBias().run_query(query, model)["result"] for model in (packaged_model, neutral)
    )
    directions = neutral.get_vectors(list(criterion.concept_words)) @ method.bias_direction_
    assert np.abs(directions).max() < 1e-7
    assert after < before / 3


def test_the_classes_end_with_the_same_mean(packaged_model):
    criterion = load_criterion("religion")
    vectors = packaged_model.vectors.astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    model = WordEmbeddingModel((list(packaged_model.vocab), vectors), "unit")
    result = LinearProjection().fit_transform(model, criterion=criterion)
    means = [
        result.get_vectors([word for word in words if word in model.vocab]).mean(axis=0)
        for words in criterion.classes.values()
    ]
    np.testing.assert_allclose(means[1:], [means[0]] * 2, atol=1e-12)


def test_words_by_class_need_not_form_sets(toy_model):
    method = LinearProjection().fit(
        toy_model, words_by_class={"female": ["she", "woman", "alien"], "male": ["he"]}
    )
    unit = {
        w: v / np.linalg.norm(v) for w, v in zip(toy_model.vocab, toy_model.vectors, strict=True)
    }
    expected = (unit["she"] + unit["woman"]) / 2 - unit["he"]
    np.testing.assert_allclose(
        method.bias_direction_, expected / np.linalg.norm(expected), atol=1e-12
    )


def test_number_of_components(packaged_model):
    criterion = load_criterion("religion")
    for n_components in (1, 2):
        method = LinearProjection("pca", n_components).fit(packaged_model, criterion=criterion)
        assert method.bias_subspace_.shape == (n_components, packaged_model.dim)
        np.testing.assert_allclose(
            method.bias_subspace_ @ method.bias_subspace_.T, np.eye(n_components), atol=1e-10
        )


def test_representatives_come_from_the_criterion(packaged_model):
    criterion = load_criterion("gender", offline=True)
    difference = packaged_model["she"].astype(float) / np.linalg.norm(
        packaged_model["she"].astype(float)
    ) - packaged_model["he"].astype(float) / np.linalg.norm(packaged_model["he"].astype(float))
    method = LinearProjection("pair").fit(packaged_model, criterion=criterion)
    cosine = method.bias_direction_ @ difference / np.linalg.norm(difference)
    assert cosine == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "fit", "error", "message"),
    [
        ({"direction": "mean"}, {"definitional_sets": PAIRS}, ValueError, "Did you mean 'means'"),
        ({"n_components": 0}, {"definitional_sets": PAIRS}, ValueError, "n_components"),
        ({}, {}, TypeError, "needs definitional_sets, or a criterion"),
        ({}, {"definitional_sets": [["she", "he"], ["a", "b", "c"]]}, ValueError, r"\[2, 3\]"),
        ({}, {"definitional_sets": [["she", "alien"]]}, ValueError, "1 of the 2 classes"),
        ({}, {"definitional_sets": [["she", "she"]]}, ValueError, "that differ"),
        ({}, {"words_by_class": {"a": ["she"], "b": ["she"]}}, ValueError, "no bias direction"),
        ({}, {"words_by_class": {"female": ["she"]}}, ValueError, "two or more classes"),
        (
            {"direction": "pca"},
            {"words_by_class": {"f": ["she"], "m": ["he"]}},
            ValueError,
            "needs direction 'means'",
        ),
        (
            {"direction": "pair"},
            {"definitional_sets": [["she", "alien"]]},
            ValueError,
            "1 of the 2 classes",
        ),
    ],
)
def test_wrong_arguments(toy_model, arguments, fit, error, message):
    with pytest.raises(error, match=message):
        LinearProjection(**arguments).fit(toy_model, **fit)


@pytest.mark.skipif(not SHARED.exists(), reason="needs the word2vec subset")
@pytest.mark.parametrize(
    ("direction", "first", "second"),
    [("pair", -0.067528, 0.059488), ("pca", -0.086617, 0.055328)],
)
def test_recomputed_figures(direction, first, second):
    gensim = pytest.importorskip("gensim.models")
    model = WordEmbeddingModel(
        gensim.KeyedVectors.load(str(SHARED / "data/models/word2vec_subset.kv")), "w2v"
    )
    lists = load_weat()
    projected = LinearProjection(direction).fit_transform(
        model,
        definitional_sets=fetch_debiaswe(offline=True)["definitional_pairs"],
        representatives=["she", "he"],
    )
    for query, expected in (
        (
            Query([lists["male_terms"], lists["female_terms"]], [lists["career"], lists["family"]]),
            first,
        ),
        (
            Query(
                [lists["male_names"], lists["female_names"]],
                [lists["pleasant_5"], lists["unpleasant_5"]],
            ),
            second,
        ),
    ):
        answer = WEAT().run_query(
            query, projected, normalize=True, preprocessors=[{}, {"lowercase": True}]
        )
        assert answer["weat"] == pytest.approx(expected, abs=1e-5)
