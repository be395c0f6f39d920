"""Open a path, a name or an object; its content determines the format."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

from wefe._checks import nearest
from wefe.models.formats import _hub, _registry
from wefe.models.formats._bytes import PackedFile
from wefe.models.formats._objects import open_object
from wefe.models.formats._registry import BY_NAME, SUFFIXES, function
from wefe.models.formats._source import Reading, VectorSource


def open_source(
    source: Any, reading: Reading, revision: str | None = None, token: str | bool | None = None
) -> VectorSource:
    """Open a path, a name of gensim-data or Hugging Face, or an object with vectors."""
    if not isinstance(source, str | os.PathLike):
        return open_object(source, reading)
    path = Path(source)
    # An empty name would be the current folder.
    if os.fspath(source) and path.is_dir():
        return function("_tokens:open_token_table")(path, reading)  # type: ignore[no-any-return]
    if path.is_file() or any(parent.is_file() for parent in path.parents):
        return open_file(path, reading)
    return open_source(_fetch(os.fspath(source), path, revision, token), reading)


def open_file(path: Path, reading: Reading) -> VectorSource:
    if _is_npz(path):
        return function(BY_NAME["npz"].reader)(path, reading)  # type: ignore[no-any-return]
    file = PackedFile(path)
    head = file.head()
    if not head:
        raise ValueError(f"{file.label} is empty.")
    for row in _registry.FORMATS:
        if row.matches(head):
            if not row.packed and file.packing is not None:
                raise ValueError(
                    f"{file.label} is packed ({file.packing}); unpack it to read {row.name!r}."
                )
            return function(row.reader)(file if row.packed else path, reading)  # type: ignore[no-any-return]
    known = ", ".join(row.name for row in _registry.FORMATS)
    raise ValueError(
        f"{file.label} is in no known format; expected one of {known}, found {head[:16]!r}."
    )


def _is_npz(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    # Damaged archives show as errors of almost any type.
    except Exception:
        return False
    return bool(names) and all(name.endswith(".npy") for name in names)


def _fetch(text: str, path: Path, revision: str | None, token: str | bool | None) -> Path:
    if text in _hub.GENSIM_DATA_NAMES:
        return _hub.fetch_from_gensim_data(text)
    # 'vectors/glove.txt' is far more often a file that is missing than a repository.
    local = path.suffix in SUFFIXES or (len(path.parts) > 1 and path.parent.is_dir())
    if text.startswith("hf://") or (not local and _hub.looks_like_repo_id(text)):
        return _hub.fetch_from_hugging_face(text, revision, token)
    raise FileNotFoundError(
        f"there is no file {text!r}. Give a file of vectors, a name of gensim-data, a repository "
        f"of Hugging Face ('org/name'), or 'demo'.{nearest(text, _hub.GENSIM_DATA_NAMES)}"
    )
