"""Opening files: told by content, cut as wished, damage named, and nothing unpickled."""

import functools
import gc
import gzip
import logging
import os
import pickle
import tempfile
import threading
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe import Query, load
from wefe.embeddings import get_embeddings_from_set
from wefe.models import UnreadWordError, convert
from wefe.models._load import words_of
from wefe.words import variants

WORDS = ["she", "he", "New York", "naïve", "."]
VECTORS = np.array([[1, 0.5, -2e-3], [0, 1, 2], [3, 4, 5], [-1, 0, 0.25], [9, 8, 7]], np.float32)


def text_of(words, vectors, header):
    lines = [f"{len(words)} {vectors.shape[1]}"] if header else []
    for word, vector in zip(words, vectors, strict=True):
        lines.append(f"{word} {' '.join(repr(float(x)) for x in vector)}")
    return ("\n".join(lines) + "\n").encode()


def binary_of(words, vectors, newline=b"\n"):
    body = b"".join(
        word.encode() + b" " + row.astype("<f4").tobytes() + newline
        for word, row in zip(words, vectors, strict=True)
    )
    return f"{len(words)} {vectors.shape[1]}\n".encode() + body


@pytest.fixture
def write(tmp_path):
    def write(content, name="vectors.any"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def check(model, words=WORDS):
    assert list(model.vocab) == words
    np.testing.assert_array_equal(model.vectors, VECTORS[: len(words)])
    assert model.vectors.dtype == np.float32


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("name", ["vectors.txt", "vectors.vec", "vectors", "vectors.bin"])
def test_text_is_known_by_its_content(write, header, name):
    check(load(write(text_of(WORDS, VECTORS, header), name)))


def test_demo_is_the_packaged_model():
    assert load("demo").name == "minilm-words"
    assert load("demo", "x").name == "x"


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('a pickle ran code')",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_not_opened(write, protocol):
    with pytest.raises(ValueError, match="pickle|no known format"):
        load(write(pickle.dumps(Bomb(), protocol), "model.kv"))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is empty"),
        (b"\x00\x01\x02\x03" * 10, "no known format"),
        (b"just some words\nand more\n", "no known format"),
        (b"5\n6\n", "no known format"),
        (b"0 2\n", "0 2"),
        (b"1_0 1_0\n", "no known format"),
        (b"\x1f\x8b\x08" + b"x" * 50, "gzip"),
        (binary_of(["she", "he"], VECTORS[:2])[:-4], "promises|cut short"),
        (b'\x40\x00\x00\x00\x00\x00\x00\x00{"embeddings":', "damaged safetensors"),
    ],
)
def test_damage_is_named(write, content, text):
    with pytest.raises(ValueError, match=text):
        load(write(content))


# ---- told apart --------------------------------------------------------------------------------


def test_a_word_of_a_library_is_no_pickle(write):
    assert list(load(write(b"gensim.models 1 2\nshe 3 4\n")).vocab) == ["gensim.models", "she"]


# ---- the same words, however they are held -----------------------------------------------------

MANY = ["The", "the", "She", "THE", "he", "HE", "x y", "naïve", "NAÏVE", "she", "sHe", "ß", "ẞ"]
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(len(MANY), 4)).astype(np.float32)
COUNTS = {word: 2 * position for position, word in enumerate(MANY)}
FORMATS = ["text", "header", "binary", "native", "csv", "dict", "npz", "parquet"]
every_format = pytest.mark.parametrize("kind", FORMATS)


@pytest.fixture
def make(tmp_path):
    def make(kind, words=MANY, vectors=NUMBERS):
        path = tmp_path / f"vectors.{kind}"
        if kind in ("text", "header"):
            path.write_bytes(text_of(words, vectors, kind == "header"))
        elif kind == "binary":
            words = [word.replace(" ", "_") for word in words]
            path.write_bytes(binary_of(words, vectors, b""))
        elif kind == "csv":
            path.write_bytes(
                text_of([w.replace(" ", "_") for w in words], vectors, False).replace(b" ", b",")
            )
        elif kind == "dict":
            return dict(zip(words, vectors, strict=True))
        elif kind == "npz":
            np.savez(path.with_suffix(".npz"), vectors=vectors, words=np.array(words))
            return path.with_suffix(".npz")
        elif kind == "parquet":
            pytest.importorskip("pyarrow")
            pd = pytest.importorskip("pandas")
            frame = pd.DataFrame(vectors, columns=[f"d{n}" for n in range(vectors.shape[1])])
            frame.insert(0, "word", words)
            frame.to_parquet(path)
        else:
            path = tmp_path / "vectors.safetensors"
            convert(dict(zip(words, vectors, strict=True)), path, progress=False)
        return path

    return make


