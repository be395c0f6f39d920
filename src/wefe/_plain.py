"""Turn results into plain data for JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pandas as pd


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table; missing values become None."""
    rows: list[dict[str, Any]]
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")  # type: ignore[assignment]
    return rows


class Facts:
    """A dataclass that can be written as JSON: its fields, or the attributes in `_facts`."""

    _facts: ClassVar[tuple[str, ...]] = ()

    def _plain(self) -> dict[str, Any]:
        names = self._facts or [each.name for each in fields(self)]  # type: ignore[arg-type]
        return {name: plain(getattr(self, name)) for name in names}

    def to_json(self) -> str:
        """Return all attributes and properties as a JSON object; undefined values are null."""
        return json.dumps(self._plain(), allow_nan=False)


def plain(value: Any) -> Any:
    """Convert a result, dataclass, table or array to JSON types; NaN and infinity become None.

    >>> import numpy as np
    >>> plain({"scores": np.array([0.5, np.nan]), "n": np.int64(2)})
    {'scores': [0.5, None], 'n': 2}
    """
    if isinstance(value, Facts):
        return value._plain()
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if hasattr(value, "to_dict"):
        value = value.to_dict("records") if hasattr(value, "columns") else value.to_dict()
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
