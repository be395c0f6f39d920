"""What must hold of a reader, whatever the bytes of a file.

`tests/models/test_fuzz.py` checks it on some inputs, `scripts/fuzz_readers.py` on millions.
"""

from __future__ import annotations

import functools
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import readers
from fuzz_files import Files, good_files, make_files

from wefe import load
from wefe.models._types import Reading
from wefe.models.formats._open import open_source
from wefe.models.formats._source import VectorSource

# What a reader may say of a file: that it is damaged, unknown, or lacks something beside it.
ALLOWED = (ValueError, FileNotFoundError, ImportError)
ASKED = ["she", "New York", "naïve", "job", "zebra"]
MAX_SECONDS = 3.0
# The budget of the package, and what libraries need to start.
MAX_EXPANSION, SMALL_BYTES, CONSTANT_BYTES = 100, 64 << 20, 96 << 20


ORACLES: dict[str, Callable[[Path], Any]] = {
    "glove": readers.read_text,
    "word2vec": readers.read_text,
    "word2vec-binary": readers.read_word2vec_binary,
    **dict.fromkeys(["gz", "bz2", "xz", "zst", "zip"], readers.read_packed),
    "csv": functools.partial(readers.read_csv, sep=","),
    "tsv": functools.partial(readers.read_csv, sep="\t"),
    "parquet": readers.read_parquet,
    "npy": readers.read_npy,
    "npz": readers.read_npz,
    **dict.fromkeys(["native-float32", "native-int8", "safetensors"], readers.read_native),
    "tokens": readers.read_token_table,
    "gensim": readers.read_gensim,
    "fasttext": readers.read_fasttext,
}
READERS = tuple(ORACLES)
# What a person has looked at: files that wefe may read, and the stricter reference does not.
DECIDED = re.compile(
    # A word may hold control characters and several spaces, and end with a number.
    "control character|not a word and its numbers"
    # An archive with two members of one name has the last of them.
    "|too many values to unpack"
    # A byte order mark may stand before a binary file.
    "|'ascii' codec"
    # pandas takes blanks around numbers, an empty field at the end of a line, and what stands
    # behind a quote; nobody reads the names of columns.
    "|no plain number|lines of different lengths|expected after|as CsvSource.*UnicodeDecodeError"
    '|a quote that is not closed|other names of columns|Field "word"|Multiple matches'
    # Text that was damaged in its first lines may be told as another format of text.
    "|read as (Text|Csv)Source.*(other names of columns|has no attribute 'groups')"
    "|other arrays"
    # Gaps and other tensors are let alone; the index of words is checked where it is used.
    "|SafetensorError|the index does not fit|words and vectors do not fit"
    # Tokenizers of other kinds, and what only their library reads.
    "|no table, or more than that|tokens and rows do not fit|another tokenizer|pre_tokenizer"
    "|words with other characters|JSONDecodeError|version"
    # numpy has no bfloat16.
    "|KeyError: 'BF16'"
    # Of a class in a pickle, the package and the last name count.
    "|UnpicklingError: (gensim|numpy)|No module named .numpy|can't handle version"
    # The matrix of what fastText predicts with, and the labels, are not used.
    "|sizes that do not fit|another matrix|words and labels are mixed"
)
TEXTS = ("glove", "word2vec", "word2vec-binary", "gz", "bz2", "xz", "zst", "zip", "csv", "tsv")


@dataclass
class Verdict:
    """What came of one input.

    Attributes
    ----------
    accepted : bool
        Whether the reader took it for a whole file.
    problems : list of str
        What must not be: these are finds.
    notes : list of str
        Where the reader and the reference differ in what they refuse, as `DECIDED` allows.
    """

    accepted: bool = False
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def write(folder: Path, files: Files) -> Path:
    """Write files into a folder that has no others; return the first."""
    for entry in os.scandir(folder):
        if entry.name not in files:
            os.unlink(entry.path)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / next(iter(files))


def attempt(verdict: Verdict, what: str, read: Callable[[], Any], *named: str) -> Any:
    """Return what is read, or the message of an error, which must have one of the names."""
    try:
        return read()
    except (Stop, KeyboardInterrupt):
        raise
    # Panics of libraries are no exceptions.
    except BaseException as error:
        if not isinstance(error, ALLOWED) or not any(name in str(error) for name in named):
            kind = type(error).__name__
            verdict.problems.append(f"{what}: {kind}, or without the file: {error}")
        return str(error)


