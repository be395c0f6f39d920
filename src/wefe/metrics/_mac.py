"""Mean Average Cosine (Manzini, Lim, Black and Tsvetkov, NAACL 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice
from wefe.embeddings import EmbeddedSet, Lookup
from wefe.metrics._base import BaseMetric, Measurement
from wefe.metrics._geometry import Vectors, add, mean_unit, unit
from wefe.metrics._registry import register
from wefe.metrics._word_counts import WordCounts
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.results import MetricResult

_AVERAGES = ("sets", "words")


def mac_by_word(t: npt.ArrayLike, attributes: Sequence[npt.ArrayLike]) -> Vectors:
    """Mean cosine distance of each target word to each attribute set.

    Parameters
    ----------
    t : array-like of shape (n_words, dim)
        Target words.
    attributes : sequence of array-like of shape (n_words, dim)
        Attribute sets.

    Returns
    -------
    ndarray of shape (n_target_words, n_attribute_sets)
        For each target word and attribute set the mean of 1 - cos, in [0, 2]; 1 means no
        association, below 1 that the word leans to the set.

    Raises
    ------
    ValueError
        If there is no attribute set, an array is empty, not finite or has a zero row, or the
        dimensions do not fit.

    See Also
    --------
    wefe.metrics.mac : the mean of these.

    References
    ----------
    Manzini, Lim, Black and Tsvetkov, NAACL 2019.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> mac_by_word([he], [[he], [she]])
    array([[0., 1.]])
    """
    means = np.stack([mean_unit(f"attributes[{j}]", a) for j, a in enumerate(attributes)])
    return np.clip(1.0 - unit("t", t) @ means.T, 0.0, 2.0)


def mac(
    targets: Sequence[npt.ArrayLike], attributes: Sequence[npt.ArrayLike], average: str = "sets"
) -> float:
    """Mean average cosine *distance* between target words and attribute sets.

    Parameters
    ----------
    targets, attributes : sequence of array-like of shape (n_words, dim)
        Target sets and attribute sets.
    average : {'sets', 'words'}, default='sets'
        'sets' gives every attribute set the same weight (the authors' code), 'words' every
        attribute word. Target words always weigh the same.

    Returns
    -------
    float
        In [0, 2]. 1 means no association; the paper calls it a similarity, but it is a distance.
        Words that lean to the attributes and words that lean away cancel.

    Raises
    ------
    ValueError
        If there is no target or no attribute set, an array is empty, not finite or has a zero row,
        the dimensions do not fit, or `average` has no such value.

    See Also
    --------
    wefe.metrics.mac_by_word : word by word.

    References
    ----------
    Manzini, Lim, Black and Tsvetkov, "Black is to Criminal as Caucasian is to Police:
    Detecting and Removing Multiclass Bias in Word Embeddings", NAACL 2019.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> mac([[he], [she]], [[he]])
    0.5
    """
    check_choice("average", average, _AVERAGES)
    by_word = mac_by_word(np.concatenate([np.asarray(t, dtype=float) for t in targets]), attributes)
    weights = None if average == "sets" else [len(np.asarray(a)) for a in attributes]
    return float(np.average(by_word, axis=1, weights=weights).mean())


@register
class MAC(BaseMetric):
    """Mean Average Cosine distance; :func:`wefe.metrics.mac` holds the mathematics.

    The mean cosine distance of target words to attribute sets, in [0, 2]. 1 means that no bias was
    measured, and a score above 1 is as far from it as one below. Which words lean where is in
    'targets_eval'.

    References
    ----------
    Manzini, Lim, Black and Tsvetkov, "Black is to Criminal as Caucasian is to Police:
    Detecting and Removing Multiclass Bias in Word Embeddings", NAACL 2019.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she"], ["he"]], [["family", "home"]], ["F", "M"], ["Family"])
    >>> result = MAC().run_query(query, load_test_model())
    >>> list(result["targets_eval"]["F"])
    ['she']
    """

    metric_template = ("n", "n")
    metric_name = "Mean Average Cosine"
    metric_short_name = "MAC"
    value_range = (0.0, 2.0)
    no_bias_value = 1.0
    nan_values = {"mac": math.nan, "targets_eval": {}}  # noqa: RUF012

    def run_query(
        self,
        query: Query,
        model: WordEmbeddingModel,
        *,
        average: Literal["sets", "words"] = "sets",
        **lookup: Unpack[Lookup],
    ) -> MetricResult:
        """Measure a model with MAC.

        Parameters
        ----------
        query : Query
            Any number of target and attribute sets.
        model : WordEmbeddingModel
            The model to be measured.
        average : {'sets', 'words'}, default='sets'
            What weighs the same when attribute sets differ in size; see :func:`mac`.
        **lookup
            How words are looked up, see :class:`wefe.embeddings.Lookup`.

        Returns
        -------
        MetricResult
            'query_name', 'result', 'mac' (both the score), and 'targets_eval': target set -> word
            -> attribute set -> mean cosine distance, in [0, 2].

        Raises
        ------
        TypeError
            If `query` or `model` is something else, or an option is unknown or of a wrong type.
        ValueError
            If an option has no such value.
        UnusableVectorError
            If a word of the query has a zero or non-finite vector.
        """
        check_choice("average", average, _AVERAGES)
        return self._run(query, model, lookup, average=average)

    def _compute(
        self, targets: Sequence[EmbeddedSet], attributes: Sequence[EmbeddedSet], *, average: str
    ) -> Measurement:
        attribute_vectors = [part.vectors for part in attributes]
        score = mac([part.vectors for part in targets], attribute_vectors, average)
        names = [part.name for part in attributes]
        targets_eval = {
            part.name: {
                word: dict(zip(names, row, strict=True))
                for word, row in zip(
                    part.words, mac_by_word(part.vectors, attribute_vectors).tolist(), strict=True
                )
            }
            for part in targets
        }
        return Measurement({"result": score, "mac": score, "targets_eval": targets_eval})

    def _compute_cases(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        counts: Sequence[WordCounts],
        **params: Any,
    ) -> Vectors:
        t = np.concatenate([unit(part.name, part.vectors) for part in targets])
        of_targets, of_attributes = counts[: len(targets)], counts[len(targets) :]
        # Per case and target word: (n_cases or 1, n_words).
        similarities = [
            count.means(unit(part.name, part.vectors) @ t.T)
            for part, count in zip(attributes, of_attributes, strict=True)
        ]
        sizes = [count.totals[:, None] for count in of_attributes]
        if params["average"] == "sets":
            sizes = [np.ones((1, 1))] * len(sizes)
        weighed = [size * each for size, each in zip(sizes, similarities, strict=True)]
        by_word = 1.0 - add(weighed) / add(sizes)
        ends = np.cumsum([len(part) for part in targets])[:-1]
        parts = np.split(by_word, ends, axis=1)
        total = add([count.sums_by_case(p) for count, p in zip(of_targets, parts, strict=True)])
        return np.asarray(total / add([count.totals for count in of_targets]))
