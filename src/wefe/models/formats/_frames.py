"""Tables with a column of words: Parquet, CSV and TSV files, pandas DataFrames, dicts."""

from __future__ import annotations

import dataclasses
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wefe._checks import found as described
from wefe._progress import progress_bar
from wefe.models._keyed_vectors import CHUNK_ROWS, FloatArray
from wefe.models.formats._bytes import MAX_WORD_BYTES
from wefe.models.formats._numpy import table_source
from wefe.models.formats._source import Block, Reading, TableSource, VectorSource

logger = logging.getLogger(__name__)

# Names under which a column of words goes.
_WORD_NAMES = (
    *("word", "words", "token", "tokens", "vocab", "vocabulary", "term", "terms"),
    *("key", "keys", "text", "label", "labels"),
)
# Names of columns that are no dimensions, in a file that names its columns. The empty one is the
# number of the row, as pandas writes it.
_OTHER_NAMES = ("", "index", "id", "rank", "count", "counts", "freq", "frequency")

# Numbers that are worked on at once.
_CHUNK_NUMBERS = 1 << 23

# See `_Archive`: the same for Parquet, which says how many rows to expect.
_MOST_EXPANSION = 100
_HARMLESS_BYTES = 64 << 20


def _floating(dtype: Any) -> np.dtype[Any]:
    """Return the type of numbers that vectors of this type get: whole numbers become floats."""
    dtype = np.dtype(getattr(dtype, "numpy_dtype", dtype))
    return dtype if dtype.kind == "f" else np.result_type(dtype, np.float32)


def _mixed(label: str, floats: Sequence[object], whole: Sequence[object]) -> None:
    """Refuse whole numbers beside floating-point ones: a count must not become a dimension."""
    if floats and whole:
        raise ValueError(
            f"{label}: the columns {', '.join(map(repr, whole[:5]))} hold whole numbers, the "
            f"others ({', '.join(map(repr, floats[:3]))}...) floating-point ones. Leave them out, "
            "or convert them if they are dimensions."
        )


# ---- DataFrames and dicts ----------------------------------------------------------------------


def open_frame(frame: Any) -> TableSource:
    """Take the vectors of a pandas DataFrame.

    Parameters
    ----------
    frame : DataFrame
        The words in its index or in its only column of strings, the dimensions in columns of
        numbers (or the vectors in one column of lists).

    Returns
    -------
    TableSource
        A copy of the numbers. Those of float16, float32 and float64 stay so.

    Raises
    ------
    ValueError
        If the frame is laid out in another way, or lacks a word.
    """
    label = "the DataFrame"
    if len(frame) == 0:
        raise ValueError(f"{label} has no rows.")
    kinds: dict[str, list[int]] = {"text": [], "float": [], "whole": [], "list": [], "other": []}
    for position in range(frame.shape[1]):
        kinds[_kind(frame.iloc[:, position])].append(position)
    names = list(frame.columns)
    if _kind(frame.index.to_series()) == "text":
        words = frame.index
        refused = kinds["text"] + kinds["other"]
    else:
        if len(kinds["text"]) != 1:
            raise ValueError(
                f"{label}: expected the words in the index or in one column of strings; found "
                f"{len(kinds['text'])} such columns {[names[p] for p in kinds['text']]} and an "
                f"index that starts with {described(frame.index[0])}."
            )
        words = frame.iloc[:, kinds["text"][0]]
        refused = kinds["other"]
    if refused:
        raise ValueError(
            f"{label}: the columns {[names[p] for p in refused][:5]} hold neither the words nor "
            "numbers; drop them, or convert them."
        )
    words = _frame_words(words, label)
    if len(kinds["list"]) == 1 and not kinds["float"] + kinds["whole"]:
        vectors = _stack(words, frame.iloc[:, kinds["list"][0]].tolist(), label)
        return table_source(words, vectors, label, "Unnamed model")
    if kinds["list"]:
        raise ValueError(
            f"{label}: expected columns of numbers or one column of lists; found lists in "
            f"{[names[p] for p in kinds['list']]}."
        )
    _mixed(label, [names[p] for p in kinds["float"]], [names[p] for p in kinds["whole"]])
    numbers = kinds["float"] + kinds["whole"]
    if not numbers:
        raise ValueError(f"{label} has no column of numbers.")
    dtype = np.result_type(*(_floating(frame.dtypes.iloc[p]) for p in numbers))
    # A copy: a frame hands out what must not be changed, or what changes with it.
    vectors = frame.iloc[:, numbers].to_numpy(dtype=dtype, copy=True, na_value=np.nan)
    return table_source(words, vectors, label, "Unnamed model")


