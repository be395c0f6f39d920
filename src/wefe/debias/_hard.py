"""Hard and soft debiasing (Bolukbasi et al., NIPS 2016; Manzini et al., NAACL-HLT 2019)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, ClassVar, Literal

import numpy as np

from wefe._checks import logger
from wefe.datasets import Criterion
from wefe.debias._base import (
    Fates,
    NotNegative,
    OptionalCount,
    RowwiseDebias,
    check_words,
    fits,
    flattened,
    in_every_case,
    log_lost,
    rows_of,
)
from wefe.debias._projection import Erasure, UnitMap, Vectors, equalized, to_unit
from wefe.models._passes import vocabulary_blocks
from wefe.models._search import directions
from wefe.models._word_embedding_model import WordEmbeddingModel


class _SubspaceDebias(RowwiseDebias):
    """Neutralise, then equalize; `fit` sets `bias_subspace_` and `equalize_sets_`."""

    def _settled(self, model: WordEmbeddingModel, fates: Fates) -> dict[int, Vectors]:
        """Equalize sets, even of words that are ignored (and so not neutralised) or no target."""
        sets = self.equalize_sets_
        row_of = rows_of(model, flattened(sets))
        rows = np.array([*row_of.values()], dtype=np.intp)
        originals = model.table.rows(rows)
        mapped = originals.copy()
        self._map(mapped, fates[rows])
        (before, directed), (now, _) = directions(originals), directions(mapped)
        lost = [*compress(row_of, ~directed)]
        log_lost(model, lost, len(row_of), "directions of words to equalize")
        place_of = {word: i for i, word in enumerate(row_of) if directed[i]}
        known = [[place_of[word] for word in words if word in place_of] for words in sets]
        complete = [places for places in known if len(places) > 1]
        settled: dict[int, Vectors] = {}
        for places in complete:
            # A word in two sets: the last one counts.
            new = equalized(now[places], before[places], self.bias_subspace_)
            settled |= zip(rows[places].tolist(), new, strict=True)
        logger.info(
            "%d of %d sets (with their variants in case) were not equalized, as the model has "
            "fewer than two of their words",
            *(len(sets) - len(complete), len(sets)),
        )
        return settled

    def _learn(
        self, model: WordEmbeddingModel, definitional: Any, equalize: Any, size: int | None
    ) -> None:
        sets = self._fit_subspace(model, definitional, size)
        self.map_ = Erasure(self.bias_subspace_, self.bias_subspace_, to_unit=True)
        equalize = sets if equalize is None else equalize
        self.equalize_sets_ = with_variants(self._check_sets_size(equalize, "equalize", size))


def with_variants(sets: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return sets as given and in lower, title and upper case, like the published code."""
    variants = (each for words in sets for each in zip(*map(in_every_case, words), strict=True))
    return list(dict.fromkeys(variants))


