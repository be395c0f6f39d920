"""joblib's workers, and what goes to them in place of a model."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wefe.metrics._base import BaseMetric
from wefe.models._keyed_vectors import SelectedVectors, StoredVectors
from wefe.models._load import words_of
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query


def travelling(
    metric: BaseMetric,
    queries: Sequence[Query],
    model: WordEmbeddingModel,
    options: Mapping[str, Any],
) -> WordEmbeddingModel:
    """Return what goes to a worker in place of a model whose vectors are mapped from a file.

    joblib sends a mapped array as the name of its file, so a worker would not see what was changed
    in memory, or would see the file that took its place meanwhile.
    """
    if not _is_mapped(model):
        return model
    ours = type(metric).__module__.startswith("wefe.metrics.")
    if ours and not metric.needs_vocabulary and not model.use_subwords:
        # Our metrics look up the words of the query and nothing else.
        asked = words_of(queries, model.vocab_prefix, options.get("preprocessors"))
        words = [word for word in asked if word in model.vocab]
        sent = copy.copy(model)
        sent.wv = SelectedVectors(words, model.get_vectors(words), asked, model.name)
        return sent
    return _in_memory(model)


def travelling_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters for a worker: models among them as they are in memory."""
    return {name: _in_memory(v) if _is_mapped(v) else v for name, v in params.items()}


def _is_mapped(value: object) -> bool:
    return (
        isinstance(value, WordEmbeddingModel)
        and value.held == "mapped"
        and not isinstance(value.wv, StoredVectors)
    )


def _in_memory(model: WordEmbeddingModel) -> WordEmbeddingModel:
    sent = copy.copy(model)
    sent.wv = copy.copy(model.wv)
    sent.wv.vectors = np.array(model.vectors)
    return sent


def parallel(n_jobs: int | None) -> Any:
    """Return joblib's `Parallel`, which hands out results as they come if the backend can."""
    import joblib

    try:
        return joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # a backend that can only return everything at once
        return joblib.Parallel(n_jobs=n_jobs)
