"""Embedding Coherence Test (Dev and Phillips, AISTATS 2019)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from wefe._wordset import Vectors, WordSet, word_sets
from wefe.metrics._base import BaseMetric, TestType
from wefe.metrics._geometry import ZERO_LENGTH, mean_cosines, spearman
from wefe.metrics._registry import register


def ect(t1: npt.ArrayLike, t2: npt.ArrayLike, a: npt.ArrayLike) -> float:
    """Embedding coherence: do two target sets rank the attribute words alike?

    Parameters
    ----------
    t1, t2, a : array-like of shape (n_words, dim)
        Target sets and attribute set. Vectors are averaged as they are, so long ones weigh more.

    Returns
    -------
    float
        Spearman's rank correlation between the cosines of the attribute words with the means of
        both target sets, in [-1, 1]; 1 means that no bias was measured. Only the order counts: the
        score does not show if all attribute words are nearer to `t1`. Cosines that differ by up to
        1e-12 share the mean of their ranks. nan with fewer than two attribute words, if all cosines
        with a target set are equal, or if its mean is zero.

    Examples
    --------
    >>> he, she = [1.0, 0.1], [0.1, 1.0]
    >>> ect([he], [he], [he, she, [1.0, 1.0]])
    1.0
    """
    *targets, words = word_sets(t1=t1, t2=t2, a=a)
    return float(ECT()._scores(targets, [words])[0])


@register
class ECT(BaseMetric):
    """Embedding Coherence Test: do the two target sets rank the attribute words alike?

    The score (:func:`ect`) is in [-1, 1]; 1 means that no bias was measured. Vectors are averaged
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
