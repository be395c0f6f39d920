"""Reference models: what is exactly zero, what follows the dial, and how real they look."""

import itertools

import numpy as np
import pytest

from wefe import Query, load_test_model
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
from wefe.metrics._base import Scale
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


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make_query", [lambda: load_weat_queries()[5], three_groups])
def test_without_bias_metrics_say_so(make_query, seed):
    query = make_query()
    model = make(query, 0, random_state=seed)
    exact = [(metric, {}) for metric in [*SINGLE_CONCEPT, WEAT, GeneralizedWEAT]]
    exact += [(WEAT, {"return_effect_size": True}), (RND, {"distance": "cos"})]
    exact += [(RND, {"normalize": True}), (RIPA, {"relation": "pca"})]
    for metric, params in exact:
        assert max(distances(metric, query, model, **params)) < 1e-10, metric
    assert max(distances(RNSB, query, model, holdout=False)) < 0.02
    assert all(0.05 < distance < 0.09 for distance in distances(MAC, query, model))


def test_without_bias_and_with_sets_of_different_sizes():
    query = unequal()
    model = make(query, 0)
    for metric, params in [
        (WEAT, {}),
        (WEAT, {"return_effect_size": True}),
        (ECT, {}),
        (SAME, {}),
        (GeneralizedWEAT, {}),
        (DirectBias, {"direction": "means"}),
    ]:
        assert max(distances(metric, query, model, **params)) < 1e-10, metric
    # The documented exception: the mean of more words is shorter.
    assert min(distances(RND, query, model)) > 1e-3


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


@pytest.mark.parametrize("noise", [0, 1, 3])
def test_sound_metrics_follow_the_dial(query, noise):
    metrics = [WEAT, (WEAT, {"return_effect_size": True}), (RNSB, {"holdout": False})]
    metrics += [RND, ECT, SAME, DirectBias, RIPA, GeneralizedWEAT, MAC]
    table = dial_response(metrics, query, n_seeds=3, noise=noise, dim=100, progress=False)
    assert table.index.tolist()[:3] == ["WEAT", "WEAT-ES", "RNSB"]
    correlation = table["rank_correlation"]
    assert (correlation.drop(["MAC", "ECT"]) > 1 - 1e-9).all()
    assert correlation["ECT"] > 0.98
    assert np.isnan(correlation["MAC"])
    assert (table[1.0] > 3 * table[0.1]).drop(["MAC", "WEAT-ES"]).all()
    assert table.loc["WEAT-ES", 1.0] > 1.9 > 1e-8 > table.loc["WEAT-ES", 0.0]
    assert np.ptp(table.loc["MAC", [0.0, 1.0]]) < ROUNDING
    assert table.loc["ECT", "note"] == "mean over 2 subqueries"
    assert table.loc["WEAT", "note"] == ""


def test_a_single_attribute_set_moves_means_and_ranks(query):
    single = query.get_subqueries((2, 1))[0]
    table = dial_response(SINGLE_CONCEPT, single, n_seeds=3, progress=False)
    assert (table[0.0] < 1e-10).all()
    assert (table["rank_correlation"] > 0.98).all()
    assert table.loc["ECT", 1.0] > 1  # the groups rank the words in nearly opposite order
    # To the first group on average.
    model = make(single, 1)
    assert RND().run_query(single, model, distance="cos")["result"] > 0.1
    assert RIPA().run_query(single, model)["result"] > 0.1


def test_surplus_attribute_sets_lean_to_no_group(query):
    words = load_weat()
    wider = Query(query.target_sets, [*query.attribute_sets, words["science"]])
    model = make(wider, 1)
    *leaning, neutral = wider.get_subqueries((2, 1))
    assert SAME().run_query(neutral, model)["result"] < ROUNDING
    assert min(SAME().run_query(part, model)["result"] for part in leaning) > 0.1


