"""Bootstrap intervals: literal loops over resampled words, a known standard error, SciPy's BCa."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats

import wefe._bootstrap
from wefe import Query, WordEmbeddingModel
from wefe.metrics import (
    ECT,
    MAC,
    RNSB,
    WEAT,
    BaseMetric,
    _direct_bias,
    _direction,
    _ect,
    _eqt,
    _generalized_weat,
    _mac,
    _proximity,
    _ripa,
    _rnd,
    _rnsb,
    _same,
    _sc_weat,
    _weat,
    indirect_bias_from_cosines,
    list_metrics,
)
from wefe.silhouette import bootstrap_interval

N_BOOTSTRAP = 40
# Words of each set: two targets, two attributes.
SIZES = {"a": 5, "b": 5, "c": 6, "d": 4}


def model_of(seed=0, dim=6):
    words = [f"{letter}{i}" for letter in "abcd" for i in range(7)]
    vectors = np.random.default_rng(seed).normal(size=(len(words), dim)) + 0.3
    return WordEmbeddingModel.from_arrays(words, vectors, name=f"made {seed}")


def query_for(metric, sizes=SIZES):
    lists = [[f"{letter}{i}" for i in range(n)] for letter, n in sizes.items()]
    n_targets, n_attributes = (1 if n == 1 else 2 for n in metric.metric_template)
    return Query(lists[:n_targets], lists[2 : 2 + n_attributes])


def normalized(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def analogies(x, y, a):
    """EQT with k=3, of all words of the model that are in no pair."""
    others = [v for v in model_of().vectors if not any((v == u).all() for u in (*x, *y))]
    return _eqt.eqt(x, y, a, others, k=3)


def neighbors(x, y, a):
    """For each word: its row, and rows, indirect bias and side of its 4 nearest neighbours."""
    every = normalized(model_of().vectors)
    direction = _direction.bias_subspace([x, y], 1).directions[0]
    own, rows, betas, sides = [], [], [], []
    for word in normalized(a):
        cosines = every @ word
        nearest = np.argsort(-cosines)[:5]
        own.append(nearest[0])
        rows.append(nearest[1:])
        along = every[nearest[1:]] @ direction
        near = cosines[nearest[1:]]
        betas.append(
            [indirect_bias_from_cosines(near[i], [word @ direction], [along[i]]) for i in range(4)]
        )
        sides.append(along > 0)
    return own, rows, np.array(betas), np.array(sides)


# The score of arrays of vectors: targets x, y and attributes a, b.
SCORES = {
    "EQT": analogies,
    "GIPE": lambda *sets: _proximity.gipe(*neighbors(*sets)[:3])[0],
    "PMN": lambda *sets: 100 * neighbors(*sets)[3].mean(),
    "Proximity Bias": lambda *sets: (neighbors(*sets)[2] > 0.05).mean(),
    "SC-WEAT": _sc_weat.sc_weat,
    "WEAT": _weat.weat_effect_size,
    "MAC": lambda x, y, a, b: _mac.mac([x, y], [a, b]),
    "ECT": _ect.ect,
    "RND": lambda *sets: _rnd.rnd(*map(normalized, sets)),
    "RIPA": lambda *sets: _ripa.ripa(*map(normalized, sets)),
    "Direct Bias": lambda x, y, a: _direct_bias.direct_bias(
        a, _direction.bias_subspace([x, y], 1).directions
    ),
    "SAME": lambda x, y, a: _same.same(a, [x, y]),
    "GWEAT": lambda x, y, a, b: _generalized_weat.generalized_weat([x, y], [a, b]),
    "RNSB": lambda x, y, a, b: _rnsb.rnsb(
        _rnsb.negative_sentiment_probabilities(np.concatenate([x, y]), a, b)
    ),
}
# Of 28 words, the usual 100 neighbours would be all.
ASKED = {"EQT": {"k": 3}, "GIPE": {"k": 4}, "PMN": {"k": 4}, "Proximity Bias": {"k": 4}}
PAIRED = ("RIPA", "Direct Bias", *ASKED)


def drawn_rows(lengths, paired, seed, n=N_BOOTSTRAP):
    """Rows of each set in each resample, as documented: by seed and position of the set."""
    rows = [
        np.random.default_rng([seed, position]).integers(length, size=(n, length))
        for position, length in enumerate(lengths)
    ]
    if paired:
        rows[1] = rows[0]
    return rows


@pytest.mark.parametrize("metric", list_metrics(), ids=lambda m: m.metric_short_name)
def test_samples_are_scores_of_words_drawn_anew(metric):
    name, model, query = metric.metric_short_name, model_of(), query_for(metric)
    sets = [model.get_vectors(words) for words in query.target_sets + query.attribute_sets]
    rows = drawn_rows([len(part) for part in sets], name in PAIRED, seed=3)
    expected = [
        SCORES[name](*(part[own[case]] for part, own in zip(sets, rows, strict=True)))
        for case in range(N_BOOTSTRAP)
    ]
    options = {"method": "percentile", "metric_params": ASKED.get(name)}
    interval = bootstrap_interval(metric, query, model, N_BOOTSTRAP, random_state=3, **options)
    # An iterative solver may stop a little apart.
    tolerance = 1e-5 if name == "RNSB" else 1e-9
    np.testing.assert_allclose(interval.samples, expected, rtol=tolerance, atol=tolerance)
    assert interval.score == pytest.approx(SCORES[name](*sets), rel=1e-5)
    assert (interval.lower, interval.upper) == pytest.approx(
        tuple(np.quantile(expected, [0.025, 0.975])), rel=1e-4
    )
    assert interval.standard_error == pytest.approx(np.std(expected, ddof=1), rel=1e-4)
    assert interval.n_undefined == 0
    assert interval.nan_reason is None


@pytest.mark.parametrize(("sets", "drawn"), [("targets", (0, 1)), ("attributes", (2, 3))])
def test_sets_that_are_not_drawn_stay(sets, drawn):
    model, query = model_of(), query_for(WEAT)
    vectors = [model.get_vectors(words) for words in query.target_sets + query.attribute_sets]
    rows = drawn_rows([len(part) for part in vectors], paired=False, seed=0)
    expected = [
        _weat.weat_effect_size(
            *(part[rows[i][case]] if i in drawn else part for i, part in enumerate(vectors))
        )
        for case in range(N_BOOTSTRAP)
    ]
    interval = bootstrap_interval(WEAT, query, model, N_BOOTSTRAP, sets=sets)
    np.testing.assert_allclose(interval.samples, expected, atol=1e-12)


def words_with_cosines(cosines):
    """Target words with these cosines with the attribute 'axis'."""
    cosines = np.asarray(cosines)
    words = [f"t{i}" for i in range(len(cosines))]
    vectors = np.column_stack([cosines, np.sqrt(1 - cosines**2)])
    model = WordEmbeddingModel.from_arrays([*words, "axis"], np.vstack([vectors, [1.0, 0.0]]), "m")
    return model, Query([words], [["axis"]])


def test_standard_error_of_a_mean_is_that_of_theory():
    """MAC with one attribute is 1 - the mean cosine: its error is sd / sqrt(n)."""
    cosines = np.random.default_rng(1).normal(0.1, 0.2, size=50)
    model, query = words_with_cosines(cosines)
    interval = bootstrap_interval(MAC, query, model, 4000)
    assert interval.score == pytest.approx(1 - cosines.mean())
    theory = cosines.std() / math.sqrt(len(cosines))
    assert interval.standard_error == pytest.approx(theory, rel=0.05)
    assert interval.upper - interval.lower == pytest.approx(2 * 1.96 * theory, rel=0.05)
    wide = bootstrap_interval(MAC, query, model, 4000, confidence=0.99)
    assert wide.lower < interval.lower < interval.upper < wide.upper


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_hold_the_true_score_about_as_often_as_they_say(method):
    draws = np.random.default_rng(2).normal(0.1, 0.2, size=(300, 30)).clip(-1, 1)
    hits = 0
    for cosines in draws:
        model, query = words_with_cosines(cosines)
        interval = bootstrap_interval(MAC, query, model, 200, 0.9, method=method)
        hits += interval.lower <= 0.9 <= interval.upper
    # Of lists of 30, a bootstrap of 90 % holds about 88 %; 3 standard deviations are 5 %.
    assert 0.82 < hits / len(draws) < 0.94


def test_bca_is_that_of_scipy():
    model, query = model_of(4), query_for(WEAT)
    vectors = [model.get_vectors(words) for words in query.target_sets + query.attribute_sets]
    interval = bootstrap_interval(WEAT, query, model, 500, method="bca")

    def statistic(*rows):
        return _weat.weat_effect_size(
            *(part[own.astype(int)] for part, own in zip(vectors, rows, strict=True))
        )

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
    percentile = bootstrap_interval(WEAT, query, model, 500)
    np.testing.assert_array_equal(percentile.samples, interval.samples)
    assert percentile.lower != interval.lower


def test_seed_decides_and_n_jobs_and_blocks_do_not(monkeypatch):
    model, query = model_of(), query_for(WEAT)
    samples = bootstrap_interval(WEAT, query, model, 250, random_state=7).samples
    elsewhere = bootstrap_interval(WEAT, query, model, 250, random_state=7, n_jobs=2)
    np.testing.assert_array_equal(elsewhere.samples, samples)
    assert not np.array_equal(bootstrap_interval(WEAT, query, model, 250).samples, samples)
    fewer = bootstrap_interval(WEAT, query, model, 100, random_state=7)
    np.testing.assert_array_equal(fewer.samples, samples[:100])
    monkeypatch.setattr(wefe._bootstrap, "_MOST_CASES", 7)
    in_blocks = bootstrap_interval(WEAT, query, model, 250, random_state=7)
    np.testing.assert_allclose(in_blocks.samples, samples, rtol=0, atol=1e-12)
    generators = [np.random.default_rng(1), np.random.default_rng(1)]
    first, second = (
        bootstrap_interval(WEAT, query, model, 50, random_state=each) for each in generators
    )
    np.testing.assert_array_equal(first.samples, second.samples)


def test_pairs_stay_together():
    """Of parallel pairs, every resample has the same direction; of mixed words it has not."""
    base = np.random.default_rng(0).normal(size=(6, 4))
    base[:, 0] = 0
    step = np.array([1.0, 0, 0, 0])
    x, y = base + step, base - step
    attributes = np.random.default_rng(1).normal(size=(3, 4))
    words = [f"{letter}{i}" for letter in "xy" for i in range(6)] + ["a0", "a1", "a2"]
    model = WordEmbeddingModel.from_arrays(words, np.vstack([x, y, attributes]), "m")
    query = Query([words[:6], words[6:12]], [words[12:]])
    params = {"normalize": False}
    paired = bootstrap_interval("ripa", query, model, 50, sets="targets", metric_params=params)
    np.testing.assert_allclose(paired.samples, attributes[:, 0].mean(), atol=1e-12)
    unpaired = bootstrap_interval("rnd", query, model, 50, sets="targets", metric_params=params)
    assert unpaired.standard_error > 0.01


def test_undefined_resamples_are_counted():
    model = model_of()
    # Two attribute words are the same one in every second resample: no rank correlation then.
    two = Query([["a0", "a1"], ["b0", "b1"]], [["c0", "c1"]])
    interval = bootstrap_interval(ECT, two, model, 200)
    rows = drawn_rows([2, 2, 2], paired=False, seed=0, n=200)[2]
    same = rows[:, 0] == rows[:, 1]
    np.testing.assert_array_equal(np.isnan(interval.samples), same)
    assert interval.n_undefined == same.sum()
    assert math.isnan(interval.lower)
    assert math.isnan(interval.standard_error)
    assert f"{same.sum()} of 200 resamples have no score, more than 5%" in interval.nan_reason
    # Four are one word in every 64th: few enough to be left out.
    four = Query([["a0", "a1"], ["b0", "b1"]], [["c0", "c1", "c2", "c3"]])
    interval = bootstrap_interval(ECT, four, model, 1000)
    assert 0 < interval.n_undefined < 50
    assert interval.nan_reason is None
    defined = interval.samples[~np.isnan(interval.samples)]
    assert len(defined) == 1000 - interval.n_undefined
    assert interval.upper == pytest.approx(np.quantile(defined, 0.975))


def test_sets_of_one_word_have_no_interval():
    model = model_of()
    query = Query([["a0"], ["b0"]], [["c0", "c1"]])
    interval = bootstrap_interval(MAC, query, model, sets="targets")
    assert interval.nan_reason == "no set to resample has two or more words"
    assert len(interval.samples) == 0
    assert bootstrap_interval(MAC, query, model).nan_reason is None


def test_random_score_has_no_interval():
    model, query = model_of(), query_for(RNSB, dict.fromkeys("abcd", 7))
    # What draws other seeds each time, but the same ones in every run of this test.
    params = {"holdout": True, "random_state": np.random.default_rng(0)}
    interval = bootstrap_interval(RNSB, query, model, 40, metric_params=params)
    assert "measured again with the same words, RNSB gives another score" in interval.nan_reason
    assert math.isnan(interval.lower)
    seeded = bootstrap_interval(RNSB, query, model, 40, metric_params={**params, "random_state": 0})
    assert seeded.nan_reason is None
    assert seeded.lower < seeded.upper


class Whole(BaseMetric):
    metric_template = (1, 1)
    metric_name = "Metric with a run_query of its own"
    metric_short_name = "WHOLE"

    def run_query(self, query, model, **lookup):
        return {"query_name": query.query_name, "result": float(len(query.target_sets[0]))}


def test_metric_that_cannot_repeat_words_has_no_interval():
    interval = bootstrap_interval(Whole, Query([["a0", "a1"]], [["c0", "c1"]]), model_of())
    assert interval.score == 2
    assert "Whole has its own run_query" in interval.nan_reason
    assert "its own run_query" in repr(interval)


class OfVectors(BaseMetric):
    """Any function of the target vectors."""

    metric_template = (1, 1)
    metric_name = "Function of the target vectors"
    metric_short_name = "OF"

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
    assert interval.standard_error > 0
    assert bootstrap_interval(OfVectors(function), query, model_of(), 50).nan_reason is None


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"n_bootstrap": 39}, ValueError, "needs n_bootstrap=40 or more"),
        ({"n_bootstrap": 199, "confidence": 0.99}, ValueError, "n_bootstrap=200"),
        ({"n_bootstrap": 100.0}, TypeError, "n_bootstrap must be an integer"),
        ({"confidence": 1}, ValueError, "confidence must be between 0 and 1"),
        ({"confidence": 95}, ValueError, "confidence"),
        ({"sets": "target"}, ValueError, "Did you mean 'targets'"),
        ({"method": "basic"}, ValueError, "method must be one of"),
        ({"random_state": -1}, ValueError, "random_state"),
        ({"query": Query([["a0"], ["b0"]], [["lost"], ["d0"]])}, ValueError, "cannot be answered"),
    ],
)
def test_wrong_arguments_say_what_is_wanted(change, error, text):
    arguments = {"metric": WEAT, "query": query_for(WEAT), "model": model_of(), **change}
    with pytest.raises(error, match=text):
        bootstrap_interval(**arguments)
