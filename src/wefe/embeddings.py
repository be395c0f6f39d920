"""From a query and a model to arrays: the only place that knows lost words and thresholds.

The public functions return dictionaries of words and vectors, as the documentation describes
them. Metrics use what is beneath, :func:`embed_query`, whose result counts every word that was
lost and says why a query cannot be answered.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from wefe._checks import (
    check_bool,
    check_sequence,
    check_share,
    check_strategy,
    check_word_set,
)
from wefe.models._keyed_vectors import FloatArray, UnreadWordError
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query, check_query
from wefe.words import Preprocessor, Preprocessors, check_preprocessors, variants

__all__ = [
    "EmbeddedQuery",
    "EmbeddedSet",
    "Lookup",
    "UnanswerableError",
    "UnusableVectorError",
    "definitional_vectors",
    "embed_query",
    "embed_tuples",
    "get_embeddings_from_query",
    "get_embeddings_from_set",
    "get_embeddings_from_sets",
    "get_embeddings_from_tuples",
]

logger = logging.getLogger(__name__)

EmbeddingDict: TypeAlias = dict[str, FloatArray]
EmbeddingSets: TypeAlias = dict[str, EmbeddingDict]
Strategy: TypeAlias = Literal["first", "all"]


# Share of a set's words that may be lost.
DEFAULT_THRESHOLD = 0.2


class Lookup(TypedDict, total=False):
    """How the words of a query are looked up; every `run_query` takes these options.

    A dictionary type: a plain dictionary will do, and no key is required.

    - ``lost_vocabulary_threshold`` : float in [0, 1], default 0.2. A query with a set that loses
      a larger share of its words yields NaN. Repeated words of a set count each time.
    - ``preprocessors`` : list of dict, default ``[{}]``. Variants of each word, in the order in
      which they are tried; see :func:`wefe.words.preprocess_word`.
    - ``strategy`` : {'first', 'all'}, default 'first'. Use the first variant that the model
      has, or all of them.
    - ``normalize`` : bool, default False. Scale every vector to unit length first.
    - ``warn_not_found_words`` : bool, default False. Log the words that were not found.

    See Also
    --------
    wefe.words.Preprocessor : The options of one preprocessor.

    Examples
    --------
    No model has 'JOHN' as it is written here; the second variant finds 'john'.

    >>> from wefe import Query, load_test_model
    >>> from wefe.metrics import WEAT
    >>> model = load_test_model()
    >>> query = Query([["MARY", "ANNA"], ["JOHN", "PAUL"]], [["nurse"], ["boss"]])
    >>> WEAT().run_query(query, model)["weat"]
    nan
    >>> how: Lookup = {"preprocessors": [{}, {"lowercase": True}], "normalize": True}
    >>> round(WEAT().run_query(query, model, **how)["weat"], 3)
    0.713
    """

    lost_vocabulary_threshold: float
    preprocessors: Preprocessors | None
    strategy: Strategy
    normalize: bool
    warn_not_found_words: bool


class UnanswerableError(ValueError):
    """A query cannot be answered with this model.

    :func:`wefe.running.run_queries` turns it into NaN, and keeps the message as the reason; a
    metric that is called by itself raises it.
    """


class UnusableVectorError(UnanswerableError):
    """A word of a query has a zero or non-finite vector, so that no cosine is defined."""


@dataclass(frozen=True, eq=False)
class EmbeddedSet:
    """One word set after look-up.

    Attributes
    ----------
    name : str
        Name of the set.
    words : tuple of str
        The forms found in the vocabulary, all different: one per row of `vectors`.
    vectors : ndarray of shape (len(words), dim)
        Their vectors, float64.
    lost : tuple of str
        The words, as the query has them, of which no variant was found.
    first_row : tuple of (int or None)
        For each entry of the set, in order, the row of its first variant found; None if lost.
        This is what keeps paired sets aligned.

    See Also
    --------
    embed_query : Look up all sets of a query.

    Examples
    --------
    Entry 2 repeats entry 0, so they share a row; entry 1 was lost.

    >>> import numpy as np
    >>> from wefe import Query, WordEmbeddingModel
    >>> model = WordEmbeddingModel((["she", "he", "math"], np.eye(3)), "toy")
    >>> query = Query([["she", "her", "she"], ["he"]], [["math"]])
    >>> women = embed_query(model, query, lost_vocabulary_threshold=0.5).targets[0]
    >>> women.words, women.vectors.shape, women.first_row
    (('she',), (1, 3), (0, None, 0))
    >>> women.lost, women.n_entries, round(women.lost_share, 2)
    (('her',), 3, 0.33)
    """

    name: str
    words: tuple[str, ...]
    vectors: npt.NDArray[np.float64] = field(repr=False)
    lost: tuple[str, ...]
    first_row: tuple[int | None, ...] = field(repr=False)

    @property
    def n_entries(self) -> int:
        """Number of entries of the set in the query, repetitions included."""
        return len(self.first_row)

    @property
    def lost_share(self) -> float:
        """Share of the entries that were lost, between 0 and 1."""
        return self.first_row.count(None) / self.n_entries

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, eq=False)
class EmbeddedQuery:
    """A query after look-up in one model: what the `_compute` of a metric works with.

    Attributes
    ----------
    query : Query
        What was looked up.
    model_name : str
        Where.
    targets, attributes : tuple of EmbeddedSet
        The sets, in the order of the query.
    nan_reason : str or None
        Why the query cannot be answered; None if it can.

    See Also
    --------
    embed_query : Makes it.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["she", "her"], ["he", "him"]], [["math", "art"]])
    >>> embedded = embed_query(load_test_model(), query)
    >>> [part.vectors.shape for part in embedded.sets], embedded.nan_reason
    ([(2, 256), (2, 256), (2, 256)], None)
    """

    query: Query
    model_name: str
    targets: tuple[EmbeddedSet, ...]
    attributes: tuple[EmbeddedSet, ...]
    nan_reason: str | None = None

    @property
    def sets(self) -> tuple[EmbeddedSet, ...]:
        """Target sets, then attribute sets."""
        return self.targets + self.attributes


def embed_query(
    model: WordEmbeddingModel,
    query: Query,
    lost_vocabulary_threshold: float = DEFAULT_THRESHOLD,
    preprocessors: Preprocessors | None = None,
    strategy: Strategy = "first",
    normalize: bool = False,
    warn_not_found_words: bool = False,
) -> EmbeddedQuery:
    """Look up every word of a query.

    Parameters
    ----------
    model : WordEmbeddingModel
        Where to look.
    query : Query
        What to look up.
    lost_vocabulary_threshold : float in [0, 1], default=0.2
        Largest share of the words of a set that may be lost.
    preprocessors : list of dict, optional
        Variants of each word, in the order in which they are tried; see :class:`Lookup`.
    strategy : {'first', 'all'}, default='first'
        Whether the first variant that the model has is taken, or every one of them.
    normalize : bool, default=False
        Scale every vector to unit length.
    warn_not_found_words : bool, default=False
        Log the words that were not found.

    Returns
    -------
    EmbeddedQuery
        Found and lost words of every set, with vectors in float64. If a set lost more than the
        threshold allows, or everything, `nan_reason` says so.

    Raises
    ------
    TypeError, ValueError
        If an argument is of another type or out of range.
    UnusableVectorError
        If a word has a zero or non-finite vector; the message names word, set and model.

    Examples
    --------
    >>> import numpy as np
    >>> from wefe import Query, WordEmbeddingModel
    >>> model = WordEmbeddingModel((["she", "he", "math"], np.eye(3)), "toy")
    >>> embedded = embed_query(model, Query([["she"], ["he", "him"]], [["math"]]))
    >>> embedded.targets[1].lost, embedded.nan_reason
    (('him',), "'Target set 1' lost 50% of its words (him), more than the 20% allowed")
    """
    check_model(model)
    check_query(query)
    threshold = check_share("lost_vocabulary_threshold", lost_vocabulary_threshold)
    checked = check_preprocessors(preprocessors)
    check_strategy(strategy)
    check_bool("normalize", normalize)
    check_bool("warn_not_found_words", warn_not_found_words)
    targets, attributes = query.content
    names = (*query.target_sets_names, *query.attribute_sets_names)
    embedded = _embed_sets(
        model, names, (*targets, *attributes), checked, strategy, normalize=normalize
    )
    if warn_not_found_words:
        for word_set in embedded:
            _log_lost(model, word_set.name, word_set.lost)
    reason = _why_unanswerable(model, embedded, threshold)
    if reason is not None:
        logger.warning("%s is NaN for %s: %s", query.query_name, model.name, reason)
    n_targets = len(targets)
    return EmbeddedQuery(
        query, model.name, tuple(embedded[:n_targets]), tuple(embedded[n_targets:]), reason
    )


def get_embeddings_from_query(
    model: WordEmbeddingModel,
    query: Query,
    lost_vocabulary_threshold: float = DEFAULT_THRESHOLD,
    preprocessors: Preprocessors | None = None,
    strategy: Strategy = "first",
    normalize: bool = False,
    warn_not_found_words: bool = False,
    verbose: bool = False,
) -> tuple[EmbeddingSets, EmbeddingSets] | None:
    """Return the vectors of every word of a query.

    Parameters
    ----------
    model : WordEmbeddingModel
        Where to look.
    query : Query
        What to look up.
    lost_vocabulary_threshold : float in [0, 1], default=0.2
        Largest share of the words of a set that may be lost.
    preprocessors : list of dict, optional
        Variants of each word, in the order in which they are tried; see :class:`Lookup`.
    strategy : {'first', 'all'}, default='first'
        Whether the first variant that the model has is taken, or every one of them.
    normalize : bool, default=False
        Scale every vector to unit length.
    warn_not_found_words : bool, default=False
        Log the words that were not found.
    verbose : bool, default=False
        Log what was found at level INFO.

    Returns
    -------
    (dict, dict) or None
        Target sets and attribute sets: name of the set -> form found -> vector of shape (dim,)
        in the dtype of the model. None if a set lost more words than the threshold allows.

    Raises
    ------
    TypeError, ValueError
        If an argument is of another type or out of range.
    UnusableVectorError
        If a word has a zero or non-finite vector; the message names word, set and model.

    See Also
    --------
    embed_query : The same with arrays, lost words, and the reason why there is no answer.

    Examples
    --------
    >>> import numpy as np
    >>> from wefe import Query, WordEmbeddingModel
    >>> model = WordEmbeddingModel((["she", "he", "math"], np.eye(3)), "toy")
    >>> query = Query([["she"], ["he"]], [["Math"]])
    >>> targets, attributes = get_embeddings_from_query(
    ...     model, query, preprocessors=[{}, {"lowercase": True}]
    ... )
    >>> attributes
    {'Attribute set 0': {'math': array([0., 0., 1.])}}
    """
    embedded = embed_query(
        model,
        query,
        lost_vocabulary_threshold,
        preprocessors,
        strategy,
        normalize,
        warn_not_found_words,
    )
    if verbose:
        _log_found(model, embedded.sets)
    if embedded.nan_reason is not None:
        return None
    return (
        {part.name: _as_dict(part, model) for part in embedded.targets},
        {part.name: _as_dict(part, model) for part in embedded.attributes},
    )


def get_embeddings_from_set(
    model: WordEmbeddingModel,
    word_set: Sequence[str],
    preprocessors: Preprocessors | None = None,
    strategy: Strategy = "first",
    normalize: bool = False,
    verbose: bool = False,
) -> tuple[list[str], EmbeddingDict]:
    """Return the vectors of the words of one set.

    Parameters
    ----------
    model : WordEmbeddingModel
        Where to look.
    word_set : sequence of str
        What to look up.
    preprocessors : list of dict, optional
        Variants of each word, in the order in which they are tried; see :class:`Lookup`.
    strategy : {'first', 'all'}, default='first'
        Whether the first variant that the model has is taken, or every one of them.
    normalize : bool, default=False
        Scale every vector to unit length.
    verbose : bool, default=False
        Log what was found at level INFO.

    Returns
    -------
    not_found : list of str
        The words, as given, of which no variant was found.
    embeddings : dict
        Form found -> vector of shape (dim,), in the dtype of the model.

    Raises
    ------
    TypeError, ValueError
        If an argument is of another type or out of range.
    UnusableVectorError
        If a word has a zero or non-finite vector; the message names word, set and model.

    Examples
    --------
    >>> import numpy as np
    >>> from wefe import WordEmbeddingModel
    >>> model = WordEmbeddingModel((["she", "he"], np.eye(2)), "toy")
    >>> get_embeddings_from_set(model, ["She", "they"], [{}, {"lowercase": True}])
    (['they'], {'she': array([1., 0.])})
    """
    check_model(model)
    words = check_word_set("word_set", word_set)
    checked = check_preprocessors(preprocessors)
    check_strategy(strategy)
    check_bool("normalize", normalize)
    (embedded,) = _embed_sets(model, ["word_set"], [words], checked, strategy, normalize=normalize)
    if verbose:
        _log_found(model, [embedded])
    return list(embedded.lost), _as_dict(embedded, model)


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
    """Return the vectors of pairs (or larger tuples) of words that belong together.

    Parameters
    ----------
    model : WordEmbeddingModel
        Where to look.
    sets : sequence of sequences of str
        For example ``[["woman", "man"], ["she", "he"]]``.
    sets_name : str, optional
        What the tuples are called in log messages, for example 'definitional pairs'.
    preprocessors : list of dict, optional
        Variants of each word, in the order in which they are tried; see :class:`Lookup`.
    strategy : {'first', 'all'}, default='first'
        Whether the first variant that the model has is taken, or every one of them.
    normalize : bool, default=False
        Scale every vector to unit length.
    discard_incomplete_sets : bool, default=True
        Leave out a tuple of which a word was lost. False keeps what is left of it, and leaves out
        only tuples of which nothing is.
    warn_lost_sets : bool, default=True
        Log the tuples that lost a word. It changes nothing else.
    verbose : bool, default=False
        Log what was found at level INFO.

    Returns
    -------
    list of dict
        Per tuple: form found -> vector of shape (dim,), in the dtype of the model.

    Raises
    ------
    TypeError, ValueError
        If an argument is of another type or out of range.
    UnusableVectorError
        If a word has a zero or non-finite vector; the message names word, set and model.

    See Also
    --------
    embed_tuples : The same with arrays and lost words.

    Notes
    -----
    `get_embeddings_from_sets` is an older name of this function.

    Examples
    --------
    >>> import numpy as np
    >>> from wefe import WordEmbeddingModel
    >>> model = WordEmbeddingModel((["she", "he", "king"], np.eye(3)), "toy")
    >>> pairs = [["she", "he"], ["queen", "king"]]
    >>> [list(pair) for pair in get_embeddings_from_tuples(model, pairs, warn_lost_sets=False)]
    [['she', 'he']]
    """
    called = "sets" if sets_name is None else sets_name
    embedded = embed_tuples(
        model,
        sets,
        called,
        preprocessors,
        strategy,
        normalize,
        discard_incomplete_sets,
        warn_lost_sets,
    )
    if verbose:
        _log_found(model, embedded)
    return [_as_dict(part, model) for part in embedded]


def embed_tuples(
    model: WordEmbeddingModel,
    sets: Sequence[Sequence[str]],
    called: str,
    preprocessors: Preprocessors | None = None,
    strategy: Strategy = "first",
    normalize: bool = False,
    discard_incomplete_sets: bool = True,
    warn_lost_sets: bool = True,
) -> list[EmbeddedSet]:
    """Look up tuples of words that belong together; see :func:`get_embeddings_from_tuples`.

    Parameters
    ----------
    model : WordEmbeddingModel
        Where to look.
    sets : sequence of sequences of str
        The tuples: ``[["woman", "man"], ["she", "he"]]``.
    called : str
        What the tuples are called in messages.
    preprocessors : list of dict, optional
        Variants of each word, in the order in which they are tried; see :class:`Lookup`.
    strategy : {'first', 'all'}, default='first'
        Whether the first variant that the model has is taken, or every one of them.
    normalize : bool, default=False
        Scale every vector to unit length.
    discard_incomplete_sets : bool, default=True
        Leave out a tuple of which a word was lost. False keeps what is left of it, and leaves out
        only tuples of which nothing is.
    warn_lost_sets : bool, default=True
        Log the tuples that lost a word.

    Returns
    -------
    list of EmbeddedSet
        One per tuple that is kept, named by its position ('pairs[0]'), with vectors in float64.
        Words that share a form have one row: `first_row` tells which word has which.

    Raises
    ------
    TypeError, ValueError
        If an argument is of another type or out of range.
    UnusableVectorError
        If a word has a zero or non-finite vector; the message names word, set and model.

    Examples
    --------
    >>> import numpy as np
    >>> from wefe import WordEmbeddingModel
    >>> model = WordEmbeddingModel((["she", "he"], np.eye(2)), "toy")
    >>> embed_tuples(model, [["she", "he"], ["her", "him"]], "pairs", warn_lost_sets=False)
    [EmbeddedSet(name='pairs[0]', words=('she', 'he'), lost=())]
    """
    check_model(model)
    checked = check_preprocessors(preprocessors)
    check_strategy(strategy)
    check_bool("normalize", normalize)
    check_bool("discard_incomplete_sets", discard_incomplete_sets)
    check_bool("warn_lost_sets", warn_lost_sets)
    kept, losses = [], []
    names = [f"{called}[{position}]" for position in range(len(check_sequence(called, sets)))]
    words = [check_word_set(name, part) for name, part in zip(names, sets, strict=True)]
    parts = _embed_sets(model, names, words, checked, strategy, normalize=normalize)
    for name, part in zip(names, parts, strict=True):
        complete_enough = not part.lost or (not discard_incomplete_sets and len(part) > 0)
        if part.lost:
            fate = "kept without" if complete_enough else "left out, as the model lacks"
            losses.append(f"{name} {fate} {', '.join(part.lost)}")
        if complete_enough:
            kept.append(part)
    if losses and warn_lost_sets:
        logger.warning(
            "%s: %d of %d %s lost a word: %s",
            *(model.name, len(losses), len(sets), called, "; ".join(losses)),
        )
    return kept


# Older releases had this under two names.
get_embeddings_from_sets = get_embeddings_from_tuples


def definitional_vectors(
    model: WordEmbeddingModel,
    sets: Sequence[Sequence[str]],
    called: str,
    preprocessors: Preprocessors | None = None,
    *,
    normalize: bool = True,
) -> list[EmbeddedSet]:
    """Look up definitional sets; sets that lost a word are left out, counted and logged.

    Parameters
    ----------
    model : WordEmbeddingModel
        Where to look.
    sets : sequence of sequences of str
        Words that differ in the class only, one per class: ``[["woman", "man"], ["she", "he"]]``.
    called : str
        What the sets are called in messages, for example 'definitional_pairs'.
    preprocessors : list of dict, optional
        Variants of each word, in the order in which they are tried; see :class:`Lookup`.
    normalize : bool, default=True
        Scale every vector to unit length.

    Returns
    -------
    list of EmbeddedSet
        The complete sets, at least one, with vectors in float64.

    Raises
    ------
    TypeError
        If an argument is of another type.
    ValueError
        If none is complete.
    UnusableVectorError
        If a word has a zero or non-finite vector.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> pairs = [["she", "he"], ["woman", "man"], ["empress", "xyzzy"]]
    >>> complete = definitional_vectors(load_test_model(), pairs, "definitional_pairs")
    >>> [part.words for part in complete], complete[0].vectors.shape
    ([('she', 'he'), ('woman', 'man')], (2, 256))
    """
    complete = embed_tuples(model, sets, called, preprocessors, normalize=normalize)
    if not complete:
        raise ValueError(
            f"{model.name} has none of the {len(sets)} {called} complete; at least 1 is needed. "
            "Their words are looked up as written"
            + (f", behind the prefix {model.vocab_prefix!r}." if model.vocab_prefix else ".")
        )
    return complete


@dataclass
class _Found:
    """What look-up found of the words of a set."""

    forms: dict[str, int] = field(default_factory=dict)  # in the vocabulary, and their rows
    lost: dict[str, None] = field(default_factory=dict)
    first_row: list[int | None] = field(default_factory=list)


def _find(
    model: WordEmbeddingModel,
    words: Iterable[str],
    preprocessors: tuple[Preprocessor, ...],
    strategy: str,
) -> _Found:
    result = _Found()
    found = result.forms
    # Most words are found as they are written, so that their other forms need not be made.
    as_written = not preprocessors[0] and strategy == "first"
    prefix, vocab = model.vocab_prefix, model.vocab
    for word in words:
        form = (prefix or "") + word
        if as_written and form in vocab:
            result.first_row.append(found.setdefault(form, len(found)))
            continue
        forms = variants(word, preprocessors, prefix)
        hits = [form for form in forms if form in vocab]
        if not hits and model.use_subwords:
            # Built only if the vocabulary has no variant: subwords make a vector of any form.
            hits = [form for form in forms if form in model][:1]
        if strategy == "first":
            hits = hits[:1]
        for form in hits:
            found.setdefault(form, len(found))
        result.first_row.append(found[hits[0]] if hits else None)
        if not hits:
            result.lost[word] = None
    return result


def _embed_sets(
    model: WordEmbeddingModel,
    names: Sequence[str],
    sets: Sequence[Iterable[str]],
    preprocessors: tuple[Preprocessor, ...],
    strategy: str,
    *,
    normalize: bool,
) -> list[EmbeddedSet]:
    found = [_find(model, words, preprocessors, strategy) for words in sets]
    # All at once: a model that computes its vectors does so in one batch.
    every = model.get_vectors([form for part in found for form in part.forms])
    vectors = np.asarray(every, dtype=np.float64)
    embedded, stop = [], 0
    for name, part in zip(names, found, strict=True):
        start, stop = stop, stop + len(part.forms)
        rows, words = vectors[start:stop], tuple(part.forms)
        _check_usable(model, name, words, rows)
        if normalize:
            # Lengths are positive: _check_usable refused zero vectors.
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        embedded.append(EmbeddedSet(name, words, rows, tuple(part.lost), tuple(part.first_row)))
    return embedded


def _check_usable(
    model: WordEmbeddingModel, name: str, words: tuple[str, ...], vectors: npt.NDArray[np.float64]
) -> None:
    # One pass: a zero vector has length 0, a vector with NaN or infinity a non-finite one.
    squared = np.einsum("ij,ij->i", vectors, vectors)
    usable = (squared > 0) & np.isfinite(squared)
    if usable.all():
        return
    zero = [word for word, value in zip(words, squared, strict=True) if value == 0]
    broken = [word for word, value in zip(words, squared, strict=True) if not np.isfinite(value)]
    problems = [
        f"{kind} for {listed}"
        for kind, listed in (("zero", zero), ("NaN or inf", broken))
        if listed
    ]
    raise UnusableVectorError(
        f"{model.name} has unusable vectors in {name!r}: {', '.join(problems)}. "
        "Repair them in the model or leave these words out of the query."
    )


def _why_unanswerable(
    model: WordEmbeddingModel, sets: Sequence[EmbeddedSet], threshold: float
) -> str | None:
    reasons = []
    lower_case = 0
    for part in sets:
        share = part.lost_share
        if len(part) > 0 and share <= threshold:
            continue
        limit = "nothing is left" if len(part) == 0 else f"more than the {threshold:.0%} allowed"
        listed = ", ".join(part.lost[:5]) + (", ..." if len(part.lost) > 5 else "")
        reasons.append(f"{part.name!r} lost {share:.0%} of its words ({listed}), {limit}")
        lower_case += sum(_has_lower_case(model, word) for word in part.lost)
    if lower_case:
        reasons.append(
            f"the model has {lower_case} of these in lower case: "
            "preprocessors=[{}, {'lowercase': True}]"
        )
    return "; ".join(reasons) if reasons else None


def _has_lower_case(model: WordEmbeddingModel, word: str) -> bool:
    try:
        return (model.vocab_prefix or "") + word.lower() in model
    except UnreadWordError:  # opened for other words, so nobody knows
        return False


def _as_dict(part: EmbeddedSet, model: WordEmbeddingModel) -> EmbeddingDict:
    vectors = part.vectors.astype(model.dtype, copy=False)
    return dict(zip(part.words, vectors, strict=True))


def _log_lost(model: WordEmbeddingModel, name: str, lost: Sequence[str]) -> None:
    if lost:
        logger.warning("%s lacks %d words of %r: %s", model.name, len(lost), name, list(lost))


def _log_found(model: WordEmbeddingModel, sets: Iterable[EmbeddedSet]) -> None:
    for part in sets:
        logger.info(
            "%s: found %d forms for %d words of %r, lost %d",
            model.name,
            len(part),
            part.n_entries,
            part.name,
            len(part.lost),
        )
