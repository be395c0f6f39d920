"""Analogies along a bias direction (Bolukbasi, Chang, Zou, Saligrama and Kalai, NeurIPS 2016)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import check_bool, check_positive_int, check_word_set, found
from wefe._progress import progress_bar
from wefe.explore._directions import CriterionLike, bias_directions
from wefe.metrics._geometry import ZERO_LENGTH, Vectors
from wefe.models._passes import Rows
from wefe.models._search import directions as unit_vectors
from wefe.models._tables import chunks
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.words import Preprocessors, check_preprocessors, variants

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

Units: TypeAlias = npt.NDArray[np.float32]

# Words in a block of rows and of columns: their cosines take 8 MB.
_BLOCK = 1024, 2048
# Pairs of vectors that are compared in float64 at once.
_PAIRS = 8192
# Above, a quotient with the bar has a small error in float32.
_BAR_OF_NOTE = 0.1
# Unit vectors that are no further apart are the same, but for rounding: nothing is between them.
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
    """Find the pairs of words that differ most nearly as the groups do: 'she is to x as he to y'.

    Of two unit vectors x and y no further apart than `threshold`, the score is cos(g, x - y),
    where g points from the second group to the first. The exact best pairs are found.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model.
    criterion : str, Criterion, mapping, sequence of tuples, or BiasDirections, default='gender'
        The groups; see :func:`wefe.explore.bias_directions`. Of more than two groups, each two
        are compared, along the difference of the directions towards them.
    n : int, default=100
        Analogies wanted, for each two groups.
    threshold : float, default=1.0
        Largest distance of x and y, above 0, at most 2: pairs should have to do with each other.
        1 allows an angle of 60 degrees, a cosine of 0.5; 2 allows any pair.
    among : int or sequence of str, default=50_000
        Words that may be x or y: so many from the start of the vocabulary, which most files sort
        by falling frequency, or a list. Words without a direction are left out. The time grows
        with the square of their number.
    repeat_words : bool, default=False
        False allows each word once as x and once as y, in the best pair that is left for it, as
        the published code does. True shows all pairs.
    preprocessors : list of dict, optional
        Variants of each word of the criterion and of a list `among`; see
        :class:`wefe.embeddings.Lookup`.
    progress : bool, default=True
        Show a progress bar if it takes long.

    Returns
    -------
    pandas.DataFrame
        By falling score for each two groups, ties in the order of the vocabulary; the columns

        - `first_group`, `second_group`: names of groups;
        - `first`, `second`: x and y, the word towards either group, as the vocabulary has them
          but for its prefix;
        - `score`: cos(g, x - y), above 0, at most 1;
        - `distance`: ||x - y|| of unit vectors;
        - `is_definitional`: whether both are specific words of the criterion, as those of its
          definitional and equalize sets always are: a difference of meaning. Of the other pairs a
          person has to say whether they are a stereotype.

        Fewer than `n` lines where there are fewer pairs.

    Raises
    ------
    TypeError, ValueError
        If an argument is of another type or out of range, the criterion has no direction in the
        model, or fewer than two words are left.

    Notes
    -----
    The other way round is the same analogy: the score of (y, x) is the negative of that of (x, y).

    Score and distance are computed in float64, each pair by itself. Products in float32 only sort
    out pairs that can be none of the best, with a margin larger than their error.

    References
    ----------
    Bolukbasi, Chang, Zou, Saligrama and Kalai, "Man is to Computer Programmer as Woman is to
    Homemaker? Debiasing Word Embeddings", NeurIPS 2016, equation 1.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> analogies = generate_analogies(load_test_model(), n=50, among=5000)
    >>> columns = ["first", "second", "score", "is_definitional"]
    >>> analogies.loc[[0, 1, 2], columns].round(3)
         first   second  score  is_definitional
    0      she       he  0.864             True
    1  herself  himself  0.789             True
    2   female     male  0.781             True
    """
    import pandas as pd

    directions = bias_directions(model, criterion, preprocessors=preprocessors)
    n = check_positive_int("n", n)
    number = isinstance(threshold, int | float | np.number) and not isinstance(threshold, bool)
    if not number or not 0 < threshold <= 2:
        raise ValueError(f"threshold must be a number above 0, at most 2; got {found(threshold)}.")
    check_bool("repeat_words", repeat_words)
    words, vectors = candidates(model, among, preprocessors)
    if len(words) < 2:
        raise ValueError(f"an analogy needs 2 words or more; among has {len(words)} of the model.")
    start = len(model.vocab_prefix or "")
    forms = (form_of(model, word, preprocessors) for word in directions.words)
    specific = {form[start:] for form in forms if form is not None}
    pairs = list(combinations(range(len(directions.groups)), 2))
    lines = []
    with progress_bar(
        len(pairs) * len(words) * (len(words) + 1) // 2, "analogies", "pair", progress
    ) as bar:
        for i, j in pairs:
            direction = directions.towards[i] - directions.towards[j]
            length = float(np.linalg.norm(direction))
            if length < ZERO_LENGTH:
                continue
            best = _Best(n, repeat=repeat_words)
            _search(vectors, direction / length, float(threshold), best, bar)
            x, y, scores, distances = best.result()
            lines.append(
                pd.DataFrame(
                    {
                        "first_group": directions.groups[i],
                        "second_group": directions.groups[j],
                        "first": [words[row] for row in x],
                        "second": [words[row] for row in y],
                        "score": scores,
                        "distance": distances,
                        "is_definitional": [
                            {words[row] for row in pair} <= specific
                            for pair in zip(x, y, strict=True)
                        ],
                    }
                )
            )
    return pd.concat(lines, ignore_index=True)


def candidates(
    model: WordEmbeddingModel, among: int | Sequence[str], preprocessors: Preprocessors | None
) -> tuple[list[str], FloatArray]:
    """Return words, without the prefix of the model, and their vectors as they are stored.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model.
    among : int or sequence of str
        How many words from the start of the vocabulary, or which. Words of a list that the model
        lacks are left out, counted and logged.
    preprocessors : list of dict, optional
        Variants of the words of a list.

    Returns
    -------
    words : list of str
        Words with a direction, each once.
    vectors : ndarray of shape (len(words), dim)
        Their vectors.
    """
    prefix, vocab = model.vocab_prefix or "", model.vocab
    if isinstance(among, int | np.integer) and not isinstance(among, bool):
        count = check_positive_int("among", among)
        if model.held == "selected":
            raise ValueError(
                f"{model.name} was opened for {len(vocab):,} words only, which are not the most "
                "frequent ones; give the words as a list: among=[...]."
            )
        rows = {row: word for word, row in vocab.items() if row < count}
        forms = [rows[row] for row in sorted(rows) if rows[row].startswith(prefix)]
    else:
        words = check_word_set("among", among)
        every = [form_of(model, word, preprocessors) for word in words]
        forms = list(dict.fromkeys(form for form in every if form is not None))
        if None in every:
            lost = [word for word, form in zip(words, every, strict=True) if form is None]
            logger.warning("%s lacks %d words of among: %s", model.name, len(lost), lost)
    of_forms: Rows = np.fromiter((vocab[form] for form in forms), np.intp, len(forms))
    vectors = model.rows(of_forms)
    usable = np.asarray(np.isfinite(vectors).all(axis=1) & vectors.any(axis=1))
    kept = [form[len(prefix) :] for form, good in zip(forms, usable, strict=True) if good]
    return kept, vectors[usable]


def form_of(
    model: WordEmbeddingModel, word: str, preprocessors: Preprocessors | None
) -> str | None:
    """Return the first form of a word that the vocabulary has, with its prefix; or None."""
    forms = variants(word, check_preprocessors(preprocessors), model.vocab_prefix)
    return next((form for form in forms if form in model.vocab), None)


class _Best:
    """The best pairs among those seen so far.

    If words may not repeat, a pair found later can push out two, so that more than n pairs must
    be kept. What scores less than the last of 2 n pairs without a common word may go: pairs that
    score as much allow 2 n of them, so any choice that no pair can be added to has n or more.
    """

    def __init__(self, n: int, *, repeat: bool) -> None:
        self.n, self.repeat = n, repeat
        #: What scores less has no chance.
        self.bar = 0.0
        self._rows = np.empty((2, 0), dtype=np.intp)
        self._values: Vectors = np.empty((2, 0))
        self._pending: list[tuple[npt.NDArray[np.intp], Vectors]] = []
        self._n_pending = 0

    def add(self, rows: npt.NDArray[np.intp], values: Vectors) -> None:
        """Add pairs: rows of x and y; scores and distances."""
        kept = values[0] >= self.bar
        self._pending.append((rows[:, kept], values[:, kept]))
        self._n_pending += int(np.count_nonzero(kept))
        if self._n_pending > max(_PAIRS, 4 * self.n, self._rows.shape[1] // 2):
            self._merge()

    def result(self) -> tuple[list[int], list[int], Vectors, Vectors]:
        """Return x, y, scores and distances of the n best."""
        self._merge()
        best = self._chosen(self.n)
        x, y = self._rows[:, best].tolist()
        return x, y, self._values[0, best], self._values[1, best]

    def _merge(self) -> None:
        rows = np.concatenate([self._rows, *(part[0] for part in self._pending)], axis=1)
        values = np.concatenate([self._values, *(part[1] for part in self._pending)], axis=1)
        order = np.lexsort((rows[1], rows[0], -values[0]))
        self._rows, self._values = rows[:, order], values[:, order]
        self._pending, self._n_pending = [], 0
        wanted = self.n if self.repeat else 2 * self.n
        best = self._chosen(wanted)
        if len(best) == wanted:
            self.bar = float(self._values[0, best[-1]])
            kept = self._values[0] >= self.bar
            self._rows, self._values = self._rows[:, kept], self._values[:, kept]

    def _chosen(self, n: int) -> list[int]:
        """Return the positions of up to n pairs that may stand together, the best first."""
        if self.repeat:
            return list(range(min(n, self._rows.shape[1])))
        used: tuple[set[int], set[int]] = (set(), set())
        chosen = []
        for position, (x, y) in enumerate(zip(*self._rows.tolist(), strict=True)):
            if x not in used[0] and y not in used[1]:
                used[0].add(x)
                used[1].add(y)
                chosen.append(position)
                if len(chosen) == n:
                    break
        return chosen


def _search(
    vectors: FloatArray, direction: Vectors, threshold: float, best: _Best, bar: progress_bar
) -> None:
    """Find the best pairs of rows of vectors."""
    dim = vectors.shape[1]
    projections = np.empty(len(vectors))
    for part in chunks(len(vectors), _PAIRS):
        projections[part] = np.einsum("ij,j->i", unit_vectors(vectors[part])[0], direction)
    # x comes before y in this order, so half of the products is enough.
    order = np.argsort(-projections, kind="stable")
    projections = projections[order]
    units: Units = np.empty(vectors.shape, dtype=np.float32)
    for part in chunks(len(vectors), _PAIRS):
        units[part] = unit_vectors(vectors[order[part]])[0]
    # That of a product of unit vectors in float32, and of the projections beside.
    error = (2 * dim + 16) * 2.0**-24
    least = np.float32(1 - threshold**2 / 2 - error)
    for x_part, y_part in _blocks(len(vectors)):
        cosines = units[x_part] @ units[y_part].T
        mask = cosines >= least
        if best.bar > _BAR_OF_NOTE and np.count_nonzero(mask) > cosines.size // 64:
            # Where many are near enough, sort out pairs that are too far for their difference.
            along = np.subtract.outer(projections[x_part], projections[y_part]).astype(np.float32)
            along /= np.float32(best.bar)
            mask &= cosines >= 1 - along * along / 2 - np.float32(error + 1e-4)
        near = np.flatnonzero(mask)
        x, y = np.divmod(near, cosines.shape[1])
        x, y = x + x_part.start, y + y_part.start
        differences = projections[x] - projections[y]
        shortest = np.sqrt(np.maximum(2 - 2 * (cosines.ravel()[near] + error), 0))
        for part in chunks(len(near), _PAIRS):
            possible = differences[part] + 1e-12 >= best.bar * shortest[part]
            possible &= x[part] < y[part]
            rows = np.stack([order[x[part][possible]], order[y[part][possible]]])
            between = unit_vectors(vectors[rows[0]])[0] - unit_vectors(vectors[rows[1]])[0]
            distances = np.sqrt(np.einsum("ij,ij->i", between, between))
            with np.errstate(invalid="ignore", divide="ignore"):
                scores = np.einsum("ij,j->i", between, direction) / distances
            good = (distances > _SAME) & (distances <= threshold + 1e-12) & (scores > 0)
            best.add(rows[:, good], np.stack([np.minimum(scores, 1.0), distances])[:, good])
        bar.update(cosines.size)


def _blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """Cut the upper triangle of an n x n matrix into blocks."""
    height, width = _BLOCK
    for start in range(0, n, height):
        for left in range(start, n, width):
            yield slice(start, min(start + height, n)), slice(left, min(left + width, n))
