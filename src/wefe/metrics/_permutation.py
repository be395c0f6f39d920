"""Permutation test of WEAT (Caliskan, Bryson & Narayanan, 2017), and the jackknife."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from wefe._checks import as_seed, check_array, check_choice, check_positive_int
from wefe._wordset import Vectors
from wefe.metrics._split_counting import count_at_least
from wefe.models._passes import Rows

Alternative: TypeAlias = Literal["greater", "less", "two-sided"]
Method: TypeAlias = Literal["approximate", "exact", "saddlepoint", "auto"]

# Statistics that differ by less than this, relative to max(1, |S|), are ties: their words are the
# same or interchangeable, and only the order of the additions differs.
_TIE_TOLERANCE = 1e-12
# Signs held at once while drawing random exchanges of pairs (8 bytes each).
_CHUNK = 2**20
# Words of random splits that are held at once (4 bytes each), and kept for the next test.
_MOST_KEPT = 2**22
# Up to this many pairs, all exchanges are counted; each half of them has 2**20 sums.
_MOST_PAIRS = 40
# "auto" accepts a saddlepoint p-value if it is not within a factor of two of this level, and at
# least so many splits are as extreme; with fewer it may be far from the count.
_LEVEL, _ENOUGH = 0.05, 1000
# Bounds more than a factor of two apart are less useful than random splits.
_USELESS = 0.5


@dataclass(frozen=True)
class PermutationTest:
    """Result of a permutation test, from :func:`permutation_test` or from a metric.

    A split exchanges words between sets, or the two words of some pairs.

    Attributes
    ----------
    statistic : float
        Sum of `x` minus sum of `y`; for a metric, its score.
    p_value : float
        Share of splits at least as extreme as the observed one, in (0, 1]. 'exact': the exact
        share; 'bounds': its upper bound; 'approximate': (r + 1) / (n + 1), where r of n random
        splits are as extreme; 'saddlepoint': an approximation.
    p_value_bounds : tuple of float
        Bounds of the exact p-value: equal for 'exact', guaranteed for 'bounds', a 99 % confidence
        interval (Wilson score) for 'approximate', NaN for 'saddlepoint'.
    method, alternative : {'exact', 'bounds', 'approximate', 'saddlepoint'}, and str
        How the p-value was computed, and the side that counts as extreme.
    n_splits : int
        Number of possible splits; for 'approximate', of random ones; 0 for 'saddlepoint'.
    null_mean, null_quantiles : float, and tuple of float
        Mean, and 2.5, 50 and 97.5 % quantiles, of the score over splits, for metrics; otherwise
        NaN.

    Examples
    --------
    >>> permutation_test([0.9, 0.8], [-1.0, -0.7], method="exact").n_splits
    6
    """

    statistic: float
    p_value: float
    p_value_bounds: tuple[float, float]
    method: Literal["exact", "bounds", "approximate", "saddlepoint"]
    alternative: Alternative
    n_splits: int
    null_mean: float = math.nan
    null_quantiles: tuple[float, ...] = (math.nan,) * 3


def permutation_test(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    alternative: Alternative = "greater",
    method: Method = "approximate",
    n_iterations: int = 10_000,
    random_state: int | np.random.Generator | None = None,
) -> PermutationTest:
    """Test whether two sets of words differ in their associations more than random splits do.

    The words of both sets are pooled and split again into sets of the original sizes. Let D_i be
    the mean over the first set minus the mean over the second, and D its observed value. The
    p-value is the share of splits with D_i >= D, with D_i <= D for ``"less"``, or with abs(D_i) >=
    abs(D) for ``"two-sided"``. The observed split counts too, so p is never 0. One-sided tests of D
    and of the difference of sums S are the same; two-sided ones differ if the sets differ in size.
    Splits tie with the observed one if their S differ by at most 1e-12 max(1, abs(S)) or by the
    rounding error of the sum. The test is that of Caliskan et al., Science 356, 2017; random splits
    follow Phipson & Smyth, Statistical Applications in Genetics and Molecular Biology 9(1), 2010,
    and saddlepoints Booth & Butler, Biometrika 77(4), 1990.

    Parameters
    ----------
    x, y : array-like of shape (n_x,) and (n_y,)
        Association s(w, A, B) of each word of the two target sets, in [-2, 2]. The sizes may
        differ, and a word may be in both sets.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Side that counts as extreme.
    method : {"approximate", "exact", "saddlepoint", "auto"}, default="approximate"
        ``"exact"`` counts all splits if there are up to 40 words in total, or few splits as extreme
        as the observed one; otherwise it computes two guaranteed bounds, mostly within 1 %. If they
        differ more than twofold (from about 1,000 words), it draws random splits. ``"approximate"``
        draws random splits. ``"saddlepoint"`` is for a first look: its error is mostly below 1 % if
        at least 1,000 splits are as extreme. ``"auto"`` uses it, but ``"exact"`` if p is between
        0.025 and 0.1 or fewer than 1,000 splits are as extreme.
    n_iterations : int, default=10_000
        Number of random splits.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the random splits. NumPy's global generator is neither used nor changed.

    Returns
    -------
    PermutationTest
        Statistic, p-value, its bounds, and how they were computed.

    Examples
    --------
    >>> permutation_test([0.9, 0.8], [-1.0, -0.7], method="exact").p_value  # one of six splits
    0.16666666666666666
    """
    x, y = check_array("x", x, "(n_words,)"), check_array("y", y, "(n_words,)")
    check_choice("alternative", alternative, get_args(Alternative))
    check_choice("method", method, get_args(Method))
    n_iterations = check_positive_int("n_iterations", n_iterations)
    seed = as_seed(random_state)

    statistic = math.fsum(x) - math.fsum(y)
    if method in ("saddlepoint", "auto"):
        from wefe.metrics._saddlepoint import log_comb, split_p_value  # quicker to start without it

        values = np.concatenate([x, y])
        step = _common_step(values, _TIE_TOLERANCE * float(np.abs(values).max()))
        p_value = split_p_value(x, y, alternative, step)
        if method == "saddlepoint" or _is_settled(p_value, log_comb(len(values), len(x))):
            return _approximated(statistic, p_value, alternative)
    n_splits = math.comb(len(x) + len(y), len(x))
    # P(D_i <= D) for (x, y) is P(D_i >= D) for (y, x). A two-sided test may as well start from
    # D >= 0; then the order of the sets cannot matter.
    difference = math.fsum(x) / len(x) - math.fsum(y) / len(y)
    if alternative == "less" or (alternative == "two-sided" and difference < 0):
        x, y = y, x
    values, tolerance = _as_integers(np.concatenate([x, y]), statistic)
    # Let V_i be the sum over the first set: S_i = 2 V_i - total, and D_i is proportional to the
    # distance of V_i from its mean over all splits, n_x total / n.
    observed = int(values[: len(x)].sum()) - tolerance // 2
    # Splits with V_i >= high or V_i <= low are at least as extreme as the observed one.
    high, low = observed, None
    if alternative == "two-sided":
        low = 2 * len(x) * int(values.sum()) // len(values) - observed

    if method in ("exact", "auto"):
        bounds = _share_bounds(values, len(x), low, high)
        if bounds[0] >= _USELESS * bounds[1]:
            kind: Literal["exact", "bounds"] = "exact" if bounds[0] == bounds[1] else "bounds"
            return PermutationTest(statistic, bounds[1], bounds, kind, alternative, n_splits)
    n_rows, hits = max(1, _MOST_KEPT // len(values)), 0
    for start in range(0, n_iterations, n_rows):
        orders = random_orders(len(values), min(n_rows, n_iterations - start), seed, start)
        sums = values[orders[:, : len(x)]].sum(axis=1)
        hits += int(np.count_nonzero((sums >= high) | (low is not None and sums <= low)))
    return sampled(statistic, hits, n_iterations, alternative)


def flip_test(
    differences: Vectors,
    alternative: Alternative,
    method: Method,
    n_iterations: int,
    random_state: int,
) -> PermutationTest:
    """Test whether the words of pairs differ more than with pairs exchanged at random.

    The p-value is the share of sign patterns with a sum of differences as extreme. ``"exact"``
    counts up to 40 pairs: it looks up each sum of one half among the sorted sums of the other.
    """
    statistic, n = math.fsum(differences), len(differences)
    two_sided = alternative == "two-sided"
    if method in ("saddlepoint", "auto"):
        from wefe.metrics._saddlepoint import flip_p_value

        p_value = flip_p_value(differences, alternative)
        if method == "saddlepoint" or _is_settled(p_value, n * math.log(2)):
            return _approximated(statistic, p_value, alternative)
    # Exchanging all pairs changes the sign of the sum.
    signed = -differences if alternative == "less" else differences
    seen = {"greater": statistic, "less": -statistic, "two-sided": abs(statistic)}[alternative]
    goal = seen - max(_TIE_TOLERANCE, 1e-14 * float(np.abs(differences).sum()))
    if method in ("exact", "auto") and n <= _MOST_PAIRS:
        one, other = (_sums_of_signs(half) for half in np.array_split(signed, 2))
        hits = int((len(other) - np.searchsorted(np.sort(other), goal - one)).sum())
        share = min((1 + two_sided) * hits / 2**n, 1.0)
        return PermutationTest(statistic, share, (share, share), "exact", alternative, 2**n)
    hits, generator = 0, np.random.default_rng(random_state)
    for start in range(0, n_iterations, _CHUNK // n + 1):
        size = min(_CHUNK // n + 1, n_iterations - start)
        sums = generator.choice([-1.0, 1.0], size=(size, n)) @ signed
        hits += int(np.count_nonzero((np.abs(sums) if two_sided else sums) >= goal))
    return sampled(statistic, hits, n_iterations, alternative)


def _is_settled(p_value: float, log_splits: float) -> bool:
    """Tell whether counting all splits would hardly change the conclusion from a p-value."""
    is_clear = not _LEVEL / 2 <= p_value <= 2 * _LEVEL
    return is_clear and p_value >= _ENOUGH * math.exp(-log_splits)


def sampled(statistic: float, hits: int, n: int, alternative: Alternative) -> PermutationTest:
    # The observed split is one more draw: with it the test keeps its level (Phipson & Smyth).
    p_value, bounds = (hits + 1) / (n + 1), wilson(hits / n, n, level=0.99)
    return PermutationTest(statistic, p_value, bounds, "approximate", alternative, n)


def _approximated(statistic: float, p_value: float, alternative: Alternative) -> PermutationTest:
    nan = math.nan, math.nan
    return PermutationTest(statistic, p_value, nan, "saddlepoint", alternative, n_splits=0)


def _sums_of_signs(values: Vectors) -> Vectors:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def wilson(share: float, n: float, level: float) -> tuple[float, float]:
    """Score interval for a share of n (Wilson 1927)."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    root = z * math.sqrt(z * z + 4 * n * share * (1 - share))
    # Written so that a share of 0 has a lower bound of exactly 0, and 1 an upper bound of 1.
    low, rest = (2 * n * part + z * z - root for part in (share, 1 - share))
    return max(low, 0.0) / (2 * (n + z * z)), 1 - max(rest, 0.0) / (2 * (n + z * z))


