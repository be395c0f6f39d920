"""What is proven of the built-in metrics: comparable or not, trustworthy or not, and why.

All statements are about unit vectors, two or more groups whose means of unit vectors are not all
equal, and more dimensions than groups. m_i is the mean of group i, s_ij(w) = w . (m_i - m_j) the
individual bias of a unit vector w, d = ||m_1 - m_2||, N the number of neutral words, and b_0 the
score that means that no bias was measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

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

_PAPER: Final = "Schröder, Schulz, Hinder and Hammer, ICPRAM 2024"


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
    prove = _PROOFS.get(type(metric))
    if prove is None or design.groups != groups_of(metric):
        return {}
    return {
        statement[0]: Theorem(type(metric).__name__, *statement)
        for statement in prove(dict(params), design)
    }


def groups_of(metric: BaseMetric) -> Side:
    """Say which sets of a metric's queries are the groups: the attribute sets, if several.

    So they are for WEAT, SC-WEAT, MAC, RNSB and GWEAT. A metric with a single attribute set
    compares target sets on it: RND, RIPA, ECT, SAME and Direct Bias.
    """
    n, least = metric.metric_template[1], metric.metric_template_minimum[1]
    # 'n' attribute sets beside a fixed number of target sets, or n of both.
    return "attributes" if n == "n" or max(n, least) >= 2 else "targets"


_Statements: TypeAlias = Iterator[tuple[Any, ...]]

_CANCEL = "the biases of several words cancel in the mean"
_LINEAR = (
    "The score is linear in the unit vectors of the words, so words of opposite bias cancel: a "
    "word and its mirror image, side by side in one set, leave b_0."
)
_NO_BIAS_NO_SCORE = "Where every s_ij(w) is 0, so is the score."


def _individual_bias(params: Mapping[str, Any], design: Design) -> _Statements:  # noqa: ARG001
    yield (
        *("comparable", False, "the maximum is d, which depends on the groups"),
        "s(w,A,B) = w . (m_1 - m_2), so its maximum over unit vectors is d, at w = (m_1 - m_2)/d, "
        "and its minimum -d: as far as the group means are apart in the model.",
        f"theorem 1, {_PAPER}",
    )
    yield (
        *("trustworthy", True, "0 only at equal mean cosines"),
        "s(w,A,B) is the difference of the two mean cosines that definition 3.1 compares.",
        f"theorem 2, {_PAPER}",
    )
    yield "no_false_alarm", True, "0 at equal mean cosines", _NO_BIAS_NO_SCORE


def _weat(params: Mapping[str, Any], design: Design) -> _Statements:
    if not params.get("return_effect_size"):
        yield (
            *("comparable", False, "the maximum is N d, which depends on the groups"),
            "The sum is largest when all words of X are (m_1 - m_2)/d and all of Y the opposite. "
            "That gives N d, and the minimum is -N d.",
        )
        yield (
            *("trustworthy", False, "biases cancel within sets and between X and Y"),
            "With sets of equal size, the same lean of all words gives 0, as the sums over X and Y "
            "are subtracted; so do opposite biases within each set (theorem 3).",
        )
        yield "no_false_alarm", True, "0 where no word is biased", _NO_BIAS_NO_SCORE
        return
    yield (
        *("comparable", True, "the extremes depend on the set sizes only"),
        "By lemma 1, |ES| <= N/sqrt(n_X n_Y), times sqrt((N-1)/N) with ddof=1. It is reached when "
        "all words of X share one s and all of Y another one, which any two different group means "
        "allow.",
        f"theorem 4 with lemma 1, {_PAPER}",
    )
    if design.n_targets >= 3:
        yield (
            *("trustworthy", False, "biases cancel in the means of X and Y"),
            "a in A and b in B orthogonal, X = {a, b}, Y = {a + c, b + c} with c orthogonal to "
            "both: s is 1, -1 and 0.71, -0.71. Both means are 0, so ES = 0.",
            f"theorem 3, {_PAPER}",
        )
    yield (
        *("no_false_alarm", False, "undefined where no word is biased"),
        "Where all s are 0 their deviation is 0, and ES is 0/0: undefined just where it should be "
        "0. So it is wherever all words have the same bias.",
        f"section 4.1, {_PAPER}",
    )


def _sc_weat(params: Mapping[str, Any], design: Design) -> _Statements:
    magnitudes = params.get("reduce", "mean") == "mean_abs"
    least = (
        " Of magnitudes the minimum is 0, but where all attribute words lie on a line (each group "
        "is one word, say) every word has one and the same, or none."
    )
    yield (
        *("comparable", False, "the maximum depends on how the words of the groups scatter"),
        "With S the covariance matrix of the unit vectors of all n attribute words, the effect "
        "size of a word is w . (m_1 - m_2)/sqrt(w . S w). By Cauchy and Schwarz its maximum is "
        "sqrt((m_1 - m_2) . S^+ (m_1 - m_2)), at w = S^+ (m_1 - m_2) and in the mean of such "
        "words. That is n/sqrt(n_A n_B), 2 for groups of equal size, only if m_1 - m_2 does not "
        "lie in the span of the differences within the groups. So it is for groups of one word "
        "each, and mostly where there are more dimensions than attribute words. But with A = "
        "{(1, 0), (0, 1)} and B = {(-1, 0), (1, 0)} it is 1.41, at (1, 3)/sqrt(10)."
        + (least if magnitudes else ""),
    )
    if magnitudes or design.n_targets == 1:
        yield (
            *("trustworthy", True, "0 only if every s is 0"),
            "An effect size is s(w) divided by a positive number, so it is 0 only if s(w) is, and "
            "a mean of magnitudes only if each is.",
        )
    else:
        yield (
            *("trustworthy", False, _CANCEL),
            "The effect size of -w is that of w, negative: a word and its mirror image leave 0.",
        )
    yield (
        *("no_false_alarm", False, "undefined where all cosines of a word are equal"),
        "A word that is as near to every attribute word has s = 0, and so have its cosines no "
        "deviation: 0/0, and the score is undefined. With any deviation it is 0.",
    )


def _generalized_weat(params: Mapping[str, Any], design: Design) -> _Statements:  # noqa: ARG001
    yield (
        *("comparable", False, "the maximum is the sum of ||m_i - mean||, d for two groups"),
        "As the centred group means add up to 0, G = sum over i of mean(X_i) . (m_i - mean(m)). "
        "Its maximum is the sum of the lengths ||m_i - mean(m)||, reached when all words of X_i "
        "point there; its minimum is the opposite.",
    )
    yield (
        *("trustworthy", False, "biases cancel within sets and between them"),
        "When all X_i have the same mean, G is that mean times the sum of m_i - mean(m), which is "
        "0: the same lean of all words goes unseen.",
    )
    yield (
        *("no_false_alarm", True, "0 where no word is biased"),
        "A word without bias has equal w . m_i, so all w . (m_i - mean(m)) are 0, and G is a sum "
        "of means of these.",
    )


def _rnd(params: Mapping[str, Any], design: Design) -> _Statements:  # noqa: ARG001
    if params.get("distance", "norm") == "norm":
        yield (
            *("comparable", False, "the maximum is d, which depends on the groups"),
            "By the triangle inequality each term is within d. The line through both means "
            "leaves the unit ball beyond each of them, and the words there reach d and -d (times "
            "N for the sum). For raw vectors d is that of the raw means, so there is no bound "
            "over all models.",
        )
        yield (
            *("trustworthy", False, "words cancel; one word too, if the means differ in length"),
            "If both means have the same length, the reflection that swaps them swaps the "
            "distances of any word, so a word and its mirror image cancel. If not, a single word "
            "is enough: it is equally far from both where 2 w . (m_1 - m_2) = ||m_1||^2 - "
            "||m_2||^2, and then biased.",
        )
        yield (
            *("no_false_alarm", False, "means of different length are at different distances"),
            "A word without bias has ||w - m_1||^2 - ||w - m_2||^2 = ||m_1||^2 - ||m_2||^2, which "
            "is 0 only if both means have the same length: if one group scatters more, the score "
            "is not 0.",
        )
        return
    yield (
        *("comparable", False, "the maximum is ||m_1^ - m_2^||, which depends on the groups"),
        "With m_i^ = m_i/||m_i|| each term is w . (m_1^ - m_2^), so the extremes are +-||m_1^ - "
        "m_2^||, times N for the sum.",
    )
    yield (
        *("trustworthy", False, "words cancel; one word may do, if the means differ in length"),
        f"{_LINEAR} A single word with w . m_1^ = w . m_2^ = t has the bias t (||m_1|| - ||m_2||): "
        "it can be biased, unless both means have the same length or opposite directions.",
    )
    yield (
        *("no_false_alarm", False, "renormalised means differ from the means"),
        "A word orthogonal to m_1 - m_2 need not be so to m_1^ - m_2^ if the means differ in "
        "length.",
    )


def _mac(params: Mapping[str, Any], design: Design) -> _Statements:  # noqa: ARG001
    yield (
        *("comparable", False, "the extremes are 1 +- ||M||, M the mean of the groups"),
        "MAC = 1 - mean over w of w . M, with M the mean of the m_i (of all attribute words for "
        "average='words'). So the extremes are 1 - ||M|| and 1 + ||M||, and for two opposite "
        "groups MAC is 1 whatever the words are.",
    )
    yield (
        *("trustworthy", False, "it adds up what groups should be compared by"),
        "MAC sees the mean cosine with all groups, not the difference between them. Between groups "
        "a and b, the word (a - b)/||a - b|| is biased and MAC is 1; and words cancel.",
    )
    yield (
        *("no_false_alarm", False, "equal nearness to all groups counts"),
        "A word that is equally near to all groups is not biased, but MAC is 1 - w . M, not 1.",
    )


def _ect(params: Mapping[str, Any], design: Design) -> _Statements:  # noqa: ARG001
    if design.n_targets < 2:
        return
    yield (
        *(
            "comparable",
            False,
            "[-1, 1], but only -1 for opposite means and only 1 for parallel ones",
        ),
        "ECT ranks words by w . m_1^ and w . m_2^. If these means point in different, not opposite "
        "directions, words that differ along m_1^ + m_2^ reach 1, and words that differ little "
        "and along m_1^ - m_2^ reach -1. But opposite means reverse every ranking (always -1), and "
        "means that differ in length only never do (always 1). Apart from these two cases the "
        "extremes do not depend on the groups.",
    )
    yield (
        *("trustworthy", False, "equal ranks, however unequal the similarities"),
        "Only ranks count: if all words are nearer to group 1 than to group 2, yet in the same "
        "order, ECT is 1.",
    )
    yield (
        *("no_false_alarm", False, "1, but undefined where all similarities tie"),
        "Where no word is biased w . m_1 = w . m_2 for all words, so both rankings are the same "
        "and ECT is 1, never another number. But if all words are equally similar to a group it "
        "is undefined.",
    )


def _ripa(params: Mapping[str, Any], design: Design) -> _Statements:  # noqa: ARG001
    if params.get("relation", "pairs") == "pca":
        yield (
            *("comparable", True, "[-1, 1] for unit vectors; raw vectors have no bound"),
            "The mean of w . g with a unit vector g reaches 1 and -1 in every model where g is "
            "defined. The length of the words multiplies the score.",
        )
        single = "A word orthogonal to the first principal component may be biased (theorem 6)."
        yield "trustworthy", False, f"{_CANCEL}; g is not m_1 - m_2", f"{_LINEAR} {single}"
        yield (
            *("no_false_alarm", False, "the principal component may be another direction"),
            "With the pairs of theorem 6 the word g = (0, 1, 0) has equal mean cosines with both "
            "groups, and the score is 1.",
            f"as theorem 6, {_PAPER}",
        )
        return
    yield (
        *("comparable", False, "the maximum is ||r||: how parallel the pairs are"),
        "RIPA = mean over w of w . r, r the mean of the pairs' unit differences. The extremes are "
        "+-||r||: 1 for parallel pairs (so always for a single pair), 0.71 for two pairs at right "
        "angles. Raw words multiply this by their length, without bound.",
    )
    yield (
        *("trustworthy", False, f"{_CANCEL}; r is not parallel to m_1 - m_2"),
        f"{_LINEAR} For a single word: m_1 - m_2 is the mean of the pairs' differences as they "
        "are, r that of unit differences. If pairs differ in length these are not parallel, and a "
        "word orthogonal to r is biased.",
    )
    yield (
        *("no_false_alarm", False, "r is not parallel to m_1 - m_2 if pairs differ in length"),
        "A word orthogonal to m_1 - m_2 need not be orthogonal to r.",
    )


def _direct_bias(params: Mapping[str, Any], design: Design) -> _Statements:
    k = params.get("n_components", 1)
    if params.get("direction", "pca") == "means":
        yield from _share_of_d("|cos(w, m_1 - m_2)|^c = (|s(w)|/d)^c")
        return
    # The centred tuples span no more directions than that.
    if not 1 <= k <= min(design.dim - 1, (design.n_groups - 1) * design.group_size):
        return
    yield (
        *("comparable", True, "[0, 1] in every model"),
        "Each term is the share of a unit vector that lies in the bias subspace, to the power of "
        "c. It is 1 within the subspace and 0 across (0^0 being 0 here), whatever the groups are; "
        "the mean has the same extremes.",
        f"theorem 5, {_PAPER}",
    )
    if design.group_size > k:
        yield (
            *("trustworthy", False, "the principal component may be across to m_1 - m_2"),
            "Pairs +-(1, 2, 0)/sqrt(5) and +-(1, -2, 0)/sqrt(5) have the first principal component "
            "(0, 1, 0). The word (1, 0, 0) has the largest possible bias, 0.89, and direct bias 0. "
            "Each further component needs further pairs.",
            f"theorem 6, {_PAPER}",
        )
        yield (
            *("no_false_alarm", False, "the principal component may be across to m_1 - m_2"),
            "With the same pairs the word (0, 1, 0) has equal mean cosines with both groups, and "
            "direct bias 1.",
            f"theorem 6, {_PAPER}",
        )


def _same(params: Mapping[str, Any], design: Design) -> _Statements:
    if design.n_groups == 2:
        yield from _share_of_d("|cos(w, m_1 - m_2)| = |s(w)|/d")
        return
    if params.get("combine", "sum") == "projection":
        yield (
            *("comparable", True, "[0, 1] in every model"),
            "Each term is the length of the projection of w on the span of the m_1 - m_i: 1 within "
            "it, 0 across.",
        )
    else:
        yield (
            *("comparable", False, "with 3 groups or more the maximum depends on the groups"),
            "SAME(w) = |cos(w, b_1)| + sum over i >= 2 of |cos(w, b_i)| ||b_i||, the b_i being "
            "orthogonal. By Cauchy and Schwarz its maximum is sqrt(1 + sum over i >= 2 of "
            "||b_i||^2), reached at w proportional to b_1^ + sum of ||b_i|| b_i^: it depends on "
            "the groups, and on their order. (For two groups, and for combine='projection', it is "
            "1.)",
        )
    yield (
        *("trustworthy", True, "0 only if every word is across to all m_1 - m_i"),
        "The mean of non-negative terms is 0 only if each is. A term is 0 only if w is orthogonal "
        "to all directions, which span the m_1 - m_i (those dropped lie in the span of the "
        "others); so all s_ij(w) are 0.",
    )
    yield (
        *("no_false_alarm", True, "0 where no word is biased"),
        "Where all s_ij(w) are 0, w is orthogonal to all m_1 - m_i, and to every direction.",
    )


def _share_of_d(term: str) -> _Statements:
    yield (
        *("comparable", True, "[0, 1] in every model, as s is divided by d"),
        f"The score is the mean of {term}, whose extremes are 0 and 1 whatever the groups are "
        "(theorem 1 divided by d). Undefined only if both means are equal, when nothing can be "
        "biased.",
    )
    yield (
        *("trustworthy", True, "0 only if every |s| is 0"),
        f"The mean of {term} has no negative terms, so it is 0 only if every s(w) is.",
    )
    yield "no_false_alarm", True, "0 where no word is biased", _NO_BIAS_NO_SCORE


def _rnsb(params: Mapping[str, Any], design: Design) -> _Statements:  # noqa: ARG001
    default = params.get("estimator") is None and params.get("estimator_params") is None
    if not default or params.get("holdout", True):
        return
    yield (
        *("comparable", False, "the maximum depends on how sure the classifier is"),
        "The classifier gives a word the probability 1/(1 + exp(-(b + beta . w))), which unit "
        "vectors keep between those of b - ||beta|| and b + ||beta||. The divergence is largest "
        "when k words have the one and the others the other, k as is best. That grows with "
        "||beta||, which is near 0 for near groups. (Raw vectors of any length come "
        "near ln N, without reaching it.)",
    )
    yield (
        *("trustworthy", False, "a lean that all words share goes unseen"),
        "The probabilities are normalised, so if all words have the same one, however far from "
        "1/2, the divergence is 0.",
    )
    yield (
        *("no_false_alarm", False, "the classifier's direction is not m_1 - m_2"),
        "Attribute words near the boundary count more in beta than the others, so that beta is not "
        "parallel to m_1 - m_2 in general. Words without bias then have different probabilities.",
    )


_PROOFS: Final[Mapping[type[BaseMetric], Any]] = {
    IndividualBias: _individual_bias,
    WEAT: _weat,
    SCWEAT: _sc_weat,
    GeneralizedWEAT: _generalized_weat,
    RND: _rnd,
    MAC: _mac,
    ECT: _ect,
    RIPA: _ripa,
    DirectBias: _direct_bias,
    SAME: _same,
    RNSB: _rnsb,
}


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
