"""Learn which words rightly belong to a group, from some of them (Bolukbasi et al., 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wefe._checks import (
    as_seed,
    check_between,
    check_choice,
    check_number,
    check_positive_int,
    check_word_set,
)
from wefe._progress import progress_bar
from wefe.explore._analogies import candidates
from wefe.explore._directions import CriterionLike, as_criterion
from wefe.explore._lookup import look_up
from wefe.explore._projections import bare_words
from wefe.metrics._geometry import Vectors, unit_rows
from wefe.models._passes import vocabulary_blocks
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.words import Preprocessors

if TYPE_CHECKING:
    import pandas as pd

_SCORES = ("precision", "recall", "f1")


@dataclass(frozen=True, eq=False, repr=False)
class SpecificWords:
    """Words that a classifier labels as specific: the result of :func:`learn_specific_words`.

    Attributes
    ----------
    model_name : str
        The model.
    words : tuple of str
        The seed words that the model has and all words classified as specific, by falling
        decision value.
    decisions : ndarray of shape (n_words,)
        Their decision values: distance from the plane between the classes, of a margin of 1.
    is_seed : ndarray of bool of shape (n_words,)
        Whether each was given.
    folds : ndarray of shape (n_folds, 3)
        Precision, recall and F1 for the seed words in each part held out, in [0, 1]; 0 where
        nothing is classified as specific.
    n_train : int
        Words that were learned from, seed words included.
    lost : tuple of str
        Seed words that the model lacks.
    threshold, confidence_level : float
        As given.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> specific = learn_specific_words(load_test_model(), n_folds=5)
    >>> specific.n_seed, specific.lost, list(specific.scores())
    (232, (), ['mean', 'lower', 'upper'])
    """

    model_name: str
    words: tuple[str, ...]
    decisions: Vectors = field(repr=False)
    is_seed: np.ndarray[Any, np.dtype[np.bool_]] = field(repr=False)
    folds: Vectors = field(repr=False)
    n_train: int
    lost: tuple[str, ...]
    threshold: float
    confidence_level: float

    @property
    def n_seed(self) -> int:
        """Number of seed words that the model has."""
        return int(self.is_seed.sum())

    def scores(self) -> pd.DataFrame:
        """Return how well the classifier separates seed words from others, by cross-validation.

        Returns
        -------
        pandas.DataFrame
            A line for 'precision', 'recall' and 'f1': `mean` over the parts held out, and `lower`
            and `upper` of a t-interval, cut to [0, 1]. Specific words that are no seed words count
            as errors, so precision is an underestimate.
        """
        import pandas as pd
        from scipy.stats import sem, t

        mean = self.folds.mean(axis=0)
        scale = np.maximum(sem(self.folds), np.finfo(float).tiny)
        ends = t.interval(self.confidence_level, len(self.folds) - 1, mean, scale)
        lower, upper = np.clip(ends, 0, 1)
        columns = {"mean": mean, "lower": lower, "upper": upper}
        return pd.DataFrame(columns, index=list(_SCORES))

    def to_frame(self) -> pd.DataFrame:
        """Return the words as a table, for example to review them before use.

        Returns
        -------
        pandas.DataFrame
            `word`, `decision` and `is_seed` of each word, by falling decision value.
        """
        import pandas as pd

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
    threshold: float = 0.0,
    n_folds: int = 10,
    confidence_level: float = 0.95,
    preprocessors: Preprocessors | None = None,
    random_state: int | np.random.Generator | None = 0,
    progress: bool = True,
) -> SpecificWords:
    """Find all words of a vocabulary that resemble some group-specific words.

    A linear support vector machine tells the unit vectors of the seed words from those of other
    words. What it takes for specific in the whole vocabulary joins the seed words.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model that has its whole vocabulary.
    seed_words : sequence of str, optional
        Words that are specific, such as 'actress': as many, and as different, as possible.
    criterion : str, Criterion, mapping or sequence of tuples, default='gender'
        Its specific words are the seed words, if none are given.
    among : int or sequence of str, default=50_000
        Words that count as not specific in training, unless they are seed words: so many from
        the start of the vocabulary, which most files sort by falling frequency, or a list.
    C : float, default=1.0
        How much errors in training weigh, above 0.
    class_weight : {'balanced'}, optional
        'balanced' weighs errors of either class by how rare it is: recall rises, precision falls.
    threshold : float, default=0.0
        Least decision value of a specific word, exclusive. A larger one is stricter.
    n_folds : int, default=10
        Parts for the cross-validation, at least 2.
    confidence_level : float, default=0.95
        Of the intervals of precision, recall and F1.
    preprocessors : list of dict, optional
        Variants of each seed word and of a list `among`; see :class:`wefe.embeddings.Lookup`.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the parts and of the solver.
    progress : bool, default=True
        Show a progress bar if it takes long.

    Returns
    -------
    SpecificWords
        The words, and how well the classifier tells seed words that it has not seen.

    Raises
    ------
    TypeError, ValueError
        If an argument is of another type or out of range, the model was opened for some words
        only, or it has fewer words of either class than there are parts.

    Notes
    -----
    Read the words before you use them: names, and stereotypes near to the seed words, may be among
    them, and more so if it learned from few other words, or with ``class_weight='balanced'``.

    References
    ----------
    Bolukbasi et al., NeurIPS 2016, section 7 and appendix C; see :func:`bias_directions`.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_criterion
    >>> model, gender = load_test_model(), load_criterion("gender", offline=True)
    >>> specific = learn_specific_words(model, criterion=gender, n_folds=5)
    >>> specific
    <SpecificWords in minilm-words: 244 words from 232 seed words, held-out F1 0.67 (precision \
0.81, recall 0.58)>
    >>> [word for word in specific.words if word not in gender.specific_words][:3]
    ['feminine', 'bros', 'feminist']
    """
    from sklearn.metrics import precision_recall_fscore_support
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import LinearSVC

    if seed_words is None:
        seed_words = as_criterion(criterion).specific_words
    seeds = check_word_set("seed_words", seed_words)
    C = check_number("C", C)
    if C <= 0:
        raise ValueError(f"C must be above 0; got {C}.")
    threshold = check_number("threshold", threshold)
    if class_weight is not None:
        check_choice("class_weight", class_weight, ("balanced",))
    if check_positive_int("n_folds", n_folds) < 2:
        raise ValueError("n_folds must be at least 2, as one part is held out; got 1.")
    check_between("confidence_level", confidence_level, 0.95)
    seed = as_seed(random_state)
    prefix = model.vocab_prefix or ""
    given = look_up(model, seeds, preprocessors)
    given.log(model, "seed words")
    known = set(given.forms)
    words, vectors = candidates(model, among, preprocessors)
    beside = sorted(known.difference(words), key=lambda word: model.vocab[prefix + word])
    if beside:
        vectors = np.concatenate([vectors, model.get_vectors([prefix + word for word in beside])])
        words = [*words, *beside]
    labels = np.array([word in known for word in words])
    fewest = int(min(labels.sum(), (~labels).sum()))
    if fewest < n_folds:
        raise ValueError(
            f"{int(labels.sum())} seed words and {int((~labels).sum())} other words of "
            f"{model.name} are too few for n_folds={n_folds}: each part needs one of both."
        )
    units = unit_rows(vectors.astype(np.float64))

    weights: dict[str, Any] = {"C": C, "class_weight": class_weight, "random_state": seed}
    machine = LinearSVC(dual="auto", max_iter=10_000, **weights)
    folds = []
    parts = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    with progress_bar(n_folds + 1, "specific words", "classifier", progress) as bar:
        for train, test in parts.split(units, labels):
            machine.fit(units[train], labels[train])
            decided = machine.decision_function(units[test]) > threshold
            folds.append(
                precision_recall_fscore_support(
                    labels[test], decided, average="binary", zero_division=0
                )[:3]
            )
            bar.update()
        machine.fit(units, labels)
        bar.update()
    decisions = np.empty(len(model.vocab))
    for rows, block in vocabulary_blocks(model):
        units = unit_rows(block.astype(np.float64))
        decisions[rows] = units @ machine.coef_[0] + machine.intercept_[0]
    own = np.array([form.startswith(prefix) for form in model.vocab])
    bare = np.array(bare_words(model, list(model.vocab)), dtype=object)
    seed_rows = np.isin(bare, list(known))
    chosen = np.flatnonzero(own & ((decisions > threshold) | seed_rows))
    chosen = chosen[np.argsort(-decisions[chosen], kind="stable")]
    return SpecificWords(
        model.name,
        tuple(bare[chosen]),
        decisions[chosen],
        seed_rows[chosen],
        np.array(folds),
        len(words),
        given.lost,
        threshold,
        float(confidence_level),
    )
