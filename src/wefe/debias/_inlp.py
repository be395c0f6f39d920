"""Iterative null-space projection (Ravfogel, Elazar, Gonen, Twiton and Goldberg, ACL 2020)."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from wefe.datasets import Criterion
from wefe.debias._base import OptionalShare
from wefe.debias._projection import Vectors, neutralised, orthonormal, remove
from wefe.debias._rowwise import RowwiseDebias
from wefe.debias._word_classes import learned_classes
from wefe.metrics._parameters import Count, RandomState
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

logger = logging.getLogger(__name__)

# Share of the words of each class that classifiers are not trained on.
_HELD_OUT = 0.25
# A new direction with less than this outside of those removed already is rounding noise.
_NEW = 1e-4


def nullspace_projection(directions: npt.ArrayLike) -> Vectors:
    """Return the projection on what is orthogonal to all of some directions.

    The product of the projections of single directions is no projection, unless these are
    orthogonal. So their span is orthonormalised first.

    Parameters
    ----------
    directions : array-like of shape (n_directions, dim)
        Rows of any length, not all of them need be independent.

    Returns
    -------
    ndarray of shape (dim, dim)
        Symmetric and idempotent, of rank dim minus that of `directions`, float64.

    Examples
    --------
    >>> nullspace_projection([[1, 1, 0], [1, 0, 1]]).round(3)
    array([[ 0.333, -0.333, -0.333],
           [-0.333,  0.333,  0.333],
           [-0.333,  0.333,  0.333]])
    """
    basis = orthonormal(directions)
    return np.asarray(np.eye(basis.shape[1]) - basis.T @ basis)


@dataclass(eq=False, repr=False)
class INLP(RowwiseDebias):
    """Iterative null-space projection: remove what linear classifiers tell classes apart by.

    Removing one bias direction leaves others by which a classifier finds the classes [1]_. So, as
    long as a classifier does better than chance:

    1. A linear classifier learns to tell the classes from the projected vectors: x P.
    2. Its weights, one direction for two classes, are added to the directions to remove.
    3. P becomes the projection on what is orthogonal to all of them.

    Parameters
    ----------
    n_iterations : int, default=35
        Number of classifiers at most, as in the paper.
    n_words : int, default=7500
        Words to learn from for each class, if they are to be found; see :meth:`fit`. At most a
        third of the vocabulary with two classes, a quarter with three, and so on.
    min_accuracy : float in [0, 1], optional
        The loop ends where the accuracy on words held out does not exceed it. By default the
        share of the largest class among these words, and one standard error of that share: a
        classifier that is no better than that cannot be told from one that always answers the
        same.
    neutral : bool, default=True
        Words that lean to no class are a class of their own, as in the paper. False removes about
        half as many directions: only those by which the classes differ from each other.
    random_state : int, numpy.random.Generator or None, default=0
        Chooses the words held out, a quarter of each class. The classifiers draw nothing.
    verbose : bool, default=False
        Print what is done, or log it where level INFO is on.
    criterion_name : str, optional
        For example 'gender'. The mitigated model is called 'MODEL_gender_debiased'.

    Attributes
    ----------
    projection_ : ndarray of shape (dim, dim)
        The projection; symmetric and idempotent.
    directions_ : ndarray of shape (n_directions, dim)
        What is removed, in the order in which it was found: orthonormal. There are never as many
        as dimensions, as no vector would be left.
    accuracies_ : ndarray of shape (n_classifiers,)
        Accuracy of each classifier on the words held out, before its direction was removed. The
        last one is that after the last removal.
    words_by_class_ : dict
        Class name -> the words learned from.
    dim_ : int
        Number of dimensions.

    Notes
    -----
    Vectors are taken as they are and become shorter; none is scaled, as in the paper. The
    classifiers are support vector machines with squared hinge loss. They see vectors divided by
    the root mean square of all lengths, so that their penalty does not depend on the unit.

    Less association measured afterwards does not mean that the bias is gone: classifiers that are
    not linear, and neighbourhoods, may betray it still; see :func:`wefe.debias.compare`.

    References
    ----------
    .. [1] S. Ravfogel, Y. Elazar, H. Gonen, M. Twiton and Y. Goldberg. Null It Out: Guarding
       Protected Attributes by Iterative Nullspace Projection. ACL 2020.

    Examples
    --------
    >>> from wefe import WEAT, Query, load_test_model
    >>> from wefe.datasets import load_criterion
    >>> model, gender = load_test_model(), load_criterion("gender", offline=True)
    >>> method = INLP(n_words=500, neutral=False).fit(model, criterion=gender)
    >>> debiased = method.transform(model)
    >>> debiased.name
    'minilm-words_gender_debiased'
    >>> print(f"{method.accuracies_[-1]:.1f}, before {method.accuracies_[0]:.1f}")
    0.5, before 1.0
    >>> query = Query([["she", "her"], ["he", "him"]], [["nurse", "dancer"], ["boss", "coach"]])
    >>> before, after = (WEAT().run_query(query, each)["weat"] for each in (model, debiased))
    >>> print(f"{after:.1f}, before {before:.1f}")
    0.1, before 0.6
    """

    _from_criterion: ClassVar[Mapping[str, str]] = {
        "definitional_sets": "definitional_sets",
        "class_names": "class_names",
    }
    _fit_reads_vocabulary: ClassVar[bool] = True

    n_iterations: Count = 35
    n_words: Count = 7500
    min_accuracy: OptionalShare = None
    neutral: bool = True
    random_state: RandomState = 0
    verbose: bool = False
    criterion_name: str | None = None

    def fit(
        self,
        model: WordEmbeddingModel,
        definitional_sets: Sequence[Sequence[str]] | None = None,
        words_by_class: Mapping[str, Sequence[str]] | None = None,
        *,
        criterion: Criterion | str | None = None,
        **fit_params: Any,
    ) -> INLP:
        """Find the directions by which classifiers tell classes apart.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to learn from, with its whole vocabulary unless `words_by_class` is given.
        definitional_sets : sequence of sequences of str
            Words that differ in the class only, in the same order of classes:
            ``[["woman", "man"], ["she", "he"]]``. They, and the `n_words` words that reach
            farthest along the axis of each class, are what is learned from. The axes of two
            classes are the first principal component of the pairs, and its opposite; those of
            more classes are the mean of each class minus the mean of all. Sets of which the model
            lacks a word do not count for that.
        words_by_class : mapping from str to sequence of str, optional
            Class name -> words: learn from these and no others. At least two words for each class
            must be in the model; others are left out, counted and logged.
        criterion : Criterion or str, optional
            Takes the place of definitional sets that are not given: 'gender', 'ethnicity', or word
            sets of yours.
        **fit_params
            No others are taken: a name that is not among these is refused.

        Returns
        -------
        INLP
            The method itself.

        Raises
        ------
        TypeError
            If there are neither words nor a criterion, or an argument is of another type.
        ValueError
            If the sets differ in size, the model lacks too many of the words, a word is of two
            classes, or the model was opened for some words only.
        """
        self._refuse_unknown(fit_params)
        classes = learned_classes(
            self,
            *(model, definitional_sets, words_by_class, criterion, self.n_words),
            neutral=self.neutral,
        )
        held_out = _held_out(classes.labels, np.random.default_rng(self.random_state))
        limit = self.min_accuracy
        if limit is None:
            limit = _chance(classes.labels[held_out])
        self.directions_, accuracies = _directions(
            classes.vectors, classes.labels, held_out, self.n_iterations, limit
        )
        self.accuracies_: Vectors = np.array(accuracies)
        self.projection_: Vectors = nullspace_projection(self.directions_)
        self.words_by_class_ = classes.words
        self.dim_ = model.dim
        if not len(self.directions_):
            logger.warning(
                "%s: no classifier tells the classes of held-out words apart (accuracy %.3f, "
                "limit %.3f), so nothing is removed",
                *(model.name, accuracies[0], limit),
            )
        self._log(
            "%s: %d directions; held-out accuracy %.3f, before %.3f",
            *(model.name, len(self.directions_), accuracies[-1], accuracies[0]),
        )
        return self

    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        if 2 * len(self.directions_) < self.dim_:
            return neutralised(vectors, self.directions_)
        return np.asarray(vectors @ self.projection_.astype(vectors.dtype, copy=False))


def _held_out(labels: npt.NDArray[np.intp], rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Choose a share of each class, at least one word and never all."""
    held_out = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        places = rng.permutation(np.flatnonzero(labels == label))
        held_out[places[: max(1, int(_HELD_OUT * len(places)))]] = True
    return held_out