CUTS = [
    {},
    {"limit": 1},
    {"limit": 7},
    {"limit": 1000},
    {"lowercase": "first"},
    {"lowercase": "mean"},
    {"lowercase": "mean", "limit": 6},
    {"keep": lambda word: word.islower()},
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


@every_format
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: "-".join(map(str, cut)))
def test_a_vocabulary_is_cut_alike_whatever_the_format_and_how_it_is_held(make, kind, cut):
    words = [word.replace(" ", "_") if kind in ("binary", "csv") else word for word in MANY]
    expected = by_hand(words, NUMBERS, **cut)
    source = make(kind)
    whole = load(source, **cut)
    memory = load(source, hold="memory", **cut)
    assert memory.held == "memory"
    assert whole == memory
    assert list(whole.vocab) == list(expected)
    np.testing.assert_allclose(whole.vectors, list(expected.values()), rtol=1e-6, atol=1e-7)
    for asked in (["the", "he", "nope", "naïve"], MANY, ["nope"], []):
        for as_given in (asked, set(asked), tuple(asked), iter(asked), np.array(asked)):
            some = load(source, words=as_given, hold="selected", **cut)
            there = [word for word in expected if word in asked]
            assert (some.held, list(some.vocab)) == ("selected", there)
            np.testing.assert_array_equal(some.vectors, whole.get_vectors(there).reshape(-1, 4))
            assert some.dtype == whole.dtype


@every_format
def test_by_default_the_least_is_held(make, kind):
    held = {
        "text": "selected",
        "header": "selected",
        "binary": "selected",
        "csv": "selected",
        "parquet": "selected",
        "native": "mapped",
    }.get(kind, "memory")
    source = make(kind)
    assert load(source, words=["she"]).held == held
    assert load(source).held == ("mapped" if held == "mapped" else "memory")
    assert load(source, words=["she"], hold="memory").held == "memory"
    assert len(load(source, words=["she"], hold="memory")) == len(MANY)
    assert load(source, words=["she"], hold="selected").held == "selected"
    if held == "mapped":
        assert load(source, hold="mapped").held == "mapped"
        return
    with pytest.raises(ValueError, match="mapped"):
        load(source, hold="mapped")


# ---- only some words ---------------------------------------------------------------------------

OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "lowercase": st.booleans(),
        "uppercase": st.booleans(),
        "titlecase": st.booleans(),
        "strip_accents": st.sampled_from([True, False, "ascii", "unicode"]),
    },
)


@settings(max_examples=500, deadline=None)
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


@pytest.fixture
def some(make):
    return load(make("text"), "some", words=["she", "he", "nope"])


def test_a_word_that_was_asked_for_and_is_not_there_is_missing(some):
    assert "nope" not in some
    assert some.vocab.get("nope") is None
    assert some.vocab.get("nope", 5) == 5
    with pytest.raises(KeyError, match="'nope' is not in the vocabulary of some"):
        some["nope"]
    with pytest.raises(KeyError) as error:
        some.vocab["nope"]
    assert not isinstance(error.value, UnreadWordError)
    for value in (3, None, b"she", ("she",)):
        assert value not in some.vocab


