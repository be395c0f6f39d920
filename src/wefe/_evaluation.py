"""One metric, query and model: look up the words once, then score them with any weights."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any, TypeVar

import numpy as np

from wefe._wordset import Ones, Vectors, Weights, n_cases_of
from wefe.embeddings import Lookup, UnanswerableError
from wefe.metrics._base import BaseMetric, has_own_run_query
from wefe.metrics._declaration import Scale
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query

T = TypeVar("T")


class Evaluation:
    """A query after look-up, which can be scored with any weights of its words.

    `sets` holds `targets`, then `attributes`: each word found once, and complete tuples only if
    targets are paired.
    """

    def __init__(
        self,
        metric: BaseMetric,
        query: Query,
        model: WordEmbeddingModel,
        params: Mapping[str, Any],
        value: float | None = None,
    ) -> None:
        if has_own_run_query(metric):
            raise UnanswerableError(
                f"{type(metric).__name__} has its own run_query, so its words cannot be weighted. "
                "Define _scores or _compute instead"
            )
        own, lookup = metric._with_params(**params)
        self.metric, embedded, self.targets, reason = own._prepare(query, model, lookup)
        if reason is not None:
            raise UnanswerableError(
                f"{query.query_name!r} cannot be answered with {model.name}: {reason}."
            )
        if value is None:
            value = float(metric._result(query, model, **params)["result"])
        # Resamples need no p-value.
        self.metric.calculate_p_value = False
        self.query, self.model_name, self.value = query, model.name, value
        self.paired = bool(self.metric.pairs_targets)
        self.prefix = model.vocab_prefix or ""
        self.sets = (*self.targets, *embedded.attributes)
        # The sets hold the forms that were found.
        self._lookup: Lookup = {**lookup, "strategy": "first"}
        self.lost = tuple(part.lost for part in embedded.sets)
        self.scale = self.scale_of([len(part) for part in self.sets])

    @classmethod
    def of_subsets(
        cls, metric: BaseMetric, query: Query, model: WordEmbeddingModel, params: Mapping[str, Any]
    ) -> Evaluation:
        """Use the parameters of the metric for subsets; `params` override them."""
        return cls(metric, query, model, {**metric.subset_params, **params})

    def of_all_words(self) -> float:
        """Score all words in the same way as subsets."""
        return float(self.scores({})[0])

    def scores_of(
        self, blocks: Iterable[Mapping[int, Weights]], n_jobs: int | None, bar: Any
    ) -> Vectors:
        """Score blocks of weights, in this process or in joblib workers."""
        import joblib

        sent = self
        if joblib.effective_n_jobs(n_jobs) > 1:
            sent = copy.copy(self)
            # Metrics that use the whole vocabulary have models among their attributes.
            sent.metric = copy.copy(self.metric)
            vars(sent.metric).update(travelling(vars(self.metric)))
        parts = []
        for part in call_all(sent.scores, zip(blocks), n_jobs):
            parts.append(part)
            bar.update(len(part))
        return np.concatenate(parts)

    @property
    def strata(self) -> dict[tuple[int, ...], int]:
        """Positions in `sets` that are resampled together, such as pairs -> number of words."""
        n_tied = len(self.targets) if self.paired else 0
        tied = [tuple(range(n_tied))] if n_tied else []
        strata = tied + [(position,) for position in range(n_tied, len(self.sets))]
        return {stratum: len(self.sets[stratum[0]]) for stratum in strata}

    def scale_of(self, sizes: Sequence[int]) -> Scale:
        """Return the scale of the query if each set had only its first words."""
        words = [(part.name, part.words[:n]) for part, n in zip(self.sets, sizes, strict=True)]
        n_targets = len(self.targets)
        query = Query._part((tuple(words[:n_targets]), tuple(words[n_targets:])))
        return self.metric._scale(query, self._lookup)

    def scores(self, weights: Mapping[int, Weights]) -> Vectors:
        """Score the query with new weights for some sets: (n_cases,), NaN where undefined.

        `weights` are by position in `sets`; words of the other sets count once.
        """
        sets = [part._weighted(weights.get(i, Ones(len(part)))) for i, part in enumerate(self.sets)]
        n_targets = len(self.targets)
        scores = self.metric._scores(sets[:n_targets], sets[n_targets:])
        return np.broadcast_to(scores, n_cases_of(sets))


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
