"""Parquet files, read with pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wefe._checks import import_library
from wefe._progress import progress_bar
from wefe.models._types import CHUNK_ROWS, Block
from wefe.models.formats._bytes import MAX_WORD_BYTES, check_budget, naming_errors
from wefe.models.formats._frame import FrameLayout, stack
from wefe.models.formats._source import Reading, VectorSource

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
            layout = FrameLayout(self.label, head)
            self.dim, self._is_list = layout.dim, layout.is_list
            index = head.index.name or "__index_level_0__"
            self._word = index if layout.word < 0 else head.columns[layout.word]
            self._numbers = [head.columns[place] for place in layout.vectors]
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
        start = 0
        with (
            progress_bar(self.n_words, self.path.name, "word", self.reading.progress) as bar,
            naming_errors(self.label, "Parquet file"),
        ):
            for batch in self._open().iter_batches(n_rows):
                block = self._read(batch, start, words)
                start += batch.num_rows
                bar.update(batch.num_rows)
                yield block
            if start != self.n_words:
                raise ValueError(f"of {self.n_words:,} rows, {start:,} can be read")

    def _read(self, batch: Any, start: int, wanted: frozenset[str] | None) -> Block:
        import pyarrow.compute as pc

        column = batch.column(self._word)
        # A long word that many rows have is held once until here.
        if (pc.max(pc.binary_length(column.dictionary)).as_py() or 0) > MAX_WORD_BYTES:
            raise ValueError(f"a word has more than {MAX_WORD_BYTES:,} bytes")
        words = column.to_numpy(zero_copy_only=False)
        rows = np.arange(len(words))
        if wanted is not None:
            rows = np.flatnonzero([word in wanted for word in words])
            batch = batch.take(rows)
        columns = [batch.column(name) for name in self._numbers]
        values: Any = columns[0]
        if not self._is_list:
            values = np.column_stack([each.to_numpy(zero_copy_only=False) for each in columns])
        elif pc.list_value_length(values).unique().to_pylist() == [self.dim]:
            values = values.flatten().to_numpy(zero_copy_only=False).reshape(-1, self.dim)
        else:
            values = values.to_numpy(zero_copy_only=False)
        block = stack(
            *(self.label, words[rows].tolist(), values, self.dim, start + rows),
            skip=self.reading.lenient,
        )
        self.n_skipped += len(rows) - len(block[0])
        return block
