"""Words left out or drawn anew: literal loops, theory, SciPy's BCa, and what has no interval."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
from lettered import ASKED, PAIRED, model_of, query_for, silhouette_of

import wefe._bootstrap
from wefe import Query, WordEmbeddingModel
from wefe.metrics import (
    MAC,
    RNSB,
    WEAT,
    BaseMetric,
    DirectBias,
    bias_subspace,
    indirect_bias,
    list_metrics,
)
from wefe.silhouette import bootstrap_interval, word_influence

N_BOOTSTRAP = 40
each_metric = pytest.mark.parametrize("metric", list_metrics(), ids=lambda m: m.metric_short_name)


def words_with_cosines(cosines):
    """Target words with these cosines with the attribute 'axis'."""
    cosines = np.asarray(cosines)
    words = [f"t{i}" for i in range(len(cosines))]
    vectors = np.column_stack([cosines, np.sqrt(1 - cosines**2)])
    model = WordEmbeddingModel(([*words, "axis"], np.vstack([vectors, [1.0, 0.0]])), "m")
    return model, Query([words], [["axis"]])


# Words left out


@each_metric
def test_influence_is_what_run_query_says_without_the_word(metric):
    name, model, query = metric.metric_short_name, model_of(), query_for(metric)
    params = {**metric.subset_params, **ASKED.get(name, {})}
    table = word_influence(metric, query, model, ASKED.get(name))
    full = metric().run_query(query, model, **params)["result"]
    assert table["score"][0] + table["influence"][0] == pytest.approx(full)
    n_words = sum(map(len, query.target_sets + query.attribute_sets))
    assert len(table) == n_words - 5 * (name in PAIRED)
    # liblinear, which run_query fits with, stops a little before the optimum.
    tolerance = {"abs": 2e-5} if name == "RNSB" else {"abs": 1e-12}
    for row in table.to_dict("records"):
        gone = row["word"].split("/")
        lists = [
            [[word for word in words if word not in gone] for words in sets]
            for sets in (query.target_sets, query.attribute_sets)
        ]
        without = metric().run_query(Query(*lists), model, **params)["result"]
        assert row["score"] == pytest.approx(without, **tolerance)
        assert row["influence"] == pytest.approx(full - without, **tolerance)
        assert row["nan_reason"] is None
    assert table["influence"].abs().max() > 0.01


def test_most_influential_word_comes_first_and_pairs_stay_together():
    query = query_for(DirectBias)
    table = word_influence(DirectBias, query, model_of())
    assert (np.diff(table["influence"].abs()) <= 0).all()
    assert set(table["word"]) == {f"a{i}/b{i}" for i in range(5)} | {f"c{i}" for i in range(6)}
    assert set(table.loc[table["word"].str.contains("/"), "set"]) == {"A/B"}
    assert len(word_influence(DirectBias, query, model_of(), {"direction": "means"})) == 16


def test_influences_on_a_mean_are_those_of_theory():
    """MAC with one attribute is a mean over n words: influence (value - mean) / (n - 1)."""
    cosines = np.array([0.9, 0.1, -0.3, 0.2])
    model, query = words_with_cosines(cosines)
    table = word_influence(MAC, query, model).set_index("word")
    assert table.index.tolist() == ["t0", "t2", "t1", "t3", "axis"]
    expected = ((1 - cosines) - (1 - cosines.mean())) / 3
    np.testing.assert_allclose(table["influence"].sort_index()[1:], expected)
    assert table.loc["axis", ["score", "influence"]].isna().all()
    assert table.loc["axis", "nan_reason"] == "its set has no other word"


def test_lost_words_have_no_row_and_parameters_are_passed_on():
    query = Query([["a0", "a1", "a2", "A3"], ["b0", "b1"]], [["c0", "c1"], ["d0", "d1"]])
    with pytest.raises(ValueError, match="cannot be answered"):
        word_influence(WEAT, query, model_of())
    lenient = {"lost_vocabulary_threshold": 0.5}
    assert "A3" not in word_influence(WEAT, query, model_of(), lenient)["word"].tolist()
    lower = {"preprocessors": [{"lowercase": True}], "return_effect_size": False}
    table = word_influence(WEAT, query, model_of(), lower)
    assert "a3" in table["word"].tolist()


def test_sufficient_size_of_a_worked_example():
    silhouette = silhouette_of(
        [[0.9, 0.6, 0.5], [0.45, 0.8, 0.5], [0.52, 0.5, 0.5], [0.5, 0.56, 0.5]]
    )
    assert silhouette.sufficient_size(0.5) == 2
    assert silhouette.sufficient_size(0.31) == 4
    assert silhouette.sufficient_size(0.2) is None
    # The second run is near at first, and leaves again: it does not count.
    assert silhouette.sufficient_size(0.07, coverage=0.5) == 2
    assert silhouette.sufficient_size(0.07, coverage=0.75) is None
    with pytest.raises(ValueError, match="tolerance"):
        silhouette.sufficient_size(-1)
    with pytest.raises(ValueError, match="coverage"):
        silhouette.sufficient_size(1, coverage=2)


# Words drawn anew


def normalized(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def analogies(x, y, a):
    """EQT with k=3, of all words of the model that are in no pair."""
    others = [v for v in model_of().vectors if not any((v == u).all() for u in (*x, *y))]
    hits = [
        ((normalized(np.array(others)) - word) @ (word - m + f) > 1e-9).sum() < 3
        for m, f in zip(normalized(x), normalized(y), strict=True)
        for word in normalized(a)
    ]
    return np.mean(hits)


def neighbors(x, y, a):
    """For each word: its row, and rows, indirect bias and side of its 4 nearest neighbours."""
    every = normalized(model_of().vectors)
    (direction,) = bias_subspace([x, y]).directions
    own, rows, betas, sides = [], [], [], []
    for word in normalized(a):
        cosines = every @ word
        nearest = np.argsort(-cosines)[:5]
        own.append(nearest[0])
        rows.append(nearest[1:])
        betas.append(indirect_bias(word, every[nearest[1:]], direction))
        sides.append(every[nearest[1:]] @ direction > 0)
    return np.array(own), np.array(rows), np.array(betas) > 0.05, np.array(sides)


def weighted_proximity(x, y, a):
    own, rows, biased, _ = neighbors(x, y, a)
    weights = []
    for word in own:
        incoming = biased[(rows == word) & (own != word)[:, None]]
        weights.append(1 + incoming.mean() if incoming.size else 1)
    return np.average(biased.mean(axis=1), weights=weights)


# Scores of targets x, y and neutral words that depend on the whole vocabulary.
OF_VOCABULARY = {
    "EQT": analogies,
    "GIPE": weighted_proximity,
    "PMN": lambda *sets: 100 * neighbors(*sets)[3].mean(),
    "Proximity Bias": lambda *sets: neighbors(*sets)[2].mean(),
}


def score_of(metric, query, sets):
    """Score of drawn vectors, which are words of their own."""
    if metric.metric_short_name in OF_VOCABULARY:
        return OF_VOCABULARY[metric.metric_short_name](*sets)
    n_targets = len(query.target_sets)
    params = {**metric.subset_params, **ASKED.get(metric.metric_short_name, {})}
    return metric().run_vectors(sets[:n_targets], sets[n_targets:], **params)["result"]


def drawn_rows(lengths, paired, seed, n=N_BOOTSTRAP):
    """Rows of each set in each resample, as documented: by seed and position of the set."""
    rows = [
        np.random.default_rng([seed, position]).integers(length, size=(n, length))
        for position, length in enumerate(lengths)
    ]
    if paired:
        rows[1] = rows[0]
    return rows


@each_metric
def test_samples_are_scores_of_words_drawn_anew(metric):
    name, model, query = metric.metric_short_name, model_of(), query_for(metric)
    sets = [model.get_vectors(words) for words in query.target_sets + query.attribute_sets]
    rows = drawn_rows([len(part) for part in sets], name in PAIRED, seed=3)
    expected = [
        score_of(metric, query, [part[own[case]] for part, own in zip(sets, rows, strict=True)])
        for case in range(N_BOOTSTRAP)
    ]
    options = {"method": "percentile", "metric_params": ASKED.get(name)}
    interval = bootstrap_interval(metric, query, model, N_BOOTSTRAP, random_state=3, **options)
    # An iterative solver may stop a little apart.
    tolerance = 1e-5 if name == "RNSB" else 1e-9
    np.testing.assert_allclose(interval.samples, expected, rtol=tolerance, atol=tolerance)
    assert interval.score == pytest.approx(score_of(metric, query, sets), rel=1e-5)
    assert (interval.lower, interval.upper) == pytest.approx(
        tuple(np.quantile(expected, [0.025, 0.975])), rel=1e-4
    )
    assert interval.standard_error == pytest.approx(np.std(expected, ddof=1), rel=1e-4)
    assert (interval.n_undefined, interval.nan_reason) == (0, None)


def test_standard_error_of_a_mean_is_that_of_theory():
    """MAC with one attribute is 1 - the mean cosine: its error is sd / sqrt(n)."""
    cosines = np.random.default_rng(1).normal(0.1, 0.2, size=50)
    model, query = words_with_cosines(cosines)
    interval = bootstrap_interval(MAC, query, model, 4000)
    theory = cosines.std() / math.sqrt(len(cosines))
    assert interval.standard_error == pytest.approx(theory, rel=0.05)
    assert interval.upper - interval.lower == pytest.approx(2 * 1.96 * theory, rel=0.05)
    wide = bootstrap_interval(MAC, query, model, 4000, confidence=0.99)
    assert wide.lower < interval.lower < interval.upper < wide.upper


def test_bca_is_that_of_scipy():
    model, query = model_of(4), query_for(WEAT)
    vectors = [model.get_vectors(words) for words in query.target_sets + query.attribute_sets]
    interval = bootstrap_interval(WEAT, query, model, 500, method="bca")

    def statistic(*rows):
        sets = [part[own.astype(int)] for part, own in zip(vectors, rows, strict=True)]
        return score_of(WEAT, query, sets)

    with np.errstate(all="ignore"):
        expected = scipy.stats.bootstrap(
            tuple(np.arange(len(part)) for part in vectors),
            statistic,
            n_resamples=0,
            vectorized=False,
            method="BCa",
            bootstrap_result=SimpleNamespace(bootstrap_distribution=interval.samples),
        ).confidence_interval
    assert (interval.lower, interval.upper) == pytest.approx((expected.low, expected.high))
    assert bootstrap_interval(WEAT, query, model, 500).lower != interval.lower


def test_seed_decides_and_n_jobs_and_blocks_do_not(monkeypatch):
    def samples(n=250, **options):
        return bootstrap_interval(WEAT, query_for(WEAT), model_of(), n, **options).samples

    seeded = samples(random_state=7)
    np.testing.assert_array_equal(samples(random_state=7, n_jobs=2), seeded)
    assert not np.array_equal(samples(), seeded)
    np.testing.assert_array_equal(samples(100, random_state=7), seeded[:100])
    monkeypatch.setattr(wefe._bootstrap, "_MOST_CASES", 7)
    np.testing.assert_allclose(samples(random_state=7), seeded, rtol=0, atol=1e-12)


def test_sets_of_one_word_have_no_interval():
    interval = bootstrap_interval(MAC, Query([["a0"], ["b0"]], [["c0"]]), model_of())
    assert interval.nan_reason == "no set to resample has two or more words"


def test_random_scores_are_refused_and_have_no_interval():
    model, query = model_of(), query_for(RNSB, (7, 7, 7, 7))
    # What draws other seeds each time, but the same ones in every run of this test.
    params = {"holdout": True, "random_state": np.random.default_rng(0)}
    interval = bootstrap_interval(RNSB, query, model, 40, metric_params=params)
    assert "measured again with the same words, RNSB gives another score" in interval.nan_reason
    with pytest.raises(ValueError, match="gives another score"):
        word_influence(RNSB, query, model, params)
    seeded = bootstrap_interval(RNSB, query, model, 40, metric_params={**params, "random_state": 0})
    assert seeded.lower < seeded.upper


class OfVectors(BaseMetric):
    """Any function of the target vectors."""

    metric_template = (1, 1)
    metric_name = metric_short_name = "OF"

    def __init__(self, function):
        self.function = function

    def _compute(self, targets, attributes):
        return self.function(targets[0].vectors)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: len(np.unique(x, axis=0)), "all resamples lie on one side of the score"),
        (lambda x: x.sum() if len(x) == 7 else math.nan, "bca needs the score without each word"),
    ],
)
def test_bca_says_what_it_lacks(function, text):
    query = Query([[f"a{i}" for i in range(7)]], [[f"c{i}" for i in range(7)]])
    interval = bootstrap_interval(OfVectors(function), query, model_of(), 50, method="bca")
    assert text in interval.nan_reason
    assert math.isnan(interval.upper)
    assert bootstrap_interval(OfVectors(function), query, model_of(), 50).nan_reason is None


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"n_bootstrap": 199, "confidence": 0.99}, ValueError, "n_bootstrap=200"),
        ({"n_bootstrap": 100.0}, TypeError, "n_bootstrap"),
        ({"confidence": 95}, ValueError, "confidence"),
        ({"method": "basic"}, ValueError, "method"),
        ({"random_state": -1}, ValueError, "random_state"),
        ({"query": Query([["a0"], ["b0"]], [["lost"], ["d0"]])}, ValueError, "cannot be answered"),
    ],
)
def test_wrong_arguments_say_what_is_wanted(change, error, text):
    arguments = {"metric": WEAT, "query": query_for(WEAT), "model": model_of(), **change}
    with pytest.raises(error, match=text):
        bootstrap_interval(**arguments)