class HardDebias(_SubspaceDebias):
    """Hard debiasing: neutral words lose their whole component along the bias direction.

    Three steps, on vectors of unit length:

    1. *Identify* the bias direction g: the first principal component of the pairs, each centred.
    2. *Neutralise* every word w that is not ignored: w - (w . g) g, scaled to unit length.
    3. *Equalize* each pair: the same vector outside of g, opposite components along g. Every
       neutral word is then equally near to both.

    For more than two classes see :class:`MulticlassHardDebias`. Only changed words get unit length.
    As published, pairs to equalize change even if they are ignored or no target;
    ``equalize_pairs=[]`` avoids this. Source: Bolukbasi et al., Man is to Computer Programmer as
    Woman is to Homemaker?, NIPS 2016.

    Parameters
    ----------
    pca_args, verbose, criterion_name : optional
        See :class:`BaseDebias`. Only the first component is removed; others show if it dominates.

    Attributes
    ----------
    bias_direction_, bias_subspace_ : ndarray of shape (dim,) and (1, dim)
        Unit vector, pointing to the first words of the pairs.
    pca_ : sklearn.decomposition.PCA
        Its `explained_variance_ratio_` shows how well one direction represents the pairs.
    definitional_pairs_, equalize_pairs_ : list of tuple of str
        The pairs; those to equalize also in lower, title and upper case.
    definitional_pairs_embeddings_ : list of dict
        Unit vectors of the definitional pairs found.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> model = load_test_model()
    >>> method = HardDebias().fit(model, [("she", "he"), ("woman", "man")])
    >>> print(f"{abs(method.transform(model)['nurse'] @ method.bias_direction_):.3f}")
    0.000
    """

    _class_words: ClassVar[str] = "definitional_pairs_"

    @fits("definitional_pairs")
    def fit(
        self,
        model: WordEmbeddingModel,
        definitional_pairs: Sequence[Sequence[str]] | None = None,
        equalize_pairs: Sequence[Sequence[str]] | None = None,
        *,
        criterion: Criterion | str | None = None,
        **fit_params: Any,
    ) -> HardDebias:
        """Find the bias direction.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to learn from.
        definitional_pairs : sequence of pairs of str
            Words that differ only in the class: ``[["woman", "man"], ["she", "he"]]``. Pairs with a
            missing word are left out and logged.
        equalize_pairs : sequence of pairs of str, optional
            Pairs to equalize, or []; by default those of the criterion, or the definitional pairs.
        """
        self._learn(model, definitional_pairs, equalize_pairs, 2)
        self.equalize_pairs_ = self.equalize_sets_
        return self


class MulticlassHardDebias(_SubspaceDebias):
    """Hard debiasing for any number of classes, such as religions, ethnicities or genders.

    It works like :class:`HardDebias`, with a subspace: the first principal components of the sets.
    Equalized words keep their sides within the subspace and get the same vector outside. Source:
    Manzini et al., Black is to Criminal as Caucasian is to Police, NAACL 2019.

    Equalize words that name the classes ('synagogue', 'church', 'mosque'): stereotyped words would
    spread *along* the subspace, which may increase or reverse the bias.

    Parameters
    ----------
    pca_args, verbose, criterion_name : optional
        See :class:`BaseDebias`. All components are removed, at most as many as the sets span (8 for
        'ethnicity'). The authors remove one, which cannot separate three classes.

    Attributes
    ----------
    bias_subspace_, pca_, definitional_sets_, equalize_sets_, definitional_sets_embeddings_
        Removed directions, (n_components, dim); and as in :class:`HardDebias`, with sets for pairs.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> len(MulticlassHardDebias().fit(load_test_model(), criterion="ethnicity").bias_subspace_)
    8
    """

    _class_words: ClassVar[str] = "definitional_sets_"

    @fits("definitional_sets")
    def fit(
        self,
        model: WordEmbeddingModel,
        definitional_sets: Sequence[Sequence[str]] | None = None,
        equalize_sets: Sequence[Sequence[str]] | None = None,
        *,
        criterion: Criterion | str | None = None,
        **fit_params: Any,
    ) -> MulticlassHardDebias:
        """Find the bias subspace.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to learn from.
        definitional_sets : sequence of sequences of str
            Words that differ only in the class, in the same order of classes: ``[["jew",
            "christian", "muslim"], ["synagogue", "church", "mosque"]]``. Sets with missing words
            are left out.
        equalize_sets : sequence of sequences of str, optional
            Sets to equalize, as `equalize_pairs` in :meth:`HardDebias.fit`.
        """
        self._learn(model, definitional_sets, equalize_sets, None)
        n_classes = max(map(len, self.definitional_sets_embeddings_))
        if len(self.bias_subspace_) < n_classes - 1:
            logger.warning(
                "%d components cannot separate %d classes, so equalized words may coincide; use %d",
                *(len(self.bias_subspace_), n_classes, n_classes - 1),
            )
        return self


# Directions in which a vocabulary varies by less than this share of the largest are not in it.
_NO_VARIATION = 1e-10
# Eigenvalues of T'T that are 0 but for rounding are not below this number.
_ROUNDING = 1e-9
# ADMM stops once two steps agree to this share of the solution.
_TOLERANCE = 1e-10
_MAX_STEPS = 5_000


