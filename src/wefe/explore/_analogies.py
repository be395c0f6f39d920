"""Analogies that a model generates, and the gender-specific words that a classifier learns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, compress

import numpy as np
import pandas as pd

from wefe._checks import as_seed, check_positive_int, check_word_set, progress_bar
from wefe.explore._directions import CriterionLike, bias_directions, look_up, own_words
from wefe.metrics._geometry import ZERO_LENGTH, Vectors, unit_rows
from wefe.models._passes import bare_words, forms, vocabulary_cosines
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
    criterion : str, Criterion, sequence of tuples, or BiasDirections, default='gender'
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
    specific = np.isin(
        words, look_up(model, directions.criterion.specific_words, preprocessors).forms
    )
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
    vectors = model.table.rows(rows[own])
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


def learn_specific_words(
    model: WordEmbeddingModel,
    seed_words: Sequence[str],
    *,
    among: int = 50_000,
    n_folds: int = 10,
    preprocessors: Preprocessors | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Find all words of a vocabulary that resemble some group-specific words.

    A linear support vector machine separates the unit vectors of the seed words from those of other
    words (Bolukbasi et al., NeurIPS 2016, section 7 and appendix C). Review the words that it
    classifies as specific before use: names and stereotypes similar to the seed words may be among
    them, especially with few other training words.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model with its whole vocabulary.
    seed_words : sequence of str
        Specific words, such as 'actress' or the `specific_words` of a criterion. Use many different
        ones; those that the model lacks are logged.
    among : int, default=50_000
        Number of words from the start of the vocabulary that count as not specific in training,
        unless they are seed words.
    n_folds : int, default=10
        Number of cross-validation folds, at least 2.
    preprocessors : list of dict, optional
        Variants of the seed words; see :class:`wefe.embeddings.Lookup`.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the folds and the solver.

    Returns
    -------
    words : pandas.DataFrame
        Seed words and words classified as specific: `word`, `decision` (distance from the
        separating plane, in margins; descending) and `is_seed`.
    scores : pandas.DataFrame
        How well the classifier finds held-out seed words, in [0, 1]. Rows 'precision', 'recall' and
        'f1'; columns `mean` over the folds, and `lower` and `upper` of a 95 % t-interval. Precision
        is an underestimate, because specific words that are not seed words count as errors.

    Raises
    ------
    ValueError
        If only some words of the model are loaded, or a class has fewer words than there are folds.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_criterion
    >>> seed_words = load_criterion("gender", offline=True).specific_words
    >>> words, scores = learn_specific_words(load_test_model(), seed_words, n_folds=5)
    >>> len(words), scores["mean"].round(2).to_dict()
    (244, {'precision': 0.81, 'recall': 0.58, 'f1': 0.67})
    """
    from scipy.stats import sem, t
    from sklearn.model_selection import StratifiedKFold, cross_validate
    from sklearn.svm import LinearSVC

    seeds, seed = check_word_set("seed_words", seed_words), as_seed(random_state)
    known = set(look_up(model, seeds, preprocessors, "seed words").forms)
    words, vectors = _candidates(model, among)
    rare = sorted(forms(model, known.difference(words)), key=model.vocab.__getitem__)
    vectors = np.concatenate([vectors, model.get_vectors(rare)])
    words += bare_words(model, rare)
    labels = pd.Index(words).isin(known)
    if min(labels.sum(), (~labels).sum()) < check_positive_int("n_folds", n_folds):
        raise ValueError(
            f"n_folds={n_folds} needs at least {n_folds} seed words and {n_folds} other words; "
            f"{model.name} has {int(labels.sum())} and {int((~labels).sum())}. Use fewer folds or "
            "more words."
        )
    units = unit_rows(vectors.astype(np.float64))
    machine = LinearSVC(dual="auto", max_iter=10_000, random_state=seed)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    found = cross_validate(machine, units, labels, cv=folds, scoring=_SCORES)
    of_folds = pd.DataFrame({name: found[f"test_{name}"] for name in _SCORES})
    mean, error = of_folds.mean(), np.maximum(sem(of_folds), np.finfo(float).tiny)
    lower, upper = np.clip(t.interval(0.95, n_folds - 1, mean, error), 0, 1)
    machine.fit(units, labels)
    along = vocabulary_cosines(model, machine.coef_)[:, 0].astype(np.float64)
    decisions = along * np.linalg.norm(machine.coef_) + machine.intercept_[0]
    every, own = own_words(model, np.arange(len(model.vocab)))
    table = pd.DataFrame({"word": every, "decision": decisions[own]})
    table["is_seed"] = table["word"].isin(known)
    table = table[table["is_seed"] | (table["decision"] > 0)]
    table = table.sort_values("decision", ascending=False, kind="stable", ignore_index=True)
    return table, pd.DataFrame({"mean": mean, "lower": lower, "upper": upper})
