"""Analogies by vector offset (3CosAdd) among the first words of a model, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wefe._progress import progress_bar
from wefe._wordset import Vectors
from wefe.models._search import Table, directions, read, search
from wefe.models._tables import chunks
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.quality._benchmark import Benchmark, Mask, forms_of

# Questions per batch; each batch reads the vectors of the model once.
_BATCH = 4_096
# Sums of unit vectors below this length are rounding noise.
_ZERO_LENGTH = 1e-12


class Answers(NamedTuple):
    """Which questions were asked and answered correctly, in their order."""

    asked: Mask
    right: Mask
    lost_words: tuple[str, ...]
    n_candidates: int


def answer_analogies(
    model: WordEmbeddingModel,
    benchmark: Benchmark,
    lowercase: bool,
    vocabulary_size: int,
    progress: bool,
) -> Answers:
    """Answer the questions whose words are among the candidates; this needs the whole model."""
    table = model.whole_table("an analogy")
    n_candidates = min(vocabulary_size, len(table))
    words = list(benchmark._in_order())
    rows = _rows(model, words, lowercase, n_candidates)
    units, directed = directions(read(table, np.array([own[0] for own in rows.values()], int)))
    place = {word: at for at, word in enumerate(rows) if directed[at]}
    asked = np.array([place.keys() >= {*four} for *four, _ in benchmark.items])
    right = np.zeros(benchmark.n_items, dtype=bool)
    questions = []
    for number in np.flatnonzero(asked).tolist():
        a, b, c, d, _ = benchmark.items[number]
        banned = {*rows[a], *rows[b], *rows[c]}
        # Words of the question are no answers: if d is one of them, it is not solved.
        if wanted := set(rows[d]) - banned:
            questions.append((number, place[a], place[b], place[c], list(banned), wanted))
    with progress_bar(len(questions), benchmark.name, "analogy", progress) as bar:
        for part in chunks(len(questions), _BATCH):
            batch = questions[part]
            right[[each[0] for each in batch]] = _solved(table, n_candidates, units, batch)
            bar.update(len(batch))
    lost = tuple(word for word in words if word not in place)
    return Answers(asked, right, lost, n_candidates)


def _rows(
    model: WordEmbeddingModel, words: Sequence[str], lowercase: bool, n_candidates: int
) -> dict[str, list[int]]:
    """Return the rows of each candidate among words, the row of its vector first.

    With `lowercase`, words that differ only in case follow: close as they are, they would often be
    the answer.
    """
    prefix = model.vocab_prefix or ""
    rows = {}
    for word in words:
        hits = [model.vocab.get(form, n_candidates) for form in forms_of(word, lowercase, prefix)]
        if known := [row for row in hits if row < n_candidates]:
            rows[word] = known[:1]
    if lowercase:
        alike: dict[str, list[int]] = {(prefix + word).lower(): [] for word in rows}
        for form, row in model.vocab.items():
            if row < n_candidates and (same := alike.get(form.lower())) is not None:
                same.append(row)
        for word, own in rows.items():
            own += alike[(prefix + word).lower()]
    return rows


def _solved(
    table: Table, n_candidates: int, units: Vectors, batch: Sequence[tuple[Any, ...]]
) -> Mask:
    """Tell for which questions of a batch the right word is the nearest one."""
    _, a, b, c, banned, wanted = zip(*batch, strict=True)
    points = units[list(b)] - units[list(a)] + units[list(c)]
    solvable = np.flatnonzero(np.linalg.norm(points, axis=1) > _ZERO_LENGTH)
    excluded = [banned[number] for number in solvable]
    rows, _ = search(table, points[solvable], 1, excluded, n_words=n_candidates)
    solved = np.zeros(len(batch), dtype=bool)
    for number, row in zip(solvable, rows[:, 0].tolist(), strict=True):
        solved[number] = row in wanted[number]
    return solved
