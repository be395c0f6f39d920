"""Linear projection (AISTATS 2019), OSCaR (EMNLP 2021) and half-sibling regression (AAAI 2020)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import check_word_set, found
from wefe.datasets import Criterion
from wefe.debias._base import (
    OptionalCount,
    RowwiseDebias,
    check_positive,
    class_columns,
    fits,
    flattened,
    log_lost,
)
from wefe.debias._projection import Vectors, neutralised, orthonormal, principal_components
from wefe.embeddings import definitional_vectors, embed_tuples
from wefe.metrics._geometry import ZERO_LENGTH
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

Direction: TypeAlias = Literal["means", "pair", "pca"]


@dataclass(eq=False, repr=False)
class LinearProjection(RowwiseDebias):
    """Project a bias direction out of every word, and do nothing else.

    Each word becomes w - (w . v) v [1]_: no word is an exception unless it is ignored, nothing is
    equalized, lengths are not restored. That is a projection: to apply it twice changes nothing
    more. With three classes or more, v becomes as many directions as tell the classes apart.

    Parameters
    ----------
    direction : {'means', 'pair', 'pca'}, default='means'
        What is projected out. 'means': the difference between the mean unit vectors of the two
        classes, which the authors prefer. 'pair': the difference between two words such as she and
        he. 'pca': the first principal component of the definitional sets, each centred on its own
        mean, as :class:`HardDebias` does.
    n_components : int, optional
        Number of directions; by default the number of classes less one.
    pca_args : dict, optional
        Arguments of the principal component analysis of 'pca'; ``{"n_components": 10}`` by default.
    verbose : bool, default=False
        Print what is done, or log it where level INFO is on.
    criterion_name : str, optional
        For example 'gender'. The mitigated model is called 'MODEL_gender_debiased'.

    Attributes
    ----------
    bias_subspace_ : ndarray of shape (n_components, dim)
        Orthonormal directions that are projected out. The first one points to the first class.
    bias_direction_ : ndarray of shape (dim,)
        The first of them.

    Notes
    -----
    Words that define the class, such as 'actress', lose it as well; pass them as `ignore` to keep
    them. Less association measured afterwards does not mean that the bias is gone; see
    :func:`wefe.debias.compare`.

    References
    ----------
    .. [1] S. Dev and J. Phillips. Attenuating Bias in Word Vectors. AISTATS 2019.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_criterion
    >>> model = load_test_model()
    >>> method = LinearProjection().fit(model, criterion=load_criterion("gender", offline=True))
    >>> debiased = method.transform(model)
    >>> print(f"{abs(debiased['nurse'].astype(float) @ method.bias_direction_):.3f}")
    0.000
    """

    direction: Direction = "means"
    n_components: OptionalCount = None
    pca_args: dict[str, Any] | None = None
    verbose: bool = False
    criterion_name: str | None = None

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
        model : WordEmbeddingModel
            The model to learn from.
        definitional_sets : sequence of sequences of str
            Words that differ in the class only, one per class in the same order:
            ``[["woman", "man"], ["she", "he"]]``. With 'means' the words of a class are those at
            its position, each once; with 'pca' sets of which the model lacks a word are left out.
        representatives : sequence of str, optional
            One word per class, of which 'pair' takes the differences; by default the first of the
            definitional sets. A criterion brings its own.
        words_by_class : mapping from class name to sequence of str, optional
            With 'means', words of each class that need not form sets, such as names.
        criterion : Criterion or str, optional
            Takes the place of what is not given: 'gender', or word sets of yours.
        **fit_params
            No others are taken: a name that is not among these is refused.

        Returns
        -------
        LinearProjection
            The method itself.

        Raises
        ------
        TypeError
            If there are neither word sets nor a criterion, or a parameter has another name or type.
        ValueError
            If the model lacks the words that the direction needs, or they do not differ.
        """
        self.bias_subspace_ = class_directions(
            self, model, definitional_sets, representatives, words_by_class
        )[: self.n_components]
        self.bias_direction_ = self.bias_subspace_[0]
        return self

    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        return neutralised(vectors, self.bias_subspace_)


