"""Vectors of objects that other libraries have loaded already."""

from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from wefe.models import ArrayVectors, WordEmbeddingModel
from wefe.models._keyed_vectors import StoredVectors
from wefe.models.formats._objects import open_object
from wefe.models.formats._source import Reading

PLAIN = Reading()
WORDS = ["she", "he", "naïve", "."]
VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3) / 7
CORPUS = [["she", "reads", "math"], ["he", "reads", "art"]] * 5


def check(source, words=WORDS, vectors=VECTORS):
    assert source.dim == vectors.shape[1]
    [(read_words, read)] = source.blocks()
    assert read_words == list(words)
    np.testing.assert_array_equal(read, vectors)
    last, first = len(words) - 1, 0
    chosen, read = source.select(frozenset([words[last], words[first], "no such word"]))
    assert chosen == [words[first], words[last]]
    np.testing.assert_array_equal(read, vectors[[first, last]])


@pytest.mark.parametrize(
    "thing",
    [
        (WORDS, VECTORS),
        (tuple(WORDS), VECTORS.tolist()),
        ArrayVectors(WORDS, VECTORS),
        SimpleNamespace(key_to_index=dict(zip(WORDS, range(4), strict=True)), vectors=VECTORS),
        dict(zip(WORDS, VECTORS, strict=True)),
        OrderedDict(zip(WORDS, VECTORS, strict=True)),
        pd.DataFrame(VECTORS, index=WORDS),
        pd.DataFrame({"word": WORDS, **dict(enumerate(VECTORS.T))}),
        WordEmbeddingModel.from_arrays(WORDS, VECTORS),
    ],
    ids=["pair", "lists", "table", "another table", "dict", "ordered", "frame", "words", "model"],
)
def test_words_and_vectors_of_an_object_are_taken(thing):
    source = open_object(thing, PLAIN)
    check(source, vectors=np.asarray(source.table().vectors))
    np.testing.assert_allclose(source.table().vectors, VECTORS, rtol=1e-7)
    assert source.name == "Unnamed model"


@pytest.mark.parametrize(
    "thing", [None, 5, "glove.txt", WORDS, VECTORS, (WORDS,), (), object(), SimpleNamespace(wv=1)]
)
def test_anything_else_is_nothing(thing):
    assert open_object(thing, PLAIN) is None


def test_a_table_is_taken_as_it_is():
    table = ArrayVectors(WORDS, VECTORS)
    assert open_object(table, PLAIN).table() is table


def test_a_model_gives_its_name_and_its_vectors():
    model = WordEmbeddingModel.from_arrays(WORDS, VECTORS, name="toy")
    source = open_object(model, PLAIN)
    assert source.table() is model.wv
    assert (source.name, source.use_subwords) == ("toy", False)


def test_stored_vectors_are_not_made_to_be_opened():
    class Halves(StoredVectors):
        vector_size = 3
        stored_nbytes = 24
        stored_held = "memory"

        def _make(self, rows):
            return VECTORS[rows]

        @property
        def vectors(self):
            raise AssertionError("all vectors were made")

    table = Halves()
    table.key_to_index = dict(zip(WORDS, range(4), strict=True))
    source = open_object(table, PLAIN)
    assert source.table() is table
    check(source)


@pytest.mark.parametrize(
    ("thing", "error", "message"),
    [
        (({}, 5), ValueError, "vectors must be 2-d"),
        ((WORDS[:3], VECTORS), ValueError, "same length; got 3 words and 4 rows"),
        ((["she", "she"], VECTORS[:2]), ValueError, "'she' stands at 0 and again at 1"),
        (("she", VECTORS[:1]), TypeError, "vocabulary must be a list"),
        ({"she": [1.0], "he": []}, ValueError, "numbers for 'he'"),
        (pd.DataFrame({"a": ["x"]}), ValueError, "no column of numbers"),
    ],
)
def test_objects_without_vectors_of_words_are_refused(thing, error, message):
    with pytest.raises(error, match=message):
        open_object(thing, PLAIN)


