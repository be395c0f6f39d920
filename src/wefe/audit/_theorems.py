"""What is proven of the built-in metrics: comparable or not, trustworthy or not, and why.

All statements are about unit vectors, two or more groups whose means of unit vectors are not all
equal, and more dimensions than groups. m_i is the mean of group i, s_ij(w) = w . (m_i - m_j) the
individual bias of a unit vector w, d = ||m_1 - m_2||, N the number of neutral words, and b_0 the
score that means that no bias was measured.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from wefe._wordset import WordSet
from wefe.metrics._base import BaseMetric, Measurement
from wefe.metrics._direct_bias import DirectBias
from wefe.metrics._ect import ECT
from wefe.metrics._generalized_weat import GeneralizedWEAT
from wefe.metrics._geometry import ZERO_LENGTH, Vectors, association
from wefe.metrics._mac import MAC
from wefe.metrics._ripa import RIPA
from wefe.metrics._rnd import RND
from wefe.metrics._rnsb import RNSB, negative_sentiment_probabilities, rnsb
from wefe.metrics._same import SAME, _directions
from wefe.metrics._sc_weat import SCWEAT
from wefe.metrics._weat import WEAT

Property: TypeAlias = Literal["comparable", "trustworthy", "no_false_alarm"]
Side: TypeAlias = Literal["targets", "attributes"]


class IndividualBias(BaseMetric):
    """The individual bias s(w, A, B) of one word, as a metric: the first row of table 1.

    The target set holds the word, the attribute sets are the groups. It is a difference of mean
    cosines, in [-2, 2], 0 if the word is as near to one group as to the other; see
    :func:`wefe.metrics.association`. A target set of several words is a ValueError.

    See Also
    --------
    wefe.audit.audit_query : the individual biases of all words of a query.

    References
    ----------
    Schröder, Schulz, Hinder and Hammer, "Semantic Properties of Cosine Based Bias Scores for Word
    Embeddings", ICPRAM 2024, equation 1.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> from wefe.audit import IndividualBias
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
                f"the individual bias is that of one word; {words.name!r} has {len(words)}. "
                "audit_query gives it for every word of a query."
            )
        s = float(association(words.vectors, a.vectors, b.vectors)[0])
        return Measurement({"result": s, "individual_bias": s})


