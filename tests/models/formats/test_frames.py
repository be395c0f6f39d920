"""Tables of words and numbers: Parquet, CSV and TSV, DataFrames and dicts."""

import csv
import io
import json
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from wefe.models import WordEmbeddingModel
from wefe.models.formats import _frames
from wefe.models.formats._frames import (
    looks_like_csv,
    open_csv,
    open_dict,
    open_frame,
    open_parquet,
)
from wefe.models.formats._source import Reading

PLAIN = Reading()
LENIENT = Reading(lenient=True)
# Words that pandas takes for missing values, that need quotes, and that split lines elsewhere.
WORDS = ["null", "NA", "nan", "None", "new, york", 'a "b"', '"', ",", ";", "naïve", "a\x85b\u2028c"]
VECTORS = np.arange(33, dtype=np.float32).reshape(11, 3) / 7
# Every float32, with infinities and NaN.
NUMBERS = npst.arrays(np.float32, (3, 2), elements=st.floats(width=32))


def frame(words=WORDS, vectors=VECTORS, **options):
    return pd.DataFrame(vectors, index=words, **options)


def whole(source):
    """All words and vectors of a source."""
    words, vectors = [], []
    for block_words, block in source.blocks():
        assert len(block_words) == len(block)
        words += block_words
        vectors.append(block)
    return words, np.concatenate(vectors)


def check(source, words=WORDS, vectors=VECTORS):
    assert source.dim == vectors.shape[1]
    read_words, read = whole(source)
    assert read_words == list(words)
    np.testing.assert_array_equal(read, vectors)
    assert read.dtype == vectors.dtype


def check_selection(source, words=WORDS, vectors=VECTORS):
    """A selection is in the order of the source, whatever is missing."""
    for rows in ([], [len(words) - 1, 0], range(len(words))):
        wanted = [words[row] for row in rows]
        chosen, read = source.select(frozenset(["no such word", *wanted]))
        rows = sorted(rows)
        assert chosen == [words[row] for row in rows]
        np.testing.assert_array_equal(read, vectors[rows])
        assert read.shape == (len(rows), source.dim)


# ---- DataFrames --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_words_of_a_frame_are_in_its_index_or_its_only_column_of_strings(dtype):
    vectors = VECTORS.astype(dtype)
    indexed = frame(vectors=vectors)
    check(open_frame(indexed), vectors=vectors)
    check(open_frame(indexed.reset_index()), vectors=vectors)
    last = pd.concat([indexed.reset_index(drop=True), pd.Series(WORDS, name="w")], axis=1)
    check(open_frame(last), vectors=vectors)


@pytest.mark.parametrize("kind", ["category", object, "string"])
def test_strings_of_a_frame_may_be_of_any_kind(kind):
    table = frame().reset_index()
    table["index"] = table["index"].astype(kind)
    check(open_frame(table))
    check(open_frame(table.set_index("index")))


def test_rows_of_a_filtered_frame_keep_their_words():
    table = frame().reset_index()
    check(open_frame(table[table.index > 4]), WORDS[5:], VECTORS[5:])


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("int8", "float32"), ("int64", "float64"), ("Float32", "float32"), ("Int64", "float64")],
)
def test_whole_numbers_of_a_frame_become_floats(dtype, expected):
    whole_numbers = np.arange(33).reshape(11, 3)
    check(
        open_frame(frame(vectors=whole_numbers).astype(dtype)),
        WORDS,
        whole_numbers.astype(expected),
    )


def test_missing_numbers_of_a_frame_are_nan():
    table = frame(["she", "he"], [[1.0, 2.0], [3.0, 4.0]]).astype("Float64")
    table.iloc[1, 1] = pd.NA
    check(open_frame(table), ["she", "he"], np.array([[1.0, 2.0], [3.0, np.nan]]))


def test_vectors_of_a_frame_may_be_in_one_column_of_lists():
    table = pd.DataFrame({"word": WORDS, "vector": list(VECTORS)})
    check(open_frame(table))
    check(open_frame(table.set_index("word")))


