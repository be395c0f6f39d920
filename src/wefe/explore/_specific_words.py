"""Learn which words rightly belong to a group from examples (Bolukbasi et al., 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from wefe._checks import as_seed, check_positive_int, check_word_set
from wefe._progress import progress_bar
from wefe.explore._analogies import candidates
from wefe.explore._directions import CriterionLike, as_criterion
from wefe.explore._lookup import bare_words, look_up, own_words
from wefe.metrics._geometry import Vectors, unit_rows
from wefe.models._passes import forms, vocabulary_blocks
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.words import Preprocessors

_SCORES = ("precision", "recall", "f1")


@dataclass(frozen=True, eq=False, repr=False)
class SpecificWords:
    """Group-specific words found by :func:`learn_specific_words`.

    Attributes
    ----------
    model_name : str
        The model.
    words : tuple of str
        The seed words in the model and all words classified as specific, by descending decision
        value.
    decisions, is_seed : ndarray of shape (n_words,)
        Decision value (distance from the separating plane, in margins) of each word, and whether it
        is a seed word.
    folds : ndarray of shape (n_folds, 3)
        Precision, recall and F1 for held-out seed words, in [0, 1]; 0 if no word is classified as
        specific.
    n_train : int
        Number of training words, including seed words.
    lost : tuple of str
        Out-of-vocabulary seed words.

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
    among: int | Sequence[str] = 50_000,
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
    among : int or sequence of str, default=50_000
        Words that count as not specific in training, unless they are seed words; as in
        :func:`generate_analogies`.
    C : float, default=1.0
        Weight of training errors, above 0.
    class_weight : {'balanced'}, optional
        'balanced' weights errors by the rarity of their class: recall rises, precision falls.
    n_folds : int, default=10
        Number of cross-validation folds, at least 2.
    preprocessors : list of dict, optional
        Variants of the seed words and of `among`; see :class:`wefe.embeddings.Lookup`.
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
    words, vectors = candidates(model, among, preprocessors)
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