def check_files(
    reader: str, files: Files, folder: Path, lenient: bool = False, compare_refused: bool = True
) -> Verdict:
    """Read files in every way, and compare with the reference."""
    path = write(folder, files)
    verdict = Verdict()
    size = sum(map(len, files.values()))
    started, memory = time.thread_time(), PeakMemory()
    options: dict[str, Any] = {"n_jobs": 1, "progress": False}
    if lenient:
        options["on_error"] = "skip"
    named = [path.name, path.stem, *(files if reader == "tokens" else ())]
    ways: dict[str, Callable[[], Any]] = {
        "whole": lambda: _read_whole(load(path, hold="memory", **options)),
        "words": lambda: _read_words(load(path, words=ASKED, hold="selected", **options)),
        "rows": lambda: _read_rows(opened.table),
    }
    opened = attempt(
        verdict,
        "open",
        lambda: open_source(path, Reading(on_error="skip" if lenient else "raise", progress=False)),
        *named,
    )
    # `load` begins with opening, too.
    is_open = isinstance(opened, VectorSource)
    whole, some, rows = (
        attempt(verdict, way, read, *named) if is_open else opened for way, read in ways.items()
    )
    verdict.accepted = isinstance(whole, dict)
    if isinstance(whole, dict):
        asked = {word: whole[word] for word in ASKED if word in whole}
        if reader.startswith("native"):
            # The index of words is looked at where it is used: a word may be lost with it, and
            # what is read of it be refused. A vector is never that of another word.
            asked = {word: asked[word] for word in asked if word in some}
            some = asked if isinstance(some, str) else some
            rows = whole if isinstance(rows, str) else rows
        if lenient and isinstance(rows, dict):
            # What is not finite is left out of what is held in memory.
            rows = {word: row for word, row in rows.items() if word in whole}
        if some != asked:
            verdict.problems.append(f"words: {_differ(some, asked)}")
        if rows is not None and rows != whole:
            verdict.problems.append(f"rows: {_differ(rows, whole)}")
    elif isinstance(some, dict) and isinstance(rows, dict):
        wrong = [word for word in some if rows.get(word) != some[word]]
        if wrong:
            verdict.problems.append(f"words and rows differ in {wrong}")
    seconds = time.thread_time() - started
    if seconds > MAX_SECONDS:
        verdict.problems.append(f"slow: {seconds:.1f} s")
    budget = max(SMALL_BYTES, MAX_EXPANSION * size) + CONSTANT_BYTES
    if (grown := memory.grown()) > budget:
        verdict.problems.append(f"memory: {grown / 1e6:.0f} MB")
    if not lenient and (verdict.accepted or compare_refused):
        _compare(reader, path, whole, verdict)
    return verdict


