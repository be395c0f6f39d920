"""Facebook's fastText binaries give what fastText gives, or an error; never a hang or a flood."""

import random
import struct
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from wefe.models import WordEmbeddingModel
from wefe.models.formats._gensim import FASTTEXT_MAGIC, open_fasttext_bin
from wefe.models.formats._source import Reading

pytest.importorskip("gensim")

# The bytes before the dictionary, and those before its first word.
ARGUMENTS = 64
HEADER = 92
BUCKET = 8 + 8 * 4
UNSEEN = ["shes", "queenly", "x", "", "naïveté", "日本", "🙂", "<", "a b"]


def corpus(path):
    rng = random.Random(1)
    words = ["she", "he", "queen", "king", "naïve", "語", "日本語", "🙂🙃", "a", "reads", "math"]
    path.write_text(
        "\n".join(" ".join(rng.choices(words, k=8)) for _ in range(60)), encoding="utf-8"
    )
    return str(path)


# It only counts the words: the vectors are given to it, as fastText 0.9.3 leaves most of them as
# the memory was before.
UNTRAINED = {"dim": 5, "lr": 0.0, "epoch": 0, "thread": 1, "verbose": 0}
OPTIONS = {
    "skipgram": {"model": "skipgram", "minn": 3, "maxn": 6, "bucket": 40},
    "cbow": {"model": "cbow", "minn": 1, "maxn": 2, "bucket": 40},
    "without n-grams": {"model": "skipgram", "minn": 0, "maxn": 0},
    "hierarchical": {"model": "skipgram", "minn": 2, "maxn": 4, "bucket": 40, "loss": "hs"},
}
# What floret, which is fastText with more modes, writes before lrUpdateRate.
FLORET_ONLY = slice(ARGUMENTS - 12, ARGUMENTS - 4)


@pytest.fixture(scope="module", params=["fasttext", "floret"])
def tool(request):
    return pytest.importorskip(request.param)


def save(tool, model, path):
    """Write a model as fastText does."""
    model.save_model(str(path))
    if tool.__name__ == "floret":
        content = bytearray(path.read_bytes())
        del content[FLORET_ONLY]
        path.write_bytes(content)


@pytest.fixture(scope="module", params=OPTIONS)
def written(request, tool, tmp_path_factory):
    """A model, as fastText has it and as it wrote it."""
    folder = tmp_path_factory.mktemp("fasttext")
    mode = {"mode": "fasttext"} if tool.__name__ == "floret" else {}
    model = tool.train_unsupervised(
        corpus(folder / "corpus.txt"), minCount=1, **UNTRAINED, **mode, **OPTIONS[request.param]
    )
    rng = np.random.default_rng(1)
    model.set_matrices(
        *(
            rng.normal(size=matrix.shape).astype(np.float32)
            for matrix in (model.get_input_matrix(), model.get_output_matrix())
        )
    )
    save(tool, model, folder / "m.bin")
    return model, folder / "m.bin"


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """The bytes of a small model, written by gensim, which needs no compiler."""
    from gensim.models import FastText
    from gensim.models.fasttext import save_facebook_model

    model = FastText(
        [["she", "reads", "naïve", "語"], ["he", "reads"]],
        vector_size=3,
        min_count=1,
        bucket=5,
        epochs=1,
        seed=1,
        workers=1,
    )
    path = tmp_path_factory.mktemp("gensim") / "m.bin"
    save_facebook_model(model, str(path))
    return path.read_bytes()


def open_bytes(tmp_path, content, **options):
    path = tmp_path / "m.bin"
    path.write_bytes(content)
    return open_fasttext_bin(path, Reading(**options))


def replaced(content, position, form, value):
    return (
        content[:position] + struct.pack(form, value) + content[position + struct.calcsize(form) :]
    )


def test_known_words_have_the_vectors_of_fasttext(written):
    model, path = written
    source = open_fasttext_bin(path, Reading())
    words, vectors = next(source.blocks())
    assert words == model.get_words()
    assert "</s>" in words
    assert (source.name, source.dim, source.n_words) == ("m", 5, len(words))
    expected = np.array([model.get_word_vector(word) for word in words])
    np.testing.assert_allclose(vectors, expected, rtol=1e-5, atol=1e-6)


def test_unseen_words_have_the_vectors_of_fasttext(written):
    official, path = written
    source = open_fasttext_bin(path, Reading(subwords="mean"))
    model = WordEmbeddingModel(source.table(), use_subwords=source.use_subwords)
    n_built = 0
    for word in UNSEEN:
        expected = official.get_word_vector(word)
        # What fastText has no n-grams of, it gives zeros.
        assert (word in model) == bool(expected.any()), word
        if word in model:
            n_built += 1
            np.testing.assert_allclose(model[word], expected, rtol=1e-5, atol=1e-6)
    assert n_built >= 3 or source.table().bucket == 0


@pytest.mark.parametrize("subwords", [None, "refuse"])
def test_unseen_words_are_lost_unless_asked_for(tmp_path, content, subwords):
    source = open_bytes(tmp_path, content, subwords=subwords)
    assert source.use_subwords is False


def test_ngrams_have_no_first(tmp_path, content):
    with pytest.raises(ValueError, match="subwords='mean'"):
        open_bytes(tmp_path, content, subwords="first")


def test_counts_are_those_of_training(written):
    model, path = written
    words, counts = model.get_words(include_freq=True)
    assert dict(open_fasttext_bin(path, Reading()).counts) == dict(
        zip(words, map(int, counts), strict=True)
    )


