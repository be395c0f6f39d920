"""Two models compared over queries that share words, against loops over resamples and words."""

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel, compare_models, measure
from wefe._bootstrap import Resampling
from wefe._evaluation import Evaluation
from wefe._wordset import FractionalWeightsError, Weights
from wefe.comparison import _weights
from wefe.metrics import RIPA, WEAT
from wefe.metrics._base import BaseMetric
from wefe.metrics._registry import metric_names

WORDS = [f"w{i}" for i in range(30)]


def model(seed, words=WORDS):
    """A model of words that are the same but for noise of its own."""
    same = {word: np.random.default_rng(i).normal(size=8) for i, word in enumerate(WORDS)}
    generator = np.random.default_rng(seed)
    vectors = np.array([same[word] for word in words]) + generator.normal(size=(len(words), 8))
    return WordEmbeddingModel((list(words), vectors), f"model {seed}")


def query(*starts, size=5):
    x, y, a, b = (WORDS[start : start + size] for start in starts)
    return Query([x, y], [a, b], ["X", "Y"], [f"A{starts}", f"B{starts}"])


ONE, OTHER = model(100), model(101)
# The second shares its targets with the first, the third some words of its attributes.
QUERIES = [query(0, 5, 10, 15), query(0, 5, 20, 25), query(2, 7, 12, 17)]


def exponential(word, n, seed=0):
    return np.random.default_rng([seed, *word.encode()]).standard_exponential(n)


def literal_weat(vectors, asked, weight_of):
    """WEAT as a sum, word by word."""

    def cosine(u, v):
        return sum(p * q for p, q in zip(u, v, strict=True)) / np.linalg.norm(u) / np.linalg.norm(v)

    def weighted(words):
        total = sum(weight_of[word] for word in words)
        return [(word, weight_of[word] * len(words) / total) for word in words]

    def association(word):
        means = [
            sum(w * cosine(vectors[word], vectors[other]) for other, w in weighted(part))
            / len(part)
            for part in asked.attribute_sets
        ]
        return means[0] - means[1]

    x, y = (sum(w * association(word) for word, w in weighted(part)) for part in asked.target_sets)
    return x - y


def literal(queries, one, other, n, seed=0):
    """The definition: every resample, every word, one after the other."""

    def difference(weight_of):
        distances = [
            [abs(literal_weat(each, asked, weight_of)) for asked in queries]
            for each in (one, other)
        ]
        return (sum(distances[1]) - sum(distances[0])) / len(queries)

    drawn = {word: exponential(word, n, seed) for word in WORDS}
    samples = [difference({word: drawn[word][case] for word in WORDS}) for case in range(n)]
    observed = difference(dict.fromkeys(WORDS, 1.0))
    noise = sorted(abs(each - sum(samples) / n) for each in samples)
    p_value = (1 + sum(each >= abs(observed) for each in noise)) / (1 + n)
    place = 0.95 * (n - 1)
    below = int(place)
    margin = noise[below] + (place - below) * (noise[below + 1] - noise[below])
    return observed, observed - margin, observed + margin, p_value


def numbers(found):
    return found.difference, found.lower, found.upper, found.p_value


def test_it_is_what_loops_over_resamples_and_words_find():
    found = compare_models("weat", QUERIES, ONE, OTHER, 40, random_state=3)
    assert numbers(found) == pytest.approx(literal(QUERIES, ONE, OTHER, 40, seed=3), rel=1e-9)
    assert (found.n_queries, found.n_words) == (3, 30)


def test_the_distances_are_those_of_the_scores_that_measure_shows():
    found = compare_models("mac", QUERIES, ONE, OTHER, 40)
    scores = measure("mac", QUERIES, [ONE, OTHER])
    expected = (scores["score"] - scores["no_bias_value"]).abs().to_numpy().reshape(2, -1)
    assert found.distances["query_name"].tolist() == [each.query_name for each in QUERIES]
    shown = found.distances[["one", "other"]].to_numpy().T
    assert shown == pytest.approx(expected)
    assert found.difference == pytest.approx(np.diff(expected.mean(axis=1))[0])


@pytest.mark.parametrize("metric", ["weat-es", "ripa", "direct-bias"])
def test_models_can_be_swapped_and_queries_can_come_in_any_order(metric):
    found, again, other = (
        compare_models(metric, QUERIES, ONE, OTHER, 60, random_state=i) for i in (0, 0, 1)
    )
    assert numbers(again) == numbers(found) != numbers(other)
    swapped = compare_models(metric, QUERIES, OTHER, ONE, 60)
    assert numbers(swapped) == (-found.difference, -found.upper, -found.lower, found.p_value)
    turned = compare_models(metric, QUERIES[::-1], ONE, OTHER, 60)
    assert numbers(turned) == pytest.approx(numbers(found), rel=1e-12)
    narrow = compare_models(metric, QUERIES, ONE, OTHER, 60, 0.5)
    assert narrow.lower > found.lower
    assert (narrow.p_value, narrow.difference) == (found.p_value, found.difference)


