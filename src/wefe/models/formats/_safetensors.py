"""The safetensors format: the place of each tensor in a file."""

from __future__ import annotations

import json
import math
import os
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wefe.models._file_array import FileArray, OpenFile
from wefe.models.formats._source import naming_errors

# As the format's own library limits it: a header beyond that is damage or an attack.
MAX_HEADER_BYTES = 100_000_000
# numpy 1 has no more dimensions, and no array of more bytes.
_MAX_DIMENSIONS, _MAX_BYTES = 32, 2**60

# What numpy calls the types that are read; bfloat16, which it lacks, comes as raw integers.
DTYPES = {"BF16": "<u2"} | {
    name: f"<{name[0].lower()}{int(name[1:]) // 8}"
    for name in ("F16", "F32", "F64", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64")
}


@dataclass(frozen=True)
class Tensor:
    """The place of a tensor in a file; `dtype` is written as in the file ('F32', 'BF16')."""

    file: OpenFile
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    def numbers(self, n_dims: int, *dtypes: str) -> FileArray:
        """Return the numbers (bfloat16 as integers); refuse other types and dimensions."""
        is_known = self.dtype in DTYPES and self.dtype.startswith(dtypes)
        if not is_known or len(self.shape) != n_dims:
            raise ValueError(
                f"{self.file.path}: expected numbers of {', '.join(dtypes)} in {n_dims} dimensions "
                f"in the tensor {self.name!r}; found {self.dtype} of shape {self.shape}. Use the "
                "model in another precision."
            )
        return FileArray(self.file, self.offset, self.shape, DTYPES[self.dtype])


def read_header(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read the tensors and the metadata of a file; check that the file can hold them."""
    file = OpenFile(path)
    with naming_errors(str(path), "safetensors file"):
        length = int.from_bytes(file.read(0, 8), "little")
        if length > MAX_HEADER_BYTES:
            raise ValueError(f"header of {length:,} bytes, at most {MAX_HEADER_BYTES:,}")
        text = file.read(8, length).decode("utf-8")
        header = json.loads(text, object_pairs_hook=_without_repetition)
        metadata = {key: str(value) for key, value in header.pop("__metadata__", {}).items()}
        tensors = {name: _tensor(file, name, entry, 8 + length) for name, entry in header.items()}
    return tensors, metadata


def header_of(
    tensors: Mapping[str, npt.NDArray[Any]], metadata: Mapping[str, str], n_bytes: int
) -> bytes:
    """Return a header of a given length for tensors that follow each other."""
    offset, header = 0, dict[str, Any](__metadata__=metadata)
    for name, part in tensors.items():
        dtype = next(key for key, code in DTYPES.items() if np.dtype(code) == part.dtype)
        offsets = [offset, offset := offset + part.nbytes]
        header[name] = {"dtype": dtype, "shape": part.shape, "data_offsets": offsets}
    # A file name that is no UTF-8 comes with halves of surrogate pairs.
    text = json.dumps(header, ensure_ascii=False).encode("utf-8", "replace")
    if len(text) > n_bytes - 8:
        raise ValueError(f"the name {metadata['name'][:60]!r}... is too long.")
    # The format allows spaces after the header.
    return (n_bytes - 8).to_bytes(8, "little") + text.ljust(n_bytes - 8)


def bfloat16_to_float32(array: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Widen bfloat16 numbers, given as raw 16 bits; the result is exact."""
    wide = array.astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError("the same key occurs twice")
    return entries


def _tensor(file: OpenFile, name: str, entry: Any, start: int) -> Tensor:
    """Check one entry of the header; its offsets count from `start`."""
    dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    n_bytes = end - begin
    itemsize = np.dtype(DTYPES.get(dtype, "V0")).itemsize
    # Where a 0 makes a tensor empty, numpy still multiplies the other lengths.
    if not (
        {*map(type, [*shape, begin, n_bytes])} == {int}
        and min(*shape, begin, n_bytes) >= 0
        and len(shape) <= _MAX_DIMENSIONS
        and math.prod(max(length, 1) for length in shape) * itemsize < _MAX_BYTES
        and (dtype not in DTYPES or math.prod(shape) * itemsize == n_bytes)
        and end <= file.size - start
    ):
        raise ValueError(
            f"tensor {name[:60]!r}: {reprlib.repr(entry)} fits neither the file nor its own shape"
        )
    return Tensor(file, name, dtype, tuple(shape), start + begin)
