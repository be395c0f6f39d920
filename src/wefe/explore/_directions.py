"""Directions towards the groups of a criterion in a model."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import found
from wefe.datasets import Criterion, load_criterion
from wefe.embeddings import definitional_vectors
from wefe.explore._lookup import look_up
from wefe.metrics._direction import RANK_TOLERANCE, ROUNDING, bias_subspace, group_directions
from wefe.metrics._geometry import Vectors, unit_rows
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.words import Preprocessors

logger = logging.getLogger(__name__)

# With less of the variance, other directions together hold more of it.
LEAST_EXPLAINED = 0.5
# A word leans to a group if this share of the frequent words has less direct bias.
CLEAR = 0.75
NO_CLEAR_DIRECTION = "no clear direction"


@dataclass(frozen=True, eq=False)
class BiasDirections:
    """The directions towards the groups of a criterion, in one model.

    Attributes
    ----------
    name : str
        The criterion.
    groups : tuple of str
        Names of the groups.
    towards : ndarray of shape (n_groups, dim)
        A unit vector towards each group. Of two groups they are the bias direction g and -g; of
        more, see :func:`wefe.metrics.group_directions`.
    subspace : ndarray of shape (n_directions, dim)
        An orthonormal basis of what they span: g alone for two groups.
    explained_variance_ratio : ndarray
        Share of the variance of the centred definitional sets along each principal direction. If
        the first ones do not dominate, the directions do not represent the sets, see
        :func:`wefe.audit.audit_direction`.
    reach : ndarray of shape (n_groups,)
        Mean cosine of each group's own definitional words with the direction towards it: how far
        words go to which the group belongs by definition.
    sets : tuple of tuple of str
        The definitional sets that the model has complete.
    n_lost : int
        Number of those of which it lacks a word, or has none with a direction.
    model_name : str
        The model.
    criterion : Criterion
        Where the sets are from.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> model = load_test_model()
    >>> gender = bias_directions(model, "gender")
    >>> gender.groups, gender.subspace.shape, round(gender.explained, 2)
    (('female', 'male'), (1, 256), 0.51)
    >>> gender.cosines(model.get_vectors(["nurse", "engineer"])).round(2)
    array([[ 0.32, -0.32],
           [ 0.05, -0.05]])
    """

    name: str
    groups: tuple[str, ...]
    towards: Vectors = field(repr=False)
    subspace: Vectors = field(repr=False)
    explained_variance_ratio: Vectors = field(repr=False)
    reach: Vectors = field(repr=False)
    sets: tuple[tuple[str, ...], ...] = field(repr=False)
    n_lost: int
    model_name: str
    criterion: Criterion = field(repr=False)

    @property
    def is_binary(self) -> bool:
        """Whether there are two groups, so one signed number describes a word."""
        return len(self.groups) == 2

    @property
    def labels(self) -> tuple[str, ...]:
        """Possible labels of a word: the group it leans to, or 'no clear direction'."""
        return (*self.groups, NO_CLEAR_DIRECTION)

    @property
    def explained(self) -> float:
        """Share of the variance of the definitional sets that lies in the subspace."""
        return float(self.explained_variance_ratio[: len(self.subspace)].sum())

    def caveat(self) -> str:
        """Warn about directions that hold less than half of the variance of their sets.

        Returns
        -------
        str
            A sentence, or ''.
        """
        if self.explained >= LEAST_EXPLAINED:
            return ""
        return (
            f"the directions of {self.name} hold {self.explained:.0%} of the variance of the "
            f"{len(self.sets)} definitional sets, which have little in common in "
            f"{self.model_name}. Positions along them may be chance; see wefe.audit.audit_direction"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the directions as plain data for JSON.

        Returns
        -------
        dict
            'n_sets' and 'n_sets_lost' are numbers of definitional sets, 'reach' is by group.
        """
        return {
            "criterion": self.name,
            "groups": list(self.groups),
            "n_sets": len(self.sets),
            "n_sets_lost": self.n_lost,
            "explained": self.explained,
            "explained_variance_ratio": self.explained_variance_ratio.tolist(),
            "n_directions": len(self.subspace),
            "reach": dict(zip(self.groups, self.reach.tolist(), strict=True)),
            "caveat": self.caveat(),
        }

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return int(self.towards.shape[1])

    @property
    def words(self) -> frozenset[str]:
        """Words to which a group rightly belongs: those of the sets, and 'specific' ones."""
        return frozenset(self.criterion.specific_words)

    def cosines(self, vectors: npt.ArrayLike) -> Vectors:
        """Cosines of vectors with the direction of each group, in float64.

        Parameters
        ----------
        vectors : array-like of shape (n_words, dim)
            Vectors of any length.

        Returns
        -------
        ndarray of shape (n_words, n_groups)
            In [-1, 1]; NaN for vectors without a direction.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            units = unit_rows(np.asarray(vectors, dtype=np.float64))
        return np.asarray(np.clip(units @ self.towards.T, -1.0, 1.0))

    def without(self, vectors: npt.ArrayLike) -> Vectors:
        """Vectors without their part in the bias subspace, in float64.

        Parameters
        ----------
        vectors : array-like of shape (n_words, dim)
            Vectors of any length.

        Returns
        -------
        ndarray of shape (n_words, dim)
            What is orthogonal to all directions. :mod:`wefe.debias` mitigates models.
        """
        wide = np.asarray(vectors, dtype=np.float64)
        return np.asarray(wide - wide @ self.subspace.T @ self.subspace)


Places: TypeAlias = npt.NDArray[np.intp]
#: What functions take for a criterion.
CriterionLike: TypeAlias = (
    str
    | os.PathLike[str]
    | Criterion
    | Mapping[str, Sequence[str]]
    | Sequence[Sequence[str]]
    | BiasDirections
)


def bias_directions(
    model: WordEmbeddingModel,
    criterion: CriterionLike = "gender",
    *,
    preprocessors: Preprocessors | None = None,
) -> BiasDirections:
    """Find the directions towards the groups of a criterion.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model.
    criterion : str, Criterion, mapping or sequence, default='gender'
        - a name of :func:`wefe.datasets.list_criteria`, with the words that ship with the package
          (so nothing is downloaded), or a file;
        - a criterion, for example ``load_criterion("gender")`` with all its specific words;
        - the words of each group, word i of all groups being one tuple:
          ``{"female": ["she", "woman"], "male": ["he", "man"]}``;
        - tuples of words that differ in the group only: ``[("she", "he"), ("woman", "man")]``, or
          one such tuple; their first words name the groups. (Target sets of a query are the other
          way round: give them as a mapping.)
        - directions found before, in any model of as many dimensions.
    preprocessors : list of dict, optional
        Variants of each word; see :class:`wefe.embeddings.Lookup`.

    Returns
    -------
    BiasDirections
        Of the sets that the model has complete; others are left out, counted and logged.

    Raises
    ------
    TypeError, ValueError
        If the criterion is none of these, no set is complete, or the groups do not differ.

    References
    ----------
    Bolukbasi, Chang, Zou, Saligrama and Kalai, "Man is to Computer Programmer as Woman is to
    Homemaker? Debiasing Word Embeddings", NeurIPS 2016, section 5.1.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> gender = bias_directions(load_test_model())
    >>> gender
    BiasDirections(name='gender', groups=('female', 'male'), n_lost=0, model_name='minilm-words')
    >>> gender.explained_variance_ratio[:2].round(2)
    array([0.51, 0.11])
    """
    check_model(model)
    if isinstance(criterion, BiasDirections):
        if criterion.dim != model.dim:
            raise ValueError(
                f"the directions have {criterion.dim} dimensions and {model.name} has {model.dim}."
            )
        return criterion
    known = as_criterion(criterion)
    sets = list(known.definitional_sets)
    unusable = [look_up(model, words, preprocessors).unusable for words in sets]
    if any(unusable):
        logger.warning(
            "definitional sets with words without a direction are left out: %s", unusable
        )
        # If none is left, the look-up below says so.
        sets = [words for words, bad in zip(sets, unusable, strict=True) if not bad] or sets
    complete = definitional_vectors(model, sets, "definitional_sets", preprocessors)
    # A set whose words share a form in the vocabulary has fewer vectors than words.
    vectors = [
        part.vectors[[row for row in part.first_row if row is not None]] for part in complete
    ]
    groups = list(np.stack(vectors, axis=1))
    towards = group_directions(groups)
    subspace = towards[:1]
    if len(groups) > 2:
        _, singular, axes = np.linalg.svd(towards, full_matrices=False)
        subspace = axes[singular > RANK_TOLERANCE * singular[0]]
    kept = {part.name for part in complete}
    sets = [words for i, words in enumerate(sets) if f"definitional_sets[{i}]" in kept]
    return BiasDirections(
        known.name,
        tuple(known.class_names),
        towards,
        subspace,
        bias_subspace(groups).explained_variance_ratio,
        np.array([(part @ axis).mean() for part, axis in zip(groups, towards, strict=True)]),
        tuple(tuple(words) for words in sets),
        len(known.definitional_sets) - len(sets),
        model.name,
        known,
    )


def as_criterion(criterion: Any) -> Criterion:
    """Return a criterion, given by name or by its words."""
    if isinstance(criterion, BiasDirections):
        return criterion.criterion
    if isinstance(criterion, Criterion):
        return criterion
    if isinstance(criterion, str | os.PathLike):
        return load_criterion(criterion, offline=True)
    if isinstance(criterion, Mapping):
        names, columns = list(criterion), list(criterion.values())
        sizes = {name: len(words) for name, words in criterion.items()}
        if len(set(sizes.values())) != 1:
            raise ValueError(
                "the groups of a criterion are paired by position, so they need as many words; "
                f"got {sizes}."
            )
        tuples = list(zip(*columns, strict=True))
        return Criterion(" and ".join(names), tuples, class_names=names)
    if isinstance(criterion, Sequence) and len(criterion):
        sets = [criterion] if all(isinstance(word, str) for word in criterion) else criterion
        if len({len(words) for words in sets if isinstance(words, list | tuple)}) > 1:
            raise ValueError(
                "tuples of one word per group, such as [('she', 'he'), ('woman', 'man')], need one "
                f"length; got {found(criterion)}. For words by group, use a mapping: {{'female': "
                "['she', 'woman'], 'male': ['he', 'man']}."
            )
        return Criterion(" - ".join(sets[0]), sets, class_names=list(sets[0]))
    raise TypeError(
        "criterion must be a name such as 'gender', a Criterion, the words of each group, or "
        f"tuples of words; got {found(criterion)}."
    )


def chance(frequent: FloatArray, directions: BiasDirections) -> float:
    """Return the strength that most of the frequent words do not exceed, given their cosines."""
    strengths = _strength(frequent, directions)
    usual = np.quantile(strengths, CLEAR, method="inverted_cdf") if len(strengths) else 0.0
    return max(ROUNDING, float(usual))


def places(cosines: FloatArray, chance: float, directions: BiasDirections) -> Places:
    """Return the place in `directions.labels` of each word's label; -1 where it is unknown."""
    strength = _strength(cosines, directions)
    # The word that sets the range lies within it, however its vector was read.
    place = np.where(
        strength > chance * (1 + 1e-6), cosines.argmax(axis=-1), len(directions.groups)
    )
    return np.where(np.isnan(strength), -1, place)


def _strength(cosines: FloatArray, directions: BiasDirections) -> Vectors:
    """Return the share of the length of words that lies in the bias subspace."""
    # The directions span the subspace, so the cosines give the coordinates in it.
    to_subspace = np.linalg.pinv(directions.subspace @ directions.towards.T)
    return np.asarray(np.linalg.norm(cosines @ to_subspace, axis=-1))
