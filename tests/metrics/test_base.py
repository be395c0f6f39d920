"""Metrics of users' own, the registry, scales, results and what metrics declare."""

import inspect
import json
import math
import re
from functools import partial

import numpy as np
import pytest
from command_line import wefe as run_wefe
from pydantic import ValidationError
from scipy.spatial import distance

import wefe
from wefe import Query, WordEmbeddingModel, measure, run_queries
from wefe.audit._warnings import read_texts
from wefe.embeddings import get_embeddings_from_query
from wefe.metrics import WEAT, BaseMetric, Measurement, get_metric, list_metrics, register
from wefe.metrics._declaration import Count
from wefe.metrics._registry import _registry, as_metric, metric_names
from wefe.silhouette import bootstrap_interval
from wefe.study._entries import MetricPart


class ShortMetric(BaseMetric):
    """The metric of the guide for users who write their own, with nothing but the mathematics."""

    metric_template = (2, 1)
    metric_name = "Short Metric"
    metric_short_name = "SM"

    def _compute(self, targets, attributes):
        first, second, attribute = (part.vectors.mean(axis=0) for part in [*targets, *attributes])
        return distance.cosine(first, attribute) - distance.cosine(second, attribute)


class ExampleMetric(ShortMetric):
    """The same as older releases have it, with a `run_query` of its own."""

    def run_query(self, query, model, *args, **lookup):
        self._check_input(query, model)
        embeddings = get_embeddings_from_query(model=model, query=query, **lookup)
        if embeddings is None:
            return {"query_name": query.query_name, "result": np.nan}
        targets, attributes = (
            [np.mean(list(part.values()), axis=0) for part in sets.values()] for sets in embeddings
        )
        first, second = (distance.cosine(target, attributes[0]) for target in targets)
        return {"query_name": query.query_name, "result": first - second}


both_styles = pytest.mark.parametrize("metric", [ExampleMetric, ShortMetric])


@pytest.fixture
def query(query_of):
    return query_of(["she woman", "he man"], ["home kids"])


def declared(name, **facts):
    """A metric with a name and what else it declares."""
    facts = {"metric_template": (2, 1), "metric_name": name, "metric_short_name": name, **facts}
    return type(name, (BaseMetric,), facts)


# Metrics of users' own


@both_styles
def test_metric_of_the_guide_has_its_published_score(metric, word2vec, weat_sets):
    # The vectors lack "axe", so 24 of the 25 weapons count.
    sets = [weat_sets["flowers"], weat_sets["weapons"]], [weat_sets["pleasant_5"]]
    query = Query(*sets, ["Flowers", "Weapons"], ["Pleasant"])
    result = metric().run_query(query, word2vec)
    assert result["result"] == pytest.approx(-0.10210171341896057, abs=1e-7)
    assert result["query_name"] == "Flowers and Weapons wrt Pleasant"


@both_styles
def test_metrics_of_users_work_with_run_queries(metric, query, query_of, toy_model):
    lost = query_of(["she xyzzy", "he man"], ["boss job"], ["F", "M"], ["Work"])
    table = run_queries(metric, [query, lost], [toy_model], aggregate_results=True)
    expected = metric().run_query(query, toy_model)["result"]
    assert expected == pytest.approx(ShortMetric().run_query(query, toy_model)["result"])
    assert table.iloc[0, 0] == pytest.approx(expected)
    assert math.isnan(table.iloc[0, 1])
    assert table.iloc[0, 2] == pytest.approx(abs(expected))
    assert table.columns.name == metric.metric_short_name
    reasons = measure(metric, [query, lost], [toy_model]).set_index("query_name")["nan_reason"]
    assert list(reasons.dropna().index) == ["F and M wrt Work"]


def test_measurement_has_the_last_word(query, toy_model):
    values = {"result": 1.0, "by_word": {"she": 1.0}}
    compute = lambda *_: Measurement(values, None, {"n": 2})  # noqa: E731
    detailed = declared("Detailed", nan_values={"by_word": {}}, _compute=compute)
    result = detailed().run_query(query, toy_model)
    assert dict(result) == {"query_name": query.query_name, **values}
    assert result.details == {"n": 2}


def test_a_subclass_with_its_own_scores_returns_them(toy_query, toy_model):
    """`run_query` returned the score of the parent, and a bootstrap that of the subclass."""

    class Doubled(WEAT):
        metric_name = metric_short_name = "DOUBLED"

        def _scores(self, targets, attributes):
            return 2 * super()._scores(targets, attributes)

    plain, doubled = (metric().run_query(toy_query, toy_model) for metric in (WEAT, Doubled))
    assert doubled["result"] == 2 * plain["result"]
    # Measured again with the same words, it has the same score.
    interval = bootstrap_interval(Doubled(), toy_query, toy_model, 100)
    assert interval.samples.size == 100


def test_metric_with_parameters_of_its_own(query, toy_model):
    class Powered(ShortMetric):
        power: Count = 1
        label: str = ""

        def _compute(self, targets, attributes):
            return super()._compute(targets, attributes) ** self.power

    plain, squared = (
        Powered().run_query(query, toy_model, power=power)["result"] for power in (1, 2)
    )
    assert squared == pytest.approx(plain**2)
    assert Powered(power=2).run_query(query, toy_model)["result"] == squared
    assert Powered().run_query(query, toy_model, 2)["result"] == squared
    assert Powered(power=2).run_query(query, toy_model, power=1)["result"] == plain
    assert repr(Powered(power=2)) == "Powered(power=2)"
    with pytest.raises(TypeError, match="label must be of type str"):
        Powered(label=3)
    with pytest.raises(TypeError, match="pwoer"):
        Powered().run_query(query, toy_model, pwoer=2)
    with pytest.raises(TypeError, match="by position"):
        Powered().run_query(query, toy_model, *range(9))
    for make in (Powered, partial(Powered().run_query, query, toy_model)):
        with pytest.raises(ValueError, match="power must be .*got int 0"):
            make(power=0)