def test_a_model_of_a_frame_may_be_changed_and_the_frame_stays():
    table = frame()
    model = WordEmbeddingModel(open_frame(table).table())
    model.update("NA", np.zeros(3, np.float32))
    model.normalize()
    np.testing.assert_array_equal(table.to_numpy(), VECTORS)


def test_of_a_word_that_a_frame_has_twice_the_first_is_kept(caplog):
    check(open_frame(frame(["she", "he", "she"], VECTORS[:3])), ["she", "he"], VECTORS[:2])
    assert "1 words twice" in caplog.text


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (frame().iloc[:0], "no rows"),
        (pd.DataFrame(VECTORS), r"found 0 such columns \[\] and an index that starts with int"),
        (pd.DataFrame({"a": ["x"], "b": ["y"], "0": [1.0]}), r"found 2 such columns \['a', 'b'\]"),
        (pd.DataFrame({"pos": ["n"], "0": [1.0]}, index=["she"]), r"\['pos'\] hold neither"),
        (pd.DataFrame({"b": [True], "0": [1.0]}, index=["she"]), r"\['b'\] hold neither"),
        (pd.DataFrame({"w": ["she"]}), "no column of numbers"),
        (pd.DataFrame({"n": [5], "0": [1.0]}, index=["she"]), r"columns 'n' hold whole numbers"),
        (pd.DataFrame({"w": ["she", None], "0": [1.0, 2]}), r"row 1 is .*keep_default_na=False"),
        (pd.DataFrame({"w": ["a", "b"], "v": [[1.0], [1.0, 2]]}), "vector of 'b' has 2 dims"),
        (pd.DataFrame({"v": [[1.0]], "0": [1.0]}, index=["she"]), r"found lists in \['v'\]"),
    ],
)
def test_other_frames_are_refused(table, message):
    with pytest.raises(ValueError, match=f"the DataFrame.*{message}"):
        open_frame(table)


# ---- Dicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_arrays_of_a_dict_keep_their_type(dtype):
    vectors = VECTORS.astype(dtype)
    check(open_dict(dict(zip(WORDS, vectors, strict=True))), vectors=vectors)


def test_lists_of_a_dict_become_float64():
    vectors = VECTORS.astype(np.float64)
    check(open_dict(dict(zip(WORDS, vectors.tolist(), strict=True))), vectors=vectors)
    check(open_dict({"a": [1, 0], "b": (0.5, 1)}), ["a", "b"], np.array([[1, 0], [0.5, 1]]))
    check(open_dict({"a": [1, 0], "b": [0, 1]}), ["a", "b"], np.eye(2))


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({}, "is empty"),
        ({5: [1.0]}, "words must be strings; got int 5"),
        ({"she": [1.0, 2.0], "he": [1.0], "x": [1.0]}, "'he' has 1 dims; that of 'she'"),
        ({"she": [1.0], "he": "x"}, "numbers for 'he'; got str"),
        ({"she": [1.0], "he": ["x"]}, "numbers for 'he'"),
        ({"she": [1.0], "he": [[1.0]]}, "numbers for 'he'"),
        ({"she": [1.0], "he": [None]}, "numbers for 'he'"),
        ({"she": [1.0], "he": [[1.0], [1.0, 2.0]]}, "'he' has no vector"),
        ({"she": [True]}, "numbers for 'she'"),
        ({"she": []}, "numbers for 'she'"),
        ({"she": 1.0}, "numbers for 'she'"),
    ],
)
def test_the_first_wrong_word_of_a_dict_is_named(mapping, message):
    with pytest.raises(ValueError, match=f"the dict.*{message}"):
        open_dict(mapping)


# ---- Parquet -----------------------------------------------------------------------------------


@pytest.fixture
def arrow():
    return pytest.importorskip("pyarrow")


@pytest.fixture
def write(arrow, tmp_path):
    """Write columns as a Parquet file."""
    import pyarrow.parquet

    def written(columns, name="m.parquet", **options):
        table = columns if isinstance(columns, arrow.Table) else arrow.table(columns)
        pyarrow.parquet.write_table(table, tmp_path / name, **options)
        return tmp_path / name

    return written