def class_directions(
    method: Any, model: WordEmbeddingModel, sets: Any, representatives: Any, words_by_class: Any
) -> Vectors:
    """Find orthonormal directions along which classes differ, as `method.direction` says.

    The first one points to the first class; see :class:`LinearProjection`.
    """
    if words_by_class is not None and method.direction != "means":
        raise ValueError(
            "words_by_class goes with direction 'means'; direction "
            f"{method.direction!r} needs definitional_sets."
        )
    enough = representatives if method.direction == "pair" else words_by_class
    if not enough:
        method._require({"definitional_sets": sets}, "definitional_sets")
        sets = method._check_sets_size(sets, "definitional", None)
    if method.direction == "pca":
        complete = definitional_vectors(model, sets, "definitional_sets")
        pca = method._identify_bias_subspace([part.vectors for part in complete], method.verbose)
        rank = getattr(method, "n_components", None) or max(map(len, complete)) - 1
        return np.asarray(pca.components_[:rank])
    if method.direction == "pair":
        (words,) = method._check_sets_size([enough or sets[0]], "representatives", None)
        points = class_means(model, {word: (word,) for word in words}, "representatives")
    else:
        columns = words_by_class or dict(enumerate(class_columns(sets)))
        points = class_means(model, columns, "words_by_class")
    basis = orthonormal(points - points.mean(axis=0))
    if not len(basis):
        raise ValueError("the classes have the same mean vector, so there is no bias direction.")
    if basis[0] @ (points[0] - points[1:].mean(axis=0)) < 0:
        basis[0] *= -1
    return basis


