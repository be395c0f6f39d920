"""Binary files of word2vec and fastText."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from wefe._checks import progress_bar
from wefe.models._file_array import FileArray, OpenFile
from wefe.models._tables import StoredVectors
from wefe.models._types import Block, FloatArray, Reading
from wefe.models.formats._registry import parse_header
from wefe.models.formats._source import (
    MAX_RECORD_BYTES,
    MAX_WORD_BYTES,
    READ_BYTES,
    PackedFile,
    TableSource,
    VectorSource,
    check_promise,
)

_SPACE = ord(" ")


class BinarySource(VectorSource):
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
        check_promise(self.label, header, least, None if reading.on_error == "skip" else file.size)
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
        vectors = np.frombuffer(numbers, dtype="<f4").reshape(-1, self.dim)
        texts = [_text(words[row].removeprefix(b"\n")) for row in rows]
        bad = [place for place, text in enumerate(texts) if not text]
        for row in (rows[place] for place in bad):
            what = f"the word {words[row]!r} is empty or not UTF-8."
            self.skip_or_raise(f"word {first + row}", what)
        # A copy that can be written to.
        vectors = np.delete(vectors, bad, axis=0).astype(np.float32, copy=False)
        return [*filter(None, texts)], vectors

    def _records(self) -> Iterator[tuple[int, bytes, list[bytes]]]:
        """Yield the number of a word, bytes that start with it, and (by one regex) their words."""
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
        if number <= n_words:
            where = f"byte {offset:,}"
            message = f"the file is cut short in word {number} of {n_words}."
            self.skip_or_raise(where, message, n_words + 1 - number)


def _used(words: list[bytes], size: int) -> int:
    return sum(map(len, words)) + len(words) * (1 + size)


def _text(word: bytes) -> str:
    """Return a word, or '' if it is not UTF-8."""
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        return ""


# ---- fastText ------------------------------------------------------------------------------------

# Magic, version, dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn,
# lrUpdateRate, t; then entries, words, labels, tokens, pruned n-grams (-1: none). Unpadded.
_HEADER = struct.Struct("<2i12id3i2q")
# Whether the matrix is quantised; its rows and columns.
_MATRIX = struct.Struct("<b2q")
# What ends each entry: a NUL, how often it occurred, whether it is a word (0) or a label (1).
_TAIL = re.compile(rb"\0[\s\S]{8}[\0\1]")
_SUPERVISED = 3
# fastText's end of sentence is the only word without n-grams.
_END_OF_SENTENCE = b"</s>"
# Bounds what an n-gram may take: the default is 6 letters.
_MAX_NGRAM = 64
# Bounds the memory while vectors are made: so many n-grams at once.
_BATCH_NGRAMS = 1 << 20

_Ints = npt.NDArray[np.intp]


class FastTextVectors(StoredVectors):
    """The words of a fastText model, whose vectors are computed from the file when they are used.

    A vector is the mean of the word's row and the rows of its n-grams. Adding them in float32 in
    the order of the official library gives identical numbers.
    """

    def __init__(self, path: Path) -> None:
        file = OpenFile(path)
        header = _HEADER.unpack(file.read(0, _HEADER.size))
        version, dim, model, bucket, min_n, max_n = header[1:3] + header[9:13]
        entries, n_words, n_labels, _, n_pruned = header[15:]
        supervised = model == _SUPERVISED
        # Two matrices follow the dictionary: it takes what they leave, as their sizes are known.
        n_rows = n_words + bucket + (n_labels if supervised else n_words)
        start = file.size - 2 * _MATRIX.size - 4 * dim * n_rows
        whole = (
            min(version, dim, n_words) > 0
            and version <= 12
            and bucket >= 0
            and max_n <= _MAX_NGRAM
            and n_pruned == -1
            and start > _HEADER.size
            and _MATRIX.unpack(file.read(start, _MATRIX.size)) == (0, n_words + bucket, dim)
        )
        text = file.read(_HEADER.size, start - _HEADER.size if whole else 0)
        words = _TAIL.split(text)
        ends = np.cumsum(np.fromiter(map(len, words), np.intp) + 10)[:n_words] - 10
        letters = np.frombuffer(text, np.uint8)
        if (
            not whole
            or (len(words), len(words[-1])) != (entries + 1, 0)
            or n_words > entries
            or letters[ends + 9].any()
            or len(index := _index(words[:n_words])) < n_words
        ):
            raise ValueError(
                f"{path}: expected a whole fastText model, found version {version} with "
                f"{n_words:,} words, {n_labels:,} labels, {bucket:,} buckets of n-grams and {dim} "
                f"dims, which do not fit {file.size:,} bytes. It may be damaged, quantised (.ftz) "
                "or from floret: write the vectors as text with the tool's save_vectors."
            )
        self.key_to_index, self._text, self._bounds = index, text, np.append(-10, ends)
        self.counts = sliding_window_view(letters, 8)[ends + 1].view("<i8")[:, 0]
        self.vector_size, self._n_words, self._bucket = dim, n_words, bucket
        self._matrix = FileArray(file, start + _MATRIX.size, (n_words + bucket, dim), "<f4")
        self.stored = [self._matrix]
        # Classifiers of version 11 were trained without n-grams, whatever they say.
        self._max_n = 0 if not bucket or (supervised and version == 11) else max_n
        self._min_n = max(min_n, 1)
        self.knows_subwords = self._max_n >= self._min_n

    def has_subwords(self, word: str) -> bool:
        return self._ngrams([word.encode("utf-8", "surrogatepass")])[0].size > 0

    def get_vector(self, word: str) -> FloatArray:
        return self._means(*self._ngrams([word.encode("utf-8", "surrogatepass")]))[0]  # type: ignore[no-any-return]

    def _make(self, rows: _Ints) -> FloatArray:
        vectors = np.empty((len(rows), self.vector_size), dtype=np.float32)
        starts, ends = (self._bounds[rows] + 10).tolist(), self._bounds[rows + 1].tolist()
        words = [self._text[start:end] for start, end in zip(starts, ends, strict=True)]
        n_ngrams = np.cumsum([len(word) + 2 for word in words], dtype=np.intp) * max(self._max_n, 1)
        cuts = np.flatnonzero(np.diff(n_ngrams // _BATCH_NGRAMS)) + 1
        for i, j in pairwise(sorted({0, *cuts.tolist(), len(rows)})):
            ngrams, counts = self._ngrams(words[i:j])
            # Each word's own row comes before its n-grams.
            parts = np.insert(ngrams, np.cumsum(counts) - counts, rows[i:j])
            vectors[i:j] = self._means(parts, counts + 1)
        return vectors

    def _ngrams(self, words: Sequence[bytes]) -> tuple[_Ints, _Ints]:
        """Return the rows of the n-grams of words, and their number per word."""
        wrapped = [b"<%s>" % word for word in words]
        lengths = np.fromiter(map(len, wrapped), np.intp, len(words))
        ends = np.cumsum(lengths)
        letters = np.frombuffer(b"".join(wrapped) + b"<", dtype=np.int8)
        # fastText hashes signed bytes.
        signed = letters.astype(np.int32).view(np.uint32)
        starts_letter = (letters & -64) != -128
        letter = np.cumsum(starts_letter)
        word_of = np.repeat(np.arange(len(words)), lengths)
        with_ngrams = np.array([word != _END_OF_SENTENCE for word in words]) & self.knows_subwords
        start = np.flatnonzero(starts_letter[:-1] & with_ngrams[word_of])
        place, hashes = start, np.full(len(start), 2166136261, dtype=np.uint32)
        found = [(start[:0], hashes[:0])]
        while place.size:
            hashes = (hashes ^ signed[place]) * np.uint32(16777619)
            n_letters = letter[place] - letter[start] + 1
            place = place + 1
            end = ends[word_of[start]]
            whole = starts_letter[place]
            # A single letter at the border is '<' or '>'.
            border = (start == end - lengths[word_of[start]]) | (place == end)
            taken = whole & (n_letters >= self._min_n) & ~((n_letters == 1) & border)
            found.append((start[taken], hashes[taken]))
            going = (place < end) & ~(whole & (n_letters == self._max_n))
            start, place, hashes = start[going], place[going], hashes[going]
        starts, values = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(starts, kind="stable")
        rows = self._n_words + values[order].astype(np.intp) % max(self._bucket, 1)
        return rows, np.bincount(word_of[starts], minlength=len(words))

    def _means(self, rows: _Ints, counts: _Ints) -> FloatArray:
        """Return the mean of the first `counts[0]` rows, of the next `counts[1]` rows, etc."""
        from scipy.sparse import csr_array  # slow to import

        unique, place = np.unique(rows, return_inverse=True)
        ones = np.ones(len(rows), dtype=np.float32)
        ends = np.concatenate([[0], np.cumsum(counts)])
        # The product of a sparse matrix adds the rows in their order, as fastText does.
        sums = (
            csr_array((ones, place, ends), shape=(len(counts), len(unique))) @ self._matrix[unique]
        )
        return np.asarray(sums * (1 / counts).astype(np.float32)[:, np.newaxis])


def _index(words: list[bytes]) -> dict[str, int]:
    # fastText cuts long words, perhaps within a letter.
    return {word.decode("utf-8", "backslashreplace"): row for row, word in enumerate(words)}


def open_fasttext_bin(path: Path, reading: Reading) -> TableSource:
    """Open a model or classifier that fastText wrote; ``subwords='mean'`` builds unseen words."""
    table = FastTextVectors(path)
    subwords = table.knows_subwords and reading.subwords == "mean"
    return TableSource(table, str(path), path.stem, table.counts, subwords)
