"""The checks of what is to be plotted: tables, columns, groups, and lists of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._checks import check_sequence, found
from wefe.running import unique_labels

Numbers = npt.NDArray[np.float64]
T = TypeVar("T")


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


def check_frame(
    frame: object, texts: Sequence[str], numbers: Sequence[str], optional: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the columns of a table that a figure needs, texts as str and numbers as float64.

    Of `optional` texts, those that are there. Infinite numbers become NaN.
    """
    wanted = [*texts, *numbers]
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(
            f"frame must be a DataFrame with the columns {', '.join(wanted)}; got {found(frame)}."
        )
    if frame.empty:
        raise ValueError(f"frame has shape {frame.shape}; there is nothing to plot.")
    lacking = [column for column in wanted if column not in frame.columns]
    if lacking:
        raise ValueError(
            f"frame must have the columns {', '.join(wanted)}; it lacks {', '.join(lacking)}. "
            f"Its columns are {', '.join(map(str, frame.columns))}."
        )
    texts = [*texts, *(column for column in optional if column in frame.columns)]
    checked = pd.DataFrame({column: [str(text) for text in frame[column]] for column in texts})
    for column in numbers:
        try:
            values = frame[column].astype(np.float64).to_numpy()
        except (TypeError, ValueError):
            first = frame[column].iloc[0]
            raise ValueError(f"column {column!r} must hold numbers; got {found(first)}.") from None
        checked[column] = np.where(np.isfinite(values), values, np.nan)
    return checked


def check_groups(groups: Sequence[str] | None, frame: pd.DataFrame) -> list[str]:
    """Return the groups in the order of their colours: as given, as in `attrs`, or as in rows."""
    seen = list(dict.fromkeys(map(str, frame["group"])))
    noted = list(map(str, frame.attrs.get("groups", ())))
    if groups is None:
        return noted if set(seen) <= set(noted) else seen
    names = [str(name) for name in check_sequence("groups", groups)]
    unknown = sorted(set(seen) - set(names))
    if unknown:
        raise ValueError(
            f"groups must name every group of the frame; it lacks {', '.join(unknown)}."
        )
    return names


def check_several(name: str, given: object, kind: type[T]) -> list[T]:
    """Return one object, or a sequence of them, as a list."""
    if isinstance(given, kind):
        return [given]
    several = list(check_sequence(name, given))
    for each in several:
        if not isinstance(each, kind):
            raise TypeError(f"{name} must hold {kind.__name__} objects; got {found(each)}.")
    if not several:
        raise ValueError(f"{name} is empty; there is nothing to plot.")
    return several
