"""Embedding Quality Test (Dev and Phillips, AISTATS 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from wefe._checks import check_word_set
from wefe._wordset import Vectors, WordSet, unit
from wefe.metrics._base import BaseMetric
from wefe.metrics._declaration import Count, Measurement
from wefe.metrics._exchange import TestType
from wefe.metrics._geometry import ZERO_LENGTH, by_word, unit_rows
from wefe.metrics._pairs import tuples_of
from wefe.metrics._registry import register
from wefe.models._search import Table, directions, search
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

# Candidates that are nearer by less than this tie with the word, like copies of its vector.
_TIE = 1e-12


def _questions(targets: Sequence[WordSet], words: WordSet, both_directions: bool) -> Vectors:
    """Return unit vectors of a - t1 + t2, (n_words, n_questions, dim); NaN where it is zero."""
    t1, t2 = (part.unit for part in targets)
    shifts = np.concatenate([t2 - t1, t1 - t2]) if both_directions else t2 - t1
    questions = words.unit[:, None] + shifts
    lengths = np.linalg.norm(questions, axis=2, keepdims=True)
    return np.asarray(questions / np.where(lengths > ZERO_LENGTH, lengths, np.nan))


def _check_variants(name: str, value: Any) -> dict[str, tuple[str, ...]] | None:
    checked = {
        word: check_word_set(f"{name}[{word!r}]", own) for word, own in (value or {}).items()
    }
    return checked or None


@register
class EQT(BaseMetric):
    """Embedding Quality Test: do analogies between groups give neutral words back?

    "he is to book as she is to ?" should be answered by "book". For a pair (m, f) of target words
    and a neutral attribute word s, the answer is the candidate with the largest cosine with s - m +
    f. All vectors are scaled to unit length first; s is always a candidate and wins ties. The score
    is the share of questions answered by s, or by an accepted variant of s, in [0, 1]; 1 means that
    no bias was measured. It is NaN if a question is the zero vector. The definition is from
    secondary sources; the paper is said to accept plurals and WordNet synonyms, too. Source: Dev
    and Phillips, "Attenuating Bias in Word Vectors", AISTATS 2019.

    The result has 'eqt' (the score). `details` has 'by_word' (word -> share of hits), 'by_pair'
    ((m, f) -> share of hits), 'answers' (per question the tuple (m, s, f, nearest candidate,
    whether it is a hit)) and 'n_candidates': all words of the model except those of all pairs.
    Pairs with an out-of-vocabulary word are left out.

    Parameters
    ----------
    k : int, default=1
        Count a word if it is among the k nearest candidates. With no more than k candidates it
        always counts, and the log says so.
    both_directions : bool, default=False
        Also ask each question from the second target set to the first.
    variants : mapping of str to list of str, optional
        Further accepted answers for a word, such as its plural, written as in the vocabulary.
        Unknown words and vectors without a direction are ignored.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["he", "man"], ["she", "woman"]], [["wedding", "family"]])
    >>> EQT().run_query(query, load_test_model()).details["by_word"]
    {'wedding': 0.5, 'family': 1.0}
    """

    metric_template = (2, 1)
    metric_name = "Embedding Quality Test"
    metric_short_name = "EQT"
    if_unpaired = {}  # noqa: RUF012
    question = "do analogies between the groups give neutral words back?"
    meaning = "The share of analogies between the groups that give neutral words back; 1 is best."
    value_range = (0.0, 1.0)
    no_bias_value = 1.0
    pairs_targets = True
    needs_vocabulary = True
    null_exchange = "pairs"

    k: Count = 1
    both_directions: bool = False
    variants: Annotated[Mapping[str, Sequence[str]] | None, _check_variants] = None
    p_value_test_type: TestType = "two-sided"

    @property
    def no_p_value(self) -> str:
        """Why there is no permutation test."""
        same = "both directions are asked, so exchanging the words of a pair changes nothing"
        return same if self.both_directions else ""

    def _pair_values(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        by_pair = []
        for sides in (targets, targets[::-1]):
            # A question without a direction is a miss.
            questions = np.nan_to_num(_questions(sides, attributes[0], False))
            asked = self._asked(questions, sides, attributes[0])
            by_pair.append(asked.hits(np.ones(len(targets[0]))).mean(axis=0))
        return np.stack(by_pair, axis=1)

    def _pairs(self, targets: Sequence[WordSet]) -> list[tuple[str, ...]]:
        pairs = tuples_of(targets)
        return pairs + [(f, m) for m, f in pairs] if self.both_directions else pairs

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        (words,), pairs = attributes, targets[0]  # pairs stay together: both sets count alike
        questions = _questions(targets, words, self.both_directions)
        if np.isnan(questions).any():
            return super()._scores(targets, attributes)
        asked = self._asked(questions, targets, words)
        hit_shares = np.empty((pairs.weights.n_cases, len(words)))
        for case, row in enumerate(pairs.weights.matrix()):
            hits = asked.hits(row > 0).reshape(len(words), -1, len(pairs))
            hit_shares[case] = np.average(hits.mean(axis=1), axis=1, weights=row)
        return words.mean(hit_shares)

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        (words,), pairs = attributes, self._pairs(targets)
        questions = _questions(targets, words, self.both_directions)
        undirected = np.argwhere(np.isnan(questions[..., 0]))
        if undirected.size:
            which = [(pairs[j][0], words.words[i], pairs[j][1]) for i, j in undirected]
            return self._undefined(f"s - m + f is zero, so it has no direction, for {which}")
        asked = self._asked(questions, targets, words)
        hits = asked.hits(np.ones(len(targets[0])))
        details = {
            "by_word": by_word(words, hits.mean(axis=1)),
            "by_pair": dict(zip(pairs, hits.mean(axis=0).tolist(), strict=True)),
            "answers": [
                (m, s, f, asked.answers[i, j], bool(hits[i, j]))
                for i, s in enumerate(words.words)
                for j, (m, f) in enumerate(pairs)
            ],
            "n_candidates": len(self.model.vocab) - len(asked.pairs_of),
        }
        measured, those = self._measured(float(hits.mean()), details), asked.n_short
        if not those:
            return measured
        which = f"{those} of {hits.size} questions have fewer candidates than k={self.k}"
        return replace(measured, warnings=(f"{which}, so they count as hits",))

    def _asked(self, questions: Vectors, targets: Sequence[WordSet], words: WordSet) -> _Asked:
        best, answers, accepted = self._accepted(questions, words)
        table, row_of = self.model.whole_table("EQT"), self.model.vocab
        pairs, given = self._pairs(targets), tuples_of(targets)
        members = dict.fromkeys(word for word in chain(*given) if word in row_of)
        exclude = [
            sorted({row_of[word] for word in (*forms, *members) if word in row_of})
            for forms in accepted
            for _ in pairs
        ]
        n_others, n_nearer, nearest = _compared(table, questions, exclude, best, self.k)
        missed = np.nonzero(n_nearer)
        answers[missed] = self.model.table.words_at(nearest[missed])
        # Words that are in no pair any more, when pairs are left out, become candidates.
        vectors = self.model.get_vectors([*members]).astype(np.float64)
        units = unit_rows(vectors.reshape(-1, questions.shape[2]))
        return _Asked(
            *(self.k, n_nearer, answers, int((n_others < self.k).sum())),
            questions @ units.T > best[..., None] + _TIE,
            (np.array([*members], dtype=object)[:, None, None] == np.array(given)).any(axis=2),
        )

    def _accepted(
        self, questions: Vectors, words: WordSet
    ) -> tuple[Vectors, npt.NDArray[np.object_], list[list[str]]]:
        """Cosine and form of the nearest accepted answer, and all that each word accepts."""
        best = np.einsum("ijk,ik->ij", questions, words.unit)
        answers = np.repeat(np.array(words.words, dtype=object)[:, None], best.shape[1], axis=1)
        accepted, prefix = [[word] for word in words.words], self.model.vocab_prefix or ""
        for i, forms in enumerate(accepted if self.variants else ()):
            more = (self.variants or {}).get(forms[0].removeprefix(prefix), ())
            forms += [prefix + form for form in more if prefix + form in self.model]
            vectors, forms[:] = _usable(self.model, forms)
            cosines = questions[i] @ unit("variants", vectors).T
            best[i] = cosines.max(axis=1)
            answers[i] = np.array(forms, dtype=object)[cosines.argmax(axis=1)]
        return best, answers, accepted


@dataclass(frozen=True)
class _Asked:
    """All questions of a query, answered: arrays of shape (n_words, n_questions_per_word)."""

    k: int
    #: Candidates that are nearer than what is accepted, k standing for k or more.
    n_nearer: npt.NDArray[np.int64]
    answers: npt.NDArray[np.object_]
    #: Questions with fewer candidates than k besides what is accepted.
    n_short: int
    #: Which words of pairs would be nearer, too, if they were candidates: one more axis.
    intruders: npt.NDArray[np.bool_]
    #: Which pairs each of these words is in.
    pairs_of: npt.NDArray[np.bool_]

    def hits(self, present: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return the hits if some pairs are absent, which turns their words into candidates."""
        absent = self.pairs_of @ present == 0
        return np.asarray(self.n_nearer + (self.intruders & absent).sum(axis=-1) < self.k)


def _compared(
    table: Table, questions: Vectors, exclude: list[list[int]], best: Vectors, k: int
) -> tuple[npt.NDArray[np.int64], ...]:
    """Count, up to k, the other candidates and those nearer than `best`; row of the nearest."""
    flat, least = questions.reshape(-1, questions.shape[2]), best.ravel() + _TIE
    # Missing rows are -1, with a cosine of -inf.
    rows, cosines = search(table, flat, max(1, min(k, len(table))), exclude)
    n_others, n_nearer = (rows >= 0).sum(axis=1), (cosines > least[:, None]).sum(axis=1)
    return tuple(each.reshape(best.shape) for each in (n_others, n_nearer, rows[:, 0]))


def _usable(model: WordEmbeddingModel, forms: Sequence[str]) -> tuple[FloatArray, list[str]]:
    vectors = np.asarray(model.get_vectors(forms)).reshape(-1, model.dim)
    directed = directions(vectors)[1]
    return vectors[directed], list(compress(forms, directed))
