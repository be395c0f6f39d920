"""CSV and TSV files, read with pandas."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wefe._progress import progress_bar
from wefe.models._types import CHUNK_ROWS, Block
from wefe.models.formats._bytes import HEAD_BYTES, MAX_WORD_BYTES, line_blocks
from wefe.models.formats._frame import OTHER_NAMES, WORD_NAMES
from wefe.models.formats._sniff import is_number
from wefe.models.formats._source import Reading, VectorSource, select

logger = logging.getLogger(__name__)

# Bytes that are parsed at once.
_BLOCK_BYTES = 1 << 21
# The first line has at most so many bytes; the others as many as their word and numbers may take.
_MAX_FIRST_BYTES = 1 << 20
_MAX_NUMBER_BYTES = 64
# pandas takes memory and time for each column.
_MAX_COLUMNS = 1 << 14


class CsvSource(VectorSource):
    """Float32 vectors in a CSV or TSV file, read in parts.

    The content decides whether the separator is a comma, tab or semicolon, and whether the first
    line names columns. The word is in the first column, or in one named 'word', 'token' or similar.
    Columns named 'count', 'index' or similar are ignored.
    """

    def __init__(self, path: Path, reading: Reading) -> None:
        self.path, self.reading = path, reading
        self.label, self.name = str(path), path.stem
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(_MAX_FIRST_BYTES)
        lines = _lines(head)
        sep = looks_like_csv(head[:HEAD_BYTES])
        fields = _fields(lines[0], sep) if sep else []
        if sep is None or len(fields) > _MAX_COLUMNS or (len(lines) < 2 and size > len(head)):
            raise ValueError(
                f"{path} is not CSV: expected lines of a word and at most {_MAX_COLUMNS:,} numbers "
                f"with commas, tabs or semicolons between; found {head[:60]!r}."
            )
        self._sep, self._n_fields = sep, len(fields)
        self._has_header, self._word, self._numbers = _columns(fields)
        self.dim = len(self._numbers)
        if left_out := {*range(len(fields))} - {self._word, *self._numbers}:
            names = [fields[column] for column in sorted(left_out)]
            logger.info("%s: the columns %s are not used as dimensions", path, names)
        # pandas sees one more field; see `_read`.
        kinds = dict.fromkeys(range(len(fields) + 1), object) | dict.fromkeys(self._numbers, float)
        nans = {column: ["nan", "NaN", "NAN"] for column in self._numbers}
        self._options: dict[str, Any] = {"dtype": kinds, "na_values": nans, "sep": sep}
        self._max_bytes = MAX_WORD_BYTES + _MAX_NUMBER_BYTES * len(fields)
        about = 1.05 * size * len(lines) / len(head)
        # A word and a number take at least a byte and a separator each.
        self.expected_words = int(min(about, size / (2 * self.dim + 1)) + 1)

    def blocks(self) -> Iterator[Block]:
        return map(self._parse, self._chunks())

    def select(self, words: frozenset[str]) -> Block:
        """Parse the lines of the words, lines with quotes, and the last line (a truncated file)."""
        sep, asked = self._sep.encode(), {word.encode("utf-8", "surrogatepass") for word in words}
        first = self._word

        def is_wanted(line: bytes) -> bool:
            return b'"' in line or not asked.isdisjoint(
                line.split(sep, first + 1)[first : first + 1]
            )

        def wanted() -> Iterator[list[tuple[int, bytes]]]:
            # pandas takes as long for one line as for hundreds.
            last, kept = [], []
            for chunk in self._chunks():
                last = chunk[-1:]
                kept += [line for line in chunk if is_wanted(line[1])]
                if len(kept) >= CHUNK_ROWS:
                    yield kept
                    kept = []
            yield kept + [line for line in last if not is_wanted(line[1])]

        return select(map(self._parse, filter(None, wanted())), words, self.dim)

    def _chunks(self) -> Iterator[list[tuple[int, bytes]]]:
        number, n_header = 1, int(self._has_header)
        size = self.path.stat().st_size
        with (
            self.path.open("rb") as file,
            progress_bar(size, self.path.name, "B", self.reading.progress) as bar,
        ):
            for block in line_blocks(file, self.label, _BLOCK_BYTES):
                bar.update(len(block))
                lines = block.removeprefix(codecs.BOM_UTF8 if number == 1 else b"").split(b"\n")
                chunk = [(n, line) for n, line in enumerate(lines, number) if line.strip()]
                number += len(lines) - 1
                if chunk:
                    yield chunk[n_header:]
                    n_header = 0

    def _parse(self, lines: list[tuple[int, bytes]]) -> Block:
        """Parse lines; if that fails, parse halves until the damaged line is found."""
        if self.reading.lenient and len(lines) > 1:
            # Of many wrong lines, most are told at once.
            sep, n_seps = self._sep.encode(), self._n_fields - 1
            wrong = [n for n, line in lines if b'"' not in line and line.count(sep) != n_seps]
            if wrong:
                logger.warning("%s: %d lines have another number of fields", self.path, len(wrong))
                self.n_skipped += len(wrong)
                lines = [(n, line) for n, line in lines if n not in set(wrong)]
        try:
            return self._read([line for _, line in lines])
        except ValueError as error:
            if len(lines) > 1:
                half = len(lines) // 2
                words, vectors = self._parse(lines[:half])
                more_words, more = self._parse(lines[half:])
                return words + more_words, np.concatenate([vectors, more])
            number, line = lines[0]
            message = (
                f"{self.path}, line {number}: expected a word of at most {MAX_WORD_BYTES:,} bytes "
                f"and {self.dim} numbers, {self._n_fields} fields in all; found {line[:60]!r} of "
                f"{len(line):,} bytes ({error})."
            )
            if not self.reading.lenient:
                raise ValueError(message) from error
            logger.warning("%s It is skipped.", message)
            self.n_skipped += 1
            return [], np.empty((0, self.dim), np.float32)

    def _read(self, lines: list[bytes]) -> Block:
        import pandas as pd

        n = self._n_fields
        if any(len(line) > self._max_bytes or b"\0" in line for line in lines):
            raise ValueError("it is too long, or has null bytes")
        # pandas drops what a first line has too much, but keeps the one more field of this one.
        content = b"\n".join([self._sep.encode().join([b"0"] * (n + 1)), *lines])
        # A quote that is not closed is a character; in other lines it makes this one stand alone.
        is_odd = len(lines) == 1 and lines[0].count(b'"') % 2
        # Later releases are always exact.
        is_old = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
        frame = pd.read_csv(
            io.BytesIO(content),
            header=None,
            keep_default_na=False,
            quoting=csv.QUOTE_NONE if is_odd else csv.QUOTE_MINIMAL,
            float_precision="round_trip" if is_old else None,
            **self._options,
        )[1:]
        words = frame[self._word].tolist()
        if len(words) != len(lines) or any(frame[n]):
            raise ValueError("quotes do not match, or there are more fields")
        if max(map(len, words), default=0) > MAX_WORD_BYTES:
            raise ValueError("the word is too long")
        with np.errstate(over="ignore"):
            return words, frame[self._numbers].to_numpy(np.float32)


def looks_like_csv(head: bytes) -> str | None:
    """Return the separator if `head` (the first 4096 bytes) is CSV or TSV, otherwise None."""
    lines = _lines(head)[:2]
    is_cut = len(head) >= HEAD_BYTES and head.count(b"\n") < 2
    for sep in "\t,;":
        rows = [_fields(line, sep) for line in lines]
        n_fields = len(rows[0]) if rows else 0
        if is_cut and rows:
            rows[-1].pop()  # it may not be whole
        if n_fields < 2:
            continue
        has_header, word, numbers = _columns(rows[0])
        row = rows[has_header] if len(rows) > has_header else []
        seen = [row[column] for column in numbers if column < len(row)]
        is_telling = has_header and rows[0][word].strip().lower() in WORD_NAMES
        is_row = len(row) == n_fields or (is_cut and (seen or is_telling))
        if (is_row or (not row and is_telling)) and all(
            is_number(field.encode()) for field in seen
        ):
            return sep
    return None


def _columns(fields: list[str]) -> tuple[bool, int, list[int]]:
    """Tell whether a first line names columns, and which columns have the word and the numbers."""
    names = [field.strip().lower() for field in fields]
    telling = [column for column, name in enumerate(names) if name in WORD_NAMES]
    word = next((c for c in telling if names[c] in ("word", "token")), (telling or [0])[0])
    numbers = [c for c, name in enumerate(names) if c != word and name not in OTHER_NAMES]
    # pandas numbers its columns from 0; so might be a vector, if it is short.
    is_counted = [names[c] for c in numbers] == [str(i) for i in range(len(numbers))]
    is_named = bool(telling) or names[word] in OTHER_NAMES or len(numbers) > 3
    if numbers and ((is_counted and is_named) or not any(is_number(names[c]) for c in numbers)):
        return True, word, numbers
    return False, 0, list(range(1, len(fields)))


def _lines(head: bytes) -> list[str]:
    text = head.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    return [line.rstrip("\r") for line in text.split("\n") if line.strip()]


def _fields(line: str, sep: str) -> list[str]:
    """Split a line as the csv module does; an odd number of quotes are plain characters."""
    n_quotes = line.count('"')
    if n_quotes and n_quotes % 2 == 0:
        with contextlib.suppress(csv.Error):
            return next(csv.reader([line], delimiter=sep))
    return line.split(sep)
