"""Generalized WEAT (Swinger, De-Arteaga, Heffernan, Leiserson and Kalai, AIES 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wefe.embeddings import EmbeddedSet
from wefe.metrics._base import BaseMetric, Measurement, Scale
from wefe.metrics._geometry import Vectors, add, mean_unit, unit
from wefe.metrics._registry import register
from wefe.metrics._word_counts import WordCounts
from wefe.query import Query


def generalized_weat(
    targets: Sequence[npt.ArrayLike], attributes: Sequence[npt.ArrayLike]
) -> float:
    """Generalized WEAT: how much target sets go with the attribute sets of the same position.

    Parameters
    ----------
    targets, attributes : sequence of array-like of shape (n_words, dim)
        The same number of target and attribute sets, two or more, paired by position.

    Returns
    -------
    float
        Sum over i of the inner product of the centred means of target set i and attribute set i, in
        [-n, n] for n sets each. 0 if no association was measured; positive when the pairs as given
        go together. For two sets each it is half the difference of mean associations of WEAT.

    Raises
    ------
    ValueError
        If there are not as many attribute sets as target sets, or fewer than two; if an array is
        empty, not finite or has a zero row, or the dimensions do not fit.

    Notes
    -----
    Of each set the mean of its unit vectors is taken, and of these means their own mean is
    subtracted, for targets and attributes by themselves. Sets count alike, whatever their sizes.

    References
    ----------
    Swinger et al., "What are the Biases in My Word Embedding?", AIES 2019.

    Examples
    --------
    >>> he, she = [[1.0, 0.0]], [[0.0, 1.0]]
    >>> generalized_weat([he, she], [he, she])
    1.0
    """
    if len(targets) != len(attributes) or len(targets) < 2:
        raise ValueError(
            "target and attribute sets are paired by position: the same number of each, two or "
            f"more; got {len(targets)} and {len(attributes)}."
        )
    return float((_centred_means(targets) * _centred_means(attributes)).sum())


def _centred_means(sets: Sequence[npt.ArrayLike]) -> Vectors:
    means = np.stack([mean_unit(f"set {i}", part) for i, part in enumerate(sets)])
    return np.asarray(means - means.mean(axis=0))


@register
class GeneralizedWEAT(BaseMetric):
    """Generalized WEAT; :func:`wefe.metrics.generalized_weat` holds the mathematics.

    Do target sets go with the attribute sets of the same position, rather than with the others? 0
    means that no association was measured; positive that the pairs as given go together. The
    p-values of the paper are not computed.

    References
    ----------
    Swinger et al., "What are the Biases in My Word Embedding?", AIES 2019.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> result = GeneralizedWEAT().run_query(load_weat_queries()[5], load_test_model())
    >>> result["result"] > 0
    True
    """

    metric_template = ("n", "n")
    metric_template_minimum = (2, 2)
    metric_name = "Generalized WEAT"
    metric_short_name = "GWEAT"

    def accepts(self, query: Query) -> bool:
        """Tell whether a query has as many attribute sets as target sets, two or more.

        Parameters
        ----------
        query : Query
            Any query; its words do not matter.

        Returns
        -------
        bool
            True if the metric takes it.
        """
        return super().accepts(query) and query.template[0] == query.template[1]

    def scale(self, query: Query | None = None, **params: Any) -> Scale:  # noqa: ARG002
        """Say how scores are to be read: within the number of pairs of sets.

        Parameters
        ----------
        query : Query, optional
            Its number of target sets, n, bounds the score.
        **params
            Parameters that `run_query` is called with; none matters.

        Returns
        -------
        Scale
            Label 'GWEAT', in [-n, n], unbounded without a query; 0 means that no bias was measured.
        """
        # Centred means of n vectors in the unit ball have a total squared length of at most n.
        bound = math.inf if query is None else float(query.template[0])
        return Scale("GWEAT", (-bound, bound), 0.0)

    def _wanted_shape(self) -> str:
        return "the same number of target and attribute sets, 2 or more"

    def _compute(
        self, targets: Sequence[EmbeddedSet], attributes: Sequence[EmbeddedSet]
    ) -> Measurement:
        score = generalized_weat(
            [part.vectors for part in targets], [part.vectors for part in attributes]
        )
        return Measurement({"result": score, "gweat": score})

    def _compute_cases(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        counts: Sequence[WordCounts],
        **params: Any,  # noqa: ARG002
    ) -> Vectors:
        sets = (*targets, *attributes)
        means = [
            count.means(unit(part.name, part.vectors))
            for part, count in zip(sets, counts, strict=True)
        ]
        of_targets, of_attributes = means[: len(targets)], means[len(targets) :]
        middle = add(of_targets) / len(targets), add(of_attributes) / len(attributes)
        products = [
            ((target - middle[0]) * (attribute - middle[1])).sum(axis=1)
            for target, attribute in zip(of_targets, of_attributes, strict=True)
        ]
        return add(products)
