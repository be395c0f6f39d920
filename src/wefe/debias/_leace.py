"""Least-squares concept erasure (Belrose et al., NeurIPS 2023)."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice
from wefe.datasets import Criterion
from wefe.debias._base import NotNegative, OptionalCount
from wefe.debias._projection import Vectors
from wefe.debias._rowwise import RowwiseDebias
from wefe.debias._word_classes import learned_classes
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

logger = logging.getLogger(__name__)

Method = Literal["leace", "orth"]


@dataclass(frozen=True, eq=False)
class LeaceMap:
    """An affine map r(x) = x - (x @ reads.T) @ writes + shift, for rows x.

    Attributes
    ----------
    reads, writes : ndarray of shape (rank, dim)
        What is read from a vector, and where it is removed; ``reads @ writes.T`` is the identity.
    shift : ndarray of shape (dim,)
        Added to every vector, so that the mean stays; zero for a linear map.
    """

    reads: Vectors = field(repr=False)
    writes: Vectors = field(repr=False)
    shift: Vectors = field(repr=False)

    @property
    def projection(self) -> Vectors:
        """The matrix P of ``r(x) = x @ P.T + shift``: shape (dim, dim), idempotent."""
        return np.asarray(np.eye(len(self.shift)) - self.writes.T @ self.reads)

    @property
    def rank(self) -> int:
        """Number of directions that are erased: at most the number of classes minus 1."""
        return len(self.reads)

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Return the vectors (n_words, dim) mapped, in their dtype."""
        dtype = vectors.dtype
        reads, writes = self.reads.astype(dtype), self.writes.astype(dtype)
        result = (vectors @ reads.T) @ writes
        np.subtract(vectors, result, out=result)
        result += self.shift.astype(dtype)
        return result


def leace_map(
    x: npt.ArrayLike,
    z: npt.ArrayLike,
    *,
    method: Method = "leace",
    affine: bool = True,
    shrinkage: bool = True,
    svd_tol: float = 0.01,
) -> LeaceMap:
    """Fit the smallest map after which vectors are uncorrelated with a concept.

    With S the covariance of x, C that of x and z, and W = S^(-1/2): the columns of W C span what
    is to be erased. For an orthonormal basis U of them (those with singular values above
    `svd_tol`), P = I - W^+ U U' W, and r(x) = mean + P (x - mean).

    Parameters
    ----------
    x : array-like of shape (n_words, dim)
        Vectors.
    z : array-like of shape (n_words, n_columns), or (n_words,)
        The concept: numbers, for example one column per class that is 1 for its words.
    method : {'leace', 'orth'}, default='leace'
        'leace' changes the vectors least, in the sense of least squares; 'orth' is the orthogonal
        projection on what is orthogonal to C.
    affine : bool, default=True
        Whether the mean of the vectors stays. False leaves out the shift.
    shrinkage : bool, default=True
        Replace S by a mean of S and of (trace S / dim) I, with the weight of least expected
        squared error as n_words and dim grow [2]_, kept in [0, 1]. It matters where there are few
        words per dimension.
    svd_tol : float, default=0.01
        Singular values up to it are no part of the concept, but noise. For a column of 0 and 1 and
        an exact S, a value is at most 0.5. With 'orth', vectors are scaled to a mean variance of 1
        for that.

    Returns
    -------
    LeaceMap
        The map: a function of vectors, with the attributes `reads` and `writes` of shape
        (rank, dim), `shift` (dim,), `projection` (dim, dim) and `rank`. It has rank 0 if the
        concept is not correlated with the vectors.

    Raises
    ------
    ValueError
        If `x` and `z` are no matrices with one row per word, of two words or more; all vectors are
        equal; or `method` is unknown.

    See Also
    --------
    wefe.debias.LEACE : The mitigation method that is made of it.

    References
    ----------
    .. [1] N. Belrose, D. Schneider-Joseph, S. Ravfogel, R. Cotterell, E. Raff and S. Biderman.
       LEACE: Perfect linear concept erasure in closed form. NeurIPS 2023.
    .. [2] T. Bodnar, A. K. Gupta and N. Parolya. On the strong convergence of the optimal linear
       shrinkage estimator for large dimensional covariance matrix. Journal of Multivariate
       Analysis, 2014.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [2.0, 1.0], [-1.0, 0.0], [0.0, 1.0]])
    >>> erase = leace_map(x, [0, 0, 1, 1], shrinkage=False)
    >>> (erase(x) + 1).round(6)  # the means of both classes are equal now
    array([[1., 1.],
           [2., 2.],
           [1., 1.],
           [2., 2.]])
    """
    wide = np.asarray(x, dtype=np.float64)
    concept = np.asarray(z, dtype=np.float64)
    if concept.ndim == 1:
        concept = concept[:, None]
    if wide.ndim != 2 or concept.ndim != 2 or len(wide) != len(concept) or len(wide) < 2:
        raise ValueError(
            "x and z must be matrices with one row per word, of two words or more; got shapes "
            f"{wide.shape} and {np.shape(z)}."
        )
    check_choice("method", method, ("leace", "orth"))
    mean = wide.mean(axis=0)
    centred = wide - mean
    covariance = centred.T @ centred / (len(wide) - 1)
    cross = centred.T @ (concept - concept.mean(axis=0)) / (len(wide) - 1)
    average = float(np.trace(covariance)) / len(mean)
    if average == 0:
        raise ValueError("all vectors of x are equal, so they have no component to erase.")
    if shrinkage:
        covariance = _shrunk(covariance, len(wide))
    if method == "orth":
        whiten = np.eye(len(mean)) / math.sqrt(average)
        unwhiten = np.eye(len(mean)) * math.sqrt(average)
    else:
        variances, axes = np.linalg.eigh(covariance)
        real = variances > variances[-1] * len(mean) * np.finfo(float).eps
        axes, scales = axes[:, real], np.sqrt(variances[real])
        whiten, unwhiten = (axes / scales) @ axes.T, (axes * scales) @ axes.T
    columns, singular, _ = np.linalg.svd(whiten @ cross, full_matrices=False)
    u = columns[:, singular > svd_tol]
    reads, writes = u.T @ whiten, (unwhiten @ u).T
    shift = (mean @ reads.T) @ writes if affine else np.zeros(len(mean))
    return LeaceMap(reads, writes, shift)