def lists(arrow, kind="list", vectors=VECTORS, dtype=None):
    value = arrow.from_numpy_dtype(vectors.dtype) if dtype is None else dtype
    make = {
        "list": arrow.list_,
        "large": arrow.large_list,
        "fixed": lambda value: arrow.list_(value, vectors.shape[1]),
    }[kind]
    return arrow.array(vectors.tolist(), make(value))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("column", ["word", "irgendwas", None])
def test_what_pandas_writes_is_read(arrow, tmp_path, dtype, index, column):
    table = frame(vectors=VECTORS.astype(dtype))
    table.columns = table.columns.astype(str)
    table.index.name = column
    (table if index else table.reset_index()).to_parquet(tmp_path / "m.parquet")
    source = open_parquet(tmp_path / "m.parquet", PLAIN)
    assert (source.name, source.n_words, source.expected_words) == ("m", 11, 11)
    check(source, vectors=VECTORS.astype(dtype))
    check_selection(source, vectors=VECTORS.astype(dtype))


def test_the_row_numbers_of_pandas_are_no_dimension(arrow, tmp_path):
    table = frame().reset_index(names="word")
    table.columns = table.columns.astype(str)
    table[table.index != 1].to_parquet(tmp_path / "m.parquet")
    names = arrow.parquet.read_schema(tmp_path / "m.parquet").names
    assert "__index_level_0__" in names
    check(
        open_parquet(tmp_path / "m.parquet", PLAIN),
        WORDS[:1] + WORDS[2:],
        VECTORS[[0, *range(2, 11)]],
    )


