"""Facts about metrics stand on their classes: every registered metric declares all of them."""

import inspect
import re

import pytest

from wefe.metrics import BaseMetric
from wefe.metrics._registry import as_metric, metric_names
from wefe.report._provenance import METHODS

NAMES = sorted(metric_names())


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_says_what_it_asks_and_where_it_is_from(name):
    metric = as_metric(name)
    assert metric.question.endswith("?") or metric.question.startswith("like ")
    assert metric.meaning.endswith(".")
    assert metric.meaning != BaseMetric.meaning
    assert metric.reference.endswith(".") or "https://" in metric.reference
    assert any(year in metric.reference for year in map(str, range(2010, 2030)))


@pytest.mark.parametrize("name", NAMES)
def test_its_findings_of_audits_are_known(name):
    assert set(METHODS["warnings"]) >= as_metric(name).audit_findings


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_documented_on_the_class(name):
    for parameter in as_metric(name).parameters():
        classes = type(as_metric(name)).__mro__
        named = rf"\n([\w, ]+, )?{parameter}(, [\w, ]+)? : "
        assert any(re.search(named, inspect.getdoc(each)) for each in classes)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_p_value_or_says_why_not(name):
    metric = as_metric(name)
    if name != "ceat":  # it has that of its random-effects model
        assert bool(metric.null_exchange) != bool(metric.no_p_value)


def test_the_effect_size_of_weat_is_a_metric_of_its_own_name():
    weat, effect_size = as_metric("weat"), as_metric("weat-es")
    assert type(weat) is type(effect_size)
    assert effect_size.scale().label == "WEAT-ES"
    assert weat.question != effect_size.question
    assert repr(effect_size) == "WEAT(return_effect_size=True)"
