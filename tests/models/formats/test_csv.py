"""CSV and TSV: told from other text, with any separator, quotes and columns."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from model_files import at_most, check_source, read_all

from wefe.models.formats._csv import CsvSource, looks_like_csv
from wefe.models.formats._open import open_file
from wefe.models.formats._source import Reading

PLAIN, LENIENT = Reading(), Reading(lenient=True)
# Words that pandas takes for missing values, that need quotes, and that split lines elsewhere.
WORDS = ["null", "NA", "new, york", 'a "b"', '"', ",", ";", "naïve", "a\x85b\u2028c"]
VECTORS = np.arange(27, dtype=np.float32).reshape(9, 3) / 7
FLOAT = st.floats(width=32, allow_nan=False, allow_infinity=False)
fuzz = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def text(write):
    return lambda content: write(content.encode(errors="surrogateescape"), "m.csv")


def csv_of(words=WORDS, vectors=VECTORS, sep=",", header=None, **options):
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=sep, **{"lineterminator": "\n", **options})
    if header:
        writer.writerow(header)
    for word, vector in zip(words, np.asarray(vectors), strict=True):
        writer.writerow([word, *vector.tolist()])
    return stream.getvalue()


@pytest.mark.parametrize("sep", [",", "\t", ";"])
@pytest.mark.parametrize("header", [None, ["word", "d0", "d1", "d2"], ["irgendwas", "x", "y", "z"]])
@pytest.mark.parametrize(
    "options",
    [{}, {"quoting": csv.QUOTE_ALL}, {"quoting": csv.QUOTE_NONNUMERIC}, {"lineterminator": "\r\n"}],
    ids=["minimal", "all quoted", "words quoted", "Windows"],
)
def test_csv_with_any_separator_and_quotes_is_read(text, sep, header, options):
    path = text(csv_of(sep=sep, header=header, **options))
    assert looks_like_csv(path.read_bytes()) == sep
    check_source(CsvSource(path, PLAIN), WORDS, VECTORS)


@pytest.mark.parametrize("options", [{}, {"index_label": "word"}, {"header": False}])
def test_csv_of_pandas_is_read(text, options):
    vectors = np.tile(VECTORS, 2)
    table = pd.DataFrame(vectors, index=WORDS)
    check_source(CsvSource(text(table.to_csv(**options)), PLAIN), WORDS, vectors)
    # The row numbers are no dimension.
    path = text(table.reset_index(names="word").to_csv())
    check_source(CsvSource(path, PLAIN), WORDS, vectors)


@pytest.mark.parametrize(
    ("content", "words", "vectors"),
    [
        ("token,count,a,b\nshe,9,1.5,-2\n", ["she"], [[1.5, -2]]),
        ("count,token,a,b\n9,she,1.5,-2\n", ["she"], [[1.5, -2]]),
        ("a,b,token,count\n1.5,-2,she,9\n", ["she"], [[1.5, -2]]),
        ("a,token,b,id\n1.5,she,-2,7\n", ["she"], [[1.5, -2]]),
        # A word that names columns elsewhere is a word.
        *((f"{word},0.5\nshe,2\n", [word, "she"], [[0.5], [2]]) for word in ("word", "count")),
        # A quote that is a word needs no quotes; one that is not closed swallows no lines.
        (
            '"\t1\nshe\t3\n""""\t5\na"b\t7\n"x\t9\n',
            ['"', "she", '"', 'a"b', '"x'],
            [[1], [3], [5], [7], [9]],
        ),
        ("\ufeff\n\r\nshe,1,2\n\nhe,3,4\n \n\n", ["she", "he"], [[1, 2], [3, 4]]),
    ],
)
def test_words_and_numbers_are_found_in_any_layout(text, content, words, vectors):
    read, rows = read_all(CsvSource(text(content), PLAIN))
    assert (read, np.array(rows).tolist()) == (words, vectors)


@fuzz
@given(
    vectors=st.lists(st.tuples(FLOAT, FLOAT), min_size=3, max_size=3),
    digits=st.sampled_from([repr, "{:.17g}".format, "{:.9e}".format, "{:.3f}".format]),
    sep=st.sampled_from(",\t;"),
)
def test_every_number_is_read_as_python_reads_it(tmp_path, vectors, digits, sep):
    lines = [[word, *map(digits, row)] for word, row in zip("abc", vectors, strict=True)]
    (tmp_path / "m.csv").write_text("\n".join(map(sep.join, lines)))
    expected = np.array([[float(field) for field in line[1:]] for line in lines])
    with np.errstate(over="ignore"):
        check_source(CsvSource(tmp_path / "m.csv", PLAIN), list("abc"), expected.astype("f4"))


@fuzz
@given(
    words=st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=6),
        min_size=1,
        max_size=5,
        unique=True,
    ),
    sep=st.sampled_from(",\t;"),
)
@example(words=[""], sep=",")
@example(words=["\ufeff"], sep=",")
def test_every_word_that_csv_writes_is_read(tmp_path, words, sep):
    path = tmp_path / "m.csv"
    words = ["a first word", *words]
    vectors = np.arange(len(words) * 2, dtype=np.float32).reshape(-1, 2) + 0.5
    path.write_text(csv_of(words, vectors, sep), encoding="utf-8", newline="")
    check_source(CsvSource(path, PLAIN), words, vectors)


