"""Relational Inner Product Association (Ethayarajh, Duvenaud and Hirst, ACL 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._wordset import Vectors, WordSet, each_case, word_sets
from wefe.embeddings import Lookup
from wefe.metrics._base import SCORES_OF_MEANS, BaseMetric, Measurement, Scale
from wefe.metrics._direction import bias_subspace
from wefe.metrics._geometry import ZERO_LENGTH, values_by_word
from wefe.metrics._pairs import check_same_size, tuples_of
from wefe.metrics._registry import register
from wefe.query import Query

Relation: TypeAlias = Literal["pairs", "pca"]


def ripa_by_pair(
    t1: npt.ArrayLike, t2: npt.ArrayLike, a: npt.ArrayLike, relation: Relation = "pairs"
) -> Vectors:
    """Inner product of each attribute word with the relation vector of each pair.

    Parameters
    ----------
    t1, t2 : array-like of shape (n_pairs, dim)
        Row i of `t1` is paired with row i of `t2`.
    a : array-like of shape (n_words, dim)
        Attribute words; their lengths matter.
    relation : {'pairs', 'pca'}, default='pairs'
        'pairs': one relation vector per pair, (t1_i - t2_i) scaled to unit length. 'pca': a single
        one, the first principal component of the centred pairs, pointing from `t2` to `t1`.

    Returns
    -------
    ndarray of shape (n_words, n_pairs), or (n_words, 1) for 'pca'
        Positive if the word leans to `t1`; at most its length in magnitude. nan for a pair of
        identical vectors.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> ripa_by_pair([he], [she], [he, she]).round(2).tolist()
    [[0.71], [-0.71]]
    """
    *pairs, words = word_sets(t1=t1, t2=t2, a=a)
    check_same_size(*pairs)
    return words.vectors @ RIPA(relation=relation)._relations(pairs).T


def ripa(
    t1: npt.ArrayLike, t2: npt.ArrayLike, a: npt.ArrayLike, relation: Relation = "pairs"
) -> float:
    """Relational inner product association, averaged over pairs and attribute words.

    Parameters
    ----------
    t1, t2, a, relation : array-like and {'pairs', 'pca'}
        As in :func:`ripa_by_pair`.

    Returns
    -------
    float
        Unbounded for raw vectors, in [-1, 1] for unit vectors. 0 if no association was measured;
        sign and nan as in :func:`ripa_by_pair`.

    Examples
    --------
    >>> he, she = [1.0, 0.0], [0.0, 1.0]
    >>> ripa([he], [she], [he])
    0.70710678
    """
    return float(ripa_by_pair(t1, t2, a, relation).mean(axis=1).mean())


@register
class RIPA(BaseMetric):
    """Relational Inner Product Association: how far attribute words reach along pair differences.

    The score (:func:`ripa`) is positive towards the first target set, 0 if no bias was measured.
    Target sets are paired by position; pairs with an out-of-vocabulary word are left out. The
    lengths of the attribute words matter, and these depend on word frequency. To compare models,
    use ``normalize=True``, which keeps scores in [-1, 1]. Source: Ethayarajh, Duvenaud and Hirst,
    "Understanding Undesirable Word Embedding Associations", ACL 2019.

    The result has 'ripa' (the score) and 'word_values': word -> 'mean' and population standard
    deviation 'std' over the pairs. `details['pairs']` lists the pairs used. The score is NaN if a
    pair has identical vectors; for 'pca' only if all have.

    Parameters
    ----------
    relation : {'pairs', 'pca'}, default='pairs'
        As in :func:`ripa_by_pair`.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "queen"], ["he", "king"]], [["family", "home"]])
    >>> list(RIPA().run_query(query, load_test_model())["word_values"]["home"])
    ['mean', 'std']
    """

    metric_template = (2, 1)
    metric_name = "Relational Inner Product Association"
    metric_short_name = "RIPA"
    if_unpaired = {}  # noqa: RUF012
    question = "how far do attribute words reach along the line of a pair of target words?"
    meaning = "How far attribute words reach along the line from one word of a pair to the other."
    null_exchange = "pairs"
    audit_findings = SCORES_OF_MEANS
    pairs_targets = True
    nan_values = {"ripa": math.nan, "word_values": {}}  # noqa: RUF012
    subset_params = {"normalize": True}  # noqa: RUF012

    relation: Relation = "pairs"

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        limit = 1.0 if lookup.get("normalize") else math.inf
        return Scale("RIPA", (-limit, limit), 0.0)

    def _relations(self, pairs: Sequence[WordSet]) -> Vectors:
        """Unit relation vectors of unweighted sets: (n_pairs or 1, dim); NaN if there is none."""
        first, second = (part.vectors for part in pairs)
        differences = first - second
        lengths = np.linalg.norm(differences, axis=1, keepdims=True)
        # Up to rounding: normalisation makes parallel vectors identical but for that.
        spans = lengths > ZERO_LENGTH * np.linalg.norm(first, axis=1, keepdims=True)
        # The principal component needs no more than one pair that has a direction.
        if self.relation == "pca" and spans.any():
            return bias_subspace([first, second], normalize=False).directions
        relations = np.where(spans, differences, math.nan) / np.where(spans, lengths, 1)
        return relations if self.relation == "pairs" else relations[:1]

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        (words,) = attributes
        if self.relation == "pca":
            mean = np.concatenate([self._relations(pairs) for pairs in each_case(targets)])
        else:
            # Pairs stay together, so both sets have the same weights.
            pairs, relations = targets[0], self._relations(targets)
            mean = pairs.average(np.nan_to_num(relations))
            mean[pairs.weights.sums(np.isnan(relations[:, 0])) > 0] = math.nan
        return np.asarray((mean * words.mean_vector()).sum(axis=1))

    @property
    def no_p_value(self) -> str:
        """Why there is no permutation test."""
        turned = "exchanging the words of a pair leaves the principal component as it is"
        return turned if self.relation == "pca" else ""

    def _pair_values(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        by_pair = self._relations(targets) @ attributes[0].mean_vector()[0]
        return np.stack([by_pair, -by_pair], axis=1)

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        (words,), pairs = attributes, tuples_of(targets)
        relations = self._relations(targets)
        same = list(compress(pairs, np.broadcast_to(np.isnan(relations[:, 0]), len(pairs))))
        if same:
            reason = f"the vectors of a pair are identical, so it has no direction: {same}"
            return self._undefined(reason, {"pairs": pairs})
        score = float(self._scores(targets, attributes)[0])
        by_pair = words.vectors @ relations.T
        columns = {"mean": by_pair.mean(axis=1), "std": by_pair.std(axis=1)}
        return self._measured(score, {"pairs": pairs}, word_values=values_by_word(words, columns))