def _chance(labels: npt.NDArray[np.intp]) -> float:
    """Return the share of the largest class plus its standard error."""
    share = float(np.bincount(labels).max() / len(labels))
    return share + math.sqrt(share * (1 - share) / len(labels))


def _directions(
    vectors: Vectors,
    labels: npt.NDArray[np.intp],
    held_out: npt.NDArray[np.bool_],
    n_iterations: int,
    limit: float,
) -> tuple[Vectors, list[float]]:
    """Return orthonormal directions (n_directions, dim), and the accuracy of each classifier.

    `vectors` are scaled in place, as several copies of them are more than the rest takes.
    """
    from sklearn.svm import LinearSVC

    vectors /= math.sqrt(float(np.einsum("ij,ij->", vectors, vectors)) / len(vectors))
    order = np.argsort(held_out, kind="stable")
    vectors[:] = vectors[order]
    labels, n_train = labels[order], int((~held_out).sum())
    dim = vectors.shape[1]
    basis = np.empty((0, dim))
    accuracies: list[float] = []
    while True:
        # The primal problem: exact, quick for more words than dims, and without random order. But
        # without a seed the global generator would be advanced.
        classifier = LinearSVC(dual=False, random_state=0).fit(
            remove(vectors[:n_train], basis), labels[:n_train]
        )
        score = classifier.score(remove(vectors[n_train:], basis), labels[n_train:])
        accuracies.append(float(score))
        if accuracies[-1] <= limit or len(accuracies) > n_iterations:
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
    return basis, accuracies


def _outside(weights: Vectors, basis: Vectors) -> Vectors:
    """Return orthonormal directions of what weights of unit length have outside of a basis."""
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    units = weights[lengths[:, 0] > 0] / lengths[lengths > 0][:, None]
    _, singular, rows = np.linalg.svd(remove(units, basis), full_matrices=False)
    new = remove(rows[singular > _NEW], basis)
    return np.asarray(new / np.linalg.norm(new, axis=1, keepdims=True))
