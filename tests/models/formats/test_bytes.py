"""Packed files are read to their last byte, and damage of the packing is an error, always."""

import bz2
import gzip
import io
import lzma
import zipfile

import pytest
from model_files import at_most

from wefe import load
from wefe.models.formats import _source
from wefe.models.formats._source import PackedFile, line_blocks

TEXT = b"".join(b"word%d 0.25 -1.5 3.125\n" % number for number in range(300))


def zstd(data):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


STREAMS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}
PACK = {**STREAMS, "zip": lambda data: zipped({"vectors.txt": data})}
every_packing = pytest.mark.parametrize("packing", PACK)


def unpacked(path):
    with PackedFile(path).open() as file:
        return file.read()


@every_packing
def test_a_packed_model_is_the_unpacked_one(write, packing):
    packed = load(write(PACK[packing](TEXT), f"vectors.txt.{packing}"))
    assert packed.name == "vectors"
    assert packed == load(write(TEXT, "vectors.txt"))
    with pytest.raises(ValueError, match="is empty"):
        load(write(PACK[packing](b"")))


@pytest.mark.parametrize("packing", STREAMS)
def test_streams_are_read_one_behind_the_other_to_the_end_and_damage_is_refused(write, packing):
    pack = STREAMS[packing]
    assert unpacked(write(pack(TEXT) + pack(b"") + 40 * pack(b"she"))) == TEXT + 40 * b"she"
    # The libraries of bz2 and zstd take garbage for the end; it may be a damaged second half.
    # Nothing but the number of words could tell that a whole stream is missing.
    packed = pack(TEXT[:600])
    damaged = [(2 * packed)[:length] for length in range(len(packed) + 1, 2 * len(packed))]
    damaged += [packed + garbage for garbage in (b"x", b"garbage " * 100, packed[1:], b"\0x")]
    for content in damaged:
        with pytest.raises(ValueError, match=r"vectors\.any"):
            unpacked(write(content))


def test_zeros_may_follow_a_stream(write):
    assert unpacked(write(2 * (lzma.compress(TEXT) + bytes(100_000)))) == 2 * TEXT
    assert unpacked(write(gzip.compress(TEXT) + bytes(4))) == TEXT


@every_packing
def test_unpacking_without_end_is_stopped(write, packing):
    path = write(PACK[packing](bytes(_source.SMALL_BYTES + (8 << 20))))
    buffer = bytearray(1 << 20)
    with (
        PackedFile(path).open() as file,
        at_most(48 << 20),
        pytest.raises(ValueError, match="grows to"),
    ):
        sum(iter(lambda: file.readinto(buffer), 0))


def test_a_line_without_end_is_stopped(write):
    # Fewer bytes than what is refused for its size alone.
    path = write(gzip.compress(b"she 1 2\nhe " + b"1" * (40 << 20), 1))
    with pytest.raises(ValueError, match="a line of more than 33,554,432 bytes"):
        load(path)


def test_a_member_is_named_as_if_the_archive_were_a_folder(write):
    path = write(zipped({"a.txt": b"she 1 2\n", "sub/b.txt": b"he 3 4\n", "sub/": b""}), "g.zip")
    model = load(str(path / "sub" / "b.txt"))
    assert (model.name, list(model.vocab)) == ("b", ["he"])
    with pytest.raises(ValueError, match=r"holds 2 files \('a.txt' and 'sub/b.txt'\); name one"):
        load(path)
    for name in ("c.txt", "sub"):
        with pytest.raises(FileNotFoundError, match=f"no member '{name}'"):
            load(path / name)
    for content in (b"she 1 2\n", gzip.compress(b"she 1 2\n")):
        with pytest.raises(FileNotFoundError, match="is a file, not a folder or zip archive"):
            load(write(content, "vectors.txt") / "inner.txt")
    encrypted = bytearray(zipped({"vectors.txt": TEXT}))
    encrypted[6] |= 1
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(ValueError, match="'vectors.txt' is encrypted"):
        load(write(bytes(encrypted), "secret.zip"))


@pytest.mark.parametrize("data", [b"", b"a", b"\n\n\n", b"a\nbc\n\ndefghijklm\nr"])
def test_blocks_end_with_a_line_wherever_the_pieces_end(data):
    for n_bytes in range(1, 25):
        blocks = list(line_blocks(io.BytesIO(data), "x", n_bytes))
        assert b"".join(blocks) == data
        assert all(block.endswith(b"\n") for block in blocks[:-1])
        assert all(blocks)
