"""What tells classes apart: INLP (ACL 2020) and LEACE (NeurIPS 2023)."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice, check_word_set, found
from wefe.datasets import Criterion
from wefe.debias._base import (
    NotNegative,
    OptionalCount,
    OptionalShare,
    RowwiseDebias,
    class_columns,
    fits,
    flattened,
    log_lost,
    rows_of,
)
from wefe.debias._projection import Vectors, neutralised, orthonormal, remove
from wefe.embeddings import definitional_vectors, embed_tuples
from wefe.metrics._direction import group_directions
from wefe.metrics._parameters import Count, RandomState
from wefe.models._passes import Rows, most_associated, vocabulary_blocks
from wefe.models._search import directions
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

logger = logging.getLogger(__name__)

#: The class of words that lean to none of the others.
NEUTRAL = "neutral"
# Fewer words have no variance, and leave none to hold out.
_FEWEST = 2


#: Class name -> its words that the model has; their vectors, class by class; their classes.
WordClasses: TypeAlias = tuple[dict[str, list[str]], Vectors, npt.NDArray[np.intp]]


def look_up(model: WordEmbeddingModel, words_by_class: Mapping[str, Sequence[str]]) -> WordClasses:
    """Look up the words of classes.

    Parameters
    ----------
    model : WordEmbeddingModel
        Where to look. Words that it lacks are left out, counted and logged.
    words_by_class : mapping from str to sequence of str
        Class name -> its words; two classes or more, of two words or more.

    Raises
    ------
    TypeError
        If it is no mapping.
    ValueError
        If there are fewer classes or words left, or a word is of two classes.
    """
    if not isinstance(words_by_class, Mapping) or len(words_by_class) < 2:
        kind = ValueError if isinstance(words_by_class, Mapping) else TypeError
        raise kind(
            "words_by_class must be a mapping from the names of two classes or more to lists of "
            f"words, such as {{'female': ['she', 'her'], 'male': ['he', 'him']}}; got "
            f"{found(words_by_class)}."
        )
    given = {
        name: tuple(dict.fromkeys(check_word_set(f"words_by_class[{name!r}]", words)))
        for name, words in words_by_class.items()
    }
    twice = [word for word, n in Counter(chain.from_iterable(given.values())).items() if n > 1]
    if twice:
        raise ValueError(
            f"{twice[0]!r} is a word of two classes; leave it out of one of them "
            f"({', '.join(given)})."
        )
    parts = {}
    for name, words in given.items():
        called = f"words of class {name!r}"
        known = embed_tuples(
            model, [words], called, discard_incomplete_sets=False, warn_lost_sets=False
        )
        if sum(map(len, known)) < _FEWEST:
            raise ValueError(
                f"{model.name} has {sum(map(len, known))} of the {len(words)} {called}; at least "
                f"{_FEWEST} are needed."
            )
        log_lost(model, known[0].lost, len(words), called)
        parts[name] = known[0]
    kept = {name: [w for w in given[name] if w not in part.lost] for name, part in parts.items()}
    labels = np.repeat(np.arange(len(parts)), [*map(len, parts.values())])
    return kept, np.concatenate([part.vectors for part in parts.values()]), labels


def word_classes(
    model: WordEmbeddingModel,
    definitional_sets: Sequence[tuple[str, ...]],
    class_names: Sequence[str],
    n_words: int | None,
    *,
    neutral: bool,
) -> dict[str, list[str]]:
    """Find words of each class, from definitional sets.

    Every class has an axis: with two classes, the first principal component of the definitional
    pairs and its opposite; with more, the mean of the class minus the mean of all. Both of unit
    vectors, each definitional set centred on its own mean.

    Parameters
    ----------
    model : WordEmbeddingModel
        A model that has its whole vocabulary.
    definitional_sets : sequence of tuples of str
        One word per class each.
    class_names : sequence of str
        As many names; none for 'class 0', 'class 1' ...
    n_words : int or None
        Words for each class beside the definitional ones: those whose unit vectors reach farthest
        along its axis. A word that is on the lists of two classes belongs to the one along whose
        axis it reaches farther. At most the n-th part of the vocabulary is taken for each class,
        for n - 1 classes. None for definitional words only.
    neutral : bool
        Add the class `NEUTRAL`: as many words that reach least along any axis.

    Returns
    -------
    dict
        Class name -> words, without the prefix of the model: first the definitional ones.
    """
    import pandas as pd

    columns = class_columns(definitional_sets)
    n_classes = len(columns)
    names = list(class_names) or [f"class {i}" for i in range(n_classes)]
    words = {name: list(column) for name, column in zip(names, columns, strict=True)}
    if n_words is None:
        return words
    if neutral and NEUTRAL in words:
        raise ValueError(f"a class is called {NEUTRAL!r}; rename it, or use neutral=False.")
    most = len(model.vocab) // (n_classes + 1)
    if most < n_words:
        logger.warning(
            "%s: %d words of each class are taken, not %d, as it has %d words",
            *(model.name, most, n_words, len(model.vocab)),
        )
    complete = definitional_vectors(model, definitional_sets, "definitional_sets")
    # Words that share a form in the vocabulary share a vector.
    vectors = [part.vectors.take(np.array(part.first_row), axis=0) for part in complete]
    axes = group_directions(list(np.stack(vectors, axis=1)))
    sides = most_associated(model, axes, min(n_words, most), flattened(columns))
    reach = pd.concat(
        pd.DataFrame({"row": rows, "reach": values, "owner": name})
        for name, (rows, values) in zip(names, sides, strict=True)
    )
    # A row belongs to the class along whose axis it reaches farthest.
    reach = reach[reach["reach"] > 0].sort_values("reach", ascending=False, kind="stable")
    for name, rows in reach.drop_duplicates("row").groupby("owner")["row"]:
        words[str(name)] += _words_of(model, rows.to_numpy())
    if neutral:
        taken = rows_of(model, flattened(words))
        values = np.full(len(model.vocab), np.inf)
        for here, block in vocabulary_blocks(model):
            values[here] = np.abs(directions(block)[0] @ axes.T).max(axis=1)
        values[[*taken.values()]] = np.inf
        least = np.argsort(values, kind="stable")[: min(n_words, most)]
        words[NEUTRAL] = _words_of(model, least[np.isfinite(values[least])])
    return words


def _words_of(model: WordEmbeddingModel, rows: Rows) -> list[str]:
    """Return the words of rows, without the prefix of the model."""
    return [word.removeprefix(model.vocab_prefix or "") for word in model.table.words_at(rows)]


def learned_classes(
    method: Any,
    model: WordEmbeddingModel,
    definitional_sets: Any,
    words_by_class: Any,
    criterion: Any,
    *,
    neutral: bool = False,
) -> WordClasses:
    """Return the classes that a method learns from: those given, or those of definitional sets."""
    if words_by_class is None:
        method._require({"definitional_sets": definitional_sets}, "definitional_sets")
        sets = method._check_sets_size(definitional_sets, "definitional", None)
        # Names are those of the sets of a criterion, not of other sets.
        own = criterion is not None and definitional_sets is criterion.definitional_sets
        names = criterion.class_names if own else ()
        words_by_class = word_classes(model, sets, names, method.n_words, neutral=neutral)
    return look_up(model, words_by_class)


# Share of the words of each class that classifiers are not trained on.
_HELD_OUT = 0.25
# A new direction with less than this outside of those removed already is rounding noise.
_NEW = 1e-4


def nullspace_projection(directions: npt.ArrayLike) -> Vectors:
    """Return the projection on what is orthogonal to all of some directions.

    The product of the projections of single directions is no projection, unless these are
    orthogonal. So their span is orthonormalised first.

    Parameters
    ----------
    directions : array-like of shape (n_directions, dim)
        Rows of any length, not all of them need be independent.

    Returns
    -------
    ndarray of shape (dim, dim)
        Symmetric and idempotent, of rank dim minus that of `directions`, float64.

    Examples
    --------
    >>> nullspace_projection([[1, 1, 0], [1, 0, 1]]).round(3)
    array([[ 0.333, -0.333, -0.333],
           [-0.333,  0.333,  0.333],
           [-0.333,  0.333,  0.333]])
    """
    basis = orthonormal(directions)
    return np.asarray(np.eye(basis.shape[1]) - basis.T @ basis)


@dataclass(eq=False, repr=False)
class INLP(RowwiseDebias):
    """Iterative null-space projection: remove what linear classifiers tell classes apart by.

    Removing one bias direction leaves others by which a classifier finds the classes [1]_. So, as
    long as a classifier does better than chance:

    1. A linear classifier learns to tell the classes from the projected vectors: x P.
    2. Its weights, one direction for two classes, are added to the directions to remove.
    3. P becomes the projection on what is orthogonal to all of them.

    Parameters
    ----------
    n_iterations : int, default=35
        Number of classifiers at most, as in the paper.
    n_words : int, default=7500
        Words to learn from for each class, if they are to be found; see :meth:`fit`. At most a
        third of the vocabulary with two classes, a quarter with three, and so on.
    min_accuracy : float in [0, 1], optional
        The loop ends where the accuracy on words held out does not exceed it. By default the
        share of the largest class among these words, and one standard error of that share: a
        classifier that is no better than that cannot be told from one that always answers the
        same.
    neutral : bool, default=True
        Words that lean to no class are a class of their own, as in the paper. False removes about
        half as many directions: only those by which the classes differ from each other.
    random_state : int, numpy.random.Generator or None, default=0
        Chooses the words held out, a quarter of each class. The classifiers draw nothing.
    verbose : bool, default=False
        Print what is done, or log it where level INFO is on.
    criterion_name : str, optional
        For example 'gender'. The mitigated model is called 'MODEL_gender_debiased'.

    Attributes
    ----------
    projection_ : ndarray of shape (dim, dim)
        The projection; symmetric and idempotent.
    directions_ : ndarray of shape (n_directions, dim)
        What is removed, in the order in which it was found: orthonormal. There are never as many
        as dimensions, as no vector would be left.
    accuracies_ : ndarray of shape (n_classifiers,)
        Accuracy of each classifier on the words held out, before its direction was removed. The
        last one is that after the last removal.
    words_by_class_ : dict
        Class name -> the words learned from.
    dim_ : int
        Number of dimensions.

    Notes
    -----
    Vectors are taken as they are and become shorter; none is scaled, as in the paper. The
    classifiers are support vector machines with squared hinge loss. They see vectors divided by
    the root mean square of all lengths, so that their penalty does not depend on the unit.

    Less association measured afterwards does not mean that the bias is gone: classifiers that are
    not linear, and neighbourhoods, may betray it still; see :func:`wefe.debias.compare`.

    References
    ----------
    .. [1] S. Ravfogel, Y. Elazar, H. Gonen, M. Twiton and Y. Goldberg. Null It Out: Guarding
       Protected Attributes by Iterative Nullspace Projection. ACL 2020.

    Examples
    --------
    >>> from wefe import WEAT, Query, load_test_model
    >>> from wefe.datasets import load_criterion
    >>> model, gender = load_test_model(), load_criterion("gender", offline=True)
    >>> method = INLP(n_words=500, neutral=False).fit(model, criterion=gender)
    >>> debiased = method.transform(model)
    >>> debiased.name
    'minilm-words_gender_debiased'
    >>> print(f"{method.accuracies_[-1]:.1f}, before {method.accuracies_[0]:.1f}")
    0.5, before 1.0
    >>> query = Query([["she", "her"], ["he", "him"]], [["nurse", "dancer"], ["boss", "coach"]])
    >>> before, after = (WEAT().run_query(query, each)["weat"] for each in (model, debiased))
    >>> print(f"{after:.1f}, before {before:.1f}")
    0.1, before 0.6
    """

    _fit_reads_vocabulary: ClassVar[bool] = True

    n_iterations: Count = 35
    n_words: Count = 7500
    min_accuracy: OptionalShare = None
    neutral: bool = True
    random_state: RandomState = 0
    verbose: bool = False
    criterion_name: str | None = None

    @fits()
    def fit(
        self,
        model: WordEmbeddingModel,
        definitional_sets: Sequence[Sequence[str]] | None = None,
        words_by_class: Mapping[str, Sequence[str]] | None = None,
        *,
        criterion: Criterion | str | None = None,
        **fit_params: Any,
    ) -> INLP:
        """Find the directions by which classifiers tell classes apart.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to learn from, with its whole vocabulary unless `words_by_class` is given.
        definitional_sets : sequence of sequences of str
            Words that differ in the class only, in the same order of classes:
            ``[["woman", "man"], ["she", "he"]]``. They, and the `n_words` words that reach
            farthest along the axis of each class, are what is learned from. The axes of two
            classes are the first principal component of the pairs, and its opposite; those of
            more classes are the mean of each class minus the mean of all. Sets of which the model
            lacks a word do not count for that.
        words_by_class : mapping from str to sequence of str, optional
            Class name -> words: learn from these and no others. At least two words for each class
            must be in the model; others are left out, counted and logged.
        criterion : Criterion or str, optional
            Takes the place of definitional sets that are not given: 'gender', 'ethnicity', or word
            sets of yours.
        **fit_params
            No others are taken: a name that is not among these is refused.

        Returns
        -------
        INLP
            The method itself.

        Raises
        ------
        TypeError
            If there are neither words nor a criterion, or an argument is of another type.
        ValueError
            If the sets differ in size, the model lacks too many of the words, a word is of two
            classes, or the model was opened for some words only.
        """
        self.words_by_class_, vectors, labels = learned_classes(
            self, model, definitional_sets, words_by_class, criterion, neutral=self.neutral
        )
        held_out = _held_out(labels, np.random.default_rng(self.random_state))
        limit = _chance(labels[held_out]) if self.min_accuracy is None else self.min_accuracy
        self.directions_, accuracies = _directions(
            vectors, labels, held_out, self.n_iterations, limit
        )
        self.accuracies_: Vectors = np.array(accuracies)
        self.projection_: Vectors = nullspace_projection(self.directions_)
        if not len(self.directions_):
            logger.warning(
                "%s: no classifier tells the classes of held-out words apart (accuracy %.3f, "
                "limit %.3f), so nothing is removed",
                *(model.name, accuracies[0], limit),
            )
        self._log(
            "%s: %d directions; held-out accuracy %.3f, before %.3f",
            *(model.name, len(self.directions_), accuracies[-1], accuracies[0]),
        )
        return self

    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        if 2 * len(self.directions_) < self.dim_:
            return neutralised(vectors, self.directions_)
        return np.asarray(vectors @ self.projection_.astype(vectors.dtype, copy=False))


def _held_out(labels: npt.NDArray[np.intp], rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Choose a share of each class, at least one word and never all."""
    held_out = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        places = rng.permutation(np.flatnonzero(labels == label))
        held_out[places[: max(1, int(_HELD_OUT * len(places)))]] = True
    return held_out


