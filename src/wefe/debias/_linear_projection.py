"""Linear projection (Dev and Phillips, AISTATS 2019), and the directions that it may take out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from wefe._checks import check_word_set, found
from wefe.datasets import Criterion
from wefe.debias._base import BaseDebias, OptionalCount, class_columns
from wefe.debias._projection import Vectors, neutralised, orthonormal
from wefe.debias._rowwise import RowwiseDebias
from wefe.embeddings import definitional_vectors, embed_tuples
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

    _from_criterion: ClassVar[Mapping[str, str]] = {
        "definitional_sets": "definitional_sets",
        "representatives": "representatives",
    }

    direction: Direction = "means"
    n_components: OptionalCount = None
    pca_args: dict[str, Any] | None = None
    verbose: bool = False
    criterion_name: str | None = None

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
        words = self._words(
            fit_params,
            criterion,
            definitional_sets=definitional_sets,
            representatives=representatives,
        )
        self.bias_subspace_ = class_directions(
            self, model, self.direction, self.n_components, words, words_by_class
        )
        self.bias_direction_ = self.bias_subspace_[0]
        self.dim_ = model.dim
        return self

    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        return neutralised(vectors, self.bias_subspace_)


def class_directions(
    method: BaseDebias,
    model: WordEmbeddingModel,
    direction: Direction,
    n_components: int | None,
    words: Mapping[str, Any],
    words_by_class: Mapping[str, Sequence[str]] | None = None,
) -> Vectors:
    """Find the directions along which classes differ.

    Parameters
    ----------
    method : BaseDebias
        The method that asks, for its checks and its messages.
    model : WordEmbeddingModel
        The model.
    direction, n_components
        See :class:`LinearProjection`.
    words : mapping
        'definitional_sets', and 'representatives' for 'pair'.
    words_by_class : mapping, optional
        The words of each class, for 'means'.

    Returns
    -------
    ndarray of shape (n_directions, dim)
        Orthonormal. The first one points to the first class.
    """
    if words_by_class is not None and direction != "means":
        raise ValueError(
            f"words_by_class goes with direction 'means'; got direction {direction!r}, which needs "
            "definitional_sets."
        )
    if words_by_class is None and not (direction == "pair" and words.get("representatives")):
        method._require(words, "definitional_sets")
    if direction == "pca":
        sets = method._check_sets_size(words["definitional_sets"], "definitional", None)
        complete = definitional_vectors(model, sets, "definitional_sets")
        pca = method._identify_bias_subspace([part.vectors for part in complete], method.verbose)
        wanted = n_components or max(len(part.words) for part in complete) - 1
        return np.asarray(pca.components_[:wanted])
    if direction == "pair":
        chosen = words.get("representatives") or words["definitional_sets"][0]
        chosen = method._check_sets_size([chosen], "representatives", None)[0]
        points = definitional_vectors(model, [chosen], "sets of representatives")[0].vectors
    else:
        points = np.stack(class_means(model, _classes(method, words, words_by_class), "classes"))
    return _differences(points, n_components)


def _differences(points: Vectors, n_components: int | None) -> Vectors:
    """Orthonormal directions that span the differences between points, one per class."""
    basis = orthonormal(points - points.mean(axis=0))[:n_components]
    if len(basis) == 0:
        raise ValueError("the classes have the same mean vector, so there is no bias direction.")
    if basis[0] @ (points[0] - points[1:].mean(axis=0)) < 0:
        basis[0] *= -1
    return basis


def _classes(
    method: BaseDebias,
    words: Mapping[str, Any],
    words_by_class: Mapping[str, Sequence[str]] | None,
) -> dict[str, tuple[str, ...]]:
    if words_by_class is not None:
        if not isinstance(words_by_class, Mapping) or len(words_by_class) < 2:
            raise ValueError(
                "words_by_class must be a mapping with the words of two or more classes; "
                f"got {found(words_by_class)}."
            )
        return {
            str(name): check_word_set(f"words_by_class[{name!r}]", part)
            for name, part in words_by_class.items()
        }
    sets = method._check_sets_size(words["definitional_sets"], "definitional", None)
    return {f"class {position}": column for position, column in enumerate(class_columns(sets))}


def class_means(
    model: WordEmbeddingModel, classes: Mapping[str, Sequence[str]], called: str
) -> list[Vectors]:
    """Return the mean unit vector of the words of each class.

    Raises
    ------
    ValueError
        If the model has no word of a class.
    """
    known = embed_tuples(
        model, list(classes.values()), called, normalize=True, discard_incomplete_sets=False
    )
    if len(known) < len(classes):
        sizes = ", ".join(f"{name}: {len(words)} words" for name, words in classes.items())
        raise ValueError(
            f"{model.name} has words of {len(known)} of the {len(classes)} classes in {called} "
            f"({sizes}); at least 1 word of each is needed."
        )
    return [part.vectors.mean(axis=0) for part in known]
