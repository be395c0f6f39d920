"""The file formats, one row each: the first row that matches the first bytes of a file opens it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wefe.models.formats._sniff import (
    is_spaced,
    is_text,
    is_word2vec_binary,
    parse_header,
)

#: Files of these suffixes are packed; text and word2vec binary are read through the packing.
PACKED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zip")


@dataclass(frozen=True)
class Format:
    """A file format; its `name` is the one that `save` takes.

    `save` uses the first format of a suffix with a writer. `matches` takes the first bytes of a
    file, decompressed. A `reader` ('module:function' of this package, or a function) takes a
    `PackedFile` (if the file may be `packed`) or a path, and a `Reading`, and returns a
    `VectorSource`. For writers see `_write`.
    """

    name: str
    suffixes: tuple[str, ...]
    matches: Callable[[bytes], bool]
    reader: str | Callable[..., Any]
    writer: str | None = None
    packed: bool = False


def _starts_with(magic: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(magic)


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
    Format(
        "gensim", (".kv", ".model", ".wv"), _is_gensim, "_arrays:open_gensim", "_write:write_gensim"
    ),
    Format("fasttext", (".bin",), _starts_with(b"\xba\x16O/"), "_word2vec:open_fasttext_bin"),
    Format("npy", (".npy",), _starts_with(b"\x93NUMPY"), "_arrays:open_npy"),
    Format("parquet", (".parquet",), _starts_with(b"PAR1"), "_frames:ParquetSource"),
    Format(
        "native",
        (".safetensors",),
        _is_safetensors,
        "_native:open_safetensors",
        "_native:write_native",
    ),
    Format(
        "word2vec-binary",
        (".bin",),
        is_word2vec_binary,
        "_word2vec:Word2VecBinarySource",
        "_write:write_plain",
        packed=True,
    ),
    Format("csv", (".csv", ".tsv"), _is_csv, "_frames:CsvSource", packed=True),
    Format("glove", (".txt",), is_text, "_text:TextSource", "_write:write_plain", packed=True),
    # Read as 'glove' is: a first line 'n_words dim' is all that differs.
    Format("word2vec", (".vec",), is_text, "_text:TextSource", "_write:write_plain", packed=True),
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
