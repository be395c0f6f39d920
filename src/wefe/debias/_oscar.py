"""OSCaR, orthogonal subspace correction and rectification (Dev et al., EMNLP 2021)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from wefe._checks import check_word_set, found
from wefe.datasets import Criterion
from wefe.debias._base import flattened
from wefe.debias._linear_projection import Direction, class_directions, class_means
from wefe.debias._projection import Vectors, principal_components
from wefe.debias._rowwise import RowwiseDebias
from wefe.embeddings import embed_tuples
from wefe.metrics._geometry import ZERO_LENGTH
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

# Closer to each other than this (1 - |cosine|), two directions have no plane of their own.
_PARALLEL = 1e-10


@dataclass(eq=False, repr=False)
class OSCaR(RowwiseDebias):
    """Make the bias direction and a concept orthogonal, and leave both in place.

    A projection takes the classes out of every word. OSCaR keeps them, and disentangles them from
    a concept such as occupations [1]_: in the plane of the two directions every word is rotated,
    by an angle that grows from 0 at the bias direction to that which makes the concept orthogonal
    to it. What a word has outside of the plane stays, and so does its length.

    Parameters
    ----------
    direction : {'means', 'pair', 'pca'}, default='means'
        How the bias direction is found; see :class:`LinearProjection`. For more than two classes
        only 'pca', whose first component is taken.
    concept : {'pca', 'means'}, default='pca'
        How the concept direction is found. 'pca': the first principal component of the concept's
        words, as published. 'means': the difference between the mean vectors of the words that are
        stereotyped for the first and for the second class; it has more in common with the bias
        direction, so more changes.
    pca_args : dict, optional
        Arguments of the principal component analysis of 'pca'; ``{"n_components": 10}`` by default.
    verbose : bool, default=False
        Print what is done, or log it where level INFO is on.
    criterion_name : str, optional
        For example 'gender'. The mitigated model is called 'MODEL_gender_debiased'.

    Attributes
    ----------
    bias_direction_ : ndarray of shape (dim,)
        Unit vector; it stays where it is.
    concept_direction_ : ndarray of shape (dim,)
        Unit vector, on the side of the bias direction, to which it becomes orthogonal.
    angle_ : float
        The angle between them before, in degrees: over 0, up to 90.

    Notes
    -----
    Only what the two directions have in common changes, so look at `angle_`: of the 25 stereotyped
    occupations, the first principal component is nearly orthogonal to gender in the packaged
    vectors, and their WEAT effect size goes from 1.84 to 1.82; with 'means' to 1.08. The map is
    continuous, but not linear.

    References
    ----------
    .. [1] S. Dev, T. Li, J. M. Phillips and V. Srikumar. OSCaR: Orthogonal Subspace Correction and
       Rectification of Biases in Word Embeddings. EMNLP 2021.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_criterion
    >>> model = load_test_model()
    >>> gender = load_criterion("gender", offline=True)
    >>> method = OSCaR(concept="means").fit(model, criterion=gender)
    >>> print(f"{method.angle_:.1f} degrees")
    70.5 degrees
    >>> method.transform(model).name
    'minilm-words_gender_debiased'
    """

    _from_criterion: ClassVar[Mapping[str, str]] = {
        "definitional_sets": "definitional_sets",
        "concept_words": "stereotyped_words",
        "representatives": "representatives",
    }

    direction: Direction = "means"
    concept: Literal["pca", "means"] = "pca"
    pca_args: dict[str, Any] | None = None
    verbose: bool = False
    criterion_name: str | None = None

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
        model : WordEmbeddingModel
            The model to learn from.
        definitional_sets : sequence of sequences of str
            Words that differ in the class only, one per class in the same order:
            ``[["woman", "man"], ["she", "he"]]``. See :meth:`LinearProjection.fit`.
        concept_words : sequence of str, or mapping from class name to sequence of str
            Words of the concept that the classes should not be entangled with, such as
            occupations, two or more; with concept='means', by the class for which they are
            stereotyped, in the order of the definitional sets. A criterion brings its stereotyped
            words.
        representatives : sequence of str, optional
            One word per class, of which direction='pair' takes the difference; by default the
            first of the definitional sets.
        words_by_class : mapping from class name to sequence of str, optional
            With direction='means', words of each class that need not form sets, such as names.
        criterion : Criterion or str, optional
            Takes the place of what is not given: 'gender', or word sets of yours.
        **fit_params
            No others are taken: a name that is not among these is refused.

        Returns
        -------
        OSCaR
            The method itself.

        Raises
        ------
        TypeError
            If there are neither word sets nor a criterion, or a parameter has another name or type.
        ValueError
            If the model lacks the words that a direction needs, there are more than two classes
            and `direction` is not 'pca', or the two directions are parallel.
        """
        words = self._words(
            fit_params,
            criterion,
            definitional_sets=definitional_sets,
            concept_words=concept_words,
            representatives=representatives,
        )
        if words["concept_words"] == {}:
            raise TypeError("the criterion has no stereotyped_words, so OSCaR needs concept_words.")
        self._require(words, "concept_words")
        directions = class_directions(self, model, self.direction, None, words, words_by_class)
        if len(directions) > 1 and self.direction != "pca":
            raise ValueError(
                "OSCaR corrects one bias direction, and more than two classes have more; "
                "direction='pca' takes the first principal component."
            )
        self.bias_direction_ = directions[0]
        self.concept_direction_ = (
            _first_component(model, words["concept_words"])
            if self.concept == "pca"
            else _mean_difference(model, words["concept_words"])
        )
        cosine = float(self.bias_direction_ @ self.concept_direction_)
        if cosine < 0:
            self.concept_direction_ = -self.concept_direction_
        if 1 - abs(cosine) < _PARALLEL:
            raise ValueError(
                "the bias direction and the concept direction are parallel, so no rotation makes "
                "them orthogonal; take other concept_words."
            )
        self.angle_ = float(np.degrees(np.arccos(abs(cosine))))
        self.dim_ = model.dim
        return self

    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        return graded_rotation(vectors, self.bias_direction_, self.concept_direction_)