def _kind(series: Any) -> str:
    """Tell what a column holds: text, float, whole, list or other."""
    import pandas as pd

    dtype = series.dtype
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_complex_dtype(dtype):
        return "other"
    if pd.api.types.is_float_dtype(dtype):
        return "float"
    if pd.api.types.is_integer_dtype(dtype):
        return "whole"
    values = series.dropna()
    if len(values) == 0:
        return "other"
    if isinstance(values.iloc[0], str):
        return "text"
    return "list" if isinstance(values.iloc[0], list | tuple | np.ndarray) else "other"


def _frame_words(words: Any, label: str) -> list[str]:
    for position, word in enumerate(words):
        if not isinstance(word, str):
            raise ValueError(
                f"{label}: the word of row {position} is {word!r}, not a string. (Reading a CSV, "
                "pandas takes the words 'null', 'NA' and 'nan' for missing ones, unless "
                "keep_default_na=False.)"
            )
    return [str(word) for word in words]


def open_dict(mapping: Mapping[str, Any]) -> TableSource:
    """Take the vectors of a dict from words to vectors.

    Parameters
    ----------
    mapping : dict of str to array-like
        Vectors of one length each.

    Returns
    -------
    TableSource
        A copy of the numbers, in the widest type that a vector has; float32 stays float32.

    Raises
    ------
    ValueError
        If a key is no string, or a value no vector of the length of the first; the message names
        the word.
    """
    return dict_source(mapping, "the dict", "Unnamed model")


def dict_source(mapping: Mapping[str, Any], label: str, name: str) -> TableSource:
    """Take the vectors of a dict, under another label."""
    if not mapping:
        raise ValueError(f"{label} is empty.")
    for word in mapping:
        if not isinstance(word, str):
            raise ValueError(f"{label}: words must be strings; got {described(word)}.")
    words = [str(word) for word in mapping]
    return table_source(words, _stack(words, list(mapping.values()), label), label, name)


def _stack(words: Sequence[str], values: Sequence[Any], label: str) -> FloatArray:
    """Make a matrix of vectors; the error names the first word whose vector does not fit."""
    dim = None
    dtypes: set[np.dtype[Any]] = set()
    rows = []
    for word, value in zip(words, values, strict=True):
        try:
            row = np.asarray(value)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"{label}: {word!r} has no vector: {error}") from error
        if row.ndim != 1 or row.dtype.kind not in "fiu" or row.size == 0:
            raise ValueError(
                f"{label}: expected a list or 1-d array of numbers for {word!r}; got "
                f"{described(value)}."
            )
        dim = len(row) if dim is None else dim
        if len(row) != dim:
            raise ValueError(
                f"{label}: the vector of {word!r} has {len(row)} dims; that of {words[0]!r}, the "
                f"first, has {dim}."
            )
        dtypes.add(row.dtype)
        rows.append(row)
    dtype = np.result_type(*(_floating(dtype) for dtype in dtypes))
    return np.array(rows, dtype=dtype)


# ---- Parquet -----------------------------------------------------------------------------------


def open_parquet(path: Path, reading: Reading, words: str | None = None) -> ParquetSource:
    """Open a Parquet file, of which a part is read at a time.

    Parameters
    ----------
    path : Path
        A file with a column of words (or a pandas index of words), and either columns of numbers
        or one column of lists of numbers.
    reading : Reading
        How to read. With `lenient`, rows without a word or with a vector of another length are
        skipped.
    words : str, optional
        Name of the column of words, if there are several columns of strings.

    Returns
    -------
    ParquetSource
        The rows, in the order and (if they are floats) the type of the file.

    Raises
    ------
    ImportError
        If pyarrow is missing.
    ValueError
        If the file is damaged or laid out in another way, or the vectors are to be mapped.
    """
    return ParquetSource(path, reading, words)


