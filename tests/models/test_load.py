"""Opening files: told by content, held in three ways, cut as wished, damage named."""

import gzip
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from model_files import Bomb

from wefe import WEAT, Query, WordEmbeddingModel, load
from wefe.models import UnreadWordError
from wefe.words import variants, words_of

WORDS = ["The", "the", "She", "THE", "he", "HE", "x_y", "naïve", "NAÏVE", "she", "sHe", "ß", "ẞ"]
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32)
SUFFIX = {"text": ".txt", "text.gz": ".txt.gz", "header": ".vec", "binary": ".bin"}
# By default, a file of each is held so if only some words are asked for.
HELD = dict.fromkeys([*SUFFIX, "csv", "parquet"], "selected")
HELD |= {"native": "mapped", "dict": "memory", "npz": "memory"}
QUERY = Query([["she"], ["he"]], [["the"], ["naïve"]])


def save(path, vectors=VECTORS, words=WORDS):
    WordEmbeddingModel((words, vectors)).save(path)
    return path


@pytest.fixture
def make(tmp_path):
    """The same vectors, in any format."""

    def make(kind, vectors=VECTORS):
        if kind == "dict":
            return dict(zip(WORDS, vectors, strict=True))
        path = tmp_path / f"vectors{SUFFIX.get(kind, '.safetensors')}"
        if kind in ("csv", "parquet"):
            pytest.importorskip("pyarrow")
            frame = pd.DataFrame(vectors, WORDS, list("abcd"))
            frame.to_parquet(path) if kind == "parquet" else frame.to_csv(path, na_rep="nan")
        elif kind == "npz":
            with path.open("wb") as file:
                np.savez(file, vectors=vectors, words=np.array(WORDS))
        else:
            save(path, vectors)
        return path

    return make


# ---- the same words, however they are held -----------------------------------------------------

CUTS = [
    {},
    {"limit": 7},
    {"lowercase": "first"},
    {"lowercase": "mean"},
    {"keep": str.isupper, "lowercase": "first"},
    {"keep": str.islower, "lowercase": "mean", "limit": 12},
]


def by_hand(limit=None, lowercase=None, keep=None):
    """Cut a vocabulary in the plainest way."""
    groups = {}
    for word, vector in list(zip(WORDS, VECTORS, strict=True))[:limit]:
        if keep is not None and not keep(word):
            continue
        groups.setdefault(word.lower() if lowercase else word, []).append(vector)
    if lowercase == "mean":
        return {word: np.mean(np.float64(group), axis=0) for word, group in groups.items()}
    return {word: group[0] for word, group in groups.items()}


@pytest.mark.parametrize("kind", HELD)
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: "-".join(map(str, cut)))
def test_a_vocabulary_is_cut_alike_whatever_the_format_and_how_it_is_held(make, kind, cut):
    expected = by_hand(**cut)
    source = make(kind)
    whole, memory = load(source, **cut), load(source, hold="memory", **cut)
    assert memory.held == "memory"
    assert whole == memory
    assert list(whole.vocab) == list(expected)
    np.testing.assert_allclose(whole.vectors, list(expected.values()), rtol=1e-6, atol=1e-7)
    for asked in (["the", "he", "nope", "naïve"], []):
        some = load(source, words=asked, hold="selected", **cut)
        there = [word for word in expected if word in asked]
        assert (some.held, list(some.vocab)) == ("selected", there)
        np.testing.assert_array_equal(some.vectors, whole.get_vectors(there))
        assert (some.dtype, some.nbytes) == (whole.dtype, 16 * len(there))


@pytest.mark.parametrize("kind", HELD)
def test_by_default_the_least_is_held_and_scores_are_the_same(make, kind, caplog):
    source = make(kind)
    models = [load(source, words=QUERY), load(source), load(source, words=QUERY, hold="memory")]
    least = "mapped" if kind == "native" else "memory"
    assert [model.held for model in models] == [HELD[kind], least, "memory"]
    assert len(models[2]) == len(WORDS)
    assert "subwords" not in caplog.text
    results = [WEAT().run_query(QUERY, model) for model in models]
    assert results[0] == results[1] == results[2]
    assert (", selected of " in repr(models[0])) is (HELD[kind] == "selected")
    if kind != "native":
        with pytest.raises(ValueError, match="mapped"):
            load(source, hold="mapped")


@pytest.mark.parametrize("kind", ["npz", "csv", "dict", "parquet"])
def test_values_that_are_asked_for_are_checked(make, kind):
    vectors = VECTORS.copy()
    vectors[4, 1] = np.nan
    source = make(kind, vectors)
    for options in ({"words": ["he", "she"], "hold": "selected"}, {"limit": 6}):
        with pytest.raises(ValueError, match=r"(vectors\.|dict).*'he'.* NaN or infinity"):
            load(source, **options)
        assert "he" not in load(source, on_error="skip", **options)
    assert list(load(source, words=["She"], hold="selected").vocab) == ["She"]