def _as_integers(values: Vectors, statistic: float) -> tuple[npt.NDArray[np.int64], int]:
    """Values, and the tolerance for ties of the statistic, as multiples of a common unit."""
    largest = float(np.abs(values).max())
    rounding = 4 * len(values) * np.finfo(np.float64).eps * largest
    tolerance = max(_TIE_TOLERANCE * max(1.0, abs(statistic)), rounding)
    # Changing each value by this much moves a statistic by at most a quarter of the tolerance.
    step = _common_step(values, tolerance / (4 * len(values)))
    if step > tolerance:
        return np.rint(values / step).astype(np.int64), 0

    # The sum of all absolute values stays below 2**62, as the counting asks.
    bits = min(53, 61 - len(values).bit_length())
    unit = math.ldexp(1.0, math.frexp(max(largest, tolerance))[1] - bits)
    return np.rint(values / unit).astype(np.int64), int(tolerance / unit)


def _common_step(values: Vectors, error: float) -> float:
    """Step of which all values (such as rounded ones) are multiples up to `error`; 0.0 if none."""
    largest = float(np.abs(values).max())

    def divisor(a: float, b: float) -> float:
        # Euclid's algorithm; remainders this small are rounding errors, or else the check below
        # fails.
        while b > 1e-9 * largest:
            a, b = b, a % b
        return a

    step = functools.reduce(divisor, np.abs(values).tolist(), 0.0)
    if step <= 1e-6 * largest:
        return 0.0
    step = largest / round(largest / step)
    exact = bool(np.abs(values - step * np.rint(values / step)).max() <= error)
    return step if exact else 0.0


