"""The same query asked again: of several models with the same words, or with fewer words."""

from __future__ import annotations

import copy
import logging
from collections import UserDict
from collections.abc import Collection, Mapping, Sequence

from wefe.models._load import words_of
from wefe.models._tables import ArrayVectors
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query
from wefe.words import Preprocessors, check_preprocessors, variants

logger = logging.getLogger(__name__)


def on_same_words(
    models: list[WordEmbeddingModel],
    queries: Sequence[Query],
    preprocessors: Preprocessors | None,
) -> list[WordEmbeddingModel]:
    """Return the models, without those words of queries that one of them lacks.

    A word that is lost then is lost in all of them, so the thresholds for lost words still hold.
    Models stay whole, as some metrics look at the neighbours of words.
    """
    forms = check_preprocessors(preprocessors)
    sets = [part for query in queries for part in query.target_sets + query.attribute_sets]
    variants_of = {word: variants(word, forms) for part in sets for word in part}
    # Per word, the forms that each model has; models may have different ones.
    found = {
        word: [
            [form for form in own if (model.vocab_prefix or "") + form in model] for model in models
        ]
        for word, own in variants_of.items()
    }
    shared = [word for word, per_model in found.items() if all(per_model)]
    lost = [word for word, each in found.items() if any(each) and not all(each)]
    if not lost:
        return models
    logger.warning(
        "%d words of the queries are left out, as not all models have them: %s",
        *(len(lost), ", ".join(lost)),
    )
    restricted: list[WordEmbeddingModel] = []
    for number, model in enumerate(models):
        prefix = model.vocab_prefix or ""
        own = {prefix + form for word in shared for form in found[word][number]}
        if type(model) is WordEmbeddingModel:
            forms_of_lost = {prefix + form for word in lost for form in variants_of[word]}
            restricted.append(_WithoutWords(model, frozenset(forms_of_lost - own)))
            continue
        # An encoder has no vocabulary.
        restricted.append(with_only(model, own, queries, preprocessors))
    return restricted


def with_only(
    model: WordEmbeddingModel,
    words: Collection[str],
    queries: Sequence[Query],
    preprocessors: Preprocessors | None,
) -> WordEmbeddingModel:
    """Return a model that has only those forms of the words of queries that are among `words`."""
    asked = words_of(queries, model.vocab_prefix, preprocessors)
    kept = sorted(word for word in asked if word in words)
    few = copy.copy(model)
    few.wv = ArrayVectors(kept, model.get_vectors(kept), asked, model.name)
    # What else could be built from parts of words is not in all models.
    few.use_subwords = False
    return few


class _WithoutWords(WordEmbeddingModel):
    """A model that says of some words that it lacks them; its rows stay as they are."""

    def __init__(self, model: WordEmbeddingModel, hidden: frozenset[str]) -> None:
        vars(self).update(vars(model))
        self._hidden = hidden

    @property
    def vocab(self) -> Mapping[str, int]:
        """The words and their rows."""
        return _HidingWords(self.wv.key_to_index, self._hidden)

    def __contains__(self, word: object) -> bool:
        # Parts of words could make a vector of it.
        return word not in self._hidden and super().__contains__(word)


class _HidingWords(UserDict[str, int]):
    """A vocabulary that, asked whether it has a word, denies some.

    Look-up asks. Whoever comes upon the row of such a word, as a neighbour, gets its name and row.
    """

    get = Mapping.get

    def __init__(self, row_of: Mapping[str, int], hidden: frozenset[str]) -> None:
        self.data, self._hidden = row_of, hidden  # type: ignore[assignment]

    def __contains__(self, word: object) -> bool:
        return word not in self._hidden and word in self.data
