"""Requirements of metrics: table 1, the theorems' constructions, and the search on its own."""

import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest

from wefe import Query, WordEmbeddingModel
from wefe.audit import (
    IndividualBias,
    check_requirements,
    requirements_table,
)
from wefe.audit._search import (
    Probe,
    _extremes,
    _random_groups,
    constructed_groups,
)
from wefe.audit._theorems import Design, attainable, best_of_sc_weat, groups_of, theorems_of
from wefe.metrics import (
    ECT,
    EQT,
    MAC,
    RIPA,
    RND,
    RNSB,
    SAME,
    SCWEAT,
    WEAT,
    BaseMetric,
    DirectBias,
    GeneralizedWEAT,
    association,
)

SUM = {"return_effect_size": False}
NAMES = ("comparable", "trustworthy", "no_false_alarm")

# Metric and options -> comparable, trustworthy, no false alarm; by hand.
VERDICTS = {
    "individual bias": (IndividualBias, {}, (False, True, True)),
    "WEAT sum": (WEAT, {"metric_params": SUM}, (False, False, True)),
    "WEAT-ES": (WEAT, {}, (True, False, False)),
    "WEAT-ES, ddof 1": (WEAT, {"metric_params": {"ddof": 1}}, (True, False, False)),
    "Direct Bias": (DirectBias, {}, (True, False, False)),
    "Direct Bias, c=2": (DirectBias, {"metric_params": {"c": 2.0}}, (True, False, False)),
    "Direct Bias, 2-d": (DirectBias, {"metric_params": {"n_components": 2}}, (True, False, False)),
    "Direct Bias, 3 groups": (DirectBias, {"n_groups": 3}, (True, False, False)),
    "Direct Bias, means": (
        *(DirectBias, {"metric_params": {"direction": "means"}}, (True, True, True)),
    ),
    "ECT": (ECT, {}, (False, False, False)),
    "GWEAT": (GeneralizedWEAT, {}, (False, False, True)),
    "GWEAT, 3 groups": (GeneralizedWEAT, {"n_groups": 3}, (False, False, True)),
    "MAC": (MAC, {}, (False, False, False)),
    "MAC, 3 groups": (MAC, {"n_groups": 3}, (False, False, False)),
    "RIPA": (RIPA, {}, (False, False, False)),
    "RIPA, pca": (RIPA, {"metric_params": {"relation": "pca"}}, (True, False, False)),
    "RND": (RND, {}, (False, False, False)),
    "RND, sum": (RND, {"metric_params": {"reduce": "sum"}}, (False, False, False)),
    "RND, cos": (RND, {"metric_params": {"distance": "cos"}}, (False, False, False)),
    "RNSB": (RNSB, {}, (False, False, False)),
    "SC-WEAT": (SCWEAT, {}, (False, False, False)),
    "SC-WEAT, ddof 1": (SCWEAT, {"metric_params": {"ddof": 1}}, (False, False, False)),
    "SC-WEAT, magnitudes": (
        *(SCWEAT, {"metric_params": {"reduce": "mean_abs"}}, (False, True, False)),
    ),
    "SAME": (SAME, {}, (True, True, True)),
    "SAME, 3 groups": (SAME, {"n_groups": 3}, (False, True, True)),
    "SAME, 3 groups, projection": (
        *(SAME, {"n_groups": 3, "metric_params": {"combine": "projection"}}, (True, True, True)),
    ),
}


# Searched for without theorems; some are left out as they would take long and show nothing new.
SEARCHED = [
    *("individual bias", "WEAT-ES", "Direct Bias", "Direct Bias, means", "ECT", "MAC", "RIPA"),
    *("RND", "RNSB", "SAME, 3 groups, projection"),
    "SC-WEAT, magnitudes",
]


