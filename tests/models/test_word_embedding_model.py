"""WordEmbeddingModel: gensim's vectors of every kind, and plain arrays, behind one face."""

import copy
import subprocess
import sys

import numpy as np
import pytest

from wefe import convert, load
from wefe.models import WordEmbeddingModel
from wefe.models._tables import ArrayVectors

WORDS = ["she", "he", "woman", "man", "math", "art"]
SENTENCES = [["she", "woman", "art"], ["he", "man", "math"]]
DIM = 4
ONE = np.ones(DIM, np.float32)
GENSIM = ["KeyedVectors", "Word2Vec", "FastText", "FastText without n-grams"]
KINDS = ["arrays", *GENSIM]


def random_vectors(n_words=6, dtype=np.float32):
    return np.random.default_rng(0).normal(size=(n_words, DIM)).astype(dtype)


def make_vectors(kind, dtype=np.float32):
    """A table of the six words, of any kind."""
    if kind == "arrays":
        return ArrayVectors(WORDS, random_vectors(dtype=dtype))
    models = pytest.importorskip("gensim").models
    if kind == "KeyedVectors":
        wv = models.KeyedVectors(DIM, dtype=dtype)
        wv.add_vectors(WORDS, random_vectors(dtype=dtype))
        return wv
    options = {"vector_size": DIM, "min_count": 1, "epochs": 1, "workers": 1, "seed": 1}
    if kind == "Word2Vec":
        return models.Word2Vec(SENTENCES, **options).wv
    n_grams = {"min_n": 3, "max_n": 4} if kind == "FastText" else {"max_n": 0}
    return models.FastText(SENTENCES, bucket=32, **n_grams, **options).wv


@pytest.fixture(params=KINDS)
def wv(request):
    return make_vectors(request.param)


@pytest.fixture(params=GENSIM)
def gensim_wv(request):
    return make_vectors(request.param)


@pytest.fixture
def subword_model():
    return WordEmbeddingModel(make_vectors("FastText"), "subwords", use_subwords=True)


def toy(**changes):
    arguments = {"wv": (WORDS, random_vectors()), "name": "toy"} | changes
    return WordEmbeddingModel(**arguments)


def bits(model):
    """Everything that a refused update must leave as it is."""
    wv = model.wv
    arrays = [model.vectors, getattr(wv, "norms", None), getattr(wv, "vectors_vocab", None)]
    kept = [None if array is None else (array.dtype, array.tobytes()) for array in arrays]
    return [*kept, dict(model.vocab), model.name, model.vocab_prefix]


# What it holds


def test_every_kind_of_vectors_can_be_wrapped(wv):
    model = WordEmbeddingModel(wv, "name")
    assert model.wv is wv
    assert model.name == model.model_name == "name"
    assert model.vectors is wv.vectors
    assert (set(model.vocab), len(model), model.dim) == (set(WORDS), 6, DIM)
    for word, row in model.vocab.items():
        assert word in model
        np.testing.assert_array_equal(model[word], wv.vectors[row])
        np.testing.assert_array_equal(model[word], wv[word])
    words = ["math", "she", "math"]
    np.testing.assert_array_equal(model.get_vectors(words), [model[word] for word in words])
    with pytest.raises(KeyError, match="'they'"):
        model.get_vectors(["she", "they", "he"])


def test_words_and_an_array_need_no_gensim():
    code = (
        "import sys; sys.modules['gensim'] = None; import numpy as np; import wefe;"
        "model = wefe.WordEmbeddingModel((['she', 'he'], np.eye(2)), 'toy');"
        "model.normalize(); model.update('she', np.array([3.0, 4.0])); print(model['she'])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr) == ("[3. 4.]\n", "")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "named 'toy' with 6 word embeddings of 4 dims>"),
        ({"name": None}, "'Unnamed model' with 6 word embeddings of 4 dims>"),
        ({"vocab_prefix": "/en/"}, "dims and '/en/' as word prefix>"),
        ({"vocab_prefix": ""}, "of 4 dims>"),
    ],
)
def test_repr_tells_name_size_and_prefix(changes, text):
    assert repr(toy(**changes)).startswith("<WordEmbeddingModel ")
    assert repr(toy(**changes)).endswith(text)


