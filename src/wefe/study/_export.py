"""Write tables to a folder, with a file that documents how they were computed."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import pandas as pd

from wefe._checks import check_choice, import_library
from wefe._files import atomic_file
from wefe._visible import as_csv, plain, records

Format: TypeAlias = Literal["csv", "json", "parquet"]


def write_tables(
    tables: Mapping[str, pd.DataFrame],
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
    files = {f"{name}.{format}": _as_bytes(table, format) for name, table in tables.items()}
    files["provenance.json"] = _as_json(provenance)
    for name, content in files.items():
        with atomic_file(target / name) as file:
            file.write(content)
    return list(files)


def _as_bytes(frame: pd.DataFrame, format: Format) -> bytes:  # noqa: A002
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
