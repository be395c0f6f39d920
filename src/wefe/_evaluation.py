"""One metric, query and model: look up the words once, then score them with any weights."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any, TypeVar

import numpy as np

from wefe._wordset import Ones, Vectors, Weights, WordSet, n_cases_of
from wefe.embeddings import Lookup, UnanswerableError, embed_query
from wefe.metrics._base import BaseMetric, has_own_run_query, result_of
from wefe.metrics._declaration import Scale
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query

T = TypeVar("T")


class Evaluation:
    """A query after look-up, which can be scored with any weights of its words.

    `sets` holds `targets`, then `attributes`: each word found once, and complete tuples only if
    targets are paired. `can_repeat` is False for a metric with a `run_query` of its own.
    `subset_defaults` adds the metric's parameters for subsets; `params` override them.
    """

    _model: WordEmbeddingModel

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
        self.params = {**(metric.subset_params if subset_defaults else {}), **params}
        self.can_repeat = not has_own_run_query(metric)
        if self.can_repeat:
            own, lookup = metric._with_params(**self.params)
            self.metric, embedded, self.targets, reason = own._prepare(query, model, lookup)
            self.paired = bool(self.metric.pairs_targets)
            # Resamples need no p-value.
            self.metric.calculate_p_value = False
        else:
            # The metric's own run_query is called for each case.
            self.params = _accepted(metric, self.params)
            self.metric, self._model, self.paired = metric, model, False
            how = {key: v for key, v in self.params.items() if key in Lookup.__annotations__}
            embedded = embed_query(model, query, **how)
            self.targets, reason = embedded.targets, embedded.nan_reason
        if reason is not None:
            raise UnanswerableError(
                f"{query.query_name!r} cannot be answered with {model.name}: {reason}."
            )
        if value is None:
            value = float(result_of(metric, query, model, **self.params)["result"])
        self.query, self.model_name, self.value = query, model.name, value
        self.prefix = model.vocab_prefix or ""
        self.sets = (*self.targets, *embedded.attributes)
        self.lost = tuple(part.lost for part in embedded.sets)
        self.scale = self.scale_of([len(part) for part in self.sets])

    def of_all_words(self) -> float:
        """Score all words in the same way as subsets."""
        return float(self.scores({})[0])

    @property
    def is_fast(self) -> bool:
        """Whether all cases are scored in one computation."""
        return self.can_repeat and not self.metric._by_case

    def for_jobs(self, n_jobs: int | None) -> Evaluation:
        """Return a copy to send to workers, with mapped models in memory."""
        import joblib

        if joblib.effective_n_jobs(n_jobs) == 1:
            return self
        other = copy.copy(self)
        # Metrics that use the whole vocabulary have models among their parameters.
        other.params, other.metric = travelling(self.params), copy.copy(self.metric)
        for each in (other, other.metric):
            vars(each).update(travelling(vars(each)))
        return other

    @property
    def strata(self) -> dict[tuple[int, ...], int]:
        """Positions in `sets` that are resampled together, such as pairs -> number of words."""
        n_tied = len(self.targets) if self.paired else 0
        tied = [tuple(range(n_tied))] if n_tied else []
        strata = tied + [(position,) for position in range(n_tied, len(self.sets))]
        return {stratum: len(self.sets[stratum[0]]) for stratum in strata}

    def scale_of(self, sizes: Sequence[int]) -> Scale:
        """Return the scale of the query if each set had only its first words."""
        # The sets hold the forms that were found.
        params = {k: v for k, v in self.params.items() if k not in ("strategy", "preprocessors")}
        words = [part.words[:size] for part, size in zip(self.sets, sizes, strict=True)]
        return self.metric.scale(self._query_of(words), **params)

    def scores(self, weights: Mapping[int, Weights]) -> Vectors:
        """Score the query with new weights for some sets: (n_cases,), NaN where undefined.

        `weights` are by position in `sets`; words of the other sets count once.
        """
        sets = [part._weighted(weights.get(i, Ones(len(part)))) for i, part in enumerate(self.sets)]
        n_targets, n_cases = len(self.targets), n_cases_of(sets)
        if not self.can_repeat:
            return np.array([self._score_of_query(sets, case) for case in range(n_cases)])
        scores = self.metric._scores_of(sets[:n_targets], sets[n_targets:])
        return np.broadcast_to(scores, n_cases)

    def _score_of_query(self, sets: Sequence[WordSet], case: int) -> float:
        found_forms = {"preprocessors": None, "lost_vocabulary_threshold": 1.0}
        options = _accepted(self.metric, {**self.params, **found_forms})
        query = self._query_of([part._resample(case).words for part in sets])
        try:
            return float(self.metric.run_query(query, self._model, **options)["result"])
        except UnanswerableError:
            return math.nan

    def _query_of(self, sets: Sequence[tuple[str, ...]]) -> Query:
        """Return the query with some of its words, in the forms that were found; not checked."""
        prefix, n_targets = self.prefix, len(self.targets)
        if prefix:
            sets = [tuple(word.removeprefix(prefix) for word in part) for part in sets]
        named = tuple(zip((part.name for part in self.sets), sets, strict=True))
        return Query._part((named[:n_targets], named[n_targets:]))


def _accepted(metric: BaseMetric, params: Mapping[str, Any]) -> dict[str, Any]:
    """Drop look-up parameters that a user's own `run_query` does not accept."""
    known = inspect.signature(metric.run_query).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known):
        return dict(params)
    names = {parameter.name for parameter in known}
    return {k: v for k, v in params.items() if k in names or k not in Lookup.__annotations__}


def travelling(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters for a worker, whose models are those of `in_memory`."""
    return {
        name: in_memory(value) if isinstance(value, WordEmbeddingModel) else value
        for name, value in values.items()
    }


def in_memory(model: WordEmbeddingModel) -> WordEmbeddingModel:
    """Return the model with copies of memory-mapped arrays.

    joblib sends such an array as a file name; the worker would miss changes made in memory. Tables
    that read rows when they are used open their file again, if it is still the same.
    """
    if model.held != "mapped":
        return model
    sent = copy.copy(model)
    sent.wv = model.table.copied()
    return sent


def call_all(
    function: Callable[..., T], calls: Iterable[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[T]:
    """Yield the results of calls in order, from this process or from joblib workers."""
    import joblib

    if joblib.effective_n_jobs(n_jobs) == 1:
        return starmap(function, calls)
    try:
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # this backend returns everything at once
        parallel = joblib.Parallel(n_jobs=n_jobs)
    return iter(parallel(joblib.delayed(function)(*call) for call in calls))
