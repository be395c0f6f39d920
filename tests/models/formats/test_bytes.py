"""Packed files are read to their last byte, and damage of the packing is an error, always."""

import bz2
import gzip
import io
import lzma
import sys
import zipfile

import pytest
from model_files import at_most

from wefe import load
from wefe.models.formats import _bytes
from wefe.models.formats._bytes import PackedFile, line_blocks

TEXT = b"".join(b"word%d 0.25 -1.5 3.125\n" % number for number in range(300))


def zstd(data, **options):
    return pytest.importorskip("zstandard").ZstdCompressor(**options).compress(data)


def zipped(members, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


PACK = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
    "zip": lambda data: zipped({"vectors.txt": data}),
}
STREAMS = ["gzip", "bzip2", "xz", "zstd"]
NAMES = {"gzip": "gz", "bzip2": "bz2", "xz": "xz", "zstd": "zst", "zip": "zip"}
every_packing = pytest.mark.parametrize("packing", list(PACK))
every_stream = pytest.mark.parametrize("packing", STREAMS)


def unpacked(path):
    with PackedFile(path).open() as file:
        return b"".join(iter(lambda: file.read(1000), b""))


def drain(path):
    with PackedFile(path).open() as file:
        while file.read(1 << 20):
            pass


def outcome(path):
    """Return the bytes, or None if the file was refused as it must be."""
    try:
        return unpacked(path)
    except ValueError as error:
        refusal = str(error)
    assert str(path) in refusal
    return None


@every_packing
def test_a_packed_model_is_the_unpacked_one(write, packing):
    packed = load(write(PACK[packing](TEXT), f"vectors.txt.{NAMES[packing]}"))
    plain = load(write(TEXT, "vectors.txt"))
    assert packed.name == plain.name == "vectors"
    assert packed == plain
    few = load(write(PACK[packing](TEXT)), words=["word7", "word299", "nope"])
    assert list(few.vocab) == ["word7", "word299"]


@every_stream
@pytest.mark.parametrize("n_streams", [2, 3, 40])
def test_streams_one_behind_the_other_are_one_file(write, packing, n_streams):
    path = write(b"".join(PACK[packing](b"%d " % n + TEXT) for n in range(n_streams)))
    assert unpacked(path) == b"".join(b"%d " % n + TEXT for n in range(n_streams))


def test_a_stream_may_be_empty_and_zeros_may_follow_it(write):
    for packing in STREAMS:
        pack = PACK[packing]
        assert unpacked(write(pack(TEXT) + pack(b"") + pack(TEXT))) == 2 * TEXT
    for n_zeros in (4, 100_000):
        zeros = bytes(n_zeros)
        padded = lzma.compress(TEXT) + zeros
        assert unpacked(write(2 * padded)) == 2 * TEXT
        assert unpacked(write(gzip.compress(TEXT) + zeros)) == TEXT


@every_stream
def test_of_many_streams_cut_anywhere_only_whole_ones_are_read(write, packing):
    # Nothing but the number of words could tell that a whole stream is missing.
    packed = PACK[packing](TEXT[:600])
    for length in range(len(packed) + 1, 2 * len(packed)):
        assert outcome(write((2 * packed)[:length])) is None, length


@every_stream
def test_garbage_behind_a_stream_is_no_end(write, packing):
    # The libraries of bz2 and zstd take it for the end; it may be a damaged second half.
    for garbage in (b"x", b"garbage " * 100, PACK[packing](TEXT)[1:], b"\0x"):
        assert outcome(write(PACK[packing](TEXT) + garbage)) is None, garbage[:10]


@every_packing
def test_unpacking_without_end_is_stopped(write, packing):
    n_bytes = _bytes.SMALL_BYTES + (8 << 20)
    packed = PACK[packing](bytes(n_bytes))
    if packing == "bzip2":
        assert len(packed) < 100
    path = write(packed)
    with at_most(48 << 20), pytest.raises(ValueError, match="grows to"):
        drain(path)


@pytest.mark.parametrize("packing", ["gzip", "zstd", "zip"])
def test_a_line_without_end_is_stopped(write, packing):
    # Fewer bytes than what is refused for its size alone.
    path = write(PACK[packing](b"she 1 2\nhe " + b"1" * (40 << 20)))
    with pytest.raises(ValueError, match="a line of more than 33,554,432 bytes"):
        load(path)


def test_a_member_is_named_as_if_the_archive_were_a_folder(write):
    path = write(zipped({"a.txt": b"she 1 2\n", "sub/b.txt": b"he 3 4\n", "sub/": b""}), "g.zip")
    assert list(load(path / "a.txt").vocab) == ["she"]
    model = load(str(path / "sub" / "b.txt"))
    assert list(model.vocab) == ["he"]
    assert model.name == "b"
    with pytest.raises(ValueError, match=r"holds 2 files \('a.txt', 'sub/b.txt'\); name one"):
        load(path)
    with pytest.raises(FileNotFoundError, match="no member 'c.txt'; it has 'a.txt', 'sub/b.txt'"):
        load(path / "c.txt")
    with pytest.raises(FileNotFoundError, match="no member 'sub'"):
        load(path / "sub")


@pytest.mark.parametrize(
    "content", [b"she 1 2\n", gzip.compress(b"she 1 2\n", mtime=0)], ids=["plain", "gzip"]
)
def test_a_plain_file_is_no_folder(write, content):
    path = write(content, "vectors.txt")
    with pytest.raises(FileNotFoundError, match="is a file, not a folder or zip archive"):
        load(path / "inner.txt")


def test_an_empty_file_is_empty_packed_or_not(write):
    for content in [b"", *(pack(b"") for pack in PACK.values())]:
        with pytest.raises(ValueError, match="is empty"):
            load(write(content))


def test_an_encrypted_member_is_named(write):
    data = bytearray(zipped({"vectors.txt": TEXT}))
    central = data.index(b"PK\x01\x02")
    data[6] |= 1
    data[central + 8] |= 1
    with pytest.raises(ValueError, match="'vectors.txt' is encrypted; unpack it first"):
        load(write(bytes(data), "secret.zip"))


def test_without_zstandard_the_extra_is_named(write, monkeypatch):
    content = zstd(TEXT)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ImportError, match=r"wefe\[zstd\]"):
        load(write(content))


@pytest.mark.parametrize("data", [b"", b"a", b"\n", b"\n\n\n", b"a\nbc\n\ndefghijklm\nr", b"ab\n"])
def test_blocks_end_with_a_line_wherever_the_pieces_end(data):
    for n_bytes in (*range(1, 25), 1000):
        blocks = list(line_blocks(io.BytesIO(data), "x", n_bytes))
        assert b"".join(blocks) == data
        assert all(block.endswith(b"\n") for block in blocks[:-1])
        assert all(blocks)
