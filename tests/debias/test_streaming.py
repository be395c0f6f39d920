"""From file to file: the same numbers as in memory, in bounded memory, whole or not at all."""

import os
import tracemalloc

import numpy as np
import pytest
from mitigation import METHODS, NAMES, small

from wefe import WordEmbeddingModel, convert, load
from wefe.datasets import load_criterion
from wefe.debias import INLP, DoubleHardDebias, HardDebias, LinearProjection, debias_file
from wefe.debias._base import BaseDebias

GENDER = load_criterion("gender", offline=True)
IGNORE = list(GENDER.specific_words)
DIM = 24


def generated(n_words=1000, prefix=""):
    """Random vectors with the words of the criterion among them, and a lean that it can find."""
    rng = np.random.default_rng(7)
    words = [*dict.fromkeys([*IGNORE, *GENDER.words, "table", "Table", "TABLE"])]
    words += [f"w{row}" for row in range(n_words - len(words))]
    vectors = rng.normal(size=(n_words, DIM)).astype(np.float32)
    row = {word: place for place, word in enumerate(words)}
    for female, male in GENDER.definitional_sets:
        vectors[row[male]] = vectors[row[female]] - 3 * np.eye(DIM)[0]
    return WordEmbeddingModel(
        ([prefix + word for word in words], vectors), "generated", prefix or None
    )


@pytest.fixture
def model():
    return generated()


@pytest.fixture
def source(model, tmp_path):
    model.save(tmp_path / "in.bin")
    return tmp_path / "in.bin"


def hard_debias(source, out, **options):
    return debias_file(HardDebias(), source, out, criterion=GENDER, **options)


def read(path):
    return load(path, hold="memory")


@pytest.mark.parametrize(
    ("method", "suffix"),
    [
        *((method, ".bin") for method in METHODS),
        *((method, ".safetensors") for method in METHODS[:5]),
        (HardDebias, ".txt"),
    ],
    ids=[*NAMES, *(f"{name}-native" for name in NAMES[:5]), "text"],
)
def test_files_get_the_numbers_of_memory(method, suffix, model, tmp_path):
    source, out = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    model.save(source)
    done = debias_file(small(method), source, out, criterion=GENDER, ignore=IGNORE)
    expected = small(method).fit(model, criterion=GENDER).transform(model, ignore=IGNORE)
    result = read(out)
    assert list(result.vocab) == list(model.vocab)
    # Matrices are fitted from the same numbers; only their order of summation may differ.
    np.testing.assert_allclose(result.vectors, expected.vectors, atol=2e-5)
    assert (done.path, done.n_words) == (out, len(model))
    assert done.n_changed == (expected.vectors != model.vectors).any(axis=1).sum()
    # Only the native format keeps the name of a model.
    before = "generated" if suffix == ".safetensors" else "in"
    assert done.name == f"{before}_gender_debiased"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, out.name])


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_narrow_native_files(dtype, model, tmp_path):
    source, out = tmp_path / "in.safetensors", tmp_path / "out.safetensors"
    convert(model, source, dtype=dtype)
    hard_debias(source, out, ignore=["she"])
    opened, result = load(source), load(out)
    expected = HardDebias().fit(opened, criterion=GENDER).transform(opened, ignore=["she"])
    assert result.dtype == (np.float16 if dtype == "float16" else np.float32)
    assert result.name == "generated_gender_debiased"
    np.testing.assert_allclose(result.vectors, expected.vectors, atol=1e-3)


def test_the_source_may_be_overwritten_and_have_a_prefix(model, tmp_path):
    path = tmp_path / "in.bin"
    generated(prefix="/c/en/").save(path)
    hard_debias(path, path, ignore=IGNORE, vocab_prefix="/c/en/")
    expected = HardDebias().fit(model, criterion=GENDER).transform(model, ignore=IGNORE)
    np.testing.assert_allclose(read(path).vectors, expected.vectors, atol=1e-6)
    hard_debias(generated(prefix="/c/en/"), path, ignore=IGNORE)
    np.testing.assert_allclose(read(path).vectors, expected.vectors, atol=1e-6)


def test_a_damaged_source_leaves_what_was_there(model, source, tmp_path):
    source.write_bytes(source.read_bytes()[:-10])
    out = tmp_path / "out.bin"
    out.write_bytes(b"precious")
    with pytest.raises(ValueError, match=r"in\.bin"):
        hard_debias(source, out)
    words = np.array(["she"], dtype=object)
    np.savez(tmp_path / "in.npz", vectors=np.ones((1, 3)), words=words)
    with pytest.raises(ValueError, match="trust_pickle"):
        hard_debias(tmp_path / "in.npz", out)
    (tmp_path / "in.npz").unlink()
    model.vectors[900, 3] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        hard_debias(model, out)
    assert out.read_bytes() == b"precious"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_which_can_be_read_only_once_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe"):
        hard_debias(tmp_path / "pipe", tmp_path / "out.txt")


def test_a_fitted_method_is_applied_to_another_file(model, tmp_path):
    method = HardDebias().fit(model, criterion=GENDER)
    other = WordEmbeddingModel((list(model), model.vectors[::-1].copy()), "other")
    other.save(tmp_path / "in.bin")
    debias_file(method, tmp_path / "in.bin", tmp_path / "out.bin")
    expected = method.transform(other).vectors
    np.testing.assert_allclose(read(tmp_path / "out.bin").vectors, expected, atol=1e-6)


class Whole(BaseDebias):
    """A method that changes no vector by itself."""

    def fit(self, model, **fit_params):
        return self

    def transform(self, model, target=None, ignore=None, copy=True):
        return model


def test_what_cannot_be_done_from_file_to_file(model, source, tmp_path):
    narrow = WordEmbeddingModel((list(model), model.vectors[:, :5].copy()), "narrow")
    fitted, out = HardDebias().fit(model, criterion=GENDER), tmp_path / "out.bin"
    for call, error, culprit in (
        (lambda: debias_file(fitted, narrow, out), ValueError, "24 dims; narrow has 5"),
        (lambda: debias_file(HardDebias(), model, out), TypeError, "HardDebias.fit needs"),
        (lambda: debias_file("leace", model, out), TypeError, "method must be"),
    ):
        with pytest.raises(error, match=culprit):
            call()
    # But a file can be given to a method that changes no vector by itself.
    assert debias_file(Whole(), source, out).n_changed == 0


class Doubled(LinearProjection):
    """A method with a `transform` of its own."""

    def transform(self, *args, **options):
        result = super().transform(*args, **options)
        result.vectors[:] *= 2
        return result


def test_a_method_with_a_transform_of_its_own_is_obeyed(model, tmp_path):
    method = Doubled().fit(model, criterion=GENDER)
    debias_file(method, model, tmp_path / "out.bin")
    np.testing.assert_array_equal(
        read(tmp_path / "out.bin").vectors, method.transform(model).vectors
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", [HardDebias, INLP, DoubleHardDebias])
def test_memory_does_not_grow_with_the_file(method, tmp_path, monkeypatch):
    # So that both files are longer than one block.
    monkeypatch.setattr("wefe.models._passes._BLOCK_NUMBERS", 1 << 18)
    peaks = []
    for n_words in (20_000, 80_000):
        source = tmp_path / f"{n_words}.safetensors"
        generated(n_words).save(source)
        tracemalloc.start()
        debias_file(small(method), source, tmp_path / "out.bin", criterion=GENDER)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    matrix = 60_000 * DIM * 4
    assert peaks[1] - peaks[0] < 0.75 * matrix, peaks
