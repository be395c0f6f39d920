"""What remains after a mitigation: can the former bias be recovered from the vectors?

The tests of H. Gonen and Y. Goldberg. Lipstick on a Pig: Debiasing Methods Cover up Systematic
Gender Biases in Word Embeddings But do not Remove Them. NAACL-HLT 2019.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from wefe.datasets import Criterion
from wefe.debias._common_words import FREQUENT, CommonWords, Row, undefined_rows
from wefe.debias._uncertainty import (
    Errors,
    paired_errors,
    paired_mean_errors,
)
from wefe.metrics._jackknife import Numbers, left_out
from wefe.metrics._recovery import (
    bias_by_projection,
    classified,
    correlation,
    in_own_cluster,
    members,
    neighbor_shares,
)
from wefe.models._passes import Rows, forms, plain_rows
from wefe.models._search import nearest_neighbors

logger = logging.getLogger(__name__)

CLUSTERS = "cluster alignment"
CLASSIFICATION = "classification accuracy"
LINEAR = "linear classification accuracy"
NEIGHBORS = "neighbour correlation"
PROJECTIONS = "projection correlation"
_MEASURES = (CLUSTERS, CLASSIFICATION, LINEAR, NEIGHBORS, PROJECTIONS)

# Of the words chosen, the share that the classifier learns from.
_TRAIN_SHARE = 0.2
# A classifier learns from one word per side, and is tested on another.
_FEWEST_WORDS = 2


class _Contrast(NamedTuple):
    """A class and what it is told from, and the words that are looked at."""

    subject: str
    # Numbers of the words that stand for the class, and for the other or others.
    towards: tuple[Rows, Rows]
    # Numbers of all words that may be neighbours, and their bias in the original model.
    vocabulary: Rows
    bias: Numbers
    # Positions in `vocabulary`: the most biased words on either side, and those whose neighbours
    # are looked at.
    first: Rows
    second: Rows
    rows: Rows


def residual_rows(
    common: CommonWords,
    criterion: Criterion,
    words: Sequence[str] | None,
    ignore: Sequence[str],
    n_words: int,
    k: int,
    random_state: int,
) -> list[Row]:
    """Run the four tests on all models; of more than two classes, for each against the others.

    Parameters
    ----------
    common : CommonWords
        The words and the models, the original one first.
    criterion : Criterion
        The classes.
    words, ignore, n_words, k
        See :func:`wefe.debias.compare`.
    random_state : int
        Seed of the clusters, and of which words the classifier learns from.
    """
    names = [model.name for model in common.models[1:]]
    subjects = [criterion.name]
    if criterion.n_classes > 2:
        subjects = [f"{criterion.name}: {name} or not" for name in criterion.class_names]
    notes: list[str] = []
    left_out_words = {*criterion.specific_words, *criterion.representatives, *ignore}
    vocabulary = common.usable(plain_words(common, left_out_words, notes))
    per_side = min(n_words, len(vocabulary) // 4)
    nothing = _lacking(common, criterion)
    if not nothing and per_side < _FEWEST_WORDS:
        nothing = f"only {len(vocabulary)} words are left to choose from"
    if nothing:
        return [
            row
            for subject in subjects
            for measure in _MEASURES
            for row in undefined_rows("residual", measure, subject, names, nothing)
        ]
    if per_side < n_words:
        notes.append(f"{per_side} words per side, a quarter of the {len(vocabulary)} there are")
    neighbor_notes = list(notes)
    asked = vocabulary[: 2 * n_words]
    if words is not None:
        numbers = map(common.find, forms(common.models[0], words))
        known = [number for number in numbers if number is not None]
        asked = common.usable(np.unique(np.array(known, dtype=np.intp)))
        n_lost = len(set(words)) - len(asked)
        if n_lost:
            neighbor_notes.append(f"{n_lost} of {len(set(words))} words not found")
    everything = np.concatenate([vocabulary, np.setdiff1d(asked, vocabulary)])
    k_possible = min(k, len(everything) - 1)
    if k_possible < k:
        neighbor_notes.append(f"{k_possible} neighbours, as there are few words")
    found = map(common.find, forms(common.models[0], criterion.representatives))
    stand_for = np.array(list(found), dtype=np.intp)
    rows = []
    for position, subject in enumerate(subjects):
        towards = stand_for[[position]], np.delete(stand_for, position)
        bias = _projections(common, 0, towards, everything)
        order = np.argsort(-bias[: len(vocabulary)], kind="stable")
        contrast = _Contrast(
            *(subject, towards, everything, bias, order[:per_side], order[::-1][:per_side]),
            np.flatnonzero(np.isin(everything, asked)),
        )
        before, *after = [
            _look(common, number, contrast, k_possible, random_state)
            for number in range(len(common.models))
        ]
        for measure in _MEASURES:
            said = neighbor_notes if measure in (NEIGHBORS, PROJECTIONS) else notes
            for name, now in zip(names, after, strict=True):
                rows.append(_row(measure, name, before, now, contrast, said))
    return rows


def _lacking(common: CommonWords, criterion: Criterion) -> str:
    lost = [
        word
        for word, form in zip(
            criterion.representatives,
            forms(common.models[0], criterion.representatives),
            strict=True,
        )
        if (number := common.find(form)) is None or not len(common.usable(np.array([number])))
    ]
    what = ", ".join(lost)
    return f"no vector with a direction for {what}, which represent a class" if lost else ""


def plain_words(common: CommonWords, left_out_words: set[str], notes: list[str]) -> Rows:
    """Return numbers of frequent words that look like words; say in `notes` what is odd."""
    if not len(common):
        return np.empty(0, dtype=np.intp)
    model = common.models[0]
    last = model.vocab[common.words[min(FREQUENT, len(common)) - 1]]
    rows, lower = plain_rows(model, last + 1)
    if not lower:
        notes.append("words of any case, as the vocabulary has hardly any in lower case")
    unwanted = set(forms(model, left_out_words))
    numbers = (common.find(form) for form in model.table.words_at(rows) if form not in unwanted)
    return np.array([number for number in numbers if number is not None], dtype=np.intp)


def _projections(
    common: CommonWords, model: int, towards: tuple[Rows, Rows], numbers: Rows
) -> Numbers:
    first, second = (common.vectors(model, part) for part in towards)
    bias = np.empty(len(numbers))
    for part in common.blocks(len(numbers)):
        bias[part] = bias_by_projection(common.vectors(model, numbers[part]), first, second)
    return bias


def _look(
    common: CommonWords, number: int, contrast: _Contrast, k: int, random_state: int
) -> dict[str, Numbers]:
    """Return what one model shows, word by word, for each measure."""
    vectors = common.vectors(number, contrast.vocabulary)
    first, second = vectors[contrast.first], vectors[contrast.second]
    # The same words in every model.
    order = np.random.default_rng(random_state).permutation(len(first))
    n_train = max(1, round(_TRAIN_SHARE * len(first)))
    learnt, tested = order[:n_train], order[n_train:]
    parts = (first[learnt], second[learnt]), (first[tested], second[tested])
    near, _ = nearest_neighbors(vectors, vectors[contrast.rows], k, exclude=contrast.rows)
    projections = _projections(common, number, contrast.towards, contrast.vocabulary[contrast.rows])
    noise = 16 * float(np.finfo(common.models[number].dtype).eps)
    if np.abs(projections).max(initial=0) <= noise:
        projections = np.zeros_like(projections)
    return {
        CLUSTERS: in_own_cluster((first, second), random_state).astype(float),
        CLASSIFICATION: np.equal(*classified(*parts)).astype(float),
        LINEAR: np.equal(*classified(*parts, kernel="linear")).astype(float),
        NEIGHBORS: neighbor_shares(near, members(contrast.bias)),
        PROJECTIONS: projections,
    }


def _row(
    measure: str,
    name: str,
    before: Mapping[str, Numbers],
    now: Mapping[str, Numbers],
    contrast: _Contrast,
    notes: Sequence[str],
) -> Row:
    notes = list(notes)
    columns = before[measure], now[measure]
    n, chance = len(columns[0]), 0.0
    if measure in (CLUSTERS, CLASSIFICATION, LINEAR):
        scores = float(columns[0].mean()), float(columns[1].mean())
        errors = paired_mean_errors(*columns)
        # The better of two readings counts: 1/2 + E|X - 1/2| for X of variance 1 / (4 n).
        chance = 0.5 + (1 / math.sqrt(2 * math.pi * n) if measure == CLUSTERS else 0.0)
    else:
        if measure == PROJECTIONS and not columns[1].any():
            notes.append("after: nothing but rounding is left of the projections")
        scores, errors = _correlations(contrast.bias[contrast.rows], columns)
        if any(map(math.isnan, scores)):
            notes.append("no correlation with what is the same for all words")
    return Row(
        *("residual", measure, contrast.subject, name, *scores, *errors, n, chance),
        "; ".join(notes),
    )


def _correlations(bias: Numbers, columns: Sequence[Numbers]) -> tuple[tuple[float, float], Errors]:
    def correlate(kept: Rows) -> list[float]:
        return [correlation(column[kept], bias[kept]) for column in columns]

    before, after = correlate(np.arange(len(bias)))
    by_group = left_out(correlate, len(bias))
    if not len(by_group):
        return (before, after), Errors()
    return (before, after), paired_errors([by_group[:, 0]], [by_group[:, 1]])
