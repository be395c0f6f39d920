"""Hard Debias (Bolukbasi, Chang, Zou, Saligrama and Kalai, NIPS 2016)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from wefe.datasets import Criterion
from wefe.debias._base import in_every_case
from wefe.debias._projection import Vectors, equalized, neutralised, to_unit
from wefe.debias._rowwise import RowwiseDebias
from wefe.embeddings import definitional_vectors
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

logger = logging.getLogger(__name__)


class _SubspaceDebias(RowwiseDebias):
    """Neutralise, then equalize: what the binary and the multiclass method have in common.

    `fit` sets `bias_subspace_` (n_directions, dim) and `equalize_sets_`.
    """

    bias_subspace_: Vectors
    equalize_sets_: list[tuple[str, ...]]

    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        return to_unit(neutralised(vectors, self.bias_subspace_))

    def _joint_words(self) -> list[str]:
        return [word for words in self.equalize_sets_ for word in words]

    def _settle_jointly(
        self, originals: Mapping[str, Vectors], mapped: Mapping[str, Vectors]
    ) -> dict[str, Vectors]:
        settled: dict[str, Vectors] = {}
        n_incomplete = 0
        for words in self.equalize_sets_:
            known = [word for word in words if word in originals]
            if len(known) < 2:
                n_incomplete += 1
                continue
            before = np.stack([originals[word] / _length(originals[word]) for word in known])
            now = np.stack([mapped[word] / _length(mapped[word]) for word in known])
            # A word in two sets: the last one counts.
            settled |= zip(known, equalized(now, before, self.bias_subspace_), strict=True)
        if n_incomplete:
            logger.info(
                "%d of %d sets (with their variants in case) were not equalized, as the model has "
                "fewer than two of their words",
                *(n_incomplete, len(self.equalize_sets_)),
            )
        return settled

    def _warn_if_definitional_words_change(
        self, target: object, ignore: object, words: set[str]
    ) -> None:
        if target is None and not ignore:
            logger.warning(
                "nothing is ignored, so words to which the class rightly belongs (%s) lose it "
                "too; pass them as ignore",
                ", ".join(sorted(words)[:4]),
            )


def _length(vector: Vectors) -> float:
    # What became zero stays zero.
    return float(np.linalg.norm(vector)) or 1.0


def with_variants(sets: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return sets in lower, title and upper case, as the published code does, and as given.

    Examples
    --------
    >>> with_variants([["she", "he"]])
    [('she', 'he'), ('She', 'He'), ('SHE', 'HE')]
    """
    variants = (each for words in sets for each in zip(*map(in_every_case, words), strict=True))
    return list(dict.fromkeys(variants))


