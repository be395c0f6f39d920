"""SC-WEAT: effect sizes of single words, their permutation tests, and scores of sets."""

import math

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel
from wefe.metrics import SCWEAT, WEAT

GROUPS = ["she woman", "he man"]
WORDS = "nurse pilot tree"


def drawn(seed, *sizes):
    rng = np.random.default_rng(seed)
    return [rng.normal(0.2, 1, (size, 6)) for size in sizes]


def definition(word, a, b, literal, ddof=0):
    of_a, of_b = ([literal.cosine(word, each) for each in part] for part in (a, b))
    return (literal.mean(of_a) - literal.mean(of_b)) / literal.deviation(of_a + of_b, ddof)


# Worked example


@pytest.mark.parametrize(
    ("ddof", "expected"),
    [(0, [1.976629, -1.957555, 1.233936]), (1, [1.711811, -1.695292, 1.06862])],
)
def test_toy_effect_sizes(ddof, expected, toy):
    result = toy(SCWEAT, [WORDS], GROUPS, ddof=ddof)
    by_word = dict(zip(WORDS.split(), expected, strict=True))
    assert result["effect_sizes"] == pytest.approx(by_word, abs=1e-6)
    assert result["result"] == pytest.approx(np.mean(expected), abs=1e-6)
    magnitudes = toy(SCWEAT, [WORDS], GROUPS, ddof=ddof, reduce="mean_abs")
    assert magnitudes["sc_weat"] == pytest.approx(np.mean(np.abs(expected)), abs=1e-6)


# Second implementations


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("seed", range(10))
def test_effect_sizes_agree_with_their_definition_and_with_weat(seed, ddof, literal):
    words, a, b = drawn(seed, 4, *np.random.default_rng(seed).integers(2, 6, 2))
    result = SCWEAT(ddof=ddof).run_vectors([words], [a, b])
    scores = list(result["effect_sizes"].values())
    expected = [definition(word, a, b, literal, ddof) for word in words]
    assert scores == pytest.approx(expected, abs=1e-9)
    assert result["sc_weat"] == pytest.approx(np.mean(expected), abs=1e-9)
    # s(a, {w}, {-w}) is twice the cosine, and an effect size has no unit.
    weat = WEAT(ddof=ddof).run_vectors([a, b], [words[:1], -words[:1]])
    assert scores[0] == pytest.approx(weat["effect_size"], abs=1e-9)


@pytest.mark.parametrize("alternative", ["right-sided", "left-sided", "two-sided"])
@pytest.mark.parametrize("sizes", [(4, 4), (2, 6), (5, 1)])
def test_p_values_count_splits_by_the_difference_of_means(named, literal, alternative, sizes):
    # A level that all cosines share: sums of sets of unequal sizes would see it.
    words, a, b = (part + 1 for part in drawn(3, 5, *sizes))
    query, model = named([words], [a, b])
    result = SCWEAT().run_query(query, model, calculate_p_value=True, p_value_test_type=alternative)
    cosines = [[[literal.cosine(word, each) for each in part] for part in (a, b)] for word in words]
    side = {"right-sided": "greater", "left-sided": "less"}.get(alternative, alternative)
    expected = [literal.p_value(*of_word, side) for of_word in cosines]
    assert list(result["p_values"].values()) == pytest.approx(expected, abs=1e-12)


# Theorems


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (3, 3), (2, 4), (1, 3)])
def test_bound_of_the_scale_is_reached(n_a, n_b, ddof, named):
    a, b = np.tile([1.0, 0.0], (n_a, 1)), np.tile([0.0, 1.0], (n_b, 1))
    query, model = named([np.array([[2.0, 1.0]])], [a, b])
    result = SCWEAT().run_query(query, model, ddof=ddof)
    assert result["result"] == pytest.approx(SCWEAT().scale(query, ddof=ddof).value_range[1])


# Traps


@pytest.mark.parametrize("reduce", ["mean", "mean_abs"])
def test_word_with_equal_cosines_is_nan_with_a_reason(reduce, caplog):
    model = WordEmbeddingModel((["up", "side", "a", "b"], np.eye(3)[[2, 0, 0, 1]]), "axes")
    query = Query([["up", "side"]], [["a"], ["b"]], ["T"])
    result = SCWEAT().run_query(query, model, reduce=reduce, calculate_p_value=True)
    assert math.isnan(result["result"])
    assert math.isnan(result["effect_sizes"]["up"])
    assert result["effect_sizes"]["side"] == 2.0
    assert result["p_values"] == {"up": 1.0, "side": 0.5}
    assert result.nan_reason.startswith("1 of 2 words of 'T'")
    assert "1 of 2 words of 'T'" in caplog.text


def test_p_values_of_random_splits_depend_on_the_seed_alone(toy):
    options = {"calculate_p_value": True, "p_value_method": "approximate", "random_state": 3}
    several, alone = (
        toy(SCWEAT, [words], GROUPS, **options)["p_values"]["tree"] for words in (WORDS, "tree")
    )
    assert several == alone == pytest.approx(1 / 3, abs=0.02)
    assert several != 1 / 3
