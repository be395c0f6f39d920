"""Word Embedding Association Test (Caliskan, Bryson and Narayanan, Science 2017)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._wordset import Vectors, WordSet, word_sets
from wefe.embeddings import Lookup
from wefe.metrics._base import BaseMetric, Measurement, Scale, TestType, distinct_sizes
from wefe.metrics._exchange import Sums
from wefe.metrics._geometry import associations, by_word
from wefe.metrics._parameters import Count
from wefe.metrics._permutation import Method
from wefe.metrics._registry import register
from wefe.query import Query

Ddof: TypeAlias = Literal[0, 1]

# Question and meaning, of the statistic and of the effect size.
_QUESTIONS = (
    (
        "how much closer is each target set to its attribute words, summed over words?",
        "How much closer, by cosine, the first target words are to the first attribute words than "
        "to the second, minus the same for the second target words; summed over words. The sign "
        "gives the direction.",
    ),
    (
        "how far apart are the target sets, in standard deviations of their words' associations?",
        "The effect size of WEAT: the difference of the mean associations of both target sets, in "
        "standard deviations of the words themselves. It does not measure how large the "
        "associations are. The sign gives the direction.",
    ),
)
_FINDINGS_OF_EFFECT_SIZES = {
    "undefined-effect-size",
    "separation-missed",
    "effect-without-separation",
    "large-effect-tiny-biases",
    "large-but-not-significant",
}


def weat(x: npt.ArrayLike, y: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """WEAT statistic: the differential association of two target sets with two attribute sets.

    Parameters
    ----------
    x, y, a, b : array-like of shape (n_words, dim)
        Target sets (`x`, `y`) and attribute sets (`a`, `b`), one word per row.

    Returns
    -------
    float
        Sum of s(w, A, B) over `x` minus the sum over `y`: positive if `x` leans to `a` and `y` to
        `b`. At most 2 (n_x + n_y) in magnitude.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> weat([he], [she], [he], [she])
    2.0
    """
    *targets, first, second = word_sets(x=x, y=y, a=a, b=b)
    return float(WEAT()._scores(targets, [first, second])[0])


def weat_effect_size(
    x: npt.ArrayLike, y: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike, ddof: Ddof = 0
) -> float:
    """WEAT effect size: the difference of mean associations in standard deviations.

    Parameters
    ----------
    x, y, a, b : array-like of shape (n_words, dim)
        As in :func:`weat`.
    ddof : {0, 1}, default=0
        Deviation over both target sets: of the population (0), as for the documented figures, or of
        a sample (1), as for Caliskan's published effect sizes.

    Returns
    -------
    float
        (mean s(w, A, B) over `x` - mean over `y`) / deviation over both. It measures how clear the
        gap between the sets is, not how large: if the words of each set are alike, it reaches its
        maximum, n / sqrt(n_x n_y) with n = n_x + n_y, which is 2 for sets of equal size (with
        ``ddof=1`` times sqrt((n - 1) / n)). nan if all associations are equal.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> weat_effect_size([he], [she], [he], [she])
    2.0
    """
    *targets, first, second = word_sets(x=x, y=y, a=a, b=b)
    return float(WEAT(return_effect_size=True, ddof=ddof)._scores(targets, [first, second])[0])


def effect_size(x: WordSet, y: WordSet, s_x: Vectors, s_y: Vectors, ddof: int) -> Vectors:
    """Difference of means in deviations of both sets: (n_cases,); NaN if all values are equal."""
    n = x.total + y.total
    sum_x, sum_y = x.sum(s_x), y.sum(s_y)
    center = ((sum_x + sum_y) / n)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (x.sum((s_x - center) ** 2) + y.sum((s_y - center) ** 2)) / (n - ddof)
    deviation = np.sqrt(variance)
    # Equal values leave rounding noise where the deviation should be exactly 0.
    largest = max(1.0, float(np.abs(s_x).max()), float(np.abs(s_y).max()))
    deviation = np.where(deviation > 1e-14 * largest, deviation, math.nan)
    return np.asarray((sum_x / x.total - sum_y / y.total) / deviation)


def effect_size_of(s_x: Vectors, s_y: Vectors, ddof: int) -> float:
    sets = (WordSet("x", (), s_x[:, None]), WordSet("y", (), s_y[:, None]))
    return float(effect_size(*sets, s_x[None], s_y[None], ddof)[0])


def sums_of(x: Vectors, y: Vectors, ddof: int | None) -> Sums:
    """Return the sums that determine the effect size or, without `ddof`, the statistic."""
    if ddof is None:
        return Sums(x, y, np.subtract)
    # Over all words, so that no split changes it.
    deviation = np.concatenate([x, y]).std(ddof=ddof)
    return Sums(x, y, lambda of_x, of_y: (of_x / len(x) - of_y / len(y)) / deviation)


def largest_effect_size(sets: Sequence[Sequence[Any]] | None, lookup: Lookup, ddof: int) -> float:
    """Largest effect size of two sets; infinite if their sizes are unknown."""
    sizes = distinct_sizes(sets, lookup)
    if sizes is None:
        return math.inf
    n = sum(sizes)
    # Reached where all words of a set have one value.
    return n / math.sqrt(math.prod(sizes)) * (math.sqrt((n - 1) / n) if ddof == 1 else 1.0)


@register
class WEAT(BaseMetric):
    """Word Embedding Association Test: statistic, effect size and permutation test.

    Does the first target set lean to the first attribute set more than the second target set does?
    The score is positive if so, and 0 if no bias was measured; both sets may lean the same way. For
    formulas and ranges see :func:`weat` and :func:`weat_effect_size`. Source: Caliskan, Bryson and
    Narayanan, "Semantics derived automatically from language corpora contain human-like biases",
    Science 356, 2017.

    The result has 'weat' (the statistic), 'effect_size' and 'p_value' (in (0, 1]; NaN unless
    requested). `details` has 'associations', s(w, A, B) of every target word; 'permutation_test',
    if requested; and 'nan_reasons', if the effect size is undefined. `warnings` tells if a
    one-sided test misses a strong effect in the opposite direction.

    Parameters
    ----------
    return_effect_size : bool, default=False
        Use the effect size as 'result' instead of the statistic.
    ddof : {0, 1}, default=0
        Deviation in the effect size: population (0) or sample (1).
    p_value_method : {'approximate', 'exact', 'saddlepoint', 'auto'}, default='approximate'
        See :class:`BaseMetric`, as for the other parameters of the test.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> flowers_insects = load_weat_queries()[0]
    >>> result = WEAT().run_query(flowers_insects, load_test_model(), calculate_p_value=True)
    >>> round(result["effect_size"], 2), result["p_value"] < 0.001
    (1.2, True)
    """

    metric_template = (2, 2)
    metric_name = "Word Embedding Association Test"
    metric_short_name = "WEAT"
    null_exchange = "targets"
    nan_values = {"weat": math.nan, "effect_size": math.nan, "p_value": math.nan}  # noqa: RUF012
    subset_params = {"return_effect_size": True}  # noqa: RUF012
    scores_many_models = True

    # In their documented order, as they can be given by position.
    return_effect_size: bool = False
    calculate_p_value: bool = False
    p_value_test_type: TestType = "right-sided"
    p_value_method: Method = "approximate"
    p_value_iterations: Count = 10_000
    p_value_verbose: bool = False
    ddof: Ddof = 0

    @property
    def question(self) -> str:
        """What it asks, in a line."""
        return _QUESTIONS[self.return_effect_size][0]

    @property
    def meaning(self) -> str:
        """What a score means, in a sentence or two."""
        return _QUESTIONS[self.return_effect_size][1]

    @property
    def audit_findings(self) -> frozenset[str]:
        """Kinds of audit warnings that concern its score."""
        of_both = {"cancelling-biases", "common-lean", "few-words"}
        if not self.return_effect_size:
            return frozenset(of_both | {"small-attribute-difference", "unequal-sets"})
        # An effect size is a share of the deviation; it does not grow with the attribute sets.
        return frozenset(of_both | _FINDINGS_OF_EFFECT_SIZES)

    def _report_params(
        self, own: Mapping[str, Any], random_state: int, p_value_test_type: TestType
    ) -> dict[str, Any]:
        params = super()._report_params(own, random_state, p_value_test_type)
        return {"return_effect_size": self.return_effect_size, **params}

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        sets, bound = None if query is None else query.target_sets, math.inf
        if self.return_effect_size:
            bound = largest_effect_size(sets, lookup, self.ddof)
        elif sizes := distinct_sizes(sets, lookup):
            bound = 2.0 * sum(sizes)  # each association is at most 2
        return Scale("WEAT-ES" if self.return_effect_size else "WEAT", (-bound, bound), 0.0)

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        x, y = targets
        s_x, s_y = (associations(part, *attributes) for part in targets)
        if self.return_effect_size:
            return effect_size(x, y, s_x, s_y, self.ddof)
        return np.asarray(x.sum(s_x) - y.sum(s_y))

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        x, y = targets
        s_x, s_y = (associations(part, *attributes) for part in targets)
        statistic = float((x.sum(s_x) - y.sum(s_y))[0])
        effect = float(effect_size(x, y, s_x, s_y, self.ddof)[0])
        of_sets = zip(targets, (s_x, s_y), strict=True)
        details: dict[str, Any] = {
            "associations": {part.name: by_word(part, s[0]) for part, s in of_sets}
        }
        reason = None
        if math.isnan(effect):
            why = "all target words have the same association, so the deviation is 0"
            details["nan_reasons"] = {"effect_size": why}
            reason = why if self.return_effect_size else None
        result = effect if self.return_effect_size else statistic
        values = {"weat": statistic, "effect_size": effect, "p_value": math.nan}
        return Measurement({"result": result, **values}, reason, details)

    def _sums(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Sums:
        x, y = (associations(part, *attributes)[0] for part in targets)
        return sums_of(x, y, self.ddof if self.return_effect_size else None)