@dataclass(eq=False, repr=False)
class SoftDebias(RowwiseDebias):
    """Soft debiasing: lower the bias as far as it costs little similarity.

    One linear map T of all words, W -> W T', balances two aims: inner products of the words stay,
    and neutral words N become orthogonal to the bias directions B::

        minimise  ||(W T')(W T')' - W W'||^2 + bias_weight * ||(N T')(T B')||^2

    in Frobenius norms, with unit vectors in the rows of W and N, and an orthonormal basis in those
    of B: one row for two classes. All vectors are scaled to unit length afterwards. The solution is
    exact: the problem is convex in T'T, and T is its symmetric root. If the closed form has
    negative eigenvalues (possible with few words), ADMM finds the minimum to a relative 1e-10.
    Sources: Bolukbasi et al., see :class:`HardDebias`; for more classes Manzini et al., see
    :class:`MulticlassHardDebias`, whose code takes a few steps of gradient descent instead.

    Parameters
    ----------
    pca_args, verbose, criterion_name : optional
        See :class:`BaseDebias`.
    bias_weight : float, default=0.2
        Weight of the bias, at least 0: 0 only changes lengths, very large weights remove B. For the
        packaged vectors and gender, 0.2 lowers the mean absolute cosine of neutral words with B
        from 0.054 to 0.009, and 10 to 0.001.
    scale : {'mean', 'sum'}, default='mean'
        'sum' is as published: the first term grows with the square of the number of words, so 0.2
        hardly changes a real vocabulary. 'mean' divides the terms by the numbers of pairs of words,
        and of neutral words times directions, so a weight suits vocabularies of every size.
    n_components : int, optional
        Number of directions, at most as many as the sets span; by default n_classes - 1.

    Attributes
    ----------
    transformation_, bias_direction_, bias_subspace_, pca_, definitional_sets_
        T, (dim, dim), symmetric, without negative eigenvalues; and as in
        :class:`MulticlassHardDebias`.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> SoftDebias().fit(load_test_model(), [("she", "he"), ("woman", "man")]).transformation_.shape
    (256, 256)
    """

    _fit_reads_vocabulary: ClassVar[bool] = True

    bias_weight: NotNegative = 0.2
    scale: Literal["mean", "sum"] = "mean"
    n_components: OptionalCount = None

    @fits("definitional_sets")
    def fit(
        self,
        model: WordEmbeddingModel,
        definitional_sets: Sequence[Sequence[str]] | None = None,
        *,
        neutral_words: Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        criterion: Criterion | str | None = None,
        **fit_params: Any,
    ) -> SoftDebias:
        """Find the bias directions and the map.

        Parameters
        ----------
        model, definitional_sets : optional
            See :meth:`MulticlassHardDebias.fit`; the whole vocabulary, and for two classes pairs.
        neutral_words, ignore : sequence of str, optional
            Words that should have no bias (missing ones are logged); by default all but the
            definitional ones and `ignore`, which rightly belong to a class, such as 'actress'.
        """
        sets = self._fit_subspace(model, definitional_sets, None)
        self.bias_subspace_ = self.bias_subspace_[: self.n_components or max(map(len, sets)) - 1]
        gram, n_words = unit_gram(model)
        if neutral_words is None:
            others = _unit_vectors(model, [*flattened(sets), *check_words("ignore", ignore)])
            neutral_gram, n_neutral = gram - others.T @ others, n_words - len(others)
        else:
            asked = dict.fromkeys(check_words("neutral_words", neutral_words))
            units = _unit_vectors(model, asked)
            neutral_gram, n_neutral = units.T @ units, len(units)
            if n_neutral < len(asked):
                logger.warning(
                    "%s lacks %d of the %d neutral words, or they have no direction",
                    *(model.name, len(asked) - n_neutral, len(asked)),
                )
        if n_neutral == 0:
            raise ValueError(
                f"{model.name} has no neutral word left; at least 1 is needed. Pass neutral_words, "
                "or ignore fewer."
            )
        if self.scale == "mean":
            gram = gram / n_words
            neutral_gram = neutral_gram / (n_neutral * len(self.bias_subspace_))
        self.transformation_ = soft_transform(
            gram, neutral_gram, self.bias_subspace_, self.bias_weight
        )
        self.map_ = UnitMap(self.transformation_)
        self._log(
            "%d of %d words count as neutral; %d bias directions",
            *(n_neutral, n_words, len(self.bias_subspace_)),
        )
        return self


