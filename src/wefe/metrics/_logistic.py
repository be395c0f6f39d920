"""Many logistic regressions on the same words, each with its own weights of the words.

L2-penalised with C=1 and a penalised intercept, as liblinear has them: minimise
|w|^2 / 2 + sum_i weight_i log(1 + exp(-sign_i x_i w)), with a constant 1 appended to x. All are
fitted at once by Newton's method, whose steps are found by conjugate gradients: the Hessian for
the mean weights, factorized once, preconditions all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from wefe._wordset import Vectors
from wefe.embeddings import UnanswerableError

logger = logging.getLogger(__name__)

# Length of the gradient at which a fit ends. The penalty alone has a curvature of 1, so that the
# optimum is no farther away than this.
_TOLERANCE = 1e-7
# Numbers of a matrix of cases x words; some ten of these exist at once.
_BATCH_NUMBERS = 1 << 18
_MAX_NEWTON_STEPS = 200
_MAX_HALVINGS = 40
# While no margin changes by more than this, a full Newton step goes down: the curvature grows by a
# factor of exp(change) at most, and (exp(change) - change - 1) / change^2 is below 1.
_SURE_CHANGE = 1.7
_MAX_CONJUGATE_STEPS = 100
# Beyond this, products overflow.
_LARGEST = 1e7


def fit_cases(
    x: npt.ArrayLike,
    signs: npt.ArrayLike,
    weights_of: Callable[[slice], Vectors],
    n_cases: int,
    output: Callable[[Vectors], Vectors] = np.asarray,
) -> Vectors:
    """Fit a logistic regression in each case of the weights.

    Parameters
    ----------
    x : array-like of shape (n_words, dim)
        Features.
    signs : array-like of shape (n_words,)
        1 for the positive class, -1 for the other one.
    weights_of : callable
        Makes the weights of some cases, given as a slice: shape (n_cases, n_words), at least 0.
    n_cases : int
        Number of cases.
    output : callable, optional
        What becomes of the coefficients of some cases, of shape (n_cases, dim + 1), the intercept
        last.

    Returns
    -------
    ndarray of shape (n_cases, dim + 1), or as `output` makes it
        Coefficients, each no farther than 1e-7 from the optimum.
    """
    data = with_intercept(np.asarray(x, dtype=np.float64))
    largest = np.abs(data).max()
    if largest > _LARGEST:
        raise UnanswerableError(
            f"the words to train on have values up to {largest:.3g}, and a classifier needs values "
            f"of at most {_LARGEST:.0e}. Scale the vectors, for example with normalize=True."
        )
    data *= np.asarray(signs, dtype=np.float64)[:, None]
    basis = None
    if len(data) < data.shape[1]:
        # The optimum is a combination of the rows: there are fewer coordinates than features.
        axes, coordinates = np.linalg.qr(data.T)
        data, basis = np.ascontiguousarray(coordinates.T), axes.T
    made, size = [], max(1, _BATCH_NUMBERS // len(data))
    for start in range(0, n_cases, size):
        fitted = _fit_batch(data, weights_of(slice(start, min(start + size, n_cases))))
        made.append(output(fitted if basis is None else fitted @ basis))
    return np.concatenate(made)


def sigmoid(values: Vectors) -> Vectors:
    """Return 1 / (1 + exp(-values))."""
    from scipy.special import expit  # quicker to start without it

    return np.asarray(expit(values))


def with_intercept(vectors: Vectors) -> Vectors:
    """Append a constant 1 to each vector."""
    return np.column_stack([vectors, np.ones(len(vectors))])


def _fit_batch(x: Vectors, weights: Vectors) -> Vectors:
    used = weights.any(axis=0)
    x, weights = x[used], weights[:, used]
    mean, w = weights.mean(axis=0, keepdims=True), np.zeros((1, x.shape[1]))
    w = _newton(x, mean, w, _factorized(x, mean, w))
    if len(weights) == 1:
        return w
    return _newton(x, weights, w.repeat(len(weights), axis=0), _factorized(x, mean, w))


def _factorized(x: Vectors, weights: Vectors, w: Vectors) -> Vectors:
    """Return the Cholesky factor of the Hessian."""
    from scipy.linalg import cholesky

    shares = sigmoid(w @ x.T)
    curvature = (weights * shares * (1 - shares))[0]
    return np.asarray(cholesky(np.eye(x.shape[1]) + (x.T * curvature) @ x))


def _newton(x: Vectors, weights: Vectors, w: Vectors, factor: Vectors) -> Vectors:
    for _ in range(_MAX_NEWTON_STEPS):
        margins = w @ x.T
        shares = sigmoid(-margins)
        residuals = weights * shares
        gradient = w - residuals @ x
        running = np.linalg.norm(gradient, axis=1) > _TOLERANCE
        if not running.any():
            return w
        step = _newton_step(x, gradient, residuals * (1 - shares), factor)
        change, length = step @ x.T, running[:, None] * 1.0
        unsure = np.abs(change * (weights > 0)).max(axis=1) > _SURE_CHANGE
        for _ in range(_MAX_HALVINGS if unsure.any() else 0):
            # A step is too long where the way would lead up at its end.
            ahead = weights * sigmoid(length * change - margins)
            uphill = unsure & (_dots(w - length * step, step) < _dots(ahead, change))
            if not uphill.any():
                break
            length[uphill] /= 2
        w = w - length * step
    logger.warning("%d logistic regressions did not converge.", np.count_nonzero(running))
    return w


def _newton_step(x: Vectors, gradient: Vectors, curvature: Vectors, factor: Vectors) -> Vectors:
    """Solve (1 + x' curvature x) step = gradient in each case, the better the smaller these are."""
    from scipy.linalg import cho_solve

    def precondition(rows: Vectors) -> Vectors:
        return np.asarray(cho_solve((factor, False), rows.T, check_finite=False)).T

    remaining, step = gradient, np.zeros_like(gradient)
    direction = precondition(remaining)
    squares = _dots(remaining, direction)
    lengths = np.linalg.norm(gradient, axis=1)
    enough = np.maximum(lengths * np.clip(np.sqrt(squares), 1e-4, 0.1), _TOLERANCE / 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        for _ in range(_MAX_CONJUGATE_STEPS):
            running = np.linalg.norm(remaining, axis=1) > enough
            if not running.any():
                break
            product = direction + (direction @ x.T * curvature) @ x
            length = np.where(running, squares / _dots(direction, product), 0)[:, None]
            step = step + length * direction
            remaining = remaining - length * product
            preconditioned = precondition(remaining)
            previous, squares = squares, _dots(remaining, preconditioned)
            direction = preconditioned + (squares / previous)[:, None] * direction
    return step


def _dots(first: Vectors, second: Vectors) -> Vectors:
    return np.asarray(np.einsum("ij,ij->i", first, second))
