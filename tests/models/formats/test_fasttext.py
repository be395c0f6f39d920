"""Facebook's fastText binaries give what fastText gives, or an error; never a crash or a flood."""

import pickle
import random
import struct

import numpy as np
import pytest

import wefe
from wefe.models import WordEmbeddingModel
from wefe.models._types import Reading
from wefe.models.formats import _word2vec
from wefe.models.formats._word2vec import FastTextVectors, open_fasttext_bin

# The bytes before the bucket and the dictionary.
BUCKET, DICTIONARY = 40, 64
UNSEEN = ["shes", "queenly", "x", "", "naïveté", "日本", "🙂", "<", "a b", "</s>"]
# The tool only counts the words. Its matrices are set here, as fastText 0.9.3 leaves most of one as
# the memory was before.
UNTRAINED = {"dim": 5, "lr": 0.0, "epoch": 0, "thread": 1, "verbose": 0, "minCount": 1}
VARIANTS = {
    "skipgram": {"model": "skipgram", "bucket": 40},
    "from 0 letters on": {"minn": 0, "maxn": 3, "bucket": 1000},
    "single letters": {"minn": 1, "maxn": 1, "bucket": 7},
    "long n-grams": {"minn": 2, "maxn": 20, "bucket": 1000},
    "without n-grams": {"minn": 0, "maxn": 0},
    "supervised": {"minn": 2, "maxn": 3, "bucket": 40},
}


def train(folder, supervised=False, **options):
    """Make a model with floret, which is fastText with more modes."""
    tool = pytest.importorskip("floret")
    rng = random.Random(1)
    words = ["she", "he", "queen", "king", "naïve", "語", "日本語", "🙂🙃", "a", "reads", "math"]
    start = "__label__good " if supervised else ""
    lines = [start + " ".join(rng.choices(words, k=8)) for _ in range(60)]
    (folder / "corpus.txt").write_text("\n".join(lines), encoding="utf-8")
    call = tool.train_supervised if supervised else tool.train_unsupervised
    model = call(str(folder / "corpus.txt"), **UNTRAINED, **options)
    rng = np.random.default_rng(1)
    matrices = model.get_input_matrix(), model.get_output_matrix()
    model.set_matrices(*(rng.normal(size=m.shape).astype(np.float32) for m in matrices))
    return model


@pytest.fixture
def of_gensim(tmp_path):
    """A small model, written by gensim, which needs no compiler."""
    fasttext = pytest.importorskip("gensim.models.fasttext")
    options = {"vector_size": 3, "min_count": 1, "bucket": 5, "epochs": 1, "seed": 1, "workers": 1}
    model = fasttext.FastText([["she", "reads", "naïve", "語", "</s>"], ["he", "reads"]], **options)
    fasttext.save_facebook_model(model, str(tmp_path / "m.bin"))
    return tmp_path / "m.bin"


@pytest.mark.parametrize("variant", VARIANTS)
def test_words_have_the_numbers_of_fasttext_to_the_last_bit(tmp_path, variant):
    supervised = variant == "supervised"
    mode = {} if supervised else {"mode": "fasttext"}
    official = train(tmp_path, supervised, **mode, **VARIANTS[variant])
    official.save_model(str(tmp_path / "m.bin"))
    content = (tmp_path / "m.bin").read_bytes()
    with pytest.raises(ValueError, match=r"m\.bin.*floret"):
        open_fasttext_bin(tmp_path / "m.bin", Reading())
    # floret writes eight bytes more than fastText, before lrUpdateRate.
    (tmp_path / "m.bin").write_bytes(content[: DICTIONARY - 12] + content[DICTIONARY - 4 :])
    source = open_fasttext_bin(tmp_path / "m.bin", Reading())
    words, vectors = next(source.blocks())
    expected, counts = official.get_words(include_freq=True)
    assert words == expected
    assert "</s>" in words
    np.testing.assert_array_equal(vectors, [official.get_word_vector(word) for word in words])
    assert source.counts.tolist() == list(counts)[: len(words)]
    model = WordEmbeddingModel(source.table, use_subwords=source.table.knows_subwords)
    for word in UNSEEN:
        expected = official.get_word_vector(word)
        # What fastText has no n-grams of, it gives zeros.
        assert (word in model) == bool(expected.any()), word
        if word in model:
            np.testing.assert_array_equal(model[word], expected)


def test_vectors_are_those_of_gensim_but_where_fasttext_says_otherwise(of_gensim, monkeypatch):
    from gensim.models.fasttext import load_facebook_vectors

    theirs, ours = load_facebook_vectors(str(of_gensim)), FastTextVectors(of_gensim)
    model = WordEmbeddingModel(ours, use_subwords=True)
    assert list(ours.key_to_index) == theirs.index_to_key
    for word in [*theirs.index_to_key, "shes", "日本", "x"]:
        if word != "</s>":
            np.testing.assert_allclose(model[word], theirs[word], rtol=1e-5)
    # gensim mixes n-grams into the end of a sentence, the official library does not.
    row = ours.key_to_index["</s>"]
    np.testing.assert_array_equal(ours["</s>"], theirs.vectors_vocab[row])
    # In any order and pieces.
    whole = ours.rows(range(len(ours)))
    monkeypatch.setattr(_word2vec, "_BATCH_NGRAMS", 20)
    np.testing.assert_array_equal(ours.rows([3, 0, 3, 2, 1]), whole[[3, 0, 3, 2, 1]])


def test_a_model_holds_what_it_is_asked_to(of_gensim):
    model = wefe.load(of_gensim, subwords="mean", hold="mapped")
    assert (model.held, model.name, "shes" in model) == ("mapped", "m", True)
    assert "shes" not in wefe.load(of_gensim)
    copy = pickle.loads(pickle.dumps(model.wv))
    np.testing.assert_array_equal(copy.get_vector("shes"), model["shes"])


def test_words_that_are_no_utf8_are_read_as_gensim_reads_them(of_gensim):
    content = of_gensim.read_bytes()
    # Words of three bytes.
    of_gensim.write_bytes(content.replace("語".encode() + b"\0", b"\xffab\0"))
    assert r"\xffab" in FastTextVectors(of_gensim)


@pytest.mark.parametrize(
    ("position", "form", "value"),
    [
        (4, "<i", 13),
        (8, "<i", 2**31 - 1),
        (BUCKET, "<i", 2**31 - 1),
        (DICTIONARY + 4, "<i", -1),
        (DICTIONARY + 20, "<q", 0),
    ],
)
def test_a_header_that_lies_is_refused(of_gensim, position, form, value):
    content = bytearray(of_gensim.read_bytes())
    struct.pack_into(form, content, position, value)
    of_gensim.write_bytes(content)
    with pytest.raises(ValueError, match=r"m\.bin: expected a whole fastText model"):
        FastTextVectors(of_gensim)