@pytest.mark.parametrize("kind", ["list", "large", "fixed"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_vectors_may_be_in_one_column_of_lists(arrow, write, kind, dtype):
    vectors = VECTORS.astype(dtype)
    path = write({"id": range(11), "text": WORDS, "embedding": lists(arrow, kind, vectors)})
    check(open_parquet(path, PLAIN), vectors=vectors)
    check_selection(open_parquet(path, PLAIN), vectors=vectors)


@pytest.mark.parametrize("kind", ["large_string", "dictionary<values=string, indices=int32>"])
def test_strings_may_be_of_any_kind(arrow, write, kind):
    words = arrow.array(WORDS)
    words = words.dictionary_encode() if "dictionary" in kind else words.cast(kind)
    path = write({"w": words, "a": VECTORS[:, 0], "b": VECTORS[:, 1]})
    check(open_parquet(path, PLAIN), vectors=VECTORS[:, :2])


def test_whole_numbers_become_floats(arrow, write):
    path = write(
        {"w": ["a", "b"], "x": arrow.array([1, 2], "int8"), "y": arrow.array([3, 4], "int8")}
    )
    check(open_parquet(path, PLAIN), ["a", "b"], np.array([[1, 3], [2, 4]], np.float32))
    path = write({"w": ["a", "b"], "v": lists(arrow, "list", np.array([[1, 3], [2, 4]], np.int8))})
    check(open_parquet(path, PLAIN), ["a", "b"], np.array([[1, 3], [2, 4]], np.float32))


def test_infinities_and_missing_numbers_are_passed_on(arrow, write):
    path = write({"w": ["a", "b", "c"], "x": [1.0, np.inf, None], "y": [np.nan, 2.0, -np.inf]})
    expected = np.array([[1, np.nan], [np.inf, 2], [np.nan, -np.inf]])
    check(open_parquet(path, PLAIN), ["a", "b", "c"], expected)
    path = write({"w": ["a", "b", "c"], "v": [[1.0, np.nan], [np.inf, 2.0], [None, -np.inf]]})
    check(open_parquet(path, PLAIN), ["a", "b", "c"], expected)


def test_several_row_groups_and_blocks_are_one_table(arrow, write, monkeypatch):
    monkeypatch.setattr(_frames, "CHUNK_ROWS", 2)
    path = write({"w": WORDS, "v": lists(arrow)}, row_group_size=5)
    assert len(list(open_parquet(path, PLAIN).blocks())) == 6
    check(open_parquet(path, PLAIN))
    check_selection(open_parquet(path, PLAIN))


def test_of_a_word_that_comes_twice_the_first_is_selected(arrow, write):
    path = write({"w": ["she", "he", "she", "he"], "x": [1.0, 2.0, 3.0, 4.0]}, row_group_size=2)
    words, vectors = open_parquet(path, PLAIN).select(frozenset(["he", "she"]))
    assert words == ["she", "he"]
    assert vectors.tolist() == [[1.0], [2.0]]


def test_row_groups_without_a_word_are_not_read(arrow, write, monkeypatch):
    path = write({"w": WORDS, "v": lists(arrow)}, row_group_size=1)
    source = open_parquet(path, PLAIN)
    read = []
    blocks = source._blocks
    monkeypatch.setattr(source, "_blocks", lambda groups: read.append(groups) or blocks(groups))
    source.select(frozenset(["NA", "new, york"]))
    assert read == [[1], [4]]


def test_of_several_columns_of_strings_one_must_be_named(arrow, write):
    path = write({"a": ["x"] * 11, "b": WORDS, "v": lists(arrow)})
    with pytest.raises(ValueError, match=r"m\.parquet: .*columns \['a', 'b'\]\. Name"):
        open_parquet(path, PLAIN)
    check(open_parquet(path, PLAIN, words="b"))
    with pytest.raises(ValueError, match=r"no column of strings 'c'; it has \['a', 'b'\]"):
        open_parquet(path, PLAIN, words="c")


@pytest.mark.parametrize("name", ["word", "Token", "vocabulary"])
def test_of_several_columns_of_strings_a_telling_name_is_taken(arrow, write, name):
    check(open_parquet(write({"pos": ["x"] * 11, name: WORDS, "v": lists(arrow)}), PLAIN))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1.0]}, "no column of strings"),
        ({"w": ["a"]}, r"found 'w' \(string\)"),
        ({"w": ["a"], "v": [["x"]]}, "expected columns of numbers"),
        ({"w": ["a"], "v": [[1.0]], "u": [[1.0]]}, r"one column of lists.*\['v', 'u'\]"),
        ({"w": ["a"], "n": [1], "x": [1.0]}, "columns 'n' hold whole numbers"),
        ({"w": ["a", None], "x": [1.0, 2.0]}, "row 1 has no word"),
        ({"w": ["a", "b"], "v": [[1.0], [1.0, 2.0]]}, r"row 1 \('b'\) has no vector of 1 dims"),
        ({"w": ["a", "b"], "v": [[1.0], None]}, r"row 1 \('b'\) has no vector of 1 dims"),
        ({"w": ["a", "b"], "v": [[], [1.0]]}, "expected columns of numbers"),
        ({"w": ["a", "b"], "v": [None, [1.0]]}, "expected columns of numbers"),
    ],
)
def test_other_layouts_are_refused(arrow, write, columns, message):
    path = write(columns)
    with pytest.raises(ValueError, match=rf"m\.parquet.*{message}"):
        whole(open_parquet(path, PLAIN))


def test_a_missing_list_of_fixed_size_is_refused(arrow, write):
    vectors = arrow.array([[1.0, 2.0], None, [3.0, 4.0]], arrow.list_(arrow.float32(), 2))
    path = write({"w": ["a", "b", "c"], "v": vectors})
    with pytest.raises(ValueError, match=r"row 1 \('b'\)"):
        whole(open_parquet(path, PLAIN))
    source = open_parquet(path, LENIENT)
    check(source, ["a", "c"], np.array([[1, 2], [3, 4]], np.float32))
    assert source.n_skipped == 1


def test_damaged_rows_are_left_out_and_counted_if_the_user_says_so(arrow, write, caplog):
    path = write({"w": ["a", None, "c", "d"], "v": [[1.0], [2.0], [1.0, 2.0], [4.0]]})
    source = open_parquet(path, LENIENT)
    check(source, ["a", "d"], np.array([[1.0], [4.0]]))
    assert source.n_skipped == 2
    assert "2 of the rows" in caplog.text


def test_a_file_without_rows_is_refused(arrow, write):
    path = write(arrow.table({"w": WORDS, "v": lists(arrow)}).slice(0, 0))
    with pytest.raises(ValueError, match=r"m\.parquet has no rows"):
        open_parquet(path, PLAIN)


