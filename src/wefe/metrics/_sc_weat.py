"""Single-category WEAT, also known as WEFAT (Caliskan, Bryson and Narayanan, Science 2017)."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from wefe._checks import as_seed, check_bool, check_choice, check_positive_int
from wefe.embeddings import EmbeddedSet, Lookup
from wefe.metrics._base import BaseMetric, Measurement, Scale, distinct_sizes
from wefe.metrics._geometry import Vectors, unit
from wefe.metrics._permutation import PermutationTest, permutation_test
from wefe.metrics._registry import register
from wefe.metrics._weat import (
    _ALTERNATIVES,
    _TOO_LITTLE_LEFT,
    _is_opposite,
    _log_if_not_as_asked,
)
from wefe.metrics._word_counts import WordCounts, n_cases_of
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import OPPOSITE, MetricResult

logger = logging.getLogger(__name__)

_REDUCE = ("mean", "mean_abs")
_P_VALUE_DEFAULTS = ("exact", "right-sided")


def sc_weat_by_word(
    words: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike, ddof: int = 0
) -> Vectors:
    """Effect size of each word: how much nearer it is to one attribute set than to the other.

    Parameters
    ----------
    words : array-like of shape (n_words, dim)
        The words that are measured, each by itself.
    a, b : array-like of shape (n_a, dim) and (n_b, dim)
        Attribute sets.
    ddof : {0, 1}, default=0
        0 divides by the population deviation of the cosines with all attribute words, as the
        effect size of WEAT does by default here; 1 by the sample deviation.

    Returns
    -------
    ndarray of shape (n_words,)
        (mean cosine with `a` - mean cosine with `b`) / deviation of all cosines of the word.
        Positive towards `a`; 0 if no association was measured. With ``ddof=0`` at most
        n / sqrt(n_a n_b) in magnitude, n = n_a + n_b: 2 for sets of equal size. nan for a word
        whose cosines are all equal.

    Raises
    ------
    ValueError
        If an array is empty, not finite or has a zero row, the dimensions do not fit, or `ddof` is
        neither 0 nor 1.

    See Also
    --------
    wefe.metrics.association : the numerator.
    wefe.metrics.weat_effect_size : the same of two target sets.

    References
    ----------
    Caliskan, Bryson and Narayanan, "Semantics derived automatically from language corpora contain
    human-like biases", Science 356, 2017: the Word Embedding Factual Association Test.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> sc_weat_by_word([[2.0, 1.0], [1.0, 1.0], [0.0, 3.0]], [he], [she])
    array([ 2., nan, -2.])
    """
    return _effect_sizes(*_cosines(words, a, b), ddof)


def sc_weat(words: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike, ddof: int = 0) -> float:
    """Mean effect size of the words of a set.

    Parameters
    ----------
    words : array-like of shape (n_words, dim)
        The words that are measured, each by itself.
    a, b : array-like of shape (n_a, dim) and (n_b, dim)
        Attribute sets.
    ddof : {0, 1}, default=0
        Population (0) or sample deviation (1) of the cosines; see :func:`sc_weat_by_word`.

    Returns
    -------
    float
        Positive when the words lean to `a`; 0 if no association was measured on average, which
        may hide words that lean to opposite sides. With ``ddof=0`` in [-2, 2] for attribute sets of
        equal size. nan if the effect size of a word is.

    Raises
    ------
    ValueError
        As :func:`sc_weat_by_word` does.

    See Also
    --------
    wefe.metrics.sc_weat_by_word : word by word.

    References
    ----------
    Caliskan, Bryson and Narayanan, Science 356, 2017. The mean over words is not theirs.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> sc_weat([[2.0, 1.0], [3.0, 1.0]], [he], [she])
    2.0
    """
    return float(sc_weat_by_word(words, a, b, ddof).mean())


def _cosines(words: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Vectors, Vectors]:
    of_words = unit("words", words)
    return of_words @ unit("a", a).T, of_words @ unit("b", b).T


def _effect_sizes(cos_a: Vectors, cos_b: Vectors, ddof: int) -> Vectors:
    if ddof not in (0, 1):
        raise ValueError(f"ddof must be 0 (population) or 1 (sample); got {ddof!r}.")
    spread = np.concatenate([cos_a, cos_b], axis=1).std(axis=1, ddof=ddof)
    # Equal cosines leave rounding noise where the deviation should be exactly 0.
    spread[spread <= 1e-14] = np.nan
    return np.asarray((cos_a.mean(axis=1) - cos_b.mean(axis=1)) / spread)


@register
class SCWEAT(BaseMetric):
    """Single-category WEAT: the effect size of every word, its mean, and permutation tests.

    The words of one target set are measured one by one: does each lean to the first attribute set
    rather than to the second? :func:`sc_weat_by_word` holds the mathematics. What Caliskan et al.
    call WEFAT sets these effect sizes against a number of the world for each word.

    References
    ----------
    Caliskan, Bryson and Narayanan, "Semantics derived automatically from language corpora contain
    human-like biases", Science 356, 2017.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> groups = [["she", "her", "woman"], ["he", "him", "man"]]
    >>> query = Query([["nurse", "teacher", "pilot"]], groups)
    >>> result = SCWEAT().run_query(query, load_test_model(), calculate_p_value=True)
    >>> {word: round(value, 2) for word, value in result["effect_sizes"].items()}
    {'nurse': 1.9, 'teacher': 1.6, 'pilot': 1.46}
    >>> result["p_values"]["nurse"]
    0.05
    """

    metric_template = (1, 2)
    metric_name = "Single-Category WEAT"
    metric_short_name = "SC-WEAT"
    nan_values = {"sc_weat": math.nan, "effect_sizes": {}, "p_values": {}}  # noqa: RUF012

    def run_query(
        self,
        query: Query,
        model: WordEmbeddingModel,
        *,
        reduce: Literal["mean", "mean_abs"] = "mean",
        calculate_p_value: bool = False,
        p_value_test_type: Literal["left-sided", "right-sided", "two-sided"] = "right-sided",
        p_value_method: Literal["approximate", "exact"] = "exact",
        p_value_iterations: int = 10_000,
        ddof: Literal[0, 1] = 0,
        random_state: int | np.random.Generator | None = None,
        **lookup: Unpack[Lookup],
    ) -> MetricResult:
        """Measure a model with SC-WEAT.

        Parameters
        ----------
        query : Query
            One target set, the words to be measured, and two attribute sets.
        model : WordEmbeddingModel
            The model to be measured.
        reduce : {'mean', 'mean_abs'}, default='mean'
            The score of the set. 'mean' keeps the signs: positive towards the first attribute
            set. 'mean_abs' is the mean magnitude, for words that lean to different sides, such as
            occupations; in a mean they would cancel.
        calculate_p_value : bool, default=False
            Run a permutation test for each word: the words of both attribute sets are split anew
            into sets of the same sizes.
        p_value_test_type : {'right-sided', 'left-sided', 'two-sided'}, default='right-sided'
            Count splits whose difference of mean cosines is at least as large as, at most as
            large as, or at least as large in magnitude as the observed one. Ties count.
        p_value_method : {'exact', 'approximate'}, default='exact'
            As for :class:`WEAT`: 'exact' counts all splits, or encloses their share between
            guaranteed bounds and returns the upper one; 'approximate' draws random splits.
        p_value_iterations : int, default=10000
            Number of random splits.
        ddof : {0, 1}, default=0
            Deviation in the effect size: population (0) or sample (1).
        random_state : int, Generator or None, default=None
            Makes the random splits reproducible. All words are tested with the same ones.
        **lookup
            How words are looked up, see :class:`wefe.embeddings.Lookup`.

        Returns
        -------
        MetricResult
            'query_name', 'result', 'sc_weat' (both the score), 'effect_sizes': word -> its effect
            size, and 'p_values': word -> p-value, empty unless asked for. The score is NaN if the
            effect size of a word is; `details['nan_reasons']` then says why, word by word.
            `details['associations']` has the numerators s(w, A, B), and
            `details['permutation_tests']` the tests (if asked for): word ->
            :class:`PermutationTest`. `warnings` names words that are strong in the opposite
            direction of a one-sided test, as in :meth:`WEAT.run_query`.

        Raises
        ------
        TypeError
            If `query` or `model` is something else, or an option is unknown or of a wrong type.
        ValueError
            If the query has not one target set and two attribute sets, or an option has no such
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
            reduce=check_choice("reduce", reduce, _REDUCE),
            calculate_p_value=check_bool("calculate_p_value", calculate_p_value),
            alternative=_ALTERNATIVES[
                check_choice("p_value_test_type", p_value_test_type, _ALTERNATIVES)
            ],
            p_value_method=check_choice("p_value_method", p_value_method, ("approximate", "exact")),
            p_value_iterations=check_positive_int("p_value_iterations", p_value_iterations),
            ddof=ddof,
            random_state=random_state,
        )

    def scale(self, query: Query | None = None, **params: Any) -> Scale:
        """Say how scores are to be read; magnitudes with ``reduce="mean_abs"``.

        Parameters
        ----------
        query : Query, optional
            The sizes of its attribute sets, n_a and n_b, bound the score.
        **params
            Parameters that `run_query` is called with; `reduce`, `ddof` and `strategy` matter.

        Returns
        -------
        Scale
            Label 'SC-WEAT'. With n = n_a + n_b the score is at most n / sqrt(n_a n_b) in magnitude,
            for ``ddof=1`` that times sqrt((n - 1) / n); without a query it is unbounded. 0 means
            that no bias was measured.
        """
        sizes = None if query is None else distinct_sizes(query.attribute_sets, params)
        bound = math.inf
        if sizes is not None:
            n = sum(sizes)
            # Reached where a word has one cosine with all of A and another one with all of B.
            bound = n / math.sqrt(math.prod(sizes))
            if params.get("ddof", 0) == 1:
                bound *= math.sqrt((n - 1) / n)
        lowest = 0.0 if params.get("reduce") == "mean_abs" else -bound
        return Scale("SC-WEAT", (lowest, bound), 0.0)

    def _compute(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        *,
        reduce: str,
        calculate_p_value: bool,
        alternative: Literal["less", "greater", "two-sided"],
        p_value_method: Literal["approximate", "exact"],
        p_value_iterations: int,
        ddof: int,
        random_state: int | np.random.Generator | None,
    ) -> Measurement:
        (part,) = targets
        cos_a, cos_b = _cosines(part.vectors, *(each.vectors for each in attributes))
        effect_sizes = _effect_sizes(cos_a, cos_b, ddof)
        score = float((np.abs(effect_sizes) if reduce == "mean_abs" else effect_sizes).mean())
        associations = cos_a.mean(axis=1) - cos_b.mean(axis=1)
        details: dict[str, Any] = {
            "associations": dict(zip(part.words, associations.tolist(), strict=True))
        }
        tests: dict[str, PermutationTest] = {}
        opposite: list[str] = []
        if calculate_p_value:
            seed = as_seed(random_state)
            for word, x, y in zip(part.words, cos_a, cos_b, strict=True):
                run_test = partial(
                    permutation_test,
                    x,
                    y,
                    method=p_value_method,
                    n_iterations=p_value_iterations,
                    random_state=seed,
                )
                tests[word] = run_test(alternative=alternative)
                if _is_opposite(tests[word], run_test):
                    opposite.append(word)
            details["permutation_tests"] = tests
            for test in tests.values():
                _log_if_not_as_asked(test, p_value_method)
        warnings: tuple[str, ...] = ()
        if opposite:
            warnings = (
                f"words that are {OPPOSITE}: {', '.join(opposite)}; one-sided tests miss them, use "
                "p_value_test_type='two-sided'",
            )
        undefined = [
            word for word, value in zip(part.words, effect_sizes, strict=True) if np.isnan(value)
        ]
        reason = None
        if undefined:
            why = "it has the same cosine with all attribute words, so the deviation is 0"
            details["nan_reasons"] = dict.fromkeys(undefined, why)
            reason = (
                f"{len(undefined)} of {len(part)} words of {part.name!r} have the same cosine with "
                f"all attribute words, so their deviation is 0: {', '.join(undefined[:5])}"
            )
        return Measurement(
            {
                "result": score,
                "sc_weat": score,
                "effect_sizes": dict(zip(part.words, effect_sizes.tolist(), strict=True)),
                "p_values": {word: test.p_value for word, test in tests.items()},
            },
            reason,
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
        (part,), (a, b) = targets, attributes
        of_words, count_a, count_b = counts
        cos_a, cos_b = _cosines(part.vectors, a.vectors, b.vectors)
        # An effect size does not depend on where zero is, and near the mean less cancels.
        zero = np.concatenate([cos_a, cos_b], axis=1).mean(axis=1, keepdims=True)
        cos_a, cos_b = (cos_a - zero).T, (cos_b - zero).T
        # Per case and word: (n_cases or 1, n_words).
        mean_a, mean_b = count_a.means(cos_a), count_b.means(cos_b)
        n_a, n_b = count_a.totals[:, None], count_b.totals[:, None]
        n = n_a + n_b
        squares = (count_a.sums(cos_a**2) + count_b.sums(cos_b**2)) / n
        variance = squares - ((n_a * mean_a + n_b * mean_b) / n) ** 2
        with np.errstate(invalid="ignore", divide="ignore"):
            effects = (mean_a - mean_b) / np.sqrt(variance * n / (n - params["ddof"]))
        if params["reduce"] == "mean_abs":
            effects = np.abs(effects)
        # What is left of a variance after subtractions may be nothing but noise.
        noise = _TOO_LITTLE_LEFT * np.maximum(squares, _TOO_LITTLE_LEFT * (zero.T**2).max())
        doubtful = ~(variance > noise).all(axis=1)
        scores = np.array(of_words.sums_by_case(np.where(doubtful[:, None], 0, effects)))
        scores = np.broadcast_to(scores / of_words.totals, n_cases_of(counts)).copy()
        for case in np.flatnonzero(np.broadcast_to(doubtful, len(scores))):
            scores[case] = self._compute_case(targets, attributes, counts, int(case), **params)
        return scores
