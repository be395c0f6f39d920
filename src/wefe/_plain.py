"""Results as plain data, fit for JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar


class Facts:
    """A dataclass that writes itself as JSON: its fields, or the attributes that it names."""

    _facts: ClassVar[tuple[str, ...]] = ()

    def _plain(self) -> dict[str, Any]:
        names = self._facts or [each.name for each in fields(self)]  # type: ignore[arg-type]
        return {name: plain(getattr(self, name)) for name in names}

    def to_json(self) -> str:
        """Return everything as JSON.

        Returns
        -------
        str
            An object with the attributes and properties by name. What is undefined is null.
        """
        return json.dumps(self._plain(), allow_nan=False)


def plain(value: Any) -> Any:
    """Return a value as JSON has it.

    NaN and what is infinite are None. A result is its facts, another dataclass its fields, a Series
    a dictionary and a DataFrame its rows.

    Examples
    --------
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
