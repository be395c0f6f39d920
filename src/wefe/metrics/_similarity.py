"""Metrics of means and similarities: MAC, RND, ECT and SAME."""

from __future__ import annotations

import itertools
import math
from operator import itemgetter
from typing import Literal

import numpy as np

from wefe._wordset import Vectors, WordSet, WordSets
from wefe.embeddings import Lookup, UnanswerableError
from wefe.metrics._base import SCORES_OF_MEANS, BaseMetric, distinct_sizes
from wefe.metrics._declaration import Measurement, Scale
from wefe.metrics._exchange import TestType
from wefe.metrics._geometry import (
    ZERO_LENGTH,
    by_word,
    distances,
    mean_cosines,
    spearman,
    unit_rows,
    values_by_word,
)
from wefe.metrics._projection import in_span
from wefe.metrics._registry import register
from wefe.query import Query


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

    average: Literal["sets", "words"] = "sets"

    def _scores(self, targets: WordSets, attributes: WordSets) -> Vectors:
        sizes = [part.total if self.average == "words" else np.ones(1) for part in attributes]
        # Sums over target words of their weighted mean distance: each (n_cases or 1,).
        sums = sum(
            words.sum(_distances(part, words)) * size
            for words in targets
            for part, size in zip(attributes, sizes, strict=True)
        )
        return np.asarray(sums / sum(sizes) / sum(words.total for words in targets))

    def _compute(self, targets: WordSets, attributes: WordSets) -> Measurement:
        score = float(self._scores(targets, attributes)[0])
        targets_eval = {
            words.name: values_by_word(
                words, {part.name: _distances(part, words)[0] for part in attributes}
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

    distance: Literal["norm", "cos", "cos_distance"] = "norm"
    reduce: Literal["mean", "sum"] = "mean"

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        bound = 2.0 if self.distance != "norm" or lookup.get("normalize") else math.inf
        if self.reduce == "sum":
            bound *= sum(distinct_sizes(query, lookup, "attribute_sets", 1)) or math.inf
        return Scale("RND", (-bound, bound), 0.0)

    def _by_word(self, targets: WordSets, words: WordSet) -> Vectors:
        """Difference of each word in each case: (n_cases, n_words)."""
        measure = distances if self.distance == "norm" else mean_cosines
        first, second = (measure(part, words) for part in targets)
        return second - first if self.distance == "cos_distance" else first - second

    def _scores(self, targets: WordSets, attributes: WordSets) -> Vectors:
        (words,) = attributes
        values = self._by_word(targets, words)
        return words.mean(values) if self.reduce == "mean" else words.sum(values)

    def _compute(self, targets: WordSets, attributes: WordSets) -> Measurement:
        (words,) = attributes
        score = float(self._scores(targets, attributes)[0])
        if math.isnan(score):
            raise UnanswerableError("the mean of a target set is zero, which has no direction")
        values = by_word(words, self._by_word(targets, words)[0])
        ascending = dict(sorted(values.items(), key=itemgetter(1)))
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

    def _scores(self, targets: WordSets, attributes: WordSets) -> Vectors:
        (words,) = attributes
        x, y = (mean_cosines(part, words) for part in targets)
        # Words of one direction have equal similarities but for rounding: they tie.
        return spearman(x, y, words.weights, ZERO_LENGTH)

    def _why_undefined(self, targets: WordSets, attributes: WordSets) -> str:
        (words,) = attributes
        if len(words) < 2:
            return (
                f"a rank correlation needs two or more attribute words; {words.name!r} has one left"
            )
        return "all attribute words are equally similar to a target set, or its mean is zero"


def _directions(groups: WordSets) -> tuple[Vectors, Vectors]:
    """Gram-Schmidt of the differences of group means in each case: directions and lengths.

    Of shape (n_groups - 1, n_cases, dim or 1); both are 0 where a direction vanishes.
    """
    first, *others = np.broadcast_arrays(*(group.mean_unit() for group in groups))
    basis: list[Vectors] = []
    lengths = []
    for mean in others:
        rest = first - mean
        # Twice: after one pass what is left may still lean to the earlier directions.
        for direction in basis * 2:
            rest = rest - (rest * direction).sum(axis=1, keepdims=True) * direction
        length = np.linalg.norm(rest, axis=1, keepdims=True)
        there = length >= ZERO_LENGTH
        basis.append(np.where(there, rest, 0) / np.where(there, length, 1))
        lengths.append(length * there)
    return np.stack(basis), np.stack(lengths)


@register
class SAME(BaseMetric):
    """SAME: how far do attribute words lean to one of the target groups?

    The target sets are the groups; the attribute set contains the words to measure. 0 means that no
    bias was measured. The range does not depend on the model: up to 1 for two groups and for
    'projection', and up to 1 + 2 (n - 2) for the sum of n groups. Source: Schröder, Schulz and
    Hammer, "The SAME score: Improved cosine based bias score for word embeddings", 2022.

    The result has 'same' (the score); 'pairwise': 'group - other group' -> 'skew' (mean of the
    signed values: a direction that all words share) and 'stereotype' (their population standard
    deviation); 'word_values': word -> 'same' and, for each pair of groups, the signed value: s(w,
    A, B) as a share of its maximum. This is the cosine with the difference of the groups' means of
    unit vectors, positive if the word leans to the first group. `details['n_directions']` is less
    than the number of groups minus 1 if a group adds no direction of its own. The score is NaN if
    all groups have the same mean.

    Parameters
    ----------
    combine : {'sum', 'projection'}, default='sum'
        How to combine the directions of three or more groups. 'sum', as in the authors' code:
        ``|cos(w, b_1)|`` plus the sum of ``|cos(w, b_i)| ||b_i||`` for i >= 2, where b_i leads from
        group i + 1 to the first group and is made orthogonal to the earlier ones. It depends on the
        order of the groups. 'projection', a variant of this package, does not: the length of the
        projection of the unit vector on the span of all b_i.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "her"], ["he", "him"]], [["nurse", "engineer"]], ["F", "M"])
    >>> SAME().run_query(query, load_test_model())["pairwise"]
    {'F - M': {'skew': 0.142, 'stereotype': 0.120}}
    """

    metric_template = ("n", 1)
    metric_template_minimum = (2, 1)
    metric_name = "SAME"
    metric_short_name = "SAME"
    question = "how far do attribute words lean to one of the target groups?"
    meaning = "How far attribute words lean to a target group, as a share of the most possible."
    null_exchange = "targets"
    audit_findings = frozenset()
    value_range = (0.0, math.inf)
    nan_values = {"same": math.nan, "pairwise": {}, "word_values": {}}  # noqa: RUF012

    combine: Literal["sum", "projection"] = "sum"
    p_value_test_type: TestType = "two-sided"

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        n_groups = math.inf if query is None else query.template[0]
        # Every further direction adds at most its length, which is at most 2.
        bound = 1.0 if self.combine == "projection" else 1.0 + 2.0 * (n_groups - 2)
        return Scale("SAME", (0.0, bound), 0.0)

    def _by_word(self, groups: WordSets, units: Vectors) -> Vectors:
        """Bias of each word, given as a unit vector, in each case: (n_cases, n_words)."""
        basis, lengths = _directions(groups)
        cosines, known = np.abs(basis @ units.T), np.cumsum(lengths > 0, axis=0)
        if self.combine == "projection":
            by_word = np.minimum(np.linalg.norm(cosines, axis=0), 1.0)
        else:
            # As released: the first direction is not weighted by its length, the others are.
            by_word = (np.where(known > 1, lengths, 1) * cosines).sum(axis=0)
        return np.where(known[-1] > 0, by_word, math.nan)

    def _scores(self, targets: WordSets, attributes: WordSets) -> Vectors:
        # Directions of all cases lie in the span of the targets, which has few dimensions.
        targets, basis = in_span(targets)
        (words,) = attributes
        return words.mean(self._by_word(targets, words.unit @ basis))

    def _compute(self, targets: WordSets, attributes: WordSets) -> Measurement:
        (words,) = attributes
        by_word = self._by_word(targets, words.unit)[0]
        score = float(words.mean(by_word[None])[0])
        if math.isnan(score):
            raise UnanswerableError("all target sets have the same mean")
        signed = {}
        for one, other in itertools.combinations(targets, 2):
            direction = unit_rows(one.mean_unit() - other.mean_unit(), ZERO_LENGTH)[0]
            signed[f"{one.name} - {other.name}"] = words.unit @ direction
        pairwise = {
            pair: {"skew": float(values.mean()), "stereotype": float(values.std())}
            for pair, values in signed.items()
        }
        word_values = values_by_word(words, {"same": by_word, **signed})
        details = {"n_directions": int((_directions(targets)[1] > 0).sum())}
        return self._measured(score, details, pairwise=pairwise, word_values=word_values)
