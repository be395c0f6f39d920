"""Tables with a column of words: data frames, CSV and Parquet."""

from __future__ import annotations

import codecs
import contextlib
import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wefe._checks import import_library, progress_bar
from wefe.models._types import CHUNK_ROWS, Block, FloatArray, Reading
from wefe.models.formats._registry import HEAD_BYTES, is_number
from wefe.models.formats._source import (
    MAX_WORD_BYTES,
    PackedFile,
    TableSource,
    VectorSource,
    check_budget,
    line_blocks,
    naming_errors,
    table_source,
)
from wefe.models.formats._text import LineError, LineSource, Parsed, Vector

#: Names of a column of words in the first line of a CSV file. pandas writes an index without name.
WORD_NAMES = ("", "word", "token", "term", "key")
#: Names of columns that are no dimensions.
_OTHER_NAMES = {"index", "id", "rank", "count", "counts", "freq", "frequency"}


def open_frame(frame: Any) -> TableSource:
    """Copy words (the index or a column) and vectors (columns of numbers or one of lists)."""
    layout = FrameLayout("the DataFrame", frame)
    return table_source(*layout.read(frame), layout.label, "Unnamed model")


def open_dict(
    mapping: Mapping[str, Any], label: str = "the dict", name: str = "Unnamed model"
) -> TableSource:
    """Copy the vectors of a dict, in the widest of their dtypes."""
    if not mapping:
        raise ValueError(f"{label} is empty.")
    dim = len(_as_vector(next(iter(mapping.values()))))
    return table_source(*stack(label, mapping, mapping.values(), dim), label, name)


class FrameLayout:
    """Which columns of a DataFrame hold words and vectors."""

    def __init__(self, label: str, frame: Any) -> None:
        self.label = label
        kinds = [_kind(frame.iloc[:, place]) for place in range(frame.shape[1])]
        texts = [place for place, kind in enumerate(kinds) if kind == "text"]
        words = [-1] if _kind(frame.index.to_series()) == "text" else texts
        lists = [place for place, kind in enumerate(kinds) if kind == "list"]
        self.is_list = bool(lists)
        self.vectors = lists or [place for place in range(len(kinds)) if place not in words]
        chosen = [kinds[place] for place in self.vectors]
        # A count must not become a dimension.
        fits = chosen == ["list"] or set(chosen) in ({"float"}, {"int"})
        if len(words) != 1 or not fits:
            named = dict(zip(map(str, frame.columns[:20]), kinds, strict=False))
            raise ValueError(
                f"{label}: expected words in the index or in one column of text, and either one "
                "column of lists or only columns of numbers of one kind; found "
                f"{named} and {len(frame)} rows."
            )
        self.word = words[0]
        self.dim = len(_as_vector(frame.iloc[0, lists[0]])) if lists else len(self.vectors)

    def words(self, frame: Any) -> Any:
        return frame.index if self.word < 0 else frame.iloc[:, self.word]

    def read(self, frame: Any, skip: bool = False) -> Block:
        numbers = frame.iloc[:, self.vectors]
        if self.is_list:
            values = numbers.iloc[:, 0].tolist()
        else:
            dtype = np.result_type(*map(_floating, numbers.dtypes))
            values = numbers.to_numpy(dtype=dtype, na_value=np.nan)
        # As objects, so that a category is one string however many rows have it.
        words = self.words(frame).astype(object).tolist()
        return stack(self.label, words, values, self.dim, skip)


def stack(
    label: str, words: Iterable[Any], values: Iterable[Any], dim: int, skip: bool = False
) -> Block:
    """Stack vectors to a matrix; refuse or `skip` rows without a word or a vector."""
    words, values = list(words), list(map(_as_vector, values))
    good = [
        isinstance(word, str) and len(vector) == dim > 0
        for word, vector in zip(words, values, strict=True)
    ]
    if not all(good):
        if not skip:
            raise ValueError(
                f"{label}: expected a word, and a list or array of {dim or 'some'} numbers for "
                f"{words[good.index(False)]!r}. (Of a CSV, pandas takes the words 'null' and 'nan' "
                "for missing ones, unless keep_default_na=False.)"
            )
        words, values = (list(itertools.compress(each, good)) for each in (words, values))
    dtypes = {vector.dtype for vector in values} or {np.dtype(np.float32)}
    dtype = np.result_type(*map(_floating, dtypes))
    return words, np.array(values, dtype=dtype).reshape(-1, dim)


