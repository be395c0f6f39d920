"""Checks of what is to be plotted: tables, columns, groups, and lists of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._checks import check_sequence, found
from wefe._visible import unique_labels

Numbers = npt.NDArray[np.float64]
T = TypeVar("T")


class Table(NamedTuple):
    """The numbers of a DataFrame, with unique names because plotly merges equal ones."""

    rows: list[str]
    columns: list[str]
    values: Numbers


def check_table(name: str, table: object, source: str, rows: str, columns: str) -> Table:
    """Read a DataFrame of numbers that the function `source` returns."""
    frame = _check_filled(name, table, f", as {source} returns it")
    numbers = [_numbers(f"{name}: ", column, values) for column, values in frame.items()]
    return Table(
        unique_labels(list(map(str, frame.index)), rows),
        unique_labels(list(map(str, frame.columns)), columns),
        np.stack(numbers, axis=1),
    )


def check_frame(
    frame: object, texts: Sequence[str], numbers: Sequence[str], optional: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the columns that a figure needs: texts as str, numbers as float64.

    `optional` texts are returned if present. A missing text is '', an infinite number NaN.
    """
    wanted = [*texts, *numbers]
    table = _check_filled("frame", frame, f" with the columns {', '.join(wanted)}")
    if lacking := [column for column in wanted if column not in table]:
        raise ValueError(
            f"frame must have the columns {', '.join(wanted)}; it lacks {', '.join(lacking)}. "
            f"Its columns are {', '.join(map(str, table))}."
        )
    texts = [*texts, *(column for column in optional if column in table)]
    checked: dict[str, Any] = {
        column: table[column].astype(object).fillna("").map(str) for column in texts
    }
    for column in numbers:
        values = _numbers("", column, table[column])
        checked[column] = np.where(np.isfinite(values), values, np.nan)
    return pd.DataFrame(checked).reset_index(drop=True)


def _check_filled(name: str, table: object, what: str) -> pd.DataFrame:
    check_kind(f"{name} must be a DataFrame{what}", table, pd.DataFrame)
    frame = cast(pd.DataFrame, table)
    if frame.empty:
        raise ValueError(f"{name} has shape {frame.shape}; there is nothing to plot.")
    return frame


def _numbers(where: str, column: Any, values: pd.Series[Any]) -> Numbers:
    try:
        return values.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{where}column {column!r} must hold numbers; got {found(values.iloc[0])}. Names "
            "belong in the index: pd.read_csv(path, index_col=0)."
        ) from None


def check_groups(groups: Sequence[str] | None, frame: pd.DataFrame) -> list[str]:
    """Return the groups in the order of their colours: as given, as in `attrs`, or as in rows."""
    seen = list(dict.fromkeys(map(str, frame["group"])))
    noted = list(map(str, frame.attrs.get("groups", ())))
    if groups is None:
        return noted if set(seen) <= set(noted) else seen
    names = [str(name) for name in check_sequence("groups", groups)]
    if unknown := sorted(set(seen) - set(names)):
        raise ValueError(
            f"groups must name every group of the frame; it lacks {', '.join(unknown)}."
        )
    return names


def parts_of(table: pd.DataFrame, by: str | list[str]) -> list[tuple[Any, pd.DataFrame]]:
    """Return the parts of a table with their names, in the order of their first rows."""
    return list(table.groupby(by, sort=False))


def check_kind(what: str, given: object, kind: type) -> None:
    """Refuse another type; `what` describes the expected one."""
    if not isinstance(given, kind):
        raise TypeError(f"{what}; got {found(given)}.")


def check_several(name: str, given: object, kind: type[T]) -> list[T]:
    """Return one object, or a sequence of them, as a list."""
    several = [given] if isinstance(given, kind) else list(check_sequence(name, given))
    for each in several:
        check_kind(f"{name} must hold {kind.__name__} objects", each, kind)
    if not several:
        raise ValueError(f"{name} is empty; there is nothing to plot.")
    return several