def class_means(model: WordEmbeddingModel, classes: Any, called: str) -> Vectors:
    """Return the mean unit vector of the words of each class: shape (n_classes, dim)."""
    if not isinstance(classes, Mapping) or len(classes) < 2:
        raise ValueError(
            f"{called} must be a mapping with the words of two or more classes; "
            f"got {found(classes)}."
        )
    known = embed_tuples(
        model, [*classes.values()], called, normalize=True, discard_incomplete_sets=False
    )
    if len(known) < len(classes):
        raise ValueError(
            f"{model.name} has words of {len(known)} of the {len(classes)} classes in {called} "
            f"({', '.join(map(str, classes))}); at least 1 word of each is needed."
        )
    return np.stack([part.vectors.mean(axis=0) for part in known])


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

    direction: Direction = "means"
    concept: Literal["pca", "means"] = "pca"
    pca_args: dict[str, Any] | None = None
    verbose: bool = False
    criterion_name: str | None = None

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
        directions = class_directions(
            self, model, definitional_sets, representatives, words_by_class
        )
        if len(directions) > 1 and self.direction != "pca":
            raise ValueError(
                "OSCaR corrects one bias direction, and more than two classes have more; "
                "direction='pca' takes the first principal component."
            )
        find = _first_component if self.concept == "pca" else _mean_difference
        concept = find(model, concept_words)
        cosine = float(directions[0] @ concept)
        if 1 - abs(cosine) < _PARALLEL:
            raise ValueError(
                "the bias direction and the concept direction are parallel, so no rotation makes "
                "them orthogonal; take other concept_words."
            )
        self.bias_direction_ = directions[0]
        self.concept_direction_ = math.copysign(1, cosine) * concept
        self.angle_ = math.degrees(math.acos(abs(cosine)))
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
    known = embed_tuples(
        model, [checked], "concept_words", normalize=True, discard_incomplete_sets=False
    )
    if sum(map(len, known)) < 2:
        raise ValueError(
            f"{model.name} has {sum(map(len, known))} of the {len(checked)} concept_words; at "
            "least 2 are needed."
        )
    return np.asarray(principal_components([known[0].vectors], {"n_components": 1}).components_[0])


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
    """Half-sibling regression: what definitional words predict of a vector is subtracted from it.

    Definitional words ('he', 'actress') and all others share what the class put into their vectors
    [1]_. So each other vector x is predicted from the definitional ones, by a ridge regression
    without intercept whose samples are the dimensions, and only the residual is kept. For the
    matrix D of the definitional vectors, one per row, that residual is::

        alpha * x @ inv(D.T @ D + alpha * I)

    so the method is one matrix of shape (dim, dim), however many words there are, and it applies
    to words that were not seen, too. Definitional words keep their vectors.

    Parameters
    ----------
    verbose : bool, default=False
        Print what is done, or log it where level INFO is on.
    criterion_name : str, optional
        For example 'gender'. The mitigated model is called 'MODEL_gender_debiased'.

    Attributes
    ----------
    map_ : ndarray of shape (dim, dim)
        What vectors are multiplied by, from the right; symmetric.
    alpha_ : float
        The penalty of the regression.
    definitional_words_ : tuple of str
        The words that never change, each once; also those that the model lacked.
    dim_ : int
        Number of dimensions.

    Notes
    -----
    Vectors are taken as they are, and they become shorter. The penalty is absolute: the longer the
    vectors are, the more the same `alpha` removes. On vectors of unit length 60, the value of the
    paper, removes less than on the longer ones that most models have.

    Less association measured afterwards does not mean that the bias is gone: what words have in
    common with their former neighbours may betray it still; see :func:`wefe.debias.compare`.

    References
    ----------
    .. [1] Z. Yang and J. Feng. A Causal Inference Method for Reducing Gender Bias in Word Embedding
       Relations. AAAI 2020.

    Examples
    --------
    >>> from wefe import WEAT, Query, load_test_model
    >>> from wefe.datasets import fetch_debiaswe
    >>> model, words = load_test_model(), fetch_debiaswe(offline=True)
    >>> method = HalfSiblingRegression(criterion_name="gender").fit(
    ...     model, words["gender_specific_seed"], alpha=1
    ... )
    >>> debiased = method.transform(model)
    >>> debiased.name
    'minilm-words_gender_debiased'
    >>> query = Query([["she", "her"], ["he", "him"]], [["nurse", "dancer"], ["boss", "coach"]])
    >>> before, after = (WEAT().run_query(query, each)["weat"] for each in (model, debiased))
    >>> print(f"{after:.3f}, before {before:.3f}")
    0.150, before 0.596
    """

    verbose: bool = False
    criterion_name: str | None = None

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
            Words to which the class belongs by definition. Those that the model lacks are left
            out, counted and logged; repetitions do not count.
        alpha : float, default=60
            Penalty of the ridge regression, above 0; the smaller, the more is subtracted.
        criterion : Criterion or str, optional
            Takes the place of definitional words that are not given, with its `specific_words`:
            'gender', or word sets of yours.
        **fit_params
            No others are taken: a name that is not among these is refused.

        Returns
        -------
        HalfSiblingRegression
            The method itself.

        Raises
        ------
        TypeError
            If an argument is of another type, or there is neither a list nor a criterion.
        ValueError
            If `alpha` is not above 0, the model has none of the words, or one has a zero vector.
        """
        distinct = tuple(dict.fromkeys(check_word_set("definitional_words", definitional_words)))
        self.alpha_ = check_positive("alpha", alpha)
        known = embed_tuples(
            model,
            [distinct],
            "definitional_words",
            discard_incomplete_sets=False,
            warn_lost_sets=False,
        )
        if not known:
            raise ValueError(
                f"{model.name} has none of the {len(distinct)} definitional_words; at least 1 is "
                "needed."
            )
        log_lost(model, known[0].lost, len(distinct), "definitional_words")
        vectors = known[0].vectors
        self._log("%s: %d definitional words, alpha %g", model.name, len(vectors), self.alpha_)
        penalty = self.alpha_ * np.eye(model.dim)
        self.map_ = np.linalg.solve(vectors.T @ vectors + penalty, penalty)
        self.definitional_words_ = distinct
        return self

    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        return np.asarray(vectors @ self.map_.astype(vectors.dtype, copy=False))

    def _protected_words(self) -> Sequence[str]:
        return self.definitional_words_
