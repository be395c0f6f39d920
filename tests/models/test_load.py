"""Opening files: told by content, held in three ways, cut as wished, damage named."""

import gzip
import logging
import pickle
import unicodedata

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_files import Bomb

from wefe import MAC, RNSB, WEAT, Query, WordEmbeddingModel, load, run_queries
from wefe.embeddings import get_embeddings_from_query, get_embeddings_from_set
from wefe.models import UnreadWordError, convert
from wefe.models._load import words_of
from wefe.words import variants

WORDS = ["The", "the", "She", "THE", "he", "HE", "x y", "naïve", "NAÏVE", "she", "sHe", "ß", "ẞ"]
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32)
COUNTS = {word: 2 * position for position, word in enumerate(WORDS)}
# By default, a file of each is held so if only some words are asked for.
HELD = dict.fromkeys(["text", "header", "text.gz", "binary", "csv", "parquet"], "selected")
HELD |= {"native": "mapped", "dict": "memory", "npz": "memory"}
QUERY = Query([["she"], ["he"]], [["the"], ["naïve"]])


def text_of(words, vectors, header=False, sep=" "):
    lines = [f"{len(words)} {vectors.shape[1]}"] if header else []
    for word, vector in zip(words, vectors, strict=True):
        lines.append(sep.join([word, *(repr(float(x)) for x in vector)]))
    return ("\n".join(lines) + "\n").encode()


def binary_of(words, vectors, newline=b"\n"):
    body = b"".join(
        word.encode() + b" " + row.astype("<f4").tobytes() + newline
        for word, row in zip(words, vectors, strict=True)
    )
    return f"{len(words)} {vectors.shape[1]}\n".encode() + body


@pytest.fixture
def make(write, tmp_path):
    """The same vectors, in any format."""

    def make(kind):
        path = tmp_path / f"vectors.{kind}"
        if kind in ("text", "header", "text.gz"):
            content = text_of(WORDS, VECTORS, kind == "header")
            return write(gzip.compress(content) if kind == "text.gz" else content, path.name)
        if kind == "binary":
            return write(binary_of(words_in(kind), VECTORS, b""), path.name)
        if kind == "csv":
            return write(text_of(WORDS, VECTORS, sep=","), path.name)
        if kind == "npz":
            np.savez(path, vectors=VECTORS, words=np.array(WORDS))
        elif kind == "parquet":
            pytest.importorskip("pyarrow")
            pd.DataFrame(VECTORS, WORDS, list("abcd")).to_parquet(path)
        elif kind == "native":
            path = path.with_suffix(".safetensors")
            convert((WORDS, VECTORS), path, progress=False)
        return dict(zip(WORDS, VECTORS, strict=True)) if kind == "dict" else path

    return make


def words_in(kind):
    return [word.replace(" ", "_") if kind == "binary" else word for word in WORDS]


# ---- the same words, however they are held -----------------------------------------------------

CUTS = [
    {},
    {"limit": 1},
    {"limit": 7},
    {"lowercase": "first"},
    {"lowercase": "mean"},
    {"keep": str.isupper, "lowercase": "first"},
    {"min_count": 8, "counts": COUNTS},
    {"min_count": 8, "counts": COUNTS, "lowercase": "mean", "limit": 12},
]


def by_hand(words, vectors, limit=None, lowercase=None, keep=None, min_count=0, counts=None):
    """Cut a vocabulary in the plainest way."""
    groups = {}
    for word, vector in list(zip(words, vectors, strict=True))[:limit]:
        if (counts or {}).get(word, 0) < min_count or (keep is not None and not keep(word)):
            continue
        groups.setdefault(word.lower() if lowercase else word, []).append(vector)
    if lowercase == "mean":
        return {word: np.mean(np.float64(group), axis=0) for word, group in groups.items()}
    return {word: group[0] for word, group in groups.items()}


