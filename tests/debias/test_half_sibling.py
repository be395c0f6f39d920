"""Half-sibling regression: the worked example, the primal form, and what transform may change."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from wefe import WEAT, Query, WordEmbeddingModel
from wefe.datasets import Criterion, fetch_debiaswe, load_weat
from wefe.debias import HalfSiblingRegression

SHARED = Path(__file__).resolve().parents[2].parent / "shared"


def random_model(n_words=40, dim=12, name="random", seed=0, dtype=np.float64):
    vectors = np.random.default_rng(seed).normal(size=(n_words, dim)).astype(dtype)
    return WordEmbeddingModel(([f"w{i}" for i in range(n_words)], vectors), name)


def primal(definitional, others, alpha):
    """The published form: every dimension is a sample, every other word a regression."""
    ridge = Ridge(alpha=alpha, fit_intercept=False).fit(definitional.T, others.T)
    return others - ridge.predict(definitional.T).T


@pytest.mark.parametrize(
    ("alpha", "nurse", "pilot"),
    [
        (60, (0.486506, 0.099286, 0.799850), (-0.387158, 0.198187, 0.698637)),
        (1, (0.201114, 0.046178, 0.773709), (-0.120819, 0.123628, 0.648042)),
    ],
)
def test_worked_example(toy_model, alpha, nurse, pilot):
    result = HalfSiblingRegression().fit_transform(
        toy_model, definitional_words=["she", "he"], alpha=alpha
    )
    np.testing.assert_allclose(result["nurse"], nurse, atol=1e-6)
    np.testing.assert_allclose(result["pilot"], pilot, atol=1e-6)
    for word in ("she", "he"):
        assert np.array_equal(result[word], toy_model[word])


@pytest.mark.parametrize("alpha", [0.01, 1, 60, 1e4])
@pytest.mark.parametrize("n_definitional", [1, 3, 12, 30])
def test_the_map_equals_the_primal_regression(alpha, n_definitional):
    model = random_model()
    words = list(model.vocab)[:n_definitional]
    result = HalfSiblingRegression().fit(model, words, alpha).transform(model)
    expected = primal(model.vectors[:n_definitional], model.vectors[n_definitional:], alpha)
    np.testing.assert_allclose(result.vectors[n_definitional:], expected, atol=1e-9)
    assert np.array_equal(result.vectors[:n_definitional], model.vectors[:n_definitional])


def test_large_and_small_penalties_are_the_limits():
    model = random_model()
    words = list(model.vocab)[:3]
    nothing = HalfSiblingRegression().fit(model, words, 1e12).map_
    np.testing.assert_allclose(nothing, np.eye(12), atol=1e-9)
    basis = np.linalg.qr(model.vectors[:3].T)[0]
    everything = HalfSiblingRegression().fit(model, words, 1e-6).map_
    np.testing.assert_allclose(everything, np.eye(12) - basis @ basis.T, atol=1e-6)


def test_more_is_removed_of_longer_vectors():
    model = random_model()
    longer = WordEmbeddingModel((list(model.vocab), 10 * model.vectors), "longer")
    words = list(model.vocab)[:5]
    lengths = [
        np.linalg.norm(HalfSiblingRegression().fit_transform(each, definitional_words=words)["w9"])
        / np.linalg.norm(each["w9"])
        for each in (model, longer)
    ]
    assert lengths[1] < lengths[0] < 1


def test_targets_do_not_get_misaligned(caplog):
    model = random_model()
    method = HalfSiblingRegression().fit(model, ["w0", "w1", "w2"], 1)
    every = method.transform(model)
    result = method.transform(model, target=["w30", "missing", "w0", "w7", "w12"], ignore=["w12"])
    changed = {word for word in model if not np.array_equal(result[word], model[word])}
    assert changed == {"w30", "w7"}
    for word in changed:
        np.testing.assert_allclose(result[word], every[word], atol=1e-14)
    assert "lacks 1 of the 5 words in target: missing" in caplog.text
    assert "protects" in caplog.text


def test_missing_and_repeated_definitional_words(caplog):
    model = random_model()
    method = HalfSiblingRegression().fit(model, ["w0", "nobody", "w1", "w0"])
    expected = HalfSiblingRegression().fit(model, ["w0", "w1"])
    assert np.array_equal(method.map_, expected.map_)
    assert method.definitional_words_ == ("w0", "nobody", "w1")
    assert "lacks 1 of the 3 definitional_words: nobody" in caplog.text
    with pytest.raises(ValueError, match="none of the 2 definitional_words; at least 1 is needed"):
        HalfSiblingRegression().fit(model, ["nobody", "nothing"])


@pytest.mark.parametrize("alpha", [0, -1, float("nan"), float("inf")])
def test_penalties_must_be_positive(alpha):
    with pytest.raises(ValueError, match="alpha"):
        HalfSiblingRegression().fit(random_model(), ["w0"], alpha)


def test_arguments_of_another_type_are_refused():
    model = random_model()
    with pytest.raises(TypeError, match="alpha"):
        HalfSiblingRegression().fit(model, ["w0"], "60")
    with pytest.raises(TypeError, match="definitional_words must be a list"):
        HalfSiblingRegression().fit(model, "w0")
    with pytest.raises(TypeError, match="needs definitional_words, or a criterion"):
        HalfSiblingRegression().fit(model)
    with pytest.raises(TypeError, match="no parameter 'definitional_pairs'"):
        HalfSiblingRegression().fit(model, ["w0"], definitional_pairs=[["w0", "w1"]])


def test_a_criterion_brings_its_specific_words():
    model = random_model()
    criterion = Criterion("letters", [("w0", "w1")], specific_words=["w4"])
    method = HalfSiblingRegression().fit(model, criterion=criterion)
    assert set(method.definitional_words_) == {"w0", "w1", "w4"}
    assert method.transform(model).name == "random_letters_debiased"
    expected = HalfSiblingRegression().fit(model, ["w0", "w1", "w4"])
    np.testing.assert_allclose(method.map_, expected.map_, atol=1e-14)


def test_memory_does_not_grow_with_definitional_times_other_words():
    n_words, dim = 30_000, 8
    model = random_model(n_words, dim, dtype=np.float32)
    method = HalfSiblingRegression()
    words = list(model.vocab)
    tracemalloc.start()
    method.fit(model, words[: n_words // 2]).transform(model)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All pairs of words would be 900 MB, all vectors are 1 MB.
    assert peak < 20e6


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the published vectors")
def test_figures_of_the_published_vectors(monkeypatch):
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    monkeypatch.setenv("WEFE_DATA_DIR", str(SHARED / "data"))
    words, weat = fetch_debiaswe(), load_weat()
    path = SHARED / "data" / "models" / "word2vec_subset.kv"
    model = WordEmbeddingModel(keyed_vectors.load(str(path)), "word2vec")
    method = HalfSiblingRegression().fit(model, words["gender_specific"])
    result = method.transform(model)
    assert (result.vectors != model.vectors).any(axis=1).sum() == 11_572
    for sets, statistic, effect in (
        (("male_terms", "female_terms", "career", "family"), 0.126400, 0.386784),
        (("male_names", "female_names", "pleasant_5", "unpleasant_5a"), 0.043295, 0.444367),
    ):
        first, second, third, fourth = (weat[name] for name in sets)
        found = WEAT().run_query(Query([first, second], [third, fourth]), result)
        assert found["weat"] == pytest.approx(statistic, abs=1e-6)
        assert found["effect_size"] == pytest.approx(effect, abs=1e-6)
