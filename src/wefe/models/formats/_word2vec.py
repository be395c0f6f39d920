"""word2vec binary: a header line, then each word, a space and its float32 numbers."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wefe._progress import progress_bar
from wefe.models._types import Block
from wefe.models.formats._bytes import (
    MAX_RECORD_BYTES,
    MAX_WORD_BYTES,
    READ_BYTES,
    PackedFile,
    check_promise,
)
from wefe.models.formats._sniff import parse_header
from wefe.models.formats._source import Reading, VectorSource

_SPACE = ord(" ")


class Word2VecBinarySource(VectorSource):
    """A word2vec binary file; its header must not promise more than the file can hold."""

    def __init__(self, file: PackedFile, reading: Reading) -> None:
        self._file, self.reading = file, reading
        self.label, self.name = file.label, file.name
        head = file.head()
        header = parse_header(head)
        if header is None or b"\n" not in head:
            raise ValueError(f"{self.label}: expected a header 'n_words dim', found {head[:40]!r}.")
        self.n_words, self.dim = header
        self._size = 4 * self.dim
        self._start = head.index(b"\n") + 1
        # Every word takes its vector, one letter and a space.
        least = self._start + self.n_words * (self._size + 2)
        check_promise(self.label, header, least, None if reading.lenient else file.size)
        if self._size > MAX_RECORD_BYTES:
            raise ValueError(f"{self.label}: the header promises {self.dim} dims, too many.")

    def blocks(self, words: frozenset[str] | None = None) -> Iterator[Block]:
        """Jump from word to word; with `words`, read only their vectors."""
        wanted = {word.encode("utf-8", "surrogatepass") for word in words or ()}
        # A line end may stand before each word, as the original tool writes them.
        wanted |= {b"\n" + word for word in wanted}
        for first, data, here in self._records():
            if words is None:
                yield self._block(first, data, here, range(len(here)))
            elif not wanted.isdisjoint(here):
                rows = [row for row, word in enumerate(here) if word in wanted]
                yield self._block(first, data, here, rows)

    def _block(self, first: int, data: bytes, words: list[bytes], rows: Sequence[int]) -> Block:
        lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
        ends = np.cumsum(lengths + (1 + self._size)).tolist()
        numbers = b"".join([data[ends[row] - self._size : ends[row]] for row in rows])
        vectors = np.frombuffer(numbers, dtype="<f4").reshape(-1, self.dim).astype(np.float32)
        finite: Any = np.isfinite(vectors).all(axis=1)
        chosen = [words[row].removeprefix(b"\n") for row in rows]
        if finite.all() and all(chosen):
            with contextlib.suppress(UnicodeDecodeError):
                return [word.decode("utf-8") for word in chosen], vectors
        good = []
        for place, (row, word) in enumerate(zip(rows, chosen, strict=True)):
            if problem := _problem(word, finite[place]):
                self.skip_or_raise(f"word {first + row}", problem)
            else:
                good.append(place)
        return [chosen[place].decode("utf-8") for place in good], vectors[good]

    def _records(self) -> Iterator[tuple[int, bytes, list[bytes]]]:
        """Yield the number of a word, bytes that start with it, and the words in them.

        One regular expression finds the words of a block, ten times faster than a loop.
        """
        n_words, size = self.n_words or 0, self._size
        # The second branch takes what remains of a block in one step, so that the search never
        # starts again within a vector.
        record = re.compile(rb"([^ ]{0,%d}) .{%d}|.+" % (MAX_WORD_BYTES, size), re.DOTALL)
        longest = MAX_WORD_BYTES + 1 + size
        number, offset, rest = 1, self._start, b""
        file, show = self._file, self.reading.progress
        with file.open() as opened, progress_bar(file.size, file.path.name, "B", show) as bar:
            opened.read(self._start)
            while piece := opened.read(READ_BYTES):
                bar.update(len(piece))
                data = rest + piece
                words = record.findall(data)
                if _used(words, size) != len(data) or data[-1 - size] != _SPACE:
                    # The last was the second branch: no record. (Where as many bytes remain as a
                    # record without a word takes, only the space tells.)
                    words.pop()
                words = words[: n_words + 1 - number]
                yield number, data, words
                number, rest = number + len(words), data[_used(words, size) :]
                offset += len(data) - len(rest)
                if number > n_words:
                    if rest.strip():
                        raise ValueError(
                            f"{self.label}: the header promises {n_words} words of {self.dim} "
                            f"dims, but there is more after byte {offset:,}."
                        )
                    rest = b""
                elif len(rest) >= longest:
                    raise ValueError(
                        f"{self.label}, byte {offset:,}: expected word {number} of {n_words}, a "
                        f"space and {self.dim} numbers, found {rest[:40]!r}."
                    )
        if number <= n_words and not self.reading.lenient:
            raise ValueError(
                f"{self.label} is cut short in word {number} of {n_words}, after byte {offset:,}."
            )
        self.n_skipped += n_words + 1 - number


def _used(words: list[bytes], size: int) -> int:
    return sum(map(len, words)) + len(words) * (1 + size)


def _problem(word: bytes, is_finite: bool) -> str:
    try:
        text = word.decode("utf-8")
    except UnicodeDecodeError:
        return f"the word {word!r} is not UTF-8."
    if not is_finite:
        return f"the vector of {text!r} is not finite."
    return "" if word else "the word is empty."
