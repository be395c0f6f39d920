"""GloVe and word2vec text: a word and its numbers per line."""

from __future__ import annotations

import codecs
import contextlib
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from wefe._progress import progress_bar
from wefe.models._types import Block
from wefe.models.formats._bytes import PackedFile, line_blocks, line_spans
from wefe.models.formats._numbers import PAD, keep_freed_memory, parse_rows
from wefe.models.formats._sniff import SAMPLE_LINES, numbers_at_end, parse_header
from wefe.models.formats._source import Reading, VectorSource

# Bytes that one thread parses at once: large beside the overhead of a call, small beside the cache.
_PARSE_BYTES = 1 << 19


class LineError(ValueError):
    """A line that is no word and its numbers; the message says what was found."""


class TextSource(VectorSource):
    """A file of lines, each a word and its numbers, all separated by single spaces.

    A first line 'n_words dim' is a header. Words may contain spaces, as those of glove.840B do:
    the numbers are counted from the right. A space or carriage return before the line end is fine.

    Parameters
    ----------
    file : PackedFile
        The file.
    reading : Reading
        How it is to be read.

    Raises
    ------
    ValueError
        If the first line is neither a header nor a word and numbers.
    """

    def __init__(self, file: PackedFile, reading: Reading) -> None:
        self._file, self._reading = file, reading
        self.label, self.name = file.label, file.name
        head = file.head()
        self._start = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
        head = head[self._start :]
        header = parse_header(head)
        if header is not None:
            self.n_words, self.dim = header
            self._start += head.find(b"\n") + 1 or len(head)
            _check_header(self.label, file.size, header, reading.lenient)
            # Of a packed file nobody knows whether it can hold what its header promises.
            most = (file.size or 0) // (2 * self.dim + 1)
            self.expected_words = min(self.n_words, most)
        else:
            self.dim, bytes_per_line = _sample(file)
            # A little more than there are, as later words are longer.
            self.expected_words = int(1.05 * (file.size or 0) / bytes_per_line)
        self._first_line = 1 if header is None else 2
        if self.dim == 0:
            raise ValueError(
                f"{self.label}, line 1: expected a word and its numbers, found {shown(head)}."
            )

    def blocks(self) -> Iterator[Block]:
        """Parse the whole file on several threads; see `VectorSource`."""
        keep_freed_memory()
        line = self._first_line
        n_words = 0
        for parsed in self._parse_in_threads():
            for offset, message in parsed.problems:
                self._skip_or_raise(line + offset, message)
            line += parsed.n_lines
            n_words += len(parsed.words)
            yield parsed.words, parsed.vectors
        self._check_count(n_words)

    def select(self, words: frozenset[str]) -> Block:
        """Jump from line to line and parse those of `words`.

        Every other line is looked at only as far as its length: one too short to hold its numbers
        is an error here as well. The last line is always parsed, so a file that was cut is noticed.
        """
        keep_freed_memory()
        wanted = {word.encode("utf-8", "surrogatepass"): word for word in words}
        # A word may contain spaces; the line tells where it ends only when it is parsed.
        beginnings = {word.partition(b" ")[0] for word in wanted}
        found: dict[str, npt.NDArray[np.float32]] = {}
        shortest = 2 * self.dim + 1
        line, n_words = self._first_line - 1, 0
        last_parsed, last = line, (b"", 0)
        for data, position, end in self._lines():
            find = data.find
            while position < end:
                stop = find(b"\n", position, end)
                if stop < 0:
                    stop = end
                line += 1
                last = data, position
                space = find(b" ", position, stop)
                # Without a word before a space the line is blank or damaged.
                if (
                    space <= position
                    or data[position:space] in beginnings
                    or stop - position < shortest
                ):
                    text = data[position:stop]
                    position, last_parsed = stop + 1, line
                    if not text.strip():
                        continue
                    try:
                        word, vector = parse_line(text, self.dim)
                    except LineError as error:
                        self._skip_or_raise(line, str(error))
                        continue
                    if word in wanted:
                        found.setdefault(wanted[word], vector)
                position = stop + 1
                n_words += 1
        if last_parsed < line:
            data, position = last
            try:
                parse_line(data[position:].partition(b"\n")[0], self.dim)
            except LineError as error:
                self._skip_or_raise(line, f"{error} The file may be cut short.")
                n_words -= 1
        self._check_count(n_words)
        vectors = np.array(list(found.values()), dtype=np.float32).reshape(-1, self.dim)
        return list(found), vectors

    @contextlib.contextmanager
    def _open(self) -> Iterator[tuple[BinaryIO, progress_bar]]:
        """Open the file behind byte order mark and header."""
        with (
            self._file.open() as file,
            progress_bar(self._file.size, self._file.path.name, "B", self._reading.progress) as bar,
        ):
            file.read(self._start)
            yield file, bar

    def _lines(self) -> Iterator[tuple[bytes, int, int]]:
        """Hand out bytes, and where whole lines start and end in them."""
        # Large pieces: handing one over takes the threads some 50 microseconds.
        with self._open() as (file, bar):
            for line, piece, start, end in line_spans(file, self.label, 8 * _PARSE_BYTES):
                bar.update(len(piece))
                if line:
                    yield line, 0, len(line)
                yield piece, start, end

    def _parse_in_threads(self) -> Iterator[_Parsed]:
        coming: deque[Future[_Parsed]] = deque()
        n_threads, lenient = self._reading.n_jobs, self._reading.lenient
        failure: ValueError | None = None
        with self._open() as (file, bar), ThreadPoolExecutor(n_threads, "wefe-parse") as pool:
            blocks = line_blocks(file, self.label, _PARSE_BYTES)
            while True:
                try:
                    block = next(blocks, None) if failure is None else None
                except ValueError as error:
                    # Damaged lines before those that cannot be read are named first.
                    block, failure = None, error
                if block is not None:
                    bar.update(len(block))
                    coming.append(pool.submit(_parse_block, block, self.dim, lenient))
                elif not coming:
                    break
                if block is None or len(coming) > n_threads:
                    yield coming.popleft().result()
        if failure is not None:
            raise failure

    def _skip_or_raise(self, line: int, message: str) -> None:
        self.skip_or_raise(f"line {line}", message, self._reading.lenient)

    def _check_count(self, n_words: int) -> None:
        if self.n_words is not None and n_words + self.n_skipped != self.n_words:
            message = (
                f"{self.label}: the header promises {self.n_words} words, the file has "
                f"{n_words + self.n_skipped}."
            )
            if not self._reading.lenient:
                raise ValueError(f"{message} It may be cut short.")
            self.n_skipped = max(self.n_skipped, self.n_words - n_words)


