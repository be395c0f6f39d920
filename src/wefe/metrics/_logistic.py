"""Many logistic regressions on the same words, each with its own weights of the words."""

from __future__ import annotations

import functools
import itertools
import math
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import logger
from wefe._wordset import Vectors, Weights
from wefe.embeddings import UnanswerableError
from wefe.metrics._geometry import Numbers, row_products

_Stop: TypeAlias = tuple[float, int]

# Length of the gradient at which a fit ends. The penalty alone has a curvature of 1, so that the
# optimum is no farther away than this.
_TOLERANCE = 1e-7
# Cases that are fitted together, and numbers of their matrix of cases x words; some ten of these
# exist at once in each thread. How cases are divided changes the last digits, so it must not depend
# on the number of threads.
_BATCH_CASES, _BATCH_NUMBERS = 512, 3 << 18
# Subsets that grow in more steps than this have batches of their own, of so many at most: they
# share few words with other runs.
_BATCH_STEPS = 125
_MAX_THREADS = 8
# A fit stops at this length of the gradient, or after so many steps: the last one, the one before
# it in single precision, which may not get there, and that of mean weights, where cases start.
_STOP, _STOP_SINGLE, _STOP_MEAN = (_TOLERANCE, 200), (1e-3, 10), (0.3, 10)
_MAX_HALVINGS = 40
# While no margin changes by more than this, a full Newton step goes down: the curvature grows by a
# factor of exp(change) at most, and (exp(change) - change - 1) / change^2 is below 1.
_SURE_CHANGE = 1.7
_MAX_CONJUGATE_STEPS = 100
# Beyond this, products overflow.
_LARGEST = 1e7

_blas_lock = threading.Lock()


def fit_cases(x: npt.ArrayLike, signs: npt.ArrayLike, weights: Sequence[Weights]) -> Vectors:
    """Fit a logistic regression in each case, and return the coefficients.

    As in liblinear, with C=1 and a penalised intercept, they minimise |w|^2 / 2 + sum_i weight_i
    log(1 + exp(-sign_i x_i w)), by Newton's method with preconditioned conjugate gradients.

    `x` has shape (n_words, dim); `signs` are 1 or -1; `weights` are those of all words, in parts.
    Coefficients have shape (n_cases, dim + 1), the intercept last, and lie within 1e-7 of the
    optimum.
    """
    data = with_intercept(np.asarray(x, dtype=np.float64))
    largest = np.abs(data).max()
    if largest > _LARGEST:
        raise UnanswerableError(
            f"the words to train on have values up to {largest:.3g}, and a classifier needs values "
            f"of at most {_LARGEST:.0e}. Scale the vectors, for example with normalize=True."
        )
    data *= np.asarray(signs, dtype=np.float64)[:, None]
    with _one_blas_thread() as n_threads, ThreadPoolExecutor(n_threads) as pool:
        basis = None
        if len(data) < data.shape[1]:
            # The optimum is a combination of the rows: there are fewer coordinates than features.
            axes, coordinates = np.linalg.qr(data.T)
            data, basis = np.ascontiguousarray(coordinates.T), axes.T

        once, start = np.ones((1, len(data))), np.zeros((1, data.shape[1]))
        single, factor = data.astype(np.float32), _preconditioner(data, once, start)
        start, _ = _newton(single, single, once, start, factor, _STOP_SINGLE)

        def fit(cases: slice) -> Vectors:
            return _fit_batch(data, weight_matrix(weights, cases), start, factor)

        coefficients = np.concatenate(list(pool.map(fit, _batches(weights, len(data)))))
        return coefficients if basis is None else coefficients @ basis


def weight_matrix(parts: Sequence[Weights], cases: slice = slice(None)) -> Vectors:
    """Weights of the words of all parts in some cases: (n_cases, n_words)."""
    matrices = [part.matrix(cases) for part in parts]
    n_rows = max(map(len, matrices))
    return np.hstack([np.broadcast_to(part, (n_rows, part.shape[1])) for part in matrices])