def test_dial_response_is_the_literal_loop(query):
    seeds = np.random.SeedSequence(7).generate_state(2)
    table = dial_response(
        [ECT, (RND, {"distance": "cos"})],
        query,
        biases=[0.2, 0.9, 0.4],
        n_seeds=2,
        random_state=7,
        dim=40,
        n_words=200,
    )
    for label, metric, params in [("ECT", ECT, {}), ("RND", RND, {"distance": "cos"})]:
        for bias in (0.2, 0.9, 0.4):
            models = [
                make_biased_embeddings(query, bias, 200, 40, random_state=int(seed))
                for seed in seeds
            ]
            expected = np.mean([distances(metric, query, model, **params) for model in models])
            assert table.loc[label, bias] == pytest.approx(expected, rel=1e-9)
    assert list(table.columns) == [0.2, 0.9, 0.4, "rank_correlation", "note"]


def test_dial_response_with_what_a_query_cannot_answer(query, caplog):
    single = query.get_subqueries((2, 1))[0]
    table = dial_response(["weat", "same"], single, [0, 1], n_seeds=1)
    assert table.loc["WEAT", [0.0, 1.0]].isna().all()
    assert "no subquery" in table.loc["WEAT", "note"]
    assert table.loc["SAME", "note"] == ""
    caplog.clear()
    table = dial_response(RIPA, unequal(), [0, 1], n_seeds=1)
    assert "4 of 4 scores are NaN" in table.loc["RIPA", "note"]
    assert not caplog.records
    assert np.isnan(table.loc["RIPA", "rank_correlation"])


def test_dial_response_takes_foreign_metrics_and_tells_equal_names_apart(query):
    class Mine(BaseMetric):
        metric_template = (2, 2)
        metric_name = "Mine"
        metric_short_name = "M"

        def _compute(self, targets, attributes):
            return 1.0

    table = dial_response(
        (Mine(), RND, (RND, {"distance": "cos"}), "same"), query, [0, 1], n_seeds=1
    )
    assert table.index.tolist() == ["M", "RND", "RND (distance=cos)", "SAME"]
    assert np.isnan(table.loc["M", "rank_correlation"])
    assert table.loc["M", 1.0] == 1.0
    one = dial_response(("rnd", {"distance": "cos"}), query, [0, 1], n_seeds=1)
    assert one.loc["RND"].tolist() == table.loc["RND (distance=cos)"].tolist()


def test_same_seed_same_model(query):
    first, second = make(query, 0.3, random_state=4), make(query, 0.3, random_state=4)
    assert list(first.vocab) == list(second.vocab)
    np.testing.assert_array_equal(first.vectors, second.vectors)
    other = make(query, 0.3, random_state=5)
    assert list(other.vocab) != list(first.vocab)
    generators = [make(query, 0.3, random_state=np.random.default_rng(1)) for _ in range(2)]
    np.testing.assert_array_equal(generators[0].vectors, generators[1].vectors)
    fresh = [make(query, 0.3, random_state=None).vectors for _ in range(2)]
    assert not np.array_equal(*fresh)


def test_the_dial_leaves_everything_but_concept_words_as_it_is(query):
    low, high = make(query, 0), make(query, 0.8)
    assert list(low.vocab) == list(high.vocab)
    concepts = {word for part in query.attribute_sets for word in part}
    changed = {
        word
        for word, row in low.vocab.items()
        if not np.array_equal(low.vectors[row], high.vectors[row])
    }
    assert changed == concepts
    np.testing.assert_allclose(
        np.linalg.norm(low.vectors, axis=1), np.linalg.norm(high.vectors, axis=1)
    )