def _shrunk(covariance: Vectors, n_words: int) -> Vectors:
    """Return a S + (1 - a) (trace S / dim) I, the optimal linear shrinkage of a covariance S."""
    dim = len(covariance)
    trace = float(np.trace(covariance))
    spread = float((covariance**2).sum()) - trace**2 / dim
    if spread <= 0:
        return covariance
    # Few words may yield a weight below 0, with which the result would be no covariance.
    weight = max(0.0, 1 - trace**2 / n_words / spread)
    return weight * covariance + (1 - weight) * trace / dim * np.eye(dim)


@dataclass(eq=False, repr=False)
class LEACE(RowwiseDebias):
    """Least-squares concept erasure: the smallest change that hides classes from linear models.

    Of the words learned from, every class has the same mean afterwards. So no linear classifier or
    regression can tell the classes apart better than a constant answer does [1]_. Among all affine
    maps for which that holds, this one changes those words least: for k classes, it removes k - 1
    directions, obliquely. It is computed in one step; see :func:`leace_map`.

    Parameters
    ----------
    method : {'leace', 'orth'}, default='leace'
        'orth' removes the directions by an orthogonal projection: it hides the classes as well,
        but changes the words learned from more.
    affine : bool, default=True
        Whether the mean of the words learned from stays where it is.
    shrinkage : bool, default=True
        Estimate the covariance by optimal linear shrinkage, as a matrix from fewer words than dims
        is singular.
    svd_tol : float, default=0.01
        Singular values of the whitened cross-covariance of vectors and classes up to it are taken
        as noise.
    n_words : int, optional
        Words to learn from for each class, beside the definitional ones: those that reach farthest
        along the axis of the class, as :class:`INLP` takes them. By default none, which needs no
        pass over the vocabulary; but of other words a linear model then recognises the class
        nearly as before. To hide it from linear models, take 500 or more, and look at what becomes
        of WEAT, as more is removed than along the definitional words.
    verbose : bool, default=False
        Print what is done, or log it where level INFO is on.
    criterion_name : str, optional
        For example 'gender'. The mitigated model is called 'MODEL_gender_debiased'.

    Attributes
    ----------
    map_ : LeaceMap
        The map from vectors to vectors.
    projection_ : ndarray of shape (dim, dim)
        Its matrix P; idempotent, symmetric only for 'orth'. A vector x becomes P x + shift.
    shift_ : ndarray of shape (dim,)
        What is added to each vector.
    words_by_class_ : dict
        Class name -> the words learned from.
    dim_ : int
        Number of dimensions.

    Notes
    -----
    The map is learned from vectors as they are, and applied to them so; none is scaled. Scaling
    or rotating the whole model scales and rotates the result.

    What is guaranteed is guaranteed for the words learned from. Other words keep an association
    with the class as far as they have it in other directions, and classifiers that are not linear
    may find it in any words; see :func:`wefe.debias.compare`.

    References
    ----------
    .. [1] N. Belrose, D. Schneider-Joseph, S. Ravfogel, R. Cotterell, E. Raff and S. Biderman.
       LEACE: Perfect linear concept erasure in closed form. NeurIPS 2023.

    Examples
    --------
    >>> from wefe import WEAT, Query, load_test_model
    >>> from wefe.datasets import load_criterion
    >>> model, gender = load_test_model(), load_criterion("gender", offline=True)
    >>> method = LEACE().fit(model, criterion=gender)
    >>> debiased = method.transform(model)
    >>> debiased.name
    'minilm-words_gender_debiased'
    >>> query = Query([["she", "her"], ["he", "him"]], [["nurse", "dancer"], ["boss", "coach"]])
    >>> before, after = (WEAT().run_query(query, each)["weat"] for each in (model, debiased))
    >>> print(f"{after:.3f}, before {before:.3f}")
    0.150, before 0.596
    """

    _from_criterion: ClassVar[Mapping[str, str]] = {
        "definitional_sets": "definitional_sets",
        "class_names": "class_names",
    }

    method: Method = "leace"
    affine: bool = True
    shrinkage: bool = True
    svd_tol: NotNegative = 0.01
    n_words: OptionalCount = None
    verbose: bool = False
    criterion_name: str | None = None

    @property
    def _fit_reads_vocabulary(self) -> bool:  # type: ignore[override]
        return self.n_words is not None

    def fit(
        self,
        model: WordEmbeddingModel,
        definitional_sets: Sequence[Sequence[str]] | None = None,
        words_by_class: Mapping[str, Sequence[str]] | None = None,
        *,
        criterion: Criterion | str | None = None,
        **fit_params: Any,
    ) -> LEACE:
        """Compute the map.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to learn from.
        definitional_sets : sequence of sequences of str
            Words that differ in the class only, in the same order of classes:
            ``[["woman", "man"], ["she", "he"]]``. Words that the model lacks are left out, counted
            and logged.
        words_by_class : mapping from str to sequence of str, optional
            Class name -> words: learn from these and no others. At least two words for each class
            must be in the model.
        criterion : Criterion or str, optional
            Takes the place of definitional sets that are not given: 'gender', 'ethnicity', or word
            sets of yours.
        **fit_params
            No others are taken: a name that is not among these is refused.

        Returns
        -------
        LEACE
            The method itself.

        Raises
        ------
        TypeError
            If there are neither words nor a criterion, or an argument is of another type.
        ValueError
            If the sets differ in size, the model lacks too many of the words, or a word is of two
            classes.
        """
        self._refuse_unknown(fit_params)
        classes = learned_classes(
            self,
            *(model, definitional_sets, words_by_class, criterion, self.n_words),
            neutral=False,
        )
        self.map_ = leace_map(
            classes.vectors,
            classes.one_hot,
            method=self.method,
            affine=self.affine,
            shrinkage=self.shrinkage,
            svd_tol=self.svd_tol,
        )
        self.projection_: Vectors = self.map_.projection
        self.shift_: Vectors = self.map_.shift
        self.words_by_class_ = classes.words
        self.dim_ = model.dim
        if not self.map_.rank:
            logger.warning(
                "%s: no linear model tells the classes apart, so nothing is erased", model.name
            )
        self._log(
            "%s: %d directions erased, learned from %d words",
            *(model.name, self.map_.rank, len(classes.labels)),
        )
        return self

    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        return self.map_(vectors)