@pytest.mark.parametrize("kind", HELD)
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: "-".join(map(str, cut)))
def test_a_vocabulary_is_cut_alike_whatever_the_format_and_how_it_is_held(make, kind, cut):
    expected = by_hand(words_in(kind), VECTORS, **cut)
    source = make(kind)
    whole, memory = load(source, **cut), load(source, hold="memory", **cut)
    assert memory.held == "memory"
    assert whole == memory
    assert list(whole.vocab) == list(expected)
    np.testing.assert_allclose(whole.vectors, list(expected.values()), rtol=1e-6, atol=1e-7)
    for asked in (["the", "he", "nope", "naïve"], WORDS, []):
        some = load(source, words=asked, hold="selected", **cut)
        there = [word for word in expected if word in asked]
        assert (some.held, list(some.vocab)) == ("selected", there)
        np.testing.assert_array_equal(some.vectors, whole.get_vectors(there).reshape(-1, 4))
        assert (some.dtype, some.nbytes) == (whole.dtype, 16 * len(there))


@pytest.mark.parametrize("kind", HELD)
def test_by_default_the_least_is_held_and_scores_are_the_same(make, kind, caplog):
    caplog.set_level(logging.INFO, "wefe")
    source = make(kind)
    models = [load(source, words=QUERY), load(source), load(source, words=QUERY, hold="memory")]
    least = "mapped" if kind == "native" else "memory"
    assert [model.held for model in models] == [HELD[kind], least, "memory"]
    assert len(models[2]) == len(WORDS)
    for metric, options in ((WEAT, {}), (MAC, {}), (RNSB, {"random_state": 0, "holdout": False})):
        results = [metric().run_query(QUERY, model, **options) for model in models]
        assert results[0] == results[1] == results[2]
    if HELD[kind] == "selected":
        assert ", selected of " in repr(models[0])
        assert ", selected of " in caplog.text
    if kind != "native":
        with pytest.raises(ValueError, match="mapped"):
            load(source, hold="mapped")


# ---- only some words ---------------------------------------------------------------------------


def test_a_word_that_was_not_asked_for_is_an_error_not_missing(make):
    model = load(make("text"), "some", words=iter({"she", "nope"}))
    for look_up in (
        lambda: model["he"],
        lambda: "he" in model,
        lambda: model.get_vectors(["she", "he"]),
        lambda: model.vocab["he"],
        lambda: model.vocab.get("he"),
        lambda: model.update("he", VECTORS[0]),
        lambda: WEAT().run_query(QUERY, model),
        lambda: get_embeddings_from_query(model, QUERY),
        lambda: run_queries(WEAT, [QUERY], [model]),
    ):
        with pytest.raises(UnreadWordError, match=r"'\w+' was not among the 2 .*vectors\.text"):
            look_up()
    # One that was asked for and is not there is missing.
    assert "nope" not in model
    assert (model.vocab.get("nope"), model.vocab.get("nope", 5)) == (None, 5)
    for read in (lambda: model["nope"], lambda: model.vocab["nope"]):
        with pytest.raises(KeyError, match="nope") as error:
            read()
        assert not isinstance(error.value, UnreadWordError)
    assert not any(value in model.vocab for value in (3, None, b"she", ("she",)))


def test_a_query_is_looked_up_with_the_prefix_and_a_string_as_it_is(write):
    path = write(text_of(["/c/en/she", "she", "rare"], VECTORS[:3]))
    assert list(load(path, vocab_prefix="/c/en/", words=[QUERY, "rare"]).vocab) == [
        "/c/en/she",
        "rare",
    ]
    assert words_of(["a"], "/c/en/") == {"a"}
    assert words_of(QUERY, None, [{}]) == {"she", "he", "the", "naïve"}


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "lowercase": st.booleans(),
        "uppercase": st.booleans(),
        "titlecase": st.booleans(),
        "strip_accents": st.sampled_from([True, False, "ascii", "unicode"]),
    },
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.text(min_size=1, max_size=6), min_size=2, max_size=2, unique=True),
    st.lists(OPTIONS, min_size=1, max_size=3),
    st.sampled_from([None, "", "/c/en/", "É"]),
)
def test_a_query_stands_for_every_form_that_a_preprocessor_can_give(words, preprocessors, prefix):
    query = Query([[words[0]], ["x"]], [[words[1]], ["y"]])
    asked = words_of(query, prefix)
    for word in (*words, "x", "y"):
        assert set(variants(word, preprocessors, prefix)) <= asked
        assert (prefix or "") + word in asked
    assert asked == words_of([query], prefix) == words_of(iter([query]), prefix)


