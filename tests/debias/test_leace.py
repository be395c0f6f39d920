"""LEACE: the worked example, the theorem, and a reference implementation where it is installed."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from wefe import WEAT, Query, WordEmbeddingModel
from wefe.datasets import load_criterion, load_weat
from wefe.debias import LEACE, leace_map

SHARED = Path(__file__).resolve().parents[2].parent / "shared"

OPTIONS = [
    {"method": method, "affine": affine, "shrinkage": shrinkage}
    for method in ("leace", "orth")
    for affine in (True, False)
    for shrinkage in (True, False)
]
# Words, dims, classes.
SHAPES = [(60, 10, 2), (12, 30, 2), (90, 8, 3), (15, 40, 3), (300, 20, 4)]


def drawn(n_words, dim, n_classes, seed=0):
    """Correlated vectors whose mean depends on the class, and the classes, one column each."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_words) % n_classes
    vectors = rng.normal(size=(n_words, dim)) @ rng.normal(size=(dim, dim)) / np.sqrt(dim)
    vectors += rng.normal(size=(n_classes, dim))[labels] + 0.5
    return vectors, np.eye(n_classes)[labels]


def covariance(x, z):
    return (x - x.mean(axis=0)).T @ (z - z.mean(axis=0)) / (len(x) - 1)


def model_of(vectors, name="drawn"):
    return WordEmbeddingModel(([f"w{i}" for i in range(len(vectors))], vectors), name)


def classes_of(z):
    return {f"k{k}": [f"w{i}" for i in np.flatnonzero(z[:, k])] for k in range(z.shape[1])}


def test_worked_example(toy_model):
    words = {"female": ["she", "woman", "nurse"], "male": ["he", "man", "pilot"]}
    method = LEACE(shrinkage=False).fit(toy_model, words_by_class=words)
    expected = [
        (0.003613, 0.030361, -0.064269),
        (0.069515, 0.997882, 0.004484),
        (-0.023172, 0.000706, 0.998505),
    ]
    np.testing.assert_allclose(method.projection_, expected, atol=1e-6)
    result = method.transform(toy_model)
    for word, vector in {
        "she": (0.062685, 0.265394, 0.078202),
        "nurse": (0.012854, 0.133987, 0.788671),
        "tree": (-0.007163, -0.292523, 0.897508),
    }.items():
        np.testing.assert_allclose(result[word], vector, atol=1e-6)
    for part in words.values():
        mean = result.get_vectors(part).mean(axis=0)
        np.testing.assert_allclose(mean, (0.05, 0.283333, 0.283333), atol=1e-6)
    every = [word for part in words.values() for word in part]
    before, after = (np.trace(np.cov(model.get_vectors(every).T)) for model in (toy_model, result))
    assert before == pytest.approx(0.830333, abs=1e-6)
    assert after == pytest.approx(0.160513, abs=1e-6)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_guarantees(shape, options):
    x, z = drawn(*shape)
    n_classes = shape[2]
    erase = leace_map(x, z, **options)
    after = erase(x)
    p = erase.projection
    np.testing.assert_allclose(after, x @ p.T + erase.shift, atol=1e-12)
    means = [after[column == 1].mean(axis=0) for column in z.T]
    np.testing.assert_allclose(means, np.broadcast_to(means[0], np.shape(means)), atol=1e-10)
    assert np.abs(covariance(x, z)).max() > 0.1
    np.testing.assert_allclose(covariance(after, z), 0, atol=1e-10)
    np.testing.assert_allclose(p @ p, p, atol=1e-9)
    assert np.linalg.matrix_rank(np.eye(len(p)) - p, tol=1e-6) == erase.rank == n_classes - 1
    np.testing.assert_allclose(erase(after), after, atol=1e-9)
    assert np.trace(covariance(after, after)) <= np.trace(covariance(x, x)) + 1e-12
    if options["affine"]:
        np.testing.assert_allclose(after.mean(axis=0), x.mean(axis=0), atol=1e-10)
    else:
        assert not erase.shift.any()
    if options["method"] == "orth":
        np.testing.assert_allclose(p, p.T, atol=1e-12)
    # No linear regression explains anything; the penalty is for directions that have no variance.
    assert Ridge(1e-3).fit(after, z).score(after, z) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", [(60, 10, 2), (90, 8, 3), (300, 20, 4)])
def test_equals_the_oblique_projection(shape, affine):
    """Without whitening: I - C (C' S^-1 C)^-1 C' S^-1, for independent columns of C."""
    x, z = drawn(*shape)
    cross, inverse = covariance(x, z[:, 1:]), np.linalg.inv(np.cov(x.T))
    p = np.eye(len(inverse)) - cross @ np.linalg.solve(cross.T @ inverse @ cross, cross.T @ inverse)
    erase = leace_map(x, z, affine=affine, shrinkage=False)
    np.testing.assert_allclose(erase.projection, p, atol=1e-9)
    mean = x.mean(axis=0)
    expected = (x - mean) @ p.T + mean if affine else x @ p.T
    np.testing.assert_allclose(erase(x), expected, atol=1e-9)


