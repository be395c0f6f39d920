"""Metrics of users' own, the registry, scales and results."""

import importlib
import math
from functools import partial

import numpy as np
import pytest
from scipy.spatial import distance

import wefe
from wefe import MetricResult, Query, WordEmbeddingModel, measure, run_queries
from wefe.embeddings import get_embeddings_from_query
from wefe.metrics import (
    MAC,
    WEAT,
    BaseMetric,
    Measurement,
    Scale,
    get_metric,
    list_metrics,
    register,
)
from wefe.metrics._parameters import Count
from wefe.metrics._registry import _registry


class ExampleMetric(BaseMetric):
    """The metric of the guide for users who write their own, as older releases have it."""

    metric_template = (2, 1)
    metric_name = "Example Metric"
    metric_short_name = "EM"

    def _calc_metric(self, target_embeddings, attribute_embeddings):
        first, second = (np.mean(list(part.values()), axis=0) for part in target_embeddings)
        attribute = np.mean(list(attribute_embeddings[0].values()), axis=0)
        return distance.cosine(first, attribute) - distance.cosine(second, attribute)

    def run_query(
        self,
        query,
        model,
        lost_vocabulary_threshold=0.2,
        preprocessors=[{}],  # noqa: B006
        strategy="first",
        normalize=False,
        warn_not_found_words=False,
        *args,
        **kwargs,
    ):
        self._check_input(query, model)
        embeddings = get_embeddings_from_query(
            model=model,
            query=query,
            lost_vocabulary_threshold=lost_vocabulary_threshold,
            preprocessors=preprocessors,
            strategy=strategy,
            normalize=normalize,
            warn_not_found_words=warn_not_found_words,
        )
        if embeddings is None:
            return {"query_name": query.query_name, "result": np.nan, "em": np.nan}
        target_sets, attribute_sets = embeddings
        result = self._calc_metric(list(target_sets.values()), list(attribute_sets.values()))
        return {"query_name": query.query_name, "result": result, "em": result}


class ShortMetric(BaseMetric):
    """The same metric with nothing but the mathematics."""

    metric_template = (2, 1)
    metric_name = "Short Metric"
    metric_short_name = "SM"

    def _compute(self, targets, attributes):
        first, second, attribute = (part.vectors.mean(axis=0) for part in [*targets, *attributes])
        return distance.cosine(first, attribute) - distance.cosine(second, attribute)


both_styles = pytest.mark.parametrize("metric", [ExampleMetric, ShortMetric])


@pytest.fixture
def registry():
    """Leaves the registry of metrics as it was before the test."""
    list_metrics()
    before = dict(_registry)
    yield
    _registry.clear()
    _registry.update(before)


@pytest.fixture
def query(query_of):
    return query_of(["she woman", "he man"], ["home kids"])


# Metrics of users' own


@both_styles
def test_metric_of_the_guide_has_its_published_score(metric, word2vec, weat_sets):
    # The vectors lack "axe", so 24 of the 25 weapons count.
    query = Query(
        [weat_sets["flowers"], weat_sets["weapons"]],
        [weat_sets["pleasant_5"]],
        ["Flowers", "Weapons"],
        ["Pleasant"],
    )
    result = metric().run_query(query, word2vec)
    assert result["result"] == pytest.approx(-0.10210171341896057, abs=1e-7)
    assert result["query_name"] == "Flowers and Weapons wrt Pleasant"


@both_styles
def test_metrics_of_users_work_with_run_queries(metric, query, query_of, toy_model):
    lost = query_of(["she xyzzy", "he man"], ["boss job"], ["F", "M"], ["Work"])
    table = run_queries(metric, [query, lost], [toy_model], aggregate_results=True)
    expected = metric().run_query(query, toy_model)["result"]
    assert table.iloc[0, 0] == pytest.approx(expected)
    assert math.isnan(table.iloc[0, 1])
    assert table.iloc[0, 2] == pytest.approx(abs(expected))
    assert table.columns.name == metric.metric_short_name
    reasons = measure(metric, [query, lost], [toy_model]).set_index("query_name")["nan_reason"]
    assert list(reasons.dropna().index) == ["F and M wrt Work"]


@both_styles
def test_metrics_of_users_take_subqueries_and_options(metric, query_of, toy_model):
    large = query_of(["she woman", "he man", "they folk"], ["home kids"])
    table = run_queries(
        metric, [large], [toy_model], generate_subqueries=True, metric_params={"normalize": True}
    )
    assert table.shape == (1, 3)
    expected = metric().run_query(
        query_of(["she woman", "they folk"], ["home kids"]), toy_model, normalize=True
    )
    assert table.iloc[0, 1] == pytest.approx(expected["result"])


