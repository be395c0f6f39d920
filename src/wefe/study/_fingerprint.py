"""Detect whether a model has changed, from the sizes and times of its files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wefe.study._entries import EncoderEntry, TableEntry


def source_identity(entry: TableEntry | EncoderEntry) -> Any:
    """Identify a source without reading it; None if that is impossible."""
    from wefe import __version__

    if entry.place == "demo" and not entry.is_encoder:
        return ["demo", __version__]
    path = _existing(Path(entry.place))
    # A Hugging Face name may refer to a new version, so its cached files must be opened.
    if path is None:
        return None
    files = sorted(path.rglob("*")) if path.is_dir() else list(_with_siblings(path))
    for option in ("vocabulary", "counts"):
        other = entry.load_options().get(option)
        if isinstance(other, str):
            files.append(Path(other))
    return [_stamp(file) for file in files if file.is_file()]


def _existing(path: Path) -> Path | None:
    """Return the path, or the archive whose member it names."""
    for candidate in (path, *path.parents):
        if candidate.is_file() or (candidate == path and candidate.is_dir()):
            return candidate
    return None


# Files that belong to the matrix in their folder, whatever its name.
_OF_SAFETENSORS = ("tokenizer.json", "config.json", "modules.json", "vocab.txt", "vocab.json")
_OF_NPY = (".txt", ".vocab", ".json", ".tsv", ".csv")


def _with_siblings(path: Path) -> Iterator[Path]:
    """Yield a file and others that may belong to it: 'x.kv.vectors.npy', 'tokenizer.json'."""
    # Look up names, because a folder may contain thousands of models.
    for name in sorted(os.listdir(path.parent)):
        stem, suffix = os.path.splitext(name)
        of_npy = path.suffix in (".npy", ".npz") and suffix in _OF_NPY
        if (
            name == path.name
            or name.startswith(f"{path.name}.")
            or (path.suffix == ".safetensors" and name in _OF_SAFETENSORS)
            or (of_npy and stem in (path.stem, "vocab", "vocabulary", "words"))
        ):
            yield path.parent / name


def _stamp(file: Path) -> list[Any]:
    found = os.stat(file)
    return [str(file), found.st_size, found.st_mtime_ns, found.st_ino]