def test_parquet_cannot_be_mapped(arrow, write):
    with pytest.raises(ValueError, match=r"m\.parquet cannot be mapped.*[Cc]onvert"):
        open_parquet(write({"w": WORDS, "v": lists(arrow)}), Reading(hold="mapped"))


def test_a_missing_file_is_missing(arrow, tmp_path):
    with pytest.raises(FileNotFoundError):
        open_parquet(tmp_path / "m.parquet", PLAIN)


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r'pip install "wefe\[parquet\]"'):
        open_parquet(tmp_path / "m.parquet", PLAIN)


def test_only_a_part_of_parquet_is_in_memory(arrow, write):
    vectors = np.random.default_rng(1).normal(size=(100_000, 100)).astype(np.float32)
    column = arrow.FixedSizeListArray.from_arrays(vectors.ravel(), 100)
    path = write({"w": [f"word{row}" for row in range(len(vectors))], "v": column})
    del column
    source = open_parquet(path, PLAIN)
    tracemalloc.start()
    before = arrow.total_allocated_bytes()
    peak = max(arrow.total_allocated_bytes() - before for _ in source.blocks())
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < vectors.nbytes / 1.5
    assert taken < vectors.nbytes / 1.5


def test_a_file_that_promises_too_much_is_refused(arrow, write):
    # A million equal rows take a few bytes.
    path = write({"w": arrow.array(["a"] * 10**6), **{f"d{c}": np.zeros(10**6) for c in range(20)}})
    assert path.stat().st_size < 100_000
    with pytest.raises(ValueError, match=r"promises 1,000,000 words of 20 dims"):
        open_parquet(path, PLAIN)


def parquet_bytes(kind):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    columns = (
        {"w": WORDS, "v": lists(arrow)}
        if kind == "lists"
        else {"w": WORDS, "x": VECTORS[:, 0], "y": VECTORS[:, 1]}
    )
    stream = io.BytesIO()
    pyarrow.parquet.write_table(arrow.table(columns), stream, write_page_checksum=True)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["lists", "columns"])
def test_a_parquet_file_cut_anywhere_is_refused(tmp_path, kind):
    content = parquet_bytes(kind)
    path = tmp_path / "m.parquet"
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"m\.parquet"):
            open_parquet(path, PLAIN)


@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    kind=st.sampled_from(["lists", "columns"]),
    position=st.integers(0, 10**6),
    bit=st.integers(0, 7),
)
def test_a_changed_parquet_file_gives_an_error_or_a_whole_model(tmp_path, kind, position, bit):
    content = bytearray(parquet_bytes(kind))
    content[position % len(content)] ^= 1 << bit
    path = tmp_path / "m.parquet"
    path.write_bytes(content)
    try:
        source = open_parquet(path, PLAIN)
        words, vectors = whole(source)
        chosen, selected = source.select(frozenset(words))
    except ValueError as error:
        assert "m.parquet" in str(error)  # noqa: PT017
        return
    assert vectors.shape == (len(words), source.dim)
    assert len(chosen) == len(selected) == len(set(words))


# ---- CSV ---------------------------------------------------------------------------------------


@pytest.fixture
def text(tmp_path):
    def written(content, name="m.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def csv_of(words=WORDS, vectors=VECTORS, sep=",", header=None, **options):
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=sep, **{"lineterminator": "\n", **options})
    if header:
        writer.writerow(header)
    for word, vector in zip(words, vectors, strict=True):
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
    source = open_csv(path, PLAIN)
    assert source.name == "m"
    check(source)
    check_selection(source)


@pytest.mark.parametrize("index_label", [None, "word", "irgendwas"])
@pytest.mark.parametrize("sep", [",", "\t"])
def test_csv_of_pandas_is_read(text, index_label, sep):
    vectors = np.tile(VECTORS, 2)
    path = text(frame(vectors=vectors).to_csv(sep=sep, index_label=index_label))
    check(open_csv(path, PLAIN), vectors=vectors)
    path = text(frame(vectors=vectors).reset_index(names="word").to_csv(sep=sep, index=False))
    check(open_csv(path, PLAIN), vectors=vectors)
    path = text(frame(vectors=vectors).to_csv(sep=sep, header=False))
    check(open_csv(path, PLAIN), vectors=vectors)


