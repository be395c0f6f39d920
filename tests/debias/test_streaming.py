"""From file to file: the same numbers as in memory, in bounded memory, whole or not at all."""

import os
import tracemalloc

import numpy as np
import pytest

from wefe import WordEmbeddingModel, convert, load
from wefe.datasets import load_criterion
from wefe.debias import (
    HardDebias,
    debias_file,
    list_debias_methods,
    transform_file,
)
from wefe.debias._base import BaseDebias, RowwiseDebias

GENDER = load_criterion("gender", offline=True)
DIM = 24


def generated(n_words=3000, dtype=np.float32, prefix=""):
    """Random vectors with the words of the criterion among them, and a lean that it can find."""
    rng = np.random.default_rng(7)
    known = dict.fromkeys(
        [*GENDER.specific_words, *GENDER.concept_words, "table", "Table", "TABLE"]
    )
    words = [prefix + word for word in known]
    words += [f"{prefix}w{row}" for row in range(n_words - len(words))]
    vectors = rng.normal(size=(n_words, DIM))
    row = {word: place for place, word in enumerate(words)}
    lean = np.eye(DIM)[0]
    for female, male in GENDER.definitional_sets:
        vectors[row[prefix + male]] = vectors[row[prefix + female]] - 3 * lean
    return WordEmbeddingModel((words, vectors.astype(dtype)), "generated", prefix or None)


@pytest.fixture(scope="module")
def model():
    return generated()


def small(method):
    """A method with parameters that fit a small vocabulary."""
    options = {"n_words": 200, "n_iterations": 3, "epochs": 10, "n_neighbours": 5}
    known = method().get_params()
    return method(**{name: value for name, value in options.items() if name in known})


METHODS = [method for method in list_debias_methods() if method.__module__.startswith("wefe.")]
ROWWISE = [method for method in METHODS if issubclass(method, RowwiseDebias)]
NAMES = [method.__name__ for method in METHODS]


def in_memory(method, model, **change):
    return small(method).fit(model, criterion=GENDER).transform(model, **change)


@pytest.mark.parametrize("suffix", [".bin", ".txt", ".safetensors"])
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_files_get_the_numbers_of_memory(method, suffix, model, tmp_path):
    source, out = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    model.save(source)
    ignore = list(GENDER.specific_words)
    done = debias_file(small(method), source, out, criterion=GENDER, ignore=ignore)
    expected = in_memory(method, model, ignore=ignore)
    result = load(out, hold="memory")
    assert list(result.vocab) == list(model.vocab)
    # Matrices are fitted from the same numbers; only their order of summation may differ.
    np.testing.assert_allclose(result.vectors, expected.vectors, atol=2e-5)
    assert done.n_words == len(model)
    assert done.n_changed == (expected.vectors != model.vectors).any(axis=1).sum()
    # Only the native format keeps the name of a model.
    before = "generated" if suffix == ".safetensors" else "in"
    assert done.name == f"{before}_gender_debiased"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, out.name])


def test_the_native_file_knows_the_name(model, tmp_path):
    model.save(tmp_path / "in.bin")
    debias_file(HardDebias(), tmp_path / "in.bin", tmp_path / "out.safetensors", criterion=GENDER)
    assert load(tmp_path / "out.safetensors").name == "in_gender_debiased"


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_narrow_native_files(dtype, model, tmp_path):
    convert(model, tmp_path / "in.safetensors", dtype=dtype)
    opened = load(tmp_path / "in.safetensors")
    debias_file(HardDebias(), tmp_path / "in.safetensors", tmp_path / "o.safetensors",
                criterion=GENDER, ignore=["she"])  # fmt: skip
    expected = HardDebias().fit(opened, criterion=GENDER).transform(opened, ignore=["she"])
    result = load(tmp_path / "o.safetensors")
    assert result.dtype == (np.float16 if dtype == "float16" else np.float32)
    np.testing.assert_allclose(result.vectors, expected.vectors, atol=1e-3)


def test_a_target_changes_alone(model, tmp_path, caplog):
    model.save(tmp_path / "in.bin")
    done = debias_file(
        HardDebias(), tmp_path / "in.bin", tmp_path / "out.bin",
        criterion=GENDER, equalize_pairs=[], target=["w7", "nurse", "xyzzy"],
    )  # fmt: skip
    result = load(tmp_path / "out.bin", hold="memory")
    changed = [w for w in model.vocab if not np.array_equal(result[w], model[w])]
    assert changed == ["nurse", "w7"]
    assert done.n_changed == 2
    assert "lacks 1 of the 3 words in target: xyzzy" in caplog.text


def test_a_target_of_unknown_words_writes_nothing(model, tmp_path):
    model.save(tmp_path / "in.bin")
    with pytest.raises(ValueError, match="none of the 1 words in target"):
        debias_file(
            HardDebias(), tmp_path / "in.bin", tmp_path / "out.bin", criterion=GENDER,
            target=["xyzzy"],
        )  # fmt: skip
    assert not (tmp_path / "out.bin").exists()


