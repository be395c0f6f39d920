"""The header of safetensors files: read as their own library does, and never believed."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from wefe.models.formats._safetensors import bfloat16_to_float32, read_header

DTYPES = "uint8 int8 uint16 int16 float16 uint32 int32 float32 uint64 int64 float64"


def raw(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(2, 2), offsets=(0, 16)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_every_type_that_the_library_writes_is_read_back_the_same(tmp_path):
    path = tmp_path / "all.safetensors"
    tensors = {
        name: (np.arange(6).reshape(2, 3) * 37 % 251).astype(name) for name in DTYPES.split()
    }
    save_file(tensors, path, metadata={"name": "naïve"})
    found, metadata = read_header(path)
    assert metadata == {"name": "naïve"}
    assert set(found) == set(tensors)
    for name, expected in tensors.items():
        array = found[name].array[:]
        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_tensors_without_numbers_work_even_where_the_file_ends(tmp_path, shape):
    path = tmp_path / "empty.safetensors"
    save_file({"empty": np.zeros(shape, "f4")}, path)
    mapped = read_header(path)[0]["empty"].array[:]
    assert mapped.shape == shape
    assert mapped.dtype == np.float32


def test_a_header_of_odd_length_are_mapped_right(write):
    values = np.array([1.5, -2.0, 3.0], "<f4")
    header = {"x": entry(shape=[1], offsets=[0, 4]), "pq": entry(shape=[2], offsets=[4, 12])}
    text = json.dumps(header).encode()
    path = write(raw(text + b" " * (1 - len(text) % 2), values.tobytes()))
    tensors, _ = read_header(path)
    assert tensors["x"].offset % 2 == 1
    assert tensors["x"].array[:].tolist() == [1.5]
    np.testing.assert_array_equal(tensors["pq"].array[:], [-2.0, 3.0])


def test_bfloat16_is_mapped_raw_and_widened_exactly(write):
    wide = np.array([0.0, -0.0, 1.0, -2.5, 3.0e38, 1e-40, np.inf, -np.inf, np.nan], "<f4")
    bits = (wide.view("<u4") >> 16).astype("<u2")
    path = write(raw({"b": entry("BF16", [3, 3], [0, 18])}, bits.tobytes()))
    mapped = read_header(path)[0]["b"].array[:]
    assert mapped.dtype == np.uint16
    widened = bfloat16_to_float32(mapped)
    assert widened.dtype == np.float32
    np.testing.assert_array_equal(widened.ravel().view("<u4"), bits.astype("<u4") << 16)
    np.testing.assert_array_equal(widened.ravel()[[0, 1, 2, 3, 6, 7]], wide[[0, 1, 2, 3, 6, 7]])
    assert np.isnan(widened.ravel()[8])


def test_numbers_narrower_than_a_byte_are_listed_but_not_mapped(write):
    path = write(raw({"q": entry("F4", [2, 4], [0, 4])}, b"\0" * 4))
    tensor = read_header(path)[0]["q"]
    assert tensor.nbytes == 4
    with pytest.raises(ValueError, match="has the type F4; expected one"):
        tensor.array  # noqa: B018 - refused


GOOD = {"a": entry(), "b": entry("I8", [4], [16, 20])}

DEFECTS = {
    "nothing": b"",
    "no header": b"\x05\x00\x00\x00",
    "header beyond the file": raw(b"{}", length=3),
    "length that overflows": b"\xff" * 8 + b"{}",
    "no JSON": raw(b"{'a'}"),
    "no UTF-8": raw(b'{"\xff": 1}'),
    "no object": raw([1]),
    "deep nesting": raw(b'{"a":' * 200000),
    "deep nesting that is JSON": raw(b'{"a":' + b"[" * 900 + b"]" * 900 + b"}"),
    "number of too many digits": raw(b'{"a": ' + b"9" * 100000 + b"}"),
    "a name twice": raw(b'{"a": {}, "a": {}}'),
    "metadata of numbers": raw({"__metadata__": {"n": 1}}),
    "metadata that is a list": raw({"__metadata__": ["n"]}),
    "entry that is a number": raw({"a": 1}),
    "entry without shape": raw({"a": {"dtype": "F32", "data_offsets": [0, 0]}}),
    "type that is a list": raw({"a": entry(["F32"])}, b"\x00" * 16),
    "negative length": raw({"a": entry(shape=[-2, -2])}, b"\x00" * 16),
    "length as a fraction": raw({"a": entry(shape=[2.0, 2])}, b"\x00" * 16),
    "length that is true": raw({"a": entry(shape=[True, 4])}, b"\x00" * 16),
    "shape that is a number": raw({"a": {**entry(), "shape": 4}}, b"\x00" * 16),
    "too many dimensions": raw({"a": entry(shape=[1] * 65, offsets=[0, 4])}, b"\x00" * 4),
    "product that overflows": raw({"a": entry(shape=[2**32, 2**32], offsets=[0, 0])}),
    "empty but overflowing": raw({"a": entry(shape=[0, 2**40, 2**40], offsets=[0, 0])}),
    "numbers of 4,000 digits": raw(
        f"""{{"a": {{"dtype":"F32","shape":[{"9" * 4000}],"data_offsets":[0,0]}}}}""".encode()
    ),
    "tensor larger than its shape": raw({"a": entry(shape=[2])}, b"\x00" * 16),
    "tensor smaller than its shape": raw({"a": entry(shape=[5])}, b"\x00" * 16),
    "tensor beyond the file": raw(GOOD, b"\x00" * 19),
    "end before begin": raw({"a": entry(shape=[0], offsets=[8, 4])}, b"\x00" * 8),
    "three offsets": raw({"a": entry(offsets=[0, 4, 16])}, b"\x00" * 16),
    "offsets below 0": raw({"a": entry(offsets=[-16, 0])}, b"\x00" * 16),
}


@pytest.mark.parametrize("content", DEFECTS.values(), ids=DEFECTS)
def test_damage_is_an_error_that_names_the_file(write, content):
    path = write(content)
    with pytest.raises(ValueError, match=r"vectors\.any") as caught:
        read_header(path)
    assert str(caught.value).startswith(f"{path} is a damaged safetensors file (")
    assert len(str(caught.value)) < 1000


def test_a_header_of_more_than_100_mb_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "large.safetensors"
    with path.open("wb") as file:
        file.write((100_000_001).to_bytes(8, "little"))
        file.truncate(200_000_000)  # a hole: takes no space
    with pytest.raises(ValueError, match="at most 100,000,000 bytes; found 100,000,001"):
        read_header(path)
