"""SC-WEAT: effect sizes of single words, their permutation tests, and scores of sets."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe import Query, WordEmbeddingModel, run_queries
from wefe.datasets import load_weat, load_weat_queries
from wefe.metrics import SCWEAT, WEAT, sc_weat, sc_weat_by_word

GROUPS = ["she woman", "he man"]
WORDS = "nurse pilot tree"

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture
def query(query_of):
    return query_of([WORDS], GROUPS)


def drawn(seed, *sizes, dim=6):
    rng = np.random.default_rng(seed)
    return [rng.normal(0.2, 1, (size, dim)) for size in sizes]


def cos(u, v):
    return sum(map(float.__mul__, u, v)) / math.sqrt(sum(x * x for x in u) * sum(x * x for x in v))


def literal(word, a, b, ddof=0):
    """The definition, word by word."""
    of_a = [cos(word, each) for each in a]
    of_b = [cos(word, each) for each in b]
    every = of_a + of_b
    mean = sum(every) / len(every)
    spread = math.sqrt(sum((x - mean) ** 2 for x in every) / (len(every) - ddof))
    return (sum(of_a) / len(of_a) - sum(of_b) / len(of_b)) / spread


def literal_p(word, a, b, alternative):
    """All splits of both attribute sets, with the difference of means."""
    cosines = [cos(word, each) for each in [*a, *b]]
    n = len(cosines)

    def statistic(first):
        inside = [cosines[i] for i in first]
        outside = [cosines[i] for i in range(n) if i not in first]
        return sum(inside) / len(inside) - sum(outside) / len(outside)

    observed = statistic(range(len(a)))
    every = [statistic(first) for first in itertools.combinations(range(n), len(a))]
    extreme = {
        "right-sided": lambda s: s >= observed - 1e-12,
        "left-sided": lambda s: s <= observed + 1e-12,
        "two-sided": lambda s: abs(s) >= abs(observed) - 1e-12,
    }[alternative]
    return sum(map(extreme, every)) / len(every)


# Worked example


@pytest.mark.parametrize(
    ("ddof", "expected"),
    [
        (0, {"nurse": 1.976629, "pilot": -1.957555, "tree": 1.233936}),
        (1, {"nurse": 1.711811, "pilot": -1.695292, "tree": 1.068620}),
    ],
)
def test_toy_effect_sizes(ddof, expected, query, toy_model):
    result = SCWEAT().run_query(query, toy_model, ddof=ddof)
    assert result["effect_sizes"] == pytest.approx(expected, abs=1e-6)
    assert result["result"] == pytest.approx(sum(expected.values()) / 3, abs=1e-6)
    magnitudes = SCWEAT().run_query(query, toy_model, ddof=ddof, reduce="mean_abs")
    assert magnitudes["sc_weat"] == pytest.approx(sum(map(abs, expected.values())) / 3, abs=1e-6)


def test_toy_p_values_count_the_six_splits(query, toy_model):
    result = SCWEAT().run_query(query, toy_model, calculate_p_value=True)
    assert result["p_values"] == pytest.approx({"nurse": 1 / 6, "pilot": 1.0, "tree": 1 / 3})
    assert result.details["permutation_tests"]["nurse"].n_splits == 6


def test_words_that_are_strong_in_the_opposite_direction_are_named(packaged_model):
    kinds = load_weat()
    words = [["sunshine", "war"], kinds["pleasant_5"], kinds["unpleasant_5"]]
    query = Query(words[:1], words[1:])
    result = SCWEAT().run_query(query, packaged_model, calculate_p_value=True)
    assert result["p_values"]["war"] > 0.99 > 0.01 > result["p_values"]["sunshine"]
    warning = "words that are strong in the opposite direction: war; "
    assert any(each.startswith(warning) for each in result.warnings)


# A second implementation


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 5), st.integers(2, 5), st.sampled_from([0, 1]))
def test_effect_sizes_agree_with_their_definition(seed, n_a, n_b, ddof):
    words, a, b = drawn(seed, 4, n_a, n_b)
    expected = [literal(word, a.tolist(), b.tolist(), ddof) for word in words.tolist()]
    assert sc_weat_by_word(words, a, b, ddof) == pytest.approx(expected, abs=1e-9)
    assert sc_weat(words, a, b, ddof) == pytest.approx(sum(expected) / 4, abs=1e-9)


@pytest.mark.parametrize("alternative", ["right-sided", "left-sided", "two-sided"])
@pytest.mark.parametrize("sizes", [(4, 4), (2, 6), (5, 1)])
def test_p_values_count_splits_by_the_difference_of_means(named, alternative, sizes):
    words, a, b = drawn(3, 5, *sizes)
    # A level that all cosines share: sums of sets of unequal sizes would see it.
    words, a, b = words + 1, a + 1, b + 1
    query, model = named([words], [a, b])
    result = SCWEAT().run_query(query, model, calculate_p_value=True, p_value_test_type=alternative)
    expected = [literal_p(w, a.tolist(), b.tolist(), alternative) for w in words.tolist()]
    assert list(result["p_values"].values()) == pytest.approx(expected, abs=1e-12)


# Theorems


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 4), st.integers(1, 4))
def test_score_is_bounded_and_ignores_lengths_and_turns_with_the_sets(seed, n_a, n_b):
    words, a, b = drawn(seed, 3, n_a, n_b)
    scores = sc_weat_by_word(words, a, b)
    bound = (n_a + n_b) / math.sqrt(n_a * n_b)
    assert (np.abs(scores) <= bound + 1e-12).all()
    lengths = np.random.default_rng(seed).uniform(0.1, 10, (3, 1))
    assert sc_weat_by_word(lengths * words, 3 * a, b) == pytest.approx(scores, abs=1e-9)
    assert sc_weat_by_word(words, b, a) == pytest.approx(-scores, abs=1e-9)


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (3, 3), (2, 4), (1, 3)])
def test_bound_of_the_scale_is_reached(n_a, n_b, ddof, named):
    a, b = np.tile([1.0, 0.0], (n_a, 1)), np.tile([0.0, 1.0], (n_b, 1))
    query, model = named([np.array([[2.0, 1.0]])], [a, b])
    result = SCWEAT().run_query(query, model, ddof=ddof)
    assert result["result"] == pytest.approx(SCWEAT().scale(query, ddof=ddof).value_range[1])


def test_the_effect_size_is_that_of_weat_with_the_sets_exchanged(named):
    words, a, b = drawn(5, 1, 3, 4)
    # s(a, {w}, {-w}) is twice the cosine, and an effect size has no unit.
    query, model = named([a, b], [words, -words])
    weat = WEAT().run_query(query, model, return_effect_size=True)["result"]
    assert sc_weat(words, a, b) == pytest.approx(weat, abs=1e-9)


# Traps


def test_words_that_lean_to_opposite_sides_cancel_unless_magnitudes_are_asked_for(query, toy_model):
    opposite = Query([["nurse", "pilot"]], query.attribute_sets)
    assert abs(SCWEAT().run_query(opposite, toy_model)["result"]) < 0.01
    assert SCWEAT().run_query(opposite, toy_model, reduce="mean_abs")["result"] > 1.9


def test_word_with_equal_cosines_is_nan_with_a_reason(caplog):
    model = WordEmbeddingModel((["up", "side", "a", "b"], np.eye(3)[[2, 0, 0, 1]]), "axes")
    query = Query([["up", "side"]], [["a"], ["b"]], ["T"])
    for reduce in ("mean", "mean_abs"):
        result = SCWEAT().run_query(query, model, reduce=reduce, calculate_p_value=True)
        assert math.isnan(result["result"])
        assert math.isnan(result["effect_sizes"]["up"])
        assert result["effect_sizes"]["side"] == 2.0
        assert result["p_values"] == {"up": 1.0, "side": 0.5}
        assert result.nan_reason.startswith("1 of 2 words of 'T' have the same cosine")
        assert set(result.details["nan_reasons"]) == {"up"}
    assert "1 of 2 words of 'T'" in caplog.text


def test_p_values_of_random_splits_depend_on_the_seed_alone(toy_model, query_of):
    options = {"calculate_p_value": True, "p_value_method": "approximate", "random_state": 3}
    several = SCWEAT().run_query(query_of([WORDS], GROUPS), toy_model, **options)
    alone = SCWEAT().run_query(query_of(["tree"], GROUPS), toy_model, **options)
    assert several["p_values"]["tree"] == alone["p_values"]["tree"]
    assert several["p_values"]["tree"] == pytest.approx(1 / 3, abs=0.02)
    assert several["p_values"]["tree"] != 1 / 3


def test_options_of_a_p_value_that_nobody_asks_for_are_warned_about(query, toy_model, caplog):
    result = SCWEAT().run_query(query, toy_model, p_value_test_type="two-sided")
    assert result["p_values"] == {}
    assert "no p-value is calculated" in caplog.text


# In the house


@pytest.mark.slow
def test_reports_ask_for_p_values(packaged_model):
    assert SCWEAT().report_params({}, 0, "two-sided") == {}  # every word is tested, on request
    params = SCWEAT().report_params({"calculate_p_value": True}, 0, "right-sided")
    assert params["calculate_p_value"]
    assert params["p_value_method"] == "exact"
    results = run_queries(
        "sc-weat",
        load_weat_queries()[:1],
        [packaged_model],
        metric_params=params,
        generate_subqueries=True,
    )
    scores = results.to_numpy(dtype=float)
    assert scores.shape == (1, 2)
    # Flowers lean to pleasant words, insects to unpleasant ones.
    assert scores[0, 0] > 0 > scores[0, 1]