@pytest.mark.parametrize(
    ("written", "asked", "options"),
    [
        (unicodedata.normalize("NFD", "niña"), "niña", {"unicode_form": "NFD"}),
        ("niña", unicodedata.normalize("NFD", "niña"), {"unicode_form": "NFC"}),
        ("aujourd\u2019hui", "aujourd'hui", {"apostrophes": "typographic"}),
    ],
)
def test_words_of_a_query_are_read_in_all_forms_that_unicode_has(write, written, asked, options):
    path = write(f"{written} 1 2\nel 2 1\n".encode())
    model = load(path, words=Query([[asked]], [["el"]]))
    lost, found = get_embeddings_from_set(model, [asked], [options])
    assert not lost
    assert list(found) == [written]


@pytest.mark.parametrize("kind", ["npz", "csv"])
def test_values_that_are_asked_for_are_checked(write, kind, tmp_path):
    vectors = VECTORS.copy()
    vectors[4, 1] = np.nan
    path = tmp_path / f"v.{kind}"
    np.savez(path, vectors=vectors, words=np.array(WORDS))
    if kind == "csv":
        write(text_of(WORDS, vectors, sep=","), path.name)
    for options in ({"words": ["he", "she"], "hold": "selected"}, {"limit": 6}):
        with pytest.raises(ValueError, match=f"{path.name}.*'he'.* NaN or infinity"):
            load(path, **options)
        assert "he" not in load(path, on_error="skip", **options)
    assert list(load(path, words=["She"], hold="selected").vocab) == ["She"]


# ---- cutting -----------------------------------------------------------------------------------


def test_limit_counts_rows_of_the_source(write):
    path = write(text_of(["a", "a", "b", "c"], np.eye(4, dtype=np.float32), header=True))
    assert list(load(path, limit=2).vocab) == ["a"]
    assert list(load(path, limit=3).vocab) == ["a", "b"]
    # What the whole file has is not known, and not asked.
    assert list(load(path, limit=3, words=["b", "c"]).vocab) == ["b"]


def test_counts_come_from_a_mapping_a_file_or_gensim(make, write):
    lines = [f"{word} {count}" for word, count in COUNTS.items()]
    for text in ("\n\n".join(lines) + "\n\n", "\r\n".join(lines)):
        path = write(text.encode(), "vocab.txt")
        for counts in (path, str(path), COUNTS):
            assert list(load(make("text"), min_count=10, counts=counts).vocab) == WORDS[5:]
    assert load(make("text"), counts=path) == load(make("text"))
    # A word that the counts lack occurred never.
    assert list(load(make("text"), min_count=1, counts={"she": 1}).vocab) == ["she"]
    gensim_models = pytest.importorskip("gensim.models")
    kv = gensim_models.KeyedVectors(4)
    kv.add_vectors(WORDS, VECTORS)
    for word in WORDS:
        kv.set_vecattr(word, "count", COUNTS[word])
    assert list(load(kv, min_count=10).vocab) == WORDS[5:]
    assert list(load(kv, min_count=10, counts={"The": 99}).vocab) == ["The"]


