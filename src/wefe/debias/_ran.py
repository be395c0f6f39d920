"""Repulsion, attraction and neutralisation (RAN-Debias; Kumar, Bhotia and Chakraborty, TACL 2020).

Nothing is needed but numpy: the three gradients are known, and many words are optimised at once.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice, check_number, check_sequence, found
from wefe._progress import progress_bar
from wefe.datasets import Criterion
from wefe.debias._base import Positive
from wefe.debias._projection import Vectors
from wefe.debias._rowwise import Choice, WordDebias
from wefe.metrics._indirect_bias import indirect_bias_from_cosines
from wefe.metrics._parameters import Count, check_parameters
from wefe.models._passes import vocabulary_blocks
from wefe.models._search import directions, nearest_neighbors
from wefe.models._tables import chunks
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

logger = logging.getLogger(__name__)

Weights = tuple[float, float, float]

AUTHORS_WEIGHTS: Weights = (1 / 8, 6 / 8, 1 / 8)

# Those of Adam, as everywhere.
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8
# Numbers of the vectors that are optimised together, with their neighbours: they stay in the cache.
_BLOCK_NUMBERS = 1 << 20
# Sets of words are filled up to a multiple of this number.
_WIDTH = 16
# Numbers of the neighbours of the words that are looked at together: some tens of MB.
_BATCH_NUMBERS = 1 << 24


def _check_weights(name: str, value: Any) -> Sequence[float] | str:
    if isinstance(value, str):
        return check_choice(name, value, ("authors",))
    if len(check_sequence(name, value)) != 3:
        raise ValueError(
            f"{name} must be three numbers, of repulsion, attraction and neutralisation; "
            f"got {found(value)}."
        )
    weights = [check_number(f"{name}[{i}]", weight, 0) for i, weight in enumerate(value)]
    if not any(weights):
        raise ValueError(f"{name} must not all be 0; use for example (0.33, 0.33, 0.33).")
    return value  # type: ignore[no-any-return]


@dataclass(eq=False, repr=False)
class RepulsionAttractionNeutralization(WordDebias):
    """RAN: away from biased neighbours and the bias direction, but not far from where it was.

    Projections leave words of the same stereotype next to each other. This method [1]_ looks for a
    new vector x of each word w, starting from w, for which this sum is small::

        weights[0] * mean |cos(x, n)| + weights[1] * |cos(x, w) - 1| / 2 + weights[2] * |cos(x, g)|

    Here g is the bias direction, and n are those of the nearest neighbours of w whose similarity
    with w is due to g (see `theta`): *repulsion* from them, *attraction* to the original vector,
    *neutralisation* of the direction.

    The method is binary; for more classes see :class:`MulticlassHardDebias`.

    Parameters
    ----------
    pca_args : dict, optional
        Arguments of the principal component analysis that finds the bias direction;
        ``{"n_components": 10}`` by default.
    verbose : bool, default=False
        Print what is done, or log it where level INFO is on.
    criterion_name : str, optional
        For example 'gender'. The mitigated model is called 'MODEL_gender_debiased'.
    epochs : int, default=300
        Steps of the optimiser (Adam).
    theta : float, default=0.05
        A neighbour is one to get away from if its indirect bias with the word is at least this:
        the share of their similarity that disappears without the bias direction.
    n_neighbours : int, default=100
        Nearest neighbours of each word that are looked at; all other words, if there are fewer.
    learning_rate : float, default=0.01
        Of the optimiser.
    weights : sequence of three float, or 'authors', default=(0.33, 0.33, 0.33)
        Of repulsion, attraction and neutralisation. 'authors' is (1/8, 6/8, 1/8), the values
        published with the method.

    Attributes
    ----------
    bias_direction_ : ndarray of shape (dim,)
        Unit vector, pointing to the first words of the pairs.
    pca_ : sklearn.decomposition.PCA
        Its `explained_variance_ratio_` tells how far one direction represents the pairs.
    definitional_pairs_ : list of tuple of str
        The pairs.
    definitional_pairs_embeddings_ : list of dict
        Unit vectors of the definitional pairs found.
    dim_ : int
        Number of dimensions.

    Notes
    -----
    Words that change get unit length; all others keep every bit. Neighbours are looked up in the
    whole vocabulary of the model that is transformed, as it was before, so a model that was opened
    for some words only is refused. What becomes of a word does not depend on which others change.

    The objective has kinks, on which the optimiser swings to and fro with steps of the learning
    rate: components along the bias direction become small, not zero. The best vector on the way is
    taken, so that no word ends with a larger loss than it began with.

    Less association measured afterwards does not mean that the bias is gone; see
    :func:`wefe.debias.compare`.

    References
    ----------
    .. [1] V. Kumar, T. S. Bhotia and T. Chakraborty. Nurse is Closer to Woman than Surgeon?
       Mitigating Gender-Biased Proximities in Word Embeddings. TACL 8, 2020.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import fetch_debiaswe
    >>> model, words = load_test_model(), fetch_debiaswe(offline=True)
    >>> method = RepulsionAttractionNeutralization(criterion_name="gender").fit(
    ...     model, words["definitional_pairs"]
    ... )
    >>> debiased = method.transform(model, target=["doctor", "nurse", "programmer"])
    >>> debiased.name
    'minilm-words_gender_debiased'
    >>> cosine = debiased["nurse"].astype(float) @ method.bias_direction_
    >>> print(f"{abs(cosine):.2f}, before {abs(model['nurse'] @ method.bias_direction_):.2f}")
    0.00, before 0.27
    """

    _class_words: ClassVar[str] = "definitional_pairs_"
    _from_criterion: ClassVar[Mapping[str, str]] = {"definitional_pairs": "definitional_sets"}

    pca_args: dict[str, Any] | None = None
    verbose: bool = False
    criterion_name: str | None = None
    epochs: Count = 300
    theta: float = 0.05
    n_neighbours: Count = 100
    learning_rate: Positive = 0.01
    weights: Annotated[Sequence[float] | str, _check_weights] = (0.33, 0.33, 0.33)

    def fit(
        self,
        model: WordEmbeddingModel,
        definitional_pairs: Sequence[Sequence[str]] | None = None,
        *,
        criterion: Criterion | str | None = None,
        **fit_params: Any,
    ) -> RepulsionAttractionNeutralization:
        """Find the bias direction.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to learn from.
        definitional_pairs : sequence of pairs of str
            Words that differ in the class only: ``[["woman", "man"], ["she", "he"]]``. Pairs of
            which the model lacks a word are left out, counted and logged.
        criterion : Criterion or str, optional
            Takes the place of pairs that are not given: 'gender', or word sets of yours.
        **fit_params
            No others are taken: a name that is not among these is refused.

        Returns
        -------
        RepulsionAttractionNeutralization
            The method itself.

        Raises
        ------
        TypeError
            If a parameter is of another type, or there are neither pairs nor a criterion.
        ValueError
            If a parameter is out of range, a set is no pair, or the model has none of the pairs
            complete.
        """
        words = self._words(
            fit_params, criterion, "definitional_pairs", definitional_pairs=definitional_pairs
        )
        self._fit_subspace(model, words, "definitional_pairs", 1)
        self.dim_ = model.dim
        return self

    def _change(
        self, model: WordEmbeddingModel, result: WordEmbeddingModel, choice: Choice
    ) -> tuple[npt.NDArray[np.intp], int]:
        along = self._along_direction(model)
        rows = np.flatnonzero(choice.masks(model.vocab, model.table.n_rows)[0])
        directed = rows[~np.isnan(along[rows])]
        result.vectors[directed] = self._optimized(model, along, directed)
        return directed, len(rows) - len(directed)

    def _along_direction(self, model: WordEmbeddingModel) -> Vectors:
        """Cosine of every word with the bias direction; NaN where there is no direction."""
        along = np.full(len(model.vocab), np.nan)
        for rows, vectors in vocabulary_blocks(model):
            along[rows] = directions(vectors)[0] @ self.bias_direction_
        return along

    def _optimized(
        self, model: WordEmbeddingModel, along: Vectors, rows: npt.NDArray[np.intp]
    ) -> FloatArray:
        """Return the new vectors of some rows."""
        check_parameters(self)
        weights = AUTHORS_WEIGHTS if isinstance(self.weights, str) else self.weights

        def vectors_of(some: npt.NDArray[np.intp]) -> FloatArray:
            vectors = model.rows(some)
            return vectors.astype(np.promote_types(vectors.dtype, np.float32), copy=False)

        new = np.empty((len(rows), model.dim), dtype=model.dtype)
        k = min(self.n_neighbours, int(np.isfinite(along).sum()) - 1)
        size = max(1, _BATCH_NUMBERS // (max(k, 1) * model.dim))
        n_repelling = 0
        with progress_bar(len(rows), type(self).__name__, "word", True) as bar:
            for part in chunks(len(rows), size):
                here = rows[part]
                words = vectors_of(here)
                near = np.empty((len(here), 0), dtype=np.intp)
                biased = np.empty(near.shape, dtype=bool)
                if k > 0:
                    near, cosines = nearest_neighbors(model.table, words, k, exclude=here)
                    beta = indirect_bias_from_cosines(
                        cosines, along[here, None, None], along[near][..., None]
                    )
                    # NaN, of orthogonal words, is not above any threshold.
                    biased = beta >= self.theta
                new[part] = repel_attract_neutralize(
                    words,
                    [vectors_of(each[mask]) for each, mask in zip(near, biased, strict=True)],
                    self.bias_direction_,
                    weights,
                    self.epochs,
                    self.learning_rate,
                )
                n_repelling += int(biased.sum())
                bar.update(len(here))
        self._log("%.1f biased neighbours per word", n_repelling / max(len(rows), 1))
        return new


def objective(
    vector: npt.ArrayLike,
    word: npt.ArrayLike,
    repulsion_set: npt.ArrayLike,
    direction: npt.ArrayLike,
    weights: Sequence[float],
) -> float:
    """What RAN minimises, for one word.

    Parameters
    ----------
    vector : array-like of shape (dim,)
        The vector that is judged; its length does not matter.
    word : array-like of shape (dim,)
        The original vector of the word.
    repulsion_set : array-like of shape (n_neighbours, dim)
        Vectors to get away from; there may be none.
    direction : array-like of shape (dim,)
        The bias direction.
    weights : sequence of three float
        Of repulsion, attraction and neutralisation.

    Returns
    -------
    float
        The weighted sum of the mean of |cos(x, n)| over the set, of |cos(x, word) - 1| / 2 and of
        |cos(x, direction)|; each of them is in [0, 1].

    Examples
    --------
    >>> nurse, home, g = [0.5, 0.1, 0.8], [0.6, 0.9, 0.3], [0.997742, -0.067150, -0.001556]
    >>> print(f"{objective(nurse, nurse, [home], g, (1 / 8, 6 / 8, 1 / 8)):.4f}")
    0.1386
    """
    x, w, g = (_unit(np.asarray(each, dtype=np.float64)) for each in (vector, word, direction))
    near = np.asarray(repulsion_set, dtype=np.float64).reshape(-1, len(x))
    repulsion = float(np.abs(_unit(near) @ x).mean()) if len(near) else 0.0
    terms = (repulsion, abs(float(x @ w) - 1) / 2, abs(float(x @ g)))
    return sum(weight * term for weight, term in zip(weights, terms, strict=True))


def repel_attract_neutralize(
    words: FloatArray,
    repulsion_sets: Sequence[FloatArray],
    direction: npt.ArrayLike,
    weights: Sequence[float],
    epochs: int = 300,
    learning_rate: float = 0.01,
) -> FloatArray:
    """Minimise `objective` for every word with Adam, starting from the word itself.

    Adam does not go down at every step, so the best vector on its way counts, the start included.

    Parameters
    ----------
    words : ndarray of shape (n_words, dim), float32 or float64
        Vectors, none of them zero. They are the start, and what attracts.
    repulsion_sets : sequence of ndarray of shape (n_neighbours, dim)
        For each word the vectors, none of them zero, to get away from; there may be none.
    direction : array-like of shape (dim,)
        The bias direction.
    weights : sequence of three float
        Of repulsion, attraction and neutralisation.
    epochs : int, default=300
        Steps.
    learning_rate : float, default=0.01
        Of Adam, whose other parameters are the usual ones (0.9, 0.999, 1e-8).

    Returns
    -------
    ndarray of shape (n_words, dim)
        Unit vectors in the dtype of `words`, in which everything is computed. That of a word does
        not depend on the other words.

    Examples
    --------
    >>> nurse, home = np.array([[0.5, 0.1, 0.8]]), np.array([[0.6, 0.9, 0.3]])
    >>> g, weights = [0.997742, -0.067150, -0.001556], (1 / 8, 6 / 8, 1 / 8)
    >>> repel_attract_neutralize(nurse, [home], g, weights).round(2)
    array([[ 0.02, -0.18,  0.98]])
    """
    g = _unit(np.asarray(direction, dtype=np.float64)).astype(words.dtype)
    result = _unit(words)
    sizes = np.array([len(each) for each in repulsion_sets], dtype=np.intp)
    # What nothing pushes is at its optimum; Adam would make steps of the rounding noise.
    pushed = np.flatnonzero((sizes * weights[0] > 0) | (weights[2] > 0))
    for block in _blocks(sizes[pushed], words.shape[1]):
        rows = pushed[block]
        result[rows] = _optimized(
            result[rows],
            [_unit(repulsion_sets[row].astype(words.dtype, copy=False)) for row in rows],
            g,
            weights,
            epochs,
            learning_rate,
        )
    return result


def _blocks(sizes: npt.NDArray[np.intp], dim: int) -> list[npt.NDArray[np.intp]]:
    """Cut words into blocks of the same width: that of their sets, with some filling.

    BLAS adds up in another order for another width. So a word has the width of its own set,
    whatever words it is optimised with.
    """
    widths = _width(sizes)
    blocks = []
    for width in np.unique(widths):
        same = np.flatnonzero(widths == width)
        n_words = max(1, _BLOCK_NUMBERS // (int(width) * dim))
        blocks += [same[part] for part in chunks(len(same), n_words)]
    return blocks


def _width(sizes: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Number of poles that a set of a size is filled up to: it and the bias direction."""
    return np.asarray(-(-(np.asarray(sizes, dtype=np.intp) + 1) // _WIDTH) * _WIDTH)


def _optimized(
    words: FloatArray,
    repulsion_sets: Sequence[FloatArray],
    g: FloatArray,
    weights: Sequence[float],
    epochs: int,
    learning_rate: float,
) -> FloatArray:
    """Return the best vector on the way for each unit vector; see `repel_attract_neutralize`."""
    n_words, dim = words.shape
    # What each word gets away from: the bias direction first, then its neighbours, then zeros.
    width = int(_width(max(len(each) for each in repulsion_sets)))
    poles = np.zeros((n_words, width, dim), dtype=words.dtype)
    strengths = np.zeros((n_words, width), dtype=words.dtype)
    poles[:, 0], strengths[:, 0] = g, weights[2]
    for row, near in enumerate(repulsion_sets):
        poles[row, 1 : 1 + len(near)] = near
        strengths[row, 1 : 1 + len(near)] = weights[0] / max(len(near), 1)
    anchors = words * words.dtype.type(weights[1] / 2)

    x = words.copy()
    mean, square = np.zeros_like(x), np.zeros_like(x)
    gradient, scratch, pull = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    signs = np.full_like(strengths, np.nan)
    best, least = words.copy(), np.full(n_words, np.inf, dtype=words.dtype)
    for epoch in range(1, epochs + 2):
        along_poles = np.matmul(poles, x[:, :, None])[:, :, 0]
        # The objective but for a constant, weights[1] / 2.
        losses = np.einsum("bw,bw->b", strengths, np.abs(along_poles))
        losses -= np.einsum("bd,bd->b", anchors, x)
        losses /= np.sqrt(np.einsum("bd,bd->b", x, x))
        better = losses < least
        best[better], least[better] = x[better], losses[better]
        if epoch > epochs:
            break
        if (np.sign(along_poles) != signs).any():
            # d|c| = sign(c) dc, so the pull stays as long as no sign changes.
            signs = np.sign(along_poles)
            np.matmul((signs * strengths)[:, None], poles, out=pull[:, None])
            pull -= anchors
        # Only the direction of x counts, so the gradient is at right angles to it:
        # (pull - (pull . x) x / |x|^2) / |x|. The average of Adam takes a tenth of it.
        squares = np.einsum("bd,bd->b", x, x)
        along = np.einsum("bd,bd->b", pull, x)
        factor = (1 - _BETA_1) / np.sqrt(squares)
        np.multiply(pull, factor[:, None], out=gradient)
        np.multiply(x, (factor * along / squares)[:, None], out=scratch)
        gradient -= scratch
        mean *= _BETA_1
        mean += gradient
        # `square` is the average of Adam times (1 - beta1)^2 / (1 - beta2).
        square *= _BETA_2
        np.multiply(gradient, gradient, out=scratch)
        square += scratch
        scale = math.sqrt((1 - _BETA_2) / (1 - _BETA_2**epoch)) / (1 - _BETA_1)
        np.sqrt(square, out=scratch)
        scratch += _EPSILON / scale
        np.divide(mean, scratch, out=scratch)
        scratch *= learning_rate / (scale * (1 - _BETA_1**epoch))
        x -= scratch
    return _unit(best)


def _unit(vectors: FloatArray) -> FloatArray:
    """Vectors scaled to unit length, in their dtype; NaN where there is no direction."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # Of very large and very small ones the squares have no place in the dtype.
        scaled = vectors / np.abs(vectors).max(axis=-1, keepdims=True)
        lengths = np.sqrt(np.einsum("...i,...i->...", scaled, scaled))
        return np.asarray(scaled / lengths[..., None])
