"""word2vec binary: a header line, then each word, a space and its float32 numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from wefe._progress import progress_bar
from wefe.models._types import Block, FloatArray
from wefe.models.formats._bytes import (
    MAX_RECORD_BYTES,
    MAX_WORD_BYTES,
    READ_BYTES,
    PackedFile,
    read_ahead,
)
from wefe.models.formats._sniff import parse_header
from wefe.models.formats._source import Reading, VectorSource

_SPACE = ord(" ")


class Word2VecBinarySource(VectorSource):
    """A file as word2vec and gensim write it.

    Parameters
    ----------
    file : PackedFile
        The file.
    reading : Reading
        How it is to be read.

    Raises
    ------
    ValueError
        If the header promises what the file cannot hold.
    """

    def __init__(self, file: PackedFile, reading: Reading) -> None:
        self._file, self._reading = file, reading
        self.label, self.name = file.label, file.name
        head = file.head()
        header = parse_header(head)
        if header is None or min(header) == 0 or b"\n" not in head:
            raise ValueError(f"{self.label}: expected a header 'n_words dim', found {head[:40]!r}.")
        self._n_promised, self.dim = header
        self.n_words = self._n_promised
        self._start = head.index(b"\n") + 1
        # Believe no header: every word takes its vector, one letter and a space.
        least = self._start + self._n_promised * (4 * self.dim + 2)
        if file.size is not None and least > file.size and not reading.lenient:
            raise ValueError(
                f"{self.label}: the header promises {self._n_promised} words of {self.dim} dims, "
                f"which need at least {least:,} bytes; the file has {file.size:,}. It may be cut "
                "short."
            )
        if file.size is not None:
            self.expected_words = min(self._n_promised, file.size // (4 * self.dim + 2) + 1)
        if 4 * self.dim > MAX_RECORD_BYTES:
            raise ValueError(
                f"{self.label}: the header promises {self.dim:,} dims; no embedding has that many."
            )

    def blocks(self) -> Iterator[Block]:
        """Read the whole file; see `VectorSource`."""
        for data, start, words in self._records():
            yield self._block(data, start, words, range(len(words)))

    def select(self, words: frozenset[str]) -> Block:
        """Jump from word to word and read the vectors of `words`."""
        wanted = {word.encode("utf-8", "surrogatepass") for word in words}
        # A line end may stand before each word, as the original tool writes them.
        either = wanted | {b"\n" + word for word in wanted}
        found: dict[str, FloatArray] = {}
        for data, start, here in self._records():
            if not either.isdisjoint(here):
                rows = [row for row, word in enumerate(here) if word in either]
                for word, vector in zip(*self._block(data, start, here, rows), strict=True):
                    if word in words:
                        found.setdefault(word, vector)
        vectors = np.array(list(found.values()), dtype=np.float32).reshape(-1, self.dim)
        return list(found), vectors

    def _block(self, data: bytes, start: int, words: list[bytes], rows: Sequence[int]) -> Block:
        """Return some of the words that start at a place of `data`, and their vectors."""
        size = 4 * self.dim
        lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
        ends = (start + np.cumsum(lengths + (1 + size))).tolist()
        numbers = b"".join([data[ends[row] - size : ends[row]] for row in rows])
        vectors = np.frombuffer(numbers, dtype="<f4").reshape(-1, self.dim)
        finite = np.isfinite(vectors).all(axis=1).tolist()
        decoded: list[str] = []
        good: list[int] = []
        for place, row in enumerate(rows):
            word = words[row].removeprefix(b"\n")
            problem = "" if word else "the word is empty."
            try:
                decoded.append(word.decode("utf-8"))
            except UnicodeDecodeError:
                problem = f"the word {word!r} is not UTF-8."
                decoded.append("")
            if not problem and not finite[place]:
                problem = f"the vector of {decoded[-1]!r} is not finite."
            if problem:
                number = self._first_word + row
                self.skip_or_raise(f"word {number}", problem, self._reading.lenient)
            else:
                good.append(place)
        if len(good) < len(rows):
            decoded, vectors = [decoded[place] for place in good], vectors[good]
        return decoded, vectors.astype(np.float32, copy=False)

    def _records(self) -> Iterator[tuple[bytes, int, list[bytes]]]:
        """Hand out bytes, where the first word starts in them, and the words.

        Word follows word, each with a space and its vector behind it. One regular expression takes
        the words of a whole block: it costs 0.1 microseconds a word, a tenth of what a loop would.
        """
        size = 4 * self.dim
        # The second branch takes what remains of a block in one step, so that the search never
        # starts again within a vector.
        record = re.compile(rb"([^ ]{0,%d}) .{%d}|.+" % (MAX_WORD_BYTES, size), re.DOTALL)
        longest = MAX_WORD_BYTES + 1 + size
        self._first_word, self._offset = 1, self._start
        rest = b""
        with (
            self._file.open() as file,
            progress_bar(self._file.size, self._file.path.name, "B", self._reading.progress) as bar,
        ):
            file.read(self._start)
            for piece in read_ahead(file, max(READ_BYTES, 2 * longest)):
                bar.update(len(piece))
                start = 0
                if rest:
                    # The word that began in the last piece; so the pieces need not be joined.
                    joint = rest + piece[:longest]
                    words, used = self._take(record, joint, 0, 1)
                    if words:
                        yield joint, 0, words
                        self._advance(1, used)
                        start, rest = used - len(rest), b""
                    else:
                        start = len(piece)
                        rest += piece
                if start < len(piece):
                    words, used = self._take(record, piece, start, len(piece))
                    if words:
                        yield piece, start, words
                        self._advance(len(words), used)
                    rest = piece[start + used :]
                rest = self._check_rest(rest, longest)
        n_missing = self._n_promised + 1 - self._first_word
        if n_missing:
            if not self._reading.lenient:
                raise ValueError(
                    f"{self.label} ends within word {self._first_word} of {self._n_promised}, "
                    f"after byte {self._offset:,}; the file is cut short."
                )
            self.n_skipped += n_missing

    def _take(
        self, record: re.Pattern[bytes], data: bytes, start: int, at_most: int
    ) -> tuple[list[bytes], int]:
        """Return the words of the records from `start` on, and how many bytes these take."""
        at_most = min(at_most, self._n_promised + 1 - self._first_word)
        size = 4 * self.dim
        words = record.findall(data, start)
        used = sum(map(len, words)) + len(words) * (1 + size)
        if words and (start + used != len(data) or data[len(data) - 1 - size] != _SPACE):
            # The last was the second branch: no record, so no bytes used. (Where as many bytes
            # remain as a record without a word takes, only the space tells.)
            words.pop()
            used -= 1 + size
        if len(words) > at_most:
            words = words[:at_most]
            used = sum(map(len, words)) + len(words) * (1 + size)
        return words, used

    def _advance(self, n_words: int, n_bytes: int) -> None:
        self._first_word += n_words
        self._offset += n_bytes

    def _check_rest(self, rest: bytes, longest: int) -> bytes:
        """Return the beginning of a record; refuse what cannot be one."""
        if self._first_word > self._n_promised:
            if rest.strip():
                raise ValueError(
                    f"{self.label}: the header promises {self._n_promised} words of {self.dim} "
                    f"dims, but there is more after byte {self._offset:,}."
                )
            return b""
        if len(rest) >= longest:
            raise ValueError(
                f"{self.label}, byte {self._offset:,}: expected word {self._first_word} of "
                f"{self._n_promised}, a space and {self.dim} numbers, found {rest[:40]!r}."
            )
        return rest
