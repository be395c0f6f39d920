"""WEAT (Caliskan et al. 2017), and its versions for one target set and for many."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from wefe._checks import as_seed, listed
from wefe._wordset import Vectors, WordSet, WordSets
from wefe.embeddings import Lookup
from wefe.metrics._base import BaseMetric, distinct_sizes
from wefe.metrics._declaration import Count, Measurement, Scale
from wefe.metrics._exchange import ALTERNATIVES, TestType, of_means
from wefe.metrics._geometry import associations, by_word
from wefe.metrics._permutation import Method, permutation_test
from wefe.metrics._registry import register
from wefe.query import Query

Ddof: TypeAlias = Literal[0, 1]

_FINDINGS_OF_EFFECT_SIZES = {
    "undefined-effect-size",
    "separation-missed",
    "effect-without-separation",
    "large-effect-tiny-biases",
    "large-but-not-significant",
}


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


def effect_size_of(s_x: Vectors, s_y: Vectors, ddof: int) -> Vectors:
    """Effect size of associations without weights, (n_cases, n_words) each: (n_cases,)."""
    return effect_size(WordSet("x", (), s_x.T), WordSet("y", (), s_y.T), s_x, s_y, ddof)


def largest_effect_size(n_1: int, n_2: int, *, ddof: int = 0) -> float:
    """Return the largest WEAT effect size for target sets of given sizes (theorem 4, lemma 1).

    Parameters
    ----------
    n_1, n_2 : int
        Numbers of words, at least 1 each.
    ddof : {0, 1}, default=0
        Standard deviation in the effect size: population (0) or sample (1).

    Returns
    -------
    float
        ``N / sqrt(n_1 * n_2) * sqrt((N - ddof) / N)`` with N = n_1 + n_2, reached if the words of
        each set have one value: 2 for equal sizes and ``ddof=0``, more for unequal ones.

    Examples
    --------
    >>> largest_effect_size(8, 8), round(largest_effect_size(2, 4), 4)
    (2.0, 2.1213)
    """
    n = n_1 + n_2
    return n / math.sqrt(n_1 * n_2) * math.sqrt((n - ddof) / n)


@register
class WEAT(BaseMetric):
    """Word Embedding Association Test: statistic, effect size and permutation test.

    Does the first target set lean to the first attribute set more than the second target set does?
    The score is positive if so, and 0 if no bias was measured; both sets may lean the same way. The
    statistic is the sum of s(w, A, B) (:func:`association`) over the words of the first target set
    minus the sum over the second, at most 2 n for n target words. The effect size is the difference
    of the means in deviations over both sets. It measures how clear the gap between the sets is,
    not how large: if the words of each set are alike, it reaches its maximum, n / sqrt(n_x n_y),
    which is 2 for sets of equal size. Source: Caliskan, Bryson and Narayanan, "Semantics derived
    automatically from language corpora contain human-like biases", Science 356, 2017.

    The result has 'weat' (the statistic), 'effect_size' and 'p_value' (in (0, 1]; NaN unless
    requested). `details` has 'associations', s(w, A, B) of every target word; 'permutation_test',
    if requested; and 'nan_reasons', if the effect size is undefined. `warnings` tells if a
    one-sided test misses a strong effect in the opposite direction.

    Parameters
    ----------
    return_effect_size : bool, default=False
        Use the effect size as 'result' instead of the statistic.
    ddof : {0, 1}, default=0
        Deviation in the effect size: of the population (0), as for the documented figures, or of a
        sample (1), as for Caliskan's published effect sizes, which are smaller by a factor of
        sqrt((n - 1) / n).
    p_value_method : {'approximate', 'exact', 'saddlepoint', 'auto'}, default='approximate'
        See :class:`BaseMetric`, as for the other parameters of the test.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> result = WEAT().run_query(load_weat_queries()[0], load_test_model(), calculate_p_value=True)
    >>> round(result["effect_size"], 2), result["p_value"] < 0.001
    (1.2, True)
    """

    metric_template = (2, 2)
    metric_name = "Word Embedding Association Test"
    metric_short_name = "WEAT"
    question = "how much closer is each target set to its own attribute words than the other set?"
    meaning = (
        "How much closer, by cosine, the first target words are to the first attribute words than "
        "to the second, minus the same for the second target words: summed over words, or, as "
        "WEAT-ES, the difference of the means in standard deviations of the words, which does not "
        "measure how large it is. The sign gives the direction."
    )
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
    def audit_findings(self) -> frozenset[str]:
        """Kinds of audit warnings that concern its score."""
        of_both = {"cancelling-biases", "common-lean", "few-words"}
        if not self.return_effect_size:
            return frozenset(of_both | {"small-attribute-difference", "unequal-sets"})
        # An effect size is a share of the deviation; it does not grow with the attribute sets.
        return frozenset(of_both | _FINDINGS_OF_EFFECT_SIZES)

    def _report_params(self, own: Mapping[str, Any], **test: Any) -> dict[str, Any]:
        of_test = super()._report_params(own, **test)
        return {"return_effect_size": self.return_effect_size, **of_test}

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        sizes, bound = distinct_sizes(query, lookup, "target_sets", 2), math.inf
        if sizes and self.return_effect_size:
            bound = largest_effect_size(*sizes, ddof=self.ddof)
        elif sizes:
            bound = 2.0 * sum(sizes)  # each association is at most 2
        return Scale("WEAT-ES" if self.return_effect_size else "WEAT", (-bound, bound), 0.0)

    def _scores(self, targets: WordSets, attributes: WordSets) -> Vectors:
        x, y = targets
        s_x, s_y = (associations(part, *attributes) for part in targets)
        if self.return_effect_size:
            return effect_size(x, y, s_x, s_y, self.ddof)
        return np.asarray(x.sum(s_x) - y.sum(s_y))

    def _compute(self, targets: WordSets, attributes: WordSets) -> Measurement:
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
        return self._measured(result, details, reason, weat=statistic, effect_size=effect)

    def _sums(self, targets: WordSets, attributes: WordSets) -> tuple[Vectors, Vectors]:
        x, y = (associations(part, *attributes)[0] for part in targets)
        if self.return_effect_size:
            # Over all words, so that no split changes the deviation.
            return of_means(x, y, np.concatenate([x, y]).std(ddof=self.ddof))
        return 2 * x, 2 * y


@register
class SCWEAT(BaseMetric):
    """Single-category WEAT: does each word of a set lean to one attribute set?

    Computes the effect size of each word of the target set, (mean cosine with the first attribute
    set - mean cosine with the second) / deviation of all cosines of the word; their mean; and
    permutation tests that split the attribute words anew. Effect sizes are positive towards the
    first set, and 0 if no association was measured; their bounds are those of :class:`WEAT`, with
    the sizes of the attribute sets. Opposite words cancel in the mean. Caliskan et al. correlate
    these effect sizes with a statistic for each word and call that WEFAT. Source: Caliskan, Bryson
    and Narayanan, "Semantics derived automatically from language corpora contain human-like
    biases", Science 356, 2017.

    The result has 'sc_weat' (the score), 'effect_sizes' and, if requested, 'p_values' (both word ->
    number). The score is NaN if the effect size of a word is. `details` has 'associations', the
    numerators s(w, A, B), and, if requested, 'permutation_tests' (word ->
    :class:`PermutationTest`).

    Parameters
    ----------
    reduce : {'mean', 'mean_abs'}, default='mean'
        Mean of the effect sizes, or of their magnitudes. The paper has neither.
    ddof : {0, 1}, default=0
        Deviation of the cosines: of the population (0) or of a sample (1).

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["nurse", "pilot"]], [["she", "woman"], ["he", "man"]])
    >>> SCWEAT().run_query(query, load_test_model())["effect_sizes"]
    {'nurse': 1.91, 'pilot': 1.66}
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

    def _report_params(self, own: Mapping[str, Any], **test: Any) -> dict[str, Any]:
        # Every word is tested, which takes long.
        return super()._report_params(own, **test) if own.get("calculate_p_value") else {}

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        sizes = distinct_sizes(query, lookup, "attribute_sets", 2)
        bound = largest_effect_size(*sizes, ddof=self.ddof) if sizes else math.inf
        return Scale("SC-WEAT", (0.0 if self.reduce == "mean_abs" else -bound, bound), 0.0)

    def _by_word(self, words: WordSet, attributes: WordSets) -> Vectors:
        """Effect size of each word in each case: (n_cases, n_words)."""
        a, b = attributes
        cos_a, cos_b = (part.unit @ words.unit.T for part in attributes)
        # Shifts do not change an effect size, and centred values lose fewer digits.
        zero = np.concatenate([cos_a, cos_b]).mean(axis=0)
        cos_a, cos_b = cos_a - zero, cos_b - zero
        mean_a, mean_b = a._average(cos_a), b._average(cos_b)
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

    def _scores(self, targets: WordSets, attributes: WordSets) -> Vectors:
        (words,) = targets
        by_word = self._by_word(words, attributes)
        # Words with weight 0 do not matter.
        undefined = (np.isnan(by_word) & (words.weights.matrix() > 0)).any(axis=1)
        return np.where(undefined, math.nan, self._reduced(words, np.nan_to_num(by_word)))

    def _compute(self, targets: WordSets, attributes: WordSets) -> Measurement:
        (words,), (a, b) = targets, attributes
        values = self._by_word(words, attributes)
        score, effect_sizes = float(self._reduced(words, values)[0]), by_word(words, values[0])
        details: dict[str, Any] = {"associations": by_word(words, associations(words, a, b)[0])}
        tests = {}
        if self.calculate_p_value:
            side, how = ALTERNATIVES[self.p_value_test_type], self._how(as_seed(self.random_state))
            cosines = words.unit @ a.unit.T, words.unit @ b.unit.T
            for word, x, y in zip(words.words, *cosines, strict=True):
                tests[word] = permutation_test(x, y, alternative=side, **how)
            details["permutation_tests"] = tests
        notes = dict.fromkeys(note for test in tests.values() for note in self._not_as_asked(test))
        reason = None
        if undefined := [word for word, value in effect_sizes.items() if math.isnan(value)]:
            reason = (
                f"{len(undefined)} of {len(words)} words of {words.name!r} have the same cosine "
                f"with all attribute words, so their deviation is 0: {listed(undefined)}"
            )
        p_values = {word: test.p_value for word, test in tests.items()}
        more = {"effect_sizes": effect_sizes, "p_values": p_values}
        return self._measured(score, details, reason, tuple(notes), **more)