@pytest.fixture(scope="module")
def literal():
    path = Path(__file__).parents[1] / "oracles" / "literal_metrics.py"
    specification = importlib.util.spec_from_file_location("literal_metrics", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def checked():
    """Function from a name in VERDICTS to its requirements, computed once."""
    known = {}

    def check(name, **options):
        key = name, *options.items()
        if key not in known:
            metric, own, _ = VERDICTS[name]
            known[key] = check_requirements(metric, **own, **options)
        return known[key]

    return check


def check_counterexamples(found):
    for key, example in found.counterexamples.items():
        assert example.evaluate() == pytest.approx(example.scores, abs=1e-12, nan_ok=True)
        lengths = [np.linalg.norm(each) for part in example.vectors for each in part.values()]
        np.testing.assert_allclose(lengths, 1)
        if key == "trustworthy":
            assert abs(example.scores[0] - example.b_0) <= 1e-9
            assert max(example.biases[0].values()) >= 0.1
        elif key == "no_false_alarm":
            assert max(example.biases[0].values()) <= 1e-9
            assert not abs(example.scores[0] - example.b_0) <= 1e-6


# Verdicts


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(checked, name):
    found = checked(name)
    assert tuple(found.verdicts.values()) == VERDICTS[name][2]
    assert tuple(found.verdicts) == NAMES
    # Every verdict is proven, and every negative one has its counterexample.
    assert set(found.theorems) == set(NAMES)
    assert set(found.counterexamples) == {
        key for key, verdict in found.verdicts.items() if not verdict
    }
    assert all(found.why.values())
    for key, example in found.counterexamples.items():
        assert example.property == key
        assert key != "comparable" or example.proven
        assert str(example) in found.evidence[key]


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHED)
def test_search_alone_agrees_with_the_theorems(checked, name):
    found = checked(name, theorems=False, n_trials=10)
    assert not found.theorems
    # What is true cannot be found by a search; everything that is false must be.
    expected = tuple(verdict and None for verdict in VERDICTS[name][2])
    assert tuple(found.verdicts.values()) == expected
    if None in expected:
        assert any("no counterexample found in 10 trials" in text for text in found.why.values())
    if "comparable" in found.counterexamples:
        assert not found.counterexamples["comparable"].proven
        assert "not a proof" in found.evidence["comparable"]
    check_counterexamples(found)


# The constructions of the theorems


@pytest.mark.parametrize(("size", "dim", "ddof"), [(2, 4, 0), (3, 3, 0), (6, 4, 1), (2, 9, 1)])
def test_no_word_has_a_larger_effect_size_than_the_closed_form_says(size, dim, ddof):
    rng = np.random.default_rng(size)
    groups = _random_groups(Design("attributes", 2, size, 4, dim), rng)
    best, word, _ = best_of_sc_weat(groups, ddof)
    words = np.concatenate([rng.normal(size=(2000, dim)), word + 1e-3 * rng.normal(size=(50, dim))])
    metric = SCWEAT(ddof=ddof)
    sizes = metric.run_vectors([words], groups)["effect_sizes"].values()
    assert max(map(abs, sizes)) <= best + 1e-12
    assert metric.run_vectors([[word]], groups)["sc_weat"] == pytest.approx(best)
    # More dimensions than differences within the groups: the bound of the set sizes is reached.
    bound = 2 * math.sqrt((2 * size - ddof) / (2 * size))
    assert (best == pytest.approx(bound)) == (dim > 2 * (size - 1))


# Counterexamples


@pytest.mark.parametrize("name", VERDICTS)
def test_counterexamples_are_what_they_say(checked, name):
    check_counterexamples(checked(name))


@pytest.mark.parametrize("name", [name for name in VERDICTS if not VERDICTS[name][2][0]])
def test_no_words_reach_the_other_models_extreme(checked, name):
    example = checked(name).counterexamples["comparable"]
    sign = 1 if example.side == "maximum" else -1
    best, other = example.extremes
    assert sign * (example.scores[0] - other) > 0.02 * abs(best - other)
    assert example.scores == pytest.approx(example.extremes, abs=1e-3)
    model = example.models()[1]
    neutral = list(example.biases[1])
    rows = [model.vocab[word] for word in neutral]
    rng = np.random.default_rng(0)
    for _ in range(100):
        vectors = np.array(model.vectors)
        words = rng.normal(size=(len(rows), vectors.shape[1]))
        words[:] = words[0] if rng.random() < 0.3 else words
        vectors[rows] = words / np.linalg.norm(words, axis=1, keepdims=True)
        tried = WordEmbeddingModel.from_arrays(list(model.vocab), vectors)
        score = example.metric.run_query(example.query, tried, **example.params)["result"]
        assert math.isnan(score) or sign * (score - other) <= 1e-9


