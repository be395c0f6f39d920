"""Words that models share, and the tests of Gonen and Goldberg (2019) for remaining bias."""

from __future__ import annotations

import functools
import itertools
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wefe.datasets import Criterion
from wefe.metrics._jackknife import Numbers, jackknife_error, left_out
from wefe.metrics._recovery import (
    bias_by_projection,
    classified,
    correlation,
    in_own_cluster,
    members,
    neighbor_shares,
)
from wefe.models._passes import Rows, forms, plain_rows
from wefe.models._search import directions, nearest_neighbors
from wefe.models._tables import chunks
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

logger = logging.getLogger(__name__)

#: Frequent words: Gonen and Goldberg (2019) look at that many from the start of a vocabulary.
FREQUENT = 50_000
# Numbers of a block: some MB in float64.
_BLOCK_NUMBERS = 1 << 20


class Row(NamedTuple):
    """One row of the table; `change` follows from it."""

    aspect: str
    measure: str
    subject: str
    model: str
    before: float = math.nan
    after: float = math.nan
    before_se: float = math.nan
    after_se: float = math.nan
    change_se: float = math.nan
    n: int = 0
    best_value: float = math.nan
    note: str = ""


class Errors(NamedTuple):
    """Standard errors of a score before, after, and of its change."""

    before: float = math.nan
    after: float = math.nan
    change: float = math.nan


def paired_errors(before: Sequence[npt.ArrayLike], after: Sequence[npt.ArrayLike]) -> Errors:
    """Return standard errors from scores with the same groups left out; the change is paired."""
    changes = [np.subtract(b, a) for b, a in zip(before, after, strict=True)]
    return Errors(jackknife_error(before), jackknife_error(after), jackknife_error(changes))


def paired_scores(
    columns: Sequence[Numbers], score: Callable[[Numbers, Rows], float] | None = None
) -> tuple[list[float], list[Errors]]:
    """Return the score of every model, and the errors of every mitigated one.

    `columns` hold one number per word for each model, the original one first. `score` computes a
    score from a column and the words that count; by default the mean.
    """
    table = np.stack(columns)
    n_models, n = table.shape
    if score is None:
        scores = table.mean(axis=1).tolist()
        left = (table.sum(axis=1, keepdims=True) - table) / max(n - 1, 1)
    else:

        def scores_of(kept: Rows) -> list[float]:
            return [score(column, kept) for column in table]

        scores = scores_of(np.arange(n))
        left = left_out(scores_of, n).reshape(-1, n_models).T
    return scores, [paired_errors([left[0]], [each]) for each in left[1:]]


def rows_of(
    aspect: str,
    measure: str,
    subject: str,
    models: Sequence[WordEmbeddingModel],
    scores: Sequence[float],
    errors: Sequence[Errors] | None = None,
    **rest: Any,
) -> list[Row]:
    errors = errors or [Errors()] * (len(models) - 1)
    return [
        Row(aspect, measure, subject, model.name, scores[0], after, *error, **rest)
        for model, after, error in zip(models[1:], scores[1:], errors, strict=True)
    ]


def undefined_rows(
    aspect: str, measure: str, subject: str, models: Sequence[WordEmbeddingModel], **rest: Any
) -> list[Row]:
    """Return a row without a number for each mitigated model; `note` says why."""
    return rows_of(aspect, measure, subject, models, [math.nan] * len(models), **rest)


