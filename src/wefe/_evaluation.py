"""One metric, one query, one model: looked up once, scored with any weights of the words."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wefe._checks import found
from wefe._same_words import without_logging
from wefe._wordset import Ones, Vectors, Weights, WordSet, n_cases_of
from wefe._workers import travelling, travelling_params
from wefe.embeddings import Lookup, UnanswerableError, embed_query
from wefe.metrics._base import BaseMetric, Scale, has_own_run_query
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query, check_query


class Evaluation:
    """A query after look-up, ready to be scored with any weights of its words.

    Parameters
    ----------
    metric : BaseMetric
        The metric.
    query : Query
        The query; it must fit the metric's template.
    model : WordEmbeddingModel
        The model.
    params : mapping
        What `run_query` is called with.
    subset_defaults : bool, default=True
        Put the metric's own defaults for subsets before `params`.
    value : float, optional
        The score of all words, where it is known already.

    Attributes
    ----------
    targets, attributes : tuple of WordSet
        The words found, each once; of paired targets, the complete tuples.
    lost : tuple of tuple of str
        For each set, targets first, the words that are out of vocabulary.
    value : float
        The score of all words.
    scale : Scale
        How scores are to be read.
    paired : bool
        Word i of each target set belong together.
    can_repeat : bool
        Words may count several times. Not so for a metric with a `run_query` of its own.
    """

    def __init__(
        self,
        metric: BaseMetric,
        query: Query,
        model: WordEmbeddingModel,
        params: Mapping[str, Any],
        *,
        subset_defaults: bool = True,
        value: float | None = None,
    ) -> None:
        check_query(query)
        check_model(model)
        self.query, self.model_name = query, model.name
        self.params = {**(metric.subset_params if subset_defaults else {}), **params}
        self._prefix = model.vocab_prefix or ""
        self._model: WordEmbeddingModel | None = None
        if has_own_run_query(metric):
            # It is called for each case.
            self.params = _accepted(metric, self.params)
            self.metric, self._model, self.paired = metric, model, False
            lookup = {key: v for key, v in self.params.items() if key in Lookup.__annotations__}
            embedded = embed_query(model, query, **lookup)
            self.targets, self.attributes = embedded.targets, embedded.attributes
            reason = embedded.nan_reason
        else:
            metric, own = metric.with_params(**self.params)
            prepared = metric._prepare(query, model, own)
            self.metric, embedded, self.targets, self.attributes, reason = prepared
            self.paired = bool(self.metric.pairs_targets)
            if hasattr(self.metric, "calculate_p_value"):
                # Nobody asks for the p-value of a resample.
                self.metric.calculate_p_value = False
        if reason is not None:
            raise UnanswerableError(
                f"{query.query_name!r} cannot be answered with {model.name}: {reason}."
            )
        if value is None:
            value = float(metric.run_query(query, model, **self.params)["result"])
        self.value = value
        self.lost = tuple(part.lost for part in embedded.sets)
        self.can_repeat = self._model is None
        self.scale = self.scale_of([len(part) for part in self.sets])

    def of_all_words(self) -> float:
        """Score all words in the way in which subsets are scored."""
        return float(self.scores([Ones(len(part)) for part in self.sets])[0])

    @property
    def is_fast(self) -> bool:
        """Whether cases are scored together, not one after the other."""
        mro = type(self.metric).__mro__
        scores, compute = (
            next(i for i, each in enumerate(mro) if name in vars(each))
            for name in ("_scores", "_compute")
        )
        # A class that changes `_compute` alone is another metric than the one that it inherits.
        return self._model is None and scores <= compute

    def travelling(self) -> Evaluation:
        """Return what goes to a worker: mapped models as they are in memory."""
        other = copy.copy(self)
        # Metrics of whole vocabularies have their models among the parameters.
        other.params, other.metric = travelling_params(self.params), copy.copy(self.metric)
        vars(other.metric).update(travelling_params(vars(self.metric)))
        if self._model is not None:
            other._model = travelling(self.metric, [self.query], self._model, self.params)
        return other

    @property
    def strata(self) -> list[tuple[int, ...]]:
        """Positions in `sets` of those whose words come and go together, as pairs do."""
        n_targets, n_sets = len(self.targets), len(self.sets)
        if not self.paired:
            return [(position,) for position in range(n_sets)]
        together = tuple(range(n_targets))
        return [together, *((position,) for position in range(n_targets, n_sets))]

    @property
    def sets(self) -> tuple[WordSet, ...]:
        """Target sets, then attribute sets."""
        return (*self.targets, *self.attributes)

    def scale_of(self, sizes: Sequence[int]) -> Scale:
        """Return the scale of the query with the first words of each set."""
        # The sets hold the forms that were found.
        params = {k: v for k, v in self.params.items() if k not in ("strategy", "preprocessors")}
        words = [part.words[:size] for part, size in zip(self.sets, sizes, strict=True)]
        return self.metric.scale(self._query_of(words), **params)

    def scores(self, weights: Sequence[Weights]) -> Vectors:
        """Score the query with weights of its words.

        Parameters
        ----------
        weights : sequence of Weights
            For each set, targets first, how often each word counts in each case.

        Returns
        -------
        ndarray of shape (n_cases,)
            NaN where the score is undefined.
        """
        sets = [part.weighted(own) for part, own in zip(self.sets, weights, strict=True)]
        n_targets, n_cases = len(self.targets), n_cases_of(sets)
        with without_logging("wefe.metrics", "wefe.embeddings"):
            if self._model is not None:
                return self._by_queries(sets, n_cases, self._model)
            formula = type(self.metric)._scores if self.is_fast else BaseMetric._scores
            scores = formula(self.metric, sets[:n_targets], sets[n_targets:])
        return np.broadcast_to(scores, n_cases)

    def _by_queries(
        self, sets: Sequence[WordSet], n_cases: int, model: WordEmbeddingModel
    ) -> Vectors:
        scores = np.full(n_cases, math.nan)
        found_forms = {"preprocessors": None, "lost_vocabulary_threshold": 1.0}
        options = _accepted(self.metric, {**self.params, **found_forms})
        for case in range(n_cases):
            rows = [part.weights.row(case) for part in sets]
            if any(row.max() > 1 for row in rows):
                raise ValueError(
                    f"{type(self.metric).__name__} has a run_query of its own, and a query cannot "
                    "repeat a word; a metric that defines _scores or _compute can be measured with "
                    "repeated words."
                )
            words = [
                part.take(np.flatnonzero(row)).words for part, row in zip(sets, rows, strict=True)
            ]
            try:
                result = self.metric.run_query(self._query_of(words), model, **options)
                scores[case] = float(result["result"])
            except UnanswerableError:
                continue
        return scores

    def _query_of(self, sets: Sequence[Sequence[str]]) -> Query:
        query, n_targets, words = self.query, len(self.targets), list(sets)
        if self._prefix:
            words = [[word.removeprefix(self._prefix) for word in part] for part in sets]
        return Query(
            words[:n_targets],
            words[n_targets:],
            query.target_sets_names,
            query.attribute_sets_names,
        )


def _accepted(metric: BaseMetric, params: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out parameters of the look-up that a `run_query` of a user does not take."""
    known = inspect.signature(metric.run_query).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known):
        return dict(params)
    names = {parameter.name for parameter in known}
    return {k: v for k, v in params.items() if k in names or k not in Lookup.__annotations__}


def finite_range(scale: Scale, metric: BaseMetric) -> tuple[float, float]:
    """Return the range of a scale, refused where it has no bounds."""
    low, high = scale.value_range
    if math.isinf(low) or math.isinf(high):
        raise ValueError(
            f"{scale.label} has no finite range ({low} to {high}) with these parameters of "
            f"{type(metric).__name__}, so a silhouette has no share of it to fill. Pass "
            "value_range=(lowest, highest), or parameters that bound the score, such as "
            "normalize=True."
        )
    return float(low), float(high)


def check_range(value_range: object) -> tuple[float, float]:
    """Return a range that was given as two rising numbers."""
    try:
        low, high = (float(bound) for bound in value_range)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(
            f"value_range must be two rising finite numbers; got {found(value_range)}."
        )
    return low, high