@dataclass(frozen=True)
class _Layout:
    """Which columns of a Parquet file hold what."""

    words: str
    numbers: list[str]
    lists: str | None
    dtype: np.dtype[Any]
    dim: int

    @property
    def columns(self) -> list[str]:
        """The columns to be read."""
        return [self.words, *([self.lists] if self.lists is not None else self.numbers)]


class ParquetSource(VectorSource):
    """Vectors in a Parquet file.

    Parameters
    ----------
    path, reading, words
        See `open_parquet`.

    Notes
    -----
    Reading takes some 60 MB of memory if the vectors are in a column of lists. Of columns of
    numbers, a page and a dictionary are held of each: 2 MB per dimension, as pyarrow writes them.
    """

    def __init__(self, path: Path, reading: Reading, words: str | None = None) -> None:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise ImportError(
                f'{path} can only be read with pyarrow: pip install "wefe[parquet]".'
            ) from error
        if reading.hold == "mapped":
            raise ValueError(
                f"{path} cannot be mapped: Parquet is packed. Convert it first to a format that "
                "can, or leave out hold='mapped'."
            )
        self.path, self.reading = path, reading
        self.label, self.name = str(path), path.stem
        with path.open("rb"):
            pass  # An error of the system's own, if it cannot be read.
        file = self._guarded(self._file)
        rows = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        self.n_words = file.metadata.num_rows
        if self.n_words < 1:
            raise ValueError(f"{path} has no rows.")
        if min(rows) < 0 or sum(rows) != self.n_words:
            raise ValueError(
                f"{path} is damaged: it promises {self.n_words:,} rows, its groups {rows}."
            )
        self._layout = self._guarded(lambda: self._find_layout(file, words))
        self.dim = self._layout.dim
        promised = self.n_words * self.dim * self._layout.dtype.itemsize
        size = path.stat().st_size
        if promised > max(_HARMLESS_BYTES, _MOST_EXPANSION * size):
            raise ValueError(
                f"{path} promises {self.n_words:,} words of {self.dim} dims ({promised:,} bytes) "
                f"in a file of {size:,} bytes; no vectors can be packed so, so it is damaged or "
                "made to fill the memory."
            )
        self.expected_words = self.n_words

    def _file(self) -> Any:
        from pyarrow.parquet import ParquetFile

        # Buffered, otherwise a column of a row group (often the whole file) is read at once.
        return ParquetFile(
            self.path, buffer_size=1 << 16, pre_buffer=False, page_checksum_verification=True
        )

    def _guarded(self, make: Callable[[], Any]) -> Any:
        """Run what reads the file; what it raises says that the file is damaged."""
        try:
            return make()
        except ValueError as error:
            if str(error).startswith(self.label):
                raise
            raise self._damaged(error) from error
        # pyarrow raises OSError for what it cannot decode, and much else.
        except Exception as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> ValueError:
        return ValueError(
            f"{self.path} is damaged, or no Parquet file ({type(error).__name__}: {error})."
        )

    def _find_layout(self, file: Any, words: str | None) -> _Layout:
        import pyarrow as pa

        schema = file.schema_arrow
        if len(set(schema.names)) != len(schema.names):
            raise ValueError(f"{self.path} has several columns of one name: {schema.names[:20]}.")
        index = _pandas_index(schema)
        text, floats, whole, lists = [], [], [], []
        for field in schema:
            kind = field.type
            if _is_text(kind):
                text.append(field.name)
            elif pa.types.is_floating(kind):
                floats.append(field.name)
            elif pa.types.is_integer(kind) and field.name not in index:
                whole.append(field.name)
            elif _is_list_of_numbers(kind):
                lists.append(field.name)
        chosen = self._choose_words(text, index, words)
        if len(lists) == 1:
            kind = schema.field(lists[0]).type
            dtype = _floating(kind.value_type.to_pandas_dtype())
            dim = kind.list_size if pa.types.is_fixed_size_list(kind) else 0
            if dim == 0:
                first = next(file.iter_batches(batch_size=1, columns=lists)).column(0)[0]
                dim = 0 if first.as_py() is None else len(first)
            layout = _Layout(chosen, [], lists[0], dtype, dim)
        elif lists:
            raise ValueError(
                f"{self.path}: expected one column of lists of numbers, found {lists}. Leave only "
                "the one meant."
            )
        else:
            _mixed(self.label, floats, whole)
            numbers = floats or whole
            types = [_floating(schema.field(name).type.to_pandas_dtype()) for name in numbers]
            dtype = np.result_type(*types) if types else np.dtype(np.float32)
            layout = _Layout(chosen, numbers, None, dtype, len(numbers))
        if layout.dim < 1:
            raise ValueError(
                f"{self.path}: expected columns of numbers, or one column of lists of numbers; "
                f"found {_listed(schema)}."
            )
        return layout

    def _choose_words(self, text: list[str], index: list[str], given: str | None) -> str:
        if given is not None:
            if given in text:
                return given
            raise ValueError(f"{self.path} has no column of strings {given!r}; it has {text}.")
        named = [name for name in text if name.lower() in _WORD_NAMES]
        for candidates in (text, [name for name in text if name in index], named):
            if len(candidates) == 1:
                return candidates[0]
        if not text:
            raise ValueError(f"{self.path} has no column of strings, so there are no words.")
        raise ValueError(
            f"{self.path}: the words could be in any of the columns {text}. Name the "
            "right one 'word', or leave out the others."
        )

    def blocks(self) -> Iterator[Block]:
        """Read the rows, in order."""
        with progress_bar(self.n_words, self.path.name, "word", self.reading.progress) as bar:
            for words, vectors in self._blocks(None):
                bar.update(len(words))
                yield words, vectors

    def select(self, words: frozenset[str]) -> Block:
        """Look the words up in their column, then read only the row groups that have them."""
        file = self._guarded(self._file)
        missing = set(words)
        vectors: list[FloatArray] = []
        chosen: list[str] = []
        for group in range(self._guarded(lambda: file.num_row_groups)):
            if not missing:
                break
            column = [self._layout.words]
            batches = file.iter_batches(CHUNK_ROWS, row_groups=[group], columns=column)
            if not any(
                not missing.isdisjoint(self._guarded(batch.column(0).to_pylist))
                for batch in self._guarded_batches(batches)
            ):
                continue
            for block_words, block in self._blocks([group]):
                for row, word in enumerate(block_words):
                    if word in missing:
                        missing.remove(word)
                        chosen.append(word)
                        vectors.append(block[row].copy())
        if not vectors:
            return [], np.empty((0, self.dim), self._layout.dtype)
        return chosen, np.array(vectors)

    def _guarded_batches(self, batches: Iterator[Any]) -> Iterator[Any]:
        while (batch := self._guarded(lambda: next(batches, None))) is not None:
            yield batch

    def _blocks(self, groups: list[int] | None) -> Iterator[Block]:
        file = self._guarded(self._file)
        size = min(CHUNK_ROWS, max(1, _CHUNK_NUMBERS // self.dim))
        batches = file.iter_batches(size, row_groups=groups, columns=self._layout.columns)
        row = 0
        for batch in self._guarded_batches(batches):
            yield self._guarded(partial(self._block, batch, row))
            row += batch.num_rows
        chosen = range(file.num_row_groups) if groups is None else groups
        expected = sum(file.metadata.row_group(group).num_rows for group in chosen)
        if row != expected:
            raise ValueError(f"{self.path} is damaged: of {expected:,} rows, {row:,} can be read.")

    def _block(self, batch: Any, first_row: int) -> Block:
        layout = self._layout
        words = batch.column(layout.words).to_pylist()
        wrong = np.array([word is None for word in words])
        if layout.lists is None:
            vectors = np.empty((len(words), layout.dim), dtype=layout.dtype)
            for position, name in enumerate(layout.numbers):
                # What is missing becomes NaN, which pandas writes so.
                vectors[:, position] = batch.column(name).to_numpy(zero_copy_only=False)
        else:
            import pyarrow.compute as pc

            column = batch.column(layout.lists)
            lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
            fit = lengths == layout.dim
            wrong |= ~fit
            vectors = np.full((len(words), layout.dim), np.nan, dtype=layout.dtype)
            kept = column if fit.all() else column.filter(_arrow_mask(fit))
            # A fixed-size list hides its missing rows when it is flattened; they are gone here.
            numbers = kept.flatten().to_numpy(zero_copy_only=False)
            vectors[fit] = numbers.reshape(-1, layout.dim)
        if wrong.any():
            if not self.reading.lenient:
                position = int(np.argmax(wrong))
                what = (
                    "has no word"
                    if words[position] is None
                    else f"({words[position]!r}) has no vector of {layout.dim} dims"
                )
                raise ValueError(f"{self.path}: row {first_row + position} {what}.")
            self.n_skipped += int(wrong.sum())
            logger.warning(
                "%s: %d of the rows from %d on have no word or no vector of %d dims; skipped",
                self.path,
                int(wrong.sum()),
                first_row,
                layout.dim,
            )
            words = [word for word, out in zip(words, wrong, strict=True) if not out]
            vectors = vectors[~wrong]
        return words, vectors


def _arrow_mask(fit: Any) -> Any:
    import pyarrow as pa

    return pa.array(fit)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return str(kind) in ("string", "large_string", "string_view")


def _is_list_of_numbers(kind: Any) -> bool:
    import pyarrow as pa

    is_list = (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )
    return bool(
        is_list and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))
    )


