"""Logistic regressions on many variants of one data set, fitted together.

The model is liblinear's: the intercept is the weight of a further feature that is always 1, and
it is penalised like the others,

    min over w of  |w|^2 / 2 + sum_i c_i ln(1 + exp(-s_i w.x_i)),

with the sign s_i of word i's class, and c_i how often the word counts. The optimum is unique, so
it depends neither on the method nor on where that starts.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import compress
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from wefe.metrics._geometry import Vectors

Part = TypeVar("Part")
Result = TypeVar("Result")
Indices = npt.NDArray[np.intp]
Inverse = npt.NDArray[np.float32]

logger = logging.getLogger(__name__)

# Numbers of a matrix of cases x words; some ten of these exist at once in each thread.
_BATCH_NUMBERS = 1 << 19
_MAX_THREADS = 8
# Steps of growth between two cold starts.
_CHAIN = 50
# Iterations of conjugate gradients; Newton's method takes what is left.
_MAX_ITERATIONS = 200
_MAX_NEWTON_STEPS = 200
# Share of the cases in work below which those that have ended are taken out.
_MOST_RUNNING = 0.8
# Iterations after which the guess at the curvature is made anew.
_RENEWAL = 50
# A growing subset keeps the inverse of its curvature until it has grown by this share, which pays
# where it has several times as many rows as there are features and takes many steps to grow so.
_STALE = 0.02
_SLOW = 0.01
_MANY_ROWS = 2
# Share of the mean curvature of a row below which a row is left out of that inverse.
_NEAR = 0.1


class LogisticFits:
    """Fits of one data set whose rows count differently in every case.

    All cases of a batch descend together, by preconditioned conjugate gradients: the two products
    with the data that an iteration needs are each one product of matrices for all cases. In the
    coordinates of the singular value decomposition of the data, a diagonal is a good guess at the
    curvature of every large subset, and with fewer rows than features these are fewer. Where it is
    a bad guess (a row that counts hundreds of times, features of very different lengths), Newton's
    method finishes the fit, each case by itself.

    Parameters
    ----------
    x : array-like of shape (n_rows, dim)
        The data, without a column for the intercept.
    signs : array-like of shape (n_rows,)
        Class of each row: 1 or -1.
    tolerance : float, default=2e-7
        Estimated distance of the weights from the optimum at which a fit ends.

    Examples
    --------
    >>> fits = LogisticFits([[1.0], [2.0], [-1.0]], [1, 1, -1])
    >>> cases = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    >>> ((_, weights),) = fits.fit_each(lambda part: cases[part], 2)
    >>> weights.round(3)
    array([[0.868, 0.097],
           [0.675, 0.   ]])
    """

    def __init__(self, x: npt.ArrayLike, signs: npt.ArrayLike, tolerance: float = 2e-7) -> None:
        data = np.asarray(x, dtype=np.float64)
        data = np.column_stack([data, np.ones(len(data))])
        data *= np.asarray(signs, dtype=np.float64)[:, None]
        with _one_blas_thread():
            left, values, self._axes = np.linalg.svd(data, full_matrices=False)
        self._x = left * values
        self._squares = values**2
        self._tolerance = tolerance

    def fit_each(
        self, counts: Callable[[slice], Vectors], n_cases: int
    ) -> Iterator[tuple[slice, Vectors]]:
        """Fit cases that have nothing to do with each other.

        All start at the fit in which every row counts once.

        Parameters
        ----------
        counts : function
            Returns, for some cases, how often each row counts: (n_cases_of_batch, n_rows).
        n_cases : int
            Number of cases.

        Yields
        ------
        (slice, ndarray of shape (n_cases_of_batch, dim + 1))
            Cases, and their weights, the intercept last.
        """
        n_rows, n_axes = self._x.shape
        with _one_blas_thread():
            start = self._descend(self._x, np.ones((1, n_rows)), np.zeros((1, n_axes)))

        def fit(cases: slice) -> tuple[slice, Vectors]:
            numbers = counts(cases)
            weights = self._descend(self._x, numbers, np.repeat(start, len(numbers), axis=0))
            return cases, weights @ self._axes

        yield from _in_threads(fit, _batches(n_cases, n_rows))

    def fit_growing(
        self, entries: npt.ArrayLike, n_steps: int
    ) -> Iterator[tuple[Indices, Indices, Vectors]]:
        """Fit growing subsets, each from the fit of the one before.

        Parameters
        ----------
        entries : array-like of int, shape (n_runs, n_rows)
            The first step, from 0, in which a run has each row; `n_steps` or more for never.
        n_steps : int
            Number of steps.

        Yields
        ------
        (ndarray of int, ndarray of int, ndarray of shape (n_fits, dim + 1))
            Run and step of some fits, and their weights, the intercept last.
        """
        every = np.asarray(entries)
        n_runs, n_rows = every.shape
        # A cold start now and then costs little, and makes many fits of a few runs at a time. How
        # many runs there are must not matter, so that they can be shared out.
        begins = np.repeat(np.arange(0, n_steps, _CHAIN), n_runs)
        runs = np.arange(len(begins)) % n_runs
        chains = [(every, runs[part], begins[part]) for part in _batches(len(begins), n_rows)]
        for fitted in _in_threads(lambda part: list(self._grow(*part, n_steps)), chains):
            yield from fitted

    def _grow(
        self, entries: Indices, runs: Indices, begins: Indices, n_steps: int
    ) -> Iterator[tuple[Indices, Indices, Vectors]]:
        enters = np.maximum(entries[runs] - begins[:, None], 0)
        # Rows that come late in all chains are not touched before.
        first = enters.min(axis=0)
        order = np.argsort(first, kind="stable")
        x, enters, first = self._x[order], enters[:, order], first[order]
        weights = np.zeros((len(runs), x.shape[1]))
        inverses: list[Inverse | None] = [None] * len(runs)
        made, sizes = np.zeros((2, len(runs)))
        for step in range(min(_CHAIN, n_steps - int(begins[0]))):
            used = int(np.searchsorted(first, step, side="right"))
            left = int((begins + step < n_steps).sum())
            counts = (enters[:left, :used] <= step).astype(np.float64)
            before, sizes = sizes[:left], counts.sum(axis=1)
            steady = (sizes >= _MANY_ROWS * x.shape[1]) & (sizes <= (1 + _SLOW) * before)
            for case in np.flatnonzero(steady & (sizes > (1 + _STALE) * made[:left])):
                # The same rows in the same order, whatever else is in the batch.
                rows = entries[runs[case]] <= begins[case] + step
                inverses[case] = self._inverse_curvature(self._x[rows], weights[case])
                made[case] = sizes[case]
            weights = self._descend(x[:used], counts, weights[:left], inverses[:left])
            yield runs[:left], begins[:left] + step, weights @ self._axes

    def _inverse_curvature(self, x: Vectors, weights: Vectors) -> Inverse | None:
        """Roughly the inverse of the Hessian, or None where it is too close to singular."""
        from scipy.linalg import lapack

        misses = sigmoid(x @ -weights)
        bends = misses * (1 - misses)
        # In units of the guess at the diagonal, single precision is enough.
        scale = 1 / np.sqrt(1 + bends.sum() / len(self._x) * self._squares)
        # Rows far from the boundary are many and bend little.
        near = bends > _NEAR * bends.mean()
        scaled = x[near].astype(np.float32)
        scaled *= scale.astype(np.float32)
        scaled *= np.sqrt(bends[near]).astype(np.float32)[:, None]
        hessian = (scaled.T @ scaled).astype(np.float64)
        hessian.flat[:: len(hessian) + 1] += scale**2
        root, failed = lapack.dpotrf(hessian)
        half, _ = lapack.dpotri(root)
        half = np.triu(half) * scale * scale[:, None]
        inverse = np.asarray(half + np.triu(half, 1).T, dtype=np.float32)
        return None if failed or not np.isfinite(inverse).all() else inverse

    def _descend(
        self,
        x: Vectors,
        counts: Vectors,
        weights: Vectors,
        inverses: Sequence[Inverse | None] = (),
    ) -> Vectors:
        """Return the optima, in the coordinates of the decomposition."""
        # Matrices of cases x words are written in place: to make them anew takes as long again.
        result = np.empty_like(weights)
        cases = np.arange(len(weights))
        running = np.ones(len(cases), dtype=bool)
        longest = math.sqrt(float(_dots(x, x).max()))
        margins = weights @ x.T
        misses = _misses(margins, np.empty_like(margins))
        moved, scratch = np.empty_like(margins), np.empty_like(margins)
        gradient = weights - np.multiply(counts, misses, out=scratch) @ x
        for iteration in range(_MAX_ITERATIONS):
            if iteration % _RENEWAL == 0:
                np.multiply(counts, misses, out=scratch)
                scratch -= np.multiply(scratch, misses, out=moved)
                metric = 1 + (scratch.sum(axis=1) / len(self._x))[:, None] * self._squares
                natural = direction = _natural(gradient, metric, inverses)
                squares = _dots(gradient, natural)
                distance = np.sqrt(squares)
            # What has ended stays in the matrices for a while, as to pick rows takes time.
            ended = running & ~(distance > self._tolerance)
            result[cases[ended]] = weights[ended]
            running &= ~ended
            if not running.any():
                return result
            if running.sum() <= _MOST_RUNNING * len(running):
                n_left = int(running.sum())
                cases, counts, weights = cases[running], counts[running], weights[running]
                margins, misses, gradient = margins[running], misses[running], gradient[running]
                metric, direction, squares = metric[running], direction[running], squares[running]
                moved, scratch = moved[:n_left], scratch[:n_left]
                inverses = list(compress(inverses, running))
                running = running[running]
            np.matmul(direction, x.T, out=moved)
            np.subtract(1, misses, out=scratch)
            scratch *= misses
            scratch *= counts
            scratch *= moved
            lengths = _dots(direction, direction)
            curvature = lengths + _dots(scratch, moved)
            slope = _dots(gradient, direction)
            # While margins change by 1 at most the curvature grows by a factor of e at most, and
            # a Newton step is sure to go down. Rows that other cases have must not matter.
            most = np.zeros(len(cases))
            unsure = slope * np.sqrt(lengths) * longest > curvature
            if unsure.any():
                most[unsure] = np.abs(moved[unsure] * counts[unsure]).max(axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                length = slope / np.maximum(curvature, slope * most)
            moved *= length[:, None]
            margins -= moved
            _misses(margins, misses)
            weights = weights - length[:, None] * direction
            np.multiply(counts, misses, out=scratch)
            previous, gradient = gradient, weights - scratch @ x
            natural = _natural(gradient, metric, inverses)
            # Polak and Ribiere: forgets earlier directions where the curvature changes.
            with np.errstate(invalid="ignore", divide="ignore"):
                kept = np.maximum(_dots(natural, gradient - previous) / squares, 0)
            direction = natural + kept[:, None] * direction
            uphill = ~(_dots(gradient, direction) > 0)
            direction[uphill] = natural[uphill]
            squares = _dots(gradient, natural)
            # Of steps longer than the metric says, more are to come.
            distance = np.sqrt(squares * np.maximum(length, 1))
        cases, counts, weights = cases[running], counts[running], weights[running]
        fits = [self._newton(x, *case) for case in zip(counts, weights, strict=True)]
        result[cases] = [fitted for fitted, _ in fits]
        n_failed = sum(not converged for _, converged in fits)
        if n_failed:
            logger.warning("%d logistic regressions did not converge.", n_failed)
        return result

    def _newton(self, x: Vectors, counts: Vectors, weights: Vectors) -> tuple[Vectors, bool]:
        """Return the optimum of one case, and whether it was reached."""
        x, counts = x[counts > 0], counts[counts > 0]
        margins = x @ weights
        for _ in range(_MAX_NEWTON_STEPS):
            misses = sigmoid(-margins)
            gradient = weights - (counts * misses) @ x
            hessian = (x.T * (counts * misses * (1 - misses))) @ x
            hessian.flat[:: len(hessian) + 1] += 1
            step = np.linalg.solve(hessian, gradient)
            slope = float(gradient @ step)
            # The penalty alone curves by 1, so the optimum is no farther away than this.
            if slope <= self._tolerance**2:
                return weights, True
            moved = x @ step
            # A step this long is sure to go down, whatever rounding makes of the loss: along it
            # the curvature grows by exp(|change of a margin|) at most.
            most = np.abs(moved).max(initial=1e-300)
            safe = np.log1p(most) / most
            length, loss = 1.0, _loss(weights, margins, counts)
            while length > safe and not (
                _loss(weights - length * step, margins - length * moved, counts)
                <= loss - length * slope / 4
            ):
                length /= 2
            weights = weights - max(length, safe) * step
            margins = x @ weights
        return weights, False


def _in_threads(function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
    """Map in as many threads as BLAS has, and BLAS in one of them.

    A product is too small for several threads, which cost more than they bring where other work
    has a core.
    """
    with _one_blas_thread() as n_threads, ThreadPoolExecutor(min(n_threads, _MAX_THREADS)) as pool:
        yield from pool.map(function, parts)


class _BlasLimit:
    """The limit that all fits of this process share, in whatever threads they run."""

    # Reentrant: the garbage collector may end an abandoned generator while the lock is held.
    lock = threading.RLock()
    n_users = 0
    n_threads = 1
    released = threading.Event()
    keeper = threading.Thread()

    @classmethod
    def keep(cls, set_up: threading.Event) -> None:
        """Limit BLAS until told otherwise; newer threadpoolctl wants one thread to do both."""
        from threadpoolctl import threadpool_limits

        try:
            with threadpool_limits(1, "blas"):
                set_up.set()
                cls.released.wait()
        finally:
            set_up.set()


@contextmanager
def _one_blas_thread() -> Iterator[int]:
    """Keep BLAS to one thread; give this user's share of the threads that it had before.

    The number of threads belongs to the process. Were each user to save and restore it, one that
    starts while another is at work would save, and later restore, that one's limit.
    """
    from threadpoolctl import threadpool_info

    shared = _BlasLimit
    with shared.lock:
        if shared.n_users == 0:
            used = [each for each in threadpool_info() if each["user_api"] == "blas"]
            shared.n_threads = max((each["num_threads"] for each in used), default=1)
            shared.released.clear()
            set_up = threading.Event()
            shared.keeper = threading.Thread(target=shared.keep, args=(set_up,), daemon=True)
            shared.keeper.start()
            set_up.wait()
        shared.n_users += 1
        share = max(1, shared.n_threads // shared.n_users)
    try:
        yield share
    finally:
        with shared.lock:
            shared.n_users -= 1
            if shared.n_users == 0:
                shared.released.set()
                shared.keeper.join()


def _batches(n_cases: int, n_rows: int) -> Iterator[slice]:
    size = max(1, _BATCH_NUMBERS // n_rows)
    for start in range(0, n_cases, size):
        yield slice(start, min(start + size, n_cases))


def _dots(first: Vectors, second: Vectors) -> Vectors:
    return np.asarray(np.einsum("ij,ij->i", first, second))


def _loss(weights: Vectors, margins: Vectors, counts: Vectors) -> float:
    return float(weights @ weights / 2 + counts @ np.logaddexp(0, -margins))


def _natural(gradient: Vectors, metric: Vectors, inverses: Sequence[Inverse | None]) -> Vectors:
    """Gradients in units of the curvature, as well as it is known."""
    result = gradient / metric
    for case, inverse in enumerate(inverses):
        if inverse is not None:
            result[case] = inverse @ gradient[case].astype(np.float32)
    return result


def _misses(margins: Vectors, out: Vectors) -> Vectors:
    """Probability of the wrong class, 1 / (1 + exp(margin)), written to `out`."""
    with np.errstate(over="ignore"):
        np.exp(margins, out=out)
    out += 1
    return np.reciprocal(out, out=out)


def sigmoid(values: Vectors) -> Vectors:
    """Logistic function, without overflow."""
    with np.errstate(over="ignore"):
        result = np.exp(-values)
    result += 1
    return np.reciprocal(result, out=result)
