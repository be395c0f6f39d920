"""Direct bias: strictness, subspaces, where the direction comes from, and neutral words."""

import math

import pytest

from wefe import Query
from wefe.metrics import DirectBias, direct_bias

T1, T2, NEUTRAL = "she woman", "he man", "nurse pilot tree"
MEANS = {"direction": "means"}


# Worked examples and published figures


@pytest.mark.parametrize(
    ("options", "expected", "by_word"),
    [
        ({"c": 1}, 0.379881, [0.517465, -0.497935, 0.124241]),
        ({"c": 2.0}, 0.177049, [0.517465, -0.497935, 0.124241]),
        ({"c": 0.5}, 0.592492, [0.517465, -0.497935, 0.124241]),
        ({"c": 0}, 1.0, [0.517465, -0.497935, 0.124241]),
        ({"c": 1, "n_components": 2}, 0.966911, [0.968448, 0.948861, 0.983424]),
        ({"c": 2, "n_components": 2}, 0.935117, [0.968448, 0.948861, 0.983424]),
        # That of SAME.
        (MEANS, 0.381016, [0.520295, -0.495138, 0.127616]),
    ],
)
def test_toy_scores(options, expected, by_word, toy):
    result = toy(DirectBias, [T1, T2], [NEUTRAL], **options)
    assert result["direct_bias"] == pytest.approx(expected, abs=1e-6)
    by_word = dict(zip(NEUTRAL.split(), by_word, strict=True))
    assert result["word_values"] == pytest.approx(by_word, abs=1e-6)
    if options == MEANS:
        assert "pairs" not in result.details
        return
    assert result.details["pairs"] == [("she", "he"), ("woman", "man")]
    subspace = result.details["subspace"]
    assert subspace.directions[0] == pytest.approx([0.997742, -0.067150, -0.001556], abs=1e-6)
    assert subspace.explained_variance_ratio[0] == pytest.approx(0.996115)


@pytest.mark.parametrize(
    ("only_neutral", "c", "expected"),
    [(False, 1, 0.080507), (False, 0.5, 0.256859), (False, 2, 0.011643), (True, 1, 0.073079)],
)
def test_professions_of_bolukbasi_on_word2vec(only_neutral, c, expected, word2vec, debiaswe_sets):
    gendered = set(debiaswe_sets["gender_specific"]) if only_neutral else set()
    words = [word for word in debiaswe_sets["professions"] if word not in gendered]
    assert len(words) == (303 if only_neutral else 320)
    query = Query([debiaswe_sets["female_terms"], debiaswe_sets["male_terms"]], [words])
    result = DirectBias().run_query(query, word2vec, c=c)
    assert result["direct_bias"] == pytest.approx(expected, abs=1e-5)
    assert len(result["word_values"]) == len(words)
    # Positive towards the first, female set.
    assert result["word_values"]["nurse"] > 0.1
    assert result["word_values"]["warrior"] < 0


# A second implementation


def test_strictest_score_is_the_share_of_words_that_are_not_orthogonal():
    # 0^0 is 0: a word without any projection is unbiased however strict one is.
    words = [[1.0, 0.0], [1e-9, 1.0], [0.0, 1.0], [0.0, -2.0]]
    assert direct_bias(words, [[1.0, 0.0]], c=0) == 0.5
    assert direct_bias(words[2:], [[1.0, 0.0]], c=0) == 0.0


# Tuples


def test_triples_define_a_direction_too(toy, vectors, literal):
    sets = [T1, T2, "they folk"]
    result = toy(DirectBias, sets, [NEUTRAL], n_components=2)
    directions, _ = literal.principal_directions([vectors(words) for words in sets])
    expected = literal.direct_bias(vectors(NEUTRAL), directions[:2])
    assert result["direct_bias"] == pytest.approx(expected, abs=1e-9)
    assert result.details["pairs"][0] == ("she", "he", "they")
    with pytest.raises(ValueError, match="direction='means' needs 2 .*got 3"):
        toy(DirectBias, sets, [NEUTRAL], **MEANS)


@pytest.mark.parametrize(
    ("targets", "options", "reason"),
    [
        ((T1, T1), {}, "the members of every tuple are equal"),
        ((T1, T1), MEANS, "the target sets have the same mean"),
        (("she woman tree", "tree she woman"), MEANS, "the target sets have the same mean"),
    ],
)
def test_no_direction_is_nan_with_a_reason(targets, options, reason, toy):
    result = toy(DirectBias, targets, [NEUTRAL], **options)
    assert math.isnan(result["result"])
    assert result.nan_reason.startswith(reason)
