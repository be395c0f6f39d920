"""Theorems about the built-in metrics: whether they are comparable and trustworthy, and why.

All statements are about unit vectors, two or more groups whose means of unit vectors are not all
equal, and more dimensions than groups. m_i is the mean of group i, s_ij(w) = w . (m_i - m_j) the
individual bias of a unit vector w, d = ||m_1 - m_2||, N the number of neutral words, and b_0 the
no-bias value.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from wefe._wordset import WordSet, word_sets
from wefe.audit._warnings import read_texts
from wefe.metrics._base import BaseMetric
from wefe.metrics._declaration import Measurement
from wefe.metrics._geometry import ZERO_LENGTH, Vectors, association, unit_rows
from wefe.metrics._projection import RIPA
from wefe.metrics._rnsb import RNSB, probabilities_by_case, rnsb
from wefe.metrics._similarity import ECT, MAC, RND, SAME, _directions
from wefe.metrics._weat import SCWEAT, WEAT, GeneralizedWEAT

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
    nan_values = {"individual_bias": math.nan}  # noqa: RUF012

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        (words,), (a, b) = targets, attributes
        if len(words) != 1:
            raise ValueError(
                f"the individual bias needs one word; {words.name!r} has {len(words)}. For "
                "the bias of every word of a query, use audit_query."
            )
        s = float(association(words.vectors, a.vectors, b.vectors)[0])
        return Measurement({"result": s, "individual_bias": s})


@dataclass(frozen=True)
class Theorem:
    """A proven property of a metric with its parameters.

    Attributes
    ----------
    metric : str
        Class name of the metric.
    property : {'comparable', 'trustworthy', 'no_false_alarm'}
        The property.
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

    metric: str
    property: Property
    verdict: bool
    short: str
    reason: str
    source: str = "proven here"

    def __str__(self) -> str:
        return f"{self.reason} ({self.source})"


@dataclass(frozen=True)
class Design:
    """The sizes of a check, and which side has the groups."""

    groups: Side
    n_groups: int
    group_size: int
    n_targets: int
    dim: int


def theorems_of(
    metric: BaseMetric, params: Mapping[str, Any], n_groups: int
) -> dict[Property, Theorem]:
    """Return the theorems about a built-in metric by property; none for custom metrics."""
    if not type(metric).__module__.startswith("wefe."):
        return {}
    facts, name = _facts(metric, params, n_groups), type(metric).__name__
    proven: dict[Property, Theorem] = {}
    for entry in read_texts("theorems.toml").get(name, ()):
        if entry.get("when", {}).items() <= facts.items():
            proven |= {
                each: Theorem(name, each, **entry[each])
                for each in get_args(Property)
                if each in entry
            }
    return proven


def _facts(metric: BaseMetric, params: Mapping[str, Any], n_groups: int) -> dict[str, Any]:
    """Return the parameters of a metric, and the facts that theorems depend on."""
    values = {field.name: getattr(metric, field.name) for field in dataclasses.fields(metric)}
    values |= params
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


def best_of_sc_weat(groups: Vectors, ddof: int = 0) -> tuple[float, Vectors, int]:
    """Return the largest effect size of a word, such a word, and the rank of the covariance."""
    words = np.concatenate(list(groups))
    _, lengths, axes = np.linalg.svd(words - words.mean(axis=0), full_matrices=False)
    rank = int((lengths > ZERO_LENGTH * math.sqrt(len(words))).sum())
    deviations = lengths[:rank] / math.sqrt(len(words) - ddof)
    difference = axes[:rank] @ (groups[0].mean(axis=0) - groups[1].mean(axis=0)) / deviations
    word = difference / deviations @ axes[:rank]
    return float(np.linalg.norm(difference)), word / np.linalg.norm(word), rank


def attainable(
    metric: BaseMetric, params: Mapping[str, Any], groups: Vectors, sizes: Sequence[int]
) -> tuple[float, float] | None:
    """Return the smallest and largest score for given groups; None without a theorem.

    `groups` has shape (n_groups, group_size, dim); `sizes` are the numbers of neutral words.
    """
    closed_form = _CLOSED_FORMS.get(type(metric))
    if closed_form is None:
        return None
    bounds = closed_form(groups, n=sum(sizes), params=params)
    return bounds if isinstance(bounds, tuple) else (-float(bounds), float(bounds))


def _largest_difference(groups: Vectors, n: int, params: Mapping[str, Any]) -> Any:
    means = groups.mean(axis=1)
    first, second = unit_rows(means) if params.get("distance", "norm") != "norm" else means
    return np.linalg.norm(first - second) * (n if params.get("reduce") == "sum" else 1)


def _of_gweat(groups: Vectors, **_: Any) -> Any:
    means = groups.mean(axis=1)
    return np.linalg.norm(means - means.mean(axis=0), axis=1).sum()


def _of_sc_weat(groups: Vectors, params: Mapping[str, Any], **_: Any) -> Any:
    best, _word, rank = best_of_sc_weat(groups, params.get("ddof", 0))
    if params.get("reduce", "mean") == "mean":
        return best
    return (0.0 if rank > 1 else best), best


def _of_mac(groups: Vectors, **_: Any) -> Any:
    # With groups of equal size, both averages are the same.
    spread = float(np.linalg.norm(groups.mean(axis=(0, 1))))
    return 1 - spread, 1 + spread


def _of_ect(groups: Vectors, **_: Any) -> Any:
    first, second = unit_rows(groups.mean(axis=1))
    for sign in (1.0, -1.0):
        if np.linalg.norm(first - sign * second) < ZERO_LENGTH:
            return sign, sign
    return 1.0


def _of_same(groups: Vectors, **_: Any) -> Any:
    lengths = _directions([WordSet("group", (), group) for group in groups])[1].ravel()
    # Without a length are groups that add nothing; the first direction has length 1.
    return 0.0, math.hypot(1, *lengths[lengths > 0][1:])


def _of_rnsb(groups: Vectors, n: int, **_: Any) -> Any:
    # Logits are affine in the word, so their values at 0 and at the axes give the classifier.
    points = np.concatenate([np.zeros((1, groups.shape[-1])), np.eye(groups.shape[-1])])
    (p,) = probabilities_by_case(points, word_sets(positive=groups[0], negative=groups[1]))
    logits = np.log(p / (1 - p))
    length = float(np.linalg.norm(logits[1:] - logits[0]))
    low, high = 1 / (1 + np.exp(-(logits[0] + length * np.array([-1.0, 1.0]))))
    # The divergence is quasi-convex in the probabilities, so its maximum is in a corner.
    return 0.0, max(rnsb([high] * k + [low] * (n - k)) for k in range(1, n))


# The smallest and largest score, or the largest if the smallest is its negative.
_CLOSED_FORMS: dict[type, Callable[..., Any]] = {
    IndividualBias: _largest_difference,
    WEAT: lambda groups, n, **_: n * _largest_difference(groups, n, {}),
    RND: _largest_difference,
    GeneralizedWEAT: _of_gweat,
    RIPA: lambda groups, **_: np.linalg.norm(unit_rows(groups[0] - groups[1]).mean(axis=0)),
    SCWEAT: _of_sc_weat,
    MAC: _of_mac,
    ECT: _of_ect,
    SAME: _of_same,
    RNSB: _of_rnsb,
}
