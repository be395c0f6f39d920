"""Analogies along a bias direction (Bolukbasi, Chang, Zou, Saligrama and Kalai, NeurIPS 2016)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, compress

import numpy as np
import pandas as pd

from wefe._checks import check_bool, check_number, check_positive_int, check_word_set
from wefe._progress import progress_bar
from wefe.explore._directions import CriterionLike, bias_directions
from wefe.explore._lookup import look_up, own_words
from wefe.metrics._geometry import ZERO_LENGTH, Vectors
from wefe.models._passes import Rows
from wefe.models._search import directions as unit_vectors
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.words import Preprocessors

# Words per block: the cosines of a block take 16 MB.
_BLOCK = 1024, 2048
# Unit vectors closer than this are equal except for rounding and form no analogy.
_SAME = 1e-6


def generate_analogies(
    model: WordEmbeddingModel,
    criterion: CriterionLike = "gender",
    n: int = 100,
    *,
    threshold: float = 1.0,
    among: int | Sequence[str] = 50_000,
    repeat_words: bool = False,
    preprocessors: Preprocessors | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Find analogies such as 'she is to x as he is to y' along a bias direction.

    The score of two unit vectors x and y with a distance up to `threshold` is cos(g, x - y), where
    g points from the second group to the first (Bolukbasi et al., NeurIPS 2016, equation 1). The
    search is exact.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model.
    criterion : str, Criterion, mapping, sequence of tuples, or BiasDirections, default='gender'
        The groups, as in :func:`bias_directions`. Of more than two groups, all pairs are compared,
        along the difference of their directions.
    n : int, default=100
        Number of analogies per pair of groups.
    threshold : float, default=1.0
        Largest distance of x and y, in (0, 2]. 1 means a cosine of at least 0.5; 2 allows any pair.
    among : int or sequence of str, default=50_000
        Candidates for x and y: a number of words from the start of the vocabulary (usually the most
        frequent ones), or a list. The time grows with the square of their number.
    repeat_words : bool, default=False
        False uses each word once as x and once as y, in its best remaining pair, as the published
        code does. True returns all pairs.
    preprocessors : list of dict, optional
        Variants of the words of the criterion and of `among`; see :class:`wefe.embeddings.Lookup`.
    progress : bool, default=True
        Whether to show a progress bar for long searches.

    Returns
    -------
    pandas.DataFrame
        Sorted by descending score for each pair of groups, with the columns

        - `first_group`, `second_group`
        - `first`, `second`: the words x and y, without the model's prefix
        - `score`, in (0, 1], and `distance`
        - `is_definitional`: whether both are specific words of the criterion. Whether another
          pair is a stereotype needs human judgement.

    Raises
    ------
    ValueError
        If the criterion has no direction in the model, or fewer than two candidates have vectors.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> analogies = generate_analogies(load_test_model(), n=1, among=5000)
    >>> analogies[["first", "second", "score", "is_definitional"]].round(3).values.tolist()
    [['she', 'he', 0.864, True]]
    """
    directions = bias_directions(model, criterion, preprocessors=preprocessors)
    n = check_positive_int("n", n)
    if not 0 < check_number("threshold", threshold) <= 2:
        raise ValueError(f"threshold must be above 0 and at most 2; got {threshold}.")
    check_bool("repeat_words", repeat_words)
    words, vectors = candidates(model, among, preprocessors)
    if len(words) < 2:
        raise ValueError(
            f"among must give at least 2 words with a vector in {model.name}; got {len(words)}. "
            "Use more words."
        )
    specific = np.isin(words, look_up(model, [*directions.words], preprocessors).forms)
    units, groups = unit_vectors(vectors)[0], directions.groups
    compared = list(combinations(range(len(groups)), 2))
    total = len(compared) * len(words) * (len(words) + 1) // 2
    names, lines = np.array(words, dtype=object), []
    with progress_bar(total, "analogies", "pair", progress) as bar:
        for i, j in compared:
            direction = directions.towards[i] - directions.towards[j]
            length = float(np.linalg.norm(direction))
            if length < ZERO_LENGTH:
                continue
            projections = units @ (direction / length)
            # x comes before y in this order, so half of the products is enough.
            order = np.argsort(-projections, kind="stable")
            # If words may not repeat, a later pair can replace two. Any choice to which no pair can
            # be added has n or more of 2 n pairs without a common word.
            n_kept = n if repeat_words else 2 * n
            best, least = np.empty((4, 0)), 0.0
            for part in _blocks(len(words)):
                pairs = _pairs(units, projections, threshold, *(order[rows] for rows in part))
                best = np.hstack([best, pairs[:, pairs[2] >= least]])
                best = best[:, np.lexsort((best[1], best[0], -best[2]))]
                chosen = _chosen(best, n_kept, repeat_words)
                if len(chosen) == n_kept:  # what scores less has no chance
                    least = best[2, chosen[-1]]
                    best = best[:, best[2] >= least]
                bar.update(np.prod([rows.stop - rows.start for rows in part]))
            x, y, scores, distances = best[:, _chosen(best, n, repeat_words)]
            first, second = x.astype(np.intp), y.astype(np.intp)
            columns = {
                "first_group": groups[i],
                "second_group": groups[j],
                "first": names[first],
                "second": names[second],
                "score": np.minimum(scores, 1.0),
                "distance": distances,
                "is_definitional": specific[first] & specific[second],
            }
            lines.append(pd.DataFrame(columns))
    return pd.concat(lines, ignore_index=True)