def test_values_that_are_asked_for_are_checked(tmp_path):
    vectors = VECTORS.copy()
    vectors[1, 1] = np.nan
    np.savez(tmp_path / "v.npz", vectors=vectors, words=np.array(WORDS))
    lines = [f"{w}," + ",".join(map(str, v)) for w, v in zip(WORDS, vectors, strict=True)]
    (tmp_path / "v.csv").write_text("\n".join(lines), "utf-8")
    for path in (tmp_path / "v.npz", tmp_path / "v.csv"):
        with pytest.raises(ValueError, match=f"{path.name}.*'he'.* NaN or infinity"):
            load(path, words=["he", "she"], hold="selected")
        with pytest.raises(ValueError, match=f"{path.name}.*'he'.* NaN or infinity"):
            load(path, limit=4)
        some = load(path, words=["he", "she"], hold="selected", on_error="skip")
        assert list(some.vocab) == ["she"]
        assert len(load(path, limit=4, on_error="skip")) == 3
        assert len(load(path, words=["."], hold="selected")) == 1


# ---- cutting -----------------------------------------------------------------------------------


def test_limit_counts_rows_of_the_source(write):
    path = write(text_of(["a", "a", "b", "c"], np.eye(4, dtype=np.float32), header=True))
    assert list(load(path, limit=2).vocab) == ["a"]
    assert list(load(path, limit=3).vocab) == ["a", "b"]
    # What the whole file has is not known, and not asked.
    assert list(load(path, limit=3, words=["b", "c"]).vocab) == ["b"]


def test_counts_come_as_mapping_or_file(make, tmp_path):
    path = tmp_path / "vocab.txt"
    lines = [f"{word} {count}" for word, count in COUNTS.items()]
    for text in ("\n".join(lines), "\n\n".join(lines) + "\n\n", "\r\n".join(lines)):
        path.write_text(text, "utf-8", newline="")
        for counts in (path, str(path), COUNTS):
            model = load(make("text"), min_count=10, counts=counts)
            assert list(model.vocab) == MANY[5:]
    assert load(make("text"), counts=path) == load(make("text"))
    # A word that the counts lack occurred never.
    assert list(load(make("text"), min_count=1, counts={"she": 1}).vocab) == ["she"]


@pytest.mark.parametrize("line", [b"she", b"she 1.5", b"she x", b"\xff 3", b"she 3 x", b"she\t-"])
def test_counts_that_are_none_are_named(make, tmp_path, line):
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"the 5\n" + line + b"\n")
    with pytest.raises(
        ValueError, match=r"vocab.txt, line 2: expected a word and its count, found"
    ):
        load(make("text"), min_count=1, counts=path)


def test_counts_that_are_not_there_are_missed(make, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load(make("text"), min_count=1, counts=tmp_path / "nowhere.txt")
    with pytest.raises(ValueError, match="min_count needs the number of occurrences of each word"):
        load(make("text"), min_count=1)


def test_gensims_counts_are_used(make):
    gensim_models = pytest.importorskip("gensim.models")
    kv = gensim_models.KeyedVectors(4)
    kv.add_vectors(MANY, NUMBERS)
    for word in MANY:
        kv.set_vecattr(word, "count", COUNTS[word])
    assert list(load(kv, min_count=10).vocab) == MANY[5:]
    assert list(load(kv, min_count=10, counts={"The": 99}).vocab) == ["The"]


@pytest.mark.parametrize("cut", [{"keep": lambda word: False}, {"min_count": 9**9, "counts": {}}])
def test_a_model_without_words_is_refused(make, cut):
    for kind in ("text", "native"):
        with pytest.raises(ValueError, match="no word is left; expected at least one"):
            load(make(kind), **cut)


def test_repeated_words_are_counted_in_the_log(make, caplog):
    load(make("text"), lowercase="first")
    assert "has 7 words twice; the first vector of each is kept" in caplog.text
    with caplog.at_level(logging.INFO, "wefe"):
        load(make("text"), lowercase="mean")
    assert "7 words merged into the mean of their forms" in caplog.text


# ---- errors that teach -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"hold": "disk"}, ValueError, "hold must be one of 'selected', 'mapped', 'memory'; got"),
        ({"hold": "selected"}, ValueError, "hold='selected' needs the words to read"),
        ({"words": "she"}, TypeError, "words must be an iterable of strings or queries; got str"),
        ({"words": 3}, TypeError, "words must be an iterable of strings or queries; got int 3"),
        ({"words": [3]}, TypeError, "words must be strings or queries; got int 3"),
        ({"words": [b"she"]}, TypeError, "words must be strings or queries; got bytes"),
        ({"limit": 0}, ValueError, "limit must be an integer of at least 1; got int 0"),
        ({"limit": -1}, ValueError, "limit must be an integer of at least 1"),
        ({"limit": 1.5}, TypeError, "limit must be an integer of at least 1; got float 1.5"),
        ({"limit": True}, TypeError, "limit must be an integer of at least 1"),
        ({"lowercase": True}, ValueError, "lowercase must be one of 'first', 'mean'; got bool"),
        ({"keep": "she"}, TypeError, "keep must be a callable that takes a word; got str"),
        ({"min_count": 0, "counts": {}}, ValueError, "min_count must be an integer of at least 1"),
        ({"on_error": "ignore"}, ValueError, "on_error must be one of 'raise', 'skip'"),
        ({"subwords": "sum"}, ValueError, "subwords must be one of 'mean', 'first', 'refuse'"),
        ({"trust_pickle": 1}, TypeError, "trust_pickle must be True or False"),
        ({"progress": "yes"}, TypeError, "progress must be True or False"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be an integer of at least 1; got int 0"),
        ({"n_jobs": -1}, ValueError, "n_jobs must be an integer of at least 1"),
        ({"name": 3}, TypeError, "name must be a string or None; got int 3"),
        ({"vocab_prefix": 3}, TypeError, "vocab_prefix must be a string or None; got int 3"),
    ],
)
def test_wrong_options_are_named(make, options, kind, text):
    with pytest.raises(kind, match=text):
        load(make("text"), **options)