# ---- only some words ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "look_up",
    [
        lambda model: "he" in model,
        lambda model: model.get_vectors(["she", "he"]),
        lambda model: model.vocab["he"],
        lambda model: model.vocab.get("he"),
        lambda model: WEAT().run_query(QUERY, model),
    ],
)
def test_a_word_that_was_not_asked_for_is_an_error_not_missing(make, look_up):
    # Also in another process.
    model = pickle.loads(pickle.dumps(load(make("text"), "some", words=iter({"she", "nope"}))))
    with pytest.raises(UnreadWordError, match=r"'\w+' was not among the 2 .*vectors\.txt"):
        look_up(model)
    # One that was asked for and is not there is missing.
    assert "nope" not in model
    assert (model.vocab.get("nope"), model.vocab.get("nope", 5)) == (None, 5)
    with pytest.raises(KeyError, match="nope") as error:
        model.vocab["nope"]
    assert not isinstance(error.value, UnreadWordError)
    assert not any(value in model.vocab for value in (3, None, b"she", ("she",)))


def test_a_query_is_looked_up_with_the_prefix_and_a_string_as_it_is(tmp_path):
    words = ["/c/en/she", "she", "rare"]
    path = save(tmp_path / "m.txt", VECTORS[:3], words)
    model = load(path, vocab_prefix="/c/en/", words=[QUERY, "rare"])
    assert list(model.vocab) == ["/c/en/she", "rare"]
    assert words_of(QUERY, None, [{}]) == {"she", "he", "the", "naïve"}


@pytest.mark.parametrize("word", ["She", "nin\u0303a", "NIÑA", "aujourd'hui"])
@pytest.mark.parametrize("prefix", [None, "/c/en/"])
def test_a_query_stands_for_every_form_that_a_preprocessor_can_give(word, prefix):
    asked = words_of(Query([[word]], [["x"]]), prefix)
    assert {(prefix or "") + word, (prefix or "") + "x"} <= asked
    cases, forms = ["lowercase", "uppercase", "titlecase"], [{}, {"unicode_form": "NFD"}]
    accents = [{"strip_accents": value} for value in (False, True, "ascii")]
    for case, form, accent in itertools.product(cases, forms, accents):
        options = {case: True, "apostrophes": "typographic", **form, **accent}
        assert set(variants(word, [options], prefix)) <= asked


# ---- cutting -----------------------------------------------------------------------------------


def test_limit_counts_rows_of_the_source(write):
    path = write(b"4 2\na 1 2\na 3 4\nb 5 6\nc 7 8\n")
    assert list(load(path, limit=2).vocab) == ["a"]
    # What the whole file has is not known, and not asked.
    assert list(load(path, limit=3, words=["b", "c"]).vocab) == ["b"]


def test_rare_words_are_left_out():
    kv = pytest.importorskip("gensim.models").KeyedVectors(4)
    kv.add_vectors(WORDS, VECTORS)
    for count, word in enumerate(WORDS, 5):
        kv.set_vecattr(word, "count", count)
    assert list(load(kv, min_count=10).vocab) == WORDS[5:]


# ---- what is opened ----------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_not_opened(write, tmp_path, protocol):
    path = write(pickle.dumps(Bomb(tmp_path / "mark"), protocol), "model.kv")
    with pytest.raises(ValueError, match="pickle|no known format"):
        load(path)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is empty"),
        (b"\x00\x01\x02\x03" * 10, "no known format"),
        # Its first line was looked for where there was none: an IndexError.
        (gzip.compress(b"\r" * 5000, mtime=0), "no known format"),
        (gzip.compress(b"\x93NUMPY", mtime=0), "unpack the gzip file"),
    ],
)
def test_damage_is_named(write, content, text):
    with pytest.raises(ValueError, match=rf"vectors\.any.*({text})"):
        load(write(content))


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"hold": "disk"}, ValueError),
        ({"hold": "selected"}, ValueError),
        ({"words": "she"}, TypeError),
        ({"limit": 0}, ValueError),
        ({"lowercase": True}, ValueError),
        ({"min_count": 1}, ValueError),
        ({"subwords": "mean"}, ValueError),
        ({"name": 3}, TypeError),
    ],
)
def test_wrong_options_are_named(make, options, kind):
    with pytest.raises(kind, match=f"^{next(iter(options))}"):
        load(make("text"), **options)
    with pytest.raises(ValueError, match="no word is left"):
        load(make("native"), keep=lambda word: False)


@pytest.mark.parametrize(
    ("file", "name"), [("glove.50d.txt", "glove.50d"), (".hidden", ".hidden"), ("x.npy", "x")]
)
def test_a_file_is_known_by_its_content_and_gives_its_name(tmp_path, file, name):
    WordEmbeddingModel((WORDS, VECTORS)).save(tmp_path / file, "word2vec")
    model = load(tmp_path / file)
    assert (model.name, list(model.vocab)) == (name, WORDS)
    assert load(tmp_path / file, "").name == ""


def test_missing_files_are_told_from_misspelt_names(tmp_path):
    for missing in ("nowhere.bin", tmp_path / "nowhere.txt", str(tmp_path / "nowhere"), ""):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            load(missing)
    with pytest.raises(FileNotFoundError, match="'glove-twitter-25'"):
        load("glove-twiter-25")
