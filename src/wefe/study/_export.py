"""Write tables to a folder, with a file that documents how they were computed."""

from __future__ import annotations

import io
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import pandas as pd

from wefe._checks import check_choice, import_library
from wefe._files import atomic_file
from wefe._visible import as_csv, plain, records

Format: TypeAlias = Literal["csv", "json", "parquet"]

# A file name has at most 255 bytes and combines two names of a study.
_LONGEST_PART = 80
# Names of exported files; what else stands in a folder is never removed.
_TABLE = re.compile(
    r"(results|failures|quality|aggregated|rankings|correlations|scores|explore_[a-z]+"
    r"|retrieval_[a-z]+)(-[\w-]+)?\.(csv|json|parquet)"
)


def write_tables(
    tables: Iterable[tuple[Mapping[str, str], pd.DataFrame]],
    provenance: Mapping[str, Any],
    folder: str | os.PathLike[str],
    format: Format,  # noqa: A002 - what it is
) -> list[str]:
    """Write tables and their provenance; see :meth:`wefe.study.StudyResults.export`."""
    check_choice("format", format, get_args(Format))
    if format == "parquet":
        import_library("pyarrow", "parquet", "format='parquet'")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written: dict[str, Mapping[str, str]] = {}
    for about, frame in tables:
        name = _file_name(about, format, written)
        with atomic_file(target / name) as file:
            file.write(_as_bytes(frame, format))
        written[name] = about
    _remove_others(target, written)
    with atomic_file(target / "provenance.json") as file:
        file.write(_as_json({**provenance, "files": written}))
    return [*written, "provenance.json"]


# Names of files


def _remove_others(folder: Path, written: Mapping[str, object]) -> None:
    """Remove outdated tables of an earlier export."""
    try:
        before = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["files"]
        # Do not trust the file: anybody may have written it.
        names = list(filter(_TABLE.fullmatch, before))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return
    kept = {name.casefold() for name in written}
    for name in names:
        if name.casefold() not in kept and not (folder / name).is_dir():
            (folder / name).unlink(missing_ok=True)


def _file_name(about: Mapping[str, str], format: str, taken: Mapping[str, object]) -> str:  # noqa: A002
    """Return an unused file name, whatever characters the names of query sets contain."""
    stem = "-".join([about["table"], *(slug(about[key]) for key in list(about)[1:])])
    number, name = 1, f"{stem}.{format}"
    while name in taken:
        number += 1
        name = f"{stem}-{number}.{format}"
    return name


def slug(text: str) -> str:
    """Return the letters and digits of a text in lower case, since some disks ignore case."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    parts = "".join(letter if letter.isalnum() else " " for letter in plain).split()
    cut = "-".join(parts).encode()[:_LONGEST_PART].decode(errors="ignore")
    return cut.strip("-") or "unnamed"


# Formats


def _as_bytes(frame: pd.DataFrame, format: Format) -> bytes:  # noqa: A002
    frame = frame.copy()
    # Attributes differ between tables, and Parquet would store them as JSON, which may fail.
    frame.attrs = {}
    if format == "csv":
        return as_csv(frame).encode()
    if format == "json":
        return _as_json(records(frame))
    texts = frame.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]]
    buffer = io.BytesIO()
    # An empty text column would have no type.
    frame.astype(dict.fromkeys(texts, "string")).to_parquet(buffer, engine="pyarrow", index=False)
    return buffer.getvalue()


def _as_json(data: object) -> bytes:
    text = json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"