def _pandas_index(schema: Any) -> list[str]:
    """Names of the columns that pandas wrote its index to."""
    try:
        columns = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        return [name for name in columns if isinstance(name, str)]
    except (KeyError, TypeError, ValueError, RecursionError):
        return []


def _listed(schema: Any) -> str:
    fields = [f"{field.name!r} ({field.type})" for field in schema]
    return ", ".join(fields[:8]) + (", ..." if len(fields) > 8 else "")


# ---- CSV ---------------------------------------------------------------------------------------

_NUMBER = re.compile(
    rb"\s*[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|inf(?:inity)?|nan)\s*", re.IGNORECASE
)

# A field between quotes, in which a quote is doubled; if it does not end before a separator, the
# quote is a word. (Vocabularies have that word, and not every writer quotes it.)
_FIELDS = {
    sep: re.compile(
        rb'(?:"((?:[^"]++|"")*+)"|([^' + re.escape(sep) + rb"]*))(?:" + re.escape(sep) + rb"|$)"
    )
    for sep in (b"\t", b",", b";")
}

# Bytes that are parsed at once, about.
# Lines that tell whether columns are what they should be.
_SAMPLE_LINES = 100
_MIN_DISTINCT = 5
_CHUNK_BYTES = 1 << 22


def open_csv(path: Path, reading: Reading) -> CsvSource:
    """Open a CSV or TSV file, of which a part is read at a time.

    Parameters
    ----------
    path : Path
        A file of lines with a word and its numbers between commas, tabs or semicolons, told by
        content; with or without a first line that names the columns. The word comes first, or in
        the column named 'word', 'token' or the like. Words may be quoted.
    reading : Reading
        How to read. With `lenient`, lines that cannot be read are skipped.

    Returns
    -------
    CsvSource
        The lines, in order, in float32.

    Raises
    ------
    ValueError
        If the file is no CSV, or the vectors are to be mapped; later, while it is read, if a line
        is not a word and as many numbers as the first. The message names file and line.
    """
    return CsvSource(path, reading)


