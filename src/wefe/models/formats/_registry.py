"""The file formats, one row each, and how the first bytes of a file tell which one it has."""

from __future__ import annotations

import codecs
import importlib
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# What the first bytes of a file are compared with.
HEAD_BYTES = 4096
# Lines that are looked at to tell how many numbers stand in each.
SAMPLE_LINES = 10

_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r"))


def parse_header(head: bytes) -> tuple[int, int] | None:
    """Return (n_words, dim) if the first line is a word2vec header."""
    fields = head.removeprefix(codecs.BOM_UTF8).partition(b"\n")[0].split()
    # No file has 10**15 words; Python refuses to read numbers of thousands of digits.
    if len(fields) == 2 and all(field.isdigit() and len(field) < 16 for field in fields):
        return int(fields[0]), int(fields[1])
    return None


def is_number(text: str | bytes) -> bool:
    """Tell whether a field is a number; hexadecimal ones, which make a line damaged, count."""
    text = text.encode() if isinstance(text, str) else text
    try:
        float(text)
    except ValueError:
        return text.lstrip(b"+-").startswith((b"0x", b"0X"))
    return b"_" not in text


def numbers_at_end(line: bytes) -> int:
    """Count the numbers at the end of a line; its first field is a word."""
    fields = line.rstrip().split(b" ")[1:]
    return sum(1 for _ in itertools.takewhile(is_number, reversed(fields)))


def is_text(head: bytes) -> bool:
    """Tell whether at least half of the first lines, behind a header, are a word and numbers."""
    header = parse_header(head)
    if header is None:
        return _is_regular(_counts(head, head))
    body = head.partition(b"\n")[2]
    # Where the first vector would be in binary there are digits; or letters, if the first line has
    # no space, which may yet be a word with a line end.
    n_bytes = min(4 * header[1], 64)
    digits = rb"\n?[^ ]+ [-+.0-9eE\s]{%d}" % n_bytes
    letters = rb"\n?[^ \n]+\n[^ ]* [!-~\s]{%d}" % n_bytes
    if re.match(digits + b"|" + letters, body):
        return True
    # A line end may stand before a word in binary, never in text.
    if body.startswith(b"\n"):
        return False
    # A line of binary may end with a digit, too. It has other bytes, though, than text with a
    # wrong header.
    counts = _counts(body, head)
    if counts.count(header[1]) * 2 >= max(len(counts), 1):
        return True
    has_tabs = re.match(rb"[^\t ]+\t[-+.0-9]", body) is not None
    return is_clean(head) and (has_tabs or _is_regular(counts))


def _counts(body: bytes, head: bytes) -> list[int]:
    lines = body.removeprefix(codecs.BOM_UTF8).split(b"\n")
    if len(head) >= HEAD_BYTES:
        # The last line is cut, within its last number.
        last = lines.pop()
        lines = lines or [b"" if b"\0" in last else last.rpartition(b" ")[0]]
    return [numbers_at_end(line) for line in lines if line.strip()][:SAMPLE_LINES]


def _is_regular(counts: list[int]) -> bool:
    return any(counts) and counts.count(0) * 2 <= len(counts)


def is_word2vec_binary(head: bytes) -> bool:
    """Tell whether a file has a header and words with binary numbers."""
    return parse_header(head) is not None and not is_text(head)


def is_spaced(head: bytes) -> bool:
    """Tell whether the first line is a word and numbers, separated by spaces."""
    fields = head.removeprefix(codecs.BOM_UTF8).partition(b"\n")[0].rstrip().split(b" ")
    if b"\n" not in head and len(head) >= HEAD_BYTES:
        fields = fields[:-1]
    return len(fields) > 1 and all(map(is_number, fields[1:]))


def is_clean(head: bytes) -> bool:
    """Tell whether the first bytes are UTF-8 without control characters."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return head == head.translate(None, _CONTROL)


#: Files of these suffixes are packed; text and word2vec binary are read through the packing.
PACKED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zip")


@dataclass(frozen=True)
class Format:
    """A file format; its `name` is the one that `save` takes.

    `matches` takes the first bytes of a file, decompressed. A `reader` ('module:function' of this
    package, or a function) takes a `PackedFile` (if the file may be `packed`) or a path, and a
    `Reading`, and returns a `VectorSource`. For writers see `_write`.
    """

    name: str
    suffixes: tuple[str, ...]
    matches: Callable[[bytes], object]
    reader: str | Callable[..., Any]
    packed: bool = False


def _is_safetensors(head: bytes) -> bool:
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= 100_000_000


def _is_gensim(head: bytes) -> bool:
    is_pickle = re.match(rb"\x80[\x02-\x05]", head) is not None
    return is_pickle or (b"gensim.models" in head and not is_text(head))


def _is_csv(head: bytes) -> bool:
    # Words and numbers with a comma and a space between are both.
    if parse_header(head) is not None or is_spaced(head):
        return False
    return bool(function("_frames:looks_like_csv")(head))


FORMATS = (
    Format("gensim", (".kv", ".model", ".wv"), _is_gensim, "_arrays:open_gensim"),
    Format("fasttext", (".bin",), re.compile(rb"\xba\x16O/").match, "_word2vec:open_fasttext_bin"),
    Format("npy", (".npy",), re.compile(rb"\x93NUMPY").match, "_arrays:open_npy"),
    Format("parquet", (".parquet",), re.compile(rb"PAR1").match, "_frames:ParquetSource"),
    Format("native", (".safetensors",), _is_safetensors, "_native:open_safetensors"),
    Format("word2vec-binary", (".bin",), is_word2vec_binary, "_word2vec:BinarySource", packed=True),
    Format("csv", (".csv", ".tsv"), _is_csv, "_frames:CsvSource", packed=True),
    Format("glove", (".txt",), is_text, "_text:TextSource", packed=True),
    # Read as 'glove' is: a first line 'n_words dim' is all that differs.
    Format("word2vec", (".vec",), is_text, "_text:TextSource", packed=True),
    # An archive of .npy files, told by its members.
    Format("npz", (".npz",), lambda _: False, "_arrays:open_npz"),
)
BY_NAME = {row.name: row for row in FORMATS}
FORMAT_SUFFIXES = tuple(dict.fromkeys(suffix for row in FORMATS for suffix in row.suffixes))
SUFFIXES = (*FORMAT_SUFFIXES, *PACKED_SUFFIXES)


def without_suffixes(name: str) -> str:
    """Return the name of a file without the suffixes of compression and format."""
    for suffixes in (PACKED_SUFFIXES, FORMAT_SUFFIXES):
        name = next((name.removesuffix(end) for end in suffixes if name.endswith(end)), name)
    return name


def function(name: str | Callable[..., Any]) -> Callable[..., Any]:
    if callable(name):
        return name
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(f"wefe.models.formats.{module}"), attribute)  # type: ignore[no-any-return]