@pytest.mark.parametrize("shape", [(60, 10, 2), (90, 8, 3)])
def test_no_other_erasing_map_changes_less(shape):
    x, z = drawn(*shape)
    least = leace_map(x, z, shrinkage=False)
    change = ((least(x) - x) ** 2).sum()
    assert change < ((leace_map(x, z, method="orth")(x) - x) ** 2).sum()
    # Any other map of the same kernel condition is P + E with E C = 0.
    rng = np.random.default_rng(3)
    basis = np.linalg.qr(covariance(x, z[:, 1:]))[0]
    centred = x - x.mean(axis=0)
    for _ in range(20):
        other = 0.01 * rng.normal(size=(shape[1], shape[1]))
        other -= other @ basis @ basis.T
        moved = centred @ (least.projection + other).T
        np.testing.assert_allclose(covariance(moved, z), 0, atol=1e-10)
        assert ((moved - centred) ** 2).sum() > change


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_the_reference_package(shape, options):
    concept_erasure = pytest.importorskip("concept_erasure")
    torch = pytest.importorskip("torch")
    for seed in range(3):
        x, z = drawn(*shape, seed)
        for concept in (z, z[:, 1]) if shape[2] == 2 else (z,):
            columns = concept.reshape(len(x), -1)
            eraser = concept_erasure.LeaceEraser.fit(
                torch.tensor(x), torch.tensor(columns), **options
            )
            erase = leace_map(x, concept, **options)
            np.testing.assert_allclose(erase(x), eraser(torch.tensor(x)).numpy(), atol=1e-6)


def test_shrinkage_minimises_the_error_of_the_covariance():
    from wefe.debias._classes import _shrunk

    # The covariance is known here, so the best weight can be looked for.
    rng = np.random.default_rng(0)
    dim, n_words = 200, 150
    true = np.diag(np.linspace(0.2, 3, dim))
    found = np.cov((rng.normal(size=(n_words, dim)) @ np.sqrt(true)).T)
    target = np.trace(found) / dim * np.eye(dim)
    shrunk = _shrunk(found, n_words)
    errors = [
        np.linalg.norm(weight * found + (1 - weight) * target - true)
        for weight in np.linspace(0, 1, 201)
    ]
    assert np.linalg.norm(shrunk - true) < 1.01 * min(errors)
    assert np.linalg.norm(shrunk - true) < 0.6 * np.linalg.norm(found - true)
    assert np.trace(shrunk) == pytest.approx(np.trace(found))


def test_shrunk_covariances_of_few_words_stay_covariances():
    from wefe.debias._classes import _shrunk

    rng = np.random.default_rng(0)
    clipped = 0
    for _ in range(200):
        x = rng.normal(size=(4, 3))
        found = np.cov(x.T)
        shrunk = _shrunk(found, 4)
        assert np.linalg.eigvalsh(shrunk)[0] >= -1e-12
        clipped += np.allclose(shrunk, np.trace(found) / 3 * np.eye(3))
    assert clipped > 0
    np.testing.assert_array_equal(_shrunk(2 * np.eye(3), 5), 2 * np.eye(3))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_commutes_with_rotations_and_scales(options, scale):
    x, z = drawn(30, 12, 3)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    turned = scale * x @ rotation
    expected = scale * leace_map(x, z, **options)(x) @ rotation
    found = leace_map(turned, z, **options)(turned)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * scale)


def test_small_singular_values_are_noise(caplog):
    x, z = drawn(60, 10, 2)
    erase = leace_map(x, z, svd_tol=10)
    assert erase.rank == 0
    np.testing.assert_array_equal(erase(x), x)
    np.testing.assert_array_equal(erase.projection, np.eye(10))
    LEACE(svd_tol=10).fit(model_of(x), words_by_class=classes_of(z))
    assert "nothing is erased" in caplog.text
    # A weak concept is erased as soon as the tolerance allows it.
    assert leace_map(x, z[:, 0] * 1e-3, shrinkage=False).rank == 0
    assert leace_map(x, z[:, 0] * 1e-3, shrinkage=False, svd_tol=1e-6).rank == 1


