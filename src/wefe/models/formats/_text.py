"""Text with a word and its numbers per line: GloVe and word2vec, and what CSV shares with them."""

from __future__ import annotations

import codecs
import os
import re
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Iterator, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import progress_bar
from wefe.models._types import Block, Reading
from wefe.models.formats._numbers import keep_freed_memory, parse_numbers
from wefe.models.formats._registry import SAMPLE_LINES, numbers_at_end, parse_header
from wefe.models.formats._source import PackedFile, VectorSource, check_promise, line_blocks

# Bytes that one thread parses at once: large beside the overhead of a call, small beside the cache.
_PARSE_BYTES = 1 << 19

Vector: TypeAlias = npt.NDArray[np.float32]


class LineError(ValueError):
    """A line that is not a word and its numbers; the message says what was found."""


class LineSource(VectorSource):
    """A file with a word and its numbers per line, parsed by several threads.

    Lines begin at byte `_start`. `_separator` precedes each number.
    """

    _file: PackedFile
    _start: int = 0
    _first_line: int = 1
    _separator: bytes = b" "

    @abstractmethod
    def parse_line(self, line: bytes) -> tuple[str, Vector]:
        """Return the word and the vector of a line; the reference for the faster ways."""

    def blocks(self, words: frozenset[str] | None = None) -> Iterator[Block]:
        """Parse the file with several threads.

        With `words`, parse their lines, lines too short for their numbers, and the last of a block,
        because the last line of the file tells whether it was cut short.
        """
        firsts, sep = None, self._separator
        if words is not None:
            # A word may contain spaces; the line tells where it ends only when it is parsed.
            firsts = {word.encode("utf-8", "surrogatepass").partition(sep)[0] for word in words}
        keep_freed_memory()
        line, n_words = self._first_line, 0
        for parsed in self._parse_in_threads(firsts):
            for offset, message in parsed.problems:
                self.skip_or_raise(f"line {line + offset}", message)
            line += parsed.n_lines
            n_words += len(parsed.words) + parsed.n_unread
            yield parsed.words, parsed.vectors
        n_words += self.n_skipped
        if self.n_words is not None and n_words != self.n_words:
            self.skip_or_raise(
                "",
                f"the header promises {self.n_words} words, the file has {n_words}. It may be cut "
                "short.",
                max(0, self.n_words - n_words),
            )

    def _parse_in_threads(self, firsts: Set[bytes] | None) -> Iterator[Parsed]:
        coming: deque[Future[Parsed]] = deque()
        # Large pieces of a few words: handing one over takes the threads some 50 microseconds.
        n_bytes = _PARSE_BYTES if firsts is None else 8 * _PARSE_BYTES
        n_threads = self.reading.n_jobs or _available_cores()
        with (
            self._file.open() as file,
            progress_bar(self._file.size, self._file.path.name, "B", self.reading.progress) as bar,
            ThreadPoolExecutor(n_threads, "wefe-parse") as pool,
        ):
            file.read(self._start)
            for data in line_blocks(file, self.label, n_bytes):
                bar.update(len(data))
                coming.append(pool.submit(self._parse, data, firsts))
                if len(coming) > n_threads:
                    yield coming.popleft().result()
            for each in coming:
                yield each.result()

    def _parse(self, data: bytes, firsts: Set[bytes] | None) -> Parsed:
        """Parse lines: all at once if they are regular, otherwise one by one.

        With `firsts`, parse lines that start with these, are blank or too short, and the last one.
        """
        lines = data.removesuffix(b"\n").split(b"\n")
        if firsts is None:
            return self._parse_regular(lines) or self._parse_lines([*enumerate(lines)], len(lines))
        wanted = []
        for number, line in enumerate(lines, 1):
            end = line.find(self._separator)
            # A line of 2 * dim bytes has no room for a word and its numbers. Of a word in quotes
            # only the parser knows where it ends.
            is_odd = end <= 0 or len(line) <= 2 * self.dim or line[:1] == b'"'
            if is_odd or number == len(lines) or line[:end] in firsts:
                wanted.append((number - 1, line))
        return self._parse_lines(wanted, len(lines))

    def _parse_regular(self, lines: list[bytes]) -> Parsed | None:
        """Parse lines of a word without spaces and numbers; None if a line is different."""
        # Before the first space there is the word, if the line has as many numbers as expected.
        parts = (line.rstrip(b" \r").partition(b" ") for line in lines)
        words, _, numbers = zip(*parts, strict=True)
        rows = [b" %b\n" % each for each in numbers]
        vectors, letters = parse_numbers(rows, self.dim), b"\n".join(words)
        if vectors is None or b"\t" in letters or not all(words):
            return None
        try:
            return Parsed(letters.decode("utf-8").split("\n"), vectors, len(lines))
        except UnicodeDecodeError:
            return None

    def _parse_lines(self, lines: list[tuple[int, bytes]], n_lines: int) -> Parsed:
        """Parse some of `n_lines` one by one; blank lines are left out."""
        words, rows, problems = [], [], []
        for number, line in lines:
            try:
                if line.strip():
                    word, vector = self.parse_line(line)
                    words.append(word)
                    rows.append(vector)
            except LineError as error:
                problems.append((number, str(error)))
        vectors = np.array(rows, dtype=np.float32).reshape(-1, self.dim)
        return Parsed(words, vectors, n_lines, problems, n_lines - len(lines))