def test_what_is_in_memory_cannot_be_mapped(tmp_path):
    with pytest.raises(ValueError, match=r"the ArrayVectors is in memory already.*[Cc]onvert"):
        open_object(ArrayVectors(WORDS, VECTORS), Reading(hold="mapped"))
    np.save(tmp_path / "m.npy", VECTORS)
    mapped = ArrayVectors(WORDS, np.load(tmp_path / "m.npy", mmap_mode="c"))
    assert open_object(mapped, Reading(hold="mapped")).held == "mapped"


# ---- gensim ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gensim_models():
    return pytest.importorskip("gensim.models")


def test_gensim_vectors_are_taken_as_they_are(gensim_models):
    table = gensim_models.KeyedVectors(3)
    table.add_vectors(WORDS, VECTORS)
    source = open_object(table, PLAIN)
    assert source.table() is table
    assert source.counts is None
    check(source)


@pytest.mark.parametrize("kind", ["Word2Vec", "FastText", "Doc2Vec"])
def test_gensim_models_give_the_vectors_of_their_words(gensim_models, kind):
    corpus = CORPUS
    if kind == "Doc2Vec":
        corpus = [gensim_models.doc2vec.TaggedDocument(words, [0]) for words in CORPUS]
    options = {"bucket": 20} if kind == "FastText" else {}
    model = getattr(gensim_models, kind)(
        corpus, vector_size=4, min_count=1, epochs=1, workers=1, **options
    )
    source = open_object(model, PLAIN)
    assert source.table() is model.wv
    assert source.counts["reads"] == 10
    assert source.use_subwords is False


def test_subclasses_of_gensim_vectors_are_gensim_vectors(gensim_models):
    class Mine(gensim_models.KeyedVectors):
        pass

    table = Mine(3)
    table.add_vectors(WORDS, VECTORS)
    assert open_object(table, PLAIN).table() is table


def test_unseen_words_are_built_if_asked_for(gensim_models):
    table = gensim_models.FastText(CORPUS, vector_size=4, min_count=1, bucket=20, epochs=1).wv
    assert open_object(table, Reading(subwords="mean")).use_subwords is True
    with pytest.raises(ValueError, match="subwords='mean'"):
        open_object(table, Reading(subwords="first"))


def test_gensim_vectors_without_words_are_refused(gensim_models):
    with pytest.raises(ValueError, match="the KeyedVectors: there is no word"):
        open_object(gensim_models.KeyedVectors(3), PLAIN)


# ---- spaCy -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spacy():
    return pytest.importorskip("spacy")


def spacy_vocab(words=WORDS, vectors=VECTORS):
    from spacy.vectors import Vectors
    from spacy.vocab import Vocab

    vocab = Vocab()
    keys = [vocab.strings.add(word) for word in words]
    vocab.vectors = Vectors(strings=vocab.strings, data=vectors, keys=keys, name="toy_vectors")
    return vocab


@pytest.mark.parametrize("part", ["vocab", "vectors", "pipeline"])
def test_vectors_of_spacy_are_taken(spacy, part):
    vocab = spacy_vocab()
    pipeline = spacy.blank("en", vocab=vocab)
    source = open_object(
        {"vocab": vocab, "vectors": vocab.vectors, "pipeline": pipeline}[part], PLAIN
    )
    check(source)
    assert source.name == "toy_vectors"
    for word in WORDS:
        np.testing.assert_array_equal(source.table()[word], vocab[word].vector)


def test_words_that_were_set_one_by_one_are_taken(spacy):
    pipeline = spacy.blank("en")
    for word, vector in zip(WORDS, VECTORS, strict=True):
        pipeline.vocab.set_vector(word, vector)
    source = open_object(pipeline, PLAIN)
    assert set(source.table().key_to_index) == set(WORDS)
    for word, vector in zip(WORDS, VECTORS, strict=True):
        np.testing.assert_array_equal(source.table()[word], vector)


def shared_vocab():
    vocab = spacy_vocab()
    vocab.vectors.add(vocab.strings.add("hers"), row=0)
    vocab.vectors.add(vocab.strings.add("theirs"), row=2)
    return vocab


def test_words_that_share_a_row_in_spacy_share_their_vector(spacy):
    vocab = shared_vocab()
    source = open_object(vocab, PLAIN)
    check(source, [*WORDS, "hers", "theirs"], VECTORS[[0, 1, 2, 3, 0, 2]])
    assert source.table().stored_nbytes < 6 * 3 * 4 + 100


