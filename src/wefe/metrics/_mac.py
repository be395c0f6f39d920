"""Mean Average Cosine (Manzini, Lim, Black and Tsvetkov, NAACL 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._wordset import Vectors, WordSet, lists_of_word_sets
from wefe.metrics._base import BaseMetric, Measurement
from wefe.metrics._geometry import values_by_word
from wefe.metrics._registry import register

Average: TypeAlias = Literal["sets", "words"]


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
        Mean of 1 - cos, in [0, 2]; 1 means no association, below 1 that the word leans to the set.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> mac_by_word([he], [[he], [she]])
    array([[0., 1.]])
    """
    (words,), sets = lists_of_word_sets(t=[t], attributes=attributes)
    return np.stack([_distances(part, words)[0] for part in sets], axis=1)


def mac(
    targets: Sequence[npt.ArrayLike],
    attributes: Sequence[npt.ArrayLike],
    average: Average = "sets",
) -> float:
    """Mean average cosine *distance* between target words and attribute sets.

    Parameters
    ----------
    targets, attributes : sequence of array-like of shape (n_words, dim)
        Target sets and attribute sets.
    average : {'sets', 'words'}, default='sets'
        'sets' gives every attribute set the same weight, as the authors' code does; 'words' every
        word. Target words always have the same weight.

    Returns
    -------
    float
        In [0, 2]; 1 means no association. A distance, although the paper calls it a similarity.
        Words that lean to the attributes and words that lean away cancel.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> mac([[he], [she]], [[he]])
    0.5
    """
    sets = lists_of_word_sets(targets=targets, attributes=attributes)
    return float(MAC(average=average)._scores(*sets)[0])


def _distances(part: WordSet, words: WordSet) -> Vectors:
    """Mean cosine distance of each word to a set in each case: (n_cases, n_words)."""
    return np.clip(1.0 - part.mean_cosine(words), 0.0, 2.0)


@register
class MAC(BaseMetric):
    """Mean Average Cosine: the mean cosine distance of target words to attribute sets.

    The score (:func:`mac`) is in [0, 2]; 1 means that no bias was measured, and bias is the
    distance from 1 in either direction. The result has 'mac' (the score) and 'targets_eval': target
    set -> word -> attribute set -> mean cosine distance. Source: Manzini, Lim, Black and Tsvetkov,
    "Black is to Criminal as Caucasian is to Police: Detecting and Removing Multiclass Bias in Word
    Embeddings", NAACL 2019.

    Parameters
    ----------
    average : {'sets', 'words'}, default='sets'
        What has the same weight if attribute sets differ in size; see :func:`mac`.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she"], ["he"]], [["family", "home"]], ["F", "M"], ["Family"])
    >>> list(MAC().run_query(query, load_test_model())["targets_eval"]["F"])
    ['she']
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