class Parsed(NamedTuple):
    words: list[str]
    vectors: Vector
    n_lines: int
    #: Number of the line within the block, counted from 0, and what is wrong with it.
    problems: Sequence[tuple[int, str]] = ()
    #: How many lines were not parsed.
    n_unread: int = 0


class TextSource(LineSource):
    """A file with a word and its numbers per line, separated by single spaces.

    A first line 'n_words dim' is a header. A space or carriage return may precede the line end.
    """

    def __init__(self, file: PackedFile, reading: Reading) -> None:
        self._file, self.reading = file, reading
        self.label, self.name = file.label, file.name
        first_bytes = file.head()
        head = first_bytes.removeprefix(codecs.BOM_UTF8)
        self._start = len(first_bytes) - len(head)
        header = parse_header(head)
        if header is not None:
            self.n_words, self.dim = header
            self._start += head.find(b"\n") + 1 or len(head)
            self._first_line = 2
            # Every line takes a letter, and a space and a digit for each number.
            least = (1 if reading.on_error == "skip" else self.n_words) * (2 * self.dim + 2) - 1
            check_promise(self.label, header, least, file.size)
        else:
            self.dim = _sampled_dim(file)
        if self.dim == 0:
            raise ValueError(
                f"{self.label}, line 1: expected a word and its numbers, found {shown(head)}."
            )

    def parse_line(self, line: bytes) -> tuple[str, Vector]:
        """Return the word and the vector of a line; the reference for the faster ways."""
        # Counted from the right, because a word may contain spaces.
        fields = line.rstrip(b" \r\n").rsplit(b" ", self.dim)
        try:
            # Python reads 1_0 as 10, and with blanks around it; no file of vectors means that.
            is_odd = b"\t" in line or re.search(rb"[_\r\v\f]", b"".join(fields[1:]))
            if is_odd or b"" in fields or fields[0].endswith(b" ") or len(fields) != self.dim + 1:
                raise ValueError
            with np.errstate(over="ignore"):
                vector = np.array(fields[1:], dtype=np.float64).astype(np.float32)
            return fields[0].decode("utf-8"), vector
        except ValueError:
            raise LineError(
                f"expected a word and {self.dim} numbers, in UTF-8 and separated by single spaces; "
                f"found {shown(line)}."
            ) from None


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _sampled_dim(file: PackedFile) -> int:
    """Return how many numbers most of the first lines end with."""
    with file.open() as opened:
        block = next(line_blocks(opened, file.label, 1 << 16), b"").removeprefix(codecs.BOM_UTF8)
    lines = [line for line in block.split(b"\n") if line.strip()]
    counts = Counter(filter(None, map(numbers_at_end, lines[:SAMPLE_LINES])))
    return counts.most_common(1)[0][0] if counts else 0


def shown(line: bytes) -> str:
    line = line.partition(b"\n")[0]
    return f"{line[:60]!r}{'...' if len(line) > 60 else ''}"
