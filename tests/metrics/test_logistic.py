"""Tests of the logistic regressions that are fitted together."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from wefe._wordset import Nested, Weights
from wefe.metrics import _logistic
from wefe.metrics._logistic import fit_cases, weight_matrix


def data(n_rows=80, dim=12, norm=1.0, seed=0):
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(n_rows) % 2, -1.0, 1.0)
    x = norm * (rng.normal(size=(n_rows, dim)) + 0.3 * signs[:, None])
    return x, signs


def fit(x, signs, counts):
    return fit_cases(x, signs, [Weights(counts)])


def nested(n_runs, n_rows, step=1, seed=1):
    """Weights of growing subsets of each class: the rows of one class, then those of the other."""
    rng = np.random.default_rng(seed)
    sizes = np.arange(1, n_rows // 2 + 1, step)
    rows = np.arange(n_rows // 2)
    return [Nested([rng.permutation(rows) for _ in range(n_runs)], sizes) for _ in range(2)]


def grown(n_runs, n_rows):
    """Weights of growing subsets, one row more of each class in each step of each run."""
    counts = np.empty((n_runs * (n_rows // 2), n_rows))
    counts[:, 0::2], counts[:, 1::2] = (part.matrix() for part in nested(n_runs, n_rows))
    return counts


def drawn(n_cases, n_rows):
    rng = np.random.default_rng(2)
    return rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=n_cases) * 1.0


def assert_optimal(x, signs, counts, atol=1e-7):
    """Gradients vanish, and their Newton steps, which are the distance from the optimum."""
    z = np.column_stack([x, np.ones(len(x))]) * signs[:, None]
    for w, row in zip(fit(x, signs, counts), counts, strict=True):
        miss = expit(-z @ w)
        gradient = w - (row * miss) @ z
        hessian = np.eye(len(w)) + (z.T * (row * miss * (1 - miss))) @ z
        assert np.linalg.norm(gradient) < 2e-7
        assert np.linalg.norm(np.linalg.solve(hessian, gradient)) < atol


def test_a_single_fit_agrees_with_liblinear():
    x, signs = data()
    (w,) = fit(x, signs, np.ones((1, len(x))))
    model = LogisticRegression(solver="liblinear", tol=1e-12, max_iter=10_000).fit(x, signs)
    np.testing.assert_allclose(expit(x @ w[:-1] + w[-1]), model.predict_proba(x)[:, 1], atol=1e-7)


@pytest.mark.parametrize("norm", [0.05, 1.0, 1000.0])
@pytest.mark.parametrize("dim", [3, 12, 50])
def test_growing_and_drawn_subsets_are_fitted_to_the_optimum(norm, dim, caplog):
    assert_optimal(*data(20, dim, norm), np.concatenate([grown(3, 20), drawn(3, 20)]))
    assert not caplog.records


@pytest.mark.parametrize(("n_rows", "dim"), [(80, 12), (30, 100), (1500, 40)])
def test_batches_do_not_matter(n_rows, dim, monkeypatch):
    x, signs = data(n_rows, dim)
    order = np.argsort(-signs, kind="stable")
    x, signs, weights = x[order], signs[order], nested(5, n_rows, n_rows // 20)
    counts, n_steps = weight_matrix(weights), weights[0].n_steps
    together = fit(x, signs, counts)
    monkeypatch.setattr(_logistic, "_BATCH_NUMBERS", 2 * n_rows)
    monkeypatch.setattr(_logistic, "_BATCH_STEPS", 8)
    for parts in ([Weights(counts)], weights):
        np.testing.assert_allclose(fit_cases(x, signs, parts), together, atol=1e-7)
        batches = list(_logistic._batches(parts, n_rows))
        assert max(part.stop - part.start for part in batches) == 2
    # No batch has subsets of two runs.
    assert all(part.start // n_steps == (part.stop - 1) // n_steps for part in batches)
    for case in (0, len(counts) - 1):
        np.testing.assert_allclose(fit(x, signs, counts[[case]]), together[[case]], atol=1e-7)


HOSTILE = {
    "constant features": lambda x: np.column_stack([x, np.full((len(x), 2), 7.0)]),
    "features of zeros": lambda x: np.column_stack([x, np.zeros((len(x), 2))]),
    "a huge constant": lambda x: np.column_stack([x, np.full(len(x), 1e6)]),
    "equal features": lambda x: np.column_stack([x, x, x]),
    "lengths over 10 decades": lambda x: x * np.logspace(-5, 5, x.shape[1]),
    "equal rows": lambda x: np.repeat(x[::20], 20, axis=0),
    "a long feature": lambda x: np.column_stack([1000 * x[:, 0], 50 * x[:, 1:]]),
    "rows of zeros": lambda x: x * (np.arange(len(x)) % 3 > 0)[:, None],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_data_reach_the_optimum(name, caplog):
    x, signs = data(200, 20)
    # One row counts as often as all together.
    uneven = np.where(np.arange(200) == 0, 200.0, 1.0)
    assert_optimal(HOSTILE[name](x), signs, np.vstack([np.ones(200), uneven, drawn(4, 200)]))
    assert not caplog.records


def test_fits_that_do_not_end_are_reported(monkeypatch, caplog):
    monkeypatch.setattr(_logistic, "_STOP", (1e-7, 1))
    x, signs = data()
    fit(x, signs, np.ones((1, len(x))))
    assert "1 logistic regressions did not converge" in caplog.text
