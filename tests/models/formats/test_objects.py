"""Vectors of objects that other libraries have loaded already."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from model_files import check_source

from wefe import load
from wefe.models import ArrayVectors, WordEmbeddingModel, flair_to_gensim
from wefe.models._types import Reading
from wefe.models.formats._open import open_object

PLAIN = Reading()
WORDS = ["she", "he", "naïve", "."]
VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3) / 7
TABLE = ArrayVectors(WORDS, VECTORS)


@pytest.mark.parametrize(
    "thing",
    [
        (tuple(WORDS), VECTORS.astype(float).tolist()),
        SimpleNamespace(key_to_index=dict(zip(WORDS, range(4), strict=True)), vectors=VECTORS),
        dict(zip(WORDS, VECTORS, strict=True)),
        pd.DataFrame(VECTORS, index=WORDS),
    ],
    ids=["pair", "table", "dict", "frame"],
)
def test_words_and_vectors_of_an_object_are_taken(thing):
    model = load(thing)
    assert (model.name, list(model.vocab)) == ("Unnamed model", WORDS)
    np.testing.assert_allclose(model.vectors, VECTORS)


def test_a_model_gives_its_name_and_its_vectors_and_what_is_in_memory_cannot_be_mapped(tmp_path):
    model = WordEmbeddingModel((WORDS, VECTORS), "toy", "/c/")
    again = load(model)
    assert again.wv is model.wv
    assert again == model
    assert load(model, vocab_prefix="").vocab_prefix == ""
    with pytest.raises(ValueError, match="ArrayVectors"):
        load(TABLE, hold="mapped")
    np.save(tmp_path / "m.npy", VECTORS)
    mapped = ArrayVectors(WORDS, np.load(tmp_path / "m.npy", mmap_mode="c"))
    assert load(mapped, hold="mapped").held == "mapped"


@pytest.mark.parametrize("kind", ["Word2Vec", "FastText", "Doc2Vec"])
def test_vectors_of_gensim_are_taken_as_they_are(gensim_model, kind):
    model = gensim_model(kind)
    for thing in (model, model.wv):
        source = open_object(thing, PLAIN)
        assert source.table.wv is model.wv
        assert (source.counts.max(), source.use_subwords) == (10, False)
        assert open_object(thing, Reading(subwords="mean")).use_subwords is (kind == "FastText")


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


@pytest.mark.parametrize("part", ["vocab", "pipeline"])
def test_vectors_of_spacy_are_taken(vocab, part):
    import spacy

    parts = {"vocab": vocab, "pipeline": spacy.blank("en", vocab=vocab)}
    source = open_object(parts[part], PLAIN)
    check_source(source, WORDS, VECTORS)
    assert source.name == "toy_vectors"


def test_words_that_share_a_row_in_spacy_share_their_vector(vocab):
    vocab.vectors.add(vocab.strings.add("hers"), row=0)
    vocab.vectors.key2row[vocab.strings["he"]] = -1  # It lost its row.
    source = open_object(vocab, PLAIN)
    check_source(source, ["she", "naïve", ".", "hers"], VECTORS[[0, 2, 3, 0]])
    WordEmbeddingModel(source.table).update("she", np.zeros(3, np.float32))
    np.testing.assert_array_equal(source.table["hers"], VECTORS[0])
    np.testing.assert_array_equal(vocab.vectors.data, VECTORS)


@pytest.mark.parametrize("options", [{}, {"mode": "floret", "minn": 2, "maxn": 3, "hash_count": 2}])
def test_spacy_vectors_that_list_no_words_are_refused(vocab, options):
    from spacy.vectors import Vectors

    data = {"data": VECTORS} if options else {}
    vocab.vectors = Vectors(strings=vocab.strings, **data, **options)
    with pytest.raises(ValueError, match="the Vocab"):
        open_object(vocab, PLAIN)


# flair: what stands in for it has the attributes that are read.


def flair_object(kind, **attributes):
    return type(kind, (), {"__module__": "flair.embeddings.token", **attributes})()


def test_classic_embeddings_of_flair_are_taken_and_contextual_ones_refused():
    flair = flair_object("WordEmbeddings", precomputed_word_embeddings=TABLE)
    check_source(open_object(flair, PLAIN), WORDS, VECTORS)
    with pytest.raises(TypeError, match="TransformerWordEmbeddings"):
        open_object(flair_object("TransformerWordEmbeddings"), PLAIN)
    for other in ({"vocab": {"she": 0}}, {"vocab": WORDS, "embedding": SimpleNamespace(weight=1)}):
        with pytest.raises(TypeError, match="flair_to_gensim"):
            flair_to_gensim(SimpleNamespace(**other))


def test_every_word_of_newer_flair_keeps_its_row():
    torch = pytest.importorskip("torch")
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    # flair 0.12 and newer: a layer with more rows, as for unknown words.
    weights = torch.tensor(VECTORS, dtype=torch.float64)
    layer = torch.nn.Embedding.from_pretrained(weights, freeze=False)
    table = flair_to_gensim(SimpleNamespace(vocab={"math": 2, "he": 1}, embedding=layer))
    assert isinstance(table, keyed_vectors)
    assert list(table.key_to_index) == ["he", "math"]
    np.testing.assert_array_equal(table.vectors, VECTORS[1:3].astype(float), strict=True)
    WordEmbeddingModel(table).update("he", np.zeros(3))
    np.testing.assert_array_equal(layer.weight.detach().numpy(), VECTORS)
