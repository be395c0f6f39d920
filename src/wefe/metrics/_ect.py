"""Embedding Coherence Test (Dev and Phillips, AISTATS 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wefe.embeddings import EmbeddedSet
from wefe.metrics._base import BaseMetric, Measurement
from wefe.metrics._geometry import ZERO_LENGTH, as_vectors, average_ranks, pearson, unit
from wefe.metrics._registry import register


def ect(t1: npt.ArrayLike, t2: npt.ArrayLike, a: npt.ArrayLike) -> float:
    """Embedding coherence: do two target sets rank the attribute words alike?

    Parameters
    ----------
    t1, t2, a : array-like of shape (n_words, dim)
        Target sets and attribute set, as they are: each target set is averaged first, so long
        vectors weigh more.

    Returns
    -------
    float
        Spearman's rank correlation of the similarities, in [-1, 1]; 1 (both rank alike) means
        that no bias was measured. nan with fewer than two attribute words or if the similarities
        to a target set are all equal.

    References
    ----------
    Dev and Phillips, "Attenuating Bias in Word Vectors", AISTATS 2019.

    Examples
    --------
    >>> he, she = [1.0, 0.1], [0.1, 1.0]
    >>> ect([he], [he], [he, she, [1.0, 1.0]])
    1.0
    """
    means = np.stack([as_vectors("t1", t1).mean(axis=0), as_vectors("t2", t2).mean(axis=0)])
    if not np.linalg.norm(means, axis=1).all():
        return math.nan
    similarities = unit("a", a) @ unit("means", means).T
    # Words of one direction have equal similarities but for rounding: they tie.
    x, y = (average_ranks(column, ZERO_LENGTH) for column in similarities.T)
    correlation = pearson(x, y)
    return correlation if math.isnan(correlation) else max(-1.0, min(1.0, correlation))


@register
class ECT(BaseMetric):
    """Embedding Coherence Test; :func:`ect` holds the mathematics.

    References
    ----------
    Dev and Phillips, "Attenuating Bias in Word Vectors", AISTATS 2019.

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
    value_range = (-1.0, 1.0)
    no_bias_value = 1.0

    def _compute(
        self, targets: Sequence[EmbeddedSet], attributes: Sequence[EmbeddedSet]
    ) -> Measurement:
        (words,) = attributes
        score = ect(targets[0].vectors, targets[1].vectors, words.vectors)
        reason = None
        if math.isnan(score):
            reason = (
                f"a rank correlation needs two or more attribute words; {words.name!r} has one left"
                if len(words) < 2
                else "all attribute words are equally similar to a target set, or its mean is zero"
            )
        return Measurement({"result": score, "ect": score}, reason)
