"""The tables to be plotted, as names and numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._checks import found
from wefe.running import unique_labels

Numbers = npt.NDArray[np.float64]


class Table(NamedTuple):
    """The numbers of a DataFrame, with names that differ: plotly merges equal ones."""

    rows: list[str]
    columns: list[str]
    values: Numbers


def check_table(name: str, table: object, source: str, rows: str, columns: str) -> Table:
    """Read a DataFrame of numbers; `source` returns one, `rows` and `columns` say of what."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"{name} must be a DataFrame, as {source} returns it; got {found(table)}.")
    if table.empty:
        raise ValueError(f"{name} has shape {table.shape}; there is nothing to plot.")
    for column, values in table.items():
        try:
            values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name}: column {column!r} must hold numbers; got {found(values.iloc[0])}. Names "
                "belong in the index: pd.read_csv(path, index_col=0)."
            ) from None
    return Table(
        unique_labels(list(map(str, table.index)), rows),
        unique_labels(list(map(str, table.columns)), columns),
        table.astype(np.float64).to_numpy(),
    )
