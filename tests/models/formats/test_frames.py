"""Tables of words and numbers: Parquet, CSV and TSV, DataFrames and dicts."""

import csv
import io
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from wefe.models.formats import _csv, _parquet
from wefe.models.formats._csv import CsvSource, looks_like_csv
from wefe.models.formats._frame import open_dict, open_frame
from wefe.models.formats._open import open_file
from wefe.models.formats._parquet import ParquetSource
from wefe.models.formats._source import Reading

PLAIN = Reading()
LENIENT = Reading(lenient=True)
# Words that pandas takes for missing values, that need quotes, and that split lines elsewhere.
WORDS = ["null", "NA", "nan", "None", "new, york", 'a "b"', '"', ",", ";", "naïve", "a\x85b\u2028c"]
VECTORS = np.arange(33, dtype=np.float32).reshape(11, 3) / 7
fuzz = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def frame(words=WORDS, vectors=VECTORS):
    columns = [str(column) for column in range(np.shape(vectors)[1])]
    return pd.DataFrame(vectors, index=words, columns=columns)


def whole(source):
    """All words and vectors of a source."""
    blocks = list(source.blocks())
    words = [word for words, _ in blocks for word in words]
    return words, np.concatenate([vectors for _, vectors in blocks])


def check(source, words=WORDS, vectors=VECTORS):
    assert source.dim == vectors.shape[1]
    read_words, read = whole(source)
    assert read_words == list(words)
    np.testing.assert_array_equal(read, vectors, strict=True)


def check_selection(source, words=WORDS, vectors=VECTORS):
    """A selection is in the order of the source, whatever is missing."""
    for rows in ([], list(range(0, len(words), 2)), list(range(len(words)))):
        asked = frozenset(["no such word", *(words[row] for row in reversed(rows))])
        chosen, read = source.select(asked)
        assert chosen == [words[row] for row in rows]
        np.testing.assert_array_equal(read, vectors[rows].reshape(-1, source.dim))


# ---- DataFrames and dicts ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("kind", ["category", object, "string"])
def test_words_of_a_frame_are_in_its_index_or_a_column(dtype, kind):
    vectors = VECTORS.astype(dtype)
    table = frame(vectors=vectors).reset_index().astype({"index": kind})
    check(open_frame(table), vectors=vectors)
    check(open_frame(table.set_index("index")), vectors=vectors)
    check(open_frame(table.iloc[:, ::-1]), vectors=vectors[:, ::-1])
    check(open_frame(table[table.index > 4]), WORDS[5:], vectors[5:])
    check(open_frame(table.assign(count=5, word="x").set_index("index")), vectors=vectors)


def test_of_several_columns_of_strings_that_with_a_telling_name_has_the_words():
    table = frame().reset_index(names="Token").assign(pos="x", rank=range(11), known=True)
    check(open_frame(table))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("int8", "float32"), ("int64", "float64"), ("Float32", "float32"), ("Int64", "float64")],
)
def test_whole_numbers_of_a_frame_become_floats(dtype, expected):
    numbers = np.arange(33).reshape(11, 3)
    check(open_frame(frame(vectors=numbers).astype(dtype)), WORDS, numbers.astype(expected))


def test_missing_numbers_of_a_frame_are_nan():
    table = frame(["she", "he"], [[1.0, 2.0], [3.0, 4.0]]).astype("Float64")
    table.iloc[1, 1] = pd.NA
    check(open_frame(table), ["she", "he"], np.array([[1.0, 2.0], [3.0, np.nan]]))


def test_vectors_of_a_frame_may_be_in_one_column_of_lists():
    check(open_frame(pd.DataFrame({"x": WORDS, "vector": list(VECTORS), "n": 1})))


def test_of_a_word_that_a_frame_has_twice_the_first_is_kept(caplog):
    check(open_frame(frame(["she", "he", "she"], VECTORS[:3])), ["she", "he"], VECTORS[:2])
    assert "1 words twice" in caplog.text


@pytest.mark.parametrize(
    ("table", "culprit"),
    [
        (frame().iloc[:0], "0 rows"),
        (frame(range(11)), "'0': 'float'"),
        (pd.DataFrame({"a": ["x"], "b": ["y"], "0": [1.0]}), "'b': 'text'"),
        (pd.DataFrame({"w": ["she"]}), "'w': 'text'"),
        (pd.DataFrame({"n": [5], "0": [1.0]}, index=["she"]), "'n': 'int'"),
        (pd.DataFrame({"u": [[1.0]], "v": [[1.0]]}, index=["she"]), "'u': 'list'"),
        (pd.DataFrame({"w": ["she", None], "0": [1.0, 2]}), "row 1.*keep_default_na=False"),
        (pd.DataFrame({"w": ["a", "b"], "v": [[1.0], [1.0, 2]]}), "row 1.*'b'"),
    ],
)
def test_other_frames_are_refused(table, culprit):
    with pytest.raises(ValueError, match=f"the DataFrame.*{culprit}"):
        open_frame(table)


