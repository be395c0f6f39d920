"""Tables for people and for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from enum import StrEnum

import pandas as pd

from wefe._visible import visible

# Longer texts are cut in tables for people; CSV and JSON keep them whole.
_LONGEST_TEXT = 62


class Format(StrEnum):
    """How results are printed."""

    table = "table"
    csv = "csv"
    json = "json"


def as_text(frame: pd.DataFrame, *, index: bool = False) -> str:
    """Return a table for people: aligned, nothing where there is no value."""
    if index:
        frame = frame.rename_axis("").reset_index()
    columns = [_column_as_text(str(name), frame.iloc[:, i]) for i, name in enumerate(frame)]
    return "\n".join("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))


def as_json(tables: Mapping[str, pd.DataFrame]) -> str:
    """Return named tables as one JSON object of lists of records; NaN becomes null."""
    # pandas' own JSON writer keeps 15 decimals, which leaves little of a small p-value.
    records = {
        name: [
            {key: None if pd.isna(value) else value for key, value in record.items()}
            for record in table.astype(object).to_dict("records")
        ]
        for name, table in tables.items()
    }
    return json.dumps(records, indent=2, ensure_ascii=False, default=int)


def _column_as_text(name: str, column: pd.Series) -> list[str]:
    """Return heading and cells, padded to one width: numbers to the right, texts to the left."""
    is_number = pd.api.types.is_numeric_dtype(column)
    if name.startswith("p_value"):
        cells = [f"{p:.4f}" if p >= 0.0001 else f"{p:.1e}" for p in column.astype(float)]
    elif pd.api.types.is_float_dtype(column):
        cells = [number_text(x) for x in column]
    else:
        cells = [_cut(visible(str(x))) for x in column]
    shown = ["" if missing else cell for cell, missing in zip(cells, column.isna(), strict=True)]
    shown.insert(0, visible(name).replace("_", " "))
    width = max(map(len, shown))
    return [cell.rjust(width) if is_number else cell.ljust(width) for cell in shown]


def number_text(x: float) -> str:
    """Return four decimals, or three digits of a smaller number."""
    if x == 0 or not math.isfinite(x):
        return f"{x:.4f}"
    return f"{x:.{min(9, max(4, 2 - math.floor(math.log10(abs(x)))))}f}"


def _cut(text: str) -> str:
    """Cut a long text in the middle: names of queries differ at both ends."""
    if len(text) <= _LONGEST_TEXT:
        return text
    head = _LONGEST_TEXT // 2
    return f"{text[:head]}…{text[head + 1 - _LONGEST_TEXT :]}"