def test_the_vocabulary(query):
    model = make(query, 0.5, n_words=120)
    words = [word for part in query.target_sets + query.attribute_sets for word in part]
    assert len(model) == 120
    assert set(words) <= set(model.vocab)
    fillers = [word for word in model.vocab if word not in words]
    assert fillers == [f"word{i:04d}" for i in range(1, 120 - len(words) + 1)]
    assert model.vectors.dtype == np.float64
    assert model.name == "bias 0.5"
    rows = np.array([model.vocab[word] for word in words])
    assert rows.min() < 40
    assert rows.max() > 80
    pairs = zip(*query.target_sets, strict=True)
    assert all(abs(model.vocab[one] - model.vocab[other]) == 1 for one, other in pairs)
    smallest = make(query, 0.5, n_words=len(words), name="mine")
    assert set(smallest.vocab) == set(words)
    assert smallest.name == "mine"


def test_fillers_do_not_take_the_names_of_words_of_the_query():
    query = Query([["word0001"], ["he"]], [["word0002", "math"]])
    model = make(query, 0.5, n_words=10)
    assert len(model) == 10
    assert "_word0001" in model


def nearest(unit_vectors, rows):
    cosines = unit_vectors[rows] @ unit_vectors.T
    cosines[np.arange(len(rows)), rows] = -1
    ranked = -np.sort(-cosines, axis=1)
    return np.median(ranked[:, 0]), np.median(ranked[:, 9])


def test_it_looks_like_a_real_embedding(query):
    model = make_biased_embeddings(query, 0.5)
    lengths = np.linalg.norm(model.vectors, axis=1)
    # Log-normal: no skew of the logarithm, and not without spread.
    logs = np.log(lengths)
    assert 0.2 < logs.std() < 0.3
    assert abs(((logs - logs.mean()) ** 3).mean()) / logs.std() ** 3 < 0.1
    ranks = np.log(np.arange(1, len(model) + 1))
    assert 0.1 < np.corrcoef(ranks, logs)[0, 1] < 0.3
    unit_vectors = model.vectors / lengths[:, None]
    assert 0.2 < np.linalg.norm(unit_vectors.mean(axis=0)) < 0.3
    sample = np.random.default_rng(0).choice(len(model), 300, replace=False)
    # word2vec's Google News vectors: mean 0.07, standard deviation 0.08.
    cosines = unit_vectors[sample] @ unit_vectors[sample].T
    others = cosines[~np.eye(300, dtype=bool)]
    assert 0.05 < others.mean() < 0.09
    assert 0.06 < others.std() < 0.1
    # Neighbours as near as in the packaged vectors (0.73, 0.43) and in word2vec's (0.65, 0.45).
    packaged = load_test_model().vectors
    packaged = packaged / np.linalg.norm(packaged, axis=1, keepdims=True)
    for ours, real in zip(
        nearest(unit_vectors, sample), nearest(packaged, np.arange(0, 9000, 30)), strict=True
    ):
        assert abs(ours - real) < 0.15
    words = [word for part in query.target_sets + query.attribute_sets for word in part]
    assert nearest(unit_vectors, np.array([model.vocab[word] for word in words]))[1] > 0.25
    for part in query.target_sets + query.attribute_sets:
        of_set = units(model, part)
        within = (of_set @ of_set.T)[~np.eye(len(part), dtype=bool)].mean()
        assert 0.2 < within < 0.5
    # Frequency has a direction: it can be read off the vectors.
    half = len(model) // 2
    frequency = unit_vectors[:half].mean(axis=0) - unit_vectors[half:].mean(axis=0)
    assert abs(np.corrcoef(unit_vectors @ frequency, ranks)[0, 1]) > 0.5