def graded_rotation(
    vectors: FloatArray, bias_direction: npt.ArrayLike, concept_direction: npt.ArrayLike
) -> FloatArray:
    """Rotate vectors in the plane of two directions, so that these become orthogonal.

    Parameters
    ----------
    vectors : ndarray of shape (n_words, dim)
        The vectors.
    bias_direction : array-like of shape (dim,)
        Unit vector that stays.
    concept_direction : array-like of shape (dim,)
        Unit vector that becomes orthogonal to it, at an angle of less than 90 degrees or at 90.

    Returns
    -------
    ndarray of shape (n_words, dim)
        New vectors of the same lengths, in the dtype of `vectors`.

    Notes
    -----
    Let both directions and their opposites cut the plane into four sectors. In each, the angle of
    rotation goes linearly from 0, at either end of the bias direction, to its full size, at either
    end of the concept direction.

    Examples
    --------
    >>> import numpy as np
    >>> bias, concept = np.array([1.0, 0.0, 0.0]), np.array([0.6, 0.8, 0.0])
    >>> graded_rotation(np.stack([bias, concept, [0, 0, 5.0]]), bias, concept).round(6) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 5.]])
    """
    first = np.asarray(bias_direction, dtype=np.float64)
    concept = np.asarray(concept_direction, dtype=np.float64)
    cosine = float(first @ concept)
    second = concept - cosine * first
    plane = np.stack([first, second / np.linalg.norm(second)])
    between = math.acos(min(cosine, 1.0))
    missing = math.pi / 2 - between
    a, b = (vectors @ plane.T.astype(vectors.dtype)).astype(np.float64).T
    # Measured from the bias direction, 0 to pi on either side of it.
    angle = np.abs(np.arctan2(b, a))
    towards = np.where(b > 0, angle, math.pi - angle)
    share = np.where(
        towards < between, towards / between, (math.pi - towards) / (math.pi - between)
    )
    cos, sin = np.cos(missing * share), np.sin(missing * share)
    moved = np.stack([cos * a - sin * b - a, sin * a + cos * b - b], axis=1)
    return np.asarray(vectors + (moved @ plane).astype(vectors.dtype))


def _first_component(model: WordEmbeddingModel, words: object) -> Vectors:
    checked = check_word_set("concept_words", flattened(words) or words)
    complete = embed_tuples(
        model, [checked], "concept_words", normalize=True, discard_incomplete_sets=False
    )
    if not complete or len(complete[0]) < 2:
        raise ValueError(
            f"{model.name} has {len(complete[0]) if complete else 0} of the {len(checked)} "
            "concept_words; at least 2 are needed."
        )
    pca = principal_components([complete[0].vectors], {"n_components": 1})
    return np.asarray(pca.components_[0])


def _mean_difference(model: WordEmbeddingModel, words: object) -> Vectors:
    if not isinstance(words, Mapping) or len(words) != 2:
        raise ValueError(
            "concept='means' needs concept_words as a mapping from each of the two classes to the "
            f"words that are stereotyped for it; got {found(words)}."
        )
    first, second = class_means(model, words, "concept_words")
    difference = first - second
    length = float(np.linalg.norm(difference))
    if length <= ZERO_LENGTH:
        raise ValueError("both classes of concept_words have the same mean vector.")
    return np.asarray(difference / length)
