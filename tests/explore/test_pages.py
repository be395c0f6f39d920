"""Pages of a word and of a model: each number is that of the function that defines it."""

import json

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from wefe import WordEmbeddingModel
from wefe.datasets import Criterion
from wefe.debias._projection import remove
from wefe.explore import bias_directions, extreme_words, model_page, word_page
from wefe.explore._projections import in_two_dimensions
from wefe.metrics import direct_bias, indirect_bias

PAIRS = [("she", "he"), ("woman", "man")]
TRIPLES = [("she", "he", "they"), ("woman", "man", "folk")]


@pytest.fixture
def page(toy_model):
    return word_page(toy_model, "nurse", PAIRS, k=5, others=["home", "pilot", "she"])


def as_json(page):
    """Return a page as it is read again from strict JSON."""
    return json.loads(json.dumps(page.to_dict(), allow_nan=False))


def test_a_word_has_the_numbers_of_the_worked_example(page):
    assert page.projection.to_dict() == pytest.approx({"she": 0.517465, "he": -0.517465}, abs=1e-6)
    assert page.direct_bias == pytest.approx(0.517465, abs=1e-6)
    expected = {"home": 0.226520, "pilot": -1.067622, "she": 0.182662}
    assert page.indirect_bias.to_dict() == pytest.approx(expected, abs=1e-6)
    assert as_json(page)["indirect_bias"] == page.indirect_bias.to_dict()
    assert str(page).startswith("nurse in toy: no clear direction\n")


def slow_neighbors(model, word, directions, k):
    """Neighbours with what is known of each, by loops over the definitions."""
    g = directions.towards[0]
    unit = {w: model[w] / np.linalg.norm(model[w]) for w in model}
    near = sorted((w for w in model if w != word), key=lambda w: -(unit[w] @ unit[word]))[:k]
    rows = []
    for other in near:
        w, v = unit[word], unit[other]
        rows.append((other, w @ v, v @ g, indirect_bias(w, [v], g[None])[0]))
    return rows


def test_neighbours_are_those_of_a_loop(toy_model, page):
    expected = slow_neighbors(toy_model, "nurse", page.directions, 5)
    assert page.neighbors["neighbor"].tolist() == [row[0] for row in expected]
    columns = page.neighbors[["cosine", "projection", "indirect_bias"]]
    np.testing.assert_allclose(columns, [row[1:] for row in expected], atol=1e-9)
    biased = [row[3] > 0.05 for row in expected]
    assert page.neighbors["biased"].tolist() == biased
    assert page.proximity_bias == pytest.approx(np.mean(biased))
    # Twelve other words are too few for an interval of 95 %.
    assert page.shares[["expected", "low", "high"]].isna().all(axis=None)
    assert np.isnan([page.proximity_low, page.proximity_high]).all()
    assert len(word_page(toy_model, "nurse", PAIRS, k=1000).neighbors) == 12
    assert page.map["word"].tolist() == ["nurse", *page.neighbors["neighbor"]]


def slow_shares(model, words, directions, least, k):
    """Shares of the labels among the neighbours of each word, by loops over the definitions."""
    rows = []
    for word in words:
        labels = []
        for other, *_ in slow_neighbors(model, word, directions, k):
            cosines = directions.cosines([model[other]])[0]
            strength = np.linalg.norm(directions.subspace @ model[other])
            strength /= np.linalg.norm(model[other])
            labels.append(int(cosines.argmax()) if strength > least else len(directions.groups))
        rows.append([labels.count(label) / k for label in range(len(directions.groups) + 1)])
    return np.array(rows)


@pytest.mark.parametrize("criterion", ["gender", "religion"])
def test_the_interval_of_a_share_is_that_of_random_words(packaged_model, criterion):
    rng = np.random.default_rng(5)
    directions = bias_directions(packaged_model, criterion)
    words = sorted({word for row in directions.sets for word in row})
    given = packaged_model.get_vectors(words)
    others = [f"z{a}{b}{c}" for a in "bcdfg" for b in "aeiou" for c in "klmn"]
    vectors = np.concatenate([given, rng.normal(size=(len(others), given.shape[1])) * 0.1])
    model = WordEmbeddingModel(([*words, *others], vectors), "m")
    page = word_page(model, others[0], directions, k=8)
    # There are fewer words than could be drawn, so all others are.
    # The strength of a word, which rounding must not lift above itself.
    least = model_page(model, directions).chance * (1 + 1e-9)
    rest = [word for word in model if word != others[0] and word.islower()]
    expected = slow_shares(model, rest, directions, least, 8)
    np.testing.assert_allclose(page.shares["expected"], expected.mean(axis=0))
    ends = np.quantile(expected, [0.025, 0.975], axis=0, method="weibull")
    np.testing.assert_allclose(page.shares[["low", "high"]].T, ends)
    own = page.shares["neighbors"]
    outside = (own < page.shares["low"]) | (own > page.shares["high"])
    assert page.shares["is_clear"].tolist() == outside.tolist()
    biased = []
    for word in rest:
        near = [model[other] for other, *_ in slow_neighbors(model, word, directions, 8)]
        biased.append(np.mean(indirect_bias(model[word], near, directions.subspace) > 0.05))
    ends = np.quantile(biased, [0.025, 0.975], method="weibull")
    np.testing.assert_allclose([page.proximity_low, page.proximity_high], ends)