# Closed forms


def test_closed_form_of_rnsb(literal):
    design = Design("attributes", 2, 2, 4, 4)
    rng = np.random.default_rng(0)
    groups = _random_groups(design, rng)
    beta, b = literal.logistic_regression(*groups.tolist(), penalise_intercept=True)
    # In the literal version the first set is the positive class.
    p = [1 / (1 + math.exp(b + sign * literal.length(beta))) for sign in (1, -1)]
    corners = [literal.kl_from_uniform([p[1]] * k + [p[0]] * (4 - k)) for k in (1, 2, 3)]
    probe = Probe(RNSB(), {"holdout": False}, design)
    low, high = attainable(RNSB(), {}, groups, [2, 2])
    assert (low, high) == (0, pytest.approx(max(corners), abs=2e-5))
    reached = _extremes(probe, "", groups, 50, rng, n_starts=3)[1].score
    assert 0.99 * high < reached <= high + 1e-9


@pytest.mark.parametrize(
    ("components", "group_size", "dim"), [(1, 2, 3), (2, 3, 3), (2, 5, 4), (3, 4, 6)]
)
def test_principal_components_across_to_the_means(components, group_size, dim):
    design = Design("targets", 2, group_size, 4, dim)
    groups = dict(constructed_groups(design))["pairs as in theorem 6"]
    difference = groups[0].mean(axis=0) - groups[1].mean(axis=0)
    rows = (groups - groups.mean(axis=0)).reshape(-1, design.dim)
    principal = np.linalg.svd(rows)[2][:components]
    np.testing.assert_allclose(principal @ difference, 0, atol=1e-12)
    assert np.linalg.norm(difference) > 0.5


def test_scores_that_rest_on_rounding_are_no_counterexamples():
    # Three orthogonal groups: the first principal component is any direction of a plane.
    example = check_requirements(DirectBias, n_groups=3).counterexamples["trustworthy"]
    groups = [[example.vectors[0][word] for word in part] for part in example.query.target_sets]
    rows = np.array(groups) - np.mean(groups, axis=0)
    variances = np.linalg.svd(rows.reshape(-1, rows.shape[-1]))[1]
    assert variances[0] > 1.1 * variances[1]


@pytest.mark.parametrize(
    ("name", "key", "source"),
    [
        ("individual bias", "comparable", "theorem 1"),
        ("individual bias", "trustworthy", "theorem 2"),
        ("WEAT-ES", "trustworthy", "theorem 3"),
        ("WEAT-ES", "comparable", "theorem 4"),
        ("Direct Bias", "comparable", "theorem 5"),
        ("Direct Bias", "trustworthy", "theorem 6"),
    ],
)
def test_sources_of_table_1_of_the_paper(checked, name, key, source):
    assert checked(name).theorems[key].source.startswith(source)


def test_multi_group_same_by_hand():
    # b_1 = (2, 0, 0), b_2 = (0, -0.6, 0): the maximum is sqrt(1 + 0.36) at (1, -0.6, 0).
    groups = np.array([[[1.0, 0, 0, 0]], [[-1.0, 0, 0, 0]], [[0.8, 0.6, 0, 0]]])
    assert attainable(SAME(), {}, groups, [1]) == pytest.approx((0, math.sqrt(1.36)))


@pytest.mark.parametrize(("angle", "expected"), [(0.0, (1, 1)), (math.pi, (-1, -1))])
def test_ect_with_parallel_and_opposite_means(angle, expected):
    axis = np.array([math.cos(angle), math.sin(angle), 0, 0])
    across = np.array([0, 0, 1.0, 0])
    # The second mean is shorter: its words scatter.
    second = [0.5 * axis + math.sqrt(0.75) * across, 0.5 * axis - math.sqrt(0.75) * across]
    assert attainable(ECT(), {}, np.array([[[1.0, 0, 0, 0]] * 2, second]), [4]) == expected


