"""Logistic regressions on many weighted cases of one data set, fitted together.

The problem is liblinear's: the intercept is the coefficient of a further feature that is always 1,
and it is penalised like the others,

    min over w of  |w|^2 / 2 + sum_i c_i ln(1 + exp(-s_i w.x_i)),

with the sign s_i of word i's class, and c_i how often the word counts. The optimum is unique, so
it depends neither on the method nor on where that starts.
"""

from __future__ import annotations

import functools
import logging
import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from wefe._wordset import Vectors
from wefe.embeddings import UnanswerableError

Singles = npt.NDArray[np.float32]

logger = logging.getLogger(__name__)

# Length of the gradient at which a fit ends. The penalty alone has a curvature of 1, so that the
# optimum is no farther away than this.
_TOLERANCE = 1e-7
# Numbers of a matrix of cases x words; some ten of these exist at once in each thread.
_BATCH_NUMBERS = 1 << 18
_MAX_THREADS = 8
_MAX_NEWTON_STEPS = 200
# Conjugate-gradient steps towards one Newton step, and the share of the gradient that they leave:
# the nearer the optimum, the less. Single precision does not go further.
_MAX_CONJUGATE_STEPS = 100
_PRECISIONS = 1e-4, 0.1
# While no margin changes by more than this, a full Newton step goes down: the curvature grows by a
# factor of exp(change) at most, and (exp(change) - change - 1) / change^2 is below 1.
_SURE_CHANGE = 1.7
_SHORTEST_STEP = 1e-12

# Beyond this, products in single precision may overflow.
_LARGEST = 1e7

_blas_lock = threading.Lock()