class CommonWords:
    """The words that several models share, numbered from 0 in the order of the first model."""

    def __init__(self, models: Sequence[WordEmbeddingModel]) -> None:
        self.models = list(models)
        words = list(models[0].vocab)
        rows = np.empty((len(models), len(words)), dtype=np.intp)
        rows[0] = np.fromiter(models[0].vocab.values(), np.intp, len(words))
        for model, here in zip(models[1:], rows[1:], strict=True):
            same = model.vocab is models[0].vocab
            here[:] = rows[0] if same else [model.vocab.get(word, -1) for word in words]
            n_found = int((here >= 0).sum())
            only_before, only_after = len(words) - n_found, len(model.vocab) - n_found
            if only_before or only_after:
                logger.warning(
                    "%d words only in %s and %d only in %s are left out",
                    *(only_before, models[0].name, only_after, model.name),
                )
        # A mapping may list its words in another order than that of the rows.
        order = np.argsort(rows[0], kind="stable")
        order = order[rows.min(axis=0)[order] >= 0]
        self.words = [words[i] for i in order]
        self._rows = rows[:, order]

    def __len__(self) -> int:
        return len(self.words)

    def find(self, form: str) -> int | None:
        """Return the number of a word, written as in the first model; None if it is not shared."""
        row = self.models[0].vocab.get(form, -1)
        # Rows of the first model rise with the numbers.
        number = int(np.searchsorted(self._rows[0], row))
        return number if number < len(self) and self._rows[0][number] == row else None

    def vectors(self, model: int, numbers: Rows | slice) -> FloatArray:
        """Return read-only vectors of one model, float32 or float64, perhaps a view."""
        table, rows = self.models[model], self._rows[model][numbers]
        in_a_row = len(rows) > 0 and bool((np.diff(rows) == 1).all())
        vectors = table.rows(slice(rows[0], rows[-1] + 1) if in_a_row else rows)
        return vectors.astype(np.promote_types(vectors.dtype, np.float32), copy=False)

    def blocks(self, n_words: int) -> list[slice]:
        """Return slices that cover range(n_words), each of some MB of vectors."""
        dim = max(model.dim for model in self.models)
        return list(chunks(n_words, max(1, _BLOCK_NUMBERS // max(dim, 1))))

    def usable(self, numbers: Rows) -> Rows:
        """Return those numbers whose vectors have a direction in every model."""
        good = np.ones(len(numbers), dtype=bool)
        for part in self.blocks(len(numbers)):
            for model in range(len(self.models)):
                good[part] &= directions(self.vectors(model, numbers[part]))[1]
        return numbers[good]

    @functools.cached_property
    def frequent(self) -> Rows:
        """The usable numbers among the first ones."""
        return self.usable(np.arange(min(FREQUENT, len(self))))


CLUSTERS = "cluster alignment"
CLASSIFICATION = "classification accuracy"
LINEAR = "linear classification accuracy"
NEIGHBORS = "neighbour correlation"
PROJECTIONS = "projection correlation"
_CORRELATED = (NEIGHBORS, PROJECTIONS)
_MEASURES = (CLUSTERS, CLASSIFICATION, LINEAR, *_CORRELATED)

# Of the words chosen, the share that the classifier learns from.
_TRAIN_SHARE = 0.2
# A classifier learns from one word per side, and is tested on another.
_FEWEST_WORDS = 2


def residual_rows(
    common: CommonWords,
    criterion: Criterion,
    words: Sequence[str] | None,
    ignore: Sequence[str],
    n_words: int,
    k: int,
    random_state: int,
) -> list[Row]:
    """Run the tests for remaining bias on all models, for each class against the others."""
    subjects = [f"{criterion.name}: {name} or not" for name in criterion.class_names]
    subjects = subjects if len(subjects) > 2 else [criterion.name]
    notes: list[str] = []
    specific = {*criterion.specific_words, *criterion.representatives, *ignore}
    vocabulary = common.usable(plain_words(common, specific, notes))
    per_side = min(n_words, len(vocabulary) // 4)
    stand_for = _numbers(common, criterion.representatives)
    lost = [*itertools.compress(criterion.representatives, stand_for < 0)]
    if lost or per_side < _FEWEST_WORDS:
        nothing = f"no vector with a direction for {', '.join(lost)}, which represent a class"
        note = nothing if lost else f"only {len(vocabulary)} words are left to choose from"
        return [
            row
            for subject, measure in itertools.product(subjects, _MEASURES)
            for row in undefined_rows("residual", measure, subject, common.models, note=note)
        ]
    if per_side < n_words:
        notes.append(f"{per_side} words per side, a quarter of the {len(vocabulary)} there are")
    neighbor_notes = list(notes)
    asked = vocabulary[: 2 * n_words]
    if words is not None:
        asked = np.unique(_numbers(common, words))
        asked = asked[asked >= 0]
        n_lost = len(set(words)) - len(asked)
        neighbor_notes += [f"{n_lost} of {len(set(words))} words not found"] * bool(n_lost)
    everything = np.concatenate([vocabulary, np.setdiff1d(asked, vocabulary)])
    if k >= len(everything):
        k = len(everything) - 1
        neighbor_notes.append(f"{k} neighbours, because there are few words")
    rows: list[Row] = []
    looked_at = np.flatnonzero(np.isin(everything, asked))
    for position, subject in enumerate(subjects):
        biases = _biases(common, everything, stand_for[[position]], np.delete(stand_for, position))
        order = np.argsort(-biases[0][: len(vocabulary)], kind="stable")
        sides = order[:per_side], order[::-1][:per_side]
        looks = []
        for number, bias in enumerate(biases):
            vectors = common.vectors(number, everything)
            near, _ = nearest_neighbors(vectors, vectors[looked_at], k, exclude=looked_at)
            look = _divided([vectors[side] for side in sides], random_state)
            look[NEIGHBORS] = neighbor_shares(near, members(biases[0]))
            look[PROJECTIONS] = _without_noise(bias[looked_at], common.models[number].dtype)
            looks.append(look)
        for measure in _MEASURES:
            said = neighbor_notes if measure in _CORRELATED else notes
            columns = [look[measure] for look in looks]
            rows += _rows(measure, subject, common, columns, biases[0][looked_at], said)
    return rows


def _biases(common: CommonWords, numbers: Rows, first: Rows, others: Rows) -> list[Numbers]:
    """Return the bias of words towards a class in each model."""
    return [
        bias_by_projection(*(common.vectors(model, each) for each in (numbers, first, others)))
        for model in range(len(common.models))
    ]


def _without_noise(bias: Numbers, dtype: np.dtype[Any]) -> Numbers:
    noise = 16 * float(np.finfo(dtype).eps)
    return bias if np.abs(bias).max(initial=0) > noise else 0 * bias


def _numbers(common: CommonWords, words: Sequence[str]) -> Rows:
    """Return the numbers of words that have a direction in every model; -1 for others."""
    found = [common.find(form) for form in forms(common.models[0], words)]
    numbers = np.array([-1 if number is None else number for number in found], dtype=np.intp)
    usable = common.usable(numbers[numbers >= 0])
    return np.where(np.isin(numbers, usable), numbers, -1)


def _divided(sides: Sequence[FloatArray], random_state: int) -> dict[str, Numbers]:
    """Tell, for each word, whether clusters and classifiers find the side it was biased to."""
    # The same words in every model.
    order = np.random.default_rng(random_state).permutation(len(sides[0]))
    n_train = max(1, round(_TRAIN_SHARE * len(order)))
    train, test = ([side[part] for side in sides] for part in (order[:n_train], order[n_train:]))
    return {
        CLUSTERS: in_own_cluster(sides, random_state).astype(float),
        CLASSIFICATION: np.equal(*classified(train, test)).astype(float),
        LINEAR: np.equal(*classified(train, test, kernel="linear")).astype(float),
    }


def _rows(
    measure: str,
    subject: str,
    common: CommonWords,
    columns: Sequence[Numbers],
    bias: Numbers,
    notes: Sequence[str],
) -> list[Row]:
    n, chance, score = len(columns[0]), 0.5, None
    if measure in _CORRELATED:
        chance = 0.0

        def score(column: Numbers, kept: Rows) -> float:
            return correlation(column[kept], bias[kept])

    elif measure == CLUSTERS:
        # The better of two readings counts: 1/2 + E|X - 1/2| for X of variance 1 / (4 n).
        chance += 1 / math.sqrt(2 * math.pi * n)
    scores, errors = paired_scores(columns, score)
    rows = rows_of(
        "residual", measure, subject, common.models, scores, errors, n=n, best_value=chance
    )
    for number, row in enumerate(rows, 1):
        said = list(notes)
        if measure == PROJECTIONS and not columns[number].any():
            said.append("after: only rounding errors are left of the projections")
        if math.isnan(row.before + row.after):
            said.append("no correlation, because one number is the same for all words")
        rows[number - 1] = row._replace(note="; ".join(said))
    return rows


def plain_words(common: CommonWords, left_out_words: set[str], notes: list[str]) -> Rows:
    """Return the numbers of frequent plain words; add remarks to `notes`."""
    if not len(common):
        return np.empty(0, dtype=np.intp)
    model = common.models[0]
    last = model.vocab[common.words[min(FREQUENT, len(common)) - 1]]
    rows, lower = plain_rows(model, last + 1)
    if not lower:
        notes.append("words of any case, because the vocabulary has hardly any in lower case")
    unwanted = set(forms(model, left_out_words))
    numbers = (common.find(form) for form in model.table.words_at(rows) if form not in unwanted)
    return np.array([number for number in numbers if number is not None], dtype=np.intp)