def test_changing_a_word_leaves_those_that_shared_its_row_alone(spacy):
    vocab = shared_vocab()
    model = WordEmbeddingModel(open_object(vocab, PLAIN).table())
    assert (model.dim, len(model), model.dtype) == (3, 6, np.float32)
    model.update("she", np.zeros(3, np.float32))
    np.testing.assert_array_equal(model["she"], np.zeros(3))
    np.testing.assert_array_equal(model["hers"], VECTORS[0])
    np.testing.assert_array_equal(vocab.vectors.data, VECTORS)


def test_pruned_vectors_of_spacy_keep_all_words(spacy):
    vocab = spacy_vocab()
    for word in WORDS:
        vocab[word].prob = -1.0
    vocab.prune_vectors(2)
    source = open_object(vocab, PLAIN)
    assert len(vocab.vectors.data) == 2
    assert set(source.table().key_to_index) == set(WORDS)
    for word in WORDS:
        np.testing.assert_array_equal(source.table()[word], vocab[word].vector)


def test_words_that_lost_their_row_in_spacy_are_left_out(spacy):
    vocab = spacy_vocab()
    vocab.vectors.key2row[vocab.strings["he"]] = -1
    check(open_object(vocab, PLAIN), ["she", "naïve", "."], VECTORS[[0, 2, 3]])


def test_a_spacy_pipeline_without_vectors_is_refused(spacy):
    with pytest.raises(ValueError, match="the English has no static vectors"):
        open_object(spacy.blank("en"), PLAIN)


def test_hashes_without_a_word_are_refused_or_left_out(spacy, caplog):
    from spacy.vectors import Vectors

    vocab = spacy_vocab()
    strings = spacy.strings.StringStore(WORDS[:3])
    vectors = Vectors(
        strings=strings, data=VECTORS, keys=[vocab.strings[word] for word in WORDS], name="toy"
    )
    with pytest.raises(ValueError, match=r"the Vectors: 1 of its 4 vectors.*on_error='skip'"):
        open_object(vectors, PLAIN)
    source = open_object(vectors, Reading(lenient=True))
    check(source, WORDS[:3], VECTORS[:3])
    assert source.n_skipped == 1


def test_floret_vectors_of_spacy_have_no_words(spacy, tmp_path):
    from spacy.vectors import Vectors
    from spacy.vocab import Vocab

    vocab = Vocab()
    vocab.vectors = Vectors(
        strings=vocab.strings, data=VECTORS, mode="floret", minn=2, maxn=3, hash_count=2
    )
    with pytest.raises(ValueError, match=r"the Vocab has floret vectors.*no list of words"):
        open_object(vocab, PLAIN)


# ---- flair -------------------------------------------------------------------------------------


class Parameter:
    """A torch parameter, as far as it is asked."""

    def __init__(self, data):
        self.data = data

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        return self.data


def flair_class(kind, **attributes):
    return type(kind, (), {"__module__": "flair.embeddings.token", **attributes})


def test_classic_embeddings_of_flair_are_taken():
    # One more row, for unknown words.
    layer = SimpleNamespace(weight=Parameter(np.vstack([VECTORS, np.zeros((1, 3), np.float32)])))
    embedding = flair_class(
        "WordEmbeddings",
        vocab=dict(zip(WORDS, range(4), strict=True)),
        embedding=layer,
        name="folder/glove.gensim",
    )()
    source = open_object(embedding, PLAIN)
    check(source)
    assert source.name == "glove"


def test_fasttext_embeddings_of_flair_know_subwords(gensim_models):
    table = gensim_models.FastText(CORPUS, vector_size=4, min_count=1, bucket=20, epochs=1).wv
    embedding = flair_class("FastTextEmbeddings", precomputed_word_embeddings=table)()
    source = open_object(embedding, Reading(subwords="mean"))
    assert source.table() is table
    assert source.use_subwords is True


def test_contextual_embeddings_of_flair_are_refused():
    with pytest.raises(TypeError, match="classic WordEmbeddings"):
        open_object(flair_class("TransformerWordEmbeddings")(), PLAIN)
