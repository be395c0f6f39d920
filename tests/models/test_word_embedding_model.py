"""WordEmbeddingModel: gensim's vectors of every kind, and plain arrays, behind one face."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

from wefe import convert, load
from wefe.models import WordEmbeddingModel
from wefe.models._tables import ArrayVectors

WORDS = ["she", "he", "reads", "math", "art"]
DIM = 4
ONE = np.ones(DIM, np.float32)
VECTORS = np.random.default_rng(0).normal(size=(5, DIM)).astype(np.float32)
GENSIM = ["KeyedVectors", "Word2Vec", "FastText", "FastText without n-grams"]


@pytest.fixture
def make_vectors(gensim_model):
    """Make a table of the five words, of any kind."""

    def make(kind):
        if kind == "arrays":
            return ArrayVectors(WORDS, VECTORS.copy())
        if kind == "KeyedVectors":
            wv = pytest.importorskip("gensim.models").KeyedVectors(DIM)
            wv.add_vectors(WORDS, VECTORS)
            return wv
        kind, _, without = kind.partition(" ")
        return gensim_model(kind, **({"max_n": 0} if without else {})).wv

    return make


@pytest.fixture(params=["arrays", *GENSIM])
def wv(request, make_vectors):
    return make_vectors(request.param)


@pytest.fixture
def subword_model(make_vectors):
    return WordEmbeddingModel(make_vectors("FastText"), "subwords", use_subwords=True)


def toy(**changes):
    return WordEmbeddingModel(**{"wv": (WORDS, VECTORS.copy()), "name": "toy"} | changes)


def bits(model):
    """Everything that a refused update must leave as it is."""
    parts = [getattr(model.wv, name, None) for name in ("vectors", "norms", "vectors_vocab")]
    kept = [None if array is None else array.tobytes() for array in parts]
    return [*kept, dict(model.vocab), model.name, model.vocab_prefix]


# What it holds


def test_every_kind_of_vectors_can_be_wrapped_and_not_be_changed_behind_its_back(wv):
    model = WordEmbeddingModel(wv, "name")
    assert model.wv is wv
    assert model.name == "name"
    assert (model.table.n_rows, model.get_vectors([]).shape) == (len(WORDS), (0, DIM))
    assert model.vectors is wv.vectors
    assert (set(model.vocab), len(model), model.dim) == (set(WORDS), 5, DIM)
    words = ["math", "she", "math"]
    expected = wv.vectors[[model.vocab[word] for word in words]]
    np.testing.assert_array_equal(model.get_vectors(words), expected)
    np.testing.assert_array_equal([model[word] for word in words], expected)
    with pytest.raises(KeyError, match="'they'"):
        model.get_vectors(["she", "they", "he"])
    # gensim itself takes 0 for the first word, and its fastText has every word.
    for word in ("they", "", 0, -1, None, ("she",), "SHE", "she "):
        assert word not in model
        with pytest.raises(KeyError, match="not in the vocabulary of name"):
            model[word]
    # `model["she"] /= 2` would leave gensim's cached lengths stale; gensim refuses it too.
    before, vector = bits(model), model["she"]
    with pytest.raises(ValueError, match="read-only"):
        vector /= 2
    model.get_vectors(["she", "he"])[:] = 0
    assert bits(model) == before


# Updating and normalising


def test_update_changes_one_word_and_no_other(wv):
    model = WordEmbeddingModel(wv)
    others = [word for word in WORDS if word != "he"]
    before = model.get_vectors(others).tobytes()
    vector = np.arange(DIM, dtype=np.float32)
    model.update("he", vector)
    vector[:] = 99
    np.testing.assert_array_equal(wv["he"], range(DIM))
    assert model.get_vectors(others).tobytes() == before
    # The new vectors may be those of the model itself.
    turned = model.vectors[::-1].copy()
    model.batch_update(list(model.vocab), model.vectors[::-1])
    np.testing.assert_array_equal(model.vectors, turned)


PAIR = ["she", "he"]


@pytest.mark.parametrize("kind", ["arrays", "FastText"])
@pytest.mark.parametrize(
    ("words", "embeddings", "error", "culprit"),
    [
        (["she", "they"], [ONE, ONE], ValueError, "'they'"),
        ({"she", "he"}, [ONE, ONE], TypeError, "words .* set"),
        (PAIR, [ONE], ValueError, r"shape \(2, 4\).*\(1, 4\)"),
        (PAIR, [ONE, ONE[:3]], ValueError, "inhomogeneous"),
        (PAIR, [ONE, ONE.astype("f8")], ValueError, "float32 .*float64"),
    ],
)
def test_a_refused_batch_changes_nothing(make_vectors, kind, words, embeddings, error, culprit):
    wv = make_vectors(kind)
    if kind != "arrays":
        wv.fill_norms()
    model = WordEmbeddingModel(wv)
    before = bits(model)
    with pytest.raises(error, match=culprit):
        model.batch_update(words, embeddings)
    assert bits(model) == before


def test_a_read_only_model_says_so_and_stays():
    vectors = VECTORS.copy()
    vectors.flags.writeable = False
    model = toy(wv=(WORDS, vectors))
    for change in (lambda: model.update("she", ONE), model.normalize):
        with pytest.raises(ValueError, match="toy are read-only"):
            change()


@pytest.mark.parametrize(
    ("dtype", "size"), [("f2", 6e-8), ("f2", 6e4), ("f4", 1e-45), ("f4", 3e38), ("f8", 1e150)]
)
def test_normalize_copes_with_every_length_that_the_width_holds(dtype, size):
    # float32 cannot square 3e38: the length would be infinite and the vector zero.
    model = toy(wv=(["she"], np.full((1, DIM), size, dtype)))
    model.normalize()
    np.testing.assert_array_equal(model["she"], np.full(DIM, 0.5, dtype))


def test_normalize_leaves_vectors_without_direction_as_they_are():
    vectors = np.array([[0, 0], [1, np.nan], [np.inf, 1], [3, -4]], np.float32)
    model = toy(wv=(WORDS[:4], vectors.copy()))
    model.normalize()
    np.testing.assert_array_equal(model.vectors[:3], vectors[:3])
    assert model.vectors[3].tolist() == pytest.approx([0.6, -0.8])


# What gensim remembers


@pytest.mark.parametrize("kind", GENSIM)
@pytest.mark.parametrize("change", ["update", "normalize"])
def test_nearest_neighbours_see_the_new_vectors(make_vectors, kind, change):
    model = WordEmbeddingModel(make_vectors(kind))
    model.wv.most_similar("she")  # gensim keeps the lengths from here on
    if change == "update":
        model.update("he", 100 * model["he"] + np.float32(1))
    else:
        model.normalize()
    unit = model.vectors / np.linalg.norm(model.vectors, axis=1, keepdims=True)
    cosines = dict(zip(model.vocab, unit @ unit[model.vocab["she"]], strict=True))
    del cosines["she"]
    assert dict(model.wv.most_similar("she")) == pytest.approx(cosines, abs=1e-5)


def test_updated_vectors_are_saved_of_a_mapped_fasttext_model_too(make_vectors, tmp_path):
    wv = make_vectors("FastText")
    load = type(wv).load
    wv.save(str(tmp_path / "before"), sep_limit=0)
    model = WordEmbeddingModel(load(str(tmp_path / "before"), mmap="r"))
    model.update("he", ONE)
    model.wv.save(str(tmp_path / "after"))
    np.testing.assert_allclose(load(str(tmp_path / "after"))["he"], ONE, rtol=1e-5)
    np.testing.assert_array_equal(load(str(tmp_path / "before"))["he"], wv["he"])
    # Words that are added have no n-grams in gensim's tables.
    wv.add_vectors(["they"], ONE[None])
    model = WordEmbeddingModel(wv)
    model.update("they", 2 * ONE)
    np.testing.assert_array_equal(model["they"], 2 * ONE)


# Subwords


def test_unseen_words_have_vectors_only_when_asked_for(subword_model):
    wv = subword_model.wv
    assert "readers" in wv
    assert "readers" not in WordEmbeddingModel(wv)
    assert "readers" in subword_model
    words = ["she", "readers", "he"]
    expected = [wv.get_vector(word) for word in words]
    np.testing.assert_array_equal(subword_model.get_vectors(words), expected)


@pytest.mark.parametrize(
    ("min_n", "max_n"), [(0, 2), (1, 1), (1, 2), (2, 2), (3, 6), (5, 6), (4, 3)]
)
@pytest.mark.parametrize("bucket", [0, 10])
def test_the_model_has_the_words_that_gensim_can_build_from_ngrams(min_n, max_n, bucket):
    # gensim's own `in` says yes to every word, and a word without n-grams gets a zero vector.
    fasttext = pytest.importorskip("gensim.models.fasttext")
    wv = fasttext.FastTextKeyedVectors(DIM, min_n, max_n, bucket)
    wv.vectors_ngrams = np.ones((bucket, DIM), np.float32)
    model = WordEmbeddingModel(wv, use_subwords=True)
    for word in ["", "a", "é", "女", "ab", "abc", "abcd"]:
        n_grams = fasttext.ft_ngram_hashes(word, min_n, max_n, bucket) if bucket else []
        assert (word in model) is bool(len(n_grams)), word


# Equality

NUDGED = VECTORS.copy()
NUDGED[-1, -1] = np.nextafter(NUDGED[-1, -1], np.float32(9))


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"vocab_prefix": "/en/"},
        {"wv": (WORDS, NUDGED)},
        {"wv": (WORDS, VECTORS.astype(np.float64))},
        {"wv": (WORDS[:4], VECTORS[:4])},
        {"wv": (WORDS[::-1], VECTORS)},
    ],
)
def test_models_that_differ_are_not_equal(make_vectors, changes):
    assert toy() == WordEmbeddingModel(make_vectors("KeyedVectors"), "toy")
    assert toy() != toy(**changes)
    assert toy() != WORDS


def test_models_that_treat_unseen_words_differently_are_not_equal(subword_model):
    wv = subword_model.wv
    assert subword_model != WordEmbeddingModel(wv, "subwords")
    other = copy.deepcopy(wv)
    assert subword_model == WordEmbeddingModel(other, "subwords", use_subwords=True)
    other.vectors_ngrams = other.vectors_ngrams + np.float32(1)
    assert subword_model != WordEmbeddingModel(other, "subwords", use_subwords=True)
    assert WordEmbeddingModel(wv) == WordEmbeddingModel(other)
    unknown = (WORDS, np.full_like(VECTORS, np.nan))
    assert WordEmbeddingModel(unknown, "m") == WordEmbeddingModel(unknown, "m")


@pytest.mark.parametrize(
    ("changes", "error", "culprit"),
    [
        ({"wv": {"she": ONE}}, TypeError, "KeyedVectors.* dict"),
        ({"wv": SimpleNamespace(key_to_index={})}, TypeError, "KeyedVectors"),
        ({"wv": (WORDS, VECTORS[0])}, ValueError, "2-d"),
        ({"wv": (WORDS, np.ones((5, DIM), int))}, TypeError, "floating-point numbers; got int"),
        ({"wv": (WORDS[:4], VECTORS)}, ValueError, "4 words and 5 rows"),
        ({"wv": ([*WORDS[:4], "she"], VECTORS)}, ValueError, "'she' .* 0 .* 4"),
        ({"wv": ([*WORDS[:4], b"art"], VECTORS)}, TypeError, "element 4 .* bytes"),
        # Letters are no words.
        ({"wv": ("abcde", VECTORS)}, TypeError, "vocabulary .* str"),
        ({"name": 3}, TypeError, "name"),
        ({"use_subwords": "no"}, TypeError, "use_subwords"),
        ({"use_subwords": True}, TypeError, "use_subwords=True"),
    ],
)
def test_what_makes_no_model_is_refused(changes, error, culprit):
    with pytest.raises(error, match=culprit):
        toy(**changes)


# Copies


@pytest.mark.parametrize("kind", ["memory", "mapped", "gensim", "selected"])
def test_a_copy_equals_its_original_and_changes_stay_on_their_side(make_vectors, tmp_path, kind):
    original = toy(vocab_prefix="/c/")
    if kind == "gensim":
        original = WordEmbeddingModel(make_vectors("KeyedVectors"), "toy", "/c/")
    elif kind != "memory":
        path = tmp_path / ("toy.safetensors" if kind == "mapped" else "toy.txt")
        original.save(path)
        original = load(path, vocab_prefix="/c/", words=[*WORDS, "xyzzy"])
    twin = original.copy()
    assert twin == original
    assert twin.wv is not original.wv
    assert (twin.held, twin.nbytes) == (original.held, original.nbytes)
    assert twin.table.requested == original.table.requested
    twin.update("she", ONE)
    np.testing.assert_array_equal(original.vectors, VECTORS)
    original.update("he", 2 * ONE)
    np.testing.assert_array_equal(twin["he"], VECTORS[1])
    np.testing.assert_array_equal(twin["she"], ONE)
    assert original.copy("third").name == "third"


def test_copies_of_quantised_vectors_stay_quantised_until_one_is_changed(tmp_path):
    model = convert(toy(), tmp_path / "q.safetensors", dtype="int8")
    twin = model.copy()
    assert (twin.held, twin.nbytes) == ("mapped", model.nbytes)
    twin.update("she", ONE)
    # To change one vector, all were made.
    assert (model.held, twin.held, twin.nbytes) == ("mapped", "memory", VECTORS.nbytes)


def test_a_copy_of_gensim_vectors_has_its_own_words_subwords_and_cached_lengths(subword_model):
    theirs = subword_model.wv
    theirs.fill_norms()
    before = theirs.vectors_vocab.copy()
    twin = subword_model.copy()
    assert twin.wv.norms is None
    np.testing.assert_array_equal(twin["readers"], subword_model["readers"])
    twin.update("she", ONE)
    np.testing.assert_array_equal(theirs.vectors_vocab, before)
    twin.wv.add_vectors(["new"], ONE[None])
    assert "new" in twin.vocab
    assert set(theirs.index_to_key) == set(subword_model.vocab) == set(WORDS)