@dataclass(frozen=True)
class Theorem:
    """What is proven of a metric, with its parameters, for one property.

    Attributes
    ----------
    metric : str
        Name of the metric's class.
    property : {'comparable', 'trustworthy', 'no_false_alarm'}
        What it is about.
    verdict : bool
        Whether the metric has the property.
    short : str
        The reason in a few words, for tables.
    reason : str
        The proof, or its idea.
    source : str
        Where the proof is from; 'proven here' if it is in `reason` and was not published.

    Examples
    --------
    >>> from wefe.audit import check_requirements
    >>> theorem = check_requirements("weat").theorems["trustworthy"]
    >>> theorem.verdict, theorem.short
    (False, 'biases cancel in the means of X and Y')
    >>> theorem.source
    'theorem 3, Schröder, Schulz, Hinder and Hammer, ICPRAM 2024'
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
    """The numbers of a check: which side holds the groups, how many there are, of what size."""

    groups: Side
    n_groups: int
    group_size: int
    n_targets: int
    dim: int


def theorems_of(
    metric: BaseMetric, params: Mapping[str, Any], design: Design
) -> dict[Property, Theorem]:
    """Return what is proven of a metric, by property; empty for metrics of users.

    Subclasses of the built-in metrics may compute something else, so nothing is known of them.
    """
    built_in = type(metric).__module__.startswith("wefe.")
    if not built_in or design.groups != groups_of(metric):
        return {}
    facts, name = _facts(metric, params, design), type(metric).__name__
    proven: dict[Property, Theorem] = {}
    for entry in _entries().get(name, ()):
        if all(facts.get(fact) == value for fact, value in entry.get("when", {}).items()):
            for subject in get_args(Property):
                if subject in entry:
                    words = {
                        key: entry[key] for key in ("short", "reason", "source") if key in entry
                    }
                    proven[subject] = Theorem(name, subject, entry[subject], **words)
    return proven


@functools.cache
def _entries() -> dict[str, list[dict[str, Any]]]:
    file = resources.files("wefe.audit").joinpath("theorems.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _facts(metric: BaseMetric, params: Mapping[str, Any], design: Design) -> dict[str, Any]:
    """Return the parameters of a metric, and what theorems ask of a check."""
    values = {field.name: getattr(metric, field.name) for field in dataclasses.fields(metric)}
    values |= params
    k = values.get("n_components", 1)
    # The centred tuples span no more directions than that.
    most = min(design.dim - 1, (design.n_groups - 1) * design.group_size)
    custom = values.get("estimator") is not None or values.get("estimator_params") is not None
    return values | {
        "has_1_target": design.n_targets == 1,
        "has_3_targets": design.n_targets >= 3,
        "has_2_groups": design.n_groups == 2,
        "is_cosine": values.get("distance") != "norm",
        "spans_subspace": values.get("direction") != "means" and 1 <= k <= most,
        "has_pairs_to_spare": design.group_size > k,
        "is_default_without_holdout": not custom and not values.get("holdout", True),
    }


def groups_of(metric: BaseMetric) -> Side:
    """Say which sets of a metric's queries are the groups: the attribute sets, if several.

    So they are for WEAT, SC-WEAT, MAC, RNSB and GWEAT. A metric with a single attribute set
    compares target sets on it: RND, RIPA, ECT, SAME and Direct Bias.
    """
    n, least = metric.metric_template[1], metric.metric_template_minimum[1]
    # 'n' attribute sets beside a fixed number of target sets, or n of both.
    return "attributes" if n == "n" or max(n, least) >= 2 else "targets"


def attainable(
    metric: BaseMetric, params: Mapping[str, Any], groups: Vectors, sizes: Sequence[int]
) -> tuple[float, float] | None:
    """Smallest and largest score that unit vectors can have with given groups, by the theorems.

    Parameters
    ----------
    metric : BaseMetric
        A built-in metric, with its groups on the usual side.
    params : mapping
        Its parameters.
    groups : ndarray of shape (n_groups, group_size, dim)
        Unit vectors; more dimensions than groups.
    sizes : sequence of int
        How many neutral words each neutral set has.

    Returns
    -------
    (float, float) or None
        None where no closed form is known.
    """
    means = groups.mean(axis=1)
    d = float(np.linalg.norm(means[0] - means[1]))
    n = sum(sizes)
    bound: float | None = None
    match metric:
        case IndividualBias():
            bound = d
        case WEAT():
            bound = n * d
            if params.get("return_effect_size"):
                largest = n / math.sqrt(math.prod(sizes))
                bound = largest * math.sqrt((n - params.get("ddof", 0)) / n)
        case SCWEAT():
            largest, _, rank = best_of_sc_weat(groups, params.get("ddof", 0))
            if params.get("reduce", "mean") == "mean":
                return -largest, largest
            return (0.0 if rank > 1 else largest), largest
        case GeneralizedWEAT():
            bound = float(np.linalg.norm(means - means.mean(axis=0), axis=1).sum())
        case RND():
            if params.get("distance", "norm") != "norm":
                means = means / np.linalg.norm(means, axis=1, keepdims=True)
            bound = float(np.linalg.norm(means[0] - means[1]))
            bound *= n if params.get("reduce") == "sum" else 1
        case RIPA():
            bound = 1.0
            if params.get("relation", "pairs") == "pairs":
                relations = groups[0] - groups[1]
                relations = relations / np.linalg.norm(relations, axis=1, keepdims=True)
                bound = float(np.linalg.norm(relations.mean(axis=0)))
        case MAC():
            # Groups of one size: both averages are the same.
            spread = float(np.linalg.norm(means.mean(axis=0)))
            return 1 - spread, 1 + spread
        case ECT():
            directions = means / np.linalg.norm(means, axis=1, keepdims=True)
            for sign in (1.0, -1.0):
                if np.linalg.norm(directions[0] - sign * directions[1]) < ZERO_LENGTH:
                    return sign, sign
            bound = 1.0
        case SAME() if len(groups) > 2 and params.get("combine", "sum") == "sum":
            sets = [WordSet("group", (), group) for group in groups]
            lengths = [float(length[0, 0]) for length in _directions(sets)[1]]
            kept = [length for length in lengths if length > 0]
            return 0.0, math.sqrt(1 + sum(length**2 for length in kept[1:]))
        case SAME() | DirectBias():
            return 0.0, 1.0
        case RNSB():
            return 0.0, _largest_rnsb(groups, n)
    return None if bound is None else (-bound, bound)


def best_of_sc_weat(groups: Vectors, ddof: int = 0) -> tuple[float, Vectors, int]:
    """Return the largest effect size of a word, such a word, and the rank of the covariance."""
    words = np.concatenate(list(groups))
    _, lengths, axes = np.linalg.svd(words - words.mean(axis=0), full_matrices=False)
    rank = int((lengths > ZERO_LENGTH * math.sqrt(len(words))).sum())
    deviations = lengths[:rank] / math.sqrt(len(words) - ddof)
    difference = axes[:rank] @ (groups[0].mean(axis=0) - groups[1].mean(axis=0)) / deviations
    word = difference / deviations @ axes[:rank]
    return float(np.linalg.norm(difference)), word / np.linalg.norm(word), rank


def separate_and_mixed(design: Design) -> list[tuple[str, Vectors]]:
    """Return two groups of one word each, and two that mix: the case of the theorem on SC-WEAT."""
    axes = np.eye(design.dim)
    half = design.group_size // 2
    separate = np.zeros((2, design.group_size, design.dim)) + axes[:2, None]
    mixed = separate.copy()
    mixed[0, :half], mixed[0, half:] = axes[0], axes[1]
    mixed[1, :half], mixed[1, half:] = -axes[0], axes[0]
    return [("groups of one word each", separate), ("groups that mix", mixed)]


def _largest_rnsb(groups: Vectors, n_words: int) -> float:
    # The logits are affine in the word: the classifier is read off at 0 and at the axes.
    points = np.concatenate([np.zeros((1, groups.shape[-1])), np.eye(groups.shape[-1])])
    p = negative_sentiment_probabilities(points, groups[0], groups[1])
    logits = np.log(p / (1 - p))
    length = float(np.linalg.norm(logits[1:] - logits[0]))
    low, high = 1 / (1 + np.exp(-(logits[0] + length * np.array([-1.0, 1.0]))))
    # The divergence is quasi-convex in the probabilities: largest in a corner of the cube.
    return max(rnsb([high] * k + [low] * (n_words - k)) for k in range(1, n_words))
