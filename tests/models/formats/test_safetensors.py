"""The header of safetensors files: read as their own library does, and never believed."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from wefe.models.formats._safetensors import read_header

DTYPES = "uint8 int8 uint16 int16 float16 uint32 int32 float32 uint64 int64 float64"


def raw(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(2, 2), offsets=(0, 16)):
    return {"a": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


def test_every_type_that_the_library_writes_is_read_back_the_same(tmp_path):
    path = tmp_path / "all.safetensors"
    tensors = {
        name: (np.arange(6).reshape(2, 3) * 37 % 251).astype(name) for name in DTYPES.split()
    }
    tensors |= {str(shape): np.zeros(shape, "f4") for shape in [(0,), (0, 3), (3, 0)]}
    save_file(tensors, path, metadata={"name": "naïve"})
    found, metadata = read_header(path)
    assert metadata == {"name": "naïve"}
    assert set(found) == set(tensors)
    for name, expected in tensors.items():
        numbers = found[name].numbers(expected.ndim, found[name].dtype)
        np.testing.assert_array_equal(numbers[:], expected, strict=True)


SIXTEEN = bytes(16)
DEFECTS = {
    "nothing": b"",
    "length that overflows": b"\xff" * 8 + b"{}",
    "deep nesting": raw(b'{"a":' * 200000),
    "a name twice": raw(b'{"a": {}, "a": {}}'),
    "metadata that is a number": raw({"__metadata__": 1}),
    "entry without shape": raw({"a": {"dtype": "F32", "data_offsets": [0, 0]}}),
    "negative length": raw(entry(shape=[-2, -2]), SIXTEEN),
    "length that is true": raw(entry(shape=[True, 4]), SIXTEEN),
    "too many dimensions": raw(entry(shape=[1] * 65, offsets=[0, 4]), bytes(4)),
    "product that overflows": raw(entry(shape=[2**32, 2**32], offsets=[0, 0])),
    "empty but overflowing": raw(entry(shape=[0, 2**40, 2**40], offsets=[0, 0])),
    "tensor beyond the file": raw(entry(), SIXTEEN[1:]),
    "offsets below 0": raw(entry(offsets=[-16, 0]), SIXTEEN),
}


@pytest.mark.parametrize("content", DEFECTS.values(), ids=DEFECTS)
def test_damage_is_an_error_that_names_the_file(write, content):
    path = write(content)
    with pytest.raises(ValueError, match=r"vectors\.any is damaged") as caught:
        read_header(path)
    assert len(str(caught.value)) < 1000


def test_a_header_of_more_than_100_mb_is_refused_before_it_is_read(write):
    path = write((100_000_001).to_bytes(8, "little"))
    with path.open("r+b") as file:
        file.truncate(200_000_000)  # a hole: takes no space
    with pytest.raises(ValueError, match="100,000,001 bytes, at most 100,000,000"):
        read_header(path)