def unit_gram(model: WordEmbeddingModel) -> tuple[Vectors, int]:
    """Return W'W of all unit vectors (rows of W), and their number; one pass, in float64."""
    gram, n_words = np.zeros((model.dim, model.dim)), 0
    for _, vectors in vocabulary_blocks(model):
        unit = to_unit(vectors.astype(np.float64))
        gram += unit.T @ unit
        n_words += len(unit)
    return gram, n_words


def _unit_vectors(model: WordEmbeddingModel, words: Iterable[str]) -> Vectors:
    units, directed = directions(model.table.rows([*rows_of(model, [*words]).values()]))
    return units[directed]


def soft_transform(
    gram: Vectors, neutral_gram: Vectors, basis: Vectors, bias_weight: float
) -> Vectors:
    """Find the map T of :class:`SoftDebias` from `gram` W'W, `neutral_gram` N'N and `basis` B.

    X = T'T minimises ``||W (X - I) W'||^2 + bias_weight * ||N X B'||^2``; N is in the span of W.
    """
    variation, axes = np.linalg.eigh(gram)
    within = variation > _NO_VARIATION * variation[-1]
    # In coordinates X = F Z F' with F'W'W F = I, the first term is ||Z - R||^2.
    frame = axes[:, within] / np.sqrt(variation[within])
    wanted = frame.T @ gram @ gram @ frame
    neutral, beta = frame.T @ neutral_gram @ frame, basis @ frame
    change = _change(wanted, neutral, beta, bias_weight)
    values, columns = np.linalg.eigh(np.eye(len(gram)) - frame @ change @ frame.T)
    if values[0] < -_ROUNDING:
        change = wanted - _minimum_above_zero(wanted, neutral, beta, bias_weight)
        values, columns = np.linalg.eigh(np.eye(len(gram)) - frame @ change @ frame.T)
    return np.asarray((columns * np.sqrt(values.clip(0))) @ columns.T)


def _change(wanted: Vectors, neutral: Vectors, beta: Vectors, weight: float) -> Vectors:
    """Return R - Z for the Z that minimises ``||Z - R||^2 + weight * ||N Z beta'||^2``.

    Where the gradient is zero, Z = R - (Y'beta + beta'Y) weight / 2. Y = beta Z N'N solves linear
    equations: Y + (beta Y'beta + beta beta'Y) N'N weight / 2 = beta R N'N.
    """
    system = np.einsum("ji,lm->jmli", beta, beta @ neutral)
    system += np.einsum("jl,im->jmli", beta @ beta.T, neutral)
    system = np.eye(beta.size) + weight / 2 * system.reshape(beta.size, beta.size)
    y = np.linalg.solve(system, (beta @ wanted @ neutral).ravel()).reshape(beta.shape)
    product = weight / 2 * (y.T @ beta)
    return np.asarray(product + product.T)


def _minimum_above_zero(wanted: Vectors, neutral: Vectors, beta: Vectors, weight: float) -> Vectors:
    """Return the minimum over positive semidefinite Z by ADMM with exact steps."""
    size = np.linalg.norm(wanted)
    positive, dual = wanted, np.zeros_like(wanted)
    for _ in range(_MAX_STEPS):
        # argmin of the sum and of ||Z - (positive - dual)||^2
        middle = (wanted + positive - dual) / 2
        free = middle - _change(middle, neutral, beta, weight / 2)
        before = positive
        values, columns = np.linalg.eigh(free + dual)
        positive = (columns * values.clip(0)) @ columns.T
        dual += free - positive
        apart = max(np.linalg.norm(free - positive), np.linalg.norm(positive - before))
        if apart <= _TOLERANCE * size:
            break
    else:
        logger.warning(
            "soft debiasing: not converged after %d steps; the last was %.1e of the solution",
            *(_MAX_STEPS, apart / size),
        )
    return np.asarray(positive)