class Other(SAME):
    """Of a subclass nothing is known."""


@pytest.mark.parametrize(
    ("metric", "params", "missing"),
    [
        (Other, {}, set(NAMES)),
        (RNSB, {"holdout": True}, set(NAMES)),
        (RNSB, {"holdout": False, "estimator_params": {"C": 10.0}}, set(NAMES)),
        (DirectBias, {"c": 0}, set()),
    ],
)
def test_theorems_are_silent_where_they_do_not_hold(metric, params, missing):
    assert set(NAMES) - set(theorems_of(metric(), params, 2)) == missing


# Metrics of users


def of_shares(score, **more):
    """Make a metric of the words' s and d."""

    def compute(self, targets, attributes):
        a, b = (part.vectors.mean(axis=0) for part in attributes)
        return float(score(targets[0].vectors @ (a - b), np.linalg.norm(a - b)))

    facts = {"metric_template": (1, 2), "metric_name": "Shares", "metric_short_name": "Shares"}
    return type("Shares", (BaseMetric,), {**facts, "_compute": compute, **more})


MEAN_SHARE = of_shares(lambda s, d: np.mean(np.abs(s)) / d)
MEAN = of_shares(lambda s, d: np.mean(s))
STEPS = of_shares(lambda s, d: np.mean((np.abs(s) / d > 0.3) & (np.abs(s) / d < 0.4)))


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (MEAN_SHARE, (None, None, None)),
        (of_shares(lambda s, d: 1 - np.mean(np.abs(s)) / d, no_bias_value=1.0), (None, None, None)),
        (MEAN, (False, False, None)),
        (of_shares(lambda s, d: np.max(np.abs(s))), (False, None, None)),
        # It jumps over b_0, and is never there.
        (of_shares(lambda s, d: 1.0 if s.sum() >= 0 else -1.0), (None, None, False)),
        (STEPS, (None, False, None)),
        # Tiny scores are not zero, and true zeros are found.
        (of_shares(lambda s, d: np.mean((s / d) ** 100)), (None, None, None)),
        (of_shares(lambda s, d: np.mean(s / d) ** 12), (None, False, None)),
        (of_shares(lambda s, d: np.var(s) ** 2), (False, False, None)),
        # 0 on the whole of a region.
        (of_shares(lambda s, d: np.mean(np.maximum(np.abs(s) - 0.3, 0))), (False, False, None)),
        (of_shares(lambda s, d: np.median(np.abs(s))), (False, False, None)),
    ],
)
def test_metrics_of_users(metric, expected):
    found = check_requirements(metric, n_trials=30)
    assert tuple(found.verdicts.values()) == expected
    assert not found.theorems
    assert found.b_0 == metric.no_bias_value
    for example in found.counterexamples.values():
        assert example.evaluate() == pytest.approx(list(example.scores), abs=1e-12)
    if "trustworthy" in found.counterexamples:
        example = found.counterexamples["trustworthy"]
        assert abs(example.scores[0] - found.b_0) <= 1e-9
        assert max(example.biases[0].values()) > 0.1


@pytest.mark.parametrize(
    ("constant", "verdicts"),
    [(0.0, (None, False, None)), (3.0, (None, None, False)), (math.nan, (None, None, None))],
)
def test_metrics_that_never_move(constant, verdicts, caplog):
    found = check_requirements(of_shares(lambda s, d: constant), n_trials=5)
    assert tuple(found.verdicts.values()) == verdicts
    undefined = math.isnan(constant)
    assert found.n_undefined == (found.n_scores if undefined else 0)
    says = "the score was undefined for all" if undefined else "the score never changed"
    assert says in found.evidence["comparable"]
    assert undefined or "it measures nothing" in repr(found)
    assert not caplog.records


