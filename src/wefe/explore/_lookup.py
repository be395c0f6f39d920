"""Look up words in a model, and report words that are missing, repeated or without a direction."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wefe._checks import check_text, logger, nearest
from wefe.embeddings import forms_found
from wefe.metrics._geometry import Vectors
from wefe.models._passes import Rows, forms
from wefe.models._search import directions
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.words import Preprocessors, check_preprocessors, variants

#: Gonen and Goldberg (2019) look at that many words from the start of a vocabulary.
FREQUENT = 50_000


class Found(NamedTuple):
    """Words found in a model, and those left out."""

    #: As they were asked for, and as the vocabulary has them, without its prefix.
    words: list[str]
    forms: list[str]
    #: Of shape (n_words, dim), float64.
    vectors: Vectors
    #: Words that the model lacks; that have no direction; that are another form of one before.
    lost: tuple[str, ...]
    unusable: tuple[str, ...]
    repeated: tuple[str, ...]


def look_up(
    model: WordEmbeddingModel,
    words: Sequence[str],
    preprocessors: Preprocessors | None,
    called: str | None = None,
) -> Found:
    """Look up each word separately, so that a problem with one does not affect the others.

    If a list of words is `called` something, those left out are logged.

    >>> model = WordEmbeddingModel((["a", "b"], np.array([[1.0, 0.0], [0.0, 0.0]])), "toy")
    >>> look_up(model, ["a", "A", "b", "c"], [{}, {"lowercase": True}])[2:]
    (array([[1., 0.]]), ('c',), ('b',), ('A',))
    """
    hits = forms_found(model, tuple(dict.fromkeys(words)), preprocessors, "first")
    first: dict[str, str] = {}
    for word, hit in hits.items():
        if hit:
            first.setdefault(hit[0], word)
    vectors = np.asarray(model.get_vectors(list(first)), np.float64).reshape(-1, model.dim)
    directed = directions(vectors)[1]
    found = Found(
        list(itertools.compress(first.values(), directed)),
        bare_words(model, itertools.compress(first, directed)),
        vectors[directed],
        tuple(word for word, hit in hits.items() if not hit),
        tuple(itertools.compress(first.values(), ~directed)),
        tuple(word for word, hit in hits.items() if hit and first[hit[0]] != word),
    )
    left_out = {
        "lacks": found.lost,
        "has only zero or non-finite vectors for": found.unusable,
        "already has in another form": found.repeated,
    }
    for what, own in left_out.items():
        if own and called is not None:
            facts = model.name, what, len(own), len(hits), called, ", ".join(own)
            logger.warning("%s %s %d of %d words of %r: %s", *facts)
    return found


def bare_words(model: WordEmbeddingModel, words: Iterable[str]) -> list[str]:
    """Return forms of a vocabulary without the model's prefix."""
    prefix = model.vocab_prefix or ""
    return [word.removeprefix(prefix) for word in words]


def own_words(model: WordEmbeddingModel, rows: Rows) -> tuple[list[str], npt.NDArray[np.bool_]]:
    """Return the words of rows that have the model's prefix, without it, and which rows these are.

    Rows without the prefix may be words of other languages.
    """
    prefix = model.vocab_prefix or ""
    every = np.array(model.table.words_at(rows), dtype=object)
    own = np.array([form.startswith(prefix) for form in every], dtype=bool)
    return bare_words(model, every[own]), own


def every_form(words: Iterable[str], preprocessors: Preprocessors | None) -> frozenset[str]:
    """Return all forms that words may have in a vocabulary, without the model's prefix."""
    checked = check_preprocessors(preprocessors)
    return frozenset(form for word in words for form in (word, *variants(word, checked)))


def form_of(model: WordEmbeddingModel, word: str, preprocessors: Preprocessors | None) -> str:
    """Return a word as in the vocabulary; KeyError if it is missing or has no direction."""
    looked_up = look_up(model, [check_text("word", word)], preprocessors)
    if looked_up.unusable:
        raise KeyError(
            f"the vector of {word!r} in {model.name} is zero or not finite, so it has no "
            "direction. Choose another word."
        )
    if looked_up.lost:
        first = bare_words(model, itertools.islice(model.vocab, FREQUENT))
        hint = nearest(word, [form for form in first if abs(len(form) - len(word)) < 3])
        raise KeyError(f"{model.name} has no word {word!r}{as_looked_up(preprocessors)}.{hint}")
    (form,) = forms(model, looked_up.forms)
    return form


def as_looked_up(preprocessors: Preprocessors | None) -> str:
    """Describe the forms in which words were looked up, and how to try others."""
    if preprocessors is None:
        return (
            " exactly as written. To try other forms, use preprocessors=[{}, {'lowercase': True}]"
        )
    return " in any form that the preprocessors produce"
