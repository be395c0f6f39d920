"""Generalized WEAT (Swinger, De-Arteaga, Heffernan, Leiserson and Kalai, AIES 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wefe._wordset import Vectors, WordSet, lists_of_word_sets
from wefe.embeddings import Lookup
from wefe.metrics._base import BaseMetric, Scale
from wefe.metrics._exchange import Sums
from wefe.metrics._geometry import associations
from wefe.metrics._registry import register
from wefe.query import Query


def generalized_weat(
    targets: Sequence[npt.ArrayLike], attributes: Sequence[npt.ArrayLike]
) -> float:
    """Generalized WEAT: do target sets go with the attribute sets at the same position?

    Parameters
    ----------
    targets, attributes : sequence of array-like of shape (n_words, dim)
        Two or more target sets, and as many attribute sets, paired by position.

    Returns
    -------
    float
        Sum over i of the inner product of the centred means of target set i and attribute set i, in
        [-n, n] for n sets each. 0 if no association was measured; positive if the sets go together
        as paired. For n = 2 it is half the difference of mean associations of WEAT. The means are
        those of unit vectors, so each set has the same weight, whatever its size; those of the
        target sets are centred on their mean, and so are those of the attribute sets.

    Examples
    --------
    >>> he, she = [[1.0, 0.0]], [[0.0, 1.0]]
    >>> generalized_weat([he, she], [he, she])
    1.0
    """
    sets = lists_of_word_sets(targets=targets, attributes=attributes)
    if len(targets) != len(attributes) or len(targets) < 2:
        raise ValueError(
            "target and attribute sets are paired by position: the same number of each, two or "
            f"more; got {len(targets)} and {len(attributes)}."
        )
    return float(GeneralizedWEAT()._scores(*sets)[0])


@register
class GeneralizedWEAT(BaseMetric):
    """Generalized WEAT: do target sets go with the attribute sets at the same position?

    The p-value exchanges words between the target sets, unlike that of the paper. For the formula
    and the range see :func:`generalized_weat`. Source: Swinger et al., "What are the Biases in My
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

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        # Mean cosines of each target set with each attribute set: (n_sets, n_sets, n_cases).
        means = [[words.mean(part.mean_cosine(words)) for part in attributes] for words in targets]
        paired = sum(row[i] for i, row in enumerate(means))
        return np.asarray(paired - sum(each for row in means for each in row) / len(means))

    def _sums(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Sums | None:
        if len(targets) > 2:
            return None
        x, y = (associations(part, *attributes)[0] for part in targets)
        return Sums(x, y, lambda of_x, of_y: (of_x / len(x) - of_y / len(y)) / 2)
