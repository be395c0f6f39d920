"""Test whether the groups that words were biased towards can be recovered from their vectors.

Gonen and Goldberg, "Lipstick on a Pig", NAACL-HLT 2019; here also for more than two groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from wefe._checks import as_seed, check_array, check_choice, check_positive_int, found
from wefe._wordset import Vectors, as_vectors, lists_of_word_sets
from wefe.metrics._geometry import pearson
from wefe.metrics._permutation import jackknife_error, wilson
from wefe.models._search import Rows, nearest_neighbors

Groups: TypeAlias = Sequence[npt.ArrayLike]
Labels: TypeAlias = npt.NDArray[np.intp]
Members: TypeAlias = npt.NDArray[np.bool_]
Kernel: TypeAlias = Literal["rbf", "linear"]
RandomState: TypeAlias = int | np.random.Generator | None
#: Maps an order of the words to both sides of a correlation.
_Exchanged: TypeAlias = Callable[[Labels], tuple[Vectors, Vectors]]

# With fewer points every correlation is +1 or -1.
_FEWEST_POINTS = 3
# Random divisions into words to learn from, so many of each group, and words to test on: as in
# DEBIE.
_N_DIVISIONS, _TRAIN_SHARE = 20, 0.2
# Confidence level of the intervals.
_LEVEL = 0.95
# Correlations that differ by less are equal but for rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class RecoveryTest:
    """How well former groups were recovered from vectors, compared with chance.

    Attributes
    ----------
    value : float
        Share of words for clusters and classification, in [0, 1]; otherwise a Pearson correlation,
        in [-1, 1]; NaN if undefined.
    chance : float
        Expected value if the vectors contain no information about the groups.
    interval : tuple of float
        95 % interval, NaN if there is none: Wilson's score interval for a share, a jackknife of
        Fisher's z over the words for a correlation. It covers the choice of words: how far the
        value would move with other words of the same kind.
    p_value : float
        Share of random groups of the same sizes that are recovered at least as well; NaN if there
        is none. For two groups all are counted, otherwise some are drawn: p = (r + 1) / (n + 1).
    n_words : int
        Number of words.
    nan_reason : str or None
        Why the value or the interval is NaN; None if both are numbers.

    Examples
    --------
    >>> test = projection_test([1.0, 2.0, 3.0, 5.0], [0.1, 0.2, 0.5, 0.4], n_permutations=99)
    >>> test.chance, test.n_words
    (0.0, 4)
    """

    value: float
    chance: float
    interval: tuple[float, float]
    p_value: float
    n_words: int
    nan_reason: str | None = None


def cluster_test(
    groups: Groups, *, n_permutations: int = 1000, random_state: RandomState = 0
) -> RecoveryTest:
    """Test whether words form clusters of their former groups.

    Parameters
    ----------
    groups : sequence of array-like of shape (n_words, dim)
        For each of two or more groups: vectors, in the model to judge, of the words that were most
        biased towards it in the original model. They are scaled to unit length.
    n_permutations : int, default=1000
        Random groups to draw if there are three or more groups. For two groups all are counted.
    random_state : int, Generator or None, default=0
        Seed of the random groups, and of k-means, which starts ten times.

    Returns
    -------
    RecoveryTest
        k-means makes one cluster per group. `value` is the share of the words in the cluster of
        their group, for the best one-to-one match of clusters and groups: from 1 / n_groups to 1,
        if the clusters are the former groups. `chance` is its mean over random groups of the same
        sizes, and `p_value` the share of these that reach it (exact, hypergeometric, for two
        groups). `interval` is Wilson's, cut off at 1 / n_groups.

    Examples
    --------
    >>> first, second = [[1.0, 0.1], [1.0, 0.0], [1.0, 0.2]], [[0.1, 1.0], [0.0, 1.0], [0.3, 1.0]]
    >>> test = cluster_test([first, second])
    >>> test.value, test.chance, test.p_value
    (1.0, 0.7, 0.1)
    """
    seed = as_seed(random_state)
    labels, clusters = clustered(groups, seed)
    shuffles = _shuffles(labels, n_permutations, np.random.default_rng(seed))
    value, chance, p_value = _by_chance(labels, clusters, shuffles, best=True)
    low, high = wilson(value, len(labels), _LEVEL)
    interval = max(low, 1 / len(groups)), high
    return RecoveryTest(value, chance, interval, p_value, len(labels))


def classification_test(
    groups: Groups,
    *,
    test: Groups | None = None,
    kernel: Kernel = "rbf",
    n_permutations: int = 1000,
    random_state: RandomState = 0,
) -> RecoveryTest:
    """Test whether a classifier learns the former group of words from their vectors.

    Parameters
    ----------
    groups : sequence of array-like of shape (n_words, dim)
        As in :func:`cluster_test`; without `test` at least two words per group.
    test : sequence of array-like of shape (n_words, dim), optional
        Words to classify, of the same groups. The classifier then learns once, from all of
        `groups`. By default it learns from a fifth of each group, in 20 random divisions.
    kernel : {'rbf', 'linear'}, default='rbf'
        Of scikit-learn's ``SVC(C=1)``, which compares each pair of groups: 'rbf' as published, or
        'linear' to see what a linear model can learn.
    n_permutations, random_state : optional
        As in :func:`cluster_test`, for each division.

    Returns
    -------
    RecoveryTest
        `value` is the mean accuracy over the divisions, in [0, 1]. `chance` is the share of the
        largest group among the test words. `interval` is Wilson's, for the words of one division.
        `p_value` compares predictions with random groups of the test words; with several divisions
        it is twice the median (Meinshausen, Meier and Bühlmann, Journal of the American Statistical
        Association 104, 2009, section 3). This is very conservative: mostly 1 for meaningless
        groups, so 1 is no evidence that there is nothing to learn.

    Examples
    --------
    >>> first, second = [[1.0, 0.1], [1.0, 0.0], [1.0, 0.2]], [[0.1, 1.0], [0.0, 1.0], [0.3, 1.0]]
    >>> classification_test([first, second]).value
    1.0
    """
    (sides,) = _units(groups=groups)
    seeds = np.random.SeedSequence(as_seed(random_state)).spawn(2)
    divisions, rng = map(np.random.default_rng, seeds)
    tests = []
    for _ in range(_N_DIVISIONS if test is None else 1):
        parts = _divided(sides, divisions) if test is None else (sides, test)
        labels, said = classified(*parts, kernel=kernel)
        shuffles = _shuffles(labels, n_permutations, rng)
        tests.append(_by_chance(labels, said, shuffles, best=False))
    values, _, p_values = zip(*tests, strict=True)
    value, n_tested = float(np.mean(values)), len(labels)
    interval, chance = wilson(value, n_tested, _LEVEL), float(np.bincount(labels).max() / n_tested)
    p_value = p_values[0] if test is not None else min(1.0, 2 * float(np.median(p_values)))
    n_words = sum(map(len, sides)) + (0 if test is None else n_tested)
    return RecoveryTest(value, chance, interval, p_value, n_words)


def neighbor_test(
    vectors: npt.ArrayLike,
    bias: npt.ArrayLike,
    rows: npt.ArrayLike,
    k: int = 100,
    *,
    n_permutations: int = 1000,
    random_state: RandomState = 0,
) -> RecoveryTest:
    """Test whether the former bias of words shows in their neighbours.

    Parameters
    ----------
    vectors : array-like of shape (n_words, dim)
        Vectors of the model to judge.
    bias : array-like of shape (n_words,)
        Bias of the same words in the *original* model, as from :func:`association` with words of
        two groups: words above 0 belong to the first. For more groups see
        :func:`wefe.explore.recovery_tests`.
    rows : array-like of int of shape (n_rows,)
        Words whose neighbours count. No word is its own neighbour.
    k : int, default=100
        Number of neighbours, the nearest by cosine.
    n_permutations, random_state : optional
        As in :func:`projection_test`.

    Returns
    -------
    RecoveryTest
        `value` is the Pearson correlation over `rows` between `bias` and the share of neighbours in
        the first group, in [-1, 1]; 0 if neighbours do not show it. The rest is as in
        :func:`projection_test`, with a jackknife over `rows`, which is too narrow if these are most
        of the vocabulary.

    Examples
    --------
    >>> vectors = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> neighbor_test(vectors, bias=[1.0, 0.9, -1.0, -0.9], rows=[0, 1, 2, 3], k=1).value
    0.9986178
    """
    array, numbers = as_vectors("vectors", vectors), check_array("bias", bias, "(n_words,)")
    if len(numbers) != len(array):
        raise ValueError(
            f"bias must hold a number for each of the {len(array)} vectors; got {len(numbers)}."
        )
    whole = check_array("rows", rows, "(n_rows,)")
    chosen = whole.astype(int)
    if (chosen != whole).any():
        raise TypeError(f"rows must be whole numbers; got {found(rows)}.")
    if not 0 <= chosen.min() <= chosen.max() < len(array):
        got = f"{chosen.min()} to {chosen.max()}"
        raise ValueError(f"rows must be from 0 to {len(array) - 1}, the last vector; got {got}.")
    near, _ = nearest_neighbors(array, array[chosen], k, exclude=chosen)
    exchanged = neighborhoods(near, members(numbers), numbers, chosen)
    return correlation_test(exchanged, len(numbers), n_permutations, random_state)


def projection_test(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    *,
    n_permutations: int = 1000,
    random_state: RandomState = 0,
) -> RecoveryTest:
    """Test whether the biases of words before and after a mitigation are correlated.

    Parameters
    ----------
    before, after : array-like of shape (n_words,)
        Bias of the same words in the original model and in the other: see :func:`association`.
    n_permutations, random_state : optional
        Number of random exchanges of the biases before; and as in :func:`cluster_test`.

    Returns
    -------
    RecoveryTest
        `value` is the Pearson correlation, in [-1, 1]; NaN if `before` or `after` is constant, or
        there are fewer than three words. `chance` is 0; `interval` is a jackknife over the words
        (of Fisher's z), and `p_value` the share of exchanges with a correlation at least as large.

    Examples
    --------
    >>> projection_test([1.0, 2.0, 3.0, 5.0], [0.1, 0.2, 0.5, 0.4]).value
    0.8
    """
    x, y = check_array("after", after, "(n_words,)"), check_array("before", before, "(n_words,)")
    if x.shape != y.shape:
        sizes = f"{len(y)} and {len(x)} numbers"
        raise ValueError(f"before and after must be of the same words in both; got {sizes}.")
    return correlation_test(lambda order: (x, y[order]), len(x), n_permutations, random_state)


# Shared with debias and explore


def classified(train: Groups, test: Groups, *, kernel: Kernel = "rbf") -> tuple[Labels, Labels]:
    """Return the true groups of the test words, and those that a classifier predicts."""
    from sklearn.svm import SVC

    check_choice("kernel", kernel, get_args(Kernel))
    x, x_test = _units(train=train, test=test)
    if len(x) != len(x_test):
        raise ValueError(
            f"train and test must have the same groups; got {len(x)} and {len(x_test)} of them."
        )
    classifier = SVC(kernel=kernel).fit(*_labelled(x))
    vectors, labels = _labelled(x_test)
    return labels, np.asarray(classifier.predict(vectors), dtype=np.intp)


def clustered(groups: Groups, seed: int) -> tuple[Labels, Labels]:
    """Return the group of each word, and the group that its cluster is matched with."""
    from sklearn.cluster import KMeans

    vectors, labels = _labelled(*_units(groups=groups))
    k_means = KMeans(n_clusters=len(groups), n_init=10, random_state=seed)
    return labels, _best_reading(labels, k_means.fit_predict(vectors))


def members(bias: Vectors) -> Members:
    """Tell which words belong to the group, or to each group, in the shape of `bias`."""
    if bias.ndim == 1:
        return np.asarray(bias > 0)
    largest = bias == bias.max(axis=1, keepdims=True)
    return np.asarray(largest & (largest.sum(axis=1, keepdims=True) == 1))


def neighbor_shares(near: Rows, belongs: Members) -> Vectors:
    return np.asarray(belongs[near].mean(axis=1))


def correlation(x: Vectors, y: Vectors) -> float:
    """Pearson correlation; nan for fewer than three words or if one side is constant."""
    # A mean may be rounded, so what is constant need not be zero when it is centred.
    if len(x) < _FEWEST_POINTS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return pearson(x, y)


def neighborhoods(near: Rows, belongs: Members, bias: Vectors, rows: Labels) -> _Exchanged:
    """Return what maps an order of the words to shares of neighbours, and biases, of some rows."""

    def exchanged(order: Labels) -> tuple[Vectors, Vectors]:
        return neighbor_shares(near, belongs[order]), bias[order[rows]]

    return exchanged


def correlation_test(
    exchanged: _Exchanged, n: int, n_permutations: int = 1000, random_state: RandomState = 0
) -> RecoveryTest:
    """Test a correlation; `exchanged` returns both sides for an order of the n words."""
    rng = np.random.default_rng(as_seed(random_state))
    n_permutations = check_positive_int("n_permutations", n_permutations)
    x, y = exchanged(np.arange(n))
    value, p_value = correlation(x, y), math.nan
    if not math.isnan(value):
        draws = (correlation(*exchanged(rng.permutation(n))) for _ in range(n_permutations))
        _, p_value = _permuted(draws, value)
    interval, reason = _jackknife(x, y, value)
    return RecoveryTest(value, 0.0, interval, p_value, len(x), reason)


def _units(**groups: Groups) -> list[list[Vectors]]:
    lists = lists_of_word_sets(**groups)
    for name, sets in zip(groups, lists, strict=True):
        if len(sets) < 2:
            raise ValueError(f"{name} must be two groups or more; got {len(sets)}.")
    return [[part.unit for part in sets] for sets in lists]


def _labelled(sides: Sequence[Vectors]) -> tuple[Vectors, Labels]:
    sizes = [len(side) for side in sides]
    return np.concatenate(sides), np.repeat(np.arange(len(sides), dtype=np.intp), sizes)


def _best_reading(labels: Labels, clusters: Labels) -> Labels:
    """Match clusters with groups one to one, with most words right; return each word's group."""
    from scipy.optimize import linear_sum_assignment

    n_groups = labels.max() + 1
    counts = np.bincount(clusters * n_groups + labels, minlength=n_groups**2)
    _, groups = linear_sum_assignment(counts.reshape(n_groups, n_groups), maximize=True)
    return np.asarray(groups[clusters], dtype=np.intp)


def _shuffles(labels: Labels, n: int, rng: np.random.Generator) -> Iterator[Labels]:
    """Yield random groups of the same sizes; each time the same array."""
    shuffled = labels.copy()
    for _ in range(check_positive_int("n_permutations", n)):
        rng.shuffle(shuffled)
        yield shuffled


def _by_chance(
    labels: Labels, said: Labels, shuffles: Iterator[Labels], *, best: bool
) -> tuple[float, float, float]:
    """Return the share of words recovered, and its expectation and p-value by chance.

    `best` matches what is said with the groups anew, as clusters have no names.
    """

    def share(groups: Labels) -> float:
        return float(((_best_reading(groups, said) if best else said) == groups).mean())

    value = share(labels)
    if labels.max() == 1:
        return value, *_exactly(labels, said, best=best)
    return value, *_permuted(map(share, shuffles), value)


def _exactly(labels: Labels, said: Labels, *, best: bool) -> tuple[float, float]:
    """Return mean share and p-value over all random groups of the same two sizes."""
    from scipy.stats import hypergeom

    # The number of words that are second in both decides on all four cells, so that more words are
    # right where more of each group are: weights do not matter.
    n, second, said_second = len(labels), int(labels.sum()), int(said.sum())
    both = np.arange(max(0, second + said_second - n), min(second, said_second) + 1)
    agreements, right = n - second - said_second + 2 * both, (labels == said).sum()
    if best:
        agreements, right = np.maximum(agreements, n - agreements), max(right, n - right)
    shares = hypergeom.pmf(both, n, second, said_second)
    return float(shares @ agreements) / n, min(1.0, float(shares[agreements >= right].sum()))


def _permuted(draws: Iterable[float], seen: float) -> tuple[float, float]:
    drawn = np.array(list(draws))
    n_reached = int(np.count_nonzero(drawn >= seen - _ROUNDING))
    return float(drawn.mean()), (n_reached + 1) / (len(drawn) + 1)


def _divided(sides: Sequence[Vectors], rng: np.random.Generator) -> Iterator[Sequence[Vectors]]:
    parts = []
    for i, side in enumerate(sides):
        if len(side) < 2:
            raise ValueError(
                f"groups[{i}] has a single word; training and testing need different words. Give "
                "two words or more, or words to test on: test=[...]."
            )
        n_learnt = max(1, round(_TRAIN_SHARE * len(side)))
        parts.append(np.split(rng.permutation(side), [n_learnt]))
    return zip(*parts, strict=True)


def _jackknife(x: Vectors, y: Vectors, value: float) -> tuple[tuple[float, float], str | None]:
    """Return a jackknife interval of a correlation in Fisher's z, and why there is none.

    There the variance is about constant. Unlike Fisher's formula it does not assume normality.
    """
    nothing = math.nan, math.nan
    if math.isnan(value):
        return nothing, "no correlation: fewer than 3 words, or all have the same number"
    if 1 - abs(value) < _ROUNDING:
        return (value, value), None
    without = [correlation(np.delete(x, i), np.delete(y, i)) for i in range(len(x))]
    if not (np.abs(without) < 1 - _ROUNDING).all():
        return nothing, "no interval: too few words, or too many ties without one of them"
    error = jackknife_error([np.arctanh(without)])
    half, centre = NormalDist().inv_cdf((1 + _LEVEL) / 2) * error, math.atanh(value)
    return (math.tanh(centre - half), math.tanh(centre + half)), None