def test_a_changed_model_stays_in_memory_and_is_consistent(tmp_path, content):
    source = open_bytes(tmp_path, content)
    model = WordEmbeddingModel(source.table())
    model.update("she", np.ones(3, np.float32))
    np.testing.assert_array_equal(model["she"], np.ones(3))
    assert (tmp_path / "m.bin").read_bytes() == content


def test_it_cannot_be_mapped(tmp_path, content):
    with pytest.raises(ValueError, match=r"m\.bin cannot be mapped.*[Cc]onvert"):
        open_bytes(tmp_path, content, hold="mapped")


def test_the_magic_number_is_that_of_the_file(content):
    assert content[:4] == FASTTEXT_MAGIC.to_bytes(4, "little")


def test_classifiers_are_refused(tmp_path, tool):
    text = tmp_path / "corpus.txt"
    text.write_text("__label__a she reads\n__label__b he reads\n" * 20)
    model = tool.train_supervised(str(text), minn=2, maxn=3, bucket=300, **UNTRAINED)
    save(tool, model, tmp_path / "m.bin")
    with pytest.raises(ValueError, match="supervised fastText model.*2 labels"):
        open_fasttext_bin(tmp_path / "m.bin", Reading())
    model.quantize()
    save(tool, model, tmp_path / "m.ftz")
    with pytest.raises(ValueError, match="supervised fastText model"):
        open_fasttext_bin(tmp_path / "m.ftz", Reading())


@pytest.mark.parametrize("mode", ["fasttext", "floret"])
def test_models_of_floret_are_named_as_such(tmp_path, mode):
    floret = pytest.importorskip("floret")
    model = floret.train_unsupervised(
        corpus(tmp_path / "corpus.txt"), mode=mode, bucket=40, **UNTRAINED
    )
    model.save_model(str(tmp_path / "m.bin"))
    with pytest.raises(ValueError, match=r"m\.bin is a model of floret"):
        open_fasttext_bin(tmp_path / "m.bin", Reading())


def test_a_file_cut_anywhere_is_refused(tmp_path, content):
    for length in range(len(content)):
        with pytest.raises(ValueError, match=r"m\.bin"):
            open_bytes(tmp_path, content[:length])


def test_a_file_without_its_end_is_said_to_be_cut_short(tmp_path, content):
    with pytest.raises(ValueError, match=r"cut short: its output matrix .* 60 bytes; 59 are left"):
        open_bytes(tmp_path, content[:-1])


def test_a_longer_file_is_refused(tmp_path, content):
    with pytest.raises(ValueError, match="7 bytes follow its end"):
        open_bytes(tmp_path, content + b"further")


@pytest.mark.parametrize(
    ("position", "form", "value", "message"),
    [
        (0, "<i", 5, "no fastText model"),
        (4, "<i", 13, "version 13"),
        (8, "<i", 2**31 - 1, "is damaged: its input matrix should be of"),
        (8, "<i", 0, "promises 0 dims"),
        (BUCKET, "<i", 2**31 - 1, "input matrix should be of 21474836"),
        (BUCKET, "<i", -1, "promises 3 dims, -1 buckets"),
        (BUCKET + 4, "<i", -1, "n-grams of -1 to"),
        (BUCKET + 8, "<i", 2**30, "n-grams of 3 to 1073741824"),
        (ARGUMENTS, "<i", 2**31 - 1, "promises 2147483647 entries"),
        (ARGUMENTS, "<i", 4, "promises 4 entries, 5 words"),
        (ARGUMENTS + 8, "<i", -3, "-3 labels"),
        (ARGUMENTS + 20, "<q", 0, "n-grams were pruned"),
        (ARGUMENTS + 20, "<q", 2**60, "n-grams were pruned"),
    ],
)
def test_a_header_that_lies_is_refused(tmp_path, content, position, form, value, message):
    with pytest.raises(ValueError, match=message):
        open_bytes(tmp_path, replaced(content, position, form, value))


def test_a_word_that_does_not_count_is_refused(tmp_path, content):
    # gensim would leave it out, and give every later word the vector of the one before.
    end = content.index(b"\0", HEADER)
    with pytest.raises(ValueError, match=r"word 1 of 5 is 'reads', occurs 0 times"):
        open_bytes(tmp_path, replaced(content, end + 1, "<q", 0))


def test_a_word_that_comes_twice_is_refused(tmp_path, content):
    assert content.count(b"she\0") == 1
    # Words of three bytes: 'she' and '語'.
    with pytest.raises(ValueError, match="the word 'she' stands in it twice"):
        open_bytes(tmp_path, content.replace("語".encode() + b"\0", b"she\0"))


def test_quantised_matrices_are_refused(tmp_path, content):
    start = content.index(struct.pack("<2q", 10, 3)) - 1
    with pytest.raises(ValueError, match="quantised"):
        open_bytes(tmp_path, replaced(content, start, "<b", 1))


# gensim divides by what the file says about its training.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(position=st.integers(0, 10**6), bit=st.integers(0, 7))
@example(position=BUCKET, bit=7)
def test_a_changed_file_gives_an_error_or_a_whole_model(tmp_path, content, position, bit):
    changed = bytearray(content)
    changed[position % len(content)] ^= 1 << bit
    try:
        source = open_bytes(tmp_path, bytes(changed), subwords="mean")
    except ValueError as error:
        assert "m.bin" in str(error)  # noqa: PT017
        return
    words, vectors = next(source.blocks())
    assert len(words) == 5
    assert vectors.shape == (5, 3)
    assert source.table().get_vector("unseen").shape == (3,)


def test_without_gensim_the_error_says_what_to_install(tmp_path, content, monkeypatch):
    for module in ("gensim", "gensim.models", "gensim.models.fasttext"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r'pip install "wefe\[gensim\]"'):
        open_bytes(tmp_path, content)
