"""CSV and TSV: told from other text, with any separator, quotes and columns."""

import csv
import gzip
import io

import numpy as np
import pandas as pd
import pytest
from model_files import at_most, check_source, read_all

from wefe import load
from wefe.models._types import Reading
from wefe.models.formats import _text
from wefe.models.formats._frames import CsvSource, looks_like_csv
from wefe.models.formats._open import open_file
from wefe.models.formats._source import PackedFile

PLAIN, LENIENT = Reading(), Reading(on_error="skip")
# Words that pandas takes for missing values, that need quotes, and that split lines elsewhere.
WORDS = ["null", "NA", "new, york", 'a "b"', '"', ",", ";", "naïve", "a\x85b\u2028c"]
VECTORS = np.arange(27, dtype=np.float32).reshape(9, 3) / 7


@pytest.fixture
def text(write):
    return lambda content: write(content.encode(errors="surrogateescape"), "m.csv")


def csv_of(words, vectors, sep=",", header=None, **options):
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=sep, **{"lineterminator": "\n", **options})
    if header:
        writer.writerow(header)
    writer.writerows([word, *vector] for word, vector in zip(words, vectors, strict=True))
    return stream.getvalue()


@pytest.mark.parametrize("sep", [",", "\t", ";"])
@pytest.mark.parametrize("header", [None, ["word", "d0", "d1", "d2"], ["irgendwas", "x", "y", "z"]])
@pytest.mark.parametrize("options", [{}, {"quoting": csv.QUOTE_ALL}, {"lineterminator": "\r\n"}])
def test_csv_with_any_separator_and_quotes_is_read(text, sep, header, options):
    path = text(csv_of(WORDS, VECTORS.tolist(), sep, header, **options))
    assert looks_like_csv(path.read_bytes()) == sep
    check_source(CsvSource(PackedFile(path), PLAIN), WORDS, VECTORS)


def test_csv_of_pandas_is_read(text):
    vectors = np.tile(VECTORS, 2)
    table = pd.DataFrame(vectors, index=WORDS)
    for written in (table.to_csv(), table.reset_index(names="word").to_csv(index=False)):
        check_source(CsvSource(PackedFile(text(written)), PLAIN), WORDS, vectors)


@pytest.mark.parametrize(
    ("content", "words", "vectors"),
    [
        # A word that names columns elsewhere is a word.
        ("word,0.5\nshe,2\n", ["word", "she"], [[0.5], [2]]),
        # A quote that is a word needs no quotes; one that is not closed swallows no lines.
        ('"\t1\n""""\t5\na"b\t7\n"x\t9\n', ['"', '"', 'a"b', '"x'], [[1], [5], [7], [9]]),
        (",1,2\n\ufeff,3,4\n", ["", "\ufeff"], [[1, 2], [3, 4]]),
        ("name,x\nshe,1", ["she"], [[1]]),
        ("\ufeff\n\r\nshe,1,2\n\nhe,3,4\n \n\n", ["she", "he"], [[1, 2], [3, 4]]),
    ],
)
def test_words_and_numbers_are_found_in_any_layout(text, content, words, vectors):
    read, rows = read_all(CsvSource(PackedFile(text(content)), PLAIN))
    assert (read, np.array(rows).tolist()) == (words, vectors)


WRONG = [
    "he,3",
    "he,3,4,5",
    "he,3,x",
    "he,3,",
    "he,3,4,",
    "he,3,1_0",
    "he,3,0x10",
    ",,",
    "h\0e,3,4",
    "he,3,٤",
]
WRONG += ["h\udcff,3,4"]


@pytest.mark.parametrize("line", WRONG, ids=range(len(WRONG)))
@pytest.mark.parametrize("first", ['"she",1,2', "she,1,2"])
def test_a_wrong_line_is_named_or_skipped(text, first, line):
    path = text(f"{first}\n\n{line}\nx,5,6\n")
    with pytest.raises(ValueError, match=r"m\.csv, line 3: .* 2 numbers"):
        read_all(CsvSource(PackedFile(path), PLAIN))
    source = CsvSource(PackedFile(path), LENIENT)
    check_source(source, ["she", "x"], np.array([[1, 2], [5, 6]], np.float32), n_passes=1)
    assert source.n_skipped == 1


def test_of_other_words_numbers_are_not_parsed(text):
    path = text("she,1,2\nhe,3,x\nart,5,6\nshe,7,8\n")
    assert read_all(CsvSource(PackedFile(path), PLAIN), ["art", "she"])[0] == ["she", "art", "she"]
    with pytest.raises(ValueError, match="line 2"):
        read_all(CsvSource(PackedFile(path), PLAIN), ["he"])


def test_columns_that_are_no_dimensions_are_refused(text):
    for content, name in (("word,count,a\nshe,9,1.5\n", "count"), (",word,a\n0,she,1.5\n", "word")):
        with pytest.raises(ValueError, match=rf"m\.csv: expected words .*'{name}'"):
            CsvSource(PackedFile(text(content)), PLAIN)


def test_csv_may_be_packed(text):
    path = text(csv_of(WORDS, VECTORS.tolist(), header=["word", "x", "y", "z"]))
    packed = path.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    model = load(packed)
    assert (model.name, [*model.vocab]) == ("m", WORDS)
    np.testing.assert_array_equal(model.vectors, VECTORS)


@pytest.mark.slow
def test_only_a_part_of_csv_is_in_memory(text, monkeypatch):
    monkeypatch.setattr(_text, "_PARSE_BYTES", 1 << 16)
    monkeypatch.setattr(_text, "keep_freed_memory", lambda: None)
    line = ",".join(["0.125"] * 1000)
    source = CsvSource(PackedFile(text(f"word,{line}\n" * 2000)), PLAIN)
    # The file has 12 MB, the vectors 8.
    with at_most(6_500_000):
        assert sum(len(words) for words, _ in source.blocks()) == 2000


@pytest.mark.parametrize(
    ("head", "sep"),
    [
        ("she, 0.1, 0.2\nhe, 1, 2\n", ","),
        ('",",0.1,0.2\n', ","),
        (",0,1,2\nshe,0.1,0.2,0.3\n", ","),
        ("she," + ",".join(["0.123456"] * 1000), ","),
        (",".join(["word", *(f"dim_{d}" for d in range(600))]) + "\nshe," + "0.123," * 600, ","),
        ("3 2\nshe,1,2\n", ""),
        ("\n", ""),
        ("she,x,0.1\n", ""),
        ("One, two, three. " * 400, ""),
    ],
)
def test_csv_is_told_by_content(head, sep):
    assert looks_like_csv(head.encode()[:4096]) == sep


@pytest.mark.parametrize(
    "content", ["1,2 0.5 1.0\n", ", 1 2\n; 3 4\n", "2 3\na,b 1 2 3\nc;1 2 3 4\n", 'a"b, 1 2\n']
)
def test_glove_and_word2vec_text_is_never_csv(text, content):
    assert not isinstance(open_file(text(content), PLAIN), CsvSource)
