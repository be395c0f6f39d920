"""word2vec binary: a header line, then each word, a space and its float32 numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from wefe._progress import progress_bar
from wefe.models._keyed_vectors import FloatArray
from wefe.models.formats._bytes import (
    MAX_RECORD_BYTES,
    MAX_WORD_BYTES,
    READ_BYTES,
    PackedFile,
    read_ahead,
    read_fully,
)
from wefe.models.formats._source import Block, Reading, VectorSource
from wefe.models.formats._text import parse_header

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
        self.label, self.name = file.label, file.inner_name.rpartition(".")[0] or file.inner_name
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
        size = 4 * self.dim
        for data, start, words in self._records():
            vectors = np.frombuffer(
                b"".join(data[end - size : end] for end in _ends(start, words, self.dim)),
                dtype="<f4",
            ).reshape(-1, self.dim)
            decoded, kept = [], []
            for row, word in enumerate(words):
                try:
                    decoded.append(_decode(word))
                    kept.append(row)
                except ValueError as error:
                    self._skip_or_raise(self._first_word + row, str(error))
            finite = np.isfinite(vectors).all(axis=1)
            if len(kept) < len(words) or not finite.all():
                for row, name in zip(kept, decoded, strict=True):
                    if not finite[row]:
                        where = self._first_word + row
                        self._skip_or_raise(where, f"the vector of {name!r} is not finite.")
                decoded = [word for row, word in zip(kept, decoded, strict=True) if finite[row]]
                vectors = vectors[[row for row in kept if finite[row]]]
            yield decoded, vectors.astype(np.float32, copy=False)

    def select(self, words: frozenset[str]) -> Block:
        """Jump from word to word and read the vectors of `words`."""
        wanted = {word.encode("utf-8", "surrogatepass") for word in words}
        # A line end may stand before each word, as the original tool writes them.
        either = wanted | {b"\n" + word for word in wanted}
        found: dict[str, FloatArray] = {}
        for data, start, here in self._records():
            if either.isdisjoint(here):
                continue
            ends = _ends(start, here, self.dim)
            for row, (word, end) in enumerate(zip(here, ends, strict=True)):
                if word not in either:
                    continue
                where = self._first_word + row
                try:
                    decoded = _decode(word)
                except ValueError as error:
                    self._skip_or_raise(where, str(error))
                    continue
                vector = np.frombuffer(data[end - 4 * self.dim : end], dtype="<f4")
                if not np.isfinite(vector).all():
                    self._skip_or_raise(where, f"the vector of {decoded!r} is not finite.")
                elif decoded in words:
                    found.setdefault(decoded, vector)
        vectors = np.array(list(found.values()), dtype=np.float32).reshape(-1, self.dim)
        return list(found), vectors

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
            read_fully(file, self._start)
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

    def _skip_or_raise(self, number: int, message: str) -> None:
        if not self._reading.lenient:
            raise ValueError(f"{self.label}, word {number}: {message}")
        self.n_skipped += 1


def _ends(start: int, words: list[bytes], dim: int) -> list[int]:
    """Return where the vector of each word ends, the first word starting at `start`."""
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    return (start + np.cumsum(lengths + (1 + 4 * dim))).tolist()  # type: ignore[no-any-return]


def _decode(word: bytes) -> str:
    word = word.removeprefix(b"\n")
    if not word:
        raise ValueError("the word is empty.")
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"the word {word!r} is not UTF-8.") from None