def test_a_prefix_is_put_before_every_word(tmp_path):
    model = generated(prefix="/c/en/")
    model.save(tmp_path / "in.bin")
    ignore = list(GENDER.specific_words)
    debias_file(
        HardDebias(), tmp_path / "in.bin", tmp_path / "out.bin", criterion=GENDER, ignore=ignore,
        vocab_prefix="/c/en/",
    )  # fmt: skip
    expected = in_memory(HardDebias, model, ignore=ignore)
    np.testing.assert_allclose(
        load(tmp_path / "out.bin", hold="memory").vectors, expected.vectors, atol=1e-6
    )


@pytest.mark.parametrize("out", ["out.bin", "out.txt", "out.safetensors"])
def test_a_word_that_comes_twice_is_written_once(model, out, tmp_path, caplog):
    model.save(tmp_path / "in.txt")
    lines = (tmp_path / "in.txt").read_text().splitlines()
    twice = [*lines, lines[5], lines[6]]
    (tmp_path / "in.txt").write_text("\n".join(twice) + "\n")
    debias_file(HardDebias(), tmp_path / "in.txt", tmp_path / out, criterion=GENDER)
    result = load(tmp_path / out, hold="memory")
    assert list(result.vocab) == list(model.vocab)
    assert "2 words occur twice" in caplog.text


def test_the_source_may_be_overwritten(model, tmp_path):
    model.save(tmp_path / "in.bin")
    debias_file(HardDebias(), tmp_path / "in.bin", tmp_path / "in.bin", criterion=GENDER)
    result = load(tmp_path / "in.bin", hold="memory")
    np.testing.assert_allclose(result.vectors, in_memory(HardDebias, model).vectors, atol=1e-6)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_which_can_be_read_only_once_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match=r"pipe, .*several times.*to a file first"):
        debias_file(HardDebias(), tmp_path / "pipe", tmp_path / "out.txt", criterion="gender")


def test_a_damaged_source_leaves_what_was_there(model, tmp_path):
    model.save(tmp_path / "in.bin")
    whole = (tmp_path / "in.bin").read_bytes()
    (tmp_path / "in.bin").write_bytes(whole[:-10])
    (tmp_path / "out.bin").write_bytes(b"precious")
    with pytest.raises(ValueError, match=r"in\.bin"):
        debias_file(HardDebias(), tmp_path / "in.bin", tmp_path / "out.bin", criterion=GENDER)
    assert (tmp_path / "out.bin").read_bytes() == b"precious"
    assert len(list(tmp_path.iterdir())) == 2


def test_vectors_with_nan_are_refused(model, tmp_path):
    broken = model.copy()
    broken.vectors[2500, 3] = np.nan
    np.savez(tmp_path / "in.npz", vectors=broken.vectors, words=np.array(list(model.vocab)))
    source = WordEmbeddingModel((list(model.vocab), broken.vectors), "broken")
    with pytest.raises(ValueError, match="NaN or infinity"):
        debias_file(HardDebias(), source, tmp_path / "out.bin", criterion=GENDER)
    assert not (tmp_path / "out.bin").exists()


def test_a_fitted_method_is_applied_to_another_file(model, tmp_path):
    other = WordEmbeddingModel((list(model.vocab), model.vectors[::-1].copy()), "other")
    other.save(tmp_path / "in.bin")
    method = HardDebias().fit(model, criterion=GENDER)
    transform_file(method, tmp_path / "in.bin", tmp_path / "out.bin")
    np.testing.assert_allclose(
        load(tmp_path / "out.bin", hold="memory").vectors,
        method.transform(other).vectors,
        atol=1e-6,
    )


def test_other_dimensions_are_refused(model, tmp_path):
    narrow = WordEmbeddingModel((list(model.vocab), model.vectors[:, :5].copy()), "narrow")
    method = HardDebias().fit(model, criterion=GENDER)
    with pytest.raises(ValueError, match=r"24 dims; narrow has 5"):
        transform_file(method, narrow, tmp_path / "out.bin")


def test_what_is_no_rowwise_method_is_refused(model, tmp_path):
    class Other(BaseDebias):
        def fit(self, model, **fit_params):
            return self

        def transform(self, model, target=None, ignore=None, copy=True):
            return model

    with pytest.raises(TypeError, match="does not change each vector by itself"):
        transform_file(Other(), model, tmp_path / "out.bin")
    # But a file can be given to it whole.
    model.save(tmp_path / "in.bin")
    assert debias_file(Other(), tmp_path / "in.bin", tmp_path / "o.bin").n_changed == 0


@pytest.mark.slow
@pytest.mark.parametrize("method", ROWWISE, ids=[method.__name__ for method in ROWWISE])
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