@dataclass
class _Parsed:
    words: list[str]
    vectors: npt.NDArray[np.float32]
    n_lines: int
    #: Number of the line within the block, counted from 0, and what is wrong with it.
    problems: list[tuple[int, str]] = field(default_factory=list)


def _parse_block(block: bytes, dim: int, lenient: bool) -> _Parsed:
    """Parse lines: all at once if they are regular, else one by one."""
    if not block.endswith(b"\n"):
        block += b"\n"
    return _parse_regular(block, dim) or _parse_lines(block.split(b"\n")[:-1], dim, lenient)


def _parse_regular(block: bytes, dim: int) -> _Parsed | None:
    """Parse lines of a word without spaces and finite numbers; None if one is another thing."""
    words: list[bytes] = []
    numbers = [PAD]
    position, find = 0, block.find
    while position < len(block):
        stop = find(b"\n", position)
        space = find(b" ", position, stop)
        if space <= position:
            return None
        # Before the first space there is the word, if the line has as many numbers as expected.
        words.append(block[position:space])
        numbers.append(block[space : stop + 1])
        position = stop + 1
    parsed = None if b"\t" in block else parse_rows(b"".join(numbers), len(words), dim)
    if parsed is None:
        return None
    vectors, regular = parsed
    # As many numbers as expected, but with exponents or many digits.
    lines = np.flatnonzero(~regular).tolist()
    if lines and not _parse_numbers([numbers[1 + line] for line in lines], vectors, lines):
        return None
    try:
        decoded = b"\n".join(words).decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return None
    return _Parsed(decoded, vectors, len(words)) if np.isfinite(vectors).all() else None


# What numbers are made of; anything else (letters of nan and inf, too) is looked at line by line.
_OF_NUMBERS = b"0123456789.+-eE \r\n"