def test_metric_without_mathematics_says_what_it_lacks(query, toy_model):
    with pytest.raises(TypeError, match="Odd defines neither _scores nor _compute"):
        declared("Odd")().run_query(query, toy_model)


def test_template_may_ask_for_any_number_from_a_minimum(toy):
    many = declared(
        "Many",
        metric_template=("n", "n"),
        metric_template_minimum=(3, 2),
        _compute=lambda self, targets, attributes: len(targets) + len(attributes) / 10,
    )
    assert toy(many, ["she", "he", "they", "folk"], ["home", "boss"])["result"] == 4.2
    with pytest.raises(ValueError, match="3 or more target and 2 or more attribute sets"):
        toy(many, ["she", "he"], ["home", "boss"])


# The registry


@pytest.mark.usefixtures("registry")
def test_registered_metric_is_found_by_its_names(query, toy_model):
    register(ShortMetric)
    assert get_metric("short-metric") is get_metric("SM") is ShortMetric
    # Built-in metrics come first.
    assert list_metrics()[-1] is ShortMetric
    assert run_queries("sm", [query], [toy_model]).shape == (1, 1)
    # Registering again replaces the earlier version.
    again = register(type("ShortMetric", (ShortMetric,), {}))
    assert get_metric("shortmetric") is again
    assert list_metrics().count(ShortMetric) == 0


@pytest.mark.parametrize(("name", "short_name"), [("WEAT", "W2"), ("Mine", "weat"), ("ect", "E")])
def test_names_that_are_taken_are_refused(name, short_name):
    with pytest.raises(ValueError, match="is already registered"):
        register(declared(name, metric_short_name=short_name))


def test_metrics_of_other_packages_are_found_through_entry_points(tmp_path, monkeypatch):
    (tmp_path / "their_metrics.py").write_text(
        "from wefe.metrics import BaseMetric, register\n"
        "@register\n"
        "class Theirs(BaseMetric):\n"
        "    metric_template = (2, 1)\n"
        "    metric_name = metric_short_name = 'Theirs'\n"
    )
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[wefe.metrics]\ntheirs = their_metrics:Theirs\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("wefe.metrics._registry._registry", dict(_registry))
    assert get_metric("theirs").metric_name == "Theirs"


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


@pytest.mark.usefixtures("registry")
def test_registered_metric_is_one_of_studies_and_of_the_command_line():
    register(Nearness)
    assert get_metric("near") is Nearness
    MetricPart(metric="near", params={"offset": 1})
    for params in ({"offset": "far"}, {"offsets": 1}):
        with pytest.raises(ValidationError, match="offset"):
            MetricPart(metric="near", params=params)
    options = ["--model", "demo", "--queries", "gender", "--offline", "--format", "json"]
    results = [
        json.loads(run_wefe("measure", *options, "--metric", "near", *more).stdout)["results"]
        for more in ([], ["--param", "near.offset=1"])
    ]
    plain, moved = ([row["score"] for row in rows] for rows in results)
    assert len(plain) > 0
    assert moved == pytest.approx([score + 1 for score in plain])


# Scales, and results that share a shape


def test_strategy_all_uses_every_variant_and_keeps_pairs_by_the_first():
    words = ["She", "she", "He", "he", "home", "Home"]
    model = WordEmbeddingModel((words, np.random.default_rng(0).normal(size=(6, 4))))
    options = {"preprocessors": [{}, {"lowercase": True}], "strategy": "all"}
    result = wefe.RIPA().run_query(Query([["She"], ["He"]], [["home"]]), model, **options)
    assert result.details["pairs"] == [("She", "He")]
    assert result.targets[0].used == ("She", "she")
    query = Query([["She"], ["He"]], [["home"], ["Home"]])
    result = WEAT().run_query(query, model, **options)
    assert list(result.details["associations"]["Target set 0"]) == ["She", "she"]


def test_reason_says_when_lower_case_would_help(toy):
    told = "the model has 3 of these in lower case"
    assert told in toy(WEAT, ["She", "He"], ["HOME", "xyzzy"]).nan_reason
    assert "lower case" not in toy(WEAT, ["q", "r"], ["s", "t"]).nan_reason


# What every metric declares


@pytest.mark.parametrize("name", sorted(metric_names()))
def test_a_metric_says_what_it_asks_means_and_takes_and_where_it_is_from(name):
    metric = as_metric(name)
    assert metric.question.endswith("?") or metric.question.startswith("like ")
    assert metric.meaning.endswith(".")
    assert metric.meaning != BaseMetric.meaning
    assert metric.reference.endswith(".") or "https://" in metric.reference
    assert any(year in metric.reference for year in map(str, range(2010, 2030)))
    assert read_texts("warnings.toml").keys() >= metric.audit_findings
    if name != "ceat":  # it has a p-value of its random-effects model
        assert bool(metric.null_exchange) != bool(metric.no_p_value)
    for parameter in metric.parameters():
        named = rf"\n([\w, ]+, )?{parameter}(, [\w, ]+)? : "
        classes = type(metric).__mro__
        assert any(re.search(named, inspect.getdoc(each)) for each in classes), parameter


def test_the_effect_size_of_weat_is_a_metric_of_its_own_name():
    weat, effect_size = as_metric("weat"), as_metric("weat-es")
    assert type(weat) is type(effect_size)
    assert effect_size.scale().label == "WEAT-ES"
    assert repr(effect_size) == "WEAT(return_effect_size=True)"
