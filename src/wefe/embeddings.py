"""Look up words, and handle out-of-vocabulary words and their threshold.

Metrics use `embed_query`. The functions `get_embeddings_from_...` return plain dictionaries.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np

from wefe._checks import (
    check_bool,
    check_choice,
    check_share,
    check_word_set,
    check_word_sets,
    listed,
    logger,
)
from wefe._wordset import WordSet, WordSets
from wefe.models._tables import UnreadWordError
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query, check_query
from wefe.words import Preprocessors, check_preprocessors, variants

__all__ = [
    "Lookup",
    "UnanswerableError",
    "UnusableVectorError",
    "WordSet",
    "definitional_vectors",
    "get_embeddings_from_query",
    "get_embeddings_from_set",
    "get_embeddings_from_sets",
    "get_embeddings_from_tuples",
]

EmbeddingDict: TypeAlias = dict[str, FloatArray]
Strategy: TypeAlias = Literal["first", "all"]
_NamedSets: TypeAlias = Sequence[tuple[str, tuple[str, ...]]]

# Largest share of the words of a set that may be out of vocabulary.
DEFAULT_THRESHOLD = 0.2


class Lookup(TypedDict, total=False):
    """Options for looking up the words of a query; every `run_query` accepts them.

    Use a plain dictionary; all keys are optional.

    - ``lost_vocabulary_threshold`` : float in [0, 1], default 0.2. The score is NaN if a larger
      share of a set is out of vocabulary. Repeated words count each time.
    - ``preprocessors`` : list of dict, default ``[{}]``. Variants of each word, in the order in
      which they are tried; see :func:`wefe.words.preprocess_word`.
    - ``strategy`` : {'first', 'all'}, default 'first'. Use the first variant found, or all.
    - ``normalize`` : bool, default False. Scale every vector to unit length first.
    - ``warn_not_found_words`` : bool, default False. Log out-of-vocabulary words.

    Examples
    --------
    >>> from wefe import WEAT, Query, load_test_model
    >>> query = Query([["MARY", "ANNA"], ["JOHN", "PAUL"]], [["nurse"], ["boss"]])
    >>> how: Lookup = {"preprocessors": [{}, {"lowercase": True}], "normalize": True}
    >>> round(WEAT().run_query(query, load_test_model(), **how)["weat"], 3)
    0.713
    """

    lost_vocabulary_threshold: float
    preprocessors: Preprocessors | None
    strategy: Strategy
    normalize: bool
    warn_not_found_words: bool


class UnanswerableError(ValueError):
    """A query has no score in a model; :func:`wefe.measure` returns NaN and the reason."""


class UnusableVectorError(UnanswerableError):
    """A word of a query has a zero or non-finite vector, so its cosines are undefined."""


@dataclass(frozen=True, eq=False)
class EmbeddedQuery:
    """A query after look-up in one model; `nan_reason` says why its scores are NaN, if they are."""

    query: Query
    model_name: str
    sets: tuple[WordSet, ...]
    nan_reason: str | None = None
    model_settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def targets(self) -> tuple[WordSet, ...]:
        """The first of the sets."""
        return self.sets[: self.query.template[0]]

    @property
    def attributes(self) -> tuple[WordSet, ...]:
        """The other sets."""
        return self.sets[self.query.template[0] :]


def embed_query(
    model: WordEmbeddingModel,
    query: Query,
    lost_vocabulary_threshold: float = DEFAULT_THRESHOLD,
    *,
    warn_not_found_words: bool = False,
    **how: Any,
) -> EmbeddedQuery:
    """Look up all words of a query, with the options of :class:`Lookup`; vectors are float64."""
    check_query(query)
    threshold = check_share("lost_vocabulary_threshold", lost_vocabulary_threshold)
    sets = embed_sets(model, [*itertools.chain(*query._sides)], **how)
    incomplete = [part for part in sets if part.lost]
    for part in incomplete if warn_not_found_words else ():
        log_lost(model.name, part.name, part.lost)
    reason = _why_undefined(model, incomplete, threshold)
    return EmbeddedQuery(query, model.name, sets, reason, model.settings)


def paired(
    sets: tuple[WordSet, ...], lost_vocabulary_threshold: float = DEFAULT_THRESHOLD, **_: Any
) -> tuple[tuple[WordSet, ...], str | None]:
    """Return sets without the tuples that lost a word: row i of each is tuple i.

    If too many lost one, return the sets as they are, and the reason.
    """
    lengths = {part.name: part.n_entries for part in sets}
    if len(set(lengths.values())) > 1:
        stated = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise UnanswerableError(
            f"the target sets are paired by position and need equal sizes; {stated}."
        )
    rows = [row for row in zip(*(part.first_row for part in sets), strict=True) if None not in row]
    n_tuples, n_lost = sets[0].n_entries, sets[0].n_entries - len(rows)
    if n_lost / n_tuples > lost_vocabulary_threshold or not rows:
        return sets, f"{n_lost} of {n_tuples} pairs of target words lost a word"
    columns = zip(*rows, strict=True)
    return tuple(part._take(own) for part, own in zip(sets, columns, strict=True)), None


def log_lost(model_name: str, set_name: str, lost: Sequence[str]) -> None:
    """Log the out-of-vocabulary words of a set."""
    words = len(lost), set_name, ", ".join(lost)
    logger.warning("%s lacks %d words of %r: %s", model_name, *words)


def get_embeddings_from_query(
    model: WordEmbeddingModel,
    query: Query,
    lost_vocabulary_threshold: float = DEFAULT_THRESHOLD,
    preprocessors: Preprocessors | None = None,
    strategy: Strategy = "first",
    normalize: bool = False,
    warn_not_found_words: bool = False,
    verbose: bool = False,
) -> tuple[dict[str, EmbeddingDict], dict[str, EmbeddingDict]] | None:
    """Return the vectors of the words of a query as dictionaries.

    Parameters
    ----------
    model, query : WordEmbeddingModel, Query
        Model to search, and query to look up.
    lost_vocabulary_threshold, preprocessors, strategy, normalize, warn_not_found_words : optional
        As in :class:`Lookup`.
    verbose : bool, default=False
        Log how many words were found, at level INFO.

    Returns
    -------
    (dict, dict) or None
        Target sets and attribute sets: name of the set -> form found -> vector of shape (dim,), in
        the dtype of the model. None if a set lost more words than the threshold allows.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she"], ["he"]], [["math"]])
    >>> targets, attributes = get_embeddings_from_query(load_test_model(), query)
    >>> attributes["Attribute set 0"]["math"].shape
    (256,)
    """
    embedded = embed_query(**locals())  # the same parameters
    if reason := embedded.nan_reason:
        logger.warning("%s: no embeddings of %s: %s", model.name, query.query_name, reason)
        return None
    sides = embedded.targets, embedded.attributes
    targets, attributes = ({part.name: _as_dict(part, model) for part in side} for side in sides)
    return targets, attributes


def get_embeddings_from_set(
    model: WordEmbeddingModel,
    word_set: Sequence[str],
    preprocessors: Preprocessors | None = None,
    strategy: Strategy = "first",
    normalize: bool = False,
    verbose: bool = False,
) -> tuple[list[str], EmbeddingDict]:
    """Return the vectors of one set of words as a dictionary.

    Parameters
    ----------
    model, word_set : WordEmbeddingModel, sequence of str
        Model to search, and words to look up.
    preprocessors, strategy, normalize, verbose : optional
        As in :func:`get_embeddings_from_query`.

    Returns
    -------
    not_found : list of str
        The out-of-vocabulary words, as given.
    embeddings : dict
        Form found -> vector of shape (dim,), in the dtype of the model.

    Examples
    --------
    >>> import numpy as np
    >>> from wefe import WordEmbeddingModel
    >>> model = WordEmbeddingModel((["she", "he"], np.eye(2)), "toy")
    >>> get_embeddings_from_set(model, ["She", "they"], [{}, {"lowercase": True}])
    (['they'], {'she': array([1., 0.])})
    """
    named = [("word_set", check_word_set("word_set", word_set))]
    (part,) = embed_sets(model, named, preprocessors, strategy, normalize, verbose)
    return list(part.lost), _as_dict(part, model)


def get_embeddings_from_tuples(
    model: WordEmbeddingModel,
    sets: Sequence[Sequence[str]],
    sets_name: str | None = None,
    preprocessors: Preprocessors | None = None,
    strategy: Strategy = "first",
    normalize: bool = False,
    discard_incomplete_sets: bool = True,
    warn_lost_sets: bool = True,
    verbose: bool = False,
) -> list[EmbeddingDict]:
    """Return the vectors of pairs (or larger tuples) of related words as dictionaries.

    Parameters
    ----------
    model : WordEmbeddingModel
        Model to search.
    sets : sequence of sequences of str
        The tuples, for example ``[["woman", "man"], ["she", "he"]]``.
    sets_name : str, optional
        Name of the tuples in messages, for example 'definitional pairs'; 'sets' by default.
    preprocessors, strategy, normalize : optional
        As in :class:`Lookup`.
    discard_incomplete_sets, warn_lost_sets : bool, default=True
        Drop tuples with an out-of-vocabulary word (False keeps their other words), and log them.
    verbose : bool, default=False
        As in :func:`get_embeddings_from_query`.

    Returns
    -------
    list of dict
        For each tuple: form found -> vector of shape (dim,), in the dtype of the model.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> pairs = get_embeddings_from_tuples(load_test_model(), [["she", "he"], ["xyzzy", "king"]])
    >>> [list(pair) for pair in pairs]
    [['she', 'he']]
    """
    return [_as_dict(part, model) for part in embed_tuples(**locals())]


# Older releases had this under two names.
get_embeddings_from_sets = get_embeddings_from_tuples


def embed_tuples(
    model: WordEmbeddingModel,
    sets: Sequence[Sequence[str]],
    sets_name: str | None = None,
    *,
    discard_incomplete_sets: bool = True,
    warn_lost_sets: bool = True,
    **how: Any,
) -> list[WordSet]:
    """Look up tuples as :func:`get_embeddings_from_tuples` does; vectors are float64.

    Words that share a form share a row; see `first_row`.
    """
    called = sets_name or "sets"
    words = [(f"{called}[{i}]", own) for i, own in enumerate(check_word_sets(called, sets))]
    parts = embed_sets(model, words, **how)
    incomplete = [part for part in parts if part.lost]
    kept = [part for part in parts if not part.lost or (part and not discard_incomplete_sets)]
    if incomplete and warn_lost_sets:
        losses = "; ".join(f"{part.name} lacks {', '.join(part.lost)}" for part in incomplete)
        n_lost = len(incomplete), len(parts), called, len(parts) - len(kept), losses
        logger.warning("%s: %d of %d %s lost a word, and %d are left out: %s", model.name, *n_lost)
    return kept


def definitional_vectors(
    model: WordEmbeddingModel,
    sets: Sequence[Sequence[str]],
    called: str,
    preprocessors: Preprocessors | None = None,
    *,
    normalize: bool = True,
) -> list[WordSet]:
    """Look up definitional sets; incomplete sets are dropped and logged.

    Parameters
    ----------
    model, sets, called : WordEmbeddingModel, sequence of sequences of str, str
        Model to search, sets of words that differ only in the group they refer to, and the name of
        the sets in messages.
    preprocessors, normalize : optional
        As in :class:`Lookup`, but `normalize` is True by default.

    Returns
    -------
    list of WordSet
        The complete sets, at least one, with float64 vectors.

    Raises
    ------
    ValueError
        If no set is complete.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> pairs = [["she", "he"], ["empress", "xyzzy"]]
    >>> [part.words for part in definitional_vectors(load_test_model(), pairs, "pairs")]
    [('she', 'he')]
    """
    complete = embed_tuples(model, sets, called, preprocessors=preprocessors, normalize=normalize)
    if not complete:
        raise ValueError(
            f"{model.name} has none of the {len(sets)} {called} complete; at least 1 is needed. "
            "Words are looked up as written, with the prefix of the model."
        )
    return complete


def embed_sets(
    model: WordEmbeddingModel,
    sets: _NamedSets,
    preprocessors: Preprocessors | None = None,
    strategy: Strategy = "first",
    normalize: bool = False,
    verbose: bool = False,
) -> tuple[WordSet, ...]:
    """Look up named sets of words; every look-up uses this function."""
    check_model(model)
    found, vectors = _look_up(model, sets, preprocessors, strategy)
    embedded = _word_sets(model.name, sets, found, vectors, normalize)
    for part in embedded if verbose else ():
        counts = len(part), part.n_entries, part.name, len(part.lost)
        logger.info("%s: found %d forms for %d words of %r, lost %d", model.name, *counts)
    return embedded


def embed_models(
    models: Sequence[WordEmbeddingModel],
    query: Query,
    lost_vocabulary_threshold: float = DEFAULT_THRESHOLD,
    *,
    normalize: bool = False,
    **how: Any,
) -> Iterator[tuple[list[int], EmbeddedQuery]]:
    """Look up a query in several models; yield groups that find the same words, with positions.

    Vectors have shape (n_models, n_words, dim). Models that lost too many words, or have unusable
    vectors, are omitted.
    """
    threshold = check_share("lost_vocabulary_threshold", lost_vocabulary_threshold)
    sides = [*itertools.chain(*query._sides)]
    groups: dict[Any, dict[int, FloatArray]] = {}
    for i, model in enumerate(models):
        found, vectors = _look_up(model, sides, **how)
        groups.setdefault((vectors.shape[1], found), {})[i] = vectors
    for (_, found), members in groups.items():
        with suppress(UnusableVectorError):
            vectors = np.stack(list(members.values()))
            sets = _word_sets("", sides, found, vectors, normalize)
            if _why_undefined(models[0], sets, threshold) is None:
                yield list(members), EmbeddedQuery(query, "", sets)


def _look_up(
    model: WordEmbeddingModel,
    sets: _NamedSets,
    preprocessors: Preprocessors | None = None,
    strategy: Strategy = "first",
) -> tuple[tuple[_Found, ...], FloatArray]:
    """Return what is found of each set, and the vectors of all forms."""
    prefix = model.vocab_prefix
    found: list[_Found] = []
    plain = preprocessors is None and strategy == "first" and not model._hidden
    for _, words in sets:
        written = tuple(prefix + word for word in words) if prefix else words
        if plain and all(map(model.vocab.__contains__, written)):
            found.append(_all_found(written))
            continue
        hits = forms_found(model, words, preprocessors, strategy)
        different = dict.fromkeys(itertools.chain(*hits.values()))
        row_of = {form: row for row, form in enumerate(different)}
        first_row = tuple(row_of[hits[word][0]] if hits[word] else None for word in words)
        found.append((tuple(row_of), tuple(word for word in hits if not hits[word]), first_row))
    # One call, so that an encoder computes all vectors in one batch.
    return tuple(found), model.get_vectors([form for forms, _, _ in found for form in forms])


def _word_sets(
    label: str, named: _NamedSets, found: Sequence[_Found], every: FloatArray, normalize: bool
) -> tuple[WordSet, ...]:
    """Return word sets with the vectors of the forms found, of shape (..., n_forms, dim)."""
    check_bool("normalize", normalize)
    vectors = np.asarray(every, dtype=np.float64)
    lengths = np.sqrt(np.einsum("...ij,...ij->...i", vectors, vectors))
    is_bad = np.asarray(np.atleast_2d(~((lengths > 0) & (lengths < np.inf))).any(axis=0))
    sets, stop = [], 0
    for (name, _), (forms, lost, first_row) in zip(named, found, strict=True):
        start, stop = stop, stop + len(forms)
        if bad := list(itertools.compress(forms, is_bad[start:stop])):
            raise UnusableVectorError(
                f"{label} has zero or non-finite vectors in {name!r}: {', '.join(bad)}. Repair "
                "these vectors, or leave the words out of the query."
            )
        part = WordSet(name, forms, vectors[..., start:stop, :], lost, first_row)
        vars(part)["lengths"] = lengths[..., start:stop]
        sets.append(replace(part, vectors=part.unit) if normalize else part)
    return tuple(sets)


def forms_found(
    model: WordEmbeddingModel,
    words: Sequence[str],
    preprocessors: Preprocessors | None = None,
    strategy: Strategy = "first",
) -> dict[str, list[str]]:
    """Return the forms of each word to use: the first or all of those in the vocabulary."""
    how = check_preprocessors(preprocessors)
    only_first = check_choice("strategy", strategy, ("first", "all")) == "first"
    prefix, vocab = model.vocab_prefix or "", model.vocab
    as_written = only_first and not how[0] and not model._hidden
    found = {}
    for word in words:
        if as_written and prefix + word in vocab:  # no need to make the other forms
            found[word] = [prefix + word]
            continue
        forms = [form for form in variants(word, how, prefix) if form not in model._hidden]
        hits = [form for form in forms if form in vocab]
        if not hits and model.use_subwords:
            # Only if the vocabulary has no variant, because subwords give any form a vector.
            hits = [form for form in forms if form in model][:1]
        found[word] = hits[:1] if only_first else hits
    return found


# Distinct forms in the vocabulary; out-of-vocabulary words; the row of each word, or None.
_Found: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], tuple[int | None, ...]]


@functools.lru_cache(maxsize=1024)  # the same sets are looked up in many models
def _all_found(words: tuple[str, ...]) -> _Found:
    row_of = {word: row for row, word in enumerate(dict.fromkeys(words))}
    return tuple(row_of), (), tuple(row_of[word] for word in words)


def _why_undefined(model: WordEmbeddingModel, incomplete: WordSets, threshold: float) -> str | None:
    """Explain which sets lost too many words, and how to find more of them."""
    few = [part for part in incomplete if not part or part.lost_share > threshold]
    reasons = [
        f"{part.name!r} lost {part.lost_share:.0%} of its words ({listed(part.lost)}), "
        + (f"more than the {threshold:.0%} allowed" if part else "nothing is left")
        for part in few
    ]
    lower = [(model.vocab_prefix or "") + word.lower() for part in few for word in part.lost]
    with suppress(UnreadWordError):  # the file was opened for other words
        if n_lower_case := sum(word in model for word in lower):
            reasons.append(
                f"the model has {n_lower_case} of these in lower case: "
                "preprocessors=[{}, {'lowercase': True}]"
            )
    return "; ".join(reasons) or None


def _as_dict(part: WordSet, model: WordEmbeddingModel) -> EmbeddingDict:
    vectors = part.vectors.astype(model.dtype, copy=False)
    return dict(zip(part.words, vectors, strict=True))