def test_after_a_mitigation_the_former_directions_are_asked_for(toy_model):
    directions = bias_directions(toy_model, PAIRS)
    removed = WordEmbeddingModel(
        (list(toy_model), remove(toy_model.vectors, directions.subspace)), "removed"
    )
    page = word_page(removed, "nurse", PAIRS, k=5, original=toy_model)
    assert page.projection["she"] == pytest.approx(0, abs=1e-12)
    # Neighbours are the present ones; what they were tells where they lean to.
    near = slow_neighbors(removed, "nurse", directions, 5)
    assert page.neighbors["neighbor"].tolist() == [row[0] for row in near]
    before = directions.cosines([toy_model[row[0]] for row in near])[:, 0]
    np.testing.assert_allclose(page.neighbors["projection"], before)


def test_rounding_leans_to_no_group(toy_model):
    directions = bias_directions(toy_model, PAIRS)
    removed = remove(toy_model.vectors, directions.subspace).astype(np.float32)
    flat = WordEmbeddingModel((list(toy_model), removed), "flat")
    page = word_page(flat, "nurse", directions, k=6)
    assert page.leans_to == "no clear direction"
    assert page.shares["neighbors"].tolist() == [0, 0, 1]
    assert as_json(page)["percentile"] is None
    assert "nothing but rounding" in str(page)
    assert extreme_words(flat, criterion=directions).empty


def test_one_rule_labels_words_and_neighbours_as_the_headline_does(packaged_model):
    directions = bias_directions(packaged_model, "religion")
    page = word_page(packaged_model, "engineer", directions, k=12)
    assert page.percentile < 0.75
    assert page.leans_to == "no clear direction"
    labels = page.neighbors["leans_to"].tolist()
    assert 0 < labels.count("no clear direction") < 12
    for row in page.neighbors.itertuples():
        own = word_page(packaged_model, row.neighbor, directions, k=1)
        assert own.leans_to == row.leans_to
        assert (own.leans_to != "no clear direction") == (own.percentile >= 0.75)
    assert page.shares["neighbors"].to_dict() == {
        label: labels.count(label) / 12 for label in page.shares.index
    }
    # What has no clear direction is extreme in no model.
    many = model_page(packaged_model, directions, n=3000).extremes
    for word in many.groupby("group").tail(1)["word"]:
        assert word_page(packaged_model, word, directions, k=1).leans_to != "no clear direction"


def test_of_three_groups_there_are_three_numbers(toy_model):
    page = word_page(toy_model, "nurse", TRIPLES, k=6)
    assert page.projection.index.tolist() == ["she", "he", "they"]
    assert page.shares["neighbors"].sum() == pytest.approx(1)
    subspace = page.directions.subspace
    others = [toy_model[w] for w in page.neighbors["neighbor"]]
    expected = indirect_bias(toy_model["nurse"], others, subspace)
    np.testing.assert_allclose(page.neighbors["indirect_bias"], expected, atol=1e-9)
    assert page.direct_bias == pytest.approx(direct_bias([toy_model["nurse"]], subspace))


def test_what_a_model_lacks_has_no_page_and_what_is_undefined_is_none(toy_model):
    with pytest.raises(KeyError, match=r"no word 'nurze'.*Did you mean 'nurse'"):
        word_page(toy_model, "nurze", PAIRS)
    forms = [{}, {"lowercase": True}]
    assert word_page(toy_model, "NURSE", PAIRS, preprocessors=forms).word == "nurse"
    # b is orthogonal to a.
    vectors = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 0, 1]])
    model = WordEmbeddingModel((["x", "y", "a", "b"], vectors), "m")
    page = word_page(model, "a", [("x", "y")], others=["b"], k=3)
    assert as_json(page)["indirect_bias"] == {"b": None}


# Maps


def test_pca_keeps_distances_of_what_lies_in_a_plane():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(20, 2)) @ rng.normal(size=(2, 9))
    units = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    np.testing.assert_allclose(pdist(in_two_dimensions(flat)), pdist(units), atol=1e-9)


@pytest.mark.parametrize("method", ["pca", "t-sne", pytest.param("umap", marks=pytest.mark.slow)])
def test_a_map_is_the_same_for_the_same_seed_and_there_is_one_of_few_words(method, packaged_model):
    if method == "umap":
        pytest.importorskip("umap")
    for n_words in (2, 3, 30):
        vectors = packaged_model.vectors[:n_words]
        first, second = (in_two_dimensions(vectors, method, random_state=3) for _ in range(2))
        np.testing.assert_array_equal(first, second)
        assert first.shape == (n_words, 2)
        assert np.isfinite(first).all()


# Models


def test_a_model_page_has_the_vocabulary_and_the_lists(toy_model):
    page = model_page(toy_model, PAIRS, words={"neutral": ["nurse", "pilot", "tree", "xyz"]}, n=2)
    rows = page.distribution.set_index("set")
    assert rows.loc["vocabulary", "n"] == 13
    assert rows.loc["neutral", "mean_abs"] == pytest.approx(0.379881, abs=1e-6)
    assert page.n_lost == 1
    # The words of the definitional pairs lie farther.
    assert page.extremes.empty
    assert "farthest towards he: none has a clear direction" in str(page)
    assert as_json(page) == page.to_dict()


def test_the_stereotypes_of_a_criterion_are_its_lists(packaged_model, toy_model):
    page = model_page(packaged_model, "religion", n=3)
    assert len(page.distribution["set"].unique()) == 4
    assert page.extremes["group"].value_counts().tolist() == [3, 3, 3]
    lists = {"f": ["xyz", "zyx"], "m": ["pilot", "yyy"]}
    criterion = Criterion("sex", PAIRS, class_names=["f", "m"], stereotyped_words=lists)
    page = model_page(toy_model, criterion)
    assert page.distribution["set"].tolist() == ["vocabulary", "m stereotypes"]
    assert page.n_lost == 3
