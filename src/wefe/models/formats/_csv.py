"""CSV and TSV files."""

from __future__ import annotations

import codecs
import contextlib
import csv
import re
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wefe._progress import progress_bar
from wefe.models._types import Block, FloatArray
from wefe.models.formats._bytes import HEAD_BYTES, MAX_WORD_BYTES, line_blocks
from wefe.models.formats._frame import OTHER_NAMES, WORD_NAMES, log_left_out
from wefe.models.formats._sniff import is_number
from wefe.models.formats._source import Reading, VectorSource

# Numbers of a block: some MB.
_BLOCK_NUMBERS = 1 << 18
# The first line has at most so many bytes; the others as many as their word and numbers may take.
_MAX_FIRST_BYTES = 1 << 20
_MAX_NUMBER_BYTES = 64


class CsvSource(VectorSource):
    """Float32 vectors in a CSV or TSV file, read in parts.

    The separator is a comma, tab or semicolon; the first line may name columns. The word is in the
    first column or in one named 'word' or similar; columns named 'count' or similar are ignored.
    """

    def __init__(self, path: Path, reading: Reading) -> None:
        self.path, self.reading = path, reading
        self.label, self.name = str(path), path.stem
        with path.open("rb") as file:
            head = file.read(_MAX_FIRST_BYTES)
        sep = looks_like_csv(head[:HEAD_BYTES])
        is_whole = b"\n" in head.strip() or len(head) < _MAX_FIRST_BYTES
        if sep is None or not is_whole:
            raise ValueError(
                f"{path} is not CSV: expected words and numbers separated by commas, tabs or "
                f"semicolons; found {head[:60]!r}."
            )
        fields = _fields(_lines(head)[0], sep)
        self._sep, self._n_fields = sep, len(fields)
        self._has_header, self._word, self._numbers = _columns(fields)
        self.dim = len(self._numbers)
        log_left_out(self.label, fields, {self._word, *self._numbers})

    def blocks(self, words: frozenset[str] | None = None) -> Iterator[Block]:
        names, numbers = list[str](), array("d")
        for number, line in self._lines():
            try:
                word, texts = self._split(line)
                if words is None or word in words:
                    numbers.extend(list(map(float, texts)))
                    names.append(word)
            except ValueError as error:
                what = f"expected a word and {self.dim} numbers, {self._n_fields} fields in all"
                message = f"{what}; found {line[:60]!r} of {len(line):,} bytes ({error})."
                self.skip_or_raise(f"line {number}", message)
            if len(numbers) >= _BLOCK_NUMBERS:
                yield names, self._matrix(numbers)
                names, numbers = [], array("d")
        yield names, self._matrix(numbers)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield lines that are not blank, and their numbers, without the names of columns."""
        number, n_left_out = 0, int(self._has_header)
        show = self.reading.progress
        with (
            self.path.open("rb") as file,
            progress_bar(self.path.stat().st_size, self.path.name, "B", show) as bar,
        ):
            for block in line_blocks(file, self.label):
                bar.update(len(block))
                for line in block.removesuffix(b"\n").split(b"\n"):
                    number += 1
                    text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                    if text.strip():
                        if not n_left_out:
                            yield number, text
                        n_left_out = 0

    def _split(self, line: bytes) -> tuple[str, list[str]]:
        if len(line) > MAX_WORD_BYTES + _MAX_NUMBER_BYTES * self._n_fields or b"\0" in line:
            raise ValueError("it is too long, or has null bytes")
        fields = _fields(line.decode("utf-8").removesuffix("\r"), self._sep)
        if len(fields) != self._n_fields:
            raise ValueError(f"it has {len(fields)} fields")
        numbers = [fields[column] for column in self._numbers]
        # Python reads 1_0 as 10, and digits of every script; no file of vectors means that.
        if re.search(r"[^\0-\x7f]|_", "".join(numbers)):
            raise ValueError("a number has other characters")
        return fields[self._word], numbers

    def _matrix(self, numbers: array[float]) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.frombuffer(numbers).astype(np.float32).reshape(-1, self.dim)


def looks_like_csv(head: bytes) -> str | None:
    """Return the separator if `head` (the first 4096 bytes) is CSV or TSV, otherwise None."""
    is_cut = len(head) >= HEAD_BYTES and head.count(b"\n") < 2
    lines = _lines(head)[:2]
    return next((sep for sep in "\t,;" if _is_csv(lines, sep, is_cut)), None)


def _is_csv(lines: list[str], sep: str, is_cut: bool) -> bool:
    rows = [_fields(line, sep) for line in lines] or [[]]
    if is_cut:
        del rows[-1][-1:]  # it may not be whole
    first = rows[0]
    if len(first) < 2:
        return False
    has_header, word, numbers = _columns(first)
    row = [*rows, []][has_header]
    seen = [row[column] for column in numbers if column < len(row)]
    if not seen:
        # Names of columns are believed without a number only if one of them says 'word'.
        return has_header and first[word].strip().lower() in WORD_NAMES
    return (is_cut or len(row) == len(first)) and all(map(is_number, seen))


def _columns(fields: list[str]) -> tuple[bool, int, list[int]]:
    """Tell whether a first line names columns, and which columns have the word and the numbers."""
    names = [field.strip().lower() for field in fields]
    named = next((names.index(name) for name in WORD_NAMES if name in names), None)
    word = named or 0
    numbers = [c for c, name in enumerate(names) if c != word and name not in OTHER_NAMES]
    headings = [names[c] for c in numbers]
    has_header = bool(headings) and not any(map(is_number, headings))
    # pandas numbers its columns from 0; so might be a vector, if it is short.
    if headings == list(map(str, range(len(headings)))):
        has_header = named is not None or names[word] in OTHER_NAMES or len(headings) > 3
    return (True, word, numbers) if has_header else (False, 0, list(range(1, len(fields))))


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
