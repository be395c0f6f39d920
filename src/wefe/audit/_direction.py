"""Check whether one bias direction represents its defining sets (the paper, section 5.3)."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from wefe._checks import check_choice, check_sequence, check_word_sets, listed, logger
from wefe._visible import Facts, plain, unique_labels
from wefe.audit._warnings import AuditWarning
from wefe.datasets import Criterion, load_criterion
from wefe.debias._projection import centred_rows, principal_components
from wefe.embeddings import embed_sets
from wefe.metrics._geometry import ZERO_LENGTH, Vectors, cosine, unit, unit_rows
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.words import Preprocessors

if TYPE_CHECKING:
    from sklearn.decomposition import PCA


# Below half, the other directions together explain more of the variance than the first one.
LEAST_RATIO = 0.5
# Components whose variances differ by less than a factor of 2 may swap places.
LEAST_RATIO_TO_SECOND = 2.0
# Of sets with a mean cosine rho, a typical one shares the part rho of its variance with their
# common direction (its cosine is the root of rho): here a quarter.
LEAST_CORRELATION = 0.25
# Two directions of cosine c give a word cosines that differ by up to sqrt(2 - 2c): here 0.32.
SAME_DIRECTION = 0.95
# Cosine above which two vectors belong to the same word in different spellings.
SAME_VECTOR = 1 - 1e-6
# An outlier has less than half the typical cosine with the rest: a quarter of the variance shared.
OUTLIER_SHARE = 0.5
# A clear cosine is at least three times its chance level 1/sqrt(dim); 0.5 in few dimensions.
CLEAR_DEVIATIONS, CLEAR = 3.0, 0.5
# With two or three sets, it is unclear which one is the outlier.
FEWEST_FOR_OUTLIERS = 4
_NOTHING = "have little in common"
_OPPOSITE = "share a line, but point in opposite directions along it"
# A fifth of the sets should not contribute half of the variance along the first component.
FEW_SETS, MOST_VARIANCE = 0.2, 0.5


def audit_direction(
    defining_sets: Sequence[Sequence[str]] | Criterion | str | os.PathLike[str],
    model: WordEmbeddingModel,
    *,
    normalize: bool = True,
    preprocessors: Preprocessors | None = None,
) -> DirectionAudit:
    """Check whether one bias direction represents its defining sets.

    The bias direction of Direct Bias, hard debiasing and others is the first principal component of
    the defining sets, each centred on its own mean. A few unusual sets can turn it, so that
    something else is measured or removed (Schröder et al., ICPRAM 2024: theorem 6, section 5.3 and
    figure 3).

    Parameters
    ----------
    defining_sets : sequence of sequences of str, Criterion, or str
        Pairs of words that differ only in the class, ``[["she", "he"], ["woman", "man"]]``, or
        larger sets. For a criterion, its name or its file, its `definitional_sets`.
    model : WordEmbeddingModel
        The model.
    normalize : bool, default=True
        Whether to scale vectors to unit length first, as published. Otherwise long ones count more.
    preprocessors : list of dict, optional
        Variants of each word; see :class:`wefe.embeddings.Lookup`.

    Returns
    -------
    DirectionAudit
        Directions, components, their agreement, outliers and warnings.

    Raises
    ------
    ValueError
        If a set has fewer than two words, or no complete set with different members is left.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> audit_direction("gender", load_test_model())
    <DirectionAudit of 10 sets in minilm-words: first component 51 % of the variance, ...>
    """
    given = _word_sets(defining_sets)
    labels = unique_labels(["/".join(words) for words in given], "defining sets")
    named = list(zip(labels, given, strict=True))
    parts = embed_sets(model, named, preprocessors, normalize=normalize)
    lost = {part.name: part.lost for part in parts if part.lost}
    vectors = {
        part.name: part.vectors[np.array(part.first_row, int)] for part in parts if not part.lost
    }
    identical = tuple(
        name
        for name, rows in vectors.items()
        if np.ptp(rows, axis=0).max() <= ZERO_LENGTH * np.abs(rows).max()
    )
    sets = {name: words for name, words in named if name in vectors and name not in identical}
    if lost:
        logger.warning(
            "%s lacks words of %d of %d defining sets. They are left out: %s",
            *(model.name, len(lost), len(given), ", ".join(lost)),
        )
    if not sets:
        raise ValueError(
            f"no direction: of {len(given)} defining sets, {model.name} lacks words of {len(lost)} "
            f"and the members of {len(identical)} are the same vector. One must be complete."
        )
    used = tuple(vectors[name] for name in sets)
    return DirectionAudit(model.name, sets, used, normalize, lost, identical)


@dataclass(frozen=True, eq=False, repr=False)
class DirectionAudit(Facts):
    """How well one direction represents its defining sets: result of :func:`audit_direction`.

    :func:`wefe.plotting.plot_direction_correlations` draws it.

    Attributes
    ----------
    model_name : str
        The model.
    sets : dict
        Label (such as 'she/he') -> words, for each set used.
    vectors : tuple of ndarray of shape (n_words, dim)
        Vectors of each set.
    normalized : bool
        Whether vectors have unit length.
    lost : dict
        Label -> out-of-vocabulary words, for sets left out.
    identical : tuple of str
        Sets left out because all members have the same vector.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> pairs = [["she", "he"], ["woman", "man"], ["king", "queen"]]  # the last in another order
    >>> audit_direction(pairs, load_test_model()).to_frame()["cosine"].round(2).tolist()
    [0.84, 0.94, -0.51]
    """

    model_name: str
    sets: dict[str, tuple[str, ...]]
    vectors: tuple[Vectors, ...]
    normalized: bool
    lost: dict[str, tuple[str, ...]]
    identical: tuple[str, ...]

    _facts = (
        *("model_name", "normalized", "sets", "lost", "identical", "explained_variance_ratio"),
        *("correlations", "mean_correlation", "min_correlation", "chance_cosine"),
        *("chance_ratio", "outliers", "warnings"),
    )

    @property
    def n_sets(self) -> int:
        """Number of sets used."""
        return len(self.sets)

    # Directions

    @cached_property
    def _pca(self) -> PCA:
        return principal_components(self.vectors, {"n_components": None})

    @property
    def components(self) -> Vectors:
        """Orthonormal principal components, one per row; the first is the bias direction.

        Each points from the second words of most sets to the first.
        """
        return np.asarray(self._pca.components_)

    @property
    def explained_variance_ratio(self) -> Vectors:
        """Shares of the variance along the components, descending; the sum is 1."""
        return np.asarray(self._pca.explained_variance_ratio_)

    @cached_property
    def directions(self) -> Vectors:
        """Unit vector of each set: shape (n_sets, dim).

        For a pair, the first minus the second word. For a larger set, the first principal component
        of its centred members, on the side of the joint first component.
        """
        rows = []
        for part in self.vectors:
            row = part[0] - part[1] if len(part) == 2 else _first(part - part.mean(axis=0))
            rows.append(-row if len(part) > 2 and row @ self.components[0] < 0 else row)
        return unit("directions", np.stack(rows))

    # Agreement

    @cached_property
    def correlations(self) -> pd.DataFrame:
        """Cosines of all directions and, last, the first component 'PC1': figure 3 of the paper."""
        rows = unit_rows(np.vstack([self.directions, self.components[0]]))
        names = [*self.sets, "PC1"]
        return pd.DataFrame(np.clip(rows @ rows.T, -1, 1), index=names, columns=names)

    @property
    def _between_sets(self) -> Vectors:
        between = self.correlations.to_numpy()[np.triu_indices(self.n_sets, 1)]
        return between if self.n_sets > 1 else np.array([math.nan])

    @property
    def mean_correlation(self) -> float:
        """Mean cosine between the directions of two sets, in [-1, 1]; NaN for one set."""
        return float(self._between_sets.mean())

    @property
    def min_correlation(self) -> float:
        """Lowest cosine between the directions of two sets, in [-1, 1]; NaN for one set."""
        return float(self._between_sets.min())

    @property
    def chance_cosine(self) -> float:
        """Typical absolute cosine of two unrelated directions: 1/sqrt(dim)."""
        return 1 / math.sqrt(self.components.shape[1])

    @property
    def chance_ratio(self) -> float:
        """Approximate share of the variance along the first component for unrelated sets.

        ``(1 + sqrt(r / dim))**2 / r``, at most 1, where r is the number of words minus the number
        of sets: the largest eigenvalue of random vectors (Marchenko and Pastur, 1967).
        """
        spanned = sum(len(part) - 1 for part in self.vectors)
        return min(1.0, (1 + math.sqrt(spanned) * self.chance_cosine) ** 2 / spanned)

    @cached_property
    def _table(self) -> pd.DataFrame:
        first, directions = self.components[0], self.directions
        centred = [centred_rows([part]) for part in self.vectors]
        along = np.array([((rows @ first) ** 2).sum() for rows in centred])
        rests = _firsts_without_each(list(directions[:, None]))
        columns = {
            "words": list(self.sets.values()),
            "cosine": directions @ first,
            "agreement": np.abs(np.einsum("ij,ij->i", directions, rests)),
            "stability": np.abs(_firsts_without_each(centred) @ first),
            "variance_share": along / along.sum(),
        }
        table = pd.DataFrame(columns, index=pd.Index(list(self.sets), name="set"))
        typical = table["agreement"].median()
        limit = min(OUTLIER_SHARE * typical, typical - self._clear)
        table["outlier"] = (table["agreement"] < limit) & (self.n_sets >= FEWEST_FOR_OUTLIERS)
        return table

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per set, by label.

        - 'words'
        - 'cosine' of its direction with the first component; negative if opposed to most sets
        - 'agreement': absolute cosine of its direction with the first component of the *other*
          directions. All have unit length, so a few sets with long differences cannot dominate it.
          NaN for a single set
        - 'stability': absolute cosine of the first component with and without the set; NaN for one
        - 'variance_share': its contribution to the variance along the first component
        - 'outlier': whether `agreement` is less than half the median, and lower than it by at least
          three times the chance level 1/sqrt(dim) (by 0.5 in few dimensions). Never for fewer than
          four sets
        """
        return self._table.copy()

    # Conclusions

    @property
    def _clear(self) -> float:
        return min(CLEAR, CLEAR_DEVIATIONS * self.chance_cosine)

    @property
    def outliers(self) -> tuple[str, ...]:
        """Sets whose direction differs from the others, as in :meth:`to_frame`."""
        return tuple(self._table.index[self._table["outlier"]])

    @property
    def _dominant(self) -> tuple[str, ...]:
        """The few sets that together have half of the variance; usually none."""
        largest = self._table["variance_share"].nlargest(int(FEW_SETS * self.n_sets))
        few = largest[largest > 2 / self.n_sets]  # more than twice the average
        return tuple(few.index) if few.sum() >= MOST_VARIANCE else ()

    def without(self, sets: Sequence[str]) -> DirectionAudit:
        """Audit the direction again without some sets, such as `outliers`.

        Parameters
        ----------
        sets : sequence of str
            Labels: keys of `sets`.

        Returns
        -------
        DirectionAudit
            The audit of the other sets.
        """
        left_out = check_sequence("sets", sets)
        for label in left_out:
            check_choice("sets", label, self.sets)
        kept = {label: words for label, words in self.sets.items() if label not in left_out}
        if not kept:
            raise ValueError(f"sets must leave at least one of {listed([*self.sets])}; got all.")
        vectors = [own for label, own in zip(self.sets, self.vectors, strict=True) if label in kept]
        return replace(self, sets=kept, vectors=tuple(vectors))

    @cached_property
    def warnings(self) -> tuple[AuditWarning, ...]:
        """Reasons why the first component may not be the direction of the bias.

        Kinds: 'few-sets', 'lost-sets', 'identical-members', 'repeated-sets', 'low-correlation',
        'weak-first-component', 'opposed-sets', 'mean-difference', 'unstable', 'outliers', and
        'dominated'.
        """
        table, few, pc1 = self._table, list(self._dominant), self.components[0]
        first, second = np.append(self.explained_variance_ratio, 0.0)[:2]
        # Without signs, because pairs in opposite orders still lie along one line.
        unsigned = float(np.abs(self._between_sets).mean()) if self.n_sets > 1 else 1.0
        all_pairs, off = all(len(part) == 2 for part in self.vectors), math.nan
        if all_pairs:
            off = abs(cosine(np.sum([a - b for a, b in self.vectors], axis=0), pc1))
        # Absolute cosine of the first component with and without the dominant sets.
        turned = abs(cosine(self.without(few).components[0], pc1))
        # Whether a warning holds, or the sets of which it does.
        holds: dict[str, Any] = {
            "few-sets": self.n_sets < 3,
            "lost-sets": [f"{name} lacks {', '.join(own)}" for name, own in self.lost.items()],
            "identical-members": self.identical,
            "repeated-sets": [*table.index[[self._repeats(i) for i in range(self.n_sets)]]],
            "weak-first-component": first < max(LEAST_RATIO, LEAST_RATIO_TO_SECOND * second),
            "low-correlation": self.mean_correlation < LEAST_CORRELATION,
            "opposed-sets": [*table.index[table["cosine"] < -self._clear]],
            "mean-difference": all_pairs and not off >= SAME_DIRECTION,
            "unstable": [*table.index[table["stability"] < SAME_DIRECTION]],
            "outliers": self.outliers,
            "dominated": turned < SAME_DIRECTION,
        }
        facts = {
            "audit": self,
            "few": listed(few),
            "second": second,
            "least": LEAST_CORRELATION,
            "unsigned": unsigned,
            "common": _NOTHING if unsigned < max(LEAST_CORRELATION, self._clear) else _OPPOSITE,
            "off": off,
            "worst": table["stability"].min(),
            "agreement": table["agreement"][table["outlier"]].max(),
            "typical": table["agreement"].median(),
            "share": table["variance_share"][few].sum(),
            "turned": turned,
            "median": table["cosine"].drop(few).abs().median(),
        }
        return tuple(
            AuditWarning._of(kind, named=listed(found) if np.ndim(found) else "", **facts)
            for kind, found in holds.items()
            if found
        )

    def _repeats(self, position: int) -> bool:
        """Return whether an earlier set has the same vectors, in any order."""
        own = unit("vectors", self.vectors[position])
        earlier = [unit("vectors", each) for each in self.vectors[:position]]
        alike = [own @ other.T for other in earlier if len(other) == len(own)]
        return any((cosines.max(axis=1) > SAME_VECTOR).all() for cosines in alike)

    # Output

    def __repr__(self) -> str:
        outliers = f"outliers {listed(self.outliers)}" if self.outliers else "no outliers"
        kinds = ", ".join(warning.kind for warning in self.warnings)
        return (
            f"<DirectionAudit of {self.n_sets} sets in {self.model_name}: first component "
            f"{100 * self.explained_variance_ratio[0]:.0f} % of the variance, mean correlation "
            f"{self.mean_correlation:z.2f}, {outliers}, "
            f"{f'warnings: {kinds}' if kinds else 'no warnings'}>"
        )

    def _plain(self) -> dict[str, Any]:
        sets, cosines = plain(self._table.reset_index()), plain(self.correlations.to_numpy())
        return super()._plain() | {"sets": sets, "correlations": cosines}


