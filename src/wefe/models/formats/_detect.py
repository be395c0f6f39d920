"""Tell the formats apart, by what a file holds and not by its name."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wefe._checks import found, nearest
from wefe.models.formats._bytes import ZIP_ERRORS, PackedFile
from wefe.models.formats._source import Reading, VectorSource
from wefe.models.formats._text import TextSource, is_clean, is_spaced, looks_like_text, parse_header

_FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")
_PICKLE = re.compile(rb"\x80[\x02-\x05]")


def open_source(
    source: Any,
    reading: Reading,
    vocabulary: Sequence[str] | str | os.PathLike[str] | None = None,
    revision: str | None = None,
    token: str | bool | None = None,
) -> VectorSource:
    """Open whatever `wefe.load` takes (but for 'demo'); see there."""
    if not isinstance(source, str | os.PathLike):
        from wefe.models.formats._objects import open_object

        opened = open_object(source, reading)
        if opened is None:
            raise TypeError(
                "source must be a path, a name, 'demo', or an object that holds vectors (of "
                f"gensim, spaCy, flair, pandas, a dict); got {found(source)}."
            )
        return opened
    path = Path(source)
    # An empty name would be the current folder.
    if os.fspath(source) and path.is_dir():
        from wefe.models.formats._tokens import open_token_table

        return open_token_table(path, reading)
    if path.is_file() or any(parent.is_file() for parent in path.parents):
        return open_file(path, reading, vocabulary)
    if path.is_fifo():
        return _open_pipe(path, reading, vocabulary)
    fetched = _fetch(os.fspath(source), path, revision, token)
    return open_source(fetched, reading, vocabulary)


def _open_pipe(
    path: Path, reading: Reading, vocabulary: Sequence[str] | str | os.PathLike[str] | None
) -> VectorSource:
    """Open a copy of what comes through a pipe, as readers start more than once.

    The copy is removed with the source; what is mapped from it stays.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="wefe-"))
        copy = Path(folder, path.name)
        with path.open("rb") as pipe, copy.open("wb") as file:
            shutil.copyfileobj(pipe, file)
        try:
            opened = open_file(copy, reading, vocabulary)
        except ValueError as error:
            raise ValueError(str(error).replace(str(copy), str(path))) from error
        weakref.finalize(opened, stack.pop_all().close)
    opened.label = str(path)
    return opened


def _fetch(text: str, path: Path, revision: str | None, token: str | bool | None) -> Path:
    """Return the local copy of what a name stands for, downloaded if need be."""
    from wefe.models.formats import _hub

    if text in _hub.GENSIM_DATA_NAMES:
        return _hub.fetch_from_gensim_data(text)
    # 'vectors/glove.txt' is far more often a file that is missing than a repository.
    local = path.suffix in _SUFFIXES or (len(path.parts) > 1 and path.parent.is_dir())
    if text.startswith("hf://") or (not local and _hub.looks_like_repo_id(text)):
        return _hub.fetch_from_hugging_face(text, revision, token)
    raise FileNotFoundError(
        f"there is no file {text!r}. A model is a file of vectors, the name of one in gensim-data "
        "('glove-twitter-25'), a repository of Hugging Face ('org/name'), or 'demo' for the "
        f"packaged vectors.{nearest(text, _hub.GENSIM_DATA_NAMES) or _nearest_file(path)}"
    )


def _nearest_file(path: Path) -> str:
    """Return a question about a file of nearly this name in the same folder."""
    try:
        names = [str(path.parent / entry.name) for entry in os.scandir(path.parent)]
    except OSError:
        return ""
    return nearest(str(path), names)


_SUFFIXES = {
    *(".txt", ".vec", ".bin", ".kv", ".model", ".npy", ".npz", ".safetensors", ".parquet", ".csv"),
    *(".tsv", ".gz", ".bz2", ".xz", ".zst", ".zip"),
}