@pytest.fixture
def pipe(tmp_path, monkeypatch):
    """Make a named pipe that somebody writes into, and a folder for its copy."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes here")
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "copies"))

    def pipe(content):
        path = tmp_path / "pipe.any"
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=[content], daemon=True).start()
        return path

    return pipe


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("make", [functools.partial(text_of, header=False), binary_of])
def test_a_pipe_is_read_from_a_copy_that_is_removed(pipe, tmp_path, make, pack):
    words = WORDS if make is not binary_of else ["she", "he"]
    path = pipe(pack(make(words, VECTORS[: len(words)])))
    model = load(path)
    check(model, words)
    assert model.name == "pipe"
    assert list((tmp_path / "copies").iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"), [(b"she 1 2\nhe 3\n", ", line 2: expected"), (b"", " is empty")]
)
def test_a_damaged_pipe_is_named_and_its_copy_removed(pipe, tmp_path, content, message):
    path = pipe(content)
    with pytest.raises(ValueError, match=f"{path}{message}"):
        load(path)
    gc.collect()  # the error knew the source
    assert list((tmp_path / "copies").iterdir()) == []


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("glove.6B.50d.txt", "glove.6B.50d"),
        ("vectors", "vectors"),
        (".hidden", ".hidden"),
        ("a b.vec", "a b"),
        ("x.safetensors", "x"),
    ],
)
def test_a_model_is_called_like_its_file(write, file, name):
    content = text_of(WORDS, VECTORS, header=True)
    assert load(write(content, file)).name == name
    assert load(write(content, file), words=["she"]).name == name
    assert load(write(content, file), "").name == ""


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
    with pytest.raises(FileNotFoundError, match="Did you mean 'glove-twitter-25'"):
        load("glove-twiter-25")
    with pytest.raises(TypeError, match="source must be .*got int 3"):
        load(3)


@pytest.mark.parametrize(
    ("written", "asked", "options"),
    [
        (unicodedata.normalize("NFD", "niña"), "niña", {"unicode_form": "NFD"}),
        ("niña", unicodedata.normalize("NFD", "niña"), {"unicode_form": "NFC"}),
        (
            "aujourd\u2019hui",
            "aujourd'hui",
            {"apostrophes": "typographic"},
        ),
    ],
)
def test_words_of_a_query_are_read_in_all_forms_that_unicode_has(tmp_path, written, asked, options):
    path = tmp_path / "m.txt"
    path.write_text(f"{written} 1 2\nel 2 1\n", encoding="utf-8")
    query = Query([[asked]], [["el"]])
    model = load(path, words=query)
    lost, found = get_embeddings_from_set(model, [asked], [options])
    assert not lost
    assert list(found) == [written]
