"""Tests of the logistic regressions that are fitted together."""

import gc
import threading

import numpy as np
import pytest

from wefe.metrics import _logistic
from wefe.metrics._logistic import LogisticFits, sigmoid


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
        miss = sigmoid(-z @ w)
        gradient = w - (counts * miss) @ z
        hessian = np.eye(len(w)) + (z.T * (counts * miss * (1 - miss))) @ z
        step = np.linalg.solve(hessian, gradient)
        while loss(w - step) > loss(w) and np.abs(step).max() > 1e-10:
            step /= 2
        w = w - step
    assert np.linalg.norm(gradient) < 1e-8
    return w


def fit(fits, counts):
    return np.concatenate(
        [weights for _, weights in fits.fit_each(lambda part: counts[part], len(counts))]
    )


def grow(fits, entries, n_steps):
    result = {}
    for runs, steps, weights in fits.fit_growing(entries, n_steps):
        result.update(zip(zip(runs, steps, strict=True), weights, strict=True))
    return result


def test_two_rows_of_one_feature_are_solved_by_hand():
    # Symmetric, so the intercept is 0 and w = 2 a / (1 + exp(a w)).
    (w,) = fit(LogisticFits([[1.5], [-1.5]], [1, -1], tolerance=1e-10), np.ones((1, 2)))
    assert w[1] == pytest.approx(0, abs=1e-9)
    assert w[0] == pytest.approx(3 / (1 + np.exp(1.5 * w[0])), abs=1e-9)


