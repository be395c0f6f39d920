"""Words left out one at a time, and the number of words that is enough."""

import math

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel
from wefe.metrics import ECT, MAC, RNSB, WEAT, BaseMetric, DirectBias, list_metrics
from wefe.silhouette import Silhouette, word_influence


def model_of(seed=0, dim=6):
    words = [f"{letter}{i}" for letter in "abcd" for i in range(7)]
    vectors = np.random.default_rng(seed).normal(size=(len(words), dim)) + 0.3
    return WordEmbeddingModel.from_arrays(words, vectors, name=f"made {seed}")


def query_for(metric, n_words=5):
    n_targets, n_attributes = (1 if n == 1 else 2 for n in metric.metric_template)
    lists = [[f"{letter}{i}" for i in range(n_words)] for letter in "abcd"]
    names = ["A", "B"][:n_targets], ["C", "D"][:n_attributes]
    return Query(lists[:n_targets], lists[2 : 2 + n_attributes], *names)


# As in silhouettes: scores that can be compared between subsets.
PARAMS = {
    "WEAT": {"return_effect_size": True},
    "RND": {"normalize": True},
    "RIPA": {"normalize": True},
    "RNSB": {"holdout": False},
}
# As the metrics of whole vocabularies are asked; of 28 words, 100 neighbours would be all.
ASKED = {"EQT": {"k": 3}, "GIPE": {"k": 4}, "PMN": {"k": 4}, "Proximity Bias": {"k": 4}}
PAIRED = ("RIPA", "Direct Bias", *ASKED)


@pytest.mark.parametrize("metric", list_metrics(), ids=lambda m: m.metric_short_name)
def test_influence_is_what_run_query_says_without_the_word(metric):
    name, model, query = metric.metric_short_name, model_of(), query_for(metric)
    params = {**PARAMS.get(name, {}), **ASKED.get(name, {})}
    table = word_influence(metric, query, model, ASKED.get(name))
    full = metric().run_query(query, model, **params)["result"]
    assert table.attrs["score"] == pytest.approx(full)
    n_sets = len(query.target_sets) + len(query.attribute_sets)
    assert len(table) == 5 * (n_sets - (name in PAIRED))
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
    table = word_influence(DirectBias, query_for(DirectBias), model_of())
    assert list(table.columns) == ["set", "word", "score", "influence", "nan_reason"]
    sizes = table["influence"].abs().to_numpy()
    assert (np.diff(sizes) <= 0).all()
    assert sizes[0] > sizes[-1]
    assert set(table["word"]) == {f"a{i}/b{i}" for i in range(5)} | {f"c{i}" for i in range(5)}
    assert set(table.loc[table["word"].str.contains("/"), "set"]) == {"A/B"}
    unpaired = word_influence(DirectBias, query_for(DirectBias), model_of(), {"direction": "means"})
    assert len(unpaired) == 15
    assert table.attrs == {
        "metric": "Direct Bias",
        "query_name": query_for(DirectBias).query_name,
        "model_name": "made 0",
        "score": table.attrs["score"],
    }


def test_influences_on_a_mean_are_those_of_theory():
    """MAC with one attribute is a mean over n words: influence (value - mean) / (n - 1)."""
    cosines = np.array([0.9, 0.1, -0.3, 0.2])
    vectors = np.column_stack([cosines, np.sqrt(1 - cosines**2)])
    words = ["p", "q", "r", "s"]
    model = WordEmbeddingModel.from_arrays([*words, "axis"], np.vstack([vectors, [1, 0]]), "m")
    table = word_influence(MAC, Query([words], [["axis"]]), model)
    values = dict(zip(words, 1 - cosines, strict=True))
    of_words = table[table["word"] != "axis"]
    assert of_words["word"].tolist() == ["p", "r", "q", "s"]
    for row in of_words.to_dict("records"):
        expected = (values[row["word"]] - (1 - cosines.mean())) / 3
        assert row["influence"] == pytest.approx(expected)
    last = table.iloc[-1]
    assert last["word"] == "axis"
    assert math.isnan(last["score"])
    assert math.isnan(last["influence"])
    assert last["nan_reason"] == "its set has no other word"


