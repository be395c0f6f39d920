"""P-values of permutation and sign-flip tests of a sum, by a saddlepoint approximation.

Choosing words is tossing independent coins, given the number of heads. The tail of the sum follows
from the double saddlepoint (Booth and Butler 1990; Robinson 1982), in the form of Skovgaard (1987)
and Barndorff-Nielsen (1991), which stays in [0, 1].
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, kl_div, ndtr

from wefe._wordset import Vectors

# Closer to the mean (in deviations) the formula is 0/0, and its correction nearly constant.
_CENTRE = 1e-2


def split_p_value(x: Vectors, y: Vectors, alternative: str, step: float = 0.0) -> float:
    """Share of splits whose difference of means is as extreme as that of x and y.

    All values are multiples of `step`, unless it is 0.
    """
    size, values = len(x), np.concatenate([x, y])
    values = values - values.mean()
    ordered, log_splits = np.sort(values), log_comb(len(values), size)
    tie = _rounding(values)
    design = np.column_stack([values, np.ones(len(values))])
    ends = [_largest_sum(each, size, tie, log_splits) for each in (ordered, -ordered[::-1])]
    share = size / len(values)
    return _p_value(design, share, float(values[:size].sum()), alternative, ends, tie, step)


def flip_p_value(differences: Vectors, alternative: str) -> float:
    """Share of sign patterns for which the sum of differences is at least as extreme."""
    d = differences[differences != 0]
    if not len(d):
        return 1.0
    ends = [(float(np.abs(d).sum()), 0.5 ** len(d))] * 2
    return _p_value(2 * d[:, None], 0.5, float(d.sum()), alternative, ends, _rounding(d), 0.0)


def _largest_sum(ordered: Vectors, size: int, tie: float, log_splits: float) -> tuple[float, float]:
    """Largest sum of `size` values, and the share of splits that reach it."""
    least = ordered[-size]
    n_tied = int(np.count_nonzero(np.abs(ordered - least) <= tie))
    n_needed = size - int(np.count_nonzero(ordered > least + tie))
    share = math.exp(log_comb(n_tied, n_needed) - log_splits)
    return float(ordered[-size:].sum()), max(share, math.ulp(0.0))


def log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _p_value(
    design: Vectors,
    share: float,
    observed: float,
    alternative: str,
    ends: list[tuple[float, float]],
    tie: float,
    step: float,
) -> float:
    """Tail probability of the first column's sum, less its mean, if this share of rows is drawn."""
    two_sided = alternative == "two-sided"
    signs = [1, -1] if two_sided else [-1 if alternative == "less" else 1]
    if two_sided and share == 0.5:  # both tails are alike
        return min(2 * _p_value(design, share, abs(observed), "greater", ends, tie, step), 1.0)
    p = 0.0
    for sign in signs:
        # Each tail is asked from its own side: P(sign sum >= goal).
        goal = abs(observed) if two_sided else sign * observed
        (most, of_most), (least, _) = ends[::sign]
        if goal <= tie - least:
            p += 1.0
        elif goal < most - tie:
            # The continuous formula counts half of the observed case.
            root = _root(design, share, sign * (goal - step / 2))
            p += max(float(ndtr(-sign * root)) + (step == 0) * of_most / 2, of_most)
        elif goal <= most + tie:
            p += of_most
    return min(p, 1.0)


def _root(design: Vectors, share: float, deviation: float) -> float:
    """Normal deviate with the tail probability of a sum that deviates this much from its mean."""
    start = share * (1 - share) * design.T @ design
    scale = math.sqrt(start[0, 0])
    z = deviation / scale
    used = math.copysign(max(abs(z), _CENTRE), z)
    goals = share * design.sum(axis=0)
    goals[0] += used * scale
    tilt = np.zeros(len(goals))
    tilt[0] = used / scale
    base = math.log(share / (1 - share))
    for _ in range(100):
        chosen = expit(base + design @ tilt)
        hessian = (design.T * (chosen * (1 - chosen))) @ design
        move = np.linalg.solve(hessian + 1e-13 * start, goals - chosen @ design)
        # Damped so that it converges from everywhere (Sun and Tran-Dinh 2019).
        far = float(np.abs(design @ move).max())
        tilt += move * math.log1p(far) / max(far, 1e-300)
        if far < 1e-6:  # the next error is its square
            break
    divergence = float((kl_div(chosen, share) + kl_div(1 - chosen, 1 - share)).sum())
    w = math.copysign(math.sqrt(2 * divergence), used)
    left = max(float(np.linalg.det(hessian)), 1e-300)
    v = tilt[0] * math.sqrt(left / float(np.linalg.det(start[1:, 1:])))
    return float(w + math.log(v / w) / w + (z - used))


def _rounding(values: Vectors) -> float:
    return 4 * len(values) * float(np.finfo(float).eps * np.abs(values).max(initial=0.0))
