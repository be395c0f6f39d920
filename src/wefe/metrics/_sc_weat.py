"""Single-category WEAT, also known as WEFAT (Caliskan, Bryson and Narayanan, Science 2017)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from wefe._checks import as_seed, listed
from wefe._wordset import Vectors, WordSet, word_sets
from wefe.embeddings import Lookup
from wefe.metrics._base import BaseMetric, Measurement, Scale
from wefe.metrics._exchange import value_test
from wefe.metrics._geometry import associations, by_word
from wefe.metrics._permutation import PermutationTest
from wefe.metrics._registry import register
from wefe.metrics._weat import Ddof, largest_effect_size
from wefe.query import Query
from wefe.results import OPPOSITE


def sc_weat_by_word(
    words: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike, ddof: Ddof = 0
) -> Vectors:
    """Effect size of each word: how much nearer it is to one attribute set than to the other.

    Parameters
    ----------
    words, a, b : array-like of shape (n_words, dim)
        Words, each measured by itself, first and second attribute set.
    ddof : {0, 1}, default=0
        Deviation of the cosines with all attribute words: of the population (0) or of a sample (1).

    Returns
    -------
    ndarray of shape (n_words,)
        (mean cosine with `a` - mean cosine with `b`) / deviation of all cosines of the word.
        Positive towards `a`; 0 if no association was measured; nan if all cosines are equal. The
        bounds are those of :func:`weat_effect_size`, with the sizes of `a` and `b`.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> sc_weat_by_word([[2.0, 1.0], [1.0, 1.0], [0.0, 3.0]], [he], [she])
    array([ 2., nan, -2.])
    """
    of_words, *attributes = word_sets(words=words, a=a, b=b)
    return np.asarray(SCWEAT(ddof=ddof)._by_word(of_words, attributes)[0])


def sc_weat(words: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike, ddof: Ddof = 0) -> float:
    """Mean effect size of the words of a set.

    Parameters
    ----------
    words, a, b, ddof : array-like and {0, 1}
        As in :func:`sc_weat_by_word`.

    Returns
    -------
    float
        Positive if the words lean to `a`; opposite words cancel. nan if that of a word is.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> sc_weat([[2.0, 1.0], [3.0, 1.0]], [he], [she])
    2.0
    """
    return float(sc_weat_by_word(words, a, b, ddof).mean())


@register
class SCWEAT(BaseMetric):
    """Single-category WEAT: does each word of a set lean to one attribute set?

    Computes the effect size of each word of the target set (:func:`sc_weat_by_word`), their mean,
    and permutation tests that split the attribute words anew. Caliskan et al. correlate these
    effect sizes with a statistic for each word and call that WEFAT. Source: Caliskan, Bryson and
    Narayanan, "Semantics derived automatically from language corpora contain human-like biases",
    Science 356, 2017.

    The result has 'sc_weat' (the score), 'effect_sizes' and, if requested, 'p_values' (both word ->
    number). The score is NaN if the effect size of a word is; `details['nan_reasons']` explains it
    word by word. `details` also has 'associations', the numerators s(w, A, B), and, if requested,
    'permutation_tests' (word -> :class:`PermutationTest`). `warnings` names words with a strong
    effect in the opposite direction of a one-sided test.

    Parameters
    ----------
    reduce : {'mean', 'mean_abs'}, default='mean'
        Mean of the effect sizes, or of their magnitudes. The paper has neither.
    ddof : {0, 1}, default=0
        As in :func:`sc_weat_by_word`.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> groups = [["she", "her", "woman"], ["he", "him", "man"]]
    >>> query = Query([["nurse", "teacher", "pilot"]], groups)
    >>> result = SCWEAT().run_query(query, load_test_model())
    >>> {word: round(value, 2) for word, value in result["effect_sizes"].items()}
    {'nurse': 1.9, 'teacher': 1.6, 'pilot': 1.46}
    """

    metric_template = (1, 2)
    metric_name = "Single-Category WEAT"
    metric_short_name = "SC-WEAT"
    question = "does each word of a set lean to one attribute set?"
    meaning = (
        "How far each target word leans to one attribute set rather than to the other, in "
        "standard deviations of its similarities; the mean over the words."
    )
    null_exchange = "attributes"
    nan_values = {"sc_weat": math.nan, "effect_sizes": {}, "p_values": {}}  # noqa: RUF012

    reduce: Literal["mean", "mean_abs"] = "mean"
    ddof: Ddof = 0

    def _report_params(
        self, own: Mapping[str, Any], random_state: int, p_value_test_type: Any
    ) -> dict[str, Any]:
        # Every word is tested, which takes long.
        asked = own.get("calculate_p_value", False)
        return super()._report_params(own, random_state, p_value_test_type) if asked else {}

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        bound = largest_effect_size(
            None if query is None else query.attribute_sets, lookup, self.ddof
        )
        return Scale("SC-WEAT", (0.0 if self.reduce == "mean_abs" else -bound, bound), 0.0)

    def _by_word(self, words: WordSet, attributes: Sequence[WordSet]) -> Vectors:
        """Effect size of each word in each case: (n_cases, n_words)."""
        a, b = attributes
        cos_a, cos_b = (part.unit @ words.unit.T for part in attributes)
        # Shifts do not change an effect size, and centred values lose fewer digits.
        zero = np.concatenate([cos_a, cos_b]).mean(axis=0)
        cos_a, cos_b = cos_a - zero, cos_b - zero
        mean_a, mean_b = a.average(cos_a), b.average(cos_b)
        n_a, n_b = a.total[:, None], b.total[:, None]
        n = n_a + n_b
        center = (n_a * mean_a + n_b * mean_b) / n
        squares = (a.weights.sums(cos_a**2) + b.weights.sums(cos_b**2)) / n
        with np.errstate(invalid="ignore", divide="ignore"):
            deviation = np.sqrt((squares - center**2) * n / (n - self.ddof))
        # Equal cosines leave rounding noise where the deviation should be exactly 0.
        noise = np.maximum(1e-14, 3e-8 * np.abs(center))
        return np.asarray((mean_a - mean_b) / np.where(deviation > noise, deviation, math.nan))

    def _reduced(self, words: WordSet, by_word: Vectors) -> Vectors:
        return words.mean(np.abs(by_word) if self.reduce == "mean_abs" else by_word)

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        (words,) = targets
        by_word = self._by_word(words, attributes)
        # Words with weight 0 do not matter.
        undefined = (np.isnan(by_word) & (words.weights.matrix() > 0)).any(axis=1)
        return np.where(undefined, math.nan, self._reduced(words, np.nan_to_num(by_word)))

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        (words,), (a, b) = targets, attributes
        values = self._by_word(words, attributes)
        score, effect_sizes = float(self._reduced(words, values)[0]), by_word(words, values[0])
        details: dict[str, Any] = {"associations": by_word(words, associations(words, a, b)[0])}
        tests: dict[str, PermutationTest] = {}
        opposite = []
        if self.calculate_p_value:
            seed, details["permutation_tests"] = as_seed(self.random_state), tests
            cosines = words.unit @ a.unit.T, words.unit @ b.unit.T
            for word, x, y in zip(words.words, *cosines, strict=True):
                tests[word], is_opposite = value_test(self, x, y, seed)
                if is_opposite:
                    opposite.append(word)
        warnings = [note for test in tests.values() for note in self._not_as_asked(test)]
        if opposite:
            warnings.append(
                f"words that are {OPPOSITE}: {', '.join(opposite)}; one-sided tests miss them, use "
                "p_value_test_type='two-sided'",
            )
        undefined = [word for word, value in effect_sizes.items() if math.isnan(value)]
        reason = None
        if undefined:
            why = "it has the same cosine with all attribute words, so the deviation is 0"
            details["nan_reasons"] = dict.fromkeys(undefined, why)
            reason = (
                f"{len(undefined)} of {len(words)} words of {words.name!r} have the same cosine "
                f"with all attribute words, so their deviation is 0: {listed(undefined)}"
            )
        p_values = {word: test.p_value for word, test in tests.items()}
        values_of = {"sc_weat": score, "effect_sizes": effect_sizes, "p_values": p_values}
        return Measurement(
            {"result": score, **values_of}, reason, details, tuple(dict.fromkeys(warnings))
        )