def _batches(weights: Sequence[Weights], n_words: int) -> Iterator[slice]:
    n_cases = max(part.n_cases for part in weights)
    n_steps = max(part.n_steps for part in weights)
    size = max(1, min(_BATCH_CASES, _BATCH_NUMBERS // n_words))
    n_batches = math.ceil(n_cases / size)
    if n_steps > _BATCH_STEPS:
        n_batches = n_cases // n_steps * math.ceil(n_steps / min(size, _BATCH_STEPS))
    edges = np.arange(n_batches + 1) * n_cases // n_batches
    return itertools.starmap(slice, itertools.pairwise(edges.tolist()))


def sigmoid(values: Vectors) -> Vectors:
    from scipy.special import expit  # quicker to start without it

    return np.asarray(expit(values))


def with_intercept(vectors: Vectors) -> Vectors:
    return np.column_stack([vectors, np.ones(len(vectors))])


def _fit_batch(x: Vectors, weights: Vectors, w: Vectors, factor: Numbers) -> Vectors:
    used = weights.any(axis=0)
    x, weights = x[used], weights[:, used]
    single = x.astype(np.float32)
    # All cases start from a fit of their mean weights, and come near in single precision.
    mean = weights.mean(axis=0, keepdims=True)
    w, _ = _newton(single, single, mean, w, factor, _STOP_MEAN)
    factor = _preconditioner(x, mean, w)
    w, _ = _newton(single, single, weights, w, factor, _STOP_SINGLE)
    w, n_left = _newton(x, single, weights, w, factor, _STOP)
    if n_left:
        logger.warning("%d logistic regressions did not converge.", n_left)
    return w


def _preconditioner(x: Vectors, weights: Vectors, w: Vectors) -> Numbers:
    """Return a matrix P such that P P' is the inverse of the Hessian."""
    from scipy.linalg import cholesky, lapack

    shares = _shares(w @ x.T)
    rows = x * np.sqrt(weights * shares * (1 - shares)).T
    factor = cholesky(np.eye(x.shape[1]) + rows.T @ rows)
    return np.asarray(lapack.dtrtri(factor)[0], dtype=np.float32)


def _newton(
    x: Numbers, single: Numbers, weights: Numbers, start: Numbers, factor: Numbers, stop: _Stop
) -> tuple[Numbers, int]:
    """Improve coefficients in the precision of `x`; also return how many cases did not converge."""
    tolerance, n_steps = stop
    longest = np.sqrt(row_products(single, single).max(initial=0))

    def is_precise(numbers: Numbers) -> bool:
        """Tell whether single precision is enough for numbers @ x."""
        error = np.finfo(np.float32).eps * longest * np.abs(numbers).sum(axis=1).max(initial=0)
        return bool(error < tolerance / 4)

    weights, start = weights.astype(x.dtype, copy=False), start.astype(x.dtype)
    # All cases may start from the same coefficients.
    w, margins = (each.repeat(len(weights) // len(start), axis=0) for each in (start, start @ x.T))
    active, shares = np.arange(len(w)), _shares(margins)
    residuals = weights * shares
    gradient = w - residuals @ x
    for _ in range(n_steps):
        running = ~(np.linalg.norm(gradient, axis=1) <= tolerance)
        state = (active, weights, margins, shares, residuals, gradient)
        active, weights, margins, shares, residuals, gradient = (
            state if running.all() else (each[running] for each in state)
        )
        if not len(active):
            break
        curvature = residuals * (1 - shares)
        step = _newton_step(single, factor, gradient, curvature)
        largest = longest * np.linalg.norm(step, axis=1, keepdims=True)
        change = step @ (single if is_precise(curvature * largest) else x).T
        length = np.ones((len(step), 1), x.dtype)
        far = np.flatnonzero(np.abs(change).max(axis=1, initial=0) > _SURE_CHANGE)
        for _ in range(_MAX_HALVINGS):
            # A step is too long if the function rises at its end.
            ahead = weights[far] * _shares(margins[far] - length[far] * change[far])
            end = w[active[far]] - length[far] * step[far]
            far = far[row_products(end, step[far]) < row_products(ahead, change[far])]
            if not len(far):
                break
            length[far] /= 2
        w[active] -= length * step
        margins -= length * change
        shares = _shares(margins)
        before, residuals = residuals, weights * shares
        added = before - residuals
        if is_precise(added):
            gradient = gradient - length * step + added.astype(np.float32) @ single
        else:
            gradient = w[active] - residuals @ x
    return w, len(active)


def _shares(margins: Numbers) -> Numbers:
    """Return 1 / (1 + exp(margins)), to the precision of 1 and in half the time of `sigmoid`."""
    return np.asarray(0.5 - 0.5 * np.tanh(0.5 * margins))


def _newton_step(x: Numbers, factor: Numbers, gradient: Numbers, curvature: Numbers) -> Numbers:
    """Solve (1 + x' curvature x) step = gradient in each case.

    Single precision will do: the next gradient makes up for errors.
    """
    remaining: Numbers = gradient.astype(np.float32)
    curvature = curvature.astype(np.float32)
    step = np.zeros_like(remaining)
    direction = remaining @ factor @ factor.T
    squares = row_products(remaining, direction)
    lengths = np.linalg.norm(gradient, axis=1)
    # More precisely near the optimum.
    enough = np.maximum(lengths * np.clip(np.sqrt(squares), 1e-4, 0.1), _TOLERANCE / 2)
    active = np.arange(len(step))
    for _ in range(_MAX_CONJUGATE_STEPS):
        running = np.linalg.norm(remaining, axis=1) > enough
        if not running.any():
            break
        if not running.all():
            state = (active, enough, curvature, remaining, direction, squares)
            active, enough, curvature, remaining, direction, squares = (
                each[running] for each in state
            )
        product = direction + (direction @ x.T * curvature) @ x
        length = (squares / row_products(direction, product))[:, None]
        step[active] += length * direction
        remaining = remaining - length * product
        preconditioned = remaining @ factor @ factor.T
        previous, squares = squares, row_products(remaining, preconditioned)
        direction = preconditioned + (squares / previous)[:, None] * direction
    return step


@functools.cache
def _blas() -> Any:
    # SciPy has a BLAS of its own, which can only be limited once it is loaded.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def _one_blas_thread() -> Iterator[int]:
    """Limit BLAS to one thread, and yield how many it had, to use for batches of cases.

    The products are too small to gain from several. The limit is global: hence the lock.
    """
    n_threads = max((each.num_threads for each in _blas().lib_controllers), default=1)
    if n_threads == 1:
        yield 1
        return
    with _blas_lock, _blas().limit(limits=1):
        yield min(_MAX_THREADS, n_threads)