@pytest.mark.parametrize("norm", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("dim", [3, 12, 100])
def test_growing_fits_are_those_of_a_cold_start(norm, dim):
    x, signs = data(40, dim, norm)
    entries = growing(3, 40)
    fitted = grow(LogisticFits(x, signs), entries, 20)
    assert len(fitted) == 60
    for (run, step), weights in fitted.items():
        cold = optimum(x, signs, (entries[run] <= step).astype(float))
        np.testing.assert_allclose(weights, cold, atol=1e-6)


def test_growing_fits_agree_at_a_realistic_size():
    x, signs = data(1200, 100, 0.6)
    entries = growing(4, 1200)
    fits = LogisticFits(x, signs)
    exact = LogisticFits(x, signs, tolerance=1e-10)
    for (run, step), weights in grow(fits, entries, 220).items():
        if step % 20 == 19:
            (cold,) = fit(exact, (entries[[run]] <= step).astype(float))
            np.testing.assert_allclose(weights, cold, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [0.05, 0.6, 20.0, 1000.0])
def test_the_inverse_curvature_of_a_growing_subset_changes_only_how_soon_a_fit_ends(
    norm, monkeypatch
):
    x, signs = data(1000, 60, norm)
    entries = growing(3, 1000)
    fits = LogisticFits(x, signs)
    n_iterations = {}
    natural = _logistic._natural

    def counted(*args):
        n_iterations[kept] = n_iterations.get(kept, 0) + 1
        return natural(*args)

    monkeypatch.setattr(_logistic, "_natural", counted)
    kept = True
    quick = grow(fits, entries, 500)
    monkeypatch.setattr(fits, "_inverse_curvature", lambda *args: None)
    kept = False
    slow = grow(fits, entries, 500)
    for key, weights in slow.items():
        np.testing.assert_allclose(quick[key], weights, atol=2e-6)
    # Of short vectors the diagonal says all, of very long ones conjugate gradients end anyway.
    if norm in (0.6, 20):
        assert n_iterations[True] < 0.9 * n_iterations[False]
    for run, step in ((0, 120), (1, 160), (2, 499)):
        cold = optimum(x, signs, (entries[run] <= step).astype(float))
        np.testing.assert_allclose(quick[run, step], cold, atol=1e-6)


def test_the_inverse_curvature_is_roughly_that_of_the_hessian():
    x, signs = data(2000, 20, 1.5)
    fits = LogisticFits(x, signs)
    (w,) = fit(fits, np.ones((1, len(x))))
    w = fits._axes @ w
    misses = sigmoid(-fits._x @ w)
    hessian = np.eye(len(w)) + (fits._x.T * (misses * (1 - misses))) @ fits._x
    inverse = fits._inverse_curvature(fits._x, w)
    np.testing.assert_array_equal(inverse, inverse.T)
    eigenvalues = np.linalg.eigvals(inverse.astype(float) @ hessian).real
    assert 0.99 < eigenvalues.min() <= eigenvalues.max() < 1.2


def test_a_curvature_that_is_singular_has_no_inverse():
    x, signs = data(50, 3)
    fits = LogisticFits(x, signs)
    assert fits._inverse_curvature(fits._x, np.zeros(4)) is not None
    assert fits._inverse_curvature(fits._x, np.full(4, np.nan)) is None


def test_a_cold_start_agrees_with_newton_and_with_liblinear():
    from sklearn.linear_model import LogisticRegression

    x, signs = data()
    (w,) = fit(LogisticFits(x, signs, tolerance=1e-10), np.ones((1, len(x))))
    np.testing.assert_allclose(w, optimum(x, signs, np.ones(len(x))), atol=1e-9)
    model = LogisticRegression(solver="liblinear", tol=1e-10, max_iter=10_000).fit(x, signs)
    np.testing.assert_allclose(sigmoid(x @ w[:-1] + w[-1]), model.predict_proba(x)[:, 1], atol=1e-6)


@pytest.mark.parametrize("norm", [0.05, 1.0, 20.0])
def test_counts_are_weights_of_rows(norm):
    x, signs = data(norm=norm)
    counts = np.random.default_rng(2).multinomial(len(x), np.full(len(x), 1 / len(x)), size=5)
    counts = counts.astype(float)
    for weights, row in zip(fit(LogisticFits(x, signs), counts), counts, strict=True):
        np.testing.assert_allclose(weights, optimum(x, signs, row), atol=1e-6)


def test_no_rows_at_all_mean_no_weights():
    x, signs = data()
    (w,) = fit(LogisticFits(x, signs), np.zeros((1, len(x))))
    np.testing.assert_allclose(w, 0, atol=1e-6)


def test_batches_do_not_matter(monkeypatch):
    x, signs = data()
    entries = growing(5, len(x))
    counts = (entries <= 12).astype(float)
    fits = LogisticFits(x, signs)
    together, each = grow(fits, entries, 40), fit(fits, counts)
    monkeypatch.setattr(_logistic, "_BATCH_NUMBERS", 2 * len(x))
    assert [part.stop for part, _ in fits.fit_each(lambda part: counts[part], 5)] == [2, 4, 5]
    apart = grow(fits, entries, 40)
    assert together.keys() == apart.keys()
    for key, weights in together.items():
        np.testing.assert_allclose(apart[key], weights, atol=1e-9)
    np.testing.assert_allclose(fit(fits, counts), each, atol=1e-9)
    for (_, step), weights in grow(fits, entries[3:4], 40).items():
        np.testing.assert_allclose(together[3, step], weights, atol=1e-9)


def test_chains_cover_every_step_once(monkeypatch):
    x, signs = data(40, 5)
    entries = growing(3, 40)
    fits = LogisticFits(x, signs)
    together = grow(fits, entries, 20)
    monkeypatch.setattr(_logistic, "_CHAIN", 7)
    seen = [
        pair
        for runs, steps, _ in fits.fit_growing(entries, 20)
        for pair in zip(runs, steps, strict=True)
    ]
    assert sorted(seen) == [(run, step) for run in range(3) for step in range(20)]
    for key, weights in grow(fits, entries, 20).items():
        np.testing.assert_allclose(weights, together[key], atol=1e-6)


def test_rows_that_never_enter_do_not_count():
    x, signs = data(20, 4)
    entries = growing(2, 20)
    fitted = grow(LogisticFits(x, signs), entries, 5)
    for run in range(2):
        cold = optimum(x, signs, (entries[run] < 5).astype(float))
        np.testing.assert_allclose(fitted[run, 4], cold, atol=1e-6)


def uneven(n_rows, dim, scale, times, seed):
    """One feature much longer than the others, and one row that counts often, another once."""
    x, signs = data(n_rows, dim, scale, seed)
    x[:, 0] *= 20
    alone = np.zeros(n_rows)
    alone[:2] = times, 1
    return x, signs, np.stack([alone, alone + 1])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("n_rows", "dim", "scale", "times"), [(300, 50, 1, 300), (30, 10, 50, 40), (300, 50, 50, 300)]
)
def test_uneven_features_and_counts_reach_the_optimum(n_rows, dim, scale, times, seed, caplog):
    x, signs, counts = uneven(n_rows, dim, scale, times, seed)
    for weights, row in zip(fit(LogisticFits(x, signs), counts), counts, strict=True):
        np.testing.assert_allclose(weights, optimum(x, signs, row), atol=2e-6)
    assert not caplog.records


