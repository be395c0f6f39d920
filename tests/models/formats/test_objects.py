"""Vectors of objects that other libraries have loaded already."""

from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from wefe import load
from wefe.models import ArrayVectors, WordEmbeddingModel
from wefe.models.formats._objects import open_object
from wefe.models.formats._source import Reading

PLAIN = Reading()
WORDS = ["she", "he", "naïve", "."]
VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3) / 7
CORPUS = [["she", "reads", "math"], ["he", "reads", "art"]] * 5


def check(source, words=WORDS, vectors=VECTORS):
    [(read_words, read)] = source.blocks()
    assert (read_words, source.dim) == (list(words), vectors.shape[1])
    np.testing.assert_allclose(read, vectors, rtol=1e-7)
    chosen, read = source.select(frozenset([words[-1], words[0], "no such word"]))
    assert chosen == [words[0], words[-1]]
    np.testing.assert_allclose(read, vectors[[0, -1]], rtol=1e-7)


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
    ],
    ids=["pair", "lists", "table", "another table", "dict", "ordered", "frame", "words"],
)
def test_words_and_vectors_of_an_object_are_taken(thing):
    source = open_object(thing, PLAIN)
    check(source)
    assert source.name == "Unnamed model"


def test_a_model_gives_its_name_and_its_vectors():
    model = WordEmbeddingModel.from_arrays(WORDS, VECTORS, name="toy")
    again = load(model)
    assert again.wv is model.wv
    assert (again.name, again.use_subwords) == ("toy", False)


@pytest.mark.parametrize(
    ("thing", "error"),
    [
        ((WORDS[:3], VECTORS), ValueError),
        (("she", VECTORS[:1]), TypeError),
        ({"she": [1.0], "he": []}, ValueError),
        (pd.DataFrame({"a": ["x"]}), ValueError),
    ],
)
def test_objects_without_vectors_of_words_are_refused(thing, error):
    with pytest.raises(error):
        open_object(thing, PLAIN)


def test_what_is_in_memory_cannot_be_mapped(tmp_path):
    with pytest.raises(ValueError, match="ArrayVectors"):
        load(ArrayVectors(WORDS, VECTORS), hold="mapped")
    np.save(tmp_path / "m.npy", VECTORS)
    mapped = ArrayVectors(WORDS, np.load(tmp_path / "m.npy", mmap_mode="c"))
    assert load(mapped, hold="mapped").held == "mapped"


# gensim


@pytest.mark.parametrize("kind", ["Word2Vec", "FastText", "Doc2Vec"])
@pytest.mark.parametrize("part", ["model", "vectors"])
def test_vectors_of_gensim_are_taken_as_they_are(kind, part):
    models = pytest.importorskip("gensim.models")
    corpus, options = CORPUS, {"bucket": 20} if kind == "FastText" else {}
    if kind == "Doc2Vec":
        corpus = [models.doc2vec.TaggedDocument(words, [0]) for words in CORPUS]
    model = getattr(models, kind)(corpus, vector_size=4, min_count=1, epochs=1, **options)
    wrapped = {"model": model, "vectors": model.wv}[part]
    source = open_object(wrapped, PLAIN)
    assert source.table.wv is model.wv
    assert (source.counts()["reads"], source.use_subwords) == (10, False)
    assert load(WordEmbeddingModel(model.wv, "toy")).name == "toy"
    if kind == "FastText":
        assert open_object(wrapped, Reading(subwords="mean")).use_subwords


# spaCy


@pytest.fixture
def vocab():
    pytest.importorskip("spacy")
    from spacy.vectors import Vectors
    from spacy.vocab import Vocab

    made = Vocab()
    keys = [made.strings.add(word) for word in WORDS]
    made.vectors = Vectors(strings=made.strings, data=VECTORS, keys=keys, name="toy_vectors")
    return made


@pytest.mark.parametrize("part", ["vocab", "vectors", "pipeline"])
def test_vectors_of_spacy_are_taken(vocab, part):
    import spacy

    parts = {"vocab": vocab, "vectors": vocab.vectors, "pipeline": spacy.blank("en", vocab=vocab)}
    source = open_object(parts[part], PLAIN)
    check(source)
    assert source.name == "toy_vectors"
    for word in WORDS:
        np.testing.assert_array_equal(source.table[word], vocab[word].vector)


def test_words_that_share_a_row_in_spacy_share_their_vector(vocab):
    vocab.vectors.add(vocab.strings.add("hers"), row=0)
    vocab.vectors.add(vocab.strings.add("theirs"), row=2)
    vocab.vectors.key2row[vocab.strings["he"]] = -1  # It lost its row.
    source = open_object(vocab, PLAIN)
    check(source, ["she", "naïve", ".", "hers", "theirs"], VECTORS[[0, 2, 3, 0, 2]])
    assert source.table.stored_nbytes < 6 * 3 * 4 + 100
    model = WordEmbeddingModel(source.table)
    model.update("she", np.zeros(3, np.float32))
    np.testing.assert_array_equal(model["she"], np.zeros(3))
    np.testing.assert_array_equal(model["hers"], VECTORS[0])
    np.testing.assert_array_equal(vocab.vectors.data, VECTORS)


@pytest.mark.parametrize("options", [{}, {"mode": "floret", "minn": 2, "maxn": 3, "hash_count": 2}])
def test_spacy_vectors_that_list_no_words_are_refused(vocab, options):
    from spacy.vectors import Vectors

    data = {"data": VECTORS} if options else {}
    vocab.vectors = Vectors(strings=vocab.strings, **data, **options)
    with pytest.raises(ValueError, match="the Vocab"):
        open_object(vocab, PLAIN)


def test_hashes_without_a_word_are_refused_or_left_out(vocab, caplog):
    from spacy.strings import StringStore
    from spacy.vectors import Vectors

    keys = [vocab.strings[word] for word in WORDS]
    vectors = Vectors(strings=StringStore(WORDS[:3]), data=VECTORS, keys=keys)
    with pytest.raises(ValueError, match=r"the Vectors: 1 of its 4 .*on_error='skip'"):
        open_object(vectors, PLAIN)
    source = open_object(vectors, Reading(lenient=True))
    check(source, WORDS[:3], VECTORS[:3])
    assert source.n_skipped == 1
    assert "the Vectors: 1 " in caplog.text


# flair: what stands in for it has the attributes that are read.


def flair_object(kind, **attributes):
    return type(kind, (), {"__module__": "flair.embeddings.token", **attributes})()


def test_classic_embeddings_of_flair_are_taken():
    table = ArrayVectors(WORDS, VECTORS)
    embedding = flair_object(
        "WordEmbeddings", precomputed_word_embeddings=table, name="folder/glove.gensim"
    )
    source = open_object(embedding, PLAIN)
    check(source)
    assert source.name == "glove"


def test_contextual_embeddings_of_flair_are_refused():
    with pytest.raises(TypeError, match="TransformerWordEmbeddings"):
        open_object(flair_object("TransformerWordEmbeddings"), PLAIN)
