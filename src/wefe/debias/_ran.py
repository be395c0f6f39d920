"""Repulsion, attraction and neutralisation (Kumar, Bhotia and Chakraborty, TACL 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from wefe._checks import check_array, check_choice, found, progress_bar
from wefe.datasets import Criterion
from wefe.debias._base import Fates, Positive, WordDebias, fits
from wefe.metrics._declaration import Count
from wefe.metrics._projection import length_left, share_lost
from wefe.models._passes import Rows, vocabulary_cosines
from wefe.models._search import nearest_neighbors
from wefe.models._tables import chunks
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

_AUTHORS_WEIGHTS = (1 / 8, 6 / 8, 1 / 8)

# Those of Adam, as everywhere.
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8
# Numbers of the vectors that are optimised together, with their neighbours: they stay in the cache.
_BLOCK_NUMBERS = 1 << 20
# Sets of words are filled up to a multiple of this number.
_WIDTH = 16
# Numbers of the neighbours of the words that are looked at together: some tens of MB.
_BATCH_NUMBERS = 1 << 24


def _check_weights(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return check_choice(name, value, ("authors",))
    weights = check_array(name, value, "(3,)")
    if len(weights) != 3 or weights.min() < 0 or not weights.any():
        raise ValueError(
            f"{name} must be three numbers of at least 0, and not all 0: of repulsion, attraction "
            f"and neutralisation; got {found(value)}."
        )
    return value


@dataclass(eq=False, repr=False)
class RepulsionAttractionNeutralization(WordDebias):
    """RAN: move words away from biased neighbours and the bias direction, but not far.

    RAN searches a new vector x for each word w, starting from w, that makes this sum small::

        weights[0] * mean |cos(x, n)| + weights[1] * |cos(x, w) - 1| / 2 + weights[2] * |cos(x, g)|

    g is the bias direction, and n are the nearest neighbours of w whose similarity with w is due to
    g (see `theta`). The terms are *repulsion* from them, *attraction* to the original vector, and
    *neutralisation* of the direction; their sum never grows. Source: Kumar et al., Nurse is Closer
    to Woman than Surgeon?, TACL 8, 2020.

    The method is binary. Only changed words get unit length, and the result for a word does not
    depend on which others change. The model to transform needs its whole vocabulary.

    Parameters
    ----------
    pca_args, verbose, criterion_name : optional
        See :class:`BaseDebias`.
    epochs : int, default=300
        Steps of the optimiser (Adam).
    theta : float, default=0.05
        Minimum :func:`wefe.metrics.indirect_bias` of a neighbour to move away from.
    n_neighbours : int, default=100
        Number of nearest neighbours to consider.
    learning_rate : float, default=0.01
        Learning rate of the optimiser.
    weights : sequence of three float, or 'authors', default=(0.33, 0.33, 0.33)
        Weights of the three terms. 'authors': (1/8, 6/8, 1/8), as published.

    Attributes
    ----------
    bias_direction_, bias_subspace_, pca_, definitional_pairs_, definitional_pairs_embeddings_
        See :class:`HardDebias`.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> model, method = load_test_model(), RepulsionAttractionNeutralization()
    >>> nurse = method.fit_transform(model, ["nurse"], definitional_pairs=[("she", "he")])["nurse"]
    >>> print(f"{abs(nurse.astype(float) @ method.bias_direction_):.1f}")
    0.0
    """

    _class_words: ClassVar[str] = "definitional_pairs_"

    epochs: Count = 300
    theta: float = 0.05
    n_neighbours: Count = 100
    learning_rate: Positive = 0.01
    weights: Annotated[Sequence[float] | str, _check_weights] = (0.33, 0.33, 0.33)

    @fits("definitional_pairs")
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
        model, definitional_pairs : optional
            See :meth:`HardDebias.fit`.
        """
        self._fit_subspace(model, definitional_pairs, 2)
        return self

    def _change(
        self, model: WordEmbeddingModel, into: FloatArray, fates: Fates
    ) -> tuple[Rows, int]:
        along = vocabulary_cosines(model, self.bias_direction_)[:, 0].astype(np.float64)
        chosen = np.flatnonzero(fates)
        rows = chosen[~np.isnan(along[chosen])]
        k = min(self.n_neighbours, int(np.isfinite(along).sum()) - 1)
        n_repelling = 0
        with progress_bar(len(rows), type(self).__name__, "word", True) as bar:
            new = np.empty((len(rows), model.dim), dtype=model.dtype)
            for part in chunks(len(rows), max(1, _BATCH_NUMBERS // (k * model.dim))):
                words, one = _wide(model, rows[part]), along[rows[part], None]
                near, cosines = nearest_neighbors(model.table, words, k, exclude=rows[part])
                other = along[near]
                lengths = length_left(1 - one**2), length_left(1 - other**2)
                # NaN, of orthogonal words, is not above any threshold.
                biased = share_lost(cosines, cosines - one * other, *lengths) >= self.theta
                sets = [_wide(model, each[own]) for each, own in zip(near, biased, strict=True)]
                new[part] = self._optimized(words, sets)
                n_repelling += int(biased.sum())
                bar.update(len(near))
        into[rows] = new
        self._log("%.1f biased neighbours per word", n_repelling / max(len(rows), 1))
        return rows, len(chosen) - len(rows)

    def _optimized(self, words: FloatArray, repulsion_sets: Sequence[FloatArray]) -> FloatArray:
        """Return the unit vectors (n_words, dim) that minimise the objective, found with Adam.

        `repulsion_sets`: for each word the vectors to move away from, perhaps none. None is zero.
        """
        weights = _AUTHORS_WEIGHTS if isinstance(self.weights, str) else self.weights
        g = _unit(self.bias_direction_).astype(words.dtype)
        result, dim = _unit(words), words.shape[1]
        sizes = np.array([len(each) for each in repulsion_sets], dtype=np.intp)
        # BLAS adds up in another order for another width. So a word has the width of its own set,
        # with some filling, whatever words it is optimised with.
        widths = -(-(sizes + 1) // _WIDTH) * _WIDTH
        # What nothing pushes is at its optimum; Adam would make steps of the rounding noise.
        widths[(sizes * weights[0] == 0) & (weights[2] == 0)] = 0
        for width in np.unique(widths[widths > 0]).tolist():
            same = np.flatnonzero(widths == width)
            for part in chunks(len(same), max(1, _BLOCK_NUMBERS // (width * dim))):
                rows = same[part]
                # What each word gets away from: the bias direction, its neighbours, then zeros.
                poles = np.zeros((len(rows), width, dim), dtype=words.dtype)
                strengths = np.zeros((len(rows), width), dtype=words.dtype)
                poles[:, 0], strengths[:, 0] = g, weights[2]
                for place, row in enumerate(rows):
                    near = slice(1, 1 + sizes[row])
                    poles[place, near] = _unit(repulsion_sets[row].astype(words.dtype, copy=False))
                    strengths[place, near] = weights[0] / max(sizes[row], 1)
                anchors = result[rows] * words.dtype.type(weights[1] / 2)
                result[rows] = self._adam(result[rows], poles, strengths, anchors)
        return result

    def _adam(
        self, x: FloatArray, poles: FloatArray, strengths: FloatArray, anchors: FloatArray
    ) -> FloatArray:
        """Return the best vector on the way from each unit vector."""
        best, least = x.copy(), np.full(len(x), np.inf, dtype=x.dtype)
        mean, square, pull = np.zeros_like(x), np.zeros_like(x), np.empty_like(x)
        signs = np.full_like(strengths, np.nan)
        # The last step is judged in one more round.
        for epoch in range(1, self.epochs + 2):
            along = np.matmul(poles, x[:, :, None])[:, :, 0]
            squares = np.einsum("bd,bd->b", x, x)
            # The objective but for a constant, half the weight of attraction.
            losses = np.einsum("bw,bw->b", strengths, np.abs(along))
            losses = (losses - np.einsum("bd,bd->b", anchors, x)) / np.sqrt(squares)
            better = losses < least
            best[better], least[better] = x[better], losses[better]
            if (np.sign(along) != signs).any():
                # d|c| = sign(c) dc, so the pull stays as long as no sign changes.
                signs = np.sign(along)
                pull = np.matmul((signs * strengths)[:, None], poles)[:, 0] - anchors
            # Only the direction of x counts, so the gradient is at right angles to it.
            inside = np.einsum("bd,bd->b", pull, x) / squares
            gradient = (pull - inside[:, None] * x) / np.sqrt(squares)[:, None]
            mean = _BETA_1 * mean + (1 - _BETA_1) * gradient
            square = _BETA_2 * square + (1 - _BETA_2) * gradient**2
            step = mean / (np.sqrt(square / (1 - _BETA_2**epoch)) + _EPSILON)
            x = x - self.learning_rate / (1 - _BETA_1**epoch) * step
        return _unit(best)


def _wide(model: WordEmbeddingModel, rows: Rows) -> FloatArray:
    vectors = model.table.rows(rows)
    return vectors.astype(np.promote_types(vectors.dtype, np.float32), copy=False)


def _unit(vectors: FloatArray) -> FloatArray:
    # Of very large and very small ones the squares have no place in the dtype.
    scaled = vectors / np.abs(vectors).max(axis=-1, keepdims=True)
    return np.asarray(scaled / np.sqrt(np.einsum("...i,...i->...", scaled, scaled))[..., None])