def _chance(labels: npt.NDArray[np.intp]) -> float:
    """Return the share of the largest class plus its standard error."""
    share = float(np.bincount(labels).max() / len(labels))
    return share + math.sqrt(share * (1 - share) / len(labels))


def _directions(
    vectors: Vectors,
    labels: npt.NDArray[np.intp],
    held_out: npt.NDArray[np.bool_],
    n_iterations: int,
    limit: float,
) -> tuple[Vectors, list[float]]:
    """Return orthonormal directions (n_directions, dim), and the accuracy of each classifier.

    `vectors` are scaled in place, as several copies of them are more than the rest takes.
    """
    from sklearn.svm import LinearSVC

    vectors /= math.sqrt(float(np.einsum("ij,ij->", vectors, vectors)) / len(vectors))
    order = np.argsort(held_out, kind="stable")
    vectors[:] = vectors[order]
    labels, n_train = labels[order], int((~held_out).sum())
    dim = vectors.shape[1]
    basis = np.empty((0, dim))
    accuracies: list[float] = []
    while True:
        # The primal problem: exact, quick for more words than dims, and without random order. But
        # without a seed the global generator would be advanced.
        classifier = LinearSVC(dual=False, random_state=0).fit(
            remove(vectors[:n_train], basis), labels[:n_train]
        )
        score = classifier.score(remove(vectors[n_train:], basis), labels[n_train:])
        accuracies.append(float(score))
        if accuracies[-1] <= limit or len(accuracies) > n_iterations:
            break
        new = _outside(classifier.coef_, basis)
        if not len(new):
            break
        if len(basis) + len(new) >= dim:
            logger.warning(
                "the classes can still be told apart (accuracy %.3f), but all %d dims would be "
                "removed; %d are, learn from more words",
                *(accuracies[-1], dim, len(basis)),
            )
            break
        basis = np.concatenate([basis, new])
    return basis, accuracies


