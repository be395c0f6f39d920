"""Parquet files, read by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wefe._progress import progress_bar
from wefe.models._types import CHUNK_ROWS, Block
from wefe.models.formats._bytes import check_budget, naming_errors
from wefe.models.formats._frame import FrameLayout
from wefe.models.formats._source import Reading, VectorSource, import_library

# Numbers that are worked on at once.
_CHUNK_NUMBERS = 1 << 19
# A larger file is not read a whole column at a time.
_BUFFERED_BYTES = 1 << 24


class ParquetSource(VectorSource):
    """Vectors in a Parquet file, of which a part is read at a time.

    Parameters
    ----------
    path : Path
        A file with a column of words (or a pandas index of words), and either columns of numbers
        or one column of lists of numbers.
    reading : Reading
        How to read. With `lenient`, rows without a word or with a vector of another length are
        skipped.

    Raises
    ------
    ImportError
        If pyarrow is missing.
    ValueError
        If the file is damaged or laid out in another way.

    Notes
    -----
    Reading takes some 60 MB of memory if the vectors are in a column of lists. Of columns of
    numbers, a page and a dictionary are held of each: 2 MB per dimension, as pyarrow writes them.
    """

    def __init__(self, path: Path, reading: Reading) -> None:
        import_library("pyarrow.parquet", "parquet", str(path))
        self.path, self.reading = path, reading
        self.label, self.name, size = str(path), path.stem, path.stat().st_size
        with naming_errors(self.label, "Parquet file"):
            file = self._open()
            self.n_words = self.expected_words = file.metadata.num_rows
            head = next(file.iter_batches(100), file.schema_arrow.empty_table())
            self._layout = FrameLayout(self.label, head.to_pandas())
            self.dim = self._layout.dim
            # Equal numbers take next to nothing in the file. (pyarrow knows more of each column,
            # but to ask for it ends the process if the file is damaged.)
            groups = map(file.metadata.row_group, range(file.num_row_groups))
            n_bytes = sum(group.total_byte_size for group in groups)
            check_budget(self.label, max(n_bytes, 8 * self.n_words * self.dim), size)

    def _open(self, **options: Any) -> Any:
        from pyarrow.parquet import ParquetFile

        # Buffered, otherwise a column of a row group (often the whole file) is read at once. A
        # buffer grows to what a page says of its size, up to 2 GB: not for a small file.
        if self.path.stat().st_size > _BUFFERED_BYTES:
            options["buffer_size"] = 1 << 16
        options["pre_buffer"] = False
        return ParquetFile(self.path, page_checksum_verification=True, **options)

    def blocks(self) -> Iterator[Block]:
        """Read the rows, in order."""
        n_rows = min(CHUNK_ROWS, max(1, _CHUNK_NUMBERS // self.dim))
        row = 0
        with (
            progress_bar(self.n_words, self.path.name, "word", self.reading.progress) as bar,
            naming_errors(self.label, "Parquet file"),
        ):
            fields = self._open().schema_arrow
            # A text that many rows have is held once.
            text = [field.name for field in fields if str(field.type) == "string"]
            for batch in self._open(read_dictionary=text).iter_batches(n_rows):
                block = self._layout.read(batch.to_pandas(), row, self.reading.lenient)
                row += batch.num_rows
                self.n_skipped += batch.num_rows - len(block[0])
                bar.update(batch.num_rows)
                yield block
            if row != self.n_words:
                raise ValueError(f"of {self.n_words:,} rows, {row:,} can be read")