@pytest.mark.parametrize("metric", ["weat-es", "direct-bias"])
def test_a_model_does_not_differ_from_itself(metric):
    found = compare_models(metric, QUERIES, ONE, ONE, 40)
    assert numbers(found) == (0.0, 0.0, 0.0, 1.0)
    longer = WordEmbeddingModel((WORDS, 3 * ONE.vectors), "longer")
    assert compare_models("weat-es", QUERIES, ONE, longer, 40).p_value == 1


@pytest.mark.parametrize("metric", ["weat-es", "direct-bias"])  # which takes whole words
def test_a_query_that_occurs_twice_is_no_more_evidence(metric):
    once = numbers(compare_models(metric, QUERIES[:1], ONE, OTHER, 60))
    targets, attributes = QUERIES[0].target_sets, QUERIES[0].attribute_sets
    renamed = Query(targets, attributes, ["U", "V"], ["C", "D"])
    assert numbers(compare_models(metric, [QUERIES[0], renamed], ONE, OTHER, 60)) == once
    # The same words in another order are another query, with the same weights.
    turned = Query([each[::-1] for each in targets], [each[::-1] for each in attributes])
    both = compare_models(metric, [QUERIES[0], turned], ONE, OTHER, 60)
    assert both.n_queries == {"weat-es": 2, "direct-bias": 4}[metric]
    assert numbers(both) == pytest.approx(once, rel=1e-9)


@pytest.mark.parametrize("relation", ["pairs", "pca"])
def test_words_of_a_pair_weigh_the_same(relation):
    asked = Query(QUERIES[0].target_sets, QUERIES[0].attribute_sets[:1])
    own = Evaluation(RIPA(), asked, ONE, {"relation": relation})
    x, y, _ = (each.matrix() for each in _weights(own, Resampling(40, 0.95, 0)).values())
    assert np.array_equal(x, y)
    expected = np.array([exponential(f"w{i}\nw{i + 5}", 40) for i in range(5)]).T
    assert x == pytest.approx(5 * expected / expected.sum(axis=1, keepdims=True))
    found = compare_models("ripa", [asked], ONE, OTHER, metric_params={"relation": relation})
    assert 0 < found.p_value <= 1


def test_words_that_one_model_lacks_count_in_neither():
    less = model(101, WORDS[1:])
    found = compare_models("weat-es", QUERIES[:1], ONE, less, 40)
    x, y = QUERIES[0].target_sets
    without = Query([x[1:], y], QUERIES[0].attribute_sets)
    assert numbers(found) == numbers(compare_models("weat-es", [without], ONE, less, 40))
    assert found.n_words == 19


def test_queries_that_cannot_be_compared_are_named():
    less = model(101, WORDS[:25])
    alone = query(0, 5, 10, 15, size=1)
    found = compare_models("weat", [*QUERIES, alone], ONE, less, 40)
    assert found.n_queries == 2
    assert list(found.left_out) == [QUERIES[1].query_name, alone.query_name]
    assert "no set to resample has two or more words" in found.left_out[alone.query_name]
    with pytest.raises(ValueError, match="no query can be compared; the first one, 'X and Y wrt"):
        compare_models("weat", [alone], ONE, less, 40)
    small = Query([WORDS[:2]], [WORDS[2:4]])
    found = compare_models("weat", [QUERIES[0], small], ONE, OTHER, 40)
    assert "needs" in found.left_out[small.query_name]


def test_a_query_is_left_out_where_many_resamples_have_no_score():
    class Rare(BaseMetric):
        metric_template = (1, 1)
        metric_name, metric_short_name = "Rare", "Rare"

        def _scores(self, targets, attributes):
            first = targets[0].weights.matrix()[:, 0]
            return np.where(first < 0.3, np.nan, first)

    with pytest.raises(ValueError, match="resamples have no score"):
        compare_models(Rare(), [Query([WORDS[:5]], [WORDS[5:9]])], ONE, OTHER, 100)


def test_random_metrics_and_metrics_without_repeated_words_say_what_to_do():
    with pytest.raises(ValueError, match="holdout=False for RNSB"):
        compare_models("rnsb", QUERIES[:1], ONE, OTHER, 40)

    class Own(WEAT):
        def run_query(self, query, model, **params):
            return super().run_query(query, model, **params)

    with pytest.raises(ValueError, match="has its own run_query"):
        compare_models(Own(), QUERIES[:1], ONE, OTHER, 40)


@pytest.mark.parametrize("name", sorted({*metric_names()} - {"ceat", "seat"}))
def test_no_metric_cuts_off_fractions(name):
    asked = metric_names()[name]().subqueries(QUERIES[0])[0]
    evaluation = Evaluation.of_subsets(metric_names()[name](), asked, ONE, {})
    sets = enumerate(evaluation.sets)
    almost = {i: Weights(np.full((1, len(part)), 1 - 1e-7)) for i, part in sets}
    try:
        score = evaluation.scores(almost)[0]
    except FractionalWeightsError:
        assert name in {"direct-bias", "gipe", "pmn", "proximity-bias"}
    else:
        assert score == pytest.approx(evaluation.of_all_words(), abs=1e-5)