def test_small_sets_and_repeated_words():
    query = Query([["she"], ["he"]], [["math", "math", "art"]])
    model = make(query, 0)
    assert SAME().run_query(query, model)["result"] < ROUNDING
    pair = Query([["she"], ["he"]], [["math"], ["art"]])
    result = WEAT().run_query(pair, make(pair, 0), return_effect_size=True)
    assert np.isnan(result["result"])
    assert abs(result["weat"]) < ROUNDING
    one_and_two = Query([["she", "her"], ["he"]], [["math"], ["art", "poetry", "dance"]])
    assert abs(WEAT().run_query(one_and_two, make(one_and_two, 0))["weat"]) < ROUNDING
    many = Query([[f"g{i}", f"h{i}"] for i in range(6)], [[f"c{i}", f"d{i}"] for i in range(6)])
    assert SAME().run_query(many.get_subqueries(("n", 1))[2], make(many, 0))["result"] < ROUNDING


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"bias": 1.5}, "bias is a share between 0 and 1; got 1.5"),
        ({"bias": float("nan")}, "bias is a share"),
        ({"dim": 18}, "dim must be at least 20.*got 18"),
        ({"n_words": 31}, "n_words must be at least 32.*got 31"),
        ({"noise": -1}, "noise must be a finite number of at least 0"),
        ({"noise": float("inf")}, "noise must be a finite number of at least 0"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_values_out_of_range(query, params, message):
    with pytest.raises(ValueError, match=message):
        make_biased_embeddings(**{"query": query, "bias": 0.5, **params})


def test_queries_that_cannot_have_a_reference_model():
    with pytest.raises(ValueError, match="share words; .*: art"):
        make(Query([["she"], ["he"]], [["math", "art"], ["art"]]), 0.5)
    with pytest.raises(ValueError, match="two or more target sets"):
        make(Query([["she"]], [["art"]]), 0.5)
    with pytest.raises(ValueError, match="two or more target sets"):
        make(Query([["she"], ["he"]], []), 0.5)


def test_errors_of_dial_response(query):
    with pytest.raises(ValueError, match="two or more different"):
        dial_response("weat", query, [0.5])
    with pytest.raises(ValueError, match="two or more different"):
        dial_response("weat", query, [0.5, 0.5])
    with pytest.raises(ValueError, match=r"biases\[1\] is a share"):
        dial_response("weat", query, [0, 2])
    with pytest.raises(ValueError, match="metrics is empty"):
        dial_response([], query)
    with pytest.raises(TypeError, match="int"):
        dial_response([("weat", 3)], query)
    with pytest.raises(ValueError, match="unknown option 'dims'"):
        dial_response("weat", query, dims=3)
    with pytest.raises(ValueError, match="n_seeds"):
        dial_response("weat", query, n_seeds=0)


def test_metrics_of_neighbours_see_whole_models():
    query = Query(
        [["she", "her", "woman"], ["he", "him", "man"]],
        [["poetry", "dance", "art", "novel"]],
    )
    table = dial_response(
        ["pmn", "weat"], query, biases=[0, 1], n_seeds=2, n_words=600, dim=60, progress=False
    )
    seeds = _seeds(2)
    for bias in (0, 1):
        distances = []
        for seed in seeds:
            model = make_biased_embeddings(query, bias, 600, 60, random_state=seed)
            score = NeighborPercentage().run_query(query, model)["result"]
            # Half of the neighbours lean to the first of two groups by chance.
            distances.append(abs(score - 50))
        assert table.loc["PMN", bias] == pytest.approx(np.mean(distances))
    assert table.loc["PMN", "note"] == ""
    assert table.loc["WEAT", [0, 1]].isna().all()


class GroupShare(BaseMetric):
    """A percentage, which is 100 / n where there is no bias."""

    metric_template = ("n", 1)
    metric_name = metric_short_name = "GS"

    def scale(self, query=None, **params):
        return Scale("GS", (0.0, 100.0), 100 / (2 if query is None else len(query.target_sets)))

    def _compute(self, targets, attributes):
        return 40.0


def test_distances_are_from_what_means_no_bias_in_each_query():
    query = Query([["she"], ["he"], ["they"]], [["art"]])
    table = dial_response(GroupShare, query, biases=[0, 1], n_seeds=1, progress=False)
    assert table.loc["GS", [0, 1]].tolist() == pytest.approx([40 - 100 / 3] * 2)


def _seeds(n):
    return np.random.SeedSequence(0).generate_state(n).tolist()
