"""Reference models: what is exactly zero, what follows the dial, and how real they look."""

import itertools
from functools import partial

import numpy as np
import pytest

from wefe import Query
from wefe.datasets import load_weat, load_weat_queries
from wefe.metrics import (
    ECT,
    MAC,
    RIPA,
    RND,
    RNSB,
    SAME,
    WEAT,
    BaseMetric,
    DirectBias,
    GeneralizedWEAT,
    NeighborPercentage,
)
from wefe.metrics._declaration import Scale
from wefe.metrics._registry import as_metric
from wefe.silhouette._reference import dial_response, make_biased_embeddings

ROUNDING = 1e-12
SINGLE_CONCEPT = [ECT, RND, SAME, DirectBias, RIPA]


@pytest.fixture(scope="module")
def query():
    """Male and female names, career and family: eight words each."""
    return load_weat_queries()[5]


def make(query, bias, **params):
    return make_biased_embeddings(query, bias, **{"n_words": 120, "dim": 60, **params})


def units(model, words):
    vectors = model.get_vectors(words)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def distances(metric, query, model, **params):
    parts = metric().subqueries(query)
    scale = metric().scale(**params)
    return [scale.bias(metric().run_query(part, model, **params)["result"]) for part in parts]


def one_concept():
    return load_weat_queries()[5].get_subqueries((2, 1))[0]


def three_groups():
    words = load_weat()
    return Query(
        [words["male_names"], words["female_names"], words["flowers"][:8]],
        [words["career"], words["family"], words["insects"][:8]],
    )


def unequal():
    words = load_weat()
    return Query(
        [words["male_names"], words["female_names"][:5]], [words["career"], words["family"][:6]]
    )


def mean_differences(query, model):
    """Differences of the means of target sets, of unit vectors and of vectors."""
    for one, other in itertools.combinations(query.target_sets, 2):
        yield units(model, one).mean(axis=0) - units(model, other).mean(axis=0)
        yield model.get_vectors(one).mean(axis=0) - model.get_vectors(other).mean(axis=0)


@pytest.mark.parametrize("make_query", [lambda: load_weat_queries()[5], three_groups, unequal])
@pytest.mark.parametrize("noise", [0, 1, 5])
def test_without_bias_no_attribute_word_tells_the_groups_apart(make_query, noise):
    query = make_query()
    model, biased = make(query, 0, noise=noise), make(query, 0.1, noise=noise)
    words = [word for part in query.attribute_sets for word in part]
    for difference in mean_differences(query, model):
        assert np.linalg.norm(difference) > 0.1
        assert np.abs(units(model, words) @ difference).max() < ROUNDING
    # With very little bias, each of them does.
    difference = next(mean_differences(query, biased))
    n_leaning = len(query.attribute_sets[0] + query.attribute_sets[1])
    assert np.abs(units(biased, words[:n_leaning]) @ difference).min() > 1e-6


@pytest.mark.parametrize("noise", [0, 1, 3])
@pytest.mark.parametrize("bias", [0, 0.25, 1])
def test_the_dial_is_the_mean_cosine_with_the_direction_of_the_group(query, bias, noise):
    model = make(query, bias, noise=noise)
    direction = next(mean_differences(query, model))
    direction /= np.linalg.norm(direction)
    for words, sign in zip(query.attribute_sets, (1, -1), strict=True):
        assert (units(model, words) @ direction).mean() == pytest.approx(sign * 0.2 * bias)
    assert WEAT().run_query(query, model)["weat"] == pytest.approx(0.16 * bias * 16, abs=ROUNDING)


def test_the_dial_of_three_groups(query):
    query = three_groups()
    model = make(query, 0.5)
    means = np.array([units(model, part).mean(axis=0) for part in query.target_sets])
    directions = means - means.mean(axis=0)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    cosines = np.array([units(model, part).mean(axis=0) for part in query.attribute_sets])
    # Away from the other two groups by half as much, equally.
    expected = 0.1 * (1.5 * np.eye(3) - 0.5)
    np.testing.assert_allclose(cosines @ directions.T, expected, atol=ROUNDING)


def test_surplus_attribute_sets_lean_to_no_group(query):
    words = load_weat()
    wider = Query(query.target_sets, [*query.attribute_sets, words["science"]])
    model = make(wider, 1)
    *leaning, neutral = wider.get_subqueries((2, 1))
    assert SAME().run_query(neutral, model)["result"] < ROUNDING
    assert min(SAME().run_query(part, model)["result"] for part in leaning) > 0.1