def test_the_row_numbers_of_pandas_are_no_dimension_of_csv(text):
    path = text(frame().reset_index(names="word").to_csv())
    assert path.read_text(encoding="utf-8").startswith(",word,0,1,2\n0,")
    check(open_csv(path, PLAIN))
    check_selection(open_csv(path, PLAIN))


@pytest.mark.parametrize(
    "header", ["token,count,a,b", "count,token,a,b", "a,b,token,count", "a,token,b,id"]
)
def test_columns_of_a_header_may_have_any_order(text, header):
    names = header.split(",")
    values = {"token": "she", "count": "1000", "id": "7", "a": "1.5", "b": "-2"}
    path = text(f"{header}\n{','.join(values[name] for name in names)}\n")
    check(open_csv(path, PLAIN), ["she"], np.array([[1.5, -2]], np.float32))


@pytest.mark.parametrize("word", ["word", "text", "key", "count", "index"])
def test_a_word_that_names_columns_elsewhere_is_a_word(text, word):
    path = text(f"{word},0.5,1\nshe,2,3\n")
    check(open_csv(path, PLAIN), [word, "she"], np.array([[0.5, 1], [2, 3]], np.float32))


def test_quotes_that_are_words_need_no_quotes(text):
    path = text('"\t1\t2\nshe\t3\t4\n""""\t5\t6\na"b\t7\t8\n"x\t9\t0\n')
    words, vectors = whole(open_csv(path, PLAIN))
    assert words == ['"', "she", '"', 'a"b', '"x']
    assert vectors[:, 0].tolist() == [1, 3, 5, 7, 9]


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(vectors=NUMBERS, sep=st.sampled_from(",\t;"))
def test_every_number_is_read_as_python_reads_it(tmp_path, vectors, sep):
    path = tmp_path / "m.csv"
    path.write_text(csv_of(["she", "he", "x"], vectors, sep))
    read = whole(open_csv(path, PLAIN))[1]
    np.testing.assert_array_equal(read, vectors)
    np.testing.assert_array_equal(
        np.signbit(read), np.signbit(np.where(np.isnan(read), 1, vectors))
    )


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
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
    vectors = np.arange(len(words) * 2, dtype=np.float32).reshape(-1, 2) + 0.5
    # A first line, so that nothing but the words changes.
    content = csv_of(["a first word", *words], np.vstack([[0.5, 0.25], vectors]), sep)
    path.write_text(content, encoding="utf-8", newline="")
    read_words, read = whole(open_csv(path, PLAIN))
    assert read_words == ["a first word", *words]
    np.testing.assert_array_equal(read[1:], vectors)
    assert open_csv(path, PLAIN).select(frozenset(words))[0] == [
        w for w in read_words if w in words
    ]


def test_blank_lines_and_a_byte_order_mark_are_skipped(text):
    path = text(b"\xef\xbb\xbf\n\r\nshe,1,2\n\nhe,3,4\n \n\n")
    check(open_csv(path, PLAIN), ["she", "he"], np.array([[1, 2], [3, 4]], np.float32))


WRONG = {
    "short": "he,3",
    "long": "he,3,4,5",
    "no number": "he,3,x",
    "empty": "he,3,",
    "underscore": "he,3,1_0",
    "hexadecimal": "he,3,0x10",
    "separators": ",,",
    "word only": "he",
    "other digits": "he,3,٤",
}