def _read_whole(model: Any) -> dict[str, tuple[str, bytes]]:
    words = list(model.vocab)
    vectors = np.asarray(model.vectors)
    if vectors.shape == (len(words), model.dim):
        vectors = vectors[list(model.vocab.values())]
    if vectors.shape != (len(words), model.dim):
        raise AssertionError(f"{len(words)} words, vectors of shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise AssertionError("NaN or infinity")
    return _bits(words, vectors)


def _read_words(model: Any) -> dict[str, tuple[str, bytes]]:
    found = {word: model[word] for word in ASKED if word in model}
    return {word: _bits([word], vector[np.newaxis])[word] for word, vector in found.items()}


def _read_rows(table: Any) -> dict[str, tuple[str, bytes]] | None:
    """Read in blocks, by row and by word; None if the format has no rows."""
    if table is None:
        return None
    found: dict[str, tuple[str, bytes]] = {}
    for words, vectors in table.blocks():
        found |= _bits(words, vectors)
    words = list(table.key_to_index)
    if list(found) != words or len(found) != len(table):
        raise AssertionError(f"other words in blocks: {list(found)} and {words}")
    rows = list(table.key_to_index.values())
    last = _bits(words[::-1], table.rows(rows[::-1]))
    if last != found:
        raise AssertionError("other vectors by rows")
    for word in words[:3]:
        # The index of a native file may be damaged; then a word is not found.
        if word in table and _bits([word], table[word][np.newaxis])[word] != found[word]:
            raise AssertionError(f"another vector of {word!r}")
    return found


def _differ(one: Any, other: Any) -> str:
    if not isinstance(one, dict):
        return f"refused, though read otherwise: {one}"
    wrong = [word for word in one if one[word] != other.get(word)]
    return f"{list(one)[:8]} instead of {list(other)[:8]}; other vectors of {wrong[:8]}"


def _bits(words: list[str], vectors: Any) -> dict[str, tuple[str, bytes]]:
    vectors = np.asarray(vectors)
    kind = vectors.dtype.newbyteorder("=")
    rows = np.ascontiguousarray(vectors, dtype=kind)
    return {word: (kind.name, row.tobytes()) for word, row in zip(words, rows, strict=True)}


def _compare(reader: str, path: Path, whole: Any, verdict: Verdict) -> None:
    """Compare with the reference, where both read the files."""
    try:
        with np.errstate(all="ignore"):
            words, vectors = ORACLES[reader](path)
        if not np.isfinite(vectors).all():
            raise ValueError("NaN or infinity")
    except (Stop, KeyboardInterrupt):
        raise
    except BaseException as error:
        if isinstance(whole, dict):
            kind = type(open_source(path, Reading(progress=False))).__name__
            note = f"read as {kind}; reference: {type(error).__name__}: {error}"
            decided = DECIDED.search(note) or (
                kind in ("TextSource", "CsvSource") and reader not in TEXTS
            )
            (verdict.notes if decided else verdict.problems).append(note)
        return
    expected = _bits(words, vectors)
    if not isinstance(whole, dict):
        verdict.notes.append(f"refused, read by the reference: {whole}")
    elif whole != expected or list(whole) != list(expected):
        verdict.problems.append(f"reference: {_differ(whole, expected)}")


# ---- Files that change while they are open -----------------------------------------------------

CHANGING = ("native-float32", "native-int8", "npy", "fasttext", "tokens", "gensim")


def check_changing(reader: str, seed: int, folder: Path) -> Verdict:
    """Change a file while a model of it is open: old vectors, or an error that names it."""
    random = Random(f"changing {reader} {seed}")
    good = random.choice(good_files(reader))
    path = write(folder, good)
    for each in folder.iterdir():
        os.utime(each, ns=(10**18, 10**18))  # the clock of a file system is coarse
    model = load(path, progress=False)
    table, verdict = model.table, Verdict()
    words = list(table.key_to_index)
    old = _bits(words, table.rows(np.arange(len(words))))
    if random.random() < 0.5:
        # Without what was kept of words that were looked up.
        model = load(path, progress=False)
        table = model.table
    if held := random.random() < 0.3:
        model.vectors  # noqa: B018 - read when it is asked for
    name = random.choice([*good])
    _change(random, folder / name, good[name], random.choice(good_files(reader)).get(name, b""))
    row = random.randrange(len(words))
    ways: dict[str, Callable[[], Any]] = {
        "rows": lambda: _bits([words[row]], table.rows([row])),
        "slice": lambda: _bits(words[row:], table.rows(slice(row, None))),
        "word": lambda: _bits([words[row]], model[words[row]][np.newaxis]),
        "blocks": lambda: _bits(*next(table.blocks())),
        "vectors": lambda: _bits(words, np.array(model.vectors)),
        "words": lambda: dict.fromkeys(table.key_to_index),
        "copy": lambda: _bits(words, table.copied().vectors),
    }
    for way in random.sample([*ways], 4):
        found = attempt(verdict, way, ways[way], path.name, name)
        if isinstance(found, str):
            continue
        expected = dict.fromkeys(old) if way == "words" else {w: old.get(w) for w in found}
        if found != expected:
            after = " after all were read" if held else ""
            verdict.problems.append(f"{way}: other vectors{after}: {_differ(found, expected)}")
    return verdict


def _change(random: Random, path: Path, content: bytes, other: bytes) -> None:
    kind = random.randrange(6)
    if kind == 0:
        os.truncate(path, random.randrange(len(content)))
    elif kind == 1:
        # Of the same size.
        place = random.randrange(len(content))
        with path.open("r+b") as file:
            file.seek(place)
            file.write(bytes(byte ^ 255 for byte in content[place : place + 64]))
    elif kind == 2:
        path.write_bytes(other[::-1])
    elif kind == 3:
        fresh = path.with_name("fresh")
        fresh.write_bytes(other[::-1])
        os.replace(fresh, path)
    elif kind == 4:
        path.unlink()
    else:
        with path.open("ab") as file:
            file.write(b"more")


# ---- Bounds ------------------------------------------------------------------------------------


class Stop(BaseException):
    """Raised in a worker that is taking too long."""


class PeakMemory:
    """The most memory that the process has used since this was made (on Linux; else 0)."""

    def __init__(self) -> None:
        try:
            Path("/proc/self/clear_refs").write_text("5")
            self._start = self._peak()
        except OSError:
            self._start = 0

    def _peak(self) -> int:
        match = re.search(rb"VmHWM:\s+(\d+)", Path("/proc/self/status").read_bytes())
        return int(match[1]) * 1024 if match else 0

    def grown(self) -> int:
        """Return by how many bytes it grew."""
        return self._peak() - self._start if self._start else 0


def check_seed(reader: str, seed: int, folder: Path) -> Verdict:
    """Check one input, made from a seed; every fourth also where damage is to be skipped."""
    if reader.startswith("changing-"):
        return check_changing(reader.removeprefix("changing-"), seed, folder)
    files = make_files(reader, seed)
    # A reader may refuse more than the reference; whether it does costs time.
    verdict = check_files(reader, files, folder, compare_refused=seed % 8 == 0)
    if seed % 4 == 0:
        lenient = check_files(reader, files, folder, lenient=True)
        verdict.problems += [f"skip: {problem}" for problem in lenient.problems]
    return verdict
