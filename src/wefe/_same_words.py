"""Make a query comparable: the same words in all models, or fewer words in one model."""

from __future__ import annotations

import copy
from collections import UserDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from wefe._checks import listed, logger
from wefe.models._load import words_of
from wefe.models._tables import ArrayVectors
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.words import Preprocessors, check_preprocessors, variants

_MOST_WORDS = 20


def on_same_words(
    models: list[WordEmbeddingModel],
    queries: Sequence[Query],
    lookup: Mapping[str, Any],
) -> list[WordEmbeddingModel]:
    """Return copies of the models that all lack the query words that one of them lacks.

    Each word still counts as lost, so the thresholds for lost words hold. The vocabulary stays
    whole, because some metrics need the neighbours of words.
    """
    how, threshold = lookup.get("preprocessors"), lookup.get("lost_vocabulary_threshold", 0.2)
    by_query = {query: [lacking(model, query, how) for model in models] for query in queries}
    lost = sorted(set[str]().union(*(left_out(q, own, threshold) for q, own in by_query.items())))
    tell_left_out(lost)
    return [hiding(model, queries, lost, how) for model in models] if lost else models


def lacking(
    model: WordEmbeddingModel, query: Query, preprocessors: Preprocessors | None
) -> list[str]:
    """Return the words of a query that a model has in no form."""
    forms, prefix = check_preprocessors(preprocessors), model.vocab_prefix
    words = dict.fromkeys(query.words)
    return [w for w in words if not any(form in model for form in variants(w, forms, prefix))]


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
    lost: set[str] = set().union(*answering)
    return sorted(lost.difference(answering[0].intersection(*answering))) if lost else []


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
    """Return a model that behaves as if it lacked some words of queries."""
    words = {word for query in queries for word in query.words}
    kept = _forms(words - set(lost), model, preprocessors)
    if type(model) is WordEmbeddingModel:
        return _WithoutWords(model, frozenset(_forms(lost, model, preprocessors) - kept))
    # An encoder has no vocabulary.
    return with_only(model, {form for form in kept if form in model}, queries, preprocessors)


def _forms(
    words: Iterable[str], model: WordEmbeddingModel, preprocessors: Preprocessors | None
) -> set[str]:
    """Return every form in which words are looked up."""
    forms = check_preprocessors(preprocessors)
    return {form for word in words for form in variants(word, forms, model.vocab_prefix)}


def with_only(
    model: WordEmbeddingModel,
    words: Collection[str],
    queries: Sequence[Query],
    preprocessors: Preprocessors | None,
) -> WordEmbeddingModel:
    """Return a model that has only those forms of query words that are in `words`."""
    asked = words_of(queries, model.vocab_prefix, preprocessors)
    kept = sorted(word for word in asked if word in words)
    few = copy.copy(model)
    few.wv = ArrayVectors(kept, model.get_vectors(kept), asked, model.name)
    # Subwords could build vectors that other models lack.
    few.use_subwords = False
    return few


class _WithoutWords(WordEmbeddingModel):
    """A model that hides some of its words; all rows stay in place."""

    def __init__(self, model: WordEmbeddingModel, hidden: frozenset[str]) -> None:
        vars(self).update(vars(model))
        self._hidden = hidden

    @property
    def vocab(self) -> Mapping[str, int]:
        """Words and their rows."""
        return _HidingWords(self.wv.key_to_index, self._hidden)

    def __contains__(self, word: object) -> bool:
        # Otherwise subwords could build a vector of a hidden word.
        return word not in self._hidden and super().__contains__(word)


class _HidingWords(UserDict[str, int]):
    """A vocabulary in which `in` is False for hidden words; iteration still yields all words."""

    get = Mapping.get

    def __init__(self, row_of: Mapping[str, int], hidden: frozenset[str]) -> None:
        self.data, self._hidden = row_of, hidden  # type: ignore[assignment]

    def __contains__(self, word: object) -> bool:
        return word not in self._hidden and word in self.data
