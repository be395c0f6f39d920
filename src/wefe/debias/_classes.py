"""Erase what predicts the classes: INLP (ACL 2020) and LEACE (NeurIPS 2023)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import check_array, check_choice, logger
from wefe.datasets import Criterion
from wefe.debias._base import (
    NotNegative,
    OptionalCount,
    OptionalShare,
    RowwiseDebias,
    class_columns,
    fits,
    flattened,
    rows_of,
    words_of_classes,
)
from wefe.debias._projection import Erasure, Vectors, remove
from wefe.embeddings import definitional_vectors
from wefe.metrics._declaration import Count, RandomState
from wefe.metrics._geometry import unit_rows
from wefe.metrics._projection import group_directions
from wefe.metrics._recovery import Labels, Members
from wefe.models._passes import bare_words, most_associated, vocabulary_cosines
from wefe.models._word_embedding_model import WordEmbeddingModel

#: The class of words that lean to none of the others.
NEUTRAL = "neutral"
# Fewer words have no variance, and leave none to hold out.
_FEWEST = 2


#: Class name -> its words that the model has; their vectors, class by class; their classes.
WordClasses: TypeAlias = tuple[dict[str, list[str]], Vectors, Labels]


def look_up(model: WordEmbeddingModel, words_by_class: Mapping[str, Sequence[str]]) -> WordClasses:
    """Look up the words of each class: at least two found, none in two classes."""
    parts = words_of_classes(model, "words_by_class", words_by_class, _FEWEST)
    kept = {name: bare_words(model, part.words) for name, part in parts.items()}
    twice = [word for word, n in Counter(chain(*kept.values())).items() if n > 1]
    if twice:
        raise ValueError(
            f"{twice[0]!r} is in two classes. Leave it out of one of them ({', '.join(kept)})."
        )
    labels = np.repeat(np.arange(len(parts)), [*map(len, parts.values())])
    return kept, np.concatenate([part.vectors for part in parts.values()]), labels


class _ClassDebias(RowwiseDebias):
    """Learns what predicts the classes of words, which `_learn` erases."""

    n_words: int | None
    neutral: bool = False

    @property
    def _fit_reads_vocabulary(self) -> bool:  # type: ignore[override]
        return self.n_words is not None

    @fits()
    def fit(
        self,
        model: WordEmbeddingModel,
        definitional_sets: Sequence[Sequence[str]] | None = None,
        words_by_class: Mapping[str, Sequence[str]] | None = None,
        *,
        criterion: Criterion | str | None = None,
        **fit_params: Any,
    ) -> Self:
        """Learn from the words of each class.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to learn from. With `n_words` it needs its whole vocabulary, unless you give
            `words_by_class`.
        definitional_sets : sequence of sequences of str
            Words that differ only in the class, in the same order of classes: ``[["woman", "man"],
            ["she", "he"]]``. The method learns from them and from the `n_words` words with the
            largest projections onto the axis of each class: for two classes the first principal
            component of the pairs and its opposite, for more the mean of the class minus the mean
            of all. Sets with a missing word do not count for the axes.
        words_by_class : mapping from str to sequence of str, optional
            Class name -> words: learn only from these. At least two words of each class must be
            found, and none may be in two classes. Missing words are logged.
        """
        if words_by_class is None:
            self._require(definitional_sets=definitional_sets)
            sets = self._check_sets_size(definitional_sets, "definitional", None)
            # Names are those of the sets of a criterion, which `fits` loaded, not of other sets.
            own = criterion if isinstance(criterion, Criterion) else None
            names = own.class_names if own and own.definitional_sets is definitional_sets else ()
            words_by_class = self._word_classes(model, sets, names)
        self.words_by_class_, vectors, labels = look_up(model, words_by_class)
        self._learn(model.name, vectors, labels)
        return self

    def _word_classes(
        self, model: WordEmbeddingModel, sets: Sequence[tuple[str, ...]], names: Sequence[str]
    ) -> dict[str, list[str]]:
        """Find `n_words` words of each class as :meth:`fit` says, after the definitional ones.

        A word found for two classes goes to the larger product; `neutral` words have the smallest.
        """
        columns = class_columns(sets)
        names = names or [f"class {i}" for i in range(len(columns))]
        words = {name: list(column) for name, column in zip(names, columns, strict=True)}
        if self.n_words is None:
            return words
        if self.neutral and NEUTRAL in words:
            raise ValueError(f"a class is called {NEUTRAL!r}; rename it, or use neutral=False.")
        most = min(self.n_words, len(model.vocab) // (len(columns) + 1))
        if most < self.n_words:
            logger.warning(
                "%s: %d words of each class are used, not %d, because it has %d words",
                *(model.name, most, self.n_words, len(model.vocab)),
            )
        complete = definitional_vectors(model, sets, "definitional_sets")
        axes = group_directions(list(np.stack([part.vectors for part in complete], axis=1)))
        sides = most_associated(model, axes, most, flattened(columns))
        reach = np.zeros((len(model.vocab), len(axes)))
        for axis, (rows, products) in enumerate(sides):
            reach[rows, axis] = products
        for axis, (name, (rows, products)) in enumerate(zip(names, sides, strict=True)):
            own = rows[(products > 0) & (reach[rows].argmax(axis=1) == axis)]
            words[name] += bare_words(model, model.table.words_at(own))
        if self.neutral:
            products = np.abs(vocabulary_cosines(model, axes)).max(axis=1)
            products[[*rows_of(model, flattened(words)).values()]] = np.inf
            least = np.argsort(products, kind="stable")[:most]
            least = least[np.isfinite(products[least])]
            words[NEUTRAL] = bare_words(model, model.table.words_at(least))
        return words

    @abstractmethod
    def _learn(self, name: str, vectors: Vectors, labels: Labels) -> None:
        """Set `map_` and `projection_`; `vectors` may change."""


# Share of the words of each class that classifiers are not trained on.
_HELD_OUT = 0.25
# A new direction with less than this outside of those removed already is rounding noise.
_NEW = 1e-4


@dataclass(eq=False, repr=False)
class INLP(_ClassDebias):
    """Iterative null-space projection: remove the directions by which classifiers find the class.

    INLP repeats: train a linear classifier on the projected vectors, add its weights (one direction
    for two classes) to the directions to remove, project again. It stops when a classifier (a
    support vector machine with squared hinge loss, on vectors divided by their root mean square
    length) does no better than chance. Vectors become shorter. Source: Ravfogel et al., Null It
    Out: Guarding Protected Attributes by Iterative Nullspace Projection, ACL 2020.

    Parameters
    ----------
    n_iterations : int, default=35
        Maximum number of classifiers; 35 as in the paper.
    n_words : int, default=7500
        Words to find for each class, see :meth:`fit`. At most a third of the vocabulary with two
        classes, a quarter with three, and so on.
    min_accuracy : float in [0, 1], optional
        Stop when the accuracy on held-out words does not exceed it; by default the share of the
        largest class plus one standard error.
    neutral : bool, default=True
        Add a class of words associated with no class, as in the paper. False removes less.
    random_state : int, numpy.random.Generator or None, default=0
        Chooses the held-out words, a quarter of each class.

    Attributes
    ----------
    projection_, directions_ : ndarray of shape (dim, dim) and (n_directions, dim)
        The symmetric, idempotent projection, and the orthonormal directions that it removes.
    accuracies_ : ndarray of shape (n_classifiers,)
        Held-out accuracy of each classifier; the last one follows the last removal.
    words_by_class_ : dict
        Class name -> the words learned from.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> method = INLP(n_words=500, neutral=False).fit(load_test_model(), [("she", "he")])
    >>> method.accuracies_[[0, -1]].round(1)  # from perfect to chance
    array([1. , 0.5])
    """

    pca_args: ClassVar[None] = None  # type: ignore[misc]  # no parameter: it has no PCA
    n_iterations: Count = 35
    n_words: Count = 7500
    min_accuracy: OptionalShare = None
    neutral: bool = True
    random_state: RandomState = 0

    def _learn(self, name: str, vectors: Vectors, labels: Labels) -> None:
        self.directions_, accuracies, limit = self._found(vectors, labels)
        self.accuracies_: Vectors = np.array(accuracies)
        self.map_ = Erasure(self.directions_, self.directions_)
        self.projection_: Vectors = self.map_.matrix
        if not len(self.directions_):
            logger.warning(
                "%s: no classifier separates the classes of held-out words (accuracy %.3f, limit "
                "%.3f), so nothing is removed",
                *(name, accuracies[0], limit),
            )
        self._log(
            "%s: %d directions; held-out accuracy %.3f, before %.3f",
            *(name, len(self.directions_), accuracies[-1], accuracies[0]),
        )

    def _found(self, vectors: Vectors, labels: Labels) -> tuple[Vectors, list[float], float]:
        """Return orthonormal directions, accuracies, and their limit; `vectors` change in place."""
        from sklearn.svm import LinearSVC

        held_out = _held_out(labels, np.random.default_rng(self.random_state))
        limit = _chance(labels[held_out]) if self.min_accuracy is None else self.min_accuracy
        vectors /= math.sqrt(float(np.einsum("ij,ij->", vectors, vectors)) / len(vectors))
        order = np.argsort(held_out, kind="stable")
        vectors[:] = vectors[order]
        labels, n_train = labels[order], int((~held_out).sum())
        dim = vectors.shape[1]
        basis = np.empty((0, dim))
        accuracies: list[float] = []
        while True:
            # The primal problem: exact, quick for more words than dims, and without random order.
            # But without a seed the global generator would be advanced.
            classifier = LinearSVC(dual=False, random_state=0).fit(
                remove(vectors[:n_train], basis), labels[:n_train]
            )
            score = classifier.score(remove(vectors[n_train:], basis), labels[n_train:])
            accuracies.append(float(score))
            if accuracies[-1] <= limit or len(accuracies) > self.n_iterations:
                break
            new = _outside(classifier.coef_, basis)
            if not len(new):
                break
            if len(basis) + len(new) >= dim:
                logger.warning(
                    "the classes can still be told apart (accuracy %.3f), but all %d dims would be "
                    "removed; %d are, learn from more words",
                    *(accuracies[-1], dim, len(basis)),
                )
                break
            basis = np.concatenate([basis, new])
        return basis, accuracies, limit


def _held_out(labels: Labels, rng: np.random.Generator) -> Members:
    """Choose a share of each class, at least one word and never all."""
    held_out = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        places = rng.permutation(np.flatnonzero(labels == label))
        held_out[places[: max(1, int(_HELD_OUT * len(places)))]] = True
    return held_out


def _chance(labels: Labels) -> float:
    share = float(np.bincount(labels).max() / len(labels))
    return share + math.sqrt(share * (1 - share) / len(labels))


def _outside(weights: Vectors, basis: Vectors) -> Vectors:
    """Return orthonormal directions of the part of unit weights outside a basis."""
    units = unit_rows(weights)
    units = units[~np.isnan(units[:, 0])]
    _, singular, rows = np.linalg.svd(remove(units, basis), full_matrices=False)
    new = remove(rows[singular > _NEW], basis)
    return unit_rows(new)


Method = Literal["leace", "orth"]


def leace_map(
    x: npt.ArrayLike,
    z: npt.ArrayLike,
    *,
    method: Method = "leace",
    affine: bool = True,
    shrinkage: bool = True,
    svd_tol: float = 0.01,
) -> Erasure:
    """Fit the smallest map after which vectors are uncorrelated with a concept.

    With S the covariance of x, C that of x and z, and W = S^(-1/2), the columns of W C span the
    erased subspace (Belrose et al., NeurIPS 2023). For its orthonormal basis U, P = I - W^+ U U' W
    and r(x) = mean + P (x - mean).

    Parameters
    ----------
    x : array-like of shape (n_words, dim)
        Vectors of at least two words.
    z : array-like of shape (n_words, n_columns), or (n_words,)
        The concept, for example a column of 0 and 1 per class.
    method : {'leace', 'orth'}, default='leace'
        'leace' changes the vectors least (least squares); 'orth' projects orthogonally to C.
    affine : bool, default=True
        Whether to preserve the mean of the vectors. False leaves out the shift.
    shrinkage : bool, default=True
        Replace S by its optimal linear shrinkage towards (trace S / dim) I (Bodnar et al. 2014),
        which matters with few words per dimension.
    svd_tol : float, default=0.01
        Singular values up to it count as noise; with a column of 0 and 1 and an exact S they are at
        most 0.5, and for 'orth' those of vectors with a mean variance of 1.

    Returns
    -------
    Erasure
        A function of vectors, with the attributes `reads` and `writes` (n_directions, dim), empty
        if vectors are already uncorrelated, `shift` (dim,) and `matrix` (dim, dim).

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [2.0, 1.0], [-1.0, 0.0], [0.0, 1.0]])
    >>> erased = leace_map(x, [0, 0, 1, 1], shrinkage=False)(x)
    >>> print(f"{abs(erased[:2].mean(axis=0) - erased[2:].mean(axis=0)).max():.6f}")
    0.000000
    """
    wide = check_array("x", x, "(n_words, dim)")
    concept = check_array("z", z, "(n_words,) or (n_words, n_classes)")
    concept = concept.reshape(len(concept), -1)
    check_choice("method", method, ("leace", "orth"))
    mean = wide.mean(axis=0)
    centred = wide - mean
    covariance = centred.T @ centred / (len(wide) - 1)
    cross = centred.T @ (concept - concept.mean(axis=0)) / (len(wide) - 1)
    average = float(np.trace(covariance)) / len(mean)
    if not average > 0:
        raise ValueError("all vectors of x are equal, so they have no component to erase.")
    if shrinkage:
        covariance = _shrunk(covariance, len(wide))
    if method == "orth":
        covariance = average * np.eye(len(mean))
    variances, axes = np.linalg.eigh(covariance)
    real = variances > variances[-1] * len(mean) * np.finfo(float).eps
    axes, scales = axes[:, real], np.sqrt(variances[real])
    whiten, unwhiten = (axes / scales) @ axes.T, (axes * scales) @ axes.T
    columns, singular, _ = np.linalg.svd(whiten @ cross, full_matrices=False)
    u = columns[:, singular > svd_tol]
    reads, writes = u.T @ whiten, (unwhiten @ u).T
    shift = (mean @ reads.T) @ writes if affine else np.zeros(len(mean))
    return Erasure(reads, writes, shift)


def _shrunk(covariance: Vectors, n_words: int) -> Vectors:
    """Return a S + (1 - a) (trace S / dim) I, the optimal linear shrinkage of a covariance S."""
    dim = len(covariance)
    trace = float(np.trace(covariance))
    spread = float((covariance**2).sum()) - trace**2 / dim
    if spread <= 0:
        return covariance
    # Few words may yield a weight below 0, with which the result would be no covariance.
    weight = max(0.0, 1 - trace**2 / n_words / spread)
    return weight * covariance + (1 - weight) * trace / dim * np.eye(dim)


@dataclass(eq=False, repr=False)
class LEACE(_ClassDebias):
    """Least-squares concept erasure: the smallest change that hides classes from linear models.

    On the words learned from, every class gets the same mean, so no linear model predicts the class
    better than a constant. Among the affine maps with this property, LEACE changes the words least:
    for k classes it removes k - 1 directions, obliquely (:func:`leace_map`). Other words may keep
    an association, and nonlinear classifiers may find it in all words. Source: Belrose et al.,
    LEACE: Perfect linear concept erasure in closed form, NeurIPS 2023.

    Parameters
    ----------
    method, affine, shrinkage, svd_tol : optional
        See :func:`leace_map`; `shrinkage` is needed with fewer words than dimensions.
    n_words : int, optional
        Words to find for each class, as in :class:`INLP`, besides the definitional ones. By default
        none, so linear models still recognise the class of other words; 500 or more hide it there.

    Attributes
    ----------
    map_, projection_, shift_ : Erasure, ndarray of shape (dim, dim) and (dim,)
        The map x -> P x + shift; P, idempotent, and symmetric only for 'orth'; and the shift.
    words_by_class_ : dict
        Class name -> the words learned from.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> LEACE().fit(load_test_model(), [("she", "he"), ("woman", "man")]).map_.reads.shape
    (1, 256)
    """

    pca_args: ClassVar[None] = None  # type: ignore[misc]  # no parameter: it has no PCA
    method: Method = "leace"
    affine: bool = True
    shrinkage: bool = True
    svd_tol: NotNegative = 0.01
    n_words: OptionalCount = None

    def _learn(self, name: str, vectors: Vectors, labels: Labels) -> None:
        self.map_ = leace_map(
            *(vectors, np.eye(len(self.words_by_class_))[labels]),
            method=self.method,
            affine=self.affine,
            shrinkage=self.shrinkage,
            svd_tol=self.svd_tol,
        )
        self.projection_: Vectors = self.map_.matrix.T
        self.shift_: Vectors = self.map_.shift
        if not len(self.map_.reads):
            logger.warning("%s: no linear model separates the classes, so nothing is erased", name)
        self._log(
            "%s: %d directions erased, learned from %d words",
            *(name, len(self.map_.reads), len(labels)),
        )