def _parse_numbers(texts: list[bytes], vectors: npt.NDArray[np.float32], lines: list[int]) -> bool:
    """Parse lines of numbers of any form into rows; False if that cannot be done."""
    text = b"".join(texts)
    if text.translate(None, _OF_NUMBERS):
        return False
    try:
        values = np.array(text.split(), dtype=np.float64)
    except ValueError:
        return False
    if values.size != len(lines) * vectors.shape[1]:
        return False
    with np.errstate(over="ignore"):
        vectors[lines] = values.reshape(len(lines), -1)
    return True


def _parse_lines(lines: list[bytes], dim: int, lenient: bool) -> _Parsed:
    """Parse lines one by one; the first problem ends it unless problems are to be counted."""
    words, rows, problems = [], [], []
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            word, vector = parse_line(line, dim)
        except LineError as error:
            problems.append((number, str(error)))
            if not lenient:
                break
            continue
        words.append(word.decode("utf-8"))
        rows.append(vector)
    vectors = np.array(rows, dtype=np.float32).reshape(-1, dim)
    return _Parsed(words, vectors, len(lines), problems)


def parse_line(line: bytes, dim: int) -> tuple[bytes, npt.NDArray[np.float32]]:
    """Return the word and the vector of a line; the reference for every faster way.

    Raises
    ------
    LineError
        If it is no word in UTF-8 and `dim` finite numbers with single spaces between them.
    """
    # Counted from the right, because a word may contain spaces.
    fields = line.rstrip(b" \r\n").rsplit(b" ", dim)
    numbers = b"".join(fields[1:])
    if b"\t" in line:
        raise LineError("there are tabs between numbers; expected single spaces.")
    if len(fields) == dim + 1 and fields[0] == b"":
        raise LineError(f"the word is empty; expected a word and {dim} numbers.")
    if b"" in fields or fields[0].endswith(b" "):
        raise LineError("expected single spaces, found several.")
    try:
        # Python reads 1_0 as 10, and with blanks around it; no file of vectors means that.
        if numbers != numbers.translate(None, b"_\r\v\f") or len(fields) != dim + 1:
            raise ValueError
        with np.errstate(over="ignore"):
            vector = np.array(fields[1:], dtype=np.float64).astype(np.float32)
    except ValueError:
        raise LineError(f"expected a word and {dim} numbers, found {shown(line)}.") from None
    try:
        fields[0].decode("utf-8")
    except UnicodeDecodeError:
        raise LineError(f"the word {fields[0]!r} is not UTF-8.") from None
    if not np.isfinite(vector).all():
        place = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise LineError(
            f"number {place + 1} of {fields[0]!r} is {fields[1 + place].decode()}; expected finite "
            "numbers (in float32)."
        )
    return fields[0], vector


def _check_header(label: str, size: int | None, header: tuple[int, int], lenient: bool) -> None:
    n_words, dim = header
    if min(header) == 0:
        raise ValueError(f"{label}: the header promises {n_words} words of {dim} dims.")
    # Believe no header: every line takes a letter, and a space and a digit for each number.
    least = (1 if lenient else n_words) * (2 * dim + 2) - 1
    if size is not None and least > size:
        raise ValueError(
            f"{label}: the header promises {n_words} words of {dim} dims, which need at least "
            f"{least:,} bytes; the file has {size:,}. It may be cut short."
        )


def _sample(file: PackedFile) -> tuple[int, float]:
    """Return how many numbers end the first lines of a text file, and the bytes of a line.

    What most lines have counts, as a word may itself end with a number and a line be damaged.
    """
    with file.open() as opened:
        block = next(line_blocks(opened, file.label, 1 << 16), b"").removeprefix(codecs.BOM_UTF8)
    lines = [line for line in block.split(b"\n") if line.strip()]
    if not lines:
        return 0, 1
    counts = Counter(numbers_at_end(line) for line in lines[:SAMPLE_LINES])
    counts.pop(0, None)
    dim = counts.most_common(1)[0][0] if counts else 0
    return dim, len(block) / len(lines)


def shown(line: bytes) -> str:
    """Return the beginning of a line for a message."""
    line = line.partition(b"\n")[0]
    return f"{line[:60]!r}{'...' if len(line) > 60 else ''}"
