"""Checks of input: tables, columns, groups, and lists of results."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._checks import check_sequence, found
from wefe._visible import unique_labels
from wefe.plotting._labels import at_most, shortened

Numbers = npt.NDArray[np.float64]


def check_table(name: str, table: object, source: str, rows: str, columns: str) -> pd.DataFrame:
    """Return the numbers of a table that the function `source` returns.

    Names become unique texts, because plotly merges equal ones.
    """
    frame = _check_filled(name, table, f", as {source} returns it")
    numbers = [_numbers(f"{name}: ", column, values) for column, values in frame.items()]
    return pd.DataFrame(
        np.stack(numbers, axis=1),
        unique_labels(list(map(str, frame.index)), rows),
        unique_labels(list(map(str, frame.columns)), columns),
    )


def check_frame(
    frame: object, texts: Sequence[str], numbers: Sequence[str], **defaults: str | float
) -> pd.DataFrame:
    """Return texts as str and numbers as float64; '' replaces missing texts, NaN infinities.

    Columns with a default may be missing.
    """
    wanted = [column for column in (*texts, *numbers) if column not in defaults]
    table = _check_filled("frame", frame, f" with the columns {', '.join(wanted)}")
    if lacking := [column for column in wanted if column not in table]:
        raise ValueError(
            f"frame must have the columns {', '.join(wanted)}; got {', '.join(map(str, table))}, "
            f"without {', '.join(lacking)}."
        )
    table = pd.DataFrame(defaults | dict(table.items()))
    checked = table[[*texts]].astype(object).fillna("").map(str)
    for column in numbers:
        values = _numbers("", column, table[column])
        checked[column] = np.where(np.isfinite(values), values, np.nan)
    return checked.reset_index(drop=True)


def with_values(
    table: pd.DataFrame, columns: Sequence[str], what: str
) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows that have values in these columns, and a line naming the other words."""
    missing = table[columns].isin(["", np.nan]).any(axis=1)
    names = ", ".join(at_most([shortened(word) for word in table["word"][missing].unique()]))
    lost = [f"Left out, because there is no {what}: {names}."] if names else []
    return table[~missing].reset_index(drop=True), lost


def _check_filled(name: str, table: object, what: str) -> pd.DataFrame:
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"{name} must be a DataFrame{what}; got {found(table)}.")
    if table.empty:
        raise ValueError(f"{name} must have at least one row and column; got shape {table.shape}.")
    return table


def _numbers(where: str, column: Any, values: pd.Series[Any]) -> Numbers:
    try:
        return values.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{where}column {column!r} must contain numbers; got {found(values.iloc[0])}. Put "
            "names in the index, for example with pd.read_csv(path, index_col=0)."
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
            f"groups must contain every group of the frame; missing: {', '.join(unknown)}."
        )
    return names


def parts_of(table: pd.DataFrame, by: str | list[str]) -> list[tuple[Any, pd.DataFrame]]:
    """Return the parts of a table with their names, in the order of their first rows."""
    return list(table.groupby(by, sort=False))


def check_result(name: str, given: object, source: str, kind: str) -> None:
    """Raise an error unless `given` is a `kind`, the class that the function `source` returns."""
    module, _, function = source.rpartition(".")
    if not isinstance(given, getattr(import_module(module), kind)):
        raise TypeError(f"{name} must be a {kind} from {function}; got {found(given)}.")


def check_several(name: str, given: Any, source: str, kind: str) -> list[Any]:
    """Return one result, or a sequence of them, as a list."""
    is_one = isinstance(given, getattr(import_module(source.rpartition(".")[0]), kind))
    several = [given] if is_one else list(check_sequence(name, given))
    for number, each in enumerate(several):
        check_result(f"{name}[{number}]", each, source, kind)
    if not several:
        raise ValueError(f"{name} must contain at least one {kind}; got none.")
    return several
