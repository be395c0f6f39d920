"""The bias of words and statistics of the world."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from wefe import WordEmbeddingModel
from wefe.datasets import Criterion
from wefe.explore import bias_directions
from wefe.explore._statistics import correlate_with_statistic
from wefe.metrics import SCWEAT
from wefe.plotting import plot_statistic

GENDER = Criterion("gender", [("she", "he"), ("woman", "man")], class_names=("female", "male"))
WOMEN = {"home": 0.9, "kids": 0.8, "boss": 0.1, "job": 0.3, "nurse": 0.7, "pilot": 0.2, "tree": 0.5}


@pytest.mark.parametrize(
    ("measure", "expected"),
    [("projection", [0.517465, -0.497935, 0.124241]), ("sc-weat", [1.976629, -1.957555, 1.233936])],
)
def test_biases_are_those_of_the_worked_example(toy_model, measure, expected):
    found = correlate_with_statistic(toy_model, WOMEN, GENDER, measure=measure)
    bias = found.words.set_index("word")["bias"]
    assert bias[["nurse", "pilot", "tree"]].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("measure", ["projection", "sc-weat"])
def test_correlations_and_line_agree_with_scipy(toy_model, measure):
    found = correlate_with_statistic(toy_model, WOMEN | {"kids": 0.9}, GENDER, measure=measure)
    x, y = found.words["statistic"].tolist(), found.words["bias"].tolist()
    line = stats.linregress(x, y)
    assert (found.slope.value, found.intercept) == pytest.approx((line.slope, line.intercept))
    for ours, theirs in (
        (found.pearson, stats.pearsonr(x, y)),
        (found.spearman, stats.spearmanr(x, y)),
    ):
        assert (ours.value, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    other = correlate_with_statistic(toy_model, WOMEN, GENDER, measure=measure, group="male")
    first = correlate_with_statistic(toy_model, WOMEN, GENDER, measure=measure, group="female")
    assert other.pearson.value == pytest.approx(-first.pearson.value)


def test_intervals_are_those_of_scipy():
    generator = np.random.default_rng(3)
    x = generator.normal(size=40)
    y = x + generator.normal(size=40)
    words = [f"w{i}" for i in range(40)]
    vectors = np.column_stack([np.r_[1, -1, y], np.r_[0, 0, np.sqrt(100 - y**2)]])
    model = WordEmbeddingModel((["a", "b", *words], vectors), name="line")
    statistic = dict(zip(words, x, strict=True))
    found = correlate_with_statistic(model, statistic, [("a", "b")], n_bootstrap=20_000)
    # Vectors have the length 10, so the cosines are tenths of y.
    assert found.words["bias"].to_numpy() == pytest.approx(y / 10)
    interval = stats.bootstrap(
        (x, y),
        lambda x, y: np.corrcoef(x, y)[0, 1],
        paired=True,
        vectorized=False,
        n_resamples=9_999,
    ).confidence_interval
    assert (found.pearson.lower, found.pearson.upper) == pytest.approx(interval, abs=0.02)
    assert found.slope.lower < found.slope.value < found.slope.upper


def test_words_that_are_lost_or_have_no_number_are_left_out_and_named(toy_model, caplog):
    statistic = pd.Series(WOMEN | {"unicorn": 0.4, "they": math.nan}, name="share of women")
    found = correlate_with_statistic(toy_model, statistic, GENDER)
    plain = correlate_with_statistic(toy_model, WOMEN, GENDER)
    assert (found.lost, found.without_number, found.n) == (("unicorn",), ("they",), 7)
    assert found.pearson == plain.pearson
    assert "1 of 8 words" in caplog.text
    assert "share of women: no number, left out: they" in caplog.text
    text = plot_statistic(found).to_json()
    for part in (f"r = {found.pearson.value:.2f}", "7 words", "unicorn"):
        assert part in text


def test_a_statistic_that_hardly_varies_or_never_has_no_interval_and_a_reason(toy_model):
    found = correlate_with_statistic(toy_model, dict.fromkeys(WOMEN, 0.5), GENDER)
    assert math.isnan(found.pearson.value)
    assert "the statistic of all words is the same" in found.nan_reason
    assert [trace.name for trace in plot_statistic(found).data] == ["words"]
    found = correlate_with_statistic(toy_model, dict.fromkeys(WOMEN, 0.5) | {"boss": 0.1}, GENDER)
    assert found.pearson.value > 0
    assert math.isnan(found.pearson.lower)
    assert "too few words differ" in found.nan_reason
    assert found.band is None


def test_the_band_is_around_the_line(toy_model):
    found = correlate_with_statistic(toy_model, WOMEN, GENDER)
    x = found.band["statistic"]
    assert (x.min(), x.max()) == pytest.approx((0.1, 0.9))
    np.testing.assert_allclose(found.band["fit"], found.slope.value * x + found.intercept)
    assert found.band["low"].lt(found.band["fit"]).all()
    assert found.band["high"].gt(found.band["fit"]).all()


def test_of_three_groups_the_one_named_counts(toy_model):
    triples = [("she", "he", "they"), ("woman", "man", "folk")]
    found = correlate_with_statistic(toy_model, WOMEN, triples, group="they")
    directions = bias_directions(toy_model, triples)
    vectors = toy_model.get_vectors(list(found.words["word"]))
    assert found.words["bias"].tolist() == pytest.approx(directions.cosines(vectors)[:, 2])
    sizes = correlate_with_statistic(toy_model, WOMEN, triples, group="they", measure="sc-weat")
    own, others = (
        toy_model.get_vectors(words) for words in (["they", "folk"], ["she", "woman", "he", "man"])
    )
    by_word = SCWEAT().run_vectors([vectors], [own, others])["effect_sizes"]
    assert sizes.words["bias"].tolist() == pytest.approx(list(by_word.values()))