@functools.lru_cache(maxsize=4)  # many models and metrics share the splits of a query
def random_orders(n_words: int, n_splits: int, seed: int, start: int = 0) -> npt.NDArray[np.int32]:
    """Random orders of words: shape (n_splits, n_words); others for each seed and start."""
    rows = np.broadcast_to(np.arange(n_words, dtype=np.int32), (n_splits, n_words))
    return np.random.default_rng([seed, start]).permuted(rows, axis=1)


def _share_bounds(
    values: npt.NDArray[np.int64], size: int, low: int | None, high: int
) -> tuple[float, float]:
    """Bound the share of all splits whose first set sums to >= `high` or <= `low`."""
    n_splits = math.comb(len(values), size)
    fewest, most = count_at_least(values, size, high)
    if low is not None:
        # Exchanging the sets of a split changes the sign of its statistic.
        others = (fewest, most)
        if 2 * size != len(values):
            others = count_at_least(-values, size, -low)
        fewest, most = fewest + others[0], most + others[1]
    # The observed split is one of them. Without any difference, all are counted twice.
    fewest, most = max(fewest, 1), min(most, n_splits)
    if fewest >= most:
        # More than 10**323 splits: 1 / n_splits would be rounded to 0.
        share = max(most / n_splits, math.ulp(0.0))
        return share, share
    upper = math.nextafter(most / n_splits, math.inf)
    return math.nextafter(fewest / n_splits, 0.0), min(upper, 1.0)


# Groups of words that are left out; more would take longer and say little more.
_MOST_GROUPS = 20


def deletion_groups(n: int) -> list[Rows]:
    """Return which of n words to leave out together: single words up to 20, else random groups.

    The seed is fixed, because word lists are often sorted.
    """
    if n < 2:
        return []
    order = np.arange(n) if n <= _MOST_GROUPS else np.random.default_rng(0).permutation(n)
    return list(np.array_split(order, min(n, _MOST_GROUPS)))


def jackknife_error(by_set: Sequence[npt.ArrayLike]) -> float:
    """Standard error of a score, from its values with words of each set left out.

    The root of the sum over sets of (G - 1) / G * sum_g (score_g - mean)^2; NaN for G = 1 group.
    """
    total = 0.0
    for values in by_set:
        scores = np.asarray(values, dtype=np.float64)
        if len(scores) < 2:
            return math.nan
        total += (len(scores) - 1) * float(scores.var())
    return math.sqrt(total)
