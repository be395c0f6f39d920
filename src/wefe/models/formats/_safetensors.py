"""The safetensors format: where each tensor lies in a file."""

from __future__ import annotations

import itertools
import json
import math
import os
import reprlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wefe.models._file_array import FileArray, OpenFile

# As the format's own library limits it: a header beyond that is damage or an attack.
MAX_HEADER_BYTES = 100_000_000

# numpy 1 has no more dimensions.
_MAX_DIMENSIONS = 32

# What numpy calls each type; of those it lacks, the integer of the same width.
_DTYPES = {
    "BOOL": "|b1",
    "U8": "|u1",
    "I8": "|i1",
    "F8_E4M3": "|u1",
    "F8_E5M2": "|u1",
    "F8_E8M0": "|u1",
    "F8_E4M3FNUZ": "|u1",
    "F8_E5M2FNUZ": "|u1",
    "U16": "<u2",
    "I16": "<i2",
    "F16": "<f2",
    "BF16": "<u2",
    "U32": "<u4",
    "I32": "<i4",
    "F32": "<f4",
    "U64": "<u8",
    "I64": "<i8",
    "F64": "<f8",
    "C64": "<c8",
}
# Narrower than a byte: not to be read, but files that hold some are not damaged.
_BITS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6} | {
    name: 8 * np.dtype(dtype).itemsize for name, dtype in _DTYPES.items()
}


@dataclass(frozen=True)
class Tensor:
    """Where a tensor lies in a safetensors file.

    Attributes
    ----------
    file : OpenFile
        The file.
    name : str
        Its name.
    dtype : str
        The type of its numbers, as the format writes it ('F32', 'BF16', ...).
    shape : tuple of int
        Its shape.
    offset : int
        Its first byte, counted from the start of the file.
    nbytes : int
        Its size in bytes.
    """

    file: OpenFile
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int

    @property
    def array(self) -> FileArray:
        """The numbers; types that numpy lacks come as integers of the same width."""
        if self.dtype not in _DTYPES:
            raise ValueError(
                f"{self.file.path}: tensor {self.name!r} has the type {self.dtype}, whose numbers "
                "are narrower than a byte; they cannot be read."
            )
        return FileArray(self.file, self.offset, self.shape, _DTYPES[self.dtype])


def read_header(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read what a safetensors file holds: its tensors, and the texts of its metadata.

    The header may come from anywhere. After this, the tensors lie within the file, do not overlap
    and have the size that their shape and type say.

    Raises
    ------
    ValueError
        If the file is damaged; the message names the file, what was expected and what was found.
    """
    file = OpenFile(path)
    try:
        length = int.from_bytes(file.read(0, 8), "little")
        if length > MAX_HEADER_BYTES:
            raise ValueError(
                f"expected a header of at most {MAX_HEADER_BYTES:,} bytes; found {length:,}"
            )
        text = file.read(8, length).decode("utf-8")
        header = json.loads(text, object_pairs_hook=_without_repetition)
        metadata = header.pop("__metadata__", {})
        if not all(isinstance(value, str) for value in metadata.values()):
            raise ValueError(f"expected strings in '__metadata__'; found {reprlib.repr(metadata)}")
        tensors = {name: _tensor(file, name, entry, 8 + length) for name, entry in header.items()}
        _check_overlap(tensors)
    # Deep nesting exhausts the parser; entries of another kind raise whatever they do.
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{path} is a damaged safetensors file ({type(error).__name__}: {str(error)[:300]})."
        ) from error
    return tensors, metadata


def bfloat16_to_float32(array: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Widen bfloat16 numbers, kept as their raw 16 bits; every one is exact in float32."""
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
    what = f"tensor {name[:60]!r}: {reprlib.repr(entry)}"
    dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    sizes = [*shape, begin, end]
    if not all(type(size) is int and size >= 0 for size in sizes) or len(shape) > _MAX_DIMENSIONS:
        raise ValueError(f"{what}; expected sizes of at least 0")
    bits = _BITS[dtype]
    # Where a 0 makes a tensor empty, numpy still multiplies the other lengths.
    if bits * math.prod(max(length, 1) for length in shape) >= 2**63:
        raise ValueError(f"{what}; it is larger than any file")
    if bits * math.prod(shape) != 8 * (end - begin) or not begin <= end <= file.size - start:
        raise ValueError(f"{what}; expected data_offsets within the file that fit the shape")
    return Tensor(file, name, dtype, tuple(shape), start + begin, end - begin)


def _check_overlap(tensors: dict[str, Tensor]) -> None:
    """Refuse tensors that share bytes; gaps are harmless, and some writers leave them."""
    ordered = sorted((t for t in tensors.values() if t.nbytes), key=lambda t: t.offset)
    for one, other in itertools.pairwise(ordered):
        if other.offset < one.offset + one.nbytes:
            raise ValueError(f"tensors {one.name[:60]!r} and {other.name[:60]!r} overlap")
