"""Hard Debias (Bolukbasi et al., NIPS 2016), and for many classes (Manzini et al., NAACL 2019)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from wefe.datasets import Criterion
from wefe.debias._base import in_every_case
from wefe.debias._projection import Vectors, equalized, neutralised, to_unit
from wefe.debias._rowwise import RowwiseDebias
from wefe.models._search import directions
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
            before, now = (
                directions(np.stack([vectors[word] for word in known]))[0]
                for vectors in (originals, mapped)
            )
            # A word in two sets: the last one counts.
            settled |= zip(known, equalized(now, before, self.bias_subspace_), strict=True)
        if n_incomplete:
            logger.info(
                "%d of %d sets (with their variants in case) were not equalized, as the model has "
                "fewer than two of their words",
                *(n_incomplete, len(self.equalize_sets_)),
            )
        return settled


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
        Print what is done, or log it where level INFO is on.
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

    _class_words: ClassVar[str] = "definitional_pairs_"
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
        words = self._words(
            fit_params,
            criterion,
            "definitional_pairs",
            definitional_pairs=definitional_pairs,
            equalize_pairs=equalize_pairs,
        )
        self._fit_subspace(model, words, "definitional_pairs", 1)
        equalize = words["equalize_pairs"]
        equalize = words["definitional_pairs"] if equalize is None else equalize
        checked = self._check_sets_size(equalize, "equalize")
        self.equalize_pairs_ = self.equalize_sets_ = with_variants(checked)
        self.dim_ = model.dim
        return self


class MulticlassHardDebias(_SubspaceDebias):
    """Hard debiasing for any number of classes: religions, ethnicities, and genders as well.

    The steps are those of :class:`HardDebias`, with a subspace in place of the direction [1]_:

    1. *Identify* the bias subspace B: the first principal components of the definitional sets,
       each centred on its own mean.
    2. *Neutralise* every word w but those to ignore: w - B'Bw, scaled to unit length.
    3. *Equalize* each set: its words get the same vector outside of B, and keep the side on which
       each is within B, at unit length.

    Parameters
    ----------
    pca_args : dict, optional
        Arguments of the principal component analysis; ``{"n_components": 10}`` by default. All
        components are removed, but never more than the sets span: for 'ethnicity', 8 of the 10.
        The authors remove one, ``{"n_components": 1}``, which cannot tell three classes apart.
    verbose : bool, default=False
        Print what is done, or log it where level INFO is on.
    criterion_name : str, optional
        For example 'religion'. The mitigated model is called 'MODEL_religion_debiased'.

    Attributes
    ----------
    bias_subspace_ : ndarray of shape (n_components, dim)
        Orthonormal directions that are removed.
    pca_ : sklearn.decomposition.PCA
        Its `explained_variance_ratio_` helps to choose the number of components.
    definitional_sets_, equalize_sets_ : list of tuple of str
        The sets; those to equalize also in lower, title and upper case.
    definitional_sets_embeddings_ : list of dict
        Unit vectors of the definitional sets found.

    Notes
    -----
    Words that change get unit length; all others keep every bit. Words of sets to equalize change
    even where they are ignored or no target, as published; ``equalize_sets=[]`` avoids it. A set
    of which the model lacks words is equalized with those that are left, if they are two or more.

    Equalize words that name the classes ('synagogue', 'church', 'mosque'). Equalizing
    stereotyped words with each other, as a published example does, spreads them *along* the bias
    subspace, and may raise the bias or turn it around.

    Less association measured afterwards does not mean that the bias is gone; see
    :func:`wefe.debias.compare`.

    References
    ----------
    .. [1] T. Manzini, Y. C. Lim, A. W. Black and Y. Tsvetkov. Black is to Criminal as Caucasian
       is to Police: Detecting and Removing Multiclass Bias in Word Embeddings. NAACL-HLT 2019.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_criterion
    >>> from wefe.metrics import WEAT
    >>> model, ethnicity = load_test_model(), load_criterion("ethnicity")
    >>> method = MulticlassHardDebias().fit(model, criterion=ethnicity)
    >>> len(method.bias_subspace_)
    8
    >>> debiased = method.transform(model, ignore=ethnicity.specific_words)
    >>> query = ethnicity.queries()[0]
    >>> for each in (model, debiased):
    ...     print(f"{WEAT().run_query(query, each)['effect_size']:.2f}")
    1.33
    0.34
    """

    _class_words: ClassVar[str] = "definitional_sets_"
    _from_criterion: ClassVar[Mapping[str, str]] = {
        "definitional_sets": "definitional_sets",
        "equalize_sets": "equalize_sets",
    }

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
            Words that differ in the class only, one per class in the same order:
            ``[["jew", "christian", "muslim"], ["synagogue", "church", "mosque"]]``. Sets of which
            the model lacks a word are left out, counted and logged.
        equalize_sets : sequence of sequences of str, optional
            Sets to equalize; by default the definitional sets. An empty list for none.
        criterion : Criterion or str, optional
            Takes the place of word sets that are not given: 'ethnicity', 'religion', 'gender', or
            word sets of yours.
        **fit_params
            No others are taken: a name that is not among these is refused.

        Returns
        -------
        MulticlassHardDebias
            The method itself.

        Raises
        ------
        TypeError
            If there are neither word sets nor a criterion, or a parameter has another name or type.
        ValueError
            If a set has one word, or the model has none of the definitional sets complete.
        """
        words = self._words(
            fit_params,
            criterion,
            "definitional_sets",
            definitional_sets=definitional_sets,
            equalize_sets=equalize_sets,
        )
        self._fit_subspace(model, words, "definitional_sets")
        equalize = words["equalize_sets"]
        equalize = words["definitional_sets"] if equalize is None else equalize
        checked = self._check_sets_size(equalize, "equalize", None)
        n_classes = max(map(len, self.definitional_sets_embeddings_))
        if len(self.bias_subspace_) < n_classes - 1:
            logger.warning(
                "%d components cannot tell %d classes apart, so that equalized words may fall "
                "together; %d can",
                *(len(self.bias_subspace_), n_classes, n_classes - 1),
            )
        self.equalize_sets_ = with_variants(checked)
        self.dim_ = model.dim
        return self
