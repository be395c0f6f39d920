"""Weighted word sets: sums and means in all cases at once are those of repeated rows."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from wefe import Query, WordEmbeddingModel
from wefe._wordset import Nested, Ones, Weights, WordSet, each_case, n_cases_of, word_sets
from wefe.embeddings import embed_query, paired
from wefe.metrics._geometry import distances


def rng(seed=0):
    return np.random.default_rng(seed)


def words_of(n_words, seed=0):
    words = tuple(f"w{i}" for i in range(n_words))
    return WordSet("words", words, rng(seed).normal(size=(n_words, 4)), (), tuple(range(n_words)))


def orders():
    return np.stack([rng(run).permutation(9) for run in range(3)])


FORMS = [
    Ones(9),
    Weights(rng(3).multinomial(9, np.full(9, 1 / 9), size=5)),
    Weights(1 - np.eye(9)),
    Nested(orders(), [2, 5, 9]),
]
each_form = pytest.mark.parametrize("weights", FORMS, ids=["ones", "drawn", "left out", "nested"])


@each_form
def test_methods_of_a_weighted_set_are_those_of_repeated_words(weights):
    part, other = words_of(9)._weighted(weights), words_of(3, seed=1)
    values = rng(2).normal(size=(weights.n_cases, 9))
    for case, repeated in enumerate(
        part._take(part.weights.rows(case)) for case in range(weights.n_cases)
    ):
        rows = np.repeat(np.arange(9), weights.matrix()[case].astype(int))
        assert repeated.words == tuple(f"w{row}" for row in rows)
        assert repeated.vectors.tolist() == part.vectors[rows].tolist()
        assert part.total[case] == len(repeated) == repeated.n_entries
        for name in ("mean_vector", "mean_unit"):
            expected = getattr(repeated, name)()[0]
            np.testing.assert_allclose(getattr(part, name)()[case], expected, atol=1e-14)
        expected = repeated.mean_cosine(other)[0]
        np.testing.assert_allclose(part.mean_cosine(other)[case], expected, atol=1e-14)
        np.testing.assert_allclose(part.sum(values)[case], values[case, rows].sum(), atol=1e-13)
        np.testing.assert_allclose(part.mean(values)[case], values[case, rows].mean(), atol=1e-13)
        np.testing.assert_allclose(part.sum(values[:1])[case], values[0, rows].sum(), atol=1e-13)


@pytest.mark.parametrize("shape", [(9,), (9, 3)])
def test_sums_of_nested_subsets(shape):
    values, nested = rng().normal(size=shape), Nested(orders(), [2, 5, 9])
    by_hand = [values[order[:size]].sum(axis=0) for order in orders() for size in (2, 5, 9)]
    np.testing.assert_allclose(nested.sums(values), by_hand, atol=1e-14)
    assert nested.n_cases == 9
    assert nested.totals.tolist() == [2, 5, 9] * 3


def test_taking_words_leaves_weights_and_losses_behind():
    part = words_of(3)._weighted(Weights([[2, 0, 1]]))._take([2, 0, 2])
    assert part.words == ("w2", "w0", "w2")
    assert part.first_row == (0, 1, 2)
    assert part.total.tolist() == [3.0]
    assert part.lost == ()


def test_a_pair_that_lost_a_word_is_left_out():
    model = WordEmbeddingModel((["she", "he", "queen"], np.eye(3)), "few")
    query = Query([["she", "queen"], ["he", "king"]], [["she"]])
    targets = embed_query(model, query, lost_vocabulary_threshold=0.5).targets
    assert [part.words for part in targets] == [("she", "queen"), ("he",)]
    assert [part.words for part in paired(targets, 0.5)[0]] == [("she",), ("he",)]


def test_numbers_of_cases_and_dimensions_must_agree():
    part, drawn = words_of(3), words_of(3)._weighted(Weights([[2, 0, 1], [0, 1, 0]]))
    assert n_cases_of([part, drawn]) == 2
    # Sets that do not vary are the same in each case.
    cases = [[each.words for each in sets] for sets in each_case([part, drawn])]
    assert cases == [[part.words, ("w0", "w0", "w2")], [part.words, ("w1",)]]
    with pytest.raises(ValueError, match="same number of dimensions; x has 2, y has 3"):
        word_sets(x=np.ones((1, 2)), y=np.ones((1, 3)))


def test_distances_do_not_cancel():
    words = rng().normal(size=(20, 50)) + 100
    points = np.concatenate([words[:3], words[:3] + 1e-7, rng(1).normal(size=(4, 50))])
    tolerance = {"rtol": 1e-10, "atol": 1e-15}
    by_case = WordSet("points", (), points)._weighted(Weights(np.eye(len(points))))
    found = distances(by_case, WordSet("words", (), words))
    np.testing.assert_allclose(found, cdist(points, words), **tolerance)
    by_model = WordSet("points", (), points[:, None])
    moved = np.stack([words + i for i in range(len(points))])
    found = distances(by_model, WordSet("words", (), moved))
    expected = [cdist([point], own)[0] for point, own in zip(points, moved, strict=True)]
    np.testing.assert_allclose(found, expected, **tolerance)
