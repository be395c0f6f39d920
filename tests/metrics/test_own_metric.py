"""A metric is one class: what else there is to have of a metric comes from its declaration."""

import json
import math

import numpy as np
import pytest
from command_line import wefe
from pydantic import ValidationError

from wefe import Query, WordEmbeddingModel
from wefe.metrics import BaseMetric, get_metric, register
from wefe.silhouette import bootstrap_interval, word_influence
from wefe.study._entries import check_metric_params


class Nearness(BaseMetric):
    """How much nearer the first target set is to the attribute words."""

    metric_template = (2, 1)
    metric_name = "Nearness"
    metric_short_name = "NEAR"
    value_range = (-2.0, 2.0)
    question = "which target set is nearer to the attribute words?"

    offset: float = 0.0

    def _scores(self, targets, attributes):
        (x, y), (a,) = targets, attributes
        return x.mean(a.mean_cosine(x)) - y.mean(a.mean_cosine(y)) + self.offset


class Literally(BaseMetric):
    """The same, for one case and word by word."""

    metric_template = (2, 1)
    metric_name = "Nearness, literally"
    metric_short_name = "LIT"
    value_range = (-2.0, 2.0)

    offset: float = 0.0

    def _compute(self, targets, attributes):
        return by_hand(*(part.vectors for part in (*targets, *attributes))) + self.offset


def by_hand(x, y, a):
    def cosine(u, v):
        return u @ v / math.sqrt((u @ u) * (v @ v))

    nearness = [np.mean([cosine(u, v) for u in words for v in a]) for words in (x, y)]
    return float(nearness[0] - nearness[1])


SETS = [["f0", "f1", "f2", "f3"], ["m0", "m1", "m2", "m3", "m4"], ["a0", "a1", "a2"]]
QUERY = Query(SETS[:2], SETS[2:], ["F", "M"], ["A"])
PARAMS = {"offset": 0.5}


def model_of(seed):
    words = [word for part in SETS for word in part]
    vectors = np.random.default_rng(seed).normal(0.3, 1, (len(words), 6))
    return WordEmbeddingModel((words, vectors), f"model {seed}")


def expected(model, sets=SETS):
    return by_hand(*(model.get_vectors(part) for part in sets))


def test_interval_is_that_of_literal_resamples():
    model = model_of(0)
    interval, literal = (
        bootstrap_interval(metric, QUERY, model, 100, random_state=1, metric_params=PARAMS)
        for metric in (Nearness, Literally)
    )
    assert interval.score == pytest.approx(expected(model) + 0.5)
    assert interval.lower < interval.score < interval.upper
    ends = (literal.lower, literal.upper)
    assert (interval.lower, interval.upper) == pytest.approx(ends, rel=1e-9)


def test_influence_of_a_word_is_the_score_without_it():
    model = model_of(0)
    table = word_influence(Nearness, QUERY, model).set_index("word")
    assert set(table.index) == {word for part in SETS for word in part}
    for word, score in table["score"].items():
        without = [[each for each in part if each != word] for part in SETS]
        assert score == pytest.approx(expected(model, without))


@pytest.mark.usefixtures("registry")
def test_registered_metric_is_one_of_studies_and_of_the_command_line():
    register(Nearness)
    assert get_metric("near") is Nearness
    check_metric_params("near", {"offset": 1})
    for params in ({"offset": "far"}, {"offsets": 1}):
        with pytest.raises(ValidationError, match="offset"):
            check_metric_params("near", params)
    options = ["--model", "demo", "--queries", "gender", "--offline", "--format", "json"]
    results = [
        json.loads(wefe("measure", *options, "--metric", "near", *more).stdout)["results"]
        for more in ([], ["--param", "near.offset=1"])
    ]
    plain, moved = ([row["score"] for row in rows] for rows in results)
    assert len(plain) > 0
    assert moved == pytest.approx([score + 1 for score in plain])
