"""Copies of models: independent of the original, and no larger than they must be."""

import numpy as np
import pytest

from wefe import WordEmbeddingModel, convert, load

WORDS = ["she", "he", "home", "work"]
VECTORS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
NEW = np.array([7, 8, 9], np.float32)


def in_memory(dtype=np.float32):
    return WordEmbeddingModel((WORDS, VECTORS.astype(dtype)), "toy", "/c/")


@pytest.fixture
def mapped(tmp_path):
    in_memory().save(tmp_path / "toy.safetensors")
    return load(tmp_path / "toy.safetensors")


def of_gensim():
    gensim = pytest.importorskip("gensim.models")
    wv = gensim.KeyedVectors(3)
    wv.add_vectors(WORDS, VECTORS)
    return WordEmbeddingModel(wv, "toy")


@pytest.fixture(params=["memory", "mapped", "gensim"])
def model(request):
    if request.param == "mapped":
        return request.getfixturevalue("mapped")
    return in_memory() if request.param == "memory" else of_gensim()


def test_a_copy_equals_its_original(model):
    twin = model.copy()
    assert twin == model
    assert twin is not model
    assert twin.wv is not model.wv
    assert (twin.held, twin.nbytes) == (model.held, model.nbytes)
    assert not np.shares_memory(twin.vectors, model.vectors)


def test_changes_stay_on_their_side(model):
    twin = model.copy()
    twin.update("she", NEW)
    np.testing.assert_array_equal(model.vectors, VECTORS)
    model.update("he", 2 * NEW)
    np.testing.assert_array_equal(twin["he"], VECTORS[1])
    np.testing.assert_array_equal(twin["she"], NEW)
    twin.normalize()
    np.testing.assert_array_equal(model["she"], VECTORS[0])
    twin.name = "another"
    assert model.name == "toy"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtype_prefix_and_bits_stay(dtype):
    model = in_memory(dtype)
    model.vectors[1, 0] = np.nan
    model.vectors[2, 1] = -0.0
    twin = model.copy()
    assert twin.dtype == dtype
    assert twin.vocab_prefix == "/c/"
    assert twin.vectors.tobytes() == model.vectors.tobytes()


def test_a_copy_of_what_cannot_be_written_can_be():
    model = in_memory()
    model.vectors.flags.writeable = False
    twin = model.copy()
    twin.update("she", NEW)
    np.testing.assert_array_equal(twin["she"], NEW)


# Mapped models


def test_neither_copy_changes_the_file(mapped, tmp_path):
    bits = (tmp_path / "toy.safetensors").read_bytes()
    mapped.update("he", NEW)
    mapped.copy().update("she", NEW)
    assert (tmp_path / "toy.safetensors").read_bytes() == bits


@pytest.mark.parametrize("fate", ["gone", "shorter", "replaced"])
def test_a_model_keeps_its_file_when_another_takes_its_name(mapped, fate, tmp_path):
    path = tmp_path / "toy.safetensors"
    content = path.read_bytes()
    path.unlink()
    if fate != "gone":
        path.write_bytes(content[:-5] if fate == "shorter" else content[:-48] + bytes(48))
    twin = mapped.copy()
    np.testing.assert_array_equal(twin.vectors, VECTORS)
    twin.update("she", NEW)
    np.testing.assert_array_equal(mapped["she"], VECTORS[0])


@pytest.mark.parametrize("fate", ["shorter", "changed"])
def test_a_file_that_changes_while_it_is_open_is_an_error_that_names_it(mapped, fate, tmp_path):
    path = tmp_path / "toy.safetensors"
    content = path.read_bytes()
    np.testing.assert_array_equal(mapped["she"], VECTORS[0])
    with path.open("r+b") as file:
        if fate == "shorter":
            file.truncate(4100)
        else:
            file.seek(4096)
            file.write(bytes(4))
    for read in (
        lambda: mapped["she"],
        lambda: mapped.get_vectors(["he", "home"]),
        lambda: mapped.rows(slice(None)),
        lambda: mapped.vectors,
        lambda: mapped.vocab["work"],
    ):
        with pytest.raises(ValueError, match=r"toy\.safetensors"):
            read()
    assert len(content) > 4100


