"""Cosines, associations, correlations and ranks."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from wefe._wordset import WordSet
from wefe.metrics import association
from wefe.metrics._geometry import as_vectors, average_ranks, cosine, pearson, unit


def mean_unit(vectors):
    return WordSet("words", (), vectors).mean_unit()[0]


# Numbers that are neither tiny nor huge, so that no test measures underflow.
coordinates = st.floats(-10, 10).map(lambda x: round(x, 3))


def usable(words):
    return bool((np.linalg.norm(words, axis=1) > 0.01).all())


word_sets = (
    st.integers(1, 5).flatmap(lambda n: arrays(float, (n, 4), elements=coordinates)).filter(usable)
)


# Worked examples


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("she", 0.884021),
        ("woman", 0.881211),
        ("he", -0.942908),
        ("man", -0.642947),
        ("nurse", 0.080541),
        ("pilot", -0.850664),
        ("tree", -0.406032),
    ],
)
def test_association_of_toy_words(word, expected, vectors):
    found = association(vectors(word), vectors("home kids"), vectors("boss job"))
    assert found == pytest.approx([expected], abs=1e-6)


def test_distance_of_group_means_on_word2vec(word2vec, weat_sets, debiaswe_sets):
    def distance(first, second):
        return np.linalg.norm(
            mean_unit(word2vec.get_vectors(first)) - mean_unit(word2vec.get_vectors(second))
        )

    assert distance(weat_sets["male_terms"], weat_sets["female_terms"]) == pytest.approx(
        0.583646, abs=1e-5
    )
    female, male = zip(*debiaswe_sets["definitional_pairs"], strict=True)
    assert distance(female, male) == pytest.approx(0.570143, abs=1e-5)


# Theorems


@settings(max_examples=50, deadline=None)
@given(word_sets, word_sets, word_sets)
def test_association_agrees_with_its_definition(literal, w, a, b):
    expected = [literal.association(word, a, b) for word in w]
    assert association(w, a, b) == pytest.approx(expected, abs=1e-12)


def test_averaging_raw_attribute_vectors_would_be_another_quantity(vectors):
    w, a, b = vectors("she"), vectors("home kids"), vectors("boss job")
    other = cosine(w[0], a.mean(axis=0)) - cosine(w[0], b.mean(axis=0))
    assert abs(association(w, a, b)[0] - other) > 0.01


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=20))
def test_average_ranks_agree_with_scipy(numbers):
    assert average_ranks(np.array(numbers)).tolist() == stats.rankdata(numbers).tolist()


def test_average_ranks_tie_within_a_tolerance():
    x = np.array([0.3, 0.1 + 0.2, 1.0, 0.0])
    assert average_ranks(x).tolist() == [2.0, 3.0, 4.0, 1.0]
    assert average_ranks(x, tolerance=1e-12).tolist() == [2.5, 2.5, 4.0, 1.0]


def test_pearson_agrees_with_scipy_and_is_nan_for_a_constant():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 12))
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    assert math.isnan(pearson(x, np.full(12, 0.5)))


def test_cosine_of_a_zero_vector_is_nan():
    assert math.isnan(cosine(np.zeros(3), np.ones(3)))


def test_unit_rows_have_length_one_and_mean_unit_is_not_renormalised(vectors):
    rows = unit("words", 1000 * vectors("she he home"))
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1])
    assert np.linalg.norm(mean_unit(vectors("she he"))) < 0.5


# What is refused


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], r"w must have shape \(n_words, dim\), with at least one number; got \(2,\)"),
        (np.empty((0, 3)), r"at least one number; got \(0, 3\)"),
        ([[1.0, math.nan]], "w: row 0 holds NaN or infinity"),
        ([[1.0, 1.0], [math.inf, 1.0]], "w: row 1 holds NaN or infinity"),
    ],
)
def test_what_is_no_table_of_vectors_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        as_vectors("w", values)


def test_zero_vector_is_refused_by_row():
    with pytest.raises(ValueError, match="a: row 1 is a zero vector, which has no direction"):
        association([[1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0]])


def test_vector_whose_length_overflows_is_refused():
    # It would become a zero vector, and its association 0.
    with pytest.raises(ValueError, match="w: row 0 is so long that its length overflows"):
        association([[1e200, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]])
