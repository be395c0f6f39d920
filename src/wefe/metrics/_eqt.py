"""Embedding Quality Test (Dev and Phillips, AISTATS 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, compress
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from wefe._checks import check_word_set
from wefe._wordset import Vectors, WordSet, WordSets, tuples_of
from wefe.embeddings import UnanswerableError
from wefe.metrics._base import BaseMetric
from wefe.metrics._declaration import Count, Measurement
from wefe.metrics._exchange import TestType
from wefe.metrics._geometry import ZERO_LENGTH, by_word
from wefe.metrics._registry import register
from wefe.models._search import directions, search

# Candidates that are nearer by less than this tie with the word, like copies of its vector.
_TIE = 1e-12


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
    whether it is a hit)). Candidates are all words of the model except those of all pairs. Pairs
    with an out-of-vocabulary word are left out.

    Parameters
    ----------
    k : int, default=1
        Count a word if it is among the k nearest candidates: always, if there are no more than k.
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

    def _pair_values(self, targets: WordSets, attributes: WordSets) -> Vectors:
        # A question without a direction is a miss: NaN is not below k.
        sides = (self._asked(each, attributes[0])[0] for each in (targets, targets[::-1]))
        return np.stack([(n_nearer < self.k).mean(axis=0) for n_nearer in sides], axis=1)

    def _scores(self, targets: WordSets, attributes: WordSets) -> Vectors:
        (words,), pairs = attributes, targets[0]  # pairs stay together: both sets count alike
        n_nearer, _, members = self._asked(targets, words)
        if np.isnan(n_nearer).any():
            return super()._scores(targets, attributes)
        shares = []
        for row in pairs.weights.matrix():
            # Words that are in no pair any more, when pairs are left out, become candidates.
            present = {*chain(*compress(tuples_of(targets), row))}
            added = [nearer for word, nearer in members.items() if word not in present]
            hits = sum(added, n_nearer) < self.k
            by_pair = hits.reshape(len(words), -1, len(pairs)).mean(axis=1)
            shares.append(np.average(by_pair, axis=1, weights=row))
        return words.mean(np.array(shares))

    def _compute(self, targets: WordSets, attributes: WordSets) -> Measurement:
        (words,), pairs = attributes, tuples_of(targets)
        if self.both_directions:
            pairs += [(f, m) for m, f in pairs]
        n_nearer, answers, _ = self._asked(targets, words)
        undirected = np.argwhere(np.isnan(n_nearer)).tolist()
        if undirected:
            which = [(pairs[j][0], words.words[i], pairs[j][1]) for i, j in undirected]
            raise UnanswerableError(f"s - m + f is zero, so it has no direction, for {which}")
        hits = n_nearer < self.k
        details = {
            "by_word": by_word(words, hits.mean(axis=1)),
            "by_pair": dict(zip(pairs, hits.mean(axis=0).tolist(), strict=True)),
            "answers": [
                (m, s, f, answers[i, j], bool(hits[i, j]))
                for i, s in enumerate(words.words)
                for j, (m, f) in enumerate(pairs)
            ],
        }
        return self._measured(float(hits.mean()), details)

    def _asked(
        self, targets: WordSets, words: WordSet
    ) -> tuple[Vectors, npt.NDArray[np.object_], dict[str, npt.NDArray[np.bool_]]]:
        """Return what is nearer than accepted answers, for each question: (n_words, n_questions).

        That is the number of candidates, up to k (NaN without a direction); the nearest of these
        and the answer; and, for each word of a pair, whether it is nearer.
        """
        t1, t2 = (part.unit for part in targets)
        shifts = np.concatenate([t2 - t1, t1 - t2]) if self.both_directions else t2 - t1
        questions = words.unit[:, None] + shifts
        lengths = np.linalg.norm(questions, axis=2, keepdims=True)
        directed = lengths > ZERO_LENGTH
        questions = np.where(directed, questions, 0) / np.where(directed, lengths, 1)
        # Cosine and form of the nearest accepted answer.
        best, answers = np.empty(questions.shape[:2]), np.empty(questions.shape[:2], dtype=object)
        row_of, exclude, prefix = self.model.vocab, [], self.model.vocab_prefix or ""
        members = {w: own for part in targets for w, own in zip(part.words, part.unit, strict=True)}
        for i, word in enumerate(words.words):
            variants = (self.variants or {}).get(word.removeprefix(prefix), ())
            accepted = [word, *(form for v in variants if (form := prefix + v) in self.model)]
            banned = [row_of[form] for form in {*accepted, *members} if form in row_of]
            exclude += [banned] * len(shifts)
            units, usable = directions(self.model.get_vectors(accepted))
            cosines = np.where(usable, questions[i] @ units.T, -np.inf)
            best[i] = cosines.max(axis=1)
            answers[i] = np.array(accepted, dtype=object)[cosines.argmax(axis=1)]
        table, flat = self.model.whole_table("EQT"), questions.reshape(-1, questions.shape[2])
        rows, cosines = search(table, flat, min(self.k, len(table)), exclude)
        n_nearer = (cosines > best.reshape(-1, 1) + _TIE).sum(axis=1).reshape(best.shape)
        missed = n_nearer > 0
        answers[missed] = self.model.table.words_at(rows[:, 0].reshape(best.shape)[missed])
        nearer = {word: questions @ own > best + _TIE for word, own in members.items()}
        return np.where(directed[..., 0], n_nearer, np.nan), answers, nearer