def test_both_styles_agree(query, toy_model):
    one, other = (metric().run_query(query, toy_model) for metric in (ExampleMetric, ShortMetric))
    assert one["result"] == pytest.approx(other["result"], abs=1e-12)


def test_short_style_gets_keys_reasons_and_a_scale(query, query_of, toy_model):
    result = ShortMetric().run_query(query, toy_model)
    assert isinstance(result, MetricResult)
    assert list(result) == ["query_name", "result", "sm"]
    assert result["sm"] == result["result"]
    lost = ShortMetric().run_query(query_of(["she xyzzy", "he"], ["home"]), toy_model)
    assert list(lost) == ["query_name", "result", "sm"]
    assert lost.nan_reason == (
        "'Target set 0' lost 50% of its words (xyzzy), more than the 20% allowed"
    )
    assert ShortMetric().scale() == Scale("SM", (-math.inf, math.inf), 0.0)


def test_nan_without_a_reason_gets_one(query, toy_model):
    class Undefined(ShortMetric):
        def _compute(self, targets, attributes):
            return math.nan

    assert Undefined().run_query(query, toy_model).nan_reason == (
        "SM is undefined for these vectors"
    )


def test_measurement_has_the_last_word(query, toy_model):
    class Detailed(ShortMetric):
        nan_values = {"by_word": {}}  # noqa: RUF012

        def _compute(self, targets, attributes):
            return Measurement({"result": 1.0, "by_word": {"she": 1.0}}, None, {"n": 2})

    result = Detailed().run_query(query, toy_model)
    assert dict(result) == {
        "query_name": query.query_name,
        "result": 1.0,
        "by_word": {"she": 1.0},
    }
    assert result.details == {"n": 2}


def test_metric_with_parameters_of_its_own(query, toy_model):
    class Powered(ShortMetric):
        power: Count = 1

        def _compute(self, targets, attributes):
            return super()._compute(targets, attributes) ** self.power

    plain, squared = (
        Powered().run_query(query, toy_model, power=power)["result"] for power in (1, 2)
    )
    assert squared == pytest.approx(plain**2)
    assert Powered(power=2).run_query(query, toy_model)["result"] == squared
    assert Powered(power=2).run_query(query, toy_model, power=1)["result"] == plain
    assert repr(Powered(power=2)) == "Powered(power=2)"
    with pytest.raises(TypeError, match="Powered.run_query has no parameter 'pwoer'"):
        Powered().run_query(query, toy_model, pwoer=2)
    for make in (Powered, partial(Powered().run_query, query, toy_model)):
        with pytest.raises(ValueError, match="power must be an integer of at least 1; got int 0"):
            make(power=0)


def test_metric_without_mathematics_says_what_it_lacks(query, toy_model):
    class Empty(BaseMetric):
        metric_template = (2, 1)
        metric_name = "Empty"
        metric_short_name = "E"

    with pytest.raises(TypeError, match="Empty defines neither _scores nor _compute"):
        Empty().run_query(query, toy_model)


def test_template_may_ask_for_any_number_from_a_minimum(query_of, toy_model):
    class Many(ShortMetric):
        metric_template = ("n", "n")
        metric_template_minimum = (3, 2)

        def _compute(self, targets, attributes):
            return len(targets) + len(attributes) / 10

    query = query_of(["she", "he", "they", "folk"], ["home", "boss"])
    assert Many().run_query(query, toy_model)["result"] == 4.2
    with pytest.raises(ValueError, match="needs 3 or more target and 2 or more attribute sets"):
        Many().run_query(query_of(["she", "he"], ["home", "boss"]), toy_model)


# The registry


@pytest.mark.usefixtures("registry")
def test_registered_metric_is_found_by_its_names(query, toy_model):
    register(ShortMetric)
    assert get_metric("short-metric") is get_metric("SM") is ShortMetric
    # Built-in metrics come first.
    assert list_metrics()[-1] is ShortMetric
    assert run_queries("sm", [query], [toy_model]).shape == (1, 1)


@pytest.mark.usefixtures("registry")
def test_registering_again_replaces_the_earlier_version():
    register(ShortMetric)
    again = register(type("ShortMetric", (ShortMetric,), {}))
    assert get_metric("shortmetric") is again
    assert list_metrics().count(ShortMetric) == 0


def test_unknown_metric_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="metric must be one of .*Did you mean 'weat'"):
        get_metric("weta")


