"""Double-hard debiasing (Wang et al., ACL 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from wefe._checks import check_positive_int, check_word_set, logger
from wefe.datasets import Criterion
from wefe.debias._base import RowwiseDebias, check_words, fits, flattened, rows_of
from wefe.debias._projection import Erasure, Vectors, remove
from wefe.embeddings import definitional_vectors
from wefe.metrics._declaration import Count, RandomState
from wefe.metrics._geometry import ZERO_LENGTH
from wefe.models._passes import Rows, bare_words, most_associated, vocabulary_blocks
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

# Of the vocabulary, at most this share is taken as most biased towards one class.
_SIDE_SHARE = 0.25
# Variances below this share of the largest one are rounding noise.
_NOISE_VARIANCE = 1e-12


@dataclass(eq=False, repr=False)
class DoubleHardDebias(RowwiseDebias):
    """Double-hard debiasing: remove a direction that encodes frequency, then the bias direction.

    Word frequency distorts the bias direction, so a direction that encodes it is removed first:

    1. mu is the mean of all vectors; the candidates u are their first principal components.
    2. The words most biased towards each class are those with the largest cos(w, a) - cos(w, b), or
       cos(w, b) - cos(w, a), where a and b represent the classes.
    3. For each u, these and the definitional words become w - mu - (u . w) u. The first principal
       component of the definitional pairs, each centred on its own mean, is the bias direction g.
       It is removed from the biased words, and 2-means divides them.
    4. The chosen u is the one for which clusters and classes agree least.
    5. Every word becomes w - mu - (u . w) u, and loses its component along g.

    The method is binary, reads the whole vocabulary, and does not scale vectors. Words to `ignore`
    lose mu and u only. With a `target`, all other words stay as they are. Source: Wang et al.,
    Double-Hard Debias: Tailoring Word Embeddings for Gender Bias Mitigation, ACL 2020.

    Parameters
    ----------
    pca_args, verbose, criterion_name : optional
        See :class:`BaseDebias`; only the first component of the pairs is removed.
    incremental_pca : bool, default=True
        Has no effect: the components always come from the exact covariance.
    n_words : int, default=1000
        Most biased words for each class, at most a quarter of the vocabulary (logged).
    n_components : int, default=4
        Number of candidates. The authors try 20; the best is usually near dim / 100.
    random_state : default=0
        Seed of the ten starts of 2-means.

    Attributes
    ----------
    mean_, frequency_direction_, bias_direction_ : ndarray of shape (dim,)
        mu, u and g. u and g are orthogonal unit vectors, towards the mean and the first words.
    alignments_, chosen_component_ : ndarray of shape (n_candidates,) and int
        max(accuracy, 1 - accuracy) of the clusters, from 0.5 (unrelated to the classes) to 1; and
        the position of the chosen u, the first with the lowest alignment.
    pca_, definitional_pairs_
        See :class:`HardDebias`; the PCA is the one after the removal of u.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> method = DoubleHardDebias(n_words=200)
    >>> method.fit(load_test_model(), [("she", "he")], ("she", "he")).chosen_component_
    0
    """

    _class_words: ClassVar[str] = "definitional_pairs_"
    _fit_reads_vocabulary: ClassVar[bool] = True

    incremental_pca: bool = True
    n_words: Count = 1000
    n_components: Count = 4
    random_state: RandomState = 0

    @fits("definitional_pairs", "bias_representation")
    def fit(
        self,
        model: WordEmbeddingModel,
        definitional_pairs: Sequence[Sequence[str]] | None = None,
        bias_representation: Sequence[str] | None = None,
        *,
        ignore: Sequence[str] | None = None,
        criterion: Criterion | str | None = None,
        **fit_params: Any,
    ) -> DoubleHardDebias:
        """Find the frequency direction and the bias direction.

        Parameters
        ----------
        model, definitional_pairs : optional
            See :meth:`HardDebias.fit`; the model with its whole vocabulary.
        bias_representation : pair of str
            Words of the model that represent the classes: ``["she", "he"]``.
        ignore : sequence of str, optional
            Words that rightly belong to a class, such as 'actress'. They and the definitional words
            do not count among the most biased ones.
        """
        pairs = self._check_sets_size(definitional_pairs, "definitional")
        complete = definitional_vectors(model, pairs, "definitional_pairs", normalize=False)
        left_out = [*check_words("ignore", ignore), *flattened(pairs)]
        n_free = len(model.vocab) - len(rows_of(model, left_out))
        most = max(1, int(n_free * _SIDE_SHARE))
        if most < self.n_words:
            logger.warning(
                "%s: the %d most biased words of each class are used, not %d, because it has %d "
                "words",
                *(model.name, most, self.n_words, len(model)),
            )
        sides = _most_biased(model, min(self.n_words, most), bias_representation, left_out)
        if not all(map(len, sides)):
            raise ValueError(
                f"{model.name} has no word, beside the definitional and ignored ones, that is "
                f"nearer to one of {bias_representation} than to the other."
            )
        self.mean_, covariance = vocabulary_covariance(model)
        components = principal_directions(covariance, self.mean_)[: self.n_components]
        biased = [model.table.rows(rows).astype(np.float64) for rows in sides]
        rng = np.random.default_rng(self.random_state)
        alignments, pcas = [], []
        for component in components:
            clean = cleaner(component, self.mean_)
            pcas.append(self._identify_bias_subspace([clean(part.vectors) for part in complete]))
            neutral = [remove(clean(side), pcas[-1].components_[0]) for side in biased]
            alignments.append(alignment(neutral, rng))
        self.alignments_ = np.array(alignments)
        chosen = self.chosen_component_ = int(np.argmin(alignments))
        self._log("alignment of the candidates: %s; number %d is removed", self.alignments_, chosen)
        self.definitional_pairs_ = pairs
        self.frequency_direction_: Vectors = components[chosen]
        self.pca_ = pcas[chosen]
        self.bias_direction_ = g = self.pca_.components_[0]
        # They are orthogonal, so both are removed in one product.
        axes = np.stack([self.frequency_direction_, g])
        self.map_ = Erasure(axes, axes, (self.mean_ @ g) * g - self.mean_)
        return self

    def get_target_words(
        self,
        model: WordEmbeddingModel,
        target: Sequence[str] | None,
        ignore: Sequence[str] | None,
        n_words: int,
        bias_representation: Sequence[str],
    ) -> list[str]:
        """Find the words that are most biased towards each of two classes.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model, with its whole vocabulary.
        target, ignore : sequence of str or None
            The only words that count (None for all), and words that do not.
        n_words : int
            Number of words for each class, at least 1.
        bias_representation : pair of str
            Words of the model that represent the classes; they may be among the result.

        Returns
        -------
        list of str
            Words nearer to the first than to the second, by falling cos(w, first) - cos(w, second);
            then words nearer to the second. Each part may be shorter than `n_words`.
        """
        check_positive_int("n_words", n_words)
        sides = _most_biased(model, n_words, bias_representation, ignore, target)
        return bare_words(model, model.table.words_at(np.concatenate(sides)))

    def _map_ignored(self, vectors: FloatArray) -> FloatArray:
        return cleaner(self.frequency_direction_, self.mean_)(vectors)


def vocabulary_covariance(model: WordEmbeddingModel) -> tuple[Vectors, Vectors]:
    """Return mean and covariance (divisor n - 1) of all vectors that have a direction."""
    n_words = 0
    shift: FloatArray = np.zeros(model.dim)
    total, moments = np.zeros(model.dim), np.zeros((model.dim, model.dim))
    for _, vectors in vocabulary_blocks(model):
        if n_words == 0:
            # Moments about a point near the mean lose no digits when the mean is subtracted, so
            # the products of a block may be as narrow as its vectors.
            shift = vectors.mean(axis=0)
        near = vectors - shift
        total += near.sum(axis=0)
        moments += near.T @ near
        n_words += len(near)
    offset = total / n_words
    covariance = (moments - n_words * np.outer(offset, offset)) / (n_words - 1)
    return shift + offset, covariance


def principal_directions(covariance: Vectors, mean: Vectors) -> Vectors:
    """Return the directions of a covariance by falling variance, on the side of the mean."""
    variances, columns = np.linalg.eigh(covariance)
    directions = columns.T[variances > _NOISE_VARIANCE * variances[-1]][::-1]
    directions[directions @ mean < 0] *= -1
    return np.ascontiguousarray(directions)


def cleaner(direction: Vectors, mean: Vectors) -> Erasure:
    """Return the map w - mean - (direction . w) direction of rows w; w itself is not centred."""
    return Erasure(direction[None], direction[None], -mean)


def alignment(sides: Sequence[FloatArray], rng: np.random.Generator) -> float:
    """Return how well two clusters agree with two classes of vectors, from 0.5 to 1."""
    clusters = two_means(np.concatenate(sides), rng)
    accuracy = float(np.mean(clusters == (np.arange(len(clusters)) < len(sides[0]))))
    return max(accuracy, 1 - accuracy)


def two_means(
    points: npt.ArrayLike, rng: np.random.Generator, n_init: int = 10
) -> npt.NDArray[np.bool_]:
    """Divide points into two clusters by Lloyd's algorithm, the best of `n_init` k-means++ starts.

    All starts run at once in one matrix product, several times faster than scikit-learn's KMeans.
    For points of mean 0, let s be the sum of the n points of one cluster; that of the m others is
    -s. A point x is nearer to s / n than to -s / m if x . s > |s|^2 (1/n - 1/m) / 2. The sum of
    squares between clusters is |s|^2 (1/n + 1/m).
    """
    wide = np.asarray(points, dtype=np.float64)
    wide = wide - wide.mean(axis=0)
    # At this scale float32 is enough to compare distances, in half the time.
    x = (wide / (np.abs(wide).max() or 1)).astype(np.float32)
    n_points = len(x)
    squares = np.einsum("ij,ij->i", x, x)
    first = rng.integers(n_points, size=n_init)
    distances = squares[:, None] + squares[first] - 2 * (x @ x[first].T)
    reached = np.cumsum(np.clip(distances, 0, None), axis=0)
    drawn = rng.random(n_init) * reached[-1]
    second = np.minimum((reached <= drawn).sum(axis=0), n_points - 1)
    middle = (squares[second] - squares[first]) / 2
    inside = x @ (x[second] - x[first]).T > middle
    between = np.zeros(n_init)
    running = np.arange(n_init)
    while running.size:
        now = inside[:, running]
        sums = now.T.astype(x.dtype) @ x
        sizes = np.maximum(now.sum(axis=0), 1)
        others = np.maximum(n_points - sizes, 1)
        lengths = np.einsum("ij,ij->i", sums, sums)
        before = between[running]
        between[running] = lengths * (1 / sizes + 1 / others)
        new = x @ sums.T > lengths * (1 / sizes - 1 / others) / 2
        # Rounding could make equally good clusterings alternate; so each step must be better.
        going = (new != now).any(axis=0) & (between[running] > before)
        inside[:, running[going]] = new[:, going]
        running = running[going]
    return np.asarray(inside[:, np.argmax(between)])


def _most_biased(
    model: WordEmbeddingModel, n_words: int, representation: Any, ignore: Any, target: Any = None
) -> list[Rows]:
    """Return the rows of the words most biased towards each of two words, and nearer to it."""
    ignored, targets = check_words("ignore", ignore), check_words("target", target)
    both = check_word_set("bias_representation", representation)
    if len(both) != 2:
        raise ValueError(f"bias_representation must be 2 words, one for each class; got {both}.")
    vectors = definitional_vectors(model, [both], "bias_representation")[0].vectors
    # A repeated word has a single vector.
    axis = vectors[0] - vectors[-1]
    if np.linalg.norm(axis) < ZERO_LENGTH:
        raise ValueError(
            f"bias_representation: {both[0]!r} and {both[1]!r} have the same direction in "
            f"{model.name}, so no word is nearer to one of them."
        )
    rows = None if target is None else np.array([*rows_of(model, targets).values()], dtype=np.intp)
    sides = most_associated(model, [axis, -axis], n_words, ignored, rows)
    return [rows[reach > 0] for rows, reach in sides]
