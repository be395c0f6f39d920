"""Tests of the warnings that come with scores."""

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel, measure
from wefe.audit import audit_query, score_warnings
from wefe.datasets import load_weat_queries
from wefe.metrics import RIPA, WEAT, BaseMetric, list_metrics


def kinds(*args, **params):
    return [warning.kind for warning in score_warnings(*args, **params)]


@pytest.fixture
def cancelling():
    """Theorem 3: the first targets lean either way, and so do the others."""
    vectors = np.eye(3)[[0, 1, 0, 1, 0, 1]]
    vectors[4:, 2] = 1
    return WordEmbeddingModel((["a", "b", "x1", "x2", "y1", "y2"], vectors), "toy")


GROUPS, WORDS = [["a"], ["b"]], [["x1", "x2"], ["y1", "y2"]]


def test_an_effect_size_of_zero_comes_with_the_biases_that_cancel(cancelling):
    query = Query(WORDS, GROUPS)
    (score,) = measure("weat-es", [query], [cancelling])["score"]
    assert score == pytest.approx(0)
    assert kinds("weat", query, cancelling, return_effect_size=True).count("cancelling-biases") == 2
    assert kinds("mac", query, cancelling).count("cancelling-biases") == 2


def test_groups_may_be_the_targets(cancelling):
    query = Query(GROUPS, [WORDS[0]])
    assert kinds("rnd", query, cancelling) == ["cancelling-biases"]
    assert kinds("same", query, cancelling) == []
    (warning,) = score_warnings("rnd", query, cancelling)
    assert "'Attribute set 0'" in warning.message
    # Three groups: between each two of them.
    three = Query([*GROUPS, ["y1"]], [WORDS[0]])
    assert len(score_warnings(Unknown, three, cancelling)) >= 1


class Unknown(BaseMetric):
    metric_template = ("n", "n")
    metric_name = "Unknown"
    metric_short_name = "U"

    def _compute(self, targets, attributes):
        return 0.0


def test_direct_bias_and_ripa_come_with_the_audit_of_their_direction():
    rng = np.random.default_rng(0)
    first, second = [f"a{i}" for i in range(8)], [f"b{i}" for i in range(8)]
    words = ["nurse", "pilot"]
    model = WordEmbeddingModel(([*first, *second, *words], rng.normal(size=(18, 50))))
    query = Query([first, second], [words])
    one = {"weak-first-component", "low-correlation", "unstable"}
    assert one <= set(kinds("direct-bias", query, model))
    assert one <= set(kinds(RIPA(relation="pca"), query, model))
    # No first component is taken of pairs as they are, and several need not have one.
    assert set(kinds("ripa", query, model)) & one == {"low-correlation"}
    assert not one & set(kinds("direct-bias", query, model, n_components=4))
    assert not one & set(kinds("direct-bias", query, model, direction="means"))


def test_a_small_difference_of_attributes_matters_for_sums_only():
    rng = np.random.default_rng(0)
    common = rng.normal(size=50)
    words = [f"w{i}" for i in range(40)]
    model = WordEmbeddingModel((words, common + 0.1 * rng.normal(size=(40, 50))))
    query = Query([words[:10], words[10:20]], [words[20:30], words[30:]])
    assert "small-attribute-difference" in kinds("weat", query, model)
    assert "small-attribute-difference" not in kinds("weat", query, model, return_effect_size=True)


def test_they_are_those_of_the_audit_with_the_same_parameters(packaged_model):
    query = load_weat_queries()[9]
    params = {"ddof": 1, "p_value_test_type": "two-sided", "lost_vocabulary_threshold": 0.5}
    params |= {"return_effect_size": True, "calculate_p_value": True, "p_value_method": "exact"}
    audit = audit_query(query, packaged_model, ddof=1, p_value_test_type="two-sided")
    assert audit.warnings
    assert score_warnings("weat", query, packaged_model, **params) == audit.warnings
    own = {name: params.pop(name) for name in [*params] if hasattr(WEAT, name)}
    assert score_warnings(WEAT(**own), query, packaged_model, **params) == audit.warnings
    # The generator of an instance stays where it is.
    rng = np.random.default_rng(1)
    random = WEAT(**own | {"random_state": rng, "p_value_method": "approximate"})
    score_warnings(random, query, packaged_model, **params)
    assert rng.random() == np.random.default_rng(1).random()


@pytest.mark.parametrize("metric", list_metrics())
def test_what_cannot_be_answered_cannot_be_audited(metric, packaged_model, caplog):
    lost = ["xyzzy1", "xyzzy2"]
    sides = [1 if want == 1 else 2 for want in metric.metric_template]
    query = Query([lost] * sides[0], [lost] * sides[1])
    (warning,) = score_warnings(metric, query, packaged_model)
    assert warning.kind == "not-audited"
    assert "lost 100% of its words" in warning.message
    assert not caplog.records


def test_ect_does_not_see_a_shared_lean():
    def model(*attributes):
        return WordEmbeddingModel(([*"abpqr"], np.array([[1, 0], [0, 1], *attributes], float)))

    query = Query([["a"], ["b"]], [["p", "q", "r"]])
    (warning,) = score_warnings("ect", query, model([1, 0.1], [1, 0.2], [1, 0.3]))
    assert warning.kind == "shared-lean"
    assert "'Target set 0'" in warning.message
    # Words that lean either way share nothing.
    assert kinds("ect", query, model([1, 0.1], [0.2, 1], [0.5, 0.5])) == []


EFFECT_SIZE, P_VALUE = {"return_effect_size": True}, {"calculate_p_value": True}


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, []),
        (EFFECT_SIZE, []),
        (P_VALUE, []),
        ({**EFFECT_SIZE, **P_VALUE, "random_state": 0}, ["large-but-not-significant"]),
    ],
)
def test_what_concerns_effect_sizes_and_p_values_comes_with_these(params, expected):
    positions = np.array([1, -1, 0.5, 0.3, -0.1, 0.2, -0.3, -0.05])
    vectors = np.column_stack([positions, np.sqrt(1 - positions**2)])
    query = Query([list("pqr"), list("uvw")], [["a"], ["b"]])
    assert (
        kinds("weat", query, WordEmbeddingModel((list("abpqruvw"), vectors)), **params) == expected
    )


def test_measure_shows_them_beside_each_score(packaged_model, cancelling):
    queries = load_weat_queries()[8:]
    assert measure("weat", queries, [packaged_model])["warnings"].isna().all()
    every = [*queries, Query(WORDS, GROUPS)]
    scores = measure("weat", every, [packaged_model], metric_params=EFFECT_SIZE, audit=True)
    found = scores["warnings"]
    assert found[0] == str(score_warnings("weat", queries[0], packaged_model)[0])
    assert found[1].startswith("large-effect-tiny-biases")
    assert found[2] == ""  # its words are lost
    # A score of fewer words is audited with these.
    query = Query([["she", "zz1"], ["he", "zz2"]], [["family", "home"], ["office", "job"]])
    lenient = P_VALUE | {"lost_vocabulary_threshold": 0.6}
    scores = measure("weat", [query], [packaged_model], metric_params=lenient, audit=True)
    (text,) = scores["warnings"]
    assert "few-words" in text
    assert "not-audited" not in text