def test_all_documented_metrics_are_registered_in_alphabetical_order():
    names = [metric.__name__ for metric in list_metrics() if metric.__module__.startswith("wefe.")]
    assert names == sorted(names, key=str.lower)
    assert names == [
        "DirectBias",
        "ECT",
        "EQT",
        "GeneralizedWEAT",
        "GIPE",
        "MAC",
        "NeighborPercentage",
        "ProximityBias",
        "RIPA",
        "RND",
        "RNSB",
        "SAME",
        "SCWEAT",
        "WEAT",
    ]
    assert all(hasattr(wefe, name) for name in names)


@pytest.mark.parametrize("name", ["WEAT", "RND", "RNSB", "MAC", "ECT", "RIPA"])
def test_import_paths_of_older_releases_lead_to_the_same_class(name):
    module = importlib.import_module(f"wefe.metrics.{name}")
    assert getattr(module, name) is getattr(wefe.metrics, name) is getattr(wefe, name)
    assert isinstance(getattr(wefe.metrics, name), type)
    assert importlib.import_module("wefe.metrics.base_metric").BaseMetric is BaseMetric


# Scales, and results that share a shape


def test_bias_is_the_distance_from_no_bias():
    assert WEAT().scale().bias(-0.4) == 0.4
    assert MAC().scale().bias(1.2) == pytest.approx(0.2)
    table = np.array([[0.5, 1.5], [1.0, 0.0]])
    assert MAC().scale().bias(table).tolist() == [[0.5, 0.5], [0.0, 1.0]]


def test_strategy_all_uses_every_variant_and_keeps_pairs_by_the_first():
    words = ["She", "she", "He", "he", "home", "Home"]
    model = WordEmbeddingModel((words, np.random.default_rng(0).normal(size=(6, 4))))
    query = Query([["She"], ["He"]], [["home"]])
    result = wefe.RIPA().run_query(
        query, model, preprocessors=[{}, {"lowercase": True}], strategy="all"
    )
    assert result.details["pairs"] == [("She", "He")]
    assert result.targets[0].used == ("She", "she")
    result = WEAT().run_query(
        Query([["She"], ["He"]], [["home"], ["Home"]]),
        model,
        preprocessors=[{}, {"lowercase": True}],
        strategy="all",
    )
    assert list(result.details["associations"]["Target set 0"]) == ["She", "she"]


def test_compute_must_return_a_number(toy_query, toy_model):
    class Wordy(BaseMetric):
        metric_template = (2, 2)
        metric_name = metric_short_name = "Wordy"

        def _compute(self, targets, attributes):
            return "high"

    with pytest.raises(TypeError, match=r"Wordy._compute must return a number.* got str 'high'"):
        Wordy().run_query(toy_query, toy_model)


def test_undeclared_facts_are_named(query, toy_model):
    class Nameless(BaseMetric):
        metric_template = (2, 2)

        def _compute(self, targets, attributes):
            return 0.0

    with pytest.raises(TypeError, match="Nameless must declare metric_name"):
        Nameless().run_query(query, toy_model)


@pytest.mark.parametrize(("name", "short_name"), [("WEAT", "W2"), ("Mine", "weat"), ("ect", "E")])
def test_names_that_are_taken_are_refused(name, short_name):
    taken = type(
        name,
        (BaseMetric,),
        {"metric_template": (2, 2), "metric_name": name, "metric_short_name": short_name},
    )
    with pytest.raises(ValueError, match="is already registered"):
        register(taken)


def test_metrics_of_other_packages_are_found_through_entry_points(tmp_path, monkeypatch):
    (tmp_path / "their_metrics.py").write_text(
        "from wefe.metrics import BaseMetric, register\n"
        "@register\n"
        "class Theirs(BaseMetric):\n"
        "    metric_template = (2, 1)\n"
        "    metric_name = metric_short_name = 'Theirs'\n"
        "    def _compute(self, targets, attributes):\n"
        "        return 1.0\n"
    )
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[wefe.metrics]\ntheirs = their_metrics:Theirs\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("wefe.metrics._registry._registry", dict(_registry))
    assert get_metric("theirs")().run_query.__self__.metric_name == "Theirs"


def test_reason_says_when_lower_case_would_help(toy_model):
    query = Query([["She"], ["He"]], [["HOME"], ["xyzzy"]])
    reason = WEAT().run_query(query, toy_model).nan_reason
    assert "the model has 3 of these in lower case: preprocessors=" in reason
    assert (
        "lower case"
        not in WEAT().run_query(Query([["q"], ["r"]], [["s"], ["t"]]), toy_model).nan_reason
    )