def _as_vector(value: Any) -> FloatArray:
    """Return numbers as an array, empty if the value is not a list of numbers."""
    try:
        vector = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        vector = np.empty(0)
    return vector if vector.ndim == 1 and vector.dtype.kind in "fiu" else np.empty(0)


def _floating(dtype: Any) -> np.dtype[Any]:
    dtype = np.dtype(getattr(dtype, "numpy_dtype", dtype))
    return dtype if dtype.kind == "f" else np.result_type(dtype, np.float32)


def _kind(column: Any) -> str:
    """Return what a column holds: 'text', 'float', 'int', 'list', or '' for anything else."""
    if column.dtype.kind in "fiu":
        return "float" if column.dtype.kind == "f" else "int"
    first = next(iter(column.dropna().iloc[:1]), None)
    if isinstance(first, str):
        return "text"
    return "list" if isinstance(first, list | tuple | np.ndarray) else ""


# ---- CSV -----------------------------------------------------------------------------------------


class CsvSource(LineSource):
    """Float32 vectors in a CSV or TSV file: a word, then numbers; the first line may name columns.

    The separator is a comma, tab or semicolon.
    """

    def __init__(self, file: PackedFile, reading: Reading) -> None:
        self._file, self.reading = file, reading
        self.label, self.name = file.label, file.name
        with file.open() as opened:
            # Two, as a block ends with a line: a last line without its end is another.
            head = b"".join(itertools.islice(line_blocks(opened, self.label), 2))
        sep = looks_like_csv(head[:HEAD_BYTES])
        fields = _fields(_lines(head)[0], sep)
        self._separator, self.dim = sep.encode(), len(fields) - 1
        body = head.removeprefix(codecs.BOM_UTF8)
        if _names_columns(fields):
            if others := _OTHER_NAMES.union(WORD_NAMES).intersection(map(str.lower, fields[1:])):
                raise ValueError(
                    f"{self.label}: expected words in the first column and numbers in the others; "
                    f"found columns named {fields[0]!r} and {', '.join(map(repr, others))}. Leave "
                    "out the index of a table (pandas: index=False) and other columns."
                )
            # Blank lines may come before it.
            body = body.lstrip().partition(b"\n")[2]
        self._start = len(head) - len(body)
        self._first_line = 1 + head.count(b"\n", 0, self._start)

    def _parse_regular(self, lines: list[bytes]) -> Parsed | None:
        text, sep = b"\n".join(lines), self._separator
        is_odd = any(mark in text for mark in (b'"', b" ", b"\0"))
        if is_odd or text.count(sep) != len(lines) * self.dim:
            return None
        return super()._parse_regular(text.replace(sep, b" ").split(b"\n"))

    def parse_line(self, line: bytes) -> tuple[str, Vector]:
        """Return the word and the vector of a line."""
        try:
            text = line.decode("utf-8").removesuffix("\r")
            word, *numbers = _fields(text, self._separator.decode())
            if len(numbers) != self.dim or b"\0" in line:
                raise ValueError(f"it has {len(numbers)} numbers, or null bytes")
            # Python reads 1_0 as 10, and digits of every script; no file of vectors means that.
            if re.search(r"[^\0-\x7f]|_", "".join(numbers)):
                raise ValueError("a number has other characters")
            with np.errstate(over="ignore"):
                return word, np.array(list(map(float, numbers))).astype(np.float32)
        except ValueError as error:
            raise LineError(
                f"expected a word and {self.dim} numbers; found {line[:60]!r} of {len(line):,} "
                f"bytes ({error})."
            ) from None


def looks_like_csv(head: bytes) -> str:
    """Return the separator if `head` (the first 4096 bytes) is CSV or TSV, otherwise ''."""
    lines = _lines(head)[:2]
    return next((sep for sep in "\t,;" if _is_csv([_fields(line, sep) for line in lines])), "")


def _is_csv(rows: list[list[str]]) -> bool:
    """Tell whether one of two lines has numbers, or the first one names a column of words."""
    if not rows or len(rows[0]) < 2:
        return False
    # The head may end within the last number.
    numbers = [row[1:-1] or row[1:] for row in rows]
    named = rows[0][0 if len(rows) == 1 else 1].lower() in WORD_NAMES
    return named or any(all(map(is_number, each)) for each in numbers if each)