class Fussy(BaseMetric):
    """The mean of |s|; refuses groups of equal words, and raises where no word is biased."""

    metric_template = (1, 2)
    metric_name = metric_short_name = "Fussy"

    def run_query(self, query, model, error=np.linalg.LinAlgError, least=1e-9):
        words, a, b = (model.get_vectors(part) for part in query.target_sets + query.attribute_sets)
        if np.ptp(a, axis=0).max() == 0:
            raise error("group has no variance")
        s = np.abs(association(words, a, b))
        if s.max() < least:
            raise ZeroDivisionError("nothing to divide by")
        return {"query_name": query.query_name, "result": s.mean()}


@pytest.mark.parametrize("error", [np.linalg.LinAlgError, ValueError, OverflowError])
def test_metrics_may_raise_where_they_are_undefined(error):
    found = check_requirements(Fussy, metric_params={"error": error}, n_trials=20)
    assert tuple(found.verdicts.values()) == (False, None, False)
    assert found.errors == {error.__name__: "group has no variance", **found.errors}
    text = found.evidence["trustworthy"]
    assert f"{found.n_undefined} of {found.n_scores} scores were undefined" in text
    assert f"{error.__name__}: group has no variance" in text
    example = found.counterexamples["no_false_alarm"]
    # The groups are not to blame: other words have a score.
    assert "orthogonal groups" not in example.how
    assert np.isnan([example.scores[0], example.evaluate()[0]]).all()


def test_groups_are_the_attribute_sets_of_metrics_with_several():
    of_attributes = (WEAT, SCWEAT, MAC, RNSB, GeneralizedWEAT)
    assert {groups_of(metric()) for metric in of_attributes} == {"attributes"}


NOISE = of_shares(lambda s, d: np.random.default_rng().normal())


@pytest.mark.parametrize(
    ("metric", "options", "error", "message"),
    [
        (association, {}, TypeError, "metric must be a metric class"),
        (type("Empty", (BaseMetric,), {}), {}, AttributeError, "metric_template"),
        (NOISE, {}, ValueError, "Shares is random: the same vectors scored .* seed"),
        (RIPA, {"metric_params": {"normalize": False}}, ValueError, "raw vectors"),
        (Fussy, {"metric_params": {"least": 3.0}}, ZeroDivisionError, "nothing to divide by"),
        (Fussy, {"metric_params": {"other": 3.0}}, TypeError, "other"),
        (WEAT, {"n_groups": 3}, ValueError, "takes 2 attribute sets"),
        (SAME, {"n_groups": 1}, ValueError, "two or more"),
        (WEAT, {"n_trials": 0}, ValueError, "n_trials"),
        (WEAT, {"metric_params": {"ddof": 2}}, ValueError, "ddof"),
        (EQT, {}, ValueError, "EQT depends on words outside of its query"),
    ],
)
def test_what_is_refused(metric, options, error, message):
    with pytest.raises(error, match=message):
        check_requirements(metric, **options)


# Results


def test_table_of_given_metrics(checked):
    table = requirements_table(
        [checked("SAME"), (WEAT, SUM), MEAN, "gweat"], n_trials=20, random_state=1
    )
    assert table["metric"].tolist() == ["SAME", "WEAT", "Shares", "GWEAT"]
    assert table["comparable"].tolist() == ["✓", "x", "x", "x"]
    assert table["no false alarm"].tolist() == ["✓", "✓", "?", "✓"]


def test_results_as_json(checked):
    content = json.loads(checked("WEAT-ES").to_json())
    assert [content[name] for name in NAMES] == [True, False, False]
    assert content["counterexamples"]["no_false_alarm"]["scores"] == [None]


def test_counterexample_as_json_and_with_another_metric(checked):
    example = checked("Direct Bias").counterexamples["trustworthy"]
    content = json.loads(example.to_json())
    query, vectors = Query.from_dict(content["query"]), content["vectors"][0]
    model = WordEmbeddingModel.from_arrays(list(vectors), list(vectors.values()))
    score = DirectBias().run_query(query, model, **content["params"])["result"]
    assert score == pytest.approx(content["scores"][0], abs=1e-12)
    # SAME sees the bias that Direct Bias does not.
    assert example.evaluate(SAME())[0] > 0.5
    # The score as it is: what rounding leaves is not printed as 0.
    assert f"DirectBias is not trustworthy: score {example.scores[0]:.3g} though" in repr(example)