def open_file(
    path: Path,
    reading: Reading,
    vocabulary: Sequence[str] | str | os.PathLike[str] | None = None,
) -> VectorSource:
    """Open a file of vectors in any format."""
    # Each reader is imported when its format is met: opening a text file needs none of the others.
    if zipfile.is_zipfile(path) and _is_npz(path):
        from wefe.models.formats._numpy import open_npz

        return open_npz(path, reading, vocabulary)
    file = PackedFile(path)
    head = file.head()
    if not head:
        raise ValueError(f"{file.label} is empty.")
    if head[257:262] == b"ustar":
        raise ValueError(f"{file.label} is a tar archive; unpack it first.")
    table = _open_table(path, head, reading, vocabulary, packing=file.packing)
    if table is not None:
        return table
    # A line may be longer than the head.
    text = head if b"\n" in head else file.head(1 << 16)
    if b"\r" in text.rstrip() and b"\n" not in text and is_clean(text):
        raise ValueError(
            f"{file.label}: expected lines that end with a line feed (\\n), found carriage returns "
            "(\\r) alone. Convert them first, for example with tr '\\r' '\\n'."
        )
    header = parse_header(head.removeprefix(codecs.BOM_UTF8))
    if header is not None:
        if min(header) == 0:
            raise ValueError(
                f"{file.label}: the header promises {header[0]} words of {header[1]} dims."
            )
        start = head.find(b"\n") + 1 or len(head)
        # A line end may stand before a word in binary, never in text.
        if head[start : start + 1] != b"\n" and looks_like_text(head, start, header[1]):
            return TextSource(file, reading)
        if re.match(rb"[^\t ]+\t[-+.0-9]", head[start:]):
            raise ValueError(f"{file.label} has tabs between numbers; expected single spaces.")
        from wefe.models.formats._word2vec import Word2VecBinarySource

        return Word2VecBinarySource(file, reading)
    if is_spaced(head):
        return TextSource(file, reading)
    from wefe.models.formats._frames import looks_like_csv, open_csv

    # Words and numbers with a comma and a space between are both.
    if looks_like_csv(head) is not None:
        _refuse_packed(file.label, file.packing)
        return open_csv(path, reading)
    if looks_like_text(head):
        return TextSource(file, reading)
    raise ValueError(
        f"{file.label} is in no known format; expected GloVe or word2vec text, word2vec binary, "
        "fastText, safetensors, npy, npz, parquet, CSV or gensim's own, found bytes that start "
        f"with {head[:16]!r}."
    )


def _open_table(
    path: Path,
    head: bytes,
    reading: Reading,
    vocabulary: Sequence[str] | str | os.PathLike[str] | None,
    packing: str | None,
) -> VectorSource | None:
    """Open the formats that are told by their first bytes."""
    if _PICKLE.match(head) or (b"gensim.models" in head and not looks_like_text(head)):
        if reading.trust_pickle:
            _refuse_packed(str(path), packing)
        from wefe.models.formats._gensim import open_gensim

        return open_gensim(path, reading)
    if head.startswith(_FASTTEXT_MAGIC):
        from wefe.models.formats._gensim import open_fasttext_bin

        _refuse_packed(str(path), packing)
        return open_fasttext_bin(path, reading)
    if head.startswith(b"\x93NUMPY"):
        from wefe.models.formats._numpy import open_npy

        _refuse_packed(str(path), packing)
        return open_npy(path, reading, vocabulary)
    if head.startswith(b"PAR1"):
        from wefe.models.formats._frames import open_parquet

        _refuse_packed(str(path), packing)
        return open_parquet(path, reading)
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= 100_000_000:
        _refuse_packed(str(path), packing)
        return _open_safetensors(path, reading)
    return None


def _open_safetensors(path: Path, reading: Reading) -> VectorSource:
    from wefe.models.formats._native import is_native, open_native
    from wefe.models.formats._safetensors import read_header

    if is_native(read_header(path)[0]):
        return open_native(path, reading)
    from wefe.models.formats._tokens import open_token_table

    return open_token_table(path, reading)


def _refuse_packed(label: str, packing: str | None) -> None:
    if packing is not None:
        raise ValueError(f"{label} is packed ({packing}); unpack it first, as it is to be mapped.")


def _is_npz(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except ZIP_ERRORS:
        return False
    return bool(names) and all(name.endswith(".npy") for name in names)
