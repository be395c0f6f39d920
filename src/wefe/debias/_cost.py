"""What a mitigation costs in geometry: how far vectors move, and which neighbours they lose."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from wefe.debias._common_words import FREQUENT, CommonWords, Row, undefined_rows
from wefe.debias._uncertainty import paired_mean_errors
from wefe.models._search import directions, nearest_neighbors

# Neighbours of which the share that is kept is measured.
_N_NEIGHBORS = 10
_CENSUS = "no standard error: all words were looked at"

CHANGED = "share of vectors changed"
# 1 - cosine of the vectors before and after, and |after - before| / |before|.
DISTANCE = "mean cosine displacement"
RELATIVE = "mean vector displacement"
KEPT = "neighbourhood overlap"


def displacement_rows(common: CommonWords) -> list[Row]:
    """Measure how far all vectors moved, block by block; one row per measure and model."""
    sums = [_Moved() for _ in common.models[1:]]
    before_dim = common.models[0].dim
    for block in common.blocks(len(common)):
        before = common.vectors(0, block)
        for number, moved in enumerate(sums, 1):
            if common.models[number].dim == before_dim:
                moved.add(before, common.vectors(number, block))
    rows = []
    for measure in (CHANGED, DISTANCE, RELATIVE):
        for model, moved in zip(common.models[1:], sums, strict=True):
            value, n = math.nan, 0
            note = f"vectors of {before_dim} and of {model.dim} dims cannot be compared"
            if model.dim == before_dim:
                value, n, note = moved.mean(measure, len(common))
            rows.append(
                Row(
                    *("cost", measure, "all words", model.name, 0.0, value),
                    n=n,
                    best_value=0.0,
                    note=note,
                )
            )
    return rows


class _Moved:
    """Sums over words of how far one model moved them."""

    def __init__(self) -> None:
        # Of each measure, the sum and the number of words.
        self.sums = {measure: np.zeros(2) for measure in (CHANGED, DISTANCE, RELATIVE)}

    def add(self, before: npt.NDArray[Any], after: npt.NDArray[Any]) -> None:
        same = (before == after) | (np.isnan(before) & np.isnan(after))
        changed = ~same.all(axis=1)
        old, new = directions(before)[1], directions(after)[1]
        finite = old & np.isfinite(after).all(axis=1)
        # What did not change adds nothing, not even rounding.
        b, a = (part[changed & finite].astype(np.float64) for part in (before, after))
        directed = new[changed & finite]
        lengths = np.linalg.norm(b, axis=1)
        relative = np.linalg.norm(a - b, axis=1) / lengths
        b, a, lengths = b[directed], a[directed], lengths[directed]
        cosines = np.einsum("ij,ij->i", b, a) / lengths / np.linalg.norm(a, axis=1)
        distance = 1 - np.clip(cosines, -1, 1)
        self.sums[CHANGED] += changed.sum(), len(changed)
        self.sums[RELATIVE] += relative.sum(), finite.sum()
        self.sums[DISTANCE] += distance.sum(), (old & new).sum()

    def mean(self, measure: str, n_words: int) -> tuple[float, int, str]:
        """Return a mean, over how many words, and what is to be said of it."""
        total, n = float(self.sums[measure][0]), int(self.sums[measure][1])
        if n == 0:
            return math.nan, 0, "no word has a direction"
        less = f"; {n_words - n} without a direction left out" if n < n_words else ""
        return total / n, n, _CENSUS + less


def neighbor_rows(common: CommonWords, n_sample: int, rng: np.random.Generator) -> list[Row]:
    """Measure which share of their nearest neighbours a sample of the first words keeps."""
    candidates = common.usable(np.arange(min(FREQUENT, len(common))))
    size = min(n_sample, len(candidates))
    subject = f"{size} of the first {len(candidates)} words"
    k = min(_N_NEIGHBORS, len(candidates) - 1)
    names = [model.name for model in common.models[1:]]
    if k < 1:
        note = "fewer than two words have a direction in every model"
        return undefined_rows("cost", KEPT, subject, names, note, 1.0, 1.0)
    sample = np.sort(rng.choice(len(candidates), size, replace=False))
    note = "" if k == _N_NEIGHBORS else f"{k} neighbours, as there are few words"
    near = [
        nearest_neighbors(vectors, vectors[sample], k, exclude=sample)[0]
        for vectors in (common.vectors(number, candidates) for number in range(len(common.models)))
    ]
    rows = []
    for name, now in zip(names, near[1:], strict=True):
        kept = (near[0][:, :, None] == now[:, None, :]).any(axis=2).mean(axis=1)
        errors = paired_mean_errors(np.ones(size), kept)
        after = float(kept.mean())
        rows.append(Row("cost", KEPT, subject, name, 1.0, after, *errors, size, 1.0, note))
    return rows