@pytest.mark.parametrize("word", ["they", "", 0, -1, None, ("she",), "SHE", "she "])
def test_what_is_not_in_the_vocabulary_is_not_in_the_model(wv, word):
    # gensim itself takes 0 for the first word, and its fastText has every word.
    model = WordEmbeddingModel(wv, "toy")
    assert word not in model
    with pytest.raises(KeyError, match="not in the vocabulary of toy") as caught:
        model[word]
    assert repr(word) in str(caught.value)


def test_a_vector_cannot_be_changed_behind_the_back_of_the_model(wv):
    # `model["she"] /= 2` would leave gensim's cached lengths stale; gensim refuses it too.
    model = WordEmbeddingModel(wv)
    before = bits(model)
    vector = model["she"]
    with pytest.raises(ValueError, match="read-only"):
        vector /= 2
    model.get_vectors(["she", "he"])[:] = 0
    assert bits(model) == before
    model.update("she", -vector)


# Updating


def test_update_changes_one_word_and_no_other(wv):
    model = WordEmbeddingModel(wv)
    others = [word for word in WORDS if word != "he"]
    before = model.get_vectors(others).tobytes()
    vector = np.arange(DIM, dtype=model.vectors.dtype)
    model.update("he", vector)
    np.testing.assert_array_equal(model["he"], vector)
    np.testing.assert_array_equal(wv["he"], vector)
    assert model.get_vectors(others).tobytes() == before
    vector[:] = 99
    assert 99 not in model["he"]


def test_vectors_of_the_model_itself_can_be_the_new_ones():
    model = toy()
    she, he = model["she"].copy(), model["he"].copy()
    model.batch_update(["she", "he"], [model["he"], model["she"]])
    np.testing.assert_array_equal([model["she"], model["he"]], [he, she])
    reverse = model.vectors[::-1].copy()
    model.batch_update(WORDS, model.vectors[::-1])
    np.testing.assert_array_equal(model.vectors, reverse)


PAIR = ["she", "he"]


@pytest.mark.parametrize("kind", ["arrays", "FastText"])
@pytest.mark.parametrize(
    ("words", "embeddings", "error", "message"),
    [
        (["she", "they"], [ONE, ONE], ValueError, "'they'"),
        (["she", 0], [ONE, ONE], TypeError, "words .*int 0"),
        ("he", [ONE, ONE], TypeError, "words must be a list"),
        ({"she", "he"}, [ONE, ONE], TypeError, "words .* set"),
        ((w for w in WORDS), [ONE] * 6, TypeError, "words .* generator"),
        (PAIR, (e for e in [ONE]), TypeError, "embeddings .*generator"),
        (PAIR, {"she": ONE}, TypeError, "embeddings .* dict"),
        (PAIR, [ONE], ValueError, "2 words and 1 embeddings"),
        (["she"], ONE, ValueError, "1 words and 4 embeddings"),
        (WORDS[:DIM], ONE, TypeError, "embeddings .*float32"),
        (PAIR, [ONE, ONE.tolist()], TypeError, "embeddings .* list"),
        (PAIR, [ONE, ONE[:3]], ValueError, r"'he' .*\(4,\).*\(3,\)"),
        (PAIR, np.ones((2, 1), "f4"), ValueError, r"'she' .*\(4,\)"),
        (PAIR, [ONE, ONE[None]], ValueError, r"'he' .*\(1, 4\)"),
        (PAIR, [ONE, ONE.astype("f8")], ValueError, "'he' .*float64"),
        (PAIR, np.ones((2, DIM), int), ValueError, "'she' .* int"),
    ],
)
def test_a_refused_batch_changes_nothing(kind, words, embeddings, error, message):
    wv = make_vectors(kind)
    if kind != "arrays":
        wv.fill_norms()
    model = WordEmbeddingModel(wv)
    before = bits(model)
    with pytest.raises(error, match=message):
        model.batch_update(words, embeddings)
    assert bits(model) == before


