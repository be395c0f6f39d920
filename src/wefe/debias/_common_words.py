"""The words that compared models share, and the rows of the table of a comparison."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wefe.models._passes import Rows
from wefe.models._search import directions
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
    before: float
    after: float
    before_se: float = math.nan
    after_se: float = math.nan
    change_se: float = math.nan
    n: int = 0
    best_value: float = math.nan
    note: str = ""


def undefined_rows(
    aspect: str,
    measure: str,
    subject: str,
    names: Sequence[str],
    note: str,
    before: float = math.nan,
    best: float = math.nan,
) -> list[Row]:
    """Return a row for each mitigated model that has no number, and says why."""
    start = (aspect, measure, subject)
    return [Row(*start, name, before, math.nan, best_value=best, note=note) for name in names]


class CommonWords:
    """The words that all of several models have, in the order of the first model.

    Words are numbered from 0 in that order; `vectors` reads those of any numbers.
    """

    def __init__(self, models: Sequence[WordEmbeddingModel]) -> None:
        self.models = list(models)
        vocab = models[0].vocab
        words = list(vocab)
        rows = [np.fromiter(vocab.values(), np.intp, len(words))]
        for model in models[1:]:
            rows.append(
                rows[0]
                if model.vocab is vocab
                else np.fromiter((model.vocab.get(w, -1) for w in words), np.intp, len(words))
            )
            n_found = int((rows[-1] >= 0).sum())
            only_before, only_after = len(words) - n_found, len(model.vocab) - n_found
            if only_before or only_after:
                logger.warning(
                    "%d words only in %s and %d only in %s are left out",
                    *(only_before, models[0].name, only_after, model.name),
                )
        shared = np.all([part >= 0 for part in rows], axis=0)
        # A mapping may list its words in another order than that of the rows.
        order = np.argsort(rows[0], kind="stable")
        order = order[shared[order]]
        self.words = [words[i] for i in order]
        self._rows = [part[order] for part in rows]

    def __len__(self) -> int:
        return len(self.words)

    def find(self, form: str) -> int | None:
        """Return the number of a word, written as the first model has it; None if not shared."""
        row = self.models[0].vocab.get(form)
        if row is None:
            return None
        # Rows of the first model rise with the numbers.
        number = int(np.searchsorted(self._rows[0], row))
        return number if number < len(self) and self._rows[0][number] == row else None

    def vectors(self, model: int, numbers: Rows | slice) -> FloatArray:
        """Return vectors of one model, float32 or float64; perhaps a view, not to be changed."""
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