@pytest.mark.parametrize("line", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("quoted", [True, False])
def test_a_wrong_line_is_named(text, line, quoted):
    first = '"she",1,2' if quoted else "she,1,2"
    path = text(f"{first}\n\n{line}\nx,5,6\n")
    with pytest.raises(ValueError, match=r"m\.csv, line 3: expected a word and 2 numbers"):
        whole(open_csv(path, PLAIN))
    source = open_csv(path, LENIENT)
    check(source, ["she", "x"], np.array([[1, 2], [5, 6]], np.float32))
    assert source.n_skipped == 1


def test_wrong_lines_are_named_in_every_block(text, monkeypatch):
    monkeypatch.setattr(_frames, "_CHUNK_BYTES", 64)
    lines = [f"word{row},{row},1" for row in range(200)]
    check(
        open_csv(text("\n".join(lines)), PLAIN),
        [f"word{row}" for row in range(200)],
        np.array([[row, 1] for row in range(200)], np.float32),
    )
    assert len(list(open_csv(text("\n".join(lines)), PLAIN).blocks())) > 20
    for row in range(1, 200):
        wrong = [*lines[:row], f"word{row},{row}", *lines[row + 1 :]]
        with pytest.raises(ValueError, match=f"line {row + 1}: "):
            whole(open_csv(text("\n".join(wrong)), PLAIN))


def test_lines_of_other_words_are_not_parsed(text):
    path = text("she,1,2\nhe,3,x\nart,5,6\n")
    words, vectors = open_csv(path, PLAIN).select(frozenset(["art", "she"]))
    assert words == ["she", "art"]
    assert vectors.tolist() == [[1, 2], [5, 6]]
    with pytest.raises(ValueError, match="line 2"):
        open_csv(path, PLAIN).select(frozenset(["he"]))


def test_of_a_word_that_csv_has_twice_the_first_is_selected(text, monkeypatch):
    monkeypatch.setattr(_frames, "_CHUNK_BYTES", 8)
    path = text("she,1,2\nhe,x,4\nshe,5,6\nhe,7,8\n")
    words, vectors = open_csv(path, LENIENT).select(frozenset(["he", "she"]))
    assert words == ["she", "he"]
    assert vectors.tolist() == [[1, 2], [7, 8]]


def test_the_last_line_is_checked_though_all_words_are_found(text, monkeypatch):
    monkeypatch.setattr(_frames, "_CHUNK_BYTES", 8)
    select = frozenset(["she"])
    assert open_csv(text("she,1,2\nhe,3,4\n"), PLAIN).select(select)[0] == ["she"]
    path = text("she,1,2\nhe,3,4\nit,5\n")
    with pytest.raises(ValueError, match="line 3"):
        open_csv(path, PLAIN).select(select)
    source = open_csv(path, LENIENT)
    assert source.select(select)[0] == ["she"]
    assert source.n_skipped == 1


def test_numbers_are_no_words_and_counts_no_dimensions(text):
    lines = [f"w{i},{i},{i / 7},{-i / 3}" for i in range(30)]
    with pytest.raises(ValueError, match=r"columns \['a'\] hold whole numbers"):
        open_csv(text("word,a,b,c\n" + "\n".join(lines)), PLAIN)
    with pytest.raises(ValueError, match=r"columns \['2'\] hold whole numbers"):
        open_csv(text("\n".join(lines)), PLAIN)
    numbers = [f"{i / 7},{-i / 3}" for i in range(1, 30)]
    with pytest.raises(ValueError, match="should hold the words, and holds numbers"):
        open_csv(text("a,b\n" + "\n".join(numbers)), PLAIN)


def test_a_word_that_is_no_utf8_is_named(text):
    path = text(b"she,1,2\nh\xff,3,4\n")
    with pytest.raises(ValueError, match=r"m\.csv, line 2: the word .*not UTF-8"):
        whole(open_csv(path, PLAIN))
    check(open_csv(path, LENIENT), ["she"], np.array([[1, 2]], np.float32))


@pytest.mark.parametrize("field", [b"a" * 1_000_000, b'""' * 500_000])
@pytest.mark.parametrize("quote", [b'"', b""])
def test_a_word_of_a_megabyte_is_refused_in_little_memory(text, field, quote):
    path = text(b"she,5,6\n" + quote + field + quote + b",1,2\nhe,3,4\n")
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"line 2: the word has [\d,]+ bytes; expected at most"):
        whole(open_csv(path, PLAIN))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000_000
    source = open_csv(path, LENIENT)
    check(source, ["she", "he"], np.array([[5, 6], [3, 4]], np.float32))
    assert source.n_skipped == 1


def test_other_text_is_no_csv(text):
    with pytest.raises(ValueError, match=r"m\.csv is no CSV"):
        open_csv(text("she 1 2\n"), PLAIN)