def candidates(
    model: WordEmbeddingModel, among: int | Sequence[str], preprocessors: Preprocessors | None
) -> tuple[list[str], FloatArray]:
    """Return candidates that have a direction, without the model's prefix, and their vectors."""
    if isinstance(among, int | np.integer):
        count = check_positive_int("among", among)
        if model.held == "selected":
            raise ValueError(
                f"among={count} needs the whole vocabulary, but {model.name} was opened for "
                f"{len(model.vocab):,} words only. Pass the words as a list: among=[...]."
            )
        rows = np.arange(min(count, len(model.vocab)))
        words, own = own_words(model, rows)
        vectors = model.rows(rows[own])
        usable = unit_vectors(vectors)[1]
        return list(compress(words, usable)), vectors[usable]
    known = look_up(model, check_word_set("among", among), preprocessors, "among")
    return known.forms, known.vectors


def _pairs(units: Vectors, projections: Vectors, threshold: float, x: Rows, y: Rows) -> Vectors:
    """Return the pairs of words `x` and words `y`: x, y, score and distance of each."""
    cosines = units[x] @ units[y].T
    i, j = np.nonzero(cosines >= 1 - threshold**2 / 2 - 1e-9)
    x, y, distances = x[i], y[j], np.sqrt(np.maximum(2 - 2 * cosines[i, j], 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        # Rounded, so that copies of a vector tie and the most frequent word comes first.
        scores = np.round((projections[x] - projections[y]) / distances, 12)
    good = (distances > _SAME) & (distances <= threshold + 1e-12) & (scores > 0)
    return np.stack([x, y, scores, distances])[:, good]


def _chosen(pairs: Vectors, n: int, repeat: bool) -> list[int]:
    """Return the positions of the best n pairs, without repeated words unless allowed."""
    if repeat:
        return list(range(min(n, pairs.shape[1])))
    left, right, chosen = set[float](), set[float](), list[int]()
    for position, (x, y) in enumerate(pairs[:2].T.tolist()):
        if len(chosen) == n:
            break
        if x not in left and y not in right:
            left.add(x)
            right.add(y)
            chosen.append(position)
    return chosen


def _blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """Cut the upper triangle of an n x n matrix into blocks."""
    height, width = _BLOCK
    for start in range(0, n, height):
        for left in range(start, n, width):
            yield slice(start, min(start + height, n)), slice(left, min(left + width, n))
