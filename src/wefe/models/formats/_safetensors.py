"""The safetensors format: where each tensor lies in a file, and how to map it."""

from __future__ import annotations

import json
import math
import os
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

# As the format's own library limits it: a header beyond that is damage or an attack.
MAX_HEADER_BYTES = 100_000_000

# numpy 1 has no more dimensions.
_MAX_DIMENSIONS = 32

# What numpy calls each type; of those it lacks, the integer of the same width.
_DTYPES: dict[str, str] = {
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
# Narrower than a byte: not to be mapped, but files that hold some are not damaged.
_BITS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6} | {
    name: 8 * np.dtype(dtype).itemsize for name, dtype in _DTYPES.items()
}


@dataclass(frozen=True)
class Tensor:
    """Where a tensor lies in a safetensors file.

    Attributes
    ----------
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

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


def read_header(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read what a safetensors file holds: its tensors, and the texts of its metadata.

    Nothing of the header is believed: it may come from anywhere. After this the tensors lie
    within the file, do not overlap and have the size that their shape and type say.

    Raises
    ------
    ValueError
        If the file is damaged; the message names the file, what was expected and what was found.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        prefix = file.read(8)
        length = int.from_bytes(prefix, "little")
        if len(prefix) < 8:
            raise _damaged(path, f"expected at least 8 bytes; found {len(prefix)}")
        if length > min(size - 8, MAX_HEADER_BYTES):
            raise _damaged(
                path,
                f"expected a header within the file and of at most {MAX_HEADER_BYTES:,} bytes; "
                f"found one of {length:,} bytes in a file of {size:,}",
            )
        text = file.read(length)
    if len(text) != length:
        raise _damaged(path, f"expected a header of {length:,} bytes; found {len(text):,}")
    header = _parse(path, text)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise _damaged(path, f"expected strings in '__metadata__'; found {_brief(metadata)}")
    start = 8 + length
    tensors = {
        name: _read_entry(path, name, entry, start, size - start) for name, entry in header.items()
    }
    _check_overlap(path, tensors)
    return tensors, metadata


def map_tensor(
    path: str | os.PathLike[str], tensor: Tensor, mode: Literal["r", "c"] = "c"
) -> npt.NDArray[Any]:
    """Map a tensor of a file; by default changes stay in memory (copy on write).

    Types that numpy lacks come as unsigned integers of the same width: see
    `bfloat16_to_float32`.
    """
    if tensor.dtype not in _DTYPES:
        raise ValueError(
            f"{os.fspath(path)}: tensor {tensor.name!r} has the type {tensor.dtype}, whose numbers "
            "are narrower than a byte; they cannot be mapped."
        )
    dtype = np.dtype(_DTYPES[tensor.dtype])
    if tensor.nbytes == 0:  # no system maps nothing
        return np.empty(tensor.shape, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode=mode, offset=tensor.offset, shape=tensor.shape)


def bfloat16_to_float32(array: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Widen bfloat16 numbers, kept as their raw 16 bits; every one is exact in float32."""
    wide = array.astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)


def _damaged(path: str | os.PathLike[str], why: str) -> ValueError:
    return ValueError(f"{os.fspath(path)} is a damaged safetensors file: {why}.")


def _parse(path: str | os.PathLike[str], text: bytes) -> dict[str, Any]:
    def no_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) != len(pairs):
            raise ValueError("the same key occurs twice")
        return entries

    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=no_repetition)
    # Deep nesting exhausts the parser; a number of too many digits is a ValueError.
    except (ValueError, RecursionError) as error:
        raise _damaged(
            path, f"expected a header in JSON; found {_brief(text)} ({str(error)[:200]})"
        ) from error
    if not isinstance(header, dict):
        raise _damaged(path, f"expected a JSON object as header; found {_brief(header)}")
    return header


def _brief(value: object) -> str:
    """Describe a value of a header; unlike `found`, without first writing out all of it."""
    return f"{type(value).__name__} {reprlib.repr(value)[:100]}"


def _read_entry(
    path: str | os.PathLike[str], name: str, entry: object, start: int, room: int
) -> Tensor:
    """Check one entry of the header; `room` is the number of bytes after the header."""
    what = f"tensor {name[:60]!r}"
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= set(entry):
        raise _damaged(
            path, f"{what}: expected 'dtype', 'shape' and 'data_offsets'; found {_brief(entry)}"
        )
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _BITS:
        raise _damaged(
            path, f"{what}: expected a dtype among {', '.join(_BITS)}; found {_brief(dtype)}"
        )
    if not _are_sizes(shape) or len(shape) > _MAX_DIMENSIONS:
        raise _damaged(
            path,
            f"{what}: expected a shape of at most {_MAX_DIMENSIONS} integers of at least 0; "
            f"found {_brief(shape)}",
        )
    if not _are_sizes(offsets) or len(offsets) != 2 or not offsets[0] <= offsets[1] <= room:
        raise _damaged(
            path,
            f"{what}: expected data_offsets [begin, end] within the {room:,} bytes after the "
            f"header; found {_brief(offsets)}",
        )
    begin, end = offsets
    # Python's integers do not overflow. Where a 0 makes a tensor empty, numpy still multiplies
    # the other lengths.
    bits = _BITS[dtype] * math.prod(length for length in shape if length)
    if bits >= 2**63 or (0 if 0 in shape else bits) != 8 * (end - begin):
        raise _damaged(
            path,
            f"{what}: expected data_offsets that fit the shape {_brief(shape)} of {dtype}; "
            f"found {end - begin:,} bytes",
        )
    return Tensor(name, dtype, tuple(shape), start + begin, end - begin)


def _are_sizes(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _check_overlap(path: str | os.PathLike[str], tensors: Mapping[str, Tensor]) -> None:
    """Refuse tensors that share bytes; gaps are harmless, and some writers leave them."""
    last: Tensor | None = None
    for tensor in sorted(tensors.values(), key=lambda tensor: tensor.offset):
        if not tensor.nbytes:
            continue
        if last is not None and tensor.offset < last.offset + last.nbytes:
            raise _damaged(
                path,
                f"expected tensors that do not overlap; found {last.name[:60]!r} and "
                f"{tensor.name[:60]!r} in the same bytes",
            )
        last = tensor
