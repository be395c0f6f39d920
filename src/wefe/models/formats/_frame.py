"""Vectors of pandas DataFrames and dicts."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from wefe.models._types import Block, FloatArray
from wefe.models.formats._source import TableSource, table_source

logger = logging.getLogger(__name__)

#: Names under which a column of words goes.
WORD_NAMES = (
    *("word", "words", "token", "tokens", "vocab", "vocabulary", "term", "terms"),
    *("key", "keys", "text", "label", "labels"),
)
#: Names of columns that are no dimensions. pandas writes the number of the row without a name.
OTHER_NAMES = ("", "index", "id", "rank", "count", "counts", "freq", "frequency")


def open_frame(frame: Any) -> TableSource:
    """Copy words (the index or a column) and vectors (columns of numbers or one of lists)."""
    layout = FrameLayout("the DataFrame", frame)
    return table_source(*layout.read(frame), layout.label, "Unnamed model")


def open_dict(
    mapping: Mapping[str, Any], label: str = "the dict", name: str = "Unnamed model"
) -> TableSource:
    """Copy the vectors of a dict, in the widest of their dtypes."""
    if not mapping:
        raise ValueError(f"{label} is empty.")
    dim = len(_as_vector(next(iter(mapping.values()))))
    return table_source(
        *stack(label, mapping, mapping.values(), dim, range(len(mapping))), label, name
    )


class FrameLayout:
    """Which columns of a DataFrame hold words and vectors."""

    def __init__(self, label: str, frame: Any) -> None:
        self.label = label
        names = list(map(str, frame.columns))
        kinds = [_kind(frame.iloc[:, place]) for place in range(len(names))]
        words, lists, floats, integers = (
            [place for place, each in enumerate(kinds) if each == kind]
            for kind in ("text", "list", "float", "int")
        )
        if _kind(frame.index.to_series()) == "text":
            words = [-1]
        elif len(words) > 1:
            words = [place for place in words if names[place].lower() in WORD_NAMES]
        self.vectors = lists or floats or integers
        self.is_list = bool(lists)
        self.dim = len(_as_vector(frame.iloc[0, lists[0]])) if lists else len(self.vectors)
        # A count must not become a dimension.
        n_kinds = len(lists) or bool(floats) + bool(integers)
        if (len(words), n_kinds) != (1, 1) or self.dim == 0:
            raise ValueError(
                f"{label}: expected words in the index or in one column (of several, name one "
                "'word'), and one column of lists or columns of numbers of one kind; found "
                f"{dict(zip(names[:20], kinds, strict=False))} and {len(frame)} rows."
            )
        self.word = words[0]
        log_left_out(label, names, {self.word, *self.vectors})

    def read(self, frame: Any) -> Block:
        words = frame.index if self.word < 0 else frame.iloc[:, self.word]
        numbers = frame.iloc[:, self.vectors]
        if self.is_list:
            values = numbers.iloc[:, 0].tolist()
        else:
            dtype = np.result_type(*map(_floating, numbers.dtypes))
            values = numbers.to_numpy(dtype=dtype, na_value=np.nan)
        # As objects, so that a category is one string however many rows have it.
        words = words.astype(object).tolist()
        return stack(self.label, words, values, self.dim, range(len(frame)))


def log_left_out(label: str, names: Sequence[str], used: Set[int]) -> None:
    if others := [name for place, name in enumerate(names) if place not in used]:
        logger.info("%s: the columns %s are not used as dimensions", label, others)


def stack(
    label: str,
    words: Iterable[Any],
    values: Iterable[Any],
    dim: int,
    rows: Iterable[int],
    skip: bool = False,
) -> Block:
    """Stack vectors to a matrix; refuse or `skip` rows without a word or a vector."""
    words = list(words)
    if not isinstance(values, np.ndarray) or values.ndim != 2:
        values = list(map(_as_vector, values))
    good = [
        isinstance(word, str) and len(vector) == dim > 0
        for word, vector in zip(words, values, strict=True)
    ]
    if not all(good):
        place = good.index(False)
        if not skip:
            raise ValueError(
                f"{label}, row {list(rows)[place]}: expected a word, and a list or array of "
                f"{dim or 'some'} numbers for {words[place]!r}. (Of a CSV, pandas takes the words "
                "'null' and 'nan' for missing ones, unless keep_default_na=False.)"
            )
        for row, word, is_good in zip(rows, words, good, strict=True):
            if not is_good:
                logger.warning("%s, row %d: %r has no vector, so it is skipped", label, row, word)
        words, values = (list(itertools.compress(each, good)) for each in (words, values))
    dtypes = {vector.dtype for vector in values} or {np.dtype(np.float32)}
    dtype = np.result_type(*map(_floating, dtypes))
    return words, np.array(values, dtype=dtype).reshape(-1, dim)


def _as_vector(value: Any) -> FloatArray:
    """Return numbers as an array, empty if the value is not a list of numbers."""
    try:
        vector = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        vector = np.empty(0)
    return vector if vector.ndim == 1 and vector.dtype.kind in "fiu" else np.empty(0)


def _floating(dtype: Any) -> np.dtype[Any]:
    dtype = np.dtype(getattr(dtype, "numpy_dtype", dtype))
    return dtype if dtype.kind == "f" else np.result_type(dtype, np.float32)


def _kind(column: Any) -> str:
    """Return what a column holds: 'text', 'float', 'int', 'list', or '' for counts and the like."""
    import pandas as pd

    if pd.api.types.is_float_dtype(column.dtype):
        return "float"
    if pd.api.types.is_integer_dtype(column.dtype):
        return "" if str(column.name).lower() in OTHER_NAMES else "int"
    first = next(iter(column.dropna().iloc[:1]), None)
    if isinstance(first, str):
        return "text"
    return "list" if isinstance(first, list | tuple | np.ndarray) else ""
