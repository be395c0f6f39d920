"""Linear projection (AISTATS 2019), OSCaR (EMNLP 2021) and half-sibling regression (AAAI 2020)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from wefe._checks import check_word_set
from wefe.datasets import Criterion
from wefe.debias._base import (
    OptionalCount,
    RowwiseDebias,
    check_positive,
    class_columns,
    fits,
    flattened,
    known_words,
    words_of_classes,
)
from wefe.debias._projection import Erasure, Vectors, orthonormal, principal_components
from wefe.metrics._geometry import ZERO_LENGTH
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

Direction: TypeAlias = Literal["means", "pair", "pca"]


@dataclass(eq=False, repr=False)
class LinearProjection(RowwiseDebias):
    """Project a bias direction out of every word.

    Each word becomes w - (w . v) v. All words that you do not ignore change, including those that
    define the class, such as 'actress'. No words are equalized, and lengths are not restored.
    Source: Dev and Phillips, Attenuating Bias in Word Vectors, AISTATS 2019.

    Parameters
    ----------
    pca_args, verbose, criterion_name : optional
        See :class:`BaseDebias`; `pca_args` are for 'pca'.
    direction : {'means', 'pair', 'pca'}, default='means'
        What is projected out. 'means': the difference of the mean unit vectors of the two classes,
        which the authors prefer. 'pair': the difference of two words such as she and he. 'pca': the
        first principal component of the definitional sets, as in :class:`HardDebias`.
    n_components : int, optional
        Number of directions; by default the number of classes minus 1, which separates them.

    Attributes
    ----------
    bias_subspace_ : ndarray of shape (n_components, dim)
        Orthonormal directions; the first one, `bias_direction_`, points to the first class.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> LinearProjection().fit_transform(load_test_model(), criterion="religion").name
    'minilm-words_religion_debiased'
    """

    direction: Direction = "means"
    n_components: OptionalCount = None

    @fits()
    def fit(
        self,
        model: WordEmbeddingModel,
        definitional_sets: Sequence[Sequence[str]] | None = None,
        representatives: Sequence[str] | None = None,
        *,
        words_by_class: Mapping[str, Sequence[str]] | None = None,
        criterion: Criterion | str | None = None,
        **fit_params: Any,
    ) -> LinearProjection:
        """Find the directions.

        Parameters
        ----------
        model, definitional_sets : optional
            See :meth:`MulticlassHardDebias.fit`. 'means' takes the words at each position as a
            class; only 'pca' leaves out sets with a missing word.
        representatives, words_by_class : optional
            For 'pair', one word per class; by default of the criterion, or the first set. For
            'means', class name -> words that need not form sets, such as names.
        """
        if words_by_class is not None and self.direction != "means":
            raise ValueError(
                f"words_by_class needs direction 'means'; direction {self.direction!r} needs "
                "definitional_sets."
            )
        given: Any = representatives if self.direction == "pair" else words_by_class
        if not given:
            self._require(definitional_sets=definitional_sets)
            sets = self._check_sets_size(definitional_sets, "definitional", None)
        if self.direction == "pca":
            self._fit_subspace(model, sets, None)
            basis = self.bias_subspace_[: self.n_components or max(map(len, sets)) - 1]
        elif self.direction == "pair":
            (words,) = self._check_sets_size([given or sets[0]], "representatives", None)
            basis = class_directions(model, {word: [word] for word in words})
        else:
            basis = class_directions(model, given or dict(enumerate(class_columns(sets))))
        self.bias_subspace_ = basis[: self.n_components]
        self.bias_direction_ = self.bias_subspace_[0]
        self.map_ = Erasure(self.bias_subspace_, self.bias_subspace_)
        self._log("%s: %d bias directions", model.name, len(self.bias_subspace_))
        return self


def class_directions(model: WordEmbeddingModel, classes: Any) -> Vectors:
    """Find orthonormal directions of classes; the first points to the first class."""
    points = class_means(model, classes, "words_by_class")
    basis = orthonormal(points - points.mean(axis=0))
    if not len(basis):
        raise ValueError("the classes have the same mean vector, so there is no bias direction.")
    if basis[0] @ (points[0] - points[1:].mean(axis=0)) < 0:
        basis[0] *= -1
    return basis


def class_means(model: WordEmbeddingModel, classes: Any, called: str) -> Vectors:
    """Return the mean unit vector of the words of each class, of shape (n_classes, dim)."""
    parts = words_of_classes(model, called, classes, normalize=True)
    return np.stack([part.vectors.mean(axis=0) for part in parts.values()])


# Closer to each other than this (1 - |cosine|), two directions have no plane of their own.
_PARALLEL = 1e-10


@dataclass(eq=False, repr=False)
class OSCaR(RowwiseDebias):
    """Make the bias direction and a concept orthogonal, and keep both.

    A projection removes the classes from every word. OSCaR only disentangles them from a concept
    such as occupations: it rotates every word in the plane of the two directions. These and their
    opposites divide the plane into four sectors. In each, the angle of rotation grows linearly from
    0 at the bias direction to its full size at the concept direction. The map is continuous but not
    linear; it keeps lengths, and components outside of the plane. The smaller `angle_`, the more
    changes. For stereotyped occupations in the packaged vectors, the WEAT effect size falls from
    1.84 to 1.82 with the concept 'pca', and to 1.08 with 'means'. Source: Dev et al., OSCaR:
    Orthogonal Subspace Correction and Rectification of Biases in Word Embeddings, EMNLP 2021.

    Parameters
    ----------
    pca_args, verbose, criterion_name : optional
        See :class:`BaseDebias`; `pca_args` are for 'pca'.
    direction : {'means', 'pair', 'pca'}, default='means'
        How to find the bias direction; see :class:`LinearProjection`. More than two classes need
        'pca', whose first component is used.
    concept : {'pca', 'means'}, default='pca'
        How to find the concept direction. 'pca': the first principal component of its words, as
        published. 'means': the difference between the mean vectors of words stereotyped for the
        first and for the second class, which is closer to the bias direction.

    Attributes
    ----------
    bias_direction_, concept_direction_ : ndarray of shape (dim,)
        Unit vectors at up to 90 degrees: the first one stays, the second becomes orthogonal to it.
    angle_ : float
        The angle between them before, in degrees: over 0, up to 90.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> jobs = {"female": ["nurse", "maid"], "male": ["boss", "engineer"]}
    >>> method = OSCaR(concept="means").fit(load_test_model(), [("she", "he")], jobs)
    >>> print(f"{method.angle_:.0f} degrees")
    71 degrees
    """

    direction: Direction = "means"
    concept: Literal["pca", "means"] = "pca"

    @fits("concept_words")
    def fit(
        self,
        model: WordEmbeddingModel,
        definitional_sets: Sequence[Sequence[str]] | None = None,
        concept_words: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        representatives: Sequence[str] | None = None,
        *,
        words_by_class: Mapping[str, Sequence[str]] | None = None,
        criterion: Criterion | str | None = None,
        **fit_params: Any,
    ) -> OSCaR:
        """Find the two directions.

        Parameters
        ----------
        model, definitional_sets : optional
            See :meth:`LinearProjection.fit`.
        concept_words : sequence of str, or mapping from class name to sequence of str
            At least two words of the concept, such as occupations, not parallel to the bias
            direction; by default the stereotyped words of the criterion. With concept='means', by
            the class for which they are stereotyped, in the order of the definitional sets.
        representatives, words_by_class : optional
            See :meth:`LinearProjection.fit`.
        """
        projection = LinearProjection(self.pca_args, self.verbose, direction=self.direction)
        projection.fit(model, definitional_sets, representatives, words_by_class=words_by_class)
        directions = projection.bias_subspace_
        if len(directions) > 1 and self.direction != "pca":
            raise ValueError(
                "OSCaR corrects one bias direction, but more than two classes have several. To use "
                "the first principal component, set direction='pca'."
            )
        find = _first_component if self.concept == "pca" else _mean_difference
        concept = find(model, concept_words)
        cosine = float(directions[0] @ concept)
        if 1 - abs(cosine) < _PARALLEL:
            raise ValueError("the two directions are parallel; take other concept_words.")
        self.bias_direction_ = directions[0]
        self.concept_direction_ = math.copysign(1, cosine) * concept
        self.angle_ = math.degrees(math.acos(abs(cosine)))
        self._log("%s: %.1f degrees between bias and concept direction", model.name, self.angle_)
        return self

    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        first, concept = self.bias_direction_, self.concept_direction_
        cosine = float(first @ concept)
        second = concept - cosine * first
        plane = np.stack([first, second / np.linalg.norm(second)])
        between = math.acos(min(cosine, 1.0))
        a, b = (vectors @ plane.T.astype(vectors.dtype)).astype(np.float64).T
        # Measured from the bias direction, 0 to pi on either side of it.
        angle = np.abs(np.arctan2(b, a))
        towards = np.where(b > 0, angle, math.pi - angle)
        share = np.minimum(towards / between, (math.pi - towards) / (math.pi - between))
        turn = (math.pi / 2 - between) * share
        cos, sin = np.cos(turn), np.sin(turn)
        moved = np.stack([cos * a - sin * b - a, sin * a + cos * b - b], axis=1)
        return np.asarray(vectors + (moved @ plane).astype(vectors.dtype))


def _first_component(model: WordEmbeddingModel, words: Any) -> Vectors:
    checked = check_word_set("concept_words", flattened(words) or words)
    known = known_words(model, checked, "concept_words", 2, normalize=True)
    return np.asarray(principal_components([known.vectors], {"n_components": 1}).components_[0])


def _mean_difference(model: WordEmbeddingModel, words: Any) -> Vectors:
    means = class_means(model, words, "concept_words")
    length = float(np.linalg.norm(means[0] - means[1]))
    if len(means) > 2 or length <= ZERO_LENGTH:
        raise ValueError(
            "concept='means' needs concept_words with different mean vectors for two classes; got "
            f"{', '.join(map(str, words))}."
        )
    return np.asarray((means[0] - means[1]) / length)


@dataclass(eq=False, repr=False)
class HalfSiblingRegression(RowwiseDebias):
    """Half-sibling regression: subtract what definitional words predict of each vector.

    A ridge regression without intercept, whose samples are the dimensions, predicts each vector x
    from those of definitional words ('he', 'actress'), the rows of D. Only the residual stays:
    ``alpha * x @ inv(D.T @ D + alpha * I)``, which is shorter; D does not change. Source: Yang and
    Feng, A Causal Inference Method for Reducing Gender Bias in Word Embedding Relations, AAAI 2020.

    Attributes
    ----------
    map_, alpha_ : ndarray of shape (dim, dim) and float
        The symmetric matrix that vectors are multiplied by, and the penalty.
    definitional_words_ : tuple of str
        The different words that never change, including those that the model lacked.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> model = load_test_model()
    >>> debiased = HalfSiblingRegression().fit_transform(model, definitional_words=["she", "he"])
    >>> [bool((debiased[word] == model[word]).all()) for word in ("she", "nurse")]
    [True, False]
    """

    pca_args: ClassVar[None] = None  # type: ignore[misc]  # no parameter: it has no PCA

    @fits("definitional_words")
    def fit(
        self,
        model: WordEmbeddingModel,
        definitional_words: Sequence[str] | None = None,
        alpha: float = 60,
        *,
        criterion: Criterion | str | None = None,
        **fit_params: Any,
    ) -> HalfSiblingRegression:
        """Learn what definitional words have in common with others.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to learn from.
        definitional_words : sequence of str
            Words that belong to a class by definition; by default the `specific_words` of the
            criterion. Missing words are logged; zero vectors are refused.
        alpha : float, default=60
            Penalty of the regression, above 0; a smaller one subtracts more. It is absolute, so 60,
            the value of the paper, subtracts less from unit vectors than from longer ones.
        """
        distinct = tuple(dict.fromkeys(check_word_set("definitional_words", definitional_words)))
        self.alpha_ = check_positive("alpha", alpha)
        vectors = known_words(model, distinct, "definitional_words").vectors
        self._log("%s: %d definitional words, alpha %g", model.name, len(vectors), self.alpha_)
        penalty = self.alpha_ * np.eye(model.dim)
        self.map_ = np.linalg.solve(vectors.T @ vectors + penalty, penalty)
        self.definitional_words_ = distinct
        return self

    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        return np.asarray(vectors @ self.map_.astype(vectors.dtype, copy=False))

    def _protected_words(self) -> Sequence[str]:
        return self.definitional_words_
