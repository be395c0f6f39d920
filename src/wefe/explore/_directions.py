"""Look up words in a model, and find directions towards the groups of a criterion."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import check_sequence, check_text, logger, nearest
from wefe.datasets import Criterion, load_criterion
from wefe.debias._projection import orthonormal
from wefe.embeddings import definitional_vectors, forms_found
from wefe.metrics._geometry import Vectors, unit_rows
from wefe.metrics._projection import ROUNDING, bias_subspace, group_directions
from wefe.models._passes import Rows, bare_words, forms
from wefe.models._search import directions
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.words import Preprocessors

#: Gonen and Goldberg (2019) look at that many words from the start of a vocabulary.
FREQUENT = 50_000


AS_LOOKED_UP = "as written, or in a form that the preprocessors produce"


class Found(NamedTuple):
    """Words found in a model."""

    #: As they were asked for, and as the vocabulary has them, without its prefix.
    words: list[str]
    forms: list[str]
    #: Of shape (n_words, dim), float64.
    vectors: Vectors
    #: Words that the model lacks, or that have no direction.
    lost: tuple[str, ...]


def look_up(
    model: WordEmbeddingModel,
    words: Sequence[str],
    preprocessors: Preprocessors | None,
    called: str | None = None,
) -> Found:
    """Look up each word separately, so that a problem with one does not affect the others.

    If a list of words is `called` something, those left out are logged.

    >>> model = WordEmbeddingModel((["a", "b"], np.array([[1.0, 0.0], [0.0, 0.0]])), "toy")
    >>> look_up(model, ["a", "A", "b", "c"], [{}, {"lowercase": True}])[2:]
    (array([[1., 0.]]), ('b', 'c'))
    """
    hits = forms_found(model, tuple(dict.fromkeys(words)), preprocessors, "first")
    first: dict[str, str] = {}
    for word, hit in hits.items():
        if hit:
            first.setdefault(hit[0], word)
    vectors = np.asarray(model.get_vectors(list(first)), np.float64).reshape(-1, model.dim)
    directed = directions(vectors)[1]
    known = {form: first[form] for form in itertools.compress(first, directed)}
    lost = tuple(word for word, hit in hits.items() if not hit or hit[0] not in known)
    left_out = {
        "lacks, or has no direction for,": lost,
        "already has in another form": hits.keys() - {*known.values(), *lost},
    }
    for what, own in left_out.items():
        if own and called is not None:
            facts = model.name, what, len(own), len(hits), called, ", ".join(sorted(own))
            logger.warning("%s %s %d of %d words of %r: %s", *facts)
    return Found([*known.values()], bare_words(model, known), vectors[directed], lost)


def own_words(model: WordEmbeddingModel, rows: Rows) -> tuple[list[str], npt.NDArray[np.bool_]]:
    """Return the words of rows that have the model's prefix, without it, and which rows these are.

    Rows without the prefix may be words of other languages.
    """
    prefix = model.vocab_prefix or ""
    every = np.array(model.table.words_at(rows), dtype=object)
    own = np.array([form.startswith(prefix) for form in every], dtype=bool)
    return bare_words(model, every[own]), own


def form_of(model: WordEmbeddingModel, word: str, preprocessors: Preprocessors | None) -> str:
    """Return a word as in the vocabulary; KeyError if it is missing or has no direction."""
    looked_up = look_up(model, [check_text("word", word)], preprocessors)
    if looked_up.lost:
        first = bare_words(model, itertools.islice(model.vocab, FREQUENT))
        hint = nearest(word, [form for form in first if abs(len(form) - len(word)) < 3])
        raise KeyError(
            f"{model.name} has no word {word!r} {AS_LOOKED_UP} (zero vectors do not count).{hint}"
        )
    (form,) = forms(model, looked_up.forms)
    return form


# Below this share of the variance, other directions together explain more.
LEAST_EXPLAINED = 0.5
# A word leans to a group if this share of the frequent words has less direct bias.
CLEAR = 0.75
NO_CLEAR_DIRECTION = "no clear direction"


@dataclass(frozen=True, eq=False)
class BiasDirections:
    """The directions towards the groups of a criterion in one model.

    Attributes
    ----------
    name, model_name : str
        Names of the criterion and the model.
    groups : tuple of str
        Names of the groups.
    towards : ndarray of shape (n_groups, dim)
        A unit vector towards each group, from :func:`wefe.metrics.group_directions`: the bias
        direction g and -g for two groups.
    subspace : ndarray of shape (n_directions, dim)
        Orthonormal basis of the subspace that they span; only g for two groups.
    explained_variance_ratio : ndarray
        Share of the variance of the centred definitional sets along each principal direction; see
        :func:`wefe.audit.audit_direction`.
    reach : ndarray of shape (n_groups,)
        Mean cosine of each group's own definitional words with its direction: a reference for the
        projections of other words.
    sets, n_lost : tuple of tuple of str, int
        Definitional sets that are complete in the model, and the number of those left out, because
        the model lacks words.
    criterion : Criterion
        The criterion that the sets come from.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> model = load_test_model()
    >>> bias_directions(model, "gender").cosines(model.get_vectors(["nurse"])).round(2)
    array([[ 0.32, -0.32]])
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
    def shown(self) -> slice:
        """Groups to give numbers for: of two only the first, because they mirror each other."""
        return slice(1 if len(self.groups) == 2 else None)

    @property
    def explained(self) -> float:
        """Share of the variance of the definitional sets that lies in the subspace."""
        return float(self.explained_variance_ratio[: len(self.subspace)].sum())

    def caveat(self) -> str:
        """Return a warning, or '' if the directions explain half of the variance of their sets."""
        if self.explained >= LEAST_EXPLAINED:
            return ""
        return (
            f"the directions of {self.name} explain only {self.explained:.0%} of the variance of "
            f"the {len(self.sets)} definitional sets, which have little in common in "
            f"{self.model_name}. Projections may be due to chance; see wefe.audit.audit_direction"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the directions as a dict of plain data for JSON.

        'n_sets' and 'n_sets_lost' are numbers of definitional sets; 'reach' is a dict by group.
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

    def cosines(self, vectors: npt.ArrayLike) -> Vectors:
        """Return the cosines of vectors with the direction of each group.

        Parameters
        ----------
        vectors : array-like of shape (n_words, dim)
            Vectors of any length.

        Returns
        -------
        ndarray of shape (n_words, n_groups)
            In [-1, 1], float64; NaN for zero vectors.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            units = unit_rows(np.asarray(vectors, dtype=np.float64))
        return np.asarray(np.clip(units @ self.towards.T, -1.0, 1.0))

    def without(self, vectors: npt.ArrayLike) -> Vectors:
        """Return vectors without their component in the bias subspace.

        Parameters
        ----------
        vectors : array-like of shape (n_words, dim)
            Vectors of any length.

        Returns
        -------
        ndarray of shape (n_words, dim)
            Float64. To mitigate a model, use :mod:`wefe.debias`.
        """
        wide = np.asarray(vectors, dtype=np.float64)
        return np.asarray(wide - wide @ self.subspace.T @ self.subspace)

    def _chance(self, cosines: FloatArray) -> float:
        """Return the direct bias that most frequent words do not exceed, given their cosines."""
        known = self._strength(cosines[np.isfinite(cosines).all(axis=1)])
        usual = np.quantile(known, CLEAR, method="inverted_cdf") if len(known) else 0.0
        return max(ROUNDING, float(usual))

    def _places(self, cosines: FloatArray, chance: float) -> Rows:
        """Return the number of the group that each word leans to, of groups if none; else -1."""
        strength = self._strength(cosines)
        # Rounding up keeps the word that determines the range within it.
        is_clear = strength > chance * (1 + 1e-6)
        place = np.where(is_clear, cosines.argmax(axis=-1), len(self.groups))
        return np.where(np.isnan(strength), -1, place)

    def _strength(self, cosines: FloatArray) -> Vectors:
        """Return the direct bias of words: the share of their length in the bias subspace."""
        # The directions span the subspace, so the cosines give the coordinates in it.
        to_subspace = np.linalg.pinv(self.subspace @ self.towards.T)
        return np.asarray(np.linalg.norm(cosines @ to_subspace, axis=-1))


#: What functions take for a criterion.
CriterionLike: TypeAlias = (
    str | os.PathLike[str] | Criterion | Sequence[Sequence[str]] | BiasDirections
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
    criterion : str, Criterion, sequence or BiasDirections, default='gender'
        - a name from :func:`wefe.datasets.list_criteria` (only words that ship with the package; no
          download), or a file
        - a criterion, for example ``load_criterion("gender")`` with all its specific words
        - tuples of words that differ only in the group, such as ``[("she", "he")]``; the first
          tuple names the groups
        - a BiasDirections of any model of the same dimension
    preprocessors : list of dict, optional
        Variants of each word; see :class:`wefe.embeddings.Lookup`.

    Returns
    -------
    BiasDirections
        Based on the sets that are complete in the model; the others are counted and logged.

    Raises
    ------
    ValueError
        If no set is complete, a vector has no direction, or the groups do not differ.

    References
    ----------
    Bolukbasi et al., "Man is to Computer Programmer as Woman is to Homemaker? Debiasing Word
    Embeddings", NeurIPS 2016, section 5.1.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> bias_directions(load_test_model()).explained_variance_ratio[:2].round(2)
    array([0.51, 0.11])
    """
    check_model(model)
    if isinstance(criterion, BiasDirections):
        if criterion.towards.shape[1] != model.dim:
            raise ValueError(
                f"{model.name} has {model.dim} dimensions, the directions of "
                f"{criterion.model_name} have {criterion.towards.shape[1]}."
            )
        return criterion
    known = as_criterion(criterion)
    sets = known.definitional_sets
    complete = definitional_vectors(model, sets, "definitional_sets", preprocessors)
    # A set has fewer vectors than words if words share a form in the vocabulary.
    vectors = [part.vectors[np.array(part.first_row, int)] for part in complete]
    groups = list(np.stack(vectors, axis=1))
    towards = group_directions(groups)
    subspace = towards[:1] if len(groups) == 2 else orthonormal(towards)
    kept = {part.name for part in complete}
    sets = [words for i, words in enumerate(sets) if f"definitional_sets[{i}]" in kept]
    return BiasDirections(
        known.name,
        tuple(known.class_names),
        towards,
        subspace,
        bias_subspace(groups).explained_variance_ratio,
        np.array([(part @ axis).mean() for part, axis in zip(groups, towards, strict=True)]),
        tuple(map(tuple, sets)),
        len(known.definitional_sets) - len(sets),
        model.name,
        known,
    )


def as_criterion(criterion: CriterionLike) -> Criterion:
    if isinstance(criterion, BiasDirections):
        return criterion.criterion
    if isinstance(criterion, Criterion):
        return criterion
    if isinstance(criterion, str | os.PathLike):
        return load_criterion(criterion, offline=True)
    sets = check_sequence("criterion", criterion)
    names = sets[0] if sets else ()
    return Criterion(" - ".join(names), sets, class_names=names)