def _word_sets(defining_sets: object) -> tuple[tuple[str, ...], ...]:
    if isinstance(defining_sets, str | os.PathLike):
        # Offline, because downloaded lists are not needed.
        defining_sets = load_criterion(defining_sets, offline=True)
    if isinstance(defining_sets, Criterion):
        defining_sets = defining_sets.definitional_sets
    given = check_word_sets("defining_sets", defining_sets)
    if not given or min(map(len, given)) < 2:
        raise ValueError(
            "defining_sets must hold sets of two or more words, such as ('she', 'he'); got "
            f"{min(given, key=len, default=())!r}."
        )
    return given


def _first(rows: Vectors) -> Vectors:
    """Return the first right singular vector, with arbitrary sign."""
    return np.asarray(np.linalg.svd(rows, full_matrices=False)[2][0])


def _firsts_without_each(parts: Sequence[Vectors]) -> Vectors:
    """Return the first right singular vectors without each part; NaN for one part."""
    from scipy.linalg import eigh

    if len(parts) == 1:
        return np.full((1, parts[0].shape[1]), math.nan)
    # The scatter matrix without this part, in the space of all rows, has that eigenvector.
    _, values, axes = np.linalg.svd(np.concatenate(parts), full_matrices=False)
    last, whole = len(values) - 1, np.diag(values**2)
    inside = [part @ axes.T for part in parts]
    firsts = [eigh(whole - own.T @ own, subset_by_index=[last, last])[1][:, 0] for own in inside]
    return np.asarray(np.stack(firsts) @ axes)
