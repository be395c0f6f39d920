"""Tests of the logistic regressions that are fitted together."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.special import expit

from wefe.metrics import _logistic
from wefe.metrics._logistic import fit_cases


def data(n_rows=80, dim=12, norm=1.0, seed=0):
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(n_rows) % 2, -1.0, 1.0)
    x = norm * (rng.normal(size=(n_rows, dim)) + 0.3 * signs[:, None])
    return x, signs


def growing(n_runs, n_rows, seed=1):
    """Two rows, one of each class, in each step."""
    rng = np.random.default_rng(seed)
    entries = np.empty((n_runs, n_rows), dtype=int)
    for row in entries:
        row[0::2], row[1::2] = (rng.permutation(n_rows // 2) for _ in range(2))
    return entries


def optimum(x, signs, counts):
    """Newton's method with halved steps, one fit, down to rounding."""
    z = np.column_stack([x, np.ones(len(x))]) * signs[:, None]

    def loss(w):
        return w @ w / 2 + counts @ np.logaddexp(0, -z @ w)

    w = np.zeros(z.shape[1])
    for _ in range(100):
        miss = expit(-z @ w)
        gradient = w - (counts * miss) @ z
        hessian = np.eye(len(w)) + (z.T * (counts * miss * (1 - miss))) @ z
        step = np.linalg.solve(hessian, gradient)
        while loss(w - step) > loss(w) and np.abs(step).max() > 1e-10:
            step /= 2
        w = w - step
    assert np.linalg.norm(gradient) < 1e-8
    return w


def fit(x, signs, counts):
    return fit_cases(x, signs, lambda part: counts[part], len(counts))


def grown(entries, n_steps):
    """Weights of growing subsets, step after step of each run."""
    return np.concatenate([run[None] <= np.arange(n_steps)[:, None] for run in entries]) * 1.0


def assert_optimal(x, signs, counts, atol=1e-7):
    """Gradients vanish, and their Newton steps, which are the distance from the optimum."""
    z = np.column_stack([x, np.ones(len(x))]) * signs[:, None]
    for w, row in zip(fit(x, signs, counts), counts, strict=True):
        miss = expit(-z @ w)
        gradient = w - (row * miss) @ z
        hessian = np.eye(len(w)) + (z.T * (row * miss * (1 - miss))) @ z
        assert np.linalg.norm(gradient) < 2e-7
        assert np.linalg.norm(np.linalg.solve(hessian, gradient)) < atol


def test_two_rows_of_one_feature_are_solved_by_hand():
    # Symmetric, so the intercept is 0 and w = 2 a / (1 + exp(a w)).
    (w,) = fit([[1.5], [-1.5]], [1, -1], np.ones((1, 2)))
    assert w[1] == pytest.approx(0, abs=1e-9)
    assert w[0] == pytest.approx(3 / (1 + np.exp(1.5 * w[0])), abs=1e-7)


@pytest.mark.parametrize("norm", [0.05, 1.0, 20.0, 1000.0])
@pytest.mark.parametrize("dim", [3, 12, 100])
def test_growing_subsets_are_fitted_to_the_optimum(norm, dim, caplog):
    x, signs = data(40, dim, norm)
    counts = grown(growing(3, 40), 20)
    fitted = fit(x, signs, counts)
    assert fitted.shape == (60, dim + 1)
    for weights, row in zip(fitted, counts, strict=True):
        np.testing.assert_allclose(weights, optimum(x, signs, row), atol=1e-6)
    assert_optimal(x, signs, counts)
    assert not caplog.records


def test_a_single_fit_agrees_with_newton_with_scipy_and_with_liblinear():
    from scipy.optimize import minimize
    from sklearn.linear_model import LogisticRegression

    x, signs = data()
    (w,) = fit(x, signs, np.ones((1, len(x))))
    np.testing.assert_allclose(w, optimum(x, signs, np.ones(len(x))), atol=1e-8)
    z = np.column_stack([x, np.ones(len(x))]) * signs[:, None]
    found = minimize(
        lambda w: w @ w / 2 + np.logaddexp(0, -z @ w).sum(),
        np.zeros(z.shape[1]),
        jac=lambda w: w - expit(-z @ w) @ z,
        method="BFGS",
        options={"gtol": 1e-7},
    )
    np.testing.assert_allclose(w, found.x, atol=1e-6)
    model = LogisticRegression(solver="liblinear", tol=1e-12, max_iter=10_000).fit(x, signs)
    np.testing.assert_allclose(expit(x @ w[:-1] + w[-1]), model.predict_proba(x)[:, 1], atol=1e-7)


@pytest.mark.parametrize("norm", [0.05, 1.0, 20.0, 1000.0])
@pytest.mark.parametrize("dim", [3, 12, 100])
def test_counts_are_weights_of_rows(norm, dim):
    x, signs = data(40, dim, norm)
    counts = np.random.default_rng(2).multinomial(40, np.full(40, 1 / 40), size=5) * 1.0
    for weights, row in zip(fit(x, signs, counts), counts, strict=True):
        repeated = np.repeat(np.arange(40), row.astype(int))
        expected = optimum(x[repeated], signs[repeated], np.ones(len(repeated)))
        np.testing.assert_allclose(weights, expected, atol=1e-6)


def test_no_rows_at_all_mean_no_weights():
    x, signs = data()
    np.testing.assert_allclose(fit(x, signs, np.zeros((1, len(x)))), 0, atol=1e-6)
    np.testing.assert_allclose(fit(x, signs, np.zeros((3, len(x)))), 0, atol=1e-6)