# What is zero at 0: queries, metric and parameters, and the largest distance.
EXACT = [(metric, {}) for metric in (*SINGLE_CONCEPT, WEAT, GeneralizedWEAT)]
EXACT += [
    (WEAT, {"return_effect_size": True}),
    (RND, {"distance": "cos"}),
    (RND, {"normalize": True}),
    (RIPA, {"relation": "pca"}),
]
EVEN_IF_UNEQUAL = [(metric, {}) for metric in (ECT, SAME, WEAT, GeneralizedWEAT)]
EVEN_IF_UNEQUAL += [(WEAT, {"return_effect_size": True}), (DirectBias, {"direction": "means"})]


@pytest.mark.parametrize(
    ("make_query", "metrics"),
    [(load_weat_queries, EXACT), (three_groups, EXACT), (unequal, EVEN_IF_UNEQUAL)],
)
def test_without_bias_metrics_say_so(make_query, metrics):
    query = make_query()
    query = query[5] if isinstance(query, list) else query
    model = make(query, 0, random_state=1)
    for metric, params in metrics:
        assert max(distances(metric, query, model, **params)) < 1e-10, metric
    if metrics is EXACT:
        assert max(distances(RNSB, query, model, holdout=False)) < 0.02
        assert all(0.05 < distance < 0.09 for distance in distances(MAC, query, model))
    else:  # the documented exception: the mean of more words is shorter
        assert min(distances(RND, query, model)) > 1e-3


SOUND = [WEAT, WEAT(return_effect_size=True), RNSB(holdout=False)]
SOUND += [RND, ECT, SAME, DirectBias, RIPA, GeneralizedWEAT, MAC]


@pytest.mark.parametrize(
    ("make_query", "metrics", "noise"),
    [*((lambda: load_weat_queries()[5], SOUND, noise) for noise in (0, 3)),
     (one_concept, SINGLE_CONCEPT, 0)],
)  # fmt: skip
def test_sound_metrics_follow_the_dial(make_query, metrics, noise):
    options = {"n_seeds": 3, "noise": noise, "dim": 100, "progress": False}
    table = dial_response(metrics, make_query(), **options)
    blind = table.index.intersection(["MAC"])
    correlation = table["rank_correlation"]
    assert np.isnan(correlation[blind]).all()
    assert (correlation.drop(blind) > 0.98).all()
    assert (np.ptp(table.loc[blind, [0.0, 1.0]], axis=1) < ROUNDING).all()
    # What is no score of a dial is its sign: an effect size is as large at once.
    assert (table[1.0] > 3 * table[0.1]).drop([*blind, "WEAT-ES"], errors="ignore").all()
    assert (table[0.0] < 1e-8).drop([*blind, "RNSB"], errors="ignore").all()


def test_dial_response_is_the_literal_loop(query):
    asked = {
        "ECT": ECT,
        "RND": "rnd",
        "RND (2)": RND(distance="cos"),
        "PMN": NeighborPercentage(k=20),
        "GS": GroupShare,
    }
    single = query.get_subqueries((2, 1))[0]
    options = {"n_words": 200, "dim": 40}
    table = dial_response(
        list(asked.values()), single, biases=[0.2, 0.9, 0.4], n_seeds=2, random_state=7, **options
    )
    assert list(table.columns) == [0.2, 0.9, 0.4, "rank_correlation", "note"]
    assert table.index.tolist() == list(asked)
    seeds = np.random.SeedSequence(7).generate_state(2).tolist()
    for (label, metric), bias in itertools.product(asked.items(), (0.2, 0.9, 0.4)):
        models = [make_biased_embeddings(single, bias, **options, random_state=s) for s in seeds]
        expected = np.mean([distances(partial(as_metric, metric), single, m) for m in models])
        assert table.loc[label, bias] == pytest.approx(expected, rel=1e-9)
    assert np.isnan(table.loc["GS", "rank_correlation"])


class GroupShare(BaseMetric):
    """A percentage, which is 100 / n where there is no bias."""

    metric_template = ("n", 1)
    metric_name = metric_short_name = "GS"

    def scale(self, query=None, **params):
        return Scale("GS", (0.0, 100.0), 100 / (2 if query is None else len(query.target_sets)))

    def _compute(self, targets, attributes):
        return 40.0


