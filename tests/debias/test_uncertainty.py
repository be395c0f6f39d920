"""Standard errors by leaving words out."""

import math

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel
from wefe._answers import Answer
from wefe.debias._changes import _left_out, bias_rows
from wefe.debias._residual import paired_errors, paired_scores
from wefe.metrics import MAC, RIPA, WEAT
from wefe.metrics._jackknife import deletion_groups, jackknife_error, left_out


def mean_errors(before, after):
    """The errors of the means of one number per word."""
    _, (errors,) = paired_scores([np.asarray(before, float), np.asarray(after, float)])
    return errors


@pytest.mark.parametrize("n", [2, 3, 20, 21, 57, 400])
def test_every_word_is_left_out_exactly_once(n):
    groups = deletion_groups(n)
    assert len(groups) == min(n, 20)
    assert sorted(np.concatenate(groups).tolist()) == list(range(n))
    sizes = [len(group) for group in groups]
    assert max(sizes) - min(sizes) <= 1
    again = deletion_groups(n)
    assert all(np.array_equal(a, b) for a, b in zip(groups, again, strict=True))


@pytest.mark.parametrize("n", [0, 1])
def test_of_one_word_nothing_can_be_left_out(n):
    assert deletion_groups(n) == []
    assert math.isnan(jackknife_error([np.empty(0)]))
    assert n == 0 or all(map(math.isnan, mean_errors(np.ones(n), np.ones(n))))


@pytest.mark.parametrize("n", [2, 5, 20])
def test_the_error_of_a_mean_is_s_over_root_n(n):
    x = np.random.default_rng(n).normal(size=n)
    error = jackknife_error([left_out(lambda kept: x[kept].mean(), n)])
    assert error == pytest.approx(x.std(ddof=1) / math.sqrt(n), rel=1e-12)


def test_with_equal_groups_it_is_the_error_of_the_mean_of_their_means():
    x = np.random.default_rng(0).normal(size=200)
    error = jackknife_error([left_out(lambda kept: x[kept].mean(), 200)])
    means = [x[group].mean() for group in deletion_groups(200)]
    assert error == pytest.approx(np.std(means, ddof=1) / math.sqrt(20), rel=1e-12)


def test_variances_of_independent_sets_add_up():
    x, y = np.random.default_rng(1).normal(size=(2, 12))

    def without_each(values):
        return left_out(lambda kept: values[kept].mean(), 12)

    x_without, y_without = without_each(x), without_each(y)
    both = jackknife_error([x_without - y.mean(), x.mean() - y_without])
    assert both == pytest.approx(math.sqrt(x.var(ddof=1) / 12 + y.var(ddof=1) / 12), rel=1e-12)


def test_the_change_is_paired():
    before = np.random.default_rng(2).normal(size=15)
    shifted = paired_errors([before], [before + 3.0])
    assert shifted.change == pytest.approx(0, abs=1e-14)
    assert shifted.before == pytest.approx(shifted.after)
    assert shifted.before > 0.1
    opposite = paired_errors([before], [-before])
    assert opposite.change == pytest.approx(2 * opposite.before)


def test_errors_of_shares_are_those_of_paired_differences():
    right_before = np.array([1, 1, 1, 0, 1, 0, 1, 1], dtype=bool)
    right_after = np.array([1, 0, 0, 0, 1, 1, 1, 1], dtype=bool)
    errors = mean_errors(right_before, right_after)
    # Six of eight are right: p (1 - p) / (n - 1).
    assert errors.before == pytest.approx(math.sqrt(0.75 * 0.25 / 7))
    # Two are lost and one is found: differences 0, -1, -1, 0, 0, 1, 0, 0.
    assert errors.change == pytest.approx(math.sqrt((3 - 8 * (1 / 8) ** 2) / 7 / 8))


def model_of(query, lost=()):
    words = {w for part in query.target_sets + query.attribute_sets for w in part} - set(lost)
    vectors = np.random.default_rng(0).normal(size=(len(words), 3))
    return WordEmbeddingModel.from_arrays(sorted(words), vectors)


def left_out_of(metric, query, lost=(), **options):
    """The scores of a query without each group of words, per set."""
    options = {"lost_vocabulary_threshold": 1.0, **options}
    model = model_of(query, lost)
    answers = [[Answer(0.0)]]
    return _left_out(metric, [query], [model], answers, options, None)[0][0], model


QUERY = Query([["a", "b", "c"], ["d", "e", "f"]], [["g", "h"], ["i", "j", "k", "l"]])


def test_each_set_is_reduced_by_itself():
    left, model = left_out_of(WEAT(), QUERY)
    assert [len(part) for part in left] == [3, 3, 2, 4]
    sets = [*QUERY.target_sets, *QUERY.attribute_sets]
    for position, scores in enumerate(left):
        for word, score in zip(sets[position], scores, strict=True):
            fewer = [[w for w in part if w != word] for part in sets]
            query = Query(fewer[:2], fewer[2:])
            assert score == pytest.approx(WEAT().run_query(query, model)["weat"], abs=1e-12)


def test_pairs_are_left_out_together():
    query = Query(QUERY.target_sets, [["i", "j", "k", "l"]])
    left, model = left_out_of(RIPA(), query)
    assert [len(part) for part in left] == [3, 4]
    first, second = (part[1:] for part in query.target_sets)
    without = RIPA().run_query(Query([first, second], query.attribute_sets), model)
    assert left[0][0] == without["result"]


def test_words_that_were_lost_and_repetitions_are_no_words_to_leave_out():
    query = Query([["a", "b", "c", "a"], ["d", "e", "f"]], [["g", "h"], ["i", "j"]])
    left, _ = left_out_of(WEAT(), query, lost=["b"])
    assert [len(part) for part in left] == [2, 3, 2, 2]


def test_a_set_of_one_word_gives_no_error_and_says_which():
    query = Query([["a", "b"], ["d", "e"]], [["g"], ["i", "j"]], ["A", "D"], ["G", "I"])
    reason, _ = left_out_of(WEAT(), query)
    assert "too few words of 'G'" in reason


@pytest.mark.parametrize(("metric", "most"), [(WEAT, 1.3), (MAC, 1.7)])
def test_errors_are_those_of_words_drawn_anew(metric, most):
    """The error estimated from one sample is the spread over many samples, or somewhat larger."""
    n, dim = 8, 10
    words = [[f"{name}{i}" for i in range(n)] for name in "abcd"]
    query = Query(words[:2], words[2:])
    options = {"lost_vocabulary_threshold": 0.2, "warn_not_found_words": False}
    rows = []
    for seed in range(60):
        vectors = np.random.default_rng(seed).normal(size=(4, n, dim))
        vectors[:, :, 0] += np.array([1.5, -1.5, 1.0, -1.0])[:, None]
        halved = vectors * np.array([0.5] + [1.0] * (dim - 1))
        models = [
            WordEmbeddingModel.from_arrays(
                [w for part in words for w in part], part.reshape(-1, dim), name
            )
            for name, part in (("before", vectors), ("after", halved))
        ]
        rows += bias_rows(metric(), [query], models, options, None, False)
    for which in ("before", "after"):
        spread = np.std([getattr(row, which) for row in rows], ddof=1)
        error = np.mean([getattr(row, f"{which}_se") for row in rows])
        assert 0.75 < error / spread < most
    spread = np.std([row.after - row.before for row in rows], ddof=1)
    assert 0.75 < np.mean([row.change_se for row in rows]) / spread < most