# Tables of other kinds


def test_quantised_vectors_stay_quantised(tmp_path):
    convert(in_memory(), tmp_path / "q.safetensors", dtype="int8")
    model = load(tmp_path / "q.safetensors")
    small = model.nbytes
    twin = model.copy("twin")
    assert (model.held, twin.held, twin.nbytes, small) == ("mapped", "mapped", small, small)
    assert small < VECTORS.nbytes
    np.testing.assert_array_equal(twin["home"], model["home"])
    twin.update("she", NEW)
    # To change one vector, all were made.
    assert (twin.held, twin.nbytes) == ("memory", VECTORS.nbytes)
    assert (model.held, model.nbytes) == ("mapped", small)
    third = twin.copy()
    third.update("she", -NEW)
    np.testing.assert_array_equal(twin["she"], NEW)
    assert not np.array_equal(model["she"], NEW)


def test_a_model_opened_for_some_words_keeps_its_errors(tmp_path):
    in_memory().save(tmp_path / "toy.txt")
    model = load(tmp_path / "toy.txt", words=["she", "xyzzy"])
    twin = model.copy()
    assert twin.held == "selected"
    assert "xyzzy" not in twin
    with pytest.raises(KeyError, match="not among the 2 words"):
        twin["he"]
    twin.update("she", NEW)
    np.testing.assert_array_equal(model["she"], VECTORS[0])


def test_words_added_to_a_gensim_copy_are_its_own():
    model = of_gensim()
    model.wv.get_vector("she", norm=True)  # makes gensim cache the lengths
    twin = model.copy()
    twin.wv.add_vectors(["new"], NEW[None])
    assert "new" in twin
    assert "new" not in model
    assert list(model.wv.index_to_key) == WORDS
    assert len(model.vectors) == 4
    twin.wv.set_vecattr("she", "count", 5)
    assert "count" not in model.wv.expandos


def test_lengths_that_gensim_caches_are_not_taken_over():
    model = of_gensim()
    model.wv.fill_norms()
    twin = model.copy()
    assert twin.wv.norms is None
    twin.update("home", np.array(model["she"]) * 5)
    (word, cosine), *_ = twin.wv.most_similar("she")
    assert word == "home"
    assert cosine == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(model.wv.norms, np.linalg.norm(VECTORS, axis=1), rtol=1e-6)


def test_subwords_of_a_fasttext_copy():
    fasttext = pytest.importorskip("gensim.models.fasttext")
    wv = fasttext.FastTextKeyedVectors(3, 2, 3, 20)
    wv.add_vectors(WORDS, VECTORS)
    rng = np.random.default_rng(1)
    wv.vectors_ngrams = rng.normal(size=(20, 3)).astype(np.float32)
    wv.vectors_vocab = VECTORS.copy()
    wv.recalc_char_ngram_buckets()
    wv.adjust_vectors()
    model = WordEmbeddingModel(wv, "fast", use_subwords=True)
    twin = model.copy()
    assert twin.use_subwords
    np.testing.assert_array_equal(twin["homework"], model["homework"])
    before = wv.vectors_vocab.copy()
    twin.update("she", NEW)
    np.testing.assert_array_equal(wv.vectors_vocab, before)
    assert not np.array_equal(model["she"], NEW)


def test_what_was_changed_of_a_mapped_model_stays_when_it_is_held_in_memory(mapped):
    mapped.update("she", NEW)
    model = load(mapped, hold="memory")
    assert model.held == "memory"
    np.testing.assert_array_equal(model["she"], NEW)
    np.testing.assert_array_equal(model["he"], VECTORS[1])