@pytest.mark.parametrize(("n_rows", "dim"), [(80, 12), (30, 100), (1500, 40)])
def test_batches_do_not_matter(n_rows, dim, monkeypatch):
    x, signs = data(n_rows, dim)
    counts = grown(growing(5, n_rows), n_rows // 2)[:: n_rows // 20]
    together = fit(x, signs, counts)
    monkeypatch.setattr(_logistic, "_BATCH_NUMBERS", 2 * n_rows)
    seen = []
    apart = fit_cases(x, signs, lambda part: seen.append(part) or counts[part], len(counts))
    assert sorted(part.start for part in seen) == list(range(0, len(counts), 2))
    np.testing.assert_allclose(apart, together, atol=1e-7)
    for case in (0, len(counts) - 1):
        alone = fit(x, signs, counts[[case]])
        np.testing.assert_allclose(alone, together[[case]], atol=1e-7)


def test_outputs_of_batches_stand_in_the_order_of_the_cases(monkeypatch):
    monkeypatch.setattr(_logistic, "_BATCH_NUMBERS", 1)
    x, signs = data(20, 4)
    counts = grown(growing(1, 20), 10)
    made = fit_cases(x, signs, lambda part: counts[part], 10, lambda w: w[:, -1:] + 1)
    np.testing.assert_allclose(made, fit(x, signs, counts)[:, -1:] + 1, atol=1e-9)


def uneven(n_rows, dim, scale, times, seed):
    """One feature much longer than the others, and one row that counts often, another once."""
    x, signs = data(n_rows, dim, scale, seed)
    x[:, 0] *= 20
    alone = np.zeros(n_rows)
    alone[:2] = times, 1
    return x, signs, np.stack([alone, alone + 1])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("n_rows", "dim", "scale", "times"),
    [(300, 50, 1, 300), (30, 10, 50, 40), (300, 50, 50, 300), (2000, 60, 1, 2000)],
)
def test_uneven_features_and_counts_reach_the_optimum(n_rows, dim, scale, times, seed, caplog):
    x, signs, counts = uneven(n_rows, dim, scale, times, seed)
    for weights, row in zip(fit(x, signs, counts), counts, strict=True):
        np.testing.assert_allclose(weights, optimum(x, signs, row), atol=1e-6)
    counts = np.concatenate([counts, np.ones((6, n_rows))])
    assert_optimal(x, signs, counts)
    assert not caplog.records


HOSTILE = {
    "constant features": lambda x: np.column_stack([x, np.full((len(x), 2), 7.0)]),
    "features of zeros": lambda x: np.column_stack([x, np.zeros((len(x), 2))]),
    "a huge constant": lambda x: np.column_stack([x, np.full(len(x), 1e6)]),
    "equal features": lambda x: np.column_stack([x, x, x]),
    "lengths over 10 decades": lambda x: x * np.logspace(-5, 5, x.shape[1]),
    "equal rows": lambda x: np.repeat(x[::20], 20, axis=0),
    "rows of zeros": lambda x: x * (np.arange(len(x)) % 3 > 0)[:, None],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_data_reach_the_optimum(name, caplog):
    x, signs = data(200, 20)
    x = HOSTILE[name](x)
    draws = np.random.default_rng(3).multinomial(200, np.full(200, 1 / 200), size=4)
    assert_optimal(x, signs, np.concatenate([np.ones((1, 200)), draws]))
    assert not caplog.records


def blas_threads():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    return [
        each["num_threads"]
        for each in threadpoolctl.threadpool_info()
        if each["user_api"] == "blas"
    ]


def set_blas_threads(number):
    """Set it in a thread that ends, since threadpoolctl lets a living one keep the control."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    thread = threading.Thread(target=threadpoolctl.threadpool_limits, args=(number, "blas"))
    thread.start()
    thread.join()


@pytest.fixture
def two_blas_threads():
    before = blas_threads()
    set_blas_threads(2)
    if 2 not in blas_threads():
        pytest.skip("the BLAS of this machine cannot be told how many threads to use")
    yield blas_threads()
    set_blas_threads(max(before))


def test_fits_in_several_threads_leave_blas_as_it_was(two_blas_threads):
    x, signs = data()

    def counts(part):
        return np.ones((part.stop - part.start, len(x)))

    # Each would restore what it found, were they to start one after the other and end so.
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(fit_cases, x, signs, counts, 3) for _ in range(8)]
        results = [job.result() for job in jobs]
    assert blas_threads() == two_blas_threads
    for fitted in results:
        np.testing.assert_allclose(fitted[0], optimum(x, signs, np.ones(len(x))), atol=1e-7)


def test_fits_use_one_thread_of_blas_each(two_blas_threads):
    x, signs = data()
    seen = []

    def counts(part):
        seen.append(set(blas_threads()))
        return np.ones((part.stop - part.start, len(x)))

    fit_cases(x, signs, counts, 4)
    assert seen == [{1}, {1}]


def test_fits_that_fail_leave_blas_as_it_was(two_blas_threads):
    x, signs = data()
    with pytest.raises(ZeroDivisionError):
        fit_cases(x, signs, lambda part: 1 / 0, 3)
    assert blas_threads() == two_blas_threads


def test_fits_that_do_not_end_are_reported(monkeypatch, caplog):
    monkeypatch.setattr(_logistic, "_MAX_NEWTON_STEPS", 1)
    x, signs = data()
    fit(x, signs, np.ones((1, len(x))))
    assert "1 logistic regressions did not converge" in caplog.text