@pytest.mark.parametrize("line", [b"she", b"she 1.5", b"\xff 3", b"she 3 x", b"she\t-"])
def test_counts_that_are_none_are_named(make, write, line):
    path = write(b"the 5\n" + line + b"\n", "vocab.txt")
    with pytest.raises(ValueError, match="vocab.txt, line 2"):
        load(make("text"), min_count=1, counts=path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load(make("text"), min_count=1, counts="nowhere.txt")
    with pytest.raises(ValueError, match="min_count"):
        load(make("text"), min_count=1)


@pytest.mark.parametrize("cut", [{"keep": lambda word: False}, {"min_count": 9**9, "counts": {}}])
@pytest.mark.parametrize("kind", ["text", "native"])
def test_a_model_without_words_is_refused(make, kind, cut):
    with pytest.raises(ValueError, match="no word is left"):
        load(make(kind), **cut)


def test_repeated_words_are_counted_in_the_log(make, caplog):
    load(make("text"), lowercase="first")
    assert "7 words twice" in caplog.text
    with caplog.at_level(logging.INFO, "wefe"):
        load(make("text"), lowercase="mean")
    assert "7 words merged" in caplog.text


# ---- workers -----------------------------------------------------------------------------------


def test_workers_see_what_was_changed_and_no_other_file_of_the_same_name(make, tmp_path):
    model = load(make("native"))
    before = run_queries(WEAT, [QUERY], [model])
    twin = model.copy("twin")
    twin.update("she", np.ones(4, np.float32))
    twin.vectors[twin.vocab["he"]] *= -2
    changed = run_queries(WEAT, [QUERY], [twin])
    assert changed.iloc[0, 0] != before.iloc[0, 0]
    selected = load(make("text"), "selected", words=QUERY)
    table = run_queries(WEAT, [QUERY], [twin, selected], n_jobs=2).iloc[:, 0]
    np.testing.assert_allclose(table, [changed.iloc[0, 0], before.iloc[0, 0]], rtol=1e-12)
    convert((WORDS, -VECTORS[::-1]), tmp_path / "vectors.safetensors")
    assert run_queries(WEAT, [QUERY], [model], n_jobs=2).equals(before)


# ---- what is opened ----------------------------------------------------------------------------


def test_demo_is_the_packaged_model():
    assert load("demo").name == "minilm-words"
    assert load("demo", "x").name == "x"


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
        (b"just some words\nand more\n", "no known format"),
        (b"5\n6\n", "no known format"),
        (b"0 2\n", "0 words of 2"),
        (b"1_0 1_0\n", "no known format"),
        (b"\x1f\x8b\x08" + b"x" * 50, "gzip"),
        (gzip.compress(b"\x93NUMPY"), "gzip.* unpack it"),
        (binary_of(["she", "he"], VECTORS[:2])[:-4], "promises|cut short"),
        (b'\x40\x00\x00\x00\x00\x00\x00\x00{"embeddings":', "damaged safetensors"),
    ],
    # The bytes would differ between workers, because gzip writes the time.
    ids=lambda each: each if isinstance(each, str) else "content",
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
        ({"words": 3}, TypeError),
        ({"words": [b"she"]}, TypeError),
        ({"limit": 0}, ValueError),
        ({"limit": 1.5}, TypeError),
        ({"lowercase": True}, ValueError),
        ({"keep": "she"}, TypeError),
        ({"min_count": 0, "counts": {}}, ValueError),
        ({"on_error": "ignore"}, ValueError),
        ({"subwords": "sum"}, ValueError),
        ({"subwords": "mean"}, ValueError),
        ({"trust_pickle": 1}, TypeError),
        ({"progress": "yes"}, TypeError),
        ({"n_jobs": 0}, ValueError),
        ({"name": 3}, TypeError),
        ({"vocab_prefix": 3}, TypeError),
    ],
)
def test_wrong_options_are_named(make, options, kind):
    with pytest.raises(kind, match=f"^{next(iter(options))}"):
        load(make("text"), **options)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("glove.6B.50d.txt", "glove.6B.50d"),
        ("vectors", "vectors"),
        (".hidden", ".hidden"),
        ("a b.vec", "a b"),
        ("x.safetensors", "x"),
        ("text.bin", "text"),
    ],
)
@pytest.mark.parametrize("header", [True, False])
def test_a_file_is_known_by_its_content_and_gives_its_name(write, file, name, header):
    path = write(text_of(WORDS, VECTORS, header), file)
    model = load(path)
    assert (model.name, list(model.vocab)) == (name, WORDS)
    np.testing.assert_array_equal(model.vectors, VECTORS)
    assert load(path, words=["she"]).name == name
    assert load(path, "").name == ""


def test_missing_files_are_told_from_misspelt_names(tmp_path):
    for missing in (
        "nowhere.bin",
        tmp_path / "nowhere.txt",
        str(tmp_path / "nowhere"),
        "",
        "de mo",
    ):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            load(missing)
    with pytest.raises(FileNotFoundError, match="'glove-twitter-25'"):
        load("glove-twiter-25")
    with pytest.raises(TypeError, match="source .* int 3"):
        load(3)


def test_a_model_is_loaded_with_its_prefix():
    model = WordEmbeddingModel((WORDS, VECTORS), "m", "/c/")
    assert load(model) == model
    assert load(model, vocab_prefix="").vocab_prefix == ""
