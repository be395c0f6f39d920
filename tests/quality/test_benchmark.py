"""Tests of benchmarks and their files."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from wefe.quality import Benchmark, list_benchmarks, load_benchmark
from wefe.quality import _benchmark as module

needs_gensim = pytest.mark.skipif(find_spec("gensim") is None, reason="needs gensim's files")
BIG_CATS = ("tiger", "lion", "cougar", "jaguar", "leopard", "cheetah", "wildcat", "lynx")


@pytest.fixture
def mirror(monkeypatch):
    """The files that are downloaded otherwise."""
    beside_repository = Path(__file__).parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("WEFE_DATA_DIR", beside_repository))
    if not (folder / "word_benchmarks").is_dir():
        pytest.skip("no local mirror of the benchmarks (set WEFE_DATA_DIR)")
    monkeypatch.setenv("WEFE_DATA_DIR", str(folder))


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="items.txt", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return write_file


@needs_gensim
@pytest.mark.parametrize("entry", list_benchmarks(), ids=lambda entry: entry["name"])
def test_benchmarks_are_what_the_list_says(entry, mirror):
    benchmark = load_benchmark(entry["name"])
    assert all(
        getattr(benchmark, key) == entry[key] for key in ("name", "kind", "n_items", "source")
    )
    assert all(word == word.strip() != "" for word in benchmark.words)


@pytest.mark.parametrize(
    ("name", "first", "score"),
    [
        ("men", ("sun", "sunlight"), 50.0),
        ("simverb3500", ("take", "remove"), 6.81),
        ("msr-analogies", ("good", "better", "rough", "rougher", "JJ_JJR"), None),
        ("ap", ("acne", "illness"), None),
        ("outliers-888", ("dog", *BIG_CATS, "Big_cats"), None),
    ],
)
def test_items_of_downloaded_benchmarks_are_those_of_their_files(mirror, name, first, score):
    benchmark = load_benchmark(name)
    assert benchmark.items[16 if name == "outliers-888" else 0] == first
    assert benchmark.scores[:1] == (() if score is None else (score,))


@needs_gensim
def test_the_halves_of_wordsim353_are_its_pairs(mirror):
    whole, *halves = (load_benchmark(f"wordsim353{half}") for half in ("", "-rel", "-sim"))
    pairs, *parts = ({*zip(each.items, each.scores, strict=True)} for each in (whole, *halves))
    # People judged ('money', 'cash') twice.
    assert pairs - set.union(*parts) == {(("money", "cash"), 9.08)}
    assert set.union(*parts) < pairs


def test_a_benchmark_that_was_changed_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("WEFE_DATA_DIR", str(tmp_path))
    path = tmp_path / "word_benchmarks/word-similarity/monolingual/en/men.csv"
    path.parent.mkdir(parents=True)
    path.write_text(",word1,word2,similarity\n0,a-n,b-n,1.0\n")
    with pytest.raises(ValueError, match=r"is not the published .*men\.csv"):
        load_benchmark("men")


def test_columns_that_are_named_may_stand_in_any_order(write):
    text = ",similarity,word1,word2,relation\n0,6.81,take,remove,x\n1,,,,\n2,1e1,go,walk,y\n"
    benchmark = load_benchmark(write(text))
    assert benchmark.items == (("take", "remove"), ("go", "walk"))
    assert benchmark.scores == (6.81, 10.0)
    # The marks of parts of speech are no part of a word.
    marked = load_benchmark(write("word1,word2,similarity\nsun-n,hot-j,1\n"))
    assert marked.items == (("sun", "hot"),)
    text = "category,outliers,words\ncats,\"['dog', '']\",\"['lion', 'tiger']\"\n"
    benchmark = load_benchmark(write(text))
    assert benchmark.kind == "outlier"
    assert benchmark.items == (("dog", "lion", "tiger", "cats"),)
    assert benchmark.words == {"dog", "lion", "tiger"}


def test_without_gensim_the_error_says_what_to_install(monkeypatch):
    monkeypatch.delenv("WEFE_DATA_DIR", raising=False)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "wefe\[gensim\]"'):
        load_benchmark("simlex999")


@pytest.mark.parametrize(
    "text",
    [
        "cup\tmug\t9.1\ncup\ttree\t0.4\n",
        "Word 1\tWord 2\tHuman (mean)\ncup\tmug\t9.1\n\ncup\ttree\t0.4",
        "# from people\nWord 1,Word 2,Human (mean)\ncup,mug,9.1\ncup , tree, 4e-1\n",
        "cup mug 9.1\r\n  cup   tree 0.4  \r\n",
        "\ufeffcup mug 9.1\ncup tree 0.4",
    ],
    ids=["tabs", "header", "commas", "spaces", "byte order mark"],
)
def test_similarity_files_are_understood(write, text):
    benchmark = load_benchmark(write(text))
    assert benchmark.kind == "similarity"
    assert benchmark.items == (("cup", "mug"), ("cup", "tree"))
    assert benchmark.scores == (9.1, 0.4)
    assert benchmark.name == "items"
    assert benchmark.source.endswith("items.txt")


def test_analogy_files_are_understood(write):
    path = write(": family tree\nboy girl he she\n# a comment\n:jobs\nking queen man woman\n")
    benchmark = load_benchmark(path)
    assert (benchmark.kind, benchmark.scores) == ("analogy", ())
    assert benchmark.items == (
        ("boy", "girl", "he", "she", "family tree"),
        ("king", "queen", "man", "woman", "jobs"),
    )
    assert benchmark.words == {"boy", "girl", "he", "she", "king", "queen", "man", "woman"}
    without_sections = load_benchmark(write("boy girl he she\n"))
    assert without_sections.items == (("boy", "girl", "he", "she", ""),)


def test_words_of_analogies_may_contain_commas(write):
    path = write(": capitals\nWashington,D.C.\tUSA Paris France\n", "analogies.txt")
    (item,) = load_benchmark(path).items
    assert item == ("Washington,D.C.", "USA", "Paris", "France", "capitals")


def test_words_without_a_category_are_ignored(write):
    path = write("word,category\ncat,\ndog,animal\n", "animals.csv")
    assert load_benchmark(path).items == (("dog", "animal"),)


def test_columns_in_quotes_are_understood(write):
    text = '"Word 1","Word 2",Mean\n"New York, NY", "the ""Big"" one",9.5\ncup,mug,"8"\n'
    benchmark = load_benchmark(write(text))
    assert benchmark.items == (("New York, NY", 'the "Big" one'), ("cup", "mug"))
    assert benchmark.scores == (9.5, 8.0)
    assert load_benchmark(write('"ice cream"\tfood\n')).words == {"ice cream"}
    # A quote that opens nothing is part of the word.
    assert load_benchmark(write('5" disk\tthing\n"tis\tword\n')).words == {'5" disk', '"tis'}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cup mug 9.1\ncup tree\n", r"items\.txt, line 2: 'cup tree'"),
        ("a b 1\na b nan\n", "line 2: 'a b nan'"),
        ("a b 1.0 2.0\n", "line 1: .* write a header"),
        (": s\na b c\n", "line 2: .*four words"),
        ("a\tx\nb\tx\ty\n", "line 2: .*a word and a category"),
        ("a\tb\t6,77\nc\td\t1\n", r"line 1: 'a\\tb\\t6,77'"),
        ("# nothing\n\n", "no items"),
        (": only a section\n", "of kind 'analogy'"),
        ("word1,word2,similarity\na,b,1\na,b\n", "line 3: 'a,b' .* word1, word2"),
        ("word1,word2,similarity\na,b,x\n", "line 2: 'a,b,x'"),
        ("words,outliers,category\na,b,c\n", "line 2: 'a,b,c' .* outliers"),
    ],
)
def test_a_line_that_is_not_of_the_kind_is_shown(write, text, message):
    with pytest.raises(ValueError, match=message):
        load_benchmark(write(text))


def test_what_is_no_file_and_no_name_is_refused(write, tmp_path):
    for source, error, message in (
        ("simlex-999", FileNotFoundError, "Did you mean 'simlex999'"),
        (tmp_path, FileNotFoundError, "no file"),
        (3, TypeError, "got int 3"),
        (write("café\tcup\t1\n", encoding="latin-1"), ValueError, "utf-8"),
    ):
        with pytest.raises(error, match=message):
            load_benchmark(source)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("x", "likeness", [("a", "b")]), ValueError, "kind must be one of"),
        (("x", "similarity", []), ValueError, "items is empty"),
        (("x", "similarity", [("a", "b")], [float("nan")]), ValueError, "finite"),
        (("x", "analogy", [("a", "b", "c", "d")]), ValueError, "5 strings; item 0 is"),
        (("x", "categorisation", [("a", 1)]), ValueError, "2 strings; item 0"),
        ((1, "categorisation", [("a", "b")]), TypeError, "name must be"),
    ],
)
def test_what_is_no_benchmark_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Benchmark(*arguments)
