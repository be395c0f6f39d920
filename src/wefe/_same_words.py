"""Make a query comparable: the same words in all models, or fewer words in one model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from wefe._checks import listed, logger
from wefe.embeddings import DEFAULT_THRESHOLD, forms_found
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.words import Preprocessors, every_form

_MOST_WORDS = 20


def on_same_words(
    models: list[WordEmbeddingModel], queries: Sequence[Query], lookup: Mapping[str, Any]
) -> list[WordEmbeddingModel]:
    """Return copies of the models that all lack the query words that one of them lacks.

    Each word still counts as lost, so the thresholds for lost words hold. The vocabulary stays
    whole, because some metrics need the neighbours of words.
    """
    how = lookup.get("preprocessors")
    threshold = lookup.get("lost_vocabulary_threshold", DEFAULT_THRESHOLD)
    by_query = {query: [lacking(model, query, how) for model in models] for query in queries}
    lost = sorted(set[str]().union(*(left_out(q, own, threshold) for q, own in by_query.items())))
    tell_left_out(lost)
    return [hiding(model, queries, lost, how) for model in models] if lost else models


def lacking(
    model: WordEmbeddingModel, query: Query, preprocessors: Preprocessors | None
) -> list[str]:
    """Return the words of a query that a model has in no form."""
    found = forms_found(model, query.words, preprocessors)
    return [word for word in found if not found[word]]


def left_out(query: Query, lacked: Sequence[Collection[str]], threshold: float) -> list[str]:
    """Return the words that some models have and others lack; ignore models without an answer."""
    answering = [
        own
        for own in map(set, lacked)
        if all(
            sum(w in own for w in part) <= min(threshold * len(part), len(part) - 1)
            for part in query.target_sets + query.attribute_sets
        )
    ]
    lost = set[str]().union(*answering)
    return sorted(word for word in lost if not all(word in own for own in answering))


def tell_left_out(words: Sequence[str]) -> None:
    """Log the words that are left out for all models."""
    if words:
        logger.warning(
            "%d words of the queries are left out because not all models have them: %s",
            *(len(words), listed(words, _MOST_WORDS)),
        )


def hiding(
    model: WordEmbeddingModel,
    queries: Sequence[Query],
    lost: Collection[str],
    preprocessors: Preprocessors | None,
) -> WordEmbeddingModel:
    """Return a model that behaves as if it lacked some words of queries; all rows stay in place."""
    kept = {word for query in queries for word in query.words}.difference(lost)
    hidden, shown = (every_form(words, preprocessors, model.vocab_prefix) for words in (lost, kept))
    other = object.__new__(type(model))  # a copied encoder would become a static model
    vars(other).update(vars(model), _hidden=model._hidden | (hidden - shown))
    return other