@register
class GeneralizedWEAT(BaseMetric):
    """Generalized WEAT: do target sets go with the attribute sets at the same position?

    Target sets and attribute sets are paired by position. The score is the sum over i of the inner
    product of the centred means of target set i and attribute set i, in [-n, n] for n sets each. 0
    if no association was measured; positive if the sets go together as paired. For n = 2 it is half
    the difference of mean associations of WEAT. The means are those of unit vectors, so each set
    has the same weight, whatever its size; those of the target sets are centred on their mean, and
    so are those of the attribute sets. The p-value exchanges words between the target sets, unlike
    that of the paper. Source: Swinger et al., "What are the Biases in My
    Word Embedding?", AIES 2019.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> GeneralizedWEAT().run_query(load_weat_queries()[5], load_test_model())["result"] > 0
    True
    """

    metric_template = ("n", "n")
    metric_template_minimum = (2, 2)
    metric_name = "Generalized WEAT"
    metric_short_name = "GWEAT"
    question = "is each target set closer to its own attribute set than the others are?"
    meaning = "Whether each target set is closer to its own attribute set than the others are."
    null_exchange = "targets"
    scores_many_models = True

    def accepts(self, query: Query) -> bool:
        return super().accepts(query) and query.template[0] == query.template[1]

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        # Centred means of n vectors in the unit ball have a total squared length of at most n.
        bound = math.inf if query is None else float(query.template[0])
        return Scale("GWEAT", (-bound, bound), 0.0)

    def _wanted_shape(self) -> str:
        return "the same number of target and attribute sets, 2 or more"

    def _scores(self, targets: WordSets, attributes: WordSets) -> Vectors:
        # Mean cosines of each target set with each attribute set: (n_sets, n_sets, n_cases).
        means = [[words.mean(part.mean_cosine(words)) for part in attributes] for words in targets]
        paired = sum(row[i] for i, row in enumerate(means))
        return np.asarray(paired - sum(each for row in means for each in row) / len(means))

    def _sums(self, targets: WordSets, attributes: WordSets) -> tuple[Vectors, Vectors] | None:
        if len(targets) > 2:
            return None
        x, y = (associations(part, *attributes)[0] for part in targets)
        return of_means(x, y, 2)
