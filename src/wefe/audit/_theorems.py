"""Theorems about the built-in metrics: whether they are comparable and trustworthy, and why.

All statements are about unit vectors, two or more groups whose means of unit vectors are not all
equal, and more dimensions than groups. m_i is the mean of group i, s_ij(w) = w . (m_i - m_j) the
individual bias of a unit vector w, d = ||m_1 - m_2||, N the number of neutral words, and b_0 the
no-bias value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from wefe._wordset import WordSets
from wefe.audit._warnings import read_texts
from wefe.metrics._base import BaseMetric
from wefe.metrics._geometry import association

Property: TypeAlias = Literal["comparable", "trustworthy", "no_false_alarm"]
Side: TypeAlias = Literal["targets", "attributes"]


class IndividualBias(BaseMetric):
    """The individual bias s(w, A, B) of one word, as a metric: the first row of table 1.

    The target set contains the word, the attribute sets are the groups. The score is a difference
    of mean cosines, in [-2, 2]; 0 if the word is equally close to both groups. A target set of
    several words raises a ValueError.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["nurse"]], [["she", "her"], ["he", "him"]])
    >>> IndividualBias().run_query(query, load_test_model())["result"]
    0.248
    """

    metric_template = (1, 2)
    metric_name = "Individual bias"
    metric_short_name = "s(w,A,B)"
    value_range = (-2.0, 2.0)

    def _compute(self, targets: WordSets, attributes: WordSets) -> float:
        (words,), (a, b) = targets, attributes
        if len(words) != 1:
            raise ValueError(
                f"the individual bias needs one word; {words.name!r} has {len(words)}. For "
                "the bias of every word of a query, use audit_query."
            )
        return float(association(words.vectors, a.vectors, b.vectors)[0])


@dataclass(frozen=True)
class Theorem:
    """A proof that a metric with its parameters has a property or lacks it.

    Attributes
    ----------
    verdict : bool
        Whether the metric has the property.
    short, reason : str
        The reason in a few words, and the proof or its idea.
    source : str
        Source of the proof; 'proven here' if it is in `reason` and unpublished.

    Examples
    --------
    >>> from wefe.audit import check_requirements
    >>> theorem = check_requirements("weat").theorems["trustworthy"]
    >>> theorem.verdict, theorem.short
    (False, 'biases cancel in the means of X and Y')
    """

    verdict: bool
    short: str
    reason: str
    source: str = "proven here"

    def __str__(self) -> str:
        return f"{self.reason} ({self.source})"


def theorems_of(
    metric: BaseMetric, params: Mapping[str, Any], n_groups: int
) -> dict[Property, Theorem]:
    """Return the theorems about a built-in metric by property; none for custom metrics."""
    if not type(metric).__module__.startswith("wefe."):
        return {}
    facts = _facts(metric, params, n_groups)
    proven: dict[Property, Theorem] = {}
    for entry in read_texts("theorems.toml").get(type(metric).__name__, ()):
        if entry.get("when", {}).items() <= facts.items():
            proven |= {name: Theorem(**entry[name]) for name in get_args(Property) if name in entry}
    return proven


def _facts(metric: BaseMetric, params: Mapping[str, Any], n_groups: int) -> dict[str, Any]:
    """Return the parameters of a metric, and the facts that theorems depend on."""
    values = {**vars(metric), **params}
    custom = values.get("estimator") is not None or values.get("estimator_params") is not None
    return values | {
        "has_2_groups": n_groups == 2,
        "is_cosine": values.get("distance") != "norm",
        "is_default_without_holdout": not custom and not values.get("holdout", True),
    }


def groups_of(metric: BaseMetric) -> Side:
    """Return which sets of a metric's queries are the groups: the attribute sets, if several."""
    n, least = metric.metric_template[1], metric.metric_template_minimum[1]
    # 'n' attribute sets beside a fixed number of target sets, or n of both.
    return "attributes" if n == "n" or max(n, least) >= 2 else "targets"