WRONG = ["he,3", "he,3,4,5", "he,3,4,5,6", "he,3,x", "he,3,", "he,3,1_0", "he,3,0x10", ",,", "he"]
WRONG += ["h\0e,3,4", "he,3,٤", "h" * 5000 + ",3,4", "he,3,4" + " " * 9999, "h\udcff,3,4"]


@pytest.mark.parametrize("line", WRONG, ids=range(len(WRONG)))
@pytest.mark.parametrize("first", ['"she",1,2', "she,1,2"])
def test_a_wrong_line_is_named_or_skipped(text, first, line):
    path = text(f"{first}\n\n{line}\nx,5,6\n")
    with pytest.raises(ValueError, match=r"m\.csv, line 3: .* 2 numbers"):
        read_all(CsvSource(path, PLAIN))
    source = CsvSource(path, LENIENT)
    check_source(source, ["she", "x"], np.array([[1, 2], [5, 6]], np.float32), n_passes=1)
    assert source.n_skipped == 1


def test_of_other_words_numbers_are_not_parsed(text):
    path = text("she,1,2\nhe,3,x\nart,5,6\nshe,7,8\n")
    words, vectors = CsvSource(path, PLAIN).select(frozenset(["art", "she"]))
    assert (words, vectors.tolist()) == (["she", "art"], [[1, 2], [5, 6]])
    with pytest.raises(ValueError, match="line 2"):
        CsvSource(path, PLAIN).select(frozenset(["he"]))
    path = text("she,1,2\nhe,3,4\nart,5")
    with pytest.raises(ValueError, match="line 3"):
        CsvSource(path, PLAIN).select(frozenset(["she"]))
    source = CsvSource(path, LENIENT)
    assert source.select(frozenset(["she"]))[0] == ["she"]
    assert source.n_skipped == 1


@pytest.mark.parametrize("end", ["", '",3,4\n'])
@pytest.mark.parametrize("field", ["a", '""', '","'])
def test_a_field_without_end_is_refused_in_little_memory(text, field, end):
    path = text('she,5,6\n"' + field * ((4 << 20) // len(field)) + end)
    with at_most(6 * path.stat().st_size), pytest.raises(ValueError, match=r"m\.csv, line 2: "):
        read_all(CsvSource(path, PLAIN))


@pytest.mark.parametrize("content", ["she 1 2\n", "she" + ",1" * 600_000], ids=["text", "long"])
def test_other_text_is_no_csv(text, content):
    with pytest.raises(ValueError, match=r"m\.csv is not CSV"):
        CsvSource(text(content), PLAIN)


def test_only_a_part_of_csv_is_in_memory(text):
    line = ",".join(["0.125"] * 100)
    source = CsvSource(text("".join(f"word{row},{line}\n" for row in range(50_000))), PLAIN)
    # The file has 31 MB, the vectors 20.
    with at_most(25_000_000):
        assert sum(len(words) for words, _ in source.blocks()) == 50_000


@pytest.mark.parametrize(
    ("head", "sep"),
    [
        ("she,0.1,0.2", ","),
        ("she, 0.1, 0.2\nhe, 1, 2\n", ","),
        ("she\t1e-5\t-2\n", "\t"),
        ('"new, york",0.1,0.2\n', ","),
        ('",",0.1,0.2\n', ","),
        ("1,000;0.1;0.2\n", ";"),
        ("she,nan,inf\n", ","),
        ("she,5\n", ","),
        (",0,1,2\nshe,0.1,0.2,0.3\n", ","),
        ("\n\nshe,1,2\n", ","),
        ("she," + ",".join(["0.123456"] * 1000), ","),
        ("word," + ",".join(f"dim_{d}" for d in range(1000)), ","),
        (",".join(f"dim_{d}" for d in range(400)) + "\nshe," + "0.123," * 400, ","),
        ("a,b\tc,d\n", None),
        (", 0.1 0.2\n, 0.3 0.4\n", None),
        ("1,000 0.1 0.2\n", None),
        ("a,b,c,d " + "0.123 " * 1000, None),
        ("3 2\nshe,1,2\n", None),
        ("she 1,5 2,5\n", None),
        ("she\n", None),
        ("", None),
        ("\n", None),
        ("name,city\nbob,paris\n", None),
        ('{"she": [0.1, 0.2]}', None),
        ("she\t0.1 0.2\n", None),
        ("she,0.1,x\n", None),
        ("One, two, three. " * 400, None),
    ],
)
def test_csv_is_told_by_content(head, sep):
    assert looks_like_csv(head.encode()[:4096]) == sep


GLOVE_WORD = st.text(
    st.one_of(st.sampled_from(',;"1.5-'), st.characters(exclude_categories=["Cs", "Zs", "Cc"])),
    min_size=1,
    max_size=12,
)
NUMBER = st.floats(-9, 9, width=32)


@fuzz
@given(
    words=st.lists(GLOVE_WORD, min_size=1, max_size=20),
    numbers=st.lists(NUMBER, min_size=2, max_size=40),
    header=st.booleans(),
)
@example(words=["1,2"], numbers=[0.5, 1.0], header=False)
def test_glove_and_word2vec_text_is_never_csv(tmp_path, words, numbers, header):
    lines = [" ".join([word, *map(repr, numbers)]) for word in words]
    if header:
        lines.insert(0, f"{len(words)} {len(numbers)}")
    path = tmp_path / "m.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert not isinstance(open_file(path, PLAIN), CsvSource)
