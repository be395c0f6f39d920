"""The same query asked again: of several models with the same words, or with fewer words."""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from wefe.models._keyed_vectors import SelectedVectors
from wefe.models._load import words_of
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
    prefixes = [model.vocab_prefix or "" for model in models]
    sets = [part for query in queries for part in query.target_sets + query.attribute_sets]
    written = dict.fromkeys(word for part in sets for word in part)
    variants_of = {word: list(dict.fromkeys(variants(word, forms))) for word in written}
    # Per word, the forms that each model has; models may have different ones.
    found = {
        word: [
            [form for form in own if prefix + form in model]
            for prefix, model in zip(prefixes, models, strict=True)
        ]
        for word, own in variants_of.items()
    }
    shared = {word for word, per_model in found.items() if all(per_model)}
    lost = [word for word, per_model in found.items() if any(per_model) and word not in shared]
    if not lost:
        return models
    logger.warning(
        "%d words of the queries are left out, as not all models have them: %s",
        *(len(lost), ", ".join(lost)),
    )
    restricted: list[WordEmbeddingModel] = []
    for number, (prefix, model) in enumerate(zip(prefixes, models, strict=True)):
        kept = (form for word in written if word in shared for form in found[word][number])
        own = [prefix + form for form in dict.fromkeys(kept)]
        if type(model) is WordEmbeddingModel:
            forms_of_lost = {prefix + form for word in lost for form in variants_of[word]}
            restricted.append(_WithoutWords(model, frozenset(forms_of_lost.difference(own))))
            continue
        # An encoder has no vocabulary.
        asked = words_of(queries, model.vocab_prefix, preprocessors)
        few = copy.copy(model)
        few.wv = SelectedVectors(own, model.get_vectors(own), asked, model.name)
        # What else could be built from parts of words is not in all of them.
        few.use_subwords = False
        restricted.append(few)
    return restricted


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


class _HidingWords(Mapping[str, int]):
    """A vocabulary that, asked whether it has a word, denies some.

    Look-up asks. Whoever comes upon the row of such a word, as a neighbour, gets its name and row.
    """

    def __init__(self, row_of: Mapping[str, int], hidden: frozenset[str]) -> None:
        self._row_of, self._hidden = row_of, hidden

    def __contains__(self, word: object) -> bool:
        return word not in self._hidden and word in self._row_of

    def __getitem__(self, word: str) -> int:
        return self._row_of[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self._row_of)

    def __len__(self) -> int:
        return len(self._row_of)


@contextmanager
def without_logging(*names: str, kept: list[str] | None = None) -> Iterator[None]:
    """Keep warnings about parts of a query from being taken for warnings about the query.

    Parameters
    ----------
    *names : str
        Loggers, with all below them.
    kept : list of str, optional
        Gets the warnings, each once.
    """
    # A filter holds for the very logger only, not for those below it.
    loggers = [
        logging.getLogger(name)
        for name in list(logging.root.manager.loggerDict)
        if any(name == each or name.startswith(f"{each}.") for each in names)
    ]

    here = threading.get_ident()

    def serious(record: logging.LogRecord) -> bool:
        if record.levelno > logging.WARNING or record.thread != here:
            return True
        if kept is not None and record.levelno == logging.WARNING:
            text = record.getMessage()
            if text not in kept:
                kept.append(text)
        return False

    for each in loggers:
        each.addFilter(serious)
    try:
        yield
    finally:
        for each in loggers:
            each.removeFilter(serious)