def fit_cases(
    x: npt.ArrayLike,
    signs: npt.ArrayLike,
    weights_of: Callable[[slice], Vectors],
    n_cases: int,
    output: Callable[[Vectors], Vectors] = lambda coefficients: coefficients,
) -> Vectors:
    """Fit logistic regressions on one data set whose rows count differently in every case.

    Parameters
    ----------
    x : array-like of shape (n_rows, dim)
        The data, without a column for the intercept.
    signs : array-like of shape (n_rows,)
        Class of each row: 1 or -1.
    weights_of : function
        Returns, for a slice of the cases, how often each row counts: (n_cases_of_batch, n_rows).
    n_cases : int
        Number of cases.
    output : function, optional
        Returns what to keep of the coefficients of some cases, (n_cases_of_batch, dim + 1) with the
        intercept last: one row per case. All of them by default.

    Returns
    -------
    ndarray of shape (n_cases, n_kept)
        The outputs of all cases.

    Raises
    ------
    UnanswerableError
        If the data have values so large that the fits would overflow.

    Examples
    --------
    >>> cases = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    >>> fit_cases([[1.0], [2.0], [-1.0]], [1, 1, -1], lambda part: cases[part], 2).round(3)
    array([[0.868, 0.097],
           [0.675, 0.   ]])
    """
    data = with_intercept(np.asarray(x, dtype=np.float64))
    largest = np.abs(data).max()
    if largest > _LARGEST:
        raise UnanswerableError(
            f"the words to train on have values up to {largest:.3g}, and a classifier needs values "
            f"of at most {_LARGEST:.0e}. Scale the vectors, for example with normalize=True."
        )
    data *= np.asarray(signs, dtype=np.float64)[:, None]
    with one_blas_thread() as n_threads, ThreadPoolExecutor(n_threads) as pool:
        basis = None
        if len(data) < data.shape[1]:
            # The optimum is a combination of the rows: there are fewer coordinates than features.
            axes, coordinates = np.linalg.qr(data.T)
            data, basis = np.ascontiguousarray(coordinates.T), axes.T

        def fit(cases: slice) -> Vectors:
            coefficients = _fit_batch(data, weights_of(cases))
            return output(coefficients if basis is None else coefficients @ basis)

        size = max(1, min(_BATCH_NUMBERS // len(data), math.ceil(n_cases / n_threads)))
        batches = [slice(i, min(i + size, n_cases)) for i in range(0, n_cases, size)]
        return np.concatenate(list(pool.map(fit, batches)))


def sigmoid(values: Vectors) -> Vectors:
    """Logistic function."""
    from scipy.special import expit  # quicker to start without it

    return np.asarray(expit(values))


def with_intercept(vectors: Vectors) -> Vectors:
    """Append the feature that is always 1."""
    return np.column_stack([vectors, np.ones(len(vectors))])


def _fit_batch(x: Vectors, weights: Vectors) -> Vectors:
    """Fit some cases, from the fit of their mean weights, whose Hessian is the preconditioner."""
    used = weights.any(axis=0)
    x, weights = x[used], weights[:, used]
    mean, start = weights.mean(axis=0, keepdims=True), np.zeros((1, x.shape[1]))
    solver = _NewtonSolver(x)
    start = solver.solve(mean, start, solver.factorize(mean[0], start[0]))
    if len(weights) == 1:
        return start
    factor = solver.factorize(mean[0], start[0])
    return solver.solve(weights, start.repeat(len(weights), axis=0), factor)


class _NewtonSolver:
    """Newton's method for all cases of a batch at once.

    Preconditioned conjugate gradients give its steps, in single precision: gradients are in double
    precision, so the next step makes up for what one lacks. Every product with the data is one
    product of matrices for all cases.
    """

    def __init__(self, x: Vectors) -> None:
        self._x = x
        self._single = x.astype(np.float32)

    def factorize(self, weights: Vectors, w: Vectors) -> Singles:
        """Return the Cholesky factor of the Hessian of one case, roughly."""
        from scipy.linalg import cholesky

        residuals = sigmoid(self._x @ -w)
        scales = np.sqrt(weights * residuals * (1 - residuals)).astype(np.float32)
        scaled = self._single * scales[:, None]
        hessian = (scaled.T @ scaled).astype(np.float64)
        # More than the penalty, so that rounding leaves no negative eigenvalue.
        hessian.flat[:: len(hessian) + 1] += 1 + 1e-6 * np.trace(hessian)
        return np.asarray(cholesky(hessian), dtype=np.float32)

    def solve(self, weights: Vectors, start: Vectors, factor: Singles) -> Vectors:
        """Return the optima: (n_cases, n_features)."""
        w, active = start.copy(), np.arange(len(start))
        margins = w @ self._x.T
        for _ in range(_MAX_NEWTON_STEPS):
            shares = sigmoid(-margins)
            residuals = weights * shares
            gradient = w[active] - residuals @ self._x
            hessian_weights = residuals * (1 - shares)
            running = ~(np.linalg.norm(gradient, axis=1) <= _TOLERANCE)
            if not running.any():
                return w
            if not running.all():
                active, weights, margins = active[running], weights[running], margins[running]
                gradient, hessian_weights = gradient[running], hessian_weights[running]
            step = self._newton_step(gradient, hessian_weights, factor)
            change = step @ self._x.T
            largest = np.abs(change * (weights > 0)).max(axis=1)
            for case in np.flatnonzero(largest > _SURE_CHANGE):
                each = step[case], margins[case], change[case], weights[case]
                length = _line_search(w[active[case]], *each)
                step[case] *= length
                change[case] *= length
            w[active] -= step
            margins -= change
        logger.warning("%d logistic regressions did not converge.", len(active))
        return w

    def _newton_step(self, gradient: Vectors, hessian_weights: Vectors, factor: Singles) -> Vectors:
        """Return Newton steps, the more precise the nearer the optimum is."""
        x, weights = self._single, hessian_weights.astype(np.float32)
        remaining = gradient.astype(np.float32)
        step = np.zeros_like(remaining)
        direction = preconditioned = _precondition(remaining, factor)
        squares = _dots(remaining, preconditioned)
        lengths = np.linalg.norm(gradient, axis=1)
        precision = np.maximum(np.sqrt(squares), _TOLERANCE / 2 / lengths)
        enough = lengths * np.clip(precision, *_PRECISIONS)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            for _ in range(_MAX_CONJUGATE_STEPS):
                running = ~(np.linalg.norm(remaining, axis=1) <= enough)
                if not running.any():
                    break
                product = direction + (direction @ x.T * weights) @ x
                length = np.where(running, squares / _dots(direction, product), 0)[:, None]
                step += length * direction
                remaining -= length * product
                preconditioned = _precondition(remaining, factor)
                previous, squares = squares, _dots(remaining, preconditioned)
                direction = preconditioned + (squares / previous)[:, None] * direction
        return step.astype(np.float64)


def _precondition(gradient: Singles, factor: Singles) -> Singles:
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve((factor, False), gradient.T, check_finite=False)).T


def _line_search(
    w: Vectors, step: Vectors, margins: Vectors, change: Vectors, weights: Vectors
) -> float:
    """Halve a step until the loss still falls at its end, and return its length.

    The loss is convex, so this gains at least half of what any part of the step would gain.
    """
    length = 1.0
    while length > _SHORTEST_STEP:
        residuals = sigmoid(length * change - margins)
        if (w - length * step) @ step >= (weights * residuals) @ change:
            break
        length /= 2
    return length


@functools.cache
def _blas() -> Any:
    # SciPy has a BLAS of its own, which can only be limited once it is loaded.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Keep BLAS to one thread; give the number of threads that it had, for batches of cases.

    A product is too small for several threads, which cost more than they bring where other work
    has a core. The number belongs to the process, so two threads must not change it in turns.
    """
    n_threads = max((each.num_threads for each in _blas().lib_controllers), default=1)
    if n_threads == 1:
        yield 1
        return
    with _blas_lock, _blas().limit(limits=1):
        yield min(_MAX_THREADS, n_threads)


def _dots(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.asarray(np.einsum("ij,ij->i", first, second))