def test_numbers_of_a_dict_keep_their_type_and_lists_become_float64():
    for dtype in (np.float16, np.float32, np.float64):
        vectors = VECTORS.astype(dtype)
        check(open_dict(dict(zip(WORDS, vectors, strict=True))), vectors=vectors)
    check(open_dict({"a": [1, 0], "b": (0.5, 1)}), ["a", "b"], np.array([[1, 0], [0.5, 1]]))


@pytest.mark.parametrize(
    "value", [[1.0], "x", ["x", "y"], [[1.0, 2.0]], [None, 1.0], [[1], [1, 2]], [True, True], 1.0]
)
def test_the_first_wrong_word_of_a_dict_is_named(value):
    with pytest.raises(ValueError, match=r"the dict.*2 numbers for 'he'"):
        open_dict({"she": [1.0, 2.0], "he": value, "x": value})
    for mapping in ({}, {5: [1.0]}, {"she": []}):
        with pytest.raises(ValueError, match="the dict"):
            open_dict(mapping)


# ---- Parquet -----------------------------------------------------------------------------------


@pytest.fixture
def arrow():
    return pytest.importorskip("pyarrow")


@pytest.fixture
def write(arrow, tmp_path):
    """Write columns as a Parquet file."""
    import pyarrow.parquet

    def written(columns, **options):
        table = columns if isinstance(columns, arrow.Table) else arrow.table(columns)
        pyarrow.parquet.write_table(table, tmp_path / "m.parquet", **options)
        return tmp_path / "m.parquet"

    return written


