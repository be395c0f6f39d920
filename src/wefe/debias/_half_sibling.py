"""Half-Sibling Regression (Yang and Feng, AAAI 2020)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wefe._checks import check_word_set
from wefe.datasets import Criterion
from wefe.debias._base import as_written, check_positive, log_lost
from wefe.debias._projection import Vectors
from wefe.debias._rowwise import RowwiseDebias
from wefe.embeddings import embed_tuples
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel


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

    _from_criterion: ClassVar[Mapping[str, str]] = {"definitional_words": "specific_words"}

    verbose: bool = False
    criterion_name: str | None = None

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
        words = self._words(
            fit_params, criterion, "definitional_words", definitional_words=definitional_words
        )
        given = check_word_set("definitional_words", words["definitional_words"])
        distinct = tuple(dict.fromkeys(given))
        penalty = check_positive("alpha", alpha)
        parts = embed_tuples(
            model,
            [distinct],
            "definitional_words",
            discard_incomplete_sets=False,
            warn_lost_sets=False,
        )
        if not parts:
            raise ValueError(
                f"{model.name} has none of the {len(distinct)} definitional_words; at least 1 is "
                f"needed. {as_written(model)}"
            )
        part = parts[0]
        log_lost(model, part.lost, len(distinct), "definitional_words")
        self._log("%s: %d definitional words, alpha %g", model.name, len(part), penalty)
        identity = np.eye(model.dim)
        products = part.vectors.T @ part.vectors
        residual = np.linalg.solve(products + penalty * identity, penalty * identity)
        self.map_: Vectors = residual.astype(np.float64, copy=False)
        self.alpha_ = penalty
        self.definitional_words_ = distinct
        self.dim_ = model.dim
        return self

    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        return np.asarray(vectors @ self.map_.astype(vectors.dtype, copy=False))

    def _protected_words(self) -> Sequence[str]:
        return self.definitional_words_
