"""Multiclass Hard Debias (Manzini, Lim, Black and Tsvetkov, NAACL-HLT 2019)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from wefe.datasets import Criterion
from wefe.debias._hard import _SubspaceDebias, with_variants
from wefe.embeddings import definitional_vectors
from wefe.models._word_embedding_model import WordEmbeddingModel

logger = logging.getLogger(__name__)


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
        Log what is done at level INFO.
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
        self._refuse_unknown(fit_params)
        words = self._fit_words(
            criterion, {"definitional_sets": definitional_sets, "equalize_sets": equalize_sets}
        )
        self._require(words, "definitional_sets")
        sets = self._check_sets_size(words["definitional_sets"], "definitional", None)
        equalize = words["equalize_sets"]
        checked = sets if equalize is None else self._check_sets_size(equalize, "equalize", None)
        complete = definitional_vectors(model, sets, "definitional_sets")
        self.definitional_sets_ = sets
        self.definitional_sets_embeddings_ = [
            dict(zip(part.words, part.vectors, strict=True)) for part in complete
        ]
        self.pca_ = self._identify_bias_subspace([part.vectors for part in complete], self.verbose)
        self.bias_subspace_ = self.pca_.components_
        n_classes = max(len(part.words) for part in complete)
        if len(self.bias_subspace_) < n_classes - 1:
            logger.warning(
                "%d components cannot tell %d classes apart, so that equalized words may fall "
                "together; %d can",
                *(len(self.bias_subspace_), n_classes, n_classes - 1),
            )
        self.equalize_sets_ = with_variants(checked)
        self.dim_ = model.dim
        return self

    def transform(
        self,
        model: WordEmbeddingModel,
        target: Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        copy: bool = True,
    ) -> WordEmbeddingModel:
        """Neutralise the words of a model and equalize its sets.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to change: the one fitted, or another one of the same space.
        target : sequence of str, optional
            The words to neutralise; all by default. Words of sets to equalize change in any case.
        ignore : sequence of str, optional
            Words that are not neutralised, also where they are in `target`: those to which a class
            rightly belongs, such as 'synagogue'. By default none.
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
        if hasattr(self, "definitional_sets_"):
            words = {word for part in self.definitional_sets_ for word in part}
            self._warn_if_definitional_words_change(target, ignore, words)
        return super().transform(model, target, ignore, copy)