def test_csv_cannot_be_mapped(text):
    with pytest.raises(ValueError, match=r"m\.csv cannot be mapped.*[Cc]onvert"):
        open_csv(text("she,1,2\n"), Reading(hold="mapped"))


def test_only_a_part_of_csv_is_in_memory(text):
    line = ",".join(["0.125"] * 100)
    path = text("".join(f"word{row},{line}\n" for row in range(50_000)))
    source = open_csv(path, PLAIN)
    assert 50_000 <= source.expected_words < 55_000
    n_words = 0
    tracemalloc.start()
    for words, _ in source.blocks():
        n_words += len(words)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_words == 50_000
    # The file has 31 MB, the vectors 20.
    assert peak < 32_000_000


def test_a_csv_file_cut_anywhere_gives_an_error_or_whole_lines(text):
    content = csv_of(header=["word", "a", "b", "c"]).encode()
    for length in range(len(content)):
        path = text(content[:length])
        try:
            words, vectors = whole(open_csv(path, PLAIN))
        except ValueError as error:
            assert "m.csv" in str(error) or length < 40  # noqa: PT017
            continue
        # The last number may be cut, which nobody can tell.
        assert words == WORDS[: len(words)]
        np.testing.assert_array_equal(vectors[:-1], VECTORS[: len(words) - 1])
        assert vectors.shape == (len(words), 3)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(position=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_a_changed_csv_file_gives_an_error_or_a_whole_model(tmp_path, position, bit):
    content = bytearray(csv_of().encode())
    content[position % len(content)] ^= 1 << bit
    path = tmp_path / "m.csv"
    path.write_bytes(content)
    try:
        source = open_csv(path, PLAIN)
        words, vectors = whole(source)
    except ValueError as error:
        assert "m.csv" in str(error)  # noqa: PT017
        return
    assert vectors.shape == (len(words), source.dim)


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
        ("a,b\tc,d\n", None),
        (", 0.1 0.2\n", None),
        (", 0.1 0.2\n, 0.3 0.4\n", None),
        (", 0.5\nshe 0.25\n", None),
        ("of course, 0.5\nshe 0.25\n", None),
        ("of course, 0.5\nin fact, 0.25\n", None),
        ("1,000 0.1 0.2\n", None),
        ("a,b,c,d " + "0.123 " * 1000, None),
        ("1,2,3 " + "0.123 " * 1000, None),
        ("word,b,c,d " + "0.123 " * 1000, None),
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
        ("she,0x1p3\nhe,0.2\n", None),
    ],
)
def test_csv_is_told_by_content(head, sep):
    assert looks_like_csv(head.encode()[:4096]) == sep


GLOVE_WORD = st.text(
    st.one_of(st.sampled_from(',;"1.5-'), st.characters(exclude_categories=["Cs", "Zs", "Cc"])),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(
    rows=st.integers(1, 40).flatmap(
        lambda dim: st.lists(
            st.tuples(
                GLOVE_WORD,
                st.lists(st.floats(-9, 9, width=32), min_size=dim, max_size=dim),
            ),
            min_size=1,
            max_size=20,
        )
    ),
    header=st.booleans(),
)
@example(rows=[(",", [0.5])], header=False)
@example(rows=[("1,2", [0.5, 1.0])], header=False)
def test_glove_and_word2vec_text_is_never_csv(rows, header):
    lines = [" ".join([word, *map(repr, vector)]) for word, vector in rows]
    if header:
        lines.insert(0, f"{len(rows)} {len(rows[0][1])}")
    assert looks_like_csv(("\n".join(lines) + "\n").encode()[:4096]) is None


@settings(max_examples=300, deadline=None)
@given(head=st.binary(max_size=300) | st.text('",;\t 0.1\nab', max_size=60).map(str.encode))
def test_no_bytes_make_the_detection_fail(head):
    assert looks_like_csv(head) in (None, ",", "\t", ";")


def test_json_of_parquet_that_is_none_is_ignored(arrow, write):
    table = arrow.table({"w": WORDS, "v": lists(arrow)})
    for metadata in ("{", "[]", json.dumps({"index_columns": 5}), "[" * 100_000):
        path = write(table.replace_schema_metadata({"pandas": metadata}))
        check(open_parquet(path, PLAIN))