def test_undefined_without_a_word_says_why():
    query = Query([["a0", "a1"], ["b0", "b1"]], [["c0", "c1"]])
    table = word_influence(ECT, query, model_of())
    undefined = table[table["influence"].isna()]
    assert set(undefined["word"]) == {"c0", "c1"}
    assert set(undefined["nan_reason"]) == {"ECT is undefined without it"}


def test_lost_words_have_no_row_and_parameters_are_passed_on():
    query = Query([["a0", "a1", "a2", "A3"], ["b0", "b1"]], [["c0", "c1"], ["d0", "d1"]])
    with pytest.raises(ValueError, match="cannot be answered"):
        word_influence(WEAT, query, model_of())
    lenient = {"lost_vocabulary_threshold": 0.5}
    assert "A3" not in word_influence(WEAT, query, model_of(), lenient)["word"].tolist()
    lower = {"preprocessors": [{"lowercase": True}], "return_effect_size": False}
    table = word_influence(WEAT, query, model_of(), lower)
    assert "a3" in table["word"].tolist()
    assert table.attrs["metric"] == "WEAT"


def test_random_score_is_refused():
    params = {"holdout": True, "random_state": np.random.default_rng(0)}
    with pytest.raises(ValueError, match="gives another score"):
        word_influence(RNSB, query_for(RNSB, 7), model_of(), params)


class Whole(BaseMetric):
    """Looks words up by itself: the mean of the first coordinates of the targets."""

    metric_template = (1, 1)
    metric_name = "Metric with a run_query of its own"
    metric_short_name = "WHOLE"

    def run_query(self, query, model, **lookup):
        prefix = model.vocab_prefix or ""
        words = [prefix + word for word in query.target_sets[0] if prefix + word in model]
        return {
            "query_name": query.query_name,
            "result": float(model.get_vectors(words)[:, 0].mean()) if words else math.nan,
        }


def test_metric_with_its_own_run_query_is_asked_without_each_word():
    model = model_of()
    prefixed = WordEmbeddingModel.from_arrays(
        [f"/c/en/{word}" for word in model.vocab], model.vectors, "p", vocab_prefix="/c/en/"
    )
    query = Query([["a0", "a1", "a2"]], [["c0", "c1"]])
    for asked, prefix in ((model, ""), (prefixed, "/c/en/")):
        table = word_influence(Whole, query, asked).set_index("word")
        without = model.get_vectors(["a1", "a2"])[:, 0].mean()
        assert table.loc[f"{prefix}a0", "score"] == pytest.approx(without)
        assert table.loc[f"{prefix}c0", "influence"] == pytest.approx(0, abs=1e-12)


def made(curves, value=0.5, k=(2, 4, 6), value_range=(-2.0, 2.0)):
    return Silhouette(
        metric="M",
        query_name="q",
        model_name="m",
        vary="targets",
        sizes=np.array(k)[:, None],
        curves=np.array(curves, dtype=float),
        n_words=k[-1],
        value=value,
        value_range=value_range,
        no_bias_value=0.0,
        random_state=0,
    )


def test_sufficient_size_of_a_worked_example():
    silhouette = made([[0.9, 0.6, 0.5], [0.45, 0.8, 0.5], [0.52, 0.5, 0.5], [0.5, 0.56, 0.5]])
    assert silhouette.sufficient_size(0.5) == 2
    assert silhouette.sufficient_size(0.31) == 4
    assert silhouette.sufficient_size(0.2) is None
    # The second run is near at first, and leaves again: it does not count.
    assert silhouette.sufficient_size(0.07, coverage=0.5) == 2
    assert silhouette.sufficient_size(0.07, coverage=0.75) is None
    assert silhouette.sufficient_size(0.11, coverage=0.75) == 4
    # A share of the range, which is 4 wide.
    assert silhouette.sufficient_size(0.31 / 4, of_range=True) == 4


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"tolerance": -1}, ValueError, "tolerance must be .* at least 0"),
        ({"tolerance": "x"}, TypeError, "tolerance"),
        ({"coverage": 2}, ValueError, "coverage is a share"),
    ],
)
def test_wrong_arguments_say_what_is_wanted(change, error, text):
    with pytest.raises(error, match=text):
        made([[0.5, 0.5, 0.5]]).sufficient_size(**change)
