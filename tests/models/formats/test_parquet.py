"""Parquet: words and numbers in columns of any kind, in bounded memory."""

import numpy as np
import pandas as pd
import pytest
from model_files import at_most, check_source, read_all

from wefe.models._types import Reading
from wefe.models.formats._frames import ParquetSource

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

WORDS = ["null", "NA", "nan", "None", "new, york", "naïve", "she", "he"]
VECTORS = np.arange(24, dtype=np.float32).reshape(8, 3) / 7


@pytest.fixture
def opened(tmp_path):
    """Write columns as a Parquet file and open it."""

    def opened(columns, lenient=False, **options):
        parquet.write_table(arrow.table(columns), tmp_path / "m.parquet", **options)
        return ParquetSource(
            tmp_path / "m.parquet", Reading(on_error="skip" if lenient else "raise")
        )

    return opened


def lists(vectors=VECTORS, make=arrow.list_):
    return arrow.array(vectors.tolist(), make(arrow.from_numpy_dtype(vectors.dtype)))


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", ["word", None])
@pytest.mark.parametrize("is_index", [True, False])
def test_parquet_of_pandas_is_read(tmp_path, is_index, name, first):
    table = pd.DataFrame(VECTORS, WORDS, list("012")).rename_axis(name)
    if not is_index:
        table = table.reset_index()
    # Without the first row, pandas adds a column of row numbers.
    table[first:].to_parquet(tmp_path / "m.parquet")
    source = ParquetSource(tmp_path / "m.parquet", Reading())
    assert (source.name, source.n_words) == ("m", 8 - first)
    check_source(source, WORDS[first:], VECTORS[first:])


@pytest.mark.parametrize("make", [arrow.list_, arrow.large_list, lambda kind: arrow.list_(kind, 3)])
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
def test_vectors_of_parquet_may_be_in_one_column_of_lists(opened, make, dtype):
    vectors = VECTORS.astype(dtype)
    columns = {"id": range(8), "text": WORDS, "embedding": lists(vectors, make)}
    expected = vectors.astype(np.result_type(dtype, np.float32)) if dtype == np.int8 else vectors
    check_source(opened(columns, row_group_size=5), WORDS, expected)


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_strings_of_parquet_may_be_of_any_kind(opened, kind):
    words = arrow.array(WORDS)
    words = words.dictionary_encode() if kind == "dictionary" else words.cast(kind)
    check_source(opened({"Token": words, "v": lists()}), WORDS, VECTORS)


@pytest.mark.parametrize("size", [-1, 1])
def test_rows_without_a_word_or_vector_are_named_or_left_out(opened, size):
    vectors = [[1], None if size == 1 else [1, 2], [3], [4]]
    vectors = arrow.array(vectors, arrow.list_(arrow.float32(), size))
    columns = {"w": ["a", "b", None, "d"], "v": vectors}
    with pytest.raises(ValueError, match=r"m\.parquet: .* for 'b'"):
        read_all(opened(columns))
    source = opened(columns, lenient=True)
    assert [*map(list, read_all(source))] == [["a", "d"], [[1], [4]]]
    assert source.n_skipped == 2
    source.n_words += 1
    with pytest.raises(ValueError, match=r"m\.parquet.* of 5 rows, 4"):
        read_all(source)


def test_only_a_part_of_parquet_is_in_memory(opened):
    vectors = np.random.default_rng(1).normal(size=(10_000, 500)).astype(np.float32)
    column = arrow.FixedSizeListArray.from_arrays(vectors.ravel(), 500)
    source = opened({"w": [f"word{row}" for row in range(len(vectors))], "v": column})
    del column
    before = arrow.total_allocated_bytes()
    with at_most(vectors.nbytes / 1.5):
        peak = max(arrow.total_allocated_bytes() - before for _ in source.blocks())
    assert peak < vectors.nbytes / 1.5


def test_parquet_that_promises_too_much_is_refused(opened):
    # Equal rows take next to nothing.
    columns = {name: np.zeros(10_000_000, np.float32) for name in "xy"}
    with pytest.raises(ValueError, match=r"m\.parquet grows to 160,000,000"):
        opened({"w": arrow.repeat("a", 10_000_000), **columns})


def test_a_long_word_that_many_rows_of_parquet_have_is_refused_in_little_memory(opened):
    words = arrow.DictionaryArray.from_arrays(np.zeros(5000, np.int8), ["x" * (1 << 20)])
    options = {"dictionary_pagesize_limit": 1 << 22, "store_schema": False, "compression": "zstd"}
    source = opened({"w": words, "v": np.arange(5000.0)}, **options)
    before = arrow.default_memory_pool().max_memory()
    with pytest.raises(ValueError, match=r"m\.parquet is damaged.* 4,096 bytes"):
        read_all(source)
    assert arrow.default_memory_pool().max_memory() < max(before, 64 << 20) + (8 << 20)
