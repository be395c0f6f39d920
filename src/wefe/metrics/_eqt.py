"""Embedding Quality Test (Dev and Phillips, AISTATS 2019)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from wefe._checks import check_word_set, found
from wefe._wordset import Vectors, WordSet, n_cases_of, unit, word_sets
from wefe.embeddings import _Embedder
from wefe.metrics._base import BaseMetric, Measurement
from wefe.metrics._geometry import ZERO_LENGTH
from wefe.metrics._pairs import check_same_size, tuples_of
from wefe.metrics._parameters import Count
from wefe.metrics._registry import register
from wefe.models._neighbors import (
    _search,
    _squares_of_rows,
    _Table,
    _Task,
    _whole_table,
    _words,
    nearest_neighbors,
)
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.words import Preprocessors

logger = logging.getLogger(__name__)

# Candidates no nearer than that tie with the word itself, as copies of its vector do.
_TIE = 1e-12
_BUFFER_MB = 64


def eqt_by_question(
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    a: npt.ArrayLike,
    candidates: npt.ArrayLike,
    k: int = 1,
    both_directions: bool = False,
) -> npt.NDArray[np.bool_]:
    """Tell which analogies "t1 is to a as t2 is to ?" are answered by the word a itself.

    Parameters
    ----------
    t1, t2 : array-like of shape (n_pairs, dim)
        Row i of `t1` is paired with row i of `t2`: he and she.
    a : array-like of shape (n_words, dim)
        Words that should be neutral.
    candidates : array-like of shape (n_candidates, dim)
        What may be the answer besides the word itself. The words of `a` may be among them; those
        of `t1` and `t2` should not.
    k : int, default=1
        Count the word if it is among the k nearest candidates.
    both_directions : bool, default=False
        Ask "t2 is to a as t1 is to ?", too.

    Returns
    -------
    ndarray of bool of shape (n_words, n_pairs), or (n_words, 2 n_pairs) with both directions
        Whether fewer than `k` candidates are nearer to a - t1 + t2 (unit vectors) than a is. Of
        both directions, the questions from `t1` to `t2` come first.

    Raises
    ------
    TypeError
        If `k` is no integer, or `both_directions` no bool.
    ValueError
        If `t1` and `t2` have different numbers of rows, an array is empty, not finite or has a zero
        row, `k` is below 1, or a question is the zero vector.

    See Also
    --------
    wefe.metrics.eqt : the share of hits.
    wefe.metrics.EQT : for words of a model, with the answers.

    References
    ----------
    Dev and Phillips, "Attenuating Bias in Word Vectors", AISTATS 2019; see :class:`EQT` for what
    was decided here.

    Examples
    --------
    >>> he, she, book, nurse = [1, 5, 0], [-1, 5, 0], [0, 0, 1], [-1, 0, 3]
    >>> eqt_by_question([he], [she], [book, nurse], [book, nurse])
    array([[False],
           [ True]])
    """
    first, second, words, others = word_sets(t1=t1, t2=t2, a=a, candidates=candidates)
    check_same_size(first, second)
    metric = EQT(k=k, both_directions=both_directions)
    questions, undirected = _questions(first.unit, second.unit, words.unit, metric.both_directions)
    if undirected.any():
        raise ValueError("a - t1 + t2 is zero for a question, so it has no direction.")
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    own = np.repeat(words.unit, len(questions) // len(words), axis=0)
    best = np.einsum("ij,ij->i", questions, own)
    _, cosines = nearest_neighbors(others.unit, questions, min(metric.k, len(others)))
    hits = (cosines > best[:, None] + _TIE).sum(axis=1) < metric.k
    return np.asarray(hits.reshape(len(words), -1))


def eqt(
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    a: npt.ArrayLike,
    candidates: npt.ArrayLike,
    k: int = 1,
    both_directions: bool = False,
) -> float:
    """Embedding quality: how often does an analogy give the neutral word back?

    Parameters
    ----------
    t1, t2 : array-like of shape (n_pairs, dim)
        Row i of `t1` is paired with row i of `t2`: he and she.
    a : array-like of shape (n_words, dim)
        Words that should be neutral.
    candidates : array-like of shape (n_candidates, dim)
        What may be the answer besides the word itself; without the words of `t1` and `t2`.
    k : int, default=1
        Count the word if it is among the k nearest candidates.
    both_directions : bool, default=False
        Ask "t2 is to a as t1 is to ?", too.

    Returns
    -------
    float
        The share of questions, in [0, 1]; 1 (every word comes back) means that no bias was
        measured.

    Raises
    ------
    TypeError, ValueError
        As :func:`eqt_by_question` does.

    See Also
    --------
    wefe.metrics.eqt_by_question : which questions are hits.

    References
    ----------
    Dev and Phillips, "Attenuating Bias in Word Vectors", AISTATS 2019; see :class:`EQT`.

    Examples
    --------
    >>> he, she, book, nurse = [1, 5, 0], [-1, 5, 0], [0, 0, 1], [-1, 0, 3]
    >>> eqt([he], [she], [book, nurse], [book, nurse])
    0.5
    """
    return float(eqt_by_question(t1, t2, a, candidates, k, both_directions).mean())


def _questions(
    t1: Vectors, t2: Vectors, words: Vectors, both_directions: bool
) -> tuple[Vectors, npt.NDArray[np.bool_]]:
    """Return a - t1 + t2 of unit vectors, word by word, and which of them is zero."""
    shifts = t2 - t1
    if both_directions:
        shifts = np.concatenate([shifts, -shifts])
    questions = (words[:, None] + shifts[None]).reshape(-1, words.shape[1])
    return questions, np.linalg.norm(questions, axis=1) <= ZERO_LENGTH


def _check_candidates(name: str, value: Any) -> tuple[str, ...] | None:
    return None if value is None else check_word_set(name, value)


def _check_variants(name: str, value: Any) -> dict[str, tuple[str, ...]] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must map words to lists of words; got {found(value)}.")
    return {word: check_word_set(f"{name}[{word!r}]", own) for word, own in value.items()}


@register
class EQT(BaseMetric):
    """Embedding Quality Test: do analogies between groups leave neutral words where they are?

    "he is to book as she is to ?" should be answered by "book". For a pair (m, f) of target words,
    one of each set, and a neutral attribute word s, the answer is the candidate of largest cosine
    with s - m + f. The score is the share of questions whose answer is s, or is accepted for s, in
    [0, 1]; 1 means that no bias was measured. :func:`eqt` holds the mathematics.

    Parameters
    ----------
    candidates : list of str, optional
        What may be an answer besides the word that is asked about, such as neutral words.
        Those that the model lacks, or has without a direction, are left out, and the two words
        of the pair for its questions. By default all words of the model, without the words of
        all pairs.
    k : int, default=1
        Count a word if it is among the k nearest candidates, as it always is if there are no
        more; the log says so.
    both_directions : bool, default=False
        Ask each question from the second target set to the first, too.
    variants : mapping of str to list of str, optional
        Further answers accepted for a word, such as its plural, all written as the vocabulary
        has them. Those that the model lacks, or has without a direction, and words that the
        query has not, do not matter.

    Notes
    -----
    The result has 'eqt' (the score). `details` has 'by_word': word -> share of hits; 'by_pair':
    (m, f) -> share of hits; 'answers': for each question the tuple (m, s, f, nearest candidate,
    whether it is a hit), where with ``k=1`` the candidate of a hit is s; 'n_candidates', and of a
    given list 'lost_candidates', which the model lacks, and 'unusable_candidates', of which the
    vectors have no direction. The score is NaN if a question is the zero vector, or the model was
    opened for some words only.

    The text of the paper was not at hand; the definition is second-hand, and this was decided here.
    All vectors are scaled to unit length before they are added. Candidates are all words of the
    model but for the target words: in a whole vocabulary the nearest are often other words of the
    second group. The word s itself always is a candidate; without it, as in common functions for
    analogies, there could be no hit. A candidate as near as s is no better answer. Only what
    `variants` names is accepted besides s; the paper is said to accept plurals and synonyms of
    WordNet, which gives higher scores. One direction is asked, from the first target set to the
    second.

    A pair that lost a word is left out whole, so that the others stay aligned.

    References
    ----------
    Dev and Phillips, "Attenuating Bias in Word Vectors", AISTATS 2019.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["he", "man"], ["she", "woman"]], [["wedding", "family"]])
    >>> result = EQT().run_query(query, load_test_model())
    >>> result["eqt"], result.details["by_word"]
    (0.75, {'wedding': 0.5, 'family': 1.0})
    >>> [answer for answer in result.details["answers"] if not answer[-1]]
    [('man', 'wedding', 'woman', 'bride', False)]
    """

    metric_template = (2, 1)
    metric_name = "Embedding Quality Test"
    metric_short_name = "EQT"
    if_unpaired = {}  # noqa: RUF012
    question = "do analogies between the groups give neutral words back?"
    meaning = (
        "The share of analogies between paired target words that give an attribute word back:"
        " 1 if the groups are exchangeable."
    )
    reference = "S. Dev and J. Phillips. Attenuating Bias in Word Vectors. AISTATS 2019."
    value_range = (0.0, 1.0)
    no_bias_value = 1.0
    pairs_targets = True
    needs_vocabulary = True

    candidates: Annotated[Sequence[str] | None, _check_candidates] = None
    k: Count = 1
    both_directions: bool = False
    variants: Annotated[Mapping[str, Sequence[str]] | None, _check_variants] = None

    def _asked(self, targets: Sequence[WordSet], words: WordSet) -> _Asked:
        return _ask(
            targets,
            words,
            model=self.model,
            candidates=self.candidates,
            k=self.k,
            both_directions=self.both_directions,
            variants=self.variants or {},
            preprocessors=self.lookup.get("preprocessors"),
        )

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        (words,), pairs = attributes, targets[0]  # pairs stay together: both sets count alike
        asked = self._asked(targets, words)
        if asked.undirected:
            return super()._scores(targets, attributes)
        if asked.intruders is None or pairs.weights.n_cases == 1:
            return words.mean(pairs.average(_per_pair(asked.hits(), len(pairs)).T))
        scores = np.empty(n_cases_of((pairs, words)))
        for case in range(len(scores)):
            row = pairs.weights.row(case).astype(np.float64)
            hits = _per_pair(asked.hits(row > 0), len(pairs))
            weights = words.weights.row(case).astype(np.float64)
            scores[case] = weights @ hits @ row / (weights.sum() * row.sum())
        return scores

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        (words,) = attributes
        asked = self._asked(targets, words)
        if asked.undirected:
            return self._undefined(
                f"s - m + f is zero, so it has no direction, for {asked.undirected}"
            )
        hits = asked.hits()
        score = float(hits.mean())
        by_pair = hits.mean(axis=0)
        details = {
            "by_word": dict(zip(words.words, hits.mean(axis=1).tolist(), strict=True)),
            "by_pair": dict(zip(asked.pairs, by_pair.tolist(), strict=True)),
            "answers": [
                (m, s, f, asked.answers[i][j], bool(hits[i, j]))
                for i, s in enumerate(words.words)
                for j, (m, f) in enumerate(asked.pairs)
            ],
            "n_candidates": asked.n_candidates,
            "lost_candidates": asked.lost_candidates,
            "unusable_candidates": asked.unusable_candidates,
        }
        if asked.unusable_candidates:
            logger.warning(
                "%s: %d candidates are left out, as their vectors have no direction: %s",
                self.model.name,
                len(asked.unusable_candidates),
                ", ".join(asked.unusable_candidates),
            )
        if asked.n_short:
            logger.warning(
                "%s: %d of %d questions have fewer candidates than k=%d besides their word, which "
                "are hits, whatever the candidates are",
                *(self.model.name, asked.n_short, hits.size, asked.k),
            )
        return Measurement({"result": score, "eqt": score}, None, details)


def _per_pair(hits: npt.NDArray[np.bool_], n_pairs: int) -> Vectors:
    """Share of hits for each word and pair, over the directions asked: (n_words, n_pairs)."""
    return np.asarray(hits.reshape(len(hits), -1, n_pairs).mean(axis=1))


@dataclass(frozen=True)
class _Asked:
    """All questions of a query, answered: arrays have the shape (n_words, n_questions_per_word)."""

    pairs: list[tuple[str, ...]]
    undirected: list[tuple[str, ...]]
    k: int = 1
    n_nearer: npt.NDArray[np.int64] | None = None
    """Candidates that are nearer than what is accepted, k standing for k or more."""
    answers: list[list[str]] = field(default_factory=list)
    n_candidates: int = 0
    lost_candidates: list[str] = field(default_factory=list)
    unusable_candidates: list[str] = field(default_factory=list)
    n_short: int = 0
    """Questions with fewer candidates than k besides what is accepted."""
    intruders: npt.NDArray[np.bool_] | None = None
    """Per question, which words of pairs would be nearer, too, if they were candidates: one more
    axis. None if they never are."""
    pairs_of: npt.NDArray[np.bool_] | None = None
    """Which pairs each of these words is in."""

    def hits(self, present: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.bool_]:
        """Return the hits; words of which no pair is present are candidates."""
        n_nearer: Any = self.n_nearer
        if present is not None and self.intruders is not None and self.pairs_of is not None:
            n_nearer = n_nearer + (self.intruders & ~(self.pairs_of @ present)).sum(axis=-1)
        return np.asarray(n_nearer < self.k)


def _ask(
    targets: Sequence[WordSet],
    words: WordSet,
    *,
    model: WordEmbeddingModel,
    candidates: Sequence[str] | None,
    k: int,
    both_directions: bool,
    variants: Mapping[str, Sequence[str]],
    preprocessors: Preprocessors | None,
) -> _Asked:
    given = tuples_of(targets)
    (t1, t2), of_words = (part.unit for part in targets), words.unit
    questions, undirected = _questions(t1, t2, of_words, both_directions)
    pairs = given + [(f, m) for m, f in given] if both_directions else given
    if undirected.any():
        every = [(m, s, f) for s in words.words for m, f in pairs]
        return _Asked(pairs, [every[i] for i in np.flatnonzero(undirected)])
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    best, best_forms, accepted = _accepted(questions, words, of_words, variants, model)

    row_of: Mapping[str, int] = model.vocab
    lost: list[str] = []
    unusable: list[str] = []
    if candidates is None:
        table = _whole_table(model, "EQT")
        banned = [_rows(row_of, [form for pair in given for form in pair])] * len(pairs)
        n_candidates = len(row_of) - len(banned[0])
    else:
        forms, missing, _ = _Embedder(model, preprocessors).find(tuple(candidates))
        lost = list(missing)
        vectors = np.asarray(model.get_vectors(forms)).reshape(-1, model.dim)
        directed = _squares_of_rows(vectors)[1]
        unusable = [form for form, there in zip(forms, directed, strict=True) if not there]
        row_of = {form: row for row, form in enumerate(f for f in forms if f not in unusable)}
        table = _Table(vectors[directed])
        banned = [_rows(row_of, pair) for pair in pairs]
        n_candidates = len(row_of)
    exclude = [sorted(own | _rows(row_of, forms)) for forms in accepted for own in banned]
    n_nearer = np.zeros(len(questions), dtype=np.int64)
    n_others = np.zeros(len(questions), dtype=np.int64)
    answers = best_forms
    wanted = np.array([min(k, table.n_words - len(rows)) for rows in exclude])
    for n in np.unique(wanted[wanted > 0]).tolist():
        some = np.flatnonzero(wanted == n)
        task = _Task.checked(table, questions[some], n, [exclude[i] for i in some], _BUFFER_MB)
        # In place of rows that are not there, as vectors have no direction, come -1 and -inf.
        rows, cosines = _search(task)
        n_others[some] = (rows >= 0).sum(axis=1)
        n_nearer[some] = (cosines > best[some, None] + _TIE).sum(axis=1)
        missed = np.flatnonzero(n_nearer[some])
        nearest = rows[missed, 0]
        answers[some[missed]] = (
            _words(model, nearest) if candidates is None else [[*row_of][row] for row in nearest]
        )

    intruders = pairs_of = None
    if candidates is None:
        # Words that are in no pair any more, when pairs are left out, become candidates.
        members = dict(zip([m for m, _ in given], t1, strict=True))
        members |= zip([f for _, f in given], t2, strict=True)
        members = {form: vector for form, vector in members.items() if form in row_of}
        near = questions @ np.array([*members.values()]).reshape(-1, model.dim).T
        intruders = (near > best[:, None] + _TIE).reshape(len(words), len(pairs), -1)
        pairs_of = np.array([[form in pair for pair in given] for form in members], dtype=bool)
    shape = len(words), len(pairs)
    return _Asked(
        pairs,
        [],
        k,
        n_nearer.reshape(shape),
        answers.reshape(shape).tolist(),
        n_candidates,
        lost,
        unusable,
        int((n_others < k).sum()),
        intruders,
        pairs_of,
    )


def _rows(row_of: Mapping[str, int], forms: Sequence[str]) -> set[int]:
    return {row_of[form] for form in forms if form in row_of}


def _accepted(
    questions: Vectors,
    words: WordSet,
    of_words: Vectors,
    variants: Mapping[str, Sequence[str]],
    model: WordEmbeddingModel,
) -> tuple[Vectors, npt.NDArray[np.object_], list[list[str]]]:
    """Cosine and form of the nearest accepted answer of each question, and all for each word."""
    n_each = len(questions) // len(words)
    best = np.einsum("ij,ij->i", questions, np.repeat(of_words, n_each, axis=0))
    best_forms = np.repeat(np.array(words.words, dtype=object), n_each)
    prefix = model.vocab_prefix or ""
    accepted = [[s] for s in words.words]
    for i, forms in enumerate(accepted):
        more = [prefix + form for form in variants.get(forms[0].removeprefix(prefix), ())]
        more = [form for form in more if form in model and form != forms[0]]
        directed = _squares_of_rows(np.asarray(model.get_vectors(more)).reshape(-1, model.dim))[1]
        forms += [form for form, there in zip(more, directed, strict=True) if there]
        if len(forms) > 1:
            own = slice(i * n_each, (i + 1) * n_each)
            vectors = np.asarray(model.get_vectors(forms), dtype=np.float64)
            cosines = questions[own] @ unit("variants", vectors).T
            best[own] = cosines.max(axis=1)
            best_forms[own] = np.array(forms, dtype=object)[cosines.argmax(axis=1)]
    return best, best_forms, accepted