def _outside(weights: Vectors, basis: Vectors) -> Vectors:
    """Return orthonormal directions of what weights of unit length have outside of a basis."""
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    units = weights[lengths[:, 0] > 0] / lengths[lengths > 0][:, None]
    _, singular, rows = np.linalg.svd(remove(units, basis), full_matrices=False)
    new = remove(rows[singular > _NEW], basis)
    return np.asarray(new / np.linalg.norm(new, axis=1, keepdims=True))


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
        parts = (each.astype(vectors.dtype) for each in (self.reads, self.writes, self.shift))
        reads, writes, shift = parts
        return np.asarray(vectors - (vectors @ reads.T) @ writes + shift)


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
    wide, concept = (np.asarray(each, dtype=np.float64) for each in (x, z))
    concept = concept.reshape(len(concept), -1)
    if wide.ndim != 2 or len(wide) != len(concept) or len(wide) < 2:
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

    @fits()
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
        self.words_by_class_, vectors, labels = learned_classes(
            self, model, definitional_sets, words_by_class, criterion
        )
        names = ("method", "affine", "shrinkage", "svd_tol")
        options: dict[str, Any] = {name: getattr(self, name) for name in names}
        self.map_ = leace_map(vectors, np.eye(len(self.words_by_class_))[labels], **options)
        self.projection_: Vectors = self.map_.projection
        self.shift_: Vectors = self.map_.shift
        if not self.map_.rank:
            logger.warning(
                "%s: no linear model tells the classes apart, so nothing is erased", model.name
            )
        self._log(
            "%s: %d directions erased, learned from %d words",
            *(model.name, self.map_.rank, len(labels)),
        )
        return self

    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        return self.map_(vectors)
