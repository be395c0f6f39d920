"""Word Embedding Association Test (Caliskan, Bryson and Narayanan, Science 2017)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from wefe._checks import check_bool, check_choice, check_positive_int
from wefe.embeddings import EmbeddedSet, Lookup
from wefe.metrics._base import BaseMetric, Measurement, Scale, distinct_sizes
from wefe.metrics._geometry import Vectors, association, unit
from wefe.metrics._permutation import PermutationTest, permutation_test
from wefe.metrics._registry import register
from wefe.metrics._word_counts import WordCounts
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import OPPOSITE, MetricResult

logger = logging.getLogger(__name__)

_ALTERNATIVES: dict[str, Literal["less", "greater", "two-sided"]] = {
    "left-sided": "less",
    "right-sided": "greater",
    "two-sided": "two-sided",
}

# Share of the mean square below which a variance is recomputed without cancellation.
_TOO_LITTLE_LEFT = 1e-6

_P_VALUE_DEFAULTS = ("approximate", "right-sided")

# Of each one-sided test where the two-sided one has 0.05.
_TAIL = 0.025


def weat(x: npt.ArrayLike, y: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """WEAT statistic: the differential association of two target sets with two attribute sets.

    Parameters
    ----------
    x, y, a, b : array-like of shape (n_words, dim)
        Target sets (`x`, `y`) and attribute sets (`a`, `b`), one word per row.

    Returns
    -------
    float
        The sum of s(w, A, B) over `x` minus the sum over `y`. Positive when `x` leans to `a` and
        `y` to `b`; 0 if no association was measured. At most (n_x + n_y) times 2 in magnitude; it
        grows with the sets.

    Raises
    ------
    ValueError
        If an array is empty, not finite or has a zero row, or the dimensions do not fit.

    See Also
    --------
    wefe.metrics.association : s(w, A, B).
    wefe.metrics.weat_effect_size : the same difference in standard deviations.
    wefe.metrics.permutation_test : whether random splits of the target words give as much.

    References
    ----------
    Caliskan, Bryson and Narayanan, "Semantics derived automatically from language corpora contain
    human-like biases", Science 356, 2017.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> weat([he], [she], [he], [she])
    2.0
    """
    return float(association(x, a, b).sum() - association(y, a, b).sum())


def weat_effect_size(
    x: npt.ArrayLike, y: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike, ddof: int = 0
) -> float:
    """WEAT effect size: the difference of mean associations in standard deviations.

    Parameters
    ----------
    x, y, a, b : array-like of shape (n_words, dim)
        Target sets (`x`, `y`) and attribute sets (`a`, `b`), one word per row.
    ddof : {0, 1}, default=0
        0 divides by the population deviation of the pooled associations, as the documented
        figures do; 1 by the sample deviation, as Caliskan's published effect sizes do.

    Returns
    -------
    float
        (mean s over `x` - mean s over `y`) / deviation of s over both, where s is s(w, A, B).
        Positive when `x` leans to `a` and `y` to `b`; 0 if no association was measured. With
        ``ddof=0`` at most n / sqrt(n_x n_y) in magnitude, n = n_x + n_y: 2 for sets of equal size;
        with ``ddof=1`` that times sqrt((n - 1) / n). nan if all associations are equal.

    Raises
    ------
    ValueError
        If an array is empty, not finite or has a zero row, the dimensions do not fit, or `ddof` is
        neither 0 nor 1.

    See Also
    --------
    wefe.metrics.weat : the statistic.
    wefe.metrics.sc_weat_by_word : the effect size of single words.

    Notes
    -----
    It is the gap between the two sets in deviations of their own words, not an amount: two sets
    whose words differ little, but all alike, reach the largest value.

    References
    ----------
    Caliskan, Bryson and Narayanan, "Semantics derived automatically from language corpora contain
    human-like biases", Science 356, 2017.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> weat_effect_size([he], [she], [he], [she])
    2.0
    """
    return _effect_size(association(x, a, b), association(y, a, b), ddof)


def _effect_size(s_x: Vectors, s_y: Vectors, ddof: int) -> float:
    if ddof not in (0, 1):
        raise ValueError(f"ddof must be 0 (population) or 1 (sample); got {ddof!r}.")
    pooled = np.concatenate([s_x, s_y])
    spread = float(pooled.std(ddof=ddof))
    # Equal values leave rounding noise where the deviation should be exactly 0.
    if spread <= 1e-14 * max(1.0, float(np.abs(pooled).max())):
        return math.nan
    return float(s_x.mean() - s_y.mean()) / spread


@register
class WEAT(BaseMetric):
    """Word Embedding Association Test, its effect size and its permutation test.

    Does the first target set lean to the first attribute set more than the second one does?
    Positive if so, 0 if no bias was measured; both may lean the same way. The effect size is the
    gap in deviations of the words themselves, not an amount. :func:`weat` and
    :func:`weat_effect_size` hold the mathematics.

    References
    ----------
    Caliskan, Bryson and Narayanan, "Semantics derived automatically from language corpora contain
    human-like biases", Science 356, 2017.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> flowers_insects = load_weat_queries()[0]
    >>> result = WEAT().run_query(
    ...     flowers_insects, load_test_model(), calculate_p_value=True, p_value_method="exact"
    ... )
    >>> round(result["effect_size"], 2)
    1.2
    >>> result["p_value"] < 1e-4
    True
    """

    metric_template = (2, 2)
    metric_name = "Word Embedding Association Test"
    metric_short_name = "WEAT"
    nan_values = {"weat": math.nan, "effect_size": math.nan, "p_value": math.nan}  # noqa: RUF012
    _params_for_subsets = {"return_effect_size": True}  # noqa: RUF012

    def run_query(
        self,
        query: Query,
        model: WordEmbeddingModel,
        return_effect_size: bool = False,
        calculate_p_value: bool = False,
        p_value_test_type: Literal["left-sided", "right-sided", "two-sided"] = "right-sided",
        p_value_method: Literal["approximate", "exact"] = "approximate",
        p_value_iterations: int = 10_000,
        p_value_verbose: bool = False,
        *,
        ddof: Literal[0, 1] = 0,
        random_state: int | np.random.Generator | None = None,
        **lookup: Unpack[Lookup],
    ) -> MetricResult:
        """Measure a model with WEAT.

        Parameters
        ----------
        query : Query
            Two target sets and two attribute sets.
        model : WordEmbeddingModel
            The model to be measured.
        return_effect_size : bool, default=False
            Put the effect size under 'result' instead of the statistic.
        calculate_p_value : bool, default=False
            Run the permutation test: the words of both target sets are split anew into sets of
            the same sizes.
        p_value_test_type : {'right-sided', 'left-sided', 'two-sided'}, default='right-sided'
            Count splits whose statistic is at least as large as, at most as large as, or at least
            as large in magnitude as the observed one. Ties count.
        p_value_method : {'approximate', 'exact'}, default='approximate'
            'approximate' draws random splits, without replacement, and returns (r + 1)/(n + 1).
            'exact' counts all splits, or encloses their share between guaranteed bounds and returns
            the upper one. For sets as large as the published ones they are less than 1 % apart;
            where they are wider, the log says so. `details['permutation_test']` has both.
        p_value_iterations : int, default=10000
            Number of random splits.
        p_value_verbose : bool, default=False
            Log the outcome of the test at level INFO.
        ddof : {0, 1}, default=0
            Deviation in the effect size: population (0) or sample (1).
        random_state : int, Generator or None, default=None
            Makes the random splits reproducible.
        **lookup
            How words are looked up, see :class:`wefe.embeddings.Lookup`.

        Returns
        -------
        MetricResult
            'query_name', 'result', 'weat' (the statistic), 'effect_size', 'p_value' (in (0, 1];
            NaN unless asked for).
            `details['associations']` has s(w, A, B) for every target word,
            `details['permutation_test']` the test (if asked for), a :class:`PermutationTest`, and
            `details['nan_reasons']` says why the effect size is undefined (if it is). `warnings`
            says if a one-sided test misses a strong effect in the opposite direction: the other
            one-sided p-value is at most 0.025.

        Raises
        ------
        TypeError
            If `query` or `model` is something else, or an option is unknown or of a wrong type.
        ValueError
            If the query has not two target sets and two attribute sets, or an option has no such
            value.
        UnusableVectorError
            If a word of the query has a zero or non-finite vector.
        """
        if not calculate_p_value and (p_value_method, p_value_test_type) != _P_VALUE_DEFAULTS:
            logger.warning("no p-value is calculated: that needs calculate_p_value=True")
        return self._run(
            query,
            model,
            lookup,
            return_effect_size=check_bool("return_effect_size", return_effect_size),
            calculate_p_value=check_bool("calculate_p_value", calculate_p_value),
            alternative=_ALTERNATIVES[
                check_choice("p_value_test_type", p_value_test_type, _ALTERNATIVES)
            ],
            p_value_method=check_choice("p_value_method", p_value_method, ("approximate", "exact")),
            p_value_iterations=check_positive_int("p_value_iterations", p_value_iterations),
            p_value_verbose=check_bool("p_value_verbose", p_value_verbose),
            ddof=ddof,
            random_state=random_state,
        )

    def scale(self, query: Query | None = None, **params: Any) -> Scale:
        """Say how scores are to be read; with ``return_effect_size`` those of the effect size.

        Parameters
        ----------
        query : Query, optional
            The sizes of its target sets, n_x and n_y, bound the score.
        **params
            Parameters that `run_query` is called with; `return_effect_size`, `ddof` and `strategy`
            matter.

        Returns
        -------
        Scale
            With n = n_x + n_y: label 'WEAT' and at most 2 n in magnitude, or for the effect size
            'WEAT-ES' and at most n / sqrt(n_x n_y), for ``ddof=1`` that times sqrt((n - 1) / n).
            Without a query unbounded. 0 means that no bias was measured.
        """
        sizes = None if query is None else distinct_sizes(query.target_sets, params)
        if not params.get("return_effect_size"):
            # Each association is at most 2, so the sets' sizes bound the sum.
            bound = math.inf if sizes is None else 2.0 * sum(sizes)
            return Scale("WEAT", (-bound, bound), 0.0)
        bound = math.inf
        if sizes is not None:
            n = sum(sizes)
            bound = n / math.sqrt(math.prod(sizes))
            if params.get("ddof", 0) == 1:
                bound *= math.sqrt((n - 1) / n)
        return Scale("WEAT-ES", (-bound, bound), 0.0)

    def _compute(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        *,
        return_effect_size: bool,
        calculate_p_value: bool,
        alternative: Literal["less", "greater", "two-sided"],
        p_value_method: Literal["approximate", "exact"],
        p_value_iterations: int,
        p_value_verbose: bool,
        ddof: int,
        random_state: int | np.random.Generator | None,
    ) -> Measurement:
        a, b = (part.vectors for part in attributes)
        s_x, s_y = (association(part.vectors, a, b) for part in targets)
        statistic = float(s_x.sum() - s_y.sum())
        effect_size = _effect_size(s_x, s_y, ddof)
        details: dict[str, Any] = {
            "associations": {
                part.name: dict(zip(part.words, s.tolist(), strict=True))
                for part, s in zip(targets, (s_x, s_y), strict=True)
            }
        }
        p_value = math.nan
        warnings: tuple[str, ...] = ()
        if calculate_p_value:
            run_test = partial(
                permutation_test,
                s_x,
                s_y,
                method=p_value_method,
                n_iterations=p_value_iterations,
                random_state=random_state,
            )
            details["permutation_test"] = test = run_test(alternative=alternative)
            p_value = test.p_value
            warnings = _warn_if_opposite(test, run_test)
            _log_if_not_as_asked(test, p_value_method)
            if p_value_verbose:
                logger.info("%s", test)
        undefined = None
        if math.isnan(effect_size):
            undefined = "all target words have the same association, so the deviation is 0"
            details["nan_reasons"] = {"effect_size": undefined}
        return Measurement(
            {
                "result": effect_size if return_effect_size else statistic,
                "weat": statistic,
                "effect_size": effect_size,
                "p_value": p_value,
            },
            undefined if return_effect_size else None,
            details,
            warnings,
        )

    def _compute_cases(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        counts: Sequence[WordCounts],
        **params: Any,
    ) -> Vectors:
        x, y, a, b = (unit(part.name, part.vectors) for part in (*targets, *attributes))
        count_x, count_y, count_a, count_b = counts
        both = np.concatenate([x, y])
        # Similarities once; in each case, a mean of them per target word: (n_cases or 1, n_words).
        s = count_a.means(a @ both.T) - count_b.means(b @ both.T)
        s_x, s_y = s[:, : len(x)], s[:, len(x) :]
        if not params["return_effect_size"]:
            return np.asarray(count_x.sums_by_case(s_x) - count_y.sums_by_case(s_y))
        # An effect size does not depend on where zero is, and near the mean less cancels.
        zero = s.mean(axis=1, keepdims=True)
        s_x, s_y = s_x - zero, s_y - zero
        sum_x, sum_y = count_x.sums_by_case(s_x), count_y.sums_by_case(s_y)
        squares = count_x.sums_by_case(s_x**2) + count_y.sums_by_case(s_y**2)
        n = count_x.totals + count_y.totals
        variance = squares / n - ((sum_x + sum_y) / n) ** 2
        difference = sum_x / count_x.totals - sum_y / count_y.totals
        with np.errstate(invalid="ignore", divide="ignore"):
            scores = difference / np.sqrt(variance * n / (n - params["ddof"]))
        # What is left of the variance after subtractions may be nothing but noise.
        noise = _TOO_LITTLE_LEFT * np.maximum(squares / n, _TOO_LITTLE_LEFT * (zero**2).max())
        for case in np.flatnonzero(~(variance > noise)):
            scores[case] = self._compute_case(targets, attributes, counts, int(case), **params)
        return np.asarray(scores)


def _is_opposite(test: PermutationTest, run_test: Callable[..., PermutationTest]) -> bool:
    """Tell whether a one-sided test misses an effect that is significant on the other side."""
    if test.alternative == "two-sided" or test.p_value < 1 - _TAIL:
        return False
    # A p-value near 1 is not enough: ties count on both sides, and few words have few splits.
    other = run_test(alternative="less" if test.alternative == "greater" else "greater")
    return other.p_value <= _TAIL


def _warn_if_opposite(
    test: PermutationTest, run_test: Callable[..., PermutationTest]
) -> tuple[str, ...]:
    if not _is_opposite(test, run_test):
        return ()
    return (f"{OPPOSITE}: a one-sided test misses it, use p_value_test_type='two-sided'",)


def _log_if_not_as_asked(test: PermutationTest, asked: str) -> None:
    lower, upper = test.p_value_bounds
    if asked != "exact":
        return
    if test.method == "approximate":
        logger.warning(
            "too many words for an exact p-value; %d random splits were drawn instead",
            test.n_splits,
        )
    elif upper - lower > 0.01 * upper:
        logger.warning(
            "the exact p-value is known to lie between %.3g and %.3g; the upper one is returned",
            lower,
            upper,
        )