def _names_columns(fields: list[str]) -> bool:
    """Tell whether a first line names columns, perhaps by numbers from 0, as pandas does."""
    first, *names = fields
    numbered = names == list(map(str, range(len(names)))) and first.lower() in WORD_NAMES
    return numbered or not any(map(is_number, names))


def _lines(head: bytes) -> list[str]:
    text = head.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    return [line.removesuffix("\r") for line in text.split("\n") if line.strip()]


def _fields(line: str, sep: str) -> list[str]:
    """Split a line as the csv module does; an odd number of quotes are plain characters."""
    n_quotes = line.count('"')
    if n_quotes and n_quotes % 2 == 0:
        with contextlib.suppress(csv.Error):
            return next(csv.reader([line], delimiter=sep))
    return line.split(sep)


# ---- Parquet -------------------------------------------------------------------------------------

# Numbers that are worked on at once.
_CHUNK_NUMBERS = 1 << 19
# As dictionaries, these take no more memory than in the file.
_TEXT = ("string", "large_string", "string_view")
# A larger file is not read a whole column at a time.
_BUFFERED_BYTES = 1 << 24


class ParquetSource(VectorSource):
    """Vectors in a Parquet file, read in parts.

    It has a column (or pandas index) of words, and columns of numbers or one column of lists.
    Reading lists takes about 60 MB; reading columns takes about 2 MB per dimension.
    """

    def __init__(self, path: Path, reading: Reading) -> None:
        import_library("pyarrow.parquet", "parquet", str(path))
        self.path, self.reading = path, reading
        self.label, self.name, size = str(path), path.stem, path.stat().st_size
        with naming_errors(self.label, "Parquet file"):
            file = self._open()
            self.n_words = file.metadata.num_rows
            head = next(file.iter_batches(100), file.schema_arrow.empty_table()).to_pandas()
            self._layout = layout = FrameLayout(self.label, head)
            self.dim = layout.dim
            index = head.index.name or "__index_level_0__"
            self._word = index if layout.word < 0 else head.columns[layout.word]
            # Equal numbers take next to nothing in the file. (pyarrow knows more of each column,
            # but to ask for it ends the process if the file is damaged.)
            groups = map(file.metadata.row_group, range(file.num_row_groups))
            n_bytes = sum(group.total_byte_size for group in groups)
            check_budget(self.label, max(n_bytes, 8 * self.n_words * self.dim), size)

    def _open(self) -> Any:
        from pyarrow.parquet import ParquetFile, read_schema

        fields = read_schema(self.path)
        # Buffered, otherwise a column of a row group (often the whole file) is read at once. A
        # buffer grows to what a page says of its size, up to 2 GB: not for a small file.
        is_large = self.path.stat().st_size > _BUFFERED_BYTES
        return ParquetFile(
            self.path,
            read_dictionary=[field.name for field in fields if str(field.type) in _TEXT],
            buffer_size=1 << 16 if is_large else 0,
            pre_buffer=False,
            page_checksum_verification=True,
        )

    def blocks(self, words: frozenset[str] | None = None) -> Iterator[Block]:
        n_rows = min(CHUNK_ROWS, max(1, _CHUNK_NUMBERS // self.dim))
        n_read = 0
        with (
            progress_bar(self.n_words, self.path.name, "word", self.reading.progress) as bar,
            naming_errors(self.label, "Parquet file"),
        ):
            for batch in self._open().iter_batches(n_rows):
                yield self._read(batch, words)
                n_read += batch.num_rows
                bar.update(batch.num_rows)
            if n_read != self.n_words:
                raise ValueError(f"of {self.n_words:,} rows, {n_read:,} can be read")

    def _read(self, batch: Any, wanted: frozenset[str] | None) -> Block:
        import pyarrow.compute as pc

        place = batch.schema.get_field_index(self._word)
        words = batch.column(place)
        # A long word that many rows have is held once until here.
        if (pc.max(pc.binary_length(words.dictionary)).as_py() or 0) > MAX_WORD_BYTES:
            raise ValueError(f"a word has more than {MAX_WORD_BYTES:,} bytes")
        frame = batch.set_column(place, self._word, words.dictionary_decode()).to_pandas()
        if wanted is not None:
            frame = frame[self._layout.words(frame).isin(wanted)]
        block = self._layout.read(frame, self.reading.on_error == "skip")
        self.n_skipped += len(frame) - len(block[0])
        return block