def test_a_read_only_model_says_so_and_stays():
    vectors = random_vectors()
    vectors.flags.writeable = False
    model = toy(wv=(WORDS, vectors))
    before = bits(model)
    for change in (lambda: model.update("she", ONE), model.normalize):
        with pytest.raises(ValueError, match="toy are read-only"):
            change()
    assert bits(model) == before


# Normalising


def test_normalize_gives_unit_length_and_keeps_directions(wv):
    model = WordEmbeddingModel(wv)
    before = model.vectors.astype(np.float64)
    model.normalize()
    expected = before / np.linalg.norm(before, axis=1, keepdims=True)
    np.testing.assert_allclose(model.vectors, expected, rtol=1e-6)
    assert model.vectors is wv.vectors


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("f2", 6e-8), ("f2", 6e4), ("f4", 1e-45), ("f4", 3e38), ("f8", 1e-150), ("f8", 1e150)],
)
def test_normalize_copes_with_every_length_that_the_width_holds(dtype, size):
    # float32 cannot square 3e38: the length would be infinite and the vector zero.
    model = toy(wv=(["she"], np.full((1, DIM), size, dtype)))
    model.normalize()
    np.testing.assert_array_equal(model["she"], np.full(DIM, 0.5, dtype))


def test_vectors_without_direction_stay_as_they_are():
    vectors = random_vectors()
    vectors[0], vectors[1, 2], vectors[2, 0] = 0, np.nan, np.inf
    model = toy(wv=(WORDS, vectors.copy()))
    model.normalize()
    assert model.vectors[:3].tobytes() == vectors[:3].tobytes()
    np.testing.assert_allclose(np.linalg.norm(model.vectors[3:], axis=1), 1, rtol=1e-6)


# What gensim remembers


def cosines(wv, word):
    """What `most_similar` should say, computed from the vectors alone."""
    vectors = {other: wv.vectors[row].astype(float) for other, row in wv.key_to_index.items()}
    unit = {other: vector / np.linalg.norm(vector) for other, vector in vectors.items()}
    return {other: unit[other] @ unit[word] for other in unit if other != word}


@pytest.mark.parametrize("change", ["update", "normalize"])
def test_nearest_neighbours_see_the_new_vectors(gensim_wv, change):
    model = WordEmbeddingModel(gensim_wv)
    gensim_wv.most_similar("she")  # gensim keeps the lengths from here on
    if change == "update":
        model.update("he", 100 * model["he"] + np.float32(1))
    else:
        model.normalize()
    assert dict(gensim_wv.most_similar("she")) == pytest.approx(cosines(gensim_wv, "she"), abs=1e-5)
    unit = gensim_wv.get_vector("he", norm=True)
    assert np.linalg.norm(unit) == pytest.approx(1, abs=1e-5)


def test_updated_vectors_are_saved_of_a_mapped_fasttext_model_too(tmp_path):
    wv = make_vectors("FastText")
    load = type(wv).load
    wv.save(str(tmp_path / "before"), sep_limit=0)
    model = WordEmbeddingModel(load(str(tmp_path / "before"), mmap="r"))
    model.update("he", ONE)
    model.wv.save(str(tmp_path / "after"))
    np.testing.assert_allclose(load(str(tmp_path / "after"))["he"], ONE, rtol=1e-5)
    np.testing.assert_array_equal(load(str(tmp_path / "before"))["he"], wv["he"])


def test_words_added_to_a_fasttext_model_can_be_updated():
    # Such words have no n-grams in gensim's tables.
    wv = make_vectors("FastText")
    wv.add_vectors(["they"], np.ones((1, DIM), np.float32))
    model = WordEmbeddingModel(wv)
    model.update("they", 2 * ONE)
    model.normalize()
    np.testing.assert_allclose(model["they"], 0.5)


# Subwords