def test_conjugate_gradients_alone_would_not_reach_it(monkeypatch, caplog):
    monkeypatch.setattr(_logistic, "_MAX_NEWTON_STEPS", 0)
    x, signs, counts = uneven(300, 50, 1, 300, seed=0)
    assert np.abs(fit(LogisticFits(x, signs), counts)[0] - optimum(x, signs, counts[0])).max() > 0.1
    assert "1 logistic regressions did not converge" in caplog.text


@pytest.mark.parametrize("norm", [0.05, 1.0, 20.0, 1000.0])
@pytest.mark.parametrize("dim", [3, 100])
def test_newton_alone_reaches_the_optimum(norm, dim, monkeypatch, caplog):
    monkeypatch.setattr(_logistic, "_MAX_ITERATIONS", 0)
    x, signs = data(40, dim, norm)
    counts = np.random.default_rng(2).multinomial(40, np.full(40, 1 / 40), size=4).astype(float)
    counts[0] = 0
    for weights, row in zip(fit(LogisticFits(x, signs), counts), counts, strict=True):
        np.testing.assert_allclose(weights, optimum(x, signs, row), atol=1e-6)
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


def test_the_last_to_leave_restores_the_threads_of_blas(two_blas_threads):
    first, second = _logistic._one_blas_thread(), _logistic._one_blas_thread()
    assert first.__enter__() == max(two_blas_threads)
    assert second.__enter__() == 1
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == two_blas_threads


def test_fits_in_several_threads_leave_blas_as_it_was(two_blas_threads):
    x, signs = data()
    ones = np.ones((1, len(x)))
    fits = LogisticFits(x, signs)
    entered = [threading.Event(), threading.Event()]
    results = []

    def first_counts(_):
        entered[0].set()
        assert entered[1].wait(30)
        return ones

    def second_counts(_):
        entered[1].set()
        other.join(30)
        return ones

    # The first starts first and ends first: each would restore what it found.
    other = threading.Thread(target=lambda: results.extend(fits.fit_each(first_counts, 1)))
    other.start()
    assert entered[0].wait(30)
    results.extend(fits.fit_each(second_counts, 1))
    assert not other.is_alive()
    assert blas_threads() == two_blas_threads
    assert len(results) == 2
    for _, weights in results:
        np.testing.assert_allclose(weights[0], optimum(x, signs, ones[0]), atol=1e-6)


def test_living_threads_that_leave_in_any_order_restore_the_threads_of_blas(two_blas_threads):
    # The first thread in is not the last one out, and lives on.
    entered, left, done, end = (threading.Event() for _ in range(4))

    def first():
        with _logistic._one_blas_thread():
            entered.set()
            assert left.wait(30)
        done.set()
        end.wait(30)

    thread = threading.Thread(target=first)
    thread.start()
    assert entered.wait(30)
    with _logistic._one_blas_thread():
        left.set()
        assert done.wait(30)
        assert set(blas_threads()) == {1}
    assert blas_threads() == two_blas_threads
    end.set()
    thread.join(30)


def test_fits_that_are_not_read_to_the_end_leave_blas_as_it_was(two_blas_threads, monkeypatch):
    monkeypatch.setattr(_logistic, "_BATCH_NUMBERS", 1)
    x, signs = data()
    fits = LogisticFits(x, signs).fit_each(lambda part: np.ones((1, len(x))), 3)
    next(fits)
    assert set(blas_threads()) == {1}
    del fits
    gc.collect()
    assert blas_threads() == two_blas_threads


def test_fits_that_do_not_end_are_reported(monkeypatch, caplog):
    monkeypatch.setattr(_logistic, "_MAX_ITERATIONS", 1)
    monkeypatch.setattr(_logistic, "_MAX_NEWTON_STEPS", 1)
    x, signs = data()
    fit(LogisticFits(x, signs), np.ones((1, len(x))))
    assert "did not converge" in caplog.text