def test_dial_response_with_what_a_query_cannot_answer(caplog):
    table = dial_response(["weat", "same"], one_concept(), [0, 1], n_seeds=1)
    assert table.loc["WEAT", [0.0, 1.0]].isna().all()
    assert "no subquery" in table.loc["WEAT", "note"]
    assert table.loc["SAME", "note"] == ""
    caplog.clear()
    table = dial_response(RIPA, unequal(), [0, 1], n_seeds=1)
    assert "4 of 4 scores are NaN" in table.loc["RIPA", "note"]
    assert not caplog.records
    # No bias is another number for three groups.
    table = dial_response(GroupShare, three_groups(), biases=[0, 1], n_seeds=1, progress=False)
    assert table.loc["GS", [0, 1]].tolist() == pytest.approx([40 - 100 / 3] * 2)


def test_the_dial_leaves_everything_but_concept_words_as_it_is(query):
    low, same, high = make(query, 0), make(query, 0), make(query, 0.8)
    np.testing.assert_array_equal(low.vectors, same.vectors)
    assert list(low.vocab) == list(high.vocab)
    changed = (low.vectors != high.vectors).any(axis=1)
    concepts = {word for part in query.attribute_sets for word in part}
    assert {word for word, row in low.vocab.items() if changed[row]} == concepts
    lengths = (np.linalg.norm(model.vectors, axis=1) for model in (low, high))
    np.testing.assert_allclose(*lengths)
    assert list(make(query, 0, random_state=5).vocab) != list(low.vocab)


def test_the_vocabulary(query):
    model = make(query, 0.5, n_words=120)
    words = [word for part in query.target_sets + query.attribute_sets for word in part]
    assert len(model) == 120
    assert [word for word in model.vocab if word not in words] == [
        f"word{i:04d}" for i in range(1, 120 - len(words) + 1)
    ]
    rows = np.array([model.vocab[word] for word in words])
    assert rows.min() < 40
    assert rows.max() > 80
    pairs = zip(*query.target_sets, strict=True)
    assert all(abs(model.vocab[one] - model.vocab[other]) == 1 for one, other in pairs)
    assert set(make(query, 0.5, n_words=len(words)).vocab) == set(words)


def test_small_sets_and_repeated_words():
    repeated = Query([["she"], ["he"]], [["math", "math", "art"]])
    assert SAME().run_query(repeated, make(repeated, 0))["result"] < ROUNDING
    pair = Query([["she"], ["he"]], [["math"], ["art"]])
    result = WEAT().run_query(pair, make(pair, 0), return_effect_size=True)
    assert np.isnan(result["result"])
    assert abs(result["weat"]) < ROUNDING
    many = Query([[f"g{i}", f"h{i}"] for i in range(6)], [[f"c{i}", f"d{i}"] for i in range(6)])
    assert SAME().run_query(many.get_subqueries(("n", 1))[2], make(many, 0))["result"] < ROUNDING


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"bias": 1.5}, "bias"),
        ({"bias": float("nan")}, "bias"),
        ({"dim": 18}, "dim must be an integer of at least 20"),
        ({"n_words": 31}, "n_words must be an integer of at least 32"),
        ({"noise": float("inf")}, "noise"),
        ({"random_state": -1}, "random_state"),
        ({"query": Query([["she"], ["he"]], [["math", "art"], ["art"]])}, "'art'"),
        ({"query": Query([["she"]], [["art"]])}, "two or more target sets"),
    ],
)
def test_what_cannot_be_a_reference_model(query, params, message):
    with pytest.raises(ValueError, match=message):
        make_biased_embeddings(**{"query": query, "bias": 0.5, **params})


@pytest.mark.parametrize(
    ("metrics", "options", "error", "message"),
    [
        ("weat", {"biases": [0, 2]}, ValueError, r"biases\[1\]"),
        ("weat", {"biases": [0.5]}, ValueError, r"two or more different .* got list \[0.5\]"),
        ("weat", {"biases": [0, 1, 1]}, ValueError, "two or more different strengths"),
        ("weat", {"dims": 3}, TypeError, "'dims'"),
        ("weat", {"n_seeds": 0}, ValueError, "n_seeds"),
    ],
)
def test_errors_of_dial_response(query, metrics, options, error, message):
    with pytest.raises(error, match=message):
        dial_response(metrics, query, **options)
