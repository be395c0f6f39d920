"""Analogies that a model generates, and the gender-specific words that a classifier learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, compress
from typing import Any, Literal

import numpy as np
import pandas as pd

from wefe._checks import as_seed, check_positive_int, check_word_set, progress_bar
from wefe.explore._directions import (
    CriterionLike,
    as_criterion,
    bare_words,
    bias_directions,
    look_up,
    own_words,
)
from wefe.metrics._geometry import ZERO_LENGTH, Vectors, unit_rows
from wefe.models._passes import forms, vocabulary_blocks
from wefe.models._search import directions as unit_vectors
from wefe.models._tables import chunks
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.words import Preprocessors

# Number of cosines in a block, which takes 16 MB.
_BLOCK_NUMBERS = 1 << 21
# Unit vectors closer than this are equal except for rounding and form no analogy.
_SAME = 1e-6
_SCORES = ("precision", "recall", "f1")


def generate_analogies(
    model: WordEmbeddingModel,
    criterion: CriterionLike = "gender",
    n: int = 100,
    *,
    threshold: float = 1.0,
    among: int = 50_000,
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
    among : int, default=50_000
        Number of words from the start of the vocabulary (usually the most frequent ones) that x and
        y are chosen from. The time grows with its square.
    preprocessors, progress : optional
        As in :func:`bias_directions`; False hides the progress.

    Returns
    -------
    pandas.DataFrame
        Sorted by descending score for each pair of groups. Each word occurs once as x and once as
        y, in its best remaining pair, as in the published code. The columns are

        - `first_group`, `second_group`, `distance`, and `score`, in (0, 1]
        - `first`, `second`: the words x and y, without the model's prefix
        - `is_definitional`: whether both are specific words of the criterion. Whether another
          pair is a stereotype needs human judgement.

    Raises
    ------
    ValueError
        If the criterion has no direction in the model.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> analogies = generate_analogies(load_test_model(), n=1, among=5000)
    >>> analogies[["first", "second", "score", "is_definitional"]].round(3).values.tolist()
    [['she', 'he', 0.864, True]]
    """
    directions = bias_directions(model, criterion, preprocessors=preprocessors)
    n = check_positive_int("n", n)
    if not 0 < threshold <= 2:
        raise ValueError(f"threshold must be above 0 and at most 2; got {threshold}.")
    words, vectors = _candidates(model, among)
    specific = np.isin(words, look_up(model, [*directions.words], preprocessors).forms)
    units, groups = unit_vectors(vectors)[0], directions.groups
    compared = list(combinations(range(len(groups)), 2))
    parts = list(chunks(len(words), max(1, _BLOCK_NUMBERS // max(1, len(words)))))
    names, lines = np.array(words, dtype=object), []
    with progress_bar(len(compared) * len(parts), "analogies", "block", progress) as bar:
        for i, j in compared:
            direction = directions.towards[i] - directions.towards[j]
            length = float(np.linalg.norm(direction))
            if length < ZERO_LENGTH:
                continue
            projections = units @ (direction / length)
            # x comes before y in this order, so half of the products is enough.
            order = np.argsort(-projections, kind="stable")
            in_order = units[order], projections[order]
            best, least = np.empty((4, 0)), 0.0
            for rows in parts:
                pairs = _pairs(*in_order, threshold, rows)
                pairs[:2] = order[pairs[:2].astype(np.intp)]
                best = np.hstack([best, pairs[:, pairs[2] >= least]])
                best = best[:, np.lexsort((best[1], best[0], -best[2]))]
                # A later pair can replace two. Any choice to which no pair can be added has n or
                # more of 2 n pairs without a common word.
                chosen = _chosen(best, 2 * n)
                if len(chosen) == 2 * n:  # what scores less has no chance
                    least = best[2, chosen[-1]]
                    best = best[:, best[2] >= least]
                bar.update()
            x, y, scores, distances = best[:, _chosen(best, n)]
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


def _candidates(model: WordEmbeddingModel, among: int) -> tuple[list[str], FloatArray]:
    """Return the first words that have a direction, without the model's prefix, and vectors."""
    model.whole_table("a choice of words")
    rows = np.arange(min(check_positive_int("among", among), len(model.vocab)))
    words, own = own_words(model, rows)
    vectors = model.rows(rows[own])
    usable = unit_vectors(vectors)[1]
    return list(compress(words, usable)), vectors[usable]


def _pairs(units: Vectors, projections: Vectors, threshold: float, rows: slice) -> Vectors:
    """Return the pairs of words in `rows` and later ones: x, y, score and distance of each."""
    cosines = units[rows] @ units[rows.start :].T
    i, j = np.nonzero(cosines >= 1 - threshold**2 / 2 - 1e-9)
    x, y, distances = i + rows.start, j + rows.start, np.sqrt(np.maximum(2 - 2 * cosines[i, j], 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        # Rounded, so that copies of a vector tie and the most frequent word comes first.
        scores = np.round((projections[x] - projections[y]) / distances, 12)
    good = (distances > _SAME) & (distances <= threshold + 1e-12) & (scores > 0)
    return np.stack([x, y, scores, distances])[:, good]


def _chosen(pairs: Vectors, n: int) -> list[int]:
    """Return the positions of the best n pairs without repeated words."""
    left, right, chosen = set[float](), set[float](), list[int]()
    for position, (x, y) in enumerate(pairs[:2].T.tolist()):
        if len(chosen) == n:
            break
        if x not in left and y not in right:
            left.add(x)
            right.add(y)
            chosen.append(position)
    return chosen


@dataclass(frozen=True, eq=False, repr=False)
class SpecificWords:
    """Group-specific words found by :func:`learn_specific_words`.

    Attributes
    ----------
    model_name : str
        The model.
    words, lost : tuple of str
        Seed words in the model and words classified as specific, by descending decision value; and
        out-of-vocabulary seed words.
    decisions, is_seed : ndarray of shape (n_words,)
        Decision value (distance from the separating plane, in margins) of each word, and whether it
        is a seed word.
    folds : ndarray of shape (n_folds, 3)
        Precision, recall and F1 for held-out seed words, in [0, 1]; 0 if no word is classified.
    n_train : int
        Number of training words, including seed words.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> specific = learn_specific_words(load_test_model(), n_folds=5)
    >>> specific.n_seed, len(specific.words)
    (232, 244)
    """

    model_name: str
    words: tuple[str, ...]
    decisions: Vectors = field(repr=False)
    is_seed: np.ndarray[Any, np.dtype[np.bool_]] = field(repr=False)
    folds: Vectors = field(repr=False)
    n_train: int
    lost: tuple[str, ...]

    @property
    def n_seed(self) -> int:
        """Number of seed words in the model."""
        return int(self.is_seed.sum())

    def scores(self) -> pd.DataFrame:
        """Return the cross-validated quality of the classifier as a DataFrame.

        Rows 'precision', 'recall' and 'f1'; columns `mean` over the folds, and `lower` and `upper`
        of a 95 % t-interval, cut to [0, 1]. Precision is an underestimate, because specific words
        that are not seed words count as errors.
        """
        from scipy.stats import sem, t

        mean = self.folds.mean(axis=0)
        scale = np.maximum(sem(self.folds), np.finfo(float).tiny)
        ends = t.interval(0.95, len(self.folds) - 1, mean, scale)
        lower, upper = np.clip(ends, 0, 1)
        columns = {"mean": mean, "lower": lower, "upper": upper}
        return pd.DataFrame(columns, index=list(_SCORES))

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame of `word`, `decision` and `is_seed`, by descending decision value."""
        columns = {"word": self.words, "decision": self.decisions, "is_seed": self.is_seed}
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        precision, recall, f1 = self.folds.mean(axis=0)
        return (
            f"<SpecificWords in {self.model_name}: {len(self.words):,} words from {self.n_seed} "
            f"seed words, held-out F1 {f1:.2f} (precision {precision:.2f}, recall {recall:.2f})>"
        )


def learn_specific_words(
    model: WordEmbeddingModel,
    seed_words: Sequence[str] | None = None,
    *,
    criterion: CriterionLike = "gender",
    among: int = 50_000,
    C: float = 1.0,
    class_weight: Literal["balanced"] | None = None,
    n_folds: int = 10,
    preprocessors: Preprocessors | None = None,
    random_state: int | np.random.Generator | None = 0,
    progress: bool = True,
) -> SpecificWords:
    """Find all words of a vocabulary that resemble some group-specific words.

    A linear support vector machine separates the unit vectors of the seed words from those of other
    words (Bolukbasi et al., NeurIPS 2016, section 7 and appendix C). Review the words that it
    classifies as specific before use: names and stereotypes similar to the seed words may be among
    them, especially with few other training words or ``class_weight='balanced'``.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model with its whole vocabulary.
    seed_words : sequence of str, optional
        Specific words, such as 'actress'. Use many different ones. Default: those of `criterion`.
    criterion : str, Criterion, mapping or sequence of tuples, default='gender'
        As in :func:`bias_directions`.
    among : int, default=50_000
        Number of words from the start of the vocabulary that count as not specific in training,
        unless they are seed words.
    C : float, default=1.0
        Weight of training errors, above 0.
    class_weight : {'balanced'}, optional
        'balanced' weights errors by the rarity of their class: recall rises, precision falls.
    n_folds : int, default=10
        Number of cross-validation folds, at least 2.
    preprocessors : list of dict, optional
        Variants of the seed words; see :class:`wefe.embeddings.Lookup`.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the folds and the solver.
    progress : bool, default=True
        Whether to show a progress bar if it takes long.

    Returns
    -------
    SpecificWords
        The words, and the cross-validated quality of the classifier.

    Raises
    ------
    ValueError
        If only some words of the model are loaded, or a class has fewer words than there are folds.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> learn_specific_words(load_test_model(), n_folds=5).scores()["mean"].round(2).to_dict()
    {'precision': 0.81, 'recall': 0.58, 'f1': 0.67}
    """
    from sklearn.metrics import precision_recall_fscore_support
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import LinearSVC

    if seed_words is None:
        seed_words = as_criterion(criterion).specific_words
    seeds = check_word_set("seed_words", seed_words)
    seed = as_seed(random_state)
    given = look_up(model, seeds, preprocessors, "seed words")
    known = set(given.forms)
    words, vectors = _candidates(model, among)
    beside = sorted(forms(model, known.difference(words)), key=model.vocab.__getitem__)
    if beside:
        vectors = np.concatenate([vectors, model.get_vectors(beside)])
        words = [*words, *bare_words(model, beside)]
    labels = pd.Index(words).isin(known)
    if min(labels.sum(), (~labels).sum()) < check_positive_int("n_folds", n_folds):
        raise ValueError(
            f"n_folds={n_folds} needs at least {n_folds} seed words and {n_folds} other words; "
            f"{model.name} has {int(labels.sum())} and {int((~labels).sum())}. Use fewer folds or "
            "more words."
        )
    units = unit_rows(vectors.astype(np.float64))

    weights: dict[str, Any] = {"C": C, "class_weight": class_weight, "random_state": seed}
    machine = LinearSVC(dual="auto", max_iter=10_000, **weights)
    parts = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    scored, folds = partial(precision_recall_fscore_support, average="binary", zero_division=0), []
    with progress_bar(n_folds, "specific words", "fold", progress) as bar:
        for train, test in parts.split(units, labels):
            found = machine.fit(units[train], labels[train]).predict(units[test])
            folds.append(scored(labels[test], found)[:3])
            bar.update()
    machine.fit(units, labels)
    decisions = np.empty(len(model.vocab))
    for rows, block in vocabulary_blocks(model):
        units = unit_rows(block.astype(np.float64))
        decisions[rows] = units @ machine.coef_[0] + machine.intercept_[0]
    every, own = own_words(model, np.arange(len(model.vocab)))
    table = pd.DataFrame({"word": every, "decision": decisions[own]})
    table["is_seed"] = table["word"].isin(known)
    table = table[table["is_seed"] | (table["decision"] > 0)]
    table = table.sort_values("decision", ascending=False, kind="stable")
    return SpecificWords(
        model.name,
        tuple(table["word"]),
        table["decision"].to_numpy(),
        table["is_seed"].to_numpy(),
        np.array(folds),
        len(words),
        given.lost,
    )