@pytest.mark.parametrize(
    ("x", "z", "message"),
    [
        (np.ones((4, 3)), np.ones(3), "one row per word"),
        (np.ones(4), np.ones(4), "one row per word"),
        (np.ones((1, 3)), np.ones(1), "two words or more"),
        (np.ones((4, 3)), np.arange(4), "all vectors of x are equal"),
    ],
)
def test_matrices_that_do_not_do(x, z, message):
    with pytest.raises(ValueError, match=message):
        leace_map(x, z)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_class_applies_the_map_of_its_words(n_classes):
    x, z = drawn(60, 10, n_classes)
    model = model_of(np.concatenate([x, x[:5] * 2]))
    method = LEACE(criterion_name="kind").fit(model, words_by_class=classes_of(z))
    order = np.concatenate([np.flatnonzero(column) for column in z.T])
    erase = leace_map(x[order], z[order])
    np.testing.assert_allclose(method.projection_, erase.projection, atol=1e-12)
    np.testing.assert_allclose(method.shift_, erase.shift, atol=1e-12)
    result = method.transform(model)
    np.testing.assert_allclose(result.vectors, erase(model.vectors), atol=1e-12)
    assert result.name == "drawn_kind_debiased"
    assert method.words_by_class_ == classes_of(z)


def test_less_association_is_measured(packaged_model):
    gender = load_criterion("gender", offline=True)
    query = gender.queries()[0]
    before = WEAT().run_query(query, packaged_model)["weat"]
    for options in ({}, {"method": "orth"}, {"n_words": 500}):
        method = LEACE(**options).fit(packaged_model, criterion=gender)
        assert method.map_.rank == 1
        assert list(method.words_by_class_) == ["female", "male"]
        result = method.transform(packaged_model)
        assert abs(WEAT().run_query(query, result)["weat"]) < 0.25 * before
        # The words learned from have equal means, as far as float32 goes.
        means = [result.get_vectors(part).mean(axis=0) for part in method.words_by_class_.values()]
        np.testing.assert_allclose(means[0], means[1], atol=1e-5)


@pytest.mark.parametrize("n_words", [None, 300])
def test_more_than_two_classes(packaged_model, n_words):
    method = LEACE(n_words=n_words).fit(packaged_model, criterion="ethnicity")
    assert list(method.words_by_class_) == ["black", "caucasian", "asian"]
    assert method.map_.rank == 2
    result = method.transform(packaged_model)
    means = [result.get_vectors(part).mean(axis=0) for part in method.words_by_class_.values()]
    np.testing.assert_allclose(means, np.broadcast_to(means[0], np.shape(means)), atol=1e-5)


def test_definitional_words_need_no_pass_over_the_vocabulary(packaged_model, monkeypatch):
    from wefe.debias import _classes
    from wefe.models import _passes

    def refuse(model):
        raise AssertionError(model)

    for module in (_passes, _classes):
        monkeypatch.setattr(module, "vocabulary_blocks", refuse)
    LEACE().fit(packaged_model, criterion=load_criterion("gender", offline=True))
    with pytest.raises(AssertionError):
        LEACE(n_words=5).fit(packaged_model, criterion="religion")


def test_missing_words_are_counted(caplog):
    x, z = drawn(20, 6, 2)
    model, words = model_of(x), classes_of(z)
    more = {"k0": ["nobody", *words["k0"]], "k1": words["k1"]}
    method = LEACE().fit(model, words_by_class=more)
    assert "lacks 1 of the 11 words of class 'k0': nobody" in caplog.text
    expected = LEACE().fit(model, words_by_class=words)
    assert np.array_equal(method.projection_, expected.projection_)
    with pytest.raises(ValueError, match="has 1 of the 2 words of class 'class 0'; at least 2"):
        LEACE().fit(model, [("w0", "w1"), ("nobody", "w3")])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "lace"}, ValueError, "Did you mean 'leace'"),
        ({"affine": 1}, TypeError, "affine must be True or False"),
        ({"shrinkage": None}, TypeError, "shrinkage must be True or False"),
        ({"svd_tol": "x"}, TypeError, "svd_tol"),
        ({"svd_tol": -1}, ValueError, "svd_tol"),
        ({"n_words": 0}, ValueError, "n_words must be an integer of at least 1"),
    ],
)
def test_parameters_are_checked(options, error, message):
    x, z = drawn(20, 6, 2)
    with pytest.raises(error, match=message):
        LEACE(**options).fit(model_of(x), words_by_class=classes_of(z))


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the published vectors")
def test_published_vectors(monkeypatch):
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    monkeypatch.setenv("WEFE_DATA_DIR", str(SHARED / "data"))
    path = SHARED / "data" / "models" / "word2vec_subset.kv"
    model = WordEmbeddingModel(keyed_vectors.load(str(path)), "word2vec")
    result = LEACE().fit_transform(model, criterion="gender")
    weat = load_weat()
    names = ["male_terms", "female_terms", "career", "family"]
    query = Query([weat[n] for n in names[:2]], [weat[n] for n in names[2:]])
    before, after = (WEAT().run_query(query, each)["weat"] for each in (model, result))
    assert before == pytest.approx(0.463, abs=1e-3)
    assert abs(after) < 0.05