def test_unseen_words_have_vectors_only_when_asked_for(subword_model):
    wv = subword_model.wv
    without = WordEmbeddingModel(wv, "without")
    assert "womanly" in wv
    assert "womanly" not in without
    with pytest.raises(KeyError, match="'womanly' .* without"):
        without["womanly"]
    assert "womanly" in subword_model
    words = ["she", "womanly", "he"]
    expected = [wv.get_vector(word) for word in words]
    np.testing.assert_array_equal(subword_model.get_vectors(words), expected)
    np.testing.assert_array_equal(subword_model["womanly"], expected[1])


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
        if word in model:
            assert model[word].any()


# Equality


def nudged():
    vectors = random_vectors()
    vectors[-1, -1] = np.nextafter(vectors[-1, -1], np.float32(9))
    return vectors


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"vocab_prefix": "/en/"},
        {"wv": (WORDS, nudged())},
        {"wv": (WORDS, random_vectors().astype(np.float64))},
        {"wv": (WORDS[:5], random_vectors()[:5])},
        {"wv": (WORDS, random_vectors()[:, :3])},
        {"wv": ([*WORDS[:5], "they"], random_vectors())},
        {"wv": (WORDS[::-1], random_vectors())},
    ],
    ids=["name", "prefix", "one bit", "dtype", "words", "dims", "one word", "order"],
)
def test_models_that_differ_are_not_equal(changes):
    assert toy() == WordEmbeddingModel(make_vectors("KeyedVectors"), "toy")
    assert toy() != toy(**changes)


def test_models_that_treat_unseen_words_differently_are_not_equal(subword_model):
    wv = subword_model.wv
    assert subword_model == WordEmbeddingModel(copy.deepcopy(wv), "subwords", use_subwords=True)
    assert subword_model != WordEmbeddingModel(wv, "subwords")
    other = copy.deepcopy(wv)
    other.vectors_ngrams = other.vectors_ngrams + np.float32(1)
    assert subword_model != WordEmbeddingModel(other, "subwords", use_subwords=True)
    assert WordEmbeddingModel(wv) == WordEmbeddingModel(other)


def test_a_model_equals_no_other_thing_and_is_no_key():
    assert toy() != WORDS
    with pytest.raises(TypeError, match="unhashable"):
        {toy()}


# What is refused


@pytest.mark.parametrize(
    ("wv", "error", "message"),
    [
        (None, TypeError, "KeyedVectors.*NoneType"),
        ({"she": ONE}, TypeError, "KeyedVectors.* dict"),
        ([WORDS, random_vectors()], TypeError, "KeyedVectors.* list"),
        ((WORDS,), TypeError, "KeyedVectors"),
        ((WORDS, random_vectors()[0]), ValueError, "2-d.* 1 dimensions"),
        ((random_vectors(), WORDS), ValueError, "2-d"),
        ((WORDS, np.ones((6, DIM), int)), TypeError, "floating-point numbers; got int"),
        ((WORDS, np.ones((6, DIM), object)), TypeError, "floating-point numbers; got object"),
        ((WORDS[:5], random_vectors()), ValueError, "5 words and 6 rows"),
        (([*WORDS[:5], "she"], random_vectors()), ValueError, "'she' .* 0 .* 5"),
        (([*WORDS[:5], b"art"], random_vectors()), TypeError, "element 5 .* bytes"),
        # Letters are no words, and a set or dict has not the order of the rows.
        (("abcdef", random_vectors()), TypeError, "vocabulary .* str"),
        ((set(WORDS), random_vectors()), TypeError, "vocabulary .* set"),
        (({"he": 1, "she": 0}, random_vectors(2)), TypeError, "vocabulary .* dict"),
        (((word for word in WORDS), random_vectors()), TypeError, "vocabulary .* generator"),
    ],
)
def test_what_is_no_table_of_vectors_is_refused(wv, error, message):
    with pytest.raises(error, match=message):
        WordEmbeddingModel(wv)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": 3}, "name .* int 3"),
        ({"vocab_prefix": ["/en/"]}, "vocab_prefix .* list"),
        ({"use_subwords": "no"}, "use_subwords .* str 'no'"),
        ({"use_subwords": True}, "use_subwords=True needs .* ArrayVectors"),
    ],
)
def test_wrong_names_prefixes_and_switches_are_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        toy(**arguments)