class CsvSource(VectorSource):
    """Vectors in a CSV or TSV file.

    Parameters
    ----------
    path, reading
        See `open_csv`.

    Notes
    -----
    numpy parses the numbers: pandas takes 'nan' and 'inf' for text once words may be called
    'null', and fills short lines.
    """

    def __init__(self, path: Path, reading: Reading) -> None:
        if reading.hold == "mapped":
            raise ValueError(
                f"{path} cannot be mapped: it is text. Convert it first to a format that can, or "
                "leave out hold='mapped'."
            )
        self.path, self.reading = path, reading
        self.label, self.name = str(path), path.stem
        with path.open("rb") as file:
            head = file.read(4096)
            file.seek(0)
            first = next((line for line in _unblank(file)), b"")
        sep = looks_like_csv(head)
        if sep is None:
            raise ValueError(
                f"{path} is no CSV: expected lines of a word and numbers with commas, tabs or "
                f"semicolons between, found {head[:60]!r}."
            )
        self._sep = sep.encode()
        fields = _split(first, self._sep)
        columns = _header_columns(fields)
        self._has_header = columns is not None
        if columns is None:
            columns = 0, list(range(1, len(fields)))
        else:
            left_out = set(range(len(fields))) - {columns[0], *columns[1]}
            if left_out:
                names = [fields[column].decode(errors="replace") for column in sorted(left_out)]
                logger.info("%s: the columns %s are taken for no dimensions", path, names)
        self._n_fields = len(fields)
        self._word_column, self._columns = columns
        self.dim = len(self._columns)
        size = path.stat().st_size
        # A little more than there are, as the sample may tell; a word and a number take at least a
        # byte and a separator each.
        self.expected_words = int(
            min(1.02 * size * self._lines_per_byte(size), size / (2 * self.dim + 1)) + 1
        )
        self._check_columns(
            [
                field.decode(errors="replace") if self._has_header else str(number)
                for number, field in enumerate(fields, start=1)
            ]
        )

    def _check_columns(self, names: list[str]) -> None:
        """Refuse a file whose first lines show numbers for words, or a count for a dimension."""
        asked, self.reading = (
            self.reading,
            dataclasses.replace(self.reading, lenient=False, progress=False),
        )
        try:
            words, vectors = self._parse(next(self._chunks(), [])[:_SAMPLE_LINES])
        except ValueError:
            return  # named, or skipped and counted, when it is read
        finally:
            self.reading = asked
        if len(words) < 3:
            return
        if all("." in word and _NUMBER.fullmatch(word.encode()) for word in words):
            raise ValueError(
                f"{self.path}: the column {names[self._word_column]!r} should hold the words, and "
                "holds numbers. Write the words, too (of a DataFrame: its index)."
            )
        whole = (vectors == np.rint(vectors)).all(axis=0)
        broken = not whole.all()
        # Few lines, or few values, may be whole by chance.
        whole &= [len(np.unique(column)) > _MIN_DISTINCT for column in vectors.T]
        if whole.any() and broken:
            found = [names[column] for column, bad in zip(self._columns, whole, strict=True) if bad]
            raise ValueError(
                f"{self.path}: the columns {found} hold whole numbers, the others do not, so they "
                "are hardly dimensions. Leave them out."
            )

    def _lines_per_byte(self, size: int) -> float:
        n_bytes = n_lines = 0
        with self.path.open("rb") as file:
            for part in range(8):
                file.seek(size * part // 8)
                sample = file.read(1 << 15)
                n_bytes += len(sample)
                n_lines += sample.count(b"\n")
        return max(n_lines, 1) / max(n_bytes, 1)

    def blocks(self) -> Iterator[Block]:
        """Parse the lines, in order."""
        for lines in self._chunks():
            yield self._parse(lines)

    def select(self, words: frozenset[str]) -> Block:
        """Parse only the lines of the words; the others are not looked at further."""
        asked = {word.encode("utf-8", "surrogatepass") for word in words}
        found: dict[str, FloatArray] = {}
        lines: list[tuple[int, bytes]] = []
        for lines in self._chunks():
            wanted = [line for line in lines if self._word(line[1]) in asked]
            if not wanted:
                continue
            for word, vector in zip(*self._parse(wanted), strict=True):
                found.setdefault(word, vector)
        if lines and self._word(lines[-1][1]) not in asked:
            # So that a file that was cut is noticed.
            self._parse(lines[-1:])
        vectors = np.array(list(found.values()), dtype=np.float32)
        return list(found), vectors.reshape(-1, self.dim)

    def _chunks(self) -> Iterator[list[tuple[int, bytes]]]:
        """Read lines that are not blank, with their numbers."""
        number = 0
        header = self._has_header
        hint = min(_CHUNK_BYTES, CHUNK_ROWS * self.dim * 12)
        with (
            self.path.open("rb") as file,
            progress_bar(
                self.path.stat().st_size, self.path.name, "B", self.reading.progress
            ) as bar,
        ):
            while lines := file.readlines(hint):
                bar.update(sum(map(len, lines)))
                chunk = []
                for line in lines:
                    if number == 0:
                        line = line.removeprefix(b"\xef\xbb\xbf")
                    number += 1
                    line = line.rstrip(b"\r\n")
                    if not line.strip():
                        continue
                    if header:
                        header = False
                        continue
                    chunk.append((number, line))
                if chunk:
                    yield chunk

    def _word(self, line: bytes) -> bytes | None:
        if self._word_column == 0 and not line.startswith(b'"'):
            return line.partition(self._sep)[0]
        fields = _split(line, self._sep)
        return fields[self._word_column] if len(fields) > self._word_column else None

    def _parse(self, lines: list[tuple[int, bytes]]) -> Block:
        words = []
        rest = []
        plain = self._word_column == 0 and len(self._columns) == self._n_fields - 1
        try:
            for _, line in lines:
                if not plain:
                    word, numbers = self._pick(line)
                elif line.startswith(b'"'):
                    word, end = _first_field(line, self._sep)
                    numbers = line[end:]
                else:
                    word, _, numbers = line.partition(self._sep)
                if len(word) > MAX_WORD_BYTES:
                    raise ValueError
                words.append(word.decode("utf-8"))
                rest.append(numbers)
            text = b"\n".join(rest).decode("ascii").split("\n")
            vectors = np.loadtxt(
                text, np.float32, comments=None, delimiter=self._sep.decode(), ndmin=2
            )
            # A line without numbers is skipped by numpy.
            if vectors.shape != (len(lines), self.dim):
                raise ValueError
        except ValueError:
            return self._parse_each(lines)
        return words, vectors

    def _pick(self, line: bytes) -> tuple[bytes, bytes]:
        """Return the word of a line, and its numbers with separators between."""
        fields = _split(line, self._sep)
        if len(fields) != self._n_fields:
            raise ValueError
        numbers = [fields[column] for column in self._columns]
        if not all(_NUMBER.fullmatch(number) for number in numbers):
            raise ValueError
        word = fields[self._word_column]
        if len(word) > MAX_WORD_BYTES:
            raise ValueError(
                f"the word has {len(word):,} bytes; expected at most {MAX_WORD_BYTES:,}. Look for "
                "a missing quote, separator or line end."
            )
        return word, self._sep.join(numbers)

    def _parse_each(self, lines: list[tuple[int, bytes]]) -> Block:
        """Parse lines of which at least one is wrong: name it, or skip it."""
        words = []
        rows = []
        n_skipped = self.n_skipped
        for number, line in lines:
            try:
                word, numbers = self._pick(line)
                text = word.decode("utf-8")
                row = np.array(numbers.split(self._sep), dtype=np.float32)
            except ValueError as error:
                what = f"{self.path}, line {number}: "
                if isinstance(error, UnicodeDecodeError):
                    what += f"the word {error.object[:60]!r} is not UTF-8."
                else:
                    what += str(error) or (
                        f"expected a word and {self.dim} numbers ({self._n_fields} fields), found "
                        f"{line[:60]!r}{'...' if len(line) > 60 else ''}."
                    )
                if not self.reading.lenient:
                    raise ValueError(what) from error
                if self.n_skipped == n_skipped:
                    logger.warning("%s It is skipped.", what)
                self.n_skipped += 1
                continue
            words.append(text)
            rows.append(row)
        return words, np.array(rows, dtype=np.float32).reshape(-1, self.dim)


def looks_like_csv(head: bytes) -> str | None:
    r"""Return the separator of a CSV or TSV file of words and numbers; None for anything else.

    Parameters
    ----------
    head : bytes
        The first 4096 bytes of the file, or all, if there are fewer.

    Returns
    -------
    str or None
        A tab, a comma or a semicolon.

    Examples
    --------
    >>> looks_like_csv(b"she,0.1,0.2\nhe,0.3,0.4\n")
    ','
    >>> looks_like_csv(b", 0.1 0.2\nshe 0.3 0.4\n") is None
    True
    """
    cut = len(head) >= 4096 and not head.endswith(b"\n")
    lines = [line.rstrip(b"\r") for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    last = lines.pop() if cut else b""
    lines = [line for line in lines if line.strip()]
    for sep in _FIELDS:
        whole = [_split(line, sep) for line in lines]
        # Of a line that is cut, the last field is not whole.
        part = _split(last, sep)[:-1] if last else []
        if whole and _fit_csv(whole[:2], part, sep, lines[0]):
            return sep.decode()
        if not whole and len(part) > 2 and _fit_csv([part], [], sep, last.rpartition(b" ")[0]):
            return sep.decode()
    return None


def _fit_csv(lines: list[list[bytes]], part: list[bytes], sep: bytes, first: bytes) -> bool:
    """Tell whether lines, and the part of one that is cut, are a header or words with numbers."""
    n_fields = len(lines[0])
    columns = _header_columns(lines[0])
    if n_fields < 2 or _is_spaced(first):
        return False
    # Of one dimension, 'word, 0.1' is a word with a comma: CSV has no space there.
    if n_fields == 2 and sep != b"\t" and lines[0][1][:1] == b" ":
        return False
    word, numbers = columns or (0, list(range(1, n_fields)))
    rows = lines if columns is None else lines[1:]
    # A line that is wrong further down is the reader's to report.
    for row in rows[:1]:
        if len(row) != n_fields or not all(_NUMBER.fullmatch(row[column]) for column in numbers):
            return False
    if rows:
        return True
    if part:
        there = [part[column] for column in numbers if column < len(part)]
        return all(_NUMBER.fullmatch(field) for field in there)
    # Nothing but a header (many dimensions fill the head with their names).
    return columns is not None and lines[0][word].strip().lower().decode("latin-1") in _WORD_NAMES


def _is_spaced(line: bytes) -> bool:
    """Tell whether a line is of GloVe's and word2vec's kind: numbers behind single spaces."""
    fields = line.rstrip().split(b" ")[1:]
    return bool(fields) and all(_NUMBER.fullmatch(field) for field in fields)


def _header_columns(fields: list[bytes]) -> tuple[int, list[int]] | None:
    """Return the column of words and those of numbers, if the fields are names of columns."""
    names = [field.strip().lower().decode("utf-8", "replace") for field in fields]
    word_columns = [column for column, name in enumerate(names) if name in _WORD_NAMES]
    if len(word_columns) > 1:
        word_columns = [c for c in word_columns if names[c] in ("word", "token")] or word_columns
    word = word_columns[0] if word_columns else 0
    named = bool(word_columns) or names[0] in _OTHER_NAMES
    # Without a name that says where the words are, they come first, whatever that is called.
    others = {c for c, name in enumerate(names) if name in _OTHER_NAMES and c != word}
    if not word_columns:
        others = set()
    numbers = [c for c in range(len(fields)) if c != word and c not in others]
    if not numbers:
        return None
    are_numbers = [_NUMBER.fullmatch(fields[column]) is not None for column in numbers]
    # A hexadecimal number is no name either.
    if not any(are_numbers) and not any(names[c].lstrip("+-").startswith("0x") for c in numbers):
        return word, numbers
    # pandas numbers its columns from 0; so might be a vector, if it is short.
    start = 1 if names[numbers[0]] == "1" else 0
    counted = [names[column] for column in numbers] == [
        str(number) for number in range(start, start + len(numbers))
    ]
    if counted and (named or len(numbers) > 3):
        return word, numbers
    return None


def _split(line: bytes, sep: bytes) -> list[bytes]:
    """Split a line at the separators that are not between quotes."""
    if b'"' not in line:
        return line.split(sep)
    fields = []
    start, position = 0, 0
    while True:
        field, position = _first_field(line, sep, start)
        fields.append(field)
        if not line.endswith(sep, start, position):
            return fields
        if position == len(line):
            return [*fields, b""]
        start = position


def _first_field(line: bytes, sep: bytes, start: int = 0) -> tuple[bytes, int]:
    """Return the field that starts at a position, and where the next one does."""
    match = _FIELDS[sep].match(line, start)
    assert match is not None  # the second alternative matches anything
    quoted, raw = match.groups()
    return raw if quoted is None else quoted.replace(b'""', b'"'), match.end()


def _unblank(file: Any) -> Iterator[bytes]:
    for number, line in enumerate(file):
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line
        if text.strip():
            yield text.rstrip(b"\r\n")
