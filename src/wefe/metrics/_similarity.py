"""Metrics of means and similarities: MAC, RND and ECT."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from wefe._wordset import Vectors, WordSet
from wefe.embeddings import Lookup
from wefe.metrics._base import (
    SCORES_OF_MEANS,
    BaseMetric,
    Measurement,
    Scale,
    TestType,
    distinct_sizes,
)
from wefe.metrics._geometry import (
    ZERO_LENGTH,
    by_word,
    distances,
    mean_cosines,
    spearman,
    values_by_word,
)
from wefe.metrics._registry import register
from wefe.query import Query

Average: TypeAlias = Literal["sets", "words"]
Distance: TypeAlias = Literal["norm", "cos", "cos_distance"]


def _distances(part: WordSet, words: WordSet) -> Vectors:
    """Mean cosine distance of each word to a set in each case: (n_cases, n_words)."""
    return np.clip(1.0 - part.mean_cosine(words), 0.0, 2.0)


@register
class MAC(BaseMetric):
    """Mean Average Cosine: the mean cosine distance of target words to attribute sets.

    The score is in [0, 2]; 1 means that no bias was measured, and bias is the distance from 1 in
    either direction. It is a distance, although the paper calls it a similarity. Words that lean to
    the attributes and words that lean away cancel. The result has 'mac' (the score) and
    'targets_eval': target set -> word -> attribute set -> mean cosine distance. Source: Manzini,
    Lim, Black and Tsvetkov, "Black is to Criminal as Caucasian is to Police: Detecting and Removing
    Multiclass Bias in Word Embeddings", NAACL 2019.

    Parameters
    ----------
    average : {'sets', 'words'}, default='sets'
        'sets' gives every attribute set the same weight, as the authors' code does; 'words' every
        attribute word. Target words always have the same weight.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she"], ["he"]], [["family", "home"]], ["F", "M"], ["Family"])
    >>> MAC().run_query(query, load_test_model())["targets_eval"]["F"]
    {'she': {'Family': 1.026}}
    """

    metric_template = ("n", "n")
    metric_name = "Mean Average Cosine"
    metric_short_name = "MAC"
    question = "how far are the target words from the attribute words on average?"
    meaning = (
        "The mean cosine distance of target words from attribute sets: 1 if the two are unrelated."
    )
    audit_findings = frozenset({"cancelling-biases"})
    value_range = (0.0, 2.0)
    no_bias_value = 1.0
    scores_many_models = True
    no_p_value = "it is a mean over all target words, so exchanging them changes nothing"
    nan_values = {"mac": math.nan, "targets_eval": {}}  # noqa: RUF012

    average: Average = "sets"

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        sizes = [part.total if self.average == "words" else np.ones(1) for part in attributes]
        # Sums over target words of their weighted mean distance: each (n_cases or 1,).
        sums = sum(
            words.sum(_distances(part, words)) * size
            for words in targets
            for part, size in zip(attributes, sizes, strict=True)
        )
        return np.asarray(sums / sum(sizes) / sum(words.total for words in targets))

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        score = float(self._scores(targets, attributes)[0])
        columns = {part.name: part for part in attributes}
        targets_eval = {
            words.name: values_by_word(
                words, {name: _distances(part, words)[0] for name, part in columns.items()}
            )
            for words in targets
        }
        return self._measured(score, targets_eval=targets_eval)


@register
class RND(BaseMetric):
    """Relative Norm Distance: are attribute words nearer to one target set than to the other?

    0 means that no bias was measured. For cosines, scores are in [-2, 2], and NaN if the mean of a
    target set is zero; for 'norm' they are in [-2, 2] for unit vectors, and otherwise unbounded.
    The lengths of raw vectors matter for 'norm', and these depend on word frequency: compare models
    with ``normalize=True``. The result has 'rnd' (the score) and 'distance_by_word': word -> its
    difference, in ascending order. Source: Garg, Schiebinger, Jurafsky and Zou, "Word embeddings
    quantify 100 years of gender and ethnic stereotypes", PNAS 115, 2018.

    Parameters
    ----------
    distance : {'norm', 'cos', 'cos_distance'}, default='norm'
        'norm': ``||a - mean(t1)|| - ||a - mean(t2)||``, positive if the word is nearer to `t2`.
        'cos': the documented variant ``cos(a, mean(t1)) - cos(a, mean(t2))``, a difference of
        *similarities*; positive if the word is nearer to `t1`. 'cos_distance': the same with cosine
        distances, so with the sign of 'norm'.
    reduce : {'mean', 'sum'}, default='mean'
        Mean over the attribute words, as documented, or their sum, as printed in both papers.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "her"], ["he", "him"]], [["family", "home"]])
    >>> RND().run_query(query, load_test_model())["distance_by_word"]
    {'family': -0.049, 'home': -0.020}
    """

    metric_template = (2, 1)
    metric_name = "Relative Norm Distance"
    metric_short_name = "RND"
    question = "from which target set are the attribute words farther?"
    meaning = (
        "How much farther the attribute words are from the mean of one target set than from that "
        "of the other. The sign gives the direction."
    )
    null_exchange = "targets"
    audit_findings = SCORES_OF_MEANS
    nan_values = {"rnd": math.nan, "distance_by_word": {}}  # noqa: RUF012
    subset_params = {"normalize": True}  # noqa: RUF012
    scores_many_models = True

    distance: Distance = "norm"
    reduce: Literal["mean", "sum"] = "mean"

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        bound = 2.0 if self.distance != "norm" or lookup.get("normalize") else math.inf
        if self.reduce == "sum":
            bound *= sum(distinct_sizes(query, lookup, "attribute_sets", 1)) or math.inf
        return Scale("RND", (-bound, bound), 0.0)

    def _by_word(self, targets: Sequence[WordSet], words: WordSet) -> Vectors:
        """Difference of each word in each case: (n_cases, n_words)."""
        measure = distances if self.distance == "norm" else mean_cosines
        first, second = (measure(part, words) for part in targets)
        return second - first if self.distance == "cos_distance" else first - second

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        (words,) = attributes
        return self._reduced(words, self._by_word(targets, words))

    def _reduced(self, words: WordSet, by_word: Vectors) -> Vectors:
        return words.mean(by_word) if self.reduce == "mean" else words.sum(by_word)

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        (words,) = attributes
        values = self._by_word(targets, words)
        score = float(self._reduced(words, values)[0])
        if math.isnan(score):
            return self._undefined("the mean of a target set is zero, which has no direction")
        ascending = dict(sorted(by_word(words, values[0]).items(), key=lambda item: item[1]))
        return self._measured(score, distance_by_word=ascending)


@register
class ECT(BaseMetric):
    """Embedding Coherence Test: do the two target sets rank the attribute words alike?

    The score is Spearman's rank correlation between the cosines of the attribute words with the
    means of both target sets, in [-1, 1]; 1 means that no bias was measured. Only the order counts:
    the score does not show if all attribute words are nearer to the first set. Cosines that differ
    by up to 1e-12 share the mean of their ranks. The score is NaN with fewer than two attribute
    words, if all cosines with a target set are equal, or if its mean is zero. Vectors are averaged
    as they are, so ``normalize=True`` gives another score. Source: Dev and Phillips, "Attenuating
    Bias in Word Vectors", AISTATS 2019.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "her"], ["he", "him"]], [["family", "home", "office"]])
    >>> ECT().run_query(query, load_test_model())["ect"]
    -0.5
    """

    metric_template = (2, 1)
    metric_name = "Embedding Coherence Test"
    metric_short_name = "ECT"
    question = "do both target sets rank the attribute words alike?"
    meaning = (
        "Whether both target sets order the attribute words alike by similarity: the rank "
        "correlation of the two orders. Higher is better."
    )
    null_exchange = "targets"
    audit_findings = frozenset({"shared-lean"})
    value_range = (-1.0, 1.0)
    no_bias_value = 1.0
    scores_many_models = True

    p_value_test_type: TestType = "two-sided"

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        (words,) = attributes
        x, y = (mean_cosines(part, words) for part in targets)
        # Words of one direction have equal similarities but for rounding: they tie.
        return spearman(x, y, words.weights, ZERO_LENGTH)

    def _why_undefined(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> str:
        (words,) = attributes
        if len(words) < 2:
            return (
                f"a rank correlation needs two or more attribute words; {words.name!r} has one left"
            )
        return "all attribute words are equally similar to a target set, or its mean is zero"