# Copies


@pytest.fixture(params=["memory", "mapped", "gensim"])
def original(request, tmp_path):
    if request.param == "gensim":
        return WordEmbeddingModel(make_vectors("KeyedVectors"), "toy", "/c/")
    model = toy(vocab_prefix="/c/")
    if request.param == "memory":
        return model
    model.save(tmp_path / "toy.safetensors")
    return load(tmp_path / "toy.safetensors", vocab_prefix="/c/")


def test_a_copy_equals_its_original_and_changes_stay_on_their_side(original):
    twin = original.copy()
    assert twin == original
    assert twin.wv is not original.wv
    assert (twin.held, twin.nbytes) == (original.held, original.nbytes)
    twin.update("she", ONE)
    np.testing.assert_array_equal(original.vectors, random_vectors())
    original.update("he", 2 * ONE)
    np.testing.assert_array_equal(twin["he"], random_vectors()[1])
    np.testing.assert_array_equal(twin["she"], ONE)
    twin.normalize()
    np.testing.assert_array_equal(original["she"], random_vectors()[0])
    twin.name = "another"
    assert (original.name, original.copy("third").name) == ("toy", "third")


def test_copies_of_quantised_vectors_stay_quantised_until_one_is_changed(tmp_path):
    model = convert(toy(), tmp_path / "q.safetensors", dtype="int8")
    file, small = (tmp_path / "q.safetensors").read_bytes(), model.nbytes
    twin = model.copy("twin")
    assert (twin.held, twin.nbytes) == ("mapped", small)
    assert small < random_vectors().nbytes
    np.testing.assert_array_equal(twin["math"], model["math"])
    twin.update("she", ONE)
    # To change one vector, all were made.
    assert (twin.held, twin.nbytes) == ("memory", random_vectors().nbytes)
    assert (model.held, model.nbytes) == ("mapped", small)
    third = twin.copy()
    third.update("she", -ONE)
    np.testing.assert_array_equal(twin["she"], ONE)
    assert load(twin, hold="memory") == twin
    assert (tmp_path / "q.safetensors").read_bytes() == file


def test_a_copy_of_a_model_opened_for_some_words_keeps_its_errors(tmp_path):
    toy().save(tmp_path / "toy.txt")
    model = load(tmp_path / "toy.txt", words=["she", "xyzzy"])
    twin = model.copy()
    assert twin.held == "selected"
    assert "xyzzy" not in twin
    with pytest.raises(KeyError, match="'he' .* 2 words"):
        twin["he"]
    twin.update("she", ONE)
    np.testing.assert_array_equal(model["she"], random_vectors()[0])


def test_a_copy_of_gensim_vectors_has_its_own_words_and_cached_lengths():
    model = WordEmbeddingModel(make_vectors("KeyedVectors"))
    model.wv.fill_norms()
    twin = model.copy()
    assert twin.wv.norms is None
    twin.wv.add_vectors(["new"], ONE[None])
    twin.wv.set_vecattr("she", "count", 5)
    assert "new" in twin
    assert list(model.wv.index_to_key) == list(model.vocab) == WORDS
    assert len(model.vectors) == 6
    assert "count" not in model.wv.expandos
    np.testing.assert_allclose(model.wv.norms, np.linalg.norm(random_vectors(), axis=1), rtol=1e-6)


def test_a_copy_of_fasttext_vectors_builds_the_same_words(subword_model):
    twin = subword_model.copy()
    assert twin == subword_model
    np.testing.assert_array_equal(twin["womanly"], subword_model["womanly"])
    before = subword_model.wv.vectors_vocab.copy()
    twin.update("she", ONE)
    np.testing.assert_array_equal(subword_model.wv.vectors_vocab, before)
    assert not np.array_equal(subword_model["she"], ONE)