def lists(kind="list", vectors=VECTORS):
    import pyarrow as arrow

    make = {"list": arrow.list_, "large": arrow.large_list}.get(
        kind, lambda value: arrow.list_(value, vectors.shape[1])
    )
    return arrow.array(vectors.tolist(), make(arrow.from_numpy_dtype(vectors.dtype)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["index", "column", "filtered"])
@pytest.mark.parametrize("name", ["word", "irgendwas", None])
def test_parquet_of_pandas_is_read(arrow, tmp_path, dtype, form, name):
    table = frame(vectors=VECTORS.astype(dtype)).rename_axis(name)
    if form != "index":
        table = table.reset_index()
    rows = np.arange(11) != (1 if form == "filtered" else 11)  # with a column of row numbers
    table[rows].to_parquet(tmp_path / "m.parquet")
    source = ParquetSource(tmp_path / "m.parquet", PLAIN)
    assert (source.name, source.n_words, source.expected_words) == ("m", rows.sum(), rows.sum())
    words = [word for word, row in zip(WORDS, rows, strict=True) if row]
    check(source, words, VECTORS[rows].astype(dtype))
    check_selection(source, words, VECTORS[rows].astype(dtype))


@pytest.mark.parametrize("kind", ["list", "large", "fixed"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_vectors_of_parquet_may_be_in_one_column_of_lists(write, kind, dtype):
    vectors = VECTORS.astype(dtype)
    path = write({"id": range(11), "text": WORDS, "embedding": lists(kind, vectors)})
    check(ParquetSource(path, PLAIN), vectors=vectors)
    check_selection(ParquetSource(path, PLAIN), vectors=vectors)


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_strings_of_parquet_may_be_of_any_kind(arrow, write, kind):
    words = arrow.array(WORDS)
    words = words.dictionary_encode() if kind == "dictionary" else words.cast(kind)
    check(ParquetSource(write({"pos": ["x"] * 11, "Token": words, "v": lists()}), PLAIN))


def test_whole_and_missing_numbers_of_parquet_become_floats(arrow, write):
    numbers = np.array([[1, 2], [3, 4]], np.int8)
    path = write({"w": ["a", "b"], "v": lists(vectors=numbers)})
    check(ParquetSource(path, PLAIN), ["a", "b"], numbers.astype(np.float32))
    path = write({"w": ["a", "b", "c"], "x": [1.0, np.inf, None], "y": [np.nan, 2.0, -np.inf]})
    expected = np.array([[1, np.nan], [np.inf, 2], [np.nan, -np.inf]])
    check(ParquetSource(path, PLAIN), ["a", "b", "c"], expected)


def test_row_groups_and_batches_of_parquet_are_one_table(write, monkeypatch):
    monkeypatch.setattr(_parquet, "CHUNK_ROWS", 2)
    path = write({"w": WORDS, "v": lists()}, row_group_size=5)
    assert len(list(ParquetSource(path, PLAIN).blocks())) >= 6
    check(ParquetSource(path, PLAIN))
    path = write({"w": ["she", "he", "she", "he"], "x": [1.0, 2.0, 3.0, 4.0]})
    words, vectors = ParquetSource(path, PLAIN).select(frozenset(["he", "she"]))
    assert (words, vectors.tolist()) == (["she", "he"], [[1.0], [2.0]])


@pytest.mark.parametrize(
    ("columns", "culprit"),
    [
        ({"x": [1.0]}, "'x': 'float'"),
        ({"a": ["x"], "b": ["y"], "x": [1.0]}, "'b': 'text'"),
        ({"w": ["a"], "v": [["x"]]}, "'v': 'list'"),
        ({"w": ["a"], "n": [1], "x": [1.0]}, "'n': 'int'"),
        ({"w": ["a"], "v": [[]]}, "'v': 'list'"),
        ({"w": [], "v": []}, "0 rows"),
    ],
)
def test_other_layouts_of_parquet_are_refused(write, columns, culprit):
    with pytest.raises(ValueError, match=rf"m\.parquet: .*{culprit}"):
        ParquetSource(write(columns), PLAIN)


@pytest.mark.parametrize("kind", ["list", "fixed"])
def test_rows_without_a_word_or_vector_are_named_or_left_out(arrow, write, kind):
    make = arrow.list_(arrow.float32(), 1 if kind == "fixed" else -1)
    vectors = arrow.array([[1], None if kind == "fixed" else [1, 2], [3], [4]], make)
    path = write({"w": ["a", "b", None, "d"], "v": vectors})
    with pytest.raises(ValueError, match=r"m\.parquet, row 1: .*'b'"):
        whole(ParquetSource(path, PLAIN))
    source = ParquetSource(path, LENIENT)
    check(source, ["a", "d"], np.array([[1], [4]], np.float32))
    assert source.n_skipped == 2


def test_parquet_that_cannot_be_opened(write, tmp_path, monkeypatch):
    path = write({"w": WORDS, "v": lists()})
    source = ParquetSource(path, PLAIN)
    source.n_words += 1  # as of a damaged file
    with pytest.raises(ValueError, match=r"m\.parquet.* of 12 rows, 11"):
        whole(source)
    with pytest.raises(FileNotFoundError):
        ParquetSource(tmp_path / "n.parquet", PLAIN)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r'pip install "wefe\[parquet\]"'):
        ParquetSource(path, PLAIN)


def test_only_a_part_of_parquet_is_in_memory(arrow, write):
    vectors = np.random.default_rng(1).normal(size=(10_000, 500)).astype(np.float32)
    column = arrow.FixedSizeListArray.from_arrays(vectors.ravel(), 500)
    path = write({"w": [f"word{row}" for row in range(len(vectors))], "v": column})
    del column
    source = ParquetSource(path, PLAIN)
    tracemalloc.start()
    before = arrow.total_allocated_bytes()
    peak = max(arrow.total_allocated_bytes() - before for _ in source.blocks())
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(peak, taken) < vectors.nbytes / 1.5


@pytest.mark.parametrize("n_columns", [20, 2])
def test_parquet_that_promises_too_much_is_refused(arrow, write, n_columns):
    # Equal rows take next to nothing.
    n_rows = 20_000_000 // n_columns
    columns = {f"d{column}": np.zeros(n_rows, np.float32) for column in range(n_columns)}
    path = write({"w": arrow.repeat("a", n_rows), **columns})
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"m\.parquet grows to 160,000,000"):
        ParquetSource(path, PLAIN)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000


@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_a_long_word_that_many_rows_of_parquet_have_is_refused_in_little_memory(arrow, write, kind):
    words = arrow.DictionaryArray.from_arrays(
        np.zeros(5000, np.int8), arrow.array(["x" * (1 << 20)], kind)
    )
    table = {"w": words, "v": np.arange(5000.0)}
    options = {"dictionary_pagesize_limit": 1 << 22, "store_schema": False, "compression": "zstd"}
    path = write(table, **options)
    assert path.stat().st_size < 60_000
    before = arrow.default_memory_pool().max_memory()
    with pytest.raises(ValueError, match=r"m\.parquet is damaged.* more than 4,096 bytes"):
        list(ParquetSource(path, PLAIN).blocks())
    assert arrow.default_memory_pool().max_memory() < max(before, 64 << 20) + (8 << 20)


# ---- CSV ---------------------------------------------------------------------------------------


@pytest.fixture
def text(tmp_path):
    def written(content):
        path = tmp_path / "m.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


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
    check(CsvSource(path, PLAIN))
    check_selection(CsvSource(path, PLAIN))


@pytest.mark.parametrize("options", [{}, {"index_label": "word"}, {"header": False}])
def test_csv_of_pandas_is_read(text, options):
    vectors = np.tile(VECTORS, 2)
    check(CsvSource(text(frame(vectors=vectors).to_csv(**options)), PLAIN), vectors=vectors)
    # The row numbers are no dimension.
    path = text(frame().reset_index(names="word").to_csv())
    check(CsvSource(path, PLAIN))
    check_selection(CsvSource(path, PLAIN))


@pytest.mark.parametrize(
    "header", ["token,count,a,b", "count,token,a,b", "a,b,token,count", "a,token,b,id"]
)
def test_columns_of_a_header_may_have_any_order(text, header):
    values = {"token": "she", "count": "1000", "id": "7", "a": "1.5", "b": "-2"}
    path = text(f"{header}\n{','.join(values[name] for name in header.split(','))}\n")
    check(CsvSource(path, PLAIN), ["she"], np.array([[1.5, -2]], np.float32))
    check_selection(CsvSource(path, PLAIN), ["she"], np.array([[1.5, -2]], np.float32))


@pytest.mark.parametrize("word", ["word", "text", "key", "count", "index"])
def test_a_word_that_names_columns_elsewhere_is_a_word(text, word):
    path = text(f"{word},0.5,1\nshe,2,3\n")
    check(CsvSource(path, PLAIN), [word, "she"], np.array([[0.5, 1], [2, 3]], np.float32))


def test_quotes_that_are_words_need_no_quotes(text):
    lines = '"\t1\t2\nshe\t3\t4\n""""\t5\t6\na"b\t7\t8\n"x\t9\t0\n"\t1\t2\n'
    words, vectors = whole(CsvSource(text(lines), PLAIN))
    assert words == ['"', "she", '"', 'a"b', '"x', '"']
    assert vectors[:, 0].tolist() == [1, 3, 5, 7, 9, 1]


@fuzz
@given(
    vectors=npst.arrays(np.float32, (3, 2), elements=st.floats(width=32)),
    digits=st.sampled_from([repr, "{:.17g}".format, "{:.9e}".format, "{:.3f}".format]),
    sep=st.sampled_from(",\t;"),
)
def test_every_number_is_read_as_python_reads_it(tmp_path, vectors, digits, sep):
    lines = [[word, *map(digits, row)] for word, row in zip("abc", vectors.tolist(), strict=True)]
    (tmp_path / "m.csv").write_text("\n".join(map(sep.join, lines)))
    expected = np.array([[float(field) for field in line[1:]] for line in lines])
    with np.errstate(over="ignore"):
        check(CsvSource(tmp_path / "m.csv", PLAIN), "abc", expected.astype(np.float32))


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
    check(CsvSource(path, PLAIN), words, vectors)
    check_selection(CsvSource(path, PLAIN), words, vectors)


def test_blank_lines_and_a_byte_order_mark_are_skipped(text):
    path = text(b"\xef\xbb\xbf\n\r\nshe,1,2\n\nhe,3,4\n \n\n")
    check(CsvSource(path, PLAIN), ["she", "he"], np.array([[1, 2], [3, 4]], np.float32))


@pytest.mark.parametrize(
    "line",
    [
        *("he,3", "he,3,4,5", "he,3,4,5,6", "he,3,x", "he,3,", "he,3,1_0", "he,3,0x10", ",,", "he"),
        *(
            "h\0e,3,4",
            "he,3,٤",
            "h" * 5000 + ",3,4",
            "he,3,4" + " " * 9999,
        ),
        b"h\xff,3,4",
    ],
)
@pytest.mark.parametrize("first", ['"she",1,2', "she,1,2"])
def test_a_wrong_line_is_named_or_skipped(text, first, line):
    line = line if isinstance(line, bytes) else line.encode()
    path = text(f"{first}\n\n".encode() + line + b"\nx,5,6\n")
    with pytest.raises(ValueError, match=r"m\.csv, line 3: expected a word .* 2 numbers"):
        whole(CsvSource(path, PLAIN))
    source = CsvSource(path, LENIENT)
    check(source, ["she", "x"], np.array([[1, 2], [5, 6]], np.float32))
    assert source.n_skipped == 1


def test_of_other_words_only_the_last_line_is_parsed(text):
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


@pytest.mark.parametrize("end", [b"", b'",3,4\n'])
@pytest.mark.parametrize("field", [b"a", b'""', b"a,", b'","'])
def test_a_field_without_end_is_refused_in_little_memory(text, field, end):
    path = text(b'she,5,6\n"' + field * ((24 << 20) // len(field)) + end)
    size = path.stat().st_size
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"m\.csv, line 2: expected a word of at most 4,096"):
        whole(CsvSource(path, PLAIN))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * size


def test_a_quote_that_is_not_closed_swallows_no_lines(text):
    lines = "".join(f"word{row},1,2\n" for row in range(100_000))
    source = CsvSource(text('"a,1,2\n' + lines), PLAIN)
    words, _ = whole(source)
    assert words[:2] == ['"a', "word0"]
    assert len(words) == 100_001


def test_other_text_is_no_csv(text):
    with pytest.raises(ValueError, match=r"m\.csv is not CSV"):
        CsvSource(text("she 1 2\n"), PLAIN)
    with pytest.raises(ValueError, match=r"m\.csv is not CSV.* at most 16,384"):
        CsvSource(text("she" + ",1" * 20_000), PLAIN)


def test_only_a_part_of_csv_is_in_memory(text):
    line = ",".join(["0.125"] * 100)
    path = text("".join(f"word{row},{line}\n" for row in range(50_000)))
    source = CsvSource(path, PLAIN)
    assert 50_000 <= source.expected_words < 55_000
    tracemalloc.start()
    assert sum(len(words) for words, _ in source.blocks()) == 50_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The file has 31 MB, the vectors 20.
    assert peak < 25_000_000


# ---- Is it CSV? --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "sep"),
    [
        ("she,0.1,0.2", ","),
        ("she, 0.1, 0.2\nhe, 1, 2\n", ","),
        ("she\t1e-5\t-2\n", "\t"),
        ("she;1;2\n", ";"),
        ("new york,0.1,0.2\n", ","),
        ('"new, york",0.1,0.2\n', ","),
        ('",",0.1,0.2\n', ","),
        ("1,000;0.1;0.2\n", ";"),
        ("she,nan,inf\n", ","),
        ("she,5\n", ","),
        (",0,1,2\nshe,0.1,0.2,0.3\n", ","),
        ("word,0,1\nshe,0.1,0.2\n", ","),
        ("word,d0,d1\nshe,0.1,0.2\n", ","),
        ("\n\nshe,1,2\n", ","),
        ("she," + ",".join(["0.123456"] * 1000), ","),
        ("word," + ",".join(f"dim_{d}" for d in range(1000)), ","),
        (",".join(f"dim_{d}" for d in range(400)) + "\nshe," + "0.123," * 400, ","),
        ("a,b\tc,d\n", None),
        (", 0.1 0.2\n, 0.3 0.4\n", None),
        ("1,000 0.1 0.2\n", None),
        ("a,b,c,d " + "0.123 " * 1000, None),
        ("3 2\nshe 1 2\n", None),
        ("3 2\nshe,1,2\n", None),
        ("she 1 2\nhe,1,2\n", None),
        ("she 1,5 2,5\n", None),
        ("she\n", None),
        ("", None),
        ("\n", None),
        ("name,city\nbob,paris\n", None),
        ('{"she": [0.1, 0.2]}', None),
        ("[0.1, 0.2]", None),
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


@fuzz
@given(
    rows=st.integers(2, 40).flatmap(
        lambda dim: st.lists(
            st.tuples(GLOVE_WORD, st.lists(st.floats(-9, 9, width=32), min_size=dim, max_size=dim)),
            min_size=1,
            max_size=20,
        )
    ),
    header=st.booleans(),
)
@example(rows=[("1,2", [0.5, 1.0])], header=False)
def test_glove_and_word2vec_text_is_never_csv(tmp_path, rows, header):
    lines = [" ".join([word, *map(repr, vector)]) for word, vector in rows]
    if header:
        lines.insert(0, f"{len(rows)} {len(rows[0][1])}")
    path = tmp_path / "m.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert not isinstance(open_file(path, PLAIN), _csv.CsvSource)