class HardDebias(_SubspaceDebias):
    """Hard debiasing: no neutral word keeps any component along the bias direction.

    Three steps [1]_, on vectors of unit length:

    1. *Identify* the bias direction g: the first principal component of the definitional pairs,
       each centred on its own mean.
    2. *Neutralise* every word w but those to ignore: w - (w . g) g, scaled to unit length.
    3. *Equalize* each pair: both words get the same vector outside of g, and opposite components
       along g, so that every neutral word is equally near to both.

    The method is binary; for more classes see :class:`MulticlassHardDebias`.

    Parameters
    ----------
    pca_args : dict, optional
        Arguments of the principal component analysis; ``{"n_components": 10}`` by default. Only
        the first component is removed; more of them are computed to see whether it dominates.
    verbose : bool, default=False
        Log what is done at level INFO.
    criterion_name : str, optional
        For example 'gender'. The mitigated model is called 'MODEL_gender_debiased'.

    Attributes
    ----------
    bias_direction_ : ndarray of shape (dim,)
        Unit vector, pointing to the first words of the pairs.
    bias_subspace_ : ndarray of shape (1, dim)
        The same.
    pca_ : sklearn.decomposition.PCA
        Its `explained_variance_ratio_` tells how far one direction represents the pairs.
    definitional_pairs_, equalize_pairs_ : list of tuple of str
        The pairs; those to equalize also in lower, title and upper case.
    definitional_pairs_embeddings_ : list of dict
        Unit vectors of the definitional pairs found.

    Notes
    -----
    Words that change get unit length; all others keep every bit. Words of pairs to equalize
    change even where they are ignored or no target, as published; ``equalize_pairs=[]`` avoids it.
    The vectors equalised are those of the model that is transformed.

    A lower score afterwards does not mean that the bias is gone: what words have in common with
    their former neighbours mostly betrays it still. :func:`wefe.debias.compare` shows how far.

    References
    ----------
    .. [1] T. Bolukbasi, K.-W. Chang, J. Zou, V. Saligrama and A. Kalai. Man is to Computer
       Programmer as Woman is to Homemaker? Debiasing Word Embeddings. NIPS 2016.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import fetch_debiaswe
    >>> model, words = load_test_model(), fetch_debiaswe(offline=True)
    >>> method = HardDebias(criterion_name="gender").fit(
    ...     model, words["definitional_pairs"], words["equalize_pairs"]
    ... )
    >>> debiased = method.transform(model, ignore=words["gender_specific_seed"])
    >>> debiased.name
    'minilm-words_gender_debiased'
    >>> cosine = debiased["nurse"].astype(float) @ method.bias_direction_
    >>> print(f"{abs(cosine):.3f}, before {abs(model['nurse'] @ method.bias_direction_):.3f}")
    0.000, before 0.275
    """

    _from_criterion: ClassVar[Mapping[str, str]] = {
        "definitional_pairs": "definitional_sets",
        "equalize_pairs": "equalize_sets",
    }

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
            Words that differ in the class only: ``[["woman", "man"], ["she", "he"]]``. Pairs of
            which the model lacks a word are left out, counted and logged.
        equalize_pairs : sequence of pairs of str, optional
            Pairs to equalize; by default the definitional pairs. An empty list for none.
        criterion : Criterion or str, optional
            Takes the place of word sets that are not given: 'gender', or word sets of yours. A
            criterion brings its pairs to equalize.
        **fit_params
            No others are taken: a name that is not among these is refused.

        Returns
        -------
        HardDebias
            The method itself.

        Raises
        ------
        TypeError
            If there are neither word sets nor a criterion, or a parameter has another name or type.
        ValueError
            If a set is no pair, or the model has none of the definitional pairs complete.
        """
        self._refuse_unknown(fit_params)
        words = self._fit_words(
            criterion,
            {"definitional_pairs": definitional_pairs, "equalize_pairs": equalize_pairs},
        )
        self._require(words, "definitional_pairs")
        pairs = self._check_sets_size(words["definitional_pairs"], "definitional")
        equalize = words["equalize_pairs"]
        checked = pairs if equalize is None else self._check_sets_size(equalize, "equalize")
        complete = definitional_vectors(model, pairs, "definitional_pairs")
        self.definitional_pairs_ = pairs
        self.definitional_pairs_embeddings_ = [
            dict(zip(part.words, part.vectors, strict=True)) for part in complete
        ]
        self.pca_ = self._identify_bias_subspace([part.vectors for part in complete], self.verbose)
        self.bias_direction_: npt.NDArray[np.float64] = self.pca_.components_[0]
        self.bias_subspace_ = self.bias_direction_[None]
        self.equalize_pairs_ = self.equalize_sets_ = with_variants(checked)
        self.dim_ = model.dim
        return self

    def transform(
        self,
        model: WordEmbeddingModel,
        target: Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        copy: bool = True,
    ) -> WordEmbeddingModel:
        """Neutralise the words of a model and equalize its pairs.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to change: the one fitted, or another one of the same space.
        target : sequence of str, optional
            The words to neutralise; all by default.
        ignore : sequence of str, optional
            Words that are not neutralised, also where they are in `target`: those to which the
            class rightly belongs, such as 'actress'. By default none, so that 'she' and 'he' lose
            it too.
        copy : bool, default=True
            True leaves `model` as it is; see :meth:`RowwiseDebias.transform`.

        Returns
        -------
        WordEmbeddingModel
            The mitigated model: `model` itself if `copy` is False.

        Raises
        ------
        ValueError
            If the model has another number of dimensions, or none of the words in `target`.
        sklearn.exceptions.NotFittedError
            If the method was not fitted.
        """
        if hasattr(self, "definitional_pairs_"):
            words = {word for pair in self.definitional_pairs_ for word in pair}
            self._warn_if_definitional_words_change(target, ignore, words)
        return super().transform(model, target, ignore, copy)
